//! What captures call hosts and interfaces.
//!
//! Reference: draft-ietf-opsawg-pcapng, sections 4.2 (interfaces) and 4.5 (name resolution).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::HashMap;

/// Hosts, or interfaces, that have names.
const MOST: usize = 65_536;
/// Bytes of all names together.
const MOST_BYTES: usize = 8 << 20;
/// A longer name is none: RFC 1035 allows 255 bytes.
const LONGEST_HOST: usize = 255;
/// Bytes that are kept of what an interface is called.
const LONGEST_INTERFACE: usize = 255;

/// What captures call hosts and interfaces, as far as they have been read. Clones are the same.
///
/// Whoever wrote the capture chose the names: they may hold any characters, and need not be true. Memory is bounded; what is
/// too much has no name.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    wants_hosts: AtomicBool,
    captures: AtomicUsize,
    hosts: AtomicUsize,
    interfaces: AtomicUsize,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    hosts: HashMap<IpAddr, Arc<str>>,
    interfaces: Vec<Arc<Interface>>,
    numbers: HashMap<Arc<Interface>, InterfaceId>,
    bytes: usize,
}

/// An interface, counted through all captures that are read as one; those of the same name and description are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl InterfaceId {
    /// None that is known.
    pub const NONE: Self = Self(0);
}

/// What a capture calls an interface. Either may be empty, and hold any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interface {
    /// Its name on the host that captured: `eth0`.
    pub name: String,
    /// What it is, in somebody's words.
    pub description: String,
    /// Its number in the capture, from 0, where it has neither.
    pub number: Option<u32>,
    /// The capture that has this number, by its name as it was given, where several are read as one.
    pub capture: Option<Arc<str>>,
}

impl Names {
    /// Has names of hosts kept from now on; else hosts have none.
    pub fn want_hosts(&self) {
        self.0.wants_hosts.store(true, Ordering::Relaxed);
    }

    /// The name of a host, the first that a capture had for it.
    pub fn host(&self, address: IpAddr) -> Option<Arc<str>> {
        if self.hosts() == 0 {
            return None;
        }
        self.0.known.read().unwrap_or_else(PoisonError::into_inner).hosts.get(&address).cloned()
    }

    /// How many hosts have names so far.
    pub fn hosts(&self) -> usize {
        self.0.hosts.load(Ordering::Acquire)
    }

    /// Whether there are several interfaces so far, so that it tells something which one it was.
    pub fn has_several_interfaces(&self) -> bool {
        self.0.interfaces.load(Ordering::Acquire) > 1
    }

    /// What an interface is called, where there are several.
    pub fn interface(&self, id: InterfaceId) -> Option<Arc<Interface>> {
        if !self.has_several_interfaces() {
            return None;
        }
        let index = (id.0 as usize).checked_sub(1)?;
        self.0.known.read().unwrap_or_else(PoisonError::into_inner).interfaces.get(index).cloned()
    }

    /// Takes note of a capture more whose names are to be added.
    pub(super) fn add_capture(&self) {
        self.0.captures.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether names of hosts are kept.
    pub(super) fn wants_hosts(&self) -> bool {
        self.0.wants_hosts.load(Ordering::Relaxed)
    }

    /// Takes the name of a host. One that looks like an address is none, as it could be taken for another host's.
    pub(super) fn add_host(&self, address: IpAddr, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        let name = name.trim();
        if name.is_empty() || name.len() > LONGEST_HOST || looks_like_address(name) {
            return;
        }
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        let has_room = known.hosts.len() < MOST && known.bytes + name.len() <= MOST_BYTES;
        if has_room && !known.hosts.contains_key(&address) {
            known.bytes += name.len();
            known.hosts.insert(address, name.into());
            self.0.hosts.store(known.hosts.len(), Ordering::Release);
        }
    }

    /// Takes what an interface is called, and its number in the capture, of which the name is given.
    pub(super) fn add_interface(
        &self,
        capture: &Arc<str>,
        number: u32,
        name: &[u8],
        description: &[u8],
    ) -> InterfaceId {
        let text = |bytes: &[u8]| {
            let bytes = bytes.get(..LONGEST_INTERFACE).unwrap_or(bytes);
            String::from_utf8_lossy(bytes).into_owned()
        };
        let (name, description) = (text(name), text(description));
        let number = (name.is_empty() && description.is_empty()).then_some(number);
        let has_others = self.0.captures.load(Ordering::Relaxed) > 1;
        let capture = number.filter(|_| has_others).map(|_| capture.clone());
        let interface = Arc::new(Interface { name, description, number, capture });
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        // Those without names are no less several.
        if let Some(same) = known.numbers.get(&interface).filter(|_| number.is_none()) {
            return *same;
        }
        let length = interface.name.len() + interface.description.len();
        if known.interfaces.len() >= MOST || known.bytes + length > MOST_BYTES {
            return InterfaceId::NONE;
        }
        known.bytes += length;
        known.interfaces.push(interface.clone());
        let id = InterfaceId(known.interfaces.len() as u32);
        known.numbers.insert(interface, id);
        self.0.interfaces.store(known.interfaces.len(), Ordering::Release);
        id
    }
}

/// Whether a text without blanks around it could be taken for an address: a word of it has no letters but those of hexadecimal
/// numbers as `inet_aton` reads them, or there is a colon, as in IPv6 and before ports.
fn looks_like_address(name: &str) -> bool {
    let is_hexadecimal = |label: &str| {
        let digits = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
        digits.is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()))
    };
    let says_something = |label: &str| label.contains(char::is_alphabetic) && !is_hexadecimal(label);
    // The second one is a colon of full width.
    name.contains([':', '\u{ff1a}']) || name.split_whitespace().any(|word| !word.split('.').any(says_something))
}
