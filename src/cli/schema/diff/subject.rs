//! What the words of `schema diff` stand for.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::cli::schema::{newest, unknown};
use crate::protocol::{Catalog, Schema, Side, Versions, parse_schema, schema_files};

/// One side of a comparison.
pub(super) struct Subject {
    /// The word that it came from.
    pub(super) word: String,
    /// What it is called in what is printed.
    pub(super) label: String,
    /// The version that is meant, if one is.
    pub(super) version: Option<i16>,
    /// One message, both directions of an API, or all of a folder.
    pub(super) messages: Vec<Schema>,
    /// Whether it is a folder, or all that is known.
    pub(super) is_set: bool,
    /// Whether it is what is known, and no file of its own.
    pub(super) is_known: bool,
}

/// The two sides that one, two or three words stand for.
pub(super) fn subjects(catalog: &Catalog, words: &[String]) -> anyhow::Result<(Subject, Subject)> {
    let (mut left, mut right) = sides(catalog, words)?;
    if left.label == right.label && !(left.is_known && right.is_known) {
        left.label.clone_from(&left.word);
        right.label.clone_from(&right.word);
    }
    Ok((left, right))
}

fn sides(catalog: &Catalog, words: &[String]) -> anyhow::Result<(Subject, Subject)> {
    match words {
        [only] => {
            let right = subject(catalog, only)?;
            if right.is_known {
                bail!("{only} is compared with what? give a second version, name or file");
            }
            let left = if right.is_set { everything(catalog) } else { released(catalog, &right)? };
            Ok((left, right))
        }
        [name, was, is] => match (was.parse::<i16>(), is.parse::<i16>()) {
            (Ok(was), Ok(is)) => {
                Ok((subject(catalog, &format!("{name}:{was}"))?, subject(catalog, &format!("{name}:{is}"))?))
            }
            _ => bail!("expected a name and two versions, as in: kafkascope schema diff Metadata 11 12"),
        },
        [name, number] | [number, name] if is_number(number) && !is_number(name) => bail!(
            "is {number} a version of {name}? it takes two of them, as in: kafkascope schema diff {name} 0 {number}; \
             {name} is compared with one of its versions by: kafkascope schema diff {name} {name}:{number}"
        ),
        [left, right] => {
            let (left, right) = (subject(catalog, left)?, subject(catalog, right)?);
            match (left.is_set, right.is_set) {
                (false, true) => {
                    let right = same_names(right, &left.messages)?;
                    Ok((left, right))
                }
                (true, false) => Ok((same_names(left, &right.messages)?, right)),
                _ => Ok((left, right)),
            }
        }
        _ => bail!("expected one, two or three words"),
    }
}

/// Whether a word is a number, and no file.
fn is_number(word: &str) -> bool {
    word.parse::<i16>().is_ok() && !Path::new(word).exists()
}

/// The messages of a folder that have the names of others.
fn same_names(folder: Subject, others: &[Schema]) -> anyhow::Result<Subject> {
    let is_there = |schema: &Schema| others.iter().any(|other| other.name == schema.name);
    let messages: Vec<Schema> = folder.messages.into_iter().filter(is_there).collect();
    if messages.is_empty() {
        let names: Vec<&str> = others.iter().map(|other| &*other.name).collect();
        bail!("{} has no {}", folder.word, names.join(" or "));
    }
    Ok(Subject { messages, is_set: false, ..folder })
}

fn subject(catalog: &Catalog, word: &str) -> anyhow::Result<Subject> {
    let (path, version) = match word.rsplit_once(':').map(|(name, version)| (name, version.parse::<i16>())) {
        Some((name, Ok(version))) if !Path::new(word).exists() => (name, Some(version)),
        _ => (word, None),
    };
    let file = Path::new(path);
    if file.is_dir() {
        let mut messages = Vec::new();
        for path in schema_files(file)? {
            messages.push(read(&path)?);
        }
        return Ok(Subject {
            word: word.to_owned(),
            label: last_name(file),
            version,
            messages,
            is_set: true,
            is_known: false,
        });
    }
    if file.is_file() || file.extension().is_some_and(|extension| extension == "json") {
        let messages = vec![read(file)?];
        let label = last_name(file);
        return Ok(Subject { word: word.to_owned(), label, version, messages, is_set: false, is_known: false });
    }
    named(catalog, path, version, word)
}

fn last_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn read(path: &Path) -> anyhow::Result<Schema> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(parse_schema(&path.display().to_string(), &text)?)
}

/// A message, or both directions of an API.
fn named(catalog: &Catalog, name: &str, version: Option<i16>, word: &str) -> anyhow::Result<Subject> {
    let mut names = Vec::new();
    if let Some(schema) = catalog.schema(name) {
        names.push(schema.name.to_string());
    } else if let Some(api) = catalog.api_named(name) {
        let sides = [Side::Request, Side::Response].into_iter();
        names.extend(sides.filter_map(|side| catalog.api_schema_name(api.key, side)).map(str::to_owned));
    }
    if names.is_empty() {
        return Err(unknown(catalog, name));
    }
    let mut messages = Vec::new();
    for name in &names {
        let schema = match version {
            None => catalog.schema(name).map(|schema| schema.within(catalog.current_versions(name))),
            Some(version) => catalog.schema_for(name, version).cloned(),
        };
        match schema {
            Some(schema) => messages.push(schema),
            None => {
                bail!("{name} has no version {}; known are {}", version.unwrap_or_default(), catalog.versions(name))
            }
        }
    }
    let label = names.first().map(|name| known_label(catalog, name)).unwrap_or_default();
    Ok(Subject { word: word.to_owned(), label, version, messages, is_set: false, is_known: true })
}

/// The newest release that has a message, or the reader's own folder.
fn known_label(catalog: &Catalog, name: &str) -> String {
    let releases = catalog.releases();
    let row = releases.row(name).filter(|_| !catalog.is_overlaid(name));
    let alive = row.and_then(|row| row.cells.iter().zip(&releases.names).find(|(cell, _)| !cell.versions.is_empty()));
    alive.map_or_else(|| "--schemas".to_owned(), |(_, release)| format!("Kafka {release}"))
}

/// What is known of the message of a file.
fn released(catalog: &Catalog, file: &Subject) -> anyhow::Result<Subject> {
    let name = file.messages.first().map(|schema| schema.name.to_string()).unwrap_or_default();
    named(catalog, &name, file.version, &name)
        .with_context(|| format!("cannot compare {} with what was released", file.word))
}

/// Everything that is known, as of the newest release.
fn everything(catalog: &Catalog) -> Subject {
    let current = |name| {
        let (versions, unstable) = newest(catalog, name);
        let schema = catalog.schema(name)?.within(versions);
        Some(Schema { latest_unstable: unstable, ..schema })
    };
    let names = catalog.names().filter(|name| Catalog::has_schema_file(name));
    let messages = names.filter_map(current).filter(|schema| schema.valid != Versions::NONE).collect();
    let label = format!("Kafka {}", catalog.releases().names.first().map(String::as_str).unwrap_or_default());
    Subject { word: label.clone(), label, version: None, messages, is_set: true, is_known: true }
}
