//! Clocks that jump, go back, or are far out: messages are the same, and times are those of the packets.

use std::collections::BTreeMap;
use std::process::Command;

use jiff::Timestamp;
use kafkascope::conversation::Options;
use kafkascope::protocol::Catalog;
use tempfile::TempDir;

use crate::disguise::{ip_packets, pcapng_of_nanoseconds};
use crate::json::Json;
use crate::support::{own, read, report, told};
use crate::variants::{by_place, compare};

const SECOND: i128 = 1_000_000_000;
const HOUR: i128 = 3600 * SECOND;

/// Packets and their times in nanoseconds.
fn packets() -> Vec<(i128, Vec<u8>)> {
    let packets = ip_packets(&read(&own("captures/44-java-none.pcap")));
    let nanoseconds = |time: [u8; 8]| {
        let (words, _) = time.as_chunks::<4>();
        let [seconds, micros] = [words[0], words[1]].map(|word| i128::from(u32::from_le_bytes(word)));
        seconds * SECOND + micros * 1000
    };
    packets.into_iter().map(|(time, ip)| (nanoseconds(time), ip)).collect()
}

/// A capture whose clock begins `start` seconds after 1970.
fn capture(start: i64, packets: &[(i128, Vec<u8>)]) -> Vec<u8> {
    let ticks = |time: i128| u64::try_from(time - i128::from(start) * SECOND).unwrap();
    pcapng_of_nanoseconds(start, packets.iter().map(|(time, ip)| (ticks(*time), &ip[..])))
}

/// The same packets with other times: what the clock does, where it begins, and the times.
fn clocks(packets: &[(i128, Vec<u8>)]) -> Vec<(&'static str, i64, Vec<i128>)> {
    let count = packets.len();
    let times: Vec<i128> = packets.iter().map(|(time, _)| *time).collect();
    let step = |from: usize, by: i128| (0..count).map(|at| times[at] + if at < from { 0 } else { by }).collect();
    let moved = |to: i128| times.iter().map(|time| time - times[0] + to).collect();
    vec![
        ("backwards", 0, times.iter().rev().copied().collect()),
        ("all at once", 0, vec![times[0]; count]),
        ("three hours back", 0, step(count / 2, -3 * HOUR)),
        ("three hours forth", 0, step(count / 2, 3 * HOUR)),
        ("forth and back all the time", 0, (0..count).map(|at| times[at] + (at % 3) as i128 * HOUR).collect()),
        ("1970", 0, moved(0)),
        ("before 1970", -86_400 * 366, moved(-86_400 * 366 * SECOND)),
        ("2106", 0, moved((i128::from(u32::MAX) - 1) * SECOND)),
        ("to the end of 2262", i64::from(u32::MAX), moved(i128::from(i64::MAX) - times[count - 1] + times[0])),
        ("beyond 2262", i64::from(u32::MAX), moved(i128::from(i64::MAX) - 1000)),
        ("far beyond", i64::MAX / 4, moved(i128::from(i64::MAX / 4) * SECOND)),
        ("far before", i64::MIN / 4, moved(i128::from(i64::MIN / 4) * SECOND)),
    ]
}

/// A time within the range that times have.
fn held(time: i128) -> i128 {
    time.clamp(i64::MIN.into(), i64::MAX.into())
}

/// Milliseconds as microseconds.
fn microseconds(milliseconds: &Json) -> i128 {
    match milliseconds {
        Json::Int(number) => i128::from(*number) * 1000,
        Json::Float(number) => (number * 1000.0).round() as i128,
        other => panic!("{other:?}"),
    }
}

/// Holds times and latencies against those of the packets, and counts the negative ones.
fn compare_times(what: &str, messages: &[Json], times: &[i128]) -> usize {
    let time_of = |message: &Json| {
        let packets = message.at("packets").elements().iter();
        packets.map(|packet| held(times[usize::try_from(packet.int().unwrap()).unwrap() - 1])).max().unwrap()
    };
    let by_index: BTreeMap<i64, i128> =
        messages.iter().map(|message| (message.at("index").int().unwrap(), time_of(message))).collect();
    let mut negative = 0;
    for message in messages {
        let time = time_of(message);
        let text: Timestamp = message.at("time").text().unwrap().parse().unwrap();
        assert_eq!(text.as_nanosecond(), time, "{what}");
        if let Some(request) = message.at("request").int() {
            let latency = (time - by_index[&request]).min(i64::MAX.into()) / 1000;
            // As exact as the number of a JSON reader.
            let found = microseconds(message.at("latencyMs"));
            assert!((found - latency).abs() <= 1, "{what}: {found}, not {latency}");
            negative += usize::from(time < by_index[&request]);
        } else {
            assert_eq!(*message.at("latencyMs"), Json::Null);
        }
    }
    negative
}

#[test]
fn messages_are_the_same_whatever_the_clock_does() {
    let catalog = Catalog::builtin();
    let packets = packets();
    let base = told(&catalog, vec![capture(0, &packets)], Options::default(), &[]);
    let base = by_place(&base.messages);
    assert!(base.len() > 40);
    let folder = TempDir::new().unwrap();
    for (what, start, times) in clocks(&packets) {
        let retimed: Vec<_> = times.iter().zip(&packets).map(|(time, (_, ip))| (*time, ip.clone())).collect();
        let file = capture(start, &retimed);
        let told = told(&catalog, vec![file.clone()], Options::default(), &[]);
        assert!(by_place(&told.messages) == base, "{what}");
        let negative = compare_times(what, &told.messages, &times);
        let goes_back = times.windows(2).any(|pair| held(pair[1]) < held(pair[0]));
        assert!(goes_back || negative == 0, "{what}: {negative}");
        assert!(what != "backwards" || negative > 20, "{negative}");

        // What people see: a sign, and how many there were.
        let path = folder.path().join("clock.pcapng");
        std::fs::write(&path, file).unwrap();
        let run = |arguments: &[&str]| {
            let output =
                Command::new(assert_cmd::cargo::cargo_bin!("kafkascope")).args(arguments).arg(&path).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let (list, notes) = run(&["list"]);
        let is_negative = |line: &&str| line.split_whitespace().any(|word| word.starts_with('-') && word.len() > 2);
        let told_early = match negative {
            0 => String::new(),
            1 => "1 response earlier than its request".to_owned(),
            more => format!("{more} responses earlier than their requests"),
        };
        assert_eq!(notes.contains("earlier than"), negative > 0, "{what}: {notes}");
        assert!(notes.contains(&told_early), "{what}: {notes}");
        // A latency below half a microsecond has no sign.
        if what == "backwards" {
            let shown = list.lines().filter(|line| line.contains(" ← ")).filter(is_negative).count();
            assert!(shown > 20, "{list}");
        }
        for text in [list, run(&["show", "--time-zone", "Asia/Kolkata"]).0, run(&["show", "--time-zone", "-11:30"]).0] {
            // No number that is an i64 taken for a u64.
            assert!(!text.contains("1844674"), "{what}: {text}");
        }
    }
}

/// A value without the names of topic ids: responses teach them, and all responses may come behind the requests here.
fn without_topic_names(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let kept = members.iter().filter(|(key, _)| key != "_topicId");
            Json::Object(kept.map(|(key, value)| (key.clone(), without_topic_names(value))).collect())
        }
        Json::Array(elements) => Json::Array(elements.iter().map(without_topic_names).collect()),
        value => value.clone(),
    }
}

#[test]
fn two_taps_with_clocks_of_their_own_are_one_capture() {
    let catalog = Catalog::builtin();
    let packets = packets();
    let base = told(&catalog, vec![capture(0, &packets)], Options::default(), &[]).messages;
    let brokers: Vec<u16> = base
        .iter()
        .map(|message| message.at("broker").text().unwrap().rsplit_once(':').unwrap().1.parse().unwrap())
        .collect();
    let is_sent_by_broker = |ip: &[u8]| brokers.contains(&u16::from_be_bytes([ip[20], ip[21]]));
    let (to_client, to_broker): (Vec<_>, Vec<_>) = packets.iter().cloned().partition(|(_, ip)| is_sent_by_broker(ip));
    assert!(to_client.len() > 30 && to_broker.len() > 30);
    for (what, by) in [
        ("the same clock", 0),
        ("20 us later", 20_000),
        ("20 us earlier", -20_000),
        ("half a second earlier", -SECOND / 2),
        ("three hours later", 3 * HOUR),
        ("three hours earlier", -3 * HOUR),
    ] {
        let later: Vec<_> = to_client.iter().map(|(time, ip)| (time + by, ip.clone())).collect();
        for swapped in [false, true] {
            let mut files = vec![capture(0, &later), capture(0, &to_broker)];
            if swapped {
                files.reverse();
            }
            let told = told(&catalog, files, Options::default(), &[]);
            let mut problems = Vec::new();
            let [found, expected] = [&told.messages, &base].map(|messages| {
                let messages: Vec<_> = messages.iter().map(without_topic_names).collect();
                by_place(&messages)
            });
            if by < -3 * SECOND {
                // Nobody waits so long for a request: what is told of a response without it is marked, or its header alone.
                assert!(found.keys().eq(expected.keys()), "{what}");
                let is_marked =
                    |message: &Json| *message.at("guessed") != Json::Null || *message.at("body") == Json::Null;
                let differs = found.iter().filter(|(place, message)| expected[place] != **message);
                let unmarked: Vec<_> = differs.filter(|(_, message)| !is_marked(message)).collect();
                assert!(unmarked.is_empty(), "{what}: {unmarked:?}");
                continue;
            }
            compare(what, &found, &expected, &mut problems);
            report(&problems);
            // As many packets as there are, in order of time; those of the same time in the order of the files.
            let mut merged = [&later[..], &to_broker[..]];
            if swapped {
                merged.reverse();
            }
            let mut times: Vec<i128> = merged.concat().iter().map(|(time, _)| *time).collect();
            times.sort_unstable();
            let negative = compare_times(what, &told.messages, &times);
            assert!(by >= 0 || what.starts_with("20 us") || negative > 20, "{what}: {negative}");
            assert!(by < 0 || negative == 0, "{what}: {negative}");
        }
    }
}
