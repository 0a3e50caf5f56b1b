//! Whether a schema is small enough to be resolved: structs that hold others many times over could fill any memory.

use super::schema::{Schema, SchemaField};

/// The largest of Kafka's own messages has fewer than 100 fields.
pub(super) const MAX_FIELDS: usize = 5_000;

/// Whether the fields of a message, with those of all structs written out where they are held, are not too many. A
/// struct inside of itself is not written out again; whoever walks a schema keeps to that rule and so to the limit.
pub(super) fn is_small(schema: &Schema) -> bool {
    let mut counter = Counter { schema, left: MAX_FIELDS, open: Vec::new() };
    counter.count(&schema.fields).is_some()
}

struct Counter<'s> {
    schema: &'s Schema,
    left: usize,
    /// The structs that are being counted.
    open: Vec<&'s str>,
}

impl<'s> Counter<'s> {
    fn count(&mut self, fields: &'s [SchemaField]) -> Option<()> {
        for field in fields {
            self.left = self.left.checked_sub(1)?;
            let Some(name) = field.ty.struct_name().filter(|name| !self.open.contains(name)) else { continue };
            self.open.push(name);
            self.count(self.schema.members(field))?;
            self.open.pop();
        }
        Some(())
    }
}
