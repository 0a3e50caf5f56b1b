use super::*;
use crate::dissect::{fit_request, fit_response};
use crate::encode::{self, Datum, Header};
use crate::protocol::{Catalog, Side};

/// A message with some fields set.
fn frame(catalog: &Catalog, key: ApiKey, side: Side, version: i16, fields: &[(&str, Datum)]) -> Vec<u8> {
    let plan = catalog.api_plan(key, side, version).unwrap();
    let mut body = encode::minimal(plan);
    for (path, datum) in fields {
        *body.at_mut(plan, path).unwrap() = datum.clone();
    }
    encode::frame(catalog, key, side, version, &Header::default(), &body).unwrap()
}

fn text(text: &str) -> Datum {
    Datum::String(Some(text.as_bytes().to_vec()))
}

/// A conversation of which all is heard.
struct Heard {
    catalog: Catalog,
    outside: Outside,
    index: u64,
}

impl Heard {
    fn new() -> Self {
        Self { catalog: Catalog::builtin(), outside: Outside::default(), index: 0 }
    }

    /// The number of a request, and what is known of it.
    fn request(&mut self, key: ApiKey, version: i16, fields: &[(&str, Datum)]) -> (u64, Known) {
        self.index += 1;
        let frame = frame(&self.catalog, key, Side::Request, version, fields);
        let reading = fit_request(&self.catalog, key, version, &frame, true, 0).reading;
        (self.index, self.outside.request(self.index, key, &reading, &frame))
    }

    fn response(&mut self, asked: u64, key: ApiKey, version: i16, fields: &[(&str, Datum)]) {
        let frame = frame(&self.catalog, key, Side::Response, version, fields);
        let reading = fit_response(&self.catalog, key, version, &frame, true, 0).reading;
        self.outside.response(asked, key, &reading, &frame);
    }

    fn handshake(&mut self, mechanism: &str) -> u64 {
        self.request(ApiKey::SASL_HANDSHAKE, 1, &[("mechanism", text(mechanism))]).0
    }

    /// The mechanism of a token that is sent now.
    fn mechanism(&mut self) -> Word {
        let (_, known) = self.request(ApiKey::SASL_AUTHENTICATE, 2, &[]);
        assert_eq!(known, self.outside.token());
        known.mechanism
    }

    fn join(&mut self, group: &str, protocol_type: &str) -> u64 {
        let fields = [("groupId", text(group)), ("protocolType", text(protocol_type))];
        let (index, known) = self.request(ApiKey::JOIN_GROUP, 5, &fields);
        assert_eq!(&*known.protocol_type, protocol_type);
        index
    }

    fn chosen(&mut self, join: u64, protocol: &str) {
        self.response(join, ApiKey::JOIN_GROUP, 5, &[("protocolName", text(protocol))]);
    }

    /// Protocol type and name of a group that is synchronised now.
    fn sync(&mut self, group: &str) -> (String, String) {
        let (_, known) = self.request(ApiKey::SYNC_GROUP, 3, &[("groupId", text(group))]);
        (known.protocol_type.to_string(), known.protocol_name.to_string())
    }
}

fn pair(one: &str, other: &str) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

#[test]
fn a_handshake_names_the_mechanism_until_it_fails() {
    let mut heard = Heard::new();
    assert_eq!(&*heard.mechanism(), "");
    let first = heard.handshake("SCRAM-SHA-256");
    heard.response(first, ApiKey::SASL_HANDSHAKE, 1, &[]);
    assert_eq!(&*heard.mechanism(), "SCRAM-SHA-256");
    let second = heard.handshake("PLAIN");
    assert_eq!(&*heard.mechanism(), "PLAIN");
    // UNSUPPORTED_SASL_MECHANISM; one that comes late is not about the mechanism that was named since.
    heard.response(first, ApiKey::SASL_HANDSHAKE, 1, &[("errorCode", Datum::Int(33))]);
    assert_eq!(&*heard.mechanism(), "PLAIN");
    heard.response(second, ApiKey::SASL_HANDSHAKE, 1, &[("errorCode", Datum::Int(33))]);
    assert_eq!(&*heard.mechanism(), "");
    heard.handshake("PLAIN");
    heard.outside.forget();
    assert_eq!(&*heard.mechanism(), "");
    // What is no name of a mechanism is none.
    for odd in ["A\u{1b}[31m", "", "A B", &"A".repeat(33)] {
        heard.handshake(odd);
        assert_eq!(&*heard.mechanism(), "");
    }
}

#[test]
fn a_group_has_the_protocol_of_the_last_time_it_was_joined() {
    let mut heard = Heard::new();
    assert_eq!(heard.sync("a"), pair("", ""));
    let first = heard.join("a", "consumer");
    assert_eq!(heard.sync("a"), pair("consumer", ""));
    heard.chosen(first, "range");
    assert_eq!(heard.sync("a"), pair("consumer", "range"));
    assert_eq!(heard.sync("b"), pair("", ""));
    let other = heard.join("b", "connect");
    heard.chosen(other, "sessioned");
    let second = heard.join("a", "consumer");
    // The answer to the join before says nothing of this one.
    heard.chosen(first, "range");
    assert_eq!(heard.sync("a"), pair("consumer", ""));
    heard.chosen(second, "sticky");
    assert_eq!(heard.sync("a"), pair("consumer", "sticky"));
    assert_eq!(heard.sync("b"), pair("connect", "sessioned"));
    // A request that says it itself is believed.
    let fields = [("groupId", text("a")), ("protocolType", text("x")), ("protocolName", Datum::String(None))];
    let (_, known) = heard.request(ApiKey::SYNC_GROUP, 5, &fields);
    assert_eq!((&*known.protocol_type, &*known.protocol_name), ("x", "sticky"));
}

#[test]
fn few_groups_are_remembered() {
    let mut heard = Heard::new();
    for number in 0..1000 {
        heard.join(&format!("group {number}"), "consumer");
    }
    assert_eq!(heard.outside.groups.len(), MAX_GROUPS);
    assert_eq!(heard.sync("group 0"), pair("", ""));
    assert_eq!(heard.sync("group 999"), pair("consumer", ""));
    let long = "g".repeat(MAX_GROUP_ID + 1);
    heard.join(&long, "consumer");
    assert_eq!(heard.sync(&long), pair("", ""));
}

#[test]
fn an_envelope_says_what_its_answer_holds() {
    let mut heard = Heard::new();
    let inner = frame(&heard.catalog, ApiKey(19), Side::Request, 7, &[]);
    let data = |bytes: &[u8]| [("requestData", Datum::Bytes(Some(bytes.to_vec())))];
    let (_, known) = heard.request(ApiKey::ENVELOPE, 0, &data(&inner[4..]));
    assert_eq!(known.enveloped, Some((ApiKey(19), 7)));
    let (_, known) = heard.request(ApiKey::ENVELOPE, 0, &data(&inner[4..9]));
    assert_eq!(known.enveloped, None);
}
