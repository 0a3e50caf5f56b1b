//! JSON straight from the walk: no tree, no intermediate values, no allocation for a field.
//!
//! The shape is that of Apache Kafka's generated `JsonConverter` classes. What those do not print has a key that
//! begins with `_`. Every entry is written with a comma behind it; the bracket that closes takes the last one's place.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::dissect::{Fault, Part, Place, Scope, Span, Value, Visitor, is_unsafe};
use crate::protocol::{Catalog, EnumerationId, Field, Secret};

/// A visitor that appends the members `"header":{…},"body":{…},` and what could not be decoded to an open object.
#[derive(Debug)]
pub struct JsonWriter<'w> {
    catalog: &'w Catalog,
    out: &'w mut Vec<u8>,
    show_secrets: bool,
    errors: Option<EnumerationId>,
    levels: Vec<Level>,
    /// Where the fields of open structs with misplaced tagged fields begin: declared place, offset in `out`.
    starts: Vec<(u32, usize)>,
    faults: Vec<Fault>,
}

/// An object or array that is open.
#[derive(Debug, Default)]
struct Level {
    /// Offset in `out` where its key begins.
    key_start: usize,
    /// Offset in `out` where its value begins.
    value_start: usize,
    /// Number of `starts` that belong to the levels above.
    first_start: usize,
    /// Whether some tagged field stands before another field in the schema, so that it must be moved there.
    misplaced: bool,
    /// Entries of `_unknownTaggedFields`.
    unknown: Vec<u8>,
    undecoded: u32,
    trailing: u32,
    /// Range in `out` of the last string that was written, to tell what a configuration's value belongs to.
    last_text: (usize, usize),
}

impl<'w> JsonWriter<'w> {
    /// Appends to `out`, which must be inside of an object, behind a comma or its brace.
    pub fn new(catalog: &'w Catalog, out: &'w mut Vec<u8>, show_secrets: bool) -> Self {
        let errors = catalog.enumerations().id("ErrorCode");
        let levels = vec![Level::default()];
        Self { catalog, out, show_secrets, errors, levels, starts: Vec::new(), faults: Vec::new() }
    }

    /// The faults that the walk met.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    fn open(&mut self, key_start: usize, bracket: u8, misplaced: bool) {
        let value_start = self.out.len();
        self.out.push(bracket);
        let first_start = self.starts.len();
        self.levels.push(Level { key_start, value_start, first_start, misplaced, ..Level::default() });
    }

    /// Closes the innermost level and gives where its key and value begin.
    fn close(&mut self, bracket: u8) -> (usize, usize) {
        let Some(mut level) = self.levels.pop() else { return (0, 0) };
        if !level.unknown.is_empty() {
            self.out.extend_from_slice(b"\"_unknownTaggedFields\":[");
            self.out.append(&mut level.unknown);
            close_bracket(self.out, b']');
            self.out.push(b',');
        }
        close_bracket(self.out, bracket);
        self.starts.truncate(level.first_start);
        (level.key_start, level.value_start)
    }

    /// Writes the key of a field, if it is one, and gives where it begins.
    #[inline]
    fn key(&mut self, place: Place<'_>) -> usize {
        let start = self.out.len();
        if let Place::Field(field) = place {
            self.out.extend_from_slice(field.json_key.as_bytes());
            if let Some(level) = self.levels.last()
                && level.misplaced
                && field.tag.is_none()
            {
                self.starts.push((field.declared, start));
            }
        }
        start
    }

    /// What is left to do when an entry is written: a tagged field with its default is not printed, and one that the
    /// schema declares before other fields is moved there.
    #[inline]
    fn finish_entry(&mut self, place: Place<'_>, key_start: usize, value_start: usize) {
        let tagged = place.field().filter(|field| field.tag.is_some());
        let Some(field) = tagged else {
            self.out.push(b',');
            return;
        };
        let default = field.default_json.as_deref().map(str::as_bytes);
        if self.out.get(value_start..) == default {
            self.out.truncate(key_start);
            return;
        }
        self.out.push(b',');
        self.move_to_declared_place(field, key_start);
    }

    fn move_to_declared_place(&mut self, field: &Field, key_start: usize) {
        let Some(level) = self.levels.last().filter(|level| level.misplaced) else { return };
        let own = self.starts.get_mut(level.first_start..).unwrap_or_default();
        let length = self.out.len() - key_start;
        // Entries that were moved before are in the list as well, so it is not in order of place.
        let target = own.iter().filter(|(declared, _)| *declared > field.declared).map(|(_, start)| *start).min();
        let target = target.unwrap_or(key_start);
        if let Some(tail) = self.out.get_mut(target..) {
            tail.rotate_right(length);
        }
        for (_, start) in own.iter_mut().filter(|(_, start)| *start >= target) {
            *start += length;
        }
        self.starts.push((field.declared, target));
    }

    fn string(&mut self, place: Place<'_>, text: &[u8]) {
        let start = self.out.len();
        let valid = string(self.out, text);
        if let Some(level) = self.levels.last_mut() {
            level.last_text = (start, self.out.len());
        }
        if !valid && let Place::Field(field) = place {
            // The text above has replacement characters; here is what it really was.
            self.out.extend_from_slice(b",\"_");
            self.out.extend_from_slice(field.key().as_bytes());
            self.out.extend_from_slice(b"Base64\":");
            base64(self.out, text);
        }
    }

    fn withheld(&self, place: Place<'_>) -> bool {
        let Place::Field(field) = place else { return false };
        match field.secret {
            _ if self.show_secrets => false,
            Secret::No => false,
            Secret::Always => true,
            Secret::Configuration => {
                let range = self.levels.last().map(|level| level.last_text).unwrap_or_default();
                self.catalog.is_sensitive(self.out.get(range.0..range.1).unwrap_or_default())
            }
        }
    }

    /// The name of an error code other than 0, beside it.
    fn error_name(&mut self, field: &Field, code: i64) {
        let Some(id) = self.errors.filter(|id| code != 0 && field.enumeration == Some(*id)) else { return };
        if let Some(name) = self.catalog.enumerations().get(id).and_then(|errors| errors.label(code)) {
            self.out.extend_from_slice(b",\"_");
            self.out.extend_from_slice(field.key().as_bytes());
            self.out.extend_from_slice(b"\":");
            string(self.out, name.as_bytes());
        }
    }
}

impl<'p> Visitor<'p> for JsonWriter<'_> {
    #[inline]
    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        let start = self.out.len();
        match scope {
            Scope::Message | Scope::Frame => {}
            Scope::Header(_, plan) => {
                self.out.extend_from_slice(b"\"header\":");
                self.open(start, b'{', plan.top().misplaced);
            }
            Scope::Body(plan) => {
                self.out.extend_from_slice(b"\"body\":");
                self.open(start, b'{', plan.top().misplaced);
            }
            Scope::Struct(place, of) => {
                let start = self.key(place);
                self.open(start, b'{', of.misplaced);
            }
            Scope::Array(place, _, count) => {
                let start = self.key(place);
                self.open(start, b'[', false);
                if count.is_none() {
                    // `leave` puts the comma and takes the bracket back.
                    self.out.truncate(self.out.len() - 1);
                    self.out.extend_from_slice(b"null");
                }
            }
        }
    }

    #[inline]
    fn leave(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Message | Scope::Frame => {}
            Scope::Header(..) | Scope::Body(_) => {
                self.close(b'}');
                self.out.push(b',');
            }
            Scope::Struct(place, _) => {
                let (key_start, value_start) = self.close(b'}');
                self.finish_entry(place, key_start, value_start);
            }
            Scope::Array(place, _, Some(_)) => {
                let (key_start, value_start) = self.close(b']');
                self.finish_entry(place, key_start, value_start);
            }
            Scope::Array(place, _, None) => {
                let level = self.levels.pop().unwrap_or_default();
                self.finish_entry(place, level.key_start, level.value_start);
            }
        }
    }

    #[inline]
    fn value(&mut self, place: Place<'p>, value: Value<'_>, _: Span) {
        let key_start = self.key(place);
        let value_start = self.out.len();
        match value {
            Value::Int(number) => {
                self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                if let Place::Field(field) = place {
                    self.error_name(field, number);
                }
            }
            Value::Bool(flag) => self.out.extend_from_slice(if flag { b"true" } else { b"false" }),
            Value::String(None) | Value::Bytes(None) | Value::Records(None) | Value::NullStruct => {
                self.out.extend_from_slice(b"null");
            }
            Value::String(Some(secret)) | Value::Bytes(Some(secret)) if self.withheld(place) => {
                withheld(self.out, secret.len());
            }
            Value::String(Some(text)) => self.string(place, text),
            Value::Bytes(Some(bytes)) => base64(self.out, bytes),
            Value::Uuid(bytes) => {
                let mut text = [0; 22];
                // 16 bytes are 22 characters, so the slice is large enough.
                let _ = URL_SAFE_NO_PAD.encode_slice(bytes, &mut text);
                self.out.push(b'"');
                self.out.extend_from_slice(&text);
                self.out.push(b'"');
            }
            Value::Float(number) => float(self.out, number),
            Value::Records(Some(bytes)) => {
                self.out.extend_from_slice(b"\"\"");
                if let Place::Field(field) = place {
                    self.out.extend_from_slice(b",\"_");
                    self.out.extend_from_slice(field.key().as_bytes());
                    self.out.extend_from_slice(b"SizeInBytes\":");
                    self.out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
                }
            }
        }
        self.finish_entry(place, key_start, value_start);
    }

    #[inline]
    fn part(&mut self, part: Part<'_>, _: Span) {
        match part {
            Part::UnknownTag(tag, bytes) => {
                let Some(level) = self.levels.last_mut() else { return };
                level.unknown.extend_from_slice(b"{\"tag\":");
                level.unknown.extend_from_slice(itoa::Buffer::new().format(tag).as_bytes());
                level.unknown.extend_from_slice(b",\"value\":");
                base64(&mut level.unknown, bytes);
                level.unknown.extend_from_slice(b"},");
            }
            Part::Undecoded(bytes) => {
                let Some(level) = self.levels.last_mut() else { return };
                level.undecoded += 1;
                numbered(self.out, "_undecoded", level.undecoded, bytes);
            }
            Part::Trailing(bytes) => {
                // Behind the body, and behind the frame when its size is too small.
                let Some(level) = self.levels.last_mut() else { return };
                level.trailing += 1;
                numbered(self.out, "_trailing", level.trailing, bytes);
            }
            Part::Size(_)
            | Part::ArrayLength { .. }
            | Part::Presence
            | Part::TaggedCount { .. }
            | Part::Tag(_)
            | Part::TagSize(_)
            | Part::Prefix(..) => {}
        }
    }

    fn fault(&mut self, fault: &Fault) {
        self.faults.push(fault.clone());
    }
}

/// Bytes beside the fields, with their comma; from the second ones on the key has a number.
fn numbered(out: &mut Vec<u8>, key: &str, count: u32, bytes: &[u8]) {
    let number = if count > 1 { count.to_string() } else { String::new() };
    out.extend_from_slice(format!("\"{key}{number}\":").as_bytes());
    base64(out, bytes);
    out.push(b',');
}

/// Ends an object or array: the bracket takes the place of the last comma.
pub fn close_bracket(out: &mut Vec<u8>, bracket: u8) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = bracket,
        _ => out.push(bracket),
    }
}

/// A string in quotes; whether it was UTF-8. What is not becomes U+FFFD.
pub fn string(out: &mut Vec<u8>, text: &[u8]) -> bool {
    out.push(b'"');
    let plain = text.iter().all(|&byte| matches!(byte, 0x20..0x7f) && byte != b'"' && byte != b'\\');
    let mut valid = true;
    if plain {
        out.extend_from_slice(text);
    } else {
        for chunk in text.utf8_chunks() {
            chunk.valid().chars().for_each(|character| escape(out, character));
            if !chunk.invalid().is_empty() {
                valid = false;
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
    }
    out.push(b'"');
    valid
}

/// Besides what JSON asks for, characters that a terminal acts on are escaped: the value is the same.
fn escape(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        _ if is_unsafe(character) => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
        _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Bytes as base64 in quotes.
pub fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    let length = bytes.len().div_ceil(3) * 4;
    out.resize(start + length, 0);
    if let Some(room) = out.get_mut(start..) {
        // The room is exactly what the encoding takes.
        let _ = STANDARD.encode_slice(bytes, room);
    }
    out.push(b'"');
}

/// A float64; infinities and not-a-number are strings, as Kafka prints them.
pub fn float(out: &mut Vec<u8>, number: f64) {
    let text = if number.is_nan() {
        "\"NaN\"".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "\"Infinity\"".to_owned() } else { "\"-Infinity\"".to_owned() }
    } else {
        format!("{number:?}")
    };
    out.extend_from_slice(text.as_bytes());
}

/// What stands in the place of a secret.
pub fn withheld(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"\"<withheld: ");
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b" bytes>\"");
}
