//! An index of all messages of a capture, from which any of them is read again.
//!
//! A [`Book`] keeps of a message only what cannot be read again from the capture: where its bytes lie, how they are to be
//! read, which request it answers; about 4 bytes for a small message. An [`Indexer`] fills it, in a thread of its own,
//! while others read: messages are there as soon as they are complete.
//!
//! - **Pages.** Messages are written behind each other into pages of up to 512 messages, as differences to the message
//!   before; each page stands for itself, and is deflated when it is full. To find a message, its page is read up to it.
//! - **Kinds.** Sides and plans of a message are one small number: there are only as many combinations as there are plans.
//! - **Reading again.** What is read is held against what was noted: the size, the API and version of a request, the
//!   correlation id of a response. A capture that was changed in the meantime gives an error and not another message.
//! - **Topic names** are those that are known when a message is read, so the list may tell more than it could when the
//!   message came.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress};

use crate::capture::{CommentsAt, Names, PacketCounters, Source, Time};
use crate::conversation::{self, Message};
use crate::dissect::Reading;
use crate::dissect::TopicNames;
use crate::protocol::{ApiKey, Catalog, Side};
use crate::stream::{self, ConnectionId, Tls};

mod bell;
mod indexer;
mod page;
mod room;

pub use bell::Bell;
pub use indexer::Indexer;
pub use room::{BookError, Room};

use page::{Bytes, Page, Record};

#[cfg(test)]
mod tests;

/// Responses are looked for among so many messages behind their request.
const LOOK: u64 = 1 << 17;

/// The messages of a capture, by their numbers. Shared by one [`Indexer`] and any number of readers.
#[derive(Debug)]
pub struct Book<'p> {
    catalog: &'p Catalog,
    state: RwLock<State<'p>>,
    bell: Bell,
}

/// What the indexer writes and the readers read. It is locked for as long as it takes to read a page, never while a file
/// is read.
#[derive(Debug, Default)]
struct State<'p> {
    messages: u64,
    /// The pages that are full.
    pages: Vec<Deflated>,
    /// The full page that was read last, by the number of its first message: messages are read beside each other.
    inflated: Mutex<(u64, Arc<[u8]>)>,
    /// The last page, and the number of its first message.
    open: Vec<u8>,
    open_first: u64,
    kinds: Vec<Kind<'p>>,
    connections: Connections,
    /// In the order of packets.
    comments: Vec<Comments>,
    topics: Arc<TopicNames>,
    sources: Arc<[Source]>,
    names: Names,
    status: Status,
}

/// The comments of a packet.
#[derive(Debug, Clone, Copy)]
struct Comments {
    packet: u64,
    /// The number of the message that is the first to be whole with the packet or behind it.
    before: u64,
    at: CommentsAt,
}

/// A page that is full.
#[derive(Debug)]
struct Deflated {
    /// The number of its first message.
    first: u64,
    bytes: Box<[u8]>,
    /// Their length before they were deflated; None where they were not.
    length: Option<u32>,
}

impl Deflated {
    fn new(first: u64, bytes: &[u8], compress: &mut Compress) -> Self {
        let mut deflated = Vec::with_capacity(bytes.len());
        compress.reset();
        match compress.compress_vec(bytes, &mut deflated, FlushCompress::Finish) {
            Ok(flate2::Status::StreamEnd) => Self { first, bytes: deflated.into(), length: Some(bytes.len() as u32) },
            // It does not become less.
            _ => Self { first, bytes: bytes.into(), length: None },
        }
    }

    fn inflate(&self) -> Arc<[u8]> {
        let Some(length) = self.length else { return self.bytes.as_ref().into() };
        let mut bytes = Vec::with_capacity(length as usize);
        // What was deflated here can be inflated.
        let inflated = Decompress::new(false).decompress_vec(&self.bytes, &mut bytes, FlushDecompress::Finish);
        debug_assert!(inflated.is_ok(), "{inflated:?}");
        bytes.into()
    }
}

/// How messages are read. The missing bytes of a reading are those of a message, and 0 here.
#[derive(Debug, Clone, Copy)]
struct Kind<'p> {
    reading: Reading<'p>,
    assumed: Option<i16>,
    /// A bare token.
    token: bool,
}

/// The endpoints of connections that have messages.
#[derive(Debug, Default)]
struct Connections {
    addresses: Vec<IpAddr>,
    /// By number of the connection; a connection without messages has no endpoints.
    ends: Vec<Ends>,
}

/// Client and broker: the numbers of their addresses, and their ports.
#[derive(Debug, Clone, Copy)]
struct Ends {
    addresses: [u32; 2],
    ports: [u16; 2],
    tls: Option<Tls>,
}

impl Ends {
    const NONE: Self = Self { addresses: [u32::MAX; 2], ports: [0; 2], tls: None };
}

impl Connections {
    fn ends(&self, connection: ConnectionId) -> Option<([SocketAddr; 2], Option<Tls>)> {
        let ends = self.ends.get(usize::try_from(connection.0).ok()?)?;
        let [client, broker] = ends.addresses.map(|address| self.addresses.get(address as usize));
        let [client_port, broker_port] = ends.ports;
        let tls = ends.tls;
        let ends = [SocketAddr::new(*client?, client_port), SocketAddr::new(*broker?, broker_port)];
        Some((ends, tls))
    }

    fn insert(&mut self, connection: ConnectionId, ends: Ends) {
        let number = usize::try_from(connection.0).unwrap_or(usize::MAX);
        if self.ends.len() <= number {
            self.ends.resize(number.saturating_add(1), Ends::NONE);
        }
        if let Some(place) = self.ends.get_mut(number) {
            *place = ends;
        }
    }
}

/// What is known of a message without reading it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub index: u64,
    /// When its last byte was captured.
    pub time: Time,
    /// Its connection.
    pub connection: ConnectionId,
    /// Request or response.
    pub side: Side,
    /// Its API, where that is known well enough to read its body.
    pub key: Option<ApiKey>,
    /// On a response: its request, when that was seen.
    pub request: Option<u64>,
    /// The size of the frame as it was sent, with the four bytes of the size.
    pub size: u64,
    /// How many bytes of it the capture lacks.
    pub gap: u64,
    /// Whether its beginning, or its API, was guessed.
    pub guessed: bool,
    /// Whether its bytes are not what its plan expects. Compressed records are not looked into.
    pub faulty: bool,
    /// Whether anything is odd about it: then its summary has notes.
    pub odd: bool,
}

/// How a capture is getting on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether the captures are open: to know what they are, their first bytes are waited for.
    pub opened: bool,
    /// What became of the packets.
    pub packets: PacketCounters,
    /// What was odd about the streams.
    pub streams: stream::Counters,
    /// What was odd about the messages.
    pub conversation: conversation::Counters,
    /// Bytes of the capture that are dealt with.
    pub bytes: u64,
    /// Bytes of the capture; None while more may come than is known.
    pub total: Option<u64>,
    /// Packets that were dropped while they were captured, as far as the capture has said so far.
    pub drops: u64,
    /// The time of the first packet.
    pub first: Option<Time>,
    /// Messages with faults that are not holes.
    pub faulty: u64,
    /// What became of connections in TLS.
    pub tls: stream::TlsCounters,
    /// Connections that are something else than Kafka.
    pub foreign: u64,
    /// Whether no more messages will come.
    pub finished: bool,
    /// What went wrong, a sentence a capture. They may hold any characters.
    pub troubles: Vec<String>,
}

/// Which way to look for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To later ones.
    Forward,
    /// To earlier ones.
    Backward,
}

impl<'p> Book<'p> {
    /// A book without messages.
    pub fn new(catalog: &'p Catalog) -> Self {
        let state = State { open_first: 1, ..State::default() };
        Self { catalog, state: RwLock::new(state), bell: Bell::default() }
    }

    /// What is known of messages.
    pub fn catalog(&self) -> &'p Catalog {
        self.catalog
    }

    /// Rung whenever something is written into the book. Who makes something of it for the same sleeper rings it as well.
    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// How many messages there are so far. Their numbers are 1 to this.
    pub fn len(&self) -> u64 {
        self.state().messages
    }

    /// Whether there are no messages yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the capture is getting on.
    pub fn status(&self) -> Status {
        self.state().status.clone()
    }

    /// The names of topics that are known so far.
    pub fn topics(&self) -> Arc<TopicNames> {
        self.state().topics.clone()
    }

    /// What the captures call hosts and interfaces.
    pub fn names(&self) -> Names {
        self.state().names.clone()
    }

    /// Reads a message again. It borrows from the room until the next one is read into it.
    ///
    /// # Errors
    /// When there is no such message, or the capture does not have it any more.
    pub fn message<'s>(&self, index: u64, room: &'s mut Room) -> Result<Message<'s, 'p>, BookError> {
        let found = self.state().find(index, room).ok_or(BookError::NoMessage { index })?;
        let message = found.read(room);
        if let Some(name) = found.changed_source() {
            let trouble = format!("{name} has changed since it was opened; what is shown may be wrong");
            self.state_mut().status.troubles.push(trouble);
        }
        message
    }

    /// Says that the captures cannot be opened, and why: no message will come.
    pub fn fail(&self, trouble: String) {
        let status = &mut self.state_mut().status;
        status.troubles.push(trouble);
        status.finished = true;
    }

    /// What is known of a message without reading it again.
    pub fn entry(&self, index: u64) -> Option<Entry> {
        let state = self.state();
        let record = state.record(index, None)?;
        Some(state.entry(index, &record))
    }

    /// The request of a response, or the response of a request. Responses are looked for among the next 131,072 messages.
    pub fn pair(&self, index: u64) -> Option<u64> {
        let entry = self.entry(index)?;
        if entry.side == Side::Response {
            return entry.request;
        }
        let last = index.saturating_add(LOOK);
        let found = self.next(index, Step::Forward, |entry| entry.request == Some(index) || entry.index >= last)?;
        self.entry(found).filter(|entry| entry.request == Some(index)).map(|entry| entry.index)
    }

    /// The next message before or behind one that is wanted; from 0 forward, it is the first of all.
    pub fn next(&self, from: u64, step: Step, wanted: impl Fn(&Entry) -> bool) -> Option<u64> {
        let mut entries = Vec::with_capacity(page::LENGTH as usize);
        let mut at = match step {
            Step::Forward => from.checked_add(1)?,
            Step::Backward => from.min(self.len().saturating_add(1)).checked_sub(1)?,
        };
        while at > 0 {
            // A page at a time, so that the indexer need not wait.
            entries.clear();
            self.state().page_of(at, |entry| entries.push(entry));
            let (first, last) = (entries.first()?.index, entries.last()?.index);
            let is_wanted = |entry: &&Entry| wanted(entry);
            let found = match step {
                Step::Forward => entries.iter().filter(|entry| entry.index >= at).find(is_wanted),
                Step::Backward => entries.iter().rev().filter(|entry| entry.index <= at).find(is_wanted),
            };
            if let Some(found) = found {
                return Some(found.index);
            }
            at = match step {
                Step::Forward => last.max(at).checked_add(1)?,
                Step::Backward => first - 1,
            };
        }
        None
    }

    /// The bytes of a message that lie behind its [frame](Message::frame): what its pieces have behind a hole, one after the
    /// other.
    ///
    /// # Errors
    /// As [`Book::message`].
    pub fn behind_hole(&self, index: u64) -> Result<Vec<u8>, BookError> {
        let mut room = Room::default();
        let found = self.state().find(index, &mut room).ok_or(BookError::NoMessage { index })?;
        found.behind_hole(&room)
    }

    /// All messages that are wanted, in their order.
    pub fn all(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<u64> {
        let (mut found, mut at) = (Vec::new(), 1);
        loop {
            let mut last = None;
            // A page at a time, as in `next`.
            self.state().page_of(at, |entry| {
                last = Some(entry.index);
                if entry.index >= at && wanted(&entry) {
                    found.push(entry.index);
                }
            });
            match last {
                Some(last) => at = last.max(at) + 1,
                None => return found,
            }
        }
    }

    /// The comments of the packets that brought a message. They may hold any characters.
    ///
    /// # Errors
    /// As [`Book::message`].
    pub fn comments_of(&self, index: u64) -> Result<Vec<String>, BookError> {
        let mut room = Room::default();
        let (sources, places) = {
            let state = self.state();
            state.record(index, Some(&mut room.pieces)).ok_or(BookError::NoMessage { index })?;
            let mut packets: Vec<_> = room.pieces.iter().map(|piece| piece.packet).collect();
            packets.sort_unstable();
            packets.dedup();
            let of = |packet: &u64| {
                let found = state.comments.binary_search_by_key(packet, |comments| comments.packet).ok()?;
                state.comments.get(found).map(|comments| comments.at)
            };
            (state.sources.clone(), packets.iter().filter_map(of).collect::<Vec<_>>())
        };
        room::comments(&sources, &places)
    }

    /// The comments that stand in front of a message: of packets behind the one that made the message before it whole, up to
    /// the one that made this one whole. They may hold any characters.
    ///
    /// # Errors
    /// As [`Book::message`].
    pub fn comments_before(&self, index: u64) -> Result<Vec<String>, BookError> {
        let (sources, places) = {
            let state = self.state();
            let first = state.comments.partition_point(|comments| comments.before < index);
            let of = state.comments.iter().skip(first).take_while(|comments| comments.before == index);
            let places: Vec<_> = of.map(|comments| comments.at).collect();
            if places.is_empty() {
                return Ok(Vec::new());
            }
            (state.sources.clone(), places)
        };
        room::comments(&sources, &places)
    }

    /// Bytes of memory that the index takes, beside names of topics.
    pub fn memory(&self) -> usize {
        self.state().memory()
    }

    fn state(&self) -> RwLockReadGuard<'_, State<'p>> {
        // A thread that ended while it wrote has left whole messages and lengths that fit them.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State<'p>> {
        let state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // Who hears it waits for the lock, and reads then what is written now.
        self.bell.ring();
        state
    }
}

impl<'p> State<'p> {
    /// The page that a message stands in, and the number of the first message of that page.
    fn page(&self, index: u64) -> Option<(Page<'_>, u64)> {
        if !(1..=self.messages).contains(&index) {
            return None;
        }
        if index >= self.open_first {
            return Some((Page::new(Bytes::Open(&self.open)), self.open_first));
        }
        let behind = self.pages.partition_point(|page| page.first <= index);
        let page = self.pages.get(behind.checked_sub(1)?)?;
        let mut inflated = self.inflated.lock().unwrap_or_else(PoisonError::into_inner);
        if inflated.0 != page.first {
            *inflated = (page.first, page.inflate());
        }
        Some((Page::new(Bytes::Inflated(inflated.1.clone())), page.first))
    }

    /// Finds a message, and where its bytes lie.
    fn record(&self, index: u64, pieces: Option<&mut Vec<conversation::Piece>>) -> Option<Record> {
        let (mut page, first) = self.page(index)?;
        for _ in first..index {
            page.next(None)?;
        }
        page.next(pieces)
    }

    fn page_of(&self, index: u64, mut take: impl FnMut(Entry)) {
        let Some((mut page, first)) = self.page(index) else { return };
        for index in first..=self.messages {
            let Some(record) = page.next(None) else { break };
            take(self.entry(index, &record));
        }
    }

    fn kind(&self, record: &Record) -> Option<&Kind<'p>> {
        self.kinds.get(record.kind.number())
    }

    fn entry(&self, index: u64, record: &Record) -> Entry {
        let plan = self.kind(record).and_then(|kind| kind.reading.body);
        Entry {
            index,
            time: record.time,
            connection: record.connection,
            side: record.kind.side(),
            key: plan.and_then(|plan| plan.api_key).map(ApiKey),
            request: record.request_of(index),
            size: record.size,
            gap: record.gap,
            guessed: record.guessed,
            faulty: record.faulty,
            odd: record.odd,
        }
    }

    fn memory(&self) -> usize {
        let pages: usize = self.pages.iter().map(|page| page.bytes.len()).sum();
        pages
            + self.pages.capacity() * size_of::<Deflated>()
            + self.open.capacity()
            + self.kinds.capacity() * size_of::<Kind<'_>>()
            + self.connections.addresses.capacity() * size_of::<IpAddr>()
            + self.connections.ends.capacity() * size_of::<Ends>()
            + self.comments.capacity() * size_of::<Comments>()
    }
}
