//! What the headers of batches say, read without inflating them or looking at their records.

use super::Codec;
use super::records::chain::{self, ATTRIBUTES, BATCH, MAGIC, Next, number};

/// What is in a records field, or in several together, as far as the headers of their batches say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordsSurvey {
    /// All bytes, with those of partial batches.
    pub bytes: u64,
    /// Whole batches of format 2 with data.
    pub batches: u32,
    /// Records in them, and messages of the old formats that are not compressed.
    pub records: u64,
    /// Messages of the old formats that are: how many records are in them is not said outside.
    pub uncounted: u32,
    /// Batches with control records, by type: ABORT, COMMIT, others.
    pub markers: [u32; 3],
    /// The codecs of the batches, a bit each.
    codecs: u8,
    /// The offset of the first batch's first record, as far as it is said, and of the last one's last.
    pub offsets: Option<(i64, i64)>,
    /// Whether a batch with data belongs to a transaction.
    pub is_transactional: bool,
    /// Whether a batch is at the end whose own end did not fit.
    pub is_partial: bool,
    /// Whether there is something that cannot be true, and what lies behind it was not looked at.
    pub is_damaged: bool,
}

/// Records of format 2 are at least so long: seven fields of a byte.
const LEAST_RECORD: u64 = 7;
/// Where what is said of all records of a batch of format 2 stands.
const LAST_OFFSET_DELTA: usize = 23;
const RECORDS_COUNT: usize = 57;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

impl RecordsSurvey {
    /// Looks at the headers of a records field's batches.
    pub fn of(records: &[u8]) -> Self {
        let mut survey = Self { bytes: records.len() as u64, ..Self::default() };
        let mut rest = records;
        while !rest.is_empty() {
            let total = match chain::next(rest) {
                Next::Whole { magic, total } => {
                    survey.batch_or_message(magic, rest.get(..total).unwrap_or_default()).map(|()| total)
                }
                Next::Partial => {
                    survey.is_partial = true;
                    break;
                }
                Next::Magic(_) | Next::Length { .. } => None,
            };
            let Some(total) = total else {
                survey.is_damaged = true;
                break;
            };
            rest = rest.get(total..).unwrap_or_default();
        }
        survey
    }

    /// Takes what another field has as well.
    pub fn add(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.batches = self.batches.saturating_add(other.batches);
        self.records = self.records.saturating_add(other.records);
        self.uncounted = self.uncounted.saturating_add(other.uncounted);
        for (own, more) in self.markers.iter_mut().zip(other.markers) {
            *own = own.saturating_add(more);
        }
        self.codecs |= other.codecs;
        self.offsets = match (self.offsets, other.offsets) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (own, more) => own.or(more),
        };
        self.is_transactional |= other.is_transactional;
        self.is_partial |= other.is_partial;
        self.is_damaged |= other.is_damaged;
    }

    /// The codecs of the batches with data, none among them.
    pub fn codecs(self) -> impl Iterator<Item = Codec> {
        (0..8).map(Codec).filter(move |codec| self.codecs & (1 << codec.0) != 0)
    }

    /// What stands whole in a chain; `None` where it says something that cannot be true.
    fn batch_or_message(&mut self, magic: u8, bytes: &[u8]) -> Option<()> {
        if magic == 2 { self.batch(bytes) } else { self.message(bytes) }
    }

    /// A batch of format 2.
    fn batch(&mut self, batch: &[u8]) -> Option<()> {
        let attributes = number(batch, ATTRIBUTES).map(i16::from_be_bytes)?;
        let codec = Codec::of(attributes);
        let count = u64::try_from(number(batch, RECORDS_COUNT).map(i32::from_be_bytes)?).ok()?;
        let records = batch.get(BATCH..)?;
        if codec == Codec::NONE && count.saturating_mul(LEAST_RECORD) > records.len() as u64 {
            return None;
        }
        let first = number(batch, 0).map(i64::from_be_bytes)?;
        let delta = number(batch, LAST_OFFSET_DELTA).map(i32::from_be_bytes)?;
        self.reaches(first, first.saturating_add(delta.into()));
        if attributes & CONTROL != 0 {
            let kind = match control_type(records).filter(|_| codec == Codec::NONE) {
                Some(0) => 0,
                Some(1) => 1,
                _ => 2,
            };
            self.markers.iter_mut().skip(kind).take(1).for_each(|count| *count += 1);
            return Some(());
        }
        self.is_transactional |= attributes & TRANSACTIONAL != 0;
        self.batches += 1;
        self.records = self.records.saturating_add(count);
        self.codecs |= 1 << codec.0;
        Some(())
    }

    /// A message of format 0 or 1. The offset of a compressed one is that of the last record in it.
    fn message(&mut self, message: &[u8]) -> Option<()> {
        let codec = Codec::of(i16::from(*message.get(MAGIC + 1)?));
        let offset = number(message, 0).map(i64::from_be_bytes)?;
        self.reaches(offset, offset);
        self.codecs |= 1 << codec.0;
        if codec == Codec::NONE {
            self.records += 1;
        } else {
            self.uncounted += 1;
        }
        Some(())
    }

    fn reaches(&mut self, first: i64, last: i64) {
        self.offsets = Some((self.offsets.map_or(first, |(first, _)| first), last));
    }
}

/// The type of a control record: the second number of its key (KIP-98). The lengths before it are small varints.
fn control_type(records: &[u8]) -> Option<i16> {
    let mut at = 0;
    // Length, attributes, timestamp delta, offset delta, key length: each ends with a byte below 0x80.
    for _ in 0..5 {
        at += records.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
    }
    number(records, at + 2).map(i16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::records::chain::PREFIX;
    use super::*;

    /// A batch of format 2 by the protocol guide; `records` are not looked at.
    fn batch(base: i64, attributes: i16, count: i32, records: &[u8]) -> Vec<u8> {
        let length = (BATCH - PREFIX + records.len()) as u32;
        let mut bytes = [base.to_be_bytes().as_slice(), &length.to_be_bytes(), &[0; 4], &[2], &[0; 4]].concat();
        bytes.extend(attributes.to_be_bytes());
        bytes.extend((count - 1).to_be_bytes());
        bytes.extend([0; 8 + 8 + 8 + 2 + 4]);
        bytes.extend(count.to_be_bytes());
        bytes.extend(records);
        bytes
    }

    #[test]
    fn batches_are_summed() {
        let bytes = [batch(10, 3, 1000, &[9; 50]), batch(1010, 4, 24, &[9; 30])].concat();
        let survey = RecordsSurvey::of(&bytes);
        assert_eq!((survey.batches, survey.records, survey.bytes), (2, 1024, 61 + 50 + 61 + 30));
        assert_eq!(survey.offsets, Some((10, 1033)));
        assert_eq!(survey.codecs().map(Codec::name).collect::<Vec<_>>(), ["lz4", "zstd"]);
        assert!(!survey.is_transactional && !survey.is_partial && !survey.is_damaged);
        let survey = RecordsSurvey::of(&bytes[..bytes.len() - 1]);
        assert_eq!((survey.batches, survey.records, survey.is_partial), (1, 1000, true));
    }

    #[test]
    fn markers_are_told() {
        // KIP-98: the key of a control record is a version and a type; 0 is ABORT, 1 is COMMIT.
        let record = |kind: u8| [32, 0, 0, 0, 8, 0, 0, 0, kind, 12, 0, 0, 0, 0, 0, 0, 0];
        let bytes = [
            batch(0, TRANSACTIONAL, 2, &[0; 14]),
            batch(2, TRANSACTIONAL | CONTROL, 1, &record(1)),
            batch(3, TRANSACTIONAL | CONTROL, 1, &record(0)),
            batch(4, CONTROL, 1, &record(2)),
        ];
        let survey = RecordsSurvey::of(&bytes.concat());
        assert_eq!((survey.records, survey.batches, survey.markers), (2, 1, [1, 1, 1]));
        assert!(survey.is_transactional);
    }

    #[test]
    fn old_messages_are_counted_where_they_are_not_compressed() {
        // Offset, size, checksum, magic, attributes, (timestamp,) key, value.
        let format_0 = |attributes| {
            [&[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 14, 1, 1, 1, 1, 0, attributes], [255; 8].as_slice()].concat()
        };
        let format_1 = [&[0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 22, 1, 1, 1, 1, 1, 0], [255; 16].as_slice()].concat();
        let survey = RecordsSurvey::of(&[format_0(0), format_1, format_0(1)].concat());
        assert_eq!((survey.batches, survey.records, survey.uncounted), (0, 2, 1));
        assert_eq!(survey.offsets, Some((5, 5)));
    }

    #[test]
    fn what_cannot_be_true_is_damage() {
        let mut wrong = vec![batch(0, 0, 3, &[0; 20]), batch(0, 0, -1, &[]), batch(0, 0, 0, &[])];
        wrong[2][MAGIC] = 3;
        let mut short = batch(0, 0, 0, &[]);
        short[8..12].copy_from_slice(&48_i32.to_be_bytes());
        wrong.push(short);
        for bytes in wrong {
            let survey = RecordsSurvey::of(&bytes);
            assert!(survey.is_damaged && survey.batches == 0, "{survey:?}");
        }
        assert_eq!(RecordsSurvey::of(&[]), RecordsSurvey::default());
        let noise: Vec<u8> = (0..2000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for at in 0..noise.len() {
            assert_eq!(RecordsSurvey::of(&noise[at..]).bytes, (noise.len() - at) as u64);
        }
    }
}
