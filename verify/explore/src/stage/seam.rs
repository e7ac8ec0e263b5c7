// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives the accesses of the code under test: each is a stop, at which the search chooses which thread runs next.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ntux_platform::explore::{Access, Effect, Identity, Scheduler, Touch};
use ntux_sync::spec::{Outcome, ThreadId};

use super::run::{BESIDE, Order, Run, Status};
use crate::machine::chunk::content;
use crate::monitor::Event;
use crate::program::Call;
use crate::subject::Subject;

/// Where the accesses of the subject arrive. There is one for each thread of the operating system.
pub(super) struct Seam {
    pub(super) run: RefCell<Option<Run>>,
    pub(super) subject: Cell<Option<*const dyn Subject>>,
}

impl Seam {
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Run) -> R) -> R {
        f(self.run.borrow_mut().as_mut().expect("a program is being run"))
    }

    /// Gives the processor back; what the thread is told when it is chosen again.
    pub(super) fn suspend(&self, thread: ThreadId, status: Status) -> Order {
        let stop = self.with(|run| {
            run.threads[thread].status = status;
            run.threads[thread].stop
        });
        // SAFETY: every thread stops itself only.
        unsafe { stop.expect("the thread runs").here() }
    }

    /// Stops; handlers that interrupt the thread run here. The order that ended the stop.
    pub(super) fn stop(&self, thread: ThreadId, status: Status) -> Order {
        match self.suspend(thread, status) {
            Order::RunHandler => {
                self.handle_interrupt(thread);
                if let Status::Asleep { .. } = status { Order::Go } else { self.stop(thread, status) }
            }
            order => order,
        }
    }

    /// Tells the running thread something that is no memory.
    pub(super) fn learn(&self, what: impl FnOnce(&Run) -> bool) -> bool {
        self.with(|run| {
            let answer = what(run);
            if let Some(thread) = run.running {
                if let Some(weak) = &mut run.weak {
                    weak.asked_kernel(thread);
                }
                let thread = &mut run.threads[thread];
                thread.seen = thread.seen.then(u64::from(answer));
            }
            answer
        })
    }

    pub(super) fn handle_interrupt(&self, thread: ThreadId) {
        self.with(|run| {
            run.threads[thread].interrupted = true;
            run.event(Event::Interrupt { thread });
        });
        self.subject().interrupt(thread);
        self.with(|run| run.event(Event::Interrupted { thread }));
    }

    pub(super) fn subject(&self) -> &dyn Subject {
        // SAFETY: the stage owns the subject and clears the pointer when it goes.
        unsafe { &*self.subject.get().expect("a stage is there") }
    }

    /// The stop before an access, if it needs one, and the account of it.
    pub(super) fn before(&self, access: Access) {
        if self.run.borrow().as_ref().is_none_or(|run| !run.matters(access)) {
            return;
        }
        let stop = self.with(|run| {
            run.settle();
            let thread = run.running?;
            let public = run.public(thread, access);
            // Not over a weak memory: a load may overtake the first access of its call, but not the call's begin.
            let joined = public && std::mem::take(&mut run.threads[thread].just_called) && run.weak.is_none();
            let decides = run.threads[thread].decides;
            let stop = !decides && (run.stop_everywhere || (public && !joined));
            run.ticks += u32::from(!stop);
            stop.then_some(thread)
        });
        if let Some(thread) = stop {
            self.stop(thread, Status::BeforeAccess);
        }
        self.with(|run| {
            run.settle();
            run.observe(access);
        });
    }

    pub(super) fn calls(&self, thread: ThreadId, first: usize, calls: &[Call]) {
        for (index, call) in calls.iter().enumerate() {
            self.with(|run| run.threads[thread].call = index);
            self.stop(thread, Status::BetweenCalls);
            self.with(|run| {
                run.settle();
                let this = &mut run.threads[thread];
                (this.just_called, this.slept_in_call, this.interruptible) = (true, false, call.interruptible);
                (this.hasty, this.deadline_passed) = (call.hasty, false);
                run.event(Event::Invoke { thread, call: first + index });
            });
            match catch_unwind(AssertUnwindSafe(|| self.subject().call(thread, call))) {
                Ok(outcome) => self.returned(thread, outcome),
                Err(_) => self.with(|run| run.fail(format!("thread {thread} panicked"))),
            }
        }
    }

    pub(super) fn returned(&self, thread: ThreadId, outcome: Outcome) {
        let interrupted = self.with(|run| {
            run.settle();
            run.event(Event::Return { thread, outcome });
            (run.threads[thread].interruptible, run.threads[thread].hasty) = (false, false);
            std::mem::take(&mut run.threads[thread].interrupted)
        });
        if interrupted {
            self.subject().resume(thread);
            self.with(|run| run.event(Event::Resume { thread }));
        }
    }

    /// Sleeps on these words, of which the first is the thread's own, until this time at most.
    fn sleep_at_most(&self, words: &[(usize, u32)], has_deadline: bool, due_ns: Option<u64>) -> bool {
        let address = words[0].0;
        self.before(Access::Wake(address));
        let Some(thread) = self.with(|run| run.running) else { return true };
        let differs =
            |run: &mut Run| words.iter().any(|&(address, expected)| run.compared(thread, address) != expected);
        if self.with(differs) {
            return true;
        }
        let in_vain = self.learn(|run| has_deadline && run.threads[thread].deadline_passed);
        if in_vain {
            return false;
        }
        self.with(|run| {
            if !run.blocks && !std::mem::replace(&mut run.threads[thread].slept_in_call, true) {
                run.event(Event::Asleep { thread });
            }
        });
        let mut beside = [0; BESIDE];
        beside.iter_mut().zip(&words[1..]).for_each(|(place, word)| *place = word.0);
        let order = self.stop(thread, Status::Asleep { address, beside, has_deadline, due_ns });
        let timed_out = matches!(order, Order::DeadlinePassed);
        self.with(|run| {
            let this = &mut run.threads[thread];
            this.seen = this.seen.then(u64::from(timed_out));
        });
        !timed_out
    }
}

impl Scheduler for Seam {
    fn step(&self, access: Access) {
        self.before(access);
    }

    fn read(&self, touch: Touch) -> Option<u64> {
        self.run.borrow_mut().as_mut()?.read(touch)
    }

    fn updated(&self, touch: Touch, effect: Effect) {
        let mut run = self.run.borrow_mut();
        let Some(run) = run.as_mut() else { return };
        if let (Some(thread), Some(weak), Some((chunk, before))) = (run.running, &mut run.weak, run.memory.pending()) {
            weak.updated(thread, &touch, effect, before, content(chunk));
        }
    }

    fn sleep(&self, address: usize, expected: u32, has_deadline: bool) -> bool {
        self.sleep_at_most(&[(address, expected)], has_deadline, None)
    }

    fn sleep_until(&self, address: usize, expected: u32, has_deadline: bool, due_ns: u64) -> bool {
        self.sleep_at_most(&[(address, expected)], has_deadline, Some(due_ns))
    }

    fn sleep_beside(&self, words: &[(usize, u32)], has_deadline: bool, due_ns: u64) -> bool {
        self.sleep_at_most(words, has_deadline, Some(due_ns))
    }

    fn wake(&self, address: usize, count: u32) -> u32 {
        self.before(Access::Wake(address));
        self.with(|run| {
            if let (Some(thread), Some(weak)) = (run.running, &mut run.weak) {
                weak.wake(thread, address & !7);
            }
            let mut woken = 0;
            while woken < count && run.wake_one(address) {
                woken += 1;
            }
            woken
        })
    }

    fn identity(&self) -> Option<Identity> {
        let run = self.run.borrow();
        let run = run.as_ref()?;
        Some(run.identity(run.running.or(run.entering)?))
    }

    fn is_process_dead(&self, process: u32) -> bool {
        self.learn(|run| run.is_process_dead(process))
    }

    fn is_thread_dead(&self, number: u32) -> bool {
        self.learn(|run| run.is_number_dead(number))
    }

    fn will(&self, address: usize) -> usize {
        self.before(Access::Will);
        self.with(|run| match run.running {
            Some(thread) => std::mem::replace(&mut run.threads[thread].will, address),
            None => 0,
        })
    }

    fn live(&self, address: usize, is_in_list: bool) {
        self.with(|run| {
            let Some(thread) = run.running.or(run.entering) else { return };
            run.lives.retain(|&life| life != (thread, address));
            if is_in_list {
                run.lives.push((thread, address));
            }
        });
    }

    fn decides_next(&self) {
        self.with(|run| {
            run.settle();
            if let Some(thread) = run.running {
                run.threads[thread].decides = run.decides_at_once;
            }
        });
    }

    fn steps_aside(&self) {
        self.with(|run| {
            run.settle();
            let Some(thread) = run.running else { return };
            if std::mem::take(&mut run.threads[thread].slept_in_call) {
                run.event(Event::StepsAside { thread });
            }
        });
    }

    fn deadline_passed(&self) -> bool {
        self.before(Access::Clock);
        self.learn(|run| run.running.is_some_and(|thread| run.threads[thread].deadline_passed))
    }
}
