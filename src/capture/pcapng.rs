//! The pcapng format: blocks with their length before and behind, in sections that each have a byte order.

use std::io::{self, Read};
use std::net::IpAddr;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use arrayvec::ArrayVec;

use super::bytes::{ByteOrder, padded};
use super::chains::Chains;
use super::packet::Options;
use super::pcap::{LOOK_AHEAD, NEAR_SECONDS, PACKET_LIMIT, USUAL_PACKET_LIMIT, YEAR_2000};
use super::reader::Located;
use super::window::Window;
use super::{CaptureError, Comments, InterfaceId, LinkType, Names, NoSegment, Packet, Place, Time, segment};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const NAME_RESOLUTION: u32 = 4;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;
/// All types that are described: these, entries of a journal, secrets, custom blocks of two kinds.
const KNOWN: [u32; 11] = [
    SECTION_HEADER,
    INTERFACE_DESCRIPTION,
    PACKET,
    SIMPLE_PACKET,
    NAME_RESOLUTION,
    INTERFACE_STATISTICS,
    ENHANCED_PACKET,
    9,
    DECRYPTION_SECRETS,
    0x0000_0bad,
    0x4000_0bad,
];

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
/// No packet that carries blocks is longer.
const LONGEST_PACKET: usize = USUAL_PACKET_LIMIT as usize;
/// Blocks that are looked at behind one, at most: more than stand before the first packet of a section.
const BLOCKS_AHEAD: usize = 256;
/// Options that the description of an interface has at most, behind damage.
const MOST_OPTIONS: usize = 256;
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
    /// Packets that the interfaces of the sections before dropped.
    drops_before: u64,
    /// The times of the first and of the last packet.
    times: Option<[Time; 2]>,
    /// Those of the last few packets.
    recent: ArrayVec<Time, 4>,
    /// Whether the last packet was in a block without a time.
    is_simple: bool,
    /// Whether descriptions of interfaces, or the beginning of a section, may be among what was skipped: then nobody knows
    /// which number the next description has.
    is_uncertain: bool,
    /// Where names are kept, and what the capture is called.
    names: Option<(Names, Arc<str>)>,
    /// Blocks that follow each other near the last damage.
    chains: Chains,
}

#[derive(Debug)]
struct Interface {
    link: LinkType,
    snap_length: u32,
    clock: Clock,
    /// Packets dropped since the capture began, as its last statistics say.
    drops: u64,
    named: InterfaceId,
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
        let mut pcapng = Self::new(ByteOrder::Little);
        let block = pcapng.block_header(window, 1)?.ok_or(CaptureError::Empty)?;
        pcapng.whole_body(window, &block, 1)?;
        window.consume(block.length as usize);
        Ok(Some(pcapng))
    }

    fn new(order: ByteOrder) -> Self {
        Self {
            order,
            interfaces: Vec::new(),
            interfaces_before: 0,
            drops_before: 0,
            times: None,
            recent: ArrayVec::new(),
            is_simple: false,
            is_uncertain: false,
            names: None,
            chains: Chains::default(),
        }
    }

    /// Has what the file calls hosts and interfaces kept.
    pub(super) fn use_names(&mut self, names: Names, capture: &str) {
        self.names = Some((names, capture.into()));
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
                    // Its interface may be that of a section whose beginning was skipped, with another clock or link layer.
                    if self.is_uncertain {
                        if !self.is_in_time(located.time) {
                            return Err(CaptureError::PacketTime { offset: block.offset, packet });
                        }
                        if !is_of_link(&located, window.bytes()) {
                            return Err(CaptureError::PacketLink { offset: block.offset, packet });
                        }
                    }
                    self.learn(located.time, block.kind == SIMPLE_PACKET);
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
                INTERFACE_STATISTICS => {
                    let body = self.whole_body(window, &block, packet)?;
                    self.count_drops(body);
                    window.consume(block.length as usize);
                }
                NAME_RESOLUTION if self.names.as_ref().is_some_and(|(names, _)| names.wants_hosts()) => {
                    let body = self.whole_body(window, &block, packet)?;
                    self.learn_hosts(body);
                    window.consume(block.length as usize);
                }
                _ => {
                    self.whole_body(window, &block, packet)?;
                    window.consume(block.length as usize);
                }
            }
        }
        Ok(None)
    }

    /// Goes on from the block at the start of the window, which is damaged as the error says, to the next that can be
    /// believed. False when there is none.
    pub(super) fn find_next<R: Read>(&mut self, window: &mut Window<R>, error: &CaptureError) -> io::Result<bool> {
        let [kind, length] = self.order.words(window.bytes()).unwrap_or_default();
        let is_framed = match error {
            CaptureError::Interface { .. }
            | CaptureError::PacketLength { .. }
            | CaptureError::PacketTime { .. }
            | CaptureError::PacketLink { .. } => true,
            // One of the two lengths is right, and most likely the first one if it leads to another block or to the end.
            CaptureError::BlockTrailer { trailer, .. } => {
                let bytes = window.fill(length as usize + LOOK_AHEAD)?;
                let behind = bytes.get(length as usize..).unwrap_or_default();
                // What stands in the place of the other one may be that of another block.
                let other = (length as usize).checked_sub(*trailer as usize).and_then(|at| bytes.get(at..));
                let is_of_another = other
                    .and_then(|bytes| whole_block(self.order, bytes))
                    .is_some_and(|(block, _)| block.length == *trailer);
                !is_of_another && (behind.is_empty() || self.is_block(behind, || self.goes_on(behind)))
            }
            _ => false,
        };
        self.is_uncertain |= !is_framed || kind == INTERFACE_DESCRIPTION;
        if is_framed {
            window.consume(length as usize);
            return Ok(true);
        }
        window.consume(1);
        let mut chains = std::mem::take(&mut self.chains);
        let found = window.find(LOOK_AHEAD, |part| {
            let known_at = |at: usize| known_block(part.bytes.get(at..)?);
            let length_at = |at| known_at(at).map(|(_, block)| block.length as usize);
            let is_next = |at, next| match (known_at(at), known_at(next)) {
                (Some((order, _)), Some((next, block))) => order == next || block.kind == SECTION_HEADER,
                _ => false,
            };
            let mut goes_on = |at| {
                let chain = chains.at(part, at, LOOK_AHEAD, length_at, is_next);
                chain.length >= LONGEST_PACKET || chain.ends_with_input
            };
            (0..part.end).find(|&at| part.bytes.get(at..).is_some_and(|bytes| self.is_block(bytes, || goes_on(at))))
        });
        self.chains = chains;
        found
    }

    /// Whether the bytes begin with a block of a known type that has the same possible length on both ends; of a packet,
    /// its interface and length must be possible as well. A packet may carry a capture, as a download of one does: that was
    /// captured before and ends with the packet. So a block's time, or that of the first packet behind a block that has none,
    /// must not be before those that are known, or blocks follow each other for longer than packets are.
    fn is_block(&self, bytes: &[u8], goes_on: impl FnOnce() -> bool) -> bool {
        let is_section = bytes.starts_with(&SECTION_HEADER.to_be_bytes());
        let order = if is_section { section_order(bytes) } else { Some(self.order) };
        let Some(order) = order else { return false };
        let Some((block, body)) = whole_block(order, bytes) else { return false };
        match block.kind {
            SIMPLE_PACKET => self.is_simple && self.packet(&block, body, 0).is_ok() && goes_on(),
            ENHANCED_PACKET | PACKET => self
                .packet(&block, body, 0)
                .is_ok_and(|located| self.is_later(located.time) || (self.is_possible(located.time) && goes_on())),
            // What is taken for one makes all packets behind it uncertain.
            INTERFACE_DESCRIPTION
                if !is_description(order, body)
                    || !bytes.get(block.length as usize..).is_some_and(|behind| is_end_or_known(order, behind)) =>
            {
                false
            }
            kind => KNOWN.contains(&kind) && self.leads_on(order, bytes),
        }
    }

    /// Whether blocks follow each other from the start of the bytes on for longer than a packet can be, or to the end, or are
    /// as many as are looked at.
    fn goes_on(&self, bytes: &[u8]) -> bool {
        let mut at = 0;
        for _ in 0..BLOCKS_AHEAD {
            let rest = bytes.get(at..).unwrap_or_default();
            if rest.is_empty() || at >= LONGEST_PACKET {
                return true;
            }
            let Some((block, _)) = whole_block(self.order, rest).filter(|(block, _)| KNOWN.contains(&block.kind))
            else {
                return false;
            };
            at += block.length as usize;
        }
        true
    }

    /// Takes note of a packet that is believed.
    fn learn(&mut self, time: Time, is_simple: bool) {
        let [first, _] = self.times.unwrap_or([time; 2]);
        self.times = Some([first, time]);
        self.is_simple = is_simple;
        if self.recent.is_full() {
            self.recent.remove(0);
        }
        self.recent.push(time);
    }

    /// Whether the first packet behind the block that the bytes begin with is near the times that are known. A section must
    /// have such a packet, or nothing behind it; of other blocks it is enough that nothing speaks against it.
    fn leads_on(&self, order: ByteOrder, bytes: &[u8]) -> bool {
        let is_section = bytes.starts_with(&SECTION_HEADER.to_be_bytes());
        if self.times.is_none() {
            return true;
        }
        let mut section = is_section.then(|| Self::new(order));
        let mut rest = bytes;
        for number in 0..BLOCKS_AHEAD {
            if rest.is_empty() {
                return true;
            }
            if number > 0 && rest.starts_with(&SECTION_HEADER.to_be_bytes()) {
                break;
            }
            let Some((block, body)) = whole_block(order, rest) else { break };
            match (block.kind, &mut section) {
                (SIMPLE_PACKET, None) if !self.is_simple => return false,
                (ENHANCED_PACKET | PACKET | SIMPLE_PACKET, section) => {
                    let located = section.as_ref().unwrap_or(self).packet(&block, body, 0);
                    return located.map_or(!is_section, |located| self.is_later(located.time));
                }
                (INTERFACE_DESCRIPTION, Some(section)) => {
                    // A packet of one that cannot be described is none.
                    let _ = section.describe_interface(&block, body);
                }
                _ => {}
            }
            rest = rest.get(block.length as usize..).unwrap_or_default();
        }
        !is_section
    }

    /// Whether a time is near that of the first or the last packet, or none is known.
    fn is_in_time(&self, time: Time) -> bool {
        let near = u64::from(NEAR_SECONDS) * Time::SECOND.unsigned_abs();
        let is_near = |known: &Time| known.nanoseconds().abs_diff(time.nanoseconds()) <= near;
        self.times.is_none_or(|known| known.iter().any(is_near))
    }

    /// Whether a time is near those that are known, and not before those of the last packets, but for packets of several
    /// queues, which are not in order.
    fn is_later(&self, time: Time) -> bool {
        let recent = self.recent.iter().min();
        self.is_in_time(time) && recent.is_none_or(|recent| time.after(Time::SECOND) >= *recent)
    }

    /// Whether a time is one at which there were captures.
    fn is_possible(&self, time: Time) -> bool {
        self.times.is_some() && time.nanoseconds() >= i64::from(YEAR_2000) * Time::SECOND
    }

    /// Packets that were dropped while they were captured: the last count of each interface.
    pub(super) fn drops(&self) -> u64 {
        let drops = self.interfaces.iter().map(|interface| interface.drops);
        drops.fold(self.drops_before, u64::saturating_add)
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
        let block = Block { kind, offset, length };
        if !block.is_length_possible() {
            return Err(CaptureError::BlockLength { offset, block: kind, length });
        }
        Ok(Some(block))
    }

    fn begin_section(&mut self, header: &[u8], offset: u64) -> Result<(), CaptureError> {
        self.order = section_order(header).ok_or(CaptureError::ByteOrder { offset })?;
        let version: [[u8; 2]; 2] =
            header.get(12..16).and_then(|version| version.as_chunks().0.try_into().ok()).unwrap_or_default();
        let [major, minor] = version.map(|number| self.order.u16(number));
        if major != 1 {
            return Err(CaptureError::Version { format: "pcapng", offset, major, minor });
        }
        self.drops_before = self.drops();
        self.interfaces_before = self.interfaces_before.saturating_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        self.is_uncertain = false;
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

    fn describe_interface(&mut self, block: &Block, body: &[u8]) -> Result<(), CaptureError> {
        const NAME: u16 = 2;
        const DESCRIPTION: u16 = 3;
        const TIME_RESOLUTION: u16 = 9;
        const TIME_OFFSET: u16 = 14;

        if self.interfaces.len() >= INTERFACE_LIMIT {
            return Err(CaptureError::BlockLength { offset: block.offset, block: block.kind, length: block.length });
        }
        let mut clock = Clock { resolution: 6, offset_seconds: 0 };
        let (mut name, mut description) = (&[][..], &[][..]);
        for (code, value) in (Options { options: body.get(8..).unwrap_or_default(), order: self.order }) {
            match (code, value) {
                (NAME, value) => name = value,
                (DESCRIPTION, value) => description = value,
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
        if self.is_uncertain {
            self.interfaces.clear();
            return Ok(());
        }
        let number = self.interfaces_before.saturating_add(self.interfaces.len() as u32);
        let named = match &self.names {
            Some((names, capture)) => names.add_interface(capture, number, name, description),
            None => InterfaceId::NONE,
        };
        self.interfaces.push(Interface { link: LinkType(link), snap_length, clock, drops: 0, named });
        Ok(())
    }

    /// Takes the records of a block: type, length, an address, the names that it has with a zero behind each.
    fn learn_hosts(&self, body: &[u8]) {
        const IPV4: u16 = 1;
        const IPV6: u16 = 2;

        let Some((names, _)) = &self.names else { return };
        // Records are laid out as options are.
        for (kind, value) in (Options { options: body, order: self.order }) {
            let (address, rest): (IpAddr, _) = match kind {
                IPV4 => match value.split_first_chunk::<4>() {
                    Some((address, rest)) => ((*address).into(), rest),
                    None => continue,
                },
                IPV6 => match value.split_first_chunk::<16>() {
                    Some((address, rest)) => ((*address).into(), rest),
                    None => continue,
                },
                _ => continue,
            };
            names.add_host(address, rest.split(|byte| *byte == 0).next().unwrap_or_default());
        }
    }

    /// Takes the counts of an interface's statistics; they begin with the capture, so the last ones hold.
    fn count_drops(&mut self, body: &[u8]) {
        const DROPPED_BY_INTERFACE: u16 = 5;
        const DROPPED_BY_SYSTEM: u16 = 7;

        let order = self.order;
        let [interface] = order.words(body).unwrap_or_default();
        let Some(interface) = self.interfaces.get_mut(interface as usize) else { return };
        // Behind the interface stands the time, in eight bytes.
        let options = Options { options: body.get(12..).unwrap_or_default(), order };
        let counts = options.filter(|(code, _)| matches!(*code, DROPPED_BY_INTERFACE | DROPPED_BY_SYSTEM));
        let counts = counts.filter_map(|(_, value)| value.as_array().map(|&count| order.u64(count)));
        interface.drops = counts.fold(0, u64::saturating_add);
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
        let [_, last_time] = self.times.unwrap_or_default();
        let start = BLOCK_HEADER + data_start;
        let data = Range { start, end: start + length as usize };
        let body_end = BLOCK_HEADER + body.len();
        let options_start = if block.kind == SIMPLE_PACKET { body_end } else { start + padded(length as usize) };
        Ok(Located {
            data,
            options: options_start.min(body_end)..body_end,
            total: block.length as usize,
            time: ticks.map_or(last_time, |ticks| described.clock.time(ticks)),
            interface: self.interfaces_before.saturating_add(interface),
            named: described.named,
            link: described.link,
            original_length,
            order: self.order,
        })
    }
}

/// The block that the bytes begin with, and what is between its two lengths, when it is there as a whole.
fn whole_block(order: ByteOrder, bytes: &[u8]) -> Option<(Block, &[u8])> {
    let [kind, length] = order.words(bytes)?;
    let block = Block { kind, offset: 0, length };
    if !block.is_length_possible() {
        return None;
    }
    let (body, trailer) = bytes.get(..length as usize)?.split_last_chunk::<BLOCK_TRAILER>()?;
    (order.u32(*trailer) == length).then_some((block, body.get(BLOCK_HEADER..)?))
}

/// The block of a known type that the bytes begin with, in either byte order, when it is there as a whole.
fn known_block(bytes: &[u8]) -> Option<(ByteOrder, Block)> {
    // No type is another one's in the other byte order.
    let [kind] = ByteOrder::Little.words(bytes)?;
    let order = match kind {
        SECTION_HEADER => section_order(bytes)?,
        kind if KNOWN.contains(&kind) => ByteOrder::Little,
        kind if KNOWN.contains(&kind.swap_bytes()) => ByteOrder::Big,
        _ => return None,
    };
    let (block, _) = whole_block(order, bytes)?;
    Some((order, block))
}

/// Whether the body of an interface's description has all that one has: two zeros behind the link type, and options up to the
/// end. Where nothing is damaged nobody asks.
fn is_description(order: ByteOrder, body: &[u8]) -> bool {
    // Those that the draft knows; custom ones; those for local use.
    const KNOWN_OPTION: [RangeInclusive<u16>; 3] = [1..=18, 2988..=2989, 19_372..=19_373];

    let (Some([_, _, 0, 0]), Some(options)) = (body.first_chunk(), body.get(8..)) else { return false };
    let mut options = Options { options, order };
    let is_known = |code: u16| code >= 0x8000 || KNOWN_OPTION.iter().any(|known| known.contains(&code));
    options.by_ref().take(MOST_OPTIONS).all(|(code, _)| is_known(code)) && options.options.is_empty()
}

/// Whether there is nothing, or a block of a known type.
fn is_end_or_known(order: ByteOrder, bytes: &[u8]) -> bool {
    bytes.is_empty() || whole_block(order, bytes).is_some_and(|(block, _)| KNOWN.contains(&block.kind))
}

/// Whether a packet is one of TCP when it is read with the link layer of its interface.
fn is_of_link(located: &Located, bytes: &[u8]) -> bool {
    let data = bytes.get(located.data.clone()).unwrap_or_default();
    let not_kept = located.original_length.saturating_sub(data.len() as u32);
    let packet = Packet {
        number: 0,
        time: located.time,
        interface: located.interface,
        link: located.link,
        data,
        place: Place::NOWHERE,
        original_length: located.original_length.max(data.len() as u32),
        comments: Comments::new(&[], located.order, 0),
        secrets: &[],
    };
    match segment(&packet) {
        // IP says how much there was.
        Ok(segment) => segment.cut <= not_kept,
        Err(error) => error == NoSegment::Fragment,
    }
}

/// The byte order of the section whose header begins with the bytes.
fn section_order(header: &[u8]) -> Option<ByteOrder> {
    match header.get(8..12) {
        Some([0x4d, 0x3c, 0x2b, 0x1a]) => Some(ByteOrder::Little),
        Some([0x1a, 0x2b, 0x3c, 0x4d]) => Some(ByteOrder::Big),
        _ => None,
    }
}

impl Block {
    /// Whether a block of this type can be so long. Custom blocks may be longer than the limit; a length that is wrong is
    /// more likely.
    fn is_length_possible(&self) -> bool {
        let least = match self.kind {
            SECTION_HEADER => SECTION_HEADER_LENGTH,
            INTERFACE_DESCRIPTION => 20,
            INTERFACE_STATISTICS => 24,
            SIMPLE_PACKET => 16,
            ENHANCED_PACKET | PACKET => 32,
            _ => 12,
        };
        (least..=BLOCK_LIMIT).contains(&self.length) && self.length.is_multiple_of(4)
    }

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
