// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/trace/attach.rs`.

use super::*;
use std::fs::File;
use std::io::Write;

/// How an arena begins.
const MAGIC: &[u8; 8] = b"ntuxsync";

fn handed(file: impl Into<OwnedFd>) -> OwnedFd {
    file.into()
}

#[test]
fn what_is_handed_over_is_taken_once_if_it_is_an_arena() {
    let mut arenas = Arenas::of(std::process::id(), Asked { from_start: true, memory: false });
    let arena = ntux_sync::Arena::create_file(ntux_sync::Capacity { objects: 16, waiters: 16 }).unwrap();
    let to_read_only = File::open(format!("/proc/self/fd/{}", arena.as_raw_fd())).unwrap();
    for _ in 0..2 {
        arenas.take(&arena);
        arenas.take(&handed(arena.try_clone().unwrap()));
        arenas.take(&handed(to_read_only.try_clone().unwrap()));
    }
    assert_eq!(arenas.traced.len(), 1);
    // What was looked into too early is looked into again.
    let late = ntux_sync::Arena::create_file(ntux_sync::Capacity { objects: 16, waiters: 16 }).unwrap();
    arenas.inodes.insert(File::from(late.try_clone().unwrap()).metadata().unwrap().ino());
    arenas.take(&late);
    assert_eq!((arenas.traced.len(), arenas.trouble), (2, None));
}

/// As if neither the program nor the tracer had got a processor for longer than threads report by themselves.
#[test]
fn threads_that_fell_silent_before_the_tracer_came_are_noticed() {
    let start = clock::monotonic_ns();
    let mut arenas = Arenas::of(std::process::id(), Asked { from_start: true, memory: false });
    for lease_ns in [1, 60_000_000_000] {
        let file = ntux_sync::Arena::create_file(ntux_sync::Capacity { objects: 16, waiters: 16 }).unwrap();
        ntux_sync::Arena::map_for_descriptors(file.as_fd()).unwrap().trace_from_now(lease_ns).unwrap();
        arenas.take(&file);
    }
    let silent = |after_ns| arenas.traced.iter().map(|traced| traced.is_silent(after_ns)).collect::<Vec<_>>();
    assert_eq!(silent(start), [true, false]);
    // What an earlier trace asked for says nothing about this one.
    assert_eq!(silent(clock::monotonic_ns()), [false, false]);
    arenas.traced.iter().for_each(Traced::renew);
    assert_eq!(silent(start), [false, false]);
}

#[test]
fn rubbish_that_is_handed_over_is_dropped() {
    let mut arenas = Arenas::of(std::process::id(), Asked { from_start: true, memory: false });
    let memory = ntux_platform::memory::create(c"rubbish", 4096).unwrap();
    File::from(memory.try_clone().unwrap()).write_all(MAGIC).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    let (socket, _) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let mut named = tempfile::tempfile().unwrap();
    named.write_all(MAGIC).unwrap();
    let null = File::open("/dev/null").unwrap();
    let directory = File::open("/").unwrap();
    for rubbish in [memory, handed(reader), handed(socket), handed(named), handed(null), handed(directory)] {
        arenas.take(&rubbish);
    }
    assert!(arenas.traced.is_empty() && arenas.trouble.is_none(), "{:?}", arenas.trouble);
}

/// A lease tells: an open that writes would break it, or wait until it is broken.
#[test]
fn what_is_no_arena_is_not_opened_to_write() {
    let memory = ntux_platform::memory::create(c"leased", 4096).unwrap();
    File::from(memory.try_clone().unwrap()).write_all(MAGIC).unwrap();
    let leased = File::open(format!("/proc/self/fd/{}", memory.as_raw_fd())).unwrap();
    drop(memory);
    // SAFETY: calls with integers, on a descriptor of our own.
    let lease = |command, kind: libc::c_int| unsafe { libc::fcntl(leased.as_raw_fd(), command, kind) };
    assert_eq!(lease(libc::F_SETLEASE, libc::F_RDLCK), 0);
    let mut arenas = Arenas::of(std::process::id(), Asked { from_start: true, memory: false });
    arenas.take(&leased.try_clone().unwrap().into());
    assert!(arenas.traced.is_empty() && arenas.inodes.contains(&leased.metadata().unwrap().ino()));
    assert_eq!(lease(libc::F_GETLEASE, 0), libc::F_RDLCK);
}

#[test]
fn a_child_descends_from_a_process_which_does_not() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let found = descendants(std::process::id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!found.contains(&std::process::id()) && found.contains(&child.id()), "{found:?}");
}
