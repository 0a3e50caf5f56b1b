//! The programs that can capture.

use std::path::{Path, PathBuf};

use super::{LiveError, LiveOptions};

/// A program that captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool {
    kind: Kind,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Own,
    Dumpcap,
    Tcpdump,
}

/// In the order in which they are tried.
const KINDS: [Kind; 3] = [Kind::Own, Kind::Dumpcap, Kind::Tcpdump];

/// With this argument all of them list the interfaces.
pub(super) const LIST: &str = "-D";

/// Tries the programs that are there until one can do it at all.
pub(super) fn first_that_works<T>(
    what: &str,
    mut attempt: impl FnMut(&Tool) -> Result<T, LiveError>,
) -> Result<T, LiveError> {
    let mut unusable = Vec::new();
    for tool in tools() {
        match attempt(&tool) {
            Err(LiveError::Unavailable { says }) => unusable.push(says),
            outcome => return outcome,
        }
    }
    Err(LiveError::NoTool { what: what.to_owned(), unusable })
}

fn tools() -> Vec<Tool> {
    let beside = std::env::current_exe().ok().into_iter().flat_map(|program| {
        let whole = program.canonicalize().ok();
        [Some(program), whole].into_iter().flatten().filter_map(|path| path.parent().map(Path::to_path_buf))
    });
    let beside: Vec<PathBuf> = beside.collect();
    let on_path: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    // Users have no path to these, but may run what is in them.
    let system = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let find = |kind: Kind| {
        let name = format!("{}{}", kind.name(), std::env::consts::EXE_SUFFIX);
        let own = beside.iter().filter(|_| kind == Kind::Own);
        let mut folders = own.chain(&on_path).chain(&system).filter(|folder| !folder.as_os_str().is_empty());
        folders.find_map(|folder| Some(folder.join(&name)).filter(|path| path.is_file()))
    };
    KINDS.into_iter().filter_map(|kind| find(kind).map(|path| Tool { kind, path })).collect()
}

impl Tool {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn name(&self) -> &'static str {
        self.kind.name()
    }

    pub(super) fn is_own(&self) -> bool {
        self.kind == Kind::Own
    }

    /// Whether what it writes says how many packets were dropped.
    pub(super) fn tells_drops(&self) -> bool {
        self.kind != Kind::Tcpdump
    }

    /// The arguments with which it captures to its standard output.
    pub(super) fn arguments(&self, options: &LiveOptions) -> Vec<String> {
        let LiveOptions { interface, filter, snap_length, buffer, promiscuous, packets, bytes: _ } = options;
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        // Each value that a person gave is joined to its option where that is possible: it may begin with a dash.
        match self.kind {
            Kind::Own => {
                add(&[&format!("--interface={interface}"), &format!("--filter={filter}")]);
                add(&["-s", &snap_length.to_string(), "-B", &buffer.to_string()]);
                if *promiscuous {
                    add(&["--promiscuous"]);
                }
            }
            Kind::Dumpcap => {
                add(&["-q", "-i", interface, "-f", filter, "-w", "-"]);
                add(&["-s", &snap_length.to_string(), "-B", &buffer.to_string()]);
                if !*promiscuous {
                    add(&["-p"]);
                }
            }
            Kind::Tcpdump => {
                add(&["-n", "-U", "-i", interface, "-w", "-"]);
                // In KiB.
                add(&["-s", &snap_length.to_string(), "-B", &(u64::from(*buffer) * 1024).to_string()]);
                if !*promiscuous {
                    add(&["-p"]);
                }
            }
        }
        if let Some(packets) = packets {
            add(&["-c", &packets.to_string()]);
        }
        if self.kind == Kind::Tcpdump {
            add(&["--", filter]);
        }
        arguments
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Own => "kafkascope-capture",
            Self::Dumpcap => "dumpcap",
            Self::Tcpdump => "tcpdump",
        }
    }
}

#[cfg(test)]
impl Tool {
    pub(super) fn of(name: &str, path: &Path) -> Self {
        let kind = KINDS.into_iter().find(|kind| kind.name() == name).unwrap();
        Self { kind, path: path.to_owned() }
    }
}
