//! A schema in Kafka's own notation: JSON, laid out as in Kafka's files.

use std::fmt::Write;

use serde_json::Value;

use crate::protocol::{Schema, SchemaField, Versions};

/// Appends a schema as a file of Kafka's would have it, a field a line, explanations below their fields.
pub fn write_schema(out: &mut String, schema: &Schema) {
    out.push_str("{\n");
    let mut lines = Vec::new();
    if let Some(key) = schema.api_key {
        lines.push(format!("  \"apiKey\": {key}"));
    }
    lines.push(format!("  \"type\": \"{}\"", schema.kind.word()));
    if !schema.listeners.is_empty() {
        let listeners: Vec<String> = schema.listeners.iter().map(|listener| quoted(listener)).collect();
        lines.push(format!("  \"listeners\": [{}]", listeners.join(", ")));
    }
    lines.push(format!("  \"name\": {}", quoted(&schema.name)));
    lines.push(format!("  \"validVersions\": \"{}\"", schema.valid));
    if schema.latest_unstable {
        lines.push("  \"latestVersionUnstable\": true".to_owned());
    }
    lines.push(format!("  \"flexibleVersions\": \"{}\"", schema.flexible));
    let mut fields = String::from("  \"fields\": [");
    write_fields(&mut fields, &schema.fields, 2);
    fields.push(']');
    lines.push(fields);
    if !schema.common.is_empty() {
        lines.push(common_structs(schema));
    }
    out.push_str(&lines.join(",\n"));
    out.push_str("\n}\n");
}

fn common_structs(schema: &Schema) -> String {
    let structs: Vec<String> = (schema.common.iter())
        .map(|shared| {
            let name = quoted(&shared.name);
            let mut text = format!("    {{ \"name\": {name}, \"versions\": \"{}\", \"fields\": [", shared.versions);
            write_fields(&mut text, &shared.fields, 4);
            text.push_str("]}");
            text
        })
        .collect();
    format!("  \"commonStructs\": [\n{}\n  ]", structs.join(",\n"))
}

/// Appends fields two columns further than what holds them, and the indentation of the bracket that closes.
fn write_fields(out: &mut String, fields: &[SchemaField], indent: usize) {
    let pad = " ".repeat(indent + 2);
    for (index, field) in fields.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        let _ = write!(out, "{pad}{{ {}", attributes(field));
        if let Some(about) = &field.about {
            let _ = write!(out, ",\n{pad}  \"about\": {}", quoted(about));
        }
        if field.fields.is_empty() {
            out.push_str(" }");
        } else {
            out.push_str(", \"fields\": [");
            write_fields(out, &field.fields, indent + 2);
            out.push_str("]}");
        }
    }
    if !fields.is_empty() {
        let _ = write!(out, "\n{}", " ".repeat(indent));
    }
}

fn attributes(field: &SchemaField) -> String {
    let mut text = format!("\"name\": {}, \"type\": \"{}\"", quoted(&field.name), field.ty);
    let mut put = |key: &str, value: String| {
        // Writing into a string cannot fail.
        let _ = write!(text, ", \"{key}\": {value}");
    };
    let versions = |versions: Versions| format!("\"{versions}\"");
    put("versions", versions(field.versions));
    if !field.nullable.is_empty() {
        put("nullableVersions", versions(field.nullable));
    }
    if let Some(flexible) = field.flexible {
        put("flexibleVersions", versions(flexible));
    }
    if !field.tagged.is_empty() {
        put("taggedVersions", versions(field.tagged));
    }
    if let Some(tag) = field.tag {
        put("tag", tag.to_string());
    }
    if let Some(default) = &field.default {
        put("default", quoted(default));
    }
    if field.ignorable {
        put("ignorable", "true".to_owned());
    }
    if field.map_key {
        put("mapKey", "true".to_owned());
    }
    if let Some(entity) = &field.entity {
        put("entityType", quoted(entity));
    }
    text
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
