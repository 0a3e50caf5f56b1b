//! A bell: who is idle sleeps until there is something new.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rung when there is something new, by any thread; one thread sleeps until it is. Ringing while nobody sleeps costs as much
/// as counting.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicU64,
    is_asleep: AtomicBool,
    waker: OnceLock<fn()>,
}

impl Bell {
    /// Says what wakes the sleeper. Only the first one is taken.
    pub fn wakes(&self, waker: fn()) {
        let _ = self.waker.set(waker);
    }

    /// Says that there is something new.
    pub fn ring(&self) {
        // Both sides write first and read then, so that one of them sees the other.
        self.rung.fetch_add(1, Ordering::SeqCst);
        if self.is_asleep.swap(false, Ordering::SeqCst)
            && let Some(wake) = self.waker.get()
        {
            wake();
        }
    }

    /// How often it was rung.
    pub fn heard(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Whether the caller may sleep: that it was rung no more often than the caller has heard. It is woken then.
    pub fn sleep(&self, heard: u64) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        let is_quiet = self.heard() == heard;
        if !is_quiet {
            self.stay_awake();
        }
        is_quiet
    }

    /// Says that the caller does not sleep any more.
    pub fn stay_awake(&self) {
        self.is_asleep.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sleeper_is_woken_once_and_misses_nothing() {
        static WOKEN: AtomicUsize = AtomicUsize::new(0);
        let woken = || WOKEN.load(Ordering::SeqCst);
        let bell = Bell::default();
        bell.wakes(|| _ = WOKEN.fetch_add(1, Ordering::SeqCst));
        let heard = bell.heard();
        // Nobody sleeps, so nobody is woken; but who has not heard it must not go to sleep.
        bell.ring();
        assert_eq!(woken(), 0);
        assert!(!bell.sleep(heard));
        bell.ring();
        assert_eq!(woken(), 0);
        let heard = bell.heard();
        assert!(bell.sleep(heard));
        bell.ring();
        bell.ring();
        assert_eq!((woken(), bell.heard()), (1, heard + 2));
        assert!(bell.sleep(bell.heard()));
        bell.stay_awake();
        bell.ring();
        assert_eq!(woken(), 1);
    }

    /// However rings and sleeps fall together, the sleeper sees the last ring.
    #[test]
    fn no_ring_is_missed_by_a_sleeper_of_another_thread() {
        static WOKEN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
        const RINGS: u64 = 50_000;
        let bell = Bell::default();
        bell.wakes(|| {
            *WOKEN.0.lock().unwrap() = true;
            WOKEN.1.notify_one();
        });
        std::thread::scope(|scope| {
            scope.spawn(|| (0..RINGS).for_each(|_| bell.ring()));
            loop {
                let heard = bell.heard();
                if heard == RINGS {
                    break;
                }
                if bell.sleep(heard) {
                    let asleep = WOKEN.0.lock().unwrap();
                    let patience = Duration::from_mins(1);
                    let (mut woken, late) =
                        WOKEN.1.wait_timeout_while(asleep, patience, |is_woken| !*is_woken).unwrap();
                    assert!(!late.timed_out(), "asleep at {heard}, rung {} times", bell.heard());
                    *woken = false;
                }
            }
        });
    }
}
