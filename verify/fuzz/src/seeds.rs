// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the parsers understand, as small as they get.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use ntux_sync::inspect::View;
use ntux_sync::trace::Tracer;
use ntux_sync::{Arena, Capacity, Deadline};

const EXECUTABLE: u16 = 2;
const LIBRARY: u16 = 3;
const CORE: u16 = 4;
const MACHINE: u16 = if cfg!(target_arch = "x86_64") { libc::EM_X86_64 } else { libc::EM_AARCH64 };

/// The bytes of ELF's header of this size.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;

/// A file of ELF: segments are (type, place, length), sections (type, link, info, place, length), the last of them one of strings.
fn elf(kind: u16, segments: &[(u32, u64, u64)], sections: &[(u32, u32, u32, u64, u64)], content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    let sections_at = HEADER + SEGMENT * segments.len() + content.len();
    for half in [kind, MACHINE] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes());
    for word in [0, HEADER as u64, if sections.is_empty() { 0 } else { sections_at as u64 }] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(0u32.to_le_bytes());
    let halves = [HEADER, SEGMENT, segments.len(), SECTION, sections.len(), sections.len().saturating_sub(1)];
    bytes.extend(halves.into_iter().flat_map(|half| (half as u16).to_le_bytes()));
    for &(kind, place, length) in segments {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        bytes.extend([place, 0, 0, length, length, 1].into_iter().flat_map(u64::to_le_bytes));
    }
    bytes.extend(content);
    for &(kind, link, info, place, length) in sections {
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend([0, 0, place, length].into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(link.to_le_bytes());
        bytes.extend(info.to_le_bytes());
        bytes.extend([1, 0].into_iter().flat_map(u64::to_le_bytes));
    }
    bytes
}

/// A program with a loader, one of musl, a static one, a narrow one, and a script.
pub fn programs() -> Vec<Vec<u8>> {
    let place = (HEADER + SEGMENT) as u64;
    let loaded_by = |loader: &[u8]| elf(EXECUTABLE, &[(libc::PT_INTERP, place, loader.len() as u64)], &[], loader);
    let mut narrow = loaded_by(b"/lib/ld-linux.so.2\0");
    narrow[libc::EI_CLASS] = libc::ELFCLASS32;
    let mut script = b"#! /bin/sh -e\n".to_vec();
    script.resize(256, b'\n');
    script.extend(loaded_by(b"/lib64/ld-linux-x86-64.so.2\0"));
    let fixed = elf(EXECUTABLE, &[(libc::PT_LOAD, 0, 0)], &[], &[]);
    vec![loaded_by(b"/lib64/ld-linux-x86-64.so.2\0"), loaded_by(b"/lib/ld-musl-x86_64.so.1\0"), fixed, narrow, script]
}

/// A library that gives two versions and needs the newer one, and one that needs what it does not give.
pub fn c_libraries() -> Vec<Vec<u8>> {
    vec![c_library(b"GLIBC_2.34"), c_library(b"GLIBC_2.16")]
}

fn c_library(newest: &[u8; 10]) -> Vec<u8> {
    const VERDEF: u32 = 0x6fff_fffd;
    const VERNEED: u32 = 0x6fff_fffe;
    const STRTAB: u32 = 3;
    const NAME_OF_LIBRARY: u32 = 23;
    const NEEDED: u32 = 33;
    let strings = [b"\0GLIBC_2.15\0", &newest[..], b"\0libc.so.6\0GLIBC_2.34\0"].concat();
    let halves = |halves: [u16; 4]| halves.map(u16::to_le_bytes).concat();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut given = Vec::new();
    for (index, name, next) in [(1, 1, 28), (2, 12, 0)] {
        given.extend(halves([1, 0, index, 1]));
        given.extend(words(&[0, 20, next, name, 0]));
    }
    let mut needed = [1u16, 1].map(u16::to_le_bytes).concat();
    needed.extend(words(&[NAME_OF_LIBRARY, 16, 0, 0]));
    needed.extend([0u16, 2].map(u16::to_le_bytes).concat());
    needed.extend(words(&[NEEDED, 0]));
    let places = [HEADER, HEADER + given.len(), HEADER + given.len() + needed.len()].map(|place| place as u64);
    let sections = [
        (0, 0, 0, 0, 0),
        (VERDEF, 3, 2, places[0], given.len() as u64),
        (VERNEED, 3, 1, places[1], needed.len() as u64),
        (STRTAB, 0, 0, places[2], strings.len() as u64),
    ];
    elf(LIBRARY, &[], &sections, &[given, needed, strings].concat())
}

/// The start of an arena, and a core dump in which it is the second segment.
pub fn core_dumps() -> Vec<Vec<u8>> {
    let arena = &sound_arena()[..2 * View::HEAD];
    let place = (HEADER + 2 * SEGMENT) as u64;
    let segments = [(libc::PT_LOAD, place, 16), (libc::PT_LOAD, place + 16, arena.len() as u64)];
    vec![arena.to_vec(), elf(CORE, &segments, &[], &[&[0; 16], arena].concat())]
}

/// Lines of every operation, understood or not.
pub fn logs() -> Vec<Vec<u8>> {
    vec![
        b"1.000001 10/11 set 7=event#5 -> was 0\n\
          2.000000 10/12 pulse 7=event#5 -> was 0\n\
          2.500000 10/13 reset 7=event#5 -> was 1\n\
          3.000000 10/11 release 9=semaphore#6 -> was 2\n\
          4.000000 10/11 release 9=semaphore#6 -> EOVERFLOW\n\
          6.000000 10/11 create-event manual 0 signaled 0 -> 8=event#9\n"
            .to_vec(),
    ]
}

/// Changes of an arena: to its header, to objects, to the records of a trace.
pub fn arenas() -> Vec<Vec<u8>> {
    let length = sound_arena().len() as u32;
    let change = |place: u32, value: u64| [&place.to_le_bytes()[..], &value.to_le_bytes()].concat();
    let everywhere =
        |step: u32| (24..length).step_by(step as usize).flat_map(|place| change(place, u64::MAX)).collect();
    vec![change(length, 0), (0..64).flat_map(|word| change(8 * word, 1)).collect(), everywhere(1000), everywhere(4096)]
}

/// Events: a thread that sleeps, is given an object by another one, and runs; then one that sleeps until the end.
pub fn traces() -> Vec<Vec<u8>> {
    let event = |number: u64, time_ns: u64, what: u8, thread: u8| {
        [&number.to_le_bytes()[..], &time_ns.to_le_bytes(), &[what, thread | 5 << 2]].concat()
    };
    let events = |base: u64| {
        [(0, 1), (6, 0), (5, 0), (1, 1), (0, 1), (4, 1), (2, 1), (7, 0), (0, 2)]
            .into_iter()
            .zip(0..)
            .flat_map(move |((what, thread), step)| event(step, base.wrapping_add(step * 1_000), what, thread))
            .collect()
    };
    vec![events(1 << 40), events(u64::MAX - 4_000)]
}

/// An arena with an object of each kind, and a wait that was traced.
pub fn sound_arena() -> &'static [u8] {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let arena = Arena::create(Capacity { objects: 8, waiters: 4 }).expect("there is memory");
        let tracer = Tracer::attach(arena.fd().expect("a shared arena").as_fd()).expect("there is memory");
        tracer.keep_on(60_000_000_000);
        let waiter = arena.waiter();
        let semaphore = arena.semaphore_create(&waiter, 0, 9).expect("there is room");
        let event = arena.event_create(&waiter, false, false).expect("there is room");
        arena.mutex_create(&waiter, 7, 1).expect("there is room");
        arena.semaphore_release(&waiter, semaphore, 2).expect("below the maximum");
        arena.wait_any(&waiter, &[event], None, 7, Deadline::after_ns(1_000_000)).expect_err("nobody sets it");
        let file = File::from(arena.fd().expect("a shared arena").as_fd().try_clone_to_owned().expect("a descriptor"));
        let mut bytes = vec![0; file.metadata().expect("a file").len() as usize];
        file.read_exact_at(&mut bytes, 0).expect("it is there");
        bytes
    })
}
