// SPDX-License-Identifier: MIT OR Apache-2.0
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};

use super::*;
use crate::liveness;
use crate::memory::{self, Caller, FileId};

fn file(fd: BorrowedFd<'_>) -> FileId {
    memory::regular_file(fd).unwrap().expect("a regular file")
}

/// In a thread whose table of descriptors is its own.
fn apart<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let thread = std::thread::spawn(|| {
        // SAFETY: this thread's own table.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
        work()
    });
    thread.join().unwrap()
}

#[test]
fn each_path_leads_to_the_descriptors_of_the_calling_thread() {
    apart(|| {
        // The first thread does not have so high a number.
        const NUMBER: i32 = 700;
        let memory = memory::create(c"apart", 4096).unwrap();
        // SAFETY: the number is free in the table of this thread, to which it belongs from now on.
        let high = unsafe { OwnedFd::from_raw_fd(libc::fcntl(memory.as_raw_fd(), libc::F_DUPFD_CLOEXEC, NUMBER)) };
        assert!(!std::path::Path::new(&format!("/proc/self/fd/{}", high.as_raw_fd())).exists());
        let paths: Vec<Path> = own_descriptor_paths(high.as_raw_fd()).collect();
        assert_eq!(paths.len(), 2, "by name, and by number");
        for path in paths {
            assert_eq!(file(open(&path, libc::O_RDWR).unwrap().as_fd()), file(memory.as_fd()));
        }
        let again = memory::reopen(high.as_fd(), file(memory.as_fd()), Caller::AnyThread).unwrap();
        memory::seek(again.as_fd(), 5).unwrap();
        assert_eq!((file(again.as_fd()), memory::offset(memory.as_fd()).unwrap()), (file(memory.as_fd()), 0));
    });
}

#[test]
fn nobody_gets_a_file_that_is_not_the_one_that_was_meant() {
    apart(|| {
        let [meant, other] = [memory::create(c"meant", 4096).unwrap(), memory::create(c"other", 4096).unwrap()];
        let [null, pipe] = [std::fs::File::open("/dev/null").unwrap().into(), std::io::pipe().unwrap().0.into()];
        let lowest_free = || memory::create(c"free", 1).unwrap().as_raw_fd();
        let free = lowest_free();
        for found in [&other, &null, &pipe] {
            let refused = memory::reopen(found.as_fd(), file(meant.as_fd()), Caller::AnyThread).map(drop);
            assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EBADF));
        }
        let mapped = memory::ReadOnly::new(other.as_fd(), file(meant.as_fd()), 4096).map(drop);
        assert_eq!(mapped.unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert_eq!(lowest_free(), free, "what was opened is closed again");
    });
}

/// A child with two threads, of which the first has ended.
struct Headless(u32);

impl Headless {
    fn new() -> Headless {
        // SAFETY: the child makes a thread, ends its first one, and is killed.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(100)));
            // SAFETY: ends this thread only.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
        }
        let stat = || Path::new(format_args!("/proc/{child}/stat"));
        while has_ended(stat()) != Some(true) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Headless(child as u32)
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        // SAFETY: our own child.
        unsafe {
            libc::kill(self.0 as i32, libc::SIGKILL);
            libc::waitpid(self.0 as i32, core::ptr::null_mut(), 0);
        }
    }
}

#[test]
fn a_thread_that_lives_shows_a_process_whose_first_thread_has_ended() {
    let child = Headless::new();
    let entry = Entry::of(child.0);
    assert!(entry.thread() != child.0 && Entry::in_place_of_first(child.0) == Some(entry));
    let mut text = String::new();
    entry.open("maps").unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("[stack]"), "{text}");
    let first = std::fs::read_to_string(format!("/proc/{}/maps", child.0)).unwrap_or_default();
    assert_eq!(first, "", "the first thread has no memory any more");
}

#[test]
fn a_process_is_shown_by_its_first_thread_while_that_lives() {
    let own = std::process::id();
    assert_eq!((Entry::of(own).thread(), Entry::in_place_of_first(own)), (own, None));
    assert_eq!(Entry::of(own).path(format_args!("fd/7")).text().to_str(), Ok(&*format!("/proc/{own}/fd/7")));
    let nobody = 1 << 22;
    assert_eq!((Entry::of(nobody).thread(), Entry::in_place_of_first(nobody)), (nobody, None));
    // SAFETY: the child ends at once, and stays until it is waited for.
    let corpse = unsafe {
        let corpse = libc::fork();
        if corpse == 0 {
            libc::_exit(0);
        }
        corpse as u32
    };
    while has_ended(Path::new(format_args!("/proc/{corpse}/stat"))) != Some(true) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(Entry::in_place_of_first(corpse), None, "none of its threads lives");
    // SAFETY: our own child.
    unsafe { libc::waitpid(corpse as i32, core::ptr::null_mut(), 0) };
}

#[test]
fn every_thread_is_visited_until_one_is_enough() {
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        tell.send(liveness::thread_id() as u32).unwrap();
        let _ = ended.recv();
    });
    let (own, number) = (std::process::id(), told.recv().unwrap());
    let (mut all, mut visits) = (Vec::new(), 0);
    each_thread(own, |thread| {
        all.push(thread);
        true
    });
    assert!(all.first() == Some(&own) && all.contains(&number), "{all:?}");
    each_thread(own, |_| {
        visits += 1;
        false
    });
    assert_eq!(visits, 1);
    drop(end);
    thread.join().unwrap();
}
