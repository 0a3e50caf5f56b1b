//! What is taken out beside the screen, because it may take long: JSON of large messages, and messages saved in files.

use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::file::Target;
use super::{Copied, place};
use crate::book::{Book, BookError, Entry, Room, Step};
use crate::conversation::{Message, Subject};
use crate::dissect::{Known, Opening};
use crate::output::ndjson::NdjsonWriter;
use crate::output::pcapng::PacketMaker;
use crate::output::table::harmless;
use crate::output::tree_json;
use crate::protocol::{ApiKey, Side};
use crate::stream::ConnectionId;
use crate::tui::opened::Opened;

/// Something to take out.
#[derive(Debug)]
pub(super) enum Job {
    /// A node of a message, as its JSON has it.
    Json {
        number: u64,
        node: u32,
        /// How many nodes the message has on the screen: it may be read otherwise in the meantime.
        nodes: usize,
        what: String,
        name: String,
    },
    /// A message as a line of JSON.
    Line { number: u64, what: String, name: String },
    /// Messages.
    Messages { selection: Selection, format: Format },
}

impl Job {
    /// What its file may be called.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Json { name, .. } | Self::Line { name, .. } => name,
            Self::Messages { .. } => "messages",
        }
    }
}

/// Which messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// These, in order.
    Some(Vec<u64>),
    /// Those of a connection.
    Connection(ConnectionId),
    /// All that there are.
    All,
}

/// What messages are saved as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A line of JSON a message.
    Ndjson,
    /// Packets made anew.
    Pcapng,
}

/// Where it goes.
#[derive(Debug)]
pub(super) enum To {
    Clipboard,
    File(Target),
}

/// What is told of it.
#[derive(Debug)]
pub(super) enum Report {
    /// How much is done of how much.
    Progress(u64, u64),
    /// What is to go to the clipboard.
    Copied(Copied),
    /// It is done: a sentence.
    Done(String),
    /// Why it cannot be done: a sentence.
    Failed(String),
}

/// The screen's end.
#[derive(Debug)]
pub(in crate::tui) struct Taker {
    jobs: Sender<(Job, To, Arc<AtomicBool>)>,
    reports: Receiver<(Arc<AtomicBool>, Report)>,
    current: Option<Arc<AtomicBool>>,
}

/// The other end: run it on a thread of its own.
#[derive(Debug)]
pub(in crate::tui) struct Porter<'b, 'p> {
    book: &'b Book<'p>,
    opening: Opening<'p>,
    show_secrets: bool,
    jobs: Receiver<(Job, To, Arc<AtomicBool>)>,
    reports: Sender<(Arc<AtomicBool>, Report)>,
}

/// Both ends.
pub(in crate::tui) fn taker<'b, 'p>(
    book: &'b Book<'p>,
    opening: Opening<'p>,
    show_secrets: bool,
) -> (Taker, Porter<'b, 'p>) {
    let (job, jobs) = channel();
    let (report, reports) = channel();
    let taker = Taker { jobs: job, reports, current: None };
    (taker, Porter { book, opening, show_secrets, jobs, reports: report })
}

impl Taker {
    pub(super) fn begin(&mut self, job: Job, to: To) {
        let cancelled = Arc::new(AtomicBool::new(false));
        self.current = Some(Arc::clone(&cancelled));
        // A porter that is gone carries nothing.
        let _ = self.jobs.send((job, to, cancelled));
    }

    /// Stops. Whether there was something to stop.
    pub(super) fn cancel(&mut self) -> bool {
        let current = self.current.take();
        if let Some(cancelled) = &current {
            cancelled.store(true, Ordering::Relaxed);
        }
        current.is_some()
    }

    /// What was told since.
    pub(super) fn reports(&mut self) -> Vec<Report> {
        let all: Vec<_> = self.reports.try_iter().collect();
        let is_current = |of: &Arc<AtomicBool>| self.current.as_ref().is_some_and(|current| Arc::ptr_eq(of, current));
        all.into_iter().filter(|(of, _)| is_current(of)).map(|(_, report)| report).collect()
    }

    /// Whether something is being taken out.
    pub(in crate::tui) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    /// It is done.
    pub(super) fn end(&mut self) {
        self.current = None;
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// How often it says how far it is.
const REPORT: Duration = Duration::from_millis(50);
/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 20;

impl Porter<'_, '_> {
    /// Carries one thing after the other until the screen is gone.
    pub(in crate::tui) fn run(self) {
        while let Ok((job, to, cancelled)) = self.jobs.recv() {
            let tell = |report| {
                let is_there = self.reports.send((Arc::clone(&cancelled), report)).is_ok();
                self.book.bell().ring();
                is_there && !cancelled.load(Ordering::Relaxed)
            };
            let report = match (job, to) {
                (Job::Json { number, node, nodes, what, name }, to) => {
                    self.json(number, node, nodes).and_then(|bytes| delivered(Copied { what, name, bytes }, &to))
                }
                (Job::Line { number, what, name }, to) => {
                    self.line(number).and_then(|bytes| delivered(Copied { what, name, bytes }, &to))
                }
                (Job::Messages { selection, format }, To::File(target)) => {
                    self.save(&selection, format, &target, &tell).map(Report::Done)
                }
                (Job::Messages { .. }, To::Clipboard) => continue,
            };
            tell(report.unwrap_or_else(Report::Failed));
        }
    }

    fn line(&self, number: u64) -> Result<Vec<u8>, String> {
        let mut room = Room::default();
        let message = self.book.message(number, &mut room).map_err(|error| unreadable(number, &error))?;
        let mut line = Vec::new();
        NdjsonWriter::new(self.opening, self.show_secrets).message(&mut line, &message);
        Ok(line)
    }

    /// What the JSON of a message has of a node; where it has nothing, the node as the JSON of trees has it.
    fn json(&self, number: u64, node: u32, nodes: usize) -> Result<Vec<u8>, String> {
        let line = self.line(number)?;
        let mut room = Room::default();
        let message = self.book.message(number, &mut room).map_err(|error| unreadable(number, &error))?;
        let opened = Opened::new(&message, self.opening, self.show_secrets, self.book.topics());
        if opened.tree.nodes().len() != nodes {
            return Err(format!("#{number} is read otherwise now; go to another message and back"));
        }
        if let Some(json) = place::json_of(&opened, node, &line) {
            return Ok(json.as_bytes().to_vec());
        }
        let mut json = Vec::new();
        tree_json::write_node_and_below(&mut json, &opened.describer(), node as usize);
        Ok(json)
    }

    /// Saves messages and says what it has done.
    fn save(
        &self,
        selection: &Selection,
        format: Format,
        target: &Target,
        tell: &dyn Fn(Report) -> bool,
    ) -> Result<String, String> {
        let chosen = Numbers::of(self.book, selection);
        let wanted = chosen.len();
        let numbers = if format == Format::Pcapng { self.with_what_explains(chosen)? } else { chosen };
        let mut file = BufWriter::new(target.begin()?);
        let mut out = Vec::new();
        let mut writer = match format {
            Format::Ndjson => Writer::Ndjson(NdjsonWriter::new(self.opening, self.show_secrets)),
            Format::Pcapng => Writer::Pcapng(PacketMaker::new(&mut out)),
        };
        let mut room = Room::default();
        let mut since = Instant::now();
        let mut holds_secrets = false;
        for done in 0..numbers.len() {
            let Some(number) = numbers.at(done) else { break };
            let message = self.book.message(number, &mut room).map_err(|error| unreadable(number, &error))?;
            match &mut writer {
                Writer::Ndjson(writer) => {
                    writer.message(&mut out, &message);
                }
                Writer::Pcapng(maker) => {
                    holds_secrets = holds_secrets || self.holds_secrets(&message);
                    // They are read in a room of their own.
                    let comments = self.book.comments_of(number).map_err(|error| unreadable(number, &error))?;
                    let behind = if message.gap > 0 { self.book.behind_hole(number) } else { Ok(Vec::new()) };
                    let behind = behind.map_err(|error| unreadable(number, &error))?;
                    maker.message(&mut out, &message, &behind, &comments);
                }
            }
            if out.len() >= AT_ONCE {
                file.write_all(&out).map_err(|error| target.cannot(&error))?;
                out.clear();
            }
            if since.elapsed() > REPORT {
                since = Instant::now();
                if !tell(Report::Progress(done + 1, numbers.len())) {
                    return Err("stopped; nothing was written".to_owned());
                }
            }
        }
        file.write_all(&out).map_err(|error| target.cannot(&error))?;
        let file = file.into_inner().map_err(|error| target.cannot(error.error()))?;
        if !tell(Report::Progress(numbers.len(), numbers.len())) {
            return Err("stopped; nothing was written".to_owned());
        }
        target.end(file)?;
        let count = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let mut text = format!("{target}: {}", count(wanted, "message"));
        let more = numbers.len() - wanted;
        if more > 0 {
            text.extend([", and ", &count(more, "message"), " without which they cannot be read"]);
        }
        if holds_secrets && !self.show_secrets {
            text.push_str("; secrets are in it as they were sent");
        }
        Ok(text)
    }

    /// The messages with those without which they are read less far: requests of responses, and what a connection has said
    /// of its SASL tokens and of the protocol of a group.
    fn with_what_explains(&self, numbers: Numbers) -> Result<Numbers, String> {
        let Numbers::Some(mut numbers) = numbers else { return Ok(numbers) };
        let mut more = Vec::new();
        let mut room = Room::default();
        for number in &numbers {
            let Some(entry) = self.book.entry(*number) else { continue };
            more.extend(entry.request);
            let told_by = match entry.key {
                Some(ApiKey::SASL_AUTHENTICATE) | None => ApiKey::SASL_HANDSHAKE,
                Some(ApiKey::SYNC_GROUP) => ApiKey::JOIN_GROUP,
                Some(_) => continue,
            };
            let message = self.book.message(*number, &mut room).map_err(|error| unreadable(*number, &error))?;
            let is_token = message.subject == Subject::SaslToken;
            if is_token || message.reading.known != Known::default() {
                self.explain(&entry, told_by, is_token, &mut more);
            }
        }
        numbers.append(&mut more);
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Numbers::Some(numbers))
    }

    /// The last exchange of an API before a message on its connection, and the bare tokens since.
    fn explain(&self, entry: &Entry, told_by: ApiKey, is_token: bool, more: &mut Vec<u64>) {
        let is_wanted = |other: &Entry| {
            let is_of_api = other.key == Some(told_by);
            other.connection == entry.connection && (is_of_api || is_token && other.key.is_none())
        };
        let mut at = entry.index;
        while let Some(found) = self.book.next(at, Step::Backward, is_wanted) {
            more.push(found);
            at = found;
            let is_question = |entry: Entry| entry.side == Side::Request && entry.key == Some(told_by);
            if self.book.entry(found).is_some_and(is_question) {
                break;
            }
        }
    }

    fn holds_secrets(&self, message: &Message<'_, '_>) -> bool {
        let is_of_api = |key| self.opening.catalog.holds_secrets(key, message.side());
        message.subject == Subject::SaslToken || message.key().is_some_and(is_of_api)
    }
}

enum Writer<'p> {
    Ndjson(NdjsonWriter<'p>),
    Pcapng(PacketMaker),
}

/// Numbers of messages, in order.
enum Numbers {
    /// From 1 to this.
    All(u64),
    Some(Vec<u64>),
}

impl Numbers {
    fn of(book: &Book<'_>, selection: &Selection) -> Self {
        match selection {
            Selection::Some(numbers) => Self::Some(numbers.clone()),
            Selection::All => Self::All(book.len()),
            Selection::Connection(connection) => Self::Some(book.all(|entry| entry.connection == *connection)),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::All(last) => *last,
            Self::Some(numbers) => numbers.len() as u64,
        }
    }

    fn at(&self, place: u64) -> Option<u64> {
        match self {
            Self::All(_) => Some(place + 1),
            Self::Some(numbers) => numbers.get(place as usize).copied(),
        }
    }
}

/// Something copied goes to the file, or is given back for the clipboard.
fn delivered(copied: Copied, to: &To) -> Result<Report, String> {
    match to {
        To::Clipboard => Ok(Report::Copied(copied)),
        To::File(target) => {
            target.write(&copied.bytes)?;
            let size = super::counted(copied.bytes.len());
            Ok(Report::Done(format!("{target}: {}, {size}", harmless(&copied.what))))
        }
    }
}

fn unreadable(number: u64, error: &BookError) -> String {
    format!("#{number}: {}", harmless(&error.to_string()))
}
