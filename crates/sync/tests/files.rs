// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are no arena, or none that can be trusted: attaching refuses them.
#![cfg(target_os = "linux")]

#[path = "../../platform/tests/skips/skips.rs"]
mod skips;

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use ntux_sync::fields::{self, Table};
use ntux_sync::{Arena, Capacity, Error};
use skips::skip;

const CAPACITY: Capacity = Capacity { objects: 4, waiters: 4 };

/// The beginning of a real arena's file.
fn header() -> Vec<u8> {
    let file = Arena::create_file(CAPACITY).unwrap();
    let mut bytes = vec![0; 4096];
    // SAFETY: the buffer is valid for its length.
    let read = unsafe { libc::pread(file.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(read, 4096);
    bytes
}

fn length() -> u64 {
    let [.., Table { start, stride, count, .. }] = fields::tables(CAPACITY).unwrap();
    (start + stride * u64::from(count)).next_multiple_of(4096)
}

/// An anonymous file with these bytes, this length and these seals.
fn file(bytes: &[u8], length: u64, seals: i32) -> OwnedFd {
    anonymous(libc::MFD_ALLOW_SEALING, bytes, length, seals).unwrap()
}

fn anonymous(flags: u32, bytes: &[u8], length: u64, seals: i32) -> std::io::Result<OwnedFd> {
    // SAFETY: a terminated name.
    let fd = unsafe { libc::memfd_create(c"rubbish".as_ptr(), flags) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: made just now.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut file = File::from(fd.try_clone()?);
    file.set_len(length)?;
    file.write_all(bytes)?;
    // SAFETY: a descriptor of our own.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    Ok(fd)
}

#[track_caller]
fn refused(fd: &OwnedFd) {
    assert_eq!(Arena::attach(fd.as_fd()).err(), Some(Error::NotAnArena));
    assert_eq!(Arena::map(fd.as_fd()).err(), Some(Error::NotAnArena));
}

#[test]
fn the_right_header_in_a_sealed_file_of_the_right_length_is_an_arena() {
    let made = file(&header(), length(), libc::F_SEAL_SHRINK);
    assert_eq!(Arena::attach(made.as_fd()).map(|arena| arena.capacity()).ok(), Some(CAPACITY));
}

#[test]
fn a_file_that_could_become_shorter_is_refused() {
    refused(&file(&header(), length(), 0));
    refused(&file(&header(), length(), libc::F_SEAL_GROW));
}

#[test]
fn a_file_that_is_too_short_is_refused() {
    for length in [0, 1, 16, 23] {
        refused(&file(&header()[..length as usize], length, libc::F_SEAL_SHRINK));
    }
    for length in [4096, length() - 4096, length() - 1] {
        refused(&file(&header(), length, libc::F_SEAL_SHRINK));
    }
}

#[test]
fn rubbish_in_any_word_that_attaching_reads_is_refused_or_in_bounds() {
    let good = header();
    for bit in 0..24 * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let fd = file(&bytes, length(), libc::F_SEAL_SHRINK);
        match Arena::attach(fd.as_fd()) {
            // A smaller arena than it was.
            Ok(arena) => assert!(bit >= 128 && arena.capacity() != CAPACITY, "bit {bit}"),
            Err(error) => assert_eq!(error, Error::NotAnArena, "bit {bit}"),
        }
    }
    for (objects, waiters) in [(0, 4), (4, 0), (u32::MAX, 4), (4, u32::MAX), ((1 << 24) + 1, 1), (1, (1 << 16) + 1)] {
        let mut bytes = good.clone();
        bytes[16..20].copy_from_slice(&objects.to_le_bytes());
        bytes[20..24].copy_from_slice(&waiters.to_le_bytes());
        refused(&file(&bytes, 1 << 32, libc::F_SEAL_SHRINK));
    }
}

#[test]
fn what_is_no_anonymous_file_is_refused() {
    let null = OwnedFd::from(File::open("/dev/null").unwrap());
    let directory = OwnedFd::from(File::open("/").unwrap());
    let program = OwnedFd::from(File::open("/proc/self/exe").unwrap());
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    for fd in [null, directory, program, socket.into()] {
        refused(&fd);
    }
}

/// A process that gives back such a page can leave the system without another one: touching it would then raise SIGBUS.
#[test]
fn a_file_of_huge_pages_is_refused() {
    const HUGE: u64 = 1 << 21;
    match anonymous(libc::MFD_ALLOW_SEALING | libc::MFD_HUGETLB, &[], HUGE, libc::F_SEAL_SHRINK) {
        Ok(fd) => {
            refused(&fd);
            assert!(!ntux_platform::memory::cannot_fault(fd.as_fd()));
        }
        Err(error) => skip("huge-pages", format_args!("this system has no files of huge pages ({error})")),
    }
}

/// Holes may be made; the pages read as zeros, and the mapping stays.
#[test]
fn an_arena_whose_pages_were_given_back_answers_with_errors() {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, true, true).unwrap();
    let fd = arena.fd().unwrap().as_raw_fd();
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a descriptor of our own.
    assert_eq!(unsafe { libc::fallocate(fd, mode, 0, length() as i64) }, 0);
    assert_eq!(arena.event_set(&waiter, event), Err(Error::NoSuchObject));
    assert_eq!(arena.capacity(), CAPACITY);
    assert_eq!(Arena::attach(arena.fd().unwrap()).err(), Some(Error::NotAnArena));
    // SAFETY: as above.
    assert_eq!(unsafe { libc::ftruncate(fd, 0) }, -1, "the seals forbid it");
}
