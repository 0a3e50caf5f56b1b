//! Messages that Kafka's own code wrote, with what its own code says of them.

use std::collections::BTreeMap;
use std::io::Write;

use kafkascope::dissect::{Opening, dissect, fit_request, fit_response};
use kafkascope::output::json::{JsonWriter, close_bracket};
use kafkascope::protocol::{ApiKey, Catalog};

use crate::compare::{Extent, difference};
use crate::json::Json;
use crate::support::{export, lines, own, read, report, shared};

#[test]
fn bodies_are_what_kafkas_converters_print_in_their_order() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    let messages = lines(&read(&own("tests/data/oracle/messages.jsonl.gz")));
    for message in &messages {
        let number = |name: &str| message.at(name).int().unwrap();
        let frame = bytes(message.at("frame_hex").text().unwrap());
        let (key, version) = (ApiKey(number("api_key") as i16), number("version") as i16);
        let is_request = message.at("type").text() == Some("request");
        let fit = if is_request { fit_request } else { fit_response }(&catalog, key, version, &frame, true, 0);
        let mut out = b"{".to_vec();
        let mut writer = JsonWriter::new(Opening::new(&catalog), &mut out, true);
        dissect(&fit.reading, &frame, &mut writer);
        let faults = writer.into_faults();
        close_bracket(&mut out, b'}');
        let ours = Json::read(&out).unwrap();

        let mut differs = |what: String| {
            let name = message.at("api").text().unwrap();
            problems.push(format!("{name} v{version} {}: {what}", message.at("type").text().unwrap()));
        };
        let converted = message.at("json");
        if let Some(difference) = difference(converted, ours.at("body"), Extent::Whole) {
            differs(difference);
        } else if keys(converted) != keys(ours.at("body")) {
            differs("the keys are in another order".to_owned());
        }
        if *message.at("json_log") != Json::Null
            && let Some(difference) = difference(message.at("json_log"), ours.at("body"), Extent::Whole)
        {
            differs(format!("log: {difference}"));
        }
        if !faults.is_empty() {
            differs(format!("{faults:?}"));
        }
        if ours.at("header").at("correlationId") != message.at("correlation_id") {
            differs("another correlation id".to_owned());
        }
        if is_request && ours.at("header").at("clientId") != message.at("client_id") {
            differs("another client id".to_owned());
        }
    }
    report(&problems);
    assert_eq!(messages.len(), 4440);
}

/// All keys that are Kafka's, in order, with brackets for objects. What stands in records is ours.
fn keys(json: &Json) -> Vec<&str> {
    fn collect<'j>(json: &'j Json, keys: &mut Vec<&'j str>) {
        match json {
            Json::Object(members) => {
                keys.push("{");
                for (key, value) in members.iter().filter(|(key, _)| !key.starts_with('_')) {
                    keys.push(key);
                    let is_records = matches!(key.as_str(), "records" | "unalignedRecords") && *value != Json::Null;
                    if !is_records {
                        collect(value, keys);
                    }
                }
                keys.push("}");
            }
            Json::Array(elements) => elements.iter().for_each(|element| collect(element, keys)),
            _ => {}
        }
    }
    let mut keys = Vec::new();
    collect(json, &mut keys);
    keys
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn the_same_messages_in_tcp_streams() {
    the_oracles_capture("messages");
}

#[test]
fn the_same_messages_in_segments_out_of_order() {
    the_oracles_capture("shuffled");
}

fn the_oracles_capture(name: &str) {
    let Some(oracle) = shared("oracle") else { return };
    let mut capture = tempfile::NamedTempFile::new().unwrap();
    capture.write_all(&read(&oracle.join(format!("{name}.pcap.gz")))).unwrap();
    let expected = lines(&read(&oracle.join(format!("{name}.expected.jsonl.gz"))));
    let found = export(capture.path());

    // In each direction of a connection the order is that of the bytes.
    let mut streams: BTreeMap<(String, String), Vec<&Json>> = BTreeMap::new();
    for message in &found {
        let text = |name: &str| message.at(name).text().unwrap();
        let connection = format!("{} -> {}", text("client"), text("broker"));
        streams.entry((connection, text("type").to_owned())).or_default().push(message);
    }
    for stream in streams.values_mut() {
        stream.sort_by_key(|message| std::cmp::Reverse(message.at("streamOffset").int()));
    }
    let mut problems = Vec::new();
    for message in &expected {
        let text = |name: &str| message.at(name).text().unwrap().to_owned();
        let ours = streams.get_mut(&(text("connection"), text("type"))).and_then(Vec::pop).unwrap();
        let names = [
            ("api", "api"),
            ("api_key", "apiKey"),
            ("version", "apiVersion"),
            ("correlation_id", "correlationId"),
            ("frame_bytes", "size"),
        ];
        let other = names.iter().find(|(kafka, own)| message.at(kafka) != ours.at(own));
        let other = other.map(|(_, own)| format!("another {own}: {:?}", ours.at(own)));
        let fault = ours.at("faults").elements().first().map(|fault| format!("{fault:?}"));
        let found = other.or(fault).or_else(|| difference(message.at("json"), ours.at("body"), Extent::Whole));
        if let Some(difference) = found {
            problems.push(format!(
                "{} {} {}: {difference}",
                message.at("index").int().unwrap(),
                text("api"),
                text("type")
            ));
        }
    }
    report(&problems);
    assert_eq!((expected.len(), found.len()), (4510, 4510));
}
