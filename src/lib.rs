//! kafkascope shows what Kafka clients and brokers say to each other, byte by byte.

pub mod capture;
pub mod stream;
