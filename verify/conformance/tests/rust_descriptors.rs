// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the Rust API with descriptors: a wait for one object polls a descriptor of it; a wait for any of several, or with an alert,
//! polls a pipe beside them, to which nobody writes.

mod rust;

use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use ntux::{Arena, Error, Object, ObjectFd, Polled, Ready, Result, Satisfied};
use ntux_conformance::case::Kind;
use ntux_conformance::face::{Deadline, Wait};
use ntux_conformance::run::{self, Instantiation};

fn main() -> ExitCode {
    run::main(&Instantiation {
        name: "Rust, descriptors",
        open: || rust::open(Some(wait)),
        without: &[
            (Kind::Device, rust::NO_DEVICE),
            (Kind::WallClock, "`poll` has no deadline: the case's own sleeps by the monotonic clock"),
        ],
    })
}

fn wait(arena: &Arena, objects: &[Object], wait: &Wait) -> Option<Result<Satisfied>> {
    match (objects, wait.alert) {
        _ if wait.all => None,
        // As one registered wait, they are more than it has room for.
        (_, Some(_)) if objects.len() == 64 => None,
        (&[object], None) => Some(through_a_descriptor(arena, object, wait)),
        _ => Some(beside_a_descriptor(arena, objects, wait)),
    }
}

fn through_a_descriptor(arena: &Arena, object: Object, wait: &Wait) -> Result<Satisfied> {
    let descriptor = ObjectFd::create(arena, object, wait.owner)?;
    loop {
        match descriptor.take() {
            Err(Error::TimedOut) if wait.deadline.passed() => return descriptor.close()?.ok_or(Error::TimedOut),
            Err(Error::TimedOut) => sleep(&descriptor, wait.deadline),
            ended => return ended,
        }
    }
}

/// Until the descriptor is readable, or the deadline has passed.
fn sleep(descriptor: &ObjectFd, deadline: Deadline) {
    let milliseconds = deadline.left().map_or(-1, |left| left.as_millis() as i32 + 1);
    let mut polled = libc::pollfd { fd: descriptor.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one place, which lives until the call returns.
    unsafe { libc::poll(&raw mut polled, 1, milliseconds) };
}

fn beside_a_descriptor(arena: &Arena, objects: &[Object], wait: &Wait) -> Result<Satisfied> {
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let mut descriptors = [Polled::new(reader.as_raw_fd(), Polled::READABLE)];
    let how = rust::how(wait).map_err(|_| Error::NoSuchObject)?;
    match arena.wait_any_or_poll(objects, &mut descriptors, how)? {
        Ready::Object(satisfied) => Ok(satisfied),
        Ready::Descriptors(_) => panic!("nobody has written to the pipe"),
    }
}
