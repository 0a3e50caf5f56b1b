//! What the command line takes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::error::ContextKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use super::chosen::Numbers;
use crate::capture::live::{DEFAULT_BUFFER, DEFAULT_SNAP_LENGTH};
use crate::capture::{Again, Captures, OpenError};
use crate::conversation::{Endpoint, EndpointError, Options};
use crate::output::zone::Zone;

/// Shows what Kafka clients and brokers say to each other, byte by byte.
#[derive(Debug, Parser)]
#[command(
    name = "kafkascope",
    version,
    about,
    max_term_width = 120,
    arg_required_else_help = true,
    override_usage = "kafkascope [OPTIONS] FILE...\n       kafkascope [OPTIONS] <COMMAND>"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of all commands.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Lay a folder (or file) of schemas in Kafka's JSON notation over the built-in ones
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) schemas: Vec<PathBuf>,
    /// Show passwords, tokens and other secrets instead of `<withheld>`
    #[arg(long, global = true)]
    pub(crate) show_secrets: bool,
    /// Bytes that the compressed records of one message may inflate to [default: 16 MiB, or 100 for each compressed one,
    /// but no more than 256 MiB]
    #[arg(long, value_name = "BYTES", global = true, allow_negative_numbers = true)]
    pub(crate) max_inflate: Option<u32>,
    /// Use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Color,
    /// Write results to a file instead of standard output, which is `-`
    #[arg(short, long, value_name = "FILE", global = true)]
    pub(crate) output: Option<PathBuf>,
    /// Settings of the screen: a TOML file [default: kafkascope/config.toml in the folder for configurations]
    #[arg(long, value_name = "FILE", env = "KAFKASCOPE_CONFIG", hide_env_values = true, global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Say less on standard error
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more: notes are not cut
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that is not `dumb`, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The screen: messages, trees and bytes; what is done on a terminal when no command is named
    Open(OpenArgs),
    /// The screen over an interface, or lines as messages come; the interfaces that there are when none is named
    Live(LiveArgs),
    /// One line a message; what is done elsewhere when no command is named
    List(ListArgs),
    /// The annotated tree of each message, or of some
    Show(ShowArgs),
    /// Messages for other programs
    Export(ExportArgs),
    /// Decodes pasted bytes: hex, dumps, arrays and strings of programming languages, base64; no capture needed
    Explain(ExplainArgs),
    /// The reference page of a message: smallest legal instance, byte grid, tree, schema
    Layout(LayoutArgs),
    /// What is known of Kafka's messages, and what differs between versions, drafts and releases
    #[command(subcommand)]
    Schema(SchemaCommand),
}

/// What to read, for all commands that read captures.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Captures: pcap, pcapng or snoop, `-` for standard input; several are one capture in order of time
    #[arg(value_name = "FILE", required_unless_present = "read")]
    pub(crate) files: Vec<PathBuf>,
    /// One more capture, as other tools take it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) read: Vec<PathBuf>,
    /// Files are still being written: go on with what comes, until ctrl-c
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
}

impl InputArgs {
    /// Opens the captures; files that are followed end when `stop` is set.
    pub(crate) fn open(&self, again: Again, stop: Arc<AtomicBool>) -> Result<Captures, OpenError> {
        let mut captures = if self.follow { Captures::growing(stop) } else { Captures::new() };
        captures.add_all(self.read.iter().chain(&self.files), again)?;
        Ok(captures)
    }
}

/// How messages are found, in captures and in what is captured.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// A broker's port, when it cannot be told
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) port: Vec<u16>,
    /// What is spoken at an endpoint (PORT or ADDRESS:PORT), whatever it looks like: kafka or none
    #[arg(long, value_name = "ENDPOINT=PROTOCOL", value_parser = decode_as)]
    pub(crate) decode_as: Vec<(Endpoint, bool)>,
    /// Frames that say that they are longer are not believed
    #[arg(long, value_name = "BYTES", default_value_t = 100 << 20, allow_negative_numbers = true)]
    pub(crate) max_frame: u32,
    /// Secrets of TLS connections, as clients and brokers log them; the file may grow. `SSLKEYLOGFILE` names one as well
    #[arg(long, value_name = "FILE")]
    pub(crate) keylog: Vec<PathBuf>,
    /// Keys and values of a topic's records are in this format: string, json or hex; a `*` ends the beginning of a name
    #[arg(long, value_name = "TOPIC[:key|:value]=FORMAT")]
    pub(crate) decode: Vec<String>,
    /// The time zone of times of day in trees and on the screen: UTC, local, an offset (+02:00), or a name (Europe/Berlin)
    #[arg(long, value_name = "ZONE", default_value = "UTC", allow_hyphen_values = true)]
    pub(crate) time_zone: Zone,
    /// Show hosts by the names that a pcapng capture has for them; whoever wrote it chose the names
    #[arg(long)]
    pub(crate) names: bool,
    /// Leave out TCP segments and IPv4 packets whose checksum is wrong
    #[arg(long)]
    pub(crate) check_checksums: bool,
    /// Stop after so many messages
    #[arg(short, long, value_name = "COUNT", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

impl MessageArgs {
    /// Has captures keep the names that are wanted; before they are read.
    pub(crate) fn name(&self, captures: &Captures) {
        if self.names {
            captures.names().want_hosts();
        }
    }

    /// What is set of how connections are read.
    pub(crate) fn options(&self) -> Options {
        let ports = self.port.iter().map(|port| (Endpoint::from(*port), true));
        let decode_as = ports.chain(self.decode_as.iter().copied()).collect();
        let check_checksums = self.check_checksums;
        Options { max_frame: self.max_frame, decode_as, check_checksums, ..Options::default() }
    }
}

/// Reads `ENDPOINT=PROTOCOL`: whether the protocol is Kafka's.
fn decode_as(text: &str) -> Result<(Endpoint, bool), String> {
    let (endpoint, protocol) = text.split_once('=').ok_or("it has no `=`; as in 9093=kafka")?;
    let is_kafka = match protocol {
        "kafka" => true,
        "none" => false,
        _ => return Err("the protocol is kafka or none".to_owned()),
    };
    let endpoint = endpoint.parse().map_err(|error: EndpointError| error.to_string())?;
    Ok((endpoint, is_kafka))
}

/// Arguments of `open`.
#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Arguments of `live`.
#[derive(Debug, Args)]
#[command(override_usage = "kafkascope live [OPTIONS] [IFACE [BPF]]", after_help = LIVE_EXAMPLES)]
pub(crate) struct LiveArgs {
    /// The interface, or `any`; then which packets, in the language of pcap-filter(7)
    /// [default: all TCP, also in tunnels and IP fragments]
    #[arg(value_name = "IFACE [BPF]")]
    pub(crate) words: Vec<String>,
    /// The interface, as other tools take it
    #[arg(short, long, value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// One line a message instead of the screen; what is done where standard output is no terminal
    #[arg(long, conflicts_with = "export")]
    pub(crate) list: bool,
    /// Messages for other programs instead of the screen
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "ndjson")]
    pub(crate) export: Option<ExportFormat>,
    /// Write what is captured to a file as well
    #[arg(short, long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Begin another file (`FILE_00001`, `FILE_00002`, ...) when one has so many bytes: 100M, 2G
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "write", allow_negative_numbers = true)]
    pub(crate) ring_size: Option<u64>,
    /// Of these files keep only the newest ones
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "ring_size",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ring_files: Option<u32>,
    /// Overwrite files that are there already
    #[arg(long, requires = "write")]
    pub(crate) force: bool,
    /// Stop after so many packets
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) packets: Option<u64>,
    /// Stop after so long: 90, 90s, 15m, 8h
    #[arg(long, value_name = "TIME", value_parser = duration, allow_negative_numbers = true)]
    pub(crate) duration: Option<Duration>,
    /// Stop when so many bytes were captured: 500M, 2G
    #[arg(long, value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    pub(crate) size: Option<u64>,
    /// Bytes of a packet to keep
    #[arg(short, long, value_name = "BYTES", default_value_t = DEFAULT_SNAP_LENGTH, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=262_144))]
    pub(crate) snaplen: u32,
    /// The system's buffer for packets that were not taken yet
    #[arg(short = 'B', long, value_name = "MIB", default_value_t = DEFAULT_BUFFER, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=2047))]
    pub(crate) buffer: u32,
    /// Have the interface receive what is meant for others as well
    #[arg(long)]
    pub(crate) promiscuous: bool,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
}

const LIVE_EXAMPLES: &str = "Examples:
  kafkascope live                              the interfaces that there are
  kafkascope live any                          the screen over all of them
  kafkascope live eth0 host 10.0.0.7 --list    lines
  kafkascope live lo --export | jq .api        for other programs
  kafkascope live eth0 -w shop.pcapng --ring-size 100M --ring-files 10";

/// A number of bytes, as `500k`, `100M` or `2G` (of 1,000, as files are measured), or as it is.
fn size(text: &str) -> Result<u64, String> {
    let units = [('k', 1_000), ('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000), ('T', 1_000_000_000_000)];
    let size = with_unit(text.strip_suffix('B').unwrap_or(text), &units);
    size.ok_or_else(|| "a size is a number with k, M or G behind it".to_owned())
}

/// A time, as `90`, `90s`, `15m` or `8h`.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = with_unit(text, &[('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)]);
    seconds.map(Duration::from_secs).ok_or_else(|| "a time is a number with s, m or h behind it".to_owned())
}

/// A number that is not 0, in the unit of the letter behind it.
fn with_unit(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let number = unit.map_or(text, |(letter, _)| text.trim_end_matches(*letter));
    let number = number.parse::<u64>().ok()?.checked_mul(unit.map_or(1, |(_, factor)| *factor));
    number.filter(|number| *number > 0)
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
}

/// Which messages are printed.
#[derive(Debug, Args)]
pub(crate) struct ChosenArgs {
    /// Only the messages with these numbers: 5, 5-9, 5- (and all behind it), or several with commas between them
    #[arg(short, long, value_name = "N", allow_hyphen_values = true, value_delimiter = ',')]
    pub(crate) message: Vec<Numbers>,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// How to print a message
    #[arg(short, long, value_name = "FORMAT", default_value = "ndjson")]
    pub(crate) format: ExportFormat,
}

/// How `export` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A line of JSON a message, in the shape of Kafka's own
    Ndjson,
    /// A line of JSON a message, with nested nodes and their byte ranges
    Tree,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The bytes, in any form; `-` or none for standard input
    #[arg(value_name = "HEX", allow_negative_numbers = true)]
    pub(crate) hex: Vec<String>,
    /// Read the bytes, in any form, from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "hex")]
    pub(crate) read: Option<PathBuf>,
    /// They are a response of this API, perhaps of this version
    #[arg(long, value_name = "API[:VERSION]")]
    pub(crate) response_of: Option<String>,
    /// They are a request, even if it does not fit
    #[arg(long, conflicts_with = "response_of")]
    pub(crate) request: bool,
    /// They are a payload: a schema's name (`OffsetCommitValue`) or `kraft-record`, `offsets-key`, `txn-key`, `share-key`;
    /// or `record-batch`: batches one behind the other, as in a log segment
    #[arg(long = "as", value_name = "NAME[:VERSION]", conflicts_with_all = ["response_of", "request"])]
    pub(crate) payload: Option<String>,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ExplainFormat,
}

/// How `explain` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// The annotated tree
    Text,
    /// The object that `export` would print
    Json,
    /// Nested nodes with their byte ranges
    Tree,
}

/// Arguments of `layout`.
#[derive(Debug, Args)]
pub(crate) struct LayoutArgs {
    /// The API's name (any case) or key; or `RecordBatch`
    pub(crate) api: String,
    /// Only this half of it: request or response
    pub(crate) half: Option<Half>,
    /// The version; the newest one if not given
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) version: Option<i16>,
    /// Only the request
    #[arg(long, conflicts_with_all = ["response", "half"])]
    pub(crate) request: bool,
    /// Only the response
    #[arg(long, conflicts_with = "half")]
    pub(crate) response: bool,
    /// How to print the page
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: LayoutFormat,
}

/// A half of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Half {
    /// What clients ask
    Request,
    /// What brokers answer
    Response,
}

/// How `layout` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFormat {
    /// The page as text
    Text,
    /// Only the bytes of the instance, for scripts
    Hex,
}

/// The `schema` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// All messages that are known, a line each
    List {
        /// Only those whose name, module, kind or key is (or has in it) this word
        word: Option<String>,
    },
    /// A message's schema, with since and until when each version lived; the codes of an enumeration
    Show {
        /// The name of a message (`MetadataRequest`), an API (`Metadata`) or an enumeration (`ErrorCode`, `errors`)
        name: String,
        /// Only the fields of this version
        #[arg(long, allow_negative_numbers = true)]
        version: Option<i16>,
        /// Print it in Kafka's JSON notation
        #[arg(long)]
        json: bool,
    },
    /// What differs between two versions, drafts or releases
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        /// Names of messages or APIs (`NAME` or `NAME:VERSION`), schema files (drafts), folders of them (releases);
        /// a file or folder alone is compared with what is known
        #[arg(required = true, num_args = 1..=3, value_name = "WHAT")]
        what: Vec<String>,
    },
}

const DIFF_EXAMPLES: &str = "Examples:
  kafkascope schema diff Metadata 11 12                        two versions, request and response
  kafkascope schema diff MetadataRequest:9 MetadataRequest:12  the same, only the request
  kafkascope schema diff draft.json DescribeClusterResponse    a draft with what was released
  kafkascope schema diff revision-9.json revision-10.json      two drafts
  kafkascope schema diff kafka/clients/src/main/resources/common/message
                                                               what is known with a newer release";

/// Puts the command in front of all else, and the default command where none is named, so that `kafkascope FILE` and
/// `kafkascope --port 9093 list FILE` work. What a command's name could have been meant for is left for clap to say.
pub(crate) fn with_default_command(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let mut root = Arguments::command();
    // With this it has the command `help`.
    root.build();
    let Some(first) = first_value(&root, &arguments) else { return arguments };
    let word = arguments.get(first).and_then(|word| word.to_str()).unwrap_or_default();
    if root.find_subcommand(word).is_some() {
        if let Some(before) = arguments.get_mut(1..=first) {
            before.rotate_right(1);
        }
    } else if arguments.iter().skip(1).any(|argument| names_interface(argument)) {
        arguments.insert(1, OsString::from("live"));
    } else if !is_mistyped(&arguments, first) {
        let command = if super::open::is_possible() { "open" } else { "list" };
        arguments.insert(1, OsString::from(command));
    }
    arguments
}

/// Whether an argument is `-i IFACE`, which no other command has.
fn names_interface(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    text.starts_with("-i") || text == "--interface" || text.starts_with("--interface=")
}

/// The place of the first argument that is neither an option nor an option's value; the length where there is none but
/// something to do all the same; nothing where there is nothing to do.
fn first_value(root: &clap::Command, arguments: &[OsString]) -> Option<usize> {
    let takes_value = |is: &dyn Fn(&clap::Arg) -> bool| {
        let mut all = root.get_arguments().chain(root.get_subcommands().flat_map(clap::Command::get_arguments));
        all.any(|argument| is(argument) && argument.get_action().takes_values() && !argument.is_positional())
    };
    let mut place = 1;
    while let Some(argument) = arguments.get(place) {
        let text = argument.to_string_lossy();
        if let Some(long) = text.strip_prefix("--") {
            if matches!(long, "help" | "version") {
                return None;
            }
            if long.is_empty() {
                break;
            }
            // `--name=value` is one argument; `--name value` is two.
            place += usize::from(takes_value(&|argument| argument.get_long() == Some(long)));
        } else if let Some(shorts) = text.strip_prefix('-').filter(|shorts| !shorts.is_empty()) {
            if shorts.starts_with(['h', 'V']) {
                return None;
            }
            // What follows an option with a value, as in `-c5`, is the value.
            let valued = shorts.char_indices().find(|(_, c)| takes_value(&|argument| argument.get_short() == Some(*c)));
            place += usize::from(valued.is_some_and(|(at, c)| at + c.len_utf8() == shorts.len()));
        } else {
            return Some(place);
        }
        place += 1;
    }
    (arguments.len() > 1).then_some(arguments.len())
}

/// Whether a word is no file, and like the name of a command.
fn is_mistyped(arguments: &[OsString], place: usize) -> bool {
    let Some(word) = arguments.get(place) else { return false };
    let is_like_a_command = || {
        let alone = [OsStr::new("kafkascope"), word];
        let Err(error) = Arguments::command().try_get_matches_from(alone) else { return false };
        error.get(ContextKind::SuggestedSubcommand).is_some()
    };
    word != "-" && !Path::new(word).exists() && is_like_a_command()
}
