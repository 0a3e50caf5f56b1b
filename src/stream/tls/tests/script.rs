//! Connections in TLS, as rustls has them.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use rustls::client::Resumption;
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::server::ServerSessionMemoryCache;
use rustls::{
    ClientConfig, ClientConnection, Error, HandshakeKind, NamedGroup, ProtocolVersion, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite,
};

use crate::stream::Direction;

/// What was said on a connection, and its key log.
pub(super) struct Script {
    /// Bytes on the wire, in their order.
    pub(super) steps: Vec<(Direction, Vec<u8>)>,
    pub(super) log: String,
    pub(super) resumed: bool,
    pub(super) early: bool,
    pub(super) is_1_3: bool,
    said: [Vec<u8>; 2],
    /// The plaintext of each record; None where it is not application data.
    records: [Vec<Option<Vec<u8>>>; 2],
}

impl Script {
    pub(super) fn empty() -> Self {
        let (said, records) = (<[Vec<u8>; 2]>::default(), <[Vec<Option<Vec<u8>>>; 2]>::default());
        Self { steps: Vec::new(), log: String::new(), resumed: false, early: false, is_1_3: false, said, records }
    }

    pub(super) fn say(&mut self, direction: Direction, words: &[u8]) {
        self.said[direction as usize].extend_from_slice(words);
    }

    pub(super) fn said(&self, direction: Direction) -> Vec<u8> {
        self.said[direction as usize].clone()
    }

    pub(super) fn records(&self, direction: Direction) -> Vec<Option<Vec<u8>>> {
        self.records[direction as usize].clone()
    }
}

/// What is to be said.
#[derive(Clone)]
pub(super) struct Talk {
    pub(super) suite: SupportedCipherSuite,
    /// Keys are updated in between.
    pub(super) updates: bool,
    /// The client's first words do not wait for the handshake, if a session is resumed.
    pub(super) early: bool,
    /// The client has to try again.
    pub(super) retry: bool,
    /// The length of one answer.
    pub(super) large: usize,
    /// What all that is random comes from.
    pub(super) seed: u64,
}

/// Randomness that is the same for the same seed.
#[derive(Debug)]
struct Seeded(Mutex<fastrand::Rng>);

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.0.lock().unwrap().fill(bytes);
        Ok(())
    }
}

/// A key exchange whose keys are no secret. What depends on them is random all the same, by the randoms of the hellos.
#[derive(Debug, Clone, Copy)]
struct Exchange(NamedGroup);

static EXCHANGES: [Exchange; 2] = [Exchange(NamedGroup::X25519), Exchange(NamedGroup::secp256r1)];

impl SupportedKxGroup for Exchange {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(*self))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, _: &[u8]) -> Result<SharedSecret, Error> {
        Ok(SharedSecret::from(&[7; 32][..]))
    }

    fn pub_key(&self) -> &[u8] {
        &[4; 65]
    }

    fn group(&self) -> NamedGroup {
        self.0
    }
}

/// A key for Ed25519, whose signatures are not random (RFC 8032), in the form of RFC 8410, section 7.
fn signing_key() -> PrivatePkcs8KeyDer<'static> {
    let header = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    PrivatePkcs8KeyDer::from([&header[..], &[9; 32]].concat())
}

/// Seeds to try: one, or as many as are wanted by hand (`KAFKASCOPE_ROUNDS=100`).
pub(super) fn seeds() -> std::ops::RangeInclusive<u64> {
    1..=std::env::var("KAFKASCOPE_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

pub(super) fn suites() -> Vec<SupportedCipherSuite> {
    let is_fit = |suite: &SupportedCipherSuite| !format!("{suite:?}").contains("_RSA_");
    ring::ALL_CIPHER_SUITES.iter().copied().filter(is_fit).collect()
}

#[derive(Debug, Default)]
struct Log(Mutex<String>);

impl rustls::KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut text = self.0.lock().unwrap();
        write!(text, "{label} ").unwrap();
        for (number, byte) in client_random.iter().chain(secret).enumerate() {
            let space = if number == client_random.len() { " " } else { "" };
            write!(text, "{space}{byte:02x}").unwrap();
        }
        text.push('\n');
    }
}

impl Talk {
    pub(super) fn new(suite: SupportedCipherSuite) -> Self {
        Self { suite, updates: false, early: false, retry: false, large: 40_000, seed: 1 }
    }

    pub(super) fn script(&self) -> Script {
        let (client, server, log) = self.configs();
        self.connect(&client, &server, &log)
    }

    /// A connection, and another one that resumes its session.
    pub(super) fn resumed(&self) -> [Script; 2] {
        let (client, server, log) = self.configs();
        [self.connect(&client, &server, &log), self.connect(&client, &server, &log)]
    }

    fn configs(&self) -> (Arc<ClientConfig>, Arc<ServerConfig>, Arc<Log>) {
        let key = rcgen::KeyPair::try_from(&signing_key()).unwrap();
        let certificate = rcgen::CertificateParams::new(["broker".to_owned()]).unwrap().self_signed(&key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        let versions: &[_] = match self.suite.version().version {
            ProtocolVersion::TLSv1_3 => &[&rustls::version::TLS13],
            _ => &[&rustls::version::TLS12],
        };
        let seeded: &'static Seeded = Box::leak(Box::new(Seeded(Mutex::new(fastrand::Rng::with_seed(self.seed)))));
        let provider = CryptoProvider {
            cipher_suites: vec![self.suite],
            kx_groups: EXCHANGES.iter().map(|exchange| exchange as _).collect(),
            secure_random: seeded,
            ..ring::default_provider()
        };
        let mut picky = provider.clone();
        if self.retry {
            picky.kx_groups.rotate_left(1);
            picky.kx_groups.truncate(1);
        }
        let mut client = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let log = Arc::new(Log::default());
        client.key_log = log.clone();
        client.enable_early_data = self.early;
        client.resumption = Resumption::in_memory_sessions(8);
        let mut server = ServerConfig::builder_with_provider(Arc::new(picky))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], signing_key().into())
            .unwrap();
        server.session_storage = ServerSessionMemoryCache::new(8);
        server.max_early_data_size = if self.early { 1 << 14 } else { 0 };
        (Arc::new(client), Arc::new(server), log)
    }

    fn connect(&self, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, log: &Log) -> Script {
        log.0.lock().unwrap().clear();
        let name = ServerName::try_from("broker").unwrap();
        let mut wire = Wire {
            client: ClientConnection::new(client.clone(), name).unwrap(),
            server: ServerConnection::new(server.clone()).unwrap(),
            steps: Vec::new(),
            said: [Vec::new(), Vec::new()],
            records: [Vec::new(), Vec::new()],
        };
        let mut early = false;
        if let Some(mut data) = wire.client.early_data() {
            data.write_all(b"what does not wait").unwrap();
            early = true;
        }
        wire.transfer();
        if early {
            early = wire.client.is_early_data_accepted();
            let mut data = Vec::new();
            wire.server.early_data().unwrap().read_to_end(&mut data).unwrap();
            assert_eq!(data, b"what does not wait");
            wire.said[0].extend(data);
        }
        let resumed = wire.server.handshake_kind() == Some(HandshakeKind::Resumed);
        for turn in 0..6_u8 {
            let asked: Vec<u8> = (0..300 + 40 * usize::from(turn)).map(|at| (at % 251) as u8 ^ turn).collect();
            wire.say(Direction::Forward, &asked);
            let length = if turn == 3 { self.large } else { 900 };
            let answer: Vec<u8> = (0..length).map(|at| (at % 241) as u8 ^ turn ^ 0x80).collect();
            wire.say(Direction::Backward, &answer);
            if self.updates && turn % 2 == 1 && client.crypto_provider().cipher_suites[0].tls13().is_some() {
                wire.client.refresh_traffic_keys().unwrap();
                wire.server.refresh_traffic_keys().unwrap();
                wire.transfer();
            }
        }
        wire.client.send_close_notify();
        wire.server.send_close_notify();
        wire.transfer();
        let is_1_3 = wire.client.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let Wire { steps, said, mut records, .. } = wire;
        if early {
            // The early data is the first protected record of the client.
            records[0].clear();
        }
        Script { steps, log: log.0.lock().unwrap().clone(), resumed, early, is_1_3, said, records }
    }
}

struct Wire {
    client: ClientConnection,
    server: ServerConnection,
    steps: Vec<(Direction, Vec<u8>)>,
    said: [Vec<u8>; 2],
    records: [Vec<Option<Vec<u8>>>; 2],
}

impl Wire {
    /// Carries bytes to and fro until neither side has any.
    fn transfer(&mut self) {
        loop {
            let mut asked = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut asked).unwrap();
            }
            let mut answered = Vec::new();
            self.step(Direction::Forward, &asked, None);
            let mut rest = &asked[..];
            while !rest.is_empty() {
                self.server.read_tls(&mut rest).unwrap();
                self.server.process_new_packets().unwrap();
            }
            while self.server.wants_write() {
                self.server.write_tls(&mut answered).unwrap();
            }
            self.step(Direction::Backward, &answered, None);
            let mut rest = &answered[..];
            while !rest.is_empty() {
                self.client.read_tls(&mut rest).unwrap();
                self.client.process_new_packets().unwrap();
            }
            if asked.is_empty() && answered.is_empty() {
                break;
            }
        }
    }

    fn say(&mut self, direction: Direction, words: &[u8]) {
        // So much fits into the buffers of rustls.
        for words in words.chunks(1 << 14) {
            let mut bytes = Vec::new();
            self.said[direction as usize].extend_from_slice(words);
            let mut heard = vec![0; words.len()];
            match direction {
                Direction::Forward => {
                    self.client.writer().write_all(words).unwrap();
                    while self.client.wants_write() {
                        self.client.write_tls(&mut bytes).unwrap();
                    }
                    self.step(direction, &bytes, Some(words));
                    let mut rest = &bytes[..];
                    while !rest.is_empty() {
                        self.server.read_tls(&mut rest).unwrap();
                        self.server.process_new_packets().unwrap();
                    }
                    self.server.reader().read_exact(&mut heard).unwrap();
                }
                Direction::Backward => {
                    self.server.writer().write_all(words).unwrap();
                    while self.server.wants_write() {
                        self.server.write_tls(&mut bytes).unwrap();
                    }
                    self.step(direction, &bytes, Some(words));
                    let mut rest = &bytes[..];
                    while !rest.is_empty() {
                        self.client.read_tls(&mut rest).unwrap();
                        self.client.process_new_packets().unwrap();
                    }
                    self.client.reader().read_exact(&mut heard).unwrap();
                }
            }
            assert_eq!(heard, words);
        }
    }

    /// Notes bytes on the wire. Records of application data are as long as can be (RFC 8446, section 5.1).
    fn step(&mut self, direction: Direction, bytes: &[u8], words: Option<&[u8]>) {
        if bytes.is_empty() {
            return;
        }
        self.steps.push((direction, bytes.to_vec()));
        let mut words = words.into_iter().flat_map(|words| words.chunks(1 << 14));
        let mut rest = bytes;
        while let [_, _, _, high, low, behind @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            // A key update goes before the words.
            let is_words = length > 40 && rest[0] == 23;
            self.records[direction as usize].push(if is_words { words.next().map(<[u8]>::to_vec) } else { None });
            rest = &behind[length..];
        }
    }
}
