//! The tour: that it is what its example makes of the other captures, and shows what its chapters say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "common/json.rs"]
mod json;
#[allow(dead_code, reason = "its main function is for the example")]
#[path = "../examples/make_tour.rs"]
mod make_tour;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use json::Json;
use kafkascope::capture::CaptureReader;

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures")
}

#[test]
fn the_tour_is_what_its_example_makes() {
    let made = make_tour::tour(&captures()).unwrap();
    let committed = fs::read(captures().join("tour.pcapng")).unwrap();
    assert!(made == committed, "make it anew: cargo run --example make_tour");
    assert!(made.len() < 300_000, "{}", made.len());
}

/// A chapter: the number of its first packet, its title, and the messages that begin in it.
struct Chapter {
    packet: u64,
    title: String,
    messages: Vec<Json>,
}

fn chapters() -> Vec<Chapter> {
    let mut reader = CaptureReader::new(File::open(captures().join("tour.pcapng")).unwrap()).unwrap();
    let mut chapters = Vec::new();
    let mut time = None;
    while let Some(packet) = reader.next().unwrap() {
        assert!(time < Some(packet.time), "packets are in order of time");
        time = Some(packet.time);
        // Comments without a number are about a packet of their chapter.
        for title in packet.comments.clone().filter(|comment| comment.starts_with(|first: char| first.is_ascii_digit()))
        {
            chapters.push(Chapter { packet: packet.number, title: title.into_owned(), messages: Vec::new() });
        }
    }
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
        .args(["export", "--show-secrets"])
        .arg(captures().join("tour.pcapng"))
        .output()
        .unwrap();
    assert!(output.status.success());
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message = Json::read(line).unwrap();
        let packet = message.at("packets").elements()[0].int().unwrap();
        let chapter = chapters.iter_mut().rfind(|chapter| chapter.packet.cast_signed() <= packet).unwrap();
        chapter.messages.push(message);
    }
    chapters
}

impl Chapter {
    /// The APIs that are asked for, in order, each once in a row.
    fn requests(&self) -> Vec<&str> {
        let requests = self.messages.iter().filter(|message| message.at("type").text() == Some("request"));
        let mut names: Vec<&str> = requests.map(|message| message.at("api").text().unwrap()).collect();
        names.dedup();
        names
    }

    fn find(&self, side: &str, api: &str) -> &Json {
        let is = |message: &&Json| message.at("type").text() == Some(side) && message.at("api").text() == Some(api);
        self.messages.iter().find(is).unwrap()
    }
}

#[test]
fn chapters_show_what_they_say() {
    let chapters = chapters();
    let begins: Vec<&str> = chapters.iter().map(|chapter| chapter.title.split_once(". ").unwrap().0).collect();
    let numbers = ["1", "2", "3", "3b", "3c", "3d", "3e", "4", "5", "6", "7", "8", "9", "10", "11", "12"];
    assert_eq!(begins, numbers);
    let chapter = |number: &str| &chapters[numbers.iter().position(|begin| *begin == number).unwrap()];

    // KIP-511: the answer to an unknown version is in version 0, error 35.
    let refused = chapter("1").find("response", "ApiVersions");
    assert_eq!((refused.at("apiVersion").int(), refused.at("body").at("errorCode").int()), (Some(0), Some(35)));
    assert!(chapter("2").requests().contains(&"CreateTopics"));
    for codec in ["3", "3b", "3c", "3d", "3e", "4"] {
        chapter(codec).find("response", "Produce");
    }
    for api in ["JoinGroup", "SyncGroup", "Fetch", "LeaveGroup"] {
        assert!(chapter("5").requests().contains(&api), "{api}");
    }
    assert!(chapter("6").requests().contains(&"ConsumerGroupHeartbeat"));
    for api in ["AddPartitionsToTxn", "EndTxn", "WriteTxnMarkers"] {
        assert!(chapter("7").requests().contains(&api), "{api}");
    }
    let denied = &chapter("8").messages.iter().rfind(|message| message.at("api").text() == Some("Metadata")).unwrap();
    // TOPIC_AUTHORIZATION_FAILED
    assert_eq!(denied.at("body").at("topics").elements()[0].at("errorCode").int(), Some(29));
    assert_eq!(chapter("9").requests(), ["SaslHandshake", "SaslToken", "Metadata"]);
    assert_eq!(chapter("12").messages.len(), 0);

    // All else is whole.
    for chapter in
        chapters.iter().filter(|chapter| !["10. ", "11. "].iter().any(|made| chapter.title.starts_with(made)))
    {
        for message in &chapter.messages {
            assert_eq!((message.at("faults").elements(), message.at("gap")), (&[][..], &Json::Null), "{message:?}");
        }
    }
}

#[test]
fn the_broken_request_is_shown_up_to_the_bad_byte() {
    let chapters = chapters();
    let broken = chapters[13].messages.last().unwrap();
    assert_eq!(broken.at("type").text(), Some("request"));
    // One letter short: the last one is read as what follows a topic.
    let name = broken.at("body").at("topics").elements()[0].at("name");
    assert_eq!(name.text(), Some("t-44-mss-librdkafk"));
    let faults = broken.at("faults").elements();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].at("path").text(), Some("topics[0]"));
    assert_eq!(faults[0].at("found").text(), Some("97"), "the letter a");
}

#[test]
fn what_the_snap_length_cut_is_said() {
    let chapters = chapters();
    let cut: Vec<Option<i64>> = chapters[14].messages.iter().map(|message| message.at("gap").int()).collect();
    // Packets keep 128 bytes, of which 66 are headers; the responses have 392 and 69.
    assert_eq!(cut, [None, Some(392 - 62), None, Some(69 - 62)]);
}

/// What docs/json.md says of trees: leaves tile the frame as far as it is there, and each inflated buffer.
#[test]
fn leaves_of_trees_tile_what_is_there() {
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
        .args(["-q", "export", "-f", "tree", "captures/tour.pcapng"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let (mut cut, mut inflated, mut faults) = (0, 0, 0);
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message = Json::read(line).unwrap();
        let number = |of: &Json, name: &str| of.at(name).int().unwrap_or(0);
        // By buffer: where its last leaf ended.
        let mut ends = std::collections::BTreeMap::from([(0, 0)]);
        let mut nodes = vec![message.at("tree")];
        while let Some(node) = nodes.pop() {
            nodes.extend(node.at("children").elements().iter().rev());
            let is_fault = node.at("name").text().unwrap().starts_with("!!");
            faults += u32::from(is_fault);
            if !is_fault && node.at("children").elements().is_empty() {
                let end = ends.entry(number(node, "buffer")).or_insert(0);
                assert_eq!(number(node, "offset"), *end, "{node:?} of {}", number(&message, "index"));
                *end += number(node, "length");
            }
        }
        inflated += ends.len() - 1;
        cut += u32::from(*message.at("gap") != Json::Null);
        if *message.at("gap") == Json::Null {
            assert_eq!(ends[&0], number(&message, "size"));
        } else {
            // Packets keep 128 bytes, of which 66 are headers.
            assert_eq!(ends[&0], 62);
        }
    }
    assert!(cut == 2 && faults >= 3 && inflated > 5, "{cut} {faults} {inflated}");
}
