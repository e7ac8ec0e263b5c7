// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between processes: every kind of shared memory, waiters that are killed or stopped, fork.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use ntux_futex::{Capacity, Deadline, Domain, Error, Exactness, Expected, Futex, Operation, Scope, Size, Word};
use ntux_futex::{capability, wait, wake};

use ntux_platform::kernel_futex;
use ntux_platform::robust::Head;

use crate::sleepers::{ANY, soon, until_asleep, watchdog};

const LENGTH: usize = 4096;

/// Memory that a child of fork shares, and perhaps the same memory at another address.
struct Mapped {
    name: &'static str,
    here: usize,
    there: usize,
}

fn map(name: &'static str, fd: i32, flags: libc::c_int) -> Mapped {
    let map = || {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe {
            #[allow(clippy::disallowed_methods, reason = "kinds of memory that the library itself does not use")]
            libc::mmap(std::ptr::null_mut(), LENGTH, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0)
        };
        assert_ne!(base, libc::MAP_FAILED, "{name}: {}", std::io::Error::last_os_error());
        base as usize
    };
    let here = map();
    Mapped { name, here, there: if fd < 0 { here } else { map() } }
}

/// Every kind of memory that processes share. Never unmapped: the tests are short.
fn shared_memory() -> Vec<Mapped> {
    // SAFETY: plain calls with terminated names; descriptors and segments stay until the test process ends.
    unsafe {
        let memfd = libc::memfd_create(c"ntux-test".as_ptr(), libc::MFD_CLOEXEC);
        let mut path = *b"/tmp/ntux-test-XXXXXX\0";
        let file = libc::mkstemp(path.as_mut_ptr().cast());
        assert!(memfd >= 0 && file >= 0, "{}", std::io::Error::last_os_error());
        libc::unlink(path.as_ptr().cast());
        assert_eq!((libc::ftruncate(memfd, LENGTH as i64), libc::ftruncate(file, LENGTH as i64)), (0, 0));
        let segment = libc::shmget(libc::IPC_PRIVATE, LENGTH, 0o600);
        assert!(segment >= 0, "{}", std::io::Error::last_os_error());
        let attach = || libc::shmat(segment, std::ptr::null(), 0) as usize;
        let system_v = Mapped { name: "System V", here: attach(), there: attach() };
        libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
        vec![
            map("memfd", memfd, libc::MAP_SHARED),
            map("file", file, libc::MAP_SHARED),
            map("anonymous", -1, libc::MAP_SHARED | libc::MAP_ANONYMOUS),
            system_v,
        ]
    }
}

fn domain() -> Domain {
    Domain::create(Capacity { buckets: 16, chunks: 16, waiters: 8 }).expect("a domain")
}

/// A child process that does something and ends with its answer.
pub struct Child(libc::pid_t);

impl Child {
    pub fn new(work: impl FnOnce() -> bool) -> Child {
        // SAFETY: the child calls only what may be called after fork in a process with threads, and ends by _exit.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            let good = work();
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(i32::from(!good)) };
        }
        Child(pid)
    }

    /// A child that waits, asleep.
    fn waiting(expected: Expected) -> Child {
        let (mut here, mut there) = UnixStream::pair().expect("a pair");
        // It may sleep before it waits, too, as in an emulator that starts it.
        let child = Child::new(move || there.write_all(&[0]).is_ok() && wait(expected, ANY, soon()) == Ok(()));
        here.read_exact(&mut [0]).expect("it begins to wait");
        until_process_sleeps(child.0);
        child
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and not yet waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.0, signal) }, 0);
    }

    /// Its wait status.
    fn ended(mut self) -> i32 {
        self.reap()
    }

    fn reap(&mut self) -> i32 {
        let mut status = 0;
        // SAFETY: our own child, and a valid place for the answer.
        assert_eq!(unsafe { libc::waitpid(self.0, &mut status, 0) }, self.0);
        self.0 = 0;
        status
    }

    fn was_good(self) -> bool {
        self.ended() == 0
    }
}

impl Drop for Child {
    /// A test that failed leaves no process behind.
    fn drop(&mut self) {
        if self.0 != 0 {
            self.signal(libc::SIGKILL);
            self.reap();
        }
    }
}

fn until_process_sleeps(pid: libc::pid_t) {
    let mut asleep = 0;
    while asleep < 3 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        asleep = if stat.contains(") S ") { asleep + 1 } else { 0 };
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// The futex at an address in shared memory: the kernel's, or a domain's.
fn futex(address: usize, size: Size, domain: Option<&Domain>) -> Futex<'_> {
    // SAFETY: the memory is mapped in both processes and stays so.
    let futex = unsafe { Futex::at(address, size, Scope::Shared) }.expect("aligned");
    match domain {
        None => futex,
        Some(domain) => futex.served_by(domain, (address % LENGTH) as u64).expect("a small place"),
    }
}

fn each_mechanism(size: Size, test: impl Fn(Option<&Domain>)) {
    let kernels = capability(Operation::Wait(size, Scope::Shared));
    if kernel_futex::is_exact() && !matches!(kernels, Exactness::Refused(_)) {
        test(None);
    }
    test(Some(&domain()));
}

#[test]
fn every_kind_of_shared_memory_in_two_processes_and_at_two_addresses() {
    watchdog();
    for memory in shared_memory() {
        for size in Size::ALL {
            each_mechanism(size, |domain| {
                let expected = Expected::new(futex(memory.here + 8, size, domain), 0).expect("it fits");
                let child = Child::waiting(expected);
                let place = format!("{} {size:?} {}", memory.name, domain.is_some());
                assert_eq!(wake(futex(memory.there + 16, size, domain), 9, ANY), Ok(0), "{place}");
                assert_eq!(wake(futex(memory.there + 8, size, domain), 9, ANY), Ok(1), "{place}");
                assert!(child.was_good(), "{place}");
            });
        }
    }
}

#[test]
fn a_waiter_that_is_killed_leaves_no_trace() {
    watchdog();
    let memory = &shared_memory()[0];
    for size in Size::ALL {
        each_mechanism(size, |domain| {
            let futex = futex(memory.here, size, domain);
            let expected = Expected::new(futex, 0).expect("it fits");
            // More often than the domain has seats.
            for _ in 0..10 {
                let first = Child::waiting(expected);
                let second = Child::waiting(expected);
                first.signal(libc::SIGKILL);
                assert_eq!(first.ended(), libc::SIGKILL);
                if domain.is_none() || Head::of_this_thread().is_present() {
                    assert_eq!(wake(futex, 1, ANY), Ok(1), "{size:?}, domain {}", domain.is_some());
                } else {
                    println!("without a robust list a killed waiter can be given a wake");
                    second.signal(libc::SIGKILL);
                    second.ended();
                    return;
                }
                assert!(second.was_good(), "the wake was for the living one");
                assert_eq!(wake(futex, 9, ANY), Ok(0));
            }
        });
    }
}

/// It dies with the seat, but not in the wait, so no wake meets it.
#[test]
fn a_waiter_that_is_killed_after_its_wake_leaves_its_seat() {
    if !Head::of_this_thread().is_present() {
        println!("without a robust list a killed waiter keeps its seat");
        return;
    }
    watchdog();
    let memory = &shared_memory()[0];
    let domain = domain();
    let futex = futex(memory.here, Size::Bits32, Some(&domain));
    let expected = Expected::new(futex, 0).expect("it fits");
    // Three times as often as the domain has seats.
    for kill in 0..24 {
        let victim = Child::waiting(expected);
        victim.signal(libc::SIGSTOP);
        assert_eq!(wake(futex, 1, ANY), Ok(1), "kill {kill}");
        victim.signal(libc::SIGKILL);
        assert_eq!(victim.ended(), libc::SIGKILL);
    }
    let all: Vec<Child> = (0..8).map(|_| Child::waiting(expected)).collect();
    assert_eq!(wait(expected, ANY, soon()), Err(Error::Exhausted), "eight seats are taken");
    assert_eq!(wake(futex, 9, ANY), Ok(8));
    assert!(all.into_iter().all(Child::was_good));
}

#[test]
fn a_waiter_that_is_stopped_delays_nobody() {
    watchdog();
    let memory = &shared_memory()[0];
    each_mechanism(Size::Bits16, |domain| {
        let futex = futex(memory.here, Size::Bits16, domain);
        let expected = Expected::new(futex, 0).expect("it fits");
        let (stopped, other) = (Child::waiting(expected), Child::waiting(expected));
        stopped.signal(libc::SIGSTOP);
        let woken = wake(futex, 2, ANY);
        assert!(other.was_good());
        stopped.signal(libc::SIGCONT);
        if domain.is_none() && woken == Ok(1) {
            // The kernel takes a stopped waiter out, and puts it back when it goes on.
            until_process_sleeps(stopped.0);
            assert_eq!(wake(futex, 1, ANY), Ok(1));
        } else {
            assert_eq!(woken, Ok(2));
        }
        assert!(stopped.was_good());
    });
}

#[test]
fn a_forked_child_finds_no_waiters_of_its_parent_and_can_wait_itself() {
    watchdog();
    let (word, sleeper) = (AtomicU32::new(7), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            sleeper.store(ntux_platform::liveness::thread_id(), Ordering::SeqCst);
            word.wait(7, soon())
        });
        while sleeper.load(Ordering::SeqCst) == 0 {}
        until_asleep(sleeper.load(Ordering::SeqCst));
        let child = Child::new(|| {
            let nobody = word.notify_all() == 0;
            let alone = word.wait(7, Deadline::Monotonic(1)) == Err(Error::TimedOut);
            nobody && alone && word.notify_all() == 0
        });
        assert!(child.was_good());
        assert_eq!(word.notify_all(), 1, "the parent's waiter is where it was");
        assert_eq!(waiter.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn only_a_domain_can_be_attached() {
    let original = domain();
    let copy = || original.descriptor().try_clone_to_owned().expect("a descriptor");
    let again = Domain::attach(copy()).expect("the same domain");
    let word = AtomicU32::new(0);
    let (one, other) = (Futex::in_domain(&original, 8, &word), Futex::in_domain(&again, 8, &word));
    std::thread::scope(|scope| {
        let mut sleepers = crate::sleepers::Sleepers::new(scope);
        sleepers.wait(Expected::new(one.expect("a place"), 0).expect("it fits"), ANY);
        assert_eq!(wake(other.expect("a place"), 1, ANY), Ok(1), "two views of one domain");
        assert_eq!(sleepers.woken(1), [0]);
    });
    assert_eq!(Futex::in_domain(&original, 1 << 60, &word).err(), Some(Error::Invalid));
    let file = std::fs::File::open("/dev/null").expect("it is there");
    assert!(file.as_raw_fd() >= 0 && Domain::attach(file.into()).is_err());
    let huge = Capacity { buckets: 3, chunks: 1, waiters: 1 };
    assert_eq!(Domain::create(huge).expect_err("no power of two").kind(), std::io::ErrorKind::InvalidInput);
}
