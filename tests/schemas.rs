//! Schema files of readers' own: Kafka's releases as they are, drafts, and what is said of broken ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use kafkascope::protocol::{Catalog, Kind, Versions, parse_schema};

/// A folder beside the project, where it is there.
fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).join(folder);
    if path.is_dir() {
        return Some(path);
    }
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")).join(folder);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: there is no ../shared/{folder}");
    None
}

fn error_of(text: &str) -> String {
    parse_schema("draft.json", text).unwrap_err().to_string()
}

/// A draft with one field, given as it stands in the file.
fn draft(field: &str) -> String {
    format!(
        "{{\n  \"apiKey\": 3, \"type\": \"request\", \"name\": \"MetadataRequest\", \"validVersions\": \"0-2\",\n  \
         \"fields\": [\n    {field}\n  ]\n}}\n"
    )
}

#[test]
fn broken_drafts_are_named_with_line_and_column() {
    let cases = [
        ("", "draft.json:1:1: the file is empty"),
        ("[]", "draft.json:1:1: expected an object with the message's description"),
        ("{\n  \"validVersions\": \"0\"\n}", "draft.json:1:1: this object has no \"name\""),
        ("{ \"name\": \"A\" }", "draft.json:1:1: \"A\" has no \"validVersions\""),
        ("{\n  \"name\": 7,\n  \"validVersions\": \"0\" }", "draft.json:2:11: expected a string"),
        (
            "{ \"name\": \"A\",\n  \"validVersions\": \"2-1\" }",
            "draft.json:2:20: validVersions is \"2-1\"; expected \"none\", \"3\", \"0-12\" or \"9+\"",
        ),
        (
            "{ \"name\": \"A\",\n  \"validVersions\": \"0+\" }",
            "draft.json:2:20: validVersions is \"0+\"; the newest version must be named, as in \"0-3\"",
        ),
        (
            "{ \"name\": \"A\", \"validVersions\": \"0\",\n  \"type\": \"question\" }",
            "draft.json:2:11: unknown type of message \"question\"",
        ),
        (
            "{ \"name\": \"A\", \"validVersions\": \"0\",\n  \"apiKey\": 40000 }",
            "draft.json:2:13: apiKey is \"40000\"; expected a number",
        ),
        ("{ \"name\": \"A\", \"validVersions\": \"0\",\n  \"fields\": {} }", "draft.json:2:13: fields must be an array"),
        (
            "{ \"name\": \"A\\u001b[31m\", \"validVersions\": \"0\" }",
            "draft.json:1:11: \"A\\u{1b}[31m\" is not a name; expected letters, digits and _",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error_of(text), message, "{text}");
    }
}

#[test]
fn broken_fields_are_named_with_line_and_column() {
    let cases = [
        (r#"{ "type": "int8", "versions": "0+" }"#, "draft.json:4:5: this object has no \"name\""),
        (r#"{ "name": "A", "versions": "0+" }"#, "draft.json:4:5: \"A\" has no \"type\""),
        (r#"{ "name": "A", "type": "int8" }"#, "draft.json:4:5: \"A\" has no \"versions\""),
        (
            r#"{ "name": "A", "type": "int8", "versions": "1..3" }"#,
            "draft.json:4:48: versions is \"1..3\"; expected \"none\", \"3\", \"0-12\" or \"9+\"",
        ),
        (
            r#"{ "name": "A", "type": "[]Topic", "versions": "0+" }"#,
            "draft.json:4:28: \"Topic\" is neither a type nor a struct of this message",
        ),
        (
            r#"{ "name": "A", "type": "Int32", "versions": "0+" }"#,
            "draft.json:4:28: \"Int32\" is neither a type nor a struct of this message",
        ),
        (
            r#"{ "name": "A", "type": "[]", "versions": "0+" }"#,
            "draft.json:4:28: \"\" is neither a type nor a struct of this message",
        ),
        (
            r#"{ "name": "A", "type": "int8", "versions": "0+", "taggedVersions": "1+" }"#,
            "draft.json:4:5: \"A\" has no \"tag\"",
        ),
        (
            r#"{ "name": "A", "type": "int8", "versions": "0+", "taggedVersions": "1+", "tag": -1 }"#,
            "draft.json:4:85: tag is \"-1\"; expected a number",
        ),
        (
            r#"{ "name": "A", "type": "int8", "versions": "0+", "ignorable": "maybe" }"#,
            "draft.json:4:67: ignorable must be true or false",
        ),
        (r#"{ "name": "A", "type": "int8", "versions": "0+", "about": 5 }"#, "draft.json:4:63: expected a string"),
        (r#"{ "name": "A", "type": "int8", "versions": "0+", "default": {} }"#, "draft.json:4:65: expected a string"),
        (r#""A""#, "draft.json:4:5: expected an object"),
        (
            r#"{ "name": "A", "type": "A", "versions": "0+", "fields": [ { "name": "B", "type": "A", "versions": "0+" } ] }"#,
            "draft.json:4:28: the struct \"A\" holds itself",
        ),
    ];
    for (field, message) in cases {
        let text = draft(field);
        // A field that refers to its own struct without describing it again.
        assert_eq!(error_of(&text), message, "{text}");
    }
}

#[test]
fn broken_json_is_named_with_line_and_column() {
    let whole = draft(r#"{ "name": "A", "type": "int8", "versions": "0+" }"#);
    assert!(parse_schema("draft.json", &whole).is_ok());
    let cases = [
        (format!("{whole}// a comment may follow\n"), None),
        (format!("{whole}}}\n"), None),
        (format!("{whole}  ]\n}}\n"), None),
        (format!("{whole}}}}}\n"), Some("draft.json:7:1: ")),
        (format!("{whole}and text\n"), Some("draft.json:7:1: ")),
        (whole.replace("\"A\",", "\"A,"), Some("draft.json:4:")),
        (whole.replace("\"A\",", "\"A\""), Some("draft.json:4:")),
        (whole.replace("]\n}", "]\n"), Some("draft.json:1:1: ")),
        (whole.replace("]\n}", "\n}"), Some("draft.json:")),
        ("[".repeat(100_000), Some("draft.json:1:")),
    ];
    for (text, start) in cases {
        match (parse_schema("draft.json", &text), start) {
            (Ok(_), None) => {}
            (Err(error), Some(start)) => {
                println!("{error}");
                assert!(error.to_string().starts_with(start), "{error}\n{text:.200}");
            }
            (result, _) => panic!("{result:?}\n{text:.200}"),
        }
    }
}

#[test]
fn structs_that_multiply_are_refused() {
    let mut structs = String::from(r#"{ "name": "S0", "fields": [ { "name": "X", "type": "int8", "versions": "0+" } ] }"#);
    for level in 1..40 {
        let inner = level - 1;
        structs.push_str(&format!(
            r#", {{ "name": "S{level}", "fields": [ {{ "name": "A", "type": "S{inner}", "versions": "0+" }}, {{ "name": "B", "type": "S{inner}", "versions": "0+" }} ] }}"#
        ));
    }
    let text = format!(
        r#"{{ "name": "M", "type": "data", "validVersions": "0", "fields": [ {{ "name": "F", "type": "S39", "versions": "0+" }} ], "commonStructs": [ {structs} ] }}"#
    );
    assert_eq!(
        error_of(&text),
        "draft.json:1:1: the message has more than 20000 fields, with those of all structs in it"
    );
    let endless = r#"{ "name": "M", "validVersions": "0", "fields": [ { "name": "F", "type": "A", "versions": "0+" } ],
      "commonStructs": [ { "name": "A", "fields": [ { "name": "B", "type": "[]A", "versions": "0+" } ] } ] }"#;
    assert_eq!(error_of(endless), "draft.json:2:36: the struct \"A\" holds itself");
    let arrays = draft(&format!(r#"{{ "name": "A", "type": "{}int8", "versions": "0+" }}"#, "[]".repeat(1_000_000)));
    assert_eq!(error_of(&arrays), "draft.json:4:28: arrays of arrays without end");
}

/// The liberties of Kafka's own files, each as its files take them.
#[test]
fn liberties_of_kafkas_files_are_taken() {
    let text = r#"
        // Comments of both kinds.
        {
          /* as in SubscriptionInfoData.json: no "type" */
          "name": "Data", "validVersions": 1, "flexibleVersions": "none",
          "fields": [
            { "name": "Tagged", "type": "int64", "taggedVersions": "1+", "tag": "3", "default": "0x7fffffff" },
            { "name": "Plain", "type": "string", "versions": "1+", "default": null, "ignorable": "true" } // behind
          ]
        }"#;
    let schema = parse_schema("data.json", text).unwrap();
    assert_eq!((schema.kind, schema.valid), (Kind::Data, Versions { first: 1, last: 1 }));
    assert_eq!(schema.fields[0].tag, Some(3));
    assert_eq!(schema.fields[0].versions, Versions { first: 1, last: i16::MAX });
    assert_eq!((schema.fields[1].default.as_deref(), schema.fields[1].ignorable), (None, true));
}

/// Every file of every release can be laid over what is known, and has a plan for each of its versions.
#[test]
fn every_file_of_every_release_is_a_schema() {
    let Some(root) = shared("kafka-schemas") else { return };
    let releases = ["4.4.0", "4.3.1", "4.2.1", "4.1.2", "4.0.2", "3.9.2", "3.7.2", "3.3.2", "2.8.2"];
    for release in releases {
        let mut catalog = Catalog::builtin();
        catalog.overlay(&root.join(release)).unwrap_or_else(|error| panic!("{release}: {error}"));
        let mut plans = 0;
        for name in catalog.names().filter(|name| catalog.is_overlaid(name)) {
            let schema = catalog.schema(name).unwrap();
            for version in schema.valid.first..=schema.valid.last {
                assert!(catalog.plan(name, version).is_some(), "{release} {name} {version}");
                plans += 1;
            }
        }
        assert!(plans > 300, "{release}: {plans}");
    }
    let brace = root.join("2.8.2/clients/DescribeProducersRequest.json");
    assert!(fs::read_to_string(&brace).unwrap().trim_end().ends_with("]}\n  ]\n}"), "the surplus brackets are gone");
}
