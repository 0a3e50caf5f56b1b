//! The codecs of record batches, up to a limit. What could be inflated before the end of good bytes is kept.

mod lz4;
mod snappy;

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective};

/// A codec, by its number in a batch's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Codec(pub u8);

impl Codec {
    /// Not compressed.
    pub const NONE: Self = Self(0);

    /// The codec in the attributes of a batch or message.
    pub(super) fn of(attributes: i16) -> Self {
        Self((attributes & 0x7).to_be_bytes()[1])
    }

    /// Whether some release knows it.
    pub(super) fn is_known(self) -> bool {
        self.0 <= 4
    }

    /// The name that Kafka's configurations use.
    pub fn name(self) -> &'static str {
        match self.0 {
            0 => "none",
            1 => "gzip",
            2 => "snappy",
            3 => "lz4",
            4 => "zstd",
            _ => "unknown",
        }
    }
}

/// Why compressed bytes were not inflated to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InflateError {
    /// No release knows the codec.
    UnknownCodec,
    /// The stream is damaged or cut.
    Damaged,
    /// They would go on beyond so many bytes.
    Limit(u32),
}

/// Appends what `input` inflates to, until `out` holds `limit` bytes. `magic` is the format of the batch, as old clients
/// write lz4 in a way of their own.
pub(super) fn inflate(
    codec: Codec,
    magic: u8,
    input: &[u8],
    limit: u32,
    out: &mut Vec<u8>,
) -> Result<(), InflateError> {
    let most = limit as usize;
    match codec.0 {
        1..=4 if most == 0 => Err(InflateError::Limit(limit)),
        1 => gzip(input, most, out),
        2 => snappy::inflate(input, most, out),
        3 => lz4::inflate(input, magic, most, out),
        4 => zstd(input, most, out),
        _ => Err(InflateError::UnknownCodec),
    }
}

/// Takes back what went beyond the limit.
fn keep_to(limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    if out.len() <= limit {
        return Ok(());
    }
    out.truncate(limit);
    Err(InflateError::Limit(limit as u32))
}

/// Appends bytes that stand `distance` before the end. They may run into themselves: a distance of 1 repeats a byte.
fn repeat(distance: usize, length: usize, out: &mut Vec<u8>) {
    let start = out.len() - distance;
    let mut left = length;
    while left > 0 {
        // What was appended so far repeats the same bytes, so it can be copied, too.
        let count = left.min(out.len() - start);
        out.extend_from_within(start..start + count);
        left -= count;
    }
}

/// Members one behind the other (RFC 1952).
fn gzip(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    const WINDOW_BITS: u8 = 15;
    const STEP: usize = 64 << 10;
    let mut rest = input;
    let mut stream = Decompress::new_gzip(WINDOW_BITS);
    let mut totals = (0, 0);
    loop {
        let filled = out.len();
        // A byte beyond the limit tells that there are more.
        let room = STEP.max(filled).min(limit + 1 - filled);
        out.resize(filled + room, 0);
        let result = stream.decompress(rest, out.get_mut(filled..).unwrap_or_default(), FlushDecompress::None);
        let (taken, given) = (stream.total_in() - totals.0, stream.total_out() - totals.1);
        totals = (stream.total_in(), stream.total_out());
        out.truncate(filled + given as usize);
        rest = rest.get(taken as usize..).unwrap_or_default();
        keep_to(limit, out)?;
        match result {
            Ok(Status::StreamEnd) if rest.is_empty() => return Ok(()),
            Ok(Status::StreamEnd) => {
                stream = Decompress::new_gzip(WINDOW_BITS);
                totals = (0, 0);
            }
            Ok(_) if taken + given > 0 => {}
            _ => return Err(InflateError::Damaged),
        }
    }
}

thread_local! {
    /// A context takes longer to make than a small batch takes to inflate.
    static ZSTD: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Frames one behind the other (RFC 8878). Windows may have up to 128 MiB, as with Kafka; memory is taken as they fill.
fn zstd(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    ZSTD.with_borrow_mut(|context| {
        if context.is_none() {
            *context = DCtx::try_create();
        }
        let context = context.as_mut().ok_or(InflateError::Damaged)?;
        context.reset(ResetDirective::SessionOnly).map_err(|_| InflateError::Damaged)?;
        zstd_frames(context, input, limit, out)
    })
}

/// A block at a time, because what a call has inflated before it meets damage is lost.
fn zstd_frames(context: &mut DCtx<'static>, input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    /// The most that a block inflates to.
    const BLOCK: usize = 128 << 10;
    /// The magic and the first byte of the header, which tells how long the header is.
    const HEADER: usize = 5;
    let mut rest = input;
    let mut wanted = HEADER;
    loop {
        let block = rest.get(..wanted).unwrap_or(rest);
        out.reserve(BLOCK);
        let filled = out.len();
        let mut source = InBuffer::around(block);
        let mut target = OutBuffer::around_pos(out, filled);
        let next = context.decompress_stream(&mut target, &mut source).map_err(|_| InflateError::Damaged)?;
        let taken = source.pos();
        keep_to(limit, out)?;
        rest = rest.get(taken..).unwrap_or_default();
        match next {
            0 if rest.is_empty() => return Ok(()),
            0 => wanted = HEADER,
            // The stream is cut: it wants more, and there is no more.
            _ if taken == 0 && out.len() == filled => return Err(InflateError::Damaged),
            _ => wanted = next,
        }
    }
}

#[cfg(test)]
mod tests;
