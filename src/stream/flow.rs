//! One connection: SYN, FIN, RST, and its two directions.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use crate::capture::{Segment, Time};

use super::half::{HOLE_TIME, Half, Piece};
use super::output::{Output, Teller};
use super::{Close, Connection, ConnectionId, Counters, Direction, GapCause, StreamSink};

/// Packets of the connection after a reset until it is closed.
const RESET_PACKETS: u64 = 32;

/// The endpoints of a connection in an order that does not depend on who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    low: SocketAddr,
    high: SocketAddr,
}

/// One of the two endpoints of a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Low,
    High,
}

impl Hash for Key {
    /// As the derived one, but with a fifth of the bytes: this is done for most packets.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for endpoint in [self.low, self.high] {
            let port = endpoint.port();
            match endpoint.ip() {
                IpAddr::V4(address) => {
                    state.write_u64(u64::from(address.to_bits()) << 16 | u64::from(port));
                }
                IpAddr::V6(address) => {
                    state.write_u128(address.to_bits());
                    state.write_u16(port);
                }
            }
        }
    }
}

impl Side {
    fn opposite(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }
}

impl Key {
    /// The key of a segment, and which of the endpoints has sent it.
    pub(super) fn of(segment: &Segment<'_>) -> (Self, Side) {
        let (source, destination) = (segment.source, segment.destination);
        if source <= destination {
            (Self { low: source, high: destination }, Side::Low)
        } else {
            (Self { low: destination, high: source }, Side::High)
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) key: Key,
    teller: Teller,
    initiator: Side,
    halves: Halves,
    packets: u64,
    reset: Option<Reset>,
    waiting: bool,
    closed: bool,
    /// Whether it had a packet since this was last asked.
    pub(super) recent: bool,
}

/// The two directions, by who sends.
#[derive(Debug, Default)]
struct Halves {
    low: Half,
    high: Half,
}

impl Halves {
    /// The direction that a side sends in, and the other.
    fn of(&mut self, side: Side) -> (&mut Half, &mut Half) {
        match side {
            Side::Low => (&mut self.low, &mut self.high),
            Side::High => (&mut self.high, &mut self.low),
        }
    }

    /// Whether the beginning of neither is known.
    fn are_open(&self) -> bool {
        self.low.is_open() && self.high.is_open()
    }

    /// Whose bytes came first of what is held and can be told.
    fn next(&self) -> Option<Side> {
        match (self.low.next_packet(), self.high.next_packet()) {
            (Some(low), Some(high)) if high < low => Some(Side::High),
            (Some(_), _) => Some(Side::Low),
            (None, Some(_)) => Some(Side::High),
            (None, None) => None,
        }
    }

    fn are_waiting(&self) -> bool {
        self.low.is_waiting() || self.high.is_waiting()
    }

    fn are_finished(&self) -> bool {
        self.low.is_finished() && self.high.is_finished()
    }
}

/// A reset: when it came, who has sent it, and its sequence number.
#[derive(Clone, Copy, Debug)]
struct Reset {
    packets: u64,
    time: Time,
    sender: Side,
    sequence: u32,
}

impl Flow {
    /// The connection that a segment begins.
    pub(super) fn new(key: Key, side: Side, segment: &Segment<'_>) -> Self {
        let connection = Connection {
            id: ConnectionId(0),
            initiator: segment.source,
            responder: segment.destination,
            handshake: false,
            opened: segment.time,
            tls: None,
        };
        Self {
            key,
            teller: Teller::new(connection),
            initiator: side,
            halves: Halves::default(),
            packets: 0,
            reset: None,
            waiting: false,
            closed: false,
            recent: true,
        }
    }

    /// Whether something will have to be done when time goes by.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Whether it has ended, and is only remembered.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether forgetting it loses nothing: it has ended, or never had data.
    pub(super) fn is_idle(&self) -> bool {
        self.closed || !(self.teller.opened() || self.waiting)
    }

    pub(super) fn id(&self) -> ConnectionId {
        self.teller.connection.id
    }

    /// Whether a segment cannot belong to this connection, but must begin another on the same ports.
    pub(super) fn is_replaced_by(&self, side: Side, segment: &Segment<'_>) -> bool {
        let (half, peer) = match side {
            Side::Low => (&self.halves.low, &self.halves.high),
            Side::High => (&self.halves.high, &self.halves.low),
        };
        if segment.syn {
            if !half.is_begun_by(segment.sequence.wrapping_add(1)) {
                return true;
            }
            return half.is_unknown()
                && match segment.acknowledgment {
                    // The answer to another SYN than the one that was seen.
                    Some(acknowledgment) => !peer.is_near(acknowledgment),
                    // A SYN from the side that has answered, or that was only heard of.
                    None => self.closed || self.teller.opened(),
                };
        }
        // The SYN of the next connection may be lost: its data is far from what this one ended with. And who goes on where
        // it was before it sent a reset has not sent it.
        let goes_on = || self.is_reset_by(side, segment.sequence) && half.is_next(segment.sequence);
        self.closed && has_data(segment) && (!half.is_near(segment.sequence) || goes_on())
    }

    /// Whether a side has sent a reset, but says more than it had said until then.
    fn is_reset_by(&self, side: Side, sequence: u32) -> bool {
        let is_behind = |reset: Reset| sequence.wrapping_sub(reset.sequence).cast_signed() >= 0;
        self.reset.is_some_and(|reset| reset.sender == side && is_behind(reset))
    }

    /// Takes a segment of this connection.
    pub(super) fn take<S: StreamSink>(&mut self, side: Side, segment: &Segment<'_>, out: &mut Output<'_, S>) {
        self.packets += 1;
        self.recent = true;
        let direction = self.direction(side);
        let (half, peer) = self.halves.of(side);
        half.seen = true;
        if let Some(acknowledgment) = segment.acknowledgment {
            peer.acknowledge(acknowledgment);
        }
        let is_plain = !(segment.syn || segment.fin || segment.rst || segment.cut > 0);
        if is_plain && !self.waiting && !self.closed && half.is_next(segment.sequence) {
            half.take_next(segment.payload, segment.place, &mut out.stream(&mut self.teller, direction, self.packets));
            return;
        }
        if self.closed {
            self.count_late(side, segment, out.counters);
            return;
        }
        if has_data(segment) && self.is_reset_by(side, segment.sequence) {
            // It was a forgery, or was refused.
            self.reset = None;
        }
        let (half, _) = self.halves.of(side);
        if self.waiting && has_data(segment) && !half.may_be_filled(segment.sequence) {
            // What has waited too long is older than what is said now.
            self.advance_halves(out);
        }
        self.take_slowly(side, segment, out);
        self.advance(out);
    }

    /// Does what the passing of packets and time asks for.
    pub(super) fn advance<S: StreamSink>(&mut self, out: &mut Output<'_, S>) {
        if self.closed {
            return;
        }
        self.advance_halves(out);
        self.waiting = self.halves.are_waiting() || self.reset.is_some();
        if self.halves.are_finished() {
            self.close(Close::Finished, out);
        } else if let Some(reset) = self.reset {
            let is_due =
                self.packets.saturating_sub(reset.packets) >= RESET_PACKETS || out.time.since(reset.time) >= HOLE_TIME;
            if is_due || !self.teller.numbered() && !self.halves.are_waiting() {
                self.close(Close::Reset, out);
            }
        }
    }

    fn advance_halves<S: StreamSink>(&mut self, out: &mut Output<'_, S>) {
        if self.halves.are_open() {
            let is_overdue = |half: &Half| half.is_overdue(self.packets, out.time);
            if !(is_overdue(&self.halves.low) && is_overdue(&self.halves.high)) {
                return;
            }
            self.settle_together(out);
        }
        for side in [self.initiator, self.initiator.opposite()] {
            let direction = self.direction(side);
            let (half, peer) = self.halves.of(side);
            half.advance(peer.seen, &mut out.stream(&mut self.teller, direction, self.packets));
        }
    }

    /// Where both beginnings are open, lets the streams begin with what has been seen until now, and tells what is held of
    /// both in the order in which it came.
    fn settle_together<S: StreamSink>(&mut self, out: &mut Output<'_, S>) {
        if !self.halves.are_open() {
            return;
        }
        self.halves.low.set_beginning();
        self.halves.high.set_beginning();
        while let Some(side) = self.halves.next() {
            let direction = self.direction(side);
            let (half, _) = self.halves.of(side);
            half.tell_one(&mut out.stream(&mut self.teller, direction, self.packets));
        }
    }

    /// Gives up all holes, to let go of what is held.
    pub(super) fn flush<S: StreamSink>(&mut self, out: &mut Output<'_, S>) {
        self.settle_together(out);
        for side in [self.initiator, self.initiator.opposite()] {
            let direction = self.direction(side);
            let (half, _) = self.halves.of(side);
            half.flush(GapCause::Limit, &mut out.stream(&mut self.teller, direction, self.packets));
        }
        self.advance(out);
    }

    /// Tells all that is held, and that this was all.
    pub(super) fn close<S: StreamSink>(&mut self, how: Close, out: &mut Output<'_, S>) {
        if self.closed {
            return;
        }
        self.settle_together(out);
        for side in [self.initiator, self.initiator.opposite()] {
            let direction = self.direction(side);
            let (half, _) = self.halves.of(side);
            half.end(&mut out.stream(&mut self.teller, direction, self.packets));
        }
        let how = if self.reset.is_some() && how != Close::Finished { Close::Reset } else { how };
        self.teller.close(out.sink, how);
        self.closed = true;
        self.waiting = false;
    }

    fn take_slowly<S: StreamSink>(&mut self, side: Side, segment: &Segment<'_>, out: &mut Output<'_, S>) {
        let mut sequence = segment.sequence;
        if segment.syn {
            sequence = sequence.wrapping_add(1);
            self.take_syn(side, segment, out);
        }
        let direction = self.direction(side);
        let packets = self.packets;
        let (half, _) = self.halves.of(side);
        if segment.rst {
            // Its payload, if any, is a text for people (RFC 9293, 3.5.3), not a part of the stream.
            // Older than what its sender has sent since, it was refused or is a forgery (RFC 5961, 3.2).
            if half.is_near(sequence) && !half.is_old(sequence) && self.reset.is_none() {
                self.reset = Some(Reset { packets, time: segment.time, sender: side, sequence });
            }
            return;
        }
        if has_data(segment) || segment.fin {
            let mut stream = out.stream(&mut self.teller, direction, packets);
            let piece = Piece { bytes: segment.payload, place: segment.place, cut: segment.cut };
            half.take(sequence, piece, segment.fin, &mut stream);
        }
    }

    /// The SYN says where its stream begins, its acknowledgment where the other does, and both who is who.
    fn take_syn<S: StreamSink>(&mut self, side: Side, segment: &Segment<'_>, out: &mut Output<'_, S>) {
        let is_answer = segment.acknowledgment.is_some();
        if !self.teller.opened() && !self.teller.connection.handshake {
            let connection = &mut self.teller.connection;
            let (initiator, responder) =
                if is_answer { (segment.destination, segment.source) } else { (segment.source, segment.destination) };
            connection.initiator = initiator;
            connection.responder = responder;
            self.initiator = if is_answer { side.opposite() } else { side };
        }
        let direction = self.direction(side);
        let sender_is_initiator = direction == Direction::Forward;
        if sender_is_initiator != is_answer {
            self.teller.connection.handshake = true;
        }
        let packets = self.packets;
        let (half, peer) = self.halves.of(side);
        let teller = &mut self.teller;
        half.begin_at(segment.sequence.wrapping_add(1), &mut out.stream(teller, direction, packets));
        if let Some(acknowledgment) = segment.acknowledgment {
            teller.number(out.counters);
            if peer.is_unknown() {
                peer.begin_at(acknowledgment, &mut out.stream(teller, direction.opposite(), packets));
            }
        }
    }

    /// Counts what comes after the end.
    fn count_late(&mut self, side: Side, segment: &Segment<'_>, counters: &mut Counters) {
        let bytes = segment.payload.len() as u64;
        let (half, _) = self.halves.of(side);
        if half.is_old(segment.sequence) {
            counters.retransmitted_bytes += bytes;
        } else {
            counters.dropped_bytes += bytes;
        }
    }

    fn direction(&self, side: Side) -> Direction {
        if side == self.initiator { Direction::Forward } else { Direction::Backward }
    }
}

/// Whether a segment has data, be it cut.
pub(super) fn has_data(segment: &Segment<'_>) -> bool {
    !segment.payload.is_empty() || segment.cut > 0
}
