//! `kafkascope schema list`: a table of all messages.

use std::collections::BTreeMap;

use anyhow::bail;

use super::{Style, joined, newest};
use crate::output::table::{Align, Table, wrap};
use crate::protocol::{Api, Catalog, Kind, Side};

/// The narrowest line that has room for what messages are for.
const WIDE: usize = 110;

pub(super) fn text(catalog: &Catalog, word: Option<&str>, style: Style) -> anyhow::Result<String> {
    let filter = Filter(word.map(str::to_ascii_lowercase));
    let mut lines = Vec::new();
    let apis: Vec<&Api> = catalog.apis().into_iter().filter(|api| filter.has_api(catalog, api)).collect();
    if !apis.is_empty() {
        section(&mut lines, style, "APIs", apis.iter().map(|api| api_row(catalog, api)));
    }
    for ((module, kind), names) in others(catalog, &filter) {
        let rows = names.iter().map(|name| row(catalog, name, record_type(catalog, name), name, name));
        section(&mut lines, style, &format!("{module}: {kind}"), rows);
    }
    if lines.is_empty() {
        bail!("no message has {:?} in its name, module or kind, or as its key", word.unwrap_or_default());
    }
    lines.extend(footer(catalog, style));
    Ok(joined(&lines))
}

struct Filter(Option<String>);

impl Filter {
    fn has(&self, texts: &[&str], key: Option<i16>) -> bool {
        let Some(word) = &self.0 else { return true };
        if let Ok(number) = word.parse::<i16>() {
            return key == Some(number);
        }
        texts.iter().any(|text| text.to_ascii_lowercase().contains(word))
    }

    fn has_api(&self, catalog: &Catalog, api: &Api) -> bool {
        let names = [Side::Request, Side::Response].map(|side| catalog.api_schema_name(api.key, side));
        let texts = [names[0].unwrap_or_default(), names[1].unwrap_or_default(), &api.name];
        self.has(&texts, Some(api.key.0))
    }
}

/// What is no request or response: names by module and kind.
fn others<'c>(catalog: &'c Catalog, filter: &Filter) -> BTreeMap<(String, &'static str), Vec<&'c str>> {
    let mut groups: BTreeMap<(String, &'static str), Vec<&str>> = BTreeMap::new();
    for name in catalog.names() {
        let Some(schema) = catalog.schema(name) else { continue };
        if matches!(schema.kind, Kind::Request | Kind::Response) {
            continue;
        }
        let module = catalog.module(name).unwrap_or("your own");
        if filter.has(&[name, module, schema.kind.word()], schema.api_key) {
            groups.entry((module.to_owned(), schema.kind.word())).or_default().push(name);
        }
    }
    for names in groups.values_mut() {
        names.sort_by_key(|name| (record_type(catalog, name), *name));
    }
    groups
}

fn record_type(catalog: &Catalog, name: &str) -> Option<i16> {
    catalog.schema(name).and_then(|schema| schema.api_key)
}

type Row = [String; 8];

fn api_row(catalog: &Catalog, api: &Api) -> Row {
    let name = |side| catalog.api_schema_name(api.key, side);
    let message = name(Side::Request).or(name(Side::Response)).unwrap_or_default();
    row(catalog, &api.name, Some(api.key.0), message, &api.name)
}

fn row(catalog: &Catalog, shown: &str, key: Option<i16>, message: &str, about: &str) -> Row {
    let (versions, unstable) = newest(catalog, message);
    let (since, until) = lifetime(catalog, message);
    let flexible = catalog.schema(message).map(|schema| schema.flexible).filter(|range| !range.is_empty());
    [
        key.map(|key| key.to_string()).unwrap_or_default(),
        shown.to_owned(),
        if versions.is_empty() { "-".to_owned() } else { format!("{versions}{}", if unstable { "!" } else { "" }) },
        catalog.versions(message).to_string(),
        flexible.map_or_else(|| "-".to_owned(), |range| range.to_string()),
        since,
        until,
        catalog.glossary().schema(about).unwrap_or_default().to_owned(),
    ]
}

/// The first release that has the message; the last one, where that is not the newest.
fn lifetime(catalog: &Catalog, message: &str) -> (String, String) {
    let releases = catalog.releases();
    let Some(row) = releases.row(message) else { return ("own".to_owned(), String::new()) };
    let alive = || row.cells.iter().zip(&releases.names).enumerate().filter(|(_, (cell, _))| !cell.versions.is_empty());
    let since = alive().next_back().map(|(index, (_, name))| {
        // What the oldest release has may be older still.
        if index + 1 == releases.names.len() { format!("<={name}") } else { name.clone() }
    });
    let until = alive().next().filter(|(index, _)| *index > 0).map(|(_, (_, name))| name.clone());
    (since.unwrap_or_default(), until.unwrap_or_default())
}

fn section(lines: &mut Vec<String>, style: Style, title: &str, rows: impl Iterator<Item = Row>) {
    use Align::{Left, Right};
    let is_wide = style.width >= WIDE;
    let columns: &[Align] = &[Right, Left, Left, Left, Left, Left, Left, Left];
    let shown = if is_wide { columns.len() } else { columns.len() - 1 };
    let mut table = Table::new(columns.get(..shown).unwrap_or_default());
    let heads = ["key", "name", "newest", "all", "flex", "since", "until", "what it is for"];
    table.row(heads.map(str::to_owned).into_iter().take(shown));
    for row in rows {
        table.row(row.into_iter().take(shown));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(style.paint.heading(title));
    let mut body = table.lines(if is_wide { style.width } else { usize::MAX }).into_iter();
    lines.extend(body.next().map(|head| style.paint.dim(head)));
    lines.extend(body);
}

fn footer(catalog: &Catalog, style: Style) -> Vec<String> {
    let releases = &catalog.releases().names;
    let text = format!(
        "newest: the versions of {}, ! where the last of them is not yet final there. all: what can be decoded. \
         flex: the versions with compact lengths and tagged fields. \
         since, until: the first and the last release with the message, of those that were looked at: {}.",
        releases.first().map(String::as_str).unwrap_or_default(),
        releases.join(", ")
    );
    let mut lines = vec![String::new()];
    lines.extend(wrap(&text, style.width, 0).into_iter().map(|line| style.paint.dim(line)));
    lines
}
