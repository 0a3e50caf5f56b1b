//! Several captures as one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::container::{Input as Bytes, unpacked};
use super::source::{Reread, Source, Spool, Spooled};
use super::{CaptureError, CaptureReader, Names, Packet, Place, Time};

#[cfg(test)]
mod tests;

/// Captures that are read as one: their packets in order of time, those of the same time in the order of the captures,
/// numbered through.
///
/// Packets say which capture they are from by the source of their [`Place`].
pub struct Captures {
    inputs: Vec<Input>,
    packets: u64,
    /// Bytes of all captures; None when one of them is no file, or is packed.
    length: Option<u64>,
    /// Set: files grow until this is true.
    growing: Option<Arc<AtomicBool>>,
    names: Names,
}

/// Whether places of packets are to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// They are not.
    No,
    /// They are: what comes from a pipe or out of a container is kept in a [`Spool`].
    Yes,
}

/// A capture and what is known of its next packet.
struct Input {
    reader: CaptureReader<Bytes>,
    next: Next,
    source: Source,
}

#[derive(Clone, Copy)]
enum Next {
    Unknown,
    At(Time),
    None,
}

/// Why a capture cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Two of the captures are to come from standard input.
    #[error("standard input (-) can be read only once")]
    StandardInput,
    /// More captures than can be told apart.
    #[error("more than {} captures", u16::MAX)]
    TooMany,
    /// The system does not open it.
    #[error("cannot open {name}")]
    File {
        /// Its name.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is no place for what comes from a pipe.
    #[error("cannot make a temporary file for {name}")]
    Spool {
        /// Its name.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is not a capture.
    #[error("{name}: {error}")]
    Capture {
        /// Its name.
        name: String,
        /// What it is.
        error: CaptureError,
    },
}

/// A capture that is damaged, or could not be read to its end.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {error}")]
pub struct Damage {
    /// The name of the capture.
    pub name: String,
    /// What is wrong with it.
    pub error: CaptureError,
}

impl Captures {
    /// No captures, which is to say no packets.
    pub fn new() -> Self {
        Self { inputs: Vec::new(), packets: 0, length: Some(0), growing: None, names: Names::default() }
    }

    /// The same for files that are still being written: at the end of one that is added, more is waited for until `stop` is
    /// set. A packet of which only a part has come by then is not there yet, and no damage.
    pub fn growing(stop: Arc<AtomicBool>) -> Self {
        Self { growing: Some(stop), ..Self::new() }
    }

    /// Opens captures by their paths; `-` is standard input. What is packed with gzip, zstd or lz4 is unpacked.
    ///
    /// # Errors
    /// When one of them cannot be opened or is not a capture.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, again: Again) -> Result<Self, OpenError> {
        let mut captures = Self::new();
        captures.add_all(paths, again)?;
        Ok(captures)
    }

    /// Adds captures as [`Captures::open`] opens them.
    ///
    /// # Errors
    /// The same.
    pub fn add_all<P: AsRef<Path>>(
        &mut self,
        paths: impl IntoIterator<Item = P>,
        again: Again,
    ) -> Result<(), OpenError> {
        let paths: Vec<P> = paths.into_iter().collect();
        let is_standard_input = |path: &&P| path.as_ref().as_os_str() == "-";
        if paths.iter().filter(is_standard_input).count() > 1 {
            return Err(OpenError::StandardInput);
        }
        for path in &paths {
            if is_standard_input(&path) {
                self.add_stream("-", io::stdin(), again)?;
            } else {
                self.add_file(path.as_ref(), again)?;
            }
        }
        Ok(())
    }

    /// Adds a capture by its path.
    ///
    /// # Errors
    /// When it cannot be opened or is not a capture.
    pub fn add_file(&mut self, path: &Path, again: Again) -> Result<(), OpenError> {
        let name = path.display().to_string();
        let open = || -> io::Result<_> {
            let file = File::open(path)?;
            let about = file.metadata()?;
            Ok((file, about))
        };
        let (file, about) = open().map_err(|source| OpenError::File { name: name.clone(), source })?;
        if !about.is_file() {
            return self.add_stream(&name, file, again);
        }
        let file = Arc::new(file);
        let reread = Reread::new(file.clone(), self.growing.clone());
        let (reader, was_packed) = open_containers(&name, Box::new(reread))?;
        if was_packed {
            return self.add_once(&name, reader, again);
        }
        self.length = self.length.filter(|_| self.growing.is_none()).map(|length| length.saturating_add(about.len()));
        self.add(Source::new(&name, Some(file)).watched(), reader)
    }

    /// Adds a capture that can be read only once and grows, as far as anyone knows.
    ///
    /// # Errors
    /// When it is not a capture, or there is no place to keep it.
    pub fn add_stream(
        &mut self,
        name: &str,
        reader: impl Read + Send + 'static,
        again: Again,
    ) -> Result<(), OpenError> {
        let (reader, _) = open_containers(name, Box::new(reader))?;
        self.add_once(name, reader, again)
    }

    /// Adds a capture whose bytes lie in no file as they are.
    fn add_once(&mut self, name: &str, reader: Bytes, again: Again) -> Result<(), OpenError> {
        self.length = None;
        match again {
            Again::No => self.add(Source::new(name, None), reader),
            Again::Yes => {
                let spool = Spool::new().map_err(|source| OpenError::Spool { name: name.to_owned(), source })?;
                self.add(spool.source(name), Box::new(Spooled::new(reader, spool)))
            }
        }
    }

    fn add(&mut self, source: Source, reader: Bytes) -> Result<(), OpenError> {
        if self.inputs.len() >= usize::from(u16::MAX) {
            return Err(OpenError::TooMany);
        }
        let reader =
            CaptureReader::new(reader).map_err(|error| OpenError::Capture { name: source.name().to_owned(), error })?;
        let reader = reader.with_names(self.names.clone(), source.name());
        self.inputs.push(Input { reader, next: Next::Unknown, source });
        Ok(())
    }

    /// What the captures call hosts and interfaces, as far as they have been read when it is asked.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Where the bytes of the captures can be read again, in the order in which places count them.
    pub fn sources(&self) -> Vec<Source> {
        self.inputs.iter().map(|input| input.source.clone()).collect()
    }

    /// The next packet of all, or None at the end.
    ///
    /// # Errors
    /// As [`CaptureReader::next`]. There may be more packets: ask again.
    #[allow(clippy::should_implement_trait, reason = "a packet borrows from the reader, which Iterator cannot say")]
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, Damage> {
        let Some((number, _)) = self.first()? else { return Ok(None) };
        let Some(input) = self.inputs.get_mut(number) else { return Ok(None) };
        input.next = Next::Unknown;
        match input.reader.next() {
            Ok(packet) => Ok(packet.map(|packet| {
                self.packets += 1;
                let place = Place { source: number as u16, ..packet.place };
                Packet { number: self.packets, place, ..packet }
            })),
            Err(error) => Err(Damage { name: input.source.name().to_owned(), error }),
        }
    }

    /// The time of the next packet, or None at the end.
    ///
    /// # Errors
    /// As [`Captures::next`].
    pub fn peek_time(&mut self) -> Result<Option<Time>, Damage> {
        Ok(self.first()?.map(|(_, time)| time))
    }

    /// Whether the next packet is surely there already, so that [`Captures::next`] will not wait for input.
    pub fn is_ready(&self) -> bool {
        self.inputs.iter().all(|input| !matches!(input.next, Next::Unknown) || input.reader.is_ready())
    }

    /// Packets that were dropped while they were captured, as far as the captures have said so far; see
    /// [`CaptureReader::drops`].
    pub fn drops(&self) -> u64 {
        self.inputs.iter().map(|input| input.reader.drops()).fold(0, u64::saturating_add)
    }

    /// The key logs behind the last packets of captures that are at their end.
    pub fn last_secrets(&self) -> impl Iterator<Item = &[u8]> {
        self.inputs.iter().map(|input| input.reader.last_secrets()).filter(|secrets| !secrets.is_empty())
    }

    /// Whether there may be key logs in a capture.
    pub fn may_have_secrets(&self) -> bool {
        self.inputs.iter().any(|input| input.reader.may_have_secrets())
    }

    /// Bytes of the captures that have been dealt with; of packed ones, of what was in them.
    pub fn offset(&self) -> u64 {
        self.inputs.iter().map(|input| input.reader.offset()).sum()
    }

    /// Bytes of all captures when they were opened; None when one of them is not a file, and so may grow, or is packed.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Which capture has the next packet, and its time.
    fn first(&mut self) -> Result<Option<(usize, Time)>, Damage> {
        let mut first: Option<(usize, Time)> = None;
        for (number, input) in self.inputs.iter_mut().enumerate() {
            if matches!(input.next, Next::Unknown) {
                let time = match input.reader.peek_time() {
                    Err(CaptureError::Cut { .. }) if self.growing.is_some() => None,
                    Err(error) => return Err(Damage { name: input.source.name().to_owned(), error }),
                    Ok(time) => time,
                };
                input.next = time.map_or(Next::None, Next::At);
            }
            if let Next::At(time) = input.next
                && first.is_none_or(|(_, earliest)| time < earliest)
            {
                first = Some((number, time));
            }
        }
        Ok(first)
    }
}

/// Takes the containers off a capture, and says whether it had any.
fn open_containers(name: &str, reader: Bytes) -> Result<(Bytes, bool), OpenError> {
    unpacked(reader).map_err(|source| {
        let error = CaptureError::Io { offset: 0, source };
        OpenError::Capture { name: name.to_owned(), error }
    })
}

impl Default for Captures {
    fn default() -> Self {
        Self::new()
    }
}
