//! TCP segments to connections, and each connection to two streams of bytes in order.
//!
//! [`Reassembler`] takes segments in the order of the capture and tells a [`StreamSink`] what the two sides said. A segment
//! that comes in order is handed on as it lies in the packet: nothing is copied. What comes early is held until the hole
//! before it is filled, or given up and told as a [`Gap`].
//!
//! The rules, where RFC 9293 leaves a passive reader alone:
//!
//! - **First copy wins.** Bytes that were seen before are counted as retransmitted and dropped; where they contradict bytes
//!   that are still held, that is counted as a conflict (bytes that were handed on are not kept to compare). A keep-alive is
//!   such a retransmission, so its garbage byte does no harm.
//! - **A hole is given up** when the receiver has acknowledged the bytes (or was never seen) and, since the hole came about,
//!   256 packets of the connection or 2 s of capture time have gone by; when the stream or all streams together hold more
//!   than [`Limits`] allow, the oldest first; and when the connection closes. An acknowledgment alone proves nothing: a
//!   capture of several queues may show data behind its acknowledgment, and behind the answer.
//! - **A stream without its SYN** begins with its first bytes. It is held for 8 packets of the connection, 200 ms or 64 kB,
//!   so that segments that changed places are all in it; what comes with lower numbers after that is dropped. A single byte
//!   does not begin a stream, as it is more likely a keep-alive. Where neither SYN was seen, both streams wait for the one that
//!   is held longer, and are told in the order of their packets.
//! - **Far away** is a segment more than 16 MiB from the expected number: it is dropped, unless the next one continues it.
//!   Then the capture has lost more than a window, and the stream goes on there behind a gap.
//! - **A SYN with another number** on known ports is a new connection, and closes the old one if that was open.
//! - **A reset** closes a connection 2 s of capture time or 32 packets later, as data may still come that was sent before.
//!   One whose number is older than what its sender has sent is refused (RFC 5961, 3.2), and one whose sender goes on after
//!   it was a forgery.
//! - **Closed connections** are remembered, so that late retransmissions do not open them again, together with connections
//!   that have nothing but a SYN: the last 65,536 of both kinds.
//! - **Connections** are counted when both sides have sent a SYN, or at the first data: scans get no number. They are
//!   told to the sink ([`StreamSink::open`]) only when there is data, or a gap in its place.
//! - **Too many connections** ([`Limits::connections`]): one that was idle is closed.

use std::net::SocketAddr;

use crate::capture::{Place, Time};

mod flow;
mod half;
mod output;
mod table;
mod tls;

pub use table::Reassembler;
pub use tls::{Counters as TlsCounters, Decrypting, KeyLog, Suite, Tls, TlsVersion};

#[cfg(test)]
mod tests;

/// The number of a connection, from 1, in the order of appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Two endpoints that talk, from the first packet to the close or to the next use of the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its number.
    pub id: ConnectionId,
    /// Who opened it: the sender of the SYN, or of the first data when no SYN was captured.
    pub initiator: SocketAddr,
    /// The other side.
    pub responder: SocketAddr,
    /// Whether a SYN was captured, so that it is certain which side is which.
    pub handshake: bool,
    /// The time of its first packet.
    pub opened: Time,
    /// How it was protected, where its bytes are what was inside of TLS.
    pub tls: Option<Tls>,
}

impl Connection {
    /// Who sends in a direction.
    pub fn sender(&self, direction: Direction) -> SocketAddr {
        match direction {
            Direction::Forward => self.initiator,
            Direction::Backward => self.responder,
        }
    }
}

/// One of the two streams of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the initiator.
    Forward,
    /// To the initiator.
    Backward,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Where bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of the packet that brought them.
    pub packet: u64,
    /// The time of that packet.
    pub time: Time,
    /// The place of the first byte in the stream: from the byte behind the SYN, or the first that was seen.
    pub offset: u64,
    /// Where the first byte lies in the capture, and all others behind it.
    pub place: Place,
    /// The number of the TLS record that they were in, from 1 in its direction; 0 where they were in none.
    pub record: u32,
}

/// Bytes of a stream that are not in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The place of the first missing byte in the stream.
    pub offset: u64,
    /// How many bytes are missing.
    pub missing: u64,
    /// Whether it is so many.
    pub extent: Extent,
    /// Why.
    pub cause: GapCause,
    /// The packet at which this became certain.
    pub packet: u64,
    /// The time of that packet.
    pub time: Time,
}

/// How sure it is how many bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// It is so many.
    Exact,
    /// It is most likely so many. It may be fewer: inside of TLS not all that is missing need be data, nor all that is data
    /// have been sent for its content (tickets, alerts, padding).
    AtMost,
    /// Nobody knows, and the number is a guess.
    Unknown,
}

/// Why bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapCause {
    /// The packets are not in the capture.
    NotCaptured,
    /// The packet is, but not all of it was kept (snap length).
    Cut,
    /// They may yet have come, but too much was held to wait for them.
    Limit,
    /// They are there, but in TLS records that cannot be opened.
    Sealed,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Close {
    /// Both sides said that they had no more data.
    Finished,
    /// One side reset it.
    Reset,
    /// Its ports were used for another connection.
    Reused,
    /// It was idle, and there were too many.
    Evicted,
    /// The capture ended.
    EndOfCapture,
}

/// Who listens to the streams.
pub trait StreamSink {
    /// A connection has data: it will be told next.
    fn open(&mut self, connection: &Connection);

    /// The next bytes of a stream: every call continues where the one before, or the gap, ended.
    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin);

    /// The next bytes of a stream are missing.
    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap);

    /// The last of a connection that was opened.
    fn close(&mut self, connection: &Connection, how: Close);

    /// Whether nothing more is to be told of the connection of which something was told just now, not even its close. It is
    /// asked once behind each piece of data and each gap.
    fn refuses(&mut self) -> bool {
        false
    }
}

/// How much may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes held for one stream, with what it takes to keep them.
    pub per_stream: usize,
    /// Bytes held for all streams.
    pub total: usize,
    /// Connections, each of about 300 bytes, and 100 more where something came early.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_stream: 4 << 20, total: 256 << 20, connections: 1 << 17 }
    }
}

/// What was odd, for the closing summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments taken.
    pub segments: u64,
    /// Connections that got a number.
    pub connections: u64,
    /// Bytes handed on.
    pub delivered_bytes: u64,
    /// Bytes that had been seen before.
    pub retransmitted_bytes: u64,
    /// Retransmissions that say something else than the first copy.
    pub conflicting_overlaps: u64,
    /// Gaps of every cause.
    pub gaps: u64,
    /// Bytes missing because their packets are ([`GapCause::NotCaptured`], [`GapCause::Limit`]).
    pub missing_bytes: u64,
    /// Bytes missing because packets were cut ([`GapCause::Cut`]).
    pub cut_bytes: u64,
    /// Bytes that belong nowhere: far from the expected number, or after the end of a connection.
    pub dropped_bytes: u64,
    /// Connections closed because there were too many.
    pub evicted: u64,
}
