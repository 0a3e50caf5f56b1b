//! Whether a schema can be resolved at all: structs that hold themselves, or each other many times over, could fill
//! any memory.

use std::collections::HashMap;

use thiserror::Error;

use super::schema::{Schema, SchemaField};

/// Why a schema cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum SizeError {
    /// A struct is part of itself.
    #[error("the struct {0:?} holds itself")]
    Endless(String),
    /// All structs written out have too many fields.
    #[error("the message has more than {MAX_FIELDS} fields, with those of all structs in it")]
    TooLarge,
}

impl SizeError {
    /// The struct that is to blame.
    pub(super) fn structure(&self) -> Option<&str> {
        match self {
            Self::Endless(name) => Some(name),
            Self::TooLarge => None,
        }
    }
}

/// The largest of Kafka's own messages has fewer than 100.
const MAX_FIELDS: u32 = 5_000;

/// Checks that the fields of a message, with those of all structs in it, are not too many.
pub(super) fn check_size(schema: &Schema) -> Result<(), SizeError> {
    let mut counter = Counter { schema, counts: HashMap::new() };
    let total = counter.count(&schema.name, &schema.fields)?;
    if total > MAX_FIELDS { Err(SizeError::TooLarge) } else { Ok(()) }
}

struct Counter<'s> {
    schema: &'s Schema,
    /// By the address of a list of fields: how many there are with those of the structs in it; `None` while it is
    /// being counted.
    counts: HashMap<*const SchemaField, Option<u32>>,
}

impl<'s> Counter<'s> {
    fn count(&mut self, name: &str, fields: &'s [SchemaField]) -> Result<u32, SizeError> {
        if fields.is_empty() {
            return Ok(0);
        }
        match self.counts.get(&fields.as_ptr()) {
            Some(Some(count)) => return Ok(*count),
            Some(None) => return Err(SizeError::Endless(name.to_owned())),
            None => {}
        }
        self.counts.insert(fields.as_ptr(), None);
        let mut total = 0u32;
        for field in fields {
            let inner = match field.ty.struct_name() {
                Some(inner) => self.count(inner, self.schema.members(field))?,
                None => 0,
            };
            total = total.saturating_add(1).saturating_add(inner);
        }
        self.counts.insert(fields.as_ptr(), Some(total));
        Ok(total)
    }
}
