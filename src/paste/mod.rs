//! Bytes in any form that people paste, turned into bytes: hex, dumps, arrays and strings of programming languages, base64.
//!
//! The form is found, never asked for. The rules, in the order in which they are tried:
//!
//! 1. What is not text (not UTF-8, or control characters other than tab and line ends) is taken as it is. A byte order mark
//!    of UTF-16 and colour codes of a terminal do not make a text binary.
//! 2. A line that starts with an offset (behind a margin of `> ` or `|`, or behind a log's prefix) makes a **dump**. Offsets
//!    must continue by the number of bytes shown; an ASCII column is found by comparing it with the bytes, by the step of the
//!    offsets, and by its column in the other lines. An offset needs a colon, or be 0 or a multiple of 16, or have the seven
//!    digits of `od` and `hexdump`. Offsets are hexadecimal, octal or decimal, whichever continues. Groups of four digits and more behind an
//!    offset without a colon are little-endian words (`hexdump`, `od -x`); with a colon they are bytes in order (`xxd`).
//! 3. Numbers in brackets are an **array**: `{…}`, `[…]`, `(…)`, `<…>`. A number with `0x` is hex; beside such numbers one
//!    without is decimal. Otherwise letters a to f make all of them hex; a minus sign or three digits make all decimal; two
//!    digits each and a zero in front of one of them make all hex (`[00 00 10]`); all else is decimal (`[0, 0, 0, 15]`).
//!    `<…>` without commas is hex (Node's Buffer).
//! 4. Quotes around text with a backslash in it, or a backslash outside of quotes, are a **string with escapes**. `\0` to
//!    `\377` are octal, as in C, Go, Java and Python. `\u00XX` is one byte.
//!    Quoted text without a backslash is hex or base64; when it is neither, `b'…'` is its own bytes.
//! 5. Numbers without brackets are **decimal** when one has three digits or a minus sign or a cast, or when some have one digit and none
//!    has a zero in front (`0 0 0 15`). Two digits each are hex (`00 00 00 15`).
//! 6. Text in both cases, or with `=` at its end, without spaces inside of lines and with letters that hex has not, is **base64**.
//! 7. Everything else is **plain hex**, and errors are told as errors in hex. Separators are spaces, commas, colons, dashes,
//!    dots and underscores; comments start with `#`, `//`, `;` or `--`. A digit more at a line's end belongs to the next line.

mod array;
mod base64;
mod dump;
mod escapes;
mod hex;
mod row;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;

/// The bytes of a paste and the form that they had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What the input was taken for, to tell the reader.
    pub form: Form,
}

/// A form in which bytes are pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The bytes themselves.
    Raw,
    /// Hex digits, with or without separators.
    Hex,
    /// A string of a programming language.
    Escapes,
    /// A list of hexadecimal numbers.
    HexArray,
    /// A list of decimal numbers, signed or not.
    DecimalArray,
    /// A dump of bytes with offsets: xxd, hexdump -C, tcpdump -X, Wireshark, GDB, ….
    Dump,
    /// A dump of little-endian words with offsets: hexdump, od.
    WordDump,
    /// Base64, standard or URL-safe.
    Base64,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "raw bytes",
            Self::Hex => "hex",
            Self::Escapes => "a string with escapes",
            Self::HexArray => "an array of hex numbers",
            Self::DecimalArray => "an array of decimal numbers",
            Self::Dump => "a hex dump",
            Self::WordDump => "a dump of little-endian words",
            Self::Base64 => "base64",
        })
    }
}

/// Why a paste is not bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PasteError {
    /// There is nothing, or nothing but space and comments.
    #[error("nothing to decode: the input holds no bytes")]
    Empty,
    /// Something stands where it cannot.
    #[error("bad {what} at character {at} (line {line}, column {column}): found {found}, expected {expected}")]
    Bad {
        /// What the input was taken for: `hex`, `dump`, ….
        what: &'static str,
        /// Number of the character in the input, from 1; counts characters, not bytes.
        at: usize,
        /// Number of the line, from 1.
        line: usize,
        /// Number of the character in its line, from 1.
        column: usize,
        /// What stands there.
        found: String,
        /// What should stand there.
        expected: String,
    },
}

/// Most bytes that the repeats of a dump (`*`) may make of it.
const MAX_EXPANDED: usize = 64 << 20;

/// Finds the form of the input and takes the bytes out of it.
pub fn parse(input: &[u8]) -> Result<Pasted, PasteError> {
    let pasted = match text::decode(input) {
        Some(text) => parse_text(&text)?,
        None => Pasted { bytes: input.to_vec(), form: Form::Raw },
    };
    if pasted.bytes.is_empty() { Err(PasteError::Empty) } else { Ok(pasted) }
}

fn parse_text(text: &str) -> Result<Pasted, PasteError> {
    if let Some(dump) = dump::parse(text) {
        return dump;
    }
    if let Some(array) = array::parse(text) {
        return array;
    }
    let quoted = match escapes::find(text) {
        Some(string) if string.has_escapes => return escapes::parse(text, &string),
        Some(string) if string.quoted => Some(string),
        _ => None,
    };
    let range = quoted.as_ref().map_or(0..text.len(), |string| string.range.clone());
    if quoted.is_none()
        && let Some(list) = array::parse_bare(text)
    {
        return list;
    }
    if base64::looks_like(text, range.clone()) {
        return base64::parse(text, range);
    }
    match (hex::parse(text, range), quoted) {
        (Err(_), Some(string)) if string.is_bytes => escapes::parse(text, &string),
        (result, _) => result,
    }
}
