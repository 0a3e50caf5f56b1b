//! Whether what one side says is responses, where none of its requests are there.

use super::framer::Piece;
use super::judge::frame_size;
use super::talk::correlation_of;
use crate::dissect::{Known, Place, Reading, Span, Value, Visitor, dissect, responses_that_fit};
use crate::protocol::{Catalog, Plan, Side};

/// Segments that are looked at.
const MAX_SEGMENTS: usize = 16;
/// A response that is longer is not held against every plan that there is.
const MAX_RESPONSE: u32 = 256 << 10;
/// Bytes of a response, beside text and what is opaque, that do not fit a plan by chance.
const ENOUGH: u64 = 40;
/// A client counts its requests; a few of them may be answered elsewhere or never.
const NEXT_CORRELATIONS: std::ops::RangeInclusive<i32> = 1..=16;

/// Whether one of the first segments begins a response. Of a broker, one that fits any API is enough; of anybody else, it
/// must fit a single API with many bytes, and the next frame must be a response to a request that was made soon after.
/// `bytes` begin at the place `start` of the stream.
pub(super) fn has_response(catalog: &Catalog, bytes: &[u8], start: u64, pieces: &[Piece], is_broker: bool) -> bool {
    pieces.iter().take(MAX_SEGMENTS).any(|piece| {
        let here = bytes.get((piece.start - start) as usize..).unwrap_or_default();
        let Some(frame) = first_frame(here) else { return false };
        let fits = responses_that_fit(catalog, frame, true, 2);
        let Some(plan) = fits.first() else { return false };
        if is_broker {
            return true;
        }
        fits.iter().all(|other| other.api_key == plan.api_key)
            && evidence(catalog, plan, frame) >= ENOUGH
            && here.get(frame.len()..).and_then(first_frame).is_some_and(|next| {
                let [first, next_one] = [frame, next].map(correlation_of);
                let step = first.zip(next_one).and_then(|(first, next)| next.checked_sub(first));
                step.is_some_and(|step| NEXT_CORRELATIONS.contains(&step))
                    && !responses_that_fit(catalog, next, true, 1).is_empty()
            })
    })
}

/// The frame at the start of bytes, if it is whole and no longer than is worth a look.
fn first_frame(bytes: &[u8]) -> Option<&[u8]> {
    let length = frame_size(bytes).filter(|length| (4..=MAX_RESPONSE).contains(length))?;
    bytes.get(..length as usize + 4)
}

/// Bytes of a frame that must be as they are: not text, not opaque.
fn evidence(catalog: &Catalog, plan: &Plan, frame: &[u8]) -> u64 {
    #[derive(Default)]
    struct Free(u64);
    impl<'p> Visitor<'p> for Free {
        fn value(&mut self, _: Place<'p>, value: Value<'_>, span: Span) {
            if matches!(value, Value::String(_) | Value::Bytes(_) | Value::Records(_) | Value::Uuid(_)) {
                self.0 += u64::from(span.len);
            }
        }
    }
    let mut free = Free::default();
    let header = catalog.header_for(plan, Side::Response);
    let (side, known) = (Side::Response, Known::default());
    dissect(&Reading { side, header, body: Some(plan), sized: true, missing: 0, known }, frame, &mut free);
    (frame.len() as u64).saturating_sub(free.0)
}
