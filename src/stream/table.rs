//! The connections that are known, and what is to be done when time goes by.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};

use crate::capture::{Segment, Time};

use super::flow::{Flow, Key, Side, has_data};
use super::half::HOLE_TIME;
use super::output::Output;
use super::{Close, Counters, Limits, StreamSink};

/// How many closed and never used connections are remembered.
const REMEMBERED: usize = 65_536;

/// How many waiting connections are looked at for one packet: more than one packet can add, and not all that there are.
const LOOKS: usize = 16;

/// Rebuilds the streams of TCP connections. The rules are those of the [module](super).
///
/// Memory: about 300 bytes for a connection that is known, and what [`Limits`] allow for segments that are held.
#[derive(Debug)]
pub struct Reassembler {
    limits: Limits,
    counters: Counters,
    index: HashMap<Key, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The slot of the packet before: mostly that of the next one, too.
    last: u32,
    /// Slots whose connection waits for something, by the time at which to look again. Each is here at most once.
    waiting: VecDeque<(Time, u32)>,
    /// Slots whose connection may be forgotten, the oldest first. Each is here at most once.
    idle: VecDeque<u32>,
    /// Where the search for a connection to evict goes on.
    hand: usize,
    held_bytes: usize,
    /// Number and time of the last packet.
    now: (u64, Time),
}

/// A place for a connection.
#[derive(Debug, Default)]
struct Slot {
    flow: Option<Flow>,
    in_waiting: bool,
    in_idle: bool,
}

impl Default for Reassembler {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Reassembler {
    /// A reassembler that knows no connection yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            counters: Counters::default(),
            index: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            last: 0,
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            hand: 0,
            held_bytes: 0,
            now: (0, Time::default()),
        }
    }

    /// What was odd until now.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes that are held until a hole before them is filled or given up, with what it takes to keep them.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Takes the next segment of the capture.
    pub fn push<S: StreamSink>(&mut self, segment: &Segment<'_>, sink: &mut S) {
        self.counters.segments += 1;
        self.now = (segment.packet, segment.time);
        let (key, side) = Key::of(segment);
        if let Some(slot) = self.slot(key, side, segment, sink) {
            self.last = slot;
            self.with_flow(slot, sink, |flow, out| flow.take(side, segment, out));
        }
        self.look_again(sink);
    }

    /// Tells all that is held, and closes all connections. The counters stay.
    pub fn finish<S: StreamSink>(&mut self, sink: &mut S) {
        let mut open: Vec<_> = (0..)
            .zip(&self.slots)
            .filter_map(|(slot, place)| place.flow.as_ref().map(|flow| (flow.id(), slot)))
            .collect();
        // Numbers first: a connection that has none yet gets one behind all others.
        open.sort_unstable_by_key(|&(id, slot)| (id.0 == 0, id, slot));
        for (_, slot) in open {
            self.with_flow(slot, sink, |flow, out| flow.close(Close::EndOfCapture, out));
        }
        self.index.clear();
        self.slots.clear();
        self.free.clear();
        self.waiting.clear();
        self.idle.clear();
    }

    /// The slot of a segment's connection; None when the segment belongs to none and begins none.
    fn slot<S: StreamSink>(&mut self, key: Key, side: Side, segment: &Segment<'_>, sink: &mut S) -> Option<u32> {
        let known = if self.flow(self.last).is_some_and(|flow| flow.key == key) {
            Some(self.last)
        } else {
            self.index.get(&key).copied()
        };
        let replaced = known.and_then(|slot| self.flow(slot)).is_some_and(|flow| flow.is_replaced_by(side, segment));
        match known {
            Some(slot) if replaced => {
                self.with_flow(slot, sink, |flow, out| flow.close(Close::Reused, out));
                self.place(slot, Flow::new(key, side, segment));
                Some(slot)
            }
            Some(slot) => Some(slot),
            // Without data there is nothing to tell, and scans must not fill the table.
            None if segment.syn || has_data(segment) => {
                let slot = self.free_slot(sink);
                self.index.insert(key, slot);
                self.place(slot, Flow::new(key, side, segment));
                Some(slot)
            }
            None => None,
        }
    }

    fn flow(&self, slot: u32) -> Option<&Flow> {
        self.slots.get(slot as usize)?.flow.as_ref()
    }

    fn place(&mut self, slot: u32, flow: Flow) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.flow = Some(flow);
        }
    }

    /// Lets a connection do something, and puts it where it is found again if it waits or is idle now.
    fn with_flow<S: StreamSink>(&mut self, slot: u32, sink: &mut S, act: impl FnOnce(&mut Flow, &mut Output<'_, S>)) {
        let Some(place) = self.slots.get_mut(slot as usize) else {
            return;
        };
        let Some(flow) = &mut place.flow else { return };
        let (packet, time) = self.now;
        let mut out = Output {
            sink,
            counters: &mut self.counters,
            limits: &self.limits,
            held_bytes: &mut self.held_bytes,
            packet,
            time,
        };
        act(flow, &mut out);
        if flow.is_waiting() && !place.in_waiting {
            place.in_waiting = true;
            self.waiting.push_back((time.after(HOLE_TIME), slot));
        }
        if flow.is_idle() && !place.in_idle {
            place.in_idle = true;
            self.idle.push_back(slot);
        }
    }

    /// Looks after connections that have waited long enough, that hold too much, or that may be forgotten.
    fn look_again<S: StreamSink>(&mut self, sink: &mut S) {
        let (_, now) = self.now;
        for _ in 0..LOOKS {
            let Some(&(due, slot)) = self.waiting.front() else {
                break;
            };
            // Due far ahead: the clock of the capture was set back.
            if now < due && due.since(now) <= 2 * HOLE_TIME {
                break;
            }
            self.take_off_waiting();
            self.with_flow(slot, sink, Flow::advance);
        }
        while self.held_bytes > self.limits.total {
            let Some(slot) = self.take_off_waiting() else {
                break;
            };
            self.with_flow(slot, sink, Flow::flush);
        }
        while self.idle.len() > REMEMBERED {
            let Some(slot) = self.idle.pop_front() else {
                break;
            };
            if let Some(place) = self.slots.get_mut(slot as usize) {
                place.in_idle = false;
                if place.flow.as_ref().is_some_and(Flow::is_idle) {
                    self.forget(slot);
                }
            }
        }
    }

    fn take_off_waiting(&mut self) -> Option<u32> {
        let (_, slot) = self.waiting.pop_front()?;
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.in_waiting = false;
        }
        Some(slot)
    }

    /// Forgets a connection and frees its slot.
    fn forget(&mut self, slot: u32) {
        if let Some(flow) = self.slots.get_mut(slot as usize).and_then(|place| place.flow.take()) {
            self.index.remove(&flow.key);
            self.free.push(slot);
        }
    }

    /// A slot without a connection: a free one, a new one, or that of a connection that was idle.
    fn free_slot<S: StreamSink>(&mut self, sink: &mut S) -> u32 {
        if self.free.is_empty() && self.slots.len() >= self.limits.connections.max(1) {
            let slot = self.next_to_evict();
            let was_open = self.flow(slot).is_some_and(|flow| !flow.is_closed());
            self.counters.evicted += u64::from(was_open);
            self.with_flow(slot, sink, |flow, out| flow.close(Close::Evicted, out));
            self.forget(slot);
        }
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        })
    }

    /// The clock algorithm: the hand passes over those that had a packet since it last came by.
    fn next_to_evict(&mut self) -> u32 {
        for _ in 0..2 * self.slots.len() {
            self.hand = (self.hand + 1) % self.slots.len();
            match self.slots.get_mut(self.hand).and_then(|place| place.flow.as_mut()) {
                Some(flow) if flow.recent && !flow.is_idle() => flow.recent = false,
                _ => break,
            }
        }
        self.hand as u32
    }
}
