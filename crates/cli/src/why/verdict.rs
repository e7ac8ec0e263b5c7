// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong, and for whom the threads wait that were asked about; the JSON has this shape.

use ntux_sync::inspect::Snapshot;
use serde::Serialize;

use super::chain::{Chain, Follower};
use super::log::Logs;
use super::names::Party;
use super::trouble::Trouble;
use crate::arenas::examine::Examined;
use crate::arenas::find::Target;
use crate::arenas::scene::Scene;

/// Threads whose chains are shown if the whole process was asked for.
const CHAINS: usize = 20;

/// Everything.
#[derive(Serialize)]
pub struct Verdict {
    pub arenas: Vec<ArenaVerdict>,
    /// A thread that was asked about, and has no place in any arena.
    #[serde(skip)]
    pub stranger: Option<(u32, u32)>,
}

/// What there is to say of an arena.
#[derive(Serialize)]
pub struct ArenaVerdict {
    pub device: u64,
    pub inode: u64,
    pub processes: Vec<u32>,
    pub waiting: usize,
    pub findings: Vec<Trouble>,
    /// One for each thread that was asked about.
    pub chains: Vec<Chain>,
    /// Waiting threads whose chains are left out.
    pub more: usize,
}

impl Verdict {
    pub fn of(examined: &[Examined], target: Option<&Target>) -> Verdict {
        // A log does not say which arena its lines are about.
        let in_one = |&pid: &u32| examined.iter().filter(|arena| processes(&arena.scene).contains(&pid)).count() == 1;
        let logs = |arena: &Examined| match target {
            None | Some(Target::File(_) | Target::Descriptor(..)) => Logs::default(),
            _ => Logs::of(&processes(&arena.scene).into_iter().filter(in_one).collect::<Vec<_>>()),
        };
        let arenas: Vec<ArenaVerdict> =
            examined.iter().map(|arena| ArenaVerdict::of(arena, target, &logs(arena))).collect();
        let stranger = match target {
            Some(&Target::Thread(pid, thread)) if arenas.iter().all(|arena| arena.chains.is_empty()) => {
                Some((pid, thread))
            }
            _ => None,
        };
        Verdict { arenas, stranger }
    }

    pub fn is_something_wrong(&self) -> bool {
        self.arenas.iter().flat_map(|arena| &arena.findings).any(|trouble| trouble.fault)
    }
}

impl ArenaVerdict {
    fn of(examined: &Examined, target: Option<&Target>, logs: &Logs) -> ArenaVerdict {
        let (case, scene) = (examined.case(), &examined.scene);
        let mut asked: Vec<u32> = scene.snapshot.waiters.iter().map(|waiter| waiter.index).collect();
        asked.retain(|&waiter| is_asked_for(&Party::of(scene, waiter), target, &scene.snapshot));
        let more = match target {
            Some(Target::Thread(..)) => 0,
            _ => asked.len().saturating_sub(CHAINS),
        };
        asked.truncate(asked.len() - more);
        let mut follower = Follower::new(scene, &case, logs);
        ArenaVerdict {
            device: scene.file.device,
            inode: scene.file.inode,
            processes: processes(scene),
            waiting: scene.snapshot.waiting().count(),
            findings: case.findings().into_iter().map(|finding| Trouble::of(scene, finding)).collect(),
            chains: asked.into_iter().map(|waiter| follower.follow(waiter)).collect(),
            more,
        }
    }
}

/// The processes that take part and can be seen.
fn processes(scene: &Scene) -> Vec<u32> {
    let peers = scene.snapshot.peers.iter();
    let mut processes: Vec<u32> = peers.filter_map(|peer| Some(scene.names.process(peer.index)?.pid)).collect();
    processes.sort_unstable();
    processes
}

fn is_asked_for(party: &Party, target: Option<&Target>, snapshot: &Snapshot) -> bool {
    let waits = party.waiter.and_then(|waiter| snapshot.waiter(waiter)).is_some_and(|waiter| snapshot.waits(waiter));
    match target {
        None | Some(Target::File(_) | Target::Descriptor(..)) => false,
        Some(Target::Process(pid)) => waits && party.pid == Some(*pid),
        Some(Target::Thread(pid, thread)) => (party.pid, party.thread) == (Some(*pid), Some(*thread)),
    }
}
