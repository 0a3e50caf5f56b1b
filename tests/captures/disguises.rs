//! A small capture in all disguises must tell the same messages.

use std::io::Cursor;

use kafkascope::capture::{Again, Captures, PacketCounters};
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::dissect::Opening;
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::protocol::Catalog;

use crate::disguise::{CONTAINERS, LINKS, TUNNELS, ethernet, fragments, ip_packets, ipv4, pcap};
use crate::json::Json;
use crate::support::{lines, own, read};

struct Told<'p> {
    writer: NdjsonWriter<'p>,
    out: Vec<u8>,
}

impl<'p> MessageSink<'p> for Told<'p> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        self.writer.message(&mut self.out, message);
    }
}

/// What is exported of a capture, without the numbers of packets, and what became of the packets.
fn told(catalog: &Catalog, capture: Vec<u8>) -> (Vec<Json>, PacketCounters) {
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(capture), Again::No).unwrap();
    let sink = Told { writer: NdjsonWriter::new(Opening::new(catalog), true), out: Vec::new() };
    let mut session = Session::new(catalog, Options::default(), sink);
    while let Some(packet) = captures.next().unwrap() {
        session.packet(&packet);
    }
    session.finish();
    let mut messages = lines(&session.sink().out);
    for message in &mut messages {
        let Json::Object(members) = message else { panic!("{message:?}") };
        members.retain(|(key, _)| key != "packets");
    }
    (messages, session.packets())
}

/// The packets of a capture, and what it tells.
struct Base {
    packets: Vec<([u8; 8], Vec<u8>)>,
    messages: Vec<Json>,
}

/// What a packet becomes, by its number and its IP datagram.
type Rewrite<'r> = &'r dyn Fn(u32, &[u8]) -> Vec<Vec<u8>>;

impl Base {
    fn all(catalog: &Catalog) -> Vec<Self> {
        let base = |name: &&str| {
            let bytes = read(&own("captures").join(name));
            let packets = ip_packets(&bytes);
            let messages = told(catalog, bytes).0;
            assert!(messages.len() > 20);
            Self { packets, messages }
        };
        ["44-kafkajs-gzip.pcap", "44-java-ipv6.pcap"].iter().map(base).collect()
    }

    /// The capture with other packets instead of each.
    fn as_packets(&self, link: u32, rewrite: Rewrite<'_>) -> Vec<u8> {
        let packets = (1..).zip(&self.packets).flat_map(|(number, (time, ip))| {
            let rewritten = rewrite(number, ip);
            rewritten.into_iter().map(|packet| (*time, packet))
        });
        pcap(link, packets)
    }

    fn assert_same(&self, catalog: &Catalog, what: &str, capture: Vec<u8>) -> PacketCounters {
        let (messages, counters) = told(catalog, capture);
        assert_eq!(messages.len(), self.messages.len(), "{what}: {counters:?}");
        assert!(messages == self.messages, "{what}");
        assert_eq!(counters.segments, self.packets.len() as u64, "{what}");
        counters
    }
}

#[test]
fn link_layers() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        for (what, (link, wrap)) in LINKS {
            base.assert_same(&catalog, what, base.as_packets(link, &|_, ip| vec![wrap(ip)]));
        }
    }
}

#[test]
fn tunnels_and_one_in_another() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        for (outer_name, outer) in TUNNELS {
            base.assert_same(&catalog, outer_name, base.as_packets(1, &|_, ip| vec![ethernet(&outer(ip))]));
            for (inner_name, inner) in TUNNELS {
                let what = format!("{inner_name} in {outer_name}");
                base.assert_same(&catalog, &what, base.as_packets(101, &|_, ip| vec![outer(&inner(ip))]));
            }
        }
        // Eight are opened, the ninth is not.
        let deep =
            |count: usize| base.as_packets(101, &|_, ip| vec![(0..count).fold(ip.to_vec(), |ip, _| TUNNELS[0].1(&ip))]);
        base.assert_same(&catalog, "eight", deep(8));
        let (messages, counters) = told(&catalog, deep(9));
        assert_eq!((messages.len(), counters.tunnels), (0, base.packets.len() as u64));
    }
}

/// Fragments in another order, and some of them twice.
fn shuffled(mut fragments: Vec<Vec<u8>>, seed: u32) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(seed.into());
    let copies: Vec<_> = fragments.iter().filter(|_| random.u8(..4) == 0).cloned().collect();
    if fragments.len() > 1 {
        fragments.extend(copies);
    }
    random.shuffle(&mut fragments);
    fragments
}

#[test]
fn fragments_in_any_order_also_in_tunnels_and_of_tunnels() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        for size in [8, 24, 256, 504] {
            let what = format!("fragments of {size}");
            let frames = |number, ip: &[u8]| fragments(ip, number, size);
            let plain = |number, ip: &[u8]| frames(number, ip).iter().map(|ip| ethernet(ip)).collect();
            let counters = base.assert_same(&catalog, &what, base.as_packets(1, &plain));
            assert_eq!((counters.fragments > 0, counters.fragments_left_out), (true, 0), "{what}");
            let mixed = |number, ip: &[u8]| shuffled(frames(number, ip), number);
            let counters = base.assert_same(&catalog, &what, base.as_packets(101, &mixed));
            assert_eq!(counters.fragments_left_out, 0, "{what}");
        }
        for (what, tunnel) in TUNNELS {
            let inside = |number, ip: &[u8]| fragments(ip, number, 104).iter().map(|ip| tunnel(ip)).collect();
            base.assert_same(&catalog, what, base.as_packets(101, &inside));
            let outside = |number, ip: &[u8]| shuffled(fragments(&tunnel(ip), number, 64), number);
            base.assert_same(&catalog, what, base.as_packets(101, &outside));
            let both = |number, ip: &[u8]| {
                let inner = fragments(ip, number, 96);
                let outer = |(place, ip): (u32, &Vec<u8>)| fragments(&tunnel(ip), number * 1000 + place, 40);
                (0..).zip(&inner).flat_map(outer).collect()
            };
            base.assert_same(&catalog, what, base.as_packets(101, &both));
        }
    }
}

#[test]
fn containers_around_everything() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        let rewrite =
            |number, ip: &[u8]| fragments(&ipv4(47, &[&[0, 0, 0x65, 0x58][..], &ethernet(ip)].concat()), number, 504);
        let capture = base.as_packets(101, &rewrite);
        for (outer_name, outer) in CONTAINERS {
            base.assert_same(&catalog, outer_name, outer(&capture));
            for (inner_name, inner) in CONTAINERS {
                base.assert_same(&catalog, &format!("{inner_name} in {outer_name}"), outer(&inner(&capture)));
            }
        }
    }
}
