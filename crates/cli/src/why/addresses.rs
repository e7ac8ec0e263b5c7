// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for no object: for critical sections, SRW locks, condition variables, or values.
//!
//! Under Wine all of these sleep in `NtWaitForAlertByThreadId`, a futex of the process. It is seen in what the kernel tells of the thread's
//! system call: each Windows thread has such a futex of its own, in a table of four bytes each. What is waited for stands in the program's
//! memory, which is read only on request ([`super::awaited`]). A native program's waits for critical sections are found there, too,
//! and no others (`super::native`).
//!
//! What only Wine's server knows, such as an alertable sleep, is waited for in a read of 16 bytes, its answer.

use std::collections::HashMap;

use serde::Serialize;

use super::awaited::{Awaited, Block};
use super::image::Image;
use crate::arenas::memory::{Memory, unreadable};
use crate::arenas::proc::SystemCall;
use crate::arenas::processes::Process;
use crate::arenas::scene::{Owners, Scene};
use crate::printable::printable;

/// `futex`, `FUTEX_WAIT | FUTEX_PRIVATE_FLAG`, while the word is 0. (The C library's own locks sleep with other words.)
#[cfg(target_arch = "x86_64")]
pub const FUTEX: u32 = 202;
#[cfg(not(target_arch = "x86_64"))]
pub const FUTEX: u32 = 98;
const WAIT_PRIVATE: u64 = 128;
/// `read`.
#[cfg(target_arch = "x86_64")]
const READ: u32 = 0;
#[cfg(not(target_arch = "x86_64"))]
const READ: u32 = 63;
/// Bytes in which Wine's server tells a thread that its wait has ended (`struct wake_up_reply`). No other read of Wine has this length.
const ANSWER: u64 = 16;
/// The table begins with the thread of number 4, and a page of it is for so many numbers.
const NUMBERS_OF_A_PAGE: u64 = 4096;

/// A thread that sleeps until it is alerted, or for a critical section.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AddressWait {
    pub pid: u32,
    pub thread: u32,
    pub name: String,
    /// Its number in Windows. None: unknown, as long as memory is not read and it has never waited for an object; or the program is native.
    pub windows_thread: Option<u32>,
    #[serde(flatten)]
    pub subject: Subject,
}

/// What it sleeps for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "for", rename_all = "kebab-case")]
pub enum Subject {
    /// Memory was not read, or nothing in it agrees with itself.
    Unknown,
    /// An answer of Wine's server.
    Server,
    CriticalSection {
        address: u64,
        module: Option<String>,
        /// How often the owner has it.
        recursion: u32,
        owner: Holder,
    },
    SrwLock {
        address: u64,
        module: Option<String>,
        /// How many threads have it.
        owners: u32,
        alone: bool,
    },
    /// A condition variable, or `WaitOnAddress`.
    Value { address: u64, module: Option<String>, value: u64 },
}

/// A thread that owns a critical section.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Holder {
    /// None: the program is native.
    pub windows_thread: Option<u32>,
    /// Its number in Linux. None: unknown, as it has never waited for anything.
    pub thread: Option<u32>,
    pub name: Option<String>,
}

impl AddressWait {
    /// All of them in an arena of Wine, and notes on what could not be read.
    pub fn of_wine(scene: &Scene, reads_memory: bool) -> (Vec<AddressWait>, Vec<String>) {
        let (mut waits, mut notes) = (Vec::new(), Vec::new());
        for process in scene.processes().filter(|process| !process.is_wineserver()) {
            let sleepers = sleepers(process);
            if sleepers.is_empty() {
                continue;
            }
            let memory = if reads_memory { Memory::of(process.pid) } else { None };
            if reads_memory && memory.is_none() {
                notes.push(unreadable(process.pid));
            }
            waits.extend(of_process(scene, process, &sleepers, memory.as_ref()));
        }
        waits.sort_by_key(|wait| (wait.pid, wait.thread));
        (waits, notes)
    }

    /// "4711/4713 name (thread 0024)".
    pub fn who(&self) -> String {
        let windows =
            self.windows_thread.map_or(String::new(), |thread| format!(" ({})", Owners::WindowsThreads.text(thread)));
        format!("{}/{} {}{windows}", self.pid, self.thread, printable(&self.name))
    }
}

impl Subject {
    pub fn text(&self, pid: u32) -> String {
        match self {
            Subject::Unknown => {
                "a critical section, an SRW lock, a condition variable or an address: ntux why --memory reads the program's \
                 memory, and says which, if it is a 64-bit program"
                    .to_owned()
            }
            Subject::Server => {
                "Wine's server, which alone knows the object: an alertable sleep, a completion port, a file, a pipe or a \
                 message"
                    .to_owned()
            }
            Subject::CriticalSection { address, module, recursion, owner } => {
                let often = if *recursion == 1 { String::new() } else { format!(", {recursion} times") };
                format!("critical section {}, which {} has{often}", place(*address, module.as_deref()), owner.text(pid))
            }
            Subject::SrwLock { address, module, owners, alone } => {
                let place = place(*address, module.as_deref());
                let held = match (owners, alone) {
                    (0, _) => "which nobody has at this moment".to_owned(),
                    (1, true) => "which a thread has alone; Windows does not keep which".to_owned(),
                    (count, _) => format!("which {count} share; Windows does not keep who"),
                };
                format!("SRW lock {place}, {held}")
            }
            Subject::Value { address, module, value } => {
                let place = place(*address, module.as_deref());
                format!("a wake for address {place} (a condition variable, or WaitOnAddress), where {value:#x} stands")
            }
        }
    }
}

impl Holder {
    fn text(&self, pid: u32) -> String {
        let number = self.windows_thread.map(|number| Owners::WindowsThreads.text(number));
        let Some(thread) = self.thread else {
            return format!("{} of the same process", number.as_deref().unwrap_or("a thread"));
        };
        let name = self.name.as_deref().map_or(String::new(), |name| format!(" {}", printable(name)));
        format!("{pid}/{thread}{name}{}", number.map_or(String::new(), |number| format!(" ({number})")))
    }
}

fn place(address: u64, module: Option<&str>) -> String {
    let module = module.map_or(String::new(), |module| format!(" of {}", printable(module)));
    format!("{address:#x}{module}")
}

/// A thread that sleeps until it is alerted, or until the server answers.
struct Sleeper {
    thread: u32,
    name: String,
    /// None: it waits for the server.
    futex: Option<u64>,
}

fn sleepers(process: &Process) -> Vec<Sleeper> {
    let sleeper = |thread: &crate::arenas::processes::Thread| {
        let call = SystemCall::of(process.pid, thread.number)?;
        let [futex, operation, word, ..] = call.arguments;
        let futex = match call.number {
            FUTEX if (operation, word as u32) == (WAIT_PRIVATE, 0) => Some(futex),
            READ if word == ANSWER => None,
            _ => return None,
        };
        Some(Sleeper { thread: thread.number, name: thread.name.clone(), futex })
    };
    process.threads().filter_map(sleeper).collect()
}

/// The threads of a process that sleep, with what they sleep for if its memory is read.
fn of_process(scene: &Scene, process: &Process, sleepers: &[Sleeper], memory: Option<&Memory>) -> Vec<AddressWait> {
    let blocks = memory.map(Block::all).unwrap_or_default();
    let mut known = windows_threads(scene, process.pid);
    let of_sleepers: Vec<Option<&Block>> = sleepers.iter().map(|sleeper| block_of(sleeper.futex?, &blocks)).collect();
    for (sleeper, block) in sleepers.iter().zip(&of_sleepers) {
        known.extend(block.map(|block| (sleeper.thread, block.thread)));
    }
    let holder = |owner: u32| {
        let thread = known.iter().find(|(_, windows)| **windows == owner).map(|(thread, _)| *thread);
        let name = thread.and_then(|number| process.threads().find(|thread| thread.number == number));
        Holder { windows_thread: Some(owner), thread, name: name.map(|thread| thread.name.clone()) }
    };
    let images = memory.zip(blocks.first()).map(|(memory, block)| Image::all(memory, block)).unwrap_or_default();
    let module = |memory: &Memory, address: u64| {
        let image = || Some(images.iter().find(|image| image.contains(address))?.name.clone());
        memory.module(address).or_else(image)
    };
    let subject = |sleeper: &Sleeper, block: Option<&Block>| {
        if sleeper.futex.is_none() {
            return Subject::Server;
        }
        let (Some(memory), Some(block)) = (memory, block) else { return Subject::Unknown };
        match Awaited::by(memory, block) {
            None => Subject::Unknown,
            Some(Awaited::Section { address, owner, recursion }) => {
                Subject::CriticalSection { address, module: module(memory, address), recursion, owner: holder(owner) }
            }
            Some(Awaited::SrwLock { address, owners, alone }) => {
                Subject::SrwLock { address, module: module(memory, address), owners, alone }
            }
            Some(Awaited::Value { address, value }) => {
                Subject::Value { address, module: module(memory, address), value }
            }
        }
    };
    let wait = |(sleeper, block): (&Sleeper, &Option<&Block>)| AddressWait {
        pid: process.pid,
        thread: sleeper.thread,
        name: sleeper.name.clone(),
        windows_thread: known.get(&sleeper.thread).copied(),
        subject: subject(sleeper, *block),
    };
    let mut waits: Vec<AddressWait> = sleepers.iter().zip(&of_sleepers).map(wait).collect();
    tell_shared_waits(&mut waits);
    waits
}

/// A thread that wants to share an SRW lock waits for the address of the whole lock, as others do for a value. That it is a lock is known if somebody
/// else waits to have it alone.
fn tell_shared_waits(waits: &mut [AddressWait]) {
    let is_lock = |wait: &AddressWait| matches!(wait.subject, Subject::SrwLock { .. }).then(|| wait.subject.clone());
    let locks: Vec<Subject> = waits.iter().filter_map(is_lock).collect();
    for wait in waits {
        let Subject::Value { address: meant, .. } = wait.subject else { continue };
        let is_its = |lock: &&Subject| matches!(lock, Subject::SrwLock { address, .. } if *address == meant);
        if let Some(lock) = locks.iter().find(is_its) {
            wait.subject = lock.clone();
        }
    }
}

/// The Windows threads of a process that have waited for objects, by their numbers in Linux.
fn windows_threads(scene: &Scene, pid: u32) -> HashMap<u32, u32> {
    let number = |waiter: &ntux_sync::inspect::WaiterView| {
        let person = scene.person(waiter.index);
        (person.pid == Some(pid) && waiter.owner != 0).then_some((person.thread?, waiter.owner))
    };
    scene.snapshot.waiters.iter().filter_map(number).collect()
}

/// The block of the thread whose futex this is: the futex's place in its page tells the number but for multiples of [`NUMBERS_OF_A_PAGE`].
/// None: no block has such a number, or several have.
fn block_of(futex: u64, blocks: &[Block]) -> Option<&Block> {
    let number = |futex: u64| (futex % NUMBERS_OF_A_PAGE + 4) % NUMBERS_OF_A_PAGE;
    let mut fitting = blocks.iter().filter(|block| u64::from(block.thread) % NUMBERS_OF_A_PAGE == number(futex));
    fitting.next().filter(|_| fitting.next().is_none())
}

#[cfg(test)]
#[path = "../../tests/unit/why/addresses.rs"]
mod tests;
