//! What the connections in TLS share: where they tell what they open, secrets, room and effort.

use super::channel::{Channel, Closed};
use super::keylog::KeyLog;
use super::sessions::Sessions;
use super::{Counters, Waiting};
use crate::capture::Spool;
use crate::stream::{Close, StreamSink};

/// Bytes that all connections may have waiting for a key.
const MOST_WAITING_IN_ALL: usize = 64 << 20;
/// Bytes that a direction may look at for nothing between two records that open, and when too much was looked at already.
pub(super) const MOST_WORK: u64 = 64 << 20;
const LEAST_WORK: u64 = 1 << 20;

/// What channels work with.
pub(super) struct Work<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) keys: &'a mut KeyLog,
    pub(super) counters: &'a mut Counters,
    pub(super) closed: &'a mut Waiting,
    /// Where plaintext is kept, and the number of that source.
    pub(super) spool: &'a mut Option<(Spool, u16)>,
    /// Bytes that wait in all channels.
    pub(super) waiting: &'a mut usize,
    pub(super) effort: &'a mut Effort,
    pub(super) sessions: &'a mut Sessions,
}

impl<S: StreamSink> Work<'_, S> {
    /// Whether there is room for what waits, when closed connections that do are let go.
    pub(super) fn makes_room(&mut self) -> bool {
        while *self.waiting > MOST_WAITING_IN_ALL {
            let Some((mut channel, how)) = self.closed.pop_front() else { return false };
            self.wait_no_more(&mut channel);
            self.end(channel, how);
        }
        true
    }

    /// Lets a connection that is closed wait for its secrets.
    pub(super) fn wait(&mut self, mut channel: Box<Channel>, how: Close) {
        *self.waiting += channel.room();
        if channel.opened().is_none() {
            let why = channel.lacking();
            channel.counted = Some(why);
            count(self.counters, why, |count| *count += 1);
        }
        self.closed.push_back((channel, how));
        self.makes_room();
    }

    /// Takes back that a connection waits that is closed.
    pub(super) fn wait_no_more(&mut self, channel: &mut Channel) {
        *self.waiting = self.waiting.saturating_sub(channel.room());
        if let Some(why) = channel.counted.take() {
            count(self.counters, why, |count| *count = count.saturating_sub(1));
        }
    }

    /// Tells the last of a connection, and counts it where nothing could be told.
    pub(super) fn end(&mut self, mut channel: Box<Channel>, how: Close) {
        channel.finish(self);
        if let Some(connection) = channel.opened() {
            self.sink.close(connection, how);
        } else if let Some(why) = channel.closed() {
            count(self.counters, why, |count| *count += 1);
        }
    }
}

fn count(counters: &mut Counters, why: Closed, act: impl FnOnce(&mut u64)) {
    let counter = match why {
        Closed::NoKeys => &mut counters.without_keys,
        Closed::Begun => &mut counters.begun_before,
        Closed::Torn => &mut counters.torn,
        Closed::Unfinished => &mut counters.unfinished,
        Closed::Unsupported(tls) => counters.unsupported.entry(tls).or_default(),
        Closed::Unauthentic => return,
    };
    act(counter);
}

/// What was heard of all channels, and what was looked at for nothing.
#[derive(Debug, Default)]
pub(super) struct Effort {
    pub(super) heard: u64,
    pub(super) spent: u64,
    /// Keys that were tried on records of unknown connections.
    pub(super) tried_keys: u64,
}

impl Effort {
    /// How many bytes a direction may look at for nothing.
    pub(super) fn allowed(&self) -> u64 {
        let is_moderate = self.spent < (MOST_WORK << 2).saturating_add(self.heard.saturating_mul(16));
        if is_moderate { MOST_WORK } else { LEAST_WORK }
    }
}
