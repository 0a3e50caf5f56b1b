//! The pcap format: a header of 24 bytes, then records with a header of 16 bytes each.

use std::io::Read;
use std::ops::Range;

use super::bytes::ByteOrder;
use super::reader::Located;
use super::window::Window;
use super::{CaptureError, LinkType, Time};

/// No packet is longer, whatever a file says; tools keep at most this many bytes where nobody asks for more.
const USUAL_PACKET_LIMIT: u32 = 262_144;
/// As much as a snap length may raise the limit to.
pub(super) const PACKET_LIMIT: u32 = 64 * 1024 * 1024;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// What the header of a pcap file says.
#[derive(Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanoseconds_per_unit: i64,
    link: LinkType,
    packet_limit: u32,
}

impl Pcap {
    /// Takes the header off the input; None when the file has another format.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Option<Self>, CaptureError> {
        let offset = window.offset();
        let header = window.fill(FILE_HEADER).map_err(|source| CaptureError::Io { offset, source })?;
        let (order, nanoseconds_per_unit) = match header {
            [0xd4, 0xc3, 0xb2, 0xa1, ..] => (ByteOrder::Little, 1_000),
            [0xa1, 0xb2, 0xc3, 0xd4, ..] => (ByteOrder::Big, 1_000),
            [0x4d, 0x3c, 0xb2, 0xa1, ..] => (ByteOrder::Little, 1),
            [0xa1, 0xb2, 0x3c, 0x4d, ..] => (ByteOrder::Big, 1),
            _ => return Ok(None),
        };
        let Some([_magic, _version, _zone, _accuracy, snap_length, network]) = order.words(header) else {
            return Err(CaptureError::FileHeaderCut { length: header.len() as u64, needed: FILE_HEADER as u64 });
        };
        let &[_, _, _, _, major_0, major_1, minor_0, minor_1, ..] = header else {
            return Ok(None);
        };
        let (major, minor) = (order.u16([major_0, major_1]), order.u16([minor_0, minor_1]));
        // Before 2.3 the two lengths of a record stood the other way round; no tool of this century writes that.
        if major != 2 || minor < 3 {
            return Err(CaptureError::Version { format: "pcap", offset, major, minor });
        }
        window.consume(FILE_HEADER);
        Ok(Some(Self {
            order,
            nanoseconds_per_unit,
            // The upper bits say how long the frame check sequence is: IP's own length leaves it out anyway.
            link: LinkType(network as u16),
            packet_limit: snap_length.clamp(USUAL_PACKET_LIMIT, PACKET_LIMIT),
        }))
    }

    /// How long the record at the start of the bytes is; None when that is not there.
    pub(super) fn record_length(&self, bytes: &[u8]) -> Option<usize> {
        let [_seconds, _fraction, length, _original_length] = self.order.words(bytes)?;
        Some(RECORD_HEADER.saturating_add(length as usize))
    }

    /// Finds the next packet at the start of the window; None at the end of the file.
    pub(super) fn next<R: Read>(&self, window: &mut Window<R>, packet: u64) -> Result<Option<Located>, CaptureError> {
        let offset = window.offset();
        let io = |source| CaptureError::Io { offset, source };
        let cut = |end: usize, has: usize, needed: usize| CaptureError::Cut {
            offset: offset + end as u64,
            block: None,
            packet,
            has: has as u64,
            needed: needed as u64,
        };
        let header = window.fill(RECORD_HEADER).map_err(io)?;
        if header.is_empty() {
            return Ok(None);
        }
        let Some([seconds, fraction, length, original_length]) = self.order.words(header) else {
            return Err(cut(header.len(), header.len(), RECORD_HEADER));
        };
        if length > self.packet_limit {
            return Err(CaptureError::RecordLength { offset, packet, length, limit: self.packet_limit });
        }
        let data = Range { start: RECORD_HEADER, end: RECORD_HEADER + length as usize };
        let there = window.fill(data.end).map_err(io)?.len();
        if there < data.end {
            return Err(cut(there, there.saturating_sub(RECORD_HEADER), length as usize));
        }
        let time = i64::from(seconds) * Time::SECOND + i64::from(fraction) * self.nanoseconds_per_unit;
        Ok(Some(Located {
            options: data.end..data.end,
            total: data.end,
            data,
            time: Time::from_nanoseconds(time),
            interface: 0,
            link: self.link,
            original_length,
            order: self.order,
        }))
    }
}
