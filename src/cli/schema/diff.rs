//! `kafkascope schema diff`: what differs between two versions, drafts or releases.

mod subject;

use anyhow::bail;

use super::{Style, joined};
use crate::output::table::{columns, harmless, wrap};
use crate::protocol::diff::{
    Change, Comparison, Explanation, FieldChange, MessageChange, Wire, WireRange, compare, compare_versions,
};
use crate::protocol::{Catalog, Schema, Versions};
use subject::{Subject, subjects};

pub(super) fn text(catalog: &Catalog, what: &[String], style: Style) -> anyhow::Result<String> {
    let (left, right) = subjects(catalog, what)?;
    if left.is_set || right.is_set {
        return Ok(joined(&sets(&left, &right, style)));
    }
    let pairs = pairs(&left, &right);
    if pairs.is_empty() {
        bail!("cannot compare {} with {}: one has requests, the other responses", left.word, right.word);
    }
    let mut lines = Vec::new();
    for (was, is) in pairs {
        let (was, is) = (explained(catalog, was, &left, &right), explained(catalog, is, &left, &right));
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(pair(&left, &was, &right, &is, style)?);
    }
    Ok(joined(&lines))
}

/// The messages that belong together: the only ones, or those of the same direction.
fn pairs<'s>(left: &'s Subject, right: &'s Subject) -> Vec<(&'s Schema, &'s Schema)> {
    if let ([was], [is]) = (left.messages.as_slice(), right.messages.as_slice()) {
        return vec![(was, is)];
    }
    let partner = |was: &Schema| right.messages.iter().find(|is| is.kind == was.kind);
    left.messages.iter().filter_map(|was| Some((was, partner(was)?))).collect()
}

/// What is known has our explanations; those stand in for what a draft does not explain, so that this is no difference.
fn explained(catalog: &Catalog, schema: &Schema, left: &Subject, right: &Subject) -> Schema {
    let schema = schema.clone();
    if left.is_known || right.is_known { catalog.glossary().explain(schema) } else { schema }
}

fn pair(left: &Subject, was: &Schema, right: &Subject, is: &Schema, style: Style) -> anyhow::Result<Vec<String>> {
    let versions = match (left.version, right.version) {
        (None, None) => None,
        (Some(was_version), Some(is_version)) => Some((was_version, is_version)),
        (Some(version), None) => Some((version, if is.valid.contains(version) { version } else { is.valid.last })),
        (None, Some(version)) => Some((if was.valid.contains(version) { version } else { was.valid.last }, version)),
    };
    let comparison = match versions {
        None => compare(was, is),
        Some((was_version, is_version)) => {
            for (schema, version) in [(was, was_version), (is, is_version)] {
                if !schema.valid.contains(version) {
                    bail!("{} has no version {version}; known are {}", schema.name, schema.valid);
                }
            }
            compare_versions((was, was_version), (is, is_version))
        }
    };
    let title = match versions {
        Some((was_version, is_version)) if was.name == is.name && left.is_known && right.is_known => {
            format!("{}: v{was_version} -> v{is_version}", is.name)
        }
        Some((was_version, is_version)) => {
            format!("{} v{was_version} ({}) -> {} v{is_version} ({})", was.name, left.label, is.name, right.label)
        }
        None if was.name == is.name => format!("{}: {} -> {}", is.name, left.label, right.label),
        None => format!("{} ({}) -> {} ({})", was.name, left.label, is.name, right.label),
    };
    let mut lines = heading(&title, style);
    let printer = Printer { style, is_pair: versions.is_some() };
    lines.extend(printer.lines(&comparison));
    lines.push(String::new());
    lines.extend(wrap(&wire_sentence(&comparison.wire, versions.is_some(), left, right), style.width, 0));
    Ok(lines)
}

fn heading(title: &str, style: Style) -> Vec<String> {
    wrap(title, style.width, 0).into_iter().map(|line| style.paint.heading(line)).collect()
}

/// Two folders, or what is known and a folder: messages by their names.
fn sets(left: &Subject, right: &Subject, style: Style) -> Vec<String> {
    let mut lines = heading(&format!("{} -> {}", left.label, right.label), style);
    lines.push(String::new());
    let (mut new, mut gone) = (Vec::new(), Vec::new());
    let (mut same, mut differ) = (0, 0);
    let is_alive = |schema: &&Schema| !schema.valid.is_empty();
    for is in right.messages.iter().filter(is_alive) {
        let Some(was) = left.messages.iter().filter(is_alive).find(|was| was.name == is.name) else {
            new.push(format!("{} ({})", is.name, is.valid));
            continue;
        };
        let mut comparison = compare(was, is);
        // Our explanations are not Kafka's.
        if left.is_known || right.is_known {
            comparison.explanations.clear();
        }
        if comparison.is_empty() {
            same += 1;
            continue;
        }
        differ += 1;
        lines.extend(heading(&is.name, style));
        lines.extend(Printer { style, is_pair: false }.lines(&comparison));
        lines.push(String::new());
        lines.extend(wrap(&wire_sentence(&comparison.wire, false, left, right), style.width, 0));
        lines.push(String::new());
    }
    for was in left.messages.iter().filter(is_alive) {
        if !right.messages.iter().filter(is_alive).any(|is| is.name == was.name) {
            gone.push(format!("{} ({})", was.name, was.valid));
        }
    }
    lines.push(format!("same: {same}, different: {differ}, new: {}, not there: {}", new.len(), gone.len()));
    for (title, names) in [("new", new), ("not there", gone)] {
        if !names.is_empty() {
            lines.extend(wrap(&format!("{title}: {}", names.join(", ")), style.width, 0));
        }
    }
    lines
}

struct Printer {
    style: Style,
    /// Whether two single versions are compared: then there is nothing to say of ranges of versions.
    is_pair: bool,
}

/// A line of the list: `+`, `-` or `~`, what it is about, what differs.
type Entry = (char, String, String);

impl Printer {
    fn lines(&self, comparison: &Comparison) -> Vec<String> {
        let mut entries: Vec<Entry> = comparison.message.iter().map(|change| self.message(change)).collect();
        entries.extend(comparison.fields.iter().map(|change| self.field(change)));
        let mut lines = vec![String::new()];
        if entries.is_empty() {
            lines.push("No field differs.".to_owned());
        }
        let width =
            entries.iter().map(|(_, path, _)| columns(path)).max().unwrap_or_default().min(self.style.width / 2);
        for (mark, path, text) in &entries {
            lines.extend(self.entry(*mark, path, text, width));
        }
        if !comparison.explanations.is_empty() {
            lines.push(String::new());
            lines.push("Explanations".to_owned());
            lines.extend(comparison.explanations.iter().flat_map(|explanation| self.explanation(explanation)));
        }
        lines
    }

    fn entry(&self, mark: char, path: &str, text: &str, width: usize) -> Vec<String> {
        let sgr = match mark {
            '+' => "32",
            '-' => "31",
            _ => "33",
        };
        let indent = width + 6;
        let mut texts = wrap(text, self.style.width.max(indent + 24), indent);
        if columns(path) > width {
            texts.insert(0, format!("{} {path}", self.style.paint.with(sgr, format!("  {mark}"))));
        } else if let Some(first) = texts.first_mut() {
            let text = first.trim_start();
            *first = format!("{} {path:width$}  {text}", self.style.paint.with(sgr, format!("  {mark}")));
        }
        texts
    }

    fn explanation(&self, explanation: &Explanation) -> Vec<String> {
        let mut lines = vec![format!("  ~ {}", explanation.path)];
        for (mark, sgr, text) in [('-', "31", &explanation.was), ('+', "32", &explanation.is)] {
            let text = text.as_deref().map_or_else(|| "(none)".to_owned(), harmless);
            let wrapped = wrap(&format!("{mark} {text}"), self.style.width, 6);
            lines.extend(wrapped.into_iter().map(|line| self.style.paint.with(sgr, line)));
        }
        lines
    }

    fn message(&self, change: &MessageChange) -> Entry {
        let list = |listeners: &[Box<str>]| {
            if listeners.is_empty() { "none".to_owned() } else { harmless(&listeners.join(", ")) }
        };
        let key = |key: &Option<i16>| key.map_or_else(|| "none".to_owned(), |key| key.to_string());
        let (what, text) = match change {
            MessageChange::Name(was, is) => ("name", format!("{was} -> {is}")),
            MessageChange::Kind(was, is) => ("type", format!("{} -> {}", was.word(), is.word())),
            MessageChange::ApiKey(was, is) => ("key", format!("{} -> {}", key(was), key(is))),
            MessageChange::Valid(was, is) => ("versions", format!("{was} -> {is}")),
            MessageChange::Flexible(was, is) if self.is_pair => (
                "flexible",
                match (was.is_empty(), is.is_empty()) {
                    (true, false) => "now: compact lengths and tagged fields",
                    _ => "no more: plain lengths and no tagged fields",
                }
                .to_owned(),
            ),
            MessageChange::Flexible(was, is) => ("flexible", format!("{was} -> {is}")),
            MessageChange::Unstable(_, is) => {
                ("newest version", if *is { "not yet final now" } else { "final now" }.to_owned())
            }
            MessageChange::Listeners(was, is) => ("sent to", format!("{} -> {}", list(was), list(is))),
        };
        ('~', format!("({what})"), text)
    }

    fn field(&self, FieldChange { path, change }: &FieldChange) -> Entry {
        let in_versions = |versions: &Versions| {
            if self.is_pair { String::new() } else { format!(", versions {versions}") }
        };
        let text = match change {
            Change::Added(ty, versions, tag) => {
                return ('+', path.clone(), format!("{ty}{}{}", in_versions(versions), tag_of(*tag)));
            }
            Change::Removed(ty, versions, tag) => {
                return ('-', path.clone(), format!("{ty}{}{}", in_versions(versions), tag_of(*tag)));
            }
            Change::Renamed(was) => format!("renamed, was {was}"),
            Change::Type(was, is) => format!("type {was} -> {is}"),
            Change::StructName(was, is) => format!("name of the struct {was} -> {is}"),
            Change::Moved(Some(before)) => format!("moved, now behind {before}"),
            Change::Moved(None) => "moved, now the first one".to_owned(),
            Change::Versions(was, is) => format!("versions {was} -> {is}"),
            Change::Nullable(_, is) if self.is_pair => now("nullable", !is.is_empty()),
            Change::Nullable(was, is) => format!("nullable {was} -> {is}"),
            Change::Tagged(was, is) => format!("tag {} -> {}", self.tag(*was), self.tag(*is)),
            Change::Default(was, is) => format!("default {} -> {}", or_none(was.as_deref()), or_none(is.as_deref())),
            Change::Flexible(was, is) => {
                let word = |flexible: &Option<Versions>| {
                    flexible.map_or_else(|| "as the message".to_owned(), |versions| versions.to_string())
                };
                format!("flexible {} -> {}", word(was), word(is))
            }
            Change::Ignorable(_, is) => now("ignorable", *is),
            Change::MapKey(_, is) => now("map key", *is),
            Change::Entity(was, is) => format!("entity {} -> {}", or_none(was.as_deref()), or_none(is.as_deref())),
        };
        ('~', path.clone(), text)
    }

    fn tag(&self, tag: Option<(u32, Versions)>) -> String {
        match tag {
            None => "none".to_owned(),
            Some((tag, _)) if self.is_pair => tag.to_string(),
            Some((tag, versions)) => format!("{tag} in {versions}"),
        }
    }
}

fn tag_of(tag: Option<u32>) -> String {
    tag.map(|tag| format!(", tag {tag}")).unwrap_or_default()
}

/// `nullable now`, `not nullable any more`.
fn now(what: &str, is: bool) -> String {
    if is { format!("{what} now") } else { format!("not {what} any more") }
}

fn or_none(text: Option<&str>) -> String {
    text.map_or_else(|| "none".to_owned(), harmless)
}

/// Whether the bytes differ, and in which versions.
fn wire_sentence(ranges: &[WireRange], is_pair: bool, left: &Subject, right: &Subject) -> String {
    if let (true, [range]) = (is_pair, ranges) {
        return match range.wire {
            Wire::Same => "On the wire: the bytes do not differ.",
            Wire::Nulls => "On the wire: the bytes are laid out the same; only null is allowed in other places.",
            Wire::Tagged => "On the wire: only tagged fields differ; who does not know them skips them.",
            _ => "On the wire: the bytes differ.",
        }
        .to_owned();
    }
    let of = |wire: Wire| -> Vec<String> {
        ranges.iter().filter(|range| range.wire == wire).map(|range| range.versions.to_string()).collect()
    };
    let versions = |list: &[String]| {
        let is_one = list.len() == 1 && list.iter().all(|range| !range.contains(['-', '+']));
        format!("{} {}", if is_one { "version" } else { "versions" }, list.join(", "))
    };
    let parts: Vec<String> = [Wire::Different, Wire::Tagged, Wire::Nulls, Wire::Same, Wire::OnlyLeft, Wire::OnlyRight]
        .into_iter()
        .map(|wire| (wire, of(wire)))
        .filter(|(_, list)| !list.is_empty())
        .map(|(wire, list)| match wire {
            Wire::Different => format!("the bytes differ in {}", versions(&list)),
            Wire::Tagged => {
                format!("only tagged fields differ in {}, and who does not know them skips them", versions(&list))
            }
            Wire::Nulls => format!("only null is allowed in other places in {}", versions(&list)),
            Wire::Same => format!("the bytes do not differ in {}", versions(&list)),
            Wire::OnlyLeft => format!("only {} has {}", left.label, versions(&list)),
            Wire::OnlyRight => format!("only {} has {}", right.label, versions(&list)),
        })
        .collect();
    format!("On the wire: {}.", parts.join("; "))
}
