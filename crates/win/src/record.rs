// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process knows of an object behind handles.
//!
//! # Role
//! Handles name a record, the record names the core's object. The object lives until the last handle is closed and no wait of this process
//! is on it, as in NT. (A mutex is not kept by its owner, in NT neither.)
//!
//! # Picture
//! ```text
//! state  63          33 32        17 16        0
//!       +--------------+------------+-----------+    handles: entries of the table that name it
//!       |  generation  |  handles   |   holds   |    holds:   waits on it, and the thread that it stands for while that runs
//!       +--------------+------------+-----------+    both 0:  the record is free
//! ```
//! # Transitions of `state`
//! | from | to | by |
//! | --- | --- | --- |
//! | g, 0, 0 | g, 1 or 0, 0 or 1, not both 0 | [`create`] |
//! | g, h, n, not both 0 | g, h, n + 1 | [`Target::hold`] |
//! | g, h, n, not both 0 | g, h + 1, n | [`Target::add_handle`]; [`Target::open`] if h is not 0 |
//! | g, h, n | g, h - 1, n or g, h, n - 1 | [`Target::drop_handle`], [`Target::release`]; the last: g + 1, 0, 0, whose exchanger ends it |
//!
//! # Invariants
//! * I-record-1: `object`, `kind`, `maker` and `payload` change only while both counts are 0, by who took the record from its pool.
//! * I-record-2: a generation is used once (until 2^31 others have used the record during one step).
//!
//! # Order
//! O-record: an entry of the table is cleared before its record can end, and set after `object` is stored. So who reads an entry, then the
//! record, then the same entry again has read what belongs together ([`crate::handle::look_up`]).
//!
//! # Death
//! A thread that dies leaves behind what [`crate::pool`] says. A forked child has copies of the counts; what threads of its parent held
//! stays held there, and only the process that has made an object closes it, and drops what has a lock.

use std::mem::offset_of;
use std::sync::Arc;

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::liveness;
use ntux_sync::Object;

use crate::arena;
use crate::descriptor::Descriptor;
use crate::kept;
use crate::last_error::{NOT_ENOUGH_MEMORY, Result};
use crate::name;
use crate::planted::{Bug, planted};
use crate::pool::{Pool, Slot};
use crate::port::{self, Port};
use crate::process::Other;
use crate::thread::{self, Thread};
use crate::timer::Timer;

/// Slots of a process, each for a record and a handle, or for a further handle.
pub const SLOTS: u32 = (1 << 20) - 1;

const HOLD: u64 = 1;
const HANDLE: u64 = 1 << 17;
const GENERATION: u64 = 1 << 33;
const HANDLES_MAX: u64 = (1 << 16) - 1;
const HOLDS_MAX: u64 = (1 << 17) - 1;

/// What a handle can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    Event = 1,
    Mutex = 2,
    Semaphore = 3,
    /// Its object is a manual-reset event, which the thread's end sets.
    Thread = 4,
    /// Its object is a manual-reset event, which nobody sets for this process, and the end of another one does.
    Process = 5,
    /// Its object is a timer of the core.
    Timer = 6,
    /// Its object is a manual-reset event.
    Port = 7,
    /// Its object is an event, which nobody sets.
    Descriptor = 8,
    /// Its object is an event, which is always set.
    KeyedEvent = 9,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        use Kind::{Descriptor, Event, KeyedEvent, Mutex, Port, Process, Semaphore, Thread, Timer};
        [Event, Mutex, Semaphore, Thread, Process, Timer, Port, Descriptor, KeyedEvent]
            .into_iter()
            .find(|&kind| kind as u32 == number)
    }
}

#[repr(C)]
pub struct Record {
    state: Word64,
    object: Word64,
    /// 0, or the address of what the kind says, which the record owns: a [`Thread`], a [`Timer`], a [`Port`], a
    /// [`Descriptor`], an [`Arc`] of another process.
    payload: Word64,
    kind: Word32,
    /// The generation of the process that made the object.
    maker: Word32,
    /// How long its name is, and [`GLOBAL`].
    name_length: Word32,
    link: Word32,
    /// Not 0: the table of names has it, and these are the units of its name while there are handles. Read from outside only.
    name: Word64,
    /// A handle, of this record or of another one: [`crate::handle`].
    pub entry: Word64,
}

/// The name is one of all sessions.
const GLOBAL: u32 = 1 << 31;

// SAFETY: words, for which zeros are valid.
unsafe impl Slot for Record {
    fn link(&self) -> &Word32 {
        &self.link
    }
}

/// All records, in a form that can be read from outside: `ntux why --memory` finds it by its first bytes, among the data of the program
/// or library (`crates/cli/src/arenas/handles.rs`), and only reads it.
#[repr(C)]
struct Shown {
    magic: [u8; 16],
    /// The size of a record, and where in it are its state, object, payload, kind, and the length and place of its name; where in a
    /// thread its number is.
    layout: [u32; 8],
    pool: Pool<Record, SLOTS>,
}

#[used]
static SHOWN: Shown = Shown {
    magic: *b"ntux-win records",
    layout: [
        size_of::<Record>() as u32,
        offset_of!(Record, state) as u32,
        offset_of!(Record, object) as u32,
        offset_of!(Record, payload) as u32,
        offset_of!(Record, kind) as u32,
        offset_of!(Record, name_length) as u32,
        offset_of!(Record, name) as u32,
        Thread::NUMBER_AT as u32,
    ],
    pool: Pool::new(),
};
static POOL: &Pool<Record, SLOTS> = &SHOWN.pool;

/// The slot with this number, if it was ever taken.
#[inline]
pub fn slot(number: u32) -> Option<&'static Record> {
    POOL.get(number)
}

/// Takes a slot: the one that the calling thread has kept, or one of the pool. None if there is none.
pub fn take_slot() -> Option<(u32, &'static Record)> {
    match thread::take_slot() {
        Some(number) => Some((number, POOL.get(number)?)),
        None => POOL.take(),
    }
}

/// Gives it back. The calling thread keeps it, if it has none, for what it creates next.
pub fn give_slot(number: u32) {
    if !thread::keeps_slot(number) {
        give_kept_slot(number);
    }
}

/// Gives the pool a slot that a thread has kept.
pub fn give_kept_slot(number: u32) {
    POOL.give(number);
}

/// A record in one generation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub number: u32,
    pub generation: u32,
}

/// What a record owns beside the core's object.
pub enum Payload {
    Nothing,
    Thread(Box<Thread>),
    Timer(Box<Timer>),
    Process(Arc<Other>),
    Port(Box<Port>),
    Descriptor(Box<Descriptor>),
}

impl Payload {
    /// That of an object which other processes have, too.
    pub fn of_shared(kind: Kind) -> Payload {
        if kind == Kind::Timer { Payload::Timer(Box::new(Timer::new())) } else { Payload::Nothing }
    }

    /// Where it is kept; 0 for nothing.
    fn keep(self) -> u64 {
        match self {
            Payload::Nothing => 0,
            Payload::Thread(thread) => kept::keep(thread).expose_provenance() as u64,
            Payload::Timer(timer) => kept::keep(timer).expose_provenance() as u64,
            Payload::Process(other) => kept::keep(Box::new(other)).expose_provenance() as u64,
            Payload::Port(port) => kept::keep(port).expose_provenance() as u64,
            Payload::Descriptor(descriptor) => kept::keep(descriptor).expose_provenance() as u64,
        }
    }
}

/// How a record begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// With one handle, which the caller puts into the table.
    Handle,
    /// With one hold, of the thread that it stands for.
    Hold,
    /// With both.
    Both,
}

/// Makes a record of an object that was created just now. It owns the payload from then on; if it fails, the object is closed and the
/// payload dropped.
///
/// Errors: `NOT_ENOUGH_MEMORY`.
pub fn create(kind: Kind, object: Object, payload: Payload, first: First) -> Result<Target> {
    let Some((number, record)) = take_slot() else {
        arena::let_go(object);
        return Err(NOT_ENOUGH_MEMORY);
    };
    record.object.store(object.0);
    record.payload.store(payload.keep());
    record.kind.store(kind as u32);
    record.maker.store(liveness::generation());
    record.name.store(0);
    let state = record.state.load();
    let counts = match first {
        First::Handle => HANDLE,
        First::Hold => HOLD,
        First::Both => HANDLE + HOLD,
    };
    record.state.store(state + counts);
    Ok(Target { number, generation: (state >> 33) as u32 })
}

/// The records of this kind, each as it is when it is reached.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = Target> {
    POOL.used().filter(move |(_, record)| record.kind() == Some(kind)).map(|(number, record)| {
        // An older generation than that of the kind, or a later one: who holds it finds out.
        Target { number, generation: (record.state.load() >> 33) as u32 }
    })
}

/// The records that this process has of an object.
pub fn of_object(object: Object) -> impl Iterator<Item = Target> {
    let is_its = move |record: &Record| record.object() == object && record.is_made_here();
    POOL.used().filter_map(move |(number, record)| {
        let state = record.state.load();
        let is_live = handles(state) + holds(state) > 0;
        (is_live && is_its(record) && record.state.load() >> 33 == state >> 33)
            .then_some(Target { number, generation: (state >> 33) as u32 })
    })
}

impl Target {
    #[inline]
    pub fn record(self) -> Option<&'static Record> {
        POOL.get(self.number)
    }

    /// Keeps the object while a wait runs. False if the record has ended.
    pub fn hold(self) -> bool {
        self.step(|handles, holds| (handles + holds > 0 && holds < HOLDS_MAX).then_some(HOLD)).is_some()
    }

    /// Ends a hold.
    pub fn release(self) {
        let Some(record) = self.record() else { return };
        let left = self.step_of(record, |_, holds| (holds > 0).then_some(HOLD.wrapping_neg()));
        self.end_if_last(record, left);
    }

    /// Counts one more handle, for a caller who has one or a hold. False if the record has ended, or has too many.
    pub fn add_handle(self) -> bool {
        self.step(|handles, holds| (handles + holds > 0 && handles < HANDLES_MAX).then_some(HANDLE)).is_some()
    }

    /// Counts one more handle, for a caller who has found the name. False if the last handle was closed: the name is gone, though a wait may
    /// go on.
    pub fn open(self) -> bool {
        self.step(|handles, _| (handles > 0 && handles < HANDLES_MAX).then_some(HANDLE)).is_some()
    }

    /// Ends a handle, which is in no table any more. The last one ends the name, and closes a port.
    pub fn drop_handle(self) {
        let Some(record) = self.record() else { return };
        let named = record.name.load() != 0;
        // Kept until it is closed, while others use it.
        let kept = record.is_a(Kind::Port) && self.hold();
        let left = self.step_of(record, |handles, _| (handles > 0).then_some(HANDLE.wrapping_neg()));
        let was_last = left.is_some_and(|(handles, _)| handles == 0);
        if named && was_last {
            name::forget(self);
        }
        if kept && was_last {
            port::close(self);
        }
        if kept {
            self.release();
        }
        self.end_if_last(record, left);
    }

    /// The table of names has it from now on, with the name in these units.
    pub fn set_named(self, is_global: bool, units: &[u16]) {
        if let Some(record) = self.record() {
            record.name_length.store(units.len() as u32 | if is_global { GLOBAL } else { 0 });
            record.name.store(units.as_ptr().expose_provenance() as u64);
        }
    }

    /// Adds to the state, if `change` finds the counts right. Returns the counts then; both 0 ends the generation in the same step.
    fn step(self, change: impl Fn(u64, u64) -> Option<u64>) -> Option<(u64, u64)> {
        self.step_of(self.record()?, change)
    }

    /// The same, of its record.
    fn step_of(self, record: &Record, change: impl Fn(u64, u64) -> Option<u64>) -> Option<(u64, u64)> {
        let state = &record.state;
        loop {
            let seen = state.load();
            if seen >> 33 != u64::from(self.generation) && !planted(Bug::HoldsAnyGeneration) {
                return None;
            }
            let next = seen.wrapping_add(change(handles(seen), holds(seen))?);
            let is_last = handles(next) + holds(next) == 0;
            let next_state = if is_last { next.wrapping_add(GENERATION) } else { next };
            if state.compare_exchange(seen, next_state).is_ok() {
                return Some((handles(next), holds(next)));
            }
        }
    }

    /// Ends what the record owns, if `left` says that its generation has ended, and gives its slot back.
    fn end_if_last(self, record: &Record, left: Option<(u64, u64)>) {
        if left != Some((0, 0)) {
            return;
        }
        let is_made_here = record.is_made_here();
        if is_made_here {
            arena::let_go(record.object());
        }
        let payload = record.payload.load();
        if payload != 0 {
            // SAFETY: I-record-1: no other exchange has ended this generation.
            unsafe { end_payload(record.kind(), payload as usize, is_made_here) };
        }
        if !planted(Bug::GivesEarly) {
            give_slot(self.number);
        }
    }
}

/// Drops what a record owned.
///
/// # Safety
/// `payload` is what [`create`] has kept in a record of this kind, and this is called once for it.
unsafe fn end_payload(kind: Option<Kind>, payload: usize, is_made_here: bool) {
    /// # Safety
    /// The contract is that of [`end_payload`], and records of that kind own a `T`.
    unsafe fn taken<T>(payload: usize) -> T {
        // SAFETY: the same contract.
        unsafe { kept::take_back(core::ptr::with_exposed_provenance_mut(payload)) }
    }
    // SAFETY: the same contract; `Payload` says what records of each kind own.
    unsafe {
        match kind {
            // A thread of the parent may have been about to change it: then its lock is held, and it is left as it is.
            Some(Kind::Timer | Kind::Port) if !is_made_here => {}
            Some(Kind::Timer) => drop(taken::<Timer>(payload)),
            Some(Kind::Process) => drop(taken::<Arc<Other>>(payload)),
            Some(Kind::Port) => drop(taken::<Port>(payload)),
            Some(Kind::Descriptor) => drop(taken::<Descriptor>(payload)),
            _ => drop(taken::<Thread>(payload)),
        }
    }
}

impl Record {
    /// The core's object. A caller with neither a handle nor a hold checks afterwards that the record was the right one (O-record).
    #[inline]
    pub fn object(&self) -> Object {
        Object(self.object.load())
    }

    /// Returns true if this process has made the object, not one that it was forked by.
    pub fn is_made_here(&self) -> bool {
        self.maker.load() == liveness::generation()
    }

    fn is_a(&self, kind: Kind) -> bool {
        self.kind.load() == kind as u32
    }

    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        Kind::of(self.kind.load())
    }

    /// The thread that it stands for, if that is what it is.
    ///
    /// # Safety
    /// The caller has a hold or a handle of this record during `'a`.
    pub unsafe fn thread<'a>(&self) -> Option<&'a Thread> {
        // SAFETY: the caller's promise; a thread's record owns one.
        unsafe { self.payload(Kind::Thread) }
    }

    /// The timer, if it is one.
    ///
    /// # Safety
    /// The contract is that of [`Record::thread`].
    pub unsafe fn timer<'a>(&self) -> Option<&'a Timer> {
        // SAFETY: the caller's promise; a timer's record owns one.
        unsafe { self.payload(Kind::Timer) }
    }

    /// The other process, if it is one.
    ///
    /// # Safety
    /// The contract is that of [`Record::thread`].
    pub unsafe fn process<'a>(&self) -> Option<&'a Arc<Other>> {
        // SAFETY: the caller's promise; the record of another process owns one, that of this one nothing.
        unsafe { self.payload(Kind::Process) }
    }

    /// The port, if it is one.
    ///
    /// # Safety
    /// The contract is that of [`Record::thread`].
    pub unsafe fn port<'a>(&self) -> Option<&'a Port> {
        // SAFETY: the caller's promise; a port's record owns one.
        unsafe { self.payload(Kind::Port) }
    }

    /// The descriptor, if it is one.
    ///
    /// # Safety
    /// The contract is that of [`Record::thread`].
    pub unsafe fn descriptor<'a>(&self) -> Option<&'a Descriptor> {
        // SAFETY: the caller's promise; a descriptor's record owns one.
        unsafe { self.payload(Kind::Descriptor) }
    }

    /// # Safety
    /// The contract is that of [`Record::thread`]; records of this kind own a `T`.
    unsafe fn payload<'a, T>(&self, kind: Kind) -> Option<&'a T> {
        let payload = core::ptr::with_exposed_provenance::<T>(self.payload.load() as usize);
        // SAFETY: null, or what lives as long as the record, which the caller keeps, so its kind does not change.
        unsafe { payload.as_ref().filter(|_| self.is_a(kind)) }
    }
}

fn handles(state: u64) -> u64 {
    (state >> 17) & HANDLES_MAX
}

fn holds(state: u64) -> u64 {
    state & HOLDS_MAX
}
