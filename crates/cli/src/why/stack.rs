// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where threads of 64-bit Windows programs wait: their stacks, read from memory like everything here ([`crate::arenas::memory`]).
//!
//! A thread that waits is in a system call of Wine's: the call has put the registers of the Windows program into a frame on a stack of its own, where
//! the kernel shows the thread to sleep. From there the program's own codes lead from caller to caller ([`super::unwind`]).
//!
//! | where | layout of a frame |
//! | --- | --- |
//! | above the stack pointer that the kernel shows | 8: rbx, 32: rsi, 40: rdi, 80 to 104: r12 to r15, 112: rip, 120: cs, 128: flags, 136: rsp, 144: ss, 152: rbp |

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::awaited::Block;
use super::image::Image;
use super::names::Party;
use super::unwind::Registers;
use crate::arenas::memory::{Memory, word_in};
use crate::arenas::proc::SystemCall;
use crate::printable::printable;

/// Stacks, and functions of a stack.
const STACKS: usize = 40;
const LONGEST: usize = 64;
/// Bytes above the stack pointer that are searched for a frame: the stack on which Wine makes system calls.
const SEARCHED: usize = 1 << 20;
const FRAME: usize = 160;
/// What 64-bit programs have in these registers, and a flag that is always set.
const CODE_SEGMENT: u16 = 0x33;
const STACK_SEGMENT: u16 = 0x2b;
const ALWAYS_SET: u64 = 2;

/// The stack of a thread, the innermost function first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Stack {
    pub pid: u32,
    pub thread: u32,
    /// As the thread is named elsewhere.
    #[serde(skip)]
    pub who: String,
    pub frames: Vec<Frame>,
    /// Why there are none.
    pub missing: Option<&'static str>,
}

/// A function that has not returned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Frame {
    pub address: u64,
    /// The program or library. None: unknown, as of code that a program makes itself.
    pub module: Option<String>,
    /// What is exported there. None: it is not exported.
    pub function: Option<String>,
    /// From the start of the function, or of the program or library.
    pub offset: u64,
}

/// The memory of a process, with what is needed for all of its stacks.
pub struct Program {
    pid: u32,
    memory: Memory,
    blocks: Vec<Block>,
    images: Vec<Image>,
}

/// The stacks of these threads, each once.
pub fn stacks(parties: &[Party]) -> Vec<Stack> {
    let mut programs = HashMap::new();
    let mut met = BTreeSet::new();
    let threads = parties.iter().filter_map(|party| Some((party, party.pid?, party.thread?)));
    let once = threads.filter(|&(_, pid, thread)| met.insert((pid, thread)));
    let stack = |(party, pid, thread): (&Party, u32, u32)| {
        let program: &Result<Program, _> = programs.entry(pid).or_insert_with(|| Program::of(pid));
        let frames = program.as_ref().map_err(|&why| why).and_then(|program| program.stack(thread));
        let (frames, missing) = frames.map_or_else(|why| (Vec::new(), Some(why)), |frames| (frames, None));
        Stack { pid, thread, who: party.text_with_owner(), frames, missing }
    };
    once.take(STACKS).map(stack).collect()
}

impl Program {
    /// Returns why not, if there are no stacks of this process.
    pub fn of(pid: u32) -> Result<Program, &'static str> {
        let memory = Memory::of(pid).ok_or("the process may not be traced")?;
        let blocks = Block::all(&memory);
        let first = blocks.first().ok_or("it is no 64-bit Windows program; a debugger knows (gdb -p PID)")?;
        let images = Image::all(&memory, first);
        Ok(Program { pid, memory, blocks, images })
    }

    /// Returns why not, if the thread has none that can be seen.
    pub fn stack(&self, thread: u32) -> Result<Vec<Frame>, &'static str> {
        let call = SystemCall::of(self.pid, thread).ok_or("it is in no system call, or may not be traced")?;
        let (registers, end) = self.frame_above(call.stack).ok_or("no frame of Wine's system calls is on its stack")?;
        Ok(self.walk(registers, end))
    }

    /// What a system call has kept of the Windows program, and the end of the thread's stack.
    fn frame_above(&self, stack: u64) -> Option<(Registers, u64)> {
        let bytes = self.memory.what_is_there(stack, SEARCHED);
        let mut frames = bytes.windows(FRAME).step_by(8).filter_map(frame);
        frames.find_map(|registers| {
            let is_its = |block: &&Block| block.has_on_stack(registers.stack());
            let block = self.blocks.iter().find(is_its).filter(|_| self.image(registers.pc).is_some())?;
            Some((registers, block.end_of_stack()))
        })
    }

    fn image(&self, address: u64) -> Option<&Image> {
        self.images.iter().find(|image| image.contains(address))
    }

    fn walk(&self, mut registers: Registers, end: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        while frames.len() < LONGEST && registers.pc != 0 {
            let image = self.image(registers.pc);
            // A call may be the last instruction of a function: where it returns to is the next function's then.
            let inside = if frames.is_empty() { registers.pc } else { registers.pc - 1 };
            let function = image.and_then(|image| image.function(&self.memory, inside));
            let exported = image.and_then(|image| image.export(&self.memory, registers.pc, function));
            let distance = image.map_or(0, |image| registers.pc - image.base);
            let (name, offset) = exported.map_or((None, distance), |(name, offset)| (Some(name), offset));
            let module = image.map(|image| image.name.clone());
            frames.push(Frame { address: registers.pc, module, function: name, offset });
            // Code that a program makes itself has its codes elsewhere.
            let Some(image) = image else { break };
            let caller = registers.caller(&self.memory, function.map(|function| (image.base, function)));
            let is_outward = |caller: &Registers| (registers.stack() + 1..=end).contains(&caller.stack());
            let Some(caller) = caller.filter(is_outward) else { break };
            registers = caller;
        }
        frames
    }
}

/// The registers in a frame, if these bytes are one.
fn frame(bytes: &[u8]) -> Option<Registers> {
    let word = |place| word_in(bytes, place);
    let (code, flags, stack) = (word(120)? as u16, word(128)?, word(144)? as u16);
    if (code, stack, flags & ALWAYS_SET, flags >> 32) != (CODE_SEGMENT, STACK_SEGMENT, ALWAYS_SET, 0) {
        return None;
    }
    let mut integers = [0; 16];
    for (number, place) in [(3, 8), (4, 136), (5, 152), (6, 32), (7, 40), (12, 80), (13, 88), (14, 96), (15, 104)] {
        integers[number] = word(place)?;
    }
    Some(Registers { pc: word(112)?, integers })
}

impl Frame {
    pub fn text(&self) -> String {
        let module = self.module.as_deref().map(printable);
        match (module, &self.function) {
            (Some(module), Some(function)) => format!("{module}!{}+{:#x}", printable(function), self.offset),
            (Some(module), None) => format!("{module}+{:#x}", self.offset),
            (None, _) => format!("{:#x}", self.address),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/why/stack.rs"]
mod tests;
