//! What captures call hosts and interfaces, as the commands print it.

use std::path::Path;

use tempfile::TempDir;

use crate::disguise::{Block, ip_packets, pcap, pcapng};
use crate::json::Json;
use crate::support::{export, lines, own, port, read};

const BROKER: [u8; 4] = [10, 0, 0, 9];

/// Packets of a capture on one host, as if the brokers were on another.
fn packets() -> Vec<([u8; 8], Vec<u8>)> {
    let capture = own("captures/44-kafkajs-gzip.pcap");
    let mut packets = ip_packets(&read(&capture));
    let broker_port = |message: &Json| u16::try_from(port(message.at("broker"))).unwrap();
    let ports: Vec<u16> = export(&capture).iter().map(broker_port).collect();
    for (_, ip) in &mut packets {
        for (address, at) in [(12..16, 20), (16..20, 22)] {
            if ports.contains(&u16::from_be_bytes([ip[at], ip[at + 1]])) {
                ip[address].copy_from_slice(&BROKER);
            }
        }
    }
    packets
}

/// The packets from two interfaces by turns, with a name resolution block before each: IPv4 addresses, and a name with a
/// zero behind it.
fn named(folder: &Path, hosts: &[([u8; 4], &[u8])]) -> String {
    let mut body = Vec::new();
    for (address, name) in hosts {
        let length = (4 + name.len() + 1) as u16;
        body.extend([&[1, 0], &length.to_le_bytes()[..], address, name, &[0]].concat());
        body.resize(body.len().next_multiple_of(4), 0);
    }
    body.extend([0; 4]);
    let length = (12 + body.len() as u32).to_le_bytes();
    let block = [&[4, 0, 0, 0], &length[..], &body, &length].concat();
    let path = folder.join("named.pcapng");
    std::fs::write(&path, pcapng(&packets(), Block::Enhanced, 1, &block)).unwrap();
    path.display().to_string()
}

fn run(arguments: &[&str]) -> String {
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn without(message: &Json, keys: &[&str]) -> Json {
    let Json::Object(members) = message else { panic!("{message:?}") };
    Json::Object(members.iter().filter(|(key, _)| !keys.contains(&key.as_str())).cloned().collect())
}

#[test]
fn names_stand_beside_addresses_or_instead_of_them() {
    let folder = TempDir::new().unwrap();
    let plain = folder.path().join("plain.pcap");
    std::fs::write(&plain, pcap(101, packets())).unwrap();
    let plain = lines(run(&["export", plain.to_str().unwrap()]).as_bytes());
    assert!(plain.len() > 20);
    let path = named(folder.path(), &[(BROKER, b"kafka-1.example"), (BROKER, b"second"), ([1, 2, 3, 4], b"else")]);

    // Without the option, interfaces are all that is more.
    let told = lines(run(&["export", &path]).as_bytes());
    assert!(told.iter().all(|message| *message.at("brokerName") == Json::Null));
    let stripped: Vec<_> = told.iter().map(|message| without(message, &["interfaces"])).collect();
    assert!(stripped == plain);
    for message in &told {
        // Packets are of interface 0 and 1 by turns.
        let of_packets = |number: i64| {
            let mut packets = message.at("packets").elements().iter();
            packets.any(|packet| (packet.int().unwrap() - 1) % 2 == number)
        };
        let expected: Vec<_> =
            [0, 1].into_iter().filter(|number| of_packets(*number)).map(|number| format!("#{number}")).collect();
        let interfaces: Vec<_> = message.at("interfaces").elements().iter().map(|name| name.text().unwrap()).collect();
        assert_eq!(interfaces, expected, "{message:?}");
    }

    let exported = run(&["export", "--names", &path]);
    let with_names = lines(exported.as_bytes());
    assert!(with_names.iter().all(|message| message.at("brokerName").text() == Some("kafka-1.example")));
    assert!(with_names.iter().all(|message| *message.at("clientName") == Json::Null));
    let stripped: Vec<_> = with_names.iter().map(|message| without(message, &["brokerName"])).collect();
    assert!(stripped == told);
    let first = told[0].at("interfaces").elements()[0].text().unwrap();
    let trees = run(&["export", "--names", "-f", "tree", "-c", "1", &path]);
    assert!(
        trees.contains(r#""brokerName":"kafka-1.example""#) && trees.contains(&format!(r#""interfaces":["{first}"]"#))
    );

    let list = run(&["list", "--names", &path]);
    assert!(list.lines().skip(1).all(|line| line.contains(" kafka-1.example:")), "{list}");
    assert!(!run(&["list", &path]).contains("kafka-1"));

    let tree = run(&["show", "--names", "-c", "1", &path]);
    let heading = tree.lines().next().unwrap();
    assert!(
        heading.ends_with(&format!(" -> {} (kafka-1.example) on {first}", plain[0].at("broker").text().unwrap())),
        "{heading}"
    );
}

#[test]
fn interfaces_without_names_are_told_by_their_files() {
    let folder = TempDir::new().unwrap();
    let packets = packets();
    let halves = packets.split_at(packets.len() / 2);
    let paths = [("a.pcapng", halves.0), ("b.pcapng", halves.1)].map(|(name, packets)| {
        let path = folder.path().join(name);
        std::fs::write(&path, pcapng(packets, Block::Enhanced, 1, &[])).unwrap();
        path.display().to_string()
    });
    let told = lines(run(&["export", &paths[0], &paths[1]]).as_bytes());
    let mut seen = std::collections::BTreeSet::new();
    for message in &told {
        for name in message.at("interfaces").elements() {
            seen.insert(name.text().unwrap().to_owned());
        }
    }
    // Packets of each file are of interface 0 and 1 by turns.
    let expected: Vec<_> = paths.iter().flat_map(|path| [0, 1].map(|number| format!("{path}#{number}"))).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn names_are_escaped() {
    let folder = TempDir::new().unwrap();
    let name = "\x1b]0;x\x07\u{202e}\n\u{9b}31m".as_bytes();
    let path = named(folder.path(), &[(BROKER, name)]);
    for arguments in [&["list"][..], &["show", "-c", "1"], &["export"], &["export", "-f", "tree", "-c", "1"]] {
        let text = run(&[arguments, &["--names", &path]].concat());
        assert!(text.contains("x1b]0;x") || text.contains("u001b]0;x"), "{arguments:?}: {text}");
        assert!(!text.contains(['\x1b', '\x07', '\u{9b}']), "{arguments:?}");
        let is_json = arguments[0] == "export";
        assert!(is_json || !text.contains('\u{202e}'), "{arguments:?}");
    }
}
