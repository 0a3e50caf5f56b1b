//! A message as a row of the list.

use crate::book::Book;
use crate::capture::Time;
use crate::conversation::Message;
use crate::output::list::Cells;
use crate::output::summary::Summarizer;
use crate::output::table::harmless;
use crate::protocol::{Catalog, Side};

/// What stands in a row, decoded once and kept while it is in sight.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// None where the message cannot be read; so with the time.
    pub(super) side: Option<Side>,
    pub(super) time: Option<Time>,
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
    /// Whether the capture lacks some of its bytes.
    pub(super) is_cut: bool,
    /// What somebody wrote beside the packets before it, and beside its own, in the capture.
    pub(super) comment: String,
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

    /// The row of a message, and what the book has of comments before it.
    pub(super) fn row(&mut self, message: &Message<'_, 'p>, book: &Book<'p>) -> Row {
        let cells = Cells::of(self.catalog, message);
        let summary = self.summarizer.summarize(message);
        Row {
            side: Some(message.side()),
            time: Some(message.time),
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
            is_cut: message.gap > 0,
            comment: comment(book, message.index),
            client_id: message.client_id.map(crate::dissect::display_text).unwrap_or_default(),
        }
    }
}

/// Characters of comments that a row keeps.
const LONGEST_COMMENT: usize = 400;

/// What was written in front of a message, in one line. A comment that cannot be read is not worth a word when the message can.
fn comment(book: &Book<'_>, number: u64) -> String {
    let comments = book.comments_before(number).unwrap_or_default();
    let text = in_one_line(&comments.join(" "));
    text.chars().take(LONGEST_COMMENT).collect()
}

/// A comment as it is shown where there is one line for it.
pub(super) fn in_one_line(comment: &str) -> String {
    harmless(&comment.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Row {
    /// The row of a message that cannot be read any more.
    pub(super) fn unreadable(why: &str) -> Self {
        Self {
            side: None,
            time: None,
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
            is_cut: false,
            comment: String::new(),
            client_id: String::new(),
        }
    }

    /// All that a person can see of the row, in lower case: what words are looked for in.
    pub(super) fn searchable(&self) -> String {
        let side = match self.side {
            Some(Side::Request) => "request",
            Some(Side::Response) => "response",
            None => "",
        };
        let parts = [
            side,
            &self.client,
            &self.broker,
            &self.api,
            &self.version,
            &self.errors,
            &self.summary,
            &self.notes,
            &self.comment,
            &self.client_id,
        ];
        parts.join(" ").to_lowercase()
    }
}
