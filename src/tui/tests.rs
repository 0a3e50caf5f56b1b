//! Screens by scripts of keys: `tests/screens/*.txt` say what is pressed and how the screen looks then. With
//! `KAFKASCOPE_BLESS=1` the screens are written anew, to be read as a change of text.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::app::App;
use super::decoder::decoder;
use super::keys::{Key, Keymap};
use super::opened::Opened;
use super::seeker::seeker;
use super::take::taker;
use super::terminal::Subject;
use super::theme::{Depth, Ground, Look};
use super::tree::TreePane;
use crate::book::{Book, Indexer, Room};
use crate::capture::{Again, Captures};
use crate::conversation::Options;
use crate::dissect::Opening;
use crate::protocol::Catalog;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A screen that is driven without a terminal.
pub(super) struct Stage<'b, 'p> {
    pub(super) terminal: Terminal<TestBackend>,
    pub(super) app: App<'b, 'p>,
}

impl Stage<'_, '_> {
    /// Draws until nothing in sight is missing, as the terminal's loop does.
    pub(super) fn settle(&mut self) {
        let since = Instant::now();
        loop {
            self.draw();
            if !self.app.is_waiting() && !self.app.seeker.is_busy() && !self.app.taking.taker.is_busy() {
                break;
            }
            assert!(since.elapsed() < Duration::from_mins(1), "the screen never comes to rest");
        }
        // A real screen is not drawn again until something happens, so this must be all.
    }

    /// Presses keys; words in quotes are typed.
    pub(super) fn press(&mut self, keys: &str) {
        let mut rest = keys.trim();
        while !rest.is_empty() {
            if let Some(text) = rest.strip_prefix('"') {
                let (text, behind) = text.split_once('"').unwrap();
                for letter in text.chars() {
                    let name = if letter == ' ' { "space".to_owned() } else { letter.to_string() };
                    self.app.key(Key::parse(&name).unwrap());
                }
                rest = behind.trim_start();
                continue;
            }
            let (key, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            self.app.key(Key::parse(key).unwrap_or_else(|| panic!("{key:?} is no key")));
            self.settle();
            rest = behind.trim_start();
        }
        self.settle();
    }

    /// Draws the screen as it is.
    pub(super) fn draw(&mut self) {
        let Self { terminal, app } = self;
        terminal.draw(|frame| _ = app.draw(frame.buffer_mut())).unwrap();
    }

    fn screen(&self) -> &Buffer {
        self.terminal.backend().buffer()
    }

    /// What stands on the screen.
    pub(super) fn text(&self) -> String {
        let screen = self.screen();
        let row = |y| (0..screen.area.width).map(|x| screen[(x, y)].symbol()).collect::<String>();
        (0..screen.area.height).map(|y| row(y) + "\n").collect()
    }
}

/// Opens a capture on a screen, and hands it to a test.
pub(super) fn on_stage<T>(
    capture: &Path,
    (width, height): (u16, u16),
    look: Look,
    test: impl FnOnce(&mut Stage<'_, '_>) -> T,
) -> T {
    let catalog = Catalog::builtin();
    let book = Book::new(&catalog);
    let captures = Captures::open([capture], Again::Yes).unwrap();
    Indexer::new(&book, captures, Options::default()).run(&AtomicBool::new(false));
    let opening = Opening::new(&catalog);
    let (decoder, worker) = decoder(&book, opening, false, Duration::from_secs(20));
    let (seeker, scout) = seeker(&book, opening, false);
    let (taker, porter) = taker(&book, opening, false);
    std::thread::scope(|scope| {
        scope.spawn(move || worker.run());
        scope.spawn(move || scout.run());
        scope.spawn(move || porter.run());
        let name = capture.file_name().unwrap().to_string_lossy().into_owned();
        let keymap = Keymap::new(&[]).unwrap();
        let app =
            App::new(&book, opening, Subject { name, ..Subject::default() }, (decoder, seeker, taker), (keymap, look));
        let mut stage = Stage { terminal: Terminal::new(TestBackend::new(width, height)).unwrap(), app };
        stage.settle();
        test(&mut stage)
    })
}

/// The text of a screen, and below it its styles: a letter a cell, with a legend.
fn render(screen: &Buffer) -> String {
    let mut styles: Vec<Style> = vec![Style::default()];
    let (mut text, mut letters) = (String::new(), String::new());
    for y in 0..screen.area.height {
        let mut row = String::new();
        let mut marks = String::new();
        for x in 0..screen.area.width {
            let cell = &screen[(x, y)];
            row.push_str(cell.symbol());
            let style = Style { underline_color: None, ..cell.style() };
            let plain = Style::reset();
            let style = Style {
                fg: style.fg.filter(|fg| Some(*fg) != plain.fg),
                bg: style.bg.filter(|bg| Some(*bg) != plain.bg),
                add_modifier: style.add_modifier,
                ..Style::default()
            };
            let at = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            marks.push(if at == 0 { ' ' } else { char::from(b'a' + (at - 1) as u8) });
        }
        writeln!(text, "{}", row.trim_end()).unwrap();
        writeln!(letters, "{}", marks.trim_end()).unwrap();
    }
    let mut out = format!("{text}-- styles\n{letters}");
    for (at, style) in styles.iter().enumerate().skip(1) {
        let letter = char::from(b'a' + (at - 1) as u8);
        let colour = |colour: Option<ratatui::style::Color>| {
            colour.map_or_else(|| "-".to_owned(), |colour| format!("{colour:?}"))
        };
        writeln!(out, "{letter}: {} on {} {:?}", colour(style.fg), colour(style.bg), style.add_modifier).unwrap();
    }
    out
}

/// A script: what it is played on, and its steps with what is expected.
struct Script {
    comment: String,
    capture: String,
    size: (u16, u16),
    look: String,
    steps: Vec<(String, String)>,
}

impl Script {
    fn read(text: &str) -> Self {
        let mut script = Self {
            comment: String::new(),
            capture: "captures/tour.pcapng".to_owned(),
            size: (80, 24),
            look: "256 dark".to_owned(),
            steps: Vec::new(),
        };
        for line in text.lines() {
            if let Some(keys) = line.strip_prefix("keys:") {
                script.steps.push((keys.trim().to_owned(), String::new()));
            } else if let Some((_, expected)) = script.steps.last_mut() {
                writeln!(expected, "{line}").unwrap();
            } else if let Some(capture) = line.strip_prefix("capture:") {
                script.capture = capture.trim().to_owned();
            } else if let Some(size) = line.strip_prefix("size:") {
                let (width, height) = size.trim().split_once('x').unwrap();
                script.size = (width.parse().unwrap(), height.parse().unwrap());
            } else if let Some(look) = line.strip_prefix("look:") {
                script.look = look.trim().to_owned();
            } else {
                writeln!(script.comment, "{line}").unwrap();
            }
        }
        script
    }

    fn look(&self) -> Look {
        let depth = match self.look.split(' ').next().unwrap() {
            "none" => Depth::None,
            "16" => Depth::Sixteen,
            "256" => Depth::Palette,
            "true" => Depth::True,
            other => panic!("{other:?} is no depth"),
        };
        Look::new(depth, if self.look.ends_with("light") { Ground::Light } else { Ground::Dark })
    }

    fn play(&self) -> String {
        let mut out = self.comment.clone();
        let (width, height) = self.size;
        writeln!(out, "capture: {}\nsize: {width}x{height}\nlook: {}", self.capture, self.look).unwrap();
        on_stage(&root().join(&self.capture), self.size, self.look(), |stage| {
            for (keys, _) in &self.steps {
                stage.press(keys);
                writeln!(out, "keys: {keys}").unwrap();
                out.push_str(&render(stage.screen()));
            }
        });
        out
    }
}

#[test]
fn screens_are_as_expected() {
    let folder = root().join("tests/screens");
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 8, "scripts are missing");
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let played = Script::read(&text).play();
        if std::env::var_os("KAFKASCOPE_BLESS").is_some() {
            fs::write(&path, &played).unwrap();
        } else if played != text {
            let line = played.lines().zip(text.lines()).position(|(new, old)| new != old);
            let at = line.unwrap_or_default();
            let of = |text: &str| text.lines().nth(at).unwrap_or_default().to_owned();
            wrong.push(format!(
                "{} line {}:\n  is       {}\n  expected {}",
                path.display(),
                at + 1,
                of(&played),
                of(&text)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// From any node to its first byte and back is the way to the leaf that the byte is in; and every byte of every buffer
/// has one.
#[test]
fn bytes_lead_to_their_nodes_and_back() {
    let catalog = Catalog::builtin();
    let book = Book::new(&catalog);
    let captures = Captures::open([root().join("captures/tour.pcapng")], Again::Yes).unwrap();
    Indexer::new(&book, captures, Options::default()).run(&AtomicBool::new(false));
    let mut room = Room::default();
    for index in 1..=book.len() {
        let message = book.message(index, &mut room).unwrap();
        let opened = Opened::new(&message, Opening::new(&catalog), false, book.topics());
        for buffer in 0..opened.buffers() {
            for offset in 0..opened.buffer(buffer).len() as u32 {
                let node = opened.node_at(buffer, offset).unwrap_or_else(|| panic!("#{index} {buffer}:{offset}"));
                let span = opened.span(node).unwrap();
                assert!(span.buffer == buffer && (span.start..span.end()).contains(&offset));
                if span.start == offset {
                    assert_eq!(opened.node_at(span.buffer, span.start), Some(node));
                }
            }
            assert_eq!(opened.node_at(buffer, opened.buffer(buffer).len() as u32), None);
        }
        for (at, node) in opened.tree.nodes().iter().enumerate() {
            let index = at as u32;
            if node.is_leaf() && node.span.len > 0 {
                assert_eq!(opened.node_at(node.span.buffer, node.span.start), Some(index));
                let mut pane = TreePane::new(&opened);
                pane.select(&opened, index, 10);
                assert_eq!(pane.selected(), index);
            }
        }
    }
}

/// The password of the login of `tour.pcapng` is nowhere on the screen, and cannot be looked for.
#[test]
fn secrets_are_not_among_the_bytes() {
    let look = Look::new(Depth::None, Ground::Dark);
    let capture = root().join("captures/tour.pcapng");
    on_stage(&capture, (200, 60), look, |stage| {
        for keys in [": \"293\" enter i", "enter * G k", "tab", "k k l l l"] {
            stage.press(keys);
            let text = stage.text();
            assert!(text.contains("Password text = <withheld: 9 bytes>"), "{text}");
            assert!(text.contains("6c  69 63 65 00 ** ** ** **  ") && text.contains("alice.****"), "{text}");
            assert!(!text.contains("74 68 72 6f") && !text.contains("thro"), "{text}");
        }
        // The name in front of it is found, the two together are not.
        stage.press("/ \"0x616c696365\" enter");
        assert!(stage.text().contains("Username text = \"alice\"  [0x0016, 5B]"), "{}", stage.text());
        for bytes in ["0x7468726f77", "0x696365007468"] {
            stage.press(&format!("/ \"{bytes}\" enter"));
            assert!(stage.text().contains(&format!("{bytes} is nowhere")), "{}", stage.text());
        }
    });
}

/// No key, on no screen, is too much: thousands of keys at random, and sizes that change between them.
#[test]
fn any_keys_at_any_size() {
    let mut random = fastrand::Rng::with_seed(20_261_129);
    let look = Look::new(Depth::Sixteen, Ground::Dark);
    let keys: Vec<&str> = super::action::ACTIONS
        .iter()
        .flat_map(|entry| entry.keys.iter().copied())
        // Copies and saved messages would be written somewhere.
        .filter(|keys| !matches!(*keys, "q" | "ctrl-c" | "ctrl-z" | "c" | "s"))
        .collect();
    on_stage(&root().join("captures/tour.pcapng"), (80, 24), look, |stage| {
        for _ in 0..3000 {
            if random.u8(..) < 8 {
                let (width, height) = (random.u16(0..140), random.u16(0..50));
                stage.terminal.backend_mut().resize(width, height);
            }
            let row = keys[random.usize(..keys.len())];
            for key in row.split(' ') {
                stage.app.key(Key::parse(key).unwrap());
            }
            stage.draw();
        }
    });
}

/// How long keys take on a large capture: `KAFKASCOPE_CAPTURE=FILE cargo test --release --lib tui -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, to be run by hand"]
fn how_long_keys_take() {
    let capture = PathBuf::from(std::env::var_os("KAFKASCOPE_CAPTURE").expect("KAFKASCOPE_CAPTURE names a capture"));
    on_stage(&capture, (200, 60), Look::new(Depth::True, Ground::Dark), |stage| {
        println!("{} messages", stage.app.list.all);
        for keys in
            ["j", "pagedown", "G", "g g", "]", "p", "enter", "l", "tab", "down", "pagedown", "K", "J", "|", "?", "esc"]
        {
            let mut times: Vec<Duration> = (0..50)
                .map(|_| {
                    let since = Instant::now();
                    for key in keys.split(' ') {
                        stage.app.key(Key::parse(key).unwrap());
                    }
                    stage.draw();
                    since.elapsed()
                })
                .collect();
            times.sort_unstable();
            println!("{keys:10} median {:?}, longest {:?}", times[times.len() / 2], times[times.len() - 1]);
        }
    });
}
