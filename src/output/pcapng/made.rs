//! Packets made anew from messages.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader};
use foldhash::{HashMap, HashMapExt};

use super::{Resolution, WrittenPacket, interface, packet, section_header};
use crate::capture::{LinkType, Time};
use crate::conversation::Message;
use crate::protocol::Side;
use crate::stream::ConnectionId;

/// Writes messages as the packets of a capture that has these messages and no others, so that any tool finds them in it.
///
/// - A connection begins with a handshake at the time of its first packet, and its streams have only the bytes of the
///   messages that are written. Addresses, ports and times are those of the capture; sequence numbers, acknowledgments,
///   checksums and all else of the headers are not.
/// - A message is cut into packets where it was cut before, each with its own time. They are written when the message is
///   complete, so that messages come in their order; packets of messages that came side by side may be out of order.
///   (Responses whose request was not seen may come later than before, as readers wait for their requests.)
/// - What the capture lacks of a message is lacking here: packets that say how long they were and end behind their headers.
///   What it has behind such a hole is here as well, if it is given.
/// - Before a message whose beginning was guessed, a byte is lacking: whoever reads the stream must guess as well. (Of a
///   response without its request it is the API that was guessed, so there is none.)
#[derive(Debug)]
pub struct PacketMaker {
    connections: HashMap<ConnectionId, Streams>,
    /// The last packet of the message before, and the comments that it was written with.
    last: (u64, Vec<String>),
}

/// The next sequence numbers of a connection.
#[derive(Debug, Clone, Copy)]
struct Streams {
    asked: u32,
    answered: u32,
}

/// So much payload fits into a packet of IPv4 or IPv6.
const MOST: u32 = u16::MAX as u32 - 40;
const WINDOW: u16 = u16::MAX;

/// What a segment is beside its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Syn,
    SynAck,
    Ack,
    Data,
}

impl PacketMaker {
    /// Begins a file.
    pub fn new(out: &mut Vec<u8>) -> Self {
        let comment = "Packets made anew from Kafka messages: addresses, ports, times and payloads are those of the \
                       capture, all else is not.";
        section_header(out, Some(comment), Some(concat!("kafkascope ", env!("CARGO_PKG_VERSION"))));
        interface(out, LinkType::RAW, Resolution::Nanoseconds);
        Self { connections: HashMap::new(), last: (0, Vec::new()) }
    }

    /// Appends the packets of a message. `behind` are the bytes that its pieces have behind its frame, one after the other, or
    /// none: then they are lacking here. `comments` are those of the packets that brought it.
    pub fn message(&mut self, out: &mut Vec<u8>, message: &Message<'_, '_>, behind: &[u8], comments: &[String]) {
        let first = message.pieces.iter().map(|piece| piece.time).min().unwrap_or(message.time);
        let is_request = message.side() == Side::Request;
        let is_answer = message.request.is_some();
        let connection = message.connection;
        let mut segments = Segments { out, ends: [message.client, message.broker], comments: &[] };
        let streams = self.connections.entry(connection).or_insert_with(|| {
            let mut streams = segments.handshake(connection, first);
            if !is_request && !is_answer {
                // The request was not seen: the stream begins behind it.
                segments.lost(&mut streams, Side::Request, 1, first);
            }
            streams
        });
        // That the API of an answer was guessed says nothing of where it begins.
        if message.guessed && (is_request || is_answer) {
            segments.lost(streams, message.side(), 1, first);
        }
        // A packet that brought several messages has its comments only once.
        let (before, said) = std::mem::take(&mut self.last);
        let is_shared = message.packets.contains(&before);
        let comments: Vec<String> =
            comments.iter().filter(|comment| !is_shared || !said.contains(comment)).cloned().collect();
        segments.comments = &comments;
        let frame_pieces = message.frame_pieces();
        let mut at = message.stream_offset;
        for (mut bytes, pieces) in
            [(message.frame, frame_pieces), (behind, message.pieces.get(frame_pieces.len()..).unwrap_or_default())]
        {
            for piece in pieces {
                let (data, more) = bytes.split_at_checked((piece.end - piece.start) as usize).unwrap_or((bytes, &[]));
                bytes = more;
                if data.is_empty() {
                    break;
                }
                segments.lost(streams, message.side(), piece.start.saturating_sub(at), piece.time);
                for data in data.chunks(MOST as usize) {
                    segments.data(streams, message.side(), data, piece.time);
                }
                at = piece.start + data.len() as u64;
            }
        }
        let end = message.stream_offset + message.size();
        segments.lost(streams, message.side(), end.saturating_sub(at), message.time);
        let last = message.packets.last().copied().unwrap_or_default();
        let said = if is_shared && last == before { [said, comments].concat() } else { comments };
        self.last = (last, said);
    }
}

/// Writes the segments of a connection.
struct Segments<'o, 'c> {
    out: &'o mut Vec<u8>,
    /// Client and broker.
    ends: [SocketAddr; 2],
    /// For the next segment.
    comments: &'c [String],
}

impl Segments<'_, '_> {
    fn handshake(&mut self, connection: ConnectionId, time: Time) -> Streams {
        // Far from those of other connections on the same ports, which are the ones that end before.
        let start = (connection.0 as u32).wrapping_mul(0x1000_0000);
        let streams = Streams { asked: start.wrapping_add(1), answered: start.wrapping_add(1) };
        let zero = Streams { asked: start, answered: start };
        self.segment(Side::Request, Kind::Syn, zero, &[], 0, time);
        self.segment(Side::Response, Kind::SynAck, Streams { asked: streams.asked, ..zero }, &[], 0, time);
        self.segment(Side::Request, Kind::Ack, streams, &[], 0, time);
        streams
    }

    fn data(&mut self, streams: &mut Streams, side: Side, bytes: &[u8], time: Time) {
        self.segment(side, Kind::Data, *streams, bytes, 0, time);
        streams.advance(side, bytes.len() as u32);
    }

    /// Bytes that were sent and are not there.
    fn lost(&mut self, streams: &mut Streams, side: Side, bytes: u64, time: Time) {
        let mut left = bytes;
        while left > 0 {
            let step = left.min(MOST.into()) as u32;
            self.segment(side, Kind::Data, *streams, &[], step as u16, time);
            streams.advance(side, step);
            left -= u64::from(step);
        }
    }

    /// Writes one; `cut` bytes behind the data are not there.
    fn segment(&mut self, side: Side, kind: Kind, streams: Streams, data: &[u8], cut: u16, time: Time) {
        let [client, broker] = self.ends;
        let (from, to) = if side == Side::Request { (client, broker) } else { (broker, client) };
        let (sequence, acknowledged) =
            if side == Side::Request { (streams.asked, streams.answered) } else { (streams.answered, streams.asked) };
        let mut tcp = TcpHeader::new(from.port(), to.port(), sequence, WINDOW);
        tcp.syn = matches!(kind, Kind::Syn | Kind::SynAck);
        tcp.psh = kind == Kind::Data;
        tcp.ack = kind != Kind::Syn;
        tcp.acknowledgment_number = if tcp.ack { acknowledged } else { 0 };
        let length = tcp.header_len_u16().saturating_add(data.len() as u16).saturating_add(cut);
        let mut bytes = Vec::with_capacity(64 + data.len());
        match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                // The length is at most what fits.
                let ip = Ipv4Header::new(length, 64, IpNumber::TCP, from.octets(), to.octets());
                let mut ip = ip.unwrap_or_default();
                ip.dont_fragment = true;
                ip.header_checksum = ip.calc_header_checksum();
                bytes.extend(ip.to_bytes());
                // The checksum of what is lost is lost as well.
                tcp.checksum = if cut == 0 { tcp.calc_checksum_ipv4(&ip, data).unwrap_or(0) } else { 0 };
            }
            (from, to) => {
                let ip = Ipv6Header {
                    traffic_class: 0,
                    flow_label: Ipv6FlowLabel::ZERO,
                    payload_length: length,
                    next_header: IpNumber::TCP,
                    hop_limit: 64,
                    source: octets(from),
                    destination: octets(to),
                };
                bytes.extend(ip.to_bytes());
                tcp.checksum = if cut == 0 { tcp.calc_checksum_ipv6(&ip, data).unwrap_or(0) } else { 0 };
            }
        }
        bytes.extend(tcp.to_bytes());
        bytes.extend_from_slice(data);
        let original_length = bytes.len() as u32 + u32::from(cut);
        let comments = if kind == Kind::Data && cut == 0 { std::mem::take(&mut self.comments) } else { &[] };
        packet(self.out, &WrittenPacket { time, data: &bytes, original_length, comments }, Resolution::Nanoseconds);
    }
}

impl Streams {
    fn advance(&mut self, side: Side, bytes: u32) {
        let place = if side == Side::Request { &mut self.asked } else { &mut self.answered };
        *place = place.wrapping_add(bytes);
    }
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
