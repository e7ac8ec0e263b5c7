// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the child that has the other end of a socket pair that this process created, because the kernel names only the
//! creator.
//!
//! The kernel gives the inode of the other end, and /proc the process that has it open.

use crate::c_library::file::File;
use core::mem::size_of;
use ntux_platform::interposition::proc::{Entry, each_name};
use ntux_platform::path::Path;

/// A query about one Unix socket, as in `linux/unix_diag.h` and `linux/netlink.h`.
#[repr(C)]
struct Question {
    length: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    family: u8,
    protocol: u8,
    padding: u16,
    states: u32,
    inode: u32,
    show: u32,
    cookie: [u32; 2],
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SHOW_PEER: u32 = 4;
const NO_COOKIE: u32 = u32::MAX;
/// Where the attributes begin in an answer, and the one that is wanted: its length and kind, then the number.
const ATTRIBUTES_AT: usize = 32;
const PEER: u16 = 2;
const PEER_LENGTH: u16 = 8;

/// Calls `visit` with each child that has the other end of this socket of ours open.
pub(super) fn with_other_end(inode: u64, mut visit: impl FnMut(libc::pid_t)) {
    let Some(other) = u32::try_from(inode).ok().and_then(other_end) else { return };
    let wanted = Path::new(format_args!("socket:[{other}]"));
    let Some(tasks) = File::open_directory(c"/proc/self/task") else { return };
    each_name(tasks.number(), |task| {
        let Some(task) = number(task) else { return true };
        let list = Path::new(format_args!("/proc/self/task/{task}/children"));
        let mut room = [0u8; 1024];
        if let Some(children) = File::open(list.text()).as_ref().and_then(|file| file.read(&mut room)) {
            let children = children.split(|byte| *byte == b' ').filter_map(number);
            children.filter(|child| has_open(*child, wanted.text().to_bytes())).for_each(&mut visit);
        }
        true
    });
}

fn number(text: &[u8]) -> Option<libc::pid_t> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// The inode of the socket to which this one is connected.
fn other_end(inode: u32) -> Option<u32> {
    let question = Question {
        length: size_of::<Question>() as u32,
        kind: SOCK_DIAG_BY_FAMILY,
        flags: libc::NLM_F_REQUEST as u16,
        sequence: 1,
        port: 0,
        family: libc::AF_UNIX as u8,
        protocol: 0,
        padding: 0,
        states: u32::MAX,
        inode,
        show: SHOW_PEER,
        cookie: [NO_COOKIE; 2],
    };
    let mut room = [0u8; 256];
    // SAFETY: a socket of our own, a question of the given length, and room of the given length for the answer.
    let length = unsafe {
        let socket =
            File::of(libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG))?;
        let sent = libc::send(socket.number(), (&raw const question).cast(), size_of::<Question>(), 0);
        if sent < 0 {
            -1
        } else {
            libc::recv(socket.number(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT)
        }
    };
    let answer = &room[..usize::try_from(length).ok()?];
    if answer.len() < ATTRIBUTES_AT || u16::from_ne_bytes([answer[4], answer[5]]) != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let attribute = answer.get(ATTRIBUTES_AT..ATTRIBUTES_AT + usize::from(PEER_LENGTH))?;
    let half = |at: usize| u16::from_ne_bytes([attribute[at], attribute[at + 1]]);
    let number = u32::from_ne_bytes([attribute[4], attribute[5], attribute[6], attribute[7]]);
    ((half(0), half(2)) == (PEER_LENGTH, PEER)).then_some(number)
}

fn has_open(process: libc::pid_t, wanted: &[u8]) -> bool {
    let entry = Entry::of(process as u32);
    let Some(listed) = File::open_directory(entry.path(format_args!("fd")).text()) else { return false };
    let mut found = false;
    each_name(listed.number(), |name| {
        let mut link = [0u8; 64];
        let Some(fd) = number(name) else { return true };
        let path = entry.path(format_args!("fd/{fd}"));
        // SAFETY: a string that ends with a zero, and a buffer of the given length.
        let length = unsafe { libc::readlink(path.text().as_ptr(), link.as_mut_ptr().cast(), link.len()) };
        found = usize::try_from(length).is_ok_and(|length| &link[..length] == wanted);
        !found
    });
    found
}
