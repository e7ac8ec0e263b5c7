// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of native programs that wait for a critical section of ntux's Win32 face (`libntux-win`): read from the program's memory, which
//! stays as it is.
//!
//! The lock of such a section is a word in it. A thread that waits sleeps on that word, or, if it has waited for long, on the next one; the
//! kernel tells which (a futex call). So the section lies before the word:
//!
//! | where | layout |
//! | --- | --- |
//! | a critical section | 0: what is for debuggers, 8: -1 or 0, 12: how often it is owned, 16: the thread that owns it, by its number, 24: the lock, 28: how often the lock was handed over |
//! | the lock | bit 0: somebody has it, bit 1: threads wait, bit 2: it is being handed over, further bits: how many have waited for long |
//!
//! A futex can be anything, and memory can change meanwhile. So only what agrees with itself is called a section: another thread of the
//! process owns it, the lock says that somebody has it and that threads wait, and the wait has no deadline. While the lock changes hands
//! that is not so, and nothing is said. `tests/ntux/sections.rs` ties the layout to that of the library, with real programs.

use ntux_sync::inspect::why::Fate;

use super::addresses::{AddressWait, FUTEX, Holder, Subject};
use crate::arenas::memory::{Memory, half_in, unreadable, word_in};
use crate::arenas::proc::{self, SystemCall};
use crate::arenas::processes::{Process, Thread};
use crate::arenas::scene::Scene;

/// `FUTEX_WAIT`, `FUTEX_WAIT_BITSET`, and what may be beside them.
const WAIT: u64 = 0;
const WAIT_BITSET: u64 = 9;
const PRIVATE_OR_REALTIME: u64 = 128 | 256;
/// Bytes of a section that are looked at, and places in it.
const SECTION: usize = 32;
const LOCK: u64 = 24;
const CALLS: u64 = 28;
/// Bits of the lock. Above them is the number of those who have waited for long.
const LOCKED: u32 = 1;
const WAITING: u32 = 2;
const HANDED: u32 = 4;
const ONE_STARVING: u32 = 8;
const RECURSION_MAX: u32 = 1 << 20;

/// The waits for critical sections in the programs of an arena, and notes on what could not be read.
pub fn waits(scene: &Scene) -> (Vec<AddressWait>, Vec<String>) {
    let (mut waits, mut notes) = (Vec::new(), Vec::new());
    let mut processes: Vec<&Process> = scene.processes().collect();
    processes.sort_by_key(|process| process.pid);
    processes.dedup_by_key(|process| process.pid);
    for process in processes {
        match Memory::of(process.pid) {
            Some(memory) => waits.extend(process.threads().filter_map(|thread| wait(process, thread, &memory))),
            None if proc::is_there(&format!("/proc/{}", process.pid)) => notes.push(unreadable(process.pid)),
            None => {}
        }
    }
    waits.sort_by_key(|wait| (wait.pid, wait.thread));
    (waits, notes)
}

/// The critical section for which a thread waits, if it waits for one.
fn wait(process: &Process, thread: &Thread, memory: &Memory) -> Option<AddressWait> {
    let call = || SystemCall::of(process.pid, thread.number);
    let sleep = call()?;
    let address = start_of_section(&sleep)?;
    let section = memory.bytes::<SECTION>(address).filter(|_| memory.is_own(address, SECTION as u64))?;
    let found = Section::parse(&section, address, &sleep)?;
    let owner = process.thread(found.owner).filter(|owner| owner.fate != Fate::Gone)?;
    // It slept there before and after its memory was read.
    let is_asleep = owner.number != thread.number && call() == Some(sleep);
    let holder = Holder { windows_thread: None, thread: Some(owner.number), name: Some(owner.name.clone()) };
    is_asleep.then(|| AddressWait {
        pid: process.pid,
        thread: thread.number,
        name: thread.name.clone(),
        windows_thread: None,
        subject: Subject::CriticalSection {
            address,
            module: memory.module(address),
            recursion: found.recursion,
            owner: holder,
        },
    })
}

/// Where a section begins whose lock this is, if a thread sleeps on a word without a deadline.
fn start_of_section(sleep: &SystemCall) -> Option<u64> {
    let [word, operation, _, deadline, ..] = sleep.arguments;
    let waits = [WAIT, WAIT_BITSET].contains(&(operation & !PRIVATE_OR_REALTIME));
    if sleep.number != FUTEX || !waits || deadline != 0 {
        return None;
    }
    let mut starts = [LOCK, CALLS].into_iter().filter_map(|place| word.checked_sub(place));
    starts.find(|start| start.is_multiple_of(8))
}

/// A section that somebody owns, and for which threads wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Section {
    /// By its number in its own namespace.
    owner: u32,
    recursion: u32,
}

impl Section {
    /// What lies at `address`. None: it is no section, or one that changes hands just now.
    fn parse(bytes: &[u8; SECTION], address: u64, sleep: &SystemCall) -> Option<Section> {
        let half = |place| half_in(bytes, place);
        let (count, recursion, owner) = (half(8)? as i32, half(12)?, word_in(bytes, 16)?);
        let (lock, calls, expected) = (half(LOCK as usize)?, half(CALLS as usize)?, sleep.arguments[2] as u32);
        let sleeps_as_it_says = match sleep.arguments[0] == address + LOCK {
            true => is_waited_for(expected),
            // It may be handed over to others meanwhile.
            false => lock >= ONE_STARVING && calls.wrapping_sub(expected) < 1 << 31,
        };
        let is_whole = [-1, 0].contains(&count) && (1..RECURSION_MAX).contains(&recursion);
        let is_owned = lock & HANDED == 0 && is_waited_for(lock);
        let owner = u32::try_from(owner).ok().filter(|&owner| owner != 0)?;
        (sleeps_as_it_says && is_whole && is_owned).then_some(Section { owner, recursion })
    }
}

/// A lock for which threads wait: somebody has it, or it is handed over.
fn is_waited_for(lock: u32) -> bool {
    lock & WAITING != 0 && (lock & LOCKED != 0) != (lock & HANDED != 0)
}

#[cfg(test)]
#[path = "../../tests/unit/why/native.rs"]
mod tests;
