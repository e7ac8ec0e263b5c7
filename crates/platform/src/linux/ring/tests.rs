// SPDX-License-Identifier: MIT OR Apache-2.0
//! What no call can bring about here: requests of one call that are taken in part, times that end before their sleeps.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

use super::*;
use crate::linux::skips::skip;

/// A ring, and a word on which it sleeps.
struct Scene {
    ring: IoUring,
    word: &'static AtomicU32,
}

impl Scene {
    fn new() -> Option<Scene> {
        match Linux::open_ring() {
            Ok(ring) => Some(Scene { ring, word: Box::leak(Box::default()) }),
            Err(why_not) => {
                skip("rings", why_not);
                None
            }
        }
    }

    fn quiet(&self, due: Deadline) -> Awaited {
        Awaited { word: self.word.as_ptr(), expected: 0, due }
    }

    fn arm(&self, due: Deadline) {
        // SAFETY: the word lives for ever.
        unsafe { self.ring.arm(self.quiet(due)) }.unwrap();
    }
}

/// How many sleep on the word. Wakes them.
fn sleepers(word: &AtomicU32) -> i64 {
    // SAFETY: a word that exists.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) }
}

#[test]
fn a_call_that_was_taken_in_part_leaves_no_sleep_beside_the_next() {
    let Some(scene) = Scene::new() else { return };
    scene.arm(Deadline::Never);
    let mut state = scene.ring.lock();
    let turn = state.turn + 1;
    scene.ring.submit([None, Some(sleep(&scene.quiet(Deadline::Never), turn, false)), None]).unwrap();
    (state.turn, state.was_refused) = (turn, true);
    drop(state);
    scene.arm(Deadline::Never);
    assert_eq!(sleepers(scene.word), 1);
}

#[test]
fn a_time_that_ends_before_its_sleep_leaves_no_sleep_beside_the_next() {
    let Some(scene) = Scene::new() else { return };
    scene.arm(Deadline::Never);
    // As the result of a time.
    scene.ring.raise().unwrap();
    scene.arm(Deadline::after_ns(u64::MAX / 4));
    assert_eq!(sleepers(scene.word), 1);
}

#[test]
fn one_that_was_raised_sleeps_no_more_once_it_is_dropped() {
    let Some(Scene { ring, word }) = Scene::new().inspect(|scene| scene.arm(Deadline::Never)) else { return };
    ring.raise().unwrap();
    drop(ring);
    assert_eq!(sleepers(word), 0);
}
