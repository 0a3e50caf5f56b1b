//! `kafkascope open`: the screen.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::End;
use super::args::{Common, InputArgs, MessageArgs, OpenArgs};
use crate::book::{Book, Indexer};
use crate::capture::{Again, Captures};
use crate::dissect::Opening;
use crate::tui::{self, Config, Screen};

pub(super) fn run(open: &OpenArgs, common: &Common) -> anyhow::Result<End> {
    let input = &open.input;
    let stop = Arc::new(AtomicBool::new(false));
    let open = || Ok((input.open(Again::Yes, stop.clone())?, move || stop.store(true, Ordering::Relaxed)));
    show(open, &name(input), input.follow, &input.messages, common)
}

/// Shows captures on the screen. They are opened when it is sure that there can be one, and what was opened beside them is
/// called when the screen is left: then whatever is still waited for should end.
pub(super) fn show<L: FnOnce()>(
    open: impl FnOnce() -> anyhow::Result<(Captures, L)>,
    name: &str,
    follow: bool,
    messages: &MessageArgs,
    common: &Common,
) -> anyhow::Result<End> {
    let config = Config::load(common.config.as_deref(), |name| std::env::var_os(name))?;
    if !is_possible() {
        anyhow::bail!(
            "the screen needs a terminal that can do more than this one; `kafkascope list` prints messages as lines, \
             `kafkascope show` as trees"
        );
    }
    let catalog = super::catalog(common)?;
    let decoders = super::decoders(&messages.decode)?;
    let (captures, leave) = open()?;
    let book = Book::new(&catalog);
    let keys = super::input::keys(messages)?;
    let indexer = Indexer::new(&book, captures, messages.options()).with_keys(keys);
    let screen = Screen {
        name: name.to_owned(),
        opening: Opening { decoders: Some(&decoders), ..super::opening(&catalog, common) },
        show_secrets: common.show_secrets,
        coloured: common.color != super::args::Color::Never,
        follow,
        config,
        zone: messages.time_zone.clone(),
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let indexing = scope.spawn(|| indexer.run(&stop));
        let outcome = tui::run(&screen, &book);
        stop.store(true, Ordering::Relaxed);
        leave();
        // What waits for a pipe waits until something comes. An interface may have to be closed and a file completed.
        let patience = if follow { 3000 } else { 100 };
        for _ in 0..patience / 5 {
            if indexing.is_finished() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        if !indexing.is_finished() {
            std::process::exit(super::exit(outcome.map(|()| End::Done)).into());
        }
        outcome
    })?;
    let troubles = book.status().troubles;
    for trouble in &troubles {
        super::say(trouble);
    }
    Ok(if troubles.is_empty() { End::Done } else { End::Damaged })
}

/// Whether standard output is a terminal that the screen can be drawn on.
pub(super) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && !is_dumb
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
