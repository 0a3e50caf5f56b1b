//! The terminal: taken when the screen begins, given back when it ends, however it ends.

use std::io::{self, Write, stdout};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::layout::Position;

use super::app::{App, Request};
use super::config::Config;
use super::decoder::decoder;
use super::keys::Key;
use super::seeker::seeker;
use super::signals::{self, Told};
use super::take::{clipboard_sequence, taker};
use super::theme::{Depth, Ground, Look};
use crate::book::Book;
use crate::dissect::Opening;
use crate::output::zone::Zone;

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The name of the capture.
    pub name: String,
    /// Whether a key log was given.
    pub has_keys: bool,
    /// Where what comes is recorded.
    pub recording: Option<String>,
}

/// What the screen needs to know.
#[derive(Debug)]
pub struct Screen<'p> {
    /// What it shows.
    pub subject: Subject,
    /// With what records are opened.
    pub opening: Opening<'p>,
    /// Whether secrets are shown.
    pub show_secrets: bool,
    /// Whether colours may be used.
    pub coloured: bool,
    /// Whether the newest message is followed from the beginning.
    pub follow: bool,
    /// What the reader has set.
    pub config: Config,
    /// The zone of times of day.
    pub zone: Zone,
}

/// How long the screen waits for what it wants to show at once, before it shows what it has.
const PATIENCE: Duration = Duration::from_millis(8);
/// How often it shows what is new while more and more is.
const TICK: Duration = Duration::from_millis(50);

/// To be called before there are threads, of a program that may show the screen.
pub fn prepare() {
    super::signals::hold_stop();
}

/// Runs the screen until it is left, and gives the signal that told it to. Its workers are given as well, whatever
/// happens: they end by themselves, but may have to complete what they do for a message.
///
/// # Errors
/// When the terminal cannot be used.
pub fn run<'scope, 'p: 'scope>(
    screen: &Screen<'p>,
    book: &'scope Book<'p>,
    scope: &'scope Scope<'scope, '_>,
) -> (anyhow::Result<Option<i32>>, Vec<ScopedJoinHandle<'scope, ()>>) {
    let (decoder, worker) = decoder(book, screen.opening, screen.show_secrets, PATIENCE);
    let (seeker, scout) = seeker(book, screen.opening, screen.show_secrets);
    let (taker, porter) = taker(book, screen.opening, screen.show_secrets);
    let workers =
        vec![scope.spawn(move || worker.run()), scope.spawn(move || scout.run()), scope.spawn(move || porter.run())];
    let variable = |name: &str| std::env::var(name).ok();
    let config = &screen.config;
    let depth = match config.depth {
        _ if !screen.coloured => Depth::None,
        Some(depth) => depth,
        None => Depth::of_environment(variable),
    };
    let look = Look::new(depth, config.ground.unwrap_or_else(|| Ground::of_environment(variable)));
    let ends = (decoder, seeker, taker);
    let mut app = App::new(book, screen.opening, screen.subject.clone(), ends, (config.keymap.clone(), look));
    app.configure(config);
    app.zone = screen.zone.clone();
    app.follow = screen.follow;
    (on_terminal(&mut app), workers)
}

fn on_terminal(app: &mut App<'_, '_>) -> anyhow::Result<Option<i32>> {
    let told = Told::listen().context("signals cannot be taken")?;
    told.set_terminal(true);
    // Restores the terminal in a panic, before the panic is told.
    let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
    let outcome = set_mouse(app.has_mouse).and_then(|()| turn(&mut terminal, app, &told));
    let restored = if told.has_terminal() { restore() } else { Ok(()) };
    told.leave();
    match outcome {
        // A terminal that is gone cannot be given back.
        Ok(Some(signal)) => Ok(Some(signal)),
        outcome => outcome.and_then(|end| restored.map(|()| end)).context("the terminal failed"),
    }
}

/// What the terminal shows, and where the cursor is in it.
type Shown = Option<(Buffer, Option<Position>)>;

/// Draws and takes events until the screen is left, by a signal or by a key.
fn turn(terminal: &mut DefaultTerminal, app: &mut App<'_, '_>, told: &Told) -> io::Result<Option<i32>> {
    let bell = app.book.bell();
    bell.wakes(signals::wake);
    // From here on nothing that wakes the screen is lost.
    event::poll(Duration::ZERO)?;
    let mut shown = None;
    loop {
        let heard = bell.heard();
        draw(terminal, app, &mut shown)?;
        // What is ready to be copied only shows when it is drawn.
        if !serve(terminal, app, told, &mut shown)? {
            return Ok(told.end());
        }
        if shown.is_none() {
            // The terminal was cleared.
            continue;
        }
        let rest = app.rest(Instant::now()).unwrap_or(signals::LONGEST_SLEEP).min(signals::LONGEST_SLEEP);
        let mut wait = if bell.sleep(heard) { rest } else { TICK };
        // Keys that have come together are shown together.
        while event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => app.key(Key::from(key)),
                Event::Mouse(mouse) => app.mouse(mouse),
                _ => {}
            }
            wait = Duration::ZERO;
            if !serve(terminal, app, told, &mut shown)? {
                return Ok(told.end());
            }
        }
        bell.stay_awake();
    }
}

/// Draws the screen; writes nothing where it looks as before, not even that the cursor is hidden.
fn draw(terminal: &mut DefaultTerminal, app: &mut App<'_, '_>, shown: &mut Shown) -> io::Result<()> {
    terminal.autoresize()?;
    let buffer = terminal.current_buffer_mut();
    let cursor = app.draw(buffer);
    if shown.as_ref().is_some_and(|(drawn, at)| drawn == buffer && *at == cursor) {
        buffer.reset();
        return Ok(());
    }
    *shown = Some((buffer.clone(), cursor));
    terminal.apply_buffer_with_cursor(cursor).map(|_| ())
}

/// Does what the terminal is asked to do; false when the screen is to be left.
fn serve(terminal: &mut DefaultTerminal, app: &mut App<'_, '_>, told: &Told, shown: &mut Shown) -> io::Result<bool> {
    // A key that came with it is not lost.
    if told.is_to_stop() {
        suspend(terminal, app.has_mouse, told, shown)?;
    }
    match app.request.take() {
        Some(Request::Quit) => return Ok(false),
        Some(Request::Suspend) => suspend(terminal, app.has_mouse, told, shown)?,
        Some(Request::Redraw) => clear(terminal, shown)?,
        Some(Request::Mouse(on)) => set_mouse(on)?,
        Some(Request::Clipboard(bytes)) => put(&clipboard_sequence(&bytes))?,
        None => {}
    }
    Ok(told.end().is_none())
}

fn set_mouse(on: bool) -> io::Result<()> {
    if on { execute!(stdout(), EnableMouseCapture) } else { execute!(stdout(), DisableMouseCapture) }
}

fn put(sequence: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(sequence.as_bytes())?;
    out.flush()
}

/// Gives the terminal back. What of it fails keeps nothing else from being done.
pub(super) fn restore() -> io::Result<()> {
    let cooked = disable_raw_mode();
    let left = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    cooked.and(left)
}

/// Has all drawn anew. [`ratatui::Terminal::clear`] asks where the cursor is, which not every terminal answers.
fn clear(terminal: &mut DefaultTerminal, shown: &mut Shown) -> io::Result<()> {
    *shown = None;
    let size = terminal.size()?;
    terminal.resize(size.into())
}

/// Gives the terminal back and stops the process, as ctrl-z does elsewhere; goes on when the shell says so.
fn suspend(terminal: &mut DefaultTerminal, has_mouse: bool, told: &Told, shown: &mut Shown) -> io::Result<()> {
    if cfg!(unix) {
        restore()?;
        told.set_terminal(false);
        told.stop()?;
        if told.end().is_some() {
            return Ok(());
        }
        told.set_terminal(true);
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        set_mouse(has_mouse)?;
    }
    clear(terminal, shown)
}
