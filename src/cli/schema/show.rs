//! `kafkascope schema show`: one message, or the codes of an enumeration.

use anyhow::bail;
use serde_json::{Value, json};

use super::{Style, joined, newest, unknown};
use crate::output::schema_text::write_schema;
use crate::output::table::{Align, Table, columns, harmless, wrap};
use crate::protocol::{
    Catalog, Element, Enumeration, Field, Kind, Plan, Prefix, Schema, SchemaField, Side, Struct, Type, Versions,
};

pub(super) fn text(
    catalog: &Catalog,
    name: &str,
    version: Option<i16>,
    json: bool,
    style: Style,
) -> anyhow::Result<String> {
    let names = messages(catalog, name);
    if names.is_empty() {
        return match enumeration(catalog, name) {
            Some(_) if version.is_some() => bail!("{name} is an enumeration; those have no versions"),
            Some(known) if json => Ok(enumeration_json(known)),
            Some(known) => Ok(enumeration_text(known, style)),
            None => Err(unknown(catalog, name)),
        };
    }
    let mut parts = Vec::new();
    for name in names {
        let Some(schema) = described(catalog, &name, version, json)? else { continue };
        if json {
            let mut text = String::new();
            write_schema(&mut text, &schema);
            parts.push(text);
        } else {
            parts.push(message_text(catalog, &schema, version, style));
        }
    }
    Ok(parts.join("\n"))
}

/// The messages that a name stands for: both directions of an API, or one message.
fn messages(catalog: &Catalog, name: &str) -> Vec<String> {
    if let Some(schema) = catalog.schema(name) {
        return vec![schema.name.to_string()];
    }
    let Some(api) = catalog.api_named(name) else { return Vec::new() };
    let sides = [Side::Request, Side::Response].into_iter();
    sides.filter_map(|side| catalog.api_schema_name(api.key, side)).map(str::to_owned).collect()
}

/// The schema of a message with explanations: with one version, as JSON with those of the newest release, else with all.
fn described(catalog: &Catalog, name: &str, version: Option<i16>, json: bool) -> anyhow::Result<Option<Schema>> {
    let glossary = catalog.glossary();
    match version {
        None if json => {
            let current = |schema: &Schema| schema.within(catalog.current_versions(name));
            Ok(catalog.schema(name).map(|schema| glossary.explain(current(schema))))
        }
        None => Ok(catalog.schema(name).map(|schema| glossary.explain(schema.clone()))),
        Some(version) => match catalog.schema_for(name, version) {
            None => bail!("{name} has no version {version}; known are {}", catalog.versions(name)),
            Some(schema) => {
                let only = Versions { first: version, last: version };
                Ok(Some(glossary.explain(schema.within(only))))
            }
        },
    }
}

fn message_text(catalog: &Catalog, schema: &Schema, version: Option<i16>, style: Style) -> String {
    let paint = style.paint;
    let title = version.map_or_else(|| schema.name.to_string(), |version| format!("{} v{version}", schema.name));
    let mut lines = vec![paint.heading(title)];
    if let Some(about) = catalog.glossary().schema(&schema.name).or_else(|| api_about(catalog, schema)) {
        lines.extend(wrap(about, style.width, 0));
    }
    lines.push(String::new());
    lines.extend(facts(catalog, schema, version).lines(usize::MAX));
    lines.push(String::new());
    let mut rows = Vec::new();
    if let Some(plan) = version.and_then(|version| catalog.plan(&schema.name, version)) {
        plan_rows(catalog, plan, plan.top(), 0, &mut rows);
    } else {
        lines.extend(release_lines(catalog, schema, style));
        schema_rows(catalog, schema, &schema.fields, &schema.name, &mut Vec::new(), &mut rows);
    }
    lines.extend(field_lines(&rows, style));
    joined(&lines)
}

fn api_about<'c>(catalog: &'c Catalog, schema: &Schema) -> Option<&'c str> {
    let key = crate::protocol::ApiKey(schema.api_key?);
    let api = catalog.api(key).filter(|_| matches!(schema.kind, Kind::Request | Kind::Response))?;
    catalog.glossary().schema(&api.name)
}

fn facts(catalog: &Catalog, schema: &Schema, version: Option<i16>) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut fact = |name: &str, value: String| table.row([name.to_owned(), value]);
    let module = catalog.module(&schema.name).unwrap_or("your own schemas");
    fact("kind", format!("{} ({module})", schema.kind.word()));
    if let Some(key) = schema.api_key {
        let is_api = matches!(schema.kind, Kind::Request | Kind::Response);
        fact(if is_api { "API key" } else { "record type" }, key.to_string());
    }
    if !schema.listeners.is_empty() {
        fact("sent to", harmless(&schema.listeners.join(", ")));
    }
    match version.and_then(|version| catalog.plan(&schema.name, version)) {
        Some(plan) => {
            let side = if plan.kind == Kind::Request { Side::Request } else { Side::Response };
            if let (Kind::Request | Kind::Response, Some(header)) = (plan.kind, catalog.header_for(plan, side)) {
                fact("header", format!("{} header v{}", side.word(), header.version));
            }
            match plan.prefix() {
                Prefix::None => {}
                Prefix::Int16(name) => fact("prefix", format!("int16 {name}")),
                Prefix::Uvarints(names) => fact("prefix", format!("uvarints {}", names.join(", "))),
            }
            fact("flexible", if plan.flexible { "yes: compact lengths, tagged fields" } else { "no" }.to_owned());
            fact("size", format!("at least {} bytes", plan.top().min_size));
        }
        None => fact("flexible", schema.flexible.to_string()),
    }
    table
}

/// Which releases have which versions; versions with the same fate share a line.
fn release_lines(catalog: &Catalog, schema: &Schema, style: Style) -> Vec<String> {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut rows: Vec<(Versions, String)> = Vec::new();
    let all = catalog.versions(&schema.name);
    for version in all.first..=all.last {
        let fate = fate(catalog, &schema.name, version);
        match rows.last_mut() {
            Some((range, same)) if *same == fate => range.last = version,
            _ => rows.push((Versions { first: version, last: version }, fate)),
        }
    }
    table.row(["versions".to_owned(), "releases".to_owned()]);
    for (range, fate) in rows {
        table.row([range.to_string(), fate]);
    }
    let mut lines = table.lines(style.width);
    if let Some(head) = lines.first_mut() {
        *head = style.paint.dim(&*head);
    }
    lines.push(String::new());
    lines
}

fn fate(catalog: &Catalog, name: &str, version: i16) -> String {
    let releases = catalog.releases();
    let (newest, is_unstable) = newest(catalog, name);
    let own = || {
        let mark = if is_unstable && version == newest.last { ", not yet final (!)" } else { "" };
        format!("your own schemas{mark}")
    };
    let Some((since, until)) = releases.lifetime(name, version) else { return own() };
    let is_oldest = releases.names.last().is_some_and(|oldest| oldest == since);
    let is_newest = releases.names.first().is_some_and(|newest| newest == until);
    let mut text = match (is_oldest, is_newest) {
        (true, true) => format!("all, {since} or before to {until}"),
        (true, false) => format!("until {until}"),
        (false, true) => format!("since {since}"),
        (false, false) => format!("{since} to {until}"),
    };
    if since == until && !is_oldest && !is_newest {
        text = format!("only {since}");
    }
    let cells = releases.row(name).map(|row| row.cells.as_slice()).unwrap_or_default();
    let unstable = cells.iter().zip(&releases.names).filter(|(cell, _)| cell.unstable && cell.versions.last == version);
    let mut unstable: Vec<&str> = unstable.map(|(_, name)| name.as_str()).collect();
    unstable.reverse();
    if !unstable.is_empty() {
        text.push_str(", not yet final (!) in ");
        text.push_str(&unstable.join(", "));
    }
    text
}

/// A field as it is listed.
struct Row {
    depth: usize,
    name: String,
    ty: String,
    versions: String,
    attributes: Vec<String>,
    codes: Option<String>,
    about: Option<String>,
}

/// The fields of a struct and of those in it; `open` are the structs that hold it.
fn schema_rows<'s>(
    catalog: &Catalog,
    schema: &'s Schema,
    fields: &'s [SchemaField],
    holder: &str,
    open: &mut Vec<&'s str>,
    rows: &mut Vec<Row>,
) {
    for field in fields {
        let path = format!("{holder}.{}", field.name);
        let mut attributes = Vec::new();
        if !field.nullable.is_empty() {
            attributes.push(format!("nullable {}", field.nullable));
        }
        if let Some(tag) = field.tag.filter(|_| !field.tagged.is_empty()) {
            attributes.push(format!("tag {tag} in {}", field.tagged));
        }
        if field.flexible.is_some_and(Versions::is_empty) {
            attributes.push("never compact".to_owned());
        }
        common_attributes(field, &mut attributes);
        let id = catalog.enumerations().of_field(&path, &field.name, &field.ty);
        rows.push(Row {
            depth: open.len(),
            name: field.name.to_string(),
            ty: field.ty.to_string(),
            versions: field.versions.to_string(),
            attributes,
            codes: id.and_then(|id| catalog.enumerations().get(id)).map(codes),
            about: field.about.as_deref().map(str::to_owned),
        });
        if let Some(name) = field.ty.struct_name().filter(|name| !open.contains(name)) {
            open.push(name);
            schema_rows(catalog, schema, schema.members(field), &path, open, rows);
            open.pop();
        }
    }
}

fn common_attributes(field: &SchemaField, attributes: &mut Vec<String>) {
    if let Some(default) = &field.default {
        attributes.push(format!("default {}", harmless(default)));
    }
    if field.map_key {
        attributes.push("map key".to_owned());
    }
    if let Some(entity) = &field.entity {
        attributes.push(format!("entity {}", harmless(entity)));
    }
}

/// The names of codes where they are few, else the enumeration's name.
fn codes(known: &Enumeration) -> String {
    if known.codes.len() > 8 || known.bits.is_some() {
        return format!("codes: {} (kafkascope schema show {})", known.name, known.name);
    }
    let codes: Vec<String> = known.codes.iter().map(|code| format!("{} {}", code.code, code.name)).collect();
    format!("codes: {}", codes.join(", "))
}

fn plan_rows(catalog: &Catalog, plan: &Plan, of: &Struct, depth: usize, rows: &mut Vec<Row>) {
    for field in plan.untagged(of) {
        plan_row(catalog, plan, field, depth, rows);
    }
    if of.flexible {
        rows.push(Row {
            depth,
            name: "tagged_fields".to_owned(),
            ty: "uvarint".to_owned(),
            versions: String::new(),
            attributes: Vec::new(),
            codes: None,
            about: None,
        });
    }
    for field in plan.tagged(of) {
        plan_row(catalog, plan, field, depth, rows);
    }
}

fn plan_row(catalog: &Catalog, plan: &Plan, field: &Field, depth: usize, rows: &mut Vec<Row>) {
    let mut attributes = Vec::new();
    if let Some(tag) = field.tag {
        attributes.push(format!("tag {tag}"));
        attributes.extend(field.default_json.as_ref().map(|default| format!("default {}", harmless(default))));
    }
    attributes.extend(field.entity.as_ref().map(|entity| format!("entity {}", harmless(entity))));
    rows.push(Row {
        depth,
        name: field.name.to_string(),
        ty: resolved_type(plan, field),
        versions: String::new(),
        attributes,
        codes: field.enumeration.and_then(|id| catalog.enumerations().get(id)).map(codes),
        about: catalog.about(field).map(str::to_owned),
    });
    if let Some(inner) = inner_struct(plan, field.ty) {
        plan_rows(catalog, plan, inner, depth + 1, rows);
    }
}

fn inner_struct(plan: &Plan, ty: Type) -> Option<&Struct> {
    match ty {
        Type::Struct(id) => Some(plan.structure(id)),
        Type::Array(id) | Type::CompactArray(id) => inner_struct(plan, plan.element(id).ty),
        _ => None,
    }
}

/// `compact nullable string`, `compact []compact string`.
fn resolved_type(plan: &Plan, field: &Field) -> String {
    fn word(plan: &Plan, ty: Type, name: &str) -> String {
        let of = |element: &Element| word(plan, element.ty, &element.name);
        match ty {
            Type::CompactArray(id) | Type::Array(id) => format!("[]{}", of(plan.element(id))),
            Type::Struct(_) => name.to_owned(),
            _ => ty.word().to_owned(),
        }
    }
    let is_compact =
        matches!(field.ty, Type::CompactString | Type::CompactBytes | Type::CompactRecords | Type::CompactArray(_));
    let compact = if is_compact { "compact " } else { "" };
    let nullable = if field.nullable { "nullable " } else { "" };
    format!("{compact}{nullable}{}", word(plan, field.ty, &field.type_name))
}

/// Fields as lines: name, type, versions, attributes; below them what they are.
fn field_lines(rows: &[Row], style: Style) -> Vec<String> {
    if rows.is_empty() {
        return vec!["no fields".to_owned()];
    }
    let name_of = |row: &Row| format!("{}{}", "  ".repeat(row.depth), row.name);
    let widest = |of: &dyn Fn(&Row) -> String| rows.iter().map(|row| columns(&of(row))).max().unwrap_or_default();
    let name_width = widest(&name_of).max("field".len());
    // Names and types as wide as they are could leave no room for the rest.
    let type_width = widest(&|row| row.ty.clone()).min(style.width.saturating_sub(name_width + 12).max(12));
    let version_width = widest(&|row| row.versions.clone());
    let mut lines = Vec::new();
    let head = if version_width > 0 { "versions" } else { "" };
    let head = format!("{:name_width$}  {:type_width$}  {head}", "field", "type");
    lines.push(style.paint.dim(head.trim_end()));
    for row in rows {
        let mut line = format!("{:name_width$}  {:type_width$}  {:version_width$}", name_of(row), row.ty, row.versions);
        line.truncate(line.trim_end().len());
        let attributes = row.attributes.join(", ");
        let indent = row.depth * 2 + 4;
        let padded = format!("{line:wide$}", wide = name_width + type_width + version_width + 4);
        let fits = columns(&padded) + 2 + columns(&attributes) <= style.width;
        if fits && !attributes.is_empty() {
            line = format!("{padded}  {attributes}");
        }
        lines.push(line);
        let below = [(!fits).then_some(attributes), row.about.as_deref().map(harmless), row.codes.clone()];
        for text in below.into_iter().flatten() {
            lines.extend(wrap(&text, style.width, indent).into_iter().map(|line| style.paint.dim(line)));
        }
    }
    lines
}

fn enumeration<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Enumeration> {
    let name = match &*name.to_ascii_lowercase() {
        "error" | "errors" | "errorcodes" => "errorcode".to_owned(),
        "apis" | "apikeys" => "apikey".to_owned(),
        lower => lower.to_owned(),
    };
    catalog.enumerations().iter().find(|known| known.name.eq_ignore_ascii_case(&name))
}

fn enumeration_text(known: &Enumeration, style: Style) -> String {
    let mut lines = vec![style.paint.heading(&known.name)];
    lines.extend(wrap(&known.about, style.width, 0));
    if let Some(bits) = &known.bits {
        lines.push(format!("A set of bits: kafkascope schema show {bits}"));
    }
    lines.push(String::new());
    let has_retriable = known.codes.iter().any(|code| code.retriable.is_some());
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Left]);
    let mut heads = vec!["code", "name"];
    heads.extend(has_retriable.then_some("retriable"));
    table.row(heads.into_iter().map(str::to_owned));
    for code in &known.codes {
        let mut cells = vec![code.code.to_string(), code.name.clone()];
        if has_retriable {
            cells.push(if code.retriable == Some(true) { "yes" } else { "no" }.to_owned());
        }
        table.row(cells);
    }
    let rows = table.lines(usize::MAX);
    let indent = rows.iter().map(|row| columns(row)).max().unwrap_or_default() + 2;
    let mut rows = rows.into_iter();
    lines.extend(rows.next().map(|head| style.paint.dim(head)));
    for (row, code) in rows.zip(&known.codes) {
        lines.extend(beside(&row, &code.about, indent, style.width));
    }
    joined(&lines)
}

/// A text beside another one, wrapped; below it where there is no room.
fn beside(row: &str, about: &str, indent: usize, width: usize) -> Vec<String> {
    if about.is_empty() {
        return vec![row.to_owned()];
    }
    if indent + 24 > width {
        let mut lines = vec![row.to_owned()];
        lines.extend(wrap(about, width, 8));
        return lines;
    }
    let mut lines = wrap(about, width, indent);
    if let Some(first) = lines.first_mut() {
        *first = format!("{row:indent$}{}", first.trim_start());
    }
    lines
}

fn enumeration_json(known: &Enumeration) -> String {
    let codes = known.codes.iter().map(|code| {
        let mut entry = json!({ "code": code.code, "name": code.name });
        if let Some(object) = entry.as_object_mut() {
            object.extend(code.retriable.map(|retriable| ("retriable".to_owned(), Value::from(retriable))));
            if !code.about.is_empty() {
                object.insert("about".to_owned(), Value::from(code.about.clone()));
            }
        }
        entry
    });
    let codes: Vec<Value> = codes.collect();
    let mut text = format!("{:#}", json!({ "name": known.name, "about": known.about, "values": codes }));
    text.push('\n');
    text
}
