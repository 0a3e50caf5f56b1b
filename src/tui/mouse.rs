//! The mouse: a click selects, another one opens, the wheel moves what is shown, lines between panes can be dragged.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::action::Action;
use super::app::{App, Mode};
use super::layout::Pane;

/// Rows that a step of the wheel moves.
const WHEEL: u16 = 3;

/// A line between panes that is being dragged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drag {
    /// The one below the list.
    BelowList,
    /// The one between tree and bytes.
    BesideTree,
}

impl App<'_, '_> {
    /// Takes what the mouse does.
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        if event.kind != MouseEventKind::Moved {
            self.piped.touch();
        }
        if !matches!(self.mode, Mode::Usual) {
            if event.kind == MouseEventKind::Down(MouseButton::Left) {
                self.mode = Mode::Usual;
            }
            return;
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => self.click(at),
            MouseEventKind::Drag(MouseButton::Left) => self.drag_to(at),
            MouseEventKind::Up(_) => self.drag = None,
            MouseEventKind::ScrollDown => self.wheel(at, true),
            MouseEventKind::ScrollUp => self.wheel(at, false),
            _ => {}
        }
    }

    fn click(&mut self, at: Position) {
        self.notice = None;
        let areas = self.areas;
        let below_list = if areas.list.is_empty() { Rect::ZERO } else { areas.tree_title.union(areas.hex_title) };
        if areas.divider.contains(at) {
            self.drag = Some(Drag::BesideTree);
        } else if below_list.contains(at) && at.y == areas.list.bottom() {
            self.drag = Some(Drag::BelowList);
        }
        let Some((pane, inside)) = self.pane_at(at) else { return };
        let was_selected = self.selection();
        let has_keys = self.focus == pane;
        let is_there = match pane {
            Pane::List => self.click_list(inside.y),
            Pane::Tree => {
                let is_there = self.view.as_mut().is_some_and(|view| view.tree.click(inside.y));
                self.tree_to_bytes();
                is_there
            }
            Pane::Hex => {
                let (area, options) = (areas.hex, self.hex);
                let place = (inside.x, inside.y);
                let is_there =
                    self.view.as_mut().is_some_and(|view| view.hex.click(&view.opened, place, area, options));
                self.bytes_to_tree();
                is_there
            }
        };
        self.give_keys(pane);
        self.note_field();
        // A second click on what is selected opens it.
        if is_there && has_keys && was_selected == self.selection() && pane != Pane::Hex {
            self.act(Action::Open);
        }
    }

    fn selection(&self) -> (u64, Option<u32>) {
        (self.list.scroll.cursor, self.view.as_ref().map(|view| view.tree.selected()))
    }

    fn click_list(&mut self, row: u16) -> bool {
        let Some(row) = row.checked_sub(1) else { return false };
        let row = self.list.scroll.top + u64::from(row);
        let is_there = row < self.list.len();
        if is_there {
            self.list.scroll.cursor = row;
            self.follow = false;
        }
        is_there
    }

    fn wheel(&mut self, at: Position, down: bool) {
        let Some((pane, _)) = self.pane_at(at) else { return };
        let areas = self.areas;
        match (pane, &mut self.view) {
            (Pane::List, _) => {
                let len = self.list.len();
                self.follow = false;
                self.list.scroll.wheel(down, WHEEL.into(), len, areas.list.height.saturating_sub(1).into());
            }
            (Pane::Tree, Some(view)) => {
                view.tree.wheel(down, WHEEL.into(), areas.tree.height);
                self.tree_to_bytes();
            }
            (Pane::Hex, Some(view)) => {
                view.hex.wheel(down, WHEEL.into(), &view.opened, areas.hex, self.hex);
                self.bytes_to_tree();
            }
            (_, None) => {}
        }
    }

    fn drag_to(&mut self, at: Position) {
        let screen = self.areas.screen();
        let parts = |part: u16, whole: u16| (u32::from(part) * 1000 / u32::from(whole.max(1))) as u16;
        match self.drag {
            Some(Drag::BesideTree) => self.layout.tree = Some(parts(at.x + 1, screen.width).clamp(50, 950)),
            Some(Drag::BelowList) => {
                let height = screen.height.saturating_sub(2 + self.areas.detail.height);
                self.layout.list = parts(at.y.saturating_sub(screen.y + 1) + 1, height).clamp(50, 900);
            }
            None => {}
        }
    }
}
