// SPDX-License-Identifier: MIT OR Apache-2.0
//! Privileges, filters, and the choice of a mechanism.
#![cfg(target_os = "linux")]

use ntux_watch::{Mechanism, Reset, Watcher};

use crate::child::{child, is_child};
use crate::first_thread::end_first_thread;
use crate::memory::Memory;
use crate::rule::Rule;
use crate::skips::skip;

#[test]
fn every_mechanism_works_here() {
    // This kernel has them all; where one is missing this test says so, and the others do not run for it.
    for mechanism in Mechanism::ALL {
        match Watcher::with(mechanism) {
            Ok(watcher) => assert_eq!(watcher.mechanism(), Ok(mechanism)),
            Err(error) => skip(&format!("mechanism-{}", mechanism.name()), error),
        }
    }
    assert!(Watcher::with(Mechanism::Mprotect).is_ok(), "page protection is everywhere");
}

#[test]
fn the_mechanism_can_be_named() {
    if is_child() {
        let wanted = std::env::var("NTUX_WATCH").unwrap();
        match Mechanism::named(&wanted) {
            Some(mechanism) => assert_eq!(Watcher::new().unwrap().mechanism(), Ok(mechanism)),
            None => assert_eq!(Watcher::new().err(), Some(ntux_watch::Error::Invalid)),
        }
        return;
    }
    let works = |mechanism: &Mechanism| mechanism.probe().is_ok();
    let names = Mechanism::ALL.into_iter().filter(works).map(Mechanism::name).chain(["nonsense"]);
    names.for_each(|name| child("environment::the_mechanism_can_be_named").env("NTUX_WATCH", name).must_pass());
}

#[test]
fn what_the_kernel_lacks_is_done_without() {
    if is_child() {
        let expected = Mechanism::named(&std::env::var("EXPECTED").unwrap()).unwrap();
        return uses(expected);
    }
    let test = || child("environment::what_the_kernel_lacks_is_done_without");
    test().env("NTUX_WITHOUT", "userfaultfd").env("EXPECTED", "mprotect").must_pass();
    if Mechanism::Sync.probe().is_ok() {
        test().env("NTUX_WITHOUT", "pagemap_scan").env("EXPECTED", "sync").must_pass();
    } else {
        skip("mechanism-sync", "the synchronous mechanism does not work");
    }
}

#[test]
fn under_a_filter_that_refuses_userfaultfd_page_protection_is_chosen() {
    if is_child() {
        uses(Mechanism::Mprotect);
        // Copying can lose what is stored to pinned pages, so it is for those who ask for it, and for them it is there.
        return match Mechanism::Cow.probe() {
            Ok(()) => writes_are_listed(&Watcher::with(Mechanism::Cow).unwrap()),
            Err(error) => skip("mechanism-cow", error),
        };
    }
    for errno in [libc::EPERM, libc::ENOSYS] {
        child("environment::under_a_filter_that_refuses_userfaultfd_page_protection_is_chosen")
            .prepare(move || Rule::errno(libc::SYS_userfaultfd, errno).install())
            .prepare(become_nobody_if_root)
            .must_pass();
    }
}

#[test]
fn under_a_filter_that_kills_for_userfaultfd_page_protection_is_chosen() {
    if is_child() {
        assert!(Watcher::with(Mechanism::Async).is_err() && Watcher::with(Mechanism::Sync).is_err());
        return uses(Mechanism::Mprotect);
    }
    for action in [libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_KILL_THREAD, libc::SECCOMP_RET_TRAP] {
        child("environment::under_a_filter_that_kills_for_userfaultfd_page_protection_is_chosen")
            .prepare(move || Rule::new(libc::SYS_userfaultfd, action).install())
            .prepare(become_nobody_if_root)
            .must_pass();
    }
}

#[test]
fn nobody_without_capabilities_is_served_as_well() {
    if is_child() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.lines().any(|line| line.starts_with("CapEff:") && line.ends_with("0000000000000000")));
        return crate::watchers().for_each(|watcher| writes_are_listed(&watcher));
    }
    // SAFETY: a call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        skip("root", "only root can become nobody");
        return;
    }
    child("environment::nobody_without_capabilities_is_served_as_well").prepare(become_nobody).must_pass();
}

#[test]
fn without_descriptors_it_says_so() {
    if is_child() {
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call reads `limit`.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
        for mechanism in [Mechanism::Async, Mechanism::Sync, Mechanism::Cow] {
            assert!(matches!(Watcher::with(mechanism), Err(ntux_watch::Error::Os(_))));
        }
        return;
    }
    child("environment::without_descriptors_it_says_so").must_pass();
}

#[test]
fn a_program_that_is_started_inherits_no_descriptor() {
    if is_child() {
        let _watchers: Vec<Watcher> = crate::watchers().collect();
        let listing = std::process::Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
        let listing = String::from_utf8(listing.stdout).unwrap();
        assert!(!listing.contains("userfaultfd") && !listing.contains("pagemap"), "{listing}");
        return;
    }
    child("environment::a_program_that_is_started_inherits_no_descriptor").must_pass();
}

/// What /proc shows under the number of such a process is empty.
#[test]
fn a_process_whose_first_thread_has_ended_is_served() {
    if is_child() {
        let served = || {
            let before: Vec<Watcher> = crate::watchers().collect();
            end_first_thread();
            before.into_iter().chain(crate::watchers()).for_each(|watcher| writes_are_listed(&watcher));
            println!("served");
        };
        // Nobody is left who would wait for the end of the test.
        let served = move || std::process::exit(i32::from(std::panic::catch_unwind(served).is_err()));
        std::thread::spawn(served).join().unwrap();
    }
    for without in ["", "mapping_query,thread_self"] {
        let test = child("environment::a_process_whose_first_thread_has_ended_is_served");
        let (status, text) = test.env("NTUX_WITHOUT", without).run();
        assert!(status.success() && text.contains("served"), "{status}\n{text}");
    }
}

fn uses(expected: Mechanism) {
    let watcher = Watcher::new().unwrap();
    assert_eq!(watcher.mechanism(), Ok(expected));
    writes_are_listed(&watcher);
}

fn writes_are_listed(watcher: &Watcher) {
    let memory = Memory::committed(watcher, 300);
    memory.write_all(&[0, 7, 299]);
    assert_eq!(memory.get(Reset::Yes), [0, 7, 299]);
    memory.write(8);
    assert_eq!(memory.get(Reset::Yes), [8]);
    assert!(memory.get(Reset::No).is_empty());
}

/// Root could still use the device of the same name.
fn become_nobody_if_root() -> std::io::Result<()> {
    // SAFETY: a call without arguments.
    if unsafe { libc::geteuid() } == 0 { become_nobody() } else { Ok(()) }
}

fn become_nobody() -> std::io::Result<()> {
    const NOBODY: u32 = 65534;
    // SAFETY: calls without pointers, except for an empty list.
    let failed =
        unsafe { libc::setgroups(0, core::ptr::null()) != 0 || libc::setgid(NOBODY) != 0 || libc::setuid(NOBODY) != 0 };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
