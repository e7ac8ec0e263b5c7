//! A lock among the threads of one process, for what happens rarely: attaching an arena, changing a handler.
//!
//! Who holds it is inside this library ([`crate::threads::enter`]), so no handler of the program runs meanwhile and the
//! holder is never kept from going on. The word names the holder's process: in a child that was forked while another
//! thread held it, the lock counts as free.

use crate::threads;
use ntux_platform::atomic::Word64;

pub(crate) struct Lock(Word64);

impl Lock {
    pub(crate) const fn new() -> Self {
        Self(Word64::new(0))
    }

    /// Runs `work` alone. The caller is inside, or has blocked its signals.
    pub(crate) fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let lineage = threads::lineage();
        loop {
            let seen = self.0.load();
            if seen != lineage && self.0.compare_exchange(seen, lineage).is_ok() {
                break;
            }
            // SAFETY: has no precondition.
            unsafe { libc::sched_yield() };
        }
        let result = work();
        self.0.store(0);
        result
    }
}
