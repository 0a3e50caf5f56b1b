//! The smallest legal instance of a message: numbers 0, booleans false, strings and bytes empty and not null, every
//! array of exactly one element, nullable structs there, tagged fields absent.

use super::write::{Header, frame};
use super::{Datum, Instance, RecordBatch};
use crate::protocol::{ApiKey, Catalog, Kind, Plan, Side, Struct, Type};

/// The smallest legal instance of a message. A records field holds one empty batch of 61 bytes, and nothing at all
/// in the versions that are older than batches (Produce before v3, Fetch before v4).
pub fn minimal(plan: &Plan) -> Instance {
    instance(plan, plan.top())
}

/// The frame of the smallest legal instance of a request or response, with an empty client id and correlation id 0;
/// `None` where the version is not known.
pub fn minimal_frame(catalog: &Catalog, key: ApiKey, side: Side, version: i16) -> Option<Vec<u8>> {
    let body = minimal(catalog.api_plan(key, side, version)?);
    frame(catalog, key, side, version, &Header::default(), &body).ok()
}

fn instance(plan: &Plan, of: &Struct) -> Instance {
    let fields = plan.untagged(of).iter().map(|field| datum(plan, field.ty)).collect();
    Instance { fields, tagged: Vec::new() }
}

fn datum(plan: &Plan, ty: Type) -> Datum {
    match ty {
        Type::Bool => Datum::Bool(false),
        Type::Int8
        | Type::Int16
        | Type::Uint16
        | Type::Int32
        | Type::Uint32
        | Type::Int64
        | Type::Varint
        | Type::Varlong
        | Type::Decimal
        | Type::Protobuf(_) => Datum::Int(0),
        Type::Float64 => Datum::Float(0.0),
        Type::Uuid => Datum::Uuid([0; 16]),
        // Tokens cannot be written: only their grammar says where their texts end.
        Type::String | Type::CompactString | Type::Text | Type::SaslName | Type::Json | Type::Jwt => {
            Datum::String(Some(Vec::new()))
        }
        Type::Bytes | Type::CompactBytes | Type::Raw => Datum::Bytes(Some(Vec::new())),
        Type::Records | Type::CompactRecords if is_before_batches(plan) => Datum::Records(Some(Vec::new())),
        Type::Records | Type::CompactRecords => Datum::Records(Some(RecordBatch::default().encode())),
        Type::Struct(id) => Datum::Struct(Some(instance(plan, plan.structure(id)))),
        Type::Array(id) | Type::CompactArray(id) => Datum::Array(Some(vec![datum(plan, plan.element(id).ty)])),
    }
}

/// Whether records are of format 0 or 1, which have no batches.
pub(super) fn is_before_batches(plan: &Plan) -> bool {
    let first_with_batches = match (plan.kind, plan.api_key.map(ApiKey)) {
        (Kind::Request | Kind::Response, Some(ApiKey::PRODUCE)) => 3,
        (Kind::Request | Kind::Response, Some(ApiKey::FETCH)) => 4,
        _ => 0,
    };
    plan.version < first_with_batches
}
