//! Which secret is for which records of a connection.

use super::agreement::Parties;
use super::channel::Channel;
use super::cipher::Opened;
use super::handshake::ServerHello;
use super::keylog::{KeyLog, Label, Random, Secret};
use super::keys;
use super::side::{Keys, LEAST_WORK, Left, Sealed, Stage};
use super::suite::{Protection, Suite, TlsVersion};
use super::work::Work;
use crate::stream::Direction;

/// Sequence numbers that are tried with a secret of which it is not known whose a connection is.
const MOST_TRIED_NUMBERS: u64 = 32;
/// How often all secrets are tried for a connection, and what part of the work is done at once: the next segment goes on with
/// it, so that one connection does not keep all others waiting.
const MOST_ROUNDS: u32 = 32;
const SHARE: u64 = 8;
/// What it costs to derive keys, in bytes that are looked at, and to find none.
const DERIVING: u64 = 1024;
const MISSING: u64 = 64;
/// The suites of TLS 1.3 that are opened.
const SUITES: [Suite; 3] = [Suite(0x1301), Suite(0x1302), Suite(0x1303)];

impl Channel {
    /// Sees to it that a side has keys, if they are known.
    pub(super) fn has_keys<S>(&mut self, work: &mut Work<'_, S>, direction: Direction, record: &Sealed<'_>) -> bool {
        if self.side(direction).keys.is_none() {
            if self.torn && (self.random.is_none() || self.hello.is_none()) && self.rounds < MOST_ROUNDS {
                self.identify(work, direction, record);
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
        record: &mut Sealed<'_>,
    ) -> Option<(Opened, Left)> {
        let lost = record.known + record.window;
        let side = self.side(direction);
        let next = side.next.take_if(|_| side.expects_next && lost > 0)?;
        let keys = side.keys.replace(next);
        let beyond = self.next_keys(work.keys, direction);
        let side = self.side(direction);
        side.next = beyond;
        let opened = side.open(&mut Sealed { header: record.header, body: record.body, known: 0, window: lost });
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
            return keys_1_2(log, &Parties { random, hello, origin: self.origin }, is_client);
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
        let (hello, random) = (self.hello?, self.random?);
        let is_client = direction == self.client;
        if hello.version != TlsVersion::TLS_1_3 {
            let (parties, turn) = self.renewed?;
            return keys_1_2(log, &parties, is_client).filter(|_| self.side(direction).turn < turn);
        }
        let protection = hello.suite.protection()?;
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

    /// Finds out by trying whose connection it is, or in which suite, when the hello that says so is not in the capture: the
    /// secrets that were learnt last come first.
    fn identify<S>(&mut self, work: &mut Work<'_, S>, direction: Direction, record: &Sealed<'_>) {
        let log = &*work.keys;
        if std::mem::replace(&mut self.tried_news, log.news()) != log.news() {
            (self.forward.next_tried, self.backward.next_tried) = (0, 0);
        }
        let guessed = |suite: Suite| ServerHello {
            version: TlsVersion::TLS_1_3,
            suite,
            random: [0; 32],
            session: None,
            encrypt_then_mac: false,
            compressed: false,
        };
        let hellos = self.hello.map_or_else(|| SUITES.map(guessed).to_vec(), |hello| vec![hello]);
        let allowed = work.effort.allowed();
        let most = (allowed / SHARE).min(allowed.saturating_sub(self.tried));
        let connections = if self.random.is_some() { 1 } else { log.connections() };
        let is_client = direction == self.client;
        let (mut spent, mut found) = (0, None);
        // What does not open it is left as it was.
        let mut copy = record.body.to_vec();
        let mut next = self.side(direction).next_tried;
        while next < connections && found.is_none() && spent <= most {
            let Some(random) = self.random.or_else(|| log.newest(next).copied()) else { break };
            next += 1;
            spent += MISSING;
            found = hellos.iter().find_map(|hello| {
                let keys = Trial { log, random, hello, is_client }.keys();
                let opens = keys.iter().flatten().any(|keys| {
                    let (opens, looked) = tries(keys, record, &mut copy);
                    work.effort.tried_keys += 1;
                    spent += DERIVING + looked;
                    opens
                });
                opens.then_some((random, *hello))
            });
        }
        let is_round = next >= connections || found.is_some();
        self.rounds += u32::from(is_round);
        let has_untried = !is_round && self.tried.saturating_add(spent) < allowed;
        let side = self.side(direction);
        (side.next_tried, side.has_untried) = (if is_round { 0 } else { next }, has_untried);
        self.tried = self.tried.saturating_add(spent);
        work.effort.spent += spent;
        if let Some((random, hello)) = found {
            (self.random, self.hello) = (Some(random), Some(hello));
            self.unblock();
        }
    }
}

/// Keys that may be those of a connection.
struct Trial<'a> {
    log: &'a KeyLog,
    random: Random,
    hello: &'a ServerHello,
    is_client: bool,
}

impl Trial<'_> {
    fn keys(&self) -> [Option<Keys>; 2] {
        let &Self { log, random, hello, is_client } = self;
        if hello.version != TlsVersion::TLS_1_3 {
            return [keys_1_2(log, &Parties { random, hello: *hello, origin: None }, is_client), None];
        }
        [Stage::Handshake, Stage::Application(0)].map(|stage| {
            let secret = log.secret(&random, label(stage, is_client))?;
            keys_1_3(hello.suite.protection()?, stage, secret)
        })
    }
}

/// Whether keys open a record as one of the first, and how many bytes it took to find out.
fn tries(keys: &Keys, record: &Sealed<'_>, copy: &mut [u8]) -> (bool, u64) {
    let each = copy.len().max(LEAST_WORK) as u64;
    let last = (record.known + record.window).min(MOST_TRIED_NUMBERS);
    let found = (0..=last).position(|number| keys.opener.open(number, record.header, copy).is_some());
    (found.is_some(), each * (found.map_or(last, |number| number as u64) + 1))
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

fn keys_1_2(log: &KeyLog, parties: &Parties, is_client: bool) -> Option<Keys> {
    let Parties { random, hello, origin } = parties;
    let resumed = || log.secret(origin.as_ref()?, Label::Master);
    let master = log.secret(random, Label::Master).or_else(resumed)?;
    let protection = hello.suite.protection()?;
    let [client, server] = keys::openers_1_2(protection, hello.encrypt_then_mac, master, random, &hello.random)?;
    Some(Keys::new(Stage::Application(0), Secret::new(), if is_client { client } else { server }))
}
