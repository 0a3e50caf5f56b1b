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
    /// It holds bytes with a schema of their own.
    Payload(Payload),
}

/// The schema of a field's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// The protocol type that it holds for; `None`: for all.
    pub protocol_type: Option<&'static str>,
    /// The schema's name, or [`Payload::REQUEST`], [`Payload::RESPONSE`], [`Payload::TOKEN`].
    pub schema: &'static str,
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
    fields: HashMap<&'static str, Payload>,
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
                "field" => {
                    let protocol_type = Some(condition).filter(|condition| *condition != "-");
                    payloads.fields.insert(name, Payload { protocol_type, schema: target });
                }
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

    pub(super) fn field(&self, path: &str) -> Option<Payload> {
        self.fields.get(path).copied()
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
        let fields = payloads.fields.values().map(|payload| payload.schema);
        let tokens = payloads.tokens.iter().map(|token| token.schema);
        let is_schema = |name: &&str| ![Payload::REQUEST, Payload::RESPONSE, Payload::TOKEN].contains(name);
        for name in fields.chain(payloads.controls.values().copied()).chain(tokens).filter(is_schema) {
            assert!(catalog.schema(name).is_some(), "{name}");
        }
        for path in payloads.fields.keys() {
            let message = path.split('.').next().unwrap();
            let plan = catalog.plan(message, catalog.versions(message).last).unwrap();
            let field = plan.fields().iter().find(|field| &*field.path == *path);
            assert!(matches!(field.unwrap().ty, Type::Bytes | Type::CompactBytes | Type::Raw), "{path}");
        }
    }
}
