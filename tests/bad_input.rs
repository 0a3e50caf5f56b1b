//! Files that are not captures, damaged ones, and noise: never a panic, what can be read is read, and the exit code says
//! what happened (2: cannot be opened, 3: damaged or cut short).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "common/json.rs"]
mod json;

use std::fs;
use std::path::Path;

use json::Json;
use kafkascope::capture::{CaptureError, CaptureReader};
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::dissect::Opening;
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::protocol::Catalog;

/// What the library makes of a file: a line a message, and what ended it early.
struct Decoded {
    lines: Vec<String>,
    error: Option<CaptureError>,
}

fn decode(catalog: &Catalog, file: &[u8]) -> Decoded {
    struct Lines<'p> {
        writer: NdjsonWriter<'p>,
        lines: Vec<String>,
    }
    impl<'p> MessageSink<'p> for Lines<'p> {
        fn message(&mut self, message: &Message<'_, 'p>) {
            let mut line = Vec::new();
            self.writer.message(&mut line, message);
            self.lines.push(String::from_utf8(line).unwrap());
        }
    }
    let lines = Lines { writer: NdjsonWriter::new(Opening::new(catalog), true), lines: Vec::new() };
    let mut session = Session::new(catalog, Options::default(), lines);
    let mut error = None;
    match CaptureReader::new(file) {
        Err(unreadable) => error = Some(unreadable),
        Ok(mut reader) => loop {
            match reader.next() {
                Ok(Some(packet)) => session.packet(&packet),
                Ok(None) => break,
                Err(damage) => {
                    error = Some(damage);
                    break;
                }
            }
        },
    }
    session.finish();
    Decoded { lines: std::mem::take(&mut session.sink().lines), error }
}

impl Decoded {
    /// The exit code that the program would have.
    fn code(&self) -> i32 {
        self.error.as_ref().map_or(0, |error| if error.is_unreadable() { 2 } else { 3 })
    }

    /// Every line is one JSON object without a key that stands twice.
    fn check(&self) -> Vec<Json> {
        self.lines.iter().map(|line| read(line)).collect()
    }
}

/// Reads a line, which must be one JSON object.
fn read(line: &str) -> Json {
    let json = Json::read(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert!(matches!(json.at("type").text(), Some("request" | "response")), "{line}");
    json
}

/// A record of a pcap file: its header and its bytes.
#[derive(Clone)]
struct Record {
    seconds: u32,
    microseconds: u32,
    captured: u32,
    original: u32,
    data: Vec<u8>,
}

/// The file header and the first records of one of the project's captures.
fn records(name: &str, count: usize) -> (Vec<u8>, Vec<Record>) {
    let file = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name)).unwrap();
    let (header, mut rest) = file.split_at(24);
    let mut records = Vec::new();
    while records.len() < count && !rest.is_empty() {
        let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let captured = number(8);
        let data = rest[16..16 + captured as usize].to_vec();
        records.push(Record { seconds: number(0), microseconds: number(4), captured, original: number(12), data });
        rest = &rest[16 + captured as usize..];
    }
    (header.to_vec(), records)
}

fn pcap(header: &[u8], records: &[Record]) -> Vec<u8> {
    let mut file = header.to_vec();
    for record in records {
        for number in [record.seconds, record.microseconds, record.captured, record.original] {
            file.extend(number.to_le_bytes());
        }
        file.extend(&record.data);
    }
    file
}

/// A pcapng block.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = u32::try_from(12 + body.len() + padding).unwrap().to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &vec![0; padding], &length].concat()
}

/// The blocks of a pcapng file: section header, interface (Ethernet), the records as enhanced packets.
fn blocks(records: &[Record]) -> Vec<Vec<u8>> {
    let section = block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    let interface = block(1, &[1, 0, 0, 0, 0, 0, 4, 0]);
    let packet = |record: &Record| {
        let time = u64::from(record.seconds) * 1_000_000 + u64::from(record.microseconds);
        let (high, low) = ((time >> 32) as u32, time as u32);
        let mut body = Vec::new();
        for number in [0, high, low, record.captured, record.original] {
            body.extend(number.to_le_bytes());
        }
        body.extend(&record.data);
        block(6, &body)
    };
    [section, interface].into_iter().chain(records.iter().map(packet)).collect()
}

/// What the program itself does with a file: its exit code, the lines of standard output, standard error.
fn run(file: &[u8]) -> (i32, usize, String) {
    let mut capture = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut capture, file).unwrap();
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").arg("export").arg(capture.path()).output().unwrap();
    let lines = output.stdout.split(|byte| *byte == b'\n').count() - 1;
    (output.status.code().expect("no signal"), lines, String::from_utf8(output.stderr).unwrap())
}

const SMALL: &str = "39-sarama-0.10.pcap";

#[test]
fn what_is_not_a_capture_is_refused_and_named() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let cases: [(&[u8], &str); 6] = [
        (b"", "empty"),
        (b"GET / HTTP/1.1\r\n\r\n", "text"),
        (&gzip, "gzip"),
        (b"CLIENT_RANDOM 00 11\n", "key log"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", "program"),
        (&[0; 64], "none of the formats"),
    ];
    for (file, name) in cases {
        // Compressed captures may be opened one day; these few bytes are none in any case.
        let (code, lines, errors) = run(file);
        assert_eq!((code, lines), (2, 0), "{name}: {errors}");
        assert!(errors.starts_with("kafkascope: "), "{errors}");
        if name != "gzip" {
            assert!(errors.contains(name), "{name}: {errors}");
        }
    }
}

#[test]
fn what_is_not_there_or_not_a_file_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("nothing.pcap"), folder.path().to_owned()] {
        let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").arg("export").arg(&path).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(path.to_str().unwrap()), "{errors}");
    }
}

/// Cuts a file at every byte and checks what is still read. `ends` are the places between records, with the number of
/// packets before each.
fn check_cuts(file: &[u8], header: usize, ends: &[(usize, u64)]) {
    let catalog = Catalog::builtin();
    let whole = decode(&catalog, file);
    assert!(whole.error.is_none() && whole.lines.len() > 8, "{}", whole.lines.len());
    // The last packet that each message needs, in the order of the messages.
    let needed: Vec<i64> =
        whole.check().iter().map(|line| line.at("packets").elements().last().unwrap().int().unwrap()).collect();
    for cut in 0..file.len() {
        let decoded = decode(&catalog, &file[..cut]);
        let is_end = ends.iter().any(|(end, _)| *end == cut);
        let expected = if cut < header {
            2
        } else if is_end {
            0
        } else {
            3
        };
        assert_eq!(decoded.code(), expected, "cut at byte {cut}: {:?}", decoded.error);
        let packets = ends.iter().rfind(|(end, _)| *end <= cut).map_or(0, |(_, packets)| packets.cast_signed());
        let before = needed.iter().take_while(|needed| **needed <= packets).count();
        assert!(decoded.lines.len() >= before, "cut at byte {cut}");
        assert_eq!(decoded.lines[..before], whole.lines[..before], "cut at byte {cut}");
        for line in decoded.lines[before..].iter().map(|line| read(line)) {
            assert!(line.at("gap").int().is_some(), "cut at byte {cut}: {line:?}");
        }
    }
}

#[test]
fn a_pcap_file_cut_at_every_byte() {
    let (header, records) = records(SMALL, 32);
    let ends: Vec<(usize, u64)> =
        (0..=records.len()).map(|count| (pcap(&header, &records[..count]).len(), count as u64)).collect();
    check_cuts(&pcap(&header, &records), 24, &ends);
}

#[test]
fn a_pcapng_file_cut_at_every_byte() {
    let (_, records) = records(SMALL, 32);
    let blocks = blocks(&records);
    let ends: Vec<(usize, u64)> =
        (1..=blocks.len()).map(|count| (blocks[..count].concat().len(), count.saturating_sub(2) as u64)).collect();
    check_cuts(&blocks.concat(), ends[0].0, &ends);
}

#[test]
fn the_program_says_where_a_capture_was_cut() {
    let (header, records) = records(SMALL, 24);
    let file = pcap(&header, &records);
    let catalog = Catalog::builtin();
    for (cut, code) in [(10, 2), (24, 0), (30, 3), (file.len() - 1, 3), (file.len(), 0)] {
        let decoded = decode(&catalog, &file[..cut]);
        let (found, lines, errors) = run(&file[..cut]);
        assert_eq!((found, lines), (code, decoded.lines.len()), "{errors}");
        assert_eq!(errors.contains("cut short"), code != 0, "{errors}");
    }
}

#[test]
fn more_captured_than_there_was() {
    let (header, mut records) = records(SMALL, 24);
    let catalog = Catalog::builtin();
    let whole = decode(&catalog, &pcap(&header, &records));
    for record in &mut records {
        record.original = 1;
    }
    let decoded = decode(&catalog, &pcap(&header, &records));
    assert!(decoded.error.is_none());
    assert_eq!(decoded.lines, whole.lines);
}

#[test]
fn packets_without_a_byte() {
    let (header, mut records) = records(SMALL, 24);
    let catalog = Catalog::builtin();
    let whole = decode(&catalog, &pcap(&header, &records));
    let mut empty = records[0].clone();
    (empty.captured, empty.data) = (0, Vec::new());
    // In front of all others: numbers move by one, nothing else.
    records.insert(0, empty.clone());
    let decoded = decode(&catalog, &pcap(&header, &records));
    assert_eq!(decoded.code(), 0);
    assert_eq!(decoded.lines.len(), whole.lines.len());
    for (line, before) in decoded.check().iter().zip(whole.check()) {
        let numbers =
            |line: &Json| line.at("packets").elements().iter().map(|number| number.int().unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers(line), numbers(&before).iter().map(|number| number + 1).collect::<Vec<_>>());
        assert_eq!(line.at("body"), before.at("body"));
    }
    // Nothing but such packets.
    let (code, lines, errors) = run(&pcap(&header, &vec![empty; 8]));
    assert_eq!((code, lines), (0, 0), "{errors}");
    assert!(errors.contains("no Kafka messages found"), "{errors}");
}

#[test]
fn records_of_absurd_length() {
    let (header, records) = records(SMALL, 24);
    let catalog = Catalog::builtin();
    let before = decode(&catalog, &pcap(&header, &records[..16]));
    let without: Vec<_> = records[..16].iter().chain(&records[17..]).cloned().collect();
    let around = decode(&catalog, &pcap(&header, &without));
    for length in [u32::MAX, 1 << 31, 1 << 30, 1 << 28] {
        let mut records = records.clone();
        records[16].captured = length;
        let file = pcap(&header, &records);
        let decoded = decode(&catalog, &file);
        assert_eq!(decoded.code(), 3, "{length}");
        assert_eq!(decoded.lines, before.lines, "{length}");
        let (code, lines, errors) = run(&file);
        // The program reads on behind the damage.
        assert_eq!((code, lines), (3, around.lines.len()), "{errors}");
        assert!(errors.contains(&length.to_string()) || errors.contains("cut short"), "{errors}");
    }
}

#[test]
fn blocks_of_unknown_types_are_passed_over() {
    let (_, records) = records(SMALL, 24);
    let catalog = Catalog::builtin();
    let blocks = blocks(&records);
    let whole = decode(&catalog, &blocks.concat());
    let mut with_others = Vec::new();
    for (number, packet) in blocks.iter().enumerate() {
        with_others.extend(packet);
        let kind = [0x0bad, 0xffff_ffff, 0x8000_0001, 0x0000_0009][number % 4];
        with_others.extend(block(kind, &vec![0xaa; number * 7]));
    }
    let decoded = decode(&catalog, &with_others);
    assert!(decoded.error.is_none(), "{:?}", decoded.error);
    assert_eq!(decoded.lines, whole.lines);
}

#[test]
fn blocks_of_wrong_length_end_the_capture() {
    let (_, records) = records(SMALL, 24);
    let catalog = Catalog::builtin();
    let blocks = blocks(&records);
    let before = decode(&catalog, &blocks[..18].concat());
    let right = u32::try_from(blocks[18].len()).unwrap();
    for wrong in [0, 4, 11, 12, 28, right - 1, right + 2, right + 4, right - 4, u32::MAX, u32::MAX - 3] {
        for (at, what) in [(4, "in front"), (blocks[18].len() - 4, "behind")] {
            let mut blocks = blocks.clone();
            blocks[18][at..at + 4].copy_from_slice(&wrong.to_le_bytes());
            let decoded = decode(&catalog, &blocks.concat());
            assert_eq!(decoded.code(), 3, "{wrong} {what}");
            assert_eq!(decoded.lines, before.lines, "{wrong} {what}");
        }
    }
}

/// The bytes of captures with some of them changed; the same ones at every run.
fn changed(file: &[u8], seed: u64) -> Vec<u8> {
    let mut generator = fastrand::Rng::with_seed(seed);
    let mut changed = file.to_vec();
    for _ in 0..generator.usize(1..6) {
        let place = generator.usize(..changed.len());
        changed[place] = match generator.u8(..4) {
            0 => changed[place] ^ (1 << generator.u8(..8)),
            1 => 0,
            2 => 0xff,
            _ => generator.u8(..),
        };
    }
    changed
}

#[test]
fn noise_in_captures() {
    let catalog = Catalog::builtin();
    let names =
        [SMALL, "39-sarama-sasl-v0-scram.pcap", "39-java-0.9.0.1-gzip.pcap", "44-java-acks0.pcap", "44-any-sll2.pcap"];
    let mut messages = 0;
    for (number, name) in (0..).zip(names) {
        let (header, records) = records(name, 60);
        let file = pcap(&header, &records);
        for seed in 0..120 {
            messages += decode(&catalog, &changed(&file, 1000 * number + seed)).check().len();
        }
        let file = blocks(&records).concat();
        for seed in 0..60 {
            messages += decode(&catalog, &changed(&file, 1000 * number + 500 + seed)).check().len();
        }
    }
    // Most of it is still read.
    assert!(messages > 10_000, "{messages}");
}

#[test]
fn noise_in_payloads_only() {
    // Headers stay whole, so that all noise reaches the messages.
    let catalog = Catalog::builtin();
    let mut faults = 0;
    for name in [SMALL, "44-java-acks0.pcap", "44-java-tokens.pcap"] {
        let (header, records) = records(name, 60);
        for seed in 0..100 {
            let mut records = records.clone();
            let mut generator = fastrand::Rng::with_seed(seed);
            for _ in 0..4 {
                let number = generator.usize(..records.len());
                let data = &mut records[number].data;
                // Ethernet, IPv4 and TCP with time stamps.
                if data.len() > 66 {
                    let place = generator.usize(66..data.len());
                    data[place] =
                        if generator.bool() { generator.u8(..) } else { [0, 0x7f, 0x80, 0xff][generator.usize(..4)] };
                }
            }
            let lines = decode(&catalog, &pcap(&header, &records)).check();
            faults += lines.iter().filter(|line| !line.at("faults").elements().is_empty()).count();
        }
    }
    assert!(faults > 50, "{faults}");
}

#[test]
fn noise_in_what_the_program_shows() {
    let (header, records) = records(SMALL, 60);
    let file = pcap(&header, &records);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.pcap");
    for seed in 0..12 {
        fs::write(&path, changed(&file, 77_000 + seed)).unwrap();
        for arguments in [&["show"][..], &["show", "--verbose"], &["export", "--format", "tree"]] {
            let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").args(arguments).arg(&path).output().unwrap();
            let errors = String::from_utf8(output.stderr).unwrap();
            assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{seed} {arguments:?}: {errors}");
            assert!(std::str::from_utf8(&output.stdout).is_ok());
        }
    }
}
