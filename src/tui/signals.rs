//! What the system tells the program while it has the terminal: to end, to stop for a while, or that the terminal is gone.
//!
//! The screen's own thread is told, wakes, gives the terminal back and leaves. Where it does not (its output is blocked, or
//! it waits for events of a terminal that is gone, which never come), the process is ended without it.

use std::fs::File;
use std::io::{self, IsTerminal, stdin};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::low_level::raise;

use super::terminal::restore;

/// How long the screen's thread has to leave before the process is ended.
const GRACE: Duration = Duration::from_millis(500);
/// How long giving the terminal back may take then: it may take nothing any more.
const RESTORING: Duration = Duration::from_millis(300);
/// How often it is looked whether the terminal is still there, in milliseconds.
const LOOK: u16 = 500;
/// How long what was told while the process stood still may take to be known.
const SETTLE: Duration = Duration::from_millis(50);

/// What was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Told(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The signal to end with; 0: none.
    end: AtomicI32,
    /// Whether to stop for a while.
    stop: AtomicBool,
    /// Whether the program has the terminal.
    has_terminal: AtomicBool,
    /// Whether the screen was left.
    is_left: AtomicBool,
}

/// Has SIGTSTP wait until the screen asks for it. To be called before there are threads, which inherit that. It is not
/// caught, as its usual effect could not be had back: the system drops it where nobody could let the process go on.
pub(super) fn hold_stop() {
    let _ = stop_signal().thread_block();
}

fn stop_signal() -> SigSet {
    SigSet::from(Signal::SIGTSTP)
}

impl Told {
    /// Begins to listen.
    ///
    /// # Errors
    /// When signals cannot be taken.
    pub(super) fn listen() -> io::Result<Self> {
        let told = Self::default();
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
        let state = told.clone();
        spawn(move || signals.forever().for_each(|signal| state.end_with(signal)));
        let state = told.clone();
        spawn(move || {
            while stop_signal().wait().is_ok() {
                state.0.stop.store(true, Ordering::Relaxed);
                wake();
            }
        });
        let state = told.clone();
        spawn(move || {
            if is_gone() {
                state.end_with(SIGHUP);
            }
        });
        Ok(told)
    }

    /// The signal to end with.
    pub(super) fn end(&self) -> Option<i32> {
        Some(self.0.end.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// Whether to stop for a while. It is said once.
    pub(super) fn is_to_stop(&self) -> bool {
        self.0.stop.swap(false, Ordering::Relaxed)
    }

    /// Notes whether the program has the terminal.
    pub(super) fn set_terminal(&self, has_terminal: bool) {
        self.0.has_terminal.store(has_terminal, Ordering::Relaxed);
    }

    /// Whether the program has the terminal.
    pub(super) fn has_terminal(&self) -> bool {
        self.0.has_terminal.load(Ordering::Relaxed)
    }

    /// Notes that the screen was left: what is told from now on ends the process.
    pub(super) fn leave(&self) {
        self.0.is_left.store(true, Ordering::Relaxed);
    }

    /// Stops the process as SIGTSTP does. Returns when it goes on.
    pub(super) fn stop(&self) -> io::Result<()> {
        let signal = stop_signal();
        signal.thread_unblock()?;
        let stopped = nix::sys::signal::raise(Signal::SIGTSTP);
        signal.thread_block()?;
        stopped?;
        // Who ends a process that stands still lets it go on for that.
        let since = Instant::now();
        while self.end().is_none() && since.elapsed() < SETTLE {
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Tells the screen to end, and ends the process if it does not.
    fn end_with(&self, signal: i32) {
        self.0.end.store(signal, Ordering::Relaxed);
        let is_left = || self.0.is_left.load(Ordering::Relaxed);
        if !is_left() {
            wake();
            let since = Instant::now();
            while since.elapsed() < GRACE {
                sleep(Duration::from_millis(5));
                if is_left() {
                    return;
                }
            }
        }
        if self.has_terminal() {
            let (done, is_done) = channel();
            spawn(move || done.send(restore()));
            let _ = is_done.recv_timeout(RESTORING);
        }
        std::process::exit(128 + signal);
    }
}

/// How long the screen may sleep, for it can be [woken](wake).
pub(super) const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// Wakes the screen's thread: the size of the terminal is what it looks at besides keys.
pub(super) fn wake() {
    let _ = raise(SIGWINCH);
}

/// Waits until the terminal that keys come from is gone. False where that cannot be known.
fn is_gone() -> bool {
    let Ok(terminal) = keyboard() else { return false };
    loop {
        // What is asked for is nothing: that it is gone is always told.
        let mut asked = [PollFd::new(terminal.as_fd(), PollFlags::empty())];
        match poll(&mut asked, PollTimeout::from(LOOK)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => {
                let [asked] = asked;
                return asked.revents().is_some_and(|told| told.intersects(PollFlags::POLLHUP | PollFlags::POLLERR));
            }
            Err(_) => return false,
        }
    }
}

/// The terminal that keys are read from.
fn keyboard() -> io::Result<File> {
    let stdin = stdin();
    if stdin.is_terminal() { Ok(File::from(stdin.as_fd().try_clone_to_owned()?)) } else { File::open("/dev/tty") }
}
