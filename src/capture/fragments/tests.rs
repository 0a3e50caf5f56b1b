#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use super::*;

fn ip(host: u8, payload: &[u8]) -> Ip<'_> {
    let address = |last| IpAddr::from([10, 0, 0, last]);
    Ip { source: address(host), destination: address(99), protocol: ip_number::TCP, payload, missing: 0, piece: None }
}

fn at(seconds: i64) -> Time {
    Time::from_nanoseconds(seconds * Time::SECOND)
}

fn piece(identification: u32, offset: usize, more: bool) -> Piece {
    Piece { identification, offset, more }
}

#[test]
fn the_first_copy_wins_and_what_overlaps_is_told_apart() {
    let mut fragments = Fragments::new();
    assert!(fragments.add(&ip(1, &[1; 16]), piece(1, 8, true), at(0)).is_none());
    // Around it, then inside of it, then before it.
    assert!(fragments.add(&ip(1, &[2; 32]), piece(1, 0, true), at(0)).is_none());
    assert!(fragments.add(&ip(1, &[3; 8]), piece(1, 8, true), at(0)).is_none());
    let whole = fragments.add(&ip(1, &[4; 12]), piece(1, 24, false), at(0)).unwrap();
    assert_eq!(whole.0, ip_number::TCP);
    assert_eq!(whole.1, [&[2; 8][..], &[1; 16], &[2; 8], &[4; 4]].concat());
    // Copies of the whole are nothing new; other bytes are another datagram of that number.
    assert!(fragments.add(&ip(1, &[1; 16]), piece(1, 8, true), at(1)).is_none());
    assert_eq!(fragments.left_out(), 0);
    assert!(fragments.add(&ip(1, &[5; 8]), piece(1, 0, true), at(1)).is_none());
    assert_eq!(fragments.add(&ip(1, &[6; 3]), piece(1, 8, false), at(1)).unwrap().1, [5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6]);
    fragments.finish();
    assert_eq!((fragments.left_out(), fragments.bytes), (0, 0));
}

#[test]
fn a_last_fragment_that_is_covered_already_makes_it_whole() {
    let mut fragments = Fragments::new();
    assert!(fragments.add(&ip(1, &[1; 16]), piece(1, 0, true), at(0)).is_none());
    assert_eq!(fragments.add(&ip(1, &[2; 8]), piece(1, 8, false), at(0)).unwrap().1, [1; 16]);
}

#[test]
fn what_cannot_be_is_left_out() {
    let mut fragments = Fragments::new();
    let refused = |fragments: &mut Fragments, payload: &[u8], piece| {
        let before = fragments.left_out();
        assert!(fragments.add(&ip(1, payload), piece, at(0)).is_none());
        assert_eq!(fragments.left_out(), before + 1);
    };
    refused(&mut fragments, &[], piece(1, 0, true));
    refused(&mut fragments, &[], piece(1, 8, false));
    refused(&mut fragments, &[1; 9], piece(1, 0, true));
    refused(&mut fragments, &[1; 8], piece(1, 65_528, false));
    assert!(fragments.datagrams.is_empty());
    // An end behind the end, a second end, an end before what is there.
    assert!(fragments.add(&ip(1, &[1; 8]), piece(1, 16, false), at(0)).is_none());
    refused(&mut fragments, &[1; 8], piece(1, 24, true));
    refused(&mut fragments, &[1; 8], piece(1, 16, true));
    refused(&mut fragments, &[1; 8], piece(1, 8, false));
    assert!(fragments.add(&ip(1, &[1; 8]), piece(2, 32, true), at(0)).is_none());
    refused(&mut fragments, &[1; 8], piece(2, 8, false));
    fragments.finish();
}

#[test]
fn bounds_hold_whatever_comes() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut fragments = Fragments::new();
    let payload = vec![7; 1400];
    for number in 0..6_000_u32 {
        // The far ends of datagrams that never become whole, so that each takes as much as it can.
        let offset = if random.bool() { 64_000 } else { random.usize(..8000) * 8 };
        let identification = if random.bool() { number } else { number / 2 };
        fragments.add(&ip(random.u8(..), &payload), piece(identification, offset, random.bool()), at(number.into()));
        assert!(fragments.order.len() <= MOST_DATAGRAMS && fragments.datagrams.len() <= MOST_DATAGRAMS);
        assert!(fragments.bytes < MOST_BYTES + 2 * LONGEST, "{}", fragments.bytes);
    }
    // All at once.
    for number in 0..5_000_u32 {
        fragments.add(&ip(1, &payload), piece(number, 64_000, true), at(100_000));
        assert!(fragments.order.len() <= MOST_DATAGRAMS);
        assert!(fragments.bytes < MOST_BYTES + 2 * LONGEST, "{}", fragments.bytes);
    }
    // One datagram in as many pieces as there can be, that do not touch.
    for offset in (0..8190).step_by(2) {
        fragments.add(&ip(2, &[1; 8]), piece(1, offset * 8, true), at(100_000));
    }
    fragments.finish();
    assert_eq!((fragments.bytes, fragments.datagrams.len()), (0, 0));
    assert!(fragments.left_out() > 7_000);
}

#[test]
fn what_is_too_old_is_not_mixed_with_what_is_new() {
    let mut fragments = Fragments::new();
    assert!(fragments.add(&ip(1, &[1; 8]), piece(1, 0, true), at(0)).is_none());
    assert!(fragments.add(&ip(1, &[2; 8]), piece(1, 8, false), at(31)).is_none());
    assert_eq!(fragments.left_out(), 1);
    assert_eq!(fragments.add(&ip(1, &[3; 8]), piece(1, 0, true), at(31)).unwrap().1[..8], [3; 8]);
}
