//! What a connection says that is needed to read what comes later on it: the SASL mechanism, the protocols of groups, the
//! requests in envelopes.

use std::collections::VecDeque;

use crate::dissect::{Known, Place, Reading, RequestHead, Span, Value, Visitor, Word, dissect, word};
use crate::protocol::ApiKey;

/// What was heard on one connection. Requests are known by their numbers.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// The mechanism of the last SaslHandshake request, and that request.
    mechanism: Word,
    handshake: u64,
    /// The groups that were joined, the last one behind.
    groups: VecDeque<Group>,
}

/// A group that was joined.
#[derive(Debug)]
struct Group {
    id: Box<[u8]>,
    protocol_type: Word,
    /// What the broker chose; empty until it has answered.
    protocol_name: Word,
    /// The last request that joined it.
    joined: u64,
}

/// Groups of a connection that are remembered: consumers have one.
const MAX_GROUPS: usize = 64;
/// Groups with longer names are not.
const MAX_GROUP_ID: usize = 1024;

impl Outside {
    /// Hears a request, and says what is known of it and of its response.
    pub(super) fn request(&mut self, index: u64, key: ApiKey, reading: &Reading<'_>, frame: &[u8]) -> Known {
        let mut known = Known::default();
        match key {
            ApiKey::SASL_HANDSHAKE => {
                self.mechanism = word(Heard::of(reading, frame).mechanism.unwrap_or_default());
                self.handshake = index;
            }
            ApiKey::SASL_AUTHENTICATE => return self.token(),
            ApiKey::JOIN_GROUP => {
                let heard = Heard::of(reading, frame);
                known.protocol_type = word(heard.protocol_type.unwrap_or_default());
                self.join(index, heard.group.unwrap_or_default(), known.protocol_type);
            }
            ApiKey::SYNC_GROUP => {
                let heard = Heard::of(reading, frame);
                let group = self.groups.iter().find(|group| Some(&*group.id) == heard.group);
                known.protocol_type =
                    heard.protocol_type.map(word).or(group.map(|group| group.protocol_type)).unwrap_or_default();
                known.protocol_name =
                    heard.protocol_name.map(word).or(group.map(|group| group.protocol_name)).unwrap_or_default();
            }
            ApiKey::ENVELOPE => {
                let head = Heard::of(reading, frame).request.and_then(RequestHead::read);
                known.enveloped = head.map(|head| (head.key, head.version));
            }
            _ => {}
        }
        known
    }

    /// Hears the response to a request.
    pub(super) fn response(&mut self, asked: u64, key: ApiKey, reading: &Reading<'_>, frame: &[u8]) {
        match key {
            ApiKey::SASL_HANDSHAKE => {
                let has_failed = Heard::of(reading, frame).error.is_some_and(|error| error != 0);
                if has_failed && self.handshake == asked {
                    self.mechanism = Word::default();
                }
            }
            ApiKey::JOIN_GROUP => {
                if let Some(group) = self.groups.iter_mut().find(|group| group.joined == asked) {
                    group.protocol_name = word(Heard::of(reading, frame).protocol_name.unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    /// What is known of a token.
    pub(super) fn token(&self) -> Known {
        Known { mechanism: self.mechanism, ..Known::default() }
    }

    /// Forgets all: requests were lost, which may have said something else.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn join(&mut self, index: u64, id: &[u8], protocol_type: Word) {
        self.groups.retain(|group| &*group.id != id);
        if id.len() > MAX_GROUP_ID {
            return;
        }
        if self.groups.len() >= MAX_GROUPS {
            self.groups.pop_front();
        }
        self.groups.push_back(Group { id: id.into(), protocol_type, protocol_name: Word::default(), joined: index });
    }
}

/// The fields that are listened to.
#[derive(Debug, Default)]
struct Heard<'f> {
    frame: &'f [u8],
    mechanism: Option<&'f [u8]>,
    group: Option<&'f [u8]>,
    protocol_type: Option<&'f [u8]>,
    protocol_name: Option<&'f [u8]>,
    request: Option<&'f [u8]>,
    error: Option<i64>,
}

impl<'f> Heard<'f> {
    fn of(reading: &Reading<'_>, frame: &'f [u8]) -> Self {
        let mut heard = Self { frame, ..Self::default() };
        dissect(reading, frame, &mut heard);
        heard
    }
}

impl<'p> Visitor<'p> for Heard<'_> {
    fn value(&mut self, place: Place<'p>, value: Value<'_>, span: Span) {
        let Place::Field(field) = place else { return };
        let length = match value {
            Value::String(Some(bytes)) | Value::Bytes(Some(bytes)) => bytes.len(),
            Value::Int(error) => {
                if &*field.path == "SaslHandshakeResponse.ErrorCode" {
                    self.error = Some(error);
                }
                return;
            }
            _ => return,
        };
        // The value's bytes are the last ones of its span.
        let end = span.end() as usize;
        let bytes = end.checked_sub(length).and_then(|start| self.frame.get(start..end));
        match &*field.path {
            "SaslHandshakeRequest.Mechanism" => self.mechanism = bytes,
            "JoinGroupRequest.GroupId" | "SyncGroupRequest.GroupId" => self.group = bytes,
            "JoinGroupRequest.ProtocolType" | "SyncGroupRequest.ProtocolType" => self.protocol_type = bytes,
            "JoinGroupResponse.ProtocolName" | "SyncGroupRequest.ProtocolName" => self.protocol_name = bytes,
            "EnvelopeRequest.RequestData" => self.request = bytes,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
