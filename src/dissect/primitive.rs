//! How the bytes of one primitive value are read: for the walk, and again when a node is shown.

use nom::Err;

use super::Value;
use crate::protocol::{Scalar, Type};
use crate::wire::{self, Bytes, Parsed, WireError, WireErrorKind};

/// Reads a value that is neither a struct nor an array; those have no value of their own and read as a null struct.
#[allow(clippy::inline_always, reason = "its result goes through memory otherwise, which costs a third of a walk")]
#[inline(always)]
pub(super) fn primitive(ty: Type, input: Bytes<'_>) -> Parsed<'_, Value<'_>> {
    fn map<'b, T>(parsed: Parsed<'b, T>, value: impl Fn(T) -> Value<'b>) -> Parsed<'b, Value<'b>> {
        parsed.map(|(rest, read)| (rest, value(read)))
    }
    match ty {
        Type::Bool => map(wire::uint8(input), |byte| Value::Bool(byte != 0)),
        Type::Int8 => map(wire::int8(input), |number| Value::Int(number.into())),
        Type::Int16 => map(wire::int16(input), |number| Value::Int(number.into())),
        Type::Uint16 => map(wire::uint16(input), |number| Value::Int(number.into())),
        Type::Int32 => map(wire::int32(input), |number| Value::Int(number.into())),
        Type::Uint32 => map(wire::uint32(input), |number| Value::Int(number.into())),
        Type::Int64 => map(wire::int64(input), Value::Int),
        Type::Float64 => map(wire::float64(input), Value::Float),
        Type::Uuid => map(wire::uuid(input), Value::Uuid),
        Type::String => map(wire::sized(input, wire::length16), Value::String),
        Type::CompactString => map(wire::sized(input, wire::length_compact), Value::String),
        Type::Bytes => map(wire::sized(input, wire::length32), Value::Bytes),
        Type::CompactBytes => map(wire::sized(input, wire::length_compact), Value::Bytes),
        Type::Records => map(wire::sized(input, wire::length32), Value::Records),
        Type::CompactRecords => map(wire::sized(input, wire::length_compact), Value::Records),
        Type::Varint => map(wire::varint(input), |number| Value::Int(number.into())),
        Type::Varlong => map(wire::varlong(input), Value::Int),
        Type::Raw => map(wire::take(input, input.len()), |bytes| Value::Bytes(Some(bytes))),
        Type::Protobuf(scalar) => protobuf(scalar, input),
        Type::Text | Type::SaslName | Type::Json | Type::Jwt => {
            map(wire::take(input, input.len()), |text| Value::String(Some(text)))
        }
        Type::Decimal => decimal(input),
        Type::Struct(_) | Type::Array(_) | Type::CompactArray(_) => Ok((input, Value::NullStruct)),
    }
}

/// A value of Protocol Buffers. Of a varint as many bits are kept as the type has.
fn protobuf(scalar: Scalar, input: Bytes<'_>) -> Parsed<'_, Value<'_>> {
    let varint = |value: fn(u64) -> Value<'static>| wire::uvarlong(input).map(|(rest, raw)| (rest, value(raw)));
    let fixed = |value: fn(u64) -> Value<'static>| wire::fixed64(input).map(|(rest, raw)| (rest, value(raw)));
    let sized = || wire::sized(input, wire::length_plain);
    match scalar {
        Scalar::Bool => varint(|raw| Value::Bool(raw != 0)),
        Scalar::Int32 => varint(|raw| Value::Int((raw as u32).cast_signed().into())),
        Scalar::Int64 => varint(|raw| Value::Int(raw.cast_signed())),
        Scalar::Uint32 => varint(|raw| Value::Int((raw as u32).into())),
        Scalar::Uint64 => varint(Value::Uint),
        Scalar::Sint32 => varint(|raw| {
            let raw = raw as u32;
            Value::Int(((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()).into())
        }),
        Scalar::Fixed64 => fixed(Value::Uint),
        Scalar::Sfixed64 => fixed(|raw| Value::Int(raw.cast_signed())),
        Scalar::Double => fixed(|raw| Value::Float(f64::from_bits(raw))),
        Scalar::String => sized().map(|(rest, bytes)| (rest, Value::String(bytes))),
        Scalar::Bytes => sized().map(|(rest, bytes)| (rest, Value::Bytes(bytes))),
    }
}

/// Digits up to the end.
fn decimal(input: Bytes<'_>) -> Parsed<'_, Value<'_>> {
    let (_, rest) = input.split(input.len());
    let digits = str::from_utf8(input.as_slice()).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(number) => Ok((rest, Value::Int(number))),
        None => Err(Err::Error(WireError { offset: input.offset(), kind: WireErrorKind::Other })),
    }
}

/// The value of a type in bytes that are its own; `None` where they are not such a value.
pub fn value_of(ty: Type, bytes: &[u8]) -> Option<Value<'_>> {
    primitive(ty, Bytes::new(bytes)).ok().map(|(_, value)| value)
}
