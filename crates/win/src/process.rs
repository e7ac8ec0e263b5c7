// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes by handles: this one, and others.
//!
//! # Role
//! Another process is a descriptor of the system (a pidfd), and its object is an event, which somebody has to set: a wait looks whether the
//! process has ended before it sleeps, and as long as it sleeps, a thread of this library waits for the descriptors. That thread begins with
//! the first wait that sleeps so, and ends when there was none for a while.
//!
//! # Order
//! O-process: a wait looks, becomes one of those for whom the thread waits, and sleeps. The thread asks each descriptor at the beginning of
//! its wait, and is called by its bell when there is another one. So it notices an end at any time after the look.
//!
//! # Death
//! The threads of a process die together. A forked child has its parent's descriptors, and a thread of its own that waits for them.

use core::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use ntux::Deadline;
use ntux_platform::atomic::Word64;
use ntux_platform::error;
use ntux_platform::liveness::process_id;
use ntux_platform::processes::{self, End};
use ntux_sync::Object;

use crate::arena::set;
use crate::boundary::{call, call_for_bool, put};
use crate::handle::{self, CURRENT_PROCESS, Flags, Handle};
use crate::last_error::{
    ACCESS_DENIED, CALL_NOT_IMPLEMENTED, INVALID_HANDLE, INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result,
};
use crate::locked::{Locked, PerProcess};
use crate::record::{self, First, Kind, Payload, Target};
use crate::thread::{IDLE_NS, STILL_ACTIVE};
use crate::{access, create, start};

/// A process that is not this one.
pub struct Other {
    pid: u32,
    descriptor: OwnedFd,
    /// 0, or how it ended, as [`code`] says, and [`KNOWN`].
    end: Word64,
}

const KNOWN: u64 = 1 << 32;
/// The exit code of a process that a signal has killed, less the signal; as shells have it.
const KILLED: u32 = 128;

impl Other {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns true if it has ended. While a child is there to be waited for, that is the time to learn how it ended.
    ///
    /// Errors: the program has closed the descriptor.
    pub fn has_ended(&self) -> std::io::Result<bool> {
        if self.end.load() != 0 {
            return Ok(true);
        }
        let has_ended = processes::has_ended(self.descriptor.as_fd())?;
        if has_ended {
            self.learn();
        }
        Ok(has_ended)
    }

    fn learn(&self) {
        if let Ok(Some(end)) = processes::end(self.descriptor.as_fd()) {
            self.end.store(KNOWN | u64::from(code(end)));
        }
    }

    /// Errors: `ACCESS_DENIED` if it has ended, and the system does not say how.
    fn exit_code(&self) -> Result<u32> {
        if !self.has_ended().map_err(|_| INVALID_HANDLE)? {
            return Ok(STILL_ACTIVE);
        }
        match self.end.load() {
            0 => Err(ACCESS_DENIED),
            known => Ok(known as u32),
        }
    }
}

fn code(end: End) -> u32 {
    match end {
        End::Exited(status) => status,
        End::Killed(signal) => KILLED + signal,
    }
}

/// Those for whom the thread waits.
struct Watched {
    /// None: the system has given none.
    bell: Option<Arc<OwnedFd>>,
    others: Vec<(Object, Arc<Other>)>,
    has_thread: bool,
}

static WATCHED: PerProcess<Watched> = PerProcess::new();

fn watched() -> &'static Locked<Watched> {
    let bell = || processes::bell().ok().map(Arc::new);
    WATCHED.get_or_make(|| Watched { bell: bell(), others: Vec::new(), has_thread: false })
}

impl Watched {
    /// Sees to it that the thread looks again.
    fn ring(&self) {
        if let Some(bell) = self.bell.as_ref().filter(|_| self.has_thread) {
            processes::ring(bell.as_fd());
        }
    }
}

/// The other processes among records, which the caller keeps, with their events.
fn others(targets: impl Iterator<Item = Target>) -> impl Iterator<Item = (Object, Arc<Other>)> {
    targets.filter_map(|target| {
        let record = target.record()?;
        // SAFETY: the caller keeps it.
        let other = unsafe { record.process() }?;
        Some((record.object(), other.clone()))
    })
}

/// Sets the events of those that have ended. The caller keeps the records.
pub fn look(targets: impl Iterator<Item = Target>) {
    for (event, other) in others(targets) {
        if other.has_ended().unwrap_or(false) {
            set(event);
        }
    }
}

/// Other processes whose ends the thread notices, until this is dropped.
pub struct Watches(Vec<(Object, Arc<Other>)>);

impl Watches {
    /// Has the thread notice the ends of the processes among these records, which the caller keeps.
    ///
    /// Errors: `NOT_ENOUGH_MEMORY` if there can be no thread.
    pub fn of(targets: impl Iterator<Item = Target>) -> Result<Watches> {
        let watches = Watches(others(targets).collect());
        if watches.0.is_empty() {
            return Ok(watches);
        }
        let mut watched = watched().lock().ok_or(NOT_ENOUGH_MEMORY)?;
        if watched.bell.is_none() {
            return Err(NOT_ENOUGH_MEMORY);
        }
        if !watched.has_thread {
            start::detached(watch, core::ptr::null_mut(), 0)?;
            watched.has_thread = true;
        }
        watched.others.extend(watches.0.iter().cloned());
        watched.ring();
        Ok(watches)
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        if let Some(mut watched) = watched().lock() {
            for (event, _) in &self.0 {
                // It is not there any more if it has ended.
                if let Some(index) = watched.others.iter().position(|(other, _)| other == event) {
                    watched.others.swap_remove(index);
                }
            }
            watched.ring();
        }
    }
}

/// The thread.
extern "C-unwind" fn watch(_: *mut c_void) -> *mut c_void {
    call((), || {
        while watch_on() {}
        Ok(())
    });
    core::ptr::null_mut()
}

/// Waits once. False if the thread ends.
fn watch_on() -> bool {
    let Some((bell, others)) =
        watched().lock().and_then(|watched| Some((watched.bell.clone()?, watched.others.clone())))
    else {
        return false;
    };
    let descriptors: Vec<BorrowedFd<'_>> = others.iter().map(|(_, other)| other.descriptor.as_fd()).collect();
    let deadline = if others.is_empty() { Deadline::after_ns(IDLE_NS) } else { Deadline::Never };
    let waited = processes::wait_for_end(bell.as_fd(), &descriptors, deadline);
    // A descriptor that the program has closed tells nothing any more.
    let over = |other: &Other| other.has_ended().unwrap_or(true);
    let ended: Vec<Object> = others.iter().filter(|(_, other)| over(other)).map(|(event, _)| *event).collect();
    ended.iter().for_each(|&event| set(event));
    let Some(mut watched) = watched().lock() else { return false };
    watched.others.retain(|(event, _)| !ended.contains(event));
    let is_idle = watched.others.is_empty() && others.is_empty() && deadline.passed();
    watched.has_thread = !is_idle && waited.is_ok();
    watched.has_thread
}

/// A record of this process.
pub fn record_of_own() -> Result<Target> {
    let never = create::object(|core, waiter| core.event_create(waiter, true, false))?;
    record::create(Kind::Process, never, Payload::Nothing, First::Handle)
}

/// Errors: `INVALID_PARAMETER` if there is no such process; `CALL_NOT_IMPLEMENTED` where the system cannot do that, or forbids it.
fn record_of_other(pid: u32) -> Result<Target> {
    let descriptor = processes::open(pid).map_err(|refused| match refused.raw_os_error() {
        Some(error::ENOSYS) => CALL_NOT_IMPLEMENTED,
        Some(error::EMFILE | error::ENFILE | error::ENOMEM) => NOT_ENOUGH_MEMORY,
        _ => INVALID_PARAMETER,
    })?;
    let other = Arc::new(Other { pid, descriptor, end: Word64::new(0) });
    let ended = create::object(|core, waiter| core.event_create(waiter, true, false))?;
    record::create(Kind::Process, ended, Payload::Process(other), First::Handle)
}

/// What the handle of a process names.
enum Named {
    Own,
    Other(Arc<Other>),
    /// The process that has forked this one, by a handle that it has made of itself.
    Ancestor,
}

/// Errors: `INVALID_HANDLE`.
fn named(process: Handle) -> Result<Named> {
    if process.addr() == CURRENT_PROCESS {
        return Ok(Named::Own);
    }
    let target = handle::look_up_kind(process, Kind::Process)?.entry.target();
    if !target.hold() {
        return Err(INVALID_HANDLE);
    }
    let named = match (others([target].into_iter()).next(), target.record()) {
        (Some((_, other)), _) => Named::Other(other),
        (None, Some(record)) if record.is_made_here() => Named::Own,
        (None, _) => Named::Ancestor,
    };
    target.release();
    Ok(named)
}

/// The process that a handle names, if it is not this one.
///
/// Errors: `INVALID_HANDLE`; `CALL_NOT_IMPLEMENTED` for the process that has forked this one, of which nothing but the handle is known.
pub fn other(process: Handle) -> Result<Option<Arc<Other>>> {
    match named(process)? {
        Named::Own => Ok(None),
        Named::Other(other) => Ok(Some(other)),
        Named::Ancestor => Err(CALL_NOT_IMPLEMENTED),
    }
}

/// Returns true if the handle of a process names this one.
///
/// Errors: `INVALID_HANDLE`.
pub fn is_own(process: Handle) -> Result<bool> {
    named(process).map(|named| matches!(named, Named::Own))
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetCurrentProcess() -> Handle {
    core::ptr::without_provenance_mut(CURRENT_PROCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetCurrentProcessId() -> u32 {
    call(0, || Ok(process_id()))
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_OpenProcess(access: u32, inherit: i32, id: u32) -> Handle {
    call(core::ptr::null_mut(), || {
        let rights = access::granted_of_existing(Kind::Process, access)?;
        let target = match id {
            // Windows' idle process has no handles.
            0 => return Err(INVALID_PARAMETER),
            id if id == process_id() => record_of_own()?,
            id => record_of_other(id)?,
        };
        handle::insert(target, rights, Flags { inherit: inherit != 0, protect: false })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetProcessId(process: Handle) -> u32 {
    call(0, || match named(process)? {
        Named::Own => Ok(process_id()),
        Named::Other(other) => Ok(other.pid),
        Named::Ancestor => Err(CALL_NOT_IMPLEMENTED),
    })
}

/// # Safety
/// `code` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_GetExitCodeProcess(process: Handle, code: *mut u32) -> i32 {
    call_for_bool(|| {
        let exit_code = match named(process)? {
            Named::Own => STILL_ACTIVE,
            Named::Other(other) => other.exit_code()?,
            Named::Ancestor => return Err(CALL_NOT_IMPLEMENTED),
        };
        // SAFETY: the same contract.
        unsafe { put(code, exit_code) };
        Ok(())
    })
}
