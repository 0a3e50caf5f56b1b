//! Bytes from the tests of other projects, held against what an independent decoder made of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kafkascope::dissect::{Fit, Outcome, Tree, dissect, fit_request, fit_response};
use kafkascope::encode::{Collector, Datum, Instance, Tagged, frame_of_parts};
use kafkascope::explain::{Finding, Hint, explain};
use kafkascope::protocol::{ApiKey, Catalog, Plan, Side, Struct, Type};
use serde_json::Value;

fn shared(folder: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let found = ["../shared", "../../shared"].iter().map(|shared| root.join(shared).join(folder)).find(|p| p.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: there is no folder ../shared/{folder}");
    }
    found
}

/// An entry of a file of fixtures.
struct Fixture {
    /// File and line.
    at: String,
    entry: Value,
    bytes: Vec<u8>,
}

fn fixtures() -> Option<Vec<Fixture>> {
    let mut paths: Vec<_> = fs::read_dir(shared("fixtures")?).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        for (number, line) in fs::read_to_string(&path).unwrap().split_terminator('\n').enumerate() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let bytes = hex(entry["hex"].as_str().unwrap_or_default());
            all.push(Fixture { at: format!("{file}:{}", number + 1), entry, bytes });
        }
    }
    Some(all)
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|place| u8::from_str_radix(&text[2 * place..2 * place + 2], 16).unwrap()).collect()
}

impl Fixture {
    fn text(&self, key: &str) -> &str {
        self.entry[key].as_str().unwrap_or_default()
    }

    fn side(&self) -> Option<Side> {
        match self.text("direction") {
            "request" => Some(Side::Request),
            "response" => Some(Side::Response),
            _ => None,
        }
    }

    /// API, version and side, where they are known.
    fn message(&self) -> Option<(ApiKey, i16, Side)> {
        let number = |key: &str| i16::try_from(self.entry[key].as_i64()?).ok();
        Some((ApiKey(number("api_key")?), number("version")?, self.side()?))
    }

    /// The frame, and whether its size stands in front. A bare body gets a header in front; a bare message set none.
    fn frame(&self, catalog: &Catalog) -> Option<(Vec<u8>, bool)> {
        let (key, version, side) = self.message()?;
        let framing = self.text("framing");
        if framing.starts_with("size+") {
            return Some((self.bytes.clone(), true));
        }
        match framing {
            "header+body" | "correlation+body" => Some((self.bytes.clone(), false)),
            "body" => {
                let mut frame = match side {
                    Side::Request => {
                        [&key.0.to_be_bytes()[..], &version.to_be_bytes(), &[0, 0, 0, 7, 0xff, 0xff]].concat()
                    }
                    Side::Response => vec![0, 0, 0, 7],
                };
                let plan = catalog.api_plan(key, side, version)?;
                let header = catalog.header_for(plan, side)?;
                frame.resize(frame.len() + usize::from(header.top().flexible), 0);
                frame.extend(&self.bytes);
                Some((frame, false))
            }
            _ => None,
        }
    }
}

fn fit<'p>(catalog: &'p Catalog, (key, version, side): (ApiKey, i16, Side), frame: &[u8], sized: bool) -> Fit<'p> {
    match side {
        Side::Request => fit_request(catalog, key, version, frame, sized, 0),
        Side::Response => fit_response(catalog, key, version, frame, sized, 0),
    }
}

/// Where Kafka's schema and a fixture or the other decoder disagree; Kafka's schema wins.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("sarama.jsonl:184", UNSUPPORTED_VERSION),
    ("sarama.jsonl:185", UNSUPPORTED_VERSION),
    ("sarama.jsonl:186", UNSUPPORTED_VERSION),
];
const UNSUPPORTED_VERSION: &str =
    "ApiVersions with error 35 has the form of version 0 whatever was asked (KIP-511); the other decoder does not know";

#[test]
fn other_projects_bytes() {
    let Some(all) = fixtures() else { return };
    let catalog = Catalog::builtin();
    let exceptions: BTreeMap<_, _> = EXCEPTIONS.into_iter().collect();
    let mut used = BTreeSet::new();
    let (mut known, mut exact, mut compared, mut refused, mut values) = (0, 0, 0, 0, Matches::default());
    let mut problems = Vec::new();
    for fixture in &all {
        let (Some(message), Some((frame, sized))) = (fixture.message(), fixture.frame(&catalog)) else { continue };
        known += 1;
        let fit = fit(&catalog, message, &frame, sized);
        let (mut tree, mut collector) = (Tree::new(), Collector::new());
        let outcome = dissect(&fit.reading, &frame, &mut tree);
        assert_eq!(dissect(&fit.reading, &frame, &mut collector), outcome);
        exact += usize::from(outcome.is_exact());
        let kmsg = &fixture.entry["kmsg"];
        let problem = if kmsg["ok"] == true && kmsg["roundtrip"] == true {
            compared += 1;
            compare(&fit, outcome, &tree, &collector, &frame, &kmsg["decoded"], &mut values).err()
        } else if !fixture.entry["error"].is_null() || kmsg["ok"] == false {
            refused += 1;
            (outcome.is_exact() && fit.reading.body.is_some()).then(|| "taken whole, refused by others".to_owned())
        } else {
            None
        };
        match (problem, exceptions.get(&*fixture.at)) {
            (None, Some(reason)) => problems.push(format!("{}: no exception any more: {reason}", fixture.at)),
            (Some(_), Some(_)) => drop(used.insert(fixture.at.as_str())),
            (Some(problem), None) => {
                problems.push(format!(
                    "{} {} {message:?} {}: {problem}",
                    fixture.at,
                    fixture.text("name"),
                    fixture.text("framing")
                ));
            }
            (None, None) => {}
        }
    }
    eprintln!(
        "{} fixtures, {known} of a known API and version; {exact} exact, {compared} compared with another decoder \
         ({} values by name, {} by value), {refused} refused by others, {} exceptions",
        all.len(),
        values.by_name,
        values.by_value,
        used.len()
    );
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert_eq!(used.len(), exceptions.len(), "exceptions of fixtures that are not there");
}

/// How fields were found in what the other decoder said.
#[derive(Default)]
struct Matches {
    by_name: usize,
    by_value: usize,
}

fn compare(
    fit: &Fit<'_>,
    outcome: Outcome,
    tree: &Tree<'_>,
    collector: &Collector,
    frame: &[u8],
    decoded: &Value,
    matches: &mut Matches,
) -> Result<(), String> {
    if !outcome.is_exact() {
        return Err(format!("{outcome:?} {:?}", tree.faults()));
    }
    let plan = fit.reading.body.ok_or("no plan")?;
    let body = collector.body().ok_or("no body")?;
    let header = (fit.reading.header.unwrap(), collector.header().unwrap());
    let written = frame_of_parts(header, (plan, body)).map_err(|error| error.to_string())?;
    let skipped = if fit.reading.sized { 0 } else { 4 };
    if written[skipped..] != *frame {
        return Err("written differently".to_owned());
    }
    same_struct(plan, plan.top(), body, decoded, matches)
}

/// The fields of a struct, each against the one of its name, or else against any that is left and has the same value.
fn same_struct(
    plan: &Plan,
    of: &Struct,
    instance: &Instance,
    decoded: &Value,
    matches: &mut Matches,
) -> Result<(), String> {
    let Value::Object(members) = decoded else { return Err(format!("a struct, not {decoded}")) };
    let untagged = plan.untagged(of).iter().zip(&instance.fields);
    let tagged = instance.tagged.iter().filter_map(|tagged| match tagged {
        Tagged::Known(tag, datum) => Some((plan.tagged_field(of, *tag)?, datum)),
        Tagged::Unknown(..) => None,
    });
    let mut left: BTreeMap<String, &Value> = members
        .iter()
        .filter(|(key, _)| *key != "UnknownTags")
        .map(|(key, value)| (key.to_lowercase(), value))
        .collect();
    let mut unnamed = Vec::new();
    for (field, datum) in untagged.chain(tagged) {
        match left.remove(&field.name.to_lowercase()) {
            Some(value) => {
                same(plan, field.ty, datum, value, matches).map_err(|error| format!("{}: {error}", field.name))?;
                matches.by_name += 1;
            }
            None => unnamed.push((field, datum)),
        }
    }
    for (field, datum) in unnamed {
        let fits = |value: &Value| same(plan, field.ty, datum, value, &mut Matches::default()).is_ok();
        let key = left.iter().find(|(_, value)| fits(value)).map(|(key, _)| key.clone());
        let key = key.ok_or_else(|| format!("{}: {datum:?} is nowhere in {left:?}", field.name))?;
        same(plan, field.ty, datum, left[&key], matches)?;
        left.remove(&key);
        matches.by_value += 1;
    }
    for tagged in &instance.tagged {
        if let Tagged::Unknown(tag, bytes) = tagged
            && decoded["UnknownTags"][tag.to_string()] != hex_text(bytes)["hex:".len()..]
        {
            return Err(format!("tag {tag}: {bytes:02x?} is not {}", decoded["UnknownTags"]));
        }
    }
    Ok(())
}

fn hex_text(bytes: &[u8]) -> String {
    bytes.iter().fold("hex:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn same(plan: &Plan, ty: Type, datum: &Datum, value: &Value, matches: &mut Matches) -> Result<(), String> {
    let equal = match (datum, ty) {
        (Datum::Bool(flag), _) => value == &Value::Bool(*flag),
        (Datum::Int(number), _) => value.as_i64() == Some(*number),
        (Datum::Float(number), _) => value.as_f64() == Some(*number),
        (Datum::Uuid(bytes), _) => value == &Value::String(hex_text(bytes)),
        (Datum::String(Some(text)), _) => value.as_str().map(str::as_bytes) == Some(text),
        (Datum::Bytes(Some(bytes)) | Datum::Records(Some(bytes)), _) => {
            let is_empty = bytes.is_empty() && value.is_null();
            is_empty || value == &Value::String(hex_text(bytes)) || value == &Value::String(STANDARD.encode(bytes))
        }
        (Datum::Struct(Some(instance)), Type::Struct(id)) => {
            return same_struct(plan, plan.structure(id), instance, value, matches);
        }
        (Datum::Array(Some(elements)), Type::Array(id) | Type::CompactArray(id)) => {
            let none = Vec::new();
            let others =
                if elements.is_empty() && value.is_null() { &none } else { value.as_array().ok_or("no array")? };
            if others.len() != elements.len() {
                return Err(format!("{} elements, not {}", elements.len(), others.len()));
            }
            for (element, other) in elements.iter().zip(others) {
                same(plan, plan.element(id).ty, element, other, matches)?;
            }
            true
        }
        // The other decoder has no null for strings that are not nullable there, and none for arrays.
        (Datum::String(None), _) => value.is_null() || value == "",
        (_, _) => value.is_null(),
    };
    if equal { Ok(()) } else { Err(format!("{datum:?} is not {value}")) }
}

/// Whatever the bytes are, they are explained to the last one, and a request that others could read is found to be one.
#[test]
fn other_projects_bytes_explained() {
    let Some(all) = fixtures() else { return };
    let catalog = Catalog::builtin();
    let (mut requests, mut responses, mut found_of) = (0, 0, 0);
    let mut problems = Vec::new();
    for fixture in &all {
        for hint in [Hint::None, Hint::Request] {
            let ends: Vec<_> = explain(&catalog, &fixture.bytes, &hint).unwrap().map(|part| part.end).collect();
            assert_eq!(ends.last().copied().unwrap_or_default(), fixture.bytes.len(), "{}", fixture.at);
        }
        if fixture.entry["kmsg"]["roundtrip"] != true || fixture.text("framing") == "body" {
            continue;
        }
        let Some((key, version, side)) = fixture.message() else { continue };
        if EXCEPTIONS.iter().any(|(at, _)| *at == fixture.at) {
            continue;
        }
        let hint = match side {
            Side::Request => Hint::None,
            Side::Response => Hint::ResponseOf(key, Some(version)),
        };
        let findings: Vec<_> = explain(&catalog, &fixture.bytes, &hint).unwrap().collect();
        match (&findings[0].finding, side) {
            (Finding::Message { key: found, version: in_version, .. }, Side::Request)
                if (*found, *in_version) == (key, version) =>
            {
                requests += 1;
            }
            (Finding::Message { fit, .. }, Side::Response)
                if dissect(&fit.reading, &fixture.bytes, &mut Tree::new()).is_exact() =>
            {
                responses += 1;
            }
            (finding, _) => problems.push(format!("{} {key:?} v{version} {}: {finding:?}", fixture.at, side.word())),
        }
        // Without a hint, what is said of a response is true, if anything is said.
        if side == Side::Response {
            match &explain(&catalog, &fixture.bytes, &Hint::None).unwrap().next().unwrap().finding {
                Finding::Message { key: found, fit, .. } if *found == key && fit.reading.side == side => found_of += 1,
                Finding::Ambiguous(plans, _) if plans.iter().any(|plan| plan.api_key == Some(key.0)) => found_of += 1,
                finding => problems.push(format!("{} {key:?} v{version} without a hint: {finding:?}", fixture.at)),
            }
        }
    }
    eprintln!("{requests} requests and {responses} responses explained; {found_of} responses without a hint");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Fetch responses of version 0 as brokers of 0.8.2 and 0.9.0 sent them, without their size.
#[test]
fn fetch_responses_of_old_brokers() {
    let Some(folder) = shared("real/kafka-rust__kafka-rust") else { return };
    let catalog = Catalog::builtin();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.contains(".kafka.0") {
            continue;
        }
        count += 1;
        let bytes = fs::read(&path).unwrap();
        let hint = Hint::ResponseOf(ApiKey::FETCH, Some(0));
        let findings: Vec<_> = explain(&catalog, &bytes, &hint).unwrap().collect();
        let Finding::Message { version: 0, fit, .. } = &findings[0].finding else { panic!("{name}") };
        let mut collector = Collector::new();
        assert!(dissect(&fit.reading, &bytes, &mut collector).is_exact(), "{name}");
        let plan = fit.reading.body.unwrap();
        let mut body = collector.body().unwrap().clone();
        let topic = body.at_mut(plan, "responses[0].topic").cloned();
        assert!(matches!(&topic, Some(Datum::String(Some(text))) if text.ends_with(b"-topic")), "{name}: {topic:?}");
        assert_eq!(body.at_mut(plan, "responses[0].partitions[0].errorCode").cloned(), Some(Datum::Int(0)), "{name}");
    }
    assert_eq!(count, 6);
}
