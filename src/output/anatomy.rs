//! How bytes make a value: step by step, and what else they may be read as.

use std::fmt::Write;

use crate::capture::Time;
use crate::dissect::{Part, Value, value_of};
use crate::protocol::Type;
use crate::wire::{self, Bytes};

/// The steps from a value's bytes to the value; empty where there is nothing to say.
pub fn steps(ty: Type, bytes: &[u8]) -> String {
    match ty {
        Type::Varint | Type::Varlong => zigzag(bytes),
        Type::CompactString | Type::CompactBytes | Type::CompactRecords => compact(bytes),
        Type::String => length_of::<2>(bytes, "int16", |bytes| i16::from_be_bytes(bytes).into()),
        Type::Bytes | Type::Records => length_of::<4>(bytes, "int32", |bytes| i32::from_be_bytes(bytes).into()),
        Type::Int16 | Type::Uint16 | Type::Int32 | Type::Uint32 | Type::Int64 | Type::Float64 => {
            format!("{} bytes, most significant first (big-endian)", bytes.len())
        }
        Type::Int8 | Type::Bool => "1 byte".to_owned(),
        Type::Uuid => "16 bytes, written in base64url without padding".to_owned(),
        // Their lengths stand elsewhere, or what is in them says how they are made.
        _ => String::new(),
    }
}

/// The same for bytes that are no field's value.
pub fn steps_of_part(part: &Part<'_>, bytes: &[u8]) -> String {
    match part {
        Part::ArrayLength { compact: true, .. } | Part::ByteLength { compact: true, .. } => compact(bytes),
        Part::TaggedCount { .. } | Part::Tag(_) | Part::TagSize(_) => {
            groups(bytes).map(|(text, _)| text).unwrap_or_default()
        }
        Part::Prefix(..) if bytes.len() != 2 => groups(bytes).map(|(text, _)| text).unwrap_or_default(),
        Part::Size(_) | Part::ArrayLength { .. } | Part::ByteLength { .. } | Part::Prefix(..) => {
            format!("{} bytes, most significant first (big-endian)", bytes.len())
        }
        _ => String::new(),
    }
}

/// A value in other readings: hexadecimal, unsigned, a time, a duration.
pub fn readings(ty: Type, bytes: &[u8]) -> Vec<String> {
    let mut readings = Vec::new();
    let Some(Value::Int(number)) = value_of(ty, bytes) else {
        if let (Type::Float64, Some(bytes)) = (ty, bytes.first_chunk()) {
            readings.push(format!("bits 0x{:016x}", u64::from_be_bytes(*bytes)));
        }
        return readings;
    };
    let width: usize = match ty {
        Type::Int8 => 1,
        Type::Int16 | Type::Uint16 => 2,
        Type::Int32 | Type::Uint32 | Type::Varint => 4,
        _ => 8,
    };
    let all = u64::MAX >> (64 - width * 8);
    let unsigned = number.cast_unsigned() & all;
    readings.push(format!("0x{unsigned:0digits$x}", digits = width * 2));
    if number < 0 {
        readings.push(format!("unsigned {unsigned}"));
    }
    if let Some(time) = time(number).filter(|_| width == 8) {
        readings.push(time);
    }
    if unsigned.count_ones() > 0 && width <= 4 && (0x20..0x7f).contains(&(unsigned >> (width * 8 - 8))) && width > 1 {
        let text = unsigned.to_be_bytes();
        let text = text.get(8 - width..).unwrap_or_default();
        if text.iter().all(|byte| (0x20..0x7f).contains(byte)) {
            readings.push(format!("as ASCII {:?}", String::from_utf8_lossy(text)));
        }
    }
    readings
}

/// Milliseconds since 1970 as a time, where they are one between 2000 and 2100.
fn time(milliseconds: i64) -> Option<String> {
    const YEAR_2000: i64 = 946_684_800_000;
    const YEAR_2100: i64 = 4_102_444_800_000;
    let nanoseconds = milliseconds.checked_mul(Time::MILLISECOND)?;
    (YEAR_2000..YEAR_2100)
        .contains(&milliseconds)
        .then(|| Time::from_nanoseconds(nanoseconds).to_string().get(..23).map(|text| format!("{text}Z")))
        .flatten()
}

/// `c8 01: 7 bits a byte, lowest first: 1001000 + 0000001 << 7 = 200`; and the number.
fn groups(bytes: &[u8]) -> Option<(String, u64)> {
    let mut text = String::new();
    let mut number = 0_u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        let shift = index as u32 * 7;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = match index {
            0 => write!(text, "{:07b}", byte & 0x7f),
            _ => write!(text, " + {:07b} << {shift}", byte & 0x7f),
        };
        if byte & 0x80 == 0 {
            let how = if index == 0 { "varint of 1 byte" } else { "varint, 7 bits a byte, lowest first" };
            return Some((format!("{how}: {text} = {number}"), number));
        }
    }
    None
}

fn zigzag(bytes: &[u8]) -> String {
    let Some((text, number)) = groups(bytes) else { return String::new() };
    let value = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
    format!("{text}; zigzag: {number} -> {value}")
}

fn compact(bytes: &[u8]) -> String {
    let Ok((rest, number)) = wire::uvarint(Bytes::new(bytes)) else { return String::new() };
    let length = bytes.len() - rest.len();
    let head = bytes.get(..length).unwrap_or_default();
    let Some((text, _)) = groups(head) else { return String::new() };
    match number {
        0 => format!("{text}: null"),
        _ => format!("{text}; compact, so it is the count + 1: {}", number - 1),
    }
}

fn length_of<const N: usize>(bytes: &[u8], ty: &str, number: impl Fn([u8; N]) -> i64) -> String {
    let Some(head) = bytes.first_chunk::<N>() else { return String::new() };
    match number(*head) {
        -1 => format!("{ty} length of -1: null"),
        length => format!("{ty} length of {length}, then so many bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the Protocol Buffers documentation, on which Kafka's varints rest.
    #[test]
    fn varints_in_groups() {
        let (text, number) = groups(&[0x96, 0x01]).unwrap();
        assert_eq!(number, 150);
        assert_eq!(text, "varint, 7 bits a byte, lowest first: 0010110 + 0000001 << 7 = 150");
        for (bytes, value) in [
            ([0x00].as_slice(), "-> 0"),
            (&[0x01], "-> -1"),
            (&[0x02], "-> 1"),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], "-> -2147483648"),
        ] {
            assert!(zigzag(bytes).ends_with(value), "{}", zigzag(bytes));
        }
        assert_eq!(groups(&[0xff; 11]), None);
        assert_eq!(groups(&[]), None);
    }

    #[test]
    fn other_readings() {
        assert_eq!(readings(Type::Int16, &[0xff, 0xfe]), ["0xfffe", "unsigned 65534"]);
        // 2024-01-01T00:00:00Z.
        let bytes = 1_704_067_200_000_i64.to_be_bytes();
        assert_eq!(readings(Type::Int64, &bytes), ["0x0000018cc251f400", "2024-01-01T00:00:00.000Z"]);
        assert_eq!(readings(Type::Int32, b"HTTP"), ["0x48545450", "as ASCII \"HTTP\""]);
        assert_eq!(readings(Type::CompactString, &[2, b'a']), [""; 0]);
        assert!(steps(Type::CompactString, &[0]).ends_with("null"));
        assert!(steps(Type::CompactString, &[2, b'a']).ends_with("count + 1: 1"));
    }
}
