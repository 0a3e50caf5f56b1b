//! Captures packets for `kafkascope live`: from an interface to standard output, as pcapng.
//!
//! It is the only program here that needs privileges, and the only one that is linked with libpcap. It gives its
//! privileges up when the interface is open, before it reads the first packet or looks at the filter. Who starts it is
//! told by its exit code what went wrong, see [`kafkascope::capture::live`].

#[cfg(all(feature = "live", libpcap))]
mod capture;
#[cfg(all(feature = "live", libpcap))]
mod interfaces;
#[cfg(all(feature = "live", libpcap))]
mod privileges;

use std::process::ExitCode;

use clap::Parser;
use kafkascope::capture::live::{DEFAULT_BUFFER, DEFAULT_SNAP_LENGTH};

/// Captures packets for `kafkascope live`: from an interface to standard output, as pcapng.
#[derive(Debug, Parser)]
#[command(name = "kafkascope-capture", version, max_term_width = 120)]
#[cfg_attr(not(all(feature = "live", libpcap)), allow(dead_code, reason = "without libpcap nothing is captured"))]
struct Options {
    /// The interface, or `any`
    #[arg(short, long, value_name = "IFACE", required_unless_present = "list")]
    interface: Option<String>,
    /// Which packets, in the language of pcap-filter(7) [default: all]
    #[arg(short, long, value_name = "BPF")]
    filter: Option<String>,
    /// Bytes of a packet to keep
    #[arg(short, long, value_name = "BYTES", default_value_t = DEFAULT_SNAP_LENGTH,
          value_parser = clap::value_parser!(u32).range(1..=262_144))]
    snaplen: u32,
    /// The system's buffer for packets that were not taken yet
    #[arg(short = 'B', long, value_name = "MIB", default_value_t = DEFAULT_BUFFER,
          value_parser = clap::value_parser!(u32).range(1..=2047))]
    buffer: u32,
    /// Have the interface receive what is meant for others as well
    #[arg(long)]
    promiscuous: bool,
    /// Stop after so many packets
    #[arg(short = 'c', long, value_name = "N")]
    packets: Option<u64>,
    /// Stop after so many seconds
    #[arg(long, value_name = "SECONDS")]
    duration: Option<u64>,
    /// List the interfaces instead
    #[arg(short = 'D', long)]
    list: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{}", failure.says);
            ExitCode::from(failure.exit)
        }
    }
}

/// Why nothing, or nothing more, is captured.
#[derive(Debug)]
struct Failure {
    /// What whoever started this goes by.
    exit: u8,
    /// One sentence for people.
    says: String,
}

#[cfg(all(feature = "live", libpcap))]
fn run(options: &Options) -> Result<(), Failure> {
    match &options.interface {
        Some(interface) if !options.list => capture::run(interface, options),
        _ => interfaces::print(),
    }
}

#[cfg(not(all(feature = "live", libpcap)))]
fn run(_: &Options) -> Result<(), Failure> {
    let says = if cfg!(feature = "live") {
        "kafkascope-capture was built without libpcap. Install its development files (libpcap-dev on Debian and Ubuntu, \
         libpcap-devel on Fedora, libpcap on Arch, libpcap-dev on Alpine), then build again: touch build.rs && cargo \
         build --release"
    } else {
        "kafkascope-capture was built without the feature `live`; build it with that: cargo build --release"
    };
    Err(Failure { exit: kafkascope::capture::live::EXIT_UNAVAILABLE, says: says.to_owned() })
}
