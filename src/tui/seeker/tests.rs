use super::*;
use crate::book::Indexer;
use crate::capture::{Again, Captures};
use crate::conversation::Options;
use crate::dissect::{FaultKind, InflateError};
use crate::protocol::Catalog;

fn with_tour(test: impl FnOnce(&Book<'_>)) {
    let catalog = Catalog::builtin();
    let book = Book::new(&catalog);
    let tour = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/tour.pcapng");
    Indexer::new(&book, Captures::open([tour], Again::Yes).unwrap(), Options::default()).run(&AtomicBool::new(false));
    test(&book);
}

fn hunt(text: &str) -> Hunt {
    Hunt::Pattern { pattern: Pattern::parse(text).unwrap(), from: (1, None), forward: true, among: None }
}

#[test]
fn what_was_left_out_is_told() {
    with_tour(|book| {
        let opening = Opening { max_inflate: Some(16), ..Opening::new(book.catalog()) };
        let has_limit = |number: &u64| {
            let mut room = Room::default();
            let message = book.message(*number, &mut room).unwrap();
            let opened = Opened::new(&message, opening, false, book.topics());
            let is_limit = |kind| matches!(kind, FaultKind::Inflate { error: InflateError::Limit(16), .. });
            opened.tree.faults().iter().any(|fault| is_limit(fault.kind))
        };
        let limited: Vec<u64> = (1..=book.len()).filter(has_limit).collect();
        assert!(limited.len() > 1);
        for (opening, more) in
            [(opening, Some((limited[0], limited.len() as u64))), (Opening::new(book.catalog()), None)]
        {
            let (mut seeker, scout) = seeker(book, opening, false);
            seeker.begin(hunt("zzzz"));
            std::thread::scope(|scope| {
                scope.spawn(|| scout.run());
                let found = std::iter::from_fn(|| seeker.findings.recv().ok());
                let last = found.map(|(_, finding)| finding).find(|finding| !matches!(finding, Finding::Progress(_)));
                assert!(matches!(last, Some(Finding::Nowhere(unseen)) if unseen == Unseen { unreadable: 0, more }));
                drop(seeker);
            });
        }
    });
}

#[test]
fn what_could_not_be_looked_at_in_words() {
    let unseen = |unreadable, more| Unseen { unreadable, more }.to_string();
    assert_eq!(unseen(0, None), "");
    assert_eq!(unseen(1, None), "; 1 message cannot be read");
    assert_eq!(unseen(0, Some((7, 1))), " in what was opened; #7 has more");
    assert_eq!(unseen(81, Some((7, 3))), " in what was opened; #7 and 2 others have more; 81 messages cannot be read");
}

#[test]
fn only_the_latest_hunt_is_begun() {
    with_tour(|book| {
        let (mut seeker, scout) = seeker(book, Opening::new(book.catalog()), false);
        for _ in 0..5 {
            seeker.begin(hunt("zzzz"));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| scout.run());
            loop {
                let (number, finding) = seeker.findings.recv().unwrap();
                assert_eq!(number, 5);
                if matches!(finding, Finding::Nowhere(_)) {
                    break;
                }
            }
            drop(seeker);
        });
    });
}
