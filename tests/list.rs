//! `kafkascope list` and the command that is run when none is named, as a person or a script meets them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use kafkascope::capture::CaptureReader;
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::output::list::{ListOptions, ListWriter};
use kafkascope::protocol::Catalog;
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

/// A capture being made: pcapng with raw IPv4 packets of one connection.
struct Capture {
    bytes: Vec<u8>,
    sequence: [u32; 2],
    microseconds: u64,
}

const CLIENT: usize = 0;
const BROKER: usize = 1;

impl Capture {
    fn new() -> Self {
        let mut capture = Self { bytes: Vec::new(), sequence: [1000, 5000], microseconds: 1_700_000_000_000_000 };
        capture.block(0x0a0d_0d0a, &[[0x4d, 0x3c, 0x2b, 0x1a], [1, 0, 0, 0], [0xff; 4], [0xff; 4]].concat());
        // Link type 101: raw IP.
        capture.block(1, &[101, 0, 0, 0, 0, 0, 4, 0]);
        capture.segment(CLIENT, 0x02, &[], None);
        capture.segment(BROKER, 0x12, &[], None);
        capture
    }

    fn block(&mut self, ty: u32, body: &[u8]) {
        let length = (body.len() as u32 + 12).to_le_bytes();
        let parts = [&ty.to_le_bytes(), &length, body, &length];
        self.bytes.extend(parts.concat());
    }

    fn segment(&mut self, from: usize, flags: u8, payload: &[u8], comment: Option<&str>) {
        let (address, port) = ([[10, 0, 0, 9], [10, 0, 0, 1]], [51522_u16, 9092]);
        let total = 40 + payload.len() as u16;
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0];
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet.extend(address[from]);
        packet.extend(address[1 - from]);
        packet.extend(port[from].to_be_bytes());
        packet.extend(port[1 - from].to_be_bytes());
        packet.extend(self.sequence[from].to_be_bytes());
        packet.extend(self.sequence[1 - from].to_be_bytes());
        packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(payload);
        self.sequence[from] += payload.len() as u32 + u32::from(flags & 2 != 0);

        let length = (packet.len() as u32).to_le_bytes();
        let mut body = 0_u32.to_le_bytes().to_vec();
        body.extend(((self.microseconds >> 32) as u32).to_le_bytes());
        body.extend((self.microseconds as u32).to_le_bytes());
        body.extend([length, length].concat());
        body.extend(&packet);
        body.resize(body.len().next_multiple_of(4), 0);
        if let Some(comment) = comment {
            body.extend(1_u16.to_le_bytes());
            body.extend((comment.len() as u16).to_le_bytes());
            body.extend(comment.as_bytes());
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend([0; 4]);
        }
        self.block(6, &body);
        self.microseconds += 700;
    }

    fn say(&mut self, from: usize, frame: &[u8]) {
        self.segment(from, 0x18, frame, None);
    }

    fn write(&self, folder: &TempDir, name: &str) -> String {
        path_in(folder, name, &self.bytes)
    }
}

fn path_in(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path.into_os_string().into_string().unwrap()
}

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&(body.len() as u32).to_be_bytes(), body.as_slice()].concat()
}

fn request(key: u8, version: u8, correlation: u32, body: &[u8]) -> Vec<u8> {
    frame(&[&[0, key, 0, version], &correlation.to_be_bytes(), &[0, 3], b"cli", body])
}

fn response(correlation: u32, body: &[u8]) -> Vec<u8> {
    frame(&[&correlation.to_be_bytes(), body])
}

/// Metadata v0 and Produce v0, by the protocol guide.
fn metadata_request(topic: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 1, 0, topic.len() as u8], topic].concat()
}

fn metadata_response(topic: &[u8]) -> Vec<u8> {
    let broker = [&[0, 0, 0, 1, 0, 0, 0, 1, 0, 1], b"h".as_slice(), &[0, 0, 0x23, 0x84]].concat();
    let topics = [&[0, 0, 0, 1, 0, 0, 0, topic.len() as u8], topic, &[0, 0, 0, 1]].concat();
    let partition = [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    [broker.as_slice(), &topics, &partition].concat()
}

/// With one message of format 0: offset, size, checksum, magic, attributes, no key, a value.
const PRODUCE: &[u8] = b"\0\x01\0\0\0\x64\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\x01\0\0\0\x1b\
    \0\0\0\0\0\0\0\0\0\0\0\x0f\x11\x22\x33\x44\0\0\xff\xff\xff\xff\0\0\0\x01v";
const NOT_LEADER: &[u8] = b"\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\x01\0\x06\xff\xff\xff\xff\xff\xff\xff\xff";

fn shop() -> Capture {
    let mut capture = Capture::new();
    capture.say(CLIENT, &request(3, 0, 7, &metadata_request(b"orders")));
    capture.say(BROKER, &response(7, &metadata_response(b"orders")));
    capture.segment(CLIENT, 0x18, &request(0, 0, 8, PRODUCE), Some("produce to the wrong broker"));
    capture.say(BROKER, &response(8, NOT_LEADER));
    capture
}

const SHOP: &str = concat!(
    "    No.         Time Client                  Broker                API                                   Ver       Corr",
    "    Size   Latency  Summary\n",
    "      1     0.001400 10.0.0.9:51522        → 10.0.0.1:9092         Metadata                               v0          7",
    "      29            topics: orders\n",
    "      2     0.002100 10.0.0.9:51522        ← 10.0.0.1:9092         Metadata                               v0          7",
    "      59    0.7 ms  1 broker, orders (1 partition)\n",
    "-- produce to the wrong broker --\n",
    "      3     0.002800 10.0.0.9:51522        → 10.0.0.1:9092         Produce                                v0          8",
    "      74            orders[1]: 1 record, 27 B, acks leader\n",
    "      4     0.003500 10.0.0.9:51522        ← 10.0.0.1:9092         Produce                                v0          8",
    "      38    0.7 ms  orders[1]: NOT_LEADER_OR_FOLLOWER\n",
);

fn kafkascope() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kafkascope"));
    command.env_remove("NO_COLOR").env("COLUMNS", "60");
    command
}

fn run(arguments: &[&str]) -> Output {
    kafkascope().args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn one_line_a_message() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    let output = run(&["list", &path]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), (SHOP, ""));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn list_is_what_is_done_when_no_command_is_named() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    let joined = format!("-r{path}");
    for arguments in [
        &[path.as_str()] as &[_],
        &["--port", "9092", &path],
        &["--port=9092", &path],
        &["-q", "--color", "never", &path],
        &["-r", &path],
        &[&joined],
        &["list", "-r", &path],
        &["--port", "9092", "list", &path],
        &["--", &path],
    ] {
        assert_eq!(stdout(&run(arguments)), SHOP);
    }
    let first_two = stdout(&run(&["-c", "2", &path]));
    assert_eq!(first_two, SHOP.split_inclusive('\n').take(3).collect::<String>());
    assert_eq!(stdout(&run(&["-c1", &path])).lines().count(), 2);
    let show = stdout(&run(&["--color", "never", "show", "-r", &path]));
    assert!(show.starts_with("#1 "), "{show}");
}

#[test]
fn what_is_spoken_at_an_endpoint_can_be_said() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    let of_client = |text: &str| text.matches("10.0.0.9:51522").count();
    let lines = |arguments: &[&str]| of_client(&stdout(&run(&[&["list"], arguments, &[path.as_str()]].concat())));
    let all = of_client(SHOP);
    assert_eq!(lines(&["--decode-as", "9092=kafka"]), all);
    assert_eq!(lines(&["--decode-as", "9092=none"]), 0);
    assert_eq!(lines(&["--decode-as", "127.0.0.1:9092=none"]), all);
    assert_eq!(lines(&["--port", "9092", "--decode-as", "9092=none", "--decode-as", "9092=kafka"]), all);
    for wrong in ["9092", "9092=http", "92000=kafka", "broker:9092=kafka", "::1=kafka"] {
        let output = run(&["list", "--decode-as", wrong, &path]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(stderr(&output).contains(wrong), "{}", stderr(&output));
    }
}

#[test]
fn standard_input_is_a_file_named_dash() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    for arguments in [&["-"] as &[_], &["-r", "-"], &["list", "-"]] {
        let input = fs::File::open(&path).unwrap();
        let output = kafkascope().args(arguments).stdin(input).output().unwrap();
        assert_eq!(stdout(&output), SHOP);
    }
}

#[test]
fn a_file_with_a_commands_name_needs_its_folder() {
    let folder = TempDir::new().unwrap();
    shop().write(&folder, "list");
    shop().write(&folder, "lst");
    for name in ["./list", "lst"] {
        let output = kafkascope().current_dir(folder.path()).arg(name).output().unwrap();
        assert_eq!(stdout(&output), SHOP);
    }
}

#[test]
fn nothing_to_do_is_a_question() {
    let output = run(&[]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("Usage: kafkascope"), "{}", stderr(&output));
    for options in [&["-q"] as &[_], &["list"], &["-c", "3"]] {
        let output = kafkascope().args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("<FILE>"), "{}", stderr(&output));
    }
    let help = run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(stdout(&help).contains("list"));
}

#[test]
fn a_mistyped_command_is_not_taken_for_a_file() {
    let output = run(&["lst", "x.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("'list'"), "{}", stderr(&output));
    let output = run(&["exprt", "x.pcap"]);
    assert!(stderr(&output).contains("'export'"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("none.pcap");
    let output = run(&[missing.to_str().unwrap()]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    let expected = format!("kafkascope: cannot open {}: No such file", missing.display());
    assert!(stderr(&output).starts_with(&expected), "{}", stderr(&output));

    let text = path_in(&folder, "notes.txt", b"These are no packets at all, but a text.");
    let output = run(&[&text]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("notes.txt: not a pcap or pcapng file"), "{}", stderr(&output));
}

#[test]
fn all_before_the_damage_is_listed() {
    let folder = TempDir::new().unwrap();
    let mut capture = shop();
    capture.bytes.truncate(capture.bytes.len() - 21);
    let path = capture.write(&folder, "cut.pcapng");
    let output = run(&[&path]);
    assert_eq!(output.status.code(), Some(3));
    let whole: Vec<&str> = SHOP.lines().take(5).collect();
    assert_eq!(stdout(&output).lines().collect::<Vec<_>>(), whole);
    assert!(stderr(&output).starts_with(&format!("kafkascope: {path}: ")), "{}", stderr(&output));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = TempDir::new().unwrap();
    let mut capture = Capture::new();
    for correlation in 0..5000 {
        capture.say(CLIENT, &request(3, 0, correlation, &metadata_request(b"orders")));
        capture.say(BROKER, &response(correlation, &metadata_response(b"orders")));
    }
    let path = capture.write(&folder, "long.pcapng");
    let mut child = kafkascope().arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert!(line.contains("Summary"), "{line}");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn colours_are_never_the_only_sign() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    let coloured = stdout(&run(&["--color", "always", &path]));
    assert!(coloured.contains("\u{1b}[33morders[1]: NOT_LEADER_OR_FOLLOWER\u{1b}[0m"), "{coloured}");
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, SHOP.lines().collect::<Vec<_>>());
}

#[test]
fn nothing_from_the_wire_reaches_the_terminal_as_it_is() {
    let folder = TempDir::new().unwrap();
    let topic = b"a\x1b]0;t\x07\xe2\x80\xae\xff\r\n";
    let mut capture = Capture::new();
    let frame = request(3, 0, 7, &metadata_request(topic));
    capture.segment(CLIENT, 0x18, &frame, Some("a \u{1b}[31mchapter\u{202e}\r\n\r\n of two lines"));
    capture.say(BROKER, &response(7, &metadata_response(topic)));
    let output = run(&[&capture.write(&folder, "odd.pcapng")]);
    let text = stdout(&output);
    assert!(text.contains(r"topics: a\x1b]0;t\x07\u{202e}\xff\r\n"), "{text}");
    assert!(text.contains("-- a \\x1b[31mchapter\\u{202e} --\n-- of two lines --\n"), "{text}");
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
}

#[test]
fn what_is_odd_stands_out() {
    let folder = TempDir::new().unwrap();
    let mut capture = shop();
    capture.say(CLIENT, &request(3, 0, 9, &[0, 0, 0, 1, 1, 156, 1, 2, 3]));
    capture.say(BROKER, &response(99, &[1, 2, 3]));
    capture.say(CLIENT, &request(120, 5, 10, &[1, 2, 3]));
    let output = run(&[&capture.write(&folder, "odd.pcapng")]);
    let text = stdout(&output);
    let find = |what: &str| text.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {text}"));
    let fault = find("fault at");
    assert!(fault.ends_with("! fault at 0x0015: length 412 of 3 left"), "{fault}");
    assert!(fault.starts_with("      5! "), "{fault}");
    assert!(find("request not seen").contains(" ? "), "{text}");
    assert!(find("#120").ends_with("! unknown API or version, 3 B undecoded"), "{text}");
    assert!(!text.lines().take(6).any(|line| line.contains('!')), "{text}");
}

/// All lines of a capture in a terminal that is so many columns wide.
fn lines_in(path: &str, width: usize) -> String {
    struct Lines<'p> {
        writer: ListWriter<'p>,
        out: Vec<u8>,
    }
    impl<'p> MessageSink<'p> for Lines<'p> {
        fn message(&mut self, message: &Message<'_, 'p>) {
            self.writer.message(&mut self.out, message);
        }
        fn comment(&mut self, _: u64, text: &str) {
            self.writer.comment(&mut self.out, text);
        }
    }
    let catalog = Catalog::builtin();
    let writer = ListWriter::new(&catalog, ListOptions { width: Some(width), colour: false });
    let mut session = Session::new(&catalog, Options::default(), Lines { writer, out: Vec::new() });
    let mut reader = CaptureReader::new(fs::File::open(path).unwrap()).unwrap();
    while let Some(packet) = reader.next().unwrap() {
        session.packet(&packet);
    }
    session.finish();
    String::from_utf8(std::mem::take(&mut session.sink().out)).unwrap()
}

#[test]
fn lines_fit_the_terminal() {
    let folder = TempDir::new().unwrap();
    let mut capture = shop();
    let wide = "表".repeat(40);
    capture.segment(CLIENT, 0x18, &request(3, 0, 9, &metadata_request(wide.as_bytes())), Some(&wide.repeat(9)));
    capture.say(CLIENT, &request(3, 0, 9, &[0, 0, 0, 1, 1, 156, 1, 2, 3]));
    let path = capture.write(&folder, "shop.pcapng");
    for width in [80, 96, 100, 116, 120, 140, 200] {
        let text = lines_in(&path, width);
        assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        assert!(text.lines().any(|line| line.width() > width - 3), "{width}:\n{text}");
        // The mark says that the line is odd even where there is no room to say why.
        assert!(text.lines().last().unwrap().contains("! fault at"), "{width}:\n{text}");
    }
    assert_eq!(
        lines_in(&path, 80).lines().take(3).collect::<Vec<_>>(),
        [
            " No.      Time Client           Broker        API          Ver  Summary",
            "   1  0.000000 10.0.0.9:51522 → 10.0.0.1:9092 Metadata      v0  topics: orders",
            "   2  0.000700 10.0.0.9:51522 ← 10.0.0.1:9092 Metadata      v0  1 broker, order…",
        ]
    );
}

#[test]
fn what_is_not_kafka_is_not_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../shared/real/decoys", "../../shared/real/decoys"].map(|folder| root.join(folder));
    let Some(folder) = folders.iter().find(|folder| folder.exists()) else {
        eprintln!("SKIPPED: there is no folder ../shared/real/decoys");
        return;
    };
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
            assert_eq!(stdout(&run(&[path.to_str().unwrap()])), "", "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}

/// Runs a command that must not touch its input, and gives what it said.
fn refused(arguments: &[&str], input: &str) -> String {
    let before = fs::read(input).unwrap();
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    assert_eq!(fs::read(input).unwrap(), before, "{arguments:?}");
    stderr(&output)
}

#[test]
fn results_never_overwrite_what_they_are_made_from() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    let other = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let roundabout =
        format!("{}/../{}/shop.pcapng", folder.path().display(), folder.path().file_name().unwrap().display());
    fs::hard_link(&path, other("hard")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, other("soft")).unwrap();
    let names = [path.clone(), roundabout, other("hard"), other("soft")];
    for name in names.iter().filter(|name| Path::new(name.as_str()).exists()) {
        for command in ["list", "show", "export"] {
            let said = refused(&[command, &path, "-o", name], &path);
            assert!(said.contains("it is the input"), "{said}");
        }
        assert!(refused(&["list", "-r", name, "-o", &path], &path).contains("it is the input"));
    }
    let output = kafkascope().args(["list", "-", "-o", &path]).stdin(fs::File::open(&path).unwrap()).output().unwrap();
    assert_eq!((output.status.code(), fs::read(&path).unwrap().len()), (Some(2), shop().bytes.len()));

    let hex = path_in(&folder, "bytes.hex", b"0000000f 0012 0000 00000007 0001 63 0000");
    refused(&["explain", "-r", &hex, "-o", &hex], &hex);
    let draft = br#"{ "apiKey": 900, "type": "request", "name": "DraftRequest", "validVersions": "0", "flexibleVersions": "none",
        "fields": [ { "name": "Name", "type": "string", "versions": "0+" } ] }"#;
    let draft = path_in(&folder, "DraftRequest.json", draft);
    refused(&["list", &path, "--schemas", &draft, "-o", &draft], &draft);
    refused(&["schema", "diff", &draft, "MetadataRequest", "-o", &draft], &draft);

    // Any other file is written, also one that is there already.
    for _ in 0..2 {
        let output = run(&["list", &path, "-o", &other("list.txt")]);
        assert_eq!((output.status.code(), fs::read_to_string(other("list.txt")).unwrap().as_str()), (Some(0), SHOP));
    }
}

#[test]
fn a_message_that_is_not_there_is_said() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    for (arguments, lacking) in [
        (&["-m", "9"] as &[_], "9"),
        (&["-m", "2", "-m", "5", "-m", "7"], "5, 7"),
        (&["-m", "2-3,5-6"], "5-6"),
        (&["-m", "2,5,6,7,8,9,10,11,12,13,14-"], "5, 6, 7, 8, 9, 10, 11, 12, and 2 more"),
        (&["-m", "2,5-"], "5-"),
    ] {
        let output = run(&[&["show", path.as_str()], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        let expected =
            format!("kafkascope: there is no message {lacking}: the capture has 4 messages, numbered from 1\n");
        assert!(stderr(&output).ends_with(&expected), "{}", stderr(&output));
        assert_eq!(stdout(&output).starts_with("#2 "), arguments[1].starts_with('2'));
    }
    assert_eq!(run(&["show", &path, "-m", "0"]).status.code(), Some(2));
    assert_eq!(run(&["show", &path, "-m", "4"]).status.code(), Some(0));
    assert_eq!(run(&["show", &path, "-m", "3-9"]).status.code(), Some(0));
    assert_eq!(run(&["show", &path, "-c", "1", "-m", "1", "-m", "4"]).status.code(), Some(0));
}

#[test]
fn messages_are_chosen_by_their_numbers() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    for (chosen, expected) in [
        ("2", "2"),
        ("2-3", "2 3"),
        ("3-", "3 4"),
        ("1,3", "1 3"),
        ("1-2,4-", "1 2 4"),
        ("2-18446744073709551615", "2 3 4"),
    ] {
        let lines = stdout(&run(&["export", &path, "-m", chosen]));
        let found = lines.lines().map(|line| line.strip_prefix("{\"index\":").unwrap().split(',').next().unwrap());
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{chosen}");
        let trees = stdout(&run(&["show", &path, "-m", chosen]));
        let found = trees.lines().filter_map(|line| line.strip_prefix('#')).map(|line| line.split(' ').next().unwrap());
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{chosen}");
    }
    for wrong in ["0", "-1", "+3", "3-2", "a", "", "1-0", "2--3", "99999999999999999999"] {
        assert_eq!(run(&["show", &path, "-m", wrong]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn help_is_found_where_people_look_for_it() {
    let output = run(&["shop.pcapng", "-m", "5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("kafkascope show -m N FILE"), "{}", stderr(&output));
    let output = run(&["help", "show"]);
    assert_eq!((output.status.code(), output.stdout.clone()), (Some(0), run(&["show", "--help"]).stdout));
    assert_eq!(run(&["help"]).stdout, run(&["--help"]).stdout);
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        let output = kafkascope().arg("--help").stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).starts_with("kafkascope: cannot write the help: "), "{}", stderr(&output));
    } else {
        eprintln!("skipped: there is no /dev/full");
    }
}

#[test]
fn numbers_out_of_range_are_told_as_such() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    for arguments in [
        ["list", "-c", "0"],
        ["list", "-c", "-1"],
        ["list", "--port", "-1"],
        ["list", "--max-frame", "-1"],
        ["export", "--max-inflate", "-5"],
        ["show", "-m", "0"],
        ["show", "-m", "-1"],
        ["layout", "--version", "-x"],
    ] {
        let output = run(&[&arguments[..], &[&path]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        let is_number = arguments[2] != "-x";
        assert_eq!(said.contains(&format!("invalid value '{}'", arguments[2])), is_number, "{said}");
        assert!(!said.contains("no Kafka messages found") && (!is_number || !said.contains("'-- -")), "{said}");
    }
}

#[test]
fn a_dash_is_standard_output() {
    let folder = TempDir::new().unwrap();
    let path = shop().write(&folder, "shop.pcapng");
    let output = kafkascope().current_dir(folder.path()).args(["list", &path, "-o", "-"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), SHOP));
    assert!(!folder.path().join("-").exists());
}

#[test]
fn messages_with_faults_are_counted() {
    let folder = TempDir::new().unwrap();
    let mut capture = shop();
    capture.say(CLIENT, &request(3, 0, 9, &[0, 0, 0, 1, 1, 156, 1, 2, 3]));
    capture.say(CLIENT, &request(3, 0, 10, &[0, 0, 0, 9]));
    let path = capture.write(&folder, "odd.pcapng");
    // The list does not open records; the checksum of that in #3 is not right.
    for (arguments, count) in [(&["list"] as &[_], 2), (&["export"], 3), (&["export", "-f", "tree"], 3), (&["show"], 3)]
    {
        let expected = format!("kafkascope: {count} messages with faults\n");
        assert_eq!(stderr(&run(&[arguments, &[&path]].concat())), expected);
    }
    // What is not shown is not looked into.
    assert_eq!(stderr(&run(&["show", &path, "-m", "5"])), "kafkascope: 1 message with faults\n");
    assert_eq!(stderr(&run(&["show", &path, "-m", "1"])), "");
}

/// A name that is long, an error and much to say, comments without end: for other programs columns are fixed.
#[test]
fn columns_hold_when_piped() {
    let folder = TempDir::new().unwrap();
    let mut capture = shop();
    // DescribeUserScramCredentials v0 has no users to describe and flexible headers.
    capture.segment(CLIENT, 0x18, &request(50, 0, 9, &[0, 0, 0]), Some(&"c".repeat(60_000)));
    let text = stdout(&run(&[&capture.write(&folder, "wide.pcapng")]));
    let column = |line: &str| line.split(" v0 ").next().unwrap().width();
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !line.starts_with("-- ")).collect();
    assert!(lines.iter().all(|line| column(line) == column(lines[0])), "{text}");
    assert!(text.contains(" DescribeUserScramCredentials "), "{text}");
    assert!(text.lines().all(|line| line.width() < 500), "a comment is cut");
}

#[test]
fn an_error_is_never_run_into_what_follows_it() {
    let folder = TempDir::new().unwrap();
    let mut capture = Capture::new();
    capture.say(CLIENT, &request(18, 0, 7, &[]));
    // UNSUPPORTED_VERSION and the versions of one API.
    capture.say(BROKER, &response(7, &[0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]));
    let path = capture.write(&folder, "fallback.pcapng");
    for width in 70..130 {
        let text = lines_in(&path, width);
        let (_, behind) = text.split_once("UNSUPPORT").unwrap_or_else(|| panic!("{width}: {text}"));
        let behind = behind.trim_start_matches(|letter: char| letter == '_' || letter.is_ascii_uppercase());
        assert!(["\n", "…\n", ", "].iter().any(|start| behind.starts_with(start)), "{width}: {text}");
    }
}
