// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process does for a tracer that started it, or one of its ancestors (`NTUX_TRACE`): its threads report from the start,
//! and it hands its arenas over, because it may end before the tracer looks for them.
//!
//! A message to the tracer's socket carries a descriptor of the arena, which keeps the file until the tracer has read what was
//! reported, whatever becomes of this process. It is a file description of its own: it holds no lock, so no object and no
//! family lives longer for it, and it is at the start, so it is no object's. The message goes at once or not at all, and
//! nobody is told if it does not.

use crate::c_library::cancellation::without_cancellation;
use crate::c_library::next;
use crate::report::environment::{self, Tracer};
use core::ffi::CStr;
use ntux_platform::interposition::handover;
use ntux_platform::keeping_errno;
use ntux_platform::memory::{self, Caller, FileId};
use ntux_sync::{Arena, Error};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// How long threads report before the tracer has come, on a busy machine.
const TRACER_COMES_WITHIN_NS: u64 = 10_000_000_000;
/// What the message says beside the descriptor.
const AN_ARENA: u8 = b'a';

/// Maps an arena that this process meets. Its threads report if a tracer is there to be given it.
pub(crate) fn map(fd: BorrowedFd<'_>) -> Result<Arena, Error> {
    let arena = Arena::map_for_descriptors(fd)?;
    if let Some(Tracer::Receives(path)) = environment::tracer()
        && hands_over(path, fd, arena.file())
    {
        report(&arena);
    }
    Ok(arena)
}

/// This process has made an arena. Its threads report even if no tracer can be reached from here: it may find the arena.
pub(crate) fn made(arena: &Arena, fd: BorrowedFd<'_>) {
    let Some(tracer) = environment::tracer() else { return };
    report(arena);
    if let Tracer::Receives(path) = tracer {
        hands_over(path, fd, arena.file());
    }
}

fn report(arena: &Arena) {
    // Without memory for it the program goes on untraced.
    let _ = arena.trace_from_now(TRACER_COMES_WITHIN_NS);
}

/// Returns whether the tracer has been sent the arena.
#[cold]
fn hands_over(path: &CStr, fd: BorrowedFd<'_>, file: FileId) -> bool {
    keeping_errno(|| without_cancellation(|| handover::may_post() && send(path, fd, file).is_ok()))
}

fn send(path: &CStr, fd: BorrowedFd<'_>, file: FileId) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(Path::new(OsStr::from_bytes(path.to_bytes())))?;
    let own = memory::reopen(fd, file, Caller::AnyThread)?;
    handover::post(&socket, AN_ARENA, own.as_fd(), |socket, message, flags| {
        // SAFETY: a message that lives during the call. The real function: this library's own would look for a receiver
        // without the library, and say so.
        unsafe { next::sendmsg(socket, message, flags) }
    })
}
