//! Nothing that comes from the wire reaches a terminal as it is: no command prints an escape sequence, a control
//! character or a mark that turns text around, whatever clients, brokers or captures say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "common/capture.rs"]
mod capture;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use capture::pcapng;
use kafkascope::encode::{self, Datum, Header, Instance, RecordBatch};
use kafkascope::protocol::{ApiKey, Catalog, Side};

/// What must not come out: clears the screen, sets the title, rings the bell, moves the cursor, CSI and OSC as C1
/// controls, delete, marks for right-to-left text, a line separator, a tag character, NUL, a carriage return.
const HOSTILE: &str = "a\x1b[2J\x1b]0;title\x07\x08\x0b\u{9b}31m\u{9d}x\u{9c}\x7f\u{202e}\u{2066}\u{200f}\u{2028}\u{feff}\u{e0041}\0\r\nb";

/// Bytes that are not UTF-8, with controls between them.
const BROKEN: &[u8] = b"\xff\x1b[31m\x9b1m\xc2\x9b\xfe\x07";

fn text(content: &str) -> Datum {
    Datum::text(content)
}

fn set(instance: &mut Instance, plan: &kafkascope::protocol::Plan, path: &str, datum: Datum) {
    *instance.at_mut(plan, path).unwrap_or_else(|| panic!("{} has no {path}", plan.name)) = datum;
}

/// A request or response whose strings say hostile things.
fn frame(
    catalog: &Catalog,
    key: ApiKey,
    side: Side,
    version: i16,
    correlation: i32,
    values: &[(&str, Datum)],
) -> Vec<u8> {
    let plan = catalog.api_plan(key, side, version).unwrap();
    let mut body = encode::minimal(plan);
    for (path, datum) in values {
        set(&mut body, plan, path, datum.clone());
    }
    let header =
        Header { correlation_id: correlation, client_id: Some(HOSTILE.as_bytes().to_vec()), tagged: Vec::new() };
    encode::frame(catalog, key, side, version, &header, &body).unwrap()
}

/// Values by their paths.
type Values = Vec<(&'static str, Datum)>;

/// A request and its response, for some APIs.
fn conversation(catalog: &Catalog) -> Vec<(Side, Vec<u8>)> {
    const METADATA: ApiKey = ApiKey(3);
    const DESCRIBE_CONFIGS: ApiKey = ApiKey(32);
    const CREATE_TOPICS: ApiKey = ApiKey(19);
    let evil = || text(HOSTILE);
    let broken = || Datum::String(Some(BROKEN.to_vec()));
    let mut batch = RecordBatch::default();
    batch.records.push(kafkascope::encode::Record {
        key: Some(HOSTILE.as_bytes().to_vec()),
        value: Some(BROKEN.to_vec()),
        headers: vec![(HOSTILE.as_bytes().to_vec(), Some(HOSTILE.as_bytes().to_vec()))],
        ..Default::default()
    });
    let records = || Datum::Records(Some(batch.encode()));
    let set: [(ApiKey, i16, Values, Values); 5] = [
        (ApiKey::API_VERSIONS, 3, vec![("clientSoftwareName", evil()), ("clientSoftwareVersion", broken())], vec![]),
        (
            METADATA,
            12,
            vec![("topics[0].name", evil())],
            vec![
                ("clusterId", evil()),
                ("brokers[0].host", evil()),
                ("brokers[0].rack", broken()),
                ("topics[0].name", broken()),
            ],
        ),
        (
            ApiKey::PRODUCE,
            9,
            vec![
                ("acks", Datum::Int(1)),
                ("transactionalId", evil()),
                ("topicData[0].name", evil()),
                ("topicData[0].partitionData[0].records", records()),
            ],
            vec![
                ("responses[0].name", evil()),
                ("responses[0].partitionResponses[0].errorCode", Datum::Int(2)),
                ("responses[0].partitionResponses[0].errorMessage", evil()),
            ],
        ),
        (
            DESCRIBE_CONFIGS,
            4,
            vec![("resources[0].resourceName", evil())],
            vec![
                ("results[0].errorMessage", broken()),
                ("results[0].configs[0].name", evil()),
                ("results[0].configs[0].value", evil()),
                ("results[0].configs[0].documentation", evil()),
            ],
        ),
        (
            CREATE_TOPICS,
            7,
            vec![("topics[0].name", evil()), ("topics[0].configs[0].value", broken())],
            vec![("topics[0].name", evil()), ("topics[0].errorMessage", evil())],
        ),
    ];
    let mut frames = Vec::new();
    for (correlation, (key, version, asked, answered)) in (1..).zip(set) {
        frames.push((Side::Request, frame(catalog, key, Side::Request, version, correlation, &asked)));
        frames.push((Side::Response, frame(catalog, key, Side::Response, version, correlation, &answered)));
    }
    frames
}

/// Runs a command and looks at every byte that it prints.
fn check(arguments: &[&str], input: &[u8]) -> String {
    let output = Command::cargo_bin("kafkascope").unwrap().args(arguments).write_stdin(input).output().unwrap();
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let printed = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{arguments:?}: {name} is not UTF-8"));
        let bad = printed.char_indices().find(|(_, character)| *character != '\n' && is_hostile(*character));
        if let Some((place, character)) = bad {
            let around = printed[..place].lines().last().unwrap_or_default();
            panic!("{arguments:?}: {name} has {character:?} behind {around:?}");
        }
    }
    String::from_utf8(output.stdout).unwrap()
}

/// C0 with NUL, ESC and carriage return, DEL, C1; marks that turn text around or that nobody sees.
fn is_hostile(character: char) -> bool {
    matches!(character, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn commands_that_read_captures() {
    let catalog = Catalog::builtin();
    let folder = tempfile::tempdir().unwrap();
    // Its name is shown, too.
    let path = folder.path().join("x\x1b[31m\u{202e}.pcapng");
    let comments = [HOSTILE.as_bytes(), BROKEN];
    fs::write(&path, pcapng(&conversation(&catalog), &comments)).unwrap();
    let path = path.to_str().unwrap();
    let listed = check(&["list", path], b"");
    assert!(listed.lines().count() > 10, "{listed}");
    let shown = check(&["show", path], b"");
    assert!(shown.contains("\\x1b[2J") && shown.contains("\\u{9b}31m") && shown.contains("\\u{202e}"), "{shown}");
    check(&["show", "--verbose", "--show-secrets", path], b"");
    for format in ["ndjson", "tree"] {
        let exported = check(&["export", "--show-secrets", "--format", format, path], b"");
        assert_eq!(exported.lines().count(), 10, "{exported}");
        for line in exported.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["clientId"], HOSTILE, "escaped, and yet the same");
        }
        for decoder in ["*=string", "*=json", "*=hex"] {
            check(&["export", "--format", format, "--decode", decoder, path], b"");
            check(&["show", "--decode", decoder, path], b"");
        }
    }
    // Errors name the file, and what is in it.
    fs::write(path, HOSTILE).unwrap();
    check(&["list", path], b"");
    check(&["show", "no\x1b[31m\u{9b}such\u{202e}file"], b"");
    check(&["list", "-"], HOSTILE.as_bytes());
}

#[test]
fn explain() {
    let catalog = Catalog::builtin();
    for (side, frame) in conversation(&catalog) {
        let hint: &[&str] = if side == Side::Response { &["--response-of", "Metadata"] } else { &[] };
        for format in ["text", "json", "tree"] {
            check(&[&["explain", "--format", format], hint, &["-"]].concat(), &frame);
        }
    }
    for form in
        [HOSTILE.as_bytes(), BROKEN, b"00 \x1b[31m 00", "00 00 \u{9b}31m".as_bytes(), "\"\u{202e}\\x00".as_bytes()]
    {
        check(&["explain", "-"], form);
    }
    for text in ["00 \u{1b}[2J", "zz\u{202e}", "\"\\x\u{1b}\"", "[1, 2, \u{9b}]"] {
        check(&["explain", text], b"");
    }
    check(&["explain", "--as", "x\x1b[31m", "00"], b"");
    check(&["explain", "--response-of", "x\x1b[31m\u{202e}", "00"], b"");
    check(&["explain", "-r", "no\x1b[31m"], b"");
}

#[test]
fn arguments_that_make_no_sense() {
    let says = |argument: &str| {
        let mut command = Command::cargo_bin("kafkascope").unwrap();
        // As on a terminal.
        command.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
        let output = command.args(["list", argument, "f"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    for hostile in ["--\x1b]0;pwned\x07x", "--x\u{9b}31m\u{202e}y", "--port=\x1b[2J"] {
        let said = says(hostile);
        assert!(!said.replace('\n', "").contains(is_hostile), "{said:?}");
        assert!(said.starts_with("error: "), "{said:?}");
    }
    assert!(says("--x\u{9b}y").contains("unexpected argument '--x\\u{9b}y' found"));
    assert!(says("--plain").contains("\x1b["), "colours are forced, so this test can fail");
}

#[test]
fn names_and_schemas() {
    check(&["layout", "Meta\x1b[31mdata\u{202e}"], b"");
    check(&["schema", "show", "Meta\x1b[31mdata\u{202e}"], b"");
    check(&["schema", "diff", "a\x1b[31m", "b\u{9b}"], b"");
    // A draft from somewhere else.
    let folder = tempfile::tempdir().unwrap();
    let draft = |name: &str, about: &str| {
        format!(
            r#"{{"apiKey": 3, "type": "request", "name": "MetadataRequest", "validVersions": "0-1", "flexibleVersions": "none",
                "fields": [{{"name": "{name}", "type": "string", "versions": "0+", "about": "{about}"}}]}}"#
        )
    };
    let escapes = r"\u001b[2J\u009b31m\u202e\u0000\r\n\u007f";
    let schemas = folder.path().to_str().unwrap();
    for (name, about) in [("Name", escapes), (escapes, "")] {
        fs::write(Path::new(schemas).join("MetadataRequest.json"), draft(name, about)).unwrap();
        for command in [
            &["schema", "show", "Metadata"][..],
            &["schema", "list"],
            &["layout", "Metadata", "--request", "--version", "1"],
            &["explain", "0000000f 0003 0000 00000001 0001 61 0002 6f6b"],
            &["explain", "--verbose", "0000000f 0003 0000 00000001 0001 61 0002 6f6b"],
            &["explain", "-fjson", "0000000f 0003 0000 00000001 0001 61 0002 6f6b"],
            &["explain", "-ftree", "0000000f 0003 0000 00000001 0001 61 0002 6f6b"],
        ] {
            check(&[command, &["--schemas", schemas]].concat(), b"");
        }
    }
}
