//! Clients that talk to their brokers at the same time: the whole capture.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;

use clap::Args;
use fastrand::Rng;
use kafkascope::protocol::Catalog;

use super::network::{Capture, LARGEST_SEGMENT, Mishaps, Sender, Tcp};
use super::traffic::{Batches, Call, Codec, Kind, Traffic};

/// What the capture shall be like.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// No request is made once the file has so many bytes: 1000000, 3MB, 1GB, 64MiB
    #[arg(long, default_value = "1GB", value_parser = size)]
    pub(crate) size: u64,
    /// How many clients are connected
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) connections: u16,
    /// Bytes of a record's value
    #[arg(long, default_value_t = 256)]
    pub(crate) record_size: usize,
    /// Records of a batch
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) records: u32,
    /// How batches are compressed
    #[arg(long, default_value = "none")]
    pub(crate) codec: Codec,
    /// Most bytes of a TCP segment's payload
    #[arg(long, default_value_t = 1460, value_parser = clap::value_parser!(u16).range(1..=i64::from(LARGEST_SEGMENT)))]
    pub(crate) segment_size: u16,
    /// What is said: produce, fetch, metadata, small, mixed, or weights as in `produce=1,small=20`
    #[arg(long, default_value = "mixed")]
    pub(crate) mix: Mix,
    /// Where the random numbers begin
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Segments in a thousand that the capture lacks
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub(crate) loss: u32,
    /// Segments in a thousand that come late
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub(crate) reorder: u32,
}

/// Writes the whole capture and gives its number of packets.
pub(crate) fn generate<W: Write>(options: &Options, out: W) -> anyhow::Result<u64> {
    let catalog = Catalog::builtin();
    let mut rng = Rng::with_seed(options.seed);
    let batches = Batches { records: options.records, record_size: options.record_size, codec: options.codec };
    let mut traffic = Traffic::new(&catalog, rng.fork(), batches)?;
    let mishaps = Mishaps { lost: options.loss, late: options.reorder };
    let mut capture = Capture::new(out, rng.fork(), mishaps)?;

    let mut connections = Vec::new();
    for number in 0..options.connections {
        let mut connection = Connection::new(number, usize::from(options.segment_size), &mut rng);
        connection.tcp.open(&mut capture)?;
        connections.push(connection);
    }
    while capture.written < options.size {
        let Some(connection) = rng.choice(&mut connections) else { break };
        let next = connection.next_kind(&options.mix, &mut rng);
        connection.step(&mut traffic, &mut capture, Some(next), &mut rng)?;
    }
    for connection in &mut connections {
        while connection.step(&mut traffic, &mut capture, None, &mut rng)? {}
        connection.tcp.close(&mut capture)?;
    }
    let packets = capture.packets;
    capture.finish()?;
    Ok(packets)
}

/// Requests of a connection that may be under way.
const MAX_UNDER_WAY: usize = 3;
/// Segments that a connection sends before another has its turn.
const MAX_BURST: usize = 16;

/// A client's connection.
struct Connection {
    tcp: Tcp,
    client_id: String,
    segment_size: usize,
    correlation: i32,
    /// Requests that were not answered yet.
    calls: VecDeque<Call>,
    /// The frame that is being sent, and how much of it was.
    sending: Option<(Sender, Vec<u8>, usize)>,
}

impl Connection {
    fn new(number: u16, segment_size: usize, rng: &mut Rng) -> Self {
        let [high, low] = number.to_be_bytes();
        let client = SocketAddrV4::new(Ipv4Addr::new(10, 1, high, low), rng.u16(32_768..60_000));
        let broker = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1 + (number % 3) as u8), 9092);
        Self {
            tcp: Tcp::new(client, broker, rng),
            client_id: format!("client-{number}"),
            segment_size,
            correlation: 0,
            calls: VecDeque::new(),
            sending: None,
        }
    }

    fn next_kind(&self, mix: &Mix, rng: &mut Rng) -> Kind {
        match self.correlation {
            0 => Kind::ApiVersions,
            1 => Kind::Metadata,
            _ => mix.draw(rng),
        }
    }

    /// Sends some segments, of a frame that was begun or of a new one; false when there is nothing to send.
    fn step<W: Write>(
        &mut self,
        traffic: &mut Traffic<'_>,
        capture: &mut Capture<W>,
        next: Option<Kind>,
        rng: &mut Rng,
    ) -> anyhow::Result<bool> {
        traffic.now = capture.clock;
        if self.sending.is_none() {
            self.sending = self.begin(traffic, next, rng)?;
        }
        let Some((sender, frame, mut at)) = self.sending.take() else { return Ok(false) };
        for _ in 0..rng.usize(1..=MAX_BURST) {
            let rest = frame.get(at..).unwrap_or_default();
            let (segment, rest) = rest.split_at(rest.len().min(self.segment_size));
            self.tcp.send(capture, sender, segment, rest.is_empty())?;
            at += segment.len();
            if rest.is_empty() {
                return Ok(true);
            }
        }
        self.sending = Some((sender, frame, at));
        Ok(true)
    }

    fn begin(
        &mut self,
        traffic: &mut Traffic<'_>,
        next: Option<Kind>,
        rng: &mut Rng,
    ) -> anyhow::Result<Option<(Sender, Vec<u8>, usize)>> {
        // ApiVersions and Metadata are awaited, as clients do.
        let most = if self.correlation <= 2 { 1 } else { MAX_UNDER_WAY };
        match next {
            Some(kind) if self.calls.is_empty() || self.calls.len() < most && rng.bool() => {
                let (call, frame) = traffic.request(kind, self.correlation, &self.client_id)?;
                self.correlation = self.correlation.wrapping_add(1) & i32::MAX;
                self.calls.push_back(call);
                Ok(Some((Sender::Client, frame, 0)))
            }
            _ => {
                let Some(call) = self.calls.pop_front() else { return Ok(None) };
                Ok(Some((Sender::Broker, traffic.response(&call)?, 0)))
            }
        }
    }
}

/// How often each kind of exchange is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mix {
    produce: u32,
    fetch: u32,
    metadata: u32,
    small: u32,
}

impl Mix {
    fn draw(&self, rng: &mut Rng) -> Kind {
        const SMALL: [Kind; 8] = [
            Kind::Heartbeat,
            Kind::Heartbeat,
            Kind::OffsetCommit,
            Kind::OffsetCommit,
            Kind::ListOffsets,
            Kind::OffsetFetch,
            Kind::FindCoordinator,
            Kind::ApiVersions,
        ];
        let mut left = rng.u32(0..self.produce + self.fetch + self.metadata + self.small);
        for (weight, kind) in
            [(self.produce, Kind::Produce), (self.fetch, Kind::Fetch), (self.metadata, Kind::Metadata)]
        {
            if left < weight {
                return kind;
            }
            left -= weight;
        }
        rng.choice(SMALL).unwrap_or(Kind::Heartbeat)
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut mix = Self::default();
        let text = if text == "mixed" { "produce=10,fetch=10,metadata=1,small=20" } else { text };
        for part in text.split(',') {
            let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
            let weight: u16 = weight.parse().map_err(|_| format!("{weight} is no weight"))?;
            let place = match name {
                "produce" => &mut mix.produce,
                "fetch" => &mut mix.fetch,
                "metadata" => &mut mix.metadata,
                "small" => &mut mix.small,
                _ => return Err(format!("{name} is none of produce, fetch, metadata, small, mixed")),
            };
            *place = weight.into();
        }
        if mix.produce + mix.fetch + mix.metadata + mix.small == 0 {
            return Err("all weights are 0".to_owned());
        }
        Ok(mix)
    }
}

/// Bytes with a unit or without: powers of 1000, and of 1024 with an `i`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default().to_ascii_lowercase();
    let factor = match unit.trim_end_matches('b') {
        "" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        _ => return Err(format!("{unit} is no unit: try KB, MB, GB, KiB, MiB, GiB")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{digits} is no number"))?;
    number.checked_mul(factor).ok_or_else(|| "too large".to_owned())
}
