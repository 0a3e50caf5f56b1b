//! kafkascope shows what Kafka clients and brokers say to each other, byte by byte.

pub mod foreign;
pub mod paste;
