//! Files that are damaged in the middle: what is told is right, and reading goes on.

use super::*;

/// A file, and the bytes of a record that are in front of its packet and behind it.
struct File {
    bytes: Vec<u8>,
    around: (usize, usize),
}

/// Ethernet, IPv4 and TCP around bytes.
fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (40 + payload.len() as u16).to_be_bytes();
    let ip = [0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let tcp = [0xc3, 0x50, 0x23, 0x84, 0, 0, 0, 9, 0, 0, 0, 5, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0];
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &ip, &tcp, payload].concat()
}

/// Files of each format with the same packets, of random bytes, zeros, text, and small numbers.
fn files() -> Vec<(&'static str, File)> {
    let mut random = fastrand::Rng::with_seed(11);
    let packets: Vec<(u32, u32, Vec<u8>)> = (0..40_u32)
        .map(|number| {
            // With the headers, a multiple of four.
            let length = random.usize(40..260) / 4 * 4 + 2;
            let data: Vec<u8> = match number % 4 {
                0 => (0..length).map(|_| random.u8(..)).collect(),
                1 => vec![0; length],
                2 => b"all work and no play ".iter().copied().cycle().take(length).collect(),
                _ => (0..length).map(|at| u8::from(at % 4 == 3)).collect(),
            };
            (1_700_000_000 + number / 3, number * 1000, frame(&data))
        })
        .collect();
    let mut files = Vec::new();
    for (name, big, magic) in
        [("pcap", false, 0xa1b2_c3d4), ("big-endian pcap", true, 0xa1b2_3c4d), ("modified pcap", false, 0xa1b2_cd34)]
    {
        let mut file = PcapFile::new(big, magic, 65535, 1);
        let is_modified = magic == 0xa1b2_cd34;
        for (seconds, fraction, data) in &packets {
            for word in [*seconds, *fraction, data.len() as u32, data.len() as u32] {
                file.u32(word);
            }
            file.bytes.extend(if is_modified { &[2, 0, 0, 0, 8, 0, 0, 0][..] } else { &[] });
            file.bytes.extend(data);
        }
        files.push((name, File { bytes: file.bytes, around: (if is_modified { 24 } else { 16 }, 0) }));
    }
    let mut snoop = formats::SnoopFile::new(4);
    for (seconds, fraction, data) in &packets {
        snoop.record(*seconds, *fraction, data, data.len() as u32, 0);
    }
    files.push(("snoop", File { bytes: snoop.bytes, around: (24, 0) }));
    for big in [false, true] {
        let mut file = PcapNgFile::new();
        file.section(big).interface(1, 0, &[]);
        for (seconds, fraction, data) in &packets {
            file.enhanced(0, u64::from(*seconds) * 1_000_000 + u64::from(*fraction), data, &[]);
        }
        files.push(("pcapng", File { bytes: file.bytes, around: (28, 4) }));
    }
    files
}

/// Time, data and place of a packet.
type Told = (i64, Vec<u8>, usize);

/// All packets, which lie where they say that they do, and all errors.
fn told(bytes: &[u8]) -> (Vec<Told>, Vec<CaptureError>) {
    let mut reader = CaptureReader::new(bytes).unwrap();
    let (mut packets, mut errors) = (Vec::new(), Vec::new());
    loop {
        match reader.next() {
            Ok(Some(packet)) => {
                let place = packet.place.offset as usize;
                assert_eq!(&bytes[place..place + packet.data.len()], packet.data);
                packets.push((packet.time.nanoseconds(), packet.data.to_vec(), place));
            }
            Ok(None) => return (packets, errors),
            Err(error) => errors.push(error),
        }
    }
}

/// One way to damage a file.
#[derive(Clone, Debug)]
enum Edit {
    Flip(u8),
    Cut(usize),
    Insert(Vec<u8>),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (1..=255_u8).prop_map(Edit::Flip),
        (0..8_u8).prop_map(|bit| Edit::Flip(1 << bit)),
        (1..80_usize).prop_map(Edit::Cut),
        prop::collection::vec(any::<u8>(), 1..80).prop_map(Edit::Insert),
        (1..80_usize).prop_map(|length| Edit::Insert(vec![0; length])),
        (1..80_usize, 0..4_usize)
            .prop_map(|(length, at)| Edit::Insert([0, 0, 0, 1].repeat(30)[at..at + length].to_vec())),
    ]
}

/// The same cases always: some bytes of the thousand million that can be inserted are a record. By hand, others and more:
/// `KAFKASCOPE_DAMAGE=SEED:CASES`.
fn cases() -> ProptestConfig {
    let by_hand = std::env::var("KAFKASCOPE_DAMAGE").ok();
    let (seed, cases) = by_hand.as_deref().and_then(|text| text.split_once(':')).unwrap_or(("2026", "3000"));
    ProptestConfig {
        cases: cases.parse().unwrap(),
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(seed.parse().unwrap()),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn what_is_told_of_a_damaged_file_is_in_it(
        which in 0..6_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), edit()), 1..4),
    ) {
        let (name, file) = files().swap_remove(which);
        let whole = told(&file.bytes);
        prop_assert_eq!((whole.0.len(), whole.1.len()), (40, 0));
        // The first record is left alone: it says which times are to be expected.
        let head = whole.0[1].2 - file.around.0;
        // The bytes, each with the place that it had.
        let mut bytes: Vec<(u8, Option<usize>)> = file.bytes.iter().copied().zip((0..).map(Some)).collect();
        for (at, edit) in &edits {
            let at = head + at.index(bytes.len() - head);
            match edit {
                Edit::Flip(bits) => bytes[at] = (bytes[at].0 ^ bits, None),
                Edit::Cut(length) => drop(bytes.drain(at..(at + length).min(bytes.len()))),
                Edit::Insert(new) => drop(bytes.splice(at..at, new.iter().map(|byte| (*byte, None)))),
            }
        }
        let is_whole = |start: usize, end: usize| {
            bytes.get(start..end).is_some_and(|bytes| {
                bytes.iter().all(|(_, from)| from.is_some())
                    && bytes.windows(2).all(|pair| pair[1].1 == pair[0].1.map(|place| place + 1))
            })
        };
        let damaged: Vec<u8> = bytes.iter().map(|(byte, _)| *byte).collect();
        let (packets, errors) = told(&damaged);
        let (before, behind) = file.around;
        let (mut right, mut touched) = (0, 0);
        for (time, data, place) in &packets {
            if is_whole(place - before, place + data.len() + behind) {
                let from = bytes[*place].1.unwrap();
                prop_assert!(whole.0.contains(&(*time, data.clone(), from)), "{name}: a packet of {} bytes at {place}", data.len());
                right += 1;
            } else {
                touched += 1;
            }
        }
        // What overlaps damage is a record that is damaged itself: where something was inserted, one on either side.
        prop_assert!(touched <= 2 * edits.len(), "{name}: {touched} of {edits:?}");
        // And nearly all that is whole is told.
        let place_now = |place: usize| bytes.iter().position(|(_, from)| *from == Some(place));
        let there = whole.0.iter().filter(|(_, data, place)| {
            place_now(place - before).is_some_and(|now| is_whole(now, now + before + data.len() + behind))
        });
        let lost = there.count() - right;
        // Damage can look like the description of an interface; then packets are left out, as they should be.
        let is_uncertain = errors.iter().any(|error| error.to_string().contains("which is not described"));
        prop_assert!(is_uncertain || lost <= 2 * edits.len(), "{name}: {lost} lost, {edits:?}, {errors:?}");
    }
}

#[test]
fn a_damaged_record_is_skipped_and_said() {
    for (name, file) in files() {
        let (whole, _) = told(&file.bytes);
        // The fourth packet's length; in pcapng, the length in front of its block.
        let at = match name {
            "pcap" | "modified pcap" | "big-endian pcap" => whole[3].2 - file.around.0 + 8,
            "snoop" => whole[3].2 - 20,
            _ => whole[3].2 - 24,
        };
        let mut bytes = file.bytes.clone();
        bytes[at..at + 4].fill(0xcc);
        let (packets, errors) = told(&bytes);
        assert_eq!(packets.len(), 39, "{name}");
        assert!(packets.iter().all(|packet| whole.contains(packet)), "{name}");
        let [error] = &errors[..] else { panic!("{name}: {errors:?}") };
        let length = file.around.0 + whole[3].1.len() + file.around.1;
        let start = whole[3].2 - file.around.0;
        let text = error.to_string();
        assert!(text.starts_with(&format!("damaged at byte {start}: ")), "{name}: {text}");
        assert!(text.ends_with(&format!("; {length} bytes skipped")), "{name}: {text}");
    }
}

#[test]
fn many_damaged_places_are_summed_up() {
    let mut file = PcapNgFile::new();
    file.section(false).interface(1, 0, &[]);
    for number in 0..100 {
        file.enhanced(number % 2 * 7, number.into(), b"data", &[]);
    }
    let (packets, errors) = read_on(&file.bytes[..]);
    assert_eq!((packets.len(), errors.len()), (50, 21));
    assert_eq!(errors[20].to_string(), "damaged at 30 more places; 1080 bytes skipped");
}

#[test]
fn zeros_behind_the_last_record_are_no_packets() {
    for (name, file) in files() {
        let bytes = [&file.bytes[..], &[0; 4096]].concat();
        let (packets, errors) = told(&bytes);
        assert_eq!((packets.len(), errors.len()), (40, 1), "{name}");
        assert!(errors[0].to_string().ends_with("; 4096 bytes skipped"), "{name}: {}", errors[0]);
    }
}

#[test]
fn clocks_that_jump_and_odd_lengths_are_no_damage() {
    // Each packet years from the one before, fractions of nanoseconds in a file of microseconds, original lengths of 0.
    let mut file = PcapFile::new(false, 0xa1b2_c3d4, 65535, 1);
    for (seconds, fraction, original) in [
        (1_700_000_000, 5, 60),
        (1_000_000_003, 6, 60),
        (1_000_000_003, 7, 60),
        (1_200_000_000, 8, 60),
        (1_700_000_100, 9, 60),
    ] {
        file.record(seconds, fraction, b"some data", original);
    }
    // A clock that was never set.
    for second in 0..9 {
        file.record(60 + second, 0, b"some data", 60);
    }
    for _ in 0..5 {
        file.record(1_700_000_101, 123_456_789, b"some data", 0);
    }
    let (packets, error) = read_all(&file.bytes[..]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(packets.len(), 19);
}

#[test]
fn where_a_description_may_be_lost_packets_are_left_out() {
    let build = |damage: &dyn Fn(&mut PcapNgFile)| {
        let mut file = PcapNgFile::new();
        file.section(false).interface(1, 0, &[]).enhanced(0, 1, b"one", &[]);
        damage(&mut file);
        file.interface(101, 0, &[(9, &[9])]).enhanced(0, 2, b"two", &[]).enhanced(1, 3, b"three", &[]);
        file.section(true).interface(101, 0, &[(9, &[9])]).enhanced(0, 4, b"four", &[]);
        let (packets, errors) = read_on(&file.bytes[..]);
        let texts: Vec<String> = packets.into_iter().map(|packet| String::from_utf8(packet.4).unwrap()).collect();
        (texts, errors)
    };
    let (packets, errors) = build(&|_| {});
    assert_eq!((packets, errors.len()), (["one", "two", "three", "four"].map(String::from).to_vec(), 0));
    // Bytes that are no block may have been a description, or the head of a section: the next description has no number.
    let (packets, errors) = build(&|file| file.bytes.extend([0xee; 40]));
    assert_eq!(packets, ["one", "four"]);
    assert_eq!(errors.len(), 3, "{errors:?}");
    // A packet that claims too much is skipped by the length of its block, so nothing else can be lost with it.
    let (packets, errors) = build(&|file| {
        file.enhanced(0, 9, b"more", &[]);
        let end = file.bytes.len();
        file.bytes[end - 16] = 99;
    });
    assert_eq!(packets, ["one", "two", "three", "four"]);
    assert_eq!(errors.len(), 1, "{errors:?}");
}

/// How many heads of records are looked at, and bytes moved, for each byte of a file.
fn effort_per_byte(bytes: &[u8]) -> (usize, u64) {
    effort::take();
    let (packets, _) = read_on(bytes);
    (packets.len(), effort::take() / bytes.len() as u64)
}

#[test]
fn damage_everywhere_costs_no_more_than_its_length() {
    const MOST_PER_BYTE: u64 = 40;

    let mut files = Vec::new();
    // Every twelve bytes claim to be a block of 256 kB: a reader that looked at all of it again for each would not end. And
    // the same where a packet follows each of them, also for blocks longer than the file.
    for (length, is_alone) in [(1 << 18, true), (1 << 18, false), (1 << 20, false), (1 << 26, false)] {
        let mut file = PcapNgFile::new();
        file.section(false).interface(1, 0, &[]);
        for number in 0..30_000 {
            let bad = [6, length, 0].map(u32::to_le_bytes).concat();
            file.bytes.extend(bad);
            if !is_alone {
                file.enhanced(0, number, &frame(b"data"), &[]);
            }
        }
        files.push((format!("blocks of {length}"), file.bytes, if is_alone { 0 } else { 30_000 }));
    }
    let mut file = PcapFile::new(false, 0xa1b2_c3d4, 65535, 1);
    for _ in 0..100_000 {
        file.record(0x7000_0000, 2_000_000, &[], 1);
    }
    file.bytes.extend([0xff; 100]);
    files.push(("odd records".into(), file.bytes, 100_000));
    // Two records, junk, and so on: times that go on, and times that go back by seconds, so that only a long chain speaks for
    // records.
    for (name, found) in [("later", 20_000), ("earlier", 2)] {
        let (mut file, mut ng) = (PcapFile::new(false, 0xa1b2_c3d4, 65535, 1), PcapNgFile::new());
        ng.section(false).interface(1, 0, &[]);
        for number in 0..10_000 {
            let seconds: u32 = if name == "later" { 1_700_000_000 + number } else { 1_700_000_000 - 5 * number };
            for _ in 0..2 {
                file.record(seconds, 0, b"data", 4);
            }
            file.bytes.push(0xff);
            for _ in 0..2 {
                ng.enhanced(0, u64::from(seconds) * 1_000_000, &frame(b"data"), &[]);
            }
            ng.bytes.extend([0xff; 4]);
        }
        files.push((format!("two records, {name}"), file.bytes, found));
        files.push((format!("two blocks, {name}"), ng.bytes, found));
    }
    // Blocks whose two lengths differ, in front of many that have another time and then of bytes that are none.
    let mut file = PcapNgFile::new();
    file.section(false).interface(1, 0, &[]).enhanced(0, 1_700_000_000_000_000, b"data", &[]);
    for _ in 0..8 {
        for _ in 0..5000 {
            file.bytes.extend([4_u32, 12, 16].map(u32::to_le_bytes).concat());
            file.enhanced(0, 1_600_000_000_000_000, b"data", &[]);
        }
        file.bytes.extend([0xff; 4]);
    }
    files.push(("lengths that differ".into(), file.bytes, 1));
    let told: Vec<_> = files.iter().map(|(name, bytes, _)| (name, effort_per_byte(bytes))).collect();
    for ((name, (packets, effort)), (_, _, found)) in told.into_iter().zip(&files) {
        assert_eq!(packets, *found, "{name}");
        assert!(effort <= MOST_PER_BYTE, "{name}: {effort} for each byte");
    }
}

/// Captures are carried by packets: of long ago, of an hour ago, and of the same second.
#[test]
fn records_of_a_capture_within_a_packet_are_no_packets() {
    for before in [300_000_000, 3600, 0] {
        let mut inner = PcapFile::new(false, 0xa1b2_c3d4, 65535, 1);
        for number in 0..12 {
            inner.record(1_700_000_001 - before + number / 12, 0, &[0x11; 80], 80);
        }
        // Which number of the record is wrong: its fraction, either length; or all of them.
        for wrong in 1..5 {
            let mut file = PcapFile::new(false, 0xa1b2_c3d4, 65535, 1);
            for second in 0..5 {
                file.record(1_700_000_000, second, b"first", 5);
            }
            let outer = file.bytes.len();
            let carried = [&inner.bytes[24..], &[0x33; 7]].concat();
            file.record(1_700_000_001, 0, &carried, carried.len() as u32);
            let behind = file.bytes.len();
            file.record(1_700_000_002, 0, b"third", 5).record(1_700_000_003, 0, b"fourth", 6);
            if wrong < 4 {
                file.bytes[outer + wrong * 4 + 3] ^= 0xf0;
            } else if before == 0 {
                // Nothing tells these from what is looked for.
                continue;
            } else {
                file.bytes[outer..outer + 16].fill(0xff);
            }
            let (packets, errors) = read_on(&file.bytes[..]);
            let texts: Vec<&[u8]> = packets.iter().skip(4).map(|packet| &packet.4[..]).collect();
            if wrong == 1 || wrong == 3 {
                // There are files like that, so the packet is told as the file has it.
                assert_eq!(texts, [&b"first"[..], &carried, b"third", b"fourth"], "{before} s, {wrong}: {errors:?}");
                continue;
            }
            assert_eq!(texts, [&b"first"[..], b"third", b"fourth"], "{before} s, {wrong}: {errors:?}");
            let [error] = &errors[..] else { panic!("{errors:?}") };
            assert!(error.to_string().ends_with(&format!("; {} bytes skipped", behind - outer)), "{error}");
        }
    }
    // Nothing says which times to expect when the first record is damaged: those of this century are believed.
    let mut file = PcapFile::new(false, 0xa1b2_c3d4, 65535, 1);
    file.record(1_700_000_000, 0, b"first", 5).record(1_700_000_001, 0, b"second", 6);
    file.bytes[24 + 11] = 0xff;
    assert_eq!(read_on(&file.bytes[..]).0.len(), 1);
}

/// Behind damage a clock that was set back is followed when its packets are more than a packet can carry.
#[test]
fn more_records_than_a_packet_can_carry_are_packets_whatever_their_times() {
    let build = |count: u32, is_ng: bool| {
        let (mut file, mut ng) = (PcapFile::new(false, 0xa1b2_c3d4, 262_144, 1), PcapNgFile::new());
        ng.section(false).interface(1, 0, &[(9, &[0])]);
        for _ in 0..5 {
            file.record(1_700_000_000, 0, &frame(&[0; 1000]), 1054);
            ng.enhanced(0, 1_700_000_000, &frame(&[0; 1000]), &[]);
        }
        file.bytes.extend([0xff; 52]);
        ng.bytes.extend([0xff; 52]);
        for _ in 0..count {
            file.record(1_650_000_000, 0, &frame(&[0; 1000]), 1054);
            ng.enhanced(0, 1_650_000_000, &frame(&[0; 1000]), &[]);
        }
        // And then there is damage again.
        let mut bytes = if is_ng { ng.bytes } else { file.bytes };
        bytes.extend([0xff; 50]);
        read_on(&bytes[..]).0.len()
    };
    assert_eq!((build(300, false), build(100, false)), (305, 5));
    // In pcapng, the section may be another then, and with it the clock.
    assert_eq!((build(300, true), build(100, true)), (5, 5));
}

#[test]
fn blocks_of_a_capture_within_a_packet_are_no_packets() {
    let seconds = |seconds: u64| seconds * 1_000_000;
    for (before, is_simple) in [(300_000_000, false), (3600, false), (0, true)] {
        let mut inner = PcapNgFile::new();
        inner.section(false).interface(113, 0, &[]);
        for number in 0..12 {
            if is_simple {
                inner.block(3, &[&(frame(b"old").len() as u32).to_le_bytes()[..], &frame(b"old")].concat());
            } else {
                inner.enhanced(0, seconds(1_700_000_001 - before + number / 12), &frame(b"old"), &[]);
            }
        }
        // The nested file as a whole, and its parts alone.
        for from in [0, 28, 48] {
            let mut file = PcapNgFile::new();
            file.section(false).interface(1, 0, &[]);
            for _ in 0..5 {
                file.enhanced(0, seconds(1_700_000_000), &frame(b"first"), &[]);
            }
            let outer = file.bytes.len();
            file.enhanced(0, seconds(1_700_000_001), &inner.bytes[from..], &[]);
            let behind = file.bytes.len();
            file.enhanced(0, seconds(1_700_000_002), &frame(b"third"), &[]);
            file.bytes[outer + 4] ^= 1;
            let (packets, errors) = read_on(&file.bytes[..]);
            let texts: Vec<&[u8]> = packets.iter().skip(4).map(|packet| &packet.4[54..]).collect();
            assert_eq!(texts, [&b"first"[..], b"third"], "{before} s, from {from}: {errors:?}");
            assert!(packets.iter().all(|packet| packet.3 == 1));
            let [error] = &errors[..] else { panic!("{errors:?}") };
            assert!(error.to_string().ends_with(&format!("; {} bytes skipped", behind - outer)), "{error}");
        }
    }
    // A section of the same days that begins behind damage is one.
    let mut file = PcapNgFile::new();
    file.section(false).interface(1, 0, &[]).enhanced(0, seconds(1_700_000_000), b"first", &[]);
    file.bytes.extend([0xee; 40]);
    file.section(true).interface(101, 0, &[(9, &[9])]).enhanced(0, 1_700_000_001_000_000_007, b"next", &[]);
    let (packets, errors) = read_on(&file.bytes[..]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((packets.len(), packets[1].1, packets[1].3), (2, 1_700_000_001_000_000_007, 101));
}

/// Packets that were cut are believed behind damage where others were cut to the same length, the file's head says it, or they
/// are cut to any.
#[test]
fn packets_that_were_cut_are_found_behind_damage() {
    // The snap length of the head, lengths of the packets before the damage, of those behind it, and how many are found.
    for (snap_length, before, behind, found) in [
        (96, &[60, 60][..], [96, 96], 2),
        (65_535, &[60, 96, 60][..], [96, 96], 2),
        (65_535, &[60, 60][..], [96, 96], 0),
        (65_535, &[61, 62, 63, 64, 65][..], [96, 97], 2),
        (65_535, &[60, 60][..], [60, 60], 2),
    ] {
        let record = |file: &mut PcapFile, length: usize| {
            // What has 60 bytes is whole.
            let original = if length == 60 { 60 } else { 1500 };
            file.record(1_700_000_000, 0, &frame(&[0; 1400])[..length], original);
        };
        let mut file = PcapFile::new(false, 0xa1b2_c3d4, snap_length, 1);
        for length in before {
            record(&mut file, *length);
        }
        file.bytes.extend([0xff; 30]);
        for length in behind {
            record(&mut file, length);
        }
        let (packets, errors) = read_on(&file.bytes[..]);
        assert_eq!((packets.len() - before.len(), errors.len()), (found, 1), "{snap_length} {before:?}: {errors:?}");
    }
}

/// Files of Simple Packet Blocks have no times: blocks are believed that go on to the end.
#[test]
fn simple_packets_behind_damage_are_found_in_files_of_them() {
    let simple = |file: &mut PcapNgFile, text: &[u8]| {
        file.block(3, &[&(text.len() as u32).to_le_bytes()[..], text].concat());
    };
    let mut file = PcapNgFile::new();
    file.section(false).interface(101, 0, &[]);
    let packet = &frame(b"payload!")[14..];
    for _ in 0..3 {
        simple(&mut file, packet);
    }
    let damaged = file.bytes.len();
    for _ in 0..4 {
        simple(&mut file, packet);
    }
    let rest = (file.bytes.len() - damaged) / 4 * 3;
    file.bytes[damaged + 4] ^= 1;
    let (packets, errors) = read_on(&file.bytes[..]);
    assert_eq!((packets.len(), errors.len()), (6, 1), "{errors:?}");
    // Where more damage is soon behind, nothing speaks for them.
    file.bytes.extend([0xff; 20]);
    let (packets, errors) = read_on(&file.bytes[..]);
    assert_eq!(packets.len(), 3);
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert!(error.to_string().ends_with(&format!("; {} bytes skipped", rest + rest / 3 + 20)), "{error}");
}

/// The head of a section and the description of its interface are lost, and its clock is that of the section before; but its
/// link layer is another.
#[test]
fn packets_are_not_read_with_the_link_layer_of_another_section() {
    let ethernet = frame(b"payload!");
    let raw = &ethernet[14..];
    let cooked = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], raw].concat();
    let seconds = 1_700_000_000_000_000;
    let links: [(u16, &[u8]); 3] = [(1, &ethernet), (101, raw), (113, &cooked)];
    for (link, data) in links {
        for (other_link, other) in links {
            for lost in [vec![0; 48], vec![0xff; 8]] {
                let mut file = PcapNgFile::new();
                file.section(false).interface(link, 0, &[]).enhanced(0, seconds, data, &[]);
                file.bytes.extend(&lost);
                for number in 0..3 {
                    file.enhanced(0, seconds + number, other, &[]);
                }
                file.section(true).interface(other_link, 0, &[]).enhanced(0, seconds + 9, other, &[]);
                let (packets, errors) = read_on(&file.bytes[..]);
                let told: Vec<u16> = packets.iter().map(|packet| packet.3).collect();
                let expected = if link == other_link { vec![link; 5] } else { vec![link, other_link] };
                assert_eq!(told, expected, "{link}, {other_link}: {errors:?}");
            }
        }
    }
}

/// The head of a section and its description are zeros: its packets would have the clock of the section before.
#[test]
fn packets_of_a_section_whose_head_is_lost_are_left_out() {
    for is_framed in [false, true] {
        let mut file = PcapNgFile::new();
        file.section(false).interface(1, 0, &[]).enhanced(0, 1_700_000_000_000_000, b"one", &[]);
        file.bytes.extend([0; 48]);
        if is_framed {
            // What is known of, and has no time that could tell: it is found first.
            file.block(4, &[0; 4]);
            file.enhanced(0, 1_700_000_000_500_000, &frame(b"near"), &[]);
        }
        for number in 0..3 {
            file.enhanced(0, 1_700_000_001_000_000_000 + number, b"lost", &[]);
        }
        let head = file.bytes.len();
        file.section(false).interface(113, 0, &[(9, &[9])]).enhanced(0, 1_700_000_009_000_000_000, b"two", &[]);
        let (packets, errors) = read_on(&file.bytes[..]);
        let texts: Vec<&[u8]> = packets.iter().map(|packet| &packet.4[..]).collect();
        let near = frame(b"near");
        let expected: &[&[u8]] = if is_framed { &[b"one", &near, b"two"] } else { &[b"one", b"two"] };
        assert_eq!(texts, expected, "{errors:?}");
        let last = packets.last().unwrap();
        assert_eq!((last.1, last.3), (1_700_000_009_000_000_000, 113));
        // Every byte that is left out is counted.
        let skipped: u64 = errors
            .iter()
            .map(|error| match error {
                CaptureError::Skipped { bytes, .. } => *bytes,
                error => panic!("{error}"),
            })
            .sum();
        let told = if is_framed { 16 + 32 + near.len().next_multiple_of(4) } else { 0 };
        let first = 28 + 20 + 36;
        assert_eq!(skipped, (head - first - told) as u64, "{errors:?}");
    }
}
