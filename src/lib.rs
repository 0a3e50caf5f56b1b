//! kafkascope shows what Kafka clients and brokers say to each other, byte by byte.

pub mod cli;
pub mod dissect;
pub mod output;
pub mod protocol;
pub mod wire;
