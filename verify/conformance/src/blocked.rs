//! Threads that sleep inside a wait.
//!
//! A case must know that a thread sleeps before it goes on; only then "who came first" means something. No time limit
//! can tell. The system can: a thread that is asleep at two looks in a row, and did not run in between, sleeps.

use std::fs;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::face::{Deadline, Face, Outcome, Satisfied, Wait, any};

/// Between two looks at a thread. Longer only makes a case slower, shorter only makes it look more often.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// A thread that sleeps, or slept, inside a wait.
pub struct Blocked<'scope> {
    thread: ScopedJoinHandle<'scope, Outcome<Satisfied>>,
    tid: i32,
}

/// Starts a thread that waits, and returns once it sleeps.
#[track_caller]
pub fn block<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, face: &'env dyn Face, wait: Wait) -> Blocked<'scope> {
    let blocked = start(scope, face, wait);
    blocked.still_sleeps();
    blocked
}

/// Starts a thread that waits, and returns at once.
pub fn start<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, face: &'env dyn Face, wait: Wait) -> Blocked<'scope> {
    let (announce, announced) = std::sync::mpsc::sync_channel(1);
    let thread = scope.spawn(move || {
        // SAFETY: takes no argument and cannot fail.
        let tid = unsafe { libc::gettid() };
        wait_once(face);
        announce.send(tid).expect("the case listens");
        face.wait(&wait)
    });
    Blocked { thread, tid: announced.recv().expect("the thread announces itself") }
}

impl Blocked<'_> {
    /// Returns once the thread sleeps; fails when its wait ended instead.
    #[track_caller]
    pub fn still_sleeps(&self) {
        let asleep = until_asleep(&format!("/proc/self/task/{}/status", self.tid), || self.thread.is_finished());
        assert!(asleep, "the wait ended, it should sleep");
    }

    /// What the wait gave. Waits for it.
    pub fn result(self) -> Outcome<Satisfied> {
        self.thread.join().expect("a panic ends the process at once")
    }

    /// The thread's id in the system.
    pub fn tid(&self) -> i32 {
        self.tid
    }
}

/// Waits for a moment for nothing. A thread's first wait may sleep on the way: where there is a filter for system calls, a
/// face may let a child try a call first.
pub(crate) fn wait_once(face: &dyn Face) {
    let _ = face.wait(&any(&[]).until(Deadline::in_ms(1)));
}

/// Returns true once the thread of that status file sleeps, false once it has ended.
pub(crate) fn until_asleep(status_path: &str, ended: impl Fn() -> bool) -> bool {
    let mut before = None;
    loop {
        let now = times_it_fell_asleep(status_path);
        if ended() {
            return false;
        }
        if now.is_some() && now == before {
            return true;
        }
        before = now;
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// How often the thread gave up its processor by itself, if it sleeps right now.
fn times_it_fell_asleep(status_path: &str) -> Option<u64> {
    let status = fs::read_to_string(status_path).ok()?;
    let field = |name| status.lines().find_map(|line: &str| line.strip_prefix(name)).map(str::trim);
    let sleeps = field("State:")?.starts_with('S');
    let switches = field("voluntary_ctxt_switches:")?.parse().ok()?;
    sleeps.then_some(switches)
}
