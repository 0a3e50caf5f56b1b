//! A small capture in all disguises must tell the same messages.

use kafkascope::capture::PacketCounters;
use kafkascope::conversation::Options;
use kafkascope::protocol::Catalog;

use crate::disguise::{
    Block, CONTAINERS, LINKS, TUNNELS, ethernet, fragments, ip_packets, ipv4, modified_pcap, pcap, pcap_of, pcapng,
    snoop, vlan,
};
use crate::json::Json;
use crate::support::{self, own, read};

/// What is exported of a capture, without the numbers of packets, and what became of the packets.
fn told(catalog: &Catalog, capture: Vec<u8>) -> (Vec<Json>, PacketCounters) {
    let (messages, counters, damages) = told_merged(catalog, vec![capture], Options::default());
    assert_eq!(damages, 0);
    (messages, counters)
}

/// The same for captures that are read as one, and how often they were damaged.
fn told_merged(catalog: &Catalog, files: Vec<Vec<u8>>, options: Options) -> (Vec<Json>, PacketCounters, usize) {
    let told = support::told(catalog, files, options, &[]);
    assert_eq!(told.streams.conflicting_overlaps, 0);
    (without(&told.messages, &["packets"]), told.packets, told.damages)
}

fn without(messages: &[Json], keys: &[&str]) -> Vec<Json> {
    let strip = |message: &Json| {
        let Json::Object(members) = message else { panic!("{message:?}") };
        Json::Object(members.iter().filter(|(key, _)| !keys.contains(&key.as_str())).cloned().collect())
    };
    messages.iter().map(strip).collect()
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

/// All sequence numbers are moved so that each stream passes 2^32 somewhere.
#[test]
fn sequence_numbers_that_wrap() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        let tcp_at = |ip: &[u8]| if ip[0] >> 4 == 4 { usize::from(ip[0] & 15) * 4 } else { 40 };
        let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        // By ports: the first sequence number of a stream.
        let mut first = std::collections::HashMap::new();
        for (_, ip) in &base.packets {
            let at = tcp_at(ip);
            first.entry(word(ip, at)).or_insert(word(ip, at + 4));
        }
        for before in [0, 1, 100, 700] {
            let wrapping = |_: u32, ip: &[u8]| {
                let mut ip = ip.to_vec();
                let at = tcp_at(&ip);
                let ports = word(&ip, at);
                let moved = |ports: u32, number: u32| number.wrapping_sub(first[&ports]).wrapping_sub(before);
                let sequence = moved(ports, word(&ip, at + 4));
                ip[at + 4..at + 8].copy_from_slice(&sequence.to_be_bytes());
                if ip[at + 13] & 0x10 != 0 {
                    let acknowledgment = moved(ports.rotate_left(16), word(&ip, at + 8));
                    ip[at + 8..at + 12].copy_from_slice(&acknowledgment.to_be_bytes());
                }
                vec![ip]
            };
            base.assert_same(&catalog, &format!("{before} bytes before"), base.as_packets(101, &wrapping));
        }
    }
}

#[test]
fn ip_without_a_link_layer_of_one_version() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        let link = if base.packets[0].1[0] >> 4 == 4 { 228 } else { 229 };
        base.assert_same(&catalog, "by its version", base.as_packets(link, &|_, ip| vec![ip.to_vec()]));
    }
}

/// What stands behind IP is no payload, kept or not: padding, a check sequence, the trailer of a switch.
#[test]
fn trailers_that_were_kept_in_part() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        for kept in [0, 1, 7, 20] {
            let mut file = pcap(1, []);
            for (time, ip) in &base.packets {
                let frame = [ethernet(ip), vec![0xee; kept]].concat();
                let lengths = [frame.len() as u32, frame.len() as u32 + 20 - kept as u32].map(u32::to_le_bytes);
                file.extend([&time[..], &lengths[0], &lengths[1], &frame].concat());
            }
            let counters = base.assert_same(&catalog, &format!("{kept} bytes"), file);
            assert_eq!(counters.cut, 0, "{kept}");
        }
    }
}

/// Before segmentation offload fills them in, IP's lengths are 0.
#[test]
fn lengths_of_0() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        let without = |_: u32, ip: &[u8]| {
            let mut ip = ip.to_vec();
            let length = if ip[0] >> 4 == 4 { 2..4 } else { 4..6 };
            ip[length].fill(0);
            vec![ip]
        };
        base.assert_same(&catalog, "raw", base.as_packets(101, &without));
        for (what, tunnel) in TUNNELS {
            let inside = |number, ip: &[u8]| vec![tunnel(&without(number, ip)[0])];
            base.assert_same(&catalog, what, base.as_packets(101, &inside));
        }
    }
}

/// Messages of more than 64 KiB in one packet, as hosts have them that let the network card cut them (`BIG TCP`): IPv4
/// and IPv6 with a length of 0, and IPv6 with the length in an option (RFC 2675).
#[test]
fn packets_of_more_than_64_kib() {
    let catalog = Catalog::builtin();
    // ApiVersions requests (key 18, version 3) whose client has a long name: a compact string of 70,000 bytes.
    let request = |correlation: u8| {
        let name = vec![b'a' + correlation; 70_000];
        let body = [&[0, 18, 0, 3, 0, 0, 0, correlation, 0xff, 0xff, 0][..], &[0xf1, 0xa2, 0x04], &name, &[2, b'1', 0]];
        let body = body.concat();
        [&(body.len() as u32).to_be_bytes()[..], &body].concat()
    };
    let stream = [request(1), request(2), request(3)].concat();
    let tcp = |sequence: u32, flags: u8, payload: &[u8]| {
        let header = [0xc3, 0x50, 0x23, 0x84];
        [&header[..], &sequence.to_be_bytes(), &[0; 4], &[0x50, flags, 0xff, 0xff, 0, 0, 0, 0], payload].concat()
    };
    let packets = |longest: usize| {
        let mut sequence = 1000_u32;
        let mut packets = vec![tcp(sequence - 1, 2, &[])];
        for piece in stream.chunks(longest) {
            packets.push(tcp(sequence, 0x18, piece));
            sequence += piece.len() as u32;
        }
        packets
    };
    let v4 = |tcp: &[u8]| {
        let length = u16::try_from(20 + tcp.len()).unwrap_or(0).to_be_bytes();
        let header = [0x45, 0, length[0], length[1], 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        [&header[..], tcp].concat()
    };
    let v6 = |tcp: &[u8], is_jumbo: bool| {
        let options = [&[6, 0, 0xc2, 4][..], &(8 + tcp.len() as u32).to_be_bytes()].concat();
        let length = u16::try_from(tcp.len()).unwrap_or(0).to_be_bytes();
        let (next, options) = if is_jumbo { (0, &options[..]) } else { (6, &[][..]) };
        let length = if is_jumbo { [0, 0] } else { length };
        let mut header = vec![0x60, 0, 0, 0, length[0], length[1], next, 64];
        for last in [1, 2] {
            header.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        }
        [&header[..], options, tcp].concat()
    };
    let file = |packets: Vec<Vec<u8>>| pcap(101, packets.into_iter().map(|packet| ([7; 8], packet)));
    let addresses = ["client", "broker"];
    let usual = told(&catalog, file(packets(1400).iter().map(|tcp| v4(tcp)).collect())).0;
    let usual_6 = told(&catalog, file(packets(1400).iter().map(|tcp| v6(tcp, false)).collect())).0;
    assert_eq!(usual.len(), 3);
    assert!(without(&usual, &addresses) == without(&usual_6, &addresses));
    for longest in [65_000, 65_515, 65_516, 100_000, 150_000, 262_000] {
        assert!(told(&catalog, file(packets(longest).iter().map(|tcp| v4(tcp)).collect())).0 == usual, "{longest}");
        for is_jumbo in [false, true] {
            let large = packets(longest).iter().map(|tcp| v6(tcp, is_jumbo)).collect();
            assert!(told(&catalog, file(large)).0 == usual_6, "{longest} {is_jumbo}");
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
        // Each is as long as two, so all but the ends come twice.
        let overlapping = |number: u32, ip: &[u8]| {
            let long = fragments(ip, number, 32);
            let short = if long.len() > 1 { fragments(ip, number, 16) } else { Vec::new() };
            let mut all: Vec<Vec<u8>> = short.into_iter().skip(1).step_by(2).chain(long).collect();
            fastrand::Rng::with_seed(number.into()).shuffle(&mut all);
            all
        };
        let counters = base.assert_same(&catalog, "overlapping", base.as_packets(101, &overlapping));
        assert_eq!(counters.fragments_left_out, 0);
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

#[test]
fn formats() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        base.assert_same(&catalog, "snoop", snoop(&base.packets));
        base.assert_same(&catalog, "modified pcap", modified_pcap(&base.packets));
        for (is_big, is_nano) in [(false, false), (false, true), (true, false), (true, true)] {
            let what = format!("big-endian: {is_big}, nanoseconds: {is_nano}");
            base.assert_same(&catalog, &what, pcap_of(is_big, is_nano, 101, &base.packets));
        }
        for sections in [1, 2, 7] {
            for block in [Block::Enhanced, Block::Obsolete] {
                let what = format!("{block:?} in {sections} sections");
                base.assert_same(&catalog, &what, pcapng(&base.packets, block, sections, &[]));
            }
            // Simple packets have no times.
            let (messages, counters) = told(&catalog, pcapng(&base.packets, Block::Simple, sections, &[]));
            let times = ["time", "latencyMs"];
            assert!(without(&messages, &times) == without(&base.messages, &times), "{sections}");
            assert_eq!(counters.segments, base.packets.len() as u64);
        }
    }
}

#[test]
fn damage_between_records() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        let garbage = [0xde, 0xad, 0xbe, 0xef, 0xff];
        let file = pcapng(&base.packets, Block::Enhanced, 3, &garbage);
        let (messages, counters, told) = told_merged(&catalog, vec![file], Options::default());
        assert!(messages == base.messages);
        // Twenty places, and all others together.
        assert_eq!((counters.segments, told), (base.packets.len() as u64, 21));

        let whole = base.as_packets(1, &|_, ip| vec![ethernet(ip)]);
        let mut broken = Vec::from(&whole[..24]);
        for (number, (_, ip)) in base.packets.iter().enumerate() {
            let at = 24 + base.packets[..number].iter().map(|(_, ip)| 16 + 14 + ip.len()).sum::<usize>();
            broken.extend(&whole[at..at + 30 + ip.len()]);
            broken.extend(&garbage[..number % 2 * garbage.len()]);
        }
        let (messages, counters, told) = told_merged(&catalog, vec![broken], Options::default());
        assert!(messages == base.messages);
        assert_eq!((counters.segments, told), (base.packets.len() as u64, 21));
    }
}

/// The same a little later.
fn later(packets: &[([u8; 8], Vec<u8>)], micros: u32) -> Vec<([u8; 8], Vec<u8>)> {
    let time = |time: &[u8; 8]| {
        let (words, _) = time.as_chunks::<4>();
        let sum = u32::from_le_bytes(words[1]) + micros;
        let seconds = u32::from_le_bytes(words[0]) + sum / 1_000_000;
        [seconds.to_le_bytes(), (sum % 1_000_000).to_le_bytes()].concat().try_into().unwrap()
    };
    packets.iter().map(|(at, ip)| (time(at), ip.clone())).collect()
}

#[test]
fn a_message_that_was_captured_twice_is_told_once() {
    let catalog = Catalog::builtin();
    for base in Base::all(&catalog) {
        let plain = base.as_packets(1, &|_, ip| vec![ethernet(ip)]);
        let tagged = |micros| pcap(1, later(&base.packets, micros).into_iter().map(|(time, ip)| (time, vlan(&ip))));
        let twice = base.as_packets(1, &|_, ip| vec![ethernet(ip); 2]);
        let in_and_out = base.as_packets(1, &|_, ip| vec![ethernet(ip), vlan(ip)]);
        let in_tunnel = base.as_packets(1, &|_, ip| vec![ethernet(&TUNNELS[2].1(ip)), ethernet(ip)]);
        // As captures on `any` have it: all packets of one interface, or of another a moment later.
        let any = {
            let packets: Vec<_> = base.packets.iter().flat_map(|packet| [packet.clone(), packet.clone()]).collect();
            pcapng(&packets, Block::Enhanced, 1, &[])
        };
        for (what, files) in [
            ("twice", vec![twice]),
            ("in and out", vec![in_and_out]),
            ("in a tunnel and out", vec![in_tunnel]),
            ("any", vec![any]),
            ("a file with itself", vec![plain.clone(), plain.clone()]),
            ("a copy 40 us later", vec![plain.clone(), tagged(40)]),
            ("a copy 3 ms later, named first", vec![tagged(3000), plain.clone()]),
            ("a copy 150 ms later", vec![plain.clone(), tagged(150_000)]),
        ] {
            let (messages, counters, _) = told_merged(&catalog, files, Options::default());
            assert_eq!(messages.len(), base.messages.len(), "{what}");
            // Times and latencies too, so they are those of the first copies.
            assert!(messages == base.messages, "{what}");
            assert_eq!(counters.segments, 2 * base.packets.len() as u64, "{what}");
        }
    }
}

#[test]
fn checksums_are_looked_at_only_when_that_is_asked_for() {
    let catalog = Catalog::builtin();
    let options = || Options { check_checksums: true, ..Options::default() };
    for base in Base::all(&catalog) {
        // The internet checksum of RFC 1071.
        fn checksum<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> [u8; 2] {
            let bytes = parts.into_iter().collect::<Vec<_>>().concat();
            let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
            let mut sum: u32 = words.sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            (!(sum as u16)).to_be_bytes()
        }
        let right = |ip: &[u8]| {
            let mut ip = ip.to_vec();
            let (header, addresses) = if ip[0] >> 4 == 4 { (usize::from(ip[0] & 15) * 4, 12..20) } else { (40, 8..40) };
            let length = ((ip.len() - header) as u32).to_be_bytes();
            ip[header + 16..header + 18].fill(0);
            let sum = checksum([&ip[addresses], &length, &[0, 6][..], &ip[header..]]);
            ip[header + 16..header + 18].copy_from_slice(&sum);
            if header < 40 {
                ip[10..12].fill(0);
                let sum = checksum([&ip[..header]]);
                ip[10..12].copy_from_slice(&sum);
            }
            ip
        };
        let all = base.as_packets(101, &|_, ip| vec![right(ip)]);
        let (messages, counters, _) = told_merged(&catalog, vec![all], options());
        assert!(messages == base.messages);
        assert_eq!((counters.segments, counters.wrong_checksums), (base.packets.len() as u64, 0));

        // A wrong copy comes before each right one: in its data, in its checksum, in the header of IPv4.
        let with_wrong = |number: u32, ip: &[u8]| {
            let right = right(ip);
            let mut wrong = right.clone();
            let last = wrong.len() - 1;
            let header = if ip[0] >> 4 == 4 { usize::from(ip[0] & 15) * 4 } else { 40 };
            match number % 3 {
                0 => wrong[last] ^= 0x40,
                1 => wrong[header + 17] ^= 1,
                _ if header < 40 => wrong[8] ^= 1,
                _ => wrong[header + 16] = !wrong[header + 16],
            }
            vec![wrong, right]
        };
        let mixed = base.as_packets(101, &with_wrong);
        let (messages, counters, _) = told_merged(&catalog, vec![mixed.clone()], options());
        assert!(messages == base.messages);
        let count = base.packets.len() as u64;
        assert_eq!((counters.segments, counters.wrong_checksums), (count, count));
        let (_, counters, _) = told_merged(&catalog, vec![mixed], Options::default());
        assert_eq!((counters.segments, counters.wrong_checksums), (2 * count, 0));
    }
}
