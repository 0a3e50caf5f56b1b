//! Capture files to packets, packets to TCP segments.
//!
//! [`CaptureReader`] reads pcap and pcapng as a stream, through one buffer of bounded size: nothing is copied for a packet,
//! and nothing is allocated. [`Captures`] reads several as one, and unpacks what is packed. [`Segments`] takes link layer, tunnels,
//! IP and TCP off packets, and puts IP fragments together. None of them knows of Kafka.
//!
//! References: draft-ietf-opsawg-pcap (pcap), draft-ietf-opsawg-pcapng (pcapng), the link-layer header types of
//! tcpdump.org, RFC 791, RFC 8200, RFC 9293.

mod bytes;
mod captures;
mod chains;
mod container;
#[cfg(test)]
mod effort;
mod error;
mod fragments;
mod ip;
mod layers;
pub mod live;
mod names;
mod packet;
mod pcap;
mod pcapng;
mod reader;
mod segment;
mod source;
mod time;
mod window;

pub use captures::{Again, Captures, Damage, OpenError};
pub use error::CaptureError;
pub use names::{Interface, InterfaceId, Names};
pub use packet::{Comments, CommentsAt, LinkType, Packet, Place};
pub use reader::CaptureReader;
pub use segment::{NoSegment, PacketCounters, Segment, Segments, segment};
pub use source::{Source, Spool};
pub use time::Time;

#[cfg(test)]
mod tests;
