//! What the parts of a reassembler share while they handle one packet.

use crate::capture::Time;

use super::{Close, Connection, ConnectionId, Counters, Direction, Extent, Gap, GapCause, Limits, Origin, StreamSink};

/// The packet at hand, and where results go.
pub(super) struct Output<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) counters: &'a mut Counters,
    pub(super) limits: &'a Limits,
    /// Bytes held for all streams.
    pub(super) held_bytes: &'a mut usize,
    pub(super) packet: u64,
    pub(super) time: Time,
}

impl<S: StreamSink> Output<'_, S> {
    /// The same, for one stream.
    pub(super) fn stream<'o>(
        &'o mut self,
        teller: &'o mut Teller,
        direction: Direction,
        packets: u64,
    ) -> StreamOutput<'o, S> {
        StreamOutput {
            sink: self.sink,
            counters: self.counters,
            limits: self.limits,
            held_bytes: self.held_bytes,
            packet: self.packet,
            time: self.time,
            packets,
            teller,
            direction,
        }
    }
}

/// A connection, and how much of it the sink knows.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) connection: Connection,
    numbered: bool,
    opened: bool,
    /// Whether the sink wants to hear no more.
    refused: bool,
}

impl Teller {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, numbered: false, opened: false, refused: false }
    }

    pub(super) fn opened(&self) -> bool {
        self.opened
    }

    pub(super) fn numbered(&self) -> bool {
        self.numbered
    }

    /// Gives the connection its number.
    pub(super) fn number(&mut self, counters: &mut Counters) {
        if !self.numbered {
            self.numbered = true;
            counters.connections += 1;
            self.connection.id = ConnectionId(counters.connections);
        }
    }

    fn open<S: StreamSink>(&mut self, sink: &mut S, counters: &mut Counters) {
        if !self.opened {
            self.number(counters);
            self.opened = true;
            sink.open(&self.connection);
        }
    }

    pub(super) fn close<S: StreamSink>(&self, sink: &mut S, how: Close) {
        if self.opened && !self.refused {
            sink.close(&self.connection, how);
        }
    }
}

/// What one stream needs to tell what it has.
pub(super) struct StreamOutput<'a, S> {
    sink: &'a mut S,
    pub(super) counters: &'a mut Counters,
    pub(super) limits: &'a Limits,
    pub(super) held_bytes: &'a mut usize,
    pub(super) packet: u64,
    pub(super) time: Time,
    /// Packets of the connection so far.
    pub(super) packets: u64,
    teller: &'a mut Teller,
    direction: Direction,
}

impl<S: StreamSink> StreamOutput<'_, S> {
    pub(super) fn data(&mut self, bytes: &[u8], origin: Origin) {
        if bytes.is_empty() {
            return;
        }
        self.teller.open(self.sink, self.counters);
        self.counters.delivered_bytes += bytes.len() as u64;
        if !self.teller.refused {
            self.sink.data(&self.teller.connection, self.direction, bytes, origin);
            self.teller.refused = self.sink.refuses();
        }
    }

    pub(super) fn gap(&mut self, offset: u64, missing: u64, cause: GapCause) {
        if missing == 0 {
            return;
        }
        self.teller.open(self.sink, self.counters);
        self.counters.gaps += 1;
        match cause {
            GapCause::Cut => self.counters.cut_bytes += missing,
            GapCause::NotCaptured | GapCause::Limit | GapCause::Sealed => self.counters.missing_bytes += missing,
        }
        let gap = Gap { offset, missing, extent: Extent::Exact, cause, packet: self.packet, time: self.time };
        if !self.teller.refused {
            self.sink.gap(&self.teller.connection, self.direction, gap);
            self.teller.refused = self.sink.refuses();
        }
    }
}
