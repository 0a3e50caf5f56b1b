//! Captures that lack something: what carries no mark is right, and what was cut is right as far as it goes.

use std::collections::BTreeMap;
use std::fs::File;

use kafkascope::capture::CaptureReader;

use crate::compare::{Extent, difference};
use crate::json::Json;
use crate::request_log::logged_response;
use crate::support::{export, is_header_alone, lines, own, port, read, report};

/// The client's port, the side, the correlation id: each comes once in these captures.
type Key = (i64, String, Option<i64>);

fn by_key(messages: &[Json]) -> BTreeMap<Key, &Json> {
    let key = |message: &Json| {
        let side = message.at("type").text().unwrap().to_owned();
        (port(message.at("client")), side, message.at("correlationId").int())
    };
    let all: BTreeMap<Key, &Json> = messages.iter().map(|message| (key(message), message)).collect();
    assert_eq!(all.len(), messages.len(), "a key comes twice");
    all
}

/// Holds every message of a damaged capture against that of its base.
fn against_base(messages: &[Json], base: &BTreeMap<Key, &Json>, problems: &mut Vec<String>) {
    for (key, message) in by_key(messages) {
        let Some(whole) = base.get(&key) else {
            problems.push(format!("{key:?}: the base has no such message"));
            continue;
        };
        let is_cut = *message.at("gap") != Json::Null;
        let extent = if is_cut { Extent::Beginning } else { Extent::Whole };
        if !is_cut && !message.at("faults").elements().is_empty() {
            problems.push(format!("{key:?}: a fault that is not the capture's: {:?}", message.at("faults")));
        }
        if is_header_alone(message) {
            continue;
        }
        for part in ["header", "body"] {
            if let Some(difference) = difference(whole.at(part), message.at(part), extent) {
                problems.push(format!("{key:?}: {part}{difference}"));
            }
        }
        if let Some(other) = ["api", "apiVersion", "size"].iter().find(|member| whole.at(member) != message.at(member))
        {
            problems.push(format!("{key:?}: another {other}: {:?}", message.at(other)));
        }
    }
}

/// A range of a stream that was lost: the sender's and the receiver's port, first and last byte.
struct Lost {
    ports: (i64, i64),
    start: i64,
    end: i64,
}

impl Lost {
    fn all() -> Vec<Self> {
        let damage = Json::read(&read(&own("captures/44-java-txn-lost.damage.json"))).unwrap();
        let lost = |range: &Json| {
            let number = |name: &str| range.at(name).int().unwrap();
            let start = number("stream_offset");
            Self { ports: (number("src_port"), number("dst_port")), start, end: start + number("len") }
        };
        damage.at("lost").elements().iter().map(lost).collect()
    }
}

#[test]
fn lost_segments() {
    let (messages, base) = (export(&own("captures/44-java-txn-lost.pcap")), export(&own("captures/44-java-txn.pcap")));
    let base = by_key(&base);
    let mut problems = Vec::new();
    against_base(&messages, &base, &mut problems);
    report(&problems);

    // What is there, what is guessed and what is known by its header alone follows from where the lost ranges lie.
    let lost = Lost::all();
    let found = by_key(&messages);
    let range_of = |key: &Key| {
        let number = |name: &str| base[key].at(name).int().unwrap();
        (number("streamOffset"), number("streamOffset") + number("size"))
    };
    let in_stream =
        |key: &Key, lost: &Lost| if key.1 == "request" { lost.ports.0 == key.0 } else { lost.ports.1 == key.0 };
    let is_lost = |key: &Key| {
        let (start, end) = range_of(key);
        lost.iter().any(|lost| in_stream(key, lost) && lost.start < end && start < lost.end)
    };
    for key in base.keys() {
        // Every segment that was lost is a whole message, so no message is cut.
        assert_eq!(found.contains_key(key), !is_lost(key), "{key:?}");
        let Some(message) = found.get(key) else { continue };
        assert_eq!(*message.at("gap"), Json::Null);
        let is_behind_lost = lost.iter().any(|lost| in_stream(key, lost) && lost.end == range_of(key).0);
        let request = (key.0, "request".to_owned(), key.2);
        let lacks_request = key.1 == "response" && is_lost(&request);
        assert_eq!(*message.at("request") == Json::Null, key.1 == "request" || lacks_request, "{key:?}");
        assert!(lacks_request || !is_header_alone(message), "{key:?}");
        let is_guessed = is_behind_lost || (lacks_request && !is_header_alone(message));
        assert_eq!(*message.at("guessed") != Json::Null, is_guessed, "{key:?}");
    }
    assert_eq!((base.len(), found.len()), (162, 162 - lost.len()));
}

#[test]
fn no_beginning() {
    let (messages, base) = (export(&own("captures/44-java-txn-nosyn.pcap")), export(&own("captures/44-java-txn.pcap")));
    let mut problems = Vec::new();
    against_base(&messages, &by_key(&base), &mut problems);
    report(&problems);
    // As the reader counted that counted the request logs: 101 whole frames, of which the first of each stream that has
    // no SYN is guessed; 50 exchanges.
    let count = |is: fn(&Json) -> bool| messages.iter().filter(|message| is(message)).count();
    assert_eq!(messages.len(), 101);
    assert_eq!(count(|message| *message.at("guessed") != Json::Null), 6);
    assert_eq!(count(|message| *message.at("gap") != Json::Null), 0);
    assert_eq!(count(|message| *message.at("request") != Json::Null), 50);
}

/// Holds the messages of a capture that has no base against the request log, as far as they go.
fn against_log(name: &str, problems: &mut Vec<String>) -> (usize, usize, usize) {
    let messages = export(&own("captures").join(format!("{name}.pcap")));
    let log = lines(&read(&own("tests/data/request-logs").join(format!("{name}.jsonl.gz"))));
    let messages = by_key(&messages);
    let (mut whole, mut cut, mut alone) = (0, 0, 0);
    for logged in &log {
        let number = |name: &str| logged.at(name).int();
        for side in ["request", "response"] {
            let body = if side == "request" { logged.at(side) } else { logged_response(logged, &log) };
            let key = (number("connection").unwrap(), side.to_owned(), number("correlationId"));
            let Some(message) = messages.get(&key) else { continue };
            if is_header_alone(message) {
                alone += 1;
                continue;
            }
            if [message.at("apiKey").int(), message.at("apiVersion").int()] != [number("apiKey"), number("version")] {
                problems.push(format!("{name}, {key:?}: {:?} {:?}", message.at("api"), message.at("apiVersion")));
            }
            let is_cut = *message.at("gap") != Json::Null;
            let extent = if is_cut { Extent::Beginning } else { Extent::Whole };
            *(if is_cut { &mut cut } else { &mut whole }) += 1;
            if let Some(difference) = difference(body, message.at("body"), extent) {
                problems.push(format!("{name}, {key:?}: {side}{difference}"));
            }
        }
    }
    (whole, cut, alone)
}

#[test]
fn in_the_middle() {
    let mut problems = Vec::new();
    let counts = against_log("44-midstream-java", &mut problems);
    report(&problems);
    // Of 50 logged exchanges, the request of one was sent before the capture began.
    assert_eq!(counts, (98, 0, 1));
}

#[test]
fn snap_length() {
    let mut problems = Vec::new();
    let counts = against_log("44-snaplen96-java", &mut problems);
    report(&problems);
    // As counted by hand from the lengths of the packets.
    assert_eq!(counts, (6, 42, 0));
}

/// What a message lacks is what its packets lack: each message has packets of its own in this capture.
#[test]
fn a_gap_is_what_the_snap_length_took() {
    let path = own("captures/44-snaplen96-java.pcap");
    let mut reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
    let mut lacks = vec![0];
    while let Some(packet) = reader.next().unwrap() {
        lacks.push(packet.original_length - packet.data.len() as u32);
    }
    let (mut cut, mut of_several_packets) = (0, 0);
    for message in export(&path) {
        let packets = message.at("packets").elements();
        let lack = |packet: &Json| lacks[usize::try_from(packet.int().unwrap()).unwrap()];
        let missing: u32 = packets.iter().map(lack).sum();
        assert_eq!(message.at("gap").int().unwrap_or(0), i64::from(missing), "{message:?}");
        cut += u32::from(missing > 0);
        of_several_packets += u32::from(missing > 0 && packets.len() > 1);
    }
    assert_eq!((cut, of_several_packets), (42, 1));
}
