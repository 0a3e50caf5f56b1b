use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::Value;

use super::super::tests::{Stage, on_stage};
use super::super::theme::{Depth, Ground, Look};
use super::*;
use crate::book::{Book, Indexer, Room};
use crate::capture::{Again, Captures};
use crate::conversation::Options;
use crate::dissect::{Opening, Place, What};
use crate::output::ndjson::NdjsonWriter;
use crate::output::tree_json;
use crate::protocol::{Catalog, Type};

const LOOK: Look = Look::new(Depth::None, Ground::Dark);

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name)
}

fn read<'p>(catalog: &'p Catalog, path: &Path) -> Book<'p> {
    let book = Book::new(catalog);
    let captures = Captures::open([path], Again::Yes).unwrap();
    Indexer::new(&book, captures, Options::default()).run(&AtomicBool::new(false));
    book
}

impl Stage<'_, '_> {
    /// Selects a node of a message.
    fn select(&mut self, number: u64, wanted: &str) {
        self.app.jump(number);
        self.settle();
        let view = self.app.view.as_mut().unwrap();
        let all = view.opened.tree.nodes().len() as u32;
        let node = (0..all).find(|index| place::path(&view.opened, *index) == wanted).unwrap();
        view.tree.select(&view.opened, node, 10);
    }

    /// What was put into the clipboard.
    fn clipboard(&mut self) -> String {
        match self.app.request.take() {
            Some(Request::Clipboard(bytes)) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?} {:?}", self.app.notice),
        }
    }

    fn notice(&self) -> &str {
        self.app.notice.as_ref().map_or("", |notice| &notice.text)
    }

    /// Answers the question for a file.
    fn name(&mut self, path: &Path) {
        self.press(&format!("ctrl-u \"{}\" enter", path.display()));
    }
}

/// The tour's fifth message is the request that the readme shows.
#[test]
fn a_node_is_copied_in_many_forms() {
    on_stage(&capture("tour.pcapng"), (100, 30), LOOK, |stage| {
        stage.select(5, "topics[0].name");
        let mut copy = |key: &str| {
            stage.press("c");
            stage.press(key);
            stage.clipboard()
        };
        assert_eq!(copy("h"), "06 6e 65 77 65 72");
        assert_eq!(copy("v"), "newer");
        assert_eq!(copy("p"), "topics[0].name");
        assert_eq!(copy("j"), "\"newer\"");
        let elements = "0x06, 0x6e, 0x65, 0x77, 0x65, 0x72,";
        assert_eq!(copy("r"), format!("let bytes: [u8; 6] = [\n    {elements}\n];\n"));
        assert_eq!(copy("g"), format!("bytes := []byte{{\n\t{elements}\n}}\n"));
        assert_eq!(copy("y"), format!("data = bytes([\n    {elements}\n])\n"));
        assert_eq!(copy("c"), format!("static const unsigned char bytes[6] = {{\n    {elements}\n}};\n"));
        let line: Value = serde_json::from_str(&copy("m")).unwrap();
        assert_eq!((&line["index"], &line["body"]["topics"][0]["name"]), (&Value::from(5), &Value::from("newer")));

        stage.select(5, "topics");
        let mut copy = |key: &str| {
            stage.press("c");
            stage.press(key);
            stage.clipboard()
        };
        let topics: Value = serde_json::from_str(&copy("j")).unwrap();
        assert_eq!(topics, line["body"]["topics"]);
        assert_eq!(copy("p"), "topics");
        stage.press("c v");
        assert!(stage.app.request.is_none() && stage.notice().contains("no value of its own"), "{}", stage.notice());

        stage.select(5, "header.requestApiKey");
        stage.press("c v");
        assert_eq!(stage.clipboard(), "3");
        // What JSON has not is told as a node.
        stage.select(5, "frame.size");
        stage.press("c j");
        let node: Value = serde_json::from_str(&stage.clipboard()).unwrap();
        assert_eq!((&node["name"], &node["value"], &node["length"]), (&"size".into(), &48.into(), &4.into()));
        // Nothing happens.
        stage.press("c x");
        stage.press("c esc");
        assert!(stage.app.request.is_none() && matches!(stage.app.mode, Mode::Usual));
    });
}

#[test]
fn arrays_are_read_as_the_bytes_that_they_are() {
    let bytes: Vec<u8> = (0..=255).chain([0, 0, 0, 27]).collect();
    for text in [node::hex(&bytes), node::rust(&bytes), node::go(&bytes), node::python(&bytes), node::c(&bytes)] {
        let numbers =
            text.rsplit_once('{').or(text.split_once("= [")).or(text.split_once('[')).map_or("", |(_, list)| list);
        let numbers = if numbers.is_empty() { text.clone() } else { numbers.replace("0x", "") };
        let numbers = numbers.split(|letter: char| !letter.is_ascii_hexdigit()).filter(|digits| !digits.is_empty());
        let read: Vec<u8> = numbers.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect();
        assert_eq!(read, bytes, "{text}");
        assert!(text.lines().all(|line| line.len() < 80));
    }
}

#[test]
fn files_have_the_exact_bytes_and_are_not_overwritten_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("name with blanks.txt");
    on_stage(&capture("tour.pcapng"), (100, 30), LOOK, |stage| {
        stage.select(5, "topics[0].name");
        stage.press("c V");
        let Mode::Prompt(prompt) = &stage.app.mode else { panic!("{:?}", stage.app.mode) };
        assert_eq!(prompt.parts(), ("message-5-Name.txt", ""));
        stage.name(&path);
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert!(stage.notice().ends_with("name with blanks.txt: value of Name, 5 bytes"), "{}", stage.notice());

        for (answer, expected) in [("n", "newer"), ("esc", "newer"), ("y", "06 6e 65 77 65 72")] {
            stage.press("c H");
            stage.name(&path);
            assert!(matches!(stage.app.mode, Mode::Overwrite(_)));
            stage.press(answer);
            assert_eq!(fs::read(&path).unwrap(), expected.as_bytes());
        }
        stage.press("c J");
        stage.name(&folder.path().join("x.json"));
        assert_eq!(fs::read(folder.path().join("x.json")).unwrap(), b"\"newer\"");
        stage.press("c H");
        stage.name(folder.path());
        assert!(stage.notice().contains("is a folder"), "{}", stage.notice());
        stage.press("c H");
        stage.name(&folder.path().join("no/such/x"));
        assert!(stage.notice().contains("no such folder"), "{}", stage.notice());
    });
    // Nothing else is left there.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_comes_in_the_meantime_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let target = Target::new(path.to_str().unwrap()).unwrap();
    fs::write(&path, "somebody else's").unwrap();
    let why = target.write(b"ours").unwrap_err();
    assert!(why.contains("choose another name"), "{why}");
    assert_eq!(fs::read(&path).unwrap(), b"somebody else's");
}

#[test]
fn what_is_too_large_for_the_clipboard_goes_into_a_file() {
    on_stage(&capture("tour.pcapng"), (100, 30), LOOK, |stage| {
        let copied =
            |length: usize| Copied { what: "hex".to_owned(), name: "x.hex".to_owned(), bytes: vec![b'0'; length] };
        stage.app.deliver(copied(MAX_CLIPBOARD), false);
        assert_eq!(stage.clipboard().len(), MAX_CLIPBOARD);
        stage.app.deliver(copied(MAX_CLIPBOARD + 1), false);
        assert!(stage.app.request.is_none());
        let Mode::Prompt(prompt) = &stage.app.mode else { panic!("{:?}", stage.app.mode) };
        assert_eq!(prompt.question, Question::LargeFile);
    });
}

#[test]
fn only_base64_gets_into_the_sequence() {
    let sequence = clipboard_sequence(b"\x1b]0;title\x07\x1b\\\x9c\xff");
    let inside = sequence.strip_prefix("\x1b]52;c;").unwrap().strip_suffix("\x1b\\").unwrap();
    assert!(inside.chars().all(|letter| letter.is_ascii_alphanumeric() || "+/=".contains(letter)), "{inside:?}");
    assert!(clipboard_sequence(&vec![0; MAX_CLIPBOARD]).len() < 100_000);
}

/// Where JSON is said to have a node, it has what the JSON of trees has for it.
#[test]
fn nodes_are_where_their_json_is() {
    let catalog = Catalog::builtin();
    let opening = Opening::new(&catalog);
    let (mut found, mut missing) = (0, 0);
    for name in [
        "tour.pcapng",
        "39-java-0.9.0.1-gzip.pcap",
        "39-java-0.10.2.2-none.pcap",
        "44-java-admin-acls.pcap",
        "44-java-consumer-protocol.pcap",
        "44-franz-sasl-scram256.pcap",
        "28-zk.pcap",
    ] {
        let book = read(&catalog, &capture(name));
        let mut room = Room::default();
        let mut writer = NdjsonWriter::new(opening, false);
        for number in 1..=book.len() {
            let message = book.message(number, &mut room).unwrap();
            let mut line = Vec::new();
            writer.message(&mut line, &message);
            let opened = Opened::new(&message, opening, false, book.topics());
            for (index, node) in (0..).zip(opened.tree.nodes()) {
                let place = match node.what {
                    What::Value(place) => place,
                    What::Scope(_) => {
                        let json = place::json_of(&opened, index, &line);
                        let is_right = json.is_none_or(|json| json.starts_with(['{', '[']) || json == "null");
                        assert!(is_right, "{name} #{number} {}: {json:?}", place::path(&opened, index));
                        continue;
                    }
                    _ => continue,
                };
                let Some(json) = place::json_of(&opened, index, &line) else {
                    missing += 1;
                    continue;
                };
                found += 1;
                let json: Value = serde_json::from_str(json).unwrap();
                let mut tree = Vec::new();
                tree_json::write_node_and_below(&mut tree, &opened.describer(), index as usize);
                let tree: Value = serde_json::from_slice(&tree).unwrap();
                // Keys and values of records are text where they can be.
                let text = std::str::from_utf8(opened.bytes(index)).ok().filter(|_| is_record_content(place));
                let expected = text.map_or(tree["value"].clone(), Value::from);
                assert_eq!(json, expected, "{name} #{number} {}", place::path(&opened, index));
            }
        }
    }
    assert!(found > 10_000 && missing * 4 < found, "{found} are there, {missing} are not");
}

fn is_record_content(place: Place<'_>) -> bool {
    place.ty() == Type::Raw && place.field().is_some_and(|field| field.path.starts_with("RecordBatch."))
}

/// No form of a copy has a secret in it, whether the secret or all of its message is selected.
#[test]
fn secrets_are_not_copied() {
    let mut secrets = 0;
    for name in ["44-java-sasl-plain.pcap", "39-sarama-sasl-v0-scram.pcap", "44-franz-sasl-scram256.pcap"] {
        on_stage(&capture(name), (100, 30), LOOK, |stage| {
            for number in 1..=stage.app.list.len() {
                stage.app.jump(number);
                stage.settle();
                let opened = &stage.app.view.as_ref().unwrap().opened;
                let withheld = (0..).zip(opened.tree.nodes()).find_map(|(index, node)| {
                    let What::Value(place) = node.what else { return None };
                    let is_secret = opened.describer().is_withheld(index as usize, place);
                    let value = crate::dissect::value_of(place.ty(), opened.bytes(index)).filter(|_| is_secret)?;
                    let (crate::dissect::Value::String(secret) | crate::dissect::Value::Bytes(secret)) = value else {
                        return None;
                    };
                    Some((index, secret?.to_vec()))
                });
                let Some((index, secret)) = withheld.filter(|(_, secret)| secret.len() > 3) else { continue };
                secrets += 1;
                let end = &secret[secret.len() - 4..];
                let text_end = String::from_utf8_lossy(end).into_owned();
                let hex = node::hex(end);
                for selected in [index, 0] {
                    for letter in "hvpjrgycm".chars() {
                        let view = stage.app.view.as_mut().unwrap();
                        view.tree.select(&view.opened, selected, 10);
                        stage.press("c");
                        stage.press(&letter.to_string());
                        if let Some(Request::Clipboard(bytes)) = stage.app.request.take() {
                            let text = String::from_utf8(bytes).unwrap();
                            assert!("pjm".contains(letter), "{name} #{number} {letter}: {text}");
                            assert!(!text.contains(&text_end) && !text.contains(&hex), "{name} #{number}: {text}");
                        }
                    }
                }
            }
        });
    }
    assert!(secrets >= 3, "{secrets}");
}

#[test]
fn messages_are_saved_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::builtin();
    let tour = read(&catalog, &capture("tour.pcapng"));
    let all = tour.len();
    let responses = |book: &Book<'_>| {
        (1..=book.len()).filter(|number| book.entry(*number).unwrap().side == crate::protocol::Side::Response).count()
    };
    on_stage(&capture("tour.pcapng"), (120, 30), LOOK, |stage| {
        let mut save = |keys: &str, name: &str| {
            let path = folder.path().join(name);
            stage.press(keys);
            stage.name(&path);
            stage.settle();
            (path, stage.notice().to_owned())
        };
        let (path, notice) = save("s a p", "all.pcapng");
        assert!(notice.contains(&format!("all.pcapng: {all} messages; secrets are in it")), "{notice}");
        assert_eq!(read(&catalog, &path).len(), all);

        let (path, notice) = save("s a n", "all.ndjson");
        assert!(notice.ends_with(&format!("all.ndjson: {all} messages")), "{notice}");
        let mut expected = Vec::new();
        let mut writer = NdjsonWriter::new(Opening::new(&catalog), false);
        let mut room = Room::default();
        for number in 1..=all {
            writer.message(&mut expected, &tour.message(number, &mut room).unwrap());
        }
        assert!(fs::read(path).unwrap() == expected);

        // A response does not say what it is: its request goes with it.
        let (path, notice) = save(": 2 enter s m p", "one.pcapng");
        assert!(notice.ends_with("1 message, and 1 message without which they cannot be read"), "{notice}");
        assert_eq!(read(&catalog, &path).len(), 2);
        let (path, _) = save("s m n", "one.ndjson");
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 1);
        let (path, notice) = save("s e p", "exchange.pcapng");
        assert!(notice.ends_with("exchange.pcapng: 2 messages"), "{notice}");
        assert_eq!(read(&catalog, &path).len(), 2);
        let connection = tour.entry(2).unwrap().connection;
        let of_connection = (1..=all).filter(|number| tour.entry(*number).unwrap().connection == connection).count();
        let (path, _) = save("s c p", "connection.pcapng");
        assert_eq!(read(&catalog, &path).len(), of_connection as u64);

        let (path, _) = save("f \"metadata response\" enter s a p", "filtered.pcapng");
        let filtered = read(&catalog, &path);
        assert_eq!(responses(&filtered) as u64 * 2, filtered.len());
        assert!(filtered.len() > 4);
    });
}

/// A token without a header is only known by what was said before.
#[test]
fn tokens_are_saved_with_what_explains_them() {
    let catalog = Catalog::builtin();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token.pcapng");
    on_stage(&capture("39-sarama-sasl-v0-scram.pcap"), (120, 30), LOOK, |stage| {
        let number = (1..=stage.app.list.len()).find(|number| {
            stage.app.jump(*number);
            stage.settle();
            stage.app.view.as_ref().unwrap().opened.title.0 == "SaslToken"
        });
        assert!(number.is_some());
        stage.press("s m p");
        stage.name(&path);
        stage.settle();
        assert!(stage.notice().contains("secrets are in it as they were sent"), "{}", stage.notice());
    });
    let book = read(&catalog, &path);
    let mut room = Room::default();
    assert_eq!(book.message(book.len(), &mut room).unwrap().subject, crate::conversation::Subject::SaslToken);
}

#[test]
fn what_is_stopped_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::builtin();
    let book = read(&catalog, &capture("tour.pcapng"));
    let (mut taker, porter) = taker(&book, Opening::new(&catalog), false);
    let target = Target::new(folder.path().join("x").to_str().unwrap()).unwrap();
    taker.begin(Job::Messages { selection: Selection::All, format: Format::Ndjson }, To::File(target));
    assert!(taker.is_busy() && taker.cancel() && !taker.is_busy());
    drop(taker);
    porter.run();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Whatever is typed in menus and prompts, but for what would write files.
#[test]
fn any_keys_in_menus() {
    let mut random = fastrand::Rng::with_seed(7);
    on_stage(&capture("tour.pcapng"), (80, 24), LOOK, |stage| {
        for _ in 0..1500 {
            let keys =
                ["c", "s", "h", "v", "p", "j", "m", "e", "a", "n", "H", "J", "M", "esc", "x", "tab", "down", "]", "}"];
            stage.app.key(Key::parse(keys[random.usize(..keys.len())]).unwrap());
            stage.draw();
            stage.app.request = None;
        }
    });
}
