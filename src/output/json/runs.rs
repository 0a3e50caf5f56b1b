//! Arrays whose elements were written apart from each other: Protocol Buffers allow that, JSON does not.

use std::collections::HashMap;

/// Puts the pieces of each array together, where the first of them stands. `start` is where the entries of an object
/// begin; `runs` says where each does, from the brace before them, and of which field it is (0: of none).
pub(super) fn join_runs(out: &mut Vec<u8>, start: usize, runs: &[(u32, u32)]) {
    if are_whole(runs) {
        return;
    }
    let brace = start - 1;
    let mut first = HashMap::new();
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(runs.len());
    for (index, (number, _)) in runs.iter().enumerate() {
        let group = if *number == 0 { index } else { *first.entry(*number).or_insert(index) };
        order.push((group, index));
    }
    order.sort_unstable();
    let mut joined: Vec<u8> = Vec::with_capacity(out.len() - start);
    for (group, index) in order {
        let at = |index: usize| runs.get(index).map_or(out.len(), |(_, offset)| brace + *offset as usize);
        let piece = out.get(at(index)..at(index + 1)).unwrap_or_default();
        let elements = piece.iter().position(|byte| *byte == b'[').and_then(|bracket| piece.get(bracket + 1..));
        match elements.filter(|_| group != index) {
            None => joined.extend_from_slice(piece),
            // `"key":[1,` and `2],`
            Some(elements) => {
                joined.truncate(joined.len().saturating_sub(2));
                if !joined.ends_with(b"[") && elements != b"]," {
                    joined.push(b',');
                }
                joined.extend_from_slice(elements);
            }
        }
    }
    out.truncate(start);
    out.append(&mut joined);
}

/// Whether no array is in pieces.
fn are_whole(runs: &[(u32, u32)]) -> bool {
    let mut seen = 0u64;
    runs.iter().all(|(number, _)| {
        let bit = 1u64.checked_shl(*number).unwrap_or(0);
        let is_new = bit != 0 && seen & bit == 0;
        seen |= bit;
        is_new
    })
}
