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
use kafkascope::protocol::diff::{
    Change, Comparison, Explanation, MessageChange, Wire, WireRange, compare, compare_versions,
};
use kafkascope::protocol::{Catalog, Kind, Primitive, Schema, TypeName, Versions, parse_schema};

/// A folder beside the project (or beside the folder of its work trees), where it is there.
fn shared(folder: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found =
        ["../shared", "../../shared"].iter().map(|shared| root.join(shared).join(folder)).find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: there is no ../shared/{folder}");
    }
    found
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
        (
            "{ \"name\": \"A\", \"validVersions\": \"0\",\n  \"fields\": {} }",
            "draft.json:2:13: fields must be an array",
        ),
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
            r#"{ "name": "A", "type": "string", "versions": "0+", "nullableVersion": "0+" }"#,
            "draft.json:4:56: \"nullableVersion\" is no attribute; did you mean \"nullableVersions\"?",
        ),
        (
            r#"{ "name": "A", "type": "int8", "Versions": "0+" }"#,
            "draft.json:4:36: \"Versions\" is no attribute; did you mean \"versions\"?",
        ),
        (
            r#"{ "name": "A", "type": "int8", "versions": "0+", "tag": 0 }"#,
            "draft.json:4:54: a tag, but no \"taggedVersions\" that say where it holds; add them, as in \"1+\"",
        ),
        (
            r#"{ "name": "A", "type": "int8", "versions": "0+" }, { "name": "a", "type": "int8", "versions": "0+" }"#,
            "draft.json:4:56: the struct has a field \"A\" already, in versions 0+; give one of them another name",
        ),
        (
            r#"{ "name": "A", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 1 },
               { "name": "B", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 1 }"#,
            "draft.json:5:16: \"A\" has tag 1 already; give one of them another tag",
        ),
    ];
    for (field, message) in cases {
        let text = draft(field);
        assert_eq!(error_of(&text), message, "{text}");
    }
}

/// What a newer Kafka may add is no mistake, and a name may be used again once the first field is gone.
#[test]
fn drafts_may_be_newer_than_what_is_known() {
    for field in [
        r#"{ "name": "A", "type": "int8", "versions": "0+", "shardedVersions": "0+", "since": "5.0" }"#,
        r#"{ "name": "A", "type": "int8", "versions": "0" }, { "name": "A", "type": "int16", "versions": "1+" }"#,
    ] {
        let text = draft(field);
        assert!(parse_schema("draft.json", &text).is_ok(), "{text}");
    }
}

#[test]
fn structs_that_go_too_deep_are_named() {
    let mut field = r#"{ "name": "Last", "type": "int8", "versions": "0+" }"#.to_owned();
    for depth in 0..40 {
        field = format!(
            "{{ \"name\": \"F{depth}\", \"type\": \"S{depth}\", \"versions\": \"0+\", \"fields\": [ {field} ] }}"
        );
    }
    let error = error_of(&draft(&field));
    assert!(error.starts_with("draft.json:4:"), "{error}");
    assert!(error.ends_with("structs inside of structs, more than 32 deep"), "{error}");
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
    let structs: Vec<String> = (0..40)
        .map(|level: u32| {
            let inner = level.checked_sub(1).map_or_else(|| "int8".to_owned(), |inner| format!("S{inner}"));
            format!(
                r#"{{ "name": "S{level}", "fields": [ {{ "name": "A", "type": "{inner}", "versions": "0+" }},
                {{ "name": "B", "type": "{inner}", "versions": "0+" }} ] }}"#
            )
        })
        .collect();
    let structs = structs.join(", ");
    let text = format!(
        r#"{{ "name": "M", "type": "data", "validVersions": "0", "fields": [ {{ "name": "F", "type": "S39", "versions": "0+" }} ], "commonStructs": [ {structs} ] }}"#
    );
    assert_eq!(error_of(&text), "draft.json:1:1: the message has more than 5000 fields, with those of its structs");
    let arrays = draft(&format!(r#"{{ "name": "A", "type": "{}int8", "versions": "0+" }}"#, "[]".repeat(1_000_000)));
    assert_eq!(error_of(&arrays), "draft.json:4:28: arrays of arrays without end");
}

/// A private API may carry trees.
#[test]
fn structs_may_hold_themselves() {
    let text = |extra: &str| {
        format!(
            r#"{{ "name": "M", "type": "data", "validVersions": "0", "flexibleVersions": "0+", "fields": [
            {{ "name": "F", "type": "A", "versions": "0+", "taggedVersions": "0+", "tag": 0 }} ],
            "commonStructs": [ {{ "name": "A", "fields": [ {{ "name": "Left", "type": "A", "versions": "0+" }},
            {{ "name": "Right", "type": "[]A", "versions": "0+" }}{extra} ] }} ] }}"#
        )
    };
    let schema = |extra: &str| parse_schema("m.json", &text(extra)).unwrap();
    let field = r#", { "name": "X", "type": "int8", "versions": "0+" }"#;
    let comparison = compare(&schema(""), &schema(field));
    assert_eq!(changes(&comparison), [("F.X", &Change::Added(TypeName::of("int8"), Versions::ALL, None))]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("M.json");
    fs::write(&file, text("")).unwrap();
    for arguments in
        [["show", "M"].as_slice(), &["show", "M", "--version", "0"], &["show", "M", "--json"], &["list", "M"]]
    {
        let all = [&["--schemas", file.to_str().unwrap(), "schema"], arguments].concat();
        assert!(stdout(&all).contains('M'));
    }
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

fn kafkascope(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("kafkascope").unwrap();
    command.env_remove("COLUMNS").env_remove("NO_COLOR").args(arguments);
    command
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(kafkascope(arguments).assert().success().get_output().stdout.clone()).unwrap()
}

fn stderr_of_usage_error(arguments: &[&str]) -> String {
    String::from_utf8(kafkascope(arguments).assert().code(2).get_output().stderr.clone()).unwrap()
}

/// A revision of the proposal's draft.
fn revision(number: u32) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/seeds/kip_1073");
    format!("{folder}/DescribeClusterResponse.revision-{number}.json")
}

fn known(name: &str) -> Schema {
    Catalog::builtin().schema(name).unwrap().clone()
}

fn changes(comparison: &Comparison) -> Vec<(&str, &Change)> {
    comparison.fields.iter().map(|field| (field.path.as_str(), &field.change)).collect()
}

fn range(first: i16, last: i16) -> Versions {
    Versions { first, last }
}

/// What the wiki page of KIP-1073 says of its own two revisions: a field got another name.
#[test]
fn revisions_of_a_draft_differ_in_a_name() {
    let read = |number| parse_schema("draft.json", &fs::read_to_string(revision(number)).unwrap()).unwrap();
    let comparison = compare(&read(9), &read(10));
    assert_eq!(changes(&comparison), [("Brokers.Fenced", &Change::Renamed("IsFenced".into()))]);
    assert_eq!((comparison.message.len(), comparison.explanations.len()), (0, 0));
    assert_eq!(comparison.wire, [WireRange { versions: range(0, 2), wire: Wire::Same }]);
}

/// The final schema has the names of revision 9 and differs in two full stops.
#[test]
fn a_draft_is_compared_with_what_was_released() {
    let text = stdout(&["schema", "diff", &revision(9), "DescribeClusterResponse"]);
    assert_eq!(
        text,
        "DescribeClusterResponse: DescribeClusterResponse.revision-9.json -> Kafka 4.4.0\n\n\
         No field differs.\n\n\
         Explanations\n  \
           ~ ErrorCode\n      \
               - The top-level error code, or 0 if there was no error\n      \
               + The top-level error code, or 0 if there was no error.\n  \
           ~ Brokers.IsFenced\n      \
               - Whether the broker is fenced.\n      \
               + Whether the broker is fenced\n\n\
         On the wire: the bytes do not differ in versions 0-2.\n"
    );
    let alone = stdout(&["schema", "diff", &revision(10)]);
    assert!(alone.contains("  ~ Brokers.Fenced  renamed, was IsFenced\n"), "{alone}");
}

/// What the comments in Kafka's MetadataRequest.json and MetadataResponse.json say of their versions.
#[test]
fn versions_of_a_message_are_compared() {
    let request = known("MetadataRequest");
    let response = known("MetadataResponse");
    // "In version 1+, an empty array indicates 'request metadata for no topics,' and a null array is used to indicate
    // 'request metadata for all topics.'"
    let comparison = compare_versions((&request, 0), (&request, 1));
    assert_eq!(changes(&comparison), [("Topics", &Change::Nullable(Versions::NONE, Versions::ALL))]);
    assert_eq!(comparison.wire, [WireRange { versions: range(1, 1), wire: Wire::Nulls }]);
    // "Version 2 and 3 are the same as version 1."
    let comparison = compare_versions((&request, 1), (&request, 3));
    assert!(comparison.is_empty());
    assert_eq!(comparison.wire, [WireRange { versions: range(3, 3), wire: Wire::Same }]);
    // "Version 4 adds AllowAutoTopicCreation."
    let comparison = compare_versions((&request, 3), (&request, 4));
    let boolean = || TypeName::Primitive(Primitive::Bool);
    assert_eq!(changes(&comparison), [("AllowAutoTopicCreation", &Change::Added(boolean(), Versions::ALL, None))]);
    assert_eq!(comparison.wire, [WireRange { versions: range(4, 4), wire: Wire::Different }]);
    // "Version 9 is the first flexible version."
    let comparison = compare_versions((&request, 8), (&request, 9));
    assert_eq!(comparison.message, [MessageChange::Flexible(Versions::NONE, Versions::ALL)]);
    assert!(comparison.fields.is_empty());
    assert_eq!(comparison.wire[0].wire, Wire::Different);
    // "Version 11 deprecates IncludeClusterAuthorizedOperations field."
    let comparison = compare_versions((&request, 10), (&request, 11));
    let gone = Change::Removed(boolean(), Versions::ALL, None);
    assert_eq!(changes(&comparison), [("IncludeClusterAuthorizedOperations", &gone)]);
    // "Version 13 supports top-level error code in the response."
    let comparison = compare_versions((&response, 12), (&response, 13));
    let code = Change::Added(TypeName::Primitive(Primitive::Int16), Versions::ALL, None);
    assert_eq!(changes(&comparison), [("ErrorCode", &code)]);
}

#[test]
fn every_kind_of_change_is_told() {
    let schema = |valid: &str, fields: &str| {
        let text = format!(
            r#"{{ "name": "M", "type": "data", "validVersions": "{valid}", "flexibleVersions": "1+", "fields": [{fields}] }}"#
        );
        parse_schema("m.json", &text).unwrap_or_else(|error| panic!("{error}"))
    };
    let was = schema(
        "0-2",
        r#"{ "name": "A", "type": "int32", "versions": "0+", "about": "One." },
           { "name": "B", "type": "string", "versions": "0+" },
           { "name": "C", "type": "[]Old", "versions": "0+", "fields": [ { "name": "X", "type": "int8", "versions": "0+" } ] },
           { "name": "D", "type": "int16", "versions": "1+", "taggedVersions": "1+", "tag": 0 },
           { "name": "E", "type": "bool", "versions": "0+" },
           { "name": "F", "type": "int64", "versions": "0+", "default": "0x7f" }"#,
    );
    let is = schema(
        "0-3",
        r#"{ "name": "E", "type": "bool", "versions": "0-1", "default": "false" },
           { "name": "A", "type": "int64", "versions": "0+", "about": "Two." },
           { "name": "B2", "type": "string", "versions": "0+", "nullableVersions": "2+" },
           { "name": "C", "type": "[]New", "versions": "0+", "fields": [ { "name": "X", "type": "int8", "versions": "0+", "mapKey": true } ] },
           { "name": "D", "type": "int16", "versions": "1+", "taggedVersions": "1+", "tag": 5, "default": "-1" },
           { "name": "F", "type": "int64", "versions": "0+", "default": "127", "entityType": "producerId" },
           { "name": "G", "type": "uuid", "versions": "3+", "taggedVersions": "3+", "tag": 1 }"#,
    );
    let comparison = compare(&was, &is);
    let word = TypeName::of;
    assert_eq!(
        changes(&comparison),
        [
            ("E", &Change::Moved(None)),
            ("E", &Change::Versions(range(0, i16::MAX), range(0, 1))),
            ("A", &Change::Type(word("int32"), word("int64"))),
            ("B2", &Change::Renamed("B".into())),
            ("B2", &Change::Nullable(Versions::NONE, range(2, i16::MAX))),
            ("C", &Change::StructName(word("[]Old"), word("[]New"))),
            ("C.X", &Change::MapKey(false, true)),
            ("D", &Change::Tagged(Some((0, range(1, i16::MAX))), Some((5, range(1, i16::MAX))))),
            ("D", &Change::Default(None, Some("-1".into()))),
            ("F", &Change::Entity(None, Some("producerId".into()))),
            ("G", &Change::Added(word("uuid"), range(3, i16::MAX), Some(1))),
        ]
    );
    assert_eq!(comparison.message, [MessageChange::Valid(range(0, 2), range(0, 3))]);
    assert_eq!(
        comparison.explanations,
        [Explanation { path: "A".into(), was: Some("One.".into()), is: Some("Two.".into()) }]
    );
    assert_eq!(
        comparison.wire,
        [
            WireRange { versions: range(0, 2), wire: Wire::Different },
            WireRange { versions: range(3, 3), wire: Wire::OnlyRight }
        ]
    );
    let swapped = compare(&is, &was);
    assert_eq!(swapped.wire[1].wire, Wire::OnlyLeft);
    assert!(changes(&swapped).contains(&("G", &Change::Removed(word("uuid"), range(3, i16::MAX), Some(1)))));
}

#[test]
fn tagged_fields_are_skipped_by_who_does_not_know_them() {
    let schema = |tagged: &str| {
        parse_schema(
            "m.json",
            &format!(
                r#"{{ "name": "M", "type": "data", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
                {{ "name": "A", "type": "int32", "versions": "0+" }} {tagged} ] }}"#
            ),
        )
        .unwrap()
    };
    let field = r#", { "name": "T", "type": "int8", "versions": "1+", "taggedVersions": "1+", "tag": 0 }"#;
    assert_eq!(
        compare(&schema(""), &schema(field)).wire,
        [
            WireRange { versions: range(0, 0), wire: Wire::Same },
            WireRange { versions: range(1, 1), wire: Wire::Tagged }
        ]
    );
    // A tagged field with its default is not written: another default gives other bytes.
    let other = field.replace("\"tag\": 0", "\"tag\": 0, \"default\": \"7\"");
    assert_eq!(compare(&schema(field), &schema(&other)).wire[1].wire, Wire::Different);
}

/// The embedded schemas are made from Kafka's releases: with the newest one there is no difference at all.
#[test]
fn the_newest_release_is_known_to_the_last_field() {
    let Some(root) = shared("kafka-schemas") else { return };
    let text = stdout(&["schema", "diff", root.join("4.4.0").to_str().unwrap()]);
    assert_eq!(text, "Kafka 4.4.0 -> 4.4.0\n\nsame: 279, different: 0, new: 0, not there: 0\n");
}

#[test]
fn releases_are_compared() {
    let Some(root) = shared("kafka-schemas") else { return };
    let [older, newer] = ["4.3.1", "4.4.0"].map(|release| root.join(release).to_str().unwrap().to_owned());
    let text = stdout(&["schema", "diff", &older, &newer]);
    assert!(text.contains("UnregisterControllerRequest (0)"), "{text}");
    // KIP-848: the field is the member's epoch where a consumer group commits.
    assert!(text.contains("  ~ GenerationIdOrMemberEpoch  renamed, was GenerationId\n"), "{text}");
    let one = stdout(&["schema", "diff", "TxnOffsetCommitRequest:5", "TxnOffsetCommitRequest:6"]);
    assert!(one.contains("  - Topics.Name     string\n") || one.contains("Topics.TopicId"), "{one}");
}

#[test]
fn what_diff_cannot_do_is_said() {
    let cases: [(&[&str], &str); 4] = [
        (&["Metadata"], "kafkascope: Metadata is compared with what? give a second version, name or file\n"),
        (
            &["MetadataRequest:99", "MetadataRequest:1"],
            "kafkascope: MetadataRequest has no version 99; known are 0-13\n",
        ),
        (
            &["Metadata", "one", "two"],
            "kafkascope: expected a name and two versions, as in: kafkascope schema diff Metadata 11 12\n",
        ),
        (
            &["nowhere.json", "Metadata"],
            "kafkascope: cannot read nowhere.json: No such file or directory (os error 2)\n",
        ),
    ];
    for (words, message) in cases {
        let arguments: Vec<&str> = ["schema", "diff"].iter().chain(words).copied().collect();
        assert_eq!(stderr_of_usage_error(&arguments), message);
    }
    let error = stderr_of_usage_error(&["schema", "diff", "Metadat", "Metadata"]);
    let start = "kafkascope: no message, API or enumeration is called \"Metadat\"; did you mean Metadata, ";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn a_broken_overlay_is_named_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Broken.json");
    fs::write(&file, "{\n  \"name\": \"Broken\",\n  \"validVersions\": \"0..2\"\n}\n").unwrap();
    let error = stderr_of_usage_error(&["--schemas", folder.path().to_str().unwrap(), "schema", "list"]);
    let file = file.display();
    assert_eq!(
        error,
        format!(
            "kafkascope: cannot use the schemas: {file}:3:20: validVersions is \"0..2\"; \
             expected \"none\", \"3\", \"0-12\" or \"9+\"\n"
        )
    );
    let empty = tempfile::tempdir().unwrap();
    let error = stderr_of_usage_error(&["--schemas", empty.path().to_str().unwrap(), "schema", "list"]);
    assert!(error.ends_with("holds no schema files (*.json)\n"), "{error}");
}

#[test]
fn lists_have_what_the_table_of_releases_has() {
    let text = stdout(&["schema", "list"]);
    let line = |name: &str| {
        let found = text.lines().find(|line| line.split_whitespace().any(|word| word == name));
        found.unwrap_or_else(|| panic!("{name} is not there")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("DescribeConfigs"), "32 DescribeConfigs 1-4 0-4 4+ <=2.8.2");
    assert_eq!(line("LeaderAndIsr"), "4 LeaderAndIsr - 0-7 4+ <=2.8.2 3.9.2");
    assert_eq!(line("InitProducerId"), "22 InitProducerId 0-6! 0-6 2+ <=2.8.2");
    assert_eq!(line("OffsetCommitValue"), "1 OffsetCommitValue 0-4 0-4 4+ <=2.8.2");
    assert_eq!(line("ShareGroupHeartbeat"), "76 ShareGroupHeartbeat 1 0-1 0+ 3.9.2");
    // The widest section at 80 columns: the APIs.
    let apis = text.lines().take_while(|line| !line.is_empty());
    assert_eq!(apis.filter(|line| line.chars().count() > 80).count(), 0);
    let some = stdout(&["schema", "list", "describecluster"]);
    assert_eq!(some.lines().filter(|line| line.contains("DescribeCluster")).count(), 1);
    stderr_of_usage_error(&["schema", "list", "nothing-like-it"]);
}

#[test]
fn messages_are_shown() {
    let text = stdout(&["schema", "show", "OffsetCommitValue"]);
    assert!(text.contains("\nkind         coordinator-value (group-coordinator)\nrecord type  1\n"), "{text}");
    assert!(text.contains("\n0-3       all, 2.8.2 or before to 4.4.0\n4         since 3.7.2\n"), "{text}");
    assert!(text.contains("\nexpireTimestamp  int64   1   default -1\n"), "{text}");
    let text = stdout(&["schema", "show", "InitProducerIdRequest"]);
    assert!(text.contains("6         since 4.1.2, not yet final (!) in 4.1.2, 4.2.1, 4.3.1, 4.4.0\n"), "{text}");
    let text = stdout(&["schema", "show", "describeclusterresponse", "--version", "2"]);
    assert!(text.contains("\nErrorMessage                 compact nullable string\n"), "{text}");
    assert!(text.contains("\n  IsFenced                   bool\n"), "{text}");
    let text = stdout(&["schema", "show", "DescribeClusterResponse", "--version", "1"]);
    assert!(!text.contains("IsFenced"), "{text}");
    let both = stdout(&["schema", "show", "DescribeCluster"]);
    assert!(both.starts_with("DescribeClusterRequest\n") && both.contains("\nDescribeClusterResponse\n"), "{both}");
    assert_eq!(
        stderr_of_usage_error(&["schema", "show", "DescribeClusterResponse", "--version", "3"]),
        "kafkascope: DescribeClusterResponse has no version 3; known are 0-2\n"
    );
}

#[test]
fn enumerations_are_shown() {
    let text = stdout(&["schema", "show", "errors"]);
    assert_eq!(text, stdout(&["schema", "show", "ErrorCode"]));
    let line = text.lines().find(|line| line.contains("UNKNOWN_TOPIC_OR_PARTITION")).unwrap();
    assert_eq!(line.split_whitespace().take(3).collect::<Vec<_>>(), ["3", "UNKNOWN_TOPIC_OR_PARTITION", "yes"]);
    stderr_of_usage_error(&["schema", "show", "ErrorCode", "--version", "1"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&["schema", "show", "errors", "--json"])).unwrap();
    assert_eq!(json["values"][0]["code"], -1);
}

/// The JSON is a schema file again: laid over what is known it changes nothing.
#[test]
fn printed_schemas_are_those_of_the_newest_release() {
    let Some(root) = shared("kafka-schemas") else { return };
    let text = stdout(&["schema", "show", "DescribeConfigsResponse", "--json"]);
    let ours = parse_schema("ours.json", &text).unwrap();
    let path = root.join("4.4.0/clients/DescribeConfigsResponse.json");
    let kafkas = parse_schema("kafkas.json", &fs::read_to_string(path).unwrap()).unwrap();
    assert!(compare(&ours, &kafkas).is_empty(), "{:?}", compare(&ours, &kafkas));
}

/// A number beside a name could be a version or an API's key.
#[test]
fn a_bare_number_beside_a_name_is_a_question() {
    for words in [["Metadata", "1"], ["1", "Metadata"]] {
        let error = stderr_of_usage_error(&["schema", "diff", words[0], words[1]]);
        assert!(error.contains("is 1 a version of Metadata?"), "{error}");
        assert!(error.contains("kafkascope schema diff Metadata Metadata:1"), "{error}");
    }
    assert!(stdout(&["schema", "diff", "Metadata", "Metadata:1"]).contains("MetadataRequest"));
}

#[test]
fn what_the_system_says_is_said_once() {
    let error = stderr_of_usage_error(&["schema", "list", "--schemas", "/nowhere/at/all"]);
    assert!(error.starts_with("kafkascope: cannot use the schemas: cannot read /nowhere/at/all: "), "{error}");
    assert_eq!(error.matches("os error").count(), 1, "{error}");
}

/// A vendor's private API of which only the request is described.
#[test]
fn an_api_with_one_half_is_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("PingRequest.json");
    let text = r#"{ "apiKey": 901, "type": "request", "name": "PingRequest", "validVersions": "0-1", "flexibleVersions": "none",
        "fields": [ { "name": "Node", "type": "int32", "versions": "0+" } ] }"#;
    fs::write(&path, text).unwrap();
    let schemas = path.to_str().unwrap();
    let page = stdout(&["layout", "Ping", "--schemas", schemas]);
    assert!(page.contains("PingRequest v1, request header v1, 18 bytes on the wire"), "{page}");
    assert!(!page.contains("PingResponse"), "{page}");
    // Size, key 901, version 1, correlation id 0, an empty client id, node 0.
    let hex = stdout(&["layout", "Ping", "--format", "hex", "--schemas", schemas]);
    let digits: String = hex.split_whitespace().collect();
    assert_eq!(digits, "0000000e03850001000000000000000000 00".replace(' ', ""));
    let error = stderr_of_usage_error(&["layout", "Ping", "--response", "--schemas", schemas]);
    assert!(error.contains("only the other half is known"), "{error}");
}
