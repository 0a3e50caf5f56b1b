//! Captures that are still being written.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Lists a file for as long as it grows.
fn follow(path: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("kafkascope"))
        .args(["-q", "list", "--follow"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_file_that_grows_is_listed_as_it_grows() {
    let whole = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/captures/44-kafkajs-gzip.pcap")).unwrap();
    let listed = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
        .args(["-q", "list", "-"])
        .write_stdin(whole.clone())
        .output()
        .unwrap()
        .stdout;
    let expected: Vec<String> = listed.lines().map(Result::unwrap).collect();
    assert!(expected.len() > 20);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.pcap");
    let mut file = File::create(&path).unwrap();
    // Not even the header is there when it begins, and parts end inside of records.
    file.write_all(&whole[..7]).unwrap();
    let mut child = follow(&path);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let half = whole.len() / 2;
    file.write_all(&whole[7..half]).unwrap();
    // These come while the file is not whole yet.
    let mut found: Vec<String> = lines.by_ref().take(10).collect();
    assert_eq!(found, expected[..10]);
    file.write_all(&whole[half..]).unwrap();
    found.extend(lines.by_ref().take(expected.len() - 10));
    assert_eq!(found, expected);
    // A part of one more record is no damage: it is not there yet.
    file.write_all(&whole[24..50]).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(lines.next(), None);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_file_that_was_cut_or_removed_is_said() {
    type Change = fn(&Path);
    let changes: [(Change, &str); 3] = [
        (|path| File::options().write(true).open(path).unwrap().set_len(100).unwrap(), "it has become shorter"),
        (|path| fs::remove_file(path).unwrap(), "it was removed"),
        (
            |path| {
                fs::write(path.with_extension("new"), b"another").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            "another file has its name",
        ),
    ];
    let whole = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/captures/44-kafkajs-gzip.pcap")).unwrap();
    for (change, said) in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("growing.pcap");
        fs::write(&path, &whole).unwrap();
        let mut child = follow(&path);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.by_ref().take(10).count(), 10);
        change(&path);
        // All that was there has come, and it ends by itself.
        assert!(lines.count() > 10);
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(said), "{error}");
        assert_eq!((output.status.code(), error.lines().count()), (Some(3), 1), "{error}");
    }
}
