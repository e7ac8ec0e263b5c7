// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs over completion ports: ghost 0 is one, 1 counts the calls that ran, 2 the packets that were taken, 3 is a thread.

use std::ffi::c_void;

use super::*;

/// INVALID_HANDLE_VALUE
const NO_FILE: *mut c_void = ptr::without_provenance_mut(usize::MAX);

fn begin_port() {
    keep_handle(0, ntw_CreateIoCompletionPort(NO_FILE, ptr::null_mut(), 0, 0));
}

fn begin_port_and_thread() {
    keep_handle(3, on_behalf_of(0, || duplicate(ntw_GetCurrentThread())));
    begin_port();
}

fn post(key: usize) {
    check(posts(key), "it is posted");
}

fn posts(key: usize) -> bool {
    ntw_PostQueuedCompletionStatus(handle(0), 0, key, ptr::null_mut()) == 1
}

/// Takes a packet. Returns its key.
fn take(milliseconds: u32) -> Option<usize> {
    let mut key = 0;
    // SAFETY: a place for the key; the others are not asked for.
    let taken =
        unsafe { ntw_GetQueuedCompletionStatus(handle(0), ptr::null_mut(), &mut key, ptr::null_mut(), milliseconds) };
    if taken == 1 {
        add(2);
    }
    (taken == 1).then_some(key)
}

fn take_one() {
    check(take(INFINITE).is_some(), "a packet comes");
}

/// Takes a packet, or calls what is due.
fn take_or_call() {
    let (mut packet, mut removed) = (std::mem::MaybeUninit::<Packet>::uninit(), 0);
    // SAFETY: one place, and one for their number.
    let taken =
        unsafe { ntw_GetQueuedCompletionStatusEx(handle(0), packet.as_mut_ptr(), 1, &mut removed, INFINITE, 1) };
    check(i64::from(taken) == i64::from(removed), "it says how many it has taken");
    set_ghost(2, ghost(2) + u64::from(removed));
}

fn close_port() {
    check(ntw_CloseHandle(handle(0)) == 1, "it is closed");
}

extern "C-unwind" fn count_call(_argument: usize) {
    add(1);
}

fn is_empty_after(taken: u64) {
    check(ghost(2) == taken, "each packet is taken once");
    check(ntw_WaitForSingleObject(handle(0), 0) == TIMEOUT, "nothing is there");
    check(take(0).is_none(), "nothing is left");
}

pub fn all() -> Vec<Program> {
    vec![
        program("port-one", begin_port, &[take_one, || post(1)], || is_empty_after(1)),
        program("port-two", begin_port, &[take_one, take_one, || post(1), || post(2)], || is_empty_after(2)),
        program(
            "port-order",
            begin_port,
            &[
                || {
                    post(1);
                    post(2);
                },
                || {
                    check(take(INFINITE) == Some(1), "the first");
                    check(take(INFINITE) == Some(2), "the second");
                },
            ],
            || is_empty_after(2),
        ),
        program("port-soon", begin_port, &[|| _ = take(SOON), || post(1)], || {
            take(0);
            is_empty_after(1);
        }),
        program(
            "port-soon-and-late",
            begin_port,
            &[
                || _ = take(SOON),
                take_one,
                || {
                    post(1);
                    post(2);
                },
            ],
            || {
                take(0);
                is_empty_after(2);
            },
        ),
        program("port-closed", begin_port, &[|| check(take(INFINITE).is_none(), "nothing comes"), close_port], nothing),
        program("port-posted-closed", begin_port, &[|| _ = take(INFINITE), || _ = posts(1), close_port], || {
            check(ghost(2) <= 1, "no packet is taken twice")
        }),
        program(
            "port-waited",
            begin_port,
            &[|| check(ntw_WaitForSingleObject(handle(0), INFINITE) == 0, "it is signaled"), || post(1)],
            || {
                take(0);
                is_empty_after(1);
            },
        ),
        program(
            "port-calls",
            begin_port_and_thread,
            &[
                || {
                    while ghost(1) + ghost(2) < 2 {
                        take_or_call();
                    }
                },
                || check(ntw_QueueUserAPC(Some(count_call), handle(3), 0) == 1, "the call is queued"),
                || post(1),
            ],
            || {
                check(ghost(1) == 1, "it ran once");
                is_empty_after(1);
            },
        ),
    ]
}
