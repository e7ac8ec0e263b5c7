// SPDX-License-Identifier: MIT OR Apache-2.0
//! When threads have fallen asleep, whichever system tells.

use std::thread::sleep;
use std::time::Duration;

/// What one look at a thread shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is gone.
    Ended,
    /// Its state is not that of a sleeper.
    Runs,
    /// Its state is that of a sleeper; a number that is another one if it runs.
    Sleeps(u64),
}

/// A thread that can be looked at.
pub(crate) trait Visible {
    fn look(&self) -> Look;
}

/// Returns true once all of `tasks` sleep: each of them at two looks in a row, with `pause` in between, without having
/// run. Returns false as soon as one of them has ended.
pub(crate) fn until_asleep(tasks: &[impl Visible], pause: Duration) -> bool {
    let mut awake: Vec<_> = tasks.iter().map(|task| (task, Look::Runs)).collect();
    loop {
        let mut ended = false;
        awake.retain_mut(|(task, before)| {
            let now = task.look();
            ended |= now == Look::Ended;
            let sleeps = matches!(now, Look::Sleeps(_)) && now == *before;
            *before = now;
            !sleeps
        });
        if ended || awake.is_empty() {
            return !ended;
        }
        sleep(pause);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::mpsc;
    use std::thread;

    /// Runs `body` in a thread. Returns what `current` says there.
    pub(crate) fn start<T: Send + 'static>(
        current: impl FnOnce() -> T + Send + 'static,
        body: impl FnOnce() + Send + 'static,
    ) -> T {
        let (announce, announced) = mpsc::channel();
        thread::spawn(move || {
            announce.send(current()).expect("the test listens");
            body();
        });
        announced.recv().expect("the thread announces itself")
    }
}
