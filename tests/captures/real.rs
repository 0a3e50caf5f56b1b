//! Captures that other projects publish, and captures without Kafka.

use std::collections::BTreeMap;
use std::path::Path;

use crate::json::Json;
use crate::support::{export, shared};

/// API, version, requests, responses, responses without their request.
type Row = (&'static str, i64, usize, usize, usize);

/// What is in the captures, counted by hand from a dump of the streams that was made without this project.
const CAPTURES: [(&str, &[Row]); 17] = [
    ("40t__go-sniffer/kafka.pcap", &[("Metadata", 0, 1, 1, 0), ("Produce", 1, 1, 1, 0)]),
    ("arkime__arkime/kafka.pcap", &[("ListOffsets", 0, 1, 0, 0)]),
    ("deepflowio__deepflow/00-produce-v2.pcap", &[("Produce", 2, 1, 1, 0)]),
    ("deepflowio__deepflow/00-produce-v7-sw8.pcap", &[("Produce", 7, 1, 1, 0)]),
    ("deepflowio__deepflow/00-produce-v9.pcap", &[("Produce", 9, 1, 1, 0)]),
    ("deepflowio__deepflow/01-fetch-v12-ok.pcap", &[("Fetch", 12, 1, 1, 0)]),
    ("deepflowio__deepflow/01-fetch-v12-perf.pcap", &[("Fetch", 12, 1, 1, 0)]),
    ("deepflowio__deepflow/01-fetch-v12-unknown.pcap", &[("Fetch", 12, 1, 1, 0)]),
    ("deepflowio__deepflow/11-join-group-v7.pcap", &[("JoinGroup", 7, 1, 1, 0)]),
    ("deepflowio__deepflow/13-leave-group-v4.pcap", &[("LeaveGroup", 4, 1, 1, 0)]),
    ("deepflowio__deepflow/14-sync-group-v5.pcap", &[("SyncGroup", 5, 1, 1, 0)]),
    ("deepflowio__deepflow/18-api-versions-v3.pcap", &[("ApiVersions", 3, 1, 1, 0)]),
    (
        "deepflowio__deepflow/mixed-with-unsupported.pcap",
        &[("Fetch", 13, 1, 1, 0), ("Heartbeat", 4, 1, 1, 0), ("OffsetCommit", 8, 1, 1, 0)],
    ),
    ("deepflowio__deepflow/produce-v9.pcap", &[("Produce", 9, 1, 0, 0)]),
    (
        "ntop__nDPI/kafka.bcdabe9.pcapng",
        &[
            ("ApiVersions", 3, 1, 1, 0),
            ("InitProducerId", 4, 1, 1, 0),
            ("Metadata", 12, 1, 1, 0),
            ("Produce", 9, 1, 1, 0),
        ],
    ),
    // Ten connections in the middle of what they say, most with a few packets: three responses came before their requests
    // were captured.
    ("ntop__nDPI/kafka.pcap", &[("ApiVersions", 0, 4, 3, 1), ("Metadata", 2, 4, 5, 2), ("Produce", 3, 2, 2, 0)]),
    (
        "ntop__nDPI/kafka.pcapng",
        &[
            ("ApiVersions", 0, 4, 3, 1),
            ("ApiVersions", 3, 1, 1, 0),
            ("InitProducerId", 4, 1, 1, 0),
            ("Metadata", 2, 4, 5, 2),
            ("Metadata", 12, 1, 1, 0),
            ("Produce", 3, 2, 2, 0),
            ("Produce", 9, 1, 1, 0),
        ],
    ),
];

#[test]
fn published_captures_hold_what_a_count_by_hand_finds() {
    let Some(real) = shared("real") else { return };
    for (name, expected) in CAPTURES {
        let mut found: BTreeMap<(String, i64), (usize, usize, usize)> = BTreeMap::new();
        for message in export(&real.join(name)) {
            assert_eq!(message.at("faults").elements(), [], "{name}");
            assert_eq!(*message.at("gap"), Json::Null, "{name}");
            let key = (message.at("api").text().unwrap().to_owned(), message.at("apiVersion").int().unwrap());
            let counts = found.entry(key).or_default();
            if message.at("type").text() == Some("request") {
                counts.0 += 1;
            } else {
                counts.1 += 1;
                counts.2 += usize::from(*message.at("request") == Json::Null);
            }
        }
        let found: Vec<_> = found
            .iter()
            .map(|((api, version), (requests, responses, alone))| {
                (api.as_str(), *version, *requests, *responses, *alone)
            })
            .collect();
        assert_eq!(found, expected, "{name}");
    }
    // None is left out.
    let captures: usize =
        std::fs::read_dir(&real).unwrap().map(|folder| folder.unwrap().path()).map(|folder| count(&folder)).sum();
    assert_eq!(captures, CAPTURES.len());
}

/// Captures in a folder of a project that publishes Kafka's.
fn count(folder: &Path) -> usize {
    if folder.ends_with("decoys") {
        return 0;
    }
    let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng")).count()
}

#[test]
fn other_protocols_are_not_taken_for_kafka() {
    let Some(decoys) = shared("real/decoys") else { return };
    let mut count = 0;
    for file in std::fs::read_dir(decoys).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(export(&path), [], "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 8);
}
