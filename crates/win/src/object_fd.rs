// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects of handles as descriptors, for `poll`, `epoll` and kqueue.
//!
//! # Role
//! A descriptor waits for its object as a thread does ([`ntux::ObjectFd`]): it is readable once the object was acquired for it. It keeps the
//! record, so handles may be closed meanwhile.
//!
//! A mutex is refused, because it belongs to a thread.
//!
//! # Death
//! The threads of a process die together. A forked child has no part in its parent's.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

use ntux::{Error, ObjectFd, Satisfied};

use crate::arena::arena;
use crate::boundary::call;
use crate::handle::Handle;
use crate::last_error::{CALL_NOT_IMPLEMENTED, INVALID_HANDLE, NOT_ENOUGH_MEMORY, Result, of_object};
use crate::locked::PerProcess;
use crate::process::{self, Watches};
use crate::record::{Kind, Target};
use crate::{thread, wait};

const NONE: RawFd = -1;
const WAIT_OBJECT_0: u32 = 0;
const WAIT_TIMEOUT: u32 = 0x102;
const WAIT_FAILED: u32 = u32::MAX;

/// One that is open. It holds the record.
struct Open {
    fd: Arc<ObjectFd>,
    target: Target,
    /// Sees to it that the end of a process is noticed.
    _watches: Watches,
}

static OPEN: PerProcess<HashMap<RawFd, Open>> = PerProcess::new();

#[unsafe(no_mangle)]
pub extern "C" fn ntw_FdOfHandle(handle: Handle) -> RawFd {
    call(NONE, || {
        let found = wait::waitable(handle)?;
        if matches!(found.kind, Kind::Mutex | Kind::Descriptor) {
            return Err(CALL_NOT_IMPLEMENTED);
        }
        let target = found.entry.target();
        if !target.hold() {
            return Err(INVALID_HANDLE);
        }
        let opened = open(target, found.object);
        opened.inspect_err(|_| target.release())
    })
}

/// The caller holds the record, and has given the hold away if this succeeds.
fn open(target: Target, object: ntux_sync::Object) -> Result<RawFd> {
    // O-process: looked at before it is watched.
    process::look([target].into_iter());
    let watches = Watches::of([target].into_iter())?;
    let object = ntux::Object::new(object.0).ok_or(INVALID_HANDLE)?;
    let fd = Arc::new(ObjectFd::create(arena()?, object, thread::owner()).map_err(of_object)?);
    let number = fd.as_fd().as_raw_fd();
    let mut table = OPEN.get_or_make(HashMap::new).lock().ok_or(NOT_ENOUGH_MEMORY)?;
    table.insert(number, Open { fd, target, _watches: watches });
    Ok(number)
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_TakeByFd(fd: RawFd) -> u32 {
    call(WAIT_FAILED, || {
        let open = OPEN.get().and_then(|table| table.lock()?.get(&fd).map(|open| open.fd.clone()));
        told(open.ok_or(INVALID_HANDLE)?.take().map(Some))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseFdOfHandle(fd: RawFd) -> u32 {
    call(WAIT_FAILED, || {
        let open = OPEN.get().and_then(|table| table.lock()?.remove(&fd)).ok_or(INVALID_HANDLE)?;
        let acquired = open.fd.end();
        drop(open.fd);
        open.target.release();
        told(acquired)
    })
}

fn told(acquired: ntux::Result<Option<Satisfied>>) -> Result<u32> {
    match acquired {
        Ok(Some(_)) => Ok(WAIT_OBJECT_0),
        Ok(None) | Err(Error::TimedOut) => Ok(WAIT_TIMEOUT),
        Err(error) => Err(of_object(error)),
    }
}
