//! kafkascope shows what Kafka clients and brokers say to each other, byte by byte.

pub mod capture;
pub mod cli;
pub mod conversation;
pub mod dissect;
pub mod encode;
pub mod explain;
pub mod foreign;
pub mod output;
pub mod paste;
pub mod protocol;
pub mod stream;
pub mod wire;
