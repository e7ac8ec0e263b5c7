// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines.

use std::time::Duration;

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, ALL, at};
use crate::clock;
use crate::face::{Deadline, ETIMEDOUT, Face, all, any};
use crate::process::{Child, shift_clock_of_children};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_deadline_in_the_past_is_one_attempt, "S-711"),
    case!(Everywhere, a_wait_ends_at_its_deadline_and_not_before, "S-711", "S-605"),
    case!(Everywhere, a_wait_on_the_wall_clock_ends_at_its_deadline_and_not_before, "S-712"),
    case!(Everywhere, a_wait_with_a_deadline_is_satisfied_before_it, "S-711", "S-712"),
    case!(Everywhere, the_two_clocks_are_not_mixed_up, "S-712"),
    case!(Everywhere, no_deadline_means_never, "S-713"),
    case!(Everywhere, all_ones_is_no_deadline_on_either_clock, "S-713"),
    case!(Everywhere, an_absurd_deadline_does_not_keep_a_wait_from_success, "S-714"),
    case!(WallClock, a_deadline_on_the_wall_clock_follows_it_when_it_is_set, "S-712"),
    case!(TimeNamespace, a_deadline_is_on_the_clock_that_the_caller_sees, "S-715"),
];

fn a_deadline_in_the_past_is_one_attempt(face: &dyn Face) {
    for deadline in [
        Deadline::Monotonic(0),
        Deadline::Monotonic(1),
        Deadline::in_ms(0),
        Deadline::Realtime(0),
        Deadline::Realtime(1),
        Deadline::realtime_in_ms(0),
    ] {
        let semaphore = face.semaphore_create(1, 1).unwrap();
        let auto = face.event_create(0, 1).unwrap();
        assert_eq!(face.wait(&any(&[semaphore]).until(deadline)), at(0), "{deadline:?}");
        check::semaphore(face, semaphore, 0, 1);
        assert_eq!(face.wait(&any(&[semaphore]).until(deadline)), Err(ETIMEDOUT), "{deadline:?}");
        assert_eq!(face.wait(&any(&[semaphore]).alert(auto).until(deadline)), at(1), "{deadline:?}");
        assert_eq!(face.wait(&all(&[semaphore, auto]).until(deadline)), Err(ETIMEDOUT), "{deadline:?}");
        face.semaphore_release(semaphore, 1).unwrap();
        face.event_set(auto).unwrap();
        assert_eq!(face.wait(&all(&[semaphore, auto]).until(deadline)), ALL, "{deadline:?}");
        check::semaphore(face, semaphore, 0, 1);
        check::auto(face, auto, 0);
    }
}

fn a_wait_ends_at_its_deadline_and_not_before(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    for wait in [any(&[event]), all(&[event]), any(&[]).alert(event)] {
        let deadline = Deadline::in_ms(15);
        assert_eq!(face.wait(&wait.until(deadline)), Err(ETIMEDOUT));
        assert!(deadline.passed());
        check::auto(face, event, 0);
    }
}

fn a_wait_on_the_wall_clock_ends_at_its_deadline_and_not_before(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    for wait in [any(&[event]), all(&[event])] {
        let deadline = Deadline::realtime_in_ms(15);
        assert_eq!(face.wait(&wait.until(deadline)), Err(ETIMEDOUT));
        assert!(deadline.passed());
        check::auto(face, event, 0);
    }
}

fn a_wait_with_a_deadline_is_satisfied_before_it(face: &dyn Face) {
    const HOUR_MS: u64 = 3_600_000;
    let event = face.event_create(0, 0).unwrap();
    for deadline in [Deadline::in_ms(HOUR_MS), Deadline::realtime_in_ms(HOUR_MS)] {
        for wait in [any(&[event]), all(&[event])] {
            std::thread::scope(|scope| {
                let sleeper = block(scope, face, wait.until(deadline));
                assert_eq!(face.event_set(event), Ok(0));
                check::auto(face, event, 0);
                assert_eq!(sleeper.result(), at(0));
            });
        }
    }
}

fn a_deadline_on_the_wall_clock_follows_it_when_it_is_set(face: &dyn Face) {
    const HOUR_MS: u64 = 3_600_000;
    let day = Duration::from_secs(86_400);
    let event = face.event_create(0, 0).unwrap();
    for wait in [any, all] {
        std::thread::scope(|scope| {
            let sleep = |deadline| block(scope, face, wait(&[event]).until(deadline));
            let reached = sleep(Deadline::realtime_in_ms(HOUR_MS));
            let far = sleep(Deadline::realtime_in_ms(50 * HOUR_MS));
            let on_the_other_clock = sleep(Deadline::in_ms(HOUR_MS));
            clock::set(|now| now + day);
            assert_eq!(reached.result(), Err(ETIMEDOUT));
            let near = sleep(Deadline::realtime_in_ms(1_000));
            clock::set(|now| now - day);
            std::thread::sleep(Duration::from_secs(2));
            for sleeper in [far, on_the_other_clock, near] {
                sleeper.still_sleeps();
                assert_eq!(face.event_set(event), Ok(0));
                assert_eq!(sleeper.result(), at(0));
            }
        });
    }
}

/// The wall clock shows decades, the monotonic clock the time since the start of the system.
fn the_two_clocks_are_not_mixed_up(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let soon = Deadline::in_ms(1_000_000).ns();
    assert_eq!(face.wait(&any(&[event]).until(Deadline::Realtime(soon))), Err(ETIMEDOUT));
    let now = Deadline::realtime_in_ms(0).ns();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[event]).until(Deadline::Monotonic(now)));
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(sleeper.result(), at(0));
    });
}

fn no_deadline_means_never(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    for wait in [any(&[event]), all(&[event])] {
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait.forever());
            sleeper.still_sleeps();
            assert_eq!(face.event_set(event), Ok(0));
            assert_eq!(sleeper.result(), at(0));
        });
    }
}

fn all_ones_is_no_deadline_on_either_clock(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    for deadline in [Deadline::Monotonic(u64::MAX), Deadline::Realtime(u64::MAX)] {
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, any(&[event]).until(deadline));
            sleeper.still_sleeps();
            assert_eq!(face.event_set(event), Ok(0));
            assert_eq!(sleeper.result(), at(0));
        });
    }
}

fn an_absurd_deadline_does_not_keep_a_wait_from_success(face: &dyn Face) {
    for ns in [1 << 63, (1 << 63) + 1, u64::MAX - 1] {
        for deadline in [Deadline::Monotonic(ns), Deadline::Realtime(ns)] {
            let semaphore = face.semaphore_create(2, 2).unwrap();
            assert_eq!(face.wait(&any(&[semaphore]).until(deadline)), at(0));
            assert_eq!(face.wait(&all(&[semaphore]).until(deadline)), ALL);
            check::semaphore(face, semaphore, 0, 2);
        }
    }
}

/// The child's monotonic clock is far ahead of ours. Were its deadline taken for ours, it would sleep far too long.
fn a_deadline_is_on_the_clock_that_the_caller_sees(face: &dyn Face) {
    const HOUR: u32 = 3600;
    let never = face.event_create(0, 0).unwrap();
    let event = face.event_create(0, 0).unwrap();
    let before = Deadline::in_ms(0);
    shift_clock_of_children(HOUR).expect("it was tried before");
    let child = Child::start(face, |face| {
        assert!(Deadline::in_ms(0).ns() > before.ns() + u64::from(HOUR) * 1_000_000_000);
        for wait in [any(&[never]), all(&[never])] {
            let deadline = Deadline::in_ms(15);
            assert_eq!(face.wait(&wait.until(deadline)), Err(ETIMEDOUT));
            assert!(deadline.passed());
        }
        face.wait(&any(&[event]).until(Deadline::in_ms(1_000_000)))
    });
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(child.result(), at(0));
}
