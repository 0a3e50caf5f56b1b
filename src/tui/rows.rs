//! A message as a row of the list.

use crate::capture::Time;
use crate::conversation::Message;
use crate::output::list::Cells;
use crate::output::summary::Summarizer;
use crate::output::table::harmless;
use crate::protocol::{Catalog, Side};

/// What stands in a row, decoded once and kept while it is in sight.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) side: Side,
    pub(super) time: Time,
    pub(super) client: String,
    pub(super) broker: String,
    pub(super) api: String,
    pub(super) version: String,
    pub(super) correlation: String,
    pub(super) size: String,
    pub(super) latency: String,
    /// Names of error codes.
    pub(super) errors: String,
    /// What the rules say of it.
    pub(super) summary: String,
    /// What is odd about it: faults, gaps, guesses.
    pub(super) notes: String,
    /// The client's name for itself.
    pub(super) client_id: String,
}

/// Makes rows.
#[derive(Debug)]
pub(super) struct RowMaker<'p> {
    catalog: &'p Catalog,
    summarizer: Summarizer<'p>,
}

impl<'p> RowMaker<'p> {
    pub(super) fn new(catalog: &'p Catalog) -> Self {
        Self { catalog, summarizer: Summarizer::new(catalog) }
    }

    pub(super) fn row(&mut self, message: &Message<'_, 'p>) -> Row {
        let cells = Cells::of(self.catalog, message);
        let summary = self.summarizer.summarize(message);
        Row {
            side: message.side(),
            time: message.time,
            client: cells.client,
            broker: cells.broker,
            api: cells.api.to_owned(),
            version: cells.version,
            correlation: cells.correlation,
            size: cells.size,
            latency: cells.latency,
            errors: summary.errors.to_owned(),
            summary: summary.text.to_owned(),
            notes: summary.notes.to_owned(),
            client_id: message.client_id.map(crate::dissect::display_text).unwrap_or_default(),
        }
    }
}

impl Row {
    /// The row of a message that cannot be read any more.
    pub(super) fn unreadable(why: &str) -> Self {
        Self {
            side: Side::Request,
            time: Time::default(),
            client: String::new(),
            broker: String::new(),
            api: "?".to_owned(),
            version: String::new(),
            correlation: String::new(),
            size: String::new(),
            latency: String::new(),
            errors: String::new(),
            summary: String::new(),
            notes: harmless(why),
            client_id: String::new(),
        }
    }

    /// All that a person can see of the row, in lower case: what words are looked for in.
    pub(super) fn searchable(&self) -> String {
        let side = if self.side == Side::Request { "request" } else { "response" };
        let parts = [
            side,
            &self.client,
            &self.broker,
            &self.api,
            &self.version,
            &self.errors,
            &self.summary,
            &self.notes,
            &self.client_id,
        ];
        parts.join(" ").to_lowercase()
    }
}
