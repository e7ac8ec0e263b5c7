// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/device/loading.rs`.

use super::*;
use std::ffi::CString;
use std::io::Write;

fn room() -> Vec<u8> {
    zeroes(ROOM).unwrap()
}

#[test]
fn this_test_needs_both() {
    let own = File::open(c"/proc/self/exe").unwrap();
    let mut room = room();
    assert!(contains(b"before\0ioctl\0", b"\0ioctl\0") && !contains(b"before", b"ioctl"));
    assert_eq!(Needs::of(&own, &mut room), Some(Needs { ioctl: true, device: true }));
    assert_eq!(Needs::of(&File::open(c"/proc/self/stat").unwrap(), &mut room), None);
    assert!(!is_loaded(&own), "the program itself has no name");
}

#[test]
fn a_word_is_found_wherever_it_lies() {
    let path = std::env::temp_dir().join(format!("ntux-words-{}", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: numbers only.
    let mut section: Elf64_Shdr = unsafe { core::mem::zeroed() };
    for before in [0, 5, ROOM - 20, ROOM - 11, ROOM - 4, ROOM - 1, ROOM, 2 * ROOM - WORD_MAX - 3] {
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&vec![b'/'; before]).unwrap();
        file.write_all(b"/dev/ntsync and more").unwrap();
        let library = File::open(&name).unwrap();
        section.sh_size = before as u64 + 20;
        let has = |section: &Elf64_Shdr, mut budget| {
            has(&library, section, &[b"nothing", DEVICE.to_bytes()], &mut budget, &mut room())
        };
        assert!(has(&section, READ_MAX), "{before}");
        assert!(!has(&section, before as u64 + 10), "the budget ends within it: {before}");
        section.sh_size = u64::MAX;
        assert!(has(&section, READ_MAX), "cut off: {before}");
        section.sh_size = before as u64 + 10;
        assert!(!has(&section, READ_MAX), "the section ends within it: {before}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_library_is_found_by_its_name_where_the_loader_would() {
    let mut room = room();
    let caller = a_library_is_found_by_its_name_where_the_loader_would as *const () as usize;
    let library = find(c"libc.so.6", caller, &mut room).expect("the C library is in the system's directories");
    assert!(is_loaded(&library));
    assert!(find(c"there is no such library", caller, &mut room).is_none());
    assert!(find(c"$ORIGIN/libc.so.6", caller, &mut room).is_none());
    assert!(find(c"/", caller, &mut room).is_none() && find(c"", caller, &mut room).is_none());
}
