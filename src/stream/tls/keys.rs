//! Keys from secrets: the pseudorandom function of TLS 1.2 and the key schedule of TLS 1.3.

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384};

use super::cipher::Opener;
use super::keylog::{Random, Secret};
use super::suite::{Cipher, Hash, Protection};

/// HMAC with a hash over several parts.
pub(super) fn mac(hash: Hash, key: &[u8], parts: &[&[u8]]) -> Secret {
    fn with<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Secret {
        let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else { return Secret::new() };
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().iter().copied().collect()
    }
    match hash {
        Hash::Sha1 => with::<Hmac<Sha1>>(key, parts),
        Hash::Sha256 => with::<Hmac<Sha256>>(key, parts),
        Hash::Sha384 => with::<Hmac<Sha384>>(key, parts),
    }
}

/// The pseudorandom function of TLS 1.2 (RFC 5246, section 5).
fn prf(hash: Hash, secret: &[u8], label: &[u8], seed: [&[u8]; 2], out: &mut [u8]) {
    let [first, second] = seed;
    let mut a = mac(hash, secret, &[label, first, second]);
    for chunk in out.chunks_mut(hash.length()) {
        let block = mac(hash, secret, &[&a, label, first, second]);
        chunk.iter_mut().zip(&block).for_each(|(out, byte)| *out = *byte);
        a = mac(hash, secret, &[&a]);
    }
}

/// `HKDF-Expand-Label` with an empty context (RFC 8446, section 7.1); None when the secret is too short for the hash.
pub(super) fn expand(hash: Hash, secret: &[u8], label: &str, out: &mut [u8]) -> Option<()> {
    let label = [b"tls13 ", label.as_bytes()].concat();
    let length = (out.len() as u16).to_be_bytes();
    let info = [&length[..], &[label.len() as u8], &label, &[0]].concat();
    match hash {
        Hash::Sha256 => Hkdf::<Sha256>::from_prk(secret).ok()?.expand(&info, out).ok(),
        Hash::Sha384 => Hkdf::<Sha384>::from_prk(secret).ok()?.expand(&info, out).ok(),
        Hash::Sha1 => None,
    }
}

/// The secret that follows on a `KeyUpdate` (RFC 8446, section 7.2).
pub(super) fn updated(hash: Hash, secret: &Secret) -> Option<Secret> {
    let mut next: Secret = std::iter::repeat_n(0, hash.length()).collect();
    expand(hash, secret, "traffic upd", &mut next)?;
    Some(next)
}

/// What opens records of TLS 1.3 (RFC 8446, section 7.3).
pub(super) fn opener_1_3(protection: Protection, secret: &Secret) -> Option<Opener> {
    let Protection { cipher, hash } = protection;
    if secret.len() != hash.length() {
        return None;
    }
    let mut key = [0; 32];
    let key = key.get_mut(..key_length(cipher))?;
    let mut iv = [0; 12];
    expand(hash, secret, "key", key)?;
    expand(hash, secret, "iv", &mut iv)?;
    Opener::new_1_3(cipher, key, iv)
}

/// What opens records of TLS 1.2 that the client sends, and those that the server does (RFC 5246, section 6.3).
pub(super) fn openers_1_2(
    protection: Protection,
    encrypt_then_mac: bool,
    master: &[u8],
    client: &Random,
    server: &Random,
) -> Option<[Opener; 2]> {
    let Protection { cipher, hash } = protection;
    let (mac_length, iv_length) = match cipher {
        Cipher::Aes128Gcm | Cipher::Aes256Gcm => (0, 4),
        Cipher::ChaCha20Poly1305 => (0, 12),
        Cipher::Aes128Cbc(mac) | Cipher::Aes256Cbc(mac) => (mac.length(), 0),
    };
    let mut block = [0; 2 * (48 + 32 + 12)];
    prf(hash, master, b"key expansion", [server, client], &mut block);
    let mut rest = &block[..];
    let mut take = |length: usize| -> Option<&[u8]> {
        let (part, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(part)
    };
    let macs = [take(mac_length)?, take(mac_length)?];
    let keys = [take(key_length(cipher))?, take(key_length(cipher))?];
    let ivs = [take(iv_length)?, take(iv_length)?];
    let [[client_mac, server_mac], [client_key, server_key], [client_iv, server_iv]] = [macs, keys, ivs];
    Some([
        Opener::new_1_2(cipher, client_key, client_iv, client_mac, encrypt_then_mac)?,
        Opener::new_1_2(cipher, server_key, server_iv, server_mac, encrypt_then_mac)?,
    ])
}

fn key_length(cipher: Cipher) -> usize {
    match cipher {
        Cipher::Aes128Gcm | Cipher::Aes128Cbc(_) => 16,
        Cipher::Aes256Gcm | Cipher::ChaCha20Poly1305 | Cipher::Aes256Cbc(_) => 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// RFC 8448, section 3: the server's handshake traffic secret, and the key and IV that come of it.
    #[test]
    fn keys_of_1_3_are_those_of_the_example() {
        let secret = bytes("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        let (mut key, mut iv) = ([0; 16], [0; 12]);
        expand(Hash::Sha256, &secret, "key", &mut key).unwrap();
        expand(Hash::Sha256, &secret, "iv", &mut iv).unwrap();
        assert_eq!(key[..], bytes("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(iv[..], bytes("5d313eb2671276ee13000b30"));
    }
}
