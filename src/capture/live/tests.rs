use std::fs;
use std::io::{Read, Write};
use std::path::Path;
#[cfg(unix)]
use std::time::{Duration, Instant};

use super::tool::Tool;
use super::{EXIT_NOT_PERMITTED, EXIT_UNAVAILABLE, Live, LiveError, LiveOptions, Recorder, Ring};
use crate::capture::{CaptureReader, LinkType, Time};
use crate::output::pcapng::{self, Resolution, Statistics, WrittenInterface, WrittenPacket};

/// A pcapng capture of packets of these lengths, with statistics behind each, and where its packets begin.
fn pcapng_of(lengths: &[usize]) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    pcapng::section_header(&mut out, None, Some("test"));
    let name = Some("eth7");
    let interface = WrittenInterface {
        link: LinkType::RAW,
        resolution: Resolution::Nanoseconds,
        snap_length: 0,
        name,
        filter: None,
    };
    pcapng::described_interface(&mut out, &interface);
    let start = out.len();
    for (number, length) in lengths.iter().enumerate() {
        let data = vec![number as u8; *length];
        let time = Time::from_nanoseconds(i64::from(number as u32) * 1_000_000_007);
        let packet = WrittenPacket { time, data: &data, original_length: data.len() as u32, comments: &[] };
        pcapng::packet(&mut out, &packet, Resolution::Nanoseconds);
        pcapng::statistics(&mut out, &Statistics { time, ..Statistics::default() }, Resolution::Nanoseconds);
    }
    (out, start)
}

/// The same as pcap, in big-endian byte order.
fn pcap_of(lengths: &[usize]) -> Vec<u8> {
    let mut out = vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 101];
    for (number, length) in lengths.iter().enumerate() {
        for word in [number as u32, 0, *length as u32, *length as u32] {
            out.extend(word.to_be_bytes());
        }
        out.extend(vec![number as u8; *length]);
    }
    out
}

/// First byte and length of the packets of a capture.
fn packets(bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut reader = CaptureReader::new(bytes).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next().unwrap() {
        assert_eq!(packet.link, LinkType::RAW);
        packets.push((packet.data[0], packet.data.len()));
    }
    packets
}

fn record(path: &Path, ring: Option<Ring>, bytes: &[u8], step: usize) {
    let mut recorder = Recorder::create(path, ring, false).unwrap();
    for piece in bytes.chunks(step) {
        recorder.take(piece).unwrap();
    }
    recorder.finish().unwrap();
}

const LENGTHS: [usize; 9] = [60, 61, 1500, 3, 40, 9000, 1, 700, 64];

#[test]
fn a_file_holds_what_came_byte_by_byte() {
    for bytes in [pcapng_of(&LENGTHS).0, pcap_of(&LENGTHS)] {
        for step in [1, 5, 4096, bytes.len()] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("all.pcapng");
            record(&path, None, &bytes, step);
            assert!(fs::read(&path).unwrap() == bytes, "in steps of {step}");
        }
    }
}

#[test]
fn what_is_cut_in_the_end_is_not_written() {
    let (bytes, start) = pcapng_of(&LENGTHS);
    for end in [start + 5, bytes.len() - 1, bytes.len() - 90] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.pcapng");
        record(&path, None, &bytes[..end], 100);
        // Reading it says nothing of damage.
        let there = fs::read(&path).unwrap();
        packets(&there);
        assert!(bytes.starts_with(&there));
    }
}

#[test]
fn files_of_a_ring_are_captures_that_have_every_packet_once() {
    let whole: Vec<(u8, usize)> = LENGTHS.iter().enumerate().map(|(number, length)| (number as u8, *length)).collect();
    let (ng, start) = pcapng_of(&LENGTHS);
    for (bytes, preamble) in [(ng, start), (pcap_of(&LENGTHS), 24)] {
        for step in [1, 1000, bytes.len()] {
            let folder = tempfile::tempdir().unwrap();
            let ring = Ring { size: 2000, files: None };
            record(&folder.path().join("ring.pcapng"), Some(ring), &bytes, step);
            let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.sort();
            assert!(names.len() > 2, "{names:?}");
            assert_eq!(names[0].file_name().unwrap(), "ring_00001.pcapng");
            let mut found = Vec::new();
            for name in &names {
                let file = fs::read(name).unwrap();
                assert_eq!(file[..preamble], bytes[..preamble]);
                let there = packets(&file);
                assert!(file.len() <= 2000 + 100 || there.len() == 1, "{} has {}", name.display(), file.len());
                found.extend(there);
            }
            assert_eq!(found, whole, "in steps of {step}");
        }
    }
}

#[test]
fn the_oldest_files_of_a_ring_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = pcap_of(&[500; 20]);
    record(&folder.path().join("ring"), Some(Ring { size: 1000, files: Some(3) }), &bytes, 300);
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["ring_00018", "ring_00019", "ring_00020"]);
    assert_eq!(packets(&fs::read(folder.path().join("ring_00020")).unwrap()), [(19, 500)]);
}

#[test]
fn a_second_section_takes_the_place_of_the_first() {
    let mut bytes = pcapng_of(&[100, 100]).0;
    bytes.extend(pcapng_of(&[300; 4]).0);
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("two"), Some(Ring { size: 600, files: None }), &bytes, 77);
    let mut found = Vec::new();
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for name in names {
        found.extend(packets(&fs::read(name).unwrap()));
    }
    assert_eq!(found, [(0, 100), (1, 100), (0, 300), (1, 300), (2, 300), (3, 300)]);
}

#[test]
fn what_is_no_capture_is_written_as_it_comes() {
    for bytes in [b"hello, this is text".to_vec(), {
        let mut bytes = pcapng_of(&[100]).0;
        bytes.extend([6, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([9; 50]);
        bytes
    }] {
        let folder = tempfile::tempdir().unwrap();
        record(&folder.path().join("odd"), None, &bytes, 3);
        assert_eq!(fs::read(folder.path().join("odd")).unwrap(), bytes);
    }
}

#[test]
fn files_that_are_there_are_overwritten_only_when_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("there.pcapng");
    fs::write(&path, "precious").unwrap();
    let error = Recorder::create(&path, None, false).unwrap_err().to_string();
    assert_eq!(error, format!("{} is there already; --force overwrites it", path.display()));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    Recorder::create(&path, None, true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    let error = Recorder::create(Path::new("/nowhere/x"), None, false).unwrap_err().to_string();
    assert!(error.starts_with("cannot write /nowhere/x: "), "{error}");
}

fn options() -> LiveOptions {
    LiveOptions {
        interface: "eth7".to_owned(),
        filter: "tcp port 9092".to_owned(),
        snap_length: 1000,
        buffer: 8,
        promiscuous: false,
        packets: Some(5),
        bytes: None,
    }
}

/// As their manuals say: dumpcap(1), tcpdump(8).
#[test]
fn each_program_has_its_own_arguments() {
    let arguments = |name: &str| Tool::of(name, Path::new(name)).arguments(&options()).join(" ");
    assert_eq!(arguments("kafkascope-capture"), "--interface=eth7 --filter=tcp port 9092 -s 1000 -B 8 -c 5");
    assert_eq!(arguments("dumpcap"), "-q -i eth7 -f tcp port 9092 -w - -s 1000 -B 8 -p -c 5");
    assert_eq!(arguments("tcpdump"), "-n -U -i eth7 -w - -s 1000 -B 8192 -p -c 5 -- tcp port 9092");
    let promiscuous = LiveOptions { promiscuous: true, packets: None, ..options() };
    let arguments = |name: &str| Tool::of(name, Path::new(name)).arguments(&promiscuous).join(" ");
    assert!(arguments("kafkascope-capture").ends_with("--promiscuous"));
    assert!(!arguments("dumpcap").contains("-p"));
    assert!(!arguments("tcpdump").contains("-p"));
}

#[test]
fn programs_that_fail_are_understood() {
    let own = Tool::of("kafkascope-capture", Path::new("/opt/my tools/kafkascope-capture"));
    let of = |tool: &Tool, code: u8, notes: &[&str]| {
        let notes: Vec<String> = notes.iter().map(|note| (*note).to_owned()).collect();
        LiveError::of(tool, Some("eth0"), Some(code.into()), &notes)
    };
    assert!(
        matches!(of(&own, EXIT_UNAVAILABLE, &["no libpcap"]), LiveError::Unavailable { says } if says == "no libpcap")
    );
    let refused = of(&own, EXIT_NOT_PERMITTED, &["socket: Operation not permitted"]);
    assert!(matches!(refused, LiveError::NotPermitted { .. }));
    if cfg!(target_os = "linux") {
        assert_eq!(
            refused.to_string(),
            "cannot capture on eth0: permission denied; run: sudo setcap cap_net_raw,cap_net_admin=eip \
             '/opt/my tools/kafkascope-capture'"
        );
    }
    let says = of(&own, 1, &["there is no such interface; there are lo"]).to_string();
    assert_eq!(says, "cannot capture on eth0: there is no such interface; there are lo");
    // What these say of version 4.99 and 4.0.
    let tcpdump = Tool::of("tcpdump", Path::new("/usr/bin/tcpdump"));
    let notes = [
        "tcpdump: eth0: You don't have permission to perform this capture on that device",
        "(socket: Operation not permitted)",
    ];
    assert!(matches!(of(&tcpdump, 1, &notes), LiveError::NotPermitted { .. }));
    let notes = [
        "tcpdump: WARNING: any: That device doesn't support promiscuous mode",
        "tcpdump: can't parse filter expression: syntax error",
    ];
    assert_eq!(
        of(&tcpdump, 1, &notes).to_string(),
        "cannot capture on eth0: tcpdump: can't parse filter expression: syntax error"
    );
    let dumpcap = Tool::of("dumpcap", Path::new("/usr/bin/dumpcap"));
    let notes = [
        "Capturing on 'Loopback: lo'",
        "dumpcap: Invalid capture filter \"x y\" for interface 'lo'.",
        "See the User's Guide for a description of the capture filter syntax.",
    ];
    let says = of(&dumpcap, 1, &notes).to_string();
    assert_eq!(says, "cannot capture on eth0: dumpcap: Invalid capture filter \"x y\" for interface 'lo'.");
}

/// A program that does what a shell script says.
#[cfg(unix)]
fn script(folder: &Path, name: &str, script: &str) -> Tool {
    use std::os::unix::fs::OpenOptionsExt;

    let path = folder.join(name);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path).unwrap();
    writeln!(file, "#!/bin/sh\n{script}").unwrap();
    drop(file);
    Tool::of(name, &path)
}

#[cfg(unix)]
fn start(tool: &Tool, options: &LiveOptions) -> Result<Live, LiveError> {
    // Another test that starts a program just now may hold the script open for a moment (ETXTBSY).
    loop {
        match Live::start_with(tool, options) {
            Err(LiveError::CannotRun { says, .. }) if says.contains("busy") => {}
            outcome => return outcome,
        }
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_loses_its_interface_is_an_error_behind_what_it_gave() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, _) = pcapng_of(&LENGTHS);
    fs::write(folder.path().join("bytes"), &bytes).unwrap();
    let text = format!("cat '{}/bytes'; echo 'eth7 is \x1b[31mgone' >&2; exit 1", folder.path().display());
    let tool = script(folder.path(), "kafkascope-capture", &text);
    let mut feed = start(&tool, &options()).unwrap().into_feed();
    let mut read = Vec::new();
    let error = feed.read_to_end(&mut read).unwrap_err();
    assert!(read == bytes);
    assert_eq!(error.to_string(), "eth7 is \x1b[31mgone");
    assert_eq!(feed.read(&mut [0; 9]).unwrap(), 0);
}

#[cfg(unix)]
#[test]
fn a_program_that_is_told_to_end_gives_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, start_of_packets) = pcapng_of(&LENGTHS);
    fs::write(folder.path().join("head"), &bytes[..start_of_packets]).unwrap();
    fs::write(folder.path().join("rest"), &bytes[start_of_packets..]).unwrap();
    let text = format!(
        "cd '{}'; trap 'cat rest; exit 3' TERM; cat head; while :; do sleep 0.01; done",
        folder.path().display()
    );
    let tool = script(folder.path(), "tcpdump", &text);

    let live = start(&tool, &options()).unwrap();
    let stop = live.stop();
    let mut feed = live.into_feed();
    stop.stop();
    let mut read = Vec::new();
    feed.read_to_end(&mut read).unwrap();
    assert!(read == bytes);

    // Whoever has seen enough drops it; the recording is whole all the same.
    let mut live = start(&tool, &options()).unwrap();
    let path = folder.path().join("recorded");
    live.record(Recorder::create(&path, None, false).unwrap());
    drop(live.into_feed());
    assert!(fs::read(&path).unwrap() == bytes);

    // So does whoever wanted no more bytes.
    let live = start(&tool, &LiveOptions { bytes: Some(1), ..options() }).unwrap();
    let mut read = Vec::new();
    live.into_feed().read_to_end(&mut read).unwrap();
    assert!(read == bytes);
}

#[cfg(unix)]
#[test]
fn a_program_that_says_much_and_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let text = "trap '' TERM; head -c 300000 /dev/zero >&2; echo >&2; echo over >&2; exec >&-; exec sleep 600";
    let tool = script(folder.path(), "tcpdump", text);
    let error = start(&tool, &options()).unwrap_err().to_string();
    assert!(error.starts_with("cannot capture on eth7: tcpdump: "), "{error}");
    assert!(error.len() < 4096, "{}", error.len());
}

/// Such a program would keep whoever records it for ever.
#[cfg(unix)]
#[test]
fn a_program_that_is_told_to_end_and_writes_on_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, start_of_packets) = pcapng_of(&LENGTHS);
    fs::write(folder.path().join("head"), &bytes[..start_of_packets]).unwrap();
    fs::write(folder.path().join("rest"), &bytes[start_of_packets..]).unwrap();
    // One writes slowly, one as fast as it can, one not at all.
    for (name, goes_on) in [("slow", "cat rest; sleep 0.05"), ("fast", "cat rest rest rest"), ("still", "sleep 0.05")] {
        let text = format!("cd '{}'; trap '' TERM; cat head; while :; do {goes_on}; done", folder.path().display());
        fs::create_dir(folder.path().join(name)).unwrap();
        let tool = script(&folder.path().join(name), "tcpdump", &text);
        let begin = Instant::now();
        let mut live = start(&tool, &LiveOptions { buffer: 1, ..options() }).unwrap();
        let stop = live.stop();
        let path = folder.path().join(name).join("recorded");
        live.record(Recorder::create(&path, None, false).unwrap());
        let feed = live.into_feed();
        stop.stop();
        drop(feed);
        assert!(begin.elapsed() < Duration::from_secs(30), "{name}: {:?}", begin.elapsed());
        // What is recorded ends with a whole block.
        packets(&fs::read(&path).unwrap());
        assert!(stop.0.wait().is_none(), "{name}: it was not ended");
    }
}

#[test]
fn files_of_a_ring_are_known_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("shop.pcapng");
    for (name, is_one) in [
        ("shop_00001.pcapng", true),
        ("shop_123456.pcapng", true),
        ("shop_1.pcapng", false),
        ("shop.pcapng", false),
        ("shop_00001.json", false),
        ("shops_00001.pcapng", false),
        ("elsewhere/shop_00001.pcapng", false),
    ] {
        assert_eq!(Recorder::may_be_of_ring(&ring, &folder.path().join(name)), is_one, "{name}");
    }
    assert!(Recorder::may_be_of_ring(
        &ring,
        &folder.path().join("../").join(folder.path().file_name().unwrap()).join("shop_00002.pcapng")
    ));
    assert!(Recorder::may_be_of_ring(Path::new("shop"), Path::new("./shop_00002")));
}

#[test]
fn more_interfaces_than_a_file_of_a_ring_can_begin_with_are_said() {
    let (mut bytes, _) = pcapng_of(&[]);
    // An interface with a comment of 60,000 bytes, twenty times.
    for _ in 0..20 {
        let length = (20 + 60_004_u32).to_le_bytes();
        bytes.extend([&1_u32.to_le_bytes()[..], &length, &[101, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x60, 0xea]].concat());
        bytes.extend(vec![b'x'; 60_000]);
        bytes.extend(length);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut one = Recorder::create(&folder.path().join("one"), None, false).unwrap();
    one.take(&bytes).unwrap();
    let ring = Some(Ring { size: 1 << 30, files: None });
    let error = Recorder::create(&folder.path().join("ring"), ring, false).unwrap().take(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "the capture describes more interfaces than each file of a ring can begin with");
}
