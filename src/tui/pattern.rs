//! What is searched for: text, bytes, or a regular expression.

use std::sync::atomic::{AtomicBool, Ordering};

use regex::bytes::{Regex, RegexBuilder};

use super::opened::Opened;
use super::rows::in_one_line;
use crate::dissect::What;

/// Something to be found in a message.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// Text in names and values.
    Text(Regex),
    /// Bytes anywhere in a buffer.
    Bytes(Vec<u8>),
}

impl Pattern {
    /// Reads what was typed: `0x00ff` are bytes, `/…/` is a regular expression, all else is text, in which capitals count
    /// only where there are any.
    ///
    /// # Errors
    /// Why it is none of these; a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(digits) = text.strip_prefix("0x") {
            return bytes(digits).map(Self::Bytes).ok_or_else(|| format!("{text} has no pairs of hexadecimal digits"));
        }
        let expression = text.strip_prefix('/').map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let ignore_case = expression.is_none() && !text.chars().any(char::is_uppercase);
        let source = expression.map_or_else(|| regex::escape(text), str::to_owned);
        let mut builder = RegexBuilder::new(&source);
        builder.case_insensitive(ignore_case).size_limit(1 << 20);
        builder.build().map(Self::Text).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default();
            format!("/{source}/: {}", why.trim_start_matches("error: "))
        })
    }

    /// The next node that it is found in, behind `from` (or before it); `None` begins at the end that comes first. When
    /// `stop` is set it gives anything.
    pub(super) fn find(&self, opened: &Opened<'_>, from: Option<u32>, forward: bool, stop: &AtomicBool) -> Option<u32> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        match self {
            Self::Text(regex) => {
                let all = opened.tree.nodes().len() as u32;
                let mut matching = if forward { from.map_or(0, |from| from + 1)..all } else { 0..from.unwrap_or(all) };
                let is_match = |index: &u32| is_stopped() || matches(regex, opened, *index);
                if forward { matching.find(is_match) } else { matching.rev().find(is_match) }
            }
            Self::Bytes(bytes) => {
                let finder = memchr::memmem::Finder::new(bytes);
                let mut nodes: Vec<u32> = Vec::new();
                for buffer in 0..opened.buffers() {
                    let places = finder.find_iter(opened.buffer(buffer)).take_while(|_| !is_stopped());
                    let shown = places.filter(|at| !opened.is_secret(buffer, *at as u32, bytes.len() as u32));
                    nodes.extend(shown.filter_map(|at| opened.node_at(buffer, at as u32)));
                }
                nodes.sort_unstable();
                if forward {
                    nodes.into_iter().find(|node| from.is_none_or(|from| *node > from))
                } else {
                    nodes.into_iter().rev().find(|node| from.is_none_or(|from| *node < from))
                }
            }
        }
    }
}

/// Whether a node has the text in its name, in its value as it is shown, or in its bytes; the root also in the comments.
fn matches(regex: &Regex, opened: &Opened<'_>, index: u32) -> bool {
    let describer = opened.describer();
    let line = describer.line(index as usize);
    let is_match = |text: &str| regex.is_match(text.as_bytes());
    // Of an element the line says the type where the screen says the array.
    if is_match(&line.name) || is_match(&line.value) || opened.element_name(index).is_some_and(|name| is_match(&name)) {
        return true;
    }
    if index == 0 && opened.comments.iter().any(|comment| is_match(&in_one_line(comment))) {
        return true;
    }
    // Long values are shown cut.
    let Some(node) = opened.tree.nodes().get(index as usize) else { return false };
    match node.what {
        What::Value(place) if !describer.is_withheld(index as usize, place) => {
            regex.is_match(opened.tree.bytes(&opened.frame, node.span))
        }
        _ => false,
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !matches!(byte, b' ' | b':' | b'_')).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.filter(|bytes| !bytes.is_empty() && rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read() {
        assert!(matches!(Pattern::parse("0x00 ff"), Ok(Pattern::Bytes(bytes)) if bytes == [0, 0xff]));
        assert!(Pattern::parse("0x0").unwrap_err().contains("pairs"));
        assert!(Pattern::parse("/(/").unwrap_err().contains("unclosed"));
        let Ok(Pattern::Text(text)) = Pattern::parse("a.b") else { panic!() };
        assert!(text.is_match(b"xA.By") && !text.is_match(b"axb"));
        let Ok(Pattern::Text(text)) = Pattern::parse("A.b") else { panic!() };
        assert!(text.is_match(b"A.b") && !text.is_match(b"a.b"));
        let Ok(Pattern::Text(text)) = Pattern::parse("/^a.b$/") else { panic!() };
        assert!(text.is_match(b"axb") && !text.is_match(b"xaxb"));
    }
}
