//! `kafkascope explain`: pasted bytes, decoded.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};

use anyhow::{Context, bail};

use super::End;
use super::args::{Common, ExplainArgs, ExplainFormat};
use crate::dissect::{Reading, Tree, dissect, dissect_payload};
use crate::explain::{Explained, Finding, Hint, api_and_version, explain};
use crate::output::describe::Describer;
use crate::output::json::{JsonWriter, close_bracket};
use crate::output::tree_text::{TreeOptions, write_tree};
use crate::output::{ndjson, tree_json};
use crate::paste;
use crate::protocol::{Catalog, Plan};

pub(super) fn run(arguments: &ExplainArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    let hint = hint(arguments, &catalog)?;
    let pasted = paste::parse(&input(arguments)?)?;
    if !common.quiet {
        let bytes = pasted.bytes.len();
        eprintln!("kafkascope: read as {}: {bytes} byte{}", pasted.form, if bytes == 1 { "" } else { "s" });
    }
    let mut out = super::output(common)?;
    let mut failures = 0;
    for explained in explain(&catalog, &pasted.bytes, &hint)? {
        let bytes = pasted.bytes.get(explained.start..explained.end).unwrap_or_default();
        for remark in &explained.remarks {
            eprintln!("kafkascope: {}", sentence(&explained, remark));
        }
        let printed = print(arguments, common, &catalog, &explained.finding, bytes);
        failures += usize::from(printed.is_none());
        out.write_all(&printed.unwrap_or_default())?;
    }
    out.flush()?;
    if failures > 0 {
        bail!(
            "these bytes are no request, and no response takes them whole; \
             --response-of API[:VERSION], --request or --as NAME says what they are"
        );
    }
    Ok(End::Done)
}

fn sentence(explained: &Explained<'_>, remark: &str) -> String {
    match explained.finding {
        Finding::Unknown => format!("this looks like {remark}"),
        _ => remark.to_owned(),
    }
}

fn input(arguments: &ExplainArgs) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(path) = &arguments.read {
        return fs::read(path).with_context(|| format!("cannot open {}", path.display()));
    }
    if arguments.hex.is_empty() || arguments.hex == ["-"] {
        if io::stdin().is_terminal() && arguments.hex.is_empty() {
            bail!("no bytes: give them as arguments, with -r FILE, or on standard input");
        }
        io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    Ok(arguments.hex.join(" ").into_bytes())
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

/// What is printed of one message; nothing where it is not known what it is.
fn print(
    arguments: &ExplainArgs,
    common: &Common,
    catalog: &Catalog,
    finding: &Finding<'_>,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match finding {
        Finding::Unknown => return None,
        Finding::Payload(plan) => {
            let mut tree = Tree::opened(super::opening(catalog, common));
            dissect_payload(plan, bytes, &mut tree);
            let ty = format!("{} v{}", plan.kind.word(), plan.version);
            let describer = describer(catalog, common, &tree, bytes, (&plan.name, &ty));
            match arguments.format {
                ExplainFormat::Json => payload_json(&mut out, catalog, common, plan, bytes),
                format => write(&mut out, format, common, &describer),
            }
        }
        Finding::Message { key, version, fit } => {
            if arguments.format == ExplainFormat::Json {
                let assumed = fit.assumed;
                ndjson::explained(
                    &mut out,
                    super::opening(catalog, common),
                    common.show_secrets,
                    (*key, *version, assumed),
                    &fit.reading,
                    bytes,
                );
            } else {
                let name = catalog.api_schema_name(*key, fit.reading.side).unwrap_or("unknown API");
                message(
                    &mut out,
                    arguments,
                    common,
                    catalog,
                    (name, &format!("message v{version}")),
                    &fit.reading,
                    bytes,
                );
            }
        }
        Finding::Ambiguous(plans, reading) => {
            let names: Vec<String> = plans.iter().map(|plan| format!("{} v{}", plan.name, plan.version)).collect();
            eprintln!(
                "kafkascope: these responses all take the bytes whole; say --response-of API[:VERSION]: {}",
                names.join(", ")
            );
            message(&mut out, arguments, common, catalog, ("unknown response", "message"), reading, bytes);
        }
    }
    Some(out)
}

fn message(
    out: &mut Vec<u8>,
    arguments: &ExplainArgs,
    common: &Common,
    catalog: &Catalog,
    title: (&str, &str),
    reading: &Reading<'_>,
    bytes: &[u8],
) {
    let mut tree = Tree::opened(super::opening(catalog, common));
    dissect(reading, bytes, &mut tree);
    write(out, arguments.format, common, &describer(catalog, common, &tree, bytes, title));
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

fn write(out: &mut Vec<u8>, format: ExplainFormat, common: &Common, describer: &Describer<'_, '_>) {
    if format == ExplainFormat::Text {
        let mut text = String::new();
        write_tree(&mut text, describer, TreeOptions { verbose: common.verbose });
        out.extend_from_slice(text.as_bytes());
    } else {
        tree_json::write_nodes(out, describer);
        out.push(b'\n');
    }
}

fn payload_json(out: &mut Vec<u8>, catalog: &Catalog, common: &Common, plan: &Plan, bytes: &[u8]) {
    out.extend_from_slice(
        format!("{{\"schema\":\"{}\",\"version\":{},\"size\":{},", plan.name, plan.version, bytes.len()).as_bytes(),
    );
    let mut writer = JsonWriter::new(super::opening(catalog, common), out, common.show_secrets);
    dissect_payload(plan, bytes, &mut writer);
    let faults = writer.into_faults();
    ndjson::faults(out, &faults);
    close_bracket(out, b'}');
    out.push(b'\n');
}
