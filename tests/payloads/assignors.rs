//! User data of consumers, which the name of the assignor tells.

use kafkascope::encode::Datum;
use kafkascope::protocol::{ApiKey, Catalog, Side};

use crate::json::Json;
use crate::support::{at, fetched_from};
use crate::{blob, bytes, message, oracle, payload, support};

/// A subscription with some user data, as a field of bytes.
fn subscription(catalog: &Catalog, user_data: &[u8]) -> Datum {
    blob(&payload(catalog, "ConsumerProtocolSubscription", 1, &[("userData", blob(user_data))]))
}

/// What a request to join makes of user data under the name of an assignor: the opened form, or null.
fn joined(catalog: &Catalog, protocol_type: &str, assignor: &str, user_data: &str) -> String {
    let fields = [
        ("protocolType", Datum::text(protocol_type)),
        ("protocols[0].name", Datum::text(assignor)),
        ("protocols[0].metadata", subscription(catalog, &bytes(user_data))),
    ];
    let (body, faults) = message(catalog, (ApiKey(11), Side::Request, 7), &fields);
    let found = at(&body, "protocols[0]._metadata").at("_userData");
    format!("{}{}", if faults > 0 { "! " } else { "" }, compact(found))
}

/// JSON as one line.
fn compact(json: &Json) -> String {
    let list = |all: Vec<String>| all.join(",");
    match json {
        Json::Array(all) => format!("[{}]", list(all.iter().map(compact).collect())),
        Json::Object(all) => {
            format!("{{{}}}", list(all.iter().map(|(key, value)| format!("{key}:{}", compact(value))).collect()))
        }
        Json::String(text) => text.clone(),
        Json::Int(number) => number.to_string(),
        Json::Null => "null".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Bytes as `StickyAssignor` and `CooperativeStickyAssignor` of Apache Kafka, and librdkafka and franz-go, write them.
#[test]
fn the_assignors_name_tells_what_user_data_is() {
    let catalog = Catalog::builtin();
    let one_topic = "00000001 0001 74 00000002 00000000 00000005";
    let with_generation = format!("{one_topic} 00000007");
    let assigned = "{previousAssignment:[{topic:t,partitions:[0,5]}]";
    let cases = [
        // Version 0 ends behind the partitions, version 1 has a generation there.
        ("sticky", one_topic, format!("{assigned}}}")),
        ("sticky", &with_generation, format!("{assigned},generation:7}}")),
        ("sticky", "00000000", "{previousAssignment:[]}".to_owned()),
        ("sticky", "00000000 ffffffff", "{previousAssignment:[],generation:-1}".to_owned()),
        // Java has a generation alone.
        ("cooperative-sticky", "ffffffff", "{generation:-1}".to_owned()),
        ("cooperative-sticky", "00000003", "{generation:3}".to_owned()),
        // librdkafka and franz-go have the form of the sticky assignor.
        ("cooperative-sticky", "00000000", "{previousAssignment:[]}".to_owned()),
        ("cooperative-sticky", &with_generation, format!("{assigned},generation:7}}")),
        // Nothing is said of these.
        ("range", &with_generation, "null".to_owned()),
        ("RoundRobinAssigner", "00000003", "null".to_owned()),
        ("", "00000003", "null".to_owned()),
        ("sticky", "", "null".to_owned()),
    ];
    for (assignor, user_data, expected) in cases {
        assert_eq!(joined(&catalog, "consumer", assignor, user_data), expected, "{assignor} {user_data}");
        // Without the protocol type not even the subscription is known.
        assert_eq!(joined(&catalog, "other", assignor, user_data), "null");
    }
    assert!(joined(&catalog, "consumer", "sticky", "00000009 0001").starts_with("! "));
}

/// The user data of Kafka Streams in each message that names the assignor.
#[test]
fn every_message_that_names_the_assignor_opens_user_data() {
    let catalog = Catalog::builtin();
    let newest = |kind: &str| oracle(&[kind]).into_iter().rfind(|line| line.at("version").int() == Some(11)).unwrap();
    let sent = newest("streams-subscription");
    let given = newest("streams-assignment");
    let [sent_bytes, given_bytes] = [&sent, &given].map(|line| bytes(line.at("hex").text().unwrap()));
    let metadata = subscription(&catalog, &sent_bytes);
    let assignment = payload(&catalog, "ConsumerProtocolAssignment", 1, &[("userData", blob(&given_bytes))]);
    let (join, sync, describe) = (ApiKey(11), ApiKey(14), ApiKey(15));
    let (request, response) = (Side::Request, Side::Response);
    for (assignor, is_open) in [("stream", true), ("range", false)] {
        for (api, side, version, type_path, name_path, member) in [
            (join, request, 9, "protocolType", "protocols[0].name", "protocols[0].metadata"),
            (join, request, 0, "protocolType", "protocols[0].name", "protocols[0].metadata"),
            (join, response, 9, "protocolType", "protocolName", "members[0].metadata"),
            (sync, request, 5, "protocolType", "protocolName", "assignments[0].assignment"),
            (sync, response, 5, "protocolType", "protocolName", "assignment"),
            (
                describe,
                response,
                0,
                "groups[0].protocolType",
                "groups[0].protocolData",
                "groups[0].members[0].memberMetadata",
            ),
            (
                describe,
                response,
                6,
                "groups[0].protocolType",
                "groups[0].protocolData",
                "groups[0].members[0].memberAssignment",
            ),
        ] {
            let value = if member.ends_with("etadata") { metadata.clone() } else { blob(&assignment) };
            let fields = [(type_path, Datum::text("consumer")), (name_path, Datum::text(assignor)), (member, value)];
            let (body, faults) = message(&catalog, (api, side, version), &fields);
            let split = member.rfind('.').map_or(0, |dot| dot + 1);
            let opened = at(&body, &format!("{}_{}", &member[..split], &member[split..])).at("_userData");
            assert_eq!(faults, 0, "{api:?} {version}");
            if !is_open {
                assert_eq!(*opened, Json::Null, "{api:?} {version}");
            } else if member.ends_with("etadata") {
                assert_eq!(opened, sent.at("json"), "{api:?} {version}");
            } else {
                assert_eq!(
                    opened.at("activeTasks").elements().len(),
                    given.at("json").at("activeTasks").elements().len()
                );
            }
        }
    }
}

/// A group in `__consumer_offsets`: the name stands in the record's value.
#[test]
fn a_group_on_disk_opens_user_data() {
    let catalog = Catalog::builtin();
    let key = payload(&catalog, "GroupMetadataKey", 0, &[("group", Datum::text("g"))]);
    let fields = [
        ("protocolType", Datum::text("consumer")),
        ("protocol", Datum::text("sticky")),
        ("members[0].subscription", subscription(&catalog, &bytes("00000000 00000004"))),
    ];
    let value = payload(&catalog, "GroupMetadataValue", 3, &fields);
    let records = support::message(1, 0, 5, Some(&key), Some(&value));
    let (reading, frame) = fetched_from(&catalog, "__consumer_offsets", &records);
    support::tree(&catalog, &reading, &frame);
    let (json, faults) = support::json(&catalog, &reading, &frame);
    assert!(faults.is_empty(), "{faults:?}");
    let record = at(json.at("body"), "responses[0].partitions[0].records[0].records[0]");
    assert_eq!(*record.at("_key").at("group"), Json::String("g".to_owned()));
    let member = at(record.at("_value"), "members[0]._subscription");
    assert_eq!(compact(member.at("_userData")), "{previousAssignment:[],generation:4}");
}
