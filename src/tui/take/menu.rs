//! Menus over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::Menu;
use crate::output::table::harmless;
use crate::tui::app::App;
use crate::tui::help::frame;
use crate::tui::text::Pen;

/// Letters and what they stand for.
type Items = &'static [(char, &'static str)];

const COPY: Items = &[
    ('h', "hex"),
    ('v', "value, as text"),
    ('p', "path"),
    ('j', "JSON of it and all below"),
    ('r', "bytes for Rust"),
    ('g', "bytes for Go"),
    ('y', "bytes for Python"),
    ('c', "bytes for C"),
    ('m', "the message, as a line of NDJSON"),
];
const SAVE: Items = &[
    ('m', "this message"),
    ('e', "the exchange: request and response"),
    ('c', "the connection"),
    ('a', "all that are listed"),
];
const FORMAT: Items = &[('n', "NDJSON, as export prints it"), ('p', "pcapng, with packets made anew")];

/// Draws a menu.
pub(in crate::tui) fn draw(app: &App<'_, '_>, menu: &Menu, screen: Rect, buffer: &mut Buffer) {
    let (title, items, note) = match menu {
        Menu::Copy => {
            let node = app.view.as_ref().map(|view| (view.opened.number, view.opened.name(view.tree.selected())));
            let (number, name) = node.unwrap_or_default();
            (format!("Copy of #{number}: {}", harmless(&name)), COPY, "in capitals: into a file")
        }
        Menu::Save => ("Save".to_owned(), SAVE, ""),
        Menu::Format(chosen) => (format!("Save {}", chosen.name), FORMAT, ""),
    };
    let note = if note.is_empty() { "Esc closes".to_owned() } else { format!("{note}; Esc closes") };
    let widest = items.iter().map(|(_, text)| text.width() + 5).chain([title.width() + 4, note.width() + 3]).max();
    let width = (widest.unwrap_or_default() as u16 + 2).min(60).min(screen.width);
    let height = (items.len() as u16 + 3).min(screen.height);
    let area =
        Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (screen.height - height) / 2, width, height };
    let inner = frame(area, &format!(" {title} "), buffer, app.look);
    for (y, (letter, text)) in (inner.y..inner.bottom()).zip(items) {
        let mut pen = Pen::new(buffer, Rect { y, height: 1, ..inner });
        pen.put(&format!(" {letter} "), app.look.heading());
        pen.put(" ", Style::new());
        pen.put(text, Style::new());
    }
    let y = inner.y + items.len() as u16;
    if y < inner.bottom() {
        let mut pen = Pen::new(buffer, Rect { y, height: 1, ..inner });
        pen.put(" ", Style::new());
        pen.put(&note, app.look.faint());
    }
}
