//! The same file read by another reader: packets, times, lengths, names.

use std::io::Cursor;

use kafkascope::capture::{Again, CaptureReader, Captures};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block as NgBlock, NameRecordType, PcapBlockOwned, PcapError};

use crate::disguise::{Block, ip_packets, modified_pcap, pcapng};
use crate::support::{own, read};

/// Nanoseconds, bytes, original length.
type Told = (i128, Vec<u8>, u32);

fn ours(file: &[u8]) -> Vec<Told> {
    let mut reader = CaptureReader::new(file).unwrap();
    let mut told = Vec::new();
    while let Some(packet) = reader.next().unwrap() {
        told.push((packet.time.nanoseconds().into(), packet.data.to_vec(), packet.original_length));
    }
    told
}

/// What another reader makes of a file. It has no times for Simple Packet Blocks, and passes Packet Blocks over, whose
/// bytes are read here.
fn theirs(file: &[u8]) -> Vec<Told> {
    let mut reader = pcap_parser::create_reader(1 << 20, Cursor::new(file)).unwrap();
    let (mut told, mut units, mut clocks) = (Vec::<Told>::new(), 1000, Vec::new());
    let mut is_big = false;
    loop {
        match reader.next() {
            Ok((length, block)) => {
                // Resolution and offset as the draft has them: a power of ten or, with the highest bit, of two.
                let time = |clocks: &[(u8, i64)], interface: usize, high: u32, low: u32| {
                    let (resolution, offset) = clocks[interface];
                    let ticks = i128::from(high) << 32 | i128::from(low);
                    let nanoseconds = match resolution {
                        0x80.. => (ticks * 1_000_000_000) >> (resolution & 0x7f),
                        _ => ticks * 1_000_000_000 / 10_i128.pow(resolution.into()),
                    };
                    nanoseconds + i128::from(offset) * 1_000_000_000
                };
                match &block {
                    PcapBlockOwned::LegacyHeader(header) if header.is_nanosecond_precision() => units = 1,
                    PcapBlockOwned::LegacyHeader(_) => {}
                    PcapBlockOwned::Legacy(record) => {
                        let time = i128::from(record.ts_sec) * 1_000_000_000 + i128::from(record.ts_usec) * units;
                        told.push((time, record.data.to_vec(), record.origlen));
                    }
                    PcapBlockOwned::NG(NgBlock::SectionHeader(header)) => {
                        is_big = header.big_endian();
                        clocks.clear();
                    }
                    PcapBlockOwned::NG(NgBlock::InterfaceDescription(interface)) => {
                        // The other reader reads it in one byte order alone.
                        let offset = interface.options.iter().find(|option| option.code.0 == 14).map_or(0, |option| {
                            let bytes = option.value[..8].try_into().unwrap();
                            if is_big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
                        });
                        clocks.push((interface.if_tsresol, offset));
                    }
                    PcapBlockOwned::NG(NgBlock::EnhancedPacket(packet)) => {
                        let time = time(&clocks, packet.if_id as usize, packet.ts_high, packet.ts_low);
                        told.push((time, packet.packet_data().to_vec(), packet.origlen));
                    }
                    PcapBlockOwned::NG(NgBlock::SimplePacket(packet)) => {
                        let last = told.last().map_or(0, |last| last.0);
                        told.push((last, packet.packet_data().to_vec(), packet.origlen));
                    }
                    PcapBlockOwned::NG(NgBlock::Unknown(block)) => {
                        let word = |at: usize| {
                            let bytes = block.data[at..at + 4].try_into().unwrap();
                            if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
                        };
                        assert_eq!(block.block_type & 0xff00_00ff, if is_big { 0x0200_0000 } else { 2 });
                        let interface = usize::from(block.data[usize::from(is_big)]);
                        let data = block.data[20..20 + word(12) as usize].to_vec();
                        told.push((time(&clocks, interface, word(4), word(8)), data, word(16)));
                    }
                    PcapBlockOwned::NG(other) => panic!("{other:?}"),
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => return told,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Records of a pcap file in either byte order and precision; some of them were cut.
fn pcap_file(is_big: bool, magic: u32, packets: &[([u8; 8], Vec<u8>)]) -> Vec<u8> {
    let word = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = [&word(magic)[..], &half(2), &half(4), &[0; 8], &word(200), &word(101)].concat();
    for (time, ip) in packets {
        let (words, _) = time.as_chunks::<4>();
        let kept = &ip[..ip.len().min(200)];
        for value in [u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1]), kept.len() as u32, ip.len() as u32] {
            file.extend(word(value));
        }
        file.extend(kept);
    }
    file
}

#[test]
fn files_of_all_formats_are_read_as_by_another_reader() {
    for name in ["44-kafkajs-gzip.pcap", "44-java-ipv6.pcap"] {
        let packets = ip_packets(&read(&own("captures").join(name)));
        let mut files = vec![("modified".to_owned(), modified_pcap(&packets))];
        for is_big in [false, true] {
            for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
                files.push((format!("{magic:x}, {is_big}"), pcap_file(is_big, magic, &packets)));
            }
        }
        for sections in [1, 2, 5] {
            for block in [Block::Enhanced, Block::Obsolete, Block::Simple] {
                files.push((format!("{block:?}, {sections}"), pcapng(&packets, block, sections, &[])));
            }
        }
        for (what, file) in files {
            let (ours, theirs) = (ours(&file), theirs(&file));
            assert_eq!((ours.len(), theirs.len()), (packets.len(), packets.len()), "{name}, {what}");
            let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
            assert!(differs.is_none(), "{name}, {what}: {differs:?}");
        }
    }
}

#[test]
fn names_are_those_that_another_reader_finds() {
    let file = read(&own("captures/44-mss-librdkafka-ng-interfaces.pcapng"));
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(file.clone()), Again::No).unwrap();
    captures.names().want_hosts();
    let mut ids = std::collections::BTreeSet::new();
    while let Some(packet) = captures.next().unwrap() {
        ids.insert(packet.place.interface);
    }
    let ours: Vec<String> = ids.iter().map(|id| captures.names().interface(*id).unwrap().name.clone()).collect();
    let mut reader = pcap_parser::create_reader(1 << 20, &file[..]).unwrap();
    let (mut interfaces, mut hosts) = (Vec::new(), 0);
    loop {
        match reader.next() {
            Ok((length, block)) => {
                match block {
                    PcapBlockOwned::NG(NgBlock::InterfaceDescription(interface)) => {
                        interfaces.push(interface.if_name().unwrap().unwrap().to_owned());
                    }
                    PcapBlockOwned::NG(NgBlock::NameResolution(block)) => {
                        for record in block.nr.iter().filter(|record| record.record_type == NameRecordType::Ipv4) {
                            let (address, name) = record.record_value.split_first_chunk::<4>().unwrap();
                            let name = std::str::from_utf8(name).unwrap().trim_end_matches('\0');
                            assert_eq!(captures.names().host((*address).into()).as_deref(), Some(name));
                            hosts += 1;
                        }
                    }
                    _ => {}
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(ours, interfaces);
    assert_eq!((ours.len(), hosts), (3, 1));
}
