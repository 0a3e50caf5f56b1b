//! Record batches (format 2) and message sets (formats 0 and 1) inside of a records field.

use std::cell::RefCell;

use super::inflate::{Codec, InflateError, inflate};
use super::nested::ValueSchema;
use super::walk::{Halt, Step, Walk};
use super::{FaultKind, Inflated, Nesting, Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::{Element, Field, Plan, Struct, TopicFormat, Type};
use crate::wire::{self, Bytes, WireErrorKind};

/// What is known of a batch, or of a message of the old formats, before its fields are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchFacts {
    /// The format: 0, 1 or 2.
    pub magic: u8,
    /// Whether the checksum is right.
    pub crc_valid: bool,
    /// Codec and flags.
    pub attributes: i16,
    /// The offset that deltas count from; of an old message, its own.
    pub base_offset: i64,
    /// The timestamp that deltas count from; of an old message, its own, or -1.
    pub base_timestamp: i64,
    /// The latest timestamp, or when the broker appended the batch.
    pub max_timestamp: i64,
}

impl BatchFacts {
    /// Reads a whole batch or message and checks its checksum; `None` where the bytes end before its header does, or its
    /// format is not known.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let facts = Self::peek(bytes)?;
        let stored = number(bytes, if facts.magic == 2 { 17 } else { PREFIX }).map(u32::from_be_bytes)?;
        Some(Self { crc_valid: stored == checksum(bytes, facts.magic), ..facts })
    }

    /// The same without the checksum, which is taken for wrong.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        let magic = *bytes.get(MAGIC)?;
        let int64 = |at| number(bytes, at).map(i64::from_be_bytes);
        let base_offset = int64(0)?;
        if magic == 2 {
            return Some(Self {
                magic,
                crc_valid: false,
                attributes: number(bytes, ATTRIBUTES).map(i16::from_be_bytes)?,
                base_offset,
                base_timestamp: int64(27)?,
                max_timestamp: int64(35)?,
            });
        }
        let timestamp = if magic == 1 { int64(18)? } else { -1 };
        Some(Self {
            magic,
            crc_valid: false,
            attributes: (*bytes.get(MAGIC + 1)?).into(),
            base_offset,
            base_timestamp: timestamp,
            max_timestamp: timestamp,
        })
    }

    /// Whether bytes begin with a whole batch, by its checksum.
    fn starts_whole(self, bytes: Bytes<'_>) -> bool {
        let length = number(bytes.as_slice(), 8).map_or(0, i32::from_be_bytes);
        let total = usize::try_from(length).map_or(0, |length| length + PREFIX);
        let whole = bytes.as_slice().get(..total);
        whole.and_then(Self::read).is_some_and(|facts| facts.magic == self.magic && facts.crc_valid)
    }

    /// Codec and flags in words.
    pub fn flags(self) -> String {
        let time = if self.is_log_append_time() { "LogAppendTime" } else { "CreateTime" };
        let flags = [
            (true, self.codec().name()),
            (self.magic > 0, time),
            (self.is_transactional(), "transactional"),
            (self.is_control(), "control"),
            (self.delete_horizon().is_some(), "delete horizon"),
        ];
        let words: Vec<&str> = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word).collect();
        words.join(", ")
    }

    /// The codec.
    pub fn codec(self) -> Codec {
        Codec::of(self.attributes)
    }

    /// Whether timestamps are those of the broker.
    pub fn is_log_append_time(self) -> bool {
        self.attributes & 0x8 != 0
    }

    /// When the batch's tombstones may be removed, in milliseconds, where its base timestamp says that (KIP-534).
    pub fn delete_horizon(self) -> Option<i64> {
        (self.magic >= 2 && self.attributes & 0x40 != 0).then_some(self.base_timestamp)
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(self) -> bool {
        self.magic >= 2 && self.attributes & 0x10 != 0
    }

    /// Whether its records are markers of brokers, not data.
    pub fn is_control(self) -> bool {
        self.magic >= 2 && self.attributes & 0x20 != 0
    }
}

/// The plans of one format, taken apart.
#[derive(Clone, Copy)]
struct Layout<'p> {
    plan: &'p Plan,
    /// A batch, or an old message.
    batch: &'p Element,
    batch_struct: &'p Struct,
}

/// The parts of a record of format 2.
#[derive(Clone, Copy)]
struct RecordLayout<'p> {
    field: &'p Field,
    element: &'p Element,
    of: &'p Struct,
    fields: &'p [Field],
}

impl<'p> Layout<'p> {
    fn new(plan: &'p Plan) -> Option<Self> {
        let Type::Array(id) = plan.untagged(plan.top()).first()?.ty else { return None };
        let batch = plan.element(id);
        let Type::Struct(id) = batch.ty else { return None };
        Some(Self { plan, batch, batch_struct: plan.structure(id) })
    }

    fn named(name: &str, magic: u8, opening: Opening<'p>) -> Option<Self> {
        opening.catalog.plan(name, magic.into()).and_then(Self::new)
    }

    fn fields(self) -> &'p [Field] {
        self.plan.untagged(self.batch_struct)
    }
}

impl<'p> RecordLayout<'p> {
    /// The struct that the elements of a field's array are.
    fn new(plan: &'p Plan, field: &'p Field) -> Option<Self> {
        let Type::Array(id) = field.ty else { return None };
        let element = plan.element(id);
        let Type::Struct(id) = element.ty else { return None };
        let of = plan.structure(id);
        Some(Self { field, element, of, fields: plan.untagged(of) })
    }
}

/// Bytes from a batch's beginning up to and with its length.
pub(super) const PREFIX: usize = 12;
/// Where the magic stands, in all formats.
pub(super) const MAGIC: usize = 16;
/// Where what the checksum of format 2 covers begins.
pub(super) const ATTRIBUTES: usize = 21;
/// Bytes of a batch of format 2 without records.
pub(super) const BATCH: usize = 61;
/// Least sizes of messages of format 0 and 1: 14 and 22 bytes behind the size.
pub(super) const MESSAGE_0: usize = 26;
pub(super) const MESSAGE_1: usize = 34;
/// Broken records of a batch after which the rest of it is taken for something else.
const MOST_BROKEN: u32 = 100;

impl<'p, V: Visitor<'p>> Walk<'_, 'p, V> {
    /// A records field that is opened.
    pub(super) fn records(
        &mut self,
        input: &mut Bytes<'_>,
        place: Place<'p>,
        nullable: bool,
        opening: Opening<'p>,
    ) -> Step {
        let start = input.offset();
        let before = *input;
        let compact = place.ty() == Type::CompactRecords;
        let length = self.read(input, if compact { wire::length_compact } else { wire::length32 }, place)?;
        let Some(length) = length else {
            self.visitor.value(place, Value::Records(None), self.span(start, *input));
            if !nullable {
                self.place_fault(place, self.span(start, *input), FaultKind::Null);
            }
            return Ok(());
        };
        let available = input.len();
        if length as usize > available && self.complete {
            *input = before;
            let kind = WireErrorKind::LengthTooLarge { length: length.into(), available: available as u32 };
            self.place_fault(place, self.span(start, before.split(before.len()).1), FaultKind::Wire(kind));
            return Err(Halt);
        }
        self.visitor.enter(Scope::Records(place, length), start);
        self.visitor.part(Part::ByteLength { length, compact }, self.span(start, *input));
        let (mut inside, rest) = input.split(length as usize);
        *input = rest;
        let step = self.push(place, start);
        if step.is_ok() {
            // A part of a snapshot's file: it may begin and end anywhere in a batch (KIP-630).
            let is_aligned = place.field().is_none_or(|field| &*field.name != "UnalignedRecords");
            if is_aligned || BatchFacts::read(inside.as_slice()).is_some_and(|facts| facts.starts_whole(inside)) {
                self.batches(&mut inside, opening);
            } else {
                self.rest(&mut inside, Part::Partial);
            }
            self.trail.pop();
        }
        self.rest(&mut inside, Part::Undecoded);
        self.visitor.leave(Scope::Records(place, length), inside.offset());
        if length as usize > available {
            let kind = FaultKind::Lost { missing: self.missing };
            self.place_fault(place, self.span(input.offset(), *input), kind);
            return Err(Halt);
        }
        step
    }

    /// Batches one behind the other, of any formats. What is left of the input could not be read.
    fn batches(&mut self, input: &mut Bytes<'_>, opening: Opening<'p>) {
        for index in 0.. {
            let bytes = input.as_slice();
            if self.visitor.is_full() && !input.is_empty() {
                let at = Span { buffer: self.buffer, start: input.offset(), len: input.len() as u32 };
                self.fault("records", "bytes", at, FaultKind::Full { what: "batch", read: index });
                return;
            }
            let (Some(&magic), Some(length)) = (bytes.get(MAGIC), bytes.get(8..).and_then(<[u8]>::first_chunk)) else {
                self.partial(input);
                return;
            };
            let (name, least) = match magic {
                0 => ("MessageSet", MESSAGE_0),
                1 => ("MessageSet", MESSAGE_1),
                2 => ("RecordBatch", BATCH),
                _ => {
                    let at = self.span(input.offset() + MAGIC as u32, input.split(MAGIC + 1).1);
                    self.fault("magic", "int8", at, FaultKind::Magic { found: magic });
                    return;
                }
            };
            let Some(layout) = Layout::named(name, magic, opening) else { return };
            let length = i32::from_be_bytes(*length);
            let total = usize::try_from(length).map_or(0, |length| length + PREFIX);
            if total < least {
                let at = self.span(input.offset() + 8, input.split(PREFIX).1);
                let kind = FaultKind::BatchLength { length, least: (least - PREFIX) as u32 };
                self.fault("batch_length", "int32", at, kind);
                return;
            }
            if total > bytes.len() {
                self.partial(input);
                return;
            }
            let (mut batch, rest) = input.split(total);
            *input = rest;
            let complete = std::mem::replace(&mut self.complete, true);
            let place = Place::Element(layout.batch, index);
            if self.push(place, batch.offset()).is_ok() {
                if magic == 2 {
                    self.batch(&mut batch, place, layout, opening);
                } else {
                    self.message(&mut batch, place, layout, None, opening);
                }
                self.trail.pop();
            }
            self.complete = complete;
            self.rest(&mut batch, Part::Undecoded);
        }
    }

    /// The beginning of a batch that did not fit into an answer any more. A request has whole batches.
    fn partial(&mut self, input: &mut Bytes<'_>) {
        if self.is_request && self.complete && !input.is_empty() {
            let available = input.len() as u32;
            let kind = match number(input.as_slice(), 8).map(i32::from_be_bytes) {
                Some(length) => {
                    WireErrorKind::LengthTooLarge { length: length.into(), available: available - PREFIX as u32 }
                }
                None => WireErrorKind::Short { needed: PREFIX as u32, available },
            };
            let at = self.span(input.offset(), input.split(input.len()).1);
            self.fault("batch_length", "int32", at, FaultKind::Wire(kind));
        }
        self.rest(input, Part::Partial);
    }

    fn batch(&mut self, input: &mut Bytes<'_>, place: Place<'p>, layout: Layout<'p>, opening: Opening<'p>) {
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
        let Some(record) = RecordLayout::new(layout.plan, records) else { return Err(Halt) };
        let headers = record.fields.last().and_then(|headers| RecordLayout::new(layout.plan, headers));
        let Some(header) = headers else { return Err(Halt) };
        let list = RecordList { layout: layout.plan, record, facts, count, last_offset_delta, header, opening };
        if facts.codec() == Codec::NONE {
            return self.record_list(input, list);
        }
        self.inflated(input, Part::Compressed(facts.codec()), facts, opening, |walk, inside| {
            if walk.record_list(inside, list).is_err() {
                walk.rest(inside, Part::Undecoded);
            }
        })
    }

    /// Inflates the input and lets `read` walk what comes out, which is a buffer of its own.
    fn inflated(
        &mut self,
        input: &mut Bytes<'_>,
        part: Part<'_>,
        facts: BatchFacts,
        opening: Opening<'p>,
        read: impl FnOnce(&mut Self, &mut Bytes<'_>),
    ) -> Step {
        let (compressed, rest) = input.split(input.len());
        let at = self.span(compressed.offset(), rest);
        *input = rest;
        // An old message's value stands behind its length.
        let skip = if facts.magic < 2 { 4 } else { 0 };
        let bytes = compressed.as_slice().get(skip..).unwrap_or_default();
        self.visitor.part(part, at);
        let mut buffer = take_buffer();
        self.compressed_bytes = self.compressed_bytes.saturating_add(bytes.len() as u32);
        let limit = opening.limit(self.compressed_bytes);
        let left = limit.saturating_sub(self.inflated_bytes);
        let result = inflate(facts.codec(), facts.magic, bytes, left, &mut buffer);
        self.inflated_bytes += buffer.len() as u32;
        if let Err(error) = result {
            let error = if let InflateError::Limit(_) = error { InflateError::Limit(limit) } else { error };
            let kind = FaultKind::Inflate { codec: facts.codec(), error, inflated: buffer.len() as u32 };
            self.fault("records", "bytes", at, kind);
        }
        if !buffer.is_empty() {
            self.buffers += 1;
            let scope = Scope::Inflated(Inflated {
                buffer: self.buffers,
                codec: facts.codec(),
                compressed: bytes.len() as u32,
                size: buffer.len() as u32,
            });
            let outer = std::mem::replace(&mut self.buffer, self.buffers);
            let complete = std::mem::replace(&mut self.complete, result.is_ok());
            self.visitor.inflated(&buffer);
            self.visitor.enter(scope, 0);
            let mut inside = Bytes::new(&buffer);
            read(self, &mut inside);
            self.rest(&mut inside, Part::Undecoded);
            self.visitor.leave(scope, inside.offset());
            self.buffer = outer;
            self.complete = complete;
        }
        give_buffer(buffer);
        if matches!(result, Err(InflateError::UnknownCodec)) { Err(Halt) } else { Ok(()) }
    }

    fn record_list(&mut self, input: &mut Bytes<'_>, list: RecordList<'p>) -> Step {
        let RecordLayout { field, element, .. } = list.record;
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
                step = Err(self.full(Place::Field(field), "record", found, *input));
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
        let RecordLayout { element, of, fields, .. } = list.record;
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
        if let Some(TopicFormat::Metadata(module)) = self.context.topic
            && !facts.is_control()
        {
            // Its records have no keys.
            schema = ValueSchema::Metadata(module);
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
            step = Err(self.full(Place::Field(headers), "header", index, *input));
        }
        self.visitor.leave(scope, input.offset());
        step
    }

    fn header_of_record(&mut self, input: &mut Bytes<'_>, index: u32, header: RecordLayout<'p>) -> Step {
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

    /// A message of format 0 or 1. `outer` is what the compressed message says that holds it.
    fn message(
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
            let step = self
                .value(input, layout.plan, Place::Field(key), true)
                .and_then(|()| self.value(input, layout.plan, Place::Field(value), true));
            self.visitor.leave(Scope::OneRecord, input.offset());
            return step;
        }
        self.value(input, layout.plan, Place::Field(key), true)?;
        self.inflated(input, Part::Compressed(facts.codec()), facts, opening, |walk, inside| {
            walk.inner_messages(inside, layout, facts, opening);
        })
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
                self.full(Place::Field(field), "message", index, *input);
                break;
            }
            let total = number(input.as_slice(), 8).map_or(0, i32::from_be_bytes);
            let total = usize::try_from(total).map_or(0, |total| total + PREFIX);
            let (mut message, rest) = input.split(total);
            *input = rest;
            let magic = message.as_slice().get(MAGIC).copied().unwrap_or(facts.magic);
            let own = if magic == facts.magic { Some(layout) } else { Layout::named("MessageSet", magic, opening) };
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

/// What the message around a compressed set says of those in it.
#[derive(Debug, Clone, Copy)]
struct Wrapper {
    /// What is added to their offsets.
    base: i64,
    /// The time of all of them, where it is the broker's.
    append_time: Option<i64>,
}

/// The records of a batch: how they are laid out, and what the batch says of them.
#[derive(Clone, Copy)]
struct RecordList<'p> {
    layout: &'p Plan,
    record: RecordLayout<'p>,
    facts: BatchFacts,
    count: i32,
    last_offset_delta: i32,
    opening: Opening<'p>,
    /// The headers of a record.
    header: RecordLayout<'p>,
}

/// How many whole messages a set holds, and the offset of the last one.
fn survey(bytes: &[u8]) -> (u32, i64) {
    let (mut at, mut count, mut last) = (0, 0, 0);
    while let (Some(offset), Some(length)) = (number(bytes, at), number(bytes, at + 8)) {
        let length = i32::from_be_bytes(length);
        let Ok(length) = usize::try_from(length) else { break };
        let Some(magic) = bytes.get(at + MAGIC).filter(|magic| **magic < 2) else { break };
        let smallest = if *magic == 0 { MESSAGE_0 } else { MESSAGE_1 };
        if length + PREFIX < smallest || at + PREFIX + length > bytes.len() {
            break;
        }
        last = i64::from_be_bytes(offset);
        count += 1;
        at += PREFIX + length;
    }
    (count, last)
}

/// The checksum of a batch or message: CRC-32C from the attributes on, in the old formats CRC-32 from the magic on.
fn checksum(bytes: &[u8], magic: u8) -> u32 {
    if magic >= 2 {
        return crc32c::crc32c(bytes.get(ATTRIBUTES..).unwrap_or_default());
    }
    crc32fast::hash(bytes.get(MAGIC..).unwrap_or_default())
}

/// `N` bytes at a place.
pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied()
}

fn peek(input: Bytes<'_>) -> i32 {
    number(input.as_slice(), 0).map_or(0, i32::from_be_bytes)
}

thread_local! {
    /// Buffers that were inflated into, to be used again: a fresh one for each batch would be paid for in page faults.
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

fn take_buffer() -> Vec<u8> {
    BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default()
}

fn give_buffer(mut buffer: Vec<u8>) {
    const KEEP: usize = 2;
    buffer.clear();
    BUFFERS.with_borrow_mut(|buffers| {
        if buffers.len() < KEEP {
            buffers.push(buffer);
        }
    });
}
