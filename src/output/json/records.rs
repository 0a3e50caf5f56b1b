//! Records in JSON: absolute offsets, keys and values as text or base64, what batches say.

use super::text::escaped;
use super::{Batch, JsonWriter, base64, close_bracket, string};
use crate::dissect::{BatchFacts, DecodedValue, Format, Value};
use crate::protocol::Field;

/// What the reader's formats made of a record's key and value; written when the record ends.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The number of levels that are open with the record.
    pub(super) depth: usize,
    /// Members of `_decoded`.
    decoded: Vec<u8>,
    /// Members of `_decodeNotes`.
    notes: Vec<u8>,
}

impl JsonWriter<'_, '_> {
    /// Whether the innermost objects and arrays belong to a batch.
    pub(super) fn is_in_batch(&self) -> bool {
        match self.levels.as_slice() {
            [.., outer, array] if array.is_array => outer.batch.is_some(),
            [.., level] => level.batch.is_some(),
            [] => false,
        }
    }

    /// The one record of an old message, in a list of its own unless it is in one already.
    pub(super) fn open_record(&mut self) {
        let is_inner = self.levels.last().is_some_and(|level| level.batch == Some(Batch::Inner));
        let start = self.out.len();
        if !is_inner {
            self.out.extend_from_slice(b"\"records\":[");
        }
        self.open(start, b'{', None);
        if let Some(level) = self.levels.last_mut() {
            level.batch = Some(Batch::OneRecord);
        }
    }

    pub(super) fn close_record(&mut self) {
        self.close(b'}');
        let is_inner = self.levels.last().is_some_and(|level| level.batch == Some(Batch::Inner));
        self.out.extend_from_slice(if is_inner { b"," } else { b"]," });
    }

    /// A field of a batch or record.
    pub(super) fn batch_value(&mut self, batch: Batch, field: &Field, value: Value<'_>) {
        let is_left_out = batch == Batch::Inner || (field.hidden && batch != Batch::OneRecord);
        if is_left_out {
            return;
        }
        match value {
            Value::Int(number) => {
                self.out.extend_from_slice(field.json_key.as_bytes());
                self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                self.out.push(b',');
            }
            Value::Bytes(None) => {
                self.out.extend_from_slice(field.json_key.as_bytes());
                self.out.extend_from_slice(b"null,");
            }
            Value::Bytes(Some(bytes)) => self.text_or_base64(field, bytes),
            _ => {}
        }
        if let (Batch::Fields, Some(facts)) = (batch, self.facts) {
            self.explain_batch(facts, field);
        }
    }

    /// A record's bytes: text where they are UTF-8, else base64 under a key that says so.
    pub(super) fn text_or_base64(&mut self, field: &Field, bytes: &[u8]) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            self.out.extend_from_slice(field.json_key.as_bytes());
            self.out.push(b'"');
            escaped(self.out, text);
            self.out.push(b'"');
        } else {
            self.out.push(b'"');
            self.out.extend_from_slice(field.key().as_bytes());
            self.out.extend_from_slice(b"Base64\":");
            base64(self.out, bytes);
        }
        self.out.push(b',');
    }

    /// What the reader's format makes of a key or value, beside it.
    pub(super) fn decoded(&mut self, field: &Field, bytes: &[u8], format: Format) {
        self.contents.depth = self.levels.len();
        let decoded = format.decode(bytes);
        if let Some(value) = decoded.value {
            self.contents.decoded.extend_from_slice(field.json_key.as_bytes());
            match value {
                DecodedValue::Text(text) => drop(string(&mut self.contents.decoded, text.as_bytes())),
                DecodedValue::Json(json) => self.contents.decoded.extend_from_slice(json.as_bytes()),
            }
            self.contents.decoded.push(b',');
        }
        if let Some(note) = decoded.note {
            self.contents.notes.extend_from_slice(field.json_key.as_bytes());
            string(&mut self.contents.notes, note.as_bytes());
            self.contents.notes.push(b',');
        }
    }

    /// What a control record marks, by the type in its key.
    pub(super) fn control_name(&mut self, key: &[u8]) {
        let code = key.get(2..).and_then(<[u8]>::first_chunk).map(|code| i16::from_be_bytes(*code));
        let names = self.opening.catalog.enumerations().named("ControlRecordType");
        if let Some(name) = names.and_then(|names| names.label(code?.into())) {
            self.out.extend_from_slice(b"\"_control\":");
            string(self.out, name.as_bytes());
            self.out.push(b',');
        }
    }

    /// What the checksum and the attributes say, behind them.
    fn explain_batch(&mut self, facts: BatchFacts, field: &Field) {
        let flag = |out: &mut Vec<u8>, key: &[u8], flag: bool| {
            out.extend_from_slice(key);
            out.extend_from_slice(if flag { b"true," } else { b"false," });
        };
        match &*field.name {
            "Crc" => flag(self.out, b"\"_crcValid\":", facts.crc_valid),
            "Attributes" => {
                let time = if facts.is_log_append_time() { "LogAppendTime" } else { "CreateTime" };
                let codec = facts.codec().name();
                self.out.extend_from_slice(format!("\"_compression\":\"{codec}\",").as_bytes());
                if facts.magic > 0 {
                    self.out.extend_from_slice(format!("\"_timestampType\":\"{time}\",").as_bytes());
                }
                if facts.magic >= 2 {
                    flag(self.out, b"\"_isTransactional\":", facts.is_transactional());
                    flag(self.out, b"\"_isControlBatch\":", facts.is_control());
                    if let Some(horizon) = facts.delete_horizon() {
                        self.out.extend_from_slice(format!("\"_deleteHorizonMs\":{horizon},").as_bytes());
                    }
                }
            }
            _ => {}
        }
    }
}

impl Contents {
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        for (key, members) in [("\"_decoded\":{", &mut self.decoded), ("\"_decodeNotes\":{", &mut self.notes)] {
            if !members.is_empty() {
                out.extend_from_slice(key.as_bytes());
                out.append(members);
                close_bracket(out, b'}');
                out.push(b',');
            }
        }
        self.depth = 0;
    }
}
