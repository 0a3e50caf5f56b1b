//! Trees and messages as text, JSON and other formats.

pub mod describe;
pub mod json;
pub mod tree_text;
