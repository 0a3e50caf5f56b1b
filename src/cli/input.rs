//! Captures from the command line to a sink, and what is said about them in the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use super::End;
use super::args::{Common, InputArgs, MessageArgs};
use crate::capture::{Again, Captures, Damage, Time};
use crate::conversation::{Message, MessageSink, Session};
use crate::dissect::Tally;
use crate::foreign::{Foreign, recognise};
use crate::protocol::Catalog;
use crate::stream::{Connection, KeyLog, Tls, TlsCounters, TlsVersion};

/// What a command does with each message.
pub(super) trait Printer<'p> {
    /// Learns the time of the first packet.
    fn start(&mut self, time: Time) {
        let _ = time;
    }

    /// Appends what is to be printed of a message; nothing, if it is not wanted. What is to be counted of its
    /// faults.
    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally;

    /// Appends what is to be printed of a packet's comment.
    fn comment(&mut self, out: &mut Out, text: &str) {
        let _ = (out, text);
    }

    /// Whether no further message is wanted.
    fn is_done(&self) -> bool {
        false
    }

    /// Looks back when all messages were printed.
    fn finish(&self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What printers append to.
pub(super) struct Out {
    /// What is written when the message is printed.
    pub(super) buffer: Vec<u8>,
    /// Where it goes then; what is large may go there sooner.
    pub(super) results: Results,
}

/// Bytes that need not wait for what comes behind them.
pub(super) const LARGE: usize = 1 << 16;

/// Where results go: standard output or a file.
pub(super) struct Results {
    to: Box<dyn Write>,
    /// A write that failed: nothing is written after it.
    failed: Option<io::Error>,
    /// Bytes written.
    written: u64,
}

impl Results {
    /// Writes, unless writing has failed before.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() && self.failed.is_none() {
            self.failed = self.to.write_all(bytes).err();
            self.written += bytes.len() as u64;
        }
    }

    /// Has all that was written seen.
    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.to.flush().err();
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush(),
        }
    }
}

/// Reads all captures, prints their messages, and says on standard error what was odd.
pub(super) fn read<'p, P: Printer<'p>>(
    input: &InputArgs,
    common: &Common,
    catalog: &'p Catalog,
    printer: P,
) -> anyhow::Result<End> {
    let stop = if input.follow { super::end_on_signals()? } else { Arc::default() };
    let captures = input.open(Again::No, stop)?;
    let to = super::output(common, input.read.iter().chain(&input.files).map(PathBuf::as_path))?;
    print(captures, to, &input.messages, common, catalog, printer)
}

/// Prints the messages of captures to an output, and says on standard error what was odd.
pub(super) fn print<'p, P: Printer<'p>>(
    mut captures: Captures,
    to: Box<dyn Write>,
    messages: &MessageArgs,
    common: &Common,
    catalog: &'p Catalog,
    printer: P,
) -> anyhow::Result<End> {
    let is_live = captures.length().is_none();
    let output = Output {
        printer,
        out: Out { buffer: Vec::new(), results: Results { to, failed: None, written: 0 } },
        left: messages.count.unwrap_or(u64::MAX),
        faulty: 0,
        cut: 0,
        foreign: Vec::new(),
    };
    let keys = keys(messages)?;
    let options = messages.options();
    let mut session = Session::new(catalog, options, output);
    messages.name(&captures);
    session.use_names(captures.names().clone());
    let has_keys = keys.has_sources();
    session.use_keys(keys);
    if captures.may_have_secrets() {
        session.expect_keys();
    }
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
        if is_live && !captures.is_ready() {
            // Before it waits, all that there is can be seen.
            session.sink().out.results.flush();
        }
        match captures.next() {
            Ok(Some(packet)) => session.packet(&packet),
            Ok(None) => break,
            Err(damage) => damaged(&damage),
        }
    }
    for secrets in captures.last_secrets() {
        session.learn(secrets);
    }
    session.finish();
    session.sink().out.results.finish()?;
    if !common.quiet {
        summary(&mut session, captures.drops(), has_keys);
    }
    let output = session.sink();
    if output.left > 0 {
        output.printer.finish()?;
    }
    Ok(end)
}

/// Where messages go: through the printer to the output.
struct Output<P> {
    printer: P,
    out: Out,
    left: u64,
    /// Messages with faults.
    faulty: u64,
    /// Messages of which not all was printed because it is too much.
    cut: u64,
    /// What connections are that are not Kafka, and how many of each.
    foreign: Vec<(&'static str, u64)>,
}

impl<P> Output<P> {
    fn write(&mut self) {
        self.out.results.write(&self.out.buffer);
        self.out.buffer.clear();
    }
}

impl<'p, P: Printer<'p>> Output<P> {
    fn wants_more(&self) -> bool {
        self.left > 0 && self.out.results.failed.is_none() && !self.printer.is_done()
    }
}

impl<'p, P: Printer<'p>> MessageSink<'p> for Output<P> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        if !self.wants_more() {
            return;
        }
        let before = self.out.results.written;
        let tally = self.printer.print(&mut self.out, message);
        self.faulty += u64::from(tally.faulty);
        self.cut += u64::from(tally.cut);
        self.write();
        self.left -= u64::from(self.out.results.written > before);
    }

    fn comment(&mut self, _: u64, text: &str) {
        if self.wants_more() {
            self.printer.comment(&mut self.out, text);
            self.write();
        }
    }

    fn foreign(&mut self, _: &Connection, first: &[u8]) {
        let protocol = recognise(first).and_then(Foreign::protocol).unwrap_or(SOMETHING_ELSE);
        match self.foreign.iter_mut().find(|(known, _)| *known == protocol) {
            Some((_, count)) => *count += 1,
            None => self.foreign.push((protocol, 1)),
        }
    }
}

/// What a connection is called that nobody recognises.
const SOMETHING_ELSE: &str = "something else";

/// Secrets from the files that were named. The one in the environment need not be there: other programs may be yet to
/// write it.
pub(super) fn keys(messages: &MessageArgs) -> anyhow::Result<KeyLog> {
    let mut keys = KeyLog::new();
    for path in &messages.keylog {
        keys.add_file(path).with_context(|| format!("cannot read the key log {}", path.display()))?;
    }
    if let Some(path) = std::env::var_os("SSLKEYLOGFILE").filter(|path| !path.is_empty()) {
        keys.follow(Path::new(&path));
    }
    Ok(keys)
}

/// What became of connections in TLS that could not be read.
fn tls_notes(tls: &TlsCounters, has_keys: bool) -> Vec<String> {
    let connections = |count| counted(count, "connection in TLS", "connections in TLS");
    let hint = match (has_keys, tls.without_keys) {
        (true, _) => " whose keys are not in the key log",
        (false, 1) => ": give --keylog to read it",
        (false, _) => ": give --keylog to read them",
    };
    let unauthentic = "records that do not authenticate (wrong key log?)";
    let notes = [
        (tls.without_keys, format!("{}{hint}", connections(tls.without_keys))),
        (tls.begun_before, format!("{}, begun before the capture", connections(tls.begun_before))),
        (tls.torn, format!("{} with a hole in the handshake", connections(tls.torn))),
        (tls.unfinished, format!("{} with a handshake that does not end", connections(tls.unfinished))),
        (tls.broken_off, format!("{} not read to the end, as secrets are lacking", connections(tls.broken_off))),
        (tls.unauthentic, format!("{} with {unauthentic}", connections(tls.unauthentic))),
        (tls.forgotten, format!("secrets of {} let go for want of room", connections(tls.forgotten))),
        (tls.wrong_lines, counted(tls.wrong_lines, "wrong line in key logs", "wrong lines in key logs")),
    ];
    let unsupported = tls.unsupported.iter().map(|(Tls { version, suite }, count)| {
        let is_old = !matches!(*version, TlsVersion::TLS_1_2 | TlsVersion::TLS_1_3);
        let old = if is_old { format!("{version} and ") } else { String::new() };
        format!("{} with {old}{suite}, which is not supported", connections(*count))
    });
    let said = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note);
    said.chain(unsupported).collect()
}

/// What connections are that are not Kafka: `2 connections of HTTP, 1 of SSH`.
fn foreign_notes(foreign: &[(&'static str, u64)], is_all: bool) -> Vec<String> {
    let wanted = foreign.iter().filter(|(protocol, _)| is_all || *protocol != SOMETHING_ELSE);
    let note = |(number, (protocol, count)): (usize, &(&str, u64))| match number {
        0 => format!("{} of {protocol}", counted(*count, "connection", "connections")),
        _ => format!("{count} of {protocol}"),
    };
    wanted.enumerate().map(note).collect()
}

fn summary<'p, P: Printer<'p>>(session: &mut Session<'p, Output<P>>, drops: u64, has_keys: bool) {
    let (packets, streams, counters) = (session.packets(), *session.streams(), session.counters());
    let tls = session.tls();
    let Output { faulty, cut, foreign, .. } = session.sink();
    let (faulty, cut) = (*faulty, *cut);
    let nothing = u64::from(counters.messages == 0);
    let notes = [
        (nothing, "no Kafka messages found".to_owned()),
        (counters.cut, counted(counters.cut, "message cut", "messages cut")),
        (faulty, counted(faulty, "message with faults", "messages with faults")),
        (cut, counted(cut, "tree cut at its limit", "trees cut at their limit")),
        (drops, counted(drops, "packet dropped by the capture", "packets dropped by the capture")),
        (
            streams.conflicting_overlaps,
            counted(
                streams.conflicting_overlaps,
                "retransmission that says something else",
                "retransmissions that say something else",
            ),
        ),
        (streams.gaps, counted(streams.gaps, "gap in a stream", "gaps in streams")),
        (counters.guessed, counted(counters.guessed, "message boundary guessed", "message boundaries guessed")),
        (
            counters.unmatched,
            counted(counters.unmatched, "response without its request", "responses without their request"),
        ),
        (
            counters.early,
            counted(
                counters.early,
                "response earlier than its request (by the clock of the capture)",
                "responses earlier than their requests (by the clock of the capture)",
            ),
        ),
        (counters.absurd_sizes, counted(counters.absurd_sizes, "absurd frame size", "absurd frame sizes")),
        (
            counters.crowded,
            counted(counters.crowded, "connection let go for want of room", "connections let go for want of room"),
        ),
        (streams.evicted, counted(streams.evicted, "idle connection dropped", "idle connections dropped")),
        (
            packets.fragments_left_out,
            counted(packets.fragments_left_out, "IP fragment left out", "IP fragments left out"),
        ),
        (packets.tunnels, counted(packets.tunnels, "packet in a tunnel not opened", "packets in tunnels not opened")),
        (packets.broken, counted(packets.broken, "packet with broken headers", "packets with broken headers")),
        (
            packets.wrong_checksums,
            counted(packets.wrong_checksums, "packet with a wrong checksum", "packets with wrong checksums"),
        ),
        (
            packets.unknown_link,
            counted(packets.unknown_link, "packet of an unknown link type", "packets of unknown link types"),
        ),
    ];
    let others = [foreign_notes(foreign, nothing > 0), tls_notes(&tls, has_keys)].concat();
    let mut odd: Vec<String> = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    odd.splice(nothing as usize..nothing as usize, others);
    if !odd.is_empty() {
        super::say(&odd.join(", "));
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
