//! Frames to TCP segments to packets of a pcap file.

use std::io::{self, Write};
use std::mem;
use std::net::SocketAddrV4;

use fastrand::Rng;

const ETHERNET: u32 = 1;
const SNAP_LENGTH: u32 = 262_144;
/// Bytes of the Ethernet, IPv4 and TCP headers.
const HEADERS: usize = 14 + 20 + 20;
/// The largest payload that an IPv4 packet with these headers can have.
pub(crate) const LARGEST_SEGMENT: u16 = 65_535 - 40;

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;

/// How often the capture is bad, in a thousand segments with data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mishaps {
    /// Segments that the capture lacks.
    pub(crate) lost: u32,
    /// Segments that come up to three packets late.
    pub(crate) late: u32,
}

/// A pcap file that is being written.
pub(crate) struct Capture<W> {
    out: W,
    /// Bytes written so far.
    pub(crate) written: u64,
    /// Microseconds since 1970.
    pub(crate) clock: u64,
    /// Packets written so far.
    pub(crate) packets: u64,
    rng: Rng,
    mishaps: Mishaps,
    packet: Vec<u8>,
    /// A packet that is late, and how many go before it.
    late: Option<(u8, Vec<u8>)>,
    identification: u16,
}

impl<W: Write> Capture<W> {
    /// Writes the header of the file.
    pub(crate) fn new(mut out: W, rng: Rng, mishaps: Mishaps) -> io::Result<Self> {
        out.write_all(&0xa1b2_c3d4_u32.to_le_bytes())?;
        out.write_all(&2_u16.to_le_bytes())?;
        out.write_all(&4_u16.to_le_bytes())?;
        for word in [0, 0, SNAP_LENGTH, ETHERNET] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self {
            out,
            written: 24,
            clock: 1_764_410_400_000_000, // 2025-11-29T10:00:00Z
            packets: 0,
            rng,
            mishaps,
            packet: Vec::with_capacity(1 << 16),
            late: None,
            identification: 0,
        })
    }

    /// Writes what is late and gives the writer back.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if let Some((_, packet)) = self.late.take() {
            self.record(&packet)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes a packet, unless a mishap befalls it.
    fn packet(&mut self, from: SocketAddrV4, to: SocketAddrV4, tcp: TcpHeader, payload: &[u8]) -> io::Result<()> {
        let chance = if payload.is_empty() { u32::MAX } else { self.rng.u32(0..1000) };
        if chance < self.mishaps.lost {
            return Ok(());
        }
        let mut packet = mem::take(&mut self.packet);
        packet.clear();
        self.headers(&mut packet, from, to, tcp, payload.len());
        packet.extend_from_slice(payload);
        let is_late = (self.mishaps.lost..self.mishaps.lost + self.mishaps.late).contains(&chance);
        if is_late && self.late.is_none() {
            self.late = Some((self.rng.u8(1..=3), packet));
            return Ok(());
        }
        self.record(&packet)?;
        self.packet = packet;
        match self.late.take() {
            Some((0 | 1, packet)) => self.record(&packet),
            Some((before, packet)) => {
                self.late = Some((before - 1, packet));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn headers(&mut self, out: &mut Vec<u8>, from: SocketAddrV4, to: SocketAddrV4, tcp: TcpHeader, payload: usize) {
        // Ethernet: locally administered addresses that end as the IP addresses do, then the type of IPv4.
        for end in [to, from] {
            out.extend_from_slice(&[2, 0]);
            out.extend_from_slice(&end.ip().octets());
        }
        out.extend_from_slice(&[0x08, 0x00]);

        let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
        let length = (HEADERS - 14 + payload) as u16;
        self.identification = self.identification.wrapping_add(1);
        let words = [(2, length), (4, self.identification)];
        for (at, word) in words {
            put(&mut ip, at, word);
        }
        let (source, destination) = (from.ip().octets(), to.ip().octets());
        let sum = checksum(ip.iter().chain(&source).chain(&destination).copied());
        put(&mut ip, 10, sum);
        out.extend_from_slice(&ip);
        out.extend_from_slice(&source);
        out.extend_from_slice(&destination);

        out.extend_from_slice(&from.port().to_be_bytes());
        out.extend_from_slice(&to.port().to_be_bytes());
        out.extend_from_slice(&tcp.sequence.to_be_bytes());
        out.extend_from_slice(&tcp.acknowledgment.to_be_bytes());
        // Five words of header, a full window, a checksum that the network card would fill in, no urgent data.
        out.extend_from_slice(&[0x50, tcp.flags, 0xff, 0xff, 0, 0, 0, 0]);
    }

    fn record(&mut self, packet: &[u8]) -> io::Result<()> {
        // About a gigabit a second, and now and then a pause.
        self.clock += 1 + packet.len() as u64 / 125 + self.rng.u64(0..10);
        let length = packet.len() as u32;
        for word in [(self.clock / 1_000_000) as u32, (self.clock % 1_000_000) as u32, length, length] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(packet)?;
        self.written += 16 + u64::from(length);
        self.packets += 1;
        Ok(())
    }
}

fn put(header: &mut [u8; 12], at: usize, word: u16) {
    for (place, byte) in header.iter_mut().skip(at).zip(word.to_be_bytes()) {
        *place = byte;
    }
}

/// The checksum of RFC 1071 over an even number of bytes.
fn checksum(bytes: impl Iterator<Item = u8>) -> u16 {
    let sum = bytes.zip([8, 0].into_iter().cycle()).map(|(byte, shift)| u32::from(byte) << shift).sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[derive(Debug, Clone, Copy)]
struct TcpHeader {
    sequence: u32,
    acknowledgment: u32,
    flags: u8,
}

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Broker,
}

/// A TCP connection. Sequence numbers begin anywhere and wrap.
pub(crate) struct Tcp {
    client: End,
    broker: End,
}

struct End {
    address: SocketAddrV4,
    /// The sequence number of the next byte.
    next: u32,
    /// Segments that the other end has not acknowledged.
    unacknowledged: u8,
}

impl Tcp {
    /// A connection that is not opened yet.
    pub(crate) fn new(client: SocketAddrV4, broker: SocketAddrV4, rng: &mut Rng) -> Self {
        let mut end = |address| End { address, next: rng.u32(..), unacknowledged: 0 };
        Self { client: end(client), broker: end(broker) }
    }

    fn ends(&mut self, from: Sender) -> (&mut End, &mut End) {
        match from {
            Sender::Client => (&mut self.client, &mut self.broker),
            Sender::Broker => (&mut self.broker, &mut self.client),
        }
    }

    /// The three packets that open it.
    pub(crate) fn open<W: Write>(&mut self, capture: &mut Capture<W>) -> io::Result<()> {
        self.control(capture, Sender::Client, SYN)?;
        self.control(capture, Sender::Broker, SYN | ACK)?;
        self.control(capture, Sender::Client, ACK)
    }

    /// A segment with data; every second one is acknowledged at once, as RFC 1122 has it.
    pub(crate) fn send<W: Write>(
        &mut self,
        capture: &mut Capture<W>,
        from: Sender,
        payload: &[u8],
        is_last: bool,
    ) -> io::Result<()> {
        let (sender, receiver) = self.ends(from);
        let flags = if is_last { PSH | ACK } else { ACK };
        let tcp = TcpHeader { sequence: sender.next, acknowledgment: receiver.next, flags };
        sender.next = sender.next.wrapping_add(payload.len() as u32);
        sender.unacknowledged += 1;
        receiver.unacknowledged = 0;
        let must_acknowledge = sender.unacknowledged >= 2;
        capture.packet(sender.address, receiver.address, tcp, payload)?;
        if must_acknowledge {
            let answering = if from == Sender::Client { Sender::Broker } else { Sender::Client };
            self.control(capture, answering, ACK)?;
        }
        Ok(())
    }

    /// The packets that close it.
    pub(crate) fn close<W: Write>(&mut self, capture: &mut Capture<W>) -> io::Result<()> {
        self.control(capture, Sender::Client, FIN | ACK)?;
        self.control(capture, Sender::Broker, FIN | ACK)?;
        self.control(capture, Sender::Client, ACK)
    }

    /// A packet without data.
    fn control<W: Write>(&mut self, capture: &mut Capture<W>, from: Sender, flags: u8) -> io::Result<()> {
        let (sender, receiver) = self.ends(from);
        let acknowledgment = if flags & ACK == 0 { 0 } else { receiver.next };
        let tcp = TcpHeader { sequence: sender.next, acknowledgment, flags };
        receiver.unacknowledged = 0;
        // SYN and FIN take a number.
        sender.next = sender.next.wrapping_add(u32::from(flags & (SYN | FIN) != 0));
        capture.packet(sender.address, receiver.address, tcp, &[])
    }
}
