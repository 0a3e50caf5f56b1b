//! Messages that are read again.

use std::io::Write;
use std::path::Path;

use kafkascope::book::Step;
use kafkascope::protocol::{Catalog, Side};

use crate::capture::pcapng;
use crate::disguise::{CONTAINERS, TUNNELS, fragments, ip_packets, pcap};
use crate::keys::key_log;
use crate::support::{Input, book, capture, captures, compare};

#[test]
fn every_message_of_every_capture_is_read_again_as_it_was_told() {
    let catalog = Catalog::builtin();
    let mut messages = 0;
    let captures = captures();
    for path in &captures {
        messages += compare(&catalog, &Input::Files(vec![path.clone()]));
    }
    assert!(captures.is_empty() || messages > 10_000, "{messages}");
}

#[test]
fn several_captures_are_one_book() {
    let catalog = Catalog::builtin();
    let named = |names: &[&str]| names.iter().filter_map(|name| capture(name)).collect::<Vec<_>>();
    for names in [
        &["44-java-none.pcap", "44-java-gzip.pcap", "44-franz-zstd.pcap"][..],
        // The same packets twice, and so the same times.
        &["44-java-txn-split.pcap", "44-java-txn-lost.pcap", "44-mss-librdkafka-shuffled.pcap"],
        &["44-java-none.pcap", "44-java-none.pcap"],
    ] {
        let paths = named(names);
        if !paths.is_empty() {
            assert!(compare(&catalog, &Input::Files(paths)) > 10);
        }
    }
}

#[test]
fn what_comes_from_a_pipe_is_read_again() {
    let catalog = Catalog::builtin();
    for name in ["44-java-none.pcap", "44-mss-librdkafka-ng-interfaces.pcapng", "44-snaplen96-java.pcap"] {
        if let Some(path) = capture(name) {
            assert!(compare(&catalog, &Input::Pipe(std::fs::read(path).unwrap())) > 10);
        }
    }
}

/// A capture whose packets were lost, cut, swapped and doubled.
fn battered(pcap: &[u8], seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (header, mut rest) = pcap.split_at(24);
    let mut records: Vec<Vec<u8>> = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at((16 + length).min(rest.len()));
        rest = behind;
        let mut record = record.to_vec();
        match random.u32(0..60) {
            0 => continue,
            1 => {
                let kept = random.usize(0..=length);
                record.truncate(16 + kept);
                record[8..12].copy_from_slice(&(kept as u32).to_le_bytes());
            }
            2 => records.push(record.clone()),
            3 => {
                let last = records.len();
                records.insert(random.usize(last.saturating_sub(8)..=last), record);
                continue;
            }
            _ => {}
        }
        records.push(record);
    }
    [header.to_vec(), records.concat()].concat()
}

#[test]
fn what_was_packed_in_tunnels_and_in_fragments_is_read_again() {
    let catalog = Catalog::builtin();
    for name in ["44-kafkajs-gzip.pcap", "44-java-ipv6.pcap"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name);
        let bytes = std::fs::read(&path).unwrap();
        let packets = (1..).zip(ip_packets(&bytes)).flat_map(|(number, (time, ip))| {
            // Some packets as they are, some in a tunnel, some in fragments of it.
            let packets = match number % 3 {
                0 => vec![ip],
                1 => vec![TUNNELS[2].1(&ip)],
                _ => fragments(&TUNNELS[3].1(&ip), number, 64),
            };
            packets.into_iter().map(move |packet| (time, packet))
        });
        let plain = pcap(101, packets);
        for (_, pack) in CONTAINERS {
            assert!(compare(&catalog, &Input::Pipe(pack(&plain))) > 20);
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&CONTAINERS[0].1(&plain)).unwrap();
        assert!(compare(&catalog, &Input::Files(vec![file.path().to_owned()])) > 20);
        // Beside another capture.
        assert!(compare(&catalog, &Input::Files(vec![path, file.path().to_owned()])) > 20);
    }
}

#[test]
fn what_is_lost_cut_swapped_and_doubled_is_read_again() {
    let catalog = Catalog::builtin();
    for name in ["44-java-none.pcap", "44-mss-librdkafka-raw.pcap", "44-java-streams.pcap", "44-java-sasl-plain.pcap"] {
        let Some(path) = capture(name) else { continue };
        let pcap = std::fs::read(path).unwrap();
        for seed in 0..4 {
            compare(&catalog, &Input::Pipe(battered(&pcap, seed)));
        }
    }
}

#[test]
fn what_is_lost_and_swapped_in_tls_is_read_again() {
    let catalog = Catalog::builtin();
    for name in ["44-kafkajs-tls13-chacha.pcap", "44-kafkapython-tls12-cbc.pcap", "44-sarama-tls12-aes256gcm-rsa.pcap"]
    {
        let Some(path) = capture(name) else { continue };
        let log = key_log(&path).unwrap();
        let pcap = std::fs::read(path).unwrap();
        assert!(compare(&catalog, &Input::Secret(pcap.clone(), log.clone())) > 30);
        for seed in 0..4 {
            compare(&catalog, &Input::Secret(battered(&pcap, seed), log.clone()));
        }
    }
}

#[test]
fn messages_are_found_in_both_directions() {
    let Some(path) = capture("44-java-streams.pcap") else { return };
    let catalog = Catalog::builtin();
    let book = book(&catalog, &Input::Files(vec![path]));
    assert!(book.len() > 300);
    let all: Vec<_> = (1..=book.len()).map(|index| book.entry(index).unwrap()).collect();
    let connection = all[40].connection;
    for from in (0..=book.len() + 2).step_by(7) {
        let wanted = |entry: &kafkascope::book::Entry| entry.connection == connection && entry.side == Side::Response;
        let later = all.iter().find(|entry| entry.index > from && wanted(entry)).map(|entry| entry.index);
        let earlier = all.iter().rev().find(|entry| entry.index < from && wanted(entry)).map(|entry| entry.index);
        assert_eq!(book.next(from, Step::Forward, wanted), later);
        assert_eq!(book.next(from, Step::Backward, wanted), earlier);
    }
    assert_eq!(book.next(0, Step::Forward, |_| true), Some(1));
    assert_eq!(book.next(u64::MAX, Step::Backward, |_| true), Some(book.len()));
    assert_eq!(book.next(u64::MAX, Step::Forward, |_| true), None);
    assert_eq!(book.next(1, Step::Backward, |_| true), None);
    assert_eq!(book.entry(0), None);
    assert_eq!(book.entry(book.len() + 1), None);
}

#[test]
fn comments_are_read_again() {
    let catalog = Catalog::builtin();
    // ApiVersions of version 0 without a client id, and an answer that names no API.
    let request = [&10_u32.to_be_bytes()[..], &[0, 18, 0, 0, 0, 0, 0, 7, 0, 0]].concat();
    let answer = [&10_u32.to_be_bytes()[..], &[0, 0, 0, 7, 0, 0, 0, 0, 0, 0]].concat();
    let frames = [(Side::Request, request), (Side::Response, answer)];
    let comments: [&[u8]; 2] = ["gr\u{fc}n".as_bytes(), b"second"];
    let with = book(&catalog, &Input::Pipe(pcapng(&frames, &comments)));
    assert_eq!(with.len(), 2);
    assert_eq!(with.comments_of(1).unwrap(), ["gr\u{fc}n", "second"]);
    assert_eq!(with.comments_of(2).unwrap(), ["gr\u{fc}n", "second"]);
    assert!(with.comments_of(3).is_err());
    // Of the two packets of the handshake and of its own; of its own.
    assert_eq!(with.comments_before(1).unwrap(), ["gr\u{fc}n", "second"].repeat(3));
    assert_eq!(with.comments_before(2).unwrap(), ["gr\u{fc}n", "second"]);
    assert!(with.comments_before(3).unwrap().is_empty());
    let without = book(&catalog, &Input::Pipe(pcapng(&frames, &[])));
    assert!(without.comments_of(1).unwrap().is_empty());
}
