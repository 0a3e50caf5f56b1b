//! Payloads inside of fields and records: which plan they have is told by the API, the topic or the key, never guessed.

use super::decoders::{Format, Formats};
use super::fit::{RequestHead, fit_request, fit_response};
use super::inflate::Codec;
use super::known::{Known, Word, word};
use super::records::Compression;
use super::token::MAX_TOKEN;
use super::walk::{Step, Walk, dissect_payload};
use super::{Deaf, Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::{Catalog, Condition, Field, Kind, Payload, Plan, Prefix, Role, Side, TopicFormat, Type};
use crate::wire::{self, Bytes};

/// What was met that decides what comes behind it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context {
    /// What the records of the topic are that was named last.
    topic: Option<TopicFormat>,
    /// The formats that the reader named for them.
    formats: Formats,
    /// The group's protocol type.
    protocol_type: Word,
    /// The group's assignor.
    assignor: Word,
    /// The codec of compressed bytes that follow.
    codec: Codec,
    /// Whether this is a message inside of a message.
    in_envelope: bool,
}

impl Context {
    /// What is known before the first byte.
    pub(super) fn of(known: &Known) -> Self {
        Self { protocol_type: known.protocol_type, assignor: known.protocol_name, ..Self::default() }
    }

    /// The topic of the records that follow; `None` where its name is not known.
    fn meet_topic(&mut self, name: Option<&[u8]>, opening: Opening<'_>) {
        self.topic = name.and_then(|name| opening.catalog.topic_format(name));
        self.formats = match (name, opening.decoders) {
            (Some(name), Some(decoders)) => decoders.of(name),
            _ => Formats::default(),
        };
    }

    /// Whether what was said before a payload is what it asks for.
    fn meets(&self, condition: Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::ProtocolType(name) => *self.protocol_type == *name,
            Condition::Assignor(name) => *self.assignor == *name,
        }
    }

    /// What is known of a record's value, by what its key said: records of a metadata log have no keys.
    pub(super) fn value_schema<'p>(&self, from_key: ValueSchema<'p>) -> ValueSchema<'p> {
        match self.topic {
            Some(TopicFormat::Metadata(module)) => ValueSchema::Metadata(module),
            _ => from_key,
        }
    }
}

impl<'p, V: Visitor<'p>> Walk<'_, 'p, V> {
    /// A field that says something about what comes behind it, or holds a payload. Whether it was told in place of its
    /// plain value.
    pub(super) fn special(&mut self, field: &'p Field, value: Value<'_>, at: Span, opening: Opening<'p>) -> bool {
        let catalog = opening.catalog;
        match (field.role, value) {
            (Role::Topic, Value::String(name)) => self.context.meet_topic(name, opening),
            (Role::TopicId, Value::Uuid(id)) => {
                let name = opening.topics.and_then(|topics| topics.name(id));
                self.context.meet_topic(name.map(str::as_bytes), opening);
                self.context.topic = catalog.topic_id_format(id).or(self.context.topic);
            }
            // Where the message does not say it, its request may have said it.
            (Role::ProtocolType, Value::String(name)) => {
                self.context.protocol_type = name.map_or(self.known.protocol_type, word);
            }
            (Role::Assignor, Value::String(name)) => {
                self.context.assignor = name.map_or(self.known.protocol_name, word);
            }
            (Role::Codec, Value::Int(code)) => self.context.codec = Codec(u8::try_from(code).unwrap_or(u8::MAX)),
            (Role::Payload, Value::Bytes(Some(bytes))) if !bytes.is_empty() => {
                return self.payload(field, bytes, opening).is_some_and(|content| {
                    self.nested(Place::Field(field), bytes, at, content, opening);
                    true
                });
            }
            _ => {}
        }
        false
    }

    /// What the bytes of a field are: the first schema that takes them whole, of several that may be meant.
    fn payload(&self, field: &'p Field, bytes: &[u8], opening: Opening<'p>) -> Option<Content<'p>> {
        let meant = opening.catalog.payloads(&field.path).iter();
        let meant = meant.filter(|payload| self.context.meets(payload.condition));
        let mut contents = meant.filter_map(|payload| self.content_of(*payload, bytes, opening.catalog));
        let first = contents.next()?;
        let Some(second) = contents.next() else { return Some(first) };
        let mut all = [first, second].into_iter().chain(contents);
        Some(all.find(|content| content.takes(bytes)).unwrap_or(first))
    }

    fn content_of(&self, payload: Payload, bytes: &[u8], catalog: &'p Catalog) -> Option<Content<'p>> {
        match payload.schema {
            // A message inside of a message is opened once: Kafka puts no envelope into an envelope, and JSON would have
            // the same bytes again and again.
            Payload::REQUEST | Payload::RESPONSE if self.context.in_envelope => None,
            Payload::REQUEST => {
                let head = RequestHead::read(bytes)?;
                let reading = fit_request(catalog, head.key, head.version, bytes, false, 0).reading;
                Some(Content::Message(Side::Request, reading.header?, reading.body?))
            }
            Payload::RESPONSE => {
                let (key, version) = self.known.enveloped?;
                let reading = fit_response(catalog, key, version, bytes, false, 0).reading;
                Some(Content::Message(Side::Response, reading.header?, reading.body?))
            }
            // Of a bare token all must be there: only its frame says where it ends.
            Payload::TOKEN if !self.complete || bytes.len() > MAX_TOKEN => None,
            Payload::TOKEN => catalog.token_plan(&self.known.mechanism, bytes).map(Content::Payload),
            schema if payload.is_compressed && self.context.codec != Codec::NONE => {
                let plan = catalog.plan(schema, catalog.versions(schema).last)?;
                // Of a codec that is not known nothing can be told.
                Some(Content::Compressed(plan, self.context.codec)).filter(|_| self.context.codec.is_known())
            }
            schema => plan_in_front(catalog, schema, bytes).map(Content::Payload),
        }
    }

    /// Walks bytes that lie in a field, with the field's length in front where that is a part of the field.
    fn nested(&mut self, place: Place<'p>, bytes: &[u8], at: Span, content: Content<'p>, opening: Opening<'p>) {
        let name = content.plan();
        let length = bytes.len() as u32;
        let start = at.end() - length;
        self.visitor.enter(Scope::Payload(place, name), at.start);
        self.visitor.payload(place, bytes);
        if start > at.start {
            let compact = matches!(place.ty(), Type::CompactBytes);
            self.visitor.part(Part::ByteLength { length, compact }, Span { len: start - at.start, ..at });
        }
        let mut inside = Bytes::at(bytes, start);
        let complete = std::mem::replace(&mut self.complete, true);
        let outer = self.context;
        let in_envelope = outer.in_envelope || matches!(content, Content::Message(..));
        let is_request = self.is_request;
        // What a group's member sends is read with its assignor.
        self.context = Context { in_envelope, assignor: outer.assignor, ..Context::default() };
        if self.push(place, start).is_ok() {
            let step = match content {
                Content::Payload(plan) => self.payload_members(&mut inside, plan),
                Content::Compressed(plan, codec) => {
                    let compression = Compression { codec, magic: NEWEST_MAGIC };
                    self.inflated(&mut inside, compression, opening, |walk, inside| {
                        if walk.payload_members(inside, plan).is_ok() {
                            walk.rest(inside, Part::Trailing);
                        }
                    })
                }
                Content::Message(side, header, body) => {
                    self.is_request = side == Side::Request;
                    let step = self.header(&mut inside, side, header);
                    step.map(|()| self.body(&mut inside, body))
                }
            };
            if step.is_ok() {
                self.rest(&mut inside, Part::Trailing);
            }
            self.trail.pop();
        }
        self.rest(&mut inside, Part::Undecoded);
        self.context = outer;
        self.is_request = is_request;
        self.complete = complete;
        self.visitor.leave(Scope::Payload(place, name), inside.offset());
    }

    fn payload_members(&mut self, input: &mut Bytes<'_>, plan: &'p Plan) -> Step {
        self.prefix(input, plan)?;
        self.described(input, plan)
    }

    /// The key of a record, opened where the topic or the batch says what it is. Gives the schema of the value.
    pub(super) fn record_key(
        &mut self,
        field: &'p Field,
        bytes: &[u8],
        at: Span,
        is_control: bool,
        opening: Opening<'p>,
    ) -> ValueSchema<'p> {
        let catalog = opening.catalog;
        let format = self.context.formats.key;
        let unopened = |walk: &mut Self| walk.content(field, bytes, at, format);
        if is_control {
            let Some(plan) = catalog.plan("ControlRecordTypeSchema", 0) else { return ValueSchema::Unknown };
            self.nested(Place::Field(field), bytes, at, Content::Payload(plan), opening);
            let code = bytes.get(2..).and_then(<[u8]>::first_chunk).map(|code| i16::from_be_bytes(*code));
            return code.and_then(|code| catalog.control_schema(code)).map_or(ValueSchema::Unknown, ValueSchema::Name);
        }
        match self.context.topic {
            Some(TopicFormat::Coordinator(module)) => {
                let record_type = bytes.first_chunk().map(|code| i16::from_be_bytes(*code));
                let schema = |kind| record_type.and_then(|code| catalog.stored(module, kind, code));
                let key = schema(Kind::CoordinatorKey).and_then(|schema| catalog.plan(&schema.name, schema.valid.last));
                match key {
                    Some(plan) => self.nested(Place::Field(field), bytes, at, Content::Payload(plan), opening),
                    None => unopened(self),
                }
                schema(Kind::CoordinatorValue).map_or(ValueSchema::Unknown, |schema| ValueSchema::Name(&schema.name))
            }
            Some(TopicFormat::Metadata(module)) => {
                unopened(self);
                ValueSchema::Metadata(module)
            }
            None => {
                unopened(self);
                ValueSchema::Unknown
            }
        }
    }

    /// The value of a record, opened where its key or topic says what it is.
    pub(super) fn record_value(
        &mut self,
        field: &'p Field,
        bytes: &[u8],
        at: Span,
        schema: ValueSchema<'p>,
        opening: Opening<'p>,
    ) {
        let catalog = opening.catalog;
        let plan = match schema {
            ValueSchema::Unknown => None,
            ValueSchema::Name(name) => plan_in_front(catalog, name, bytes),
            ValueSchema::Metadata(module) => {
                let schema = metadata_type(bytes).and_then(|code| catalog.stored(module, Kind::Metadata, code));
                schema.and_then(|schema| plan_in_front(catalog, &schema.name, bytes))
            }
        };
        match plan {
            Some(plan) => self.nested(Place::Field(field), bytes, at, Content::Payload(plan), opening),
            None => self.content(field, bytes, at, self.context.formats.value),
        }
    }

    /// Bytes that Kafka says nothing of, in the format that the reader named, if he did.
    fn content(&mut self, field: &'p Field, bytes: &[u8], at: Span, format: Option<Format>) {
        match format {
            Some(format) => self.visitor.content(Place::Field(field), bytes, format, at),
            None => self.visitor.value(Place::Field(field), Value::Bytes(Some(bytes)), at),
        }
    }
}

/// The record format whose codecs are used outside of records as well.
const NEWEST_MAGIC: u8 = 2;

/// What a payload is.
#[derive(Clone, Copy)]
enum Content<'p> {
    Payload(&'p Plan),
    Compressed(&'p Plan, Codec),
    /// A whole request or response: header and body.
    Message(Side, &'p Plan, &'p Plan),
}

impl<'p> Content<'p> {
    /// The plan that gives the payload its name.
    fn plan(self) -> &'p Plan {
        match self {
            Self::Payload(plan) | Self::Compressed(plan, _) | Self::Message(_, _, plan) => plan,
        }
    }

    /// Whether the bytes are that to the last one; of compressed ones nothing is known before they are inflated.
    fn takes(self, bytes: &[u8]) -> bool {
        match self {
            Self::Payload(plan) => dissect_payload(plan, bytes, &mut Deaf).is_exact(),
            Self::Compressed(..) | Self::Message(..) => true,
        }
    }
}

/// What is known of a record's value from its key and topic.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueSchema<'p> {
    Unknown,
    Name(&'p str),
    /// The value says itself which record type of a part of Kafka it is.
    Metadata(&'static str),
}

/// The record type of a metadata log's value.
fn metadata_type(bytes: &[u8]) -> Option<i16> {
    let (rest, _frame_version) = wire::uvarint(Bytes::new(bytes)).ok()?;
    let (_, record_type) = wire::uvarint(rest).ok()?;
    i16::try_from(record_type).ok()
}

/// The plan for the version that a payload says in front: in its prefix, or in its first field where that is it. Where
/// it says none, the newest that takes the bytes. `None` where the version is not known.
pub fn plan_in_front<'p>(catalog: &'p Catalog, name: &str, bytes: &[u8]) -> Option<&'p Plan> {
    let newest = catalog.plan(name, catalog.versions(name).last)?;
    match version_in_front(newest, bytes) {
        InFront::Version(version) => catalog.plan(name, i16::try_from(version).ok()?),
        InFront::Nothing => Some(newest_that_fits(catalog, newest, bytes)),
        InFront::Cut => None,
    }
}

/// The newest version of a schema that takes bytes to the last one; where none does, the newest.
pub fn newest_that_fits<'p>(catalog: &'p Catalog, newest: &'p Plan, bytes: &[u8]) -> &'p Plan {
    let versions = catalog.versions(&newest.name);
    if versions.first == versions.last {
        return newest;
    }
    let plans = (versions.first..=versions.last).rev().filter_map(|version| catalog.plan(&newest.name, version));
    let mut fitting = plans.filter(|plan| dissect_payload(plan, bytes, &mut Deaf).is_exact());
    fitting.next().unwrap_or(newest)
}

/// What stands in front of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InFront {
    /// Its version.
    Version(i64),
    /// Nothing: its kind does not say its version.
    Nothing,
    /// The bytes end before the version does.
    Cut,
}

/// The version that a payload says in front, where its kind has one. Which kind it is, any of its plans will tell.
pub fn version_in_front(plan: &Plan, bytes: &[u8]) -> InFront {
    fn told<T: Into<i64>>(read: wire::Parsed<'_, T>) -> InFront {
        read.map_or(InFront::Cut, |(_, version)| InFront::Version(version.into()))
    }
    let mut input = Bytes::new(bytes);
    match plan.prefix() {
        // A record type is no version; keys have version 0.
        Prefix::Int16("record_type") => InFront::Version(0),
        Prefix::Int16(_) => told(wire::int16(input)),
        Prefix::Uvarints(names) => {
            for _ in names.iter().skip(1) {
                let Ok((rest, _)) = wire::uvarint(input) else { return InFront::Cut };
                input = rest;
            }
            told(wire::uvarint(input))
        }
        // Kafka Streams, Connect and KRaft's control records have the version as their first field.
        Prefix::None => match plan.untagged(plan.top()).first().filter(|field| field.key() == "version") {
            Some(field) if field.ty == Type::Int32 => told(wire::int32(input)),
            Some(field) if field.ty == Type::Int16 => told(wire::int16(input)),
            _ => InFront::Nothing,
        },
    }
}
