//! Bytes and a plan in, nodes with spans out: the one walk that all readers of a message share.
//!
//! [`dissect`] walks a frame once and tells a [`Visitor`] what it meets. The tree, the JSON writer, the summary of a
//! line are visitors; nobody else decodes. Every byte of the frame is told of in exactly one [`Visitor::value`] or
//! [`Visitor::part`], in order, also when the message is damaged.

mod array;
mod decoders;
mod fault;
mod fit;
mod inflate;
mod known;
mod nested;
mod primitive;
mod protobuf;
mod records;
mod survey;
mod text;
mod token;
mod topics;
mod tree;
mod walk;

pub use decoders::{Decoded, DecodedValue, DecoderError, Decoders, Format};
pub use fault::{Fault, FaultKind, Tally};
pub use fit::{Fit, RequestHead, fit_request, fit_response, is_convincing, responses_that_fit};
pub use inflate::{Codec, InflateError};
pub use known::{Known, Word, word};
pub use nested::{InFront, newest_that_fits, plan_in_front, version_in_front};
pub use primitive::value_of;
pub use protobuf::WireType;
pub use records::BatchFacts;
pub use survey::RecordsSurvey;
pub use text::{display_bytes, display_text, is_unsafe, uuid_text};
pub use token::{jwt_json, sasl_name};
pub(crate) use topics::TopicId;
pub use topics::TopicNames;
pub use tree::{Children, Node, Tree, What};
pub use walk::{Outcome, Reading, dissect, dissect_payload, dissect_records};

use crate::protocol::{Catalog, Element, Field, Plan, Side, Struct, Type};

/// A byte range in a buffer. Buffer 0 is the frame itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Which buffer.
    pub buffer: u32,
    /// Offset of the first byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// Offset of the first byte behind the range.
    pub fn end(self) -> u32 {
        self.start.saturating_add(self.len)
    }
}

/// Who holds a value.
#[derive(Debug, Clone, Copy)]
pub enum Place<'p> {
    /// A field of a struct.
    Field(&'p Field),
    /// An element of an array, by its index.
    Element(&'p Element, u32),
}

impl<'p> Place<'p> {
    /// How the value's bytes are read.
    #[inline]
    pub fn ty(self) -> Type {
        match self {
            Self::Field(field) => field.ty,
            Self::Element(element, _) => element.ty,
        }
    }

    /// The field, where it is one.
    #[inline]
    pub fn field(self) -> Option<&'p Field> {
        match self {
            Self::Field(field) => Some(field),
            Self::Element(..) => None,
        }
    }
}

/// A value as it stands in the bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'b> {
    /// A bool: any byte but 0 is true.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// An unsigned integer of 64 bits.
    Uint(u64),
    /// A float64.
    Float(f64),
    /// The 16 bytes of a uuid.
    Uuid([u8; 16]),
    /// A string's bytes, which should be UTF-8; null.
    String(Option<&'b [u8]>),
    /// Bytes; null.
    Bytes(Option<&'b [u8]>),
    /// A records field's bytes; null.
    Records(Option<&'b [u8]>),
    /// A struct that is null.
    NullStruct,
}

/// Something that holds other things.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'p> {
    /// The whole frame.
    Message,
    /// The size in front.
    Frame,
    /// The header.
    Header(Side, &'p Plan),
    /// The body.
    Body(&'p Plan),
    /// A struct in a field or array.
    Struct(Place<'p>, &'p Struct),
    /// An array; `None` is null.
    Array(Place<'p>, &'p Element, Option<u32>),
    /// A records field that is opened, and its length in bytes.
    Records(Place<'p>, u32),
    /// Bytes with a schema of their own, of which the plan is one version.
    Payload(Place<'p>, &'p Plan),
    /// A record batch, or a message of the old formats.
    Batch(Place<'p>, &'p Struct, Nesting),
    /// Key and value of a message of the old formats, which is a record and its batch in one.
    OneRecord,
    /// What compressed bytes inflated to: a buffer of its own, whose offsets start at 0.
    Inflated(Inflated),
}

/// Whether a message of the old formats stands for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// It does; so does every batch.
    Whole,
    /// It lies inside of a compressed one.
    Inner,
}

/// A buffer that was inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inflated {
    /// Its number, from 1.
    pub buffer: u32,
    /// The codec.
    pub codec: Codec,
    /// The number of compressed bytes.
    pub compressed: u32,
    /// The number of bytes that came out.
    pub size: u32,
}

/// With what records are opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'p> {
    /// Where the layouts of batches come from.
    pub catalog: &'p Catalog,
    /// Bytes that the records of one message may inflate to; `None` leaves it to [`Opening::limit`].
    pub max_inflate: Option<u32>,
    /// The names of topics by their ids, where a capture told any.
    pub topics: Option<&'p TopicNames>,
    /// The formats of the reader's own topics, where he named any.
    pub decoders: Option<&'p Decoders>,
}

impl<'p> Opening<'p> {
    /// With the usual limit.
    pub fn new(catalog: &'p Catalog) -> Self {
        Self { catalog, max_inflate: None, topics: None, decoders: None }
    }

    /// The same with the names of topics.
    #[must_use]
    pub fn with_topics<'n>(self, topics: &'n TopicNames) -> Opening<'n>
    where
        'p: 'n,
    {
        Opening { topics: Some(topics), ..self }
    }

    /// How many bytes the records of a message may inflate to, by the bytes that they are compressed to. Usually 16 MiB,
    /// whatever the ratio; beyond that 100 for each compressed one, which data that somebody wants to read stays below;
    /// never more than 64 MiB.
    pub fn limit(self, compressed: u32) -> u32 {
        const ALWAYS: u32 = 16 << 20;
        const RATIO: u32 = 100;
        const MOST: u32 = 64 << 20;
        self.max_inflate.unwrap_or_else(|| compressed.saturating_mul(RATIO).clamp(ALWAYS, MOST))
    }
}

/// Bytes that are not a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'b> {
    /// The size of the frame.
    Size(i32),
    /// The number of elements of an array; `None` is null. Whether it is compact is told by the bytes' own plan.
    ArrayLength {
        /// The count.
        count: Option<u32>,
        /// Whether it is a uvarint of the count plus one.
        compact: bool,
    },
    /// The length of bytes that are opened.
    ByteLength {
        /// In bytes.
        length: u32,
        /// Whether it is a uvarint of the length plus one.
        compact: bool,
    },
    /// Compressed records; what they inflate to follows in a buffer of its own.
    Compressed(Codec),
    /// The beginning of a batch whose end did not fit into the answer.
    Partial(&'b [u8]),
    /// The byte or varint that says whether a nullable struct is there.
    Presence,
    /// The number of tagged fields.
    TaggedCount {
        /// The count.
        count: u32,
        /// Whether they are a header's.
        header: bool,
    },
    /// A tag.
    Tag(u32),
    /// The size of a tagged field.
    TagSize(u32),
    /// The key of a field of Protocol Buffers.
    FieldKey {
        /// The field's number.
        number: u32,
        /// How its end is found: the three lowest bits of the key.
        wire: WireType,
    },
    /// The size of a field of Protocol Buffers.
    FieldSize(u32),
    /// The bytes of a tagged field that the schema does not know; of Protocol Buffers, also those of one that is there
    /// again and may not be.
    UnknownTag(u32, &'b [u8]),
    /// A prefix in front of a payload that is not a request or response, by its name: a version, a record type.
    Prefix(&'static str, i64),
    /// What stands between the texts of a token, and the names of attributes in front of them.
    Mark(&'b [u8]),
    /// Bytes behind the end of the message, as far as its schema goes.
    Trailing(&'b [u8]),
    /// Bytes that could not be decoded.
    Undecoded(&'b [u8]),
}

/// Who listens to a walk. Methods do nothing unless they are written.
pub trait Visitor<'p> {
    /// Something that holds other things begins at `offset`.
    #[inline]
    fn enter(&mut self, scope: Scope<'p>, offset: u32) {
        let _ = (scope, offset);
    }

    /// It ends before `end`.
    #[inline]
    fn leave(&mut self, scope: Scope<'p>, end: u32) {
        let _ = (scope, end);
    }

    /// A field's or element's value.
    #[inline]
    fn value(&mut self, place: Place<'p>, value: Value<'_>, span: Span) {
        let _ = (place, value, span);
    }

    /// A key or value of a record, in a format that the reader named.
    #[inline]
    fn content(&mut self, place: Place<'p>, bytes: &[u8], format: Format, span: Span) {
        let _ = format;
        self.value(place, Value::Bytes(Some(bytes)), span);
    }

    /// Bytes that are not a field's value.
    #[inline]
    fn part(&mut self, part: Part<'_>, span: Span) {
        let _ = (part, span);
    }

    /// With what records are opened; without, a records field is one value.
    #[inline]
    fn opening(&self) -> Option<Opening<'p>> {
        None
    }

    /// The plain bytes of the payload that was just entered.
    #[inline]
    fn payload(&mut self, place: Place<'p>, bytes: &[u8]) {
        let _ = (place, bytes);
    }

    /// What is known of the batch that was just entered.
    #[inline]
    fn batch(&mut self, facts: BatchFacts) {
        let _ = facts;
    }

    /// The offset and timestamp (ms) of the record that was just entered, as they are after all deltas.
    #[inline]
    fn record(&mut self, offset: i64, timestamp: i64) {
        let _ = (offset, timestamp);
    }

    /// Whether it can take no more: then further elements, tagged fields and records are left undecoded, which is told
    /// like a fault ([`FaultKind::is_limit`]).
    #[inline]
    fn is_full(&self) -> bool {
        false
    }

    /// The bytes of the buffer that is entered next.
    #[inline]
    fn inflated(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// A place where the bytes are not what the plan expects.
    #[inline]
    fn fault(&mut self, fault: &Fault) {
        let _ = fault;
    }
}

/// Listens to nothing: to learn whether bytes fit a plan.
#[derive(Debug, Default)]
pub struct Deaf;

impl Visitor<'_> for Deaf {}

#[cfg(test)]
mod tests;
