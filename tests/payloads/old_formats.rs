//! Internal topics whose records are of the formats 0 and 1, as brokers before Kafka 0.11 wrote them.

use kafkascope::protocol::Catalog;

use crate::json::Json;
use crate::support::{self, at, compress, fetched_from};
use crate::{bytes, oracle};

/// Keys and values of the oracle that belong together: one whose record type and value's schema are the same.
fn commits() -> Vec<(Json, Json)> {
    let named = |kind, name: &str| -> Vec<Json> {
        oracle(&[kind]).into_iter().filter(|line| line.at("name").text() == Some(name)).collect()
    };
    let values = named("offsets-value", "OffsetCommitValue");
    let pairs: Vec<(Json, Json)> = named("offsets-key", "OffsetCommitKey").into_iter().zip(values).collect();
    assert_eq!(pairs.len(), 5);
    pairs
}

fn hex(line: &Json) -> Vec<u8> {
    bytes(line.at("hex").text().unwrap())
}

#[test]
fn keys_and_values_are_opened() {
    let catalog = Catalog::builtin();
    let pairs = commits();
    for (magic, codec) in [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 3)] {
        let plain: Vec<u8> = pairs
            .iter()
            .enumerate()
            .flat_map(|(index, (key, value))| {
                support::message(magic, 0, index as i64, Some(&hex(key)), Some(&hex(value)))
            })
            .collect();
        let records = match codec {
            0 => plain,
            _ => support::message(magic, codec, 4, None, Some(&compress(codec.into(), &plain))),
        };
        for (topic, is_open) in [("__consumer_offsets", true), ("orders", false)] {
            let (reading, frame) = fetched_from(&catalog, topic, &records);
            support::tree(&catalog, &reading, &frame);
            let (json, faults) = support::json(&catalog, &reading, &frame);
            // Format 0 has lz4 with a checksum of its own, which the test does not write.
            assert!(faults.is_empty(), "format {magic}, codec {codec}: {faults:?}");
            let batches = at(json.at("body"), "responses[0].partitions[0].records").elements();
            let found: Vec<&Json> = batches.iter().flat_map(|batch| batch.at("records").elements()).collect();
            assert_eq!(found.len(), 5);
            for (record, (key, value)) in found.iter().zip(&pairs) {
                let expected = if is_open { (key.at("json"), value.at("json")) } else { (&Json::Null, &Json::Null) };
                assert_eq!(
                    (record.at("_key"), record.at("_value")),
                    expected,
                    "format {magic}, codec {codec}, {topic}"
                );
                // The plain bytes stay.
                assert!(*record.at("key") != Json::Null || *record.at("keyBase64") != Json::Null);
            }
        }
    }
}

/// A tombstone has no value, and a key of a type that is not known stays closed.
#[test]
fn nulls_and_unknown_types_stay() {
    let catalog = Catalog::builtin();
    let (key, value) = &commits()[0];
    let messages = [
        support::message(1, 0, 0, Some(&hex(key)), None),
        support::message(1, 0, 1, None, Some(&hex(value))),
        support::message(1, 0, 2, Some(&[0x7f, 0xff, 0]), Some(&hex(value))),
        support::message(1, 0, 3, Some(&[]), Some(&[])),
    ];
    let (reading, frame) = fetched_from(&catalog, "__consumer_offsets", &messages.concat());
    support::tree(&catalog, &reading, &frame);
    let (json, faults) = support::json(&catalog, &reading, &frame);
    assert!(faults.is_empty(), "{faults:?}");
    let record =
        |index: usize| at(json.at("body"), &format!("responses[0].partitions[0].records[{index}].records[0]")).clone();
    assert_eq!((record(0).at("_key"), record(0).at("value")), (key.at("json"), &Json::Null));
    for index in 1..4 {
        assert_eq!((record(index).at("_key"), record(index).at("_value")), (&Json::Null, &Json::Null), "{index}");
    }
}
