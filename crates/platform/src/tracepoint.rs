// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static tracepoints of the provider `ntux`, which perf, bpftrace, SystemTap and gdb find in the program's file.
//!
//! Each costs one no-op instruction, and those that load its arguments into registers. Systems without tracepoints
//! (macOS), and the model checker, have none.

use probe::probe;

/// A thread goes to sleep in a wait for `count` objects, of which `object` is the first.
#[inline(always)]
pub fn sleeps(object: u32, count: u32) {
    probe!(ntux, sleeps, object, count);
}

/// A wait that slept ended with `object`.
#[inline(always)]
pub fn acquires(object: u32) {
    probe!(ntux, acquires, object);
}

/// A wait that slept ended with all its objects.
#[inline(always)]
pub fn acquires_all() {
    probe!(ntux, acquires_all);
}

/// A wait that slept ended without an object.
#[inline(always)]
pub fn gives_up() {
    probe!(ntux, gives_up);
}

/// A thread woke while its wait was undecided.
#[inline(always)]
pub fn stirs() {
    probe!(ntux, stirs);
}

/// A thread changed an object for which somebody waits. Operations: 0 set, 1 reset, 2 pulse, 3 release, 4 unlock, 5
/// kill.
#[inline(always)]
pub fn signals(object: u32, operation: u32) {
    probe!(ntux, signals, object, operation);
}

/// A thread satisfied the waiting thread `thread` with `object`.
#[inline(always)]
pub fn grants(object: u32, thread: u32) {
    probe!(ntux, grants, object, thread);
}

/// A thread satisfied the waiting thread `thread` with all its objects.
#[inline(always)]
pub fn grants_all(thread: u32) {
    probe!(ntux, grants_all, thread);
}

/// A thread sent the owed wake to the waiting thread `thread`.
#[inline(always)]
pub fn wakes(thread: u32) {
    probe!(ntux, wakes, thread);
}
