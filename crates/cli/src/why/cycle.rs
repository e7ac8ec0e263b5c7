// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlocks over critical sections: threads that wait for each other, at least one of them for a critical section. The core finds those over
//! mutexes alone ([`ntux_sync::inspect::why`]).
//!
//! A thread that waits for one mutex, or for all of several objects, is held up by the owner of each mutex; a thread that waits for a
//! critical section, by its owner. A cycle of these is a deadlock: whoever waits for a critical section waits without end, however
//! often Wine wakes it to complain.

use std::collections::{BTreeSet, HashMap};
use std::thread::sleep;
use std::time::Duration;

use ntux_sync::Object;
use ntux_sync::inspect::why::{Case, Obstacle};
use ntux_sync::inspect::{Mode, WaitView};

use super::addresses::{AddressWait, Subject};
use crate::arenas::scene::Scene;

/// Longer cycles are not looked for.
const LONGEST: usize = 64;
/// Between two looks at the memory of programs.
const APART: Duration = Duration::from_millis(100);

/// A thread, by its process and its number.
pub type Thread = (u32, u32);

/// A thread of a cycle, and what holds it up: the next one has it.
#[derive(Clone)]
pub struct Link {
    pub thread: Thread,
    pub wants: Wanted,
}

#[derive(Clone)]
pub enum Wanted {
    /// The place of the thread, and the mutex.
    Mutex(u32, Object),
    Section(AddressWait),
}

/// Cycles with a critical section. `again` looks once more at those who wait for addresses, if there is one: a section changes its owner in no
/// time, and a cycle must have stood.
pub fn cycles(
    scene: &Scene,
    case: &Case<'_>,
    waits: &[AddressWait],
    again: impl FnOnce() -> Vec<AddressWait>,
) -> Vec<Vec<Link>> {
    let edges = edges(scene, case, waits);
    let mut seen = BTreeSet::new();
    let mut found: Vec<Vec<Link>> = Vec::new();
    for wait in waits.iter().filter(|wait| matches!(wait.subject, Subject::CriticalSection { .. })) {
        let Some(cycle) = cycle_from((wait.pid, wait.thread), &edges) else { continue };
        let members: BTreeSet<Thread> = cycle.iter().map(|link| link.thread).collect();
        if seen.insert(members) {
            found.push(cycle);
        }
    }
    if !found.is_empty() {
        sleep(APART);
        let again = again();
        let stands = |link: &Link| match &link.wants {
            Wanted::Mutex(..) => true,
            Wanted::Section(wait) => again.contains(wait),
        };
        found.retain(|cycle| cycle.iter().all(stands));
    }
    found
}

/// The threads that each thread is held up by.
fn edges(scene: &Scene, case: &Case<'_>, waits: &[AddressWait]) -> HashMap<Thread, Vec<(Thread, Wanted)>> {
    let mut edges: HashMap<Thread, Vec<(Thread, Wanted)>> = HashMap::new();
    for wait in waits {
        if let Subject::CriticalSection { owner, .. } = &wait.subject
            && let Some(thread) = owner.thread
        {
            let edge = ((wait.pid, thread), Wanted::Section(wait.clone()));
            edges.entry((wait.pid, wait.thread)).or_default().push(edge);
        }
    }
    for place in scene.snapshot.waiters.iter().filter(|place| case.is_asleep(place.index)) {
        let WaitView::Objects { owner, mode, objects, .. } = &place.wait else { continue };
        let needs_each = *mode == Mode::All || objects.len() == 1;
        let Some(thread) = thread_of(scene, place.index).filter(|_| needs_each) else { continue };
        for &object in objects {
            let Obstacle::Owned(of) = case.obstacle(object, *owner) else { continue };
            let to = |to| (to, Wanted::Mutex(place.index, object));
            edges.entry(thread).or_default().extend(owners(scene, case, object, of).into_iter().map(to));
        }
    }
    edges
}

/// The threads that own a mutex: those known by this number, else the one that acquired it last.
fn owners(scene: &Scene, case: &Case<'_>, mutex: Object, owner: u32) -> Vec<Thread> {
    let known: Vec<Thread> = case.places(owner).iter().filter_map(|&place| thread_of(scene, place)).collect();
    match known.is_empty() {
        true => scene.doer(mutex).and_then(|doer| Some((doer.pid?, doer.thread))).into_iter().collect(),
        false => known,
    }
}

fn thread_of(scene: &Scene, place: u32) -> Option<Thread> {
    let person = scene.person(place);
    person.pid.zip(person.thread)
}

/// A cycle that leads from a thread back to it.
fn cycle_from(start: Thread, edges: &HashMap<Thread, Vec<(Thread, Wanted)>>) -> Option<Vec<Link>> {
    let mut met = BTreeSet::from([start]);
    let mut path: Vec<(Thread, usize)> = vec![(start, 0)];
    while let Some(&(thread, next)) = path.last() {
        let further = edges.get(&thread).and_then(|edges| edges.get(next));
        let Some((to, _)) = further else {
            path.pop();
            continue;
        };
        if let Some(last) = path.last_mut() {
            last.1 += 1;
        }
        if *to == start {
            let link = |&(thread, next): &(Thread, usize)| {
                Some(Link { thread, wants: edges.get(&thread)?.get(next - 1)?.1.clone() })
            };
            return path.iter().map(link).collect();
        }
        if path.len() < LONGEST && met.insert(*to) {
            path.push((*to, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(to: u32) -> (Thread, Wanted) {
        ((1, to), Wanted::Mutex(0, Object(0)))
    }

    #[test]
    fn a_cycle_is_found_past_dead_ends() {
        let edges = HashMap::from([
            ((1, 1), vec![edge(4), edge(2)]),
            ((1, 2), vec![edge(5), edge(3)]),
            ((1, 3), vec![edge(2), edge(1)]),
            ((1, 4), vec![edge(4)]),
        ]);
        let cycle = |start| Some(cycle_from((1, start), &edges)?.iter().map(|link| link.thread.1).collect::<Vec<_>>());
        assert_eq!(cycle(1), Some(vec![1, 2, 3]));
        assert_eq!(cycle(4), Some(vec![4]));
        assert_eq!(cycle(5), None);
    }
}
