//! Payloads that were cut, changed or made to hurt: nothing panics, every byte keeps its place, JSON stays JSON.

use kafkascope::dissect::{FaultKind, Opening, Part, Tree, What, dissect_payload};
use kafkascope::encode::Datum;
use kafkascope::protocol::{ApiKey, Catalog, Side};

use crate::{alone, blob, bytes, lines, message, support};

/// Small payloads of each format that Kafka has no schema file for, and of some that it has.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let mut samples = Vec::new();
    for (kind, name) in [
        ("connect-metadata", "ConnectMetadata"),
        ("connect-assignment", "ConnectAssignment"),
        ("streams-assignment", "AssignmentInfo"),
        ("streams-subscription", "SubscriptionInfoData"),
    ] {
        let mut versions = Vec::new();
        for line in crate::oracle(&[kind]) {
            let payload = bytes(line.at("hex").text().unwrap());
            if !versions.contains(&line.at("version").int()) && payload.len() < 400 {
                versions.push(line.at("version").int());
                samples.push((name, payload));
            }
        }
    }
    samples.push(("StickyAssignorUserData", bytes("00000001 0001 74 00000002 00000000 00000005 00000007")));
    let metrics = lines(include_bytes!("../data/otlp/metrics.jsonl.gz"));
    let metrics = metrics.iter().map(|line| bytes(line.at("hex").text().unwrap()));
    samples.extend(
        metrics.filter(|payload| (100..700).contains(&payload.len())).take(12).map(|payload| ("MetricsData", payload)),
    );
    assert!(samples.len() > 30, "{}", samples.len());
    samples
}

#[test]
fn every_beginning() {
    let catalog = Catalog::builtin();
    for (name, payload) in samples() {
        // Before the version is there, nothing is known.
        for length in 4..payload.len() {
            let (_, faults) = alone(&catalog, name, &payload[..length]);
            // Protocol Buffers may end behind any field.
            assert!(faults > 0 || matches!(name, "MetricsData" | "StickyAssignorUserData"), "{name} {length}");
        }
    }
}

#[test]
fn every_byte_changed() {
    let catalog = Catalog::builtin();
    for (name, payload) in samples() {
        // The version in front stays.
        for place in 4..payload.len() {
            for mask in [0x01, 0x06, 0x80] {
                let mut changed = payload.clone();
                changed[place] ^= mask;
                alone(&catalog, name, &changed);
            }
        }
    }
}

#[test]
fn noise() {
    let catalog = Catalog::builtin();
    let mut generator = fastrand::Rng::with_seed(714);
    for _ in 0..800 {
        // Small numbers are likely to be keys and lengths.
        let most = if generator.bool() { 0x30 } else { 0xff };
        let noise: Vec<u8> = (0..generator.usize(..120)).map(|_| generator.u8(..=most)).collect();
        alone(&catalog, "MetricsData", &noise);
        for codec in 0..5 {
            let fields = [("compressionType", Datum::Int(codec)), ("metrics", blob(&noise))];
            message(&catalog, (ApiKey(72), Side::Request, 0), &fields);
        }
    }
}

fn faults(catalog: &Catalog, payload: &[u8]) -> Vec<FaultKind> {
    let mut tree = Tree::opened(Opening::new(catalog));
    dissect_payload(catalog.plan("MetricsData", 0).unwrap(), payload, &mut tree);
    support::check(&tree, payload);
    tree.faults().iter().map(|fault| fault.kind).collect()
}

/// A field of Protocol Buffers with bytes.
fn sized(number: u8, inside: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = inside.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(inside);
    field
}

/// Values that hold values: bounded, whatever the depth.
#[test]
fn depth_is_bounded() {
    let catalog = Catalog::builtin();
    for depth in [5, 100, 20_000] {
        // AnyValue -> ArrayValue -> AnyValue …
        let value = (0..depth).fold(sized(1, b"x"), |inner, _| sized(5, &sized(1, &inner)));
        let attribute = sized(1, &[sized(1, b"k"), sized(2, &value)].concat());
        let payload = sized(1, &sized(1, &attribute));
        let expected: &[FaultKind] = if depth > 20 { &[FaultKind::TooDeep] } else { &[] };
        assert_eq!(faults(&catalog, &payload), expected, "{depth}");
        alone(&catalog, "MetricsData", &payload);
    }
}

/// A field that may be there once is there twice: the first is read, the other stays as it is, and it is told.
#[test]
fn a_field_again() {
    let catalog = Catalog::builtin();
    let resource = [sized(3, b"a"), sized(3, b"b")].concat();
    let payload = sized(1, &resource);
    assert_eq!(faults(&catalog, &payload), [FaultKind::FieldAgain { number: 3 }]);
    let (json, _) = alone(&catalog, "MetricsData", &payload);
    let resource = &json.at("body").at("resourceMetrics").elements()[0];
    assert_eq!(resource.at("schemaUrl").text(), Some("a"));
    assert_eq!(resource.at("_unknownTaggedFields").elements()[0].at("value").text(), Some("Yg=="));
}

/// Numbers that are no keys: field 0, groups, wire types that do not exist, too large.
#[test]
fn keys_that_are_none() {
    let catalog = Catalog::builtin();
    for (key, hex) in [(2, "02"), (0x0b, "0b"), (0x0c, "0c"), (0x0e, "0e"), (0x0f, "0f"), (1 << 32, "8080808010")] {
        let payload = [bytes(hex), vec![0; 3]].concat();
        assert_eq!(faults(&catalog, &payload), [FaultKind::FieldKey { key }], "{hex}");
        let (json, _) = alone(&catalog, "MetricsData", &payload);
        assert!(json.at("body").at("_undecoded").text().is_some());
    }
}

/// Arrays in as many pieces as there can be cost no more than the bytes are worth.
#[test]
fn arrays_in_many_pieces() {
    let catalog = Catalog::builtin();
    // ScopeMetrics with an unknown field between all metrics.
    let pieces = [sized(2, &[]), vec![0x78, 1]].concat().repeat(100_000);
    let payload = sized(1, &sized(2, &pieces));
    let (json, faults) = alone(&catalog, "MetricsData", &payload);
    let scope = support::at(json.at("body"), "resourceMetrics[0].scopeMetrics[0]");
    assert_eq!((faults, scope.at("metrics").elements().len()), (0, 100_000));
    assert_eq!(scope.at("_unknownTaggedFields").elements().len(), 100_000);
    // Two arrays that take turns.
    let turns = [sized(7, &[]), sized(5, &[])].concat().repeat(50_000);
    let gauge = sized(5, &sized(1, &turns));
    let payload = sized(1, &sized(2, &sized(2, &gauge)));
    let (json, faults) = alone(&catalog, "MetricsData", &payload);
    let point = support::at(json.at("body"), "resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0]");
    let lengths = ["attributes", "exemplars"].map(|key| point.at(key).elements().len());
    assert_eq!((faults, lengths), (0, [50_000; 2]));
}

/// Bytes that inflate to more than the limit: what came out is read, and the rest is told once.
#[test]
fn a_bomb() {
    let catalog = Catalog::builtin();
    let zeros = sized(1, &sized(3, &vec![b'x'; 100 << 20]));
    let metrics = support::compress(4, &zeros);
    let plan = catalog.api_plan(ApiKey(72), Side::Request, 0).unwrap();
    let body = crate::instance(plan, &[("compressionType", Datum::Int(4)), ("metrics", blob(&metrics))]);
    let header = kafkascope::encode::Header::default();
    let frame = kafkascope::encode::frame(&catalog, ApiKey(72), Side::Request, 0, &header, &body).unwrap();
    let reading = support::reading(&catalog, ApiKey(72), Side::Request, 0);
    let (tree, _) = support::tree(&catalog, &reading, &frame);
    assert!(tree.buffers()[0].len() <= 64 << 20, "{}", tree.buffers()[0].len());
    let kinds: Vec<FaultKind> = tree.faults().iter().map(|fault| fault.kind).collect();
    assert!(matches!(kinds[..], [FaultKind::Inflate { .. }]), "{kinds:?}");
    let undecoded = tree.nodes().iter().filter(|node| matches!(node.what, What::Part(Part::Undecoded(_)))).count();
    assert_eq!(undecoded, 1);
}
