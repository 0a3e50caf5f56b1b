//! Batches of real clients, held against what the broker's own dump of its log says of them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::json::Json;

/// Captures, the batches of the dump that they carry, and all of the dump: the end marker that `44-java-txn` lacks was
/// written when nobody read any more.
const CAPTURES: [(&str, usize, usize); 11] = [
    ("39-java-snappy", 2, 2),
    ("39-java-zstd", 2, 2),
    ("44-franz-zstd", 1, 1),
    ("44-java-gzip", 2, 2),
    ("44-java-lz4", 2, 2),
    ("44-java-none", 2, 2),
    ("44-java-streams-eos", 5, 5),
    ("44-java-txn", 14, 15),
    ("44-kafkago-snappy", 1, 1),
    ("44-librdkafka-snappy", 1, 1),
    ("44-sarama-lz4", 1, 1),
];

#[test]
fn batches_are_those_of_the_brokers_dump() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures");
    let captures =
        if captures.exists() { captures } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures") };
    if !captures.exists() {
        eprintln!("SKIPPED: there is no folder ../shared/captures");
        return;
    }
    let mut found = Vec::new();
    for (name, ..) in CAPTURES {
        let sent = sent(&captures.join(format!("{name}.pcap")));
        let dump = dump(&captures.join(format!("expected/{name}.batches.jsonl")));
        let mut matched = 0;
        for (batch, records) in &dump {
            let crc: i64 = number(batch, "crc");
            for ours in sent.get(&crc).into_iter().flatten() {
                compare(ours, batch, records, name);
            }
            matched += usize::from(sent.contains_key(&crc));
        }
        found.push((name, matched, dump.len()));
    }
    assert_eq!(found, CAPTURES);
}

/// All batches of a capture, by their checksum.
fn sent(capture: &Path) -> BTreeMap<i64, Vec<Json>> {
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").args(["export"]).arg(capture).output().unwrap();
    assert!(output.status.success(), "{}", capture.display());
    let mut batches = BTreeMap::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        collect(&Json::read(line).unwrap(), &mut batches);
    }
    batches
}

fn collect(json: &Json, batches: &mut BTreeMap<i64, Vec<Json>>) {
    match json {
        Json::Object(_) if *json.at("_crcValid") != Json::Null => {
            assert_eq!(*json.at("_crcValid"), Json::Bool(true));
            batches.entry(json.at("crc").int().unwrap()).or_default().push(json.clone());
        }
        Json::Object(members) => members.iter().for_each(|(_, member)| collect(member, batches)),
        Json::Array(elements) => elements.iter().for_each(|element| collect(element, batches)),
        _ => {}
    }
}

/// The batches of a dump, each with its records.
fn dump(path: &Path) -> Vec<(Json, Vec<Json>)> {
    let mut batches: Vec<(Json, Vec<Json>)> = Vec::new();
    for line in std::fs::read(path).unwrap().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line = Json::read(line).unwrap();
        match batches.last_mut() {
            Some((_, records)) if line.at("kind").text() == Some("record") => records.push(line),
            _ => batches.push((line, Vec::new())),
        }
    }
    batches
}

fn number(line: &Json, key: &str) -> i64 {
    line.at(key).text().unwrap().parse().unwrap()
}

fn compare(ours: &Json, batch: &Json, records: &[Json], name: &str) {
    let int = |key: &str| ours.at(key).int().unwrap();
    let name = format!("{name}, batch at {:?}", batch.at("position"));
    // A producer counts offsets from 0; the broker put the real ones into the same bytes.
    let is_read = int("partitionLeaderEpoch") >= 0;
    let shift = if is_read { 0 } else { number(batch, "baseOffset") };
    assert_eq!(int("baseOffset") + shift, number(batch, "baseOffset"), "{name}");
    assert_eq!(int("baseOffset") + shift + int("lastOffsetDelta"), number(batch, "lastOffset"), "{name}");
    assert_eq!(int("batchLength") + 12, number(batch, "size"), "{name}");
    assert_eq!(ours.at("_compression").text(), batch.at("compresscodec").text(), "{name}");
    for (our, theirs) in [
        ("magic", "magic"),
        ("recordsCount", "count"),
        ("maxTimestamp", "CreateTime"),
        ("producerId", "producerId"),
        ("producerEpoch", "producerEpoch"),
        ("baseSequence", "baseSequence"),
    ] {
        assert_eq!(int(our), number(batch, theirs), "{name}: {our}");
    }
    for (our, theirs) in [("_isTransactional", "isTransactional"), ("_isControlBatch", "isControl")] {
        assert_eq!(*ours.at(our), Json::Bool(batch.at(theirs).text() == Some("true")), "{name}: {our}");
    }
    assert_eq!(ours.at("records").elements().len(), records.len(), "{name}");
    for (ours, theirs) in ours.at("records").elements().iter().zip(records) {
        let name = format!("{name}, offset {:?}", theirs.at("offset"));
        assert_eq!(ours.at("offset").int().unwrap() + shift, number(theirs, "offset"), "{name}");
        assert_eq!(ours.at("timestamp").int().unwrap(), number(theirs, "CreateTime"), "{name}");
        for (key, size, content) in [("key", "keySize", "key"), ("value", "valueSize", "payload")] {
            let is_binary = ours.at(&format!("{key}Base64")).text().is_some();
            let length = ours.at(key).text().map_or(-1, |text| text.len() as i64);
            // The dump has no text of null, of end markers, and its text of other bytes is not exact.
            if is_binary || theirs.at("endTxnMarker").text().is_some() {
                continue;
            }
            assert_eq!(length, number(theirs, size), "{name}: {key}");
            // Nor of an empty one.
            if length > 0 {
                assert_eq!(ours.at(key), theirs.at(content), "{name}: {key}");
            }
        }
        let headers = ours.at("headers").elements().iter().map(|header| header.at("key").text().unwrap());
        let headers = format!("[{}]", headers.collect::<Vec<_>>().join(","));
        assert_eq!(Some(headers.as_str()), theirs.at("headerKeys").text(), "{name}");
    }
}
