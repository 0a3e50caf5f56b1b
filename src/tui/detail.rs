//! What is known of the node that is selected: in one line, or in a pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::app::{App, View};
use super::text::Pen;
use crate::dissect::{Place, Scope, What};
use crate::output::anatomy;
use crate::output::place::escaped;
use crate::output::table::{harmless, wrap};
use crate::output::tree_text::write_span;
use crate::protocol::{Catalog, Field, SchemaField};

/// Draws it.
pub(super) fn draw(app: &App<'_, '_>, area: Rect, buffer: &mut Buffer) {
    let Some(view) = app.view.as_ref().filter(|_| area.height > 0) else { return };
    let index = view.tree.selected();
    let Some(span) = view.opened.span(index) else { return };
    let line = view.opened.describer().line(index as usize);
    let look = app.look;
    let is_pane = area.height > 1;
    let mut first = Rect { height: 1, ..area };
    if is_pane {
        for x in area.left()..area.right() {
            buffer.set_string(x, area.y, ratatui::symbols::line::HORIZONTAL, look.faint());
        }
        first.y += 1;
    }
    let mut pen = Pen::new(buffer, first);
    let mut place = String::new();
    write_span(&mut place, span);
    pen.put(" ", Style::new());
    pen.put(&line.name, look.region(view.opened.region(index)));
    if !line.ty.is_empty() {
        pen.put(" ", Style::new());
        pen.put(&line.ty, look.faint());
    }
    if !line.value.is_empty() {
        let is_fault =
            view.opened.tree.nodes().get(index as usize).is_some_and(|node| matches!(node.what, What::Fault(_)));
        pen.put(if is_fault { " " } else { " = " }, look.faint());
        pen.put(&line.value, Style::new());
    }
    pen.put("  ", Style::new());
    pen.put(&place, look.faint());
    if !is_pane {
        let comments = view.opened.comments.iter().filter(|_| index == 0).map(|comment| harmless(comment));
        for text in short(view, index).into_iter().chain([line.note]).chain(comments).filter(|text| !text.is_empty()) {
            pen.put(" · ", look.faint());
            pen.put(&text, Style::new());
        }
        return;
    }
    let mut y = first.bottom();
    for (name, text) in facts(app.opening.catalog, view, index, line.note) {
        for (at, piece) in wrap(&text, usize::from(area.width.saturating_sub(13)).max(10), 0).into_iter().enumerate() {
            if y >= area.bottom() {
                return;
            }
            let mut pen = Pen::new(buffer, Rect { y, height: 1, ..area });
            pen.put(" ", Style::new());
            pen.column(if at == 0 { name } else { "" }, 9, true, look.faint());
            pen.put(" ", Style::new());
            pen.put(&piece, Style::new());
            y += 1;
        }
    }
}

/// What one line has room for: since when the field is there, other readings.
fn short(view: &View<'_>, index: u32) -> Vec<String> {
    let Some((field, bytes)) = field_of(view, index) else { return Vec::new() };
    let readings = anatomy::readings(field.ty, bytes);
    readings.into_iter().take(1).collect()
}

/// A field and its bytes, where a node is one.
fn field_of<'v, 'p>(view: &'v View<'p>, index: u32) -> Option<(&'p Field, &'v [u8])> {
    let node = view.opened.tree.nodes().get(index as usize)?;
    let (What::Value(place)
    | What::Null(place)
    | What::Scope(
        Scope::Struct(place, _) | Scope::Array(place, ..) | Scope::Records(place, _) | Scope::Payload(place, _),
    )) = node.what
    else {
        return None;
    };
    Some((place.field()?, view.opened.tree.bytes(&view.opened.frame, node.span)))
}

/// All that is known, by name.
fn facts(catalog: &Catalog, view: &View<'_>, index: u32, about: String) -> Vec<(&'static str, String)> {
    let mut facts = vec![("path", view.opened.path(index).join(" / "))];
    if index == 0 {
        facts.extend(view.opened.comments.iter().map(|comment| ("comment", harmless(comment))));
    }
    facts.push(("what", about));
    let Some(node) = view.opened.tree.nodes().get(index as usize) else { return facts };
    let bytes = view.opened.tree.bytes(&view.opened.frame, node.span);
    let steps = match node.what {
        What::Value(place) => anatomy::steps(place.ty(), bytes),
        What::Part(part) => anatomy::steps_of_part(&part, bytes),
        _ => String::new(),
    };
    facts.push(("how", steps));
    if let What::Value(place) = node.what {
        facts.push(("also", anatomy::readings(place.ty(), bytes).join(", ")));
    }
    let is_withheld = match node.what {
        What::Value(place @ Place::Field(_)) => view.opened.describer().is_withheld(index as usize, place),
        _ => false,
    };
    if !is_withheld {
        facts.push(("bytes", hex(bytes)));
    }
    if let Some(piece) = view.opened.piece(node.span.start).filter(|_| node.span.buffer == 0) {
        let stream = view.opened.stream_offset + u64::from(node.span.start);
        let file = view.opened.file_offset(node.span.start).unwrap_or_default();
        let interface = view.opened.names.interface(piece.place.interface);
        let on = interface.map(|interface| format!(" on {}", escaped(&interface.label()))).unwrap_or_default();
        let place = format!("byte {stream} of the stream, {file} of the file");
        facts.push(("where", format!("packet {}{on}, {place}", piece.packet)));
    }
    if let Some((field, _)) = field_of(view, index) {
        facts.push(("schema", schema(catalog, field)));
    }
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// The first bytes, one by one.
fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 64;
    let mut text: Vec<String> = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN {
        text.push(format!("… {} more", bytes.len() - SHOWN));
    }
    text.join(" ")
}

/// What the schema says of a field: versions, tag, null, default.
fn schema(catalog: &Catalog, field: &Field) -> String {
    let mut names = field.path.split('.');
    let Some(schema) = names.next().and_then(|name| catalog.schema(name)) else { return String::new() };
    let mut fields = &schema.fields;
    let mut found: Option<&SchemaField> = None;
    for name in names {
        let Some(next) = fields.iter().find(|field| *field.name == *name) else { break };
        found = Some(next);
        fields = match next.fields.as_slice() {
            [] => schema
                .common
                .iter()
                .find(|shared| next.ty.struct_name() == Some(&*shared.name))
                .map_or(fields, |shared| &shared.fields),
            _ => &next.fields,
        };
    }
    let Some(found) = found.filter(|found| *found.name == *field.name) else { return String::new() };
    // One version, or several.
    let versions = |range: String| {
        let is_one = range.bytes().all(|byte| byte.is_ascii_digit());
        format!("{} {range}", if is_one { "version" } else { "versions" })
    };
    let mut facts = vec![format!("{} {}, {}", field.path, field.type_name, versions(found.versions.to_string()))];
    if let Some(tag) = field.tag {
        facts.push(format!("tag {tag} in {}", versions(found.tagged.to_string())));
    }
    if !found.nullable.is_empty() {
        facts.push(format!("null allowed in {}", versions(found.nullable.to_string())));
    }
    if let Some(default) = &found.default {
        facts.push(format!("default {default}"));
    }
    facts.join(", ")
}
