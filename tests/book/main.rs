//! The book of a capture: every message that is read again from it is the one that was told when the capture was read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod again;
#[path = "../common/capture.rs"]
mod capture;
mod changed;
#[allow(dead_code, reason = "of the link layers one is enough here")]
#[path = "../common/disguise.rs"]
mod disguise;
#[path = "../common/keys.rs"]
mod keys;
mod live;
mod saved;
mod support;
