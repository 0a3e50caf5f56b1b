//! Networks that cut, swap, double and lose segments: what is there must be found, and what is told must be right.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use kafkascope::conversation::Options;
use kafkascope::protocol::Catalog;

use crate::compare::{Extent, difference};
use crate::disguise::{ip_packets, pcap};
use crate::json::Json;
use crate::keys::key_log;
use crate::support::{self, is_header_alone, own, port, read, report, shared};

/// A packet of a capture: its time, and the IP datagram.
type Packet = ([u8; 8], Vec<u8>);

fn told(catalog: &Catalog, packets: impl IntoIterator<Item = Packet>, log: &[u8]) -> Vec<Json> {
    let told = support::told(catalog, vec![pcap(101, packets)], Options::default(), log);
    assert_eq!(told.damages, 0);
    told.messages
}

/// The client's port, the side, the correlation id: each comes once in the captures that are used here.
type Key = (i64, bool, i64);

fn key(message: &Json) -> Key {
    let is_request = message.at("type").text() == Some("request");
    (port(message.at("client")), is_request, message.at("correlationId").int().unwrap())
}

const PLAIN: [&str; 4] = ["44-kafkajs-gzip.pcap", "44-java-ipv6.pcap", "44-java-txn.pcap", "44-mss-librdkafka.pcap"];
const TLS: [&str; 6] = [
    "44-sarama-tls12-aes256gcm-rsa.pcap",
    "44-franz-tls12-chacha.pcap",
    "44-kafkajs-tls13-chacha.pcap",
    "44-aiokafka-tls13.pcap",
    "44-kafkapython-tls12-cbc.pcap",
    "44-kafkapython-saslssl.pcap",
];

/// A capture as it was made, and its messages.
struct Base {
    name: &'static str,
    packets: Vec<Packet>,
    messages: BTreeMap<Key, Json>,
    /// The key log of one in TLS.
    log: Vec<u8>,
    /// The packets that brought each record, by the number that it has in its stream less one.
    records: BTreeMap<Stream, Vec<BTreeSet<usize>>>,
}

/// The port of the sender and that of the receiver.
type Stream = (u16, u16);

/// The packets of each record of TLS (RFC 8446, section 5.1) in each stream, which has no holes.
fn records(packets: &[Packet]) -> BTreeMap<Stream, Vec<BTreeSet<usize>>> {
    let mut segments: BTreeMap<Stream, BTreeMap<u32, (usize, &[u8])>> = BTreeMap::new();
    let mut first: BTreeMap<Stream, u32> = BTreeMap::new();
    for (number, (_, ip)) in (1..).zip(packets) {
        let (tcp, payload) = parts(ip);
        let port = |at: usize| u16::from_be_bytes([ip[tcp + at], ip[tcp + at + 1]]);
        let stream = (port(0), port(2));
        let sequence = u32::from_be_bytes(ip[tcp + 4..tcp + 8].try_into().unwrap());
        if ip[tcp + 13] & 2 != 0 {
            first.insert(stream, sequence.wrapping_add(1));
        }
        if payload < ip.len() {
            let offset = sequence.wrapping_sub(first[&stream]);
            segments.entry(stream).or_default().entry(offset).or_insert((number, &ip[payload..]));
        }
    }
    let of = |segments: BTreeMap<u32, (usize, &[u8])>| {
        let mut bytes: Vec<(u8, usize)> = Vec::new();
        for (offset, (number, payload)) in segments {
            assert!(offset as usize <= bytes.len());
            bytes.extend(payload.iter().skip(bytes.len() - offset as usize).map(|byte| (*byte, number)));
        }
        let mut records = Vec::new();
        let mut rest = &bytes[..];
        while rest.len() >= 5 {
            let length = 5 + usize::from(u16::from_be_bytes([rest[3].0, rest[4].0]));
            let (record, behind) = rest.split_at(length);
            records.push(record.iter().map(|(_, number)| *number).collect());
            rest = behind;
        }
        records
    };
    segments.into_iter().map(|(stream, segments)| (stream, of(segments))).collect()
}

/// How often a test is done with other random numbers: once, or as often as is wanted by hand (`KAFKASCOPE_ROUNDS=100`).
fn rounds() -> u64 {
    std::env::var("KAFKASCOPE_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

impl Base {
    fn of(catalog: &Catalog, name: &'static str) -> Self {
        let path = own("captures").join(name);
        let path = if path.exists() { path } else { shared("captures").unwrap().join(name) };
        let packets = ip_packets(&read(&path));
        let log = key_log(&path).map(|log| read(&log)).unwrap_or_default();
        let records = if log.is_empty() { BTreeMap::new() } else { records(&packets) };
        let messages = told(catalog, packets.clone(), &log);
        let count = messages.len();
        let messages: BTreeMap<Key, Json> = messages.into_iter().map(|message| (key(&message), message)).collect();
        assert!(count > 20 && messages.len() == count, "{name}: a key comes twice");
        Self { name, packets, messages, log, records }
    }

    fn all(catalog: &Catalog) -> Vec<Self> {
        PLAIN.iter().map(|name| Self::of(catalog, name)).collect()
    }

    /// Captures in TLS, as far as they are there.
    fn in_tls(catalog: &Catalog) -> Vec<Self> {
        let is_there = |name: &&&str| own("captures").join(name).exists() || shared("captures").is_some();
        TLS.iter().filter(is_there).map(|name| Self::of(catalog, name)).collect()
    }

    /// The numbers of the packets that brought a message; in TLS those of its records, and of the first of both sides, which
    /// say which keys there are.
    fn packets_of(&self, key: Key) -> BTreeSet<usize> {
        let Some(message) = self.messages.get(&key) else { return BTreeSet::new() };
        let numbers = |list: &Json| -> Vec<usize> {
            list.elements().iter().map(|number| usize::try_from(number.int().unwrap()).unwrap()).collect()
        };
        if self.records.is_empty() {
            return numbers(message.at("packets")).into_iter().collect();
        }
        let [client, broker] = ["client", "broker"].map(|end| u16::try_from(port(message.at(end))).unwrap());
        let streams = [(client, broker), (broker, client)].map(|stream| &self.records[&stream]);
        let said = numbers(message.at("_tls").at("records"));
        let own = streams[usize::from(!key.1)];
        let of_own = (said[0]..=said[said.len() - 1]).flat_map(|record| &own[record - 1]);
        of_own.chain(streams.into_iter().flat_map(|stream| &stream[0])).copied().collect()
    }

    /// Tells the capture without some of its packets, by number from 1, and notes what is wrong with what is told.
    fn without(&self, catalog: &Catalog, lost: &BTreeSet<usize>, problems: &mut Vec<String>) {
        let kept = (1..).zip(&self.packets).filter(|(number, _)| !lost.contains(number));
        let messages = told(catalog, kept.map(|(_, packet)| packet.clone()), &self.log);
        // Where packets are lost in a row, their first and last number say enough.
        let is_row = lost.last().zip(lost.first()).is_some_and(|(last, first)| last - first + 1 == lost.len());
        let without = if is_row { format!("{:?} to {:?}", lost.first(), lost.last()) } else { format!("{lost:?}") };
        let mut problem =
            |key: Key, what: &str| problems.push(format!("{} without {without}: {key:?}: {what}", self.name));
        let is_touched = |key: Key| !self.packets_of(key).is_disjoint(lost);
        let mut found = BTreeSet::new();
        for message in &messages {
            let key = key(message);
            let Some(whole) = self.messages.get(&key) else {
                problem(key, "there is no such message");
                continue;
            };
            if !found.insert(key) {
                problem(key, "is told twice");
            }
            let is_cut = *message.at("gap") != Json::Null;
            if is_cut && !is_touched(key) {
                problem(key, "has a gap, and all of its packets are there");
            }
            let is_faulty = |message: &Json| !message.at("faults").elements().is_empty();
            if !is_cut && is_faulty(message) && !is_faulty(whole) {
                problem(key, "has a fault that is not the capture's");
            }
            if is_header_alone(message) {
                let (client, _, correlation) = key;
                if !is_touched((client, true, correlation)) {
                    problem(key, "is known by its header alone, and its request is there");
                }
                continue;
            }
            let extent = if is_cut { Extent::Beginning } else { Extent::Whole };
            for part in ["header", "body"] {
                if let Some(difference) = difference(whole.at(part), message.at(part), extent) {
                    problem(key, &format!("{part}{difference}"));
                }
            }
        }
        // A few short responses alone do not say for certain that they are Kafka's.
        let is_asked =
            |(client, ..): Key| self.messages.keys().any(|key| key.0 == client && key.1 && !is_touched(*key));
        for key in self.messages.keys().filter(|key| !is_touched(**key) && !found.contains(key) && is_asked(**key)) {
            problem(*key, "is not told, and all of its packets are there");
        }
    }

    /// Tells the capture as other packets, which bring the same bytes, and notes what is wrong with what is told.
    fn otherwise(&self, catalog: &Catalog, what: &str, packets: Vec<Packet>, problems: &mut Vec<String>) {
        let messages = told(catalog, packets, &self.log);
        if messages.len() != self.messages.len() {
            problems.push(format!("{}, {what}: {} messages of {}", self.name, messages.len(), self.messages.len()));
        }
        for message in &messages {
            let Some(whole) = self.messages.get(&key(message)) else {
                problems.push(format!("{}, {what}: there is no {:?}", self.name, key(message)));
                continue;
            };
            let differs = |member: &&&str| message.at(member) != whole.at(member);
            let members = ["api", "apiVersion", "size", "streamOffset", "gap", "guessed", "faults", "header"];
            if let Some(member) = members.iter().find(differs) {
                problems.push(format!("{}, {what}: {:?}: another {member}", self.name, key(message)));
            }
            if let Some(difference) = difference(whole.at("body"), message.at("body"), Extent::Whole) {
                problems.push(format!("{}, {what}: {:?}: body{difference}", self.name, key(message)));
            }
        }
    }
}

/// A datagram of TCP: where its TCP header and its payload begin.
fn parts(ip: &[u8]) -> (usize, usize) {
    let tcp = if ip[0] >> 4 == 4 { usize::from(ip[0] & 15) * 4 } else { 40 };
    (tcp, tcp + usize::from(ip[tcp + 12] >> 4) * 4)
}

/// The part of a segment from one byte of its payload to another, as a segment of its own.
fn cut(ip: &[u8], start: usize, end: usize) -> Vec<u8> {
    let (tcp, payload) = parts(ip);
    let mut packet = [&ip[..payload], &ip[payload + start..payload + end]].concat();
    let sequence = u32::from_be_bytes(ip[tcp + 4..tcp + 8].try_into().unwrap()).wrapping_add(start as u32);
    packet[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
    let is_last = payload + end == ip.len();
    if !is_last {
        // FIN and PSH are for the last byte.
        packet[tcp + 13] &= !0x09;
    }
    let length = packet.len() as u16;
    if ip[0] >> 4 == 4 {
        packet[2..4].copy_from_slice(&length.to_be_bytes());
    } else {
        packet[4..6].copy_from_slice(&(length - 40).to_be_bytes());
    }
    packet
}

/// A segment in pieces of random length, some of which begin before the one before has ended, and some of which come twice.
fn in_pieces(ip: &[u8], longest: usize, rng: &mut Rng) -> Vec<Vec<u8>> {
    let length = ip.len() - parts(ip).1;
    if length == 0 {
        return vec![ip.to_vec()];
    }
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < length {
        let end = length.min(at + rng.usize(1..=longest));
        let overlap = if rng.u8(..3) == 0 { rng.usize(..=at.min(longest)) } else { 0 };
        pieces.push(cut(ip, at - overlap, end));
        if rng.u8(..8) == 0 {
            pieces.push(cut(ip, at, end));
        }
        at = end;
    }
    pieces
}

#[test]
fn any_segmentation_order_and_overlap() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    for base in Base::all(&catalog) {
        let lengths = [1, 3, 17, 100, 1000, 1000];
        for (seed, longest) in (1..).zip(lengths.into_iter().cycle()).take(lengths.len() * rounds() as usize) {
            let mut rng = Rng::with_seed(seed);
            let mut packets = Vec::new();
            for (time, ip) in &base.packets {
                packets.extend(in_pieces(ip, longest, &mut rng).into_iter().map(|piece| (*time, piece)));
            }
            base.otherwise(&catalog, &format!("in pieces of up to {longest}"), packets.clone(), &mut problems);
            // Each packet comes up to eight places later than it was sent, but not seconds later.
            let is_syn = |ip: &[u8]| ip[parts(ip).0 + 13] & 2 != 0;
            let second = |place: usize| u32::from_le_bytes(packets[place].0[..4].try_into().unwrap());
            let is_pause = |place: usize| second((place + 16).min(packets.len() - 1)) > second(place) + 1;
            let delay = |(place, (_, ip)): (usize, &Packet)| {
                let delay = if is_syn(ip) { 0 } else { rng.usize(..8) };
                place + if is_pause(place) { 0 } else { delay }
            };
            let places: Vec<usize> = packets.iter().enumerate().map(delay).collect();
            let mut order: Vec<usize> = (0..packets.len()).collect();
            order.sort_by_key(|packet| places[*packet]);
            let times: Vec<[u8; 8]> = packets.iter().map(|(time, _)| *time).collect();
            let moved = times.into_iter().zip(order).map(|(time, packet)| (time, packets[packet].1.clone())).collect();
            base.otherwise(&catalog, &format!("in pieces of up to {longest}, moved"), moved, &mut problems);
        }
    }
    report(&problems);
}

/// Notes what is wrong when packets are lost alone, in rows, and here and there.
fn lose(base: &Base, catalog: &Catalog, times: usize, problems: &mut Vec<String>) {
    let count = base.packets.len();
    for packet in 1..=count {
        base.without(catalog, &BTreeSet::from([packet]), problems);
    }
    for round in 0..rounds() {
        let mut rng = Rng::with_seed(7 + round);
        for _ in 0..times {
            let rate = rng.f64() * 0.3;
            let lost = (1..=count).filter(|_| rng.f64() < rate).collect();
            base.without(catalog, &lost, problems);
            let start = rng.usize(1..=count);
            base.without(catalog, &(start..=count.min(start + rng.usize(..40))).collect(), problems);
        }
    }
}

#[test]
fn any_loss_takes_only_what_it_touches() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    for base in Base::all(&catalog) {
        lose(&base, &catalog, 60, &mut problems);
    }
    report(&problems);
}

/// The same of captures in TLS: what is behind a hole is found by the records.
#[test]
fn any_loss_takes_only_the_records_that_it_touches() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    for base in Base::in_tls(&catalog) {
        lose(&base, &catalog, 10, &mut problems);
    }
    report(&problems);
}

#[test]
fn a_capture_may_begin_anywhere() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    for base in Base::all(&catalog) {
        for first in 1..base.packets.len() {
            base.without(&catalog, &(1..=first).collect(), &mut problems);
        }
    }
    report(&problems);
}

#[test]
fn one_direction_alone() {
    let catalog = Catalog::builtin();
    let mut problems = Vec::new();
    for base in Base::all(&catalog) {
        let clients: BTreeSet<i64> = base.messages.keys().map(|key| key.0).collect();
        let is_from_client = |ip: &[u8]| {
            let (tcp, _) = parts(ip);
            clients.contains(&i64::from(u16::from_be_bytes([ip[tcp], ip[tcp + 1]])))
        };
        for without_requests in [true, false] {
            let numbered = (1..).zip(&base.packets);
            let lost = numbered.filter(|(_, (_, ip))| is_from_client(ip) == without_requests);
            let lost: BTreeSet<usize> = lost.map(|(number, _)| number).collect();
            base.without(&catalog, &lost, &mut problems);
            // Wherever it begins, and without a word of who opened the connection.
            for first in [1, 10, 30, 60] {
                let is_lost = |(number, (_, ip)): &(usize, &Packet)| {
                    let (tcp, _) = parts(ip);
                    *number < first || ip[tcp + 13] & 2 != 0 || lost.contains(number)
                };
                let lost = (1..).zip(&base.packets).filter(is_lost).map(|(number, _)| number).collect();
                base.without(&catalog, &lost, &mut problems);
            }
            // Whole connections of responses are found as well.
            let kept = (1..).zip(&base.packets).filter(|(number, _)| !lost.contains(number));
            let told = told(&catalog, kept.map(|(_, packet)| packet.clone()), &[]);
            let expected = base.messages.keys().filter(|key| key.1 != without_requests).count();
            if told.len() != expected {
                problems.push(format!("{}: {} messages of {expected}", base.name, told.len()));
            }
        }
    }
    report(&problems);
}
