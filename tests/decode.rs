//! `--decode`: keys and values in formats that the reader names; and topics that stand in the bytes as ids alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "common/capture.rs"]
mod capture;

use assert_cmd::Command;
use capture::pcapng;
use kafkascope::encode::{self, Datum, Header, Record, RecordBatch};
use kafkascope::protocol::{ApiKey, Catalog, Side};
use serde_json::{Value, json};

const METADATA: ApiKey = ApiKey(3);
const CLUSTER_METADATA: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SOME_ID: [u8; 16] = [7; 16];

/// A key and a value.
type Pair<'b> = (Option<&'b [u8]>, Option<&'b [u8]>);

/// A conversation in the making.
struct Talk {
    catalog: Catalog,
    frames: Vec<(Side, Vec<u8>)>,
    correlation: i32,
}

impl Talk {
    fn new() -> Self {
        Self { catalog: Catalog::builtin(), frames: Vec::new(), correlation: 0 }
    }

    fn say(&mut self, key: ApiKey, version: i16, side: Side, values: &[(&str, Datum)]) {
        let plan = self.catalog.api_plan(key, side, version).unwrap();
        let mut body = encode::minimal(plan);
        for (path, datum) in values {
            *body.at_mut(plan, path).unwrap_or_else(|| panic!("{} has no {path}", plan.name)) = datum.clone();
        }
        self.correlation += i32::from(side == Side::Request);
        let header = Header { correlation_id: self.correlation, ..Header::default() };
        let frame = encode::frame(&self.catalog, key, side, version, &header, &body).unwrap();
        self.frames.push((side, frame));
    }

    /// A producer sends records to a topic that is named.
    fn produce(&mut self, topic: &str, records: &[Pair<'_>]) {
        let records = Datum::Records(Some(batch(records)));
        let name = ("topicData[0].name", Datum::text(topic));
        let values = [("acks", Datum::Int(1)), name, ("topicData[0].partitionData[0].records", records)];
        self.say(ApiKey::PRODUCE, 9, Side::Request, &values);
        self.say(ApiKey::PRODUCE, 9, Side::Response, &[]);
    }

    /// A consumer is given records of a topic that stands there by its id alone.
    fn fetch(&mut self, id: [u8; 16], records: Vec<u8>) {
        self.say(ApiKey::FETCH, 17, Side::Request, &[]);
        let id = ("responses[0].topicId", Datum::Uuid(id));
        let records = ("responses[0].partitions[0].records", Datum::Records(Some(records)));
        self.say(ApiKey::FETCH, 17, Side::Response, &[id, records]);
    }

    /// A broker tells which topic has an id.
    fn metadata(&mut self, name: &str, id: [u8; 16]) {
        self.say(METADATA, 12, Side::Request, &[]);
        let values = [("topics[0].name", Datum::text(name)), ("topics[0].topicId", Datum::Uuid(id))];
        self.say(METADATA, 12, Side::Response, &values);
    }

    fn run(&self, arguments: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk.pcapng");
        std::fs::write(&path, pcapng(&self.frames, &[])).unwrap();
        let output = Command::cargo_bin("kafkascope").unwrap().args(arguments).arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What `export` prints of the message with a number from 1.
    fn export(&self, arguments: &[&str], message: usize) -> Value {
        let text = self.run(&[&["export"], arguments].concat());
        serde_json::from_str(text.lines().nth(message - 1).unwrap()).unwrap()
    }
}

fn batch(records: &[Pair<'_>]) -> Vec<u8> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let record = |(key, value): &Pair<'_>| Record { key: owned(*key), value: owned(*value), ..Record::default() };
    RecordBatch::of(0, 1_700_000_000_000, records.iter().map(record).collect()).encode()
}

fn produced(message: &Value) -> &Value {
    &message["body"]["topicData"][0]["partitionData"][0]["records"][0]["records"]
}

fn fetched(message: &Value) -> &Value {
    &message["body"]["responses"][0]["partitions"][0]["records"][0]["records"]
}

#[test]
fn values_and_keys_beside_what_they_were() {
    let mut talk = Talk::new();
    let value = b"{\n  \"id\" : 12345678901234567890,\n  \"tags\" : [\"a b\"]\n}".as_slice();
    talk.produce("orders", &[(Some(b"k\xff"), Some(value)), (None, Some(b"{\"a\":")), (Some(b"1"), None)]);

    let line = talk.export(&["--decode", "orders:value=json", "--decode", "orders:key=hex"], 1);
    let records = produced(&line);
    assert_eq!(records[0]["value"], std::str::from_utf8(value).unwrap(), "as it was");
    assert_eq!(records[0]["keyBase64"], "a/8=");
    let number: u64 = 12_345_678_901_234_567_890;
    assert_eq!(records[0]["_decoded"], json!({"key": "6bff", "value": {"id": number, "tags": ["a b"]}}));
    assert_eq!(records[0]["_decodeNotes"], Value::Null);
    assert_eq!(records[1]["value"], "{\"a\":");
    assert_eq!(records[1]["_decoded"], Value::Null);
    let note = records[1]["_decodeNotes"]["value"].as_str().unwrap();
    assert!(note.starts_with("not JSON: EOF while parsing"), "{note}");
    assert_eq!(records[2]["_decoded"], json!({"key": "31"}), "null is null");
    assert_eq!(line["faults"], json!([]));

    let line = talk.export(&["--decode", "ord*=string"], 1);
    assert_eq!(produced(&line)[0]["_decoded"]["key"], r"k\xff");
    assert!(produced(&line)[0]["_decodeNotes"]["key"].as_str().unwrap().starts_with("not UTF-8"));
    assert_eq!(produced(&line)[0]["_decodeNotes"].as_object().unwrap().len(), 1);

    for (rule, is_meant) in [("order=json", false), ("orders2=json", false), ("*=json", true)] {
        let line = talk.export(&["--decode", rule], 1);
        assert_eq!(produced(&line)[0]["_decoded"].is_object(), is_meant, "{rule}");
    }
}

/// A message of format 1 by the protocol guide: offset, size, CRC-32, magic, attributes, timestamp, key, value.
#[test]
fn messages_of_the_old_formats() {
    let body = [&[1, 0, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0][..], b"\0\0\0\x01k\0\0\0\x07[1, 2 ]"].concat();
    let size = [0, 0, 0, body.len() as u8 + 4];
    let message = [&[0; 8][..], &size, &crc32fast::hash(&body).to_be_bytes(), &body].concat();
    let mut talk = Talk::new();
    let records = ("topicData[0].partitionData[0].records", Datum::Records(Some(message)));
    let values = [("acks", Datum::Int(1)), ("topicData[0].name", Datum::text("orders")), records];
    talk.say(ApiKey::PRODUCE, 2, Side::Request, &values);
    let line = talk.export(&["--decode", "orders:value=json", "--decode", "orders:key=hex"], 1);
    assert_eq!(line["faults"], json!([]));
    let record = &produced(&line)[0];
    assert_eq!((&record["key"], &record["value"]), (&json!("k"), &json!("[1, 2 ]")));
    assert_eq!(record["_decoded"], json!({"key": "6b", "value": [1, 2]}));
    let shown = talk.run(&["show", "--decode", "orders:value=json"]);
    assert!(shown.contains("value bytes = 7 bytes [1,2] [0x"), "{shown}");
}

#[test]
fn trees() {
    let mut talk = Talk::new();
    talk.produce("orders", &[(Some(b"k\xff"), Some(b"{\"a\": \"\xc2\x9b\"}")), (None, Some(b"[1,"))]);
    let shown = talk.run(&["show", "-m", "1", "--decode", "orders:value=json", "--decode", "*:key=string"]);
    for line in [
        r#"key bytes = 2 bytes "k\xff" [0x"#,
        r"string, not UTF-8: \xNN stands for a byte, \\ for a backslash",
        r#"value bytes = 11 bytes {"a":"\u009b"} [0x"#,
        r#"value bytes = 3 bytes "[1," [0x"#,
        "not JSON: EOF while parsing",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let tree = talk.run(&["export", "-f", "tree", "--decode", "orders:value=json"]);
    let tree: Value = serde_json::from_str(tree.lines().next().unwrap()).unwrap();
    let mut nodes = vec![&tree["tree"]];
    let mut decoded = Vec::new();
    while let Some(node) = nodes.pop() {
        decoded.extend(node.get("decoded"));
        nodes.extend(node["children"].as_array().unwrap());
    }
    assert_eq!(decoded, [&json!({"a": "\u{9b}"})]);
}

#[test]
fn topics_that_are_named_by_id() {
    let mut talk = Talk::new();
    talk.fetch(SOME_ID, batch(&[(None, Some(b"[1]"))]));
    talk.metadata("orders", SOME_ID);
    talk.fetch(SOME_ID, batch(&[(None, Some(b"[1]"))]));
    let decode = ["--decode", "orders=json"];
    assert_eq!(fetched(&talk.export(&decode, 2))[0]["_decoded"], Value::Null, "nothing has told its name yet");
    assert_eq!(fetched(&talk.export(&decode, 6))[0]["_decoded"], json!({"value": [1]}));
}

#[test]
fn internal_topics_that_are_named_by_id() {
    // GroupMetadataManager writes record type 1 in front of group, topic and partition, and a version in front of values.
    let key = b"\0\x01\0\x05group\0\x06orders\0\0\0\x02".as_slice();
    let value = b"\0\x03\0\0\0\0\0\0\0\x2a\0\0\0\x07\0\x01m\0\0\x01\x8b\xcf\xe5\x68\x00".as_slice();
    let mut talk = Talk::new();
    talk.metadata("__consumer_offsets", SOME_ID);
    talk.fetch(SOME_ID, batch(&[(Some(key), Some(value))]));
    for arguments in [&[][..], &["--decode", "*=hex"]] {
        let line = talk.export(arguments, 4);
        let record = &fetched(&line)[0];
        assert_eq!(record["_key"], json!({"group": "group", "topic": "orders", "partition": 2}));
        assert_eq!(record["_value"]["offset"], 42);
        assert_eq!(record["_value"]["commitTimestamp"], 1_700_000_000_000_i64);
        assert_eq!(record["_decoded"], Value::Null, "Kafka's own schemas come first");
    }
}

/// `TopicRecord` as the metadata log has it: frame version, record type 2, version 0 (KIP-631).
fn topic_record(name: &str, id: [u8; 16]) -> Vec<u8> {
    [&[1, 2, 0, name.len() as u8 + 1], name.as_bytes(), &id, &[0]].concat()
}

#[test]
fn the_metadata_log_tells_names() {
    let mut talk = Talk::new();
    let record = topic_record("payments", SOME_ID);
    talk.fetch(SOME_ID, batch(&[(None, Some(b"x"))]));
    talk.fetch(CLUSTER_METADATA, batch(&[(None, Some(&record))]));
    talk.fetch(SOME_ID, batch(&[(None, Some(b"x"))]));
    // A batch whose checksum is wrong teaches nothing.
    let other = [9; 16];
    let mut broken = batch(&[(None, Some(&topic_record("other", other)))]);
    broken[17] ^= 1;
    talk.fetch(CLUSTER_METADATA, broken);
    talk.fetch(other, batch(&[(None, Some(b"x"))]));
    // Nor does a record in a topic of somebody's own.
    talk.fetch(SOME_ID, batch(&[(None, Some(&topic_record("third", [8; 16])))]));
    talk.fetch([8; 16], batch(&[(None, Some(b"x"))]));
    let name = |message| talk.export(&[], message)["body"]["responses"][0]["_topicId"].clone();
    assert_eq!(name(2), Value::Null);
    assert_eq!(name(4), "__cluster_metadata");
    assert_eq!(name(6), "payments");
    assert_eq!(name(10), Value::Null);
    assert_eq!(name(14), Value::Null);
}

#[test]
fn rules_that_cannot_be_followed() {
    for command in ["list", "show", "export"] {
        let output =
            Command::cargo_bin("kafkascope").unwrap().args([command, "--decode", "orders=avro", "-"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = "kafkascope: --decode orders=avro: no format is called \"avro\"; known are string, json, hex\n";
        assert_eq!((said.as_str(), output.status.code()), (expected, Some(2)), "{command}");
    }
}
