// SPDX-License-Identifier: MIT OR Apache-2.0
//! The four operations, dispatched to the mechanism that serves the futexes.

use ntux_platform::clock::Deadline;
use ntux_platform::kernel_futex::{Entry, Scope};
use ntux_platform::waiting::yield_policy;

use crate::mechanism::of_private;
use crate::native::{self, Vector};
use crate::table::{Alone, Key, Line, Sleep, Table, Woken};
use crate::{Error, Expected, Futex, MATCH_ANY, Result, VECTOR_MAX};

/// Waits until a wake whose bitset meets `mask` reaches the futex, at most until `deadline`. Does not wait if the word
/// does not hold the expected value.
///
/// `Ok` may be spurious (a wake for a futex that was at the same address before): check the word again. Waiters are
/// served by arrival; in the kernel, by priority and then by arrival.
///
/// Errors: `Differs` (also if the deadline has passed), `TimedOut`, `Interrupted` by a signal handler (some mechanisms
/// continue to wait after one), `Invalid` for an empty mask, `Exhausted`, `Refused`.
pub fn wait(expected: Expected, mask: u32, deadline: Deadline) -> Result<()> {
    if mask == 0 {
        return Err(Error::Invalid);
    }
    match table_of(expected.futex()) {
        None => native::wait(expected, mask, deadline),
        Some(table) => {
            let line = core::iter::once(line(expected, mask));
            table.wait_any(line, &Alone, deadline).map(drop)
        }
    }
}

/// Does what [`wait`] does, but first looks at the word for a while: 12 times with a pause, and 4 times when it has
/// yielded the processor, if yields pay off here. About a microsecond, which queueing and sleeping cost several times,
/// the waker as well. For a word that usually changes soon; a loop of its own in front of [`wait`] is as good.
///
/// Errors: those of [`wait`]; `Differs` also if the word has changed meanwhile.
pub fn wait_after_spin(expected: Expected, mask: u32, deadline: Deadline) -> Result<()> {
    let changes = || {
        core::hint::spin_loop();
        !expected.holds()
    };
    let is_worth_it = mask != 0 && !deadline.passed() && expected.holds();
    let changed = is_worth_it
        && ((0..PAUSES).any(|_| changes()) || (0..YIELDS).any(|_| yield_policy::let_others_run(|| !expected.holds())));
    if changed { Err(Error::Differs) } else { wait(expected, mask, deadline) }
}

/// As the standard library of GNU's C++ compiler has it.
const PAUSES: u32 = 12;
const YIELDS: u32 = 4;

/// Wakes at most `count` threads that wait for the futex with a bitset that meets `mask`. Returns the exact number
/// (less from a kernel that does not count: [`capability`](crate::capability()) says so).
///
/// If nobody waits for a private futex, this only reads memory. Async-signal-safe.
///
/// Errors: `Invalid` for an empty mask; `Fault` for a shared futex without memory; `Refused` for bitsets with native
/// futexes of other sizes than 32.
#[inline]
pub fn wake(futex: Futex, count: u32, mask: u32) -> Result<u32> {
    if mask == 0 {
        return Err(Error::Invalid);
    }
    match table_of(futex) {
        None => native::wake(futex, count, mask),
        Some(table) => Ok(table.wake(key(futex), count, mask)),
    }
}

/// Waits until a wake reaches one of the futexes. Returns its index. Sizes and scopes may be mixed, and a futex may
/// occur several times.
///
/// One wake ends one wait. Only if the kernel sleeps on several words at once (shared futexes) can the same wait
/// consume a second, simultaneous wake of another of the futexes; then it returns the highest index.
///
/// Errors: those of [`wait`]; `Invalid` for no entries or more than [`VECTOR_MAX`]; `Refused` for shared futexes of 8
/// and 16 bits, for shared futexes if the kernel has no `futex_waitv`, for more of them than it takes (64 bits count
/// twice), and for futexes of a domain together with others.
pub fn wait_any(entries: &[Expected], deadline: Deadline) -> Result<usize> {
    wait_blocks(entries.iter().map(|&entry| (entry, MATCH_ANY)), deadline)
}

/// Does what [`wait_any`] does, with a bitset for each of the futexes. This is `FUTEX_WAIT_MULTIPLE`, which was
/// proposed before
/// `futex_waitv`, and lives on in patched kernels.
///
/// Errors: those of [`wait_any`]; `Invalid` for an empty bitset; `Refused` if the kernel serves one of several futexes
/// whose bitset is not [`MATCH_ANY`], because its vectors have no bitsets, and the wait would consume wakes meant for
/// others.
pub fn wait_multiple(blocks: &[(Expected, u32)], deadline: Deadline) -> Result<usize> {
    match blocks {
        _ if blocks.iter().any(|&(_, mask)| mask == 0) => Err(Error::Invalid),
        &[(expected, mask)] => wait(expected, mask, deadline).map(|()| 0),
        _ => wait_blocks(blocks.iter().copied(), deadline),
    }
}

/// A futex with its expected value and its bitset.
type Block<'a> = (Expected<'a>, u32);

fn wait_blocks<'a>(blocks: impl ExactSizeIterator<Item = Block<'a>> + Clone, deadline: Deadline) -> Result<usize> {
    let count = blocks.len();
    if count == 0 || count > VECTOR_MAX {
        return Err(Error::Invalid);
    }
    let tabled = blocks.clone().filter(|(expected, _)| is_tabled(expected.futex()));
    let all = match tabled.clone().count() {
        // No futex of a domain is among them.
        all if all == count => of_private(),
        _ => domain_of(blocks.clone())?,
    };
    if let Some(table) = all {
        let lines = blocks.map(|(expected, mask)| line(expected, mask));
        return entry_of(table.wait_any(lines, &Alone, deadline)?, count);
    }
    match of_private() {
        Some(table) if tabled.clone().next().is_some() => {
            let lines = tabled.map(|(expected, mask)| line(expected, mask));
            wait_mixed(table, blocks, lines, deadline)
        }
        _ => native::wait_any(blocks, deadline),
    }
}

/// Waits for entries of the table and of the kernel: the thread sleeps on the latter together with its own word.
fn wait_mixed<'a>(
    table: &Table,
    blocks: impl Iterator<Item = Block<'a>> + Clone,
    lines: impl Iterator<Item = Line<'a>> + Clone,
    deadline: Deadline,
) -> Result<usize> {
    let is_tabled = |(_, (expected, _)): &(usize, Block)| is_tabled(expected.futex());
    let mut others = Vector::default();
    others.push(OWN, Entry::NOWHERE)?;
    for (index, (expected, mask)) in blocks.clone().enumerate().filter(|block| !is_tabled(block)) {
        others.add(index, expected, mask)?;
    }
    if !Vector::is_possible() {
        return Err(Error::Refused);
    }
    if !blocks.clone().all(|(expected, _)| expected.holds()) {
        return Err(Error::Differs);
    }
    let woken = table.wait_any(lines, &Beside(others), deadline)?;
    match woken {
        Woken::InKernel(index) => Ok(index),
        Woken::InTable(index) => {
            let tabled = blocks.enumerate().filter(is_tabled).nth(index);
            tabled.map(|(index, _)| index).ok_or(Error::Interrupted)
        }
    }
}

/// Sleeps on these words, too; the first place is for the thread's own word.
struct Beside(Vector);

/// The index of the thread's own word; no entry has this index.
const OWN: usize = VECTOR_MAX;

impl Sleep for Beside {
    fn sleep(&self, own: Entry, deadline: Deadline) -> Option<Result<Woken>> {
        match self.0.with_first(own).wait(deadline) {
            Ok(OWN) => None,
            Ok(index) => Some(Ok(Woken::InKernel(index))),
            // If the own word differed, the wait has ended already, and this value is ignored.
            Err(error) => Some(Err(Error::from_errno(error))),
        }
    }
}

/// If the word of `from` holds the expected value, wakes at most `wake` of its waiters and moves at most `moved` others
/// to the end of `to`'s line. Returns the number of both together. Ignores bitsets; a moved waiter keeps its own. Works
/// between sizes, and between private and shared. Async-signal-safe.
///
/// If the mechanism cannot move a waiter, it wakes it, which every waiter must expect: see [`crate::capability()`].
///
/// Errors: `Differs`; `Exhausted` without room for the first waiter to be moved; `Fault` for a shared futex without
/// memory.
pub fn requeue(from: Expected, to: Futex, wake: u32, moved: u32) -> Result<u32> {
    match (table_of(from.futex()), table_of(to)) {
        (None, None) => native::requeue(from, to, wake, moved),
        (Some(table), Some(other)) if core::ptr::eq(table, other) => {
            table.requeue(key(from.futex()), key(to), wake, moved, || from.holds())
        }
        _ if !from.holds() => Err(Error::Differs),
        _ => crate::wake(from.futex(), wake.saturating_add(moved), MATCH_ANY),
    }
}

/// The table that serves a futex; none if the kernel does.
#[inline]
fn table_of(futex: Futex<'_>) -> Option<&Table> {
    match (futex.domain(), futex.scope()) {
        (Some((domain, _)), _) => Some(domain.table()),
        (None, Scope::Private) if is_tabled(futex) => of_private(),
        (None, _) => None,
    }
}

/// The table of the domain, if the entries are futexes of a domain.
///
/// Errors: `Refused` if some are not in the same domain, because one thread cannot wait in two tables.
fn domain_of<'a>(mut blocks: impl Iterator<Item = Block<'a>> + Clone) -> Result<Option<&'a Table>> {
    let domain = |(expected, _): Block<'a>| expected.futex().domain().map(|(domain, _)| domain);
    match blocks.clone().find_map(domain) {
        None => Ok(None),
        Some(one) if blocks.all(|block| domain(block) == Some(one)) => Ok(Some(one.table())),
        Some(_) => Err(Error::Refused),
    }
}

/// Returns whether the process's table serves it if it serves private futexes. The kernel always serves those with a
/// node.
#[inline]
fn is_tabled(futex: Futex) -> bool {
    futex.scope() == Scope::Private && !futex.has_node()
}

#[inline]
fn key(futex: Futex) -> Key {
    match futex.domain() {
        Some((_, place)) => Key::shared(place, futex.size()),
        None => Key::private(futex.address(), futex.size()),
    }
}

fn line(expected: Expected<'_>, mask: u32) -> Line<'_> {
    Line { key: key(expected.futex()), mask, expected }
}

/// Returns which of `count` entries was woken. In shared memory the number may be rubbish.
fn entry_of(woken: Woken, count: usize) -> Result<usize> {
    match woken {
        Woken::InTable(index) if index < count => Ok(index),
        Woken::InTable(_) | Woken::InKernel(_) => Err(Error::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_there_is_not_is_not_returned() {
        assert_eq!(entry_of(Woken::InTable(2), 3), Ok(2));
        assert_eq!(entry_of(Woken::InTable(3), 3), Err(Error::Interrupted));
    }
}
