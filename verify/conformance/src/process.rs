// SPDX-License-Identifier: MIT OR Apache-2.0
//! Child processes of a case.
//!
//! A case runs in a process with one thread, so a plain fork gives a whole child.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use ntux_testkit::child;

use crate::blocked::{until_asleep, wait_once};
use crate::face::{Errno, Face, Outcome, Satisfied, Wait};

/// A forked child that runs a part of the case.
pub struct Child {
    process: child::Child,
    answer: File,
}

impl Child {
    /// Forks a child that runs `body` and hands its outcome back. Call it while the process has one thread.
    pub fn start(face: &dyn Face, body: impl FnOnce(&dyn Face) -> Outcome<Satisfied>) -> Child {
        let (answer, mut answer_end) = pipe();
        let process = child::Child::fork(|| {
            let outcome = body(&*face.in_child());
            answer_end.write_all(&encode(outcome)).expect("the parent holds the other end");
        });
        Child { process: process.expect("a fork"), answer }
    }

    /// Forks a child that waits, and returns once it sleeps.
    #[track_caller]
    pub fn block(face: &dyn Face, wait: Wait) -> Child {
        let (mut ready, mut ready_end) = pipe();
        let child = Child::start(face, |face| {
            wait_once(face);
            ready_end.write_all(&[0]).expect("the parent holds the other end");
            face.wait(&wait)
        });
        ready.read_exact(&mut [0]).expect("the child failed, its message stands above");
        child.still_sleeps();
        child
    }

    /// Returns once the child sleeps; fails when it ended instead.
    #[track_caller]
    pub fn still_sleeps(&self) {
        assert!(until_asleep(&self.process.task()), "the child's wait ended, it should sleep");
    }

    /// What the child's body gave. Waits for it, and for the child's end.
    #[track_caller]
    pub fn result(mut self) -> Outcome<Satisfied> {
        let mut words = [0; 12];
        self.answer.read_exact(&mut words).expect("the child failed, its message stands above");
        self.process.wait().expect("it is a child of this process");
        decode(words)
    }

    /// Kills the child where it stands, and returns when it is gone, and the face knows that if it must be told.
    pub fn kill(self, face: &dyn Face) {
        let process = self.process.id();
        self.process.kill();
        face.bury(process);
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Stops the child, and returns when it is stopped.
    pub fn stop(&self) {
        self.process.stop();
        assert_eq!(self.process.status(), None, "the child ended, it should stand still");
    }

    /// Lets a stopped child go on.
    pub fn go_on(&self) {
        self.process.signal(libc::SIGCONT);
    }
}

/// Makes a time namespace for the children that this process starts from here on: their monotonic clock shows
/// `seconds` more.
#[cfg(target_os = "linux")]
pub fn shift_clock_of_children(seconds: u32) -> std::io::Result<()> {
    // SAFETY: concerns only this process and its children.
    if unsafe { libc::unshare(libc::CLONE_NEWTIME) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    std::fs::write("/proc/self/timens_offsets", format!("monotonic {seconds} 0\n"))
}

/// Only Linux has these.
#[cfg(target_os = "macos")]
pub fn shift_clock_of_children(_seconds: u32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Why this process may not call [`shift_clock_of_children`]; tried in a child.
pub fn reason_against_shifting_clocks() -> Option<String> {
    let (mut answer, mut answer_end) = pipe();
    let child = child::Child::fork(|| {
        if let Err(error) = shift_clock_of_children(1) {
            let _ = write!(answer_end, "no time namespace: {error}");
        }
    });
    drop(answer_end);
    let mut reason = String::new();
    answer.read_to_string(&mut reason).expect("the child writes text");
    drop(child.expect("a fork"));
    (!reason.is_empty()).then_some(reason)
}

fn pipe() -> (File, File) {
    let (read, write) = std::io::pipe().expect("a pipe");
    (OwnedFd::from(read).into(), OwnedFd::from(write).into())
}

fn encode(outcome: Outcome<Satisfied>) -> [u8; 12] {
    let (error, index, abandoned) = match outcome {
        Ok(satisfied) => (0, satisfied.index, u32::from(satisfied.abandoned)),
        Err(Errno(number)) => (number as u32, 0, 0),
    };
    let mut words = [0; 12];
    for (bytes, word) in words.chunks_exact_mut(4).zip([error, index, abandoned]) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    words
}

fn decode(words: [u8; 12]) -> Outcome<Satisfied> {
    let word = |at: usize| u32::from_ne_bytes(words[at..at + 4].try_into().expect("four bytes"));
    match word(0) {
        0 => Ok(Satisfied { index: word(4), abandoned: word(8) != 0 }),
        number => Err(Errno(number as i32)),
    }
}
