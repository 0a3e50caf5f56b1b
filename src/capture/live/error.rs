//! Why nothing is captured, and what to do about it.

use std::io;

use super::tool::Tool;
use super::{EXIT_NOT_PERMITTED, EXIT_UNAVAILABLE};

/// Why nothing is captured. What programs say is in it, which may hold any characters.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No program that could capture is there.
    #[error("cannot {what}: {}", nothing_there(.unusable))]
    NoTool {
        /// What was to be done.
        what: String,
        /// What those say that are there and cannot do it.
        unusable: Vec<String>,
    },
    /// A program is there, but cannot do it; another one may.
    #[error("{says}")]
    Unavailable {
        /// What it says.
        says: String,
    },
    /// The user may not capture.
    #[error("cannot capture on {interface}: permission denied; run: {remedy}")]
    NotPermitted {
        /// The interface.
        interface: String,
        /// The command that helps.
        remedy: String,
    },
    /// The system does not start the program.
    #[error("cannot run {program}: {says}")]
    CannotRun {
        /// Its path.
        program: String,
        /// What the system says, and what helps.
        says: String,
    },
    /// The program failed.
    #[error("cannot {what}: {says}")]
    Failed {
        /// What was to be done.
        what: String,
        /// What the program says.
        says: String,
    },
}

impl LiveError {
    /// What a program meant that ended with this exit code and these last lines.
    pub(super) fn of(tool: &Tool, interface: Option<&str>, code: Option<i32>, notes: &[String]) -> Self {
        let says = last_words(notes);
        let lower = notes.join(" ").to_lowercase();
        let is_code = |wanted: u8| tool.is_own() && code == Some(i32::from(wanted));
        if is_code(EXIT_UNAVAILABLE) {
            return Self::Unavailable { says };
        }
        let what = interface.map_or("list interfaces".to_owned(), |interface| format!("capture on {interface}"));
        let is_refused = is_code(EXIT_NOT_PERMITTED) || (!tool.is_own() && lower.contains("permi"));
        match interface {
            Some(interface) if is_refused => {
                Self::NotPermitted { interface: interface.to_owned(), remedy: remedy(tool) }
            }
            _ if tool.is_own() => Self::Failed { what, says },
            _ => Self::Failed { what, says: format!("{}: {says}", tool.name()) },
        }
    }

    pub(super) fn cannot_run(tool: &Tool, error: &io::Error) -> Self {
        let mut says = error.to_string();
        if error.kind() == io::ErrorKind::PermissionDenied {
            // What has capabilities is not started where they cannot be had.
            says.push_str(
                "; a file with capabilities runs only where they may be had: give a container --cap-add=NET_RAW \
                 --cap-add=NET_ADMIN",
            );
        }
        Self::CannotRun { program: tool.path().display().to_string(), says }
    }
}

/// What makes the program allowed to capture.
fn remedy(tool: &Tool) -> String {
    let path = tool.path().canonicalize().unwrap_or_else(|_| tool.path().to_owned());
    let path = quoted(&path.display().to_string());
    if cfg!(target_os = "linux") {
        format!("sudo setcap cap_net_raw,cap_net_admin=eip {path}")
    } else {
        "sudo chown $(id -un) /dev/bpf*".to_owned()
    }
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// What a program said last that is no matter of course.
pub(super) fn last_words(notes: &[String]) -> String {
    // What fails is told first, and then what to do about it.
    let first = notes.iter().find(|note| !is_usual(note)).or(notes.last());
    first.map_or_else(|| "the capturing program ended".to_owned(), |note| plain(note))
}

/// Whether tcpdump or dumpcap say it whatever happens, or say it and go on.
fn is_usual(note: &str) -> bool {
    let parts = [
        "listening on ",
        "Capturing on ",
        "File: ",
        "Packets captured: ",
        "Packets received/dropped ",
        "packets captured",
        "packets received by filter",
        "packets dropped by ",
        "WARNING",
        "Warning",
    ];
    parts.iter().any(|part| note.contains(part))
}

/// Without the name of the program in front, which is said anyway.
fn plain(note: &str) -> String {
    let names = ["kafkascope-capture: ", "dumpcap: ", "tcpdump: "];
    let name = names.iter().find(|name| note.starts_with(**name)).map_or(0, |name| name.len());
    note.get(name..).unwrap_or(note).to_owned()
}

fn nothing_there(unusable: &[String]) -> String {
    const BUILD: &str = "`cargo build --release` and `cargo install` build it (`cargo run` alone does not), and put it \
                         beside kafkascope";
    match unusable {
        [] => format!(
            "kafkascope-capture is neither beside kafkascope nor on the PATH: {BUILD}. dumpcap or tcpdump would do as well"
        ),
        unusable => format!("{}. dumpcap or tcpdump would do as well, and are not on the PATH", unusable.join("; ")),
    }
}
