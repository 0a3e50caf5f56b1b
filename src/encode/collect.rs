//! What a walk decodes as instances.

use super::{Datum, Instance, Tagged};
use crate::dissect::{Part, Place, Scope, Span, Value, Visitor};

/// Listens to a walk and keeps all values. After a walk that was not exact it holds what was met before the fault, which
/// cannot be written again.
#[derive(Debug, Default)]
pub struct Collector {
    prefix: Vec<i64>,
    header: Option<Instance>,
    body: Option<Instance>,
    open: Vec<Open>,
}

/// What holds values and is not complete yet.
#[derive(Debug)]
enum Open {
    Instance(Instance),
    Array(Vec<Datum>),
}

impl Collector {
    /// One that has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The header's values; `None` where no header was walked.
    pub fn header(&self) -> Option<&Instance> {
        self.header.as_ref()
    }

    /// The body's values; `None` where no body was walked.
    pub fn body(&self) -> Option<&Instance> {
        self.body.as_ref()
    }

    /// The numbers in front of a payload.
    pub fn prefix(&self) -> &[i64] {
        &self.prefix
    }

    fn put(&mut self, place: Place<'_>, datum: Datum) {
        let tag = place.field().and_then(|field| field.tag);
        match (self.open.last_mut(), tag) {
            (Some(Open::Instance(instance)), Some(tag)) => instance.tagged.push(Tagged::Known(tag, datum)),
            (Some(Open::Instance(instance)), None) => instance.fields.push(datum),
            (Some(Open::Array(elements)), _) => elements.push(datum),
            (None, _) => {}
        }
    }

    fn close(&mut self) -> Option<Instance> {
        match self.open.pop() {
            Some(Open::Instance(instance)) => Some(instance),
            _ => None,
        }
    }
}

impl<'p> Visitor<'p> for Collector {
    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Header(..) | Scope::Body(_) | Scope::Struct(..) => {
                self.open.push(Open::Instance(Instance::default()));
            }
            Scope::Array(..) => self.open.push(Open::Array(Vec::new())),
            // Records stay closed: they are one value.
            Scope::Message
            | Scope::Frame
            | Scope::Records(..)
            | Scope::Payload(..)
            | Scope::Batch(..)
            | Scope::OneRecord
            | Scope::Inflated(_) => {}
        }
    }

    fn leave(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Header(..) => self.header = self.close(),
            Scope::Body(_) => self.body = self.close(),
            Scope::Struct(place, _) => {
                let instance = self.close();
                self.put(place, Datum::Struct(instance));
            }
            Scope::Array(place, _, count) => {
                let elements = match self.open.pop() {
                    Some(Open::Array(elements)) => count.map(|_| elements),
                    _ => None,
                };
                self.put(place, Datum::Array(elements));
            }
            Scope::Message
            | Scope::Frame
            | Scope::Records(..)
            | Scope::Payload(..)
            | Scope::Batch(..)
            | Scope::OneRecord
            | Scope::Inflated(_) => {}
        }
    }

    fn value(&mut self, place: Place<'p>, value: Value<'_>, _: Span) {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let datum = match value {
            Value::Bool(value) => Datum::Bool(value),
            Value::Int(value) => Datum::Int(value),
            Value::Uint(value) => Datum::Int(value.cast_signed()),
            Value::Float(value) => Datum::Float(value),
            Value::Uuid(bytes) => Datum::Uuid(bytes),
            Value::String(bytes) => Datum::String(owned(bytes)),
            Value::Bytes(bytes) => Datum::Bytes(owned(bytes)),
            Value::Records(bytes) => Datum::Records(owned(bytes)),
            Value::NullStruct => Datum::Struct(None),
        };
        self.put(place, datum);
    }

    fn part(&mut self, part: Part<'_>, _: Span) {
        match (part, self.open.last_mut()) {
            (Part::UnknownTag(tag, bytes), Some(Open::Instance(instance))) => {
                instance.tagged.push(Tagged::Unknown(tag, bytes.to_vec()));
            }
            (Part::Prefix(_, number), _) => self.prefix.push(number),
            _ => {}
        }
    }
}
