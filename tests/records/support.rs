//! What the tests share: messages with records, their JSON, and what must hold for every tree.

use std::io::{Read, Write};

use flate2::read::GzDecoder;
use kafkascope::dissect::{Fault, Known, Opening, Outcome, Part, Reading, Scope, Tree, What, dissect};
use kafkascope::encode::{self, Datum, Header, RecordBatch};
use kafkascope::output::json::{JsonWriter, close_bracket};
use kafkascope::protocol::{ApiKey, Catalog, Side};

use crate::json::Json;

/// A message of the oracle, with what Kafka says of its records.
pub(crate) struct Message<'c> {
    pub(crate) name: String,
    pub(crate) frame: Vec<u8>,
    pub(crate) reading: Reading<'c>,
    pub(crate) line: Json,
}

impl<'c> Message<'c> {
    /// All messages of the oracle that have records.
    pub(crate) fn all(catalog: &'c Catalog) -> Vec<Self> {
        let mut text = Vec::new();
        GzDecoder::new(&include_bytes!("../data/oracle/messages.jsonl.gz")[..]).read_to_end(&mut text).unwrap();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let messages = lines.map(|line| Json::read(line).unwrap()).filter(|line| *line.at("records") != Json::Null);
        messages.enumerate().map(|(index, line)| Self::new(catalog, index, line)).collect()
    }

    fn new(catalog: &'c Catalog, index: usize, line: Json) -> Self {
        let side = if line.at("type").text() == Some("request") { Side::Request } else { Side::Response };
        let number = |name: &str| line.at(name).int().unwrap() as i16;
        let (key, version) = (ApiKey(number("api_key")), number("version"));
        let hex = line.at("frame_hex").text().unwrap();
        let frame = (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap());
        let name = format!("{} v{version} {} ({index})", line.at("api").text().unwrap(), side.word());
        Self { name, frame: frame.collect(), reading: reading(catalog, key, side, version), line }
    }

    /// What Kafka says of each records field whose batches are whole.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Json> {
        self.line.at("records").elements().iter().filter(|field| *field.at("aligned") == Json::Bool(true))
    }
}

pub(crate) fn reading(catalog: &Catalog, key: ApiKey, side: Side, version: i16) -> Reading<'_> {
    let body = catalog.api_plan(key, side, version).unwrap();
    let header = catalog.header_for(body, side);
    Reading { side, header, body: Some(body), sized: true, missing: 0, known: Known::default() }
}

/// A Fetch response v4 of one partition, with bytes in the place of its records.
pub(crate) fn fetched<'c>(catalog: &'c Catalog, records: &[u8]) -> (Reading<'c>, Vec<u8>) {
    fetched_from(catalog, "", records)
}

/// The same from a topic.
pub(crate) fn fetched_from<'c>(catalog: &'c Catalog, topic: &str, records: &[u8]) -> (Reading<'c>, Vec<u8>) {
    let (key, side, version) = (ApiKey::FETCH, Side::Response, 4);
    let plan = catalog.api_plan(key, side, version).unwrap();
    let mut body = encode::minimal(plan);
    *body.at_mut(plan, "responses[0].topic").unwrap() = Datum::text(topic);
    *body.at_mut(plan, "responses[0].partitions[0].records").unwrap() = Datum::Records(Some(records.to_vec()));
    let frame = encode::frame(catalog, key, side, version, &Header::default(), &body).unwrap();
    (reading(catalog, key, side, version), frame)
}

/// The members `header`, `body` and the rest, as `export` writes them, and the faults.
pub(crate) fn json(catalog: &Catalog, reading: &Reading<'_>, frame: &[u8]) -> (Json, Vec<Fault>) {
    let mut out = b"{".to_vec();
    let mut writer = JsonWriter::new(Opening::new(catalog), &mut out, true);
    dissect(reading, frame, &mut writer);
    let faults = writer.into_faults();
    close_bracket(&mut out, b'}');
    let json = Json::read(&out).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)));
    (json, faults)
}

/// The value at a path in a message.
pub(crate) fn at<'j>(json: &'j Json, path: &str) -> &'j Json {
    path.split(['.', '[']).fold(json, |json, step| match step.strip_suffix(']') {
        Some(index) => &json.elements()[index.parse::<usize>().unwrap()],
        None => json.at(step),
    })
}

/// Makes the tree of a message, with records opened, and checks it.
pub(crate) fn tree<'c>(catalog: &'c Catalog, reading: &Reading<'c>, frame: &[u8]) -> (Tree<'c>, Outcome) {
    let mut tree = Tree::opened(Opening::new(catalog));
    let outcome = dissect(reading, frame, &mut tree);
    check(&tree, frame);
    assert_eq!(tree.faults().len(), outcome.faults as usize);
    (tree, outcome)
}

/// The leaves of each buffer tile it, nodes lie inside of their parents, and every inflated buffer has a node that names
/// it, directly behind that of its compressed bytes.
pub(crate) fn check(tree: &Tree<'_>, frame: &[u8]) {
    let nodes = tree.nodes();
    let lengths: Vec<usize> = std::iter::once(frame.len()).chain(tree.buffers().iter().map(Vec::len)).collect();
    let mut ends = vec![0; lengths.len()];
    let mut inflated = 0;
    for (index, node) in nodes.iter().enumerate() {
        let buffer = node.span.buffer as usize;
        if node.is_leaf() {
            assert_eq!(node.span.start, ends[buffer], "{index}: {node:?}");
            ends[buffer] = node.span.end();
        }
        let parent = &nodes[node.parent as usize];
        let last = node.parent + parent.descendants;
        assert!(index == 0 || (node.parent < index as u32 && index as u32 + node.descendants <= last));
        if let What::Scope(Scope::Inflated(said)) = node.what {
            inflated += 1;
            assert_eq!((said.buffer, said.size as usize), (inflated, lengths[buffer]), "{said:?}");
            let compressed = nodes[..index].iter().rev().find(|node| node.is_leaf()).unwrap();
            assert!(matches!(compressed.what, What::Part(Part::Compressed(codec)) if codec == said.codec));
            // An old message's value has its length in front.
            assert!([0, 4].contains(&(compressed.span.len - said.compressed)), "{said:?} {compressed:?}");
        } else if !matches!(node.what, What::Fault(_)) {
            assert_eq!(node.span.buffer, parent.span.buffer, "{index}: {node:?}");
            assert!(parent.span.start <= node.span.start && node.span.end() <= parent.span.end(), "{index}: {node:?}");
        }
    }
    let ends: Vec<usize> = ends.iter().map(|end| *end as usize).collect();
    assert_eq!(ends, lengths, "bytes without a leaf at the end");
}

/// A batch of format 2 around the bytes of its records, whatever those are.
pub(crate) fn batch(attributes: i16, count: i32, records: &[u8]) -> Vec<u8> {
    let mut bytes = RecordBatch { attributes, last_offset_delta: count - 1, ..RecordBatch::default() }.encode();
    bytes[57..].copy_from_slice(&count.to_be_bytes());
    bytes.extend_from_slice(records);
    sealed(bytes)
}

/// A batch of format 2 with its length and checksum put right.
pub(crate) fn sealed(mut batch: Vec<u8>) -> Vec<u8> {
    let length = batch.len() as u32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
    batch
}

/// A message of format 0 or 1; its timestamp is 1000.
pub(crate) fn message(magic: u8, attributes: u8, offset: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Vec<u8> {
    let mut checked = vec![magic, attributes];
    if magic == 1 {
        checked.extend(1000i64.to_be_bytes());
    }
    for bytes in [key, value] {
        checked.extend(bytes.map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
        checked.extend_from_slice(bytes.unwrap_or_default());
    }
    let length = checked.len() as u32 + 4;
    [&offset.to_be_bytes(), &length.to_be_bytes()[..], &crc32fast::hash(&checked).to_be_bytes(), &checked].concat()
}

/// What bytes are in each codec, by its number.
pub(crate) fn compress(codec: i16, bytes: &[u8]) -> Vec<u8> {
    match codec {
        0 => bytes.to_vec(),
        1 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        2 => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
        3 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        4 => zstd::bulk::compress(bytes, 3).unwrap(),
        _ => panic!("there is no codec {codec}"),
    }
}
