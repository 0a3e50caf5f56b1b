//! Arrays whose elements are structs, for those who walk them in a way of their own.

use super::walk::Halt;
use crate::protocol::{Element, Field, Plan, Struct, Type};

/// An array of structs: the field, its elements, and what is in one.
#[derive(Clone, Copy)]
pub(super) struct StructArray<'p> {
    pub(super) field: &'p Field,
    pub(super) element: &'p Element,
    pub(super) of: &'p Struct,
    /// The fields of the struct that are not tagged.
    pub(super) fields: &'p [Field],
}

impl<'p> StructArray<'p> {
    /// None where the field is something else.
    pub(super) fn new(plan: &'p Plan, field: &'p Field) -> Option<Self> {
        let Type::Array(id) = field.ty else { return None };
        let element = plan.element(id);
        let Type::Struct(id) = element.ty else { return None };
        let of = plan.structure(id);
        Some(Self { field, element, of, fields: plan.untagged(of) })
    }

    /// A field of the struct by its name.
    pub(super) fn named(self, name: &str) -> Result<&'p Field, Halt> {
        self.fields.iter().find(|field| &*field.name == name).ok_or(Halt)
    }
}
