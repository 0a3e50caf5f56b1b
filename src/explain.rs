//! What pasted bytes are, when nothing but a hint of the reader's says so.

use crate::dissect::{
    Deaf, Fit, Known, Outcome, Reading, RequestHead, dissect, dissect_payload, fit_request, fit_response,
    is_convincing, responses_that_fit,
};
use crate::foreign::{self, Foreign};
use crate::protocol::{Api, ApiKey, Catalog, Kind, Plan, Prefix, Side, Type};
use crate::wire::{self, Bytes};

/// What the reader says of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    None,
    /// They are a request.
    Request,
    /// They are a response of an API, perhaps of a certain version.
    ResponseOf(ApiKey, Option<i16>),
    /// They are a payload: a schema's name, perhaps with a version.
    Payload(String, Option<i16>),
}

/// What bytes were found to be.
#[derive(Debug)]
pub enum Finding<'p> {
    /// A request or response.
    Message {
        /// The API's key.
        key: ApiKey,
        /// The version on the wire.
        version: i16,
        /// How it is read.
        fit: Fit<'p>,
    },
    /// A payload of a schema.
    Payload(&'p Plan),
    /// A response whose API cannot be told: these would all take it whole.
    Ambiguous(Vec<&'p Plan>, Reading<'p>),
    /// Nothing that is known.
    Unknown,
}

/// One message among the bytes.
#[derive(Debug)]
pub struct Explained<'p> {
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// What it is.
    pub finding: Finding<'p>,
    /// What else there is to say, as whole sentences.
    pub remarks: Vec<String>,
}

/// Why a hint cannot be followed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HintError {
    /// The schema is not known.
    #[error("no schema is called {0:?}; `kafkascope schema list` shows all")]
    UnknownSchema(String),
    /// The kind's record type is not known.
    #[error("the record type {record_type} of {kind} is not known")]
    UnknownRecordType {
        /// As in `kraft-record`.
        kind: String,
        /// The number in front of the payload.
        record_type: i64,
    },
    /// The version is not known.
    #[error("{name} has no version {version}; known are {known}")]
    UnknownVersion {
        /// The schema's name.
        name: String,
        /// The version asked for, or found in front of the payload.
        version: i64,
        /// The versions that are known.
        known: String,
    },
    /// The bytes are no token of the mechanism.
    #[error("the bytes do not begin like a token of {0}")]
    NoToken(&'static str),
    /// The payload ends before its version does.
    #[error("the bytes end before the version in front of the payload does")]
    NoVersion,
}

/// Bytes of a frame that may be a response of several APIs by chance.
const SHORT: usize = 32;

/// Payloads whose bytes tell which schema they have: the module and kind of the schemas, by the name for all of them.
const FAMILIES: [(&str, &str, Kind); 5] = [
    ("kraft-record", "metadata", Kind::Metadata),
    ("remote-log-record", "storage", Kind::Metadata),
    ("offsets-key", "group-coordinator", Kind::CoordinatorKey),
    ("txn-key", "transaction-coordinator", Kind::CoordinatorKey),
    ("share-key", "share-coordinator", Kind::CoordinatorKey),
];

/// Tokens of SASL mechanisms, whose first byte tells which step they are: the mechanism, by the name for all of them. The
/// steps of SCRAM are the same with all hashes.
const TOKENS: [(&str, &str); 3] =
    [("sasl-plain", "PLAIN"), ("sasl-scram", "SCRAM-SHA-256"), ("sasl-oauthbearer", "OAUTHBEARER")];

/// Says what bytes are: one message, or several frames one behind the other.
pub fn explain<'p>(catalog: &'p Catalog, bytes: &[u8], hint: &Hint) -> Result<Vec<Explained<'p>>, HintError> {
    if let Hint::Payload(name, version) = hint {
        let plan = payload_plan(catalog, bytes, name, *version)?;
        return Ok(vec![Explained {
            start: 0,
            end: bytes.len(),
            finding: Finding::Payload(plan),
            remarks: Vec::new(),
        }]);
    }
    let mut all = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        // Only a frame that leaves another one behind it is taken off; all else is for one message to explain.
        let length = first_of_several(catalog, rest).unwrap_or(rest.len());
        let mut explained = one(catalog, rest.get(..length).unwrap_or_default(), hint);
        explained.start += start;
        explained.end += start;
        start = explained.end;
        all.push(explained);
    }
    Ok(all)
}

/// The length of the first frame, if others follow it to the last byte.
fn first_of_several(catalog: &Catalog, bytes: &[u8]) -> Option<usize> {
    let first = frame_length(bytes).filter(|length| *length < bytes.len())?;
    let mut at = 0;
    while at < bytes.len() {
        at += frame_length(bytes.get(at..)?)?;
    }
    let is_message = RequestHead::read(bytes.get(4..)?).is_some_and(|head| catalog.api(head.key).is_some());
    (at == bytes.len() && (is_message || first > 8)).then_some(first)
}

fn frame_length(bytes: &[u8]) -> Option<usize> {
    let size = i32::from_be_bytes(*bytes.first_chunk()?);
    usize::try_from(size).ok().filter(|size| *size >= 4).map(|size| size + 4)
}

fn one<'p>(catalog: &'p Catalog, bytes: &[u8], hint: &Hint) -> Explained<'p> {
    let is_sized = frame_length(bytes) == Some(bytes.len());
    let whole = |finding, remarks| Explained { start: 0, end: bytes.len(), finding, remarks };
    if let Hint::ResponseOf(key, version) = hint {
        let finding = response_of(catalog, bytes, *key, *version);
        let remarks = version_remark(catalog, &finding).into_iter().collect();
        return whole(finding, remarks);
    }
    // With its size, a message is what its size says; without, it may be anything that fits.
    let forms: &[bool] = if is_sized { &[true] } else { &[false, true] };
    for &sized in forms {
        if let Some((finding, outcome)) = request(catalog, bytes, sized)
            && (*hint == Hint::Request || is_exact(&finding, outcome))
        {
            let remarks = version_remark(catalog, &finding).into_iter().collect();
            return whole(finding, remarks);
        }
    }
    if let Some(explained) = behind_headers(catalog, bytes, hint) {
        return explained;
    }
    let oddity = if is_sized { Oddity::None } else { oddity(bytes) };
    let is_response = !matches!(oddity, Oddity::Foreign(_)) && !looks_like_request(catalog, bytes);
    // A response of an API with few fields takes any short bytes; a long one is not taken whole by chance.
    let is_short_request = is_sized && bytes.len() <= SHORT && is_named_request(catalog, bytes);
    if *hint == Hint::None && is_response && !is_short_request {
        for &sized in forms {
            match response(catalog, bytes, sized) {
                Some(finding @ Finding::Message { .. }) => return whole(finding, Vec::new()),
                // What may be many things may also be another thing that is odd.
                Some(finding) if !matches!(oddity, Oddity::Misread(_)) => return whole(finding, Vec::new()),
                _ => {}
            }
        }
    }
    // Nothing takes it whole: a request that goes wrong on its way shows where.
    let is_known = |sized: &&bool| head(catalog, bytes, **sized).is_some();
    let damaged = [true, false].iter().find(is_known).and_then(|sized| request(catalog, bytes, *sized));
    let unknown = || request(catalog, bytes, true).filter(|_| is_sized && is_named_request(catalog, bytes));
    let finding = damaged.or_else(unknown).map_or(Finding::Unknown, |(finding, _)| finding);
    let remark = match oddity {
        Oddity::Foreign(text) | Oddity::Misread(text) | Oddity::Size(text) => Some(text),
        Oddity::None if matches!(finding, Finding::Unknown) && !is_sized => size_remark(bytes),
        Oddity::None => version_remark(catalog, &finding),
    };
    whole(finding, remark.into_iter().collect())
}

/// Whether bytes behind a size are a request of an unknown API or version, by the client's name in it. The first APIs do
/// not count: a response with a small correlation id has a count and the name of a topic in the same place.
fn is_named_request(catalog: &Catalog, bytes: &[u8]) -> bool {
    let Some(head) = bytes.get(4..).and_then(RequestHead::read) else { return false };
    let name = head.client_id.unwrap_or_default();
    let is_name = name.len() >= 3 && name.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let is_new = catalog.api_plan(head.key, Side::Request, head.version).is_none();
    is_name && is_new && head.key.0 > 0 && head.version >= 0 && head.correlation >= 0
}

/// What is to be said of a message's API or version.
fn version_remark(catalog: &Catalog, finding: &Finding<'_>) -> Option<String> {
    let Finding::Message { key, version, fit } = finding else { return None };
    let Some(api) = catalog.api(*key) else {
        return Some(format!(
            "API key {} is not known, so the body is not decoded; --schemas DIR adds schemas of your own",
            key.0
        ));
    };
    let known = catalog.api_versions(*key, fit.reading.side);
    match (fit.assumed, fit.reading.body) {
        (Some(assumed), _) => Some(format!(
            "{} version {version} is newer than those known ({known}); version {assumed} takes the bytes whole, so they are read as that",
            api.name
        )),
        (None, None) => Some(format!(
            "{} version {version} is not known ({known} are), and none that is takes the bytes whole",
            api.name
        )),
        (None, Some(_)) => None,
    }
}

/// The head of a request of a known API and version, whose client's name is text.
fn head<'b>(catalog: &Catalog, bytes: &'b [u8], sized: bool) -> Option<RequestHead<'b>> {
    let head = RequestHead::read(bytes.get(if sized { 4 } else { 0 }..)?)?;
    catalog.api_plan(head.key, Side::Request, head.version)?;
    let is_text = |name| str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control));
    head.client_id.is_none_or(is_text).then_some(head)
}

/// Whether bytes with their size in front are more likely a damaged request than a response. Key 0 does not count: a
/// response with a small correlation id looks the same.
fn looks_like_request(catalog: &Catalog, bytes: &[u8]) -> bool {
    head(catalog, bytes, true).is_some_and(|head| head.key.0 != 0)
}

fn is_exact(finding: &Finding<'_>, outcome: Outcome) -> bool {
    matches!(finding, Finding::Message { key, fit, .. } if fit.reading.body.is_some() && is_convincing(*key, outcome))
}

fn request<'p>(catalog: &'p Catalog, bytes: &[u8], sized: bool) -> Option<(Finding<'p>, Outcome)> {
    let head = RequestHead::read(bytes.get(if sized { 4 } else { 0 }..)?)?;
    let fit = fit_request(catalog, head.key, head.version, bytes, sized, 0);
    let outcome = dissect(&fit.reading, bytes, &mut Deaf);
    Some((Finding::Message { key: head.key, version: head.version, fit }, outcome))
}

/// A response with the one API and version that takes it whole, or with all that do.
fn response<'p>(catalog: &'p Catalog, bytes: &[u8], sized: bool) -> Option<Finding<'p>> {
    let fits = responses_that_fit(catalog, bytes, sized, usize::MAX);
    let newest = *fits.last()?;
    let reading =
        |header, body| Reading { side: Side::Response, header, body, sized, missing: 0, known: Known::default() };
    if fits.iter().all(|plan| plan.reads_like(newest)) {
        let key = ApiKey(newest.api_key?);
        let header = catalog.header_for(newest, Side::Response);
        let fit = Fit { reading: reading(header, Some(newest)), assumed: None };
        return Some(Finding::Message { key, version: newest.version, fit });
    }
    // Only the part of the header is certain that all versions have.
    let header = catalog.header(Side::Response, 0);
    Some(Finding::Ambiguous(fits, reading(header, None)))
}

fn response_of<'p>(catalog: &'p Catalog, bytes: &[u8], key: ApiKey, version: Option<i16>) -> Finding<'p> {
    let sized = frame_length(bytes) == Some(bytes.len());
    let versions = catalog.api_versions(key, Side::Response);
    let candidates: Vec<i16> = match version {
        Some(version) => vec![version],
        None => (versions.first..=versions.last).rev().collect(),
    };
    let fits = |version: i16, sized: bool| {
        let fit = fit_response(catalog, key, version, bytes, sized, 0);
        let outcome = dissect(&fit.reading, bytes, &mut Deaf);
        (fit.reading.body.is_some() && outcome.is_exact()).then_some((version, fit))
    };
    let exact = candidates.iter().find_map(|&version| fits(version, sized).or_else(|| fits(version, !sized)));
    let (version, fit) = exact.unwrap_or_else(|| {
        let version = candidates.first().copied().unwrap_or_default();
        (version, fit_response(catalog, key, version, bytes, sized, 0))
    });
    Finding::Message { key, version, fit }
}

/// A captured packet with its headers: what lies behind them.
fn behind_headers<'p>(catalog: &'p Catalog, bytes: &[u8], hint: &Hint) -> Option<Explained<'p>> {
    let Some(Foreign::Packet(start)) = foreign::recognise(bytes) else { return None };
    let payload = bytes.get(start..).filter(|payload| !payload.is_empty())?;
    let mut explained = one(catalog, payload, hint);
    explained
        .remarks
        .insert(0, format!("the first {start} bytes are headers of IP and TCP, as tcpdump -X prints them"));
    explained.start += start;
    explained.end += start;
    Some(explained)
}

/// What is odd about bytes that do not begin with their size; whole sentences.
enum Oddity {
    /// Nothing.
    None,
    /// Certainly something else than a frame.
    Foreign(String),
    /// Probably a frame that was copied or written wrongly.
    Misread(String),
    /// No frame has a size like this; without their size, the bytes may be anything.
    Size(String),
}

fn oddity(bytes: &[u8]) -> Oddity {
    let size = bytes.first_chunk().map(|size| i32::from_be_bytes(*size));
    match (foreign::recognise(bytes), size) {
        // A request without its size is read as what it is.
        (Some(Foreign::NoSize { .. }), _) | (None, None) => Oddity::None,
        (Some(foreign), _) => {
            let text = format!("this looks like {foreign}");
            match foreign {
                Foreign::Surplus { .. } | Foreign::Missing { .. } | Foreign::LittleEndianSize(_) => {
                    Oddity::Misread(text)
                }
                _ => Oddity::Foreign(text),
            }
        }
        (None, Some(size)) => foreign::explain_size(size, bytes).map_or(Oddity::None, Oddity::Size),
    }
}

/// A size that may be one, but is not that of the bytes.
fn size_remark(bytes: &[u8]) -> Option<String> {
    let length = frame_length(bytes)?;
    let (size, there) = (length - 4, bytes.len() - 4);
    let why = if size > there { "the end is missing" } else { "there is something behind it" };
    Some(format!("the first four bytes may be a size of {size}, but {there} follow: either {why}, or they are no size"))
}

fn payload_plan<'p>(
    catalog: &'p Catalog,
    bytes: &[u8],
    name: &str,
    version: Option<i16>,
) -> Result<&'p Plan, HintError> {
    if let Some((_, mechanism)) = TOKENS.iter().find(|(token, _)| *token == name) {
        return catalog.token_plan(mechanism, bytes).ok_or(HintError::NoToken(mechanism));
    }
    let name = match FAMILIES.iter().find(|(family, ..)| *family == name) {
        Some((family, module, kind)) => {
            let record_type = record_type(bytes, *kind).ok_or(HintError::NoVersion)?;
            let schema = i16::try_from(record_type).ok().and_then(|key| catalog.stored(module, *kind, key));
            let unknown = || HintError::UnknownRecordType { kind: (*family).to_owned(), record_type };
            &*schema.ok_or_else(unknown)?.name
        }
        None => name,
    };
    let schema = catalog.schema(name).ok_or_else(|| HintError::UnknownSchema(name.to_owned()))?;
    let newest = catalog.plan(name, schema.valid.last).ok_or_else(|| HintError::UnknownSchema(name.to_owned()))?;
    let asked = match version {
        Some(version) => i64::from(version),
        None => match version_in_front(bytes, newest)? {
            Some(found) => found,
            None => return Ok(newest_that_fits(catalog, bytes, newest)),
        },
    };
    let plan = i16::try_from(asked).ok().and_then(|version| catalog.plan(name, version));
    plan.ok_or_else(|| HintError::UnknownVersion {
        name: schema.name.to_string(),
        version: asked,
        known: catalog.versions(name).to_string(),
    })
}

fn record_type(bytes: &[u8], kind: Kind) -> Option<i64> {
    let input = Bytes::new(bytes);
    if kind == Kind::CoordinatorKey {
        return wire::int16(input).ok().map(|(_, record_type)| record_type.into());
    }
    let (rest, _) = wire::uvarint(input).ok()?;
    wire::uvarint(rest).ok().map(|(_, record_type)| record_type.into())
}

/// The version that stands in front of a payload, where its kind has one.
fn version_in_front(bytes: &[u8], plan: &Plan) -> Result<Option<i64>, HintError> {
    let mut input = Bytes::new(bytes);
    let cut = |_| HintError::NoVersion;
    match plan.prefix() {
        // A record type is no version; keys have version 0.
        Prefix::Int16("record_type") => Ok(Some(0)),
        Prefix::Int16(_) => wire::int16(input).map(|(_, version)| Some(version.into())).map_err(cut),
        Prefix::Uvarints(names) => {
            let mut last = None;
            for _ in names {
                let (rest, value) = wire::uvarint(input).map_err(cut)?;
                input = rest;
                last = Some(i64::from(value));
            }
            Ok(last)
        }
        // Kafka Streams writes the version as the first field.
        Prefix::None => {
            match plan.untagged(plan.top()).first().filter(|field| field.key() == "version").map(|field| field.ty) {
                Some(Type::Int32) => wire::int32(input).map(|(_, version)| Some(version.into())).map_err(cut),
                Some(Type::Int16) => wire::int16(input).map(|(_, version)| Some(version.into())).map_err(cut),
                _ => Ok(None),
            }
        }
    }
}

fn newest_that_fits<'p>(catalog: &'p Catalog, bytes: &[u8], newest: &'p Plan) -> &'p Plan {
    let versions = catalog.versions(&newest.name);
    let plans = (versions.first..=versions.last).rev().filter_map(|version| catalog.plan(&newest.name, version));
    let mut fitting = plans.filter(|plan| dissect_payload(plan, bytes, &mut Deaf).is_exact());
    fitting.next().unwrap_or(newest)
}

/// The API and version of `NAME[:VERSION]`.
pub fn api_and_version<'c>(catalog: &'c Catalog, text: &str) -> Option<(&'c Api, Option<i16>)> {
    let (name, version) = match text.split_once(':') {
        Some((name, version)) => (name, Some(version.trim_start_matches('v').parse().ok()?)),
        None => (text, None),
    };
    catalog.api_named(name).map(|api| (api, version))
}
