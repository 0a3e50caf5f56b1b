//! Secrets stay withheld in every form of output, also where they lie in tokens that are opened.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use assert_cmd::Command;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// All that is printed of a capture.
fn run(arguments: &[&str], capture: &str) -> String {
    let capture = format!("{}/captures/{capture}.pcap", env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("kafkascope").unwrap().args(arguments).arg(capture).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The messages of a capture that carry a token: what is in it opened, and its bytes.
fn tokens(capture: &str) -> Vec<(Value, Vec<u8>)> {
    let mut tokens = Vec::new();
    for line in run(&["export", "--show-secrets"], capture).lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let (field, opened) = match message["api"].as_str() {
            Some("SaslToken") => ("token", "_token"),
            Some("SaslAuthenticate") => ("authBytes", "_authBytes"),
            _ => continue,
        };
        let bytes = STANDARD.decode(message["body"][field].as_str().unwrap()).unwrap();
        tokens.push((message["body"][opened].clone(), bytes));
    }
    tokens
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
}

/// What must not be printed: the secrets in tokens, and the tokens themselves as bytes.
fn secrets(capture: &str) -> Vec<String> {
    let mut secrets = Vec::new();
    for (opened, bytes) in tokens(capture).into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        for key in ["password", "salt", "proof", "serverSignature"] {
            if let Some(secret) = opened[key].as_str() {
                secrets.extend([secret.to_owned(), STANDARD.encode(secret), hex(secret.as_bytes())]);
            }
        }
        secrets.extend([STANDARD.encode(&bytes), hex(&bytes[..bytes.len().min(12)])]);
    }
    secrets
}

#[test]
fn secrets_in_tokens_are_shown_only_when_asked_for() {
    let captures = [
        ("39-sarama-sasl-v0-scram", 16),
        ("44-franz-sasl-scram256", 32),
        ("44-java-sasl-plain", 10),
        ("44-java-sasl-oauth", 10),
        ("44-java-tokens", 0),
    ];
    for (capture, count) in captures {
        let all = tokens(capture);
        assert!(count == 0 || all.len() == count, "{capture}: {}", all.len());
        let secrets = secrets(capture);
        assert!(!secrets.is_empty());
        for arguments in [&["list"][..], &["show"], &["show", "-v"], &["export"], &["export", "-f", "tree"]] {
            let output = run(arguments, capture);
            for secret in &secrets {
                assert!(!output.contains(secret), "{arguments:?} of {capture} shows {secret}");
            }
            assert!(arguments[0] == "list" || output.contains("<withheld: "), "{arguments:?} of {capture}");
        }
        // The same is shown when it is asked for, so that the search above is one for what may be there.
        let output = run(&["show", "--show-secrets"], capture);
        let shown = |secret: &str| output.contains(secret);
        for (opened, _) in &all {
            for key in ["password", "salt", "proof", "serverSignature"] {
                assert!(opened[key].as_str().is_none_or(shown), "{capture}: {key}");
            }
        }
    }
}

/// What `explain` prints of a token.
fn explain(arguments: &[&str], token: &[u8]) -> String {
    let mut command = Command::cargo_bin("kafkascope").unwrap();
    let output = command.args(["explain", "-q"]).args(arguments).arg(STANDARD.encode(token)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn pasted_tokens_are_opened_and_their_secrets_withheld() {
    let opaque = b"n,,\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01";
    let cases: [(&str, &[u8], &str, &str); 6] = [
        ("sasl-plain", b"\0alice\0throwaway", "alice", "throwaway"),
        ("sasl-scram", b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL", "fyko+d2lbbFgONRv9qkxdawL", "-"),
        ("sasl-scram", b"c=biws,r=abcdef,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=", "abcdef", "v0X8v3Bz2T0CJGbJQyF0X"),
        ("sasl-oauthbearer", opaque, "Bearer", "vF9dft4qmTc2Nvb3"),
        ("sasl-oauthbearer", b"{\"status\":\"invalid_token\"}", "invalid_token", "-"),
        // A token of another mechanism: what cannot be read may be its secret.
        ("sasl-scram", b"nobody\0throwaway", "n, y or p=", "throwaway"),
    ];
    for (name, token, shown, withheld) in cases {
        for format in ["text", "json", "tree"] {
            let output = explain(&["--as", name, "--format", format], token);
            assert!(output.contains(shown), "{name} as {format}: {output}");
            if withheld == "-" {
                continue;
            }
            let hidden = [withheld.to_owned(), STANDARD.encode(token), hex(&token[token.len() - 8..])];
            assert!(!hidden.iter().any(|hidden| output.contains(hidden)), "{name} as {format}: {output}");
            assert!(output.contains("<withheld: "), "{name} as {format}: {output}");
        }
    }
}

/// A message whose mechanism is not known stays closed.
#[test]
fn tokens_of_unknown_mechanisms_stay_withheld() {
    // SaslAuthenticate v0: key 36, version 0, correlation id 1, client id "c", and the token of PLAIN.
    let token = b"\0alice\0throwaway";
    let mut request = vec![0, 36, 0, 0, 0, 0, 0, 1, 0, 1, b'c', 0, 0, 0, token.len() as u8];
    request.extend(token);
    for format in ["text", "json", "tree"] {
        let output = explain(&["--format", format], &request);
        assert!(output.contains("<withheld: 16 bytes>"), "{output}");
        assert!(!output.contains("alice") && !output.contains(&STANDARD.encode(token)), "{output}");
    }
}

/// A request in an envelope that is not known may hold anything; so may an answer whose request was not seen.
#[test]
fn what_lies_closed_in_envelopes_is_withheld() {
    // Envelope v0 (key 58, flexible): compact bytes of a request of the unknown key 999, no principal, an address.
    let inner = [&[3, 231, 0, 0, 0, 0, 0, 2, 0, 1, b'c'][..], b"throwaway"].concat();
    let mut request = vec![0, 58, 0, 0, 0, 0, 0, 1, 0, 1, b'c', 0, inner.len() as u8 + 1];
    request.extend(&inner);
    request.extend([0, 5, 127, 0, 0, 1, 0]);
    for format in ["text", "json", "tree"] {
        let output = explain(&["--format", format], &request);
        assert!(output.contains("<withheld: 20 bytes>"), "{output}");
        assert!(!output.contains(&STANDARD.encode(&inner)) && !output.contains(&hex(&inner)), "{output}");
    }
}
