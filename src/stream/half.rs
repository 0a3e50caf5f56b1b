//! One direction of a connection: which bytes came, which are held, which are missing.
//!
//! Sequence numbers of 32 bits become positions of 64 bits: the distance to the next expected number, as a signed 32-bit
//! number, is added to the next expected position.

use std::collections::BTreeMap;

use crate::capture::{Place, Time};

use super::output::StreamOutput;
use super::{GapCause, Origin, StreamSink};

/// A segment further away than this belongs elsewhere, until the next one continues it.
const WINDOW: u64 = 16 << 20;
/// Packets of the connection after which an acknowledged hole is given up.
const HOLE_PACKETS: u64 = 256;
/// Time after which an acknowledged hole is given up.
pub(super) const HOLE_TIME: i64 = 2 * Time::SECOND;
/// For how long the beginning of a stream without SYN is open.
const BEGIN_PACKETS: u64 = 8;
const BEGIN_TIME: i64 = 200 * Time::MILLISECOND;
const BEGIN_BYTES: usize = 64 * 1024;
/// The position at which a stream begins, so that whatever is near and comes before it has a position too.
const START: u64 = WINDOW;
/// What it takes to keep a segment, beside its bytes.
const HELD_OVERHEAD: usize = 112;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Half {
    begin: Begin,
    /// The sequence number of position 0.
    origin: u32,
    /// The position of the stream's first byte.
    base: u64,
    /// The position up to which all is told.
    next: u64,
    /// The position up to which the receiver has everything.
    acknowledged: u64,
    /// What there is only now and then; most connections that are open have nothing of it.
    early: Option<Box<Early>>,
    /// Whether the sender was seen at all.
    pub(super) seen: bool,
}

/// What has come, and is not to be told yet.
#[derive(Debug, Default)]
struct Early {
    /// Since when the beginning is open: packets of the connection, and the time.
    opened: (u64, Time),
    /// The position of the FIN.
    fin: Option<Fin>,
    /// Segments that came early, by position. They never overlap, and none is before `next`. Boxed, because most maps hold
    /// one, and have room for eleven.
    held: BTreeMap<u64, Box<Held>>,
    held_bytes: usize,
    /// Where a segment that was far away would continue.
    stray: Option<u32>,
}

/// How much is known of the beginning of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Begin {
    /// Nothing: neither SYN nor data was seen.
    #[default]
    Unknown,
    /// Data was seen, and all of it is held: earlier bytes may follow.
    Open,
    /// It is where the first data was.
    Settled,
    /// It is what a SYN, or the acknowledgment of a SYN, says.
    Certain,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug)]
struct Fin {
    position: u64,
    arrival: Arrival,
}

/// When something came: packet number, time, and how many packets the connection had by then.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    packet: u64,
    time: Time,
    packets: u64,
}

/// Bytes that came early, and how many behind them the capture has cut.
#[derive(Debug)]
struct Held {
    bytes: Vec<u8>,
    place: Place,
    cut: u32,
    arrival: Arrival,
}

impl Held {
    fn length(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.cut)
    }

    fn cost(&self) -> usize {
        self.bytes.len() + HELD_OVERHEAD
    }
}

/// The bytes of a segment, and how many behind them the capture has cut.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the first of them lies.
    pub(super) place: Place,
    pub(super) cut: u32,
}

impl Piece<'_> {
    fn length(self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.cut)
    }

    /// The part from `start` to `end`, counted from the first byte.
    fn part(self, start: u64, end: u64) -> Self {
        let kept = self.bytes.len() as u64;
        let (from, to) = (start.min(kept) as usize, end.min(kept) as usize);
        let bytes = self.bytes.get(from..to).unwrap_or_default();
        let cut = end.saturating_sub(start).saturating_sub(bytes.len() as u64) as u32;
        Self { bytes, place: self.place.after(from as u64), cut }
    }
}

impl<S> StreamOutput<'_, S> {
    fn arrival(&self) -> Arrival {
        Arrival { packet: self.packet, time: self.time, packets: self.packets }
    }
}

impl Half {
    /// Whether the stream's beginning is known, so that bytes are told and not all held.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self.begin, Begin::Settled | Begin::Certain)
    }

    /// Whether nothing is known of the beginning.
    pub(super) fn is_unknown(&self) -> bool {
        self.begin == Begin::Unknown
    }

    /// Whether the beginning is open.
    pub(super) fn is_open(&self) -> bool {
        self.begin == Begin::Open
    }

    /// Whether the beginning has been open for long enough, when the connection has had so many packets.
    pub(super) fn is_overdue(&self, packets: u64, time: Time) -> bool {
        self.early.as_ref().is_some_and(|early| {
            let (since_packets, since) = early.opened;
            packets.saturating_sub(since_packets) >= BEGIN_PACKETS
                || time.since(since) >= BEGIN_TIME
                || early.held_bytes >= BEGIN_BYTES
        })
    }

    /// The packet of the next bytes, if they are held.
    pub(super) fn next_packet(&self) -> Option<u64> {
        let (start, held) = self.early.as_ref()?.held.first_key_value()?;
        (*start == self.next).then_some(held.arrival.packet)
    }

    /// Whether something is held, or the beginning is open.
    pub(super) fn is_waiting(&self) -> bool {
        self.holds() || self.begin == Begin::Open || self.fin().is_some_and(|fin| fin.position > self.next)
    }

    /// Whether all up to the FIN is told.
    pub(super) fn is_finished(&self) -> bool {
        self.has_begun() && self.fin().is_some_and(|fin| fin.position <= self.next)
    }

    /// Whether a segment with this number is the next one, with nothing held.
    pub(super) fn is_next(&self, sequence: u32) -> bool {
        self.has_begun() && !self.holds() && sequence == self.expected()
    }

    /// Whether bytes with this number may be those that something waits for.
    pub(super) fn may_be_filled(&self, sequence: u32) -> bool {
        self.begin == Begin::Open
            || self.holds() && self.position(sequence).is_some_and(|position| position <= self.next)
    }

    /// Whether a number is anywhere near the stream.
    pub(super) fn is_near(&self, sequence: u32) -> bool {
        self.is_unknown() || self.position(sequence).is_some()
    }

    /// Whether a SYN whose data begins at `sequence` is the one that began this stream.
    pub(super) fn is_begun_by(&self, sequence: u32) -> bool {
        match self.begin {
            Begin::Unknown => true,
            Begin::Certain => sequence == self.sequence_at(self.base),
            // Bytes between the SYN and the first that was seen may be lost.
            Begin::Open | Begin::Settled => {
                let first = if self.has_begun() { self.base } else { self.next };
                u64::from(self.sequence_at(first).wrapping_sub(sequence)) <= WINDOW
            }
        }
    }

    /// A SYN, or the acknowledgment of one, says where the stream begins.
    pub(super) fn begin_at<S: StreamSink>(&mut self, sequence: u32, out: &mut StreamOutput<'_, S>) {
        match self.begin {
            Begin::Unknown => self.place_start(sequence, Begin::Certain),
            Begin::Open => {
                if let Some(position) = self.position(sequence) {
                    self.next = position.min(self.next);
                    self.settle(out);
                }
            }
            Begin::Settled | Begin::Certain => {}
        }
    }

    /// The receiver has everything before `sequence`.
    pub(super) fn acknowledge(&mut self, sequence: u32) {
        if self.is_unknown() {
            return;
        }
        if let Some(position) = self.position(sequence) {
            self.acknowledged = self.acknowledged.max(position);
        }
    }

    /// Tells the bytes of a segment for which [`Half::is_next`] holds.
    pub(super) fn take_next<S: StreamSink>(&mut self, bytes: &[u8], place: Place, out: &mut StreamOutput<'_, S>) {
        let origin = Origin { packet: out.packet, time: out.time, offset: self.next - self.base, place, record: 0 };
        self.next += bytes.len() as u64;
        out.data(bytes, origin);
    }

    /// Takes a segment with data, and the FIN behind it.
    pub(super) fn take<S: StreamSink>(
        &mut self,
        sequence: u32,
        piece: Piece<'_>,
        fin: bool,
        out: &mut StreamOutput<'_, S>,
    ) {
        let length = piece.length();
        if self.begin == Begin::Unknown {
            if length == 0 && fin {
                // Nothing was lost that anyone knows of.
                self.place_start(sequence, Begin::Settled);
            } else if length <= 1 {
                out.counters.dropped_bytes += length;
                return;
            } else {
                self.place_start(sequence, Begin::Open);
                self.early().opened = (out.packets, out.time);
            }
        }
        let Some(position) = self.position(sequence).or_else(|| self.resume(sequence, length, out)) else {
            out.counters.dropped_bytes += piece.bytes.len() as u64;
            return;
        };
        if fin && self.fin().is_none() && position + length >= self.next {
            self.early().fin = Some(Fin { position: position + length, arrival: out.arrival() });
        }
        if length == 0 {
            return;
        }
        if self.begin == Begin::Open {
            if position < self.next && length <= 1 {
                out.counters.dropped_bytes += length;
                return;
            }
            self.next = self.next.min(position);
            self.hold(position, piece, out);
        } else if position <= self.next && !self.holds() {
            self.take_in_order(position, piece, out);
        } else {
            self.hold(position, piece, out);
            self.drain(out);
        }
    }

    /// Does what the passing of packets and time asks for.
    pub(super) fn advance<S: StreamSink>(&mut self, receiver_seen: bool, out: &mut StreamOutput<'_, S>) {
        if self.is_open() {
            if !self.is_overdue(out.packets, out.time) {
                return;
            }
            self.settle(out);
        }
        while self.held_bytes() > out.limits.per_stream {
            self.give_up(GapCause::Limit, out);
        }
        while let Some((end, since)) = self.hole() {
            let is_due =
                out.packets.saturating_sub(since.packets) >= HOLE_PACKETS || out.time.since(since.time) >= HOLE_TIME;
            let is_acknowledged = self.acknowledged >= end || !receiver_seen;
            if !is_due || !is_acknowledged {
                return;
            }
            self.give_up(GapCause::NotCaptured, out);
        }
    }

    /// Gives up all holes and tells all that is held.
    pub(super) fn flush<S: StreamSink>(&mut self, cause: GapCause, out: &mut StreamOutput<'_, S>) {
        if self.begin == Begin::Open {
            self.settle(out);
        }
        while self.hole().is_some() {
            self.give_up(cause, out);
        }
    }

    /// As [`Half::flush`], and tells what the receiver had beyond that.
    pub(super) fn end<S: StreamSink>(&mut self, out: &mut StreamOutput<'_, S>) {
        self.flush(GapCause::NotCaptured, out);
        // One more than the data is the FIN, which may not have been captured.
        if self.has_begun() && self.fin().is_none() && self.acknowledged > self.next + 1 {
            self.skip_to(self.acknowledged, GapCause::NotCaptured, out);
        }
        self.early = None;
    }

    /// Whether segments came early.
    fn holds(&self) -> bool {
        self.early.as_ref().is_some_and(|early| !early.held.is_empty())
    }

    fn held_bytes(&self) -> usize {
        self.early.as_ref().map_or(0, |early| early.held_bytes)
    }

    fn fin(&self) -> Option<Fin> {
        self.early.as_ref().and_then(|early| early.fin)
    }

    fn early(&mut self) -> &mut Early {
        self.early.get_or_insert_default()
    }

    /// Where a segment lies that comes after the end: true when it is data that had been seen.
    pub(super) fn is_old(&self, sequence: u32) -> bool {
        self.position(sequence).is_some_and(|position| position < self.next)
    }

    fn expected(&self) -> u32 {
        self.sequence_at(self.next)
    }

    fn sequence_at(&self, position: u64) -> u32 {
        self.origin.wrapping_add(position as u32)
    }

    /// The position of a number; None when it is far from the next.
    fn position(&self, sequence: u32) -> Option<u64> {
        let distance = i64::from(sequence.wrapping_sub(self.expected()).cast_signed());
        if distance.unsigned_abs() > WINDOW {
            return None;
        }
        self.next.checked_add_signed(distance)
    }

    /// Lets the stream begin at a number.
    fn place_start(&mut self, sequence: u32, begin: Begin) {
        self.origin = sequence.wrapping_sub(START as u32);
        self.base = START;
        self.next = START;
        self.begin = begin;
    }

    /// A segment far away: the stream goes on there when it continues another.
    #[cold]
    fn resume<S: StreamSink>(&mut self, sequence: u32, length: u64, out: &mut StreamOutput<'_, S>) -> Option<u64> {
        if length == 0 {
            return None;
        }
        let continued = self.early().stray.replace(sequence.wrapping_add(length as u32));
        if continued != Some(sequence) {
            return None;
        }
        self.flush(GapCause::NotCaptured, out);
        self.early = None;
        let missing = sequence.wrapping_sub(self.expected());
        self.skip_to(self.next + u64::from(missing), GapCause::NotCaptured, out);
        Some(self.next)
    }

    /// Tells what is new of a segment while nothing is held.
    fn take_in_order<S: StreamSink>(&mut self, position: u64, piece: Piece<'_>, out: &mut StreamOutput<'_, S>) {
        let old = (self.next - position).min(piece.length());
        out.counters.retransmitted_bytes += old;
        let new = piece.part(old, piece.length());
        self.take_next(new.bytes, new.place, out);
        if new.cut > 0 {
            self.skip_to(self.next + u64::from(new.cut), GapCause::Cut, out);
        }
    }

    /// Keeps what is new of a segment.
    fn hold<S: StreamSink>(&mut self, position: u64, piece: Piece<'_>, out: &mut StreamOutput<'_, S>) {
        let end = position + piece.length();
        let mut at = position.max(self.next).min(end);
        out.counters.retransmitted_bytes += at - position;
        let early = self.early();
        while at < end {
            let before = early.held.range(..=at).next_back().map(|(&start, held)| (start, held));
            if let Some((start, held)) = before
                && start + held.length() > at
            {
                let overlap_end = end.min(start + held.length());
                let new = piece.part(at - position, overlap_end - position).bytes;
                let old = held.bytes.get((at - start) as usize..).unwrap_or_default();
                let both = new.len().min(old.len());
                out.counters.conflicting_overlaps += u64::from(new.get(..both) != old.get(..both));
                out.counters.retransmitted_bytes += overlap_end - at;
                at = overlap_end;
                continue;
            }
            let free_end = early.held.range(at..).next().map_or(end, |(&start, _)| start.min(end));
            let new = piece.part(at - position, free_end - position);
            let held = Held { bytes: new.bytes.to_vec(), place: new.place, cut: new.cut, arrival: out.arrival() };
            early.held_bytes += held.cost();
            *out.held_bytes += held.cost();
            early.held.insert(at, Box::new(held));
            at = free_end;
        }
    }

    /// Tells what is held, up to the next hole.
    fn drain<S: StreamSink>(&mut self, out: &mut StreamOutput<'_, S>) {
        while self.tell_one(out) {}
    }

    /// Tells the next segment that is held, unless a hole is before it; whether there was one.
    pub(super) fn tell_one<S: StreamSink>(&mut self, out: &mut StreamOutput<'_, S>) -> bool {
        let Some(early) = &mut self.early else { return false };
        let Some(entry) = early.held.first_entry().filter(|entry| *entry.key() == self.next) else { return false };
        let held = entry.remove();
        early.held_bytes = early.held_bytes.saturating_sub(held.cost());
        *out.held_bytes = out.held_bytes.saturating_sub(held.cost());
        // A map that was emptied keeps its room.
        self.early.take_if(|early| early.held.is_empty() && early.fin.is_none() && early.stray.is_none());
        let Arrival { packet, time, .. } = held.arrival;
        let origin = Origin { packet, time, offset: self.next - self.base, place: held.place, record: 0 };
        self.next += held.bytes.len() as u64;
        out.data(&held.bytes, origin);
        self.skip_to(self.next + u64::from(held.cut), GapCause::Cut, out);
        true
    }

    /// The beginning of the stream is what has been seen until now.
    fn settle<S: StreamSink>(&mut self, out: &mut StreamOutput<'_, S>) {
        self.set_beginning();
        self.drain(out);
    }

    /// The same, but nothing is told yet.
    pub(super) fn set_beginning(&mut self) {
        self.base = self.next;
        self.begin = Begin::Settled;
    }

    /// Where the hole at the next position ends, and when what is behind it came; None when there is no hole.
    fn hole(&self) -> Option<(u64, Arrival)> {
        let early = self.early.as_ref()?;
        let (end, arrival) = match early.held.first_key_value() {
            Some((&start, held)) => (start, held.arrival),
            None => early.fin.map(|fin| (fin.position, fin.arrival))?,
        };
        (end > self.next).then_some((end, arrival))
    }

    /// Tells that the bytes up to what is held are missing, and what is held then.
    fn give_up<S: StreamSink>(&mut self, cause: GapCause, out: &mut StreamOutput<'_, S>) {
        if let Some((end, _)) = self.hole() {
            self.skip_to(end, cause, out);
        }
        self.drain(out);
    }

    fn skip_to<S: StreamSink>(&mut self, position: u64, cause: GapCause, out: &mut StreamOutput<'_, S>) {
        let offset = self.next - self.base;
        let missing = position.saturating_sub(self.next);
        self.next += missing;
        out.gap(offset, missing, cause);
    }
}
