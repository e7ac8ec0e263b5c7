// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs each program in its own process, under a watchdog.

use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::os::fd::AsRawFd;

use crate::random::perform::perform;
use crate::random::program::Program;

/// How long a program may be silent. It takes milliseconds in all.
const WATCHDOG_MILLISECONDS: i32 = 30_000;

/// The number of the descriptor that a child writes to: above all that a program makes, so that those get the lowest.
const REPORT: i32 = 400;

/// The transcript of a program. The process that calls this must have one thread.
pub fn transcript(program: &Program) -> String {
    let (mut report, report_end) = std::io::pipe().expect("two free descriptors");
    // SAFETY: this process has one thread, so nothing that the child uses is held by a thread that it lacks.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        let mut report = alone_with(&report_end);
        perform(program, &mut report);
        // SAFETY: ends the child, also its threads that sleep, without running what the parent registered.
        unsafe { libc::_exit(0) };
    }
    drop(report_end);
    let mut text = Vec::new();
    let hangs = !read(&mut report, &mut text);
    let mut status = 0;
    // SAFETY: the child is ours and not reaped yet.
    unsafe {
        if hangs {
            libc::kill(child, libc::SIGKILL);
        }
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    let mut text = String::from_utf8(text).expect("a transcript is text");
    if hangs {
        text += " HANGS";
    } else if status != 0 {
        text += &format!(" DIES {status:#x}");
    }
    text
}

/// Makes the descriptors of a child the same wherever it runs: 0 to 2, and the report.
fn alone_with(report: &impl AsRawFd) -> File {
    // SAFETY: only descriptors of this process are concerned, and nothing of it but this function goes on using them.
    // The calls are raw, so that a library that watches descriptors sees a process that starts with few.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        assert_eq!(libc::dup2(report.as_raw_fd(), REPORT), REPORT);
        libc::syscall(libc::SYS_close_range, 3, REPORT - 1, 0);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(nothing, 0);
        libc::close(nothing);
        std::os::fd::FromRawFd::from_raw_fd(REPORT)
    }
}

/// Reads all there is; false if the writer falls silent.
fn read(report: &mut PipeReader, text: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 4096];
    loop {
        let mut ready = libc::pollfd { fd: report.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which is valid.
        if unsafe { libc::poll(&mut ready, 1, WATCHDOG_MILLISECONDS) } == 0 {
            return false;
        }
        match report.read(&mut buffer).expect("a pipe can be read") {
            0 => return true,
            length => text.write_all(&buffer[..length]).expect("memory can be written"),
        }
    }
}
