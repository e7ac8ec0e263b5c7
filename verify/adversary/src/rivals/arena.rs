// SPDX-License-Identifier: MIT OR Apache-2.0
//! ntux, with the same objects.

use std::io;

use ntux_sync::{Arena, Capacity, Deadline, New, Object, Waiter};

use super::Design;

pub const NAME: &str = "ntux";

const OWNER: u32 = 1;

struct InArena {
    arena: Arena,
    objects: [Object; 3],
    waiter: Waiter,
}

pub fn open() -> io::Result<Box<dyn Design>> {
    let arena = Arena::create(Capacity { objects: 4, waiters: 8 }).map_err(io::Error::other)?;
    let waiter = arena.waiter();
    let create = |new| arena.create_new(&waiter, new).map_err(io::Error::other);
    let objects = [
        create(New::Event { manual: false, signaled: false })?,
        create(New::Semaphore { count: 1, max: 1 })?,
        create(New::Semaphore { count: 1, max: 1 })?,
    ];
    Ok(Box::new(InArena { arena, objects, waiter }))
}

impl InArena {
    fn takes(&self, objects: &[Object]) -> bool {
        self.arena.wait_all(&self.waiter, objects, None, OWNER, Deadline::NOW).is_ok()
    }
}

impl Design for InArena {
    fn join(&mut self) {
        self.waiter = self.arena.waiter();
    }

    /// A wait that must sleep takes the waiter's place in the arena.
    fn warm_up(&self) {
        let soon = Deadline::Monotonic(ntux_platform::clock::monotonic_ns() + 1_000_000);
        let never = self.arena.event_create(&self.waiter, false, false);
        let _ = never.map(|never| self.arena.wait_any(&self.waiter, &[never], None, OWNER, soon));
    }

    fn set(&self) {
        let _ = self.arena.event_set(&self.waiter, self.objects[0]);
    }

    fn wait(&self) {
        let _ = self.arena.wait_any(&self.waiter, &self.objects[..1], None, OWNER, Deadline::Never);
    }

    fn is_signaled(&self) -> bool {
        self.arena.event_read(&self.waiter, self.objects[0]).is_ok_and(|(_, signaled)| signaled)
    }

    fn take_both(&self) -> bool {
        self.takes(&self.objects[1..])
    }

    fn take(&self, which: usize) -> bool {
        self.takes(&self.objects[1 + which..][..1])
    }
}
