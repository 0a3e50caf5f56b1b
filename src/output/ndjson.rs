//! One message a line, as JSON.

use std::net::SocketAddr;

use itoa::Buffer;

use super::json::{self, JsonScratch, JsonWriter, string};
use super::place::{interface_name, interfaces};
use crate::capture::Time;
use crate::conversation::{Message, Piece, Subject};
use crate::dissect::{Fault, Opening, Reading, Tally, dissect};
use crate::protocol::{ApiKey, Catalog, Side};
use crate::stream::Tls;

/// Writes messages as lines of JSON.
#[derive(Debug)]
pub struct NdjsonWriter<'p> {
    opening: Opening<'p>,
    show_secrets: bool,
    scratch: JsonScratch,
}

impl<'p> NdjsonWriter<'p> {
    /// A writer that withholds secrets unless it is told not to.
    pub fn new(opening: Opening<'p>, show_secrets: bool) -> Self {
        Self { opening, show_secrets, scratch: JsonScratch::default() }
    }

    /// Appends the line of a message, with its newline, and says what is to be counted of its faults.
    pub fn message(&mut self, out: &mut Vec<u8>, message: &Message<'_, 'p>) -> Tally {
        out.push(b'{');
        envelope(out, self.opening.catalog, message);
        let opening = self.opening.with_topics(message.topics);
        let writer = JsonWriter::reusing(opening, out, self.show_secrets, &mut self.scratch);
        let is_guarded = message.reading.body.is_none()
            && message.key().is_some_and(|key| self.opening.catalog.holds_secrets(key, message.side()));
        let mut writer = writer.guarded(is_guarded);
        dissect(&message.reading, message.frame, &mut writer);
        let found = writer.finish(&mut self.scratch);
        faults(out, &found);
        json::close_bracket(out, b'}');
        out.push(b'\n');
        Tally::of(&found)
    }
}

/// What is known of a message beside its bytes, when no capture says it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The API's key.
    pub key: Option<ApiKey>,
    /// The version on the wire.
    pub version: Option<i16>,
    /// The version that it is read as, where its own is newer than is known.
    pub assumed: Option<i16>,
    /// Whether nothing but its shape told its API.
    pub guessed: bool,
}

/// Appends the line of a message of which nothing but its bytes is known.
pub fn explained<'p>(
    out: &mut Vec<u8>,
    opening: Opening<'p>,
    show_secrets: bool,
    known: Known,
    reading: &Reading<'p>,
    bytes: &[u8],
) {
    out.extend_from_slice(format!("{{\"type\":\"{}\",\"api\":", reading.side.word()).as_bytes());
    match known.key {
        Some(key) => drop(string(out, api_name(opening.catalog, key).as_bytes())),
        None => out.extend_from_slice(b"null"),
    }
    optional(out, b",\"apiKey\":", known.key.map(|key| key.0.into()));
    optional(out, b",\"apiVersion\":", known.version.map(i64::from));
    out.push(b',');
    number(out, b"\"size\":", bytes.len() as u64);
    if let Some(version) = known.assumed {
        number(out, b"\"assumedVersion\":", version.unsigned_abs().into());
    }
    if known.guessed {
        out.extend_from_slice(b"\"guessed\":true,");
    }
    let mut writer = JsonWriter::new(opening, out, show_secrets);
    dissect(reading, bytes, &mut writer);
    let found = writer.into_faults();
    faults(out, &found);
    json::close_bracket(out, b'}');
    out.push(b'\n');
}

/// Appends what is known of a message beside its bytes: the members from `index` on, each with its comma.
pub fn envelope(out: &mut Vec<u8>, catalog: &Catalog, message: &Message<'_, '_>) {
    number(out, b"\"index\":", message.index);
    out.extend_from_slice(b"\"time\":\"");
    let mut time = [0; Time::TEXT_LENGTH];
    out.extend_from_slice(message.time.write_rfc3339(&mut time).as_bytes());
    out.extend_from_slice(b"\",");
    number(out, b"\"connection\":", message.connection.0);
    endpoint(out, b"\"client\":\"", message.client);
    endpoint(out, b"\"broker\":\"", message.broker);
    for (key, end) in [(&b"\"clientName\":"[..], message.client), (b"\"brokerName\":", message.broker)] {
        if let Some(name) = message.names.host(end.ip()) {
            out.extend_from_slice(key);
            string(out, name.as_bytes());
            out.push(b',');
        }
    }
    out.extend_from_slice(match message.side() {
        Side::Request => b"\"type\":\"request\",\"api\":",
        Side::Response => b"\"type\":\"response\",\"api\":",
    });
    match (message.subject, message.key()) {
        (Subject::SaslToken, _) => out.extend_from_slice(b"\"SaslToken\""),
        (_, Some(key)) => {
            string(out, api_name(catalog, key).as_bytes());
        }
        (_, None) => out.extend_from_slice(b"null"),
    }
    optional(out, b",\"apiKey\":", message.key().map(|key| i64::from(key.0)));
    optional(out, b",\"apiVersion\":", message.version().map(i64::from));
    optional(out, b",\"correlationId\":", message.correlation().map(i64::from));
    out.extend_from_slice(b",\"clientId\":");
    match message.client_id {
        Some(client_id) => {
            if !string(out, client_id) {
                out.extend_from_slice(b",\"_clientIdBase64\":");
                json::base64(out, client_id);
            }
        }
        None => out.extend_from_slice(b"null"),
    }
    out.push(b',');
    let mechanism = message.reading.known.mechanism;
    if !mechanism.is_empty() {
        out.extend_from_slice(b"\"mechanism\":");
        string(out, mechanism.as_bytes());
        out.push(b',');
    }
    number(out, b"\"size\":", message.size());
    out.extend_from_slice(b"\"packets\":[");
    for packet in message.packets {
        number(out, b"", *packet);
    }
    json::close_bracket(out, b']');
    out.push(b',');
    let interfaces = interfaces(message, interface_name);
    if !interfaces.is_empty() {
        out.extend_from_slice(b"\"interfaces\":[");
        for interface in interfaces {
            string(out, interface.as_bytes());
            out.push(b',');
        }
        json::close_bracket(out, b']');
        out.push(b',');
    }
    number(out, b"\"streamOffset\":", message.stream_offset);
    if let Some(exchange) = message.request {
        number(out, b"\"request\":", exchange.request);
        out.extend_from_slice(b"\"latencyMs\":");
        milliseconds(out, exchange.latency);
        out.push(b',');
    }
    if let Some(version) = message.assumed {
        number(out, b"\"assumedVersion\":", version.unsigned_abs().into());
    }
    if message.guessed {
        out.extend_from_slice(b"\"guessed\":true,");
    }
    if message.gap > 0 {
        number(out, b"\"gap\":", message.gap);
    }
    if let Some(protected) = message.tls {
        tls(out, protected, message.pieces);
    }
}

/// How a message was protected, and the numbers of the records that it was in. Names of versions and suites need no escape.
fn tls(out: &mut Vec<u8>, Tls { version, suite }: Tls, pieces: &[Piece]) {
    out.extend_from_slice(
        format!("\"_tls\":{{\"version\":\"{version}\",\"suite\":\"{suite}\",\"records\":[").as_bytes(),
    );
    for piece in pieces {
        number(out, b"", piece.tls_record.into());
    }
    json::close_bracket(out, b']');
    out.extend_from_slice(b"},");
}

fn api_name(catalog: &Catalog, key: ApiKey) -> &str {
    catalog.api(key).map_or("unknown", |api| &api.name)
}

/// Appends `"faults":[…],`, and `"leftOut":[…],` where limits left something out.
pub fn faults(out: &mut Vec<u8>, faults: &[Fault]) {
    out.extend_from_slice(b"\"faults\":[");
    for fault in faults.iter().filter(|fault| !fault.kind.is_limit()) {
        place(out, fault);
        out.extend_from_slice(b",\"expected\":");
        string(out, fault.expected().as_bytes());
        out.extend_from_slice(b",\"found\":");
        string(out, fault.found().as_bytes());
        out.extend_from_slice(b",\"cause\":");
        string(out, fault.cause().as_bytes());
        out.extend_from_slice(b"},");
    }
    json::close_bracket(out, b']');
    out.push(b',');
    let mut left_out = faults.iter().filter_map(|fault| Some((fault, fault.left_out()?))).peekable();
    if left_out.peek().is_none() {
        return;
    }
    out.extend_from_slice(b"\"leftOut\":[");
    for (fault, what) in left_out {
        place(out, fault);
        out.extend_from_slice(b",\"what\":");
        string(out, what.as_bytes());
        out.extend_from_slice(b"},");
    }
    json::close_bracket(out, b']');
    out.push(b',');
}

/// Appends where a fault is: `{"offset":…,"length":…,"path":…`.
fn place(out: &mut Vec<u8>, fault: &Fault) {
    out.push(b'{');
    number(out, b"\"offset\":", fault.span.start.into());
    number(out, b"\"length\":", fault.span.len.into());
    if fault.span.buffer > 0 {
        number(out, b"\"buffer\":", fault.span.buffer.into());
    }
    out.extend_from_slice(b"\"path\":");
    string(out, fault.path.as_bytes());
}

fn number(out: &mut Vec<u8>, key: &[u8], number: u64) {
    out.extend_from_slice(key);
    out.extend_from_slice(Buffer::new().format(number).as_bytes());
    out.push(b',');
}

/// A number or null, with no comma behind it.
fn optional(out: &mut Vec<u8>, key: &[u8], number: Option<i64>) {
    out.extend_from_slice(key);
    match number {
        Some(number) => out.extend_from_slice(Buffer::new().format(number).as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

fn endpoint(out: &mut Vec<u8>, key: &[u8], endpoint: SocketAddr) {
    use std::io::Write;
    out.extend_from_slice(key);
    match endpoint {
        // By hand, because formatting both addresses would be a tenth of what a small message costs.
        SocketAddr::V4(endpoint) => {
            for (octet, separator) in endpoint.ip().octets().into_iter().zip(*b"...:") {
                out.extend_from_slice(Buffer::new().format(octet).as_bytes());
                out.push(separator);
            }
            out.extend_from_slice(Buffer::new().format(endpoint.port()).as_bytes());
        }
        // Writing into a vector cannot fail.
        SocketAddr::V6(endpoint) => drop(write!(out, "{endpoint}")),
    }
    out.extend_from_slice(b"\",");
}

/// Nanoseconds as milliseconds with three places.
fn milliseconds(out: &mut Vec<u8>, nanoseconds: i64) {
    let microseconds = nanoseconds / 1000;
    if microseconds < 0 {
        out.push(b'-');
    }
    let microseconds = microseconds.unsigned_abs();
    out.extend_from_slice(Buffer::new().format(microseconds / 1000).as_bytes());
    let places = [microseconds / 100 % 10, microseconds / 10 % 10, microseconds % 10];
    out.push(b'.');
    out.extend(places.map(|digit| b'0' + digit as u8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dissect::{FaultKind, Span};

    #[test]
    fn limits_are_no_faults() {
        let fault = |kind| Fault {
            span: Span { buffer: 0, start: 9, len: 4 },
            path: "topics".to_owned(),
            name: "topics".to_owned(),
            ty: "array".to_owned(),
            kind,
        };
        let text = |kinds: &[FaultKind]| {
            let mut out = Vec::new();
            faults(&mut out, &kinds.iter().map(|kind| fault(*kind)).collect::<Vec<_>>());
            String::from_utf8(out).unwrap()
        };
        let full = |more| FaultKind::Full { what: "element", read: 7, more };
        let left_out = |what| format!(r#""leftOut":[{{"offset":9,"length":4,"path":"topics","what":"{what}"}}],"#);
        assert_eq!(text(&[full(Some(1))]), format!(r#""faults":[],{}"#, left_out("1 element more")));
        assert_eq!(text(&[full(None)]), format!(r#""faults":[],{}"#, left_out("all behind 7 elements")));
        assert_eq!(text(&[]), r#""faults":[],"#);
        assert!(
            text(&[FaultKind::TooDeep]).starts_with(r#""faults":[{"offset":9,"length":4,"path":"topics","expected":"#)
        );
        assert!(!text(&[FaultKind::TooDeep]).contains("leftOut"));
        assert_eq!(
            Tally::of(&[fault(full(None)), fault(FaultKind::Lost { missing: 1 })]),
            Tally { faulty: false, cut: true }
        );
        assert_eq!(Tally::of(&[fault(FaultKind::Null)]), Tally { faulty: true, cut: false });
    }
}
