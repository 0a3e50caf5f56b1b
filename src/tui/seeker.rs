//! Looking through many messages beside the screen: for a search, or to learn which pass a filter.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::filter::Filter;
use super::opened::Opened;
use super::pattern::Pattern;
use super::rows::RowMaker;
use crate::book::{Book, Room};
use crate::dissect::Opening;

#[cfg(test)]
mod tests;

/// Something to look for.
#[derive(Debug)]
pub(super) enum Hunt {
    /// The next place of a pattern.
    Pattern {
        pattern: Pattern,
        /// The message to begin with, and the node in it behind which (before which) it goes on.
        from: (u64, Option<u32>),
        forward: bool,
        /// The messages to look through; `None`: all.
        among: Option<Vec<u64>>,
    },
    /// All messages that pass a filter; it goes on as long as messages come.
    Filter(Filter),
}

/// What was found.
#[derive(Debug)]
pub(super) enum Finding {
    /// A node of a message.
    Node(u64, u32),
    /// Messages that pass the filter, and how many were looked at.
    Passing(Vec<u64>, u64),
    /// How many messages were looked at.
    Progress(u64),
    /// The pattern is nowhere, as far as could be looked.
    Nowhere(Unseen),
    /// So many messages cannot be read, and are not held against the filter.
    Unreadable(u64),
    /// All messages were held against the filter.
    Filtered,
}

/// What a search could not look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    /// Messages that cannot be read.
    pub(super) unreadable: u64,
    /// The first message that has more than was opened of it, and how many there are.
    pub(super) more: Option<(u64, u64)>,
}

impl fmt::Display for Unseen {
    /// To be put behind `… is nowhere`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.more {
            None => {}
            Some((first, 1)) => write!(f, " in what was opened; #{first} has more")?,
            Some((first, 2)) => write!(f, " in what was opened; #{first} and another one have more")?,
            Some((first, all)) => write!(f, " in what was opened; #{first} and {} others have more", all - 1)?,
        }
        if self.unreadable > 0 {
            write!(f, "; {}", cannot_be_read(self.unreadable))?;
        }
        Ok(())
    }
}

/// `3 messages cannot be read`.
pub(super) fn cannot_be_read(count: u64) -> String {
    format!("{count} {} cannot be read", if count == 1 { "message" } else { "messages" })
}

/// The screen's end.
#[derive(Debug)]
pub(super) struct Seeker {
    hunts: Sender<(Hunt, Arc<AtomicBool>, u64)>,
    findings: Receiver<(u64, Finding)>,
    current: Option<Arc<AtomicBool>>,
    number: u64,
    /// Whether it is a pattern that it looks for.
    is_search: bool,
}

/// The other end: run it on a thread of its own.
#[derive(Debug)]
pub(super) struct Scout<'b, 'p> {
    book: &'b Book<'p>,
    opening: Opening<'p>,
    show_secrets: bool,
    hunts: Receiver<(Hunt, Arc<AtomicBool>, u64)>,
    findings: Sender<(u64, Finding)>,
}

/// Both ends.
pub(super) fn seeker<'b, 'p>(book: &'b Book<'p>, opening: Opening<'p>, show_secrets: bool) -> (Seeker, Scout<'b, 'p>) {
    let (hunt, hunts) = channel();
    let (finding, findings) = channel();
    let seeker = Seeker { hunts: hunt, findings, current: None, number: 0, is_search: false };
    (seeker, Scout { book, opening, show_secrets, hunts, findings: finding })
}

impl Seeker {
    /// Begins to look for something else.
    pub(super) fn begin(&mut self, hunt: Hunt) {
        self.cancel();
        self.number += 1;
        self.is_search = matches!(hunt, Hunt::Pattern { .. });
        let cancelled = Arc::new(AtomicBool::new(false));
        self.current = Some(Arc::clone(&cancelled));
        // A scout that is gone finds nothing.
        let _ = self.hunts.send((hunt, cancelled, self.number));
    }

    /// Stops. Whether there was something to stop.
    pub(super) fn cancel(&mut self) -> bool {
        let current = self.current.take();
        if let Some(cancelled) = &current {
            cancelled.store(true, Ordering::Relaxed);
        }
        current.is_some()
    }

    /// What was found since.
    pub(super) fn findings(&mut self) -> Vec<Finding> {
        let all: Vec<_> = self.findings.try_iter().collect();
        let number = self.number;
        let is_wanted = self.current.is_some();
        all.into_iter().filter(|(of, _)| is_wanted && *of == number).map(|(_, finding)| finding).collect()
    }

    /// Whether it looks for something.
    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    /// Whether it looks for a pattern.
    pub(super) fn is_searching(&self) -> bool {
        self.is_busy() && self.is_search
    }

    /// What was looked for is found.
    pub(super) fn end(&mut self) {
        self.current = None;
    }
}

impl Drop for Seeker {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// How often it says how far it is.
const REPORT: Duration = Duration::from_millis(30);

impl<'p> Scout<'_, 'p> {
    /// Looks for one thing after the other until the screen is gone.
    pub(super) fn run(self) {
        let mut maker = RowMaker::new(self.opening.catalog);
        while let Ok(first) = self.hunts.recv() {
            // Only the latest is still wanted.
            let (hunt, cancelled, number) = self.hunts.try_iter().last().unwrap_or(first);
            if cancelled.load(Ordering::Relaxed) {
                continue;
            }
            let tell = |finding| {
                let is_there = self.findings.send((number, finding)).is_ok();
                self.book.bell().ring();
                is_there && !cancelled.load(Ordering::Relaxed)
            };
            match hunt {
                Hunt::Pattern { pattern, from, forward, among } => {
                    self.search(&pattern, from, forward, among.as_deref(), (&cancelled, &tell));
                }
                Hunt::Filter(filter) => self.filter(&filter, &mut maker, &cancelled, &tell),
            }
        }
    }

    fn search(
        &self,
        pattern: &Pattern,
        from: (u64, Option<u32>),
        forward: bool,
        among: Option<&[u64]>,
        (stop, tell): (&Arc<AtomicBool>, &dyn Fn(Finding) -> bool),
    ) {
        let all = self.book.len();
        let rows = among.map_or(all, |among| among.len() as u64);
        let number = |row: u64| match among {
            Some(among) => among.get(row as usize).copied(),
            None => Some(row + 1),
        };
        let first = among.map_or(from.0 - 1, |among| among.partition_point(|number| *number < from.0) as u64);
        let mut room = Room::default();
        let mut since = Instant::now();
        let mut unseen = Unseen::default();
        for step in 0..=rows {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            // Around the end and back to the beginning of the message that it began with.
            let row =
                if forward { (first + step) % rows.max(1) } else { (first + rows - step % rows.max(1)) % rows.max(1) };
            let Some(number) = number(row) else { break };
            // The message that it began with comes again at the end.
            let is_again = step == rows;
            if let Ok(message) = self.book.message(number, &mut room) {
                let mut opened = Opened::until(stop, &message, self.opening, self.show_secrets, self.book.topics());
                opened.take_comments(self.book);
                let behind = from.1.filter(|_| step == 0);
                if let Some(node) = pattern.find(&opened, behind, forward, stop) {
                    tell(Finding::Node(number, node));
                    return;
                }
                if !is_again && opened.has_more() {
                    let (first, count) = unseen.more.unwrap_or((number, 0));
                    unseen.more = Some((first.min(number), count + 1));
                }
            } else if !is_again {
                unseen.unreadable += 1;
            }
            if since.elapsed() > REPORT {
                since = Instant::now();
                if !tell(Finding::Progress(step)) {
                    return;
                }
            }
        }
        tell(Finding::Nowhere(unseen));
    }

    fn filter(&self, filter: &Filter, maker: &mut RowMaker<'p>, stop: &AtomicBool, tell: &dyn Fn(Finding) -> bool) {
        let mut room = Room::default();
        let mut since = Instant::now();
        let mut passing = Vec::new();
        let mut next = 1;
        let (mut reported, mut unreadable, mut told) = (0, 0, 0);
        while !stop.load(Ordering::Relaxed) {
            // First whether more may come, then whether there is more.
            let is_finished = self.book.status().finished;
            let all = self.book.len();
            while next <= all {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                match self.book.message(next, &mut room) {
                    Ok(message) if filter.passes(&maker.row(&message, self.book)) => passing.push(next),
                    Ok(_) => {}
                    Err(_) => unreadable += 1,
                }
                next += 1;
                if since.elapsed() > REPORT {
                    since = Instant::now();
                    if !tell(Finding::Passing(std::mem::take(&mut passing), next - 1)) {
                        return;
                    }
                }
            }
            // Where nothing comes there is nothing to tell.
            if next - 1 > reported && !tell(Finding::Passing(std::mem::take(&mut passing), next - 1)) {
                return;
            }
            reported = next - 1;
            if unreadable > told {
                told = unreadable;
                tell(Finding::Unreadable(unreadable));
            }
            if is_finished {
                tell(Finding::Filtered);
                return;
            }
            std::thread::sleep(REPORT);
        }
    }
}
