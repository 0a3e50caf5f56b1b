//! Trees and messages as text, JSON and other formats.

pub mod anatomy;
pub mod describe;
pub mod grid;
pub mod json;
pub mod list;
pub mod ndjson;
pub(crate) mod odd;
pub mod page;
pub mod paint;
pub mod pcapng;
pub(crate) mod place;
pub mod schema_text;
pub mod summary;
pub mod table;
pub mod tree_json;
pub mod tree_text;
pub(crate) mod units;
pub mod zone;
