//! Formats of keys and values that the reader names, topic by topic: Kafka itself knows nothing of them.

use std::collections::HashSet;
use std::fmt::Write;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess};

use super::{display_text, is_unsafe};

/// A format in which a topic's keys or values may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text, which should be UTF-8.
    Text,
    /// A JSON value (RFC 8259).
    Json,
    /// Bytes that are shown as hexadecimal digits.
    Hex,
}

/// All formats by the names that readers call them.
const FORMATS: [(&str, Format); 3] = [("string", Format::Text), ("json", Format::Json), ("hex", Format::Hex)];

/// A part of a record that has a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordPart {
    /// Its key.
    Key,
    /// Its value.
    Value,
}

/// What a format makes of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// What the bytes are; `None` where they are not of the format.
    pub value: Option<DecodedValue>,
    /// What is to be said of it: why there is no value, or what in it is not as it was in the bytes.
    pub note: Option<String>,
}

/// A value that was decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodedValue {
    /// Text.
    Text(String),
    /// A JSON value without space between its parts. No object in it has a key twice.
    Json(String),
}

/// JSON that is longer is not looked at: brokers take no larger records unless they are told to.
const MAX_JSON: usize = 1 << 20;
/// Arrays and objects of JSON inside of each other: readers of JSON take about 128, and the line around it needs some.
const MAX_JSON_DEPTH: u32 = 64;

impl Format {
    fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Reads bytes that should be of the format.
    pub fn decode(self, bytes: &[u8]) -> Decoded {
        let value = |value, note| Decoded { value: Some(value), note };
        match self {
            Self::Text => match std::str::from_utf8(bytes) {
                Ok(text) => value(DecodedValue::Text(text.to_owned()), None),
                Err(_) => value(DecodedValue::Text(escaped(bytes)), Some(NOT_UTF8.to_owned())),
            },
            Self::Hex => value(DecodedValue::Text(hex(bytes)), None),
            Self::Json => match json(bytes) {
                Ok(json) => value(DecodedValue::Json(json), None),
                Err(why) => Decoded { value: None, note: Some(format!("not JSON: {why}")) },
            },
        }
    }
}

const NOT_UTF8: &str = r"not UTF-8: \xNN stands for a byte, \\ for a backslash";

/// Text with the bytes that are not UTF-8 as `\xNN`, and backslashes doubled.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            // Writing into a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The same JSON without space between its parts, and with the characters escaped that a terminal acts on: numbers and
/// strings stay what they are. An error says why it is none.
fn json(bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > MAX_JSON {
        return Err(format!("{} bytes are more than are looked at ({MAX_JSON})", bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Check { depth: 0 }.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| error.to_string())?;
    let (mut out, mut in_string, mut is_escaped) = (String::with_capacity(text.len()), false, false);
    for character in text.chars() {
        if in_string && is_unsafe(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else if in_string || !matches!(character, ' ' | '\t' | '\n' | '\r') {
            out.push(character);
        }
        if character == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && character == '\\' && !is_escaped;
    }
    Ok(out)
}

/// Holds JSON against what a line of JSON may have in it, and keeps nothing of it.
#[derive(Clone, Copy)]
struct Check {
    /// Arrays and objects around it.
    depth: u32,
}

impl Check {
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_JSON_DEPTH {
            return Err(E::custom(format!("more than {MAX_JSON_DEPTH} arrays and objects inside of each other")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Check {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> de::Visitor<'de> for Check {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while elements.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut keys: HashSet<String> = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if let Some(twice) = keys.replace(key) {
                let shown: String = twice.chars().take(40).collect();
                return Err(de::Error::custom(format!("the key {} twice", display_text(shown.as_bytes()))));
            }
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// Which topics' keys and values have which format.
#[derive(Debug, Clone, Default)]
pub struct Decoders {
    rules: Vec<Rule>,
}

/// One thing that the reader said.
#[derive(Debug, Clone)]
struct Rule {
    /// The topic's name, or how it begins.
    topic: Box<str>,
    is_prefix: bool,
    /// `None`: key and value.
    part: Option<RecordPart>,
    format: Format,
}

/// The formats of one topic's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Formats {
    /// That of the keys.
    pub(super) key: Option<Format>,
    /// That of the values.
    pub(super) value: Option<Format>,
}

/// Why a rule cannot be followed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecoderError {
    /// It has another form.
    #[error("expected TOPIC=FORMAT, TOPIC:key=FORMAT or TOPIC:value=FORMAT, as in orders:value=json")]
    Form,
    /// The topic's name is none, not even with a `*` at its end.
    #[error(
        "no topic can be called {0:?}: letters, digits, `.`, `_` and `-` are allowed, and one `*` at the end for the rest of a name"
    )]
    Topic(String),
    /// Records have a key and a value.
    #[error("no part of a record is called {0:?}; expected key or value")]
    Part(String),
    /// The format is not known.
    #[error("no format is called {0:?}; known are {known}", known = FORMATS.map(|(name, _)| name).join(", "))]
    Format(String),
}

impl Decoders {
    /// Takes one more rule: `TOPIC=FORMAT`, `TOPIC:key=FORMAT` or `TOPIC:value=FORMAT`; a `*` ends the beginning of a
    /// topic's name.
    pub fn add(&mut self, rule: &str) -> Result<(), DecoderError> {
        let (subject, format) = rule.rsplit_once('=').ok_or(DecoderError::Form)?;
        let (topic, part) = match subject.split_once(':') {
            None => (subject, None),
            Some((topic, "key")) => (topic, Some(RecordPart::Key)),
            Some((topic, "value")) => (topic, Some(RecordPart::Value)),
            Some((_, part)) => return Err(DecoderError::Part(part.to_owned())),
        };
        let (name, is_prefix) = topic.strip_suffix('*').map_or((topic, false), |name| (name, true));
        if !(is_prefix && name.is_empty()) && super::topics::topic_name(name.as_bytes()).is_none() {
            return Err(DecoderError::Topic(topic.to_owned()));
        }
        let format = Format::named(format).ok_or_else(|| DecoderError::Format(format.to_owned()))?;
        self.rules.push(Rule { topic: name.into(), is_prefix, part, format });
        Ok(())
    }

    /// The formats of a topic: of several rules that hold for it the last one.
    pub(super) fn of(&self, topic: &[u8]) -> Formats {
        let mut formats = Formats::default();
        for rule in self.rules.iter().filter(|rule| rule.holds_for(topic)) {
            if rule.part != Some(RecordPart::Value) {
                formats.key = Some(rule.format);
            }
            if rule.part != Some(RecordPart::Key) {
                formats.value = Some(rule.format);
            }
        }
        formats
    }
}

impl Rule {
    fn holds_for(&self, topic: &[u8]) -> bool {
        let name = self.topic.as_bytes();
        if self.is_prefix { topic.starts_with(name) } else { topic == name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(rules: &[&str], topic: &str) -> Formats {
        let mut decoders = Decoders::default();
        for rule in rules {
            decoders.add(rule).unwrap();
        }
        decoders.of(topic.as_bytes())
    }

    #[test]
    fn the_last_rule_that_holds_is_followed() {
        let both = |format| Formats { key: Some(format), value: Some(format) };
        assert_eq!(formats(&["orders=json"], "orders"), both(Format::Json));
        assert_eq!(formats(&["orders=json"], "orders2"), Formats::default());
        assert_eq!(formats(&["orders*=json"], "orders2"), both(Format::Json));
        assert_eq!(formats(&["*=hex"], "any"), both(Format::Hex));
        assert_eq!(
            formats(&["*=hex", "orders:value=json"], "orders"),
            Formats { key: Some(Format::Hex), value: Some(Format::Json) }
        );
        assert_eq!(formats(&["orders:key=string"], "orders"), Formats { key: Some(Format::Text), value: None });
        assert_eq!(formats(&["orders=json", "*=string"], "orders"), both(Format::Text));
    }

    #[test]
    fn rules_that_cannot_be_followed() {
        let error = |rule: &str| Decoders::default().add(rule).unwrap_err();
        assert_eq!(error("orders"), DecoderError::Form);
        assert_eq!(error("a b=json"), DecoderError::Topic("a b".to_owned()));
        assert_eq!(error("*a=json"), DecoderError::Topic("*a".to_owned()));
        assert_eq!(error("=json"), DecoderError::Topic(String::new()));
        assert_eq!(error("orders:header=json"), DecoderError::Part("header".to_owned()));
        assert_eq!(error("orders=avro").to_string(), "no format is called \"avro\"; known are string, json, hex");
    }

    #[test]
    fn text_and_digits() {
        let decoded = |format: Format, bytes: &[u8]| format.decode(bytes);
        let text = |text: &str| Some(DecodedValue::Text(text.to_owned()));
        assert_eq!(decoded(Format::Text, "caf\u{e9}\\".as_bytes()).value, text("caf\u{e9}\\"));
        assert_eq!(decoded(Format::Text, b"ok").note, None);
        let odd = decoded(Format::Text, b"caf\xe9\\x41");
        assert_eq!((odd.value, odd.note.as_deref()), (text(r"caf\xe9\\x41"), Some(NOT_UTF8)));
        assert_eq!(decoded(Format::Hex, &[0, 0xab, 0xff]), Decoded { value: text("00abff"), note: None });
    }

    #[test]
    fn json_keeps_its_numbers_and_strings() {
        let kept = |text: &str| match Format::Json.decode(text.as_bytes()) {
            Decoded { value: Some(DecodedValue::Json(json)), note: None } => json,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            kept(" {\n \"a b\" : [ 1.10 , -0, 12345678901234567890123 ] }\r\n"),
            r#"{"a b":[1.10,-0,12345678901234567890123]}"#
        );
        assert_eq!(kept(r#""a \" \\" "#), r#""a \" \\""#);
        assert_eq!(kept(r#"{"\\" : " , "}"#), r#"{"\\":" , "}"#);
        assert_eq!(kept("null"), "null");
        assert_eq!(kept("[\"\u{9b}31m\u{202e}\u{e0041}\"]"), r#"["\u009b31m\u202e\udb40\udc41"]"#);
        assert_eq!(kept(&("[".repeat(64) + &"]".repeat(64))).len(), 128);
    }

    #[test]
    fn what_is_not_json_says_why() {
        let why = |bytes: &[u8]| match Format::Json.decode(bytes) {
            Decoded { value: None, note: Some(note) } => note,
            other => panic!("{other:?}"),
        };
        assert!(why(b"").starts_with("not JSON: EOF"));
        assert!(why(b"{\"a\":1} x").starts_with("not JSON: trailing characters"));
        assert_eq!(why(b"\xff"), "not JSON: not UTF-8 at byte 0");
        assert!(why(br#"{"a":1,"b":{"c":1,"c":2}}"#).starts_with("not JSON: the key \"c\" twice"));
        assert!(why(br#"{"a":1,"\u0061":2}"#).starts_with("not JSON: the key \"a\" twice"));
        assert!(why("[".repeat(65).as_bytes()).starts_with("not JSON: more than 64 arrays"));
        assert!(why(&vec![b'['; 1_000_000]).starts_with("not JSON: more than 64 arrays"));
        assert!(why(&vec![b' '; MAX_JSON + 1]).starts_with("not JSON: 1048577 bytes"));
    }
}
