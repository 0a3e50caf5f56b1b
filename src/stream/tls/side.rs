//! One direction of a connection in TLS: its records, and how far they are opened.

use std::collections::VecDeque;

use super::cipher::{HEADER, Opened, Opener};
use super::handshake::Messages;
use super::keylog::Secret;
use crate::capture::{InterfaceId, Time};
use crate::stream::{Gap, GapCause, Origin};

/// Which of the secrets protects records. TLS 1.2 has but one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Early,
    Handshake,
    /// How often the keys were updated.
    Application(u32),
}

/// What opens records now.
pub(super) struct Keys {
    pub(super) stage: Stage,
    pub(super) secret: Secret,
    pub(super) opener: Opener,
    /// The sequence number of the next record.
    pub(super) sequence: u64,
    /// The number that the last record said that it has, with its sequence number.
    pub(super) said: Option<(u64, u64)>,
}

impl Keys {
    pub(super) fn new(stage: Stage, secret: Secret, opener: Opener) -> Self {
        Self { stage, secret, opener, sequence: 0, said: None }
    }

    /// Whether they opened nothing yet and come without those of the handshake (1.3): nobody knows how many records are the
    /// handshake's.
    fn lack_handshake(&self) -> bool {
        self.stage == Stage::Application(0) && self.sequence == 0 && !self.secret.is_empty()
    }
}

/// A record that is to be opened, and where it may stand among those of its keys.
pub(super) struct Sealed<'b> {
    pub(super) header: [u8; HEADER],
    pub(super) body: &'b mut [u8],
    /// Records before it that were not opened: those whose headers were seen, and how many more there may be at most.
    pub(super) known: u64,
    pub(super) window: u64,
}

/// What waits until it can be read.
#[derive(Debug)]
pub(super) enum Item {
    Data(Origin, Vec<u8>),
    Gap(Gap),
}

impl Item {
    /// Bytes that it takes to keep it.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Data(_, bytes) => bytes.len(),
                Self::Gap(_) => 0,
            }
    }
}

/// A stretch of a stream whose records were not opened, and where the next one that can be is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// Where it begins: the header of the first record that was not opened.
    pub(super) from: u64,
    /// Records in it whose headers were seen, as far as they have sequence numbers, and the bytes of all whose headers were.
    pub(super) known: u64,
    pub(super) known_bytes: u64,
    /// Of these, records that hold no data for certain, as far as they have sequence numbers, and the bytes of all that do.
    pub(super) idle: u64,
    pub(super) idle_bytes: u64,
    /// Where to look, and whether a record begins there for certain.
    pub(super) next: u64,
    pub(super) sure: bool,
    /// Records that did not open although nothing was lost before them.
    pub(super) failures: u32,
    pub(super) cause: GapCause,
}

/// A packet, its time, and its interface.
pub(super) type Brought = (u64, Time, InterfaceId);

impl Loss {
    /// One that begins with bytes that are missing, or with a record that does not open.
    pub(super) fn new(from: u64, cause: GapCause) -> Self {
        Self { from, known: 0, known_bytes: 0, idle: 0, idle_bytes: 0, next: from, sure: true, failures: 0, cause }
    }

    /// Notes that a record of so many bytes is part of it.
    pub(super) fn pass(&mut self, kind: Passed, bytes: u64) {
        self.known_bytes += bytes;
        self.known += u64::from(kind != Passed::Plain);
        if kind != Passed::Data {
            self.idle += u64::from(kind != Passed::Plain);
            self.idle_bytes += bytes;
        }
    }
}

/// What a record is that was not opened, by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// It is protected and may hold data.
    Data,
    /// It is protected and holds none (1.2).
    Idle,
    /// It is not protected, so it has no number and holds no data.
    Plain,
}

/// Records of one direction.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Default)]
pub(super) struct Side {
    /// What came while nothing could be read, with its number in the order of arrival.
    pub(super) queue: VecDeque<(u64, Item)>,
    /// Whether something is lacking that the other side or a key log must say.
    pub(super) blocked: bool,
    /// Whether what is in the buffer is to be looked at again.
    pub(super) retry: bool,
    /// Whether secrets are left that were not tried on it, and which of the connections in the key log is next.
    pub(super) has_untried: bool,
    pub(super) next_tried: usize,
    /// The number of what was taken last.
    pub(super) order: u64,
    /// Bytes from the header of a record on.
    pub(super) buffer: Vec<u8>,
    /// Their place in the stream.
    pub(super) start: u64,
    /// Where what each packet brought ends.
    pub(super) marks: VecDeque<(u64, Brought)>,
    pub(super) messages: Messages,
    /// Whether a `ChangeCipherSpec` was sent (1.2).
    pub(super) sealed: bool,
    pub(super) keys: Option<Keys>,
    /// What opens records behind the next change of keys.
    pub(super) next: Option<Keys>,
    /// Whether the next record has the next keys.
    pub(super) expects_next: bool,
    /// How often the keys were changed for others.
    pub(super) turn: u32,
    pub(super) loss: Option<Loss>,
    /// The number of the next record, from 1.
    pub(super) record: u32,
    /// The place of the next byte in the stream of plaintext.
    pub(super) offset: u64,
    /// Whether application data was told.
    pub(super) said: bool,
    /// Whether records were longer than they need be.
    pub(super) padded: bool,
    /// Records that were passed over because no key is for them: early data.
    pub(super) passed: u32,
    /// Bytes that were looked at for nothing since a record was opened.
    pub(super) work: u64,
    /// How many of them there may be.
    pub(super) most_work: u64,
    /// Whether it is given up.
    pub(super) dead: bool,
}

impl Side {
    /// Whether records that do not open may be of a handshake without keys.
    pub(super) fn lacks_handshake_keys(&self) -> bool {
        self.keys.as_ref().is_some_and(Keys::lack_handshake)
    }

    pub(super) fn append(&mut self, origin: Origin, bytes: &[u8]) {
        if self.buffer.is_empty() && self.marks.is_empty() {
            self.start = origin.offset;
        }
        self.buffer.extend_from_slice(bytes);
        let Origin { packet, time, place, .. } = origin;
        self.marks.push_back((origin.offset + bytes.len() as u64, (packet, time, place.interface)));
    }

    /// The packet that brought the byte before a place in the stream.
    pub(super) fn brought(&self, end: u64) -> Brought {
        let mark = self.marks.iter().find(|(mark, ..)| *mark >= end).or(self.marks.back());
        mark.map(|(_, brought)| *brought).unwrap_or_default()
    }

    /// Forgets bytes that are done with.
    pub(super) fn forget(&mut self, buffer: Vec<u8>, done: usize) {
        self.buffer = buffer;
        self.buffer.drain(..done);
        while self.marks.front().is_some_and(|(end, ..)| *end <= self.start) {
            self.marks.pop_front();
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 1 << 16 {
            self.buffer = Vec::new();
        }
    }

    /// Notes that bytes are missing behind those that are there.
    pub(super) fn lose(&mut self, gap: Gap, kind: impl Fn(u8, bool) -> Passed) {
        let end = gap.offset + gap.missing;
        if self.buffer.is_empty() && self.marks.is_empty() && self.loss.is_none() {
            self.start = gap.offset;
        }
        let mut loss = self.loss.unwrap_or(Loss::new(self.start, gap.cause));
        let header = self.buffer.first_chunk().filter(|_| loss.sure && loss.next <= self.start);
        let torn = header.and_then(|header| Some((header, self.start + HEADER as u64 + body_length(*header)? as u64)));
        match torn {
            // The end of the record is known, and so is where the next one begins.
            Some((header, record_end)) if end <= record_end => {
                loss.pass(kind(header[0], self.sealed), record_end - self.start);
                loss.next = record_end;
            }
            _ if loss.sure && loss.next >= end => {}
            _ => (loss.next, loss.sure) = (end, false),
        }
        self.loss = Some(loss);
        self.buffer.clear();
        self.marks.clear();
        self.marks.push_back((end, (gap.packet, gap.time, InterfaceId::NONE)));
        self.start = end;
        self.messages.clear();
    }

    /// Opens a record. Tells which one it is: how many records of the same keys were left out, or, when the keys are new ones,
    /// how many of these.
    pub(super) fn open(&mut self, record: &mut Sealed<'_>) -> Option<(Opened, Left)> {
        let Sealed { header, body, known, window } = record;
        let (header, known, window) = (*header, *known, *window);
        let orders = if self.expects_next { [true, false] } else { [false, true] };
        for is_next in orders {
            let Some(keys) = (if is_next { &mut self.next } else { &mut self.keys }) else { continue };
            let may_be_first = is_next || keys.lack_handshake();
            let first = if may_be_first { 0 } else { keys.sequence + known };
            let last = if may_be_first { known + window } else { first + window };
            let hint = keys.opener.hint(body);
            let by_hint = keys.said.zip(hint).map(|((said, of), says)| of.wrapping_add(says.wrapping_sub(said)));
            let by_hint = by_hint.filter(|hint| (first..=last).contains(hint));
            for sequence in by_hint.into_iter().chain(first..=last) {
                if let Some(opened) = keys.opener.open(sequence, header, body) {
                    let left = if is_next { Left::Before(sequence) } else { Left::Same(sequence - keys.sequence) };
                    keys.sequence = sequence + 1;
                    keys.said = hint.map(|hint| (hint, sequence));
                    if is_next {
                        self.keys = self.next.take();
                        self.turn += 1;
                        self.messages.clear();
                    }
                    self.expects_next = false;
                    self.work = 0;
                    self.padded |= opened.padded;
                    return Some((opened, left));
                }
                self.work += body.len().max(LEAST_WORK) as u64;
                if self.work > self.most_work {
                    return None;
                }
            }
        }
        None
    }
}

/// What a try costs beside the bytes.
pub(super) const LEAST_WORK: usize = 128;

/// Records that were left out before one that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// So many of the same keys.
    Same(u64),
    /// So many of the new keys, and nobody knows how many of the old ones.
    Before(u64),
}

/// The length of a record's body; None for what is no header. TLS 1.2 allows 2^14 + 2048 bytes (RFC 5246, section 6.2.3).
pub(super) fn body_length([content, major, minor, high, low]: [u8; HEADER]) -> Option<usize> {
    let length = usize::from(u16::from_be_bytes([high, low]));
    ((20..=24).contains(&content) && major == 3 && minor <= 4 && length <= (1 << 14) + 2048).then_some(length)
}
