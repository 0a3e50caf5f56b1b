//! The part of an input that is in memory.

use std::io::{self, Read};

/// Large enough that a read costs nothing beside what is done with the bytes, small enough for a cache.
const USUAL_SIZE: usize = 512 * 1024;

/// Bytes of a reader, from the first that is not done with.
pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
}

/// A part of an input in which something is looked for.
pub(super) struct Part<'b> {
    pub(super) bytes: &'b [u8],
    /// The place of the first in the input.
    pub(super) offset: u64,
    /// How many of them are to be looked at: behind each there is enough, or all that there is.
    pub(super) end: usize,
    /// Whether the input ends with the bytes.
    pub(super) is_end: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; USUAL_SIZE], start: 0, end: 0, offset: 0 }
    }

    /// The place of the window's first byte in the input.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that are there.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads until `count` bytes are there, and gives all that are: fewer only where the input ends.
    ///
    /// It never waits for more than was asked for, so that a live input is seen at once.
    pub(super) fn fill(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count {
            if self.read_some(count)? == 0 {
                break;
            }
        }
        Ok(self.bytes())
    }

    /// Takes `count` bytes off the window, or all there are.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Goes on until something is found, part by part. False when the input has ended.
    pub(super) fn find(&mut self, enough: usize, mut find: impl FnMut(&Part<'_>) -> Option<usize>) -> io::Result<bool> {
        const STEP: usize = 128 * 1024;
        loop {
            let offset = self.offset;
            let bytes = self.fill(STEP + enough)?;
            let is_end = bytes.len() < STEP + enough;
            // There may be far more, where a record claimed to be long.
            let bytes = bytes.get(..STEP + enough).unwrap_or(bytes);
            let end = if is_end { bytes.len() } else { STEP };
            let found = find(&Part { bytes, offset, end, is_end });
            self.consume(found.unwrap_or(end));
            if found.is_some() || is_end {
                return Ok(found.is_some());
            }
        }
    }

    #[cold]
    fn read_some(&mut self, wanted: usize) -> io::Result<usize> {
        if self.end == self.buffer.len() {
            let kept = self.end - self.start;
            // What is moved costs no more than four times what was consumed, even where little is consumed at a time.
            if self.start > kept / 4 {
                #[cfg(test)]
                super::effort::add(kept);
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, kept);
            } else {
                // Doubling: a length that the input only claims must not reserve what the input does not have.
                let most = wanted.saturating_add(wanted / 4).max(USUAL_SIZE);
                let size = self.buffer.len().saturating_mul(2).min(most);
                self.buffer.resize(size, 0);
            }
        }
        loop {
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(free) {
                Ok(count) => {
                    self.end = self.end.saturating_add(count).min(self.buffer.len());
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
