//! Kafka's own messages, batch by batch and record by record.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kafkascope::protocol::Catalog;

use crate::json::Json;
use crate::support::{Message, at, json, tree};

#[test]
fn batches_and_records_are_what_kafkas_reader_says() {
    let catalog = Catalog::builtin();
    let (mut fields, mut batches, mut records, mut partial) = (0, 0, 0, 0);
    for message in Message::all(&catalog) {
        let (ours, faults) = json(&catalog, &message.reading, &message.frame);
        assert!(faults.is_empty(), "{}: {faults:?}", message.name);
        for expected in message.fields() {
            let path = expected.at("path").text().unwrap();
            let found = Field::new(at(ours.at("body"), path));
            let name = format!("{} {path}", message.name);
            assert_eq!(found.partial, expected.at("trailingBytes").int().unwrap() as usize, "{name}");
            let theirs = expected.at("batches").elements();
            assert_eq!(found.batches.len(), theirs.len(), "{name}");
            for (ours, theirs) in found.batches.iter().zip(theirs) {
                compare(ours, theirs, &name);
                records += theirs.at("records").elements().len();
            }
            fields += 1;
            batches += theirs.len();
            partial += usize::from(found.partial > 0);
        }
    }
    // As many as there are in the file.
    assert_eq!((fields, batches, records, partial), FIGURES);
}

/// Fields with whole batches, batches, records, fields with the beginning of a batch at their end.
const FIGURES: (usize, usize, usize, usize) = (941, 1643, 3361, 79);

/// A records field as `export` writes it.
struct Field<'j> {
    batches: Vec<&'j Json>,
    partial: usize,
}

impl<'j> Field<'j> {
    fn new(field: &'j Json) -> Self {
        let (partial, batches): (Vec<_>, Vec<_>) =
            field.elements().iter().partition(|one| *one.at("_partial") != Json::Null);
        let partial = partial.iter().map(|one| STANDARD.decode(one.at("_partial").text().unwrap()).unwrap().len());
        Self { batches, partial: partial.sum() }
    }
}

fn compare(ours: &Json, theirs: &Json, name: &str) {
    let (magic, key) = (theirs.at("magic").int().unwrap(), |key: &'static str| (key, theirs.at(key)));
    let name = format!("{name}, batch at {:?}", theirs.at("baseOffset"));
    for (our, (key, theirs)) in [
        ("magic", key("magic")),
        ("crc", key("crc")),
        ("_compression", key("compression")),
        ("partitionLeaderEpoch", key("partitionLeaderEpoch")),
        ("baseOffset", key("baseOffset")),
        ("producerId", key("producerId")),
        ("producerEpoch", key("producerEpoch")),
        ("baseSequence", key("baseSequence")),
        ("maxTimestamp", key("maxTimestamp")),
        ("_isTransactional", key("isTransactional")),
        ("_isControlBatch", key("isControlBatch")),
        ("_timestampType", key("timestampType")),
    ] {
        // The old formats have only some of these, and the offset of a compressed set is that of its last message.
        if magic == 2 || matches!(key, "magic" | "crc" | "compression") || (magic == 1 && key == "timestampType") {
            assert_eq!(ours.at(our), theirs, "{name}: {our}");
        } else if key != "baseOffset" {
            assert_eq!(*ours.at(our), Json::Null, "{name}: {our}");
        }
    }
    assert_eq!(*ours.at("_crcValid"), Json::Bool(true), "{name}");
    let number = |json: &Json, key: &str| json.at(key).int().unwrap();
    assert_eq!(number(ours, "batchLength") + 12, number(theirs, "sizeInBytes"), "{name}");
    if magic == 2 {
        let last = number(ours, "baseOffset") + number(ours, "lastOffsetDelta");
        assert_eq!(last, number(theirs, "lastOffset"), "{name}");
        assert_eq!(number(ours, "recordsCount") as usize, theirs.at("records").elements().len(), "{name}");
        let horizon = (number(ours, "attributes") & 0x40 != 0).then(|| number(ours, "baseTimestamp"));
        assert_eq!(horizon, theirs.at("deleteHorizonMs").int(), "{name}");
    } else {
        assert_eq!(number(ours, "baseOffset"), number(theirs, "lastOffset"), "{name}");
    }
    let records = |batch: &Json, read: fn(&Json) -> Record| -> Vec<Record> {
        batch.at("records").elements().iter().map(read).collect()
    };
    assert_eq!(records(ours, Record::ours), records(theirs, Record::theirs), "{name}");
}

/// Bytes or null.
type Bytes = Option<Vec<u8>>;

#[derive(Debug, PartialEq)]
struct Record {
    offset: i64,
    timestamp: i64,
    key: Bytes,
    value: Bytes,
    headers: Vec<(Bytes, Bytes)>,
}

impl Record {
    fn ours(json: &Json) -> Self {
        let headers = json.at("headers").elements().iter();
        Self {
            offset: json.at("offset").int().unwrap(),
            timestamp: json.at("timestamp").int().unwrap(),
            key: bytes(json, "key"),
            value: bytes(json, "value"),
            headers: headers.map(|header| (bytes(header, "key"), bytes(header, "value"))).collect(),
        }
    }

    fn theirs(json: &Json) -> Self {
        let decoded = |text: &Json| text.text().map(|text| STANDARD.decode(text).unwrap());
        let header = |pair: &Json| {
            let [name, value] = pair.elements() else { panic!("{pair:?} is no header") };
            (name.text().map(|name| name.as_bytes().to_vec()), decoded(value))
        };
        Self {
            offset: json.at("offset").int().unwrap(),
            timestamp: json.at("timestamp").int().unwrap(),
            key: decoded(json.at("key")),
            value: decoded(json.at("value")),
            headers: json.at("headers").elements().iter().map(header).collect(),
        }
    }
}

/// A key or value: a string, or base64 under another key.
fn bytes(json: &Json, key: &str) -> Option<Vec<u8>> {
    let encoded = json.at(&format!("{key}Base64"));
    match (json.at(key).text(), encoded.text()) {
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(encoded)) => {
            let bytes = STANDARD.decode(encoded).unwrap();
            assert!(std::str::from_utf8(&bytes).is_err(), "text in base64");
            Some(bytes)
        }
        (None, None) => None,
        (Some(_), Some(_)) => panic!("both forms of {key}"),
    }
}

#[test]
fn leaves_of_every_buffer_tile_it() {
    let catalog = Catalog::builtin();
    let mut buffers = 0;
    for message in Message::all(&catalog) {
        let (tree, outcome) = tree(&catalog, &message.reading, &message.frame);
        assert!(outcome.is_exact(), "{}: {outcome:?} {:?}", message.name, tree.faults());
        buffers += tree.buffers().len();
    }
    assert!(buffers > 800, "{buffers} buffers");
}

/// The keys of a batch and their order are part of what other programs rest on.
#[test]
fn keys_of_batches_and_records() {
    let catalog = Catalog::builtin();
    let mut met = [false; 3];
    for message in Message::all(&catalog) {
        let (ours, _) = json(&catalog, &message.reading, &message.frame);
        for field in message.fields() {
            let path = field.at("path").text().unwrap();
            let found = at(ours.at("body"), path);
            let size = format!("_{}SizeInBytes", path.rsplit('.').next().unwrap());
            let (holder, _) = path.rsplit_once('.').unwrap_or(("", path));
            let holder = if holder.is_empty() { ours.at("body") } else { at(ours.at("body"), holder) };
            assert!(holder.at(&size).int().is_some(), "{}: {path}", message.name);
            for batch in Field::new(found).batches {
                let magic = batch.at("magic").int().unwrap() as usize;
                met[magic] = true;
                let own = keys(batch).into_iter().filter(|key| *key != "_deleteHorizonMs");
                assert_eq!(own.collect::<Vec<_>>(), BATCH_KEYS[magic], "{}", message.name);
                for record in batch.at("records").elements() {
                    // Keys with a `_` in front explain control records and those of internal topics.
                    let plain = keys(record).into_iter().filter(|key| !key.starts_with('_'));
                    let names: Vec<_> = plain.map(|key| key.trim_end_matches("Base64")).collect();
                    let headers: &[&str] = if magic == 2 { &["headers"] } else { &[] };
                    assert_eq!(names, [&["offset", "timestamp", "key", "value"], headers].concat());
                }
            }
        }
    }
    assert_eq!(met, [true; 3]);
}

fn keys(object: &Json) -> Vec<&str> {
    let Json::Object(members) = object else { panic!("{object:?} is no object") };
    members.iter().map(|(key, _)| key.as_str()).collect()
}

const BATCH_KEYS: [&[&str]; 3] = [
    &["baseOffset", "batchLength", "crc", "_crcValid", "magic", "attributes", "_compression", "records"],
    &[
        "baseOffset",
        "batchLength",
        "crc",
        "_crcValid",
        "magic",
        "attributes",
        "_compression",
        "_timestampType",
        "records",
    ],
    &[
        "baseOffset",
        "batchLength",
        "partitionLeaderEpoch",
        "magic",
        "crc",
        "_crcValid",
        "attributes",
        "_compression",
        "_timestampType",
        "_isTransactional",
        "_isControlBatch",
        "lastOffsetDelta",
        "baseTimestamp",
        "maxTimestamp",
        "producerId",
        "producerEpoch",
        "baseSequence",
        "recordsCount",
        "records",
    ],
];
