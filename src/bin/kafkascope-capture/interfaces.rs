//! The interfaces that there are.

use std::io::Write;

use kafkascope::capture::live::EXIT_FAILED;
use kafkascope::output::table::{Align, Table};
use pcap::{ConnectionStatus, Device};

use crate::Failure;

/// Prints them, a line each.
///
/// # Errors
/// When the system does not tell them.
pub(crate) fn print() -> Result<(), Failure> {
    let devices = list()?;
    let mut table = Table::new(&[Align::Left; 4]);
    table.row(["Interface", "State", "Addresses", "Description"].map(str::to_owned));
    for device in &devices {
        let addresses: Vec<String> = device.addresses.iter().map(|address| address.addr.to_string()).collect();
        let description = device.desc.clone().unwrap_or_default();
        table.row([device.name.clone(), state(device), addresses.join(" "), description]);
    }
    let lines = table.lines(usize::MAX).join("\n");
    // Nobody is left to be told when standard output is closed.
    let _ = writeln!(std::io::stdout(), "{lines}");
    Ok(())
}

/// The names of all.
pub(crate) fn names() -> Vec<String> {
    list().unwrap_or_default().into_iter().map(|device| device.name).collect()
}

/// Those that carry packets: libpcap knows sources of other things as well (USB, Bluetooth, netfilter's log and queue).
fn list() -> Result<Vec<Device>, Failure> {
    const OTHER: [&str; 6] = ["bluetooth", "usbmon", "nflog", "nfqueue", "dbus-", "rdma"];

    let devices = Device::list();
    let mut devices = devices.map_err(|error| Failure {
        exit: EXIT_FAILED,
        says: format!("the system does not list its interfaces: {error}"),
    })?;
    devices.retain(|device| !OTHER.iter().any(|other| device.name.starts_with(other)));
    Ok(devices)
}

fn state(device: &Device) -> String {
    let flags = &device.flags;
    let is_down = !flags.is_up();
    let is_loose = flags.is_up() && flags.connection_status == ConnectionStatus::Disconnected;
    let words = [
        (is_down, "down"),
        (flags.is_up(), "up"),
        (is_loose, "not connected"),
        (flags.is_loopback(), "loopback"),
        (flags.is_wireless(), "wireless"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    words.join(", ")
}
