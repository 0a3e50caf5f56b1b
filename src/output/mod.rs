//! Trees and messages as text, JSON and other formats.

pub mod json;
