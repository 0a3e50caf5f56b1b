//! The help: all keys by topic, from the table that binds them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::action::{ACTIONS, Action, Motion, Topic};
use super::keys::Keymap;
use super::text::Pen;
use super::theme::Look;
use crate::output::table::wrap;

/// What is shown of the help.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Help {
    /// The first line.
    top: u16,
    /// Lines in sight.
    height: u16,
}

impl Help {
    /// Moves what is shown. Whatever is too far is put right when it is drawn.
    pub(super) fn apply(&mut self, motion: Motion) {
        let page = self.height.saturating_sub(1).max(1);
        let half = (self.height / 2).max(1);
        self.top = match motion {
            Motion::Up => self.top.saturating_sub(1),
            Motion::Down => self.top.saturating_add(1),
            Motion::PageUp => self.top.saturating_sub(page),
            Motion::PageDown => self.top.saturating_add(page),
            Motion::HalfPageUp => self.top.saturating_sub(half),
            Motion::HalfPageDown => self.top.saturating_add(half),
            Motion::First | Motion::LineStart => 0,
            Motion::Last | Motion::LineEnd => u16::MAX,
            Motion::Left | Motion::Right => self.top,
        };
    }
}

/// Draws it over the screen.
pub(super) fn draw(help: &mut Help, keymap: &Keymap, screen: Rect, buffer: &mut Buffer, look: Look) {
    let width = screen.width.min(84);
    let lines = lines(keymap, usize::from(width).saturating_sub(KEYS + 5));
    let height = screen.height.saturating_sub(2).min(lines.len() as u16 + 2);
    let area =
        Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (screen.height - height) / 2, width, height };
    let inner = frame(area, " Keys (any other key closes) ", buffer, look);
    let below = (lines.len() as u16).saturating_sub(inner.height);
    *help = Help { top: help.top.min(below), height: inner.height };
    if help.top < below && inner.height > 0 {
        let key = keymap.keys_of(Action::Move(Motion::PageDown)).into_iter().next().unwrap_or_default();
        let mut pen = Pen::new(buffer, Rect { y: area.bottom() - 1, height: 1, x: inner.x, width: inner.width });
        pen.put(format!(" more below: {key}").trim_end_matches([':', ' ']), look.heading());
        pen.put(" ", Style::new());
    }
    for (y, line) in (inner.y..inner.bottom()).zip(lines.iter().skip(help.top.into())) {
        let mut pen = Pen::new(buffer, Rect { y, height: 1, ..inner });
        match line {
            Line::Blank => {}
            Line::Topic(topic) => pen.put(topic.name(), look.heading_with_keys()),
            Line::Keys(keys, help) => {
                pen.put("  ", Style::new());
                pen.column(keys, KEYS as u16, false, look.heading());
                pen.put(help, Style::new());
            }
        }
    }
}

/// A line of the help.
enum Line {
    Blank,
    Topic(Topic),
    /// Keys and what they do, or the rest of it.
    Keys(String, String),
}

/// Columns of the keys.
const KEYS: usize = 16;

fn lines(keymap: &Keymap, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for topic in Topic::ALL {
        if !lines.is_empty() {
            lines.push(Line::Blank);
        }
        lines.push(Line::Topic(topic));
        for entry in ACTIONS.iter().filter(|entry| entry.topic == topic) {
            let mut keys = keymap.keys_of(entry.action).join("  ");
            for text in wrap(entry.help, width, 0) {
                lines.push(Line::Keys(std::mem::take(&mut keys), text));
            }
        }
    }
    lines
}

/// Clears an area, draws a border with a title around it, and gives what is inside.
pub(super) fn frame(area: Rect, title: &str, buffer: &mut Buffer, look: Look) -> Rect {
    use ratatui::widgets::{Block, Clear, Widget};
    Clear.render(area, buffer);
    let block = Block::bordered().title(title).border_style(look.faint()).title_style(look.heading());
    let inner = block.inner(area);
    block.render(area, buffer);
    inner
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    /// The table of keys as the document has it.
    fn table() -> String {
        let mut text = String::new();
        for topic in Topic::ALL {
            let name = topic.name();
            write!(text, "\n### {name}\n\n| keys | action | what it does |\n| --- | --- | --- |\n").unwrap();
            for entry in ACTIONS.iter().filter(|entry| entry.topic == topic) {
                let keys: Vec<String> = entry.keys.iter().map(|key| format!("`{}`", key.replace('|', "\\|"))).collect();
                writeln!(text, "| {} | `{}` | {} |", keys.join(" "), entry.name, entry.help.replace('|', "\\|"))
                    .unwrap();
            }
        }
        text
    }

    /// On a terminal of 80 columns, all of it can be read.
    #[test]
    fn the_help_fits() {
        for entry in ACTIONS {
            assert!(entry.help.chars().count() <= 59, "{}", entry.help);
        }
        assert!(ACTIONS.iter().all(|entry| entry.keys.join("  ").len() <= 17));
    }

    #[test]
    fn the_document_has_all_keys() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screen.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("<!-- keys -->\n").unwrap();
        let (keys, behind) = rest.split_once("\n<!-- end of keys -->").unwrap();
        if std::env::var_os("KAFKASCOPE_BLESS").is_some() {
            let text = format!("{before}<!-- keys -->\n{}\n<!-- end of keys -->{behind}", table());
            std::fs::write(&path, text).unwrap();
        } else {
            assert!(keys == table(), "write it anew: KAFKASCOPE_BLESS=1 cargo test the_document_has_all_keys");
        }
    }
}
