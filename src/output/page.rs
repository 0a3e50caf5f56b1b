//! The reference page of an API in one version: the smallest legal instance of its request and its response, taken
//! apart.

mod batch;

use std::fmt::Write;

use super::describe::Describer;
use super::grid::{RegionRun, legend, regions, write_grid};
use super::paint::Paint;
use super::schema_text::write_schema;
use super::table::{Align, Table, wrap};
use super::tree_text::{TreeOptions, write_tree};
use crate::dissect::{Known, Opening, Part, Place, Reading, Span, Tree, Value, Visitor, dissect};
use crate::encode;
use crate::protocol::{Api, Catalog, Schema, Side};

pub use batch::{BatchPage, write_batch_page};

/// A page.
#[derive(Debug)]
pub struct Page<'c> {
    /// The API's name.
    pub title: String,
    /// What the API is for.
    pub about: Option<String>,
    /// How the instance is built.
    pub intro: String,
    /// Names and values of what is to be known of the API.
    pub facts: Vec<(&'static str, String)>,
    /// The request, where it is known.
    pub request: Option<Half<'c>>,
    /// The response, where it is known.
    pub response: Option<Half<'c>>,
}

/// One direction of an API.
#[derive(Debug)]
pub struct Half<'c> {
    /// The message's name, as in `MetadataRequest`.
    pub name: String,
    /// The version.
    pub version: i16,
    /// What it is and how long it is, in a line.
    pub headline: String,
    /// The bytes of the smallest legal instance.
    pub frame: Vec<u8>,
    /// What the bytes are part of.
    pub regions: Vec<RegionRun>,
    /// What the bytes are.
    pub tree: Tree<'c>,
    /// The schema, as of the newest release that has the version, with explanations.
    pub schema: Schema,
    /// The name and type of the tree's root.
    title: (String, String),
    header_version: i16,
    holds_records: bool,
    has_empty_records: bool,
}

impl<'c> Page<'c> {
    /// The page of a version; `None` where that version of the request or response is not known. A reader's own API may
    /// have but one of them.
    pub fn new(catalog: &'c Catalog, api: &Api, version: i16) -> Option<Self> {
        let half = |side| match catalog.api_schema_name(api.key, side) {
            Some(_) => Half::new(catalog, api, side, version).map(Some),
            None => Some(None),
        };
        let (request, response) = (half(Side::Request)?, half(Side::Response)?);
        let known = || {
            [("req", &request), ("resp", &response)].into_iter().filter_map(|(word, half)| Some((word, half.as_ref()?)))
        };
        let (_, either) = known().next()?;
        let headers: Vec<String> = known().map(|(word, half)| format!("{word} v{}", half.header_version)).collect();
        let mut facts = vec![
            ("API key", api.key.0.to_string()),
            ("Encoded at", format!("v{version}")),
            ("Flexible versions", either.schema.flexible.to_string()),
            ("Headers", headers.join(", ")),
        ];
        if known().any(|(_, half)| half.holds_records) {
            facts.push(("Record", "none in an empty batch; kafkascope layout RecordBatch shows one".to_owned()));
        }
        for (name, half) in [("Request versions", &request), ("Response versions", &response)] {
            let versions = half.as_ref().map(|half| catalog.current_versions(&half.name).to_string());
            facts.push((name, versions.unwrap_or_else(|| "not known".to_owned())));
        }
        for (name, half) in [("Request size", &request), ("Response size", &response)] {
            facts.extend(half.as_ref().map(|half| (name, format!("{} bytes", half.frame.len()))));
        }
        let has_empty_records = known().any(|(_, half)| half.has_empty_records);
        Some(Self {
            title: api.name.clone(),
            about: catalog.glossary().schema(&api.name).map(str::to_owned),
            intro: intro(version, either.schema.flexible.contains(version), has_empty_records),
            facts,
            request,
            response,
        })
    }

    /// One of its halves.
    pub fn half(&self, side: Side) -> Option<&Half<'c>> {
        match side {
            Side::Request => self.request.as_ref(),
            Side::Response => self.response.as_ref(),
        }
    }
}

impl<'c> Half<'c> {
    fn new(catalog: &'c Catalog, api: &Api, side: Side, version: i16) -> Option<Self> {
        let body = catalog.api_plan(api.key, side, version)?;
        let header = catalog.header_for(body, side)?;
        let frame = encode::minimal_frame(catalog, api.key, side, version)?;
        let reading =
            Reading { side, header: Some(header), body: Some(body), sized: true, missing: 0, known: Known::default() };
        let opening = Opening::new(catalog);
        let mut tree = Tree::opened(opening);
        dissect(&reading, &frame, &mut tree);
        let mut records = EmptyRecords::default();
        dissect(&reading, &frame, &mut records);
        let name = body.name.to_string();
        let current = catalog.current_versions(&name);
        let versions = if current.contains(version) { current } else { catalog.versions(&name) };
        let schema = catalog.schema_for(&name, version)?.within(versions);
        Some(Self {
            headline: format!(
                "{name} v{version}, {} header v{}, {} bytes on the wire",
                side.word(),
                header.version,
                frame.len()
            ),
            title: (name.clone(), format!("message v{version}")),
            regions: regions(opening, &reading, &frame),
            schema: catalog.glossary().explain(schema),
            header_version: header.version,
            holds_records: body.holds_records(),
            has_empty_records: records.0,
            name,
            version,
            frame,
            tree,
        })
    }

    /// Appends the tree, one node a line.
    pub fn write_tree(&self, out: &mut String, catalog: &'c Catalog, options: TreeOptions) {
        let describer = Describer {
            catalog,
            tree: &self.tree,
            frame: &self.frame,
            title: (&self.title.0, &self.title.1),
            sample: true,
            show_secrets: true,
            topics: None,
        };
        write_tree(out, &describer, options);
    }
}

/// Whether there is a records field without records: versions that are older than record batches have them.
#[derive(Debug, Default)]
struct EmptyRecords(bool);

impl Visitor<'_> for EmptyRecords {
    fn value(&mut self, _: Place<'_>, value: Value<'_>, _: Span) {
        self.0 |= matches!(value, Value::Records(Some([])));
    }

    fn part(&mut self, _: Part<'_>, _: Span) {}
}

fn intro(version: i16, is_flexible: bool, has_empty_records: bool) -> String {
    let records = if has_empty_records {
        "any records field is empty, because this version is older than RecordBatch v2"
    } else {
        "any records field holds one empty 61-byte RecordBatch v2"
    };
    let lengths = if is_flexible {
        "is a flexible version, so every struct is terminated by a uvarint tagged-field count and strings and arrays \
         carry compact length-plus-one prefixes"
    } else {
        "is not a flexible version, so structs have no tagged fields, strings carry int16 length prefixes, and byte \
         arrays and arrays carry int32 length prefixes"
    };
    format!(
        "This page encodes the smallest legal instance of the request and the response: numeric fields are zero, \
         strings and byte arrays are empty, every array carries exactly one sample element, and {records}. Version \
         {version} {lengths}. Sizes below include the leading int32 size prefix."
    )
}

/// How a page is printed.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions {
    /// Only this half of it.
    pub side: Option<Side>,
    /// Colours.
    pub paint: Paint,
    /// Columns of text; the tree and the schema may be wider.
    pub width: usize,
    /// How the tree is printed.
    pub tree: TreeOptions,
}

/// Appends a whole page as text.
pub fn write_page<'c>(out: &mut String, catalog: &'c Catalog, page: &Page<'c>, options: PageOptions) {
    write_head(out, (&page.title, page.about.as_deref(), &page.intro), &page.facts, options);
    for side in [Side::Request, Side::Response] {
        if let Some(half) = page.half(side).filter(|_| options.side.is_none_or(|only| only == side)) {
            write_half(out, catalog, half, options);
        }
    }
}

/// Appends what stands above the bytes: title, what it is about, how the instance is built; facts; the legend.
fn write_head(
    out: &mut String,
    (title, about, intro): (&str, Option<&str>, &str),
    facts: &[(&'static str, String)],
    options: PageOptions,
) {
    // Longer lines of prose are hard to read.
    let (paint, width) = (options.paint, options.width.min(100));
    let mut lines = vec![paint.heading(title)];
    lines.extend(about.iter().flat_map(|about| wrap(about, width, 0)));
    lines.push(String::new());
    lines.extend(wrap(intro, width, 0));
    lines.push(String::new());
    let mut table = Table::new(&[Align::Left, Align::Left]);
    for (name, value) in facts {
        table.row([(*name).to_owned(), value.clone()]);
    }
    lines.extend(table.lines(width));
    lines.push(String::new());
    lines.extend(legend(width, paint));
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
}

fn write_half<'c>(out: &mut String, catalog: &'c Catalog, half: &Half<'c>, options: PageOptions) {
    let paint = options.paint;
    let rule = if paint.coloured { String::new() } else { format!("{}\n", "=".repeat(half.headline.len())) };
    // Writing into a string cannot fail.
    let _ = write!(out, "\n\n{}\n{rule}\n", paint.heading(&half.headline));
    write_grid(out, &half.frame, &half.regions, paint);
    out.push('\n');
    half.write_tree(out, catalog, options.tree);
    out.push('\n');
    write_schema(out, &half.schema);
}
