//! From a packet to its TCP segment.

use std::net::{IpAddr, SocketAddr};

use etherparse::TcpSlice;

use super::fragments::Fragments;
use super::ip::{Ip, Piece};
use super::layers::{Found, Walk};
use super::{InterfaceId, Packet, Place, Spool, Time};

#[cfg(test)]
mod tests;

/// A TCP segment: what reassembly needs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The number of the packet that brought it.
    pub packet: u64,
    /// The time of that packet.
    pub time: Time,
    /// Who sent it.
    pub source: SocketAddr,
    /// To whom.
    pub destination: SocketAddr,
    /// The sequence number of the SYN, if there is one, else of the first payload byte.
    pub sequence: u32,
    /// The next sequence number that the sender expects; None without the ACK flag.
    pub acknowledgment: Option<u32>,
    /// Opens a connection.
    pub syn: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// The connection is no more.
    pub rst: bool,
    /// The data.
    pub payload: &'a [u8],
    /// Where its first byte lies.
    pub place: Place,
    /// How many bytes of payload followed on the network that the capture did not keep.
    pub cut: u32,
}

/// Why a packet is no TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSegment {
    /// Something else: ARP, UDP, ICMP.
    #[error("not TCP")]
    NotTcp,
    /// In a tunnel that is not opened: it is encrypted or not known, or tunnels lie too deep in each other.
    #[error("a tunnel that is not opened")]
    Tunnel,
    /// A part of a fragmented IP packet of which others are missing, or a copy of such a part.
    #[error("an IP fragment")]
    Fragment,
    /// Headers that contradict themselves or end too early.
    #[error("broken headers")]
    Broken,
    /// A checksum of IPv4 or TCP that is wrong, where checksums are looked at.
    #[error("a wrong checksum")]
    Checksum,
    /// A link layer that is not known.
    #[error("link type {0} is not supported")]
    LinkType(u16),
}

/// How many packets there were of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounters {
    /// All packets.
    pub packets: u64,
    /// Those with a TCP segment.
    pub segments: u64,
    /// See [`NoSegment::NotTcp`].
    pub not_tcp: u64,
    /// See [`NoSegment::Tunnel`].
    pub tunnels: u64,
    /// See [`NoSegment::Fragment`].
    pub fragments: u64,
    /// See [`Segments::left_out`].
    pub fragments_left_out: u64,
    /// See [`NoSegment::Broken`].
    pub broken: u64,
    /// See [`NoSegment::Checksum`].
    pub wrong_checksums: u64,
    /// See [`NoSegment::LinkType`].
    pub unknown_link: u64,
    /// Segments of which the capture did not keep all.
    pub cut: u64,
}

impl PacketCounters {
    /// Counts what became of a packet.
    pub fn count(&mut self, outcome: &Result<Segment<'_>, NoSegment>) {
        self.packets += 1;
        match outcome {
            Ok(segment) => {
                self.segments += 1;
                self.cut += u64::from(segment.cut > 0);
            }
            Err(NoSegment::NotTcp) => self.not_tcp += 1,
            Err(NoSegment::Tunnel) => self.tunnels += 1,
            Err(NoSegment::Fragment) => self.fragments += 1,
            Err(NoSegment::Broken) => self.broken += 1,
            Err(NoSegment::Checksum) => self.wrong_checksums += 1,
            Err(NoSegment::LinkType(_)) => self.unknown_link += 1,
        }
    }
}

/// Finds the TCP segment of a packet, alone: without other fragments. Checksums are not looked at: network cards fill them
/// in after the capture.
///
/// # Errors
/// When there is none, see [`NoSegment`].
pub fn segment<'a>(packet: &Packet<'a>) -> Result<Segment<'a>, NoSegment> {
    match Walk::packet(packet, false)? {
        Found::Segment(segment) => Ok(segment),
        Found::Fragment(..) => Err(NoSegment::Fragment),
    }
}

/// Finds the TCP segments of packets, and puts IP fragments together on the way.
pub struct Segments {
    fragments: Fragments,
    /// The datagram that was put together last.
    datagram: Vec<u8>,
    /// Where datagrams are kept, and the number of that source.
    kept: Option<(Spool, u16)>,
    check_checksums: bool,
}

impl Segments {
    /// No packets yet.
    pub fn new() -> Self {
        Self { fragments: Fragments::new(), datagram: Vec::new(), kept: None, check_checksums: false }
    }

    /// Leaves out segments whose TCP checksum is wrong, and packets with a wrong IPv4 header checksum around them. What was
    /// not kept whole is not checked.
    pub fn check_checksums(&mut self) {
        self.check_checksums = true;
    }

    /// Keeps datagrams that are put together: their bytes lie in no capture as they are. Segments in them have places in
    /// the source with this number.
    pub fn keep(&mut self, spool: Spool, source: u16) {
        self.kept = Some((spool, source));
    }

    /// As [`segment`]; the packet with the last missing fragment has the segment of all.
    ///
    /// # Errors
    /// When there is none, see [`NoSegment`].
    pub fn segment<'a>(&'a mut self, packet: &Packet<'a>) -> Result<Segment<'a>, NoSegment> {
        let brought = (packet.time, packet.place.interface);
        let (mut walk, mut ip, mut place) = match Walk::packet(packet, self.check_checksums)? {
            Found::Segment(segment) => return Ok(segment),
            Found::Fragment(walk, ip, piece) => {
                let (ip, place) = self.reassemble(&ip, piece, brought)?;
                (walk.outside(), ip, place)
            }
        };
        // A datagram may hold a tunnel with a fragment in it; the walk knows how deep it is.
        loop {
            let datagram = std::mem::take(&mut self.datagram);
            match walk.reassembled(ip, &datagram, place)? {
                Found::Fragment(inner, inner_ip, piece) => {
                    (ip, place) = self.reassemble(&inner_ip, piece, brought)?;
                    walk = inner.outside();
                }
                Found::Segment(_) => {
                    self.datagram = datagram;
                    break;
                }
            }
        }
        match walk.reassembled(ip, &self.datagram, place)? {
            Found::Segment(segment) => Ok(segment),
            Found::Fragment(..) => Err(NoSegment::Fragment),
        }
    }

    /// Adds a fragment. When that makes a datagram whole, gives its headers and where it is kept.
    fn reassemble(
        &mut self,
        ip: &Ip<'_>,
        piece: Piece,
        (time, interface): (Time, InterfaceId),
    ) -> Result<(Ip<'static>, Place), NoSegment> {
        if !Fragments::are_wanted(ip.protocol) {
            return Err(NoSegment::NotTcp);
        }
        let (protocol, bytes) = self.fragments.add(ip, piece, time).ok_or(NoSegment::Fragment)?;
        self.datagram.clear();
        self.datagram.extend_from_slice(bytes);
        let place = match &mut self.kept {
            None => Place::NOWHERE,
            Some((spool, source)) => spool.append(bytes).map_or(Place::NOWHERE, |offset| Place::new(*source, offset)),
        };
        let place = place.from_interface(interface);
        let (source, destination) = (ip.source, ip.destination);
        Ok((Ip { source, destination, protocol, payload: &[], missing: 0, piece: None }, place))
    }

    /// Gives up datagrams that are not whole, when there are no more packets.
    pub fn finish(&mut self) {
        self.fragments.finish();
    }

    /// Fragments that are in no segment: their datagrams were not whole, too old or too many, or they were wrong.
    pub fn left_out(&self) -> u64 {
        self.fragments.left_out()
    }
}

impl Default for Segments {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens a TCP segment.
pub(super) fn tcp_segment<'a>(walk: &Walk<'a>, ip: &Ip<'a>) -> Result<Segment<'a>, NoSegment> {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;

    let (bytes, missing) = (ip.payload, ip.missing);
    let (fixed, _) = bytes.split_first_chunk::<20>().ok_or(NoSegment::Broken)?;
    // RFC 9293, section 3.1; window, checksum and urgent pointer are not needed.
    let &[p0, p1, p2, p3, s0, s1, s2, s3, a0, a1, a2, a3, offset, flags, ..] = fixed;
    let header = usize::from(offset >> 4) * 4;
    if header < fixed.len() {
        return Err(NoSegment::Broken);
    }
    let (payload, cut) = match bytes.get(header..) {
        Some(payload) => (payload, missing),
        // Cut inside of the options: the rest of them is missing too.
        None => match missing.checked_sub((header - bytes.len()) as u32) {
            Some(cut) => (&[][..], cut),
            None => return Err(NoSegment::Broken),
        },
    };
    if walk.check_checksums && missing == 0 && !is_tcp_checksum_right(ip) {
        return Err(NoSegment::Checksum);
    }
    let acknowledgment = u32::from_be_bytes([a0, a1, a2, a3]);
    Ok(Segment {
        packet: walk.packet,
        time: walk.time,
        source: SocketAddr::new(ip.source, u16::from_be_bytes([p0, p1])),
        destination: SocketAddr::new(ip.destination, u16::from_be_bytes([p2, p3])),
        sequence: u32::from_be_bytes([s0, s1, s2, s3]),
        acknowledgment: (flags & ACK != 0).then_some(acknowledgment),
        syn: flags & SYN != 0,
        fin: flags & FIN != 0,
        rst: flags & RST != 0,
        payload,
        place: place_of(walk, payload),
        cut,
    })
}

/// Whether the checksum of a whole TCP segment is right (RFC 9293, section 3.1; RFC 8200, section 8.1).
fn is_tcp_checksum_right(ip: &Ip<'_>) -> bool {
    let Ok(tcp) = TcpSlice::from_slice(ip.payload) else { return false };
    let right = match (ip.source, ip.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => tcp.calc_checksum_ipv4(source.octets(), destination.octets()),
        (IpAddr::V6(source), IpAddr::V6(destination)) => tcp.calc_checksum_ipv6(source.octets(), destination.octets()),
        _ => return false,
    };
    right.is_ok_and(|right| right == tcp.checksum())
}

/// Where a part of the walk's data lies.
fn place_of(walk: &Walk<'_>, part: &[u8]) -> Place {
    // The layers in between cut at both ends, so their lengths would have to be added up; addresses tell it at once.
    let before = part.as_ptr().addr().checked_sub(walk.data.as_ptr().addr());
    walk.place.after(before.filter(|before| *before <= walk.data.len()).unwrap_or_default() as u64)
}
