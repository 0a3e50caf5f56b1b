//! Explanations of fields and messages, in our own words. The data is `schemas/about.json`.

use std::collections::HashMap;

use serde_json::Value;

use super::schema::{Schema, SchemaField};

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

    /// The schema with an explanation for every field that has none of its own.
    #[must_use]
    pub fn explain(&self, mut schema: Schema) -> Schema {
        let shared: Vec<(usize, String)> = (schema.common.iter().enumerate())
            .map(|(index, shared)| {
                let holder = place_of(&schema, &schema.fields, &shared.name, &schema.name, &mut Vec::new());
                (index, holder.unwrap_or_else(|| format!("{}.{}", schema.name, shared.name)))
            })
            .collect();
        for (index, path) in shared {
            if let Some(shared) = schema.common.get_mut(index) {
                self.explain_fields(&mut shared.fields, &path);
            }
        }
        let path = schema.name.to_string();
        self.explain_fields(&mut schema.fields, &path);
        schema
    }

    fn explain_fields(&self, fields: &mut [SchemaField], holder: &str) {
        for field in fields {
            let path = format!("{holder}.{}", field.name);
            if field.about.is_none() {
                field.about = self.field(&path, &field.name).map(Into::into);
            }
            self.explain_fields(&mut field.fields, &path);
        }
    }

    /// The paths that have an explanation of their own, in no order.
    pub fn overrides(&self) -> impl Iterator<Item = &str> {
        self.overrides.keys().map(String::as_str)
    }
}

/// The path of the first field that holds a shared struct.
fn place_of<'s>(
    schema: &'s Schema,
    fields: &'s [SchemaField],
    name: &str,
    holder: &str,
    open: &mut Vec<&'s str>,
) -> Option<String> {
    for field in fields {
        let path = format!("{holder}.{}", field.name);
        match field.ty.struct_name() {
            Some(inner) if inner == name => return Some(path),
            Some(inner) if !open.contains(&inner) => {
                open.push(inner);
                let found = place_of(schema, schema.members(field), name, &path, open);
                open.pop();
                if found.is_some() {
                    return found;
                }
            }
            _ => {}
        }
    }
    None
}
