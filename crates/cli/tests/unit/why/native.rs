// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const AT: u64 = 0x7f00_0000_1000;
/// A thread has it twice, and another one sleeps.
const GOOD: [u32; 8] = [u32::MAX, u32::MAX, u32::MAX, 2, 4711, 0, LOCKED | WAITING, 0];

fn sleep_on(place: u64, expected: u32) -> SystemCall {
    SystemCall { number: FUTEX, arguments: [AT + place, WAIT_BITSET, expected.into(), 0, 0, 0], stack: 8 }
}

fn section_of(halves: [u32; 8], sleep: &SystemCall) -> Option<Section> {
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    Section::parse(bytes.as_slice().try_into().expect("so long"), AT, sleep)
}

fn changed(place: usize, half: u32) -> [u32; 8] {
    let mut halves = GOOD;
    halves[place / 4] = half;
    halves
}

#[test]
fn a_section_has_an_owner_and_a_lock_for_which_threads_wait() {
    let sleep = sleep_on(LOCK, LOCKED | WAITING);
    let found = Some(Section { owner: 4711, recursion: 2 });
    assert_eq!(section_of(GOOD, &sleep), found);
    assert_eq!(section_of(changed(8, 0), &sleep), found, "zeros are a section, too");
    let wrong =
        [(8, 1), (12, 0), (12, RECURSION_MAX), (16, 0), (20, 1), (24, LOCKED), (24, WAITING), (24, HANDED | WAITING)];
    for (place, half) in wrong {
        assert_eq!(section_of(changed(place, half), &sleep), None, "{half:#x} at {place}");
    }
    for expected in [0, 2, LOCKED, WAITING | LOCKED | HANDED] {
        assert_eq!(section_of(GOOD, &sleep_on(LOCK, expected)), None, "nobody sleeps there with {expected}");
    }
}

#[test]
fn who_has_waited_for_long_sleeps_on_the_next_word() {
    let starved = changed(24, LOCKED | WAITING | ONE_STARVING);
    assert!(section_of(starved, &sleep_on(CALLS, 0)).is_some());
    assert_eq!(section_of(GOOD, &sleep_on(CALLS, 0)), None, "nobody starves");
    assert_eq!(section_of(starved, &sleep_on(CALLS, 1)), None, "so often it was not handed over");
}

#[test]
fn a_section_is_looked_for_where_a_thread_sleeps_without_a_deadline() {
    for place in [LOCK, CALLS] {
        assert_eq!(start_of_section(&sleep_on(place, 3)), Some(AT));
    }
    let good = sleep_on(LOCK, 3);
    let with = |argument: usize, value: u64| {
        let mut sleep = good;
        sleep.arguments[argument] = value;
        start_of_section(&sleep)
    };
    assert_eq!(with(1, WAIT | 128), Some(AT));
    let nothing = [with(0, AT + 26), with(0, 8), with(1, 1), with(1, 6 | 128), with(3, 0x7ffe_0000)];
    assert_eq!(nothing, [None; 5]);
    assert_eq!(start_of_section(&SystemCall { number: FUTEX + 1, ..good }), None);
}
