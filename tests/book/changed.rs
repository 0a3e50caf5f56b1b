//! Captures that change while they are open.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};

use kafkascope::book::{Book, BookError, Room, Step};
use kafkascope::protocol::{Catalog, Side};

use crate::support::{Input, book, capture};

/// A book, and its capture in a folder of its own.
fn copied(catalog: &Catalog) -> Option<(Book<'_>, std::path::PathBuf, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.pcap");
    std::fs::copy(capture("44-java-none.pcap")?, &path).unwrap();
    Some((book(catalog, &Input::Files(vec![path.clone()])), path, folder))
}

#[test]
fn a_capture_that_becomes_shorter_has_its_messages_no_more() {
    let catalog = Catalog::builtin();
    let Some((book, path, _folder)) = copied(&catalog) else { return };
    let mut room = Room::default();
    let last = book.message(book.len(), &mut room).unwrap().pieces[0].place.offset;
    OpenOptions::new().write(true).open(&path).unwrap().set_len(last + 1).unwrap();
    assert!(book.message(1, &mut room).is_ok());
    let error = book.message(book.len(), &mut room).unwrap_err();
    let expected = format!("{} has become shorter: there is nothing at byte {last} any more", path.display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_capture_that_is_removed_is_still_read() {
    let catalog = Catalog::builtin();
    let Some((book, path, folder)) = copied(&catalog) else { return };
    std::fs::remove_file(path).unwrap();
    drop(folder);
    assert!((1..=book.len()).all(|index| book.message(index, &mut Room::default()).is_ok()));
}

#[test]
fn other_bytes_are_not_shown_as_the_message() {
    let catalog = Catalog::builtin();
    let Some((book, path, _folder)) = copied(&catalog) else { return };
    let mut room = Room::default();
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    // Size, and then what says which message it is: key and version, or correlation id.
    let request = book.next(0, Step::Forward, |entry| entry.side == Side::Request).unwrap();
    let response = book.next(0, Step::Forward, |entry| entry.request.is_some()).unwrap();
    for (index, bytes) in [(request, [0, 3, 4, 5, 6, 7].as_slice()), (response, &[0, 3, 4, 7])] {
        for at in bytes {
            let message = book.message(index, &mut room).unwrap();
            let (byte, place) = (message.frame[*at], message.pieces[0].place.offset + *at as u64);
            let mut put = |byte: u8| {
                file.seek(SeekFrom::Start(place)).unwrap();
                file.write_all(&[byte]).unwrap();
            };
            put(byte ^ 0x40);
            let error = book.message(index, &mut room).unwrap_err();
            assert!(matches!(error, BookError::Changed { .. }), "{index} {at}: {error}");
            put(byte);
        }
    }
}
