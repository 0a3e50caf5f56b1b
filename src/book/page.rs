//! How messages are written down: as differences to the message before.
//!
//! A message is a byte of flags and numbers as varints (seven bits a byte, the lowest first), signed ones with the sign in
//! the lowest bit. A number that the messages before it on the page [foretell](foretold) is left out:
//!
//! | number | there | what it is |
//! | --- | --- | --- |
//! | more flags | with RARE | |
//! | request | with ANSWER | how many messages before this one |
//! | connection | unless SAME | difference to what is foretold |
//! | kind | unless LIKE | |
//! | gap | with GAP | bytes that the capture lacks |
//! | offset in the stream | unless FOLLOWS | |
//! | packet | unless PLAIN | difference to the piece before, above four bits: MORE, MOVED, ELSEWHERE, `IN_TLS` |
//! | source, interface | with MOVED | |
//! | place | with ELSEWHERE | difference to what is foretold |
//! | TLS record | with `IN_TLS` | difference to the one before |
//! | hole | with GAP | bytes that the capture lacks before the piece |
//! | length | of the first piece unless LONG | of the first piece in full, else the difference to the piece before |
//! | time | | difference to the piece before, above a bit: in microseconds, or in nanoseconds where that is not exact |
//!
//! The last seven stand there for each piece; with MORE another one follows.

mod foretold;

use std::sync::Arc;

use crate::capture::{InterfaceId, Place, Time};
use crate::conversation::Piece;
use crate::protocol::Side;
use crate::stream::ConnectionId;
use foretold::Foretold;

/// Messages of a page, at most. A longer page takes longer to read; a shorter one has more messages that nothing foretells.
pub(super) const LENGTH: u64 = 512;
/// Behind so many bytes, a page is full with fewer messages.
const FULL: usize = 4096;

/// It has flags that few have.
const RARE: u8 = 1;
const ANSWER: u8 = 1 << 1;
/// It is of the connection that is foretold.
const SAME: u8 = 1 << 2;
/// It is of the kind that is foretold.
const LIKE: u8 = 1 << 3;
/// It begins where the one before it in its stream ended.
const FOLLOWS: u8 = 1 << 4;
/// It came whole in the packet behind that of the message before, in the place that is foretold.
const PLAIN: u8 = 1 << 5;
/// Its first piece is as long as is foretold.
const LONG: u8 = 1 << 6;

const FAULTY: u8 = 1;
const ODD: u8 = 1 << 1;
const GUESSED: u8 = 1 << 2;
const GAP: u8 = 1 << 3;

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
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
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
const IN_TLS: u64 = 1 << 3;
const PIECE_BITS: u32 = 4;

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
        let rare = set(&[(record.faulty, FAULTY), (record.odd, ODD), (record.guessed, GUESSED), (record.gap > 0, GAP)]);
        let before = foretold.connection(record.request);
        let same = record.connection.0 == before;
        let like = record.kind == foretold.kind(record.request, record.connection);
        let follows = record.stream_offset == foretold.end(record.connection, record.kind.side());
        let packets = first.packet.wrapping_sub(foretold.packet);
        let is_plain = more.is_empty()
            && packets == 1
            && first.tls_record == 0
            && first.place.source == foretold.source
            && first.place.interface == foretold.interface
            && first.place.offset == foretold.place(foretold.source, 1);
        let length = first.end - first.start;
        let long = length == foretold.length(record.kind);
        bytes.push(set(&[
            (rare != 0, RARE),
            (record.request > 0, ANSWER),
            (same, SAME),
            (like, LIKE),
            (follows, FOLLOWS),
            (is_plain, PLAIN),
            (long, LONG),
        ]));
        if rare != 0 {
            bytes.push(rare);
        }
        if record.request > 0 {
            put(bytes, record.request);
        }
        if !same {
            put_signed(bytes, record.connection.0.wrapping_sub(before).cast_signed());
        }
        if !like {
            put(bytes, u64::from(record.kind.0));
        }
        if record.gap > 0 {
            put(bytes, record.gap);
        }
        if !follows {
            put(bytes, record.stream_offset);
        }
        let there: u64 = pieces.iter().map(|piece| piece.end - piece.start).sum();
        let end = record.stream_offset.wrapping_add(there).wrapping_add(record.gap);
        foretold.learn_message(record.connection, record.kind, record.request, length, end);
        let mut at = record.stream_offset;
        let mut hole_before = |piece: &Piece| {
            let hole = piece.start.wrapping_sub(at);
            at = piece.end;
            (record.gap > 0).then_some(hole)
        };
        let first_length = if long { Length::Foretold(length) } else { Length::Full };
        put_piece(bytes, foretold, first, is_plain, hole_before(first), first_length, !more.is_empty());
        let mut before = first;
        for (piece, left) in more.iter().zip((0..more.len()).rev()) {
            let length = Length::Behind(before.end - before.start);
            put_piece(bytes, foretold, piece, false, hole_before(piece), length, left > 0);
            before = piece;
        }
    }
}

/// The sum of the flags that are set.
fn set(flags: &[(bool, u8)]) -> u8 {
    flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
}

/// How the length of a piece stands there.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// Not at all.
    Foretold(u64),
    Full,
    /// As the difference to that of the piece before.
    Behind(u64),
}

const NO_PIECE: Piece =
    Piece { start: 0, end: 0, packet: 0, time: Time::from_nanoseconds(0), place: Place::new(0, 0), tls_record: 0 };

fn put_piece(
    bytes: &mut Vec<u8>,
    foretold: &mut Foretold,
    piece: &Piece,
    is_plain: bool,
    hole: Option<u64>,
    length_as: Length,
    more: bool,
) {
    let Place { source, interface, offset } = piece.place;
    if !is_plain {
        let packets = piece.packet.wrapping_sub(foretold.packet);
        let place = foretold.place(source, packets);
        let moved = source != foretold.source || interface != foretold.interface;
        let elsewhere = offset != place;
        let bits = u64::from(more) * MORE + u64::from(moved) * MOVED + u64::from(elsewhere) * ELSEWHERE;
        let is_in_tls = piece.tls_record > 0;
        let bits = bits + u64::from(is_in_tls) * IN_TLS;
        put(bytes, folded(packets.cast_signed()) << PIECE_BITS | bits);
        if moved {
            put(bytes, source.into());
            put(bytes, interface.0.into());
        }
        if elsewhere {
            put_signed(bytes, offset.wrapping_sub(place).cast_signed());
        }
        if is_in_tls {
            put_signed(bytes, i64::from(piece.tls_record) - i64::from(foretold.tls_record));
        }
    }
    if let Some(hole) = hole {
        put(bytes, hole);
    }
    let length = piece.end - piece.start;
    match length_as {
        Length::Foretold(_) => {}
        Length::Full => put(bytes, length),
        Length::Behind(before) => put_signed(bytes, length.wrapping_sub(before).cast_signed()),
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

/// The bytes of a page.
#[derive(Debug)]
pub(super) enum Bytes<'b> {
    /// Of the one that is written to.
    Open(&'b [u8]),
    /// Of a full one, inflated.
    Inflated(Arc<[u8]>),
}

impl Bytes<'_> {
    fn get(&self) -> &[u8] {
        match self {
            Bytes::Open(bytes) => bytes,
            Bytes::Inflated(bytes) => bytes,
        }
    }
}

/// A page that is being read.
#[derive(Debug)]
pub(super) struct Page<'b> {
    bytes: Bytes<'b>,
    at: usize,
    foretold: Foretold,
}

impl<'b> Page<'b> {
    pub(super) fn new(bytes: Bytes<'b>) -> Self {
        Self { bytes, at: 0, foretold: Foretold::default() }
    }

    /// Reads the next message and puts its pieces behind those that are there; None at the end.
    pub(super) fn next(&mut self, mut pieces: Option<&mut Vec<Piece>>) -> Option<Record> {
        let flags = self.byte()?;
        let has = |flag: u8| flags & flag != 0;
        let rare = if has(RARE) { self.byte()? } else { 0 };
        let is = |flag: u8| rare & flag != 0;
        let request = if has(ANSWER) { self.number()? } else { 0 };
        let before = self.foretold.connection(request);
        let connection = if has(SAME) { before } else { before.wrapping_add_signed(self.signed()?) };
        let connection = ConnectionId(connection);
        let kind = if has(LIKE) { self.foretold.kind(request, connection) } else { KindId(self.number()? as u32) };
        let gap = if is(GAP) { self.number()? } else { 0 };
        let follows = self.foretold.end(connection, kind.side());
        let stream_offset = if has(FOLLOWS) { follows } else { self.number()? };
        let first_length = if has(LONG) { Length::Foretold(self.foretold.length(kind)) } else { Length::Full };
        let (first, mut more) = self.piece(stream_offset, has(PLAIN), is(GAP), first_length)?;
        let mut piece = first;
        let mut there = 0_u64;
        let mut before_hole = None;
        let mut at = stream_offset;
        let mut time = first.time;
        loop {
            if piece.start != at && before_hole.is_none() {
                before_hole = Some(there);
            }
            at = piece.end;
            let length = piece.end.wrapping_sub(piece.start);
            there = there.wrapping_add(length);
            time = time.max(piece.time);
            if let Some(pieces) = &mut pieces {
                pieces.push(piece);
            }
            if !more {
                break;
            }
            (piece, more) = self.piece(at, false, is(GAP), Length::Behind(length))?;
        }
        let size = there.wrapping_add(gap);
        let end = stream_offset.wrapping_add(size);
        let first_length = first.end.wrapping_sub(first.start);
        self.foretold.learn_message(connection, kind, request, first_length, end);
        Some(Record {
            kind,
            connection,
            request,
            gap,
            stream_offset,
            guessed: is(GUESSED),
            faulty: is(FAULTY),
            odd: is(ODD),
            length: before_hole.unwrap_or(there),
            size,
            time,
        })
    }

    /// Reads a piece, and whether another one follows. It begins at a place in the stream or behind a hole there.
    fn piece(&mut self, at: u64, is_plain: bool, has_hole: bool, length_as: Length) -> Option<(Piece, bool)> {
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
        let tls_record = if bits & IN_TLS == 0 {
            0
        } else {
            i64::from(self.foretold.tls_record).wrapping_add(self.signed()?).cast_unsigned() as u32
        };
        let start = if has_hole { at.wrapping_add(self.number()?) } else { at };
        let length = match length_as {
            Length::Foretold(length) => length,
            Length::Full => self.number()?,
            Length::Behind(before) => before.wrapping_add_signed(self.signed()?),
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
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get().get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let byte = self.byte()?;
        // Most numbers are a byte.
        if byte < 0x80 { Some(byte.into()) } else { self.long_number(byte) }
    }

    fn long_number(&mut self, first: u8) -> Option<u64> {
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
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
