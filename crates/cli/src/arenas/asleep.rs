// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asks /proc if a thread sleeps in the kernel on the word of its place in an arena.
//!
//! The arena itself says only what the threads have written. A thread that was woken and gets no processor has written nothing since; a
//! thread that runs a signal handler sleeps elsewhere, if it sleeps.

use std::fs;

use ntux_sync::inspect::View;

use super::proc::{Mapped, Stat, SystemCall};
use super::processes::Process;

/// None: the system does not tell. It tells only a process that may trace the thread.
pub fn sleeps_on_its_word(process: &Process, own: u32, view: &View, waiter: u32) -> Option<bool> {
    let thread = format!("/proc/{}/task/{}", process.pid, process.thread(own)?.number);
    if Stat::read(&format!("{thread}/stat"))?.state != 'S' {
        return Some(false);
    }
    // The place of the futex, if it is a futex call.
    let call = SystemCall::parse(&fs::read_to_string(format!("{thread}/syscall")).ok()?);
    let Some(SystemCall { arguments: [address, ..], .. }) = call else { return Some(false) };
    let maps = fs::read_to_string(format!("{thread}/maps")).ok()?;
    let place = maps.lines().find_map(|line| place_in_file(line, view.file().inode, address));
    Some(place.is_some() && place == view.word_of(waiter))
}

/// Which place of this file lies at an address, if this mapping has it.
fn place_in_file(mapping: &str, inode: u64, address: u64) -> Option<u64> {
    let mapped = Mapped::parse(mapping)?;
    let is_its = mapped.inode == inode && (mapped.start..mapped.end).contains(&address);
    if is_its { (address - mapped.start).checked_add(mapped.offset) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_on_which_a_thread_sleeps_is_found_in_the_file() {
        const MAPPING: &str = "7f0000001000-7f0000003000 rw-s 00002000 00:01 1027    /memfd:ntsync (deleted)";
        assert_eq!(place_in_file(MAPPING, 1027, 0x7f00_0000_1010), Some(0x2010));
        for (inode, address) in [(1028, 0x7f00_0000_1010), (1027, 0x7f00_0000_0fff), (1027, 0x7f00_0000_3000)] {
            assert_eq!(place_in_file(MAPPING, inode, address), None);
        }
        assert_eq!(place_in_file("7f0000001000-7f0000003000 rw-p 00000000 00:00 0", 0, 0x7f00_0000_1010), Some(0x10));
        assert_eq!(place_in_file("", 0, 0), None);
    }

    #[test]
    fn a_thread_in_no_call_has_no_arguments() {
        let call =
            SystemCall::parse("202 0x7f0000001010 0x189 0x7 0x0 0x0 0xffffffff 0x7ffe 0x7f00\n").expect("a call");
        assert_eq!((call.number, call.arguments[..3].to_vec()), (202, vec![0x7f00_0000_1010, 0x189, 7]));
        assert_eq!(call.stack, 0x7ffe);
        for call in ["running\n", "-1 0x7ffe 0x7f00\n", "0 0x1 0x2 0x3 0x4 0x5 0x6", ""] {
            assert_eq!(SystemCall::parse(call), None, "{call}");
        }
    }
}
