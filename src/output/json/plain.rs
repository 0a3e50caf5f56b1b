//! Texts of tokens as what they say: names without escapes, JSON as it is.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::string;
use crate::dissect::{jwt_json, sasl_name};
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
    let mut out = Vec::with_capacity(json.len());
    if copy(&mut out, &json, 0).is_some()
        && let Ok(copied) = String::from_utf8(out)
    {
        return Plain::Json(copied);
    }
    Plain::Text(match json {
        Cow::Borrowed(json) => json.as_bytes().into(),
        Cow::Owned(json) => json.into_bytes().into(),
    })
}

/// Values inside of each other, as deep as they are copied.
const MAX_DEPTH: u32 = 16;

/// Copies JSON in the form of all other that is printed.
fn copy(out: &mut Vec<u8>, json: &str, depth: u32) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let json = json.trim_matches([' ', '\t', '\r', '\n']);
    match json.as_bytes().first()? {
        b'{' => {
            let Members(members) = serde_json::from_str(json).ok()?;
            out.push(b'{');
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string(out, key.as_bytes());
                out.push(b':');
                copy(out, value.get(), depth + 1)?;
            }
            out.push(b'}');
        }
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            out.push(b'[');
            for (index, element) in elements.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                copy(out, element.get(), depth + 1)?;
            }
            out.push(b']');
        }
        b'"' => drop(string(out, serde_json::from_str::<String>(json).ok()?.as_bytes())),
        _ => {
            let scalar: &RawValue = serde_json::from_str(json).ok()?;
            out.extend_from_slice(scalar.get().as_bytes());
        }
    }
    Some(())
}

/// The members of an object in their order; an object that has a key twice is none.
struct Members<'j>(Vec<(String, &'j RawValue)>);

impl<'j> Deserialize<'j> for Members<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'j> Visitor<'j> for Read {
            type Value = Members<'j>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'j>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry::<String, &RawValue>()? {
                    members.push(member);
                }
                let mut keys: Vec<&String> = members.iter().map(|(key, _)| key).collect();
                keys.sort_unstable();
                if keys.windows(2).any(|pair| matches!(pair, [one, next] if one == next)) {
                    return Err(serde::de::Error::custom("a key twice"));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// A text member of an object: the status of an error, the subject of a token.
pub fn member(json: &str, name: &str) -> Option<String> {
    let Members(members) = serde_json::from_str(json).ok()?;
    let (_, value) = members.into_iter().find(|(key, _)| key == name)?;
    serde_json::from_str(value.get()).ok()
}

#[cfg(test)]
mod tests;
