use super::*;

fn json(text: &str) -> String {
    match plain_text(Type::Json, text.as_bytes()) {
        Plain::Json(json) => json,
        Plain::Text(text) => format!("text {}", String::from_utf8_lossy(&text)),
    }
}

#[test]
fn json_is_shown_as_it_is_and_all_else_as_a_text() {
    assert_eq!(json(" {\"b\" : 1.795981056233E9,\r\n\"a\":[ true ,-0] }"), r#"{"b":1.795981056233E9,"a":[true,-0]}"#);
    assert_eq!(json("\"\u{202e}\""), r#""\u202e""#);
    for text in [r#"{"a":1,"a":2}"#, "{\"a\":}", "{", "", "nul"] {
        assert_eq!(json(text), format!("text {text}"));
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(json(&deep), format!("text {deep}"));
}

#[test]
fn names_and_parts_of_tokens() {
    assert_eq!(plain_text(Type::SaslName, b"a=2Cb"), Plain::Text(b"a,b".as_slice().into()));
    assert_eq!(plain_text(Type::Text, b"a=2Cb"), Plain::Text(b"a=2Cb".as_slice().into()));
    // {"alg":"none"}
    assert_eq!(plain_text(Type::Jwt, b"eyJhbGciOiJub25lIn0"), Plain::Json(r#"{"alg":"none"}"#.to_owned()));
    assert_eq!(plain_text(Type::Jwt, b"?"), Plain::Text(b"?".as_slice().into()));
    assert_eq!(member(r#"{"exp":1,"sub":"admin"}"#, "sub").as_deref(), Some("admin"));
    assert_eq!(member(r#"{"sub":7}"#, "sub"), None);
}
