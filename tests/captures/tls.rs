//! Captures in TLS with their key logs, also when something is lacking of them.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;

use kafkascope::capture::{Again, Captures};
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::protocol::{Catalog, Side};
use kafkascope::stream::{KeyLog, TlsCounters};

use crate::keys::key_log;
use crate::support::{own, report, shared};

/// A message: connection, side, bytes; how it was read; whether it is marked as guessed, cut or without its request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    place: (String, bool, Vec<u8>),
    read: String,
    packets: Vec<u64>,
    marked: bool,
}

#[derive(Default)]
struct Listener(Vec<Told>);

impl MessageSink<'_> for Listener {
    fn message(&mut self, message: &Message<'_, '_>) {
        let is_response = message.side() == Side::Response;
        let is_unasked = is_response && message.request.is_none();
        let body = message.reading.body.map(|plan| (&plan.name, plan.version));
        self.0.push(Told {
            place: (message.client.to_string(), is_response, message.frame.to_vec()),
            read: format!("{:?} {body:?} {:?} {:?}", message.subject, message.client_id, message.tls),
            packets: message.packets.to_vec(),
            marked: message.guessed || message.gap > 0 || is_unasked,
        });
    }
}

fn told(catalog: &Catalog, pcap: &[u8], log: &[u8]) -> (Vec<Told>, TlsCounters) {
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(pcap.to_vec()), Again::No).unwrap();
    let mut keys = KeyLog::new();
    keys.add(log);
    let mut session = Session::new(catalog, Options::default(), Listener::default());
    session.use_keys(keys);
    while let Some(packet) = captures.next().unwrap() {
        session.packet(&packet);
    }
    session.finish();
    let counters = session.tls();
    (std::mem::take(&mut session.sink().0), counters)
}

/// The captures in TLS that are classic pcap, with their key logs.
fn captures() -> Vec<(PathBuf, Vec<u8>, Vec<u8>)> {
    let folder = shared("captures").unwrap_or_else(|| own("captures"));
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "pcap")
            && let Some(log) = key_log(&path)
        {
            let (pcap, log) = (std::fs::read(&path).unwrap(), std::fs::read(log).unwrap());
            found.push((path, pcap, log));
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn records(pcap: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (header, mut rest) = pcap.split_at(24);
    let mut records = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(16 + length);
        records.push(record.to_vec());
        rest = behind;
    }
    (header.to_vec(), records)
}

/// Whatever packet is lost: a message that is not marked is one that was sent, and read as it was. Few are lost with it.
#[test]
fn any_packet_of_a_connection_in_tls_may_be_lost() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    for (path, pcap, log) in captures() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.contains("-split") {
            continue;
        }
        let (whole, _) = told(&catalog, &pcap, &log);
        let mut sent: BTreeMap<_, usize> = BTreeMap::new();
        let mut frames: BTreeMap<_, usize> = BTreeMap::new();
        for message in &whole {
            *sent.entry((message.place.clone(), message.read.clone())).or_default() += 1;
            *frames.entry(message.place.clone()).or_default() += 1;
        }
        let (header, packets) = records(&pcap);
        let mut silent = 0;
        for lost in 0..packets.len() {
            let kept = packets.iter().enumerate().filter(|(number, _)| *number != lost).map(|(_, packet)| &packet[..]);
            let left = [&header[..]].into_iter().chain(kept).collect::<Vec<_>>().concat();
            let (found, counters) = told(&catalog, &left, &log);
            if counters.unauthentic > 0 {
                problems.push(format!("{name} without packet {}: {counters:?}", lost + 1));
            }
            let mut unread = sent.clone();
            // The bytes of a response may be there, but told before its request, so that it is read as nobody's.
            let mut unseen = frames.clone();
            for message in &found {
                if let Some(count) = unseen.get_mut(&message.place) {
                    *count = count.saturating_sub(1);
                }
                let key = (message.place.clone(), message.read.clone());
                match unread.get_mut(&key).filter(|count| **count > 0) {
                    Some(count) => *count -= 1,
                    None if message.marked => {}
                    None => problems.push(format!("{name} without packet {}: {}", lost + 1, message.read)),
                }
            }
            let is_torn = counters.torn + counters.begun_before > 0;
            silent += usize::from(is_torn);
            let unseen: usize = unseen.values().sum();
            let of_one = whole.iter().filter(|message| message.packets.contains(&(lost as u64 + 1))).count();
            if !is_torn && unseen > of_one.max(1) + 2 {
                problems.push(format!("{name} without packet {}: {unseen} messages are not there", lost + 1));
            }
        }
        // Only the packet with the server's hello is needed, and not even that in 1.3.
        let connections: std::collections::BTreeSet<_> = whole.iter().map(|message| &message.place.0).collect();
        if silent > connections.len() {
            problems.push(format!("{name}: {silent} packets cannot be done without"));
        }
    }
    report(&problems);
}

#[test]
fn key_logs_may_have_lines_that_say_nothing() {
    let catalog = Catalog::builtin();
    let path = own("captures/44-sarama-tls12-aes256gcm-rsa.pcap");
    let (pcap, log) = (std::fs::read(&path).unwrap(), std::fs::read(key_log(&path).unwrap()).unwrap());
    let (whole, _) = told(&catalog, &pcap, &log);
    let noise =
        [&b"CLIENT_RANDOM 00 11\n# a comment\n\nhello\nCLIENT_RANDOM\n"[..], &log, b"\nCLIENT_RANDOM zz zz\n"].concat();
    let (found, counters) = told(&catalog, &pcap, &noise);
    assert_eq!(found, whole);
    assert_eq!(counters.wrong_lines, 4);
    assert_eq!(counters.opened, 4);
}

/// The blocks of a pcapng file in little-endian order, with their types.
fn blocks(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let (mut blocks, mut rest) = (Vec::new(), bytes);
    while rest.len() >= 12 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let (block, behind) = rest.split_at(word(4) as usize);
        blocks.push((word(0), block.to_vec()));
        rest = behind;
    }
    blocks
}

/// What is told of a pcapng file, in any order, and how often it is damaged.
fn told_with_secrets(catalog: &Catalog, blocks: &[(u32, Vec<u8>)]) -> (Vec<Told>, TlsCounters, u32) {
    let bytes: Vec<u8> = blocks.iter().flat_map(|(_, block)| block.clone()).collect();
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(bytes), Again::No).unwrap();
    let mut session = Session::new(catalog, Options::default(), Listener::default());
    assert!(captures.may_have_secrets());
    session.expect_keys();
    let mut damage = 0;
    loop {
        match captures.next() {
            Ok(Some(packet)) => session.packet(&packet),
            Ok(None) => break,
            Err(_) => damage += 1,
        }
    }
    for secrets in captures.last_secrets() {
        session.learn(secrets);
    }
    session.finish();
    let counters = session.tls();
    let mut found = std::mem::take(&mut session.sink().0);
    found.sort();
    (found, counters, damage)
}

/// Decryption Secrets Blocks count wherever they stand, as long as their connections wait for them.
#[test]
fn secrets_in_a_capture_may_stand_anywhere() {
    const SECRETS: u32 = 10;
    const PACKET: u32 = 6;
    let catalog = Catalog::builtin();
    let bytes = std::fs::read(own("captures/44-aiokafka-tls13-ng-secrets.pcapng")).unwrap();
    let (secrets, rest): (Vec<_>, Vec<_>) = blocks(&bytes).into_iter().partition(|(kind, _)| *kind == SECRETS);
    assert!(!secrets.is_empty());
    let first = rest.iter().position(|(kind, _)| *kind == PACKET).unwrap();
    let at = |place: usize, more: &[(u32, Vec<u8>)]| {
        let (before, behind) = rest.split_at(place);
        told_with_secrets(&catalog, &[before, &secrets, more, behind].concat())
    };
    let (whole, counters, damage) = at(first, &[]);
    assert!(!whole.is_empty() && counters.opened > 0 && damage == 0);
    // Before a packet of an interface that is not described.
    let mut broken = rest[first].1.clone();
    broken[8..12].copy_from_slice(&9_u32.to_le_bytes());
    let (found, _, damage) = at(first, &[(PACKET, broken)]);
    assert!(found == whole && damage == 1, "{} of {}, {damage}", found.len(), whole.len());
    // Behind the hellos of the first connection.
    let (found, _, _) = at(first + 8, &[]);
    assert!(found.len() == whole.len(), "{} of {}", found.len(), whole.len());
    // Behind everything: connections that are closed wait until the end.
    let (mut found, _, _) = at(rest.len(), &[]);
    let mut expected = whole.clone();
    found.sort();
    expected.sort();
    assert!(found == expected, "{} of {}", found.len(), whole.len());
    // And those that were not closed.
    let open: Vec<_> = rest[..first + 20].to_vec();
    let (early, _, _) = told_with_secrets(&catalog, &[&rest[..first], &secrets, &rest[first..first + 20]].concat());
    let (late, _, _) = told_with_secrets(&catalog, &[&open[..], &secrets].concat());
    assert!(!early.is_empty() && late == early, "{} of {}", late.len(), early.len());
}
