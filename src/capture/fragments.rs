//! IP fragments to datagrams (RFC 791, RFC 8200).

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::iter;
use std::net::IpAddr;
use std::ops::Range;

use etherparse::{IpNumber, ip_number};
use foldhash::{HashMap, HashMapExt};

use super::Time;
use super::ip::{Ip, Piece};

/// No datagram is longer.
const LONGEST: usize = 65_535;
/// As many datagrams are remembered.
const MOST_DATAGRAMS: usize = 4096;
/// As many bytes of them.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// And as long, in nanoseconds of the capture's time.
const LONGEST_AGE: i64 = 30 * Time::SECOND;
/// What a datagram takes beside its bytes, about.
const OVERHEAD: usize = 256;

/// Datagrams of which fragments were seen. The first copy of a byte wins.
pub(super) struct Fragments {
    datagrams: HashMap<Key, Datagram>,
    /// In the order of their first fragments; some of them may be gone.
    order: VecDeque<(u64, Key)>,
    /// How many datagrams there were.
    begun: u64,
    bytes: usize,
    left_out: u64,
}

/// What the fragments of a datagram have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    identification: u32,
    /// None for IPv6, where only the first fragment says it for certain.
    protocol: Option<IpNumber>,
}

struct Datagram {
    number: u64,
    first: Time,
    protocol: IpNumber,
    bytes: Vec<u8>,
    /// What of the bytes is there, in order; no two ranges touch.
    there: Vec<Range<usize>>,
    /// Known from the last fragment.
    length: Option<usize>,
    fragments: u64,
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Taken,
    /// All of it was there before.
    Known,
    /// It contradicts those before it.
    Refused,
}

impl Fragments {
    pub(super) fn new() -> Self {
        Self { datagrams: HashMap::new(), order: VecDeque::new(), begun: 0, bytes: 0, left_out: 0 }
    }

    /// Whether a datagram of the protocol can lead to TCP, so that its fragments are of interest.
    pub(super) fn are_wanted(protocol: IpNumber) -> bool {
        !matches!(
            protocol,
            ip_number::ICMP | ip_number::IPV6_ICMP | ip_number::IGMP | ip_number::ENCAPSULATING_SECURITY_PAYLOAD
        )
    }

    /// Fragments of datagrams that could not be put together, so far.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Gives up what is not whole.
    pub(super) fn finish(&mut self) {
        while let Some((number, key)) = self.order.pop_front() {
            self.forget(number, key);
        }
    }

    /// Takes a fragment, and gives the datagram that it makes whole and what that is.
    pub(super) fn add(&mut self, ip: &Ip<'_>, piece: Piece, time: Time) -> Option<(IpNumber, &[u8])> {
        self.make_room(time);
        let end = piece.offset.saturating_add(ip.payload.len());
        let is_odd = piece.more && !ip.payload.len().is_multiple_of(8);
        if ip.payload.is_empty() || end > LONGEST || is_odd || ip.missing > 0 {
            self.left_out += 1;
            return None;
        }
        let key = Key {
            source: ip.source,
            destination: ip.destination,
            identification: piece.identification,
            protocol: ip.source.is_ipv4().then_some(ip.protocol),
        };
        if let Some(known) = self.datagrams.get(&key) {
            // A datagram that is whole is remembered for the copies of its fragments. Others have its number anew.
            let is_copy = known.is_whole() && known.has(ip.payload, piece);
            if is_copy {
                return None;
            }
            if known.is_whole() || time.since(known.first) > LONGEST_AGE {
                self.forget(known.number, key);
            }
        }
        let datagram = match self.datagrams.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.begun += 1;
                self.order.push_back((self.begun, key));
                self.bytes += OVERHEAD;
                entry.insert(Datagram::new(self.begun, time, ip.protocol))
            }
        };
        let before = datagram.size();
        let fate = datagram.add(ip, piece);
        self.bytes = self.bytes - before + datagram.size();
        self.left_out += u64::from(fate == Fate::Refused);
        (fate != Fate::Refused && datagram.is_whole()).then_some((datagram.protocol, &*datagram.bytes))
    }

    /// Forgets what is too old, and the oldest of what is too much.
    fn make_room(&mut self, time: Time) {
        while let Some(&(number, key)) = self.order.front() {
            let known = self.datagrams.get(&key).filter(|known| known.number == number);
            let is_old = known.is_none_or(|known| time.since(known.first) > LONGEST_AGE);
            if !is_old && self.order.len() < MOST_DATAGRAMS && self.bytes < MOST_BYTES {
                break;
            }
            self.order.pop_front();
            self.forget(number, key);
        }
    }

    fn forget(&mut self, number: u64, key: Key) {
        if let Entry::Occupied(entry) = self.datagrams.entry(key)
            && entry.get().number == number
        {
            let datagram = entry.remove();
            self.bytes -= datagram.size() + OVERHEAD;
            if !datagram.is_whole() {
                self.left_out += datagram.fragments;
            }
        }
    }
}

impl Datagram {
    fn new(number: u64, first: Time, protocol: IpNumber) -> Self {
        Self { number, first, protocol, bytes: Vec::new(), there: Vec::new(), length: None, fragments: 0 }
    }

    fn size(&self) -> usize {
        self.bytes.capacity() + self.there.capacity() * size_of::<Range<usize>>()
    }

    fn is_whole(&self) -> bool {
        matches!((&*self.there, self.length), ([there], Some(length)) if *there == (0..length))
    }

    /// Whether a fragment is a copy of what is there.
    fn has(&self, payload: &[u8], piece: Piece) -> bool {
        let end = piece.offset + payload.len();
        self.bytes.get(piece.offset..end) == Some(payload) && piece.more == (end < self.bytes.len())
    }

    fn add(&mut self, ip: &Ip<'_>, piece: Piece) -> Fate {
        let (start, end) = (piece.offset, piece.offset + ip.payload.len());
        let longest = self.there.last().map_or(0, |there| there.end);
        let contradicts = match (self.length, piece.more) {
            (Some(length), true) => end >= length,
            (Some(length), false) => end != length,
            (None, true) => false,
            (None, false) => longest > end,
        };
        if contradicts {
            return Fate::Refused;
        }
        if !piece.more {
            self.length = Some(end);
        }
        if start == 0 {
            self.protocol = ip.protocol;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let mut is_new = false;
        let mut at = start;
        let before = self.there.iter().filter(|there| there.end > start && there.start < end).cloned();
        for there in before.chain(iter::once(end..end)) {
            let gap = at..there.start.max(at);
            if let (false, Some(to), Some(from)) =
                (gap.is_empty(), self.bytes.get_mut(gap.clone()), ip.payload.get(gap.start - start..gap.end - start))
            {
                to.copy_from_slice(from);
                is_new = true;
            }
            at = at.max(there.end);
        }
        if !is_new {
            return Fate::Known;
        }
        self.mark(start..end);
        self.fragments += 1;
        Fate::Taken
    }

    /// Notes that the range is there.
    fn mark(&mut self, range: Range<usize>) {
        let first = self.there.partition_point(|there| there.end < range.start);
        let last = self.there.partition_point(|there| there.start <= range.end);
        let touched = self.there.get(first..last).unwrap_or_default();
        let start = touched.first().map_or(range.start, |there| there.start.min(range.start));
        let end = touched.last().map_or(range.end, |there| there.end.max(range.end));
        self.there.splice(first..last, iter::once(start..end));
    }
}

#[cfg(test)]
mod tests;
