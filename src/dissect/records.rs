//! Record batches (format 2) and message sets (formats 0 and 1) inside of a records field.

mod batch;
pub(super) mod chain;
mod facts;
mod message;

use std::cell::RefCell;

use super::inflate::{Codec, InflateError, inflate};
use super::walk::{Halt, Step, Walk};
use super::{FaultKind, Inflated, Opening, Part, Place, Scope, Value, Visitor};
use crate::protocol::{Element, Field, Plan, Struct, Type};
use crate::wire::{self, Bytes, WireErrorKind};
use chain::{MAGIC, Next, PREFIX, next, number};

pub use facts::BatchFacts;

/// How bytes were compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compression {
    pub(super) codec: Codec,
    /// The record format, on which it depends how a codec is used.
    pub(super) magic: u8,
}

/// The plans of one format, taken apart.
#[derive(Clone, Copy)]
struct Layout<'p> {
    plan: &'p Plan,
    /// A batch, or an old message.
    batch: &'p Element,
    batch_struct: &'p Struct,
}

impl<'p> Layout<'p> {
    fn new(plan: &'p Plan) -> Option<Self> {
        let Type::Array(id) = plan.untagged(plan.top()).first()?.ty else { return None };
        let batch = plan.element(id);
        let Type::Struct(id) = batch.ty else { return None };
        Some(Self { plan, batch, batch_struct: plan.structure(id) })
    }

    /// The layout of a format.
    fn of(magic: u8, opening: Opening<'p>) -> Option<Self> {
        let name = if magic < 2 { "MessageSet" } else { "RecordBatch" };
        opening.catalog.plan(name, magic.into()).and_then(Self::new)
    }

    fn fields(self) -> &'p [Field] {
        self.plan.untagged(self.batch_struct)
    }
}

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
    pub(super) fn batches(&mut self, input: &mut Bytes<'_>, opening: Opening<'p>) {
        for index in 0.. {
            if self.visitor.is_full() && !input.is_empty() {
                let at = self.span(input.offset(), input.split(input.len()).1);
                self.fault("records", "bytes", at, FaultKind::Full { what: "batch", read: index, more: None });
                return;
            }
            let (magic, total) = match next(input.as_slice()) {
                Next::Whole { magic, total } => (magic, total),
                Next::Partial => {
                    self.partial(input);
                    return;
                }
                Next::Magic(found) => {
                    let at = self.span(input.offset() + MAGIC as u32, input.split(MAGIC + 1).1);
                    self.fault("magic", "int8", at, FaultKind::Magic { found });
                    return;
                }
                Next::Length { length, least } => {
                    let at = self.span(input.offset() + 8, input.split(PREFIX).1);
                    self.fault("batch_length", "int32", at, FaultKind::BatchLength { length, least });
                    return;
                }
            };
            let Some(layout) = Layout::of(magic, opening) else { return };
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

    /// Inflates the input and lets `read` walk what comes out, which is a buffer of its own.
    pub(super) fn inflated(
        &mut self,
        input: &mut Bytes<'_>,
        compression: Compression,
        opening: Opening<'p>,
        read: impl FnOnce(&mut Self, &mut Bytes<'_>),
    ) -> Step {
        let (compressed, rest) = input.split(input.len());
        let at = self.span(compressed.offset(), rest);
        *input = rest;
        let Compression { codec, magic } = compression;
        // An old message's value stands behind its length.
        let skip = if magic < 2 { 4 } else { 0 };
        let bytes = compressed.as_slice().get(skip..).unwrap_or_default();
        self.visitor.part(Part::Compressed(codec), at);
        let mut buffer = take_buffer();
        self.compressed_bytes = self.compressed_bytes.saturating_add(bytes.len() as u32);
        let limit = opening.limit(self.compressed_bytes);
        let left = limit.saturating_sub(self.inflated_bytes);
        let result = inflate(codec, magic, bytes, left, &mut buffer);
        self.inflated_bytes += buffer.len() as u32;
        if let Err(error) = result {
            let error = if let InflateError::Limit(_) = error { InflateError::Limit(limit) } else { error };
            let kind = FaultKind::Inflate { codec, error, inflated: buffer.len() as u32 };
            self.fault("records", "bytes", at, kind);
        }
        if !buffer.is_empty() {
            self.buffers += 1;
            let scope = Scope::Inflated(Inflated {
                buffer: self.buffers,
                codec,
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
