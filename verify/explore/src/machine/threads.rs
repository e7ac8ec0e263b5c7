// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual threads: coroutines that stop at chosen points, all on one thread of the operating system.

use std::cell::Cell;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::ThreadId;

thread_local! {
    static FREE_STACKS: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

/// Where a thread gives its processor back. `Order` is what it is told when it is chosen again.
pub struct Stop<Order: 'static>(*const Yielder<Order, ()>);

impl<Order> Clone for Stop<Order> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Order> Copy for Stop<Order> {}

impl<Order> Stop<Order> {
    /// Gives the processor back; returns what the thread is told.
    ///
    /// # Safety
    /// The thread that this belongs to runs now, and calls it.
    pub unsafe fn here(self) -> Order {
        // SAFETY: the yielder lives at the bottom of the running coroutine's stack; the rest is the caller's promise.
        unsafe { (*self.0).suspend(()) }
    }
}

/// The threads of one execution.
pub struct Threads<Order: 'static> {
    coroutines: Vec<Coroutine<Order, (), ()>>,
}

impl<Order> Default for Threads<Order> {
    fn default() -> Self {
        Threads { coroutines: Vec::new() }
    }
}

impl<Order> Threads<Order> {
    /// One thread more, which has not begun: the first order that it is given counts for nothing.
    ///
    /// The body may be abandoned at any stop, so it keeps nothing that must be dropped.
    pub fn spawn(&mut self, body: impl FnOnce(Stop<Order>) + 'static) {
        let mut stacks = FREE_STACKS.take();
        let stack = stacks.pop().unwrap_or_default();
        FREE_STACKS.set(stacks);
        self.coroutines.push(Coroutine::with_stack(stack, move |yielder, _| body(Stop(yielder))));
    }

    /// Lets a thread go on to its next stop; returns whether it has come to its end.
    pub fn resume(&mut self, thread: ThreadId, order: Order) -> bool {
        matches!(self.coroutines[thread].resume(order), CoroutineResult::Return(()))
    }

    /// Abandons a thread where it is.
    pub fn abandon(&mut self, thread: ThreadId) {
        abandon(&mut self.coroutines[thread]);
    }

    /// Abandons all of them: a new execution begins. Each thread gets the same stack in it, so that no memory of one seems to be another's, too.
    pub fn clear(&mut self) {
        let mut stacks = FREE_STACKS.take();
        for mut coroutine in self.coroutines.drain(..).rev() {
            abandon(&mut coroutine);
            stacks.push(coroutine.into_stack());
        }
        FREE_STACKS.set(stacks);
    }
}

impl<Order> Drop for Threads<Order> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn abandon<Order>(coroutine: &mut Coroutine<Order, (), ()>) {
    if !coroutine.done() {
        // SAFETY: what lives on the stack is leaked, not reused; the code under test keeps nothing there that must be
        // dropped or that others point to (`spawn` asks for it).
        unsafe { coroutine.force_reset() };
    }
}
