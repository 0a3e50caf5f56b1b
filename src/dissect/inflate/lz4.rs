//! LZ4 frames: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>.

use twox_hash::XxHash32;

use super::{InflateError, keep_to, repeat};

const MAGIC: u32 = 0x184d_2204;
/// Frames of other data, which readers skip, have one of 16 magics.
const SKIPPABLE: u32 = 0x184d_2a50;

/// Frames one behind the other. In formats 0 and 1 the checksum of a frame's header may be wrong, because old clients
/// computed it over the magic, too (KIP-57); it is not looked at.
pub(super) fn inflate(input: &[u8], magic: u8, limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    let mut input = Input(input);
    while !input.0.is_empty() {
        match input.number()? {
            MAGIC => frame(&mut input, magic >= 2, limit, out)?,
            skippable if skippable & !0xf == SKIPPABLE => {
                let length = input.number()?;
                input.take(length as usize)?;
            }
            _ => return Err(InflateError::Damaged),
        }
    }
    Ok(())
}

fn frame(input: &mut Input<'_>, check_header: bool, limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    const NOT_COMPRESSED: u32 = 1 << 31;
    let header = Header::read(input, check_header)?;
    let start = out.len();
    loop {
        let size = input.number()?;
        if size == 0 {
            break;
        }
        let length = (size & !NOT_COMPRESSED) as usize;
        let (bytes, is_whole) = input.up_to(length);
        let block_start = out.len();
        if size & NOT_COMPRESSED == 0 {
            let dictionary = if header.linked { start } else { block_start };
            block(bytes, header.block_size, dictionary, limit, out)?;
        } else {
            out.extend_from_slice(bytes);
            keep_to(limit, out)?;
        }
        if !is_whole || length > header.block_size || out.len() - block_start > header.block_size {
            return Err(InflateError::Damaged);
        }
        if header.block_checksums && input.number()? != hash(bytes) {
            return Err(InflateError::Damaged);
        }
    }
    let content = out.get(start..).unwrap_or_default();
    let is_right_size = header.content_size.is_none_or(|size| size == content.len() as u64);
    let is_right = !header.content_checksum || input.number()? == hash(content);
    if is_right && is_right_size { Ok(()) } else { Err(InflateError::Damaged) }
}

/// What a frame says of its blocks.
struct Header {
    /// Whether blocks refer to those before them.
    linked: bool,
    block_checksums: bool,
    content_checksum: bool,
    content_size: Option<u64>,
    /// The most that a block inflates to.
    block_size: usize,
}

impl Header {
    fn read(input: &mut Input<'_>, check: bool) -> Result<Self, InflateError> {
        let descriptor = input.0;
        let [flags, sizes] = input.array()?;
        let content_size = if flags & 0x8 != 0 { Some(u64::from_le_bytes(input.array()?)) } else { None };
        // Version 1, no dictionary, and a block size from 64 KiB to 4 MiB.
        let size = sizes >> 4 & 7;
        if flags >> 6 != 1 || flags & 1 != 0 || size < 4 {
            return Err(InflateError::Damaged);
        }
        let descriptor = descriptor.get(..descriptor.len() - input.0.len()).unwrap_or_default();
        let [checksum] = input.array()?;
        if check && u32::from(checksum) != hash(descriptor) >> 8 & 0xff {
            return Err(InflateError::Damaged);
        }
        Ok(Self {
            linked: flags & 0x20 == 0,
            block_checksums: flags & 0x10 != 0,
            content_checksum: flags & 0x4 != 0,
            content_size,
            block_size: 1 << (8 + 2 * size),
        })
    }
}

/// Inflates a block behind what is there; it may refer to bytes from `dictionary` on.
fn block(
    block: &[u8],
    block_size: usize,
    dictionary: usize,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<(), InflateError> {
    let filled = out.len();
    // No byte of a block stands for more than 255, so nothing is reserved that cannot be filled.
    let room = block_size.min(block.len().saturating_mul(255)).min(limit - filled);
    out.resize(filled + room, 0);
    let (before, target) = out.split_at_mut(filled);
    let before = before.get(dictionary..).unwrap_or_default();
    if let Ok(length) = lz4_flex::block::decompress_into_with_dict(block, target, before) {
        out.truncate(filled + length);
        return Ok(());
    }
    out.truncate(filled);
    sequences(block, filled + block_size, dictionary, limit, out)
}

/// The sequences of a block, one by one: slower, but up to the one that is damaged or beyond the limit.
fn sequences(block: &[u8], end: usize, dictionary: usize, limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
    let mut input = Input(block);
    loop {
        let [token] = input.array()?;
        let length = input.length(token >> 4)?;
        let (literal, is_whole) = input.up_to(length);
        out.extend_from_slice(literal);
        keep_to(limit, out)?;
        if !is_whole {
            return Err(InflateError::Damaged);
        }
        // The last sequence is a literal alone.
        if input.0.is_empty() {
            return Ok(());
        }
        let distance = usize::from(u16::from_le_bytes(input.array()?));
        let length = input.length(token & 0xf)? + 4;
        if distance == 0 || distance > out.len() - dictionary {
            return Err(InflateError::Damaged);
        }
        let room = end.min(limit).saturating_sub(out.len());
        repeat(distance, length.min(room + 1), out);
        keep_to(limit, out)?;
        if out.len() > end {
            out.truncate(end);
            return Err(InflateError::Damaged);
        }
    }
}

/// Bytes that are read from the front.
struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], InflateError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(InflateError::Damaged)?;
        self.0 = rest;
        Ok(*array)
    }

    fn number(&mut self) -> Result<u32, InflateError> {
        self.array().map(u32::from_le_bytes)
    }

    /// As many bytes as there are of so many, and whether those are all.
    fn up_to(&mut self, count: usize) -> (&'b [u8], bool) {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        (bytes, bytes.len() == count)
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], InflateError> {
        match self.up_to(count) {
            (bytes, true) => Ok(bytes),
            (_, false) => Err(InflateError::Damaged),
        }
    }

    /// A length of four bits that goes on in the next bytes when all bits are set.
    fn length(&mut self, bits: u8) -> Result<usize, InflateError> {
        let mut length = usize::from(bits);
        if bits == 0xf {
            loop {
                let [more] = self.array()?;
                length += usize::from(more);
                if more != 0xff {
                    break;
                }
            }
        }
        Ok(length)
    }
}

fn hash(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}
