// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server of `FUTEX_WAIT_MULTIPLE` in a program under `ntux run`. The decision is that of the preloaded library.

use ntux_platform::interposition::peek;
use ntux_platform::kernel_futex;
use ntux_platform::without::Feature;
use serde::Serialize;

use super::facts::Facts;

/// The answer.
#[derive(Serialize)]
pub struct WaitMultiple {
    /// `futex_waitv`, or `kernel` if calls go to the kernel unchanged.
    pub by: &'static str,
    pub why: &'static str,
}

impl WaitMultiple {
    /// Runs the probes that are not among the facts.
    pub fn gather(facts: &Facts) -> WaitMultiple {
        let left_to_the_kernel = |why| WaitMultiple { by: "kernel", why };
        if facts.library.is_none() {
            return left_to_the_kernel("ntux run cannot find its library");
        }
        match why_no_futex_waitv(facts) {
            Some(why_not) => left_to_the_kernel(why_not),
            None if !peek::can_peek() => left_to_the_kernel("a filter refuses process_vm_readv"),
            None => WaitMultiple { by: "futex_waitv", why: "for programs that call the C library's syscall" },
        }
    }
}

/// Why a program's threads do not sleep by `futex_waitv`. None: they do.
pub fn why_no_futex_waitv(facts: &Facts) -> Option<&'static str> {
    let kills = facts.calls.iter().any(|call| call.name == "futex_waitv" && call.answer == "kills");
    match () {
        () if Feature::FutexWaitv.is_left_out() => Some("NTUX_WITHOUT disables futex_waitv"),
        () if kills => Some("a filter kills programs for futex_waitv, so ntux never calls it"),
        () if !kernel_futex::has_wait_any() => Some("there is no futex_waitv"),
        () => None,
    }
}
