// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread and handlers that ask at its door, as a face has them.

use super::*;
use std::cell::Cell;

thread_local! {
    static DOOR: Door = Door::default();
    /// What the next handler does before it asks.
    static FIRST: Cell<fn()> = const { Cell::new(|| ()) };
    /// The signals whose handlers ran, one digit each.
    static RAN: Cell<u32> = const { Cell::new(0) };
}

const ONE: c_int = libc::SIGUSR1;
const TWO: c_int = libc::SIGUSR2;

extern "C" fn handler(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    FIRST.replace(|| ())();
    // SAFETY: the handler's own arguments.
    let waits = DOOR.with(|door| unsafe { door.answer(signal, &mut *information.cast(), context) });
    if !waits {
        RAN.set(RAN.get() * 10 + if signal == ONE { 1 } else { 2 });
    }
}

fn handle(flags: c_int) {
    for signal in [ONE, TWO] {
        // SAFETY: all bytes zero is a value; the handler takes what it is given.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | flags;
            assert_eq!(libc::sigaction(signal, &action, core::ptr::null_mut()), 0);
        }
    }
}

fn raise(signal: c_int) {
    // SAFETY: the calling thread exists.
    assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), signal) }, 0);
}

/// Inside, does this; then opens the door. The handlers that ran.
fn inside(work: impl FnOnce()) -> u32 {
    handle(0);
    let mask = to_self::change(SIG_BLOCK, 0);
    RAN.set(0);
    DOOR.with(|door| {
        door.enter(1);
        work();
        if door.leave(0) {
            assert_eq!(door.open(), Restart::No);
        }
        assert_eq!((door.owed.load(), door.due.load(), door.blocked.load()), (0, 0, 0));
    });
    assert_eq!(to_self::change(SIG_BLOCK, 0), mask, "the mask is the one before");
    RAN.get()
}

#[test]
fn a_handler_runs_at_the_door_and_not_before() {
    assert_eq!(inside(|| ()), 0);
    let early = || {
        raise(ONE);
        assert_eq!(RAN.get(), 0);
    };
    assert_eq!(inside(early), 1);
    raise(ONE);
    assert_eq!(RAN.get(), 11, "outside it runs at once");
}

#[test]
fn signals_behind_the_owed_one_are_kept_by_the_kernel() {
    let both = inside(|| {
        raise(ONE);
        raise(TWO);
        assert_eq!(RAN.get(), 0);
    });
    assert!([12, 21].contains(&both), "{both}");
}

#[test]
fn a_handler_that_comes_before_another_one_has_asked_is_not_lost() {
    let both = inside(|| {
        FIRST.set(|| raise(TWO));
        raise(ONE);
        assert_eq!(RAN.get(), 0);
        // Nothing comes before the door, either.
        raise(TWO);
        assert_eq!(RAN.get(), 0);
    });
    assert!([12, 21, 122, 212, 221].contains(&both), "{both}");
}

#[test]
fn an_inner_bracket_does_not_open() {
    let ran = inside(|| {
        DOOR.with(|door| {
            door.enter(2);
            raise(ONE);
            assert!(!door.leave(1));
        });
        assert_eq!(RAN.get(), 0);
    });
    assert_eq!(ran, 1);
}

#[test]
fn what_the_program_blocks_stays_blocked() {
    let before = to_self::change(SIG_BLOCK, bit(TWO) | bit(libc::SIGSEGV));
    assert_eq!(inside(|| raise(ONE)), 1);
    to_self::change(SIG_SETMASK, before);
}
