//! The hex pane: the bytes of a frame, or of what was inflated from it, in the colours of what they are part of.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::action::Motion;
use super::opened::Opened;
use super::text::Pen;
use super::theme::Look;
use crate::dissect::Span;

/// Which bytes are shown, and which one is under the cursor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HexPane {
    pub(super) buffer: u32,
    /// The byte under the cursor.
    pub(super) cursor: u32,
    /// The first row that is shown.
    top: u32,
}

/// How the pane is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HexOptions {
    pub(super) width: HexWidth,
    pub(super) offsets: Offsets,
}

/// Bytes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum HexWidth {
    /// As many as there is room for.
    #[default]
    Fitting,
    /// So many, where there is room.
    Fixed(u32),
}

impl HexWidth {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Fitting => Self::Fixed(8),
            Self::Fixed(8) => Self::Fixed(16),
            Self::Fixed(16) => Self::Fixed(32),
            Self::Fixed(_) => Self::Fitting,
        }
    }

    /// What is said of it where so many bytes are shown in a row, if any.
    pub(super) fn name(self, shown: Option<u32>) -> String {
        match (self, shown) {
            (Self::Fitting, None) => "as many bytes a row as fit".to_owned(),
            (Self::Fitting, Some(shown)) => format!("as many bytes a row as fit: {shown}"),
            (Self::Fixed(bytes), Some(shown)) if shown < bytes => format!("{shown} bytes a row: {bytes} do not fit"),
            (Self::Fixed(bytes), _) => format!("{bytes} bytes a row"),
        }
    }
}

/// What offsets count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Offsets {
    /// The first byte of the frame, or of the buffer.
    #[default]
    Frame,
    /// The first byte of the stream.
    Stream,
    /// The first byte of the file, as far as a byte lies in one.
    File,
}

impl Offsets {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Frame => Self::Stream,
            Self::Stream => Self::File,
            Self::File => Self::Frame,
        }
    }

    /// What is said of it. What was inflated lies nowhere but in its own buffer.
    pub(super) fn name(self, is_inflated: bool) -> &'static str {
        match (self, is_inflated) {
            (Self::Frame, false) => "offsets in the frame",
            (Self::Frame, true) => "offsets in what was inflated",
            (Self::Stream, false) => "offsets in the stream",
            (Self::Stream, true) => "offsets in the stream; what was inflated has none there",
            (Self::File, false) => "offsets in the file; of a row, that of its first byte",
            (Self::File, true) => "offsets in the file; what was inflated has none there",
        }
    }
}

impl HexOptions {
    /// Bytes in a row of an area that is `columns` wide, with offsets of so many digits.
    fn bytes(self, columns: u16, digits: usize) -> u32 {
        let fits = |bytes: u32| digits + 2 + columns_of(bytes) + 1 + bytes as usize <= usize::from(columns);
        let wanted = match self.width {
            HexWidth::Fixed(bytes) => bytes,
            HexWidth::Fitting => 32,
        };
        [32, 16, 8, 4].into_iter().find(|bytes| *bytes <= wanted && fits(*bytes)).unwrap_or(4)
    }
}

/// The columns that bytes take in hexadecimal: three each, and a gap between groups of eight.
fn columns_of(bytes: u32) -> usize {
    (bytes * 3 + bytes.saturating_sub(1) / 8) as usize
}

/// The shape of the pane, as it is drawn in an area.
#[derive(Debug, Clone, Copy)]
struct Grid {
    bytes: u32,
    digits: usize,
}

impl HexPane {
    fn grid(self, opened: &Opened<'_>, area: Rect, options: HexOptions) -> Grid {
        let last = (opened.buffer(self.buffer).len() as u32).saturating_sub(1);
        let last = self.label(opened, last, options).max(self.label(opened, 0, options));
        let digits = format!("{last:x}").len().max(4).next_multiple_of(2);
        Grid { bytes: options.bytes(area.width, digits), digits }
    }

    /// How many bytes a row has in an area.
    pub(super) fn bytes_a_row(self, opened: &Opened<'_>, area: Rect, options: HexOptions) -> u32 {
        self.grid(opened, area, options).bytes
    }

    /// A byte's offset as it is shown; 0 where it has none.
    fn label(self, opened: &Opened<'_>, offset: u32, options: HexOptions) -> u64 {
        match options.offsets {
            Offsets::Stream if self.buffer == 0 => opened.stream_offset + u64::from(offset),
            Offsets::File if self.buffer == 0 => opened.file_offset(offset).unwrap_or_default(),
            _ => offset.into(),
        }
    }

    /// Shows the bytes of a node.
    pub(super) fn show(&mut self, span: Span) {
        if span.buffer != self.buffer {
            self.top = 0;
        }
        self.buffer = span.buffer;
        self.cursor = span.start;
    }

    /// Shows another buffer.
    pub(super) fn next_buffer(&mut self, opened: &Opened<'_>) {
        self.buffer = (self.buffer + 1) % opened.buffers();
        self.cursor = 0;
        self.top = 0;
    }

    /// Moves the cursor.
    pub(super) fn apply(&mut self, opened: &Opened<'_>, motion: Motion, area: Rect, options: HexOptions) {
        let len = opened.buffer(self.buffer).len() as u32;
        let row = self.grid(opened, area, options).bytes;
        let page = row * u32::from(area.height.saturating_sub(1).max(1));
        let half = row * u32::from((area.height / 2).max(1));
        let last = len.saturating_sub(1);
        let at = self.cursor;
        let back = |by: u32| if at >= by { at - by } else { at % row };
        let on = |by: u32| if last - at.min(last) >= by { at + by } else { last };
        self.cursor = match motion {
            Motion::Left => at.saturating_sub(1),
            Motion::Right => on(1),
            Motion::Up => back(row),
            Motion::Down => {
                let below = at + row;
                if below <= last { below } else { at }
            }
            Motion::PageUp => back(page),
            Motion::PageDown => on(page),
            Motion::HalfPageUp => back(half),
            Motion::HalfPageDown => on(half),
            Motion::First => 0,
            Motion::Last => last,
            Motion::LineStart => at - at % row,
            Motion::LineEnd => (at - at % row + row - 1).min(last),
        }
        .min(last);
    }

    /// Puts the cursor at an offset, counted as the offsets that are shown.
    pub(super) fn go_to(&mut self, opened: &Opened<'_>, offset: u64, options: HexOptions) -> bool {
        let at = match options.offsets {
            Offsets::Stream if self.buffer == 0 => offset.checked_sub(opened.stream_offset),
            Offsets::File if self.buffer == 0 => opened.byte_of_file(offset).map(u64::from),
            _ => Some(offset),
        };
        let len = opened.buffer(self.buffer).len() as u64;
        let at = at.filter(|at| *at < len).map(|at| at as u32);
        self.cursor = at.unwrap_or(self.cursor);
        at.is_some()
    }

    /// Moves what is shown without the cursor.
    pub(super) fn wheel(&mut self, down: bool, rows: u32, opened: &Opened<'_>, area: Rect, options: HexOptions) {
        let row = self.grid(opened, area, options).bytes;
        let all = (opened.buffer(self.buffer).len() as u32).div_ceil(row);
        let most = all.saturating_sub(area.height.into());
        self.top = if down { (self.top + rows).min(most) } else { self.top.saturating_sub(rows) };
        let (first, behind) = (self.top * row, (self.top + u32::from(area.height)) * row);
        if !(first..behind).contains(&self.cursor) {
            let column = self.cursor % row;
            let line = if self.cursor < first { first } else { behind - row };
            self.cursor = (line + column).min((opened.buffer(self.buffer).len() as u32).saturating_sub(1));
        }
    }

    /// Puts the cursor on the byte that is drawn at a place of the area. Whether there is one.
    pub(super) fn click(
        &mut self,
        opened: &Opened<'_>,
        (column, row): (u16, u16),
        area: Rect,
        options: HexOptions,
    ) -> bool {
        let grid = self.grid(opened, area, options);
        let x = usize::from(column);
        let hex = grid.digits + 2;
        let text = hex + columns_of(grid.bytes) + 1;
        let at = (0..grid.bytes).find(|at| {
            let start = hex + columns_of(*at + 1) - 3;
            (start..start + 3).contains(&x) || text + *at as usize == x
        });
        let offset = at.map(|at| (self.top + u32::from(row)) * grid.bytes + at);
        let offset = offset.filter(|offset| *offset < opened.buffer(self.buffer).len() as u32);
        self.cursor = offset.unwrap_or(self.cursor);
        offset.is_some()
    }

    /// Draws the rows that are in sight, without the bytes of secrets that are not shown; `selected` is the node whose bytes stand out.
    pub(super) fn draw(
        &mut self,
        opened: &Opened<'_>,
        selected: u32,
        area: Rect,
        screen: &mut Buffer,
        options: HexOptions,
        (look, has_keys): (Look, bool),
    ) {
        let bytes = opened.buffer(self.buffer);
        let grid = self.grid(opened, area, options);
        let height = u32::from(area.height.max(1));
        let rows = (bytes.len() as u32).div_ceil(grid.bytes);
        let cursor_row = self.cursor / grid.bytes;
        self.top = self.top.min(rows.saturating_sub(height));
        self.top = self.top.min(cursor_row).max((cursor_row + 1).saturating_sub(height));
        let mine = |span: &Span| span.buffer == self.buffer;
        let span = opened.span(selected).filter(mine);
        let around = opened.parent(selected).and_then(|parent| opened.span(parent)).filter(mine);
        let mut secrets = Secrets { opened, last: None };
        for (y, row) in (area.y..area.bottom()).zip(self.top..rows) {
            let start = row * grid.bytes;
            let line = bytes.get(start as usize..).unwrap_or_default();
            let line = line.get(..grid.bytes as usize).unwrap_or(line);
            let mut pen = Pen::new(screen, Rect { y, height: 1, ..area });
            pen.put(&format!("{:0digits$x}  ", self.label(opened, start, options), digits = grid.digits), look.faint());
            let leaves: Vec<Option<u32>> = (start..).zip(line).map(|(at, _)| opened.node_at(self.buffer, at)).collect();
            let hidden: Vec<bool> = leaves.iter().map(|leaf| leaf.is_some_and(|leaf| secrets.holds(leaf))).collect();
            let styles: Vec<Style> = (start..)
                .zip(&leaves)
                .map(|(at, leaf)| {
                    let region = leaf.map_or(Style::new(), |leaf| look.region(opened.region(leaf)));
                    let holds = |span: Option<Span>| span.is_some_and(|span| (span.start..span.end()).contains(&at));
                    match () {
                        () if has_keys && at == self.cursor => region.patch(look.byte_cursor()),
                        () if holds(span) => region.patch(look.bytes()),
                        () if holds(around) => region.patch(look.bytes_around()),
                        () => region,
                    }
                })
                .collect();
            for (at, ((byte, style), hidden)) in line.iter().zip(&styles).zip(&hidden).enumerate() {
                let text = if *hidden { "**".to_owned() } else { format!("{byte:02x}") };
                pen.put(&text, *style);
                // The gap belongs to both bytes when they belong together.
                let next =
                    styles.get(at + 1).filter(|next| next.bg == style.bg && next.add_modifier == style.add_modifier);
                let gap = if (at + 1) % 8 == 0 { "  " } else { " " };
                pen.put(gap, next.map_or(Style::new(), |_| Style { fg: None, ..*style }));
            }
            let used = columns_of(line.len() as u32) + usize::from(line.len() % 8 == 0 && !line.is_empty());
            pen.blanks((columns_of(grid.bytes) + 1).saturating_sub(used) as u16);
            for ((byte, style), hidden) in line.iter().zip(&styles).zip(&hidden) {
                let text = match byte {
                    _ if *hidden => '*',
                    b' '..=b'~' => char::from(*byte),
                    _ => '.',
                };
                pen.put(text.encode_utf8(&mut [0; 4]), *style);
            }
        }
    }
}

/// Which leaves are secrets that are not shown.
struct Secrets<'o, 'p> {
    opened: &'o Opened<'p>,
    /// The leaf that was looked at last.
    last: Option<(u32, bool)>,
}

impl Secrets<'_, '_> {
    fn holds(&mut self, leaf: u32) -> bool {
        match self.last {
            Some((last, is_secret)) if last == leaf => is_secret,
            _ => {
                let is_secret = self.opened.holds_secret(leaf);
                self.last = Some((leaf, is_secret));
                is_secret
            }
        }
    }
}
