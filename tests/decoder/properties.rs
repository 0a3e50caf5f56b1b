//! What holds for every message, version and direction, with the smallest instance and with random ones.

use kafkascope::protocol::Catalog;
use proptest::{prop_assert, prop_assert_eq};

use crate::support::Subject;

#[test]
fn the_smallest_instance_is_read_to_its_last_byte() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        let (outcome, faults) = subject.sound(&subject.minimal(), 0).unwrap();
        assert!(outcome.is_exact(), "{}: {outcome:?} {faults:?}", subject.name());
    }
}

#[test]
fn random_instances_are_read_to_their_last_byte_and_written_again() {
    let catalog = Catalog::builtin();
    for subject in Subject::all(&catalog) {
        subject.holds_for_random(24, |bytes| {
            let (outcome, faults) = subject.sound(bytes, 0)?;
            prop_assert!(outcome.is_exact(), "{:?} {:?}", outcome, faults);
            let written = subject.rewrite(bytes);
            prop_assert_eq!(written.as_deref(), Some(bytes));
            Ok(())
        });
    }
}
