use super::*;

fn parse<'a, T>(parser: impl Fn(Bytes<'a>) -> Parsed<'a, T>, bytes: &'a [u8]) -> Result<(usize, T), WireErrorKind> {
    match parser(Bytes::at(bytes, 100)) {
        Ok((rest, value)) => Ok((bytes.len() - rest.len(), value)),
        Err(Err::Error(error) | Err::Failure(error)) => Err(error.kind),
        Err(Err::Incomplete(_)) => panic!("our parsers are complete"),
    }
}

#[test]
fn offsets_go_on_where_the_value_ended() {
    let (rest, value) = int32(Bytes::at(&[0, 0, 1, 0, 7], 100)).unwrap();
    assert_eq!((value, rest.offset(), rest.as_slice()), (256, 104, &[7u8][..]));
}

#[test]
fn numbers_are_big_endian() {
    assert_eq!(parse(int8, &[0x80]), Ok((1, -128)));
    assert_eq!(parse(uint16, &[0xff, 0xfe]), Ok((2, 65534)));
    assert_eq!(parse(uint32, &[0xff, 0xff, 0xff, 0xff]), Ok((4, u32::MAX)));
    assert_eq!(parse(int64, &[0x80, 0, 0, 0, 0, 0, 0, 0]), Ok((8, i64::MIN)));
    assert_eq!(parse(float64, &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0]), Ok((8, 1.0)));
    assert_eq!(parse(int32, &[1, 2]), Err(WireErrorKind::Short { needed: 4, available: 2 }));
}

/// The examples of the Protocol Buffers encoding page, which KIP-482 and record format 2 follow.
#[test]
fn variable_length_integers() {
    assert_eq!(parse(uvarint, &[0x96, 0x01]), Ok((2, 150)));
    assert_eq!(parse(uvarint, &[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok((5, u32::MAX)));
    for (raw, value) in [(0u8, 0), (1, -1), (2, 1), (3, -2)] {
        assert_eq!(parse(varint, &[raw]), Ok((1, value)));
        assert_eq!(parse(varlong, &[raw]), Ok((1, i64::from(value))));
    }
    assert_eq!(parse(varint, &[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok((5, i32::MIN)));
    let lowest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert_eq!(parse(varlong, &lowest), Ok((10, i64::MIN)));
    assert_eq!(parse(uvarint, &[0x80; 9]), Err(WireErrorKind::VarintTooLong { limit: 5 }));
    assert_eq!(parse(varlong, &[0x80; 11]), Err(WireErrorKind::VarintTooLong { limit: 10 }));
    assert_eq!(parse(uvarint, &[0x80, 0x80]), Err(WireErrorKind::Short { needed: 3, available: 2 }));
}

#[test]
fn null_empty_and_absurd_lengths_differ() {
    let string = |input| sized(input, length16);
    assert_eq!(parse(string, &[0xff, 0xff]), Ok((2, None)));
    assert_eq!(parse(string, &[0, 0]), Ok((2, Some(&[][..]))));
    assert_eq!(parse(string, &[0, 2, b'h', b'i']), Ok((4, Some(&b"hi"[..]))));
    assert_eq!(parse(string, &[0x7f, 0xff, 1]), Err(WireErrorKind::LengthTooLarge { length: 32767, available: 1 }));
    assert_eq!(parse(string, &[0xff, 0xfe]), Err(WireErrorKind::LengthNegative { length: -2 }));
    let compact = |input| sized(input, length_compact);
    assert_eq!(parse(compact, &[0]), Ok((1, None)));
    assert_eq!(parse(compact, &[1]), Ok((1, Some(&[][..]))));
    assert_eq!(parse(compact, &[3, b'h', b'i']), Ok((3, Some(&b"hi"[..]))));
}

#[test]
fn lengths_of_four_bytes_and_bytes_without_one() {
    let bytes = |input| sized(input, length32);
    assert_eq!(parse(bytes, &[0xff; 4]), Ok((4, None)));
    assert_eq!(parse(bytes, &[0, 0, 0, 1, 7, 8]), Ok((5, Some(&[7][..]))));
    assert_eq!(parse(bytes, &[0x80, 0, 0, 0]), Err(WireErrorKind::LengthNegative { length: i32::MIN.into() }));
    assert_eq!(parse(bytes, &[0, 0, 0]), Err(WireErrorKind::Short { needed: 4, available: 3 }));
    // The greatest count there is, which is not to wrap into a small one.
    let compact = |input| sized(input, length_compact);
    let most = [0xff, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(parse(compact, &most), Err(WireErrorKind::LengthTooLarge { length: 0xffff_fffe, available: 0 }));
    assert_eq!(parse(uuid, &[9; 16]), Ok((16, [9; 16])));
    assert_eq!(parse(uuid, &[9; 15]), Err(WireErrorKind::Short { needed: 16, available: 15 }));
    assert_eq!(parse(|input| take(input, 2), &[1, 2, 3]), Ok((2, &[1, 2][..])));
}
