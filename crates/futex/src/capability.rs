// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which operations are exact on this machine, which are approximate, and which are refused.

use ntux_platform::kernel_futex::{self, Scope};

use crate::native::can_move;
use crate::{Futex, Mechanism, Size, VECTOR_MAX};

/// An operation on futexes of some kinds.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Wait and wake.
    Wait(Size, Scope),
    /// Wait and wake with bitsets.
    Bitset(Size, Scope),
    /// Wait for one of several.
    WaitAny(&'a [(Size, Scope)]),
    /// Wait and wake with a memory node.
    Numa(Scope),
    /// Move waiters from the first to the second.
    Requeue((Size, Scope), (Size, Scope)),
}

/// How well a mechanism performs an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// As the model says (`tests/model`).
    Exact,
    /// Safe, but not exact, in this way.
    Approximate(&'static str),
    /// Refused ([`crate::Error::Refused`]), for this reason.
    Refused(&'static str),
}

use Exactness::{Approximate, Exact, Refused};

const NO_WAITV: Exactness = Refused("needs futex_waitv, which this kernel or a filter refuses");

/// Returns how well this process performs an operation on this machine.
pub fn capability(operation: Operation) -> Exactness {
    match operation {
        Operation::Wait(size, scope) => wait(size, scope),
        Operation::Bitset(size, scope) => match Mechanism::of(scope) {
            Mechanism::Native if size != Size::Bits32 => Refused("the kernel's bitset is used up for the size"),
            Mechanism::Native if !kernel_futex::is_exact() => NO_MASKS,
            _ => wait(size, scope),
        },
        Operation::Numa(_) if kernel_futex::numa::is_known() => Exact,
        Operation::Numa(_) => Refused("needs the kernel's futexes with a node (Linux 6.16), or a filter refuses them"),
        Operation::WaitAny(kinds) => wait_any(kinds),
        Operation::Requeue(from, to) => requeue(from, to),
    }
}

const NO_NUMBERS: Exactness =
    Approximate("this kernel does not count whom it wakes: a wake answers 0 if nobody slept, else 1 or more");
const NO_MASKS: Exactness = Approximate(
    "this kernel wakes everybody on the 32-bit word, with whatever bitset and size, and says only whether there was somebody",
);

fn wait(size: Size, scope: Scope) -> Exactness {
    match (Mechanism::of(scope), size) {
        (Mechanism::Native, Size::Bits32) if !kernel_futex::is_exact() => NO_NUMBERS,
        (Mechanism::Native, Size::Bits64) if kernel_futex::has_long_words() => NO_NUMBERS,
        (Mechanism::Native, Size::Bits8 | Size::Bits16) if !kernel_futex::is_exact() => NO_MASKS,
        (Mechanism::Table, _) | (Mechanism::Native, Size::Bits8 | Size::Bits16 | Size::Bits32) => Exact,
        (Mechanism::Native, Size::Bits64) if kernel_futex::has_wait_any() => {
            Approximate("a wake that meets a wait before it sleeps is passed on: one more waiter may be woken")
        }
        (Mechanism::Native, Size::Bits64) => NO_WAITV,
    }
}

fn wait_any(kinds: &[(Size, Scope)]) -> Exactness {
    let native = || kinds.iter().filter(|(_, scope)| Mechanism::of(*scope) == Mechanism::Native);
    let own_word = usize::from(native().count() < kinds.len());
    let entries = native().map(|&(size, _)| if size == Size::Bits64 { 2 } else { 1 }).sum::<usize>();
    match native().next() {
        None => Exact,
        Some(_) if native().any(|&(size, _)| size < Size::Bits32) => {
            Refused("the kernel's vectors have no bitsets, so the wait would take the wakes of neighbours")
        }
        Some(_) if !kernel_futex::has_wait_any() => NO_WAITV,
        Some(_) if entries + own_word > VECTOR_MAX => Refused("more words than the kernel's vectors have"),
        Some(_) => Approximate("wakes of several entries in one moment are used up by one wait, as in the kernel"),
    }
}

fn requeue(from: (Size, Scope), to: (Size, Scope)) -> Exactness {
    /// Any address will do.
    const ADDRESS: usize = 64;
    // SAFETY: nobody reads the word or waits for it.
    let futex = |(size, scope): (Size, Scope)| unsafe { Futex::at(ADDRESS, size, scope) };
    let (Ok(one), Ok(other)) = (futex(from), futex(to)) else { return Refused("no such futex") };
    match (Mechanism::of(from.1), Mechanism::of(to.1)) {
        (Mechanism::Table, Mechanism::Table) => Exact,
        (Mechanism::Native, Mechanism::Native) if can_move(one, other) => match from.0 {
            Size::Bits64 => Approximate("one half is compared just before the waiters are moved; the kernel's order"),
            _ => {
                Approximate("who is moved keeps its age, and its place, if the kernel's hash of both words is the same")
            }
        },
        _ => Approximate("those who would be moved are woken instead"),
    }
}
