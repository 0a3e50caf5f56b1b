//! What a capture file holds: packets.

use std::borrow::Cow;

use super::bytes::{ByteOrder, padded};
use super::{InterfaceId, Time};

/// Where a byte came from, and can be read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which input, counted from 0; a single reader knows of no other. Datagrams that are put together can have a source of
    /// their own.
    pub source: u16,
    /// The interface of the packet that brought it.
    pub interface: InterfaceId,
    /// How many bytes of the input are before it.
    pub offset: u64,
}

impl Place {
    /// The place of bytes that lie in no input and are not kept.
    pub const NOWHERE: Self = Self::new(u16::MAX, 0);

    /// The place of a byte of no known interface.
    pub const fn new(source: u16, offset: u64) -> Self {
        Self { source, interface: InterfaceId::NONE, offset }
    }

    /// The same place, brought by an interface.
    #[must_use]
    pub const fn from_interface(self, interface: InterfaceId) -> Self {
        Self { interface, ..self }
    }

    /// The place so many bytes further on.
    #[must_use]
    pub const fn after(self, bytes: u64) -> Self {
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }
}

/// A captured packet, as the file has it.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// The number of the packet in its file, from 1.
    pub number: u64,
    /// When it was captured. A Simple Packet Block has no time: it gets the time of the packet before it.
    pub time: Time,
    /// The interface, counted from 0 through all sections of the file; always 0 in pcap.
    pub interface: u32,
    /// What the data begins with.
    pub link: LinkType,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// Where they lie.
    pub place: Place,
    /// How long the packet was on the network; never less than the data, whatever the file says.
    pub original_length: u32,
    /// The comments that pcapng keeps beside a packet.
    pub comments: Comments<'a>,
    /// Lines of a TLS key log that stand between the packet before and this one.
    pub secrets: &'a [u8],
}

/// A link-layer header type, by its number in the list of tcpdump.org.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a protocol family in the byte order of the host that captured.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IP without a link layer, as numbered on most systems.
    pub const RAW_12: Self = Self(12);
    /// IP without a link layer, as numbered on `OpenBSD`.
    pub const RAW_14: Self = Self(14);
    /// IP without a link layer.
    pub const RAW: Self = Self(101);
    /// `OpenBSD` loopback: a protocol family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without a link layer.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link layer.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

/// The comments of a packet, found in its options only when asked for.
#[derive(Clone, Debug)]
pub struct Comments<'a> {
    options: Options<'a>,
    /// How many bytes of the input are before the options.
    offset: u64,
}

/// Where comments can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommentsAt {
    /// The place of the options that hold them.
    pub place: Place,
    /// The length of the options in bytes.
    pub length: u32,
    order: ByteOrder,
}

impl CommentsAt {
    /// The comments in the bytes that were read again.
    pub fn comments(self, options: &[u8]) -> Comments<'_> {
        Comments::new(options, self.order, self.place.offset)
    }
}

impl Packet<'_> {
    /// Where its comments can be read again; None when it has none.
    pub fn comments_at(&self) -> Option<CommentsAt> {
        self.comments.clone().next()?;
        let Options { options, order } = self.comments.options;
        let place = Place { offset: self.comments.offset, ..self.place };
        Some(CommentsAt { place, length: options.len() as u32, order })
    }
}

impl<'a> Comments<'a> {
    pub(super) fn new(options: &'a [u8], order: ByteOrder, offset: u64) -> Self {
        let options = Options { options, order };
        Self { options, offset }
    }
}

impl<'a> Iterator for Comments<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        const COMMENT: u16 = 1;
        self.options.find(|&(code, _)| code == COMMENT).map(|(_, value)| String::from_utf8_lossy(value))
    }
}

/// The options at the end of a pcapng block: code and value, up to the end or to the first that is broken.
#[derive(Clone, Debug)]
pub(super) struct Options<'a> {
    pub(super) options: &'a [u8],
    pub(super) order: ByteOrder,
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        const END_OF_OPTIONS: u16 = 0;
        let (&[code_0, code_1, length_0, length_1], rest) = self.options.split_first_chunk()?;
        let code = self.order.u16([code_0, code_1]);
        let length = usize::from(self.order.u16([length_0, length_1]));
        if code == END_OF_OPTIONS {
            self.options = &[];
            return None;
        }
        let value = rest.get(..length)?;
        self.options = rest.get(padded(length)..).unwrap_or_default();
        Some((code, value))
    }
}
