// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes with limits of their own, and memory that ends: for the tests of every crate.
#![allow(dead_code, reason = "no test needs all of it")]

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use skips::skip;

#[path = "../skips/skips.rs"]
pub mod skips;

/// Runs `body` in a child process; how it ended. A panic shows, and is no success.
pub fn in_child(body: impl FnOnce() -> bool) -> i32 {
    let shown = || {
        std::panic::set_hook(Box::new(|panic| {
            let text = format!("in a child: {panic}\n");
            // SAFETY: the text is valid for its length.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        }));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false)
    };
    let mut status = 0;
    // SAFETY: the child leaves by `_exit`, or by a signal that ends it; the alarm ends it if it hangs.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::alarm(60);
            let fine = shown();
            libc::_exit(i32::from(!fine));
        }
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    status
}

/// Lowers a limit of this process, for good.
pub fn limit(resource: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: a valid limit.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// Gives up all capabilities: that to lock memory without a limit, for one.
pub fn without_privileges() {
    let header = [0x2008_0522u32, 0];
    let none = [0u32; 6];
    // SAFETY: version 3 of the interface: two words, then twice three.
    assert_eq!(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }, 0);
}

/// A field of /proc/self/smaps, for the first mapping whose line has this text.
pub fn smaps_of(mapping: &str, field: &str) -> String {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let lines = maps.split_once(mapping).expect("there is such a mapping").1;
    let line = lines.lines().find_map(|line| line.strip_prefix(field)).expect("a field of the mapping");
    line.trim().to_string()
}

/// Where the first mapping of this name lies.
pub fn range_of_mapping(name: &str) -> (usize, usize) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains(name)).expect("there is such a mapping");
    let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
    (usize::from_str_radix(start, 16).unwrap(), usize::from_str_radix(end, 16).unwrap())
}

const API: libc::c_ulong = 0xc018_aa3f;
const REGISTER: libc::c_ulong = 0xc020_aa00;
const UNREGISTER: libc::c_ulong = 0x8010_aa01;
const USER_MODE_ONLY: libc::c_int = 1;
const VERSION: u64 = 0xaa;
/// A signal, and no message.
const SIGBUS: u64 = 1 << 7;
const MISSING: u64 = 1;

/// While it exists, pages of a range of shared memory that have no memory yet get none: touching one raises SIGBUS, as
/// on a system that has run out of memory.
pub struct Exhausted {
    fd: OwnedFd,
    range: [u64; 2],
}

impl Exhausted {
    /// Fails where the kernel or a filter does not let us.
    pub fn everywhere((start, end): (usize, usize)) -> std::io::Result<Exhausted> {
        let last = || Err(std::io::Error::last_os_error());
        // SAFETY: a call without memory; the numbers are the kernel's own.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
        if fd < 0 {
            return last();
        }
        // SAFETY: made just now.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let range = [start as u64, (end - start) as u64];
        let asked = control(&fd, API, &mut [VERSION, SIGBUS, 0])
            && control(&fd, REGISTER, &mut [range[0], range[1], MISSING, 0]);
        if asked { Ok(Exhausted { fd, range }) } else { last() }
    }
}

impl Drop for Exhausted {
    fn drop(&mut self) {
        assert!(control(&self.fd, UNREGISTER, &mut self.range));
    }
}

fn control<const N: usize>(fd: &OwnedFd, request: libc::c_ulong, argument: &mut [u64; N]) -> bool {
    // SAFETY: each request has an argument of this length, which outlives the call.
    unsafe { libc::ioctl(fd.as_raw_fd(), request as _, argument.as_mut_ptr()) == 0 }
}

const LEFT_OUT: i32 = 77;

/// Ends a child that cannot try what it is for, and says why.
pub fn leave_out(error: std::io::Error) -> ! {
    println!("no memory that ends can be made: {error}");
    // SAFETY: ends this process.
    unsafe { libc::_exit(LEFT_OUT) }
}

/// Returns whether a child ended by [`leave_out`], which is counted here.
pub fn was_left_out(status: i32) -> bool {
    let left_out = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == LEFT_OUT;
    if left_out {
        skip("memory-ends", "memory that ends is made with userfaultfd, also for what the kernel itself touches");
    }
    left_out
}
