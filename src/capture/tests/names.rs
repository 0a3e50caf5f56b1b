//! Name resolution blocks and what interfaces are called.

use std::io::Cursor;
use std::net::IpAddr;

use super::*;

/// A record of a name resolution block: an address, then names with a zero behind each.
fn record(file: &PcapNgFile, address: IpAddr, names: &[&[u8]]) -> Vec<u8> {
    let (kind, mut value) = match address {
        IpAddr::V4(address) => (1, address.octets().to_vec()),
        IpAddr::V6(address) => (2, address.octets().to_vec()),
    };
    for name in names {
        value.extend(*name);
        value.push(0);
    }
    file.option(kind, &value)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// What is known behind the end of captures that are read as one, and the interfaces of their packets.
fn read_named(files: &[&PcapNgFile], wants_hosts: bool) -> (Names, Vec<InterfaceId>) {
    let mut captures = Captures::new();
    for (name, file) in ["a.pcapng", "b.pcapng"].into_iter().zip(files) {
        captures.add_stream(name, Cursor::new(file.bytes.clone()), Again::No).unwrap();
    }
    if wants_hosts {
        captures.names().want_hosts();
    }
    let mut interfaces = Vec::new();
    while let Some(packet) = captures.next().unwrap() {
        interfaces.push(packet.place.interface);
    }
    (captures.names().clone(), interfaces)
}

#[test]
fn hosts_have_their_first_name_in_either_byte_order() {
    for big in [false, true] {
        let mut file = PcapNgFile::new();
        file.section(big).interface(1, 0, &[]);
        let records = [
            record(&file, address("10.0.0.1"), &[b"kafka-1.example", b"kafka-1"]),
            // Of an Ethernet address (type 3), which is passed over.
            file.option(3, b"\x02\0\0\0\0\x01switch\0"),
            record(&file, address("2001:db8::7"), &[b"client"]),
            // Shorter than an address, and without a name.
            file.option(1, b"\x0a\0"),
            record(&file, address("10.0.0.2"), &[]),
            file.option(0, &[]),
            record(&file, address("10.0.0.3"), &[b"behind the end"]),
        ];
        file.block(4, &records.concat());
        file.enhanced(0, 1, b"data", &[]);
        let again = record(&file, address("10.0.0.1"), &[b"another"]);
        let late = record(&file, address("10.0.0.4"), &[b"behind-the-last-packet"]);
        file.block(4, &[again, late].concat());
        let (names, _) = read_named(&[&file], true);
        let host = |text| names.host(address(text)).map(|name| name.to_string());
        assert_eq!(host("10.0.0.1").as_deref(), Some("kafka-1.example"));
        assert_eq!(host("2001:db8::7").as_deref(), Some("client"));
        assert_eq!(host("10.0.0.4").as_deref(), Some("behind-the-last-packet"));
        assert_eq!((host("10.0.0.2"), host("10.0.0.3")), (None, None));
        assert_eq!(names.hosts(), 3);
        // Nobody has a name unless that is asked for.
        let (names, _) = read_named(&[&file], false);
        assert_eq!((names.hosts(), names.host(address("10.0.0.1"))), (0, None));
    }
}

#[test]
fn names_that_could_be_taken_for_addresses_are_none() {
    let mut file = PcapNgFile::new();
    file.section(false);
    let long = "a".repeat(256);
    let none = [
        "10.0.0.9",
        "::1",
        "10.0.0.9:9092",
        &long,
        // As `inet_aton` reads them.
        "010.0.0.5",
        "167772165",
        "0x0a000005",
        "0xa.0X0.0.5",
        "10.0.0.5 ",
        " 10.0.0.5",
        "10.0.0.5.",
        "10.0.0.5 kafka",
        "\u{ff11}\u{ff10}.0.0.5",
        "10.0.0.5\u{200b}",
        // IPv6: with a zone, in brackets, with a colon of full width.
        "fe80::1%eth0",
        "[2001:db8::7]",
        "fe80\u{ff1a}\u{ff1a}1",
        "...",
        " ",
    ];
    // What prints them escapes.
    let names = ["fine", "\x1b[31m\u{fffd}", "kafka.1", "10.0.0.5.example", "0xcafe.example", "b\u{fc}ro", "a"];
    let count = (none.len() + names.len()) as u8;
    let records: Vec<_> = (0..)
        .zip(none.iter().chain(&names))
        .map(|(last, name)| record(&file, IpAddr::from([10, 0, 0, last]), &[name.as_bytes()]))
        .collect();
    file.block(4, &records.concat());
    let (known, _) = read_named(&[&file], true);
    let hosts: Vec<_> = (0..count).map(|last| known.host(IpAddr::from([10, 0, 0, last]))).collect();
    let expected: Vec<_> = none.iter().map(|_| None).chain(names.map(|name| Some(name.into()))).collect();
    assert_eq!(hosts, expected);
    // Blanks around a name are not of it, and bytes that are no UTF-8 are told.
    let mut file = PcapNgFile::new();
    file.section(false);
    let records =
        [record(&file, address("10.0.0.1"), &[b" kafka-1\t"]), record(&file, address("10.0.0.2"), &[b"k\xff"])];
    file.block(4, &records.concat());
    let (names, _) = read_named(&[&file], true);
    assert_eq!(names.host(address("10.0.0.1")).as_deref(), Some("kafka-1"));
    assert_eq!(names.host(address("10.0.0.2")).as_deref(), Some("k\u{fffd}"));
}

#[test]
fn names_without_end_are_bounded() {
    let mut file = PcapNgFile::new();
    file.section(false);
    for high in 0..=u8::MAX {
        let records: Vec<_> = (0..1024_u16)
            .map(|low| record(&file, IpAddr::from([10, high, (low >> 8) as u8, low as u8]), &[&[b'x'; 200]]))
            .collect();
        file.block(4, &records.concat());
    }
    let (names, _) = read_named(&[&file], true);
    // 8 MiB of names of 200 bytes.
    assert_eq!(names.hosts(), (8 << 20) / 200);

    let mut file = PcapNgFile::new();
    file.section(false);
    for number in 0..60_000_u32 {
        file.interface(1, 0, &[(2, format!("{number:0>200}").as_bytes())]);
    }
    file.enhanced(59_999, 1, b"data", &[]).enhanced(9, 2, b"data", &[]);
    let (names, interfaces) = read_named(&[&file], true);
    assert_eq!(interfaces, [InterfaceId::NONE, InterfaceId(10)]);
    assert_eq!(names.interface(InterfaceId(10)).unwrap().name, format!("{:0>200}", 9));
}

#[test]
fn interfaces_are_called_something_where_there_are_several() {
    let windows = r"\Device\NPF_{0E5}";
    let mut one = PcapNgFile::new();
    one.section(false).interface(1, 0, &[(2, b"eth0")]).enhanced(0, 1, b"a", &[]);
    // The same once more is no other.
    one.section(true).interface(1, 0, &[(2, b"eth0")]).enhanced(0, 2, b"b", &[]);
    let (names, interfaces) = read_named(&[&one], false);
    assert_eq!((interfaces[0], interfaces[0] == interfaces[1]), (InterfaceId(1), true));
    assert_eq!(names.interface(interfaces[0]), None);

    let mut other = PcapNgFile::new();
    other
        .section(true)
        .interface(1, 0, &[(3, b"uplink")])
        .interface(1, 0, &[(2, windows.as_bytes()), (3, b"Ethernet 2")])
        .interface(1, 0, &[])
        .interface(1, 0, &[]);
    for interface in 0..4 {
        other.enhanced(interface, 3, b"c", &[]);
    }
    let (names, interfaces) = read_named(&[&one, &other], false);
    let told: Vec<_> = interfaces.iter().filter_map(|id| names.interface(*id)).collect();
    let told: Vec<_> =
        told.iter().map(|told| (&told.name[..], &told.description[..], told.number, told.capture.as_deref())).collect();
    let eth0 = ("eth0", "", None, None);
    let nameless = |number, capture| ("", "", Some(number), Some(capture));
    assert_eq!(
        told,
        [
            eth0,
            eth0,
            ("", "uplink", None, None),
            (windows, "Ethernet 2", None, None),
            nameless(2, "b.pcapng"),
            nameless(3, "b.pcapng")
        ]
    );
    assert_eq!(names.interface(InterfaceId::NONE), None);
    assert_eq!(names.interface(InterfaceId(99)), None);

    // Of one capture, the number says all.
    let (names, interfaces) = read_named(&[&other], false);
    let last = names.interface(interfaces[3]).unwrap();
    assert_eq!((last.number, last.capture.as_deref()), (Some(3), None));
}
