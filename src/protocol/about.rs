//! Explanations of fields and messages, in our own words. The data is `schemas/about.json`.

use std::collections::HashMap;

use serde_json::Value;

/// What fields and messages are.
#[derive(Debug, Default)]
pub struct Glossary {
    fields: HashMap<String, String>,
    overrides: HashMap<String, String>,
    schemas: HashMap<String, String>,
}

impl Glossary {
    /// Reads the data: `{"fields": {name: text}, "messages": {path: text}, "schemas": {name: text}}`.
    pub(super) fn parse(text: &str) -> Self {
        let root = serde_json::from_str::<Value>(text).unwrap_or_default();
        let table = |key: &str| {
            let entries = root.get(key).and_then(Value::as_object).into_iter().flatten();
            entries.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
        };
        Self { fields: table("fields"), overrides: table("messages"), schemas: table("schemas") }
    }

    /// What a field is: by its path `Message.Field.Field`, else by its name.
    pub fn field(&self, path: &str, name: &str) -> Option<&str> {
        self.overrides.get(path).or_else(|| self.fields.get(name)).map(String::as_str)
    }

    /// What an API (without `Request` or `Response`) or another schema is for.
    pub fn schema(&self, name: &str) -> Option<&str> {
        self.schemas.get(name).map(String::as_str)
    }

    /// The paths that have an explanation of their own, in no order.
    pub fn overrides(&self) -> impl Iterator<Item = &str> {
        self.overrides.keys().map(String::as_str)
    }
}
