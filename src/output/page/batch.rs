//! The page of a record batch, which no request or response is: what they hold, and files.

use super::{Half, PageOptions, write_half, write_head};
use crate::dissect::{Opening, Tree, dissect_records};
use crate::encode::{Record, RecordBatch};
use crate::output::grid::regions_of_records;
use crate::protocol::Catalog;

/// The page of a record batch with one record.
#[derive(Debug)]
pub struct BatchPage<'c> {
    /// How the instance is built.
    pub intro: String,
    /// Names and values of what is to be known of batches.
    pub facts: Vec<(&'static str, String)>,
    /// The batch.
    pub batch: Half<'c>,
}

/// The format that the page shows; older ones have no batches.
const FORMAT: i16 = 2;
const ABOUT: &str = "Records one behind the other with what is common to them, as Produce and Fetch carry them and as log segments \
    hold them.";
const INTRO: &str = "This page encodes one batch with one record, without a request around it: the record's key and value and the \
    name and value of its one header are empty, its offset and timestamp are those that the batch begins with. Records \
    have lengths and deltas as zigzag varints. With a codec in the attributes, all that stands behind the count of \
    records is compressed as a whole.";

impl<'c> BatchPage<'c> {
    /// The page; `None` where the layout is not known.
    pub fn new(catalog: &'c Catalog) -> Option<Self> {
        let record = Record {
            key: Some(Vec::new()),
            value: Some(Vec::new()),
            headers: vec![(Vec::new(), Some(Vec::new()))],
            ..Record::default()
        };
        let empty = RecordBatch::of(0, 0, Vec::new()).encode().len();
        let frame = RecordBatch::of(0, 0, vec![record]).encode();
        let schema = catalog.schema("RecordBatch")?.clone();
        let opening = Opening::new(catalog);
        let mut tree = Tree::opened(opening);
        dissect_records(&frame, &mut tree);
        let facts = vec![
            ("Format", format!("{FORMAT} (magic), since Kafka 0.11")),
            ("Batch without records", format!("{empty} bytes")),
            ("Record with its length", format!("{} bytes", frame.len() - empty)),
            ("Size", format!("{} bytes", frame.len())),
        ];
        let batch = Half {
            headline: format!("RecordBatch v{FORMAT} with one Record, {} bytes", frame.len()),
            regions: regions_of_records(opening, &frame),
            schema: catalog.glossary().explain(schema),
            title: ("Records".to_owned(), "records".to_owned()),
            header_version: 0,
            holds_records: true,
            has_empty_records: false,
            name: "RecordBatch".to_owned(),
            version: FORMAT,
            frame,
            tree,
        };
        Some(Self { intro: INTRO.to_owned(), facts, batch })
    }
}

/// Appends the whole page as text.
pub fn write_batch_page<'c>(out: &mut String, catalog: &'c Catalog, page: &BatchPage<'c>, options: PageOptions) {
    write_head(out, ("RecordBatch", Some(ABOUT), &page.intro), &page.facts, options);
    write_half(out, catalog, &page.batch, options);
}
