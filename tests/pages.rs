//! The reference pages against the documents that describe them, to the character.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use kafkascope::output::grid::{Region, legend, regions_tsv, write_grid, write_hex};
use kafkascope::output::page::{BatchPage, Half, Page, PageOptions, write_page};
use kafkascope::output::paint::Paint;
use kafkascope::output::schema_text::write_schema;
use kafkascope::output::tree_text::TreeOptions;
use kafkascope::protocol::{Catalog, Side, parse_schema};
use serde_json::Value;

const PLAIN: Paint = Paint { coloured: false };

fn seed(folder: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/seeds").join(folder).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn kafkascope(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("kafkascope").unwrap();
    command.env_remove("COLUMNS").env_remove("NO_COLOR").args(arguments);
    command
}

fn stdout(arguments: &[&str]) -> String {
    let output = kafkascope(arguments).assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

fn stderr_of_usage_error(arguments: &[&str]) -> String {
    let output = kafkascope(arguments).assert().code(2).get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

/// The documents, and the versions that they are about.
const DOCUMENTS: [(&str, &str, i16); 2] =
    [("describe_cluster", "DescribeCluster", 2), ("describe_configs", "DescribeConfigs", 4)];

fn with_page(check: impl Fn(&str, &Catalog, &Page<'_>)) {
    let catalog = Catalog::builtin();
    for (folder, name, version) in DOCUMENTS {
        let api = catalog.api_named(name).unwrap();
        check(folder, &catalog, &Page::new(&catalog, api, version).unwrap());
    }
}

fn halves<'p, 'c>(page: &'p Page<'c>) -> [(&'static str, &'p Half<'c>); 2] {
    [("request", page.half(Side::Request).unwrap()), ("response", page.half(Side::Response).unwrap())]
}

#[test]
fn trees_are_those_of_the_documents() {
    with_page(|folder, catalog, page| {
        for (side, half) in halves(page) {
            let mut tree = String::new();
            half.write_tree(&mut tree, catalog, TreeOptions::default());
            assert_eq!(tree, seed(folder, &format!("{side}.tree.txt")), "{folder} {side}");
            let folded: Vec<&str> = tree.split_whitespace().collect();
            assert_eq!(
                folded.join(" "),
                seed(folder, &format!("{side}.tree.folded.txt")).trim_end(),
                "{folder} {side}"
            );
        }
    });
}

#[test]
fn bytes_and_regions_are_those_of_the_documents() {
    with_page(|folder, _, page| {
        for (side, half) in halves(page) {
            let mut hex = String::new();
            write_hex(&mut hex, &half.frame);
            assert_eq!(hex, seed(folder, &format!("{side}.hex")), "{folder} {side}");
            let regions = seed(folder, &format!("{side}.regions.tsv"));
            assert_eq!(regions_tsv(&half.regions), regions, "{folder} {side}");
        }
    });
}

#[test]
fn heads_are_those_of_the_documents() {
    with_page(|folder, _, page| {
        let facts: Value = serde_json::from_str(&seed(folder, "facts.json")).unwrap();
        assert_eq!(page.title, facts["title"]);
        assert_eq!(page.intro, facts["intro"]);
        let listed = facts["facts"].as_object().unwrap();
        assert_eq!(page.facts.len(), listed.len());
        for (name, value) in &page.facts {
            assert_eq!(listed[*name], **value, "{folder} {name}");
        }
        let names: Vec<&str> = Region::ALL.into_iter().map(Region::name).collect();
        assert_eq!(Value::from(names), facts["legend"]);
        for (side, half) in halves(page) {
            assert_eq!(half.headline, facts["headline"][side]);
        }
    });
}

/// The schemas on the pages are Kafka's files: ours say the same, but for comments and for what says nothing
/// (`"ignorable": false`; null in versions that do not have the field).
#[test]
fn schemas_are_those_of_the_documents() {
    fn drop_what_says_nothing(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.retain(|key, value| key != "ignorable" || value != &Value::Bool(false));
                let versions = object.get("versions").cloned();
                if let (Some(nullable), Some(versions)) = (object.get_mut("nullableVersions"), versions)
                    && nullable == "0+"
                {
                    *nullable = versions;
                }
                object.values_mut().for_each(drop_what_says_nothing);
            }
            Value::Array(list) => list.iter_mut().for_each(drop_what_says_nothing),
            _ => {}
        }
    }
    with_page(|folder, _, page| {
        for (side, half) in halves(page) {
            let mut ours = String::new();
            write_schema(&mut ours, &half.schema);
            let ours: Value = serde_json::from_str(&ours).unwrap();
            let text = seed(folder, &format!("{side}.schema.json"));
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let mut document: Value = serde_json::from_str(&lines.collect::<String>()).unwrap();
            drop_what_says_nothing(&mut document);
            assert_eq!(format!("{ours:#}"), format!("{document:#}"), "{folder} {side}");
        }
    });
}

#[test]
fn the_grid_names_regions_without_colour() {
    with_page(|folder, _, page| {
        if folder == "describe_cluster" {
            let mut grid = String::new();
            write_grid(
                &mut grid,
                &page.half(Side::Request).unwrap().frame,
                &page.half(Side::Request).unwrap().regions,
                PLAIN,
            );
            assert_eq!(
                grid,
                "0000  00 00 00 0f 00 3c 00 02  00 00 00 00 00 00 00 00\n      \
                       frame ----- rpc header ------------------- tf rq\n\
                 0010  00 00 00\n      \
                       rq -- tf\n"
            );
        }
    });
    assert_eq!(
        legend(200, PLAIN),
        ["fr frame  hd rpc header  rq request body  rb RecordBatch  rc Record  rs response body  tf tagged_fields"]
    );
}

#[test]
fn colours_add_nothing_but_colour() {
    let plain = stdout(&["layout", "DescribeConfigs", "--color", "never"]);
    let coloured = stdout(&["layout", "DescribeConfigs", "--color", "always"]);
    assert!(coloured.contains("\x1b[35m00 00 00 14\x1b[0m"));
    let mut text = String::new();
    for (index, part) in coloured.split('\x1b').enumerate() {
        text.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    let without_rules = |text: &str| {
        text.lines().map(str::trim_end).filter(|line| !line.starts_with("===")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_rules(&text), without_rules(&plain));
}

#[test]
fn every_version_of_every_api_has_a_page() {
    let catalog = Catalog::builtin();
    let mut pages = 0;
    for api in catalog.apis() {
        let versions = catalog.api_versions(api.key, Side::Request);
        assert_eq!(versions, catalog.api_versions(api.key, Side::Response), "{}", api.name);
        for version in versions.first..=versions.last {
            let page = Page::new(&catalog, api, version).unwrap_or_else(|| panic!("{} v{version}", api.name));
            let mut text = String::new();
            let options = PageOptions { side: None, paint: PLAIN, width: 80, tree: TreeOptions::default() };
            write_page(&mut text, &catalog, &page, options);
            assert!(!text.contains("!!") && !text.contains("undecoded"), "{} v{version}:\n{text}", api.name);
            for (_, half) in halves(&page) {
                let mut end = 0;
                for run in &half.regions {
                    assert_eq!(run.start, end, "{} v{version}", api.name);
                    end += run.len;
                }
                assert_eq!(end as usize, half.frame.len(), "{} v{version}", api.name);
                assert_eq!(&half.frame[..4], u32::try_from(half.frame.len() - 4).unwrap().to_be_bytes());
                assert!(half.schema.valid.contains(version));
            }
            pages += 1;
        }
    }
    assert_eq!(pages, 368);
}

/// A records field holds one empty batch of 61 bytes; what stands in front of it is the body's.
#[test]
fn records_are_a_region_of_their_own() {
    let catalog = Catalog::builtin();
    let api = catalog.api_named("Produce").unwrap();
    for version in 3..=13 {
        let page = Page::new(&catalog, api, version).unwrap();
        let batches: Vec<u32> = page
            .half(Side::Request)
            .unwrap()
            .regions
            .iter()
            .filter(|run| run.region == Region::RecordBatch)
            .map(|run| run.len)
            .collect();
        assert_eq!(batches, [61], "v{version}");
        assert!(page.intro.contains("any records field holds one empty 61-byte RecordBatch v2"));
    }
    let page = Page::new(&catalog, api, 2).unwrap();
    assert!(page.half(Side::Request).unwrap().regions.iter().all(|run| run.region != Region::RecordBatch));
    assert!(page.intro.contains("any records field is empty"));
    assert!(page.intro.contains("Version 2 is not a flexible version"));
}

/// A batch with one record: 61 bytes, and behind them the record with its length (KIP-98).
#[test]
fn a_record_is_a_region_of_its_own() {
    let catalog = Catalog::builtin();
    let page = BatchPage::new(&catalog).unwrap();
    let runs: Vec<_> = page.batch.regions.iter().map(|run| (run.start, run.len, run.region)).collect();
    assert_eq!(runs, [(0, 61, Region::RecordBatch), (61, 9, Region::Record)]);
    // Length 8, attributes, two deltas, key and value of no bytes, one header of no bytes: zigzag varints.
    assert_eq!(page.batch.frame[61..], [16, 0, 0, 0, 0, 0, 2, 0, 0]);
    let mut tree = String::new();
    page.batch.write_tree(&mut tree, &catalog, TreeOptions::default());
    assert!(!tree.contains("!!") && tree.contains("(valid)"), "{tree}");
    assert_eq!(stdout(&["layout", "Metadata", "response"]), stdout(&["layout", "Metadata", "--response"]));
    assert_eq!(stdout(&["layout", "Metadata", "request"]), stdout(&["layout", "MetadataRequest"]));
    let text = stdout(&["layout", "record"]);
    assert!(text.contains(&tree) && text.contains("rc Record"), "{text}");
    assert_eq!(text, stdout(&["layout", "RecordBatch", "--version", "2"]));
    assert_eq!(stdout(&["layout", "RecordBatch", "--format", "hex"]).split_whitespace().count(), 70);
    assert!(
        stderr_of_usage_error(&["layout", "RecordBatch", "--request"]).contains("neither a request nor a response")
    );
    assert!(stderr_of_usage_error(&["layout", "RecordBatch", "--version", "1"]).contains("MessageSet"));
    // Pages of requests take the batch apart as well, and say where a record is.
    let text = stdout(&["layout", "Fetch", "--response"]);
    assert!(text.contains("+-- RecordBatch[0] RecordBatch = struct"), "{text}");
    assert!(text.contains("kafkascope layout RecordBatch"), "{text}");
}

#[test]
fn every_schema_can_be_read_again_as_it_was_printed() {
    let catalog = Catalog::builtin();
    for name in catalog.names() {
        let schema = catalog.glossary().explain(catalog.schema(name).unwrap().clone());
        let mut text = String::new();
        write_schema(&mut text, &schema);
        let again = parse_schema("again.json", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(format!("{again:?}"), format!("{schema:?}"));
    }
}

#[test]
fn hex_is_the_bytes_alone() {
    assert_eq!(
        stdout(&["layout", "describeconfigs", "--format", "hex", "--request"]),
        seed("describe_configs", "request.hex")
    );
    assert_eq!(stdout(&["layout", "60", "--format", "hex", "--response"]), seed("describe_cluster", "response.hex"));
    let both = format!("{}\n{}", seed("describe_cluster", "request.hex"), seed("describe_cluster", "response.hex"));
    assert_eq!(stdout(&["layout", "DescribeCluster", "--format", "hex", "--version", "2"]), both);
}

#[test]
fn the_version_is_the_newest_unless_it_is_said() {
    assert!(stdout(&["layout", "DescribeConfigs"]).contains("DescribeConfigsRequest v4, request header v2, 24 bytes"));
    // Kafka 4 has dropped version 0, and LeaderAndIsr with all its versions.
    assert!(
        stdout(&["layout", "DescribeConfigs", "--version", "0"])
            .contains("DescribeConfigsRequest v0, request header v1")
    );
    let removed = stdout(&["layout", "LeaderAndIsr"]);
    assert!(removed.contains("LeaderAndIsrRequest v7, ") && removed.contains("Request versions   0-7"), "{removed}");
}

#[test]
fn one_half_is_printed_alone() {
    let request = stdout(&["layout", "Metadata", "--request"]);
    assert!(request.contains("MetadataRequest v13") && !request.contains("MetadataResponse"));
    assert_eq!(stdout(&["layout", "MetadataResponse"]), stdout(&["layout", "Metadata", "--response"]));
}

#[test]
fn errors_say_what_can_be_had() {
    let error = stderr_of_usage_error(&["layout", "DescribeClusters"]);
    assert!(
        error.starts_with("kafkascope: no API is called \"DescribeClusters\"; did you mean DescribeCluster, "),
        "{error}"
    );
    assert_eq!(
        stderr_of_usage_error(&["layout", "Metadata", "--version", "99"]),
        "kafkascope: Metadata has no version 99; known are versions 0-13\n"
    );
    assert_eq!(
        stderr_of_usage_error(&["layout", "OffsetCommitValue"]),
        "kafkascope: OffsetCommitValue is not an API, but a structure of kind coordinator-value; \
         try: kafkascope schema show OffsetCommitValue\n"
    );
    stderr_of_usage_error(&["layout", "Metadata", "--request", "--response"]);
}

#[test]
fn drafts_have_pages() {
    let draft = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/seeds/kip_1073/DescribeClusterResponse.revision-10.json");
    let page = stdout(&["layout", "DescribeCluster", "--response", "--schemas", draft.to_str().unwrap()]);
    assert!(page.contains("+-- Fenced bool = false [0x0021, 1B] Whether the broker is fenced."), "{page}");
}
