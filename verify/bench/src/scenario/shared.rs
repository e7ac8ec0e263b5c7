// SPDX-License-Identifier: MIT OR Apache-2.0
//! What it costs to share objects: to send their descriptors, to have them, and that the kernel counts those of some.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::Command;

use ntux_platform::clock::monotonic_ns;
use ntux_testkit::reopened::{Reopened, owned};

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_operation};
use crate::peer::device::Device;
use crate::peer::{Peer, Reset, descriptors_max, unsupported};
use crate::record::Group;
use crate::scenario::yardsticks::MACHINE;

const SHARED_COUNTS: [usize; 4] = [0, 100, 1_000, 5_000];
const RECEIVED_COUNTS: [usize; 4] = [10, 1_000, 10_000, 100_000];

/// The device: objects that were received; and such as have a copy that an exec would keep, whose descriptors the kernel counts.
pub(crate) fn run(bench: &mut Bench) {
    alone(bench);
    received(bench, |count| {
        let device = Device::open()?;
        let make = move || device.new_event();
        Ok((count * 2 <= descriptors_max()).then_some(make))
    });
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

/// Creating and closing one, beside nothing else: through the device, an eventfd, and the bare system calls of such a scheme.
const ALONE: &str = "create + close";

/// The device's, beside nothing else.
fn alone(bench: &mut Bench) {
    bench.time(Group::Growth, ALONE, |effort| {
        let device = Device::open()?;
        per_operation(effort, || device.new_event().map(drop))
    });
}

/// What is left of it when only the kernel works.
pub(crate) fn bare_calls(bench: &mut Bench) {
    let names = [
        format!("{ALONE}: open again, set the offset, close"),
        format!("{ALONE}: the same, and two questions for the process's number"),
        format!("{ALONE}: a copy of one description"),
    ];
    bench.peer(MACHINE).times(Group::Yardsticks, names.each_ref().map(String::as_str), |effort| {
        let file = Reopened::new()?;
        Ok([
            per_operation(effort, || file.again().map(drop))?,
            per_operation(effort, || {
                file.again().map(|made| (process_number(), drop(made), process_number())).map(drop)
            })?,
            per_operation(effort, || file.file().try_clone().map(drop))?,
        ])
    });
}

fn process_number() -> libc::c_int {
    // SAFETY: has no precondition.
    unsafe { libc::getpid() }
}

/// Eventfds in the place of objects.
pub(crate) fn eventfds(bench: &mut Bench) {
    bench.time(Group::Growth, ALONE, |effort| per_operation(effort, || new_eventfd().map(drop)));
    received(bench, |count| Ok((count * 2 <= descriptors_max()).then_some(new_eventfd)));
}

fn new_eventfd() -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers; what it returns is new.
    unsafe { owned(libc::eventfd(0, libc::EFD_CLOEXEC)) }
}

/// `maker` gives what makes an object, unless there are too few descriptors for so many and their copies.
fn received<M: Fn() -> io::Result<OwnedFd>>(bench: &mut Bench, maker: impl Fn(usize) -> io::Result<Option<M>>) {
    for count in RECEIVED_COUNTS {
        let names = [
            format!("create, send and receive each of {count} objects"),
            format!("create + close beside {count} received objects"),
            format!("start a program beside {count} received objects"),
        ];
        bench.times(Group::Growth, names.each_ref().map(String::as_str), |effort| match maker(count)? {
            Some(make) => among_received(effort, &make, count),
            None => unsupported("two descriptors each: too many"),
        });
    }
}

fn among_received(effort: Effort, make: &impl Fn() -> io::Result<OwnedFd>, count: usize) -> io::Result<[Sample; 3]> {
    let (here, there) = UnixStream::pair()?;
    let mut all = Vec::with_capacity(count);
    let begin = monotonic_ns();
    for _ in 0..count {
        let made = make()?;
        send(&here, &made)?;
        all.push((made, receive(&there)?));
    }
    let shared = Sample::exact((monotonic_ns() - begin) as f64 / count as f64, count as u64);
    let created = per_operation(effort, || make().map(drop))?;
    let started = (0..effort.rounds).map(|_| start_a_program()).collect::<io::Result<_>>()?;
    Ok([shared, created, Sample::of_rounds(started, 1)])
}

fn start_a_program() -> io::Result<f64> {
    let begin = monotonic_ns();
    let status = Command::new("/bin/true").status()?;
    let elapsed = monotonic_ns() - begin;
    if status.success() { Ok(elapsed as f64) } else { Err(io::Error::other(format!("/bin/true: {status}"))) }
}

/// Room for one descriptor: a header of 16 bytes, the number, and padding.
#[repr(C, align(8))]
struct Control([u8; 24]);

const LENGTH: usize = 20;

impl Control {
    fn new(fd: RawFd) -> Control {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&LENGTH.to_ne_bytes());
        bytes[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        bytes[12..16].copy_from_slice(&libc::SCM_RIGHTS.to_ne_bytes());
        bytes[16..LENGTH].copy_from_slice(&fd.to_ne_bytes());
        Control(bytes)
    }

    fn descriptor(&self) -> RawFd {
        RawFd::from_ne_bytes([self.0[16], self.0[17], self.0[18], self.0[19]])
    }

    /// Calls `go` with a message of one byte and this.
    fn with_message(&mut self, go: impl FnOnce(*mut libc::msghdr) -> isize) -> io::Result<()> {
        let mut byte = 0u8;
        let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: msghdr is made of integers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = self.0.len() as _;
        if go(&raw mut message) == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

fn send(socket: &UnixStream, fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: a whole message, alive during the call.
    let go = |message: *mut libc::msghdr| unsafe { libc::sendmsg(socket.as_raw_fd(), message, 0) };
    Control::new(fd.as_raw_fd()).with_message(go)
}

fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut control = Control::new(-1);
    // SAFETY: a whole message with room for one descriptor, alive during the call.
    control.with_message(|message| unsafe { libc::recvmsg(socket.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) })?;
    match control.descriptor() {
        -1 => Err(io::Error::other("a message without a descriptor")),
        // SAFETY: the kernel has just given it to us.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}
