// SPDX-License-Identifier: MIT OR Apache-2.0
//! macOS. Not yet run on a Mac; README says what has been tried.
//!
//! The differences between XNU and Linux, according to XNU's source, are described where they matter: [`sleep`],
//! [`memory`], [`liveness`]. [`calls`] makes all calls that only XNU has; [`interface`] declares them.
//!
//! In the configuration `ntux_simulated_macos`, which `verify/simulated-macos` sets, this room is built for Linux, and the
//! library `verify/xnu` provides the functions of [`interface`]. Then only the frames of signal handlers are not XNU's.

mod calls;
mod flag;
#[cfg(not(ntux_simulated_macos))]
mod frames;
#[cfg(ntux_simulated_macos)]
#[path = "simulated_frames.rs"]
mod frames;
mod interface;
mod liveness;
mod memory;
pub mod planted;
mod protection;
mod segv;
mod sleep;
mod to_self;
pub(crate) mod watching;

use crate::absent::{
    NoDescriptions, NoMarksAtDeath, NoMeetings, NoNodes, NoProcesses, NoRings, NoVectors, NoWakesAtDeath,
};
use crate::contract::System;

/// macOS, from 13 on.
pub struct MacOs;

impl System for MacOs {
    const COARSE_CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    /// Here the monotonic clock goes on while the machine sleeps.
    const BOOT_CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

    fn errno_place() -> *mut libc::c_int {
        calls::errno_place()
    }

    fn processors() -> u64 {
        // SAFETY: asks for a number.
        unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as u64
    }

    fn processor() -> Option<u32> {
        None
    }
}

impl NoDescriptions for MacOs {}
impl NoMarksAtDeath for MacOs {}
impl NoMeetings for MacOs {}
impl NoNodes for MacOs {}
impl NoProcesses for MacOs {}
impl NoRings for MacOs {}
impl NoVectors for MacOs {}
impl NoWakesAtDeath for MacOs {}
