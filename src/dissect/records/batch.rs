//! Batches of format 2 (KIP-98) and their records.

use super::chain::number;
use super::facts::checksum;
use super::{BatchFacts, Layout};
use crate::dissect::array::StructArray;
use crate::dissect::nested::ValueSchema;
use crate::dissect::walk::{Halt, Step, Walk};
use crate::dissect::{Codec, FaultKind, Nesting, Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::{Field, Plan};
use crate::wire::{self, Bytes, WireErrorKind};

/// The records of a batch: how they are laid out, and what the batch says of them.
#[derive(Clone, Copy)]
struct RecordList<'p> {
    layout: &'p Plan,
    record: StructArray<'p>,
    facts: BatchFacts,
    count: i32,
    last_offset_delta: i32,
    opening: Opening<'p>,
    /// The headers of a record.
    header: StructArray<'p>,
}

/// Broken records of a batch after which the rest of it is taken for something else.
const MOST_BROKEN: u32 = 100;

impl<'p, V: Visitor<'p>> Walk<'_, 'p, V> {
    pub(super) fn batch(&mut self, input: &mut Bytes<'_>, place: Place<'p>, layout: Layout<'p>, opening: Opening<'p>) {
        let bytes = input.as_slice();
        let Some(facts) = BatchFacts::read(bytes) else { return };
        let computed = checksum(bytes, 2);
        let scope = Scope::Batch(place, layout.batch_struct, Nesting::Whole);
        self.visitor.enter(scope, input.offset());
        self.visitor.batch(facts);
        if self.batch_members(input, layout, facts, computed, opening).is_err() {
            self.rest(input, Part::Undecoded);
        }
        self.visitor.leave(scope, input.offset());
    }

    fn batch_members(
        &mut self,
        input: &mut Bytes<'_>,
        layout: Layout<'p>,
        facts: BatchFacts,
        computed: u32,
        opening: Opening<'p>,
    ) -> Step {
        let Some((records, header)) = layout.fields().split_last() else { return Err(Halt) };
        let (mut last_offset_delta, mut count) = (0, 0);
        for field in header {
            let start = input.offset();
            last_offset_delta = if &*field.name == "LastOffsetDelta" { peek(*input) } else { last_offset_delta };
            count = peek(*input);
            self.value(input, layout.plan, Place::Field(field), false)?;
            if &*field.name == "Crc" && !facts.crc_valid {
                self.place_fault(Place::Field(field), self.span(start, *input), FaultKind::Crc { computed });
            }
        }
        let Some(record) = StructArray::new(layout.plan, records) else { return Err(Halt) };
        let headers = record.fields.last().and_then(|headers| StructArray::new(layout.plan, headers));
        let Some(header) = headers else { return Err(Halt) };
        let list = RecordList { layout: layout.plan, record, facts, count, last_offset_delta, header, opening };
        if facts.codec() == Codec::NONE {
            return self.record_list(input, list);
        }
        self.inflated(input, facts.compression(), opening, |walk, inside| {
            if walk.record_list(inside, list).is_err() {
                walk.rest(inside, Part::Undecoded);
            }
        })
    }

    fn record_list(&mut self, input: &mut Bytes<'_>, list: RecordList<'p>) -> Step {
        let StructArray { field, element, .. } = list.record;
        let start = input.offset();
        let said = u32::try_from(list.count).unwrap_or(0);
        let scope = Scope::Array(Place::Field(field), element, Some(said));
        self.visitor.enter(scope, start);
        let mut step = self.push(Place::Field(field), start);
        if step.is_ok() {
            let (mut found, mut broken) = (0, 0);
            while step.is_ok() && found < said && !input.is_empty() && broken < MOST_BROKEN {
                if self.visitor.is_full() {
                    break;
                }
                step = self.record(input, found, list).map(|is_whole| broken += u32::from(!is_whole));
                found += 1;
            }
            self.trail.pop();
            if step.is_ok() && found < said && !input.is_empty() && self.visitor.is_full() {
                step = Err(self.full(Place::Field(field), "record", found, Some(said - found), *input));
            }
            // When not all could be inflated, that was told already.
            let is_short = found < said && (self.complete || !input.is_empty());
            if step.is_ok() && (is_short || !input.is_empty() || list.count < 0) {
                let kind = FaultKind::RecordCount { said: list.count, found, left: input.len() as u32 };
                self.place_fault(Place::Field(field), self.span(start, *input), kind);
                step = Err(Halt);
            }
        }
        self.visitor.leave(scope, input.offset());
        step
    }

    /// One record, and whether it is whole. Its length bounds it: a fault inside of it ends with it.
    fn record(&mut self, input: &mut Bytes<'_>, index: u32, list: RecordList<'p>) -> Result<bool, Halt> {
        let StructArray { element, of, fields, .. } = list.record;
        let Some((length_field, others)) = fields.split_first() else { return Err(Halt) };
        let place = Place::Element(element, index);
        let start = input.offset();
        self.push(place, start)?;
        self.visitor.enter(Scope::Struct(place, of), start);
        let step = self.varint(input, length_field).and_then(|length| {
            let Some(size) = usize::try_from(length).ok().filter(|size| *size <= input.len()) else {
                if length < 0 || self.complete {
                    let kind = WireErrorKind::LengthTooLarge { length: length.into(), available: input.len() as u32 };
                    self.place_fault(Place::Field(length_field), self.span(start, *input), FaultKind::Wire(kind));
                }
                return Err(Halt);
            };
            let (mut inside, rest) = input.split(size);
            *input = rest;
            let complete = std::mem::replace(&mut self.complete, true);
            let is_whole = self.record_members(&mut inside, others, list).is_ok();
            self.complete = complete;
            if is_whole && !inside.is_empty() {
                let kind = FaultKind::RecordLength { length, left: inside.len() as u32 };
                self.place_fault(Place::Field(length_field), self.span(start, inside), kind);
            }
            self.rest(&mut inside, Part::Undecoded);
            Ok(is_whole)
        });
        self.trail.pop();
        self.visitor.leave(Scope::Struct(place, of), input.offset());
        step
    }

    fn record_members(&mut self, input: &mut Bytes<'_>, fields: &'p [Field], list: RecordList<'p>) -> Step {
        let [attributes, timestamp_delta, offset_delta, key_length, key, value_length, value, headers_count, headers] =
            fields
        else {
            return Err(Halt);
        };
        self.value(input, list.layout, Place::Field(attributes), false)?;
        let since = self.varlong(input, timestamp_delta)?;
        let start = input.offset();
        let delta = self.varint(input, offset_delta)?;
        if delta > list.last_offset_delta || delta < 0 {
            let kind = FaultKind::OffsetDelta { found: delta, last: list.last_offset_delta };
            self.place_fault(Place::Field(offset_delta), self.span(start, *input), kind);
        }
        let facts = list.facts;
        let timestamp =
            if facts.is_log_append_time() { facts.max_timestamp } else { facts.base_timestamp.wrapping_add(since) };
        self.visitor.record(facts.base_offset.wrapping_add(delta.into()), timestamp);
        let mut schema = ValueSchema::Unknown;
        self.sized(input, key_length, key, |walk, bytes, at| {
            schema = walk.record_key(key, bytes, at, facts.is_control(), list.opening);
        })?;
        if !facts.is_control() {
            schema = self.context.value_schema(schema);
        }
        self.sized(input, value_length, value, |walk, bytes, at| {
            walk.record_value(value, bytes, at, schema, list.opening);
        })?;
        let start = input.offset();
        let count = self.varint(input, headers_count)?;
        let header = list.header;
        // A header is two lengths at least.
        let Some(count) = u32::try_from(count).ok().filter(|count| *count as usize <= input.len() / 2) else {
            let kind =
                FaultKind::TooManyElements { count: count.cast_unsigned(), each: 2, available: input.len() as u32 };
            self.place_fault(Place::Field(headers_count), self.span(start, *input), kind);
            return Err(Halt);
        };
        let scope = Scope::Array(Place::Field(headers), header.element, Some(count));
        self.push(Place::Field(headers), input.offset())?;
        self.visitor.enter(scope, input.offset());
        let (mut step, mut index) = (Ok(()), 0);
        while step.is_ok() && index < count && !self.visitor.is_full() {
            step = self.header_of_record(input, index, header);
            index += 1;
        }
        self.trail.pop();
        if step.is_ok() && index < count {
            step = Err(self.full(Place::Field(headers), "header", index, Some(count - index), *input));
        }
        self.visitor.leave(scope, input.offset());
        step
    }

    fn header_of_record(&mut self, input: &mut Bytes<'_>, index: u32, header: StructArray<'p>) -> Step {
        let [key_length, key, value_length, value] = header.fields else { return Err(Halt) };
        let place = Place::Element(header.element, index);
        self.push(place, input.offset())?;
        self.visitor.enter(Scope::Struct(place, header.of), input.offset());
        let plain = |field| {
            move |walk: &mut Self, bytes: &[u8], at| {
                walk.visitor.value(Place::Field(field), Value::Bytes(Some(bytes)), at);
            }
        };
        let step = self.sized(input, key_length, key, plain(key));
        let step = step.and_then(|()| self.sized(input, value_length, value, plain(value)));
        self.trail.pop();
        self.visitor.leave(Scope::Struct(place, header.of), input.offset());
        step
    }

    /// Bytes behind their length, which `tell` tells; a negative length is null.
    fn sized(
        &mut self,
        input: &mut Bytes<'_>,
        length_field: &'p Field,
        field: &'p Field,
        tell: impl FnOnce(&mut Self, &[u8], Span),
    ) -> Step {
        let length = self.varint(input, length_field)?;
        let start = input.offset();
        let place = Place::Field(field);
        let Ok(length) = usize::try_from(length) else {
            let at = self.span(start, *input);
            self.visitor.value(place, Value::Bytes(None), at);
            if !field.nullable {
                self.place_fault(place, at, FaultKind::Null);
            }
            return Ok(());
        };
        let Some(bytes) = input.as_slice().get(..length) else {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let kind = WireErrorKind::LengthTooLarge { length, available: input.len() as u32 };
            self.place_fault(place, self.span(start, input.split(input.len()).1), FaultKind::Wire(kind));
            return Err(Halt);
        };
        *input = input.split(length).1;
        let at = self.span(start, *input);
        tell(self, bytes, at);
        Ok(())
    }

    fn varint(&mut self, input: &mut Bytes<'_>, field: &'p Field) -> Result<i32, Halt> {
        let start = input.offset();
        let number = self.read(input, wire::varint, Place::Field(field))?;
        self.visitor.value(Place::Field(field), Value::Int(number.into()), self.span(start, *input));
        Ok(number)
    }

    fn varlong(&mut self, input: &mut Bytes<'_>, field: &'p Field) -> Result<i64, Halt> {
        let start = input.offset();
        let number = self.read(input, wire::varlong, Place::Field(field))?;
        self.visitor.value(Place::Field(field), Value::Int(number), self.span(start, *input));
        Ok(number)
    }
}

fn peek(input: Bytes<'_>) -> i32 {
    number(input.as_slice(), 0).map_or(0, i32::from_be_bytes)
}
