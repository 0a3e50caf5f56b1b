//! What holds for all streams, and for all segments.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::*;
use super::{BROKER, CLIENT, Capture};
use crate::capture::{Place, Segment};

/// Puts the streams of one connection together and checks where each byte is said to come from.
#[derive(Default)]
struct Collector {
    streams: HashMap<Direction, Vec<u8>>,
    origins: HashMap<Direction, Vec<u64>>,
    /// Where the bytes lie, in the order in which they were told.
    places: Vec<(Place, usize)>,
    opened: u32,
    gaps: u32,
    closed: Vec<Close>,
}

impl StreamSink for Collector {
    fn open(&mut self, _: &Connection) {
        self.opened += 1;
    }

    fn data(&mut self, _: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        let stream = self.streams.entry(direction).or_default();
        assert_eq!(stream.len() as u64, origin.offset);
        assert!(!bytes.is_empty());
        stream.extend(bytes);
        self.places.push((origin.place, bytes.len()));
        let origins = self.origins.entry(direction).or_default();
        origins.extend(bytes.iter().map(|_| origin.packet));
    }

    fn gap(&mut self, _: &Connection, _: Direction, _: Gap) {
        self.gaps += 1;
    }

    fn close(&mut self, _: &Connection, how: Close) {
        self.closed.push(how);
    }
}

/// Which part of a stream a segment has, and by how many places it is late.
type Part = (usize, usize, usize);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any stream that is cut into segments, which then change places, come twice and overlap, comes out as it was.
    #[test]
    fn streams_come_out_as_they_went_in(
        length in 1..3000_usize,
        cuts in prop::collection::vec(0..3000_usize, 0..40),
        extra in prop::collection::vec((0..3000_usize, 0..400_usize, 0..12_usize), 0..30),
        lateness in prop::collection::vec(0..12_usize, 50),
        start: u32,
        near_wrap: bool,
        syn_is_seen: bool,
    ) {
        let stream: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
        let start = if near_wrap { u32::MAX - (start % 4000) } else { start };
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % length).collect();
        cuts.extend([0, length]);
        cuts.sort_unstable();
        cuts.dedup();
        // The segments in order, each late by some places; the first not, when there is no SYN to say where it begins.
        let mut parts: Vec<(usize, Part)> = Vec::new();
        for (index, pair) in cuts.windows(2).enumerate() {
            let late = if index == 0 && !syn_is_seen { 0 } else { lateness[index] };
            parts.push((index * 2 + late * 2, (pair[0], pair[1], late)));
        }
        // Overlapping copies of any part, not before its time.
        for (from, size, late) in extra {
            let (from, to) = (from % length, (from % length + size + 1).min(length));
            let index = cuts.partition_point(|&cut| cut < to);
            parts.push((index * 2 + late * 2 + 1, (from, to, late)));
        }
        parts.sort_by_key(|&(order, _)| order);

        let mut reassembler = Reassembler::default();
        let mut collector = Collector::default();
        let mut first_copy = vec![None; length];
        let mut file = vec![0xff; 7];
        let mut packet = 0;
        let mut push = |sequence: u32, syn: bool, fin: bool, payload: &[u8], packet: &mut u64| {
            *packet += 1;
            let segment = Segment {
                packet: *packet,
                time: Time::from_nanoseconds((*packet).cast_signed()),
                source: CLIENT.parse().unwrap(),
                destination: BROKER.parse().unwrap(),
                sequence,
                acknowledgment: None,
                syn,
                fin,
                rst: false,
                payload,
                place: Place::new(0, file.len() as u64),
                cut: 0,
            };
            file.extend_from_slice(payload);
            reassembler.push(&segment, &mut collector);
        };
        if syn_is_seen {
            push(start.wrapping_sub(1), true, false, &[], &mut packet);
        }
        for (_, (from, to, _)) in parts {
            // A single byte does not begin a stream.
            if !syn_is_seen && to - from == 1 {
                prop_assume!(false);
            }
            push(start.wrapping_add(from as u32), false, false, &stream[from..to], &mut packet);
            for first in &mut first_copy[from..to] {
                first.get_or_insert(packet);
            }
        }
        push(start.wrapping_add(length as u32), false, true, &[], &mut packet);
        reassembler.finish(&mut collector);

        prop_assert_eq!(collector.streams.get(&Direction::Forward), Some(&stream));
        let origins: Vec<_> = collector.origins[&Direction::Forward].iter().copied().map(Some).collect();
        prop_assert_eq!(origins, first_copy);
        let again: Vec<u8> = collector
            .places
            .iter()
            .flat_map(|(place, length)| file[place.offset as usize..][..*length].to_vec())
            .collect();
        prop_assert_eq!(again, stream);
        prop_assert_eq!(collector.gaps, 0);
        prop_assert_eq!(collector.opened, 1);
        prop_assert_eq!(collector.closed, vec![Close::EndOfCapture]);
        prop_assert_eq!(reassembler.counters().conflicting_overlaps, 0);
        prop_assert_eq!(reassembler.held_bytes(), 0);
    }

    /// Anything may come from the network: the calls to the sink stay in order, and nothing is held at the end.
    #[test]
    fn no_segments_break_the_rules_of_the_sink(
        segments in prop::collection::vec(
            (
                any::<bool>(),
                prop_oneof![0..60_u32, any::<u32>(), (u32::MAX - 30)..u32::MAX],
                prop::option::of(prop_oneof![0..60_u32, any::<u32>()]),
                0..16_u8,
                0..30_usize,
                prop_oneof![Just(0_u32), 0..9_u32, Just(1 << 20)],
                prop_oneof![Just(0_i64), 0..3_000_000_000_i64, any::<i64>()],
            ),
            0..120,
        ),
        tight: bool,
    ) {
        let limits = if tight { Limits { per_stream: 300, total: 400, connections: 1 } } else { Limits::default() };
        let mut capture = Capture::with(limits);
        let mut rules = Rules::default();
        for (from_client, sequence, acknowledgment, flags, length, cut, passed) in segments {
            capture.packet += 1;
            capture.time = capture.time.after(passed);
            let ends = (CLIENT.parse().unwrap(), BROKER.parse().unwrap());
            let (source, destination) = if from_client { ends } else { (ends.1, ends.0) };
            let segment = Segment {
                packet: capture.packet,
                time: capture.time,
                source,
                destination,
                sequence,
                acknowledgment,
                syn: flags & 0b11 == 0b11,
                fin: flags & 0b1100 == 0b1100,
                rst: flags == 9,
                payload: &[7; 30][..length],
                place: Place::default(),
                cut,
            };
            capture.reassembler.push(&segment, &mut rules);
            prop_assert!(capture.reassembler.held_bytes() <= limits.total);
        }
        capture.reassembler.finish(&mut rules);
        prop_assert_eq!(capture.reassembler.held_bytes(), 0);
        prop_assert!(rules.open.is_empty());
    }
}

/// Checks what the documents of [`StreamSink`] promise.
#[derive(Default)]
struct Rules {
    open: HashMap<ConnectionId, HashMap<Direction, u64>>,
}

impl StreamSink for Rules {
    fn open(&mut self, connection: &Connection) {
        assert!(connection.id.0 > 0);
        assert!(self.open.insert(connection.id, HashMap::new()).is_none());
    }

    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        let offset = self.open.get_mut(&connection.id).unwrap().entry(direction).or_default();
        assert_eq!(*offset, origin.offset);
        assert!(!bytes.is_empty());
        *offset += bytes.len() as u64;
    }

    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap) {
        let offset = self.open.get_mut(&connection.id).unwrap().entry(direction).or_default();
        assert_eq!(*offset, gap.offset);
        assert!(gap.missing > 0);
        *offset += gap.missing;
    }

    fn close(&mut self, connection: &Connection, _: Close) {
        assert!(self.open.remove(&connection.id).is_some());
    }
}
