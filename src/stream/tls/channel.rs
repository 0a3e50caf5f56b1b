//! A connection in TLS: who said what in the handshake, and with which keys the rest is opened.

use super::Tls;
use super::agreement::Parties;
use super::cipher::{HEADER, Opened};
use super::handshake::ServerHello;
use super::keylog::{KeyLog, Random};
use super::sessions::Session;
use super::side::{Item, Sealed, Side, Stage, body_length};
use super::suite::TlsVersion;
use super::work::{MOST_WORK, Work};
use crate::capture::Place;
use crate::stream::{Connection, Direction, Extent, Gap, GapCause, Origin, StreamSink};

pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// Bytes that one connection may have waiting for a key.
const MOST_WAITING: usize = 8 << 20;
/// Records of early data that are passed over.
const MOST_PASSED: u32 = 4096;

/// A connection in TLS.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Channel {
    pub(super) connection: Connection,
    /// Whether the sink knows it.
    pub(super) opened: bool,
    pub(super) client: Direction,
    pub(super) random: Option<Random>,
    pub(super) hello: Option<ServerHello>,
    /// Whether the client was told to try again.
    pub(super) retried: bool,
    pub(super) offers_early_data: bool,
    pub(super) takes_early_data: Option<bool>,
    pub(super) forward: Side,
    pub(super) backward: Side,
    /// What has come so far.
    pub(super) order: u64,
    pub(super) waiting: usize,
    /// How many secrets there were when it was last looked for them.
    pub(super) news: u64,
    /// What the client would resume, and the random of the connection on which that began, if it is resumed (1.2).
    pub(super) resumes: [Option<Session>; 2],
    pub(super) origin: Option<Random>,
    /// The random of a `ClientHello` under the protection of the one before, and what came of the last such hellos (1.2), with
    /// how often that was.
    pub(super) renews: Option<Random>,
    pub(super) renewed: Option<(Parties, u32)>,
    /// Whether bytes of the hellos are missing.
    pub(super) torn: bool,
    /// How often all secrets were tried to find out what is missing of them.
    pub(super) rounds: u32,
    /// Bytes that were looked at for that, and how many secrets there were.
    pub(super) tried: u64,
    pub(super) tried_news: u64,
    /// Whether nothing more comes.
    pub(super) ended: bool,
    /// Whether records that do not authenticate are counted.
    pub(super) is_counted: bool,
    /// Whether it is counted as one whose next keys are not known.
    pub(super) is_broken_off: bool,
    pub(super) why: Option<Closed>,
    /// As what it is counted while it waits behind its close.
    pub(super) counted: Option<Closed>,
}

/// Why a connection is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// There are no keys.
    NoKeys,
    /// It does not begin with a handshake: it is older than the capture.
    Begun,
    /// Its handshake has a hole.
    Torn,
    /// Its handshake does not come to an end.
    Unfinished,
    /// It is in a version or suite that is not supported.
    Unsupported(Tls),
    /// Its records do not authenticate; counted already.
    Unauthentic,
}

/// What became of the bytes at the start of a buffer.
pub(super) enum Step {
    /// So many are done with.
    Done(usize),
    /// More must be there.
    More,
    /// Something must be known first.
    Blocked,
}

impl Channel {
    pub(super) fn new(connection: Connection) -> Self {
        let side = || Side { record: 1, most_work: MOST_WORK, ..Side::default() };
        Self {
            connection,
            opened: false,
            client: Direction::Forward,
            random: None,
            hello: None,
            retried: false,
            offers_early_data: false,
            takes_early_data: None,
            forward: side(),
            backward: side(),
            order: 0,
            waiting: 0,
            news: 0,
            resumes: [None; 2],
            origin: None,
            renews: None,
            renewed: None,
            torn: false,
            rounds: 0,
            tried: 0,
            tried_news: 0,
            ended: false,
            is_counted: false,
            is_broken_off: false,
            why: None,
            counted: None,
        }
    }

    /// Why it is not opened, once that is certain.
    pub(super) fn closed(&self) -> Option<Closed> {
        self.why.filter(|_| !self.opened)
    }

    /// The connection, if the sink knows it.
    pub(super) fn opened(&self) -> Option<&Connection> {
        self.opened.then_some(&self.connection)
    }

    pub(super) fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Backward => &mut self.backward,
        }
    }

    pub(super) fn data<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        bytes: &[u8],
        origin: Origin,
    ) {
        self.order += 1;
        work.effort.heard += bytes.len() as u64;
        let order = self.order;
        let side = self.side(direction);
        if side.dead {
            return;
        }
        if side.blocked || side.retry || !side.queue.is_empty() {
            self.wait(work, direction, Item::Data(origin, bytes.to_vec()));
        } else {
            side.order = order;
            side.append(origin, bytes);
            self.advance(work, direction);
        }
        self.pump(work);
    }

    pub(super) fn gap<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction, gap: Gap) {
        self.order += 1;
        let side = self.side(direction);
        if side.dead {
            return;
        }
        if side.blocked || side.retry || !side.queue.is_empty() {
            self.wait(work, direction, Item::Gap(gap));
        } else {
            self.lose(direction, gap);
        }
        self.pump(work);
    }

    fn wait<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction, item: Item) {
        let weight = item.weight();
        self.waiting += weight;
        *work.waiting += weight;
        let order = self.order;
        self.side(direction).queue.push_back((order, item));
        if self.waiting > MOST_WAITING || !work.makes_room() {
            self.drop_waiting(work, direction);
            if self.opened {
                self.give_up(work, direction);
            } else {
                self.why = Some(self.lacking());
            }
        }
    }

    fn drop_waiting<S>(&mut self, work: &mut Work<'_, S>, direction: Direction) {
        let dropped = std::mem::take(&mut self.side(direction).queue);
        let weight: usize = dropped.iter().map(|(_, item)| item.weight()).sum();
        self.waiting -= weight;
        *work.waiting -= weight;
    }

    /// What there is too little of to go on.
    pub(super) fn lacking(&self) -> Closed {
        match (&self.hello, self.torn, self.connection.handshake) {
            (Some(_), ..) if self.random.is_some() => Closed::NoKeys,
            (_, _, false) => Closed::Begun,
            (_, true, _) => Closed::Torn,
            (..) => Closed::Unfinished,
        }
    }

    /// Goes on with what has waited, in the order in which it came.
    pub(super) fn pump<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        if self.forward.blocked || self.backward.blocked {
            work.keys.look_again(false);
            let news = work.keys.news();
            if std::mem::replace(&mut self.news, news) != news {
                self.unblock();
            }
            for side in [&mut self.forward, &mut self.backward] {
                if std::mem::take(&mut side.has_untried) {
                    side.retry |= std::mem::take(&mut side.blocked);
                }
            }
        }
        while self.why.is_none() {
            let next = |side: &Side| {
                if side.blocked {
                    None
                } else if side.retry {
                    Some(side.order)
                } else {
                    side.queue.front().map(|(order, _)| *order)
                }
            };
            let direction = match (next(&self.forward), next(&self.backward)) {
                (None, None) => break,
                (Some(forward), Some(backward)) if backward < forward => Direction::Backward,
                (Some(_), _) => Direction::Forward,
                (None, Some(_)) => Direction::Backward,
            };
            let side = self.side(direction);
            if std::mem::take(&mut side.retry) {
                self.advance(work, direction);
                continue;
            }
            let Some((order, item)) = side.queue.pop_front() else { continue };
            side.order = order;
            let weight = item.weight();
            self.waiting -= weight;
            *work.waiting -= weight;
            match item {
                Item::Data(origin, bytes) => {
                    self.side(direction).append(origin, &bytes);
                    self.advance(work, direction);
                }
                Item::Gap(gap) => self.lose(direction, gap),
            }
        }
    }

    pub(super) fn unblock(&mut self) {
        for side in [&mut self.forward, &mut self.backward] {
            side.retry |= std::mem::take(&mut side.blocked);
        }
    }

    /// Goes on with secrets that have come by now.
    pub(super) fn look_again<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        if self.forward.blocked || self.backward.blocked {
            work.keys.look_again(true);
        }
        self.pump(work);
        let goes_on = |side: &Side| side.blocked && side.has_untried;
        while self.why.is_none() && (goes_on(&self.forward) || goes_on(&self.backward)) {
            self.pump(work);
        }
    }

    /// Whether there is something that may yet be opened when secrets come.
    pub(super) fn waits_for_secrets(&self) -> bool {
        let is_blocked = self.forward.blocked || self.backward.blocked;
        is_blocked && self.why.is_none() && (self.opened || matches!(self.lacking(), Closed::NoKeys | Closed::Torn))
    }

    /// Whether secrets of it are known.
    pub(super) fn may_be_opened(&self, log: &KeyLog) -> bool {
        [self.random, self.origin].iter().flatten().any(|random| log.knows(random))
    }

    /// Bytes that it takes to keep it, beside what is counted as waiting.
    pub(super) fn room(&self) -> usize {
        size_of::<Self>() + self.forward.buffer.capacity() + self.backward.buffer.capacity()
    }

    /// Says what is left when nothing more comes.
    pub(super) fn finish<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        self.look_again(work);
        self.ended = true;
        for direction in [Direction::Forward, Direction::Backward] {
            // What looked like a record that is not whole may be none.
            if self.side(direction).loss.is_some() && !self.side(direction).blocked {
                self.advance(work, direction);
            }
        }
        let is_unproven = |side: &Side| side.lacks_handshake_keys() && side.loss.is_some_and(|loss| loss.known > 0);
        if !self.opened && (is_unproven(&self.forward) || is_unproven(&self.backward)) {
            self.count_unauthentic(work);
        }
        for direction in [Direction::Forward, Direction::Backward] {
            self.drop_waiting(work, direction);
            self.give_up(work, direction);
        }
        let has_keys = self.forward.keys.is_some() || self.backward.keys.is_some();
        if !self.opened && !has_keys {
            self.why = self.why.or(Some(self.lacking()));
        }
    }

    /// Takes records off a buffer.
    fn advance<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction) {
        let mut buffer = std::mem::take(&mut self.side(direction).buffer);
        let mut at = 0;
        while self.why.is_none() {
            let rest = buffer.get_mut(at..).unwrap_or_default();
            let side = self.side(direction);
            if side.dead {
                at += rest.len();
                break;
            }
            let step = match side.loss {
                Some(loss) => self.search(work, direction, rest, loss),
                None => self.record(work, direction, rest),
            };
            let side = self.side(direction);
            match step {
                Step::Done(count) => {
                    at += count;
                    side.start += count as u64;
                }
                Step::More => break,
                Step::Blocked => {
                    side.blocked = true;
                    break;
                }
            }
        }
        self.side(direction).forget(buffer, at);
    }

    /// Deals with the record at the start of the bytes.
    fn record<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction, rest: &mut [u8]) -> Step {
        let Some((&mut header, behind)) = rest.split_first_chunk_mut::<HEADER>() else { return Step::More };
        let Some(length) = body_length(header) else {
            self.begin_loss(direction, None);
            return Step::Done(0);
        };
        let Some(body) = behind.get_mut(..length) else { return Step::More };
        let whole = HEADER + length;
        let [content, ..] = header;
        let side = self.side(direction);
        let sealed = side.sealed;
        let is_protected = match self.hello.map(|hello| hello.version) {
            // With the other side's hello it can be said what this is.
            None if self.torn => content == APPLICATION_DATA,
            None if content == APPLICATION_DATA || content == CHANGE_CIPHER_SPEC && !self.retried => {
                return Step::Blocked;
            }
            None => false,
            Some(TlsVersion::TLS_1_3) => content == APPLICATION_DATA,
            Some(_) => sealed,
        };
        if !is_protected {
            let side = self.side(direction);
            side.record = side.record.saturating_add(1);
            match content {
                CHANGE_CIPHER_SPEC => side.sealed = true,
                HANDSHAKE => self.messages(work, direction, body, true),
                _ => {}
            }
            return Step::Done(whole);
        }
        let mut record = Sealed { header, body, known: 0, window: 0 };
        if !self.has_keys(work, direction, &record) {
            return Step::Blocked;
        }
        let end = self.side(direction).start + whole as u64;
        match self.side(direction).open(&mut record) {
            Some((opened, _)) => {
                self.take(work, direction, record.body, &opened, end);
                Step::Done(whole)
            }
            None if self.lacks_next(direction) => Step::Blocked,
            None if self.passes(direction) => Step::Done(whole),
            None => {
                self.begin_loss(direction, Some((content, whole as u64)));
                if !self.side(direction).lacks_handshake_keys() {
                    self.count_unauthentic(work);
                }
                Step::Done(0)
            }
        }
    }

    /// Whether a record that cannot be opened may be early data that nobody has or wants a key for.
    fn passes(&mut self, direction: Direction) -> bool {
        let is_early = self.offers_early_data && direction == self.client;
        let side = self.side(direction);
        let first = side.keys.as_ref().is_some_and(|keys| keys.sequence == 0 && keys.stage != Stage::Early);
        let passes = is_early && first && side.passed < MOST_PASSED;
        if passes {
            side.passed += 1;
            side.record = side.record.saturating_add(1);
        }
        passes
    }

    pub(super) fn open<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        if !self.opened {
            self.opened = true;
            self.connection.tls = self.hello.map(|hello| Tls { version: hello.version, suite: hello.suite });
            work.counters.opened += 1;
            work.sink.open(&self.connection);
        }
    }

    /// Takes what was in a record.
    pub(super) fn take<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        body: &[u8],
        opened: &Opened,
        end: u64,
    ) {
        let plain = body.get(opened.plain.clone()).unwrap_or_default();
        let takes_early_data = self.takes_early_data;
        let side = self.side(direction);
        let record = side.record;
        side.record = record.saturating_add(1);
        let is_data = side.keys.as_ref().is_some_and(|keys| match keys.stage {
            Stage::Early => takes_early_data != Some(false),
            Stage::Handshake => false,
            Stage::Application(_) => true,
        });
        match opened.content {
            HANDSHAKE => self.messages(work, direction, plain, false),
            // Behind it the keys of the hellos that came before it count, and none before they are known.
            CHANGE_CIPHER_SPEC => self.side(direction).expects_next = !self.is_1_3(),
            APPLICATION_DATA if is_data && !plain.is_empty() => {
                if !side.said && side.passed > 0 && takes_early_data == Some(true) {
                    self.tell_gap(work, direction, GapCause::Sealed, 1, Extent::Unknown);
                }
                self.open(work);
                let place = match work.spool {
                    None => Place::NOWHERE,
                    Some((spool, source)) => {
                        let offset = spool.append(plain);
                        offset.map_or(Place::NOWHERE, |offset| Place::new(*source, offset))
                    }
                };
                let side = self.side(direction);
                side.said = true;
                let (packet, time, interface) = side.brought(end);
                let place = place.from_interface(interface);
                let origin = Origin { packet, time, offset: side.offset, place, record };
                side.offset += plain.len() as u64;
                work.sink.data(&self.connection, direction, plain, origin);
            }
            _ => {}
        }
    }

    pub(super) fn is_1_3(&self) -> bool {
        self.hello.is_some_and(|hello| hello.version == TlsVersion::TLS_1_3)
    }
}
