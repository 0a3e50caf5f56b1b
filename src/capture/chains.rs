//! Records that follow each other: what speaks for them where damage is.

/// For every place in some bytes, the records that follow each other from there on.
///
/// It is found from the last place to the first, so it costs what the bytes cost, whatever they are.
pub(super) struct Chains {
    links: Vec<Link>,
    length: usize,
}

/// What is known of a place.
#[derive(Clone, Copy, Default)]
struct Link {
    /// Where the last record that follows ends: the length of the bytes, or one more, where it goes on behind them. 0: there
    /// is no record here.
    end: u32,
    /// How many records there are, up to 255.
    records: u8,
}

impl Chains {
    /// `length_at` gives the length of the record at a place, in bytes, where one may be; `is_next` says whether a record may
    /// follow the one before it, by their places.
    pub(super) fn find(
        length: usize,
        length_at: impl Fn(usize) -> Option<usize>,
        is_next: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut links = vec![Link::default(); length];
        for at in (0..length).rev() {
            let Some(of_record) = length_at(at) else { continue };
            let next = at.saturating_add(of_record);
            let link = match links.get(next).copied() {
                // It is the last one, or its end is not there.
                None => Link { end: next.min(length + 1) as u32, records: 1 },
                Some(behind) if behind.end > 0 && is_next(at, next) => {
                    Link { end: behind.end, records: behind.records.saturating_add(1) }
                }
                Some(_) => Link { end: next as u32, records: 1 },
            };
            if let Some(place) = links.get_mut(at) {
                *place = link;
            }
        }
        Self { links, length }
    }

    /// How many records follow each other from a place on.
    pub(super) fn records(&self, at: usize) -> usize {
        self.links.get(at).map_or(0, |link| link.records.into())
    }

    /// How many bytes they have, as far as these are there.
    pub(super) fn span(&self, at: usize) -> usize {
        let end = self.links.get(at).map_or(0, |link| link.end as usize);
        end.min(self.length).saturating_sub(at)
    }

    /// Whether they end where the bytes end.
    pub(super) fn ends_with_bytes(&self, at: usize) -> bool {
        self.links.get(at).is_some_and(|link| link.end as usize == self.length)
    }
}
