//! An index of the messages of a capture, from which any of them is read again.

use std::sync::{Arc, RwLock};

use crate::capture::Time;
use crate::conversation::{Counters, Exchange, Message, MessageSink, Subject, TopicNames};
use crate::dissect::Reading;
use crate::protocol::{Catalog, Side};
use crate::stream::ConnectionId;
use std::net::SocketAddr;

/// Stand-in.
#[derive(Debug)]
pub struct Book<'p> {
    inner: RwLock<Inner<'p>>,
}

#[derive(Debug, Default)]
struct Inner<'p> {
    all: Vec<Stored<'p>>,
    topics: Arc<TopicNames>,
    status: Status,
}

/// How far it is.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Counters.
    pub counters: Counters,
    /// Gaps.
    pub gaps: u64,
    /// Messages with faults.
    pub faulty: u64,
    /// TLS.
    pub tls: u64,
    /// Other.
    pub foreign: u64,
    /// Read bytes.
    pub read: u64,
    /// All bytes.
    pub total: Option<u64>,
    /// First packet.
    pub start: Option<Time>,
    /// Done.
    pub finished: bool,
    /// What went wrong.
    pub problem: Option<String>,
}

#[derive(Debug)]
struct Stored<'p> {
    index: u64,
    time: Time,
    connection: ConnectionId,
    client: SocketAddr,
    broker: SocketAddr,
    subject: Subject,
    client_id: Option<Vec<u8>>,
    frame: Vec<u8>,
    reading: Reading<'p>,
    assumed: Option<i16>,
    guessed: bool,
    gap: u64,
    packets: Vec<u64>,
    stream_offset: u64,
    request: Option<Exchange>,
    faulty: bool,
}

/// Facts.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Side.
    pub side: Side,
    /// Connection.
    pub connection: ConnectionId,
    /// Request.
    pub request: Option<u64>,
    /// Faulty.
    pub faulty: bool,
    /// Size.
    pub size: u64,
}

/// Direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Forward.
    Forward,
    /// Backward.
    Backward,
}

/// Buffers.
#[derive(Debug, Default)]
pub struct Room<'p> {
    stored: Option<Stored<'p>>,
    topics: Arc<TopicNames>,
}

/// Error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct BookError(pub String);

impl<'p> Book<'p> {
    /// New.
    pub fn new(_: &'p Catalog) -> Self {
        Self { inner: RwLock::default() }
    }

    /// Length.
    pub fn len(&self) -> u64 {
        self.inner.read().map_or(0, |inner| inner.all.len() as u64)
    }

    /// Empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Status.
    pub fn status(&self) -> Status {
        self.inner.read().map(|inner| inner.status.clone()).unwrap_or_default()
    }

    /// Topics.
    pub fn topics(&self) -> Arc<TopicNames> {
        self.inner.read().map(|inner| inner.topics.clone()).unwrap_or_default()
    }

    /// Message.
    pub fn message<'s>(&self, index: u64, room: &'s mut Room<'p>) -> Result<Message<'s, 'p>, BookError> {
        let inner = self.inner.read().map_err(|_| BookError("poisoned".to_owned()))?;
        let stored = inner.all.get(index as usize - 1).ok_or_else(|| BookError("no such message".to_owned()))?;
        room.topics = inner.topics.clone();
        room.stored = Some(Stored { client_id: stored.client_id.clone(), frame: stored.frame.clone(), packets: stored.packets.clone(), ..*stored });
        let stored = room.stored.as_ref().ok_or_else(|| BookError(String::new()))?;
        Ok(Message {
            index: stored.index,
            time: stored.time,
            connection: stored.connection,
            client: stored.client,
            broker: stored.broker,
            subject: stored.subject,
            client_id: stored.client_id.as_deref(),
            frame: &stored.frame,
            reading: stored.reading,
            assumed: stored.assumed,
            guessed: stored.guessed,
            gap: stored.gap,
            packets: &stored.packets,
            stream_offset: stored.stream_offset,
            request: stored.request,
            topics: &room.topics,
        })
    }

    /// Entry.
    pub fn entry(&self, index: u64) -> Option<Entry> {
        let inner = self.inner.read().ok()?;
        let stored = inner.all.get((index as usize).checked_sub(1)?)?;
        Some(Entry {
            side: stored.reading.side,
            connection: stored.connection,
            request: stored.request.map(|exchange| exchange.request),
            faulty: stored.faulty,
            size: stored.frame.len() as u64 + stored.gap,
        })
    }

    /// Pair.
    pub fn pair(&self, index: u64) -> Option<u64> {
        let entry = self.entry(index)?;
        match entry.side {
            Side::Response => entry.request,
            Side::Request => self.next(index, Step::Forward, |entry| entry.request == Some(index)),
        }
    }

    /// Next.
    pub fn next(&self, from: u64, step: Step, wanted: impl Fn(&Entry) -> bool) -> Option<u64> {
        let fits = |index: &u64| self.entry(*index).is_some_and(|entry| wanted(&entry));
        match step {
            Step::Forward => (from + 1..=self.len()).find(fits),
            Step::Backward => (1..from).rev().find(fits),
        }
    }

    /// Puts a message in.
    pub fn push(&self, message: &Message<'_, 'p>, faulty: bool) {
        let Ok(mut inner) = self.inner.write() else { return };
        inner.status.faulty += u64::from(faulty);
        inner.all.push(Stored {
            index: message.index,
            time: message.time,
            connection: message.connection,
            client: message.client,
            broker: message.broker,
            subject: message.subject,
            client_id: message.client_id.map(<[u8]>::to_vec),
            frame: message.frame.to_vec(),
            reading: message.reading,
            assumed: message.assumed,
            guessed: message.guessed,
            gap: message.gap,
            packets: message.packets.to_vec(),
            stream_offset: message.stream_offset,
            request: message.request,
            faulty,
        });
    }

    /// Sets status.
    pub fn update(&self, change: impl FnOnce(&mut Status)) {
        if let Ok(mut inner) = self.inner.write() {
            change(&mut inner.status);
        }
    }
}

/// Sink that fills a book.
#[derive(Debug)]
pub struct Writer<'b, 'p>(pub &'b Book<'p>);

impl<'p> MessageSink<'p> for Writer<'_, 'p> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        let outcome = crate::dissect::dissect(&message.reading, message.frame, &mut crate::dissect::Deaf);
        self.0.push(message, !outcome.is_exact());
        self.0.update(|status| status.start = status.start.or(Some(message.time)));
    }
}
