//! The input of every parser: a slice and where it lies in its buffer.

use std::iter::{Copied, Enumerate};
use std::slice::Iter;

use nom::{Input, Needed};

/// A slice of a buffer that knows the absolute offset of its first byte in that buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes<'a> {
    bytes: &'a [u8],
    offset: u32,
}

impl<'a> Bytes<'a> {
    /// A whole buffer: offset 0. Buffers are frames, so they are shorter than 4 GiB.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// A part of a buffer that starts at `offset`.
    pub fn at(bytes: &'a [u8], offset: u32) -> Self {
        Self { bytes, offset }
    }

    /// Absolute offset of the first byte.
    #[inline]
    pub fn offset(self) -> u32 {
        self.offset
    }

    /// Number of bytes left.
    #[inline]
    pub fn len(self) -> usize {
        self.bytes.len()
    }

    /// Whether no byte is left.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes themselves.
    #[inline]
    pub fn as_slice(self) -> &'a [u8] {
        self.bytes
    }

    /// The first `count` bytes (all, when there are fewer) and what is behind them.
    #[inline]
    pub fn split(self, count: usize) -> (Self, Self) {
        let (first, rest) = self.bytes.split_at(count.min(self.bytes.len()));
        (Self { bytes: first, offset: self.offset }, Self { bytes: rest, offset: self.offset + first.len() as u32 })
    }
}

impl<'a> Input for Bytes<'a> {
    type Item = u8;
    type Iter = Copied<Iter<'a, u8>>;
    type IterIndices = Enumerate<Self::Iter>;

    #[inline]
    fn input_len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn take(&self, index: usize) -> Self {
        self.split(index).0
    }

    #[inline]
    fn take_from(&self, index: usize) -> Self {
        self.split(index).1
    }

    #[inline]
    fn take_split(&self, index: usize) -> (Self, Self) {
        let (first, rest) = self.split(index);
        (rest, first)
    }

    fn position<P: Fn(u8) -> bool>(&self, predicate: P) -> Option<usize> {
        self.bytes.iter().position(|&byte| predicate(byte))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.bytes.iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        if self.bytes.len() >= count { Ok(count) } else { Err(Needed::new(count - self.bytes.len())) }
    }
}
