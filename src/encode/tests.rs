use std::collections::BTreeSet;

use super::write::{uvarint, varlong};
use super::*;
use crate::dissect::{self, Known, Reading};
use crate::protocol::{ApiKey, Catalog, Side};

const HEARTBEAT: ApiKey = ApiKey(12);
const METADATA: ApiKey = ApiKey(3);

/// The examples of the Protocol Buffers encoding page, which KIP-482 and record format 2 follow.
#[test]
fn variable_length_integers() {
    let unsigned = |value| {
        let mut out = Vec::new();
        uvarint(&mut out, value);
        out
    };
    assert_eq!(unsigned(0), [0]);
    assert_eq!(unsigned(127), [0x7f]);
    assert_eq!(unsigned(150), [0x96, 0x01]);
    assert_eq!(unsigned(u32::MAX), [0xff, 0xff, 0xff, 0xff, 0x0f]);
    let signed = |value| {
        let mut out = Vec::new();
        varlong(&mut out, value);
        out
    };
    assert_eq!([0, -1, 1, -2].map(signed), [[0], [1], [2], [3]]);
    assert_eq!(signed(i64::MIN), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
}

/// The layout is that of Kafka's protocol guide, `RecordBatch` and `Record`. That the CRC is Kafka's is shown by the
/// empty batches of the smallest instances.
#[test]
fn a_batch_counts_its_bytes_and_records() {
    let header = (b"h".to_vec(), None);
    let first = Record { key: Some(b"k".to_vec()), headers: vec![header], ..Record::default() };
    let second = Record { timestamp_delta: 5, value: Some(b"v".to_vec()), ..Record::default() };
    let bytes = RecordBatch::of(1000, 1_700_000_000_000, vec![first, second]).encode();
    assert_eq!(bytes[..8], 1000i64.to_be_bytes());
    assert_eq!(bytes[8..12], (bytes.len() as u32 - 12).to_be_bytes());
    assert_eq!(bytes[16], 2, "magic");
    assert_eq!(bytes[17..21], crc32c::crc32c(&bytes[21..]).to_be_bytes());
    assert_eq!(bytes[23..27], 1i32.to_be_bytes(), "last offset delta");
    assert_eq!(bytes[27..35], 1_700_000_000_000i64.to_be_bytes());
    assert_eq!(bytes[35..43], 1_700_000_000_005i64.to_be_bytes());
    assert_eq!(bytes[57..61], 2i32.to_be_bytes(), "count");
    // Length 10 (zigzag 20), attributes, timestamp and offset delta, key `k`, value null, one header `h` with null.
    let first = [20, 0, 0, 0, 2, b'k', 1, 2, 2, b'h', 1];
    // Length 7 (zigzag 14), timestamp delta 5, offset delta 1, key null, value `v`, no headers.
    let second = [14, 0, 10, 2, 1, 2, b'v', 0];
    assert_eq!(bytes[61..], [&first[..], &second].concat());
}

#[test]
fn a_frame_by_hand() {
    let catalog = Catalog::builtin();
    let body = Instance {
        fields: vec![Datum::text("g"), Datum::Int(5), Datum::text("m"), Datum::String(None)],
        tagged: vec![Tagged::Unknown(300, vec![0xaa])],
    };
    let header = Header { correlation_id: 7, client_id: None, tagged: vec![Tagged::Unknown(0, vec![])] };
    let bytes = frame(&catalog, HEARTBEAT, Side::Request, 4, &header, &body).unwrap();
    let head = [0, 0, 0, 27, 0, 12, 0, 4, 0, 0, 0, 7, 0xff, 0xff, 1, 0, 0];
    let rest = [2, b'g', 0, 0, 0, 5, 2, b'm', 0, 1, 0xac, 0x02, 1, 0xaa];
    assert_eq!(bytes, [&head[..], &rest].concat());
}

#[test]
fn values_are_found_by_their_path() {
    let catalog = Catalog::builtin();
    let plan = catalog.api_plan(METADATA, Side::Response, 12).unwrap();
    let mut instance = minimal(plan);
    *instance.at_mut(plan, "topics[0].partitions[0].replicaNodes[0]").unwrap() = Datum::Int(3);
    *instance.at_mut(plan, "topics[0].name").unwrap() = Datum::text("orders");
    assert_eq!(instance.at_mut(plan, "topics[0].partitions[0].replicaNodes"), Some(&mut ints(&[3])));
    for absent in
        ["", "topics[1].name", "topics[0].nothing", "topics.name", "topics[x]", "throttleTimeMs.x", "brokers[0][0]"]
    {
        assert_eq!(instance.at_mut(plan, absent), None, "{absent}");
    }

    // Found again in what is written.
    let header = Header::default();
    let bytes = frame(&catalog, METADATA, Side::Response, 12, &header, &instance).unwrap();
    let (side, header, body) = (Side::Response, catalog.header_for(plan, Side::Response), Some(plan));
    let mut collector = Collector::new();
    let reading = Reading { side, header, body, sized: true, missing: 0, known: Known::default() };
    assert!(dissect::dissect(&reading, &bytes, &mut collector).is_exact());
    assert_eq!(collector.body(), Some(&instance));
}

fn ints(numbers: &[i64]) -> Datum {
    Datum::Array(Some(numbers.iter().copied().map(Datum::Int).collect()))
}

#[test]
fn what_does_not_fit_is_named() {
    let catalog = Catalog::builtin();
    let plan = catalog.api_plan(METADATA, Side::Response, 1).unwrap();
    let wrong = |path: &str, datum: Datum| {
        let mut instance = minimal(plan);
        *instance.at_mut(plan, path).unwrap() = datum;
        encode(plan, &instance).unwrap_err().to_string()
    };
    let number = Datum::Int(i64::from(i32::MAX) + 1);
    assert_eq!(wrong("brokers[0].port", number), "brokers[0].port: the value is no int32");
    assert_eq!(wrong("topics[0].name", Datum::Int(1)), "topics[0].name: the value is no string");
    assert_eq!(
        wrong("topics[0].name", Datum::text(&"x".repeat(32768))),
        "topics[0].name: 32768 are too many for a length of 2 bytes"
    );
    assert_eq!(
        wrong("topics[0].partitions[0].isrNodes", Datum::Array(Some(vec![Datum::Int(0), Datum::Bool(true)]))),
        "topics[0].partitions[0].isrNodes[1]: the value is no int32"
    );
    assert_eq!(wrong("topics[0]", Datum::Struct(None)), "topics[0]: the value is no struct that may be null");
    let tagged = Instance { tagged: vec![Tagged::Unknown(0, vec![])], ..minimal(plan) };
    assert!(encode(plan, &tagged).is_err(), "v1 is not flexible");
    let version = frame(&catalog, METADATA, Side::Response, 99, &Header::default(), &Instance::default());
    assert_eq!(version.unwrap_err().to_string(), "response 3 v99 is not known");
    assert_eq!(minimal_frame(&catalog, METADATA, Side::Response, 99), None);
}

/// A message in another hand: a bool of 2 and a length in two bytes instead of one mean the same and are written as
/// Kafka writes them.
#[test]
fn what_is_written_is_canonical() {
    let catalog = Catalog::builtin();
    let plan = catalog.api_plan(METADATA, Side::Request, 9).unwrap();
    let header = catalog.header_for(plan, Side::Request).unwrap();
    let head = [0, 3, 0, 9, 0, 0, 0, 7, 0, 0, 0];
    let other = [&[0, 0, 0, 17][..], &head, &[0x80, 0, 2, 0xff, 1, 0]].concat();
    let canonical = [&[0, 0, 0, 16][..], &head, &[0, 1, 1, 1, 0]].concat();
    let mut collector = Collector::new();
    let reading = Reading {
        side: Side::Request,
        header: Some(header),
        body: Some(plan),
        sized: true,
        missing: 0,
        known: Known::default(),
    };
    assert!(dissect::dissect(&reading, &other, &mut collector).is_exact());
    let written = frame_of_parts((header, collector.header().unwrap()), (plan, collector.body().unwrap()));
    assert_eq!(written.unwrap(), canonical);
}

#[test]
fn the_same_numbers_make_the_same_instance() {
    let catalog = Catalog::builtin();
    let plan = catalog.api_plan(METADATA, Side::Response, 12).unwrap();
    let make = |seed| {
        let mut generator = fastrand::Rng::with_seed(seed);
        encode(plan, &random(plan, &mut || generator.u64(..), &Options::default())).unwrap()
    };
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
}

/// Random instances have in them what decoders get wrong.
#[test]
fn random_instances_are_varied() {
    let catalog = Catalog::builtin();
    let plan = catalog.api_plan(ApiKey::FETCH, Side::Request, 12).unwrap();
    let mut generator = fastrand::Rng::with_seed(1);
    let mut seen = BTreeSet::new();
    for _ in 0..300 {
        look(random(plan, &mut || generator.u64(..), &Options::default()), &mut seen);
    }
    let all = [
        "character of four bytes",
        "empty array",
        "empty string",
        "known tag",
        "least int32",
        "long string",
        "null",
        "several elements",
        "unknown tag",
    ];
    assert_eq!(Vec::from_iter(seen), all);
}

fn look(instance: Instance, seen: &mut BTreeSet<&str>) {
    let mut waiting = instance.fields;
    for tagged in instance.tagged {
        match tagged {
            Tagged::Known(_, datum) => {
                seen.insert("known tag");
                waiting.push(datum);
            }
            Tagged::Unknown(..) => drop(seen.insert("unknown tag")),
        }
    }
    let mut note = |what, is_so: bool| {
        if is_so {
            seen.insert(what);
        }
    };
    let mut inner = Vec::new();
    while let Some(datum) = waiting.pop() {
        match datum {
            Datum::Int(number) => note("least int32", number == i64::from(i32::MIN)),
            Datum::String(None) => note("null", true),
            Datum::String(Some(text)) => {
                let text = String::from_utf8(text).unwrap();
                note("empty string", text.is_empty());
                // A compact length of two bytes.
                note("long string", text.len() > 127);
                note("character of four bytes", text.chars().any(|character| character.len_utf8() == 4));
            }
            Datum::Struct(Some(instance)) => inner.push(instance),
            Datum::Array(Some(elements)) => {
                note("empty array", elements.is_empty());
                note("several elements", elements.len() > 1);
                waiting.extend(elements);
            }
            _ => {}
        }
    }
    for instance in inner {
        look(instance, seen);
    }
}
