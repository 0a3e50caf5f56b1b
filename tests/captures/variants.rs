//! The same traffic in other clothes: link types, file formats, segments in another order or more than once.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::request_log::base;
use crate::support::{Entry, export, own, port, report, shared};

/// Where a message stands: the client's port, its side, its place in the stream, how many stood there before it.
pub(crate) type Place = (i64, String, i64, usize);

/// All messages by their places, without what may differ: times, numbers, packets. Instead of the number of its request,
/// a response has its place.
pub(crate) fn by_place(messages: &[Json]) -> BTreeMap<Place, Json> {
    let mut all: BTreeMap<Place, Json> = BTreeMap::new();
    let mut places = BTreeMap::new();
    let place = |message: &Json, times| {
        let side = message.at("type").text().unwrap().to_owned();
        (port(message.at("client")), side, message.at("streamOffset").int().unwrap(), times)
    };
    for message in messages {
        let times = (0..2).find(|times| !all.contains_key(&place(message, *times))).unwrap();
        places.insert(message.at("index").int().unwrap(), place(message, times));
        all.insert(place(message, times), message.clone());
    }
    for message in all.values_mut() {
        let Json::Object(members) = message else { panic!("{message:?}") };
        for (key, value) in members.iter_mut() {
            if let ("request", Some(index)) = (key.as_str(), value.int()) {
                *value = Json::String(format!("{:?}", places[&index]));
            }
        }
        let differing = ["index", "time", "connection", "packets", "interfaces", "latencyMs"];
        members.retain(|(key, _)| !differing.contains(&key.as_str()));
    }
    all
}

pub(crate) fn compare(
    name: &str,
    variant: &BTreeMap<Place, Json>,
    base: &BTreeMap<Place, Json>,
    problems: &mut Vec<String>,
) {
    assert!(!base.is_empty(), "{name}");
    for place in base.keys().chain(variant.keys()) {
        match (variant.get(place), base.get(place)) {
            (Some(variant), Some(base)) if variant == base => {}
            (Some(_), Some(_)) => problems.push(format!("{name}: another message at {place:?}")),
            (None, _) => problems.push(format!("{name}: no message at {place:?}")),
            (_, None) => problems.push(format!("{name}: a message at {place:?} that the base has not")),
        }
    }
}

#[test]
fn variants_of_the_projects_own_captures() {
    let base = by_place(&export(&own("captures/44-mss-librdkafka.pcap")));
    let mut problems = Vec::new();
    for variant in ["reordered.pcap", "shuffled.pcap", "duplicated.pcap", "ng-interfaces.pcapng"] {
        let name = format!("44-mss-librdkafka-{variant}");
        compare(&name, &by_place(&export(&own("captures").join(&name))), &base, &mut problems);
    }
    report(&problems);
}

#[test]
fn all_variants() {
    let Some(captures) = shared("captures") else { return };
    let mut problems = Vec::new();
    let mut count = 0;
    for entry in Entry::all(&captures) {
        let (name, Some(base_name)) = (&entry.name, entry.base()) else { continue };
        if entry.is_closed() || ["-lost", "-nosyn"].iter().any(|damage| name.contains(damage)) {
            continue;
        }
        assert_eq!(base(name), base(base_name), "{name}");
        let mut expected = export(&captures.join(base_name));
        if name.contains("-reuse") {
            // Every connection comes twice; numbers go on.
            let count = i64::try_from(expected.len()).unwrap();
            let again: Vec<Json> = expected.iter().map(|message| renumbered(message, count)).collect();
            expected.extend(again);
        }
        compare(name, &by_place(&export(&captures.join(name))), &by_place(&expected), &mut problems);
        count += 1;
    }
    report(&problems);
    assert_eq!(count, 25);
}

/// A message with greater numbers.
fn renumbered(message: &Json, by: i64) -> Json {
    let Json::Object(members) = message else { panic!("{message:?}") };
    let renumber = |(key, value): &(String, Json)| match (key.as_str(), value) {
        ("index" | "request", Json::Int(number)) => (key.clone(), Json::Int(number + by)),
        _ => (key.clone(), value.clone()),
    };
    Json::Object(members.iter().map(renumber).collect())
}
