//! Captures that grow while they are read.

use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use kafkascope::book::{Book, Indexer, Room};
use kafkascope::capture::{Again, Captures};
use kafkascope::conversation::Options;
use kafkascope::protocol::Catalog;

use crate::support::{Input, book, capture};

/// A pipe that gives what was sent in pieces, as they were sent.
struct Pipe(Receiver<Vec<u8>>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Ok(bytes) = self.0.recv() else { return Ok(0) };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

fn wait_for(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_message_is_there_as_soon_as_its_last_packet_is() {
    let Some(path) = capture("44-java-none.pcap") else { return };
    let catalog = Catalog::builtin();
    let bytes = std::fs::read(&path).unwrap();
    // The place behind the last byte of every message, in order.
    let whole = book(&catalog, &Input::Files(vec![path]));
    let mut room = Room::default();
    let ends: Vec<_> = (1..=whole.len())
        .map(|index| {
            let message = whole.message(index, &mut room).unwrap();
            message.pieces.iter().map(|piece| piece.place.offset + piece.end - piece.start).max().unwrap() as usize
        })
        .collect();
    assert!(ends.len() > 20);

    let live = Book::new(&catalog);
    let (sender, receiver) = sync_channel(0);
    std::thread::scope(|scope| {
        let live = &live;
        scope.spawn(move || {
            let mut captures = Captures::new();
            captures.add_stream("-", Pipe(receiver), Again::Yes).unwrap();
            Indexer::new(live, captures, Options::default()).run(&AtomicBool::new(false));
        });
        let mut sent = 0;
        for (index, end) in (1..).zip(&ends) {
            if *end > sent {
                sender.send(bytes[sent..*end].to_vec()).unwrap();
                sent = *end;
            }
            // Most clients' connections are known for Kafka by their first request.
            wait_for(|| live.len() >= index);
            assert_eq!(live.message(index, &mut room).unwrap().index, index);
            let status = live.status();
            assert_eq!((status.total, status.finished), (None, false));
        }
        sender.send(bytes[sent..].to_vec()).unwrap();
        drop(sender);
        wait_for(|| live.status().finished);
    });
    assert_eq!(live.len(), whole.len());
    let status = live.status();
    assert_eq!((status.bytes, &status.troubles), (bytes.len() as u64, &Vec::new()));
    assert_eq!(status.first, whole.status().first);
}

#[test]
fn readers_and_the_indexer_do_not_get_in_each_others_way() {
    let Some(path) = capture("44-java-streams.pcap") else { return };
    let catalog = Catalog::builtin();
    let book = Book::new(&catalog);
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let book = &book;
            scope.spawn(move || {
                let (mut random, mut room) = (fastrand::Rng::with_seed(seed), Room::default());
                while !book.status().finished {
                    let messages = book.len();
                    if messages > 0 {
                        let index = random.u64(1..=messages);
                        let message = book.message(index, &mut room).unwrap();
                        assert_eq!(message.size(), book.entry(index).unwrap().size);
                    }
                }
            });
        }
        let captures = Captures::open([path], Again::Yes).unwrap();
        Indexer::new(&book, captures, Options::default()).run(&AtomicBool::new(false));
    });
}

#[test]
fn an_indexer_stops_when_it_is_told_to_and_damage_is_said() {
    let Some(path) = capture("44-java-none.pcap") else { return };
    let catalog = Catalog::builtin();
    let book = Book::new(&catalog);
    let captures = Captures::open([&path], Again::Yes).unwrap();
    Indexer::new(&book, captures, Options::default()).run(&AtomicBool::new(true));
    assert_eq!((book.len(), book.status().finished), (0, true));

    let bytes = std::fs::read(&path).unwrap();
    let cut = crate::support::book(&catalog, &Input::Pipe(bytes[..bytes.len() - 1].to_vec()));
    let troubles = cut.status().troubles;
    assert!(troubles.len() == 1 && troubles[0].starts_with("-: cut short at byte"), "{troubles:?}");
}
