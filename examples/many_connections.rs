//! Writes a capture of many connections that are open at once, each with a frame that is not whole and a hole in it: the most
//! that can be kept for one that is alive.
//!
//! ```sh
//! cargo run --release --example many_connections -- 270000 400 /tmp/many.pcap
//! /usr/bin/time -v target/release/kafkascope list /tmp/many.pcap >/dev/null
//! ```
//!
//! The arguments are the number of connections, the bytes of each segment, and the file. Nothing is closed, and all packets are
//! of the same second, so that no hole is given up for its age.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use etherparse::PacketBuilder;

const BROKER: ([u8; 4], u16) = ([10, 255, 255, 254], 9092);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [connections, length, file] = &arguments[..] else {
        anyhow::bail!("usage: many_connections CONNECTIONS BYTES FILE");
    };
    let (connections, length): (u32, u32) = (connections.parse()?, length.parse()?);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    out.write_all(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0])?;
    // A Metadata request of version 1 that is longer than what comes of it.
    let mut start = [0, 0, 0x10, 0, 0, 3, 0, 1, 0, 0, 0, 1, 0, 1, b'c', 0, 0, 0, 1, 0x0f, 0].to_vec();
    start.resize(length.max(21) as usize, b't');
    let behind = vec![b't'; length as usize];
    for client in 0..connections {
        let mut packet = |sequence, syn, bytes: &[u8]| packet(&mut out, client, sequence, syn, bytes);
        packet(0, true, &[])?;
        packet(1, false, &start)?;
    }
    for client in 0..connections {
        packet(&mut out, client, 1 + start.len() as u32 + length, false, &behind)?;
    }
    out.flush()?;
    Ok(())
}

fn packet(out: &mut impl Write, client: u32, sequence: u32, syn: bool, bytes: &[u8]) -> io::Result<()> {
    let [_, _, high, low] = (client / 50_000).to_be_bytes();
    let (address, port) = ([10, 0, high, low + 1], (client % 50_000) as u16 + 10_000);
    let mut builder = PacketBuilder::ipv4(address, BROKER.0, 64).tcp(port, BROKER.1, sequence, 65_535);
    if syn {
        builder = builder.syn();
    }
    let length = builder.size(bytes.len()) as u32;
    // All in the same second.
    for word in [1_764_410_400, 0, length, length] {
        out.write_all(&word.to_le_bytes())?;
    }
    builder.write(out, bytes).map_err(io::Error::other)
}
