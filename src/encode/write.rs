//! The writer: the mirror image of the walk.

use std::borrow::Cow;

use thiserror::Error;

use super::{Datum, Instance, Tagged, minimal};
use crate::protocol::{ApiKey, Catalog, Field, Plan, Prefix, Side, Struct, StructId, Type};

/// Why an instance could not be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// There is no such API, direction or version.
    #[error("{side} {key} v{version} is not known", side = side.word(), key = key.0)]
    UnknownMessage {
        /// The API.
        key: ApiKey,
        /// The direction.
        side: Side,
        /// The version.
        version: i16,
    },
    /// A value is not of its field's type, or does not lie in its range.
    #[error("{path}: the value is no {expected}")]
    Misfit {
        /// The field's place: `topics[0].name`; empty at the top.
        path: String,
        /// What the plan has there.
        expected: &'static str,
    },
    /// A value is longer than the length before it can say.
    #[error("{path}: {length} are too many for a length of {bytes} bytes")]
    TooLong {
        /// The field's place.
        path: String,
        /// Bytes, elements or tagged fields.
        length: usize,
        /// The size of the length.
        bytes: u8,
    },
}

impl EncodeError {
    /// The same error, seen from one level up.
    #[cold]
    fn inside(mut self, outer: &str) -> Self {
        if let Self::Misfit { path, .. } | Self::TooLong { path, .. } = &mut self {
            let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            *path = format!("{outer}{dot}{path}");
        }
        self
    }
}

type Written = Result<(), EncodeError>;

#[cold]
fn misfit<T>(expected: &'static str) -> Result<T, EncodeError> {
    Err(EncodeError::Misfit { path: String::new(), expected })
}

#[cold]
fn too_long<T>(length: usize, bytes: u8) -> Result<T, EncodeError> {
    Err(EncodeError::TooLong { path: String::new(), length, bytes })
}

/// Writes the values of a message, without anything in front of them.
pub fn encode(plan: &Plan, instance: &Instance) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer { plan, out: Vec::new() };
    writer.members(plan.top(), instance)?;
    Ok(writer.out)
}

/// What is written into a header; the API's key and version follow from the message.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The number by which a response finds its request.
    pub correlation_id: i32,
    /// The client's name for itself; only requests have it.
    pub client_id: Option<Vec<u8>>,
    /// Tagged fields; only headers of flexible versions can have them.
    pub tagged: Vec<Tagged>,
}

impl Default for Header {
    fn default() -> Self {
        Self { correlation_id: 0, client_id: Some(Vec::new()), tagged: Vec::new() }
    }
}

impl Header {
    /// The header's values in one version of it.
    pub fn instance(&self, plan: &Plan, key: ApiKey, version: i16) -> Instance {
        let mut instance = minimal(plan);
        for (field, datum) in plan.untagged(plan.top()).iter().zip(&mut instance.fields) {
            match &*field.name {
                "RequestApiKey" => *datum = Datum::Int(key.0.into()),
                "RequestApiVersion" => *datum = Datum::Int(version.into()),
                "CorrelationId" => *datum = Datum::Int(self.correlation_id.into()),
                "ClientId" => *datum = Datum::String(self.client_id.clone()),
                _ => {}
            }
        }
        instance.tagged.clone_from(&self.tagged);
        instance
    }
}

/// Writes a request or response as it travels: size, header, body.
pub fn frame(
    catalog: &Catalog,
    key: ApiKey,
    side: Side,
    version: i16,
    header: &Header,
    body: &Instance,
) -> Result<Vec<u8>, EncodeError> {
    let body_plan = catalog.api_plan(key, side, version);
    let Some((plan, header_plan)) = body_plan.and_then(|plan| Some((plan, catalog.header_for(plan, side)?))) else {
        return Err(EncodeError::UnknownMessage { key, side, version });
    };
    frame_of_parts((header_plan, &header.instance(header_plan, key, version)), (plan, body))
}

/// Writes a frame of a header and a body that are at hand as instances, each with its plan.
pub fn frame_of_parts(header: (&Plan, &Instance), body: (&Plan, &Instance)) -> Result<Vec<u8>, EncodeError> {
    let header = encode(header.0, header.1)?;
    let body = encode(body.0, body.1)?;
    let length = header.len() + body.len();
    let Ok(size) = i32::try_from(length) else { return too_long(length, 4) };
    Ok([&size.to_be_bytes(), &*header, &*body].concat())
}

/// Writes a payload that lies inside of messages, topics or files: the numbers in front of it and its values.
pub fn payload(plan: &Plan, prefix: &[i64], body: &Instance) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer { plan, out: Vec::new() };
    let expected = match plan.prefix() {
        Prefix::None => 0,
        Prefix::Int16(_) => 1,
        Prefix::Uvarints(names) => names.len(),
    };
    if prefix.len() != expected {
        return misfit("prefix of this kind of message");
    }
    for &number in prefix {
        match (plan.prefix(), i16::try_from(number), u32::try_from(number)) {
            (Prefix::Int16(_), Ok(number), _) => writer.out.extend(number.to_be_bytes()),
            (Prefix::Uvarints(_), _, Ok(number)) => uvarint(&mut writer.out, number),
            _ => return misfit("number of this prefix"),
        }
    }
    writer.members(plan.top(), body)?;
    Ok(writer.out)
}

/// The numbers that Kafka writes in front of a payload; empty where there are none.
pub fn prefix(plan: &Plan) -> Vec<i64> {
    let record_type = i64::from(plan.api_key.unwrap_or_default());
    match plan.prefix() {
        Prefix::None => Vec::new(),
        Prefix::Int16("record_type") => vec![record_type],
        Prefix::Int16(_) => vec![plan.version.into()],
        // Frame version 1 is the only one there is (KIP-631).
        Prefix::Uvarints(_) => vec![1, record_type, plan.version.into()],
    }
}

struct Writer<'p> {
    plan: &'p Plan,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn members(&mut self, of: &Struct, instance: &Instance) -> Written {
        let fields = self.plan.untagged(of);
        if fields.len() != instance.fields.len() {
            return misfit("struct of this version");
        }
        for (field, datum) in fields.iter().zip(&instance.fields) {
            self.value(field.ty, Some(field), datum).map_err(|error| error.inside(field.key()))?;
        }
        if of.flexible {
            self.tagged_fields(of, &instance.tagged)
        } else if instance.tagged.is_empty() {
            Ok(())
        } else {
            misfit("struct without tagged fields")
        }
    }

    fn tagged_fields(&mut self, of: &Struct, tagged: &[Tagged]) -> Written {
        let Ok(count) = u32::try_from(tagged.len()) else { return too_long(tagged.len(), 4) };
        uvarint(&mut self.out, count);
        for one in tagged {
            let bytes = match one {
                Tagged::Unknown(_, bytes) => Cow::Borrowed(bytes),
                Tagged::Known(tag, datum) => {
                    let Some(field) = self.plan.tagged_field(of, *tag) else { return misfit("tag of this version") };
                    let mut inner = Writer { plan: self.plan, out: Vec::new() };
                    inner.value(field.ty, Some(field), datum).map_err(|error| error.inside(field.key()))?;
                    Cow::Owned(inner.out)
                }
            };
            uvarint(&mut self.out, one.tag());
            let Ok(size) = u32::try_from(bytes.len()) else { return too_long(bytes.len(), 4) };
            uvarint(&mut self.out, size);
            self.out.extend(&*bytes);
        }
        Ok(())
    }

    fn value(&mut self, ty: Type, field: Option<&Field>, datum: &Datum) -> Written {
        match (ty, datum) {
            (Type::Bool, Datum::Bool(value)) => self.out.push(u8::from(*value)),
            (Type::Float64, Datum::Float(value)) => self.out.extend(value.to_be_bytes()),
            (Type::Uuid, Datum::Uuid(bytes)) => self.out.extend(bytes),
            (_, Datum::Int(number)) => return self.integer(ty, *number),
            (Type::String, Datum::String(bytes)) => {
                self.length16(bytes.as_deref())?;
                self.out.extend(bytes.iter().flatten());
            }
            (Type::Bytes, Datum::Bytes(bytes)) | (Type::Records, Datum::Records(bytes)) => {
                self.length32(bytes.as_ref().map(Vec::len))?;
                self.out.extend(bytes.iter().flatten());
            }
            (Type::CompactString, Datum::String(bytes))
            | (Type::CompactBytes, Datum::Bytes(bytes))
            | (Type::CompactRecords, Datum::Records(bytes)) => {
                self.length_compact(bytes.as_ref().map(Vec::len))?;
                self.out.extend(bytes.iter().flatten());
            }
            (Type::Struct(id), Datum::Struct(instance)) => return self.structure(id, field, instance.as_ref()),
            (Type::Array(id), Datum::Array(elements)) => {
                self.length32(elements.as_ref().map(Vec::len))?;
                return self.elements(self.plan.element(id).ty, elements.iter().flatten());
            }
            (Type::CompactArray(id), Datum::Array(elements)) => {
                self.length_compact(elements.as_ref().map(Vec::len))?;
                return self.elements(self.plan.element(id).ty, elements.iter().flatten());
            }
            _ => return misfit(ty.word()),
        }
        Ok(())
    }

    fn integer(&mut self, ty: Type, number: i64) -> Written {
        fn fit<T: TryFrom<i64>>(ty: Type, number: i64) -> Result<T, EncodeError> {
            T::try_from(number).or_else(|_| misfit(ty.word()))
        }
        match ty {
            Type::Int8 => self.out.extend(fit::<i8>(ty, number)?.to_be_bytes()),
            Type::Int16 => self.out.extend(fit::<i16>(ty, number)?.to_be_bytes()),
            Type::Uint16 => self.out.extend(fit::<u16>(ty, number)?.to_be_bytes()),
            Type::Int32 => self.out.extend(fit::<i32>(ty, number)?.to_be_bytes()),
            Type::Uint32 => self.out.extend(fit::<u32>(ty, number)?.to_be_bytes()),
            Type::Int64 => self.out.extend(number.to_be_bytes()),
            _ => return misfit(ty.word()),
        }
        Ok(())
    }

    /// A nullable struct stands behind an int8, in a tagged field behind a uvarint.
    fn structure(&mut self, id: StructId, field: Option<&Field>, instance: Option<&Instance>) -> Written {
        if let Some(field) = field.filter(|field| field.nullable) {
            self.out.push(match (instance, field.tag) {
                (Some(_), _) => 1,
                (None, Some(_)) => 0,
                (None, None) => 0xff,
            });
        }
        match instance {
            Some(instance) => self.members(self.plan.structure(id), instance),
            None if field.is_some_and(|field| field.nullable) => Ok(()),
            None => misfit("struct that may be null"),
        }
    }

    fn elements<'d>(&mut self, ty: Type, elements: impl Iterator<Item = &'d Datum>) -> Written {
        for (index, element) in elements.enumerate() {
            self.value(ty, None, element).map_err(|error| error.inside(&format!("[{index}]")))?;
        }
        Ok(())
    }

    fn length16(&mut self, bytes: Option<&[u8]>) -> Written {
        let length = match bytes.map(<[u8]>::len) {
            None => -1,
            Some(length) => i16::try_from(length).or_else(|_| too_long(length, 2))?,
        };
        self.out.extend(length.to_be_bytes());
        Ok(())
    }

    fn length32(&mut self, length: Option<usize>) -> Written {
        let length = match length {
            None => -1,
            Some(length) => i32::try_from(length).or_else(|_| too_long(length, 4))?,
        };
        self.out.extend(length.to_be_bytes());
        Ok(())
    }

    fn length_compact(&mut self, length: Option<usize>) -> Written {
        let plus_one = match length {
            None => 0,
            Some(length) => i32::try_from(length).or_else(|_| too_long(length, 5))?.cast_unsigned() + 1,
        };
        uvarint(&mut self.out, plus_one);
        Ok(())
    }
}

/// An unsigned variable-length integer (KIP-482).
pub(super) fn uvarint(out: &mut Vec<u8>, value: u32) {
    uvarlong(out, value.into());
}

/// A zigzag-encoded signed integer, as in record format 2. A varint is the same with fewer bits.
pub(super) fn varlong(out: &mut Vec<u8>, value: i64) {
    uvarlong(out, (value << 1 ^ value >> 63).cast_unsigned());
}

fn uvarlong(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
