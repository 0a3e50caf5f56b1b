//! Files and packets are made by hand, after the formats' own documents.

use std::io::{self, Read};

use proptest::prelude::*;

use super::*;

mod damage;
mod formats;
mod names;

/// A pcap file of the given byte order and magic.
struct PcapFile {
    big: bool,
    bytes: Vec<u8>,
}

impl PcapFile {
    fn new(big: bool, magic: u32, snap_length: u32, link: u32) -> Self {
        let mut file = Self { big, bytes: Vec::new() };
        file.u32(magic);
        if big {
            file.bytes.extend([0, 2, 0, 4]);
        } else {
            file.bytes.extend([2, 0, 4, 0]);
        }
        for word in [0, 0, snap_length, link] {
            file.u32(word);
        }
        file
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn record(&mut self, seconds: u32, fraction: u32, data: &[u8], original_length: u32) -> &mut Self {
        for word in [seconds, fraction, data.len() as u32, original_length] {
            self.u32(word);
        }
        self.bytes.extend(data);
        self
    }
}

/// Blocks of a pcapng file.
struct PcapNgFile {
    big: bool,
    bytes: Vec<u8>,
}

impl PcapNgFile {
    fn new() -> Self {
        Self { big: false, bytes: Vec::new() }
    }

    fn word(&self, value: u32) -> [u8; 4] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn half(&self, value: u16) -> [u8; 2] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let length = 12 + body.len().next_multiple_of(4);
        let (kind, length_word) = (self.word(kind), self.word(length as u32));
        self.bytes.extend(kind);
        self.bytes.extend(length_word);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.extend(length_word);
        self
    }

    fn section(&mut self, big: bool) -> &mut Self {
        self.big = big;
        let mut body = self.word(0x1a2b_3c4d).to_vec();
        body.extend(self.half(1));
        body.extend(self.half(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = self.half(code).to_vec();
        option.extend(self.half(value.len() as u16));
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn interface(&mut self, link: u16, snap_length: u32, options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = self.half(link).to_vec();
        body.extend([0, 0]);
        body.extend(self.word(snap_length));
        for (code, value) in options {
            body.extend(self.option(*code, value));
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        self.block(1, &body)
    }

    fn enhanced(&mut self, interface: u32, ticks: u64, data: &[u8], options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = Vec::new();
        let length = data.len() as u32;
        for word in [interface, (ticks >> 32) as u32, ticks as u32, length, length + 5] {
            body.extend(self.word(word));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        for (code, value) in options {
            body.extend(self.option(*code, value));
        }
        self.block(6, &body)
    }
}

/// What was read: number, nanoseconds, interface, link type, data, original length, comments.
type ReadPacket = (u64, i64, u32, u16, Vec<u8>, u32, Vec<String>);

/// All packets, and the only error among them.
fn read_all(input: impl Read) -> (Vec<ReadPacket>, Option<CaptureError>) {
    let (packets, mut errors) = read_on(input);
    let error = errors.pop();
    assert!(errors.is_empty(), "{errors:?}");
    (packets, error)
}

/// All packets and all errors. Two calls after the end must find nothing more.
fn read_on(input: impl Read) -> (Vec<ReadPacket>, Vec<CaptureError>) {
    let (mut packets, mut errors) = (Vec::new(), Vec::new());
    let mut reader = match CaptureReader::new(input) {
        Ok(reader) => reader,
        Err(error) => return (packets, vec![error]),
    };
    loop {
        match reader.next() {
            Ok(Some(packet)) => packets.push((
                packet.number,
                packet.time.nanoseconds(),
                packet.interface,
                packet.link.0,
                packet.data.to_vec(),
                packet.original_length,
                packet.comments.map(std::borrow::Cow::into_owned).collect(),
            )),
            Ok(None) => break,
            Err(error) => errors.push(error),
        }
    }
    assert!(reader.next().unwrap().is_none());
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.packets(), packets.len() as u64);
    (packets, errors)
}

/// An input that gives one byte at a time, as a slow pipe may.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

#[test]
fn times_are_written_as_rfc_3339() {
    // Seconds from `date -u -d … +%s`.
    for (nanoseconds, text) in [
        (0, "1970-01-01T00:00:00.000000000Z"),
        (1_795_946_400_123_456_789, "2026-11-29T10:00:00.123456789Z"),
        (951_782_399_999_999_999, "2000-02-28T23:59:59.999999999Z"),
        (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
        (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (i64::MAX, "2262-04-11T23:47:16.854775807Z"),
        (i64::MIN, "1677-09-21T00:12:43.145224192Z"),
    ] {
        assert_eq!(Time::from_nanoseconds(nanoseconds).to_string(), text);
    }
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_both_precisions() {
    for (big, magic, unit) in
        [(false, 0xa1b2_c3d4, 1000), (true, 0xa1b2_c3d4, 1000), (false, 0xa1b2_3c4d, 1), (true, 0xa1b2_3c4d, 1)]
    {
        let mut file = PcapFile::new(big, magic, 0, 1);
        file.record(10, 7, b"abc", 60).record(4_000_000_000, 999, b"h", 1).record(11, 0, b"i", 1);
        file.record(11, 0, b"defg", 2).record(12, 0, b"", 0);
        let expected = [
            (1, 10_000_000_000 + 7 * unit, 0, 1, b"abc".to_vec(), 60, vec![]),
            (2, 4_000_000_000_000_000_000 + 999 * unit, 0, 1, b"h".to_vec(), 1, vec![]),
            // An original length below what was kept is not believed.
            (3, 11_000_000_000, 0, 1, b"i".to_vec(), 1, vec![]),
            (4, 11_000_000_000, 0, 1, b"defg".to_vec(), 4, vec![]),
            (5, 12_000_000_000, 0, 1, vec![], 0, vec![]),
        ];
        let (packets, error) = read_all(&file.bytes[..]);
        assert_eq!(packets, expected);
        assert!(error.is_none());
        assert_eq!(read_all(Trickle(&file.bytes)).0, expected);
    }
}

#[test]
fn a_pcap_cut_anywhere_gives_what_is_before_and_one_error() {
    let mut file = PcapFile::new(false, 0xa1b2_c3d4, 65535, 1);
    file.record(1, 0, &[1; 30], 30);
    let second = file.bytes.len();
    file.record(2, 0, &[2; 50], 50);
    for end in 0..file.bytes.len() {
        let (packets, error) = read_all(&file.bytes[..end]);
        assert_eq!(packets.len(), usize::from(end >= second), "{end}");
        let complete = end == 24 || end == second;
        assert_eq!(error.is_none(), complete, "{end}: {error:?}");
        assert_eq!(error.is_some_and(|error| error.is_unreadable()), end < 24, "{end}");
    }
    let error = read_all(&file.bytes[..second + 16 + 40]).1.unwrap();
    assert_eq!(error.to_string(), "cut short at byte 126: the record of packet 2 has 40 of 50 bytes");
}

#[test]
fn absurd_record_lengths_are_damage() {
    let mut file = PcapFile::new(false, 0xa1b2_c3d4, u32::MAX, 1);
    file.record(1, 0, b"x", 1);
    for word in [0, 0, 0x7fff_ffff, 0x7fff_ffff] {
        file.u32(word);
    }
    let (packets, error) = read_all(&file.bytes[..]);
    assert_eq!(packets.len(), 1);
    let error = error.unwrap();
    let text = "damaged at byte 41: the record of packet 2 claims 2147483647 bytes, more than the 67108864 that can be; \
                16 bytes skipped";
    assert_eq!(error.to_string(), text);
    assert!(!error.is_unreadable());
}

#[test]
fn what_is_no_capture_is_named() {
    for (bytes, text) in [
        (&b""[..], "the file is empty"),
        (b"\x1f\x8b\x08\x00", "not a pcap or pcapng file: it looks like gzip"),
        (b"\x28\xb5\x2f\xfd\x04", "not a pcap or pcapng file: it looks like zstd"),
        (b"CLIENT_RANDOM 00 11", "not a pcap or pcapng file: it looks like a TLS key log"),
        ("Grüße\n".as_bytes(), "not a pcap or pcapng file: it looks like text"),
        (b"\x00\x01\x02\x03", "not a pcap or pcapng file: it looks like none of the formats known"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "cut short at byte 6: the file header has 6 of 24 bytes"),
    ] {
        let error = read_all(bytes).1.unwrap();
        assert_eq!(error.to_string(), text);
        assert!(error.is_unreadable());
    }
}

#[test]
fn a_read_error_keeps_its_cause() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    let mut file = PcapFile::new(false, 0xa1b2_c3d4, 0, 1);
    file.record(1, 0, b"x", 1);
    let (packets, error) = read_all(io::Read::chain(&file.bytes[..], Broken));
    assert_eq!(packets.len(), 1);
    let error = error.unwrap();
    assert_eq!(error.to_string(), "reading failed at byte 41: the disk is on fire");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn pcapng_has_sections_interfaces_clocks_and_comments() {
    let mut file = PcapNgFile::new();
    file.section(false)
        .interface(1, 0, &[])
        .interface(101, 0, &[(9, &[9])])
        // 2^-10 s, an hour ahead.
        .interface(113, 0, &[(2, b"eth0"), (9, &[0x8a]), (14, &3600_i64.to_le_bytes())])
        .block(0x0000_0bad, b"custom blocks and the like are passed over")
        .enhanced(0, 1_500_000, b"one", &[(1, b"first comment"), (2, &[0; 4]), (1, b"second")])
        .enhanced(1, 1_500_000_001, b"two2", &[])
        .enhanced(2, 1536, b"three", &[]);
    // The obsolete Packet Block: interface, drops, time, lengths, data.
    let mut body = vec![1, 0, 9, 0];
    for word in [0_u32, 42, 2, 1500] {
        body.extend(word.to_le_bytes());
    }
    body.extend(b"pb");
    file.block(2, &body);
    let mut simple = 9_u32.to_le_bytes().to_vec();
    simple.extend(b"simple");
    file.block(3, &simple);
    file.section(true).interface(228, 4, &[(9, &[12]), (14, &(-1_i64).to_be_bytes())]).enhanced(
        0,
        2_000_000_000_999,
        b"big",
        &[(1, b"in the other byte order")],
    );
    let mut simple = 1000_u32.to_be_bytes().to_vec();
    simple.extend(b"simp");
    file.block(3, &simple);

    let text = |bytes: &[u8]| bytes.to_vec();
    let expected: Vec<ReadPacket> = vec![
        (1, 1_500_000_000, 0, 1, text(b"one"), 8, vec!["first comment".into(), "second".into()]),
        (2, 1_500_000_001, 1, 101, text(b"two2"), 9, vec![]),
        (3, 3_601_500_000_000, 2, 113, text(b"three"), 10, vec![]),
        (4, 42, 1, 101, text(b"pb"), 1500, vec![]),
        // Without a length of its own, a Simple Packet Block has the original length or the room that is there.
        (5, 42, 0, 1, text(b"simple\0\0"), 9, vec![]),
        (6, 1_000_000_000, 3, 228, text(b"big"), 8, vec!["in the other byte order".into()]),
        (7, 1_000_000_000, 3, 228, text(b"simp"), 1000, vec![]),
    ];
    let (packets, error) = read_all(&file.bytes[..]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(packets, expected);
    assert_eq!(read_all(Trickle(&file.bytes)).0, expected);
}

#[test]
fn drops_are_the_last_counts_of_all_interfaces() {
    // isb_ifdrop is option 5, isb_osdrop option 7; isb_ifrecv (4) and others say nothing of drops.
    let statistics = |file: &mut PcapNgFile, interface: u32, counts: &[(u16, u64)]| {
        let mut body = [file.word(interface), [0; 4], [0; 4]].concat();
        for (code, count) in counts {
            let count = if file.big { count.to_be_bytes() } else { count.to_le_bytes() };
            body.extend(file.option(*code, &count));
        }
        file.block(5, &body);
    };
    let mut file = PcapNgFile::new();
    file.section(false).interface(1, 0, &[]).interface(1, 0, &[]).enhanced(0, 0, b"a", &[]);
    statistics(&mut file, 0, &[(4, 1000), (5, 3), (7, 4)]);
    let early = file.bytes.clone();
    statistics(&mut file, 1, &[(5, 20), (8, 99)]);
    statistics(&mut file, 0, &[(7, 9), (5, 1)]);
    // Of an interface that is not there, and without options.
    statistics(&mut file, 7, &[(5, 500)]);
    file.section(true).interface(1, 0, &[]);
    statistics(&mut file, 0, &[(5, 100)]);
    file.enhanced(0, 0, b"b", &[]).interface(1, 0, &[]);
    statistics(&mut file, 1, &[]);
    let whole = file.bytes.clone();
    statistics(&mut file, 1, &[(5, u64::MAX), (7, 5)]);
    for (bytes, packets, drops) in [(early, 1, 7), (whole, 2, 1 + 9 + 20 + 100), (file.bytes, 2, u64::MAX)] {
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.drops(), 0);
        while reader.next().unwrap().is_some() {}
        assert_eq!((reader.packets(), reader.drops()), (packets, drops));
    }
}

#[test]
fn times_before_1970_and_beyond_the_range_are_held() {
    let mut file = PcapNgFile::new();
    file.section(false)
        .interface(1, 0, &[(9, &[0]), (14, &i64::MIN.to_le_bytes())])
        .interface(1, 0, &[(9, &[0]), (14, &i64::MAX.to_le_bytes())])
        .interface(1, 0, &[(9, &[127])])
        .interface(1, 0, &[(9, &[0xff])])
        .enhanced(0, 5, b"", &[])
        .enhanced(1, u64::MAX, b"", &[])
        .enhanced(2, u64::MAX, b"", &[])
        .enhanced(3, u64::MAX, b"", &[]);
    let times: Vec<_> = read_all(&file.bytes[..]).0.into_iter().map(|packet| packet.1).collect();
    assert_eq!(times, [i64::MIN, i64::MAX, 0, 0]);
}

#[test]
fn damaged_pcapng_gives_what_is_before_and_one_error() {
    let mut file = PcapNgFile::new();
    file.section(false).interface(1, 0, &[]).enhanced(0, 0, b"data", &[]);
    let whole = file.bytes.clone();
    let block = whole.len() - 36;
    for end in 0..whole.len() {
        let (packets, error) = read_all(&whole[..end]);
        assert!(packets.is_empty());
        assert_eq!(error.is_none(), end == 28 || end == block, "{end}: {error:?}");
        assert_eq!(error.is_some_and(|error| error.is_unreadable()), end < 28, "{end}");
    }
    let damage = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = [&whole[..], &whole[block..]].concat();
        change(&mut bytes);
        let (packets, error) = read_all(&bytes[..]);
        assert_eq!(packets.len(), 1);
        error.unwrap().to_string()
    };
    let second = whole.len();
    assert_eq!(
        damage(&|bytes| bytes[second + 32] = 40),
        "damaged at byte 84: the block has a length of 36, but 40 behind it; 36 bytes skipped"
    );
    assert_eq!(
        damage(&|bytes| bytes[second + 4] = 6),
        "damaged at byte 84: a block of type 0x6 cannot have a length of 6; 36 bytes skipped"
    );
    assert_eq!(
        damage(&|bytes| bytes[second + 8] = 9),
        "damaged at byte 84: packet 2 is from interface 9, which is not described; 36 bytes skipped"
    );
    assert_eq!(
        damage(&|bytes| bytes[second + 20] = 5),
        "damaged at byte 84: packet 2 claims 5 bytes, the block has room for 4; 36 bytes skipped"
    );
    assert_eq!(
        damage(&|bytes| bytes[second + 7] = 1),
        "cut short at byte 120: the block of type 0x6 behind packet 1 has 36 of 16777252 bytes"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0..4) {
        let mut file = match start {
            0 => Vec::new(),
            1 => PcapFile::new(false, 0xa1b2_c3d4, 0, 1).bytes,
            2 => PcapFile::new(true, 0xa1b2_3c4d, 0, 101).bytes,
            _ => { let mut file = PcapNgFile::new(); file.section(true).interface(1, 0, &[]); file.bytes }
        };
        file.extend(bytes);
        read_on(&file[..]);
    }

    #[test]
    fn no_changed_byte_makes_the_reader_panic(at in 0..200_usize, value: u8) {
        let mut file = PcapNgFile::new();
        file.section(false)
            .interface(1, 0, &[(9, &[6]), (14, &[0; 8])])
            .enhanced(0, 1, b"data", &[(1, b"comment")])
            .block(0x1234, b"x")
            .section(true)
            .interface(1, 0, &[])
            .enhanced(0, 1, b"data", &[]);
        let at = at % file.bytes.len();
        file.bytes[at] = value;
        read_on(&file.bytes[..]);
    }
}
