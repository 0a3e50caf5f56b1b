//! What comes, written to files on the way.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::capture::bytes::ByteOrder;

/// Writes a capture to a file, or to files one behind the other, as it comes.
///
/// Files are cut between packets, and each begins with what a reader must know: the section and its interfaces. What is
/// left of a packet when the capture ends is not written.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    ring: Option<Ring>,
    overwrite: bool,
    file: File,
    /// The files before this one that are still there.
    older: VecDeque<PathBuf>,
    /// How many files there were.
    files: u64,
    /// Bytes of this file.
    written: u64,
    /// Whether this file holds a packet.
    has_packets: bool,
    format: Format,
    /// What every file begins with.
    preamble: Vec<u8>,
    /// A block, or the beginning of one, that is not written yet.
    pending: Vec<u8>,
}

/// How a capture is spread over files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// Bytes after which the next file begins.
    pub size: u64,
    /// How many files are kept; None: all.
    pub files: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Unknown,
    Pcap(ByteOrder),
    PcapNg(ByteOrder),
    /// Something else: it is written as it comes.
    Other,
}

/// A piece of a capture that is not cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A pcapng section begins: what was to be known before is forgotten.
    Section,
    /// All that comes later rests on it.
    Preamble,
    Packet,
    Other,
}

const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const PCAP_HEADER: usize = 24;
/// What every file begins with is no longer.
const PREAMBLE_LIMIT: usize = 1 << 20;
/// A block that claims to be longer is not waited for.
const BLOCK_LIMIT: usize = 128 << 20;

impl Recorder {
    /// Makes the file, or the first of a ring. A file that is there already is overwritten only when that is wanted.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path, ring: Option<Ring>, overwrite: bool) -> io::Result<Self> {
        let first = if ring.is_some() { numbered(path, 1) } else { path.to_owned() };
        Ok(Self {
            file: create(&first, overwrite)?,
            path: path.to_owned(),
            ring,
            overwrite,
            older: VecDeque::from([first]),
            files: 1,
            written: 0,
            has_packets: false,
            format: Format::Unknown,
            preamble: Vec::new(),
            pending: Vec::new(),
        })
    }

    /// Whether a ring with the name `path` may have a file with the name `other`.
    pub fn may_be_of_ring(path: &Path, other: &Path) -> bool {
        let folder = |path: &Path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
        };
        let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let number = name(other).strip_prefix(&format!("{}_", name(path))).and_then(|number| number.parse().ok());
        number.is_some_and(|number| numbered(path, number).file_name() == other.file_name())
            && folder(path) == folder(other)
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// When it cannot be written, or the next file cannot be made.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let (mut from, mut to) = (0, 0);
        while let Some((kind, length)) = self.next(pending.get(to..).unwrap_or_default()) {
            let block = pending.get(to..to + length).unwrap_or_default();
            if self.is_full((to - from) as u64 + length as u64) && kind == Kind::Packet {
                self.write(pending.get(from..to).unwrap_or_default())?;
                from = to;
                self.begin_next()?;
            }
            match kind {
                Kind::Section => self.preamble = block.to_vec(),
                Kind::Preamble if self.preamble.len() + length <= PREAMBLE_LIMIT => {
                    self.preamble.extend_from_slice(block);
                }
                // A file without them would have packets of interfaces that it does not describe.
                Kind::Preamble if self.ring.is_some() => {
                    let says = "the capture describes more interfaces than each file of a ring can begin with";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, says));
                }
                _ => self.has_packets |= kind == Kind::Packet,
            }
            to += length;
        }
        self.write(pending.get(from..to).unwrap_or_default())?;
        pending.drain(..to);
        self.pending = pending;
        Ok(())
    }

    /// Says that no more comes.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.pending.clear();
        self.file.flush()
    }

    /// What the next piece is, and how long, when it is there as a whole.
    fn next(&mut self, bytes: &[u8]) -> Option<(Kind, usize)> {
        if self.format == Format::Unknown {
            self.format = format(bytes)?;
            if matches!(self.format, Format::Pcap(_)) {
                if bytes.len() < PCAP_HEADER {
                    self.format = Format::Unknown;
                    return None;
                }
                return Some((Kind::Section, PCAP_HEADER));
            }
        }
        let (kind, length) = match self.format {
            Format::Pcap(order) => {
                let [_seconds, _fraction, length, _original] = order.words(bytes)?;
                (Kind::Packet, 16_usize.saturating_add(length as usize))
            }
            Format::PcapNg(_) => {
                if bytes.starts_with(&SECTION_HEADER) {
                    // A section may have another byte order than the one before.
                    self.format = format(bytes)?;
                }
                let Format::PcapNg(order) = self.format else { return Some((Kind::Other, bytes.len())) };
                let [kind, length] = order.words(bytes)?;
                let kind = match kind {
                    _ if bytes.starts_with(&SECTION_HEADER) => Kind::Section,
                    1 => Kind::Preamble,
                    2 | 3 | 6 => Kind::Packet,
                    _ => Kind::Other,
                };
                (kind, length as usize)
            }
            Format::Unknown | Format::Other => (Kind::Other, bytes.len()),
        };
        if !(4..=BLOCK_LIMIT).contains(&length) {
            // Whatever it is, nothing of it is lost.
            self.format = Format::Other;
            return (!bytes.is_empty()).then_some((Kind::Other, bytes.len()));
        }
        (length <= bytes.len()).then_some((kind, length))
    }

    fn is_full(&self, more: u64) -> bool {
        self.has_packets && self.ring.is_some_and(|ring| self.written.saturating_add(more) > ring.size)
    }

    fn begin_next(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.files += 1;
        let path = numbered(&self.path, self.files);
        self.file = create(&path, self.overwrite)?;
        self.older.push_back(path);
        if let Some(most) = self.ring.and_then(|ring| ring.files) {
            while self.older.len() > most.max(1) as usize {
                if let Some(oldest) = self.older.pop_front() {
                    // Whoever has removed it was faster.
                    let _ = std::fs::remove_file(oldest);
                }
            }
        }
        (self.written, self.has_packets) = (0, false);
        let preamble = std::mem::take(&mut self.preamble);
        let outcome = self.write(&preamble);
        self.preamble = preamble;
        outcome
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        let path = self.older.back().unwrap_or(&self.path);
        self.file.write_all(bytes).map_err(|error| cannot_write(path, &error))
    }
}

/// What a capture begins with; None when too little is there.
fn format(bytes: &[u8]) -> Option<Format> {
    let magic = bytes.first_chunk::<4>()?;
    Some(match magic {
        &SECTION_HEADER => match bytes.get(8..12)? {
            [0x4d, 0x3c, 0x2b, 0x1a] => Format::PcapNg(ByteOrder::Little),
            [0x1a, 0x2b, 0x3c, 0x4d] => Format::PcapNg(ByteOrder::Big),
            _ => Format::Other,
        },
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => Format::Pcap(ByteOrder::Little),
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => Format::Pcap(ByteOrder::Big),
        _ => Format::Other,
    })
}

fn create(path: &Path, overwrite: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let says = format!("{} is there already; --force overwrites it", path.display());
            io::Error::new(error.kind(), says)
        }
        _ => cannot_write(path, &error),
    })
}

fn cannot_write(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

/// `shop.pcapng` with the number 7 is `shop_00007.pcapng`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("_{number:05}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}
