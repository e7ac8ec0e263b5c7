// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the receivers of messages that carry a descriptor of ours: a process without this library cannot use it, and
//! the user is told.
//!
//! Each socket is checked once, and each program that a receiver executes: a check reads the receiver's mappings. The kernel names the process that
//! connected, or that created the socket pair. For a pair that this process created, the check searches for the child
//! with the other end ([`relatives`]); for any other pair it takes the creator for the receiver.

mod relatives;

use crate::c_library::cancellation::without_cancellation;
use crate::descriptors::strangers::{self, Name, Obstacle};
use crate::report::log;
use core::cell::Cell;
use core::ffi::c_int;
use core::mem::{MaybeUninit, size_of};
use core::num::NonZero;
use ntux_platform::atomic::Word64;
use ntux_platform::interposition::others;
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::keeping_errno;

/// How many sockets, and strangers, are cached. One that is evicted is checked again.
const REMEMBERED: usize = 256;

static SOCKETS: [Word64; REMEMBERED] = [const { Word64::new(0) }; REMEMBERED];
static STRANGERS: [Word64; REMEMBERED] = [const { Word64::new(0) }; REMEMBERED];
/// By process, [`strangers::execution`] of those that are no strangers.
static FRIENDS: [Word64; REMEMBERED] = [const { Word64::new(0) }; REMEMBERED];

/// Set in a number in [`SOCKETS`] if a stranger is at the other end, or nobody could be looked at.
const STRANGER: u64 = 1 << 63;

/// The other end of the socket of one call, looked at when the first descriptor of ours is about to be sent.
#[derive(Default)]
pub(crate) struct Receiver(Cell<Option<bool>>);

impl Receiver {
    /// Returns true if it has not loaded this library, as far as can be found out. Says so once.
    #[cold]
    pub(crate) fn is_stranger(&self, socket: c_int) -> bool {
        let known = self.0.get().unwrap_or_else(|| keeping_errno(|| is_stranger(socket)));
        self.0.set(Some(known));
        known
    }
}

fn is_stranger(socket: c_int) -> bool {
    let Some(inode) = inode(socket) else { return true };
    let place = &SOCKETS[inode as usize % REMEMBERED];
    let found = place.load();
    if found & !STRANGER == inode {
        return found & STRANGER != 0;
    }
    let is_stranger = || without_cancellation(|| !others::may_be_looked_at() || look(socket, inode));
    // Where nobody could be looked at, it is one.
    let is_stranger = on_own_stack(is_stranger).unwrap_or(true);
    place.store(inode | if is_stranger { STRANGER } else { 0 });
    is_stranger
}

/// Caches a number that is not 0. Returns whether it is new.
fn is_new(numbers: &[Word64; REMEMBERED], number: u64) -> bool {
    let place = &numbers[number as usize % REMEMBERED];
    let before = place.load();
    place.store(number);
    before != number
}

fn inode(socket: c_int) -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a place for the answer, which is there if the call succeeded.
    unsafe { (libc::fstat(socket, status.as_mut_ptr()) == 0).then(|| status.assume_init().st_ino) }
}

/// Returns true if somebody at the other end is a stranger, or nobody knows who is there.
fn look(socket: c_int, inode: u64) -> bool {
    let own = std::process::id() as libc::pid_t;
    let mut found = false;
    match peer(socket) {
        Some(receiver) if receiver != own => found = look_at(own, receiver),
        Some(_) => relatives::with_other_end(inode, |receiver| found |= look_at(own, receiver)),
        None => found = true,
    }
    found
}

/// Returns whether it is a stranger, and says so once.
fn look_at(own: libc::pid_t, receiver: libc::pid_t) -> bool {
    let execution = strangers::execution(receiver).map_or(0, NonZero::get);
    let friend = &FRIENDS[receiver as usize % REMEMBERED];
    if execution != 0 && friend.load() == execution {
        return false;
    }
    let Some(obstacle) = obstacle(receiver) else {
        friend.store(execution);
        return false;
    };
    if is_new(&STRANGERS, receiver as u64) {
        log::say(format_args!(
            "ntux: process {own} ({}) gives /dev/ntsync to process {receiver} ({}), which has not loaded ntux: its waits will \
             fail; {obstacle}\n",
            Name::of(own),
            Name::of(receiver),
        ));
    }
    true
}

/// The process at the other end; none if it is in no namespace that we see, or the socket has no other end.
fn peer(socket: c_int) -> Option<libc::pid_t> {
    let mut peer = MaybeUninit::<libc::ucred>::zeroed();
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a place for the answer, and its length; all bytes zero is a value.
    let process = unsafe {
        let place = peer.as_mut_ptr().cast();
        let result = libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length);
        if result == 0 { peer.assume_init().pid } else { 0 }
    };
    (process > 0).then_some(process)
}

/// Why a process cannot use what it is given; none if it can, or nobody tells.
fn obstacle(process: libc::pid_t) -> Option<Obstacle> {
    let by_program = strangers::obstacle_in(process);
    // A 32-bit process has mapped a library of the same name, which only explains itself.
    if by_program == Some(Obstacle::Narrow) {
        return by_program;
    }
    // Wine's preloader is a static program that loads a dynamic one itself.
    if strangers::has_library(process)? { None } else { Some(by_program.unwrap_or(Obstacle::Environment)) }
}
