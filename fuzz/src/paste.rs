//! Text or bytes as somebody pastes them, and what `explain` makes of them.

use kafkascope::dissect::{Tree, dissect};
use kafkascope::explain::{Finding, Hint, explain};
use kafkascope::paste;
use kafkascope::protocol::ApiKey;

use super::check_text;
use super::frame::{Way, check};

/// A paste larger than this is not explained: trying all responses takes its time.
const MAX_EXPLAINED: usize = 4096;

/// All bytes are the paste.
pub fn run(data: &[u8]) {
    let pasted = match paste::parse(data) {
        Ok(pasted) => pasted,
        Err(error) => return check_text(&error.to_string()),
    };
    assert!(!pasted.bytes.is_empty(), "empty is an error");
    if pasted.bytes.len() > MAX_EXPLAINED {
        return;
    }
    let catalog = super::catalog();
    let key = pasted.bytes.first().map_or(ApiKey::FETCH, |byte| ApiKey(i16::from(*byte)));
    for hint in [Hint::None, Hint::Request, Hint::ResponseOf(key, None)] {
        let all = explain(catalog, &pasted.bytes, &hint).expect("only payloads have hints that fail");
        let mut end = 0;
        for explained in all {
            assert!(explained.start >= end && explained.end > explained.start, "{explained:?}");
            end = explained.end;
            explained.remarks.iter().for_each(|remark| check_text(remark));
            let bytes = &pasted.bytes[explained.start..explained.end];
            match explained.finding {
                Finding::Message { fit, .. } => check(catalog, &Way::Message(fit.reading), bytes),
                Finding::Ambiguous(plans, reading) => {
                    assert!(plans.len() > 1);
                    dissect(&reading, bytes, &mut Tree::new());
                }
                Finding::Payload(_) | Finding::Records | Finding::Unknown => {}
            }
        }
        assert_eq!(end, pasted.bytes.len(), "something at the end is not explained");
    }
    check(catalog, &Way::Records, &pasted.bytes);
    for family in ["kraft-record", "remote-log-record", "offsets-key", "txn-key", "share-key", "OffsetCommitValue"] {
        match explain(catalog, &pasted.bytes, &Hint::Payload(family.to_owned(), None)) {
            Ok(all) => {
                for explained in all {
                    if let Finding::Payload(plan) = explained.finding {
                        check(catalog, &Way::Payload(plan), &pasted.bytes);
                    }
                }
            }
            Err(error) => check_text(&error.to_string()),
        }
    }
}
