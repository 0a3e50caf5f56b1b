//! Secrets stay withheld in every form of output, also where they are bare tokens.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use assert_cmd::Command;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A SASL login after SaslHandshake v0: SCRAM tokens without a header of Kafka's.
const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/39-sarama-sasl-v0-scram.pcap");

fn run(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("kafkascope").unwrap().args(arguments).arg(CAPTURE).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bare_tokens_are_shown_only_when_asked_for() {
    let shown = run(&["export", "--show-secrets"]);
    let mut tokens: Vec<Vec<u8>> = Vec::new();
    for line in shown.lines().filter(|line| line.contains("\"api\":\"SaslToken\"")) {
        let (_, rest) = line.split_once("\"token\":\"").unwrap();
        let (token, _) = rest.split_once('"').unwrap();
        tokens.push(STANDARD.decode(token).unwrap());
    }
    // The client's first SCRAM message begins with its GS2 header (RFC 5802).
    assert_eq!(tokens.len(), 16);
    assert!(tokens[0].starts_with(b"n,,n="), "{:?}", tokens[0]);
    for arguments in [&["list"][..], &["show"], &["export"], &["export", "-f", "tree"]] {
        let output = run(arguments);
        for token in &tokens {
            let hex: String = token
                .iter()
                .take(12)
                .flat_map(|byte| [byte >> 4, byte & 15])
                .map(|n| char::from_digit(n.into(), 16).unwrap())
                .collect();
            assert!(!output.contains(&hex), "{arguments:?} shows {hex}");
            assert!(!output.contains(&STANDARD.encode(token)), "{arguments:?} shows a token");
        }
    }
}
