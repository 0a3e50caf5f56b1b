use std::collections::HashSet;

use foldhash::HashMap;

use super::program::Program;
use super::rule::{Condition, Format, Part, Path, Rule};
use super::{MAX_SUMMARY, Summarizer, Summary, rules};
use crate::capture::Time;
use crate::conversation::{Message, Subject};
use crate::dissect::{fit_request, fit_response};
use crate::output::units;
use crate::protocol::{ApiKey, Catalog, Schema, SchemaField, Side, TypeName};
use crate::stream::ConnectionId;

/// The fields of the struct that a field is or holds, wherever its schema describes it.
fn members<'s>(schema: &'s Schema, field: &'s SchemaField) -> &'s [SchemaField] {
    if !field.fields.is_empty() {
        return &field.fields;
    }
    let mut ty = &field.ty;
    while let TypeName::Array(inner) = ty {
        ty = inner;
    }
    let shared = schema.common.iter().find(|shared| ty.struct_name() == Some(&*shared.name));
    shared.map_or(&[], |shared| &shared.fields)
}

fn key(field: &SchemaField) -> String {
    let (first, rest) = field.name.split_at(1);
    first.to_lowercase() + rest
}

/// The field at the end of a path, in any version; the path must go through arrays where it says so.
fn follow<'s>(schema: &'s Schema, mut fields: &'s [SchemaField], path: &Path) -> Option<&'s SchemaField> {
    let mut found = None;
    for name in &path.keys {
        let field = fields.iter().find(|field| key(field) == **name)?;
        fields = members(schema, field);
        found = Some(field);
    }
    let is_array = found.is_some_and(|field| matches!(field.ty, TypeName::Array(_)));
    assert!(!path.elements || is_array, "{path:?} does not end at an array");
    found
}

fn check_parts(schema: &Schema, fields: &[SchemaField], parts: &[Part], blocks: &mut HashSet<String>, line: &str) {
    for part in parts {
        match part {
            Part::Literal(_) => {}
            Part::Optional(inner) => check_parts(schema, fields, inner, blocks, line),
            Part::Value { paths, .. } => {
                for path in paths {
                    assert!(follow(schema, fields, path).is_some(), "{line}: there is no {:?}", path.keys);
                }
            }
            Part::Each(path, rule) => {
                let field = follow(schema, fields, path);
                let field = field.unwrap_or_else(|| panic!("{line}: there is no {:?}", path.keys));
                let inner = members(schema, field);
                assert!(!inner.is_empty(), "{line}: {:?} holds no structs", path.keys);
                assert!(blocks.insert(path.keys.join(".")), "{line}: {:?} has two blocks", path.keys);
                check(schema, inner, rule, line);
            }
        }
    }
}

fn check(schema: &Schema, fields: &[SchemaField], rule: &Rule, line: &str) {
    let mut blocks = HashSet::new();
    for parts in rule.pieces.iter().flatten() {
        check_parts(schema, fields, parts, &mut blocks, line);
    }
}

#[test]
fn every_rule_fits_its_schema() {
    let catalog = Catalog::builtin();
    let mut names = HashSet::new();
    for (name, text) in rules() {
        assert!(names.insert(name), "{name} has two rules");
        let (message, version) = name.split_once(':').map_or((name, None), |(name, version)| (name, Some(version)));
        let schema = catalog.schema(message).unwrap_or_else(|| panic!("there is no {message}"));
        if let Some(version) = version {
            assert!(schema.valid.contains(version.parse().expect("a version")), "{name}");
        }
        let rule = Rule::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        check(schema, &schema.fields, &rule, name);
    }
    for api in catalog.apis() {
        for side in [Side::Request, Side::Response] {
            let name = catalog.api_schema_name(api.key, side).unwrap();
            assert!(names.contains(name), "{name} has no line in schemas/summaries.tsv");
        }
    }
}

#[test]
fn every_rule_can_be_made_ready_for_every_version() {
    let catalog = Catalog::builtin();
    let rules: HashMap<_, _> = rules().collect();
    for api in catalog.apis() {
        for side in [Side::Request, Side::Response] {
            let versions = catalog.api_versions(api.key, side);
            for plan in (versions.first..=versions.last).filter_map(|version| catalog.api_plan(api.key, side, version))
            {
                let program = Program::new(&catalog, plan, &super::rule_of(&rules, plan));
                let slots = program.frames.iter().map(|frame| frame.slots.len()).sum::<usize>();
                let targets = program.scopes.iter().flat_map(|scope| &scope.wanted);
                let fed = targets.map(|wanted| wanted.own.len() + wanted.elements.len()).sum::<usize>();
                let blocks = program.scopes.iter().filter(|scope| scope.opens.is_some()).count();
                // Some placeholder of an alternative that was dropped has a slot all the same.
                assert_eq!(slots, fed + blocks, "{} v{}", plan.name, plan.version);
            }
        }
    }
}

#[test]
fn the_language() {
    let rule =
        Rule::parse("group {groupId}< of {a.b[]/c as size if >= 0}> ?? none | {t: {x}[{y[].z as count row}]}").unwrap();
    assert_eq!(rule.pieces.len(), 2);
    assert_eq!(rule.pieces[0].len(), 2);
    let [Part::Literal(group), Part::Value { .. }, Part::Optional(optional)] = rule.pieces[0][0].as_slice() else {
        panic!("{rule:?}")
    };
    assert_eq!(&**group, "group ");
    let Part::Value { paths, format, condition } = &optional[1] else { panic!("{optional:?}") };
    assert_eq!(paths[0].keys.join("."), "a.b");
    assert!(paths[0].elements && paths[0].many && !paths[1].many);
    assert_eq!((format, condition), (&Format::Size, &Condition::Above(-1)));
    let [Part::Each(path, inner)] = rule.pieces[1][0].as_slice() else { panic!("{rule:?}") };
    assert_eq!(path.keys.join("."), "t");
    let Part::Value { format: Format::Count { one, many }, .. } = &inner.pieces[0][0][2] else { panic!("{inner:?}") };
    assert_eq!((&**one, &**many), ("row", "rows"));

    let deep = "{a: ".repeat(20);
    for wrong in ["{", "{a", "a}", "<a", "a>", "{}", "{a as}", "{a as b}", "{a if}", "{a if b}", "{a as \"b}", &deep] {
        assert!(Rule::parse(wrong).is_err(), "{wrong}");
    }
}

/// The summary of a body of an API's message, with a header in front.
fn summary_of(key: i16, version: i16, side: Side, body: &[u8], gap: u64) -> [String; 3] {
    let catalog = Catalog::builtin();
    let mut frame = vec![0; 4];
    let key = ApiKey(key);
    if side == Side::Request {
        frame.extend_from_slice(&key.0.to_be_bytes());
        frame.extend_from_slice(&version.to_be_bytes());
    }
    frame.extend_from_slice(&[0, 0, 0, 7]);
    if side == Side::Request {
        frame.extend_from_slice(&[0, 1, b'c']);
    }
    frame.extend_from_slice(body);
    let follow = frame.len() as u64 - 4 + gap;
    frame[..4].copy_from_slice(&(follow as u32).to_be_bytes());
    let fit = match side {
        Side::Request => fit_request(&catalog, key, version, &frame, true, gap as u32),
        Side::Response => fit_response(&catalog, key, version, &frame, true, gap as u32),
    };
    let message = Message {
        index: 1,
        time: Time::default(),
        connection: ConnectionId(1),
        client: "127.0.0.1:1".parse().unwrap(),
        broker: "127.0.0.1:2".parse().unwrap(),
        subject: Subject::Api { key: Some(key), version: Some(version), correlation: Some(7) },
        client_id: None,
        frame: &frame,
        reading: fit.reading,
        assumed: fit.assumed,
        guessed: false,
        gap,
        packets: &[1],
        pieces: &[],
        tls: None,
        stream_offset: 0,
        request: Some(crate::conversation::Exchange { request: 1, latency: 0 }),
        topics: &crate::dissect::TopicNames::default(),
        names: &crate::capture::Names::default(),
    };
    let mut summarizer = Summarizer::new(&catalog);
    // Twice: nothing of one message may be left when the next one comes.
    let first = summarizer.summarize(&message);
    let texts = |summary: Summary<'_>| [summary.errors, summary.text, summary.notes].map(str::to_owned);
    let first = texts(first);
    assert_eq!(first, texts(summarizer.summarize(&message)));
    first
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes(), text].concat()
}

fn count(count: u32) -> Vec<u8> {
    count.to_be_bytes().to_vec()
}

#[test]
fn a_list_of_texts_is_limited() {
    let topics = |number: u32| {
        let names = (0..number).flat_map(|index| string(format!("t{index}").as_bytes()));
        count(number).into_iter().chain(names).collect::<Vec<u8>>()
    };
    let summary = |number| summary_of(3, 1, Side::Request, &topics(number), 0)[1].clone();
    assert_eq!(summary(4), "topics: t0, t1, t2, t3");
    assert_eq!(summary(16), "topics: t0, t1, t2, t3, +12");
    assert_eq!(summary(0), "no topics");
    assert_eq!(summary_of(3, 1, Side::Request, &count(u32::MAX), 0)[1], "all topics");
    // Version 0 had no null: none meant all.
    assert_eq!(summary_of(3, 0, Side::Request, &topics(0), 0)[1], "all topics");
}

/// Index, error code and base offset.
type Partition = (u32, i16, i64);

/// The body of a response to Produce v0.
fn produced(topics: &[(&str, &[Partition])]) -> Vec<u8> {
    let mut body = count(topics.len() as u32);
    for (name, partitions) in topics {
        body.extend(string(name.as_bytes()));
        body.extend(count(partitions.len() as u32));
        for (index, error, offset) in *partitions {
            body.extend(count(*index));
            body.extend(error.to_be_bytes());
            body.extend(offset.to_be_bytes());
        }
    }
    body
}

#[test]
fn errors_are_told_by_name_and_place() {
    let body = produced(&[("orders", &[(1, 6, -1)])]);
    assert_eq!(summary_of(0, 0, Side::Response, &body, 0), ["orders[1]: NOT_LEADER_OR_FOLLOWER", "", ""]);
    let body = produced(&[("orders", &[(0, 6, -1), (1, 6, -1), (2, 0, 40), (3, 10, -1)]), ("pay", &[(7, 6, -1)])]);
    let [errors, text, _] = summary_of(0, 0, Side::Response, &body, 0);
    assert_eq!(errors, "orders[0,1], pay[7]: NOT_LEADER_OR_FOLLOWER, orders[3]: MESSAGE_TOO_LARGE");
    assert_eq!(text, "orders[2]: offset 40");
    let body = produced(&[("orders", &[(1, 12345, -1)])]);
    assert_eq!(summary_of(0, 0, Side::Response, &body, 0)[0], "orders[1]: error 12345");
    // Heartbeat: nothing but an error code.
    assert_eq!(summary_of(12, 0, Side::Response, &[0, 27], 0), ["REBALANCE_IN_PROGRESS", "", ""]);
    assert_eq!(summary_of(12, 0, Side::Response, &[0, 0], 0), ["", "ok", ""]);
}

#[test]
fn many_errors_are_counted() {
    let partitions: Vec<_> = (0..1000).map(|index| (index * 2, 6, -1)).collect();
    let names: Vec<String> = (0..100).map(|index| format!("topic-{index}")).collect();
    let topics: Vec<_> = names.iter().map(|name| (name.as_str(), partitions.as_slice())).collect();
    let [errors, ..] = summary_of(0, 0, Side::Response, &produced(&topics), 0);
    assert_eq!(
        errors,
        "topic-0[0,2,4,6,8,10,+994], topic-1[0,2,4,6,8,10,+994], topic-2[0,2,4,6,8,10,+994], +97000: \
         NOT_LEADER_OR_FOLLOWER"
    );
}

#[test]
fn throttling_is_told_of_every_response() {
    // Heartbeat v1: throttle time, error code.
    assert_eq!(summary_of(12, 1, Side::Response, &[0, 0, 1, 244, 0, 0], 0)[1], "throttled 500 ms");
}

#[test]
fn fetch_sessions_are_told() {
    // Fetch v7 (KIP-227): replica, wait, least and most bytes, isolation, session id and epoch, topics, forgotten topics.
    let request = |session: u32, epoch: i32, is_asking: bool| {
        let mut body = [&[0xff; 4], [0; 8].as_slice(), &[0x7f, 0, 0, 0, 0]].concat();
        body.extend(count(session));
        body.extend(epoch.to_be_bytes());
        body.extend(count(is_asking.into()));
        if is_asking {
            body.extend([string(b"orders"), count(1), count(0)].concat());
            body.extend([12_i64.to_be_bytes(), (-1_i64).to_be_bytes()].concat());
            body.extend(count(1 << 20));
        }
        body.extend(count(0));
        summary_of(1, 7, Side::Request, &body, 0)[1].clone()
    };
    assert_eq!(request(0, 0, true), "orders[0] from 12, full fetch");
    assert_eq!(request(123, 4, true), "orders[0] from 12, session 123 #4");
    assert_eq!(request(123, 5, false), "nothing new, session 123 #5");
    assert_eq!(request(123, 0, true), "orders[0] from 12, full fetch instead of session 123");
    assert_eq!(request(123, -1, false), "end of session 123");
    // Clients that know no sessions.
    assert_eq!(request(0, -1, true), "orders[0] from 12");
    // Throttle time, error, session, topics.
    let response = [count(0), vec![0, 0], count(123), count(0)].concat();
    assert_eq!(summary_of(1, 7, Side::Response, &response, 0), ["", "nothing new, session 123", ""]);
}

#[test]
fn text_from_the_wire_is_made_safe_and_short() {
    let mut body = count(2);
    body.extend(string(b"a\x1b[31m\n\xff\\"));
    body.extend(string("b\u{202e}\u{85}é".as_bytes()));
    assert_eq!(summary_of(3, 1, Side::Request, &body, 0)[1], r"topics: a\x1b[31m\n\xff\\, b\u{202e}\u{85}é");
    let mut body = count(30);
    (0..30).for_each(|_| body.extend(string("\u{1b}é".repeat(5000).as_bytes())));
    let [_, text, _] = summary_of(3, 1, Side::Request, &body, 0);
    assert!(text.chars().count() <= MAX_SUMMARY, "{text}");
    assert!(text.ends_with("…, +26"), "{text}");
    let partitions = vec![(3, 6, -1)];
    let name = "x".repeat(30_000);
    let [errors, ..] = summary_of(0, 0, Side::Response, &produced(&[(&name, &partitions)]), 0);
    assert_eq!(errors, format!("{}…[3]: NOT_LEADER_OR_FOLLOWER", "x".repeat(47)));
}

#[test]
fn what_is_odd_is_noted() {
    let mut body = count(1);
    body.extend([1, 156]);
    body.extend(b"abcdefghijkl");
    let at = 4 + 8 + 3 + 4;
    let note = format!("fault at 0x{at:04x}: length 412 of 12 left");
    assert_eq!(summary_of(3, 1, Side::Request, &body, 0), ["", "", note.as_str()]);
    // What was not read may have been there: nothing is said of it.
    assert_eq!(summary_of(12, 1, Side::Response, &[0, 0, 0], 3), ["", "", "3 B missing"]);
    assert_eq!(summary_of(12, 0, Side::Response, &[0, 0, 9], 0), ["", "ok", "1 B too many"]);
    assert_eq!(summary_of(4711, 0, Side::Request, &[1, 2], 0)[2], "unknown API or version, 2 B undecoded");
    // A newer version than any known, in the form of the newest that fits.
    assert_eq!(summary_of(12, 99, Side::Response, &[0, 0, 0, 0, 0, 0, 0, 0], 0)[2], "read as v4");
}

#[test]
fn secrets_are_told_by_their_size() {
    // SaslAuthenticate v0.
    let body = [count(9), b"\0al\0s3cret".get(..9).unwrap().to_vec()].concat();
    assert_eq!(summary_of(36, 0, Side::Request, &body, 0), ["", "9 B token", ""]);
}

#[test]
fn units_are_readable() {
    let text = |write: fn(&mut String, u64), number| {
        let mut text = String::new();
        write(&mut text, number);
        text
    };
    assert_eq!(text(units::bytes, 0), "0 B");
    assert_eq!(text(units::bytes, 1023), "1023 B");
    assert_eq!(text(units::bytes, 1024), "1.0 KiB");
    assert_eq!(text(units::bytes, 1024 * 1024 - 1), "1.0 MiB");
    assert_eq!(text(units::bytes, u64::MAX), "16.0 EiB");
    assert_eq!(text(units::grouped, 1_234_567), "1,234,567");
    assert_eq!(text(units::short_bytes, 99_999), "99999");
    assert_eq!(text(units::short_bytes, 100 << 20), "100.0M");
    let milliseconds = |number| {
        let mut text = String::new();
        units::milliseconds(&mut text, number);
        text
    };
    assert_eq!(milliseconds(500), "500 ms");
    assert_eq!(milliseconds(1500), "1.5 s");
    assert_eq!(milliseconds(30_000), "30 s");
    assert_eq!(milliseconds(300_000), "5 min");
    assert_eq!(milliseconds(86_399_096), "23 h 59 min");
    assert_eq!(milliseconds(604_800_000), "7 d");
    assert_eq!(milliseconds(i64::MIN), "-106751991167 d 7 h");
    let latency = |number| {
        let mut text = String::new();
        units::latency(&mut text, number);
        text
    };
    assert_eq!(latency(749_000), "0.7 ms");
    assert_eq!(latency(999_960_000), "1.0 s");
    assert_eq!(latency(-1_500_000), "-1.5 ms");
    assert_eq!(latency(100_000), "0.1 ms");
    assert_eq!(latency(45_499), "45 µs");
    assert_eq!(latency(-45_500), "-46 µs");
    assert_eq!(latency(-499), "0 µs");
    assert_eq!(latency(0), "0 µs");
    assert_eq!(latency(-10_800_000_000_000), "-180.0 min");
    assert_eq!(latency(i64::MIN), "-153722867.3 min");
    assert_eq!(latency(3_600_000_000_000), "60.0 min");
    let mut time = String::new();
    units::time(&mut time, 1_700_000_000_123);
    assert_eq!(time, "2023-11-14T22:13:20.123Z");
}
