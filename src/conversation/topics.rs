//! What messages teach of topics: which has which id.
//!
//! Newer versions of Fetch, Produce and others name topics by ids alone (KIP-516). Whatever message has both the id and
//! the name of a topic tells which belongs to which; its plan says whether it may ([`Plan::names_topics`](crate::protocol::Plan::names_topics)). So do the
//! records of the metadata log, where somebody fetches them.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use crate::dissect::{
    BatchFacts, Opening, Place, Reading, Scope, Span, TopicId, TopicNames, Value, Visitor, dissect, value_of,
};
use crate::protocol::{Catalog, Plan, Role, Side, Struct, TopicField, TopicFormat, Type};

/// Learns the topics that messages have both id and name of.
#[derive(Debug, Default)]
pub(super) struct Teaching {
    repeated: Repeated,
}

impl Teaching {
    /// Learns what a message says.
    pub(super) fn learn<'p>(
        &mut self,
        names: &mut TopicNames,
        catalog: &'p Catalog,
        reading: &Reading<'p>,
        frame: &[u8],
    ) {
        let Some(plan) = reading.body else { return };
        let is_response = reading.side == Side::Response;
        let is_log = is_response && plan.holds_records() && MetadataLog::is_in(catalog, reading, frame);
        if !is_log && !plan.names_topics() {
            return;
        }
        let hash = self.repeated.hash(plan, frame);
        if is_response && self.repeated.taught_nothing(hash, names.changes()) {
            return;
        }
        // Brokers do not compress the metadata log.
        let opening = is_log.then_some(Opening { max_inflate: Some(0), ..Opening::new(catalog) });
        let before = names.changes();
        dissect(reading, frame, &mut Learner { names, frame, open: Vec::new(), opening, is_whole: true });
        if names.changes() == before {
            self.repeated.note(hash, before);
        }
    }
}

/// Responses that have taught nothing new: what a broker says of its topics, it says again and again. They are known by
/// their hashes, and only as long as nothing else was learnt.
#[derive(Debug)]
struct Repeated {
    hasher: RandomState,
    hashes: [u64; 64],
    changes: u64,
}

impl Default for Repeated {
    fn default() -> Self {
        Self { hasher: RandomState::default(), hashes: [0; 64], changes: 0 }
    }
}

impl Repeated {
    /// The hash of a response but for its correlation id.
    fn hash(&self, plan: &Plan, frame: &[u8]) -> u64 {
        const BODY: usize = 8;
        self.hasher.hash_one((std::ptr::from_ref(plan).addr(), frame.get(BODY..)))
    }

    fn taught_nothing(&self, hash: u64, changes: u64) -> bool {
        self.changes == changes && self.hashes.get(Self::slot(hash)) == Some(&hash)
    }

    fn note(&mut self, hash: u64, changes: u64) {
        if self.changes != changes {
            self.changes = changes;
            self.hashes = [0; 64];
        }
        if let Some(slot) = self.hashes.get_mut(Self::slot(hash)) {
            *slot = hash;
        }
    }

    fn slot(hash: u64) -> usize {
        hash as usize % 64
    }
}

/// Hears whether there are records of the metadata log.
struct MetadataLog<'p> {
    catalog: &'p Catalog,
    is_there: bool,
}

impl<'p> MetadataLog<'p> {
    fn is_in(catalog: &'p Catalog, reading: &Reading<'p>, frame: &[u8]) -> bool {
        let mut log = Self { catalog, is_there: false };
        dissect(reading, frame, &mut log);
        log.is_there
    }
}

impl<'p> Visitor<'p> for MetadataLog<'p> {
    fn value(&mut self, place: Place<'p>, value: Value<'_>, _: Span) {
        let Place::Field(field) = place else { return };
        let format = match (field.role, value) {
            (Role::Topic, Value::String(Some(name))) => self.catalog.topic_format(name),
            (Role::TopicId, Value::Uuid(id)) => self.catalog.topic_id_format(id),
            _ => None,
        };
        self.is_there |= format == Some(TopicFormat::Metadata("metadata"));
    }
}

/// Hears ids and names.
struct Learner<'n, 'p> {
    names: &'n mut TopicNames,
    frame: &'n [u8],
    /// With what records are opened, where they teach something.
    opening: Option<Opening<'p>>,
    /// Whether the checksum of the batch that is walked is right.
    is_whole: bool,
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
        Scope::Body(plan) | Scope::Payload(_, plan) => Some(plan.top()),
        Scope::Struct(_, of) => Some(of),
        _ => None,
    }
}

impl<'p> Visitor<'p> for Learner<'_, 'p> {
    #[inline]
    fn opening(&self) -> Option<Opening<'p>> {
        self.opening
    }

    fn batch(&mut self, facts: BatchFacts) {
        self.is_whole = facts.crc_valid;
    }

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
            if let Some(Value::String(Some(name))) = value_of(ty, bytes).filter(|_| self.is_whole) {
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
            // What was inflated is in another buffer than the frame.
            (TopicField::Name, _) if span.buffer == 0 => heard.name = Some((field.ty, span)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_taught_nothing_is_not_heard_again_until_something_changes() {
        let catalog = Catalog::builtin();
        let plan = catalog.plan("MetadataResponse", 12).unwrap();
        let mut repeated = Repeated::default();
        // Size, correlation id, body.
        let hash = |repeated: &Repeated, correlation: u8, body: &[u8]| {
            repeated.hash(plan, &[&[0, 0, 0, 9, 0, 0, 0, correlation], body].concat())
        };
        let said = hash(&repeated, 1, b"orders");
        assert!(!repeated.taught_nothing(said, 0));
        repeated.note(said, 0);
        let again = hash(&repeated, 2, b"orders");
        assert!(repeated.taught_nothing(again, 0));
        assert!(!repeated.taught_nothing(hash(&repeated, 2, b"parcel"), 0));
        // What was learnt since may be taken back by what was said before.
        assert!(!repeated.taught_nothing(again, 1));
        repeated.note(hash(&repeated, 3, b"parcel"), 1);
        assert!(!repeated.taught_nothing(again, 1));
    }
}
