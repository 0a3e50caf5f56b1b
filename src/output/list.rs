//! One line a message, for people.

use std::fmt::Write;
use std::net::SocketAddr;

use foldhash::{HashMap, HashMapExt};
use itoa::Buffer;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::place::{escaped, host, interface_label, interfaces};
use super::summary::{Summarizer, Summary};
use super::units;
use super::zone::Zone;
use crate::capture::{Names, Time};
use crate::conversation::{Message, Subject};
use crate::protocol::{Catalog, Side};
use crate::stream::ConnectionId;

/// Appends the line in front of a message's tree: number, time, who to whom, over which interfaces, latency, SASL mechanism.
pub fn heading(out: &mut String, message: &Message<'_, '_>, zone: &Zone) {
    let (from, to) = match message.side() {
        Side::Request => (message.client, message.broker),
        Side::Response => (message.broker, message.client),
    };
    // Writing into a string cannot fail.
    let _ = write!(out, "#{} ", message.index);
    zone.write(out, message.time);
    for (mark, end) in [(" ", from), (" -> ", to)] {
        let _ = write!(out, "{mark}{end}");
        if let Some(name) = host(message.names, end.ip()) {
            let _ = write!(out, " ({name})");
        }
    }
    let interfaces = interfaces(message, interface_label);
    if !interfaces.is_empty() {
        let _ = write!(out, " on {}", interfaces.join(", "));
    }
    if let Some(exchange) = message.request {
        let microseconds = exchange.latency / 1000;
        let sign = if microseconds < 0 { "-" } else { "" };
        let (whole, places) = (microseconds.unsigned_abs() / 1000, microseconds.unsigned_abs() % 1000);
        let _ = write!(out, ", answers #{} after {sign}{whole}.{places:03} ms", exchange.request);
    }
    let mechanism = message.reading.known.mechanism;
    if !mechanism.is_empty() {
        let _ = write!(out, ", SASL {}", escaped(&mechanism));
    }
    out.push('\n');
}

/// How lines are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListOptions {
    /// The columns of the terminal that lines must fit. `None`: columns are wide and nothing is cut.
    pub width: Option<usize>,
    /// Whether to use colours.
    pub colour: bool,
}

/// Writes messages as lines of columns.
///
/// Lines are written as messages come, so columns begin as wide as most need and grow where one needs more.
#[derive(Debug)]
pub struct ListWriter<'p> {
    catalog: &'p Catalog,
    summarizer: Summarizer<'p>,
    options: ListOptions,
    columns: Columns,
    start: Option<Time>,
    has_header: bool,
    /// What stands in the columns of the message at hand; kept to be used again.
    cells: Cells<'p>,
    /// Client and broker of connections, as they are written.
    endpoints: HashMap<ConnectionId, (String, String)>,
    /// How many hosts had names when they were.
    named: usize,
}

/// Columns of an endpoint on a terminal: an address of IPv6 and a port. Names can be longer.
const LONGEST_ENDPOINT: usize = 47;
/// Columns of a comment where nothing else is cut.
const MAX_COMMENT: usize = 400;
/// Connections whose endpoints are kept as text.
const MAX_ENDPOINTS: usize = 4096;

/// The widths of the columns before the summary. 0: not shown, for want of room.
#[derive(Debug, Clone, Copy)]
struct Columns {
    number: usize,
    time: usize,
    client: usize,
    broker: usize,
    api: usize,
    version: usize,
    correlation: usize,
    size: usize,
    latency: usize,
    /// Whether the longest names of APIs are shown whole.
    grow_api: bool,
}

/// For files and other programs.
const WIDE: Columns = Columns {
    number: 7,
    time: 11,
    client: 21,
    broker: 21,
    api: 25,
    version: 3,
    correlation: 10,
    size: 7,
    latency: 9,
    grow_api: true,
};
/// Columns of a terminal from which on there is room for more.
pub(crate) const ROOM_FOR_LATENCY: usize = 96;
pub(crate) const ROOM_FOR_SIZE: usize = 116;
pub(crate) const ROOM_FOR_CORRELATION: usize = 140;
/// A summary gets so many columns, even where a line is longer than the terminal is wide then.
const LEAST_SUMMARY: usize = 10;

impl Columns {
    fn new(catalog: &Catalog, width: Option<usize>) -> Self {
        let Some(width) = width else {
            // Wide enough for every name, so that all lines are alike.
            let longest = catalog.apis().iter().map(|api| api.name.len()).max();
            return Self { api: WIDE.api.max(longest.unwrap_or(0)), ..WIDE };
        };
        let narrow = Self {
            number: 4,
            time: 8,
            client: 9,
            broker: 6,
            api: if width >= ROOM_FOR_LATENCY { 15 } else { 12 },
            version: 3,
            correlation: if width >= ROOM_FOR_CORRELATION { 5 } else { 0 },
            size: if width >= ROOM_FOR_SIZE { 6 } else { 0 },
            latency: if width >= ROOM_FOR_LATENCY { 8 } else { 0 },
            grow_api: false,
        };
        if width >= ROOM_FOR_CORRELATION { Self { number: 6, time: 10, client: 15, api: 18, ..narrow } } else { narrow }
    }

    /// Makes room for what is in a line.
    fn grow_to(&mut self, cells: &Cells<'_>) {
        if self.grow_api {
            self.api = self.api.max(cells.api.len());
        }
        let longest = if self.grow_api { usize::MAX } else { LONGEST_ENDPOINT };
        for (column, text) in [(&mut self.client, &cells.client), (&mut self.broker, &cells.broker)] {
            *column = (*column).max(columns(text).min(longest));
        }
        let texts = [
            (&mut self.number, &cells.number),
            (&mut self.time, &cells.time),
            (&mut self.version, &cells.version),
            (&mut self.correlation, &cells.correlation),
            (&mut self.size, &cells.size),
            (&mut self.latency, &cells.latency),
        ];
        for (column, text) in texts {
            if *column > 0 {
                *column = (*column).max(text.len());
            }
        }
    }

    /// The columns before the summary.
    fn total(&self) -> usize {
        let optional = [self.correlation, self.size, self.latency].map(|width| if width > 0 { width + 1 } else { 0 });
        let arrow = 3;
        self.number
            + 2
            + self.time
            + 1
            + self.client
            + arrow
            + self.broker
            + 1
            + self.api
            + 1
            + self.version
            + optional.iter().sum::<usize>()
            + 2
    }

    /// Writes a line up to its summary.
    fn write(&self, line: &mut Line, cells: &Cells<'_>, inks: &Inks) {
        line.ink(inks.first);
        line.right(&cells.number, self.number);
        line.ink(inks.mark);
        line.push(cells.mark);
        line.ink(inks.first);
        line.push(" ");
        line.right(&cells.time, self.time);
        line.ink(inks.middle);
        line.push(" ");
        line.left(&cells.client, self.client);
        line.push(" ");
        line.push(cells.arrow);
        line.push(" ");
        line.left(&cells.broker, self.broker);
        line.push(" ");
        line.ink(inks.api);
        line.left(cells.api, self.api);
        line.ink(inks.middle);
        line.push(" ");
        line.right(&cells.version, self.version);
        let optional =
            [(&cells.correlation, self.correlation), (&cells.size, self.size), (&cells.latency, self.latency)];
        for (text, width) in optional.into_iter().filter(|(_, width)| *width > 0) {
            line.push(" ");
            line.right(text, width);
        }
        line.push("  ");
    }

    fn write_header(&self, line: &mut Line) {
        let cells = Cells {
            number: "No.".to_owned(),
            mark: " ",
            time: "Time".to_owned(),
            client: "Client".to_owned(),
            arrow: " ",
            broker: "Broker".to_owned(),
            api: "API",
            version: "Ver".to_owned(),
            correlation: "Corr".to_owned(),
            size: "Size".to_owned(),
            latency: "Latency".to_owned(),
        };
        let header = Some(Ink::Header);
        self.write(line, &cells, &Inks { first: header, mark: header, middle: header, api: header });
        line.push("Summary");
        line.end();
    }
}

/// The colours of a line up to its summary.
struct Inks {
    first: Option<Ink>,
    mark: Option<Ink>,
    middle: Option<Ink>,
    api: Option<Ink>,
}

/// What a part of a line is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Header,
    Faint,
    Request,
    Response,
    Error,
    Odd,
}

impl Ink {
    /// The escape sequence that begins it (ECMA-48, select graphic rendition).
    fn begin(self) -> &'static str {
        match self {
            Self::Header => "\x1b[1m",
            Self::Faint => "\x1b[2m",
            Self::Request => "\x1b[36m",
            Self::Response => "\x1b[32m",
            Self::Error => "\x1b[33m",
            Self::Odd => "\x1b[1;31m",
        }
    }
}

const RESET: &str = "\x1b[0m";

impl<'p> ListWriter<'p> {
    /// A writer; the header comes with the first line.
    pub fn new(catalog: &'p Catalog, options: ListOptions) -> Self {
        Self {
            catalog,
            summarizer: Summarizer::new(catalog),
            options,
            columns: Columns::new(catalog, options.width),
            start: None,
            has_header: false,
            cells: Cells::default(),
            endpoints: HashMap::new(),
            named: 0,
        }
    }

    /// Says when the capture begins; else it begins with its first message.
    pub fn start(&mut self, time: Time) {
        self.start = self.start.or(Some(time));
    }

    /// Appends the line of a message, and says whether it has faults of its own; those of records are not looked for.
    pub fn message(&mut self, out: &mut Vec<u8>, message: &Message<'_, 'p>) -> bool {
        let start = *self.start.get_or_insert(message.time);
        let summary = self.summarizer.summarize(message);
        let is_odd = !summary.notes.is_empty();
        let named = message.names.hosts();
        if self.endpoints.len() >= MAX_ENDPOINTS || named != self.named {
            self.endpoints.clear();
            self.named = named;
        }
        let endpoints = self.endpoints.entry(message.connection);
        let (client, broker) = endpoints.or_insert_with(|| (client(message), broker(message)));
        self.cells.fill(self.catalog, message, start, is_odd);
        let cells = &mut self.cells;
        cells.client.clone_from(client);
        cells.broker.clone_from(broker);
        self.columns.grow_to(cells);
        let mut line = Line::new(out, self.options.colour);
        if !self.has_header {
            self.has_header = true;
            self.columns.write_header(&mut line);
        }
        let api = if message.side() == Side::Request { Ink::Request } else { Ink::Response };
        let inks = Inks {
            first: Some(Ink::Faint),
            mark: Some(if is_odd { Ink::Odd } else { Ink::Faint }),
            middle: None,
            api: Some(api),
        };
        self.columns.write(&mut line, cells, &inks);
        let room = self.options.width.map(|width| width.saturating_sub(self.columns.total()).max(LEAST_SUMMARY));
        write_summary(&mut line, &summary, room);
        line.end();
        summary.is_faulty
    }

    /// Appends a packet's comment: a line of its own.
    pub fn comment(&mut self, out: &mut Vec<u8>, comment: &str) {
        let mut line = Line::new(out, self.options.colour);
        if !self.has_header {
            self.has_header = true;
            self.columns.write_header(&mut line);
        }
        for text in comment.lines().map(str::trim).filter(|text| !text.is_empty()) {
            let inner = escaped(text);
            line.ink(Some(Ink::Faint));
            line.push("-- ");
            // A comment may have 64 kB.
            line.cut(&inner, self.options.width.map_or(MAX_COMMENT, |width| width.saturating_sub(6)));
            line.push(" --");
            line.end();
        }
    }
}

/// Writes errors, what the rule says and what is odd. Where there is no room for all, what is odd is kept.
fn write_summary(line: &mut Line, summary: &Summary<'_>, room: Option<usize>) {
    let mut room = room.unwrap_or(usize::MAX);
    let notes = columns(summary.notes) + 2;
    let both = columns(summary.errors) + columns(summary.text) + 4;
    let odd = if summary.notes.is_empty() { 0 } else { notes.min(room) };
    if odd > 0 {
        // Where that leaves but a few letters, they are left out as well.
        let left = room.saturating_sub(odd + 2);
        room = if left < both && left < 8 { 0 } else { left };
    }
    let written = line.out.len();
    line.ink(Some(Ink::Error).filter(|_| !summary.errors.is_empty()));
    room -= line.cut(summary.errors, room);
    line.ink(None);
    let separator = if summary.errors.is_empty() || summary.text.is_empty() { "" } else { ", " };
    if room > separator.len() + 2 || separator.is_empty() {
        line.push(separator);
        line.cut(summary.text, room - separator.len());
    } else if room > 0 {
        line.push("…");
    }
    if odd > 0 {
        if line.out.len() > written && !(summary.errors.is_empty() && summary.text.is_empty()) {
            line.push("; ");
        }
        line.ink(Some(Ink::Odd));
        line.push("! ");
        line.cut(summary.notes, odd.saturating_sub(2));
    }
}

/// A line that is being written.
struct Line<'o> {
    out: &'o mut Vec<u8>,
    /// Where in `out` it begins.
    start: usize,
    ink: Option<Ink>,
    colour: bool,
}

impl<'o> Line<'o> {
    fn new(out: &'o mut Vec<u8>, colour: bool) -> Self {
        Self { start: out.len(), out, ink: None, colour }
    }

    /// Changes the colour of what follows; `None` is the terminal's own.
    fn ink(&mut self, ink: Option<Ink>) {
        if !self.colour || ink == self.ink {
            return;
        }
        if self.ink.is_some() {
            self.push(RESET);
        }
        self.push(ink.map_or("", Ink::begin));
        self.ink = ink;
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn blanks(&mut self, count: usize) {
        self.out.resize(self.out.len() + count, b' ');
    }

    /// Text at the right of a column.
    fn right(&mut self, text: &str, width: usize) {
        match width.checked_sub(columns(text)) {
            Some(gap) => {
                self.blanks(gap);
                self.push(text);
            }
            None => drop(self.cut(text, width)),
        }
    }

    /// Text at the left of a column.
    fn left(&mut self, text: &str, width: usize) {
        let used = self.cut(text, width);
        self.blanks(width.saturating_sub(used));
    }

    /// Text of at most so many columns, and how many it takes.
    fn cut(&mut self, text: &str, width: usize) -> usize {
        let whole = columns(text);
        if whole <= width {
            self.push(text);
            return whole;
        }
        let mut used = 1;
        let mut end = 0;
        for (at, character) in text.char_indices() {
            let more = character.width().unwrap_or(0);
            if used + more > width {
                break;
            }
            end = at + character.len_utf8();
            used += more;
        }
        if width > 0 {
            self.push(text.get(..end).unwrap_or_default());
            self.push("…");
            used
        } else {
            0
        }
    }

    /// Ends the line. Nobody wants blanks at its end.
    fn end(&mut self) {
        self.ink(None);
        while self.out.len() > self.start && self.out.last() == Some(&b' ') {
            self.out.pop();
        }
        self.out.push(b'\n');
        self.start = self.out.len();
    }
}

/// The columns that a text takes; control characters were escaped before.
fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// What stands in the columns of a message.
#[derive(Debug, Default)]
pub(crate) struct Cells<'p> {
    number: String,
    mark: &'static str,
    time: String,
    pub(crate) client: String,
    arrow: &'static str,
    pub(crate) broker: String,
    pub(crate) api: &'p str,
    pub(crate) version: String,
    pub(crate) correlation: String,
    pub(crate) size: String,
    pub(crate) latency: String,
}

impl<'p> Cells<'p> {
    /// The cells of one message alone.
    pub(crate) fn of(catalog: &'p Catalog, message: &Message<'_, 'p>) -> Self {
        let mut cells = Self::default();
        cells.fill(catalog, message, message.time, false);
        cells.client = client(message);
        cells.broker = broker(message);
        cells
    }

    /// Fills in all but the endpoints.
    fn fill(&mut self, catalog: &'p Catalog, message: &Message<'_, 'p>, start: Time, is_odd: bool) {
        let api = match (message.subject, message.key()) {
            (Subject::SaslToken, _) => "SaslToken",
            (_, Some(key)) => catalog.api(key).map_or("", |api| api.name.as_str()),
            (_, None) => "",
        };
        let texts = [&mut self.number, &mut self.time, &mut self.version, &mut self.correlation];
        texts.into_iter().chain([&mut self.size, &mut self.latency]).for_each(String::clear);
        number(&mut self.number, message.index.cast_signed());
        self.mark = if is_odd { "!" } else { " " };
        seconds(&mut self.time, message.time.since(start));
        self.arrow = if message.side() == Side::Request { "→" } else { "←" };
        self.api = if api.is_empty() { "?" } else { api };
        // Of an API without a name, the key is more than the version.
        let version = match (message.key().filter(|_| api.is_empty()), message.version()) {
            (Some(key), _) => Some(("#", key.0)),
            (None, Some(version)) => Some(("v", version)),
            (None, None) => None,
        };
        if let Some((sign, version)) = version {
            self.version.push_str(sign);
            number(&mut self.version, version.into());
        }
        if let Some(correlation) = message.correlation() {
            number(&mut self.correlation, correlation.into());
        }
        units::short_bytes(&mut self.size, message.size());
        if let Some(exchange) = message.request {
            units::latency(&mut self.latency, exchange.latency);
        }
    }
}

fn number(out: &mut String, number: i64) {
    out.push_str(Buffer::new().format(number));
}

fn client(message: &Message<'_, '_>) -> String {
    endpoint(message.names, message.client)
}

/// A broker on its client's host is shown by its port alone.
fn broker(message: &Message<'_, '_>) -> String {
    let (client, broker) = (message.client, message.broker);
    if client.ip() == broker.ip() { format!(":{}", broker.port()) } else { endpoint(message.names, broker) }
}

/// An endpoint by its host's name, where it has one.
fn endpoint(names: &Names, end: SocketAddr) -> String {
    host(names, end.ip()).map_or_else(|| end.to_string(), |name| format!("{name}:{}", end.port()))
}

/// Nanoseconds as seconds with six places.
pub(crate) fn seconds(out: &mut String, nanoseconds: i64) {
    let microseconds = nanoseconds.unsigned_abs() / 1000;
    out.push_str(if nanoseconds < 0 && microseconds > 0 { "-" } else { "" });
    out.push_str(Buffer::new().format(microseconds / 1_000_000));
    out.push('.');
    // Seven digits, of which the first stands for the others' zeros.
    let places = microseconds % 1_000_000 + 1_000_000;
    out.push_str(Buffer::new().format(places).get(1..).unwrap_or_default());
}
