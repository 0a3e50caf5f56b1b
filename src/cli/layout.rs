//! `kafkascope layout`: the reference page of a message.

use std::io::Write;

use anyhow::bail;

use super::End;
use super::args::{Common, Half, LayoutArgs, LayoutFormat};
use crate::nearest::did_you_mean;
use crate::output::grid::write_hex;
use crate::output::page::{BatchPage, Page, PageOptions, write_batch_page, write_page};
use crate::protocol::{Api, Catalog, Side, Versions};

pub(super) fn run(layout: &LayoutArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    if ["RecordBatch", "Record"].iter().any(|name| name.eq_ignore_ascii_case(&layout.api)) {
        return batch(&catalog, layout, common);
    }
    let (api, named_side) = find(&catalog, &layout.api)?;
    let side = half(layout).or(named_side);
    let version = version(&catalog, api, layout.version)?;
    let Some(page) = Page::new(&catalog, api, version) else {
        bail!("cannot lay out {} v{version}: its request or its response is not known", api.name);
    };
    if let Some(side) = side.filter(|side| page.half(*side).is_none()) {
        bail!("cannot lay out the {} of {}: only the other half is known", side.word(), api.name);
    }
    let mut text = String::new();
    match layout.format {
        LayoutFormat::Text => write_page(&mut text, &catalog, &page, options(side, common)),
        LayoutFormat::Hex => {
            for each in [Side::Request, Side::Response].into_iter().filter(|each| side.is_none_or(|only| only == *each))
            {
                let Some(half) = page.half(each) else { continue };
                if !text.is_empty() {
                    text.push('\n');
                }
                write_hex(&mut text, &half.frame);
            }
        }
    }
    write(&text, common)
}

/// The page of a record batch, which shows its record as well.
fn batch(catalog: &Catalog, layout: &LayoutArgs, common: &Common) -> anyhow::Result<End> {
    if half(layout).is_some() {
        bail!("{} is neither a request nor a response; Produce requests and Fetch responses hold it", layout.api);
    }
    if layout.version.is_some_and(|version| version != 2) {
        bail!("only format 2 has record batches; for the messages before it: kafkascope schema show MessageSet");
    }
    let Some(page) = BatchPage::new(catalog) else { bail!("the layout of record batches is not known") };
    let mut text = String::new();
    match layout.format {
        LayoutFormat::Text => write_batch_page(&mut text, catalog, &page, options(None, common)),
        LayoutFormat::Hex => write_hex(&mut text, &page.batch.frame),
    }
    write(&text, common)
}

/// The half that was asked for.
fn half(layout: &LayoutArgs) -> Option<Side> {
    match (layout.half, layout.request, layout.response) {
        (Some(Half::Request), ..) | (_, true, _) => Some(Side::Request),
        (Some(Half::Response), ..) | (.., true) => Some(Side::Response),
        _ => None,
    }
}

fn options(side: Option<Side>, common: &Common) -> PageOptions {
    let tree = super::tree_options(common);
    PageOptions { side, paint: super::paint(common), width: super::text_width(common), tree }
}

fn write(text: &str, common: &Common) -> anyhow::Result<End> {
    let mut out = super::output(common, [])?;
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(End::Done)
}

/// The API of a name or key; the name of one of its messages says which half is meant.
fn find<'c>(catalog: &'c Catalog, word: &str) -> anyhow::Result<(&'c Api, Option<Side>)> {
    if let Some(api) = catalog.api_named(word) {
        return Ok((api, None));
    }
    for api in catalog.apis() {
        for side in [Side::Request, Side::Response] {
            if catalog.api_schema_name(api.key, side).is_some_and(|name| name.eq_ignore_ascii_case(word)) {
                return Ok((api, Some(side)));
            }
        }
    }
    if let Some(schema) = catalog.schema(word) {
        bail!(
            "{} is not an API, but a structure of kind {}; try: kafkascope schema show {}",
            schema.name,
            schema.kind.word(),
            schema.name
        );
    }
    let apis = catalog.apis();
    let hint = did_you_mean(word, apis.iter().map(|api| api.name.as_str()));
    bail!("no API is called {word:?}{hint} (all of them: kafkascope schema list)")
}

/// The version that was asked for, or else the newest one.
fn version(catalog: &Catalog, api: &Api, wanted: Option<i16>) -> anyhow::Result<i16> {
    // A reader's own API may have but one half.
    let halves = [Side::Request, Side::Response].map(|side| catalog.api_schema_name(api.key, side));
    let of_both = |versions: fn(&Catalog, &str) -> Versions| {
        halves.iter().flatten().fold(Versions::ALL, |both, name| both.intersect(versions(catalog, name)))
    };
    let known = of_both(Catalog::versions);
    let newest = of_both(Catalog::current_versions).last;
    match wanted {
        None => Ok(if known.contains(newest) { newest } else { known.last }),
        Some(version) if known.contains(version) => Ok(version),
        Some(version) => bail!("{} has no version {version}; known are {}", api.name, spoken(known)),
    }
}

/// `version 0`, `versions 0-4`, `no versions`.
fn spoken(versions: Versions) -> String {
    match versions {
        _ if versions.is_empty() => "no versions".to_owned(),
        Versions { first, last } if first == last => format!("version {first}"),
        _ => format!("versions {versions}"),
    }
}
