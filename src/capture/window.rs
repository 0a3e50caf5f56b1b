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

    /// Goes on until something is found: `find` is given the bytes, how many of them are to be looked at with at least `enough`
    /// behind each, and whether the input ends with the bytes. False when it has ended.
    pub(super) fn find(
        &mut self,
        enough: usize,
        mut find: impl FnMut(&[u8], usize, bool) -> Option<usize>,
    ) -> io::Result<bool> {
        const STEP: usize = 128 * 1024;
        loop {
            let bytes = self.fill(STEP + enough)?;
            let is_end = bytes.len() < STEP + enough;
            let end = if is_end { bytes.len() } else { STEP };
            let found = find(bytes, end, is_end);
            self.consume(found.unwrap_or(end));
            if found.is_some() || is_end {
                return Ok(found.is_some());
            }
        }
    }

    #[cold]
    fn read_some(&mut self, wanted: usize) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // Doubling: a length that the input only claims must not reserve what the input does not have.
            let size = self.buffer.len().saturating_mul(2).min(wanted.max(USUAL_SIZE));
            self.buffer.resize(size, 0);
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
