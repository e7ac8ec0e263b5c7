// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of the preloaded library for calls that do not use the device.
//!
//! The same code runs in this process without the library and in a child with it; only the name of the peer differs.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use ntux_platform::clock::monotonic_ns;

use crate::bench::Bench;
use crate::measure::{per_iteration, per_operation};
use crate::record::Group;

pub(crate) const WITHOUT: &str = "without ntux";
pub(crate) const THROUGH: &str = "through ntux";

/// Descriptors that are open at once while their closing is timed.
const BATCH: u64 = 256;

pub(crate) fn run(bench: &mut Bench, peer: &str) {
    bench.peer(peer);
    bench.time(Group::Foreign, "ioctl of a socket", |effort| {
        let (socket, _other) = UnixStream::pair()?;
        per_operation(effort, || bytes_to_read(socket.as_raw_fd()))
    });
    bench.time(Group::Foreign, "fcntl of a socket", |effort| {
        let (socket, _other) = UnixStream::pair()?;
        per_operation(effort, || flags(socket.as_raw_fd()))
    });
    bench.time(Group::Foreign, "close of a socket's duplicate", |effort| {
        let (socket, _other) = UnixStream::pair()?;
        per_iteration(effort, |iterations| {
            let (mut elapsed, mut left) = (0, iterations);
            while left > 0 {
                let batch = left.min(BATCH);
                elapsed += close_duplicates(&socket, batch)?;
                left -= batch;
            }
            Ok(elapsed)
        })
    });
}

fn bytes_to_read(fd: RawFd) -> io::Result<()> {
    let mut count = 0i32;
    // SAFETY: the kernel writes one int into `count`.
    match unsafe { libc::ioctl(fd, libc::FIONREAD, &mut count) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn flags(fd: RawFd) -> io::Result<()> {
    // SAFETY: only asks.
    match unsafe { libc::fcntl(fd, libc::F_GETFD) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Nanoseconds that closing `count` duplicates takes, without making them.
fn close_duplicates(socket: &UnixStream, count: u64) -> io::Result<u64> {
    let duplicate = || socket.try_clone().map(|copy| OwnedFd::from(copy).into_raw_fd());
    let duplicates: Vec<RawFd> = (0..count).map(|_| duplicate()).collect::<io::Result<_>>()?;
    let begin = monotonic_ns();
    for fd in duplicates {
        // SAFETY: ours alone since `into_raw_fd`.
        if unsafe { libc::close(fd) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(monotonic_ns() - begin)
}
