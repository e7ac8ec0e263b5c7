// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a filter (seccomp) does to a system call: for the tests of every crate.
#![cfg(target_os = "linux")]
#![allow(dead_code, reason = "no test needs all of it")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a filter does to one call. All others are made, so rules add up.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    call: libc::c_long,
    /// Only with this second argument; its low half.
    argument: Option<u32>,
    action: u32,
}

impl Rule {
    pub const fn new(call: libc::c_long, action: u32) -> Rule {
        Rule { call, argument: None, action }
    }

    pub const fn errno(call: libc::c_long, errno: i32) -> Rule {
        Rule::new(call, libc::SECCOMP_RET_ERRNO | errno as u32)
    }

    pub const fn kill(call: libc::c_long) -> Rule {
        Rule::new(call, libc::SECCOMP_RET_KILL_PROCESS)
    }

    pub const fn with_argument(self, argument: i32) -> Rule {
        Rule { argument: Some(argument as u32), ..self }
    }

    /// From here on it holds for the calling thread, and for what that makes. Takes no memory: between fork and exec it
    /// may be called.
    pub fn install(self) -> io::Result<()> {
        const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        /// Where `struct seccomp_data` has the call, and the lower half of its second argument.
        const CALL: u32 = 0;
        const SECOND: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };
        let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
        // Without an argument to look for it compares the call a second time.
        let (place, expected) = self.argument.map_or((CALL, self.call as u32), |argument| (SECOND, argument));
        let program = [
            step(LOAD, 0, CALL),
            step(JUMP_IF_EQUAL, 3, self.call as u32),
            step(LOAD, 0, place),
            step(JUMP_IF_EQUAL, 1, expected),
            step(RETURN, 0, self.action),
            step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        // SAFETY: plain numbers, and a program that outlives the call, which copies it. (The kernel takes a filter from who
        // cannot gain rights any more.)
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) == 0
        };
        if installed { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The program runs under these rules.
pub fn under(command: &mut Command, rules: impl IntoIterator<Item = Rule>) -> &mut Command {
    let rules: Vec<Rule> = rules.into_iter().collect();
    // SAFETY: between fork and exec the closure makes system calls only; its memory was allocated before.
    unsafe { command.pre_exec(move || rules.iter().try_for_each(|rule| rule.install())) }
}
