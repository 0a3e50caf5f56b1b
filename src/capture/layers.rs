//! From a packet down to TCP, through the link layer and any tunnels.
//!
//! References: the link-layer header types of tcpdump.org, IEEE 802.1Q, RFC 7348 (VXLAN), RFC 8926 (Geneve), RFC 2784 and
//! 2890 (GRE), draft-foschiano-erspan (ERSPAN), RFC 2003, 2473 and 4213 (IP in IP), RFC 3032 (MPLS), RFC 2516 (`PPPoE`).

use etherparse::ip_number;

use super::ip::{Ip, Piece};
use super::segment::{Segment, tcp_segment};
use super::{LinkType, NoSegment, Packet, Place, Time};

const ETHER_IPV4: u16 = 0x0800;
const ETHER_ARP: u16 = 0x0806;
const ETHER_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad and the number that switches used for `QinQ` before it.
const ETHER_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const ETHER_MPLS: [u16; 2] = [0x8847, 0x8848];
const ETHER_PPPOE_SESSION: u16 = 0x8864;
/// Ethernet in GRE.
const ETHER_BRIDGED: u16 = 0x6558;
const ETHER_ERSPAN: u16 = 0x88be;
const ETHER_ERSPAN_3: u16 = 0x22eb;
/// `AF_INET`, and `AF_INET6` as the BSDs, `FreeBSD` and macOS number it.
const ADDRESS_FAMILIES: [u32; 4] = [2, 24, 28, 30];
/// The port of RFC 7348, and the one that Linux used before and still does where nobody says otherwise.
const PORTS_VXLAN: [u16; 2] = [4789, 8472];
const PORT_GENEVE: u16 = 6081;
/// So many tunnels may lie in each other.
const DEEPEST: u8 = 8;

/// What a packet leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    Segment(Segment<'a>),
    /// A piece of an IP datagram, and how to go on when it is whole.
    Fragment(Walk<'a>, Ip<'a>, Piece),
}

type Layer<'a> = Result<Found<'a>, NoSegment>;

/// A walk through the layers of some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'a> {
    pub(super) packet: u64,
    pub(super) time: Time,
    /// All the bytes, and where they lie.
    pub(super) data: &'a [u8],
    pub(super) place: Place,
    /// How many bytes behind them the capture did not keep.
    pub(super) not_kept: u32,
    /// Whether packets with wrong checksums are left out.
    pub(super) check_checksums: bool,
    /// How many tunnels it is in.
    depth: u8,
}

impl<'a> Walk<'a> {
    /// Opens a packet.
    pub(super) fn packet(packet: &Packet<'a>, check_checksums: bool) -> Layer<'a> {
        let walk = Self {
            packet: packet.number,
            time: packet.time,
            data: packet.data,
            place: packet.place,
            not_kept: packet.original_length.saturating_sub(packet.data.len() as u32),
            check_checksums,
            depth: 0,
        };
        walk.link(packet.link)
    }

    /// Goes on in bytes that were put together of fragments.
    pub(super) fn reassembled<'b>(self, ip: Ip<'b>, datagram: &'b [u8], place: Place) -> Layer<'b> {
        let ip = Ip { payload: datagram, ..ip };
        Walk { data: datagram, place, ..self.outside().deeper()? }.ip_payload(ip.without_extensions()?)
    }

    /// The walk without its bytes, to go on in others.
    pub(super) fn outside<'b>(self) -> Walk<'b> {
        Walk { data: &[], not_kept: 0, ..self }
    }

    fn deeper(self) -> Result<Self, NoSegment> {
        if self.depth >= DEEPEST { Err(NoSegment::Tunnel) } else { Ok(Self { depth: self.depth + 1, ..self }) }
    }

    /// Takes the link layer off.
    fn link(self, link: LinkType) -> Layer<'a> {
        match link {
            LinkType::ETHERNET => self.ethernet(self.data),
            LinkType::LINUX_SLL => self.ether_type_at(self.data, 14),
            LinkType::LINUX_SLL2 => {
                let (&ether_type, _) = self.data.split_first_chunk().ok_or(NoSegment::Broken)?;
                let payload = self.data.get(20..).ok_or(NoSegment::Broken)?;
                self.ether_payload(u16::from_be_bytes(ether_type), payload)
            }
            LinkType::NULL | LinkType::LOOP => {
                let (&family, payload) = self.data.split_first_chunk().ok_or(NoSegment::Broken)?;
                // The host that captured may have had either byte order, and files have been moved and merged since.
                let known = [u32::from_be_bytes(family), u32::from_le_bytes(family)]
                    .iter()
                    .any(|family| ADDRESS_FAMILIES.contains(family));
                if known { self.ip(payload) } else { Err(NoSegment::NotTcp) }
            }
            LinkType::RAW | LinkType::RAW_12 | LinkType::RAW_14 | LinkType::IPV4 | LinkType::IPV6 => self.ip(self.data),
            LinkType(number) => Err(NoSegment::LinkType(number)),
        }
    }

    fn ethernet(self, frame: &'a [u8]) -> Layer<'a> {
        self.ether_type_at(frame, 12)
    }

    /// Goes on behind an `EtherType` that stands at `position`.
    fn ether_type_at(self, bytes: &'a [u8], position: usize) -> Layer<'a> {
        let rest = bytes.get(position..).unwrap_or_default();
        let (&ether_type, payload) = rest.split_first_chunk().ok_or(NoSegment::Broken)?;
        self.ether_payload(u16::from_be_bytes(ether_type), payload)
    }

    /// Opens what an `EtherType` announces, behind all VLAN tags: two bytes of tag, then the next `EtherType`.
    fn ether_payload(self, ether_type: u16, payload: &'a [u8]) -> Layer<'a> {
        let (mut ether_type, mut payload) = (ether_type, payload);
        while ETHER_VLAN.contains(&ether_type) {
            let (&[_, _, next_0, next_1], rest) = payload.split_first_chunk().ok_or(NoSegment::Broken)?;
            ether_type = u16::from_be_bytes([next_0, next_1]);
            payload = rest;
        }
        match ether_type {
            ETHER_IPV4 | ETHER_IPV6 => self.ip(payload),
            ETHER_PPPOE_SESSION => self.deeper()?.pppoe(payload),
            _ if ETHER_MPLS.contains(&ether_type) => self.deeper()?.mpls(payload),
            _ => Err(NoSegment::NotTcp),
        }
    }

    /// Opens an IP packet, with any padding that is behind it.
    fn ip(self, bytes: &'a [u8]) -> Layer<'a> {
        self.ip_payload(Ip::open(bytes, self.not_kept, self.check_checksums)?)
    }

    fn ip_payload(self, ip: Ip<'a>) -> Layer<'a> {
        if let Some(piece) = ip.piece {
            return Ok(Found::Fragment(self, ip, piece));
        }
        match ip.protocol {
            ip_number::TCP => tcp_segment(&self, &ip).map(Found::Segment),
            ip_number::UDP => self.udp(ip.payload),
            ip_number::IPV4 | ip_number::IPV6 => self.deeper()?.ip(ip.payload),
            ip_number::GRE => self.deeper()?.gre(ip.payload),
            ip_number::MPLS_IN_IP => self.deeper()?.mpls(ip.payload),
            // Encrypted, or with more state than a packet has.
            ip_number::ENCAPSULATING_SECURITY_PAYLOAD | ip_number::LAYER2_TUNNELING_PROTOCOL | ip_number::ETHER_IP => {
                Err(NoSegment::Tunnel)
            }
            _ => Err(NoSegment::NotTcp),
        }
    }

    /// Opens what the port and a plausible header say is a tunnel. The length in the header is not needed, and not there
    /// before segmentation offload.
    fn udp(self, bytes: &'a [u8]) -> Layer<'a> {
        let Some((&[_, _, port_0, port_1, ..], payload)) = bytes.split_first_chunk::<8>() else {
            return Err(NoSegment::NotTcp);
        };
        match u16::from_be_bytes([port_0, port_1]) {
            PORT_GENEVE => self.deeper()?.geneve(payload),
            port if PORTS_VXLAN.contains(&port) => self.deeper()?.vxlan(payload),
            _ => Err(NoSegment::NotTcp),
        }
    }

    /// Flags, of which one says that there is a network's number, and seven bytes of which the last is zero.
    fn vxlan(self, bytes: &'a [u8]) -> Layer<'a> {
        match bytes.split_first_chunk::<8>() {
            Some((&[flags, _, _, _, _, _, _, 0], frame)) if flags & 0x08 != 0 => self.ethernet(frame),
            _ => Err(NoSegment::NotTcp),
        }
    }

    /// Version 0 and the length of the options in words, flags, what is inside, a network's number, a zero.
    fn geneve(self, bytes: &'a [u8]) -> Layer<'a> {
        const CONTROL: u8 = 0x80;
        const RESERVED: u8 = 0x3f;
        let Some((&[words @ 0..=0x3f, flags, type_0, type_1, _, _, _, 0], rest)) = bytes.split_first_chunk::<8>()
        else {
            return Err(NoSegment::NotTcp);
        };
        if flags & (CONTROL | RESERVED) != 0 {
            return Err(NoSegment::NotTcp);
        }
        let payload = rest.get(usize::from(words) * 4..).ok_or(NoSegment::Broken)?;
        match u16::from_be_bytes([type_0, type_1]) {
            ETHER_BRIDGED => self.ethernet(payload),
            ether_type => self.ether_payload(ether_type, payload),
        }
    }

    fn gre(self, bytes: &'a [u8]) -> Layer<'a> {
        const CHECKSUM: u8 = 0x80;
        const ROUTING: u8 = 0x40;
        const KEY: u8 = 0x20;
        const SEQUENCE: u8 = 0x10;
        const VERSION: u8 = 0x07;

        let (&[flags, version, type_0, type_1], rest) = bytes.split_first_chunk().ok_or(NoSegment::Broken)?;
        // Source routing, which RFC 2784 abolished, and the GRE of PPTP.
        if flags & ROUTING != 0 || version & VERSION != 0 {
            return Err(NoSegment::Tunnel);
        }
        let words = (flags & (CHECKSUM | KEY | SEQUENCE)).count_ones() as usize;
        let payload = rest.get(words * 4..).ok_or(NoSegment::Broken)?;
        match u16::from_be_bytes([type_0, type_1]) {
            ETHER_BRIDGED => self.ethernet(payload),
            // The first ERSPAN had no header, and no numbers of GRE.
            ETHER_ERSPAN if flags & SEQUENCE == 0 => self.ethernet(payload),
            ETHER_ERSPAN => self.erspan_2(payload),
            ETHER_ERSPAN_3 => self.erspan_3(payload),
            // A keep-alive has nothing inside.
            0 | ETHER_ARP => Err(NoSegment::NotTcp),
            ether_type @ (ETHER_IPV4 | ETHER_IPV6) => self.ether_payload(ether_type, payload),
            ether_type if ETHER_VLAN.contains(&ether_type) || ETHER_MPLS.contains(&ether_type) => {
                self.ether_payload(ether_type, payload)
            }
            _ => Err(NoSegment::Tunnel),
        }
    }

    fn erspan_2(self, bytes: &'a [u8]) -> Layer<'a> {
        match bytes.split_first_chunk::<8>() {
            Some((&[0x10..=0x1f, ..], frame)) => self.ethernet(frame),
            Some(_) => Err(NoSegment::Tunnel),
            None => Err(NoSegment::Broken),
        }
    }

    fn erspan_3(self, bytes: &'a [u8]) -> Layer<'a> {
        let (header, rest) = bytes.split_first_chunk::<12>().ok_or(NoSegment::Broken)?;
        let &[0x20..=0x2f, _, _, _, _, _, _, _, _, _, frame_type, last] = header else {
            return Err(NoSegment::Tunnel);
        };
        let subheader = if last & 1 == 0 { 0 } else { 8 };
        let payload = rest.get(subheader..).ok_or(NoSegment::Broken)?;
        match frame_type >> 2 & 0x1f {
            0 => self.ethernet(payload),
            2 => self.ip(payload),
            _ => Err(NoSegment::Tunnel),
        }
    }

    /// Labels of four bytes, up to the one with the bottom bit. What is inside is not said: IP tells itself.
    fn mpls(self, bytes: &'a [u8]) -> Layer<'a> {
        const BOTTOM: u8 = 0x01;
        let mut rest = bytes;
        loop {
            let (&[_, _, bits, _], behind) = rest.split_first_chunk().ok_or(NoSegment::Broken)?;
            rest = behind;
            if bits & BOTTOM != 0 {
                break;
            }
        }
        match rest.first().map(|byte| byte >> 4) {
            Some(4 | 6) => self.ip(rest),
            Some(_) => Err(NoSegment::Tunnel),
            None => Err(NoSegment::Broken),
        }
    }

    /// Version and type, a code that is 0 for data, the session, a length; then PPP without its framing.
    fn pppoe(self, bytes: &'a [u8]) -> Layer<'a> {
        const DATA: u8 = 0;
        let (&[0x11, DATA, _, _, length_0, length_1], rest) = bytes.split_first_chunk().ok_or(NoSegment::Broken)?
        else {
            return Err(NoSegment::NotTcp);
        };
        let length = usize::from(u16::from_be_bytes([length_0, length_1]));
        match rest.get(..length).unwrap_or(rest) {
            // The numbers may be compressed to a byte (RFC 1661).
            [0x00, 0x21 | 0x57, ip @ ..] | [0x21 | 0x57, ip @ ..] => self.ip(ip),
            [0x02, 0x81 | 0x83, labels @ ..] => self.mpls(labels),
            _ => Err(NoSegment::NotTcp),
        }
    }
}
