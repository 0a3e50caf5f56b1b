//! Messages whose packets were made anew: whoever opens them finds the same messages.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use kafkascope::book::{Book, Room};
use kafkascope::capture::{CaptureReader, LinkType, Time, segment};
use kafkascope::dissect::Opening;
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::output::pcapng::{PacketMaker, Resolution, WrittenPacket, interface, packet, section_header};
use kafkascope::protocol::{ApiKey, Catalog};
use serde_json::Value;

use crate::disguise::ip_packets;
use crate::support::{Input, book, captures};

/// A capture with packets for these messages.
fn made(book: &Book<'_>, numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut maker = PacketMaker::new(&mut out);
    let mut room = Room::default();
    for number in numbers {
        let message = book.message(number, &mut room).unwrap();
        let behind = book.behind_hole(number).unwrap();
        maker.message(&mut out, &message, &behind, &book.comments_of(number).unwrap());
    }
    out
}

/// All that is told of messages, but for what belongs to packets and to all messages: numbers are those among these.
fn told(catalog: &Catalog, book: &Book<'_>, numbers: &[u64]) -> Vec<Value> {
    let mut writer = NdjsonWriter::new(Opening::new(catalog), true);
    let mut room = Room::default();
    let mut connections = HashMap::new();
    let place = |number: u64| numbers.binary_search(&number).unwrap() + 1;
    let mut told = Vec::new();
    for number in numbers {
        let mut line = Vec::new();
        writer.message(&mut line, &book.message(*number, &mut room).unwrap());
        let mut value: Value = serde_json::from_slice(&line).unwrap();
        let next = connections.len() as u64 + 1;
        value["connection"] = (*connections.entry(value["connection"].as_u64()).or_insert(next)).into();
        value["index"] = place(*number).into();
        if let Some(request) = value["request"].as_u64() {
            value["request"] = place(request).into();
        }
        value["packets"].take();
        // What is saved is what was inside of TLS.
        value.as_object_mut().unwrap().remove("_tls");
        value["streamOffset"].take();
        told.push(value);
    }
    told
}

fn is_unasked(message: &Value) -> bool {
    message["type"] == "response" && message.get("request").is_none()
}

/// Messages in another order, and without what that says.
fn without_order(messages: Vec<Value>) -> Vec<Value> {
    let mut messages = messages;
    for message in &mut messages {
        message["index"].take();
        message["connection"].take();
        if let Some(request) = message.get_mut("request") {
            request.take();
        }
    }
    messages.sort_by_key(Value::to_string);
    messages
}

fn in_the_project() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_capture = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "pcap" || ending == "pcapng");
    let mut paths: Vec<PathBuf> = paths.filter(is_capture).collect();
    paths.sort();
    paths
}

#[test]
fn all_messages_of_a_capture_are_found_again() {
    let catalog = Catalog::builtin();
    let (mut wrong, mut messages) = (Vec::new(), 0);
    for path in in_the_project().into_iter().chain(captures()) {
        let original = book(&catalog, &Input::Files(vec![path.clone()]));
        let numbers: Vec<u64> = (1..=original.len()).collect();
        let again = book(&catalog, &Input::Pipe(made(&original, numbers.iter().copied())));
        let (mut expected, mut found) =
            (told(&catalog, &original, &numbers), told(&catalog, &again, &(1..=again.len()).collect::<Vec<_>>()));
        messages += expected.len();
        if expected != found && expected.iter().any(is_unasked) {
            // Readers wait for the requests of responses, so those without one may come later.
            expected = without_order(expected);
            found = without_order(found);
        }
        let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
        if expected.len() != found.len() || differs.is_some() {
            wrong.push(format!("{}: {} of {}\n{differs:?}", path.display(), found.len(), expected.len()));
        }
        assert_eq!(again.status().troubles, [""; 0]);
    }
    assert!(wrong.is_empty(), "{} captures\n{}", wrong.len(), wrong.join("\n"));
    assert!(messages > 500, "{messages}");
}

/// What was captured behind a hole is in the file, and no more is missing than was.
#[test]
fn bytes_behind_a_hole_are_found_again() {
    let catalog = Catalog::builtin();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/28-zk.pcap");
    let packets: Vec<_> = ip_packets(&std::fs::read(path).unwrap()).into_iter().map(|(_, packet)| packet).collect();
    let mut with_more = 0;
    for cut in (0..packets.len()).filter(|at| packets[*at].len() > 200) {
        // Of one packet nothing was captured but its headers.
        let mut file = Vec::new();
        section_header(&mut file, None, None);
        interface(&mut file, LinkType::RAW, Resolution::Nanoseconds);
        for (at, data) in packets.iter().enumerate() {
            let (kept, original_length) = (if at == cut { 52 } else { data.len() }, data.len() as u32);
            let time = Time::from_nanoseconds(i64::try_from(at).unwrap() * 1_000_000);
            let data = &data[..kept.min(data.len())];
            packet(&mut file, &WrittenPacket { time, data, original_length, comments: &[] }, Resolution::Nanoseconds);
        }
        let original = book(&catalog, &Input::Pipe(file));
        let numbers: Vec<u64> = (1..=original.len()).collect();
        let behind =
            |book: &Book<'_>| numbers.iter().map(|number| book.behind_hole(*number).unwrap()).collect::<Vec<_>>();
        let lacking = behind(&original);
        if lacking.iter().all(Vec::is_empty) {
            continue;
        }
        with_more += 1;
        let again = book(&catalog, &Input::Pipe(made(&original, numbers.iter().copied())));
        assert_eq!(told(&catalog, &again, &numbers), told(&catalog, &original, &numbers), "packet {cut}");
        assert_eq!(behind(&again), lacking, "packet {cut}");
    }
    assert!(with_more > 3, "{with_more}");
}

/// Each connection alone, and each exchange alone.
#[test]
fn some_messages_of_a_capture_are_found_again() {
    let catalog = Catalog::builtin();
    for name in ["tour.pcapng", "44-java-none.pcap", "44-java-ipv6.pcap", "39-sarama-sasl-v0-scram.pcap"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name);
        let original = book(&catalog, &Input::Files(vec![path]));
        let entries: Vec<_> = (1..=original.len()).filter_map(|number| original.entry(number)).collect();
        let mut selections: HashMap<_, Vec<u64>> = HashMap::new();
        for entry in &entries {
            selections.entry((entry.connection.0, 0)).or_default().push(entry.index);
            // What these are is told by others on their connection.
            let is_alone = entry.key.is_some_and(|key| ![ApiKey::SASL_AUTHENTICATE, ApiKey::SYNC_GROUP].contains(&key));
            if let Some(request) = entry.request.filter(|_| is_alone) {
                selections.insert((0, entry.index), vec![request, entry.index]);
            }
        }
        assert!(selections.len() > 2);
        for numbers in selections.values() {
            let again = book(&catalog, &Input::Pipe(made(&original, numbers.iter().copied())));
            let mut expected = told(&catalog, &original, numbers);
            let mut found = told(&catalog, &again, &(1..=again.len()).collect::<Vec<_>>());
            // Names of topics that other messages told are not known.
            expected.iter_mut().chain(&mut found).for_each(forget_topics);
            assert_eq!(found, expected, "{name} {numbers:?}");
        }
    }
}

fn forget_topics(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("_topicId");
            members.values_mut().for_each(forget_topics);
        }
        Value::Array(elements) => elements.iter_mut().for_each(forget_topics),
        _ => {}
    }
}

/// Another reader of the format finds the same packets in it, and every packet is a segment with right checksums.
#[test]
fn the_file_is_as_the_format_has_it() {
    let catalog = Catalog::builtin();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/tour.pcapng");
    let original = book(&catalog, &Input::Files(vec![path]));
    let file = made(&original, 1..=original.len());

    let mut theirs = Vec::new();
    let mut rest = &file[..];
    while !rest.is_empty() {
        let (behind, block) = pcap_parser::parse_block_le(rest).unwrap();
        rest = behind;
        match block {
            pcap_parser::Block::EnhancedPacket(packet) => {
                let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                theirs.push((packet.data[..packet.caplen as usize].to_vec(), packet.origlen, time));
            }
            pcap_parser::Block::InterfaceDescription(interface) => {
                assert_eq!((interface.linktype.0, interface.snaplen, interface.if_tsresol), (101, 0, 9));
            }
            pcap_parser::Block::SectionHeader(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let mut packets = 0;
    while let Some(packet) = reader.next().unwrap() {
        let (data, length, time) = &theirs[packets];
        assert_eq!((packet.data, packet.original_length), (&data[..], *length));
        assert_eq!(packet.time.nanoseconds().cast_unsigned(), *time);
        let segment = segment(&packet).unwrap();
        assert_eq!(segment.cut, packet.original_length - packet.data.len() as u32);
        if segment.cut == 0 {
            let (ip, tcp) = packet.data.split_at(20);
            assert_eq!(sum(0, ip), 0xffff, "IPv4's checksum (RFC 791)");
            // RFC 9293, 3.1: addresses, zero, protocol, length, and then all of the segment.
            let pseudo = [&ip[12..20], &[0, 6], &(tcp.len() as u16).to_be_bytes()].concat();
            assert_eq!(sum(sum(0, &pseudo), tcp), 0xffff, "TCP's checksum");
        }
        packets += 1;
    }
    assert_eq!(packets, theirs.len());
    assert!(packets > 300, "{packets}");
}

/// The sum of RFC 1071.
fn sum(start: u16, bytes: &[u8]) -> u16 {
    let mut sum = u32::from(start);
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
