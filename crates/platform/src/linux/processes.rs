// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other processes, by pidfds.

use core::mem::MaybeUninit;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::Linux;
use super::deadly::Call;
use crate::clock::Deadline;
use crate::processes::{End, Processes};

const NS_PER_MS: u64 = 1_000_000;

impl Processes for Linux {
    fn open(pid: u32) -> io::Result<OwnedFd> {
        const NOBODY: usize = usize::MAX;
        static CALLS: [Call; 2] = [
            Call::new(libc::SYS_pidfd_open, [NOBODY, 0]),
            Call::new(libc::SYS_waitid, [libc::P_PIDFD as usize, NOBODY]),
        ];
        if Call::any_is_deadly(&CALLS) {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        // SAFETY: two numbers.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        match owned(opened as RawFd) {
            // So a filter refuses it; the call itself has no permissions.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
            opened => opened,
        }
    }

    fn has_ended(process: BorrowedFd<'_>) -> io::Result<bool> {
        let mut asked = [question(process)];
        poll(&mut asked, 0)?;
        match asked[0].revents {
            0 => Ok(false),
            answer if answer & libc::POLLIN != 0 => Ok(true),
            _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }

    fn end(process: BorrowedFd<'_>) -> io::Result<Option<End>> {
        if !Self::has_ended(process)? {
            return Ok(None);
        }
        let end = of_child(process).or_else(|| of_anybody(process));
        end.map(Some).ok_or_else(|| io::Error::from_raw_os_error(libc::EACCES))
    }

    fn bell() -> io::Result<OwnedFd> {
        // SAFETY: two numbers.
        owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
    }

    fn ring(bell: BorrowedFd<'_>) {
        let once = 1u64.to_ne_bytes();
        // SAFETY: eight bytes are read. It can fail only because it was rung already.
        unsafe { libc::write(bell.as_raw_fd(), once.as_ptr().cast(), once.len()) };
    }

    fn wait_for_end(bell: BorrowedFd<'_>, processes: &[BorrowedFd<'_>], deadline: Deadline) -> io::Result<()> {
        let mut asked: Vec<libc::pollfd> =
            [bell].iter().chain(processes).map(|&descriptor| question(descriptor)).collect();
        let left = deadline.remaining_ns().map_or(-1, |ns| ns.div_ceil(NS_PER_MS).min(i32::MAX as u64) as i32);
        poll(&mut asked, left)?;
        if asked[0].revents != 0 {
            let mut rings = [0u8; 8];
            // SAFETY: a place of eight bytes. It fails if another one has waited with this bell.
            unsafe { libc::read(bell.as_raw_fd(), rings.as_mut_ptr().cast(), rings.len()) };
        }
        Ok(())
    }
}

fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn question(descriptor: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// A signal ends it, too.
fn poll(asked: &mut [libc::pollfd], milliseconds: i32) -> io::Result<()> {
    // SAFETY: so many entries, which live during the call.
    let ready = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, milliseconds) };
    if ready >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// How a child ended that nobody has waited for.
fn of_child(process: BorrowedFd<'_>) -> Option<End> {
    let mut information = MaybeUninit::<libc::siginfo_t>::zeroed();
    let kinds = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: a place for the answer, of zeros, which are one, too: it has no number of a process if there is nothing to be waited for.
    let information = unsafe {
        let id = process.as_raw_fd() as libc::id_t;
        if libc::waitid(libc::P_PIDFD, id, information.as_mut_ptr(), kinds) != 0 {
            return None;
        }
        information.assume_init()
    };
    // SAFETY: the information of a child.
    let (pid, status) = unsafe { (information.si_pid(), information.si_status() as u32) };
    match information.si_code {
        _ if pid == 0 => None,
        libc::CLD_EXITED => Some(End::Exited(status)),
        _ => Some(End::Killed(status)),
    }
}

/// The kernel's `struct pidfd_info`, as its first version has it.
#[repr(C)]
#[derive(Default)]
struct Information {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    status: i32,
}

/// How a process ended whose parent has waited for it (Linux 6.15). Another kernel does not know the request, or leaves the bit out.
fn of_anybody(process: BorrowedFd<'_>) -> Option<End> {
    const GET_INFO: u64 = 3 << 30 | (size_of::<Information>() as u64) << 16 | 0xff << 8 | 11;
    const EXIT: u64 = 1 << 3;
    let mut information = Information { mask: EXIT, ..Information::default() };
    // SAFETY: the request has the size of the place.
    let done = unsafe { libc::ioctl(process.as_raw_fd(), GET_INFO as libc::Ioctl, &raw mut information) } == 0;
    let status = information.status;
    match done && information.mask & EXIT != 0 {
        false => None,
        true if libc::WIFSIGNALED(status) => Some(End::Killed(libc::WTERMSIG(status) as u32)),
        true => Some(End::Exited(libc::WEXITSTATUS(status) as u32)),
    }
}

const _: () = assert!(size_of::<Information>() == 64);
