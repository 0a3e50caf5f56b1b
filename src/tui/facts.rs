//! All that is known of a node, by name: what it is, and how its bytes say so.

use super::app::View;
use super::opened::place;
use super::rows::in_one_line;
use crate::dissect::{Place, Scope, Value, What, value_of};
use crate::output::anatomy;
use crate::output::describe::Line;
use crate::output::place::interface_label;
use crate::protocol::{Catalog, Code, Enumeration, EnumerationId, Field, Plan, SchemaField, Side, Type};

/// Something that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) of: Of,
}

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The field: the same wherever it stands.
    Field,
    /// These bytes.
    Bytes,
}

/// All facts of a node but its line and its bytes, the ones that matter most first.
pub(super) fn facts(catalog: &Catalog, view: &View<'_>, index: u32, line: &Line) -> Vec<Fact> {
    let opened = &view.opened;
    let Some(what) = opened.what(index) else { return Vec::new() };
    let bytes = opened.bytes(index);
    let mut facts = Vec::new();
    let mut add = |of: Of, name: &'static str, text: String| {
        if !text.is_empty() {
            facts.push(Fact { name, text, of });
        }
    };
    if index == 0 {
        add(Of::Field, "message", opened.heading.clone());
        for comment in &opened.comments {
            add(Of::Field, "comment", in_one_line(comment));
        }
    }
    add(Of::Field, "about", about(view, index, line));
    let enumeration = place(what).and_then(enumeration_of).and_then(|id| catalog.enumerations().get(id));
    let code = match what {
        What::Value(place) => match value_of(place.ty(), bytes) {
            Some(Value::Int(code)) => Some(code),
            Some(Value::Bool(flag)) => Some(i64::from(flag)),
            _ => None,
        },
        _ => None,
    };
    if let Some((enumeration, code)) = enumeration.zip(code) {
        add(Of::Field, "code", enumeration.code(code).map(meaning).unwrap_or_default());
        add(Of::Field, "codes", others(enumeration, code));
    }
    match what {
        What::Value(place) => {
            add(Of::Bytes, "also", anatomy::readings(place.ty(), bytes).join(", "));
            add(Of::Bytes, "how", anatomy::steps(place.ty(), bytes));
        }
        What::Part(part) => add(Of::Bytes, "how", anatomy::steps_of_part(&part, bytes)),
        What::Scope(scope) => add(Of::Bytes, "how", rule(scope)),
        What::Null(_) | What::Fault(_) => {}
    }
    add(Of::Bytes, "where", whereabouts(view, index));
    let field = place(what).and_then(Place::field).or_else(|| field_around(view, index));
    add(Of::Field, "schema", field.map(|field| schema(catalog, field)).unwrap_or_default());
    facts
}

/// What a node means; an element means what its array does.
fn about(view: &View<'_>, index: u32, line: &Line) -> String {
    if line.note.is_empty() && field_around(view, index).is_some() {
        let array = view.opened.parent(index).unwrap_or_default();
        return view.opened.describer().line(array as usize).note;
    }
    line.note.clone()
}

/// The field of the array that a node is an element of.
fn field_around<'p>(view: &View<'p>, index: u32) -> Option<&'p Field> {
    let what = view.opened.what(index)?;
    let Some(Place::Element(..)) = place(what) else { return None };
    place(view.opened.what(view.opened.parent(index)?)?).and_then(Place::field)
}

/// Where a node's bytes were captured; of what was inflated, the bytes that it was made of.
fn whereabouts(view: &View<'_>, index: u32) -> String {
    let opened = &view.opened;
    let Some(span) = opened.span(index) else { return String::new() };
    if span.buffer > 0 {
        let Some(parent) = opened.parent(index) else { return String::new() };
        let is_in_frame = opened.span(parent).is_some_and(|span| span.buffer == 0);
        let of = if is_in_frame { format!("inflated from {}: ", opened.name(parent)) } else { String::new() };
        return format!("{of}{}", whereabouts(view, parent));
    }
    let Some(first) = opened.piece(span.start) else { return String::new() };
    let last = opened.piece(span.end().saturating_sub(1)).unwrap_or(first);
    let packets = match (first.packet, last.packet) {
        (first, last) if first == last => format!("packet {first}"),
        (first, last) => format!("packets {first} to {last}"),
    };
    let stream = opened.stream_offset + u64::from(span.start);
    let file = opened.file_offset(span.start).unwrap_or_default();
    let interface = opened.names.interface(first.place.interface);
    let on = interface.map(|interface| format!(" on {}", interface_label(&interface))).unwrap_or_default();
    format!("{packets}{on}, byte {stream} of the stream, {file} of the file")
}

/// By which rule the bytes of what holds others are made.
fn rule(scope: Scope<'_>) -> String {
    let tagged = |flexible: bool| if flexible { ", then the tagged ones behind their count" } else { "" };
    match scope {
        Scope::Message => "the size, a header, the body".to_owned(),
        Scope::Frame => "4 bytes that say how many bytes follow; they do not count themselves".to_owned(),
        Scope::Header(side, plan) => header(side, plan),
        Scope::Body(plan) => {
            format!("the fields of version {} one behind the other{}", plan.version, tagged(plan.flexible))
        }
        Scope::Struct(_, of) if of.unordered => "fields in any order, each behind a key that has its number".to_owned(),
        Scope::Struct(_, of) => format!("its fields one behind the other{}; no length in front", tagged(of.flexible)),
        Scope::Array(place, ..) => match place.ty() {
            Type::CompactArray(_) => "the count + 1 as a varint, then the elements; 0 is null".to_owned(),
            Type::Array(_) => "the count in 4 bytes, then the elements; -1 is null".to_owned(),
            _ => String::new(),
        },
        Scope::Records(..) => "the length, then batches one behind the other".to_owned(),
        Scope::Payload(_, plan) => format!("bytes that have a schema of their own, {}", plan.name),
        Scope::Batch(..) => "a head with the checksum of what is behind it, then the records".to_owned(),
        Scope::OneRecord => String::new(),
        Scope::Inflated(_) => "what the codec made of the bytes before; offsets begin at 0 in it".to_owned(),
    }
}

/// Which version a header has, and why.
fn header(side: Side, plan: &Plan) -> String {
    let why = match (side, plan.flexible) {
        (_, true) => "the body's version has tagged fields",
        (Side::Request, false) => "the body's version has no tagged fields",
        (Side::Response, false) => "the body's version has no tagged fields, or it is ApiVersions",
    };
    format!("version {}, as {why}", plan.version)
}

/// A code with its meaning.
fn meaning(code: &Code) -> String {
    let retry = match code.retriable {
        Some(true) => " A client may try again.",
        Some(false) | None => "",
    };
    let (number, name, about) = (code.code, &code.name, &code.about);
    if about.is_empty() { format!("{number} {name}.{retry}") } else { format!("{number} {name}: {about}{retry}") }
}

/// The other codes, where they are few enough to be read.
fn others(enumeration: &Enumeration, code: i64) -> String {
    const FEW: usize = 16;
    if enumeration.codes.len() > FEW {
        return String::new();
    }
    let others = enumeration.codes.iter().filter(|other| other.code != code);
    others.map(|other| format!("{} {}", other.code, other.name)).collect::<Vec<_>>().join(", ")
}

fn enumeration_of(place: Place<'_>) -> Option<EnumerationId> {
    match place {
        Place::Field(field) => field.enumeration,
        Place::Element(element, _) => element.enumeration,
    }
}

/// What the schema says of a field: versions, tag, null, default.
fn schema(catalog: &Catalog, field: &Field) -> String {
    let mut names = field.path.split('.');
    let Some(schema) = names.next().and_then(|name| catalog.schema(name)) else { return String::new() };
    let mut fields = &schema.fields;
    let mut found: Option<&SchemaField> = None;
    for name in names {
        let Some(next) = fields.iter().find(|field| *field.name == *name) else { break };
        found = Some(next);
        fields = match next.fields.as_slice() {
            [] => schema
                .common
                .iter()
                .find(|shared| next.ty.struct_name() == Some(&*shared.name))
                .map_or(fields, |shared| &shared.fields),
            _ => &next.fields,
        };
    }
    let Some(found) = found.filter(|found| *found.name == *field.name) else { return String::new() };
    // One version, or several.
    let versions = |range: String| {
        let is_one = range.bytes().all(|byte| byte.is_ascii_digit());
        format!("{} {range}", if is_one { "version" } else { "versions" })
    };
    let mut facts = vec![format!("{} {}, {}", field.path, field.type_name, versions(found.versions.to_string()))];
    if let Some(tag) = field.tag {
        facts.push(format!("tag {tag} in {}", versions(found.tagged.to_string())));
    }
    if !found.nullable.is_empty() {
        facts.push(format!("null allowed in {}", versions(found.nullable.to_string())));
    }
    if let Some(default) = &found.default {
        facts.push(format!("default {default}"));
    }
    facts.join(", ")
}
