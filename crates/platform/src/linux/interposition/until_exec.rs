// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a task needs until it has executed a program: what `execve` is given must stand somewhere while the kernel reads it, and
//! nobody is left to return the memory when the call succeeds.
//!
//! Mostly an exec takes the memory along. That of a `vfork` child is its parent's, and stays. So pieces are kept in a list that
//! only grows, and each is used again.
//!
//! # A piece's owner
//! | word | | who changes it |
//! | --- | --- | --- |
//! | 0 | free | a task that takes it: one exchange, to its number |
//! | a number | the task of that number uses it | its owner, to 0 when the exec has failed ([`Piece::give_back`]) |
//! | `DIED` | its owner has executed a program, or ended | the kernel; for everybody else it is free |
//!
//! The kernel sets `DIED` because the owner has it in its robust list, which is that of this one piece: a task to which the C library has
//! given no robust list is a child of `vfork`, or of a bare `clone`. One that has a list is a thread, whose exec ends the memory.
//!
//! If the list cannot be set, the piece is free when there is no task with the owner's number any more. After a fork the
//! child's copy says the same as the parent's word; nobody frees that, so it is lost for the child. So is a piece whose owner jumps out of its
//! exec from a signal handler.
//!
//! # Order
//! The exchange that takes a piece acquires what its last owner did, so nobody writes what an exec still reads.

use crate::atomic::{Word32, Word64};
use crate::linux::deadly::Call;
use crate::without::Feature;
use core::ffi::c_void;
use core::ptr::{NonNull, from_ref, null, null_mut};

/// The owner is gone (the kernel's `FUTEX_OWNER_DIED`).
const DIED: u32 = 1 << 30;
/// What a piece has room for at least, with its header.
const LENGTH_MIN: usize = 8 << 10;

/// An entry of a robust list: the address of the next one.
#[repr(C)]
struct Entry(Word64);

/// The kernel's `struct robust_list_head`.
#[repr(C)]
struct List {
    first: Entry,
    /// From an entry to its word.
    offset: Word64,
    pending: Word64,
}

#[repr(C, align(16))]
struct Header {
    /// The piece before it in the list; never changes.
    next: Word64,
    /// Bytes behind the header; never changes.
    length: Word64,
    list: List,
    entry: Entry,
    owner: Word32,
}

/// The newest piece, or 0.
static PIECES: Word64 = Word64::new(0);

/// A piece that the calling task has taken.
#[derive(Clone, Copy)]
pub struct Piece(&'static Header);

impl Piece {
    /// Takes a piece with room for so many bytes. None if there is no memory. Async-signal-safe; changes the error number.
    pub fn take(length: usize) -> Option<Piece> {
        // SAFETY: has no precondition.
        let task = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let used_before = |is_free: fn(u32) -> bool| {
            pieces().find(|piece| {
                let owner = piece.owner.load();
                piece.length.load() >= length as u64
                    && is_free(owner)
                    && piece.owner.compare_exchange(owner, task).is_ok()
            })
        };
        let piece = used_before(|owner| owner == 0 || owner & DIED != 0).or_else(|| used_before(is_gone));
        let piece = piece.or_else(|| add(length, task))?;
        let_kernel_free(piece);
        Some(Piece(piece))
    }

    /// Where its bytes are: aligned to 16, and the caller's until it gives the piece back. They have any value.
    pub fn bytes(self) -> *mut u8 {
        from_ref(self.0).cast_mut().wrapping_add(1).cast()
    }

    /// The exec has failed.
    pub fn give_back(self) {
        crate::keeping_errno(|| {
            if list_of_task() == Some(from_ref(&self.0.list)) {
                set_list(null());
            }
        });
        self.0.owner.store(0);
    }
}

fn pieces() -> impl Iterator<Item = &'static Header> {
    // SAFETY: 0 or a header that stays mapped, as all that it leads to.
    let header = |address: u64| unsafe { (address as *const Header).as_ref() };
    core::iter::successors(header(PIECES.load()), move |piece| header(piece.next.load()))
}

/// Returns whether there is no task of this number.
fn is_gone(owner: u32) -> bool {
    // SAFETY: signal 0 is not sent.
    unsafe { libc::kill(owner as libc::pid_t, 0) != 0 && crate::errno() == libc::ESRCH }
}

fn add(length: usize, task: u32) -> Option<&'static Header> {
    let whole = length.checked_add(size_of::<Header>())?.max(LENGTH_MIN).checked_next_multiple_of(LENGTH_MIN)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let start = unsafe { libc::mmap(null_mut(), whole, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: new memory of zeros, larger than a header, that is never unmapped.
    let piece = unsafe { NonNull::new(start.cast::<Header>())?.as_ref() };
    let list = from_ref(&piece.list.first);
    piece.length.store((whole - size_of::<Header>()) as u64);
    piece.owner.store(task);
    piece.list.first.0.store(from_ref(&piece.entry) as u64);
    piece.entry.0.store(list as u64);
    piece.list.offset.store((from_ref(&piece.owner) as u64).wrapping_sub(from_ref(&piece.entry) as u64));
    loop {
        let first = PIECES.load();
        piece.next.store(first);
        if PIECES.compare_exchange(first, start as u64).is_ok() {
            return Some(piece);
        }
    }
}

/// Has the kernel free the piece when the calling task executes a program or ends, unless the task is a thread of the C library.
fn let_kernel_free(piece: &'static Header) {
    if list_of_task().is_some_and(<*const List>::is_null) && !Feature::RobustList.is_left_out() {
        set_list(&piece.list);
    }
}

/// None if the kernel does not tell, or nobody may ask.
fn list_of_task() -> Option<*const List> {
    // The list of no such task, and one of a length that is refused.
    static CALLS: [Call; 2] =
        [Call::new(libc::SYS_get_robust_list, [usize::MAX, 0]), Call::new(libc::SYS_set_robust_list, [0, 0])];
    if Call::any_is_deadly(&CALLS) {
        return None;
    }
    let (mut list, mut length) = (null::<List>(), 0usize);
    // SAFETY: places for the answers; 0 is the calling task.
    let result = unsafe { libc::syscall(libc::SYS_get_robust_list, 0usize, &raw mut list, &raw mut length) };
    (result == 0).then_some(list)
}

fn set_list(list: *const List) {
    // SAFETY: none, or a list that stays mapped and has one entry, whose word is in the same piece.
    unsafe { libc::syscall(libc::SYS_set_robust_list, list.cast::<c_void>(), size_of::<List>()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count() -> usize {
        pieces().count()
    }

    /// In one test, because the list is the process's.
    #[test]
    fn pieces_are_used_again() {
        let first = Piece::take(100).unwrap();
        // SAFETY: the piece is this test's.
        unsafe { first.bytes().write_bytes(1, 100) };
        assert!(first.bytes().addr().is_multiple_of(16));
        let second = Piece::take(100).unwrap();
        assert_ne!(first.bytes(), second.bytes(), "an exec within an exec");
        first.give_back();
        second.give_back();
        assert_eq!(count(), 2);
        let large = Piece::take(3 * LENGTH_MIN).unwrap();
        large.give_back();
        assert_eq!(count(), 3);
        for _ in 0..20 {
            children_that_borrow_memory();
        }
        assert_eq!(count(), 3, "the kernel has freed what children left");
        let (first, second, third) = (Piece::take(1), Piece::take(1), Piece::take(1));
        assert_eq!(count(), 3);
        assert_eq!([first, second, third].map(|piece| piece.unwrap().give_back()), [(), (), ()]);
    }

    /// One executes a program, the other fails to, and ends.
    fn children_that_borrow_memory() {
        extern "C" fn run(path: *mut c_void) -> libc::c_int {
            let piece = Piece::take(1000).unwrap();
            // SAFETY: a path, and no arguments; the last call ends the child.
            unsafe {
                libc::execve(path.cast(), [null()].as_ptr(), [null()].as_ptr());
                let is_given_back = crate::errno() == libc::ENOENT && {
                    piece.give_back();
                    list_of_task() == Some(null())
                };
                libc::_exit(i32::from(!is_given_back))
            }
        }
        for path in [c"/bin/true", c"/nowhere"] {
            let mut stack = vec![0u128; 4096];
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let mut status = 0;
            // SAFETY: the stack is the child's alone, and the calling thread waits until the child is gone.
            unsafe {
                let top = stack.as_mut_ptr_range().end.cast();
                let child = libc::clone(run, top, flags, path.as_ptr().cast_mut().cast());
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
            }
            assert_eq!(status, 0);
        }
    }
}
