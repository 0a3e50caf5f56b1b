//! Captures that are packed: gzip, zstd, lz4, told by their first bytes.
//!
//! All are read as streams, so one that inflates without end is a long capture and no more. References: RFC 1952 (gzip),
//! RFC 8878 (zstd), the LZ4 frame format of lz4.org.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use lz4_flex::frame::{Error as Lz4Error, FrameDecoder};

/// One format may be packed in another, once.
const DEEPEST: usize = 2;
/// What unpacks gives no more at once: of gzip, what is asked for is lost where the bytes become wrong on the way.
const AT_ONCE: usize = 2 * 1024;

/// So many bytes tell a container.
const LONGEST_MAGIC: usize = 4;
/// As many are taken at once to see them.
const PEEKED: usize = 64 * 1024;

/// An input, boxed: which layers it has is known only when it is read.
pub(super) type Input = Box<dyn Read + Send>;

/// How a capture is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Gzip,
    Zstd,
    Lz4,
}

impl Container {
    /// What begins with the bytes; None for all that is no container.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // Parallel compressors put a frame to be skipped in front, with the sizes of what follows. Both formats have
            // the same; it is more usual in this one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, rest @ ..] => match behind_skipped(rest).and_then(Self::of) {
                Some(Self::Lz4) => Some(Self::Lz4),
                _ => Some(Self::Zstd),
            },
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }

    fn unpacked(self, reader: Input) -> io::Result<Input> {
        let reader = BufReader::new(reader);
        let unpacked: Input = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(reader)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(reader)?),
            Self::Lz4 => Box::new(Lz4Frames(Some(FrameDecoder::new(Watched { reader, ended: false })))),
        };
        Ok(Box::new(Unpacked { container: self, reader: unpacked }))
    }
}

/// What is behind a frame to be skipped, from its length on, as far as it is there.
fn behind_skipped(rest: &[u8]) -> Option<&[u8]> {
    let (&length, data) = rest.split_first_chunk()?;
    data.get(u32::from_le_bytes(length) as usize..)
}

/// Takes all containers off an input, and says whether there was one.
///
/// # Errors
/// When the first bytes cannot be read.
pub(super) fn unpacked(reader: Input) -> io::Result<(Input, bool)> {
    let (mut reader, mut found) = (reader, false);
    for _ in 0..DEEPEST {
        let (start, whole) = peeked(reader)?;
        reader = whole;
        let Some(container) = Container::of(&start) else { break };
        found = true;
        reader = container.unpacked(reader)?;
    }
    Ok((reader, found))
}

/// The first bytes of an input, and the input with them.
fn peeked(mut reader: Input) -> io::Result<(Vec<u8>, Input)> {
    let (mut start, mut length) = (vec![0; PEEKED], 0);
    // It waits for no more than tells what it is, and takes what is there.
    while length < LONGEST_MAGIC {
        match reader.read(start.get_mut(length..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    start.truncate(length);
    let whole = Cursor::new(start.clone()).chain(reader);
    Ok((start, Box::new(whole)))
}

/// What a container gives. Its errors say which container is broken.
struct Unpacked {
    container: Container,
    reader: Input,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(AT_ONCE);
        let read = self.reader.read(buffer.get_mut(..length).unwrap_or_default());
        read.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => {
                let name = self.container.name();
                let what = if kind == io::ErrorKind::UnexpectedEof { "is cut short" } else { "is damaged" };
                io::Error::new(kind, format!("the {name} data {what} ({error})"))
            }
        })
    }
}

/// The frames of an lz4 file, one behind the other. Each has a decoder of its own, whose buffers fit its blocks; None
/// behind the last one.
struct Lz4Frames<R: BufRead>(Option<FrameDecoder<Watched<R>>>);

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            // The decoder gives nothing at the end of a frame, and where a frame lacks its end.
            let count = match decoder.read(buffer) {
                Ok(count) => count,
                Err(error) => {
                    let skipped = error.get_ref().and_then(|error| error.downcast_ref());
                    let Some(&Lz4Error::SkippableFrame(length)) = skipped else { return Err(error) };
                    // The decoder has taken the eight bytes in front of them.
                    let length = u64::from(length);
                    if io::copy(&mut decoder.get_mut().take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    0
                }
            };
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let watched = decoder.get_mut();
            if watched.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let is_last = watched.reader.fill_buf()?.is_empty();
            self.0 = self.0.take().filter(|_| !is_last).map(|decoder| FrameDecoder::new(decoder.into_inner()));
        }
        Ok(0)
    }
}

/// An input that remembers whether more was wanted of it than there is.
struct Watched<R> {
    reader: R,
    ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
