//! What a node's line says: name, type, value, note. Text trees, JSON trees and the screen print it in their own ways.

use super::json::{Plain, is_text, plain_text};
use super::table::harmless;
use crate::capture::Time;
use crate::conversation::{Message, Subject};
use crate::dissect::{
    BatchFacts, Decoded, DecodedValue, Fault, Format, Inflated, Node, Part, Place, Reading, Scope, Span, TopicNames,
    Tree, Value, What, display_bytes, display_text, is_unsafe, uuid_text, value_of,
};
use crate::protocol::{ApiKey, Catalog, EnumerationId, Field, Kind, Plan, Secret, Side, TopicField, Type};

/// What a node's line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The name.
    pub name: String,
    /// The type; empty where there is none.
    pub ty: String,
    /// The value behind `=`; empty where there is none.
    pub value: String,
    /// The explanation, not cut; empty where there is none.
    pub note: String,
}

/// Describes the nodes of one tree.
#[derive(Debug, Clone, Copy)]
pub struct Describer<'a, 'p> {
    /// Where names of codes and explanations come from.
    pub catalog: &'p Catalog,
    /// The tree.
    pub tree: &'a Tree<'p>,
    /// The bytes of the frame.
    pub frame: &'a [u8],
    /// The root's name and type, as in `MetadataRequest` and `message v12`.
    pub title: (&'a str, &'a str),
    /// Whether the message is the sample instance of a reference page.
    pub sample: bool,
    /// Whether secrets are shown.
    pub show_secrets: bool,
    /// The names of topics by their ids, where a capture told any.
    pub topics: Option<&'a TopicNames>,
}

impl<'p> Describer<'_, 'p> {
    /// The line of a node, by its index.
    pub fn line(&self, index: usize) -> Line {
        let Some(node) = self.tree.nodes().get(index) else { return Line::default() };
        match node.what {
            What::Scope(scope) => self.scope(scope),
            What::Value(place) => self.value(index, node, place),
            What::Null(place) => {
                Line { name: name_of(place), ty: "bytes".to_owned(), value: "null".to_owned(), note: self.about(place) }
            }
            What::Part(part) => self.part(part, node.span),
            What::Fault(fault) => self.tree.fault_at(fault).map(fault_line).unwrap_or_default(),
        }
    }

    fn scope(&self, scope: Scope<'p>) -> Line {
        let (name, ty) = match scope {
            Scope::Message => (self.title.0.to_owned(), self.title.1.to_owned()),
            Scope::Frame => return line("Frame", "", "", "length-delimited framing"),
            Scope::Header(side, plan) => {
                let ty = format!("v{}", plan.version);
                let note = format!("common {} header", side.word());
                let name = if side == Side::Request { "RequestHeader" } else { "ResponseHeader" };
                return line(name, &ty, "", &note);
            }
            Scope::Body(plan) => {
                let note = match plan.kind {
                    Kind::Layout | Kind::Token => "bytes without a header".to_owned(),
                    _ => format!("message body, version {}", plan.version),
                };
                return line(&plan.name, "struct", "", &note);
            }
            Scope::Struct(place, of) | Scope::Batch(place, of, _) => {
                let (name, ty) = (name_of(place), of.name.to_string());
                return Line { name, ty, value: "struct".to_owned(), note: self.about(place) };
            }
            Scope::Records(place, length) => {
                let ty = place.ty();
                let value = format!("{} ({})", counted(length, "byte"), length_note(ty, Some(length as usize)));
                return Line { name: name_of(place), ty: ty.word().to_owned(), value, note: self.about(place) };
            }
            Scope::Payload(place, plan) => {
                let value = kind_of(plan);
                return Line { name: name_of(place), ty: plan.name.to_string(), value, note: self.about(place) };
            }
            Scope::Inflated(inflated) => {
                let Inflated { buffer, codec, compressed, size } = inflated;
                let value = format!("{}, {compressed} -> {size} bytes, buffer #{buffer}", codec.name());
                let note = format!("ratio {:.1}", f64::from(size) / f64::from(compressed.max(1)));
                return line("inflated", "", &value, &note);
            }
            Scope::OneRecord => return Line::default(),
            Scope::Array(place, element, count) => {
                let value = count.map_or_else(|| "null".to_owned(), |count| counted(count, "element"));
                return Line {
                    name: name_of(place),
                    ty: format!("[]{}", element.name),
                    value,
                    note: self.about(place),
                };
            }
        };
        Line { name, ty, ..Line::default() }
    }

    fn value(&self, index: usize, node: &Node<'p>, place: Place<'p>) -> Line {
        let bytes = self.tree.bytes(self.frame, node.span);
        let ty = place.ty();
        let read = value_of(ty, bytes);
        if let (Some(format), Some(Value::Bytes(Some(content)))) = (self.tree.format_of(index), read) {
            let (value, remark) = display_decoded(content, format);
            return Line { name: name_of(place), ty: ty.word().to_owned(), value, note: remark };
        }
        let value = match read {
            Some(_) if self.is_withheld(index, place) => withheld(bytes, ty),
            Some(value) => self.display(index, place, value, bytes),
            None => String::new(),
        };
        let in_header = place.field().is_some_and(is_header_field);
        let word = match (place, ty) {
            (Place::Field(field), Type::String) if in_header && field.nullable => "nullable_string",
            (Place::Field(field), Type::Struct(_)) => &field.type_name,
            _ => ty.word(),
        };
        Line { name: name_of(place), ty: word.to_owned(), value, note: self.about(place) }
    }

    fn display(&self, index: usize, place: Place<'p>, value: Value<'_>, bytes: &[u8]) -> String {
        match value {
            Value::Int(number) => match self.batch_label(index, place, number, bytes) {
                Some(label) => format!("{number} ({label})"),
                None => self.with_label(place, number, number.to_string()),
            },
            Value::Uint(number) => {
                let is_time = place.field().is_some_and(|field| field.name.ends_with("UnixNano"));
                let nanoseconds = i64::try_from(number).ok().filter(|nanoseconds| is_time && *nanoseconds > 0);
                nanoseconds.map_or_else(
                    || number.to_string(),
                    |nanoseconds| format!("{number} ({})", Time::from_nanoseconds(nanoseconds)),
                )
            }
            Value::Bytes(Some(content)) if place.ty() == Type::Raw => display_content(content),
            Value::Bool(flag) => {
                let odd = bytes.first().filter(|byte| **byte > 1).map(|byte| format!(" (0x{byte:02x})"));
                let text = format!("{flag}{}", odd.unwrap_or_default());
                self.with_label(place, i64::from(flag), text)
            }
            Value::Float(number) => format!("{number:?}"),
            Value::Uuid(uuid) => match self.topic(place, uuid) {
                Some(name) => format!("{} ({name})", uuid_text(uuid)),
                None => uuid_text(uuid),
            },
            Value::NullStruct => "null".to_owned(),
            Value::String(Some(text)) if is_text(place.ty()) => display_plain(place.ty(), text),
            Value::String(text) => {
                let shown = text.map_or_else(|| "null".to_owned(), display_text);
                let mark = if text.is_some_and(|text| std::str::from_utf8(text).is_err()) { ", not UTF-8" } else { "" };
                format!("{shown} ({}{mark})", length_note(place.ty(), text.map(<[u8]>::len)))
            }
            Value::Bytes(content) => {
                let shown = match content {
                    None => "null".to_owned(),
                    Some([]) => "0 bytes".to_owned(),
                    Some(content) => format!("{} {}", counted(content.len() as u32, "byte"), display_bytes(content)),
                };
                format!("{shown} ({})", length_note(place.ty(), content.map(<[u8]>::len)))
            }
            Value::Records(content) => {
                let shown = content.map_or_else(|| "null".to_owned(), |content| counted(content.len() as u32, "byte"));
                format!("{shown} ({})", length_note(place.ty(), content.map(<[u8]>::len)))
            }
        }
    }

    fn with_label(&self, place: Place<'p>, code: i64, text: String) -> String {
        match enumeration_of(place).and_then(|id| self.label(id, code)) {
            Some(label) => format!("{text} ({label})"),
            None => text,
        }
    }

    /// The name behind a code; API keys may also be those of the reader's own schemas.
    pub fn label(&self, id: EnumerationId, code: i64) -> Option<String> {
        let enumerations = self.catalog.enumerations();
        enumerations.label(id, code).or_else(|| {
            enumerations.get(id).filter(|enumeration| enumeration.name == "ApiKey")?;
            let key = i16::try_from(code).ok()?;
            self.catalog.api(ApiKey(key)).map(|api| api.name.clone())
        })
    }

    fn part(&self, part: Part<'static>, span: Span) -> Line {
        let bytes = self.tree.bytes(self.frame, span);
        let is_unread = matches!(part, Part::UnknownTag(..) | Part::Trailing(_) | Part::Undecoded(_));
        let shown = |bytes: &[u8]| {
            if bytes.is_empty() {
                return "0 bytes".to_owned();
            }
            if is_unread && self.is_guarded() {
                return format!("<withheld: {}>", counted(bytes.len() as u32, "byte"));
            }
            format!("{} {}", counted(bytes.len() as u32, "byte"), display_bytes(bytes))
        };
        match part {
            Part::Size(size) => {
                let patched = if self.sample { ", patched after encoding" } else { "" };
                line("size", "int32", &size.to_string(), &format!("number of bytes that follow{patched}"))
            }
            Part::ArrayLength { count, compact } => {
                let note = match count {
                    None => "null array".to_owned(),
                    Some(0) => "no elements follow".to_owned(),
                    Some(1) if self.sample => "one sample element follows".to_owned(),
                    Some(1) => "1 element follows".to_owned(),
                    Some(count) => format!("{count} elements follow"),
                };
                if compact {
                    let raw = count.map_or(0, |count| u64::from(count) + 1);
                    line("length", "uvarint", &format!("{raw} (compact, n+1)"), &note)
                } else {
                    line("length", "int32", &count.map_or(-1, i64::from).to_string(), &note)
                }
            }
            Part::ByteLength { length, compact } => {
                let note = format!("{} follow", counted(length, "byte"));
                if compact {
                    line("length", "uvarint", &format!("{} (compact, n+1)", u64::from(length) + 1), &note)
                } else {
                    line("length", "int32", &length.to_string(), &note)
                }
            }
            Part::Compressed(codec) => {
                line("compressed", "bytes", &shown(bytes), &format!("compressed with {}", codec.name()))
            }
            Part::Partial(_) => line(
                "partial_batch",
                "bytes",
                &shown(bytes),
                "the beginning of a batch whose end did not fit; it is asked for again",
            ),
            Part::Presence => {
                let value = bytes.first().map(|byte| byte.cast_signed().to_string()).unwrap_or_default();
                line("present", "int8", &value, "whether the struct is there or null")
            }
            Part::TaggedCount { count, header } => {
                let owner = if header { "the header" } else { "this struct" };
                line("tagged_fields", "uvarint", &count.to_string(), &format!("number of tagged fields in {owner}"))
            }
            Part::Tag(tag) => line("tag", "uvarint", &tag.to_string(), "number of the tagged field that follows"),
            Part::TagSize(size) => line("size", "uvarint", &size.to_string(), "number of bytes in the tagged field"),
            Part::FieldKey { number, wire } => {
                let note = format!("field {number}, {}", wire.word());
                line("key", "uvarint", &(u64::from(number) << 3 | u64::from(wire.code())).to_string(), &note)
            }
            Part::FieldSize(size) => line("size", "uvarint", &size.to_string(), "number of bytes in the field"),
            Part::UnknownTag(tag, _) => {
                line(&format!("tag_{tag}"), "bytes", &shown(bytes), "a tagged field that the schema does not know")
            }
            Part::Prefix(name, value) => {
                let ty = if bytes.len() == 2 { "int16" } else { "uvarint" };
                line(name, ty, &value.to_string(), "stands in front of the payload and says how to read it")
            }
            Part::Mark(_) => line("mark", "bytes", &display_text(bytes), "stands between the values of a token"),
            Part::Trailing(_) => line("trailing", "bytes", &shown(bytes), "bytes behind the end of the message"),
            Part::Undecoded(_) => line("undecoded", "bytes", &shown(bytes), ""),
        }
    }

    /// What a number in a batch or record means beside itself: flags, absolute offsets, times, the zigzag form.
    fn batch_label(&self, index: usize, place: Place<'p>, number: i64, bytes: &[u8]) -> Option<String> {
        let field = place.field().filter(|field| is_in_layout(field))?;
        // Varints are 10 bytes at most, so none is cut.
        let zigzag = || format!("0x{}", display_bytes(bytes));
        match (&*field.name, place.ty()) {
            ("OffsetDelta", _) => {
                let facts = self.batch_of(index)?;
                Some(format!("{}, offset {}", zigzag(), facts.base_offset.wrapping_add(number)))
            }
            ("TimestampDelta", _) => {
                let facts = self.batch_of(index)?;
                let time = facts.base_timestamp.wrapping_add(number);
                let time = if facts.is_log_append_time() { facts.max_timestamp } else { time };
                Some(format!("{}, {}", zigzag(), time_of(time)?))
            }
            (_, Type::Varint | Type::Varlong) => Some(zigzag()),
            ("BaseTimestamp" | "MaxTimestamp" | "Timestamp", _) => time_of(number),
            ("Crc", _) => {
                let facts = BatchFacts::read(self.batch_bytes(index)?)?;
                Some(if facts.crc_valid { "valid" } else { "wrong" }.to_owned())
            }
            ("Attributes", Type::Int16) => Some(self.batch_of(index)?.flags()),
            ("Attributes", _) if field.path.starts_with("MessageSet.") => Some(self.batch_of(index)?.flags()),
            _ => None,
        }
    }

    /// What is known of the batch that a node is in.
    fn batch_of(&self, index: usize) -> Option<BatchFacts> {
        BatchFacts::peek(self.batch_bytes(index)?)
    }

    /// The bytes of the batch that a node is in.
    fn batch_bytes(&self, index: usize) -> Option<&[u8]> {
        let nodes = self.tree.nodes();
        let mut at = index;
        loop {
            let node = nodes.get(at)?;
            if let What::Scope(Scope::Batch(..)) = node.what {
                return Some(self.tree.bytes(self.frame, node.span));
            }
            if node.parent as usize == at {
                return None;
            }
            at = node.parent as usize;
        }
    }

    fn about(&self, place: Place<'p>) -> String {
        harmless(place.field().and_then(|field| self.catalog.about(field)).unwrap_or_default())
    }

    /// The name of the topic that a field has the id of.
    fn topic(&self, place: Place<'p>, id: [u8; 16]) -> Option<&str> {
        let is_topic = place.field().is_some_and(|field| field.topic == Some(TopicField::Id));
        self.topics.filter(|_| is_topic)?.name(id)
    }

    /// What the reader's format makes of a node's bytes, if he named one.
    pub fn decoded(&self, index: usize) -> Option<Decoded> {
        let format = self.tree.format_of(index)?;
        let node = self.tree.nodes().get(index)?;
        let What::Value(place) = node.what else { return None };
        match value_of(place.ty(), self.tree.bytes(self.frame, node.span))? {
            Value::Bytes(Some(content)) => Some(format.decode(content)),
            _ => None,
        }
    }

    /// The name behind a node's code or topic id, if it has one.
    pub fn label_of(&self, index: usize) -> Option<String> {
        let node = self.tree.nodes().get(index)?;
        let What::Value(place) = node.what else { return None };
        let code = match value_of(place.ty(), self.tree.bytes(self.frame, node.span))? {
            Value::Int(code) => code,
            Value::Bool(flag) => i64::from(flag),
            Value::Uuid(id) => return self.topic(place, id).map(str::to_owned),
            _ => return None,
        };
        self.label(enumeration_of(place)?, code)
    }

    /// Whether bytes that could not be decoded may hold a secret that is not shown.
    pub fn is_guarded(&self) -> bool {
        if self.show_secrets {
            return false;
        }
        self.tree.holds_secrets().unwrap_or_else(|| {
            // A bare token is all secret. Else the version is not known; the API is, by the root's name.
            let newest = self.catalog.versions(self.title.0).last;
            self.title.0 == "SaslToken" || self.catalog.plan(self.title.0, newest).is_some_and(Plan::holds_secrets)
        })
    }

    /// Whether a node's value is a secret that is not shown.
    pub fn is_withheld(&self, index: usize, place: Place<'p>) -> bool {
        let Place::Field(field) = place else { return false };
        match field.secret {
            _ if self.show_secrets => false,
            Secret::No => false,
            Secret::Always | Secret::Unopened => true,
            Secret::Configuration => self.name_before(index).is_some_and(|name| self.catalog.is_sensitive(name)),
        }
    }

    /// The last string that stands before a node in its struct.
    fn name_before(&self, index: usize) -> Option<&[u8]> {
        let parent = self.tree.nodes().get(index)?.parent;
        let before = self.tree.nodes().get(parent as usize + 1..index)?;
        let value = |node: &Node<'p>| match node.what {
            What::Value(place) if node.parent == parent => {
                match value_of(place.ty(), self.tree.bytes(self.frame, node.span)) {
                    Some(Value::String(text)) => text,
                    _ => None,
                }
            }
            _ => None,
        };
        before.iter().rev().find_map(value)
    }
}

/// What a payload is: its kind, and its version where it has any.
pub fn kind_of(plan: &Plan) -> String {
    match plan.kind {
        Kind::Token => plan.kind.word().to_owned(),
        kind => format!("{} v{}", kind.word(), plan.version),
    }
}

/// A fault as a line; its name has the mark in front.
fn fault_line(fault: &Fault) -> Line {
    if let Some(left_out) = fault.left_out() {
        let note = format!("{left_out} left out: {}", fault.cause());
        return Line { name: format!("... {}", fault.name), note, ..Line::default() };
    }
    Line {
        name: format!("!! {}", fault.name),
        ty: format!("{}:", fault.ty),
        value: format!("expected {}, found {}", fault.expected(), fault.found()),
        note: fault.cause().to_owned(),
    }
}

/// The name that a place has in a tree. Fields of headers are in snake case, as in Kafka's protocol guide.
pub fn name_of(place: Place<'_>) -> String {
    match place {
        Place::Field(field) if is_header_field(field) || is_in_layout(field) => snake_case(&field.name),
        Place::Field(field) => field.name.to_string(),
        Place::Element(element, index) => format!("{}[{index}]", element.name),
    }
}

fn is_header_field(field: &Field) -> bool {
    field.path.starts_with("RequestHeader.") || field.path.starts_with("ResponseHeader.")
}

fn is_in_layout(field: &Field) -> bool {
    field.path.starts_with("RecordBatch.") || field.path.starts_with("MessageSet.")
}

/// A point in time in milliseconds, if it is one.
fn time_of(milliseconds: i64) -> Option<String> {
    let nanoseconds = milliseconds.checked_mul(Time::MILLISECOND).filter(|_| milliseconds >= 0)?;
    let text = Time::from_nanoseconds(nanoseconds).to_string();
    // Milliseconds are all that is known.
    text.get(..23).map(|text| format!("{text}Z"))
}

/// The bytes of a key or value: as text where they are text.
fn display_content(content: &[u8]) -> String {
    const WIDTH: usize = 60;
    let size = counted(content.len() as u32, "byte");
    match std::str::from_utf8(content) {
        Ok("") => size,
        Ok(text) if !text.chars().any(|character| is_unsafe(character) && !character.is_ascii_whitespace()) => {
            match text.char_indices().nth(WIDTH) {
                Some((end, _)) => {
                    format!("{size} {}…", display_text(text.get(..end).unwrap_or_default().as_bytes()))
                }
                None => format!("{size} {}", display_text(content)),
            }
        }
        _ => format!("{size} {}", display_bytes(content)),
    }
}

/// A text whose end is told by what follows it: what it says, without the escapes of its own.
fn display_plain(ty: Type, text: &[u8]) -> String {
    match plain_text(ty, text) {
        Plain::Text(text) => display_text(&text),
        Plain::Json(json) => json,
    }
}

/// A key or value in a format that the reader named, and what is to be said of it.
fn display_decoded(content: &[u8], format: Format) -> (String, String) {
    let decoded = format.decode(content);
    let shown = match (format, decoded.value) {
        (Format::Text, _) => display_text(content),
        (_, Some(DecodedValue::Text(text) | DecodedValue::Json(text))) => text,
        (_, None) => return (display_content(content), harmless(&decoded.note.unwrap_or_default())),
    };
    let shown = match shown.char_indices().nth(MAX_DECODED) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    };
    let note = decoded.note.map_or_else(|| format.name().to_owned(), |note| format!("{}, {note}", format.name()));
    (format!("{} {shown}", counted(content.len() as u32, "byte")), note)
}

/// Characters of a decoded key or value that are shown in a line.
const MAX_DECODED: usize = 2000;

fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for (index, character) in name.chars().enumerate() {
        if character.is_ascii_uppercase() && index > 0 {
            text.push('_');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
}

fn enumeration_of(place: Place<'_>) -> Option<EnumerationId> {
    match place {
        Place::Field(field) => field.enumeration,
        Place::Element(element, _) => element.enumeration,
    }
}

/// How the length in front of a string or bytes is written: `int16 len=3`, `compact, len+1=4`.
fn length_note(ty: Type, length: Option<usize>) -> String {
    let plain = |width: &str| match length {
        Some(length) => format!("{width} len={length}"),
        None => format!("{width} len=-1"),
    };
    match ty {
        Type::CompactString | Type::CompactBytes | Type::CompactRecords => {
            format!("compact, len+1={}", length.map_or(0, |length| length + 1))
        }
        Type::String => plain("int16"),
        Type::Protobuf(_) => plain("uvarint"),
        _ => plain("int32"),
    }
}

fn withheld(bytes: &[u8], ty: Type) -> String {
    let length = match value_of(ty, bytes) {
        Some(Value::String(Some(secret)) | Value::Bytes(Some(secret))) => secret.len(),
        _ => return "null".to_owned(),
    };
    format!("<withheld: {length} bytes>")
}

fn line(name: &str, ty: &str, value: &str, note: &str) -> Line {
    Line { name: name.to_owned(), ty: ty.to_owned(), value: value.to_owned(), note: note.to_owned() }
}

/// `1 byte`, `2 bytes`.
pub fn counted(number: u32, unit: &str) -> String {
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

/// The root's name and type for a message of a conversation.
pub fn title(catalog: &Catalog, message: &Message<'_, '_>) -> (String, String) {
    if message.subject == Subject::SaslToken {
        return ("SaslToken".to_owned(), "message".to_owned());
    }
    title_of(catalog, &message.reading, message.key(), message.version())
}

/// The root's name and type for a message, with what is known of its API and its version on the wire.
pub fn title_of(
    catalog: &Catalog,
    reading: &Reading<'_>,
    key: Option<ApiKey>,
    version: Option<i16>,
) -> (String, String) {
    let side = reading.side;
    let number = version.map_or_else(|| "message".to_owned(), |version| format!("message v{version}"));
    if let Some(plan) = reading.body {
        let is_assumed = version.is_some_and(|version| version != plan.version);
        let version = if is_assumed {
            format!("{number}, read as v{}", plan.version)
        } else {
            format!("message v{}", plan.version)
        };
        return (plan.name.to_string(), version);
    }
    let name = match key {
        Some(key) => match catalog.api_schema_name(key, side) {
            Some(name) => name.to_owned(),
            None => format!("API {} {}", key.0, side.word()),
        },
        None => format!("unknown {}", side.word()),
    };
    (name, number)
}
