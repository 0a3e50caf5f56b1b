//! The names of codes: errors, API keys, resource types and whatever else travels as a number.
//! The data is `schemas/enumerations.json`.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;

use super::schema::TypeName;
use super::traits::EnumerationId;

/// All enumerations and the fields that carry them.
#[derive(Debug, Default)]
pub struct Enumerations {
    list: Vec<Enumeration>,
    /// By `Message.Field.Field`, and by `Field:type` for a field wherever it occurs.
    fields: HashMap<String, EnumerationId>,
    errors: Option<EnumerationId>,
}

/// Codes with names.
#[derive(Debug, Default)]
pub struct Enumeration {
    /// Its name in the data.
    pub name: String,
    /// What the codes say.
    pub about: String,
    /// Where the value is a set of bits: the enumeration that names bit n by its code n.
    pub bits: Option<String>,
    /// The codes, in order.
    pub codes: Vec<Code>,
    quiet: Vec<i64>,
}

/// One code of an enumeration.
#[derive(Debug)]
pub struct Code {
    /// The number on the wire.
    pub code: i64,
    /// Its name.
    pub name: String,
    /// For errors: whether a client may try again.
    pub retriable: Option<bool>,
    /// What it means; may be empty.
    pub about: String,
}

impl Enumeration {
    /// A code of this enumeration.
    pub fn code(&self, code: i64) -> Option<&Code> {
        self.codes.binary_search_by_key(&code, |known| known.code).ok().and_then(|index| self.codes.get(index))
    }

    /// The name to print behind a code; none for codes that mean that there is nothing to say.
    pub fn label(&self, code: i64) -> Option<&str> {
        if self.quiet.contains(&code) {
            return None;
        }
        self.code(code).map(|known| known.name.as_str())
    }
}

impl Enumerations {
    /// Reads the data: `{"enumerations": {name: {…}}, "fields": {path or name:type: name}}`.
    ///
    /// The text is embedded and checked by tests; what does not fit the shape is left out.
    pub(super) fn parse(text: &str) -> Self {
        let mut all = Self::default();
        let Ok(root) = serde_json::from_str::<Value>(text) else { return all };
        let mut ids = HashMap::new();
        for (name, value) in root.get("enumerations").and_then(Value::as_object).into_iter().flatten() {
            ids.insert(name.clone(), EnumerationId(all.list.len() as u16));
            all.list.push(enumeration(name, value));
        }
        all.errors = ids.get("ErrorCode").copied();
        for (field, name) in root.get("fields").and_then(Value::as_object).into_iter().flatten() {
            if let Some(&id) = name.as_str().and_then(|name| ids.get(name)) {
                all.fields.insert(field.clone(), id);
            }
        }
        all
    }

    /// An enumeration by its index.
    pub fn get(&self, id: EnumerationId) -> Option<&Enumeration> {
        self.list.get(usize::from(id.0))
    }

    /// An enumeration by its name.
    pub fn named(&self, name: &str) -> Option<&Enumeration> {
        self.list.iter().find(|enumeration| enumeration.name == name)
    }

    /// The index of an enumeration by its name.
    pub fn id(&self, name: &str) -> Option<EnumerationId> {
        let index = self.list.iter().position(|enumeration| enumeration.name == name)?;
        Some(EnumerationId(index as u16))
    }

    /// The index of the enumeration of error codes.
    pub fn errors(&self) -> Option<EnumerationId> {
        self.errors
    }

    /// All enumerations, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Enumeration> {
        self.list.iter()
    }

    /// The fields that carry an enumeration, as paths or `Field:type`, in no order.
    pub fn attached(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// The name to print behind a value; a set of bits is a list of names.
    pub fn label(&self, id: EnumerationId, value: i64) -> Option<String> {
        let enumeration = self.get(id)?;
        if let Some(label) = enumeration.label(value) {
            return Some(label.to_owned());
        }
        let names = self.named(enumeration.bits.as_deref()?)?;
        if value == 0 || enumeration.code(value).is_some() {
            return None;
        }
        let mut text = String::new();
        for bit in (0..32).filter(|bit| value >> bit & 1 == 1) {
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing into a string cannot fail.
            let _ = match names.code(bit) {
                Some(known) => write!(text, "{separator}{}", known.name),
                None => write!(text, "{separator}bit {bit}"),
            };
        }
        Some(text)
    }

    /// The enumeration that a field carries: by its path `Message.Field.Field`, else by its name and type.
    pub fn of_field(&self, path: &str, name: &str, ty: &TypeName) -> Option<EnumerationId> {
        let mut element = ty;
        while let TypeName::Array(inner) = element {
            element = inner;
        }
        let TypeName::Primitive(primitive) = element else { return None };
        let general = || self.fields.get(&format!("{name}:{}", primitive.word()));
        self.fields.get(path).or_else(general).copied()
    }
}

fn enumeration(name: &str, value: &Value) -> Enumeration {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut codes: Vec<Code> = value
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(Code {
                code: entry.get("code")?.as_i64()?,
                name: text(entry, "name"),
                retriable: entry.get("retriable").and_then(Value::as_bool),
                about: text(entry, "about"),
            })
        })
        .collect();
    codes.sort_by_key(|code| code.code);
    Enumeration {
        name: name.to_owned(),
        about: text(value, "about"),
        bits: value.get("bits").and_then(Value::as_str).map(str::to_owned),
        codes,
        quiet: value.get("quiet").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_i64).collect(),
    }
}
