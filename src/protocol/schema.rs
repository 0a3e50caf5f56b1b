//! A message as its schema file describes it, for all versions. Source of the notation: the README of Kafka's
//! `clients/src/main/resources/common/message`.

use std::fmt;

/// What a schema file says of one message.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The message's name, as in `MetadataRequest` or `OffsetCommitValue`.
    pub name: Box<str>,
    /// What sort of message it is.
    pub kind: Kind,
    /// The API's key, or the record type of a stored record.
    pub api_key: Option<i16>,
    /// The versions that exist.
    pub valid: Versions,
    /// The versions with compact lengths and tagged fields (KIP-482).
    pub flexible: Versions,
    /// Whether the newest version was not yet final in the release that the file is from.
    pub latest_unstable: bool,
    /// Who listens to it (`broker`, `controller`, …); empty where the file does not say.
    pub listeners: Vec<Box<str>>,
    /// The fields of the message itself, in the order of the file.
    pub fields: Vec<SchemaField>,
    /// Structs that several fields share.
    pub common: Vec<SchemaStruct>,
}

impl Schema {
    /// The fields of the struct that a field's type names: described in the field, shared, or described in another
    /// field. Empty where the type is no struct.
    pub fn members<'s>(&'s self, field: &'s SchemaField) -> &'s [SchemaField] {
        if !field.fields.is_empty() {
            return &field.fields;
        }
        let Some(name) = field.ty.struct_name() else { return &[] };
        let shared = self.common.iter().find(|shared| &*shared.name == name).map(|shared| shared.fields.as_slice());
        shared
            .or_else(|| described(&self.fields, name))
            .or_else(|| self.common.iter().find_map(|shared| described(&shared.fields, name)))
            .unwrap_or_default()
    }

    /// The schema as it would stand in the file of a release that supports only these versions: fields that none of
    /// them has are left out.
    #[must_use]
    pub fn within(&self, versions: Versions) -> Self {
        let valid = self.valid.intersect(versions);
        let common = self.common.iter().filter(|shared| !shared.versions.intersect(valid).is_empty());
        let common: Vec<SchemaStruct> = common
            .map(|shared| SchemaStruct { fields: fields_within(&shared.fields, valid), ..shared.clone() })
            .collect();
        Self { valid, fields: fields_within(&self.fields, valid), common, ..self.clone() }
    }
}

fn described<'s>(fields: &'s [SchemaField], name: &str) -> Option<&'s [SchemaField]> {
    fields.iter().find_map(|field| {
        let own = field.ty.struct_name() == Some(name) && !field.fields.is_empty();
        if own { Some(field.fields.as_slice()) } else { described(&field.fields, name) }
    })
}

fn fields_within(fields: &[SchemaField], holder: Versions) -> Vec<SchemaField> {
    let mut kept = Vec::new();
    for field in fields {
        let present = field.versions.intersect(holder);
        if !present.is_empty() {
            kept.push(SchemaField { fields: fields_within(&field.fields, present), ..field.clone() });
        }
    }
    kept
}

/// The sorts of messages that schema files describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A request.
    Request,
    /// A response.
    Response,
    /// A request's or a response's header.
    Header,
    /// A structure that is carried inside of messages or files.
    Data,
    /// A record of a metadata log; its body stands behind frame version, record type and version.
    Metadata,
    /// The key of a record in a coordinator's topic; its body stands behind the record type.
    CoordinatorKey,
    /// The value of a record in a coordinator's topic; its body stands behind its version.
    CoordinatorValue,
    /// Something that Kafka has no schema file for: record batches.
    Layout,
    /// A message of Protocol Buffers: `tag` is a field's number, and the types are those of their language.
    Protobuf,
    /// A token of a SASL mechanism: texts with marks between them.
    Token,
}

impl Kind {
    /// The word that stands in schema files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Header => "header",
            Self::Data => "data",
            Self::Metadata => "metadata",
            Self::CoordinatorKey => "coordinator-key",
            Self::CoordinatorValue => "coordinator-value",
            Self::Layout => "layout",
            Self::Protobuf => "protobuf",
            Self::Token => "token",
        }
    }

    /// The kind of a word in a schema file.
    pub fn of(word: &str) -> Option<Self> {
        [
            Self::Request,
            Self::Response,
            Self::Header,
            Self::Data,
            Self::Metadata,
            Self::CoordinatorKey,
            Self::CoordinatorValue,
            Self::Layout,
            Self::Protobuf,
            Self::Token,
        ]
        .into_iter()
        .find(|kind| kind.word() == word)
    }
}

/// A struct with a name of its own.
#[derive(Debug, Clone)]
pub struct SchemaStruct {
    /// The name by which fields refer to it.
    pub name: Box<str>,
    /// The versions in which it is used.
    pub versions: Versions,
    /// Its fields, in the order of the file.
    pub fields: Vec<SchemaField>,
}

/// A field as the file describes it.
#[derive(Debug, Clone)]
pub struct SchemaField {
    /// The name as it stands in the file.
    pub name: Box<str>,
    /// The type as it stands in the file.
    pub ty: TypeName,
    /// The versions that have the field (as far as what holds it exists).
    pub versions: Versions,
    /// The versions in which it may be null.
    pub nullable: Versions,
    /// The versions in which it is a tagged field.
    pub tagged: Versions,
    /// Its tag, where it is tagged in some version.
    pub tag: Option<u32>,
    /// Versions in which it is compact, where that differs from the message's.
    pub flexible: Option<Versions>,
    /// The default as text; `"null"` is null. `None`: the default of the type.
    pub default: Option<Box<str>>,
    /// Whether a writer may drop the field in versions without it.
    pub ignorable: bool,
    /// Whether it is (part of) the key of the array's elements.
    pub map_key: bool,
    /// What the value refers to, as in `topicName`.
    pub entity: Option<Box<str>>,
    /// The explanation that stands in the file; the embedded files have none.
    pub about: Option<Box<str>>,
    /// In layouts: its name in JSON, where that is not the name in lower case.
    pub json: Option<Box<str>>,
    /// In layouts: whether JSON leaves it out, because what it says is worked into other fields.
    pub hidden: bool,
    /// In tokens: the text that stands in front of the value.
    pub prefix: Option<Box<str>>,
    /// The fields of the struct that the field's type names, where it is described here.
    pub fields: Vec<SchemaField>,
}

/// A type as it is written in a schema file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeName {
    /// A type that Kafka's notation has built in.
    Primitive(Primitive),
    /// A struct by its name.
    Struct(Box<str>),
    /// An array of another type.
    Array(Box<TypeName>),
}

impl TypeName {
    /// The type of a word such as `int32`, `[]string` or `MetadataResponseTopic`.
    pub fn of(word: &str) -> Self {
        if let Some(element) = word.strip_prefix("[]") {
            return Self::Array(Box::new(Self::of(element)));
        }
        match Primitive::ALL.into_iter().find(|primitive| primitive.word() == word) {
            Some(primitive) => Self::Primitive(primitive),
            None => Self::Struct(word.into()),
        }
    }

    /// The name of the struct that this is, or is an array of.
    pub fn struct_name(&self) -> Option<&str> {
        match self {
            Self::Primitive(_) => None,
            Self::Struct(name) => Some(name),
            Self::Array(element) => element.struct_name(),
        }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => out.write_str(primitive.word()),
            Self::Struct(name) => out.write_str(name),
            Self::Array(element) => write!(out, "[]{element}"),
        }
    }
}

/// The types that Kafka's notation has built in, and those that only layouts have: zigzag integers (`varint`, `varlong`)
/// and bytes whose length stands in another field (`raw`); in tokens, text (`text`), a name with escapes (`saslname`, RFC
/// 5802), digits (`decimal`), JSON (`json`) and a part of a JWT, which is JSON in base64url (`jwt`, RFC 7519); and those of
/// Protocol Buffers that are no types of Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Kafka's own and say all")]
pub enum Primitive {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Varint,
    Varlong,
    Raw,
    Double,
    Fixed64,
    Sfixed64,
    Sint32,
    Uint64,
    Text,
    SaslName,
    Decimal,
    Json,
    Jwt,
}

impl Primitive {
    /// All of them.
    pub const ALL: [Self; 25] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Uint16,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Float64,
        Self::Uuid,
        Self::String,
        Self::Bytes,
        Self::Records,
        Self::Varint,
        Self::Varlong,
        Self::Raw,
        Self::Double,
        Self::Fixed64,
        Self::Sfixed64,
        Self::Sint32,
        Self::Uint64,
        Self::Text,
        Self::SaslName,
        Self::Decimal,
        Self::Json,
        Self::Jwt,
    ];

    /// The word that stands in schema files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Uint16 => "uint16",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::Uuid => "uuid",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Records => "records",
            Self::Varint => "varint",
            Self::Varlong => "varlong",
            Self::Raw => "raw",
            Self::Double => "double",
            Self::Fixed64 => "fixed64",
            Self::Sfixed64 => "sfixed64",
            Self::Sint32 => "sint32",
            Self::Uint64 => "uint64",
            Self::Text => "text",
            Self::SaslName => "saslname",
            Self::Decimal => "decimal",
            Self::Json => "json",
            Self::Jwt => "jwt",
        }
    }
}

/// A range of versions, both ends included; empty when `first` is greater than `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The lowest version.
    pub first: i16,
    /// The highest version; [`i16::MAX`] when the range is open.
    pub last: i16,
}

impl Versions {
    /// No version at all.
    pub const NONE: Self = Self { first: 0, last: -1 };
    /// Every version.
    pub const ALL: Self = Self { first: 0, last: i16::MAX };

    /// The range that a word of a schema file means: `none`, `3`, `0-12` or `9+`.
    pub fn parse(word: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<i16>().ok().filter(|version| *version >= 0);
        if word == "none" {
            return Some(Self::NONE);
        }
        if let Some(first) = word.strip_suffix('+') {
            return Some(Self { first: number(first)?, last: i16::MAX });
        }
        if let Some((first, last)) = word.split_once('-') {
            return Some(Self { first: number(first)?, last: number(last)? }).filter(|range| !range.is_empty());
        }
        number(word).map(|only| Self { first: only, last: only })
    }

    /// Whether `version` lies in the range.
    #[inline]
    pub fn contains(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }

    /// Whether no version lies in the range.
    pub fn is_empty(self) -> bool {
        self.first > self.last
    }

    /// The versions that lie in both ranges.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        let both = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        if both.is_empty() { Self::NONE } else { both }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_empty(), self.last) {
            (true, _) => out.write_str("none"),
            (_, i16::MAX) => write!(out, "{}+", self.first),
            (_, last) if last == self.first => write!(out, "{last}"),
            (_, last) => write!(out, "{}-{last}", self.first),
        }
    }
}
