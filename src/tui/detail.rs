//! What is known of the node that is selected: in one line, or in a pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::app::{App, View};
use super::draw::draw_title;
use super::facts::{Fact, Of, facts};
use super::layout::DETAIL_BESIDE;
use super::opened::place;
use super::rows::in_one_line;
use super::text::{Pen, tail};
use super::theme::Look;
use crate::dissect::What;
use crate::output::anatomy;
use crate::output::describe::Line;
use crate::output::table::wrap;
use crate::output::tree_text::write_span;

/// Columns of the names of facts.
const NAMES: u16 = 8;
/// Rows from which on the last one is kept for bytes.
const ROOM_FOR_BYTES: usize = 4;

/// Draws it.
pub(super) fn draw(app: &App<'_, '_>, area: Rect, buffer: &mut Buffer) {
    let Some(view) = app.view.as_ref().filter(|_| area.height > 0) else { return };
    let index = view.tree.selected();
    let line = view.opened.describer().line(index as usize);
    if area.height == 1 {
        draw_line(view, index, &line, area, buffer, app.look);
        return;
    }
    let rows = |y: u16, height: u16| Rect { y, height, ..area };
    draw_title(&[(&path(view, index, area.width), None)], rows(area.y, 1), buffer, app.look, false);
    let used = draw_head(view, index, &line, rows(area.y + 1, 1), buffer, app.look);
    let below = rows(area.y + 2, area.height - 2);
    let mut all = facts(app.opening.catalog, view, index, &line);
    if used > usize::from(area.width) {
        // What does not fit into the first line is said in full.
        all.insert(0, Fact { name: "value", text: line.value, of: Of::Bytes });
    }
    if area.width < DETAIL_BESIDE {
        draw_facts(&all, Some((view, index)), below, buffer, app.look);
        return;
    }
    let (of_field, of_bytes): (Vec<_>, Vec<_>) = all.into_iter().partition(|fact| fact.of == Of::Field);
    // The lines about bytes are the longer ones.
    let left = Rect { width: area.width / 20 * 9, ..below };
    let right = Rect { x: left.right() + 1, width: area.width - left.width - 1, ..below };
    draw_facts(&of_field, None, left, buffer, app.look);
    draw_facts(&of_bytes, Some((view, index)), right, buffer, app.look);
}

/// The names down to a node, or their end.
fn path(view: &View<'_>, index: u32, width: u16) -> String {
    let path = view.opened.path(index).join(" / ");
    let path = if path.is_empty() { view.opened.name(0) } else { path };
    let room = usize::from(width.saturating_sub(4));
    if path.width() > room { format!("…{}", tail(&path, room.saturating_sub(1))) } else { path }
}

/// Name, type, value and place of a node. Gives the columns that they would take with room enough.
fn draw_head(view: &View<'_>, index: u32, line: &Line, area: Rect, buffer: &mut Buffer, look: Look) -> usize {
    let opened = &view.opened;
    let mut span = String::new();
    if let Some(at) = opened.span(index) {
        write_span(&mut span, at);
    }
    let is_fault = matches!(opened.what(index), Some(What::Fault(_)));
    let name = opened.name(index);
    let mut pen = Pen::new(buffer, area);
    let mut used = 0;
    let mut put = |text: &str, style: Style| {
        used += text.width();
        pen.put(text, style);
    };
    put(" ", Style::new());
    put(&name, look.region(opened.region(index)));
    if !line.ty.is_empty() {
        put(" ", Style::new());
        put(&line.ty, look.faint());
    }
    if !line.value.is_empty() {
        put(if is_fault { " " } else { " = " }, look.faint());
        put(&line.value, Style::new());
    }
    put("  ", Style::new());
    put(&span, look.faint());
    used
}

/// All in one line.
fn draw_line(view: &View<'_>, index: u32, line: &Line, area: Rect, buffer: &mut Buffer, look: Look) {
    let used = draw_head(view, index, line, area, buffer, look) as u16;
    let mut pen = Pen::new(buffer, area);
    pen.blanks(used);
    let comments = view.opened.comments.iter().filter(|_| index == 0).map(|comment| in_one_line(comment));
    let note = line.note.clone();
    for text in reading(view, index).into_iter().chain([note]).chain(comments).filter(|text| !text.is_empty()) {
        pen.put(" · ", look.faint());
        pen.put(&text, Style::new());
    }
}

/// What a field's value may be read as besides, in short.
fn reading(view: &View<'_>, index: u32) -> Option<String> {
    let place = place(view.opened.what(index)?)?;
    anatomy::readings(place.ty(), view.opened.bytes(index)).into_iter().next()
}

/// Facts below each other; what is left of the area is for the bytes of a node.
fn draw_facts(facts: &[Fact], node: Option<(&View<'_>, u32)>, area: Rect, buffer: &mut Buffer, look: Look) {
    let width = usize::from(area.width.saturating_sub(NAMES + 3)).max(10);
    let bytes = node.filter(|(view, index)| may_be_shown(view, *index));
    let bytes = bytes.map(|(view, index)| view.opened.bytes(index)).unwrap_or_default();
    let mut rows: Vec<(&str, String)> = Vec::new();
    for fact in facts {
        let lines = wrap(&fact.text, width, 0).into_iter().enumerate();
        rows.extend(lines.map(|(at, line)| (if at == 0 { fact.name } else { "" }, line)));
    }
    let height = usize::from(area.height);
    let is_kept = !bytes.is_empty() && height >= ROOM_FOR_BYTES;
    rows.truncate(height - usize::from(is_kept));
    let lines = hex(bytes, width, height - rows.len()).into_iter().enumerate();
    rows.extend(lines.map(|(at, line)| (if at == 0 { "bytes" } else { "" }, line)));
    for (y, (name, text)) in (area.y..area.bottom()).zip(rows) {
        let mut pen = Pen::new(buffer, Rect { y, height: 1, ..area });
        pen.put(" ", Style::new());
        pen.column(name, NAMES, true, look.faint());
        pen.put(" ", Style::new());
        pen.put(&text, Style::new());
    }
}

/// Whether there is no secret in a node's bytes. What holds others is not looked through for one.
fn may_be_shown(view: &View<'_>, index: u32) -> bool {
    match view.opened.what(index) {
        Some(What::Scope(_)) => !view.opened.describer().is_guarded(),
        _ => !view.opened.holds_secret(index),
    }
}

/// The first bytes in hexadecimal and as text, in so many rows of a width. `…` says that there are more.
fn hex(bytes: &[u8], width: usize, rows: usize) -> Vec<String> {
    let columns = |count: usize| count * 3 + (count - 1) / 8 + 2 + count;
    let fits = |count: &usize| columns(*count) < width;
    let count = [32, 16, 8].into_iter().find(fits).unwrap_or(4);
    let hexed = count * 3 + (count - 1) / 8;
    let mut lines = Vec::new();
    for (at, row) in bytes.chunks(count).take(rows).enumerate() {
        let groups: Vec<String> = row
            .chunks(8)
            .map(|group| group.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
            .collect();
        let text: String = row
            .iter()
            .map(|byte| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' })
            .collect();
        let more = if at + 1 == rows && bytes.len() > rows * count { "…" } else { "" };
        lines.push(format!("{:hexed$} {text}{more}", groups.join("  ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_fit_into_their_rows() {
        assert_eq!(hex(b"ab\0", 40, 3), ["61 62 00                 ab."]);
        assert_eq!(hex(&[0x41; 20], 40, 2).last().unwrap(), "41 41 41 41 41 41 41 41  AAAAAAAA…");
        assert_eq!(hex(&[0x41; 16], 68, 1), [format!("{0}  {0}  {1}", ["41"; 8].join(" "), "A".repeat(16))]);
        assert_eq!(hex(&[], 40, 3), [""; 0]);
        assert_eq!(hex(&[1], 40, 0), [""; 0]);
        for width in 0..140 {
            for line in hex(&[0x20; 100], width, 2) {
                assert!(line.chars().count() <= width.max(19), "{width} {line}");
            }
        }
    }
}
