// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that the calls of one thread use, and the changes that a call made in it.

use std::fmt::Write;
use std::ptr::null_mut;

use crate::device::{Arguments as _, WaitArgs};
use crate::face::clock_ns;
use crate::random::program::{Argument, Call, Fd, Memory, Timeout, Wait};

const PAGE: usize = 4096;
/// Which page of a [`Field`] is what; the others may not be touched.
const WRITABLE: usize = 0;
const READ_ONLY: usize = 2;
const PAGES: usize = 4;

/// What the memory holds around arguments. As a descriptor, an owner or a pointer it is nothing.
const POISON: u8 = 0xa5;

/// Far from the page's start, so that a write too low is seen too.
const USUAL: usize = 256;

/// A writable page, a page that nobody may touch, a read-only page, and another one that nobody may touch.
struct Field {
    start: *mut u8,
    /// What the two pages that can be read held before the call.
    before: [Vec<u8>; 2],
    /// Where the argument lies.
    origin: usize,
}

impl Field {
    fn new() -> Field {
        // SAFETY: asks for new memory, at an address of the system's choice.
        let start = unsafe {
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(null_mut(), PAGES * PAGE, libc::PROT_NONE, private, -1, 0)
        };
        assert_ne!(start, libc::MAP_FAILED);
        let field = Field { start: start.cast(), before: Default::default(), origin: 0 };
        field.protect(WRITABLE, libc::PROT_READ | libc::PROT_WRITE);
        field
    }

    fn protect(&self, page: usize, protection: i32) {
        // SAFETY: the page is ours and nobody holds a reference into it.
        let result = unsafe { libc::mprotect(self.start.add(page * PAGE).cast(), PAGE, protection) };
        assert_eq!(result, 0);
    }

    /// Puts `bytes` there and says where that is.
    fn put(&mut self, memory: Memory, bytes: &[u8]) -> u64 {
        self.protect(READ_ONLY, libc::PROT_READ | libc::PROT_WRITE);
        for page in [WRITABLE, READ_ONLY] {
            // SAFETY: both pages are ours and writable now.
            unsafe { self.start.add(page * PAGE).write_bytes(POISON, PAGE) };
        }
        let (offset, there) = match memory {
            Memory::Usual => (USUAL, bytes.len()),
            Memory::Odd(by) => (USUAL + by, bytes.len()),
            Memory::AtTheEnd => (PAGE - bytes.len(), bytes.len()),
            Memory::Cut(there) => (PAGE - there.min(bytes.len()), there.min(bytes.len())),
            Memory::ReadOnly => (READ_ONLY * PAGE + USUAL, bytes.len()),
            Memory::Nowhere(_) | Memory::InsideArguments(_) => (0, 0),
        };
        // SAFETY: `there` bytes from `offset` on lie in one of the two pages.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(offset), there) };
        self.protect(READ_ONLY, libc::PROT_READ);
        self.before = [WRITABLE, READ_ONLY].map(|page| self.page(page).to_vec());
        self.origin = self.start as usize + offset;
        match memory {
            Memory::Nowhere(address) => address,
            _ => self.origin as u64,
        }
    }

    fn page(&self, page: usize) -> &[u8] {
        // SAFETY: the page can be read. The call that wrote into it has returned.
        unsafe { std::slice::from_raw_parts(self.start.add(page * PAGE), PAGE) }
    }

    /// What a call changed: for each run of bytes where it starts, counted from the argument, and what is there now.
    fn changes(&self, name: &str, text: &mut String) {
        for (page, before) in [WRITABLE, READ_ONLY].into_iter().zip(&self.before) {
            let now = self.page(page);
            if now == before {
                continue;
            }
            let start = self.start as usize + page * PAGE;
            let mut at = 0;
            while let Some(skipped) = now[at..].iter().zip(&before[at..]).position(|(now, before)| now != before) {
                at += skipped;
                let length = now[at..].iter().zip(&before[at..]).take_while(|(now, before)| now != before).count();
                let _ = write!(text, " {name}{}=", (start + at) as i64 - self.origin as i64);
                now[at..at + length].iter().for_each(|byte| {
                    let _ = write!(text, "{byte:02x}");
                });
                at += length;
            }
        }
    }
}

/// The memory for the arguments of one thread's calls.
pub(crate) struct Arguments {
    argument: Field,
    array: Field,
}

/// An ioctl, ready to be made.
#[derive(Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) fd: i32,
    pub(crate) number: u64,
    pub(crate) argument: u64,
}

impl Arguments {
    pub(crate) fn new() -> Arguments {
        Arguments { argument: Field::new(), array: Field::new() }
    }

    /// Puts the arguments of a call where it wants them. `number_of` says which number a descriptor has.
    pub(crate) fn prepare(&mut self, call: &Call, number_of: impl Fn(Fd) -> i32) -> Ready {
        let argument = match &call.argument {
            Argument::Words(words) => self.argument.put(call.memory, &bytes_of(words)[..call.size()]),
            Argument::Wait(wait) => self.put_wait(call, wait, &number_of),
        };
        Ready { fd: number_of(call.fd), number: call.number, argument }
    }

    fn put_wait(&mut self, call: &Call, wait: &Wait, number_of: &impl Fn(Fd) -> i32) -> u64 {
        let fds: Vec<u32> = wait.fds.iter().map(|fd| number_of(*fd) as u32).collect();
        let mut objs = self.array.put(wait.memory, &bytes_of(&fds));
        if let Memory::InsideArguments(offset) = wait.memory {
            // They are put where they always go, so one look tells where that is.
            objs = self.argument.put(call.memory, &[0; 40]).wrapping_add(offset as u64);
        }
        let args = WaitArgs {
            timeout: wait.timeout.ns(wait.flags),
            objs,
            count: wait.count,
            index: crate::device::POISON,
            flags: wait.flags,
            owner: wait.owner,
            alert: number_of(wait.alert) as u32,
            pad: wait.pad,
        };
        self.argument.put(call.memory, &args.bytes())
    }

    /// What the last call changed.
    pub(crate) fn changes(&self) -> String {
        let mut text = String::new();
        self.argument.changes("", &mut text);
        self.array.changes("array", &mut text);
        text
    }
}

impl Timeout {
    fn ns(self, flags: u32) -> u64 {
        let clock =
            if flags & crate::device::WAIT_REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        match self {
            Timeout::Raw(ns) => ns,
            Timeout::FromNow(ms) => clock_ns(clock).wrapping_add_signed(ms * 1_000_000),
        }
    }
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
