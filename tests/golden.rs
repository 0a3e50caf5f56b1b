//! What the program prints of the captures in `captures/`, held against the files beside them.
//!
//! `captures/NAME.expected/` holds `list.txt` and `summary.txt` of every capture (what `list` prints, and what is said
//! on standard error at the end), and where they are wanted `messages.ndjson` (`export`) and `tree.txt` (the first
//! messages of `show`). Whether what is printed is true is for other tests to say (`tests/captures`); these show in a
//! review what a change does to what people see. To write the files anew:
//!
//! ```text
//! KAFKASCOPE_BLESS=1 cargo test --test golden
//! ```
//!
//! To add a case put a capture into the folder, and an empty `messages.ndjson` or `tree.txt` where they are wanted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

#[path = "common/keys.rs"]
mod keys;

/// A file with what is expected, and the command that prints it.
struct Expected {
    file: &'static str,
    command: &'static [&'static str],
    /// Whether every case has it; the others are compared where they are.
    always: bool,
}

const EXPECTED: [Expected; 4] = [
    Expected { file: "list.txt", command: &["list"], always: true },
    Expected { file: "summary.txt", command: &["export", "--output", "/dev/null"], always: true },
    Expected { file: "messages.ndjson", command: &["export"], always: false },
    Expected { file: "tree.txt", command: &["show", "--count", "12"], always: false },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures")
}

/// Runs the program in the folder, so that no path of this machine is printed.
fn run(arguments: &[&str], capture: &str) -> Output {
    assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
        .current_dir(folder())
        .env_remove("SSLKEYLOGFILE")
        .env_remove("COLUMNS")
        .args(arguments)
        .args(
            keys::key_log(&folder().join(capture))
                .and_then(|log| Some(format!("--keylog={}", log.file_name()?.to_str()?))),
        )
        .arg(capture)
        .output()
        .unwrap()
}

fn printed(expected: &Expected, capture: &str) -> String {
    let output = run(expected.command, capture);
    let code = output.status.code().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    if expected.file == "summary.txt" {
        return format!("exit {code}\n{errors}");
    }
    assert!(matches!(code, 0 | 3), "{capture}: exit {code}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the program has a command.
fn is_known(command: &str) -> bool {
    run(&[command], "--help").status.success()
}

/// The names of the captures, in order.
fn captures() -> Vec<String> {
    let names = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut captures: Vec<String> =
        names.filter(|name| matches!(name.rsplit_once('.'), Some((_, "pcap" | "pcapng")))).collect();
    captures.sort();
    captures
}

/// The first line that differs, as a person wants to see it.
fn first_difference(expected: &str, printed: &str) -> String {
    let (mut expected, mut printed) = (expected.lines(), printed.lines());
    for number in 1.. {
        let (before, now) = (expected.next(), printed.next());
        if before != now || before.is_none() {
            let shown =
                |line: Option<&str>| line.map_or("(no line)".to_owned(), |line| line.chars().take(300).collect());
            return format!("line {number}\n    expected: {}\n    printed:  {}", shown(before), shown(now));
        }
    }
    unreachable!("both end")
}

#[test]
fn captures_are_shown_as_they_were() {
    let bless = std::env::var_os("KAFKASCOPE_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    let captures = captures();
    let mut differences = Vec::new();
    let mut compared = 0;
    for capture in &captures {
        let (stem, _) = capture.rsplit_once('.').unwrap();
        let case = folder().join(format!("{stem}.expected"));
        for expected in &EXPECTED {
            let path = case.join(expected.file);
            if !expected.always && !path.exists() {
                continue;
            }
            if !is_known(expected.command[0]) {
                eprintln!("SKIPPED: {stem}.expected/{}: there is no command {}", expected.file, expected.command[0]);
                continue;
            }
            let printed = printed(expected, capture);
            compared += 1;
            let before = fs::read_to_string(&path).unwrap_or_default();
            if before == printed && path.exists() {
                continue;
            }
            if bless {
                fs::create_dir_all(&case).unwrap();
                fs::write(&path, &printed).unwrap();
                eprintln!("written: {stem}.expected/{}", expected.file);
            } else {
                differences.push(format!("{stem}.expected/{}, {}", expected.file, first_difference(&before, &printed)));
            }
        }
    }
    let count = differences.len();
    assert!(
        count == 0,
        "{count} of {compared} files differ; if that is right: KAFKASCOPE_BLESS=1 cargo test --test golden\n{}",
        differences.join("\n")
    );
    assert!(captures.len() >= 40, "{}", captures.len());
}

#[test]
fn every_expected_folder_has_its_capture() {
    let captures = captures();
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(stem) = name.strip_suffix(".expected") {
            assert!(captures.iter().any(|capture| capture.rsplit_once('.').unwrap().0 == stem), "{name}");
        }
    }
}
