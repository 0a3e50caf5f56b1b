//! Text on the screen: pieces in a row, cut where there is no room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Writes pieces of text one behind the other into one line.
pub(super) struct Pen<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
    x: u16,
    /// Columns at the right that are kept free.
    kept: u16,
}

impl<'b> Pen<'b> {
    /// At the left of an area's first line.
    pub(super) fn new(buffer: &'b mut Buffer, area: Rect) -> Self {
        Self { buffer, area, x: area.x, kept: 0 }
    }

    /// Keeps columns at the right free for [`Pen::right`].
    pub(super) fn keep_right(&mut self, columns: u16) {
        self.kept = columns.min(self.area.width);
    }

    fn end(&self) -> u16 {
        self.area.right().saturating_sub(self.kept)
    }

    /// Columns that are left.
    pub(super) fn room(&self) -> u16 {
        self.end().saturating_sub(self.x)
    }

    /// Writes a piece; where it is longer than there is room, it ends with `…`.
    pub(super) fn put(&mut self, text: &str, style: Style) {
        let room = self.room();
        if room == 0 || self.area.height == 0 || text.is_empty() {
            return;
        }
        // Most of a long text is never looked at, but many characters may be one column.
        let most = (usize::from(room) + 1) * CHARACTERS;
        let seen = text.char_indices().nth(most).map_or(text, |(end, _)| text.get(..end).unwrap_or_default());
        let is_cut = seen.len() < text.len() || seen.width() > usize::from(room);
        let width = usize::from(if is_cut { room - 1 } else { room });
        let (x, y) = self.buffer.set_stringn(self.x, self.area.y, seen, width, style);
        self.x = x;
        if is_cut {
            self.buffer.set_stringn(x, y, "…", 1, style);
            self.x = self.end();
        }
    }

    /// Leaves columns blank.
    pub(super) fn blanks(&mut self, columns: u16) {
        self.x = self.x.saturating_add(columns).min(self.end());
    }

    /// Writes a piece in a column of a width, and a blank behind it.
    pub(super) fn column(&mut self, text: &str, width: u16, at_right: bool, style: Style) {
        let whole = self.area.width;
        let end = self.x.saturating_add(width).min(self.end());
        let used = (text.width() as u16).min(width);
        let kept = self.kept;
        if at_right {
            self.x = self.x.saturating_add(width - used).min(end);
        }
        self.kept = self.area.x.saturating_add(whole).saturating_sub(end);
        self.put(text, style);
        self.kept = kept;
        self.x = end.saturating_add(1).min(self.end());
    }

    /// Writes a piece at the right end of the line.
    pub(super) fn right(&mut self, text: &str, style: Style) {
        let width = (text.width() as u16).min(self.area.width);
        if self.area.height > 0 {
            let x = self.area.right() - width;
            self.buffer.set_stringn(x, self.area.y, text, usize::from(width), style);
        }
    }
}

/// Characters that a column may be made of: signs that are put above and below a letter, and pictures joined to one.
const CHARACTERS: usize = 16;

/// The end of a text that fits into columns.
pub(super) fn tail(text: &str, columns: usize) -> &str {
    let (mut start, mut left) = (text.len(), columns);
    for (at, letter) in text.char_indices().rev() {
        // What belongs to a letter does not stand without it.
        let Some(width) = letter.width().filter(|width| *width > 0) else { continue };
        if width > left {
            break;
        }
        (start, left) = (at, left - width);
    }
    text.get(start..).unwrap_or_default()
}

/// A number of bytes in few columns: `17B`, `1.2M`.
pub(super) fn short_size(bytes: u32) -> String {
    if bytes < 100_000 {
        return format!("{bytes}B");
    }
    let mut text = String::new();
    crate::output::units::short_bytes(&mut text, bytes.into());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str, width: u16) -> String {
        let area = Rect::new(0, 0, width, 1);
        let mut buffer = Buffer::empty(area);
        Pen::new(&mut buffer, area).put(text, Style::new());
        (0..width).map(|x| buffer[(x, 0)].symbol()).collect()
    }

    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(put("abc", 3), "abc");
        assert_eq!(put("abcd", 3), "ab…");
        // Each letter has five signs on it: 4 columns, 24 characters.
        let marked: String = "abcd"
            .chars()
            .flat_map(|letter| [letter].into_iter().chain("\u{301}\u{316}\u{489}\u{302}\u{323}".chars()))
            .collect();
        assert_eq!(put(&marked, 4), marked);
        assert_eq!(put(&marked, 6), format!("{marked}  "));
        assert!(put(&marked, 3).ends_with('…'));
        // A family of four is two columns wide.
        let family = "👨‍👩‍👧‍👦";
        assert!(put(&family.repeat(3), 6).contains(family));
        // However many signs: what is looked at is bounded.
        let endless = format!("a{}", "\u{301}".repeat(1_000_000));
        assert!(put(&endless, 4).len() < 400);
    }

    #[test]
    fn the_end_of_a_text_fits() {
        assert_eq!(tail("abcdef", 3), "def");
        assert_eq!(tail("abc", 3), "abc");
        assert_eq!(tail("abc", 0), "");
        assert_eq!(tail("日本語", 5), "本語");
        assert_eq!(tail("ae\u{301}b", 2), "e\u{301}b");
        assert_eq!(tail("ae\u{301}b", 1), "b");
    }
}
