//! Which topic has which id.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};

/// The names of topics by their ids, in the order of the capture: of two names of an id the later one is believed.
#[derive(Debug, Clone, Default)]
pub struct TopicNames {
    names: HashMap<TopicId, Box<str>>,
    /// Ids in the order in which they were first seen, to forget the oldest.
    order: VecDeque<TopicId>,
    changes: u64,
}

/// The id of a topic (KIP-516).
pub(crate) type TopicId = [u8; 16];

/// Ids whose names are kept.
const MAX_TOPICS: usize = 1 << 16;
/// The longest name that a topic can have, in bytes.
const MAX_NAME: usize = 249;
/// Stands for no topic.
const NO_TOPIC: TopicId = [0; 16];
/// The id of the topic `__cluster_metadata`, which has the same one everywhere (KIP-595).
const CLUSTER_METADATA: TopicId = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

impl TopicNames {
    /// No names yet.
    pub fn new() -> Self {
        Self { names: HashMap::new(), order: VecDeque::new(), changes: 0 }
    }

    /// The name of the topic with an id. It has no characters but letters, digits, `.`, `_` and `-`.
    pub fn name(&self, id: [u8; 16]) -> Option<&str> {
        if id == CLUSTER_METADATA {
            return Some("__cluster_metadata");
        }
        self.names.get(&id).map(|name| &**name)
    }

    /// How many ids have a name.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no id has a name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How often something was learnt: two copies that say the same of this are the same.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Learns a name, unless Kafka would not allow it.
    pub(crate) fn insert(&mut self, id: TopicId, name: &[u8]) {
        let Some(name) = topic_name(name) else { return };
        if id == NO_TOPIC || id == CLUSTER_METADATA || self.name(id) == Some(name) {
            return;
        }
        self.changes += 1;
        if self.names.insert(id, name.into()).is_some() {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_TOPICS
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }
}

/// A name that a topic can have, by Kafka's own rule.
pub(super) fn topic_name(bytes: &[u8]) -> Option<&str> {
    let is_legal = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = (1..=MAX_NAME).contains(&bytes.len()) && bytes.iter().all(is_legal);
    std::str::from_utf8(bytes).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_the_latest_name_believed() {
        let id = |number: u32| {
            let mut id = [7; 16];
            id[..4].copy_from_slice(&number.to_be_bytes());
            id
        };
        let mut names = TopicNames::new();
        names.insert(NO_TOPIC, b"nothing");
        assert_eq!(names.name(NO_TOPIC), None);
        names.insert(id(0), b"first");
        names.insert(id(1), b"second");
        names.insert(id(0), b"renamed");
        assert_eq!(names.name(id(0)), Some("renamed"));
        for number in 2..MAX_TOPICS as u32 {
            names.insert(id(number), b"more");
        }
        assert_eq!(names.name(id(0)), Some("renamed"));
        names.insert(id(MAX_TOPICS as u32), b"one-too-many");
        assert_eq!(names.name(id(0)), None);
        assert_eq!(names.name(id(1)), Some("second"));
        assert_eq!((names.names.len(), names.order.len()), (MAX_TOPICS, MAX_TOPICS));
    }

    #[test]
    fn names_are_those_that_kafka_allows() {
        // org.apache.kafka.common.internals.Topic: at most 249 of these characters.
        assert_eq!(topic_name(b"orders.v2_eu-1"), Some("orders.v2_eu-1"));
        assert_eq!(topic_name(&[b'x'; 249]).map(str::len), Some(249));
        for wrong in [b"".as_slice(), b"a b", b"a\x1b[31m", "\u{e9}".as_bytes(), &[b'x'; 250], b"\xff"] {
            assert_eq!(topic_name(wrong), None);
        }
    }

    #[test]
    fn the_topic_of_the_metadata_log_has_the_same_id_everywhere() {
        let mut names = TopicNames::new();
        names.insert(CLUSTER_METADATA, b"other");
        assert_eq!(names.name(CLUSTER_METADATA), Some("__cluster_metadata"));
    }
}
