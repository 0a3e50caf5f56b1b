//! Input that is piped in: programs that write it may write to the terminal as well.
//!
//! They do so when they begin, and when they end (tcpdump: "listening on ..."), which spoils the screen. Nobody tells the
//! screen, so it is drawn anew where that is likely: when the input changes its state, and a moment after that. What goes on
//! then is followed, unless the reader has begun to do something else.

use std::time::{Duration, Instant};

/// How long after a change of state others may still write.
const LATER: Duration = Duration::from_secs(1);

/// How far an input has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its first bytes are waited for.
    Waiting,
    /// It is read, and may grow.
    Open,
    /// Nothing more will come.
    Finished,
}

/// Since when an input is what it is.
#[derive(Debug, Default)]
pub(super) struct Piped {
    stage: Option<Stage>,
    /// When a change is long enough ago.
    due: Option<Instant>,
    /// Whether a key was pressed or the mouse was used.
    is_touched: bool,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Do {
    Nothing,
    Redraw,
    /// And the newest message is to be followed.
    RedrawAndFollow,
}

impl Piped {
    /// Takes how far the input has come.
    pub(super) fn note(&mut self, now: Instant, stage: Stage) -> Do {
        if self.stage != Some(stage) {
            self.due = Some(now + LATER);
            // The screen has just been drawn when it begins.
            return if self.stage.replace(stage).is_some() { Do::Redraw } else { Do::Nothing };
        }
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            return if stage == Stage::Open && !self.is_touched { Do::RedrawAndFollow } else { Do::Redraw };
        }
        Do::Nothing
    }

    /// The reader does something.
    pub(super) fn touch(&mut self) {
        self.is_touched = true;
    }

    /// How long nothing is to be done, if nothing happens; None: for good.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_drawn_over() {
        let start = Instant::now();
        let mut piped = Piped::default();
        assert_eq!(piped.rest(start), None);
        let mut seen = Vec::new();
        for (millisecond, stage) in [
            (0, Stage::Waiting),
            (500, Stage::Waiting),
            (1000, Stage::Waiting),
            (5000, Stage::Waiting),
            (6000, Stage::Open),
            (6999, Stage::Open),
            (7000, Stage::Open),
            (9000, Stage::Open),
            (9100, Stage::Finished),
            (9200, Stage::Finished),
            (99_000, Stage::Finished),
            (100_000, Stage::Finished),
        ] {
            let now = start + Duration::from_millis(millisecond);
            seen.push((millisecond, piped.note(now, stage)));
            let rest = piped.rest(now);
            assert!(rest.is_none_or(|rest| !rest.is_zero() && rest <= LATER), "{millisecond}: {rest:?}");
        }
        seen.retain(|(_, what)| *what != Do::Nothing);
        let expected = [
            (1000, Do::Redraw),
            (6000, Do::Redraw),
            (7000, Do::RedrawAndFollow),
            (9100, Do::Redraw),
            (99_000, Do::Redraw),
        ];
        assert_eq!(seen, expected);
        assert_eq!(piped.rest(start), None);
    }

    #[test]
    fn what_is_touched_is_not_followed() {
        let start = Instant::now();
        let mut piped = Piped::default();
        assert_eq!(piped.note(start, Stage::Open), Do::Nothing);
        piped.touch();
        assert_eq!(piped.note(start + LATER, Stage::Open), Do::Redraw);
    }
}
