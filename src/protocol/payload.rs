//! What lies inside of opaque bytes: which schema, and what decides it. The data is `schemas/payloads.tsv`.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::schema::Kind;

/// What a field means to what comes behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Nothing.
    #[default]
    None,
    /// It names the topic of the records that follow.
    Topic,
    /// It identifies the topic of the records that follow.
    TopicId,
    /// It names the protocol type of a group, which decides what its members' metadata is.
    ProtocolType,
    /// It names the assignor of a group, which decides what its user data is.
    Assignor,
    /// It is the codec of the bytes that follow.
    Codec,
    /// It holds bytes with a schema of their own: [`Catalog::payloads`](super::Catalog::payloads) says which.
    Payload,
}

/// A schema that a field's bytes may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// What must have been said before it.
    pub condition: Condition,
    /// Whether the bytes are compressed, with the codec that was said before them.
    pub is_compressed: bool,
    /// The schema's name, or [`Payload::REQUEST`], [`Payload::RESPONSE`], [`Payload::TOKEN`].
    pub schema: &'static str,
}

/// What decides that bytes have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The field alone.
    Always,
    /// The group's protocol type.
    ProtocolType(&'static str),
    /// The group's assignor.
    Assignor(&'static str),
}

impl Condition {
    fn of(word: &'static str) -> Self {
        match word.strip_prefix("assignor=") {
            Some(name) => Self::Assignor(name),
            None if word == "-" => Self::Always,
            None => Self::ProtocolType(word),
        }
    }
}

impl Payload {
    /// Stands for a whole request with its header but without its size.
    pub const REQUEST: &'static str = "request";
    /// Stands for the whole response to the request that was in an envelope.
    pub const RESPONSE: &'static str = "response";
    /// Stands for a token of the connection's SASL mechanism.
    pub const TOKEN: &'static str = "token";
}

/// What the records of a topic are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicFormat {
    /// A key says with its record type what it is and what the value is. The part of Kafka that writes it.
    Coordinator(&'static str),
    /// A value says itself what it is. The part of Kafka that writes it.
    Metadata(&'static str),
}

impl TopicFormat {
    /// The kind of the schemas of values.
    pub fn value_kind(self) -> Kind {
        match self {
            Self::Coordinator(_) => Kind::CoordinatorValue,
            Self::Metadata(_) => Kind::Metadata,
        }
    }
}

/// What a SASL mechanism says.
#[derive(Debug)]
struct Token {
    mechanism: &'static str,
    /// The bytes of which one begins it; `None`: any.
    begins: Option<&'static [u8]>,
    schema: &'static str,
}

/// All that `schemas/payloads.tsv` says.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    fields: HashMap<&'static str, Vec<Payload>>,
    /// Fields that decide what others are.
    roles: HashMap<&'static str, Role>,
    topics: HashMap<&'static str, TopicFormat>,
    topic_ids: HashMap<[u8; 16], TopicFormat>,
    controls: HashMap<i16, &'static str>,
    tokens: Vec<Token>,
}

impl Payloads {
    /// Reads the table; lines that do not fit are left out (the embedded one is checked by tests).
    pub(super) fn parse(text: &'static str) -> Self {
        let mut payloads = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut cells = line.split('\t');
            let (Some(subject), Some(name), Some(condition), Some(target)) =
                (cells.next(), cells.next(), cells.next(), cells.next())
            else {
                continue;
            };
            let format = match condition {
                "coordinator" => TopicFormat::Coordinator(target),
                _ => TopicFormat::Metadata(target),
            };
            match subject {
                "field" | "compressed" => {
                    let condition = Condition::of(condition);
                    let payload = Payload { condition, is_compressed: subject == "compressed", schema: target };
                    payloads.fields.entry(name).or_default().push(payload);
                }
                "assignor" => drop(payloads.roles.insert(name, Role::Assignor)),
                "codec" => drop(payloads.roles.insert(name, Role::Codec)),
                "topic" => drop(payloads.topics.insert(name, format)),
                "topic-id" => {
                    let id = URL_SAFE_NO_PAD.decode(name).ok().and_then(|bytes| bytes.try_into().ok());
                    payloads.topic_ids.extend(id.map(|id| (id, format)));
                }
                "token" => {
                    let begins = Some(condition.as_bytes()).filter(|begins| *begins != b"-");
                    payloads.tokens.push(Token { mechanism: name, begins, schema: target });
                }
                "control" => payloads.controls.extend(name.parse().ok().map(|code: i16| (code, target))),
                _ => {}
            }
        }
        payloads
    }

    /// What a field's bytes may be, in the order of the table.
    pub(super) fn field(&self, path: &str) -> &[Payload] {
        self.fields.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// What the table says that a field means.
    pub(super) fn role(&self, path: &str) -> Role {
        if self.fields.contains_key(path) {
            return Role::Payload;
        }
        self.roles.get(path).copied().unwrap_or_default()
    }

    pub(super) fn topic(&self, name: &[u8]) -> Option<TopicFormat> {
        self.topics.get(std::str::from_utf8(name).ok()?).copied()
    }

    pub(super) fn topic_id(&self, id: [u8; 16]) -> Option<TopicFormat> {
        self.topic_ids.get(&id).copied()
    }

    /// The schema of a token of a mechanism.
    pub(super) fn token(&self, mechanism: &str, token: &[u8]) -> Option<&'static str> {
        let is_begun = |begins: &[u8]| token.first().is_some_and(|first| begins.contains(first));
        let fits = |known: &&Token| known.mechanism == mechanism && known.begins.is_none_or(is_begun);
        self.tokens.iter().find(fits).map(|known| known.schema)
    }

    pub(super) fn control(&self, code: i16) -> Option<&'static str> {
        self.controls.get(&code).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Catalog, Type};
    use super::*;

    /// What the table names is there, so that no line is without effect.
    #[test]
    fn every_line_names_a_field_of_bytes_and_a_schema() {
        let catalog = Catalog::builtin();
        let payloads = Payloads::parse(include_str!("../../schemas/payloads.tsv"));
        assert_eq!((payloads.topics.len(), payloads.topic_ids.len(), payloads.controls.len()), (5, 1, 7));
        let fields = payloads.fields.values().flatten().map(|payload| payload.schema);
        let tokens = payloads.tokens.iter().map(|token| token.schema);
        let is_schema = |name: &&str| ![Payload::REQUEST, Payload::RESPONSE, Payload::TOKEN].contains(name);
        for name in fields.chain(payloads.controls.values().copied()).chain(tokens).filter(is_schema) {
            assert!(catalog.schema(name).is_some(), "{name}");
        }
        let type_of = |path: &str| {
            let message = path.split('.').next().unwrap();
            let plan = catalog.plan(message, catalog.versions(message).last).unwrap();
            let field = plan.fields().iter().find(|field| &*field.path == path);
            field.unwrap_or_else(|| panic!("{path}")).ty
        };
        for path in payloads.fields.keys() {
            assert!(matches!(type_of(path), Type::Bytes | Type::CompactBytes | Type::Raw), "{path}");
        }
        for (path, role) in &payloads.roles {
            let expected = match role {
                Role::Assignor => matches!(type_of(path), Type::String | Type::CompactString),
                _ => type_of(path) == Type::Int8,
            };
            assert!(expected, "{path}");
        }
    }
}
