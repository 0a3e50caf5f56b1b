//! A schema resolved for one version: flat, ready to walk.

use super::payload::Role;
use super::schema::{Kind, Primitive, Schema, SchemaField, TypeName};
use super::traits::{EnumerationId, FieldTraits, Secret};

/// One message in one version. Structs, fields and elements lie in three flat lists and refer to each other by index.
#[derive(Debug)]
pub struct Plan {
    /// The schema's name.
    pub name: Box<str>,
    /// The schema's kind.
    pub kind: Kind,
    /// The API's key or the record type.
    pub api_key: Option<i16>,
    /// The version that this plan is for.
    pub version: i16,
    /// Whether the version is flexible: compact lengths, tagged fields.
    pub flexible: bool,
    structs: Vec<Struct>,
    fields: Vec<Field>,
    elements: Vec<Element>,
    names_topics: bool,
    holds_records: bool,
}

/// A struct of a plan.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about the schema")]
pub struct Struct {
    /// The type's name, as in `MetadataResponseTopic`.
    pub name: Box<str>,
    /// Whether tagged fields follow the others.
    pub flexible: bool,
    /// The least number of bytes that an instance takes.
    pub min_size: u32,
    /// Whether the schema declares a tagged field before one that comes first on the wire.
    pub misplaced: bool,
    /// Whether the plan ends here: the struct holds itself and goes on deeper than is followed, so its fields are not
    /// listed and its bytes cannot be told.
    pub endless: bool,
    /// Whether it says which topic has which id: it has both the id and the name.
    pub names_topic: bool,
    /// Whether its fields come in any order, each behind a key, and the elements of an array perhaps apart from each
    /// other: Protocol Buffers.
    pub unordered: bool,
    first: u32,
    untagged: u32,
    tagged: u32,
}

/// A field of a struct in one version.
#[derive(Debug)]
pub struct Field {
    /// The name as the schema writes it.
    pub name: Box<str>,
    /// The name as JSON writes it, in quotes and with a colon: `"throttleTimeMs":`.
    pub json_key: Box<str>,
    /// Message and field names from the top: `MetadataResponse.Topics.Name`.
    pub path: Box<str>,
    /// How its bytes are read.
    pub ty: Type,
    /// The type as the schema writes it: `int32`, `[]string`, `MetadataResponseTopic`.
    pub type_name: Box<str>,
    /// Whether null is allowed.
    pub nullable: bool,
    /// Its tag, where it is a tagged field in this version.
    pub tag: Option<u32>,
    /// Its place among the fields of its struct as the schema lists them, from 0.
    pub declared: u32,
    /// Its default as JSON; only tagged fields have it, because only they may be left out.
    pub default_json: Option<Box<str>>,
    /// The names of its codes.
    pub enumeration: Option<EnumerationId>,
    /// Whether the value is withheld from what is shown.
    pub secret: Secret,
    /// What it means to what comes behind it, or what its bytes hold.
    pub role: Role,
    /// Whether JSON leaves it out.
    pub hidden: bool,
    /// In tokens: the text that stands in front of the value.
    pub prefix: Option<Box<str>>,
    /// What it says of a topic.
    pub topic: Option<TopicField>,
    /// The explanation that stands in the schema file itself.
    pub about: Option<Box<str>>,
    /// What the value refers to, as in `topicName`.
    pub entity: Option<Box<str>>,
}

impl Field {
    /// The name as JSON writes it, without quotes.
    pub fn key(&self) -> &str {
        self.json_key.get(1..self.json_key.len() - 2).unwrap_or_default()
    }
}

/// What a field says of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicField {
    /// Its id (KIP-516).
    Id,
    /// Its name, in a struct that has the id as well.
    Name,
}

/// What an array holds.
#[derive(Debug)]
pub struct Element {
    /// How the bytes of one are read.
    pub ty: Type,
    /// The type's name, as in `string` or `MetadataResponseTopic`.
    pub name: Box<str>,
    /// The least number of bytes that one takes.
    pub min_size: u32,
    /// The names of its codes.
    pub enumeration: Option<EnumerationId>,
}

/// What stands in front of the body of a message that is not a request or response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// Nothing.
    None,
    /// An int16 of this name.
    Int16(&'static str),
    /// Unsigned varints of these names (KIP-631).
    Uvarints(&'static [&'static str]),
}

/// The messages of kind `data` that are written behind their version.
const VERSIONED_DATA: [&str; 7] = [
    "AbortedTxn",
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "ControlRecordTypeSchema",
    "DefaultPrincipalData",
    "EndTxnMarker",
    "ProducerSnapshot",
];

/// Index of a struct in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructId(u32);

/// Index of an array's element in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementId(u32);

/// How the bytes of a value are read in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Kafka's own and say all")]
pub enum Type {
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
    CompactString,
    Bytes,
    CompactBytes,
    Records,
    CompactRecords,
    Varint,
    Varlong,
    Raw,
    Protobuf(Scalar),
    Text,
    SaslName,
    Decimal,
    Json,
    Jwt,
    Struct(StructId),
    Array(ElementId),
    CompactArray(ElementId),
}

/// A value of Protocol Buffers that is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the language and say all")]
pub enum Scalar {
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Fixed64,
    Sfixed64,
    Double,
    String,
    Bytes,
}

impl Scalar {
    /// The scalar that a type stands for in a schema of Protocol Buffers; `None` where it is none of their types.
    fn of(primitive: Primitive) -> Option<Self> {
        Some(match primitive {
            Primitive::Bool => Self::Bool,
            Primitive::Int32 => Self::Int32,
            Primitive::Int64 => Self::Int64,
            Primitive::Uint32 => Self::Uint32,
            Primitive::Uint64 => Self::Uint64,
            Primitive::Sint32 => Self::Sint32,
            Primitive::Fixed64 => Self::Fixed64,
            Primitive::Sfixed64 => Self::Sfixed64,
            Primitive::Double => Self::Double,
            Primitive::String => Self::String,
            Primitive::Bytes => Self::Bytes,
            _ => return None,
        })
    }

    /// The word of the language.
    fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Sint32 => "sint32",
            Self::Fixed64 => "fixed64",
            Self::Sfixed64 => "sfixed64",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
        }
    }
}

impl Type {
    /// The word for the type in a tree. Arrays and structs have names of their own.
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
            Self::String | Self::CompactString => "string",
            Self::Bytes | Self::CompactBytes | Self::Raw => "bytes",
            Self::Varint => "varint",
            Self::Varlong => "varlong",
            Self::Text | Self::SaslName => "text",
            Self::Decimal => "decimal",
            Self::Json | Self::Jwt => "json",
            Self::Records | Self::CompactRecords => "records",
            Self::Protobuf(scalar) => scalar.word(),
            Self::Struct(_) => "struct",
            Self::Array(_) | Self::CompactArray(_) => "array",
        }
    }
}

impl Plan {
    /// The struct of the message itself.
    #[inline]
    pub fn top(&self) -> &Struct {
        self.structure(StructId(0))
    }

    /// A struct by its index, which must be of this plan.
    #[inline]
    #[allow(clippy::indexing_slicing, reason = "indices are made only here, together with what they index")]
    pub fn structure(&self, id: StructId) -> &Struct {
        &self.structs[id.0 as usize]
    }

    /// What an array holds, by its index, which must be of this plan.
    #[inline]
    #[allow(clippy::indexing_slicing, reason = "indices are made only here, together with what they index")]
    pub fn element(&self, id: ElementId) -> &Element {
        &self.elements[id.0 as usize]
    }

    /// The fields of a struct that stand in it one behind the other, in wire order.
    #[inline]
    pub fn untagged(&self, of: &Struct) -> &[Field] {
        let first = of.first as usize;
        self.fields.get(first..first + of.untagged as usize).unwrap_or_default()
    }

    /// The fields of a struct that are tagged, in the order of their tags.
    #[inline]
    pub fn tagged(&self, of: &Struct) -> &[Field] {
        let first = (of.first + of.untagged) as usize;
        self.fields.get(first..first + of.tagged as usize).unwrap_or_default()
    }

    /// The tagged field with a tag.
    #[inline]
    pub fn tagged_field(&self, of: &Struct, tag: u32) -> Option<&Field> {
        self.tagged(of).iter().find(|field| field.tag == Some(tag))
    }

    /// Whether another plan reads any bytes in the same way, into fields of the same names.
    pub fn reads_like(&self, other: &Self) -> bool {
        let shape = |plan: &Self| {
            let fields = plan.fields.iter().map(|field| (field.name.clone(), field.ty, field.nullable, field.tag));
            let structs = plan.structs.iter().map(|of| (of.first, of.untagged, of.tagged));
            let elements = plan.elements.iter().map(|element| element.ty);
            (plan.flexible, fields.collect::<Vec<_>>(), structs.collect::<Vec<_>>(), elements.collect::<Vec<_>>())
        };
        shape(self) == shape(other)
    }

    /// Whether it may say which topic has which id.
    #[inline]
    pub fn names_topics(&self) -> bool {
        self.names_topics
    }

    /// Whether it has a records field.
    #[inline]
    pub fn holds_records(&self) -> bool {
        self.holds_records
    }

    /// Whether bytes that could not be decoded may be secret: some field is, or all is a login.
    pub fn holds_secrets(&self) -> bool {
        let is_secret = |field: &Field| matches!(field.secret, Secret::Always | Secret::Unopened);
        self.kind == Kind::Token || self.fields.iter().any(is_secret)
    }

    /// All fields, those of one struct beside each other.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// What stands in front of the body where the message is not a request or response.
    pub fn prefix(&self) -> Prefix {
        match self.kind {
            Kind::Metadata => Prefix::Uvarints(&["frame_version", "record_type", "record_version"]),
            Kind::CoordinatorKey => Prefix::Int16("record_type"),
            Kind::CoordinatorValue => Prefix::Int16("version"),
            Kind::Data if VERSIONED_DATA.contains(&&*self.name) => Prefix::Int16("version"),
            Kind::Data
            | Kind::Request
            | Kind::Response
            | Kind::Header
            | Kind::Layout
            | Kind::Token
            | Kind::Protobuf => Prefix::None,
        }
    }

    /// The least number of bytes that a value takes.
    pub fn min_size(&self, ty: Type) -> u32 {
        match ty {
            Type::Raw | Type::Text | Type::SaslName | Type::Decimal | Type::Json | Type::Jwt => 0,
            Type::Int64 | Type::Float64 | Type::Protobuf(Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64) => 8,
            Type::Bool
            | Type::Int8
            | Type::Varint
            | Type::Varlong
            | Type::CompactString
            | Type::CompactBytes
            | Type::CompactRecords
            | Type::CompactArray(_)
            | Type::Protobuf(_) => 1,
            Type::Int16 | Type::Uint16 | Type::String => 2,
            Type::Int32 | Type::Uint32 | Type::Bytes | Type::Records | Type::Array(_) => 4,
            Type::Uuid => 16,
            Type::Struct(id) => self.structure(id).min_size,
        }
    }

    /// Resolves a schema for one of its versions.
    pub(super) fn build(schema: &Schema, version: i16, traits: &impl FieldTraits) -> Self {
        let flexible = schema.flexible.contains(version);
        let mut builder = Builder {
            schema,
            version,
            flexible,
            traits,
            open: Vec::new(),
            plan: Self {
                name: schema.name.clone(),
                kind: schema.kind,
                api_key: schema.api_key,
                version,
                flexible,
                structs: Vec::new(),
                fields: Vec::new(),
                elements: Vec::new(),
                names_topics: false,
                holds_records: false,
            },
        };
        builder.structure(&schema.name, &schema.fields, &schema.name, 0);
        builder.plan.names_topics = builder.plan.structs.iter().any(|of| of.names_topic);
        builder.plan.holds_records =
            builder.plan.fields.iter().any(|field| matches!(field.ty, Type::Records | Type::CompactRecords));
        builder.plan
    }
}

/// Structs inside of structs, as far as a plan follows them; a struct that holds itself ends there.
const MAX_DEPTH: u32 = 32;
/// How often a struct that holds itself is followed inside of itself.
const MAX_WITHIN_ITSELF: usize = 8;
/// Structs of a plan in all: one that holds itself several times branches each time.
const MAX_STRUCTS: usize = 4096;

struct Builder<'s, T> {
    schema: &'s Schema,
    version: i16,
    flexible: bool,
    traits: &'s T,
    /// The names of the structs that are being added.
    open: Vec<Box<str>>,
    plan: Plan,
}

impl<T: FieldTraits> Builder<'_, T> {
    /// Adds a struct; its own index is taken before those of the structs in it, so the top is 0.
    fn structure(&mut self, name: &str, fields: &[SchemaField], path: &str, depth: u32) -> StructId {
        let id = StructId(self.plan.structs.len() as u32);
        self.plan.structs.push(Struct {
            name: name.into(),
            flexible: self.flexible,
            min_size: 0,
            misplaced: false,
            endless: false,
            names_topic: false,
            unordered: self.is_protobuf(),
            first: 0,
            untagged: 0,
            tagged: 0,
        });
        let version = self.version;
        let present = fields.iter().enumerate().filter(|(_, field)| field.versions.contains(version));
        let mut own: Vec<Field> = present.map(|(index, field)| self.field(field, index as u32, path, depth)).collect();
        let names_topic = tell_topics(&mut own);
        // A stable sort: fields without a tag come first and keep their order.
        own.sort_by_key(|field| field.tag);
        let untagged = own.iter().filter(|field| field.tag.is_none()).count();
        let fixed: u32 = own.iter().take(untagged).map(|field| self.field_min_size(field)).fold(0, u32::saturating_add);
        if let Some(structure) = self.plan.structs.get_mut(id.0 as usize) {
            structure.min_size = fixed.saturating_add(u32::from(self.flexible));
            structure.names_topic = names_topic;
            structure.misplaced = !structure.unordered && !own.is_sorted_by_key(|field| field.declared);
            structure.first = self.plan.fields.len() as u32;
            structure.untagged = untagged as u32;
            structure.tagged = (own.len() - untagged) as u32;
        }
        self.plan.fields.append(&mut own);
        id
    }

    fn is_protobuf(&self) -> bool {
        self.schema.kind == Kind::Protobuf
    }

    fn field_min_size(&self, field: &Field) -> u32 {
        match field.ty {
            Type::Struct(_) if field.nullable => 1,
            ty => self.plan.min_size(ty),
        }
    }

    fn field(&mut self, field: &SchemaField, declared: u32, path: &str, depth: u32) -> Field {
        let path: Box<str> = format!("{path}.{}", field.name).into();
        let compact = self.flexible && field.flexible.is_none_or(|versions| versions.contains(self.version));
        let is_tagged = self.is_protobuf() || (self.flexible && field.tagged.contains(self.version));
        let tag = field.tag.filter(|_| is_tagged);
        let nullable = field.nullable.contains(self.version);
        let enumeration = self.traits.enumeration(&path, &field.name, &field.ty);
        let ty = self.resolve(field, &field.ty, compact, &path, enumeration, depth);
        Field {
            name: field.name.clone(),
            json_key: format!("\"{}\":", field.json.as_deref().unwrap_or(&json_name(&field.name))).into(),
            ty,
            type_name: field.ty.to_string().into(),
            nullable,
            tag,
            declared,
            // What Protocol Buffers write was set, default or not.
            default_json: tag
                .filter(|_| !self.is_protobuf())
                .map(|_| self.default_json(field, nullable, &mut Vec::new()).into()),
            enumeration,
            secret: self.traits.secret(&path),
            role: self.role(field, &path),
            hidden: field.hidden,
            prefix: field.prefix.clone(),
            topic: None,
            about: field.about.clone(),
            entity: field.entity.clone(),
            path,
        }
    }

    fn role(&self, field: &SchemaField, path: &str) -> Role {
        let said = self.traits.role(path);
        if said != Role::None {
            return said;
        }
        match (&field.ty, field.entity.as_deref()) {
            (TypeName::Primitive(Primitive::String), Some("topicName")) => Role::Topic,
            (TypeName::Primitive(Primitive::Uuid), _) if &*field.name == "TopicId" => Role::TopicId,
            (TypeName::Primitive(Primitive::String), _) if field.name.eq_ignore_ascii_case("ProtocolType") => {
                Role::ProtocolType
            }
            _ => Role::None,
        }
    }

    fn resolve(
        &mut self,
        field: &SchemaField,
        name: &TypeName,
        compact: bool,
        path: &str,
        enumeration: Option<EnumerationId>,
        depth: u32,
    ) -> Type {
        match name {
            TypeName::Primitive(primitive) => match Scalar::of(*primitive).filter(|_| self.is_protobuf()) {
                Some(scalar) => Type::Protobuf(scalar),
                None => primitive_type(*primitive, compact),
            },
            TypeName::Struct(struct_name) if self.is_protobuf() => {
                // Messages hold themselves, and in several ways, so each is there once.
                let known = self.plan.structs.iter().position(|known| known.name == *struct_name);
                Type::Struct(known.map_or_else(
                    || self.structure(struct_name, self.schema.members(field), path, depth + 1),
                    |index| StructId(index as u32),
                ))
            }
            TypeName::Struct(struct_name) => {
                let within_itself = self.open.iter().filter(|open| *open == struct_name).count();
                let endless =
                    depth >= MAX_DEPTH || within_itself >= MAX_WITHIN_ITSELF || self.plan.structs.len() >= MAX_STRUCTS;
                let fields = if endless { &[] } else { self.schema.members(field) };
                self.open.push(struct_name.clone());
                let id = self.structure(struct_name, fields, path, depth + 1);
                self.open.pop();
                if let Some(structure) = self.plan.structs.get_mut(id.0 as usize) {
                    structure.endless = endless;
                }
                Type::Struct(id)
            }
            TypeName::Array(inner) => {
                let ty = self.resolve(field, inner, compact, path, enumeration, depth);
                let element =
                    Element { ty, name: inner.to_string().into(), min_size: self.plan.min_size(ty), enumeration };
                let id = ElementId(self.plan.elements.len() as u32);
                self.plan.elements.push(element);
                if compact { Type::CompactArray(id) } else { Type::Array(id) }
            }
        }
    }

    /// The default of a field as Kafka's JSON converters would print it.
    fn default_json<'f>(&'f self, field: &'f SchemaField, nullable: bool, open: &mut Vec<&'f str>) -> String {
        let default = field.default.as_deref();
        if nullable && default == Some("null") {
            return "null".to_owned();
        }
        match &field.ty {
            TypeName::Array(_) => "[]".to_owned(),
            TypeName::Struct(name) if open.contains(&&**name) => "{}".to_owned(),
            TypeName::Struct(name) => {
                open.push(name);
                let fields = self.schema.members(field).iter();
                let present = fields.filter(|inner| {
                    inner.versions.contains(self.version) && !(self.flexible && inner.tagged.contains(self.version))
                });
                let members: Vec<String> = present
                    .map(|inner| {
                        let value = self.default_json(inner, inner.nullable.contains(self.version), open);
                        format!("\"{}\":{value}", json_name(&inner.name))
                    })
                    .collect();
                open.pop();
                format!("{{{}}}", members.join(","))
            }
            TypeName::Primitive(primitive) => primitive_default(*primitive, default),
        }
    }
}

/// Marks the fields of a struct that say something of a topic, and says whether they are an id and a name.
fn tell_topics(fields: &mut [Field]) -> bool {
    let Some(id) = fields.iter_mut().find(|field| field.ty == Type::Uuid && field.key() == "topicId") else {
        return false;
    };
    id.topic = Some(TopicField::Id);
    let is_name = |field: &&mut Field| {
        matches!(field.ty, Type::String | Type::CompactString) && matches!(field.key(), "name" | "topicName" | "topic")
    };
    let name = fields.iter_mut().find(is_name);
    name.map(|field| field.topic = Some(TopicField::Name)).is_some()
}

/// A field's name in JSON: the first letter in lower case.
pub(super) fn json_name(name: &str) -> String {
    let mut key = name.to_owned();
    if let Some(first) = key.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    key
}

fn primitive_type(primitive: Primitive, compact: bool) -> Type {
    match (primitive, compact) {
        (Primitive::Bool, _) => Type::Bool,
        (Primitive::Int8, _) => Type::Int8,
        (Primitive::Int16, _) => Type::Int16,
        (Primitive::Uint16, _) => Type::Uint16,
        (Primitive::Int32, _) => Type::Int32,
        (Primitive::Uint32, _) => Type::Uint32,
        (Primitive::Int64, _) => Type::Int64,
        (Primitive::Float64, _) => Type::Float64,
        (Primitive::Uuid, _) => Type::Uuid,
        (Primitive::String, false) => Type::String,
        (Primitive::String, true) => Type::CompactString,
        (Primitive::Bytes, false) => Type::Bytes,
        (Primitive::Bytes, true) => Type::CompactBytes,
        (Primitive::Records, false) => Type::Records,
        (Primitive::Records, true) => Type::CompactRecords,
        (Primitive::Varint, _) => Type::Varint,
        (Primitive::Varlong, _) => Type::Varlong,
        (Primitive::Raw, _) => Type::Raw,
        (Primitive::Double, _) => Type::Protobuf(Scalar::Double),
        (Primitive::Fixed64, _) => Type::Protobuf(Scalar::Fixed64),
        (Primitive::Sfixed64, _) => Type::Protobuf(Scalar::Sfixed64),
        (Primitive::Sint32, _) => Type::Protobuf(Scalar::Sint32),
        (Primitive::Uint64, _) => Type::Protobuf(Scalar::Uint64),
        (Primitive::Text, _) => Type::Text,
        (Primitive::SaslName, _) => Type::SaslName,
        (Primitive::Decimal, _) => Type::Decimal,
        (Primitive::Json, _) => Type::Json,
        (Primitive::Jwt, _) => Type::Jwt,
    }
}

fn primitive_default(primitive: Primitive, default: Option<&str>) -> String {
    let text = default.unwrap_or_default();
    match primitive {
        Primitive::Bool => (text == "true").to_string(),
        Primitive::Float64 | Primitive::Double => format!("{:?}", text.parse::<f64>().unwrap_or(0.0)),
        Primitive::Uuid => "\"AAAAAAAAAAAAAAAAAAAAAA\"".to_owned(),
        Primitive::String => serde_json::Value::from(text).to_string(),
        Primitive::Bytes | Primitive::Records | Primitive::Raw => "\"\"".to_owned(),
        _ => {
            let hexadecimal = text.strip_prefix("0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
            hexadecimal.or_else(|| text.parse().ok()).unwrap_or(0).to_string()
        }
    }
}
