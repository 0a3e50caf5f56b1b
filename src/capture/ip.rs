//! IP packets: addresses, what they carry, and whether it is a piece of something.
//!
//! References: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 4302 (authentication header).

use std::net::IpAddr;

use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice,
    ip_number,
};

use super::NoSegment;

/// Segmentation offload makes packets of some hundred kilobytes; a length beyond this is not a length.
const LONGEST_WITHOUT_LENGTH: u32 = 1024 * 1024;

/// An IP packet without its headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ip<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// What the payload is.
    pub(super) protocol: IpNumber,
    pub(super) payload: &'a [u8],
    /// How many bytes of the payload are not in the capture.
    pub(super) missing: u32,
    /// Set where the payload is a piece.
    pub(super) piece: Option<Piece>,
}

/// Where a fragment belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) identification: u32,
    /// How many bytes of the datagram are before it.
    pub(super) offset: usize,
    /// Whether it is not the last one.
    pub(super) more: bool,
}

impl<'a> Ip<'a> {
    /// Takes the headers off. `not_kept` bytes behind the given ones were on the network and are not in the capture: they
    /// count where the header does not say how long the packet is.
    pub(super) fn open(bytes: &'a [u8], not_kept: u32, check_checksum: bool) -> Result<Self, NoSegment> {
        match bytes.first().map(|byte| byte >> 4) {
            Some(4) => Self::version_4(bytes, not_kept, check_checksum),
            Some(6) => Self::version_6(bytes, not_kept),
            _ => Err(NoSegment::Broken),
        }
    }

    fn version_4(bytes: &'a [u8], not_kept: u32, check_checksum: bool) -> Result<Self, NoSegment> {
        let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| NoSegment::Broken)?;
        if check_checksum && header.header_checksum() != header.to_header().calc_header_checksum() {
            return Err(NoSegment::Checksum);
        }
        let length = header.slice().len();
        let claimed = usize::from(header.total_len());
        if claimed != 0 && claimed < length {
            return Err(NoSegment::Broken);
        }
        let rest = bytes.get(length..).unwrap_or_default();
        let (payload, missing) = bounded(rest, claimed.saturating_sub(length), claimed == 0, not_kept)?;
        let piece = Piece {
            identification: header.identification().into(),
            offset: usize::from(header.fragments_offset().value()) * 8,
            more: header.more_fragments(),
        };
        let ip = Self {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.protocol(),
            payload,
            missing,
            piece: header.is_fragmenting_payload().then_some(piece),
        };
        ip.without_extensions()
    }

    fn version_6(bytes: &'a [u8], not_kept: u32) -> Result<Self, NoSegment> {
        let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| NoSegment::Broken)?;
        let rest = bytes.get(header.slice().len()..).unwrap_or_default();
        let claimed = usize::from(header.payload_length());
        let (payload, missing) = bounded(rest, claimed, claimed == 0, not_kept)?;
        let ip = Self {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.next_header(),
            payload,
            missing,
            piece: None,
        };
        ip.without_extensions()
    }

    /// Passes over extension headers, up to a piece of a datagram. Each takes bytes off, so they end.
    pub(super) fn without_extensions(self) -> Result<Self, NoSegment> {
        let mut ip = self;
        while ip.piece.is_none() {
            let (next, length) = match (ip.protocol, ip.source) {
                (
                    ip_number::IPV6_HEADER_HOP_BY_HOP
                    | ip_number::IPV6_ROUTE_HEADER
                    | ip_number::IPV6_DESTINATION_OPTIONS,
                    IpAddr::V6(_),
                ) => {
                    let header = Ipv6RawExtHeaderSlice::from_slice(ip.payload).map_err(|_| NoSegment::Broken)?;
                    (header.next_header(), header.slice().len())
                }
                (ip_number::IPV6_FRAGMENTATION_HEADER, IpAddr::V6(_)) => {
                    let header = Ipv6FragmentHeaderSlice::from_slice(ip.payload).map_err(|_| NoSegment::Broken)?;
                    // What is its own only fragment (RFC 6946) is whole.
                    ip.piece = header.is_fragmenting_payload().then(|| Piece {
                        identification: header.identification(),
                        offset: usize::from(header.fragment_offset().value()) * 8,
                        more: header.more_fragments(),
                    });
                    (header.next_header(), header.slice().len())
                }
                (ip_number::AUTHENTICATION_HEADER, _) => {
                    let header = IpAuthHeaderSlice::from_slice(ip.payload).map_err(|_| NoSegment::Broken)?;
                    (header.next_header(), header.slice().len())
                }
                _ => break,
            };
            ip.protocol = next;
            ip.payload = ip.payload.get(length..).unwrap_or_default();
        }
        Ok(ip)
    }
}

/// Bounds what is behind a header by the length that it claims, and says how many bytes are not in the capture.
fn bounded(bytes: &[u8], claimed: usize, is_unknown: bool, not_kept: u32) -> Result<(&[u8], u32), NoSegment> {
    if is_unknown {
        // Captured before segmentation offload filled the length in: only the capture knows how long the packet was.
        return if not_kept <= LONGEST_WITHOUT_LENGTH { Ok((bytes, not_kept)) } else { Err(NoSegment::Broken) };
    }
    Ok((bytes.get(..claimed).unwrap_or(bytes), claimed.saturating_sub(bytes.len()) as u32))
}
