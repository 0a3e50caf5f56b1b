//! Packets in, messages out: the whole way from a capture to a sink.

use super::tracker::{Conversations, Counters, MessageSink, Options};
use crate::capture::{Names, Packet, PacketCounters, Segments, Spool};
use crate::dissect::TopicNames;
use crate::protocol::Catalog;
use crate::stream::{self, Decrypting, KeyLog, Limits, Reassembler, TlsCounters};

/// Takes packets and tells a sink the messages in them.
pub struct Session<'p, S> {
    packets: PacketCounters,
    segments: Segments,
    reassembler: Reassembler,
    conversations: Decrypting<Conversations<'p, S>>,
}

impl<'p, S: MessageSink<'p>> Session<'p, S> {
    /// No packets yet.
    pub fn new(catalog: &'p Catalog, options: Options, sink: S) -> Self {
        let mut segments = Segments::new();
        if options.check_checksums {
            segments.check_checksums();
        }
        Self {
            packets: PacketCounters::default(),
            segments,
            reassembler: Reassembler::new(Limits::default()),
            conversations: Decrypting::new(Conversations::new(catalog, options, sink)),
        }
    }

    /// Keeps datagrams that are put together of IP fragments, see [`Segments::keep`].
    pub fn keep_datagrams(&mut self, spool: Spool, source: u16) {
        self.segments.keep(spool, source);
    }

    /// Keeps what was inside of TLS, see [`Decrypting::keep`].
    pub fn keep_plaintext(&mut self, spool: Spool, source: u16) {
        self.conversations.keep(spool, source);
    }

    /// Opens connections in TLS whose secrets are in the log, or come to be.
    pub fn use_keys(&mut self, keys: KeyLog) {
        self.conversations.use_keys(keys);
    }

    /// Lets connections in TLS wait for secrets that may come with packets.
    pub fn expect_keys(&mut self) {
        self.conversations.expect_keys();
    }

    /// Takes lines of a key log that came with no packet.
    pub fn learn(&mut self, secrets: &[u8]) {
        self.conversations.learn(secrets);
    }

    /// Has messages say what captures call hosts and interfaces.
    pub fn use_names(&mut self, names: Names) {
        self.conversations.sink_mut().use_names(names);
    }

    /// Takes the next packet.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        for comment in packet.comments.clone() {
            self.sink().comment(packet.number, &comment);
        }
        if !packet.secrets.is_empty() {
            self.conversations.learn(packet.secrets);
        }
        let outcome = self.segments.segment(packet);
        self.packets.count(&outcome);
        if let Ok(segment) = outcome {
            self.reassembler.push(&segment, &mut self.conversations);
        }
    }

    /// Tells what is left when there are no more packets.
    pub fn finish(&mut self) {
        self.segments.finish();
        self.reassembler.finish(&mut self.conversations);
        self.conversations.finish();
    }

    /// Who is told.
    pub fn sink(&mut self) -> &mut S {
        self.conversations.sink_mut().sink()
    }

    /// Which topic has which id, as far as is known.
    pub fn topics(&self) -> &TopicNames {
        self.conversations.sink().topics()
    }

    /// What became of the packets.
    pub fn packets(&self) -> PacketCounters {
        PacketCounters { fragments_left_out: self.segments.left_out(), ..self.packets }
    }

    /// What was odd about the streams.
    pub fn streams(&self) -> &stream::Counters {
        self.reassembler.counters()
    }

    /// What became of connections in TLS.
    pub fn tls(&self) -> TlsCounters {
        self.conversations.counters()
    }

    /// What was odd about the messages.
    pub fn counters(&self) -> Counters {
        self.conversations.sink().counters()
    }
}
