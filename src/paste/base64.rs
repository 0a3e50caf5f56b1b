//! Base64, standard (RFC 4648, section 4) and URL-safe (section 5), with or without padding, on one line or wrapped.

use std::ops::Range;

use base64::{
    DecodeError, Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{
    Form, PasteError, Pasted,
    text::{bad, is_space, slice},
};

const WHAT: &str = "base64";
const CONFIG: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

fn is_ignored(c: char) -> bool {
    is_space(c) || matches!(c, '"' | '\'' | '`')
}

/// Whether text is base64 and cannot be hex with a slip in it: hex is seldom written in both cases and never padded.
pub(super) fn looks_like(text: &str, range: Range<usize>) -> bool {
    let part = slice(text, range);
    let is_not_hex = |b: u8| !b.is_ascii_hexdigit() && (b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    if !part.bytes().any(is_not_hex) {
        return false;
    }
    let mut seen = [false; 4];
    let (mut good, mut bad) = (0_usize, 0_usize);
    for line in part.lines() {
        let line = line.trim_matches(is_ignored);
        if line.contains(is_space) {
            return false;
        }
        // The prefix of hex is none of its digits.
        let bare = line.strip_prefix("0x").or_else(|| line.strip_prefix("0X")).unwrap_or_default();
        let is_hex = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        for c in if is_hex { bare } else { line }.chars() {
            let class = match c {
                'A'..='Z' => Some(0),
                'a'..='z' => Some(1),
                '+' | '/' | '=' => Some(2),
                _ => None,
            };
            if let Some(flag) = class.and_then(|class| seen.get_mut(class)) {
                *flag = true;
            }
            let is_known = c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
            seen[3] |= is_known && !c.is_ascii_hexdigit() && !matches!(c, '-' | '_');
            *if is_known { &mut good } else { &mut bad } += 1;
        }
    }
    let [upper, lower, marks, not_hex] = seen;
    // `//` and `+` stand in hex too, as a comment and between strings.
    let padded = marks && part.trim_end_matches(is_ignored).ends_with('=');
    not_hex && ((upper && lower) || padded) && bad * 16 <= good
}

/// Decodes a part of the text.
pub(super) fn parse(text: &str, range: Range<usize>) -> Result<Pasted, PasteError> {
    let start = range.start;
    let part = slice(text, range);
    let kept = || part.char_indices().filter(|(_, c)| !is_ignored(*c));
    let digits: String = kept().map(|(_, c)| c).collect();
    let alphabet = if digits.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    let bytes = GeneralPurpose::new(alphabet, CONFIG).decode(&digits).map_err(|error| {
        let (at, expected) = match error {
            DecodeError::InvalidByte(at, _) => (at, "a base64 digit"),
            DecodeError::InvalidLastSymbol(at, _) => (at, "a last digit whose unused bits are 0 (is the end missing?)"),
            DecodeError::InvalidLength(_) => (digits.len(), "one more base64 digit at least (is the end missing?)"),
            DecodeError::InvalidPadding => {
                (digits.find('=').unwrap_or(digits.len()), "as much padding as the length asks for")
            }
        };
        // Bytes of the digits, not characters: a character that is no digit may be longer.
        let before = digits.get(..at).map_or(0, |before| before.chars().count());
        bad(text, WHAT, kept().nth(before).map_or(text.len(), |(place, _)| start + place), expected)
    })?;
    Ok(Pasted { bytes, form: Form::Base64 })
}
