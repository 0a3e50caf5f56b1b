//! What is known of a field beside its schema: the names of its codes, whether it is a secret.

use super::payload::Role;
use super::schema::TypeName;

/// Index of an enumeration among the [`Enumerations`](super::Enumerations).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EnumerationId(pub(super) u16);

/// Whether a field's value is withheld from what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secret {
    /// It is shown.
    #[default]
    No,
    /// It is withheld.
    Always,
    /// It is withheld when the name that stands before it in its struct is that of a sensitive configuration.
    Configuration,
    /// It is withheld where what lies in it cannot be told, because that may hold a secret.
    Unopened,
}

/// Where a plan gets what is not in the schema.
pub(super) trait FieldTraits {
    /// The enumeration of a field: `path` is `Message.Field.Field`.
    fn enumeration(&self, path: &str, name: &str, ty: &TypeName) -> Option<EnumerationId>;
    /// Whether the field is a secret.
    fn secret(&self, path: &str) -> Secret;
    /// What the field means to what comes behind it, as far as its path says it.
    fn role(&self, path: &str) -> Role;
}
