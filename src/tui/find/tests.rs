use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::book::Room;
use crate::tui::tests::{Stage, on_stage};
use crate::tui::theme::{Depth, Ground, Look};

/// A copy of a capture on a screen, and its file, to be spoilt.
fn on_copy(test: impl FnOnce(&mut Stage<'_, '_>, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.pcapng");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/tour.pcapng"), &file).unwrap();
    on_stage(&file, (160, 40), Look::new(Depth::None, Ground::Dark), |stage| test(stage, &file));
}

fn foot(stage: &Stage<'_, '_>) -> String {
    stage.text().lines().last().unwrap().trim().to_owned()
}

#[test]
fn messages_that_cannot_be_read_are_told_of() {
    on_copy(|stage, file| {
        stage.press("/ \"zzzz\" enter");
        assert_eq!(foot(stage), "zzzz is nowhere");
        let length = fs::metadata(file).unwrap().len();
        OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
        let book = stage.app.book;
        let lost = (1..=book.len()).filter(|number| book.message(*number, &mut Room::default()).is_err()).count();
        assert!(lost > 20 && lost < book.len() as usize);
        stage.press("/ \"zzzz\" enter");
        assert_eq!(foot(stage), format!("zzzz is nowhere; {lost} messages cannot be read"));
        for words in ["zzzz", "fetch", "response"] {
            stage.press(&format!("f \"{words}\" enter"));
            let told = format!("{lost} messages cannot be read, so the filter leaves them out");
            assert_eq!(foot(stage), told, "{words}");
            stage.press("esc");
        }
    });
}

#[test]
fn what_is_not_known_of_a_message_is_left_blank() {
    on_copy(|stage, file| {
        let length = fs::metadata(file).unwrap().len();
        OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
        stage.press("G");
        let screen = stage.text();
        let number = stage.app.list.all.to_string();
        let row = screen.lines().find(|line| line.split_whitespace().next() == Some(&number)).unwrap();
        let words: Vec<&str> = row.split_whitespace().take(4).collect();
        assert_eq!(words, [&number, "!", "?", "!"], "{row}");
        assert!(row.contains("has become shorter") && !row.contains(['→', '←']), "{row}");
    });
}

#[test]
fn a_file_that_was_written_to_is_told_of_once() {
    on_copy(|stage, file| {
        let told = "has changed since it was opened; what is shown may be wrong";
        // One that grows is being written.
        OpenOptions::new().append(true).open(file).unwrap().write_all(&[0; 100]).unwrap();
        stage.press("j J pagedown");
        assert!(!stage.text().contains(told));
        // Its own bytes again, so that nothing else can be told by: what matters is that somebody writes there.
        fs::write(file, fs::read(file).unwrap()).unwrap();
        let later = fs::metadata(file).unwrap().modified().unwrap() + std::time::Duration::from_secs(1);
        OpenOptions::new().write(true).open(file).unwrap().set_modified(later).unwrap();
        stage.press("G");
        assert!(foot(stage).ends_with(told), "{}", foot(stage));
        stage.press("g g");
        assert!(!stage.text().contains(told));
    });
}

/// A row of the list, by the number of its message.
fn row(stage: &Stage<'_, '_>, number: &str) -> String {
    let screen = stage.text();
    let row = screen.lines().find(|line| line.split_whitespace().next() == Some(number));
    row.unwrap_or_else(|| panic!("{number} is not listed:\n{screen}")).to_owned()
}

#[test]
fn marks_hide_nothing() {
    on_copy(|stage, _| {
        stage.press("e");
        let number = stage.app.list.selected().unwrap();
        let before = row(stage, &number.to_string());
        assert!(before.contains(&format!("{number} ! ")), "{before}");
        stage.press("m a");
        let marked = row(stage, &number.to_string());
        assert!(marked.contains(&format!("{number} !a ")), "{marked}");
        stage.press("k m b");
        let beside = row(stage, &(number - 1).to_string());
        assert!(beside.contains(&format!("{}  b ", number - 1)), "{beside}");
        stage.press("G e e");
        assert_eq!(foot(stage), "no more faults");
    });
}

#[test]
fn a_comment_stands_behind_what_is_in_the_message() {
    on_copy(|stage, _| {
        let first = row(stage, "1");
        let comment = stage.app.book.comments_before(1).unwrap().remove(0);
        assert!(first.trim_end().ends_with(&format!("apache-kafka-java 4.4.0  # {comment}")), "{first}");
    });
}

#[test]
fn what_is_listed_may_be_nothing() {
    on_copy(|stage, _| {
        stage.press("f \"nosuchtopic\" enter");
        for key in ["e", "E", "p", "]", "[", "m a", "n"] {
            stage.press(key);
            assert_eq!(foot(stage), "no messages are listed", "{key}");
        }
    });
}

/// Without keys, the empty list says what `kafkascope list` says of the same capture.
#[test]
fn connections_in_tls_are_told_of() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let capture = root.join("captures/44-sarama-tls12-aes256gcm-rsa.pcap");
    on_stage(&capture, (120, 40), Look::new(Depth::None, Ground::Dark), |stage| {
        let screen = stage.text();
        let told = "no Kafka messages found, 4 connections in TLS: give --keylog to read them";
        assert!(screen.contains(told) && screen.contains("4 TLS without keys"), "{screen}");
        assert!(!screen.contains(" 0 connections"), "{screen}");
        stage.app.subject.has_keys = true;
        stage.settle();
        let told = "no Kafka messages found, 4 connections in TLS whose keys are not in the key log";
        assert!(stage.text().contains(told), "{}", stage.text());
    });
}

#[test]
fn what_is_told_of_bytes_is_what_is_shown() {
    on_stage(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/tour.pcapng"),
        (80, 24),
        Look::new(Depth::None, Ground::Dark),
        |stage| {
            let mut told = Vec::new();
            stage.press(": \"83\" enter tab tab");
            for keys in ["w", "w", "w", "w", "b o", "o", "o"] {
                stage.press(keys);
                told.push(foot(stage));
            }
            let expected = [
                "8 bytes a row",
                "16 bytes a row",
                "16 bytes a row: 32 do not fit",
                "as many bytes a row as fit: 16",
                "offsets in the stream; what was inflated has none there",
                "offsets in the file; what was inflated has none there",
                "offsets in what was inflated",
            ];
            assert_eq!(told, expected);
        },
    );
}

#[test]
fn to_follow_ends_a_pause() {
    on_copy(|stage, _| {
        stage.press("P");
        assert!(stage.app.paused && stage.text().contains("paused"));
        stage.press("F");
        assert!(!stage.app.paused && stage.text().contains(" 341/341 "), "{}", stage.text());
        assert_eq!(foot(stage), "the last message; nothing more will come");
    });
}
