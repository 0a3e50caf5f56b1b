//! Who sent a message to whom, and over which interface: what captures call them beside what they are.

use std::net::IpAddr;
use std::sync::Arc;

use crate::capture::{Interface, InterfaceId, Names};
use crate::conversation::Message;
use crate::dissect::display_text;

/// A text out of a capture, with escapes and without quotes.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = display_text(text.as_bytes());
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// What a host is called, with escapes.
pub(crate) fn host(names: &Names, address: IpAddr) -> Option<String> {
    names.host(address).map(|name| escaped(&name))
}

/// The interfaces that brought a message, where the capture has several, each once.
pub(crate) fn interfaces(message: &Message<'_, '_>) -> Vec<Arc<Interface>> {
    let mut ids: Vec<InterfaceId> = message.pieces.iter().map(|piece| piece.place.interface).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().filter_map(|id| message.names.interface(id)).collect()
}
