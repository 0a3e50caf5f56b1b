//! All connections of a capture, and what is decided about each.

use std::collections::VecDeque;
use std::net::SocketAddr;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::endpoint::Endpoint;
use super::framer::{Origins, Piece};
use super::judge::{Verdict, frame_size, judge};
use super::line::Line;
use super::message::Message;
use super::pool::Pool;
use super::talk::Pending;
use super::topics::Teaching;
use super::unasked::has_response;
use crate::capture::Names;
use crate::dissect::{RequestHead, TopicNames};
use crate::protocol::{ApiKey, Catalog, Side};
use crate::stream::{Close, Connection, ConnectionId, Direction, Gap, Origin, StreamSink};

/// Who wants messages.
pub trait MessageSink<'p> {
    /// A message is complete, or as complete as it will be.
    fn message(&mut self, message: &Message<'_, 'p>);

    /// A packet has a comment. Comments come before the messages that the packet completes.
    fn comment(&mut self, packet: u64, text: &str) {
        let _ = (packet, text);
    }

    /// A connection is not Kafka, or not in the clear: `first` is what its initiator, or else the other side, sent first.
    fn foreign(&mut self, connection: &Connection, first: &[u8]) {
        let _ = (connection, first);
    }
}

/// What can be set.
#[derive(Debug, Clone)]
pub struct Options {
    /// Frames that say that they are longer are not believed. Brokers take 100 MiB by default.
    pub max_frame: u32,
    /// Endpoints of brokers, where what goes there is taken for Kafka whatever it looks like, and (false) endpoints where
    /// nothing is. The last one that is meant decides.
    pub decode_as: Vec<(Endpoint, bool)>,
    /// Bytes of frames that are not whole yet, of all connections together, with what it takes to keep them. Where there are more, those of the connections
    /// that keep most are told as far as they are there.
    pub max_kept: usize,
    /// Whether packets with wrong checksums are left out, see [`Segments::check_checksums`](crate::capture::Segments).
    pub check_checksums: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_frame: 100 << 20, decode_as: Vec::new(), max_kept: 256 << 20, check_checksums: false }
    }
}

/// What was odd, for the closing summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages told.
    pub messages: u64,
    /// Connections that are Kafka.
    pub connections: u64,
    /// Connections that are not, or not in the clear.
    pub foreign: u64,
    /// Messages that the capture has not all bytes of.
    pub cut: u64,
    /// Times that the beginning of a frame had to be guessed.
    pub guessed: u64,
    /// Frames whose size cannot be true.
    pub absurd_sizes: u64,
    /// Connections whose unfinished frames were told, or that were taken for something else than Kafka, because too much
    /// was kept ([`Options::max_kept`]).
    pub crowded: u64,
    /// Responses whose request was not seen.
    pub unmatched: u64,
    /// Responses with an earlier time than their requests.
    pub early: u64,
}

/// Takes streams and tells messages.
#[derive(Debug)]
pub struct Conversations<'p, S> {
    pub(super) shared: Shared<'p, S>,
    pub(super) connections: HashMap<ConnectionId, State>,
    /// Bytes that came since it was last counted how many are kept.
    uncounted: usize,
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared<'p, S> {
    pub(super) catalog: &'p Catalog,
    pub(super) options: Options,
    pub(super) sink: S,
    pub(super) counters: Counters,
    /// Endpoints that were seen to be brokers.
    brokers: HashSet<SocketAddr>,
    /// Where the message at hand came from.
    pub(super) origins: Origins,
    pub(super) spare: Spare,
    pub(super) topics: TopicNames,
    pub(super) names: Names,
    pub(super) teaching: Teaching,
}

/// Lists that connections share.
#[derive(Debug, Default)]
pub(super) struct Spare {
    pub(super) buffers: Pool<Vec<u8>>,
    pub(super) pieces: Pool<Vec<Piece>>,
    pub(super) pending: Pool<VecDeque<Pending>>,
}

#[derive(Debug)]
pub(super) enum State {
    Undecided(Box<Undecided>),
    Kafka(Box<Line>),
    Foreign,
}

/// A connection that may yet turn out to be Kafka.
#[derive(Debug)]
pub(super) struct Undecided {
    connection: Connection,
    /// Whether the first byte of each stream is the first that was sent.
    from_the_start: bool,
    forward: Heard,
    backward: Heard,
}

/// What one side has sent so far.
#[derive(Debug)]
struct Heard {
    bytes: Vec<u8>,
    start: u64,
    pieces: Vec<Piece>,
    /// Where a segment begins that may be a request.
    requests: Vec<Look>,
    /// Where responses may begin: requests that are there come soon, so nobody asks for a while.
    responses: Look,
}

/// A place in what a side has sent that is looked at when so many bytes are there from it on, and again when there are more.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: usize,
    needed: usize,
}

impl Look {
    fn is_due(self, there: usize, is_all: bool) -> bool {
        is_all || there >= self.at + self.needed
    }
}

impl Default for Heard {
    fn default() -> Self {
        let responses = Look { at: 0, needed: MAX_UNASKED + 1 };
        Self { bytes: Vec::new(), start: 0, pieces: Vec::new(), requests: Vec::new(), responses }
    }
}

impl Heard {
    /// What each packet brought, from a place where one begins.
    fn from(&self, at: usize) -> impl Iterator<Item = (Origin, &[u8])> {
        let of = move |piece: &Piece| {
            let bytes = (piece.start - self.start) as usize..(piece.end - self.start) as usize;
            (bytes.start >= at).then(|| (piece.origin(), self.bytes.get(bytes).unwrap_or_default()))
        };
        self.pieces.iter().filter_map(of)
    }

    fn kept(&self) -> usize {
        self.bytes.capacity() + self.pieces.capacity() * size_of::<Piece>()
    }
}

/// Bytes of one side that are kept while nothing is decided.
const MAX_UNDECIDED: usize = 2 << 20;
/// Places that are looked at again and again until it is told what they are.
const MAX_CANDIDATES: usize = 256;
/// A server that has said so much before its client has said anything is no broker.
const MAX_UNASKED: usize = 64 << 10;
/// The port that brokers listen on unless they are told otherwise.
const KAFKA_PORT: u16 = 9092;
const MAX_BROKERS: usize = 1 << 16;

impl<'p, S: MessageSink<'p>> Conversations<'p, S> {
    /// No connections yet.
    pub fn new(catalog: &'p Catalog, options: Options, sink: S) -> Self {
        let counters = Counters::default();
        let shared = Shared {
            catalog,
            options,
            sink,
            counters,
            brokers: HashSet::new(),
            origins: Origins::default(),
            spare: Spare::default(),
            topics: TopicNames::new(),
            names: Names::default(),
            teaching: Teaching::default(),
        };
        Self { shared, connections: HashMap::new(), uncounted: 0 }
    }

    /// Who is told.
    pub fn sink(&mut self) -> &mut S {
        &mut self.shared.sink
    }

    /// Has messages say what captures call hosts and interfaces.
    pub fn use_names(&mut self, names: Names) {
        self.shared.names = names;
    }

    /// Which topic has which id, as far as is known.
    pub fn topics(&self) -> &TopicNames {
        &self.shared.topics
    }

    /// What was odd so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters
    }
}

impl<'p, S: MessageSink<'p>> Conversations<'p, S> {
    /// Counts what is kept, and lets go of the largest parts where it is too much.
    fn make_room(&mut self) {
        let of = |(id, state): (&ConnectionId, &State)| state.kept().map(|(bytes, side)| (bytes, *id, side));
        let mut kept: Vec<(usize, ConnectionId, Side)> = self.connections.iter().flat_map(of).collect();
        let mut total: usize = kept.iter().map(|(bytes, ..)| bytes).sum();
        let limit = self.shared.options.max_kept;
        if total <= limit {
            return;
        }
        kept.sort_unstable();
        // So much that it is not too much again at once.
        while let Some((bytes, id, side)) = kept.pop().filter(|_| total > limit / 2) {
            total -= bytes;
            match self.connections.get_mut(&id) {
                Some(State::Kafka(line)) => {
                    let counted = std::mem::replace(&mut line.crowded, true);
                    self.shared.counters.crowded += u64::from(!counted);
                    line.let_go(&mut self.shared, side);
                }
                Some(state) => {
                    self.shared.counters.crowded += 1;
                    state.decided(&mut self.shared, Decision::Foreign);
                }
                None => {}
            }
        }
    }
}

impl<'p, S: MessageSink<'p>> StreamSink for Conversations<'p, S> {
    fn open(&mut self, connection: &Connection) {
        let said = |address| {
            let of = self.shared.options.decode_as.iter().rev();
            of.clone().find(|(endpoint, _)| endpoint.is(address)).map(|(_, is_kafka)| *is_kafka)
        };
        let (responder, initiator) = (said(connection.responder), said(connection.initiator));
        let client = if responder.is_some() { Direction::Forward } else { Direction::Backward };
        let state = match responder.or(initiator) {
            Some(true) => State::Kafka(Box::new(self.shared.begin(*connection, client, connection.handshake))),
            Some(false) => State::Foreign,
            None => State::Undecided(Box::new(Undecided {
                connection: *connection,
                from_the_start: connection.handshake,
                forward: Heard::default(),
                backward: Heard::default(),
            })),
        };
        self.connections.insert(connection.id, state);
    }

    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        self.uncounted += bytes.len() + size_of::<Piece>();
        if self.uncounted > self.shared.options.max_kept / 8 {
            self.uncounted = 0;
            self.make_room();
        }
        let Some(state) = self.connections.get_mut(&connection.id) else { return };
        match state {
            State::Kafka(line) => line.data(&mut self.shared, direction, bytes, origin),
            State::Undecided(undecided) => {
                undecided.push(direction, bytes, origin);
                let decision = undecided.decide(&self.shared, false);
                state.decided(&mut self.shared, decision);
            }
            State::Foreign => {}
        }
    }

    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap) {
        let Some(state) = self.connections.get_mut(&connection.id) else { return };
        if let State::Undecided(undecided) = state {
            // No more bytes will come for what is there, so it is judged as it is.
            let decision = undecided.decide(&self.shared, true);
            if matches!(decision, Decision::Wait) {
                undecided.lose(direction, gap);
            }
            state.decided(&mut self.shared, decision);
        }
        if let State::Kafka(line) = state {
            line.gap(&mut self.shared, direction, gap);
        }
    }

    fn close(&mut self, connection: &Connection, _: Close) {
        let Some(mut state) = self.connections.remove(&connection.id) else { return };
        if let State::Undecided(undecided) = &mut state {
            let decision = match undecided.decide(&self.shared, true) {
                Decision::Wait => Decision::Foreign,
                decided => decided,
            };
            state.decided(&mut self.shared, decision);
        }
        if let State::Kafka(line) = &mut state {
            line.close(&mut self.shared);
        }
    }
}

impl<S> Shared<'_, S> {
    /// The number of the message that is told next.
    pub(super) fn next_index(&self) -> u64 {
        self.counters.messages + 1
    }
}

impl<'p, S: MessageSink<'p>> Shared<'p, S> {
    fn begin(&mut self, connection: Connection, client: Direction, from_the_start: bool) -> Line {
        let broker = connection.sender(client.opposite());
        if self.brokers.len() < MAX_BROKERS {
            self.brokers.insert(broker);
        }
        self.counters.connections += 1;
        Line::new(connection, client, from_the_start)
    }
}

impl State {
    /// Bytes that are kept of each side, by the room that they take; of a connection that is undecided in one.
    pub(super) fn kept(&self) -> [(usize, Side); 2] {
        let [requests, responses] = match self {
            Self::Undecided(undecided) => [undecided.forward.kept() + undecided.backward.kept(), 0],
            Self::Kafka(line) => [line.kept(Side::Request), line.kept(Side::Response)],
            Self::Foreign => [0, 0],
        };
        [(requests, Side::Request), (responses, Side::Response)]
    }

    fn decided<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, decision: Decision) {
        let Self::Undecided(undecided) = self else { return };
        match decision {
            Decision::Wait => {}
            Decision::Foreign => {
                shared.counters.foreign += 1;
                let (forward, backward) = (&undecided.forward.bytes, &undecided.backward.bytes);
                shared.sink.foreign(&undecided.connection, if forward.is_empty() { backward } else { forward });
                *self = Self::Foreign;
            }
            Decision::Kafka { client, at } => {
                let line = undecided.line(shared, client, at);
                *self = Self::Kafka(Box::new(line));
            }
        }
    }
}

/// What a connection turns out to be.
#[derive(Debug, Clone, Copy)]
enum Decision {
    /// It cannot be said yet.
    Wait,
    /// Not Kafka.
    Foreign,
    /// Kafka; where in the client's bytes its first frame begins, if that is known.
    Kafka { client: Direction, at: Option<usize> },
}

impl Undecided {
    /// The connection as one that is Kafka, with all that was said told to it in the order in which it came. `at` is where in
    /// the client's bytes its first frame begins, if that is known.
    fn line<'p, S: MessageSink<'p>>(&self, shared: &mut Shared<'p, S>, client: Direction, at: Option<usize>) -> Line {
        let mut line = shared.begin(self.connection, client, self.from_the_start);
        let (asked, answered) = match client {
            Direction::Forward => (&self.forward, &self.backward),
            Direction::Backward => (&self.backward, &self.forward),
        };
        line.asked_at(asked.pieces.iter().map(|piece| piece.time).min());
        if at.is_some() {
            // It was looked for.
            line.begin_request();
            shared.counters.guessed += 1;
        }
        let mut requests = asked.from(at.unwrap_or(0)).peekable();
        let mut responses = answered.from(0).peekable();
        loop {
            let is_answer = match (requests.peek(), responses.peek()) {
                (Some((request, _)), Some((response, _))) => response.packet < request.packet,
                (request, _) => request.is_none(),
            };
            let next = if is_answer { responses.next() } else { requests.next() };
            let Some((origin, bytes)) = next else { return line };
            let direction = if is_answer { client.opposite() } else { client };
            line.data(shared, direction, bytes, origin);
        }
    }

    fn side(&mut self, direction: Direction) -> &mut Heard {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Backward => &mut self.backward,
        }
    }

    fn push(&mut self, direction: Direction, bytes: &[u8], origin: Origin) {
        let side = self.side(direction);
        if side.bytes.is_empty() {
            side.start = origin.offset;
            // Many connections say but one thing.
            side.pieces.reserve_exact(1);
            side.requests.reserve_exact(1);
        }
        if side.requests.len() < MAX_CANDIDATES {
            side.requests.push(Look { at: side.bytes.len(), needed: 0 });
        }
        side.bytes.extend_from_slice(bytes);
        side.pieces.push(Piece::new(origin, bytes.len()));
    }

    /// The bytes before a hole are of no use any more.
    fn lose(&mut self, direction: Direction, gap: Gap) {
        self.from_the_start = false;
        *self.side(direction) = Heard { start: gap.offset + gap.missing, ..Heard::default() };
    }

    fn decide<S>(&mut self, shared: &Shared<'_, S>, is_all: bool) -> Decision {
        if self.from_the_start { self.decide_by_opening(shared, is_all) } else { self.decide_by_search(shared, is_all) }
    }

    /// The initiator's first bytes decide.
    fn decide_by_opening<S>(&mut self, shared: &Shared<'_, S>, is_all: bool) -> Decision {
        let (forward, backward) = (&self.forward, &self.backward);
        let kafka = Decision::Kafka { client: Direction::Forward, at: None };
        // On Kafka's own port a first message that is damaged is believed to be one.
        let is_broker = self.is_broker(shared, Direction::Backward);
        match judge(shared.catalog, &forward.bytes, shared.options.max_frame, is_all) {
            Verdict::Yes => kafka,
            Verdict::NeedMore(_) => {
                let is_unasked = forward.bytes.is_empty() && backward.responses.is_due(backward.bytes.len(), is_all);
                match is_unasked && self.has_response(shared, Direction::Backward) {
                    true => kafka,
                    false if is_unasked && !is_all => Decision::Foreign,
                    false => Decision::Wait,
                }
            }
            Verdict::Maybe if is_broker || answers(&backward.bytes, &forward.bytes) => kafka,
            Verdict::Maybe if backward.bytes.len() < 8 && !is_all => Decision::Wait,
            Verdict::No if is_broker && crate::foreign::recognise(&forward.bytes).is_none() => kafka,
            Verdict::Maybe | Verdict::No => Decision::Foreign,
        }
    }

    /// The first segment of either side that begins with a request decides; where there is none, one that begins with a
    /// response.
    fn decide_by_search<S>(&mut self, shared: &Shared<'_, S>, is_all: bool) -> Decision {
        for direction in [Direction::Forward, Direction::Backward] {
            // A short response may look like a request; a broker makes none to its clients.
            if self.is_broker(shared, direction) && !self.is_broker(shared, direction.opposite()) {
                continue;
            }
            let side = self.side(direction);
            let bytes = &side.bytes;
            let mut found = None;
            side.requests.retain_mut(|look| {
                if !look.is_due(bytes.len(), is_all) {
                    return true;
                }
                let rest = bytes.get(look.at..).unwrap_or_default();
                match judge(shared.catalog, rest, shared.options.max_frame, is_all) {
                    Verdict::Yes if may_be_a_response(rest) => false,
                    Verdict::Yes => {
                        found = found.or(Some(look.at));
                        true
                    }
                    Verdict::NeedMore(more) => {
                        look.needed = more;
                        true
                    }
                    Verdict::Maybe | Verdict::No => false,
                }
            });
            if let Some(at) = found {
                return Decision::Kafka { client: direction, at: Some(at) };
            }
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let side = self.side(direction);
            if side.responses.is_due(side.bytes.len(), is_all) && self.has_response(shared, direction) {
                return Decision::Kafka { client: direction.opposite(), at: None };
            }
        }
        let is_hopeless = [&self.forward, &self.backward].iter().any(|side| side.bytes.len() > MAX_UNDECIDED);
        if is_hopeless { Decision::Foreign } else { Decision::Wait }
    }

    /// Whether a side may be that of a broker: it is one, or listens where brokers do.
    fn is_broker<S>(&self, shared: &Shared<'_, S>, direction: Direction) -> bool {
        let sender = self.connection.sender(direction);
        sender.port() == KAFKA_PORT || shared.brokers.contains(&sender)
    }

    /// Whether a side says responses, see [`has_response`]; asked again when there is twice as much to look at.
    fn has_response<S>(&mut self, shared: &Shared<'_, S>, direction: Direction) -> bool {
        let is_broker = self.is_broker(shared, direction);
        let side = self.side(direction);
        side.responses.needed = (side.bytes.len() * 2).max(MAX_UNASKED) + 1;
        has_response(shared.catalog, &side.bytes, side.start, &side.pieces, is_broker)
    }
}

/// Whether a frame that reads as a request may be a response as well: the upper half of a small correlation id is the API
/// key 0, and a request of a client without a name has few bytes that must be as they are.
fn may_be_a_response(frame: &[u8]) -> bool {
    let head = RequestHead::read(frame.get(4..).unwrap_or_default());
    head.is_some_and(|head| head.key == ApiKey::PRODUCE && head.client_id.is_none_or(<[u8]>::is_empty))
}

/// Whether bytes begin with a response that has the correlation id of the request that the other bytes begin with.
fn answers(response: &[u8], request: &[u8]) -> bool {
    let fits = frame_size(response).is_some_and(|size| size >= 4);
    let correlation = response.get(4..8);
    fits && correlation.is_some() && correlation == request.get(8..12)
}
