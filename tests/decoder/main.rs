//! The decoder and the encoder, held against Kafka's own bytes and against properties that hold for every message,
//! version and direction.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod damage;
mod oracle;
mod properties;
mod support;
