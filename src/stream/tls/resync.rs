//! What is done about holes, and about records that do not open: the next one that does is looked for.

use super::channel::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, Channel, Closed, Step};
use super::cipher::HEADER;
use super::handshake::{self, ClientHello};
use super::side::{Left, Loss, Passed, Sealed, Stage, body_length};
use super::suite::TlsVersion;
use super::work::Work;
use crate::stream::{Direction, Extent, Gap, GapCause, StreamSink};

/// Records that do not authenticate, one behind the other, before a direction is given up.
const MOST_FAILURES: u32 = 16;
/// Records that may have been lost at once.
const MOST_LOST: u64 = 4096;
/// No record of any suite is shorter.
const SHORTEST: u64 = 22;

impl Channel {
    pub(super) fn lose(&mut self, direction: Direction, gap: Gap) {
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
            self.unblock();
        }
        let side = self.side(direction);
        if !side.dead {
            side.lose(gap, |content, sealed| kind(version, content, sealed));
        }
    }

    /// Notes that the record at the start of the buffer cannot be opened: its type and length, if it has them.
    pub(super) fn begin_loss(&mut self, direction: Direction, whole: Option<(u8, u64)>) {
        let version = self.hello.map(|hello| hello.version);
        let side = self.side(direction);
        let mut loss = Loss::new(side.start, GapCause::Sealed);
        if let Some((content, bytes)) = whole {
            loss.pass(kind(version, content, true), bytes);
            loss.next += bytes;
            loss.failures = 1;
        } else {
            (loss.next, loss.sure) = (loss.next + 1, false);
        }
        side.loss = Some(loss);
        side.messages.clear();
    }

    /// Looks for the next record that can be opened, behind some that could not.
    pub(super) fn search<S: StreamSink>(
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
        let whole = HEADER + length;
        let [content, ..] = header;
        let version = self.hello.map(|hello| hello.version);
        let is_1_3 = version.is_none_or(|version| version == TlsVersion::TLS_1_3);
        let kind = kind(version, content, self.side(direction).sealed);
        let is_plain = kind == Passed::Plain;
        let Some(body) = rest.get_mut(HEADER..whole) else {
            if loss.sure || !self.ended {
                return Step::More;
            }
            // It is no header, for its record does not end; what follows may be one.
            loss.next = start + 1;
            self.side(direction).loss = Some(loss);
            return Step::Done(0);
        };
        if content == CHANGE_CIPHER_SPEC && *body == [1] && is_plain {
            let side = self.side(direction);
            side.sealed = true;
            loss.pass(Passed::Plain, whole as u64);
            loss.next = start + whole as u64;
            // Behind it the numbers of records begin anew in 1.2.
            side.loss = if is_1_3 { Some(loss) } else { None };
            return Step::Done(if is_1_3 { 0 } else { whole });
        }
        if is_plain && is_1_3 && (self.hello.is_some() || self.torn) {
            // Nothing in the clear is wanted any more, or it is a part of the handshake.
            return self.pass(direction, loss, Passed::Plain, whole as u64);
        }
        let unknown = start.saturating_sub(loss.from + loss.known_bytes);
        let end = start + whole as u64;
        let mut record = Sealed { header, body, known: loss.known, window: unknown / SHORTEST };
        if !self.has_keys(work, direction, &record) {
            if !is_plain || !self.torn {
                return Step::Blocked;
            }
            // Most likely it is what it looks like: a part of the handshake.
            return self.pass(direction, loss, Passed::Plain, whole as u64);
        }
        let side = self.side(direction);
        let least = side.keys.as_ref().map_or(SHORTEST, |keys| keys.opener.least());
        record.window = (unknown / least).min(MOST_LOST);
        let stage = side.keys.as_ref().map(|keys| (keys.stage, keys.sequence));
        let before = side.work;
        side.most_work = work.effort.allowed();
        if let Some((opened, left)) = side.open(&mut record) {
            side.loss = None;
            if stage.is_some_and(|(_, sequence)| sequence == 0) {
                side.sealed = true;
            }
            self.resolve(work, direction, &loss, left, stage, end);
            self.take(work, direction, record.body, &opened, end);
            return Step::Done(whole);
        }
        if self.lacks_next(direction) {
            return Step::Blocked;
        }
        if let Some((opened, left)) = self.open_beyond(work, direction, &mut record) {
            self.side(direction).loss = None;
            self.resolve(work, direction, &loss, left, stage, end);
            self.take(work, direction, record.body, &opened, end);
            return Step::Done(whole);
        }
        let side = self.side(direction);
        work.effort.spent += side.work.saturating_sub(before);
        let is_hopeless = side.work > side.most_work;
        if loss.sure && !is_plain {
            loss.failures += 1;
            let is_foretold = self.side(direction).lacks_handshake_keys();
            if unknown == 0 && loss.cause == GapCause::Sealed && !is_foretold {
                self.count_unauthentic(work);
            }
        }
        self.pass(direction, loss, kind, whole as u64);
        if is_hopeless || loss.failures >= MOST_FAILURES {
            self.give_up(work, direction);
            if !self.opened {
                self.count_unauthentic(work);
                self.why = Some(Closed::Unauthentic);
            }
        }
        Step::Done(0)
    }

    /// Passes over what looks like a record and is not opened: the whole of it where it is one for certain.
    fn pass(&mut self, direction: Direction, mut loss: Loss, kind: Passed, whole: u64) -> Step {
        let side = self.side(direction);
        loss.next = side.start + if loss.sure { whole } else { 1 };
        if loss.sure {
            loss.pass(kind, whole);
        }
        side.loss = Some(loss);
        Step::Done(0)
    }

    /// Tells what is missing between the record before a loss and the one behind it.
    pub(super) fn resolve<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        loss: &Loss,
        left: Left,
        before: Option<(Stage, u64)>,
        end: u64,
    ) {
        let is_1_3 = self.is_1_3();
        let is_server = direction != self.client;
        let side = self.side(direction);
        let (Some(keys), Some((stage, sequence))) = (&side.keys, before) else { return };
        let span = end.saturating_sub(loss.from);
        let skipped = match left {
            Left::Same(count) | Left::Before(count) => count,
        };
        // Only in 1.3 without the keys of the handshake: its records are among what was not opened.
        let is_behind_handshake = is_1_3 && sequence == 0 && matches!(stage, Stage::Application(_));
        let records = if is_behind_handshake { skipped.max(loss.known) } else { skipped };
        side.record = side.record.saturating_add(u32::try_from(records).unwrap_or(u32::MAX));
        // The record that was opened is not missing.
        let Some(overhead) = keys.opener.overhead() else {
            if side.said || skipped > 1 {
                self.tell_gap(work, direction, loss.cause, span.max(1), Extent::Unknown);
            }
            return;
        };
        let whole = side.start.saturating_sub(loss.from);
        let count = match (left, stage) {
            // No data comes before the keys for it.
            (Left::Same(_) | Left::Before(0), Stage::Handshake) | (Left::Same(0), _) => return,
            // In 1.2 the first record is the end of the handshake.
            (Left::Same(1), _) if !is_1_3 && sequence == 0 => return,
            (Left::Same(_), _) if is_behind_handshake => None,
            // Tickets may come before the first data.
            (Left::Same(_), _) if side.padded || !side.said && (is_server || !is_1_3) => None,
            (Left::Same(count), _) => Some(count),
            (Left::Before(_), _) => None,
        };
        let missing = count.and_then(|count| plaintext(loss, whole, count, overhead));
        let is_known = !is_1_3 && whole == loss.known_bytes;
        self.tell_missing(work, direction, loss, missing.filter(|plain| *plain <= skipped << 14), (whole, is_known));
    }

    /// Tells that so many bytes may be missing, where that is known, of which all are data where all records are known.
    fn tell_missing<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        loss: &Loss,
        missing: Option<u64>,
        (guess, is_known): (u64, bool),
    ) {
        let extent = match missing {
            Some(0) => return,
            None => Extent::Unknown,
            Some(_) if is_known => Extent::Exact,
            Some(_) => Extent::AtMost,
        };
        self.tell_gap(work, direction, loss.cause, missing.unwrap_or(guess).max(1), extent);
    }

    /// Tells that nothing more will be told of a stream of which something is missing.
    pub(super) fn give_up<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction) {
        let side = self.side(direction);
        side.dead = true;
        let is_blocked = std::mem::take(&mut side.blocked);
        let Some(loss) = side.loss.take() else {
            if self.opened && is_blocked {
                work.counters.broken_off += u64::from(!std::mem::replace(&mut self.is_broken_off, true));
                self.tell_gap(work, direction, GapCause::Sealed, 1, Extent::Unknown);
            }
            return;
        };
        let is_data = side.keys.as_ref().is_some_and(|keys| matches!(keys.stage, Stage::Application(_)));
        let overhead = side.keys.as_ref().and_then(|keys| keys.opener.overhead());
        if !self.opened || !is_data || loss.next == loss.from {
            return;
        }
        let is_1_3 = self.is_1_3();
        let side = self.side(direction);
        let is_countable = loss.sure && side.said && !side.padded && !side.expects_next;
        let is_whole = loss.next == loss.from + loss.known_bytes;
        let missing = overhead
            .filter(|_| is_countable && is_whole)
            .and_then(|overhead| plaintext(&loss, loss.known_bytes, loss.known, overhead));
        self.tell_missing(work, direction, &loss, missing, (1, !is_1_3));
    }

    pub(super) fn tell_gap<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        cause: GapCause,
        missing: u64,
        extent: Extent,
    ) {
        self.open(work);
        let side = self.side(direction);
        let (packet, time, _) = side.brought(side.start);
        let gap = Gap { offset: side.offset, missing, extent, cause, packet, time };
        side.offset += missing;
        work.sink.gap(&self.connection, direction, gap);
    }

    pub(super) fn count_unauthentic<S>(&mut self, work: &mut Work<'_, S>) {
        if !self.is_counted {
            self.is_counted = true;
            work.counters.unauthentic += 1;
        }
    }
}

/// What a record is that is not opened, by its type. In 1.3 all that is protected looks like data.
fn kind(version: Option<TlsVersion>, content: u8, sealed: bool) -> Passed {
    match version {
        Some(TlsVersion::TLS_1_3) | None if content == APPLICATION_DATA => Passed::Data,
        Some(TlsVersion::TLS_1_3) | None => Passed::Plain,
        Some(_) if !sealed => Passed::Plain,
        Some(_) if content == APPLICATION_DATA => Passed::Data,
        Some(_) => Passed::Idle,
    }
}

/// Bytes of plaintext in a number of records that were not opened and have so many bytes, without those that hold no data;
/// None where that cannot be.
pub(super) fn plaintext(loss: &Loss, bytes: u64, count: u64, overhead: u64) -> Option<u64> {
    let records = count.checked_sub(loss.idle)?;
    bytes.checked_sub(loss.idle_bytes)?.checked_sub(records * (HEADER as u64 + overhead))
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
