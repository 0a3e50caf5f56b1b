//! What clients and brokers say to each other: requests and responses with plausible values. The benchmarks use it, too.

use std::io::Write;

use anyhow::Context;
use clap::ValueEnum;
use fastrand::Rng;
use kafkascope::encode::{Datum, Header, Instance, Record, RecordBatch, frame_of_parts, minimal};
use kafkascope::protocol::{ApiKey, Catalog, Plan, Side};

const BROKERS: u8 = 3;
const TOPICS: usize = 40;
const PARTITIONS: u8 = 12;
const GROUP: &str = "checkout-service";
const MEMBER: &str = "consumer-checkout-service-1-0b2f6c1e-7d34-4d0b-9a54-2f7f4e5b8c11";

/// What is asked for. Versions are those that clients of Kafka 3.9 and 4 ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Produce,
    Fetch,
    ListOffsets,
    Metadata,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    Heartbeat,
    ApiVersions,
}

impl Kind {
    const ALL: [(Self, ApiKey, i16); 9] = [
        (Self::Produce, ApiKey::PRODUCE, 11),
        (Self::Fetch, ApiKey::FETCH, 17),
        (Self::ListOffsets, ApiKey(2), 9),
        (Self::Metadata, ApiKey(3), 12),
        (Self::OffsetCommit, ApiKey(8), 9),
        (Self::OffsetFetch, ApiKey(9), 9),
        (Self::FindCoordinator, ApiKey(10), 6),
        (Self::Heartbeat, ApiKey(12), 4),
        (Self::ApiVersions, ApiKey::API_VERSIONS, 3),
    ];
}

/// How record batches are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// What batches of records look like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batches {
    /// Records of a batch.
    pub(crate) records: u32,
    /// Bytes of a record's value.
    pub(crate) record_size: usize,
    /// How they are compressed.
    pub(crate) codec: Codec,
}

/// A request that was made: what its response needs to know of it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    kind: Kind,
    correlation: i32,
    topic: usize,
    /// Partitions, each with the offset that it was asked for or will give.
    partitions: Vec<(u8, i64)>,
}

/// Makes requests and responses.
pub(crate) struct Traffic<'p> {
    rng: Rng,
    batches: Batches,
    templates: Vec<[Template<'p>; 2]>,
    topics: Vec<Topic>,
    /// Microseconds since 1970.
    pub(crate) now: u64,
}

struct Topic {
    name: String,
    id: [u8; 16],
    /// Of each partition: the offsets of the next record that is produced and fetched.
    produced: Vec<i64>,
    fetched: Vec<i64>,
}

impl<'p> Traffic<'p> {
    /// Traffic that depends on nothing but the random numbers.
    pub(crate) fn new(catalog: &'p Catalog, mut rng: Rng, batches: Batches) -> anyhow::Result<Self> {
        const SUBJECTS: [&str; 5] = ["orders", "payments", "page-views", "inventory.changes", "audit"];
        const ORIGINS: [&str; 4] = ["eu-west", "us-east", "ap-south", "internal"];
        let mut topics = Vec::new();
        for (subject, origin) in SUBJECTS.iter().flat_map(|subject| ORIGINS.map(|origin| (subject, origin))) {
            for suffix in ["v1", "v2"] {
                topics.push(Topic {
                    name: format!("{origin}.{subject}.{suffix}"),
                    id: std::array::from_fn(|_| rng.u8(..)),
                    produced: vec![0; PARTITIONS.into()],
                    fetched: (0..PARTITIONS).map(|_| rng.i64(0..1_000_000)).collect(),
                });
            }
        }
        let mut templates = Vec::new();
        for (kind, key, version) in Kind::ALL {
            let mut pair = [
                Template::new(catalog, key, version, Side::Request)?,
                Template::new(catalog, key, version, Side::Response)?,
            ];
            let [request, response] = &mut pair;
            prepare(kind, request, response, &topics).with_context(|| format!("{kind:?}"))?;
            templates.push(pair);
        }
        Ok(Self { rng, batches, templates, topics, now: 0 })
    }

    /// A request's frame, and what its response needs to know of it.
    pub(crate) fn request(&mut self, kind: Kind, correlation: i32, client_id: &str) -> anyhow::Result<(Call, Vec<u8>)> {
        let topic = self.rng.usize(0..TOPICS);
        let first = self.rng.u8(0..PARTITIONS);
        let count = if matches!(kind, Kind::Produce | Kind::Fetch) { self.rng.u8(1..=3) } else { 3 };
        let mut partitions = Vec::new();
        let known = self.topics.get_mut(topic).context("a topic")?;
        for partition in (first..first + count).map(|partition| partition % PARTITIONS) {
            let offsets = if kind == Kind::Produce { &mut known.produced } else { &mut known.fetched };
            let offset = offsets.get_mut(usize::from(partition)).context("a partition")?;
            partitions.push((partition, *offset));
            if matches!(kind, Kind::Produce | Kind::Fetch) {
                *offset += i64::from(self.batches.records);
            }
        }
        let call = Call { kind, correlation, topic, partitions };
        self.fill_request(&call)?;
        let [request, _] = self.template(kind)?;
        let frame = request.frame(correlation, Some(client_id))?;
        Ok((call, frame))
    }

    /// The frame of the response to a request.
    pub(crate) fn response(&mut self, call: &Call) -> anyhow::Result<Vec<u8>> {
        self.fill_response(call)?;
        let [_, response] = self.template(call.kind)?;
        response.frame(call.correlation, None)
    }

    fn template(&mut self, kind: Kind) -> anyhow::Result<&mut [Template<'p>; 2]> {
        let place = Kind::ALL.iter().position(|(known, ..)| *known == kind);
        place.and_then(|place| self.templates.get_mut(place)).context("a template")
    }

    /// What differs from one request to the next.
    fn fill_request(&mut self, call: &Call) -> anyhow::Result<()> {
        let Some(Topic { name, id, .. }) = self.topics.get(call.topic) else { return Ok(()) };
        let (name, id) = (Datum::text(name), Datum::Uuid(*id));
        let mut batches = Vec::new();
        if call.kind == Kind::Produce {
            for (_, sequence) in &call.partitions {
                batches.push(self.batch(0, Some(*sequence))?);
            }
        }
        let [request, _] = self.template(call.kind)?;
        match call.kind {
            Kind::Produce => {
                request.set("topicData[0].name", name)?;
                request.repeat("topicData[0].partitionData", call.partitions.len())?;
                for ((index, (partition, _)), batch) in call.partitions.iter().enumerate().zip(batches) {
                    let at = format!("topicData[0].partitionData[{index}]");
                    request.set(&format!("{at}.index"), Datum::Int(i64::from(*partition)))?;
                    request.set(&format!("{at}.records"), Datum::Records(Some(batch)))?;
                }
            }
            Kind::Fetch => {
                request.set("topics[0].topicId", id)?;
                request.repeat("topics[0].partitions", call.partitions.len())?;
                for (index, (partition, offset)) in call.partitions.iter().enumerate() {
                    let at = format!("topics[0].partitions[{index}]");
                    request.set(&format!("{at}.partition"), Datum::Int(i64::from(*partition)))?;
                    request.set(&format!("{at}.fetchOffset"), Datum::Int(*offset))?;
                }
            }
            Kind::OffsetCommit => {
                request.set("topics[0].name", name)?;
                for (index, (partition, offset)) in call.partitions.iter().enumerate() {
                    let at = format!("topics[0].partitions[{index}]");
                    request.set(&format!("{at}.partitionIndex"), Datum::Int(i64::from(*partition)))?;
                    request.set(&format!("{at}.committedOffset"), Datum::Int(*offset))?;
                }
            }
            Kind::ListOffsets => {
                request.set("topics[0].name", name)?;
                for (index, (partition, _)) in call.partitions.iter().enumerate() {
                    let at = format!("topics[0].partitions[{index}].partitionIndex");
                    request.set(&at, Datum::Int(i64::from(*partition)))?;
                }
            }
            Kind::OffsetFetch => {
                let partitions = call.partitions.iter().map(|(partition, _)| Datum::Int(i64::from(*partition)));
                request.set("groups[0].topics[0].name", name)?;
                request.set("groups[0].topics[0].partitionIndexes", Datum::Array(Some(partitions.collect())))?;
            }
            Kind::Metadata | Kind::FindCoordinator | Kind::Heartbeat | Kind::ApiVersions => {}
        }
        Ok(())
    }

    /// What differs from one response to the next.
    fn fill_response(&mut self, call: &Call) -> anyhow::Result<()> {
        let Some(Topic { name, id, .. }) = self.topics.get(call.topic) else { return Ok(()) };
        let (name, id) = (Datum::text(name), Datum::Uuid(*id));
        let mut batches = Vec::new();
        if call.kind == Kind::Fetch {
            for (_, offset) in &call.partitions {
                batches.push(self.batch(*offset, None)?);
            }
        }
        let records = i64::from(self.batches.records);
        let [_, response] = self.template(call.kind)?;
        match call.kind {
            Kind::Produce => {
                response.set("responses[0].name", name)?;
                response.repeat("responses[0].partitionResponses", call.partitions.len())?;
                for (index, (partition, offset)) in call.partitions.iter().enumerate() {
                    let at = format!("responses[0].partitionResponses[{index}]");
                    response.set(&format!("{at}.index"), Datum::Int(i64::from(*partition)))?;
                    response.set(&format!("{at}.baseOffset"), Datum::Int(*offset))?;
                }
            }
            Kind::Fetch => {
                response.set("responses[0].topicId", id)?;
                response.repeat("responses[0].partitions", call.partitions.len())?;
                for ((index, (partition, offset)), batch) in call.partitions.iter().enumerate().zip(batches) {
                    let at = format!("responses[0].partitions[{index}]");
                    let end = Datum::Int(offset + records);
                    response.set(&format!("{at}.partitionIndex"), Datum::Int(i64::from(*partition)))?;
                    response.set(&format!("{at}.highWatermark"), end.clone())?;
                    response.set(&format!("{at}.lastStableOffset"), end)?;
                    response.set(&format!("{at}.records"), Datum::Records(Some(batch)))?;
                }
            }
            Kind::OffsetCommit | Kind::ListOffsets | Kind::OffsetFetch => {
                let topic = if call.kind == Kind::OffsetFetch { "groups[0].topics[0]" } else { "topics[0]" };
                response.set(&format!("{topic}.name"), name)?;
                for (index, (partition, offset)) in call.partitions.iter().enumerate() {
                    let at = format!("{topic}.partitions[{index}]");
                    response.set(&format!("{at}.partitionIndex"), Datum::Int(i64::from(*partition)))?;
                    match call.kind {
                        Kind::ListOffsets => response.set(&format!("{at}.offset"), Datum::Int(*offset))?,
                        Kind::OffsetFetch => response.set(&format!("{at}.committedOffset"), Datum::Int(*offset))?,
                        _ => {}
                    }
                }
            }
            Kind::Metadata | Kind::FindCoordinator | Kind::Heartbeat | Kind::ApiVersions => {}
        }
        Ok(())
    }

    /// A batch of records: from a log where it has an offset there, or of a producer with its sequence number.
    fn batch(&mut self, base_offset: i64, sequence: Option<i64>) -> anyhow::Result<Vec<u8>> {
        let milliseconds = (self.now / 1000).cast_signed();
        let records = (0..self.batches.records).map(|index| self.record(i64::from(index / 4))).collect();
        let mut batch = RecordBatch::of(base_offset, milliseconds, records);
        batch.producer_id = 4711;
        batch.producer_epoch = 0;
        batch.base_sequence = (sequence.unwrap_or(base_offset) & 0x7fff_ffff) as i32;
        if sequence.is_none() {
            batch.partition_leader_epoch = 5;
        }
        compressed(batch.encode(), self.batches.codec)
    }

    /// A record whose value is a JSON object of the size that was asked for; where that is too small for one, its start.
    fn record(&mut self, timestamp_delta: i64) -> Record {
        const EVENTS: [&str; 6] =
            ["order_placed", "payment_authorised", "page_viewed", "stock_moved", "cart_emptied", "login"];
        const WORDS: [&str; 16] = [
            "fragile",
            "left",
            "at",
            "the",
            "door",
            "please",
            "ring",
            "twice",
            "gift",
            "wrapped",
            "before",
            "noon",
            "express",
            "signature",
            "required",
            "Grüße",
        ];
        let rng = &mut self.rng;
        let size = self.batches.record_size;
        let mut value = Vec::with_capacity(size + 16);
        let user = rng.u32(0..100_000);
        // Writing into a vector cannot fail.
        let _ = write!(
            value,
            r#"{{"id":{},"user":"user-{user:05}","event":"{}","amount":{}.{:02},"currency":"EUR","at":{},"note":""#,
            rng.u32(..),
            rng.choice(EVENTS).unwrap_or_default(),
            rng.u32(1..500),
            rng.u32(0..100),
            self.now / 1000,
        );
        while value.len() + 2 < size {
            value.extend_from_slice(rng.choice(WORDS).unwrap_or_default().as_bytes());
            value.push(b' ');
        }
        value.truncate(size.saturating_sub(2));
        // A character of two bytes that was cut in half would make the value no text.
        if value.last().is_some_and(|byte| !byte.is_ascii())
            && value.utf8_chunks().any(|chunk| !chunk.invalid().is_empty())
        {
            value.pop();
            value.push(b'.');
        }
        value.extend_from_slice(b"\"}");
        value.truncate(size);
        let headers = if rng.u8(0..4) == 0 {
            vec![(b"trace-id".to_vec(), Some(format!("{:016x}", rng.u64(..)).into_bytes()))]
        } else {
            Vec::new()
        };
        let key = Some(format!("user-{user:05}").into_bytes());
        Record { timestamp_delta, key, value: Some(value), headers, ..Record::default() }
    }
}

/// A message with most of its values in place.
struct Template<'p> {
    key: ApiKey,
    version: i16,
    header: &'p Plan,
    plan: &'p Plan,
    body: Instance,
}

impl<'p> Template<'p> {
    fn new(catalog: &'p Catalog, key: ApiKey, version: i16, side: Side) -> anyhow::Result<Self> {
        let plan = catalog.api_plan(key, side, version).with_context(|| format!("no version {version} of {key:?}"))?;
        let header = catalog.header_for(plan, side).context("no header")?;
        Ok(Self { key, version, header, plan, body: minimal(plan) })
    }

    fn at(&mut self, path: &str) -> anyhow::Result<&mut Datum> {
        self.body.at_mut(self.plan, path).with_context(|| format!("there is no {path}"))
    }

    fn set(&mut self, path: &str, datum: Datum) -> anyhow::Result<()> {
        *self.at(path)? = datum;
        Ok(())
    }

    fn set_all(&mut self, values: &[(&str, Datum)]) -> anyhow::Result<()> {
        values.iter().try_for_each(|(path, datum)| self.set(path, datum.clone()))
    }

    /// Makes an array one of so many elements that are all like its first.
    fn repeat(&mut self, path: &str, count: usize) -> anyhow::Result<()> {
        if let Datum::Array(Some(elements)) = self.at(path)? {
            elements.truncate(count);
            if let Some(first) = elements.first().cloned() {
                elements.resize(count, first);
            }
        }
        Ok(())
    }

    fn frame(&self, correlation: i32, client_id: Option<&str>) -> anyhow::Result<Vec<u8>> {
        let client_id = client_id.map(|client_id| client_id.as_bytes().to_vec());
        let header = Header { correlation_id: correlation, client_id, ..Header::default() };
        let header_body = header.instance(self.header, self.key, self.version);
        Ok(frame_of_parts((self.header, &header_body), (self.plan, &self.body))?)
    }
}

/// What is the same in all messages of a kind.
fn prepare(kind: Kind, request: &mut Template, response: &mut Template, topics: &[Topic]) -> anyhow::Result<()> {
    let (int, text, empty) = (Datum::Int, Datum::text, || Datum::Array(Some(Vec::new())));
    let null = Datum::String(None);
    match kind {
        Kind::Produce => {
            let values = [("transactionalId", null.clone()), ("acks", int(-1)), ("timeoutMs", int(30_000))];
            request.set_all(&values)?;
            let partition = "responses[0].partitionResponses[0]";
            response.set(&format!("{partition}.logAppendTimeMs"), int(-1))?;
            response.set(&format!("{partition}.recordErrors"), empty())?;
            response.set(&format!("{partition}.errorMessage"), null)?;
        }
        Kind::Fetch => {
            request.set_all(&[
                ("maxWaitMs", int(500)),
                ("minBytes", int(1)),
                ("maxBytes", int(52_428_800)),
                ("sessionId", int(1_234_567_890)),
                ("sessionEpoch", int(77)),
                ("topics[0].partitions[0].currentLeaderEpoch", int(5)),
                ("topics[0].partitions[0].lastFetchedEpoch", int(-1)),
                ("topics[0].partitions[0].logStartOffset", int(-1)),
                ("topics[0].partitions[0].partitionMaxBytes", int(1_048_576)),
                ("forgottenTopicsData", empty()),
            ])?;
            response.set_all(&[
                ("sessionId", int(1_234_567_890)),
                ("responses[0].partitions[0].abortedTransactions", Datum::Array(None)),
                ("responses[0].partitions[0].preferredReadReplica", int(-1)),
            ])?;
        }
        Kind::ListOffsets => {
            request.set_all(&[
                ("replicaId", int(-1)),
                ("topics[0].partitions[0].currentLeaderEpoch", int(5)),
                ("topics[0].partitions[0].timestamp", int(-1)),
            ])?;
            request.repeat("topics[0].partitions", 3)?;
            response.set("topics[0].partitions[0].timestamp", int(-1))?;
            response.set("topics[0].partitions[0].leaderEpoch", int(5))?;
            response.repeat("topics[0].partitions", 3)?;
        }
        Kind::Metadata => {
            request.set("topics", Datum::Array(None))?;
            metadata(response, topics)?;
        }
        Kind::OffsetCommit => {
            request.set_all(&[
                ("groupId", text(GROUP)),
                ("generationIdOrMemberEpoch", int(42)),
                ("memberId", text(MEMBER)),
                ("groupInstanceId", null.clone()),
                ("topics[0].partitions[0].committedLeaderEpoch", int(5)),
                ("topics[0].partitions[0].committedMetadata", text("")),
            ])?;
            request.repeat("topics[0].partitions", 3)?;
            response.repeat("topics[0].partitions", 3)?;
        }
        Kind::OffsetFetch => {
            request.set_all(&[
                ("groups[0].groupId", text(GROUP)),
                ("groups[0].memberId", null),
                ("groups[0].memberEpoch", int(-1)),
                ("requireStable", Datum::Bool(true)),
            ])?;
            response.set("groups[0].groupId", text(GROUP))?;
            response.repeat("groups[0].topics[0].partitions", 3)?;
        }
        Kind::FindCoordinator => {
            request.set("coordinatorKeys[0]", text(GROUP))?;
            response.set_all(&[
                ("coordinators[0].key", text(GROUP)),
                ("coordinators[0].nodeId", int(2)),
                ("coordinators[0].host", text("broker-2.kafka.example.org")),
                ("coordinators[0].port", int(9092)),
                ("coordinators[0].errorMessage", null),
            ])?;
        }
        Kind::Heartbeat => {
            request.set_all(&[
                ("groupId", text(GROUP)),
                ("generationId", int(42)),
                ("memberId", text(MEMBER)),
                ("groupInstanceId", null),
            ])?;
        }
        Kind::ApiVersions => {
            request.set_all(&[
                ("clientSoftwareName", text("apache-kafka-java")),
                ("clientSoftwareVersion", text("3.9.0")),
            ])?;
            response.repeat("apiKeys", 75)?;
            for key in 0..75 {
                response.set(&format!("apiKeys[{key}].apiKey"), int(key))?;
                response.set(&format!("apiKeys[{key}].maxVersion"), int(key % 12))?;
            }
        }
    }
    Ok(())
}

/// A cluster of three brokers with all topics.
fn metadata(response: &mut Template, topics: &[Topic]) -> anyhow::Result<()> {
    let int = Datum::Int;
    let node = |index: u8| int(i64::from(index % BROKERS + 1));
    let nodes = |first: u8| Datum::Array(Some((first..first + BROKERS).map(node).collect()));
    response.set("clusterId", Datum::text("4L6g3nShT-eMCtK--X86sw"))?;
    response.set("controllerId", int(1))?;
    response.set("brokers[0].port", int(9092))?;
    response.set("brokers[0].rack", Datum::String(None))?;
    response.repeat("brokers", BROKERS.into())?;
    for broker in 0..BROKERS {
        response.set(&format!("brokers[{broker}].nodeId"), node(broker))?;
        let host = format!("broker-{}.kafka.example.org", broker + 1);
        response.set(&format!("brokers[{broker}].host"), Datum::text(&host))?;
    }
    response.set("topics[0].topicAuthorizedOperations", int(i32::MIN.into()))?;
    response.set("topics[0].partitions[0].leaderEpoch", int(5))?;
    response.set("topics[0].partitions[0].offlineReplicas", Datum::Array(Some(Vec::new())))?;
    response.repeat("topics[0].partitions", PARTITIONS.into())?;
    response.repeat("topics", topics.len())?;
    for (index, topic) in (0_u8..).zip(topics) {
        response.set(&format!("topics[{index}].name"), Datum::text(&topic.name))?;
        response.set(&format!("topics[{index}].topicId"), Datum::Uuid(topic.id))?;
        for partition in 0..PARTITIONS {
            let at = format!("topics[{index}].partitions[{partition}]");
            let leader = (index + partition) % BROKERS;
            response.set(&format!("{at}.partitionIndex"), int(partition.into()))?;
            response.set(&format!("{at}.leaderId"), node(leader))?;
            response.set(&format!("{at}.replicaNodes"), nodes(leader))?;
            response.set(&format!("{at}.isrNodes"), nodes(leader))?;
        }
    }
    Ok(())
}

/// A batch with its records compressed: behind the 61 bytes of its header all is one block of the codec.
fn compressed(mut batch: Vec<u8>, codec: Codec) -> anyhow::Result<Vec<u8>> {
    const HEADER: usize = 61;
    let records = batch.get(HEADER..).context("a batch")?;
    let (number, block) = match codec {
        Codec::None => return Ok(batch),
        Codec::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(records)?;
            (1, encoder.finish()?)
        }
        Codec::Snappy => (2, xerial(records)?),
        Codec::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(records)?;
            (3, encoder.finish()?)
        }
        Codec::Zstd => (4, zstd::bulk::compress(records, 1)?),
    };
    batch.truncate(HEADER);
    batch.extend_from_slice(&block);
    // Batch length counts what follows it; the low bits of the attributes are the codec.
    let length = (batch.len() - 12) as u32;
    batch.get_mut(8..12).context("length")?.copy_from_slice(&length.to_be_bytes());
    *batch.get_mut(22).context("attributes")? |= number;
    let crc = crc32c::crc32c(batch.get(21..).context("checked bytes")?);
    batch.get_mut(17..21).context("crc")?.copy_from_slice(&crc.to_be_bytes());
    Ok(batch)
}

/// Snappy as the Java client writes it: a header, then blocks of 32 KiB with their lengths.
fn xerial(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    let mut encoder = snap::raw::Encoder::new();
    for chunk in bytes.chunks(32 << 10) {
        let block = encoder.compress_vec(chunk)?;
        out.extend_from_slice(&(block.len() as u32).to_be_bytes());
        out.extend_from_slice(&block);
    }
    Ok(out)
}
