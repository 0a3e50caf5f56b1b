//! Makes `captures/tour.pcapng`: one capture that shows what there is to see, put together from the others in the folder.
//!
//! ```text
//! cargo run --example make_tour
//! ```
//!
//! Each chapter is some connections of a capture, with their packets as they were; only the times are moved, so that the
//! chapters follow each other. A comment on the first packet says what the chapter shows. Two chapters have packets that
//! were changed on purpose, and say so.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Context;
use kafkascope::capture::{CaptureReader, LinkType, Time, segment};
use kafkascope::output::pcapng::{self, Resolution, WrittenPacket};

/// Some connections of a capture.
struct Chapter {
    title: &'static str,
    capture: &'static str,
    /// The clients' ports.
    clients: &'static [u16],
    /// Comments on packets of the chapter, which count from 1.
    notes: &'static [(usize, &'static str)],
    change: Change,
}

/// What is done to the packets of a chapter.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    /// The length of the topic in the client's last request is one too small, and the broker hangs up.
    WrongLength,
    /// Packets are cut behind so many bytes, as a snap length does it.
    Cut(usize),
}

const fn chapter(title: &'static str, capture: &'static str, clients: &'static [u16]) -> Chapter {
    Chapter { title, capture, clients, notes: &[], change: Change::Nothing }
}

const CHAPTERS: [Chapter; 16] = [
    Chapter {
        notes: &[(6, "This broker does not know version 5: it answers in version 0, and the client asks again")],
        ..chapter("1. A client starts: versions first", "39-java-4.4-fallback.pcap", &[38948])
    },
    chapter("2. Topics: made, described, given more partitions, deleted", "44-java-admin-topics.pcap", &[45460]),
    chapter("3. Produce in five codecs: none (Java, idempotent)", "44-java-none.pcap", &[38078, 38088]),
    chapter("3b. gzip (kafkajs)", "44-kafkajs-gzip.pcap", &[51512]),
    chapter("3c. snappy (kafka-go)", "44-kafkago-snappy.pcap", &[51924]),
    chapter("3d. lz4 (sarama)", "44-sarama-lz4.pcap", &[51850]),
    chapter("3e. zstd (aiokafka)", "39-aiokafka-zstd.pcap", &[59156]),
    chapter(
        "4. A client of 2015 (Java 0.9): a gzip message with messages of format 0 in it",
        "39-java-0.9.0.1-gzip.pcap",
        &[45756],
    ),
    chapter(
        "5. A group forms, the classic way: JoinGroup, SyncGroup, Fetch (kafka-python)",
        "44-kafkapython-gzip.pcap",
        &[39960, 39968],
    ),
    chapter(
        "6. The new group protocol: heartbeats do it all; a second member takes its share",
        "44-java-consumer-protocol.pcap",
        &[44930, 44946, 44948, 45416, 45420],
    ),
    chapter(
        "7. Transactions: the producer, and the broker's own connections that add partitions and write markers",
        "44-java-txn.pcap",
        &[36016, 36018, 36022],
    ),
    chapter(
        "8. A login (SASL PLAIN), and errors: a record that is refused, a topic that this user may not see",
        "44-java-errors-part.pcap",
        &[34150, 34164, 34190],
    ),
    chapter(
        "9. The older login: behind SaslHandshake v0 the tokens (SCRAM) travel without Kafka's header",
        "39-sarama-sasl-v0-scram.pcap",
        &[45146],
    ),
    Chapter {
        notes: &[(8, "The topic's name is one letter short: a compact string has its length plus one in front")],
        change: Change::WrongLength,
        ..chapter("10. A broken request (changed by hand)", "44-mss-librdkafka.pcap", &[59050])
    },
    Chapter {
        change: Change::Cut(128),
        ..chapter("11. A capture that kept 128 bytes of a packet (changed by hand)", "39-aiokafka-zstd.pcap", &[59164])
    },
    chapter("12. TLS without keys: nothing to read", "44-java-tls13-nokeys.pcap", &[58298]),
];

/// 2026-11-29T10:00:00Z, in microseconds.
const START: i64 = 1_795_946_400_000_000;
/// From the last packet of a chapter to the first of the next.
const PAUSE: i64 = 1_000_000;

/// A packet of the tour.
struct Packet {
    /// Microseconds since 1970.
    time: i64,
    data: Vec<u8>,
    original_length: u32,
    comment: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    let path = captures.join("tour.pcapng");
    fs::write(&path, tour(&captures)?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// The tour as a file.
pub(crate) fn tour(captures: &Path) -> anyhow::Result<Vec<u8>> {
    let mut file = Vec::new();
    let comment = "A tour of kafkascope: real brokers and clients on loopback. Made by examples/make_tour.rs.";
    pcapng::section_header(&mut file, Some(comment), None);
    pcapng::interface(&mut file, LinkType::ETHERNET, Resolution::Microseconds);
    let mut time = START;
    for chapter in &CHAPTERS {
        let mut packets = chapter.packets(captures).with_context(|| chapter.capture)?;
        let first = packets.first().map_or(0, |packet| packet.time);
        for packet in &mut packets {
            packet.time += time - first;
        }
        time = packets.last().map_or(time, |packet| packet.time + PAUSE);
        for packet in &packets {
            let written = WrittenPacket {
                time: Time::from_nanoseconds(packet.time * 1000),
                data: &packet.data,
                original_length: packet.original_length,
                comments: packet.comment.as_slice(),
            };
            pcapng::packet(&mut file, &written, Resolution::Microseconds);
        }
    }
    Ok(file)
}

impl Chapter {
    fn packets(&self, captures: &Path) -> anyhow::Result<Vec<Packet>> {
        let mut reader = CaptureReader::new(File::open(captures.join(self.capture))?)?;
        let mut packets = Vec::new();
        while let Some(packet) = reader.next()? {
            let segment = segment(&packet)?;
            let ports = [segment.source.port(), segment.destination.port()];
            if !ports.iter().any(|port| self.clients.contains(port)) {
                continue;
            }
            let mut packet = Packet {
                time: packet.time.nanoseconds() / 1000,
                data: packet.data.to_vec(),
                original_length: packet.original_length,
                comment: None,
            };
            if let Change::Cut(length) = self.change {
                packet.data.truncate(length);
            }
            packets.push(packet);
        }
        if let Change::WrongLength = self.change {
            forget_one(&mut packets)?;
        }
        for (number, comment) in [(1, self.title)].iter().chain(self.notes) {
            let packet = packets.get_mut(number - 1).context("no such packet")?;
            packet.comment = Some((*comment).to_owned());
        }
        Ok(packets)
    }
}

/// Lets the client write one too little in front of the topic's name in its last request, and the broker hang up.
fn forget_one(packets: &mut Vec<Packet>) -> anyhow::Result<()> {
    // The name as a compact string: its length and one more, then its bytes.
    const TOPIC: &[u8] = b"\x14t-44-mss-librdkafka";
    let place = |packet: &Packet| packet.data.windows(TOPIC.len()).position(|window| window == TOPIC);
    let request = packets.iter().position(|packet| place(packet).is_some()).context("no request with the topic")?;
    packets.truncate(request + 1);
    let request = packets.last_mut().context("no request")?;
    let length = place(request).and_then(|at| request.data.get_mut(at)).context("no length")?;
    *length -= 1;
    let end = hang_up(request).context("the request is no TCP segment")?;
    packets.push(end);
    Ok(())
}

/// The packet with which the other side ends the connection, a millisecond after a packet in Ethernet and IPv4.
fn hang_up(packet: &Packet) -> Option<Packet> {
    const IP: usize = 14;
    const TCP: usize = IP + 20;
    const FIN_AND_ACK: u8 = 0x11;
    let number =
        |at: usize| packet.data.get(at..).and_then(<[u8]>::first_chunk).map(|bytes| u32::from_be_bytes(*bytes));
    let headers = TCP + usize::from(packet.data.get(TCP + 12)? >> 4) * 4;
    let payload = u32::try_from(packet.data.len() - headers).ok()?;
    let (sequence, acknowledgment) = (number(TCP + 4)?, number(TCP + 8)?);

    let mut data = packet.data.get(..headers)?.to_vec();
    let mut put = |at: usize, bytes: &[u8]| {
        data.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        Some(())
    };
    put(IP + 2, &u16::try_from(headers - IP).ok()?.to_be_bytes())?;
    put(IP + 12, packet.data.get(IP + 16..IP + 20)?)?;
    put(IP + 16, packet.data.get(IP + 12..IP + 16)?)?;
    put(TCP, packet.data.get(TCP + 2..TCP + 4)?)?;
    put(TCP + 2, packet.data.get(TCP..TCP + 2)?)?;
    put(TCP + 4, &acknowledgment.to_be_bytes())?;
    put(TCP + 8, &sequence.wrapping_add(payload).to_be_bytes())?;
    put(TCP + 13, &[FIN_AND_ACK])?;
    let original_length = u32::try_from(data.len()).ok()?;
    Some(Packet { time: packet.time + 1000, data, original_length, comment: None })
}
