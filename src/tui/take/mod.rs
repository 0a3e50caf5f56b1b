//! Taking things out: copies of what is selected, and messages saved in files.

mod file;
mod menu;
mod node;
mod place;
mod porter;
#[cfg(test)]
mod tests;

use super::app::{App, Mode, Request};
use super::keys::Key;
use super::opened::Opened;
use super::prompt::Question;
use crate::output::table::harmless;
use node::Content;
use porter::{Format, Job, Report, Selection, To};

pub(super) use file::Target;
pub(super) use menu::draw;
pub(super) use porter::{Taker, taker};

/// Bytes that are put into the clipboard at most. Terminals drop a sequence of more than 100,000 characters, and three
/// bytes are four characters of base64.
const MAX_CLIPBOARD: usize = 74_000;

/// A choice that is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Menu {
    /// What to copy.
    Copy,
    /// Which messages to save.
    Save,
    /// How to save them.
    Format(Chosen),
}

/// Messages that were chosen, and what their file may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    selection: Selection,
    name: String,
}

/// What waits for the name of a file.
#[derive(Debug)]
enum Waiting {
    Copied(Copied),
    Job(Job),
}

/// Something that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Copied {
    /// What it is, for people.
    what: String,
    /// What its file may be called.
    name: String,
    bytes: Vec<u8>,
}

/// What is being taken out.
#[derive(Debug)]
pub(super) struct Taking {
    pub(super) taker: Taker,
    waiting: Option<Waiting>,
    /// How much is saved of how much.
    progress: Option<(u64, u64)>,
}

impl Taking {
    pub(super) fn new(taker: Taker) -> Self {
        Self { taker, waiting: None, progress: None }
    }

    /// How much is saved of how much, while something is.
    pub(super) fn progress(&self) -> Option<(u64, u64)> {
        self.progress.filter(|_| self.taker.is_busy())
    }

    /// Stops. Whether there was something to stop.
    pub(super) fn cancel(&mut self) -> bool {
        self.progress = None;
        self.taker.cancel()
    }
}

impl App<'_, '_> {
    /// Opens the menu of what can be copied.
    pub(super) fn ask_copy(&mut self) {
        match self.opened_selected() {
            Some(_) => self.mode = Mode::Menu(Menu::Copy),
            None => self.fail("no message is open"),
        }
    }

    /// Opens the menu of what can be saved.
    pub(super) fn ask_save(&mut self) {
        match self.list.selected() {
            Some(_) => self.mode = Mode::Menu(Menu::Save),
            None => self.fail("there are no messages"),
        }
    }

    /// The message that is selected, if it is the one that is open.
    fn opened_selected(&self) -> Option<&Opened<'_>> {
        let number = self.list.selected()?;
        self.view.as_ref().map(|view| &view.opened).filter(|opened| opened.number == number)
    }

    pub(super) fn key_in_menu(&mut self, key: Key) {
        let Mode::Menu(menu) = std::mem::replace(&mut self.mode, Mode::Usual) else { return };
        let Some(letter) = key.letter() else { return };
        let is_file = letter.is_ascii_uppercase();
        let letter = letter.to_ascii_lowercase();
        match menu {
            Menu::Copy => self.copy(letter, is_file),
            Menu::Save => self.choose(letter),
            Menu::Format(chosen) => {
                let (format, ending) = match letter {
                    'n' => (Format::Ndjson, "ndjson"),
                    'p' => (Format::Pcapng, "pcapng"),
                    _ => return,
                };
                self.taking.waiting = Some(Waiting::Job(Job::Messages { selection: chosen.selection, format }));
                self.ask(Question::File, &format!("{}.{ending}", chosen.name));
            }
        }
    }

    fn copy(&mut self, letter: char, is_file: bool) {
        match self.copied(letter, is_file) {
            Some(Ok(Waiting::Copied(copied))) => self.deliver(copied, is_file),
            Some(Ok(Waiting::Job(job))) if is_file => {
                let name = job.name().to_owned();
                self.taking.waiting = Some(Waiting::Job(job));
                self.ask(Question::File, &name);
            }
            Some(Ok(Waiting::Job(job))) => self.carry_out(job, To::Clipboard),
            Some(Err(why)) => self.fail(why),
            None => {}
        }
    }

    /// What a letter of the menu stands for; None where it stands for nothing.
    fn copied(&self, letter: char, is_file: bool) -> Option<Result<Waiting, String>> {
        let view = self.view.as_ref()?;
        let opened = self.opened_selected()?;
        let (number, index) = (opened.number, view.tree.selected());
        let label = match opened.name(index) {
            name if index == 0 || name.is_empty() => opened.title.0.clone(),
            name => name,
        };
        let stem = file::stem(number, (index > 0).then_some(&label));
        let text = |what: &str, ending: &str, text: String| {
            let (what, name) = (format!("{what} of {label}"), format!("{stem}.{ending}"));
            Waiting::Copied(Copied { what, name, bytes: text.into_bytes() })
        };
        let bytes = || match opened.bytes(index) {
            [] => Err(format!("{label} has no bytes")),
            _ if opened.holds_secret(index) => Err(format!("{label} holds a secret; --show-secrets shows secrets")),
            bytes => Ok(bytes),
        };
        Some(match letter {
            'h' => bytes().map(|bytes| text("hex", "hex", node::hex(bytes))),
            'r' => bytes().map(|bytes| text("Rust", "rs", node::rust(bytes))),
            'g' => bytes().map(|bytes| text("Go", "go", node::go(bytes))),
            'y' => bytes().map(|bytes| text("Python", "py", node::python(bytes))),
            'c' => bytes().map(|bytes| text("C", "c", node::c(bytes))),
            'v' => node::content(opened, index).map(|content| match content {
                Content::Text(value) => text("value", "txt", value),
                Content::Bytes(bytes) => match String::from_utf8(bytes) {
                    Ok(value) => text("value", "txt", value),
                    Err(error) if is_file => {
                        let what = format!("value of {label}");
                        let name = format!("{stem}.bin");
                        Waiting::Copied(Copied { what, name, bytes: error.into_bytes() })
                    }
                    Err(error) => text("value (no text, so as hex)", "hex", node::hex(error.as_bytes())),
                },
            }),
            'p' => match place::path(opened, index) {
                path if path.is_empty() => Err("the whole message has no path".to_owned()),
                path => Ok(text("path", "txt", path)),
            },
            'j' => Ok(Waiting::Job(Job::Json {
                number,
                node: index,
                nodes: opened.tree.nodes().len(),
                what: format!("JSON of {label}"),
                name: format!("{stem}.json"),
            })),
            'm' => {
                let (what, name) = (format!("NDJSON of message {number}"), format!("message-{number}.ndjson"));
                Ok(Waiting::Job(Job::Line { number, what, name }))
            }
            _ => return None,
        })
    }

    /// Chooses messages by a letter of the menu.
    fn choose(&mut self, letter: char) {
        let Some(number) = self.list.selected() else { return };
        let (selection, name) = match letter {
            'm' => (Selection::Some(vec![number]), format!("message-{number}")),
            'e' => {
                let mut both: Vec<u64> = [Some(number), self.book.pair(number)].into_iter().flatten().collect();
                both.sort_unstable();
                let name = format!("exchange-{}", both.first().unwrap_or(&number));
                (Selection::Some(both), name)
            }
            'c' => {
                let Some(entry) = self.book.entry(number) else { return };
                (Selection::Connection(entry.connection), format!("connection-{}", entry.connection.0))
            }
            'a' => match &self.list.wanted {
                Some(wanted) => (Selection::Some(wanted.clone()), "filtered".to_owned()),
                None => (Selection::All, "messages".to_owned()),
            },
            _ => return,
        };
        self.mode = Mode::Menu(Menu::Format(Chosen { selection, name }));
    }

    /// Puts something into the clipboard, or asks for a file.
    fn deliver(&mut self, copied: Copied, is_file: bool) {
        if is_file || copied.bytes.len() > MAX_CLIPBOARD {
            let question = if is_file { Question::File } else { Question::LargeFile };
            let name = copied.name.clone();
            self.taking.waiting = Some(Waiting::Copied(copied));
            self.ask(question, &name);
        } else {
            self.tell(format!("to the clipboard: {}, {}", harmless(&copied.what), counted(copied.bytes.len())));
            self.request = Some(Request::Clipboard(copied.bytes));
        }
    }

    /// Takes the name of a file; one that is there already is not overwritten without a question.
    pub(super) fn file_named(&mut self, text: &str) {
        match Target::new(text) {
            Ok(target) if target.is_there => self.mode = Mode::Overwrite(target),
            Ok(target) => self.write(target),
            Err(why) => self.fail(why),
        }
    }

    pub(super) fn key_in_overwrite(&mut self, key: Key) {
        let Mode::Overwrite(target) = std::mem::replace(&mut self.mode, Mode::Usual) else { return };
        match key.letter() {
            Some('y' | 'Y') => self.write(target),
            _ => self.tell("nothing was written"),
        }
    }

    /// Writes what waits for the file.
    fn write(&mut self, target: Target) {
        match self.taking.waiting.take() {
            Some(Waiting::Copied(Copied { what, bytes, .. })) => match target.write(&bytes) {
                Ok(()) => self.tell(format!("{target}: {}, {}", harmless(&what), counted(bytes.len()))),
                Err(why) => self.fail(why),
            },
            Some(Waiting::Job(job)) => self.carry_out(job, To::File(target)),
            None => {}
        }
    }

    /// Has something done beside the screen.
    fn carry_out(&mut self, job: Job, to: To) {
        if self.taking.taker.is_busy() {
            self.fail("something is being saved; ctrl-c stops it");
            return;
        }
        if let To::File(target) = &to {
            self.tell(format!("writing {target}"));
        }
        self.taking.progress = None;
        self.taking.taker.begin(job, to);
    }

    /// Takes what was told of the work beside the screen.
    pub(super) fn take_reports(&mut self) {
        for report in self.taking.taker.reports() {
            match report {
                Report::Progress(done, all) => {
                    self.taking.progress = Some((done, all));
                    continue;
                }
                Report::Copied(copied) => self.deliver(copied, false),
                Report::Done(text) => self.tell(text),
                Report::Failed(why) => self.fail(why),
            }
            self.taking.taker.end();
        }
    }
}

/// The escape sequence that puts bytes into the terminal's clipboard (OSC 52 of xterm's control sequences).
pub(super) fn clipboard_sequence(bytes: &[u8]) -> String {
    use base64::Engine;
    format!("\x1b]52;c;{}\x1b\\", base64::engine::general_purpose::STANDARD.encode(bytes))
}

fn counted(bytes: usize) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}
