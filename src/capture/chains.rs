//! Records that follow each other: what speaks for them where damage is.

use super::window::Part;

/// How far records follow each other from any place on, in the part of an input that was asked for last.
///
/// It is found from the last place to the first, and kept as long as the places that are asked for lie in it, so it costs what
/// the bytes cost, whatever they are and however many places are damaged.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// For each place, where the last record that follows ends: the length of the bytes, or one more, where it goes on behind
    /// them. 0: there is no record here.
    ends: Vec<u32>,
    /// The place of the first in the input.
    start: u64,
    /// Whether the input ends with the last.
    is_end: bool,
}

/// Records that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    /// How many bytes they have, as far as these are there.
    pub(super) length: usize,
    /// Whether they end where the input ends.
    pub(super) ends_with_input: bool,
}

impl Chains {
    /// The records from a place in the part on. `enough` bytes behind each place that is asked for must be there, but at the
    /// end of the input; a chain may be longer than it is said to be by what is beyond those.
    ///
    /// `length_at` gives the length of the record at a place, in bytes, where one may be; `is_next` says whether a record may
    /// follow the one before it, by their places. What they say of the same bytes must not change.
    pub(super) fn at(
        &mut self,
        part: &Part<'_>,
        at: usize,
        enough: usize,
        length_at: impl Fn(usize) -> Option<usize>,
        is_next: impl Fn(usize, usize) -> bool,
    ) -> Chain {
        let place = part.offset.saturating_add(at as u64);
        let end = self.start.saturating_add(self.ends.len() as u64);
        let is_known =
            (self.start..end).contains(&place) && (self.is_end || place.saturating_add(enough as u64) <= end);
        if !is_known {
            self.find(part, length_at, is_next);
        }
        let length = self.ends.len();
        let at = place.saturating_sub(self.start) as usize;
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        Chain { length: end.min(length).saturating_sub(at), ends_with_input: self.is_end && end == length }
    }

    fn find(
        &mut self,
        part: &Part<'_>,
        length_at: impl Fn(usize) -> Option<usize>,
        is_next: impl Fn(usize, usize) -> bool,
    ) {
        let length = part.bytes.len();
        (self.start, self.is_end) = (part.offset, part.is_end);
        #[cfg(test)]
        super::effort::add(length);
        self.ends.clear();
        self.ends.resize(length, 0);
        for at in (0..length).rev() {
            let Some(of_record) = length_at(at) else { continue };
            let next = at.saturating_add(of_record);
            let end = match self.ends.get(next).copied() {
                // It is the last one, or its end is not there.
                None => next.min(length + 1) as u32,
                Some(end) if end > 0 && is_next(at, next) => end,
                Some(_) => next as u32,
            };
            if let Some(place) = self.ends.get_mut(at) {
                *place = end;
            }
        }
    }
}
