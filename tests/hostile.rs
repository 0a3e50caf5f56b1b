//! Traffic that is made to cost more than it is worth: it is counted, memory is bounded, and what is Kafka among it is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::Read;

use kafkascope::capture::{CaptureReader, PacketCounters};
use kafkascope::conversation::{Counters, Message, MessageSink, Options, Session, Subject};
use kafkascope::protocol::{ApiKey, Catalog};
use kafkascope::stream;

const SYN: u8 = 2;
const PUSH: u8 = 0x18;

/// A segment of a client, from an address and a port by its number, to port 9092.
fn segment(client: u32, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    // No two of so many clients have the same port and address.
    let [_, a, b, c] = client.to_be_bytes();
    let port = (client % 50_000 + 1024) as u16;
    let tcp = [
        &port.to_be_bytes()[..],
        &9092_u16.to_be_bytes(),
        &sequence.to_be_bytes(),
        &[0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0],
        payload,
    ]
    .concat();
    ip([10, a, b, c], 0, 6, &tcp)
}

/// IPv4; the word with the flags and the offset of a fragment.
fn ip(source: [u8; 4], fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [length_0, length_1] = (20 + payload.len() as u16).to_be_bytes();
    let [fragment_0, fragment_1] = fragment.to_be_bytes();
    let header = [0x45, 0, length_0, length_1, 0, 7, fragment_0, fragment_1, 64, protocol, 0, 0];
    [&header[..], &source, &[10, 255, 0, 1], payload].concat()
}

/// An ApiVersions request of version 0 without a client id.
fn request(correlation: u8) -> Vec<u8> {
    vec![0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, correlation, 0xff, 0xff]
}

/// A pcap file of raw IP that is made while it is read: a packet a millisecond.
struct Capture<I> {
    packets: I,
    count: u64,
    bytes: Vec<u8>,
    done: usize,
}

impl<I: Iterator<Item = Vec<u8>>> Capture<I> {
    fn new(packets: I) -> Self {
        let head = [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[0, 0, 4, 0, 101, 0, 0, 0]].concat();
        Self { packets, count: 0, bytes: head, done: 0 }
    }
}

impl<I: Iterator<Item = Vec<u8>>> Read for Capture<I> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.bytes.len() - self.done < buffer.len() {
            let Some(packet) = self.packets.next() else { break };
            let (seconds, micros) = (1_700_000_000 + self.count / 1000, self.count % 1000 * 1000);
            self.count += 1;
            for word in [seconds as u32, micros as u32, packet.len() as u32, packet.len() as u32] {
                self.bytes.extend(word.to_le_bytes());
            }
            self.bytes.extend(packet);
        }
        let length = buffer.len().min(self.bytes.len() - self.done);
        buffer[..length].copy_from_slice(&self.bytes[self.done..self.done + length]);
        self.done += length;
        if self.done == self.bytes.len() {
            self.bytes.clear();
            self.done = 0;
        }
        Ok(length)
    }
}

/// The subjects of messages, and how many were cut.
#[derive(Default)]
struct Told {
    subjects: Vec<Subject>,
    cut: usize,
}

impl MessageSink<'_> for Told {
    fn message(&mut self, message: &Message<'_, '_>) {
        self.cut += usize::from(message.gap > 0);
        if self.subjects.len() < 1000 {
            self.subjects.push(message.subject);
        }
    }
}

/// What became of packets.
struct Outcome {
    told: Told,
    packets: PacketCounters,
    streams: stream::Counters,
    messages: Counters,
}

fn read(packets: impl Iterator<Item = Vec<u8>>) -> Outcome {
    let catalog = Catalog::builtin();
    let mut session = Session::new(&catalog, Options::default(), Told::default());
    let mut reader = CaptureReader::new(Capture::new(packets)).unwrap();
    while let Some(packet) = reader.next().unwrap() {
        session.packet(&packet);
    }
    session.finish();
    let (packets, streams, messages) = (session.packets(), *session.streams(), session.counters());
    Outcome { told: std::mem::take(session.sink()), packets, streams, messages }
}

/// Fails where the program has ever had more memory than that; all tests together count, so the bound is one for all.
fn assert_memory_is_bounded() {
    const MOST_KIB: u64 = 700 << 10;
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) else { return };
    let peak: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < MOST_KIB, "{peak} KiB");
}

fn api_versions(correlation: i32) -> Subject {
    Subject::Api { key: Some(ApiKey::API_VERSIONS), version: Some(0), correlation: Some(correlation) }
}

const MANY: u32 = 1_000_000;

#[test]
fn a_million_connections_of_one_packet() {
    // The last of them is Kafka.
    let packets = (0..MANY).map(|client| {
        if client + 1 == MANY {
            segment(client, 1, PUSH, &request(7))
        } else {
            segment(client, 1, PUSH, b"\x16 is not a request")
        }
    });
    let outcome = read(packets);
    assert_eq!(outcome.packets.segments, u64::from(MANY));
    assert_eq!(outcome.streams.connections, u64::from(MANY));
    // As many as are kept at once are not let go.
    assert_eq!(outcome.streams.evicted, u64::from(MANY) - (1 << 17));
    assert_eq!(outcome.told.subjects, [api_versions(7)]);
    assert_memory_is_bounded();
}

#[test]
fn a_flood_of_syns_and_a_conversation_in_the_middle_of_it() {
    let conversation = |at: u32| match at {
        0 => Some(segment(0x00f0_0001, 99, SYN, &[])),
        500_000 => Some(segment(0x00f0_0001, 100, PUSH, &request(1))),
        500_001 => Some(segment(0x00f0_0001, 114, PUSH, &request(2))),
        _ => None,
    };
    let packets = (0..MANY).map(|client| conversation(client).unwrap_or_else(|| segment(client, client, SYN, &[])));
    let outcome = read(packets);
    assert_eq!(outcome.packets.segments, u64::from(MANY));
    // Ports without data are no connections.
    assert_eq!((outcome.streams.connections, outcome.streams.gaps), (1, 0));
    assert_eq!(outcome.told.subjects, [api_versions(1), api_versions(2)]);
    assert_memory_is_bounded();
}

#[test]
fn fragments_that_are_empty_overlap_or_never_end() {
    const MORE: u16 = 0x2000;
    let segment = segment(1, 1, PUSH, &request(5));
    let (source, tcp) = ([10, 9, 9, 9], &segment[20..]);
    let odd = (0..200_000_u32).flat_map(|number| {
        let [a, b, c, d] = number.to_be_bytes();
        let source = [a + 172, b, c, d];
        let words = (number % 7999 + 1) as u16;
        [
            // Without a byte, also the last one of a datagram.
            ip(source, MORE, 6, &[]),
            ip(source, words, 6, &[]),
            // One that begins inside of the other, with other bytes.
            ip(source, MORE, 6, &[1; 64]),
            ip(source, MORE | 4, 6, &[2; 64]),
            ip(source, MORE | 1, 6, &[3; 8]),
            // Beyond the end of what can be.
            ip(source, MORE | 0x1fff, 6, &[4; 64]),
        ]
    });
    // The one that is right is put together in the midst of them.
    let right = [ip(source, 3, 6, &tcp[24..]), ip(source, MORE, 6, &tcp[..24])];
    let packets: Box<dyn Iterator<Item = Vec<u8>>> = Box::new(odd.enumerate().flat_map(move |(number, packet)| {
        let extra = if number == 600_000 { right.to_vec() } else { Vec::new() };
        std::iter::once(packet).chain(extra)
    }));
    let outcome = read(packets);
    assert_eq!(outcome.told.subjects, [api_versions(5)]);
    assert_eq!((outcome.packets.segments, outcome.streams.conflicting_overlaps), (1, 0));
    // The datagram's last packet is that of its segment.
    assert_eq!(outcome.packets.fragments + outcome.packets.segments, 1_200_002);
    // What lies inside of another fragment adds nothing.
    assert_eq!(outcome.packets.fragments_left_out, 1_000_000);
    assert_memory_is_bounded();
}

#[test]
fn sequence_numbers_that_wrap_and_jump() {
    // A stream of 8,000 requests over the end of the numbers, with segments of half the range ahead and behind between them.
    let first = u32::MAX - 50_000;
    let packets =
        std::iter::once(segment(1, first.wrapping_sub(1), SYN, &[])).chain((0..8_000_u32).flat_map(|number| {
            let sequence = first.wrapping_add(number * 14);
            [
                segment(1, sequence, PUSH, &request(number as u8)),
                segment(1, sequence.wrapping_add(0x7fff_fff0), PUSH, &[0xaa; 60]),
                segment(1, sequence.wrapping_sub(0x7fff_fff0), PUSH, &[0xbb; 60]),
            ]
        }));
    let outcome = read(packets);
    assert_eq!((outcome.messages.messages, outcome.streams.conflicting_overlaps), (8_000, 0));
    assert_eq!(outcome.streams.dropped_bytes, 8_000 * 120);
    assert_memory_is_bounded();
}

#[test]
fn frames_that_claim_two_gibibytes() {
    // 2,000 connections, each with a request and then a frame of 2 GiB of which some kilobytes come; then others go on.
    let packets = (0..2_000_u32).flat_map(|client| {
        let huge = [&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 9][..], &[0x55; 1400]].concat();
        let mut packets = vec![segment(client, 99, SYN, &[]), segment(client, 100, PUSH, &request(1))];
        packets.push(segment(client, 114, PUSH, &huge));
        for number in 0..8 {
            packets.push(segment(client, 114 + 1412 + number * 1400, PUSH, &[0x55; 1400]));
        }
        packets
    });
    let last = [segment(90_000, 99, SYN, &[]), segment(90_000, 100, PUSH, &request(3))];
    let outcome = read(packets.chain(last));
    assert_eq!(outcome.messages.absurd_sizes, 2_000);
    let whole = outcome.told.subjects.iter().filter(|subject| **subject == api_versions(1)).count();
    assert_eq!((whole, outcome.messages.messages), (1000, 2_001));
    assert_memory_is_bounded();

    // The largest that is believed, of which the rest never comes: told as far as it was captured.
    let claimed = (100_u32 << 20) - 4;
    let packets = (0..500_u32).flat_map(|client| {
        let mut head = request(1);
        let mut frame = request(2);
        frame[..4].copy_from_slice(&claimed.to_be_bytes());
        head.extend(frame);
        vec![segment(client, 99, SYN, &[]), segment(client, 100, PUSH, &[head, vec![0; 1300]].concat())]
    });
    let outcome = read(packets);
    assert_eq!((outcome.messages.messages, outcome.told.cut), (1_000, 500));
    assert_memory_is_bounded();
}
