// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/doctor/wine.rs`.

use super::*;

fn held(mapped: &[&str], descriptors: &[&str]) -> Synchronization {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Held { mapped: own(mapped), descriptors: own(descriptors) }.synchronization()
}

#[test]
fn what_a_process_holds_decides() {
    let arena = "/memfd:ntsync (deleted)";
    assert_eq!(held(&["/lib/wine/ntdll.so"], &["/dev/pts/1", "socket:[1]"]), Synchronization::Server);
    assert_eq!(held(&[], &["/dev/ntsync"]), Synchronization::Driver);
    assert_eq!(held(&[], &["anon_inode:ntsync"]), Synchronization::Driver);
    assert_eq!(held(&["/a/libntux.so.0.1.0"], &[arena]), Synchronization::BackEnd);
    assert_eq!(held(&["/a/libntux.so.0 (deleted)", arena], &[]), Synchronization::BackEnd);
    assert_eq!(held(&["/a/libntux_preload.so", arena], &[]), Synchronization::Device);
    assert_eq!(held(&["/a/libntux_preload.so", "/a/libntux.so", arena], &[]), Synchronization::BackEnd);
    assert_eq!(held(&["/a/libntux_preload.so"], &[]), Synchronization::Server, "loaded, and not used");
    assert_eq!(held(&[], &[arena]), Synchronization::Unserved);
    assert_eq!(held(&["/dev/shm/wine-d00a2-fsync"], &[]), Synchronization::Fsync);
    assert_eq!(held(&["/dev/shm/wine-d00a2-esync (deleted)"], &[]), Synchronization::Esync);
    assert_eq!(held(&["/dev/shm/other-esync", "/a/libntux.sound"], &["/memfd:other"]), Synchronization::Server);
}

#[test]
fn a_mapping_is_named_by_what_is_behind_its_addresses() {
    let maps = "1-2 r-xp 00000000 fe:00 12 /a b/ntdll.so\n2-3 r-xp 00000000 fe:00 12 /a b/ntdll.so\n3-4 rw-p 0 00:00 0 [heap]\n";
    assert_eq!(mapped(maps), ["/a b/ntdll.so"]);
}

#[test]
fn a_wineserver_that_is_alone_is_told_why() {
    let old = b"\x7fELF\0Wine is\0Wine 9.0 (Staging)\0".as_slice();
    let without = b"\x7fELF\0Wine 11.10\0".as_slice();
    let with = b"\x7fELF\0Wine 11.10\0/dev/ntsync\0".as_slice();
    assert_eq!(version(old), Some((9, 0)));
    let cases = [
        (old, false, "Wine 9.0 knows no driver"),
        (without, false, "without linux/ntsync.h"),
        (with, false, "`ntux run -- wine"),
        (with, true, "start it again"),
    ];
    for (program, has_device, words) in cases {
        let why = why_alone(program, false, has_device);
        assert!(why.contains(words), "{why}");
    }
    assert!(why_alone(with, true, false).contains("--log"));
    assert!(why_alone(b"no version", false, false).starts_with("it was built without"));
}
