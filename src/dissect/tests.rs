use super::*;
use crate::protocol::{ApiKey, Catalog};
use crate::wire::WireErrorKind;

const HEARTBEAT: ApiKey = ApiKey(12);
const METADATA: ApiKey = ApiKey(3);

/// Correlation id 7, client id `c`: what stands behind API and version in a request header v1.
const HEADER: &[u8] = &[0, 0, 0, 7, 0, 1, b'c'];

/// The bytes of a request behind its size: API, version, correlation id, client id, and the tags of a flexible header.
fn request(key: ApiKey, version: i16, flexible: bool, body: &[u8]) -> Vec<u8> {
    let tags: &[u8] = if flexible { &[0] } else { &[] };
    sized(&[&key.0.to_be_bytes(), &version.to_be_bytes(), HEADER, tags, body].concat())
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

fn reading(catalog: &Catalog, key: ApiKey, side: Side, version: i16) -> Reading<'_> {
    let body = catalog.api_plan(key, side, version).unwrap();
    let header = catalog.header_for(body, side);
    Reading { side, header, body: Some(body), sized: true, missing: 0, known: Known::default() }
}

/// What is said of a fault: start and length of its bytes; path, name, type; expected, found.
#[derive(Debug, PartialEq)]
struct Said(u32, u32, &'static str, &'static str, &'static str, &'static str, &'static str);

/// The faults of a frame must be those, and its leaves must tile it. Gives the numbers of trailing and undecoded bytes.
fn check(reading: &Reading<'_>, frame: &[u8], expected: &[Said]) -> (u32, u32) {
    let mut tree = Tree::new();
    let outcome = dissect(reading, frame, &mut tree);
    let found: Vec<_> = tree.faults().iter().map(said).collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|Said(start, len, path, name, ty, expected, found)| {
            (*start, *len, [*path, *name, *ty, *expected, *found].map(str::to_owned))
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(outcome.faults as usize, expected.len());
    let mut end = 0;
    for node in tree.nodes().iter().filter(|node| node.is_leaf()) {
        assert_eq!(node.span.start, end);
        end = node.span.end();
    }
    assert_eq!(end as usize, frame.len());
    (outcome.trailing, outcome.undecoded)
}

fn said(fault: &Fault) -> (u32, u32, [String; 5]) {
    let Fault { span, path, name, ty, .. } = fault;
    (span.start, span.len, [path.clone(), name.clone(), ty.clone(), fault.expected(), fault.found()])
}

/// Heartbeat v0: `GroupId` string, `GenerationId` int32, `MemberId` string. Its body starts at 15.
const GROUP: [u8; 3] = [0, 1, b'g'];

#[test]
fn a_number_that_ends_too_soon() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, HEARTBEAT, Side::Request, 0);
    let frame = request(HEARTBEAT, 0, false, &[&GROUP[..], &[0, 0]].concat());
    let expected = Said(18, 2, "generationId", "GenerationId", "int32", "4 bytes", "2 bytes and the end");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 2));

    let frame = request(HEARTBEAT, 0, false, &GROUP);
    let expected = Said(18, 0, "generationId", "GenerationId", "int32", "4 bytes", "the end");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 0));
}

#[test]
fn a_length_of_more_than_is_there() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, METADATA, Side::Request, 1);
    // Metadata v1 has topics with a name each. The second one claims 9 bytes.
    let frame = request(METADATA, 1, false, &[0, 0, 0, 2, 0, 1, b'a', 0, 9, b'b', b'c']);
    let expected = Said(22, 4, "topics[1].name", "Name", "string", "a length of at most 2", "9");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 4));
}

#[test]
fn a_length_below_null() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, HEARTBEAT, Side::Request, 0);
    let frame = request(HEARTBEAT, 0, false, &[0xff, 0xfe, 0, 0, 0, 0, 0, 0]);
    let expected = Said(15, 8, "groupId", "GroupId", "string", "a length of -1 or more", "-2");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 8));
}

#[test]
fn a_varint_that_goes_on() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, METADATA, Side::Request, 9);
    let frame = request(METADATA, 9, true, &[0xff; 6]);
    let expected = Said(
        16,
        6,
        "topics",
        "Topics",
        "[]MetadataRequestTopic",
        "a varint of at most 5 bytes",
        "a varint that goes on",
    );
    assert_eq!(check(&reading, &frame, &[expected]), (0, 6));
}

#[test]
fn null_where_the_version_has_none_and_the_rest_is_read() {
    let catalog = Catalog::builtin();
    let heartbeat = reading(&catalog, HEARTBEAT, Side::Request, 0);
    let frame = request(HEARTBEAT, 0, false, &[0xff, 0xff, 0, 0, 0, 5, 0, 1, b'm']);
    let expected = Said(15, 2, "groupId", "GroupId", "string", "a value", "null");
    assert_eq!(check(&heartbeat, &frame, &[expected]), (0, 0));

    // Topics may be null from v1 on, where that asks for all of them.
    let frame = request(METADATA, 0, false, &[0xff; 4]);
    let expected = Said(15, 4, "topics", "Topics", "[]MetadataRequestTopic", "a value", "null");
    assert_eq!(check(&reading(&catalog, METADATA, Side::Request, 0), &frame, &[expected]), (0, 0));
    let frame = request(METADATA, 1, false, &[0xff; 4]);
    assert_eq!(check(&reading(&catalog, METADATA, Side::Request, 1), &frame, &[]), (0, 0));
}

#[test]
fn more_elements_than_the_bytes_can_hold() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, METADATA, Side::Request, 1);
    // A topic is a string, so it takes two bytes at least.
    let frame = request(METADATA, 1, false, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0]);
    let expected = Said(
        15,
        4,
        "topics",
        "Topics",
        "[]MetadataRequestTopic",
        "at most 2 elements in the 5 bytes that are left",
        "2147483647",
    );
    assert_eq!(check(&reading, &frame, &[expected]), (0, 5));
}

#[test]
fn more_tagged_fields_than_the_bytes_can_hold() {
    let catalog = Catalog::builtin();
    // Heartbeat v4 with compact strings and a null instance id; then three tagged fields in two bytes.
    let frame = request(HEARTBEAT, 4, true, &[2, b'g', 0, 0, 0, 5, 2, b'm', 0, 3, 0, 0]);
    let expected =
        Said(25, 1, "", "tagged_fields", "uvarint", "at most 1 tagged field in the 2 bytes that are left", "3");
    assert_eq!(check(&reading(&catalog, HEARTBEAT, Side::Request, 4), &frame, &[expected]), (0, 2));
}

/// An ApiVersions response v3 without an error, keys or throttling, and two tagged fields: 1, `FinalizedFeaturesEpoch`,
/// which is an int64, in the bytes that are given, and 3, `ZkMigrationReady`, which is true.
fn api_versions_response(tag_1: &[u8]) -> Vec<u8> {
    sized(&[&[0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 2, 1][..], tag_1, &[3, 1, 1]].concat())
}

#[test]
fn a_tagged_field_that_ends_before_its_size() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, ApiKey::API_VERSIONS, Side::Response, 3);
    let frame = api_versions_response(&[8, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(check(&reading, &frame, &[]), (0, 0));

    let frame = api_versions_response(&[9, 0, 0, 0, 0, 0, 0, 0, 2, 0xee]);
    let expected =
        Said(18, 9, "finalizedFeaturesEpoch", "FinalizedFeaturesEpoch", "int64", "a value of 9 bytes", "one of 8");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 1));
    assert_eq!(zk_migration_ready(&reading, &frame), Some(Value::Bool(true)));
}

#[test]
fn a_tagged_field_that_does_not_fit_its_size() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, ApiKey::API_VERSIONS, Side::Response, 3);
    let frame = api_versions_response(&[4, 0, 0, 0, 2]);
    let expected =
        Said(18, 4, "finalizedFeaturesEpoch", "FinalizedFeaturesEpoch", "int64", "8 bytes", "4 bytes and the end");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 4));
    assert_eq!(zk_migration_ready(&reading, &frame), Some(Value::Bool(true)), "the fault ended with the tagged field");
}

/// Found by fuzzing: the JSON of a struct had a key twice.
#[test]
fn tags_that_do_not_ascend() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, ApiKey::API_VERSIONS, Side::Response, 3);
    // `ZkMigrationReady` true, then `FinalizedFeaturesEpoch`, then `ZkMigrationReady` false.
    let tags = [&[3, 3, 1, 1, 1, 8][..], &[0, 0, 0, 0, 0, 0, 0, 42], &[3, 1, 0]].concat();
    let frame = sized(&[&[0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0][..], &tags].concat());
    let expected = [
        Said(19, 1, "", "tag", "uvarint", "a tag above 3", "1"),
        Said(29, 1, "", "tag", "uvarint", "a tag above 3", "3"),
    ];
    assert_eq!(check(&reading, &frame, &expected), (0, 0));
    assert_eq!(zk_migration_ready(&reading, &frame), Some(Value::Bool(true)), "the first one counts");
}

#[test]
fn a_tagged_field_whose_size_goes_beyond_the_end() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, ApiKey::API_VERSIONS, Side::Response, 3);
    let frame = api_versions_response(&[0x7f, 0, 0, 0, 2]);
    let expected = Said(17, 8, "", "size", "uvarint", "a length of at most 7", "127");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 8));
    assert_eq!(zk_migration_ready(&reading, &frame), None);
}

fn zk_migration_ready<'b>(reading: &Reading<'_>, frame: &'b [u8]) -> Option<Value<'b>> {
    let mut tree = Tree::new();
    dissect(reading, frame, &mut tree);
    tree.nodes().iter().find_map(|node| match node.what {
        What::Value(Place::Field(field)) if &*field.name == "ZkMigrationReady" => {
            value_of(field.ty, &frame[node.span.start as usize..node.span.end() as usize])
        }
        _ => None,
    })
}

#[test]
fn a_size_that_is_not_the_number_of_bytes_behind_it() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, HEARTBEAT, Side::Request, 0);
    let whole = request(HEARTBEAT, 0, false, &[0, 1, b'g', 0, 0, 0, 5, 0, 1, b'm']);
    assert_eq!(check(&reading, &whole, &[]), (0, 0));

    // Too large: what is there is read.
    let mut frame = whole.clone();
    frame[3] += 1;
    let expected = Said(0, 4, "", "size", "int32", "22 bytes after the size", "21");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 0));

    // Too small: nothing is read beyond it.
    frame[3] = 20;
    let expected = [
        Said(0, 4, "", "size", "int32", "20 bytes after the size", "21"),
        Said(22, 2, "memberId", "MemberId", "string", "a length of at most 0", "1"),
    ];
    assert_eq!(check(&reading, &frame, &expected), (1, 2));

    frame[..4].fill(0xff);
    let expected = Said(0, 4, "", "size", "int32", "-1 bytes after the size", "21");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 0));

    // More than it counts.
    let frame = [&*whole, &[1, 2, 3]].concat();
    let expected = Said(0, 4, "", "size", "int32", "21 bytes after the size", "24");
    assert_eq!(check(&reading, &frame, &[expected]), (3, 0));
}

#[test]
fn bytes_behind_the_end_of_the_body() {
    let catalog = Catalog::builtin();
    let frame = request(HEARTBEAT, 0, false, &[0, 1, b'g', 0, 0, 0, 5, 0, 1, b'm', 0xaa, 0xbb]);
    let reading = reading(&catalog, HEARTBEAT, Side::Request, 0);
    assert_eq!(check(&reading, &frame, &[]), (2, 0));
    assert!(!dissect(&reading, &frame, &mut Deaf).is_exact());
}

#[test]
fn bytes_that_the_capture_lacks_are_not_the_senders_fault() {
    let catalog = Catalog::builtin();
    let whole = request(HEARTBEAT, 0, false, &[0, 1, b'g', 0, 0, 0, 5, 0, 1, b'm']);
    let reading = Reading { missing: 5, ..reading(&catalog, HEARTBEAT, Side::Request, 0) };
    let (there, _) = whole.split_at(whole.len() - 5);
    let expected = Said(18, 2, "generationId", "GenerationId", "int32", "5 bytes more", "a gap in the capture");
    assert_eq!(check(&reading, there, &[expected]), (0, 2));

    // A length and a count are believed, because what they count may be in the gap.
    let frame = request(METADATA, 1, false, &[0, 0, 0, 9, 0, 1, b'a', 0, 9, b'b']);
    let reading = Reading { missing: 60, ..super::tests::reading(&catalog, METADATA, Side::Request, 1) };
    let mut frame = frame;
    frame[3] += 60;
    let expected = Said(22, 3, "topics[1].name", "Name", "string", "60 bytes more", "a gap in the capture");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 3));
}

#[test]
fn a_gap_is_told_even_where_the_message_ends_before_it() {
    let catalog = Catalog::builtin();
    let mut frame = request(HEARTBEAT, 0, false, &[0, 1, b'g', 0, 0, 0, 5, 0, 1, b'm']);
    frame[3] += 1;
    let reading = Reading { missing: 1, ..reading(&catalog, HEARTBEAT, Side::Request, 0) };
    let expected = Said(25, 0, "", "message", "bytes", "1 byte more", "a gap in the capture");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 0));
}

#[test]
fn a_frame_that_ends_in_its_size_or_header_has_one_fault() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, HEARTBEAT, Side::Request, 0);
    let expected = Said(0, 3, "", "size", "int32", "4 bytes", "3 bytes and the end");
    assert_eq!(check(&reading, &[0, 0, 0], &[expected]), (0, 3));
    assert_eq!(
        check(&reading, &[], &[Said(0, 0, "", "size", "int32", "4 bytes", "the end")]),
        (0, 0),
        "no frame at all"
    );
    let frame = sized(&[0, 12, 0, 0, 0, 0]);
    let expected = Said(8, 2, "correlationId", "CorrelationId", "int32", "4 bytes", "2 bytes and the end");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 2));
}

#[test]
fn an_unknown_version_keeps_its_header() {
    let catalog = Catalog::builtin();
    let frame = request(HEARTBEAT, 99, false, &[1, 2, 3]);
    let header = catalog.header(Side::Request, 1);
    let reading = Reading { side: Side::Request, header, body: None, sized: true, missing: 0, known: Known::default() };
    assert_eq!(check(&reading, &frame, &[]), (0, 3));
}

#[test]
fn a_struct_that_holds_itself() {
    let schema = r#"{ "apiKey": 901, "type": "request", "name": "DeepRequest", "validVersions": "0", "fields": [
        { "name": "Node", "type": "Node", "versions": "0+", "nullableVersions": "0+", "fields": [
            { "name": "Left", "type": "Node", "versions": "0+", "nullableVersions": "0+" },
            { "name": "Right", "type": "Node", "versions": "0+", "nullableVersions": "0+" } ] } ] }"#;
    let mut catalog = Catalog::builtin();
    catalog.overlay_text("DeepRequest.json", schema.to_owned()).unwrap();
    let key = ApiKey(901);
    let reading = reading(&catalog, key, Side::Request, 0);
    // A node, null to its left, and a node to its right that has neither.
    assert_eq!(check(&reading, &request(key, 0, false, &[1, 0xff, 1, 0xff, 0xff]), &[]), (0, 0));

    let mut tree = Tree::new();
    let outcome = dissect(&reading, &request(key, 0, false, &[1; 4000]), &mut tree);
    let fault = &tree.faults()[0];
    assert_eq!((outcome.faults, fault.kind), (1, FaultKind::TooDeep));
    assert!(fault.path.starts_with("node.left.left.left."));
    assert_eq!((fault.expected(), fault.found()), ("a shallower message".to_owned(), "nesting without end".to_owned()));
    assert_eq!(fault.span.start + outcome.undecoded, 4015, "all that was not read is one leaf");
}

#[test]
fn the_cause_fits_the_kind() {
    let cause = |kind| {
        let span = Span { buffer: 0, start: 0, len: 0 };
        Fault { span, path: String::new(), name: String::new(), ty: String::new(), kind }.cause()
    };
    let wire = |kind| cause(FaultKind::Wire(kind));
    assert!(wire(WireErrorKind::Short { needed: 4, available: 1 }).contains("cut short"));
    assert!(wire(WireErrorKind::VarintTooLong { limit: 5 }).contains("not flexible"));
    assert!(wire(WireErrorKind::LengthTooLarge { length: 9, available: 1 }).contains("length"));
    assert!(wire(WireErrorKind::LengthNegative { length: -2 }).contains("length"));
    assert!(cause(FaultKind::Null).contains("no null"));
    assert!(cause(FaultKind::TooManyElements { count: 9, each: 2, available: 1 }).contains("count"));
    assert!(cause(FaultKind::TooManyTags { count: 9, available: 1 }).contains("tagged fields"));
    assert!(cause(FaultKind::TagSize { size: 9, used: 8 }).contains("tagged field"));
    assert!(cause(FaultKind::FrameSize { size: 9, available: 8 }).contains("size"));
    assert!(cause(FaultKind::Lost { missing: 1 }).contains("capture"));
    assert!(cause(FaultKind::TooDeep).contains("holds itself"));
}

/// The path goes through arrays and tagged fields as JSON does.
#[test]
fn paths_go_through_tagged_fields_and_arrays() {
    let catalog = Catalog::builtin();
    let reading = reading(&catalog, ApiKey::API_VERSIONS, Side::Response, 3);
    // Tag 0, `SupportedFeatures`: one element, whose name claims 100 bytes.
    let frame = sized(&[0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 1, 0, 8, 2, 101, b'x', 0, 0, 0, 0, 0]);
    let expected = Said(19, 7, "supportedFeatures[0].name", "Name", "string", "a length of at most 6", "100");
    assert_eq!(check(&reading, &frame, &[expected]), (0, 7));
}

#[test]
fn payloads_have_the_prefix_of_their_kind() {
    let catalog = Catalog::builtin();
    let walk = |name, bytes: &[u8]| dissect_payload(catalog.plan(name, 0).unwrap(), bytes, &mut Deaf);
    // From Kafka's own classes: `NoOpRecord` v0 behind frame version 1, record type 20, version 0; no tagged fields.
    assert!(walk("NoOpRecord", &[1, 20, 0, 0]).is_exact());
    let cut = walk("NoOpRecord", &[1, 0x94]);
    assert_eq!((cut.faults, cut.undecoded), (1, 1));
    // `EndTxnMarker` v0: int16 version, int32 coordinator epoch.
    assert!(walk("EndTxnMarker", &[0, 0, 0, 0, 0, 9]).is_exact());
    assert_eq!(walk("EndTxnMarker", &[0, 0, 0, 0, 0, 9, 1]).trailing, 1);
}

#[test]
fn text_from_the_wire_is_safe_to_show() {
    assert_eq!(display_text(b"orders"), "\"orders\"");
    assert_eq!(display_text("größe 中 😀".as_bytes()), "\"größe 中 😀\"");
    assert_eq!(display_text(b"a\"b\\c\n\r\t\0\x1b[2J\x7f"), r#""a\"b\\c\n\r\t\x00\x1b[2J\x7f""#);
    assert_eq!(display_text("\u{202e}\u{200b}\u{9b}\u{e0041}".as_bytes()), r#""\u{202e}\u{200b}\u{9b}\u{e0041}""#);
    assert_eq!(display_text(b"ok\xff\xc3"), r#""ok\xff\xc3""#);
    assert_eq!(display_bytes(&[0, 0xab]), "00ab");
    assert_eq!(display_bytes(&[0x11; 17]), format!("{}…", "11".repeat(16)));
    // The form of Kafka's `Uuid.toString`; its `METADATA_TOPIC_ID` is (0, 1).
    assert_eq!(uuid_text([0; 16]), "AAAAAAAAAAAAAAAAAAAAAA");
    assert_eq!(uuid_text([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), "AAAAAAAAAAAAAAAAAAAAAQ");
}

/// A batch that says that it is compressed with gzip, around these bytes.
fn gzip_batch(content: &[u8], count: u32) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    let compressed = encoder.finish().unwrap();
    let mut batch = crate::encode::RecordBatch { attributes: 1, ..Default::default() }.encode();
    batch.extend(compressed);
    let length = batch.len() as u32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[57..61].copy_from_slice(&count.to_be_bytes());
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
    batch
}

/// Found by fuzzing: what inflates to nothing has no buffer, and must not take the number of the next one.
#[test]
fn compressed_bytes_that_inflate_to_nothing() {
    let catalog = Catalog::builtin();
    // A record without key, value and headers.
    let record = [12, 0, 0, 0, 1, 1, 0];
    let records = [gzip_batch(&[], 0), gzip_batch(&record, 1)].concat();
    let mut body = vec![0xff, 0xff, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0];
    body.extend((records.len() as u32).to_be_bytes());
    body.extend(records);
    let frame = request(ApiKey::PRODUCE, 3, false, &body);
    let mut tree = Tree::opened(Opening::new(&catalog));
    dissect(&reading(&catalog, ApiKey::PRODUCE, Side::Request, 3), &frame, &mut tree);
    assert_eq!(tree.faults(), []);
    assert_eq!(tree.buffers(), [record]);
    let inside: u32 =
        tree.nodes().iter().filter(|node| node.is_leaf() && node.span.buffer == 1).map(|n| n.span.len).sum();
    assert_eq!(inside as usize, record.len());
}

/// What has very many parts is left undecoded from some part on; its leaves still tile.
#[test]
fn a_tree_that_is_full_takes_no_more() {
    const MOST: usize = 100;
    const MANY: u32 = 10_000;
    let catalog = Catalog::builtin();
    let count = MANY.to_be_bytes();
    let topics = [&count[..], &[0, 0].repeat(MANY as usize)].concat();
    // Two compact strings, then unknown tagged fields of no bytes: 10000 is 0xce10, seven bits at a time.
    let tags = [&[2, b'a', 2, b'b', 0x90, 0x4e][..], &[5, 0].repeat(MANY as usize)].concat();
    let produce = |records: &[u8]| {
        let mut body = vec![0xff, 0xff, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0];
        body.extend((records.len() as u32).to_be_bytes());
        body.extend(records);
        body
    };
    let empty = crate::encode::RecordBatch::default().encode();
    let cases = [
        (METADATA, 1, topics, "element", "topics"),
        (ApiKey::API_VERSIONS, 3, tags, "tagged field", ""),
        (ApiKey::PRODUCE, 3, produce(&empty.repeat(MANY as usize)), "batch", "topicData[0].partitionData[0].records"),
        (
            ApiKey::PRODUCE,
            3,
            produce(&gzip_batch(&[12, 0, 0, 0, 1, 1, 0].repeat(MANY as usize), MANY)),
            "record",
            "topicData[0].partitionData[0].records[0].records",
        ),
    ];
    for (key, version, body, what, path) in cases {
        let reading = reading(&catalog, key, Side::Request, version);
        let frame = request(key, version, key == ApiKey::API_VERSIONS, &body);
        let mut whole = Tree::opened(Opening::new(&catalog));
        dissect(&reading, &frame, &mut whole);
        assert!(whole.nodes().len() > MANY as usize, "{what}");
        let mut tree = Tree::opened(Opening::new(&catalog)).limited(MOST);
        dissect(&reading, &frame, &mut tree);
        // What is begun is ended: a batch, a record, a tagged field.
        assert!((MOST..MOST + 30).contains(&tree.nodes().len()), "{what}: {}", tree.nodes().len());
        let full = tree.faults().last().unwrap();
        assert!(matches!(full.kind, FaultKind::Full { what: said, read, .. } if said == what && read > 3), "{full:?}");
        // A limit is no fault of the message; what is left out and what is there are all.
        let (cut, all) = (Tally::of(tree.faults()), Tally::of(whole.faults()));
        assert_eq!((cut.cut, all.cut, cut.faulty), (true, false, all.faulty), "{what}");
        if let FaultKind::Full { read, more: Some(more), .. } = full.kind {
            assert_eq!(read + more, MANY, "{what}");
        }
        assert_eq!((full.path.as_str(), full.found().as_str()), (path, "more"));
        let mut ends = [0; 2];
        for node in tree.nodes().iter().filter(|node| node.is_leaf()) {
            assert_eq!(node.span.start, ends[node.span.buffer as usize], "{what}: {node:?}");
            ends[node.span.buffer as usize] = node.span.end();
        }
        assert_eq!(ends[0] as usize, frame.len(), "{what}");
        assert_eq!(ends[1] as usize, tree.buffers().first().map_or(0, Vec::len), "{what}");
    }
}

/// Who stops wanting a tree does not wait for the rest of it.
#[test]
fn a_tree_that_nobody_wants_takes_no_more() {
    let catalog = Catalog::builtin();
    let body = [&10_000_u32.to_be_bytes()[..], &[0, 0].repeat(10_000)].concat();
    let (reading, frame) = (reading(&catalog, METADATA, Side::Request, 1), request(METADATA, 1, false, &body));
    for is_stopped in [false, true] {
        let mut tree = Tree::opened(Opening::new(&catalog)).until(std::sync::Arc::new(is_stopped.into()));
        dissect(&reading, &frame, &mut tree);
        assert_eq!(tree.nodes().len() < 30, is_stopped);
    }
}

/// A record may have millions of headers of two bytes.
#[test]
fn headers_of_a_record_fill_a_tree() {
    let catalog = Catalog::builtin();
    // The record's count of headers as a zigzag varint: 5000; each with a key of no bytes and null.
    let mut record = vec![0, 0, 0, 1, 1, 0x90, 0x4e];
    record.extend([0, 1].repeat(5000));
    let length = record.len() * 2;
    let prefix = [length as u8 | 0x80, (length >> 7) as u8 | 0x80, (length >> 14) as u8];
    let batch = gzip_batch(&[&prefix[..], &record].concat(), 1);
    let mut body = vec![0xff, 0xff, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0];
    body.extend((batch.len() as u32).to_be_bytes());
    body.extend(batch);
    let mut tree = Tree::opened(Opening::new(&catalog)).limited(100);
    let frame = request(ApiKey::PRODUCE, 3, false, &body);
    dissect(&reading(&catalog, ApiKey::PRODUCE, Side::Request, 3), &frame, &mut tree);
    assert!(tree.nodes().len() < 130);
    let full = tree.faults().iter().find(|fault| matches!(fault.kind, FaultKind::Full { what: "header", .. })).unwrap();
    assert_eq!(full.path, "topicData[0].partitionData[0].records[0].records[0].headers");
    assert!(full.expected().ends_with("headers"));
}

/// Millions of nodes are held at a time.
#[test]
fn nodes_are_small() {
    assert!(size_of::<Node<'_>>() <= 64);
}
