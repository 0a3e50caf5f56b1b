//! Payloads inside of fields and records: which plan they have is told by the API, the topic or the key, never guessed.

use super::decoders::{Format, Formats};
use super::fit::{RequestHead, fit_request, fit_response};
use super::known::{Known, Word, word};
use super::token::MAX_TOKEN;
use super::walk::{Halt, Step, Walk};
use super::{Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::{Catalog, Field, Kind, Payload, Plan, Prefix, Role, Side, TopicFormat, Type};
use crate::wire::{self, Bytes};

/// What was met that decides what comes behind it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context {
    /// What the records of the topic are that was named last.
    pub(super) topic: Option<TopicFormat>,
    /// The formats that the reader named for them.
    formats: Formats,
    /// The group's protocol type.
    protocol_type: Word,
    /// Whether this is a message inside of a message.
    in_envelope: bool,
}

impl Context {
    /// What is known before the first byte.
    pub(super) fn of(known: &Known) -> Self {
        Self { protocol_type: known.protocol_type, ..Self::default() }
    }

    /// The topic of the records that follow; `None` where its name is not known.
    fn meet_topic(&mut self, name: Option<&[u8]>, opening: Opening<'_>) {
        self.topic = name.and_then(|name| opening.catalog.topic_format(name));
        self.formats = match (name, opening.decoders) {
            (Some(name), Some(decoders)) => decoders.of(name),
            _ => Formats::default(),
        };
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
            (Role::Payload(payload), Value::Bytes(Some(bytes))) => {
                return self.payload_field(field, payload, bytes, at, opening);
            }
            _ => {}
        }
        false
    }

    fn payload_field(
        &mut self,
        field: &'p Field,
        payload: Payload,
        bytes: &[u8],
        at: Span,
        opening: Opening<'p>,
    ) -> bool {
        let applies = payload.protocol_type.is_none_or(|name| name == &*self.context.protocol_type);
        if !applies || bytes.is_empty() {
            return false;
        }
        let catalog = opening.catalog;
        let content = match payload.schema {
            // A message inside of a message is opened once: Kafka puts no envelope into an envelope, and JSON would have
            // the same bytes again and again.
            Payload::REQUEST | Payload::RESPONSE if self.context.in_envelope => None,
            Payload::REQUEST => RequestHead::read(bytes)
                .map(|head| fit_request(catalog, head.key, head.version, bytes, false, 0).reading)
                .and_then(|reading| Some(Content::Message(Side::Request, reading.header?, reading.body?))),
            Payload::RESPONSE => (self.known.enveloped)
                .map(|(key, version)| fit_response(catalog, key, version, bytes, false, 0).reading)
                .and_then(|reading| Some(Content::Message(Side::Response, reading.header?, reading.body?))),
            // Of a bare token all must be there: only its frame says where it ends.
            Payload::TOKEN if !self.complete || bytes.len() > MAX_TOKEN => None,
            Payload::TOKEN => catalog.token_plan(&self.known.mechanism, bytes).map(Content::Payload),
            schema => plan_in_front(catalog, schema, bytes).map(Content::Payload),
        };
        content.is_some_and(|content| {
            self.nested(Place::Field(field), bytes, at, content);
            true
        })
    }

    /// Walks bytes that lie in a field, with the field's length in front where that is a part of the field.
    fn nested(&mut self, place: Place<'p>, bytes: &[u8], at: Span, content: Content<'p>) {
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
        self.context = Context { in_envelope, ..Context::default() };
        if self.push(place, start).is_ok() {
            let step = match content {
                Content::Payload(plan) => self.payload_members(&mut inside, plan),
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
            self.nested(Place::Field(field), bytes, at, Content::Payload(plan));
            let code = bytes.get(2..).and_then(<[u8]>::first_chunk).map(|code| i16::from_be_bytes(*code));
            return code.and_then(|code| catalog.control_schema(code)).map_or(ValueSchema::Unknown, ValueSchema::Name);
        }
        match self.context.topic {
            Some(TopicFormat::Coordinator(module)) => {
                let record_type = bytes.first_chunk().map(|code| i16::from_be_bytes(*code));
                let schema = |kind| record_type.and_then(|code| catalog.stored(module, kind, code));
                let key = schema(Kind::CoordinatorKey).and_then(|schema| catalog.plan(&schema.name, schema.valid.last));
                match key {
                    Some(plan) => self.nested(Place::Field(field), bytes, at, Content::Payload(plan)),
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
            Some(plan) => self.nested(Place::Field(field), bytes, at, Content::Payload(plan)),
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

/// What a payload is.
#[derive(Clone, Copy)]
enum Content<'p> {
    Payload(&'p Plan),
    /// A whole request or response: header and body.
    Message(Side, &'p Plan, &'p Plan),
}

impl<'p> Content<'p> {
    /// The plan that gives the payload its name.
    fn plan(self) -> &'p Plan {
        match self {
            Self::Payload(plan) | Self::Message(_, _, plan) => plan,
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

/// The plan for the version that a payload says in front: in its prefix, or in its first field where that is it.
/// `None` where the version is not known.
pub fn plan_in_front<'p>(catalog: &'p Catalog, name: &str, bytes: &[u8]) -> Option<&'p Plan> {
    let newest = catalog.plan(name, catalog.versions(name).last)?;
    let version = match version_in_front(newest, bytes) {
        Ok(Some(version)) => i16::try_from(version).ok()?,
        Ok(None) => return Some(newest),
        Err(Halt) => return None,
    };
    catalog.plan(name, version)
}

/// The version that a payload says in front, where its kind has one.
fn version_in_front(plan: &Plan, bytes: &[u8]) -> Result<Option<i64>, Halt> {
    let mut input = Bytes::new(bytes);
    match plan.prefix() {
        // A record type is no version; keys have version 0.
        Prefix::Int16("record_type") => Ok(Some(0)),
        Prefix::Int16(_) => wire::int16(input).map(|(_, version)| Some(version.into())).map_err(|_| Halt),
        Prefix::Uvarints(names) => {
            let mut last = None;
            for _ in names {
                let (rest, value) = wire::uvarint(input).map_err(|_| Halt)?;
                input = rest;
                last = Some(i64::from(value));
            }
            Ok(last)
        }
        // Kafka Streams and KRaft's control records have the version as their first field.
        Prefix::None => match plan.untagged(plan.top()).first().filter(|field| field.key() == "version") {
            Some(field) if field.ty == Type::Int32 => {
                wire::int32(input).map(|(_, version)| Some(version.into())).map_err(|_| Halt)
            }
            Some(field) if field.ty == Type::Int16 => {
                wire::int16(input).map(|(_, version)| Some(version.into())).map_err(|_| Halt)
            }
            _ => Ok(None),
        },
    }
}
