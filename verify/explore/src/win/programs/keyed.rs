// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs over keyed events: ghost 0 is one, 1 counts those that have met a partner.

use std::ffi::c_void;

use super::*;

const KEY: *const c_void = ptr::without_provenance(8);
const OTHER: *const c_void = ptr::without_provenance(10);
/// Passes when the search says so.
const LATER: i64 = -(1 << 40);

fn begin_keyed() {
    let mut made = ptr::null_mut();
    // SAFETY: a place for the handle; no attributes.
    let created = unsafe { ntw_NtCreateKeyedEvent(&mut made, 0x3, ptr::null(), 0) };
    check(created == 0, "it is created");
    keep_handle(0, made);
}

fn met(status: u32) -> bool {
    check(status == 0 || status == TIMEOUT, "they have met, or the time is over");
    add_if(1, status == 0);
    status == 0
}

fn wait(key: *const c_void, timeout: *const i64) -> bool {
    // SAFETY: a number, or none.
    met(unsafe { ntw_NtWaitForKeyedEvent(handle(0), key, 0, timeout) })
}

fn release(key: *const c_void, timeout: *const i64) -> bool {
    // SAFETY: a number, or none.
    met(unsafe { ntw_NtReleaseKeyedEvent(handle(0), key, 0, timeout) })
}

fn wait_for_ever() {
    check(wait(KEY, ptr::null()), "somebody releases it");
}

fn release_for_ever() {
    check(release(KEY, ptr::null()), "somebody waits");
}

fn all_have_met(threads: u64) {
    check(ghost(1) == threads, "everybody has met somebody");
    let now = 0;
    check(!wait(KEY, &now) && !release(KEY, &now), "nobody is left");
}

pub fn all() -> Vec<Program> {
    vec![
        program("keyed-meet", begin_keyed, &[wait_for_ever, release_for_ever], || all_have_met(2)),
        program("keyed-soon", begin_keyed, &[|| _ = wait(KEY, &LATER), || _ = release(KEY, &LATER)], || {
            check(ghost(1) == 0 || ghost(1) == 2, "both know that they have met, or neither")
        }),
        program(
            "keyed-two",
            begin_keyed,
            &[wait_for_ever, wait_for_ever, || {
                release_for_ever();
                release_for_ever();
            }],
            || all_have_met(4),
        ),
        program(
            "keyed-others",
            begin_keyed,
            &[wait_for_ever, || check(!release(OTHER, &LATER), "nobody waits with this key"), release_for_ever],
            || all_have_met(2),
        ),
    ]
}
