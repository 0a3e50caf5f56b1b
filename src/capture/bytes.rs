//! Fixed-width integers in the byte order of a file.

/// The byte order of a capture file, or of one of its sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        self.i64(bytes).cast_unsigned()
    }

    pub(super) fn i64(self, bytes: [u8; 8]) -> i64 {
        match self {
            Self::Little => i64::from_le_bytes(bytes),
            Self::Big => i64::from_be_bytes(bytes),
        }
    }

    /// The first `N` words of four bytes, or None when there are not as many.
    pub(super) fn words<const N: usize>(self, bytes: &[u8]) -> Option<[u32; N]> {
        #[cfg(test)]
        super::effort::add(1);
        let (words, _) = bytes.as_chunks::<4>();
        Some(words.first_chunk::<N>()?.map(|word| self.u32(word)))
    }
}

/// `length` rounded up to the multiple of four to which pcapng pads.
pub(super) fn padded(length: usize) -> usize {
    length.saturating_add(3) & !3
}
