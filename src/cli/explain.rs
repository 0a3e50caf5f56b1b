//! `kafkascope explain`: pasted bytes, decoded.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::End;
use super::args::{Common, ExplainArgs, ExplainFormat};
use super::input::LARGE;
use crate::dissect::{Reading, Tree, dissect, dissect_payload, dissect_records};
use crate::explain::{Explained, Finding, Hint, api_and_version, explain};
use crate::output::describe::{Describer, kind_of, title_of};
use crate::output::json::{JsonWriter, close_bracket};
use crate::output::ndjson::{self, Known};
use crate::output::tree_json;
use crate::output::tree_text::write_tree_by_line;
use crate::paste;
use crate::protocol::{ApiKey, Catalog, Plan};

pub(super) fn run(arguments: &ExplainArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    let hint = hint(arguments, &catalog)?;
    let pasted = paste::parse(&input(arguments)?).map_err(|error| match file_named(arguments) {
        Some(path) => anyhow!("{path} is a file: explain -r {path} reads it"),
        None => error.into(),
    })?;
    if !common.quiet {
        let bytes = pasted.bytes.len();
        super::say(&format!("read as {}: {bytes} byte{}", pasted.form, if bytes == 1 { "" } else { "s" }));
    }
    let mut out = super::output(common, arguments.read.as_deref())?;
    let mut unknown = Vec::new();
    let mut is_one = None;
    for explained in explain(&catalog, &pasted.bytes, &hint)? {
        let is_one = *is_one.get_or_insert(explained.end == pasted.bytes.len());
        let bytes = pasted.bytes.get(explained.start..explained.end).unwrap_or_default();
        let place = if is_one { String::new() } else { format!("bytes {} to {}: ", explained.start, explained.end) };
        if matches!(explained.finding, Finding::Unknown) {
            unknown.push(format!("{place}{}", not_kafka(&explained.remarks)));
            continue;
        }
        for remark in &explained.remarks {
            super::say(&format!("{place}{remark}"));
        }
        print(&mut out, arguments, common, &catalog, &explained, bytes)?;
    }
    out.flush()?;
    if unknown.is_empty() { Ok(End::Done) } else { bail!("{}", unknown.join("\nkafkascope: ")) }
}

/// The argument, where it is alone and the name of a file.
fn file_named(arguments: &ExplainArgs) -> Option<&str> {
    let [path] = arguments.hex.as_slice() else { return None };
    Path::new(path).is_file().then_some(path.as_str())
}

/// Why bytes are not decoded, and what to do.
fn not_kafka(remarks: &[String]) -> String {
    const HINT: &str = "--response-of API[:VERSION], --request or --as NAME says what they are";
    match remarks {
        [] => format!("these bytes are no request, and no response takes them whole; {HINT}"),
        remarks => format!("these bytes are no message of Kafka's: {}; if they are, {HINT}", remarks.join("; ")),
    }
}

fn input(arguments: &ExplainArgs) -> anyhow::Result<Vec<u8>> {
    if let Some(path) = &arguments.read {
        let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        return limited(file).with_context(|| format!("cannot read {}", path.display()));
    }
    if arguments.hex.is_empty() || arguments.hex == ["-"] {
        if io::stdin().is_terminal() && arguments.hex.is_empty() {
            bail!("no bytes: give them as arguments, with -r FILE, or on standard input");
        }
        return limited(io::stdin().lock()).context("cannot read standard input");
    }
    Ok(arguments.hex.join(" ").into_bytes())
}

/// Reads to the end, unless that is further away than any message is long.
fn limited(reader: impl Read) -> anyhow::Result<Vec<u8>> {
    const MOST: u64 = 256 << 20;
    let mut bytes = Vec::new();
    reader.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        bail!("more than 256 MiB; explain is for single messages, captures are for `list` and `show`");
    }
    Ok(bytes)
}

fn hint(arguments: &ExplainArgs, catalog: &Catalog) -> anyhow::Result<Hint> {
    if let Some(text) = &arguments.response_of {
        let Some((api, version)) = api_and_version(catalog, text) else {
            bail!("--response-of {text}: expected an API's name or key, perhaps with a version: Metadata:12");
        };
        return Ok(Hint::ResponseOf(api.key, version));
    }
    if let Some(text) = &arguments.payload {
        let (name, version) = match text.split_once(':') {
            Some((name, version)) => (name, Some(version.parse().with_context(|| format!("--as {text}"))?)),
            None => (text.as_str(), None),
        };
        return Ok(Hint::Payload(name.to_owned(), version));
    }
    Ok(if arguments.request { Hint::Request } else { Hint::None })
}

/// Prints one message.
fn print(
    out: &mut dyn Write,
    arguments: &ExplainArgs,
    common: &Common,
    catalog: &Catalog,
    explained: &Explained<'_>,
    bytes: &[u8],
) -> io::Result<()> {
    match &explained.finding {
        Finding::Unknown => Ok(()),
        Finding::Payload(plan) => {
            if arguments.format == ExplainFormat::Json {
                return payload_json(out, catalog, common, plan, bytes);
            }
            let mut tree = Tree::opened(super::opening(catalog, common));
            dissect_payload(plan, bytes, &mut tree);
            let ty = kind_of(plan);
            write(out, arguments.format, common, &describer(catalog, common, &tree, bytes, (&plan.name, &ty)))
        }
        Finding::Records => {
            if arguments.format == ExplainFormat::Json {
                return records_json(out, catalog, common, bytes);
            }
            let mut tree = Tree::opened(super::opening(catalog, common));
            dissect_records(bytes, &mut tree);
            let title = ("Records", "records");
            write(out, arguments.format, common, &describer(catalog, common, &tree, bytes, title))
        }
        Finding::Message { key, version, fit } => {
            let guessed = explained.guessed;
            let known = Known { key: Some(*key), version: Some(*version), assumed: fit.assumed, guessed };
            message(out, arguments, common, catalog, known, &fit.reading, bytes)
        }
        Finding::Ambiguous(plans, reading) => {
            super::say(&format!(
                "this may be the response of several APIs or versions, and --response-of API[:VERSION] says which: {}",
                candidates(catalog, plans)
            ));
            message(out, arguments, common, catalog, Known::default(), reading, bytes)
        }
    }
}

/// APIs with their versions: `Heartbeat v1-v2, LeaveGroup v1`.
fn candidates(catalog: &Catalog, plans: &[&Plan]) -> String {
    let mut names: Vec<String> = Vec::new();
    for one in plans.chunk_by(|one, next| one.api_key == next.api_key && one.version + 1 == next.version) {
        let (Some(first), Some(last)) = (one.first(), one.last()) else { continue };
        let api = first.api_key.and_then(|key| catalog.api(ApiKey(key)));
        let name = api.map_or(&*first.name, |api| &api.name);
        names.push(match one.len() {
            1 => format!("{name} v{}", first.version),
            _ => format!("{name} v{}-v{}", first.version, last.version),
        });
    }
    names.join(", ")
}

/// Prints a message of which so much is known.
fn message(
    out: &mut dyn Write,
    arguments: &ExplainArgs,
    common: &Common,
    catalog: &Catalog,
    known: Known,
    reading: &Reading<'_>,
    bytes: &[u8],
) -> io::Result<()> {
    if arguments.format == ExplainFormat::Json {
        let mut line = Vec::new();
        ndjson::explained(&mut line, super::opening(catalog, common), common.show_secrets, known, reading, bytes);
        return out.write_all(&line);
    }
    let mut tree = Tree::opened(super::opening(catalog, common));
    dissect(reading, bytes, &mut tree);
    let title = title_of(catalog, reading, known.key, known.version);
    write(out, arguments.format, common, &describer(catalog, common, &tree, bytes, (&title.0, &title.1)))
}

fn describer<'a, 'p>(
    catalog: &'p Catalog,
    common: &Common,
    tree: &'a Tree<'p>,
    frame: &'a [u8],
    title: (&'a str, &'a str),
) -> Describer<'a, 'p> {
    Describer { catalog, tree, frame, title, sample: false, show_secrets: common.show_secrets, topics: None }
}

/// Prints a tree, a piece at a time: the text of a large one is larger than the tree.
fn write(out: &mut dyn Write, format: ExplainFormat, common: &Common, describer: &Describer<'_, '_>) -> io::Result<()> {
    let mut done = Ok(());
    if format == ExplainFormat::Text {
        let mut text = String::new();
        write_tree_by_line(&mut text, describer, super::tree_options(common), |text| {
            if text.len() > LARGE && done.is_ok() {
                done = out.write_all(text.as_bytes());
                text.clear();
            }
        });
        done?;
        return out.write_all(text.as_bytes());
    }
    let mut json = Vec::new();
    tree_json::write_nodes_by_node(&mut json, describer, 0, |json| {
        if json.len() > LARGE
            && done.is_ok()
            && let Some(last) = json.pop()
        {
            done = out.write_all(json);
            json.clear();
            json.push(last);
        }
    });
    done?;
    json.push(b'\n');
    out.write_all(&json)
}

fn payload_json(out: &mut dyn Write, catalog: &Catalog, common: &Common, plan: &Plan, bytes: &[u8]) -> io::Result<()> {
    let mut line =
        format!("{{\"schema\":\"{}\",\"version\":{},\"size\":{},", plan.name, plan.version, bytes.len()).into_bytes();
    let mut writer = JsonWriter::new(super::opening(catalog, common), &mut line, common.show_secrets);
    dissect_payload(plan, bytes, &mut writer);
    let faults = writer.into_faults();
    ndjson::faults(&mut line, &faults);
    close_bracket(&mut line, b'}');
    line.push(b'\n');
    out.write_all(&line)
}

/// The batches as `export` has them in a records field.
fn records_json(out: &mut dyn Write, catalog: &Catalog, common: &Common, bytes: &[u8]) -> io::Result<()> {
    let mut line = format!("{{\"schema\":\"record-batch\",\"size\":{},\"records\":[", bytes.len()).into_bytes();
    let mut writer = JsonWriter::new(super::opening(catalog, common), &mut line, common.show_secrets).in_array();
    dissect_records(bytes, &mut writer);
    let faults = writer.into_faults();
    close_bracket(&mut line, b']');
    line.push(b',');
    ndjson::faults(&mut line, &faults);
    close_bracket(&mut line, b'}');
    line.push(b'\n');
    out.write_all(&line)
}
