//! Segments of two connections in any order, repeated, cut and lost. Each byte says by its value where in the sequence
//! it stands, so a byte that comes out at a wrong place is noticed.

use std::collections::HashMap;
use std::net::SocketAddr;

use kafkascope::capture::{Place, Segment, Time};
use kafkascope::stream::{Close, Connection, ConnectionId, Direction, Gap, Limits, Origin, Reassembler, StreamSink};

/// Eight bytes a segment: what it is, its place, its length, its acknowledgment, the time that has passed.
const STEP: usize = 8;

/// The first byte sets the limits, the second where sequence numbers begin; then come the segments.
pub fn run(data: &[u8]) {
    let Some((&[limits, start], steps)) = data.split_first_chunk() else { return };
    let limits = match limits % 3 {
        0 => Limits::default(),
        1 => Limits { per_stream: 300, total: 400, connections: 1 },
        _ => Limits { per_stream: 3000, total: 1 << 20, connections: 2 },
    };
    // Half of them wrap soon.
    let base = if start & 1 == 0 { u32::from(start) << 8 } else { u32::MAX - u32::from(start) * 2 };
    let mut reassembler = Reassembler::new(limits);
    let mut rules = Rules::default();
    let mut time = Time::default();
    let mut number = 0;
    for step in steps.as_chunks::<STEP>().0 {
        number += 1;
        let [kind, place, high, length, acknowledged, more, cut, passed] = *step;
        time = time.after(i64::from(passed) * i64::from(passed) * 1_000_000);
        let sequence = base.wrapping_add(u32::from(place) + (u32::from(high & 0x0f) << 8));
        // Some are far away.
        let sequence = if high >= 0xf0 { sequence.wrapping_add(u32::from(high) << 20) } else { sequence };
        let syn = kind & 4 != 0;
        let length = if syn && kind & 8 == 0 { 0 } else { usize::from(length) };
        let payload: Vec<u8> =
            (0..length).map(|at| value_at(sequence.wrapping_add(at as u32 + u32::from(syn)))).collect();
        let (source, destination) = ends(kind & 1 != 0, kind & 2 != 0);
        let acknowledgment =
            (kind & 64 == 0).then(|| base.wrapping_add(u32::from(acknowledged) + (u32::from(more) << 8)));
        rules.now = number;
        rules.places.push(sequence.wrapping_add(u32::from(syn)));
        rules.places.extend(acknowledgment);
        let segment = Segment {
            packet: number,
            time,
            source,
            destination,
            sequence,
            acknowledgment,
            syn,
            fin: kind & 0x30 == 0x30,
            rst: kind & 0x30 == 0x10,
            payload: &payload,
            place: Place::new(0, u64::from(sequence.wrapping_add(u32::from(syn)))),
            cut: if cut < 200 { 0 } else { u32::from(cut) },
        };
        reassembler.push(&segment, &mut rules);
        assert!(reassembler.held_bytes() <= limits.total, "more is held than allowed");
    }
    reassembler.finish(&mut rules);
    assert_eq!(reassembler.held_bytes(), 0);
    assert!(rules.open.is_empty(), "connections that were not closed");
    assert_eq!(rules.delivered, reassembler.counters().delivered_bytes);
    assert_eq!(rules.gaps, reassembler.counters().gaps);
}

/// The byte that stands at a sequence number.
fn value_at(sequence: u32) -> u8 {
    let mixed = sequence.wrapping_mul(0x85EB_CA6B);
    ((mixed ^ (mixed >> 13)).wrapping_mul(0xC2B2_AE35) >> 24) as u8
}

fn ends(second: bool, backward: bool) -> (SocketAddr, SocketAddr) {
    let client = SocketAddr::from(([10, 0, 0, 1], if second { 50_001 } else { 50_000 }));
    let broker = SocketAddr::from(([10, 0, 0, 2], 9092));
    if backward { (broker, client) } else { (client, broker) }
}

/// What the documents of [`StreamSink`] promise.
#[derive(Default)]
struct Rules {
    open: HashMap<ConnectionId, HashMap<Direction, Stream>>,
    /// The number of the segment that is being taken.
    now: u64,
    /// The sequence numbers at which a stream may begin.
    places: Vec<u32>,
    delivered: u64,
    gaps: u64,
}

/// How far a stream is.
#[derive(Default)]
struct Stream {
    offset: u64,
    /// The sequence numbers of offset 0 that explain all bytes so far; `None` before the first bytes.
    begins: Option<Vec<u32>>,
}

impl StreamSink for Rules {
    fn open(&mut self, connection: &Connection) {
        assert!(connection.id.0 > 0);
        assert!(self.open.insert(connection.id, HashMap::new()).is_none());
    }

    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        assert!(!bytes.is_empty() && origin.packet <= self.now);
        self.delivered += bytes.len() as u64;
        // What is told of a segment's middle lies in its middle.
        let place = origin.place.offset as u32;
        assert!((0..).zip(bytes).all(|(at, byte)| value_at(place.wrapping_add(at)) == *byte), "bytes lie elsewhere");
        let stream = self.open.get_mut(&connection.id).expect("open").entry(direction).or_default();
        assert_eq!(stream.offset, origin.offset, "bytes do not continue");
        stream.offset += bytes.len() as u64;
        // A stream begins behind a SYN, or where a segment begins, or where the receiver says that it has got to.
        let begins = stream.begins.get_or_insert_with(|| self.places.clone());
        begins.retain(|begin| {
            let start = begin.wrapping_add(origin.offset as u32);
            (0..).zip(bytes).all(|(at, byte)| value_at(start.wrapping_add(at)) == *byte)
        });
        assert!(!begins.is_empty(), "bytes stand where they were not sent");
    }

    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap) {
        self.gaps += 1;
        let stream = self.open.get_mut(&connection.id).expect("open").entry(direction).or_default();
        assert_eq!(stream.offset, gap.offset);
        assert!(gap.missing > 0);
        stream.offset += gap.missing;
    }

    fn close(&mut self, connection: &Connection, _: Close) {
        assert!(self.open.remove(&connection.id).is_some());
    }
}
