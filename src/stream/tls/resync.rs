//! What is done about holes, and about records that do not open: the next one that does is looked for.

use super::channel::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, Channel, Closed, Step, Work};
use super::cipher::HEADER;
use super::handshake::{self, ClientHello};
use super::side::{Left, Loss, Stage, body_length};
use super::suite::TlsVersion;
use crate::stream::{Direction, Gap, GapCause, StreamSink};

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
            side.lose(gap, |content, sealed| match version {
                Some(TlsVersion::TLS_1_3) | None => content == APPLICATION_DATA,
                Some(_) => sealed,
            });
        }
    }

    /// Notes that the record at the start of the buffer cannot be opened; its length, if it has one.
    pub(super) fn begin_loss(&mut self, direction: Direction, whole: Option<u64>) {
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
        if !self.has_keys(work, direction, header, body, unknown / SHORTEST) {
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
        let least = side.keys.as_ref().map_or(SHORTEST, |keys| keys.opener.least());
        let window = (unknown / least).min(MOST_LOST);
        let stage = side.keys.as_ref().map(|keys| (keys.stage, keys.sequence));
        let before = side.work;
        side.most_work = work.effort.allowed();
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
        work.effort.spent += side.work.saturating_sub(before);
        let is_hopeless = side.work > side.most_work;
        if loss.sure {
            loss.known += u64::from(!is_plain);
            loss.known_bytes += whole as u64;
            loss.next = end;
            loss.failures += u32::from(!is_plain);
            let is_foretold = self.side(direction).lacks_handshake_keys();
            if unknown == 0 && !is_plain && loss.cause == GapCause::Sealed && !is_foretold {
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
    pub(super) fn resolve<S: StreamSink>(
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
        // Only in 1.3 without the keys of the handshake: its records are among what was not opened.
        let is_behind_handshake = is_1_3 && sequence == 0 && matches!(stage, Stage::Application(_));
        let records = if is_behind_handshake { skipped.max(loss.known) } else { skipped };
        side.record = side.record.saturating_add(u32::try_from(records).unwrap_or(u32::MAX));
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
            (Left::Same(_) | Left::Before(0), Stage::Handshake) | (Left::Same(0), _) => return,
            // In 1.2 the first record is the end of the handshake.
            (Left::Same(1), _) if !is_1_3 && sequence == 0 => return,
            (Left::Same(_), _) if is_behind_handshake => None,
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

    /// Tells that nothing more will be told of a stream of which something is missing.
    pub(super) fn give_up<S: StreamSink>(&mut self, work: &mut Work<'_, S>, direction: Direction) {
        let side = self.side(direction);
        side.dead = true;
        let is_blocked = std::mem::take(&mut side.blocked);
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

    pub(super) fn tell_gap<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        cause: GapCause,
        missing: u64,
        exact: bool,
    ) {
        self.open(work);
        let side = self.side(direction);
        let (packet, time, _) = side.brought(side.start);
        let gap = Gap { offset: side.offset, missing, exact, cause, packet, time };
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
