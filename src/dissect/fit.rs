//! Which plan bytes are to be read with: the header that stands in front, versions newer than known, responses whose
//! request is not known.

use nom::Err;

use super::{Deaf, Known, Outcome, Reading, dissect};
use crate::protocol::{ApiKey, Catalog, Plan, Side};
use crate::wire::{self, Bytes, WireError};

/// `UNSUPPORTED_VERSION`: with it a broker answers an ApiVersions request of a version that it does not know, in the
/// form of version 0 (KIP-511).
const UNSUPPORTED_VERSION: i16 = 35;

/// What all versions of a request's header begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'b> {
    /// The API's key.
    pub key: ApiKey,
    /// The API's version.
    pub version: i16,
    /// The number that the response repeats.
    pub correlation: i32,
    /// The client's name for itself; headers of v0 have none.
    pub client_id: Option<&'b [u8]>,
}

impl<'b> RequestHead<'b> {
    /// Reads the head of a request, without the frame's size; `None` where the bytes end before the client id does.
    pub fn read(request: &'b [u8]) -> Option<Self> {
        let read = |input| -> Result<Self, Err<WireError>> {
            let (rest, key) = wire::int16(input)?;
            let (rest, version) = wire::int16(rest)?;
            let (rest, correlation) = wire::int32(rest)?;
            let key = ApiKey(key);
            let client_id = if key == ApiKey::CONTROLLED_SHUTDOWN && version == 0 {
                None
            } else {
                wire::sized(rest, wire::length16)?.1
            };
            Ok(Self { key, version, correlation, client_id })
        };
        read(Bytes::new(request)).ok()
    }
}

/// How a message of a known API and version is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Fit<'p> {
    /// The plans.
    pub reading: Reading<'p>,
    /// The version of the plan, where the message has a newer one.
    pub assumed: Option<i16>,
}

/// How a request is to be read.
pub fn fit_request<'p>(
    catalog: &'p Catalog,
    key: ApiKey,
    version: i16,
    frame: &[u8],
    sized: bool,
    missing: u32,
) -> Fit<'p> {
    fit(catalog, Side::Request, key, version, frame, sized, missing)
}

/// How a response is to be read, when the request that it answers is known.
pub fn fit_response<'p>(
    catalog: &'p Catalog,
    key: ApiKey,
    version: i16,
    frame: &[u8],
    sized: bool,
    missing: u32,
) -> Fit<'p> {
    let body = if sized { 8 } else { 4 };
    let is_fallback = key == ApiKey::API_VERSIONS
        && frame
            .get(body..)
            .and_then(<[u8]>::first_chunk)
            .is_some_and(|code| i16::from_be_bytes(*code) == UNSUPPORTED_VERSION);
    let version = if is_fallback { 0 } else { version };
    fit(catalog, Side::Response, key, version, frame, sized, missing)
}

fn fit<'p>(
    catalog: &'p Catalog,
    side: Side,
    key: ApiKey,
    version: i16,
    frame: &[u8],
    sized: bool,
    missing: u32,
) -> Fit<'p> {
    let reading = |plan: Option<&'p Plan>| {
        // Of an unknown API only that part of the header is certain which all versions have.
        let unknown = || catalog.header(side, i16::from(side == Side::Request));
        let header = plan.and_then(|plan| catalog.header_for(plan, side)).or_else(unknown);
        Reading { side, header, body: plan, sized, missing, known: Known::default() }
    };
    if let Some(plan) = catalog.api_plan(key, side, version) {
        return Fit { reading: reading(Some(plan)), assumed: None };
    }
    let known = catalog.api_versions(key, side);
    if version > known.last {
        let newest_first = (known.first..=known.last).rev();
        for plan in newest_first.filter_map(|older| catalog.api_plan(key, side, older)) {
            let reading = reading(Some(plan));
            if dissect(&reading, frame, &mut Deaf).is_exact() {
                return Fit { reading, assumed: Some(plan.version) };
            }
        }
    }
    Fit { reading: reading(None), assumed: None }
}

/// The APIs and versions whose response takes a frame whole, by key and version. Stops behind `limit` APIs.
pub fn responses_that_fit<'p>(catalog: &'p Catalog, frame: &[u8], sized: bool, limit: usize) -> Vec<&'p Plan> {
    let mut fits: Vec<&Plan> = Vec::new();
    let mut apis = 0;
    for api in catalog.apis() {
        let before = fits.len();
        let versions = catalog.api_versions(api.key, Side::Response);
        for plan in (versions.first..=versions.last).filter_map(|v| catalog.api_plan(api.key, Side::Response, v)) {
            let header = catalog.header_for(plan, Side::Response);
            let reading =
                Reading { side: Side::Response, header, body: Some(plan), sized, missing: 0, known: Known::default() };
            if dissect(&reading, frame, &mut Deaf).is_exact() {
                fits.push(plan);
            }
        }
        apis += usize::from(fits.len() > before);
        if apis >= limit {
            break;
        }
    }
    fits
}

/// Whether a walk shows that the plan was the right one: all bytes were taken, or only the few too many that old
/// librdkafka clients send behind ApiVersions v0.
pub fn is_convincing(key: ApiKey, outcome: Outcome) -> bool {
    let spare = if key == ApiKey::API_VERSIONS { 4 } else { 0 };
    outcome.faults == 0 && outcome.undecoded == 0 && outcome.trailing <= spare
}
