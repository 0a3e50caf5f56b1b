//! How messages are written down: as differences to the message before.
//!
//! A message is a byte of flags, its kind, and numbers as varints (seven bits a byte, the lowest first), signed ones with
//! the sign in the lowest bit. A number that the messages before it on the page foretell is left out:
//!
//! | number | there | what it is |
//! | --- | --- | --- |
//! | connection | unless SAME | difference to the message before |
//! | request | with ANSWER | how many messages before this one |
//! | gap | with GAP | bytes that the capture lacks |
//! | offset in the stream | unless FOLLOWS | |
//! | packet | unless PLAIN | difference to the piece before, above four bits: MORE, MOVED, ELSEWHERE, SEALED |
//! | source, interface | with MOVED | |
//! | place | with ELSEWHERE | difference to what is foretold: as far behind the piece before as packets lie apart |
//! | TLS record | with SEALED | difference to the one before |
//! | hole | with GAP | bytes that the capture lacks before the piece |
//! | length | | of the first piece in full, else the difference to the piece before |
//! | time | | difference to the piece before, above a bit: in microseconds, or in nanoseconds where that is not exact |
//!
//! The last seven stand there for each piece; with MORE another one follows.

use crate::capture::{InterfaceId, Place, Time};
use crate::conversation::Piece;
use crate::protocol::Side;
use crate::stream::ConnectionId;

/// Messages of a page, at most. A longer page takes longer to read; a shorter one has more messages that nothing foretells.
pub(super) const LENGTH: u64 = 128;
/// Behind so many bytes, a page is full with fewer messages.
const FULL: usize = 1024;

const FAULTY: u8 = 1;
const ODD: u8 = 1 << 1;
const GUESSED: u8 = 1 << 2;
const GAP: u8 = 1 << 3;
const ANSWER: u8 = 1 << 4;
/// It begins where the one before it in its stream ended.
const FOLLOWS: u8 = 1 << 5;
/// It is of the connection of the message before.
const SAME: u8 = 1 << 6;
/// It came whole in the packet behind that of the message before, in the place that is foretold.
const PLAIN: u8 = 1 << 7;

/// A message as it stands on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: KindId,
    pub(super) connection: ConnectionId,
    /// How many messages before this one its request stands; 0: it has none.
    pub(super) request: u64,
    pub(super) gap: u64,
    pub(super) stream_offset: u64,
    pub(super) guessed: bool,
    pub(super) faulty: bool,
    pub(super) odd: bool,
    /// Its bytes before the first that the capture lacks.
    pub(super) length: u64,
    /// All its bytes, also those that the capture lacks.
    pub(super) size: u64,
    /// The latest of its pieces.
    pub(super) time: Time,
}

impl Record {
    /// The number of the request of the message with a number.
    pub(super) fn request_of(&self, index: u64) -> Option<u64> {
        (self.request > 0).then(|| index.saturating_sub(self.request))
    }
}

/// The number of a kind, and its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KindId(u32);

impl KindId {
    pub(super) fn new(number: usize, side: Side) -> Self {
        Self((number as u32) << 1 | u32::from(side == Side::Response))
    }

    pub(super) fn number(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::Request } else { Side::Response }
    }
}

/// A piece: another one follows.
const MORE: u64 = 1;
/// It is from another source or interface than the one before.
const MOVED: u64 = 1 << 1;
/// It is not where it is foretold to be.
const ELSEWHERE: u64 = 1 << 2;
/// It was in a TLS record.
const SEALED: u64 = 1 << 3;
const PIECE_BITS: u32 = 4;

/// What the messages before foretell. Writer and reader keep the same.
#[derive(Debug)]
struct Foretold {
    connection: u64,
    packet: u64,
    time: i64,
    source: u16,
    interface: InterfaceId,
    tls_record: u32,
    lanes: [Lane; 4],
    /// Numbers and ends of streams, each in the place that its number has among so many: a newer one drives an older one
    /// out. No stream has the number 0, as connections count from 1.
    streams: [(u64, u64); 128],
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

impl Default for Foretold {
    fn default() -> Self {
        Self {
            connection: 0,
            packet: 0,
            time: 0,
            source: 0,
            interface: InterfaceId::NONE,
            tls_record: 0,
            lanes: [Lane::default(); 4],
            streams: [(0, 0); 128],
        }
    }
}

impl Foretold {
    /// Notes where a message of a stream ends, and says where the one before it did, as far as that is known.
    fn stream(&mut self, connection: ConnectionId, side: Side) -> Option<(bool, &mut u64)> {
        let number = connection.0 << 1 | u64::from(side == Side::Response);
        let slot = number as usize % self.streams.len();
        let (owner, end) = self.streams.get_mut(slot)?;
        let is_known = *owner == number;
        *owner = number;
        Some((is_known, end))
    }

    fn lane(&self, source: u16) -> Lane {
        let lane = self.lanes.get(usize::from(source) % self.lanes.len()).copied().unwrap_or_default();
        if lane.source == source { lane } else { Lane { source, ..Lane::default() } }
    }

    /// Where a piece lies if it is so many packets behind the last one.
    fn place(&self, source: u16, packets: u64) -> u64 {
        let lane = self.lane(source);
        lane.end.wrapping_add(packets.wrapping_mul(lane.between))
    }

    /// Learns from a piece.
    fn learn(&mut self, piece: &Piece, length: u64) {
        let Place { source, interface, offset } = piece.place;
        let packets = piece.packet.wrapping_sub(self.packet);
        let mut lane = self.lane(source);
        let passed = offset.wrapping_sub(lane.end);
        if lane.end > 0 && passed != packets.wrapping_mul(lane.between) {
            let between = if packets == 1 { Some(passed) } else { passed.checked_div(packets) };
            lane.between = between.filter(|between| u16::try_from(*between).is_ok()).unwrap_or(lane.between);
        }
        lane.end = offset.wrapping_add(length);
        let slot = usize::from(source) % self.lanes.len();
        if let Some(place) = self.lanes.get_mut(slot) {
            *place = lane;
        }
        self.packet = piece.packet;
        self.time = piece.time.nanoseconds();
        self.source = source;
        self.interface = interface;
        if piece.tls_record > 0 {
            self.tls_record = piece.tls_record;
        }
    }
}

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) bytes: Vec<u8>,
    pub(super) messages: u64,
    foretold: Foretold,
}

impl Draft {
    pub(super) fn is_full(&self) -> bool {
        self.messages >= LENGTH || self.bytes.len() >= FULL
    }

    /// Begins the next page.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.messages = 0;
        self.foretold = Foretold::default();
    }

    /// Writes a message down. The length, size and time of the record follow from the pieces and are not looked at.
    pub(super) fn push(&mut self, record: &Record, pieces: &[Piece]) {
        let Self { bytes, foretold, .. } = self;
        self.messages += 1;
        // Never so; what has no pieces has no bytes.
        let (first, more) = pieces.split_first().unwrap_or((&NO_PIECE, &[]));
        let packets = first.packet.wrapping_sub(foretold.packet);
        let is_plain = more.is_empty()
            && packets == 1
            && first.tls_record == 0
            && first.place.source == foretold.source
            && first.place.interface == foretold.interface
            && first.place.offset == foretold.place(foretold.source, 1);
        let there: u64 = pieces.iter().map(|piece| piece.end - piece.start).sum();
        let end = record.stream_offset.wrapping_add(there).wrapping_add(record.gap);
        let stream = foretold.stream(record.connection, record.kind.side());
        let follows = stream.is_some_and(|(is_known, before)| {
            let before = std::mem::replace(before, end);
            is_known && before == record.stream_offset
        });
        let same = record.connection.0 == foretold.connection;
        let flags = [
            (record.faulty, FAULTY),
            (record.odd, ODD),
            (record.guessed, GUESSED),
            (record.gap > 0, GAP),
            (record.request > 0, ANSWER),
            (follows, FOLLOWS),
            (same, SAME),
            (is_plain, PLAIN),
        ];
        bytes.push(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum());
        put(bytes, u64::from(record.kind.0));
        if !same {
            put_signed(bytes, record.connection.0.wrapping_sub(foretold.connection).cast_signed());
            foretold.connection = record.connection.0;
        }
        if record.request > 0 {
            put(bytes, record.request);
        }
        if record.gap > 0 {
            put(bytes, record.gap);
        }
        if !follows {
            put(bytes, record.stream_offset);
        }
        let mut at = record.stream_offset;
        let mut hole_before = |piece: &Piece| {
            let hole = piece.start.wrapping_sub(at);
            at = piece.end;
            (record.gap > 0).then_some(hole)
        };
        put_piece(bytes, foretold, first, is_plain, hole_before(first), None, !more.is_empty());
        let mut before = first;
        for (piece, left) in more.iter().zip((0..more.len()).rev()) {
            let length_before = Some(before.end - before.start);
            put_piece(bytes, foretold, piece, false, hole_before(piece), length_before, left > 0);
            before = piece;
        }
    }
}

const NO_PIECE: Piece =
    Piece { start: 0, end: 0, packet: 0, time: Time::from_nanoseconds(0), place: Place::new(0, 0), tls_record: 0 };

fn put_piece(
    bytes: &mut Vec<u8>,
    foretold: &mut Foretold,
    piece: &Piece,
    is_plain: bool,
    hole: Option<u64>,
    length_before: Option<u64>,
    more: bool,
) {
    let Place { source, interface, offset } = piece.place;
    if !is_plain {
        let packets = piece.packet.wrapping_sub(foretold.packet);
        let place = foretold.place(source, packets);
        let moved = source != foretold.source || interface != foretold.interface;
        let elsewhere = offset != place;
        let bits = u64::from(more) * MORE + u64::from(moved) * MOVED + u64::from(elsewhere) * ELSEWHERE;
        let is_sealed = piece.tls_record > 0;
        let bits = bits + u64::from(is_sealed) * SEALED;
        put(bytes, folded(packets.cast_signed()) << PIECE_BITS | bits);
        if moved {
            put(bytes, source.into());
            put(bytes, interface.0.into());
        }
        if elsewhere {
            put_signed(bytes, offset.wrapping_sub(place).cast_signed());
        }
        if is_sealed {
            put_signed(bytes, i64::from(piece.tls_record) - i64::from(foretold.tls_record));
        }
    }
    if let Some(hole) = hole {
        put(bytes, hole);
    }
    let length = piece.end - piece.start;
    match length_before {
        None => put(bytes, length),
        Some(before) => put_signed(bytes, length.wrapping_sub(before).cast_signed()),
    }
    let time = piece.time.nanoseconds().wrapping_sub(foretold.time);
    if time % MICROSECOND == 0 {
        put(bytes, folded(time / MICROSECOND) << 1);
    } else {
        let time = folded(time);
        put(bytes, (time & FIRST_BITS) << 1 | 1);
        put(bytes, time >> FIRST_BITS.count_ones());
    }
    foretold.learn(piece, length);
}

const MICROSECOND: i64 = 1000;
/// The bits of a time in nanoseconds that share a byte with the bit that says so.
const FIRST_BITS: u64 = 0x3f;

/// A signed number with its sign in the lowest bit.
fn folded(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    let mut rest = number;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, folded(number));
}

/// A page that is being read.
#[derive(Debug)]
pub(super) struct Page<'b> {
    rest: &'b [u8],
    foretold: Foretold,
}

impl<'b> Page<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes, foretold: Foretold::default() }
    }

    /// Reads the next message and puts its pieces behind those that are there; None at the end.
    pub(super) fn next(&mut self, mut pieces: Option<&mut Vec<Piece>>) -> Option<Record> {
        let (&flags, rest) = self.rest.split_first()?;
        self.rest = rest;
        let has = |flag: u8| flags & flag != 0;
        let kind = KindId(self.number()? as u32);
        if !has(SAME) {
            self.foretold.connection = self.foretold.connection.wrapping_add_signed(self.signed()?);
        }
        let connection = ConnectionId(self.foretold.connection);
        let request = if has(ANSWER) { self.number()? } else { 0 };
        let gap = if has(GAP) { self.number()? } else { 0 };
        let explicit = if has(FOLLOWS) { None } else { Some(self.number()?) };
        let (_, end) = self.foretold.stream(connection, kind.side())?;
        let stream_offset = explicit.unwrap_or(*end);
        let mut there = 0_u64;
        let mut before_hole = None;
        let mut at = stream_offset;
        let mut time = None;
        let mut length_before = None;
        loop {
            let (piece, more) = self.piece(at, has(PLAIN), has(GAP), length_before)?;
            if piece.start != at && before_hole.is_none() {
                before_hole = Some(there);
            }
            at = piece.end;
            let of_piece = piece.end.wrapping_sub(piece.start);
            there = there.wrapping_add(of_piece);
            length_before = Some(of_piece);
            time = time.max(Some(piece.time));
            if let Some(pieces) = &mut pieces {
                pieces.push(piece);
            }
            if !more {
                break;
            }
        }
        let (_, end) = self.foretold.stream(connection, kind.side())?;
        let size = there.wrapping_add(gap);
        *end = stream_offset.wrapping_add(size);
        Some(Record {
            kind,
            connection,
            request,
            gap,
            stream_offset,
            guessed: has(GUESSED),
            faulty: has(FAULTY),
            odd: has(ODD),
            length: before_hole.unwrap_or(there),
            size,
            time: time.unwrap_or_default(),
        })
    }

    /// Reads a piece, and whether another one follows. It begins at a place in the stream or behind a hole there.
    fn piece(&mut self, at: u64, is_plain: bool, has_hole: bool, length_before: Option<u64>) -> Option<(Piece, bool)> {
        let (bits, packets) = if is_plain {
            (0, 1)
        } else {
            let number = self.number()?;
            (number, unfolded(number >> PIECE_BITS).cast_unsigned())
        };
        let (source, interface) = if bits & MOVED != 0 {
            (self.number()? as u16, InterfaceId(self.number()? as u32))
        } else {
            (self.foretold.source, self.foretold.interface)
        };
        let mut offset = self.foretold.place(source, packets);
        if bits & ELSEWHERE != 0 {
            offset = offset.wrapping_add_signed(self.signed()?);
        }
        let tls_record = if bits & SEALED == 0 {
            0
        } else {
            i64::from(self.foretold.tls_record).wrapping_add(self.signed()?).cast_unsigned() as u32
        };
        let start = if has_hole { at.wrapping_add(self.number()?) } else { at };
        let length = match length_before {
            None => self.number()?,
            Some(before) => before.wrapping_add_signed(self.signed()?),
        };
        let passed = self.number()?;
        let passed = if passed & 1 == 0 {
            unfolded(passed >> 1).wrapping_mul(MICROSECOND)
        } else {
            unfolded(self.number()? << FIRST_BITS.count_ones() | passed >> 1)
        };
        let piece = Piece {
            start,
            end: start.wrapping_add(length),
            packet: self.foretold.packet.wrapping_add(packets),
            time: Time::from_nanoseconds(self.foretold.time.wrapping_add(passed)),
            place: Place { source, interface, offset },
            tls_record,
        };
        self.foretold.learn(&piece, length);
        Some((piece, bits & MORE != 0))
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        // Most numbers are a byte.
        if byte < 0x80 { Some(byte.into()) } else { self.long_number(byte) }
    }

    fn long_number(&mut self, first: u8) -> Option<u64> {
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn signed(&mut self) -> Option<i64> {
        self.number().map(unfolded)
    }
}
