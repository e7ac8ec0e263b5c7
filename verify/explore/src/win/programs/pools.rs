// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs over thread pools. Threads that the library starts are played by [`spare`] bodies.
//!
//! Ghost 0 is what is called, 1 counts its calls, 2 is an event, 3 a group or another event, 4 counts calls that are going on, 5 is 1 more than
//! the calls that were made when no others may come, 6 is the event by which calls tell, 7 the other registered wait.

use std::ffi::c_void;
use std::ptr;

use ntux_win::explored::*;

use super::super::machine::{check, ghost, set_ghost};
use super::{INFINITE, Program, add, event, handle, keep_handle, nothing, program};

/// Every program over pools.
pub fn all() -> Vec<Program> {
    [works(), groups(), timers(), waits()].into_iter().flatten().collect()
}

const BLOCKS: Handle = ptr::without_provenance_mut(usize::MAX);
const ONCE: u32 = 0x8;

fn first() {
    spare(0);
}

fn second() {
    spare(1);
}

fn third() {
    spare(2);
}

fn fourth() {
    spare(3);
}

extern "C-unwind" fn count_call(_instance: *const Instance, _context: *mut c_void, _work: *mut c_void) {
    count();
}

extern "C-unwind" fn count_fired(_context: *mut c_void, _is_late: u8) {
    count();
}

extern "C-unwind" fn count_and_tell(_context: *mut c_void, _is_late: u8) {
    count();
    check(ntw_SetEvent(handle(6)) == 1, "it tells");
}

/// The wait is its own.
extern "C-unwind" fn count_and_unregister(_context: *mut c_void, _is_late: u8) {
    count();
    ntw_UnregisterWaitEx(handle(0), ptr::null_mut());
}

extern "C-unwind" fn count_result(_instance: *const Instance, _: *mut c_void, _wait: *mut c_void, result: u32) {
    check(result == 0, "the object has ended the wait");
    count();
}

/// A call, during which others can see that it goes on.
fn count() {
    add(4);
    add(1);
    set_ghost(4, ghost(4) - 1);
}

fn work(spares: usize, environ: *const Environ) {
    has_spares(spares);
    // SAFETY: NULL or an environment; the function takes any context.
    keep_handle(0, unsafe { ntw_CreateThreadpoolWork(Some(count_call), ptr::null_mut(), environ) });
}

fn submit() {
    ntw_SubmitThreadpoolWork(handle(0));
}

fn until_called(cancel: bool) {
    ntw_WaitForThreadpoolWorkCallbacks(handle(0), cancel.into());
}

/// What was waited for has returned, and no others come.
fn is_over() {
    check(ghost(4) == 0, "no call goes on");
    set_ghost(5, 1 + ghost(1));
}

fn nothing_came_later() {
    check(ghost(5) == 1 + ghost(1), "nothing is called after that");
}

fn called(times: u64) {
    check(ghost(1) == times, "as often as it was submitted");
}

fn works() -> Vec<Program> {
    vec![
        program(
            "pool-work",
            || work(1, ptr::null()),
            &[
                || {
                    submit();
                    until_called(false);
                    called(1);
                },
                first,
            ],
            nothing,
        ),
        program("pool-two", || work(2, ptr::null()), &[submit, submit, first, second], || called(2)),
        program(
            "pool-one-waits",
            || work(2, ptr::null()),
            &[
                || {
                    submit();
                    until_called(false);
                    check(ghost(1) > 0, "its own call has returned");
                },
                submit,
                first,
                second,
            ],
            || called(2),
        ),
        program(
            "pool-again",
            || work(3, ptr::null()),
            &[
                || {
                    for times in 1..4 {
                        submit();
                        until_called(false);
                        called(times);
                    }
                },
                first,
                second,
                third,
            ],
            nothing,
        ),
        program(
            "pool-cancelled",
            || work(2, ptr::null()),
            &[
                || {
                    submit();
                    submit();
                    until_called(true);
                    is_over();
                    ntw_CloseThreadpoolWork(handle(0));
                },
                first,
                second,
            ],
            nothing_came_later,
        ),
        program(
            "pool-closed",
            || work(2, ptr::null()),
            &[
                || {
                    submit();
                    ntw_CloseThreadpoolWork(handle(0));
                },
                first,
                second,
            ],
            || called(1),
        ),
    ]
}

/// Makes the group, and an environment that names it.
fn grouped() -> Environ {
    keep_handle(3, ntw_CreateThreadpoolCleanupGroup());
    Environ::of_group(handle(3))
}

fn close_members(cancel: bool) {
    ntw_CloseThreadpoolCleanupGroupMembers(handle(3), cancel.into(), ptr::null_mut());
    is_over();
}

fn groups() -> Vec<Program> {
    vec![
        program(
            "pool-group",
            || work(2, &grouped()),
            &[
                || {
                    submit();
                    close_members(false);
                    called(1);
                },
                first,
                second,
            ],
            nothing_came_later,
        ),
        program(
            "pool-group-cancelled",
            || work(2, &grouped()),
            &[
                || {
                    submit();
                    submit();
                    close_members(true);
                },
                first,
                second,
            ],
            nothing_came_later,
        ),
        program(
            "pool-group-wait",
            || {
                keep_handle(2, event(false, false));
                has_spares(4);
                // SAFETY: an environment; the function takes any context.
                keep_handle(0, unsafe { ntw_CreateThreadpoolWait(Some(count_result), ptr::null_mut(), &grouped()) });
            },
            &[
                || {
                    // SAFETY: no time.
                    unsafe { ntw_SetThreadpoolWait(handle(0), handle(2), ptr::null()) };
                    close_members(false);
                },
                || check(ntw_SetEvent(handle(2)) == 1, "it is set"),
                first,
                second,
                third,
                fourth,
            ],
            || {
                nothing_came_later();
                taken_by_calls(1);
            },
        ),
    ]
}

/// Each call has taken the event that was set for it; without one it is there still.
fn taken_by_calls(sets: u64) {
    let is_left = ntw_WaitForSingleObject(handle(2), 0) == 0;
    check(ghost(1) + u64::from(is_left) == sets, "the event was taken by a call, or is set");
}

/// Due when the search says so.
fn timer(spares: usize, milliseconds: u32) {
    has_spares(spares);
    let (mut made, queue, function, context) = (ptr::null_mut(), ptr::null_mut(), count_fired, ptr::null_mut());
    // SAFETY: a place for the answer; the function takes any context.
    let done = unsafe { ntw_CreateTimerQueueTimer(&mut made, queue, Some(function), context, milliseconds, 0, 0) };
    check(done == 1, "it is made");
    keep_handle(0, made);
}

fn timers() -> Vec<Program> {
    const HOUR: u32 = 3_600_000;
    vec![
        program("pool-timer-due", || timer(2, HOUR), &[first, second], || called(1)),
        program(
            "pool-timer-changed",
            || timer(2, HOUR),
            &[
                || check(ntw_ChangeTimerQueueTimer(ptr::null_mut(), handle(0), 2 * HOUR, 0) == 1, "it is changed"),
                first,
                second,
            ],
            || called(1),
        ),
        program(
            "pool-timer-deleted",
            || timer(2, HOUR),
            &[
                || {
                    check(ntw_DeleteTimerQueueTimer(ptr::null_mut(), handle(0), BLOCKS) == 1, "it is deleted");
                    is_over();
                },
                first,
                second,
            ],
            nothing_came_later,
        ),
    ]
}

type Fired = extern "C-unwind" fn(*mut c_void, u8);

fn register(number: usize, event: usize, function: Fired, flags: u32) {
    let (mut made, event, context) = (ptr::null_mut(), handle(event), ptr::null_mut());
    // SAFETY: a place for the answer; the function takes any context.
    let done = unsafe { ntw_RegisterWaitForSingleObject(&mut made, event, Some(function), context, INFINITE, flags) };
    check(done == 1, "it is registered");
    keep_handle(number, made);
}

fn unregister() {
    check(ntw_UnregisterWaitEx(handle(0), BLOCKS) == 1, "it is unregistered");
    is_over();
}

fn set() {
    check(ntw_SetEvent(handle(2)) == 1, "it is set");
}

fn begin_waits() {
    has_spares(4);
    keep_handle(2, event(false, false));
    keep_handle(6, event(false, false));
}

fn until_told() {
    check(ntw_WaitForSingleObject(handle(6), INFINITE) == 0, "the call tells");
}

fn waits() -> Vec<Program> {
    vec![
        program(
            "pool-wait",
            begin_waits,
            &[|| register(0, 2, count_fired, ONCE), set, first, second, third, fourth],
            || called(1),
        ),
        program(
            "pool-wait-unregistered",
            begin_waits,
            &[
                || {
                    register(0, 2, count_fired, ONCE);
                    unregister();
                },
                set,
                first,
                second,
                third,
                fourth,
            ],
            || {
                nothing_came_later();
                taken_by_calls(1);
            },
        ),
        program(
            "pool-wait-again",
            begin_waits,
            &[
                || {
                    register(0, 2, count_and_tell, 0);
                    for times in 1..3 {
                        set();
                        until_told();
                        called(times);
                    }
                    unregister();
                },
                first,
                second,
                third,
                fourth,
            ],
            nothing_came_later,
        ),
        program(
            "pool-wait-own",
            begin_waits,
            &[
                || {
                    register(0, 2, count_and_unregister, 0);
                    set();
                },
                first,
                second,
                third,
                fourth,
            ],
            || called(1),
        ),
        program(
            "pool-waits",
            || {
                begin_waits();
                keep_handle(3, event(false, false));
            },
            &[
                || {
                    register(0, 3, count_fired, ONCE);
                    register(7, 2, count_and_tell, ONCE);
                    set();
                    until_told();
                    called(1);
                    unregister();
                },
                first,
                second,
                third,
                fourth,
            ],
            nothing_came_later,
        ),
    ]
}
