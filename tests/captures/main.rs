//! Real captures, held against what the brokers logged, what Kafka's own code says, and other readers.
//!
//! Where the folder `../shared` lies beside the project, the tests go over all that it holds; else over what the project
//! holds itself, and they say so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod clocks;
mod compare;
mod damaged;
#[path = "../common/disguise.rs"]
mod disguise;
mod disguises;
#[path = "../common/json.rs"]
mod json;
#[path = "../common/keys.rs"]
mod keys;
mod listed;
mod names;
mod oracle;
mod outside;
mod places;
mod readers;
mod real;
mod request_log;
mod simulation;
mod streams;
mod support;
mod tls;
mod topics;
mod variants;
