//! A preloaded library that serves `/dev/ntsync` in user space, for programs that were written for the driver.
//!
//! * [`entry`]: the C library's functions on which this library interposes, and [`next`], the real ones
//! * [`device`]: which paths mean the device, and what opening it does; [`node`]: what `stat` and its variants show
//! * [`ioctl`]: the fourteen requests with the driver's checks in the driver's order, over [`copy`], the guarded copy;
//!   [`memory`]: why a bad address is never deadly
//! * [`descriptors`]: what this process knows about its descriptors; [`instances`]: the arenas behind them;
//!   [`leaving`]: copies that other processes get
//! * `loading`: libraries that do not find this one, and so are not served
//! * [`receivers`] and [`starting`]: processes that get such copies without this library ([`strangers`]); [`wine`]: a
//!   wineserver that gets no device
//! * [`signals`]: why a handler may run at any instruction, block, and never return; [`arrival`]: the first
//!   instructions of a signal; [`actions`]: the program's handlers
//! * [`multiple`]: `FUTEX_WAIT_MULTIPLE`, which has nothing to do with the device
//! * [`threads`]: one record for each thread; [`environment`] and [`log`]: the user's settings and reports
//!
//! The path of an ioctl allocates nothing, takes no lock that another thread could have for long, and has no
//! cancellation point, because a program may call ioctl from a handler that interrupted anything.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "it stands in front of the C library, at instructions where only bare calls are safe"
)]
// The unit tests have no entry points, which would interpose on the test program's own C library.
#![cfg_attr(test, allow(dead_code))]

mod actions;
mod arrival;
mod cancellation;
mod copy;
mod descriptors;
mod device;
#[cfg(not(test))]
mod entry;
mod environment;
mod instances;
mod ioctl;
mod leaving;
#[cfg(not(target_env = "musl"))]
mod loading;
mod lock;
mod log;
mod memory;
mod multiple;
mod next;
mod node;
mod receivers;
mod receiving;
mod signals;
mod starting;
mod strangers;
mod threads;
mod traced;
mod wine;

/// The address of the calling thread's error number.
fn errno() -> *mut libc::c_int {
    // SAFETY: has no precondition; the address is valid as long as the thread lives.
    unsafe { libc::__errno_location() }
}

/// Reports a failure in the C library's way.
fn fail(error: libc::c_int) -> libc::c_int {
    // SAFETY: this thread's own error number.
    unsafe { *errno() = error };
    -1
}
