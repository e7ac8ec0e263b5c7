// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/descriptors/numbers.rs`.

use super::*;

// Each test uses its own descriptors, because the process has one table.
const EVENT: Known = Known { tag: 7, what: What::Object(Kind::ManualEvent, Object(0x1234_5678_9abc_def0)) };

#[test]
fn remembers_every_kind() {
    let kinds = [Kind::Semaphore, Kind::Mutex, Kind::AutoEvent, Kind::ManualEvent];
    let objects = kinds.map(|kind| What::Object(kind, Object(u64::MAX - 1)));
    for what in objects.into_iter().chain([What::Device]) {
        let known = Known { tag: 9, what };
        let (before, seen) = look_up(900);
        assert_eq!(before, None);
        remember(900, seen, known);
        assert_eq!(look_up(900).0, Some(known));
        assert!(any_of(9));
        forget(900);
    }
    assert_eq!(look_up(900).0, None);
}

#[test]
fn a_late_fill_fails() {
    let (_, seen) = look_up(901);
    remember(901, seen, EVENT);
    forget(901);
    remember(901, seen, EVENT);
    assert_eq!(look_up(901).0, None, "the entry changed since it was seen");
}

#[test]
fn nobody_fills_an_entry_that_is_being_closed() {
    let (_, seen) = look_up(902);
    remember(902, seen, EVENT);
    put(entry(902).expect("memory"), CLOSING);
    let (known, seen) = look_up(902);
    assert_eq!(known, None);
    remember(902, seen, EVENT);
    assert_eq!(look_up(902).0, None);
    forget(902);
    remember(902, look_up(902).1, EVENT);
    assert_eq!(look_up(902).0, Some(EVENT));
    assert!(within(0, u32::MAX).contains(&902) && !within(0, 901).contains(&902));
}

#[test]
fn numbers_out_of_range_are_never_known() {
    for fd in [-1, entries::REMEMBERED as c_int, c_int::MAX, c_int::MIN] {
        let (known, seen) = look_up(fd);
        assert_eq!(known, None);
        remember(fd, seen, EVENT);
        forget(fd);
        assert_eq!(look_up(fd).0, None);
    }
}
