//! All messages that are known: the embedded ones, and a folder of the reader's own laid over them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use foldhash::{HashMap, HashMapExt};
use thiserror::Error;

use super::ApiKey;
use super::about::Glossary;
use super::enumeration::Enumerations;
use super::header::{request_header_version, response_header_version};
use super::parse::{SchemaError, parse_schema};
use super::payload::{Payload, Payloads, Role, TopicFormat};
use super::plan::Plan;
use super::release::{Releases, Row};
use super::schema::{Kind, Schema, TypeName, Versions};
use super::traits::{EnumerationId, FieldTraits, Secret};

/// Name and text of every embedded schema file, by name.
static MESSAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/messages.rs"));
/// The same of what Kafka has no schema files for.
static LAYOUTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/layouts.rs"));
static ENUMERATIONS: &str = include_str!("../../schemas/enumerations.json");
static ABOUT: &str = include_str!("../../schemas/about.json");
static VERSIONS: &str = include_str!("../../schemas/versions.tsv");
static PAYLOADS: &str = include_str!("../../schemas/payloads.tsv");
static SECRETS: &str = include_str!("../../schemas/secrets.tsv");

/// Everything that is known of Kafka's messages. Files are read when they are first needed.
#[derive(Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    /// Where the headers of requests and of responses are: they are asked for with every message.
    headers: (Option<usize>, Option<usize>),
    apis: HashMap<ApiKey, Api>,
    releases: Releases,
    enumerations: OnceLock<Enumerations>,
    glossary: OnceLock<Glossary>,
    secrets: Secrets,
    payloads: Payloads,
}

/// An API: a request and the response that answers it.
#[derive(Debug, Clone)]
pub struct Api {
    /// Its key.
    pub key: ApiKey,
    /// Its name, as in `Metadata`.
    pub name: String,
    request: Option<usize>,
    response: Option<usize>,
}

/// The two directions of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// From client to broker.
    Request,
    /// From broker to client.
    Response,
}

impl Side {
    /// `request` or `response`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// A message by its name; the first layer that has a version is believed.
#[derive(Debug)]
struct Entry {
    name: String,
    kind: Kind,
    api_key: Option<i16>,
    module: Option<String>,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    file: String,
    text: Cow<'static, str>,
    schema: OnceLock<Option<Schema>>,
    plans: OnceLock<Vec<OnceLock<Plan>>>,
}

/// Why a folder of schemas could not be used.
#[derive(Debug, Error)]
pub enum OverlayError {
    /// A file or the folder could not be read.
    #[error("cannot read {path}", path = path.display())]
    Unreadable {
        /// What was read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not a schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// There is no schema file in the folder.
    #[error("{path} holds no schema files (*.json)", path = path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

impl Catalog {
    /// The embedded messages.
    pub fn builtin() -> Self {
        let releases = Releases::parse(VERSIONS);
        let rows: HashMap<&str, &Row> = releases.rows().iter().map(|row| (row.name.as_str(), row)).collect();
        let mut catalog = Self {
            entries: Vec::with_capacity(MESSAGES.len()),
            by_name: HashMap::with_capacity(MESSAGES.len()),
            headers: (None, None),
            apis: HashMap::new(),
            releases: Releases::default(),
            enumerations: OnceLock::new(),
            glossary: OnceLock::new(),
            secrets: Secrets::parse(SECRETS),
            payloads: Payloads::parse(PAYLOADS),
        };
        for (name, text) in MESSAGES {
            let layer = Layer::new(format!("schemas/messages/{name}.json"), Cow::Borrowed(text));
            if let Some(row) = rows.get(name) {
                catalog.add(name, row.kind, row.api_key, Some(row.module.clone()), layer);
            } else if let Some((kind, api_key)) = layer.schema().map(|schema| (schema.kind, schema.api_key)) {
                // A message that is not in the table of releases yet.
                catalog.add(name, kind, api_key, None, layer);
            }
        }
        for (name, text) in LAYOUTS {
            let layer = Layer::new(format!("schemas/layouts/{name}.json"), Cow::Borrowed(text));
            // What has a line in the table is a message like others, only that Kafka writes it by hand.
            match rows.get(name) {
                Some(row) => catalog.add(name, row.kind, row.api_key, Some(row.module.clone()), layer),
                None => catalog.add(name, Kind::Layout, None, None, layer),
            }
        }
        catalog.releases = releases;
        catalog
    }

    /// Lays the schema files of a folder (and of the folders in it) over what is known. A message keeps the versions
    /// that its new file does not have; a file without versions (a removed message) changes nothing.
    pub fn overlay(&mut self, folder: &Path) -> Result<(), OverlayError> {
        for path in schema_files(folder)? {
            let text =
                fs::read_to_string(&path).map_err(|source| OverlayError::Unreadable { path: path.clone(), source })?;
            self.overlay_text(&path.display().to_string(), text)?;
        }
        Ok(())
    }

    /// Lays one schema file over what is known and gives the message's name. `file` is for error messages.
    pub fn overlay_text(&mut self, file: &str, text: String) -> Result<String, SchemaError> {
        let schema = parse_schema(file, &text)?;
        let (name, kind, api_key) = (schema.name.to_string(), schema.kind, schema.api_key);
        if !schema.valid.is_empty() {
            let layer = Layer::new(file.to_owned(), Cow::Owned(text));
            let _ = layer.schema.set(Some(schema));
            self.add(&name, kind, api_key, None, layer);
        }
        Ok(name)
    }

    fn add(&mut self, name: &str, kind: Kind, api_key: Option<i16>, module: Option<String>, layer: Layer) {
        let index = self.by_name.get(name).copied().unwrap_or(self.entries.len());
        if let Some(entry) = self.entries.get_mut(index) {
            entry.layers.insert(0, layer);
            entry.kind = kind;
            entry.api_key = api_key;
        } else {
            self.by_name.insert(name.to_owned(), index);
            match name {
                "RequestHeader" => self.headers.0 = Some(index),
                "ResponseHeader" => self.headers.1 = Some(index),
                _ => {}
            }
            self.entries.push(Entry { name: name.to_owned(), kind, api_key, module, layers: vec![layer] });
        }
        let side = match kind {
            Kind::Request => Side::Request,
            Kind::Response => Side::Response,
            _ => return,
        };
        let Some(key) = api_key.map(ApiKey) else { return };
        let suffix = if side == Side::Request { "Request" } else { "Response" };
        let short = name.strip_suffix(suffix).unwrap_or(name);
        let api =
            self.apis.entry(key).or_insert_with(|| Api { key, name: String::new(), request: None, response: None });
        short.clone_into(&mut api.name);
        match side {
            Side::Request => api.request = Some(index),
            Side::Response => api.response = Some(index),
        }
    }

    /// An API by its key.
    #[inline]
    pub fn api(&self, key: ApiKey) -> Option<&Api> {
        self.apis.get(&key)
    }

    /// An API by its name, whatever the case; a key in digits will do too.
    pub fn api_named(&self, name: &str) -> Option<&Api> {
        if let Ok(key) = name.parse::<i16>() {
            return self.api(ApiKey(key));
        }
        self.apis.values().find(|api| api.name.eq_ignore_ascii_case(name))
    }

    /// All APIs, by key.
    pub fn apis(&self) -> Vec<&Api> {
        let mut all: Vec<&Api> = self.apis.values().collect();
        all.sort_by_key(|api| api.key);
        all
    }

    /// The names of all messages; layouts are none.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| entry.kind != Kind::Layout).map(|entry| entry.name.as_str())
    }

    /// The newest description of a message, by its name, whatever the case.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.entry(name)?.layers.first()?.schema()
    }

    /// The schema file that describes a version of a message: its name and its text.
    pub fn source(&self, name: &str, version: i16) -> Option<(&str, &str)> {
        let entry = self.entry(name)?;
        let has = |layer: &&Layer| layer.schema().is_some_and(|schema| schema.valid.contains(version));
        let layer = entry.layers.iter().find(has).or_else(|| entry.layers.first())?;
        Some((&layer.file, &layer.text))
    }

    /// Whether Kafka has a schema file for a message, and does not write it by hand.
    pub fn has_schema_file(name: &str) -> bool {
        LAYOUTS.iter().all(|(layout, _)| *layout != name)
    }

    /// Whether a folder of the reader's own says something of a message.
    pub fn is_overlaid(&self, name: &str) -> bool {
        self.entry(name).is_some_and(|entry| entry.layers.iter().any(|layer| matches!(layer.text, Cow::Owned(_))))
    }

    /// The schema that describes a version of a message.
    pub fn schema_for(&self, name: &str, version: i16) -> Option<&Schema> {
        let schemas = self.entry(name)?.layers.iter().filter_map(Layer::schema);
        schemas.into_iter().find(|schema| schema.valid.contains(version))
    }

    /// The part of Kafka that a message belongs to, as in `clients` or `group-coordinator`.
    pub fn module(&self, name: &str) -> Option<&str> {
        self.entry(name)?.module.as_deref()
    }

    /// The stored record with a type (its `apiKey`) in a part of Kafka.
    pub fn stored(&self, module: &str, kind: Kind, record_type: i16) -> Option<&Schema> {
        let fits = |entry: &&Entry| {
            entry.kind == kind && entry.api_key == Some(record_type) && entry.module.as_deref() == Some(module)
        };
        self.entries.iter().find(fits)?.layers.first()?.schema()
    }

    /// The versions of a message that can be decoded: those of all releases and of the reader's own folder.
    pub fn versions(&self, name: &str) -> Versions {
        self.entry(name).map_or(Versions::NONE, Entry::versions)
    }

    /// The versions of a message that the newest release supports, or the reader's own folder says.
    pub fn current_versions(&self, name: &str) -> Versions {
        let schema = self.schema(name);
        let from_table = if self.is_overlaid(name) { None } else { self.releases.row(name).map(Row::current) };
        from_table.or(schema.map(|schema| schema.valid)).unwrap_or(Versions::NONE)
    }

    /// A message in one version; `None` where that version is not known.
    pub fn plan(&self, name: &str, version: i16) -> Option<&Plan> {
        self.entry(name)?.plan(version, self)
    }

    /// A request or response in one version.
    #[inline]
    pub fn api_plan(&self, key: ApiKey, side: Side, version: i16) -> Option<&Plan> {
        self.api_entry(key, side)?.plan(version, self)
    }

    /// The versions of a request or response that can be decoded.
    pub fn api_versions(&self, key: ApiKey, side: Side) -> Versions {
        self.api_entry(key, side).map_or(Versions::NONE, Entry::versions)
    }

    /// The name of a request or response, as in `MetadataRequest`.
    pub fn api_schema_name(&self, key: ApiKey, side: Side) -> Option<&str> {
        self.api_entry(key, side).map(|entry| entry.name.as_str())
    }

    fn api_entry(&self, key: ApiKey, side: Side) -> Option<&Entry> {
        let api = self.apis.get(&key)?;
        let index = match side {
            Side::Request => api.request,
            Side::Response => api.response,
        };
        self.entries.get(index?)
    }

    /// Whether a request or response of an API carries secrets, in its newest version.
    pub fn holds_secrets(&self, key: ApiKey, side: Side) -> bool {
        self.api_plan(key, side, self.api_versions(key, side).last).is_some_and(Plan::holds_secrets)
    }

    /// The header that stands before a request's or response's body.
    pub fn header_for(&self, body: &Plan, side: Side) -> Option<&Plan> {
        let version = match side {
            Side::Request => request_header_version(body),
            Side::Response => response_header_version(body),
        };
        self.header(side, version)
    }

    /// A header by its version.
    pub fn header(&self, side: Side, version: i16) -> Option<&Plan> {
        let index = match side {
            Side::Request => self.headers.0,
            Side::Response => self.headers.1,
        };
        self.entries.get(index?)?.plan(version, self)
    }

    /// The names of codes.
    pub fn enumerations(&self) -> &Enumerations {
        self.enumerations.get_or_init(|| Enumerations::parse(ENUMERATIONS))
    }

    /// What the records of a topic are, by its name.
    pub fn topic_format(&self, name: &[u8]) -> Option<TopicFormat> {
        self.payloads.topic(name)
    }

    /// What the records of a topic are, by its id; few topics have the same id in every cluster.
    pub fn topic_id_format(&self, id: [u8; 16]) -> Option<TopicFormat> {
        self.payloads.topic_id(id)
    }

    /// What the bytes of a field may be, by its path; the first that applies and takes the bytes whole is meant.
    pub fn payloads(&self, path: &str) -> &[Payload] {
        self.payloads.field(path)
    }

    /// The schema of a control record's value, by the type in its key.
    pub fn control_schema(&self, code: i16) -> Option<&'static str> {
        self.payloads.control(code)
    }

    /// The plan of a token of a SASL mechanism; `None` where the mechanism is not known, or does not say such a thing.
    pub fn token_plan(&self, mechanism: &str, token: &[u8]) -> Option<&Plan> {
        self.plan(self.payloads.token(mechanism, token)?, 0)
    }

    /// Whether a configuration's name is that of a secret.
    pub fn is_sensitive(&self, name: &[u8]) -> bool {
        self.secrets
            .names
            .iter()
            .any(|part| name.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes())))
    }

    /// The explanations of fields and messages.
    pub fn glossary(&self) -> &Glossary {
        self.glossary.get_or_init(|| Glossary::parse(ABOUT))
    }

    /// What a field is: as its schema file says, else as the glossary says.
    pub fn about<'c>(&'c self, field: &'c super::Field) -> Option<&'c str> {
        field.about.as_deref().or_else(|| self.glossary().field(&field.path, &field.name))
    }

    /// Which release supports which versions.
    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        let exact = self.by_name.get(name).and_then(|&index| self.entries.get(index));
        exact.or_else(|| self.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)))
    }
}

impl FieldTraits for Catalog {
    fn enumeration(&self, path: &str, name: &str, ty: &TypeName) -> Option<EnumerationId> {
        self.enumerations().of_field(path, name, ty)
    }

    fn secret(&self, path: &str) -> Secret {
        self.secrets.fields.get(path).copied().unwrap_or_default()
    }

    fn role(&self, path: &str) -> Role {
        self.payloads.role(path)
    }
}

impl Entry {
    fn versions(&self) -> Versions {
        let all = self.layers.iter().filter_map(Layer::schema).map(|schema| schema.valid);
        all.reduce(|a, b| Versions { first: a.first.min(b.first), last: a.last.max(b.last) }).unwrap_or(Versions::NONE)
    }

    #[inline]
    fn plan<'c>(&'c self, version: i16, catalog: &'c Catalog) -> Option<&'c Plan> {
        self.layers.iter().find_map(|layer| layer.plan(version, catalog))
    }
}

impl Layer {
    fn new(file: String, text: Cow<'static, str>) -> Self {
        Self { file, text, schema: OnceLock::new(), plans: OnceLock::new() }
    }

    fn schema(&self) -> Option<&Schema> {
        self.schema.get_or_init(|| parse_schema(&self.file, &self.text).ok()).as_ref()
    }

    #[inline]
    fn plan<'c>(&'c self, version: i16, catalog: &'c Catalog) -> Option<&'c Plan> {
        let schema = self.schema()?;
        if !schema.valid.contains(version) {
            return None;
        }
        let plans = self.plans.get_or_init(|| {
            let count = i32::from(schema.valid.last) - i32::from(schema.valid.first) + 1;
            (0..count).map(|_| OnceLock::new()).collect()
        });
        let slot = plans.get(usize::try_from(i32::from(version) - i32::from(schema.valid.first)).ok()?)?;
        Some(slot.get_or_init(|| Plan::build(schema, version, catalog)))
    }
}

/// Folders inside of folders, as far as they are searched.
const MAX_FOLDERS: u32 = 8;

/// The schema files of a folder and of the folders in it, in order; a file is its own only one.
pub fn schema_files(folder: &Path) -> Result<Vec<PathBuf>, OverlayError> {
    let mut files = Vec::new();
    json_files(folder, &mut files, 0)?;
    if files.is_empty() { Err(OverlayError::Empty { path: folder.to_owned() }) } else { Ok(files) }
}

fn json_files(folder: &Path, files: &mut Vec<PathBuf>, depth: u32) -> Result<(), OverlayError> {
    let unreadable = |source| OverlayError::Unreadable { path: folder.to_owned(), source };
    if folder.is_file() {
        files.push(folder.to_owned());
        return Ok(());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() && depth < MAX_FOLDERS {
            json_files(&path, files, depth + 1)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// What `schemas/secrets.tsv` says.
#[derive(Debug, Default)]
struct Secrets {
    fields: HashMap<&'static str, Secret>,
    /// Parts of the names of sensitive configurations.
    names: Vec<&'static str>,
}

impl Secrets {
    /// Lines of a path and `always`, `configuration` or `unopened`, or of a part of a name and `name`.
    fn parse(text: &'static str) -> Self {
        let mut secrets = Self::default();
        let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'));
        for (subject, when) in lines {
            match when {
                "name" => secrets.names.push(subject),
                "configuration" => drop(secrets.fields.insert(subject, Secret::Configuration)),
                "unopened" => drop(secrets.fields.insert(subject, Secret::Unopened)),
                _ => drop(secrets.fields.insert(subject, Secret::Always)),
            }
        }
        secrets
    }
}
