//! The annotated tree as text, one node a line, as CONTRACT and the reference pages have it.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::describe::Describer;
use crate::dissect::{Span, What};

/// How the tree is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeOptions {
    /// Whether notes are printed whole. Else they are cut, with `...` behind; but not those of faults.
    pub verbose: bool,
    /// The columns that lines are to fit, as far as cutting notes can do that; None: notes are cut at [`NOTE_WIDTH`]
    /// characters.
    pub width: Option<usize>,
}

/// Notes that are longer are cut where the width of lines does not matter.
pub const NOTE_WIDTH: usize = 75;
/// So much of a note is there, however long its line is.
const LEAST_NOTE: usize = 16;

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
        if options.verbose || matches!(node.what, What::Fault(_)) {
            out.push_str(&line.note);
            return;
        }
        let limit = options.width.map_or(NOTE_WIDTH, |width| {
            let begun = out.rsplit('\n').next().unwrap_or_default();
            width.saturating_sub(begun.width()).max(LEAST_NOTE)
        });
        push_note(out, &line.note, limit, options.width.is_some());
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

/// Appends as much of a note as has so many characters; with those that say that it is cut, if they are to fit as well.
fn push_note(out: &mut String, note: &str, limit: usize, is_strict: bool) {
    // No character takes less than a byte.
    if note.len() <= limit || note.chars().count() <= limit {
        out.push_str(note);
        return;
    }
    out.extend(note.chars().take(if is_strict { limit - 3 } else { limit }));
    out.push_str("...");
}

fn is_last_child(describer: &Describer<'_, '_>, index: usize) -> bool {
    let nodes = describer.tree.nodes();
    let Some(node) = nodes.get(index) else { return true };
    let next = nodes.get(index + 1 + node.descendants as usize);
    next.is_none_or(|next| next.parent != node.parent)
}
