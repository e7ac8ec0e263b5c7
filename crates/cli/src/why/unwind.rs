// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a function of a 64-bit Windows program to the one that called it, by the codes that compilers leave in every program for that.
//!
//! A function that saves registers or makes room on the stack has an entry in its program's table (Microsoft's "x64 exception handling"): where it
//! begins and ends, and what its first instructions do, the last of them first. A function without an entry does neither.
//!
//! All of it may be rubbish: what cannot be read, or is no code, ends the walk.

use crate::arenas::memory::{Memory, half_in};

/// The number of the stack pointer among the registers.
const SP: usize = 4;
/// Parts that a function may consist of.
const PARTS: usize = 8;
const HAS_CHAIN: u8 = 4;

/// What a thread continues with: its place, and its integer registers in the order of their numbers (`rax rcx rdx rbx rsp rbp rsi rdi r8`
/// to `r15`), of which those that calls keep are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    pub pc: u64,
    pub integers: [u64; 16],
}

/// An entry of the table of functions; all are distances from the start of the program or library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    pub begin: u32,
    pub end: u32,
    info: u32,
}

impl Function {
    pub const LENGTH: u64 = 12;

    pub fn read(memory: &Memory, at: u64) -> Option<Function> {
        let bytes: [u8; Function::LENGTH as usize] = memory.bytes(at)?;
        let half = |place| half_in(&bytes, place);
        Some(Function { begin: half(0)?, end: half(4)?, info: half(8)? })
    }
}

/// What the first instructions of a function, or of a part of one, do.
struct Info {
    /// The register that points into the stack, and how far above its end.
    frame: Option<(usize, u64)>,
    slots: Vec<[u8; 2]>,
    chained: Option<Function>,
}

impl Info {
    fn read(memory: &Memory, at: u64) -> Option<Info> {
        let [flags, _, count, frame]: [u8; 4] = memory.bytes(at)?;
        if !matches!(flags & 7, 1 | 2) {
            return None;
        }
        let slot = |number: u64| memory.bytes(at.checked_add(4 + 2 * number)?);
        let slots = (0..u64::from(count)).map(slot).collect::<Option<Vec<[u8; 2]>>>()?;
        let behind = at.checked_add(4 + 2 * u64::from(count.next_multiple_of(2)))?;
        let has_chain = flags >> 3 & HAS_CHAIN != 0;
        let chained = if has_chain { Some(Function::read(memory, behind)?) } else { None };
        let frame = (frame & 15 != 0).then_some((usize::from(frame & 15), u64::from(frame >> 4) * 16));
        Some(Info { frame, slots, chained })
    }
}

/// What one code says.
enum Step {
    Push(usize),
    Allocate(u64),
    SetFrame,
    /// The register was put so far above the end of the stack.
    Save(usize, u64),
    Nothing,
}

impl Registers {
    pub fn stack(&self) -> u64 {
        self.integers[SP]
    }

    /// The registers of the caller. `code`: the start of the program or library, and its entry for the function. None: the memory says nothing.
    pub fn caller(&self, memory: &Memory, code: Option<(u64, Function)>) -> Option<Registers> {
        let mut caller = *self;
        if let Some((base, mut function)) = code {
            let mut passed = self.pc.checked_sub(base.checked_add(u64::from(function.begin))?)?;
            for _ in 0..PARTS {
                let info = Info::read(memory, base.checked_add(u64::from(function.info))?)?;
                caller.undo(memory, &info, passed)?;
                let Some(next) = info.chained else { break };
                (function, passed) = (next, u64::MAX);
            }
        }
        caller.pc = caller.pop(memory)?;
        Some(caller)
    }

    fn pop(&mut self, memory: &Memory) -> Option<u64> {
        let word = memory.word(self.stack())?;
        self.integers[SP] = self.stack().checked_add(8)?;
        Some(word)
    }

    /// Undoes what the first instructions have done, as far as they have been passed.
    fn undo(&mut self, memory: &Memory, info: &Info, passed: u64) -> Option<()> {
        let is_done = |slot: &[u8; 2]| u64::from(slot[0]) <= passed;
        let has_frame = info.slots.iter().any(|slot| slot[1] & 15 == 3 && is_done(slot));
        let end = match info.frame.filter(|_| has_frame) {
            Some((register, above)) => self.integers[register].checked_sub(above)?,
            None => self.stack(),
        };
        let mut slots = info.slots.as_slice();
        while let Some(slot) = slots.first() {
            let (step, length) = step(slots)?;
            if is_done(slot) {
                match step {
                    Step::Push(register) => self.integers[register] = self.pop(memory)?,
                    Step::Allocate(bytes) => self.integers[SP] = self.stack().checked_add(bytes)?,
                    Step::SetFrame => self.integers[SP] = end,
                    Step::Save(register, above) => self.integers[register] = memory.word(end.checked_add(above)?)?,
                    Step::Nothing => {}
                }
            }
            slots = slots.get(length..)?;
        }
        Some(())
    }
}

/// The first code of these, and how many slots it takes. (What the kernel of Windows pushes, a frame of the machine, is in no program.)
fn step(slots: &[[u8; 2]]) -> Option<(Step, usize)> {
    let number = slots.first()?[1] >> 4;
    let half = |place: usize| Some(u64::from(u16::from_le_bytes(*slots.get(place)?)));
    let whole = || Some(half(1)? | half(2)? << 16);
    let register = usize::from(number);
    Some(match (slots.first()?[1] & 15, number) {
        (0, _) => (Step::Push(register), 1),
        (1, 0) => (Step::Allocate(half(1)? * 8), 2),
        (1, 1) => (Step::Allocate(whole()?), 3),
        (2, _) => (Step::Allocate(u64::from(number) * 8 + 8), 1),
        (3, _) => (Step::SetFrame, 1),
        (4, _) => (Step::Save(register, half(1)? * 8), 2),
        (5, _) => (Step::Save(register, whole()?), 3),
        (6 | 8, _) => (Step::Nothing, 2),
        (9, _) => (Step::Nothing, 3),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/why/unwind.rs"]
mod tests;
