//! Filling a book.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flate2::{Compress, Compression};
use foldhash::{HashMap, HashMapExt};

use super::page::{Draft, KindId, Record};
use super::{Book, Comments, Deflated, Ends, Kind};
use crate::capture::{Captures, Packet, Spool};
use crate::conversation::{Message, MessageSink, Options, Session, Subject};
use crate::dissect::{Known, Opening, Reading, TopicNames, Visitor, dissect};
use crate::protocol::{Catalog, Plan, Side};
use crate::stream::{Connection, ConnectionId, KeyLog};

/// Reads captures into a book.
pub struct Indexer<'b, 'p> {
    captures: Captures,
    session: Session<'p, Writer<'b, 'p>>,
    /// The topics that the book was given last: how often they had changed, and when it was.
    topics: (u64, Option<Instant>),
}

/// What the source of plaintext is called.
const PLAINTEXT: &str = "what was inside of TLS";

/// So few names of topics are given to the book whenever there are new ones.
const FEW_TOPICS: usize = 1024;
/// More of them no more often, unless there are many new ones.
const TOPICS_EVERY: Duration = Duration::from_millis(100);

impl<'b, 'p> Indexer<'b, 'p> {
    /// An indexer for an empty book. The captures must have been opened to be read
    /// [again](crate::capture::Again).
    pub fn new(book: &'b Book<'p>, captures: Captures, options: Options) -> Self {
        let mut state = book.state_mut();
        state.status.total = captures.length();
        state.status.opened = true;
        drop(state);
        let mut session = Session::new(book.catalog, options, Writer::new(book));
        session.use_names(captures.names().clone());
        book.state_mut().names = captures.names().clone();
        let mut sources = captures.sources();
        for what in ["IP fragments put together", PLAINTEXT] {
            let number = sources.len() as u16;
            match Spool::new() {
                Ok(spool) => {
                    sources.push(spool.source(what));
                    if what == PLAINTEXT {
                        session.keep_plaintext(spool, number);
                    } else {
                        session.keep_datagrams(spool, number);
                    }
                }
                Err(error) => {
                    let trouble = format!("{what} cannot be kept: {error}");
                    book.state_mut().status.troubles.push(trouble);
                }
            }
        }
        book.state_mut().sources = sources.into();
        Self { captures, session, topics: (0, None) }
    }

    /// Opens connections in TLS whose secrets are in the log, or come to be.
    #[must_use]
    pub fn with_keys(mut self, keys: KeyLog) -> Self {
        self.session.use_keys(keys);
        self
    }

    /// Reads the captures to their end, or until it is told to stop; then the book is finished. What comes from a pipe is
    /// waited for, also when it is told to stop.
    pub fn run(mut self, stop: &AtomicBool) {
        if self.captures.may_have_secrets() {
            self.session.expect_keys();
        }
        while !stop.load(Ordering::Relaxed) {
            if !self.captures.is_ready() {
                self.publish(false);
            }
            match self.captures.next() {
                Ok(Some(packet)) => {
                    self.session.sink().packet(&packet);
                    self.session.packet(&packet);
                }
                Ok(None) => break,
                Err(damage) => self.session.sink().book.state_mut().status.troubles.push(damage.to_string()),
            }
        }
        for secrets in self.captures.last_secrets() {
            self.session.learn(secrets);
        }
        self.session.finish();
        self.publish(true);
    }

    /// Lets readers see all that there is.
    fn publish(&mut self, finished: bool) {
        let topics = self.new_topics(finished);
        let (packets, streams, conversation) =
            (self.session.packets(), *self.session.streams(), self.session.counters());
        let tls = self.session.tls();
        let (bytes, drops) = (self.captures.offset(), self.captures.drops());
        let writer = self.session.sink();
        writer.publish();
        let mut state = writer.book.state_mut();
        if let Some(topics) = topics {
            state.topics = topics;
        }
        let status = &mut state.status;
        (status.packets, status.streams, status.conversation) = (packets, streams, conversation);
        (status.bytes, status.drops, status.finished, status.tls) = (bytes, drops, finished, tls);
    }

    /// The names of topics, if the book is to have them anew. They are copied, so not for every single one of many.
    fn new_topics(&mut self, finished: bool) -> Option<Arc<TopicNames>> {
        let topics = self.session.topics();
        let (known, since) = self.topics;
        let news = topics.changes() - known;
        let is_time = || since.is_none_or(|since| since.elapsed() >= TOPICS_EVERY);
        let is_due = finished || topics.len() <= FEW_TOPICS || news >= topics.len() as u64 / 4 || is_time();
        if news == 0 || !is_due {
            return None;
        }
        let copy = Arc::new(topics.clone());
        self.topics = (topics.changes(), Some(Instant::now()));
        Some(copy)
    }
}

/// What makes a kind: side, plans, size in front, assumed version, token, the number of what is known from outside.
type KindKey = (Side, usize, usize, bool, Option<i16>, bool, u32);

/// So many different things that are known from outside are kept; a capture has a few dozen. Messages that come after them
/// are opened less far.
const MAX_KNOWN: usize = 4096;

/// Writes messages down, and gives them to the book a few at a time.
struct Writer<'b, 'p> {
    book: &'b Book<'p>,
    draft: Draft,
    compress: Compress,
    /// How much of the draft the book has.
    given: usize,
    /// Messages written that the book does not have.
    messages: u64,
    kinds: HashMap<KindKey, KindId>,
    new_kinds: Vec<Kind<'p>>,
    /// What is known from outside, by number from 1; 0 is nothing.
    known: HashMap<Known, u32>,
    addresses: HashMap<IpAddr, u32>,
    new_addresses: Vec<IpAddr>,
    /// Whether a connection has its endpoints in the book or in the list, by its number.
    is_known: Vec<bool>,
    new_connections: Vec<(ConnectionId, Ends)>,
    new_comments: Vec<Comments>,
    /// Messages that were written.
    written: u64,
    faulty: u64,
}

impl<'b, 'p> Writer<'b, 'p> {
    fn new(book: &'b Book<'p>) -> Self {
        Self {
            book,
            draft: Draft::default(),
            compress: Compress::new(Compression::default(), false),
            given: 0,
            messages: 0,
            kinds: HashMap::new(),
            new_kinds: Vec::new(),
            known: HashMap::new(),
            addresses: HashMap::new(),
            new_addresses: Vec::new(),
            is_known: Vec::new(),
            new_connections: Vec::new(),
            new_comments: Vec::new(),
            written: 0,
            faulty: 0,
        }
    }

    /// Looks at a packet before its messages come.
    fn packet(&mut self, packet: &Packet<'_>) {
        if packet.number == 1 {
            self.book.state_mut().status.first = Some(packet.time);
        }
        if let Some(at) = packet.comments_at() {
            self.new_comments.push(Comments { packet: packet.number, before: self.written + 1, at });
        }
    }

    fn publish(&mut self) {
        // Readers need not wait while a page is deflated.
        let first = self.written - self.draft.messages + 1;
        let full = self.draft.is_full().then(|| Deflated::new(first, &self.draft.bytes, &mut self.compress));
        let mut state = self.book.state_mut();
        state.kinds.append(&mut self.new_kinds);
        state.connections.addresses.append(&mut self.new_addresses);
        for (connection, ends) in self.new_connections.drain(..) {
            state.connections.insert(connection, ends);
        }
        state.comments.append(&mut self.new_comments);
        state.open.extend_from_slice(self.draft.bytes.get(self.given..).unwrap_or_default());
        self.given = self.draft.bytes.len();
        state.messages += std::mem::take(&mut self.messages);
        state.status.faulty = self.faulty;
        if let Some(full) = full {
            state.pages.push(full);
            state.open.clear();
            state.open_first = state.messages + 1;
            drop(state);
            self.draft.clear();
            self.given = 0;
        }
    }

    fn kind(&mut self, message: &Message<'_, 'p>) -> KindId {
        let Reading { side, header, body, sized, missing: _, known } = message.reading;
        let (known, known_number) = self.known(known);
        let number = |plan: Option<&Plan>| plan.map_or(0, |plan| std::ptr::from_ref(plan).addr());
        let token = message.subject == Subject::SaslToken;
        let key = (side, number(header), number(body), sized, message.assumed, token, known_number);
        let (kinds, new_kinds) = (&mut self.kinds, &mut self.new_kinds);
        let next = KindId::new(kinds.len(), side);
        *kinds.entry(key).or_insert_with(|| {
            let reading = Reading { missing: 0, known, ..message.reading };
            new_kinds.push(Kind { reading, assumed: message.assumed, token });
            next
        })
    }

    /// What is kept of what is known from outside, and its number.
    fn known(&mut self, known: Known) -> (Known, u32) {
        if known == Known::default() {
            return (known, 0);
        }
        let next = self.known.len() + 1;
        if let Some(number) = self.known.get(&known) {
            return (known, *number);
        }
        if next > MAX_KNOWN {
            return (Known::default(), 0);
        }
        self.known.insert(known, next as u32);
        (known, next as u32)
    }

    /// Notes the endpoints of a connection that is new.
    fn connection(&mut self, message: &Message<'_, 'p>) {
        let number = usize::try_from(message.connection.0).unwrap_or(usize::MAX);
        if self.is_known.get(number).is_some_and(|known| *known) {
            return;
        }
        if self.is_known.len() <= number {
            self.is_known.resize(number.saturating_add(1), false);
        }
        if let Some(known) = self.is_known.get_mut(number) {
            *known = true;
        }
        let addresses = [message.client, message.broker].map(|end| self.address(end));
        let ports = [message.client, message.broker].map(|end| end.port());
        self.new_connections.push((message.connection, Ends { addresses, ports, tls: message.tls }));
    }

    fn address(&mut self, end: SocketAddr) -> u32 {
        let (addresses, new_addresses) = (&mut self.addresses, &mut self.new_addresses);
        let next = addresses.len() as u32;
        *addresses.entry(end.ip()).or_insert_with(|| {
            new_addresses.push(end.ip());
            next
        })
    }
}

/// Listens to nothing, and opens tokens, as the list does.
struct Tokens<'p>(Option<Opening<'p>>);

impl<'p> Visitor<'p> for Tokens<'p> {
    fn opening(&self) -> Option<Opening<'p>> {
        self.0
    }
}

/// Whether the bytes of a message are not what its plan expects, and whether its summary has notes.
fn oddities<'p>(catalog: &'p Catalog, message: &Message<'_, 'p>) -> (bool, bool) {
    let is_unmatched = message.side() == Side::Response && message.request.is_none();
    let is_odd = message.gap > 0 || is_unmatched || message.guessed || message.assumed.is_some();
    let is_token = !message.reading.known.mechanism.is_empty();
    let outcome = dissect(&message.reading, message.frame, &mut Tokens(is_token.then(|| Opening::new(catalog))));
    let is_unknown = message.reading.body.is_none() && message.key().is_some();
    let is_faulty = outcome.faults > 0;
    (is_faulty, is_odd || is_faulty || is_unknown || outcome.undecoded > 0 || outcome.trailing > 0)
}

impl<'p> MessageSink<'p> for Writer<'_, 'p> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        self.connection(message);
        let (faulty, odd) = oddities(self.book.catalog, message);
        let request = message.request.map_or(0, |exchange| message.index - exchange.request);
        let record = Record {
            kind: self.kind(message),
            connection: message.connection,
            request,
            gap: message.gap,
            stream_offset: message.stream_offset,
            guessed: message.guessed,
            faulty,
            odd,
            length: message.frame.len() as u64,
            size: message.size(),
            time: message.time,
        };
        self.draft.push(&record, message.pieces);
        self.messages += 1;
        self.written += 1;
        // Holes are counted for themselves.
        self.faulty += u64::from(faulty && message.gap == 0);
        if self.draft.is_full() {
            self.publish();
        }
    }

    fn foreign(&mut self, _: &Connection, _: &[u8]) {
        self.book.state_mut().status.foreign += 1;
    }
}
