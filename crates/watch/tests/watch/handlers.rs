// SPDX-License-Identifier: MIT OR Apache-2.0
//! The signal of page protection, and a program that has a use for it itself. Each test has a process of its own.
#![cfg(target_os = "linux")]

use core::ffi::{c_int, c_void};

use ntux_platform::atomic::{Word32, Word64};
use ntux_watch::{Mechanism, Protection, Reset, Watcher};

use crate::child::{Child, child, is_child};
use crate::memory::Memory;
use crate::skips::skip;

/// Pages that the program's own handler opens.
static OWN_PAGE: Word64 = Word64::new(0);
static CALLS: Word32 = Word32::new(0);
static BEFORE: Word64 = Word64::new(0);

fn watched() -> (Watcher, Memory) {
    // The one that `NTUX_WATCH` names.
    let watcher = Watcher::new().unwrap();
    let memory = Memory::committed(&watcher, 100);
    (watcher, memory)
}

/// The test in a process of its own, where this mechanism watches.
fn child_with(mechanism: Mechanism, test: &str) -> Child {
    child(test).env("NTUX_WATCH", mechanism.name())
}

/// Those that have a handler for the signal.
fn with_handler() -> impl Iterator<Item = Mechanism> {
    [Mechanism::Cow, Mechanism::Mprotect].into_iter().filter(|mechanism| {
        let works = mechanism.probe();
        works.inspect_err(|error| skip(&format!("mechanism-{}", mechanism.name()), error)).is_ok()
    })
}

/// A page that may not be written, and is the program's own business.
fn own_page() -> usize {
    let page = ntux_platform::protection::allocate(ntux_watch::page_size(), Protection::READ).unwrap();
    OWN_PAGE.store(page as u64);
    page
}

fn install(handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    // SAFETY: a valid action, and a place for the one before.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        let mut before: libc::sigaction = core::mem::zeroed();
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, &mut before), 0);
        BEFORE.store(before.sa_sigaction as u64);
    }
}

fn open_own_page() -> bool {
    CALLS.fetch_add(1);
    let page = OWN_PAGE.load() as usize;
    // SAFETY: the page is the test's.
    unsafe { ntux_platform::protection::protect(page, ntux_watch::page_size(), Protection::READ_WRITE) }.is_ok()
}

extern "C" fn opens_own_page(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel's information; ends the process.
    unsafe {
        if (*info).si_addr() as u64 != OWN_PAGE.load() || !open_own_page() {
            libc::_exit(9);
        }
    }
}

/// A handler that asks who was there before, as a well-behaved one does.
extern "C" fn asks_the_one_before(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's information.
    if unsafe { (*info).si_addr() } as u64 == OWN_PAGE.load() && open_own_page() {
        return;
    }
    CALLS.fetch_add(100);
    // SAFETY: what sigaction said was there, a handler with three arguments.
    let before: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
        unsafe { core::mem::transmute(BEFORE.load() as usize) };
    before(number, info, context);
}

fn store(address: usize) {
    // SAFETY: meant to fault; a handler makes the page writable, or the process ends.
    unsafe { (address as *mut u8).write_volatile(1) };
}

#[test]
fn a_handler_that_was_there_before_gets_what_is_not_ours() {
    if is_child() {
        install(opens_own_page);
        let (_watcher, memory) = watched();
        memory.write(5);
        store(own_page());
        memory.write(6);
        assert_eq!(memory.get(Reset::Yes), [5, 6]);
        assert_eq!(CALLS.load(), 1);
        return;
    }
    with_handler().for_each(|mechanism| {
        child_with(mechanism, "handlers::a_handler_that_was_there_before_gets_what_is_not_ours").must_pass()
    });
}

#[test]
fn a_handler_that_comes_later_is_put_behind_ours_at_the_next_reset() {
    if is_child() {
        let (_watcher, memory) = watched();
        memory.write(5);
        install(opens_own_page);
        assert_eq!(memory.get(Reset::Yes), [5]);
        memory.write(6);
        store(own_page());
        assert_eq!(memory.get(Reset::Yes), [6]);
        assert_eq!(CALLS.load(), 1);
        return;
    }
    with_handler().for_each(|mechanism| {
        child_with(mechanism, "handlers::a_handler_that_comes_later_is_put_behind_ours_at_the_next_reset").must_pass()
    });
}

#[test]
fn a_later_handler_that_asks_ours_need_not_wait_for_a_reset() {
    if is_child() {
        let (_watcher, memory) = watched();
        install(asks_the_one_before);
        memory.write(5);
        assert_eq!(CALLS.load(), 100);
        assert_eq!(memory.get(Reset::Yes), [5]);
        store(own_page());
        assert_eq!(CALLS.load(), 101);
        return;
    }
    child_with(Mechanism::Mprotect, "handlers::a_later_handler_that_asks_ours_need_not_wait_for_a_reset").must_pass();
}

#[test]
fn two_handlers_that_ask_each_other_do_not_do_so_for_ever() {
    if is_child() {
        let (_watcher, memory) = watched();
        install(asks_the_one_before);
        assert!(memory.get(Reset::Yes).is_empty());
        // Now ours is in front of the program's, which asks ours: nobody knows this address.
        store(8);
        return;
    }
    child_with(Mechanism::Mprotect, "handlers::two_handlers_that_ask_each_other_do_not_do_so_for_ever")
        .must_die_of(libc::SIGSEGV);
}

#[test]
fn an_access_that_is_wrong_ends_the_program_as_it_would_have() {
    if is_child() {
        let (_watcher, memory) = watched();
        match std::env::var("ACCESS").unwrap().as_str() {
            "nowhere" => store(8),
            "read-only" => {
                memory.write(3);
                memory.protect(0, 10, false);
                store(memory.address(3));
            }
            "decommitted" => {
                memory.decommit(3, 4);
                store(memory.address(3));
            }
            "released" => {
                let address = memory.address(3);
                drop(memory);
                store(address);
            }
            // SAFETY: meant to fault: the page is data.
            _ => unsafe { core::mem::transmute::<usize, extern "C" fn()>(memory.address(3))() },
        }
        return;
    }
    for mechanism in with_handler() {
        for access in ["nowhere", "read-only", "decommitted", "released", "execute"] {
            child_with(mechanism, "handlers::an_access_that_is_wrong_ends_the_program_as_it_would_have")
                .env("ACCESS", access)
                .must_die_of(libc::SIGSEGV);
        }
    }
}

#[test]
fn known_limit_a_thread_that_blocks_the_signal_dies_unless_it_holds_the_pages() {
    if is_child() {
        let (watcher, memory) = watched();
        let _quiet = ntux_platform::watching::segv::Blocked::all();
        let hold = watcher.hold(&[memory.range(0, 2)]).unwrap();
        memory.write(1);
        drop(hold);
        assert_eq!(memory.get(Reset::Yes), [0, 1]);
        if std::env::var_os("HELD").is_none() {
            memory.write(50);
        }
        return;
    }
    let test = || {
        child_with(
            Mechanism::Mprotect,
            "handlers::known_limit_a_thread_that_blocks_the_signal_dies_unless_it_holds_the_pages",
        )
    };
    test().env("HELD", "1").must_pass();
    test().must_die_of(libc::SIGSEGV);
}

#[test]
fn a_store_from_a_handler_is_seen() {
    extern "C" fn stores(_: c_int) {
        store(OWN_PAGE.load() as usize);
    }
    if is_child() {
        let (_watcher, memory) = watched();
        OWN_PAGE.store(memory.address(9) as u64);
        // SAFETY: a handler with one argument.
        unsafe { libc::signal(libc::SIGUSR1, stores as *const () as usize) };
        // SAFETY: runs the handler here.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_eq!(memory.get(Reset::Yes), [9]);
        return;
    }
    with_handler().for_each(|mechanism| child_with(mechanism, "handlers::a_store_from_a_handler_is_seen").must_pass());
}
