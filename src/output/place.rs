//! Who sent a message to whom, and over which interface: what captures call them beside what they are.

use std::net::IpAddr;

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

/// What an interface is called: its name, or what stands for one, its description or its number (`#0`, and `FILE#0` where
/// there are several captures). With any characters.
pub(crate) fn interface_name(interface: &Interface) -> String {
    match (interface.number, &interface.capture) {
        (Some(number), Some(capture)) => format!("{capture}#{number}"),
        (Some(number), None) => format!("#{number}"),
        (None, _) if interface.name.is_empty() => interface.description.clone(),
        (None, _) => interface.name.clone(),
    }
}

/// The same with escapes, and its description in brackets where it has both.
pub(crate) fn interface_label(interface: &Interface) -> String {
    let (name, description) = (&interface.name, &interface.description);
    if name.is_empty() || description.is_empty() || name == description {
        return escaped(&interface_name(interface));
    }
    escaped(&format!("{name} ({description})"))
}

/// The interfaces that brought a message, where the capture has several, by what `text` makes of them: each text once.
pub(crate) fn interfaces(message: &Message<'_, '_>, text: impl Fn(&Interface) -> String) -> Vec<String> {
    if !message.names.has_several_interfaces() {
        return Vec::new();
    }
    let mut ids: Vec<InterfaceId> = message.pieces.iter().map(|piece| piece.place.interface).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut texts = Vec::new();
    for interface in ids.into_iter().filter_map(|id| message.names.interface(id)) {
        let text = text(&interface);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_called_by_what_they_have() {
        let interface = |name: &str, description: &str, number, capture: Option<&str>| {
            let (name, description) = (name.to_owned(), description.to_owned());
            let interface = Interface { name, description, number, capture: capture.map(Into::into) };
            (interface_name(&interface), interface_label(&interface))
        };
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(interface("eth0", "", None, None), both("eth0"));
        assert_eq!(interface("", "uplink", None, None), both("uplink"));
        assert_eq!(interface("lo", "lo", None, None), both("lo"));
        assert_eq!(interface("", "", Some(2), None), both("#2"));
        assert_eq!(interface("", "", Some(0), Some("b.pcapng")), both("b.pcapng#0"));
        assert_eq!(interface("en0", "Wi-Fi\n", None, None), ("en0".into(), r"en0 (Wi-Fi\n)".into()));
    }
}
