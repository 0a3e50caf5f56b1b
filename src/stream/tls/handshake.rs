//! Messages of the handshake, as far as they say how records are protected.

use super::keylog::Random;
use super::sessions::{Session, session};
use super::suite::{Suite, TlsVersion};

pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 2;
pub(super) const NEW_SESSION_TICKET: u8 = 4;
pub(super) const END_OF_EARLY_DATA: u8 = 5;
pub(super) const ENCRYPTED_EXTENSIONS: u8 = 8;
pub(super) const FINISHED: u8 = 20;
pub(super) const KEY_UPDATE: u8 = 24;

const ENCRYPT_THEN_MAC: u16 = 22;
const SESSION_TICKET: u16 = 35;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random of a `ServerHello` that asks the client to try again (RFC 8446, section 4.1.3).
const RETRY: Random = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Type and length of a message.
const HEADER: usize = 4;
/// Longer messages are passed over: certificates may be, and nothing is wanted of them.
const LONGEST: usize = 64 << 10;

/// Messages that are put together of records.
#[derive(Debug, Default)]
pub(super) struct Messages {
    kept: Vec<u8>,
    /// Bytes of a long message that are yet to come.
    passing: usize,
}

impl Messages {
    /// Takes the plaintext of a record and tells the messages that are whole: their types and bodies.
    pub(super) fn push(&mut self, bytes: &[u8], mut tell: impl FnMut(u8, &[u8])) {
        let passed = self.passing.min(bytes.len());
        self.passing -= passed;
        self.kept.extend_from_slice(bytes.get(passed..).unwrap_or_default());
        let mut done = 0;
        while let Some(&[kind, high, middle, low]) = self.kept.get(done..).and_then(<[u8]>::first_chunk::<HEADER>) {
            let length = HEADER + u32::from_be_bytes([0, high, middle, low]) as usize;
            let rest = self.kept.get(done..).unwrap_or_default();
            if let Some(message) = rest.get(HEADER..length) {
                tell(kind, message);
                done += length;
            } else if length > LONGEST {
                self.passing = length - rest.len();
                done = self.kept.len();
            } else {
                break;
            }
        }
        self.kept.drain(..done);
    }

    /// What is there of a message that is not whole.
    pub(super) fn rest(&self) -> &[u8] {
        &self.kept
    }

    /// Forgets what is there: bytes are missing behind it.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// What a client offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientHello {
    pub(super) random: Random,
    /// Whether data follows that does not wait for an answer.
    pub(super) early_data: bool,
    /// The id of the session that it would resume, and the ticket (1.2).
    pub(super) session: Option<Session>,
    pub(super) ticket: Option<Session>,
}

impl ClientHello {
    /// Reads the body of the message, which may be cut behind the random.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut rest = Rest(body);
        rest.take(2)?;
        let random = *rest.take(32)?.first_chunk()?;
        let mut hello = Self { random, early_data: false, session: None, ticket: None };
        let mut extensions = || {
            hello.session = session(rest.vector_8()?);
            rest.vector_16()?;
            rest.vector_8()?;
            let mut extensions = Rest(rest.vector_16()?);
            while let Some((kind, value)) = extensions.extension() {
                match kind {
                    EARLY_DATA => hello.early_data = true,
                    SESSION_TICKET => hello.ticket = session(value),
                    _ => {}
                }
            }
            Some(())
        };
        // A hello without extensions is one as well.
        let _ = extensions();
        Some(hello)
    }
}

/// What a server chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerHello {
    pub(super) version: TlsVersion,
    pub(super) suite: Suite,
    pub(super) random: Random,
    /// The id of the session: that of the client where it is resumed.
    pub(super) session: Option<Session>,
    pub(super) encrypt_then_mac: bool,
    /// Whether records are compressed before they are protected.
    pub(super) compressed: bool,
}

impl ServerHello {
    /// Reads the body of the message.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut rest = Rest(body);
        let mut version = TlsVersion(rest.number()?);
        let random = *rest.take(32)?.first_chunk()?;
        let session = session(rest.vector_8()?);
        let suite = Suite(rest.number()?);
        let compressed = rest.take(1)? != [0];
        let mut encrypt_then_mac = false;
        let mut extensions = Rest(rest.vector_16().unwrap_or_default());
        while let Some((kind, value)) = extensions.extension() {
            match (kind, value) {
                (ENCRYPT_THEN_MAC, _) => encrypt_then_mac = true,
                (SUPPORTED_VERSIONS, &[major, minor]) => version = TlsVersion(u16::from_be_bytes([major, minor])),
                _ => {}
            }
        }
        Some(Self { version, suite, random, session, encrypt_then_mac, compressed })
    }

    /// Whether the client is to try again with another hello.
    pub(super) fn is_retry(&self) -> bool {
        self.random == RETRY
    }
}

/// The session that a `NewSessionTicket` of TLS 1.2 is for (RFC 5077, section 3.3).
pub(super) fn ticket(body: &[u8]) -> Option<Session> {
    let mut rest = Rest(body);
    rest.take(4)?;
    session(rest.vector_16()?)
}

/// Whether `EncryptedExtensions` say that the server takes early data.
pub(super) fn takes_early_data(body: &[u8]) -> bool {
    let mut extensions = Rest(Rest(body).vector_16().unwrap_or_default());
    std::iter::from_fn(|| extensions.extension()).any(|(kind, _)| kind == EARLY_DATA)
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|number| u16::from_be_bytes(*number))
    }

    fn vector_8(&mut self) -> Option<&'a [u8]> {
        let length = *self.take(1)?.first()?;
        self.take(length.into())
    }

    fn vector_16(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }

    fn extension(&mut self) -> Option<(u16, &'a [u8])> {
        Some((self.number()?, self.vector_16()?))
    }
}
