//! How much comes: messages and bytes a second, over the last few seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How far back it looks.
const WINDOW: Duration = Duration::from_secs(3);
/// How often what is shown changes: what changes more often cannot be read.
const STEP: Duration = Duration::from_secs(1);

/// Counts of what has come, and how fast they grow.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// Counts, a step apart, the first of them no younger than the window where there are such.
    samples: VecDeque<(Instant, Counts)>,
    /// What was counted last.
    latest: Counts,
    /// Tenths of a message, and bytes, a second.
    shown: (u64, u64),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    messages: u64,
    bytes: u64,
}

impl Rate {
    /// Takes what has come until now. To be called whenever that has changed: what was not told has not come.
    pub(super) fn note(&mut self, now: Instant, messages: u64, bytes: u64) {
        self.latest = Counts { messages, bytes };
        let is_due = |(at, _): &(Instant, Counts)| now.saturating_duration_since(*at) >= STEP;
        if !self.samples.back().is_none_or(is_due) {
            return;
        }
        self.samples.push_back((now, self.latest));
        let is_old = |sample: Option<&(Instant, Counts)>| {
            sample.is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW)
        };
        // The youngest one that is older than the window says what there was when the window began.
        while is_old(self.samples.get(1)) {
            self.samples.pop_front();
        }
        let Some((at, base)) = self.samples.front() else { return };
        let milliseconds = now.saturating_duration_since(*at).clamp(STEP, WINDOW).as_millis() as u64;
        let grown = |now: u64, then: u64, parts: u64| now.saturating_sub(then).saturating_mul(parts) / milliseconds;
        self.shown = (grown(messages, base.messages, 10_000), grown(bytes, base.bytes, 1000));
    }

    /// How long what is shown stays true when nothing comes; None: for good.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let (at, last) = self.samples.back()?;
        let is_still = self.shown == (0, 0) && *last == self.latest;
        (!is_still).then(|| STEP.saturating_sub(now.saturating_duration_since(*at)))
    }

    /// The rates in words, always in as many columns.
    pub(super) fn text(&self) -> String {
        let (tenths, bytes) = self.shown;
        let messages = match tenths {
            0 => "0".to_owned(),
            1..100 => format!("{}.{}", tenths / 10, tenths % 10),
            100..10_000_000 => (tenths / 10).to_string(),
            _ => format!("{}k", tenths / 10_000),
        };
        format!("{messages:>6} msg/s {:>8}/s", size(bytes))
    }
}

/// A number of bytes, counted in thousands: `0 B`, `1.2 kB`, `12.3 MB`.
fn size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = (u128::from(bytes) * 10, ' ');
    for next in ['k', 'M', 'G', 'T', 'P', 'E'] {
        // What would be rounded to 1000 is one of the next unit.
        if tenths < 10_000 {
            break;
        }
        (tenths, unit) = ((tenths + 500) / 1000, next);
    }
    format!("{}.{} {unit}B", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_came_in_the_last_three_seconds_counts() {
        let start = Instant::now();
        let mut rate = Rate::default();
        assert_eq!(rate.rest(start), None);
        rate.note(start, 0, 0);
        assert_eq!(rate.text(), "     0 msg/s      0 B/s");
        assert_eq!(rate.rest(start), None);
        // Ten messages a second, of 150 bytes each.
        for second in 1..=10 {
            rate.note(start + SECOND * second, u64::from(second) * 10, u64::from(second) * 1500);
            assert_eq!(rate.text(), "    10 msg/s   1.5 kB/s");
            assert!(rate.samples.len() <= 4);
        }
        // Nothing more comes: it goes down, and is nothing after three seconds.
        let mut seen = Vec::new();
        for second in 11..=13 {
            let now = start + SECOND * second;
            assert!(rate.rest(now).is_some());
            rate.note(now, 100, 15_000);
            seen.push(rate.text());
        }
        assert_eq!(seen, ["   6.6 msg/s   1.0 kB/s", "   3.3 msg/s    500 B/s", "     0 msg/s      0 B/s"]);
        assert_eq!(rate.rest(start + SECOND * 14), None);
        // After a long time without anything, what comes counts at once, over the window.
        let late = start + SECOND * 100;
        rate.note(late, 103, 18_000);
        assert_eq!(rate.text(), "   1.0 msg/s   1.0 kB/s");
        // What comes within a step is shown with the next one.
        rate.note(late + SECOND / 2, 106, 18_000);
        assert_eq!(rate.text(), "   1.0 msg/s   1.0 kB/s");
        assert_eq!(rate.rest(late + SECOND / 2), Some(SECOND / 2));
        rate.note(late + SECOND, 106, 18_000);
        assert_eq!(rate.text(), "   2.0 msg/s   1.0 kB/s");
    }

    #[test]
    fn rates_are_of_one_width() {
        let mut rate = Rate::default();
        for shown in [(0, 0), (1, 999), (99, 1000), (100, 999_949), (9_999_999, 999_950), (999_999_999, u64::MAX)] {
            rate.shown = shown;
            assert!(rate.text().chars().count() == 23, "{:?}", rate.text());
        }
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(999_949), "999.9 kB");
        assert_eq!(size(999_950), "1.0 MB");
    }
}
