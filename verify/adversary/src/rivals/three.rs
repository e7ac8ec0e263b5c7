// SPDX-License-Identifier: MIT OR Apache-2.0
//! The designs of the test kit, with the objects of the experiments.

use std::cell::RefCell;
use std::io;

use ntux_testkit::rival::{EventFd, Poll, Reset, Server, WaitV};

use super::Design;

const OWNER: u32 = 1;

pub const WORDS: &str = "futex words";
pub const EVENTFDS: &str = "an eventfd for each object";
pub const SERVER: &str = "a server";

/// A design, and its event and two semaphores.
struct Three<P: Poll> {
    peer: P,
    objects: [P::Object; 3],
    /// What this process takes part with; none if it could not join.
    thread: RefCell<Option<P::Thread>>,
}

/// The design in which every signal calls the kernel, as fsync does.
pub fn words() -> io::Result<Box<dyn Design>> {
    three(WaitV::<false>::open()?)
}

pub fn eventfds() -> io::Result<Box<dyn Design>> {
    three(EventFd::default())
}

pub fn server() -> io::Result<Box<dyn Design>> {
    three(Server::open()?)
}

/// Does what [`server`] does, with the server's process number.
pub fn server_with_id() -> io::Result<(Box<dyn Design>, u32)> {
    let server = Server::open()?;
    let id = server.process().id();
    three(server).map(|design| (design, id))
}

fn three<P: Poll + 'static>(peer: P) -> io::Result<Box<dyn Design>> {
    let mut thread = peer.join(OWNER)?;
    let objects =
        [peer.event(&mut thread, Reset::Auto)?, peer.semaphore(&mut thread, 1, 1)?, peer.semaphore(&mut thread, 1, 1)?];
    Ok(Box::new(Three { peer, objects, thread: RefCell::new(Some(thread)) }))
}

impl<P: Poll> Three<P> {
    /// What the design answers; none if this process could not join, or is refused.
    fn ask<T>(&self, question: impl FnOnce(&P, &mut P::Thread) -> io::Result<T>) -> Option<T> {
        question(&self.peer, self.thread.borrow_mut().as_mut()?).ok()
    }
}

impl<P: Poll> Design for Three<P> {
    fn join(&mut self) {
        let joined = self.peer.after_fork().and_then(|()| self.peer.join(OWNER));
        self.thread.replace(joined.ok());
    }

    fn set(&self) {
        self.ask(|peer, thread| peer.set(thread, self.objects[0]));
    }

    fn wait(&self) {
        self.ask(|peer, thread| peer.wait(thread, self.objects[0]));
    }

    fn is_signaled(&self) -> bool {
        self.ask(|peer, thread| peer.is_signaled(thread, self.objects[0])).unwrap_or(false)
    }

    fn take_both(&self) -> bool {
        self.ask(|peer, thread| peer.try_all(thread, &self.objects[1..])).unwrap_or(false)
    }

    fn take(&self, which: usize) -> bool {
        self.ask(|peer, thread| peer.try_all(thread, &[self.objects[1 + which]])).unwrap_or(false)
    }
}
