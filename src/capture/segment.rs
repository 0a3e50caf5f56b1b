//! From a packet to its TCP segment.

use std::net::{IpAddr, SocketAddr};

use etherparse::{LaxIpSlice, LenSource, ip_number};

use super::{LinkType, Packet, Place, Time};

#[cfg(test)]
mod tests;

const ETHER_IPV4: u16 = 0x0800;
const ETHER_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad and the number that switches used for `QinQ` before it.
const ETHER_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// `AF_INET`, and `AF_INET6` as the BSDs, `FreeBSD` and macOS number it.
const ADDRESS_FAMILIES: [u32; 4] = [2, 24, 28, 30];
/// Segmentation offload makes packets of some hundred kilobytes; a length beyond this is not a length.
const LONGEST_WITHOUT_LENGTH: u32 = 1024 * 1024;

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
    /// Something else: ARP, UDP, ICMP, a tunnel that is not opened.
    #[error("not TCP")]
    NotTcp,
    /// A part of a fragmented IP packet.
    #[error("an IP fragment")]
    Fragment,
    /// Headers that contradict themselves or end too early.
    #[error("broken headers")]
    Broken,
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
    /// See [`NoSegment::Fragment`].
    pub fragments: u64,
    /// See [`NoSegment::Broken`].
    pub broken: u64,
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
            Err(NoSegment::Fragment) => self.fragments += 1,
            Err(NoSegment::Broken) => self.broken += 1,
            Err(NoSegment::LinkType(_)) => self.unknown_link += 1,
        }
    }
}

/// Finds the TCP segment of a packet. Checksums are not looked at: network cards fill them in after the capture.
///
/// # Errors
/// When there is none, see [`NoSegment`].
pub fn segment<'a>(packet: &Packet<'a>) -> Result<Segment<'a>, NoSegment> {
    ip_packet(packet, network_layer(packet)?)
}

/// Takes the link layer off and gives what should be an IP packet, with any padding that is behind it.
fn network_layer<'a>(packet: &Packet<'a>) -> Result<&'a [u8], NoSegment> {
    let data = packet.data;
    match packet.link {
        LinkType::ETHERNET => ether_payload(data, 12),
        LinkType::LINUX_SLL => ether_payload(data, 14),
        LinkType::LINUX_SLL2 => {
            let (&[protocol_0, protocol_1], _) = data.split_first_chunk().ok_or(NoSegment::Broken)?;
            let payload = data.get(20..).ok_or(NoSegment::Broken)?;
            untagged(u16::from_be_bytes([protocol_0, protocol_1]), payload)
        }
        LinkType::NULL | LinkType::LOOP => {
            let (&family, payload) = data.split_first_chunk().ok_or(NoSegment::Broken)?;
            // The host that captured may have had either byte order, and files have been moved and merged since.
            let known = [u32::from_be_bytes(family), u32::from_le_bytes(family)]
                .iter()
                .any(|family| ADDRESS_FAMILIES.contains(family));
            if known { Ok(payload) } else { Err(NoSegment::NotTcp) }
        }
        LinkType::RAW | LinkType::RAW_12 | LinkType::RAW_14 | LinkType::IPV4 | LinkType::IPV6 => Ok(data),
        LinkType(number) => Err(NoSegment::LinkType(number)),
    }
}

/// What follows an `EtherType` that stands at `position`.
fn ether_payload(data: &[u8], position: usize) -> Result<&[u8], NoSegment> {
    let rest = data.get(position..).unwrap_or_default();
    let (&ether_type, payload) = rest.split_first_chunk().ok_or(NoSegment::Broken)?;
    untagged(u16::from_be_bytes(ether_type), payload)
}

/// What follows all VLAN tags: two bytes of tag, then the next `EtherType`.
fn untagged(ether_type: u16, payload: &[u8]) -> Result<&[u8], NoSegment> {
    let (mut ether_type, mut payload) = (ether_type, payload);
    while ETHER_VLAN.contains(&ether_type) {
        let (&[_, _, next_0, next_1], rest) = payload.split_first_chunk().ok_or(NoSegment::Broken)?;
        ether_type = u16::from_be_bytes([next_0, next_1]);
        payload = rest;
    }
    match ether_type {
        ETHER_IPV4 | ETHER_IPV6 => Ok(payload),
        _ => Err(NoSegment::NotTcp),
    }
}

/// Opens an IP packet. Tunnels are to be opened here: a protocol that carries IP calls this function again.
fn ip_packet<'a>(packet: &Packet<'a>, bytes: &'a [u8]) -> Result<Segment<'a>, NoSegment> {
    let Ok((ip, stopped)) = LaxIpSlice::from_slice(bytes) else {
        return Err(NoSegment::Broken);
    };
    let payload = ip.payload();
    if payload.fragmented {
        return Err(NoSegment::Fragment);
    }
    if stopped.is_some() {
        return Err(NoSegment::Broken);
    }
    match payload.ip_number {
        ip_number::TCP => {
            let missing = missing_bytes(packet, &ip, bytes)?;
            tcp_segment(packet, ip.source_addr(), ip.destination_addr(), payload.payload, missing)
        }
        _ => Err(NoSegment::NotTcp),
    }
}

/// How many bytes of the IP packet are not in the capture.
fn missing_bytes(packet: &Packet<'_>, ip: &LaxIpSlice<'_>, bytes: &[u8]) -> Result<u32, NoSegment> {
    let (claimed, header) = match ip {
        LaxIpSlice::Ipv4(ip) => (usize::from(ip.header().total_len()), ip.header().slice().len()),
        LaxIpSlice::Ipv6(ip) => (usize::from(ip.header().payload_length()), 0),
    };
    let payload = ip.payload();
    if claimed == 0 && payload.len_source == LenSource::Slice {
        // Captured before segmentation offload filled the length in: only the capture knows how long the packet was.
        let missing = packet.original_length.saturating_sub(packet.data.len() as u32);
        return if missing <= LONGEST_WITHOUT_LENGTH { Ok(missing) } else { Err(NoSegment::Broken) };
    }
    if claimed < header {
        return Err(NoSegment::Broken);
    }
    if !payload.incomplete {
        return Ok(0);
    }
    let expected = if header == 0 { etherparse::Ipv6Header::LEN + claimed } else { claimed };
    Ok(expected.saturating_sub(bytes.len()) as u32)
}

/// Opens a TCP segment, of which `missing` bytes at the end are not in the capture.
fn tcp_segment<'a>(
    packet: &Packet<'a>,
    source: IpAddr,
    destination: IpAddr,
    bytes: &'a [u8],
    missing: u32,
) -> Result<Segment<'a>, NoSegment> {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;

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
    let acknowledgment = u32::from_be_bytes([a0, a1, a2, a3]);
    Ok(Segment {
        packet: packet.number,
        time: packet.time,
        source: SocketAddr::new(source, u16::from_be_bytes([p0, p1])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([p2, p3])),
        sequence: u32::from_be_bytes([s0, s1, s2, s3]),
        acknowledgment: (flags & ACK != 0).then_some(acknowledgment),
        syn: flags & SYN != 0,
        fin: flags & FIN != 0,
        rst: flags & RST != 0,
        payload,
        place: place_of(packet, payload),
        cut,
    })
}

/// Where a part of a packet's data lies.
fn place_of(packet: &Packet<'_>, part: &[u8]) -> Place {
    // The layers in between cut at both ends, so their lengths would have to be added up; addresses tell it at once.
    let before = part.as_ptr().addr().checked_sub(packet.data.as_ptr().addr());
    packet.place.after(before.filter(|before| *before <= packet.data.len()).unwrap_or_default() as u64)
}
