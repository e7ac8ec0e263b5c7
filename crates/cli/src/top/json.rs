// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both lists as JSON, with every line that they have.

use serde::Serialize;

use super::sample::{Watch, Watched};
use crate::arenas::processes::Descriptor;
use crate::arenas::scene::{Person, Scene};
use crate::arenas::state::{State, Wait};

/// The version of this document.
pub const VERSION: u32 = 1;

/// Everything.
#[derive(Serialize)]
pub struct Picture {
    arenas: Vec<Arena>,
    /// Processes that could not be inspected.
    hidden: usize,
}

/// An arena.
#[derive(Serialize)]
struct Arena {
    device: u64,
    inode: u64,
    deadlocked: bool,
    objects: Vec<Item>,
    threads: Vec<Thread>,
}

/// An object.
#[derive(Serialize)]
struct Item {
    object: u64,
    slot: u32,
    #[serde(flatten)]
    state: State,
    changes_per_s: f64,
    /// How many threads wait for it.
    waiting: usize,
    waiting_on_average: f64,
    descriptors: Vec<Descriptor>,
}

/// A thread's place.
#[derive(Serialize)]
struct Thread {
    #[serde(flatten)]
    person: Person,
    /// In which part of the snapshots it waited.
    share_waiting: f64,
    asleep_s: Option<f64>,
    wait: Option<Wait>,
}

impl Picture {
    pub fn of(watch: &Watch) -> Picture {
        let arenas = watch.arenas.iter().filter_map(|arena| Some(Arena::of(arena, arena.scene.as_ref()?)));
        Picture { arenas: arenas.collect(), hidden: watch.hidden }
    }
}

impl Arena {
    fn of(arena: &Watched, scene: &Scene) -> Arena {
        let objects = scene.snapshot.objects.iter().zip(&arena.rates).map(|(object, &changes_per_s)| Item {
            object: object.object.0,
            slot: object.object.index(),
            state: State::of(&object.value),
            changes_per_s,
            waiting: object.waiting().count(),
            waiting_on_average: arena.average_queue(object.object),
            descriptors: scene.names.descriptors(object.object).to_vec(),
        });
        let waiters = scene.snapshot.waiters.iter().filter(|waiter| waiter.thread.is_some());
        let threads = waiters.map(|waiter| Thread {
            person: scene.person(waiter.index),
            share_waiting: arena.share_asleep(waiter),
            asleep_s: scene.asleep_s(waiter),
            wait: Wait::of(&waiter.wait),
        });
        Arena {
            device: scene.file.device,
            inode: scene.file.inode,
            deadlocked: arena.is_deadlocked,
            objects: objects.collect(),
            threads: threads.collect(),
        }
    }
}
