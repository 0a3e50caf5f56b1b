//! Holes with something in them that is no data.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, KeyInit};

use super::*;
use crate::stream::tls::resync::plaintext;
use crate::stream::tls::side::{Loss, Passed};
use crate::stream::tls::{keys as schedule, suite};

const SECRET: [u8; 32] = [0x5e; 32];
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// A record of TLS 1.3 in `TLS_AES_128_GCM_SHA256` (RFC 8446, sections 5.2 and 5.3).
fn sealed(sequence: u64, content: u8, plain: &[u8]) -> Vec<u8> {
    let (mut key, mut nonce) = ([0; 16], [0; 12]);
    schedule::expand(suite::Hash::Sha256, &SECRET, "key", &mut key).unwrap();
    schedule::expand(suite::Hash::Sha256, &SECRET, "iv", &mut nonce).unwrap();
    nonce.iter_mut().skip(4).zip(sequence.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
    let mut inner = [plain, &[content]].concat();
    let [high, low] = (inner.len() as u16 + 16).to_be_bytes();
    let header = [DATA, 3, 3, high, low];
    let cipher = Aes128Gcm::new_from_slice(&key).unwrap();
    let tag = cipher.encrypt_inout_detached(&nonce.into(), &header, inner.as_mut_slice().into()).unwrap();
    [&header[..], &inner, &tag].concat()
}

/// The hellos of a connection, and its key log.
fn hellos() -> (Vec<(Direction, Part)>, String) {
    let (client, server) = ([0xc1; 32], [0x5a; 32]);
    let message = |kind: u8, body: &[u8]| {
        let length = body.len() as u8;
        [&[HANDSHAKE, 3, 1, 0, length + 4, kind, 0, 0, length][..], body].concat()
    };
    let greeting = [&[3, 3][..], &client, &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    let answer = [&[3, 3][..], &server, &[0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4]].concat();
    let parts = vec![
        (Direction::Forward, Part::Data(message(1, &greeting))),
        (Direction::Backward, Part::Data(message(2, &answer))),
    ];
    // All bytes of each are alike.
    (parts, format!("SERVER_TRAFFIC_SECRET_0 {} {}\n", "c1".repeat(32), "5e".repeat(32)))
}

/// A server may send tickets when it likes (RFC 8446, section 4.6.1), and nobody sees that they are none.
#[test]
fn what_is_missing_may_be_less_where_a_ticket_may_be_among_it() {
    let (mut parts, log) = hellos();
    let back = |bytes: Vec<u8>| (Direction::Backward, Part::Data(bytes));
    parts.push(back(sealed(0, DATA, &[b'a'; 100])));
    let missing = [sealed(1, HANDSHAKE, &[4; 200]), sealed(2, DATA, &[b'b'; 300])].concat();
    parts.push((Direction::Backward, Part::Lost(missing.len())));
    parts.push(back(sealed(3, DATA, &[b'c'; 100])));
    let (told, counters) = told(&parts, &log);
    assert_eq!(counters, Counters { opened: 1, ..Counters::default() });
    assert_eq!(told.gaps, [(500, Extent::AtMost)]);
    let stream = &told.streams[1];
    assert!(stream[..100] == [Some(b'a'); 100] && stream[600..] == [Some(b'c'); 100]);
}

/// In TLS 1.2 the header of a record says what it is: an alert of two bytes among what was not opened is no data.
#[test]
fn records_that_hold_no_data_are_not_counted_as_missing() {
    let (overhead, header) = (24, 5);
    let mut loss = Loss::new(1000, GapCause::NotCaptured);
    loss.pass(Passed::Data, header + overhead + 100);
    loss.pass(Passed::Idle, header + overhead + 2);
    assert_eq!((loss.known, loss.known_bytes), (2, 160));
    assert_eq!(plaintext(&loss, loss.known_bytes, 2, overhead), Some(100));
    // One in the clear (1.3) has no number.
    loss.pass(Passed::Plain, 6);
    assert_eq!((loss.known, plaintext(&loss, loss.known_bytes, 2, overhead)), (2, Some(100)));
    // More records than there is room for.
    assert_eq!(plaintext(&loss, loss.known_bytes, 7, overhead), None);
}

/// In what is left of a record something looks like the header of one that would be longer than all that follows.
#[test]
fn what_only_looks_like_a_record_hides_none_that_follow() {
    for suite in script::suites() {
        let script = Talk::new(suite).script();
        let mut parts = segments(&script, 300);
        let at = |number: usize, parts: &[(Direction, Part)]| match &parts[number] {
            (Direction::Backward, Part::Data(bytes)) => bytes.len(),
            _ => 0,
        };
        // The answers have 900 bytes: four segments with what belongs to their records. The last but one is hit.
        let answers: Vec<usize> = (0..parts.len() - 3)
            .filter(|number| (0..3).all(|next| at(number + next, &parts) == 300) && at(number + 3, &parts) < 100)
            .collect();
        let hit = answers[answers.len() - 2];
        parts[hit].1 = lost(&parts[hit].1);
        let Part::Data(bytes) = &mut parts[hit + 1].1 else { unreachable!() };
        bytes[10..15].copy_from_slice(&[DATA, 3, 3, 0x40, 0]);
        let (told, counters) = told(&parts, &script.log);
        assert_eq!(counters, Counters { opened: 1, ..Counters::default() }, "{suite:?}");
        let said = script.said(Direction::Backward);
        let expected = [&said[..said.len() - 1800], &[b'?'; 900], &said[said.len() - 900..]].concat();
        assert!(told.bytes(Direction::Backward) == expected, "{suite:?}");
    }
}
