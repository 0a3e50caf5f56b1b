//! Our JSON against that of Kafka's own converters.

use crate::json::Json;

/// How far what we print has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it must be there.
    Whole,
    /// It may end early: keys and elements may lack, none may differ.
    Beginning,
}

/// Where the two differ: None if nowhere. Keys of ours that begin with `_` are not Kafka's; a records field is
/// compared by its size, as the request log has it; what the log hides may be anything.
pub(crate) fn difference(kafka: &Json, ours: &Json, extent: Extent) -> Option<String> {
    differ(kafka, ours, extent, "")
}

fn differ(kafka: &Json, ours: &Json, extent: Extent, path: &str) -> Option<String> {
    match (kafka, ours) {
        (Json::Object(kafka), Json::Object(members)) => {
            let known: Vec<(&str, Option<i64>, &Json)> =
                kafka.iter().map(|(key, value)| expected(key, value, ours)).collect();
            for (key, size, value) in &known {
                let path = format!("{path}.{key}");
                if !members.iter().any(|(name, _)| name == key) {
                    // What a message lacks, another one may have to tell: the name of a topic, what an opaque field holds.
                    // That of a base may tell more.
                    if extent == Extent::Beginning || key.starts_with('_') {
                        continue;
                    }
                    return Some(format!("{path} is missing"));
                }
                let found = match size {
                    None => differ(value, ours.at(key), extent, &path),
                    Some(size) => differ_in_size(*size, ours, key, extent, &path),
                };
                if found.is_some() {
                    return found;
                }
            }
            let extra =
                members.iter().find(|(name, _)| !name.starts_with('_') && !known.iter().any(|(key, ..)| key == name));
            extra.map(|(name, _)| format!("{path}.{name} is not Kafka's"))
        }
        (Json::Array(kafka), Json::Array(ours)) => {
            let is_short = extent == Extent::Beginning && ours.len() <= kafka.len();
            if kafka.len() != ours.len() && !is_short {
                return Some(format!("{path}: {} elements, not {}", ours.len(), kafka.len()));
            }
            let mut pairs = kafka.iter().zip(ours).enumerate();
            pairs.find_map(|(number, (kafka, ours))| differ(kafka, ours, extent, &format!("{path}[{number}]")))
        }
        (Json::String(hidden), _) if hidden == "[hidden]" => None,
        // The full JSON of Kafka's converters has an empty string for records, whatever they hold.
        (Json::String(records), Json::Array(_)) if records.is_empty() => None,
        _ if kafka == ours => None,
        _ => Some(format!("{path}: {ours:?}, not {kafka:?}").chars().take(300).collect()),
    }
}

/// What a member of Kafka's is called here, and the size if it stands for records.
fn expected<'k>(key: &'k str, value: &'k Json, ours: &Json) -> (&'k str, Option<i64>, &'k Json) {
    match (key.strip_suffix("SizeInBytes"), value.int()) {
        (Some(field), Some(size)) if *ours.at(key) == Json::Null => (field, Some(size), value),
        _ => (key, None, value),
    }
}

fn differ_in_size(kafka: i64, ours: &Json, key: &str, extent: Extent, path: &str) -> Option<String> {
    match ours.at(&format!("_{key}SizeInBytes")).int() {
        Some(size) if size == kafka || (extent == Extent::Beginning && size <= kafka) => None,
        None if extent == Extent::Beginning => None,
        size => Some(format!("{path}: {size:?} bytes, not {kafka}")),
    }
}

/// A field that releases before the newest called something else.
struct Rename {
    api: &'static str,
    side: &'static str,
    /// The path of the older name, without places in arrays.
    path: &'static str,
    name: &'static str,
}

/// The renamed fields that stand in the logs of brokers before 4.0.
const RENAMES: [Rename; 18] = [
    rename("AddPartitionsToTxn", "request", "transactionalId", "v3AndBelowTransactionalId"),
    rename("AddPartitionsToTxn", "request", "producerId", "v3AndBelowProducerId"),
    rename("AddPartitionsToTxn", "request", "producerEpoch", "v3AndBelowProducerEpoch"),
    rename("AddPartitionsToTxn", "request", "topics", "v3AndBelowTopics"),
    rename("AddPartitionsToTxn", "response", "results", "resultsByTopicV3AndBelow"),
    rename("AddPartitionsToTxn", "response", "results.results", "resultsByPartition"),
    rename("AddPartitionsToTxn", "response", "results.results.errorCode", "partitionErrorCode"),
    rename("Fetch", "response", "responses.partitionResponses", "partitions"),
    rename("Fetch", "response", "responses.partitionResponses.partition", "partitionIndex"),
    rename("Fetch", "response", "responses.partitionResponses.recordSetSizeInBytes", "recordsSizeInBytes"),
    rename("Fetch", "response", "responses.partitionResponses.recordSet", "records"),
    rename("LeaderAndIsr", "request", "topicStates.partitionStates.zkVersion", "partitionEpoch"),
    rename("ListConfigResources", "response", "clientMetricsResources", "configResources"),
    rename("ListConfigResources", "response", "clientMetricsResources.name", "resourceName"),
    rename("OffsetCommit", "request", "generationId", "generationIdOrMemberEpoch"),
    rename("Vote", "request", "topics.partitions.candidateDirectoryId", "replicaDirectoryId"),
    rename("Vote", "request", "topics.partitions.candidateEpoch", "replicaEpoch"),
    rename("Vote", "request", "topics.partitions.candidateId", "replicaId"),
];

const fn rename(api: &'static str, side: &'static str, path: &'static str, name: &'static str) -> Rename {
    Rename { api, side, path, name }
}

/// Gives the fields of a body that an older broker logged their newest names, where the older ones stand in it.
pub(crate) fn renamed(body: &Json, api: &str, side: &str) -> Json {
    let renames: Vec<_> = RENAMES.iter().filter(|rename| rename.api == api && rename.side == side).collect();
    walk(body, "", &renames)
}

fn walk(value: &Json, path: &str, renames: &[&Rename]) -> Json {
    match value {
        Json::Array(elements) => Json::Array(elements.iter().map(|element| walk(element, path, renames)).collect()),
        Json::Object(members) => {
            let member = |(key, value): &(String, Json)| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let name = renames.iter().find(|rename| rename.path == path).map_or(key.as_str(), |rename| rename.name);
                (name.to_owned(), walk(value, &path, renames))
            };
            Json::Object(members.iter().map(member).collect())
        }
        _ => value.clone(),
    }
}
