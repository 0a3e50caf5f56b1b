//! A node's value and bytes in the forms in which they are copied.

use crate::dissect::{Part, Value, What, uuid_text, value_of};
use crate::tui::opened::Opened;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A number, a word.
    Text(String),
    /// What a string or bytes hold.
    Bytes(Vec<u8>),
}

impl Opened<'_> {
    /// A node's bytes.
    pub(in crate::tui) fn bytes(&self, index: u32) -> &[u8] {
        self.span(index).map(|span| self.tree.bytes(&self.frame, span)).unwrap_or_default()
    }

    /// Whether a node's bytes have a secret in them that is not shown.
    pub(in crate::tui) fn holds_secret(&self, index: u32) -> bool {
        let describer = self.describer();
        let first = index as usize;
        let Some(node) = self.tree.nodes().get(first) else { return false };
        let is_guarded = describer.is_guarded();
        let below = self.tree.nodes().get(first..=first + node.descendants as usize).unwrap_or_default();
        (first..).zip(below).filter(|(_, node)| node.span.len > 0).any(|(at, node)| match node.what {
            What::Value(place) if describer.is_withheld(at, place) => {
                let value = value_of(place.ty(), self.tree.bytes(&self.frame, node.span));
                matches!(value, Some(Value::String(Some([_, ..])) | Value::Bytes(Some([_, ..]))))
            }
            // What is not decoded here may hold one as well.
            What::Part(
                Part::UnknownTag(..) | Part::Trailing(_) | Part::Undecoded(_) | Part::Partial(_) | Part::Compressed(_),
            ) => is_guarded,
            _ => false,
        })
    }
}

/// The value of a node.
///
/// # Errors
/// Why it has none; a sentence.
pub(super) fn content(opened: &Opened<'_>, index: u32) -> Result<Content, String> {
    let Some(node) = opened.tree.nodes().get(index as usize) else { return Err("nothing is selected".to_owned()) };
    let name = opened.name(index);
    let text = |text: String| Ok(Content::Text(text));
    let bytes = opened.bytes(index);
    if !matches!(node.what, What::Scope(_) | What::Fault(_)) && opened.holds_secret(index) {
        return Err(format!("{name} is a secret; --show-secrets shows secrets"));
    }
    match node.what {
        What::Value(place) => match value_of(place.ty(), bytes) {
            None => Err(format!("{name} cannot be read")),
            Some(Value::Bool(flag)) => text(flag.to_string()),
            Some(Value::Int(number)) => text(number.to_string()),
            Some(Value::Uint(number)) => text(number.to_string()),
            Some(Value::Float(number)) => text(format!("{number:?}")),
            Some(Value::Uuid(uuid)) => text(uuid_text(uuid)),
            Some(Value::String(Some(content)) | Value::Bytes(Some(content)) | Value::Records(Some(content))) => {
                Ok(Content::Bytes(content.to_vec()))
            }
            Some(Value::String(None) | Value::Bytes(None) | Value::Records(None) | Value::NullStruct) => {
                text("null".to_owned())
            }
        },
        What::Null(_) => text("null".to_owned()),
        What::Part(part) => match part {
            Part::Size(size) => text(size.to_string()),
            Part::ArrayLength { count: None, .. } => text("null".to_owned()),
            Part::ArrayLength { count: Some(count), .. }
            | Part::TaggedCount { count, .. }
            | Part::Tag(count)
            | Part::TagSize(count)
            | Part::FieldKey { number: count, .. }
            | Part::FieldSize(count)
            | Part::ByteLength { length: count, .. } => text(count.to_string()),
            Part::Prefix(_, value) => text(value.to_string()),
            Part::Presence
            | Part::Compressed(_)
            | Part::Partial(_)
            | Part::UnknownTag(..)
            | Part::Mark(_)
            | Part::Trailing(_)
            | Part::Undecoded(_) => Ok(Content::Bytes(bytes.to_vec())),
        },
        What::Fault(_) => text(opened.describer().line(index as usize).value),
        What::Scope(_) => Err(format!("{name} has no value of its own; j copies it as JSON, h its bytes")),
    }
}

/// Rows of sixteen pairs of digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    rows(bytes, 16, |byte| format!("{byte:02x}"), " ").join("\n")
}

pub(super) fn rust(bytes: &[u8]) -> String {
    format!("let bytes: [u8; {}] = [\n{}];\n", bytes.len(), elements(bytes))
}

pub(super) fn go(bytes: &[u8]) -> String {
    format!("bytes := []byte{{\n{}}}\n", elements(bytes).replace("    ", "\t"))
}

pub(super) fn python(bytes: &[u8]) -> String {
    format!("data = bytes([\n{}])\n", elements(bytes))
}

pub(super) fn c(bytes: &[u8]) -> String {
    format!("static const unsigned char bytes[{}] = {{\n{}}};\n", bytes.len(), elements(bytes))
}

/// Rows of twelve elements, each with a comma.
fn elements(bytes: &[u8]) -> String {
    let mut text = String::new();
    for row in rows(bytes, 12, |byte| format!("0x{byte:02x},"), " ") {
        text.extend(["    ", &row, "\n"]);
    }
    text
}

fn rows(bytes: &[u8], width: usize, write: impl Fn(&u8) -> String, between: &str) -> Vec<String> {
    bytes.chunks(width).map(|row| row.iter().map(&write).collect::<Vec<_>>().join(between)).collect()
}
