//! The screen as it is drawn.

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::symbols;
use unicode_width::UnicodeWidthStr;

use super::action::ACTIONS;
use super::app::{App, Mode};
use super::layout::Pane;
use super::list::ListOptions;
use super::text::{Pen, tail};
use super::theme::Look;
use super::{detail, help, take};
use crate::output::odd::{counted, tls_notes};
use crate::output::table::{harmless, wrap};

impl App<'_, '_> {
    /// Draws everything into a buffer that is as large as the screen. Gives the place of the cursor, if it is to be seen.
    pub(super) fn draw(&mut self, buffer: &mut Buffer) -> Option<Position> {
        let screen = buffer.area;
        self.areas = self.layout.areas(screen, self.focus, self.lower);
        let is_first = self.list.all == 0;
        self.refresh(true);
        if is_first && self.list.all > 0 {
            // The first messages have come.
            self.refresh(true);
        }
        self.draw_bar(self.areas.bar, buffer);
        self.draw_list(buffer);
        self.draw_tree(buffer);
        self.draw_hex(buffer);
        let divider = self.areas.divider;
        for y in divider.top()..divider.bottom() {
            let line = if y == divider.top() { symbols::line::HORIZONTAL_DOWN } else { symbols::line::VERTICAL };
            buffer.set_string(divider.x, y, line, self.look.faint());
        }
        detail::draw(self, self.areas.detail, buffer);
        let cursor = self.draw_foot(self.areas.foot, buffer);
        if let Mode::Help(help) = &mut self.mode {
            help::draw(help, &self.keymap, screen, buffer, self.look);
        }
        if let Mode::Menu(menu) = &self.mode {
            take::draw(self, menu, screen, buffer);
        }
        cursor
    }

    /// What is read, how much of it, what is odd; where we are.
    fn draw_bar(&self, area: Rect, buffer: &mut Buffer) {
        buffer.set_style(area, self.look.bar());
        let mut right = String::new();
        let row = (self.list.scroll.cursor + 1).min(self.list.len());
        if self.list.len() > 0 || self.filter.is_some() {
            right = format!("{row}/{}", self.list.len());
        }
        if let Some(filter) = &self.filter {
            right = format!("{right} of {}  filter: {}", self.list.all, harmless(filter));
        }
        right.push_str(match (self.paused, self.follow) {
            (true, _) => "  paused ",
            (_, true) => "  following ",
            _ => " ",
        });
        let room = usize::from(area.width).saturating_sub(right.width() + 3);
        let mut pieces = self.facts();
        let width = |pieces: &[Fact]| pieces.iter().map(|fact| 2 + fact.text.width()).sum::<usize>();
        // What matters least goes first where there is no room, and goes whole.
        while self.subject.name.width() + width(&pieces) > room
            && let Some(least) = (0..pieces.len()).min_by_key(|at| pieces.get(*at).map(|fact| fact.rank))
        {
            pieces.remove(least);
        }
        let mut pen = Pen::new(buffer, area);
        pen.keep_right(right.width() as u16 + 1);
        pen.put(" ", Style::new());
        // The end of a path says more than its beginning.
        if self.subject.name.width() > room {
            pen.put("…", self.look.heading());
            pen.put(tail(&self.subject.name, room.saturating_sub(1)), self.look.heading());
        } else {
            pen.put(&self.subject.name, self.look.heading());
        }
        for fact in pieces {
            pen.put("  ", Style::new());
            pen.put(&fact.text, fact.style);
        }
        pen.right(&right, Style::new());
    }

    /// What the bar says of the capture.
    fn facts(&self) -> Vec<Fact> {
        let (look, status) = (self.look, &self.status);
        let mut facts =
            vec![Fact { rank: 6, text: counted(self.list.all, "message", "messages"), style: Style::new() }];
        // Others than those of Kafka are not counted, so none is said beside them.
        let connections = status.conversation.connections;
        if connections > 0 {
            facts.push(Fact { rank: 1, text: counted(connections, "connection", "connections"), style: Style::new() });
        }
        let saving = self.taking.progress().map(|(done, all)| format!("saving {}", progress(done, all)));
        let seeking = || self.is_seeking().then(|| progress(self.sought, self.list.all));
        let reading = || match status.total.filter(|total| *total > 0) {
            _ if status.finished => None,
            Some(total) => Some(progress(status.bytes, total)),
            None => Some("live".to_owned()),
        };
        if let Some(text) = saving.or_else(seeking).or_else(reading) {
            facts.push(Fact { rank: 10, text, style: look.heading() });
        }
        if let Some(rate) = &self.rate {
            facts.push(Fact { rank: 7, text: rate.text(), style: Style::new() });
        }
        if let Some(file) = &self.subject.recording {
            let text = format!("recording to {}", harmless(file));
            facts.push(Fact { rank: 2, text, style: Style::new() });
        }
        let odd = [
            (9, status.drops, "dropped", "dropped"),
            (8, status.faulty, "fault", "faults"),
            (5, status.conversation.cut, "cut", "cut"),
            (4, status.streams.gaps, "gap", "gaps"),
            (3, status.conversation.guessed, "guess", "guesses"),
        ];
        for (rank, count, one, many) in odd.into_iter().filter(|(_, count, ..)| *count > 0) {
            facts.push(Fact { rank, text: counted(count, one, many), style: look.odd() });
        }
        if !status.troubles.is_empty() {
            facts.push(Fact { rank: 8, text: "damaged".to_owned(), style: look.odd() });
        }
        let (without_keys, closed) = (status.tls.without_keys, status.tls.closed());
        for (count, what) in [(without_keys, "TLS without keys"), (closed - without_keys, "TLS not readable")] {
            if count > 0 {
                facts.push(Fact { rank: 2, text: format!("{count} {what}"), style: Style::new() });
            }
        }
        facts
    }

    /// The pair of the selected message. One that is not there is looked for in many pages, so not for every draw.
    fn partner_of(&mut self, number: u64) -> Option<u64> {
        let all = self.list.all;
        if let Some((of, before, partner)) = self.partner
            && of == number
            && (before == all || partner.is_some())
        {
            return partner;
        }
        let partner = self.book.pair(number);
        self.partner = Some((number, all, partner));
        partner
    }

    fn draw_list(&mut self, buffer: &mut Buffer) {
        let partner = self.list.selected().and_then(|number| self.partner_of(number));
        let marks: HashMap<u64, char> = self.marks.iter().map(|(letter, number)| (*number, *letter)).collect();
        let options = ListOptions {
            look: self.look,
            has_keys: self.focus == Pane::List,
            time: self.time,
            zone: &self.zone,
            start: self.status.first,
            partner,
            marks: &marks,
        };
        if self.list.len() == 0 {
            // Where only one pane is shown, it is said there.
            let panes = [self.areas.list, self.areas.tree, self.areas.hex];
            if let Some(area) = panes.into_iter().find(|area| !area.is_empty()) {
                let has_keys = self.focus == Pane::List && area == self.areas.list;
                let lines = wrap(&self.nothing(), usize::from(area.width).saturating_sub(1), 0);
                for (at, (y, line)) in (area.y..area.bottom()).zip(lines).enumerate() {
                    let mut pen = Pen::new(buffer, Rect { y, height: 1, ..area });
                    pen.put(if has_keys && at == 0 { KEYS } else { " " }, self.look.heading_with_keys());
                    pen.put(&line, self.look.faint());
                }
            }
            return;
        }
        self.list.draw(self.areas.list, buffer, &options);
    }

    /// Why there are no messages.
    fn nothing(&self) -> String {
        let why = match (self.status.finished, self.list.wanted.is_some()) {
            (true, true) if self.is_seeking() => "no message passes the filter so far; Esc leaves it",
            (true, true) => "no message passes the filter; Esc leaves it",
            (true, false) => "no Kafka messages found",
            (false, true) => "no message passes the filter yet; Esc leaves it",
            (false, false) if !self.status.opened => "waiting for input",
            (false, false) => "no messages yet",
        };
        let notes =
            if self.list.wanted.is_some() { Vec::new() } else { tls_notes(&self.status.tls, self.subject.has_keys) };
        [vec![why.to_owned()], notes].concat().join(", ")
    }

    fn draw_tree(&mut self, buffer: &mut Buffer) {
        let has_keys = self.focus == Pane::Tree;
        let Some(view) = &mut self.view else {
            draw_title(&[("tree", None)], self.areas.tree_title, buffer, self.look, has_keys);
            return;
        };
        // Where there is no room for all, the number says enough.
        let heading = &view.opened.heading;
        let is_cut = heading.chars().count() + 4 > usize::from(self.areas.tree_title.width);
        let number = format!("#{}", view.opened.number);
        let heading = if is_cut { &number } else { heading };
        draw_title(&[(heading, None)], self.areas.tree_title, buffer, self.look, has_keys);
        view.tree.draw(&view.opened, self.areas.tree, buffer, self.look, has_keys);
    }

    fn draw_hex(&mut self, buffer: &mut Buffer) {
        let has_keys = self.focus == Pane::Hex;
        let Some(view) = &mut self.view else {
            draw_title(&[("bytes", None)], self.areas.hex_title, buffer, self.look, has_keys);
            return;
        };
        let buffers = view.opened.buffers();
        let chosen = |number: u32| (buffers > 1).then_some(number == view.hex.buffer);
        let title_of = |number: u32| {
            let name = if number == 0 { "frame".to_owned() } else { format!("inflated #{number}") };
            if chosen(number) == Some(true) { format!("[{name}]") } else { name }
        };
        let names: Vec<String> = (0..buffers).map(title_of).collect();
        let names: Vec<_> = (0..).zip(&names).map(|(number, name)| (name.as_str(), chosen(number))).collect();
        // The chosen one must be in sight, however many there are.
        let skipped = (view.hex.buffer as usize).saturating_sub(3).min(names.len().saturating_sub(1));
        let names = names.get(skipped..).unwrap_or_default();
        draw_title(names, self.areas.hex_title, buffer, self.look, has_keys);
        let selected = view.tree.selected();
        view.hex.draw(&view.opened, selected, self.areas.hex, buffer, self.hex, (self.look, has_keys));
    }

    /// What was said last, or what is typed, or the keys that matter here. Gives the place of the cursor.
    fn draw_foot(&self, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let mut pen = Pen::new(buffer, area);
        pen.put(" ", Style::new());
        match (&self.mode, &self.notice) {
            (Mode::Prompt(prompt), _) => {
                let (label, (before, behind)) = (prompt.question.label(), prompt.parts());
                // What is typed matters more than what was asked.
                if label.len() + PROMPT <= usize::from(area.width) {
                    pen.put(label, self.look.heading());
                }
                let style = if prompt.is_old() { self.look.selected(true) } else { Style::new() };
                // The cursor stands behind it.
                let room = usize::from(pen.room()).saturating_sub(1);
                if before.width() <= room {
                    pen.put(before, style);
                } else {
                    pen.put("…", self.look.faint());
                    pen.put(tail(before, room.saturating_sub(1)), style);
                }
                let x = area.right() - pen.room();
                pen.put(behind, Style::new());
                return Some(Position::new(x, area.y));
            }
            (Mode::Mark { go }, _) => {
                let text = if *go { "go to the mark: a letter" } else { "mark this message: a letter" };
                pen.put(text, self.look.heading());
            }
            (Mode::Overwrite(target), _) => {
                pen.put(&format!("{target} is there already; overwrite it? y/n"), self.look.odd());
            }
            (_, Some(notice)) => {
                pen.put(&notice.text, if notice.is_error { self.look.odd() } else { Style::new() });
            }
            _ => {
                let mut hints: Vec<_> = ACTIONS.iter().filter_map(|entry| Some((entry.action, entry.hint?))).collect();
                hints.sort_by_key(|(_, (rank, _))| *rank);
                for (action, (_, hint)) in hints {
                    let Some(key) = self.keymap.keys_of(action).into_iter().next() else { continue };
                    if usize::from(pen.room()) < key.len() + hint.len() + 3 {
                        break;
                    }
                    pen.put(&key, self.look.heading());
                    pen.put(" ", Style::new());
                    pen.put(hint, self.look.faint());
                    pen.put("  ", Style::new());
                }
            }
        }
        None
    }
}

/// Columns that a text that is typed has at least, or else the question is left out.
const PROMPT: usize = 20;

/// What stands in front of the title of the pane that has the keys. Fonts of consoles have it, as they have double lines.
pub(super) const KEYS: &str = "►";

/// A line with names in it, as `─ frame ─ [inflated #1] ───`; of several, one is chosen. Where the pane has the keys, it is
/// `► frame ═══`.
pub(super) fn draw_title(names: &[(&str, Option<bool>)], area: Rect, buffer: &mut Buffer, look: Look, has_keys: bool) {
    if area.is_empty() {
        return;
    }
    let (line, style) = if has_keys {
        (symbols::line::DOUBLE_HORIZONTAL, look.heading_with_keys())
    } else {
        (symbols::line::HORIZONTAL, look.heading())
    };
    let mut pen = Pen::new(buffer, area);
    for (at, (name, chosen)) in names.iter().enumerate() {
        let (sign, sign_style) = if has_keys && at == 0 { (KEYS, style) } else { (line, look.faint()) };
        pen.put(sign, sign_style);
        pen.put(" ", Style::new());
        pen.put(name, if *chosen == Some(false) { look.faint() } else { style });
        pen.put(" ", Style::new());
    }
    for _ in 0..pen.room() {
        pen.put(line, look.faint());
    }
}

/// Something that the bar says, and how much it matters: what has the lowest rank is left out first.
struct Fact {
    rank: u8,
    text: String,
    style: Style,
}

/// `[#####-----]  50 %`, always in as many columns.
fn progress(read: u64, total: u64) -> String {
    let percent = (u128::from(read) * 100 / u128::from(total.max(1))).min(100) as usize;
    let full = percent / 10;
    format!("[{}{}] {percent:>3} %", "#".repeat(full), "-".repeat(10 - full))
}
