//! How fast the parts are, by `cargo bench --bench decode`: for people who change them, never asserted. Throughput is in bytes of the
//! frame or capture. What is asserted is the number of instructions of the whole: `benches/instructions.sh`.
#![allow(clippy::expect_used, reason = "a benchmark fails by panicking")]

#[path = "../examples/big_capture/clients.rs"]
mod clients;
#[path = "../examples/big_capture/network.rs"]
mod network;
#[path = "../examples/big_capture/traffic.rs"]
mod traffic;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

use clap::Parser;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use fastrand::Rng;
use kafkascope::capture::{CaptureReader, Names, Time, segment};
use kafkascope::conversation::{Message, MessageSink, Options, Session, Subject};
use kafkascope::dissect::{Deaf, Opening, RequestHead, TopicNames, Tree, dissect, fit_request, fit_response};
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::protocol::Catalog;
use kafkascope::stream::{Close, Connection, ConnectionId, Direction, Gap, Limits, Origin, Reassembler, StreamSink};
use traffic::{Batches, Codec, Kind, Traffic};

fn main() {
    divan::main();
}

static TOPICS: LazyLock<TopicNames> = LazyLock::new(TopicNames::new);
static NAMES: LazyLock<Names> = LazyLock::new(Names::default);
static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

/// The larger one of request and response.
const KINDS: [Kind; 5] = [Kind::Produce, Kind::Fetch, Kind::Metadata, Kind::ApiVersions, Kind::OffsetCommit];
const MIXES: [&str; 4] = ["produce", "fetch", "metadata", "small"];

/// A frame and how it is read.
fn message(kind: Kind) -> (Vec<u8>, Message<'static, 'static>) {
    let batches = Batches { records: 100, record_size: 256, codec: Codec::None };
    let mut traffic = Traffic::new(&CATALOG, Rng::with_seed(1), batches).expect("traffic");
    let (call, request) = traffic.request(kind, 7, "client-1").expect("a request");
    let response = traffic.response(&call).expect("a response");
    let head = RequestHead::read(request.get(4..).expect("a head")).expect("a head");
    let (key, version) = (head.key, head.version);
    let is_request = request.len() > response.len();
    let fit = if is_request {
        fit_request(&CATALOG, key, version, &request, true, 0)
    } else {
        fit_response(&CATALOG, key, version, &response, true, 0)
    };
    let frame = if is_request { request } else { response };
    let endpoint = |host| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), 9092));
    let message = Message {
        index: 1,
        time: Time::default(),
        connection: ConnectionId(1),
        client: endpoint(1),
        broker: endpoint(2),
        subject: Subject::Api { key: Some(key), version: Some(version), correlation: Some(7) },
        client_id: Some(b"client-1"),
        frame: &[],
        reading: fit.reading,
        assumed: None,
        guessed: false,
        gap: 0,
        packets: &[1, 2, 3],
        pieces: &[],
        stream_offset: 0,
        request: None,
        topics: &TOPICS,
        names: &NAMES,
        tls: None,
    };
    (frame, message)
}

#[divan::bench(args = KINDS)]
fn decode_to_deaf(bencher: Bencher, kind: Kind) {
    let (frame, message) = message(kind);
    bencher
        .counter(BytesCount::of_slice(&frame))
        .bench_local(|| dissect(&message.reading, black_box(&frame), &mut Deaf));
}

#[divan::bench(args = KINDS)]
fn decode_to_tree(bencher: Bencher, kind: Kind) {
    let (frame, message) = message(kind);
    bencher.counter(BytesCount::of_slice(&frame)).bench_local(|| {
        let mut tree = Tree::opened(Opening::new(&CATALOG));
        dissect(&message.reading, black_box(&frame), &mut tree);
        tree
    });
}

#[divan::bench(args = KINDS)]
fn decode_to_ndjson(bencher: Bencher, kind: Kind) {
    let (frame, message) = message(kind);
    let mut writer = NdjsonWriter::new(Opening::new(&CATALOG), false);
    let mut line = Vec::new();
    bencher.counter(BytesCount::of_slice(&frame)).bench_local(|| {
        line.clear();
        writer.message(&mut line, &Message { frame: black_box(&frame), ..message });
    });
}

/// A capture of three megabytes.
fn capture(mix: &str) -> Vec<u8> {
    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        options: clients::Options,
    }
    let arguments = Arguments::parse_from(["capture", "--size", "3MB", "--mix", mix]);
    let mut bytes = Vec::new();
    clients::generate(&arguments.options, &mut bytes).expect("a capture");
    bytes
}

#[divan::bench(args = MIXES)]
fn read_packets(bencher: Bencher, mix: &str) {
    let capture = capture(mix);
    bencher.counter(BytesCount::of_slice(&capture)).bench_local(|| {
        let mut reader = CaptureReader::new(black_box(&*capture)).expect("a capture");
        let mut bytes = 0;
        while let Ok(Some(packet)) = reader.next() {
            bytes += segment(&packet).map_or(0, |segment| segment.payload.len());
        }
        bytes
    });
}

#[divan::bench(args = MIXES)]
fn reassemble(bencher: Bencher, mix: &str) {
    let capture = capture(mix);
    bencher.counter(BytesCount::of_slice(&capture)).bench_local(|| {
        let mut reader = CaptureReader::new(black_box(&*capture)).expect("a capture");
        let mut reassembler = Reassembler::new(Limits::default());
        let mut count = Count::default();
        while let Ok(Some(packet)) = reader.next() {
            if let Ok(segment) = segment(&packet) {
                reassembler.push(&segment, &mut count);
            }
        }
        reassembler.finish(&mut count);
        count.bytes
    });
}

#[divan::bench(args = MIXES)]
fn find_messages(bencher: Bencher, mix: &str) {
    let capture = capture(mix);
    bencher.counter(BytesCount::of_slice(&capture)).bench_local(|| {
        let mut reader = CaptureReader::new(black_box(&*capture)).expect("a capture");
        let mut session = Session::new(&CATALOG, Options::default(), Count::default());
        while let Ok(Some(packet)) = reader.next() {
            session.packet(&packet);
        }
        session.finish();
        session.sink().messages
    });
}

/// Counts what it is told.
#[derive(Default)]
struct Count {
    bytes: usize,
    messages: usize,
}

impl StreamSink for Count {
    fn open(&mut self, _: &Connection) {}

    fn data(&mut self, _: &Connection, _: Direction, bytes: &[u8], _: Origin) {
        self.bytes += bytes.len();
    }

    fn gap(&mut self, _: &Connection, _: Direction, _: Gap) {}

    fn close(&mut self, _: &Connection, _: Close) {}
}

impl<'p> MessageSink<'p> for Count {
    fn message(&mut self, _: &Message<'_, 'p>) {
        self.messages += 1;
    }
}
