// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes that the kernel makes for the program: seen where the mechanism can see them, else refused by the kernel, unless
//! the pages are held.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};

use io_uring::{IoUring, opcode, types};
use ntux_platform::atomic::Word32;
use ntux_watch::{Mechanism, Reset, Watcher, page_size};

use crate::child::is_child;
use crate::mapped::plain_file;
use crate::memory::Memory;
use crate::skips::skip;
use crate::stop::Stop;

/// The mechanisms; but the one where the kernel copies only in a process of its own (`cow` starts it): a fork, of another
/// test, changes what system calls do there.
fn watchers() -> impl Iterator<Item = Watcher> {
    crate::watchers().filter(|watcher| is_child() || watcher.mechanism() != Ok(Mechanism::Cow))
}

/// Returns whether plain system calls can write to clean pages: as the mechanism says itself, or, where it says that they may fail
/// during a reset, because nobody resets meanwhile.
fn sees_system_calls(watcher: &Watcher) -> bool {
    let mechanism = watcher.mechanism().unwrap();
    let mut capabilities = mechanism.capabilities().into_iter();
    mechanism == Mechanism::Cow || capabilities.any(|capability| capability.name == "system calls" && capability.has)
}

/// Bytes of whole pages, for the kernel to write.
#[allow(clippy::mut_from_ref, reason = "pages that only the kernel and these slices touch")]
fn buffer(memory: &Memory, first: usize, length: usize) -> &mut [u8] {
    // SAFETY: committed pages; each test uses one such slice at a time, and looks at pages by other means in between.
    unsafe { core::slice::from_raw_parts_mut(memory.address(first) as *mut u8, length) }
}

fn file_of(bytes: usize) -> File {
    let file = plain_file(bytes);
    file.write_all_at(&vec![7; bytes], 0).unwrap();
    file
}

#[test]
fn what_a_read_stored_is_listed_or_the_read_fails() {
    let page = page_size();
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        let file = file_of(2 * page + 3);
        // SAFETY: the buffer is valid for its length.
        let count =
            unsafe { libc::read(file.as_raw_fd(), buffer(&memory, 0, 16 * page).as_mut_ptr().cast(), 16 * page) };
        if sees_system_calls(&watcher) {
            assert_eq!((count, memory.get(Reset::Yes)), (2 * page as isize + 3, vec![0, 1, 2]));
        } else {
            assert_eq!((count, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
            assert!(memory.get(Reset::No).is_empty(), "nothing was stored and nothing is listed");
        }
    }
}

#[test]
fn wrapped_calls_store_everywhere_and_all_they_stored_is_listed() {
    let page = page_size();
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        let lists = |pages: &[usize]| {
            let listed = memory.get(Reset::Yes);
            assert!(pages.iter().all(|page| listed.contains(page)), "{:?}: {listed:?}", watcher.mechanism());
            assert!(memory.get(Reset::No).is_empty(), "and clean afterwards");
        };
        let file = file_of(2 * page + 3);
        assert_eq!(watcher.read_into(file.as_fd(), buffer(&memory, 4, 12 * page)).unwrap(), 2 * page + 3);
        assert_eq!(buffer(&memory, 6, 4), [7, 7, 7, 0]);
        lists(&[4, 5, 6]);
        let file = file_of(2 * page);
        let mut several = [IoSliceMut::new(buffer(&memory, 1, page)), IoSliceMut::new(buffer(&memory, 8, page))];
        assert_eq!(watcher.read_into_several(file.as_fd(), &mut several).unwrap(), 2 * page);
        lists(&[1, 8]);
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(&[9; 100]).unwrap();
        assert_eq!(watcher.receive_into(far.as_fd(), buffer(&memory, 3, page), 0).unwrap(), 100);
        lists(&[3]);
        near.write_all(&[8; 50]).unwrap();
        let mut part = libc::iovec { iov_base: memory.address(5) as *mut _, iov_len: page };
        // SAFETY: a header is made of integers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
        // SAFETY: the message names one valid buffer.
        assert_eq!(unsafe { watcher.receive_message(far.as_fd(), &mut message, 0) }.unwrap(), 50);
        lists(&[5]);
    }
}

#[test]
fn a_datagram_is_lost_by_the_plain_call_and_kept_by_the_wrapped_one() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 4);
        let (near, far) = UnixDatagram::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        near.send(b"first").unwrap();
        let plain = far.recv(buffer(&memory, 0, page_size()));
        if !sees_system_calls(&watcher) {
            assert_eq!(plain.unwrap_err().raw_os_error(), Some(libc::EFAULT));
            assert!(far.recv(&mut [0; 5]).is_err(), "known: the datagram is gone");
        }
        memory.get(Reset::Yes);
        near.send(b"second").unwrap();
        assert_eq!(watcher.receive_into(far.as_fd(), buffer(&memory, 0, page_size()), 0).unwrap(), 6);
        assert_eq!(&buffer(&memory, 0, 6), b"second");
    }
}

#[test]
fn a_call_that_waits_stores_though_the_pages_are_reset_meanwhile() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 8);
        let (mut near, far) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let place = buffer(&memory, 2, page_size());
            let call = scope.spawn(|| watcher.receive_into(far.as_fd(), place, 0).unwrap());
            if !sees_system_calls(&watcher) {
                while memory.get(Reset::No).is_empty() {
                    std::thread::yield_now();
                }
                assert_eq!(memory.get(Reset::Yes), [2]);
                assert_eq!(memory.get(Reset::Yes), [2], "listed as long as the call lasts");
            }
            near.write_all(b"late").unwrap();
            assert_eq!(call.join().unwrap(), 4);
        });
        assert_eq!(memory.get(Reset::Yes), [2]);
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn other_ways_of_the_kernel_into_memory() {
    for watcher in watchers().filter(sees_system_calls) {
        let memory = Memory::committed(&watcher, 16);
        let from = [1u8; 10];
        let local = libc::iovec { iov_base: from.as_ptr() as *mut _, iov_len: 10 };
        let remote = libc::iovec { iov_base: (memory.address(3) - 5) as *mut _, iov_len: 10 };
        // SAFETY: both places are valid for 10 bytes.
        assert_eq!(unsafe { libc::process_vm_writev(libc::getpid(), &local, 1, &remote, 1, 0) }, 10);
        assert_eq!(memory.get(Reset::Yes), [2, 3], "process_vm_writev");
        let own = File::options().write(true).open("/proc/self/mem").unwrap();
        let written = own.write_at(&from, memory.address(7) as u64);
        if watcher.mechanism() == Ok(Mechanism::Sync) {
            assert!(written.is_err(), "known: /proc/self/mem fails rather than wait for a thread");
        } else {
            assert_eq!((written.unwrap(), memory.get(Reset::Yes)), (10, vec![7]), "/proc/self/mem");
        }
        // SAFETY: a valid place for 16 bytes.
        let count = unsafe { libc::getrandom(memory.address(9) as *mut _, 16, 0) };
        assert_eq!(count, 16, "{:?}: {}", watcher.mechanism(), std::io::Error::last_os_error());
        // SAFETY: a valid place for the answer.
        assert_eq!(unsafe { libc::uname(memory.address(10) as *mut _) }, 0);
        assert_eq!(memory.get(Reset::Yes), [9, 10], "getrandom and uname");
    }
}

#[test]
fn known_miss_page_protection_does_not_see_who_ignores_it() {
    let watcher = Watcher::with(Mechanism::Mprotect).unwrap();
    let memory = Memory::committed(&watcher, 4);
    let own = File::options().write(true).open("/proc/self/mem").unwrap();
    if let Err(error) = own.write_all_at(b"x", memory.address(1) as u64) {
        return skip("ignore-protection", format_args!("this kernel lets nobody ignore the protection: {error}"));
    }
    assert_eq!(buffer(&memory, 1, 1), b"x");
    assert!(memory.get(Reset::No).is_empty(), "known: /proc/self/mem writes to protected pages, and nobody is told");
}

#[test]
fn direct_reads() {
    let page = page_size();
    // Cargo's directory is more often on a disk than the system's; on another machine than the compiler's it is not there.
    let of_cargo = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let directory = if of_cargo.is_dir() { of_cargo } else { std::env::temp_dir() };
    let path = directory.join(format!("direct-{}", std::process::id()));
    std::fs::write(&path, vec![5; 4 * page]).unwrap();
    match File::options().read(true).custom_flags(libc::O_DIRECT).open(&path) {
        Err(error) => skip("direct-reads", format_args!("this file system has no O_DIRECT: {error}")),
        Ok(file) => {
            for watcher in watchers().filter(sees_system_calls) {
                let memory = Memory::committed(&watcher, 8);
                assert_eq!(file.read_at(buffer(&memory, 2, 2 * page), 0).unwrap(), 2 * page);
                assert_eq!(memory.get(Reset::Yes), [2, 3], "{:?}", watcher.mechanism());
            }
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// A ring of the kernel's; none, with the reason, if it gives none.
fn ring() -> Option<IoUring> {
    IoUring::new(4).inspect_err(|error| skip("io-uring", error)).ok()
}

#[test]
fn io_uring_reads_are_seen_unless_the_buffer_is_registered() {
    let page = page_size();
    let Some(mut ring) = ring() else { return };
    for watcher in watchers().filter(sees_system_calls) {
        let memory = Memory::committed(&watcher, 8);
        let file = file_of(2 * page);
        let fd = types::Fd(file.as_raw_fd());
        read(&mut ring, opcode::Read::new(fd, memory.address(2) as *mut u8, page as u32).build());
        assert_eq!(memory.get(Reset::Yes), [2], "a plain read");
        let buffers = [libc::iovec { iov_base: memory.address(4) as *mut _, iov_len: page }];
        // SAFETY: the memory stays until the ring is told to forget it, below.
        unsafe { ring.submitter().register_buffers(&buffers) }.unwrap();
        memory.get(Reset::Yes);
        read(&mut ring, opcode::ReadFixed::new(fd, memory.address(4) as *mut u8, page as u32, 0).build());
        if watcher.mechanism() == Ok(Mechanism::Cow) {
            assert_eq!(
                buffer(&memory, 4, 1),
                [0],
                "known: a registered buffer that is reset without a hold is another page"
            );
        } else {
            assert_eq!(buffer(&memory, 4, 1), [7]);
        }
        assert!(memory.get(Reset::No).is_empty(), "known: a registered buffer is written without notice");
        ring.submitter().unregister_buffers().unwrap();
    }
}

#[test]
fn registered_buffers_that_are_held_are_listed_and_have_what_was_stored() {
    let page = page_size();
    let Some(mut ring) = ring() else { return };
    for watcher in watchers().filter(|watcher| watcher.mechanism() == Ok(Mechanism::Cow)) {
        let memory = Memory::committed(&watcher, 8);
        let file = file_of(page);
        let hold = watcher.hold(&[memory.range(4, 5)]).unwrap();
        assert_eq!(memory.get(Reset::Yes), [4], "listed as long as it is held");
        let buffers = [libc::iovec { iov_base: memory.address(4) as *mut _, iov_len: page }];
        // SAFETY: the memory stays until the ring is told to forget it, below.
        unsafe { ring.submitter().register_buffers(&buffers) }.unwrap();
        assert_eq!(memory.get(Reset::Yes), [4]);
        let fd = types::Fd(file.as_raw_fd());
        read(&mut ring, opcode::ReadFixed::new(fd, memory.address(4) as *mut u8, page as u32, 0).build());
        assert_eq!((buffer(&memory, 4, 1), memory.get(Reset::Yes)), (&mut [7][..], vec![4]));
        ring.submitter().unregister_buffers().unwrap();
        drop(hold);
        assert_eq!((memory.get(Reset::Yes), buffer(&memory, 4, 1)), (vec![4], &mut [7][..]));
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn wrapped_calls_never_fail_while_the_pages_are_reset() {
    const ROUNDS: usize = 300;
    let page = page_size();
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 64);
        let file = file_of(4 * page);
        let stop = Word32::new(0);
        std::thread::scope(|scope| {
            let _stop = Stop(&stop);
            scope.spawn(|| {
                while stop.load() == 0 {
                    memory.get(Reset::Yes);
                }
            });
            for round in 0..ROUNDS {
                let place = buffer(&memory, round % 60, 4 * page);
                place.fill(1);
                let result = watcher.read_into(file.as_fd(), place);
                let offset_to_start = std::io::Seek::rewind(&mut &file);
                let is_there = place.iter().all(|byte| *byte == 7);
                if result.is_err() || !is_there || offset_to_start.is_err() {
                    panic!("{:?}: {result:?}, stored: {is_there}", watcher.mechanism());
                }
            }
        });
    }
}

/// One request, to its end.
fn read(ring: &mut IoUring, entry: io_uring::squeue::Entry) {
    // SAFETY: the callers' buffers and files outlive the request, which is over when this returns.
    unsafe { ring.submission().push(&entry) }.unwrap();
    ring.submit_and_wait(1).unwrap();
    assert_eq!(ring.completion().next().unwrap().result(), page_size() as i32);
}
