//! Names of topics beside their ids, against those that the brokers logged.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Json;
use crate::request_log::{CAPTURES, files};
use crate::support::{export, report};

/// All objects in a value, itself among them.
fn objects<'j>(value: &'j Json, found: &mut Vec<&'j Json>) {
    collect(value, found, &|_| true);
}

/// The same without what was decoded out of opaque bytes.
fn message_objects<'j>(value: &'j Json, found: &mut Vec<&'j Json>) {
    collect(value, found, &|key| !key.starts_with('_'));
}

fn collect<'j>(value: &'j Json, found: &mut Vec<&'j Json>, is_wanted: &dyn Fn(&str) -> bool) {
    match value {
        Json::Object(members) => {
            found.push(value);
            members.iter().filter(|(key, _)| is_wanted(key)).for_each(|(_, member)| collect(member, found, is_wanted));
        }
        Json::Array(elements) => elements.iter().for_each(|element| collect(element, found, is_wanted)),
        _ => {}
    }
}

/// The topic's id and name that an object has.
fn topic(object: &Json) -> (Option<&str>, Option<&str>) {
    let id = object.at("topicId").text().filter(|id| *id != "AAAAAAAAAAAAAAAAAAAAAA");
    let names = ["name", "topicName", "topic"].map(|key| object.at(key).text());
    (id, names.into_iter().flatten().find(|name| !name.is_empty()))
}

/// The topic with the same id everywhere (KIP-595).
const CLUSTER_METADATA: (&str, &str) = ("AAAAAAAAAAAAAAAAAAAAAQ", "__cluster_metadata");

#[test]
fn a_topic_id_is_told_by_name_as_soon_as_the_capture_has_told_it() {
    let mut problems = Vec::new();
    let (mut resolved, mut unknown) = (0, 0);
    for (name, _) in CAPTURES {
        let Some((capture, log)) = files(name) else { continue };
        let mut logged = Vec::new();
        for line in &log {
            objects(line, &mut logged);
        }
        let pairs = logged.into_iter().map(topic).filter_map(|(id, name)| Some((id?.to_owned(), name?.to_owned())));
        let mut names: BTreeMap<String, String> = pairs.collect();
        names.insert(CLUSTER_METADATA.0.to_owned(), CLUSTER_METADATA.1.to_owned());
        let mut told: BTreeSet<String> = BTreeSet::from([CLUSTER_METADATA.0.to_owned()]);
        for message in export(&capture) {
            let mut found = Vec::new();
            objects(message.at("body"), &mut found);
            let mut plain = Vec::new();
            message_objects(message.at("body"), &mut plain);
            let pairs = plain.iter().map(|object| topic(object)).filter(|(_, name)| name.is_some());
            told.extend(pairs.filter_map(|(id, _)| id).map(str::to_owned));
            // Of records, those of the metadata log teach: TopicRecord has `name`, values of other topics `topicName`.
            let records = found.iter().filter(|object| *object.at("name") != Json::Null).map(|object| topic(object));
            for (id, name) in records.filter_map(|(id, name)| Some((id?, name?))) {
                told.insert(id.to_owned());
                names.entry(id.to_owned()).or_insert_with(|| name.to_owned());
            }
            for object in found {
                let beside = object.at("_topicId").text();
                let expected = match topic(object) {
                    (Some(id), None) if told.contains(id) => names.get(id).map(String::as_str),
                    _ => None,
                };
                resolved += usize::from(expected.is_some());
                unknown += usize::from(expected.is_none() && matches!(topic(object), (Some(_), None)));
                if beside != expected {
                    let number = message.at("index").int().unwrap();
                    problems.push(format!("{name} #{number}: {beside:?}, not {expected:?}"));
                }
            }
        }
    }
    report(&problems);
    eprintln!("{resolved} ids with names, {unknown} without");
    assert!(resolved >= 400, "{resolved}");
}
