//! Error codes other than 0, with where they are: `orders[1]: NOT_LEADER_OR_FOLLOWER`.

use std::fmt::Write;

use super::slot::{Numbers, write_text, write_topic_id};
use crate::dissect::{Span, TopicNames, Value, uuid_text, value_of};
use crate::protocol::{Enumeration, Type};

/// Codes that are told of one message.
const MAX_CODES: usize = 4;
/// Places that are told of one code.
const MAX_PLACES: usize = 3;
/// Characters of a name in a place, and of what the broker says about the error.
const MAX_NAME: usize = 48;
const MAX_MESSAGE: usize = 120;

/// A struct that is open, and what tells it from its neighbours.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mark {
    /// Its place in its array.
    pub(super) element: Option<u32>,
    /// The field that names it.
    pub(super) name: Option<(Type, Span)>,
    /// Whether that is the id of a topic.
    pub(super) is_topic_id: bool,
    /// The field that numbers it, as partitions are.
    pub(super) number: Option<i64>,
    /// What the broker says about the error.
    pub(super) message: Option<(Type, Span)>,
    /// Error codes in it that are not 0: a struct has at most two.
    pub(super) codes: [i64; 2],
}

/// What a field is to the error in its struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Code,
    Message,
    Name,
    TopicId,
    Number,
}

/// The errors of a message, drawn together by code.
#[derive(Debug, Default)]
pub(super) struct Errors {
    codes: Vec<OneCode>,
    /// Errors of further codes.
    more: u64,
}

#[derive(Debug)]
struct OneCode {
    code: i64,
    places: Vec<Place>,
    more: u64,
    message: String,
}

/// A name and the numbers of what lies in it.
#[derive(Debug, Default)]
struct Place {
    name: String,
    numbers: Numbers,
}

impl Errors {
    pub(super) fn clear(&mut self) {
        self.codes.clear();
        self.more = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Notes the errors of the innermost of the open structs.
    pub(super) fn note(&mut self, open: &[Mark], frame: &[u8], topics: &TopicNames) {
        let Some(own) = open.last() else { return };
        for code in own.codes.into_iter().filter(|code| *code != 0) {
            self.note_one(code, open, own, frame, topics);
        }
    }

    fn note_one(&mut self, code: i64, open: &[Mark], own: &Mark, frame: &[u8], topics: &TopicNames) {
        let known = self.codes.iter().position(|one| one.code == code);
        if known.is_none() {
            if self.codes.len() >= MAX_CODES {
                self.more += 1;
                return;
            }
            let message = own.message.map(|field| text_of(field, frame, MAX_MESSAGE, None)).unwrap_or_default();
            self.codes.push(OneCode { code, places: Vec::new(), more: 0, message });
        }
        let index = known.unwrap_or(self.codes.len().saturating_sub(1));
        let Some(one) = self.codes.get_mut(index) else { return };
        if one.places.len() >= MAX_PLACES && one.more > 0 {
            // Hostile messages have millions of them; the names of those that are only counted are not made.
            one.more += 1;
            return;
        }
        let mut name = String::new();
        for mark in open {
            let Some(field) = mark.name else { continue };
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(&text_of(field, frame, MAX_NAME, Some(topics).filter(|_| mark.is_topic_id)));
        }
        let number = own.number.or_else(|| own.element.filter(|_| own.name.is_none()).map(i64::from));
        let known = one.places.iter().position(|place| place.name == name && number.is_some());
        if known.is_none() {
            if one.places.len() >= MAX_PLACES {
                one.more += 1;
                return;
            }
            one.places.push(Place { name, numbers: Numbers::default() });
        }
        let index = known.unwrap_or(one.places.len().saturating_sub(1));
        if let (Some(place), Some(number)) = (one.places.get_mut(index), number) {
            place.numbers.add(number);
        }
    }

    /// Writes them, in the order in which they came.
    pub(super) fn write(&self, out: &mut String, names: Option<&Enumeration>) {
        // Writing into a string cannot fail.
        for (index, one) in self.codes.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            let start = out.len();
            for place in &one.places {
                if out.len() > start {
                    out.push_str(", ");
                }
                out.push_str(&place.name);
                if !place.numbers.is_empty() {
                    out.push('[');
                    place.numbers.write(out);
                    out.push(']');
                }
            }
            if one.more > 0 {
                let _ = write!(out, ", +{}", one.more);
            }
            if out.len() > start {
                out.push_str(": ");
            }
            match names.and_then(|names| names.code(one.code)) {
                Some(known) => out.push_str(&known.name),
                None => drop(write!(out, "error {}", one.code)),
            }
            if !one.message.is_empty() {
                let _ = write!(out, " ({})", one.message.trim_end_matches('.'));
            }
        }
        if self.more > 0 {
            let _ = write!(out, ", +{} of other codes", self.more);
        }
    }
}

/// The text of a field of the frame; `topics` where it may be the id of a topic.
fn text_of((ty, span): (Type, Span), frame: &[u8], limit: usize, topics: Option<&TopicNames>) -> String {
    let bytes = frame.get(span.start as usize..span.end() as usize).unwrap_or_default();
    let mut text = String::new();
    match value_of(ty, bytes) {
        Some(Value::String(Some(string))) => write_text(&mut text, string, limit),
        Some(Value::Uuid(id)) => match topics {
            Some(topics) => write_topic_id(&mut text, id, topics),
            None => text = uuid_text(id),
        },
        _ => {}
    }
    text
}
