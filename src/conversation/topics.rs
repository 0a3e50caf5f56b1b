//! Which topic has which id, as far as the capture has told.
//!
//! Newer versions of Fetch, Produce and others name topics by ids alone (KIP-516). Whatever message has both the id and
//! the name of a topic tells which belongs to which; its plan says whether it may (`Plan::names_topics`).

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};

use crate::dissect::{Place, Reading, Scope, Span, Value, Visitor, dissect, value_of};
use crate::protocol::{Plan, Struct, TopicField, Type};

/// The names of topics by their ids, in the order of the capture: of two names of an id the later one is believed.
#[derive(Debug, Clone, Default)]
pub struct TopicNames {
    names: HashMap<TopicId, Box<str>>,
    /// Ids in the order in which they were first seen, to forget the oldest.
    order: VecDeque<TopicId>,
    changes: u64,
}

type TopicId = [u8; 16];

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

    /// Learns the topics that a message has both id and name of.
    pub(super) fn learn(&mut self, reading: &Reading<'_>, frame: &[u8]) {
        if reading.body.is_some_and(Plan::names_topics) {
            dissect(reading, frame, &mut Learner { names: self, frame, open: Vec::new() });
        }
    }

    fn insert(&mut self, id: TopicId, name: &str) {
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
fn topic_name(bytes: &[u8]) -> Option<&str> {
    let is_legal = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = (1..=MAX_NAME).contains(&bytes.len()) && bytes.iter().all(is_legal);
    std::str::from_utf8(bytes).ok().filter(|_| fits)
}

/// Hears ids and names.
struct Learner<'n> {
    names: &'n mut TopicNames,
    frame: &'n [u8],
    /// What was heard of the structs that are open and name a topic.
    open: Vec<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    id: Option<TopicId>,
    name: Option<(Type, Span)>,
}

/// The struct that a scope is.
fn struct_of(scope: Scope<'_>) -> Option<&Struct> {
    match scope {
        Scope::Body(plan) => Some(plan.top()),
        Scope::Struct(_, of) => Some(of),
        _ => None,
    }
}

impl<'p> Visitor<'p> for Learner<'_> {
    #[inline]
    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        if struct_of(scope).is_some_and(|of| of.names_topic) {
            self.open.push(Heard::default());
        }
    }

    #[inline]
    fn leave(&mut self, scope: Scope<'p>, _: u32) {
        if struct_of(scope).is_none_or(|of| !of.names_topic) {
            return;
        }
        if let Some(Heard { id: Some(id), name: Some((ty, span)) }) = self.open.pop() {
            let bytes = self.frame.get(span.start as usize..span.end() as usize).unwrap_or_default();
            if let Some(Value::String(Some(text))) = value_of(ty, bytes)
                && let Some(name) = topic_name(text)
            {
                self.names.insert(id, name);
            }
        }
    }

    #[inline]
    fn value(&mut self, place: Place<'p>, value: Value<'_>, span: Span) {
        let Place::Field(field) = place else { return };
        let Some(topic) = field.topic else { return };
        let Some(heard) = self.open.last_mut() else { return };
        match (topic, value) {
            (TopicField::Id, Value::Uuid(id)) => heard.id = Some(id),
            (TopicField::Name, _) => heard.name = Some((field.ty, span)),
            _ => {}
        }
    }
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
        names.insert(NO_TOPIC, "nothing");
        assert_eq!(names.name(NO_TOPIC), None);
        names.insert(id(0), "first");
        names.insert(id(1), "second");
        names.insert(id(0), "renamed");
        assert_eq!(names.name(id(0)), Some("renamed"));
        for number in 2..MAX_TOPICS as u32 {
            names.insert(id(number), "more");
        }
        assert_eq!(names.name(id(0)), Some("renamed"));
        names.insert(id(MAX_TOPICS as u32), "one too many");
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
        names.insert(CLUSTER_METADATA, "other");
        assert_eq!(names.name(CLUSTER_METADATA), Some("__cluster_metadata"));
    }
}
