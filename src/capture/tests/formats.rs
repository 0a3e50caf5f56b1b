//! Older formats than pcapng.

use super::*;

/// A snoop file after RFC 1761: everything in network byte order.
pub(super) struct SnoopFile {
    pub(super) bytes: Vec<u8>,
}

impl SnoopFile {
    pub(super) fn new(link: u32) -> Self {
        let bytes = [&b"snoop\0\0\0"[..], &2_u32.to_be_bytes(), &link.to_be_bytes()].concat();
        Self { bytes }
    }

    pub(super) fn record(&mut self, seconds: u32, micros: u32, data: &[u8], original: u32, drops: u32) -> &mut Self {
        let padded = data.len().next_multiple_of(4);
        for word in [original, data.len() as u32, 24 + padded as u32, drops, seconds, micros] {
            self.bytes.extend(word.to_be_bytes());
        }
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len() + padded - data.len(), 0);
        self
    }
}

#[test]
fn snoop_is_read() {
    for link in [0, 4] {
        let mut file = SnoopFile::new(link);
        file.record(10, 7, b"abcde", 60, 0).record(11, 999_999, b"fghi", 4, 3).record(12, 0, b"j", 1, 12);
        let expected = [
            (1, 10_000_007_000, 0, 1, b"abcde".to_vec(), 60, vec![]),
            (2, 11_999_999_000, 0, 1, b"fghi".to_vec(), 4, vec![]),
            (3, 12_000_000_000, 0, 1, b"j".to_vec(), 1, vec![]),
        ];
        let (packets, error) = read_all(&file.bytes[..]);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(packets, expected);
        assert_eq!(read_all(Trickle(&file.bytes)).0, expected);
        let mut reader = CaptureReader::new(&file.bytes[..]).unwrap();
        while reader.next().unwrap().is_some() {}
        assert_eq!(reader.drops(), 12);
        let error = read_all(&file.bytes[..file.bytes.len() - 5]).1.unwrap();
        assert!(matches!(error, CaptureError::Cut { packet: 3, .. }), "{error}");
    }
    let error = read_all(&SnoopFile::new(8).bytes[..]).1.unwrap();
    assert!(error.is_unreadable());
    assert_eq!(error.to_string(), "snoop data link type 8 is not supported");
}

#[test]
fn modified_pcap_is_read_in_both_byte_orders() {
    for big in [false, true] {
        let mut file = PcapFile::new(big, 0xa1b2_cd34, 65535, 113);
        for (seconds, data) in [(10, &b"abc"[..]), (11, b"defgh")] {
            for word in [seconds, 7, data.len() as u32, 60] {
                file.u32(word);
            }
            // Interface, protocol, kind of packet, padding.
            file.u32(2);
            file.bytes.extend([8, 0, 4, 0]);
            file.bytes.extend(data);
        }
        let expected = [
            (1, 10_000_007_000, 0, 113, b"abc".to_vec(), 60, vec![]),
            (2, 11_000_007_000, 0, 113, b"defgh".to_vec(), 60, vec![]),
        ];
        let (packets, error) = read_all(&file.bytes[..]);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(packets, expected);
        assert_eq!(read_all(Trickle(&file.bytes)).0, expected);
    }
}

#[test]
fn formats_without_a_magic_number_are_named() {
    // Two records of ERF: time, type 2 (Ethernet), flags, length, losses, length on the wire, padding, the frame.
    let record = |seconds: u32| {
        let frame = [0x22; 60];
        let length = (18 + frame.len() as u16).to_be_bytes();
        [&[0, 0, 0, 0x80][..], &seconds.to_le_bytes(), &[2, 4], &length, &[0, 0, 0, 60, 0, 0], &frame].concat()
    };
    let erf = [record(1_700_000_000), record(1_700_000_001)].concat();
    let error = read_all(&erf[..]).1.unwrap();
    assert!(error.is_unreadable());
    assert_eq!(
        error.to_string(),
        "not a pcap or pcapng file but an ERF capture of Endace; run: editcap -F pcapng IN OUT"
    );
    assert_eq!(
        read_all(&record(1_700_000_000)[..]).1.unwrap().to_string(),
        "not a pcap or pcapng file: it looks like none of the formats known"
    );
    // The head of a buffer has 72 bytes; then stands the marker of a system event (32 or 64 bits).
    for bits in [1, 2] {
        let trace = [&[0, 0, 1, 0][..], &[0x11; 68], &[2, 0, bits, 0xc0], &[0; 100]].concat();
        let error = read_all(&trace[..]).1.unwrap();
        assert!(error.is_unreadable());
        let text = "not a pcap or pcapng file but an event trace of Windows (etl); run: etl2pcapng IN OUT";
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn other_formats_are_named_with_what_converts_them() {
    for (start, name) in [
        (&b"GMBU\x00\x02"[..], "a capture of Microsoft Network Monitor"),
        (b"\x00\x00\x02\x00\x12\x05\x00\x10", "a K12 capture"),
        (b"btsnoop\0\0\0\0\x01", "a btsnoop capture of Bluetooth"),
    ] {
        let error = read_all(start).1.unwrap();
        assert!(error.is_unreadable());
        let text = format!("not a pcap or pcapng file but {name}; run: editcap -F pcapng IN OUT");
        assert_eq!(error.to_string(), text);
    }
}
