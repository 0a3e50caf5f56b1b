//! The annotated tree as text, one node a line, as CONTRACT and the reference pages have it.

use std::fmt::Write;

use super::describe::Describer;
use crate::dissect::{Span, What};

/// How the tree is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeOptions {
    /// Whether notes are printed whole instead of cut at [`NOTE_WIDTH`] characters.
    pub verbose: bool,
}

/// Notes that are longer are cut, with `...` behind.
pub const NOTE_WIDTH: usize = 75;

/// Appends the tree to `out`, each line ended by a newline.
pub fn write_tree(out: &mut String, describer: &Describer<'_, '_>, options: TreeOptions) {
    write_tree_by_line(out, describer, options, |_| {});
}

/// The same; `after_line` may take what is there, because the text of a large tree is larger than the tree.
pub fn write_tree_by_line(
    out: &mut String,
    describer: &Describer<'_, '_>,
    options: TreeOptions,
    mut after_line: impl FnMut(&mut String),
) {
    let nodes = describer.tree.nodes();
    // For each depth: whether the node there is the last child of its parent.
    let mut last: Vec<bool> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let depth = usize::from(node.depth);
        last.truncate(depth);
        last.push(is_last_child(describer, index));
        for ended in last.iter().take(depth).skip(1) {
            out.push_str(if *ended { "    " } else { "|   " });
        }
        if depth > 0 {
            out.push_str("+-- ");
        }
        write_line(out, describer, index, options);
        out.push('\n');
        after_line(out);
    }
}

/// Appends the line of one node, without indentation and newline.
pub fn write_line(out: &mut String, describer: &Describer<'_, '_>, index: usize, options: TreeOptions) {
    let Some(node) = describer.tree.nodes().get(index) else { return };
    let line = describer.line(index);
    out.push_str(&line.name);
    if !line.ty.is_empty() {
        out.push(' ');
        out.push_str(&line.ty);
    }
    if !line.value.is_empty() {
        out.push_str(if matches!(node.what, What::Fault(_)) { " " } else { " = " });
        out.push_str(&line.value);
    }
    out.push(' ');
    write_span(out, node.span);
    if !line.note.is_empty() {
        out.push(' ');
        let shown = if options.verbose { &line.note } else { shortened(&line.note) };
        out.push_str(shown);
        if shown.len() < line.note.len() {
            out.push_str("...");
        }
    }
}

/// `[0x0004, 2B]`, and `[#1:0x0004, 2B]` in another buffer than the frame.
pub fn write_span(out: &mut String, span: Span) {
    // Writing into a string cannot fail.
    let _ = match span.buffer {
        0 => write!(out, "[0x{:04x}, {}B]", span.start, span.len),
        buffer => write!(out, "[#{buffer}:0x{:04x}, {}B]", span.start, span.len),
    };
}

/// As much of a note as is printed.
fn shortened(note: &str) -> &str {
    // No character takes less than a byte.
    let end = if note.len() > NOTE_WIDTH { note.char_indices().nth(NOTE_WIDTH) } else { None };
    end.and_then(|(end, _)| note.get(..end)).unwrap_or(note)
}

fn is_last_child(describer: &Describer<'_, '_>, index: usize) -> bool {
    let nodes = describer.tree.nodes();
    let Some(node) = nodes.get(index) else { return true };
    let next = nodes.get(index + 1 + node.descendants as usize);
    next.is_none_or(|next| next.parent != node.parent)
}
