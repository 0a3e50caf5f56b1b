//! What the list says of records, from the headers of batches alone: bytes against what the brokers logged, counts against
//! what Kafka's own reader found in the topic, and both against the opened batches.

use crate::json::Json;
use crate::request_log::{CAPTURES, base, files, logged_response};
use crate::support::{export, key_log_option, lines, port, read, report, shared};

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

/// The sizes of the records fields that a broker logged.
fn logged_bytes(value: &Json) -> usize {
    match value {
        Json::Object(members) => {
            let own = value.at("recordsSizeInBytes").int().map_or(0, |size| usize::try_from(size).unwrap());
            own + members.iter().map(|(_, member)| logged_bytes(member)).sum::<usize>()
        }
        Json::Array(elements) => elements.iter().map(logged_bytes).sum(),
        _ => 0,
    }
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
    let (mut compared, mut held) = (0, 0);
    for (name, _) in CAPTURES {
        let Some((capture, log)) = files(name) else { continue };
        let of_log = |message: &Json| {
            let key = ["apiKey", "apiVersion", "correlationId"].map(|key| message.at(key).int());
            let port = port(message.at("client"));
            let is_same = |logged: &&Json| {
                logged.at("connection").int() == Some(port)
                    && ["apiKey", "version", "correlationId"].map(|key| logged.at(key).int()) == key
            };
            let mut same = log.iter().filter(is_same);
            let logged = same.next().filter(|_| same.next().is_none())?;
            let is_request = message.at("type").text() == Some("request");
            Some(logged_bytes(if is_request { logged.at("request") } else { logged_response(logged, &log) }))
        };
        let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
            .arg("list")
            .args(key_log_option(&capture))
            .arg(&capture)
            .output()
            .unwrap();
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
            // Older brokers log no sizes of what is fetched.
            if let Some(bytes) = of_log(&message).filter(|bytes| *bytes > 0) {
                held += 1;
                if bytes != listed.bytes {
                    problems.push(format!("{name}: {bytes} bytes logged: {line}"));
                }
            }
            if expected != listed {
                problems.push(format!("{name}: {expected:?}, not {listed:?}: {line}"));
            }
            compared += 1;
        }
    }
    report(&problems);
    eprintln!("{compared} messages with records, {held} of them logged");
    assert!(compared >= 100 && held * 2 >= compared, "{compared} {held}");
}

/// The scenario's producer writes each record of its topic once, so what the list says of its requests is what Kafka's own
/// reader found in the log in the end.
#[test]
fn as_many_records_are_produced_as_the_topic_has() {
    let Some(folder) = shared("captures/expected") else { return };
    let mut problems = Vec::new();
    let mut topics = 0;
    // The one has its base twice; in the other other topics are written to as well.
    for (name, _) in CAPTURES.iter().filter(|(name, _)| !name.contains("-reuse") && !name.contains("-streams-eos")) {
        let path = folder.join(format!("{}.batches.jsonl", base(name)));
        let (true, Some((capture, _))) = (path.exists(), files(name)) else { continue };
        let batches = lines(&read(&path));
        let is_data =
            |line: &&Json| line.at("kind").text() == Some("batch") && line.at("isControl").text() == Some("false");
        let count = |line: &Json| line.at("count").text().map_or(0, |count| count.parse::<usize>().unwrap());
        let expected: usize = batches.iter().filter(is_data).map(count).sum();
        let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
            .arg("list")
            .args(key_log_option(&capture))
            .arg(&capture)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let produced: usize = text
            .lines()
            .filter(|line| line.contains(" → ") && line.contains(" Produce "))
            .map(|line| listed(line).records)
            .sum();
        if produced != expected {
            problems.push(format!("{name}: {produced} records produced, {expected} in the topic"));
        }
        topics += 1;
    }
    report(&problems);
    assert!(topics >= 14, "{topics}");
}
