// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that sleep inside a wait.
//!
//! A case must know that a thread sleeps before it continues, because only then is the order of arrival defined. No
//! time limit can show that; the system can: [`ntux_testkit::task`].

use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use ntux_testkit::task::{self, Task};

use crate::face::{Deadline, Delivered, ETIMEDOUT, Face, Outcome, Queue, Satisfied, Wait, any};

/// Between two looks at a thread, in milliseconds: 2 if the environment does not say more. In an emulator a thread also sleeps for the
/// emulator, while another one that is not running has something of it.
const BETWEEN_LOOKS: &str = "NTUX_TEST_BETWEEN_LOOKS_MS";

/// A thread that sleeps, or slept, inside a wait.
pub struct Blocked<'scope, T = Satisfied> {
    thread: ScopedJoinHandle<'scope, Outcome<T>>,
    task: Task,
}

/// Starts a thread that waits, and returns once it sleeps.
#[track_caller]
pub fn block<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, face: &'env dyn Face, wait: Wait) -> Blocked<'scope> {
    let blocked = start(scope, face, wait);
    blocked.still_sleeps();
    blocked
}

/// Starts a thread that waits for something to be delivered to a queue, and returns once it sleeps.
#[track_caller]
pub fn block_at_queue<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    face: &'env dyn Face,
    queue: Queue,
) -> Blocked<'scope, Delivered> {
    let blocked = start_waiting(scope, face, move || face.queue_get(queue, Deadline::Never));
    blocked.still_sleeps();
    blocked
}

/// The same for a wait that times out, with its deadline: one that lets the thread be seen asleep, however busy the machine is.
#[track_caller]
pub fn block_for_a_while<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    face: &'env dyn Face,
    wait: impl Fn(Deadline) -> Wait,
) -> (Blocked<'scope>, Deadline) {
    const MILLISECONDS: [u64; 3] = [500, 2_000, 8_000];
    for deadline in MILLISECONDS.into_iter().map(Deadline::in_ms) {
        let blocked = start(scope, face, wait(deadline));
        if until_asleep(&blocked.task) {
            return (blocked, deadline);
        }
        assert_eq!(blocked.result(), Err(ETIMEDOUT), "the wait ended, it should sleep");
    }
    panic!("nobody was seen asleep for eight seconds");
}

/// Starts a thread that waits, and returns at once.
pub fn start<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, face: &'env dyn Face, wait: Wait) -> Blocked<'scope> {
    start_waiting(scope, face, move || face.wait(&wait))
}

fn start_waiting<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    face: &'env dyn Face,
    wait: impl FnOnce() -> Outcome<T> + Send + 'scope,
) -> Blocked<'scope, T> {
    let (announce, announced) = std::sync::mpsc::sync_channel(1);
    let thread = scope.spawn(move || {
        wait_once(face);
        announce.send(Task::current()).expect("the case listens");
        wait()
    });
    Blocked { thread, task: announced.recv().expect("the thread announces itself") }
}

impl<T> Blocked<'_, T> {
    /// Returns once the thread sleeps; fails when its wait ended instead.
    #[track_caller]
    pub fn still_sleeps(&self) {
        assert!(until_asleep(&self.task), "the wait ended, it should sleep");
    }

    /// What the wait gave. Waits for it.
    pub fn result(self) -> Outcome<T> {
        self.thread.join().expect("a panic ends the process at once")
    }

    /// The thread's id in the system.
    #[cfg(target_os = "linux")]
    pub fn tid(&self) -> i32 {
        self.task.number() as i32
    }
}

/// Waits for a moment for nothing. A thread's first wait may sleep on the way: where there is a filter for system
/// calls, a face may let a child try a call first.
pub(crate) fn wait_once(face: &dyn Face) {
    let _ = face.wait(&any(&[]).until(Deadline::in_ms(1)));
}

/// Returns true once the thread sleeps, false once it has ended.
pub(crate) fn until_asleep(task: &Task) -> bool {
    let said = std::env::var(BETWEEN_LOOKS).ok().and_then(|text| text.parse().ok());
    task::until_asleep(std::slice::from_ref(task), Duration::from_millis(said.unwrap_or(2)))
}
