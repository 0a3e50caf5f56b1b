//! Trees and messages as text, JSON and other formats.

pub mod describe;
pub mod json;
pub mod list;
pub mod ndjson;
pub mod summary;
pub mod tree_json;
pub mod tree_text;
mod units;
