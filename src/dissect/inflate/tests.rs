use std::io::Write;

use super::*;

const ALL: u32 = 1 << 30;

/// What bytes inflate to, whether or not that is all.
fn inflated(codec: u8, magic: u8, input: &[u8], limit: u32) -> (Vec<u8>, Result<(), InflateError>) {
    let mut out = Vec::new();
    let result = inflate(Codec(codec), magic, input, limit, &mut out);
    (out, result)
}

#[track_caller]
fn whole(codec: u8, input: &[u8], expected: &[u8]) {
    let (out, result) = inflated(codec, 2, input, ALL);
    assert_eq!((out.len(), result), (expected.len(), Ok(())));
    assert_eq!(out, expected);
}

/// What is damaged keeps the bytes that are before the damage.
#[track_caller]
fn damaged(codec: u8, input: &[u8], expected: &[u8]) {
    let (out, result) = inflated(codec, 2, input, ALL);
    assert_eq!(
        (String::from_utf8_lossy(&out), result),
        (String::from_utf8_lossy(expected), Err(InflateError::Damaged))
    );
}

/// Text that compresses, but not to nothing.
fn text(length: usize) -> Vec<u8> {
    let words = (0u32..).flat_map(|number| format!("{:x} order ", number.wrapping_mul(2_654_435_761)).into_bytes());
    words.take(length).collect()
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn lz4_frame(info: lz4_flex::frame::FrameInfo, content: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn codecs_that_no_release_knows() {
    for codec in [5, 6, 7] {
        assert_eq!(inflated(codec, 2, b"abc", ALL), (vec![], Err(InflateError::UnknownCodec)));
    }
}

#[test]
fn gzip_members() {
    let text = text(300_000);
    whole(1, &gzipped(&text), &text);
    whole(1, &[gzipped(&text), gzipped(b""), gzipped(b"end")].concat(), &[&text, &b"end"[..]].concat());
    damaged(1, b"", b"");
    damaged(1, b"not gzip", b"");
    damaged(1, &[gzipped(b"one"), b"junk".to_vec()].concat(), b"one");
}

#[test]
fn gzip_that_is_cut_or_changed() {
    let content = text(300_000);
    let whole = gzipped(&content);
    let mut longest = 0;
    for length in (0..whole.len()).step_by(997).chain([whole.len() - 8, whole.len() - 1]) {
        let (out, result) = inflated(1, 2, &whole[..length], ALL);
        assert_eq!(result, Err(InflateError::Damaged));
        assert!(content.starts_with(&out) && out.len() >= longest);
        longest = out.len();
    }
    assert_eq!(longest, content.len());
    // The last four bytes say how long the content is (RFC 1952): a lie reserves nothing, but it is a lie.
    let mut changed = whole;
    let last = changed.len() - 1;
    changed[last] = 0xff;
    damaged(1, &changed, &content);
}

/// The example of snappy's format description is a literal and copies; here: "abc", then 9 bytes from 3 before the end.
const SNAPPY: &[u8] = &[12, 2 << 2, b'a', b'b', b'c', (9 - 4) << 2 | 1, 3];

#[test]
fn snappy_raw() {
    whole(2, SNAPPY, b"abcabcabcabc");
    whole(2, &[0], b"");
    let content = text(200_000);
    whole(2, &snap::raw::Encoder::new().compress_vec(&content).unwrap(), &content);
    // Copies with distances of one, two and four bytes; cut at the limit, the elements are read one by one.
    let all = [18, 2 << 2, b'a', b'b', b'c', 1, 3, 3 << 2 | 2, 2, 0, 6 << 2 | 3, 7, 0, 0, 0];
    whole(2, &all, b"abcabcacacabcacaca");
    assert_eq!(inflated(2, 2, &all, 17), (b"abcabcacacabcacac".to_vec(), Err(InflateError::Limit(17))));
}

#[test]
fn snappy_that_is_cut_or_changed() {
    damaged(2, b"", b"");
    damaged(2, &SNAPPY[..4], b"ab");
    damaged(2, &SNAPPY[..6], b"abc");
    // A distance of 0, and one to before the beginning.
    damaged(2, &[12, 2 << 2, b'a', b'b', b'c', 1, 0], b"abc");
    damaged(2, &[12, 2 << 2, b'a', b'b', b'c', 1, 4], b"abc");
    // More and fewer bytes than the preamble says.
    damaged(2, &[13, 2 << 2, b'a', b'b', b'c', (9 - 4) << 2 | 1, 3], b"abcabcabcabc");
    damaged(2, &[2, 2 << 2, b'a', b'b', b'c'], b"abc");
    // 4 GiB in five bytes: nothing is reserved.
    damaged(2, &[0xff, 0xff, 0xff, 0xff, 0x0f, 2 << 2, b'a', b'b', b'c'], b"abc");
    damaged(2, &[0xff; 9], b"");
    let content = text(200_000);
    let whole = snap::raw::Encoder::new().compress_vec(&content).unwrap();
    for length in (1..whole.len()).step_by(1009) {
        let (out, result) = inflated(2, 2, &whole[..length], ALL);
        assert_eq!(result, Err(InflateError::Damaged));
        assert!(content.starts_with(&out) && out.len() + 8 >= length, "{} of {length}", out.len());
    }
}

/// `SnappyOutputStream`: the magic, version 1, compatible with 1, blocks of up to 32 KiB behind their length.
#[test]
fn snappy_as_java_frames_it() {
    let header = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
    let chunk = [&(SNAPPY.len() as u32).to_be_bytes(), SNAPPY].concat();
    whole(2, header, b"");
    whole(2, &[&header[..], &chunk, &chunk].concat(), &b"abc".repeat(8));
    // An empty chunk, and a stream behind a stream.
    whole(2, &[&header[..], &chunk, &[0; 4], header, &chunk].concat(), &b"abc".repeat(8));
    damaged(2, &header[..12], b"");
    damaged(2, &[&header[..], &chunk, &[0, 0]].concat(), &b"abc".repeat(4));
    damaged(2, &[&header[..], &chunk, &chunk[..9]].concat(), &[&b"abc".repeat(4)[..], b"abc"].concat());
    damaged(2, &[&header[..], &[0xff; 4], SNAPPY].concat(), b"abcabcabcabc");
}

#[test]
fn lz4_frames() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};
    let content = text(300_000);
    let plain = FrameInfo::new();
    for info in [
        plain.clone(),
        plain.clone().block_mode(BlockMode::Linked).block_size(BlockSize::Max64KB),
        plain.clone().block_checksums(true).content_checksum(true),
        plain.clone().content_size(Some(content.len() as u64)).block_size(BlockSize::Max4MB),
    ] {
        whole(3, &lz4_frame(info, &content), &content);
    }
    let small = lz4_frame(plain, b"abc");
    whole(3, &[&small[..], &small].concat(), b"abcabc");
    // A frame that readers skip: one of 16 magics, a length, so many bytes.
    whole(3, &[&[0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 1][..], &small].concat(), b"abc");
    whole(3, b"", b"");
}

/// A frame by hand: version 1, independent blocks of 64 KiB. The checksums of headers are those of the format's own
/// description: the second byte of xxHash-32 over the descriptor.
fn by_hand(blocks: &[u8]) -> Vec<u8> {
    [&[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82][..], blocks].concat()
}

#[test]
fn lz4_that_is_cut_or_changed() {
    // A token of 3 literals and a copy of 9, then one of 5 literals alone.
    let block = [0x35, b'a', b'b', b'c', 3, 0, 0x50, b'v', b'w', b'x', b'y', b'z'];
    let good = by_hand(&[&[12, 0, 0, 0][..], &block, &[0; 4]].concat());
    let content = b"abcabcabcabcvwxyz";
    whole(3, &good, content);
    // Without the mark of the end, and cut inside of a block.
    damaged(3, &good[..good.len() - 4], content);
    damaged(3, &good[..good.len() - 2], content);
    damaged(3, &good[..good.len() - 6], b"abcabcabcabcvwx");
    damaged(3, &good[..14], b"ab");
    damaged(3, &good[..5], b"");
    // A distance of 0, and one to before the beginning.
    for distance in [0, 4] {
        let mut changed = good.clone();
        changed[15] = distance;
        damaged(3, &changed, b"abc");
    }
    // Not version 1; a dictionary; a reserved block size.
    for (place, value) in [(4, 0xa0), (4, 0x61), (5, 0x30)] {
        let mut changed = good.clone();
        changed[place] = value;
        damaged(3, &changed, b"");
    }
    // Not compressed, and longer than a block may be.
    let long = by_hand(&[&[1, 0, 1, 0x80][..], &b"a".repeat(65537), &[0; 4]].concat());
    assert_eq!(inflated(3, 2, &long, ALL).1, Err(InflateError::Damaged));
    let mut sized = lz4_frame(lz4_flex::frame::FrameInfo::new().content_checksum(true), b"abc");
    *sized.last_mut().unwrap() ^= 1;
    damaged(3, &sized, b"abc");
}

/// Kafka before 0.10 computed the header's checksum over the magic, too (KIP-57).
#[test]
fn lz4_with_the_old_checksum_of_the_header() {
    let block = [&[4, 0, 0, 0x80][..], b"abcd", &[0; 4]].concat();
    let mut frame = by_hand(&block);
    let over_magic = (twox_hash::XxHash32::oneshot(0, &frame[..6]) >> 8) as u8;
    frame[6] = over_magic;
    for magic in [0, 1] {
        assert_eq!(inflated(3, magic, &frame, ALL), (b"abcd".to_vec(), Ok(())));
        assert_eq!(inflated(3, magic, &by_hand(&block), ALL), (b"abcd".to_vec(), Ok(())));
    }
    assert_eq!(inflated(3, 2, &frame, ALL), (vec![], Err(InflateError::Damaged)));
}

#[test]
fn zstd_frames() {
    let content = text(400_000);
    let sized = zstd::bulk::compress(&content, 3).unwrap();
    // A stream does not know its length when it writes the header.
    let stream = zstd::stream::encode_all(&content[..], 19).unwrap();
    whole(4, &sized, &content);
    whole(4, &stream, &content);
    whole(4, &[&sized[..], &stream, &sized].concat(), &content.repeat(3));
    // A frame that readers skip, and an empty one.
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
    whole(4, &[&skipped[..], &zstd::bulk::compress(b"", 3).unwrap(), &stream].concat(), &content);
    damaged(4, b"", b"");
    damaged(4, b"not zstd", b"");
    damaged(4, &[zstd::bulk::compress(b"one", 3).unwrap(), b"junk.".to_vec()].concat(), b"one");
}

#[test]
fn zstd_that_is_cut_or_changed_keeps_the_blocks_before() {
    const BLOCK: usize = 128 << 10;
    let content = text(5 * BLOCK);
    for whole in [zstd::bulk::compress(&content, 3).unwrap(), zstd::stream::encode_all(&content[..], 3).unwrap()] {
        let mut longest = 0;
        for length in (0..whole.len()).step_by(1013) {
            let (out, result) = inflated(4, 2, &whole[..length], ALL);
            assert_eq!(result, Err(InflateError::Damaged));
            assert!(content.starts_with(&out) && out.len() >= longest);
            longest = out.len();
        }
        assert!(longest >= 4 * BLOCK);
        // A context that has met damage is as good as a new one.
        self::whole(4, &whole, &content);
    }
}

#[test]
fn limits_hold_to_the_byte() {
    let content = text(300_000);
    let xerial = {
        let blocks = content.chunks(32 << 10).flat_map(|chunk| {
            let block = snap::raw::Encoder::new().compress_vec(chunk).unwrap();
            [&(block.len() as u32).to_be_bytes()[..], &block].concat()
        });
        b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".iter().copied().chain(blocks).collect()
    };
    let inputs: [(u8, Vec<u8>); 5] = [
        (1, gzipped(&content)),
        (2, snap::raw::Encoder::new().compress_vec(&content).unwrap()),
        (2, xerial),
        (3, lz4_frame(lz4_flex::frame::FrameInfo::new(), &content)),
        (4, zstd::bulk::compress(&content, 3).unwrap()),
    ];
    for (codec, input) in inputs {
        for limit in [0, 1, 65_536, 100_000, 299_999] {
            let (out, result) = inflated(codec, 2, &input, limit);
            assert_eq!(result, Err(InflateError::Limit(limit)), "codec {codec}");
            assert!(out == content[..limit as usize], "codec {codec}, {limit}");
            assert!(out.capacity() <= 2 * limit as usize + (256 << 10), "codec {codec}: {}", out.capacity());
        }
        assert_eq!(inflated(codec, 2, &input, 300_000), (content.clone(), Ok(())));
    }
}

/// Every byte changed, for every codec: no panic, and never more than the limit.
#[test]
fn changed_bytes_stay_below_the_limit() {
    let content = [text(600), vec![7; 600]].concat();
    let inputs = [
        (1, gzipped(&content)),
        (2, snap::raw::Encoder::new().compress_vec(&content).unwrap()),
        (3, lz4_frame(lz4_flex::frame::FrameInfo::new(), &content)),
        (4, zstd::bulk::compress(&content, 3).unwrap()),
    ];
    for (codec, input) in inputs {
        for place in 0..input.len() {
            for mask in [1, 2, 8, 0x80, 0xff] {
                let mut changed = input.clone();
                changed[place] ^= mask;
                let (out, _) = inflated(codec, 2, &changed, 5000);
                assert!(out.len() <= 5000);
                assert!(inflated(codec, 2, &changed[..place], 5000).0.len() <= 5000);
            }
        }
    }
}
