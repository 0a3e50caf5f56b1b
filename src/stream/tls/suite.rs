//! Cipher suites: their names, and what is needed to open records in them.

use std::fmt;

/// A version of TLS, as in the protocol (RFC 8446, section 4.2.1): 0x0303 for TLS 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TlsVersion(pub u16);

impl TlsVersion {
    /// TLS 1.2 (RFC 5246).
    pub const TLS_1_2: Self = Self(0x0303);
    /// TLS 1.3 (RFC 8446).
    pub const TLS_1_3: Self = Self(0x0304);
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0x0300 => f.write_str("SSL 3.0"),
            minor @ 0x0301..=0x0304 => write!(f, "1.{}", minor - 0x0301),
            other => write!(f, "0x{other:04x}"),
        }
    }
}

/// A cipher suite by its number in the registry of IANA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Suite(pub u16);

impl fmt::Display for Suite {
    /// Its name in the registry, or its number in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some((_, name, _)) => f.write_str(name),
            None => write!(f, "0x{:04x}", self.0),
        }
    }
}

impl Suite {
    /// How records are protected with it; None where that is not supported.
    pub(super) fn protection(self) -> Option<Protection> {
        self.row().and_then(|(_, _, protection)| *protection)
    }

    fn row(self) -> Option<&'static Row> {
        SUITES.binary_search_by_key(&self.0, |(number, ..)| *number).ok().and_then(|row| SUITES.get(row))
    }
}

/// How records are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protection {
    pub(super) cipher: Cipher,
    /// The hash of the key schedule (1.3) or of the pseudorandom function (1.2).
    pub(super) hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
    /// AES in CBC mode with keys of 16 bytes, and a MAC (RFC 5246, section 6.2.3.2).
    Aes128Cbc(Hash),
    /// The same with keys of 32 bytes.
    Aes256Cbc(Hash),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha384,
}

impl Hash {
    /// Bytes of its output.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

type Row = (u16, &'static str, Option<Protection>);

#[allow(clippy::unnecessary_wraps, reason = "it stands in a column of the table where None does as well")]
const fn with(cipher: Cipher, hash: Hash) -> Option<Protection> {
    Some(Protection { cipher, hash })
}

const GCM_128: Option<Protection> = with(Cipher::Aes128Gcm, Hash::Sha256);
const GCM_256: Option<Protection> = with(Cipher::Aes256Gcm, Hash::Sha384);
const CHACHA: Option<Protection> = with(Cipher::ChaCha20Poly1305, Hash::Sha256);
const CBC_128: Option<Protection> = with(Cipher::Aes128Cbc(Hash::Sha1), Hash::Sha256);
const CBC_256: Option<Protection> = with(Cipher::Aes256Cbc(Hash::Sha1), Hash::Sha256);
const CBC_128_SHA256: Option<Protection> = with(Cipher::Aes128Cbc(Hash::Sha256), Hash::Sha256);
const CBC_256_SHA256: Option<Protection> = with(Cipher::Aes256Cbc(Hash::Sha256), Hash::Sha256);
const CBC_256_SHA384: Option<Protection> = with(Cipher::Aes256Cbc(Hash::Sha384), Hash::Sha384);

/// The suites that clients and brokers can be set to, in order of their numbers (registry "TLS Cipher Suites" of IANA).
#[rustfmt::skip]
const SUITES: &[Row] = &[
    (0x0001, "TLS_RSA_WITH_NULL_MD5", None),
    (0x0002, "TLS_RSA_WITH_NULL_SHA", None),
    (0x0004, "TLS_RSA_WITH_RC4_128_MD5", None),
    (0x0005, "TLS_RSA_WITH_RC4_128_SHA", None),
    (0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA", None),
    (0x0013, "TLS_DHE_DSS_WITH_3DES_EDE_CBC_SHA", None),
    (0x0016, "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA", None),
    (0x001b, "TLS_DH_anon_WITH_3DES_EDE_CBC_SHA", None),
    (0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA", CBC_128),
    (0x0032, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA", CBC_128),
    (0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", CBC_128),
    (0x0034, "TLS_DH_anon_WITH_AES_128_CBC_SHA", CBC_128),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA", CBC_256),
    (0x0038, "TLS_DHE_DSS_WITH_AES_256_CBC_SHA", CBC_256),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", CBC_256),
    (0x003a, "TLS_DH_anon_WITH_AES_256_CBC_SHA", CBC_256),
    (0x003b, "TLS_RSA_WITH_NULL_SHA256", None),
    (0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256", CBC_256_SHA256),
    (0x0040, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0x0041, "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA", None),
    (0x0045, "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA", None),
    (0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0x006a, "TLS_DHE_DSS_WITH_AES_256_CBC_SHA256", CBC_256_SHA256),
    (0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", CBC_256_SHA256),
    (0x006c, "TLS_DH_anon_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0x006d, "TLS_DH_anon_WITH_AES_256_CBC_SHA256", CBC_256_SHA256),
    (0x0084, "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA", None),
    (0x0088, "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA", None),
    (0x008c, "TLS_PSK_WITH_AES_128_CBC_SHA", CBC_128),
    (0x008d, "TLS_PSK_WITH_AES_256_CBC_SHA", CBC_256),
    (0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256", GCM_128),
    (0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384", GCM_256),
    (0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", GCM_128),
    (0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", GCM_256),
    (0x00a2, "TLS_DHE_DSS_WITH_AES_128_GCM_SHA256", GCM_128),
    (0x00a3, "TLS_DHE_DSS_WITH_AES_256_GCM_SHA384", GCM_256),
    (0x00a6, "TLS_DH_anon_WITH_AES_128_GCM_SHA256", GCM_128),
    (0x00a7, "TLS_DH_anon_WITH_AES_256_GCM_SHA384", GCM_256),
    (0x00a8, "TLS_PSK_WITH_AES_128_GCM_SHA256", GCM_128),
    (0x00a9, "TLS_PSK_WITH_AES_256_GCM_SHA384", GCM_256),
    (0x00aa, "TLS_DHE_PSK_WITH_AES_128_GCM_SHA256", GCM_128),
    (0x00ab, "TLS_DHE_PSK_WITH_AES_256_GCM_SHA384", GCM_256),
    (0x1301, "TLS_AES_128_GCM_SHA256", GCM_128),
    (0x1302, "TLS_AES_256_GCM_SHA384", GCM_256),
    (0x1303, "TLS_CHACHA20_POLY1305_SHA256", CHACHA),
    (0x1304, "TLS_AES_128_CCM_SHA256", None),
    (0x1305, "TLS_AES_128_CCM_8_SHA256", None),
    (0xc002, "TLS_ECDH_ECDSA_WITH_RC4_128_SHA", None),
    (0xc003, "TLS_ECDH_ECDSA_WITH_3DES_EDE_CBC_SHA", None),
    (0xc004, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA", CBC_128),
    (0xc005, "TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA", CBC_256),
    (0xc006, "TLS_ECDHE_ECDSA_WITH_NULL_SHA", None),
    (0xc007, "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", None),
    (0xc008, "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA", None),
    (0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", CBC_128),
    (0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", CBC_256),
    (0xc00c, "TLS_ECDH_RSA_WITH_RC4_128_SHA", None),
    (0xc00d, "TLS_ECDH_RSA_WITH_3DES_EDE_CBC_SHA", None),
    (0xc00e, "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA", CBC_128),
    (0xc00f, "TLS_ECDH_RSA_WITH_AES_256_CBC_SHA", CBC_256),
    (0xc010, "TLS_ECDHE_RSA_WITH_NULL_SHA", None),
    (0xc011, "TLS_ECDHE_RSA_WITH_RC4_128_SHA", None),
    (0xc012, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", None),
    (0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", CBC_128),
    (0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", CBC_256),
    (0xc018, "TLS_ECDH_anon_WITH_AES_128_CBC_SHA", CBC_128),
    (0xc019, "TLS_ECDH_anon_WITH_AES_256_CBC_SHA", CBC_256),
    (0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", CBC_256_SHA384),
    (0xc025, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0xc026, "TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA384", CBC_256_SHA384),
    (0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", CBC_256_SHA384),
    (0xc029, "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA256", CBC_128_SHA256),
    (0xc02a, "TLS_ECDH_RSA_WITH_AES_256_CBC_SHA384", CBC_256_SHA384),
    (0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", GCM_128),
    (0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", GCM_256),
    (0xc02d, "TLS_ECDH_ECDSA_WITH_AES_128_GCM_SHA256", GCM_128),
    (0xc02e, "TLS_ECDH_ECDSA_WITH_AES_256_GCM_SHA384", GCM_256),
    (0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", GCM_128),
    (0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", GCM_256),
    (0xc031, "TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256", GCM_128),
    (0xc032, "TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384", GCM_256),
    (0xc035, "TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA", CBC_128),
    (0xc036, "TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA", CBC_256),
    (0xc050, "TLS_RSA_WITH_ARIA_128_GCM_SHA256", None),
    (0xc051, "TLS_RSA_WITH_ARIA_256_GCM_SHA384", None),
    (0xc05c, "TLS_ECDHE_ECDSA_WITH_ARIA_128_GCM_SHA256", None),
    (0xc05d, "TLS_ECDHE_ECDSA_WITH_ARIA_256_GCM_SHA384", None),
    (0xc060, "TLS_ECDHE_RSA_WITH_ARIA_128_GCM_SHA256", None),
    (0xc061, "TLS_ECDHE_RSA_WITH_ARIA_256_GCM_SHA384", None),
    (0xc072, "TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256", None),
    (0xc073, "TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384", None),
    (0xc076, "TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256", None),
    (0xc077, "TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384", None),
    (0xc09c, "TLS_RSA_WITH_AES_128_CCM", None),
    (0xc09d, "TLS_RSA_WITH_AES_256_CCM", None),
    (0xc09e, "TLS_DHE_RSA_WITH_AES_128_CCM", None),
    (0xc09f, "TLS_DHE_RSA_WITH_AES_256_CCM", None),
    (0xc0a0, "TLS_RSA_WITH_AES_128_CCM_8", None),
    (0xc0a1, "TLS_RSA_WITH_AES_256_CCM_8", None),
    (0xc0ac, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM", None),
    (0xc0ad, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM", None),
    (0xc0ae, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", None),
    (0xc0af, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8", None),
    (0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", CHACHA),
    (0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", CHACHA),
    (0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", CHACHA),
    (0xccab, "TLS_PSK_WITH_CHACHA20_POLY1305_SHA256", CHACHA),
    (0xccac, "TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256", CHACHA),
    (0xccad, "TLS_DHE_PSK_WITH_CHACHA20_POLY1305_SHA256", CHACHA),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_in_order_and_their_names_say_what_they_are() {
        assert!(SUITES.is_sorted_by(|(before, ..), (after, ..)| before < after));
        for (_, name, protection) in SUITES {
            let Some(Protection { cipher, hash }) = protection else { continue };
            let (key, mac) = match cipher {
                Cipher::Aes128Gcm => ("AES_128_GCM", ""),
                Cipher::Aes256Gcm => ("AES_256_GCM", ""),
                Cipher::ChaCha20Poly1305 => ("CHACHA20_POLY1305", ""),
                Cipher::Aes128Cbc(mac) => ("AES_128_CBC", mac.end()),
                Cipher::Aes256Cbc(mac) => ("AES_256_CBC", mac.end()),
            };
            assert!(name.contains(key), "{name}");
            assert!(name.ends_with(mac), "{name}");
            // RFC 5246, section 5: SHA-256, unless the suite says otherwise, which those with SHA-384 do.
            assert_eq!(*hash == Hash::Sha384, name.ends_with("_SHA384"), "{name}");
        }
        assert_eq!(Suite(0x1301).to_string(), "TLS_AES_128_GCM_SHA256");
        assert_eq!(Suite(0x7a7a).to_string(), "0x7a7a");
        assert_eq!(TlsVersion::TLS_1_3.to_string(), "1.3");
    }

    impl Hash {
        fn end(self) -> &'static str {
            match self {
                Self::Sha1 => "_SHA",
                Self::Sha256 => "_SHA256",
                Self::Sha384 => "_SHA384",
            }
        }
    }
}
