// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process this is: its *lineage*, a number that each process gives itself.
//!
//! The number is in a word that the kernel zeroes at a fork. So a child notices the fork at its next [`lineage`], however it was forked. A
//! `vfork` child shares the word with its parent, so it is recognized by its process id. (It is not if it has its parent's id, in another
//! namespace: `docs/reference/process-trees.md`.)

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::liveness;

/// Address of the word that a fork zeroes: the lineage.
pub(crate) static LINEAGE: Word64 = Word64::new(0);

/// The highest lineage so far in this process and its ancestors.
static LINEAGES: Word32 = Word32::new(0);

/// If the kernel zeroes no page at a fork, the C library's `fork` zeroes this word. Other forks go unnoticed.
static SUBSTITUTE: Word64 = Word64::new(0);

/// The number of this process; it changes at a fork. Async-signal-safe.
#[inline(always)]
pub(crate) fn lineage() -> u64 {
    // A thread may be cancelled here at any instruction: no function between that could have something to clean up.
    // SAFETY: 0 or the word that `renew_lineage` made for good.
    let given = match unsafe { (LINEAGE.load() as *const Word64).as_ref() } {
        Some(word) => word.load(),
        None => 0,
    };
    if given == 0 { renew_lineage() } else { given }
}

/// The proof that the memory is this process's own, valid as long as the program does not run. To find out costs a system call, so a call of
/// the program does it once, and passes this on.
#[derive(Clone, Copy)]
pub(crate) struct OwnMemory(());

/// Returns none in a `vfork` child.
pub(crate) fn own_memory() -> Option<OwnMemory> {
    (lineage() as u32 == process_id()).then_some(OwnMemory(()))
}

/// True in a `vfork` child that still runs in its parent's memory, which it must not change.
pub(crate) fn borrows_memory() -> bool {
    own_memory().is_none()
}

fn process_id() -> u32 {
    // SAFETY: has no precondition.
    unsafe { libc::getpid() as u32 }
}

#[cold]
fn renew_lineage() -> u64 {
    let word = lineage_page();
    let seen = LINEAGES.fetch_add(1).wrapping_add(1);
    let mine = u64::from(seen & 0x7fff_ffff) << 32 | u64::from(process_id());
    match word.compare_exchange(0, mine) {
        Ok(()) => mine,
        Err(found) => found,
    }
}

fn lineage_page() -> &'static Word64 {
    let known = LINEAGE.load();
    if known != 0 {
        // SAFETY: made below, for good.
        return unsafe { &*(known as *const Word64) };
    }
    let word = liveness::word_wiped_on_fork().unwrap_or(&SUBSTITUTE);
    let _ = LINEAGE.compare_exchange(0, core::ptr::from_ref(word) as u64);
    // SAFETY: whichever word won lives for good.
    unsafe { &*(LINEAGE.load() as *const Word64) }
}

/// The word of this process's lineage. A new child finds 0 there.
///
/// # Safety
/// Somebody has called [`lineage`] before, in this process or the one that it was forked from.
#[inline(always)]
pub(super) unsafe fn word() -> &'static Word64 {
    // SAFETY: made by the first call, for good.
    unsafe { &*(LINEAGE.load() as *const Word64) }
}

/// Called in the child by the C library's `fork`.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn forked() {
    // A page that is written here is copied.
    if SUBSTITUTE.load() != 0 {
        SUBSTITUTE.store(0);
    }
}
