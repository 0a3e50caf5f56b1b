//! Text as a schema file, laid over the built-in ones.

use kafkascope::encode;
use kafkascope::protocol::{Catalog, Kind, Side};

use super::check_text;
use super::frame::{Way, check};

/// How many versions are tried, from the first and from the last: a file may say 32,768.
const VERSIONS: i16 = 12;

/// All bytes are the file.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut catalog = Catalog::builtin();
    let name = match catalog.overlay_text("draft.json", text.to_owned()) {
        Ok(name) => name,
        Err(error) => return check_text(&error.to_string()),
    };
    let versions = catalog.versions(&name);
    if versions.is_empty() {
        return;
    }
    let first = versions.first..=versions.last.min(versions.first.saturating_add(VERSIONS));
    let last = versions.last.max(VERSIONS) - VERSIONS..=versions.last;
    for version in first.chain(last) {
        check_version(&catalog, &name, version);
    }
}

/// The smallest instance of a version is read as it was written.
fn check_version(catalog: &Catalog, name: &str, version: i16) {
    let Some(plan) = catalog.plan(name, version) else { return };
    let side = match plan.kind {
        Kind::Request => Side::Request,
        Kind::Response => Side::Response,
        _ => {
            let body = encode::minimal(plan);
            if let Ok(bytes) = encode::payload(plan, &encode::prefix(plan), &body) {
                check(catalog, &Way::Payload(plan), &bytes);
            }
            return;
        }
    };
    let Some(key) = plan.api_key.map(kafkascope::protocol::ApiKey) else { return };
    let Some(frame) = encode::minimal_frame(catalog, key, side, version) else { return };
    let fit = match side {
        Side::Request => kafkascope::dissect::fit_request(catalog, key, version, &frame, true, 0),
        Side::Response => kafkascope::dissect::fit_response(catalog, key, version, &frame, true, 0),
    };
    check(catalog, &Way::Message(fit.reading), &frame);
}
