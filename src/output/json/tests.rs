use super::text::{ascii_suspects, is_suspect};
use super::*;
use crate::dissect::is_unsafe;

fn written(text: &[u8]) -> (String, bool) {
    let mut out = Vec::new();
    let valid = string(&mut out, text);
    (String::from_utf8(out).unwrap(), valid)
}

#[test]
fn strings_escape_what_json_and_terminals_ask_for() {
    assert_eq!(written(b""), ("\"\"".to_owned(), true));
    assert_eq!(written(b"\"a\\\n\r\t\x08\x1b\x7f"), (r#""\"a\\\n\r\t\u0008\u001b\u007f""#.to_owned(), true));
    assert_eq!(written("größe 中 😀".as_bytes()), ("\"größe 中 😀\"".to_owned(), true));
    assert_eq!(written("\u{9b}\u{e0041}".as_bytes()), (r#""\u009b\udb40\udc41""#.to_owned(), true));
    assert_eq!(written(b"a\xffb\"\xc3"), ("\"a\u{fffd}b\\\"\u{fffd}\"".to_owned(), false));
}

/// All of Unicode, at all places in a word of eight bytes.
#[test]
fn every_character_comes_back_and_none_is_unsafe() {
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    for (index, some) in all.chunks(512).enumerate() {
        let text: String = some.iter().flat_map(|character| [*character, 'x']).collect();
        let text = format!("{}{text}", "y".repeat(index % 8));
        let (json, valid) = written(text.as_bytes());
        assert!(valid && !json.chars().any(is_unsafe), "at {:?}", some[0]);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}

#[test]
fn eight_bytes_at_once() {
    for byte in 0..0x80 {
        for place in 0..8 {
            let mut word = *b"abcdefgh";
            word[place] = byte;
            let expected = if is_suspect(byte) { 0x80u64 << (8 * place) } else { 0 };
            assert_eq!(ascii_suspects(u64::from_le_bytes(word)), expected, "{byte:#x} at {place}");
        }
    }
}

/// What is not UTF-8 says so wherever a string may stand.
#[test]
fn texts_that_are_not_utf_8_are_marked() {
    use crate::dissect::{Opening, dissect, fit_request};
    use crate::protocol::{ApiKey, Catalog};
    let catalog = Catalog::builtin();
    // DescribeGroups v0, client id `\xff`: an array of strings.
    let body: &[u8] = &[0, 15, 0, 0, 0, 0, 0, 7, 0, 1, 0xff, 0, 0, 0, 3, 0, 1, b'a', 0, 1, 0xfe, 0, 2, b'b', 0x80];
    let frame = [&(body.len() as u32).to_be_bytes(), body].concat();
    let fit = fit_request(&catalog, ApiKey(15), 0, &frame, true, 0);
    let mut out = b"{".to_vec();
    dissect(&fit.reading, &frame, &mut JsonWriter::new(Opening::new(&catalog), &mut out, false));
    close_bracket(&mut out, b'}');
    let expected = r#"{"header":{"requestApiKey":15,"requestApiVersion":0,"correlationId":7,"clientId":"X","_clientIdBase64":"/w=="},"body":{"groups":["a","X","bX"],"_groupsBase64":[{"index":1,"value":"/g=="},{"index":2,"value":"YoA="}]}}"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected.replace('X', "\u{fffd}"));
}
