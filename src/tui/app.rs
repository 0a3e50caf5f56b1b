//! The state of the screen, and what each key does to it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ratatui::layout::{Position, Rect};

use super::action::{Action, Motion};
use super::config::Config;
use super::decoder::{Answer, Decoder};
use super::help::Help;
use super::hex::{HexOptions, HexPane};
use super::keys::{Key, Keymap, Pressed};
use super::layout::{Areas, Arrangement, Layout, Pane};
use super::list::{ListPane, TimeFormat};
use super::mouse::Drag;
use super::opened::Opened;
use super::pattern::Pattern;
use super::piped::{Do, Piped, Stage};
use super::prompt::{Prompt, Question, Typed};
use super::rate::Rate;
use super::seeker::Seeker;
use super::take::{Menu, Taker, Taking, Target};
use super::terminal::Subject;
use super::theme::Look;
use super::tree::TreePane;
use crate::book::{Book, Status, Step};
use crate::dissect::Opening;
use crate::output::table::harmless;
use crate::output::zone::Zone;

/// The screen.
pub(super) struct App<'b, 'p> {
    pub(super) book: &'b Book<'p>,
    pub(super) opening: Opening<'p>,
    pub(super) status: Status,
    /// How fast messages come, while it is not known how many will.
    pub(super) rate: Option<Rate>,
    pub(super) piped: Piped,
    pub(super) subject: Subject,
    pub(super) decoder: Decoder<'p>,
    pub(super) keymap: Keymap,
    pub(super) look: Look,
    pub(super) layout: Layout,
    pub(super) areas: Areas,
    pub(super) focus: Pane,
    /// The pane below the list that had the keys last.
    pub(super) lower: Pane,
    pub(super) list: ListPane,
    pub(super) view: Option<View<'p>>,
    /// The message whose tree is wanted.
    pub(super) wanted: Option<u64>,
    /// The message that was selected last, also where none is now.
    pub(super) last: Option<u64>,
    /// The message that is wanted, when it cannot be read.
    pub(super) unreadable: Option<u64>,
    pub(super) time: TimeFormat,
    /// The zone of times of day.
    pub(super) zone: Zone,
    pub(super) hex: HexOptions,
    pub(super) mode: Mode,
    /// Something to tell, until the next key.
    pub(super) notice: Option<Notice>,
    pub(super) marks: HashMap<char, u64>,
    /// The message that was selected when the screen was drawn last, how many there were, and the selected one's pair.
    pub(super) partner: Option<(u64, u64, Option<u64>)>,
    /// Messages that were left by a jump.
    pub(super) history: Vec<u64>,
    /// The field that was looked at last: the root's name and the names down to it.
    pub(super) field: Option<(String, Vec<String>)>,
    /// Where in the next message that is opened the tree goes.
    pub(super) goal: Option<(u64, Goal)>,
    pub(super) seeker: Seeker,
    pub(super) taking: Taking,
    /// What was searched for last.
    pub(super) pattern: Option<(String, Pattern)>,
    /// What the messages that are listed have passed.
    pub(super) filter: Option<String>,
    /// Where the search that goes on began: the message, the node in it, and whether it goes forward.
    pub(super) search_from: Option<(u64, Option<u32>, bool)>,
    /// How many messages were looked through.
    pub(super) sought: u64,
    /// The message to stay at while a filter fills the list.
    pub(super) anchor: Option<u64>,
    pub(super) follow: bool,
    /// Whether what comes is left out of sight for now.
    pub(super) paused: bool,
    /// What the terminal is asked to do.
    pub(super) request: Option<Request>,
    pub(super) has_mouse: bool,
    pub(super) drag: Option<Drag>,
}

/// A message that is open, and what is looked at of it.
#[derive(Debug)]
pub(super) struct View<'p> {
    pub(super) opened: Opened<'p>,
    pub(super) tree: TreePane,
    pub(super) hex: HexPane,
}

/// A node of a message that is not open yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Node(u32),
    /// The first fault, or the last.
    Fault(Step),
}

/// What keys mean.
#[derive(Debug)]
pub(super) enum Mode {
    /// What the table says.
    Usual,
    /// A letter for a mark.
    Mark { go: bool },
    /// Text that is typed.
    Prompt(Prompt),
    /// The help is open.
    Help(Help),
    /// A letter of a menu.
    Menu(Menu),
    /// Whether a file is to be overwritten.
    Overwrite(Target),
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    /// Whether something did not work.
    pub(super) is_error: bool,
}

/// What only the terminal can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Quit,
    Suspend,
    Redraw,
    Mouse(bool),
    /// Puts bytes into the clipboard.
    Clipboard(Vec<u8>),
}

impl<'b, 'p> App<'b, 'p> {
    pub(super) fn new(
        book: &'b Book<'p>,
        opening: Opening<'p>,
        subject: Subject,
        (decoder, seeker, taker): (Decoder<'p>, Seeker, Taker),
        (keymap, look): (Keymap, Look),
    ) -> Self {
        Self {
            book,
            opening,
            status: Status::default(),
            rate: None,
            piped: Piped::default(),
            subject,
            decoder,
            keymap,
            look,
            layout: Layout::default(),
            areas: Areas::default(),
            focus: Pane::List,
            lower: Pane::Tree,
            list: ListPane::default(),
            view: None,
            wanted: None,
            last: None,
            unreadable: None,
            time: TimeFormat::default(),
            zone: Zone::utc(),
            hex: HexOptions::default(),
            mode: Mode::Usual,
            notice: None,
            marks: HashMap::new(),
            partner: None,
            history: Vec::new(),
            field: None,
            goal: None,
            seeker,
            taking: Taking::new(taker),
            pattern: None,
            filter: None,
            search_from: None,
            sought: 0,
            anchor: None,
            follow: false,
            paused: false,
            request: None,
            has_mouse: true,
            drag: None,
        }
    }

    /// Begins as the reader has set it.
    pub(super) fn configure(&mut self, config: &Config) {
        self.time = config.time;
        self.layout.arrangement = config.arrangement;
        self.layout.detail = config.detail;
        self.hex.width = config.hex_width;
        self.has_mouse = config.mouse;
        self.list.columns.clone_from(&config.columns);
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: Key) {
        self.piped.touch();
        self.notice = None;
        self.anchor = None;
        match &mut self.mode {
            Mode::Usual => match self.keymap.press(key) {
                Pressed::Action(action) => self.act(action),
                Pressed::Begun | Pressed::Nothing => {}
            },
            Mode::Mark { go } => {
                let go = *go;
                self.mode = Mode::Usual;
                if let Some(letter) = key.letter() {
                    self.mark(letter, go);
                }
            }
            Mode::Help(_) => self.key_in_help(key),
            Mode::Prompt(_) => self.key_in_prompt(key),
            Mode::Menu(_) => self.key_in_menu(key),
            Mode::Overwrite(_) => self.key_in_overwrite(key),
        }
    }

    fn key_in_help(&mut self, key: Key) {
        let Mode::Help(help) = &mut self.mode else { return };
        let action = match self.keymap.press(key) {
            Pressed::Action(action) => action,
            Pressed::Begun => return,
            Pressed::Nothing => {
                self.mode = Mode::Usual;
                return;
            }
        };
        match action {
            // What goes left or right moves nothing here.
            Action::Move(Motion::Left | Motion::Right) => self.mode = Mode::Usual,
            Action::Move(motion) => help.apply(motion),
            _ => self.mode = Mode::Usual,
        }
    }

    /// Does what a key is bound to.
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Move(motion) => self.motion(motion),
            Action::NextPane => self.give_keys(self.focus.next()),
            Action::PreviousPane => self.give_keys(self.focus.next().next()),
            Action::Open => self.open(),
            Action::Toggle => self.toggle(false),
            Action::ToggleAll => self.toggle(true),
            Action::Escape => self.escape(),
            Action::Back => self.back(),
            Action::GoTo if self.focus == Pane::Hex => self.ask(Question::Offset, ""),
            Action::GoTo => self.ask(Question::Message, ""),
            Action::NextMessage => self.step(Motion::Down),
            Action::PreviousMessage => self.step(Motion::Up),
            Action::Pair => self.pair(),
            Action::NextFault => self.fault(Step::Forward),
            Action::PreviousFault => self.fault(Step::Backward),
            Action::NextInConnection => self.in_connection(Step::Forward),
            Action::PreviousInConnection => self.in_connection(Step::Backward),
            Action::SetMark => self.mode = Mode::Mark { go: false },
            Action::GoToMark => self.mode = Mode::Mark { go: true },
            Action::Zoom => self.layout.zoomed = !self.layout.zoomed,
            Action::CycleLayout => self.cycle_layout(),
            Action::Narrower => self.resize_tree(-40),
            Action::Wider => self.resize_tree(40),
            Action::Taller => self.resize_list(50),
            Action::Shorter => self.resize_list(-50),
            Action::Detail => self.layout.detail = !self.layout.detail,
            Action::NextBuffer => self.next_buffer(),
            Action::HexWidth => {
                self.hex.width = self.hex.width.next();
                let view = self.view.as_ref().filter(|_| !self.areas.hex.is_empty());
                let shown = view.map(|view| view.hex.bytes_a_row(&view.opened, self.areas.hex, self.hex));
                self.tell(self.hex.width.name(shown));
            }
            Action::Offsets => {
                self.hex.offsets = self.hex.offsets.next();
                let is_inflated = self.view.as_ref().is_some_and(|view| view.hex.buffer > 0);
                self.tell(self.hex.offsets.name(is_inflated));
            }
            Action::TimeFormat => {
                self.time = self.time.next();
                self.list.forget();
                self.tell(self.time.name(&self.zone));
            }
            Action::Mouse => {
                self.has_mouse = !self.has_mouse;
                self.request = Some(Request::Mouse(self.has_mouse));
                let whose = if self.has_mouse { "the mouse works here" } else { "the mouse is the terminal's" };
                self.tell(whose);
            }
            Action::Follow if self.paused => {
                // The newest message is not in sight while what comes is held back.
                self.paused = false;
                self.take_status();
                self.set_follow(true);
            }
            Action::Follow => self.set_follow(!self.follow),
            Action::Help => self.mode = Mode::Help(Help::default()),
            Action::Redraw => self.request = Some(Request::Redraw),
            Action::Suspend => self.request = Some(Request::Suspend),
            Action::Cancel if self.is_seeking() || self.taking.taker.is_busy() => self.stop(),
            Action::Cancel | Action::Quit => self.request = Some(Request::Quit),
            Action::Search => self.ask(Question::Search, ""),
            Action::SearchNext => self.search(true),
            Action::SearchPrevious => self.search(false),
            Action::Filter => {
                let text = self.filter.clone().unwrap_or_default();
                self.ask(Question::Filter, &text);
            }
            Action::Copy => self.ask_copy(),
            Action::Save => self.ask_save(),
            Action::Pause => {
                self.paused = !self.paused;
                self.tell(match (self.paused, self.status.finished) {
                    (true, true) => "paused; nothing more will come",
                    (true, false) => "paused; what comes is kept",
                    (false, _) => "going on",
                });
            }
        }
    }

    /// Says something in the foot line.
    pub(super) fn tell(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: harmless(&text.into()), is_error: false });
    }

    /// Says in the foot line that something did not work.
    pub(super) fn fail(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: harmless(&text.into()), is_error: true });
    }

    /// Gives the keys to a pane.
    pub(super) fn give_keys(&mut self, pane: Pane) {
        self.focus = pane;
        if pane != Pane::List {
            self.lower = pane;
        }
    }

    fn motion(&mut self, motion: Motion) {
        match self.focus {
            Pane::List if motion == Motion::Right => self.give_keys(Pane::Tree),
            Pane::List => self.step(motion),
            Pane::Tree => {
                let height = self.areas.tree.height;
                if let Some(view) = &mut self.view {
                    view.tree.apply(&view.opened, motion, height);
                }
                self.tree_to_bytes();
            }
            Pane::Hex => {
                let (area, options) = (self.areas.hex, self.hex);
                if let Some(view) = &mut self.view {
                    view.hex.apply(&view.opened, motion, area, options);
                }
                self.bytes_to_tree();
            }
        }
        self.note_field();
    }

    /// Keeps in mind which field is looked at.
    pub(super) fn note_field(&mut self) {
        if let Some(view) = self.view.as_ref().filter(|_| self.focus != Pane::List) {
            self.field = Some((view.opened.title.0.clone(), view.opened.path(view.tree.selected())));
        }
    }

    /// Moves in the list.
    fn step(&mut self, motion: Motion) {
        let height = self.list_height();
        self.list.scroll.apply(motion, self.list.len(), height);
        // Whoever leaves the newest message wants to read; whoever comes back to it wants to follow again.
        let is_newest = self.list.scroll.cursor + 1 >= self.list.len();
        if self.follow && !is_newest {
            self.follow = false;
        } else if !self.status.finished && is_newest && matches!(motion, Motion::Last | Motion::LineEnd) {
            self.follow = true;
        }
    }

    fn set_follow(&mut self, follow: bool) {
        if follow {
            self.step(Motion::Last);
        }
        self.follow = follow && !self.status.finished;
        self.tell(match (follow, self.follow) {
            (true, false) => "the last message; nothing more will come",
            (true, true) => "following the newest message",
            (false, _) => "not following",
        });
    }

    fn open(&mut self) {
        match self.focus {
            Pane::List | Pane::Hex => self.give_keys(Pane::Tree),
            Pane::Tree => self.toggle(false),
        }
    }

    fn toggle(&mut self, all: bool) {
        if self.focus == Pane::List {
            self.give_keys(Pane::Tree);
            return;
        }
        if let Some(view) = &mut self.view {
            if all {
                view.tree.toggle_all(&view.opened);
            } else {
                view.tree.toggle(&view.opened);
            }
        }
    }

    /// Undoes one thing: the first of these that there is. What lies over the screen has taken the key before.
    fn escape(&mut self) {
        if self.seeker.is_searching() || self.taking.taker.is_busy() {
            self.stop();
        } else if self.layout.zoomed {
            self.layout.zoomed = false;
        } else if self.filter.is_some() {
            self.set_filter("");
        } else {
            self.give_keys(Pane::List);
        }
    }

    /// Whether something is looked for among the messages that are there; a filter only waits when it has seen them all.
    pub(super) fn is_seeking(&self) -> bool {
        self.seeker.is_searching() || (self.seeker.is_busy() && self.sought < self.list.all)
    }

    /// Stops what takes long: a search, a filter that is not through yet, or what is saved.
    fn stop(&mut self) {
        if self.seeker.is_searching() {
            self.seeker.cancel();
        } else if self.is_seeking() {
            // Half a filter would look like a whole one.
            self.set_filter("");
        } else {
            self.taking.cancel();
        }
        self.tell("stopped");
    }

    /// Rows of messages that are in sight.
    pub(super) fn list_height(&self) -> u64 {
        u64::from(self.areas.list.height.saturating_sub(1))
    }

    fn cycle_layout(&mut self) {
        self.layout.zoomed = false;
        let next = self.layout.next(self.areas.screen());
        self.layout.arrangement = next;
        self.tell(next.map_or("what suits the window", Arrangement::name));
    }

    fn resize_tree(&mut self, by: i16) {
        let whole = self.areas.tree.width + self.areas.divider.width + self.areas.hex.width;
        if self.areas.divider.width == 0 || whole == 0 {
            self.tell("tree and bytes are not beside each other");
            return;
        }
        let now = (u32::from(self.areas.tree.width) * 1000 / u32::from(whole)) as u16;
        self.layout.tree = Some(now.saturating_add_signed(by).clamp(50, 950));
    }

    fn resize_list(&mut self, by: i16) {
        if self.layout.arrangement(self.areas.screen()) == Arrangement::Alone {
            self.tell("there is one pane at a time");
            return;
        }
        self.layout.list = self.layout.list.saturating_add_signed(by).clamp(50, 900);
    }

    fn next_buffer(&mut self) {
        if let Some(view) = &mut self.view {
            if view.opened.buffers() == 1 {
                self.tell("nothing was inflated from this message");
                return;
            }
            view.hex.next_buffer(&view.opened);
        }
        self.bytes_to_tree();
    }

    /// The bytes show the node that is selected.
    pub(super) fn tree_to_bytes(&mut self) {
        if let Some(view) = &mut self.view
            && let Some(span) = view.opened.span(view.tree.selected())
        {
            view.hex.show(span);
        }
    }

    /// The tree shows the innermost node of the byte under the cursor.
    pub(super) fn bytes_to_tree(&mut self) {
        let height = self.areas.tree.height;
        if let Some(view) = &mut self.view
            && let Some(node) = view.opened.node_at(view.hex.buffer, view.hex.cursor)
        {
            view.tree.select(&view.opened, node, height);
        }
    }

    /// Asks for a line of text.
    pub(super) fn ask(&mut self, question: Question, text: &str) {
        self.mode = Mode::Prompt(Prompt::new(question, text));
    }

    fn key_in_prompt(&mut self, key: Key) {
        let Mode::Prompt(prompt) = &mut self.mode else { return };
        let question = prompt.question;
        let typed = prompt.press(key);
        if typed != Typed::Goes {
            self.mode = Mode::Usual;
        }
        let Typed::Answer(text) = typed else { return };
        match question {
            Question::Offset if !text.contains('#') => self.go_to_offset(text.trim()),
            Question::Message | Question::Offset => self.go_to(text.trim()),
            Question::Search if text.is_empty() => self.search(true),
            Question::Search => match Pattern::parse(&text) {
                Ok(pattern) => {
                    self.pattern = Some((text, pattern));
                    self.search(true);
                }
                Err(why) => self.fail(why),
            },
            Question::Filter => self.set_filter(text.trim()),
            Question::File | Question::LargeFile => self.file_named(text.trim()),
        }
    }

    /// A byte by its offset.
    fn go_to_offset(&mut self, text: &str) {
        let offset = u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let options = self.hex;
        let is_there = match (&mut self.view, offset) {
            (Some(view), Some(offset)) => view.hex.go_to(&view.opened, offset, options),
            _ => false,
        };
        if is_there {
            self.bytes_to_tree();
        } else {
            self.fail(format!("no byte has the offset {text:?} (hexadecimal; #N is a message)"));
        }
    }

    /// A message by its number.
    fn go_to(&mut self, text: &str) {
        match text.trim_start_matches('#').parse() {
            Ok(number) if (1..=self.book.len()).contains(&number) => self.jump(number),
            _ => self.fail(format!("messages are numbered from 1 to {}", self.book.len())),
        }
    }

    /// Takes what has come since: messages, decoded rows and trees. `wait` lets it wait a moment for what is in sight.
    pub(super) fn refresh(&mut self, wait: bool) {
        self.take_status();
        // What was found may select another message.
        self.take_findings();
        self.take_reports();
        if self.follow {
            self.list.scroll.cursor = self.list.len().saturating_sub(1);
        }
        let height = self.areas.list.height.saturating_sub(1);
        let missing = self.list.missing(height);
        let selected = self.list.selected();
        if !missing.is_empty() {
            self.decoder.rows(missing);
        }
        // A filter that fills the list takes nothing out of sight, until it comes to where the reader was.
        let is_filling = self.seeker.is_busy() && self.anchor.is_some_and(|anchor| self.sought < anchor);
        if selected != self.wanted && !is_filling {
            self.wanted = selected;
            self.last = selected.or(self.last);
            self.unreadable = None;
            match selected {
                Some(number) => self.decoder.open(number),
                None => self.view = None,
            }
        }
        self.take(false);
        let deadline = Instant::now() + self.decoder.patience();
        while wait && self.is_waiting() && Instant::now() < deadline {
            self.take(true);
        }
        // What was decoded may have shown that a file has changed.
        self.take_status();
    }

    fn take_status(&mut self) {
        let status = self.book.status();
        if status.finished || status.total.is_some() {
            self.rate = None;
        } else {
            self.rate.get_or_insert_default().note(Instant::now(), self.book.len(), status.bytes);
        }
        if status.total.is_none() {
            self.look_after_piped(&status);
        }
        if self.paused {
            return;
        }
        if let Some(trouble) = status.troubles.get(self.status.troubles.len()..).and_then(<[String]>::last) {
            self.fail(trouble.clone());
        }
        self.status = status;
        self.list.all = self.book.len();
    }

    /// Draws the screen anew where others may have written on it, and follows what goes on.
    fn look_after_piped(&mut self, status: &Status) {
        let stage = match (status.finished, status.opened) {
            (true, _) => Stage::Finished,
            (false, true) => Stage::Open,
            (false, false) => Stage::Waiting,
        };
        let what = self.piped.note(Instant::now(), stage);
        if what != Do::Nothing {
            // Whatever else the terminal is to do matters more.
            self.request.get_or_insert(Request::Redraw);
        }
        self.follow |= what == Do::RedrawAndFollow;
    }

    /// How long the screen stays true when nothing happens; None: for good.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let rate = self.rate.as_ref().and_then(|rate| rate.rest(now));
        rate.into_iter().chain(self.piped.rest(now)).min()
    }

    /// Whether something in sight is not decoded yet.
    pub(super) fn is_waiting(&mut self) -> bool {
        let opened = self.view.as_ref().map(|view| view.opened.number).or(self.unreadable);
        let height = self.areas.list.height.saturating_sub(1);
        opened != self.wanted || !self.list.missing(height).is_empty()
    }

    fn take(&mut self, wait: bool) {
        for answer in self.decoder.answers(wait) {
            match answer {
                Answer::Rows(rows) => self.list.put(rows, (self.time, &self.zone), self.status.first),
                Answer::Opened(opened) if Some(opened.number) == self.wanted => self.show(*opened),
                Answer::Opened(_) => {}
                Answer::Failed(number, why) => {
                    self.list.put_unreadable(number, &why);
                    if Some(number) == self.wanted {
                        self.view = None;
                        self.unreadable = Some(number);
                    }
                    self.fail(format!("#{number}: {why}"));
                }
            }
        }
    }

    /// Shows another message; where it is of the same kind as the one before, the same field stays selected.
    fn show(&mut self, opened: Opened<'p>) {
        let mut tree = TreePane::new(&opened);
        if let Some((_, path)) = self.field.as_ref().filter(|(title, _)| *title == opened.title.0) {
            tree.select(&opened, opened.find(path), self.areas.tree.height);
        }
        self.view = Some(View { opened, tree, hex: HexPane::default() });
        self.tree_to_bytes();
        self.reach_goal();
    }

    /// The pane at a place of the screen, and the place in it.
    pub(super) fn pane_at(&self, at: Position) -> Option<(Pane, Position)> {
        let areas = [(Pane::List, self.areas.list), (Pane::Tree, self.areas.tree), (Pane::Hex, self.areas.hex)];
        let inside = |area: Rect| Position::new(at.x - area.x, at.y - area.y);
        areas.into_iter().find(|(_, area)| area.contains(at)).map(|(pane, area)| (pane, inside(area)))
    }
}
