//! What goes on between a client and a broker: requests that wait, responses that came too early, SASL.

use std::collections::VecDeque;
use std::sync::Arc;

use super::framer::Origins;
use super::outside::Outside;
use super::pool::Pool;
use crate::capture::Time;
use crate::dissect::Known;
use crate::protocol::ApiKey;

/// Requests that may wait for an answer on one connection; Kafka clients have 5 or so.
const MAX_PENDING: usize = 4096;

/// The state of one connection's exchanges.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pending: VecDeque<Pending>,
    /// The correlation id of the first request that was seen.
    first: Option<i32>,
    /// Responses whose request was not seen yet, in their order.
    pub(super) held: VecDeque<Held>,
    /// Whether bare SASL tokens may come.
    pub(super) tokens: bool,
    /// What decides how later messages are read.
    pub(super) outside: Outside,
    client_id: Option<Arc<[u8]>>,
}

/// A request that waits for its response.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) index: u64,
    pub(super) time: Time,
    pub(super) call: Call,
    pub(super) client_id: Option<Arc<[u8]>>,
    /// What is known of the response.
    pub(super) known: Known,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Api { key: ApiKey, version: i16, correlation: i32 },
    Token,
}

/// A response that waits for its request.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) frame: Vec<u8>,
    pub(super) origins: Origins,
    pub(super) time: Time,
    pub(super) stream_offset: u64,
    pub(super) guessed: bool,
    pub(super) length: u64,
    pub(super) gap: u64,
    /// Pieces of data that the connection has had since.
    pub(super) age: u32,
}

impl Talk {
    /// Notes a request that will be answered.
    pub(super) fn ask(&mut self, request: Pending, spare: &mut Pool<VecDeque<Pending>>) {
        if self.pending.capacity() == 0 {
            self.pending = spare.take();
        }
        if self.pending.len() >= MAX_PENDING {
            self.pending.pop_front();
        }
        if let Call::Api { correlation, .. } = request.call {
            self.first.get_or_insert(correlation);
        }
        self.pending.push_back(request);
    }

    /// Takes the request that a response answers: a token, if that is next, else the one with its correlation id.
    pub(super) fn answer_to(&mut self, frame: &[u8], spare: &mut Pool<VecDeque<Pending>>) -> Option<Pending> {
        let answered = self.answer_token().or_else(|| self.answer(correlation_of(frame)?));
        if self.pending.is_empty() {
            spare.give(std::mem::take(&mut self.pending));
        }
        answered
    }

    /// Takes the request that a response with this correlation id answers. Requests before it were never answered:
    /// a broker answers in order.
    fn answer(&mut self, correlation: i32) -> Option<Pending> {
        let answers =
            |request: &Pending| matches!(request.call, Call::Api { correlation: asked, .. } if asked == correlation);
        let place = self.pending.iter().position(answers)?;
        self.pending.drain(..place);
        self.pending.pop_front()
    }

    /// Whether a response answers a request that was sent after the first that was seen, as clients count. It may where bytes of
    /// requests were seen and none of them was understood yet.
    pub(super) fn is_younger(&self, frame: &[u8], is_asked: bool) -> bool {
        self.first.map_or(is_asked, |first| correlation_of(frame).is_some_and(|correlation| correlation > first))
    }

    /// The API and version that were asked with this correlation id, if an answer is awaited.
    pub(super) fn asked(&self, correlation: i32) -> Option<(ApiKey, i16)> {
        self.pending.iter().find_map(|request| match request.call {
            Call::Api { key, version, correlation: asked } if asked == correlation => Some((key, version)),
            Call::Api { .. } | Call::Token => None,
        })
    }

    /// Takes the token that the next response answers, if a token is next.
    fn answer_token(&mut self) -> Option<Pending> {
        let is_token = self.pending.front().is_some_and(|request| request.call == Call::Token);
        if is_token { self.pending.pop_front() } else { None }
    }

    /// Bytes of the responses that are held.
    pub(super) fn held_bytes(&self) -> usize {
        self.held.iter().map(|held| held.frame.len()).sum()
    }

    /// The client's name for itself, shared by its requests as long as it stays the same.
    pub(super) fn share_client_id(&mut self, client_id: Option<&[u8]>) -> Option<Arc<[u8]>> {
        if self.client_id.as_deref() != client_id {
            self.client_id = client_id.map(Arc::from);
        }
        self.client_id.clone()
    }
}

/// The correlation id of a response's frame.
pub(super) fn correlation_of(frame: &[u8]) -> Option<i32> {
    frame.get(4..).and_then(<[u8]>::first_chunk).map(|correlation| i32::from_be_bytes(*correlation))
}
