//! Exchanges against the brokers' request logs: which there are, and every field of both bodies.
//!
//! The figures of the table were counted by a reader of a few lines that shares nothing with this project: it joins the
//! segments of a capture by sequence number, cuts the streams at their sizes, and looks each logged exchange up by
//! port, API, version and correlation id.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::compare::{Extent, difference, renamed};
use crate::json::Json;
use crate::support::{Entry, export, lines, own, port, read, report, shared};

/// What of a request log is in its capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Lines of the log.
    logged: usize,
    /// Exchanges with request and response in the capture.
    exchanges: usize,
    /// Requests that ask for no response.
    unacknowledged: usize,
    /// Requests that a broker passed on: on the wire they are inside of an Envelope.
    forwarded: usize,
    /// Requests whose response is not in the capture: the connection was closed first, or the capture ended.
    unanswered: usize,
    /// Requests that are not in the capture.
    absent: usize,
}

const fn row(name: &'static str, figures: [usize; 6]) -> (&'static str, Counts) {
    let [logged, exchanges, unacknowledged, forwarded, unanswered, absent] = figures;
    (name, Counts { logged, exchanges, unacknowledged, forwarded, unanswered, absent })
}

/// Captures with all their bytes; of variants the log is that of their base.
pub(crate) const CAPTURES: [(&str, Counts); 96] = [
    row("28-zk.pcap", [168, 168, 0, 0, 0, 0]),
    row("39-aiokafka-zstd.pcap", [20, 19, 0, 0, 1, 0]),
    row("39-java-0.10.2.2-none.pcap", [18, 18, 0, 0, 0, 0]),
    row("39-java-0.11.0.3-lz4.pcap", [18, 18, 0, 0, 0, 0]),
    row("39-java-0.9.0.1-gzip.pcap", [15, 14, 0, 0, 1, 0]),
    row("39-java-0.9.0.1-none.pcap", [13, 12, 0, 0, 1, 0]),
    row("39-java-0.9.0.1-snappy.pcap", [13, 13, 0, 0, 0, 0]),
    row("39-java-4.4-fallback.pcap", [29, 29, 0, 0, 0, 0]),
    row("39-java-admin-cluster.pcap", [27, 27, 0, 0, 0, 0]),
    row("39-java-admin-configs.pcap", [21, 21, 0, 0, 0, 0]),
    row("39-java-snappy.pcap", [31, 31, 0, 0, 0, 0]),
    row("39-java-zstd.pcap", [28, 28, 0, 0, 0, 0]),
    row("39-kafkajs-none.pcap", [17, 16, 0, 0, 0, 1]),
    row("39-multi-stop.pcap", [674, 633, 0, 2, 3, 36]),
    row("39-sarama-0.10.pcap", [23, 23, 0, 0, 0, 0]),
    row("39-sarama-sasl-v0-scram.pcap", [7, 7, 0, 0, 0, 0]),
    row("44-aiokafka-acks0.pcap", [20, 19, 1, 0, 0, 0]),
    row("44-aiokafka-snappy.pcap", [20, 20, 0, 0, 0, 0]),
    row("44-aiokafka-tls13-ng-secrets.pcapng", [20, 20, 0, 0, 0, 0]),
    row("44-aiokafka-tls13-split.pcap", [20, 20, 0, 0, 0, 0]),
    row("44-aiokafka-tls13.pcap", [20, 20, 0, 0, 0, 0]),
    row("44-any-nano.pcap", [16, 16, 0, 0, 0, 0]),
    row("44-any-sll2.pcap", [26, 26, 0, 0, 0, 0]),
    row("44-connect-distributed.pcap", [311, 311, 0, 0, 0, 0]),
    row("44-franz-admin.pcap", [22, 22, 0, 0, 0, 0]),
    row("44-franz-sasl-scram256.pcap", [18, 18, 0, 0, 0, 0]),
    row("44-franz-tls12-chacha.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-franz-zstd-fragments.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-franz-zstd-reuse.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-franz-zstd.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-3.3.pcap", [20, 20, 0, 0, 0, 0]),
    row("44-java-acks0.pcap", [17, 4, 13, 0, 0, 0]),
    row("44-java-admin-acls.pcap", [29, 29, 0, 0, 0, 0]),
    row("44-java-admin-topics.pcap", [29, 29, 0, 0, 0, 0]),
    row("44-java-backlog.pcap", [11, 11, 0, 0, 0, 0]),
    row("44-java-classic-2.pcap", [73, 73, 0, 0, 0, 0]),
    row("44-java-console.pcap", [25, 25, 0, 0, 0, 0]),
    row("44-java-consumer-protocol.pcap", [57, 57, 0, 0, 0, 0]),
    row("44-java-errors-part.pcap", [92, 80, 0, 0, 0, 12]),
    row("44-java-errors.pcap", [92, 92, 0, 0, 0, 0]),
    row("44-java-gzip-gre.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-gzip-gz.pcap.gz", [28, 28, 0, 0, 0, 0]),
    row("44-java-gzip-ipip.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-gzip-nanosecond.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-gzip-vlan.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-gzip-vxlan.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-gzip.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-ipv6-fragments.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-ipv6-null.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-ipv6-seqwrap.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-ipv6-vlan.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-ipv6.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-lz4.pcap", [28, 28, 0, 0, 0, 0]),
    row("44-java-none.pcap", [31, 31, 0, 0, 0, 0]),
    row("44-java-port31092.pcap", [23, 23, 0, 0, 0, 0]),
    row("44-java-reauth.pcap", [108, 108, 0, 0, 0, 0]),
    row("44-java-sasl-oauth.pcap", [24, 24, 0, 0, 0, 0]),
    row("44-java-sasl-plain.pcap", [25, 25, 0, 0, 0, 0]),
    row("44-java-share-console.pcap", [66, 66, 0, 0, 0, 0]),
    row("44-java-streams-eos.pcap", [125, 125, 0, 0, 0, 0]),
    row("44-java-streams-protocol-1.pcap", [77, 77, 0, 0, 0, 0]),
    row("44-java-streams.pcap", [172, 172, 0, 0, 0, 0]),
    row("44-java-telemetry.pcap", [45, 45, 0, 0, 0, 0]),
    row("44-java-throttle.pcap", [60, 60, 0, 0, 0, 0]),
    row("44-java-tokens.pcap", [19, 19, 0, 0, 0, 0]),
    row("44-java-txn-gso-length-0.pcap", [81, 81, 0, 0, 0, 0]),
    row("44-java-txn-split.pcap", [81, 81, 0, 0, 0, 0]),
    row("44-java-txn.pcap", [81, 81, 0, 0, 0, 0]),
    row("44-kafkago-admin.pcap", [9, 9, 0, 0, 0, 0]),
    row("44-kafkago-snappy.pcap", [17, 17, 0, 0, 0, 0]),
    row("44-kafkajs-gzip.pcap", [16, 16, 0, 0, 0, 0]),
    row("44-kafkajs-tls13-chacha-reordered.pcap", [16, 16, 0, 0, 0, 0]),
    row("44-kafkajs-tls13-chacha.pcap", [16, 16, 0, 0, 0, 0]),
    row("44-kafkapython-gzip.pcap", [20, 20, 0, 0, 0, 0]),
    row("44-kafkapython-sasl-scram512.pcap", [15, 15, 0, 0, 0, 0]),
    row("44-kafkapython-saslssl.pcap", [15, 15, 0, 0, 0, 0]),
    row("44-kafkapython-tls12-aes128gcm.pcap", [21, 21, 0, 0, 0, 0]),
    row("44-kafkapython-tls12-cbc.pcap", [20, 20, 0, 0, 0, 0]),
    row("44-librdkafka-admin.pcap", [12, 12, 0, 0, 0, 0]),
    row("44-librdkafka-snappy.pcap", [31, 30, 0, 0, 1, 0]),
    row("44-mss-java-admin.pcap", [25, 25, 0, 0, 0, 0]),
    row("44-mss-java-backlog-zstd.pcap", [10, 10, 0, 0, 0, 0]),
    row("44-mss-java-bigrec.pcap", [30, 30, 0, 0, 0, 0]),
    row("44-mss-librdkafka-duplicated.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-ng-interfaces.pcapng", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-null.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-raw.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-reordered.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-shuffled.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-sll.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka-zst.pcap.zst", [34, 34, 0, 0, 0, 0]),
    row("44-mss-librdkafka.pcap", [34, 34, 0, 0, 0, 0]),
    row("44-multi-dynamic.pcap", [330, 314, 0, 9, 3, 4]),
    row("44-multi-start.pcap", [633, 628, 0, 1, 4, 0]),
    row("44-sarama-lz4.pcap", [11, 11, 0, 0, 0, 0]),
    row("44-sarama-tls12-aes256gcm-rsa.pcap", [24, 24, 0, 0, 0, 0]),
];

/// What lacks something is held against its base, or against its log as far as it goes, elsewhere.
const DAMAGED: [&str; 4] = ["-lost", "-nosyn", "midstream", "snaplen"];

#[test]
fn every_exchange_is_the_one_that_the_broker_logged() {
    let mut problems = Vec::new();
    let mut compared = 0;
    for (name, expected) in CAPTURES {
        let Some((capture, log)) = files(name) else { continue };
        let found = check(name, &export(&capture), &log, &mut problems);
        if found != expected {
            problems.push(format!("{name}: {found:?}, not {expected:?}"));
        }
        compared += found.exchanges;
    }
    report(&problems);
    eprintln!("{compared} exchanges are as the brokers logged them");
    // So many there are in the project's own captures; more with the shared ones.
    assert!(compared >= 1000, "{compared}");
}

#[test]
fn no_capture_is_left_out() {
    let Some(captures) = shared("captures") else { return };
    for entry in Entry::all(&captures) {
        let name = &entry.name;
        if !entry.is_closed() && !DAMAGED.iter().any(|damaged| name.contains(damaged)) {
            assert!(CAPTURES.iter().any(|(listed, _)| listed == name), "{name} is not in the table");
        }
    }
}

/// A capture and its request log: the project's own, or else the shared ones.
pub(crate) fn files(name: &str) -> Option<(PathBuf, Vec<Json>)> {
    let log_name = base(name);
    let (capture, log) =
        (own("captures").join(name), own("tests/data/request-logs").join(format!("{log_name}.jsonl.gz")));
    if capture.exists() {
        return Some((capture, lines(&read(&log))));
    }
    let captures = shared("captures")?;
    Some((captures.join(name), lines(&read(&captures.join(format!("expected/{log_name}.jsonl"))))))
}

/// The name of the capture that a variant was made from.
pub(crate) fn base(name: &str) -> &str {
    const VARIANTS: [&str; 23] = [
        "-reuse",
        "-gso-length-0",
        "-split",
        "-nanosecond",
        "-vlan",
        "-null",
        "-raw",
        "-sll",
        "-fragments",
        "-gre",
        "-ipip",
        "-vxlan",
        "-gz",
        "-zst",
        "-seqwrap",
        "-duplicated",
        "-reordered",
        "-shuffled",
        "-ng-interfaces",
        "-ng-secrets",
        "-part",
        "-lost",
        "-nosyn",
    ];
    let stem = name.split_once(".pcap").unwrap().0;
    VARIANTS.iter().find_map(|variant| stem.strip_suffix(variant)).unwrap_or(stem)
}

/// The port of the client, the API's key and version, the correlation id.
type Key = (i64, Option<i64>, Option<i64>, Option<i64>);

fn check(name: &str, messages: &[Json], log: &[Json], problems: &mut Vec<String>) -> Counts {
    let mut requests: BTreeMap<Key, Vec<&Json>> = BTreeMap::new();
    let mut responses = BTreeMap::new();
    for message in messages {
        if message.at("type").text() == Some("response") {
            responses.insert(message.at("request").int(), message);
            continue;
        }
        let numbers = ["apiKey", "apiVersion", "correlationId"].map(|key| message.at(key).int());
        requests.entry((port(message.at("client")), numbers[0], numbers[1], numbers[2])).or_default().push(message);
    }
    for same in requests.values_mut() {
        same.reverse();
    }

    let mut counts = Counts { logged: log.len(), ..Counts::default() };
    for logged in log {
        if *logged.at("isForwarded") == Json::Bool(true) {
            counts.forwarded += 1;
            continue;
        }
        let numbers = ["apiKey", "version", "correlationId"].map(|key| logged.at(key).int());
        let key = (logged.at("connection").int().unwrap(), numbers[0], numbers[1], numbers[2]);
        let Some(request) = requests.get_mut(&key).and_then(Vec::pop) else {
            counts.absent += 1;
            continue;
        };
        let mut differs = |what: &str| {
            problems.push(format!(
                "{name}, {} v{} {key:?}: {what}",
                request.at("api").text().unwrap(),
                numbers[1].unwrap()
            ));
        };
        if logged.at("serverPort").int() != Some(port(request.at("broker"))) {
            differs("another broker's port");
        }
        if logged.at("clientId").text().unwrap() != request.at("clientId").text().unwrap_or_default() {
            differs("another client id");
        }
        let is_old = !name.starts_with("44");
        // Of a version that the broker does not have it logs nothing.
        let is_refused = *logged.at("request") == Json::Object(Vec::new());
        if let Some(difference) =
            (!is_refused).then(|| differing_body(logged.at("request"), "request", request, is_old)).flatten()
        {
            differs(&difference);
        }
        let response = logged_response(logged, log);
        match responses.get(&request.at("index").int()) {
            _ if *response == Json::Null => counts.unacknowledged += 1,
            None => counts.unanswered += 1,
            Some(answer) => {
                counts.exchanges += 1;
                if let Some(difference) = differing_body(response, "response", answer, is_old) {
                    differs(&difference);
                }
                let same = ["client", "broker", "api", "apiKey", "correlationId", "clientId", "connection"];
                if let Some(other) = same.iter().find(|key| request.at(key) != answer.at(key)) {
                    differs(&format!("the response has another {other}"));
                }
            }
        }
    }
    counts
}

/// The response of a line; one that was logged before stands there only.
pub(crate) fn logged_response<'l>(logged: &'l Json, log: &'l [Json]) -> &'l Json {
    match logged.at("response").at("sameAsLine").int() {
        Some(line) => log[usize::try_from(line).unwrap() - 1].at("response"),
        None => logged.at("response"),
    }
}

fn differing_body(logged: &Json, side: &str, message: &Json, is_old: bool) -> Option<String> {
    if !message.at("faults").elements().is_empty() || *message.at("gap") != Json::Null {
        return Some(format!("{side} has faults: {:?}", message.at("faults")));
    }
    let api = message.at("api").text().unwrap();
    let kafka = if is_old { &renamed(logged, api, side) } else { logged };
    difference(kafka, message.at("body"), Extent::Whole).map(|difference| format!("{side}{difference}"))
}
