//! Messages of the formats 0 and 1 (before Kafka 0.11), which are a record and its batch in one.

use super::chain::{MAGIC, Next, PREFIX, next, number};
use super::facts::checksum;
use super::{BatchFacts, Layout};
use crate::dissect::nested::ValueSchema;
use crate::dissect::primitive::primitive;
use crate::dissect::walk::{Halt, Step, Walk};
use crate::dissect::{Codec, FaultKind, Nesting, Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::Field;
use crate::wire::{Bytes, WireErrorKind};

/// What the message around a compressed set says of those in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    /// What is added to their offsets.
    base: i64,
    /// The time of all of them, where it is the broker's.
    append_time: Option<i64>,
}

impl<'p, V: Visitor<'p>> Walk<'_, 'p, V> {
    /// A message of format 0 or 1. `outer` is what the compressed message says that holds it.
    pub(super) fn message(
        &mut self,
        input: &mut Bytes<'_>,
        place: Place<'p>,
        layout: Layout<'p>,
        outer: Option<Wrapper>,
        opening: Opening<'p>,
    ) {
        let bytes = input.as_slice();
        let Some(mut facts) = BatchFacts::read(bytes) else { return };
        let computed = checksum(bytes, facts.magic);
        if let Some(outer) = outer {
            facts.base_offset = facts.base_offset.wrapping_add(outer.base);
            facts.base_timestamp = outer.append_time.unwrap_or(facts.base_timestamp);
        }
        let nesting = if outer.is_some() { Nesting::Inner } else { Nesting::Whole };
        let scope = Scope::Batch(place, layout.batch_struct, nesting);
        self.visitor.enter(scope, input.offset());
        self.visitor.batch(facts);
        if self.message_members(input, layout, facts, computed, nesting, opening).is_err() {
            self.rest(input, Part::Undecoded);
        }
        self.visitor.leave(scope, input.offset());
    }

    fn message_members(
        &mut self,
        input: &mut Bytes<'_>,
        layout: Layout<'p>,
        facts: BatchFacts,
        computed: u32,
        nesting: Nesting,
        opening: Opening<'p>,
    ) -> Step {
        let Some((header, [key, value])) = layout.fields().split_last_chunk() else { return Err(Halt) };
        for field in header {
            let start = input.offset();
            self.value(input, layout.plan, Place::Field(field), false)?;
            if &*field.name == "Crc" && !facts.crc_valid {
                self.place_fault(Place::Field(field), self.span(start, *input), FaultKind::Crc { computed });
            }
        }
        let is_compressed = facts.codec() != Codec::NONE;
        if is_compressed && nesting == Nesting::Inner {
            // A compressed set inside of a compressed set: no release writes that.
            self.place_fault(
                Place::Field(value),
                self.span(input.offset(), input.split(input.len()).1),
                FaultKind::TooDeep,
            );
        }
        if !is_compressed || nesting == Nesting::Inner {
            self.visitor.enter(Scope::OneRecord, input.offset());
            self.visitor.record(facts.base_offset, facts.base_timestamp);
            let step = self.one_record(input, key, value, opening);
            self.visitor.leave(Scope::OneRecord, input.offset());
            return step;
        }
        self.value(input, layout.plan, Place::Field(key), true)?;
        self.inflated(input, facts.compression(), opening, |walk, inside| {
            walk.inner_messages(inside, layout, facts, opening);
        })
    }

    /// Key and value of a message that is not compressed.
    fn one_record(&mut self, input: &mut Bytes<'_>, key: &'p Field, value: &'p Field, opening: Opening<'p>) -> Step {
        let mut schema = ValueSchema::Unknown;
        self.bytes(input, key, |walk, bytes, at| schema = walk.record_key(key, bytes, at, false, opening))?;
        let schema = self.context.value_schema(schema);
        self.bytes(input, value, |walk, bytes, at| walk.record_value(value, bytes, at, schema, opening))
    }

    /// Bytes with their length in front, which `tell` tells, unless they are null.
    fn bytes(&mut self, input: &mut Bytes<'_>, field: &'p Field, tell: impl FnOnce(&mut Self, &[u8], Span)) -> Step {
        let (start, place) = (input.offset(), Place::Field(field));
        let value = self.read(input, |bytes| primitive(field.ty, bytes), place)?;
        let at = self.span(start, *input);
        match value {
            Value::Bytes(Some(bytes)) => tell(self, bytes, at),
            _ => self.visitor.value(place, value, at),
        }
        Ok(())
    }

    /// The messages of a compressed set. In format 1 their offsets count from the beginning of the set, and the offset
    /// of the message that holds them is that of the last one (KIP-31).
    fn inner_messages(&mut self, input: &mut Bytes<'_>, layout: Layout<'p>, facts: BatchFacts, opening: Opening<'p>) {
        let (count, last) = survey(input.as_slice());
        // Producers write 0 around the set and count from 0 in it; and where the end of the set is not there, nobody knows
        // its last offset. Then the offsets stay as they stand.
        let base = facts.base_offset.wrapping_sub(last);
        let base = if facts.magic == 1 && base >= 0 && self.complete { base } else { 0 };
        let append_time = (facts.magic == 1 && facts.is_log_append_time()).then_some(facts.base_timestamp);
        let wrapper = Wrapper { base, append_time };
        let Some(field) = layout.plan.untagged(layout.plan.top()).first() else { return };
        let scope = Scope::Array(Place::Field(field), layout.batch, Some(count));
        self.visitor.enter(scope, input.offset());
        let mut is_full = false;
        for index in 0..count {
            is_full = self.visitor.is_full();
            if is_full {
                self.full(Place::Field(field), "message", index, None, *input);
                break;
            }
            let total = number(input.as_slice(), 8).map_or(0, i32::from_be_bytes);
            let total = usize::try_from(total).map_or(0, |total| total + PREFIX);
            let (mut message, rest) = input.split(total);
            *input = rest;
            let magic = message.as_slice().get(MAGIC).copied().unwrap_or(facts.magic);
            let own = if magic == facts.magic { Some(layout) } else { Layout::of(magic, opening) };
            let layout = own.unwrap_or(layout);
            let place = Place::Element(layout.batch, index);
            if self.push(place, message.offset()).is_ok() {
                self.message(&mut message, place, layout, Some(wrapper), opening);
                self.trail.pop();
            }
            self.rest(&mut message, Part::Undecoded);
        }
        self.visitor.leave(scope, input.offset());
        // When not all could be inflated, that was told already.
        if !input.is_empty() && self.complete && !is_full {
            let length = number(input.as_slice(), 8).map_or(0, i32::from_be_bytes);
            let available = input.len().saturating_sub(PREFIX) as u32;
            let kind = WireErrorKind::LengthTooLarge { length: length.into(), available };
            let at = self.span(input.offset(), input.split(input.len()).1);
            self.fault("message", "Message", at, FaultKind::Wire(kind));
        }
        self.rest(input, Part::Undecoded);
    }
}

/// How many whole messages a set holds, and the offset of the last one.
fn survey(bytes: &[u8]) -> (u32, i64) {
    let (mut rest, mut count, mut last) = (bytes, 0, 0);
    while let Next::Whole { magic: 0 | 1, total } = next(rest) {
        last = number(rest, 0).map_or(0, i64::from_be_bytes);
        count += 1;
        rest = rest.get(total..).unwrap_or_default();
    }
    (count, last)
}
