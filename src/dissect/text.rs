//! Values as text that is safe to show: nothing that comes from the wire reaches a terminal as it is.

use std::fmt::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A uuid in Kafka's own form: 22 characters of base64url.
pub fn uuid_text(bytes: [u8; 16]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Text in quotes. Controls, marks that change the direction of text and bytes that are not UTF-8 are escaped.
pub fn display_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    // Writing into a string cannot fail.
    let _ = escape(&mut text, bytes);
    text.push('"');
    text
}

/// The first 16 bytes in hexadecimal, and `…` where there are more.
pub fn display_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes.iter().take(16) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > 16 {
        text.push('…');
    }
    text
}

fn escape(out: &mut String, bytes: &[u8]) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        // What stands for itself is copied in runs.
        while let Some(place) = rest.find(|character| matches!(character, '"' | '\\') || is_unsafe(character)) {
            let (run, behind) = rest.split_at(place);
            out.push_str(run);
            let mut characters = behind.chars();
            let Some(character) = characters.next() else { break };
            rest = characters.as_str();
            match character {
                '"' | '\\' => write!(out, "\\{character}")?,
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ if character.is_ascii() => write!(out, "\\x{:02x}", u32::from(character))?,
                _ => write!(out, "\\u{{{:x}}}", u32::from(character))?,
            }
        }
        out.push_str(rest);
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

/// Characters that a terminal acts on or that hide or turn other text: controls (C0, DEL, C1), line and paragraph
/// separators, invisible and bidirectional formatting, tags.
#[inline]
pub fn is_unsafe(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
