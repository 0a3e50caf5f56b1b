//! What is known of a message from outside of its bytes.

use crate::protocol::ApiKey;

/// A word that decides what opaque bytes are: a SASL mechanism, a group's protocol. Longer ones decide nothing.
pub type Word = arrayvec::ArrayString<32>;

/// What a message's request, or what its connection has heard before, says of its opaque bytes. Only what was seen is
/// known; what is not known stays at its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Known {
    /// The SASL mechanism of the connection, by the last SaslHandshake request; empty where it is not known. Set for
    /// messages that carry its tokens.
    pub mechanism: Word,
    /// The protocol type of the group that the message is about, as in `consumer`; empty where it is not known.
    pub protocol_type: Word,
    /// The protocol that the group has chosen, as in `range`; empty where it is not known.
    pub protocol_name: Word,
    /// Key and version of the request that was in the envelope that the message answers.
    pub enveloped: Option<(ApiKey, i16)>,
}

/// Text as a word; empty where it is too long, or holds something else than letters, digits and signs of ASCII.
pub fn word(text: &[u8]) -> Word {
    let text = str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
    text.and_then(|text| Word::from(text).ok()).unwrap_or_default()
}
