// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes a descriptor readable when something may be in a queue.

use ntux_platform::wake_descriptor::{Awaited, WakeDescriptor};
use ntux_sync::{Deadline, Queue, Quiet};

use crate::{Arena, Error, Result};

/// A descriptor for a queue of this process, which must be dropped before the arena is detached. For other faces, which keep queues by number.
///
/// # Errors
///
/// [`Error::Invalid`] if it is none of this process; [`Error::Os`], [`Error::Exhausted`] if the system has no more.
///
/// Any thread; not in a signal handler.
pub fn new(arena: &Arena, queue: Queue) -> Result<WakeDescriptor> {
    let descriptor = WakeDescriptor::new().map_err(refused)?;
    arm(arena, queue, &descriptor, Deadline::Never)?;
    Ok(descriptor)
}

/// Makes it unreadable until something may be in the queue, or the time has come: for who has just found nothing there.
///
/// # Errors
///
/// Those of [`new`].
///
/// Any thread; not in a signal handler.
pub fn arm(arena: &Arena, queue: Queue, descriptor: &WakeDescriptor, until: Deadline) -> Result<()> {
    let armed = match arena.with_waiter(|core, waiter| core.queue_arm(waiter, queue))? {
        Some(Quiet { bell, expected, due }) => {
            descriptor.arm(Awaited { word: bell, expected, due: due.earlier(until) })
        }
        None => descriptor.raise(),
    };
    armed.map_err(refused)
}

fn refused(error: std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(ntux_platform::error::ENOMEM) => Error::Exhausted,
        Some(number) => Error::Os(number),
        None => Error::Os(ntux_platform::error::EIO),
    }
}
