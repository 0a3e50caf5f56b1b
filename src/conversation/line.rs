//! One Kafka connection: two streams cut into frames, and what is said in them.

use super::framer::{CutFrame, Framer, Piece, State};
use super::judge::{Verdict, frame_size, judge};
use super::message::{Exchange, Message, Subject};
use super::talk::{Call, Held, Pending, Talk, correlation_of};
use super::tracker::{MessageSink, Shared};
use crate::capture::Time;
use crate::dissect::{
    Deaf, Fit, Known, Place, Reading, RequestHead, Span, Value, Visitor, dissect, fit_request, fit_response,
    is_convincing, responses_that_fit,
};
use crate::protocol::{ApiKey, Catalog, Plan, Side};
use crate::stream::{Connection, Direction, Extent, Gap, Origin};

/// A connection that is Kafka.
#[derive(Debug)]
pub(super) struct Line {
    connection: Connection,
    client: Direction,
    requests: Framer,
    responses: Framer,
    talk: Talk,
    /// Whether the first byte of each stream is the first that was sent.
    from_the_start: bool,
    /// When the first bytes of a request were captured.
    first_asked: Option<Time>,
    /// Whether it is counted as one that was let go of for want of room.
    pub(super) crowded: bool,
}

/// A frame that was cut out of a stream.
#[derive(Debug, Clone, Copy)]
struct Frame<'b> {
    /// What is there, up to the first hole.
    bytes: &'b [u8],
    /// The length of the whole.
    length: u64,
    /// How many of its bytes the capture lacks.
    gap: u64,
    stream_offset: u64,
    time: Time,
    guessed: bool,
}

/// Whether a frame begins in a place.
enum Proof {
    /// It does.
    Given,
    /// It does not, or there is nothing that says so.
    Lacking,
    /// It cannot be said before this many bytes are there.
    More(usize),
}

impl Frame<'_> {
    /// Bytes from the first hole to the end: those that the capture lacks, and those behind them.
    fn missing(&self) -> u32 {
        u32::try_from(self.length.saturating_sub(self.bytes.len() as u64)).unwrap_or(u32::MAX)
    }
}

/// Data pieces of its connection for which a response is held until its request comes: it may stand behind a hole that is
/// not given up yet (see [`stream`](crate::stream)).
const HOLD_PIECES: u32 = 320;
/// The same in nanoseconds of capture time.
const HOLD_TIME: i64 = 3 * Time::SECOND;
/// The same where nothing was seen of requests: the beginning of their stream may be open yet.
const OPEN_PIECES: u32 = 8;
const OPEN_TIME: i64 = 200 * Time::MILLISECOND;
/// Responses, and bytes of them, that are held for one connection.
const MAX_HELD: usize = 256;
const MAX_HELD_BYTES: usize = 4 << 20;
/// Bytes of a stream that are kept while its next frame is looked for.
const MAX_LOST: usize = 1 << 20;
/// Frames longer than this are not held against every plan that there is.
const MAX_GUESS: usize = 1 << 20;

impl Line {
    pub(super) fn new(connection: Connection, client: Direction, from_the_start: bool) -> Self {
        let mut line = Self {
            connection,
            client,
            requests: Framer::default(),
            responses: Framer::default(),
            talk: Talk::default(),
            from_the_start,
            first_asked: None,
            crowded: false,
        };
        if !from_the_start {
            line.requests.state = State::Lost;
            line.responses.state = State::Lost;
        }
        line
    }

    fn side(&self, direction: Direction) -> Side {
        if direction == self.client { Side::Request } else { Side::Response }
    }

    fn framer(&mut self, side: Side) -> &mut Framer {
        match side {
            Side::Request => &mut self.requests,
            Side::Response => &mut self.responses,
        }
    }

    /// Notes when the first bytes of a request were captured.
    pub(super) fn asked_at(&mut self, first: Option<Time>) {
        self.first_asked = first;
    }

    /// Notes that a request was found where the client's next bytes begin.
    pub(super) fn begin_request(&mut self) {
        (self.requests.state, self.requests.guessed) = (State::Framed, true);
    }

    pub(super) fn data<'p, S: MessageSink<'p>>(
        &mut self,
        shared: &mut Shared<'p, S>,
        direction: Direction,
        bytes: &[u8],
        origin: Origin,
    ) {
        let side = self.side(direction);
        if side == Side::Request {
            self.first_asked.get_or_insert(origin.time);
        }
        self.framer(side).push(Piece::new(origin, bytes.len()), &mut shared.spare.pieces);
        self.take(shared, side, bytes, origin.offset);
        if !self.talk.held.is_empty() {
            self.talk.held.iter_mut().for_each(|held| held.age += 1);
            self.release(shared, Some(origin.time));
        }
    }

    /// Cuts frames out of what is kept and the bytes that follow it; a frame that lies whole in the bytes is not copied.
    fn take<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, side: Side, bytes: &[u8], start: u64) {
        let framer = self.framer(side);
        if framer.buffer.is_empty() {
            let used = self.cut(shared, side, bytes, start);
            let framer = self.framer(side);
            let rest = bytes.get(used..).unwrap_or_default();
            if !rest.is_empty() {
                framer.buffer = shared.spare.buffers.take();
                framer.buffer.extend_from_slice(rest);
            }
            framer.start = start + used as u64;
            framer.forget_before(start + used as u64, &mut shared.spare.pieces);
            return;
        }
        framer.buffer.extend_from_slice(bytes);
        if framer.buffer.len() < framer.needed {
            return;
        }
        let mut buffer = std::mem::take(&mut framer.buffer);
        let start = framer.start;
        let used = self.cut(shared, side, &buffer, start);
        buffer.drain(..used);
        let framer = self.framer(side);
        if buffer.is_empty() {
            shared.spare.buffers.give(buffer);
        } else {
            framer.buffer = buffer;
        }
        framer.start = start + used as u64;
        framer.forget_before(start + used as u64, &mut shared.spare.pieces);
    }

    /// Tells the messages that lie whole in the bytes, and gives how many bytes are used up.
    fn cut<'p, S: MessageSink<'p>>(
        &mut self,
        shared: &mut Shared<'p, S>,
        side: Side,
        bytes: &[u8],
        start: u64,
    ) -> usize {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let least = if self.talk.tokens { 0 } else { 4 };
            let framer = self.framer(side);
            framer.needed = 0;
            if rest.is_empty() {
                return at;
            }
            match framer.state {
                State::Skipping(left) => {
                    let step = left.min(rest.len() as u64);
                    framer.state = if step == left { State::Framed } else { State::Skipping(left - step) };
                    at += step as usize;
                    if step == left {
                        self.cut_frame(shared, side);
                    }
                }
                State::Framed if framer.doubted => match self.is_proven(shared, side, rest) {
                    Proof::More(needed) => {
                        self.framer(side).needed = needed;
                        return at;
                    }
                    Proof::Given => {
                        let framer = self.framer(side);
                        (framer.doubted, framer.guessed) = (false, true);
                        shared.counters.guessed += 1;
                    }
                    Proof::Lacking => {
                        let framer = self.framer(side);
                        (framer.doubted, framer.state) = (false, State::Lost);
                    }
                },
                State::Framed => {
                    let Some(length) = frame_size(rest) else {
                        framer.needed = 4;
                        return at;
                    };
                    if !(least..=shared.options.max_frame).contains(&length) {
                        framer.state = State::Lost;
                        shared.counters.absurd_sizes += 1;
                        continue;
                    }
                    let Some(frame) = rest.get(..length as usize + 4) else {
                        framer.needed = length as usize + 4;
                        return at;
                    };
                    self.frame(shared, side, frame, start + at as u64, (frame.len() as u64, 0));
                    at += frame.len();
                }
                State::Lost => {
                    let found = match side {
                        Side::Request => find_request(shared, rest),
                        Side::Response => self.find_response(shared, rest, start + at as u64),
                    };
                    let framer = self.framer(side);
                    match found {
                        Ok(skip) => {
                            at += skip;
                            framer.state = State::Framed;
                            framer.guessed = true;
                            shared.counters.guessed += 1;
                        }
                        Err(skip) => {
                            // Looking is paid for by what has come since: what is kept is not looked through again for
                            // every segment.
                            let kept = rest.len().saturating_sub(skip);
                            framer.needed = kept + kept / 8;
                            return at + skip;
                        }
                    }
                }
            }
        }
    }

    /// Where the next response begins that is certain: one that is awaited and fits, or, at the start of a segment, one
    /// that fits any API.
    fn find_response<S>(&self, shared: &Shared<'_, S>, bytes: &[u8], start: u64) -> Result<usize, usize> {
        for at in 0..bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let is_piece_start = self.responses.is_piece_start(start + at as u64);
            if matches!(self.is_response(shared, rest, is_piece_start), Proof::Given) {
                return Ok(at);
            }
        }
        Err(bytes.len().saturating_sub(MAX_LOST))
    }

    /// Whether a response begins here: one that is awaited and fits, or, where nobody need have asked, one that fits
    /// any API: many a short one fits several.
    fn is_response<S>(&self, shared: &Shared<'_, S>, bytes: &[u8], may_be_unasked: bool) -> Proof {
        let Some(size) = frame_size(bytes) else { return Proof::More(4) };
        if !(4..=shared.options.max_frame).contains(&size) {
            return Proof::Lacking;
        }
        let length = size as usize + 4;
        let Some(correlation) = correlation_of(bytes) else { return Proof::More(8) };
        let asked = self.talk.asked(correlation);
        // Bytes that are no size may promise a lot: nothing is waited for that would prove nothing.
        if asked.is_none() && !(may_be_unasked && length <= MAX_GUESS) {
            return Proof::Lacking;
        }
        let Some(frame) = bytes.get(..length) else { return Proof::More(length) };
        let certain = if let Some((key, version)) = asked {
            let fit = fit_response(shared.catalog, key, version, frame, true, 0);
            let outcome = dissect(&fit.reading, frame, &mut Deaf);
            fit.reading.body.is_some() && is_convincing(key, outcome)
        } else {
            !responses_that_fit(shared.catalog, frame, true, 1).is_empty()
        };
        if certain { Proof::Given } else { Proof::Lacking }
    }

    /// Whether a frame begins here for certain: a request, or a response that is awaited.
    fn is_proven<S>(&self, shared: &Shared<'_, S>, side: Side, bytes: &[u8]) -> Proof {
        match side {
            Side::Request => match judge(shared.catalog, bytes, shared.options.max_frame, false) {
                Verdict::Yes => Proof::Given,
                Verdict::NeedMore(needed) => Proof::More(needed),
                Verdict::Maybe | Verdict::No => Proof::Lacking,
            },
            Side::Response => self.is_response(shared, bytes, false),
        }
    }

    pub(super) fn gap<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, direction: Direction, gap: Gap) {
        let side = self.side(direction);
        if side == Side::Request {
            self.talk.outside.forget();
        }
        self.look_once_more(shared, side);
        let framer = self.framer(side);
        let kept = std::mem::take(&mut framer.buffer);
        let start = framer.start;
        framer.start = gap.offset + gap.missing;
        framer.needed = 0;
        let is_known = gap.extent != Extent::Unknown;
        // Bytes of the frame that come behind those that are kept.
        let left = match framer.state {
            State::Skipping(left) => Some(left),
            State::Framed => {
                let length = frame_size(&kept).filter(|length| *length <= shared.options.max_frame);
                length.map(|length| {
                    let (length, there) = (u64::from(length) + 4, kept.len() as u64);
                    framer.cut = Some(Box::new(CutFrame { bytes: kept, start, length, missing: 0 }));
                    length - there
                })
            }
            State::Lost => None,
        };
        if let (Some(left), Some(cut)) = (left, &mut framer.cut) {
            // Where a hole of unknown extent ends, nobody knows; all of the frame that is behind it is lost.
            cut.missing += if is_known { left.min(gap.missing) } else { left };
        }
        framer.doubted |= gap.extent == Extent::AtMost;
        framer.state = match left.filter(|_| is_known).and_then(|left| left.checked_sub(gap.missing)) {
            Some(0) => State::Framed,
            Some(behind) => State::Skipping(behind),
            None => State::Lost,
        };
        framer.doubted &= framer.state != State::Lost;
        if !matches!(framer.state, State::Skipping(_)) {
            self.cut_frame(shared, side);
        }
        let framer = self.framer(side);
        let start = framer.start;
        framer.forget_before(start, &mut shared.spare.pieces);
    }

    /// Looks for a frame in what is kept, behind which nothing will come.
    fn look_once_more<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, side: Side) {
        let framer = self.framer(side);
        if framer.doubted && framer.state == State::Framed {
            (framer.doubted, framer.state) = (false, State::Lost);
        }
        if framer.state == State::Lost && !framer.buffer.is_empty() {
            framer.needed = 0;
            self.take(shared, side, &[], 0);
        }
    }

    /// Tells what is left when no more data comes.
    pub(super) fn close<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>) {
        for side in [Side::Request, Side::Response] {
            self.look_once_more(shared, side);
            let framer = self.framer(side);
            if let (State::Skipping(left), Some(cut)) = (framer.state, &mut framer.cut) {
                cut.missing += left;
                self.cut_frame(shared, side);
            }
            let framer = self.framer(side);
            let kept = std::mem::take(&mut framer.buffer);
            let (start, state) = (framer.start, framer.state);
            let length = frame_size(&kept).filter(|length| *length <= shared.options.max_frame);
            if let Some(length) = length.filter(|_| state == State::Framed && kept.len() >= 8) {
                let length = u64::from(length) + 4;
                self.frame(shared, side, &kept, start, (length, length.saturating_sub(kept.len() as u64)));
            }
        }
        self.release(shared, None);
    }

    /// Bytes that are kept of a side, by the room that they take: of frames that are not whole yet, and of responses that wait.
    pub(super) fn kept(&self, side: Side) -> usize {
        let (framer, held) = match side {
            Side::Request => (&self.requests, 0),
            Side::Response => (&self.responses, self.talk.held_bytes()),
        };
        let cut = framer.cut.as_ref().map_or(0, |cut| cut.bytes.capacity());
        framer.buffer.capacity() + cut + framer.pieces.capacity() * size_of::<Piece>() + held
    }

    /// Tells what is kept of a side as it is; of a frame that is not whole, the rest is skipped.
    pub(super) fn let_go<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, side: Side) {
        self.look_once_more(shared, side);
        let framer = self.framer(side);
        let kept = std::mem::take(&mut framer.buffer);
        let start = framer.start;
        let length = frame_size(&kept).map(|length| u64::from(length) + 4);
        match (framer.state, length, &mut framer.cut) {
            (State::Framed, Some(length), _) => {
                let there = kept.len() as u64;
                (framer.state, framer.start, framer.needed) = (State::Skipping(length - there), start + there, 0);
                self.frame(shared, side, &kept, start, (length, length - there));
            }
            (State::Skipping(left), _, Some(cut)) => {
                cut.missing += left;
                self.cut_frame(shared, side);
            }
            (State::Lost, ..) => (framer.start, framer.needed) = (start + kept.len() as u64, 0),
            // A few bytes of a size take no room that is worth what they say.
            _ => framer.buffer = kept,
        }
        let framer = self.framer(side);
        let start = framer.start;
        framer.forget_before(start, &mut shared.spare.pieces);
        if side == Side::Response {
            self.release(shared, None);
        }
    }

    /// The frame with a hole in it that was being skipped.
    fn cut_frame<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, side: Side) {
        if let Some(cut) = self.framer(side).cut.take() {
            self.frame(shared, side, &cut.bytes, cut.start, (cut.length, cut.missing));
        }
    }

    /// Tells a frame of which the first bytes are there; its whole length, and how many bytes of it the capture lacks.
    fn frame<'p, S: MessageSink<'p>>(
        &mut self,
        shared: &mut Shared<'p, S>,
        side: Side,
        bytes: &[u8],
        stream_offset: u64,
        (length, gap): (u64, u64),
    ) {
        let framer = self.framer(side);
        let guessed = std::mem::take(&mut framer.guessed);
        let time = framer.origins(stream_offset, stream_offset + length, &mut shared.origins);
        shared.counters.cut += u64::from(gap > 0);
        let frame = Frame { bytes, length, gap, stream_offset, time, guessed };
        match side {
            Side::Request => self.request(shared, frame),
            Side::Response => self.response(shared, frame),
        }
    }

    fn request<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, frame: Frame<'_>) {
        if self.talk.tokens {
            self.talk.tokens =
                judge(shared.catalog, frame.bytes, shared.options.max_frame, frame.gap > 0) != Verdict::Yes;
            if self.talk.tokens {
                let known = self.talk.outside.token();
                let index =
                    self.tell(shared, frame, &token(shared.catalog, Side::Request, frame.missing(), known), None);
                let pending = Pending { index, time: frame.time, call: Call::Token, client_id: None, known };
                self.talk.ask(pending, &mut shared.spare.pending);
                return;
            }
        }
        let Some(head) = RequestHead::read(frame.bytes.get(4..).unwrap_or_default()) else {
            // The head itself is cut or broken: its plan says where.
            let header = shared.catalog.header(Side::Request, 1);
            let missing = frame.missing();
            let known = Known::default();
            let reading = Reading { side: Side::Request, header, body: None, sized: true, missing, known };
            let subject = Subject::Api { key: None, version: None, correlation: None };
            self.tell(shared, frame, &Told { subject, fit: Fit { reading, assumed: None }, client_id: None }, None);
            return;
        };
        let mut fit = fit_request(shared.catalog, head.key, head.version, frame.bytes, true, frame.missing());
        let known = self.talk.outside.request(shared.next_index(), head.key, &fit.reading, frame.bytes);
        fit.reading.known = known;
        let subject =
            Subject::Api { key: Some(head.key), version: Some(head.version), correlation: Some(head.correlation) };
        let index = self.tell(shared, frame, &Told { subject, fit, client_id: head.client_id }, None);
        if head.key == ApiKey::PRODUCE && is_unacknowledged(&fit.reading, frame.bytes) {
            return;
        }
        self.talk.tokens = head.key == ApiKey::SASL_HANDSHAKE && head.version == 0;
        let client_id = self.talk.share_client_id(head.client_id);
        let call = Call::Api { key: head.key, version: head.version, correlation: head.correlation };
        self.talk.ask(Pending { index, time: frame.time, call, client_id, known }, &mut shared.spare.pending);
        if !self.talk.held.is_empty() {
            self.release(shared, Some(frame.time));
        }
    }

    fn response<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, frame: Frame<'_>) {
        if self.talk.held.is_empty()
            && let Some(pending) = self.talk.answer_to(frame.bytes, &mut shared.spare.pending)
        {
            self.answer(shared, frame, &pending);
            return;
        }
        if !self.may_be_asked(frame.time) {
            self.unasked(shared, frame);
            return;
        }
        self.talk.held.push_back(Held {
            frame: frame.bytes.to_vec(),
            origins: shared.origins.clone(),
            time: frame.time,
            stream_offset: frame.stream_offset,
            guessed: frame.guessed,
            length: frame.length,
            gap: frame.gap,
            age: 0,
        });
        if self.talk.held.len() > MAX_HELD || self.talk.held_bytes() > MAX_HELD_BYTES {
            self.release(shared, None);
        }
    }

    /// Whether the request of a response may still come. Without the beginning of the connection it was most likely sent
    /// before the capture began: it can only come as long as the streams are told at different paces (see
    /// [`stream`](crate::stream)), so it is older than the response and younger than the first that was captured.
    fn may_be_asked(&self, answered: Time) -> bool {
        self.from_the_start || self.first_asked.is_none_or(|first| first < answered)
    }

    /// Tells the responses that were held and whose request has come, or whose time is up; with no time, all.
    fn release<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, now: Option<Time>) {
        while let Some(held) = self.talk.held.pop_front() {
            let pending = self.talk.answer_to(&held.frame, &mut shared.spare.pending);
            let is_younger = self.talk.is_younger(&held.frame, self.first_asked.is_some());
            let (pieces, limit) = match self.first_asked {
                _ if self.from_the_start || is_younger => (HOLD_PIECES, HOLD_TIME),
                None => (OPEN_PIECES, OPEN_TIME),
                Some(_) => (HOLD_PIECES, 0),
            };
            let expired = now.is_none_or(|now| held.age > pieces || now.since(held.time) > limit);
            if pending.is_none() && !expired {
                self.talk.held.push_front(held);
                return;
            }
            shared.origins.clone_from(&held.origins);
            let frame = Frame {
                bytes: &held.frame,
                length: held.length,
                gap: held.gap,
                stream_offset: held.stream_offset,
                time: held.time,
                guessed: held.guessed,
            };
            match pending {
                Some(pending) => self.answer(shared, frame, &pending),
                None => self.unasked(shared, frame),
            }
        }
    }

    /// A response whose request is known.
    fn answer<'p, S: MessageSink<'p>>(&mut self, shared: &mut Shared<'p, S>, frame: Frame<'_>, pending: &Pending) {
        let Call::Api { key, version, correlation } = pending.call else {
            let told = token(shared.catalog, Side::Response, frame.missing(), pending.known);
            self.tell(shared, frame, &told, Some(pending));
            return;
        };
        let mut fit = fit_response(shared.catalog, key, version, frame.bytes, true, frame.missing());
        fit.reading.known = pending.known;
        self.talk.outside.response(pending.index, key, &fit.reading, frame.bytes);
        // The fallback of ApiVersions is of version 0, whatever was asked.
        let version = fit.reading.body.filter(|_| fit.assumed.is_none()).map_or(version, |plan| plan.version);
        let subject = Subject::Api { key: Some(key), version: Some(version), correlation: Some(correlation) };
        self.tell(shared, frame, &Told { subject, fit, client_id: pending.client_id.as_deref() }, Some(pending));
    }

    /// A response whose request was not seen: read with the one API whose plan takes it whole, else not at all.
    fn unasked<'p, S: MessageSink<'p>>(&self, shared: &mut Shared<'p, S>, frame: Frame<'_>) {
        shared.counters.unmatched += 1;
        if self.talk.tokens {
            let told = token(shared.catalog, Side::Response, frame.missing(), self.talk.outside.token());
            self.tell(shared, frame, &told, None);
            return;
        }
        let may_guess = frame.gap == 0 && frame.bytes.len() <= MAX_GUESS;
        let fits = if may_guess { responses_that_fit(shared.catalog, frame.bytes, true, 2) } else { Vec::new() };
        let newest = fits.last().copied();
        let alike = |newest: &&Plan| fits.iter().all(|plan| plan.api_key == newest.api_key && plan.reads_like(newest));
        let plan = newest.filter(alike);
        let key = plan.and_then(|plan| plan.api_key).map(ApiKey);
        let header = plan.and_then(|plan| shared.catalog.header_for(plan, Side::Response));
        let header = header.or_else(|| shared.catalog.header(Side::Response, 0));
        let missing = frame.missing();
        let known = Known::default();
        let reading = Reading { side: Side::Response, header, body: plan, sized: true, missing, known };
        let version = plan.map(|plan| plan.version);
        let subject = Subject::Api { key, version, correlation: correlation_of(frame.bytes) };
        let frame = Frame { guessed: frame.guessed || plan.is_some(), ..frame };
        self.tell(shared, frame, &Told { subject, fit: Fit { reading, assumed: None }, client_id: None }, None);
    }

    /// Tells the sink and gives the message's number.
    fn tell<'p, S: MessageSink<'p>>(
        &self,
        shared: &mut Shared<'p, S>,
        frame: Frame<'_>,
        told: &Told<'_, 'p>,
        pending: Option<&Pending>,
    ) -> u64 {
        shared.counters.messages += 1;
        // What was only guessed, or is not whole, teaches nothing.
        let is_told_what = told.fit.reading.side == Side::Request || pending.is_some();
        if is_told_what && frame.gap == 0 {
            shared.teaching.learn(&mut shared.topics, shared.catalog, &told.fit.reading, frame.bytes);
        }
        let request =
            pending.map(|pending| Exchange { request: pending.index, latency: frame.time.since(pending.time) });
        shared.counters.early += u64::from(request.is_some_and(|request| request.latency < 0));
        let message = Message {
            index: shared.counters.messages,
            time: frame.time,
            connection: self.connection.id,
            client: self.connection.sender(self.client),
            broker: self.connection.sender(self.client.opposite()),
            subject: told.subject,
            client_id: told.client_id,
            frame: frame.bytes,
            reading: told.fit.reading,
            assumed: told.fit.assumed,
            guessed: frame.guessed,
            gap: frame.gap,
            packets: &shared.origins.packets,
            pieces: &shared.origins.pieces,
            tls: self.connection.tls,
            stream_offset: frame.stream_offset,
            request,
            topics: &shared.topics,
            names: &shared.names,
        };
        shared.sink.message(&message);
        message.index
    }
}

/// What is told of a frame beside its bytes.
struct Told<'a, 'p> {
    subject: Subject,
    fit: Fit<'p>,
    client_id: Option<&'a [u8]>,
}

fn token(catalog: &Catalog, side: Side, missing: u32, known: Known) -> Told<'static, '_> {
    let body = catalog.plan("SaslToken", 0);
    let reading = Reading { side, header: None, body, sized: true, missing, known };
    Told { subject: Subject::SaslToken, fit: Fit { reading, assumed: None }, client_id: None }
}

/// Whether a Produce request asks for no answer: its `acks` are 0.
fn is_unacknowledged(reading: &Reading<'_>, frame: &[u8]) -> bool {
    #[derive(Default)]
    struct Acks(Option<i64>);
    impl<'p> Visitor<'p> for Acks {
        fn value(&mut self, place: Place<'p>, value: Value<'_>, _: Span) {
            if let (Place::Field(field), Value::Int(acks)) = (place, value)
                && &*field.name == "Acks"
            {
                self.0 = Some(acks);
            }
        }
    }
    let mut acks = Acks::default();
    dissect(reading, frame, &mut acks);
    acks.0 == Some(0)
}

/// Where the next request begins that is certain; else how many bytes are of no use.
fn find_request<S>(shared: &Shared<'_, S>, bytes: &[u8]) -> Result<usize, usize> {
    let mut waiting = None;
    for at in 0..bytes.len() {
        match judge(shared.catalog, bytes.get(at..).unwrap_or_default(), shared.options.max_frame, false) {
            Verdict::Yes => return Ok(at),
            Verdict::NeedMore(_) => waiting = waiting.or(Some(at)),
            Verdict::Maybe | Verdict::No => {}
        }
    }
    Err(waiting.unwrap_or(bytes.len()).max(bytes.len().saturating_sub(MAX_LOST)))
}
