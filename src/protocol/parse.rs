//! Schema files: JSON with comments in Kafka's notation, read with all the liberties that Kafka's own files and the
//! drafts of proposals take (comments anywhere, keys in any order, numbers in quotes, stray brackets at the end).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use thiserror::Error;

use super::check::{MAX_FIELDS, is_small};
use super::plan::json_name;
use super::schema::{Kind, Schema, SchemaField, SchemaStruct, TypeName, Versions};

/// What is wrong with a schema file, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct SchemaError {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
}

/// Reads one schema file. `file` is only for error messages.
pub fn parse_schema(file: &str, text: &str) -> Result<Schema, SchemaError> {
    let mut reader = Reader { file, text, structs: Vec::new() };
    let root = reader.root(text)?;
    let Value::Object(object) = root else {
        return Err(reader.wrong(root.range(), "expected an object with the message's description"));
    };
    for key in ["fields", "commonStructs"] {
        reader.collect_structs(&object, key, 0)?;
    }
    let schema = reader.schema(&object)?;
    if is_small(&schema) {
        return Ok(schema);
    }
    Err(reader.wrong(object.range, format!("the message has more than {MAX_FIELDS} fields, with those of its structs")))
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// The names of all structs that the file describes.
    structs: Vec<String>,
}

/// What can be said of a message, a shared struct and a field, in all of Kafka's releases; `json` and `hidden` are our own.
const MESSAGE_ATTRIBUTES: [&str; 10] = [
    "apiKey",
    "type",
    "name",
    "listeners",
    "validVersions",
    "flexibleVersions",
    "deprecatedVersions",
    "latestVersionUnstable",
    "fields",
    "commonStructs",
];
const STRUCT_ATTRIBUTES: [&str; 4] = ["name", "versions", "about", "fields"];
const FIELD_ATTRIBUTES: [&str; 16] = [
    "name",
    "type",
    "versions",
    "nullableVersions",
    "flexibleVersions",
    "taggedVersions",
    "tag",
    "default",
    "ignorable",
    "mapKey",
    "entityType",
    "zeroCopy",
    "about",
    "fields",
    "json",
    "hidden",
];

/// Structs inside of structs; Kafka's own files go 5 deep.
const MAX_DEPTH: usize = 32;

type Read<T> = Result<T, SchemaError>;

impl<'a> Reader<'a> {
    fn root(&self, text: &'a str) -> Read<Value<'a>> {
        let options = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
        match parse_to_ast(text, &CollectOptions::default(), &options) {
            Ok(parsed) => parsed.value.ok_or_else(|| self.wrong(Range::new(0, 0), "the file is empty")),
            Err(error) => {
                // One of Kafka's own files (DescribeProducersRequest of 2.8) has brackets too many at its end.
                let start = error.range().start;
                let rest = text.get(start..).unwrap_or_default();
                if matches!(error.kind(), ParseErrorKind::MultipleRootJsonValues | ParseErrorKind::UnexpectedCloseBrace)
                    && matches!(&*rest.split_whitespace().collect::<String>(), "}" | "]}")
                    && let Some(whole) = text.get(..start)
                {
                    return self.root(whole);
                }
                Err(self.wrong(error.range(), error.kind()))
            }
        }
    }

    fn collect_structs(&mut self, object: &Object<'a>, key: &str, depth: usize) -> Read<()> {
        let Some(array) = object.get_array(key) else { return Ok(()) };
        if depth >= MAX_DEPTH {
            return Err(self.wrong(array.range, format!("structs inside of structs, more than {MAX_DEPTH} deep")));
        }
        for member in array.elements.iter().filter_map(Value::as_object) {
            let name = if key == "commonStructs" { "name" } else { "type" };
            if let Some(name) = member.get_string(name).filter(|_| member.get("fields").is_some()) {
                self.structs.push(name.value.trim_start_matches("[]").to_owned());
            }
            self.collect_structs(member, "fields", depth + 1)?;
        }
        Ok(())
    }

    /// Refuses an attribute that is nearly one that is known. Others are left alone: a newer Kafka may have more.
    fn check_attributes(&self, object: &Object<'a>, known: &[&str]) -> Read<()> {
        for property in &object.properties {
            let name = property.name.as_str();
            let is_near = |known: &&&str| {
                let most = if known.len() < 6 { 1 } else { 2 };
                strsim::osa_distance(&name.to_ascii_lowercase(), &known.to_ascii_lowercase()) <= most
            };
            if !known.contains(&name)
                && let Some(meant) = known.iter().find(is_near)
            {
                let problem = format!("{name:?} is no attribute; did you mean {meant:?}?");
                return Err(self.wrong(property.range, problem));
            }
        }
        Ok(())
    }

    /// The fields of a message or struct. No two may have one name in JSON, or one tag, in the same version.
    fn fields(&self, object: &Object<'a>) -> Read<Vec<SchemaField>> {
        let fields = self.list(object, "fields", |value| self.field(value))?;
        let places = object.get_array("fields").map(|array| array.elements.iter().map(Ranged::range));
        let mut by_name: HashMap<Cow<'_, str>, Vec<&SchemaField>> = HashMap::new();
        let mut by_tag: HashMap<u32, Vec<&SchemaField>> = HashMap::new();
        for (field, place) in fields.iter().zip(places.into_iter().flatten()) {
            let key = field.json.as_deref().map_or_else(|| json_name(&field.name).into(), Cow::Borrowed);
            let alike = by_name.entry(key).or_default();
            if let Some(other) = alike.iter().find(|other| !other.versions.intersect(field.versions).is_empty()) {
                let problem = format!(
                    "the struct has a field {:?} already, in versions {}; give one of them another name",
                    other.name, other.versions
                );
                return Err(self.wrong(place, problem));
            }
            alike.push(field);
            let Some(tag) = field.tag else { continue };
            let alike = by_tag.entry(tag).or_default();
            if let Some(other) = alike.iter().find(|other| !other.tagged.intersect(field.tagged).is_empty()) {
                let problem = format!("{:?} has tag {tag} already; give one of them another tag", other.name);
                return Err(self.wrong(place, problem));
            }
            alike.push(field);
        }
        Ok(fields)
    }

    fn schema(&self, object: &Object<'a>) -> Read<Schema> {
        self.check_attributes(object, &MESSAGE_ATTRIBUTES)?;
        let name = self.name(object, "name")?;
        let kind = match object.get("type") {
            None => Kind::Data,
            Some(property) => {
                let word = self.text(&property.value)?;
                Kind::of(&word)
                    .ok_or_else(|| self.wrong(property.value.range(), format!("unknown type of message {word:?}")))?
            }
        };
        let valid = self.versions(object, "validVersions")?.ok_or_else(|| self.missing(object, "validVersions"))?;
        if let (i16::MAX, Some(property)) = (valid.last, object.get("validVersions")) {
            let problem = format!("validVersions is \"{valid}\"; the newest version must be named, as in \"0-3\"");
            return Err(self.wrong(property.value.range(), problem));
        }
        Ok(Schema {
            kind,
            api_key: self.integer::<i16>(object, "apiKey")?,
            valid,
            flexible: self.versions(object, "flexibleVersions")?.unwrap_or(Versions::NONE),
            latest_unstable: self.flag(object, "latestVersionUnstable")?,
            listeners: self.list(object, "listeners", |value| Ok(self.text(value)?.into()))?,
            fields: self.fields(object)?,
            common: self.list(object, "commonStructs", |value| self.shared(value))?,
            name,
        })
    }

    fn shared(&self, value: &Value<'a>) -> Read<SchemaStruct> {
        let object = self.object(value)?;
        self.check_attributes(object, &STRUCT_ATTRIBUTES)?;
        Ok(SchemaStruct {
            name: self.name(object, "name")?,
            versions: self.versions(object, "versions")?.unwrap_or(Versions::ALL),
            fields: self.fields(object)?,
        })
    }

    fn field(&self, value: &Value<'a>) -> Read<SchemaField> {
        let object = self.object(value)?;
        self.check_attributes(object, &FIELD_ATTRIBUTES)?;
        let tagged = self.versions(object, "taggedVersions")?.unwrap_or(Versions::NONE);
        let versions = self.versions(object, "versions")?;
        let versions = match versions {
            Some(versions) => versions,
            None if !tagged.is_empty() => tagged,
            None => return Err(self.missing(object, "versions")),
        };
        let tag = self.integer::<u32>(object, "tag")?;
        if !tagged.is_empty() && tag.is_none() {
            return Err(self.missing(object, "tag"));
        }
        if let (Some(property), None) = (object.get("tag"), object.get("taggedVersions")) {
            let problem = "a tag, but no \"taggedVersions\" that say where it holds; add them, as in \"1+\"";
            return Err(self.wrong(property.range, problem));
        }
        let ty = self.ty(object)?;
        Ok(SchemaField {
            name: self.name(object, "name")?,
            ty,
            versions,
            nullable: self.versions(object, "nullableVersions")?.unwrap_or(Versions::NONE),
            tagged,
            tag,
            flexible: self.versions(object, "flexibleVersions")?,
            default: self.default(object)?,
            ignorable: self.flag(object, "ignorable")?,
            map_key: self.flag(object, "mapKey")?,
            entity: self.optional_text(object, "entityType")?,
            about: self.optional_text(object, "about")?,
            json: self.optional_text(object, "json")?,
            hidden: self.flag(object, "hidden")?,
            prefix: self.optional_text(object, "prefix")?,
            fields: self.fields(object)?,
        })
    }

    fn ty(&self, object: &Object<'a>) -> Read<TypeName> {
        let word = self.text_of(object, "type")?;
        let at = object.get("type").map_or(object.range, |property| property.value.range());
        if word.starts_with(&"[]".repeat(MAX_DEPTH)) {
            return Err(self.wrong(at, "arrays of arrays without end"));
        }
        let ty = TypeName::of(&word);
        let Some(name) = ty.struct_name() else { return Ok(ty) };
        if is_name(name) && self.structs.iter().any(|known| known == name) {
            return Ok(ty);
        }
        Err(self.wrong(at, format!("{name:?} is neither a type nor a struct of this message")))
    }

    /// `null` without quotes means that there is no default; only the string `"null"` makes null the default.
    fn default(&self, object: &Object<'a>) -> Read<Option<Box<str>>> {
        let Some(property) = object.get("default") else { return Ok(None) };
        match &property.value {
            Value::NullKeyword(_) => Ok(None),
            Value::BooleanLit(flag) => Ok(Some(flag.value.to_string().into())),
            Value::NumberLit(number) => Ok(Some(number.value.into())),
            value => Ok(Some(self.text(value)?.into())),
        }
    }

    fn object<'v>(&self, value: &'v Value<'a>) -> Read<&'v Object<'a>> {
        value.as_object().ok_or_else(|| self.wrong(value.range(), "expected an object"))
    }

    fn list<T>(&self, object: &Object<'a>, key: &str, read: impl Fn(&Value<'a>) -> Read<T>) -> Read<Vec<T>> {
        let Some(property) = object.get(key) else { return Ok(Vec::new()) };
        let array = property
            .value
            .as_array()
            .ok_or_else(|| self.wrong(property.value.range(), format!("{key} must be an array")))?;
        array.elements.iter().map(read).collect()
    }

    fn text(&self, value: &Value<'a>) -> Read<String> {
        match value {
            Value::StringLit(string) => Ok(string.value.to_string()),
            other => Err(self.wrong(other.range(), "expected a string")),
        }
    }

    fn text_of(&self, object: &Object<'a>, key: &str) -> Read<String> {
        let property = object.get(key).ok_or_else(|| self.missing(object, key))?;
        self.text(&property.value)
    }

    /// A name: it goes into JSON keys and onto terminals as it is.
    fn name(&self, object: &Object<'a>, key: &str) -> Read<Box<str>> {
        let name = self.text_of(object, key)?;
        if is_name(&name) {
            return Ok(name.into());
        }
        let at = object.get(key).map_or(object.range, |property| property.value.range());
        Err(self.wrong(at, format!("{name:?} is not a name; expected letters, digits and _")))
    }

    fn optional_text(&self, object: &Object<'a>, key: &str) -> Read<Option<Box<str>>> {
        object.get(key).map(|property| Ok(self.text(&property.value)?.into())).transpose()
    }

    fn versions(&self, object: &Object<'a>, key: &str) -> Read<Option<Versions>> {
        let Some(property) = object.get(key) else { return Ok(None) };
        let word = match &property.value {
            Value::NumberLit(number) => number.value.to_owned(),
            value => self.text(value)?,
        };
        match Versions::parse(word.trim()) {
            Some(versions) => Ok(Some(versions)),
            None => Err(self.wrong(
                property.value.range(),
                format!("{key} is {word:?}; expected \"none\", \"3\", \"0-12\" or \"9+\""),
            )),
        }
    }

    fn integer<T: TryFrom<i64>>(&self, object: &Object<'a>, key: &str) -> Read<Option<T>> {
        let Some(property) = object.get(key) else { return Ok(None) };
        let word = match &property.value {
            Value::NumberLit(number) => number.value.to_owned(),
            value => self.text(value)?,
        };
        match word.trim().parse::<i64>().ok().and_then(|number| T::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(property.value.range(), format!("{key} is {word:?}; expected a number"))),
        }
    }

    fn flag(&self, object: &Object<'a>, key: &str) -> Read<bool> {
        match object.get(key).map(|property| &property.value) {
            None => Ok(false),
            Some(Value::BooleanLit(flag)) => Ok(flag.value),
            Some(Value::StringLit(string)) if matches!(&*string.value, "true" | "false") => {
                Ok(&*string.value == "true")
            }
            Some(other) => Err(self.wrong(other.range(), format!("{key} must be true or false"))),
        }
    }

    fn missing(&self, object: &Object<'a>, key: &str) -> SchemaError {
        let owner =
            object.get_string("name").map_or_else(|| "this object".to_owned(), |name| format!("{:?}", name.value));
        self.wrong(object.range, format!("{owner} has no {key:?}"))
    }

    fn wrong(&self, at: Range, problem: impl fmt::Display) -> SchemaError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        SchemaError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            problem: problem.to_string(),
        }
    }
}

fn is_name(text: &str) -> bool {
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
