use std::net::SocketAddr;

use super::tracker::State;
use super::*;
use crate::capture::{Place, Time};
use crate::protocol::Catalog;
use crate::stream::{Close, Connection, ConnectionId, Direction, Extent, Gap, GapCause, Origin, StreamSink};

/// What a message says of its bytes.
#[derive(Debug, PartialEq)]
struct Told {
    correlation: Option<i32>,
    /// Bytes that are there, size, gap.
    bytes: (usize, u64, u64),
    packets: Vec<u64>,
    /// Time and latency in seconds.
    time: i64,
    latency: Option<i64>,
}

#[derive(Default)]
struct Messages(Vec<Told>);

impl<'p> MessageSink<'p> for Messages {
    fn message(&mut self, message: &Message<'_, 'p>) {
        self.0.push(Told {
            correlation: message.correlation(),
            bytes: (message.frame.len(), message.size(), message.gap),
            packets: message.packets.to_vec(),
            time: message.time.since(Time::default()) / Time::SECOND,
            latency: message.request.map(|exchange| exchange.latency / Time::SECOND),
        });
    }
}

/// One connection whose packets come a second apart.
struct Wire<'p> {
    connection: Connection,
    conversations: Conversations<'p, Messages>,
    packets: u64,
    sent: [u64; 2],
}

impl<'p> Wire<'p> {
    fn new(catalog: &'p Catalog) -> Self {
        let connection = Connection {
            id: ConnectionId(1),
            initiator: SocketAddr::from(([10, 0, 0, 1], 40_000)),
            responder: SocketAddr::from(([10, 0, 0, 2], 9092)),
            handshake: true,
            opened: Time::default(),
            tls: None,
        };
        let mut conversations = Conversations::new(catalog, Options::default(), Messages::default());
        conversations.open(&connection);
        Self { connection, conversations, packets: 0, sent: [0; 2] }
    }

    fn time(&self) -> Time {
        Time::from_nanoseconds(self.packets.cast_signed() * Time::SECOND)
    }

    fn send(&mut self, direction: Direction, bytes: &[u8]) {
        self.packets += 1;
        let sent = self.sent[direction as usize];
        let origin =
            Origin { packet: self.packets, time: self.time(), offset: sent, place: Place::default(), record: 0 };
        self.sent[direction as usize] += bytes.len() as u64;
        self.conversations.data(&self.connection, direction, bytes, origin);
    }

    fn lose(&mut self, direction: Direction, missing: usize) {
        self.lose_so_many(direction, missing, Extent::Exact);
    }

    fn lose_so_many(&mut self, direction: Direction, missing: usize, extent: Extent) {
        let (offset, missing) = (self.sent[direction as usize], missing as u64);
        let gap =
            Gap { offset, missing, extent, cause: GapCause::NotCaptured, packet: self.packets, time: self.time() };
        self.sent[direction as usize] += missing;
        self.conversations.gap(&self.connection, direction, gap);
    }

    fn told(mut self) -> Vec<Told> {
        self.conversations.close(&self.connection, Close::EndOfCapture);
        std::mem::take(&mut self.conversations.sink().0)
    }
}

/// A Metadata request v1 for one topic, whose name has 100 bytes: 121 bytes.
fn request(correlation: u8) -> Vec<u8> {
    let head = [0, 0, 0, 117, 0, 3, 0, 1, 0, 0, 0, correlation, 0, 1, b'c', 0, 0, 0, 1, 0, 100];
    [&head[..], &[b't'; 100]].concat()
}

/// A Metadata response v1: no brokers, controller 1, no topics.
fn response(correlation: u8) -> [u8; 20] {
    [0, 0, 0, 16, 0, 0, 0, correlation, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
}

/// Behind a hole that may be smaller than was said the next message is believed only when it proves itself.
#[test]
fn a_hole_may_be_smaller_than_was_said() {
    use Direction::{Backward, Forward};
    let catalog = Catalog::builtin();
    // The hole has 20 bytes, or 5 in the response.
    for too_many in [0, 1, 10] {
        let mut wire = Wire::new(&catalog);
        wire.send(Forward, &request(1));
        let cut = request(2);
        wire.send(Forward, &cut[..60]);
        wire.lose_so_many(Forward, 20 + too_many, Extent::AtMost);
        wire.send(Forward, &cut[80..]);
        wire.send(Forward, &request(3));
        wire.send(Forward, &request(4));
        wire.send(Backward, &response(1));
        let cut = response(2);
        wire.send(Backward, &cut[..9]);
        wire.lose_so_many(Backward, 5 + too_many, Extent::AtMost);
        wire.send(Backward, &cut[14..]);
        wire.send(Backward, &response(3));
        wire.send(Backward, &response(4));
        let guessed = wire.conversations.counters().guessed;
        let told = wire.told();
        let mut whole: Vec<_> = told.iter().filter(|told| told.bytes.2 == 0).map(|told| told.correlation).collect();
        let mut cut: Vec<_> = told.iter().filter(|told| told.bytes.2 > 0).map(|told| told.correlation).collect();
        whole.sort_unstable();
        cut.sort_unstable();
        assert_eq!(whole, [1, 1, 3, 3, 4, 4].map(Some), "{too_many}");
        assert_eq!(cut, [2, 2].map(Some), "{too_many}");
        assert_eq!(guessed, 2, "{too_many}");
    }
}

/// What was said before it is known that a connection is Kafka is told in its order.
#[test]
fn what_waits_for_a_decision_is_told_in_its_order() {
    use Direction::{Backward, Forward};
    let catalog = Catalog::builtin();
    let mut wire = Wire::new(&catalog);
    wire.connection.handshake = false;
    wire.conversations.open(&wire.connection);
    wire.send(Backward, &response(1));
    wire.send(Forward, &request(2));
    wire.send(Backward, &response(2));
    assert_eq!(wire.conversations.counters().guessed, 2);
    let told: Vec<_> = wire.told().iter().map(|told| (told.correlation, told.packets.clone())).collect();
    assert_eq!(told, [(Some(1), vec![1]), (Some(2), vec![2]), (Some(2), vec![3])]);
}

/// What nobody asked for is not waited for behind such a hole, however long it says it is.
#[test]
fn behind_a_doubtful_hole_only_awaited_responses_are_waited_for() {
    use Direction::{Backward, Forward};
    let catalog = Catalog::builtin();
    // Sizes of 5 MB and of 83 MB.
    for behind in [&[0, 0x50, 0, 0, 0, 0, 0, 77, 0, 0][..], &[5, 0, 0, 0, 0, 0, 0, 77, 0, 0, 1]] {
        let mut wire = Wire::new(&catalog);
        for correlation in 1..=3 {
            wire.send(Forward, &request(correlation));
        }
        wire.send(Backward, &response(1)[..9]);
        wire.lose_so_many(Backward, 11, Extent::AtMost);
        wire.send(Backward, behind);
        wire.send(Backward, &response(2));
        wire.send(Backward, &response(3));
        let told = &wire.conversations.sink().0;
        let answers: Vec<_> = told.iter().filter(|told| told.bytes.1 == 20).map(|told| told.correlation).collect();
        assert_eq!(answers, [1, 2, 3].map(Some), "{behind:?}");
        assert_eq!(told.len(), 6, "{behind:?}");
    }
}

#[test]
fn a_hole_is_as_large_as_what_is_missing() {
    use Direction::{Backward, Forward};
    let catalog = Catalog::builtin();
    let mut wire = Wire::new(&catalog);
    wire.send(Forward, &request(1));
    // 60 bytes, a hole of 20, 10 bytes, a hole of 11, the last 20 bytes and the next request.
    let cut = request(2);
    wire.send(Forward, &cut[..60]);
    wire.lose(Forward, 20);
    wire.send(Forward, &cut[80..90]);
    wire.lose(Forward, 11);
    wire.send(Forward, &[&cut[101..], &request(3)[..]].concat());
    for correlation in 1..=3 {
        wire.send(Backward, &response(correlation));
    }
    let told = |correlation, bytes, packets: &[u64], time, latency| Told {
        correlation: Some(correlation),
        bytes,
        packets: packets.to_vec(),
        time,
        latency,
    };
    let expected = [
        told(1, (121, 121, 0), &[1], 1, None),
        told(2, (60, 121, 31), &[2, 3, 4], 4, None),
        told(3, (121, 121, 0), &[4], 4, None),
        told(1, (20, 20, 0), &[5], 5, Some(4)),
        told(2, (20, 20, 0), &[6], 6, Some(2)),
        told(3, (20, 20, 0), &[7], 7, Some(3)),
    ];
    assert_eq!(wire.told(), expected);
}

/// Bytes that are there, the hole behind them, bytes behind it: what is missing, the packets, the time.
type Case = (usize, usize, usize, u64, &'static [u64], i64);

#[test]
fn a_hole_that_goes_to_the_end_or_beyond_it() {
    let catalog = Catalog::builtin();
    let cases: [Case; 5] = [
        (60, 61, 0, 61, &[2], 2),
        (60, 61, 5, 61, &[2], 2),
        (60, 300, 0, 61, &[2], 2),
        (60, 10, 20, 41, &[2, 3], 3),
        (60, 0, 0, 61, &[2], 2),
    ];
    for (there, lost, behind, missing, packets, time) in cases {
        let mut wire = Wire::new(&catalog);
        wire.send(Direction::Forward, &request(1));
        wire.send(Direction::Forward, &request(2)[..there]);
        if lost > 0 {
            wire.lose(Direction::Forward, lost);
        }
        if behind > 0 {
            wire.send(Direction::Forward, &vec![0xff; behind]);
        }
        let all = wire.told();
        let cut =
            Told { correlation: Some(2), bytes: (there, 121, missing), packets: packets.to_vec(), time, latency: None };
        assert_eq!(all[1..], [cut], "{there} {lost} {behind}");
    }
}

/// Many connections that each begin a frame and never end it.
#[test]
fn what_is_kept_is_bounded() {
    let catalog = Catalog::builtin();
    let options = Options { max_kept: 10_000, ..Options::default() };
    let mut conversations = Conversations::new(&catalog, options, Messages::default());
    // The beginning of a Produce request v3 of 1 MB.
    let head = [0, 0x10, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9, 0, 1, b'c', 0xff, 0xff, 0, 1, 0, 0, 0, 9];
    let mut connections = Vec::new();
    for number in 1..=50 {
        let connection = Connection {
            id: ConnectionId(number),
            initiator: SocketAddr::from(([10, 0, 0, 1], number as u16)),
            responder: SocketAddr::from(([10, 0, 0, 2], 9092)),
            handshake: true,
            opened: Time::default(),
            tls: None,
        };
        conversations.open(&connection);
        let mut offset = 0;
        for bytes in [&request(1)[..], &head, &[0x55; 1000]] {
            let origin = Origin { packet: number, time: Time::default(), offset, place: Place::default(), record: 0 };
            offset += bytes.len() as u64;
            conversations.data(&connection, Direction::Forward, bytes, origin);
            let kept: usize = conversations.connections.values().flat_map(State::kept).map(|(bytes, _)| bytes).sum();
            // One more connection may have begun since it was last counted; its buffer has room for twice as much.
            assert!(kept <= 10_000 + 10_000 / 8 + 2500, "{kept}");
        }
        connections.push(connection);
    }
    let crowded = conversations.counters().crowded;
    assert!((40..50).contains(&crowded), "{crowded}");
    for connection in &connections {
        conversations.close(connection, Close::EndOfCapture);
    }
    let told = &conversations.sink().0;
    let cut: Vec<_> = told.iter().filter(|told| told.correlation == Some(9)).map(|told| told.bytes).collect();
    assert_eq!((told.len(), cut.len()), (100, 50));
    let size = 0x0010_0000 + 4;
    assert!(cut.iter().all(|(there, whole, gap)| *whole == size && *there as u64 + gap == size && *there >= 23));
}

/// What a request that is too large takes is let go; the few bytes of a response that has just begun are not.
#[test]
fn only_what_is_large_is_let_go() {
    use Direction::{Backward, Forward};
    let catalog = Catalog::builtin();
    let mut wire = Wire::new(&catalog);
    wire.conversations.shared.options.max_kept = 4000;
    wire.send(Forward, &request(1));
    wire.send(Backward, &response(1)[..3]);
    // The beginning of a Produce request v3 of 1 MB.
    let head = [0, 0x10, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9, 0, 1, b'c', 0xff, 0xff, 0, 1, 0, 0, 0, 9];
    wire.send(Forward, &head);
    for _ in 0..4 {
        wire.send(Forward, &[0x55; 3000]);
    }
    // More than once, but it is one connection.
    assert_eq!(wire.conversations.counters().crowded, 1);
    wire.send(Backward, &response(1)[3..]);
    let told = wire.told();
    let bytes: Vec<_> = told.iter().map(|told| (told.correlation, told.bytes.2 > 0)).collect();
    assert_eq!(bytes, [(Some(1), false), (Some(9), true), (Some(1), false)]);
    assert_eq!(told[2].bytes, (20, 20, 0));
}

/// Other protocols count their bytes and their answers as well.
#[test]
fn what_is_counted_like_a_response_is_not_called_one() {
    let catalog = Catalog::builtin();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut conversations = Conversations::new(&catalog, Options::default(), Messages::default());
    for number in 1..=600 {
        let port = 7000 + (number % 6) as u16;
        let connection = Connection {
            id: ConnectionId(number),
            initiator: SocketAddr::from(([10, 0, 0, 1], 50_000)),
            responder: SocketAddr::from(([10, 0, 0, 2], port)),
            handshake: number % 2 == 0,
            opened: Time::default(),
            tls: None,
        };
        conversations.open(&connection);
        let (mut offset, first) = (0, rng.i32(0..1000));
        for packet in 0..4 {
            // A number, perhaps an error, a text with its length in one form or another.
            let text: Vec<u8> = (0..rng.usize(60..300)).map(|_| rng.u8(b' '..b'z')).collect();
            let length = text.len() as u32;
            let head = match number % 6 {
                0 => [&[0, 0][..], &(length as u16).to_be_bytes()].concat(),
                1 => length.to_be_bytes().to_vec(),
                2 => [&[0, 0][..], &length.to_be_bytes()].concat(),
                3 => [&[0; 6][..], &(length as u16).to_be_bytes()].concat(),
                4 => [&[0; 6][..], &length.to_be_bytes()].concat(),
                // ZooKeeper: transaction, error, length.
                _ => [&rng.u64(1..1 << 36).to_be_bytes()[..], &[0; 4], &length.to_be_bytes()].concat(),
            };
            let body = [&(first + packet).to_be_bytes()[..], &head, &text].concat();
            let frame = [&(body.len() as u32).to_be_bytes()[..], &body].concat();
            let origin = Origin { packet: number, time: Time::default(), offset, place: Place::default(), record: 0 };
            offset += frame.len() as u64;
            conversations.data(&connection, Direction::Backward, &frame, origin);
        }
        conversations.close(&connection, Close::EndOfCapture);
    }
    assert_eq!(conversations.sink().0, []);
}
