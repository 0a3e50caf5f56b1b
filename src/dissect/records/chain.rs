//! The chain of batches: what stands next, told by the few bytes that all formats have in the same place.

/// Bytes from a batch's beginning up to and with its length.
pub(in crate::dissect) const PREFIX: usize = 12;
/// Where the magic stands, in all formats.
pub(in crate::dissect) const MAGIC: usize = 16;
/// Where what the checksum of format 2 covers begins.
pub(in crate::dissect) const ATTRIBUTES: usize = 21;
/// Bytes of a batch of format 2 without records.
pub(in crate::dissect) const BATCH: usize = 61;
/// Least sizes of messages of format 0 and 1: 14 and 22 bytes behind the size.
const MESSAGE_0: usize = 26;
const MESSAGE_1: usize = 34;

/// What stands next in a chain of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dissect) enum Next {
    /// A whole batch, or message of the old formats: its format and its bytes.
    Whole { magic: u8, total: usize },
    /// The beginning of one, or nothing.
    Partial,
    /// A format that no release knows.
    Magic(u8),
    /// A length that is less than any batch of its format has; the least that can be.
    Length { length: i32, least: u32 },
}

/// Looks at what stands first.
pub(in crate::dissect) fn next(bytes: &[u8]) -> Next {
    let (Some(&magic), Some(length)) = (bytes.get(MAGIC), number(bytes, 8).map(i32::from_be_bytes)) else {
        return Next::Partial;
    };
    let Some(&least) = [MESSAGE_0, MESSAGE_1, BATCH].get(usize::from(magic)) else { return Next::Magic(magic) };
    let total = usize::try_from(length).map_or(0, |length| length + PREFIX);
    if total < least {
        return Next::Length { length, least: (least - PREFIX) as u32 };
    }
    if total > bytes.len() { Next::Partial } else { Next::Whole { magic, total } }
}

/// `N` bytes at a place.
pub(in crate::dissect) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied()
}
