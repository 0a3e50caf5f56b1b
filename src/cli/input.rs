//! Captures from the command line to a sink, and what is said about them in the end.

use std::io::{self, Write};

use super::End;
use super::args::{Common, InputArgs};
use crate::capture::{Again, Captures, Damage, Time};
use crate::conversation::{Message, MessageSink, Options, Session};
use crate::foreign::{Foreign, recognise};
use crate::protocol::Catalog;
use crate::stream::Connection;

/// What a command does with each message.
pub(super) trait Printer<'p> {
    /// Learns the time of the first packet.
    fn start(&mut self, time: Time) {
        let _ = time;
    }

    /// Appends what is to be printed of a message; nothing, if it is not wanted.
    fn print(&mut self, out: &mut Vec<u8>, message: &Message<'_, 'p>);

    /// Appends what is to be printed of a packet's comment.
    fn comment(&mut self, out: &mut Vec<u8>, text: &str) {
        let _ = (out, text);
    }

    /// Whether no further message is wanted.
    fn is_done(&self) -> bool {
        false
    }
}

/// Reads all captures, prints their messages, and says on standard error what was odd.
pub(super) fn read<'p, P: Printer<'p>>(
    input: &InputArgs,
    common: &Common,
    catalog: &'p Catalog,
    printer: P,
) -> anyhow::Result<End> {
    let mut captures = Captures::open(input.read.iter().chain(&input.files), Again::No)?;
    let output = Output {
        printer,
        out: super::output(common)?,
        buffer: Vec::new(),
        left: input.count.unwrap_or(u64::MAX),
        failed: None,
        tls: 0,
        foreign: 0,
    };
    let options = Options { max_frame: input.max_frame, ports: input.port.clone() };
    let mut session = Session::new(catalog, options, output);
    let mut end = End::Done;
    let mut damaged = |damage: &Damage| {
        super::say(&damage.to_string());
        end = End::Damaged;
    };
    let first = loop {
        match captures.peek_time() {
            Ok(first) => break first,
            Err(damage) => damaged(&damage),
        }
    };
    if let Some(first) = first {
        session.sink().printer.start(first);
    }
    while session.sink().wants_more() {
        match captures.next() {
            Ok(Some(packet)) => session.packet(&packet),
            Ok(None) => break,
            Err(damage) => damaged(&damage),
        }
    }
    session.finish();
    session.sink().finish()?;
    if !common.quiet {
        summary(&mut session);
    }
    Ok(end)
}

/// Where messages go: through the printer to the output.
struct Output<P> {
    printer: P,
    out: Box<dyn Write>,
    buffer: Vec<u8>,
    left: u64,
    /// A write that failed: nothing is written after it.
    failed: Option<io::Error>,
    /// Connections in TLS.
    tls: u64,
    /// Connections that are something else than Kafka.
    foreign: u64,
}

impl<P> Output<P> {
    fn write(&mut self) {
        if !self.buffer.is_empty() && self.failed.is_none() {
            self.failed = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

impl<'p, P: Printer<'p>> Output<P> {
    fn wants_more(&self) -> bool {
        self.left > 0 && self.failed.is_none() && !self.printer.is_done()
    }
}

impl<'p, P: Printer<'p>> MessageSink<'p> for Output<P> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        if !self.wants_more() {
            return;
        }
        self.printer.print(&mut self.buffer, message);
        self.left -= u64::from(!self.buffer.is_empty());
        self.write();
    }

    fn comment(&mut self, _: u64, text: &str) {
        if self.wants_more() {
            self.printer.comment(&mut self.buffer, text);
            self.write();
        }
    }

    fn foreign(&mut self, _: &Connection, first: &[u8]) {
        match recognise(first) {
            Some(Foreign::Tls { .. }) => self.tls += 1,
            _ => self.foreign += 1,
        }
    }
}

fn summary<'p, P: Printer<'p>>(session: &mut Session<'p, Output<P>>) {
    let (packets, streams, counters) = (session.packets(), *session.streams(), session.counters());
    let (tls, foreign) = (session.sink().tls, session.sink().foreign);
    let nothing = u64::from(counters.messages == 0);
    let notes = [
        (nothing, "no Kafka messages found".to_owned()),
        (nothing * foreign, counted(foreign, "connection of something else", "connections of something else")),
        (tls, counted(tls, "connection in TLS without keys", "connections in TLS without keys")),
        (counters.cut, counted(counters.cut, "message cut", "messages cut")),
        (streams.gaps, counted(streams.gaps, "gap in a stream", "gaps in streams")),
        (counters.guessed, counted(counters.guessed, "message boundary guessed", "message boundaries guessed")),
        (
            counters.unmatched,
            counted(counters.unmatched, "response without its request", "responses without their request"),
        ),
        (counters.absurd_sizes, counted(counters.absurd_sizes, "absurd frame size", "absurd frame sizes")),
        (
            packets.fragments_left_out,
            counted(packets.fragments_left_out, "IP fragment left out", "IP fragments left out"),
        ),
        (packets.tunnels, counted(packets.tunnels, "packet in a tunnel not opened", "packets in tunnels not opened")),
        (packets.broken, counted(packets.broken, "packet with broken headers", "packets with broken headers")),
        (
            packets.unknown_link,
            counted(packets.unknown_link, "packet of an unknown link type", "packets of unknown link types"),
        ),
    ];
    let odd: Vec<String> = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    if !odd.is_empty() {
        super::say(&odd.join(", "));
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
