//! Inputs whose bytes can be read again.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// An input that can be read at any place, by several threads at once.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    /// None where the bytes are gone once they are read.
    file: Option<Arc<File>>,
    /// Of files that others may write to.
    watch: Option<Arc<Watch>>,
}

/// How a file was when it was looked at last.
#[derive(Debug)]
struct Watch {
    last: Mutex<(u64, SystemTime)>,
    has_changed: AtomicBool,
    is_told: AtomicBool,
}

impl Watch {
    /// Looks at the file again. One that has only grown is being written, and what was there is there.
    fn look(&self, file: &File) {
        if self.has_changed.load(Ordering::Relaxed) {
            return;
        }
        // The lock first: what was seen earlier must not be held against what was seen later.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that cannot be looked at cannot be read, which is told.
        let Ok(now) = state(file) else { return };
        if now.0 > last.0 {
            *last = now;
        } else if now != *last {
            self.has_changed.store(true, Ordering::Relaxed);
        }
    }
}

/// Its size and the time of its last change.
fn state(file: &File) -> io::Result<(u64, SystemTime)> {
    let about = file.metadata()?;
    Ok((about.len(), about.modified()?))
}

impl Source {
    pub(super) fn new(name: &str, file: Option<Arc<File>>) -> Self {
        Self { name: name.into(), file, watch: None }
    }

    /// The same of a file that others may write to: see [`Source::tells_change`].
    pub(super) fn watched(self) -> Self {
        let state = self.file.as_ref().and_then(|file| state(file).ok());
        let watch = |state| Watch { last: Mutex::new(state), has_changed: false.into(), is_told: false.into() };
        Self { watch: state.map(watch).map(Arc::new), ..self }
    }

    /// Whether it was seen, when it was read again, that somebody has written into the file since it was opened: its size
    /// or time is another one. A file that only grew has not changed. It says so once.
    pub fn tells_change(&self) -> bool {
        let watch = self.watch.as_ref().filter(|watch| watch.has_changed.load(Ordering::Relaxed));
        watch.is_some_and(|watch| !watch.is_told.swap(true, Ordering::Relaxed))
    }

    /// What the input is called in messages. It may hold any characters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fills the buffer with the bytes from `offset` on.
    ///
    /// # Errors
    /// As the system says; [`io::ErrorKind::UnexpectedEof`] when there are not as many bytes.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotSeekable)?;
        if let Some(watch) = &self.watch {
            watch.look(file);
        }
        let (mut rest, mut offset) = (buffer, offset);
        while !rest.is_empty() {
            match read_some_at(file, rest, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    rest = rest.get_mut(count..).unwrap_or_default();
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads a file from its beginning, without its cursor: it is shared with those who read it again.
#[derive(Debug)]
pub(super) struct Reread {
    file: Arc<File>,
    offset: u64,
    /// Set: the file grows until this is true.
    growing: Option<Arc<AtomicBool>>,
}

/// How often it is looked whether a file has grown.
const LOOK: Duration = Duration::from_millis(20);

impl Reread {
    pub(super) fn new(file: Arc<File>, growing: Option<Arc<AtomicBool>>) -> Self {
        Self { file, offset: 0, growing }
    }
}

impl Read for Reread {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // What was written before the end was asked for is read.
            let may_grow = self.growing.as_ref().is_some_and(|end| !end.load(Ordering::Relaxed));
            let count = read_some_at(&self.file, buffer, self.offset)?;
            self.offset += count as u64;
            if count > 0 || buffer.is_empty() || !may_grow {
                return Ok(count);
            }
            self.check()?;
            thread::sleep(LOOK);
        }
    }
}

impl Reread {
    /// Whether more may come at the end of a file that grows.
    fn check(&self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let text = match () {
            () if metadata.len() < self.offset => "it has become shorter; what was written to it since is not read",
            #[cfg(unix)]
            () if std::os::unix::fs::MetadataExt::nlink(&metadata) == 0 => {
                "it was removed, or another file has its name"
            }
            () => return Ok(()),
        };
        Err(io::Error::other(text))
    }
}

/// Bytes that lie in no file as they are, kept in a file without a name: what was piped in, unpacked, or put together.
/// The system removes the file with the last that holds it, however the program ends.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    length: u64,
}

impl Spool {
    /// An empty one, in the folder for temporary files.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: Arc::new(tempfile::tempfile()?), length: 0 })
    }

    /// Puts bytes behind those that are there and gives the place of the first.
    ///
    /// # Errors
    /// When they cannot be written; the next ones are put in their place.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let (start, mut rest) = (self.length, bytes);
        while !rest.is_empty() {
            let written = write_some_at(&self.file, rest, start + (bytes.len() - rest.len()) as u64);
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.length += bytes.len() as u64;
        Ok(start)
    }

    /// The spool as a source.
    pub fn source(&self, name: &str) -> Source {
        Source::new(name, Some(self.file.clone()))
    }
}

/// Keeps what is read of an input that can be read only once.
#[derive(Debug)]
pub(super) struct Spooled<R> {
    reader: R,
    spool: Spool,
}

impl<R> Spooled<R> {
    pub(super) fn new(reader: R, spool: Spool) -> Self {
        Self { reader, spool }
    }
}

impl<R: Read> Read for Spooled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.spool.append(buffer.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}

#[cfg(unix)]
fn read_some_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_some_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(windows)]
fn write_some_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, buffer, offset)
}
