//! Bytes as a message of an API and version that the input chooses, or as a payload.

use kafkascope::dissect::{Deaf, Known, Node, Outcome, Part, Reading, Tree, Visitor, What, dissect};
use kafkascope::dissect::{dissect_payload, dissect_records, fit_request, fit_response, word};
use kafkascope::encode::{self, Collector};
use kafkascope::output::describe::Describer;
use kafkascope::output::json::{JsonWriter, close_bracket};
use kafkascope::output::ndjson;
use kafkascope::output::tree_json::write_nodes;
use kafkascope::output::tree_text::{TreeOptions, write_tree};
use kafkascope::protocol::{Catalog, Plan, Side};

use super::{check_json, check_text};

/// How bytes are read.
pub(super) enum Way<'p> {
    Message(Reading<'p>),
    Payload(&'p Plan),
    Records,
}

/// The first four bytes choose message, version, the way of reading, and how many bytes are missing or what is known from
/// outside.
pub fn run(data: &[u8]) {
    let Some((&[message, version, flags, choice], bytes)) = data.split_first_chunk() else { return };
    let catalog = super::catalog();
    if flags & 4 != 0 {
        let names: Vec<_> = catalog.names().collect();
        let index = usize::from(message) + usize::from(flags >> 7) * 256;
        let name = names[index % names.len()];
        let versions = catalog.versions(name);
        let count = i32::from(versions.last) - i32::from(versions.first) + 1;
        let version = i32::from(versions.first) + i32::from(version) % count.max(1);
        if let Some(plan) = catalog.plan(name, version as i16) {
            check(catalog, &Way::Payload(plan), bytes);
        }
        return;
    }
    let apis = catalog.apis();
    // One more than there are, and two versions more: what is not known is to be read, too.
    let api = apis.get(usize::from(message) % (apis.len() + 1));
    let key = api.map_or(kafkascope::protocol::ApiKey(i16::MAX), |api| api.key);
    let (side, sized) = (if flags & 1 == 0 { Side::Request } else { Side::Response }, flags & 2 == 0);
    let versions = catalog.api_versions(key, side);
    let version = i16::from(version) % (versions.last.max(0) + 3);
    let missing = if flags & 8 == 0 { 0 } else { u32::from(choice) };
    let mut fit = match side {
        Side::Request => fit_request(catalog, key, version, bytes, sized, missing),
        Side::Response => fit_response(catalog, key, version, bytes, sized, missing),
    };
    if flags & 16 != 0 {
        fit.reading.known = known(choice);
    }
    check(catalog, &Way::Message(fit.reading), bytes);
}

/// What a request or connection may have said.
fn known(choice: u8) -> Known {
    let mechanisms = ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI"];
    Known {
        mechanism: word(mechanisms[usize::from(choice) % mechanisms.len()].as_bytes()),
        protocol_type: word(b"consumer"),
        protocol_name: word(b"range"),
        enveloped: Some((kafkascope::protocol::ApiKey(i16::from(choice >> 2)), 1)),
    }
}

fn walk<'p>(way: &Way<'p>, bytes: &[u8], visitor: &mut impl Visitor<'p>) -> Outcome {
    match way {
        Way::Message(reading) => dissect(reading, bytes, visitor),
        Way::Payload(plan) => dissect_payload(plan, bytes, visitor),
        Way::Records => dissect_records(bytes, visitor),
    }
}

/// All readers of the walk agree, the leaves tile the bytes, what is printed is sound, and what is whole can be written again.
pub(super) fn check(catalog: &Catalog, way: &Way<'_>, bytes: &[u8]) {
    let mut closed = Tree::new();
    let outcome = walk(way, bytes, &mut closed);
    assert_eq!(walk(way, bytes, &mut Deaf), outcome);
    check_tree(&closed, &outcome, bytes);
    if outcome.is_exact() {
        check_rewrite(way, bytes);
    }
    let mut tree = Tree::opened(super::opening(catalog));
    let outcome = walk(way, bytes, &mut tree);
    check_tree(&tree, &outcome, bytes);
    print(catalog, way, &tree, bytes);
}

fn check_tree(tree: &Tree<'_>, outcome: &Outcome, bytes: &[u8]) {
    let buffers: Vec<&[u8]> = [bytes].into_iter().chain(tree.buffers().iter().map(Vec::as_slice)).collect();
    let mut ends = vec![0; buffers.len()];
    for node in tree.nodes() {
        let end = &mut ends[node.span.buffer as usize];
        assert!(node.span.end() as usize <= buffers[node.span.buffer as usize].len(), "outside: {node:?}");
        if node.is_leaf() {
            assert_eq!(node.span.start, *end, "the leaves do not tile: {node:?}");
            *end = node.span.end();
        }
    }
    for (end, buffer) in ends.iter().zip(&buffers) {
        assert_eq!(*end as usize, buffer.len(), "bytes without a leaf at the end");
    }
    let inflated: usize = buffers.iter().skip(1).map(|buffer| buffer.len()).sum();
    assert!(inflated <= 1 << 20, "more is inflated than allowed");
    assert_eq!(tree.faults().len(), outcome.faults as usize);
    let undecoded = |node: &&Node<'_>| matches!(node.what, What::Part(Part::Undecoded(_)));
    assert_eq!(tree.nodes().iter().any(|node| undecoded(&node)), outcome.undecoded > 0);
}

fn print(catalog: &Catalog, way: &Way<'_>, tree: &Tree<'_>, bytes: &[u8]) {
    let describer = Describer {
        catalog,
        tree,
        frame: bytes,
        title: ("Message", "message"),
        sample: false,
        show_secrets: false,
        topics: None,
    };
    let mut text = String::new();
    write_tree(&mut text, &describer, TreeOptions::default());
    assert_eq!(text.lines().count(), tree.nodes().len(), "a line a node");
    check_text(&text);

    let mut json = Vec::new();
    write_nodes(&mut json, &describer);
    json.push(b'\n');
    check_json(&json);

    for show_secrets in [false, true] {
        json.clear();
        let is_array = matches!(way, Way::Records);
        json.extend_from_slice(if is_array { b"{\"records\":[" } else { b"{" });
        let writer = JsonWriter::new(super::opening(catalog), &mut json, show_secrets);
        let mut writer = if is_array { writer.in_array() } else { writer };
        let outcome = walk(way, bytes, &mut writer);
        let faults = writer.into_faults();
        assert_eq!(faults.len(), outcome.faults as usize);
        if is_array {
            close_bracket(&mut json, b']');
            json.push(b',');
        }
        ndjson::faults(&mut json, &faults);
        close_bracket(&mut json, b'}');
        json.push(b'\n');
        check_json(&json);
    }
}

/// What is written again may have other bytes (a length in more bytes than it needs), but means the same.
fn check_rewrite(way: &Way<'_>, bytes: &[u8]) {
    let Some(written) = rewrite(way, bytes) else { return };
    assert!(written.len() <= bytes.len(), "{} bytes were written again as {}", bytes.len(), written.len());
    assert_eq!(rewrite(way, &written).as_ref(), Some(&written), "written differently the second time");
}

fn rewrite(way: &Way<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut collector = Collector::new();
    assert!(walk(way, bytes, &mut collector).is_exact(), "not exact any more");
    match way {
        Way::Payload(plan) => encode::payload(plan, collector.prefix(), collector.body()?).ok(),
        Way::Message(Reading { sized: true, header: Some(header), body: Some(body), .. }) => {
            encode::frame_of_parts((header, collector.header()?), (body, collector.body()?)).ok()
        }
        Way::Message(_) | Way::Records => None,
    }
}
