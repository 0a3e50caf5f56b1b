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
