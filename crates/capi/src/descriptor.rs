// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors: of queues, of single objects, and beside objects in a wait.

use core::ffi::c_int;
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ntux::{Arena, Deadline, Error, ObjectFd, Polled, Ready, Satisfied, Wait, descriptor};
use ntux_platform::liveness::lineage;
use ntux_platform::wake_descriptor::WakeDescriptor;
use ntux_sync::Queue;

use crate::boundary::{self, Place, Refusal, call, call_for_number};
use crate::queue::{named, of_queue};
use crate::wait;

/// The descriptors of this process, of all arenas that C has attached.
struct Table {
    /// A forked child begins with a new one: another thread of its parent may have had the lock.
    lineage: u64,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// By the address of the arena and the number of the queue.
    queues: HashMap<(usize, u64), Arc<WakeDescriptor>>,
    /// By the address of the arena and the descriptor.
    objects: HashMap<(usize, c_int), Arc<ObjectFd>>,
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

impl Table {
    /// That of this process, if there is one.
    fn existing() -> Option<&'static Table> {
        // SAFETY: null, or a table that is never freed.
        unsafe { TABLE.load(Ordering::Acquire).as_ref() }.filter(|table| table.lineage == lineage())
    }

    fn of_this_process() -> &'static Table {
        if let Some(table) = Table::existing() {
            return table;
        }
        let before = TABLE.load(Ordering::Acquire);
        let new = Box::into_raw(Box::new(Table { lineage: lineage(), open: Mutex::default() }));
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
}

fn address(arena: &Arena) -> usize {
    ptr::from_ref(arena) as usize
}

/// Nothing was found in this queue: its descriptor, if it has one, is unreadable from now on.
pub fn arm(arena: &Arena, queue: Queue) -> Result<(), Refusal> {
    let key = (address(arena), queue.to_bits());
    let descriptor = Table::existing().and_then(|table| table.lock().queues.get(&key).cloned());
    descriptor.map_or(Ok(()), |fd| descriptor::arm(arena, queue, &fd, Deadline::Never).map_err(of_queue))
}

/// The queue is closed.
pub fn forget(arena: &Arena, queue: Queue) {
    let key = (address(arena), queue.to_bits());
    let forgotten = Table::existing().and_then(|table| table.lock().queues.remove(&key));
    drop(forgotten);
}

/// The arena is about to be detached.
pub fn forget_all(arena: &Arena) {
    let Some(table) = Table::existing() else { return };
    let of_others = |address: usize| address != self::address(arena);
    let mut open = table.lock();
    open.queues.retain(|(arena, _), _| of_others(*arena));
    open.objects.retain(|(arena, _), _| of_others(*arena));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_fd(arena: *const Arena, queue: u64) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let (arena, queue) = (unsafe { boundary::arena(arena)? }, named(queue)?);
        let (table, key) = (Table::of_this_process(), (address(arena), queue.to_bits()));
        if let Some(fd) = table.lock().queues.get(&key) {
            return Ok(fd.fd().as_raw_fd() as u32);
        }
        // Refuses what is no queue of this process.
        let new = descriptor::new(arena, queue).map_err(of_queue)?;
        let mut open = table.lock();
        // If another thread was faster, this one goes.
        let fd = open.queues.entry(key).or_insert_with(|| Arc::new(new));
        Ok(fd.fd().as_raw_fd() as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_fd(arena: *const Arena, object: u64, owner: u32) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let owner = boundary::owner(owner)?;
        let object = ntux::Object::new(object).ok_or(Refusal::from(Error::NoSuchObject))?;
        let made = ObjectFd::create(arena, object, owner).map_err(of_queue)?;
        let fd = made.as_fd().as_raw_fd();
        Table::of_this_process().lock().objects.insert((address(arena), fd), Arc::new(made));
        Ok(fd as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_fd_take(arena: *const Arena, fd: c_int) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let open = Table::existing().and_then(|table| table.lock().objects.get(&(address(arena), fd)).cloned());
        let taken = open.ok_or(Error::NoSuchObject)?.take().map_err(of_queue)?;
        wait::report(nowhere(), taken)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_fd_close(arena: *const Arena, fd: c_int) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let open = Table::existing().and_then(|table| table.lock().objects.remove(&(address(arena), fd)));
        let closed = open.ok_or(Error::NoSuchObject)?.end().map_err(of_queue)?;
        closed.map_or(Ok(0), |satisfied: Satisfied| wait::report(nowhere(), satisfied).map(|()| 1))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_wait_any_or_poll(
    arena: *const Arena,
    objects: *const u64,
    count: u32,
    descriptors: *mut Polled,
    descriptors_count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    call_for_number(|| {
        let request = wait::Request { objects, count, alert, owner, flags, deadline_ns, index };
        // SAFETY: the header asks for an attached arena, and for the same as a wait.
        let (arena, (wanted, deadline, index)) = unsafe { (boundary::arena(arena)?, request.read(false)?) };
        // SAFETY: the header asks for so many, which nobody else uses meanwhile.
        let descriptors = unsafe { boundary::room(descriptors, descriptors_count as usize)? };
        let objects = wanted.objects.iter().map(|object| ntux::Object::new(object.0)).collect::<Option<Vec<_>>>();
        let objects = objects.ok_or(Refusal::from(Error::NoSuchObject))?;
        let wait = Wait::by(wanted.owner).until(deadline);
        let wait = match wanted.alert.and_then(|alert| ntux::Object::new(alert.0)) {
            Some(alert) => wait.alert(alert),
            None => wait,
        };
        if objects.len() == wait::OBJECTS_MAX as usize && alert != 0 {
            return Err(Refusal(libc::E2BIG));
        }
        match arena.wait_any_or_poll(&objects, descriptors, wait).map_err(|error| refusal(arena, wanted, error))? {
            Ready::Descriptors(ready) => Ok(ready as u32),
            Ready::Object(satisfied) => wait::report(index, satisfied).map(|()| 0),
        }
    })
}

#[cold]
fn refusal(arena: &Arena, wanted: ntux_sync::Wanted<'_>, error: Error) -> Refusal {
    match error {
        Error::Invalid => wait::refusal(arena.core(), wanted, error),
        other => other.into(),
    }
}

/// The caller knows which object it is.
fn nowhere() -> Place<u32> {
    // SAFETY: no place.
    unsafe { Place::optional(ptr::null_mut()) }.unwrap_or_else(|_| unreachable!("null is allowed"))
}
