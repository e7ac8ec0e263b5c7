// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scribbles in the middle of an operation.

use std::cell::{Cell, RefCell};

use fastrand::Rng;
use ntux_platform::atomic::Word64;
use ntux_platform::explore::{Access, Identity, Scheduler, install, set_clock};
use ntux_sync::Object;

use super::board::Board;
use super::rubbish::Scribbler;

/// The first so many shared accesses of an operation may have a scribble before them.
const SPAN: u32 = 200;

/// The victim's identity, each time the same.
pub const PROCESS: u32 = 4_242;
pub const THREAD: u32 = 4_243;

/// The time, which passes between operations only: timers are due at the same one each time.
static CLOCK: Word64 = Word64::new(0);
/// When a run begins.
const BEGIN_NS: u64 = 1 << 40;
/// Between one operation and the next.
const STEP_NS: u64 = 300_000;

/// A run begins on this thread.
pub fn begin_time() {
    CLOCK.store(BEGIN_NS);
    set_clock(Some(&CLOCK));
}

/// Called by the core before every shared access of the thread.
struct Between {
    scribbler: RefCell<Scribbler>,
    rng: RefCell<Rng>,
    known: Vec<Object>,
    board: &'static Board,
    accesses: Cell<u32>,
    /// Numbers of the accesses that have a scribble before them, the next one last.
    when: RefCell<Vec<u32>>,
    /// The operation has slept, so its deadline has passed.
    slept: Cell<bool>,
    will: Cell<usize>,
}

impl Scheduler for Between {
    fn step(&self, _: Access) {
        let access = self.accesses.get();
        self.accesses.set(access.saturating_add(1));
        if self.when.borrow().last() == Some(&access) {
            self.when.borrow_mut().pop();
            // The harness's own words are shared too.
            install(None);
            let kind = self.scribbler.borrow_mut().scribble(&mut self.rng.borrow_mut(), &self.known);
            self.board.scribbles[kind].fetch_add(1);
            install(Some(lasting(self)));
        }
    }

    /// The deadline passes at once.
    fn sleep(&self, _: usize, _: u32, has_deadline: bool) -> bool {
        assert!(has_deadline, "a wait without a deadline would sleep for ever");
        self.slept.set(true);
        false
    }

    fn wake(&self, _: usize, _: u32) -> u32 {
        0
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity { process: Some(PROCESS), generation: 1, namespace: None, thread: THREAD })
    }

    /// Every second one of the others is.
    fn is_process_dead(&self, process: u32) -> bool {
        process != PROCESS && process.is_multiple_of(2)
    }

    fn is_thread_dead(&self, thread: u32) -> bool {
        thread != THREAD && thread.is_multiple_of(2)
    }

    fn will(&self, address: usize) -> usize {
        self.will.replace(address)
    }

    fn deadline_passed(&self) -> bool {
        self.slept.get()
    }
}

/// # Note
/// The scheduler is installed by [`with_scribbles`] only, which takes it out again before it is dropped.
fn lasting(between: &Between) -> &'static dyn Scheduler {
    let between: *const Between = between;
    // SAFETY: see the note: nobody uses the reference after `with_scribbles` has returned.
    unsafe { &*between }
}

/// Does `work` while a few scribbles come in between, at most so many.
pub fn with_scribbles<R>(
    rng: &mut Rng,
    scribbler: Scribbler,
    known: &[Object],
    board: &'static Board,
    most: usize,
    work: impl FnOnce() -> R,
) -> (R, Scribbler) {
    let mut when: Vec<u32> = (0..rng.usize(0..=most)).map(|_| rng.u32(0..SPAN) >> rng.u32(0..6)).collect();
    when.sort_unstable_by(|one, other| other.cmp(one));
    when.dedup();
    let between = Between {
        scribbler: RefCell::new(scribbler),
        rng: RefCell::new(rng.fork()),
        known: known.to_vec(),
        board,
        accesses: Cell::new(0),
        when: RefCell::new(when),
        slept: Cell::new(false),
        will: Cell::new(0),
    };
    CLOCK.fetch_add(STEP_NS);
    install(Some(lasting(&between)));
    let result = work();
    install(None);
    (result, between.scribbler.into_inner())
}
