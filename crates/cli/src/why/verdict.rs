// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong, and for whom the threads wait that were asked about; the JSON has this shape.

use ntux_sync::inspect::Snapshot;
use serde::Serialize;

use super::addresses::AddressWait;
use super::chain::{Chain, Follower};
use super::cycle::cycles;
use super::log::Logs;
use super::names::Party;
use super::native;
use super::stack::{Stack, stacks};
use super::trouble::Trouble;
use crate::arenas::examine::Examined;
use crate::arenas::find::Target;
use crate::arenas::processes::Process;
use crate::arenas::scene::Scene;
use crate::printable::printable;
use crate::say;

/// Threads whose chains are shown if the whole process was asked for.
const CHAINS: usize = 20;

/// What is read besides the arena.
#[derive(Clone, Copy)]
pub struct Asked {
    pub memory: bool,
    pub stacks: bool,
}

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
    /// The same, in an arena of Wine with the names of the programs.
    #[serde(skip)]
    pub named: Vec<String>,
    #[serde(skip)]
    pub is_of_wine: bool,
    pub waiting: usize,
    pub findings: Vec<Trouble>,
    /// One for each thread that was asked about.
    pub chains: Vec<Chain>,
    /// Waiting threads whose chains are left out.
    pub more: usize,
    /// The threads that were asked about and wait for no object: in an arena of Wine, or for a critical section of a native program.
    pub address_waits: Vec<AddressWait>,
    /// Those of all threads above, if they were asked for.
    pub stacks: Vec<Stack>,
}

impl Verdict {
    pub fn of(examined: &[Examined], target: Option<&Target>, read: Asked) -> Verdict {
        // A log does not say which arena its lines are about.
        let in_one = |&pid: &u32| examined.iter().filter(|arena| processes(&arena.scene).contains(&pid)).count() == 1;
        let logs = |arena: &Examined| match target {
            None | Some(Target::File(_) | Target::Descriptor(..)) => Logs::default(),
            _ => Logs::of(&processes(&arena.scene).into_iter().filter(in_one).collect::<Vec<_>>()),
        };
        let arenas: Vec<ArenaVerdict> =
            examined.iter().map(|arena| ArenaVerdict::of(arena, target, &logs(arena), read)).collect();
        let stranger = match target {
            Some(&Target::Thread(pid, thread))
                if arenas.iter().all(|arena| arena.chains.is_empty() && arena.address_waits.is_empty()) =>
            {
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
    fn of(examined: &Examined, target: Option<&Target>, logs: &Logs, read: Asked) -> ArenaVerdict {
        let (case, scene) = (examined.case(), &examined.scene);
        let mut asked: Vec<u32> = scene.snapshot.waiters.iter().map(|waiter| waiter.index).collect();
        asked.retain(|&waiter| is_asked_for(&Party::of(scene, waiter), target, &scene.snapshot));
        let more = match target {
            Some(Target::Thread(..)) => 0,
            _ => asked.len().saturating_sub(CHAINS),
        };
        asked.truncate(asked.len() - more);
        let look = || address_waits(scene, read.memory);
        let (mut address_waits, notes) = look();
        notes.iter().for_each(|note| say::complain(format_args!("ntux: {note}")));
        let mut findings: Vec<Trouble> = cycles(scene, &case, &address_waits, || look().0)
            .iter()
            .map(|cycle| Trouble::of_cycle(scene, cycle))
            .collect();
        findings.extend(case.findings().into_iter().map(|finding| Trouble::of(scene, finding)));
        let mut follower = Follower::new(scene, &case, logs, &address_waits);
        let chains: Vec<Chain> = asked.into_iter().map(|waiter| follower.follow(waiter)).collect();
        address_waits.retain(|wait| is_in(wait, target));
        let parties = || {
            let named =
                findings.iter().flat_map(Trouble::threads).chain(chains.iter().map(|chain| &chain.party)).cloned();
            let others = address_waits.iter().map(|wait| Party::of_address_wait(scene, wait));
            named.chain(others).collect::<Vec<Party>>()
        };
        let stacks = if read.stacks { stacks(&parties()) } else { Vec::new() };
        ArenaVerdict {
            device: scene.file.device,
            inode: scene.file.inode,
            processes: processes(scene),
            named: named(scene),
            is_of_wine: scene.is_of_wine(),
            waiting: scene.snapshot.waiting().count(),
            findings,
            chains,
            more,
            address_waits,
            stacks,
        }
    }
}

/// The threads that wait for no object, and notes on what could not be read.
fn address_waits(scene: &Scene, reads_memory: bool) -> (Vec<AddressWait>, Vec<String>) {
    match (scene.is_of_wine(), reads_memory) {
        (true, _) => AddressWait::of_wine(scene, reads_memory),
        (false, true) => native::waits(scene),
        (false, false) => (Vec::new(), Vec::new()),
    }
}

/// The processes that take part and can be seen.
fn processes(scene: &Scene) -> Vec<u32> {
    let peers = scene.snapshot.peers.iter();
    let mut processes: Vec<u32> = peers.filter_map(|peer| Some(scene.names.process(peer.index)?.pid)).collect();
    processes.sort_unstable();
    processes
}

/// The processes that take part, as they are named.
fn named(scene: &Scene) -> Vec<String> {
    let is_of_wine = scene.is_of_wine();
    let mut processes: Vec<_> = scene.processes().collect();
    processes.sort_unstable_by_key(|process| process.pid);
    let name = |process: &Process| match is_of_wine {
        true => format!("{} {}", process.pid, printable(&process.name)),
        false => process.pid.to_string(),
    };
    processes.into_iter().map(name).collect()
}

/// The thread is one of those that were asked about.
fn is_in(wait: &AddressWait, target: Option<&Target>) -> bool {
    match target {
        None | Some(Target::File(_) | Target::Descriptor(..)) => false,
        Some(&Target::Process(pid)) => wait.pid == pid,
        Some(&Target::Thread(pid, thread)) => (wait.pid, wait.thread) == (pid, thread),
    }
}

fn is_asked_for(party: &Party, target: Option<&Target>, snapshot: &Snapshot) -> bool {
    let waits = party.waiter.and_then(|waiter| snapshot.waiter(waiter)).is_some_and(|waiter| snapshot.waits(waiter));
    match target {
        None | Some(Target::File(_) | Target::Descriptor(..)) => false,
        Some(Target::Process(pid)) => waits && party.pid == Some(*pid),
        Some(Target::Thread(pid, thread)) => (party.pid, party.thread) == (Some(*pid), Some(*thread)),
    }
}
