//! What pasted bytes are, when nothing but a hint of the reader's says so.

use std::cmp::Ordering;

use crate::dissect::{
    Deaf, Fit, InFront, Known, Outcome, Reading, RequestHead, dissect, fit_request, fit_response, is_convincing,
    newest_that_fits, responses_that_fit, version_in_front,
};
use crate::foreign::{self, Foreign};
use crate::protocol::{Api, ApiKey, Catalog, Kind, Plan, Side};
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
    /// Record batches or messages of the old formats, one behind the other.
    Records,
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
    /// Whether nothing but its shape told its API.
    pub guessed: bool,
    /// What else there is to say, as whole sentences.
    pub remarks: Vec<String>,
}

impl<'p> Explained<'p> {
    fn whole(bytes: &[u8], finding: Finding<'p>, remarks: Vec<String>) -> Self {
        Self { start: 0, end: bytes.len(), finding, guessed: false, remarks }
    }
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
    /// The bytes say themselves which version they are.
    #[error("{0} takes no version: the bytes say theirs")]
    TakesNoVersion(&'static str),
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

/// What batches are called, with or without a frame around them.
const RECORD_BATCH: &str = "record-batch";

/// Says what bytes are: one message, or several frames one behind the other, each when it is asked for.
pub fn explain<'p, 'b>(catalog: &'p Catalog, bytes: &'b [u8], hint: &'b Hint) -> Result<Messages<'p, 'b>, HintError> {
    let mut messages = Messages { catalog, bytes, hint, at: 0, is_chain: is_chain(bytes), payload: None };
    if let Hint::Payload(name, version) = hint {
        let finding = match (name.as_str(), version) {
            (RECORD_BATCH, Some(_)) => return Err(HintError::TakesNoVersion(RECORD_BATCH)),
            (RECORD_BATCH, None) => Finding::Records,
            _ => Finding::Payload(payload_plan(catalog, bytes, name, *version)?),
        };
        messages.payload = Some(Explained::whole(bytes, finding, Vec::new()));
        messages.at = bytes.len();
    }
    Ok(messages)
}

/// The messages among bytes, in their order.
#[derive(Debug)]
pub struct Messages<'p, 'b> {
    catalog: &'p Catalog,
    bytes: &'b [u8],
    hint: &'b Hint,
    /// Where the next one begins.
    at: usize,
    /// Whether the bytes are frames, one behind the other, to the last byte.
    is_chain: bool,
    /// What all bytes are, where that was said.
    payload: Option<Explained<'p>>,
}

impl<'p> Iterator for Messages<'p, '_> {
    type Item = Explained<'p>;

    fn next(&mut self) -> Option<Explained<'p>> {
        if self.payload.is_some() {
            return self.payload.take();
        }
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        // Only a frame that leaves another one behind it is taken off; all else is for one message to explain.
        let length = self.first_of_several(rest).unwrap_or(rest.len());
        let mut explained = one(self.catalog, rest.get(..length).unwrap_or_default(), self.hint);
        explained.start += start;
        explained.end += start;
        self.at = explained.end;
        Some(explained)
    }
}

impl Messages<'_, '_> {
    /// The length of the first frame, if others follow it to the last byte.
    fn first_of_several(&self, rest: &[u8]) -> Option<usize> {
        let first = frame_length(rest).filter(|length| self.is_chain && *length < rest.len())?;
        let is_message = RequestHead::read(rest.get(4..)?).is_some_and(|head| self.catalog.api(head.key).is_some());
        (is_message || first > 8).then_some(first)
    }
}

/// Whether bytes are frames, one behind the other, to the last byte.
fn is_chain(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match frame_length(bytes).and_then(|length| bytes.get(length..)) {
            Some(rest) => bytes = rest,
            None => return false,
        }
    }
    true
}

fn frame_length(bytes: &[u8]) -> Option<usize> {
    let size = i32::from_be_bytes(*bytes.first_chunk()?);
    usize::try_from(size).ok().filter(|size| *size >= 4).map(|size| size + 4)
}

fn one<'p>(catalog: &'p Catalog, bytes: &[u8], hint: &Hint) -> Explained<'p> {
    let is_sized = frame_length(bytes) == Some(bytes.len());
    let whole = |finding, remarks| Explained::whole(bytes, finding, remarks);
    let plain = |finding| {
        let remarks = version_remark(catalog, &finding).into_iter().collect();
        whole(finding, remarks)
    };
    if let Hint::ResponseOf(key, version) = hint {
        return plain(response_of(catalog, bytes, *key, *version));
    }
    // With its size, a message is what its size says; without, it may be anything that fits.
    let forms: &[bool] = if is_sized { &[true] } else { &[false, true] };
    let requests = forms.iter().filter_map(|sized| request(catalog, bytes, *sized));
    if let Some((finding, _)) = requests.into_iter().find(|(finding, outcome)| is_exact(bytes, finding, *outcome)) {
        return plain(finding);
    }
    if *hint == Hint::Request
        && let Some((finding, _)) = request(catalog, bytes, is_sized || has_size(catalog, bytes))
    {
        return plain(finding);
    }
    if let Some(explained) = behind_headers(catalog, bytes, hint) {
        return explained;
    }
    let oddity = if is_sized { Oddity::None } else { oddity(bytes) };
    if matches!(oddity, Oddity::None)
        && let Some((cut, remark)) = cut_request(catalog, bytes)
    {
        return whole(cut, vec![remark]);
    }
    let is_response = !matches!(oddity, Oddity::Foreign(_)) && !looks_like_request(catalog, bytes);
    // A response of an API with few fields takes any short bytes; a long one is not taken whole by chance.
    let is_short_request = is_sized && bytes.len() <= SHORT && is_named_request(catalog, bytes);
    if *hint == Hint::None && is_response && !is_short_request {
        for &sized in forms {
            match response(catalog, bytes, sized) {
                Some(finding @ Finding::Message { .. }) => {
                    let remarks = shape_remark(&finding).into_iter().collect();
                    return Explained { guessed: true, ..whole(finding, remarks) };
                }
                // What may be many things may also be another thing that is odd.
                Some(finding) if !matches!(oddity, Oddity::Misread(_)) => return whole(finding, Vec::new()),
                _ => {}
            }
        }
    }
    // Nothing takes it whole: a request that goes wrong on its way shows where.
    let is_known = |sized: &&bool| head(catalog, bytes, **sized).is_some();
    let may_be = !matches!(oddity, Oddity::Foreign(_));
    let damaged = [true, false].iter().filter(|_| may_be).find(is_known);
    let damaged = damaged.and_then(|sized| request(catalog, bytes, *sized));
    let unknown = || request(catalog, bytes, true).filter(|_| is_sized && is_named_request(catalog, bytes));
    let finding = damaged.or_else(unknown).map_or(Finding::Unknown, |(finding, _)| finding);
    let remark = match oddity {
        Oddity::Foreign(text) | Oddity::Misread(text) | Oddity::Size(text) => Some(text),
        Oddity::None if matches!(finding, Finding::Unknown) && !is_sized => size_remark(bytes),
        Oddity::None => version_remark(catalog, &finding),
    };
    whole(finding, remark.into_iter().collect())
}

/// What is to be said of a response whose API nothing told but that its plan takes the bytes.
fn shape_remark(finding: &Finding<'_>) -> Option<String> {
    let Finding::Message { fit, .. } = finding else { return None };
    let plan = fit.reading.body?;
    Some(format!(
        "told by their shape alone: of all responses only {} v{} takes these bytes whole; --response-of API[:VERSION] or --request says what they are",
        plan.name, plan.version
    ))
}

/// The key and version that a request begins with.
fn key_and_version(bytes: &[u8], sized: bool) -> Option<(ApiKey, i16)> {
    let [a, b, c, d] = *bytes.get(if sized { 4 } else { 0 }..)?.first_chunk()?;
    Some((ApiKey(i16::from_be_bytes([a, b])), i16::from_be_bytes([c, d])))
}

/// The plan of the request that bytes begin with.
fn request_plan<'p>(catalog: &'p Catalog, bytes: &[u8], sized: bool) -> Option<&'p Plan> {
    let (key, version) = key_and_version(bytes, sized)?;
    catalog.api_plan(key, Side::Request, version)
}

/// The size that stands in front of the beginning of a frame, as far as the first four bytes may be one.
fn size_of_cut(bytes: &[u8]) -> Option<usize> {
    /// Brokers take no longer requests unless they are told to.
    const MOST: usize = 100 << 20;
    frame_length(bytes).filter(|length| (bytes.len() + 1..=MOST).contains(length)).map(|length| length - 4)
}

/// The beginning of a request behind its size, by key and version: its client's name need not be there. Key 0 does not
/// count: a response with a small correlation id looks the same.
fn cut_request<'p>(catalog: &'p Catalog, bytes: &[u8]) -> Option<(Finding<'p>, String)> {
    let size = size_of_cut(bytes)?;
    let plan = request_plan(catalog, bytes, true).filter(|plan| plan.api_key != Some(0))?;
    if request_plan(catalog, bytes, false).is_some() {
        return None;
    }
    let (finding, _) = request(catalog, bytes, true)?;
    let remark = format!(
        "taken for the beginning of {} v{}: its size says {size}, but {} follow; --response-of API[:VERSION] or --as NAME says what else they are",
        plan.name,
        plan.version,
        bytes.len() - 4
    );
    Some((finding, remark))
}

/// Whether the first four bytes of a request that does not fit are more likely its size than its key and version.
fn has_size(catalog: &Catalog, bytes: &[u8]) -> bool {
    let rank = |sized| (head(catalog, bytes, sized).is_some(), request_plan(catalog, bytes, sized).is_some());
    match rank(true).cmp(&rank(false)) {
        Ordering::Greater => true,
        Ordering::Less => false,
        // As a key and version, a size has the key 0, or is absurd.
        Ordering::Equal => size_of_cut(bytes).is_some_and(|size| u16::try_from(size).is_ok()),
    }
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

/// Whether a request takes the bytes whole. A version that is not known is not believed where it may be a size.
fn is_exact(bytes: &[u8], finding: &Finding<'_>, outcome: Outcome) -> bool {
    let Finding::Message { key, fit, .. } = finding else { return false };
    let may_be_size = !fit.reading.sized && fit.assumed.is_some() && size_of_cut(bytes).is_some();
    fit.reading.body.is_some() && is_convincing(*key, outcome) && !may_be_size
}

fn request<'p>(catalog: &'p Catalog, bytes: &[u8], sized: bool) -> Option<(Finding<'p>, Outcome)> {
    let (key, version) = key_and_version(bytes, sized)?;
    let fit = fit_request(catalog, key, version, bytes, sized, 0);
    let outcome = dissect(&fit.reading, bytes, &mut Deaf);
    Some((Finding::Message { key, version, fit }, outcome))
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
    let read = |version: i16, sized: bool| {
        let fit = fit_response(catalog, key, version, bytes, sized, 0);
        (fit, dissect(&fit.reading, bytes, &mut Deaf))
    };
    for &version in &candidates {
        for sized in [sized, !sized] {
            let (fit, outcome) = read(version, sized);
            if fit.reading.body.is_some() && outcome.is_exact() {
                return Finding::Message { key, version, fit };
            }
        }
    }
    // Whether the first four bytes are a wrong size or no size is told by what gets further.
    let version = candidates.first().copied().unwrap_or_default();
    let (as_first, otherwise) = (read(version, sized), read(version, !sized));
    let left = |outcome: Outcome| (outcome.undecoded.saturating_add(outcome.trailing), outcome.faults);
    let (fit, _) = if left(otherwise.1) < left(as_first.1) { otherwise } else { as_first };
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
        None => match version_in_front(newest, bytes) {
            InFront::Version(found) => found,
            InFront::Nothing => return Ok(newest_that_fits(catalog, newest, bytes)),
            InFront::Cut => return Err(HintError::NoVersion),
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

/// The API and version of `NAME[:VERSION]`.
pub fn api_and_version<'c>(catalog: &'c Catalog, text: &str) -> Option<(&'c Api, Option<i16>)> {
    let (name, version) = match text.split_once(':') {
        Some((name, version)) => (name, Some(version.trim_start_matches('v').parse().ok()?)),
        None => (text, None),
    };
    catalog.api_named(name).map(|api| (api, version))
}
