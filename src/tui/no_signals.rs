//! What the system tells the program while it has the terminal, where there are no signals: nothing.

use std::io;
use std::time::Duration;

/// What was told.
#[derive(Debug, Clone)]
pub(super) struct Told;

/// How long the screen may sleep, for nothing but keys wakes it.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// There is nothing to wake the screen with.
pub(super) fn wake() {}

/// There is nothing to hold.
pub(super) fn hold_stop() {}

#[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "where there are signals, these do something")]
impl Told {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn end(&self) -> Option<i32> {
        None
    }

    pub(super) fn is_to_stop(&self) -> bool {
        false
    }

    pub(super) fn set_terminal(&self, _: bool) {}

    pub(super) fn has_terminal(&self) -> bool {
        true
    }

    pub(super) fn leave(&self) {}

    pub(super) fn stop(&self) -> io::Result<()> {
        Ok(())
    }
}
