//! Room that no connection uses at the moment.

use std::collections::VecDeque;

/// Empty lists that connections hand on to each other. So there is no allocation for each message, no room kept on
/// connections that have nothing to say, and none for good on each connection that once had a large frame.
#[derive(Debug)]
pub(super) struct Pool<T> {
    spare: Vec<T>,
}

/// Lists that are kept, and bytes of one.
const KEEP: usize = 16;
const LARGEST: usize = 1 << 20;

/// What a pool holds.
pub(super) trait Room: Default {
    /// Empties it and says how many bytes it has room for.
    fn empty(&mut self) -> usize;
}

impl<T> Room for Vec<T> {
    fn empty(&mut self) -> usize {
        self.clear();
        self.capacity() * size_of::<T>()
    }
}

impl<T> Room for VecDeque<T> {
    fn empty(&mut self) -> usize {
        self.clear();
        self.capacity() * size_of::<T>()
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { spare: Vec::new() }
    }
}

impl<T: Room> Pool<T> {
    /// A list to use.
    pub(super) fn take(&mut self) -> T {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a list back.
    pub(super) fn give(&mut self, mut list: T) {
        if (1..=LARGEST).contains(&list.empty()) && self.spare.len() < KEEP {
            self.spare.push(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_small_lists_are_kept() {
        let mut pool = Pool::default();
        for _ in 0..100 {
            pool.give(vec![1_u8; 1000]);
        }
        assert_eq!(pool.spare.len(), KEEP);
        assert!(pool.take().is_empty() && pool.spare.len() == KEEP - 1);
        pool.give(Vec::with_capacity(LARGEST + 1));
        pool.give(Vec::new());
        assert_eq!(pool.spare.len(), KEEP - 1);
    }
}
