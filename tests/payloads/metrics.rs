//! Client metrics (KIP-714): what is made of them is what the decoder of Protocol Buffers' own authors makes of them.

use std::path::Path;

use kafkascope::encode::Datum;
use kafkascope::protocol::{ApiKey, Catalog, Side};

use crate::json::Json;
use crate::support::compress;
use crate::{alone, blob, bytes, lines, message};

/// Metrics with the JSON that another decoder made of them.
fn samples() -> Vec<(String, Vec<u8>, Json)> {
    let all = lines(include_bytes!("../data/otlp/metrics.jsonl.gz"));
    let sample = |line: &Json| {
        let name = line.at("name").text().unwrap().to_owned();
        (name, bytes(line.at("hex").text().unwrap()), line.at("json").clone())
    };
    let samples: Vec<_> = all.iter().map(sample).collect();
    assert_eq!(samples.len(), 190);
    samples
}

/// Whether two values are the same, whatever the order of members; ours may have members that begin with `_`. Where the
/// other decoder writes a float without a fraction as an integer, that is the same.
fn is_same(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => {
            let ours: Vec<_> = ours.iter().filter(|(key, _)| !key.starts_with('_')).collect();
            ours.len() == theirs.len()
                && theirs.iter().all(|(key, value)| ours.iter().any(|(name, own)| name == key && is_same(own, value)))
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Json::Float(ours), Json::Float(theirs)) => ours.to_bits() == theirs.to_bits(),
        _ => ours == theirs,
    }
}

#[test]
fn metrics_are_what_another_decoder_reads() {
    let catalog = Catalog::builtin();
    for (name, payload, expected) in samples() {
        let (json, faults) = alone(&catalog, "MetricsData", &payload);
        assert_eq!(faults, 0, "{name}");
        assert!(is_same(json.at("body"), &expected), "{name}\n{:?}\n{expected:?}", json.at("body"));
    }
}

/// Unknown fields are kept.
#[test]
fn unknown_fields_are_told() {
    let catalog = Catalog::builtin();
    // Metric: field 1 "m"; field 13 varint 300; field 1000 (four bytes); field 99 "abc"; field 5 a gauge without points.
    let metric = bytes("0a016d 68ac02 c53e01020304 9a0603616263 2a00");
    let inside = |payload: Vec<u8>| [&[0x12, payload.len() as u8][..], &payload].concat();
    let scope = inside(metric);
    let resource = inside(scope);
    let payload = [&[0x0a, resource.len() as u8][..], &resource].concat();
    let (json, faults) = alone(&catalog, "MetricsData", &payload);
    assert_eq!(faults, 0);
    let metric = crate::support::at(json.at("body"), "resourceMetrics[0].scopeMetrics[0].metrics[0]");
    let expected = r#"{"name":"m","gauge":{},"_unknownTaggedFields":[{"tag":13,"value":"rAI="},{"tag":1000,"value":"AQIDBA=="},{"tag":99,"value":"YWJj"}]}"#;
    assert_eq!(*metric, Json::read(expected.as_bytes()).unwrap());
}

#[test]
fn pushed_metrics_are_inflated() {
    let catalog = Catalog::builtin();
    for (name, payload, expected) in samples().into_iter().take(4) {
        for codec in 0..5 {
            let metrics = compress(codec, &payload);
            let fields = [("compressionType", Datum::Int(codec.into())), ("metrics", blob(&metrics))];
            let (body, faults) = message(&catalog, (ApiKey(72), Side::Request, 0), &fields);
            assert_eq!(faults, 0, "{name} {codec}");
            assert!(is_same(body.at("_metrics"), &expected), "{name} {codec}");
        }
        // Metrics in a codec that nobody knows stay as they are.
        for codec in [5, 127, -1, -128] {
            let fields = [("compressionType", Datum::Int(codec)), ("metrics", blob(&payload))];
            let (body, faults) = message(&catalog, (ApiKey(72), Side::Request, 0), &fields);
            assert_eq!((faults, body.at("_metrics")), (0, &Json::Null));
        }
    }
    // Without metrics there is nothing to open.
    let (body, faults) = message(&catalog, (ApiKey(72), Side::Request, 0), &[]);
    assert_eq!((faults, body.at("_metrics")), (0, &Json::Null));
}

/// The pushes of captures, held against what the broker handed to its plugin.
#[test]
fn pushes_of_captures_are_what_the_broker_received() {
    let samples = samples();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    for (capture, pushes) in [("44-java-telemetry", 4), ("44-librdkafka-admin", 1), ("44-franz-sasl-scram256", 2)] {
        let path = root.join(format!("{capture}.pcap"));
        let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").arg("export").arg(path).output().unwrap();
        assert!(output.status.success(), "{capture}");
        let all = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let all: Vec<Json> = all.map(|line| Json::read(line).unwrap()).collect();
        let is_push =
            |line: &&Json| line.at("api").text() == Some("PushTelemetry") && line.at("type").text() == Some("request");
        let sent: Vec<&Json> = all.iter().filter(is_push).map(|line| line.at("body").at("_metrics")).collect();
        let known: Vec<&Json> =
            samples.iter().filter(|(name, ..)| name.contains(capture)).map(|(.., json)| json).collect();
        assert_eq!(known.len(), pushes, "{capture}");
        for json in known {
            assert!(sent.iter().any(|ours| is_same(ours, json)), "{capture}: {json:?} was not seen");
        }
    }
}
