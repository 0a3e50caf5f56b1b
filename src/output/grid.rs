//! The bytes of a frame, 16 a row, with what each of them is part of.

use std::fmt::Write;

use super::paint::Paint;
use crate::dissect::{Opening, Part, Place, Reading, Scope, Span, Value, Visitor, dissect, dissect_records};
use crate::protocol::{Kind, Plan};

/// What a byte is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// The size in front.
    Frame,
    /// The header's fields.
    Header,
    /// A request's fields.
    RequestBody,
    /// A record batch.
    RecordBatch,
    /// A record in a batch.
    Record,
    /// A response's fields.
    ResponseBody,
    /// Tagged fields: their number, tags, sizes and values.
    TaggedFields,
}

impl Region {
    /// All of them, in the order of the legend.
    pub const ALL: [Self; 7] = [
        Self::Frame,
        Self::Header,
        Self::RequestBody,
        Self::RecordBatch,
        Self::Record,
        Self::ResponseBody,
        Self::TaggedFields,
    ];

    /// Its name in the legend.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Header => "rpc header",
            Self::RequestBody => "request body",
            Self::RecordBatch => "RecordBatch",
            Self::Record => "Record",
            Self::ResponseBody => "response body",
            Self::TaggedFields => "tagged_fields",
        }
    }

    /// Its name below a single byte.
    pub fn short(self) -> &'static str {
        match self {
            Self::Frame => "fr",
            Self::Header => "hd",
            Self::RequestBody => "rq",
            Self::RecordBatch => "rb",
            Self::Record => "rc",
            Self::ResponseBody => "rs",
            Self::TaggedFields => "tf",
        }
    }

    /// Its colour.
    pub fn sgr(self) -> &'static str {
        match self {
            Self::Frame => "35",
            Self::Header => "94",
            Self::RequestBody => "32",
            Self::RecordBatch => "33",
            Self::Record => "93",
            Self::ResponseBody => "36",
            Self::TaggedFields => "91",
        }
    }
}

/// Bytes one behind the other that are part of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionRun {
    /// Offset of the first one.
    pub start: u32,
    /// How many.
    pub len: u32,
    /// What they are part of.
    pub region: Region,
}

/// What each byte of a frame is part of: runs in order, which tile it. Records are in the clear.
pub fn regions<'p>(opening: Opening<'p>, reading: &Reading<'p>, frame: &[u8]) -> Vec<RegionRun> {
    let mut painter = Painter::new(opening);
    dissect(reading, frame, &mut painter);
    painter.runs
}

/// The same of batches without a frame around them.
pub fn regions_of_records(opening: Opening<'_>, records: &[u8]) -> Vec<RegionRun> {
    let mut painter = Painter::new(opening);
    dissect_records(records, &mut painter);
    painter.runs
}

#[derive(Debug)]
struct Painter<'p> {
    opening: Opening<'p>,
    runs: Vec<RegionRun>,
    base: Option<Region>,
    /// How many structs and arrays that are (in) a tagged field are open.
    tagged: u32,
    /// How many batches are open, and structs inside of them: a record, and its headers.
    batches: u32,
    records: u32,
}

impl<'p> Painter<'p> {
    fn new(opening: Opening<'p>) -> Self {
        Self { opening, runs: Vec::new(), base: None, tagged: 0, batches: 0, records: 0 }
    }

    fn push(&mut self, start: u32, len: u32, region: Region) {
        match self.runs.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.region == region => last.len += len,
            _ => self.runs.push(RegionRun { start, len, region }),
        }
    }

    fn region(&self) -> Region {
        match (self.records, self.batches, self.tagged) {
            (1.., ..) => Region::Record,
            (_, 1.., _) => Region::RecordBatch,
            (.., 1..) => Region::TaggedFields,
            _ => self.base.unwrap_or(Region::Frame),
        }
    }
}

fn body_region(plan: &Plan) -> Region {
    if plan.kind == Kind::Request { Region::RequestBody } else { Region::ResponseBody }
}

fn is_tagged(place: Place<'_>) -> bool {
    place.field().is_some_and(|field| field.tag.is_some())
}

impl<'p> Visitor<'p> for Painter<'p> {
    fn opening(&self) -> Option<Opening<'p>> {
        Some(self.opening)
    }

    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Message | Scope::Frame => self.base = Some(Region::Frame),
            Scope::Header(..) => self.base = Some(Region::Header),
            Scope::Body(plan) => self.base = Some(body_region(plan)),
            Scope::Batch(..) => self.batches += 1,
            Scope::OneRecord => self.records += 1,
            Scope::Struct(..) if self.batches > 0 => self.records += 1,
            Scope::Struct(place, _) | Scope::Array(place, ..) => {
                self.tagged += u32::from(self.tagged > 0 || is_tagged(place));
            }
            Scope::Records(..) | Scope::Payload(..) | Scope::Inflated(_) => {}
        }
    }

    fn leave(&mut self, scope: Scope<'p>, _: u32) {
        match scope {
            Scope::Batch(..) => self.batches -= 1,
            Scope::OneRecord => self.records -= 1,
            Scope::Struct(..) if self.batches > 0 => self.records -= 1,
            Scope::Struct(..) | Scope::Array(..) => self.tagged = self.tagged.saturating_sub(1),
            _ => {}
        }
    }

    fn value(&mut self, place: Place<'p>, _: Value<'_>, span: Span) {
        let region = if is_tagged(place) { Region::TaggedFields } else { self.region() };
        self.push(span.start, span.len, region);
    }

    fn part(&mut self, part: Part<'_>, span: Span) {
        let region = match part {
            Part::TaggedCount { .. } | Part::Tag(_) | Part::TagSize(_) | Part::UnknownTag(..) => Region::TaggedFields,
            Part::Partial(_) => Region::RecordBatch,
            _ => self.region(),
        };
        self.push(span.start, span.len, region);
    }
}

/// The runs as a table with tabs: offset in hexadecimal, number of bytes, region.
pub fn regions_tsv(runs: &[RegionRun]) -> String {
    let mut text = String::from("start\tlength\tregion\n");
    for run in runs {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{:04x}\t{}\t{}", run.start, run.len, run.region.name());
    }
    text
}

/// Bytes in a row.
const ROW: usize = 16;

/// The bytes alone, 16 a row.
pub fn write_hex(out: &mut String, frame: &[u8]) {
    for row in frame.chunks(ROW) {
        let cells: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        out.push_str(&cells.join(" "));
        out.push('\n');
    }
}

/// The legend of [`write_grid`], with the short names, in lines of at most `width` columns.
pub fn legend(width: usize, paint: Paint) -> Vec<String> {
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for region in Region::ALL {
        let wide = region.name().len() + 3;
        if used > 0 && used + 2 + wide > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push_str("  ");
            used += 2;
        }
        line.push_str(&paint.with(region.sgr(), format!("{} {}", region.short(), region.name())));
        used += wide;
    }
    lines.push(line);
    lines
}

/// The bytes, 16 a row with the offset in front, and below each row what its bytes are part of.
pub fn write_grid(out: &mut String, frame: &[u8], runs: &[RegionRun], paint: Paint) {
    for (index, row) in frame.chunks(ROW).enumerate() {
        let start = index * ROW;
        let (mut bytes, mut names) = (String::new(), String::new());
        for (from, to, region) in in_row(runs, start, row.len()) {
            let gap = if from > 0 { " ".repeat(column(from) - column(from - 1) - 2) } else { String::new() };
            let text = spaced(row.get(from..to).unwrap_or_default(), from);
            let label = label(region, column(to - 1) + 2 - column(from));
            // Writing into a string cannot fail.
            let _ = write!(bytes, "{gap}{}", paint.with(region.sgr(), text));
            let _ = write!(names, "{gap}{}", paint.with(region.sgr(), label));
        }
        let _ = writeln!(out, "{start:04x}  {bytes}\n      {}", names.trim_end());
    }
}

/// Bytes of a row, the first of which is the byte `from` of it.
fn spaced(bytes: &[u8], from: usize) -> String {
    let mut text = String::with_capacity(bytes.len() * 3 + 1);
    for (byte, at) in bytes.iter().zip(from..) {
        let gap = if at == from { 0 } else { column(at) - column(at - 1) - 2 };
        // Writing into a string cannot fail.
        let _ = write!(text, "{:gap$}{byte:02x}", "");
    }
    text
}

/// The runs that have bytes in a row: first byte and the one behind the last, counted in the row.
fn in_row(runs: &[RegionRun], start: usize, len: usize) -> impl Iterator<Item = (usize, usize, Region)> {
    runs.iter().filter_map(move |run| {
        let from = (run.start as usize).max(start);
        let to = (run.start as usize + run.len as usize).min(start + len);
        (from < to).then(|| (from - start, to - start, run.region))
    })
}

/// Where the byte of a row stands: two digits each, a space between, two in the middle.
fn column(byte: usize) -> usize {
    byte * 3 + usize::from(byte >= 8)
}

/// The region's name in `width` columns, or its short name, with dashes behind.
fn label(region: Region, width: usize) -> String {
    let name = if region.name().len() <= width { region.name() } else { region.short() };
    match width - name.len() {
        0 => name.to_owned(),
        left => format!("{name} {}", "-".repeat(left - 1)),
    }
}
