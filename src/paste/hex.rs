//! Plain hex: digits with all that people put between them.

use std::ops::Range;

use super::{
    Form, PasteError, Pasted,
    row::{is_column, is_log, is_stamped, log_prefix, margin},
    text::{Line, bad, from, is_space, lines, slice},
};

const WHAT: &str = "hex";

/// The byte of two hex digits; what is no digit counts as 0.
pub(super) fn pair(digits: [u8; 2]) -> u8 {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16).unwrap_or(0) as u8);
    high << 4 | low
}

/// Reads a part of the text as plain hex.
pub(super) fn parse(text: &str, range: Range<usize>) -> Result<Pasted, PasteError> {
    let mut hex = Hex { text, bytes: Vec::new(), half: None, in_comment: false };
    for line in lines(text, range) {
        hex.line(line)?;
    }
    match hex.half {
        Some((_, end)) => Err(bad(text, WHAT, end, "a second hex digit")),
        None => Ok(Pasted { bytes: hex.bytes, form: Form::Hex }),
    }
}

struct Hex<'a> {
    text: &'a str,
    bytes: Vec<u8>,
    /// The last digit of a line that was wrapped between two digits, and where it ends.
    half: Option<(u8, usize)>,
    /// Inside of `/* … */`.
    in_comment: bool,
}

impl Hex<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<(), PasteError> {
        let mut at = 0;
        if !self.in_comment {
            at = margin(line.text);
            let rest = from(line.text, at);
            if is_log(rest) {
                match log_prefix(line.text, at) {
                    Some(start) => at = start,
                    // A heading: `sent 15 bytes:`
                    None if rest.trim_end().ends_with(':') || is_stamped(rest) => {
                        return Ok(());
                    }
                    None => {}
                }
            }
        }
        let first = self.bytes.len();
        while at < line.text.len() {
            let rest = from(line.text, at);
            if self.in_comment {
                let Some(end) = rest.find("*/") else {
                    return Ok(());
                };
                self.in_comment = false;
                at += end + 2;
                continue;
            }
            let gap = rest.len() - rest.trim_start_matches(is_space).len();
            if self.is_ascii_column(first, rest, gap) {
                return Ok(());
            }
            if gap > 0 {
                at += gap;
            } else if rest.starts_with("/*") {
                self.in_comment = true;
                at += 2;
            } else if is_comment(rest, slice(line.text, 0..at)) {
                return Ok(());
            } else if let Some(separator) = rest.chars().next().filter(|c| is_separator(*c)) {
                at += separator.len_utf8();
            } else {
                at += self.digits(line, at)?;
            }
        }
        Ok(())
    }

    /// Whether the bytes of this line so far are followed by the same bytes as text.
    fn is_ascii_column(&self, first: usize, rest: &str, gap: usize) -> bool {
        let bytes = self.bytes.get(first..).unwrap_or_default();
        (gap >= 2 || rest.starts_with('|')) && bytes.len() > 1 && is_column(bytes, rest)
    }

    /// Takes a run of digits and returns its length, its `0x` included.
    fn digits(&mut self, line: Line<'_>, at: usize) -> Result<usize, PasteError> {
        let rest = from(line.text, at);
        let bare = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")).unwrap_or(rest);
        let prefix = rest.len() - bare.len();
        let length = bare.bytes().take_while(u8::is_ascii_hexdigit).count();
        let mut digits = slice(bare, 0..length).as_bytes();
        let end = line.start + at + prefix + length;
        if length == 0 {
            return Err(bad(self.text, WHAT, end, "a hex digit"));
        }
        if let (Some((high, _)), Some((low, others))) = (self.half.take(), digits.split_first()) {
            self.bytes.push(pair([high, *low]));
            digits = others;
        }
        let (pairs, odd) = digits.as_chunks::<2>();
        self.bytes.extend(pairs.iter().map(|digits| pair(*digits)));
        if let [digit] = odd {
            let alone =
                slice(line.text, margin(line.text)..at).is_empty() && slice(bare, length..bare.len()).trim().is_empty();
            match prefix {
                2 if length == 1 => self.bytes.push(pair([b'0', *digit])),
                0 if alone && length > 2 => self.half = Some((*digit, end)),
                _ => return Err(bad(self.text, WHAT, end, "a second hex digit")),
            }
        }
        Ok(prefix + length)
    }
}

fn is_separator(c: char) -> bool {
    // Quotes, + and \ part the pieces of a string that was wrapped.
    is_space(c) || matches!(c, ',' | ':' | '-' | '.' | '_' | '|' | ';' | '"' | '\'' | '`' | '+' | '\\')
}

/// Whether a comment starts here. A dash or a semicolon alone parts bytes.
fn is_comment(rest: &str, before: &str) -> bool {
    let apart = before.is_empty() || before.ends_with(is_space);
    if rest.starts_with('#') || rest.starts_with("//") || (apart && rest.starts_with("--")) {
        return true;
    }
    let Some(after) = rest.strip_prefix(';') else {
        return false;
    };
    let word = after.trim_start_matches(is_space);
    let next = word.split(|c: char| is_space(c) || c == ';').next().unwrap_or_default();
    let is_byte = next.len() == 2 && next.bytes().all(|b| b.is_ascii_hexdigit());
    let tail = from(word, next.len()).trim_start_matches(is_space);
    let joined = word.len() == after.len() && after.starts_with(|c: char| c.is_ascii_hexdigit());
    !(joined || word.is_empty() || is_byte && (tail.is_empty() || tail.starts_with(';')))
}
