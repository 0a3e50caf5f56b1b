//! What was heard of one placeholder, and how it is written.

use std::fmt::Write;

use super::rule::{Condition, Format};
use crate::dissect::{Codec, RecordsSurvey, TopicNames, Value, display_text, is_unsafe};
use crate::output::units;
use crate::protocol::{Enumeration, EnumerationId, Enumerations};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Texts that are written of a list; the others are counted.
pub(super) const MAX_TEXTS: u32 = 4;
/// Runs of numbers that are written of a list.
const MAX_RUNS: u32 = 6;
/// Characters of a text from the wire.
pub(super) const MAX_TEXT: usize = 64;

/// How the values of a placeholder are taken, in one version of a message.
#[derive(Debug)]
pub(super) struct SlotPlan {
    pub(super) format: Format,
    pub(super) condition: Condition,
    pub(super) enumeration: Option<EnumerationId>,
    /// Whether there may be many values, so that numbers are drawn together.
    pub(super) many: bool,
    /// Whether nothing but its size may be told.
    pub(super) secret: bool,
    /// Whether it is the id of a topic.
    pub(super) topic: bool,
}

/// The values of a placeholder. Kept from message to message, so that nothing is allocated for most of them.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// How many values had something to say.
    said: u32,
    /// Their sum, where that is what is told.
    total: u64,
    kind: Kind,
    text: String,
    numbers: Numbers,
    records: RecordsSurvey,
}

/// Where names come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'n> {
    /// Of codes.
    pub(super) codes: &'n Enumerations,
    /// Of topics.
    pub(super) topics: &'n TopicNames,
}

/// What the values are written as.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[default]
    Texts,
    Numbers,
    Total,
    Records,
}

/// Something to write in the place of a value.
pub(super) enum Heard<'v> {
    /// A field's or element's value.
    Value(Value<'v>),
    /// An array with so many elements, or null.
    Array(Option<u32>),
}

impl Slot {
    pub(super) fn clear(&mut self) {
        self.said = 0;
        self.total = 0;
        self.kind = Kind::Texts;
        self.text.clear();
        self.numbers.clear();
        self.records = RecordsSurvey::default();
    }

    /// Whether it has something to say.
    pub(super) fn says(&self) -> bool {
        match self.kind {
            Kind::Texts | Kind::Numbers => self.said > 0,
            Kind::Total => self.total > 0,
            Kind::Records => self.records.bytes > 0,
        }
    }

    /// Whether one more text would only be counted.
    pub(super) fn is_full(&self) -> bool {
        self.said >= MAX_TEXTS
    }

    /// Takes a value. When muted, nobody will read what it says, only whether it says anything.
    pub(super) fn take(&mut self, plan: &SlotPlan, heard: &Heard<'_>, muted: bool, names: Names<'_>) {
        if !meets(plan.condition, heard) {
            return;
        }
        match (&plan.format, heard) {
            (Format::Text(_), _) => self.said += 1,
            (Format::Count { .. }, Heard::Array(count)) => self.add(Kind::Total, count.unwrap_or(0).into()),
            (Format::Count { .. } | Format::Size, Heard::Value(Value::Int(number))) => {
                self.add(Kind::Total, u64::try_from(*number).unwrap_or(0));
            }
            (Format::Size, Heard::Value(Value::Records(Some(bytes))))
            | (_, Heard::Value(Value::Bytes(Some(bytes)))) => self.add(Kind::Total, bytes.len() as u64),
            (_, Heard::Value(Value::Records(Some(bytes)))) => {
                self.add(Kind::Records, 0);
                self.records.add(&RecordsSurvey::of(bytes));
            }
            (_, Heard::Value(Value::String(Some(text)))) if plan.secret || plan.format == Format::Size => {
                self.add(Kind::Total, text.len() as u64);
            }
            (Format::Plain, Heard::Value(Value::Int(number))) if plan.many && plan.enumeration.is_none() => {
                self.kind = Kind::Numbers;
                self.said = self.said.saturating_add(1);
                self.numbers.add(*number);
            }
            (_, Heard::Value(value)) => self.take_text(plan, value, muted, names),
            (_, Heard::Array(_)) => {}
        }
    }

    fn add(&mut self, kind: Kind, number: u64) {
        self.kind = kind;
        self.said = self.said.saturating_add(1);
        self.total = self.total.saturating_add(number);
    }

    fn take_text(&mut self, plan: &SlotPlan, value: &Value<'_>, muted: bool, names: Names<'_>) {
        let has_nothing_to_say = match value {
            Value::String(text) => text.is_none_or(<[u8]>::is_empty),
            Value::Uuid(bytes) => *bytes == [0; 16],
            Value::Bytes(_) | Value::Records(_) | Value::NullStruct => true,
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_) => false,
        };
        if has_nothing_to_say {
            return;
        }
        self.next_text(muted, |out| write_value(out, plan, value, names));
    }

    /// Counts a text and writes it, where it will be read.
    pub(super) fn next_text(&mut self, muted: bool, write: impl FnOnce(&mut String)) {
        if !muted && !self.is_full() {
            if self.said > 0 {
                self.text.push_str(", ");
            }
            write(&mut self.text);
        }
        self.said = self.said.saturating_add(1);
    }

    /// Writes what was heard.
    pub(super) fn write(&self, plan: &SlotPlan, out: &mut String) {
        match (&plan.format, self.kind) {
            (Format::Text(text), _) => out.push_str(text),
            (_, Kind::Records) => write_records(out, &self.records),
            (Format::Count { one, many }, Kind::Total) => {
                units::grouped(out, self.total);
                out.push(' ');
                out.push_str(if self.total == 1 { one } else { many });
            }
            (_, Kind::Total) => units::bytes(out, self.total),
            (_, Kind::Numbers) => self.numbers.write(out),
            (_, Kind::Texts) => {
                out.push_str(&self.text);
                if self.said > MAX_TEXTS {
                    // Writing into a string cannot fail.
                    let _ = write!(out, ", +{}", self.said - MAX_TEXTS);
                }
            }
        }
    }
}

/// What is said of a records field, or of several: `1,024 records in 12 batches, lz4, 1.2 MiB`.
fn write_records(out: &mut String, survey: &RecordsSurvey) {
    let start = out.len();
    let mut part = |separator: &str, number: u64, one: &str, many: &str| {
        if number > 0 {
            out.push_str(if out.len() > start { separator } else { "" });
            units::grouped(out, number);
            out.push_str(if number == 1 { one } else { many });
        }
    };
    part("", survey.uncounted.into(), " compressed message", " compressed messages");
    part(" and ", survey.records, " record", " records");
    if survey.batches > 1 || survey.records == 0 {
        part(" in ", survey.batches.into(), " batch", " batches");
    }
    let has_whole = survey.offsets.is_some();
    let codecs = survey.codecs().filter(|codec| *codec != Codec::NONE).map(Codec::name);
    let markers = survey.markers.into_iter().zip(["ABORT", "COMMIT", "control batch"]);
    let flags = [
        (survey.is_transactional, "transactional"),
        (survey.is_partial && has_whole, "last batch cut"),
        (survey.is_partial && !has_whole, "part of a batch"),
        (survey.is_damaged, "damaged"),
    ];
    let mut word = |word: &str, number: u32| {
        out.push_str(if out.len() > start { ", " } else { "" });
        if number > 1 {
            units::grouped(out, number.into());
            out.push(' ');
        }
        out.push_str(word);
    };
    codecs.for_each(|codec| word(codec, 1));
    markers.filter(|(count, _)| *count > 0).for_each(|(count, marker)| word(marker, count));
    flags.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| word(flag, 1));
    out.push_str(if out.len() > start { ", " } else { "" });
    units::bytes(out, survey.bytes);
}

/// Whether a value counts.
fn meets(condition: Condition, heard: &Heard<'_>) -> bool {
    let number = match heard {
        Heard::Value(Value::Int(number)) => Some(*number),
        _ => None,
    };
    match condition {
        Condition::Any => true,
        Condition::Null => matches!(
            heard,
            Heard::Array(None)
                | Heard::Value(Value::NullStruct | Value::String(None) | Value::Bytes(None) | Value::Records(None))
        ),
        Condition::Empty => matches!(heard, Heard::Array(Some(0))),
        Condition::Bool(wanted) => matches!(heard, Heard::Value(Value::Bool(flag)) if *flag == wanted),
        Condition::Equal(wanted) => number == Some(wanted),
        Condition::Unequal(unwanted) => number != Some(unwanted),
        Condition::Above(floor) => number.is_none_or(|number| number > floor),
    }
}

fn write_value(out: &mut String, plan: &SlotPlan, value: &Value<'_>, names: Names<'_>) {
    let name = |code: i64| {
        let enumeration = plan.enumeration.and_then(|id| names.codes.get(id))?;
        enumeration.code(code).map(|code| code.name.as_str()).filter(|_| !is_set(enumeration))
    };
    // Writing into a string cannot fail.
    match (value, &plan.format) {
        (Value::Int(number), _) if name(*number).is_some() => out.push_str(name(*number).unwrap_or_default()),
        (Value::Int(number), Format::Milliseconds) => units::milliseconds(out, *number),
        (Value::Int(number), Format::Time) => units::time(out, *number),
        (Value::Int(number), _) => out.push_str(itoa::Buffer::new().format(*number)),
        (Value::Uint(number), _) => out.push_str(itoa::Buffer::new().format(*number)),
        (Value::Bool(flag), _) => match name(i64::from(*flag)) {
            Some(name) => out.push_str(name),
            None => out.push_str(if *flag { "true" } else { "false" }),
        },
        (Value::Float(number), _) => drop(write!(out, "{number}")),
        (Value::Uuid(id), _) if plan.topic => write_topic_id(out, *id, names.topics),
        (Value::Uuid(bytes), _) => URL_SAFE_NO_PAD.encode_string(bytes, out),
        (Value::String(Some(text)), _) => write_text(out, text, MAX_TEXT),
        (Value::String(None) | Value::Bytes(_) | Value::Records(_) | Value::NullStruct, _) => {}
    }
}

fn is_set(enumeration: &Enumeration) -> bool {
    enumeration.bits.is_some()
}

/// Text from the wire, safe to show and of at most so many characters.
pub(super) fn write_text(out: &mut String, text: &[u8], limit: usize) {
    if text.len() <= limit
        && let Ok(plain) = str::from_utf8(text)
        && plain.bytes().all(|byte| matches!(byte, 0x20..0x7f) && byte != b'\\')
    {
        out.push_str(plain);
        return;
    }
    // No character is written as less than one byte is, so the rest of the text is not looked at.
    let end = text.len().min(limit.saturating_mul(4));
    let escaped = display_text(text.get(..end).unwrap_or_default());
    let inner = escaped.get(1..escaped.len() - 1).unwrap_or_default();
    let is_cut = end < text.len() || inner.chars().nth(limit).is_some();
    // A character that tells the terminal anything was escaped already.
    debug_assert!(!inner.chars().any(is_unsafe));
    let shown = if is_cut { limit - 1 } else { limit };
    out.extend(inner.chars().take(shown));
    if is_cut {
        out.push('…');
    }
}

/// Numbers of a list, runs of them drawn together: `0-2,5`.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    text: String,
    run: Option<(i64, i64)>,
    runs: u32,
    hidden: u64,
}

impl Numbers {
    fn clear(&mut self) {
        self.text.clear();
        self.run = None;
        self.runs = 0;
        self.hidden = 0;
    }

    /// Adds a number.
    pub(super) fn add(&mut self, number: i64) {
        if let Some((_, last)) = &mut self.run
            && last.checked_add(1) == Some(number)
        {
            *last = number;
            return;
        }
        if let Some(run) = self.run.replace((number, number)) {
            if self.runs < MAX_RUNS {
                if self.runs > 0 {
                    self.text.push(',');
                }
                write_run(&mut self.text, run);
                self.runs += 1;
            } else {
                self.hidden += run.1.abs_diff(run.0) + 1;
            }
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.run.is_none()
    }

    /// Writes them.
    pub(super) fn write(&self, out: &mut String) {
        let Some(run) = self.run else { return };
        out.push_str(&self.text);
        let mut hidden = self.hidden;
        if self.runs < MAX_RUNS {
            if self.runs > 0 {
                out.push(',');
            }
            write_run(out, run);
        } else {
            hidden += run.1.abs_diff(run.0) + 1;
        }
        if hidden > 0 {
            // Writing into a string cannot fail.
            let _ = write!(out, ",+{hidden}");
        }
    }
}

fn write_run(out: &mut String, (first, last): (i64, i64)) {
    let separator = if last.abs_diff(first) == 1 { ',' } else { '-' };
    // Writing into a string cannot fail.
    let _ = if first == last { write!(out, "{first}") } else { write!(out, "{first}{separator}{last}") };
}

/// The name of the topic with an id, or else the id.
pub(super) fn write_topic_id(out: &mut String, id: [u8; 16], names: &TopicNames) {
    match names.name(id) {
        Some(name) => write_text(out, name.as_bytes(), MAX_TEXT),
        None => URL_SAFE_NO_PAD.encode_string(id, out),
    }
}
