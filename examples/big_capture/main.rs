//! Writes big captures of plausible Kafka traffic, to measure with and to try limits.
//!
//! ```sh
//! cargo run --release --example big_capture -- --size 1GB /tmp/big.pcap
//! cargo run --release --example big_capture -- --size 200MB --mix fetch --codec zstd --segment-size 65495 /tmp/fetch.pcap
//! cargo run --release --example big_capture -- --mix produce=1,small=50 --loss 1 --reorder 5 /tmp/bad.pcap
//! cargo run --release --example big_capture -- --size 3MB - | kafkascope export -
//! ```
//!
//! The same options give the same bytes. Memory does not grow with the size. Connections begin with a handshake,
//! ApiVersions and Metadata; what follows is drawn by the weights of `--mix`: Produce and Fetch with batches of records
//! whose values are JSON, Metadata of a cluster of 40 topics, and small messages (heartbeats, commits, offsets,
//! coordinators, ApiVersions). Up to three requests of a connection are under way at once, and the segments of
//! connections lie between each other. At the end all requests are answered and all connections are closed.

mod clients;
mod network;
mod traffic;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;

/// Writes a big pcap file of plausible Kafka traffic.
#[derive(Debug, Parser)]
struct Arguments {
    /// The file to write; `-` for standard output
    file: PathBuf,
    #[command(flatten)]
    options: clients::Options,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let out: Box<dyn Write> = if arguments.file.as_os_str() == "-" {
        Box::new(io::stdout().lock())
    } else {
        let file = File::create(&arguments.file);
        Box::new(file.with_context(|| format!("cannot write {}", arguments.file.display()))?)
    };
    let packets = clients::generate(&arguments.options, BufWriter::with_capacity(1 << 20, out))?;
    eprintln!("{packets} packets");
    Ok(())
}
