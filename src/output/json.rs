//! JSON straight from the walk: no tree, no intermediate values, no allocation for a field.
//!
//! The shape is that of Apache Kafka's generated `JsonConverter` classes. What those do not print has a key that
//! begins with `_`. Every entry is written with a comma behind it; the bracket that closes takes the last one's place.

mod plain;
mod records;
mod runs;
mod text;

pub use plain::{Plain, is_text, member, plain_text};
use records::Contents;
use runs::join_runs;
pub use text::{base64, close_bracket, float, string, withheld};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::dissect::{BatchFacts, Fault, Format, Nesting, Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::{EnumerationId, Field, Plan, Secret, Struct, TopicField};

/// A visitor that appends the members `"header":{…},"body":{…},` and what could not be decoded to an open object.
#[derive(Debug)]
pub struct JsonWriter<'w, 'p> {
    opening: Opening<'p>,
    out: &'w mut Vec<u8>,
    show_secrets: bool,
    errors: Option<EnumerationId>,
    levels: Vec<Level>,
    /// Where the fields of open structs with misplaced tagged fields begin: declared place, offset in `out`.
    starts: Vec<(u32, usize)>,
    faults: Vec<Fault>,
    /// Whether bytes that could not be decoded may hold a secret.
    is_guarded: bool,
    /// The plan of the payload that begins.
    payload: Option<&'p Plan>,
    /// Of the batch that is being written.
    facts: Option<BatchFacts>,
    contents: Contents,
}

/// Bytes of a line after which it takes no more: millions of tiny elements would make lines of gigabytes.
const MAX_LINE: usize = 192 << 20;

/// Tells what is said of an array from the array, whose number in Protocol Buffers has fewer bits.
const OF_TEXTS: u32 = 1 << 31;

/// Room that one writer leaves to the next, so that a message costs no allocation.
#[derive(Debug, Default)]
pub struct JsonScratch {
    levels: Vec<Level>,
    starts: Vec<(u32, usize)>,
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
    order: Order,
    /// In no order: where its entries begin, behind `value_start`, each with its field's number; 0 for what is no field.
    runs: Vec<(u32, u32)>,
    /// Entries of what is written behind all others: `_unknownTaggedFields` of a struct; of an array, the bytes of its
    /// texts that are not UTF-8.
    aside: Vec<u8>,
    undecoded: u32,
    /// Whether its entries have no keys.
    is_array: bool,
    /// Set in a batch and its records.
    batch: Option<Batch>,
    /// Of a payload: the range in `out` of its plain bytes, and their number.
    plain: Option<(usize, usize, usize)>,
    /// Whether something in it was withheld.
    has_withheld: bool,
    /// Range in `out` of the last string that was written, to tell what a configuration's value belongs to.
    last_text: (usize, usize),
    topic: Topic,
}

/// What a struct has said of a topic.
#[derive(Debug, Clone, Copy, Default)]
enum Topic {
    /// Not its name; nor will it.
    #[default]
    Unnamed,
    /// Perhaps its id; its name may follow.
    Pending(Option<[u8; 16]>),
    /// Its name.
    Named,
}

/// In what order the fields of a struct come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Order {
    /// In that of the schema.
    #[default]
    Schema,
    /// Some tagged field stands before another field in the schema, and must be moved there.
    Misplaced,
    /// In none, and elements of an array perhaps apart from each other.
    None,
}

impl Order {
    fn of(structure: &Struct) -> Self {
        match (structure.unordered, structure.misplaced) {
            (true, _) => Self::None,
            (false, true) => Self::Misplaced,
            (false, false) => Self::Schema,
        }
    }
}

impl Level {
    /// Notes that an entry begins.
    fn begin_run(&mut self, number: Option<u32>, start: usize) {
        self.runs.push((number.unwrap_or(0), (start - self.value_start) as u32));
    }
}

impl Topic {
    fn of(structure: &Struct) -> Self {
        if structure.names_topic { Self::Pending(None) } else { Self::Unnamed }
    }
}

/// What is written of a batch and its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batch {
    /// The fields of a batch; what is hidden among them is not.
    Fields,
    /// A message of the old formats inside of a compressed one: nothing but its record.
    Inner,
    /// A record: what is not hidden, with bytes as text where they are text.
    Record,
    /// The record of an old message, whose fields are hidden to its batch.
    OneRecord,
}

impl<'w, 'p> JsonWriter<'w, 'p> {
    /// Appends to `out`, which must be inside of an object, behind a comma or its brace.
    pub fn new(opening: Opening<'p>, out: &'w mut Vec<u8>, show_secrets: bool) -> Self {
        Self::reusing(opening, out, show_secrets, &mut JsonScratch::default())
    }

    /// The same with the room that a writer before it has left.
    pub fn reusing(opening: Opening<'p>, out: &'w mut Vec<u8>, show_secrets: bool, scratch: &mut JsonScratch) -> Self {
        let mut levels = std::mem::take(&mut scratch.levels);
        levels.push(Level::default());
        Self {
            opening,
            out,
            show_secrets,
            errors: opening.catalog.enumerations().errors(),
            levels,
            starts: std::mem::take(&mut scratch.starts),
            faults: Vec::new(),
            is_guarded: false,
            payload: None,
            facts: None,
            contents: Contents::default(),
        }
    }

    /// Leaves its room to the next writer, and gives the faults that the walk met.
    pub fn finish(mut self, scratch: &mut JsonScratch) -> Vec<Fault> {
        self.levels.clear();
        self.starts.clear();
        scratch.levels = self.levels;
        scratch.starts = self.starts;
        self.faults
    }

    /// Appends elements instead of members: `out` is inside of an array.
    #[must_use]
    pub fn in_array(mut self) -> Self {
        if let Some(level) = self.levels.last_mut() {
            level.is_array = true;
        }
        self
    }

    /// Withholds what cannot be decoded: the message's version is not known, but that it carries secrets is.
    #[must_use]
    pub fn guarded(self, is_guarded: bool) -> Self {
        Self { is_guarded, ..self }
    }

    /// The faults that the walk met.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    fn open(&mut self, key_start: usize, bracket: u8, of: Option<&Struct>) {
        let value_start = self.out.len();
        self.out.push(bracket);
        let first_start = self.starts.len();
        let is_array = bracket == b'[';
        let order = of.map(Order::of).unwrap_or_default();
        let topic = of.map(Topic::of).unwrap_or_default();
        self.levels.push(Level { key_start, value_start, first_start, order, is_array, topic, ..Level::default() });
    }

    /// Closes the innermost level and gives where its key and value begin.
    fn close(&mut self, bracket: u8) -> (usize, usize) {
        if self.contents.depth == self.levels.len() {
            self.contents.write(self.out);
        }
        let Some(mut level) = self.levels.pop() else { return (0, 0) };
        join_runs(self.out, level.value_start + 1, &level.runs);
        if !level.aside.is_empty() && !level.is_array {
            self.out.extend_from_slice(b"\"_unknownTaggedFields\":[");
            self.out.append(&mut level.aside);
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
            match self.levels.last_mut() {
                Some(Level { order: Order::Misplaced, .. }) if field.tag.is_none() => {
                    self.starts.push((field.declared, start));
                }
                Some(level) if level.order == Order::None => level.begin_run(field.tag, start),
                _ => {}
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
        let Some(level) = self.levels.last().filter(|level| level.order == Order::Misplaced) else { return };
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
        let valid = match place.ty() {
            ty if is_text(ty) => match plain_text(ty, text) {
                Plain::Text(text) => string(self.out, &text),
                Plain::Json(json) => {
                    self.out.extend_from_slice(json.as_bytes());
                    true
                }
            },
            _ => string(self.out, text),
        };
        if let Some(level) = self.levels.last_mut() {
            level.last_text = (start, self.out.len());
        }
        if valid {
            return;
        }
        // The text above has replacement characters; here is what it really was.
        match place {
            Place::Field(field) => {
                self.out.push(b',');
                self.base64_key(field);
                base64(self.out, text);
            }
            Place::Element(_, index) => {
                let Some(level) = self.levels.last_mut() else { return };
                level.aside.extend_from_slice(b"{\"index\":");
                level.aside.extend_from_slice(itoa::Buffer::new().format(index).as_bytes());
                level.aside.extend_from_slice(b",\"value\":");
                base64(&mut level.aside, text);
                level.aside.extend_from_slice(b"},");
            }
        }
    }

    /// Closes an array. Its texts that are not UTF-8 are an entry of their own behind it.
    fn close_array(&mut self, place: Place<'_>) {
        let mut texts = self.levels.last_mut().map(|level| std::mem::take(&mut level.aside)).unwrap_or_default();
        let (key_start, value_start) = self.close(b']');
        self.finish_entry(place, key_start, value_start);
        if let Place::Field(field) = place
            && !texts.is_empty()
        {
            let start = self.out.len();
            if let Some(level) = self.levels.last_mut().filter(|level| level.order == Order::None) {
                // Put together as the pieces of the array are.
                level.begin_run(field.tag.map(|tag| tag | OF_TEXTS), start);
            }
            self.base64_key(field);
            self.out.push(b'[');
            self.out.append(&mut texts);
            close_bracket(self.out, b']');
            self.out.push(b',');
        }
    }

    /// The key of what a field's text really was.
    fn base64_key(&mut self, field: &Field) {
        self.out.extend_from_slice(b"\"_");
        self.out.extend_from_slice(field.key().as_bytes());
        self.out.extend_from_slice(b"Base64\":");
    }

    fn withheld(&self, place: Place<'_>) -> bool {
        let Place::Field(field) = place else { return false };
        match field.secret {
            _ if self.show_secrets => false,
            Secret::No => false,
            Secret::Always | Secret::Unopened => true,
            Secret::Configuration => {
                let range = self.levels.last().map(|level| level.last_text).unwrap_or_default();
                self.opening.catalog.is_sensitive(self.out.get(range.0..range.1).unwrap_or_default())
            }
        }
    }

    /// Bytes that are no field's value, under a key that is numbered where there are several; in an array they are an
    /// object of their own.
    fn rest(&mut self, key: &[u8], bytes: &[u8]) {
        let Some(level) = self.levels.last_mut() else { return };
        let is_array = level.is_array;
        level.undecoded += 1;
        if level.order == Order::None {
            level.begin_run(None, self.out.len());
        }
        if is_array {
            self.out.push(b'{');
        }
        self.out.extend_from_slice(key);
        if level.undecoded > 1 && !is_array {
            self.out.extend_from_slice(itoa::Buffer::new().format(level.undecoded).as_bytes());
        }
        self.out.extend_from_slice(b"\":");
        self.unread(bytes);
        self.out.extend_from_slice(if is_array { b"}," } else { b"," });
    }

    /// Writes what stands in the place of a secret, and notes that the plain bytes of the payloads around it hold it.
    fn withhold(&mut self, length: usize) {
        withheld(self.out, length);
        for level in &mut self.levels {
            level.has_withheld = true;
        }
    }

    /// Bytes that are no value of a field: withheld where they may hold a secret.
    fn unread(&mut self, bytes: &[u8]) {
        if self.is_guarded && !self.show_secrets {
            self.withhold(bytes.len());
        } else {
            base64(self.out, bytes);
        }
    }

    /// Closes a payload. Its plain bytes stand before it, and are taken back when something in them is a secret.
    fn close_payload(&mut self, place: Place<'_>) {
        let secret = self.levels.last().filter(|level| level.has_withheld).and_then(|level| level.plain);
        self.close(b'}');
        self.out.push(b',');
        if let (Some((start, end, length)), Place::Field(field)) = (secret, place) {
            let mut entry = field.json_key.as_bytes().to_vec();
            withheld(&mut entry, length);
            entry.push(b',');
            self.out.splice(start..end, entry);
        }
    }

    /// The name of a topic beside its id, where the struct does not say it itself. Of the two either may come first.
    fn topic(&mut self, what: TopicField, value: Value<'_>) {
        let Some(level) = self.levels.last_mut() else { return };
        let unnamed = match (what, value, level.topic) {
            (TopicField::Id, Value::Uuid(id), Topic::Unnamed) => Some(id),
            (TopicField::Id, Value::Uuid(id), Topic::Pending(_)) => {
                level.topic = Topic::Pending(Some(id));
                None
            }
            (TopicField::Name, Value::String(None | Some([])), Topic::Pending(id)) => {
                level.topic = Topic::Unnamed;
                id
            }
            (TopicField::Name, ..) => {
                level.topic = Topic::Named;
                None
            }
            (TopicField::Id, ..) => None,
        };
        let names = self.opening.topics;
        if let Some(name) = unnamed.and_then(|id| names?.name(id)) {
            self.out.extend_from_slice(b",\"_topicId\":");
            string(self.out, name.as_bytes());
        }
    }

    /// The name of an error code other than 0, beside it.
    fn error_name(&mut self, field: &Field, code: i64) {
        let Some(id) = self.errors.filter(|id| code != 0 && field.enumeration == Some(*id)) else { return };
        if let Some(name) = self.opening.catalog.enumerations().get(id).and_then(|errors| errors.label(code)) {
            self.out.extend_from_slice(b",\"_");
            self.out.extend_from_slice(field.key().as_bytes());
            self.out.extend_from_slice(b"\":");
            string(self.out, name.as_bytes());
        }
    }
}

impl<'p> Visitor<'p> for JsonWriter<'_, 'p> {
    #[inline]
    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        let start = self.out.len();
        match scope {
            Scope::Message | Scope::Frame | Scope::Inflated(_) => {}
            Scope::Header(_, plan) => {
                self.out.extend_from_slice(b"\"header\":");
                self.open(start, b'{', Some(plan.top()));
            }
            Scope::Body(plan) => {
                self.is_guarded |= plan.holds_secrets();
                self.out.extend_from_slice(b"\"body\":");
                self.open(start, b'{', Some(plan.top()));
            }
            Scope::Struct(place, of) => {
                let start = self.key(place);
                let in_batch = self.is_in_batch();
                self.open(start, b'{', Some(of));
                if let Some(level) = self.levels.last_mut().filter(|_| in_batch) {
                    level.batch = Some(Batch::Record);
                }
            }
            Scope::Records(place, _) => {
                let start = self.key(place);
                self.open(start, b'[', None);
            }
            Scope::Batch(_, _, Nesting::Whole) => self.open(start, b'{', None),
            Scope::Batch(_, _, Nesting::Inner) => {
                // Its record is all that is written of it.
                let level = Level { key_start: start, batch: Some(Batch::Inner), is_array: true, ..Level::default() };
                self.levels.push(level);
            }
            // `payload` follows and writes what stands before it.
            Scope::Payload(_, plan) => {
                self.is_guarded |= plan.holds_secrets();
                self.payload = Some(plan);
            }
            Scope::OneRecord => self.open_record(),
            Scope::Array(place, _, _) if is_message_set(place) => {
                self.out.extend_from_slice(b"\"records\":");
                self.open(start, b'[', None);
            }
            Scope::Array(place, _, count) => {
                let start = self.key(place);
                self.open(start, b'[', None);
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
            Scope::Message | Scope::Frame | Scope::Inflated(_) => {}
            Scope::Payload(place, _) => self.close_payload(place),
            Scope::Header(..) | Scope::Body(_) | Scope::Batch(_, _, Nesting::Whole) => {
                self.close(b'}');
                self.out.push(b',');
            }
            Scope::Struct(place, _) => {
                let (key_start, value_start) = self.close(b'}');
                self.finish_entry(place, key_start, value_start);
            }
            Scope::Batch(_, _, Nesting::Inner) => drop(self.levels.pop()),
            Scope::OneRecord => self.close_record(),
            Scope::Records(place, length) => {
                let (key_start, value_start) = self.close(b']');
                self.finish_entry(place, key_start, value_start);
                // As the broker's request log has it.
                if let Place::Field(field) = place {
                    self.out.extend_from_slice(b"\"_");
                    self.out.extend_from_slice(field.key().as_bytes());
                    self.out.extend_from_slice(b"SizeInBytes\":");
                    self.out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
                    self.out.push(b',');
                }
            }
            Scope::Array(place, _, Some(_)) => self.close_array(place),
            Scope::Array(place, _, None) => {
                let level = self.levels.pop().unwrap_or_default();
                self.finish_entry(place, level.key_start, level.value_start);
            }
        }
    }

    #[inline]
    fn opening(&self) -> Option<Opening<'p>> {
        Some(self.opening)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.out.len() + self.levels.last().map_or(0, |level| level.aside.len()) > MAX_LINE
    }

    fn payload(&mut self, place: Place<'p>, bytes: &[u8]) {
        let Place::Field(field) = place else { return };
        let plan = self.payload.take();
        if plan.is_some_and(|plan| &*plan.name == "ControlRecordTypeSchema") {
            self.control_name(bytes);
        }
        let plain_start = self.out.len();
        if self.levels.last().is_some_and(|level| level.batch.is_some()) {
            self.text_or_base64(field, bytes);
        } else {
            let start = self.key(place);
            if field.secret == Secret::Always && !self.show_secrets {
                self.withhold(bytes.len());
            } else {
                base64(self.out, bytes);
            }
            self.finish_entry(place, start, start + field.json_key.len());
        }
        let start = self.out.len();
        self.out.extend_from_slice(b"\"_");
        self.out.extend_from_slice(field.key().as_bytes());
        self.out.extend_from_slice(b"\":");
        self.open(start, b'{', None);
        if let Some(level) = self.levels.last_mut() {
            level.plain = Some((plain_start, start, bytes.len()));
            if plan.is_some_and(|plan| plan.top().unordered) {
                level.order = Order::None;
            }
        }
    }

    fn batch(&mut self, facts: BatchFacts) {
        if let Some(level) = self.levels.last_mut()
            && level.batch.is_none()
        {
            level.batch = Some(Batch::Fields);
            self.facts = Some(facts);
        }
    }

    fn record(&mut self, offset: i64, timestamp: i64) {
        self.out.extend_from_slice(b"\"offset\":");
        self.out.extend_from_slice(itoa::Buffer::new().format(offset).as_bytes());
        self.out.extend_from_slice(b",\"timestamp\":");
        self.out.extend_from_slice(itoa::Buffer::new().format(timestamp).as_bytes());
        self.out.push(b',');
    }

    #[inline]
    fn value(&mut self, place: Place<'p>, value: Value<'_>, _: Span) {
        let batch = self.levels.last().and_then(|level| level.batch);
        if let Some(batch) = batch
            && let Place::Field(field) = place
        {
            self.batch_value(batch, field, value);
            return;
        }
        let key_start = self.key(place);
        let value_start = self.out.len();
        match value {
            Value::Int(number) => {
                self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                if let Place::Field(field) = place {
                    self.error_name(field, number);
                }
            }
            Value::Uint(number) => self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
            Value::Bool(flag) => self.out.extend_from_slice(if flag { b"true" } else { b"false" }),
            Value::String(None) | Value::Bytes(None) | Value::Records(None) | Value::NullStruct => {
                self.out.extend_from_slice(b"null");
            }
            Value::String(Some(secret)) | Value::Bytes(Some(secret)) if self.withheld(place) => {
                self.withhold(secret.len());
            }
            Value::String(Some(text)) => self.string(place, text),
            // Records are always opened; elements of an array cannot be records.
            Value::Bytes(Some(bytes)) | Value::Records(Some(bytes)) => base64(self.out, bytes),
            Value::Uuid(bytes) => {
                let mut text = [0; 22];
                // 16 bytes are 22 characters, so the slice is large enough.
                let _ = URL_SAFE_NO_PAD.encode_slice(bytes, &mut text);
                self.out.push(b'"');
                self.out.extend_from_slice(&text);
                self.out.push(b'"');
            }
            Value::Float(number) => float(self.out, number),
        }
        if let Some(topic) = place.field().and_then(|field| field.topic) {
            self.topic(topic, value);
        }
        self.finish_entry(place, key_start, value_start);
    }

    fn content(&mut self, place: Place<'p>, bytes: &[u8], format: Format, span: Span) {
        self.value(place, Value::Bytes(Some(bytes)), span);
        if let Place::Field(field) = place {
            self.decoded(field, bytes, format);
        }
    }

    #[inline]
    fn part(&mut self, part: Part<'_>, _: Span) {
        match part {
            Part::UnknownTag(tag, bytes) => {
                let is_guarded = self.is_guarded && !self.show_secrets;
                let Some(level) = self.levels.last_mut() else { return };
                level.aside.extend_from_slice(b"{\"tag\":");
                level.aside.extend_from_slice(itoa::Buffer::new().format(tag).as_bytes());
                level.aside.extend_from_slice(b",\"value\":");
                if is_guarded {
                    withheld(&mut level.aside, bytes.len());
                } else {
                    base64(&mut level.aside, bytes);
                }
                level.aside.extend_from_slice(b"},");
            }
            Part::Undecoded(bytes) => self.rest(b"\"_undecoded", bytes),
            Part::Partial(bytes) => self.rest(b"\"_partial", bytes),
            Part::Trailing(bytes) => self.rest(b"\"_trailing", bytes),
            Part::Size(_)
            | Part::ArrayLength { .. }
            | Part::ByteLength { .. }
            | Part::Compressed(_)
            | Part::Presence
            | Part::TaggedCount { .. }
            | Part::Tag(_)
            | Part::TagSize(_)
            | Part::FieldKey { .. }
            | Part::FieldSize(_)
            | Part::Prefix(..)
            | Part::Mark(_) => {}
        }
    }

    fn fault(&mut self, fault: &Fault) {
        self.faults.push(fault.clone());
    }
}

/// Whether an array is that of the messages in a compressed message.
fn is_message_set(place: Place<'_>) -> bool {
    place.field().is_some_and(|field| &*field.path == "MessageSet.Messages")
}

#[cfg(test)]
mod tests;
