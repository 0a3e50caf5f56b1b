//! What the two sides of a connection agree on in a handshake, as far as it says how records are opened.

use super::Tls;
use super::channel::{Channel, Closed};
use super::handshake::{self, ClientHello, ServerHello};
use super::keylog::Random;
use super::sessions::Session;
use super::side::Stage;
use super::suite::TlsVersion;
use super::work::Work;
use crate::stream::{Direction, StreamSink};

/// What the two sides of a handshake say that keys come from in TLS 1.2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parties {
    pub(super) random: Random,
    pub(super) hello: ServerHello,
    /// The random under which the master secret is known where there is none under this one.
    pub(super) origin: Option<Random>,
}

/// What a handshake message says.
enum Said {
    Client(ClientHello),
    Server(ServerHello),
    EarlyData(bool),
    /// The keys change behind this record.
    NextKeys,
    /// A session may be resumed with this ticket.
    Ticket(Session),
}

impl Channel {
    /// Takes messages of the handshake.
    pub(super) fn messages<S: StreamSink>(
        &mut self,
        work: &mut Work<'_, S>,
        direction: Direction,
        plain: &[u8],
        is_in_the_clear: bool,
    ) {
        let mut said = Vec::new();
        // Where it was agreed on keys before it is renegotiated.
        let may_greet = is_in_the_clear || self.hello.is_some_and(|hello| hello.version == TlsVersion::TLS_1_2);
        let side = self.side(direction);
        let stage = side.keys.as_ref().map(|keys| keys.stage);
        side.messages.push(plain, |kind, body| match (kind, stage) {
            (handshake::CLIENT_HELLO, _) if may_greet => said.extend(ClientHello::read(body).map(Said::Client)),
            (handshake::SERVER_HELLO, _) if may_greet => said.extend(ServerHello::read(body).map(Said::Server)),
            (handshake::NEW_SESSION_TICKET, _) if may_greet => said.extend(handshake::ticket(body).map(Said::Ticket)),
            (handshake::ENCRYPTED_EXTENSIONS, Some(Stage::Handshake)) => {
                said.push(Said::EarlyData(handshake::takes_early_data(body)));
            }
            (handshake::FINISHED, Some(Stage::Handshake))
            | (handshake::END_OF_EARLY_DATA, Some(Stage::Early))
            | (handshake::KEY_UPDATE, Some(Stage::Application(_))) => said.push(Said::NextKeys),
            _ => {}
        });
        for said in said {
            match said {
                Said::Client(hello) if !is_in_the_clear => self.renews = Some(hello.random),
                Said::Server(hello) if !is_in_the_clear => self.renew(hello),
                // Anyone may send one in the clear later on; nothing follows from it.
                Said::Client(_) | Said::Server(_) if self.hello.is_some() => {}
                Said::Client(hello) => {
                    self.client = direction;
                    self.random.get_or_insert(hello.random);
                    self.resumes = [hello.session, hello.ticket];
                    self.offers_early_data = hello.early_data && !self.retried;
                    self.unblock();
                }
                Said::Server(hello) => self.server_hello(work, direction, hello),
                Said::EarlyData(takes) => {
                    self.takes_early_data = Some(takes);
                    self.unblock();
                }
                Said::NextKeys if self.is_1_3() => self.side(direction).expects_next = true,
                Said::NextKeys => {}
                Said::Ticket(ticket) => self.begin_session(work, ticket),
            }
        }
    }

    /// Takes a `ServerHello` under the protection of keys: others are agreed on (RFC 5246, section 7.4.1).
    fn renew(&mut self, hello: ServerHello) {
        if let Some(random) = self.renews.take()
            && hello.version == TlsVersion::TLS_1_2
            && !hello.compressed
        {
            let turn = self.renewed.map_or(0, |(_, turn)| turn) + 1;
            self.renewed = Some((Parties { random, hello, origin: None }, turn));
            (self.forward.next, self.backward.next) = (None, None);
            self.unblock();
        }
    }

    /// Notes that a session began here, or on the connection whose session is resumed here.
    fn begin_session<S>(&self, work: &mut Work<'_, S>, session: Session) {
        if let Some(origin) = self.origin.or(self.random).filter(|_| !self.is_1_3() && work.keys.has_sources()) {
            work.sessions.begin(session, origin);
        }
    }

    fn server_hello<S>(&mut self, work: &mut Work<'_, S>, direction: Direction, hello: ServerHello) {
        self.client = direction.opposite();
        self.unblock();
        if hello.is_retry() {
            (self.retried, self.offers_early_data) = (true, false);
            return;
        }
        let is_known = matches!(hello.version, TlsVersion::TLS_1_2 | TlsVersion::TLS_1_3);
        if !is_known || hello.compressed || hello.suite.protection().is_none() {
            self.why = Some(Closed::Unsupported(Tls { version: hello.version, suite: hello.suite }));
        } else if !work.keys.has_sources() {
            self.why = Some(Closed::NoKeys);
        }
        self.hello = Some(hello);
        let [session, ticket] = self.resumes;
        if hello.version != TlsVersion::TLS_1_2 {
            return;
        }
        if hello.session.is_some() && hello.session == session {
            self.origin = [ticket, session].iter().flatten().find_map(|session| work.sessions.origin(session));
        } else if let Some(session) = hello.session {
            self.begin_session(work, session);
        }
    }
}
