//! What is odd about a capture, in words.

use crate::stream::{Tls, TlsCounters, TlsVersion};

/// What became of connections in TLS that could not be read. `has_keys` says whether a key log was given.
pub(crate) fn tls_notes(tls: &TlsCounters, has_keys: bool) -> Vec<String> {
    let connections = |count| counted(count, "connection in TLS", "connections in TLS");
    let hint = match (has_keys, tls.without_keys) {
        (true, _) => " whose keys are not in the key log",
        (false, 1) => ": give --keylog to read it",
        (false, _) => ": give --keylog to read them",
    };
    let unauthentic = "records that do not authenticate (wrong key log?)";
    let notes = [
        (tls.without_keys, format!("{}{hint}", connections(tls.without_keys))),
        (tls.begun_before, format!("{}, begun before the capture", connections(tls.begun_before))),
        (tls.torn, format!("{} with a hole in the handshake", connections(tls.torn))),
        (tls.unfinished, format!("{} with a handshake that does not end", connections(tls.unfinished))),
        (tls.broken_off, format!("{} not read to the end, as secrets are lacking", connections(tls.broken_off))),
        (tls.unauthentic, format!("{} with {unauthentic}", connections(tls.unauthentic))),
        (tls.forgotten, format!("secrets of {} let go for want of room", connections(tls.forgotten))),
        (tls.wrong_lines, counted(tls.wrong_lines, "wrong line in key logs", "wrong lines in key logs")),
    ];
    let unsupported = tls.unsupported.iter().map(|(Tls { version, suite }, count)| {
        let is_old = !matches!(*version, TlsVersion::TLS_1_2 | TlsVersion::TLS_1_3);
        let old = if is_old { format!("{version} and ") } else { String::new() };
        format!("{} with {old}{suite}, which is not supported", connections(*count))
    });
    let said = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note);
    said.chain(unsupported).collect()
}

/// A number and what is counted.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
