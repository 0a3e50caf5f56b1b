//! Strings with escapes, as C, Go, Rust, Python, Java and JavaScript write them; quoted in one or more pieces, or bare.

use std::ops::Range;

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_while_m_n},
    character::complete::{anychar, char},
    combinator::{map, map_opt},
    sequence::{delimited, preceded},
};

use super::{
    Form, PasteError, Pasted,
    row::margin,
    text::{Line, bad, from, is_space, lines, slice},
};

const WHAT: &str = "string";

/// Where in the text a string stands.
pub(super) struct Found {
    /// From the first character inside of its first quotes to the last inside of its last.
    pub(super) range: Range<usize>,
    pub(super) quoted: bool,
    pub(super) has_escapes: bool,
    /// Marked as bytes: `b'…'`.
    pub(super) is_bytes: bool,
    pieces: Vec<Range<usize>>,
}

/// Finds the string in the text: the first quotes, or the first backslash when that comes before.
pub(super) fn find(text: &str) -> Option<Found> {
    let start = lines(text, 0..text.len()).filter(|line| !starts_with_bytes(line.text)).find_map(first)?;
    Some(match start {
        Start::Quote(at) => quoted(text, at),
        Start::Backslash(at) => {
            let range = bare(text, at);
            Found { pieces: vec![range.clone()], range, quoted: false, has_escapes: true, is_bytes: false }
        }
    })
}

/// Whether a line starts with bytes in hex, so that quotes and brackets in it are a comment's or an ASCII column's.
pub(super) fn starts_with_bytes(line: &str) -> bool {
    let rest = from(line, margin(line));
    // What is behind a word of hex digits in pairs, and behind the space that ends it.
    let behind_bytes = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
        let end = from(text, digits).chars().next();
        (digits % 2 == 0 && end.is_none_or(is_space)).then(|| digits + end.map_or(0, char::len_utf8))
    };
    !rest.starts_with(is_space)
        && !rest.is_empty()
        && behind_bytes(rest).is_some_and(|at| behind_bytes(from(rest, at)).is_some())
}

enum Start {
    Quote(usize),
    Backslash(usize),
}

/// Where a string starts in a line, comments left out. An opening quote stands behind a mark or a prefix as in `b"…"`, and is
/// closed on its line.
fn first(line: Line<'_>) -> Option<Start> {
    let mut before = ' ';
    let mut word = 0;
    for (at, c) in line.text.char_indices() {
        let rest = from(line.text, at);
        let apart = is_space(before);
        if (apart && (rest.starts_with('#') || rest.starts_with("--"))) || (before != ':' && rest.starts_with("//")) {
            return None;
        }
        let prefix = word == 0 || (word <= 2 && matches!(before, 'b' | 'B' | 'r' | 'R' | 'u' | 'U' | 'L'));
        if matches!(c, '"' | '\'' | '`') && prefix {
            // Only the first may be one: a search from each would take quadratic time.
            let closed = close(line.text, at + 1, c).is_some() || rest.ends_with('\\');
            return closed.then_some(Start::Quote(line.start + at));
        }
        if is_escape(rest) {
            return Some(Start::Backslash(line.start + at));
        }
        word = if c.is_alphanumeric() { word + 1 } else { 0 };
        before = c;
    }
    None
}

fn is_escape(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    let known =
        |b: u8| b.is_ascii_digit() || matches!(b, b'x' | b'u' | b'n' | b't' | b'r' | b'a' | b'b' | b'f' | b'v' | b'\\');
    bytes.next() == Some(b'\\') && bytes.next().is_some_and(known)
}

/// Turns a string that was found into bytes.
pub(super) fn parse(text: &str, found: &Found) -> Result<Pasted, PasteError> {
    let mut bytes = Vec::new();
    for piece in &found.pieces {
        if found.quoted {
            decode(text, piece.clone(), false, &mut bytes)?;
        } else {
            decode_bare(text, piece.clone(), &mut bytes)?;
        }
    }
    check_end(text, found)?;
    // `\\x00`: a string inside of a string, as logs in JSON have it.
    if let Some(inner) = nested(&bytes) {
        bytes = inner;
    }
    Ok(Pasted { bytes, form: Form::Escapes })
}

/// The place of the closing quote.
fn close(text: &str, start: usize, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in from(text, start).char_indices() {
        match c {
            '\n' if !escaped => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(start + at),
            _ => {}
        }
    }
    None
}

/// Collects the pieces of a string that stand side by side.
fn quoted(text: &str, first: usize) -> Found {
    let is_bytes = slice(text, 0..first).ends_with(['b', 'B']);
    let mut pieces = Vec::new();
    let mut at = first;
    while let Some(quote) = from(text, at).chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        let start = at + 1;
        // A quote that is not closed is told when the piece is decoded.
        let end = close(text, start, quote).unwrap_or(text.len());
        pieces.push(start..end);
        at = next_piece(text, end + 1);
    }
    let has_escapes = pieces.iter().any(|piece| slice(text, piece.clone()).contains('\\'));
    let range = pieces.first().map_or(0, |piece| piece.start)..pieces.last().map_or(0, |piece| piece.end);
    Found { range, quoted: true, has_escapes, is_bytes, pieces }
}

/// Skips what joins two pieces: space, `\`, `+`, `.`, comments, a prefix.
fn next_piece(text: &str, start: usize) -> usize {
    let mut at = start;
    loop {
        let rest = from(text, at);
        let bare = rest.trim_start_matches(|c| is_space(c) || matches!(c, '\\' | '+' | '.' | '>'));
        at = text.len() - bare.len();
        if bare.starts_with("//") || bare.starts_with('#') || bare.starts_with("--") {
            at += bare.find('\n').unwrap_or(bare.len());
        } else if let Some(comment) = bare.strip_prefix("/*") {
            at += comment.find("*/").map_or(bare.len(), |end| end + 4);
        } else if bare.starts_with(['b', 'B', 'r', 'u']) && from(bare, 1).starts_with(['"', '\'']) {
            return at + 1;
        } else {
            return at;
        }
    }
}

/// What stands behind a string is code; bytes there would be lost.
fn check_end(text: &str, found: &Found) -> Result<(), PasteError> {
    if !found.quoted {
        return Ok(());
    }
    let at = next_piece(text, found.range.end + 1);
    let rest = from(text, at);
    if !(rest.is_empty() || rest.starts_with([';', ',', ')', ']', '}', '|', '&', '<'])) {
        return Err(bad(text, WHAT, at, "the end of the string, or one more in quotes"));
    }
    match rest.match_indices('\\').map(|(at, _)| at).find(|at| is_escape(from(rest, *at))) {
        Some(more) => Err(bad(text, WHAT, at + more, "one string only: a second one stands here")),
        None => Ok(()),
    }
}

/// Where a string without quotes stands: the whole text, without what a log puts before it.
fn bare(text: &str, backslash: usize) -> Range<usize> {
    let line_start = slice(text, 0..backslash).rfind('\n').map_or(0, |end| end + 1);
    let before = slice(text, line_start..backslash);
    let word = before
        .rfind(is_space)
        .map_or(0, |at| at + before.get(at..).and_then(|s| s.chars().next()).map_or(1, char::len_utf8));
    let prefix = slice(before, 0..word).trim();
    let start =
        if prefix.is_empty() || prefix.ends_with([':', '=', '>', ']', '|']) { line_start + word } else { line_start };
    let start =
        if slice(text, 0..line_start).trim_matches(is_space).is_empty() || start > line_start { start } else { 0 };
    start..text.trim_end_matches(is_space).len()
}

/// Without quotes, line ends are the reader's, not the string's; so are spaces when everything else is an escape.
fn decode_bare(text: &str, range: Range<usize>, bytes: &mut Vec<u8>) -> Result<(), PasteError> {
    let only_escapes = lines(text, range.clone()).all(|line| {
        let code = slice(line.text, 0..comment(line.text));
        code.split(is_space).all(|word| {
            let (mut rest, mut good) = (word, true);
            while good && !rest.is_empty() {
                match escape(rest) {
                    Ok((after, _)) => rest = after,
                    Err(_) => good = rest == "\\",
                }
                if rest == "\\" {
                    break;
                }
            }
            good
        })
    });
    for line in lines(text, range) {
        let code = if only_escapes { slice(line.text, 0..comment(line.text)) } else { line.text };
        let code = code.trim_matches(is_space);
        let start = line.start + line.text.find(code).unwrap_or(0);
        let code = code.strip_suffix('\\').filter(|rest| !rest.ends_with('\\')).unwrap_or(code);
        decode(text, start..start + code.len(), only_escapes, bytes)?;
    }
    Ok(())
}

/// Where a comment starts behind a space.
fn comment(line: &str) -> usize {
    [" #", " //", " ;", " --", "\t#", "\t//"].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len())
}

/// What an escape stands for.
#[derive(Clone, Copy)]
enum Escape {
    Byte(u8),
    /// The end of a line that goes on in the next.
    Nothing,
    /// A character above U+00FF.
    Wide,
}

fn decode(text: &str, range: Range<usize>, skip_space: bool, bytes: &mut Vec<u8>) -> Result<(), PasteError> {
    let end = range.end;
    let mut rest = slice(text, range);
    while let Some(c) = rest.chars().next() {
        let at = end - rest.len();
        match c {
            '\\' => match escape(rest) {
                Ok((after, Escape::Byte(byte))) => {
                    bytes.push(byte);
                    rest = after;
                }
                Ok((after, Escape::Nothing)) => rest = after,
                Ok((_, Escape::Wide)) => {
                    return Err(bad(
                        text,
                        WHAT,
                        at,
                        "an escape for one byte, \\u00ff at most (the bytes were read as text and are lost)",
                    ));
                }
                Err(_) => {
                    return Err(bad(text, WHAT, at + 1, "an escape: \\x00, \\0, \\n, \\u0000, …"));
                }
            },
            '\n' | '\r' => return Err(bad(text, WHAT, at, "the closing quote")),
            '\u{fffd}' => {
                return Err(bad(text, WHAT, at, "a byte (it was read as UTF-8 text and is lost)"));
            }
            _ => {
                if !(skip_space && is_space(c)) {
                    bytes.extend(slice(rest, 0..c.len_utf8()).as_bytes());
                }
                rest = from(rest, c.len_utf8());
            }
        }
    }
    Ok(())
}

fn escape(input: &str) -> IResult<&str, Escape> {
    let hex = |most: usize| take_while_m_n(1, most, |c: char| c.is_ascii_hexdigit());
    let wide = |digits: &str| {
        u32::from_str_radix(digits, 16).ok().map(|value| u8::try_from(value).map_or(Escape::Wide, Escape::Byte))
    };
    let octal = take_while_m_n(1, 3, |c: char| c.is_digit(8));
    preceded(
        char('\\'),
        alt((
            map_opt(preceded(char('x'), hex(2)), |digits| u8::from_str_radix(digits, 16).ok().map(Escape::Byte)),
            map_opt(delimited(tag("u{"), hex(6), char('}')), wide),
            map_opt(preceded(char('u'), take_while_m_n(4, 4, |c: char| c.is_ascii_hexdigit())), wide),
            map_opt(octal, |digits| u8::from_str_radix(digits, 8).ok().map(Escape::Byte)),
            map(tag("\r\n"), |_| Escape::Nothing),
            map_opt(anychar, named),
        )),
    )
    .parse(input)
}

/// The byte of a character literal, quotes included.
pub(super) fn character(literal: &str) -> Option<u8> {
    let inside = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    if !inside.starts_with('\\') {
        return u8::try_from(inside.chars().next().filter(|c| c.len_utf8() == inside.len())?).ok();
    }
    match escape(inside) {
        Ok(("", Escape::Byte(byte))) => Some(byte),
        _ => None,
    }
}

fn named(c: char) -> Option<Escape> {
    Some(Escape::Byte(match c {
        'a' => 0x07,
        'b' => 0x08,
        't' => b'\t',
        'n' => b'\n',
        'v' => 0x0b,
        'f' => 0x0c,
        'r' => b'\r',
        'e' => 0x1b,
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '`' => b'`',
        '?' => b'?',
        '/' => b'/',
        '\n' => return Some(Escape::Nothing),
        _ => return None,
    }))
}

/// Bytes that are nothing but `\xHH` once more.
fn nested(bytes: &[u8]) -> Option<Vec<u8>> {
    let (escapes, rest) = bytes.as_chunks::<4>();
    let inner = |escape: &[u8; 4]| match escape {
        [b'\\', b'x', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            Some(super::hex::pair([*high, *low]))
        }
        _ => None,
    };
    if rest.is_empty() { escapes.iter().map(inner).collect() } else { None }
}
