// SPDX-License-Identifier: MIT OR Apache-2.0
//! An arena for a child process that executes another program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use std::os::fd::AsFd;

use ntux_platform::memory;

use crate::{Arena, Error, Result};

/// Hands an arena to the program that a command starts.
///
/// ```no_run
/// use std::process::Command;
///
/// use ntux::{Arena, Capacity, Event, HandOver, Reset};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let arena = Arena::create(Capacity::default())?;
/// let done = Event::create(&arena, Reset::Auto, false)?;
/// // The child: let arena = Arena::handed_over(&argument_1)?; let done = Event::from_object(&arena, argument_2.parse()?)?;
/// Command::new("worker").arena(&arena).arg(done.object().to_string()).spawn()?;
/// # Ok(())
/// # }
/// ```
pub trait HandOver {
    /// The next argument of the command says where the child finds the arena ([`Arena::handed_over`]). The arena stays attached in this
    /// process at least until the command is dropped. It must not be private ([`Arena::create_private`]): the child gets no arena then.
    fn arena(&mut self, arena: &Arena) -> &mut Self;
}

impl HandOver for Command {
    fn arena(&mut self, arena: &Arena) -> &mut Command {
        let arena = arena.clone();
        let number = arena.core().fd().map_or(-1, |fd| fd.as_raw_fd());
        let keep = move || match arena.core().fd() {
            Some(fd) => memory::keep_across_exec(fd),
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        // SAFETY: between fork and exec it makes one system call and allocates nothing.
        unsafe { self.arg(number.to_string()).pre_exec(keep) }
    }
}

impl Arena {
    /// Attaches the arena that the parent has handed to this program by [`HandOver::arena`]. `place` is the argument that this has
    /// added. Call it once: the descriptor goes.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the text is no number of a descriptor; those of [`Arena::attach`].
    pub fn handed_over(place: &str) -> Result<Arena> {
        let number: RawFd = place.parse().map_err(|_| Error::Invalid)?;
        if number < 0 {
            return Err(Error::Invalid);
        }
        // SAFETY: the parent left it open for this call, says the caller; if it is an arena's, nobody else here knows of it, and only then
        // it is closed.
        let handed = std::mem::ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        let arena = Arena::attach(handed.as_fd())?;
        drop(std::mem::ManuallyDrop::into_inner(handed));
        Ok(arena)
    }
}
