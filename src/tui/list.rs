//! The list pane: one row a message.

use std::borrow::Cow;
use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::draw::KEYS;
use super::rows::Row;
use super::scroll::Scroll;
use super::text::{Pen, tail};
use super::theme::Look;
use crate::capture::Time;
use crate::output::list::{ROOM_FOR_CORRELATION, ROOM_FOR_LATENCY, ROOM_FOR_SIZE};
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
    /// The sign of what is odd, and where there are marks of the reader, their letters.
    mark: u16,
    time: u16,
    client: u16,
    broker: u16,
    api: u16,
    version: u16,
    correlation: u16,
}

impl Default for Widths {
    fn default() -> Self {
        Self { number: 4, mark: 1, time: 8, client: 9, broker: 6, api: 12, version: 3, correlation: 4 }
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

    /// Draws the names of columns and the rows in sight. A sign in front says that the pane has the keys. `partner` is the other message of the selected one's exchange.
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer, options: &ListOptions<'_>) {
        let widths = &mut self.widths;
        widths.number = widths.number.max(format!("{}", self.all).len() as u16);
        widths.mark = if options.marks.is_empty() { 1 } else { 2 };
        let columns = Columns::new(area.width, *widths, &self.columns);
        let mut pen = Pen::new(buffer, Rect { height: area.height.min(1), ..area });
        let heading = if options.has_keys { options.look.heading_with_keys() } else { options.look.heading() };
        columns.write(&mut pen, &HEADER, &Inks::default(), heading);
        pen.put("Summary", heading);
        if options.has_keys && !area.is_empty() {
            buffer.set_string(area.x, area.y, KEYS, heading);
        }
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
        let mut mark = if row.notes.is_empty() { " " } else { "!" }.to_owned();
        mark.extend(options.marks.get(&number));
        let texts = Texts {
            number: &text,
            mark: &mark,
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
        write_summary(&mut pen, row, look);
    }
}

/// Writes errors, what the rule says, what is odd, and comments. As in `kafkascope list`, what is odd is kept where there is
/// no room for all.
fn write_summary(pen: &mut Pen<'_>, row: &Row, look: Look) {
    let room = pen.room();
    let width = |text: &str| text.width().min(room.into()) as u16;
    let is_odd = !row.notes.is_empty();
    let both = width(&row.errors).saturating_add(width(&row.summary));
    let mut left = room;
    if is_odd {
        left = room.saturating_sub(width(&row.notes).saturating_add(SIGN + BETWEEN));
        if left < both.saturating_add(BETWEEN) && left < LEAST_PIECE {
            left = 0;
        }
    }
    let mut is_first = left == 0 || both == 0;
    pen.keep_right(room - left);
    pen.put(&row.errors, look.error());
    pen.put(if row.errors.is_empty() || row.summary.is_empty() { "" } else { ", " }, Style::new());
    pen.put(&row.summary, Style::new());
    pen.keep_right(0);
    if is_odd {
        pen.put(if is_first { "" } else { "; " }, Style::new());
        pen.put("! ", look.odd());
        pen.put(&row.notes, look.odd());
        is_first = false;
    }
    // A comment is what somebody thought of it, so it is set apart. Where there is no room, its sign says that there is one.
    if !row.comment.is_empty() && (is_first || pen.room() >= BETWEEN + SIGN) {
        pen.put(if is_first { "" } else { "  " }, Style::new());
        pen.put(&format!("# {}", row.comment), look.heading());
    }
}

/// Columns of `! ` and `# `.
const SIGN: u16 = 2;
/// Columns of what stands between pieces.
const BETWEEN: u16 = 2;
/// Columns that a piece has at least, or else it is left out.
const LEAST_PIECE: u16 = 8;

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
    mark: &'a str,
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
            mark: "",
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
    mark: "",
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

/// Columns that a summary has, where the others can be made narrower for it.
const SUMMARY: u16 = 30;
/// How narrow they are made.
const LEAST: Widths =
    Widths { number: 0, mark: 0, time: 0, client: 15, broker: 13, api: 14, version: 0, correlation: 0 };

impl Column {
    /// The width of the window from which on there is room for the column, whatever is in it; as in `kafkascope list`
    /// where that has such widths.
    fn least_window(self) -> usize {
        match self {
            Self::Number | Self::Api | Self::Version => 0,
            Self::Time => 56,
            Self::Client | Self::Broker => 92,
            Self::Latency => ROOM_FOR_LATENCY,
            Self::Size => ROOM_FOR_SIZE,
            Self::Correlation => ROOM_FOR_CORRELATION,
        }
    }
}

impl Columns {
    /// Which columns there are is told by the width of the window alone; so none comes or goes with what is in sight.
    fn new(window: u16, widths: Widths, shown: &Shown) -> Self {
        let width = |column: Column, width: u16| {
            let has_room = usize::from(window) >= column.least_window();
            if has_room && shown.0.contains(&column) { width } else { 0 }
        };
        let mut columns = Self {
            widths: Widths {
                number: width(Column::Number, widths.number),
                mark: widths.mark,
                time: width(Column::Time, widths.time),
                client: width(Column::Client, widths.client),
                broker: width(Column::Broker, widths.broker),
                api: width(Column::Api, widths.api),
                version: width(Column::Version, widths.version),
                correlation: width(Column::Correlation, widths.correlation),
            },
            size: width(Column::Size, 6),
            latency: width(Column::Latency, 8),
        };
        let mut over = (columns.total() + SUMMARY).saturating_sub(window);
        let Widths { client, broker, api, .. } = &mut columns.widths;
        for (column, least) in [(api, LEAST.api), (broker, LEAST.broker), (client, LEAST.client)] {
            let cut = column.saturating_sub(least).min(over);
            *column -= cut;
            over -= cut;
        }
        columns
    }

    fn total(&self) -> u16 {
        let Widths { number, mark, time, client, broker, api, version, correlation } = self.widths;
        let widths = [number, mark, time, client, broker, api, version, correlation, self.size, self.latency];
        // The arrow takes two, and there is a blank before the summary.
        widths.iter().map(|width| if *width > 0 { width + 1 } else { 0 }).sum::<u16>() + 3
    }

    fn write(&self, pen: &mut Pen<'_>, texts: &Texts<'_>, inks: &Inks, usual: Style) {
        let Widths { number, mark, time, client, broker, api, version, correlation } = self.widths;
        let mut column = |text: &str, width: u16, at_right: bool, style: Style| {
            if width > 0 {
                pen.column(text, width, at_right, usual.patch(style));
            }
        };
        column(texts.number, number, true, inks.first);
        column(texts.mark, mark, false, inks.mark);
        column(texts.time, time, true, inks.first);
        column(&end(texts.client, client), client, false, Style::new());
        column(texts.arrow, 1, false, inks.api);
        column(&end(texts.broker, broker), broker, false, Style::new());
        column(texts.api, api, false, inks.api);
        column(texts.version, version, true, Style::new());
        column(texts.correlation, correlation, true, Style::new());
        column(texts.size, self.size, true, Style::new());
        column(texts.latency, self.latency, true, Style::new());
        pen.blanks(1);
    }
}

/// An address in so many columns: its end tells it from others.
fn end(address: &str, width: u16) -> Cow<'_, str> {
    if address.width() <= usize::from(width) {
        return address.into();
    }
    format!("…{}", tail(address, usize::from(width).saturating_sub(1))).into()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is in them, and whatever was: columns are there or not by the width of the window, and the summary has its
    /// room where the others can give it.
    #[test]
    fn columns_do_not_come_and_go() {
        let wide =
            Widths { number: 9, mark: 1, time: 18, client: 47, broker: 47, api: 26, version: 3, correlation: 11 };
        let names = |columns: &Columns| {
            let Widths { number, time, client, broker, api, version, correlation, .. } = columns.widths;
            let all = [number, time, client, broker, api, version, correlation, columns.size, columns.latency];
            all.map(|width| width > 0)
        };
        let shown = Shown::default();
        let mut before = [false; 9];
        for window in 0..300 {
            let [usual, full] = [Widths::default(), wide].map(|widths| Columns::new(window, widths, &shown));
            assert_eq!(names(&usual), names(&full), "{window}");
            // A wider window has no less.
            assert!(names(&usual).iter().zip(before).all(|(now, before)| *now >= before), "{window}");
            before = names(&usual);
            let is_least = full.widths.api == LEAST.api || full.total() + SUMMARY <= window;
            assert!(window < 42 || is_least, "{window} {full:?}");
            assert!(window < 80 || usual.total() + SUMMARY <= window, "{window} {usual:?}");
        }
        assert_eq!(before, [true; 9]);
    }

    #[test]
    fn of_addresses_the_end_is_shown() {
        assert_eq!(end("10.0.0.2:9092", 13), "10.0.0.2:9092");
        assert_eq!(end("192.168.10.2:9092", 13), "…68.10.2:9092");
    }
}
