//! A frame understood.

use std::net::SocketAddr;

use super::Piece;
use crate::capture::{Names, Time};
use crate::dissect::{Reading, TopicNames};
use crate::protocol::{ApiKey, Side};
use crate::stream::{ConnectionId, Tls};

/// A request or response with all that is known of it. Borrowed for as long as a sink looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a, 'p> {
    /// Its number, from 1, in the order in which messages were complete.
    pub index: u64,
    /// When the last of its bytes that were captured was.
    pub time: Time,
    /// Its connection.
    pub connection: ConnectionId,
    /// The client's endpoint.
    pub client: SocketAddr,
    /// The broker's endpoint.
    pub broker: SocketAddr,
    /// What it is.
    pub subject: Subject,
    /// The client's name for itself; of a response, its request's.
    pub client_id: Option<&'a [u8]>,
    /// Its bytes up to the first that the capture lacks, the four of the size first.
    pub frame: &'a [u8],
    /// How it is read.
    pub reading: Reading<'p>,
    /// The version of the plan, where the message has a newer one than is known.
    pub assumed: Option<i16>,
    /// Whether its beginning was guessed after a hole.
    pub guessed: bool,
    /// How many bytes of it the capture lacks.
    pub gap: u64,
    /// The packets that brought its bytes, also those behind a hole, by number from 1.
    pub packets: &'a [u64],
    /// Where its bytes lie, in their order: those of [`Message::frame`], and behind a hole the others that are there.
    pub pieces: &'a [Piece],
    /// How it was protected, where it came through TLS. Pieces say in which records.
    pub tls: Option<Tls>,
    /// The place of its first byte in its stream.
    pub stream_offset: u64,
    /// On a response: its request, when that was seen.
    pub request: Option<Exchange>,
    /// Which topic has which id, as far as is known up to and with this message.
    pub topics: &'a TopicNames,
    /// What the captures call hosts and interfaces, as far as they have been read.
    pub names: &'a Names,
}

/// The pieces that lie before a place in the stream.
pub(crate) fn pieces_before(pieces: &[Piece], end: u64) -> &[Piece] {
    let count = pieces.partition_point(|piece| piece.start < end);
    pieces.get(..count).unwrap_or(pieces)
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A message of an API. `None` where a response's request is not known.
    Api {
        /// The API's key.
        key: Option<ApiKey>,
        /// The API's version.
        version: Option<i16>,
        /// The correlation id; `None` where it was lost.
        correlation: Option<i32>,
    },
    /// A token of a SASL mechanism, without a header of Kafka's.
    SaslToken,
}

/// What a response says of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The request's number.
    pub request: u64,
    /// From the request's last byte to the response's, in nanoseconds; negative where the capture is out of order.
    pub latency: i64,
}

impl<'a> Message<'a, '_> {
    /// Where the bytes of [`Message::frame`] lie.
    pub fn frame_pieces(&self) -> &'a [Piece] {
        pieces_before(self.pieces, self.stream_offset + self.frame.len() as u64)
    }

    /// Request or response.
    pub fn side(&self) -> Side {
        self.reading.side
    }

    /// The API's key, where it is known.
    pub fn key(&self) -> Option<ApiKey> {
        match self.subject {
            Subject::Api { key, .. } => key,
            Subject::SaslToken => None,
        }
    }

    /// The API's version, where it is known.
    pub fn version(&self) -> Option<i16> {
        match self.subject {
            Subject::Api { version, .. } => version,
            Subject::SaslToken => None,
        }
    }

    /// The correlation id, where it is known.
    pub fn correlation(&self) -> Option<i32> {
        match self.subject {
            Subject::Api { correlation, .. } => correlation,
            Subject::SaslToken => None,
        }
    }

    /// The size of the frame as it was sent, with the four bytes of the size.
    pub fn size(&self) -> u64 {
        self.frame.len() as u64 + u64::from(self.reading.missing)
    }
}
