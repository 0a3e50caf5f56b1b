//! What Kafka messages are: schemas, plans, API keys, names of codes, header rules. Everything here comes from data
//! under `schemas/`; nothing here knows bytes on a wire.
//!
//! A [`Schema`] is a message for all versions, as its file says; a [`Plan`] is a schema resolved for one version, ready
//! to walk. The [`Catalog`] holds them all and makes plans when they are first asked for.

mod about;
mod catalog;
mod check;
pub mod diff;
mod enumeration;
mod header;
mod parse;
mod payload;
mod plan;
mod release;
mod schema;
mod traits;

pub use about::Glossary;
pub use catalog::{Api, Catalog, OverlayError, Side, schema_files};
pub use enumeration::{Code, Enumeration, Enumerations};
pub use parse::{SchemaError, parse_schema};
pub use payload::{Condition, Payload, Role, TopicFormat};
pub use plan::{Element, ElementId, Field, Plan, Prefix, Scalar, Struct, StructId, TopicField, Type};
pub use release::{Cell, Releases, Row};
pub use schema::{Kind, Primitive, Schema, SchemaField, SchemaStruct, TypeName, Versions};
pub use traits::{EnumerationId, Secret};

/// The number of an API, as it stands in a request's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiKey(pub i16);

impl ApiKey {
    /// Writes record batches.
    pub const PRODUCE: Self = Self(0);
    /// Reads record batches.
    pub const FETCH: Self = Self(1);
    /// A broker that leaves; its first version has a header of its own.
    pub const CONTROLLED_SHUTDOWN: Self = Self(7);
    /// Joins a group and says its protocol type.
    pub const JOIN_GROUP: Self = Self(11);
    /// Hands out the assignments of a group.
    pub const SYNC_GROUP: Self = Self(14);
    /// Names a SASL mechanism; after its first version bare tokens follow.
    pub const SASL_HANDSHAKE: Self = Self(17);
    /// Asks what versions a broker supports; its response has rules of its own.
    pub const API_VERSIONS: Self = Self(18);
    /// Carries SASL tokens.
    pub const SASL_AUTHENTICATE: Self = Self(36);
    /// Carries a request that a broker forwards to the controller.
    pub const ENVELOPE: Self = Self(58);
}

#[cfg(test)]
mod tests;
