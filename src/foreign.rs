//! What stands where a Kafka frame should begin when it is not one: other protocols, memory, frames read from a wrong place.

use std::fmt;

/// The size from which on a broker refuses a request: the default of `socket.request.max.bytes`.
const MAX_REQUEST: u32 = 104_857_600;
/// No API key and no version of a request is higher in any release; checked against the schemas.
const MAX_API_KEY: i16 = 94;
const MAX_API_VERSION: i16 = 20;
/// What `ZooKeeper` answers when it is asked in four letters (its Administrator's Guide, "The Four Letter Words").
const FOUR_LETTER_WORDS: [&[u8; 4]; 19] = [
    b"conf", b"cons", b"crst", b"dirs", b"dump", b"envi", b"gtmk", b"hash", b"isro", b"mntr", b"ruok", b"srst",
    b"srvr", b"stat", b"stmk", b"wchc", b"wchp", b"wchs", b"orst",
];
const HTTP_METHODS: [&str; 8] = ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "CONNECT", "PATCH"];
const PROXY_V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Bytes recognised in the place of a Kafka frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A TLS record (RFC 8446, section 5.1).
    Tls {
        /// The record's content type: 20 change cipher spec, 21 alert, 22 handshake, 23 application data, 24 heartbeat.
        content: u8,
        /// The record's version: 0x0301 for TLS 1.0, as a first `ClientHello` has whatever it offers.
        version: u16,
        /// The type of the handshake message, or the description of the alert, when it is visible.
        detail: Option<u8>,
    },
    /// A `ClientHello` in the format of SSL 2.
    Ssl2Hello,
    /// A request of HTTP/1; the method.
    HttpRequest(&'static str),
    /// An answer of HTTP/1; the status code, when it is visible.
    HttpResponse(Option<u16>),
    /// The preface of an HTTP/2 connection (RFC 9113, section 3.4).
    Http2,
    /// The greeting of SSH (RFC 4253, section 4.2).
    Ssh,
    /// A header of the PROXY protocol; its version, 1 or 2.
    Proxy(u8),
    /// A pattern that memory is filled with.
    Fill(u32),
    /// A frame, and `surplus` bytes before it.
    Surplus {
        /// Bytes before the size field, 1 to 3.
        surplus: usize,
        /// The size that stands behind them.
        size: u32,
    },
    /// A frame whose first bytes are missing.
    Missing {
        /// Bytes of the size field that are missing, 1 to 3.
        missing: usize,
        /// The size, when the missing bytes are zeros.
        size: u32,
    },
    /// The size field is little-endian; the size that it then is.
    LittleEndianSize(u32),
    /// A command of `ZooKeeper`, such as `ruok`.
    ZooKeeper([u8; 4]),
    /// JSON text.
    Json,
    /// The protocol of Redis.
    Redis,
    /// A gzip member (RFC 1952).
    Gzip,
    /// A record batch without a frame around it, as log segments hold them; its magic (0 and 1 are message sets).
    RecordBatch(u8),
    /// A request without its size field.
    NoSize {
        /// The request's API key.
        api_key: i16,
        /// The request's version.
        api_version: i16,
    },
    /// A captured packet from its IP or Ethernet header on, as `tcpdump -X` prints it; where the TCP payload starts.
    Packet(usize),
}

impl Foreign {
    /// The name of the protocol, if it is one.
    pub fn protocol(self) -> Option<&'static str> {
        match self {
            Self::HttpRequest(_) | Self::HttpResponse(_) | Self::Http2 => Some("HTTP"),
            Self::Ssh => Some("SSH"),
            Self::Ssl2Hello => Some("SSL 2"),
            Self::Proxy(_) => Some("the PROXY protocol"),
            Self::ZooKeeper(_) => Some("ZooKeeper"),
            Self::Redis => Some("Redis"),
            Self::Json => Some("JSON text"),
            _ => None,
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Tls { content, version, detail } => write_tls(f, content, version, detail),
            Self::Ssl2Hello => f.write_str("a ClientHello of SSL 2: an old TLS client speaks to a listener or a port that is taken for plaintext"),
            Self::HttpRequest(method) => write!(
                f,
                "an HTTP request ({method}): a browser, a health check or an HTTP client is pointed at the Kafka port"
            ),
            Self::HttpResponse(status) => {
                f.write_str("an HTTP answer")?;
                if let Some(status) = status {
                    write!(f, " (status {status})")?;
                }
                f.write_str(": the client talks to a web server or an HTTP proxy, not to a broker")
            }
            Self::Http2 => f.write_str("the preface of HTTP/2: an HTTP/2 or gRPC client is pointed at the Kafka port"),
            Self::Ssh => f.write_str("the greeting of SSH: the port is an SSH server's, or a tunnel was not set up"),
            Self::Proxy(version) => write!(
                f,
                "a header of the PROXY protocol, version {version}: a load balancer sends it before the connection's bytes, and Kafka does not understand it; switch it off there"
            ),
            Self::Fill(pattern) => write_fill(f, pattern),
            Self::Surplus { surplus, size } => write!(
                f,
                "a frame of size {size} that starts {surplus} {} later: the bytes before it belong to something else, or the copy began too early",
                plural(surplus)
            ),
            Self::Missing { missing, size } => write!(
                f,
                "a frame of size {size} whose first {missing} {} missing: the copy began too late, or the stream was read from a wrong place",
                if missing == 1 { "byte is" } else { "bytes are" }
            ),
            Self::LittleEndianSize(size) => write!(
                f,
                "a frame whose size field is little-endian ({size}): Kafka's integers are big-endian; the sender forgot to convert it, or a dump of words was read in the wrong order"
            ),
            Self::ZooKeeper(word) => write!(
                f,
                "a ZooKeeper command ({}): a ZooKeeper client or a monitoring script is pointed at the Kafka port",
                word.escape_ascii()
            ),
            Self::Json => f.write_str("JSON text: a client of a REST proxy or a log shipper is pointed at the Kafka port, or a message's value was pasted instead of a frame"),
            Self::Redis => f.write_str("the protocol of Redis: a Redis client or server stands at one end of this connection"),
            Self::Gzip => f.write_str("a gzip member: compressed data without a frame; inflate it first"),
            Self::RecordBatch(magic @ 0..=1) => write!(
                f,
                "a message set (magic {magic}) without a frame around it, as in a log segment or a records field: --as record-batch decodes it"
            ),
            Self::RecordBatch(magic) => write!(
                f,
                "a record batch (magic {magic}) without a frame around it, as in a log segment or a records field: --as record-batch decodes it"
            ),
            Self::NoSize { api_key, api_version } => write!(
                f,
                "a request (API key {api_key}, version {api_version}) without the four bytes of its size: the copy began behind them"
            ),
            Self::Packet(payload) => write!(
                f,
                "a captured packet with its headers, as tcpdump -X prints it: the TCP payload starts at byte {payload}"
            ),
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "byte" } else { "bytes" }
}

fn write_tls(f: &mut fmt::Formatter<'_>, content: u8, version: u16, detail: Option<u8>) -> fmt::Result {
    let version = match version {
        0x0300 => "SSL 3.0",
        0x0301 => "TLS 1.0",
        0x0302 => "TLS 1.1",
        0x0303 => "TLS 1.2",
        _ => "TLS 1.3",
    };
    let what = match (content, detail) {
        (20, _) => "change cipher spec",
        (21, Some(40)) => "alert: handshake_failure",
        (21, Some(42)) => "alert: bad_certificate",
        (21, Some(46)) => "alert: certificate_unknown",
        (21, Some(48)) => "alert: unknown_ca",
        (21, Some(70)) => "alert: protocol_version",
        (21, Some(116)) => "alert: certificate_required",
        (21, _) => "alert",
        (22, Some(1)) => "handshake: ClientHello",
        (22, Some(2)) => "handshake: ServerHello",
        (22, _) => "handshake",
        (23, _) => "application data",
        _ => "heartbeat",
    };
    write!(f, "a TLS record ({what}; record version {version}): ")?;
    f.write_str(match (content, detail) {
        (22, Some(1)) => "a client with security.protocol=SSL or SASL_SSL speaks to a listener without TLS, or this is TLS taken for plaintext",
        (21, _) => "one end refuses TLS as the other offers it, or a plaintext client speaks to a TLS listener",
        _ => "this connection is encrypted; its keys (SSLKEYLOGFILE) are needed to read it",
    })
}

fn write_fill(f: &mut fmt::Formatter<'_>, pattern: u32) -> fmt::Result {
    let meaning = match pattern {
        0 => "zeros: memory or a file that was never written, or a preallocated part of a log segment",
        u32::MAX => "-1: a null length where a size should be, or erased memory",
        0xDEAD_BEEF | 0xEFBE_ADDE => "a mark for memory that was freed or never written",
        0xCCCC_CCCC => "stack memory that was never written (a debug build of Microsoft's compiler)",
        0xCDCD_CDCD => "heap memory that was never written (a debug build of Microsoft's compiler)",
        _ => "memory that was never written",
    };
    write!(f, "the fill pattern 0x{pattern:08X}, {meaning}")
}

/// What bytes are that stand where a Kafka frame should begin; `None` when they are a frame or nothing is recognised.
pub fn recognise(bytes: &[u8]) -> Option<Foreign> {
    let protocol = tls(bytes).or_else(|| text(bytes)).or_else(|| binary(bytes));
    if protocol.is_some() {
        return protocol;
    }
    if is_frame(bytes) {
        return None;
    }
    // A misread frame is told by its header or its length; what tells a batch may stand in any bytes.
    misread(bytes)
        .or_else(|| record_batch(bytes))
        .or_else(|| header(bytes).map(|(api_key, api_version)| Foreign::NoSize { api_key, api_version }))
        .or_else(|| fill(bytes))
}

/// Why a frame's size is absurd, in a sentence; `bytes` are what stands from the size field on, as far as there is more.
/// `None` when the size may be true.
pub fn explain_size(size: i32, bytes: &[u8]) -> Option<String> {
    let field = size.to_be_bytes();
    let bytes = if bytes.starts_with(&field) { bytes } else { &field };
    if let Some(foreign) = recognise(bytes) {
        return Some(format!("read as a size, these bytes are {size}; they look like {foreign}"));
    }
    if size < 0 {
        return Some(format!("a size of {size} is negative: these bytes are no size field"));
    }
    if field.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return Some(format!(
            "a size of {size} is the text \"{}\": this is some text, not a frame",
            field.escape_ascii()
        ));
    }
    if size.unsigned_abs() > MAX_REQUEST {
        return Some(format!(
            "a size of {size} is more than a broker accepts by default (socket.request.max.bytes={MAX_REQUEST})"
        ));
    }
    (size < 4).then(|| format!("a size of {size} has no room for a correlation id, which takes 4 bytes"))
}

fn be_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|field| u16::from_be_bytes(*field))
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|field| u32::from_be_bytes(*field))
}

fn tls(bytes: &[u8]) -> Option<Foreign> {
    match *bytes {
        [content @ 20..=24, 3, minor @ 0..=4, ..] if bytes.len() >= 4 => {
            // A record is 2^14 bytes long and a little more at most; the detail of an encrypted alert cannot be seen.
            let length = be_u16(bytes, 3);
            if length.is_some_and(|length| length == 0 || length > (1 << 14) + 2048) {
                return None;
            }
            let detail = match (content, length) {
                (21, Some(2)) => bytes.get(6).copied(),
                (22, _) => bytes.get(5).copied(),
                _ => None,
            };
            Some(Foreign::Tls { content, version: 0x0300 | u16::from(minor), detail })
        }
        [high, low, 1, major, minor, ..] if high >= 0x80 => {
            let length = usize::from(high & 0x7f) << 8 | usize::from(low);
            let version = matches!((major, minor), (0, 2) | (3, 0..=4));
            (version && length >= 9).then_some(Foreign::Ssl2Hello)
        }
        _ => None,
    }
}

fn text(bytes: &[u8]) -> Option<Foreign> {
    let method = HTTP_METHODS.iter().find(|method| {
        bytes.strip_prefix(method.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b" "))
    });
    if let Some(method) = method.filter(|_| bytes.len() >= 4) {
        return Some(Foreign::HttpRequest(method));
    }
    if bytes.starts_with(b"HTTP") && (bytes.len() == 4 || bytes.starts_with(b"HTTP/")) {
        let status = bytes.get(9..12).and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
        return Some(Foreign::HttpResponse(status));
    }
    let fixed: [(&[u8], Foreign); 4] = [
        (b"PRI * HTTP/2", Foreign::Http2),
        (b"SSH-", Foreign::Ssh),
        (b"PROXY ", Foreign::Proxy(1)),
        (PROXY_V2, Foreign::Proxy(2)),
    ];
    // Four bytes at least: a size field is all that some callers have.
    let starts = |mark: &[u8]| bytes.len() >= 4 && (bytes.starts_with(mark) || mark.starts_with(bytes));
    if let Some((_, foreign)) = fixed.into_iter().find(|(mark, _)| starts(mark)) {
        return Some(foreign);
    }
    let word = bytes.first_chunk::<4>()?;
    let ends = bytes.get(4).is_none_or(u8::is_ascii_whitespace);
    if ends && FOUR_LETTER_WORDS.contains(&word) {
        return Some(Foreign::ZooKeeper(*word));
    }
    if is_redis(bytes) {
        return Some(Foreign::Redis);
    }
    is_json(bytes).then_some(Foreign::Json)
}

fn is_redis(bytes: &[u8]) -> bool {
    let Some((b'*' | b'$', rest)) = bytes.split_first() else {
        return [b"+OK\r".as_slice(), b"+PON", b"-ERR"].iter().any(|start| bytes.starts_with(start));
    };
    let digits = rest.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest.get(digits..).is_some_and(|end| end.starts_with(b"\r\n"))
}

fn is_json(bytes: &[u8]) -> bool {
    let mut tokens = bytes.iter().take(64).filter(|byte| !byte.is_ascii_whitespace());
    // Printable all over: a size field may hold these bytes by chance.
    let printable = bytes.iter().take(16).all(|byte| byte.is_ascii_whitespace() || *byte >= b' ' && *byte != 0x7f);
    printable
        && match (tokens.next(), tokens.next()) {
            (Some(b'{'), Some(next)) => matches!(next, b'"' | b'}'),
            (Some(b'['), Some(next)) => matches!(next, b'"' | b'{' | b'[' | b']' | b'0'..=b'9'),
            _ => false,
        }
}

fn binary(bytes: &[u8]) -> Option<Foreign> {
    if let [0x1f, 0x8b, 8, flags, ..] = *bytes
        && flags & 0xe0 == 0
    {
        return Some(Foreign::Gzip);
    }
    packet(bytes).map(Foreign::Packet)
}

/// Where the TCP payload of a packet starts.
fn packet(bytes: &[u8]) -> Option<usize> {
    if let Some(payload) = ip_payload(bytes) {
        return Some(payload);
    }
    let ethernet = matches!(be_u16(bytes, 12)?, 0x0800 | 0x86dd);
    if ethernet { ip_payload(bytes.get(14..)?).map(|payload| payload + 14) } else { None }
}

fn ip_payload(bytes: &[u8]) -> Option<usize> {
    const TCP: u8 = 6;
    let (tcp, length) = match bytes.first()? {
        first @ 0x45..=0x4f if *bytes.get(9)? == TCP => (usize::from(first & 0xf) * 4, usize::from(be_u16(bytes, 2)?)),
        0x60..=0x6f if *bytes.get(6)? == TCP => (40, usize::from(be_u16(bytes, 4)?) + 40),
        _ => return None,
    };
    let header = usize::from(bytes.get(tcp + 12)? >> 4) * 4;
    let payload = tcp + header;
    // A total length of 0 is a segment that the network card has yet to cut.
    (header >= 20 && payload <= bytes.len() && (length == 0 || length >= payload)).then_some(payload)
}

fn fill(bytes: &[u8]) -> Option<Foreign> {
    let pattern = be_u32(bytes, 0)?;
    match pattern {
        0xAAAA_AAAA | 0xCCCC_CCCC | 0xCDCD_CDCD | 0xDEAD_BEEF | 0xEFBE_ADDE | 0xBAAD_F00D | 0xFEEE_FEEE | u32::MAX => {
            Some(Foreign::Fill(pattern))
        }
        0 if bytes.len() >= 8 && bytes.iter().take(16).all(|byte| *byte == 0) => Some(Foreign::Fill(0)),
        _ => None,
    }
}

/// Whether the bytes are frames from end to end, or start with a request.
fn is_frame(bytes: &[u8]) -> bool {
    let Some(size) = be_u32(bytes, 0) else {
        return false;
    };
    if (8..=MAX_REQUEST).contains(&size) && bytes.get(4..).is_some_and(|body| header(body).is_some()) {
        return true;
    }
    let mut rest = bytes;
    while let Some(size) = be_u32(rest, 0).filter(|size| *size >= 4) {
        match rest.get(4..).and_then(|body| body.get(size as usize..)) {
            Some([]) => return true,
            Some(next) => rest = next,
            None => return false,
        }
    }
    false
}

/// API key and version of a request header, when all of its fields may be true.
fn header(bytes: &[u8]) -> Option<(i16, i16)> {
    let field = |at| be_u16(bytes, at).map(u16::cast_signed);
    let (api_key, api_version) = (field(0)?, field(2)?);
    let correlation_id = be_u32(bytes, 4)?.cast_signed();
    let client_id = match field(8)? {
        -1 => [].as_slice(),
        length @ 0..=255 => {
            bytes.get(10..).map(|rest| rest.get(..usize::from(length.unsigned_abs())).unwrap_or(rest))?
        }
        _ => return None,
    };
    let plausible =
        (0..=MAX_API_KEY).contains(&api_key) && (0..=MAX_API_VERSION).contains(&api_version) && correlation_id >= 0;
    let printable = client_id.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
    // Zeros everywhere would be a header, too.
    let empty = bytes.iter().take(10).all(|byte| *byte == 0);
    (plausible && printable && !empty).then_some((api_key, api_version))
}

/// A batch or a message set: base offset, length, and the magic at offset 16 in every format.
fn record_batch(bytes: &[u8]) -> Option<Foreign> {
    let length = be_u32(bytes, 8)?;
    let magic = *bytes.get(16)?;
    let positive = bytes.first().is_some_and(|byte| *byte < 0x80);
    let plausible = match magic {
        2 => {
            // Above the header's own 49 bytes; seven of the attributes' bits have a meaning at most.
            let attributes = be_u16(bytes, 21).unwrap_or(0);
            let last_offset_delta = be_u32(bytes, 23).unwrap_or(0);
            length >= 49
                && length <= i32::MAX.unsigned_abs()
                && attributes < 0x80
                && last_offset_delta <= i32::MAX.unsigned_abs()
        }
        // Magic, attributes, lengths of key and value, CRC.
        0 | 1 => {
            length >= 14
                && (length as usize) <= bytes.len().saturating_sub(12)
                && bytes.get(17).is_some_and(|attributes| *attributes < 16)
        }
        _ => false,
    };
    (positive && plausible).then_some(Foreign::RecordBatch(magic))
}

/// A frame whose size field is read in a wrong order or from a wrong place.
fn misread(bytes: &[u8]) -> Option<Foreign> {
    let first = be_u32(bytes, 0)?;
    // A size that is near the number of bytes is not misread, but its frame cut short.
    let is_near = (first as usize) >= bytes.len() / 2 && (first as usize) <= bytes.len().saturating_mul(16);
    let fits = |size: u32, body: &[u8]| {
        let exact = size >= 8 && size as usize == body.len();
        exact || (!is_near && (8..=MAX_REQUEST).contains(&size) && header(body).is_some())
    };
    // A size that is smaller as it stands was only written wrongly.
    if first.swap_bytes() < first && fits(first.swap_bytes(), bytes.get(4..)?) {
        return Some(Foreign::LittleEndianSize(first.swap_bytes()));
    }
    for count in 1..=3 {
        if let Some(size) = be_u32(bytes, count)
            && fits(size, bytes.get(count + 4..)?)
        {
            return Some(Foreign::Surplus { surplus: count, size });
        }
        let size = first >> (8 * count);
        if fits(size, bytes.get(4 - count..)?) {
            return Some(Foreign::Missing { missing: count, size });
        }
    }
    None
}

#[cfg(test)]
mod tests;
