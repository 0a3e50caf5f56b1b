//! A message that is open: its bytes, its tree, and the way from the one to the other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::book::Book;
use crate::conversation::{Message, Piece};
use crate::dissect::{Opening, Part, Place, Scope, Span, TopicNames, Tree, What, dissect};
use crate::output::describe::{Describer, name_of, title};
use crate::output::grid::Region;
use crate::output::zone::Zone;
use crate::protocol::{Catalog, Side};

/// A message with its tree, on its own.
#[derive(Debug)]
pub(super) struct Opened<'p> {
    pub(super) number: u64,
    pub(super) frame: Vec<u8>,
    pub(super) tree: Tree<'p>,
    pub(super) side: Side,
    pub(super) title: (String, String),
    /// The line above its tree: number, time, who to whom.
    pub(super) heading: String,
    /// The place of its first byte in its stream.
    pub(super) stream_offset: u64,
    /// Where in its stream, in which packet and in which file its bytes lie.
    pieces: Vec<Piece>,
    /// What somebody has noted at its packets.
    pub(super) comments: Vec<String>,
    topics: Arc<TopicNames>,
    catalog: &'p Catalog,
    show_secrets: bool,
    /// For each buffer, the leaves that have bytes in it, in order: they tile it.
    leaves: Vec<Vec<u32>>,
}

impl<'p> Opened<'p> {
    /// Decodes a message.
    pub(super) fn new(
        message: &Message<'_, 'p>,
        opening: Opening<'p>,
        show_secrets: bool,
        topics: Arc<TopicNames>,
    ) -> Self {
        Self::of(message, opening, show_secrets, topics, Tree::opened(opening))
    }

    /// The same, until `stop` is set: then what there is is of no use.
    pub(super) fn until(
        stop: &Arc<AtomicBool>,
        message: &Message<'_, 'p>,
        opening: Opening<'p>,
        show_secrets: bool,
        topics: Arc<TopicNames>,
    ) -> Self {
        Self::of(message, opening, show_secrets, topics, Tree::opened(opening).until(Arc::clone(stop)))
    }

    fn of(
        message: &Message<'_, 'p>,
        opening: Opening<'p>,
        show_secrets: bool,
        topics: Arc<TopicNames>,
        mut tree: Tree<'p>,
    ) -> Self {
        dissect(&message.reading, message.frame, &mut tree);
        let mut leaves = vec![Vec::new(); tree.buffers().len() + 1];
        for (index, node) in tree.nodes().iter().enumerate() {
            if let Some(leaves) =
                leaves.get_mut(node.span.buffer as usize).filter(|_| node.is_leaf() && node.span.len > 0)
            {
                leaves.push(index as u32);
            }
        }
        let mut heading = String::new();
        crate::output::list::heading(&mut heading, message, &Zone::utc());
        Self {
            number: message.index,
            frame: message.frame.to_vec(),
            tree,
            side: message.side(),
            title: title(opening.catalog, message),
            heading: heading.trim_end().to_owned(),
            stream_offset: message.stream_offset,
            pieces: message.pieces.to_vec(),
            comments: Vec::new(),
            topics,
            catalog: opening.catalog,
            show_secrets,
            leaves,
        }
    }

    /// Takes what somebody has noted at its packets. What cannot be read is not worth a word when the message can.
    pub(super) fn take_comments(&mut self, book: &Book<'_>) {
        self.comments = book.comments_before(self.number).unwrap_or_default();
    }

    /// Says what stands in a node's line.
    pub(super) fn describer(&self) -> Describer<'_, 'p> {
        Describer {
            catalog: self.catalog,
            tree: &self.tree,
            frame: &self.frame,
            title: (&self.title.0, &self.title.1),
            sample: false,
            show_secrets: self.show_secrets,
            topics: Some(&self.topics),
        }
    }

    /// The bytes of a buffer: 0 is the frame.
    pub(super) fn buffer(&self, number: u32) -> &[u8] {
        match number.checked_sub(1) {
            None => &self.frame,
            Some(index) => self.tree.buffers().get(index as usize).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// The piece that a byte of the frame came in.
    pub(super) fn piece(&self, offset: u32) -> Option<&Piece> {
        let at = self.stream_offset + u64::from(offset);
        let piece = self.pieces.get(self.pieces.partition_point(|piece| piece.end <= at))?;
        Some(piece).filter(|piece| piece.start <= at)
    }

    /// The byte of the frame that lies at a place of the file.
    pub(super) fn byte_of_file(&self, offset: u64) -> Option<u32> {
        let holds = |piece: &&Piece| {
            let first = piece.place.offset;
            (first..first + (piece.end - piece.start)).contains(&offset)
        };
        let piece = self.pieces.iter().find(holds)?;
        let at = piece.start + (offset - piece.place.offset);
        at.checked_sub(self.stream_offset).and_then(|at| u32::try_from(at).ok())
    }

    /// Where in its file a byte of the frame lies.
    pub(super) fn file_offset(&self, offset: u32) -> Option<u64> {
        let piece = self.piece(offset)?;
        let at = self.stream_offset + u64::from(offset);
        Some(piece.place.after(at - piece.start).offset)
    }

    /// How many buffers there are, the frame counted.
    pub(super) fn buffers(&self) -> u32 {
        self.tree.buffers().len() as u32 + 1
    }

    /// Whether there is more in it than was opened.
    pub(super) fn has_more(&self) -> bool {
        self.tree.faults().iter().any(|fault| fault.kind.is_limit())
    }

    /// The innermost node that a byte belongs to.
    pub(super) fn node_at(&self, buffer: u32, offset: u32) -> Option<u32> {
        let leaves = self.leaves.get(buffer as usize)?;
        let end = |leaf: &u32| self.span(*leaf).is_none_or(|span| span.end() <= offset);
        let leaf = leaves.get(leaves.partition_point(end)).copied()?;
        self.span(leaf).filter(|span| span.start <= offset).map(|_| leaf)
    }

    /// Whether some of so many bytes are of a secret that is not shown.
    pub(super) fn is_secret(&self, buffer: u32, start: u32, len: u32) -> bool {
        let (mut at, end) = (start, start.saturating_add(len));
        while at < end {
            let Some(leaf) = self.node_at(buffer, at) else { return false };
            if self.holds_secret(leaf) {
                return true;
            }
            at = self.span(leaf).map_or(end, Span::end).max(at + 1);
        }
        false
    }

    /// A node's bytes.
    pub(super) fn span(&self, index: u32) -> Option<Span> {
        self.tree.nodes().get(index as usize).map(|node| node.span)
    }

    /// The node that holds a node; none above the root.
    pub(super) fn parent(&self, index: u32) -> Option<u32> {
        self.tree.nodes().get(index as usize).map(|node| node.parent).filter(|parent| *parent != index)
    }

    /// The first fault behind a node, or the last one before it.
    pub(super) fn fault_beside(&self, index: u32, forward: bool) -> Option<u32> {
        let nodes = self.tree.nodes();
        let is_fault = |at: &usize| nodes.get(*at).is_some_and(|node| matches!(node.what, What::Fault(_)));
        let found = if forward {
            (index as usize + 1..nodes.len()).find(is_fault)
        } else {
            (0..nodes.len().min(index as usize)).rev().find(is_fault)
        };
        found.map(|at| at as u32)
    }

    /// The name of a node. An element is named by its array, which says more than its type: `Partitions[0]`.
    pub(super) fn name(&self, index: u32) -> String {
        self.element_name(index).unwrap_or_else(|| match self.what(index) {
            Some(What::Value(place) | What::Null(place)) => name_of(place),
            Some(_) => self.describer().line(index as usize).name,
            None => String::new(),
        })
    }

    /// The name of a node that is an element of an array.
    pub(super) fn element_name(&self, index: u32) -> Option<String> {
        let node = self.tree.nodes().get(index as usize)?;
        let Place::Element(_, at) = place(node.what)? else { return None };
        let is_array = matches!(self.what(node.parent), Some(What::Scope(Scope::Array(..))));
        is_array.then(|| format!("{}[{at}]", self.name(node.parent)))
    }

    /// What a node is.
    pub(super) fn what(&self, index: u32) -> Option<What<'p>> {
        self.tree.nodes().get(index as usize).map(|node| node.what)
    }

    /// The names from the root's child down to a node.
    pub(super) fn path(&self, index: u32) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = index;
        while let Some(parent) = self.parent(at) {
            names.push(self.name(at));
            at = parent;
        }
        names.reverse();
        names
    }

    /// The node that a path leads to, or as far as it leads.
    pub(super) fn find(&self, path: &[String]) -> u32 {
        let mut at = 0;
        for name in path {
            let child = self.tree.children(at).find(|child| self.name(*child as u32) == *name);
            match child {
                Some(child) => at = child,
                None => break,
            }
        }
        at as u32
    }

    /// What a node is part of, as the reference pages colour it.
    pub(super) fn region(&self, index: u32) -> Region {
        let body = if self.side == Side::Request { Region::RequestBody } else { Region::ResponseBody };
        let mut at = index;
        loop {
            let Some(node) = self.tree.nodes().get(at as usize) else { return Region::Frame };
            let is_tagged = |place: Place<'p>| place.field().is_some_and(|field| field.tag.is_some());
            match node.what {
                What::Scope(Scope::Frame | Scope::Message) => return Region::Frame,
                What::Scope(Scope::Header(..)) => return Region::Header,
                What::Scope(Scope::Body(_)) => return body,
                What::Scope(Scope::Batch(..) | Scope::Inflated(_)) => return Region::RecordBatch,
                What::Scope(Scope::Struct(place, of)) if is_record(&of.name, place) => return Region::Record,
                What::Scope(Scope::Struct(place, _) | Scope::Array(place, ..) | Scope::Payload(place, _))
                | What::Value(place)
                | What::Null(place)
                    if is_tagged(place) =>
                {
                    return Region::TaggedFields;
                }
                What::Part(Part::TaggedCount { .. } | Part::Tag(_) | Part::TagSize(_) | Part::UnknownTag(..)) => {
                    return Region::TaggedFields;
                }
                _ => {}
            }
            match self.parent(at) {
                Some(parent) => at = parent,
                None => return body,
            }
        }
    }
}

/// What a node is the value of, where it is one.
pub(super) fn place(what: What<'_>) -> Option<Place<'_>> {
    match what {
        What::Value(place)
        | What::Null(place)
        | What::Scope(
            Scope::Struct(place, _)
            | Scope::Array(place, ..)
            | Scope::Records(place, _)
            | Scope::Payload(place, _)
            | Scope::Batch(place, ..),
        ) => Some(place),
        What::Scope(_) | What::Part(_) | What::Fault(_) => None,
    }
}

/// Whether a struct is a record of a batch.
fn is_record(name: &str, place: Place<'_>) -> bool {
    name == "Record" && place.field().is_none_or(|field| field.path.starts_with("RecordBatch."))
}
