//! Bytes whose meaning other messages tell: SASL tokens, answers in envelopes, metadata of groups in old versions.

use crate::json::Json;
use crate::request_log::files;
use crate::support::{export, lines, read, report, shared};

/// What lies in the tokens of a capture, without what is secret: `user alice`, … by connection, in order.
fn tokens(name: &str) -> Vec<(i64, String, Json)> {
    let Some((capture, _)) = files(name) else { return Vec::new() };
    let mut tokens = Vec::new();
    for message in export(&capture) {
        let (field, opened) = match message.at("api").text() {
            Some("SaslAuthenticate") => ("authBytes", "_authBytes"),
            Some("SaslToken") => ("token", "_token"),
            _ => continue,
        };
        let body = message.at("body");
        assert_eq!(message.at("faults").elements().len(), 0);
        if body.at(field).text() == Some("") {
            continue;
        }
        let mechanism = message.at("mechanism").text().unwrap().to_owned();
        tokens.push((message.at("connection").int().unwrap(), mechanism, body.at(opened).clone()));
    }
    tokens
}

#[test]
fn plain_users_and_passwords() {
    let all = tokens("44-java-sasl-plain.pcap");
    assert_eq!(all.len(), 5);
    for (_, mechanism, token) in all {
        assert_eq!(mechanism, "PLAIN");
        assert_eq!(token, Json::read(br#"{"username":"alice","password":"throwaway"}"#).unwrap());
    }
}

/// Four messages for each connection, and what RFC 5802 says of them: nonces go on, and what the client proves is in the
/// form of the hash.
fn check_scram(name: &str, hash: &str, proof: usize, user: &str) {
    let all = tokens(name);
    let scram: Vec<_> = all.iter().filter(|(_, mechanism, _)| mechanism == hash).collect();
    assert!(!scram.is_empty() && scram.len() % 4 == 0, "{name}: {}", scram.len());
    let mut by_connection = std::collections::BTreeMap::<i64, Vec<&Json>>::new();
    for (connection, _, token) in scram {
        by_connection.entry(*connection).or_default().push(token);
    }
    for steps in by_connection.values().flat_map(|tokens| tokens.chunks(4)) {
        let [first, challenge, last, verdict] = steps else { panic!("{name}: {steps:?}") };
        let text = |token: &Json, key: &str| token.at(key).text().unwrap().to_owned();
        assert_eq!(text(first, "username"), user);
        assert!(text(challenge, "nonce").starts_with(&text(first, "nonce")));
        assert_eq!(challenge.at("iterations").int(), Some(4096));
        assert_eq!(challenge.at("nonce"), last.at("nonce"));
        assert_eq!(text(last, "channelBinding"), "biws");
        assert_eq!(text(last, "proof").len(), proof);
        assert_eq!(text(verdict, "serverSignature").len(), proof);
    }
}

#[test]
fn scram_exchanges() {
    check_scram("44-franz-sasl-scram256.pcap", "SCRAM-SHA-256", 44, "alice");
    // After SaslHandshake v0 the tokens have no header.
    check_scram("39-sarama-sasl-v0-scram.pcap", "SCRAM-SHA-256", 44, "alice");
    if shared("captures").is_some() {
        check_scram("44-kafkapython-sasl-scram512.pcap", "SCRAM-SHA-512", 88, "alice");
        // Each connection logs in again and again.
        check_scram("44-java-reauth.pcap", "SCRAM-SHA-256", 44, "alice");
    }
}

#[test]
fn a_login_with_a_delegation_token() {
    let all = tokens("44-java-tokens.pcap");
    let created = files("44-java-tokens.pcap").unwrap().1;
    let created: Vec<&str> = created.iter().filter_map(|line| line.at("response").at("tokenId").text()).collect();
    let first =
        all.iter().find(|(_, mechanism, token)| mechanism == "SCRAM-SHA-256" && token.at("username").text().is_some());
    let (_, _, token) = first.unwrap();
    assert_eq!(token.at("tokenAuth").text(), Some("true"));
    // The user is the id of one of the tokens that the broker made.
    assert!(created.contains(&token.at("username").text().unwrap()), "{token:?}");
    assert!(all.iter().any(|(_, mechanism, _)| mechanism == "PLAIN"));
}

#[test]
fn bearer_tokens() {
    let all = tokens("44-java-sasl-oauth.pcap");
    assert_eq!(all.len(), 5);
    for (_, mechanism, token) in all {
        assert_eq!(mechanism, "OAUTHBEARER");
        let [pair] = token.at("pairs").elements() else { panic!("{token:?}") };
        assert_eq!(*pair.at("header"), Json::read(br#"{"alg":"none"}"#).unwrap());
        assert_eq!(pair.at("claims").at("sub").text(), Some("admin"));
        assert_eq!((pair.at("name").text(), pair.at("scheme").text()), (Some("auth"), Some("Bearer")));
    }
}

#[test]
fn groups_of_versions_without_their_protocol_type() {
    for name in ["39-aiokafka-zstd.pcap", "39-java-0.10.2.2-none.pcap", "39-sarama-0.10.pcap", "39-kafkajs-none.pcap"] {
        let (capture, _) = files(name).unwrap();
        let (mut members, mut assignments) = (0, 0);
        for message in export(&capture) {
            let body = message.at("body");
            match (message.at("api").text(), message.at("type").text()) {
                (Some("JoinGroup"), Some("response")) => {
                    assert!(message.at("apiVersion").int() < Some(7), "{name}");
                    for member in body.at("members").elements() {
                        assert!(!member.at("_metadata").at("topics").elements().is_empty(), "{name}: {member:?}");
                        members += 1;
                    }
                }
                (Some("SyncGroup"), Some("request")) => {
                    assert!(message.at("apiVersion").int() < Some(5), "{name}");
                    for assignment in body.at("assignments").elements() {
                        let partitions = assignment.at("_assignment").at("assignedPartitions").elements();
                        assert!(!partitions.is_empty(), "{name}: {assignment:?}");
                        assignments += 1;
                    }
                }
                (Some("SyncGroup"), Some("response")) => {
                    let partitions = body.at("_assignment").at("assignedPartitions").elements();
                    assert!(!partitions.is_empty(), "{name}: {body:?}");
                    assignments += 1;
                }
                _ => {}
            }
        }
        assert!(members > 0 && assignments > 1, "{name}: {members} members, {assignments} assignments");
    }
}

#[test]
fn answers_in_envelopes_are_those_that_the_controller_logged() {
    let Some(captures) = shared("captures") else { return };
    let mut problems = Vec::new();
    let mut compared = 0;
    for name in ["44-multi-start", "44-multi-dynamic", "39-multi-stop"] {
        let log = lines(&read(&captures.join(format!("expected/{name}.jsonl"))));
        let mut asked = None;
        for message in export(&captures.join(format!("{name}.pcap"))) {
            if message.at("api").text() != Some("Envelope") {
                continue;
            }
            let body = message.at("body");
            if message.at("type").text() == Some("request") {
                asked = Some(body.at("_requestData").at("header").clone());
                continue;
            }
            let Some(asked) = asked.take() else { continue };
            let answer = body.at("_responseData");
            let number = message.at("index").int().unwrap();
            // The broker that forwarded logs the request, too, with the answer that it got.
            let is_logged = log.iter().any(|line| {
                line.at("apiKey") == asked.at("requestApiKey")
                    && line.at("correlationId") == asked.at("correlationId")
                    && crate::compare::difference(line.at("response"), answer.at("body"), crate::compare::Extent::Whole)
                        .is_none()
            });
            if answer.at("header").at("correlationId") != asked.at("correlationId") || !is_logged {
                problems.push(format!("{name} #{number}: {answer:?}"));
            }
            compared += 1;
        }
    }
    report(&problems);
    assert!(compared >= 10, "{compared}");
}
