//! The tree pane: the nodes of a message that are not folded away.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::action::Motion;
use super::opened::Opened;
use super::scroll::Scroll;
use super::text::{Pen, short_size};
use super::theme::Look;
use crate::dissect::{Scope, What};

/// Which nodes of a tree are shown, and which of them is selected.
#[derive(Debug, Default)]
pub(super) struct TreePane {
    /// Nodes that are shown, by index: in order, for the order of nodes is that of lines.
    shown: Vec<u32>,
    unfolded: HashSet<u32>,
    scroll: Scroll,
}

/// Rows that a message is unfolded to at first.
const FIRST_ROWS: usize = 40;

impl TreePane {
    /// A tree with as many levels unfolded as fit on a screen.
    pub(super) fn new(opened: &Opened<'_>) -> Self {
        let mut pane = Self { shown: vec![0], ..Self::default() };
        pane.unfold(opened, 0);
        // Header and body come first, then level by level what fits.
        let mut level: Vec<u32> = pane.shown.iter().copied().skip(1).filter(|index| is_body(opened, *index)).collect();
        while !level.is_empty() {
            let children: usize = level.iter().map(|index| opened.tree.children(*index as usize).count()).sum();
            if pane.shown.len() + children > FIRST_ROWS {
                break;
            }
            let mut below = Vec::new();
            for index in level {
                pane.unfold(opened, index);
                below.extend(opened.tree.children(index as usize).map(|child| child as u32));
            }
            level = below;
        }
        for index in 0..opened.tree.faults().len() {
            let nodes = opened.tree.nodes().iter();
            let fault =
                nodes.enumerate().find(|(_, node)| matches!(node.what, What::Fault(at) if at as usize == index));
            if let Some((at, _)) = fault.filter(|_| index < 3) {
                pane.reveal(opened, at as u32);
            }
        }
        pane
    }

    /// The node that is selected.
    pub(super) fn selected(&self) -> u32 {
        self.shown.get(self.scroll.cursor as usize).copied().unwrap_or_default()
    }

    /// Selects a node and unfolds what hides it.
    pub(super) fn select(&mut self, opened: &Opened<'_>, index: u32, height: u16) {
        self.reveal(opened, index);
        let row = self.shown.binary_search(&index).unwrap_or_default();
        self.scroll.jump(row as u64, self.shown.len() as u64, height.into());
    }

    pub(super) fn apply(&mut self, opened: &Opened<'_>, motion: Motion, height: u16) {
        let index = self.selected();
        match motion {
            Motion::Right if !has_children(opened, index) => {}
            Motion::Right if self.unfolded.contains(&index) => self.apply(opened, Motion::Down, height),
            Motion::Right => self.unfold(opened, index),
            Motion::Left if self.unfolded.contains(&index) => self.fold(opened, index),
            Motion::Left => {
                if let Some(parent) = opened.parent(index) {
                    self.select(opened, parent, height);
                }
            }
            _ => self.scroll.apply(motion, self.shown.len() as u64, height.into()),
        }
    }

    pub(super) fn wheel(&mut self, down: bool, rows: u64, height: u16) {
        self.scroll.wheel(down, rows, self.shown.len() as u64, height.into());
    }

    /// Selects the node in a row of the pane. Whether there is one.
    pub(super) fn click(&mut self, row: u16) -> bool {
        let at = self.scroll.top + u64::from(row);
        let is_there = at < self.shown.len() as u64;
        if is_there {
            self.scroll.cursor = at;
        }
        is_there
    }

    /// Folds or unfolds the node that is selected.
    pub(super) fn toggle(&mut self, opened: &Opened<'_>) {
        let index = self.selected();
        if self.unfolded.contains(&index) {
            self.fold(opened, index);
        } else {
            self.unfold(opened, index);
        }
    }

    /// Unfolds all that is below the node that is selected; folds it where all is unfolded.
    pub(super) fn toggle_all(&mut self, opened: &Opened<'_>) {
        let index = self.selected();
        let below = index..=index + descendants(opened, index);
        let folders: Vec<u32> = below.filter(|at| has_children(opened, *at)).collect();
        let is_all_unfolded = folders.iter().all(|at| self.unfolded.contains(at));
        self.fold(opened, index);
        if is_all_unfolded {
            for at in &folders {
                self.unfolded.remove(at);
            }
        } else {
            self.unfolded.extend(folders.into_iter().filter(|at| *at != index));
            self.unfold(opened, index);
        }
    }

    fn reveal(&mut self, opened: &Opened<'_>, index: u32) {
        let mut above = Vec::new();
        let mut at = index;
        while let Some(parent) = opened.parent(at) {
            above.push(parent);
            at = parent;
        }
        for parent in above.into_iter().rev().filter(|parent| !self.unfolded.contains(parent)).collect::<Vec<_>>() {
            self.unfold(opened, parent);
        }
    }

    fn unfold(&mut self, opened: &Opened<'_>, index: u32) {
        if !has_children(opened, index) || !self.unfolded.insert(index) {
            return;
        }
        let Ok(row) = self.shown.binary_search(&index) else { return };
        let mut rows = Vec::new();
        let end = index + descendants(opened, index);
        let mut at = index + 1;
        while at <= end {
            rows.push(at);
            at += if self.unfolded.contains(&at) { 1 } else { 1 + descendants(opened, at) };
        }
        let behind = row + 1;
        self.shown.splice(behind..behind, rows);
    }

    fn fold(&mut self, opened: &Opened<'_>, index: u32) {
        if !self.unfolded.remove(&index) {
            return;
        }
        let end = index + descendants(opened, index);
        let first = self.shown.partition_point(|at| *at <= index);
        let last = self.shown.partition_point(|at| *at <= end);
        self.shown.drain(first..last);
    }

    /// Draws the rows that are in sight.
    pub(super) fn draw(&mut self, opened: &Opened<'_>, area: Rect, buffer: &mut Buffer, look: Look, has_keys: bool) {
        self.scroll.show(self.shown.len() as u64, area.height.into());
        let rows = self.shown.iter().enumerate().skip(self.scroll.top as usize).take(area.height.into());
        // Deep trees must not push all text out of sight: what is above all in sight by far stands at the left.
        let depth = |index: u32| opened.tree.nodes().get(index as usize).map_or(0, |node| node.depth);
        let deepest = rows.clone().map(|(_, index)| depth(*index)).max().unwrap_or_default();
        let left = deepest.saturating_sub(area.width / 6);
        for (y, (row, index)) in (area.y..).zip(rows) {
            let is_selected = row as u64 == self.scroll.cursor;
            let line = Rect { y, height: 1, ..area };
            self.draw_row(opened, *index, depth(*index).saturating_sub(left) * 2, line, buffer, look);
            if is_selected {
                buffer.set_style(line, look.selected(has_keys));
            }
        }
    }

    fn draw_row(&self, opened: &Opened<'_>, index: u32, indent: u16, area: Rect, buffer: &mut Buffer, look: Look) {
        let Some(node) = opened.tree.nodes().get(index as usize) else { return };
        let line = opened.describer().line(index as usize);
        let mut pen = Pen::new(buffer, area);
        let size = short_size(node.span.len);
        pen.keep_right(size.len() as u16 + 1);
        pen.blanks(indent);
        let sign = match (has_children(opened, index), self.unfolded.contains(&index)) {
            (false, _) => "  ",
            (true, false) => "> ",
            (true, true) => "v ",
        };
        pen.put(sign, look.faint());
        let is_fault = matches!(node.what, What::Fault(_));
        let name = if is_fault { look.odd() } else { look.region(opened.region(index)) };
        pen.put(&opened.name(index), name);
        if !line.ty.is_empty() {
            pen.put(" ", Style::new());
            pen.put(&line.ty, look.faint());
        }
        if !line.value.is_empty() {
            pen.put(if is_fault { " " } else { " = " }, look.faint());
            pen.put(&line.value, if is_fault { look.odd() } else { Style::new() });
        }
        if matches!(node.what, What::Scope(Scope::Inflated(_)) | What::Fault(_)) && !line.note.is_empty() {
            pen.put("  ", Style::new());
            pen.put(&line.note, look.faint());
        }
        pen.right(&size, look.faint());
    }
}

fn has_children(opened: &Opened<'_>, index: u32) -> bool {
    descendants(opened, index) > 0
}

fn descendants(opened: &Opened<'_>, index: u32) -> u32 {
    opened.tree.nodes().get(index as usize).map_or(0, |node| node.descendants)
}

fn is_body(opened: &Opened<'_>, index: u32) -> bool {
    let what = opened.tree.nodes().get(index as usize).map(|node| node.what);
    matches!(what, Some(What::Scope(Scope::Body(_))))
}
