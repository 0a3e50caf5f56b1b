//! What the fuzz targets do with their input, and what must hold of it. `tests/fuzz_corpus.rs` of the program does the
//! same with the corpora, without a fuzzer.

pub mod capture;
pub mod frame;
pub mod paste;
pub mod schema;
pub mod stream;

use std::sync::OnceLock;

use kafkascope::dissect::{Decoders, Opening, is_unsafe};
use kafkascope::protocol::Catalog;
use serde_json::Value;

/// The built-in messages.
fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(Catalog::builtin)
}

/// With what records are opened: little memory, so that the limit is met; formats for all topics.
fn opening(catalog: &Catalog) -> Opening<'_> {
    static DECODERS: OnceLock<Decoders> = OnceLock::new();
    let decoders = DECODERS.get_or_init(|| {
        let mut decoders = Decoders::default();
        for rule in ["*:key=string", "*:value=json"] {
            decoders.add(rule).expect("a rule");
        }
        decoders
    });
    Opening { max_inflate: Some(1 << 20), decoders: Some(decoders), ..Opening::new(catalog) }
}

/// Lines of JSON are JSON, have no key twice in an object, and nothing in them that a terminal acts on.
fn check_json(lines: &[u8]) {
    let text = std::str::from_utf8(lines).expect("JSON is UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line does not end");
    for line in text.split_terminator('\n') {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(keys_in_text(line), keys(&value), "a key occurs twice: {line}");
    }
    check_text(text);
}

/// Text has nothing in it that a terminal acts on.
fn check_text(text: &str) {
    let unsafe_one = text.chars().find(|character| *character != '\n' && is_unsafe(*character));
    assert_eq!(unsafe_one, None, "{text:?}");
}

fn keys(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len() + members.values().map(keys).sum::<usize>(),
        Value::Array(elements) => elements.iter().map(keys).sum(),
        _ => 0,
    }
}

/// The keys of all objects: strings with a colon behind them.
fn keys_in_text(json: &str) -> usize {
    let (mut count, mut in_string, mut escaped, mut ended) = (0, false, false, false);
    for byte in json.bytes() {
        count += usize::from(ended && byte == b':');
        ended = false;
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => {
                ended = in_string;
                in_string = !in_string;
            }
            _ => {}
        }
    }
    count
}
