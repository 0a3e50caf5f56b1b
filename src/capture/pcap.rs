//! Formats that are a header and then records: pcap, its modified form, snoop.
//!
//! References: draft-ietf-opsawg-pcap; RFC 1761 (snoop), with the data link types of RFC 3827.

use std::io::{self, Read};
use std::ops::Range;

use arrayvec::ArrayVec;

use super::bytes::ByteOrder;
use super::chains::Chains;
use super::reader::Located;
use super::window::{Part, Window};
use super::{CaptureError, InterfaceId, LinkType, Time};

/// No packet is longer, whatever a file says; tools keep at most this many bytes where nobody asks for more.
pub(super) const USUAL_PACKET_LIMIT: u32 = 262_144;
/// As much as a snap length may raise the limit to.
pub(super) const PACKET_LIMIT: u32 = 64 * 1024 * 1024;
/// Behind damage, nothing longer than such a packet, its options and the header of the next one is looked for.
pub(super) const LOOK_AHEAD: usize = USUAL_PACKET_LIMIT as usize + 32 * 1024;
const FILE_HEADER: usize = 24;
const SNOOP_HEADER: usize = 16;
/// Two packets that follow each other are seldom further apart.
pub(super) const NEAR_SECONDS: u32 = 30 * 86_400;
/// Captures are not from before, unless their clock was never set.
pub(super) const YEAR_2000: u32 = 946_684_800;
/// RFC 1761 pads a record to four bytes; a few more are no reason not to read it.
const LONGEST_PADDING: u32 = 64;

/// What the header of a file says, and what the last record told.
#[derive(Debug)]
pub(super) struct Pcap {
    layout: Layout,
    order: ByteOrder,
    units_per_second: u32,
    link: LinkType,
    packet_limit: u32,
    /// The seconds of the first and of the last packet.
    seconds: Option<[u32; 2]>,
    /// Those of the last few packets.
    recent: ArrayVec<u32, 4>,
    /// What has been seen that few files have.
    habits: Habits,
    /// Packets dropped so far, of a format that says it.
    drops: u64,
    /// Records that follow each other near the last damage, as they were for the habits of then.
    chains: (Habits, Chains),
}

/// How the header of a record is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Time, captured length, original length.
    Pcap,
    /// The same, and behind it what Linux knew of the packet: interface, protocol, kind.
    Modified,
    /// Original length, captured length, length of the record, packets dropped so far, time.
    Snoop,
}

/// What the records of a file have that few files have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Habits {
    /// Fractions of a second that are more than a second.
    has_any_fraction: bool,
    /// Original lengths below what was kept, and packets without a byte.
    has_any_length: bool,
    /// Lengths to which packets were cut; more of them than fit: they may be any.
    cuts: ArrayVec<u32, 4>,
    has_any_cut: bool,
}

/// The header of a record.
#[derive(Clone, Copy, Debug)]
struct Record {
    seconds: u32,
    fraction: u32,
    length: u32,
    original_length: u32,
    /// Bytes up to the next record.
    total: usize,
    drops: u32,
}

impl Pcap {
    /// Takes the header off the input; None when the file has another format.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Option<Self>, CaptureError> {
        const MICROSECONDS: u32 = 1_000_000;
        const NANOSECONDS: u32 = 1_000_000_000;

        let offset = window.offset();
        let header = window.fill(SNOOP_HEADER).map_err(|source| CaptureError::Io { offset, source })?;
        let (layout, order, units_per_second) = match header {
            [0xd4, 0xc3, 0xb2, 0xa1, ..] => (Layout::Pcap, ByteOrder::Little, MICROSECONDS),
            [0xa1, 0xb2, 0xc3, 0xd4, ..] => (Layout::Pcap, ByteOrder::Big, MICROSECONDS),
            [0x4d, 0x3c, 0xb2, 0xa1, ..] => (Layout::Pcap, ByteOrder::Little, NANOSECONDS),
            [0xa1, 0xb2, 0x3c, 0x4d, ..] => (Layout::Pcap, ByteOrder::Big, NANOSECONDS),
            [0x34, 0xcd, 0xb2, 0xa1, ..] => (Layout::Modified, ByteOrder::Little, MICROSECONDS),
            [0xa1, 0xb2, 0xcd, 0x34, ..] => (Layout::Modified, ByteOrder::Big, MICROSECONDS),
            [b's', b'n', b'o', b'o', b'p', 0, 0, 0, ..] => (Layout::Snoop, ByteOrder::Big, MICROSECONDS),
            _ => return Ok(None),
        };
        let needed = if layout == Layout::Snoop { SNOOP_HEADER } else { FILE_HEADER };
        let header = window.fill(needed).map_err(|source| CaptureError::Io { offset, source })?;
        if header.len() < needed {
            return Err(CaptureError::FileHeaderCut { length: header.len() as u64, needed: needed as u64 });
        }
        let (link, snap_length) = match layout {
            Layout::Snoop => (snoop_link(order, header)?, 0),
            Layout::Pcap | Layout::Modified => pcap_link(order, header)?,
        };
        window.consume(needed);
        Ok(Some(Self {
            layout,
            order,
            units_per_second,
            link,
            packet_limit: snap_length.clamp(USUAL_PACKET_LIMIT, PACKET_LIMIT),
            seconds: None,
            recent: ArrayVec::new(),
            habits: Habits { cuts: [snap_length].into_iter().collect(), ..Habits::default() },
            drops: 0,
            chains: Default::default(),
        }))
    }

    /// How many bytes must be there so that the record at the start of them can be read; None when that cannot be told.
    pub(super) fn needed(&self, bytes: &[u8]) -> Option<usize> {
        self.record(bytes).filter(|record| !self.is_odd(record)).map(|record| record.total)
    }

    /// Packets that were dropped while they were captured.
    pub(super) fn drops(&self) -> u64 {
        self.drops
    }

    /// Finds the next packet at the start of the window; None at the end of the file.
    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        packet: u64,
    ) -> Result<Option<Located>, CaptureError> {
        let offset = window.offset();
        let io = |source| CaptureError::Io { offset, source };
        let cut = |end: usize, has: usize, needed: usize| CaptureError::Cut {
            offset: offset + end as u64,
            block: None,
            packet,
            has: has as u64,
            needed: needed as u64,
        };
        let start = self.header_length();
        let header = window.fill(start).map_err(io)?;
        if header.is_empty() {
            return Ok(None);
        }
        let Some(record) = self.record(header) else {
            return Err(cut(header.len(), header.len(), start));
        };
        let length = record.length;
        if length > self.packet_limit {
            return Err(CaptureError::RecordLength { offset, packet, length, limit: self.packet_limit });
        }
        if !self.is_possible(&record) {
            return Err(CaptureError::Record { offset, packet });
        }
        let data = Range { start, end: start + length as usize };
        let there = window.fill(record.total).map_err(io)?.len();
        if there < record.total {
            return Err(cut(there, there.saturating_sub(start), record.total - start));
        }
        if self.is_odd(&record) && !self.is_followed(&record, window).map_err(io)? {
            return Err(CaptureError::Record { offset, packet });
        }
        self.learn(&record);
        self.drops = record.drops.into();
        let nanoseconds_per_unit = Time::SECOND / i64::from(self.units_per_second);
        let time = i64::from(record.seconds) * Time::SECOND + i64::from(record.fraction) * nanoseconds_per_unit;
        Ok(Some(Located {
            options: data.end..data.end,
            total: record.total,
            data,
            time: Time::from_nanoseconds(time),
            interface: 0,
            named: InterfaceId::NONE,
            link: self.link,
            original_length: record.original_length,
            order: self.order,
        }))
    }

    /// Goes on from the record at the start of the window, which is damaged, to the next that can be believed. False when
    /// there is none.
    ///
    /// A packet may carry a capture, as a download of one does, and its records have all that a record has as well. Three
    /// things tell them from those that are looked for. Where but one number of the damaged record is wrong, the others say where
    /// the next one begins. What is carried was captured before, so it has an earlier time. And it ends with
    /// the packet, so records that follow each other for longer than packets are lie in none.
    pub(super) fn find_next<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<bool> {
        let (habits, mut chains) = std::mem::take(&mut self.chains);
        if habits != self.habits {
            // Habits are few and stay, so that is seldom.
            chains = Chains::default();
        }
        let mut is_first = true;
        let found = window.find(LOOK_AHEAD, |part| {
            let mut is_believed = |at: usize| self.is_believed(part, at, &mut chains);
            let told = std::mem::take(&mut is_first).then(|| self.next_as_told(part.bytes));
            if let Some(next) = told.iter().flatten().copied().find(|next| *next < part.end && is_believed(*next)) {
                return Some(next);
            }
            (usize::from(told.is_some())..part.end).find(|at| is_believed(*at))
        });
        self.chains = (self.habits.clone(), chains);
        found
    }

    /// Whether what may be a record behind damage is one. Most are told by what they are and the record behind them; only
    /// where the time is not that of the next one, the chain is asked for.
    fn is_believed(&self, part: &Part<'_>, at: usize, chains: &mut Chains) -> bool {
        let longest = LOOK_AHEAD - self.header_length();
        let record_at = |at: usize| self.record(part.bytes.get(at..)?);
        let plain_at = |at| record_at(at).filter(|record| self.is_plain(record) && record.total <= longest);
        let Some(record) = plain_at(at) else { return false };
        let next = at.saturating_add(record.total);
        let is_followed = plain_at(next).is_some_and(|next| is_near(record.seconds, next.seconds));
        let is_last = part.is_end && next == part.bytes.len();
        if !is_followed && !is_last {
            return false;
        }
        let goes_on = |chains: &mut Chains| {
            let is_next = |at, next| match (record_at(at), record_at(next)) {
                (Some(record), Some(next)) => is_near(record.seconds, next.seconds),
                _ => false,
            };
            let length_at = |at| plain_at(at).map(|record| record.total);
            chains.at(part, at, LOOK_AHEAD, length_at, is_next).length >= USUAL_PACKET_LIMIT as usize
        };
        self.is_later(record.seconds) || (record.seconds >= YEAR_2000 && goes_on(chains))
    }

    /// Where the record behind a damaged one may begin, as its two lengths have it, if all else but one of its numbers is as
    /// it should be.
    fn next_as_told(&self, bytes: &[u8]) -> [usize; 2] {
        let Some(record) = self.record(bytes) else { return [usize::MAX; 2] };
        let is_time_right = self.is_later(record.seconds) && record.fraction < self.units_per_second;
        if !is_time_right && record.length != record.original_length {
            return [usize::MAX; 2];
        }
        // Inside of the record that the longer one tells there would be others, if both lead to one.
        let (shorter, longer) = (record.length.min(record.original_length), record.length.max(record.original_length));
        [shorter, longer].map(|length| {
            let length = length as usize;
            let padded = if self.layout == Layout::Snoop { length.next_multiple_of(4) } else { length };
            self.header_length().saturating_add(padded)
        })
    }

    fn header_length(&self) -> usize {
        match self.layout {
            Layout::Pcap => 16,
            Layout::Modified | Layout::Snoop => 24,
        }
    }

    /// The record header at the start of the bytes; None when not all of it is there.
    fn record(&self, bytes: &[u8]) -> Option<Record> {
        let bytes = bytes.get(..self.header_length())?;
        if self.layout == Layout::Snoop {
            let [original_length, length, total, drops, seconds, fraction] = self.order.words(bytes)?;
            return Some(Record { seconds, fraction, length, original_length, total: total as usize, drops });
        }
        let [seconds, fraction, length, original_length] = self.order.words(bytes)?;
        let total = self.header_length().saturating_add(length as usize);
        Some(Record { seconds, fraction, length, original_length, total, drops: 0 })
    }

    /// Whether a record can be so: it is within bounds, and more than the zeros of a file that was made longer than what
    /// was written into it.
    fn is_possible(&self, record: &Record) -> bool {
        let padding = record.total.checked_sub(self.header_length().saturating_add(record.length as usize));
        let is_padded = padding.is_some_and(|padding| padding <= LONGEST_PADDING as usize);
        let is_zero = [record.seconds, record.fraction, record.length, record.original_length] == [0; 4];
        record.length <= self.packet_limit && is_padded && !is_zero
    }

    /// Whether a record is like nearly all others, or has but what others have had before it.
    fn is_usual(&self, record: &Record) -> bool {
        self.habits.is_usual(record, self.units_per_second) && self.is_possible(record)
    }

    /// Whether a record is usual, and nothing was cut off but what is cut off others.
    fn is_plain(&self, record: &Record) -> bool {
        self.is_usual(record) && self.habits.has_cut(record)
    }

    /// Takes note of a record that is believed.
    fn learn(&mut self, record: &Record) {
        let [first, _] = self.seconds.unwrap_or([record.seconds; 2]);
        self.seconds = Some([first, record.seconds]);
        if self.recent.is_full() {
            self.recent.remove(0);
        }
        self.recent.push(record.seconds);
        self.habits.learn(record, self.units_per_second);
    }

    /// Whether a record is believed only for what follows it. Nothing but the length says where the next record begins, so
    /// behind a wrong one anything may be taken for a record.
    fn is_odd(&self, record: &Record) -> bool {
        !self.is_plain(record) || (self.seconds.is_some() && !self.is_in_time(record.seconds))
    }

    /// Whether an odd record has the end of the file behind it, or what may be others. A clock may jump, also back to where
    /// clocks begin; but the bytes of protocols are full of small numbers, so then it takes more records, and so it does
    /// where the record is unusual otherwise: then those behind it must be as it is.
    fn is_followed<R: Read>(&self, first: &Record, window: &mut Window<R>) -> io::Result<bool> {
        const WITNESSES: usize = 8;
        const FEWEST_WITNESSES: usize = 2;
        let is_jump = self.seconds.is_some() && !self.is_in_time(first.seconds);
        let is_long_ago = is_jump && first.seconds < YEAR_2000;
        let is_usual = self.is_usual(first);
        if is_jump && !self.is_plain(first) {
            return Ok(false);
        }
        if first.length > first.original_length && first.original_length > 0 {
            let other = first.total - (first.length - first.original_length) as usize;
            let bytes = window.fill(other.saturating_add(self.header_length()))?;
            let next = bytes.get(other..).and_then(|bytes| self.record(bytes));
            if next.is_some_and(|next| self.is_plain(&next) && self.is_later(next.seconds)) {
                return Ok(false);
            }
        }
        let mut habits = self.habits.clone();
        habits.learn(first, self.units_per_second);
        let (mut record, mut end) = (*first, first.total);
        for number in 0..if is_long_ago || !is_usual { WITNESSES } else { 1 } {
            if number > 0 && end > LOOK_AHEAD {
                break;
            }
            let bytes = window.fill(end.saturating_add(self.header_length()))?;
            let Some(behind) = bytes.get(end..) else { return Ok(false) };
            if behind.is_empty() {
                return Ok(!is_long_ago || number >= FEWEST_WITNESSES);
            }
            let Some(next) = self.record(behind) else { return Ok(false) };
            let is_after_jump = !is_long_ago && next.seconds >= YEAR_2000 && is_usual;
            let is_back = !is_long_ago && self.is_in_time(next.seconds);
            let is_in_time = is_near(record.seconds, next.seconds) || is_back || is_after_jump;
            let is_plain = habits.is_usual(&next, self.units_per_second) && (!is_jump || habits.has_cut(&next));
            if !is_in_time || !self.is_possible(&next) || !is_plain {
                return Ok(false);
            }
            (record, end) = (next, end.saturating_add(next.total));
        }
        Ok(true)
    }

    /// Whether a time is not before those of the last packets, and near them; where there were none, whether it can be.
    fn is_later(&self, seconds: u32) -> bool {
        match self.recent.iter().min() {
            // Packets of several queues are not in order.
            Some(recent) => self.is_in_time(seconds) && seconds.saturating_add(1) >= *recent,
            None => seconds >= YEAR_2000,
        }
    }

    /// Whether a time is near that of the first or the last packet.
    fn is_in_time(&self, seconds: u32) -> bool {
        self.seconds.is_some_and(|known| known.iter().any(|known| is_near(*known, seconds)))
    }
}

impl Habits {
    /// Whether a record has nothing that is not a habit.
    fn is_usual(&self, record: &Record, units_per_second: u32) -> bool {
        let is_length = (1..=record.original_length).contains(&record.length) && record.original_length <= PACKET_LIMIT;
        (record.fraction < units_per_second || self.has_any_fraction) && (is_length || self.has_any_length)
    }

    /// Whether nothing was cut off a record but what is cut off others.
    fn has_cut(&self, record: &Record) -> bool {
        record.length >= record.original_length || self.has_any_cut || self.cuts.contains(&record.length)
    }

    /// Takes what a record has for a habit.
    fn learn(&mut self, record: &Record, units_per_second: u32) {
        self.has_any_fraction |= record.fraction >= units_per_second;
        self.has_any_length |= !(1..=record.original_length).contains(&record.length);
        if record.length < record.original_length && !self.cuts.contains(&record.length) {
            self.has_any_cut |= self.cuts.try_push(record.length).is_err();
        }
    }
}

/// The link layer of a pcap file, and the length to which its packets were cut.
fn pcap_link(order: ByteOrder, header: &[u8]) -> Result<(LinkType, u32), CaptureError> {
    let [_magic, version, _zone, _accuracy, snap_length, network] = order.words(header).unwrap_or_default();
    let (major, minor) = match order {
        ByteOrder::Little => (version as u16, (version >> 16) as u16),
        ByteOrder::Big => ((version >> 16) as u16, version as u16),
    };
    // Before 2.3 the two lengths of a record stood the other way round; no tool of this century writes that.
    if major != 2 || minor < 3 {
        return Err(CaptureError::Version { format: "pcap", offset: 0, major, minor });
    }
    // The upper bits say how long the frame check sequence is: IP's own length leaves it out anyway.
    Ok((LinkType(network as u16), snap_length))
}

/// The link layer of a snoop file.
fn snoop_link(order: ByteOrder, header: &[u8]) -> Result<LinkType, CaptureError> {
    const VERSION: u32 = 2;
    const IEEE_802_3: u32 = 0;
    const ETHERNET: u32 = 4;

    let [_, _, version, link] = order.words(header).unwrap_or_default();
    if version != VERSION {
        return Err(CaptureError::Version { format: "snoop", offset: 0, major: version as u16, minor: 0 });
    }
    match link {
        IEEE_802_3 | ETHERNET => Ok(LinkType::ETHERNET),
        link => Err(CaptureError::SnoopLink(link)),
    }
}

fn is_near(seconds: u32, others: u32) -> bool {
    seconds.abs_diff(others) <= NEAR_SECONDS
}
