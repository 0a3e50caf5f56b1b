//! A text whose places can be told: lines, characters, errors.

use std::{borrow::Cow, ops::Range};

use super::PasteError;

/// The input as text, or `None` when it is not text but the bytes themselves.
pub(super) fn decode(input: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(text) = utf16(input) {
        return Some(Cow::Owned(text));
    }
    let text = std::str::from_utf8(input).ok()?;
    // A byte order mark is kept: it is skipped as space is, and places stay true.
    if text.contains('\x1b') {
        let plain = without_colours(text);
        return is_text(&plain).then_some(Cow::Owned(plain));
    }
    is_text(text).then_some(Cow::Borrowed(text))
}

fn is_text(text: &str) -> bool {
    !text.bytes().any(|byte| (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7f)
}

/// UTF-16 with its byte order mark, as PowerShell writes when its output is sent to a file.
fn utf16(input: &[u8]) -> Option<String> {
    let (mark, rest) = input.split_at_checked(2)?;
    let unit: fn([u8; 2]) -> u16 = match mark {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let (units, odd) = rest.as_chunks::<2>();
    let text: String = char::decode_utf16(units.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()?;
    // Bytes that begin like a mark by chance do not decode to text.
    (odd.is_empty() && is_text(&text)).then_some(text)
}

/// The text without the terminal's control sequences (`ESC [ … letter`): what the reader sees, so places are as seen.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut pieces = text.split("\x1b[");
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|c: char| !matches!(c, '0'..='9' | ';' | '?')).unwrap_or(piece.len());
        let mut tail = piece.get(end..).unwrap_or_default().chars();
        tail.next();
        plain.push_str(tail.as_str());
    }
    plain
}

/// A line without its end, and where in the text it starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
}

/// The lines of a part of the text.
pub(super) fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Line<'_>> + Clone {
    let mut next = range.start;
    slice(text, range).split('\n').map(move |line| {
        let start = next;
        next += line.len() + 1;
        Line { start, text: line.strip_suffix('\r').unwrap_or(line) }
    })
}

/// A part of a string; nothing where the range does not lie in it.
pub(super) fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// Everything from a place on.
pub(super) fn from(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Space, and what copies as space: no-break spaces, zero-width characters, a byte order mark.
pub(super) fn is_space(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' ' | '\t'..='\r');
    }
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// The error that the character at byte `at` of the text is not what was expected.
#[cold]
pub(super) fn bad(text: &str, what: &'static str, at: usize, expected: impl Into<String>) -> PasteError {
    let found = match from(text, at).chars().next() {
        None => "the end of the input".to_owned(),
        Some('\n' | '\r') => "the end of the line".to_owned(),
        Some(c) => format!("\"{}\"", c.escape_debug()),
    };
    bad_found(text, what, at, found, expected)
}

/// The error that the word at byte `at` of the text is not what was expected.
#[cold]
pub(super) fn bad_word(
    text: &str,
    what: &'static str,
    at: usize,
    word: &str,
    expected: impl Into<String>,
) -> PasteError {
    let mut shown: String = word.chars().take(24).flat_map(char::escape_debug).collect();
    if word.chars().nth(24).is_some() {
        shown.push_str("...");
    }
    bad_found(text, what, at, format!("\"{shown}\""), expected)
}

fn bad_found(text: &str, what: &'static str, at: usize, found: String, expected: impl Into<String>) -> PasteError {
    let before = slice(text, 0..at);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    PasteError::Bad {
        what,
        at: before.chars().count() + 1,
        line: before.matches('\n').count() + 1,
        column: from(before, line_start).chars().count() + 1,
        found,
        expected: expected.into(),
    }
}
