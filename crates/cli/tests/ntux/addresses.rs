// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux why` of threads that wait for no object, as Windows' critical sections, SRW locks and addresses have them wait under Wine. This
//! process stands in for the Windows program: it lays out in its memory what Wine does.

use std::ffi::c_long;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::ptr;

use ntux_sync::{Arena, Deadline, Object};
use serde_json::Value;

use crate::stage::{Stage, complained, said};
use crate::why::{Actor, CAPACITY, FailsFast, kinds, sleepers, start_as, this_process, told, until, why};

const PAGE: usize = 4096;
/// The Windows numbers of two threads.
const TRANSFER: u32 = 0x24;
const AUDIT: u32 = 0x28;

/// Four pages below 2 GiB: the block of the thread that is audited, its futex, its stack, and what it waits for.
struct Layout(*mut u8);

// SAFETY: its words are written and read as wholes, and never used as references.
unsafe impl Sync for Layout {}

impl Drop for Layout {
    /// A block that stays behind would be another thread of the same number.
    fn drop(&mut self) {
        // SAFETY: no thread uses it any more.
        assert_eq!(unsafe { libc::munmap(self.0.cast(), 4 * PAGE) }, 0);
    }
}

impl Layout {
    const ENTRY: usize = 2 * PAGE + 0x100;
    const QUEUE: usize = 3 * PAGE;
    const SECTION: usize = 3 * PAGE + 0x40;
    const LOCK: usize = 3 * PAGE + 0x80;

    #[allow(clippy::disallowed_methods, reason = "what a program does by itself")]
    fn new() -> Layout {
        let (hint, access, kind) =
            (0x1000_0000 as *mut _, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a mapping of our own, where there is room.
        let start = unsafe { libc::mmap(hint, 4 * PAGE, access, kind, -1, 0) };
        assert!((start as usize) < 1 << 31, "the hint was taken: {start:?}");
        let layout = Layout(start.cast());
        let stack = layout.at(2 * PAGE)..layout.at(3 * PAGE);
        for (place, word) in [(8, stack.end), (16, stack.start), (48, layout.at(0)), (64, 0x20), (72, u64::from(AUDIT))]
        {
            layout.write(place, word);
        }
        layout
    }

    fn at(&self, place: usize) -> u64 {
        self.0 as u64 + place as u64
    }

    fn write(&self, place: usize, word: u64) {
        // SAFETY: within the mapping.
        unsafe { ptr::write_volatile(self.0.add(place).cast(), word) };
    }

    /// The audited thread waits for this address, as the only one.
    fn wait_for(&self, address: u64) {
        for (place, word) in [
            (Layout::ENTRY, self.at(Layout::QUEUE)),
            (Layout::ENTRY + 8, self.at(Layout::QUEUE)),
            (Layout::ENTRY + 16, address),
            (Layout::ENTRY + 24, u64::from(AUDIT)),
            (Layout::QUEUE, self.at(Layout::ENTRY)),
            (Layout::QUEUE + 8, self.at(Layout::ENTRY)),
        ] {
            self.write(place, word);
        }
    }

    /// The other thread has the critical section once, and one thread waits.
    fn own_section(&self) {
        self.write(Layout::SECTION, u64::MAX);
        self.write(Layout::SECTION + 8, 1 << 32 | 1);
        self.write(Layout::SECTION + 16, u64::from(TRANSFER));
        self.write(Layout::SECTION + 24, 0);
    }

    /// The word for which the audited thread sleeps: the table begins with the thread of number 4.
    fn futex(&self) -> *mut u32 {
        // SAFETY: within the mapping.
        unsafe { self.0.add(PAGE + AUDIT as usize - 4).cast() }
    }

    #[allow(clippy::disallowed_methods, reason = "what Wine does")]
    fn sleep(&self) {
        // SAFETY: the word is mapped as long as the threads are there.
        while unsafe { ptr::read_volatile(self.futex()) } == 0 {
            // SAFETY: as above.
            unsafe {
                libc::syscall(libc::SYS_futex, self.futex(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, 0, 0usize)
            };
        }
    }

    #[allow(clippy::disallowed_methods, reason = "what Wine does")]
    fn wake(&self) {
        // SAFETY: as above.
        let woken: c_long = unsafe {
            ptr::write_volatile(self.futex(), 1);
            libc::syscall(libc::SYS_futex, self.futex(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1)
        };
        assert!(woken >= 0);
    }
}

/// What the scene is made of.
struct Program {
    stage: Stage,
    arena: Arena,
    layout: Layout,
    mutex: Object,
    gate: Object,
    _server: Actor,
}

impl Program {
    /// The thread `transfer` has the critical section and waits for the mutex of `audit`, which waits for an address.
    fn run(look: impl FnOnce(&Program)) {
        let stage = Stage::new();
        let arena = Arena::create(CAPACITY).unwrap();
        let waiter = arena.waiter();
        let mutex = arena.mutex_create(&waiter, AUDIT, 1).unwrap();
        let gate = arena.event_create(&waiter, false, false).unwrap();
        let server = stage.path("wineserver");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &server).unwrap();
        let _server = start_as(&server, &arena, 4, &[]);
        sleepers(&arena, 1);
        let program = Program { stage, arena, layout: Layout::new(), mutex, gate, _server };
        // SAFETY: takes numbers. (Where a process may trace its children only, these may trace it.)
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
        std::thread::scope(|scope| {
            let program = &program;
            let _fails_fast = (FailsFast::new(&program.arena, program.arena.fd().unwrap()), WakesIfItFails(program));
            let start = |name: &str, work: fn(&Program)| {
                std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, move || work(program)).unwrap()
            };
            start("audit", |program| {
                let arena = &program.arena;
                arena.wait_any(&arena.waiter(), &[program.gate], None, AUDIT, Deadline::Never).unwrap();
                program.layout.sleep();
            });
            sleepers(&program.arena, 2);
            program.arena.event_set(&program.arena.waiter(), program.gate).unwrap();
            start("transfer", |program| {
                let arena = &program.arena;
                arena.wait_any(&arena.waiter(), &[program.mutex], None, TRANSFER, Deadline::Never).unwrap();
            });
            sleepers(&program.arena, 2);
            until(|| program.told(&[])["address_waits"].as_array().unwrap().len() == 1);
            look(program);
            program.end();
        });
    }

    fn end(&self) {
        self.layout.wake();
        let _ = self.arena.mutex_kill(&self.arena.waiter(), self.mutex, AUDIT);
    }

    fn told(&self, options: &[&str]) -> Value {
        let output = why(&self.stage, &[&[&*this_process(), "--json"], options].concat());
        told(&output, &self.arena)
    }

    /// What the audited thread waits for, as its memory says.
    fn awaited(&self) -> Value {
        self.told(&["--memory"])["address_waits"][0].clone()
    }
}

/// Ends the thread that sleeps elsewhere.
struct WakesIfItFails<'a>(&'a Program);

impl Drop for WakesIfItFails<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

#[test]
fn a_deadlock_over_a_critical_section_and_a_mutex_is_one_cycle() {
    Program::run(|program| {
        program.layout.own_section();
        program.layout.wait_for(program.layout.at(Layout::SECTION + 24));
        let seen = program.told(&[]);
        assert_eq!(kinds(&seen), [""; 0], "without its memory nothing is known: {seen:#}");
        let wait = &seen["address_waits"][0];
        assert_eq!(
            (&wait["for"], &wait["name"], &wait["windows_thread"]),
            (&"unknown".into(), &"audit".into(), &AUDIT.into())
        );
        assert!(said(&why(&program.stage, &[&this_process()])).contains("ntux why --memory"), "the remedy is named");
        assert_eq!(seen["stacks"], Value::Array(Vec::new()));
        // This process has a block, as a Windows program, and makes its system calls by itself.
        let stacks = program.told(&["--stacks"])["stacks"].as_array().unwrap().clone();
        let missing: Vec<&str> = stacks.iter().filter_map(|stack| stack["missing"].as_str()).collect();
        assert_eq!(missing, ["no frame of Wine's system calls is on its stack"; 2], "{stacks:#?}");
        let text = said(&why(&program.stage, &[&this_process(), "--stacks"]));
        assert!(text.contains("audit (thread 0028):\n  unknown: no frame of Wine"), "{text}");

        let seen = program.told(&["--memory"]);
        assert_eq!(kinds(&seen), ["deadlock"], "{seen:#}");
        let wait = &seen["address_waits"][0];
        let place = program.layout.at(Layout::SECTION);
        assert_eq!((&wait["for"], &wait["address"]), (&"critical-section".into(), &place.into()));
        assert_eq!(wait["owner"]["name"], "transfer", "{wait:#}");
        let output = why(&program.stage, &[&this_process(), "--memory"]);
        assert_eq!(output.status.code(), Some(1), "{}", complained(&output));
        let text = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "DEADLOCK of 2 threads, over critical sections and mutexes:".to_owned(),
            format!("audit (thread 0028) waits for critical section {place:#x}, which {}/", this_process()),
            "transfer (thread 0024) has".to_owned(),
            format!("transfer (thread 0024) waits for mutex #{}", program.mutex.0 & 0xffff_ffff),
            "of thread 0028".to_owned(),
            " wineserver".to_owned(),
        ] {
            assert!(text.contains(&words), "no {words:?} in\n{text}");
        }
        let thread = format!("{}/{}", this_process(), wait["thread"]);
        let alone = said(&why(&program.stage, &[&thread, "--memory"]));
        assert!(alone.contains("waits for critical section") && !alone.contains("for no object of ntux"), "{alone}");
    });
}

/// Wine's server answers with so many bytes.
#[test]
fn a_thread_that_waits_for_the_server_is_listed() {
    Program::run(|program| {
        let (mut answer, mut server) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            let name = std::thread::Builder::new().name("sleeps".to_owned());
            name.spawn_scoped(scope, move || answer.read_exact(&mut [0; 16])).unwrap();
            let waits = || {
                let waits = program.told(&[])["address_waits"].as_array().unwrap().clone();
                waits.into_iter().find(|wait| wait["for"] == "server")
            };
            until(|| waits().is_some_and(|wait| wait["name"] == "sleeps"));
            let text = said(&why(&program.stage, &[&this_process()]));
            assert!(text.contains("sleeps waits for Wine's server, which alone knows"), "{text}");
            server.write_all(&[0; 16]).unwrap();
        });
    });
}

#[test]
fn locks_and_addresses_are_told_by_what_stands_there() {
    Program::run(|program| {
        let layout = &program.layout;
        // Three threads share the lock; one thread waits to have it alone, at the upper half.
        layout.write(Layout::LOCK, 3 << 16 | 2);
        layout.wait_for(layout.at(Layout::LOCK + 2));
        let seen = program.awaited();
        let lock = layout.at(Layout::LOCK);
        assert_eq!((&seen["for"], &seen["address"], &seen["owners"]), (&"srw-lock".into(), &lock.into(), &3.into()));
        layout.write(Layout::LOCK, 77);
        layout.wait_for(lock);
        let seen = program.awaited();
        assert_eq!((&seen["for"], &seen["address"], &seen["value"]), (&"value".into(), &lock.into(), &77.into()));
        // A section that nobody has is none.
        layout.own_section();
        layout.write(Layout::SECTION + 16, 0);
        layout.wait_for(layout.at(Layout::SECTION + 24));
        assert_eq!(program.awaited()["for"], "value");
        // An entry that is in no list any more tells nothing.
        layout.write(Layout::QUEUE, layout.at(Layout::QUEUE));
        assert_eq!(program.awaited()["for"], "unknown");
        layout.wait_for(layout.at(Layout::LOCK));
        // A block that points to no stack.
        layout.write(8, 0);
        assert_eq!(program.awaited()["for"], "unknown");
        let file = format!("{}:{}", this_process(), program.arena.fd().unwrap().as_raw_fd());
        assert_eq!(
            told(&why(&program.stage, &[&file, "--json"]), &program.arena)["address_waits"],
            Value::Array(Vec::new())
        );
    });
}
