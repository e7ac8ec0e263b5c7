// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system-call filter of a victim. Whatever the memory says, a victim sleeps on and wakes only words of its own
//! arenas, and sends no signal except signal 0, which only probes. Any other such call kills the process with SIGSYS.
//!
//! Not checked: sleeping until a deadline on the wall clock, which looks like the C library waiting for a thread.

use std::io;
use std::ops::Range;

const FUTEX_WAKE: u32 = 1;
const FUTEX_WAIT_BITSET: u32 = 9;
/// How a page is given memory, with the page as both addresses.
const FUTEX_WAKE_OP_PRIVATE: u32 = 5 | 128;

/// Offsets in the kernel's description of a call: its number, and the low and high half of an argument.
const NUMBER: u32 = 0;
const fn low(argument: u32) -> u32 {
    16 + argument * 8
}
const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const ABOVE: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

type Program = Vec<libc::sock_filter>;

fn step(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// Installs the filter for this process and all its threads to come. `arenas`: where the arenas are.
pub fn install(arenas: &[Range<usize>]) -> io::Result<()> {
    let mut program = program(arenas);
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is valid as long as the call takes.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Signals first, then futexes; everything else is allowed.
fn program(arenas: &[Range<usize>]) -> Program {
    let mut program = vec![step(LOAD, NUMBER, 0, 0)];
    for (number, argument) in [(libc::SYS_kill, 1), (libc::SYS_tkill, 1), (libc::SYS_tgkill, 2)] {
        // If it is this call: its signal must be 0.
        program.push(step(EQUAL, number as u32, 0, 4));
        program.push(step(LOAD, low(argument), 0, 0));
        program.push(step(EQUAL, 0, 0, 1));
        program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
        program.push(step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0));
    }
    program.push(step(EQUAL, libc::SYS_futex as u32, 1, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    program.push(step(LOAD, low(1), 0, 0));
    program.push(step(EQUAL, FUTEX_WAKE, 3, 0));
    program.push(step(EQUAL, FUTEX_WAIT_BITSET, 2, 0));
    program.push(step(EQUAL, FUTEX_WAKE_OP_PRIVATE, 1, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    for piece in arenas.iter().flat_map(pieces) {
        program.extend(if_inside(&piece, libc::SECCOMP_RET_ALLOW));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0));
    program
}

/// The parts of a range in which all addresses have the same upper half; it is shorter than 4 GiB.
fn pieces(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let border = (range.end - 1) >> 32 << 32;
    [range.start..border.min(range.end), border.max(range.start)..range.end]
        .into_iter()
        .filter(|piece| !piece.is_empty())
}

/// Ends with `verdict` if the first argument is in the range: its halves are compared one after the other.
fn if_inside(range: &Range<usize>, verdict: u32) -> [libc::sock_filter; 6] {
    let (first, last) = (range.start, range.end - 1);
    [
        step(LOAD, high(0), 0, 0),
        step(EQUAL, (first >> 32) as u32, 0, 4),
        step(LOAD, low(0), 0, 0),
        step(AT_LEAST, first as u32, 0, 2),
        step(ABOVE, last as u32, 1, 0),
        step(RETURN, verdict, 0, 0),
    ]
}
