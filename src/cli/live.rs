//! `kafkascope live`: messages of an interface, as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::End;
use super::args::{Common, ExportFormat, LiveArgs};
use super::input;
use super::open;
use crate::capture::live::{self, DEFAULT_FILTER, Live, LiveOptions, Recorder, Ring, Stop};
use crate::capture::{Again, Captures};
use crate::dissect::Opening;
use crate::output::list::{ListOptions, ListWriter};
use crate::output::ndjson::NdjsonWriter;
use crate::output::table::harmless;
use crate::output::tree_json::TreeJsonWriter;

/// How often it is looked whether the capture is to end.
const TICK: Duration = Duration::from_millis(50);

pub(super) fn run(arguments: &LiveArgs, common: &Common) -> anyhow::Result<End> {
    let mut words = arguments.words.iter();
    let Some(interface) = arguments.interface.as_ref().or_else(|| words.next()) else {
        return list_interfaces(common);
    };
    let filter = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let options = LiveOptions {
        interface: interface.clone(),
        filter: if filter.is_empty() { DEFAULT_FILTER.to_owned() } else { filter },
        snap_length: arguments.snaplen,
        buffer: arguments.buffer,
        promiscuous: arguments.promiscuous,
        packets: arguments.packets,
        bytes: arguments.size,
    };
    if arguments.list || arguments.export.is_some() || !open::is_possible() {
        return stream(&options, arguments, common);
    }
    if common.output.is_some() {
        bail!("the screen writes no results: -o is for --list and --export, and -w FILE for what is captured");
    }
    let open = || {
        let (captures, stop) = start(&options, arguments, Again::Yes)?;
        watch(stop.clone(), arguments.duration, None);
        Ok((captures, move || stop.stop()))
    };
    let recording = arguments.write.as_ref().map(|path| match arguments.ring_size {
        Some(_) => format!("the ring {}", path.display()),
        None => path.display().to_string(),
    });
    open::show(open, (interface, recording), true, &arguments.messages, common)
}

/// Prints messages until the capture ends: by itself, by a limit, or by a signal.
fn stream(options: &LiveOptions, arguments: &LiveArgs, common: &Common) -> anyhow::Result<End> {
    if let (Some(path), Some(output), Some(_)) = (&arguments.write, &common.output, arguments.ring_size)
        && Recorder::may_be_of_ring(path, output)
    {
        bail!("cannot write {}: it may be a file of the ring {}; name another file", output.display(), path.display());
    }
    let messages = &arguments.messages;
    let catalog = super::catalog(common)?;
    let decoders = super::decoders(&messages.decode)?;
    let opening = Opening { decoders: Some(&decoders), ..super::opening(&catalog, common) };
    let is_told = super::end_on_signals()?;
    let (captures, stop) = start(options, arguments, Again::No)?;
    watch(stop.clone(), arguments.duration, Some(is_told));
    let to = super::output(common, arguments.write.as_deref())?;
    let end = match arguments.export {
        Some(ExportFormat::Ndjson) => {
            let writer = NdjsonWriter::new(opening, common.show_secrets);
            input::print(captures, to, messages, common, &catalog, writer)
        }
        Some(ExportFormat::Tree) => {
            let writer = TreeJsonWriter::new(opening, common.show_secrets);
            input::print(captures, to, messages, common, &catalog, writer)
        }
        None => {
            let options = ListOptions { width: super::terminal_width(common), colour: super::is_coloured(common) };
            input::print(captures, to, messages, common, &catalog, ListWriter::new(&catalog, options))
        }
    }?;
    if let Some(drops) = stop.drops().filter(|_| !common.quiet) {
        super::say(&drops);
    }
    Ok(end)
}

/// Opens the interface, and the files that are written beside.
fn start(options: &LiveOptions, arguments: &LiveArgs, again: Again) -> anyhow::Result<(Captures, Stop)> {
    let mut live = Live::start(options)?;
    if let Some(path) = &arguments.write {
        let ring = arguments.ring_size.map(|size| Ring { size, files: arguments.ring_files });
        live.record(Recorder::create(path, ring, arguments.force)?);
    }
    let stop = live.stop();
    let mut captures = Captures::new();
    captures.add_stream(&options.interface, live.into_feed(), again)?;
    Ok((captures, stop))
}

/// Ends the capture when its time is over, or when a signal has come.
fn watch(stop: Stop, duration: Option<Duration>, is_told: Option<Arc<AtomicBool>>) {
    let deadline = duration.map(|duration| Instant::now() + duration);
    if deadline.is_none() && is_told.is_none() {
        return;
    }
    thread::spawn(move || {
        let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let is_told = || is_told.as_ref().is_some_and(|told| told.load(Ordering::Relaxed));
        while !is_over() && !is_told() {
            thread::sleep(TICK);
        }
        stop.stop();
    });
}

/// What to name as the interface.
fn list_interfaces(common: &Common) -> anyhow::Result<End> {
    let lines = live::interfaces()?;
    let mut output = super::output(common, [])?;
    for line in lines {
        writeln!(output, "{}", harmless(&line))?;
    }
    output.flush()?;
    Ok(End::Done)
}
