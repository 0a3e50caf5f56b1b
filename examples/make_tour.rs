//! Makes `captures/tour.pcapng`: one capture that shows what there is to see, put together from the others in the folder.
//!
//! ```text
//! cargo run --example make_tour
//! ```
//!
//! Each chapter is some connections of a capture, with their packets as they were; only the times are moved, so that the
//! chapters follow each other. A comment on the first packet says what the chapter shows. Two chapters have
//! packets that were changed on purpose, and say so.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Context;
use kafkascope::capture::{CaptureReader, segment};

/// Some connections of a capture.
struct Chapter {
    title: &'static str,
    capture: &'static str,
    /// The clients' ports.
    clients: &'static [u16],
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

const CHAPTERS: [Chapter; 16] = [
    Chapter {
        title: "1. A client starts. It asks which versions the broker speaks, in a version that this broker does not \
                know; the answer comes in version 0, with an error and the versions that will do. It asks again.",
        capture: "39-java-4.4-fallback.pcap",
        clients: &[38948],
        change: Change::Nothing,
    },
    Chapter {
        title: "2. Topics: made, described, given more partitions, emptied, deleted, by an Admin client.",
        capture: "44-java-admin-topics.pcap",
        clients: &[45460],
        change: Change::Nothing,
    },
    Chapter {
        title: "3. Produce in five codecs. None: the Java client, idempotent, with headers, null keys and null values.",
        capture: "44-java-none.pcap",
        clients: &[38088],
        change: Change::Nothing,
    },
    Chapter {
        title: "3b. gzip: kafkajs.",
        capture: "44-kafkajs-gzip.pcap",
        clients: &[51512],
        change: Change::Nothing,
    },
    Chapter {
        title: "3c. snappy: kafka-go.",
        capture: "44-kafkago-snappy.pcap",
        clients: &[51924],
        change: Change::Nothing,
    },
    Chapter { title: "3d. lz4: sarama.", capture: "44-sarama-lz4.pcap", clients: &[51850], change: Change::Nothing },
    Chapter {
        title: "3e. zstd: aiokafka.",
        capture: "39-aiokafka-zstd.pcap",
        clients: &[59156],
        change: Change::Nothing,
    },
    Chapter {
        title: "4. A client of 2015 (Java 0.9): a message set of format 0, its messages inside of a gzip wrapper.",
        capture: "39-java-0.9.0.1-gzip.pcap",
        clients: &[45756],
        change: Change::Nothing,
    },
    Chapter {
        title: "5. A group forms, the classic way: JoinGroup, SyncGroup, then Fetch on a second connection \
                (kafka-python).",
        capture: "44-kafkapython-gzip.pcap",
        clients: &[39960, 39968],
        change: Change::Nothing,
    },
    Chapter {
        title: "6. The new group protocol: heartbeats do it all. A second member comes and takes its share.",
        capture: "44-java-consumer-protocol.pcap",
        clients: &[44946, 44948, 45416, 45420],
        change: Change::Nothing,
    },
    Chapter {
        title: "7. Transactions: the producer's connection, and the broker's own, which adds partitions and writes the \
                markers.",
        capture: "44-java-txn.pcap",
        clients: &[36016, 36018, 36022],
        change: Change::Nothing,
    },
    Chapter {
        title: "8. A login (SASL PLAIN), and errors: a topic that this user may not see, a record that the broker \
                refuses.",
        capture: "44-java-errors-part.pcap",
        clients: &[34164, 34190],
        change: Change::Nothing,
    },
    Chapter {
        title: "9. The older login: behind SaslHandshake v0 the tokens (SCRAM) travel bare, without Kafka's header.",
        capture: "39-sarama-sasl-v0-scram.pcap",
        clients: &[45146],
        change: Change::Nothing,
    },
    Chapter {
        title: "10. A broken request (made for this tour). A compact string is preceded by its length plus one; \
                here the client forgot the one.",
        capture: "44-mss-librdkafka.pcap",
        clients: &[59050],
        change: Change::WrongLength,
    },
    Chapter {
        title: "11. A capture that cut its packets behind 128 bytes (made for this tour): what is there is shown, what is \
                missing is said.",
        capture: "39-aiokafka-zstd.pcap",
        clients: &[59164],
        change: Change::Cut(128),
    },
    Chapter {
        title: "12. TLS, without keys: nothing to read.",
        capture: "44-java-tls13-nokeys.pcap",
        clients: &[58298],
        change: Change::Nothing,
    },
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
    let mut file = section_header();
    file.extend(interface());
    let mut time = START;
    for chapter in &CHAPTERS {
        let mut packets = chapter.packets(captures).with_context(|| chapter.capture)?;
        let first = packets.first().map_or(0, |packet| packet.time);
        for packet in &mut packets {
            packet.time += time - first;
        }
        time = packets.last().map_or(time, |packet| packet.time + PAUSE);
        for packet in &packets {
            file.extend(enhanced_packet(packet));
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
        let first = packets.first_mut().context("no packets")?;
        first.comment = Some(self.title.to_owned());
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

/// A pcapng block, in little-endian byte order. See draft-ietf-opsawg-pcapng.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (padded as u32 + 12).to_le_bytes();
    let mut block = [&kind.to_le_bytes(), &length, body].concat();
    block.resize(padded + 8, 0);
    block.extend(length);
    block
}

/// An option of a block: code, length, value, padding.
fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [&code.to_le_bytes(), &(value.len() as u16).to_le_bytes(), value].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

const END_OF_OPTIONS: [u8; 4] = [0; 4];

fn section_header() -> Vec<u8> {
    const BYTE_ORDER: [u8; 4] = 0x1a2b_3c4d_u32.to_le_bytes();
    const VERSION: [u8; 4] = [1, 0, 0, 0];
    const UNKNOWN_LENGTH: [u8; 8] = [0xff; 8];
    let comment =
        option(1, b"A tour of kafkascope: real brokers and clients on loopback. Made by examples/make_tour.rs.");
    block(0x0a0d_0d0a, &[&BYTE_ORDER[..], &VERSION, &UNKNOWN_LENGTH, &comment, &END_OF_OPTIONS].concat())
}

/// Ethernet, no limit of length, time stamps in microseconds.
fn interface() -> Vec<u8> {
    block(1, &[[1, 0, 0, 0], [0; 4]].concat())
}

fn enhanced_packet(packet: &Packet) -> Vec<u8> {
    let time = packet.time.cast_unsigned();
    let (high, low) = ((time >> 32) as u32, time as u32);
    let mut body = Vec::new();
    for number in [0, high, low, packet.data.len() as u32, packet.original_length] {
        body.extend(number.to_le_bytes());
    }
    body.extend(&packet.data);
    body.resize(body.len().next_multiple_of(4), 0);
    if let Some(comment) = &packet.comment {
        body.extend(option(1, comment.as_bytes()));
        body.extend(END_OF_OPTIONS);
    }
    block(6, &body)
}
