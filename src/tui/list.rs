//! The list pane: one row a message.

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::rows::Row;
use super::scroll::Scroll;
use super::text::Pen;
use super::theme::Look;
use crate::capture::Time;
use crate::output::zone::Zone;
use crate::protocol::Side;

/// Which messages are listed, and which is selected.
#[derive(Debug, Default)]
pub(super) struct ListPane {
    /// Numbers of the messages that a filter leaves, in order; `None`: all.
    pub(super) wanted: Option<Vec<u64>>,
    /// How many messages there are.
    pub(super) all: u64,
    pub(super) scroll: Scroll,
    /// Rows that were decoded, by message number.
    rows: HashMap<u64, Row>,
    widths: Widths,
    /// The columns that are shown where there is room.
    pub(super) columns: Shown,
}

/// How times are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TimeFormat {
    /// Since the first packet.
    #[default]
    Relative,
    /// Since the message before it in the list.
    Delta,
    /// Of the day.
    Absolute,
}

impl TimeFormat {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Relative => Self::Delta,
            Self::Delta => Self::Absolute,
            Self::Absolute => Self::Relative,
        }
    }

    pub(super) fn name(self, zone: &Zone) -> String {
        match self {
            Self::Relative => "time since the first packet".to_owned(),
            Self::Delta => "time since the message before".to_owned(),
            Self::Absolute => format!("time of day ({})", zone.name()),
        }
    }
}

/// Rows that are kept though they are out of sight.
const MAX_ROWS: usize = 2048;

/// How wide columns are: as wide as what was in them so far, so that they do not jump.
#[derive(Debug, Clone, Copy)]
struct Widths {
    number: u16,
    time: u16,
    client: u16,
    broker: u16,
    api: u16,
    version: u16,
    correlation: u16,
}

impl Default for Widths {
    fn default() -> Self {
        Self { number: 4, time: 8, client: 9, broker: 6, api: 12, version: 3, correlation: 4 }
    }
}

/// A column that can be left out; the summary always stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Number,
    Time,
    Client,
    Broker,
    Api,
    Version,
    Correlation,
    Size,
    Latency,
}

impl Column {
    /// All, with their names in the configuration.
    pub(super) const ALL: [(&'static str, Self); 9] = [
        ("number", Self::Number),
        ("time", Self::Time),
        ("client", Self::Client),
        ("broker", Self::Broker),
        ("api", Self::Api),
        ("version", Self::Version),
        ("correlation", Self::Correlation),
        ("size", Self::Size),
        ("latency", Self::Latency),
    ];
}

/// The columns that the reader wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown(pub(super) Vec<Column>);

impl Default for Shown {
    fn default() -> Self {
        Self(Column::ALL.iter().map(|(_, column)| *column).collect())
    }
}

impl Shown {
    /// The width of a column; 0 where it is left out.
    fn width(&self, column: Column, width: u16) -> u16 {
        if self.0.contains(&column) { width } else { 0 }
    }
}

impl ListPane {
    /// How many rows there are.
    pub(super) fn len(&self) -> u64 {
        self.wanted.as_ref().map_or(self.all, |wanted| wanted.len() as u64)
    }

    /// The number of the message in a row.
    pub(super) fn number(&self, row: u64) -> Option<u64> {
        match &self.wanted {
            Some(wanted) => wanted.get(row as usize).copied(),
            None => Some(row + 1).filter(|number| *number <= self.all),
        }
    }

    /// The row of a message, or of the first one behind it that is listed.
    pub(super) fn row_of(&self, number: u64) -> u64 {
        match &self.wanted {
            Some(wanted) => wanted.partition_point(|wanted| *wanted < number) as u64,
            None => number.saturating_sub(1),
        }
    }

    /// The message that is selected.
    pub(super) fn selected(&self) -> Option<u64> {
        self.number(self.scroll.cursor)
    }

    /// Takes rows that were decoded.
    pub(super) fn put(&mut self, rows: Vec<(u64, Row)>, format: (TimeFormat, &Zone), start: Option<Time>) {
        for (number, row) in rows {
            let widths = &mut self.widths;
            let grow = |column: &mut u16, text: &str, most: u16| {
                *column = (*column).max((text.width() as u16).min(most));
            };
            grow(&mut widths.client, &row.client, 47);
            grow(&mut widths.broker, &row.broker, 47);
            grow(&mut widths.api, &row.api, 26);
            grow(&mut widths.correlation, &row.correlation, 11);
            grow(&mut widths.time, &time_text(format, &row, None, start), 18);
            self.rows.insert(number, row);
        }
    }

    /// Notes that a message cannot be read.
    pub(super) fn put_unreadable(&mut self, number: u64, why: &str) {
        self.rows.insert(number, Row::unreadable(why));
    }

    /// Forgets what was decoded: the rows would look otherwise now.
    pub(super) fn forget(&mut self) {
        self.rows.clear();
        self.widths = Widths::default();
    }

    /// Messages in sight, and the one before them, that were not decoded yet.
    pub(super) fn missing(&mut self, height: u16) -> Vec<u64> {
        self.scroll.show(self.len(), height.into());
        if self.rows.len() > MAX_ROWS {
            self.rows.clear();
        }
        let rows = self.scroll.top.saturating_sub(1)..self.scroll.top + u64::from(height);
        rows.filter_map(|row| self.number(row)).filter(|number| !self.rows.contains_key(number)).collect()
    }

    /// Draws the names of columns and the rows in sight. `partner` is the other message of the selected one's exchange.
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer, options: &ListOptions<'_>) {
        let widths = &mut self.widths;
        widths.number = widths.number.max(format!("{}", self.all).len() as u16);
        let columns = Columns::new(area.width, *widths, &self.columns);
        let mut pen = Pen::new(buffer, Rect { height: area.height.min(1), ..area });
        columns.write(&mut pen, &HEADER, &Inks::default(), options.look.heading());
        pen.put("Summary", options.look.heading());
        let height = area.height.saturating_sub(1);
        self.scroll.show(self.len(), height.into());
        for (y, row) in (area.y + 1..area.bottom()).zip(self.scroll.top..) {
            let Some(number) = self.number(row) else { break };
            let line = Rect { y, height: 1, ..area };
            self.draw_row(number, row, line, buffer, &columns, options);
            if row == self.scroll.cursor {
                buffer.set_style(line, options.look.selected(options.has_keys));
            } else if options.partner == Some(number) {
                buffer.set_style(line, options.look.partner());
            }
        }
    }

    fn draw_row(
        &self,
        number: u64,
        at: u64,
        line: Rect,
        buffer: &mut Buffer,
        columns: &Columns,
        options: &ListOptions<'_>,
    ) {
        let look = options.look;
        let mut pen = Pen::new(buffer, line);
        let text = number.to_string();
        let Some(row) = self.rows.get(&number) else {
            columns.write(&mut pen, &Texts { number: &text, ..Texts::default() }, &Inks::default(), look.faint());
            return;
        };
        let before = at.checked_sub(1).and_then(|at| self.rows.get(&self.number(at)?)).and_then(|row| row.time);
        let time = time_text((options.time, options.zone), row, before, options.start);
        let (arrow, ink) = match row.side {
            Some(Side::Request) => ("→", look.request()),
            Some(Side::Response) => ("←", look.response()),
            None => (" ", Style::new()),
        };
        let texts = Texts {
            number: &text,
            mark: options.marks.get(&number).copied().unwrap_or(if row.notes.is_empty() { ' ' } else { '!' }),
            time: &time,
            client: &row.client,
            arrow,
            broker: &row.broker,
            api: &row.api,
            version: &row.version,
            correlation: &row.correlation,
            size: &row.size,
            latency: &row.latency,
        };
        let inks = Inks { first: look.faint(), mark: look.odd(), api: ink };
        columns.write(&mut pen, &texts, &inks, Style::new());
        let mut is_first = true;
        let pieces = [
            (&row.notes, look.odd(), "! "),
            (&row.errors, look.error(), ""),
            (&row.comment, look.heading(), "# "),
            (&row.summary, Style::new(), ""),
        ];
        for (piece, style, sign) in pieces.into_iter().filter(|(piece, ..)| !piece.is_empty()) {
            if !is_first {
                pen.put(", ", Style::new());
            }
            is_first = false;
            pen.put(sign, style);
            pen.put(piece, style);
        }
    }
}

/// How the list is drawn.
pub(super) struct ListOptions<'a> {
    pub(super) look: Look,
    pub(super) has_keys: bool,
    pub(super) time: TimeFormat,
    pub(super) zone: &'a Zone,
    /// The time of the first packet.
    pub(super) start: Option<Time>,
    pub(super) partner: Option<u64>,
    /// Messages that the reader has marked.
    pub(super) marks: &'a HashMap<u64, char>,
}

/// What stands in the columns before the summary.
#[derive(Debug, Clone, Copy)]
struct Texts<'a> {
    number: &'a str,
    mark: char,
    time: &'a str,
    client: &'a str,
    arrow: &'a str,
    broker: &'a str,
    api: &'a str,
    version: &'a str,
    correlation: &'a str,
    size: &'a str,
    latency: &'a str,
}

impl Default for Texts<'_> {
    fn default() -> Self {
        Self {
            number: "",
            mark: ' ',
            time: "",
            client: "",
            arrow: " ",
            broker: "",
            api: "",
            version: "",
            correlation: "",
            size: "",
            latency: "",
        }
    }
}

const HEADER: Texts<'static> = Texts {
    number: "No.",
    mark: ' ',
    time: "Time",
    client: "Client",
    arrow: " ",
    broker: "Broker",
    api: "API",
    version: "Ver",
    correlation: "Corr",
    size: "Size",
    latency: "Latency",
};

#[derive(Debug, Clone, Copy, Default)]
struct Inks {
    first: Style,
    mark: Style,
    api: Style,
}

/// The widths of the columns in an area; 0: left out, for want of room.
#[derive(Debug, Clone, Copy)]
struct Columns {
    widths: Widths,
    size: u16,
    latency: u16,
}

/// Columns that a summary should have at least.
const SUMMARY: u16 = 30;

impl Columns {
    /// What matters least goes first where there is no room.
    fn new(width: u16, widths: Widths, shown: &Shown) -> Self {
        let mut widths = Widths {
            number: shown.width(Column::Number, widths.number),
            time: shown.width(Column::Time, widths.time),
            client: shown.width(Column::Client, widths.client),
            broker: shown.width(Column::Broker, widths.broker),
            api: shown.width(Column::Api, widths.api),
            version: shown.width(Column::Version, widths.version),
            correlation: shown.width(Column::Correlation, widths.correlation),
        };
        let mut columns = Self { widths, size: shown.width(Column::Size, 6), latency: shown.width(Column::Latency, 8) };
        let least = width.saturating_sub(SUMMARY);
        let is_too_wide = |columns: &Self| columns.total() > least;
        widths.client = widths.client.min(21);
        widths.broker = widths.broker.min(21);
        widths.api = widths.api.min(18);
        if is_too_wide(&columns) {
            columns.widths.correlation = 0;
        }
        if is_too_wide(&columns) {
            columns.widths = Widths { correlation: columns.widths.correlation, ..widths };
        }
        if is_too_wide(&columns) {
            columns.size = 0;
        }
        if is_too_wide(&columns) {
            columns.widths.broker = columns.widths.broker.min(6);
            columns.widths.api = columns.widths.api.min(14);
        }
        if is_too_wide(&columns) {
            columns.latency = 0;
        }
        if is_too_wide(&columns) {
            columns.widths.client = 0;
            columns.widths.broker = 0;
        }
        if is_too_wide(&columns) {
            columns.widths.time = 0;
        }
        columns
    }

    fn total(&self) -> u16 {
        let Widths { number, time, client, broker, api, version, correlation } = self.widths;
        let widths = [number + 1, time, client, broker, api, version, correlation, self.size, self.latency];
        widths.iter().map(|width| if *width > 0 { width + 1 } else { 0 }).sum::<u16>() + 2
    }

    fn write(&self, pen: &mut Pen<'_>, texts: &Texts<'_>, inks: &Inks, usual: Style) {
        let Widths { number, time, client, broker, api, version, correlation } = self.widths;
        let mut column = |text: &str, width: u16, at_right: bool, style: Style| {
            if width > 0 {
                pen.column(text, width, at_right, usual.patch(style));
            }
        };
        let mut mark = [0; 4];
        let mark: &str = texts.mark.encode_utf8(&mut mark);
        column(texts.number, number, true, inks.first);
        column(mark, 1, false, inks.mark);
        column(texts.time, time, true, inks.first);
        column(texts.client, client, false, Style::new());
        column(texts.arrow, 1, false, inks.api);
        column(texts.broker, broker, false, Style::new());
        column(texts.api, api, false, inks.api);
        column(texts.version, version, true, Style::new());
        column(texts.correlation, correlation, true, Style::new());
        column(texts.size, self.size, true, Style::new());
        column(texts.latency, self.latency, true, Style::new());
        pen.blanks(1);
    }
}

fn time_text((format, zone): (TimeFormat, &Zone), row: &Row, before: Option<Time>, start: Option<Time>) -> String {
    let seconds = |nanoseconds: i64| {
        let mut text = String::new();
        crate::output::list::seconds(&mut text, nanoseconds);
        text
    };
    let Some(time) = row.time else { return String::new() };
    match format {
        TimeFormat::Relative => seconds(start.map_or(0, |start| time.since(start))),
        TimeFormat::Delta => before.map(|before| seconds(time.since(before))).unwrap_or_default(),
        TimeFormat::Absolute => {
            let mut text = String::new();
            zone.write_time_of_day(&mut text, time);
            text
        }
    }
}
