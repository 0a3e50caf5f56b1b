//! Few bytes that would become many: the limit holds, and it is told.

use kafkascope::dissect::{Codec, FaultKind, InflateError, Opening, Tree, dissect};
use kafkascope::protocol::Catalog;

use crate::support::{batch, compress, fetched, message, tree};

const MIB: usize = 1 << 20;

/// A record whose value is zeros, as a batch holds it.
fn record(length: usize) -> Vec<u8> {
    let varint = |number: usize| {
        let (mut bytes, mut rest) = (Vec::new(), number << 1);
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    };
    // Attributes, deltas, a null key; the value; no headers.
    let body = [&[0, 0, 0, 1][..], &varint(length), &vec![0; length], &[0]].concat();
    [varint(body.len()), body].concat()
}

/// What all messages may inflate to, and what the tree holds in the end.
fn inflated(catalog: &Catalog, max_inflate: Option<u32>, records: &[u8]) -> (usize, Vec<FaultKind>) {
    let (reading, frame) = fetched(catalog, records);
    let mut tree = Tree::opened(Opening { max_inflate, ..Opening::new(catalog) });
    dissect(&reading, &frame, &mut tree);
    (tree.buffers().iter().map(Vec::len).sum(), tree.faults().iter().map(|fault| fault.kind).collect())
}

fn limit(codec: u8, limit: usize) -> FaultKind {
    let error = InflateError::Limit(limit as u32);
    FaultKind::Inflate { codec: Codec(codec), error, inflated: limit as u32 }
}

#[test]
fn a_batch_of_260_kilobytes_stops_at_a_hundred_times_its_size() {
    let catalog = Catalog::builtin();
    // 1000 zeros a byte are what gzip can do. Members of a MiB are quicker to make than one of 256.
    let record = record(256 * MIB);
    let (head, zeros) = record.split_at(MIB);
    let compressed = [compress(1, head), compress(1, &zeros[..MIB]).repeat(255)].concat();
    assert!((255_000..270_000).contains(&compressed.len()), "{}", compressed.len());
    let records = batch(1, 1, &compressed);
    let (bytes, faults) = inflated(&catalog, None, &records);
    assert_eq!(bytes, 100 * compressed.len());
    assert_eq!(faults, [limit(1, 100 * compressed.len())], "nothing is said of the record that has no end");

    for most in [0, 1, 5000, 30 * MIB] {
        let (bytes, faults) = inflated(&catalog, Some(most as u32), &records);
        assert_eq!((bytes, faults), (most, vec![limit(1, most)]));
    }
}

#[test]
fn every_codec_stops_at_the_limit() {
    let catalog = Catalog::builtin();
    for codec in 1..=4 {
        let compressed = compress(codec, &record(17 * MIB));
        let most = (100 * compressed.len()).max(16 * MIB);
        let (bytes, faults) = inflated(&catalog, None, &batch(codec, 1, &compressed));
        if most < 17 * MIB {
            assert_eq!((bytes, faults), (most, vec![limit(codec as u8, most)]), "codec {codec}");
        } else {
            assert_eq!((bytes, faults.len()), (record(17 * MIB).len(), 0), "codec {codec}");
        }
        let (bytes, faults) = inflated(&catalog, Some(12_345), &batch(codec, 1, &compressed));
        assert_eq!((bytes, faults), (12_345, vec![limit(codec as u8, 12_345)]), "codec {codec}");
    }
}

#[test]
fn what_compresses_well_is_read_all_the_same() {
    let catalog = Catalog::builtin();
    let value = br#"{"sensor":"boiler-7","state":"ok","code":0}"#.repeat(200_000);
    let content = [&record(0)[..], &record(value.len())].concat();
    let compressed = compress(4, &content);
    assert!(compressed.len() * 1000 < content.len());
    assert_eq!(inflated(&catalog, None, &batch(4, 2, &compressed)), (content.len(), vec![]));
}

#[test]
fn the_limit_is_that_of_the_message() {
    let catalog = Catalog::builtin();
    let one = batch(4, 1, &compress(4, &record(6 * MIB)));
    let (bytes, faults) = inflated(&catalog, None, &one.repeat(5));
    assert_eq!(bytes, 16 * MIB);
    assert_eq!(faults.len(), 3, "two batches are whole: {faults:?}");
}

/// Records of no bytes are no records: nobody wants to hear of each.
#[test]
fn zeros_have_few_faults() {
    let catalog = Catalog::builtin();
    let zeros = vec![0; 16 * MIB];
    let records = batch(4, i32::MAX, &compress(4, &zeros));
    let (reading, frame) = fetched(&catalog, &records);
    let (tree, outcome) = tree(&catalog, &reading, &frame);
    assert!(outcome.faults <= 101, "{}", outcome.faults);
    assert!(tree.nodes().len() < 1000);
    assert_eq!(outcome.undecoded as usize, 16 * MIB - 100);
}

#[test]
fn no_more_faults_are_told_than_anybody_reads() {
    let catalog = Catalog::builtin();
    let mut wrong = batch(0, 0, &[]);
    wrong[17] ^= 1;
    let (reading, frame) = fetched(&catalog, &wrong.repeat(3000));
    let mut tree = Tree::opened(Opening::new(&catalog));
    let outcome = dissect(&reading, &frame, &mut tree);
    assert_eq!((outcome.faults, tree.faults().len()), (3000, 1000));
}

#[test]
fn more_batches_than_sixteen_bits_count() {
    let catalog = Catalog::builtin();
    let records = batch(2, 1, &compress(2, &record(3))).repeat(70_000);
    let (reading, frame) = fetched(&catalog, &records);
    let (tree, outcome) = tree(&catalog, &reading, &frame);
    assert!(outcome.is_exact(), "{:?}", tree.faults().first());
    assert_eq!(tree.buffers().len(), 70_000);
}

/// No release writes a compressed set inside of a compressed one; it would be a way to grow without end.
#[test]
fn sets_inside_of_sets_stay_closed() {
    let catalog = Catalog::builtin();
    let plain = message(1, 0, 0, None, Some(b"v"));
    let inner = message(1, 1, 0, None, Some(&compress(1, &plain)));
    let outer = message(1, 1, 0, None, Some(&compress(1, &inner)));
    let (reading, frame) = fetched(&catalog, &outer);
    let (tree, _) = tree(&catalog, &reading, &frame);
    assert_eq!(tree.buffers().len(), 1);
    let kinds: Vec<_> = tree.faults().iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::TooDeep]);
}
