//! `kafkascope explain` as a user runs it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fmt::{self, Write};
use std::io::Read;

use assert_cmd::Command;
use flate2::read::GzDecoder;
use kafkascope::dissect::{Opening, Tree, dissect_payload};
use kafkascope::explain::{Finding, Hint, HintError, explain};
use kafkascope::output::json::{JsonWriter, close_bracket};
use kafkascope::protocol::Catalog;
use serde_json::Value;

/// What the command printed, and its exit code.
struct Run {
    out: String,
    err: String,
    code: i32,
}

fn run_with(arguments: &[&str], input: &[u8]) -> Run {
    let mut command = Command::cargo_bin("kafkascope").unwrap();
    let output = command.arg("explain").args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { out: text(output.stdout), err: text(output.stderr), code: output.status.code().unwrap() }
}

fn run(arguments: &[&str]) -> Run {
    run_with(arguments, b"")
}

fn lines(gzip: &[u8]) -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text).unwrap();
    text.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// To look through all that follows for each frame would take minutes.
#[test]
fn many_frames_are_explained_as_they_come() {
    let frame = bytes("000000080012000300000001");
    let all = frame.repeat(60_000);
    let catalog = Catalog::builtin();
    let messages = explain(&catalog, &all, &Hint::None).unwrap();
    let mut ends = 0;
    for (message, number) in messages.zip(1..) {
        assert_eq!((message.start, message.end), ((number - 1) * frame.len(), number * frame.len()));
        ends = message.end;
    }
    assert_eq!(ends, all.len());
    // One byte too few, and it is no row of frames.
    let cut = &all[..all.len() - 1];
    assert_eq!(explain(&catalog, cut, &Hint::None).unwrap().count(), 1);
}

/// The smallest instance of a message, in hex, as Kafka writes it.
fn minimal(api: &str, version: i16, direction: &str) -> String {
    let all = lines(include_bytes!("data/oracle/minimal.jsonl.gz"));
    let is_it = |line: &&Value| line["api"] == api && line["version"] == version && line["type"] == direction;
    all.iter().find(is_it).unwrap()["frame_hex"].as_str().unwrap().to_owned()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|place| u8::from_str_radix(&digits[place..place + 2], 16).unwrap()).collect()
}

/// Writes bytes in a form.
fn written(bytes: &[u8], one: impl Fn(&mut String, usize, u8) -> fmt::Result) -> String {
    let mut text = String::new();
    bytes.iter().enumerate().for_each(|(index, byte)| one(&mut text, index, *byte).unwrap());
    text
}

const GOLDEN: [(&str, &str, &str, &str); 4] = [
    (
        "DescribeCluster",
        "request",
        include_str!("data/seeds/describe_cluster/request.hex"),
        include_str!("data/seeds/describe_cluster/request.tree.txt"),
    ),
    (
        "DescribeCluster",
        "response",
        include_str!("data/seeds/describe_cluster/response.hex"),
        include_str!("data/seeds/describe_cluster/response.tree.txt"),
    ),
    (
        "DescribeConfigs",
        "request",
        include_str!("data/seeds/describe_configs/request.hex"),
        include_str!("data/seeds/describe_configs/request.tree.txt"),
    ),
    (
        "DescribeConfigs",
        "response",
        include_str!("data/seeds/describe_configs/response.hex"),
        include_str!("data/seeds/describe_configs/response.tree.txt"),
    ),
];

#[test]
fn golden_pages() {
    for (api, direction, hex, tree) in GOLDEN {
        // Two notes are those of a page.
        let expected = tree
            .replace("number of bytes that follow, patched after encoding", "number of bytes that follow")
            .replace("one sample element follows", "1 element follows");
        let hint: &[&str] = if direction == "response" { &["--response-of", api] } else { &[] };
        let found = run_with(&[hint, &["-"]].concat(), hex.as_bytes());
        assert_eq!(found.out.trim_end(), expected.trim_end(), "{api} {direction}");
        assert_eq!(found.code, 0);
        assert_eq!(found.err, format!("kafkascope: read as hex: {} bytes\n", bytes(hex).len()));
    }
}

#[test]
fn golden_responses_without_a_hint() {
    let found = run(&[GOLDEN[1].2]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.starts_with("DescribeClusterResponse message v2"), "{}", found.out);
    // Mostly zeros: others take it, too.
    let found = run(&[GOLDEN[3].2]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.starts_with("unknown response message [0x0000, 35B]"), "{}", found.out);
    assert!(found.err.contains("DescribeConfigs v4"), "{}", found.err);
}

#[test]
fn forms() {
    let hex = minimal("Metadata", 12, "request");
    let frame = bytes(&hex);
    let expected = run(&["-q", &hex]).out;
    assert!(expected.starts_with("MetadataRequest message v12 [0x0000, "), "{expected}");
    let forms = [
        ("a string with escapes", format!("b\"{}\"", written(&frame, |text, _, byte| write!(text, "\\x{byte:02x}")))),
        ("an array of hex numbers", format!("{{{}}}", written(&frame, |text, _, byte| write!(text, "0x{byte:02x}, ")))),
        (
            "an array of decimal numbers",
            format!("[{}]", written(&frame, |text, _, byte| write!(text, "{}, ", byte.cast_signed()))),
        ),
        ("hex", written(&frame, |text, _, byte| write!(text, "{byte:02X}:"))),
        (
            "a hex dump",
            written(&frame, |text, index, byte| {
                if index % 16 == 0 {
                    write!(text, "\n{index:08x}:").unwrap();
                }
                write!(text, "{}{byte:02x}", if index % 2 == 0 { " " } else { "" })
            }),
        ),
    ];
    for (form, text) in forms {
        let found = run_with(&[], text.as_bytes());
        assert_eq!(found.out, expected, "{text}");
        assert_eq!(found.err, format!("kafkascope: read as {form}: {} bytes\n", frame.len()));
        assert_eq!(run(&["-q", &text]).out, expected, "as an argument: {text}");
    }
    let found = run_with(&["-"], &frame);
    assert_eq!((found.out, found.code), (expected.clone(), 0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame.txt");
    std::fs::write(&path, &hex).unwrap();
    assert_eq!(run(&["-r", path.to_str().unwrap()]).out, expected);
}

#[test]
fn without_its_size() {
    let hex = minimal("Metadata", 12, "request");
    let found = run(&[&hex[8..]]);
    assert!(found.out.starts_with("MetadataRequest message v12 [0x0000, "), "{}", found.out);
    assert!(!found.out.contains("Frame"), "{}", found.out);
    let hex = minimal("Metadata", 12, "response");
    let found = run(&["--response-of", "metadata:12", &hex[8..]]);
    assert!(found.out.starts_with("MetadataResponse message v12 [0x0000, "), "{}", found.out);
    assert!(!found.out.contains("!!"), "{}", found.out);
}

#[test]
fn several_frames() {
    let all =
        [minimal("ApiVersions", 4, "request"), minimal("Metadata", 12, "request"), minimal("Fetch", 17, "request")];
    let found = run(&[&all.concat()]);
    let roots: Vec<_> = found.out.lines().filter(|line| line.contains(" message v")).collect();
    assert_eq!(roots.len(), 3, "{}", found.out);
    for (root, name) in
        roots.iter().zip(["ApiVersionsRequest message v4", "MetadataRequest message v12", "FetchRequest message v17"])
    {
        assert!(root.starts_with(name), "{root}");
    }
    assert_eq!(found.code, 0);
    let found = run(&["--format", "json", &all.concat()]);
    assert_eq!(found.out.lines().count(), 3);
}

/// What old librdkafka clients send: the first four bytes of a flexible header behind a body of version 0.
#[test]
fn api_versions_with_bytes_behind_its_end() {
    let found = run(&["0000001c 0012 0000 00000001 0007 72646b61666b61 0000 0000 00000000 00"]);
    assert!(found.out.contains("!! size int32: expected 28 bytes after the size, found 26"), "{}", found.out);
    let found = run(&["00000015 0012 0000 00000001 0007 72646b61666b61 00000000"]);
    assert_eq!(found.code, 0);
    assert!(found.out.starts_with("ApiVersionsRequest message v0 [0x0000, 25B]\n"), "{}", found.out);
    assert!(found.out.contains("+-- trailing bytes = 4 bytes 00000000 [0x0015, 4B]"), "{}", found.out);
    assert!(!found.out.contains("!!"), "{}", found.out);
}

#[test]
fn versions_and_apis_that_are_not_known() {
    let mut frame = bytes(&minimal("Metadata", 13, "request"));
    frame[7] = 40;
    let hex = written(&frame, |text, _, byte| write!(text, "{byte:02x}"));
    let found = run(&[&hex]);
    assert_eq!(found.code, 0);
    assert!(found.out.starts_with("MetadataRequest message v40, read as v13 "), "{}", found.out);
    assert!(found.err.contains("Metadata version 40 is newer than those known (0-13)"), "{}", found.err);
    let json: Value = serde_json::from_str(&run(&["--format", "json", &hex]).out).unwrap();
    assert_eq!((&json["apiVersion"], &json["assumedVersion"]), (&40.into(), &13.into()));

    // An API of a vendor: the header is what all requests have.
    let hex = "00000014 2710 0001 00000009 0006 76656e646f72 01020304";
    let found = run(&[hex]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.starts_with("API 10000 request message v1 [0x0000, 24B]"), "{}", found.out);
    assert!(found.out.contains("client_id nullable_string = \"vendor\""), "{}", found.out);
    assert!(found.out.contains("+-- undecoded bytes = 4 bytes 01020304 [0x0014, 4B]"), "{}", found.out);
    assert!(found.err.contains("API key 10000 is not known"), "{}", found.err);
    let json: Value = serde_json::from_str(&run(&["--format", "json", hex]).out).unwrap();
    assert_eq!((&json["api"], &json["apiKey"]), (&"unknown".into(), &10_000.into()));
    assert_eq!((&json["header"]["clientId"], &json["_undecoded"]), (&"vendor".into(), &"AQIDBA==".into()));
}

#[test]
fn truncated_requests_show_where_they_end() {
    // A version 9 whose topic name says 7 bytes and has 3.
    let found = run(&["00000030 0003 0009 00000001 0001 61 00 02 08 6f7264"]);
    assert_eq!(found.code, 0);
    assert!(found.out.starts_with("MetadataRequest message v9 [0x0000, 21B]"), "{}", found.out);
    assert!(
        found.out.contains("!! size int32: expected 48 bytes after the size, found 17 [0x0000, 4B]"),
        "{}",
        found.out
    );
    assert!(
        found.out.contains("!! Name string: expected a length of at most 3, found 7 [0x0011, 4B]"),
        "{}",
        found.out
    );
    assert!(found.out.contains("+-- undecoded bytes = 4 bytes 086f7264 [0x0011, 4B]"), "{}", found.out);

    // Any request, cut anywhere behind its head, is shown up to there.
    let hex = minimal("DescribeConfigs", 4, "request");
    for end in (2 * 16..hex.len() - 2).step_by(2) {
        let found = run(&["-q", &hex[..end]]);
        assert_eq!(found.code, 0, "{end}: {}", found.err);
        assert!(found.out.starts_with("DescribeConfigsRequest message v4"), "{end}: {}", found.out);
        assert!(found.out.contains("!!"), "{end}: {}", found.out);
    }
}

#[test]
fn sizes_that_are_wrong() {
    let hex = minimal("Metadata", 12, "request");
    let size = bytes(&hex).len() - 4;
    for wrong in [size - 1, size + 1] {
        let found = run(&[&format!("{wrong:08x}{}", &hex[8..])]);
        assert_eq!(found.code, 0);
        assert!(found.out.starts_with("MetadataRequest message v12"), "{}", found.out);
        assert!(
            found.out.contains(&format!("!! size int32: expected {wrong} bytes after the size, found {size}")),
            "{}",
            found.out
        );
    }
    let little_endian = u32::try_from(size).unwrap().swap_bytes();
    let found = run(&[&format!("{little_endian:08x}{}", &hex[8..])]);
    assert!(found.err.contains("little-endian"), "{}", found.err);
    // The copy began too late, or too early.
    assert!(run(&[&hex[2..]]).err.contains("first 1 byte is missing"), "{}", run(&[&hex[2..]]).err);
    assert!(run(&[&format!("00{hex}")]).err.contains("starts 1 byte later"));

    // A size that is too small is no other number.
    assert!(!run(&[&format!("00000005{}", &hex[8..])]).err.contains("little-endian"));

    // A response whose API is known: also its size is not taken for something else.
    let hex = minimal("Metadata", 12, "response");
    let size = bytes(&hex).len() - 4;
    for wrong in [size - 1, size + 4] {
        let found = run(&["--response-of", "Metadata:12", &format!("{wrong:08x}{}", &hex[8..])]);
        assert!(
            found.out.contains(&format!("!! size int32: expected {wrong} bytes after the size, found {size}")),
            "{}",
            found.out
        );
    }

    // A response of which a part is missing cannot be told apart from others.
    let hex = minimal("Metadata", 12, "response");
    let found = run(&[&hex[..hex.len() - 8]]);
    assert_eq!(found.code, 2);
    assert!(found.err.contains("the end is missing") && found.err.contains("--response-of"), "{}", found.err);
    let found = run(&["--response-of", "Metadata:12", &hex[..hex.len() - 8]]);
    assert_eq!(found.code, 0);
    assert!(found.out.contains("!! "), "{}", found.out);
}

#[test]
fn other_protocols() {
    let cases: [(&[u8], &str); 5] = [
        (b"GET / HTTP/1.1\r\nHost: broker:9092\r\n\r\n", "an HTTP request (GET)"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xaa\xbb\xcc\xdd", "a TLS record (handshake: ClientHello"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04", "the preface of HTTP/2"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "a TLS record (alert: handshake_failure"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "the greeting of SSH"),
    ];
    for (input, expected) in cases {
        let hex = written(input, |text, _, byte| write!(text, "{byte:02x} "));
        let found = run(&[&hex]);
        assert_eq!((found.out.as_str(), found.code), ("", 2), "{expected}");
        assert!(found.err.contains(&format!("this looks like {expected}")), "{}", found.err);
    }
}

#[test]
fn responses_that_may_be_many_things() {
    let found = run(&["0000000a 00000007 0000 00000000"]);
    assert_eq!(found.code, 0);
    assert!(found.out.starts_with("unknown response message [0x0000, 14B]"), "{}", found.out);
    assert!(found.out.contains("correlation_id int32 = 7"), "{}", found.out);
    assert!(found.err.contains("--response-of") && found.err.contains("ApiVersions v0"), "{}", found.err);
    let json: Value = serde_json::from_str(&run(&["-fjson", "0000000a 00000007 0000 00000000"]).out).unwrap();
    assert_eq!((&json["api"], &json["header"]["correlationId"]), (&Value::Null, &7.into()));
}

#[test]
fn what_is_no_hex_is_said_with_its_place() {
    let found = run(&["00 00 0g 12"]);
    assert_eq!((found.out.as_str(), found.code), ("", 2));
    assert!(found.err.contains("bad hex at character 8 (line 1, column 8): found"), "{}", found.err);
    for empty in ["", "  \n", "# only a comment\n"] {
        let found = run_with(&["-"], empty.as_bytes());
        assert_eq!((found.out.as_str(), found.code), ("", 2));
        assert!(found.err.contains("nothing to decode: the input holds no bytes"), "{}", found.err);
    }
    let found = run(&["-r", "no/such/file"]);
    assert_eq!(found.code, 2);
    assert!(found.err.contains("cannot open no/such/file: No such file"), "{}", found.err);
}

#[test]
fn hints_that_cannot_be_followed() {
    let cases: [(&[&str], &str); 7] = [
        (&["--response-of", "Metdata", "00"], "Metdata"),
        (&["--response-of", "Metadata:x", "00"], "Metadata:12"),
        (&["--as", "NoSuchThing", "00 00"], "no schema is called \"NoSuchThing\""),
        (&["--as", "OffsetCommitValue", "00 63 00"], "OffsetCommitValue has no version 99; known are 0-4"),
        (&["--as", "offsets-key", "00 63 00"], "the record type 99 of offsets-key is not known"),
        (&["--as", "kraft-record", "01"], "the bytes end before the version"),
        (&["--as", "record-batch:2", "01"], "record-batch takes no version: the bytes say theirs"),
    ];
    for (arguments, expected) in cases {
        let found = run(arguments);
        assert_eq!((found.out.as_str(), found.code), ("", 2), "{arguments:?}");
        assert!(found.err.contains(expected), "{arguments:?}: {}", found.err);
    }
    // Both at once make no sense.
    assert_eq!(run(&["--request", "--response-of", "Metadata", "00"]).code, 2);
}

/// Every payload of the oracle that has a schema, by its schema's name and by the kind whose bytes tell the rest.
#[test]
fn payloads() {
    let catalog = Catalog::builtin();
    let (mut by_name, mut by_kind) = (0, 0);
    for line in lines(include_bytes!("data/oracle/nested.jsonl.gz")) {
        let (kind, payload) = (line["kind"].as_str().unwrap(), bytes(line["hex"].as_str().unwrap()));
        let is_known = |name: &&str| catalog.schema(name).is_some();
        let Some(name) = line["name"].as_str().filter(is_known) else { continue };
        // A whole batch around such a payload.
        if kind == "control-batch" {
            continue;
        }
        let version = line["version"].as_i64().unwrap();
        for hint in [name, kind] {
            let by = Hint::Payload(hint.to_owned(), None);
            let mut all = match explain(&catalog, &payload, &by) {
                Ok(all) => all,
                Err(HintError::UnknownSchema(_)) if hint == kind => continue,
                Err(error) => panic!("{hint} v{version}: {error}"),
            };
            let Finding::Payload(plan) = all.next().unwrap().finding else { panic!("{hint} is no payload") };
            let found = (&*plan.name, i64::from(plan.version));
            assert!(found.0 == name && (found.1 == version || is_ambiguous(kind)), "{hint} v{version}: {found:?}");
            assert!(dissect_payload(plan, &payload, &mut Tree::new()).is_exact(), "{hint} v{version}");
            by_name += usize::from(hint == name);
            by_kind += usize::from(hint == kind);
        }
        if line["json_by"] == "kafka" && catalog.plan(name, version as i16).is_some() {
            let plan = catalog.plan(name, version as i16).unwrap();
            let mut json = vec![b'{'];
            let mut writer = JsonWriter::new(Opening::new(&catalog), &mut json, true);
            dissect_payload(plan, &payload, &mut writer);
            close_bracket(&mut json, b'}');
            let value: Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(without_ours(value["body"].clone()), line["json"], "{name} v{version}");
        }
    }
    assert!(by_name > 600 && by_kind > 300, "{by_name} by name, {by_kind} by kind");
}

/// Payloads that do not say their version: several may take the bytes.
fn is_ambiguous(kind: &str) -> bool {
    kind == "control-record"
}

/// Without the members that Kafka's own converters do not print.
fn without_ours(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, _)| !key.starts_with('_'));
            kept.map(|(key, value)| (key, without_ours(value))).collect()
        }
        Value::Array(elements) => elements.into_iter().map(without_ours).collect(),
        other => other,
    }
}

#[test]
fn payloads_on_the_command_line() {
    // Key and value of a committed offset, as Kafka writes them.
    let found = run(&["--as", "offsets-key", "0001 0005 67726f7570 0006 6f7264657273 00000002"]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.starts_with("OffsetCommitKey "), "{}", found.out);
    assert!(found.out.contains("string = \"orders\" (int16 len=6)"), "{}", found.out);
    let found =
        run(&["--as", "OffsetCommitValue", "0003 000000000000002a ffffffff 0000 0000018bcfe56800", "--format", "json"]);
    let json: Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!((&json["schema"], &json["version"]), (&"OffsetCommitValue".into(), &3.into()));
    assert_eq!((&json["body"]["offset"], &json["body"]["leaderEpoch"]), (&42.into(), &(-1).into()));
    assert_eq!(json["faults"], serde_json::json!([]));
    // A payload that is cut is shown up to there.
    let found = run(&["--as", "OffsetCommitValue", "0003 000000000000002a ffff"]);
    assert_eq!(found.code, 0);
    assert!(found.out.contains("!! leaderEpoch int32: expected 4 bytes, found 2 bytes and the end"), "{}", found.out);
}

/// A text that is not UTF-8 has its bytes beside it in trees as well. They are valid JSON.
#[test]
fn trees_mark_texts_that_are_not_utf_8() {
    // A Metadata request v1 of client `\xff` for the topic `\xfea`.
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
        .args(["-q", "explain", "--request", "-f", "tree", "00000013 0003 0001 00000007 0001 ff 00000001 0002 fe61"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let _: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(text.contains("\"value\":\"\u{fffd}\",\"valueBase64\":\"/w==\","), "{text}");
    assert!(text.contains("\"value\":\"\u{fffd}a\",\"valueBase64\":\"/mE=\","), "{text}");
}

fn export_of_records(bytes: &[u8]) -> Value {
    let found = run_with(&["-q", "--as", "record-batch", "--format", "json", "-"], bytes);
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    serde_json::from_str(&found.out).unwrap()
}

/// Batches that Kafka's own builders wrote, and what its own reader says of them.
#[test]
fn batches_without_a_frame() {
    let mut chain = Vec::new();
    let mut count = 0;
    for line in lines(include_bytes!("data/oracle/nested.jsonl.gz")) {
        if line["kind"] != "control-batch" {
            continue;
        }
        let batch = bytes(line["hex"].as_str().unwrap());
        let found = export_of_records(&batch);
        let (ours, theirs) = (&found["records"][0], &line["batches"][0]);
        assert_eq!((&found["size"], &found["faults"]), (&batch.len().into(), &serde_json::json!([])));
        for key in ["baseOffset", "partitionLeaderEpoch", "magic", "crc", "maxTimestamp", "producerId", "producerEpoch"]
        {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
        assert_eq!((&ours["_crcValid"], &ours["_isControlBatch"]), (&true.into(), &true.into()));
        for (our, their) in [("offset", "offset"), ("timestamp", "timestamp"), ("_control", "controlType")] {
            assert_eq!(ours["records"][0][our], theirs["records"][0][their], "{our}");
        }
        chain.extend(batch);
        count += 1;
    }
    assert!(count >= 5, "{count}");
    // One behind the other, with the beginning of one more.
    let (whole, last) = (chain.len(), chain[..40].to_vec());
    chain.extend(last);
    let found = export_of_records(&chain);
    let records = found["records"].as_array().unwrap();
    assert_eq!(records.len(), count + 1);
    assert_eq!(records[count].as_object().unwrap().keys().collect::<Vec<_>>(), ["_partial"]);
    assert_eq!(found["faults"], serde_json::json!([]));

    let hex = written(&chain, |text, _, byte| write!(text, "{byte:02x} "));
    let shown = run(&["--as", "record-batch", &hex]);
    assert!(shown.out.starts_with(&format!("Records records [0x0000, {}B]\n+-- RecordBatch[0] ", chain.len())));
    let partial = "+-- partial_batch bytes = 40 bytes ";
    let line = shown.out.lines().last().unwrap();
    assert!(line.starts_with(partial) && line.contains(&format!("[0x{whole:04x}, 40B]")), "{line}");

    // Without the hint nothing is guessed, but what to do is said.
    let found = run(&[&hex[..3 * 78]]);
    assert!(found.code == 2 && found.err.contains("--as record-batch decodes it"), "{}", found.err);

    chain[17] ^= 1;
    let found = export_of_records(&chain);
    assert_eq!(found["records"][0]["_crcValid"], false);
    assert_eq!(found["faults"].as_array().unwrap().len(), 1);
}

/// Messages of the formats 0 and 1 by the protocol guide: offset, size, CRC-32, magic, attributes, (timestamp,) key, value.
#[test]
fn messages_of_the_old_formats_without_a_frame() {
    let message = |magic: u8, offset: u8| {
        let mut body = vec![magic, 0];
        body.extend(if magic == 1 { vec![0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0] } else { Vec::new() });
        body.extend(b"\xff\xff\xff\xff\0\0\0\x02hi");
        let size = body.len() as u8 + 4;
        [&[0, 0, 0, 0, 0, 0, 0, offset, 0, 0, 0, size][..], &crc32fast::hash(&body).to_be_bytes(), &body].concat()
    };
    let found = export_of_records(&[message(0, 5), message(1, 6)].concat());
    assert_eq!(found["faults"], serde_json::json!([]));
    let record = |index: usize| found["records"][index]["records"][0].clone();
    assert_eq!((&record(0)["offset"], &record(0)["value"]), (&5.into(), &"hi".into()));
    assert_eq!((&record(1)["offset"], &record(1)["timestamp"]), (&6.into(), &1_700_000_000_000_i64.into()));
}

/// Segments of a broker, where the folder with more material is there.
#[test]
fn segments() {
    let folder = ["../shared", "../../shared"].map(|path| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    let Some(shared) = folder.into_iter().find(|folder| folder.is_dir()) else {
        eprintln!("SKIPPED: there is no folder ../shared");
        return;
    };
    let folder = shared.join("real/codecrafters-io__kafka-tester");
    for (name, batches) in [
        ("cluster_metadata-hist-20240902.log", 109),
        ("cluster_metadata-hist-20240911.log", 123),
        ("foo-0-hist-20240902.log", 2),
    ] {
        let path = folder.join(name);
        let found = run(&["-q", "--as", "record-batch", "-f", "json", "-r", path.to_str().unwrap()]);
        let json: Value = serde_json::from_str(&found.out).unwrap();
        let all = json["records"].as_array().unwrap();
        assert_eq!((all.len(), &json["faults"]), (batches, &serde_json::json!([])), "{name}");
        assert!(all.iter().all(|batch| batch["_crcValid"] == true), "{name}");
        // Offsets go on where the batch before ends.
        let mut next = 0;
        for batch in all {
            assert_eq!(batch["baseOffset"], next, "{name}");
            next += batch["lastOffsetDelta"].as_i64().unwrap() + 1;
        }
    }
}

#[test]
fn what_only_the_shape_tells_is_said() {
    let hex = minimal("DescribeCluster", 2, "response");
    let found = run(&[&hex]);
    assert!(found.out.starts_with("DescribeClusterResponse message v2"), "{}", found.out);
    assert!(found.err.contains("told by their shape alone"), "{}", found.err);
    let json: Value = serde_json::from_str(&run(&["-fjson", &hex]).out).unwrap();
    assert_eq!(json["guessed"], true);
    let found = run(&["-fjson", "--response-of", "DescribeCluster", &hex]);
    assert!(!found.err.contains("shape"), "{}", found.err);
    let json: Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(json["guessed"], Value::Null);
}

#[test]
fn requests_that_are_cut_in_their_head() {
    let hex = minimal("Metadata", 12, "request");
    for end in (2 * 8..hex.len()).step_by(2) {
        let cut = &hex[..end];
        let found = run(&[cut]);
        assert!(found.out.starts_with("MetadataRequest message v12 ["), "{end}: {}", found.out);
        assert!(found.out.contains("!! size int32: expected 33 bytes after the size"), "{end}: {}", found.out);
        assert!(found.err.contains("taken for the beginning of MetadataRequest v12"), "{end}: {}", found.err);
        assert_eq!(run(&["-q", "--request", cut]).out, found.out, "{end}");
        // Without the size as well.
        let bare = &hex[8..end];
        let found = run(&["-q", "--request", bare]);
        assert!(found.out.starts_with("MetadataRequest message v12 ["), "{bare}: {}", found.out);
        assert!(!found.out.contains("Frame"), "{bare}: {}", found.out);
    }
}

#[test]
fn files_are_read_when_they_are_said_to_be_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment.log");
    std::fs::write(&path, [0; 10]).unwrap();
    let path = path.to_str().unwrap();
    let found = run(&[path]);
    assert_eq!((found.code, found.err), (2, format!("kafkascope: {path} is a file: explain -r {path} reads it\n")));
}
