//! What the messages that stand on a page before one foretell of it. Writer and reader learn the same.

use super::KindId;
use crate::capture::Place;
use crate::conversation::Piece;
use crate::protocol::Side;
use crate::stream::ConnectionId;

/// What is foretold of the next message and its pieces. What nothing foretells is 0.
#[derive(Debug)]
pub(super) struct Foretold {
    /// Of the piece before.
    pub(super) packet: u64,
    pub(super) time: i64,
    pub(super) source: u16,
    pub(super) tls_record: u32,
    lanes: [Lane; 4],
    /// How many messages there were.
    messages: u64,
    /// The last ones, each in the place of its number.
    messages_before: [Before; 128],
    /// Each in the place that its number has among so many: a newer one drives an older one out.
    streams: [Stream; 128],
    kinds: [Alike; 64],
}

/// How packets lie in a source.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    source: u16,
    /// Where the last piece ended.
    end: u64,
    /// Bytes between the payloads of two packets that follow each other.
    between: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Before {
    connection: u64,
    kind: KindId,
}

/// A stream, and its last message. None has the number 0, as connections count from 1.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    number: u64,
    end: u64,
    kind: KindId,
}

/// The last message of a kind.
#[derive(Debug, Clone, Copy, Default)]
struct Alike {
    kind: KindId,
    /// The length of its first piece.
    length: u64,
    /// The kind of the last answer to one.
    answer: KindId,
}

impl Default for Foretold {
    fn default() -> Self {
        Self {
            packet: 0,
            time: 0,
            source: 0,
            tls_record: 0,
            lanes: [Lane::default(); 4],
            messages: 0,
            messages_before: [Before::default(); 128],
            streams: [Stream::default(); 128],
            kinds: [Alike::default(); 64],
        }
    }
}

impl Foretold {
    /// The connection of a message: that of its request, which is so many messages before it, else that of the one before.
    pub(super) fn connection(&self, request: u64) -> u64 {
        self.asked(request.max(1)).connection
    }

    /// The kind of a message: as its request was answered before, or as the last request of its connection.
    pub(super) fn kind(&self, request: u64, connection: ConnectionId) -> KindId {
        if request > 0 {
            return self.of_kind(self.asked(request).kind).answer;
        }
        self.stream(connection, Side::Request).kind
    }

    /// Where a message of a stream begins.
    pub(super) fn end(&self, connection: ConnectionId, side: Side) -> u64 {
        self.stream(connection, side).end
    }

    /// The length of the first piece of a message.
    pub(super) fn length(&self, kind: KindId) -> u64 {
        self.of_kind(kind).length
    }

    /// Where a piece lies if it is so many packets behind the last one.
    pub(super) fn place(&self, source: u16, packets: u64) -> u64 {
        let lane = self.lane(source);
        lane.end.wrapping_add(packets.wrapping_mul(lane.between))
    }

    /// Learns from a message: the length of its first piece, and where it ends in its stream.
    pub(super) fn learn_message(
        &mut self,
        connection: ConnectionId,
        kind: KindId,
        request: u64,
        length: u64,
        end: u64,
    ) {
        if request > 0 {
            let asked = self.asked(request).kind;
            let asked = Alike { answer: kind, ..self.of_kind(asked) };
            put(&mut self.kinds, asked.kind.0.into(), asked);
        }
        let of_kind = Alike { length, ..self.of_kind(kind) };
        put(&mut self.kinds, kind.0.into(), of_kind);
        let number = number(connection, kind.side());
        put(&mut self.streams, number, Stream { number, end, kind });
        put(&mut self.messages_before, self.messages, Before { connection: connection.0, kind });
        self.messages += 1;
    }

    /// Learns from a piece.
    pub(super) fn learn(&mut self, piece: &Piece, length: u64) {
        let Place { source, offset } = piece.place;
        let packets = piece.packet.wrapping_sub(self.packet);
        let mut lane = self.lane(source);
        let passed = offset.wrapping_sub(lane.end);
        if lane.end > 0 && passed != packets.wrapping_mul(lane.between) {
            let between = if packets == 1 { Some(passed) } else { passed.checked_div(packets) };
            lane.between = between.filter(|between| u16::try_from(*between).is_ok()).unwrap_or(lane.between);
        }
        lane.end = offset.wrapping_add(length);
        put(&mut self.lanes, source.into(), lane);
        self.packet = piece.packet;
        self.time = piece.time.nanoseconds();
        self.source = source;
        if piece.tls_record > 0 {
            self.tls_record = piece.tls_record;
        }
    }

    /// The message that is so many before the next one.
    fn asked(&self, back: u64) -> Before {
        let is_kept = (1..=self.messages_before.len() as u64).contains(&back);
        let number = self.messages.checked_sub(back).filter(|_| is_kept);
        number.map(|number| get(&self.messages_before, number)).unwrap_or_default()
    }

    fn of_kind(&self, kind: KindId) -> Alike {
        let found = get(&self.kinds, kind.0.into());
        if found.kind == kind { found } else { Alike { kind, ..Alike::default() } }
    }

    fn stream(&self, connection: ConnectionId, side: Side) -> Stream {
        let number = number(connection, side);
        let found = get(&self.streams, number);
        if found.number == number { found } else { Stream::default() }
    }

    fn lane(&self, source: u16) -> Lane {
        let lane = get(&self.lanes, source.into());
        if lane.source == source { lane } else { Lane { source, ..Lane::default() } }
    }
}

fn number(connection: ConnectionId, side: Side) -> u64 {
    connection.0 << 1 | u64::from(side == Side::Response)
}

fn get<T: Copy + Default, const SLOTS: usize>(slots: &[T; SLOTS], number: u64) -> T {
    slots.get(number as usize % SLOTS).copied().unwrap_or_default()
}

fn put<T, const SLOTS: usize>(slots: &mut [T; SLOTS], number: u64, value: T) {
    if let Some(slot) = slots.get_mut(number as usize % SLOTS) {
        *slot = value;
    }
}
