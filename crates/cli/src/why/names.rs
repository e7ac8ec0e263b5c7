// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads and objects of which a verdict speaks, with the names that people know.

use ntux_sync::{Kind, Object};
use serde::Serialize;

use super::addresses::AddressWait;
use crate::arenas::handles::Win32Object;
use crate::arenas::processes::{Descriptor, Process};
use crate::arenas::scene::{Creator, Doer, Owners, Scene};
use crate::arenas::shown::WindowsObject;
use crate::printable::printable;

/// Descriptors by which an object is named.
const NAMED: usize = 3;

/// A thread.
#[derive(Clone, Serialize)]
pub struct Party {
    /// Its place. None: it has never waited.
    pub waiter: Option<u32>,
    pub pid: Option<u32>,
    pub thread: Option<u32>,
    pub name: Option<String>,
    /// In whose name it waits, or last did.
    pub owner: u32,
    #[serde(skip)]
    pub owners: Owners,
}

/// An object.
#[derive(Clone, Serialize)]
pub struct Thing {
    pub object: u64,
    pub slot: u32,
    pub kind: &'static str,
    /// None: it has none.
    pub name: Option<String>,
    pub descriptors: Vec<Descriptor>,
    /// How Windows has it. None: unknown; only the server of a patched Wine says so.
    pub windows: Option<WindowsObject>,
    /// How a native program has it behind its handles. None: unknown, or its memory was not asked for.
    pub win32: Option<Win32Object>,
    /// None: unknown.
    pub creator: Option<Creator>,
    /// It was made by Wine's server, as all are: then those for whom, as far as that is known.
    #[serde(skip)]
    pub users: Option<Vec<String>>,
}

/// A thread that is stopped.
#[derive(Clone, Serialize)]
pub struct Stopped {
    pub pid: u32,
    pub thread: u32,
    pub name: String,
}

impl Party {
    /// The thread that has a place.
    pub fn of(scene: &Scene, waiter: u32) -> Party {
        let person = scene.person(waiter);
        let owner = scene.snapshot.waiter(waiter).map_or(0, |waiter| waiter.owner);
        let owners = scene.owners();
        Party { waiter: Some(waiter), pid: person.pid, thread: person.thread, name: person.name, owner, owners }
    }

    pub fn all(scene: &Scene, waiters: &[u32]) -> Vec<Party> {
        waiters.iter().map(|&waiter| Party::of(scene, waiter)).collect()
    }

    /// The thread that owns a mutex, with a place or without.
    pub fn owner(scene: &Scene, mutex: Object, owner: u32, place: Option<u32>) -> Party {
        let owners = scene.owners();
        let taker = || match scene.doer(mutex) {
            Some(Doer { pid, thread, name, .. }) => {
                Party { waiter: None, pid, thread: Some(thread), name, owner, owners }
            }
            None => Party { waiter: None, pid: None, thread: None, name: None, owner, owners },
        };
        place.map_or_else(taker, |place| Party::of(scene, place))
    }

    /// A thread that waits for no object.
    pub fn of_address_wait(scene: &Scene, wait: &AddressWait) -> Party {
        let place = scene.snapshot.waiters.iter().map(|place| place.index).find(|&place| {
            let person = scene.person(place);
            (person.pid, person.thread) == (Some(wait.pid), Some(wait.thread))
        });
        let number = place.and_then(|place| scene.snapshot.waiter(place)).map(|place| place.owner);
        Party {
            waiter: place,
            pid: Some(wait.pid),
            thread: Some(wait.thread),
            name: Some(wait.name.clone()),
            owner: wait.windows_thread.or(number).unwrap_or(0),
            owners: scene.owners(),
        }
    }

    pub fn text(&self) -> String {
        let name = self.name.as_deref().map_or(String::new(), |name| format!(" {}", printable(name)));
        match (self.pid, self.thread) {
            (Some(pid), Some(thread)) => format!("{pid}/{thread}{name}"),
            _ => format!("place {}{name}", self.waiter.map_or("unknown".to_owned(), |place| place.to_string())),
        }
    }

    /// Its name alone, if it has waited in nobody's name.
    pub fn text_with_owner(&self) -> String {
        if self.waiter.is_none() && self.owner == 0 {
            return self.text();
        }
        format!("{} ({})", self.text(), self.owners.text(self.owner))
    }
}

impl Thing {
    pub fn of(scene: &Scene, object: Object) -> Thing {
        let kind = scene.snapshot.seen(object).and_then(|seen| seen.value.kind());
        let descriptors = scene.names.descriptors(object).to_vec();
        let creator = scene.creator(object);
        let server = creator.as_ref().filter(|creator| creator.is_wineserver());
        let users = server.map(|server| users(scene, server.pid, &descriptors));
        Thing {
            object: object.0,
            slot: object.index(),
            kind: kind.map_or("object", Kind::word),
            name: scene.snapshot.seen(object).and_then(|seen| seen.name.clone()),
            descriptors,
            windows: scene.windows_object(object),
            win32: scene.win32_object(object),
            creator,
            users,
        }
    }

    pub fn all(scene: &Scene, objects: &[Object]) -> Vec<Thing> {
        objects.iter().map(|&object| Thing::of(scene, object)).collect()
    }

    pub fn text(&self) -> String {
        let descriptors = self.descriptors.iter().take(NAMED).map(|one| format!("{}:{}", one.pid, one.fd));
        let mut names: Vec<String> = descriptors.collect();
        if self.descriptors.len() > NAMED {
            names.push("...".to_owned());
        }
        let descriptors = Some(names.join(" ")).filter(|names| !names.is_empty());
        let windows = self.windows.as_ref().map(WindowsObject::text);
        let known: Vec<String> =
            [windows, self.win32.as_ref().and_then(Win32Object::text), descriptors].into_iter().flatten().collect();
        let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join("; ")) };
        let own = self.win32.as_ref().and_then(|told| told.name.as_ref());
        let name = self.name.as_ref().or(own).map_or(String::new(), |name| format!(" {}", printable(name)));
        format!("{} #{}{name}{known}", self.kind, self.slot)
    }
}

/// The processes that have a descriptor of an object, but for the server.
fn users(scene: &Scene, server: u32, descriptors: &[Descriptor]) -> Vec<String> {
    let has_it = |process: &&Process| descriptors.iter().any(|descriptor| descriptor.pid == process.pid);
    let others = scene.processes().filter(|process| process.pid != server).filter(has_it);
    others.map(|process| format!("{} {}", process.pid, printable(&process.name))).collect()
}

impl Stopped {
    /// The stopped threads of all processes that take part, but not this one.
    pub fn all(scene: &Scene, but: Option<&Party>) -> Vec<Stopped> {
        let mut stopped = Vec::new();
        for process in scene.snapshot.peers.iter().filter_map(|peer| scene.names.process(peer.index)) {
            for thread in process.stopped() {
                if but.is_none_or(|party| (party.pid, party.thread) != (Some(process.pid), Some(thread.number))) {
                    stopped.push(Stopped { pid: process.pid, thread: thread.number, name: thread.name.clone() });
                }
            }
        }
        stopped.sort_by_key(|stopped| (stopped.pid, stopped.thread));
        stopped
    }

    pub fn text(&self) -> String {
        format!("{}/{} {}", self.pid, self.thread, printable(&self.name))
    }
}

/// Names, separated by commas.
pub fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}
