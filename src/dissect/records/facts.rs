//! What is known of a batch before its fields are walked.

use super::Compression;
use super::chain::{ATTRIBUTES, MAGIC, Next, PREFIX, next, number};
use crate::dissect::Codec;
use crate::wire::Bytes;

/// What is known of a batch, or of a message of the old formats, before its fields are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchFacts {
    /// The format: 0, 1 or 2.
    pub magic: u8,
    /// Whether the checksum is right.
    pub crc_valid: bool,
    /// Codec and flags.
    pub attributes: i16,
    /// The offset that deltas count from; of an old message, its own.
    pub base_offset: i64,
    /// The timestamp that deltas count from; of an old message, its own, or -1.
    pub base_timestamp: i64,
    /// The latest timestamp, or when the broker appended the batch.
    pub max_timestamp: i64,
}

impl BatchFacts {
    /// Reads a whole batch or message and checks its checksum; `None` where the bytes end before its header does, or its
    /// format is not known.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let facts = Self::peek(bytes)?;
        let stored = number(bytes, if facts.magic == 2 { 17 } else { PREFIX }).map(u32::from_be_bytes)?;
        Some(Self { crc_valid: stored == checksum(bytes, facts.magic), ..facts })
    }

    /// The same without the checksum, which is taken for wrong.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        let magic = *bytes.get(MAGIC)?;
        let int64 = |at| number(bytes, at).map(i64::from_be_bytes);
        let base_offset = int64(0)?;
        if magic == 2 {
            return Some(Self {
                magic,
                crc_valid: false,
                attributes: number(bytes, ATTRIBUTES).map(i16::from_be_bytes)?,
                base_offset,
                base_timestamp: int64(27)?,
                max_timestamp: int64(35)?,
            });
        }
        let timestamp = if magic == 1 { int64(18)? } else { -1 };
        Some(Self {
            magic,
            crc_valid: false,
            attributes: (*bytes.get(MAGIC + 1)?).into(),
            base_offset,
            base_timestamp: timestamp,
            max_timestamp: timestamp,
        })
    }

    /// Whether bytes begin with a whole batch, by its checksum.
    pub(super) fn starts_whole(self, bytes: Bytes<'_>) -> bool {
        let Next::Whole { total, .. } = next(bytes.as_slice()) else { return false };
        let whole = bytes.as_slice().get(..total).and_then(Self::read);
        whole.is_some_and(|facts| facts.magic == self.magic && facts.crc_valid)
    }

    /// Codec and flags in words.
    pub fn flags(self) -> String {
        let time = if self.is_log_append_time() { "LogAppendTime" } else { "CreateTime" };
        let flags = [
            (true, self.codec().name()),
            (self.magic > 0, time),
            (self.is_transactional(), "transactional"),
            (self.is_control(), "control"),
            (self.delete_horizon().is_some(), "delete horizon"),
        ];
        let words: Vec<&str> = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word).collect();
        words.join(", ")
    }

    /// The codec.
    pub fn codec(self) -> Codec {
        Codec::of(self.attributes)
    }

    pub(super) fn compression(self) -> Compression {
        Compression { codec: self.codec(), magic: self.magic }
    }

    /// Whether timestamps are those of the broker.
    pub fn is_log_append_time(self) -> bool {
        self.attributes & 0x8 != 0
    }

    /// When the batch's tombstones may be removed, in milliseconds, where its base timestamp says that (KIP-534).
    pub fn delete_horizon(self) -> Option<i64> {
        (self.magic >= 2 && self.attributes & 0x40 != 0).then_some(self.base_timestamp)
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(self) -> bool {
        self.magic >= 2 && self.attributes & 0x10 != 0
    }

    /// Whether its records are markers of brokers, not data.
    pub fn is_control(self) -> bool {
        self.magic >= 2 && self.attributes & 0x20 != 0
    }
}

/// The checksum of a batch or message: CRC-32C from the attributes on, in the old formats CRC-32 from the magic on.
pub(super) fn checksum(bytes: &[u8], magic: u8) -> u32 {
    if magic >= 2 {
        return crc32c::crc32c(bytes.get(ATTRIBUTES..).unwrap_or_default());
    }
    crc32fast::hash(bytes.get(MAGIC..).unwrap_or_default())
}
