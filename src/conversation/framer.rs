//! One stream: the bytes of a frame that is not whole yet, and where they came from.

use crate::capture::Time;
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

/// Bytes that came with one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    start: u64,
    end: u64,
    packet: u64,
    pub(super) time: Time,
}

impl Piece {
    pub(super) fn new(origin: Origin, length: usize) -> Self {
        let (start, end) = (origin.offset, origin.offset + length as u64);
        Self { start, end, packet: origin.packet, time: origin.time }
    }
}

impl Framer {
    /// Puts the packets that brought the bytes from `start` to `end` into `packets`, in order of their numbers, and
    /// gives the time of the latest.
    pub(super) fn origins(&self, start: u64, end: u64, packets: &mut Vec<u64>) -> Time {
        packets.clear();
        let first = self.pieces.partition_point(|piece| piece.end <= start);
        let mut time = None;
        for piece in self.pieces.iter().skip(first).take_while(|piece| piece.start < end) {
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

    /// Forgets the pieces that lie before a place in the stream and are of no frame that is still to be told.
    pub(super) fn forget_before(&mut self, at: u64) {
        let at = self.cut.as_ref().map_or(at, |cut| cut.start.min(at));
        let done = self.pieces.partition_point(|piece| piece.end <= at);
        self.pieces.drain(..done);
    }
}
