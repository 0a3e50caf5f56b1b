//! What is known of the node that is selected: in one line, or in a pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::app::App;
use super::text::Pen;
use crate::output::tree_text::write_span;

/// Draws it.
pub(super) fn draw(app: &App<'_, '_>, area: Rect, buffer: &mut Buffer) {
    let Some(view) = &app.view else { return };
    let index = view.tree.selected();
    let Some(span) = view.opened.span(index) else { return };
    let line = view.opened.describer().line(index as usize);
    let look = app.look;
    let mut pen = Pen::new(buffer, area);
    let mut place = String::new();
    write_span(&mut place, span);
    pen.put(" ", Style::new());
    pen.put(&line.name, look.region(view.opened.region(index)));
    pen.put(" ", Style::new());
    pen.put(&line.ty, look.faint());
    if !line.value.is_empty() {
        pen.put(" = ", look.faint());
        pen.put(&line.value, Style::new());
    }
    pen.put("  ", Style::new());
    pen.put(&place, look.faint());
    if !line.note.is_empty() {
        pen.put("  ", Style::new());
        pen.put(&line.note, Style::new());
    }
}
