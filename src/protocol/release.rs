//! Which Kafka release supports which versions of which message. The data is `schemas/versions.tsv`.

use super::schema::{Kind, Versions};

/// The table: releases from the newest to the oldest, and a row for each message.
#[derive(Debug, Default)]
pub struct Releases {
    /// Release names, as in `4.4.0`, the newest first.
    pub names: Vec<String>,
    rows: Vec<Row>,
}

/// What the releases say of one message.
#[derive(Debug)]
pub struct Row {
    /// The part of Kafka that the message belongs to, as in `clients` or `metadata`.
    pub module: String,
    /// Its kind.
    pub kind: Kind,
    /// The API's key or the record type.
    pub api_key: Option<i16>,
    /// Its name.
    pub name: String,
    /// The versions of all releases together.
    pub all: Versions,
    /// A cell for each release, in the order of [`Releases::names`].
    pub cells: Vec<Cell>,
}

/// What one release supports of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The versions.
    pub versions: Versions,
    /// Whether the newest of them was not yet final.
    pub unstable: bool,
}

impl Releases {
    /// Reads the table; lines that do not fit its head are left out (the embedded one is checked by tests).
    pub(super) fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let names = lines.next().unwrap_or_default().split('\t').skip(6).map(str::to_owned).collect();
        Self { names, rows: lines.filter_map(row).collect() }
    }

    /// All rows, in the order of the table.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of a message.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The first and the last release (oldest and newest) that had a version of a message, by name.
    pub fn lifetime(&self, name: &str, version: i16) -> Option<(&str, &str)> {
        let row = self.row(name)?;
        let with = || row.cells.iter().zip(&self.names).filter(|(cell, _)| cell.versions.contains(version));
        Some((with().next_back()?.1, with().next()?.1))
    }
}

impl Row {
    /// The versions of the newest release that still has the message.
    pub fn current(&self) -> Versions {
        let alive = self.cells.iter().find(|cell| !cell.versions.is_empty());
        alive.map_or(self.all, |cell| cell.versions)
    }
}

fn row(line: &str) -> Option<Row> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    let (module, kind, key, name, all, _flexible) = (next()?, next()?, next()?, next()?, next()?, next()?);
    Some(Row {
        module: module.to_owned(),
        kind: Kind::of(kind)?,
        api_key: key.parse().ok(),
        name: name.to_owned(),
        all: Versions::parse(all)?,
        cells: cells
            .map(|cell| {
                let (text, unstable) = cell.strip_suffix('!').map_or((cell, false), |text| (text, true));
                Cell { versions: Versions::parse(text).unwrap_or(Versions::NONE), unstable }
            })
            .collect(),
    })
}
