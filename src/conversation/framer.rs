//! One stream: the bytes of a frame that is not whole yet, and where they came from.

use super::pool::Pool;
use crate::capture::{Place, Time};
use crate::stream::Origin;

/// What is kept of a stream.
#[derive(Debug, Default)]
pub(super) struct Framer {
    /// Bytes that were not used up yet.
    pub(super) buffer: Vec<u8>,
    /// The place of the buffer's first byte in the stream.
    pub(super) start: u64,
    /// Where the bytes of the buffer, and of the piece that is being looked at, came from.
    pub(super) pieces: Vec<Piece>,
    /// Where in the stream the buffer begins.
    pub(super) state: State,
    /// How many bytes the buffer must hold before it is worth a look.
    pub(super) needed: usize,
    /// Whether the next frame's beginning is guessed.
    pub(super) guessed: bool,
    /// Whether it is to be proven before it is believed: fewer bytes may be missing before it than was said.
    pub(super) doubted: bool,
    /// The frame that is being skipped, to be told when its last byte has come.
    pub(super) cut: Option<Box<CutFrame>>,
}

/// A frame with a hole in it.
#[derive(Debug)]
pub(super) struct CutFrame {
    /// The bytes before the first hole.
    pub(super) bytes: Vec<u8>,
    /// The place of the first one in the stream.
    pub(super) start: u64,
    /// The length of the whole frame.
    pub(super) length: u64,
    /// How many of its bytes are known to be missing.
    pub(super) missing: u64,
}

/// Where in a stream the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// At the beginning of a frame.
    #[default]
    Framed,
    /// Inside of a frame that was told already: so many bytes of it follow.
    Skipping(u64),
    /// Nobody knows.
    Lost,
}

/// Bytes that came with one packet and lie in the capture in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where they begin in the stream.
    pub start: u64,
    /// Where they end in the stream.
    pub end: u64,
    /// The number of the packet.
    pub packet: u64,
    /// The time of the packet.
    pub time: Time,
    /// Where the first of them lies in the capture.
    pub place: Place,
    /// The number of the TLS record that they were in, from 1 in its direction; 0 where they were in none.
    pub tls_record: u32,
}

impl Piece {
    pub(super) fn new(origin: Origin, length: usize) -> Self {
        let Origin { packet, time, offset, place, record } = origin;
        Self { start: offset, end: offset + length as u64, packet, time, place, tls_record: record }
    }

    /// Where its bytes came from.
    pub(super) fn origin(self) -> Origin {
        let Self { start, packet, time, place, tls_record, .. } = self;
        Origin { packet, time, offset: start, place, record: tls_record }
    }

    /// The part of it that lies between two places in the stream.
    fn within(self, start: u64, end: u64) -> Self {
        let (start, end) = (self.start.max(start), self.end.min(end));
        Self { start, end, place: self.place.after(start - self.start), ..self }
    }
}

/// Where the bytes of a message came from. Kept to be used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    /// The message's bytes, in their order.
    pub(super) pieces: Vec<Piece>,
    /// The packets that brought them, in order of their numbers.
    pub(super) packets: Vec<u64>,
}

impl Framer {
    /// Says where the bytes from `start` to `end` came from, as far as they are there, and gives the time of the latest
    /// packet.
    pub(super) fn origins(&self, start: u64, end: u64, origins: &mut Origins) -> Time {
        let Origins { pieces, packets } = origins;
        pieces.clear();
        packets.clear();
        let first = self.pieces.partition_point(|piece| piece.end <= start);
        let mut time = None;
        for piece in self.pieces.iter().skip(first).take_while(|piece| piece.start < end) {
            pieces.push(piece.within(start, end));
            packets.push(piece.packet);
            time = time.max(Some(piece.time));
        }
        packets.sort_unstable();
        packets.dedup();
        time.unwrap_or_default()
    }

    /// Whether a packet's bytes begin at a place in the stream.
    pub(super) fn is_piece_start(&self, at: u64) -> bool {
        self.pieces.binary_search_by_key(&at, |piece| piece.start).is_ok()
    }

    /// Notes where the bytes that are looked at next come from.
    pub(super) fn push(&mut self, piece: Piece, spare: &mut Pool<Vec<Piece>>) {
        if self.pieces.capacity() == 0 {
            self.pieces = spare.take();
        }
        self.pieces.push(piece);
    }

    /// Forgets the pieces that lie before a place in the stream and are of no frame that is still to be told.
    pub(super) fn forget_before(&mut self, at: u64, spare: &mut Pool<Vec<Piece>>) {
        let at = self.cut.as_ref().map_or(at, |cut| cut.start.min(at));
        let done = self.pieces.partition_point(|piece| piece.end <= at);
        self.pieces.drain(..done);
        if self.pieces.is_empty() {
            // Most connections have nothing to say most of the time.
            spare.give(std::mem::take(&mut self.pieces));
        }
    }
}
