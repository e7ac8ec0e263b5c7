// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word that the kernel marks when a thread dies; one of those who sleep on it is woken then.
//!
//! Linux walks the *robust list* of a dying thread. In each word that the list names, and that has the thread's number, it sets a bit. The
//! C library's robust mutexes are such words: a link of the list lies in the mutex, at a fixed distance behind its word.
//!
//! A link is a pointer that the kernel follows, so it must not lie where other processes write. Hence the word lies at the end of a
//! page of shared memory, which this maps once more, with a private page behind it for the link:
//!
//! ```text
//!   a page of shared memory                       a private page
//!  +--------------------------+------+----------+---------+--------+-----
//!  |                          | word | 20 bytes | before  |  next  |
//!  +--------------------------+------+----------+---------+--------+-----
//!                              \________ 32 bytes ________/
//! ```
//! The distance, and that a link is preceded by one back, are those of the GNU C library on systems of 64 bits. Where the distance is
//! another one (musl), where pages are larger, or without a robust list (macOS, Android), a thread has no such
//! word.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::Here;
use crate::atomic::Word32;
use crate::liveness;
use crate::protection::page_size;
use crate::robust::Head;

/// Where in its page a word lies.
pub const WORD_AT: usize = PAGE - 24;
/// Bytes of a page whose end a word can lie at.
pub const PAGE: usize = 4096;
/// From a link to its word.
const DISTANCE: isize = -32;
/// The kernel wakes a sleeper (`FUTEX_WAITERS`).
pub(crate) const SLEEPERS: u32 = 1 << 31;
/// The mark (`FUTEX_OWNER_DIED`).
pub(crate) const ENDED: u32 = 1 << 30;

/// What a system may provide.
pub trait MarksAtDeath {
    /// Maps the page of shared memory at this address once more, and a private page of zeros behind it; neither is inherited by a fork.
    /// None if the system cannot.
    fn map_again(page: *const u8) -> Option<NonNull<u8>>;
    /// Unmaps both.
    ///
    /// # Safety
    /// They were mapped by [`MarksAtDeath::map_again`], and nobody uses them.
    unsafe fn unmap_again(pages: NonNull<u8>);
}

/// A link of a robust list, as the C library has it. Lists, `before` and `next` name the field `next` of a link.
#[repr(C)]
struct Link {
    before: usize,
    next: usize,
}

/// Marks in the lowest bit of a pointer, which are the C library's.
pub(crate) const POINTER: usize = !1;

/// The calling thread lives as long as its word is not marked. Dropping it takes the word out of the list, unmarked; in another thread or
/// process this does nothing, and the word stays in the list.
#[derive(Debug)]
pub struct Life {
    /// None where a checker plays the kernel.
    pages: Option<NonNull<u8>>,
    /// In the caller's mapping.
    word: *const Word32,
    /// The thread, and the process, in whose list it is.
    thread: u64,
    lineage: u64,
    of_thread: PhantomData<*mut ()>,
}

/// What the word of this thread holds while it lives. The kernel's numbers have 30 bits.
fn lives(thread: u64) -> u32 {
    thread as u32 | SLEEPERS
}

/// Returns true if what such a word holds says that its thread has ended.
#[inline(always)]
pub fn has_ended(value: u32) -> bool {
    value & ENDED != 0
}

/// The value with the mark.
pub fn ended(value: u32) -> u32 {
    value | ENDED
}

impl Life {
    /// From now on the kernel marks this word, which lies at [`WORD_AT`] of a page, when the calling thread dies. None if it will not.
    /// The caller may unmap the memory.
    pub fn begin(head: Head, word: &Word32) -> Option<Life> {
        let at = core::ptr::from_ref(word);
        if at as usize % PAGE != WORD_AT {
            return None;
        }
        let thread = liveness::thread_id();
        #[cfg(ntux_explore)]
        if let Some(scheduler) = crate::explore::current() {
            word.store(lives(thread));
            scheduler.live(at as usize, true);
            return Some(Life { pages: None, word: at, thread, lineage: liveness::lineage(), of_thread: PhantomData });
        }
        let list = head.fields()?;
        // SAFETY: as in `Head::owe`.
        let distance = unsafe { (&raw const (*list.as_ptr()).futex_offset).read() };
        if distance != DISTANCE || page_size() != PAGE {
            return None;
        }
        let pages = Here::map_again((at as usize - WORD_AT) as *const u8)?;
        word.store(lives(thread));
        let life = Life { pages: Some(pages), word: at, thread, lineage: liveness::lineage(), of_thread: PhantomData };
        life.put_in(list.as_ptr() as usize);
        Some(life)
    }

    /// Marks the word, and wakes who sleeps on it, as the kernel does for one.
    pub fn end(self) {
        if self.is_here() {
            // SAFETY: the first of the two pages, which are mapped as long as `self` is in the list; without them, a checker keeps the memory.
            let word = unsafe { &*self.pages.map_or(self.word.cast_mut(), |pages| pages.add(WORD_AT).cast().as_ptr()) };
            let _ = word.compare_exchange(lives(self.thread), ended(SLEEPERS));
            crate::futex::wake(word.futex_address(), u32::MAX);
        }
    }

    /// Returns true in the thread in whose list it is.
    pub fn is_here(&self) -> bool {
        self.thread == liveness::thread_id() && self.lineage == liveness::lineage()
    }

    fn link(&self) -> Option<*mut Link> {
        // SAFETY: the second of the two pages, which are mapped as long as `self` is in the list.
        self.pages.map(|pages| unsafe { pages.add(PAGE) }.cast().as_ptr())
    }

    /// Puts the link in front of the list with this head.
    fn put_in(&self, head: usize) {
        let Some(link) = self.link() else { return };
        // SAFETY: the list is the calling thread's own, and its links are the C library's or ours: each has the one back in front of it, the
        // head, too. The kernel may look after each store, and then finds the old list or the new one; volatile and fenced, because of that.
        unsafe {
            let (first, next) = (head as *mut usize, &raw mut (*link).next);
            let second = first.read_volatile();
            next.write_volatile(second);
            (&raw mut (*link).before).write_volatile(head);
            before(second).write_volatile(next as usize);
            compiler_fence(Ordering::SeqCst);
            first.write_volatile(next as usize);
        }
    }

    fn take_out(&self) {
        let Some(link) = self.link() else { return };
        // SAFETY: as in `put_in`; what is behind and before has been kept true by all who put links in or took them out.
        unsafe {
            let (next, previous) = ((*link).next, (*link).before);
            before(next).write_volatile(previous);
            compiler_fence(Ordering::SeqCst);
            ((previous & POINTER) as *mut usize).write_volatile(next);
        }
    }
}

/// The link back that lies in front of this `next`.
fn before(next: usize) -> *mut usize {
    ((next & POINTER) - size_of::<usize>()) as *mut usize
}

impl Drop for Life {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        #[cfg(ntux_explore)]
        if let Some(scheduler) = crate::explore::current() {
            scheduler.live(self.word as usize, false);
            return;
        }
        self.take_out();
        if let Some(pages) = self.pages {
            // SAFETY: mapped by `begin`; the list names the second page no more.
            unsafe { Here::unmap_again(pages) };
        }
    }
}
