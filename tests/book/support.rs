//! Captures, and what is told of their messages.

use std::fmt::Write;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use kafkascope::book::{Book, Indexer, Room};
use kafkascope::capture::{Again, Captures, Spool};
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::dissect::Opening;
use kafkascope::dissect::TopicNames;
use kafkascope::output::list::{ListOptions, ListWriter};
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::output::summary::Summarizer;
use kafkascope::protocol::Catalog;
use kafkascope::stream::KeyLog;

use crate::keys::key_log;

/// The captures beside the project, if they are there, that are read as they are.
pub(crate) fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../shared/captures", "../../shared/captures"].map(|folder| root.join(folder));
    let Some(folder) = folders.iter().find(|folder| folder.exists()) else {
        eprintln!("SKIPPED: there is no folder ../shared/captures");
        return Vec::new();
    };
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut captures: Vec<_> = paths.filter(|path| Captures::open([path], Again::No).is_ok()).collect();
    captures.sort();
    captures
}

pub(crate) fn capture(name: &str) -> Option<PathBuf> {
    captures().into_iter().find(|path| path.ends_with(name))
}

/// Captures as they are given to a command.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Files(Vec<PathBuf>),
    Pipe(Vec<u8>),
    /// With a key log.
    Secret(Vec<u8>, PathBuf),
}

impl Input {
    pub(crate) fn keys(&self) -> KeyLog {
        let mut keys = KeyLog::new();
        let logs = match self {
            Self::Files(paths) => paths.iter().filter_map(|path| key_log(path)).collect(),
            Self::Pipe(_) => Vec::new(),
            Self::Secret(_, log) => vec![log.clone()],
        };
        for log in logs {
            keys.add_file(&log).unwrap();
        }
        keys
    }

    pub(crate) fn open(&self, again: Again) -> Captures {
        match self {
            Self::Files(paths) => Captures::open(paths, again).unwrap(),
            Self::Pipe(bytes) | Self::Secret(bytes, _) => {
                let mut captures = Captures::new();
                captures.add_stream("-", Cursor::new(bytes.clone()), again).unwrap();
                captures
            }
        }
    }
}

/// Everything about a message, as text.
pub(crate) struct Teller<'p> {
    ndjson: NdjsonWriter<'p>,
    list: ListWriter<'p>,
    summarizer: Summarizer<'p>,
}

impl<'p> Teller<'p> {
    pub(crate) fn new(catalog: &'p Catalog) -> Self {
        let options = ListOptions { width: None, colour: false };
        Self {
            ndjson: NdjsonWriter::new(Opening::new(catalog), true),
            list: ListWriter::new(catalog, options),
            summarizer: Summarizer::new(catalog),
        }
    }

    /// Its line in the list, where lines depend on those before.
    fn line(&mut self, message: &Message<'_, 'p>) -> Vec<u8> {
        let mut out = Vec::new();
        self.list.message(&mut out, message);
        out
    }

    pub(crate) fn tell(&mut self, message: &Message<'_, 'p>) -> String {
        let mut out = Vec::new();
        self.ndjson.message(&mut out, message);
        let mut text = String::from_utf8(out).unwrap();
        let Message { subject, frame, reading, assumed, guessed, gap, packets, pieces, request, tls, .. } = *message;
        let plans = [reading.header, reading.body].map(|plan| plan.map(|plan| (&plan.name, plan.version)));
        let reading = (reading.side, plans, reading.sized, reading.missing);
        let request = request.map(|exchange| (exchange.request, exchange.latency));
        let facts = (subject, reading, assumed, guessed, gap, packets, pieces, request, tls);
        write!(text, "{} {facts:?} ", message.time.nanoseconds()).unwrap();
        write!(text, "{:?} {:?} ", message.client_id, message.connection).unwrap();
        text.extend(frame.iter().map(|byte| char::from(*byte)));
        text
    }

    pub(crate) fn notes(&mut self, message: &Message<'_, 'p>) -> String {
        self.summarizer.summarize(message).notes.to_owned()
    }
}

/// What is told of each message of a capture when it is read, if all topics that it names are known from the beginning.
pub(crate) fn told(catalog: &Catalog, input: &Input) -> Vec<(Vec<u8>, String)> {
    let mut session = Session::new(catalog, Options::default(), Nobody);
    drive(&mut session, input);
    let topics = session.topics().clone();
    let listener = Listener { teller: Teller::new(catalog), topics, told: Vec::new() };
    let mut session = Session::new(catalog, Options::default(), listener);
    drive(&mut session, input);
    std::mem::take(&mut session.sink().told)
}

fn drive<'p, S: MessageSink<'p>>(session: &mut Session<'p, S>, input: &Input) {
    let mut captures = input.open(Again::No);
    // As a book does it, so that places are the same.
    let sources = captures.sources().len() as u16;
    session.use_names(captures.names().clone());
    session.keep_datagrams(Spool::new().unwrap(), sources);
    session.keep_plaintext(Spool::new().unwrap(), sources + 1);
    session.use_keys(input.keys());
    loop {
        match captures.next() {
            Ok(Some(packet)) => session.packet(&packet),
            Ok(None) => break,
            Err(_damage) => {}
        }
    }
    session.finish();
}

struct Nobody;

impl MessageSink<'_> for Nobody {
    fn message(&mut self, _: &Message<'_, '_>) {}
}

struct Listener<'p> {
    teller: Teller<'p>,
    topics: TopicNames,
    told: Vec<(Vec<u8>, String)>,
}

impl<'p> MessageSink<'p> for Listener<'p> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        let message = Message { topics: &self.topics, ..*message };
        self.told.push((self.teller.line(&message), self.teller.tell(&message)));
    }
}

/// The book of a capture.
pub(crate) fn book<'p>(catalog: &'p Catalog, input: &Input) -> Book<'p> {
    let book = Book::new(catalog);
    let indexer = Indexer::new(&book, input.open(Again::Yes), Options::default());
    indexer.with_keys(input.keys()).run(&AtomicBool::new(false));
    book
}

/// Holds all messages of the book against those that were told, and gives their number.
pub(crate) fn compare(catalog: &Catalog, input: &Input) -> u64 {
    let expected = told(catalog, input);
    let book = book(catalog, input);
    assert_eq!(book.len(), expected.len() as u64);
    assert_eq!(book.status().conversation.messages, book.len());
    assert!(book.status().finished);
    let (mut teller, mut room) = (Teller::new(catalog), Room::default());
    for (index, (line, expected)) in (1..).zip(&expected) {
        let message = book.message(index, &mut room).unwrap();
        let told = teller.tell(&message);
        assert!(told == *expected, "{input:?}\n{told}\n{expected}");
        assert!(teller.line(&message) == *line);
        let entry = book.entry(index).unwrap();
        assert_eq!((entry.index, entry.time, entry.connection), (index, message.time, message.connection));
        assert_eq!((entry.side, entry.size, entry.gap), (message.side(), message.size(), message.gap));
        assert_eq!((entry.guessed, entry.request), (message.guessed, message.request.map(|exchange| exchange.request)));
        let notes = teller.notes(&message);
        assert_eq!(entry.odd, !notes.is_empty(), "{notes}");
        assert_eq!(entry.faulty, told.contains("\"expected\":") && has_fault(&message), "{told}");
        if let Some(request) = entry.request {
            assert_eq!(book.pair(index), Some(request));
            assert_eq!(book.pair(request), Some(index));
        }
    }
    // In any order, with rooms that held larger ones before.
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..expected.len().min(200) {
        let index = random.u64(1..=book.len());
        let told = teller.tell(&book.message(index, &mut room).unwrap());
        assert!(told == expected[index as usize - 1].1);
    }
    assert!(book.message(0, &mut room).is_err() && book.message(book.len() + 1, &mut room).is_err());
    book.len()
}

fn has_fault(message: &Message<'_, '_>) -> bool {
    use kafkascope::dissect::{Deaf, dissect};
    dissect(&message.reading, message.frame, &mut Deaf).faults > 0
}
