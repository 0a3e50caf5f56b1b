//! What is said of batches that are wrong, and what is read all the same.

use kafkascope::dissect::{Fault, Tree};
use kafkascope::encode::{Record, RecordBatch};
use kafkascope::protocol::Catalog;

use crate::json::Json;
use crate::support::{at, batch, compress, fetched, json, message, reading, sealed, tree};

/// What is said of a fault: path, name, type; expected, found; a word of the cause.
type Said = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// The faults of a Fetch response with these records, in which a good batch follows; gives the field in JSON.
#[track_caller]
fn check(records: &[u8], expected: &[Said]) -> Vec<Json> {
    let catalog = Catalog::builtin();
    let (reading, frame) = fetched(&catalog, &[records, &good()].concat());
    let (tree, _) = tree(&catalog, &reading, &frame);
    compare(&tree, expected);
    let (json, faults) = json(&catalog, &reading, &frame);
    assert_eq!(faults, tree.faults());
    at(json.at("body"), "responses[0].partitions[0].records").elements().to_vec()
}

#[track_caller]
fn compare(tree: &Tree<'_>, expected: &[Said]) {
    let said = |fault: &Fault| {
        let path = fault.path.strip_prefix("responses[0].partitions[0].records").unwrap_or(&fault.path).to_owned();
        [path, fault.name.clone(), fault.ty.clone(), fault.expected(), fault.found()]
    };
    let found: Vec<_> = tree.faults().iter().map(said).collect();
    let wanted: Vec<_> =
        expected.iter().map(|said| [said.0, said.1, said.2, said.3, said.4].map(str::to_owned)).collect();
    assert_eq!(found, wanted);
    for (fault, said) in tree.faults().iter().zip(expected) {
        assert!(fault.cause().contains(said.5), "{}", fault.cause());
    }
}

fn good() -> Vec<u8> {
    let value = |text: &str| Record { value: Some(text.as_bytes().to_vec()), ..Record::default() };
    RecordBatch::of(100, 1000, vec![value("one"), value("two")]).encode()
}

/// The values of a batch's records.
fn values(batch: &Json) -> Vec<Option<&str>> {
    batch.at("records").elements().iter().map(|record| record.at("value").text()).collect()
}

const BOTH: [Option<&str>; 2] = [Some("one"), Some("two")];

#[test]
fn a_checksum() {
    let mut wrong = good();
    wrong[17..21].fill(0);
    let right = u32::from_be_bytes(good()[17..21].try_into().unwrap());
    let said = format!("{right}, the checksum of the bytes");
    let batches =
        check(&wrong, &[("[0].crc", "Crc", "uint32", said.leak(), "another", "changed after it was written")]);
    assert_eq!(batches[0].at("_crcValid"), &Json::Bool(false));
    assert_eq!((values(&batches[0]), values(&batches[1])), (BOTH.to_vec(), BOTH.to_vec()));
}

#[test]
fn a_format() {
    let mut wrong = good();
    wrong[16] = 3;
    // Where the next batch begins cannot be known.
    let batches = check(&wrong, &[("", "magic", "int8", "format 0, 1 or 2", "3", "not records")]);
    assert!(batches[0].at("_undecoded").text().is_some());
}

#[test]
fn a_length() {
    for (length, found) in [(48u32, "48"), (0, "0"), (u32::MAX, "-1")] {
        let mut wrong = good();
        wrong[8..12].copy_from_slice(&length.to_be_bytes());
        let batches = check(&wrong, &[("", "batch_length", "int32", "a length of 49 or more", found, "no batch")]);
        assert_eq!(batches.len(), 1);
    }
    let mut old = message(0, 0, 7, None, Some(b"v"));
    old[11] = 13;
    check(&old, &[("", "batch_length", "int32", "a length of 14 or more", "13", "no batch")]);
}

#[test]
fn a_count_of_records() {
    let records = &good()[61..];
    let batches =
        check(&batch(0, 3, records), &[("[0].records", "Records", "[]Record", "3 records", "2 records", "count")]);
    assert_eq!((values(&batches[0]), values(&batches[1])), (BOTH.to_vec(), BOTH.to_vec()));
    let one = format!("1 record and {} bytes behind them", records.len() / 2);
    let batches =
        check(&batch(0, 1, records), &[("[0].records", "Records", "[]Record", "1 record", one.leak(), "count")]);
    assert_eq!((values(&batches[0]), values(&batches[1])), (vec![Some("one")], BOTH.to_vec()));
    let none = format!("0 records and {} bytes behind them", records.len());
    check(&batch(0, -1, records), &[("[0].records", "Records", "[]Record", "-1 records", none.leak(), "count")]);
    check(&batch(0, 0, &[]), &[]);
}

/// Length 10; attributes, deltas 0 and 0, a null key, a value of one byte, no headers; and three bytes more.
const LONG: [u8; 11] = [20, 0, 0, 0, 1, 2, b'v', 0, 9, 9, 9];

#[test]
fn a_record_of_another_length() {
    let batches = check(
        &batch(0, 2, &[&LONG[..], &good()[61..][10..]].concat()),
        &[(
            "[0].records[0].length",
            "Length",
            "varint",
            "a record of 10 bytes",
            "3 bytes behind its end",
            "length was written wrongly",
        )],
    );
    assert_eq!(values(&batches[0]), [Some("v"), Some("two")]);

    // It ends inside of its value, and the next one is read.
    let short = [10, 0, 0, 0, 1, 10, b'v'];
    let batches = check(
        &batch(0, 2, &[&short[..=5], &good()[61..][10..]].concat()),
        &[("[0].records[0].value", "Value", "raw", "a length of at most 0", "5", "length")],
    );
    assert_eq!(values(&batches[0]), [None, Some("two")]);

    // It goes on behind the end of the batch, or back.
    for (length, found) in [(40u8, "20"), (1, "-1")] {
        let batches = check(
            &batch(0, 1, &[length, 0, 0]),
            &[("[0].records[0].length", "Length", "varint", "a length of at most 2", found, "length")],
        );
        assert_eq!(values(&batches[1]), BOTH);
    }
}

#[test]
fn an_offset_beyond_the_batch() {
    let mut wrong = good();
    wrong[23..27].copy_from_slice(&0u32.to_be_bytes());
    let batches = check(
        &sealed(wrong),
        &[("[0].records[1].offsetDelta", "OffsetDelta", "varint", "a delta from 0 to 0", "1", "last offset delta")],
    );
    assert_eq!(batches[0].at("records").elements()[1].at("offset").int(), Some(101));
}

#[test]
fn headers_that_cannot_be() {
    // Attributes, deltas, null key, null value; a count of headers that no bytes follow.
    let body = [0, 0, 0, 1, 1, 20];
    let records = [&[body.len() as u8 * 2][..], &body].concat();
    check(
        &batch(0, 1, &records),
        &[(
            "[0].records[0].headersCount",
            "HeadersCount",
            "varint",
            "at most 0 elements in the 0 bytes that are left",
            "10",
            "count",
        )],
    );
    // A header's name is never null.
    let body = [0, 0, 0, 1, 1, 2, 1, 1];
    let records = [&[body.len() as u8 * 2][..], &body].concat();
    check(&batch(0, 1, &records), &[("[0].records[0].headers[0].key", "Key", "raw", "a value", "null", "no null")]);
}

#[test]
fn a_codec() {
    let batches = check(&batch(5, 1, b"abc"), &[("[0]", "records", "bytes", "a codec from 0 to 4", "5", "newer")]);
    assert_eq!(batches[0].at("_compression").text(), Some("unknown"));
    assert_eq!(values(&batches[1]), BOTH);
}

#[test]
fn compressed_bytes() {
    let records = good()[61..].repeat(40);
    for (codec, name) in [(1, "a whole gzip stream"), (2, "a whole snappy stream"), (3, "a whole lz4 stream")] {
        let mut compressed = compress(codec, &records);
        compressed.truncate(compressed.len() / 2);
        let catalog = Catalog::builtin();
        let (reading, frame) = fetched(&catalog, &batch(codec, 80, &compressed));
        let (tree, _) = tree(&catalog, &reading, &frame);
        // One fault: that records are missing follows from it.
        let came = format!("damage behind {} inflated bytes", tree.buffers()[0].len());
        compare(&tree, &[("[0]", "records", "bytes", name, came.leak(), "cut or changed")]);
        let (json, _) = json(&catalog, &reading, &frame);
        let batches = at(json.at("body"), "responses[0].partitions[0].records").elements();
        assert!(values(&batches[0]).len() > 1, "what came out is read");
    }
    let batches = check(
        &batch(4, 1, b"no stream"),
        &[("[0]", "records", "bytes", "a whole zstd stream", "damage behind 0 inflated bytes", "another codec")],
    );
    assert_eq!(values(&batches[1]), BOTH);
}

#[test]
fn the_next_partition_behind_a_broken_batch() {
    let catalog = Catalog::builtin();
    let (reading, frame) = fetched(&catalog, &batch(0, 1, &[40, 1, 2]));
    let (tree, outcome) = tree(&catalog, &reading, &frame);
    assert_eq!((outcome.faults, outcome.trailing), (1, 0));
    // The response ends with its records, so it was walked to its end: nothing is left but the broken record.
    assert_eq!((outcome.undecoded, tree.nodes()[0].span.len as usize), (2, frame.len()));
}

#[test]
fn formats_beside_each_other() {
    let batches = check(
        &[
            message(0, 0, 7, Some(b"k"), Some(b"zero")),
            message(1, 0, 8, None, Some(b"one")),
            good(),
            message(1, 8, 9, Some(b""), None),
        ]
        .concat(),
        &[],
    );
    let magics: Vec<_> = batches.iter().map(|batch| batch.at("magic").int().unwrap()).collect();
    assert_eq!(magics, [0, 1, 2, 1, 2]);
    let record = |index: usize| &batches[index].at("records").elements()[0];
    assert_eq!(*record(0), Json::read(br#"{"offset":7,"timestamp":-1,"key":"k","value":"zero"}"#).unwrap());
    assert_eq!(*record(1), Json::read(br#"{"offset":8,"timestamp":1000,"key":null,"value":"one"}"#).unwrap());
    assert_eq!(*record(3), Json::read(br#"{"offset":9,"timestamp":1000,"key":"","value":null}"#).unwrap());
    assert_eq!(batches[3].at("_timestampType").text(), Some("LogAppendTime"));
}

/// In a compressed set of format 1 offsets count from 0, and the message around it has that of the last one (KIP-31).
#[test]
fn sets_of_old_messages() {
    let set = [message(1, 0, 0, None, Some(b"a")), message(1, 0, 2, None, Some(b"b"))].concat();
    let offsets = |batch: &Json| -> Vec<i64> {
        batch.at("records").elements().iter().map(|record| record.at("offset").int().unwrap()).collect()
    };
    let batches = check(&message(1, 1, 42, None, Some(&compress(1, &set))), &[]);
    assert_eq!((values(&batches[0]), offsets(&batches[0])), (vec![Some("a"), Some("b")], vec![40, 42]));
    // In format 0 they stand as they are.
    let set = [message(0, 0, 40, None, Some(b"a")), message(0, 0, 42, None, Some(b"b"))].concat();
    let batches = check(&message(0, 2, 42, None, Some(&compress(2, &set))), &[]);
    assert_eq!((values(&batches[0]), offsets(&batches[0])), (vec![Some("a"), Some("b")], vec![40, 42]));
    // A set that is cut although its stream is whole.
    let catalog = Catalog::builtin();
    let (reading, frame) = fetched(&catalog, &message(0, 2, 42, None, Some(&compress(2, &set[..set.len() - 1]))));
    let (tree, _) = tree(&catalog, &reading, &frame);
    compare(&tree, &[("[0]", "message", "Message", "a length of at most 14", "15", "length was written wrongly")]);
}

#[test]
fn null_and_empty() {
    let header = |name: &[u8], value: Option<&[u8]>| (name.to_vec(), value.map(<[u8]>::to_vec));
    let record = Record {
        timestamp_delta: -5,
        key: Some(vec![]),
        headers: vec![header(b"", None), header(b"h", Some(b"")), header(b"\xff", Some(b"\xfe"))],
        ..Record::default()
    };
    let batches = check(&RecordBatch::of(7, 1000, vec![Record::default(), record]).encode(), &[]);
    let expected = br#"[{"offset":7,"timestamp":1000,"key":null,"value":null,"headers":[]},
        {"offset":8,"timestamp":995,"key":"","value":null,"headers":[{"key":"","value":null},{"key":"h","value":""},
        {"keyBase64":"/w==","valueBase64":"/g=="}]}]"#;
    assert_eq!(*batches[0].at("records"), Json::read(expected).unwrap());
}

/// A broker does not take the beginning of a batch; only its answers may end with one.
#[test]
fn a_partial_batch_in_a_request() {
    use kafkascope::encode::{self, Datum, Header};
    use kafkascope::protocol::{ApiKey, Side};
    let catalog = Catalog::builtin();
    let (key, side, version) = (ApiKey::PRODUCE, Side::Request, 3);
    let plan = catalog.api_plan(key, side, version).unwrap();
    let mut body = encode::minimal(plan);
    let records = [&good()[..], &good()[..70]].concat();
    *body.at_mut(plan, "topicData[0].partitionData[0].records").unwrap() = Datum::Records(Some(records));
    let frame = encode::frame(&catalog, key, side, version, &Header::default(), &body).unwrap();
    let (tree, _) = tree(&catalog, &reading(&catalog, key, side, version), &frame);
    let path = "topicData[0].partitionData[0].records";
    let length = format!("{}", good().len() - 12);
    compare(&tree, &[(path, "batch_length", "int32", "a length of at most 58", length.leak(), "written wrongly")]);
}
