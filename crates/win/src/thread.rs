// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads: what others know of one through its handles, and what a thread knows of itself.
//!
//! # Role
//! Every thread that calls this library has an id, which is the system's number of it: it owns mutexes by that, or, in the arena of a
//! session, by an id which that gives it. A thread that was made elsewhere gets a record when it first needs one. When a thread ends, however
//! it does, the mutexes that it owns are abandoned, then, in the last round of its destructors ([`last_round`]), its record is signaled. A
//! thread that is killed together with its process abandons nothing in an arena of the process's own: a mutex that it shares with children
//! or parents by a fork stays owned.
//!
//! # Picture
//! ```text
//! start   31      30                 0        exit_code   259 (STILL_ACTIVE), then what it ended with
//!        +-------+-------------------+        id          0 until it runs
//!        | ended |  suspend count    |        alert       0, or the event that ends an alertable wait
//!        +-------+-------------------+        called      1: NtAlertThreadByThreadId has called it, and it has not waited for that since
//! ```
//! # Transitions of `start`
//! | from | to | by |
//! | --- | --- | --- |
//! | n > 0 | n - 1 | [`Thread::resume`]; 0 lets it begin |
//! | n > 0 | n + 1 | [`Thread::suspend_unbegun`] |
//! | n > 0 | ended | [`Thread::end_unbegun`]: it will not begin |
//!
//! # Order
//! O-end: mutexes are abandoned, then `exit_code` is stored, then no more APCs are taken, then the event is set: who has waited for the
//! thread sees all of that.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::offset_of;

use ntux::Deadline;
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::liveness;
use ntux_sync::Object;

use crate::apc::{Apc, Queue};
use crate::arena::{self, arena};
use crate::descriptor::Kept;
use crate::last_error::{CALL_NOT_IMPLEMENTED, NOT_ENOUGH_MEMORY, Result, SIGNAL_REFUSED, of_object};
use crate::planted::{Bug, planted};
use crate::record::{self, First, Kind, Payload, Target};
use crate::{last_round, word};

/// GetExitCodeThread and GetExitCodeProcess say so of what runs.
pub const STILL_ACTIVE: u32 = 259;
/// Threads of this library that have nothing to do end after so long.
pub const IDLE_NS: u64 = 5_000_000_000;
const ENDED: u32 = 1 << 31;
/// The highest suspend count, as on Windows.
const SUSPENDED_MAX: u32 = 127;

/// What others know of a thread.
#[cfg_attr(ntux_explore, repr(align(16)))]
pub struct Thread {
    id: Word32,
    exit_code: Word32,
    start: Word32,
    unbegun_code: Word32,
    pub apcs: Queue,
    alert: Word64,
    called: Word32,
    /// The process that has made `alert`.
    maker: u32,
}

impl Thread {
    /// Where its number is, for who reads it from outside.
    pub const NUMBER_AT: usize = offset_of!(Thread, id);

    /// One that will begin, when it was resumed this often.
    pub fn unbegun(suspended: u32) -> Thread {
        Thread {
            id: Word32::new(0),
            exit_code: Word32::new(STILL_ACTIVE),
            start: Word32::new(suspended),
            unbegun_code: Word32::new(0),
            apcs: Queue::new(),
            alert: Word64::new(0),
            called: Word32::new(0),
            maker: liveness::generation(),
        }
    }

    /// Its number, for which this waits while the system still starts it.
    pub fn id(&self) -> u32 {
        loop {
            match self.id.load() {
                0 => word::wait(&self.id, 0, word::ANY, Deadline::Never),
                id => return id,
            };
        }
    }

    /// Returns true if this is its number, and whether it still runs.
    fn has_id(&self, id: u32) -> Option<bool> {
        (self.id.load() == id).then(|| !self.apcs.has_ended())
    }

    fn set_id(&self, id: u32) {
        self.id.store(id);
        word::wake(&self.id, u32::MAX, word::ANY);
    }

    pub fn exit_code(&self) -> u32 {
        self.exit_code.load()
    }

    /// Decrements the suspend count. Returns the previous one.
    pub fn resume(&self) -> u32 {
        loop {
            let seen = self.start.load();
            if seen == 0 || seen & ENDED != 0 {
                return 0;
            }
            if self.start.compare_exchange(seen, seen - 1).is_ok() {
                word::wake(&self.start, 1, word::ANY);
                return seen;
            }
        }
    }

    /// Increments the suspend count of one that has not begun. Returns the previous one.
    ///
    /// Errors: `CALL_NOT_IMPLEMENTED` if it has begun, or will not; `SIGNAL_REFUSED` if it is suspended often enough.
    pub fn suspend_unbegun(&self) -> Result<u32> {
        loop {
            let seen = self.start.load();
            if seen == 0 || seen & ENDED != 0 {
                return Err(CALL_NOT_IMPLEMENTED);
            }
            if seen == SUSPENDED_MAX {
                return Err(SIGNAL_REFUSED);
            }
            if self.start.compare_exchange(seen, seen + 1).is_ok() {
                return Ok(seen);
            }
        }
    }

    /// Makes sure that it will not begin. False if it has begun.
    pub fn end_unbegun(&self, code: u32) -> bool {
        loop {
            let seen = self.start.load();
            if seen == 0 || seen & ENDED != 0 {
                return seen != 0;
            }
            // Stored before: it is read only by a thread that has seen the exchange.
            self.unbegun_code.store(code);
            if self.start.compare_exchange(seen, ENDED).is_ok() {
                word::wake(&self.start, 1, word::ANY);
                return true;
            }
        }
    }

    /// Waits until it may begin. If it must not, the exit code with which it ends.
    pub fn may_begin(&self) -> core::result::Result<(), u32> {
        loop {
            match self.start.load() {
                0 => return Ok(()),
                seen if seen & ENDED != 0 => return Err(self.unbegun_code.load()),
                seen => word::wait(&self.start, seen, word::ANY, Deadline::Never),
            };
        }
    }

    /// Ends its next wait for a call, or the one in which it is.
    pub fn call(&self) {
        self.called.store(1);
        word::wake(&self.called, 1, word::ANY);
    }

    /// The thread itself waits until it was called, which uses the call up. False if the deadline has passed.
    pub fn wait_for_call(&self, deadline: Deadline) -> bool {
        let mut is_late = false;
        loop {
            if self.called.compare_exchange(1, 0).is_ok() {
                return true;
            }
            if is_late {
                return false;
            }
            is_late = word::wait(&self.called, 0, word::ANY, deadline);
        }
    }

    /// The event that ends its alertable waits. None before it first waits so. Pair A ([`crate::apc`]).
    pub fn alert(&self) -> Option<Object> {
        match self.alert.load() {
            0 => None,
            alert => Some(Object(alert)),
        }
    }

    /// The same for the thread itself, which makes it.
    ///
    /// Errors: `NOT_ENOUGH_MEMORY`.
    fn own_alert(&self) -> Result<Object> {
        if let Some(alert) = self.alert() {
            return Ok(alert);
        }
        let alert = arena()?.with_waiter(|core, waiter| core.event_create(waiter, false, false)).map_err(of_object)?;
        if planted(Bug::AlertByStore) {
            self.alert.store(alert.0);
            return Ok(alert);
        }
        // Pair A. A store would not do: it is not performed before the load of the queue that follows.
        self.alert.compare_exchange(0, alert.0).expect("only the thread itself makes its alert");
        Ok(alert)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let (Some(alert), Ok(arena)) = (self.alert(), arena())
            && self.maker == liveness::generation()
        {
            let _ = arena.core().close(alert);
        }
    }
}

/// What a thread knows of itself.
struct Own {
    /// Its record, which it holds.
    target: Option<Target>,
    /// The mutexes that it owns, beside that of [`Me`].
    owned: Vec<Owned>,
    /// APCs that were taken from the queue, and are its next ones.
    due: VecDeque<Apc>,
    /// Timers that queue calls for it, and perhaps others that have done so.
    timers: Vec<Target>,
    /// The port from which it has taken packets last, or has tried to. It may be gone.
    port: Option<Target>,
    /// For its next wait with descriptors.
    kept: Option<Kept>,
    exit_code: u32,
    lineage: u64,
}

impl Own {
    fn new(lineage: u64) -> Own {
        let (owned, due, timers) = (Vec::new(), VecDeque::new(), Vec::new());
        Own { target: None, owned, due, timers, port: None, kept: None, exit_code: 0, lineage }
    }
}

/// A mutex, and how often a thread owns it.
#[derive(Clone, Copy)]
struct Owned {
    mutex: Object,
    times: u32,
}

impl Owned {
    const NONE: Owned = Owned { mutex: Object(0), times: 0 };
}

/// What a thread needs at once: no place of it has a destructor.
struct Me {
    lineage: Cell<u64>,
    id: Cell<u32>,
    /// The id with which it owns mutexes; 0: not yet known.
    owner: Cell<u32>,
    /// Others find the thread by its id.
    is_known: Cell<bool>,
    /// A mutex that it owns, so that threads which own one at a time keep no list.
    owned: Cell<Owned>,
    /// A slot of [`record`] that nobody uses; 0: none; [`NO_MORE`]: the thread ends, and keeps none.
    slot: Cell<u32>,
}

const NO_MORE: u32 = u32::MAX;

impl Me {
    const fn new() -> Me {
        Me {
            lineage: Cell::new(0),
            id: Cell::new(0),
            owner: Cell::new(0),
            is_known: Cell::new(false),
            owned: Cell::new(Owned::NONE),
            slot: Cell::new(0),
        }
    }
}

thread_local! {
    /// Without destructor, so it works as long as the thread runs.
    static ME: Me = const { Me::new() };
    static OWN: RefCell<Own> = RefCell::new(Own::new(liveness::lineage()));
}

/// The calling thread's id.
#[inline]
pub fn id() -> u32 {
    #[cfg(ntux_explore)]
    if crate::explored::machine().is_some() {
        return liveness::thread_id() as u32;
    }
    let known = ME.with(|me| (me.lineage.get() == liveness::lineage()).then(|| me.id.get()));
    known.unwrap_or_else(learn_id)
}

/// The id with which the calling thread owns mutexes: its own, or, among processes that share names, one that the arena gives it. (If the
/// arena has none left, its own, whose end others do not notice.)
#[inline]
pub fn owner() -> u32 {
    #[cfg(ntux_explore)]
    if crate::explored::machine().is_some() {
        return id();
    }
    let known = ME.with(|me| (me.lineage.get() == liveness::lineage()).then(|| me.owner.get()));
    known.filter(|&owner| owner != 0).unwrap_or_else(learn_owner)
}

#[cold]
fn learn_owner() -> u32 {
    let id = id();
    // It is chosen now, if it was not: the id is one for it.
    let _ = arena();
    let of_arena = || arena().ok()?.with_waiter(|core, waiter| core.owner_of_this_thread(waiter)).ok();
    let owner = arena::is_of_session().then(of_arena).flatten().unwrap_or(id);
    ME.with(|me| me.owner.set(owner));
    owner
}

/// The calling thread's id, if others can open a handle by it.
#[inline]
pub fn known_id() -> Option<u32> {
    ME.with(|me| (me.lineage.get() == liveness::lineage() && me.is_known.get()).then(|| me.id.get()))
}

/// The calling thread's id, as it tells it to others, who may open a handle by it: so there is a record from now on, if there is memory.
pub fn tell_id() -> u32 {
    let _ = of_caller();
    id()
}

#[cold]
fn learn_id() -> u32 {
    let id = liveness::thread_id() as u32;
    let lineage = liveness::lineage();
    ME.with(|me| {
        me.lineage.set(lineage);
        me.id.set(id);
        me.owner.set(0);
        me.is_known.set(false);
        me.owned.set(Owned::NONE);
    });
    let is_alive = with_own(|own| {
        if own.lineage != lineage {
            // A forked child is another thread: what its parent owns and holds stays the parent's.
            *own = Own::new(lineage);
        }
    });
    // The end of an earlier life has given it back.
    ME.with(|me| me.slot.set(if is_alive.is_some() { 0 } else { NO_MORE }));
    id
}

/// None while the thread ends.
fn with_own<R>(work: impl FnOnce(&mut Own) -> R) -> Option<R> {
    #[cfg(ntux_explore)]
    if let Some(machine) = crate::explored::machine() {
        return of_virtual::own(machine.thread()).try_borrow_mut().ok().map(|mut own| work(&mut own));
    }
    OWN.try_with(|own| own.try_borrow_mut().ok().map(|mut own| work(&mut own))).ok().flatten()
}

/// The calling thread has acquired this mutex once more.
#[inline]
pub fn owns(mutex: Object) {
    let is_counted = ME.with(|me| {
        let owned = me.owned.get();
        // (Virtual threads have the list alone.)
        let is_free_for = !cfg!(ntux_explore) && (owned.times == 0 || owned.mutex == mutex);
        if is_free_for {
            me.owned.set(Owned { mutex, times: owned.times + 1 });
        }
        is_free_for
    });
    if !is_counted {
        owns_beside(mutex);
    }
}

/// The same of a mutex for the list.
fn owns_beside(mutex: Object) {
    with_own(|own| match own.owned.iter_mut().rev().find(|owned| owned.mutex == mutex) {
        Some(owned) => owned.times += 1,
        None => {
            if own.owned.len() == own.owned.capacity() {
                forget_closed(&mut own.owned);
            }
            own.owned.push(Owned { mutex, times: 1 });
        }
    });
}

/// Mutexes that were closed while they were owned.
#[cold]
fn forget_closed(list: &mut Vec<Owned>) {
    if let Ok(arena) = arena() {
        let is_there = |owned: &Owned| arena.core().kind(owned.mutex).is_ok();
        list.retain(is_there);
        ME.with(|me| {
            if !is_there(&me.owned.get()) {
                me.owned.set(Owned::NONE);
            }
        });
    }
    list.reserve(list.len().max(4));
}

/// The calling thread has released this mutex once.
#[inline]
pub fn owns_less(mutex: Object) {
    let is_counted = ME.with(|me| {
        let owned = me.owned.get();
        let is_it = owned.times > 0 && owned.mutex == mutex;
        if is_it {
            me.owned.set(Owned { times: owned.times - 1, ..owned });
        }
        is_it
    });
    if !is_counted {
        owns_less_beside(mutex);
    }
}

/// The same of a mutex of the list.
fn owns_less_beside(mutex: Object) {
    with_own(|own| {
        if let Some(index) = own.owned.iter().rposition(|owned| owned.mutex == mutex) {
            own.owned[index].times -= 1;
            if own.owned[index].times == 0 {
                own.owned.swap_remove(index);
            }
        }
    });
}

/// The slot that the calling thread has kept, which is the caller's then. None if it has kept none.
pub fn take_slot() -> Option<u32> {
    ME.with(|me| match me.slot.get() {
        0 | NO_MORE => None,
        number => {
            me.slot.set(0);
            Some(number)
        }
    })
}

/// Keeps a slot for the next [`take_slot`]. False if the thread has one, or ends. (Virtual threads keep none.)
pub fn keeps_slot(number: u32) -> bool {
    // From its first call on, the thread's end gives the slot back.
    id();
    let is_kept = |me: &Me| me.slot.get() == 0 && !cfg!(ntux_explore);
    ME.with(|me| is_kept(me) && me.slot.replace(number) == 0)
}

/// The calling thread's record, which lives as long as the thread.
///
/// Errors: `NOT_ENOUGH_MEMORY`.
pub fn of_caller() -> Result<Target> {
    let id = id();
    if let Some(target) = with_own(|own| own.target).flatten() {
        return Ok(target);
    }
    let ended = ended_event()?;
    let thread = Thread::unbegun(0);
    thread.set_id(id);
    let target = record::create(Kind::Thread, ended, Payload::Thread(Box::new(thread)), First::Hold)?;
    if with_own(|own| own.target = Some(target)).is_none() {
        // The thread ends. Nobody will set it.
        target.release();
    }
    is_known();
    Ok(target)
}

/// The event of a thread's record.
///
/// Errors: `NOT_ENOUGH_MEMORY`.
pub fn ended_event() -> Result<Object> {
    arena()?.with_waiter(|core, waiter| core.event_create(waiter, true, false)).map_err(of_object)
}

/// The calling thread begins with this record, of which it has a hold.
pub fn begin(target: Target) {
    let id = id();
    with_own(|own| own.target = Some(target));
    is_known();
    if let Some(thread) = of(target) {
        thread.set_id(id);
    }
}

/// The event that ends the calling thread's alertable waits, made if it is not there yet.
///
/// Errors: `NOT_ENOUGH_MEMORY`.
pub fn alert_of_caller() -> Result<Object> {
    of(of_caller()?).ok_or(NOT_ENOUGH_MEMORY)?.own_alert()
}

/// What the record says. The caller has a hold or a handle of it.
pub fn of<'a>(target: Target) -> Option<&'a Thread> {
    // SAFETY: the caller keeps the record.
    unsafe { target.record()?.thread() }
}

/// Others find the calling thread by its id from now on. (Virtual threads ask each time.)
fn is_known() {
    if !cfg!(ntux_explore) {
        ME.with(|me| me.is_known.set(true));
    }
}

/// The thread with this id, of which one handle more was counted: one that runs, or else one that has ended and has handles still. (The
/// system gives numbers again.) Looks at every record.
pub fn open(id: u32) -> Option<Target> {
    if id == 0 {
        // Threads that the system still starts have no other yet.
        return None;
    }
    let mut ended = None;
    for target in record::of_kind(Kind::Thread) {
        if !target.add_handle() {
            continue;
        }
        match of(target).and_then(|thread| thread.has_id(id)) {
            Some(true) => {
                ended.inspect(|ended: &Target| ended.drop_handle());
                return Some(target);
            }
            Some(false) if ended.is_none() => ended = Some(target),
            _ => target.drop_handle(),
        }
    }
    ended
}

/// The calling thread will end with this exit code.
pub fn will_exit_with(code: u32) {
    with_own(|own| own.exit_code = code);
}

/// The next APC of the calling thread. None if there is none.
pub fn next_apc() -> Option<Apc> {
    with_own(|own| {
        if own.due.is_empty()
            && let Some(thread) = own.target.and_then(of)
        {
            own.due.extend(thread.apcs.take());
        }
        own.due.pop_front()
    })
    .flatten()
}

/// The timers that may queue calls for the calling thread.
pub fn timers() -> Vec<Target> {
    with_own(|own| own.timers.clone()).unwrap_or_default()
}

/// Those that do.
pub fn set_timers(timers: Vec<Target>) {
    with_own(|own| own.timers = timers);
}

/// One more does.
pub fn has_timer(timer: Target) {
    with_own(|own| {
        if !own.timers.contains(&timer) {
            own.timers.push(timer);
        }
    });
}

/// The port from which the calling thread has taken packets last.
pub fn port() -> Option<Target> {
    with_own(|own| own.port).flatten()
}

/// What the calling thread has kept for a wait with descriptors.
pub fn take_kept() -> Option<Kept> {
    with_own(|own| own.kept.take()).flatten()
}

/// The calling thread keeps this for the next one.
pub fn keep(kept: Kept) {
    let before = with_own(|own| own.kept.replace(kept));
    drop(before);
}

/// The calling thread takes packets from this port.
pub fn takes_from(port: Target) {
    with_own(|own| own.port = Some(port));
}

/// Returns true if an APC waits for the calling thread.
pub fn has_apc() -> bool {
    with_own(|own| !own.due.is_empty() || own.target.and_then(of).is_some_and(|thread| !thread.apcs.is_empty()))
        .unwrap_or(false)
}

impl Drop for Own {
    /// The thread ends (O-end).
    fn drop(&mut self) {
        match ME.with(|me| me.slot.replace(NO_MORE)) {
            0 | NO_MORE => {}
            slot => record::give_kept_slot(slot),
        }
        let (Ok(arena), true) = (arena(), self.lineage == liveness::lineage()) else { return };
        let owner = owner();
        let at_hand = ME.with(|me| me.owned.replace(Owned::NONE));
        for owned in self.owned.drain(..).chain((at_hand.times > 0).then_some(at_hand)) {
            // It may have been closed.
            let _ = arena.with_waiter(|core, waiter| core.mutex_kill(waiter, owned.mutex, owner));
        }
        let Some(target) = self.target.take() else { return };
        let end = End { target, exit_code: self.exit_code };
        // The first thread's destructors of keys do not run if the process exits.
        if cfg!(ntux_explore) || liveness::thread_id() == u64::from(std::process::id()) {
            end.tell();
        } else {
            last_round::tell(end);
        }
    }
}

/// The end of a thread, of whose record it has a hold, and which has abandoned its mutexes.
pub struct End {
    target: Target,
    exit_code: u32,
}

impl End {
    /// Tells it (O-end).
    pub fn tell(self) {
        if let (Ok(arena), Some(thread), Some(record)) = (arena(), of(self.target), self.target.record()) {
            if planted(Bug::EndsEarly) {
                let _ = arena.with_waiter(|core, waiter| core.event_set(waiter, record.object()));
            }
            thread.exit_code.store(self.exit_code);
            thread.apcs.end();
            let _ = arena.with_waiter(|core, waiter| core.event_set(waiter, record.object()));
        }
        self.target.release();
    }
}

/// What virtual threads know of themselves.
#[cfg(ntux_explore)]
pub mod of_virtual {
    use super::*;

    thread_local! {
        static OWNS: RefCell<Vec<*mut RefCell<Own>>> = const { RefCell::new(Vec::new()) };
    }

    /// So many threads begin, in the places of earlier ones, which are not dropped: that would do something.
    pub fn begin(threads: usize) {
        let fresh = || RefCell::new(Own::new(liveness::lineage()));
        OWNS.with_borrow_mut(|owns| {
            owns.truncate(threads);
            // SAFETY: made below, and never freed; no call that uses it goes on.
            owns.iter().for_each(|&own| unsafe { own.write(fresh()) });
            owns.resize_with(threads, || Box::into_raw(Box::new(fresh())));
        });
    }

    pub(super) fn own(thread: usize) -> &'static RefCell<Own> {
        // SAFETY: never freed.
        OWNS.with_borrow(|owns| unsafe { &*owns[thread] })
    }

    /// The calling virtual thread begins with this record, of which it has a hold.
    pub fn starts(target: Target) {
        super::begin(target);
    }

    /// The calling virtual thread ends with this exit code.
    pub fn end(code: u32) {
        will_exit_with(code);
        let own = with_own(|own| std::mem::replace(own, Own::new(liveness::lineage())));
        drop(own);
    }
}
