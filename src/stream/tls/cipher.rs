//! Opening a record: nothing is given out that does not authenticate.

use std::ops::Range;

use aes::{Aes128, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use chacha20poly1305::ChaCha20Poly1305;
use hmac::KeyInit;

use super::keylog::Secret;
use super::keys::mac;
use super::suite::{Cipher, Hash};

/// Bytes of the header of a record: type, version, length.
pub(super) const HEADER: usize = 5;
/// Bytes of a tag of AES-GCM and ChaCha20-Poly1305.
const TAG: usize = 16;
/// Bytes of a block of AES.
const BLOCK: usize = 16;

/// Opens the records of one side under one key.
pub(super) struct Opener {
    cipher: Keyed,
    form: Form,
}

/// What a record is beside its ciphertext.
#[derive(Clone, Copy)]
enum Form {
    /// TLS 1.3: the content type is inside, and padding behind it.
    Inside([u8; 12]),
    /// TLS 1.2 with ChaCha20-Poly1305 (RFC 7905).
    Plain([u8; 12]),
    /// TLS 1.2 with AES-GCM: eight bytes of the nonce stand in front (RFC 5288).
    Explicit([u8; 4]),
    /// TLS 1.2 with CBC: the IV stands in front.
    Cbc,
}

enum Keyed {
    Aes128(Box<Aes128Gcm>),
    Aes256(Box<Aes256Gcm>),
    ChaCha(Box<ChaCha20Poly1305>),
    Cbc(Cbc),
}

struct Cbc {
    key: Secret,
    mac_key: Secret,
    hash: Hash,
    encrypt_then_mac: bool,
}

/// A record that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// Where in the body the plaintext is.
    pub(super) plain: Range<usize>,
    /// What it is.
    pub(super) content: u8,
    /// Whether the sender has padded it beyond what is needed (1.3).
    pub(super) padded: bool,
}

impl Opener {
    pub(super) fn new_1_3(cipher: Cipher, key: &[u8], iv: [u8; 12]) -> Option<Self> {
        Some(Self { cipher: aead(cipher, key)?, form: Form::Inside(iv) })
    }

    pub(super) fn new_1_2(
        cipher: Cipher,
        key: &[u8],
        iv: &[u8],
        mac_key: &[u8],
        encrypt_then_mac: bool,
    ) -> Option<Self> {
        let form = match cipher {
            Cipher::Aes128Gcm | Cipher::Aes256Gcm => Form::Explicit(iv.try_into().ok()?),
            Cipher::ChaCha20Poly1305 => Form::Plain(iv.try_into().ok()?),
            Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => Form::Cbc,
        };
        let cipher = match cipher {
            Cipher::Aes128Cbc(hash) | Cipher::Aes256Cbc(hash) => {
                let [key, mac_key] = [key, mac_key].map(|bytes| bytes.iter().copied().collect());
                Keyed::Cbc(Cbc { key, mac_key, hash, encrypt_then_mac })
            }
            _ => aead(cipher, key)?,
        };
        Some(Self { cipher, form })
    }

    /// How many bytes a record's body has beside the plaintext; None where that is not the same for all.
    pub(super) fn overhead(&self) -> Option<u64> {
        match self.form {
            Form::Inside(_) => Some(TAG as u64 + 1),
            Form::Plain(_) => Some(TAG as u64),
            Form::Explicit(_) => Some(TAG as u64 + 8),
            Form::Cbc => None,
        }
    }

    /// No record has fewer bytes, with its header.
    pub(super) fn least(&self) -> u64 {
        HEADER as u64 + self.overhead().unwrap_or(3 * BLOCK as u64)
    }

    /// The number that a record itself says that it has, if it does so: mostly its sequence number, or that and a
    /// constant.
    pub(super) fn hint(&self, body: &[u8]) -> Option<u64> {
        match self.form {
            Form::Explicit(_) => body.first_chunk().map(|nonce| u64::from_be_bytes(*nonce)),
            _ => None,
        }
    }

    /// Opens a record in its place. When it does not authenticate, the body is as it was.
    pub(super) fn open(&self, sequence: u64, header: [u8; HEADER], body: &mut [u8]) -> Option<Opened> {
        let numbered = |salt: [u8; 12]| {
            let mut nonce = salt;
            nonce.iter_mut().skip(4).zip(sequence.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
            nonce
        };
        match (&self.cipher, self.form) {
            (Keyed::Cbc(cbc), _) => cbc.open(sequence, header, body),
            (cipher, Form::Inside(iv)) => {
                cipher.open(numbered(iv), &header, body)?;
                let inner = body.get(..body.len() - TAG)?;
                let end = inner.iter().rposition(|byte| *byte != 0)?;
                let content = *inner.get(end)?;
                Some(Opened { plain: 0..end, content, padded: end + 1 < inner.len() })
            }
            (cipher, Form::Plain(iv)) => {
                let length = body.len().checked_sub(TAG)?;
                cipher.open(numbered(iv), &associated(sequence, header, length), body)?;
                Some(Opened { plain: 0..length, content: header[0], padded: false })
            }
            (cipher, Form::Explicit(salt)) => {
                let (explicit, sealed) = body.split_first_chunk_mut::<8>()?;
                let mut nonce = [0; 12];
                nonce.iter_mut().zip(salt.iter().chain(explicit.iter())).for_each(|(byte, from)| *byte = *from);
                let length = sealed.len().checked_sub(TAG)?;
                cipher.open(nonce, &associated(sequence, header, length), sealed)?;
                Some(Opened { plain: 8..8 + length, content: header[0], padded: false })
            }
            (_, Form::Cbc) => None,
        }
    }
}

fn aead(cipher: Cipher, key: &[u8]) -> Option<Keyed> {
    match cipher {
        Cipher::Aes128Gcm => Some(Keyed::Aes128(Box::new(Aes128Gcm::new_from_slice(key).ok()?))),
        Cipher::Aes256Gcm => Some(Keyed::Aes256(Box::new(Aes256Gcm::new_from_slice(key).ok()?))),
        Cipher::ChaCha20Poly1305 => Some(Keyed::ChaCha(Box::new(ChaCha20Poly1305::new_from_slice(key).ok()?))),
        Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => None,
    }
}

/// What is authenticated beside the plaintext in TLS 1.2: sequence number, type, version, and length of the plaintext.
fn associated(sequence: u64, [content, major, minor, ..]: [u8; HEADER], length: usize) -> [u8; 13] {
    let [high, low] = (length as u16).to_be_bytes();
    let header = [content, major, minor, high, low];
    let mut all = [0; 13];
    all.iter_mut().zip(sequence.to_be_bytes().iter().chain(&header)).for_each(|(byte, from)| *byte = *from);
    all
}

impl Keyed {
    /// Decrypts in place what stands before the tag; nothing is changed when the tag is wrong.
    fn open(&self, nonce: [u8; 12], associated: &[u8], body: &mut [u8]) -> Option<()> {
        let (sealed, tag) = body.split_last_chunk_mut::<TAG>()?;
        let (nonce, tag) = (nonce.into(), (*tag).into());
        match self {
            Self::Aes128(key) => key.decrypt_inout_detached(&nonce, associated, sealed.into(), &tag),
            Self::Aes256(key) => key.decrypt_inout_detached(&nonce, associated, sealed.into(), &tag),
            Self::ChaCha(key) => key.decrypt_inout_detached(&nonce, associated, sealed.into(), &tag),
            Self::Cbc(_) => return None,
        }
        .ok()
    }
}

impl Cbc {
    fn open(&self, sequence: u64, header: [u8; HEADER], body: &mut [u8]) -> Option<Opened> {
        let length = self.hash.length();
        let is_right = |associated: &[u8; 13], parts: &[u8], tag: &[u8]| {
            mac(self.hash, &self.mac_key, &[associated, parts]).as_slice() == tag
        };
        let content = header[0];
        if self.encrypt_then_mac {
            // RFC 7366: the MAC is over IV and ciphertext, whose length stands where that of the plaintext did.
            let (sealed, tag) = body.split_at_checked(body.len().checked_sub(length)?)?;
            if !is_right(&associated(sequence, header, sealed.len()), sealed, tag) {
                return None;
            }
            let mut plain = self.decrypt(sealed)?;
            let end = unpadded(&plain)?;
            plain.truncate(end);
            return put_back(body, &plain, content);
        }
        let mut plain = self.decrypt(body)?;
        let end = unpadded(&plain)?.checked_sub(length)?;
        let (text, tag) = plain.get(..end + length)?.split_at(end);
        if !is_right(&associated(sequence, header, end), text, tag) {
            return None;
        }
        plain.truncate(end);
        put_back(body, &plain, content)
    }

    /// What stands behind the IV, with its padding.
    fn decrypt(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (iv, blocks) = sealed.split_first_chunk::<BLOCK>()?;
        if blocks.is_empty() || blocks.len() % BLOCK != 0 {
            return None;
        }
        let mut plain = blocks.to_vec();
        if self.key.len() == 16 {
            let decryptor = cbc::Decryptor::<Aes128>::new_from_slices(&self.key, iv).ok()?;
            decryptor.decrypt_padded::<NoPadding>(&mut plain).ok()?;
        } else {
            let decryptor = cbc::Decryptor::<Aes256>::new_from_slices(&self.key, iv).ok()?;
            decryptor.decrypt_padded::<NoPadding>(&mut plain).ok()?;
        }
        Some(plain)
    }
}

/// Where the padding begins: all its bytes say how many there are beside the last (RFC 5246, section 6.2.3.2).
fn unpadded(plain: &[u8]) -> Option<usize> {
    let count = *plain.last()?;
    let end = plain.len().checked_sub(usize::from(count) + 1)?;
    plain.get(end..)?.iter().all(|byte| *byte == count).then_some(end)
}

fn put_back(body: &mut [u8], plain: &[u8], content: u8) -> Option<Opened> {
    body.get_mut(..plain.len())?.copy_from_slice(plain);
    Some(Opened { plain: 0..plain.len(), content, padded: false })
}
