//! A connection in TLS: who said what in the handshake, and with which keys the rest is opened.

use super::cipher::{HEADER, Opened};
use super::handshake::{self, ClientHello, ServerHello};
use super::keylog::{KeyLog, Label, Random, Secret};
use super::keys;
use super::side::{Item, Keys, Left, Loss, MOST_WORK, Side, Stage, body_length};
use super::suite::{Hash, Protection, Suite, TlsVersion};
use super::{Counters, Tls};
use crate::capture::{Place, Spool, Time};
use crate::stream::{Connection, Direction, Gap, GapCause, Origin, StreamSink};

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Bytes that one connection may have waiting for a key.
const MOST_WAITING: usize = 1 << 20;
/// Bytes that all connections may.
const MOST_WAITING_IN_ALL: usize = 64 << 20;
/// Records that do not authenticate, one behind the other, before a direction is given up.
const MOST_FAILURES: u32 = 16;
/// Records of early data that are passed over.
const MOST_PASSED: u32 = 4096;
/// Records that may have been lost at once.
const MOST_LOST: u64 = 4096;
/// Secrets of a key log that are tried when it is not known whose a connection is, and sequence numbers with each.
const MOST_TRIED: usize = 4096;
const MOST_TRIED_NUMBERS: u64 = 32;
/// Records of a connection with which that is tried.
const MOST_TRIES: u32 = 32;

/// What channels work with.
pub(super) struct Work<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) keys: &'a mut KeyLog,
    pub(super) counters: &'a mut Counters,
    /// Where plaintext is kept, and the number of that source.
    pub(super) spool: &'a mut Option<(Spool, u16)>,
    /// Bytes that wait in all channels.
    pub(super) waiting: &'a mut usize,
}

/// A connection in TLS.
pub(super) struct Channel {
    connection: Connection,
    /// Whether the sink knows it.
    opened: bool,
    client: Direction,
    random: Option<Random>,
    hello: Option<ServerHello>,
    /// Whether the client was told to try again.
    retried: bool,
    offers_early_data: bool,
    takes_early_data: Option<bool>,
    forward: Side,
    backward: Side,
    /// What has come so far.
    order: u64,
    waiting: usize,
    /// How many secrets there were when it was last looked for them.
    news: u64,
    /// Whether bytes of the hellos are missing.
    torn: bool,
    /// How often it was tried to find out what is missing of them.
    tries: u32,
    /// Whether records that do not authenticate are counted.
    is_counted: bool,
    why: Option<Closed>,
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
enum Step {
    /// So many are done with.
    Done(usize),
    /// More must be there.
    More,
    /// Something must be known first.
    Blocked,
}

/// What a handshake message says.
enum Said {
    Client(ClientHello),
    Server(ServerHello),
    EarlyData(bool),
    /// The keys change behind this record.
    NextKeys,
}

impl Channel {
    pub(super) fn new(connection: Connection) -> Self {
        let side = || Side { record: 1, ..Side::default() };
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
            torn: false,
            tries: 0,
            is_counted: false,
            why: None,
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

    fn side(&mut self, direction: Direction) -> &mut Side {
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
        if side.blocked || side.retry || !side.queue.is_empty() {
            self.wait(work, direction, Item::Gap(gap));
        } else {
            self.lose(direction, gap);
        }
        self.pump(work);
    }

    fn wait<S>(&mut self, work: &mut Work<'_, S>, direction: Direction, item: Item) {
        let weight = item.weight();
        self.waiting += weight;
        *work.waiting += weight;
        let order = self.order;
        self.side(direction).queue.push_back((order, item));
        if self.waiting > MOST_WAITING || *work.waiting > MOST_WAITING_IN_ALL {
            self.why = Some(self.lacking());
        }
    }

    /// What there is too little of to go on.
    fn lacking(&self) -> Closed {
        match (&self.hello, self.torn, self.connection.handshake) {
            (Some(_), ..) if self.random.is_some() => Closed::NoKeys,
            (_, _, false) => Closed::Begun,
            (_, true, _) => Closed::Torn,
            (..) => Closed::Unfinished,
        }
    }

    /// Goes on with what has waited, in the order in which it came.
    fn pump<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        if self.forward.blocked || self.backward.blocked {
            work.keys.look_again();
            let news = work.keys.news();
            if std::mem::replace(&mut self.news, news) != news {
                self.unblock();
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

    fn unblock(&mut self) {
        for side in [&mut self.forward, &mut self.backward] {
            side.retry |= std::mem::take(&mut side.blocked);
        }
    }

    /// Says what is left when nothing more comes.
    pub(super) fn finish<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        self.pump(work);
        *work.waiting -= self.waiting;
        for direction in [Direction::Forward, Direction::Backward] {
            self.give_up(work, direction);
        }
        let has_keys = self.forward.keys.is_some() || self.backward.keys.is_some();
        if !self.opened && !has_keys {
            self.why = self.why.or(Some(self.lacking()));
        }
    }

    /// Tells that nothing more will be told of a stream of which something is missing.
    fn give_up<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction) {
        let is_blocked = self.side(direction).blocked;
        let side = self.side(direction);
        side.dead = true;
        let Some(loss) = side.loss.take() else {
            if self.opened && is_blocked {
                self.tell_gap(work, direction, GapCause::Sealed, 1, false);
            }
            return;
        };
        let is_data = side.keys.as_ref().is_some_and(|keys| matches!(keys.stage, Stage::Application(_)));
        let overhead = side.keys.as_ref().and_then(|keys| keys.opener.overhead());
        if !self.opened || !is_data || loss.next == loss.from {
            return;
        }
        let side = self.side(direction);
        let exact =
            overhead.filter(|_| loss.sure && side.said && !side.padded && !side.expects_next).and_then(|overhead| {
                let plain = loss.known_bytes.checked_sub(loss.known * (HEADER as u64 + overhead))?;
                (loss.next == loss.from + loss.known_bytes).then_some(plain)
            });
        self.tell_gap(work, direction, loss.cause, exact.unwrap_or(1), exact.is_some());
    }

    fn lose(&mut self, direction: Direction, gap: Gap) {
        let version = self.hello.map(|hello| hello.version);
        if self.random.is_none() || self.hello.is_none() {
            self.torn = true;
            // The random stands in front, and hellos may be longer than a packet.
            let side = self.side(direction);
            let body = [side.messages.rest(), side.buffer.get(HEADER..).unwrap_or_default()].concat();
            let is_client = body.first() == Some(&handshake::CLIENT_HELLO);
            if let Some(hello) = body.get(4..).filter(|_| is_client).and_then(ClientHello::read) {
                self.client = direction;
                self.random.get_or_insert(hello.random);
            }
        }
        let side = self.side(direction);
        if !side.dead {
            side.lose(gap, |content, sealed| match version {
                Some(TlsVersion::TLS_1_3) | None => content == APPLICATION_DATA,
                Some(_) => sealed,
            });
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
        if !self.has_keys(work, direction, header, body, 0) {
            return Step::Blocked;
        }
        let end = self.side(direction).start + whole as u64;
        match self.side(direction).open(header, body, 0, 0) {
            Some((opened, left)) => {
                if let Left::Before(0) | Left::Same(0) = left {
                    self.take(work, direction, body, &opened, end);
                }
                Step::Done(whole)
            }
            None if self.lacks_next(direction) => Step::Blocked,
            None if self.passes(direction) => Step::Done(whole),
            None => {
                self.begin_loss(direction, Some(whole as u64));
                self.count_unauthentic(work);
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

    /// Notes that the record at the start of the buffer cannot be opened; its length, if it has one.
    fn begin_loss(&mut self, direction: Direction, whole: Option<u64>) {
        let side = self.side(direction);
        let from = side.start;
        let whole_bytes = whole.unwrap_or(0);
        side.loss = Some(Loss {
            from,
            known: u64::from(whole.is_some()),
            known_bytes: whole_bytes,
            next: from + whole.unwrap_or(1),
            sure: whole.is_some(),
            failures: u32::from(whole.is_some()),
            cause: GapCause::Sealed,
        });
        side.messages.clear();
    }

    fn count_unauthentic<S>(&mut self, work: &mut Work<'_, S>) {
        if !self.is_counted {
            self.is_counted = true;
            work.counters.unauthentic += 1;
        }
    }

    /// Looks for the next record that can be opened, behind some that could not.
    fn search<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        rest: &mut [u8],
        loss: Loss,
    ) -> Step {
        let start = self.side(direction).start;
        let mut loss = loss;
        if loss.next > start && !rest.is_empty() {
            return Step::Done(rest.len().min(usize::try_from(loss.next - start).unwrap_or(usize::MAX)));
        }
        let here = rest.first_chunk::<HEADER>().map(|header| (*header, body_length(*header)));
        let (header, length) = match here {
            None => return Step::More,
            Some((header, Some(length))) => (header, length),
            Some((_, None)) => {
                loss.sure = false;
                self.side(direction).loss = Some(loss);
                return Step::Done(next_header(rest));
            }
        };
        let Some(body) = rest.get_mut(HEADER..HEADER + length) else { return Step::More };
        let whole = HEADER + length;
        let [content, ..] = header;
        let is_1_3 = self.hello.is_none_or(|hello| hello.version == TlsVersion::TLS_1_3);
        let is_plain = if is_1_3 { content != APPLICATION_DATA } else { !self.side(direction).sealed };
        if content == CHANGE_CIPHER_SPEC && *body == [1] && is_plain {
            let side = self.side(direction);
            side.sealed = true;
            loss.known_bytes += whole as u64;
            loss.next = start + whole as u64;
            // Behind it the numbers of records begin anew in 1.2.
            side.loss = if is_1_3 { Some(loss) } else { None };
            return Step::Done(if is_1_3 { 0 } else { whole });
        }
        if is_plain && is_1_3 && self.hello.is_some() {
            // Nothing in the clear is wanted any more.
            loss.known_bytes += if loss.sure { whole as u64 } else { 0 };
            loss.next = start + if loss.sure { whole as u64 } else { 1 };
            self.side(direction).loss = Some(loss);
            return Step::Done(0);
        }
        let unknown = start.saturating_sub(loss.from + loss.known_bytes);
        let end = start + whole as u64;
        if !self.has_keys(work, direction, header, body, unknown / 22) {
            if !is_plain || !self.torn {
                return Step::Blocked;
            }
            // Most likely it is what it looks like: a part of the handshake.
            loss.known_bytes += if loss.sure { whole as u64 } else { 0 };
            loss.next = if loss.sure { end } else { start + 1 };
            self.side(direction).loss = Some(loss);
            return Step::Done(0);
        }
        let side = self.side(direction);
        let least = side.keys.as_ref().map_or(22, |keys| keys.opener.least());
        let window = (unknown / least).min(MOST_LOST);
        let stage = side.keys.as_ref().map(|keys| (keys.stage, keys.sequence));
        if let Some((opened, left)) = side.open(header, body, loss.known, window) {
            side.loss = None;
            if stage.is_some_and(|(_, sequence)| sequence == 0) {
                side.sealed = true;
            }
            self.resolve(work, direction, &loss, left, stage, end);
            self.take(work, direction, body, &opened, end);
            return Step::Done(whole);
        }
        if self.lacks_next(direction) {
            return Step::Blocked;
        }
        if let Some((opened, left)) = self.open_beyond(work, direction, header, body, loss.known + window) {
            self.side(direction).loss = None;
            self.resolve(work, direction, &loss, left, stage, end);
            self.take(work, direction, body, &opened, end);
            return Step::Done(whole);
        }
        let side = self.side(direction);
        let is_hopeless = side.work > MOST_WORK;
        if loss.sure {
            loss.known += u64::from(!is_plain);
            loss.known_bytes += whole as u64;
            loss.next = end;
            loss.failures += u32::from(!is_plain);
            if unknown == 0 && !is_plain && loss.cause == GapCause::Sealed {
                self.count_unauthentic(work);
            }
        } else {
            loss.next = start + 1;
        }
        self.side(direction).loss = Some(loss);
        if is_hopeless || loss.failures >= MOST_FAILURES {
            self.give_up(work, direction);
            if !self.opened {
                self.count_unauthentic(work);
                self.why = Some(Closed::Unauthentic);
            }
        }
        Step::Done(0)
    }

    /// Tells what is missing between the record before a loss and the one behind it.
    fn resolve<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        loss: &Loss,
        left: Left,
        before: Option<(Stage, u64)>,
        end: u64,
    ) {
        let is_1_3 = self.hello.is_some_and(|hello| hello.version == TlsVersion::TLS_1_3);
        let is_server = direction != self.client;
        let side = self.side(direction);
        let (Some(keys), Some((stage, sequence))) = (&side.keys, before) else { return };
        let span = end.saturating_sub(loss.from);
        let skipped = match left {
            Left::Same(count) | Left::Before(count) => count,
        };
        side.record = side.record.saturating_add(u32::try_from(skipped).unwrap_or(u32::MAX));
        // The record that was opened is not missing.
        let Some(overhead) = keys.opener.overhead() else {
            if side.said || skipped > 1 {
                self.tell_gap(work, direction, loss.cause, span.max(1), false);
            }
            return;
        };
        let whole = side.start.saturating_sub(loss.from);
        let exact = match (left, stage) {
            // No data comes before the keys for it.
            (Left::Same(_), Stage::Handshake) | (Left::Before(0), Stage::Handshake) => return,
            // In 1.2 the first record is the end of the handshake.
            (Left::Same(1), _) if !is_1_3 && sequence == 0 => return,
            (Left::Same(0), _) => return,
            // Tickets may come before the first data.
            (Left::Same(_), _) if side.padded || !side.said && (is_server || !is_1_3) => None,
            (Left::Same(count), _) => whole.checked_sub(count * (HEADER as u64 + overhead)),
            (Left::Before(_), _) => None,
        };
        let exact = exact.filter(|plain| *plain <= skipped << 14);
        if exact != Some(0) {
            self.tell_gap(work, direction, loss.cause, exact.unwrap_or(whole).max(1), exact.is_some());
        }
    }

    fn tell_gap<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        cause: GapCause,
        missing: u64,
        exact: bool,
    ) {
        self.open(work);
        let side = self.side(direction);
        let (packet, time) = side.brought(side.start);
        let gap = Gap { offset: side.offset, missing, exact, cause, packet, time };
        side.offset += missing;
        work.sink.gap(&self.connection, direction, gap);
    }

    fn open<S: StreamSink>(&mut self, work: &mut Work<'_, S>) {
        if !self.opened {
            self.opened = true;
            self.connection.tls = self.hello.map(|hello| Tls { version: hello.version, suite: hello.suite });
            work.counters.opened += 1;
            work.sink.open(&self.connection);
        }
    }

    /// Takes what was in a record.
    fn take<S: StreamSink>(
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
            APPLICATION_DATA if is_data && !plain.is_empty() => {
                if !side.said && side.passed > 0 && takes_early_data == Some(true) {
                    self.tell_gap(work, direction, GapCause::Sealed, 1, false);
                }
                self.open(work);
                let place = match work.spool {
                    None => Place::NOWHERE,
                    Some((spool, source)) => {
                        let offset = spool.append(plain);
                        offset.map_or(Place::NOWHERE, |offset| Place { source: *source, offset })
                    }
                };
                let side = self.side(direction);
                side.said = true;
                let (packet, time): (u64, Time) = side.brought(end);
                let origin = Origin { packet, time, offset: side.offset, place, record };
                side.offset += plain.len() as u64;
                work.sink.data(&self.connection, direction, plain, origin);
            }
            _ => {}
        }
    }

    /// Takes messages of the handshake.
    fn messages<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        plain: &[u8],
        is_in_the_clear: bool,
    ) {
        let mut said = Vec::new();
        let side = self.side(direction);
        let stage = side.keys.as_ref().map(|keys| keys.stage);
        side.messages.push(plain, |kind, body| match (kind, stage) {
            (handshake::CLIENT_HELLO, _) if is_in_the_clear => said.extend(ClientHello::read(body).map(Said::Client)),
            (handshake::SERVER_HELLO, _) if is_in_the_clear => said.extend(ServerHello::read(body).map(Said::Server)),
            (handshake::ENCRYPTED_EXTENSIONS, Some(Stage::Handshake)) => {
                said.push(Said::EarlyData(handshake::takes_early_data(body)));
            }
            (handshake::FINISHED, Some(Stage::Handshake))
            | (handshake::END_OF_EARLY_DATA, Some(Stage::Early))
            | (handshake::KEY_UPDATE, Some(Stage::Application(_))) => said.push(Said::NextKeys),
            _ => {}
        });
        for said in said {
            match said {
                Said::Client(hello) => {
                    self.client = direction;
                    self.random.get_or_insert(hello.random);
                    self.offers_early_data = hello.early_data && !self.retried;
                    self.unblock();
                }
                Said::Server(hello) => self.server_hello(work, direction, hello),
                Said::EarlyData(takes) => {
                    self.takes_early_data = Some(takes);
                    self.unblock();
                }
                Said::NextKeys => self.side(direction).expects_next = self.is_1_3(),
            }
        }
    }

    fn is_1_3(&self) -> bool {
        self.hello.is_some_and(|hello| hello.version == TlsVersion::TLS_1_3)
    }

    fn server_hello<S>(&mut self, work: &mut Work<'_, S>, direction: Direction, hello: ServerHello) {
        self.client = direction.opposite();
        self.unblock();
        if hello.is_retry() {
            (self.retried, self.offers_early_data) = (true, false);
            return;
        }
        let is_known = matches!(hello.version, TlsVersion::TLS_1_2 | TlsVersion::TLS_1_3);
        if !is_known || hello.compressed || hello.suite.protection().is_none() {
            self.why = Some(Closed::Unsupported(Tls { version: hello.version, suite: hello.suite }));
        } else if !work.keys.has_sources() {
            self.why = Some(Closed::NoKeys);
        }
        self.hello.get_or_insert(hello);
    }

    /// Sees to it that a side has keys, if they are known.
    fn has_keys<S>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        header: [u8; HEADER],
        body: &mut [u8],
        window: u64,
    ) -> bool {
        if self.side(direction).keys.is_none() {
            if self.torn && (self.random.is_none() || self.hello.is_none()) && self.tries < MOST_TRIES {
                self.tries += 1;
                self.identify(work.keys, direction, header, body, window.min(MOST_TRIED_NUMBERS));
            }
            let keys = self.first_keys(work.keys, direction);
            self.side(direction).keys = keys;
        }
        let side = self.side(direction);
        if side.keys.is_some() && side.next.is_none() {
            let next = self.next_keys(work.keys, direction);
            self.side(direction).next = next;
        }
        self.side(direction).keys.is_some()
    }

    /// Opens a record behind two changes of keys, of which the first was said before bytes were lost.
    fn open_beyond<S>(
        &mut self,
        work: &Work<'_, S>,
        direction: Direction,
        header: [u8; HEADER],
        body: &mut [u8],
        window: u64,
    ) -> Option<(Opened, Left)> {
        let side = self.side(direction);
        let next = side.next.take_if(|_| side.expects_next && window > 0)?;
        let keys = side.keys.replace(next);
        let beyond = self.next_keys(work.keys, direction);
        let side = self.side(direction);
        side.next = beyond;
        let opened = side.open(header, body, 0, window);
        if opened.is_none() {
            side.next = side.keys.take();
            side.keys = keys;
        }
        opened
    }

    /// Whether the next keys are needed and not known yet.
    fn lacks_next(&mut self, direction: Direction) -> bool {
        let side = self.side(direction);
        side.expects_next && side.next.is_none()
    }

    fn first_keys(&self, log: &KeyLog, direction: Direction) -> Option<Keys> {
        let (hello, random) = (self.hello?, self.random?);
        let protection = hello.suite.protection()?;
        let is_client = direction == self.client;
        if hello.version != TlsVersion::TLS_1_3 {
            return keys_1_2(log, &hello, &random, is_client);
        }
        if is_client && self.offers_early_data {
            let server = if self.client == Direction::Forward { &self.backward } else { &self.forward };
            let is_past = server.keys.as_ref().is_some_and(|keys| matches!(keys.stage, Stage::Application(_)));
            if self.takes_early_data.is_none() && !is_past {
                return None;
            }
            let early = log.secret(&random, Label::ClientEarly);
            if let Some(early) = early.filter(|_| self.takes_early_data != Some(false)) {
                return keys_1_3(protection, Stage::Early, early);
            }
        }
        let secret = |stage| log.secret(&random, label(stage, is_client));
        let handshake = secret(Stage::Handshake).and_then(|secret| keys_1_3(protection, Stage::Handshake, secret));
        handshake.or_else(|| {
            let stage = Stage::Application(0);
            keys_1_3(protection, stage, secret(stage)?)
        })
    }

    /// The keys behind those that a side has.
    fn next_keys(&mut self, log: &KeyLog, direction: Direction) -> Option<Keys> {
        let (hello, random) = (self.hello.filter(|hello| hello.version == TlsVersion::TLS_1_3)?, self.random?);
        let protection = hello.suite.protection()?;
        let is_client = direction == self.client;
        let keys = self.side(direction).keys.as_ref()?;
        let stage = match keys.stage {
            Stage::Early => Stage::Handshake,
            Stage::Handshake => Stage::Application(0),
            Stage::Application(updates) => {
                let secret = keys::updated(protection.hash, &keys.secret)?;
                return keys_1_3(protection, Stage::Application(updates + 1), &secret);
            }
        };
        keys_1_3(protection, stage, log.secret(&random, label(stage, is_client))?)
    }

    /// Finds out by trying whose connection it is, or in which suite, when the hello that says so is not in the capture.
    fn identify(&mut self, log: &KeyLog, direction: Direction, header: [u8; HEADER], body: &mut [u8], window: u64) {
        let is_client = direction == self.client;
        let guessed = |suite: Suite| ServerHello {
            version: TlsVersion::TLS_1_3,
            suite,
            random: [0; 32],
            encrypt_then_mac: false,
            compressed: false,
        };
        let hellos = match self.hello {
            Some(hello) => vec![hello],
            None => [0x1301, 0x1302, 0x1303].map(|suite| guessed(Suite(suite))).to_vec(),
        };
        for hello in hellos {
            let Some(protection) = hello.suite.protection() else { continue };
            let is_1_3 = hello.version == TlsVersion::TLS_1_3;
            let first = if is_1_3 { label(Stage::Handshake, is_client) } else { Label::Master };
            let randoms: Vec<Random> = match self.random {
                Some(random) => vec![random],
                None => log.all_with(first).take(MOST_TRIED).copied().collect(),
            };
            for random in randoms {
                let of_stage = |stage| keys_1_3(protection, stage, log.secret(&random, label(stage, is_client))?);
                let keys = if is_1_3 {
                    [of_stage(Stage::Handshake), of_stage(Stage::Application(0))]
                } else {
                    [keys_1_2(log, &hello, &random, is_client), None]
                };
                // On a copy: it is opened again in its place.
                let mut copy = body.to_vec();
                let mut opens =
                    |keys: &Keys| (0..=window).any(|number| keys.opener.open(number, header, &mut copy).is_some());
                if keys.iter().flatten().any(&mut opens) {
                    (self.random, self.hello) = (Some(random), Some(hello));
                    self.unblock();
                    return;
                }
            }
        }
    }
}

fn label(stage: Stage, is_client: bool) -> Label {
    match (stage, is_client) {
        (Stage::Early, _) => Label::ClientEarly,
        (Stage::Handshake, true) => Label::ClientHandshake,
        (Stage::Handshake, false) => Label::ServerHandshake,
        (Stage::Application(_), true) => Label::Client,
        (Stage::Application(_), false) => Label::Server,
    }
}

fn keys_1_3(protection: Protection, stage: Stage, secret: &Secret) -> Option<Keys> {
    debug_assert_ne!(protection.hash, Hash::Sha1);
    Some(Keys::new(stage, secret.clone(), keys::opener_1_3(protection, secret)?))
}

fn keys_1_2(log: &KeyLog, hello: &ServerHello, random: &Random, is_client: bool) -> Option<Keys> {
    let master = log.secret(random, Label::Master)?;
    let protection = hello.suite.protection()?;
    let [client, server] = keys::openers_1_2(protection, hello.encrypt_then_mac, master, random, &hello.random)?;
    Some(Keys::new(Stage::Application(0), Secret::new(), if is_client { client } else { server }))
}

/// How many bytes to pass over to come to what may be a header, or the beginning of one.
fn next_header(bytes: &[u8]) -> usize {
    let is_header = |at: &usize| {
        let rest = bytes.get(*at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(header) => body_length(*header).is_some(),
            None => (20..=24).contains(rest.first().unwrap_or(&0)) && rest.get(1).is_none_or(|major| *major == 3),
        }
    };
    (1..bytes.len()).find(is_header).unwrap_or(bytes.len())
}
