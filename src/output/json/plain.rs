//! Texts of tokens as what they say: names without escapes, JSON as it is.

use std::borrow::Cow;

use serde_json::Value;

use crate::dissect::{DecodedValue, Format, jwt_json, sasl_name};
use crate::protocol::Type;

/// What a text says.
#[derive(Debug, PartialEq, Eq)]
pub enum Plain<'b> {
    /// A text.
    Text(Cow<'b, [u8]>),
    /// JSON on one line, with what a terminal acts on escaped. Keys keep their order, numbers their digits.
    Json(String),
}

/// Whether values of a type are texts of tokens.
pub fn is_text(ty: Type) -> bool {
    matches!(ty, Type::Text | Type::SaslName | Type::Json | Type::Jwt)
}

/// What a text of a type says. JSON that is none, is nested without end or has a key twice is a text.
pub fn plain_text(ty: Type, text: &[u8]) -> Plain<'_> {
    let json = match ty {
        Type::SaslName => return Plain::Text(sasl_name(text).into()),
        Type::Json => str::from_utf8(text).ok().map(Cow::Borrowed),
        Type::Jwt => jwt_json(text).map(Cow::Owned),
        _ => None,
    };
    let Some(json) = json else { return Plain::Text(text.into()) };
    if let Some(DecodedValue::Json(json)) = Format::Json.decode(json.as_bytes()).value {
        return Plain::Json(json);
    }
    Plain::Text(match json {
        Cow::Borrowed(json) => json.as_bytes().into(),
        Cow::Owned(json) => json.into_bytes().into(),
    })
}

/// A text member of an object: the status of an error, the subject of a token.
pub fn member(json: &str, name: &str) -> Option<String> {
    let object: Value = serde_json::from_str(json).ok()?;
    object.get(name).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests;
