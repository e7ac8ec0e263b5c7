// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the Rust API with asynchronous waits: each wait without an alert is a task, of which the thread is the executor.

mod rust;

use std::future::Future;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use ntux::{Arena, Error, Object, Result, Satisfied};
use ntux_conformance::case::Kind;
use ntux_conformance::face::{Deadline, Wait};
use ntux_conformance::run::{self, Instantiation};

fn main() -> ExitCode {
    run::main(&Instantiation {
        name: "Rust, tasks",
        open: || rust::open(Some(wait)),
        without: &[
            (Kind::Device, rust::NO_DEVICE),
            (Kind::WallClock, "asynchronous waits have no deadlines: the executor's sleeps by the monotonic clock"),
        ],
    })
}

fn wait(arena: &Arena, objects: &[Object], wait: &Wait) -> Option<Result<Satisfied>> {
    if wait.alert.is_some() {
        return None;
    }
    let begin = if wait.all { Arena::wait_all_async } else { Arena::wait_any_async };
    let mut task = begin(arena, objects, wait.owner);
    run_until(&mut task, wait.deadline).or_else(|| {
        let acquired = run_until(task.cancel(), Deadline::Never)?;
        Some(acquired.and_then(|acquired| acquired.ok_or(Error::TimedOut)))
    })
}

/// Polls a task until it is ready; no longer than until this deadline, but once.
fn run_until<F: Future>(task: F, deadline: Deadline) -> Option<F::Output> {
    let mut task = pin!(task);
    let waker = Waker::from(Arc::new(Executor(thread::current())));
    loop {
        if let Poll::Ready(result) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
        if deadline.passed() {
            return None;
        }
        deadline.left().map_or_else(thread::park, thread::park_timeout);
    }
}

/// Wakes the thread that polls.
struct Executor(Thread);

impl Wake for Executor {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
