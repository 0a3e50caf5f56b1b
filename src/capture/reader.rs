//! One reader for all formats.

use std::io::Read;
use std::ops::{Range, RangeInclusive};

use super::bytes::ByteOrder;
use super::pcap::{NEAR_SECONDS, Pcap, YEAR_2000};
use super::pcapng::PcapNg;
use super::window::Window;
use super::{CaptureError, Comments, InterfaceId, LinkType, Names, Packet, Place, Time};

/// Reads the packets of a pcap, pcapng or snoop file, told apart by its first bytes.
///
/// Where the file is damaged, the next record or block that can be believed is looked for: see [`CaptureReader::next`].
///
/// The input is read as a stream: a pipe will do, and memory does not grow with the file. The reader has a large buffer of
/// its own, so give it the file itself.
pub struct CaptureReader<R> {
    window: Window<R>,
    format: Format,
    packets: u64,
    /// Bytes of the window that belong to the packet given last.
    done: usize,
    /// The next packet, when it was looked at but not given yet.
    ahead: Option<Located>,
    /// The key logs before the next packet, or before the one given last; those behind the last one when it was given.
    secrets: Vec<u8>,
    stopped: bool,
    damage: Damages,
}

/// So many damaged places are told one by one.
const MOST_TOLD: u64 = 20;

/// How much damage there was.
#[derive(Default)]
struct Damages {
    told: u64,
    /// Places beyond those, and the bytes that were skipped there.
    untold: u64,
    untold_bytes: u64,
}

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// A packet in the window: ranges count from the window's first byte.
pub(super) struct Located {
    pub(super) data: Range<usize>,
    pub(super) options: Range<usize>,
    /// Bytes up to the next record.
    pub(super) total: usize,
    pub(super) time: Time,
    pub(super) interface: u32,
    /// The same interface among those that are called something.
    pub(super) named: InterfaceId,
    pub(super) link: LinkType,
    pub(super) original_length: u32,
    pub(super) order: ByteOrder,
}

impl<R: Read> CaptureReader<R> {
    /// Reads the file's header.
    ///
    /// # Errors
    /// When the input is not a capture, or ends or cannot be read before the end of its header.
    pub fn new(reader: R) -> Result<Self, CaptureError> {
        let mut window = Window::new(reader);
        let format = if let Some(pcap) = Pcap::open(&mut window)? {
            Format::Pcap(pcap)
        } else if let Some(pcapng) = PcapNg::open(&mut window)? {
            Format::PcapNg(pcapng)
        } else {
            return Err(not_a_capture(window.bytes()));
        };
        let (secrets, damage) = (Vec::new(), Damages::default());
        Ok(Self { window, format, packets: 0, done: 0, ahead: None, secrets, stopped: false, damage })
    }

    /// Has what the file calls hosts and interfaces kept. `capture` is what the file itself is called.
    #[must_use]
    pub fn with_names(mut self, names: Names, capture: &str) -> Self {
        names.add_capture();
        if let Format::PcapNg(pcapng) = &mut self.format {
            pcapng.use_names(names, capture);
        }
        self
    }

    /// The next packet, or None at the end.
    ///
    /// # Errors
    /// Once for each place where the file is damaged, up to twenty of them, then once for all others. There may be more
    /// packets behind it: ask again. Of what is skipped, nothing is guessed: in pcap, two records that follow each other or
    /// the last one must have all that a record has; in pcapng, a block of a known type must have the same length on both
    /// ends, and packets a described interface. Both must have times that are not before those of the last packets, or go on
    /// for longer than a packet that carries them could be. Where a description may be among what is skipped, only
    /// packets are told that are TCP by the link layer of their interface.
    #[allow(clippy::should_implement_trait, reason = "a packet borrows from the reader, which Iterator cannot say")]
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        self.peek_time()?;
        let Some(located) = self.ahead.take() else { return Ok(None) };
        self.packets += 1;
        self.done = located.total;
        let options_at = self.window.offset() + located.options.start as u64;
        let place = Place::new(0, self.window.offset() + located.data.start as u64).from_interface(located.named);
        let bytes = self.window.bytes();
        let data = bytes.get(located.data).unwrap_or_default();
        Ok(Some(Packet {
            number: self.packets,
            time: located.time,
            interface: located.interface,
            link: located.link,
            data,
            place,
            original_length: located.original_length.max(data.len() as u32),
            secrets: &self.secrets,
            comments: Comments::new(bytes.get(located.options).unwrap_or_default(), located.order, options_at),
        }))
    }

    /// The time of the next packet, or None at the end: to read several captures in order of time.
    ///
    /// # Errors
    /// As [`CaptureReader::next`].
    pub fn peek_time(&mut self) -> Result<Option<Time>, CaptureError> {
        while self.ahead.is_none() && !self.stopped {
            if self.done > 0 {
                self.window.consume(self.done);
                self.done = 0;
                // Those that came before damage are for the packet behind it.
                self.secrets.clear();
            }
            let number = self.packets + 1;
            let located = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.window, number),
                Format::PcapNg(pcapng) => pcapng.next(&mut self.window, number, &mut self.secrets),
            };
            match located {
                Ok(located) => {
                    self.stopped = located.is_none();
                    self.ahead = located;
                }
                Err(error) => self.pass(error)?,
            }
        }
        if self.stopped && self.damage.untold > 0 {
            let Damages { untold, untold_bytes, .. } = std::mem::take(&mut self.damage);
            return Err(CaptureError::More { places: untold, bytes: untold_bytes });
        }
        Ok(self.ahead.as_ref().map(|located| located.time))
    }

    /// Goes on behind damage at the start of the window. Gives it back as an error, unless too many were told already.
    #[cold]
    fn pass(&mut self, error: CaptureError) -> Result<(), CaptureError> {
        if !error.may_be_passed() {
            self.stopped = true;
            return Err(error);
        }
        let start = self.window.offset();
        let found = match &mut self.format {
            Format::Pcap(pcap) => pcap.find_next(&mut self.window),
            Format::PcapNg(pcapng) => pcapng.find_next(&mut self.window, &error),
        };
        let bytes = self.window.offset() - start;
        let found = found.map_err(|source| CaptureError::Io { offset: start + bytes, source });
        self.stopped = !matches!(found, Ok(true));
        let is_found = found?;
        let error = match error {
            // What is cut ends with the file: it is that, unless something stands behind it.
            CaptureError::Cut { .. } if !is_found => return Err(error),
            CaptureError::Cut { block: Some(block), needed, .. } => {
                CaptureError::BlockLength { offset: start, block, length: needed as u32 }
            }
            CaptureError::Cut { packet, .. } => CaptureError::Record { offset: start, packet },
            error => error,
        };
        if self.damage.told >= MOST_TOLD {
            self.damage.untold += 1;
            self.damage.untold_bytes += bytes;
            return Ok(());
        }
        self.damage.told += 1;
        Err(CaptureError::Skipped { damage: Box::new(error), bytes })
    }

    /// Whether the next packet, or the end, is surely there already, so that asking for it reads nothing.
    pub fn is_ready(&self) -> bool {
        let bytes = self.window.bytes().get(self.done..).unwrap_or_default();
        let length = match &self.format {
            Format::Pcap(pcap) => pcap.needed(bytes),
            Format::PcapNg(pcapng) => pcapng.packet_length(bytes),
        };
        self.stopped || self.ahead.is_some() || length.is_some_and(|length| length <= bytes.len())
    }

    /// The key logs behind the last packet, once there are no more packets.
    pub fn last_secrets(&self) -> &[u8] {
        if self.stopped && self.ahead.is_none() && self.done == 0 { &self.secrets } else { &[] }
    }

    /// Whether there may be key logs in the file.
    pub fn may_have_secrets(&self) -> bool {
        matches!(self.format, Format::PcapNg(_))
    }

    /// Packets given so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets that were not captured because something could not keep up, as far as the file has said so far: what the
    /// interfaces and the system of the capturing host dropped. A pcap file does not say.
    pub fn drops(&self) -> u64 {
        match &self.format {
            Format::Pcap(pcap) => pcap.drops(),
            Format::PcapNg(pcapng) => pcapng.drops(),
        }
    }

    /// Bytes of the input that have been dealt with: for a progress bar.
    pub fn offset(&self) -> u64 {
        self.window.offset() + self.done as u64
    }
}

/// Captures of other tools, by their first bytes, as their descriptions and Wireshark's list of formats have them.
const OTHER_FORMATS: [(&[u8], &str); 14] = [
    (b"GMBU", "a capture of Microsoft Network Monitor"),
    (b"RTSS", "a capture of Microsoft Network Monitor 1"),
    (b"\x00\x00\x02\x00\x12\x05\x00\x10", "a K12 capture"),
    (b"XCP\0", "a capture of NetXRay or Sniffer for Windows"),
    (b"TRSNIFF data    \x1a", "a capture of a DOS Sniffer"),
    (b"ObserverPktBuffe", "a capture of Network Instruments Observer"),
    (b"\x7fver", "a capture of OmniPeek"),
    (b"\x05VNF", "a capture of Visual Networks"),
    (b"\x54\x52\x00\x64\x00", "a nettl capture of HP-UX"),
    (b"iptrace ", "an iptrace capture of AIX"),
    (b"btsnoop\0", "a btsnoop capture of Bluetooth"),
    (b"\x1c\x00\x01\xab", "a capture of IXIA"),
    (b"\xab\x01\x00\x1c", "a capture of IXIA"),
    (b"\xac\x01\x00\x1c", "a capture of IXIA"),
];

/// Says what an input that is not a capture looks like.
#[cold]
fn not_a_capture(bytes: &[u8]) -> CaptureError {
    const KEY_LOG: [&[u8]; 5] = [b"CLIENT_", b"SERVER_", b"EXPORTER_SECRET ", b"EARLY_EXPORTER_", b"# SSL/TLS secrets"];
    if let Some((_, name)) = OTHER_FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return CaptureError::OtherFormat(name);
    }
    if is_event_trace(bytes) {
        return CaptureError::EventTrace;
    }
    if is_erf(bytes) {
        return CaptureError::OtherFormat("an ERF capture of Endace");
    }
    let looks_like = match bytes {
        [] => return CaptureError::Empty,
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0x04, 0x22, 0x4d, 0x18, ..] => "lz4",
        [b'B', b'Z', b'h', ..] => "bzip2",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "xz",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        [0x7f, b'E', b'L', b'F', ..] => "a program",
        _ if KEY_LOG.iter().any(|start| bytes.starts_with(start)) => "a TLS key log",
        _ if is_text(bytes) => "text",
        _ => "none of the formats known",
    };
    CaptureError::NotACapture(looks_like)
}

/// Whether an input begins as event traces of Windows do: behind the head of a buffer stands the first event, with the marker
/// of a system event in version 2.
fn is_event_trace(bytes: &[u8]) -> bool {
    matches!(bytes.get(72..76), Some([2, 0, 1 | 2, 0xc0]))
}

/// Whether an input begins with two records of Endace's format, which has no head: a time in 2^-32 s (little-endian), a
/// type of which one bit says that there are more headers, flags, the record's length, a count of losses, the packet's
/// length.
fn is_erf(bytes: &[u8]) -> bool {
    const TYPES: RangeInclusive<u8> = 1..=48;
    let record = |bytes: &[u8]| {
        let &[_, _, _, _, s0, s1, s2, s3, kind, _, length_0, length_1, _, _, _, _] = bytes.first_chunk()?;
        let seconds = u32::from_le_bytes([s0, s1, s2, s3]);
        let length = usize::from(u16::from_be_bytes([length_0, length_1]));
        let is_possible = seconds >= YEAR_2000 && TYPES.contains(&(kind & 0x7f)) && length > 16;
        is_possible.then_some((seconds, length))
    };
    let Some((first, length)) = record(bytes) else { return false };
    let second = bytes.get(length..).and_then(record);
    second.is_some_and(|(second, _)| second.abs_diff(first) <= NEAR_SECONDS)
}

/// True for UTF-8 without control characters, as far as it was read.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.get(..256).unwrap_or(bytes);
    let text = match str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(start.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace())
}
