//! What the fuzz targets do, with the corpora under `fuzz/corpus`, without a fuzzer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

/// Runs a target over its corpus and says which input fails.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    for path in paths {
        let data = fs::read(&path).unwrap();
        let result = std::panic::catch_unwind(|| run(&data));
        assert!(result.is_ok(), "{} fails", path.display());
    }
}

#[test]
fn frame() {
    replay("frame", targets::frame::run);
}

#[test]
fn capture() {
    replay("capture", targets::capture::run);
}

#[test]
fn paste() {
    replay("paste", targets::paste::run);
}

#[test]
fn schema() {
    replay("schema", targets::schema::run);
}

#[test]
fn stream() {
    replay("stream", targets::stream::run);
}
