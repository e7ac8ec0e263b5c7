// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other processes, each behind a descriptor that names it for good: that one has ended, and how.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::Here;
use crate::clock::Deadline;

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// By itself, with this status.
    Exited(u32),
    /// By this signal.
    Killed(u32),
}

/// What a system may lack.
pub trait Processes {
    /// See [`open`].
    fn open(pid: u32) -> io::Result<OwnedFd>;

    /// See [`has_ended`].
    fn has_ended(process: BorrowedFd<'_>) -> io::Result<bool>;

    /// See [`end`].
    fn end(process: BorrowedFd<'_>) -> io::Result<Option<End>>;

    /// See [`bell`].
    fn bell() -> io::Result<OwnedFd>;

    /// See [`ring`].
    fn ring(bell: BorrowedFd<'_>);

    /// See [`wait_for_end`].
    fn wait_for_end(bell: BorrowedFd<'_>, processes: &[BorrowedFd<'_>], deadline: Deadline) -> io::Result<()>;
}

/// A descriptor of the process that has this number now. Programs that are executed do not inherit it.
///
/// Errors: `ESRCH` if there is none; `ENOSYS` where the system cannot do that, or a filter forbids it; others if there is no room.
pub fn open(pid: u32) -> io::Result<OwnedFd> {
    Here::open(pid)
}

/// Returns true if the process has ended, whether or not its parent has waited for it.
///
/// Errors: those of the system, which mean that the descriptor is not one of a process any more.
pub fn has_ended(process: BorrowedFd<'_>) -> io::Result<bool> {
    Here::has_ended(process)
}

/// How the process ended; none if it has not. A child stays there to be waited for.
///
/// Errors: `EACCES` if the system does not say it to the caller: of a process that is no child, or a child that was waited for. (From
/// Linux 6.15 on it says so of everybody whose parent has waited.)
pub fn end(process: BorrowedFd<'_>) -> io::Result<Option<End>> {
    Here::end(process)
}

/// What [`ring`] rings. Programs that are executed do not inherit it.
pub fn bell() -> io::Result<OwnedFd> {
    Here::bell()
}

/// Ends one [`wait_for_end`] with this bell, that goes on or comes.
pub fn ring(bell: BorrowedFd<'_>) {
    Here::ring(bell);
}

/// Waits until one of these processes has ended, the bell was rung, or the deadline has passed; it may end before. A deadline on the wall
/// clock does not follow it.
///
/// Errors: those of the system; there is no room for so many.
pub fn wait_for_end(bell: BorrowedFd<'_>, processes: &[BorrowedFd<'_>], deadline: Deadline) -> io::Result<()> {
    Here::wait_for_end(bell, processes, deadline)
}
