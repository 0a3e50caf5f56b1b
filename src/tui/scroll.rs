//! A place in a long list, and the part of the list that is shown.

use super::action::Motion;

/// Where the cursor is, and the first row that is shown. Both count from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scroll {
    pub(super) cursor: u64,
    pub(super) top: u64,
}

impl Scroll {
    /// Moves the cursor in a list of `len` rows, of which `height` are shown. Motions that are none of a list do nothing.
    pub(super) fn apply(&mut self, motion: Motion, len: u64, height: u64) {
        let page = height.saturating_sub(1).max(1);
        let half = (height / 2).max(1);
        let last = len.saturating_sub(1);
        let cursor = match motion {
            Motion::Up => self.cursor.saturating_sub(1),
            Motion::Down => self.cursor.saturating_add(1),
            Motion::PageUp => self.cursor.saturating_sub(page),
            Motion::PageDown => self.cursor.saturating_add(page),
            Motion::HalfPageUp => self.cursor.saturating_sub(half),
            Motion::HalfPageDown => self.cursor.saturating_add(half),
            Motion::First | Motion::LineStart => 0,
            Motion::Last | Motion::LineEnd => last,
            Motion::Left | Motion::Right => self.cursor,
        };
        // A page moves what is shown as well, so that the eye finds the cursor where it was.
        let moved = cursor.min(last).abs_diff(self.cursor);
        match motion {
            Motion::PageUp | Motion::HalfPageUp => self.top = self.top.saturating_sub(moved),
            Motion::PageDown | Motion::HalfPageDown => self.top = self.top.saturating_add(moved),
            _ => {}
        }
        self.cursor = cursor.min(last);
        self.show(len, height);
    }

    /// Puts the cursor somewhere; far jumps leave it in the middle of what is shown.
    pub(super) fn jump(&mut self, cursor: u64, len: u64, height: u64) {
        self.cursor = cursor.min(len.saturating_sub(1));
        let is_near = self.cursor + 1 >= self.top && self.cursor <= self.top + height;
        if !is_near {
            self.top = self.cursor.saturating_sub(height / 2);
        }
        self.show(len, height);
    }

    /// Moves what is shown without the cursor, as a wheel does, but keeps the cursor in it.
    pub(super) fn wheel(&mut self, down: bool, rows: u64, len: u64, height: u64) {
        let most = len.saturating_sub(height);
        self.top = if down { (self.top + rows).min(most) } else { self.top.saturating_sub(rows) };
        self.cursor =
            self.cursor.clamp(self.top, (self.top + height.max(1) - 1).min(len.saturating_sub(1)).max(self.top));
    }

    /// Makes the cursor be shown, and no room be wasted behind the end.
    pub(super) fn show(&mut self, len: u64, height: u64) {
        let height = height.max(1);
        self.top = self.top.min(len.saturating_sub(height));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stays_in_the_list_and_on_the_screen() {
        let mut scroll = Scroll::default();
        scroll.apply(Motion::Up, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 0, top: 0 });
        scroll.apply(Motion::PageDown, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 9, top: 9 });
        scroll.apply(Motion::Last, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 99, top: 90 });
        scroll.apply(Motion::Down, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 99, top: 90 });
        scroll.jump(50, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 50, top: 45 });
        scroll.wheel(true, 20, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 65, top: 65 });
        scroll.apply(Motion::First, 0, 10);
        assert_eq!(scroll, Scroll::default());
    }
}
