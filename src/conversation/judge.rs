//! Whether bytes are a Kafka request.

use crate::dissect::{Deaf, RequestHead, dissect, fit_request, is_convincing};
use crate::protocol::{Catalog, Side};

/// What bytes at the beginning of a frame are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No request.
    No,
    /// It cannot be said before this many bytes are there.
    NeedMore(usize),
    /// The head is that of a request; the body does not fit it.
    Maybe,
    /// A request.
    Yes,
}

/// A head whose frame is longer than this is judged by what is there.
const ENOUGH: usize = 1 << 20;
/// Versions beyond the newest known that are still taken for versions.
const NEWER: i16 = 8;
/// Client ids are names; longer ones are taken for other bytes.
const LONGEST_CLIENT_ID: usize = 4096;
/// From the size to the length of the client id.
const HEAD: usize = 14;

/// Judges bytes that may begin a frame with a request. `is_all` says that no more bytes will come.
pub(super) fn judge(catalog: &Catalog, bytes: &[u8], max_frame: u32, is_all: bool) -> Verdict {
    let Some(size) = frame_size(bytes) else { return Verdict::NeedMore(4) };
    if !(8..=max_frame).contains(&size) {
        return Verdict::No;
    }
    if bytes.len() < 8 {
        return Verdict::NeedMore(8);
    }
    if !is_known_api(catalog, bytes) {
        return Verdict::No;
    }
    let whole = size as usize + 4;
    if bytes.len() < HEAD.min(whole) {
        return Verdict::NeedMore(HEAD.min(whole));
    }
    let there = bytes.get(..whole.min(bytes.len())).unwrap_or_default();
    let head = RequestHead::read(there.get(4..).unwrap_or_default());
    let Some(head) = head.filter(|head| head.client_id.is_none_or(is_name)) else {
        let id_may_follow =
            there.len() < whole && client_id_length(there).is_some_and(|length| length <= LONGEST_CLIENT_ID);
        return if id_may_follow { Verdict::NeedMore(there.len() + 1) } else { Verdict::No };
    };
    if there.len() < whole.min(ENOUGH) && !is_all {
        return Verdict::NeedMore(whole.min(ENOUGH));
    }
    let missing = (whole - there.len()) as u32;
    let fit = fit_request(catalog, head.key, head.version, there, true, missing);
    let outcome = dissect(&fit.reading, there, &mut Deaf);
    // Of a frame that is cut, zeros would do for most requests: it must also have the name of a client, and its plan must
    // not end before the frame does.
    let is_named = head.client_id.is_some_and(|name| !name.is_empty());
    let is_cut = outcome.faults <= 1 && outcome.trailing == 0 && is_named;
    let fits = if missing > 0 { is_cut } else { is_convincing(head.key, outcome) };
    if fits && fit.reading.body.is_some() { Verdict::Yes } else { Verdict::Maybe }
}

/// The size in front of a frame, if it can be one.
pub(super) fn frame_size(bytes: &[u8]) -> Option<u32> {
    // A negative size is far beyond every limit as well.
    bytes.first_chunk().map(|size| u32::from_be_bytes(*size))
}

fn is_known_api(catalog: &Catalog, bytes: &[u8]) -> bool {
    let number = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map(|number| i16::from_be_bytes(*number));
    let (Some(key), Some(version)) = (number(4), number(6)) else { return false };
    let versions = catalog.api_versions(crate::protocol::ApiKey(key), Side::Request);
    !versions.is_empty() && version >= versions.first && version <= versions.last.saturating_add(NEWER)
}

fn client_id_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(12..).and_then(<[u8]>::first_chunk).map(|length| i16::from_be_bytes(*length))?;
    usize::try_from(length).ok()
}

fn is_name(bytes: &[u8]) -> bool {
    bytes.len() <= LONGEST_CLIENT_ID && std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(char::is_control))
}
