//! Streams to frames, frames to messages, messages to exchanges.
//!
//! [`Conversations`] listens to the two streams of every connection. It tells by their content which connections are
//! Kafka and which side is the broker, cuts the streams into frames, understands each as a request or a response, and
//! pairs the two by correlation id. Whoever wants messages is a [`MessageSink`].
//!
//! - **Is it Kafka?** A connection is, once its initiator (or, where the beginning was not captured, one side at the
//!   start of a segment) sends a frame that a known request takes whole. A request that only looks like one from
//!   outside is believed when the other side answers with its correlation id, or is known as a broker. All else is
//!   never called Kafka.
//!   What the reader says of an endpoint ([`Options::decode_as`]) goes before all that.
//! - **Responses** come in the order of their requests. One that comes before its request, as captures of several
//!   queues or with holes show it, is held for 320 pieces of data of its connection or 3 s; after that its request counts
//!   as not seen. Where the connection's beginning was not captured, and the response is older than the first request that
//!   was, it is held only until later data comes.
//! - **Holes**: the frame that a hole cuts is shown as far as it goes, once its last byte has come. Where its size tells, the stream goes on behind
//!   it as if nothing had happened; else the next frame that is certain is looked for, and marked as guessed.
//! - **Topic ids**: which id is which topic is learnt from the messages that have both, and from fetched records of the
//!   metadata log ([`TopicNames`](crate::dissect::TopicNames)).
//! - **What opaque bytes are** is told by other messages on the connection ([`Known`](crate::dissect::Known)): a SASL
//!   token's mechanism by the handshake before it, a response's request in an envelope, a group's protocol type by the
//!   request that joined it. After a hole among the requests, what was said before it is forgotten.
//! - **Bare tokens** follow a SaslHandshake of version 0, up to the first frame that a known request takes whole.

mod endpoint;
mod framer;
mod judge;
mod line;
mod message;
mod outside;
mod pool;
mod session;
mod talk;
mod topics;
mod tracker;
mod unasked;

pub use endpoint::{Endpoint, EndpointError};
pub use framer::Piece;
pub(crate) use message::pieces_before;
pub use message::{Exchange, Message, Subject};
pub use session::Session;
pub use tracker::{Conversations, Counters, MessageSink, Options};

#[cfg(test)]
mod tests;
