//! What the tests of captures share: where captures are, and what `export` prints of one.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use kafkascope::capture::{Again, Captures, PacketCounters};
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::dissect::Opening;
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::protocol::Catalog;
use kafkascope::stream;

use crate::json::Json;
use crate::keys::key_log;

/// A path inside of the project.
pub(crate) fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder with more material than the project holds, if it is there.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let found = ["../shared", "../../shared"].iter().map(|shared| own(shared).join(folder)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("SKIPPED: there is no folder ../shared/{folder}");
    }
    found
}

/// A line of the index of the shared captures.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) notes: String,
}

impl Entry {
    /// All lines of the index.
    pub(crate) fn all(captures: &Path) -> Vec<Self> {
        let text = std::fs::read_to_string(captures.join("INDEX.tsv")).unwrap();
        let entry = |line: &str| {
            let column = |number| line.split('\t').nth(number).unwrap_or_default().to_owned();
            Self { name: column(0), what: column(1), notes: column(12) }
        };
        text.lines().skip(1).map(entry).collect()
    }

    /// The capture that this one was made from.
    pub(crate) fn base(&self) -> Option<&str> {
        self.notes.strip_prefix("variant of ")?.split(';').next()
    }

    /// Whether nothing can be read of the capture: it is in TLS, and nobody has the keys.
    pub(crate) fn is_closed(&self) -> bool {
        self.what.contains("without a key log")
    }
}

/// The option with the key log of a capture, if it has one.
pub(crate) fn key_log_option(capture: &Path) -> Option<String> {
    key_log(capture).map(|log| format!("--keylog={}", log.display()))
}

/// The lines that `export --show-secrets` prints of a capture that is not damaged.
pub(crate) fn export(capture: &Path) -> Vec<Json> {
    let output = assert_cmd::cargo::cargo_bin_cmd!("kafkascope")
        .args(["export", "--show-secrets"])
        .env_remove("SSLKEYLOGFILE")
        .args(key_log_option(capture))
        .arg(capture)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", capture.display(), String::from_utf8_lossy(&output.stderr));
    lines(&output.stdout)
}

/// What is told of captures that are read as one.
pub(crate) struct Told {
    /// What `export --show-secrets` prints.
    pub(crate) messages: Vec<Json>,
    pub(crate) packets: PacketCounters,
    pub(crate) streams: stream::Counters,
    /// How often they were damaged.
    pub(crate) damages: usize,
}

/// Reads captures as one, with the lines of a key log.
pub(crate) fn told(catalog: &Catalog, files: Vec<Vec<u8>>, options: Options, log: &[u8]) -> Told {
    struct Lines<'p>(NdjsonWriter<'p>, Vec<u8>);
    impl<'p> MessageSink<'p> for Lines<'p> {
        fn message(&mut self, message: &Message<'_, 'p>) {
            self.0.message(&mut self.1, message);
        }
    }
    let mut captures = Captures::new();
    for file in files {
        captures.add_stream("-", Cursor::new(file), Again::No).unwrap();
    }
    let sink = Lines(NdjsonWriter::new(Opening::new(catalog), true), Vec::new());
    let mut session = Session::new(catalog, options, sink);
    if !log.is_empty() {
        session.learn(log);
    }
    let mut damages = 0;
    loop {
        match captures.next() {
            Ok(Some(packet)) => session.packet(&packet),
            Ok(None) => break,
            Err(_) => damages += 1,
        }
    }
    session.finish();
    let (packets, streams) = (session.packets(), *session.streams());
    Told { messages: lines(&session.sink().1), packets, streams, damages }
}

/// Reads one JSON object a line. Only a newline ends a line: strings may hold other separators.
pub(crate) fn lines(text: &[u8]) -> Vec<Json> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| Json::read(line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line))))
        .collect()
}

/// The bytes of a file, unpacked where it ends in `.gz`.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// The port of an endpoint as `export` prints it.
pub(crate) fn port(endpoint: &Json) -> i64 {
    endpoint.text().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
}

/// Whether it is a response of which only the header is known, because its request is not there.
pub(crate) fn is_header_alone(line: &Json) -> bool {
    let lacking = ["api", "apiVersion", "request", "body"];
    line.at("type").text() == Some("response") && lacking.iter().all(|key| *line.at(key) == Json::Null)
}

/// Fails with all that is wrong, if anything is.
pub(crate) fn report(problems: &[String]) {
    let shown: Vec<_> = problems.iter().take(40).map(String::as_str).collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), shown.join("\n"));
}
