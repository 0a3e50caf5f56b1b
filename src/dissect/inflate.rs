//! The codecs of record batches, up to a limit. What could be inflated before the end of good bytes is kept.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;
use twox_hash::XxHash32;

/// A codec, by its number in a batch's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codec(pub u8);

impl Codec {
    /// Not compressed.
    pub const NONE: Self = Self(0);

    /// The codec in the attributes of a batch or message.
    pub(super) fn of(attributes: i16) -> Self {
        Self((attributes & 0x7).to_be_bytes()[1])
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

/// Bytes that may always be inflated, whatever the ratio.
const ALWAYS: usize = 4 << 20;
/// The ratio beyond which bytes are not inflated further.
const RATIO: usize = 100;

/// Appends what `input` inflates to. `magic` is the format of the batch, as old clients write lz4 in a way of their own.
pub(super) fn inflate(
    codec: Codec,
    magic: u8,
    input: &[u8],
    limit: u32,
    out: &mut Vec<u8>,
) -> Result<(), InflateError> {
    let limit = (limit as usize).min(ALWAYS.max(input.len().saturating_mul(RATIO)));
    match codec.0 {
        1 => read(flate2::bufread::MultiGzDecoder::new(input), limit, out),
        2 => snappy(input, limit, out),
        3 => lz4(input, magic, limit, out),
        4 => zstd(input, limit, out),
        _ => Err(InflateError::UnknownCodec),
    }
}

/// Reads to the end, but not beyond the limit.
fn read(mut reader: impl Read, limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    const STEP: usize = 64 << 10;
    loop {
        let filled = out.len();
        let room = (limit + 1).saturating_sub(filled).min(STEP.max(filled));
        if room == 0 {
            out.truncate(limit);
            return Err(InflateError::Limit(limit as u32));
        }
        out.resize(filled + room, 0);
        let result = reader.read(out.get_mut(filled..).unwrap_or_default());
        out.truncate(filled + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(InflateError::Damaged),
        }
    }
}

/// Java's framing (`SnappyOutputStream`, by xerial): a magic, two versions, then blocks behind their length. librdkafka
/// and others write one raw block.
fn snappy(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    const XERIAL: &[u8] = b"\x82SNAPPY\0";
    const VERSIONS: usize = 8;
    let Some(framed) = input.strip_prefix(XERIAL) else { return snappy_block(input, limit, out) };
    let mut rest = framed.get(VERSIONS..).ok_or(InflateError::Damaged)?;
    while !rest.is_empty() {
        // Streams that were written one behind the other have the magic again.
        if let Some(again) = rest.strip_prefix(XERIAL) {
            rest = again.get(VERSIONS..).ok_or(InflateError::Damaged)?;
            continue;
        }
        let (length, blocks) = rest.split_first_chunk().ok_or(InflateError::Damaged)?;
        let length = u32::from_be_bytes(*length) as usize;
        let block = blocks.get(..length).ok_or(InflateError::Damaged)?;
        if length > 0 {
            snappy_block(block, limit, out)?;
        }
        rest = blocks.get(length..).unwrap_or_default();
    }
    Ok(())
}

fn snappy_block(block: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    let length = snap::raw::decompress_len(block).map_err(|_| InflateError::Damaged)?;
    // The format cannot say more than 64 bytes in 3: a length beyond that is a lie, and nothing is reserved for it.
    if length > block.len().saturating_mul(64) {
        return Err(InflateError::Damaged);
    }
    let filled = out.len();
    if filled + length > limit {
        return Err(InflateError::Limit(limit as u32));
    }
    out.resize(filled + length, 0);
    let room = out.get_mut(filled..).unwrap_or_default();
    let result = snap::raw::Decoder::new().decompress(block, room);
    out.truncate(filled + *result.as_ref().unwrap_or(&0));
    result.map(drop).map_err(|_| InflateError::Damaged)
}

/// Frames one behind the other. With formats 0 and 1 the checksum of a frame's header was computed over its magic, too
/// (KIP-57); it is put right before the frame is read.
fn lz4(input: &[u8], magic: u8, limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    let mut mended;
    let mut rest = input;
    if magic < 2
        && let Some(at) = wrong_checksum(input)
    {
        mended = input.to_vec();
        if let Some(checksum) = mended.get_mut(at) {
            *checksum = header_checksum(input.get(4..at).unwrap_or_default());
        }
        rest = &mended;
    }
    while !rest.is_empty() {
        let mut decoder = FrameDecoder::new(rest);
        let result = read(&mut decoder, limit, out);
        let left = decoder.get_ref().len();
        result?;
        if left == rest.len() {
            return Err(InflateError::Damaged);
        }
        rest = rest.get(rest.len() - left..).unwrap_or_default();
    }
    Ok(())
}

/// Where the checksum of an lz4 frame's header stands, if it is not what the specification says.
fn wrong_checksum(frame: &[u8]) -> Option<usize> {
    const CONTENT_SIZE: u8 = 1 << 3;
    const DICTIONARY: u8 = 1;
    let flags = *frame.get(4)?;
    let sizes = if flags & CONTENT_SIZE != 0 { 8 } else { 0 } + if flags & DICTIONARY != 0 { 4 } else { 0 };
    let at = 6 + sizes;
    let stored = *frame.get(at)?;
    (stored != header_checksum(frame.get(4..at)?)).then_some(at)
}

fn header_checksum(descriptor: &[u8]) -> u8 {
    (XxHash32::oneshot(0, descriptor) >> 8) as u8
}

/// Frames one behind the other.
fn zstd(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    /// 128 MiB; Kafka's writers stay below 8 MiB.
    const WINDOW_LOG_MAX: u32 = 27;
    let mut decoder = zstd::Decoder::with_buffer(input).map_err(|_| InflateError::Damaged)?;
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(|_| InflateError::Damaged)?;
    read(decoder, limit, out)
}

#[cfg(test)]
mod tests;
