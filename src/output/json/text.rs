//! The primitives of JSON text: strings, base64, floats, brackets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::dissect::is_unsafe;

/// Ends an object or array: the bracket takes the place of the last comma.
pub fn close_bracket(out: &mut Vec<u8>, bracket: u8) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = bracket,
        _ => out.push(bracket),
    }
}

/// A string in quotes; whether it was UTF-8. What is not becomes U+FFFD.
pub fn string(out: &mut Vec<u8>, text: &[u8]) -> bool {
    let valid = std::str::from_utf8(text);
    out.push(b'"');
    if let Ok(text) = valid {
        escaped(out, text);
    } else {
        for chunk in text.utf8_chunks() {
            escaped(out, chunk.valid());
            if !chunk.invalid().is_empty() {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
    }
    out.push(b'"');
    valid.is_ok()
}

/// What stands for itself is copied in runs, because keys and values of records are most of what is written.
pub(super) fn escaped(out: &mut Vec<u8>, text: &str) {
    let (mut run, mut rest) = (text, text);
    while let Some(place) = first_suspect(rest.as_bytes()) {
        let suspect = rest.get(place..).unwrap_or_default();
        let mut characters = suspect.chars();
        let Some(character) = characters.next() else { break };
        rest = characters.as_str();
        let before = run.get(..run.len() - suspect.len()).unwrap_or_default();
        if matches!(character, '"' | '\\') {
            out.extend_from_slice(before.as_bytes());
            out.push(b'\\');
            run = suspect;
        } else if is_unsafe(character) {
            out.extend_from_slice(before.as_bytes());
            escape(out, character);
            run = rest;
        }
    }
    out.extend_from_slice(run.as_bytes());
}

/// Where the first character begins that may have to be escaped.
fn first_suspect(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let number = u64::from_le_bytes(*word);
        let place = if number & (EACH * 0x80) != 0 {
            word.iter().position(|byte| is_suspect(*byte))
        } else {
            let marks = ascii_suspects(number);
            (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
        };
        if let Some(place) = place {
            return Some(index * 8 + place);
        }
    }
    rest.iter().position(|byte| is_suspect(*byte)).map(|place| words.len() * 8 + place)
}

/// A one in each byte of a word.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Sets the highest bit of each byte that is a quote, a backslash or a control, of eight bytes of ASCII at once: the sums
/// carry into that bit, and never beyond it.
pub(super) fn ascii_suspects(word: u64) -> u64 {
    let other_than = |byte: u64| (word ^ (EACH * byte)) + EACH * 0x7f;
    let printable = word + EACH * 0x60;
    let delete = word + EACH;
    (!(other_than(0x22) & other_than(0x5c) & printable) | delete) & (EACH * 0x80)
}

/// Whether a character that begins with this byte may have to be escaped: quote, backslash, controls; the first bytes of
/// those characters beyond ASCII that are unsafe.
pub(super) fn is_suspect(byte: u8) -> bool {
    matches!(byte, 0..0x20 | 0x22 | 0x5c | 0x7f | 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf3)
}

/// Besides what JSON asks for, characters that a terminal acts on are escaped: the value is the same.
fn escape(out: &mut Vec<u8>, character: char) {
    match character {
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

/// Bytes as base64 in quotes.
pub fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    let length = bytes.len().div_ceil(3) * 4;
    out.resize(start + length, 0);
    if let Some(room) = out.get_mut(start..) {
        // The room is exactly what the encoding takes.
        let _ = STANDARD.encode_slice(bytes, room);
    }
    out.push(b'"');
}

/// A float64; infinities and not-a-number are strings, as Kafka prints them.
pub fn float(out: &mut Vec<u8>, number: f64) {
    let text = if number.is_nan() {
        "\"NaN\"".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "\"Infinity\"".to_owned() } else { "\"-Infinity\"".to_owned() }
    } else {
        format!("{number:?}")
    };
    out.extend_from_slice(text.as_bytes());
}

/// What stands in the place of a secret.
pub fn withheld(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"\"<withheld: ");
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b" bytes>\"");
}
