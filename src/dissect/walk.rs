//! The walk itself.

use std::fmt::Write;

use arrayvec::ArrayVec;
use nom::Err;

use super::known::Known;
use super::nested::Context;
use super::primitive::primitive;
use super::{Fault, FaultKind, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::{Element, Field, Kind, Plan, Prefix, Role, Side, Struct, Type};
use crate::wire::{self, Bytes, Parsed, WireError, WireErrorKind};

/// How a frame is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'p> {
    /// Request or response.
    pub side: Side,
    /// Its header; `None` for a bare token.
    pub header: Option<&'p Plan>,
    /// Its body; `None` where the API or version is not known.
    pub body: Option<&'p Plan>,
    /// Whether the four bytes of the size stand in front.
    pub sized: bool,
    /// How many bytes at the end of the frame the capture lacks.
    pub missing: u32,
    /// What is known of it from outside of its bytes.
    pub known: Known,
}

/// How a walk went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The faults that were met; a visitor is told of the first 1000 of them.
    pub faults: u32,
    /// Bytes behind the end of the body.
    pub trailing: u32,
    /// Bytes that were not decoded.
    pub undecoded: u32,
}

impl Outcome {
    /// Whether the plan took the bytes to the last one without a fault.
    pub fn is_exact(self) -> bool {
        self == Self::default()
    }
}

/// Walks a frame: size, header, body.
pub fn dissect<'p, V: Visitor<'p>>(reading: &Reading<'p>, frame: &[u8], visitor: &mut V) -> Outcome {
    let mut walk = Walk::new(visitor, reading.missing, reading.known);
    walk.frame(reading, frame);
    walk.outcome
}

/// Walks a payload that lies inside of messages, topics or files, with the prefix of its kind: an int16 version or
/// record type, or a metadata log's frame version, record type and version as varints (KIP-631).
pub fn dissect_payload<'p, V: Visitor<'p>>(plan: &'p Plan, payload: &[u8], visitor: &mut V) -> Outcome {
    let mut walk = Walk::new(visitor, 0, Known::default());
    let mut input = Bytes::new(payload);
    walk.visitor.enter(Scope::Message, 0);
    if walk.prefix(&mut input, plan).is_ok() {
        walk.body(&mut input, plan);
        walk.rest(&mut input, Part::Trailing);
    }
    walk.rest(&mut input, Part::Undecoded);
    walk.visitor.leave(Scope::Message, input.offset());
    walk.outcome
}

/// Walks record batches, or messages of the old formats, one behind the other, as in a records field or a log segment;
/// the last one may be cut. The visitor must open records.
pub fn dissect_records<'p, V: Visitor<'p>>(records: &[u8], visitor: &mut V) -> Outcome {
    let mut walk = Walk::new(visitor, 0, Known::default());
    let mut input = Bytes::new(records);
    walk.visitor.enter(Scope::Message, 0);
    if let Some(opening) = walk.visitor.opening() {
        walk.batches(&mut input, opening);
    }
    walk.rest(&mut input, Part::Undecoded);
    walk.visitor.leave(Scope::Message, input.offset());
    walk.outcome
}

/// The walk met something that it cannot go on behind; the fault was told already.
pub(super) struct Halt;

pub(super) type Step = Result<(), Halt>;

/// The tags that a struct has had.
#[derive(Debug, Default)]
pub(super) struct Tags {
    last: Option<u32>,
    /// Those below 64, a bit each; no schema has higher ones, but readers' own may.
    seen: u64,
}

impl Tags {
    /// Notes a tag and says whether it is new; higher ones that come out of order are not taken for new.
    pub(super) fn is_new(&mut self, tag: u32) -> bool {
        let ascends = self.last.is_none_or(|last| tag > last);
        let bit = 1u64.checked_shl(tag).unwrap_or(0);
        let is_new = if bit == 0 { ascends } else { self.seen & bit == 0 };
        self.seen |= bit;
        self.last = self.last.max(Some(tag));
        is_new
    }
}

/// Fields and elements inside of each other, as deep as paths go; plans end before that.
const MAX_DEPTH: usize = 64;

pub(super) struct Walk<'w, 'p, V> {
    pub(super) visitor: &'w mut V,
    /// Whether all bytes of what is walked are there, so that a count can be held against them.
    pub(super) complete: bool,
    /// How many bytes at the end of the frame the capture lacks.
    pub(super) missing: u32,
    /// Whether the message is a request, in which records are whole.
    pub(super) is_request: bool,
    /// The fields and elements that are being walked, for the paths of faults.
    pub(super) trail: ArrayVec<Place<'p>, MAX_DEPTH>,
    /// The buffer that is walked.
    pub(super) buffer: u32,
    /// Buffers inflated so far, the bytes that they were compressed to, and their bytes.
    pub(super) buffers: u32,
    pub(super) compressed_bytes: u32,
    pub(super) inflated_bytes: u32,
    /// What is known of the message from outside.
    pub(super) known: Known,
    pub(super) context: Context,
    outcome: Outcome,
    in_header: bool,
}

impl<'w, 'p, V: Visitor<'p>> Walk<'w, 'p, V> {
    fn new(visitor: &'w mut V, missing: u32, known: Known) -> Self {
        Self {
            visitor,
            complete: missing == 0,
            missing,
            is_request: false,
            trail: ArrayVec::new(),
            buffer: 0,
            buffers: 0,
            compressed_bytes: 0,
            inflated_bytes: 0,
            known,
            context: Context::of(&known),
            outcome: Outcome::default(),
            in_header: false,
        }
    }

    fn frame(&mut self, reading: &Reading<'p>, frame: &[u8]) {
        self.is_request = reading.side == Side::Request;
        let mut input = Bytes::new(frame);
        let (_, mut beyond) = input.split(input.len());
        let mut step = Ok(());
        self.visitor.enter(Scope::Message, 0);
        if reading.sized {
            step = self.size(&mut input, &mut beyond, reading.missing);
        }
        if let (Ok(()), Some(header)) = (&step, reading.header) {
            step = self.header(&mut input, reading.side, header);
        }
        if let (Ok(()), Some(body)) = (&step, reading.body) {
            self.body(&mut input, body);
            self.rest(&mut input, Part::Trailing);
        }
        self.rest(&mut input, Part::Undecoded);
        self.rest(&mut beyond, Part::Trailing);
        if reading.missing > 0 && self.outcome.faults == 0 {
            let kind = FaultKind::Lost { missing: reading.missing };
            self.fault("message", "bytes", Span { buffer: self.buffer, start: beyond.offset(), len: 0 }, kind);
        }
        self.visitor.leave(Scope::Message, beyond.offset());
    }

    /// Reads the size and narrows the input to what it counts; `beyond` becomes what lies behind that.
    fn size<'b>(&mut self, input: &mut Bytes<'b>, beyond: &mut Bytes<'b>, missing: u32) -> Step {
        let start = input.offset();
        self.visitor.enter(Scope::Frame, start);
        let step = self.read_part(input, wire::int32, "size", "int32").map(|size| {
            self.visitor.part(Part::Size(size), self.span(start, *input));
            let available = (input.len() as u32).saturating_add(missing);
            if u32::try_from(size) != Ok(available) {
                let kind = FaultKind::FrameSize { size, available };
                self.fault("size", "int32", self.span(start, *input), kind);
            }
            (*input, *beyond) = input.split(usize::try_from(size).unwrap_or(input.len()));
        });
        if step.is_err() {
            self.rest(input, Part::Undecoded);
        }
        self.visitor.leave(Scope::Frame, input.offset());
        step
    }

    pub(super) fn header(&mut self, input: &mut Bytes<'_>, side: Side, plan: &'p Plan) -> Step {
        self.visitor.enter(Scope::Header(side, plan), input.offset());
        self.in_header = true;
        let step = self.members(input, plan, plan.top());
        if step.is_err() {
            self.rest(input, Part::Undecoded);
        }
        self.in_header = false;
        self.visitor.leave(Scope::Header(side, plan), input.offset());
        step
    }

    pub(super) fn body(&mut self, input: &mut Bytes<'_>, plan: &'p Plan) {
        self.visitor.enter(Scope::Body(plan), input.offset());
        if self.described(input, plan).is_err() {
            self.rest(input, Part::Undecoded);
        }
        self.visitor.leave(Scope::Body(plan), input.offset());
    }

    pub(super) fn prefix(&mut self, input: &mut Bytes<'_>, plan: &'p Plan) -> Step {
        match plan.prefix() {
            Prefix::None => {}
            Prefix::Int16(name) => {
                let start = input.offset();
                let value = self.read_part(input, wire::int16, name, "int16")?;
                self.visitor.part(Part::Prefix(name, i64::from(value)), self.span(start, *input));
            }
            Prefix::Uvarints(names) => {
                for name in names {
                    let start = input.offset();
                    let value = self.read_part(input, wire::uvarint, name, "uvarint")?;
                    self.visitor.part(Part::Prefix(name, i64::from(value)), self.span(start, *input));
                }
            }
        }
        Ok(())
    }

    /// What a plan describes, behind its header or prefix.
    pub(super) fn described(&mut self, input: &mut Bytes<'_>, plan: &'p Plan) -> Step {
        if plan.kind == Kind::Token { self.token(input, plan) } else { self.members(input, plan, plan.top()) }
    }

    pub(super) fn members(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, of: &'p Struct) -> Step {
        if of.unordered {
            return self.protobuf(input, plan, of);
        }
        for field in plan.untagged(of) {
            self.value(input, plan, Place::Field(field), field.nullable)?;
        }
        if of.flexible { self.tagged_fields(input, plan, of) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn value(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, place: Place<'p>, nullable: bool) -> Step {
        match place.ty() {
            Type::Struct(id) => return self.structure(input, plan, plan.structure(id), place, nullable),
            Type::Array(id) => return self.array(input, plan, plan.element(id), place, nullable, false),
            Type::CompactArray(id) => return self.array(input, plan, plan.element(id), place, nullable, true),
            Type::Records | Type::CompactRecords => {
                if let Some(opening) = self.visitor.opening() {
                    return self.records(input, place, nullable, opening);
                }
            }
            _ => {}
        }
        let start = input.offset();
        let value = self.read(input, |bytes| primitive(place.ty(), bytes), place)?;
        let at = self.span(start, *input);
        let is_told = match place {
            Place::Field(field) if field.role != Role::None => {
                self.visitor.opening().is_some_and(|opening| self.special(field, value, at, opening))
            }
            _ => false,
        };
        if !is_told {
            self.visitor.value(place, value, at);
        }
        if !nullable && matches!(value, Value::String(None) | Value::Bytes(None) | Value::Records(None)) {
            self.place_fault(place, at, FaultKind::Null);
        }
        Ok(())
    }

    fn structure(
        &mut self,
        input: &mut Bytes<'_>,
        plan: &'p Plan,
        of: &'p Struct,
        place: Place<'p>,
        nullable: bool,
    ) -> Step {
        let start = input.offset();
        let before = *input;
        let presence = if nullable { Some(self.presence(input, place)?) } else { None };
        if presence == Some(false) {
            self.visitor.value(place, Value::NullStruct, self.span(start, *input));
            return Ok(());
        }
        if of.endless {
            *input = before;
            self.place_fault(place, Span { buffer: self.buffer, start, len: input.len() as u32 }, FaultKind::TooDeep);
            return Err(Halt);
        }
        self.visitor.enter(Scope::Struct(place, of), start);
        if presence.is_some() {
            self.visitor.part(Part::Presence, self.span(start, *input));
        }
        let mut step = self.push(place, start);
        if step.is_ok() {
            step = self.members(input, plan, of);
            self.trail.pop();
        }
        self.visitor.leave(Scope::Struct(place, of), input.offset());
        step
    }

    /// Whether a nullable struct is there: an int8 that is not negative, in a tagged field a uvarint that is not 0.
    fn presence(&mut self, input: &mut Bytes<'_>, place: Place<'p>) -> Result<bool, Halt> {
        if place.field().is_some_and(|field| field.tag.is_some()) {
            return Ok(self.read(input, wire::uvarint, place)? != 0);
        }
        Ok(self.read(input, wire::int8, place)? >= 0)
    }

    fn array(
        &mut self,
        input: &mut Bytes<'_>,
        plan: &'p Plan,
        element: &'p Element,
        place: Place<'p>,
        nullable: bool,
        compact: bool,
    ) -> Step {
        let start = input.offset();
        let length = if compact { wire::length_compact } else { wire::length32 };
        let count = self.read(input, length, place)?;
        self.visitor.enter(Scope::Array(place, element, count), start);
        self.visitor.part(Part::ArrayLength { count, compact }, self.span(start, *input));
        if count.is_none() && !nullable {
            self.place_fault(place, self.span(start, *input), FaultKind::Null);
        }
        let count_or_none = count.unwrap_or(0);
        let step = if self.has_room(element, count_or_none, *input) {
            self.push(place, start).and_then(|()| {
                let (mut step, mut index) = (Ok(()), 0);
                while step.is_ok() && index < count_or_none && !self.visitor.is_full() {
                    step = self.value(input, plan, Place::Element(element, index), false);
                    index += 1;
                }
                self.trail.pop();
                if step.is_ok() && index < count_or_none {
                    Err(self.full(place, "element", index, Some(count_or_none - index), *input))
                } else {
                    step
                }
            })
        } else {
            let kind = FaultKind::TooManyElements {
                count: count_or_none,
                each: element.min_size,
                available: input.len() as u32,
            };
            self.place_fault(place, self.span(start, *input), kind);
            Err(Halt)
        };
        self.visitor.leave(Scope::Array(place, element, count), input.offset());
        step
    }

    /// Whether a count of elements can be true. Elements of no bytes at all are held against the bytes left, too, or a
    /// count alone could cost hours.
    fn has_room(&self, element: &Element, count: u32, input: Bytes<'_>) -> bool {
        if element.min_size == 0 {
            return u64::from(count) <= input.len() as u64 + 1024;
        }
        !self.complete || u64::from(count) * u64::from(element.min_size) <= input.len() as u64
    }

    fn tagged_fields(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, of: &'p Struct) -> Step {
        let start = input.offset();
        let count = self.read_part(input, wire::uvarint, "tagged_fields", "uvarint")?;
        self.visitor.part(Part::TaggedCount { count, header: self.in_header }, self.span(start, *input));
        // A tagged field has a tag and a size, so two bytes at least.
        if self.complete && u64::from(count) * 2 > input.len() as u64 {
            let kind = FaultKind::TooManyTags { count, available: input.len() as u32 };
            self.fault("tagged_fields", "uvarint", self.span(start, *input), kind);
            return Err(Halt);
        }
        let mut tags = Tags::default();
        for read in 0..count {
            if self.visitor.is_full() {
                let at = Span { buffer: self.buffer, start: input.offset(), len: input.len() as u32 };
                self.fault(
                    "tagged_fields",
                    "uvarint",
                    at,
                    FaultKind::Full { what: "tagged field", read, more: Some(count - read) },
                );
                return Err(Halt);
            }
            self.tagged_field(input, plan, of, &mut tags)?;
        }
        Ok(())
    }

    fn tagged_field(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, of: &'p Struct, tags: &mut Tags) -> Step {
        let start = input.offset();
        let tag = self.read_part(input, wire::uvarint, "tag", "uvarint")?;
        self.visitor.part(Part::Tag(tag), self.span(start, *input));
        if let Some(last) = tags.last.filter(|last| tag <= *last) {
            self.fault("tag", "uvarint", self.span(start, *input), FaultKind::TagOrder { tag, last });
        }
        // A field is decoded once, as a struct has it once.
        let field = if tags.is_new(tag) { plan.tagged_field(of, tag) } else { None };

        let start = input.offset();
        let before = *input;
        let size = self.read_part(input, wire::uvarint, "size", "uvarint")?;
        if size as usize > input.len() {
            let kind = WireErrorKind::LengthTooLarge { length: i64::from(size), available: input.len() as u32 };
            *input = before;
            self.wire_fault("size", "uvarint", before, &Err::Error(WireError { offset: start, kind }));
            return Err(Halt);
        }
        self.visitor.part(Part::TagSize(size), self.span(start, *input));

        let (mut inside, rest) = input.split(size as usize);
        *input = rest;
        let start = inside.offset();
        let Some(field) = field else {
            self.visitor.part(Part::UnknownTag(tag, inside.as_slice()), self.span(start, *input));
            return Ok(());
        };
        self.bounded(&mut inside, plan, field, size);
        Ok(())
    }

    /// A known tagged field inside of its size: a fault in it ends there, and the walk goes on behind it.
    fn bounded(&mut self, inside: &mut Bytes<'_>, plan: &'p Plan, field: &'p Field, size: u32) {
        let start = inside.offset();
        let complete = std::mem::replace(&mut self.complete, true);
        let step = self.value(inside, plan, Place::Field(field), field.nullable);
        self.complete = complete;
        if step.is_ok() && !inside.is_empty() {
            let used = inside.offset() - start;
            self.place_fault(
                Place::Field(field),
                Span { buffer: self.buffer, start, len: size },
                FaultKind::TagSize { size, used },
            );
        }
        self.rest(inside, Part::Undecoded);
    }

    /// The bytes from `start` up to what is left.
    #[inline]
    pub(super) fn span(&self, start: u32, rest: Bytes<'_>) -> Span {
        Span { buffer: self.buffer, start, len: rest.offset() - start }
    }

    /// Notes that what follows is inside of a field or element.
    #[inline]
    pub(super) fn push(&mut self, place: Place<'p>, at: u32) -> Step {
        if self.trail.try_push(place).is_ok() {
            return Ok(());
        }
        let (name, ty) = describe(place);
        self.fault(&name, &ty, Span { buffer: self.buffer, start: at, len: 0 }, FaultKind::TooDeep);
        Err(Halt)
    }

    #[allow(clippy::inline_always, reason = "with `primitive`, whose result goes through memory otherwise")]
    #[inline(always)]
    pub(super) fn read<'b, T>(
        &mut self,
        input: &mut Bytes<'b>,
        parser: impl Fn(Bytes<'b>) -> Parsed<'b, T>,
        place: Place<'p>,
    ) -> Result<T, Halt> {
        match parser(*input) {
            Ok((rest, value)) => {
                *input = rest;
                Ok(value)
            }
            Err(error) => {
                let (name, ty) = describe(place);
                let is_noted = self.trail.try_push(place).is_ok();
                self.wire_fault(&name, &ty, *input, &error);
                if is_noted {
                    self.trail.pop();
                }
                Err(Halt)
            }
        }
    }

    #[inline]
    pub(super) fn read_part<'b, T>(
        &mut self,
        input: &mut Bytes<'b>,
        parser: impl Fn(Bytes<'b>) -> Parsed<'b, T>,
        name: &str,
        ty: &str,
    ) -> Result<T, Halt> {
        match parser(*input) {
            Ok((rest, value)) => {
                *input = rest;
                Ok(value)
            }
            Err(error) => {
                self.wire_fault(name, ty, *input, &error);
                Err(Halt)
            }
        }
    }

    /// All bytes that are left, as one part; nothing where none are.
    pub(super) fn rest<'b>(&mut self, input: &mut Bytes<'b>, part: impl Fn(&'b [u8]) -> Part<'b>) {
        if input.is_empty() {
            return;
        }
        let (all, end) = input.split(input.len());
        let part = part(all.as_slice());
        match part {
            Part::Trailing(_) => self.outcome.trailing += all.len() as u32,
            Part::Partial(_) => {}
            _ => self.outcome.undecoded += all.len() as u32,
        }
        self.visitor.part(part, self.span(all.offset(), end));
        *input = end;
    }

    #[cold]
    fn wire_fault(&mut self, name: &str, ty: &str, input: Bytes<'_>, error: &Err<WireError>) {
        let (Err::Error(error) | Err::Failure(error)) = error else { return };
        let at = Span { buffer: self.buffer, start: error.offset, len: input.len() as u32 };
        let ran_out = matches!(error.kind, WireErrorKind::Short { .. } | WireErrorKind::LengthTooLarge { .. });
        if ran_out && !self.complete && self.buffer > 0 {
            // What could not be inflated was told already.
            return;
        }
        let kind = if ran_out && !self.complete {
            FaultKind::Lost { missing: self.missing }
        } else {
            FaultKind::Wire(error.kind)
        };
        self.fault(name, ty, at, kind);
    }

    /// Says that the visitor took so many of something and takes no more.
    #[cold]
    pub(super) fn full(
        &mut self,
        place: Place<'p>,
        what: &'static str,
        read: u32,
        more: Option<u32>,
        left: Bytes<'_>,
    ) -> Halt {
        let at = Span { buffer: self.buffer, start: left.offset(), len: left.len() as u32 };
        self.place_fault(place, at, FaultKind::Full { what, read, more });
        Halt
    }

    #[cold]
    pub(super) fn place_fault(&mut self, place: Place<'p>, at: Span, kind: FaultKind) {
        let (name, ty) = describe(place);
        let is_noted = self.trail.try_push(place).is_ok();
        self.fault(&name, &ty, at, kind);
        if is_noted {
            self.trail.pop();
        }
    }

    #[cold]
    pub(super) fn fault(&mut self, name: &str, ty: &str, span: Span, kind: FaultKind) {
        /// Bytes that are no message at all may have a fault at each of them.
        const MOST: u32 = 1000;
        self.outcome.faults += 1;
        if self.outcome.faults > MOST {
            return;
        }
        let path = path(&self.trail);
        self.visitor.fault(&Fault { span, path, name: name.to_owned(), ty: ty.to_owned(), kind });
    }
}

#[cold]
fn describe(place: Place<'_>) -> (String, String) {
    match place {
        Place::Field(field) => (field.name.to_string(), field.type_name.to_string()),
        Place::Element(element, index) => (format!("{}[{index}]", element.name), element.name.to_string()),
    }
}

#[cold]
fn path(trail: &[Place<'_>]) -> String {
    let mut text = String::new();
    for place in trail {
        match place {
            Place::Field(field) => {
                let dot = if text.is_empty() { "" } else { "." };
                text.push_str(dot);
                text.push_str(field.key());
            }
            // Writing into a string cannot fail.
            Place::Element(_, index) => drop(write!(text, "[{index}]")),
        }
    }
    text
}
