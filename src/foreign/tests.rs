use super::*;

/// `ApiVersions` v3 with client id `c1`, as the protocol guide lays out a request.
fn request() -> Vec<u8> {
    let body = [0, 18, 0, 3, 0, 0, 0, 7, 0, 2, b'c', b'1', 0, 1, 1, 0];
    [&16_u32.to_be_bytes()[..], &body].concat()
}

#[test]
fn frames_are_not_foreign() {
    assert_eq!(recognise(&request()), None);
    assert_eq!(recognise(&[request(), request()].concat()), None);
    assert_eq!(recognise(&request()[..15]), None, "cut short");
    assert_eq!(recognise(&[0, 0, 0, 6, 0, 0, 0, 7, 0, 0]), None, "a response");
    assert_eq!(recognise(&[]), None);
    assert_eq!(explain_size(16, &request()), None);
    assert_eq!(explain_size(1_000_000, &[0, 15, 66, 64, 0, 0, 0, 1, 0]), None);
}

#[test]
fn tls() {
    let hello = [0x16, 3, 1, 0, 0xc4, 1, 0, 0, 0xc0, 3, 3];
    assert_eq!(recognise(&hello), Some(Foreign::Tls { content: 22, version: 0x0301, detail: Some(1) }));
    assert!(
        recognise(&hello)
            .unwrap()
            .to_string()
            .starts_with("a TLS record (handshake: ClientHello; record version TLS 1.0)")
    );
    // The number that brokers print: "Invalid receive (size = 369295616 larger than 104857600)"
    let text = explain_size(369_295_616, &[]).unwrap();
    assert!(text.contains("369295616") && text.contains("TLS record (handshake"), "{text}");
    // handshake_failure is 40 (RFC 8446, section 6.2).
    let alert = [0x15, 3, 3, 0, 2, 2, 40];
    assert_eq!(recognise(&alert), Some(Foreign::Tls { content: 21, version: 0x0303, detail: Some(40) }));
    assert!(recognise(&alert).unwrap().to_string().contains("handshake_failure"));
    // The text that Java clients print: "Received an unexpected ... size 352518912"
    assert!(explain_size(352_518_912, &[]).unwrap().contains("alert"));
    assert!(matches!(recognise(&[0x17, 3, 3, 0, 40, 1]), Some(Foreign::Tls { content: 23, .. })));
    assert_eq!(recognise(&[0x80, 0x2e, 1, 3, 1, 0, 0x15]), Some(Foreign::Ssl2Hello));
    assert_eq!(recognise(&[0x16, 3, 1, 0xff, 0xff, 0, 0]), None, "longer than a record can be");
}

#[test]
fn text_protocols() {
    let cases: [(&[u8], Foreign); 20] = [
        (b"GET / HTTP/1.1\r\n", Foreign::HttpRequest("GET")),
        (b"POST /topics", Foreign::HttpRequest("POST")),
        (b"POST", Foreign::HttpRequest("POST")),
        (b"PUT /", Foreign::HttpRequest("PUT")),
        (b"HEAD / HTTP/1.0", Foreign::HttpRequest("HEAD")),
        (b"HTTP/1.1 400 Bad Request\r\n", Foreign::HttpResponse(Some(400))),
        (b"HTTP", Foreign::HttpResponse(None)),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Foreign::Http2),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Foreign::Ssh),
        (b"PROXY TCP4 10.0.0.1 10.0.0.2 51522 9092\r\n", Foreign::Proxy(1)),
        (b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21\x11\x00\x0c", Foreign::Proxy(2)),
        (b"ruok", Foreign::ZooKeeper(*b"ruok")),
        (b"mntr\n", Foreign::ZooKeeper(*b"mntr")),
        (b"stat\r\n", Foreign::ZooKeeper(*b"stat")),
        (b"{\"type\":\"response\"}", Foreign::Json),
        (b"[\n  {\"id\": 1}]", Foreign::Json),
        (b"*1\r\n$4\r\nPING\r\n", Foreign::Redis),
        (b"-ERR unknown command", Foreign::Redis),
        (b"+OK\r\n", Foreign::Redis),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", Foreign::Gzip),
    ];
    for (bytes, foreign) in cases {
        assert_eq!(recognise(bytes), Some(foreign), "{}", bytes.escape_ascii());
        let size = i32::from_be_bytes(*bytes.first_chunk().unwrap());
        assert!(explain_size(size, bytes).is_some());
    }
    // "GET " is 1195725856, known from "Invalid receive (size = 1195725856 larger than 104857600)".
    assert!(explain_size(1_195_725_856, b"").unwrap().contains("HTTP request (GET)"));
    assert_eq!(recognise(b"statistics"), None);
    assert_eq!(recognise(b"GETAWAY"), None);
}

#[test]
fn memory() {
    for pattern in [0xAAAA_AAAA_u32, 0xCCCC_CCCC, 0xDEAD_BEEF, 0xFFFF_FFFF] {
        assert_eq!(recognise(&pattern.to_be_bytes()), Some(Foreign::Fill(pattern)));
    }
    assert!(explain_size(-1, &[]).unwrap().contains("-1: a null length"));
    assert_eq!(recognise(&[0; 64]), Some(Foreign::Fill(0)));
    assert!(recognise(&0xAAAA_AAAA_u32.to_be_bytes()).unwrap().to_string().contains("0xAAAAAAAA"));
}

#[test]
fn misread_sizes() {
    let request = request();
    let surplus = [&[7][..], &request].concat();
    assert_eq!(recognise(&surplus), Some(Foreign::Surplus { surplus: 1, size: 16 }));
    assert_eq!(recognise(&request[1..]), Some(Foreign::Missing { missing: 1, size: 16 }));
    assert_eq!(recognise(&request[3..]), Some(Foreign::Missing { missing: 3, size: 16 }));
    assert!(explain_size(4096, &request[1..]).unwrap().contains("first 1 byte is missing"));
    let little = [&16_u32.to_le_bytes()[..], &request[4..]].concat();
    assert_eq!(recognise(&little), Some(Foreign::LittleEndianSize(16)));
    assert_eq!(recognise(&request[4..]), Some(Foreign::NoSize { api_key: 18, api_version: 3 }));
    // A size of 5 is too small, and no size of 83,886,080 either.
    let short = recognise(&[&5_u32.to_be_bytes()[..], &request[4..]].concat());
    assert!(!matches!(short, Some(Foreign::LittleEndianSize(_))), "{short:?}");
}

#[test]
fn batches() {
    // An empty batch: 61 bytes, of which 49 are counted; magic 2 at offset 16 (protocol guide, "Record Batch").
    let mut batch = vec![0; 61];
    batch[11] = 49;
    batch[16] = 2;
    assert_eq!(recognise(&batch), Some(Foreign::RecordBatch(2)));
    assert!(recognise(&batch).unwrap().to_string().contains("record batch (magic 2)"));
    // A message of magic 1: offset, size 22, CRC, magic, attributes, timestamp, null key, null value.
    let mut message = vec![0; 34];
    message[11] = 22;
    message[16] = 1;
    message[26..].fill(0xff);
    assert_eq!(recognise(&message), Some(Foreign::RecordBatch(1)));
}

#[test]
fn packets() {
    let mut packet = vec![0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
    packet.extend([0xc9, 0x42, 0x23, 0x84, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 2, 0, 0, 0, 0, 0]);
    packet.extend(request());
    assert_eq!(recognise(&packet), Some(Foreign::Packet(40)));
    let ethernet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &packet].concat();
    assert_eq!(recognise(&ethernet), Some(Foreign::Packet(54)));
}

#[test]
fn absurd_sizes() {
    assert!(explain_size(0, &[0, 0, 0, 0, 1]).unwrap().contains("correlation id"));
    assert!(explain_size(-2, &[]).unwrap().contains("negative"));
    assert!(explain_size(200_000_000, &[]).unwrap().contains("socket.request.max.bytes"));
    assert!(explain_size(i32::from_be_bytes(*b"HELO"), &[]).unwrap().contains("\"HELO\""));
}

/// Every request of Kafka's own schemas lies below the limits that a plausible header has.
#[test]
fn limits_hold_for_the_schemas() {
    let mut requests = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/messages")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let field = |name: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(&format!("\"{name}\":")))?;
            Some(line.split_once(':')?.1.trim().trim_matches([',', '"']).to_owned())
        };
        if let (Some(key), Some(versions)) = (field("apiKey"), field("validVersions"))
            && text.contains("\"type\": \"request\"")
        {
            let newest = versions.rsplit('-').next().unwrap().trim_end_matches('+').to_owned();
            assert!(key.split(',').next().unwrap().parse::<i16>().unwrap() <= MAX_API_KEY, "{key}");
            assert!(
                newest.parse::<i16>().is_ok_and(|newest| newest <= MAX_API_VERSION) || newest == "none",
                "{versions}"
            );
            requests += 1;
        }
    }
    assert!(requests > 50, "{requests}");
}

proptest::proptest! {
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80), size in proptest::num::i32::ANY) {
        if let Some(foreign) = recognise(&bytes) {
            proptest::prop_assert!(!foreign.to_string().is_empty());
        }
        explain_size(size, &bytes);
    }

    /// A frame that is whole is never taken for something else, whatever is in it.
    #[test]
    fn whole_responses_are_frames(body in proptest::collection::vec(proptest::num::u8::ANY, 12..80)) {
        let frame = [&(body.len() as u32).to_be_bytes()[..], &body].concat();
        proptest::prop_assert_eq!(recognise(&frame), None);
    }
}
