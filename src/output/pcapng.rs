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
const TIME_RESOLUTION: u16 = 9;
const END_OF_OPTIONS: [u8; 4] = [0; 4];

/// Appends the header of a section, with a comment and perhaps the name of the program that wrote it.
pub fn section_header(out: &mut Vec<u8>, comment: &str, program: Option<&str>) {
    const BYTE_ORDER: [u8; 4] = 0x1a2b_3c4d_u32.to_le_bytes();
    const VERSION: [u8; 4] = [1, 0, 0, 0];
    const UNKNOWN_LENGTH: [u8; 8] = [0xff; 8];
    block(out, 0x0a0d_0d0a, |out| {
        out.extend(BYTE_ORDER);
        out.extend(VERSION);
        out.extend(UNKNOWN_LENGTH);
        option(out, COMMENT, comment.as_bytes());
        if let Some(program) = program {
            option(out, USER_APPLICATION, program.as_bytes());
        }
        out.extend(END_OF_OPTIONS);
    });
}

/// Appends the description of the interface that all packets are from. It has no limit of length.
pub fn interface(out: &mut Vec<u8>, link: LinkType, resolution: Resolution) {
    block(out, 1, |out| {
        out.extend(link.0.to_le_bytes());
        // Reserved, then the limit of length.
        out.extend([0; 6]);
        if resolution == Resolution::Nanoseconds {
            option(out, TIME_RESOLUTION, &[9]);
            out.extend(END_OF_OPTIONS);
        }
    });
}

/// Appends a packet of the interface, with times in the unit that was said.
pub fn packet(out: &mut Vec<u8>, packet: &WrittenPacket<'_>, resolution: Resolution) {
    let nanoseconds = u64::try_from(packet.time.nanoseconds()).unwrap_or(0);
    let time = match resolution {
        Resolution::Microseconds => nanoseconds / 1000,
        Resolution::Nanoseconds => nanoseconds,
    };
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

/// A block in little-endian byte order: its length stands before and behind what is in it.
fn block(out: &mut Vec<u8>, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut body = Vec::new();
    write(&mut body);
    pad(&mut body);
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.extend(kind.to_le_bytes());
    out.extend(length);
    out.append(&mut body);
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
