//! How large and how fast the book of a capture is: `cargo run --release --example book CAPTURE...`
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context;
use kafkascope::book::{Book, Indexer, Room, Step};
use kafkascope::capture::{Again, Captures};
use kafkascope::conversation::Options;
use kafkascope::protocol::Catalog;

/// A screen shows about so many messages.
const SCREEN: u64 = 50;
const READS: u64 = 20_000;

fn main() -> anyhow::Result<()> {
    let catalog = Catalog::builtin();
    for path in std::env::args_os().skip(1) {
        let start = Instant::now();
        let book = Book::new(&catalog);
        let indexer = Indexer::new(&book, Captures::open([&path], Again::Yes)?, Options::default());
        let first = std::thread::scope(|scope| {
            scope.spawn(move || indexer.run(&AtomicBool::new(false)));
            while book.len() < SCREEN && !book.status().finished {
                std::thread::sleep(Duration::from_micros(200));
            }
            start.elapsed()
        });
        let all = start.elapsed();
        let (messages, status) = (book.len(), book.status());
        let megabytes = status.bytes as f64 / 1e6;
        let memory = book.memory() as f64;
        println!("{}: {megabytes:.0} MB, {messages} messages", path.to_string_lossy());
        println!("  first {SCREEN} after {:.1} ms", first.as_secs_f64() * 1e3);
        println!("  all after {:.2} s: {:.0} MB/s", all.as_secs_f64(), megabytes / all.as_secs_f64());
        println!(
            "  memory {:.1} MB: {:.2} bytes a message, {:.2} % of the capture",
            memory / 1e6,
            memory / messages as f64,
            memory / 1e4 / megabytes
        );
        anyhow::ensure!(messages > 0, "no messages");
        let mut room = Room::default();
        let start = Instant::now();
        let mut bytes = 0;
        // Far apart, so that nothing of one read helps the next.
        for read in 0..READS {
            let index = 1 + read * 7_919_993 % messages;
            bytes += book.message(index, &mut room)?.frame.len();
        }
        let a_read = start.elapsed().as_secs_f64() * 1e6 / READS as f64;
        println!("  a message is read in {a_read:.2} us, of {} bytes", bytes / READS as usize);
        let start = Instant::now();
        for read in 0..READS {
            book.entry(1 + read * 7_919_993 % messages).context("no entry")?;
        }
        println!("  an entry in {:.2} us", start.elapsed().as_secs_f64() * 1e6 / READS as f64);
        let start = Instant::now();
        let none = book.next(0, Step::Forward, |entry| entry.size == 0);
        anyhow::ensure!(none.is_none(), "a message without bytes");
        println!("  all are looked through in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
