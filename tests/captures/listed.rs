//! What the list says of records, from the headers of batches alone, against the batches themselves.

use crate::json::Json;
use crate::request_log::{CAPTURES, files};
use crate::support::{export, report};

/// What is said of the records of a message, all its partitions together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    records: usize,
    bytes: usize,
    commits: usize,
    aborts: usize,
}

/// The arrays of batches in a value, and their sizes.
fn fields<'j>(value: &'j Json, found: &mut Vec<(&'j Json, usize)>) {
    match value {
        Json::Object(members) => {
            if let Some(size) = value.at("_recordsSizeInBytes").int() {
                found.push((value.at("records"), usize::try_from(size).unwrap()));
            } else {
                for (_, member) in members {
                    fields(member, found);
                }
            }
        }
        Json::Array(elements) => {
            for element in elements {
                fields(element, found);
            }
        }
        _ => {}
    }
}

fn exported(batches: &[(&Json, usize)]) -> Sum {
    let mut sum = Sum::default();
    for (batches, size) in batches {
        sum.bytes += size;
        for batch in batches.elements() {
            let records = batch.at("records").elements();
            if *batch.at("_isControlBatch") != Json::Bool(true) {
                sum.records += records.len();
                continue;
            }
            // KIP-98: a version and a type as two int16.
            match records.first().and_then(|record| record.at("key").text()) {
                Some("\0\0\0\u{1}") => sum.commits += 1,
                Some("\0\0\0\0") => sum.aborts += 1,
                _ => {}
            }
        }
    }
    sum
}

/// Sums up the words of a line.
fn listed(line: &str) -> Sum {
    let mut sum = Sum::default();
    let words: Vec<&str> = line.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
    for pair in words.windows(2) {
        let number = pair[0].replace(',', "").parse().unwrap_or(1);
        match pair[1].trim_end_matches([',', ';']) {
            "record" | "records" => sum.records += number,
            "B" => sum.bytes += number,
            "COMMIT" => sum.commits += number,
            "ABORT" => sum.aborts += number,
            _ => {}
        }
    }
    sum
}

#[test]
fn records_are_counted_without_a_look_at_them() {
    let mut problems = Vec::new();
    let mut compared = 0;
    for (name, _) in CAPTURES {
        let Some((capture, _)) = files(name) else { continue };
        let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").arg("list").arg(&capture).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().skip(1).filter(|line| !line.starts_with("--"));
        for message in export(&capture) {
            let line = lines.next().unwrap();
            let mut found = Vec::new();
            fields(message.at("body"), &mut found);
            let has_old = found.iter().flat_map(|(batches, _)| batches.elements()).any(|batch| {
                // How many records are in a compressed message of the old formats only its inside says.
                batch.at("magic").int() < Some(2) && batch.at("_compression").text() != Some("none")
            });
            // Longer lines are cut, and more bytes are told in KiB; what a broker says of an error is not told beside it.
            let is_plain = line.chars().count() < 300 && !line.contains("KiB") && !line.contains("MiB");
            if found.len() > 4 || has_old || !is_plain || found.iter().all(|(_, size)| *size == 0) {
                continue;
            }
            let (expected, listed) = (exported(&found), listed(line));
            if expected != listed {
                problems.push(format!("{name}: {expected:?}, not {listed:?}: {line}"));
            }
            compared += 1;
        }
    }
    report(&problems);
    eprintln!("{compared} messages with records");
    assert!(compared >= 100, "{compared}");
}
