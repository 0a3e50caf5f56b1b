//! Payloads inside of messages whose schema is told by the API, the group's protocol type, its assignor or the topic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "counts and lengths of tests are small")]

mod assignors;
mod handwritten;
mod hostile;
#[path = "../common/json.rs"]
mod json;
mod metrics;
mod old_formats;
#[allow(dead_code, reason = "the rest is for the tests of records")]
#[path = "../records/support.rs"]
mod support;

use std::io::Read;

use flate2::read::GzDecoder;
use kafkascope::dissect::{Opening, Tree, dissect_payload, plan_in_front};
use kafkascope::encode::{self, Datum, Instance};
use kafkascope::output::json::{JsonWriter, close_bracket};
use kafkascope::protocol::{ApiKey, Catalog, Plan, Side};

use crate::json::Json;

/// The lines of a file of test data.
fn lines(packed: &[u8]) -> Vec<Json> {
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).unwrap();
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| Json::read(line).unwrap()).collect()
}

/// The payloads of the oracle that are of one of these kinds.
fn oracle(kinds: &[&str]) -> Vec<Json> {
    let all = lines(include_bytes!("../data/oracle/nested.jsonl.gz"));
    all.into_iter().filter(|line| kinds.contains(&line.at("kind").text().unwrap())).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let hex: String = hex.chars().filter(|character| !character.is_whitespace()).collect();
    (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap()).collect()
}

/// Reads a payload alone, checks its tree, and gives its JSON and the number of its faults.
fn alone(catalog: &Catalog, name: &str, payload: &[u8]) -> (Json, usize) {
    let plan = plan_in_front(catalog, name, payload).unwrap_or_else(|| panic!("{name} has no such version"));
    let mut tree = Tree::opened(Opening::new(catalog));
    let outcome = dissect_payload(plan, payload, &mut tree);
    support::check(&tree, payload);
    let mut out = vec![b'{'];
    let mut writer = JsonWriter::new(Opening::new(catalog), &mut out, true);
    dissect_payload(plan, payload, &mut writer);
    assert_eq!(writer.into_faults(), tree.faults());
    close_bracket(&mut out, b'}');
    let json = Json::read(&out).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)));
    assert_eq!(tree.faults().len(), outcome.faults as usize);
    (json, tree.faults().len())
}

/// The body of a message whose fields are the smallest, but for these; its JSON.
fn message(catalog: &Catalog, (key, side, version): (ApiKey, Side, i16), fields: &[(&str, Datum)]) -> (Json, usize) {
    let plan = catalog.api_plan(key, side, version).unwrap();
    let body = instance(plan, fields);
    let frame = encode::frame(catalog, key, side, version, &encode::Header::default(), &body).unwrap();
    let reading = support::reading(catalog, key, side, version);
    support::tree(catalog, &reading, &frame);
    let (json, faults) = support::json(catalog, &reading, &frame);
    (json.at("body").clone(), faults.len())
}

fn instance(plan: &Plan, fields: &[(&str, Datum)]) -> Instance {
    let mut body = encode::minimal(plan);
    for (path, datum) in fields {
        *body.at_mut(plan, path).unwrap_or_else(|| panic!("{} has no {path}", plan.name)) = datum.clone();
    }
    body
}

fn payload(catalog: &Catalog, name: &str, version: i16, fields: &[(&str, Datum)]) -> Vec<u8> {
    let plan = catalog.plan(name, version).unwrap();
    encode::payload(plan, &encode::prefix(plan), &instance(plan, fields)).unwrap()
}

fn blob(value: &[u8]) -> Datum {
    Datum::Bytes(Some(value.to_vec()))
}
