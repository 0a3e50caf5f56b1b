//! kafkascope shows what Kafka clients and brokers say to each other, byte by byte.
//!
//! Data flows down this list, once, in one direction; a module uses only what stands above it, and [`wire`] and
//! [`protocol`] serve all.
//!
//! - [`wire`]: nom parsers over bytes that know their offset: the primitive types of the protocol.
//! - [`protocol`]: what Kafka messages are: schemas, plans, API keys, names of codes; all of it data.
//! - [`dissect`]: bytes and a plan in, values with spans out; records, codecs, faults.
//! - [`encode`]: values and a plan in, bytes out: smallest instances, random instances, re-encoding.
//! - [`foreign`]: what bytes are that are not Kafka.
//! - [`paste`]: bytes in any form in which people paste them.
//! - [`explain`]: what pasted bytes are.
//! - [`capture`]: files to packets to TCP segments.
//! - [`stream`]: segments to connections and streams.
//! - [`conversation`]: streams to frames to messages to exchanges.
//! - [`book`]: an index of all messages of a capture, from which any of them is read again.
//! - [`output`]: messages to text and JSON.
//! - [`tui`]: the screen.
//! - [`cli`]: arguments, one file a subcommand.

pub mod book;
pub mod capture;
pub mod cli;
pub mod conversation;
pub mod dissect;
pub mod encode;
pub mod explain;
pub mod foreign;
mod nearest;
pub mod output;
pub mod paste;
pub mod protocol;
pub mod stream;
pub mod tui;
pub mod wire;
