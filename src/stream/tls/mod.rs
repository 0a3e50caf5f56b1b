//! TLS: what was said in connections whose secrets are known.
//!
//! [`Decrypting`] stands between the [`Reassembler`](super::Reassembler) and a sink. A connection whose first bytes are no
//! record of TLS goes through as it is. Of one in TLS the sink hears the plaintext, as a stream of its own: its offsets
//! count bytes of plaintext, and its bytes come with the packet that made their record whole. Where there is nothing that
//! can be told of a connection, the sink hears nothing of it, and [`Counters`] say why.
//!
//! - **Secrets** come from key logs ([`KeyLog`]). A connection whose secrets are not known yet waits for them, as long as
//!   there is a place from which they may come: at most 8 MiB of it, and 64 MiB of all. When it is closed it goes on to wait
//!   until the end ([`Decrypting::finish`]), or until there is no room for it: those that were closed first go first.
//! - **Nothing is told that does not authenticate.** That is what makes it safe to guess: where bytes are missing, the next
//!   record is looked for, and the sequence numbers that it may have are tried.
//! - **Holes.** Ciphers with a tag add the same number of bytes to each record, so it follows from the records that were
//!   left out how many bytes of plaintext they had. Not all of it need be data: [`Gap::extent`] says how sure it is.
//! - **Sessions** of TLS 1.2 that are resumed have the master secret of the connection on which they began: the log need
//!   have it but once. A renegotiation has a secret of its own, under the random of its own `ClientHello`.
//! - **Limits.** A direction is given up behind 16 records that do not authenticate, or 64 MiB that were looked at for nothing.
//!
//! References: RFC 5246 (TLS 1.2), RFC 5288, RFC 7366, RFC 7905, RFC 8446 (TLS 1.3).

use std::collections::{BTreeMap, VecDeque};

use foldhash::{HashMap, HashMapExt};

use super::{Close, Connection, ConnectionId, Direction, Gap, Origin, StreamSink};
use crate::capture::Spool;

mod agreement;
mod channel;
mod cipher;
mod handshake;
mod keylog;
mod keys;
mod resync;
mod secrets;
mod sessions;
mod side;
mod suite;
mod work;

use channel::Channel;
use sessions::Sessions;
use work::{Effort, Work};

pub use keylog::KeyLog;
pub use suite::{Suite, TlsVersion};

#[cfg(test)]
mod tests;

/// How a connection was protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tls {
    /// The version of TLS.
    pub version: TlsVersion,
    /// The cipher suite.
    pub suite: Suite,
}

/// What became of connections in TLS, for the closing summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that were opened.
    pub opened: u64,
    /// Connections whose keys are not known.
    pub without_keys: u64,
    /// Connections that are older than the capture.
    pub begun_before: u64,
    /// Connections of whose handshake bytes are missing.
    pub torn: u64,
    /// Connections whose handshake does not come to an end.
    pub unfinished: u64,
    /// Connections in what is not supported.
    pub unsupported: BTreeMap<Tls, u64>,
    /// Connections with records that do not authenticate.
    pub unauthentic: u64,
    /// Connections that were opened, but not to their end, as secrets are lacking.
    pub broken_off: u64,
    /// Lines of key logs that say nothing.
    pub wrong_lines: u64,
    /// Connections whose secrets were forgotten because there were too many.
    pub forgotten: u64,
}

impl Counters {
    /// Connections of which nothing could be told.
    pub fn closed(&self) -> u64 {
        let unsupported: u64 = self.unsupported.values().sum();
        self.without_keys + self.begun_before + self.torn + self.unfinished + unsupported
    }
}

/// Hands the plaintext of connections in TLS on to a sink, and all others as they are.
pub struct Decrypting<S> {
    sink: S,
    keys: KeyLog,
    counters: Counters,
    /// Connections that are in TLS, or may be. Those that are not, and those of which nothing can be told, are not here.
    states: HashMap<ConnectionId, State>,
    /// Connections that are closed and wait for secrets.
    closed: Waiting,
    /// How many secrets there were when it was last looked for those of closed connections.
    news: u64,
    spool: Option<(Spool, u16)>,
    waiting: usize,
    effort: Effort,
    sessions: Sessions,
    /// Whether it was just found out that nothing can be told of a connection.
    refused: bool,
}

enum State {
    /// Too little was said to know. The sink does not know of it.
    New(Vec<Early>),
    Channel(Box<Channel>),
}

/// Connections that wait, those that were closed first in front, and how they were closed.
type Waiting = VecDeque<(Box<Channel>, Close)>;

/// What was said before it was known what it is.
enum Early {
    Data(Direction, Origin, Vec<u8>),
    Gap(Direction, Gap),
}

/// Bytes of a `ClientHello` up to the end of its random, with the header of its record.
const LEAST_HELLO: u64 = 43;
/// So much may be said before it is known what it is.
const MOST_EARLY: usize = 1 << 12;
/// What a hole counts for: few may come before it is known.
const HOLE: usize = MOST_EARLY / 8;

impl<S: StreamSink> Decrypting<S> {
    /// No connections yet.
    pub fn new(sink: S) -> Self {
        Self {
            sink,
            keys: KeyLog::new(),
            counters: Counters::default(),
            states: HashMap::new(),
            closed: Waiting::new(),
            news: 0,
            spool: None,
            waiting: 0,
            effort: Effort::default(),
            sessions: Sessions::default(),
            refused: false,
        }
    }

    /// Keeps plaintext, which lies in no capture: its bytes have places in the source with this number.
    pub fn keep(&mut self, spool: Spool, source: u16) {
        self.spool = Some((spool, source));
    }

    /// Takes secrets from a log.
    pub fn use_keys(&mut self, keys: KeyLog) {
        self.news = 0;
        self.keys = keys;
    }

    /// Learns secrets: lines of a key log.
    pub fn learn(&mut self, secrets: &[u8]) {
        self.keys.add(secrets);
        self.try_closed(false);
    }

    /// Tells what can be told of connections that still wait for secrets: no more will come.
    pub fn finish(&mut self) {
        self.keys.look_again(true);
        self.try_closed(true);
    }

    /// Lets connections wait for secrets: some may come with packets.
    pub fn expect_keys(&mut self) {
        self.keys.expect();
    }

    /// Who is told.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Who is told.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// What became of connections in TLS so far.
    pub fn counters(&self) -> Counters {
        let (wrong_lines, forgotten) = (self.keys.wrong_lines(), self.keys.forgotten());
        Counters { wrong_lines, forgotten, ..self.counters.clone() }
    }

    /// What is known of a connection, if it is or may be in TLS, and what is needed to go on with it.
    fn state(&mut self, connection: ConnectionId) -> Option<(&mut State, Work<'_, S>)> {
        let Self { sink, keys, counters, states, closed, spool, waiting, effort, sessions, .. } = self;
        let state = states.get_mut(&connection)?;
        Some((state, Work { sink, keys, counters, closed, spool, waiting, effort, sessions }))
    }

    fn work(&mut self) -> Work<'_, S> {
        let Self { sink, keys, counters, closed, spool, waiting, effort, sessions, .. } = self;
        Work { sink, keys, counters, closed, spool, waiting, effort, sessions }
    }

    /// Tries again to open closed connections when secrets have come; at the end for the last time.
    fn try_closed(&mut self, is_end: bool) {
        // Looking at all of them is paid for by what was learnt.
        let is_due = self.keys.news().saturating_sub(self.news) > self.closed.len() as u64 / 16;
        if self.closed.is_empty() || !(is_due || is_end) {
            return;
        }
        self.news = self.keys.news();
        for (mut channel, how) in std::mem::take(&mut self.closed) {
            let mut work = self.work();
            if !is_end && !channel.may_be_opened(work.keys) {
                work.closed.push_back((channel, how));
                continue;
            }
            work.wait_no_more(&mut channel);
            channel.look_again(&mut work);
            if is_end || !channel.waits_for_secrets() {
                work.end(channel, how);
            } else {
                work.wait(channel, how);
            }
        }
    }

    /// Gives something to a connection of which it is not known yet what it is.
    #[cold]
    fn early(&mut self, connection: &Connection, item: Early) {
        let Some((State::New(early), mut work)) = self.state(connection.id) else { return };
        early.push(item);
        let kind = kind(early);
        let early = if kind == Kind::Unknown { return } else { std::mem::take(early) };
        if kind == Kind::Other {
            pass_on(work.sink, connection, early);
            self.states.remove(&connection.id);
            return;
        }
        let mut channel = Channel::new(*connection);
        for item in early {
            match item {
                Early::Data(direction, origin, bytes) => channel.data(&mut work, direction, &bytes, origin),
                Early::Gap(direction, gap) => channel.gap(&mut work, direction, gap),
            }
        }
        self.states.insert(connection.id, State::Channel(Box::new(channel)));
        self.settle(connection);
    }

    /// Does what is to be done behind something that was said in TLS.
    fn settle(&mut self, connection: &Connection) {
        let is_refused = |state: &State| matches!(state, State::Channel(channel) if channel.closed().is_some());
        if self.states.get(&connection.id).is_some_and(is_refused)
            && let Some(State::Channel(channel)) = self.states.remove(&connection.id)
        {
            self.work().end(channel, Close::EndOfCapture);
            self.refused = true;
        }
        if self.keys.news() != self.news {
            self.try_closed(false);
        }
    }
}

impl<S: StreamSink> StreamSink for Decrypting<S> {
    fn open(&mut self, connection: &Connection) {
        self.states.insert(connection.id, State::New(Vec::new()));
    }

    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        if self.states.is_empty() {
            return self.sink.data(connection, direction, bytes, origin);
        }
        match self.state(connection.id) {
            None => self.sink.data(connection, direction, bytes, origin),
            // The usual beginning of a connection that is not in TLS.
            Some((State::New(early), work)) if early.is_empty() && kind_of(bytes) == Kind::Other => {
                work.sink.open(connection);
                work.sink.data(connection, direction, bytes, origin);
                self.states.remove(&connection.id);
            }
            Some((State::New(_), _)) => self.early(connection, Early::Data(direction, origin, bytes.to_vec())),
            Some((State::Channel(channel), mut work)) => {
                channel.data(&mut work, direction, bytes, origin);
                self.settle(connection);
            }
        }
    }

    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap) {
        match self.state(connection.id) {
            None => self.sink.gap(connection, direction, gap),
            Some((State::New(_), _)) => self.early(connection, Early::Gap(direction, gap)),
            Some((State::Channel(channel), mut work)) => {
                channel.gap(&mut work, direction, gap);
                self.settle(connection);
            }
        }
    }

    fn close(&mut self, connection: &Connection, how: Close) {
        match self.states.remove(&connection.id) {
            None => self.sink.close(connection, how),
            Some(State::New(early)) => {
                pass_on(&mut self.sink, connection, early);
                self.sink.close(connection, how);
            }
            Some(State::Channel(mut channel)) => {
                let mut work = self.work();
                channel.look_again(&mut work);
                if channel.waits_for_secrets() && work.keys.has_sources() {
                    work.wait(channel, how);
                } else {
                    work.end(channel, how);
                }
            }
        }
    }

    fn refuses(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }
}

fn pass_on<S: StreamSink>(sink: &mut S, connection: &Connection, early: Vec<Early>) {
    sink.open(connection);
    for item in early {
        match item {
            Early::Data(direction, origin, bytes) => sink.data(connection, direction, &bytes, origin),
            Early::Gap(direction, gap) => sink.gap(connection, direction, gap),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tls,
    Other,
    Unknown,
}

/// What the first bytes of a stream are.
fn kind_of(bytes: &[u8]) -> Kind {
    match *bytes {
        [content, major, minor, high, low, ..] => {
            let length = side::body_length([content, major, minor, high, low]);
            if length.is_some_and(|length| length > 0) { Kind::Tls } else { Kind::Other }
        }
        [content, ref rest @ ..] if (20..=24).contains(&content) && rest.first().is_none_or(|major| *major == 3) => {
            Kind::Unknown
        }
        [] => Kind::Unknown,
        _ => Kind::Other,
    }
}

/// What a connection is by the first bytes of a side that is there from its beginning; else by a record right behind a hole.
fn kind(early: &[Early]) -> Kind {
    let mut starts: [Option<Vec<u8>>; 2] = [Some(Vec::new()), Some(Vec::new())];
    let (mut weight, mut has_record) = (0, false);
    for item in early {
        weight += match item {
            Early::Data(_, _, bytes) => bytes.len() + 64,
            Early::Gap(..) => HOLE,
        };
        match item {
            // Too short to have hidden the beginning of a handshake.
            Early::Gap(_, gap) if gap.missing < LEAST_HELLO => {}
            Early::Gap(direction, _) => {
                if let Some(start) = starts.get_mut(*direction as usize)
                    && start.as_ref().is_some_and(Vec::is_empty)
                {
                    *start = None;
                }
            }
            Early::Data(direction, _, bytes) => match starts.get_mut(*direction as usize) {
                Some(Some(start)) => {
                    let wanted = cipher::HEADER.saturating_sub(start.len());
                    start.extend(bytes.iter().take(wanted));
                }
                _ => has_record |= kind_of(bytes) == Kind::Tls,
            },
        }
    }
    let kinds = starts.iter().map(|start| start.as_ref().map_or(Kind::Unknown, |start| kind_of(start)));
    let decided = kinds.into_iter().find(|kind| *kind != Kind::Unknown);
    let undecided = if weight > MOST_EARLY { Kind::Other } else { Kind::Unknown };
    decided.unwrap_or(if has_record { Kind::Tls } else { undecided })
}
