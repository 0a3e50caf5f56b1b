//! Where a node is: in words, and in the JSON of its message.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::value::RawValue;

use crate::dissect::{Place, Scope, What};
use crate::tui::opened::Opened;

/// A step from something to what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(u32),
}

/// The way to a node from its message; None for its JSON where that has no such place.
fn way(opened: &Opened<'_>, index: u32) -> (Vec<Step>, bool) {
    let mut nodes = vec![index];
    while let Some(parent) = nodes.last().and_then(|at| opened.parent(*at)) {
        nodes.push(parent);
    }
    let mut steps = Vec::new();
    let mut is_in_json = true;
    let step_of = |place: Place<'_>| match place {
        Place::Field(field) => Step::Key(field.key().to_owned()),
        Place::Element(_, index) => Step::Index(index),
    };
    for at in nodes.into_iter().rev().skip(1) {
        let Some(node) = opened.tree.nodes().get(at as usize) else { break };
        let step = match node.what {
            What::Scope(Scope::Header(..)) => Step::Key("header".to_owned()),
            What::Scope(Scope::Body(_)) => Step::Key("body".to_owned()),
            What::Scope(
                Scope::Struct(place, _) | Scope::Array(place, ..) | Scope::Records(place, _) | Scope::Batch(place, ..),
            )
            | What::Value(place)
            | What::Null(place) => step_of(place),
            What::Scope(Scope::Payload(place, _)) => match step_of(place) {
                Step::Key(key) => Step::Key(format!("_{key}")),
                index @ Step::Index(_) => index,
            },
            What::Scope(Scope::Inflated(_)) if at != index => continue,
            What::Scope(Scope::Message | Scope::OneRecord | Scope::Frame | Scope::Inflated(_))
            | What::Part(_)
            | What::Fault(_) => {
                is_in_json = false;
                Step::Key(opened.name(at).to_lowercase())
            }
        };
        steps.push(step);
        // Messages of the old formats are told as one list of records, however they lie in each other.
        let is_old = |place: Place<'_>| place.field().is_some_and(|field| field.path.starts_with("MessageSet."));
        if let What::Scope(Scope::Array(place, ..)) | What::Value(place) | What::Null(place) = node.what
            && is_old(place)
        {
            is_in_json = false;
        }
    }
    (steps, is_in_json)
}

/// The way to a node as in `topics[0].partitions[1].index`; what is in the header, or in front of it, says so. Of a fault,
/// it is the place that it tells of.
pub(super) fn path(opened: &Opened<'_>, index: u32) -> String {
    if let Some(What::Fault(fault)) = opened.tree.nodes().get(index as usize).map(|node| node.what) {
        return opened.tree.fault_at(fault).map(|fault| fault.path.clone()).unwrap_or_default();
    }
    let (steps, _) = way(opened, index);
    let steps = match steps.as_slice() {
        [Step::Key(body), inside @ ..] if body == "body" && !inside.is_empty() => inside,
        steps => steps,
    };
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(key);
            }
            // Writing into a string cannot fail.
            Step::Index(index) => drop(write!(text, "[{index}]")),
        }
    }
    text
}

/// What the JSON of a message has of a node, as it stands there; None where it has nothing.
pub(super) fn json_of<'j>(opened: &Opened<'_>, index: u32, line: &'j [u8]) -> Option<&'j str> {
    let (steps, is_in_json) = way(opened, index);
    if !is_in_json {
        return None;
    }
    let mut at: &'j RawValue = serde_json::from_slice(line).ok()?;
    for step in steps {
        at = match step {
            Step::Key(key) => {
                let mut members: HashMap<String, &'j RawValue> = serde_json::from_str(at.get()).ok()?;
                // Keys and values of records that are no text have another name.
                members.remove(&key).or_else(|| members.remove(&format!("{key}Base64")))?
            }
            Step::Index(index) => {
                let elements: Vec<&'j RawValue> = serde_json::from_str(at.get()).ok()?;
                elements.get(index as usize).copied()?
            }
        };
    }
    Some(at.get())
}
