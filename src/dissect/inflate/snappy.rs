//! Snappy: blocks, and the framing that Java puts around them.

use super::{InflateError, keep_to, repeat};

/// Java's framing (`SnappyOutputStream`, by xerial): a magic, two versions, then blocks behind their length. librdkafka
/// and others write one raw block.
pub(super) fn inflate(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    const XERIAL: &[u8] = b"\x82SNAPPY\0";
    const VERSIONS: usize = 8;
    let Some(framed) = input.strip_prefix(XERIAL) else { return block(input, limit, out) };
    let mut rest = framed.get(VERSIONS..).ok_or(InflateError::Damaged)?;
    while !rest.is_empty() {
        // Streams that were written one behind the other have the magic again.
        if let Some(again) = rest.strip_prefix(XERIAL) {
            rest = again.get(VERSIONS..).ok_or(InflateError::Damaged)?;
            continue;
        }
        let (length, blocks) = rest.split_first_chunk().ok_or(InflateError::Damaged)?;
        let length = u32::from_be_bytes(*length) as usize;
        let Some((chunk, behind)) = blocks.split_at_checked(length) else {
            block(blocks, limit, out)?;
            return Err(InflateError::Damaged);
        };
        if length > 0 {
            block(chunk, limit, out)?;
        }
        rest = behind;
    }
    Ok(())
}

fn block(block: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    let filled = out.len();
    let length = snap::raw::decompress_len(block).unwrap_or(usize::MAX);
    // The format cannot say more than 64 bytes in 3: a length beyond that is a lie, and nothing is reserved for it.
    if length <= block.len().saturating_mul(64) && length <= limit - filled {
        out.resize(filled + length, 0);
        let room = out.get_mut(filled..).unwrap_or_default();
        if snap::raw::Decoder::new().decompress(block, room).is_ok() {
            return Ok(());
        }
        out.truncate(filled);
    }
    elements(block, limit, out)
}

/// The elements of a block, one by one: slower, but up to the one that is damaged or beyond the limit.
fn elements(block: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    let start = out.len();
    // The length in front is a varint.
    let preamble = block.iter().take(5).position(|byte| *byte < 0x80).ok_or(InflateError::Damaged)? + 1;
    let mut rest = block.get(preamble..).unwrap_or_default();
    while let Some((&tag, behind)) = rest.split_first() {
        let number = |count| little_endian(behind, count).ok_or(InflateError::Damaged);
        let bits = usize::from(tag >> 2);
        let (extra, length, distance) = match tag & 3 {
            0 if bits < 60 => (0, bits + 1, None),
            0 => (bits - 59, number(bits - 59)? + 1, None),
            1 => (1, 4 + (bits & 7), Some(usize::from(tag >> 5) << 8 | number(1)?)),
            2 => (2, bits + 1, Some(number(2)?)),
            _ => (4, bits + 1, Some(number(4)?)),
        };
        rest = behind.get(extra..).unwrap_or_default();
        if let Some(distance) = distance {
            if distance == 0 || distance > out.len() - start {
                return Err(InflateError::Damaged);
            }
            repeat(distance, length, out);
        } else {
            let (literal, behind) = rest.split_at(length.min(rest.len()));
            out.extend_from_slice(literal);
            rest = behind;
            keep_to(limit, out)?;
            if literal.len() < length {
                return Err(InflateError::Damaged);
            }
        }
        keep_to(limit, out)?;
    }
    let said = snap::raw::decompress_len(block);
    if said.is_ok_and(|said| said == out.len() - start) { Ok(()) } else { Err(InflateError::Damaged) }
}

/// A number of up to four bytes.
fn little_endian(bytes: &[u8], count: usize) -> Option<usize> {
    let bytes = bytes.get(..count)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
