//! Packets are made by hand, after the RFCs and the link-layer header types of tcpdump.org.

use proptest::prelude::*;

use super::super::bytes::ByteOrder;
use super::super::{Comments, LinkType, NoSegment, Packet, PacketCounters, Place, Segment, Segments, Time, segment};

proptest! {
    #[test]
    fn no_bytes_make_the_headers_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        link in prop::sample::select(vec![0, 1, 12, 101, 108, 113, 228, 276]),
        ether in prop::sample::select(vec![None, Some(0x0800_u16), Some(0x86dd), Some(0x8100)]),
        version in prop::sample::select(vec![None, Some(0x45_u8), Some(0x60)]),
        original_length: u32,
    ) {
        let mut bytes = bytes;
        let ip = match link { 1 => 14, 113 => 16, 276 => 20, 0 | 108 => 4, _ => 0 };
        if let (Some(ether), Some(place)) = (ether, bytes.get_mut(12..14)) {
            place.copy_from_slice(&ether.to_be_bytes());
        }
        if let (Some(version), Some(place)) = (version, bytes.get_mut(ip)) {
            *place = version;
        }
        let packet = packet(LinkType(link), &bytes, original_length.max(bytes.len() as u32));
        if let Ok(segment) = segment(&packet) {
            prop_assert!(segment.payload.len() <= bytes.len());
        }
    }
}

fn packet(link: LinkType, data: &[u8], original_length: u32) -> Packet<'_> {
    Packet {
        secrets: &[],
        number: 7,
        time: Time::from_nanoseconds(99),
        interface: 0,
        link,
        data,
        place: Place::new(3, 1000),
        original_length,
        comments: Comments::new(&[], ByteOrder::Little, 0),
    }
}

/// TCP after RFC 9293: ports 1000 and 9092, sequence 0x01020304, acknowledgment 0x05060708, four bytes of options.
fn tcp(flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x03, 0xe8, 0x23, 0x84, 1, 2, 3, 4, 5, 6, 7, 8, 0x60, flags, 0xff, 0xff, 0, 0, 0, 0];
    bytes.extend([1, 1, 1, 1]);
    bytes.extend(payload);
    bytes
}

/// IPv4 after RFC 791, from 10.0.0.1 to 10.0.0.2.
fn ipv4(total_length: usize, fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [length_0, length_1] = (total_length as u16).to_be_bytes();
    let [fragment_0, fragment_1] = fragment.to_be_bytes();
    let mut bytes = vec![0x45, 0, length_0, length_1, 0, 1, fragment_0, fragment_1, 64, protocol, 0, 0];
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(payload);
    bytes
}

/// IPv6 after RFC 8200, from `fd00::1` to `fd00::2`.
fn ipv6(length: usize, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let [length_0, length_1] = (length as u16).to_be_bytes();
    let mut bytes = vec![0x60, 0, 0, 0, length_0, length_1, next_header, 64];
    for last in [1, 2] {
        bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    bytes.extend(payload);
    bytes
}

fn ethernet(tags: &[u16], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    for tag in tags {
        bytes.extend(tag.to_be_bytes());
        bytes.extend([0, 42]);
    }
    bytes.extend(ether_type.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn whole_ipv4() -> Vec<u8> {
    let tcp = tcp(0x18, b"kafka");
    ipv4(20 + tcp.len(), 0, 6, &tcp)
}

#[test]
fn all_link_layers_lead_to_the_segment() {
    let v4 = whole_ipv4();
    let tcp = tcp(0x18, b"kafka");
    let v6 = ipv6(tcp.len(), 6, &tcp);
    let with_start = |start: &[u8], ip: &[u8]| [start, ip].concat();
    let mut cooked = vec![0; 14];
    cooked.extend([0x08, 0]);
    let mut cooked_2 = vec![0x86, 0xdd];
    cooked_2.extend([0; 18]);
    let cases = [
        (1, ethernet(&[], 0x0800, &v4), true),
        (1, ethernet(&[0x8100], 0x86dd, &v6), false),
        (1, ethernet(&[0x88a8, 0x8100], 0x0800, &v4), true),
        (1, ethernet(&[0x9100, 0x8100], 0x0800, &v4), true),
        (113, with_start(&cooked, &v4), true),
        (276, with_start(&cooked_2, &v6), false),
        (0, with_start(&[2, 0, 0, 0], &v4), true),
        (0, with_start(&[0, 0, 0, 30], &v6), false),
        (0, with_start(&[28, 0, 0, 0], &v6), false),
        (108, with_start(&[0, 0, 0, 24], &v6), false),
        (101, v4.clone(), true),
        (12, v6.clone(), false),
        (14, v4.clone(), true),
        (228, v4.clone(), true),
        (229, v6.clone(), false),
    ];
    for (link, data, is_v4) in cases {
        let (source, destination) =
            if is_v4 { ("10.0.0.1:1000", "10.0.0.2:9092") } else { ("[fd00::1]:1000", "[fd00::2]:9092") };
        let expected = Segment {
            packet: 7,
            time: Time::from_nanoseconds(99),
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            sequence: 0x0102_0304,
            acknowledgment: Some(0x0506_0708),
            syn: false,
            fin: false,
            rst: false,
            payload: b"kafka",
            place: Place::new(3, 1000 + data.len() as u64 - 5),
            cut: 0,
        };
        assert_eq!(segment(&packet(LinkType(link), &data, data.len() as u32)), Ok(expected), "{link}");
    }
}

#[test]
fn lengths_are_those_of_ip() {
    let tcp = tcp(0x11, b"kafka");
    let length = 20 + tcp.len();
    let payload_and_cut = |data: &[u8], original_length: usize| {
        segment(&packet(LinkType::ETHERNET, data, original_length as u32))
            .map(|segment| (segment.payload.to_vec(), segment.cut))
    };
    let whole = ethernet(&[], 0x0800, &ipv4(length, 0, 6, &tcp));
    // Ethernet pads to 60 bytes.
    let padded = [&whole[..], &[0; 10]].concat();
    assert_eq!(payload_and_cut(&padded, padded.len()), Ok((b"kafka".to_vec(), 0)));
    // The capture kept all but three bytes, or cut inside of the TCP options.
    assert_eq!(payload_and_cut(&whole[..whole.len() - 3], whole.len()), Ok((b"ka".to_vec(), 3)));
    assert_eq!(payload_and_cut(&whole[..whole.len() - 7], whole.len()), Ok((vec![], 5)));
    assert_eq!(payload_and_cut(&whole[..14 + 20 + 19], whole.len()), Err(NoSegment::Broken));
    // Segmentation offload: the length is not filled in.
    let offloaded = ethernet(&[], 0x0800, &ipv4(0, 0, 6, &tcp));
    assert_eq!(payload_and_cut(&offloaded, offloaded.len()), Ok((b"kafka".to_vec(), 0)));
    assert_eq!(payload_and_cut(&offloaded, offloaded.len() + 9), Ok((b"kafka".to_vec(), 9)));
    assert_eq!(payload_and_cut(&offloaded, 1 << 30), Err(NoSegment::Broken));
    let jumbo = ethernet(&[], 0x86dd, &ipv6(0, 6, &tcp));
    assert_eq!(payload_and_cut(&jumbo, jumbo.len()), Ok((b"kafka".to_vec(), 0)));
    // Shorter than its own header.
    assert_eq!(payload_and_cut(&ethernet(&[], 0x0800, &ipv4(19, 0, 6, &tcp)), 100), Err(NoSegment::Broken));
    // A hop-by-hop header of eight bytes with padding, and an atomic fragment (RFC 6946), which is whole.
    let extended = [&[44, 0, 1, 4, 0, 0, 0, 0][..], &[6, 0, 0, 0, 0, 0, 0, 1], &tcp].concat();
    let extended = ethernet(&[], 0x86dd, &ipv6(extended.len(), 0, &extended));
    assert_eq!(payload_and_cut(&extended, extended.len()), Ok((b"kafka".to_vec(), 0)));
    assert_eq!(payload_and_cut(&extended[..extended.len() - 1], extended.len()), Ok((b"kafk".to_vec(), 1)));
}

#[test]
fn flags_are_told() {
    let flags = |flags| {
        let tcp = tcp(flags, b"");
        let data = ipv4(20 + tcp.len(), 0, 6, &tcp);
        let segment = segment(&packet(LinkType::RAW, &data, data.len() as u32)).unwrap();
        (segment.fin, segment.syn, segment.rst, segment.acknowledgment.is_some())
    };
    assert_eq!(flags(0x01), (true, false, false, false));
    assert_eq!(flags(0x02), (false, true, false, false));
    assert_eq!(flags(0x04), (false, false, true, false));
    assert_eq!(flags(0x10), (false, false, false, true));
}

#[test]
fn what_is_no_segment_is_counted() {
    let tcp = tcp(0x10, b"x");
    let length = 20 + tcp.len();
    let mut short_offset = tcp.clone();
    short_offset[12] = 0x40;
    let cases = [
        (1, ethernet(&[], 0x0806, &[0; 28]), Err(NoSegment::NotTcp)),
        (1, ethernet(&[], 0x0800, &ipv4(length, 0, 17, &tcp)), Err(NoSegment::NotTcp)),
        // More fragments, and a later fragment.
        (1, ethernet(&[], 0x0800, &ipv4(length, 0x2000, 6, &tcp)), Err(NoSegment::Fragment)),
        (1, ethernet(&[], 0x0800, &ipv4(length, 0x0010, 6, &tcp)), Err(NoSegment::Fragment)),
        // Don't fragment.
        (1, ethernet(&[], 0x0800, &ipv4(length, 0x4000, 6, &tcp)), Ok(())),
        (1, ethernet(&[], 0x0800, &ipv4(length, 0, 6, &short_offset)), Err(NoSegment::Broken)),
        (1, ethernet(&[], 0x0800, &[]), Err(NoSegment::Broken)),
        (1, vec![0; 13], Err(NoSegment::Broken)),
        (1, vec![], Err(NoSegment::Broken)),
        (0, vec![7, 0, 0, 0, 0x45], Err(NoSegment::NotTcp)),
        (147, vec![1, 2, 3], Err(NoSegment::LinkType(147))),
    ];
    let mut counters = PacketCounters::default();
    for (link, data, expected) in cases {
        let outcome = segment(&packet(LinkType(link), &data, data.len() as u32));
        counters.count(&outcome);
        assert_eq!(outcome.map(|_| ()), expected, "{link} {data:?}");
    }
    let expected = PacketCounters {
        packets: 11,
        segments: 1,
        not_tcp: 3,
        fragments: 2,
        broken: 4,
        unknown_link: 1,
        ..PacketCounters::default()
    };
    assert_eq!(counters, expected);
}

/// UDP from port 49152.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let [port_0, port_1] = port.to_be_bytes();
    let [length_0, length_1] = (8 + payload.len() as u16).to_be_bytes();
    [&[0xc0, 0, port_0, port_1, length_0, length_1, 0, 0], payload].concat()
}

fn ipv4_of(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4(20 + payload.len(), 0, protocol, payload)
}

/// What of a raw IP packet becomes of it, also where its fragments are put together.
fn outcome(data: &[u8]) -> Result<usize, NoSegment> {
    let packet = packet(LinkType::RAW, data, data.len() as u32);
    let alone = segment(&packet).map(|segment| segment.payload.len());
    assert_eq!(Segments::new().segment(&packet).map(|segment| segment.payload.len()), alone);
    alone
}

#[test]
fn a_tunnel_is_told_by_its_port_and_a_plausible_header() {
    let frame = ethernet(&[], 0x0800, &whole_ipv4());
    let through = |port, header: &[u8]| outcome(&ipv4_of(17, &udp(port, &[header, &frame].concat())));
    assert_eq!(through(4789, &[8, 0, 0, 0, 0, 0, 1, 0]), Ok(5));
    assert_eq!(through(4790, &[8, 0, 0, 0, 0, 0, 1, 0]), Err(NoSegment::NotTcp));
    assert_eq!(through(4789, &[0, 0, 0, 0, 0, 0, 1, 0]), Err(NoSegment::NotTcp));
    assert_eq!(through(4789, &[8, 0, 0, 0, 0, 0, 1, 1]), Err(NoSegment::NotTcp));
    assert_eq!(through(6081, &[0, 0, 0x65, 0x58, 0, 0, 1, 0]), Ok(5));
    // A later version, a control packet, reserved bits, options that are longer than the packet.
    assert_eq!(through(6081, &[0x40, 0, 0x65, 0x58, 0, 0, 1, 0]), Err(NoSegment::NotTcp));
    assert_eq!(through(6081, &[0, 0x80, 0x65, 0x58, 0, 0, 1, 0]), Err(NoSegment::NotTcp));
    assert_eq!(through(6081, &[0, 1, 0x65, 0x58, 0, 0, 1, 0]), Err(NoSegment::NotTcp));
    assert_eq!(through(6081, &[0x3f, 0, 0x65, 0x58, 0, 0, 1, 0]), Err(NoSegment::Broken));
}

#[test]
fn what_is_in_a_tunnel_that_is_not_opened_is_counted() {
    let ip = whole_ipv4();
    for (protocol, payload) in [
        (50, vec![1; 40]),
        (115, vec![1; 40]),
        // Source routing; the GRE of PPTP; something that is not known.
        (47, [&[0x40, 0, 8, 0, 0, 0, 0, 0][..], &ip].concat()),
        (47, [&[0x30, 1, 0x88, 0x0b, 0, 0, 0, 0][..], &ip].concat()),
        (47, [&[0, 0, 0x12, 0x34][..], &ip].concat()),
        // ERSPAN of another version; labels around what is not IP.
        (47, [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0][..], &ip].concat()),
        (137, vec![0, 1, 1, 64, 0, 0, 0, 0]),
    ] {
        assert_eq!(outcome(&ipv4_of(protocol, &payload)), Err(NoSegment::Tunnel), "{protocol} {payload:?}");
    }
}

#[test]
fn tunnels_in_tunnels_end() {
    let mut data = whole_ipv4();
    for depth in 1..1000 {
        data = ipv4_of(4, &data);
        let expected = if depth <= 8 { Ok(5) } else { Err(NoSegment::Tunnel) };
        assert_eq!(outcome(&data), expected, "{depth}");
    }
    // Tags and labels without end.
    assert_eq!(
        segment(&packet(LinkType::ETHERNET, &ethernet(&vec![0x8100; 10_000], 0x8100, &[]), 50_000)),
        Err(NoSegment::Broken)
    );
    assert_eq!(outcome(&ipv4_of(137, &vec![0; 40_000])), Err(NoSegment::Broken));
    // Extension headers without end.
    let headers = [0, 0, 0, 0, 0, 0, 0, 0].repeat(5000);
    assert_eq!(outcome(&ipv6(headers.len(), 0, &headers)), Err(NoSegment::Broken));
}

#[test]
fn headers_that_are_cut_at_any_length_are_no_segments() {
    let ip = whole_ipv4();
    let frame = ethernet(&[0x8100], 0x0800, &ip);
    let packets = [
        ethernet(&[0x88a8], 0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64][..], &ip].concat()),
        ethernet(&[], 0x8864, &[&[0x11, 0, 0, 1, 0, ip.len() as u8 + 2, 0, 0x21][..], &ip].concat()),
        ethernet(&[], 0x0800, &ipv4_of(17, &udp(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &frame].concat()))),
        ethernet(
            &[],
            0x0800,
            &ipv4_of(17, &udp(6081, &[&[1, 0, 0x65, 0x58, 0, 0, 1, 0, 1, 2, 3, 0][..], &frame].concat())),
        ),
        ethernet(&[], 0x0800, &ipv4_of(47, &[&[0x30, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 0][..], &frame].concat())),
        ethernet(
            &[],
            0x0800,
            &ipv4_of(
                47,
                &[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], &[0; 8], &frame]
                    .concat(),
            ),
        ),
        ethernet(&[], 0x86dd, &ipv6(ip.len(), 4, &ip)),
    ];
    for data in packets {
        let whole = data.len();
        for end in 0..=whole {
            let packet = packet(LinkType::ETHERNET, &data[..end], whole as u32);
            match segment(&packet) {
                // The five bytes at the end are the payload, the four before them options of TCP.
                Ok(segment) => {
                    assert!(end >= whole - 9, "{end} of {whole}");
                    assert_eq!(segment.payload.len() + segment.cut as usize, 5);
                    assert!(segment.payload.is_empty() || segment.place.offset == 1000 + (whole - 5) as u64);
                }
                Err(error) => {
                    assert!(end < whole - 9, "{error} {end} of {whole}");
                    assert!(matches!(error, NoSegment::Broken | NoSegment::NotTcp), "{error} {end} of {whole}");
                }
            }
        }
    }
}

#[test]
fn a_datagram_has_its_place_in_the_spool() {
    let tcp = tcp(0x18, b"kafka on the shore");
    let spool = super::super::Spool::new().unwrap();
    let source = spool.source("datagrams");
    let mut segments = Segments::new();
    segments.keep(spool, 9);
    for round in 1..3_u64 {
        let (first, second) = tcp.split_at(32);
        let first = ipv4(20 + first.len(), 0x2000, 6, first);
        let second = ipv4(20 + second.len(), 4, 6, second);
        let number = [0, round as u8];
        let numbered = |mut bytes: Vec<u8>| {
            bytes[4..6].copy_from_slice(&number);
            bytes
        };
        let (first, second) = (numbered(first), numbered(second));
        let first = packet(LinkType::RAW, &first, first.len() as u32);
        assert_eq!(segments.segment(&first), Err(NoSegment::Fragment));
        let second = packet(LinkType::RAW, &second, second.len() as u32);
        let segment = segments.segment(&second).unwrap();
        assert_eq!((segment.payload, segment.cut), (&b"kafka on the shore"[..], 0));
        assert_eq!(segment.place, Place::new(9, tcp.len() as u64 * (round - 1) + 24));
        let mut again = vec![0; segment.payload.len()];
        source.read_at(&mut again, segment.place.offset).unwrap();
        assert_eq!(again, segment.payload);
        assert_eq!(segments.segment(&second), Err(NoSegment::Fragment));
    }
    segments.finish();
    assert_eq!(segments.left_out(), 0);
}

proptest! {
    #[test]
    fn no_bytes_in_a_tunnel_make_the_headers_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        start in 0..9_usize,
    ) {
        let inner = |header: &[u8]| [header, &bytes[..]].concat();
        let data = match start {
            0 => ipv4_of(17, &udp(4789, &inner(&[8, 0, 0, 0, 0, 0, 1, 0]))),
            1 => ipv4_of(17, &udp(6081, &inner(&[]))),
            2 => ipv4_of(47, &inner(&[])),
            3 => ipv4_of(47, &inner(&[0x10, 0, 0x22, 0xeb])),
            4 => ipv4_of(47, &inner(&[0, 0, 0x88, 0x64])),
            5 => ipv4_of(137, &inner(&[])),
            6 => ipv6(bytes.len(), 44, &bytes),
            7 => ipv6(bytes.len(), 60, &bytes),
            _ => ipv4_of(4, &inner(&[0x45])),
        };
        let mut segments = Segments::new();
        let packet = packet(LinkType::RAW, &data, data.len() as u32);
        let _ = segments.segment(&packet);
        let _ = segments.segment(&packet);
    }
}
