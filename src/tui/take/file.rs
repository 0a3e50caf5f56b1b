//! Files that are written.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::output::table::harmless;

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tui) struct Target {
    path: PathBuf,
    /// What was typed.
    shown: String,
    /// Whether it is there already: then whoever goes on wants it overwritten.
    pub(super) is_there: bool,
}

impl Target {
    /// A file by its name; `~/` is the home folder.
    ///
    /// # Errors
    /// Why it can be no file; a sentence.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("nothing was written: a file needs a name".to_owned());
        }
        let shown = harmless(text);
        let home = || std::env::var_os("HOME").filter(|home| !home.is_empty());
        let mut path = match (text.strip_prefix("~/"), home()) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => PathBuf::from(text),
        };
        let is_there = match fs::metadata(&path) {
            Ok(about) if about.is_dir() => return Err(format!("{shown} is a folder; give the name of a file")),
            Ok(about) if !about.is_file() => {
                return Err(format!("{shown} is there, and is no file that can be written"));
            }
            Ok(_) => {
                // What a link leads to is overwritten, not the link.
                path = fs::canonicalize(&path).map_err(|error| cannot(&shown, &error))?;
                true
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(cannot(&shown, &error)),
        };
        Ok(Self { path, shown, is_there })
    }

    /// A file beside it, which takes its place when all is written: whoever stops leaves nothing behind, and a capture
    /// that is open can be overwritten.
    pub(super) fn begin(&self) -> Result<NamedTempFile, String> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".kafkascope-");
        // As other new files: what the umask leaves.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(folder).map_err(|error| cannot(&self.shown, &error))
    }

    /// Puts it in its place. A file that has come there in the meantime is left alone.
    pub(super) fn end(&self, file: NamedTempFile) -> Result<(), String> {
        let ended = if self.is_there { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
        ended.map(drop).map_err(|error| cannot(&self.shown, &error.error))
    }

    /// Writes it as a whole.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let mut file = self.begin()?;
        file.write_all(bytes).map_err(|error| cannot(&self.shown, &error))?;
        self.end(file)
    }

    /// What to say when a write has failed.
    pub(super) fn cannot(&self, error: &io::Error) -> String {
        cannot(&self.shown, error)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn cannot(shown: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::AlreadyExists => "it is there now; choose another name".to_owned(),
        _ => harmless(&error.to_string()),
    };
    format!("cannot write {shown}: {why}")
}

/// The name of a file for what is copied of a message, without its ending.
pub(super) fn stem(number: u64, name: Option<&String>) -> String {
    let mut stem = format!("message-{number}");
    let Some(name) = name else { return stem };
    let mut is_gap = true;
    for letter in name.chars().take(60) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            if is_gap {
                stem.push('-');
            }
            stem.push(letter);
            is_gap = false;
        } else {
            is_gap = true;
        }
    }
    stem
}
