// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets the wall clock, on a machine that exists for that.

use std::time::{Duration, SystemTime};

/// Says that the machine's clock may be set.
const PERMISSION: &str = "NTUX_TEST_SET_CLOCK";

/// Why this process does not set the clock.
pub fn reason_against_setting() -> Option<&'static str> {
    let asked = std::env::var_os(PERMISSION).is_some();
    (!asked).then_some("sets the clock of the whole machine, if NTUX_TEST_SET_CLOCK is set (make test-kernel does it)")
}

/// Sets the wall clock to what `change` makes of the time that it shows.
///
/// # Panics
/// If that is not permitted.
pub fn set(change: impl FnOnce(Duration) -> Duration) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock behind 1970");
    let then = change(now);
    let time = libc::timespec { tv_sec: then.as_secs() as libc::time_t, tv_nsec: then.subsec_nanos().into() };
    // SAFETY: reads a valid time.
    let set = unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &time) };
    assert_eq!(set, 0, "clock_settime: {}", std::io::Error::last_os_error());
}
