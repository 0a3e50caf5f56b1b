//! What can be wrong with a capture file.

use std::io;

/// Why a capture cannot be read, or not be read further. Offsets count the bytes of the file from 0.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// There is not a single byte.
    #[error("the file is empty")]
    Empty,
    /// The first bytes are those of something else.
    #[error("not a pcap or pcapng file: it looks like {0}")]
    NotACapture(&'static str),
    /// A capture in a format that is not read.
    #[error("not a pcap or pcapng file but {0}; run: editcap -F pcapng IN OUT")]
    OtherFormat(&'static str),
    /// An event trace of Windows.
    #[error("not a pcap or pcapng file but an event trace of Windows (etl); run: etl2pcapng IN OUT")]
    EventTrace,
    /// A snoop file with a link layer that is not known.
    #[error("snoop data link type {0} is not supported")]
    SnoopLink(u32),
    /// The file ends inside of its own header.
    #[error("cut short at byte {length}: the file header has {length} of {needed} bytes")]
    FileHeaderCut {
        /// Bytes of the file.
        length: u64,
        /// Bytes that the header needs at least.
        needed: u64,
    },
    /// A version of the format that this reader does not know.
    #[error("{format} version {major}.{minor} at byte {offset} is not supported")]
    Version {
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// Where the header with the version begins.
        offset: u64,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// Reading failed.
    #[error("reading failed at byte {offset}: {source}")]
    Io {
        /// The bytes read before.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The file ends inside of a record or block.
    #[error("cut short at byte {offset}: the {part} {has} of {needed} bytes", part = Part { block: *.block, packet: *.packet })]
    Cut {
        /// Where the file ends.
        offset: u64,
        /// The pcapng block type, None in a pcap file.
        block: Option<u32>,
        /// The number that the packet would have had.
        packet: u64,
        /// Bytes that are there: of the packet, of its header when that is cut, or of the whole block.
        has: u64,
        /// Bytes that it should have.
        needed: u64,
    },
    /// A pcap record claims to be longer than any packet.
    #[error(
        "damaged at byte {offset}: the record of packet {packet} claims {length} bytes, more than the {limit} that can be"
    )]
    RecordLength {
        /// Where the record begins.
        offset: u64,
        /// The number that the packet would have had.
        packet: u64,
        /// The length that it claims.
        length: u32,
        /// The greatest length accepted in this file.
        limit: u32,
    },
    /// What stands in the place of a pcap record is none: it is not possible, or it is odd and nothing that could be a
    /// record follows it.
    #[error("damaged at byte {offset}: what should be the record of packet {packet} is none")]
    Record {
        /// Where the record should begin.
        offset: u64,
        /// The number that the packet would have had.
        packet: u64,
    },
    /// A pcapng block has a length that it cannot have.
    #[error("damaged at byte {offset}: a block of type {block:#x} cannot have a length of {length}")]
    BlockLength {
        /// Where the block begins.
        offset: u64,
        /// The block type.
        block: u32,
        /// The length that it claims.
        length: u32,
    },
    /// The two lengths of a pcapng block differ.
    #[error("damaged at byte {offset}: the block has a length of {length}, but {trailer} behind it")]
    BlockTrailer {
        /// Where the block begins.
        offset: u64,
        /// The length before the block.
        length: u32,
        /// The length behind the block.
        trailer: u32,
    },
    /// A pcapng section has neither of the two byte orders.
    #[error("damaged at byte {offset}: the section header has no byte order mark")]
    ByteOrder {
        /// Where the section header begins.
        offset: u64,
    },
    /// A packet block holds fewer bytes than it says were captured.
    #[error("damaged at byte {offset}: packet {packet} claims {length} bytes, the block has room for {room}")]
    PacketLength {
        /// Where the block begins.
        offset: u64,
        /// The number that the packet would have had.
        packet: u64,
        /// The length that it claims.
        length: u32,
        /// The bytes of the block that are left for it.
        room: usize,
    },
    /// A packet names an interface that the section does not describe.
    #[error("damaged at byte {offset}: packet {packet} is from interface {interface}, which is not described")]
    Interface {
        /// Where the block begins.
        offset: u64,
        /// The number that the packet would have had.
        packet: u64,
        /// The interface, as numbered in its section.
        interface: u32,
    },
    /// A packet has a time far from all others, and may be from a section whose beginning was skipped.
    #[error(
        "damaged before byte {offset}: packet {packet} has a time far from the others, so its interface may be another"
    )]
    PacketTime {
        /// Where the block begins.
        offset: u64,
        /// The number that the packet would have had.
        packet: u64,
    },
    /// A packet is none of TCP when it is read as its interface says, and may be from a section whose beginning was skipped.
    #[error(
        "damaged before byte {offset}: packet {packet} is not what its interface should have, which may be another"
    )]
    PacketLink {
        /// Where the block begins.
        offset: u64,
        /// The number that the packet would have had.
        packet: u64,
    },
    /// Damage behind which reading goes on, where it can.
    #[error("{damage}; {bytes} bytes skipped")]
    Skipped {
        /// What is wrong.
        damage: Box<Self>,
        /// How many bytes are in no packet, from the damaged record or block up to the next that can be believed, or to the
        /// end.
        bytes: u64,
    },
    /// Damage in more places than are told one by one.
    #[error("damaged at {places} more places; {bytes} bytes skipped")]
    More {
        /// How many.
        places: u64,
        /// How many bytes were skipped there.
        bytes: u64,
    },
}

impl CaptureError {
    /// Whether there may be more packets behind it.
    pub(super) fn may_be_passed(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::Version { .. }) && !self.is_unreadable()
    }

    /// True when the input could not be read at all, false when a capture is damaged further on.
    pub fn is_unreadable(&self) -> bool {
        match self {
            Self::Empty
            | Self::NotACapture(_)
            | Self::OtherFormat(_)
            | Self::EventTrace
            | Self::SnoopLink(_)
            | Self::FileHeaderCut { .. } => true,
            Self::Version { offset, .. } | Self::Io { offset, .. } | Self::ByteOrder { offset } => *offset == 0,
            _ => false,
        }
    }
}

/// The words for what was cut.
struct Part {
    block: Option<u32>,
    packet: u64,
}

impl std::fmt::Display for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.block {
            None => write!(formatter, "record of packet {} has", self.packet),
            Some(block) => {
                write!(formatter, "block of type {block:#x} behind packet {} has", self.packet.saturating_sub(1))
            }
        }
    }
}
