//! From an interface to standard output.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use kafkascope::capture::live::{EXIT_FAILED, EXIT_NOT_PERMITTED};
use kafkascope::capture::{LinkType, Time};
use kafkascope::output::pcapng::{self, Resolution, Statistics, WrittenInterface, WrittenPacket};
use pcap::{Active, Capture, Error};

use crate::{Failure, Options, interfaces, privileges};

/// How long the system may keep a packet back to give it with others. A packet that comes alone is seen so much later.
/// (libpcap's immediate mode has, on Linux, a slot as long as the longest packet for each packet, so that on loopback
/// 64 MiB hold 1,023 packets, however small.)
const PATIENCE: Duration = Duration::from_millis(10);
/// Packets that are taken before anything else is looked at.
const BATCH: u64 = 4096;
/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;
/// How long packets are taken when it is told to stop: they come on, and the buffer may never be empty.
const LAST: Duration = Duration::from_secs(2);
/// How often it is told what was dropped.
const STATISTICS_EVERY: Duration = Duration::from_secs(1);

#[cfg(target_os = "linux")]
const RESOLUTION: Resolution = Resolution::Nanoseconds;
#[cfg(not(target_os = "linux"))]
const RESOLUTION: Resolution = Resolution::Microseconds;

/// Captures until it is told to stop, a limit is reached, or nobody reads any more.
///
/// # Errors
/// When the interface cannot be opened or the filter has no meaning; later, when the interface goes away.
pub(crate) fn run(interface: &str, options: &Options) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signals() {
        let registered = signal_hook::flag::register(*signal, stop.clone());
        registered.map_err(|error| failed(format!("signals cannot be taken: {error}")))?;
    }
    if io::stdout().is_terminal() {
        return Err(failed("standard output is a terminal: pcapng is for a file or for another program".to_owned()));
    }
    let stdout = stdout().map_err(|error| failed(format!("standard output: {error}")))?;
    let opened = open(interface, options)?;
    privileges::give_up()?;
    let capture = filtered(opened, options.filter.as_deref())?;
    let mut feed = Feed::new(stdout);
    feed.begin(interface, options, LinkType(link_type(capture.get_datalink().0)));
    let outcome = feed.run(capture, options, &stop);
    match feed.failed.take() {
        // Who reads has seen enough.
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Some(error) => Err(failed(format!("standard output: {error}"))),
        None => outcome.map_err(|error| failed(says(&error))),
    }
}

/// Standard output without the library's buffer, which looks for lines.
#[cfg(unix)]
type Stdout = std::fs::File;
#[cfg(not(unix))]
type Stdout = io::Stdout;

#[cfg(unix)]
fn stdout() -> io::Result<Stdout> {
    use std::os::fd::AsFd;

    Ok(Stdout::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
fn stdout() -> io::Result<Stdout> {
    Ok(io::stdout())
}

fn signals() -> &'static [i32] {
    #[cfg(unix)]
    return &[signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP];
    #[cfg(not(unix))]
    return &[signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT];
}

fn open(interface: &str, options: &Options) -> Result<Capture<Active>, Failure> {
    let refused = |error: &Error| {
        let says = says(error);
        let lower = says.to_lowercase();
        if ["permi", "cap_net_raw", "privilege"].iter().any(|word| lower.contains(word)) {
            return Failure { exit: EXIT_NOT_PERMITTED, says };
        }
        let names = interfaces::names();
        if names.iter().any(|name| name == interface) {
            return failed(says);
        }
        failed(format!("there is no such interface; there are {}", names.join(", ")))
    };
    let capture = Capture::from_device(interface).map_err(|error| refused(&error))?;
    let capture = capture
        // `any` cannot do it, and libpcap calls that a failure.
        .promisc(options.promiscuous && interface != "any")
        .snaplen(options.snaplen.cast_signed())
        .buffer_size((options.buffer.min(2047) << 20).cast_signed())
        .immediate_mode(cfg!(not(target_os = "linux")))
        .timeout(PATIENCE.as_millis() as i32);
    #[cfg(target_os = "linux")]
    let capture = capture.precision(pcap::Precision::Nano);
    capture.open().map_err(|error| refused(&error))
}

fn filtered(mut capture: Capture<Active>, filter: Option<&str>) -> Result<Capture<Active>, Failure> {
    if let Some(filter) = filter {
        capture.filter(filter, true).map_err(|error| failed(format!("the filter {filter:?}: {}", says(&error))))?;
    }
    // Waiting is done here: libpcap's own does not end when standard output is closed.
    capture.setnonblock().map_err(|error| failed(says(&error)))
}

/// The number that files have for a link type. Two of them differ between systems; most others are the same.
fn link_type(number: i32) -> u16 {
    const RAW: u16 = 101;
    const LOOP: u16 = 108;
    match number {
        12 if cfg!(target_os = "openbsd") => LOOP,
        12 | 14 => RAW,
        number => u16::try_from(number).unwrap_or(u16::MAX),
    }
}

fn failed(says: String) -> Failure {
    Failure { exit: EXIT_FAILED, says }
}

fn says(error: &Error) -> String {
    match error {
        Error::PcapError(text) => text.clone(),
        error => error.to_string(),
    }
}

/// Takes until nothing is left.
fn until_empty<E>(mut take: impl FnMut() -> Result<usize, E>) -> Result<(), E> {
    while take()? > 0 {}
    Ok(())
}

/// What goes to standard output.
struct Feed {
    stdout: Stdout,
    /// Blocks that are not written yet.
    out: Vec<u8>,
    /// A write that failed: nothing is written after it.
    failed: Option<io::Error>,
    packets: u64,
    counted: Counted,
}

/// libpcap's counters have 32 bits and begin again; these go on.
#[derive(Default)]
struct Counted {
    last: [u32; 3],
    sums: [u64; 3],
}

impl Counted {
    fn count(&mut self, now: [u32; 3]) {
        for ((last, sum), now) in self.last.iter_mut().zip(&mut self.sums).zip(now) {
            *sum += u64::from(now.wrapping_sub(*last));
            *last = now;
        }
    }
}

impl Feed {
    fn new(stdout: Stdout) -> Self {
        Self { stdout, out: Vec::with_capacity(2 * CHUNK), failed: None, packets: 0, counted: Counted::default() }
    }

    /// Who captures what.
    fn begin(&mut self, interface: &str, options: &Options, link: LinkType) {
        pcapng::section_header(&mut self.out, None, Some(concat!("kafkascope-capture ", env!("CARGO_PKG_VERSION"))));
        let interface = WrittenInterface {
            link,
            resolution: RESOLUTION,
            snap_length: options.snaplen,
            name: Some(interface),
            filter: options.filter.as_deref(),
        };
        pcapng::described_interface(&mut self.out, &interface);
        self.write();
    }

    /// Takes packets until it is over.
    fn run(&mut self, mut capture: Capture<Active>, options: &Options, stop: &AtomicBool) -> Result<(), Error> {
        let end = options.duration.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut next_statistics = Instant::now() + STATISTICS_EVERY;
        let left =
            |feed: &Self| options.packets.map_or(BATCH, |packets| packets.saturating_sub(feed.packets).min(BATCH));
        let outcome = loop {
            let now = Instant::now();
            if left(self) == 0 || self.failed.is_some() {
                break Ok(());
            }
            if stop.load(Ordering::Relaxed) || end.is_some_and(|end| now >= end) {
                // What the system keeps back was captured as well.
                std::thread::sleep(2 * PATIENCE);
                let end = Instant::now() + LAST;
                break until_empty(|| {
                    let is_over = left(self) == 0 || self.failed.is_some() || Instant::now() >= end;
                    if is_over { Ok(0) } else { self.take(&mut capture, left(self)) }
                });
            }
            if now >= next_statistics {
                self.statistics(&mut capture);
                next_statistics = now + STATISTICS_EVERY;
            }
            match self.take(&mut capture, left(self)) {
                Ok(0) => {
                    let until = end.map_or(next_statistics, |end| next_statistics.min(end));
                    self.wait(&capture, until.saturating_duration_since(Instant::now()));
                }
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        self.statistics(&mut capture);
        outcome
    }

    /// Takes the packets that are there, but no more than so many, and writes them.
    fn take(&mut self, capture: &mut Capture<Active>, most: u64) -> Result<usize, Error> {
        let taken = capture.dispatch(usize::try_from(most).ok(), |packet| {
            let header = packet.header;
            #[allow(
                clippy::useless_conversion,
                clippy::allow_attributes,
                reason = "their types differ between systems"
            )]
            let (seconds, fraction) = (i64::from(header.ts.tv_sec), i64::from(header.ts.tv_usec));
            let unit = if RESOLUTION == Resolution::Nanoseconds { 1 } else { 1000 };
            let time = Time::from_nanoseconds(seconds.saturating_mul(Time::SECOND).saturating_add(fraction * unit));
            let packet = WrittenPacket { time, data: packet.data, original_length: header.len, comments: &[] };
            pcapng::packet(&mut self.out, &packet, RESOLUTION);
            self.packets += 1;
            if self.out.len() >= CHUNK {
                self.write();
            }
        });
        self.write();
        match taken {
            Err(Error::TimeoutExpired) => Ok(0),
            taken => taken,
        }
    }

    /// Says what was dropped so far.
    fn statistics(&mut self, capture: &mut Capture<Active>) {
        // An interface that is gone counts no more; what it counted last is still true.
        if let Ok(now) = capture.stats() {
            self.counted.count([now.received, now.if_dropped, now.dropped]);
        }
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let [received, dropped_by_interface, dropped_by_system] = self.counted.sums;
        let time = Time::saturating_from(since_1970.as_nanos().cast_signed());
        let statistics = Statistics { time, received, dropped_by_interface, dropped_by_system };
        pcapng::statistics(&mut self.out, &statistics, RESOLUTION);
        self.write();
    }

    fn write(&mut self) {
        if self.failed.is_none() {
            self.failed = self.stdout.write_all(&self.out).and_then(|()| self.stdout.flush()).err();
        }
        self.out.clear();
    }

    /// Waits for packets, for a signal, or for the reader to go away.
    #[cfg(unix)]
    fn wait(&mut self, capture: &Capture<Active>, longest: Duration) {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;

        // A signal that comes just before is seen this much later.
        const LONGEST: Duration = Duration::from_millis(200);
        let timeout =
            PollTimeout::try_from(longest.clamp(Duration::from_millis(1), LONGEST)).unwrap_or(PollTimeout::ZERO);
        let mut waited =
            [PollFd::new(capture.as_fd(), PollFlags::POLLIN), PollFd::new(self.stdout.as_fd(), PollFlags::empty())];
        // What it fails with (a signal) is seen by who calls.
        let _ = poll(&mut waited, timeout);
        let [_, stdout] = waited;
        if stdout.revents().is_some_and(|events| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP)) {
            self.failed = Some(io::ErrorKind::BrokenPipe.into());
        }
    }

    #[cfg(not(unix))]
    fn wait(&mut self, _: &Capture<Active>, longest: Duration) {
        std::thread::sleep(longest.min(PATIENCE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_left_is_taken() {
        let mut left = 10_000_usize;
        let outcome = until_empty(|| {
            let taken = left.min(4096);
            left -= taken;
            Ok::<_, Error>(taken)
        });
        assert!(outcome.is_ok());
        assert_eq!(left, 0);
        assert!(until_empty(|| Err(Error::NoMorePackets)).is_err());
    }
}
