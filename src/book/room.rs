//! Reading a message again.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::page::Record;
use super::{Kind, State};
use crate::capture::{CommentsAt, Place, Source};
use crate::conversation::{Exchange, Message, Piece, Subject, pieces_before};
use crate::dissect::TopicNames;
use crate::dissect::{Reading, RequestHead};
use crate::protocol::{ApiKey, Side};
use crate::stream::Tls;

/// What a message that is read again borrows from. Kept to be used for the next one.
#[derive(Debug, Default)]
pub struct Room {
    pub(super) pieces: Vec<Piece>,
    frame: Vec<u8>,
    packets: Vec<u64>,
    /// The pieces of the request that a response answers, and the beginning of its bytes.
    request_pieces: Vec<Piece>,
    request: Vec<u8>,
    scratch: Vec<u8>,
    topics: Arc<TopicNames>,
}

/// Why a message cannot be read again.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// There is none with this number, or not yet.
    #[error("there is no message {index}")]
    NoMessage {
        /// The number.
        index: u64,
    },
    /// The capture cannot be read.
    #[error("cannot read {name} at byte {offset}: {source}")]
    Io {
        /// The name of the capture.
        name: String,
        /// Where.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The capture ends before bytes that were there.
    #[error("{name} has become shorter: there is nothing at byte {offset} any more")]
    Shorter {
        /// The name of the capture.
        name: String,
        /// Where the bytes began.
        offset: u64,
    },
    /// The capture has other bytes than were there.
    #[error("{name} has changed: other bytes are at byte {offset} than were read before")]
    Changed {
        /// The name of the capture.
        name: String,
        /// Where.
        offset: u64,
    },
}

/// Pieces that lie no further apart are read with what is between them.
const NEAR: u64 = 4096;
/// As much is read at once.
const AT_ONCE: u64 = 1 << 20;
/// From the size to the length of the client id, and a name as clients have it.
const USUAL_HEAD: u64 = 14 + 64;
/// The same with the longest name.
const LONGEST_HEAD: u64 = 14 + i16::MAX as u64;

/// A message that was found in the book and is to be read.
pub(super) struct Found<'p> {
    index: u64,
    record: Record,
    kind: Kind<'p>,
    ends: [SocketAddr; 2],
    tls: Option<Tls>,
    request: Option<Record>,
    sources: Arc<[Source]>,
    /// Where the message begins.
    source: Option<u16>,
}

impl<'p> State<'p> {
    /// Finds all that the book knows of a message; its pieces, and those of its request, are put into the room.
    pub(super) fn find(&self, index: u64, room: &mut Room) -> Option<Found<'p>> {
        room.pieces.clear();
        room.request_pieces.clear();
        let record = self.record(index, Some(&mut room.pieces))?;
        let request = match record.request_of(index) {
            Some(request) => Some(self.record(request, Some(&mut room.request_pieces))?),
            None => None,
        };
        room.topics = self.topics.clone();
        let kind = *self.kind(&record)?;
        let (ends, tls) = self.connections.ends(record.connection)?;
        let source = room.pieces.first().map(|piece| piece.place.source);
        Some(Found { index, record, kind, ends, tls, request, sources: self.sources.clone(), source })
    }
}

impl<'p> Found<'p> {
    /// Reads the bytes and puts the message together. What is said here of subjects and client ids is what
    /// [`conversation`](crate::conversation) says of them; tests hold the two against each other.
    pub(super) fn read<'s>(&self, room: &'s mut Room) -> Result<Message<'s, 'p>, BookError> {
        let Self { record, kind, .. } = self;
        let Room { pieces, frame, packets, request_pieces, request, scratch, topics } = room;
        read(&self.sources, of_frame(pieces, record), u64::MAX, frame, scratch)?;
        if !self.has_size(frame) {
            return Err(self.changed(pieces));
        }
        packets.clear();
        packets.extend(pieces.iter().map(|piece| piece.packet));
        packets.sort_unstable();
        packets.dedup();
        let missing = u32::try_from(record.size.saturating_sub(record.length)).unwrap_or(u32::MAX);
        let reading = Reading { missing, ..kind.reading };
        let unknown = (Subject::Api { key: None, version: None, correlation: None }, None);
        let (subject, client_id) = match (reading.side, &self.request) {
            _ if kind.token => (Subject::SaslToken, None),
            (Side::Request, _) => match head_of(frame) {
                Some(head) if !self.is_of_plan(&head) => return Err(self.changed(pieces)),
                Some(head) => (
                    Subject::Api {
                        key: Some(head.key),
                        version: Some(head.version),
                        correlation: Some(head.correlation),
                    },
                    head.client_id,
                ),
                None if reading.body.is_some() => return Err(self.changed(pieces)),
                None => unknown,
            },
            (Side::Response, Some(asked)) => {
                let request_pieces = of_frame(request_pieces, asked);
                read(&self.sources, request_pieces, USUAL_HEAD, request, scratch)?;
                if head_of(request).is_none() {
                    read(&self.sources, request_pieces, LONGEST_HEAD, request, scratch)?;
                }
                let head = head_of(request).ok_or_else(|| self.changed(request_pieces))?;
                if !self.is_of_plan(&head) {
                    return Err(self.changed(request_pieces));
                }
                if correlation_of(frame) != Some(head.correlation) {
                    return Err(self.changed(pieces));
                }
                // The fallback of ApiVersions is of version 0, whatever was asked.
                let plan = reading.body.filter(|_| kind.assumed.is_none());
                let version = plan.map_or(head.version, |plan| plan.version);
                let correlation = Some(head.correlation);
                (Subject::Api { key: Some(head.key), version: Some(version), correlation }, head.client_id)
            }
            (Side::Response, None) => {
                let key = reading.body.and_then(|plan| plan.api_key).map(ApiKey);
                let version = reading.body.map(|plan| plan.version);
                (Subject::Api { key, version, correlation: correlation_of(frame) }, None)
            }
        };
        let exchange = |request: &Record| {
            Some(Exchange { request: record.request_of(self.index)?, latency: record.time.since(request.time) })
        };
        let [client, broker] = self.ends;
        Ok(Message {
            index: self.index,
            time: record.time,
            connection: record.connection,
            client,
            broker,
            subject,
            client_id,
            frame,
            reading,
            assumed: kind.assumed,
            guessed: record.guessed,
            gap: record.gap,
            packets,
            pieces,
            tls: self.tls,
            stream_offset: record.stream_offset,
            request: self.request.as_ref().and_then(exchange),
            topics,
        })
    }

    /// Reads the bytes behind the frame.
    pub(super) fn behind_hole(&self, room: &Room) -> Result<Vec<u8>, BookError> {
        let frame_pieces = of_frame(&room.pieces, &self.record).len();
        let mut bytes = Vec::new();
        let behind = room.pieces.get(frame_pieces..).unwrap_or_default();
        read(&self.sources, behind, u64::MAX, &mut bytes, &mut Vec::new())?;
        Ok(bytes)
    }

    /// The name of the message's source, when it was seen just now that somebody has written into it.
    pub(super) fn changed_source(&self) -> Option<&str> {
        let source = self.sources.get(usize::from(self.source?))?;
        source.tells_change().then(|| source.name())
    }

    /// Whether the size in front is the one that the message had.
    fn has_size(&self, frame: &[u8]) -> bool {
        let size = frame.first_chunk().map(|size| u32::from_be_bytes(*size));
        size.is_none_or(|size| u64::from(size) + 4 == self.record.size)
    }

    /// Whether the head of the request is one that the plan is for.
    fn is_of_plan(&self, head: &RequestHead<'_>) -> bool {
        let Some(plan) = self.kind.reading.body else { return true };
        let is_fallback = plan.version == 0 && head.key == ApiKey::API_VERSIONS;
        let is_version = self.kind.assumed.is_some() || is_fallback || plan.version == head.version;
        plan.api_key == Some(head.key.0) && is_version
    }

    #[cold]
    fn changed(&self, pieces: &[Piece]) -> BookError {
        let place = pieces.first().map(|piece| piece.place).unwrap_or_default();
        BookError::Changed { name: name_of(&self.sources, place), offset: place.offset }
    }
}

/// The pieces that stand before the first byte that the capture lacks.
fn of_frame<'a>(pieces: &'a [Piece], record: &Record) -> &'a [Piece] {
    pieces_before(pieces, record.stream_offset.saturating_add(record.length))
}

fn head_of(frame: &[u8]) -> Option<RequestHead<'_>> {
    RequestHead::read(frame.get(4..).unwrap_or_default())
}

fn correlation_of(frame: &[u8]) -> Option<i32> {
    frame.get(4..).and_then(<[u8]>::first_chunk).map(|correlation| i32::from_be_bytes(*correlation))
}

/// Reads the first `wanted` bytes of what the pieces hold.
fn read(
    sources: &[Source],
    pieces: &[Piece],
    wanted: u64,
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> Result<(), BookError> {
    out.clear();
    let mut rest = pieces;
    while let Some((first, more)) = rest.split_first() {
        let left = wanted - out.len() as u64;
        if left == 0 {
            break;
        }
        // Pieces that lie behind each other, with the headers of their packets between them, are read at once.
        let mut end = first.place.after(first.end - first.start);
        let together = more.iter().take_while(|piece| {
            let distance = piece.place.offset.checked_sub(end.offset);
            let next_end = piece.place.after(piece.end - piece.start);
            let is_near = piece.place.source == end.source
                && distance.is_some_and(|distance| distance <= NEAR)
                && next_end.offset - first.place.offset <= AT_ONCE.min(left);
            if is_near {
                end = next_end;
            }
            is_near
        });
        let count = 1 + together.count();
        let (run, behind) = rest.split_at(count);
        rest = behind;
        if count == 1 {
            let start = out.len();
            out.resize(start + (first.end - first.start).min(left) as usize, 0);
            read_at(sources, first.place, out.get_mut(start..).unwrap_or_default())?;
            continue;
        }
        scratch.resize((end.offset - first.place.offset) as usize, 0);
        read_at(sources, first.place, scratch)?;
        for piece in run {
            let start = (piece.place.offset - first.place.offset) as usize;
            let length = (piece.end - piece.start) as usize;
            out.extend_from_slice(scratch.get(start..start + length).unwrap_or_default());
        }
    }
    Ok(())
}

fn read_at(sources: &[Source], place: Place, buffer: &mut [u8]) -> Result<(), BookError> {
    let read = match sources.get(usize::from(place.source)) {
        Some(source) => source.read_at(buffer, place.offset),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    read.map_err(|source| {
        let (name, offset) = (name_of(sources, place), place.offset);
        if source.kind() == io::ErrorKind::UnexpectedEof {
            BookError::Shorter { name, offset }
        } else {
            BookError::Io { name, offset, source }
        }
    })
}

fn name_of(sources: &[Source], place: Place) -> String {
    sources.get(usize::from(place.source)).map(|source| source.name().to_owned()).unwrap_or_default()
}

/// Reads comments again.
pub(super) fn comments(sources: &[Source], places: &[CommentsAt]) -> Result<Vec<String>, BookError> {
    let mut comments = Vec::new();
    for at in places {
        let mut options = vec![0; at.length as usize];
        read_at(sources, at.place, &mut options)?;
        comments.extend(at.comments(&options).map(std::borrow::Cow::into_owned));
    }
    Ok(comments)
}
