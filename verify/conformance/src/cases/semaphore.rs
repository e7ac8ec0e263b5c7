// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores, one thread.

use crate::case::{Case, case};
use crate::check::{self, at};
use crate::face::{EINVAL, EOVERFLOW, ETIMEDOUT, Face, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_semaphore_holds_at_most_its_maximum_when_created, "S-201"),
    case!(Everywhere, a_semaphore_can_hold_any_32_bit_number, "S-201", "S-202"),
    case!(Everywhere, a_release_adds_and_gives_the_count_before, "S-203"),
    case!(Everywhere, releasing_nothing_gives_the_count, "S-204"),
    case!(Everywhere, release_beyond_max_changes_nothing, "S-205"),
    case!(Everywhere, a_release_that_wraps_around_changes_nothing, "S-205"),
    case!(Everywhere, a_semaphore_of_maximum_zero_never_opens, "S-201", "S-205"),
    case!(Everywhere, a_wait_takes_one_token, "S-206"),
];

fn a_semaphore_holds_at_most_its_maximum_when_created(face: &dyn Face) {
    for (count, max) in [(1, 0), (2, 1), (u32::MAX, u32::MAX - 1), (0x8000_0000, 0x7fff_ffff), (u32::MAX, 0)] {
        assert_eq!(face.semaphore_create(count, max), Err(EINVAL), "{count} of {max}");
    }
}

fn a_semaphore_can_hold_any_32_bit_number(face: &dyn Face) {
    for max in [0, 1, 2, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        for count in [0, 1, max / 2, max.saturating_sub(1), max] {
            if count <= max {
                let semaphore = face.semaphore_create(count, max).unwrap();
                check::semaphore(face, semaphore, count, max);
                check::semaphore(face, semaphore, count, max);
            }
        }
    }
}

fn a_release_adds_and_gives_the_count_before(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 10).unwrap();
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(2));
    check::semaphore(face, semaphore, 3, 10);
    assert_eq!(face.semaphore_release(semaphore, 7), Ok(3));
    check::semaphore(face, semaphore, 10, 10);

    let large = face.semaphore_create(0, u32::MAX).unwrap();
    assert_eq!(face.semaphore_release(large, u32::MAX - 1), Ok(0));
    check::semaphore(face, large, u32::MAX - 1, u32::MAX);
    assert_eq!(face.semaphore_release(large, 1), Ok(u32::MAX - 1));
    check::semaphore(face, large, u32::MAX, u32::MAX);
}

fn releasing_nothing_gives_the_count(face: &dyn Face) {
    for (count, max) in [(0, 0), (0, 3), (2, 3), (3, 3), (u32::MAX, u32::MAX)] {
        let semaphore = face.semaphore_create(count, max).unwrap();
        assert_eq!(face.semaphore_release(semaphore, 0), Ok(count));
        check::semaphore(face, semaphore, count, max);
    }
}

fn release_beyond_max_changes_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 3).unwrap();
    assert_eq!(face.semaphore_release(semaphore, 2), Err(EOVERFLOW));
    check::semaphore(face, semaphore, 2, 3);
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(2));
    check::semaphore(face, semaphore, 3, 3);
    assert_eq!(face.semaphore_release(semaphore, 1), Err(EOVERFLOW));
    check::semaphore(face, semaphore, 3, 3);
}

fn a_release_that_wraps_around_changes_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 3).unwrap();
    for add in [u32::MAX, u32::MAX - 1, u32::MAX - 2, 0x8000_0000, 0x7fff_ffff] {
        assert_eq!(face.semaphore_release(semaphore, add), Err(EOVERFLOW), "adding {add:#x}");
        check::semaphore(face, semaphore, 2, 3);
    }
    let full = face.semaphore_create(u32::MAX, u32::MAX).unwrap();
    for add in [1, 2, u32::MAX] {
        assert_eq!(face.semaphore_release(full, add), Err(EOVERFLOW), "adding {add:#x}");
        check::semaphore(face, full, u32::MAX, u32::MAX);
    }
}

fn a_semaphore_of_maximum_zero_never_opens(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 0).unwrap();
    assert_eq!(face.semaphore_release(semaphore, 1), Err(EOVERFLOW));
    assert_eq!(face.semaphore_release(semaphore, 0), Ok(0));
    check::semaphore(face, semaphore, 0, 0);
    assert_eq!(face.wait(&any(&[semaphore])), Err(ETIMEDOUT));
    check::semaphore(face, semaphore, 0, 0);
}

fn a_wait_takes_one_token(face: &dyn Face) {
    let semaphore = face.semaphore_create(3, 3).unwrap();
    for left in [2, 1, 0] {
        assert_eq!(face.wait(&any(&[semaphore])), at(0));
        check::semaphore(face, semaphore, left, 3);
    }
    assert_eq!(face.wait(&any(&[semaphore])), Err(ETIMEDOUT));
    check::semaphore(face, semaphore, 0, 3);
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
    assert_eq!(face.wait(&any(&[semaphore])), at(0));
    check::semaphore(face, semaphore, 0, 3);

    let large = face.semaphore_create(u32::MAX, u32::MAX).unwrap();
    assert_eq!(face.wait(&any(&[large])), at(0));
    check::semaphore(face, large, u32::MAX - 1, u32::MAX);
}
