//! Real captures: packets against another reader of the formats, streams against those of the capture that a variant
//! was made from.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use kafkascope::capture::{CaptureReader, PacketCounters, Segments};
use kafkascope::stream::{
    Close, Connection, ConnectionId, Counters, Direction, Gap, GapCause, Origin, Reassembler, StreamSink,
};

/// The folder with the captures, if it is there.
fn captures() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let found = ["../shared/captures", "../../shared/captures"]
        .iter()
        .map(|folder| root.join(folder))
        .find(|folder| folder.join("INDEX.tsv").exists());
    if found.is_none() {
        eprintln!("SKIPPED: there is no folder ../shared/captures");
    }
    found
}

/// The names in the index and their notes, without those that have to be unpacked.
fn index(captures: &std::path::Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(captures.join("INDEX.tsv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            (columns[0].to_owned(), columns.get(12).copied().unwrap_or_default().to_owned())
        })
        .filter(|(name, _)| matches!(name.rsplit_once('.'), Some((_, "pcap" | "pcapng"))))
        .collect()
}

/// All that was told of a capture.
#[derive(Default)]
struct Told {
    connections: BTreeMap<ConnectionId, ToldConnection>,
    counters: Counters,
    packets: PacketCounters,
}

/// All that was told of a connection. Missing bytes are zeros in the streams.
struct ToldConnection {
    connection: Connection,
    streams: [Vec<u8>; 2],
    gaps: [Vec<Gap>; 2],
    close: Option<Close>,
}

/// The ports of sender and receiver: they tell streams apart in these captures.
type Ports = (u16, u16);

impl Told {
    fn of(path: &std::path::Path) -> Self {
        let mut told = Self::default();
        let mut reassembler = Reassembler::default();
        let mut reader = CaptureReader::new(File::open(path).unwrap()).unwrap();
        let mut packets = PacketCounters::default();
        let mut segments = Segments::new();
        while let Some(packet) = reader.next().unwrap() {
            let outcome = segments.segment(&packet);
            packets.count(&outcome);
            if let Ok(segment) = outcome {
                reassembler.push(&segment, &mut told);
            }
        }
        reassembler.finish(&mut told);
        assert_eq!(reassembler.held_bytes(), 0);
        told.counters = *reassembler.counters();
        told.packets = packets;
        told
    }

    /// All streams, by ports, in order of the connections; those without a byte are left out.
    fn streams(&self) -> Vec<(Ports, Vec<u8>)> {
        let mut streams = Vec::new();
        for told in self.connections.values() {
            for direction in [Direction::Forward, Direction::Backward] {
                let stream = &told.streams[direction as usize];
                if !stream.is_empty() {
                    streams.push((told.ports(direction), stream.clone()));
                }
            }
        }
        streams.sort();
        streams
    }

    /// Streams by ports; no ports may have been used twice.
    fn by_ports(&self) -> BTreeMap<Ports, Vec<u8>> {
        let streams = self.streams();
        let count = streams.len();
        let map: BTreeMap<_, _> = streams.into_iter().collect();
        assert_eq!(map.len(), count);
        map
    }

    fn gaps(&self) -> Vec<(Ports, Gap)> {
        let mut gaps = Vec::new();
        for told in self.connections.values() {
            for direction in [Direction::Forward, Direction::Backward] {
                gaps.extend(told.gaps[direction as usize].iter().map(|gap| (told.ports(direction), *gap)));
            }
        }
        gaps.sort_by_key(|(ports, gap)| (*ports, gap.offset));
        gaps
    }
}

impl ToldConnection {
    fn ports(&self, direction: Direction) -> Ports {
        let connection = &self.connection;
        (connection.sender(direction).port(), connection.sender(direction.opposite()).port())
    }
}

impl StreamSink for Told {
    fn open(&mut self, connection: &Connection) {
        let told = ToldConnection {
            connection: *connection,
            streams: Default::default(),
            gaps: Default::default(),
            close: None,
        };
        assert!(self.connections.insert(connection.id, told).is_none());
    }

    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        let stream = &mut self.connections.get_mut(&connection.id).unwrap().streams[direction as usize];
        assert_eq!(stream.len() as u64, origin.offset);
        stream.extend(bytes);
    }

    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap) {
        let told = self.connections.get_mut(&connection.id).unwrap();
        let stream = &mut told.streams[direction as usize];
        assert_eq!(stream.len() as u64, gap.offset);
        stream.resize(stream.len() + gap.missing as usize, 0);
        told.gaps[direction as usize].push(gap);
    }

    fn close(&mut self, connection: &Connection, how: Close) {
        let close = &mut self.connections.get_mut(&connection.id).unwrap().close;
        assert!(close.replace(how).is_none());
    }
}

#[test]
fn packets_are_those_that_another_reader_finds() {
    use pcap_parser::traits::PcapNGPacketBlock;
    use pcap_parser::{Block, PcapBlockOwned, PcapError};

    let Some(captures) = captures() else { return };
    for (name, _) in index(&captures) {
        let path = captures.join(&name);
        let mut theirs = pcap_parser::create_reader(1 << 20, File::open(&path).unwrap()).unwrap();
        let mut ours = CaptureReader::new(File::open(&path).unwrap()).unwrap();
        loop {
            match theirs.next() {
                Ok((length, block)) => {
                    let their_packet = match &block {
                        PcapBlockOwned::Legacy(record) => Some((record.data, record.origlen)),
                        PcapBlockOwned::NG(Block::EnhancedPacket(block)) => Some((block.packet_data(), block.origlen)),
                        _ => None,
                    };
                    if let Some((data, original_length)) = their_packet {
                        let packet = ours.next().unwrap().unwrap();
                        assert_eq!(packet.data, data, "{name} {}", packet.number);
                        assert_eq!(packet.original_length, original_length);
                    }
                    theirs.consume(length);
                }
                Err(PcapError::Eof) => break,
                Err(PcapError::Incomplete(_)) => theirs.refill().unwrap(),
                Err(error) => panic!("{name}: {error:?}"),
            }
        }
        assert!(ours.next().unwrap().is_none());
    }
}

#[test]
fn whole_captures_have_neither_gaps_nor_conflicts() {
    let Some(captures) = captures() else { return };
    let odd = ["lost", "nosyn", "midstream", "snaplen96", "39-multi-stop"];
    for (name, _) in index(&captures) {
        if odd.iter().any(|odd| name.contains(odd)) {
            continue;
        }
        let told = Told::of(&captures.join(&name));
        assert_eq!(told.gaps(), [], "{name}");
        assert_eq!(told.packets.segments + told.packets.fragments, told.packets.packets, "{name}");
        assert_eq!(told.packets.fragments > 0, name.contains("fragments"), "{name}");
        assert_eq!(told.counters.dropped_bytes, 0, "{name}");
        assert_eq!(told.counters.conflicting_overlaps, 0, "{name}");
        assert!(told.connections.values().all(|told| told.close.is_some()), "{name}");
    }
}

#[test]
fn variants_have_the_streams_of_their_base() {
    let Some(captures) = captures() else { return };
    // Those that lack something have tests of their own.
    let others = ["lost", "nosyn", "reuse"];
    let mut count = 0;
    for (name, notes) in index(&captures) {
        let Some(base) = notes.strip_prefix("variant of ") else {
            continue;
        };
        if others.iter().any(|other| name.contains(other)) {
            continue;
        }
        let base = base.split(';').next().unwrap();
        let (variant, base) = (Told::of(&captures.join(&name)), Told::of(&captures.join(base)));
        assert_eq!(variant.by_ports(), base.by_ports(), "{name}");
        assert!(!variant.by_ports().is_empty());
        let handshakes = |told: &Told| {
            told.connections
                .values()
                .map(|told| (told.connection.initiator.port(), told.connection.handshake))
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(handshakes(&variant), handshakes(&base), "{name}");
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn ports_used_again_are_new_connections() {
    let Some(captures) = captures() else { return };
    let reused = Told::of(&captures.join("44-franz-zstd-reuse.pcap"));
    let base = Told::of(&captures.join("44-franz-zstd.pcap"));
    let mut twice = [base.streams(), base.streams()].concat();
    twice.sort();
    assert_eq!(reused.streams(), twice);
    assert_eq!(reused.connections.len(), 2 * base.connections.len());
}

#[test]
fn lost_segments_are_the_gaps() {
    let Some(captures) = captures() else { return };
    let lost = Told::of(&captures.join("44-java-txn-lost.pcap"));
    let base = Told::of(&captures.join("44-java-txn.pcap"));
    let damage: serde_json::Value =
        serde_json::from_slice(&fs::read(captures.join("44-java-txn-lost.damage.json")).unwrap()).unwrap();
    let number = |range: &serde_json::Value, name: &str| range[name].as_u64().unwrap();
    let mut expected: Vec<(Ports, u64, u64)> = damage["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|range| {
            let ports = (number(range, "src_port") as u16, number(range, "dst_port") as u16);
            (ports, number(range, "stream_offset"), number(range, "len"))
        })
        .collect();
    expected.sort_unstable();
    // Neighbours are one gap.
    expected.dedup_by(|next, before| {
        let is_neighbour = next.0 == before.0 && next.1 == before.1 + before.2;
        if is_neighbour {
            before.2 += next.2;
        }
        is_neighbour
    });
    let gaps: Vec<_> = lost.gaps().into_iter().map(|(ports, gap)| (ports, gap.offset, gap.missing)).collect();
    assert_eq!(gaps, expected);
    assert!(lost.gaps().iter().all(|(_, gap)| gap.cause == GapCause::NotCaptured));
    // All else is as it was.
    let mut streams = base.by_ports();
    for (ports, offset, missing) in expected {
        streams.get_mut(&ports).unwrap()[offset as usize..][..missing as usize].fill(0);
    }
    assert_eq!(lost.by_ports(), streams);
}

#[test]
fn streams_without_their_beginning_are_the_ends_of_the_whole_ones() {
    let Some(captures) = captures() else { return };
    let cut = Told::of(&captures.join("44-java-txn-nosyn.pcap"));
    let base = Told::of(&captures.join("44-java-txn.pcap"));
    let whole = base.by_ports();
    let mut without_syn = 0;
    for told in cut.connections.values() {
        without_syn += u32::from(!told.connection.handshake);
        for direction in [Direction::Forward, Direction::Backward] {
            let (ports, stream) = (told.ports(direction), &told.streams[direction as usize]);
            if stream.is_empty() {
                continue;
            }
            let whole = &whole[&ports];
            assert!(whole.ends_with(stream), "{ports:?}");
            assert_eq!(told.connection.handshake, whole == stream, "{ports:?}");
        }
    }
    assert_eq!(cut.gaps(), []);
    assert!(without_syn > 0);
}

#[test]
fn what_the_snap_length_cut_is_told() {
    let Some(captures) = captures() else { return };
    let path = captures.join("44-snaplen96-java.pcap");
    let told = Told::of(&path);
    let mut expected = 0;
    let mut reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
    while let Some(packet) = reader.next().unwrap() {
        expected += u64::from(packet.original_length) - packet.data.len() as u64;
    }
    assert!(expected > 0);
    assert_eq!(told.counters.cut_bytes, expected);
    assert_eq!(told.counters.missing_bytes, 0);
    assert!(told.gaps().iter().all(|(_, gap)| gap.cause == GapCause::Cut));
}

#[test]
fn a_capture_that_begins_midstream_has_no_handshakes() {
    let Some(captures) = captures() else { return };
    let told = Told::of(&captures.join("44-midstream-java.pcap"));
    assert_eq!(told.gaps(), []);
    // The fifth that the index counts has no data.
    assert_eq!(told.connections.len(), 4);
    assert!(told.connections.values().any(|told| !told.connection.handshake));
    // Kafka's frames begin with their size, so the first bytes of a stream tell whether its beginning is right.
    for told in told.connections.values() {
        for stream in &told.streams {
            let mut rest = &stream[..];
            while let Some((size, after)) = rest.split_first_chunk() {
                rest = after.get(u32::from_be_bytes(*size) as usize..).expect("a whole frame");
            }
            assert!(rest.is_empty());
        }
    }
}

#[test]
fn times_and_interfaces_of_pcapng_are_those_of_the_base() {
    let Some(captures) = captures() else { return };
    let times = |name: &str| {
        let mut reader = CaptureReader::new(File::open(captures.join(name)).unwrap()).unwrap();
        let mut packets = Vec::new();
        while let Some(packet) = reader.next().unwrap() {
            packets.push((packet.time.nanoseconds(), packet.interface));
        }
        packets
    };
    // The nanosecond variant has digits of its own behind the microseconds.
    let to_microseconds =
        |packets: Vec<(i64, u32)>| packets.into_iter().map(|(time, _)| time / 1000).collect::<Vec<_>>();
    let (base, nanosecond) = (times("44-java-gzip.pcap"), times("44-java-gzip-nanosecond.pcap"));
    assert_ne!(nanosecond, base);
    assert_eq!(to_microseconds(nanosecond), to_microseconds(base));

    let (base, variant) = (times("44-mss-librdkafka.pcap"), times("44-mss-librdkafka-ng-interfaces.pcapng"));
    // Interfaces with a clock of milliseconds have no more than that.
    assert_eq!(variant.len(), base.len());
    for ((time, interface), (exact, _)) in variant.iter().zip(&base) {
        assert!((0..1_000_000).contains(&(exact - time)), "{interface}: {time}, not {exact}");
    }
    let interfaces: std::collections::BTreeSet<_> = variant.iter().map(|packet| packet.1).collect();
    assert!(interfaces.len() > 1, "{interfaces:?}");
}
