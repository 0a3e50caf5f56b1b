//! The pcapng format: blocks with their length before and behind, in sections that each have a byte order.

use std::io::Read;
use std::ops::Range;

use super::bytes::{ByteOrder, padded};
use super::packet::Options;
use super::pcap::PACKET_LIMIT;
use super::reader::Located;
use super::window::Window;
use super::{CaptureError, LinkType, Time};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;

/// Type and length of a block.
const BLOCK_HEADER: usize = 8;
/// The length behind a block.
const BLOCK_TRAILER: usize = 4;
/// Type, length, byte order mark, version and section length, and the length again.
const SECTION_HEADER_LENGTH: u32 = 28;
/// A packet as long as can be, and its options.
const BLOCK_LIMIT: u32 = PACKET_LIMIT + 1024 * 1024;
/// The type of secrets that are a TLS key log: "TLSK".
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Bytes of key logs before one packet.
const SECRETS_LIMIT: usize = 16 << 20;
/// More than any capture has, so that interfaces cannot fill the memory.
const INTERFACE_LIMIT: usize = 65_536;

/// What has been read of a pcapng file.
#[derive(Debug)]
pub(super) struct PcapNg {
    order: ByteOrder,
    /// The interfaces of this section.
    interfaces: Vec<Interface>,
    /// How many interfaces the sections before had.
    interfaces_before: u32,
    last_time: Time,
}

#[derive(Debug)]
struct Interface {
    link: LinkType,
    snap_length: u32,
    clock: Clock,
}

/// How an interface counts time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    resolution: u8,
    offset_seconds: i64,
}

struct Block {
    kind: u32,
    offset: u64,
    length: u32,
}

impl PcapNg {
    /// Takes the first section header off the input; None when the file has another format.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Option<Self>, CaptureError> {
        let io = |source| CaptureError::Io { offset: 0, source };
        let needed = SECTION_HEADER_LENGTH as usize;
        let start = window.fill(needed).map_err(io)?;
        if !start.starts_with(&SECTION_HEADER.to_be_bytes()) {
            return Ok(None);
        }
        if start.len() < needed {
            return Err(CaptureError::FileHeaderCut { length: start.len() as u64, needed: needed as u64 });
        }
        let mut pcapng =
            Self { order: ByteOrder::Little, interfaces: Vec::new(), interfaces_before: 0, last_time: Time::default() };
        let block = pcapng.block_header(window, 1)?.ok_or(CaptureError::Empty)?;
        pcapng.pass_over(window, &block, 1)?;
        Ok(Some(pcapng))
    }

    /// How long the block at the start of the bytes is; None when that is not there, or the block holds no packet.
    pub(super) fn packet_length(&self, bytes: &[u8]) -> Option<usize> {
        let [kind, length] = self.order.words(bytes)?;
        matches!(kind, ENHANCED_PACKET | PACKET | SIMPLE_PACKET).then_some(length as usize)
    }

    /// Finds the next packet at the start of the window, and appends the key logs that stand before it; None at the end of the file.
    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        packet: u64,
        secrets: &mut Vec<u8>,
    ) -> Result<Option<Located>, CaptureError> {
        while let Some(block) = self.block_header(window, packet)? {
            match block.kind {
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                    let body = self.whole_body(window, &block, packet)?;
                    let located = self.packet(&block, body, packet)?;
                    self.last_time = located.time;
                    return Ok(Some(located));
                }
                INTERFACE_DESCRIPTION => {
                    let body = self.whole_body(window, &block, packet)?;
                    self.describe_interface(&block, body)?;
                    window.consume(block.length as usize);
                }
                DECRYPTION_SECRETS if block.length <= BLOCK_LIMIT && secrets.len() < SECRETS_LIMIT => {
                    let body = self.whole_body(window, &block, packet)?;
                    if let Some([TLS_KEY_LOG, length]) = self.order.words(body) {
                        let text = body.get(8..).unwrap_or_default();
                        secrets.extend_from_slice(text.get(..length as usize).unwrap_or(text));
                        secrets.push(b'\n');
                    }
                    window.consume(block.length as usize);
                }
                _ => self.pass_over(window, &block, packet)?,
            }
        }
        Ok(None)
    }

    /// Reads the type and length of the block at the start of the window, and begins a section where one begins.
    fn block_header<R: Read>(&mut self, window: &mut Window<R>, packet: u64) -> Result<Option<Block>, CaptureError> {
        let offset = window.offset();
        let io = |source| CaptureError::Io { offset, source };
        let bytes = window.fill(BLOCK_HEADER).map_err(io)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        // The type of a section header reads the same in both byte orders.
        let is_section = bytes.starts_with(&SECTION_HEADER.to_be_bytes());
        let needed = if is_section { SECTION_HEADER_LENGTH as usize } else { BLOCK_HEADER };
        let bytes = window.fill(needed).map_err(io)?;
        if bytes.len() < needed {
            return Err(CaptureError::Cut {
                offset: offset + bytes.len() as u64,
                block: self.order.words(bytes).map(|[kind]| kind),
                packet,
                has: bytes.len() as u64,
                needed: needed as u64,
            });
        }
        if is_section {
            self.begin_section(bytes, offset)?;
        }
        let [kind, length] = self.order.words(bytes).unwrap_or_default();
        let (least, most) = match kind {
            SECTION_HEADER => (SECTION_HEADER_LENGTH, u32::MAX),
            INTERFACE_DESCRIPTION => (20, BLOCK_LIMIT),
            SIMPLE_PACKET => (16, BLOCK_LIMIT),
            ENHANCED_PACKET | PACKET => (32, BLOCK_LIMIT),
            _ => (12, u32::MAX),
        };
        if length < least || length > most || length % 4 != 0 {
            return Err(CaptureError::BlockLength { offset, block: kind, length });
        }
        Ok(Some(Block { kind, offset, length }))
    }

    fn begin_section(&mut self, header: &[u8], offset: u64) -> Result<(), CaptureError> {
        self.order = match header.get(8..12) {
            Some([0x4d, 0x3c, 0x2b, 0x1a]) => ByteOrder::Little,
            Some([0x1a, 0x2b, 0x3c, 0x4d]) => ByteOrder::Big,
            _ => return Err(CaptureError::ByteOrder { offset }),
        };
        let version: [[u8; 2]; 2] =
            header.get(12..16).and_then(|version| version.as_chunks().0.try_into().ok()).unwrap_or_default();
        let [major, minor] = version.map(|number| self.order.u16(number));
        if major != 1 {
            return Err(CaptureError::Version { format: "pcapng", offset, major, minor });
        }
        self.interfaces_before = self.interfaces_before.saturating_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        Ok(())
    }

    /// Brings a block into the window as a whole, checks the length behind it, and gives what is between.
    fn whole_body<'w, R: Read>(
        &self,
        window: &'w mut Window<R>,
        block: &Block,
        packet: u64,
    ) -> Result<&'w [u8], CaptureError> {
        let length = block.length as usize;
        let bytes = window.fill(length).map_err(|source| CaptureError::Io { offset: block.offset, source })?;
        let Some(bytes) = bytes.get(..length) else {
            return Err(block.cut(bytes.len() as u64, packet));
        };
        let (body, trailer) = bytes.split_last_chunk::<BLOCK_TRAILER>().unwrap_or((&[], &[0; 4]));
        block.check_trailer(self.order.u32(*trailer))?;
        Ok(body.get(BLOCK_HEADER..).unwrap_or_default())
    }

    /// Passes over a block of any length without keeping it.
    fn pass_over<R: Read>(&self, window: &mut Window<R>, block: &Block, packet: u64) -> Result<(), CaptureError> {
        let io = |source| CaptureError::Io { offset: block.offset, source };
        let before_trailer = u64::from(block.length) - BLOCK_TRAILER as u64;
        let passed = window.skip(before_trailer).map_err(io)?;
        let bytes = window.fill(BLOCK_TRAILER).map_err(io)?;
        let Some([trailer]) = self.order.words(bytes) else {
            return Err(block.cut(passed + bytes.len() as u64, packet));
        };
        window.consume(BLOCK_TRAILER);
        block.check_trailer(trailer)
    }

    fn describe_interface(&mut self, block: &Block, body: &[u8]) -> Result<(), CaptureError> {
        const TIME_RESOLUTION: u16 = 9;
        const TIME_OFFSET: u16 = 14;

        if self.interfaces.len() >= INTERFACE_LIMIT {
            return Err(CaptureError::BlockLength { offset: block.offset, block: block.kind, length: block.length });
        }
        let mut clock = Clock { resolution: 6, offset_seconds: 0 };
        for (code, value) in (Options { options: body.get(8..).unwrap_or_default(), order: self.order }) {
            match (code, value) {
                (TIME_RESOLUTION, &[resolution]) => clock.resolution = resolution,
                (TIME_OFFSET, value) => {
                    let seconds = value.as_array().map(|&seconds| self.order.i64(seconds));
                    clock.offset_seconds = seconds.unwrap_or_default();
                }
                _ => {}
            }
        }
        let (link, snap_length) = match body {
            &[link_0, link_1, _, _, a, b, c, d, ..] => (self.order.u16([link_0, link_1]), self.order.u32([a, b, c, d])),
            _ => (0, 0),
        };
        self.interfaces.push(Interface { link: LinkType(link), snap_length, clock });
        Ok(())
    }

    /// Finds the packet in the body of one of the three blocks that hold one.
    fn packet(&self, block: &Block, body: &[u8], packet: u64) -> Result<Located, CaptureError> {
        // Words before the data: interface, time high, time low, captured length, original length.
        const WORDS_LENGTH: usize = 20;

        let (interface, data_start, length, original_length, ticks) = if block.kind == SIMPLE_PACKET {
            let [original_length] = self.order.words(body).unwrap_or_default();
            let room = body.len().saturating_sub(4) as u32;
            let snap_length = self.interfaces.first().map_or(0, |interface| interface.snap_length);
            let kept = if snap_length == 0 { original_length } else { original_length.min(snap_length) };
            // The data may be shorter than both when a writer had its own snap length.
            (0, 4, kept.min(room), original_length, None)
        } else {
            let [interface, high, low, length, original_length] = self.order.words(body).unwrap_or_default();
            let interface = match (block.kind, body) {
                // The obsolete block has 16 bits of interface and 16 of dropped packets in this place.
                (PACKET, &[a, b, ..]) => u32::from(self.order.u16([a, b])),
                _ => interface,
            };
            let ticks = (u64::from(high) << 32) | u64::from(low);
            (interface, WORDS_LENGTH, length, original_length, Some(ticks))
        };
        let Some(described) = self.interfaces.get(interface as usize) else {
            return Err(CaptureError::Interface { offset: block.offset, packet, interface });
        };
        let room = body.len().saturating_sub(data_start);
        if length as usize > room {
            return Err(CaptureError::PacketLength { offset: block.offset, packet, length, room });
        }
        let start = BLOCK_HEADER + data_start;
        let data = Range { start, end: start + length as usize };
        let body_end = BLOCK_HEADER + body.len();
        let options_start = if block.kind == SIMPLE_PACKET { body_end } else { start + padded(length as usize) };
        Ok(Located {
            data,
            options: options_start.min(body_end)..body_end,
            total: block.length as usize,
            time: ticks.map_or(self.last_time, |ticks| described.clock.time(ticks)),
            interface: self.interfaces_before.saturating_add(interface),
            link: described.link,
            original_length,
            order: self.order,
        })
    }
}

impl Block {
    fn cut(&self, has: u64, packet: u64) -> CaptureError {
        CaptureError::Cut {
            offset: self.offset + has,
            block: Some(self.kind),
            packet,
            has,
            needed: u64::from(self.length),
        }
    }

    fn check_trailer(&self, trailer: u32) -> Result<(), CaptureError> {
        if trailer == self.length {
            return Ok(());
        }
        Err(CaptureError::BlockTrailer { offset: self.offset, length: self.length, trailer })
    }
}

impl Clock {
    /// The time of a packet. `if_tsresol` is a negative power of ten, or of two when its highest bit is set.
    fn time(self, ticks: u64) -> Time {
        let ticks = u128::from(ticks);
        let exponent = u32::from(self.resolution & 0x7f);
        let nanoseconds = if self.resolution & 0x80 != 0 {
            (ticks * 1_000_000_000) >> exponent
        } else if exponent <= 9 {
            ticks * 10_u128.pow(9 - exponent)
        } else {
            // Beyond what a u128 holds, a tick is so short that 2^64 of them are no nanosecond.
            10_u128.checked_pow(exponent - 9).map_or(0, |divisor| ticks / divisor)
        };
        // At most 2^94, so the sum stays far inside of an i128.
        Time::saturating_from(nanoseconds.cast_signed() + i128::from(self.offset_seconds) * i128::from(Time::SECOND))
    }
}
