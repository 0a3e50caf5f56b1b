//! Segments are made by hand, after RFC 9293.

use super::*;
use crate::capture::Segment;

mod properties;

const CLIENT: &str = "10.0.0.1:50000";
const BROKER: &str = "10.0.0.2:9092";

/// What a sink was told, as text.
#[derive(Default)]
struct Log(Vec<String>);

impl StreamSink for Log {
    fn open(&mut self, connection: &Connection) {
        let Connection { id, initiator, handshake, .. } = connection;
        let sure = if *handshake { "" } else { "?" };
        self.0.push(format!("{} open {}{sure}", id.0, initiator.port()));
    }

    fn data(&mut self, connection: &Connection, direction: Direction, bytes: &[u8], origin: Origin) {
        let text = String::from_utf8_lossy(bytes);
        let arrow = arrow(direction);
        self.0.push(format!("{} {arrow} {text} @{} #{}", connection.id.0, origin.offset, origin.packet));
    }

    fn gap(&mut self, connection: &Connection, direction: Direction, gap: Gap) {
        let arrow = arrow(direction);
        let Gap { offset, missing, cause, .. } = gap;
        self.0.push(format!("{} {arrow} {cause:?} {missing} @{offset}", connection.id.0));
    }

    fn close(&mut self, connection: &Connection, how: Close) {
        self.0.push(format!("{} {how:?}", connection.id.0));
    }
}

fn arrow(direction: Direction) -> char {
    match direction {
        Direction::Forward => '>',
        Direction::Backward => '<',
    }
}

/// A capture in the making: packets are a millisecond apart.
struct Capture {
    reassembler: Reassembler,
    log: Log,
    packet: u64,
    time: Time,
    client: SocketAddr,
}

impl Capture {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Self {
            reassembler: Reassembler::new(limits),
            log: Log::default(),
            packet: 0,
            time: Time::default(),
            client: CLIENT.parse().unwrap(),
        }
    }

    /// `flags` are of S, F, R; a dot or any other letter is none.
    fn send(&mut self, from_client: bool, flags: &str, sequence: u32, ack: Option<u32>, payload: &str, cut: u32) {
        self.packet += 1;
        self.time = self.time.after(Time::MILLISECOND);
        let broker = BROKER.parse().unwrap();
        let (source, destination) = if from_client { (self.client, broker) } else { (broker, self.client) };
        let segment = Segment {
            packet: self.packet,
            time: self.time,
            source,
            destination,
            sequence,
            acknowledgment: ack,
            syn: flags.contains('S'),
            fin: flags.contains('F'),
            rst: flags.contains('R'),
            payload: payload.as_bytes(),
            place: Place::default(),
            cut,
        };
        self.reassembler.push(&segment, &mut self.log);
    }

    fn client(&mut self, flags: &str, sequence: u32, payload: &str) -> &mut Self {
        self.send(true, flags, sequence, None, payload, 0);
        self
    }

    fn broker(&mut self, flags: &str, sequence: u32, payload: &str) -> &mut Self {
        self.send(false, flags, sequence, None, payload, 0);
        self
    }

    /// SYN of 100, SYN of 200: data begins at 101 and 201.
    fn handshake(&mut self) -> &mut Self {
        self.client("S", 100, "");
        self.send(false, "S", 200, Some(101), "", 0);
        self.send(true, ".", 101, Some(201), "", 0);
        self
    }

    fn acknowledge(&mut self, from_client: bool, ack: u32) -> &mut Self {
        let sequence = if from_client { 101 } else { 201 };
        self.send(from_client, ".", sequence, Some(ack), "", 0);
        self
    }

    fn pass(&mut self, nanoseconds: i64) -> &mut Self {
        self.time = self.time.after(nanoseconds);
        self
    }

    fn other_client(&mut self, port: u16) -> &mut Self {
        self.client.set_port(port);
        self
    }

    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log.0)
    }

    fn end(&mut self) -> Vec<String> {
        self.reassembler.finish(&mut self.log);
        assert_eq!(self.reassembler.held_bytes(), 0);
        self.told()
    }
}

#[test]
fn a_connection_from_syn_to_fin() {
    let mut capture = Capture::new();
    capture.handshake();
    assert_eq!(capture.told(), [""; 0]);
    capture.client(".", 101, "abc").broker(".", 201, "xy").client("F", 104, "d").broker("F", 203, "");
    let expected = ["1 open 50000", "1 > abc @0 #4", "1 < xy @0 #5", "1 > d @3 #6", "1 Finished"];
    assert_eq!(capture.told(), expected);
    // Late retransmissions, and the acknowledgment of the FIN.
    capture.client(".", 101, "abc").broker("F", 203, "").acknowledge(true, 204);
    assert_eq!(capture.end(), [""; 0]);
    assert_eq!(capture.reassembler.counters().retransmitted_bytes, 3);
    assert_eq!(capture.reassembler.counters().connections, 1);
}

#[test]
fn half_closed_goes_on_in_the_other_direction() {
    let mut capture = Capture::new();
    capture.handshake().client("F", 101, "q").broker(".", 201, "answer").broker("F", 207, "");
    assert_eq!(capture.told(), ["1 open 50000", "1 > q @0 #4", "1 < answer @0 #5", "1 Finished"]);
}

#[test]
fn order_is_restored_and_numbers_wrap() {
    let mut capture = Capture::new();
    let start = u32::MAX - 2;
    capture.client("S", start.wrapping_sub(1), "");
    capture.client(".", start.wrapping_add(4), "ef").client(".", start.wrapping_add(2), "cd");
    assert_eq!(capture.told(), [""; 0]);
    capture.client(".", start, "ab").client(".", start.wrapping_add(6), "gh");
    let expected = ["1 open 50000", "1 > ab @0 #4", "1 > cd @2 #3", "1 > ef @4 #2", "1 > gh @6 #5"];
    assert_eq!(capture.told(), expected);
    assert_eq!(capture.reassembler.held_bytes(), 0);
}

#[test]
fn the_first_copy_wins_and_conflicts_are_counted() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 103, "cd").client(".", 102, "BCDE").client(".", 101, "abX");
    let expected = ["1 open 50000", "1 > a @0 #6", "1 > B @1 #5", "1 > cd @2 #4", "1 > E @4 #5"];
    assert_eq!(capture.told(), expected);
    let counters = *capture.reassembler.counters();
    assert_eq!(counters.retransmitted_bytes, 4);
    assert_eq!(counters.conflicting_overlaps, 3);
    // Partly old in order: nothing is left to compare with.
    capture.client(".", 104, "XYf");
    assert_eq!(capture.told(), ["1 > f @5 #7"]);
}

#[test]
fn keep_alives_are_retransmissions() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 100, "?").client(".", 101, "ab").client(".", 102, "?").client(".", 103, "c");
    assert_eq!(capture.told(), ["1 open 50000", "1 > ab @0 #5", "1 > c @2 #7"]);
    // Without a SYN, too.
    let mut capture = Capture::new();
    capture.client(".", 100, "?").client(".", 101, "ab").client(".", 100, "?");
    assert_eq!(capture.end(), ["1 open 50000?", "1 > ab @0 #2", "1 EndOfCapture"]);
}

#[test]
fn data_on_a_syn_counts() {
    let mut capture = Capture::new();
    capture.client("S", 100, "fast").client(".", 105, " open");
    assert_eq!(capture.told(), ["1 open 50000", "1 > fast @0 #1", "1 >  open @4 #2"]);
}

#[test]
fn a_syn_ack_alone_tells_who_is_who() {
    let mut capture = Capture::new();
    capture.send(false, "S", 200, Some(101), "", 0);
    capture.broker(".", 201, "x").client(".", 101, "a").client("S", 100, "");
    assert_eq!(capture.told(), ["1 open 50000", "1 < x @0 #2", "1 > a @0 #3"]);
}

#[test]
fn a_syn_may_come_after_the_data() {
    let mut capture = Capture::new();
    capture.client(".", 103, "cd").client(".", 101, "ab").client("S", 100, "");
    assert_eq!(capture.told(), ["1 open 50000", "1 > ab @0 #2", "1 > cd @2 #1"]);
    // And after the beginning was settled.
    let mut capture = Capture::new();
    capture.broker(".", 201, "xy").pass(Time::SECOND).broker(".", 203, "z");
    capture.send(false, "S", 200, Some(101), "", 0);
    assert_eq!(
        capture.end(),
        ["1 open 9092?", "1 < xy @0 #1".replace('<', ">").as_str(), "1 > z @2 #2", "1 EndOfCapture"]
    );
}

#[test]
fn a_stream_without_syn_begins_with_the_lowest_of_its_first_segments() {
    let mut capture = Capture::new();
    capture.client(".", 505, "ef").client(".", 501, "ab").client(".", 503, "cd");
    assert_eq!(capture.told(), [""; 0]);
    capture.pass(Time::SECOND).client(".", 507, "g").client(".", 490, "too late");
    let expected = ["1 open 50000?", "1 > ab @0 #2", "1 > cd @2 #3", "1 > ef @4 #1", "1 > g @6 #4"];
    assert_eq!(capture.told(), expected);
}

/// Where both beginnings are open, both streams wait for the one that is open longer, and are told as they came.
#[test]
fn streams_without_syn_are_told_in_the_order_of_their_packets() {
    let said = |is_all: bool| {
        let mut capture = Capture::new();
        capture.client(".", 101, "ab").broker(".", 501, "mn").client(".", 105, "ef").client(".", 103, "cd");
        capture.broker(".", 503, "op").client(".", 107, "gh");
        if is_all {
            return capture.end();
        }
        // 8 packets behind the first of the client's, but not of the broker's.
        capture.acknowledge(true, 505).acknowledge(false, 109).acknowledge(true, 505);
        assert_eq!(capture.log.0.len(), 0);
        capture.acknowledge(false, 109).told()
    };
    let told = [
        "1 open 50000?",
        "1 > ab @0 #1",
        "1 < mn @0 #2",
        "1 > cd @2 #4",
        "1 > ef @4 #3",
        "1 < op @2 #5",
        "1 > gh @6 #6",
    ];
    assert_eq!(said(false), told);
    assert_eq!(said(true)[..7], told);
}

#[test]
fn a_syn_with_another_number_is_another_connection() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "old");
    // The same SYN again is not.
    capture.client("S", 100, "");
    capture.client("S", 7_000_000, "");
    capture.send(false, "S", 9_000_000, Some(7_000_001), "", 0);
    capture.client(".", 7_000_001, "new").broker(".", 9_000_001, "reply").client(".", 101, "old");
    let expected = ["1 open 50000", "1 > old @0 #4", "1 Reused", "2 open 50000", "2 > new @0 #8", "2 < reply @0 #9"];
    assert_eq!(capture.told(), expected);
}

#[test]
fn after_the_end_only_distant_data_or_a_syn_opens_the_ports_again() {
    let mut capture = Capture::new();
    capture.handshake().client("F", 101, "a").broker("F", 201, "");
    assert_eq!(capture.told().last().unwrap(), "1 Finished");
    capture.client(".", 101, "a").client(".", 102, "beyond the end").client(".", 1 << 30, "xx");
    assert_eq!(capture.end(), ["2 open 50000?", "2 > xx @0 #8", "2 EndOfCapture"]);
}

#[test]
fn a_reset_leaves_time_for_what_was_sent_before() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "ab").client("R", 105, "").client(".", 103, "cd");
    assert_eq!(capture.told(), ["1 open 50000", "1 > ab @0 #4", "1 > cd @2 #6"]);
    // Any packet lets time go by.
    capture.pass(2 * Time::SECOND).other_client(1).client("S", 1, "");
    assert_eq!(capture.told(), ["1 Reset"]);
}

#[test]
fn a_reset_from_elsewhere_is_not_believed() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "ab").client("R", 1 << 30, "").pass(9 * Time::SECOND).client(".", 103, "c");
    assert_eq!(capture.end(), ["1 open 50000", "1 > ab @0 #4", "1 > c @2 #6", "1 EndOfCapture"]);
}

/// RFC 5961, 3.2: only a reset with the number that is expected next is believed, and nobody goes on after having sent one.
#[test]
fn a_forged_reset_ends_nothing() {
    // Older than what was sent since.
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "abc").client("R", 102, "").pass(9 * Time::SECOND).broker(".", 201, "x");
    assert_eq!(capture.end(), ["1 open 50000", "1 > abc @0 #4", "1 < x @0 #6", "1 EndOfCapture"]);

    // The right number, but the sender goes on.
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "abc").client("R", 104, "").client(".", 104, "d").pass(9 * Time::SECOND);
    capture.broker(".", 201, "x").client(".", 105, "e");
    let expected = ["1 open 50000", "1 > abc @0 #4", "1 > d @3 #6", "1 < x @0 #7", "1 > e @4 #8", "1 EndOfCapture"];
    assert_eq!(capture.end(), expected);

    // The same when it had been taken for the end: what follows is another connection, as far as can be told.
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "abc").client("R", 104, "").pass(9 * Time::SECOND).broker(".", 201, "x");
    assert_eq!(capture.told(), ["1 open 50000", "1 > abc @0 #4", "1 < x @0 #6", "1 Reset"]);
    capture.client(".", 104, "de").client(".", 106, "f");
    assert_eq!(capture.end(), ["2 open 50000?", "2 > de @0 #7", "2 > f @2 #8", "2 EndOfCapture"]);
}

#[test]
fn scans_get_no_number_and_no_event() {
    let mut capture = Capture::new();
    for port in 1..=200 {
        capture.other_client(port).client("S", 1, "");
        capture.send(false, "R", 0, Some(2), "", 0);
        capture.other_client(port + 1000).client(".", 1, "");
    }
    capture.other_client(50_000).handshake().client(".", 101, "a");
    assert_eq!(capture.end(), ["1 open 50000", "1 > a @0 #604", "1 EndOfCapture"]);
}

#[test]
fn a_hole_waits_for_acknowledgment_and_for_packets_or_time() {
    // Acknowledged, but only just.
    let mut capture = Capture::new();
    capture.handshake().client(".", 103, "cd").acknowledge(false, 105);
    assert_eq!(capture.told(), [""; 0]);
    capture.pass(2 * Time::SECOND).acknowledge(false, 105);
    assert_eq!(capture.told(), ["1 open 50000", "1 > NotCaptured 2 @0", "1 > cd @2 #4"]);

    // Long ago, but not acknowledged.
    let mut capture = Capture::new();
    capture.handshake().client(".", 103, "cd");
    for _ in 0..300 {
        capture.pass(Time::SECOND).acknowledge(false, 102);
    }
    assert_eq!(capture.told(), [""; 0]);
    capture.client(".", 101, "ab");
    assert_eq!(capture.told(), ["1 open 50000", "1 > ab @0 #305", "1 > cd @2 #4"]);

    // By packets: the hole came with packet 4 of the connection, so packet 260 is 256 later.
    let mut capture = Capture::new();
    capture.handshake().client(".", 103, "cd");
    while capture.packet < 259 {
        capture.acknowledge(false, 105);
    }
    assert_eq!(capture.told(), [""; 0]);
    capture.acknowledge(false, 105);
    assert_eq!(capture.told().len(), 3);

    // The other side is not in the capture: nobody can acknowledge.
    let mut capture = Capture::new();
    capture.client("S", 100, "").client(".", 103, "cd").pass(3 * Time::SECOND).client(".", 105, "e");
    let expected = ["1 open 50000", "1 > NotCaptured 2 @0", "1 > cd @2 #2", "1 > e @4 #3"];
    assert_eq!(capture.told(), expected);
}

/// An answer that comes after a pause is told behind what was asked before it.
#[test]
fn a_hole_that_waited_too_long_is_given_up_before_the_other_side_goes_on() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "ab").client(".", 105, "ef").acknowledge(false, 107);
    assert_eq!(capture.told(), ["1 open 50000", "1 > ab @0 #4"]);
    capture.pass(5 * Time::SECOND).broker(".", 201, "xy");
    assert_eq!(capture.told(), ["1 > NotCaptured 2 @2", "1 > ef @4 #5", "1 < xy @0 #7"]);
    // The same side may yet fill it.
    capture.client(".", 109, "ij").acknowledge(false, 111).pass(5 * Time::SECOND).client(".", 107, "gh");
    assert_eq!(capture.told(), ["1 > gh @6 #10", "1 > ij @8 #8"]);
}

#[test]
fn holes_of_the_same_age_are_given_up_together() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 103, "c").client(".", 105, "e").client(".", 107, "g");
    capture.pass(3 * Time::SECOND).acknowledge(false, 108);
    let expected = [
        "1 open 50000",
        "1 > NotCaptured 2 @0",
        "1 > c @2 #4",
        "1 > NotCaptured 1 @3",
        "1 > e @4 #5",
        "1 > NotCaptured 1 @5",
        "1 > g @6 #6",
    ];
    assert_eq!(capture.told(), expected);
    assert_eq!(capture.reassembler.counters().gaps, 3);
    assert_eq!(capture.reassembler.counters().missing_bytes, 4);
}

#[test]
fn the_end_tells_what_is_held_and_what_was_acknowledged() {
    let mut capture = Capture::new();
    capture.handshake().client(".", 103, "cd").acknowledge(false, 110);
    let expected = ["1 open 50000", "1 > NotCaptured 2 @0", "1 > cd @2 #4", "1 > NotCaptured 5 @4", "1 EndOfCapture"];
    assert_eq!(capture.end(), expected);
    // One more than the data is the FIN.
    let mut capture = Capture::new();
    capture.handshake().client(".", 101, "ab").acknowledge(false, 104);
    assert_eq!(capture.end(), ["1 open 50000", "1 > ab @0 #4", "1 EndOfCapture"]);
    // A FIN behind a hole.
    let mut capture = Capture::new();
    capture.handshake().client("F", 104, "").broker("F", 201, "");
    assert_eq!(capture.end(), ["1 open 50000", "1 > NotCaptured 3 @0", "1 EndOfCapture"]);
}

#[test]
fn what_the_snap_length_cut_is_a_gap_at_once() {
    let mut capture = Capture::new();
    capture.handshake().send(true, ".", 101, None, "ab", 3);
    capture.client(".", 106, "f").send(true, ".", 109, None, "ij", 1);
    capture.client(".", 107, "gh").client("F", 112, "").broker("F", 201, "");
    let expected = [
        "1 open 50000",
        "1 > ab @0 #4",
        "1 > Cut 3 @2",
        "1 > f @5 #5",
        "1 > gh @6 #7",
        "1 > ij @8 #6",
        "1 > Cut 1 @10",
        "1 Finished",
    ];
    assert_eq!(capture.told(), expected);
    assert_eq!(capture.reassembler.counters().cut_bytes, 4);
    assert_eq!(capture.reassembler.counters().missing_bytes, 0);
}

#[test]
fn too_much_held_gives_the_oldest_hole_up() {
    let mut capture = Capture::with(Limits { per_stream: 1000, ..Limits::default() });
    capture.handshake();
    for at in 0..20 {
        capture.client(".", 103 + 2 * at, "x");
    }
    let told = capture.told();
    assert_eq!(told[..3], ["1 open 50000", "1 > Limit 2 @0", "1 > x @2 #4"]);
    assert!(capture.reassembler.held_bytes() <= 1000);

    let mut capture = Capture::with(Limits { total: 1000, ..Limits::default() });
    for port in 1..=20 {
        capture.other_client(port).handshake().client(".", 103, "x");
    }
    let told = capture.told();
    assert_eq!(told[..3], ["1 open 1", "1 > Limit 2 @0", "1 > x @2 #4"]);
    assert!(capture.reassembler.held_bytes() <= 1000);
}

#[test]
fn a_loss_of_more_than_a_window_is_a_gap() {
    let mut capture = Capture::new();
    let far = 101 + (100 << 20);
    capture.handshake().client(".", 101, "a").client(".", far, "lost").client(".", far + 4, "found").client(
        ".",
        far + 9,
        "!",
    );
    let missing = (100 << 20) + 3;
    let expected = [
        "1 open 50000".to_owned(),
        "1 > a @0 #4".to_owned(),
        format!("1 > NotCaptured {missing} @1"),
        format!("1 > found @{} #6", missing + 1),
        format!("1 > ! @{} #7", missing + 6),
    ];
    assert_eq!(capture.told(), expected);
    assert_eq!(capture.reassembler.counters().dropped_bytes, 4);
}

#[test]
fn too_many_connections_close_an_idle_one() {
    let mut capture = Capture::with(Limits { connections: 3, ..Limits::default() });
    for port in 1..=3 {
        capture.other_client(port).handshake().client(".", 101, "x");
    }
    capture.told();
    // The hand goes once around before it comes to one that had no packet since.
    capture.other_client(4).handshake().client(".", 101, "y");
    let told = capture.told();
    assert!(told[0].ends_with("Evicted"), "{told:?}");
    assert_eq!(told[1..], ["4 open 4", "4 > y @0 #16"]);
    assert_eq!(capture.reassembler.counters().evicted, 1);
}

#[test]
fn tombstones_are_bounded() {
    let mut capture = Capture::new();
    for number in 0..70_000_u32 {
        let address = std::net::Ipv4Addr::from(0x0b00_0000 + number);
        capture.client = SocketAddr::from((address, 1));
        capture.client("S", 1, "");
    }
    assert_eq!(capture.end(), [""; 0]);
}

#[test]
fn times_at_the_end_of_the_range_do_no_harm() {
    let mut capture = Capture::new();
    capture.time = Time::from_nanoseconds(i64::MAX);
    for port in 1..100 {
        capture.other_client(port).handshake().client(".", 103, "x");
    }
    capture.time = Time::from_nanoseconds(i64::MIN);
    capture.other_client(200).handshake();
    capture.other_client(1).client(".", 101, "ab");
    assert_eq!(capture.told()[..2], ["1 open 1", "1 > ab @0 #400"]);
}
