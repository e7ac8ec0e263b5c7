// SPDX-License-Identifier: MIT OR Apache-2.0
//! What C has opened in this process and keeps by numbers: queues, and objects as descriptors.
//!
//! # Role
//! A queue, and an object's descriptor, belong to the process, and to the attachment through which they were made: that keeps the memory
//! mapped in which they sleep. Any attachment of the same memory may name them. They end when they are closed, or when their attachment
//! is detached.
//!
//! # Invariants
//! * I-opened-1: what is listed is open, and its attachment is not detached. So who names something takes a share of it under the lock,
//!   and uses it without.
//! * I-opened-2: a queue is listed before anybody knows its number, and is taken out by who closes it. So a descriptor that is made for
//!   a queue meanwhile goes with the last share.
//!
//! # Fork
//! A child has a copy of the table, which another thread of its parent may have been changing. So the child begins with a new one. What was
//! inherited is none to it, and is dropped with its attachment, unless the lock was held in the instant of the fork: then the child's copies
//! of the memory and of the descriptors stay until it ends.

use core::ffi::c_int;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use ntux::{Arena, ObjectFd, Queue};
use ntux_platform::liveness::lineage;
use ntux_platform::memory::{FileId, regular_file};

/// What one process has opened.
struct Table {
    lineage: u64,
    open: Mutex<Open>,
    /// That of the process from which this one was forked.
    inherited: *const Table,
}

// SAFETY: the pointer is null, or to a table that is never freed.
unsafe impl Send for Table {}
// SAFETY: the same.
unsafe impl Sync for Table {}

#[derive(Default)]
struct Open {
    queues: Opened<u64, Queue>,
    objects: Opened<c_int, Arc<ObjectFd>>,
}

/// By the number, and the address of the attachment.
type Opened<N, T> = BTreeMap<(N, usize), Entry<T>>;

struct Entry<T> {
    opened: T,
    /// The file of the attachment.
    file: Option<FileId>,
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

impl Table {
    /// That of this process, or of one from which it was forked.
    fn last() -> Option<&'static Table> {
        // SAFETY: null, or a table that is never freed.
        unsafe { TABLE.load(Ordering::Acquire).as_ref() }
    }

    /// That of this process, if there is one.
    fn existing() -> Option<&'static Table> {
        Table::last().filter(|table| table.lineage == lineage())
    }

    fn of_this_process() -> &'static Table {
        if let Some(table) = Table::existing() {
            return table;
        }
        let before = TABLE.load(Ordering::Acquire);
        let new = Box::into_raw(Box::new(Table { lineage: lineage(), open: Mutex::default(), inherited: before }));
        if TABLE.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
        // SAFETY: a table that is never freed: this one, or that of a thread that was faster.
        unsafe { &*TABLE.load(Ordering::Acquire) }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if the lock is held, which it may be for ever in a forked child.
    fn try_lock(&self) -> Option<MutexGuard<'_, Open>> {
        match self.open.try_lock() {
            Ok(open) => Some(open),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

fn address(arena: &Arena) -> usize {
    ptr::from_ref(arena) as usize
}

/// None if it has no descriptor: then no other attachment is of the same memory.
fn file(arena: &Arena) -> Option<FileId> {
    regular_file(arena.core().fd()?.as_fd()).ok().flatten()
}

/// The key of what has this number in the memory of this attachment.
fn key_of<N: Copy + Ord, T>(opened: &Opened<N, T>, number: N, arena: &Arena) -> Option<(N, usize)> {
    let own = (number, address(arena));
    if opened.contains_key(&own) {
        return Some(own);
    }
    let mut same = opened.range((number, 0)..=(number, usize::MAX)).peekable();
    same.peek()?;
    let file = file(arena)?;
    same.find(|(_, entry)| entry.file == Some(file)).map(|(&key, _)| key)
}

fn find<N: Copy + Ord, T: Clone>(opened: &Opened<N, T>, number: N, arena: &Arena) -> Option<T> {
    key_of(opened, number, arena).and_then(|key| opened.get(&key)).map(|entry| entry.opened.clone())
}

fn take_out<N: Copy + Ord, T>(opened: &mut Opened<N, T>, number: N, arena: &Arena) -> Option<T> {
    key_of(opened, number, arena).and_then(|key| opened.remove(&key)).map(|entry| entry.opened)
}

/// Takes out all of an attachment.
fn take_out_all<N: Copy + Ord, T>(opened: &mut Opened<N, T>, arena: &Arena) -> Opened<N, T> {
    let (own, others) = std::mem::take(opened).into_iter().partition(|((_, of), _)| *of == address(arena));
    *opened = others;
    own
}

/// Lists a queue that was made through this attachment. Returns its number.
pub fn list_queue(arena: &Arena, queue: Queue) -> u64 {
    let number = queue.core().to_bits();
    let entry = Entry { opened: queue, file: file(arena) };
    Table::of_this_process().lock().queues.insert((number, address(arena)), entry);
    number
}

/// The queue with this number.
pub fn queue(arena: &Arena, number: u64) -> Option<Queue> {
    find(&Table::existing()?.lock().queues, number, arena)
}

/// The same, which is listed no more.
pub fn take_out_queue(arena: &Arena, number: u64) -> Option<Queue> {
    take_out(&mut Table::existing()?.lock().queues, number, arena)
}

/// Lists an object's descriptor that was made through this attachment. Returns its number.
pub fn list_object(arena: &Arena, object: ObjectFd) -> c_int {
    let number = object.as_fd().as_raw_fd();
    let entry = Entry { opened: Arc::new(object), file: file(arena) };
    Table::of_this_process().lock().objects.insert((number, address(arena)), entry);
    number
}

/// The object with this descriptor.
pub fn object(arena: &Arena, fd: c_int) -> Option<Arc<ObjectFd>> {
    find(&Table::existing()?.lock().objects, fd, arena)
}

/// The same, which is listed no more.
pub fn take_out_object(arena: &Arena, fd: c_int) -> Option<Arc<ObjectFd>> {
    take_out(&mut Table::existing()?.lock().objects, fd, arena)
}

/// Closes all that was made through this attachment, which is about to be detached.
pub fn close_all(arena: &Arena) {
    let mut table = Table::last();
    while let Some(each) = table {
        let open = if each.lineage == lineage() { Some(each.lock()) } else { each.try_lock() };
        let taken =
            open.map(|mut open| (take_out_all(&mut open.queues, arena), take_out_all(&mut open.objects, arena)));
        // Without the lock. In a forked child this closes nothing but the child's copies of descriptors.
        drop(taken);
        // SAFETY: null, or a table that is never freed.
        table = unsafe { each.inherited.as_ref() };
    }
}
