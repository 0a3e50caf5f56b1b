//! Values and a plan in, bytes out: the smallest legal instance of a message, random instances, and what a walk
//! decoded written again.
//!
//! An [`Instance`] holds the values of a struct; [`frame`] writes a request or response with its size and header,
//! [`payload`] what lies inside of messages, topics or files. A [`Collector`] listens to a walk and gives the instances
//! back. What is written is canonical: variable-length integers as short as they can be, a true bool as 1, the mark of
//! a nullable struct that is there as 1. Kafka's own classes write the same; a message from another hand may decode to
//! an instance that is written in other bytes.

mod batch;
mod collect;
mod minimal;
mod random;
mod write;

pub use batch::{Record, RecordBatch};
pub use collect::Collector;
pub use minimal::{minimal, minimal_frame};
pub use random::{Options, random, random_frame};
pub use write::{EncodeError, Header, encode, frame, frame_of_parts, payload, prefix};

use crate::protocol::{Plan, Type};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// A bool.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// A float64.
    Float(f64),
    /// The 16 bytes of a uuid.
    Uuid([u8; 16]),
    /// A string's bytes, which should be UTF-8; null.
    String(Option<Vec<u8>>),
    /// Bytes; null.
    Bytes(Option<Vec<u8>>),
    /// A records field's bytes; null.
    Records(Option<Vec<u8>>),
    /// A struct; null.
    Struct(Option<Instance>),
    /// An array's elements; null.
    Array(Option<Vec<Datum>>),
}

impl Datum {
    /// A string that is not null.
    pub fn text(text: &str) -> Self {
        Self::String(Some(text.as_bytes().to_vec()))
    }
}

/// The values of a struct.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Instance {
    /// The values of the fields that have no tag, in the order of [`Plan::untagged`].
    pub fields: Vec<Datum>,
    /// The tagged fields that are there, in wire order (Kafka writes them in the order of their tags).
    pub tagged: Vec<Tagged>,
}

/// A tagged field.
#[derive(Debug, Clone, PartialEq)]
pub enum Tagged {
    /// One that the schema knows: its tag and value.
    Known(u32, Datum),
    /// One that it does not know: its tag and bytes.
    Unknown(u32, Vec<u8>),
}

impl Tagged {
    /// The tag.
    pub fn tag(&self) -> u32 {
        match self {
            Self::Known(tag, _) | Self::Unknown(tag, _) => *tag,
        }
    }
}

impl Instance {
    /// The value at a path in the message, as in `topics[0].name`: names as JSON writes them. `None` where there is no
    /// such field in the version, no such element, or a tagged field that is absent.
    pub fn at_mut(&mut self, plan: &Plan, path: &str) -> Option<&mut Datum> {
        let (mut instance, mut of) = (self, plan.top());
        let mut steps = path.split('.').peekable();
        loop {
            let step = steps.next()?;
            let (key, indices) = step.split_once('[').unwrap_or((step, ""));
            let place = plan.untagged(of).iter().position(|field| field.key() == key);
            let (mut ty, mut datum) = if let Some(index) = place {
                (plan.untagged(of).get(index)?.ty, instance.fields.get_mut(index)?)
            } else {
                let field = plan.tagged(of).iter().find(|field| field.key() == key)?;
                let known = instance.tagged.iter_mut().find_map(|tagged| match tagged {
                    Tagged::Known(tag, datum) if Some(*tag) == field.tag => Some(datum),
                    _ => None,
                });
                (field.ty, known?)
            };
            for index in indices.split('[').filter(|index| !index.is_empty()) {
                let index: usize = index.strip_suffix(']')?.parse().ok()?;
                let (Type::Array(id) | Type::CompactArray(id), Datum::Array(Some(elements))) = (ty, datum) else {
                    return None;
                };
                ty = plan.element(id).ty;
                datum = elements.get_mut(index)?;
            }
            if steps.peek().is_none() {
                return Some(datum);
            }
            let (Type::Struct(id), Datum::Struct(Some(inner))) = (ty, datum) else { return None };
            of = plan.structure(id);
            instance = inner;
        }
    }
}

#[cfg(test)]
mod tests;
