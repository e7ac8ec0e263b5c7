//! The cost of having the kernel count the descriptors of objects that several processes may have.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::bench::Bench;
use crate::measure::per_operation;
use crate::peer::device::Device;
use crate::peer::{Peer, Reset};
use crate::record::Group;

const SHARED_COUNTS: [usize; 4] = [0, 100, 1_000, 5_000];

/// Each object has a copy that an exec would keep, as if it were sent to another process.
pub(crate) fn run(bench: &mut Bench) {
    for count in SHARED_COUNTS {
        let name = format!("create + close beside {count} shared objects");
        bench.time(Group::Growth, &name, |effort| {
            let device = Device::open()?;
            let shared = (0..count).map(|_| shared_copy(&device)).collect::<io::Result<Vec<_>>>()?;
            let sample = per_operation(effort, || device.event(&mut 1, Reset::Auto).map(|_| device.close_last()));
            drop(shared);
            sample
        });
    }
}

fn shared_copy(device: &Device) -> io::Result<OwnedFd> {
    let fd = device.event(&mut 1, Reset::Auto)?;
    // SAFETY: the device keeps it open.
    let copy = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
    // SAFETY: a descriptor of ours.
    match unsafe { libc::fcntl(copy.as_raw_fd(), libc::F_SETFD, 0) } {
        0 => Ok(copy),
        _ => Err(io::Error::last_os_error()),
    }
}
