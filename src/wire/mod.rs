//! nom parsers over bytes that know their absolute offset: the primitive types of Kafka's protocol and nothing of its
//! messages. All numbers are big-endian; variable-length integers are those of KIP-482 and of record format 2.
//!
//! A parser takes [`Bytes`] and gives back what is left and the value, or a [`WireError`] that says where the bytes
//! ended or what is wrong with them. A length is always held against the bytes that are there before it is believed.

mod bytes;

pub use bytes::Bytes;

use nom::{Err, IResult, Input};

/// What every parser of this module returns.
pub type Parsed<'a, T> = IResult<Bytes<'a>, T, WireError>;

/// Why a primitive could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    /// Absolute offset of the first byte of the value that could not be read.
    pub offset: u32,
    /// What is wrong there.
    pub kind: WireErrorKind,
}

/// The ways in which bytes fail to be a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireErrorKind {
    /// The value takes `needed` bytes and only `available` are left.
    Short {
        /// Bytes that the value takes.
        needed: u32,
        /// Bytes that are left.
        available: u32,
    },
    /// A variable-length integer goes on past its largest size (5 or 10 bytes).
    VarintTooLong {
        /// The largest size of the type, in bytes.
        limit: u8,
    },
    /// A length says `length` bytes and only `available` are left.
    LengthTooLarge {
        /// The length as it stands in the bytes, plus-one encodings already undone.
        length: i64,
        /// Bytes that are left behind the length.
        available: u32,
    },
    /// A length that is negative and is not the -1 of a null value.
    LengthNegative {
        /// The length as it stands in the bytes.
        length: i64,
    },
    /// A combinator of nom failed; our own parsers never give this.
    Other,
}

impl<'a> nom::error::ParseError<Bytes<'a>> for WireError {
    fn from_error_kind(input: Bytes<'a>, _: nom::error::ErrorKind) -> Self {
        Self { offset: input.offset(), kind: WireErrorKind::Other }
    }

    fn append(_: Bytes<'a>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

#[cold]
fn failed<T>(input: Bytes<'_>, kind: WireErrorKind) -> Parsed<'_, T> {
    Err(Err::Error(WireError { offset: input.offset(), kind }))
}

#[cold]
fn short<T>(input: Bytes<'_>, needed: usize) -> Parsed<'_, T> {
    failed(input, WireErrorKind::Short { needed: needed as u32, available: input.len() as u32 })
}

/// The next `N` bytes as an array.
#[inline]
fn array<const N: usize>(input: Bytes<'_>) -> Parsed<'_, [u8; N]> {
    match input.as_slice().first_chunk::<N>() {
        Some(chunk) => Ok((input.take_from(N), *chunk)),
        None => short(input, N),
    }
}

/// The next `count` bytes.
#[inline]
pub fn take(input: Bytes<'_>, count: usize) -> Parsed<'_, &[u8]> {
    match input.as_slice().get(..count) {
        Some(bytes) => Ok((input.take_from(count), bytes)),
        None => short(input, count),
    }
}

macro_rules! fixed_width {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(input: Bytes<'_>) -> Parsed<'_, $type> {
            let (rest, bytes) = array(input)?;
            Ok((rest, <$type>::from_be_bytes(bytes)))
        }
    )*};
}

fixed_width! {
    /// One byte, signed.
    int8: i8;
    /// One byte, unsigned.
    uint8: u8;
    /// Two bytes, signed.
    int16: i16;
    /// Two bytes, unsigned.
    uint16: u16;
    /// Four bytes, signed.
    int32: i32;
    /// Four bytes, unsigned.
    uint32: u32;
    /// Eight bytes, signed.
    int64: i64;
    /// Eight bytes, IEEE 754.
    float64: f64;
}

/// Sixteen bytes of a UUID, most significant first.
#[inline]
pub fn uuid(input: Bytes<'_>) -> Parsed<'_, [u8; 16]> {
    array(input)
}

/// An unsigned variable-length integer of at most 5 bytes (KIP-482). Bits past the 32nd are dropped, as Kafka does.
#[inline]
pub fn uvarint(input: Bytes<'_>) -> Parsed<'_, u32> {
    if let Some(&first) = input.as_slice().first()
        && first < 0x80
    {
        return Ok((input.take_from(1), u32::from(first)));
    }
    let (rest, value) = varint_bytes(input, 5)?;
    Ok((rest, value as u32))
}

/// A zigzag-encoded signed integer of at most 5 bytes, as in record format 2.
#[inline]
pub fn varint(input: Bytes<'_>) -> Parsed<'_, i32> {
    let (rest, raw) = uvarint(input)?;
    Ok((rest, (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()))
}

/// A zigzag-encoded signed integer of at most 10 bytes, as in record format 2.
#[inline]
pub fn varlong(input: Bytes<'_>) -> Parsed<'_, i64> {
    let (rest, raw) = match input.as_slice().first() {
        Some(&first) if first < 0x80 => (input.take_from(1), u64::from(first)),
        _ => varint_bytes(input, 10)?,
    };
    Ok((rest, (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()))
}

/// An unsigned variable-length integer of at most 10 bytes, as in Protocol Buffers. Bits past the 64th are dropped, as
/// there.
#[inline]
pub fn uvarlong(input: Bytes<'_>) -> Parsed<'_, u64> {
    varint_bytes(input, 10)
}

/// Eight bytes of a number, least significant first, as in Protocol Buffers.
#[inline]
pub fn fixed64(input: Bytes<'_>) -> Parsed<'_, u64> {
    let (rest, bytes) = array(input)?;
    Ok((rest, u64::from_le_bytes(bytes)))
}

fn varint_bytes(input: Bytes<'_>, limit: u8) -> Parsed<'_, u64> {
    let mut value = 0u64;
    for (index, &byte) in input.as_slice().iter().take(usize::from(limit)).enumerate() {
        value |= u64::from(byte & 0x7f).wrapping_shl(7 * index as u32);
        if byte < 0x80 {
            return Ok((input.take_from(index + 1), value));
        }
    }
    if input.len() < usize::from(limit) {
        return short(input, input.len() + 1);
    }
    failed(input, WireErrorKind::VarintTooLong { limit })
}

/// A length that stands before a value: `None` is null.
pub type Length = Option<u32>;

/// An int16 length, -1 for null.
#[inline]
pub fn length16(input: Bytes<'_>) -> Parsed<'_, Length> {
    let (rest, length) = int16(input)?;
    Ok((rest, signed_length(input, i32::from(length))?))
}

/// An int32 length, -1 for null.
#[inline]
pub fn length32(input: Bytes<'_>) -> Parsed<'_, Length> {
    let (rest, length) = int32(input)?;
    Ok((rest, signed_length(input, length)?))
}

/// A compact length: a uvarint of the length plus one, 0 for null (KIP-482).
#[inline]
pub fn length_compact(input: Bytes<'_>) -> Parsed<'_, Length> {
    let (rest, plus_one) = uvarint(input)?;
    Ok((rest, plus_one.checked_sub(1)))
}

/// A length as a uvarint of at most 10 bytes, as in Protocol Buffers, which have no null.
#[inline]
pub fn length_plain(input: Bytes<'_>) -> Parsed<'_, Length> {
    let (rest, length) = uvarlong(input)?;
    if let Ok(length) = u32::try_from(length) {
        return Ok((rest, Some(length)));
    }
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    failed(input, WireErrorKind::LengthTooLarge { length, available: rest.len() as u32 })
}

#[inline]
fn signed_length(input: Bytes<'_>, length: i32) -> Result<Length, Err<WireError>> {
    match u32::try_from(length) {
        Ok(length) => Ok(Some(length)),
        Err(_) if length == -1 => Ok(None),
        Err(_) => Err(Err::Error(WireError {
            offset: input.offset(),
            kind: WireErrorKind::LengthNegative { length: i64::from(length) },
        })),
    }
}

/// A length and the bytes that it counts; `None` is null.
#[inline]
pub fn sized<'a>(input: Bytes<'a>, length: impl Fn(Bytes<'a>) -> Parsed<'a, Length>) -> Parsed<'a, Option<&'a [u8]>> {
    let (rest, length) = length(input)?;
    let Some(length) = length else { return Ok((rest, None)) };
    match rest.as_slice().get(..length as usize) {
        Some(bytes) => Ok((rest.take_from(length as usize), Some(bytes))),
        None => {
            failed(input, WireErrorKind::LengthTooLarge { length: i64::from(length), available: rest.len() as u32 })
        }
    }
}

#[cfg(test)]
mod tests;
