//! Where the secrets of a capture lie.

use std::path::{Path, PathBuf};

/// The key log beside a capture whose name begins with its name, as those of variants do.
pub(crate) fn key_log(capture: &Path) -> Option<PathBuf> {
    let name = capture.file_name()?.to_str()?;
    let files = std::fs::read_dir(capture.parent()?).ok()?.map(|file| file.unwrap().path());
    files.into_iter().find(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        path.extension().is_some_and(|ending| ending == "keylog") && stem.is_some_and(|stem| name.starts_with(stem))
    })
}
