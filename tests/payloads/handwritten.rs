//! Formats that Kafka writes by hand, held against what its own decoders made of the bytes.

use std::collections::BTreeMap;

use kafkascope::encode::Datum;
use kafkascope::protocol::{ApiKey, Catalog, Side};

use crate::json::Json;
use crate::support::at;
use crate::{alone, blob, bytes, message, oracle};

/// Something as the oracle has it: maps and sets in order, and not in that of the wire.
type Sorted = BTreeMap<String, String>;

/// A member of an object as text that can be compared.
fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Int(number) => number.to_string(),
        Json::Array(elements) => elements.iter().map(plain).collect::<Vec<_>>().join(" "),
        Json::Object(members) => {
            let mut all: Vec<String> = members.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
            all.sort();
            all.join("; ")
        }
        other => format!("{other:?}"),
    }
}

fn sorted(json: &Json) -> Sorted {
    let Json::Object(members) = json else { panic!("{json:?} is no object") };
    members.iter().map(|(key, value)| (key.clone(), plain(value))).collect()
}

fn words(mut all: Vec<String>) -> String {
    all.sort();
    all.join(" ")
}

/// Connectors (task -1) and tasks of an assignment.
fn connectors_and_tasks(assignment: &Json) -> (String, String) {
    let (mut connectors, mut tasks) = (Vec::new(), Vec::new());
    for one in assignment.elements() {
        let connector = one.at("connector").text().unwrap();
        for task in one.at("tasks").elements() {
            match task.int().unwrap() {
                -1 => connectors.push(connector.to_owned()),
                task => tasks.push(format!("{connector}-{task}")),
            }
        }
    }
    (words(connectors), words(tasks))
}

fn connect_assignment(ours: &Json) -> Sorted {
    let (connectors, tasks) = connectors_and_tasks(ours.at("assignment"));
    let mut all = vec![
        ("error", plain(ours.at("error"))),
        ("leader", plain(ours.at("leader"))),
        ("leaderUrl", plain(ours.at("leaderUrl"))),
        ("offset", plain(ours.at("configOffset"))),
        ("connectors", connectors),
        ("tasks", tasks),
    ];
    if ours.at("version").int().unwrap() > 0 {
        let (connectors, tasks) = connectors_and_tasks(ours.at("revoked"));
        all.push(("revokedConnectors", connectors));
        all.push(("revokedTasks", tasks));
        all.push(("delay", plain(ours.at("scheduledDelay"))));
    }
    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[test]
fn connect_protocol() {
    let catalog = Catalog::builtin();
    let mut count = 0;
    for line in oracle(&["connect-metadata", "connect-assignment"]) {
        let payload = bytes(line.at("hex").text().unwrap());
        let is_metadata = line.at("kind").text() == Some("connect-metadata");
        let name = if is_metadata { "ConnectMetadata" } else { "ConnectAssignment" };
        let (json, faults) = alone(&catalog, name, &payload);
        let (ours, theirs) = (json.at("body"), line.at("json"));
        assert_eq!((faults, ours.at("version")), (0, line.at("version")), "{line:?}");
        if is_metadata {
            assert_eq!(ours.at("url"), theirs.at("url"));
            assert_eq!(ours.at("configOffset"), theirs.at("offset"));
            if *theirs.at("assignment") != Json::Null {
                assert_eq!(connect_assignment(ours.at("_allocation")), sorted(theirs.at("assignment")), "{line:?}");
            }
        } else {
            assert_eq!(connect_assignment(ours), sorted(theirs), "{line:?}");
        }
        count += 1;
    }
    assert_eq!(count, 30);
}

/// The user data of Kafka Streams that a member is assigned.
#[test]
fn streams_assignment() {
    let catalog = Catalog::builtin();
    let mut versions = [0; 12];
    for line in oracle(&["streams-assignment"]) {
        let payload = bytes(line.at("hex").text().unwrap());
        let (json, faults) = alone(&catalog, "AssignmentInfo", &payload);
        assert_eq!((faults, json.at("body").at("version")), (0, line.at("version")), "{line:?}");
        assert_eq!(assignment_info(json.at("body")), sorted(line.at("json")), "{line:?}");
        versions[line.at("version").int().unwrap() as usize] += 1;
    }
    assert_eq!(versions, [0, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
}

fn assignment_info(ours: &Json) -> Sorted {
    let task = |task: &Json| format!("{}_{}", plain(task.at("subtopology")), plain(task.at("partition")));
    let named = |partition: &Json| format!("{}-{}", plain(partition.at("topic")), plain(partition.at("partition")));
    let topics: BTreeMap<i64, String> = ours
        .at("topics")
        .elements()
        .iter()
        .map(|one| (one.at("index").int().unwrap(), plain(one.at("topic"))))
        .collect();
    let indexed = |partition: &Json| {
        let topic = &topics[&partition.at("topicIndex").int().unwrap()];
        format!("{topic}-{}", plain(partition.at("partition")))
    };
    let host = |host: &Json| format!("{}:{}", plain(host.at("host")), plain(host.at("port")));
    let map = |entries: &Json, key: &dyn Fn(&Json) -> String, partition: &dyn Fn(&Json) -> String| {
        let of = |one: &Json| words(one.at("partitions").elements().iter().map(partition).collect());
        let mut all: Vec<String> = entries.elements().iter().map(|one| format!("{}={}", key(one), of(one))).collect();
        all.sort();
        all.join("; ")
    };
    let or = |key: &str, default: i64| match ours.at(key) {
        Json::Null => default.to_string(),
        found => plain(found),
    };
    let has_dictionary = *ours.at("topics") != Json::Null;
    let by_host = if has_dictionary {
        map(ours.at("activePartitionsByHost"), &host, &indexed)
    } else {
        map(ours.at("partitionsByHost"), &host, &named)
    };
    [
        ("version", or("version", 0)),
        ("commonlySupportedVersion", or("commonlySupportedVersion", -1)),
        ("activeTasks", ours.at("activeTasks").elements().iter().map(task).collect::<Vec<_>>().join(" ")),
        ("standbyTasks", map(ours.at("standbyTasks"), &task, &named)),
        ("partitionsByHost", by_host),
        ("standbyPartitionByHost", map(ours.at("standbyPartitionsByHost"), &host, &indexed)),
        ("nextRebalanceMs", or("nextRebalanceMs", i64::MAX)),
        ("errCode", or("errorCode", 0)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// The user data of Kafka Streams that a member sends: a schema of Kafka's own.
#[test]
fn streams_subscription() {
    let catalog = Catalog::builtin();
    let all = oracle(&["streams-subscription"]);
    assert_eq!(all.len(), 55);
    for line in all {
        let (json, faults) = alone(&catalog, "SubscriptionInfoData", &bytes(line.at("hex").text().unwrap()));
        assert_eq!((faults, json.at("body")), (0, line.at("json")));
    }
}

/// A worker's metadata and assignment in each message that carries them, and not in groups of another type.
#[test]
fn connect_payloads_are_opened_by_the_groups_protocol_type() {
    let catalog = Catalog::builtin();
    let newest = |kind: &str| {
        let all = oracle(&[kind]);
        all.into_iter().rfind(|line| line.at("version").int() == Some(2)).unwrap()
    };
    let (metadata, assignment) = (newest("connect-metadata"), newest("connect-assignment"));
    let url = metadata.at("json").at("url");
    let leader = assignment.at("json").at("leader");
    let [metadata, assignment] = [&metadata, &assignment].map(|line| blob(&bytes(line.at("hex").text().unwrap())));
    for (protocol_type, is_open) in [("connect", true), ("other", false)] {
        let either = |json: &Json| if is_open { json.clone() } else { Json::Null };
        let found = |api, side, version, prefix: &str, member: &str, value| {
            let path = if prefix.is_empty() { "protocolType".to_owned() } else { format!("{prefix}.protocolType") };
            let (body, faults) =
                message(&catalog, (api, side, version), &[(&path, Datum::text(protocol_type)), (member, value)]);
            assert_eq!(faults, 0, "{protocol_type} {member}");
            // `a.b` is opened as `a._b`.
            let split = member.rfind('.').map_or(0, |dot| dot + 1);
            at(&body, &format!("{}_{}", &member[..split], &member[split..])).clone()
        };
        let (join, sync, describe) = (ApiKey(11), ApiKey(14), ApiKey(15));
        let (request, response) = (Side::Request, Side::Response);
        for json in [
            found(join, request, 9, "", "protocols[0].metadata", metadata.clone()),
            found(join, response, 9, "", "members[0].metadata", metadata.clone()),
            found(describe, response, 5, "groups[0]", "groups[0].members[0].memberMetadata", metadata.clone()),
        ] {
            assert_eq!(*json.at("url"), either(url), "{protocol_type}");
        }
        for json in [
            found(sync, request, 5, "", "assignments[0].assignment", assignment.clone()),
            found(sync, response, 5, "", "assignment", assignment.clone()),
            found(describe, response, 5, "groups[0]", "groups[0].members[0].memberAssignment", assignment.clone()),
        ] {
            assert_eq!(*json.at("leader"), either(leader), "{protocol_type}");
        }
    }
}
