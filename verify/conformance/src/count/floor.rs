// SPDX-License-Identifier: MIT OR Apache-2.0
//! The floor: the system calls alone that an operation of ntux makes, in the simplest program that makes them.
//!
//! * A hand-off: one word in memory that processes share, and the kernel's futex call. No user-space design can sleep for less.
//! * A descriptor that says in every process which object it is: a file that is opened again, with an offset of its own.

use std::cell::Cell;
use std::io;

use ntux_testkit::reopened::Reopened;
use ntux_testkit::rival::{Futex, Peer, Reset};

use super::hand_off::{HandOff, SET_ONE, THERE_AND_BACK, count, going_back, signaling, take_turns};
use super::meter::median_of;
use super::report::Counts;
use super::uncontended::{CLOSE_EVENT, CREATE_EVENT};

/// Counts them all.
pub(super) fn counts() -> Result<Counts, String> {
    let [create, close] = descriptor().map_err(|error| format!("a file in memory: {error}"))?;
    take_turns()?;
    let bare = BareFutex::new().map_err(|error| format!("a word in shared memory: {error}"))?;
    let [signal, until_back, there_and_back] = count(&bare);
    Ok(vec![
        (CREATE_EVENT.to_string(), create),
        (CLOSE_EVENT.to_string(), close),
        (signaling(SET_ONE), signal),
        (going_back(SET_ONE), until_back),
        (THERE_AND_BACK.to_string(), there_and_back),
    ])
}

/// Two events, each a word.
struct BareFutex {
    words: Futex,
    ready: <Futex as Peer>::Object,
    event: <Futex as Peer>::Object,
}

impl BareFutex {
    fn new() -> io::Result<BareFutex> {
        let words = Futex::open()?;
        let mut thread = words.join(1)?;
        let [ready, event] = [words.event(&mut thread, Reset::Auto)?, words.event(&mut thread, Reset::Auto)?];
        Ok(BareFutex { words, ready, event })
    }
}

const NEVER_FAILS: &str = "it waits for one object";

impl HandOff for BareFutex {
    #[inline(always)]
    fn announce(&self) {
        self.words.set(&mut 2, self.ready).expect(NEVER_FAILS);
    }

    #[inline(always)]
    fn sleep(&self) {
        self.words.wait(&mut 2, self.event).expect(NEVER_FAILS);
    }

    #[inline(always)]
    fn signal(&self) {
        self.words.set(&mut 1, self.event).expect(NEVER_FAILS);
    }

    #[inline(always)]
    fn until_announced(&self) {
        self.words.wait(&mut 1, self.ready).expect(NEVER_FAILS);
    }
}

/// Opens a file in memory again, and closes that.
fn descriptor() -> io::Result<[u64; 2]> {
    let file = Reopened::new()?;
    let open = || Some(file.again().expect("it is open"));
    let opened = Cell::new(None);
    let close = || drop(opened.take());
    let create = median_of(close, || opened.set(open()));
    Ok([create, median_of(|| opened.set(open()), close)])
}
