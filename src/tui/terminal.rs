//! The terminal: taken when the screen begins, given back when it ends, however it ends.

use std::io::{self, Write, stdout};
use std::time::Duration;

use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use ratatui::crossterm::execute;

use super::app::{App, Request};
use super::config::Config;
use super::decoder::decoder;
use super::keys::Key;
use super::seeker::seeker;
use super::take::{clipboard_sequence, taker};
use super::theme::{Depth, Ground, Look};
use crate::book::Book;
use crate::dissect::Opening;

/// What the screen needs to know.
#[derive(Debug)]
pub struct Screen<'p> {
    /// What is shown as the name of the capture.
    pub name: String,
    /// With what records are opened.
    pub opening: Opening<'p>,
    /// Whether secrets are shown.
    pub show_secrets: bool,
    /// Whether colours may be used.
    pub coloured: bool,
    /// What the reader has set.
    pub config: Config,
}

/// How long the screen waits for what it wants to show at once, before it shows what it has.
const PATIENCE: Duration = Duration::from_millis(8);
/// How often it looks for what is new while something is.
const TICK: Duration = Duration::from_millis(50);

/// Runs the screen until it is left.
///
/// # Errors
/// When the terminal cannot be used.
pub fn run<'p>(screen: &Screen<'p>, book: &Book<'p>) -> anyhow::Result<()> {
    let variable = |name: &str| std::env::var(name).ok();
    let config = &screen.config;
    let depth = match config.depth {
        _ if !screen.coloured => Depth::None,
        Some(depth) => depth,
        None => Depth::of_environment(variable),
    };
    let look = Look::new(depth, config.ground.unwrap_or_else(|| Ground::of_environment(variable)));
    std::thread::scope(|scope| {
        let (decoder, worker) = decoder(book, screen.opening, screen.show_secrets, PATIENCE);
        let (seeker, scout) = seeker(book, screen.opening, screen.show_secrets);
        let (taker, porter) = taker(book, screen.opening, screen.show_secrets);
        scope.spawn(move || worker.run());
        scope.spawn(move || scout.run());
        scope.spawn(move || porter.run());
        // Restores the terminal in a panic, before the panic is told.
        let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
        let mut app = App::new(
            book,
            screen.opening,
            screen.name.clone(),
            (decoder, seeker, taker),
            (config.keymap.clone(), look),
        );
        app.configure(config);
        let outcome = set_mouse(app.has_mouse).and_then(|()| turn(&mut terminal, &mut app));
        let restored = restore();
        outcome.and(restored).context("the terminal failed")
    })
}

/// Draws and takes events until the screen is left.
fn turn(terminal: &mut DefaultTerminal, app: &mut App<'_, '_>) -> io::Result<()> {
    loop {
        terminal.draw(|frame| app.draw(frame))?;
        // What is ready to be copied only shows when it is drawn.
        if !serve(terminal, app)? {
            return Ok(());
        }
        let is_moving = app.is_waiting() || app.seeker.is_busy() || app.taking.taker.is_busy() || !app.status.finished;
        let mut wait = if is_moving { TICK } else { Duration::from_hours(1) };
        // Keys that have come together are shown together.
        while event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => app.key(Key::from(key)),
                Event::Mouse(mouse) => app.mouse(mouse),
                _ => {}
            }
            wait = Duration::ZERO;
            if !serve(terminal, app)? {
                return Ok(());
            }
        }
    }
}

/// Does what the terminal is asked to do; false when the screen is to be left.
fn serve(terminal: &mut DefaultTerminal, app: &mut App<'_, '_>) -> io::Result<bool> {
    match app.request.take() {
        Some(Request::Quit) => return Ok(false),
        Some(Request::Suspend) => suspend(terminal, app.has_mouse)?,
        Some(Request::Redraw) => terminal.clear()?,
        Some(Request::Mouse(on)) => set_mouse(on)?,
        Some(Request::Clipboard(bytes)) => put(&clipboard_sequence(&bytes))?,
        None => {}
    }
    Ok(true)
}

fn set_mouse(on: bool) -> io::Result<()> {
    if on { execute!(stdout(), EnableMouseCapture) } else { execute!(stdout(), DisableMouseCapture) }
}

fn put(sequence: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(sequence.as_bytes())?;
    out.flush()
}

fn restore() -> io::Result<()> {
    set_mouse(false)?;
    ratatui::try_restore()
}

/// Gives the terminal back and stops the process, as ctrl-z does elsewhere; goes on when the shell says so.
fn suspend(terminal: &mut DefaultTerminal, has_mouse: bool) -> io::Result<()> {
    #[cfg(unix)]
    {
        restore()?;
        signal_hook::low_level::raise(signal_hook::consts::SIGTSTP)?;
        *terminal = ratatui::try_init()?;
        set_mouse(has_mouse)?;
    }
    terminal.clear()
}
