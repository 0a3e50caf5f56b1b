//! Sessions of TLS 1.2 that may be resumed (RFC 5246, section 7.3; RFC 5077).

use std::collections::VecDeque;

use foldhash::HashMap;
use sha2::{Digest, Sha256};

use super::keylog::Random;

/// What a session is known by: the hash of its id or its ticket, which may be long.
pub(super) type Session = [u8; 32];

/// So many are remembered; those that were heard of first are forgotten.
const MOST: usize = 1 << 16;

/// On which connections sessions began: their master secrets are in the key log under these randoms.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    origins: HashMap<Session, Random>,
    /// In the order in which they were heard of.
    order: VecDeque<Session>,
}

/// The session with an id or a ticket; None where that is empty.
pub(super) fn session(name: &[u8]) -> Option<Session> {
    (!name.is_empty()).then(|| Sha256::digest(name).into())
}

impl Sessions {
    /// Notes where a session began.
    pub(super) fn begin(&mut self, session: Session, origin: Random) {
        if self.origins.insert(session, origin).is_some() {
            return;
        }
        self.order.push_back(session);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.origins.remove(&oldest);
        }
    }

    /// Where a session began.
    pub(super) fn origin(&self, session: &Session) -> Option<Random> {
        self.origins.get(session).copied()
    }
}
