// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a thread sleeps until somebody calls it.
//!
//! # Role
//! A thread that has to wait takes a seat, puts its number into a list while it holds the lock that guards the list, and sleeps. Another
//! thread takes the number out of the list, with the lock, and calls when the lock is free.
//!
//! # Picture
//! `called`: 0, or 1 after the call.
//!
//! # Transitions of `called`
//! | from | to | by |
//! | --- | --- | --- |
//! | 0 | 1 | [`Seat::call`] of who has taken the number out of a list |
//! | 1 | 0 | [`Seat::sleep`], which returns |
//!
//! # Invariants
//! * I-seat-1: a number is in one list, or on its way to one call, or neither. So there is at most one call, and it comes.
//! * I-seat-2: a thread whose deadline has passed either finds its number in the list and takes it out, or waits for the call that comes. So
//!   a seat is given back when nobody will call it.
//!
//! # Death
//! The threads of a process die together. A forked child never gets the seats on which threads of its parent sit.

use ntux::Deadline;
use ntux_platform::atomic::Word32;

use crate::pool::{Pool, Slot};
use crate::word;

/// As many as threads of a process can wait.
const SEATS: u32 = 65_535;

struct Place {
    called: Word32,
    link: Word32,
}

// SAFETY: words, for which zeros are valid.
unsafe impl Slot for Place {
    fn link(&self) -> &Word32 {
        &self.link
    }
}

static PLACES: Pool<Place, SEATS> = Pool::new();

/// The number of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat(u32);

impl Seat {
    /// One that nobody else has. The calling thread gives it back. If all are taken, it waits for one.
    pub fn take() -> Seat {
        loop {
            match PLACES.take() {
                Some((number, _)) => return Seat(number),
                None => std::thread::yield_now(),
            }
        }
    }

    /// Sleeps until the call. False if the deadline has passed before; then the call may come yet.
    pub fn sleep(self, deadline: Deadline) -> bool {
        let Some(place) = PLACES.get(self.0) else { return true };
        while place.called.load() == 0 {
            if word::wait(&place.called, 0, word::ANY, deadline) && place.called.load() == 0 {
                return false;
            }
        }
        place.called.store(0);
        true
    }

    /// Sleeps until the call, and gives it back.
    pub fn until_called(self) {
        self.sleep(Deadline::Never);
        self.give();
    }

    /// Sleeps until the call or the deadline, and gives it back. After the deadline, `leave` takes the number out of its list; if it returns
    /// false, the number was not there, and the call comes (I-seat-2). Returns true if it was called.
    pub fn until_called_or(self, deadline: Deadline, leave: impl FnOnce() -> bool) -> bool {
        let was_called = self.sleep(deadline) || !leave() && self.sleep(Deadline::Never);
        self.give();
        was_called
    }

    /// Takes the number out of a list. Returns false if it is not there.
    pub fn leave(self, list: &mut Vec<Seat>) -> bool {
        let index = list.iter().position(|&other| other == self);
        index.map(|index| list.remove(index)).is_some()
    }

    /// Wakes who sits there, or will.
    pub fn call(self) {
        if let Some(place) = PLACES.get(self.0) {
            place.called.store(1);
            word::wake(&place.called, 1, word::ANY);
        }
    }

    /// Gives it back. It is in no list, and was called, or will not be.
    pub fn give(self) {
        PLACES.give(self.0);
    }
}
