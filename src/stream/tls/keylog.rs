//! Secrets of TLS connections, in the format of NSS key logs (RFC 9850).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use arrayvec::ArrayVec;
use foldhash::HashMap;

/// The 32 bytes with which a `ClientHello` begins. They name a connection in a key log.
pub(super) type Random = [u8; 32];
/// A secret: as long as the hash of the suite, or the 48 bytes of a master secret.
pub(super) type Secret = ArrayVec<u8, 48>;

/// What a line of a key log is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// The master secret of TLS 1.2 and before.
    Master,
    /// What a client sends before it has an answer (1.3).
    ClientEarly,
    /// The rest of the client's handshake (1.3).
    ClientHandshake,
    /// The rest of the server's handshake (1.3).
    ServerHandshake,
    /// What the client says (1.3).
    Client,
    /// What the server says (1.3).
    Server,
}

const LABELS: [(&str, Label); 6] = [
    ("CLIENT_RANDOM", Label::Master),
    ("CLIENT_EARLY_TRAFFIC_SECRET", Label::ClientEarly),
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", Label::ClientHandshake),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", Label::ServerHandshake),
    ("CLIENT_TRAFFIC_SECRET_0", Label::Client),
    ("SERVER_TRAFFIC_SECRET_0", Label::Server),
];

/// Labels that are known and not needed here: exporters, later secrets that are derived, `ECH`, and RSA's own.
const OTHERS: [&str; 7] =
    ["EXPORTER_", "EARLY_EXPORTER_", "RSA", "CLIENT_TRAFFIC_SECRET_", "SERVER_TRAFFIC_SECRET_", "ECH_", "PMS_"];

/// The secrets of a connection by their labels.
type Secrets = [Secret; LABELS.len()];

/// So many connections may have secrets; those that were learnt first are forgotten.
pub(super) const MOST: usize = 1 << 19;
/// No line is longer: the longest label, and twice 48 bytes and 32 in hexadecimal.
const LONGEST_LINE: usize = 1024;
/// So often files are looked at in a while: each segment of a connection without keys asks for it.
const MOST_LOOKS: u32 = 16;
const WHILE: Duration = Duration::from_millis(100);

/// All secrets that are known, and the files that they are read from as these grow.
#[derive(Debug, Default)]
pub struct KeyLog {
    secrets: HashMap<Random, Box<Secrets>>,
    /// Whose they are, in the order in which they were learnt.
    order: VecDeque<Random>,
    /// Connections whose secrets were forgotten.
    forgotten: u64,
    /// Since when looks into files are counted, and how many there were.
    looks: Option<(Instant, u32)>,
    files: Vec<Growing>,
    /// Whether there is anything that secrets may come from.
    has_sources: bool,
    /// Secrets that were learnt.
    news: u64,
    wrong_lines: u64,
}

/// A key log that is written while it is read.
#[derive(Debug)]
struct Growing {
    path: PathBuf,
    /// How long it was when it was looked at, and when it had changed.
    seen: Option<(u64, Option<SystemTime>)>,
    /// Where the first line begins that is not dealt with.
    done: u64,
    /// The line before that, or the end of a long one. Where it is not there any more, the file is another one or was begun anew.
    last: Vec<u8>,
}

impl Growing {
    fn is_the_same(&self, file: &mut File) -> io::Result<bool> {
        let Some(start) = self.done.checked_sub(self.last.len() as u64) else { return Ok(false) };
        file.seek(SeekFrom::Start(start))?;
        let mut found = Vec::new();
        file.take(self.last.len() as u64).read_to_end(&mut found)?;
        Ok(found == self.last)
    }
}

impl KeyLog {
    /// No secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a key log. If it is a file it is looked into again when a secret is missing and it has grown.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add_file(&mut self, path: &Path) -> io::Result<()> {
        self.has_sources = true;
        let file = File::open(path)?;
        if file.metadata()?.is_file() {
            self.follow(path);
        } else {
            self.read(file, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Reads a key log that need not be there yet.
    pub fn follow(&mut self, path: &Path) {
        self.has_sources = true;
        self.files.push(Growing { path: path.to_owned(), seen: None, done: 0, last: Vec::new() });
        self.look_again(true);
    }

    /// Takes lines of a key log, such as those of a Decryption Secrets Block.
    pub fn add(&mut self, text: &[u8]) {
        self.has_sources = true;
        for line in text.split(|byte| *byte == b'\n') {
            self.line(line);
        }
    }

    /// Lines that are no secrets and no comments.
    pub fn wrong_lines(&self) -> u64 {
        self.wrong_lines
    }

    /// Connections whose secrets were forgotten because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Notes that secrets may come: in the capture.
    pub fn expect(&mut self) {
        self.has_sources = true;
    }

    /// Whether there is anything that secrets may come from.
    pub fn has_sources(&self) -> bool {
        self.has_sources
    }

    /// Whether a connection has any secret.
    pub(super) fn knows(&self, random: &Random) -> bool {
        self.secrets.contains_key(random)
    }

    /// A secret of a connection.
    pub(super) fn secret(&self, random: &Random, label: Label) -> Option<&Secret> {
        let secret = self.secrets.get(random)?.get(label as usize)?;
        (!secret.is_empty()).then_some(secret)
    }

    /// How many connections have secrets.
    pub(super) fn connections(&self) -> usize {
        self.order.len()
    }

    /// The connection whose secrets were learnt as so many others were later.
    pub(super) fn newest(&self, later: usize) -> Option<&Random> {
        self.order.get(self.order.len().checked_sub(later + 1)?)
    }

    /// Secrets that were learnt so far.
    pub(super) fn news(&self) -> u64 {
        self.news
    }

    /// Looks into files that have grown; not much too often, unless it must.
    pub(super) fn look_again(&mut self, must: bool) {
        if self.files.is_empty() {
            return;
        }
        let recent = self.looks.filter(|(since, _)| since.elapsed() < WHILE);
        let (since, looks) = recent.unwrap_or_else(|| (Instant::now(), 0));
        if looks >= MOST_LOOKS && !must {
            return;
        }
        self.looks = Some((since, looks.saturating_add(1)));
        let mut files = std::mem::take(&mut self.files);
        for file in &mut files {
            // A file that is gone or cannot be read may come back.
            let _ = self.read_on(file);
        }
        self.files = files;
    }

    fn read_on(&mut self, growing: &mut Growing) -> io::Result<()> {
        let metadata = std::fs::metadata(&growing.path)?;
        let seen = Some((metadata.len(), metadata.modified().ok()));
        if growing.seen == seen {
            return Ok(());
        }
        let mut file = File::open(&growing.path)?;
        if !growing.is_the_same(&mut file)? {
            (growing.done, growing.last) = (0, Vec::new());
        }
        file.seek(SeekFrom::Start(growing.done))?;
        growing.seen = seen;
        // No more than there was: it need not have an end while it grows.
        let new = metadata.len().saturating_sub(growing.done);
        growing.done += self.read(file.take(new), &mut growing.last)?;
        Ok(())
    }

    /// Reads lines to the end and says how many bytes the whole ones had, and which was the last of these (the end of it where it is too long). One that is not
    /// at its end yet is taken for what it is now.
    fn read(&mut self, reader: impl Read, last: &mut Vec<u8>) -> io::Result<u64> {
        let mut reader = BufReader::new(reader);
        let (mut done, mut line) = (0, Vec::new());
        loop {
            line.clear();
            let read = (&mut reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(done);
            }
            if line.ends_with(b"\n") {
                done += read as u64;
                self.line(&line);
                last.clone_from(&line);
            } else if read < LONGEST_LINE {
                self.secret_of(&line);
                return Ok(done);
            } else {
                done += read as u64;
                self.wrong_lines += 1;
                last.clone_from(&line);
                while !last.ends_with(b"\n") {
                    line.clear();
                    let read = (&mut reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
                    if read == 0 {
                        break;
                    }
                    done += read as u64;
                    last.extend_from_slice(&line);
                    last.drain(..last.len().saturating_sub(LONGEST_LINE));
                }
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        let is_needless = line.is_empty()
            || line.starts_with(b"#")
            || OTHERS.iter().any(|other| line.starts_with(other.as_bytes())) && !is_needed(line);
        if !is_needless && !self.secret_of(line) {
            self.wrong_lines += 1;
        }
    }

    /// Takes a line with a secret; whether it is one.
    fn secret_of(&mut self, line: &[u8]) -> bool {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (Some(name), Some(random), Some(secret), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return false;
        };
        let label = LABELS.iter().find(|(label, _)| label.as_bytes() == name).map(|(_, label)| *label);
        let (Some(label), Some(random), Some(secret)) = (label, hex::<32>(random), hex::<48>(secret)) else {
            return false;
        };
        let Ok(random) = Random::try_from(random.as_slice()) else { return false };
        let fits = if label == Label::Master { secret.len() == 48 } else { matches!(secret.len(), 32 | 48) };
        if fits {
            if !self.knows(&random) {
                if self.order.len() >= MOST
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.secrets.remove(&oldest);
                    self.forgotten += 1;
                }
                self.order.push_back(random);
            }
            let secrets = self.secrets.entry(random).or_default();
            if let Some(place) = secrets.get_mut(label as usize)
                && *place != secret
            {
                *place = secret;
                self.news += 1;
            }
        }
        fits
    }
}

fn is_needed(line: &[u8]) -> bool {
    LABELS.iter().any(|(name, _)| line.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b" ")))
}

fn hex<const MOST: usize>(text: &[u8]) -> Option<ArrayVec<u8, MOST>> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    if pairs.len() > MOST {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}
