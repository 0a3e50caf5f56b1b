//! Capture files to packets, packets to TCP segments.
//!
//! [`CaptureReader`] reads pcap and pcapng as a stream, through one buffer of bounded size: nothing is copied for a packet,
//! and nothing is allocated. [`Captures`] reads several as one. [`segment`] takes the link layer, IP and TCP off a packet. Neither knows of Kafka.
//!
//! References: draft-ietf-opsawg-pcap (pcap), draft-ietf-opsawg-pcapng (pcapng), the link-layer header types of
//! tcpdump.org, RFC 791, RFC 8200, RFC 9293.

mod bytes;
mod captures;
mod error;
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
pub use packet::{Comments, CommentsAt, LinkType, Packet, Place};
pub use reader::CaptureReader;
pub use segment::{NoSegment, PacketCounters, Segment, segment};
pub use source::{Source, Spool};
pub use time::Time;

#[cfg(test)]
mod tests;
