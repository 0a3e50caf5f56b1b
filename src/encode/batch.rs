//! Record batches of format 2, not compressed. Source: `DefaultRecordBatch` and `DefaultRecord` of Apache Kafka; KIP-98.

use super::write::varlong;

/// A record batch. Its length, count and CRC follow from the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBatch {
    /// Offset of the first record.
    pub base_offset: i64,
    /// Epoch of the leader that took the batch; -1 where none has yet.
    pub partition_leader_epoch: i32,
    /// Compression, timestamp type, transactional, control.
    pub attributes: i16,
    /// Offset of the last record from the base.
    pub last_offset_delta: i32,
    /// Timestamp from which those of the records count, in milliseconds.
    pub base_timestamp: i64,
    /// Greatest timestamp of the records, in milliseconds.
    pub max_timestamp: i64,
    /// Id of an idempotent producer; -1 for none.
    pub producer_id: i64,
    /// Its epoch; -1 for none.
    pub producer_epoch: i16,
    /// Sequence number of the first record; -1 for none.
    pub base_sequence: i32,
    /// The records.
    pub records: Vec<Record>,
}

/// A record of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Its timestamp from the batch's base, in milliseconds.
    pub timestamp_delta: i64,
    /// Its offset from the batch's base.
    pub offset_delta: i32,
    /// Its key; null.
    pub key: Option<Vec<u8>>,
    /// Its value; null.
    pub value: Option<Vec<u8>>,
    /// Names and values of its headers.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Default for RecordBatch {
    /// The empty batch, as Kafka writes it.
    fn default() -> Self {
        Self {
            base_offset: 0,
            partition_leader_epoch: -1,
            attributes: 0,
            last_offset_delta: 0,
            base_timestamp: -1,
            max_timestamp: 0,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            records: Vec::new(),
        }
    }
}

impl RecordBatch {
    /// A batch of records that follow each other from an offset; the offset deltas of `records` are set here.
    pub fn of(base_offset: i64, base_timestamp: i64, mut records: Vec<Record>) -> Self {
        for (delta, record) in (0..).zip(&mut records) {
            record.offset_delta = delta;
        }
        Self {
            base_offset,
            last_offset_delta: records.last().map_or(0, |record| record.offset_delta),
            base_timestamp,
            max_timestamp: base_timestamp
                .saturating_add(records.iter().map(|record| record.timestamp_delta).max().unwrap_or(0)),
            records,
            ..Self::default()
        }
    }

    /// The bytes of the batch: 61 and those of its records.
    pub fn encode(&self) -> Vec<u8> {
        // What the CRC is of: all that follows it.
        let mut checked = Vec::new();
        checked.extend(self.attributes.to_be_bytes());
        checked.extend(self.last_offset_delta.to_be_bytes());
        checked.extend(self.base_timestamp.to_be_bytes());
        checked.extend(self.max_timestamp.to_be_bytes());
        checked.extend(self.producer_id.to_be_bytes());
        checked.extend(self.producer_epoch.to_be_bytes());
        checked.extend(self.base_sequence.to_be_bytes());
        checked.extend((self.records.len() as u32).to_be_bytes());
        for record in &self.records {
            record.encode(&mut checked);
        }

        let mut batch = Vec::with_capacity(checked.len() + 21);
        batch.extend(self.base_offset.to_be_bytes());
        // Leader epoch, magic and CRC are counted, too.
        batch.extend((checked.len() as u32 + 9).to_be_bytes());
        batch.extend(self.partition_leader_epoch.to_be_bytes());
        batch.push(2);
        batch.extend(crc32c::crc32c(&checked).to_be_bytes());
        batch.extend(checked);
        batch
    }
}

impl Record {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut body = vec![0]; // attributes, of which none is in use
        varlong(&mut body, self.timestamp_delta);
        varlong(&mut body, self.offset_delta.into());
        sized(&mut body, self.key.as_deref());
        sized(&mut body, self.value.as_deref());
        varlong(&mut body, length(self.headers.len()));
        for (name, value) in &self.headers {
            sized(&mut body, Some(name));
            sized(&mut body, value.as_deref());
        }
        sized(out, Some(&body));
    }
}

fn sized(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    varlong(out, bytes.map_or(-1, |bytes| length(bytes.len())));
    out.extend(bytes.unwrap_or_default());
}

fn length(length: usize) -> i64 {
    // No slice is longer than that.
    i64::try_from(length).unwrap_or(i64::MAX)
}
