//! Records inside of messages: held against what Kafka's own reader says of them, cut, changed and made to explode.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "counts and lengths of tests are small")]

mod bombs;
mod damage;
mod faults;
#[path = "../common/json.rs"]
mod json;
mod oracle;
mod real;
mod support;
