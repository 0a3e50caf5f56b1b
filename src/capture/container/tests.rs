#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::Write;

use super::super::{Again, CaptureError, Captures, OpenError};
use super::*;

/// A pcap file whose packets cannot be guessed from each other, so that it does not pack well.
fn pcap(packets: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for second in 0..packets {
        for word in [second, 0, 100, 100] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((0..100).map(|_| random.u8(..)));
    }
    bytes
}

fn packed(container: Container, bytes: &[u8]) -> Vec<u8> {
    match container {
        Container::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Container::Zstd => zstd::encode_all(bytes, 3).unwrap(),
        Container::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

const ALL: [Container; 3] = [Container::Gzip, Container::Zstd, Container::Lz4];

/// The packets as they lie in the capture, and the error behind them. With `again`, each is read from its place as well.
fn read(bytes: Vec<u8>, again: Again) -> Result<(Vec<Vec<u8>>, Option<CaptureError>), OpenError> {
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(bytes), again)?;
    let source = captures.sources().remove(0);
    let mut packets = Vec::new();
    loop {
        match captures.next() {
            Ok(Some(packet)) => {
                if again == Again::Yes {
                    let mut bytes = vec![0; packet.data.len()];
                    source.read_at(&mut bytes, packet.place.offset).unwrap();
                    assert_eq!(bytes, packet.data);
                }
                packets.push(packet.data.to_vec());
            }
            Ok(None) => return Ok((packets, None)),
            Err(damage) => return Ok((packets, Some(damage.error))),
        }
    }
}

#[test]
fn containers_are_opened_also_of_several_pieces_and_one_in_another() {
    let plain = pcap(2000);
    let expected = read(plain.clone(), Again::No).unwrap().0;
    assert_eq!(expected.len(), 2000);
    let (first, second) = plain.split_at(70_001);
    for outer in ALL {
        let pieces = [packed(outer, first), packed(outer, b""), packed(outer, second)].concat();
        for bytes in [packed(outer, &plain), pieces.clone()] {
            for again in [Again::No, Again::Yes] {
                let (packets, error) = read(bytes.clone(), again).unwrap();
                assert!(error.is_none(), "{outer:?}: {error:?}");
                assert!(packets == expected, "{outer:?}");
            }
        }
        for inner in ALL {
            let bytes = packed(outer, &packed(inner, &plain));
            assert!(read(bytes.clone(), Again::Yes).unwrap().0 == expected, "{outer:?} {inner:?}");
            // Once more is once too often.
            let error = read(packed(outer, &bytes), Again::No).unwrap_err();
            let is_named = error.to_string().starts_with("-: not a pcap or pcapng file: it looks like ");
            assert!(is_named, "{error}");
        }
    }
    // What parallel compressors put in front, and what anyone may put between and behind.
    for container in [Container::Zstd, Container::Lz4] {
        let skipped: [&[u8]; 3] = [
            &[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 9, 9, 9, 9],
            &[0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0],
            &[0x57, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 1],
        ];
        let pieces =
            [skipped[0], &packed(container, first), skipped[1], skipped[2], &packed(container, second), skipped[0]];
        let (packets, error) = read(pieces.concat(), Again::No).unwrap();
        assert!(error.is_none(), "{container:?}: {error:?}");
        assert!(packets == expected, "{container:?}");
        let cut = pieces.concat();
        let error = read(cut[..cut.len() - 2].to_vec(), Again::No).unwrap().1.unwrap();
        assert!(error.to_string().contains("data is cut short"), "{container:?}: {error}");
    }
}

#[test]
fn damaged_gzip_gives_nearly_all_that_is_before() {
    let plain = pcap(2000);
    let expected = read(plain.clone(), Again::No).unwrap().0;
    // Bytes that do not pack are stored in blocks, so it is known where they lie; a block of type 3 is none (RFC 1951).
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&plain[..100_000]).unwrap();
    encoder.flush().unwrap();
    let mut bytes = encoder.get_ref().clone();
    bytes.extend([0x07; 64]);
    let (packets, error) = read(bytes, Again::No).unwrap();
    assert!(error.unwrap().to_string().contains("the gzip data is damaged"));
    assert!(packets[..] == expected[..packets.len()]);
    let whole = (100_000 - 24) / 116;
    assert!(packets.len() >= whole - AT_ONCE.div_ceil(116), "{} of {whole}", packets.len());
}

#[test]
fn a_file_is_opened_whatever_its_name() {
    let mut file = tempfile::Builder::new().suffix(".pcap").tempfile().unwrap();
    file.write_all(&packed(Container::Lz4, &pcap(3))).unwrap();
    let mut captures = Captures::open([file.path()], Again::Yes).unwrap();
    let mut count = 0;
    while captures.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, captures.length()), (3, None));
}

#[test]
fn a_container_that_is_cut_gives_what_is_before() {
    let plain = pcap(400);
    let expected = read(plain.clone(), Again::No).unwrap().0;
    for container in ALL {
        // Several pieces, so that some are whole; a cut between two of them is a capture that is cut.
        let pieces: Vec<Vec<u8>> = plain.chunks(5_000).map(|piece| packed(container, piece)).collect();
        let whole = pieces.concat();
        let ends: Vec<usize> = pieces
            .iter()
            .scan(0, |end, piece| {
                *end += piece.len();
                Some(*end)
            })
            .collect();
        for end in (4..whole.len()).step_by(997).chain(ends.iter().copied()) {
            let found = read(whole[..end].to_vec(), Again::No);
            let Ok((packets, error)) = found else {
                let error = found.unwrap_err();
                assert!(end < pieces[0].len(), "{container:?} {end}: {error}");
                continue;
            };
            // What lies in whole pieces is there.
            let there = ends.iter().filter(|whole| **whole <= end).count() * 5_000;
            let there = there.min(plain.len());
            assert!(packets.len() >= there.saturating_sub(24) / 116, "{container:?} {end}: {}", packets.len());
            assert!(packets[..] == expected[..packets.len()], "{container:?} {end}");
            if !ends.contains(&end) {
                let error = error.unwrap();
                assert!(!error.is_unreadable());
                assert!(error.to_string().contains("data is cut short"), "{container:?} {end}: {error}");
            }
        }
    }
}

#[test]
fn what_is_no_container_further_on_is_an_error() {
    for container in ALL {
        let bytes = [&packed(container, &pcap(5))[..], b"no container at all"].concat();
        let (packets, error) = read(bytes, Again::No).unwrap();
        assert_eq!(packets.len(), 5, "{container:?}");
        assert!(error.unwrap().to_string().starts_with("reading failed at byte "), "{container:?}");
    }
}

#[test]
fn no_bytes_make_a_container_panic() {
    let mut random = fastrand::Rng::with_seed(3);
    for container in ALL {
        let whole = packed(container, &pcap(20));
        for _ in 0..40 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(4..bytes.len());
                bytes[at] = random.u8(..);
            }
            let _ = read(bytes, Again::No);
        }
    }
}
