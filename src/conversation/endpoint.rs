//! Endpoints of which the reader says what is spoken there.

use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::num::ParseIntError;
use std::str::FromStr;

/// A port, of all hosts or of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// None for all hosts.
    address: Option<IpAddr>,
    port: u16,
}

/// Why a text names no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no port.
    #[error("a port is a number from 0 to 65535")]
    Port(#[from] ParseIntError),
    /// It is no address with a port.
    #[error("an endpoint is PORT, ADDRESS:PORT or [ADDRESS]:PORT")]
    Address(#[from] AddrParseError),
}

impl Endpoint {
    /// Whether an address is this endpoint.
    pub fn is(&self, address: SocketAddr) -> bool {
        self.port == address.port() && self.address.is_none_or(|host| host == address.ip())
    }
}

impl From<u16> for Endpoint {
    fn from(port: u16) -> Self {
        Self { address: None, port }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(':') {
            let address: SocketAddr = text.parse()?;
            return Ok(Self { address: Some(address.ip()), port: address.port() });
        }
        Ok(text.parse::<u16>()?.into())
    }
}
