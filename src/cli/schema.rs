//! `kafkascope schema`: what is known of Kafka's messages.

mod diff;
mod list;
mod show;

use std::io::Write;
use std::path::Path;

use anyhow::anyhow;

use super::End;
use super::args::{Common, SchemaCommand};
use crate::nearest::did_you_mean;
use crate::output::paint::Paint;
use crate::protocol::{Catalog, Versions};

pub(super) fn run(command: &SchemaCommand, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    let style = Style { paint: super::paint(common), width: super::text_width(common) };
    let text = match command {
        SchemaCommand::List { word } => list::text(&catalog, word.as_deref(), style)?,
        SchemaCommand::Show { name, version, json } => show::text(&catalog, name, *version, *json, style)?,
        SchemaCommand::Diff { what } => diff::text(&catalog, what, style)?,
    };
    let inputs: &[String] = if let SchemaCommand::Diff { what } = command { what } else { &[] };
    let mut out = super::output(common, inputs.iter().map(Path::new))?;
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(End::Done)
}

/// How text is laid out.
#[derive(Debug, Clone, Copy)]
struct Style {
    paint: Paint,
    width: usize,
}

/// The error for a name that is nothing.
fn unknown(catalog: &Catalog, word: &str) -> anyhow::Error {
    let apis = catalog.apis();
    let names = catalog.names().chain(apis.iter().map(|api| api.name.as_str()));
    let hint = did_you_mean(word, names.chain(catalog.enumerations().iter().map(|known| known.name.as_str())));
    anyhow!("no message, API or enumeration is called {word:?}{hint} (all messages: kafkascope schema list)")
}

/// The versions of a message that the newest release has, and whether the newest of them is not yet final; those of the
/// reader's own folder where that has the message.
fn newest(catalog: &Catalog, name: &str) -> (Versions, bool) {
    let row = catalog.releases().row(name).filter(|_| !catalog.is_overlaid(name));
    if let Some(cell) = row.and_then(|row| row.cells.first()) {
        return (cell.versions, cell.unstable);
    }
    let unstable = catalog.schema(name).is_some_and(|schema| schema.latest_unstable);
    (catalog.current_versions(name), unstable)
}

/// Lines as one text.
fn joined(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}
