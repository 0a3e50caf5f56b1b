//! The same traffic in other clothes: link layers, tunnels, fragments and containers, made by hand after their documents.

use std::io::Write;

/// The IP packets of a pcap file of Ethernet in little-endian byte order, each with the eight bytes of its time. Padding is
/// left out.
pub(crate) fn ip_packets(pcap: &[u8]) -> Vec<([u8; 8], Vec<u8>)> {
    let mut rest = &pcap[24..];
    let mut packets = Vec::new();
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let (frame, behind) = behind.split_at(length);
        let ip = &frame[14..];
        let whole = match ip[0] >> 4 {
            4 => usize::from(u16::from_be_bytes([ip[2], ip[3]])),
            _ => 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])),
        };
        packets.push((header[..8].try_into().unwrap(), ip[..whole].to_vec()));
        rest = behind;
    }
    packets
}

/// A pcap file.
pub(crate) fn pcap(link: u32, packets: impl IntoIterator<Item = ([u8; 8], Vec<u8>)>) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    file.extend(link.to_le_bytes());
    for (time, packet) in packets {
        let length = (packet.len() as u32).to_le_bytes();
        file.extend([&time[..], &length, &length, &packet].concat());
    }
    file
}

/// A pcap file in either byte order and precision.
pub(crate) fn pcap_of(is_big: bool, is_nano: bool, link: u32, packets: &[Timed]) -> Vec<u8> {
    let word = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = [&word(magic)[..], &half(2), &half(4), &[0; 8], &word(262_144), &word(link)].concat();
    for (time, packet) in packets {
        let [seconds, micros] = seconds_and_micros(*time);
        let length = packet.len() as u32;
        for value in [seconds, if is_nano { micros * 1000 } else { micros }, length, length] {
            file.extend(word(value));
        }
        file.extend(packet);
    }
    file
}

/// A packet with the eight bytes of its time, as [`ip_packets`] gives them.
type Timed = ([u8; 8], Vec<u8>);

fn seconds_and_micros(time: [u8; 8]) -> [u32; 2] {
    let (words, _) = time.as_chunks::<4>();
    [u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1])]
}

/// A snoop file (RFC 1761) of Ethernet.
pub(crate) fn snoop(packets: &[Timed]) -> Vec<u8> {
    let mut file = [&b"snoop\0\0\0"[..], &[0, 0, 0, 2, 0, 0, 0, 4]].concat();
    for (time, ip) in packets {
        let frame = ethernet(ip);
        let padded = frame.len().next_multiple_of(4);
        let [seconds, micros] = seconds_and_micros(*time);
        for word in [frame.len() as u32, frame.len() as u32, 24 + padded as u32, 0, seconds, micros] {
            file.extend(word.to_be_bytes());
        }
        file.extend(&frame);
        file.resize(file.len() + padded - frame.len(), 0);
    }
    file
}

/// The pcap format with eight more bytes a record: interface, protocol, kind of packet.
pub(crate) fn modified_pcap(packets: &[Timed]) -> Vec<u8> {
    let mut file = vec![0x34, 0xcd, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for (time, ip) in packets {
        let frame = ethernet(ip);
        let length = (frame.len() as u32).to_le_bytes();
        file.extend([&time[..], &length, &length, &[2, 0, 0, 0, 8, 0, 0, 0], &frame].concat());
    }
    file
}

/// A kind of pcapng block that holds a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Enhanced,
    Obsolete,
    Simple,
}

/// A pcapng file of raw IP in as many sections as are asked for, by turns in either byte order; the packets of a section are
/// from two interfaces by turns, each with a clock of its own. Between all blocks stand `between`.
pub(crate) fn pcapng(packets: &[Timed], block: Block, sections: usize, between: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for (number, packets) in packets.chunks(packets.len().div_ceil(sections)).enumerate() {
        let is_big = number % 2 == 1;
        let word = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let half = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let put = |file: &mut Vec<u8>, kind: u32, body: &[u8]| {
            let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
            let length = word((12 + body.len() + padding.len()) as u32);
            file.extend([&word(kind)[..], &length, body, &padding, &length].concat());
        };
        put(&mut file, 0x0a0d_0d0a, &[&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat());
        // Microseconds; and 2^-40 s, counted from the first packet.
        put(&mut file, 1, &[&half(101)[..], &[0; 2], &word(0)].concat());
        let start = packets.first().map_or(0, |(time, _)| u64::from(seconds_and_micros(*time)[0]));
        let offset = if is_big { start.to_be_bytes() } else { start.to_le_bytes() };
        let clock = [&half(9)[..], &half(1), &[0xa8, 0, 0, 0], &half(14), &half(8), &offset, &[0; 4]].concat();
        put(&mut file, 1, &[&half(101)[..], &[0; 2], &word(0), &clock].concat());
        for (place, (time, ip)) in packets.iter().enumerate() {
            file.extend(between);
            let [seconds, micros] = seconds_and_micros(*time).map(u64::from);
            let interface = if block == Block::Simple { 0 } else { place % 2 };
            let ticks = match interface {
                0 => seconds * 1_000_000 + micros,
                // The next tick: a nanosecond has a thousand of them.
                _ => ((seconds - start) << 40) + (micros << 40) / 1_000_000 + 1,
            };
            let length = word(ip.len() as u32);
            let words = [word((ticks >> 32) as u32), word(ticks as u32), length, length].concat();
            match block {
                Block::Enhanced => put(&mut file, 6, &[&word(interface as u32)[..], &words, ip].concat()),
                Block::Obsolete => {
                    put(&mut file, 2, &[&half(interface as u16)[..], &half(0xffff), &words, ip].concat());
                }
                Block::Simple => put(&mut file, 3, &[&length[..], ip].concat()),
            }
        }
    }
    file
}

/// A pcapng file of raw IP whose clock counts nanoseconds from so many seconds after 1970.
pub(crate) fn pcapng_of_nanoseconds<'i>(start: i64, packets: impl IntoIterator<Item = (u64, &'i [u8])>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut put = |kind: u32, body: &[u8]| {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let length = ((12 + body.len() + padding.len()) as u32).to_le_bytes();
        file.extend([&kind.to_le_bytes()[..], &length, body, &padding, &length].concat());
    };
    put(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    let clock = [&[9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0][..], &start.to_le_bytes(), &[0; 4]].concat();
    put(1, &[&[101, 0, 0, 0, 0, 0, 0, 0][..], &clock].concat());
    for (ticks, ip) in packets {
        let length = (ip.len() as u32).to_le_bytes();
        let [high, low] = [(ticks >> 32) as u32, ticks as u32].map(u32::to_le_bytes);
        put(6, &[&[0; 4][..], &high, &low, &length, &length, ip].concat());
    }
    file
}

fn ether_type(ip: &[u8]) -> [u8; 2] {
    if ip[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] }
}

/// A link-layer header of so many bytes, and what is put in front of an IP packet.
type Link = (u32, fn(&[u8]) -> Vec<u8>);

/// All link types.
pub(crate) const LINKS: [(&str, Link); 20] = [
    ("ethernet", (1, ethernet)),
    ("one tag", (1, |ip| tagged(&[[0x81, 0x00]], ether_type(ip), ip))),
    ("802.1ad", (1, |ip| tagged(&[[0x88, 0xa8], [0x81, 0x00]], ether_type(ip), ip))),
    ("QinQ", (1, |ip| tagged(&[[0x91, 0x00], [0x81, 0x00]], ether_type(ip), ip))),
    ("one label", (1, |ip| tagged(&[], [0x88, 0x47], &labelled(1, ip)))),
    ("four labels behind a tag", (1, |ip| tagged(&[[0x81, 0x00]], [0x88, 0x48], &labelled(4, ip)))),
    ("PPPoE", (1, |ip| tagged(&[], [0x88, 0x64], &pppoe(ip)))),
    ("PPPoE behind two tags", (1, |ip| tagged(&[[0x88, 0xa8], [0x81, 0x00]], [0x88, 0x64], &pppoe(ip)))),
    ("BSD loopback", (0, |ip| [if ip[0] >> 4 == 4 { [2, 0, 0, 0] } else { [30, 0, 0, 0] }.as_slice(), ip].concat())),
    (
        "BSD loopback, big-endian",
        (0, |ip| [if ip[0] >> 4 == 4 { [0, 0, 0, 2] } else { [0, 0, 0, 28] }.as_slice(), ip].concat()),
    ),
    (
        "OpenBSD loopback",
        (108, |ip| [if ip[0] >> 4 == 4 { [0, 0, 0, 2] } else { [0, 0, 0, 24] }.as_slice(), ip].concat()),
    ),
    (
        "OpenBSD loopback in the order of its host",
        (108, |ip| [if ip[0] >> 4 == 4 { [2, 0, 0, 0] } else { [24, 0, 0, 0] }.as_slice(), ip].concat()),
    ),
    // FreeBSD's number for IPv6, and IPv4 on a big-endian host.
    (
        "loopback of macOS",
        (0, |ip| [if ip[0] >> 4 == 4 { [0, 0, 0, 2] } else { [0, 0, 0, 30] }.as_slice(), ip].concat()),
    ),
    ("raw", (101, <[u8]>::to_vec)),
    ("raw 12", (12, <[u8]>::to_vec)),
    ("raw 14", (14, <[u8]>::to_vec)),
    ("cooked", (113, |ip| [&[0; 14], &ether_type(ip)[..], ip].concat())),
    ("cooked with a tag", (113, |ip| [&[0; 14][..], &[0x81, 0, 0, 7], &ether_type(ip)[..], ip].concat())),
    ("cooked 2", (276, |ip| [&ether_type(ip)[..], &[0; 18], ip].concat())),
    ("cooked 2 with labels", (276, |ip| [&[0x88, 0x47], &[0; 18][..], &labelled(2, ip)].concat())),
];

pub(crate) fn ethernet(ip: &[u8]) -> Vec<u8> {
    tagged(&[], ether_type(ip), ip)
}

pub(crate) fn vlan(ip: &[u8]) -> Vec<u8> {
    tagged(&[[0x81, 0x00]], ether_type(ip), ip)
}

fn tagged(tags: &[[u8; 2]], ether_type: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        frame.extend([tag[0], tag[1], 0x20, 42]);
    }
    [&frame[..], &ether_type, payload].concat()
}

/// RFC 3032: labels of 20 bits, of which the last one has the bottom bit.
fn labelled(count: usize, ip: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..count {
        bytes.extend([0, 1, 0x20 | u8::from(number + 1 == count), 64]);
    }
    [&bytes[..], ip].concat()
}

/// RFC 2516.
fn pppoe(ip: &[u8]) -> Vec<u8> {
    let protocol = if ip[0] >> 4 == 4 { 0x21 } else { 0x57 };
    let length = (ip.len() as u16 + 2).to_be_bytes();
    // Ethernet pads.
    [&[0x11, 0, 0, 9], &length[..], &[0, protocol], ip, &[0xee; 7]].concat()
}

/// IPv4 around a payload, with eight bytes of options.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len() as u16).to_be_bytes();
    let header = [0x47, 0, length[0], length[1], 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    [&header[..], &[1, 1, 1, 1, 1, 1, 1, 0], payload].concat()
}

/// IPv6 around a payload, with destination options (RFC 2473 puts the limit of encapsulations there).
pub(crate) fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    let mut bytes = vec![0x60, 0, 0, 0, length[0], length[1], 60, 64];
    for last in [1, 2] {
        bytes.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [&bytes[..], &[protocol, 0, 4, 1, 4, 1, 0, 0], payload].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    [&[0xc0, 0, port.to_be_bytes()[0], port.to_be_bytes()[1], length[0], length[1], 0, 0], payload].concat()
}

fn gre(flags: u8, ether_type: [u8; 2], optional: &[u8], payload: &[u8]) -> Vec<u8> {
    [&[flags, 0], &ether_type[..], optional, payload].concat()
}

fn ip_protocol(ip: &[u8]) -> u8 {
    if ip[0] >> 4 == 4 { 4 } else { 41 }
}

/// What makes an IP packet of an IP packet.
type Tunnel = fn(&[u8]) -> Vec<u8>;

/// All tunnels over IP.
pub(crate) const TUNNELS: [(&str, Tunnel); 17] = [
    ("IP in IPv4", |ip| ipv4(ip_protocol(ip), ip)),
    ("IP in IPv6", |ip| ipv6(ip_protocol(ip), ip)),
    ("VXLAN", |ip| ipv4(17, &udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(ip)[..]].concat()))),
    ("VXLAN on Linux's old port, in IPv6", |ip| {
        ipv6(17, &udp(8472, &[&[8, 0, 0, 0, 0, 0, 42, 0], &tagged(&[[0x81, 0]], ether_type(ip), ip)[..]].concat()))
    }),
    ("Geneve", |ip| ipv4(17, &udp(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 1, 0], &ethernet(ip)[..]].concat()))),
    ("Geneve with options, without Ethernet", |ip| {
        let [type_0, type_1] = ether_type(ip);
        let options = [0x01, 0x02, 0x80, 1, 9, 9, 9, 9];
        ipv6(17, &udp(6081, &[&[2, 0x40, type_0, type_1, 0, 0, 1, 0][..], &options, ip].concat()))
    }),
    ("GRE", |ip| ipv4(47, &gre(0, ether_type(ip), &[], ip))),
    ("GRE with key", |ip| ipv4(47, &gre(0x20, ether_type(ip), &[0, 0, 0, 5], ip))),
    ("GRE with all there is", |ip| ipv6(47, &gre(0xb0, ether_type(ip), &[1, 2, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6], ip))),
    ("Ethernet in GRE", |ip| ipv4(47, &gre(0x20, [0x65, 0x58], &[0, 0, 7, 0], &ethernet(ip)))),
    ("ERSPAN I", |ip| ipv4(47, &gre(0, [0x88, 0xbe], &[], &ethernet(ip)))),
    ("ERSPAN II", |ip| ipv4(47, &gre(0x10, [0x88, 0xbe], &[0, 0, 0, 1, 0x10, 1, 0x18, 2, 0, 0, 0, 3], &ethernet(ip)))),
    ("ERSPAN III", |ip| {
        let header = [0, 0, 0, 1, 0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0x80, 0];
        ipv4(47, &gre(0x10, [0x22, 0xeb], &header, &ethernet(ip)))
    }),
    ("ERSPAN III with a subheader, of IP", |ip| {
        let header = [0, 0, 0, 1, 0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0x08, 1, 7, 7, 7, 7, 7, 7, 7, 7];
        ipv4(47, &gre(0x10, [0x22, 0xeb], &header, ip))
    }),
    ("labels in IP", |ip| ipv4(137, &labelled(2, ip))),
    ("labels in GRE", |ip| ipv4(47, &gre(0, [0x88, 0x47], &[], &labelled(1, ip)))),
    // RFC 4302: length in words less two; the reserved bytes, index, sequence, check value.
    ("behind an authentication header", |ip| {
        ipv4(51, &[&[ip_protocol(ip), 4, 0, 0], &[0, 0, 0, 1, 0, 0, 0, 2][..], &[0xcc; 12], ip].concat())
    }),
];

/// Cuts an IP packet into fragments whose payloads have so many bytes, a multiple of eight. One that is not longer is
/// sent as it is, or, of IPv6, as its own only fragment (RFC 6946).
pub(crate) fn fragments(ip: &[u8], identification: u32, size: usize) -> Vec<Vec<u8>> {
    let is_v4 = ip[0] >> 4 == 4;
    let header = if is_v4 { usize::from(ip[0] & 15) * 4 } else { 40 };
    let (header, payload) = ip.split_at(header);
    if is_v4 && payload.len() <= size {
        return vec![ip.to_vec()];
    }
    let count = payload.chunks(size).count();
    let fragment = |(number, piece): (usize, &[u8])| {
        let (offset, more) = ((number * size) as u16, number + 1 < count);
        let mut header = header.to_vec();
        if is_v4 {
            let length = (header.len() as u16 + piece.len() as u16).to_be_bytes();
            header[2..4].copy_from_slice(&length);
            header[4..6].copy_from_slice(&(identification as u16).to_be_bytes());
            header[6..8].copy_from_slice(&((offset / 8) | if more { 0x2000 } else { 0 }).to_be_bytes());
        } else {
            header[4..6].copy_from_slice(&(8 + piece.len() as u16).to_be_bytes());
            let next = std::mem::replace(&mut header[6], 44);
            header.extend([next, 0]);
            header.extend((offset | u16::from(more)).to_be_bytes());
            header.extend(identification.to_be_bytes());
        }
        [&header[..], piece].concat()
    };
    payload.chunks(size).enumerate().map(fragment).collect()
}

/// What packs bytes.
type Pack = fn(&[u8]) -> Vec<u8>;

/// All containers.
pub(crate) const CONTAINERS: [(&str, Pack); 3] = [
    ("gzip", |bytes| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }),
    ("zstd", |bytes| zstd::encode_all(bytes, 1).unwrap()),
    ("lz4", |bytes| {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }),
];
