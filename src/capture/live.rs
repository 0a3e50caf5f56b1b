//! Packets of an interface, by way of another program.
//!
//! Capturing takes privileges, so another program does it, and its output is read like any capture that is piped in:
//! `kafkascope-capture`, which lies beside this one, or, where that is missing or was built without libpcap, dumpcap or
//! tcpdump. [`Live::start`] starts it; what it writes is the [`Feed`], which may be recorded on the way.

mod error;
mod recorder;
mod tool;

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use error::LiveError;
pub use recorder::{Recorder, Ring};
use tool::Tool;

#[cfg(test)]
mod tests;

/// Bytes of a packet that are kept where nobody says otherwise: all of any packet.
pub const DEFAULT_SNAP_LENGTH: u32 = 262_144;
/// Megabytes of the system's buffer where nobody says otherwise: a third of a second at 200 MB a second.
pub const DEFAULT_BUFFER: u32 = 64;
/// What is captured where nobody says otherwise: all TCP, whatever its ports, for its content tells what is Kafka; the
/// tunnels that may hold it (VXLAN, Geneve, GRE, IP in IP, MPLS in IP), and the later fragments of any datagram.
pub const DEFAULT_FILTER: &str = "tcp or udp port 4789 or udp port 8472 or udp port 6081 or ip proto 4 or ip proto 41 or ip proto 47 or \
     ip proto 51 or ip proto 137 or ip6 proto 4 or ip6 proto 41 or ip6 proto 47 or ip6 proto 51 or ip6 proto 137 or \
     ip[6:2] & 0x1fff != 0 or ip6[6] = 44";

/// `kafkascope-capture` could not open the interface, or lost it later.
pub const EXIT_FAILED: u8 = 1;
/// `kafkascope-capture` cannot capture anything; another program should be tried (`EX_UNAVAILABLE` of sysexits.h).
pub const EXIT_UNAVAILABLE: u8 = 69;
/// `kafkascope-capture` may not capture (`EX_NOPERM` of sysexits.h).
pub const EXIT_NOT_PERMITTED: u8 = 77;

/// What is captured, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOptions {
    /// The interface, or `any`.
    pub interface: String,
    /// Which packets, in the language of pcap-filter(7).
    pub filter: String,
    /// Bytes of a packet to keep.
    pub snap_length: u32,
    /// The system's buffer, in MiB.
    pub buffer: u32,
    /// Whether the interface receives what is meant for others as well.
    pub promiscuous: bool,
    /// Packets after which it is over.
    pub packets: Option<u64>,
    /// Bytes of capture after which it is over.
    pub bytes: Option<u64>,
}

/// A capture that is going on.
#[derive(Debug)]
pub struct Live {
    capturing: Arc<Capturing>,
    feed: Feed,
}

/// A handle with which the capture is ended, by any thread. What was captured before is still read.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Capturing>);

/// What the capturing program writes, to its end.
///
/// It fails at the end when the program did: when the interface is gone, for instance. Dropping it ends the program, and
/// completes what is recorded.
#[derive(Debug)]
pub struct Feed {
    first: Cursor<Vec<u8>>,
    /// None when it is not read any more.
    stdout: Option<ChildStdout>,
    capturing: Arc<Capturing>,
    recorder: Option<Recorder>,
    bytes: u64,
    most: u64,
    /// How much longer it is waited for a program that was told to end, and how many bytes are still taken of it.
    patience: Duration,
    rest: u64,
    ended: bool,
}

/// The program that captures.
#[derive(Debug)]
struct Capturing {
    tool: Tool,
    child: Mutex<Child>,
    /// Whether it was told to end.
    stopped: AtomicBool,
    notes: Mutex<Notes>,
}

/// The last lines of the program's standard error.
#[derive(Debug, Default)]
struct Notes {
    lines: Vec<String>,
    reader: Option<JoinHandle<()>>,
}

/// So many lines of standard error are kept, and so many bytes of each.
const NOTES: usize = 16;
const NOTE_LENGTH: u64 = 1024;
/// How long a program may take to end when it was told to, or when it has closed its output.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether a program that gives nothing was told to end.
const TICK: Duration = Duration::from_millis(200);

/// The interfaces that there are, as lines for people, from whichever program tells them. They may hold any characters.
///
/// # Errors
/// When none of the programs is there, or the one that is fails.
pub fn interfaces() -> Result<Vec<String>, LiveError> {
    tool::first_that_works("list interfaces", |tool| {
        let output = command(tool, &[tool::LIST.to_owned()]).stderr(Stdio::piped()).output();
        let output = output.map_err(|error| LiveError::cannot_run(tool, &error))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(LiveError::of(tool, None, output.status.code(), &text(&output.stderr)))
    })
}

impl Live {
    /// Starts a program that captures, and waits until the interface is open.
    ///
    /// # Errors
    /// When there is no such program, or it cannot capture.
    pub fn start(options: &LiveOptions) -> Result<Self, LiveError> {
        tool::first_that_works(&format!("capture on {}", options.interface), |tool| Self::start_with(tool, options))
    }

    fn start_with(tool: &Tool, options: &LiveOptions) -> Result<Self, LiveError> {
        let arguments = tool.arguments(options);
        let mut child = command(tool, &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| LiveError::cannot_run(tool, &error))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let capturing = Arc::new(Capturing {
            tool: tool.clone(),
            child: Mutex::new(child),
            stopped: AtomicBool::new(false),
            notes: Mutex::default(),
        });
        if let Some(stderr) = stderr {
            let reading = capturing.clone();
            let reader = thread::spawn(move || reading.read_notes(stderr));
            lock(&capturing.notes).reader = Some(reader);
        }
        let Some(mut stdout) = stdout else {
            return Err(LiveError::cannot_run(tool, &io::ErrorKind::BrokenPipe.into()));
        };
        // The header comes when the interface is open.
        let mut first = vec![0; 1 << 16];
        let count = loop {
            match stdout.read(&mut first) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.unwrap_or(0),
            }
        };
        first.truncate(count);
        if count == 0 {
            let code = capturing.wait();
            return Err(LiveError::of(tool, Some(&options.interface), code, &capturing.notes()));
        }
        let feed = Feed {
            first: Cursor::new(first),
            stdout: Some(stdout),
            capturing: capturing.clone(),
            recorder: None,
            bytes: 0,
            most: options.bytes.unwrap_or(u64::MAX),
            patience: GRACE,
            // As much as the system's buffer may hold, with room for the headers of packets.
            rest: (u64::from(options.buffer) << 21).saturating_add(1 << 20),
            ended: false,
        };
        Ok(Self { capturing, feed })
    }

    /// Has all that comes recorded.
    pub fn record(&mut self, recorder: Recorder) {
        self.feed.recorder = Some(recorder);
    }

    /// A handle to end it.
    pub fn stop(&self) -> Stop {
        Stop(self.capturing.clone())
    }

    /// What comes.
    pub fn into_feed(self) -> Feed {
        self.feed
    }
}

impl Stop {
    /// Ends the capture: what was captured so far is still read, then the feed ends.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// What the capturing program says in the end of packets that were dropped, where its output has no place for it.
    pub fn drops(&self) -> Option<String> {
        if self.0.tool.tells_drops() {
            return None;
        }
        let notes = self.0.notes();
        notes.into_iter().find(|note| note.contains("dropped by") && !note.starts_with("0 "))
    }
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let mut count = self.first.read(buffer)?;
        if count == 0 {
            count = self.read_more(buffer)?;
        }
        if count == 0 {
            self.ended = true;
            self.stdout = None;
            self.finish()?;
            let code = self.capturing.wait();
            if code != Some(0) && !self.capturing.stopped.load(Ordering::Relaxed) {
                return Err(io::Error::other(error::last_words(&self.capturing.notes())));
            }
            return Ok(0);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.take(buffer.get(..count).unwrap_or_default())?;
        }
        self.bytes = self.bytes.saturating_add(count as u64);
        if self.capturing.stopped.load(Ordering::Relaxed) {
            self.rest = self.rest.saturating_sub(count as u64);
        }
        if self.bytes >= self.most {
            self.capturing.stop();
        }
        Ok(count)
    }
}

impl Feed {
    /// Reads what the program gives next. One that was told to end and goes on all the same is ended: 0 bytes.
    fn read_more(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.patience.is_zero() || self.rest == 0 {
                // One that may not be ended (it is another user's) ends when it writes to what nobody reads.
                self.stdout = None;
                let _ = lock(&self.capturing.child).kill();
                return Ok(0);
            }
            let Some(stdout) = &mut self.stdout else { return Ok(0) };
            let was_stopped = self.capturing.stopped.load(Ordering::Relaxed);
            let start = Instant::now();
            let is_there = wait_for(stdout, self.patience.min(TICK));
            if was_stopped {
                // Only waiting counts: what was captured is read to its end, however long that takes.
                self.patience = self.patience.saturating_sub(start.elapsed());
            }
            if is_there {
                return stdout.read(buffer);
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::finish)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.capturing.stop();
        if self.recorder.is_some() {
            // What is recorded ends where the capture does, and not in the middle of a packet.
            let mut rest = vec![0; 1 << 16];
            while self.read(&mut rest).is_ok_and(|count| count > 0) {}
        }
        self.stdout = None;
        self.capturing.wait();
    }
}

impl Capturing {
    /// Tells the program to end.
    fn stop(&self) {
        let mut child = lock(&self.child);
        if self.stopped.swap(true, Ordering::Relaxed) {
            return;
        }
        // One that has ended is not there any more, and its number may be another's.
        if matches!(child.try_wait(), Ok(None)) {
            terminate(&mut child);
        }
    }

    /// Waits for the end of the program and gives its exit code. One that does not end is ended.
    fn wait(&self) -> Option<i32> {
        let deadline = Instant::now() + GRACE;
        let code = loop {
            let mut child = lock(&self.child);
            match child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if Instant::now() < deadline => {}
                // One that may not be ended is not waited for.
                _ => break child.kill().and_then(|()| child.wait()).ok().and_then(|status| status.code()),
            }
            drop(child);
            thread::sleep(Duration::from_millis(2));
        };
        let reader = lock(&self.notes).reader.take();
        if let Some(reader) = reader {
            // A grandchild may still hold standard error: then what it says is not waited for.
            while !reader.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(2));
            }
        }
        code
    }

    fn read_notes(&self, stderr: ChildStderr) {
        let mut stderr = BufReader::new(stderr);
        loop {
            let mut line = Vec::new();
            match stderr.by_ref().take(NOTE_LENGTH).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            if !line.is_empty() {
                let lines = &mut lock(&self.notes).lines;
                if lines.len() >= NOTES {
                    lines.remove(0);
                }
                lines.push(line);
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        lock(&self.notes).lines.clone()
    }
}

fn command(tool: &Tool, arguments: &[String]) -> Command {
    let mut command = Command::new(tool.path());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Whether there is something to read, or the end, in so much time.
#[cfg(unix)]
fn wait_for(stdout: &ChildStdout, longest: Duration) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;

    let longest = PollTimeout::try_from(longest.max(Duration::from_millis(1))).unwrap_or(PollTimeout::ZERO);
    // A signal is no reason to read; of any other failure, reading says more.
    match poll(&mut [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)], longest) {
        Ok(count) => count > 0,
        Err(error) => error != nix::errno::Errno::EINTR,
    }
}

/// Here, whoever is told to end is ended at once, so reading ends as well.
#[cfg(not(unix))]
fn wait_for(_: &ChildStdout, _: Duration) -> bool {
    true
}

#[cfg(unix)]
fn terminate(child: &mut Child) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    // One that may not be told (it is another user's) ends when its output is closed.
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
}

#[cfg(not(unix))]
fn terminate(child: &mut Child) {
    let _ = child.kill();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever held it has left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
