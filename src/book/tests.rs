#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::page::{Bytes, Draft, KindId, LENGTH, Page, Record};
use crate::capture::{Place, Time};
use crate::conversation::Piece;
use crate::protocol::Side;
use crate::stream::ConnectionId;

/// Packet, source, place, length, time and TLS record of a piece.
type Drawn = (u64, u16, u64, u64, i64, u32);

fn piece() -> impl Strategy<Value = Drawn> {
    (
        prop_oneof![0..40_u64, 0..1_u64 << 40],
        prop_oneof![Just(0_u16), 0..3_u16, any::<u16>()],
        prop_oneof![0..5000_u64, 0..1_u64 << 62],
        prop_oneof![0..2000_u64, 0..1_u64 << 32],
        prop_oneof![(0..9_000_000_i64).prop_map(|time| time * 1000), any::<i64>()],
        prop_oneof![Just(0_u32), 0..40_u32, any::<u32>()],
    )
}

proptest! {
    /// Whatever is written down is read again, message by message.
    #[test]
    fn pages_say_what_was_written(
        messages in prop::collection::vec(
            (
                prop_oneof![0..4_usize, 0..1_usize << 30],
                prop_oneof![1..5_u64, 1..1_u64 << 60],
                prop_oneof![Just(0_u64), any::<u64>()],
                prop_oneof![Just(0_u64), 0..1_u64 << 32],
                prop_oneof![Just(None), (0..1_u64 << 62).prop_map(Some)],
                any::<[bool; 4]>(),
                prop::collection::vec(piece(), 1..4),
            ),
            1..LENGTH as usize,
        ),
    ) {
        let mut draft = Draft::default();
        let mut written = Vec::new();
        let mut ends = std::collections::HashMap::new();
        for (number, connection, request, gap, offset, flags, drawn) in messages {
            let [response, guessed, faulty, odd] = flags;
            let side = if response { Side::Response } else { Side::Request };
            // Mostly behind the message before.
            let follows = ends.get(&(connection, response)).copied();
            let stream_offset = offset.or(follows).unwrap_or(0);
            let mut at = stream_offset;
            let mut pieces = Vec::new();
            // The first piece stands before all holes; what is lacking behind the second one is the rest of the gap.
            let hole = gap / 3;
            let length = drawn.first().map_or(0, |first| first.3) + if hole == 0 { drawn.iter().skip(1).map(|piece| piece.3).sum() } else { 0 };
            for (index, (packet, source, offset, length, time, tls_record)) in drawn.into_iter().enumerate() {
                at += if index == 1 { hole } else { 0 };
                let place = Place { source, offset };
                let time = Time::from_nanoseconds(time);
                pieces.push(Piece { start: at, end: at + length, packet, time, place, tls_record });
                at += length;
            }
            let record = Record {
                kind: KindId::new(number, side),
                connection: ConnectionId(connection),
                request,
                gap,
                stream_offset,
                guessed,
                faulty,
                odd,
                length,
                size: pieces.iter().map(|piece| piece.end - piece.start).sum::<u64>() + gap,
                time: pieces.iter().map(|piece| piece.time).max().unwrap(),
            };
            ends.insert((connection, response), stream_offset + record.size);
            draft.push(&record, &pieces);
            written.push((record, pieces));
        }
        let mut page = Page::new(Bytes::Open(&draft.bytes));
        for (record, pieces) in written {
            let mut read = Vec::new();
            prop_assert_eq!(page.next(Some(&mut read)), Some(record));
            prop_assert_eq!(read, pieces);
        }
        prop_assert_eq!(page.next(None), None);
    }

    /// Nothing that could stand on a page does harm.
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut page = Page::new(Bytes::Open(&bytes));
        while page.next(None).is_some() {}
    }
}

/// What a message of a usual conversation takes: requests and responses by turns, each in the packet behind the other.
#[test]
fn a_usual_message_takes_few_bytes() {
    let mut draft = Draft::default();
    let (mut offset, mut place) = (0, 1_000_000);
    for number in 0..LENGTH {
        let side = if number % 2 == 0 { Side::Request } else { Side::Response };
        let time = Time::from_nanoseconds(1_700_000_000_000_000_000 + number.cast_signed() * 120_000);
        let at = Place { source: 0, offset: place };
        let record = Record {
            kind: KindId::new(1, side),
            connection: ConnectionId(3),
            request: number % 2,
            gap: 0,
            stream_offset: offset,
            guessed: false,
            faulty: false,
            odd: false,
            length: 90,
            size: 90,
            time,
        };
        let piece = Piece { start: offset, end: offset + 90, packet: 500 + number, time, place: at, tls_record: 0 };
        draft.push(&record, &[piece]);
        offset += if number % 2 == 0 { 0 } else { 90 };
        place += 90 + 82;
    }
    // Flags, two of time, and the request of every second.
    assert!(draft.bytes.len() < 4 * LENGTH as usize, "{}", draft.bytes.len());
}
