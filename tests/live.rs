//! `kafkascope live` over the loopback interface: a client's traffic is replayed from a capture over real sockets, and the
//! messages that come live are those of the capture.
//!
//! Where the tests may not capture, they say so and pass; run as root they must.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use kafkascope::capture::live::DEFAULT_FILTER;
use kafkascope::capture::{CaptureReader, segment};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "common/json.rs"]
mod json;
use json::Json;

const LOOPBACK: &str = if cfg!(target_os = "linux") { "lo" } else { "lo0" };
/// A machine that is slower than this is not there.
const LONGEST: Duration = Duration::from_mins(2);

/// Whether captures can be made here; if not, it says why.
fn may_capture() -> bool {
    let mut capture = Command::new(env!("CARGO_BIN_EXE_kafkascope-capture"));
    let output = capture.args(["-i", LOOPBACK, "-c", "0"]).output().unwrap();
    if !output.status.success() {
        eprintln!("SKIPPED: nothing can be captured here: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    output.status.success()
}

/// What one side of a connection sends before the other one does.
struct Turn {
    is_client: bool,
    bytes: Vec<u8>,
}

/// The connection of a capture with this client port.
fn turns(capture: &str, client: u16) -> Vec<Turn> {
    let mut reader = CaptureReader::new(File::open(capture).unwrap()).unwrap();
    let mut turns: Vec<Turn> = Vec::new();
    let mut next: [Option<u32>; 2] = [None; 2];
    while let Some(packet) = reader.next().unwrap() {
        let Ok(segment) = segment(&packet) else { continue };
        let is_client = segment.source.port() == client;
        if segment.payload.is_empty() || !(is_client || segment.destination.port() == client) {
            continue;
        }
        // What was sent again is sent once here.
        let next = &mut next[usize::from(is_client)];
        if next.is_some_and(|next| next != segment.sequence) {
            continue;
        }
        *next = Some(segment.sequence.wrapping_add(segment.payload.len() as u32));
        match turns.last_mut() {
            Some(turn) if turn.is_client == is_client => turn.bytes.extend(segment.payload),
            _ => turns.push(Turn { is_client, bytes: segment.payload.to_vec() }),
        }
    }
    assert!(turns.len() > 4);
    turns
}

/// Replays turns between two sockets. Each side reads all that the other one has sent before it answers.
fn replay(turns: &[Turn], listener: &TcpListener) -> SocketAddr {
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut broker, address) = listener.accept().unwrap();
    for socket in [&client, &broker] {
        socket.set_nodelay(true).unwrap();
    }
    for turn in turns {
        let (from, to) = if turn.is_client { (&mut client, &mut broker) } else { (&mut broker, &mut client) };
        thread::scope(|scope| {
            scope.spawn(|| from.write_all(&turn.bytes).unwrap());
            to.read_exact(&mut vec![0; turn.bytes.len()]).unwrap();
        });
    }
    address
}

/// `kafkascope live` that is running.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Starts it and waits until it captures: then the file that it writes is there.
    fn start(arguments: &[&str], recorded: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kafkascope"));
        command.args(["live", LOOPBACK]).args(arguments).arg("-w").arg(recorded);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                // Nobody listens any more when the test has failed.
                let _ = sender.send(line.unwrap());
            }
        });
        let mut running = Self { child, lines };
        let start = Instant::now();
        while !recorded.exists() {
            assert!(running.child.try_wait().unwrap().is_none(), "it ended");
            assert!(start.elapsed() < LONGEST, "it does not capture");
            thread::sleep(Duration::from_millis(5));
        }
        running
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(LONGEST).expect("a line that was to come")
    }

    /// Ends it as ctrl-c does, and gives what else it printed.
    fn end(mut self) -> (Output, Vec<String>) {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGINT).unwrap();
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if start.elapsed() > LONGEST {
                self.child.kill().unwrap();
                panic!("it does not end");
            }
            thread::sleep(Duration::from_millis(5));
        }
        let rest = self.lines.iter().collect();
        (self.child.wait_with_output().unwrap(), rest)
    }
}

/// What is the same in a capture and where it is replayed: all but times, addresses, packets and connections.
fn essence(line: &str) -> Vec<Json> {
    let message = Json::read(line.as_bytes()).unwrap();
    let keys =
        ["type", "api", "apiVersion", "correlationId", "clientId", "size", "request", "header", "body", "faults"];
    keys.map(|key| message.at(key).clone()).to_vec()
}

fn kafkascope(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kafkascope")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/44-librdkafka-admin.pcap");

/// The NDJSON of the capture's last connection, which is the one that does the work, and what was said in it.
fn reference() -> (Vec<String>, Vec<Turn>) {
    let lines: Vec<String> = kafkascope(&["export", "-q", CAPTURE]).lines().map(str::to_owned).collect();
    let ends = |line: &str| Json::read(line.as_bytes()).unwrap().at("client").text().unwrap().to_owned();
    let client = ends(lines.last().unwrap());
    let of_last: Vec<String> = lines.into_iter().filter(|line| ends(line) == client).collect();
    (of_last, turns(CAPTURE, client.rsplit_once(':').unwrap().1.parse().unwrap()))
}

#[test]
fn what_is_replayed_comes_as_json_while_it_happens() {
    if !may_capture() {
        return;
    }
    let (expected, turns) = reference();
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("live.pcapng");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let filter = format!("tcp port {}", listener.local_addr().unwrap().port());
    let running = Running::start(&[&filter, "--export"], &recorded);
    let address = replay(&turns, &listener);
    let mut lines = Vec::new();
    // They are there before it is told to end.
    while lines.len() < expected.len() {
        lines.push(running.line());
    }
    let (output, rest) = running.end();
    assert_eq!(rest, Vec::<String>::new());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for (line, expected) in lines.iter().zip(&expected) {
        // Numbers of messages are those of the connection here.
        assert_eq!(essence(line)[..6], essence(expected)[..6]);
        assert_eq!(essence(line)[7..], essence(expected)[7..]);
        assert_eq!(Json::read(line.as_bytes()).unwrap().at("client").text().unwrap(), address.to_string());
    }
    // What was recorded has the same messages.
    let path = recorded.to_str().unwrap();
    let again: Vec<String> = kafkascope(&["export", path]).lines().map(str::to_owned).collect();
    assert!(again == lines, "the recording differs");
}

#[test]
fn what_is_replayed_comes_as_lines_and_what_is_not_kafka_does_not() {
    if !may_capture() {
        return;
    }
    let (expected, turns) = reference();
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("live.pcapng");
    let [kafka, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [port, other_port] = [&kafka, &other].map(|listener| listener.local_addr().unwrap().port());
    // Words of a filter may be given one by one.
    let ports = [port.to_string(), other_port.to_string()];
    let running = Running::start(&["port", &ports[0], "or", "port", &ports[1], "--list"], &recorded);
    replay(&decoys(), &other);
    replay(&turns, &kafka);
    replay(&decoys(), &other);
    let heading = running.line();
    assert!(heading.contains("Client") && heading.contains("Summary"), "{heading}");
    let lines: Vec<String> = expected.iter().map(|_| running.line()).collect();
    let (output, rest) = running.end();
    assert_eq!(rest, Vec::<String>::new());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for (line, expected) in lines.iter().zip(&expected) {
        assert!(line.contains(&format!(":{port} ")), "{line}");
        let api = Json::read(expected.as_bytes()).unwrap().at("api").text().unwrap().to_owned();
        let shown: String = api.chars().take(15).collect();
        assert!(line.contains(&shown), "{line} is no {api}");
    }
}

/// What other protocols say, with beginnings that look like a frame's size among them.
fn decoys() -> Vec<Turn> {
    let said: [(bool, &[u8]); 6] = [
        (true, b"GET /metrics HTTP/1.1\r\nHost: broker:9092\r\n\r\n"),
        (false, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nkafka"),
        (true, b"\x00\x00\x00\x10\x00\x03\x00\x00PostgreSQL??"),
        (false, b"R\x00\x00\x00\x08\x00\x00\x00\x00"),
        (true, b"*1\r\n$4\r\nPING\r\n"),
        (false, b"+PONG\r\n"),
    ];
    said.map(|(is_client, bytes)| Turn { is_client, bytes: bytes.to_vec() }).into()
}

#[test]
fn traffic_that_is_not_kafka_has_no_messages() {
    if !may_capture() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("live.pcapng");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let filter = format!("port {}", listener.local_addr().unwrap().port());
    let running = Running::start(&[&filter, "--export"], &recorded);
    replay(&decoys(), &listener);
    let (output, lines) = running.end();
    assert_eq!(lines, Vec::<String>::new());
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("no Kafka messages found, 1 connection of HTTP"), "{says}");
    // It was captured all the same.
    let mut reader = CaptureReader::new(File::open(&recorded).unwrap()).unwrap();
    let mut bytes = 0;
    while let Some(packet) = reader.next().unwrap() {
        bytes += segment(&packet).map_or(0, |segment| segment.payload.len());
    }
    assert_eq!(bytes, decoys().iter().map(|turn| turn.bytes.len()).sum::<usize>());
}

#[test]
fn a_ring_and_limits() {
    if !may_capture() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let filter = format!("port {}", listener.local_addr().unwrap().port());
    let first = folder.path().join("ring_00001.pcapng");
    let path = folder.path().join("ring.pcapng");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kafkascope"));
    command.args([
        "live",
        "-i",
        LOOPBACK,
        &filter,
        "--list",
        "--packets",
        "40",
        "--ring-size",
        "1k",
        "--ring-files",
        "3",
    ]);
    let mut child = command.arg("-w").arg(&path).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !first.exists() {
        assert!(start.elapsed() < LONGEST, "it does not capture");
        thread::sleep(Duration::from_millis(5));
    }
    while child.try_wait().unwrap().is_none() {
        replay(&decoys(), &listener);
        assert!(start.elapsed() < LONGEST, "it does not end");
    }
    assert!(child.wait().unwrap().success());
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(!first.exists());
    for name in &names {
        let mut reader = CaptureReader::new(File::open(folder.path().join(name)).unwrap()).unwrap();
        let mut packets = 0;
        while let Some(packet) = reader.next().unwrap() {
            packets += 1;
            segment(&packet).unwrap();
        }
        assert!(packets > 0, "{name} is empty");
    }
}

#[test]
fn what_cannot_be_captured_is_said() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kafkascope"));
        let output = command.args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, says) = run(&["live", "no-such-0", "--list"]);
    assert_eq!(code, Some(2));
    assert!(says.starts_with("kafkascope: cannot capture on no-such-0: "), "{says}");
    let (code, says) = run(&["live", LOOPBACK, "--list", "--ring-files", "3"]);
    assert_eq!(code, Some(2), "{says}");
    for wrong in [["--duration", "soon"], ["--size", "0"], ["--ring-size", "2x"], ["--snaplen", "999999"]] {
        let (code, says) = run(&[&["live", LOOPBACK, "--list", "-w", "/nowhere/x"][..], &wrong].concat());
        assert_eq!(code, Some(2), "{says}");
        assert!(says.contains(wrong[0]), "{says}");
    }
    // Results would be written into what is captured.
    let folder = tempfile::tempdir().unwrap();
    let [ring, output] = ["shop.pcapng", "shop_00001.pcapng"].map(|name| folder.path().join(name));
    let [ring, output] = [&ring, &output].map(|path| path.to_str().unwrap());
    let (code, says) = run(&["live", LOOPBACK, "--list", "-w", ring, "--ring-size", "1k", "--force", "-o", output]);
    assert_eq!(code, Some(2), "{says}");
    assert!(says.contains("it may be a file of the ring"), "{says}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    if may_capture() {
        let (code, says) = run(&["live", LOOPBACK, "prt", "7", "--list"]);
        assert_eq!(code, Some(2));
        assert!(says.contains("the filter \"prt 7\": "), "{says}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("there.pcapng");
        fs::write(&path, "precious").unwrap();
        let (code, says) = run(&["live", LOOPBACK, "--list", "-w", path.to_str().unwrap()]);
        assert_eq!(code, Some(2));
        assert!(says.contains("--force"), "{says}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}

/// On Ethernet (as which loopback looks on Linux) and cooked.
#[test]
fn what_is_captured_where_nobody_says_has_a_meaning() {
    if !may_capture() {
        return;
    }
    for interface in if cfg!(target_os = "linux") { &[LOOPBACK, "any"][..] } else { &[LOOPBACK] } {
        let mut capture = Command::new(env!("CARGO_BIN_EXE_kafkascope-capture"));
        let output = capture.args(["-i", interface, "-c", "0", "-f", DEFAULT_FILTER]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn interfaces_are_listed() {
    if !may_capture() {
        return;
    }
    let text = kafkascope(&["live"]);
    let lines: Vec<&str> = text.lines().collect();
    let column = lines[0].find("Addresses").unwrap();
    let loopback = lines.iter().find(|line| line.split_whitespace().next() == Some(LOOPBACK)).unwrap();
    assert!(loopback[column..].starts_with("127.0.0.1"), "{text}");
    assert!(loopback.contains("up, loopback"), "{text}");
}
