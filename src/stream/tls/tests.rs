#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod keys;
mod lost;
mod script;

use std::net::SocketAddr;

use super::*;
use crate::capture::{Place, Time};
use crate::stream::{Extent, GapCause};
use script::{Script, Talk};

/// What is told of a connection: bytes, or None for one that is missing; and where holes of unknown extent are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    streams: [Vec<Option<u8>>; 2],
    unknown: [Vec<usize>; 2],
    records: [Vec<u32>; 2],
    gaps: Vec<(u64, Extent)>,
    tls: Option<Tls>,
    closed: bool,
}

impl Told {
    fn bytes(&self, direction: Direction) -> Vec<u8> {
        self.streams[direction as usize].iter().map(|byte| byte.unwrap_or(b'?')).collect()
    }
}

impl StreamSink for Told {
    fn open(&mut self, connection: &Connection) {
        assert!(self.tls.is_none());
        self.tls = connection.tls;
    }

    fn data(&mut self, _: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        let stream = &mut self.streams[direction as usize];
        assert_eq!(origin.offset, stream.len() as u64);
        stream.extend(bytes.iter().map(|byte| Some(*byte)));
        self.records[direction as usize].push(origin.record);
    }

    fn gap(&mut self, _: &Connection, direction: Direction, gap: Gap) {
        let stream = &mut self.streams[direction as usize];
        assert_eq!(gap.offset, stream.len() as u64);
        stream.resize(stream.len() + gap.missing as usize, None);
        self.gaps.push((gap.missing, gap.extent));
        if gap.extent == Extent::Unknown {
            self.unknown[direction as usize].push(stream.len());
        }
    }

    fn close(&mut self, _: &Connection, _: Close) {
        self.closed = true;
    }
}

fn connection(handshake: bool) -> Connection {
    Connection {
        id: ConnectionId(1),
        initiator: SocketAddr::from(([10, 0, 0, 1], 40_000)),
        responder: SocketAddr::from(([10, 0, 0, 2], 9093)),
        handshake,
        opened: Time::default(),
        tls: None,
    }
}

/// A part of a stream, or a hole of so many bytes.
#[derive(Debug, Clone)]
enum Part {
    Data(Vec<u8>),
    Lost(usize),
}

/// What was said, in segments of at most so many bytes.
fn segments(script: &Script, most: usize) -> Vec<(Direction, Part)> {
    let cut = |(direction, bytes): &(Direction, Vec<u8>)| {
        bytes.chunks(most).map(|part| (*direction, Part::Data(part.to_vec()))).collect::<Vec<_>>()
    };
    script.steps.iter().flat_map(cut).collect()
}

fn lost(part: &Part) -> Part {
    match part {
        Part::Data(bytes) => Part::Lost(bytes.len()),
        Part::Lost(count) => Part::Lost(*count),
    }
}

/// Lets a connection be told, with a key log that comes before the part with a number, or behind the close.
fn told_late(parts: &[(Direction, Part)], log: &str, late: usize) -> (Told, Counters) {
    let mut decrypting = Decrypting::new(Told::default());
    let connection = connection(true);
    // There is a place from which keys may come.
    decrypting.learn(b"# a key log\n");
    decrypting.open(&connection);
    let mut refused = false;
    let mut offsets = [0, 0];
    for (number, (direction, part)) in (0..).zip(parts) {
        if number == late {
            decrypting.learn(log.as_bytes());
        }
        let offset = &mut offsets[*direction as usize];
        let (packet, time) = (number as u64 + 1, Time::from_nanoseconds((number as u64).cast_signed()));
        match part {
            Part::Data(bytes) => {
                let origin = Origin { packet, time, offset: *offset, place: Place::NOWHERE, record: 0 };
                decrypting.data(&connection, *direction, bytes, origin);
                *offset += bytes.len() as u64;
            }
            Part::Lost(count) => {
                let missing = *count as u64;
                let gap =
                    Gap { offset: *offset, missing, extent: Extent::Exact, cause: GapCause::NotCaptured, packet, time };
                decrypting.gap(&connection, *direction, gap);
                *offset += missing;
            }
        }
        refused = decrypting.refuses();
        if refused {
            break;
        }
    }
    if late == parts.len() {
        decrypting.learn(log.as_bytes());
    }
    if !refused {
        decrypting.close(&connection, Close::EndOfCapture);
    }
    if late > parts.len() {
        // Until then it is counted as what it is.
        assert_eq!(decrypting.counters(), Counters { without_keys: 1, ..Counters::default() });
        decrypting.learn(log.as_bytes());
    }
    decrypting.finish();
    assert!(decrypting.states.is_empty() && decrypting.closed.is_empty());
    assert_eq!(decrypting.waiting, 0);
    let counters = decrypting.counters();
    (std::mem::take(decrypting.sink_mut()), counters)
}

fn told(parts: &[(Direction, Part)], log: &str) -> (Told, Counters) {
    told_late(parts, log, 0)
}

fn assert_whole(script: &Script, told: &Told, what: &str) {
    for direction in [Direction::Forward, Direction::Backward] {
        let said = script.said(direction);
        assert!(
            told.bytes(direction) == said,
            "{what}, {direction:?}: {} of {}",
            told.bytes(direction).len(),
            said.len()
        );
        assert!(told.unknown[direction as usize].is_empty(), "{what}, {direction:?}");
    }
    assert!(told.closed, "{what}");
}

#[test]
fn every_suite_is_opened_in_any_segmentation() {
    for suite in script::suites() {
        let script = Talk::new(suite).script();
        for most in [1, 7, 100, 1460, 65_536] {
            let (told, counters) = told(&segments(&script, most), &script.log);
            assert_whole(&script, &told, &format!("{suite:?} {most}"));
            let tls = told.tls.unwrap();
            assert_eq!(tls.suite.0, u16::from(suite.suite()));
            assert_eq!(tls.version.0, u16::from(suite.version().version));
            assert_eq!(counters, Counters { opened: 1, ..Counters::default() });
            assert!(told.records.iter().all(|records| records.is_sorted() && records[0] > 1), "{:?}", told.records);
        }
    }
}

#[test]
fn keys_are_updated() {
    for suite in
        script::suites().into_iter().filter(|suite| suite.version().version == rustls::ProtocolVersion::TLSv1_3)
    {
        let script = Talk { updates: true, ..Talk::new(suite) }.script();
        let (told, _) = told(&segments(&script, 1460), &script.log);
        assert_whole(&script, &told, &format!("{suite:?}"));
    }
}

#[test]
fn sessions_are_resumed_with_and_without_early_data() {
    for suite in script::suites() {
        for early in [false, true] {
            let scripts = Talk { early, ..Talk::new(suite) }.resumed();
            assert!(scripts[1].resumed, "{suite:?}");
            assert_eq!(scripts[1].early, early && scripts[1].is_1_3, "{suite:?}");
            for script in &scripts {
                let (told, _) = told(&segments(script, 1460), &script.log);
                assert_whole(script, &told, &format!("{suite:?}, early {early}"));
            }
        }
    }
}

#[test]
fn clients_try_again() {
    for suite in script::suites() {
        let script = Talk { retry: true, ..Talk::new(suite) }.script();
        let (told, _) = told(&segments(&script, 1460), &script.log);
        assert_whole(&script, &told, &format!("{suite:?}"));
    }
}

/// Which bytes of the plaintext are in records that lost nothing, when the bytes of a stream from `start` to `end` are lost.
fn untouched(script: &Script, direction: Direction, lost: std::ops::Range<usize>) -> Vec<Option<u8>> {
    let mut bytes = Vec::new();
    let stream: Vec<u8> =
        script.steps.iter().filter(|(of, _)| *of == direction).flat_map(|(_, bytes)| bytes.clone()).collect();
    let mut at = 0;
    let mut plain = script.records(direction).into_iter();
    while at < stream.len() {
        let end = at + 5 + usize::from(u16::from_be_bytes([stream[at + 3], stream[at + 4]]));
        let is_lost = lost.start < end && lost.end > at;
        if let Some(said) = plain.next().unwrap() {
            bytes.extend(said.iter().map(|byte| (!is_lost).then_some(*byte)));
        }
        at = end;
    }
    bytes
}

#[test]
fn conversations_are_the_same_every_time() {
    for suite in script::suites() {
        let talk = Talk { updates: true, ..Talk::new(suite) };
        let (one, same, other) = (talk.script(), talk.script(), Talk { seed: 2, ..talk }.script());
        assert_eq!((&one.steps, &one.log), (&same.steps, &same.log), "{suite:?}");
        assert_ne!(one.steps, other.steps);
    }
}

#[test]
fn any_segment_may_be_lost() {
    for (suite, seed) in script::suites().into_iter().flat_map(|suite| script::seeds().map(move |seed| (suite, seed))) {
        let script = Talk { updates: true, seed, ..Talk::new(suite) }.script();
        let parts = segments(&script, 700);
        let mut exact = 0;
        for number in 0..parts.len() {
            let mut parts = parts.clone();
            let (direction, part) = &mut parts[number];
            let direction = *direction;
            *part = lost(part);
            let Part::Lost(count) = *part else { unreachable!() };
            let start: usize = parts[..number]
                .iter()
                .filter(|(of, _)| *of == direction)
                .map(|(_, part)| match part {
                    Part::Data(bytes) => bytes.len(),
                    Part::Lost(_) => unreachable!(),
                })
                .sum();
            let (told, counters) = told(&parts, &script.log);
            let what =
                format!("{suite:?}, seed {seed}, segment {number} of {}, {direction:?} {start}+{count}", parts.len());
            assert_eq!(counters.unauthentic, 0, "{what}");
            let is_server_hello = direction == Direction::Backward && start == 0;
            if is_server_hello && !script.is_1_3 {
                assert_eq!(counters.torn, 1, "{what}");
                continue;
            }
            // What is inside of a record is said outside of it in 1.2 alone.
            let is_sure = told.gaps.iter().any(|(_, extent)| *extent == Extent::Exact);
            assert!(!(script.is_1_3 && is_sure), "{what}");
            for of in [Direction::Forward, Direction::Backward] {
                let lost = if of == direction { start..start + count } else { 0..0 };
                let expected = untouched(&script, of, lost);
                let found = &told.streams[of as usize];
                if told.unknown[of as usize].is_empty() {
                    // What is missing at the very end is not told.
                    assert!(found.len() <= expected.len(), "{what}");
                    assert!(*found == expected[..found.len()], "{what}");
                    assert!(expected[found.len()..].iter().all(Option::is_none), "{what}");
                    exact += usize::from(found.contains(&None));
                } else {
                    let all = |stream: &[Option<u8>]| stream.iter().copied().flatten().collect::<Vec<u8>>();
                    assert!(
                        all(found) == all(&expected),
                        "{what}, {of:?}: {} {}",
                        all(found).len(),
                        all(&expected).len()
                    );
                }
            }
        }
        assert!(exact > parts.len() / 3, "{suite:?}: {exact} of {}", parts.len());
    }
}

#[test]
fn a_record_that_does_not_authenticate_is_a_hole() {
    for suite in script::suites() {
        let script = Talk::new(suite).script();
        let mut parts = segments(&script, 65_536);
        let last = parts.iter().rposition(|(direction, part)| {
            *direction == Direction::Backward && matches!(part, Part::Data(bytes) if bytes.len() > 1000)
        });
        let Part::Data(bytes) = &mut parts[last.unwrap()].1 else { unreachable!() };
        bytes[500] ^= 1;
        let (told, counters) = told(&parts, &script.log);
        assert_eq!(counters.unauthentic, 1);
        assert!(told.unknown.iter().all(Vec::is_empty));
        let (found, said) = (&told.streams[1], script.said(Direction::Backward));
        assert_eq!(found.len(), said.len());
        assert!(found.iter().zip(&said).all(|(found, said)| found.is_none_or(|found| found == *said)));
        assert!(found.iter().filter(|byte| byte.is_none()).count() > 400);
        assert_eq!(told.bytes(Direction::Forward), script.said(Direction::Forward));
    }
}

#[test]
fn nothing_is_told_with_wrong_keys_or_none() {
    for suite in script::suites() {
        let script = Talk::new(suite).script();
        let parts = segments(&script, 1460);
        let digit = |(at, byte): (usize, char)| match (at % 7, byte) {
            (0, '0'..='9') => 'a',
            (0, 'a'..='f') => '0',
            _ => byte,
        };
        let wrong = |line: &str| {
            let (start, secret) = line.rsplit_once(' ').unwrap();
            format!("{start} {}\n", secret.chars().enumerate().map(digit).collect::<String>())
        };
        let log: String = script.log.lines().map(wrong).collect();
        let (silent, counters) = told(&parts, &log);
        assert_eq!(silent, Told::default(), "{suite:?}");
        assert_eq!(counters, Counters { unauthentic: 1, ..Counters::default() }, "{suite:?}");
        let (silent, counters) = told(&parts, "");
        assert_eq!(silent, Told::default(), "{suite:?}");
        assert_eq!(counters, Counters { without_keys: 1, ..Counters::default() }, "{suite:?}");
    }
}

#[test]
fn keys_may_come_late() {
    for suite in script::suites() {
        let script = Talk::new(suite).script();
        let parts = segments(&script, 1460);
        for late in [1, 3, parts.len() / 2, parts.len(), parts.len() + 1] {
            let (told, counters) = told_late(&parts, &script.log, late);
            assert_eq!(counters, Counters { opened: 1, ..Counters::default() });
            assert_whole(&script, &told, &format!("{suite:?}, {late}"));
        }
    }
}

#[test]
fn what_waits_for_keys_is_bounded() {
    let suite = script::suites().remove(0);
    let script = Talk { large: 9 << 20, ..Talk::new(suite) }.script();
    let parts = segments(&script, 1460);
    let (told, counters) = told_late(&parts, &script.log, parts.len());
    assert_eq!(told, Told::default());
    assert_eq!(counters.without_keys, 1);
}

/// Says something in a connection without loss of time.
fn tell_parts(decrypting: &mut Decrypting<Told>, connection: &Connection, parts: &[(Direction, Part)]) {
    let mut offsets = [0, 0];
    let (packet, time) = (connection.id.0, Time::default());
    for (direction, part) in parts {
        let offset = &mut offsets[*direction as usize];
        match part {
            Part::Data(bytes) => {
                let origin = Origin { packet, time, offset: *offset, place: Place::NOWHERE, record: 0 };
                decrypting.data(connection, *direction, bytes, origin);
                *offset += bytes.len() as u64;
            }
            Part::Lost(count) => {
                let (missing, extent, cause) = (*count as u64, Extent::Exact, GapCause::NotCaptured);
                decrypting.gap(connection, *direction, Gap { offset: *offset, missing, extent, cause, packet, time });
                *offset += missing;
            }
        }
    }
}

/// Lets a connection with a number say something and close it.
fn say_and_close(decrypting: &mut Decrypting<Told>, id: u64, parts: &[(Direction, Part)]) {
    let connection = Connection { id: ConnectionId(id), ..connection(true) };
    decrypting.open(&connection);
    tell_parts(decrypting, &connection, parts);
    decrypting.close(&connection, Close::Finished);
}

#[test]
fn the_first_of_too_many_closed_connections_are_let_go() {
    let suite = script::suites().remove(0);
    let large = segments(&Talk { large: 6 << 20, ..Talk::new(suite) }.script(), 65_536);
    let script = Talk { seed: 2, ..Talk::new(suite) }.script();
    let mut decrypting = Decrypting::new(Told::default());
    decrypting.learn(b"# a key log\n");
    for id in 1..=20 {
        say_and_close(&mut decrypting, id, &large);
        assert!(decrypting.waiting <= 64 << 20);
    }
    // Ten of six MiB are within 64 MiB.
    assert_eq!(decrypting.closed.front().unwrap().0.connection.id, ConnectionId(11));
    say_and_close(&mut decrypting, 21, &segments(&script, 1460));
    assert_eq!(decrypting.counters(), Counters { without_keys: 21, ..Counters::default() });
    decrypting.learn(script.log.as_bytes());
    assert_whole(&script, decrypting.sink(), "the last");
    decrypting.finish();
    assert_eq!(decrypting.waiting, 0);
    assert_eq!(decrypting.counters(), Counters { without_keys: 20, opened: 1, ..Counters::default() });
}

#[test]
fn a_connection_that_is_not_in_tls_goes_through_as_it_is() {
    let mut decrypting = Decrypting::new(Told::default());
    let connection = connection(true);
    decrypting.open(&connection);
    let origin = Origin { packet: 1, time: Time::default(), offset: 0, place: Place::NOWHERE, record: 0 };
    decrypting.data(&connection, Direction::Forward, b"\x16", origin);
    decrypting.data(&connection, Direction::Forward, b"\x03", Origin { offset: 1, ..origin });
    decrypting.data(&connection, Direction::Forward, b"hello", Origin { offset: 2, ..origin });
    assert!(decrypting.states.is_empty());
    decrypting.close(&connection, Close::Finished);
    assert_eq!(decrypting.sink().bytes(Direction::Forward), b"\x16\x03hello");
    assert!(decrypting.sink().tls.is_none() && decrypting.sink().closed);
}

#[test]
fn what_began_before_the_capture_is_said() {
    let script = Talk::new(script::suites().remove(0)).script();
    let parts = segments(&script, 65_536);
    let mut decrypting = Decrypting::new(Told::default());
    let connection = connection(false);
    decrypting.learn(script.log.as_bytes());
    decrypting.open(&connection);
    let mut offset = 0;
    for (direction, part) in &parts[parts.len() - 4..] {
        let Part::Data(bytes) = part else { continue };
        let origin = Origin { packet: 1, time: Time::default(), offset, place: Place::NOWHERE, record: 0 };
        if *direction == Direction::Forward {
            offset += bytes.len() as u64;
            decrypting.data(&connection, *direction, bytes, origin);
        }
    }
    decrypting.close(&connection, Close::EndOfCapture);
    assert_eq!(*decrypting.sink(), Told::default());
    assert_eq!(decrypting.counters(), Counters { begun_before: 1, ..Counters::default() });
}

/// What is known of a conversation of OpenSSL, see `tests/data/tls`.
struct Recorded {
    suite: String,
    script: Script,
}

/// One of the recorded conversations.
fn one(name: &str) -> Script {
    recorded().into_iter().find(|(known, _)| known == name).unwrap().1.script
}

fn recorded() -> Vec<(String, Recorded)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls");
    let mut all = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut script = Script::empty();
        let mut suite = String::new();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap();
            let bytes = || {
                rest.as_bytes()
                    .chunks(2)
                    .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
                    .collect::<Vec<u8>>()
            };
            match kind {
                "suite" => rest.clone_into(&mut suite),
                "key" => script.log.extend([rest, "\n"]),
                ">" => script.steps.push((Direction::Forward, bytes())),
                "<" => script.steps.push((Direction::Backward, bytes())),
                "said>" => script.say(Direction::Forward, &bytes()),
                "said<" => script.say(Direction::Backward, &bytes()),
                _ => panic!("{line}"),
            }
        }
        all.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), Recorded { suite, script }));
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(all.len() >= 17);
    all
}

/// OpenSSL's names of suites that rustls does not have.
const NAMES: [(&str, &str); 10] = [
    ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"),
    ("AES256-SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA256"),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    ("ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    ("ECDHE-ECDSA-AES256-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
    ("AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    ("DHE-RSA-CHACHA20-POLY1305", "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-ECDSA-AES128-CCM", "TLS_ECDHE_ECDSA_WITH_AES_128_CCM"),
    ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
];

#[test]
fn what_openssl_says_is_opened_or_named() {
    for (name, Recorded { suite, script }) in recorded() {
        let (_, expected) = NAMES.iter().find(|(known, _)| *known == suite).unwrap();
        for most in [1, 50, 65_536] {
            let (told, counters) = told(&segments(&script, most), &script.log);
            if name.contains("ccm") || name.contains("tls10") {
                let [(tls, 1)] = counters.unsupported.iter().map(|(tls, count)| (*tls, *count)).collect::<Vec<_>>()[..]
                else {
                    panic!("{name}: {counters:?}");
                };
                assert_eq!(tls.suite.to_string(), *expected, "{name}");
                assert_eq!(tls.version.0, if name.contains("ccm") { 0x0303 } else { 0x0301 });
                assert_eq!(told, Told::default());
                continue;
            }
            assert_whole(&script, &told, &name);
            assert_eq!(told.tls.unwrap().suite.to_string(), *expected, "{name}");
            assert_eq!(counters, Counters { opened: 1, ..Counters::default() }, "{name}");
        }
    }
}

/// With CBC nobody knows how much is missing, so it must be said.
#[test]
fn records_behind_a_lost_one_are_found_in_cbc() {
    for (name, Recorded { script, .. }) in recorded()
        .into_iter()
        .filter(|(name, _)| name.contains("cbc") && !name.contains("tls10") && !name.contains("renegotiated"))
    {
        let whole = segments(&script, 65_536);
        let answers: Vec<usize> = (0..whole.len()).filter(|number| whole[*number].0 == Direction::Backward).collect();
        // The last is the goodbye, and the four before it are answers.
        let number = answers[answers.len() - 4];
        let mut parts = whole.clone();
        parts[number].1 = lost(&parts[number].1);
        let (told, counters) = told(&parts, &script.log);
        assert_eq!(counters, Counters { opened: 1, ..Counters::default() }, "{name}");
        assert_eq!(told.unknown[1].len(), 1, "{name}");
        let (found, said) = (&told.streams[1], script.said(Direction::Backward));
        let at = told.unknown[1][0];
        let behind: Vec<u8> = found[at..].iter().map(|byte| byte.unwrap()).collect();
        assert!(said.ends_with(&behind) && behind.len() > 80, "{name}");
        let before: Vec<u8> = found[..at].iter().copied().flatten().collect();
        assert!(said.starts_with(&before) && before.len() > 20, "{name}");
        assert_eq!(told.bytes(Direction::Forward), script.said(Direction::Forward), "{name}");
    }
}

/// Anyone can send a record in the clear. Nothing follows from a hello behind the one that counts.
#[test]
fn a_hello_in_the_clear_later_on_changes_nothing() {
    for suite in script::suites() {
        let mut script = Talk::new(suite).script();
        if !script.is_1_3 {
            continue;
        }
        let server = script.steps.iter().find(|(direction, _)| *direction == Direction::Backward).unwrap();
        let mut hello = server.1[..5 + usize::from(u16::from_be_bytes([server.1[3], server.1[4]]))].to_vec();
        // The suite stands behind the headers, the version, the random and the session's id (RFC 8446, section 4.1.3).
        let at = 5 + 4 + 2 + 32 + 1 + usize::from(hello[43]);
        assert_eq!(hello[at..at + 2], u16::from(suite.suite()).to_be_bytes());
        hello[at..at + 2].copy_from_slice(&[0x7a, 0x7a]);
        let middle = script.steps.len() / 2;
        script.steps.insert(middle, (Direction::Backward, hello.clone()));
        script.steps.insert(middle, (Direction::Forward, hello));
        let (told, counters) = told(&segments(&script, 1460), &script.log);
        assert_whole(&script, &told, &format!("{suite:?}"));
        assert_eq!(counters, Counters { opened: 1, ..Counters::default() });
    }
}

/// What is said can be read without the secrets of the handshake.
#[test]
fn secrets_of_the_handshake_may_be_lacking() {
    for suite in script::suites() {
        let script = Talk::new(suite).script();
        if !script.is_1_3 {
            continue;
        }
        let log: String = script.log.split_inclusive('\n').filter(|line| !line.contains("HANDSHAKE")).collect();
        assert!(log.len() < script.log.len());
        for most in [7, 1460] {
            let parts = segments(&script, most);
            let (found, counters) = told(&parts, &log);
            assert_whole(&script, &found, &format!("{suite:?} {most}"));
            assert_eq!(counters, Counters { opened: 1, ..Counters::default() });
            let (whole, _) = told(&parts, &script.log);
            assert_eq!(found.records, whole.records, "{suite:?} {most}");
        }
        // With the wrong ones it is said that they are.
        let wrong = log.lines().fold(String::new(), |text, line| {
            let (start, secret) = line.rsplit_once(' ').unwrap();
            text + start + " " + &secret.chars().rev().collect::<String>() + "\n"
        });
        let (silent, counters) = told(&segments(&script, 1460), &wrong);
        assert_eq!(silent, Told::default(), "{suite:?}");
        assert_eq!(counters, Counters { unauthentic: 1, ..Counters::default() }, "{suite:?}");
    }
}

/// A capture of headers only: nothing is kept of it.
#[test]
fn few_holes_are_kept_before_it_is_known_what_a_connection_is() {
    for missing in [1, 1000] {
        let mut decrypting = Decrypting::new(Told::default());
        let connection = connection(true);
        decrypting.open(&connection);
        for number in 0..20_u64 {
            let (packet, time) = (number + 1, Time::default());
            let offset = number * missing;
            let gap = Gap { offset, missing, extent: Extent::Exact, cause: GapCause::NotCaptured, packet, time };
            decrypting.gap(&connection, Direction::Forward, gap);
        }
        assert!(decrypting.states.is_empty());
        assert_eq!(decrypting.sink().streams[0], vec![None; 20 * missing as usize]);
    }
}

/// The log has the master secret of the first connection alone.
#[test]
fn a_session_that_is_resumed_has_the_secret_of_its_first_connection() {
    let of_rustls = script::suites().into_iter().map(|suite| Talk::new(suite).resumed());
    let of_openssl = ["rsa-aes128-cbc-sha", "rsa-aes256-gcm"].map(|name| [one(name), one(&format!("{name}-resumed"))]);
    let mut resumed = 0;
    for [first, second] in of_rustls.chain(of_openssl).filter(|[first, _]| !first.is_1_3) {
        let mut decrypting = Decrypting::new(Told::default());
        decrypting.learn(first.log.as_bytes());
        // Alone it cannot be read.
        say_and_close(&mut decrypting, 1, &segments(&second, 1460));
        assert_eq!(decrypting.counters(), Counters { without_keys: 1, ..Counters::default() });
        say_and_close(&mut decrypting, 2, &segments(&first, 1460));
        *decrypting.sink_mut() = Told::default();
        say_and_close(&mut decrypting, 3, &segments(&second, 1460));
        assert_whole(&second, decrypting.sink(), "resumed");
        resumed += 1;
    }
    assert_eq!(resumed, 5);
}

/// Without the secret of the second handshake what came before it is told.
#[test]
fn what_is_renegotiated_without_a_secret_is_a_hole() {
    for name in ["ecdhe-ecdsa-aes128-gcm-renegotiated", "ecdhe-ecdsa-aes128-cbc-sha-renegotiated"] {
        let script = one(name);
        let log = script.log.lines().next().unwrap();
        let (told, counters) = told(&segments(&script, 1460), log);
        assert_eq!(counters, Counters { opened: 1, broken_off: 1, ..Counters::default() }, "{name}");
        for direction in [Direction::Forward, Direction::Backward] {
            let (found, said) = (&told.streams[direction as usize], script.said(direction));
            let known: Vec<u8> = found.iter().copied().flatten().collect();
            assert!(said.starts_with(&known) && known.len() == said.len() / 3, "{name}");
            assert_eq!(told.unknown[direction as usize], [known.len() + 1], "{name}");
        }
    }
}
