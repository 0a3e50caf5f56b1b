//! One message a line, as nested JSON nodes with their byte ranges.

use super::describe::{Describer, title};
use super::json::{Plain, is_text, plain_text};
use super::json::{base64, close_bracket, float, string, withheld};
use super::ndjson;
use crate::conversation::Message;
use crate::dissect::{DecodedValue, Opening, Part, Scope, Tally, Tree, Value, What, dissect, uuid_text, value_of};

/// Writes messages as trees of JSON nodes.
#[derive(Debug)]
pub struct TreeJsonWriter<'p> {
    opening: Opening<'p>,
    show_secrets: bool,
}

impl<'p> TreeJsonWriter<'p> {
    /// A writer that withholds secrets unless it is told not to.
    pub fn new(opening: Opening<'p>, show_secrets: bool) -> Self {
        Self { opening, show_secrets }
    }

    /// Appends the line of a message, with its newline, and says what is to be counted of its faults. After each node `after_node` may take what is there but for the
    /// last byte, because the text of a large tree is larger than the tree.
    pub fn message(&self, out: &mut Vec<u8>, message: &Message<'_, 'p>, after_node: impl FnMut(&mut Vec<u8>)) -> Tally {
        let mut tree = Tree::opened(self.opening.with_topics(message.topics));
        dissect(&message.reading, message.frame, &mut tree);
        let title = title(self.opening.catalog, message);
        let describer = Describer {
            catalog: self.opening.catalog,
            tree: &tree,
            frame: message.frame,
            title: (&title.0, &title.1),
            sample: false,
            show_secrets: self.show_secrets,
            topics: Some(message.topics),
        };
        out.push(b'{');
        ndjson::envelope(out, self.opening.catalog, message);
        out.extend_from_slice(b"\"tree\":");
        write_nodes_by_node(out, &describer, 0, after_node);
        out.push(b',');
        ndjson::faults(out, tree.faults());
        close_bracket(out, b'}');
        out.push(b'\n');
        Tally::of(tree.faults())
    }
}

/// Appends the root node with all that is below it.
pub fn write_nodes(out: &mut Vec<u8>, describer: &Describer<'_, '_>) {
    write_nodes_by_node(out, describer, 0, |_| {});
}

/// Appends a node, by its index, with all that is below it.
pub fn write_node_and_below(out: &mut Vec<u8>, describer: &Describer<'_, '_>, first: usize) {
    write_nodes_by_node(out, describer, first, |_| {});
}

/// The same; `after_node` may take what is there but for the last byte, whose place a bracket may take.
pub fn write_nodes_by_node(
    out: &mut Vec<u8>,
    describer: &Describer<'_, '_>,
    first: usize,
    mut after_node: impl FnMut(&mut Vec<u8>),
) {
    let nodes = describer.tree.nodes();
    let last = nodes.get(first).map_or(first, |node| first + node.descendants as usize);
    // Where the nodes end that are open.
    let mut ends: Vec<usize> = Vec::new();
    for (index, node) in nodes.iter().enumerate().take(last + 1).skip(first) {
        while ends.last().is_some_and(|end| *end < index) {
            ends.pop();
            close_bracket(out, b']');
            out.extend_from_slice(b"},");
        }
        write_node(out, describer, index);
        ends.push(index + node.descendants as usize);
        after_node(out);
    }
    for _ in ends {
        close_bracket(out, b']');
        out.extend_from_slice(b"},");
    }
    // The first is not in a list.
    out.pop();
}

/// Appends a node up to the bracket that opens its children.
fn write_node(out: &mut Vec<u8>, describer: &Describer<'_, '_>, index: usize) {
    let Some(node) = describer.tree.nodes().get(index) else { return };
    let line = describer.line(index);
    out.extend_from_slice(b"{\"name\":");
    string(out, line.name.as_bytes());
    out.extend_from_slice(b",\"type\":");
    string(out, line.ty.as_bytes());
    out.extend_from_slice(b",\"value\":");
    write_value(out, describer, index);
    if let Some(label) = describer.label_of(index) {
        out.extend_from_slice(b",\"label\":");
        string(out, label.as_bytes());
    }
    write_decoded(out, describer, index);
    let mut number = |key: &[u8], number: u32| {
        out.extend_from_slice(key);
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    };
    number(b",\"offset\":", node.span.start);
    number(b",\"length\":", node.span.len);
    number(b",\"buffer\":", node.span.buffer);
    out.extend_from_slice(b",\"note\":");
    string(out, line.note.as_bytes());
    out.extend_from_slice(b",\"children\":[");
}

/// What the reader's format makes of a node's bytes.
fn write_decoded(out: &mut Vec<u8>, describer: &Describer<'_, '_>, index: usize) {
    match describer.decoded(index).and_then(|decoded| decoded.value) {
        None => {}
        Some(DecodedValue::Text(text)) => {
            out.extend_from_slice(b",\"decoded\":");
            string(out, text.as_bytes());
        }
        Some(DecodedValue::Json(json)) => {
            out.extend_from_slice(b",\"decoded\":");
            out.extend_from_slice(json.as_bytes());
        }
    }
}

fn write_value(out: &mut Vec<u8>, describer: &Describer<'_, '_>, index: usize) {
    let Some(node) = describer.tree.nodes().get(index) else { return };
    let bytes = describer.tree.bytes(describer.frame, node.span);
    let mut number = |number: i64| out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    match node.what {
        What::Value(place) => match value_of(place.ty(), bytes) {
            Some(Value::String(Some(secret)) | Value::Bytes(Some(secret))) if describer.is_withheld(index, place) => {
                withheld(out, secret.len());
            }
            Some(Value::Int(value)) => number(value),
            Some(Value::Uint(value)) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
            Some(Value::Bool(flag)) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
            Some(Value::Float(value)) => float(out, value),
            Some(Value::Uuid(uuid)) => drop(string(out, uuid_text(uuid).as_bytes())),
            Some(Value::String(Some(text))) if is_text(place.ty()) => match plain_text(place.ty(), text) {
                Plain::Text(text) => drop(string(out, &text)),
                Plain::Json(json) => drop(string(out, json.as_bytes())),
            },
            Some(Value::String(Some(text))) => {
                if !string(out, text) {
                    out.extend_from_slice(b",\"valueBase64\":");
                    base64(out, text);
                }
            }
            Some(Value::Bytes(Some(bytes)) | Value::Records(Some(bytes))) => base64(out, bytes),
            _ => out.extend_from_slice(b"null"),
        },
        What::Part(Part::Size(size)) => number(size.into()),
        What::Scope(Scope::Array(_, _, Some(count)))
        | What::Part(
            Part::TaggedCount { count, .. }
            | Part::Tag(count)
            | Part::TagSize(count)
            | Part::FieldSize(count)
            | Part::FieldKey { number: count, .. }
            | Part::ArrayLength { count: Some(count), .. },
        ) => number(count.into()),
        What::Part(Part::Prefix(_, value)) => number(value),
        What::Part(Part::Mark(_)) => drop(string(out, bytes)),
        What::Part(Part::UnknownTag(..) | Part::Trailing(_) | Part::Undecoded(_)) if describer.is_guarded() => {
            withheld(out, bytes.len());
        }
        What::Part(Part::UnknownTag(..) | Part::Trailing(_) | Part::Undecoded(_)) => base64(out, bytes),
        What::Fault(_) => drop(string(out, describer.line(index).value.as_bytes())),
        _ => out.extend_from_slice(b"null"),
    }
}
