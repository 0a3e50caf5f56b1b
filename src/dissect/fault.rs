//! Places where the bytes are not what the plan expects.

use super::{Codec, InflateError, Span, Word};
use crate::wire::WireErrorKind;

/// A fault: where, what was expected, what was found, why it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The bytes that do not fit.
    pub span: Span,
    /// The field's place in JSON: `topics[0].name`; empty at the top.
    pub path: String,
    /// The field's or part's name.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// What is wrong.
    pub kind: FaultKind,
}

/// The ways in which bytes fail a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A primitive could not be read.
    Wire(WireErrorKind),
    /// Null where the version has no null. The walk goes on.
    Null,
    /// An array says more elements than its bytes can hold.
    TooManyElements {
        /// The count that was found.
        count: u32,
        /// The least number of bytes that an element takes.
        each: u32,
        /// The bytes that are left.
        available: u32,
    },
    /// More tagged fields than the bytes can hold.
    TooManyTags {
        /// The count that was found.
        count: u32,
        /// The bytes that are left.
        available: u32,
    },
    /// A tag that is not greater than the one before it. The walk goes on; a field that was there already stays raw.
    TagOrder {
        /// The tag.
        tag: u32,
        /// The greatest tag before it in its struct.
        last: u32,
    },
    /// A tagged field's value ends before its size does. The walk goes on behind the size.
    TagSize {
        /// The size that stands in front.
        size: u32,
        /// The bytes that the value took.
        used: u32,
    },
    /// The frame's size is not the number of bytes that follow. The walk goes on with what is there.
    FrameSize {
        /// The size that was found.
        size: i32,
        /// The bytes that follow, those that the capture lacks included.
        available: u32,
    },
    /// The capture lacks the rest of the frame.
    Lost {
        /// The number of bytes that are missing.
        missing: u32,
    },
    /// A struct that holds itself goes on deeper than its plan. The plan's depth is what bounds the walk's stack.
    TooDeep,
    /// A checksum that is not that of the bytes. The walk goes on.
    Crc {
        /// What it would be.
        computed: u32,
    },
    /// A record format that no release knows.
    Magic {
        /// The format that was found.
        found: u8,
    },
    /// A batch's length is less than that of a batch without records.
    BatchLength {
        /// The length that was found.
        length: i32,
        /// The least that can be.
        least: u32,
    },
    /// A batch holds more or fewer records than it says.
    RecordCount {
        /// What it says.
        said: i32,
        /// The records that were read.
        found: u32,
        /// Bytes behind them.
        left: u32,
    },
    /// A record ends before its length does. The walk goes on behind the length.
    RecordLength {
        /// The length that was found.
        length: i32,
        /// Bytes behind its last header.
        left: u32,
    },
    /// More of something than can be kept; the rest is left undecoded. No fault of the message: see
    /// [`FaultKind::is_limit`].
    Full {
        /// What it is: records, elements of an array.
        what: &'static str,
        /// How many of it were read.
        read: u32,
        /// How many follow, where that is known.
        more: Option<u32>,
    },
    /// A record's offset is not one of its batch's. The walk goes on.
    OffsetDelta {
        /// The delta that was found.
        found: i32,
        /// The batch's last offset delta.
        last: i32,
    },
    /// A number that is no key of a field of Protocol Buffers.
    FieldKey {
        /// The number that was found.
        key: u64,
    },
    /// A field of Protocol Buffers that may be there once is there again. The walk goes on; it stays raw.
    FieldAgain {
        /// The field's number.
        number: u32,
    },
    /// More values than can be kept; the rest is left undecoded. No fault of the message: see [`FaultKind::is_limit`].
    Overfull,
    /// A token of a SASL mechanism is not written as the mechanism has it. What was found is not told: it may be a secret.
    Token {
        /// What was expected, in words.
        expected: Word,
        /// The bytes that are left.
        available: u32,
    },
    /// Compressed bytes could not be inflated to their end. The walk goes on with what came out.
    Inflate {
        /// The codec.
        codec: Codec,
        /// Why not.
        error: InflateError,
        /// Bytes that came out.
        inflated: u32,
    },
}

/// What is to be counted of what was told while a message was walked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Whether some of the faults are the message's own, and not only that the capture lacks a part of it.
    pub faulty: bool,
    /// Whether a part was left out because there was too much.
    pub cut: bool,
}

impl Tally {
    /// What is to be counted of faults.
    pub fn of(faults: &[Fault]) -> Self {
        let is_own = |kind: FaultKind| !matches!(kind, FaultKind::Lost { .. }) && !kind.is_limit();
        Self {
            faulty: faults.iter().any(|fault| is_own(fault.kind)),
            cut: faults.iter().any(|fault| fault.kind.is_limit()),
        }
    }
}

impl FaultKind {
    /// Whether it only says that a limit of ours was reached: the bytes may be right, and there is more of them.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::Full { .. } | Self::Overfull | Self::Inflate { error: InflateError::Limit(_), .. })
    }
}

impl Fault {
    /// What was expected.
    pub fn expected(&self) -> String {
        match self.kind {
            FaultKind::Wire(WireErrorKind::Short { needed, .. }) => count(i64::from(needed), "byte"),
            FaultKind::Wire(WireErrorKind::VarintTooLong { limit }) => format!("a varint of at most {limit} bytes"),
            FaultKind::Wire(WireErrorKind::LengthTooLarge { available, .. }) => {
                format!("a length of at most {available}")
            }
            FaultKind::Wire(WireErrorKind::LengthNegative { .. }) => "a length of -1 or more".to_owned(),
            FaultKind::Wire(WireErrorKind::Other) | FaultKind::Null => "a value".to_owned(),
            FaultKind::TooManyElements { each, available, .. } => {
                format!(
                    "at most {} in the {} that are left",
                    count(i64::from(available / each.max(1)), "element"),
                    count(i64::from(available), "byte")
                )
            }
            FaultKind::TooManyTags { available, .. } => {
                format!(
                    "at most {} in the {} that are left",
                    count(i64::from(available / 2), "tagged field"),
                    count(i64::from(available), "byte")
                )
            }
            FaultKind::TagOrder { last, .. } => format!("a tag above {last}"),
            FaultKind::TagSize { size, .. } => format!("a value of {}", count(i64::from(size), "byte")),
            FaultKind::FrameSize { size, .. } => format!("{} after the size", count(i64::from(size), "byte")),
            FaultKind::Lost { missing } => format!("{} more", count(i64::from(missing), "byte")),
            FaultKind::TooDeep => "a shallower message".to_owned(),
            FaultKind::Crc { computed } => format!("{computed}, the checksum of the bytes"),
            FaultKind::Magic { .. } => "format 0, 1 or 2".to_owned(),
            FaultKind::BatchLength { least, .. } => format!("a length of {least} or more"),
            FaultKind::RecordCount { said, .. } => count(said.into(), "record"),
            FaultKind::RecordLength { length, .. } => format!("a record of {}", count(length.into(), "byte")),
            FaultKind::Full { what, read, .. } => format!("at most {}", count(read.into(), what)),
            FaultKind::Token { expected, .. } => expected.to_string(),
            FaultKind::OffsetDelta { last, .. } => format!("a delta from 0 to {last}"),
            FaultKind::FieldKey { .. } => "the key of a field".to_owned(),
            FaultKind::FieldAgain { number } => format!("field {number} once"),
            FaultKind::Overfull => "fewer values".to_owned(),
            FaultKind::Inflate { error: InflateError::UnknownCodec, .. } => "a codec from 0 to 4".to_owned(),
            FaultKind::Inflate { codec, error: InflateError::Damaged, .. } => {
                format!("a whole {} stream", codec.name())
            }
            FaultKind::Inflate { error: InflateError::Limit(limit), .. } => {
                format!("at most {} from one message", count(limit.into(), "inflated byte"))
            }
        }
    }

    /// What was left out, where only a limit is told of.
    pub fn left_out(&self) -> Option<String> {
        match self.kind {
            FaultKind::Full { what, more: Some(more), .. } => Some(format!("{} more", count(more.into(), what))),
            FaultKind::Full { what, read, more: None } => Some(format!("all behind {}", count(read.into(), what))),
            FaultKind::Overfull => Some("all behind here".to_owned()),
            _ => None,
        }
    }

    /// What was found.
    pub fn found(&self) -> String {
        match self.kind {
            FaultKind::Wire(WireErrorKind::Short { available: 0, .. }) | FaultKind::Token { available: 0, .. } => {
                "the end".to_owned()
            }
            FaultKind::Wire(WireErrorKind::Short { available, .. }) => {
                format!("{} and the end", count(i64::from(available), "byte"))
            }
            FaultKind::Wire(WireErrorKind::VarintTooLong { .. }) => "a varint that goes on".to_owned(),
            FaultKind::Wire(
                WireErrorKind::LengthTooLarge { length, .. } | WireErrorKind::LengthNegative { length },
            ) => length.to_string(),
            FaultKind::Wire(WireErrorKind::Other) => "other bytes".to_owned(),
            FaultKind::Null => "null".to_owned(),
            FaultKind::TooManyElements { count, .. } | FaultKind::TooManyTags { count, .. } => count.to_string(),
            FaultKind::TagOrder { tag, .. } => tag.to_string(),
            FaultKind::TagSize { used, .. } => format!("one of {used}"),
            FaultKind::FrameSize { available, .. } => available.to_string(),
            FaultKind::Lost { .. } => "a gap in the capture".to_owned(),
            FaultKind::TooDeep => "nesting without end".to_owned(),
            FaultKind::Crc { .. } => "another".to_owned(),
            FaultKind::Magic { found } => found.to_string(),
            FaultKind::BatchLength { length, .. } => length.to_string(),
            FaultKind::RecordCount { found, left: 0, .. } => count(found.into(), "record"),
            FaultKind::RecordCount { found, left, .. } => {
                format!("{} and {} behind them", count(found.into(), "record"), count(left.into(), "byte"))
            }
            FaultKind::RecordLength { left, .. } => format!("{} behind its end", count(left.into(), "byte")),
            FaultKind::Token { available, .. } => format!("{} of something else", count(available.into(), "byte")),
            FaultKind::OffsetDelta { found, .. } => found.to_string(),
            FaultKind::FieldKey { key } => key.to_string(),
            FaultKind::FieldAgain { .. } => "it again".to_owned(),
            FaultKind::Inflate { codec, error: InflateError::UnknownCodec, .. } => codec.0.to_string(),
            FaultKind::Full { .. } | FaultKind::Overfull | FaultKind::Inflate { error: InflateError::Limit(_), .. } => {
                "more".to_owned()
            }
            FaultKind::Inflate { inflated, .. } => format!("damage behind {}", count(inflated.into(), "inflated byte")),
        }
    }

    /// Why it may be.
    pub fn cause(&self) -> &'static str {
        match self.kind {
            FaultKind::Wire(WireErrorKind::Short { .. }) => {
                "the message was cut short, or an earlier length or the version is wrong"
            }
            FaultKind::Wire(WireErrorKind::VarintTooLong { .. }) => {
                "the bytes are shifted, or this version is not flexible"
            }
            FaultKind::Wire(_) => "the length was written wrongly, or the bytes before it are of another version",
            FaultKind::Null => "this version has no null here; the writer used the rules of another version",
            FaultKind::TooManyElements { .. } => "the count was written wrongly, or the bytes before it are shifted",
            FaultKind::TooManyTags { .. } => {
                "a length just before it is wrong, or the writer left out the tagged fields of an inner struct"
            }
            FaultKind::TagOrder { .. } => {
                "tagged fields are written in the order of their tags, each once (KIP-482); the bytes may be shifted"
            }
            FaultKind::TagSize { .. } => "the writer's size or its schema of the tagged field is wrong",
            FaultKind::FrameSize { .. } => "the size was written wrongly, or bytes were lost or added on the way here",
            FaultKind::Lost { .. } => "the capture dropped packets or cut them at its snap length",
            FaultKind::TooDeep => "the schema holds itself, or a compressed message set holds another",
            FaultKind::Crc { .. } => {
                "the batch was changed after it was written, or its writer computes the checksum wrongly"
            }
            FaultKind::Magic { .. } => "the bytes are not records, or are shifted",
            FaultKind::BatchLength { .. } => "the length was written wrongly, or the bytes are no batch",
            FaultKind::RecordCount { .. } => "the count of the batch is wrong, or a record's length is",
            FaultKind::RecordLength { .. } => {
                "the record's length was written wrongly, or it has fields that are not known"
            }
            FaultKind::Full { .. } | FaultKind::Overfull => "so large a message would take too much memory",
            FaultKind::Token { .. } => "the token was cut short, or is of another mechanism",
            FaultKind::OffsetDelta { .. } => "the batch's last offset delta or the record's delta is wrong",
            FaultKind::FieldKey { .. } => "the bytes are not Protocol Buffers, or are shifted",
            FaultKind::FieldAgain { .. } => "two messages were written behind each other, or the bytes are shifted",
            FaultKind::Inflate { error: InflateError::UnknownCodec, .. } => {
                "the attributes are wrong, or the codec is newer"
            }
            FaultKind::Inflate { error: InflateError::Limit(_), .. } => {
                "the rest was not inflated to save time and memory; --max-inflate raises the limit"
            }
            FaultKind::Inflate { .. } => "the compressed bytes were cut or changed, or are of another codec",
        }
    }
}

/// `1 byte`, `2 bytes`.
fn count(number: i64, unit: &str) -> String {
    let plural = if unit.ends_with("ch") { "es" } else { "s" };
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}{plural}") }
}
