//! One line a message, for people.

use std::fmt::Write;

use crate::conversation::Message;
use crate::protocol::Side;

/// Appends the line in front of a message's tree: number, time, who to whom, latency.
pub fn heading(out: &mut String, message: &Message<'_, '_>) {
    let (from, to) = match message.side() {
        Side::Request => (message.client, message.broker),
        Side::Response => (message.broker, message.client),
    };
    // Writing into a string cannot fail.
    let _ = write!(out, "#{} {} {from} -> {to}", message.index, message.time);
    if let Some(exchange) = message.request {
        let microseconds = exchange.latency / 1000;
        let _ = write!(
            out,
            ", answers #{} after {}.{:03} ms",
            exchange.request,
            microseconds / 1000,
            microseconds.abs() % 1000
        );
    }
    out.push('\n');
}
