// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const MUTEX: Object = Object(3 << 32 | 7);

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_ne_bytes).collect()
}

/// What a server shows of an object in slot 7 that has the second of its names, which is so long.
fn shown(number: u64, place: u32, length: u32) -> Shown {
    let file = tempfile::tempfile().expect("a temporary file");
    let write = |at: u64, bytes: &[u8]| file.write_all_at(bytes, at).expect("our own file");
    let objects = HEADER + 7 * OBJECT as u64;
    write(0, MAGIC);
    write(8, &10_u32.to_ne_bytes());
    write(12, &2_u32.to_ne_bytes());
    write(objects, &number.to_ne_bytes());
    for (at, half) in [(8, 4711_u32), (12, 0x20), (16, 0x54), (20, place), (24, 0x24), (60, 0x1f_0001)] {
        write(objects + at, &half.to_ne_bytes());
    }
    write(objects + 28, &wide("Mutant"));
    let name = HEADER + 10 * OBJECT as u64 + NAME as u64;
    write(name + 4, &length.to_ne_bytes());
    write(name + 8, &wide("\\BaseNamedObjects\\journal"));
    write(name + NAME as u64 - 1, &[0]);
    Shown::read(file).expect("it has a header")
}

#[test]
fn an_object_is_told_by_its_slot_and_its_generation() {
    let seen = shown(MUTEX.0, 1, 50).object(MUTEX).expect("it is shown");
    assert_eq!((seen.kind.as_str(), seen.name.as_deref()), ("Mutant", Some("\\BaseNamedObjects\\journal")));
    assert_eq!((seen.handle, seen.access, seen.pid, seen.process, seen.is), (0x54, 0x1f_0001, 4711, 0x20, Some(0x24)));
    for other in [Object(4 << 32 | 7), Object(3 << 32 | 8), Object(3 << 32 | 11), Object(u64::MAX)] {
        assert_eq!(shown(MUTEX.0, 1, 50).object(other), None, "{other:?}");
    }
    assert_eq!(shown(0, 1, 50).object(Object(7)), None, "an entry that is being written");
}

#[test]
fn a_name_that_is_rubbish_is_none() {
    let name = |place, length| shown(MUTEX.0, place, length).object(MUTEX).expect("it is shown").name;
    assert_eq!(name(1, 36).as_deref(), Some("\\BaseNamedObjects\\"));
    for (place, length) in [(0, 50), (1, 0), (1, 249), (1, u32::MAX), (2, 50), (u32::MAX, 50)] {
        assert_eq!(name(place, length), None, "{length} letters at {place}");
    }
}

#[test]
fn a_file_that_is_something_else_shows_nothing() {
    let file = tempfile::tempfile().expect("a temporary file");
    assert!(Shown::read(file.try_clone().expect("a descriptor")).is_none());
    file.write_all_at(b"ntuxnam1 of another version", 0).expect("our own file");
    assert!(Shown::read(file).is_none());
    assert!(Shown::of(std::process::id()).is_none(), "this process shows nothing");
}
