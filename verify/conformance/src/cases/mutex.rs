// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes, one thread.

use crate::case::{Case, case};
use crate::check::{self, abandoned_at, at};
use crate::face::{EINVAL, EPERM, ETIMEDOUT, Face, Object, all, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_new_mutex_is_unowned_or_owned_but_not_half, "S-301"),
    case!(Everywhere, an_owner_id_is_any_number_but_zero, "S-302"),
    case!(Everywhere, a_wait_acquires_a_free_mutex, "S-303"),
    case!(Everywhere, the_owner_enters_again, "S-303"),
    case!(Everywhere, another_owner_must_wait, "S-303"),
    case!(Everywhere, any_thread_with_the_owner_id_is_the_owner, "S-303", "S-302"),
    case!(Everywhere, a_saturated_mutex_is_closed_even_to_its_owner, "S-304"),
    case!(Everywhere, an_unlock_gives_the_count_before_and_the_last_frees, "S-305"),
    case!(Everywhere, an_unlock_by_nobody_or_by_another_changes_nothing, "S-306"),
    case!(Everywhere, an_unowned_mutex_cannot_be_unlocked, "S-306"),
    case!(Everywhere, a_kill_frees_and_marks_as_abandoned, "S-307"),
    case!(Everywhere, a_kill_by_nobody_or_by_another_changes_nothing, "S-308"),
    case!(Everywhere, an_unowned_or_abandoned_mutex_cannot_be_killed, "S-308"),
    case!(Everywhere, the_abandoned_mark_stays_until_somebody_acquires, "S-309"),
    case!(Everywhere, an_abandoned_mutex_cannot_be_unlocked, "S-306", "S-309"),
    case!(Everywhere, who_acquires_an_abandoned_mutex_is_told_once, "S-310"),
    case!(Everywhere, a_mutex_can_be_abandoned_again, "S-307", "S-310"),
    case!(Everywhere, the_end_of_a_thread_does_not_free_its_mutex, "S-311"),
    case!(Everywhere, a_mutex_can_be_created_with_any_recursion_count, "S-312"),
    case!(Everywhere, recursion_counts_up_and_down_without_a_gap, "S-312", "S-305"),
    case!(Everywhere, every_recursion_count_steps_up_and_down, "S-312"),
    case!(Everywhere, a_kill_frees_at_any_recursion_count, "S-312", "S-307"),
    case!(Everywhere, recursion_swings_across_every_boundary, "S-312"),
    case!(Everywhere, wait_all_counts_recursion_as_wait_any_does, "S-312", "S-602"),
];

const ME: u32 = 123;
const OTHER: u32 = 456;

/// Recursion counts around which a compact representation may change.
fn interesting_counts() -> impl Iterator<Item = u32> {
    let around_powers = (1..32).flat_map(|power| {
        let power = 1u32 << power;
        [power - 2, power - 1, power, power + 1]
    });
    let last = u32::MAX - 0x20..=u32::MAX - 1;
    (1..=70).chain(around_powers).chain(last).filter(|count| *count != 0)
}

#[track_caller]
fn lock(face: &dyn Face, mutex: Object, owner: u32) {
    assert_eq!(face.wait(&any(&[mutex]).owner(owner)), at(0));
}

fn a_new_mutex_is_unowned_or_owned_but_not_half(face: &dyn Face) {
    assert_eq!(face.mutex_create(0, 1), Err(EINVAL));
    assert_eq!(face.mutex_create(0, u32::MAX), Err(EINVAL));
    assert_eq!(face.mutex_create(1, 0), Err(EINVAL));
    assert_eq!(face.mutex_create(u32::MAX, 0), Err(EINVAL));
    let unowned = face.mutex_create(0, 0).unwrap();
    check::mutex(face, unowned, 0, 0);
    let owned = face.mutex_create(ME, 2).unwrap();
    check::mutex(face, owned, ME, 2);
}

fn an_owner_id_is_any_number_but_zero(face: &dyn Face) {
    for owner in [1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX] {
        let created = face.mutex_create(owner, 1).unwrap();
        check::mutex(face, created, owner, 1);
        assert_eq!(face.mutex_unlock(created, owner), Ok(1));
        check::mutex(face, created, 0, 0);
        lock(face, created, owner);
        check::mutex(face, created, owner, 1);
        assert_eq!(face.mutex_unlock(created, owner ^ 0x1000_0000), Err(EPERM));
        assert_eq!(face.mutex_kill(created, owner), Ok(()));
        check::abandoned(face, created);
    }
}

fn a_wait_acquires_a_free_mutex(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    lock(face, mutex, ME);
    check::mutex(face, mutex, ME, 1);
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(1));
    check::mutex(face, mutex, 0, 0);
    lock(face, mutex, OTHER);
    check::mutex(face, mutex, OTHER, 1);
}

fn the_owner_enters_again(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 2).unwrap();
    lock(face, mutex, ME);
    check::mutex(face, mutex, ME, 3);
    lock(face, mutex, ME);
    check::mutex(face, mutex, ME, 4);
}

fn another_owner_must_wait(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 2).unwrap();
    assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), Err(ETIMEDOUT));
    check::mutex(face, mutex, ME, 2);
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(2));
    assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), Err(ETIMEDOUT));
    check::mutex(face, mutex, ME, 1);
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(1));
    lock(face, mutex, OTHER);
    check::mutex(face, mutex, OTHER, 1);
    assert_eq!(face.wait(&any(&[mutex]).owner(ME)), Err(ETIMEDOUT));
    check::mutex(face, mutex, OTHER, 1);
}

fn any_thread_with_the_owner_id_is_the_owner(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 1).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            lock(face, mutex, ME);
            check::mutex(face, mutex, ME, 2);
            assert_eq!(face.mutex_unlock(mutex, ME), Ok(2));
            assert_eq!(face.mutex_unlock(mutex, ME), Ok(1));
            check::mutex(face, mutex, 0, 0);
        });
    });
    assert_eq!(face.mutex_unlock(mutex, ME), Err(EPERM));
    check::mutex(face, mutex, 0, 0);
}

fn a_saturated_mutex_is_closed_even_to_its_owner(face: &dyn Face) {
    let mutex = face.mutex_create(ME, u32::MAX).unwrap();
    check::mutex(face, mutex, ME, u32::MAX);
    assert_eq!(face.wait(&any(&[mutex]).owner(ME)), Err(ETIMEDOUT));
    check::mutex(face, mutex, ME, u32::MAX);
    assert_eq!(face.wait(&all(&[mutex]).owner(ME)), Err(ETIMEDOUT));
    check::mutex(face, mutex, ME, u32::MAX);
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(u32::MAX));
    check::mutex(face, mutex, ME, u32::MAX - 1);
    lock(face, mutex, ME);
    check::mutex(face, mutex, ME, u32::MAX);
    assert_eq!(face.wait(&any(&[mutex]).owner(ME)), Err(ETIMEDOUT));
    check::mutex(face, mutex, ME, u32::MAX);
}

fn an_unlock_gives_the_count_before_and_the_last_frees(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 3).unwrap();
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(3));
    check::mutex(face, mutex, ME, 2);
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(2));
    check::mutex(face, mutex, ME, 1);
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(1));
    check::mutex(face, mutex, 0, 0);
}

fn an_unlock_by_nobody_or_by_another_changes_nothing(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 2).unwrap();
    assert_eq!(face.mutex_unlock(mutex, 0), Err(EINVAL));
    check::mutex(face, mutex, ME, 2);
    assert_eq!(face.mutex_unlock(mutex, OTHER), Err(EPERM));
    check::mutex(face, mutex, ME, 2);
    assert_eq!(face.mutex_unlock(mutex, ME | 0x8000_0000), Err(EPERM));
    check::mutex(face, mutex, ME, 2);
}

fn an_unowned_mutex_cannot_be_unlocked(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    assert_eq!(face.mutex_unlock(mutex, ME), Err(EPERM));
    check::mutex(face, mutex, 0, 0);
    assert_eq!(face.mutex_unlock(mutex, 0), Err(EINVAL));
    check::mutex(face, mutex, 0, 0);
}

fn a_kill_frees_and_marks_as_abandoned(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 2).unwrap();
    assert_eq!(face.mutex_kill(mutex, ME), Ok(()));
    check::abandoned(face, mutex);
}

fn a_kill_by_nobody_or_by_another_changes_nothing(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 2).unwrap();
    assert_eq!(face.mutex_kill(mutex, 0), Err(EINVAL));
    check::mutex(face, mutex, ME, 2);
    assert_eq!(face.mutex_kill(mutex, OTHER), Err(EPERM));
    check::mutex(face, mutex, ME, 2);
}

fn an_unowned_or_abandoned_mutex_cannot_be_killed(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    assert_eq!(face.mutex_kill(mutex, ME), Err(EPERM));
    check::mutex(face, mutex, 0, 0);
    assert_eq!(face.mutex_kill(mutex, 0), Err(EINVAL));
    check::mutex(face, mutex, 0, 0);
    lock(face, mutex, ME);
    assert_eq!(face.mutex_kill(mutex, ME), Ok(()));
    assert_eq!(face.mutex_kill(mutex, ME), Err(EPERM));
    check::abandoned(face, mutex);
    assert_eq!(face.mutex_kill(mutex, 0), Err(EINVAL));
    check::abandoned(face, mutex);
}

fn the_abandoned_mark_stays_until_somebody_acquires(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 1).unwrap();
    assert_eq!(face.mutex_kill(mutex, ME), Ok(()));
    for _ in 0..3 {
        check::abandoned(face, mutex);
    }
    // A wait that fails for another reason does not take the mark.
    let closed = face.semaphore_create(0, 1).unwrap();
    assert_eq!(face.wait(&all(&[mutex, closed]).owner(OTHER)), Err(ETIMEDOUT));
    check::abandoned(face, mutex);
    assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), abandoned_at(0));
    check::mutex(face, mutex, OTHER, 1);
}

fn an_abandoned_mutex_cannot_be_unlocked(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 1).unwrap();
    assert_eq!(face.mutex_kill(mutex, ME), Ok(()));
    assert_eq!(face.mutex_unlock(mutex, ME), Err(EPERM));
    check::abandoned(face, mutex);
    assert_eq!(face.mutex_unlock(mutex, OTHER), Err(EPERM));
    check::abandoned(face, mutex);
    assert_eq!(face.mutex_unlock(mutex, 0), Err(EINVAL));
    check::abandoned(face, mutex);
}

fn who_acquires_an_abandoned_mutex_is_told_once(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 5).unwrap();
    assert_eq!(face.mutex_kill(mutex, ME), Ok(()));
    assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), abandoned_at(0));
    check::mutex(face, mutex, OTHER, 1);
    lock(face, mutex, OTHER);
    check::mutex(face, mutex, OTHER, 2);
    assert_eq!(face.mutex_unlock(mutex, OTHER), Ok(2));
    assert_eq!(face.mutex_unlock(mutex, OTHER), Ok(1));
    check::mutex(face, mutex, 0, 0);
    lock(face, mutex, ME);
    check::mutex(face, mutex, ME, 1);
}

fn a_mutex_can_be_abandoned_again(face: &dyn Face) {
    let mutex = face.mutex_create(ME, 1).unwrap();
    for owner in [ME, OTHER, ME, ME] {
        assert_eq!(face.mutex_kill(mutex, face.mutex_read(mutex).unwrap().owner), Ok(()));
        check::abandoned(face, mutex);
        assert_eq!(face.wait(&any(&[mutex]).owner(owner)), abandoned_at(0));
        check::mutex(face, mutex, owner, 1);
    }
}

fn the_end_of_a_thread_does_not_free_its_mutex(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| lock(face, mutex, ME));
    });
    check::mutex(face, mutex, ME, 1);
    assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), Err(ETIMEDOUT));
    assert_eq!(face.mutex_unlock(mutex, ME), Ok(1));
    check::mutex(face, mutex, 0, 0);
}

fn a_mutex_can_be_created_with_any_recursion_count(face: &dyn Face) {
    for count in interesting_counts().chain([u32::MAX]) {
        let mutex = face.mutex_create(ME, count).unwrap();
        check::mutex(face, mutex, ME, count);
        assert_eq!(face.mutex_unlock(mutex, OTHER), Err(EPERM));
        assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), Err(ETIMEDOUT));
        check::mutex(face, mutex, ME, count);
        assert_eq!(face.mutex_unlock(mutex, ME), Ok(count));
        check::mutex(face, mutex, if count == 1 { 0 } else { ME }, count - 1);
        assert_eq!(face.close(mutex), Ok(()));
    }
}

fn recursion_counts_up_and_down_without_a_gap(face: &dyn Face) {
    const DEPTH: u32 = 300;
    let mutex = face.mutex_create(0, 0).unwrap();
    for round in 0..2 {
        for count in 1..=DEPTH {
            lock(face, mutex, ME + round);
            check::mutex(face, mutex, ME + round, count);
        }
        for count in (1..=DEPTH).rev() {
            check::mutex(face, mutex, ME + round, count);
            assert_eq!(face.mutex_unlock(mutex, ME + round), Ok(count));
        }
        check::mutex(face, mutex, 0, 0);
    }
}

fn every_recursion_count_steps_up_and_down(face: &dyn Face) {
    for count in interesting_counts() {
        let mutex = face.mutex_create(ME, count).unwrap();
        lock(face, mutex, ME);
        check::mutex(face, mutex, ME, count + 1);
        assert_eq!(face.mutex_unlock(mutex, ME), Ok(count + 1));
        check::mutex(face, mutex, ME, count);
        lock(face, mutex, ME);
        check::mutex(face, mutex, ME, count + 1);
        assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), Err(ETIMEDOUT));
        check::mutex(face, mutex, ME, count + 1);
        assert_eq!(face.close(mutex), Ok(()));
    }
}

fn a_kill_frees_at_any_recursion_count(face: &dyn Face) {
    for count in interesting_counts().chain([u32::MAX]) {
        let mutex = face.mutex_create(ME, count).unwrap();
        assert_eq!(face.mutex_kill(mutex, OTHER), Err(EPERM));
        check::mutex(face, mutex, ME, count);
        assert_eq!(face.mutex_kill(mutex, ME), Ok(()));
        check::abandoned(face, mutex);
        assert_eq!(face.wait(&any(&[mutex]).owner(OTHER)), abandoned_at(0));
        check::mutex(face, mutex, OTHER, 1);
        lock(face, mutex, OTHER);
        check::mutex(face, mutex, OTHER, 2);
        assert_eq!(face.close(mutex), Ok(()));
    }
}

/// From each start well below a boundary to well above it and back, three times over.
fn recursion_swings_across_every_boundary(face: &dyn Face) {
    const SWING: u32 = 40;
    for start in [1, 20, 40, 50, 100, 240, 0xffe0, 0x7fff_fff0, 0xffff_ff80, u32::MAX - SWING] {
        let mutex = face.mutex_create(ME, start).unwrap();
        for _ in 0..3 {
            for step in 1..=SWING {
                lock(face, mutex, ME);
                check::mutex(face, mutex, ME, start + step);
            }
            for step in (1..=SWING).rev() {
                assert_eq!(face.mutex_unlock(mutex, ME), Ok(start + step));
                check::mutex(face, mutex, ME, start + step - 1);
            }
        }
        assert_eq!(face.close(mutex), Ok(()));
    }
}

fn wait_all_counts_recursion_as_wait_any_does(face: &dyn Face) {
    let semaphore = face.semaphore_create(1000, 1000).unwrap();
    for count in interesting_counts() {
        let mutex = face.mutex_create(ME, count).unwrap();
        assert_eq!(face.wait(&all(&[semaphore, mutex]).owner(ME)), at(0));
        check::mutex(face, mutex, ME, count + 1);
        assert_eq!(face.mutex_unlock(mutex, ME), Ok(count + 1));
        check::mutex(face, mutex, ME, count);
        assert_eq!(face.wait(&all(&[mutex]).owner(ME)), at(0));
        check::mutex(face, mutex, ME, count + 1);
        assert_eq!(face.close(mutex), Ok(()));
    }
}
