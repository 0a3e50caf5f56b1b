//! Captures in the pcapng format: the blocks of a file, and packets made anew from messages. See draft-ietf-opsawg-pcapng.

mod made;

use crate::capture::{LinkType, Time};

pub use made::PacketMaker;

/// The unit in which times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// What a file has that does not say otherwise.
    Microseconds,
    /// As exact as [`Time`] is.
    Nanoseconds,
}

impl Resolution {
    /// A time in this unit; one before 1970 is that.
    fn units(self, time: Time) -> u64 {
        let nanoseconds = u64::try_from(time.nanoseconds()).unwrap_or(0);
        match self {
            Self::Microseconds => nanoseconds / 1000,
            Self::Nanoseconds => nanoseconds,
        }
    }
}

/// A packet to be written.
#[derive(Debug, Clone, Copy)]
pub struct WrittenPacket<'a> {
    /// When it was captured; times before 1970 cannot be written and become that.
    pub time: Time,
    /// The bytes that are there.
    pub data: &'a [u8],
    /// How many bytes it had on the network.
    pub original_length: u32,
    /// What people say of it.
    pub comments: &'a [String],
}

const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const INTERFACE_FILTER: u16 = 11;
const PACKETS_RECEIVED: u16 = 4;
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;
const END_OF_OPTIONS: [u8; 4] = [0; 4];

/// Appends the header of a section, perhaps with a comment and the name of the program that wrote it.
pub fn section_header(out: &mut Vec<u8>, comment: Option<&str>, program: Option<&str>) {
    const BYTE_ORDER: [u8; 4] = 0x1a2b_3c4d_u32.to_le_bytes();
    const VERSION: [u8; 4] = [1, 0, 0, 0];
    const UNKNOWN_LENGTH: [u8; 8] = [0xff; 8];
    block(out, 0x0a0d_0d0a, |out| {
        out.extend(BYTE_ORDER);
        out.extend(VERSION);
        out.extend(UNKNOWN_LENGTH);
        for (code, text) in [(COMMENT, comment), (USER_APPLICATION, program)] {
            if let Some(text) = text {
                option(out, code, text.as_bytes());
            }
        }
        out.extend(END_OF_OPTIONS);
    });
}

/// An interface that packets are from.
#[derive(Debug, Clone, Copy)]
pub struct WrittenInterface<'a> {
    /// What its packets begin with.
    pub link: LinkType,
    /// The unit of its packets' times.
    pub resolution: Resolution,
    /// The bytes of a packet that are kept at most; 0 where there is no limit.
    pub snap_length: u32,
    /// Its name, where it has one.
    pub name: Option<&'a str>,
    /// What packets have passed, in the language of pcap-filter(7).
    pub filter: Option<&'a str>,
}

/// What an interface has counted since the capture began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// When it was counted.
    pub time: Time,
    /// Packets received, those that were dropped among them.
    pub received: u64,
    /// Packets that the interface itself dropped.
    pub dropped_by_interface: u64,
    /// Packets that the system dropped because nobody took them in time.
    pub dropped_by_system: u64,
}

/// Appends the description of the interface that all packets are from. It has no limit of length.
pub fn interface(out: &mut Vec<u8>, link: LinkType, resolution: Resolution) {
    described_interface(out, &WrittenInterface { link, resolution, snap_length: 0, name: None, filter: None });
}

/// Appends the description of an interface.
pub fn described_interface(out: &mut Vec<u8>, interface: &WrittenInterface<'_>) {
    let WrittenInterface { link, resolution, snap_length, name, filter } = *interface;
    block(out, 1, |out| {
        out.extend(link.0.to_le_bytes());
        // Reserved.
        out.extend([0; 2]);
        out.extend(snap_length.to_le_bytes());
        let before = out.len();
        if let Some(name) = name {
            option(out, INTERFACE_NAME, name.as_bytes());
        }
        if let Some(filter) = filter {
            // In front stands which language it is in.
            option(out, INTERFACE_FILTER, &[&[0], filter.as_bytes()].concat());
        }
        if resolution == Resolution::Nanoseconds {
            option(out, TIME_RESOLUTION, &[9]);
        }
        if out.len() > before {
            out.extend(END_OF_OPTIONS);
        }
    });
}

/// Appends what the interface has counted.
pub fn statistics(out: &mut Vec<u8>, statistics: &Statistics, resolution: Resolution) {
    block(out, 5, |out| {
        let time = resolution.units(statistics.time);
        let words = [0, (time >> 32) as u32, time as u32];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        option(out, PACKETS_RECEIVED, &statistics.received.to_le_bytes());
        option(out, DROPPED_BY_INTERFACE, &statistics.dropped_by_interface.to_le_bytes());
        option(out, DROPPED_BY_SYSTEM, &statistics.dropped_by_system.to_le_bytes());
        out.extend(END_OF_OPTIONS);
    });
}

/// Appends a packet of the interface, with times in the unit that was said.
pub fn packet(out: &mut Vec<u8>, packet: &WrittenPacket<'_>, resolution: Resolution) {
    let time = resolution.units(packet.time);
    block(out, 6, |out| {
        let words = [0, (time >> 32) as u32, time as u32, packet.data.len() as u32, packet.original_length];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend_from_slice(packet.data);
        pad(out);
        for comment in packet.comments {
            option(out, COMMENT, comment.as_bytes());
        }
        if !packet.comments.is_empty() {
            out.extend(END_OF_OPTIONS);
        }
    });
}

/// A block in little-endian byte order: its length stands before and behind what is in it. Blocks are multiples of four
/// bytes, and `out` holds nothing else.
fn block(out: &mut Vec<u8>, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend(kind.to_le_bytes());
    let start = out.len();
    out.extend([0; 4]);
    write(out);
    pad(out);
    let length = ((out.len() - start) as u32 + 8).to_le_bytes();
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length);
    }
    out.extend(length);
}

/// An option of a block: code, length, value, padding. A value longer than can be said is cut.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
