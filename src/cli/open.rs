//! `kafkascope open`: the screen.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::End;
use super::args::{Common, InputArgs, MessageArgs, OpenArgs};
use crate::book::{Book, Indexer};
use crate::capture::{Again, Captures};
use crate::dissect::Opening;
use crate::tui::{self, Config, Screen, Subject};

pub(super) fn run(open: &OpenArgs, common: &Common) -> anyhow::Result<End> {
    let input = &open.input;
    let stop = Arc::new(AtomicBool::new(false));
    let open = || Ok((input.open(Again::Yes, stop.clone())?, move || stop.store(true, Ordering::Relaxed)));
    show(open, (&name(input), None), input.follow, &input.messages, common)
}

/// Shows captures on the screen, by a name, and says where they are recorded. They are opened when it is sure that there can be one, and what was opened beside them is
/// called when the screen is left: then whatever is still waited for should end.
pub(super) fn show<L: FnOnce() + Send>(
    open: impl FnOnce() -> anyhow::Result<(Captures, L)> + Send,
    (name, recording): (&str, Option<String>),
    follow: bool,
    messages: &MessageArgs,
    common: &Common,
) -> anyhow::Result<End> {
    tui::prepare();
    let config = Config::load(common.config.as_deref(), |name| std::env::var_os(name))?;
    if !is_possible() {
        anyhow::bail!(
            "the screen needs a terminal that can do more than this one; `kafkascope list` prints messages as lines, \
             `kafkascope show` as trees"
        );
    }
    let catalog = super::catalog(common)?;
    let decoders = super::decoders(&messages.decode)?;
    let book = Book::new(&catalog);
    let keys = super::input::keys(messages)?;
    let screen = Screen {
        subject: Subject { name: name.to_owned(), has_keys: keys.has_sources(), recording },
        opening: Opening { decoders: Some(&decoders), ..super::opening(&catalog, common) },
        show_secrets: common.show_secrets,
        coloured: common.color != super::args::Color::Never,
        follow,
        config,
        zone: messages.time_zone.clone(),
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (opened, is_open) = channel();
        let (book, stop) = (&book, &stop);
        let indexing = scope.spawn(move || match open() {
            Ok((captures, leave)) => {
                messages.name(&captures);
                let indexer = Indexer::new(book, captures, messages.options()).with_keys(keys);
                // Who is gone leaves by ending the process.
                let _ = opened.send(Ok(leave));
                indexer.run(stop);
            }
            Err(error) => {
                book.fail(format!("{error:#}"));
                let _ = opened.send(Err(error));
            }
        });
        // What cannot be opened is told without a screen; where only a pipe is waited for, the screen is there at once.
        let first = is_open.recv_timeout(if follow { STARTING } else { OPENING }).ok();
        let mut leave = first.transpose()?;
        let (outcome, workers) = tui::run(&screen, book, scope);
        stop.store(true, Ordering::Relaxed);
        let late = match leave {
            None => is_open.try_recv().ok().transpose(),
            Some(_) => Ok(leave.take()),
        };
        let outcome = late.and_then(|leave| {
            if let Some(leave) = leave {
                leave();
            }
            outcome
        });
        let is_working = || workers.iter().any(|worker| !worker.is_finished());
        let since = Instant::now();
        let patience = if follow && book.status().opened { CLOSING } else { ENDING };
        while (since.elapsed() < WORKING && is_working()) || (since.elapsed() < patience && !indexing.is_finished()) {
            thread::sleep(Duration::from_millis(5));
        }
        let end = end(outcome, book);
        if is_working() || !indexing.is_finished() {
            std::process::exit(super::exit(end).into());
        }
        end
    })
}

/// How long opening may take before the screen is shown without.
const OPENING: Duration = Duration::from_millis(300);
/// The same of an interface, for which a program is started.
const STARTING: Duration = Duration::from_secs(1);
/// How long the indexer may take to end: what waits for a pipe waits until something comes.
const ENDING: Duration = Duration::from_millis(100);
/// The same of an interface, which may have to be closed, and a file completed.
const CLOSING: Duration = Duration::from_secs(3);
/// How long what is done beside the screen may take to end: it may be inside of a large message.
const WORKING: Duration = Duration::from_millis(500);

/// What the command ends with. Tells what was wrong with the captures.
fn end(outcome: anyhow::Result<Option<i32>>, book: &Book<'_>) -> anyhow::Result<End> {
    let signal = outcome?;
    let troubles = book.status().troubles;
    for trouble in &troubles {
        super::say(trouble);
    }
    Ok(match signal {
        Some(signal) => End::Told(signal),
        None if troubles.is_empty() => End::Done,
        None => End::Damaged,
    })
}

/// Whether standard output is a terminal that the screen can be drawn on.
pub(super) fn is_possible() -> bool {
    io::stdout().is_terminal() && !super::is_dumb()
}

/// The captures in few words.
fn name(input: &InputArgs) -> String {
    let mut paths = input.read.iter().chain(&input.files);
    let first = paths.next().map(|path| path.display().to_string()).unwrap_or_default();
    let first = if first == "-" { "standard input".to_owned() } else { first };
    match paths.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
