//! Which secret is for which records of a connection.

use super::channel::{Channel, Work};
use super::cipher::{HEADER, Opened};
use super::handshake::ServerHello;
use super::keylog::{KeyLog, Label, Random, Secret};
use super::keys;
use super::side::{Keys, LEAST_WORK, Left, Stage};
use super::suite::{Protection, Suite, TlsVersion};
use crate::stream::Direction;

/// Secrets of a key log that are tried when it is not known whose a connection is, and sequence numbers with each.
const MOST_TRIED: usize = 4096;
const MOST_TRIED_NUMBERS: u64 = 32;
/// Records of a connection with which that is tried.
const MOST_TRIES: u32 = 32;
/// What it costs to derive keys, in bytes that are looked at.
const DERIVING: u64 = 1024;

impl Channel {
    /// Sees to it that a side has keys, if they are known.
    pub(super) fn has_keys<S>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        header: [u8; HEADER],
        body: &mut [u8],
        window: u64,
    ) -> bool {
        if self.side(direction).keys.is_none() {
            if self.torn && (self.random.is_none() || self.hello.is_none()) && self.tries < MOST_TRIES {
                self.tries += 1;
                self.identify(work, direction, header, body, window.min(MOST_TRIED_NUMBERS));
            }
            let keys = self.first_keys(work.keys, direction);
            self.side(direction).keys = keys;
        }
        let side = self.side(direction);
        if side.keys.is_some() && side.next.is_none() {
            let next = self.next_keys(work.keys, direction);
            self.side(direction).next = next;
        }
        self.side(direction).keys.is_some()
    }

    /// Opens a record behind two changes of keys, of which the first was said before bytes were lost.
    pub(super) fn open_beyond<S>(
        &mut self,
        work: &Work<'_, S>,
        direction: Direction,
        header: [u8; HEADER],
        body: &mut [u8],
        window: u64,
    ) -> Option<(Opened, Left)> {
        let side = self.side(direction);
        let next = side.next.take_if(|_| side.expects_next && window > 0)?;
        let keys = side.keys.replace(next);
        let beyond = self.next_keys(work.keys, direction);
        let side = self.side(direction);
        side.next = beyond;
        let opened = side.open(header, body, 0, window);
        if opened.is_none() {
            side.next = side.keys.take();
            side.keys = keys;
        }
        opened
    }

    /// Whether the next keys are needed and not known yet.
    pub(super) fn lacks_next(&mut self, direction: Direction) -> bool {
        let side = self.side(direction);
        side.expects_next && side.next.is_none()
    }

    pub(super) fn first_keys(&self, log: &KeyLog, direction: Direction) -> Option<Keys> {
        let (hello, random) = (self.hello?, self.random?);
        let protection = hello.suite.protection()?;
        let is_client = direction == self.client;
        if hello.version != TlsVersion::TLS_1_3 {
            return keys_1_2(log, &hello, &random, is_client);
        }
        if is_client && self.offers_early_data {
            let server = if self.client == Direction::Forward { &self.backward } else { &self.forward };
            let is_past = server.keys.as_ref().is_some_and(|keys| matches!(keys.stage, Stage::Application(_)));
            if self.takes_early_data.is_none() && !is_past {
                return None;
            }
            let early = log.secret(&random, Label::ClientEarly);
            if let Some(early) = early.filter(|_| self.takes_early_data != Some(false)) {
                return keys_1_3(protection, Stage::Early, early);
            }
        }
        let secret = |stage| log.secret(&random, label(stage, is_client));
        let handshake = secret(Stage::Handshake).and_then(|secret| keys_1_3(protection, Stage::Handshake, secret));
        handshake.or_else(|| {
            let stage = Stage::Application(0);
            keys_1_3(protection, stage, secret(stage)?)
        })
    }

    /// The keys behind those that a side has.
    pub(super) fn next_keys(&mut self, log: &KeyLog, direction: Direction) -> Option<Keys> {
        let (hello, random) = (self.hello.filter(|hello| hello.version == TlsVersion::TLS_1_3)?, self.random?);
        let protection = hello.suite.protection()?;
        let is_client = direction == self.client;
        let keys = self.side(direction).keys.as_ref()?;
        let stage = match keys.stage {
            Stage::Early => Stage::Handshake,
            Stage::Handshake => Stage::Application(0),
            Stage::Application(updates) => {
                let secret = keys::updated(protection.hash, &keys.secret)?;
                return keys_1_3(protection, Stage::Application(updates + 1), &secret);
            }
        };
        keys_1_3(protection, stage, log.secret(&random, label(stage, is_client))?)
    }

    /// Finds out by trying whose connection it is, or in which suite, when the hello that says so is not in the capture.
    fn identify<S>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        header: [u8; HEADER],
        body: &mut [u8],
        window: u64,
    ) {
        let log = &*work.keys;
        let is_client = direction == self.client;
        let guessed = |suite: Suite| ServerHello {
            version: TlsVersion::TLS_1_3,
            suite,
            random: [0; 32],
            encrypt_then_mac: false,
            compressed: false,
        };
        let hellos = match self.hello {
            Some(hello) => vec![hello],
            None => [0x1301, 0x1302, 0x1303].map(|suite| guessed(Suite(suite))).to_vec(),
        };
        for hello in hellos {
            let Some(protection) = hello.suite.protection() else { continue };
            let is_1_3 = hello.version == TlsVersion::TLS_1_3;
            let first = if is_1_3 { label(Stage::Handshake, is_client) } else { Label::Master };
            let randoms: Vec<Random> = match self.random {
                Some(random) => vec![random],
                None => log.all_with(first).take(MOST_TRIED).copied().collect(),
            };
            for random in randoms {
                let trying = 2 * (DERIVING + (window + 1) * body.len().max(LEAST_WORK) as u64);
                self.tried = self.tried.saturating_add(trying);
                work.effort.spent += trying;
                if self.tried > work.effort.allowed() {
                    return;
                }
                let of_stage = |stage| keys_1_3(protection, stage, log.secret(&random, label(stage, is_client))?);
                let keys = if is_1_3 {
                    [of_stage(Stage::Handshake), of_stage(Stage::Application(0))]
                } else {
                    [keys_1_2(log, &hello, &random, is_client), None]
                };
                // On a copy: it is opened again in its place.
                let mut copy = body.to_vec();
                let mut opens =
                    |keys: &Keys| (0..=window).any(|number| keys.opener.open(number, header, &mut copy).is_some());
                if keys.iter().flatten().any(&mut opens) {
                    (self.random, self.hello) = (Some(random), Some(hello));
                    self.unblock();
                    return;
                }
            }
        }
    }
}

fn label(stage: Stage, is_client: bool) -> Label {
    match (stage, is_client) {
        (Stage::Early, _) => Label::ClientEarly,
        (Stage::Handshake, true) => Label::ClientHandshake,
        (Stage::Handshake, false) => Label::ServerHandshake,
        (Stage::Application(_), true) => Label::Client,
        (Stage::Application(_), false) => Label::Server,
    }
}

fn keys_1_3(protection: Protection, stage: Stage, secret: &Secret) -> Option<Keys> {
    Some(Keys::new(stage, secret.clone(), keys::opener_1_3(protection, secret)?))
}

fn keys_1_2(log: &KeyLog, hello: &ServerHello, random: &Random, is_client: bool) -> Option<Keys> {
    let master = log.secret(random, Label::Master)?;
    let protection = hello.suite.protection()?;
    let [client, server] = keys::openers_1_2(protection, hello.encrypt_then_mac, master, random, &hello.random)?;
    Some(Keys::new(Stage::Application(0), Secret::new(), if is_client { client } else { server }))
}
