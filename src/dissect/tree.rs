//! The nodes of one message, flat and in wire order. Values are read from the bytes again when they are shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Fault, Format, Opening, Part, Place, Scope, Span, Value, Visitor};
use crate::protocol::Type;

/// A message as nodes.
#[derive(Debug)]
pub struct Tree<'p> {
    nodes: Vec<Node<'p>>,
    faults: Vec<Fault>,
    open: Vec<u32>,
    opening: Option<Opening<'p>>,
    /// The buffers that were inflated, from number 1.
    buffers: Vec<Vec<u8>>,
    /// The buffer that is being walked, and those around it.
    buffer: u32,
    outer: Vec<u32>,
    /// Nodes after which it takes no more elements.
    max_nodes: usize,
    /// Whether some plan that was walked has a field that is secret; `None` where there was no plan.
    holds_secrets: Option<bool>,
    /// Nodes whose bytes are in a format that the reader named, in order.
    formats: Vec<(u32, Format)>,
    /// Set by whoever does not want it any more.
    stop: Option<Arc<AtomicBool>>,
}

/// A node: what it is and where its bytes lie.
#[derive(Debug, Clone, Copy)]
pub struct Node<'p> {
    /// What it is.
    pub what: What<'p>,
    /// Its bytes.
    pub span: Span,
    /// Index of the node that holds it; the root holds itself.
    pub parent: u32,
    /// How many nodes are above it.
    pub depth: u16,
    /// How many nodes are below it; they follow it directly.
    pub descendants: u32,
}

/// What a node is.
#[derive(Debug, Clone, Copy)]
pub enum What<'p> {
    /// Something that holds other nodes.
    Scope(Scope<'p>),
    /// A value: a leaf.
    Value(Place<'p>),
    /// A null whose length stands elsewhere: a leaf of no bytes.
    Null(Place<'p>),
    /// Other bytes: a leaf. Its slices are empty; the span says where the bytes are.
    Part(Part<'static>),
    /// A fault, by its index; no leaf: its bytes belong to the leaves beside it.
    Fault(u32),
}

impl Node<'_> {
    /// Whether the node's bytes are its own: the leaves tile the frame.
    pub fn is_leaf(&self) -> bool {
        matches!(self.what, What::Value(_) | What::Null(_) | What::Part(_))
    }
}

impl<'p> Tree<'p> {
    /// A tree without nodes, ready to listen to a walk and to open its records.
    pub fn opened(opening: Opening<'p>) -> Self {
        Self { opening: Some(opening), ..Self::new() }
    }

    /// A tree without nodes, ready to listen to a walk; records fields stay closed.
    pub fn new() -> Self {
        Self {
            nodes: Vec::new(),
            faults: Vec::new(),
            open: Vec::new(),
            opening: None,
            buffers: Vec::new(),
            buffer: 0,
            outer: Vec::new(),
            max_nodes: MAX_NODES,
            holds_secrets: None,
            formats: Vec::new(),
            stop: None,
        }
    }

    /// The same; it takes no more elements once `stop` is set, and is then of no use.
    #[must_use]
    pub fn until(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// The same with room for so many nodes, to try what happens when it is full.
    #[cfg(test)]
    pub(super) fn limited(self, max_nodes: usize) -> Self {
        Self { max_nodes, ..self }
    }

    /// Whether some body or payload in it may have secrets; `None` where it has neither.
    pub fn holds_secrets(&self) -> Option<bool> {
        self.holds_secrets
    }

    /// All nodes in wire order; the first one is the root.
    pub fn nodes(&self) -> &[Node<'p>] {
        &self.nodes
    }

    /// The bytes of a span; `frame` is the buffer that the tree was made from.
    pub fn bytes<'b>(&'b self, frame: &'b [u8], span: Span) -> &'b [u8] {
        let inflated = (span.buffer as usize).checked_sub(1);
        let buffer = inflated.map_or(Some(frame), |index| self.buffers.get(index).map(Vec::as_slice));
        buffer.and_then(|bytes| bytes.get(span.start as usize..span.end() as usize)).unwrap_or_default()
    }

    /// The buffers that were inflated, from number 1.
    pub fn buffers(&self) -> &[Vec<u8>] {
        &self.buffers
    }

    /// A fault by its index.
    pub fn fault_at(&self, index: u32) -> Option<&Fault> {
        self.faults.get(index as usize)
    }

    /// The format that the reader named for a node's bytes, by its index.
    pub fn format_of(&self, index: usize) -> Option<Format> {
        let place = self.formats.binary_search_by_key(&index, |(node, _)| *node as usize).ok()?;
        self.formats.get(place).map(|(_, format)| *format)
    }

    /// All faults, in the order in which they were met.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The indices of the nodes directly below one.
    pub fn children(&self, index: usize) -> Children<'_, 'p> {
        let end = self.nodes.get(index).map_or(index, |node| index + node.descendants as usize);
        Children { nodes: &self.nodes, next: index + 1, end: end + 1 }
    }

    fn push(&mut self, what: What<'p>, span: Span) -> u32 {
        let index = self.nodes.len() as u32;
        let parent = self.open.last().copied().unwrap_or(index);
        self.nodes.push(Node { what, span, parent, depth: self.open.len() as u16, descendants: 0 });
        index
    }
}

/// Nodes after which a tree takes no more: some hundred megabytes of them.
const MAX_NODES: usize = 1 << 22;

/// The nodes directly below one.
#[derive(Debug)]
pub struct Children<'t, 'p> {
    nodes: &'t [Node<'p>],
    next: usize,
    end: usize,
}

impl Iterator for Children<'_, '_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.next >= self.end {
            return None;
        }
        let index = self.next;
        self.next += 1 + self.nodes.get(index)?.descendants as usize;
        Some(index)
    }
}

impl Default for Tree<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'p> Visitor<'p> for Tree<'p> {
    fn enter(&mut self, scope: Scope<'p>, offset: u32) {
        if let Scope::OneRecord = scope {
            return;
        }
        if let Scope::Inflated(inflated) = scope {
            self.outer.push(self.buffer);
            self.buffer = inflated.buffer;
        }
        if let Scope::Body(plan) | Scope::Payload(_, plan) = scope {
            self.holds_secrets = Some(self.holds_secrets.unwrap_or(false) | plan.holds_secrets());
        }
        let index = self.push(What::Scope(scope), Span { buffer: self.buffer, start: offset, len: 0 });
        self.open.push(index);
    }

    fn leave(&mut self, scope: Scope<'p>, end: u32) {
        match scope {
            Scope::OneRecord => return,
            Scope::Inflated(_) => self.buffer = self.outer.pop().unwrap_or(0),
            _ => {}
        }
        let last = self.nodes.len() as u32;
        if let Some(index) = self.open.pop()
            && let Some(node) = self.nodes.get_mut(index as usize)
        {
            node.span.len = end.saturating_sub(node.span.start);
            node.descendants = last - index - 1;
        }
    }

    fn value(&mut self, place: Place<'p>, value: Value<'_>, span: Span) {
        // Bytes whose length stands elsewhere do not say themselves that they are null.
        let is_null = place.ty() == Type::Raw && value == Value::Bytes(None);
        self.push(if is_null { What::Null(place) } else { What::Value(place) }, span);
    }

    fn content(&mut self, place: Place<'p>, bytes: &[u8], format: Format, span: Span) {
        self.formats.push((self.nodes.len() as u32, format));
        self.value(place, Value::Bytes(Some(bytes)), span);
    }

    fn opening(&self) -> Option<Opening<'p>> {
        self.opening
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.nodes.len() > self.max_nodes || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn inflated(&mut self, bytes: &[u8]) {
        self.buffers.push(bytes.to_vec());
    }

    fn part(&mut self, part: Part<'_>, span: Span) {
        self.push(What::Part(part.detached()), span);
    }

    fn fault(&mut self, fault: &Fault) {
        self.push(What::Fault(self.faults.len() as u32), fault.span);
        self.faults.push(fault.clone());
    }
}

impl Part<'_> {
    /// The same without its bytes.
    fn detached(self) -> Part<'static> {
        match self {
            Self::UnknownTag(tag, _) => Part::UnknownTag(tag, &[]),
            Self::Trailing(_) => Part::Trailing(&[]),
            Self::Undecoded(_) => Part::Undecoded(&[]),
            Self::Size(size) => Part::Size(size),
            Self::ArrayLength { count, compact } => Part::ArrayLength { count, compact },
            Self::ByteLength { length, compact } => Part::ByteLength { length, compact },
            Self::Compressed(codec) => Part::Compressed(codec),
            Self::Partial(_) => Part::Partial(&[]),
            Self::Presence => Part::Presence,
            Self::TaggedCount { count, header } => Part::TaggedCount { count, header },
            Self::Tag(tag) => Part::Tag(tag),
            Self::TagSize(size) => Part::TagSize(size),
            Self::FieldKey { number, wire } => Part::FieldKey { number, wire },
            Self::FieldSize(size) => Part::FieldSize(size),
            Self::Prefix(name, value) => Part::Prefix(name, value),
            Self::Mark(_) => Part::Mark(&[]),
        }
    }
}
