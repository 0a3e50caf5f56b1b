//! What reading costs, counted for tests: they look at no clock.

use std::cell::Cell;

thread_local! {
    static EFFORT: Cell<u64> = const { Cell::new(0) };
}

/// Counts bytes that were moved, or heads of records that were looked at.
pub(super) fn add(count: usize) {
    EFFORT.set(EFFORT.get() + count as u64);
}

/// What was counted in this thread, which begins anew.
pub(super) fn take() -> u64 {
    EFFORT.take()
}
