// SPDX-License-Identifier: MIT OR Apache-2.0
//! The check after every step of a case, even a refused one: has the object the right state?

use crate::face::{Event, Face, Mutex, Object, Outcome, Satisfied, Semaphore};

/// The semaphore holds `count` of at most `max` tokens.
#[track_caller]
pub(crate) fn semaphore(face: &dyn Face, semaphore: Object, count: u32, max: u32) {
    assert_eq!(face.semaphore_read(semaphore), Ok(Semaphore { count, max }));
}

/// The mutex belongs to `owner`, `count` times, and is not abandoned.
#[track_caller]
pub(crate) fn mutex(face: &dyn Face, mutex: Object, owner: u32, count: u32) {
    assert_eq!(face.mutex_read(mutex), Ok(Mutex { owner, count, abandoned: false }));
}

/// The mutex is unowned and marked as abandoned.
#[track_caller]
pub(crate) fn abandoned(face: &dyn Face, mutex: Object) {
    assert_eq!(face.mutex_read(mutex), Ok(Mutex { owner: 0, count: 0, abandoned: true }));
}

/// The manual-reset event is signaled (1) or not (0).
#[track_caller]
pub(crate) fn manual(face: &dyn Face, event: Object, signaled: u32) {
    assert_eq!(face.event_read(event), Ok(Event { manual: 1, signaled }));
}

/// The auto-reset event is signaled (1) or not (0).
#[track_caller]
pub(crate) fn auto(face: &dyn Face, event: Object, signaled: u32) {
    assert_eq!(face.event_read(event), Ok(Event { manual: 0, signaled }));
}

/// A wait that ended with object `index`, no mutex having been abandoned.
pub(crate) fn at(index: u32) -> Outcome<Satisfied> {
    Ok(Satisfied { index, abandoned: false })
}

/// A wait that ended with object `index` and acquired an abandoned mutex.
pub(crate) fn abandoned_at(index: u32) -> Outcome<Satisfied> {
    Ok(Satisfied { index, abandoned: true })
}

/// A wait that acquired all its objects.
pub(crate) const ALL: Outcome<Satisfied> = Ok(Satisfied { index: 0, abandoned: false });
