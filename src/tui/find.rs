//! Moving from message to message: jumps, pairs, faults, marks, searches, filters.

use super::app::{App, Goal};
use super::filter::Filter;
use super::layout::Pane;
use super::seeker::{Finding, Hunt, cannot_be_read};
use crate::book::{Entry, Step};

#[cfg(test)]
mod tests;

/// Messages that were left, to go back to.
const MAX_HISTORY: usize = 100;

impl App<'_, '_> {
    /// Selects a message; one that the filter has left out stays so.
    pub(super) fn jump(&mut self, number: u64) {
        if let Some(from) = self.list.selected().filter(|from| *from != number) {
            self.history.push(from);
            if self.history.len() > MAX_HISTORY {
                self.history.remove(0);
            }
        }
        self.select(number);
    }

    pub(super) fn select(&mut self, number: u64) {
        let row = self.list.row_of(number);
        if self.list.number(row) != Some(number) {
            self.tell(format!("#{number} is not in the filter; Esc leaves it"));
        }
        self.follow = false;
        self.list.scroll.jump(row, self.list.len(), self.list_height());
    }

    pub(super) fn back(&mut self) {
        match self.history.pop() {
            Some(number) => self.select(number),
            None => self.tell("nowhere to go back to"),
        }
    }

    pub(super) fn pair(&mut self) {
        let Some(number) = self.list.selected() else { return };
        match self.book.pair(number) {
            Some(other) => self.jump(other),
            None => self.tell(format!("#{number} has no other half in this capture")),
        }
    }

    pub(super) fn in_connection(&mut self, step: Step) {
        let Some(number) = self.list.selected() else { return };
        let Some(connection) = self.book.entry(number).map(|entry| entry.connection) else { return };
        match self.next(number, step, |entry| entry.connection == connection) {
            Some(other) => self.jump(other),
            None => self.tell("no more messages of this connection"),
        }
    }

    /// The next fault: in the message that is open, else of the next message that has one.
    pub(super) fn fault(&mut self, step: Step) {
        let Some(number) = self.list.selected() else { return };
        let height = self.areas.tree.height;
        if let Some(view) = self.view.as_mut().filter(|view| view.opened.number == number) {
            let index = view.tree.selected();
            if let Some(fault) = view.opened.fault_beside(index, step == Step::Forward) {
                view.tree.select(&view.opened, fault, height);
                self.tree_to_bytes();
                return;
            }
        }
        if let Some(other) = self.next(number, step, |entry| entry.faulty) {
            self.goal = Some((other, Goal::Fault(step)));
            self.jump(other);
            return;
        }
        let side = if step == Step::Forward { "behind this one" } else { "before this one" };
        let among = if self.filter.is_some() { " in the filter" } else { "" };
        self.tell(format!("no fault {side}{among}"));
    }

    /// The next message that is listed and wanted.
    pub(super) fn next(&self, from: u64, step: Step, wanted: impl Fn(&Entry) -> bool) -> Option<u64> {
        let is_listed = |number| self.list.number(self.list.row_of(number)) == Some(number);
        self.book.next(from, step, |entry| wanted(entry) && is_listed(entry.index))
    }

    pub(super) fn mark(&mut self, letter: char, go: bool) {
        match (go, self.marks.get(&letter), self.list.selected()) {
            (true, Some(number), _) => self.jump(*number),
            (true, None, _) => self.tell(format!("nothing is marked {letter}")),
            (false, _, Some(number)) => {
                self.marks.insert(letter, number);
                self.tell(format!("#{number} is marked {letter}"));
            }
            (false, _, None) => {}
        }
    }

    /// Looks for the pattern that was typed last.
    pub(super) fn search(&mut self, forward: bool) {
        let Some((text, pattern)) = &self.pattern else {
            self.tell("nothing was searched for yet; / does");
            return;
        };
        let Some(number) = self.list.selected() else { return };
        let node = self.view.as_ref().filter(|view| view.opened.number == number).map(|view| view.tree.selected());
        let hunt =
            Hunt::Pattern { pattern: pattern.clone(), from: (number, node), forward, among: self.list.wanted.clone() };
        let text = format!("searching {text}");
        self.seeker.begin(hunt);
        self.search_from = Some((number, node, forward));
        self.sought = 0;
        self.tell(text);
    }

    /// Lists only messages that pass; no words: all.
    pub(super) fn set_filter(&mut self, text: &str) {
        let selected = self.list.selected().or(self.last);
        self.seeker.cancel();
        self.sought = 0;
        match Filter::parse(text, self.opening.catalog) {
            None => {
                self.filter = None;
                self.list.wanted = None;
                let row = selected.map_or(0, |number| self.list.row_of(number));
                self.list.scroll.jump(row, self.list.len(), self.list_height());
            }
            Some(filter) => {
                self.filter = Some(text.to_owned());
                self.list.wanted = Some(Vec::new());
                self.anchor = selected;
                self.seeker.begin(Hunt::Filter(filter));
            }
        }
    }

    /// Takes what was found since.
    pub(super) fn take_findings(&mut self) {
        for finding in self.seeker.findings() {
            match finding {
                Finding::Progress(sought) => self.sought = sought,
                Finding::Passing(numbers, sought) => {
                    self.sought = sought;
                    if let Some(wanted) = &mut self.list.wanted {
                        wanted.extend(numbers);
                    }
                    if let Some(anchor) = self.anchor.filter(|anchor| *anchor <= sought) {
                        let (row, len) = (self.list.row_of(anchor), self.list.len());
                        self.list.scroll.jump(row.min(len.saturating_sub(1)), len, self.list_height());
                    }
                }
                Finding::Node(number, node) => {
                    self.seeker.end();
                    self.notice = None;
                    if self.search_from.take().is_some_and(|from| is_around(from, (number, node))) {
                        self.tell("around the end");
                    }
                    self.goal = Some((number, Goal::Node(node)));
                    let is_open = self.view.as_ref().is_some_and(|view| view.opened.number == number);
                    self.jump(number);
                    if is_open {
                        self.reach_goal();
                    }
                    // The keys stay where they are, unless nothing of what was found could be seen then.
                    if self.areas.tree.is_empty() && self.areas.hex.is_empty() {
                        self.give_keys(Pane::Tree);
                    }
                }
                Finding::Filtered => self.seeker.end(),
                Finding::Unreadable(count) => {
                    self.fail(format!("{}, so the filter leaves them out", cannot_be_read(count)));
                }
                Finding::Nowhere(unseen) => {
                    self.seeker.end();
                    let text = self.pattern.as_ref().map_or("it", |(text, _)| text);
                    self.fail(format!("{text} is nowhere{unseen}"));
                }
            }
        }
    }

    /// Goes to the node that the message was opened for.
    pub(super) fn reach_goal(&mut self) {
        let height = self.areas.tree.height;
        let Some(view) = &mut self.view else { return };
        let Some((_, goal)) = self.goal.take_if(|(number, _)| *number == view.opened.number) else { return };
        let node = match goal {
            Goal::Node(node) => Some(node),
            Goal::Fault(Step::Forward) => view.opened.fault_beside(0, true),
            Goal::Fault(Step::Backward) => view.opened.fault_beside(u32::MAX, false),
        };
        if let Some(node) = node {
            view.tree.select(&view.opened, node, height);
            self.field = Some((view.opened.title.0.clone(), view.opened.path(node)));
        }
        self.tree_to_bytes();
    }
}

/// Whether a search that began at a node of a message has come to one around the end.
fn is_around((from, node, forward): (u64, Option<u32>, bool), found: (u64, u32)) -> bool {
    let from = (from, node.unwrap_or(if forward { 0 } else { u32::MAX }));
    if forward { found < from || (found == from && node.is_some()) } else { found >= from }
}
