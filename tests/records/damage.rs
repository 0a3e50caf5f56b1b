//! Cut and changed records: nothing panics, every byte keeps its place, and what is wrong is told.

use std::collections::BTreeMap;

use kafkascope::dissect::{BatchFacts, FaultKind, Nesting, Opening, Part, Scope, Tree, What, dissect};
use kafkascope::protocol::Catalog;

use crate::support::{Message, fetched, json, tree};

/// A small batch or message of each format and codec, as Kafka wrote it.
fn samples(catalog: &Catalog) -> BTreeMap<(u8, u8), Vec<u8>> {
    let mut samples: BTreeMap<(u8, u8), Vec<u8>> = BTreeMap::new();
    for message in Message::all(catalog) {
        let mut tree = Tree::opened(Opening::new(catalog));
        dissect(&message.reading, &message.frame, &mut tree);
        for node in tree.nodes() {
            let What::Scope(Scope::Batch(_, _, Nesting::Whole)) = node.what else { continue };
            let bytes = tree.bytes(&message.frame, node.span);
            let facts = BatchFacts::read(bytes).unwrap();
            let sample = samples.entry((facts.magic, facts.codec().0)).or_default();
            // Small, but with records that hold something.
            if bytes.len() > 110 && (sample.is_empty() || bytes.len() < sample.len()) {
                *sample = bytes.to_vec();
            }
        }
    }
    assert_eq!(samples.len(), 4 + 4 + 5);
    samples
}

fn whole_batches(tree: &Tree<'_>) -> usize {
    let is_batch = |what| matches!(what, What::Scope(Scope::Batch(_, _, Nesting::Whole)));
    tree.nodes().iter().filter(|node| is_batch(node.what)).count()
}

#[test]
fn every_byte_of_a_batch_changed() {
    let catalog = Catalog::builtin();
    for ((magic, codec), batch) in samples(&catalog) {
        // The checksum itself, and all that it covers.
        let checked = if magic == 2 { 17 } else { 12 };
        for place in 0..batch.len() {
            for mask in [0x01, 0x02, 0xff] {
                let name = format!("format {magic}, codec {codec}, byte {place} ^ {mask:#x}");
                let mut changed = batch.clone();
                changed[place] ^= mask;
                let (reading, frame) = fetched(&catalog, &[&changed[..], &batch].concat());
                let (tree, outcome) = tree(&catalog, &reading, &frame);
                let (_, faults) = json(&catalog, &reading, &frame);
                assert_eq!(faults, tree.faults(), "{name}");
                assert!(place < checked || outcome.faults > 0, "{name}: nothing is told");
                // Only length and format could hide the batch behind it.
                if !(8..12).contains(&place) && place != 16 {
                    assert_eq!(whole_batches(&tree), 2, "{name}");
                }
            }
        }
    }
}

/// The bytes behind the checksum changed, and the checksum put right: what is inside has to bear it.
#[test]
fn every_byte_of_the_records_changed_under_a_right_checksum() {
    let catalog = Catalog::builtin();
    for ((magic, codec), batch) in samples(&catalog) {
        for place in (if magic == 2 { 21 } else { 17 })..batch.len() {
            for mask in [0x01, 0x04, 0xff] {
                let mut changed = batch.clone();
                changed[place] ^= mask;
                if magic == 2 {
                    let checksum = crc32c::crc32c(&changed[21..]);
                    changed[17..21].copy_from_slice(&checksum.to_be_bytes());
                } else {
                    let checksum = crc32fast::hash(&changed[16..]);
                    changed[12..16].copy_from_slice(&checksum.to_be_bytes());
                }
                let (reading, frame) = fetched(&catalog, &[&changed[..], &batch].concat());
                let (tree, _) = tree(&catalog, &reading, &frame);
                let (_, faults) = json(&catalog, &reading, &frame);
                assert_eq!(faults, tree.faults());
                // Old messages inside of a compressed one have checksums of their own.
                let has_checksum = faults.iter().any(|fault| matches!(fault.kind, FaultKind::Crc { .. }));
                assert!(!has_checksum || (magic < 2 && codec > 0));
                assert_eq!(whole_batches(&tree), 2, "format {magic}, codec {codec}, byte {place} ^ {mask:#x}");
            }
        }
    }
}

/// A broker cuts the last batch off where its answer is full.
#[test]
fn every_beginning_of_a_records_field() {
    let catalog = Catalog::builtin();
    for ((magic, codec), batch) in samples(&catalog) {
        let both = [&batch[..], &batch].concat();
        for length in 0..both.len() {
            let name = format!("format {magic}, codec {codec}, {length} bytes");
            let (reading, frame) = fetched(&catalog, &both[..length]);
            let (tree, outcome) = tree(&catalog, &reading, &frame);
            assert!(outcome.is_exact(), "{name}: {:?}", tree.faults());
            let partial = tree.nodes().iter().find(|node| matches!(node.what, What::Part(Part::Partial(_))));
            assert_eq!(partial.map_or(0, |node| node.span.len as usize), length % batch.len(), "{name}");
            assert_eq!(whole_batches(&tree), length / batch.len(), "{name}");
            let (_, faults) = json(&catalog, &reading, &frame);
            assert!(faults.is_empty());
        }
    }
}

/// The capture lacks the end of a message: the batches that are there are read, and the gap is told, once.
#[test]
fn every_beginning_of_a_message() {
    let catalog = Catalog::builtin();
    for batch in samples(&catalog).values() {
        let (reading, frame) = fetched(&catalog, &[&batch[..], batch].concat());
        for length in (0..frame.len()).step_by(3) {
            let missing = (frame.len() - length) as u32;
            let reading = kafkascope::dissect::Reading { missing, ..reading };
            let (tree, _) = tree(&catalog, &reading, &frame[..length]);
            let kinds: Vec<_> = tree.faults().iter().map(|fault| fault.kind).collect();
            assert_eq!(kinds, [FaultKind::Lost { missing }]);
            json(&catalog, &reading, &frame[..length]);
        }
    }
}

#[test]
fn noise() {
    let catalog = Catalog::builtin();
    let mut generator = fastrand::Rng::with_seed(11);
    let samples = samples(&catalog);
    for _ in 0..400 {
        let mut bytes: Vec<u8> = (0..generator.usize(..300)).map(|_| generator.u8(..)).collect();
        let batch = samples.values().nth(generator.usize(..samples.len())).unwrap();
        // The beginning of a batch, and then anything.
        let head = generator.usize(..batch.len());
        bytes.splice(0..0, batch[..head].iter().copied());
        if bytes.len() > 20 && generator.bool() {
            let length = (bytes.len() - 12) as u32;
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
        }
        let (reading, frame) = fetched(&catalog, &bytes);
        let (tree, _) = tree(&catalog, &reading, &frame);
        let (_, faults) = json(&catalog, &reading, &frame);
        assert_eq!(faults, tree.faults());
    }
}
