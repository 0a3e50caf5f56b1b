//! Kafka's own bytes: `tests/data/oracle`.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use kafkascope::dissect::{Part, Place, Scope, Span, Visitor};
use kafkascope::encode::{self, Collector, Datum};
use kafkascope::protocol::{ApiKey, Catalog, Prefix, Side};
use serde_json::{Value, json};

use crate::support::Subject;

fn lines(gzip: &[u8]) -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text).unwrap();
    // Not `lines`: strings may hold a carriage return at their end.
    text.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|place| u8::from_str_radix(&text[place..place + 2], 16).unwrap()).collect()
}

/// A frame of the oracle, and the message that it is.
struct Line<'c> {
    subject: Subject<'c>,
    key: ApiKey,
    side: Side,
    version: i16,
    frame: Vec<u8>,
    value: Value,
}

impl<'c> Line<'c> {
    fn all(catalog: &'c Catalog, gzip: &[u8]) -> Vec<Self> {
        lines(gzip).into_iter().map(|value| Self::new(catalog, value)).collect()
    }

    fn new(catalog: &'c Catalog, value: Value) -> Self {
        let number = |name: &str| value[name].as_i64().unwrap() as i16;
        let (key, version) = (ApiKey(number("api_key")), number("version"));
        let side = if value["type"] == "request" { Side::Request } else { Side::Response };
        let plan = catalog.api_plan(key, side, version).unwrap();
        assert_eq!(catalog.api(key).unwrap().name, value["api"].as_str().unwrap());
        let header = catalog.header_for(plan, side).unwrap();
        assert_eq!(header.version, number("header_version"), "{} v{version} {}", plan.name, side.word());
        Self { subject: Subject::new(catalog, plan), key, side, version, frame: hex(&value["frame_hex"]), value }
    }
}

#[test]
fn the_smallest_instances_are_kafkas() {
    let catalog = Catalog::builtin();
    let all = Line::all(&catalog, include_bytes!("../data/oracle/minimal.jsonl.gz"));
    assert_eq!(all.len(), 736);
    for line in all {
        let name = line.subject.name();
        let body = encode::encode(line.subject.plan, &encode::minimal(line.subject.plan)).unwrap();
        assert_eq!(body, hex(&line.value["body_hex"]), "{name}");
        let frame = encode::minimal_frame(&catalog, line.key, line.side, line.version);
        assert_eq!(frame.as_ref(), Some(&line.frame), "{name}");
        line.subject.sound(&line.frame, 0).unwrap();
        assert_eq!(line.subject.rewrite(&line.frame), Some(line.frame), "{name}");
    }
}

#[test]
fn messages_are_read_to_their_last_byte_and_written_again() {
    let catalog = Catalog::builtin();
    let all = Line::all(&catalog, include_bytes!("../data/oracle/messages.jsonl.gz"));
    assert_eq!(all.len(), 4440);
    for (index, line) in all.iter().enumerate() {
        let name = format!("line {} {}", index + 1, line.subject.name());
        let (outcome, faults) = line.subject.sound(&line.frame, 0).unwrap();
        assert!(outcome.is_exact(), "{name}: {outcome:?} {faults:?}");
        assert!(line.subject.rewrite(&line.frame).as_ref() == Some(&line.frame), "{name}: written otherwise");
    }
}

#[test]
fn headers_of_messages() {
    let catalog = Catalog::builtin();
    for line in Line::all(&catalog, include_bytes!("../data/oracle/messages.jsonl.gz")) {
        let mut collector = Collector::new();
        line.subject.walk(&line.frame, 0, &mut collector);
        let plan = catalog.header_for(line.subject.plan, line.side).unwrap();
        let mut header = collector.header().unwrap().clone();
        let mut value = |path: &str| header.at_mut(plan, path).cloned();
        let name = line.subject.name();
        assert_eq!(value("correlationId"), line.value["correlation_id"].as_i64().map(Datum::Int), "{name}");
        let client_id = value("clientId").map(|datum| match datum {
            Datum::String(bytes) => json!(bytes.map(|bytes| String::from_utf8(bytes).unwrap())),
            _ => panic!("{name}: a client id that is no string"),
        });
        assert_eq!(client_id.unwrap_or(Value::Null), line.value["client_id"], "{name}");
        if line.side == Side::Request {
            assert_eq!(value("requestApiKey"), Some(Datum::Int(line.key.0.into())), "{name}");
            assert_eq!(value("requestApiVersion"), Some(Datum::Int(line.version.into())), "{name}");
        }
    }
}

#[test]
fn unknown_tagged_fields() {
    let catalog = Catalog::builtin();
    let mut count = 0;
    for line in Line::all(&catalog, include_bytes!("../data/oracle/messages.jsonl.gz")) {
        let mut unknown = UnknownTags::default();
        line.subject.walk(&line.frame, 0, &mut unknown);
        unknown.check(&line.value, &line.subject.name());
        count += unknown.body.len() + unknown.header.len();
    }
    assert!(count > 1000, "there are {count}");
}

#[test]
fn payloads_are_read_to_their_last_byte_and_written_again() {
    let catalog = Catalog::builtin();
    let mut count = 0;
    for line in lines(include_bytes!("../data/oracle/nested.jsonl.gz")) {
        let kind = line["kind"].as_str().unwrap();
        let name = format!("{kind} {} v{}", line["name"], line["version"]);
        // A batch is no message, and the others have no schema file.
        if matches!(kind, "control-batch" | "streams-assignment" | "connect-metadata" | "connect-assignment") {
            continue;
        }
        let version = line["version"].as_i64().unwrap() as i16;
        let Some(plan) = catalog.plan(line["name"].as_str().unwrap(), version) else {
            panic!("{name} has no plan");
        };
        let (subject, bytes) = (Subject::new(&catalog, plan), hex(&line["hex"]));
        let (outcome, faults) = subject.sound(&bytes, 0).unwrap();
        assert!(outcome.is_exact(), "{name}: {outcome:?} {faults:?}");
        assert_eq!(subject.rewrite(&bytes).as_deref(), Some(&*bytes), "{name}");

        let (mut unknown, mut collector) = (UnknownTags::default(), Collector::new());
        subject.walk(&bytes, 0, &mut unknown);
        unknown.check(&line, &name);
        assert_eq!(i64::from(unknown.prefix), line["prefix_bytes"].as_i64().unwrap(), "{name}");
        subject.walk(&bytes, 0, &mut collector);
        let expected = match plan.prefix() {
            Prefix::None => vec![],
            Prefix::Int16("record_type") => vec![line["record_type"].as_i64().unwrap()],
            Prefix::Int16(_) => vec![version.into()],
            Prefix::Uvarints(_) => vec![1, line["record_type"].as_i64().unwrap(), version.into()],
        };
        assert_eq!(collector.prefix(), expected, "{name}");
        assert_eq!(encode::prefix(plan), expected, "{name}");
        count += 1;
    }
    assert!(count > 600, "there are {count}");
}

/// Tagged fields that the schema does not know, in the shape in which the oracle says them.
#[derive(Default)]
struct UnknownTags<'p> {
    header: Vec<Value>,
    body: Vec<Value>,
    /// Bytes in front of a payload.
    prefix: u32,
    in_header: bool,
    trail: Vec<Place<'p>>,
}

impl UnknownTags<'_> {
    fn check(&self, line: &Value, name: &str) {
        for (found, key) in [(&self.body, "unknown"), (&self.header, "header_unknown")] {
            // Ours are in wire order, the oracle's in that of the schema, where tagged structs may stand before others.
            let (mut found, mut expected) = (found.clone(), line[key].as_array().cloned().unwrap_or_default());
            for list in [&mut found, &mut expected] {
                list.sort_by_key(|one| one["path"].as_str().map(str::to_owned));
            }
            assert_eq!(found, expected, "{name}: {key}");
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for place in &self.trail {
            match place {
                Place::Field(field) if path.is_empty() => path.push_str(field.key()),
                Place::Field(field) => path.extend([".", field.key()]),
                Place::Element(_, index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        path
    }
}

impl<'p> Visitor<'p> for UnknownTags<'p> {
    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Header(..) => self.in_header = true,
            Scope::Struct(place, _) | Scope::Array(place, ..) => self.trail.push(place),
            _ => {}
        }
    }

    fn leave(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Header(..) => self.in_header = false,
            Scope::Struct(..) | Scope::Array(..) => drop(self.trail.pop()),
            _ => {}
        }
    }

    fn part(&mut self, part: Part<'_>, span: Span) {
        match part {
            Part::UnknownTag(tag, bytes) => {
                let value = STANDARD.encode(bytes);
                if self.in_header {
                    self.header.push(json!({"tag": tag, "value": value}));
                } else {
                    self.body.push(json!({"path": self.path(), "tag": tag, "value": value}));
                }
            }
            Part::Prefix(..) => self.prefix += span.len,
            _ => {}
        }
    }
}
