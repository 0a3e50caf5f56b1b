//! Cut and changed messages: nothing panics, every byte keeps its place, and what is wrong is told.

use kafkascope::dissect::FaultKind;
use kafkascope::protocol::Catalog;
use proptest::{prop_assert, prop_assert_eq};

use crate::support::{Check, Subject};

/// A message that lacks its end is never taken for a whole one.
fn check_prefix(subject: &Subject<'_>, bytes: &[u8], length: usize) -> Check {
    let (outcome, faults) = subject.sound(&bytes[..length], 0)?;
    prop_assert!(outcome.faults > 0, "the first {} bytes pass for all", length);
    let lost = faults.iter().any(|fault| matches!(fault.kind, FaultKind::Lost { .. }));
    prop_assert!(!lost, "the capture is blamed for the sender's fault");
    if !subject.is_framed() {
        return Ok(());
    }
    // When the capture is known to lack the rest, that is all that is said.
    let missing = (bytes.len() - length) as u32;
    let (_, faults) = subject.sound(&bytes[..length], missing)?;
    let kinds: Vec<FaultKind> = faults.iter().map(|fault| fault.kind).collect();
    prop_assert_eq!(kinds, [FaultKind::Lost { missing }], "of {} bytes there are {}", bytes.len(), length);
    Ok(())
}

#[test]
fn every_beginning_of_the_smallest_instance() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        let bytes = subject.minimal();
        for length in 0..bytes.len() {
            check_prefix(&subject, &bytes, length).unwrap_or_else(|error| panic!("{}: {error}", subject.name()));
        }
    }
}

#[test]
fn beginnings_of_random_instances() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        subject.holds_for_random(3, |bytes| {
            // An odd step, so that all alignments come up.
            let step = (bytes.len() / 24) | 1;
            (0..bytes.len()).step_by(step).try_for_each(|length| check_prefix(&subject, bytes, length))
        });
    }
}

/// Bytes that are likely to mean something else than those that they take the place of.
const TELLING: [u8; 10] = [0, 1, 2, 0x3f, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff];

#[test]
fn every_byte_of_the_smallest_instance_changed() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        let bytes = subject.minimal();
        let all: Vec<u8> = (0..=255).collect();
        let values = if bytes.len() <= 24 { &all[..] } else { &TELLING[..] };
        for place in 0..bytes.len() {
            for &value in values {
                let mut changed = bytes.clone();
                changed[place] = value;
                let missing = if TELLING.contains(&value) { 1000 } else { 0 };
                check_changed(&subject, &changed, missing)
                    .unwrap_or_else(|error| panic!("{}: byte {place} is {value:#x}: {error}", subject.name()));
            }
        }
    }
}

#[test]
fn random_instances_with_bytes_changed() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        subject.holds_for_random(3, |bytes| {
            let mut generator = fastrand::Rng::with_seed(bytes.len() as u64);
            for _ in 0..12 {
                let mut changed = bytes.to_vec();
                for _ in 0..generator.usize(1..4) {
                    if !changed.is_empty() {
                        let place = generator.usize(..changed.len());
                        changed[place] = TELLING[generator.usize(..TELLING.len())];
                    }
                }
                check_changed(&subject, &changed, 1000)?;
            }
            Ok(())
        });
    }
}

#[test]
fn noise() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        let mut generator = fastrand::Rng::with_seed(7);
        for _ in 0..12 {
            let mut bytes: Vec<u8> = (0..generator.usize(..200)).map(|_| generator.u8(..)).collect();
            if let Some(first) = bytes.get_mut(..2) {
                first.fill(0);
            }
            check_changed(&subject, &bytes, 1)
                .unwrap_or_else(|error| panic!("{}: {bytes:02x?}: {error}", subject.name()));
        }
    }
}

/// The tree of any bytes is sound, also when some are said to be missing; and where they are a whole message, writing
/// them again gives bytes that mean the same (they may be others: a length in more bytes than it needs, a bool of 2).
fn check_changed(subject: &Subject<'_>, bytes: &[u8], missing: u32) -> Check {
    subject.sound(bytes, 0)?;
    if subject.is_framed() && missing > 0 {
        let (_, faults) = subject.sound(bytes, missing)?;
        prop_assert!(!faults.is_empty(), "nothing is said of the bytes that are missing");
    }
    if let Some(written) = subject.rewrite(bytes) {
        prop_assert_eq!(subject.rewrite(&written), Some(written));
    }
    Ok(())
}
