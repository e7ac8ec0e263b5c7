// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arenas that this process has mapped, one for each open of the device that it has seen, and each thread's seats
//! in them.
//!
//! An instance has a *tag*: its place in the table and the number of earlier uses of that place. A thread uses an
//! instance only through a *seat*: the tag, published in the thread's record, and the thread's `Waiter`. Instances
//! that nobody needs are unmapped when the device is opened again, so a program that opens it in a loop does not grow.
//! (The mapping also tells other processes that this process may have descriptors; an instance that must tell them so
//! is never unmapped.)
//!
//! # Why no thread uses an unmapped arena
//! A thread publishes the tag in its seat (S1), then checks that the instance is in use (S2). The collector first marks
//! the instance as leaving (C1), then looks for its tag in every seat (C2). Of S1-S2 and C1-C2, whichever comes second
//! sees the other, because all four are exchanges, which have one total order. If the collector finds the tag in some
//! seat, it returns the instance to use.
//!
//! Two instances never name one arena: a thread that adds one first searches for it, under the lock that the collector
//! also takes. If the process is killed or forked at any step, at worst one place of the table stays unused in the
//! child.

pub(crate) mod traced;

use crate::c_library::cancellation::without_cancellation;
use crate::report::environment;
use crate::report::log::{self, Once};
use crate::thread::lock::Lock;
use crate::thread::{self, Record, Seat, Seated, Seats};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::memory::FileId;
use ntux_sync::Arena;

/// How many devices one process can use at the same time.
const INSTANCES: usize = 4096;

const PLACE_BITS: u32 = INSTANCES.trailing_zeros();

/// How many instances may be mapped before the collector runs.
const UNCOLLECTED: u32 = 8;

struct Instance {
    /// The tag while in use; [`LEAVING`] is set while the collector decides; 0 when the place is free.
    state: Word64,
    /// The last generation of this place's tags.
    generation: Word32,
    /// The arena's inode, which all its descriptors share.
    device: Word64,
    inode: Word64,
    arena: UnsafeCell<MaybeUninit<Arena>>,
}

// SAFETY: `arena` is written before `state` says it is in use and dropped when no seat holds it (see the module).
unsafe impl Sync for Instance {}

const LEAVING: u64 = 1 << 32;

static TABLE: [Instance; INSTANCES] = [const {
    Instance {
        state: Word64::new(0),
        generation: Word32::new(0),
        device: Word64::new(0),
        inode: Word64::new(0),
        arena: UnsafeCell::new(MaybeUninit::uninit()),
    }
}; INSTANCES];

/// One more than the highest place that was ever used.
// Beside what each start of a program writes, because each program looks at it.
#[unsafe(link_section = ".data.ntux_start")]
static BOUND: Word32 = Word32::new(0);

/// When to collect next: the number of instances in use.
static THRESHOLD: Word32 = Word32::new(UNCOLLECTED);

/// Taken by threads that add or remove instances.
static TABLE_LOCK: Lock = Lock::new();

fn place(tag: u32) -> &'static Instance {
    &TABLE[tag as usize % INSTANCES]
}

/// True if a tag names an instance that is in use.
pub(crate) fn in_use(tag: u32) -> bool {
    place(tag).state.load() == u64::from(tag)
}

/// The calling thread's seat in an instance, or none if the tag is out of date. The caller is inside and drops the result before it
/// leaves.
#[inline(always)]
pub(crate) fn seat(record: &Record, tag: u32) -> Option<Seated<'_>> {
    match record.seats.find(tag) {
        Some(seat) => seat.taken(),
        None => sit_down(&record.seats, tag)?.taken(),
    }
}

/// On a stack of its own: a thread takes a seat seldom, and the processes that have ended may have to be looked at.
#[cold]
fn sit_down(seats: &Seats, tag: u32) -> Option<&Seat> {
    on_own_stack(|| sit_down_here(seats, tag))?
}

fn sit_down_here(seats: &Seats, tag: u32) -> Option<&Seat> {
    let seat = seats.vacate_for(tag);
    seat.name(tag); // S1
    let state = u64::from(tag);
    if place(tag).state.compare_exchange(state, state).is_err()
    /* S2 */
    {
        seat.withdraw();
        return None;
    }
    // SAFETY: the seat names the instance, which is in use: its arena is initialized and stays.
    seat.fill(unsafe { (*place(tag).arena.get()).assume_init_ref() });
    Some(seat)
}

/// Why an instance could not be added.
pub(crate) enum Unavailable {
    /// The table is full.
    TableFull,
    /// The core refused.
    Core(ntux_sync::Error),
}

impl Unavailable {
    /// The error number. A process that has as many instances as ntux serves finds no number for another one, as where it has too many
    /// descriptors; a driver would have gone on, so the user is told.
    pub(crate) fn errno(&self) -> c_int {
        match self {
            Unavailable::TableFull => {
                explain_full();
                libc::EMFILE
            }
            Unavailable::Core(error) => error.errno(),
        }
    }
}

/// Says once that the process uses as many devices as it can.
#[cold]
fn explain_full() {
    static SAID: Once = Once::new();
    if !SAID.begin() {
        return;
    }
    let (process, most) = (std::process::id(), INSTANCES);
    without_cancellation(|| {
        log::say(format_args!(
            "ntux: process {process} gets no further /dev/ntsync: it has {most} open, the most that ntux serves one process; close some, or \
             make its objects through fewer\n"
        ));
    });
}

/// The tag of the arena with this inode; attaches it if this process has not seen it yet. The caller is inside.
pub(crate) fn find_or_add(
    file: FileId,
    attach: impl FnOnce() -> Result<Arena, ntux_sync::Error>,
) -> Result<u32, Unavailable> {
    let same = |place: &&Instance| place.device.load() == file.device && place.inode.load() == file.inode;
    TABLE_LOCK.with(|| match used().find(same) {
        Some(place) => Ok(place.state.load() as u32),
        None => {
            let arena = on_own_stack(attach).unwrap_or(Err(ntux_sync::Error::Corrupt));
            add(file, arena.map_err(Unavailable::Core)?)
        }
    })
}

/// True if there is no place for another instance.
pub(crate) fn is_full() -> bool {
    used().count() == INSTANCES
}

/// True if this process has ever seen an instance.
#[inline(always)]
pub(crate) fn any() -> bool {
    BOUND.load() != 0
}

/// True if this process has seen the instance with this inode.
pub(crate) fn has_met(file: FileId) -> bool {
    tag_of(file).is_some()
}

/// The tag of the instance with this inode, if this process has met it.
pub(crate) fn tag_of(file: FileId) -> Option<u32> {
    let found = used().find(|place| place.device.load() == file.device && place.inode.load() == file.inode)?;
    Some(found.state.load() as u32)
}

/// The arena of an instance in use, for the only thread of a process.
pub(crate) fn of_one_thread(tag: u32) -> Option<&'static Arena> {
    // SAFETY: in use, so initialized, and nobody else is there who could unmap it.
    in_use(tag).then(|| unsafe { (*place(tag).arena.get()).assume_init_ref() })
}

/// The instances in use. One that was leaving when this process was forked stays neither used nor free.
fn used() -> impl Iterator<Item = &'static Instance> {
    TABLE[..BOUND.load() as usize].iter().filter(|place| !matches!(place.state.load(), 0 | LEAVING..))
}

fn add(file: FileId, arena: Arena) -> Result<u32, Unavailable> {
    let free = TABLE.iter().position(|place| place.state.load() == 0).ok_or(Unavailable::TableFull)?;
    if let Some(spin) = environment::spin() {
        arena.set_spins(spin);
    }
    let instance = &TABLE[free];
    let generation = (instance.generation.load() + 1) & (u32::MAX >> PLACE_BITS >> 1);
    let generation = generation.max(1);
    instance.generation.store(generation);
    let tag = generation << PLACE_BITS | free as u32;
    instance.device.store(file.device);
    instance.inode.store(file.inode);
    // SAFETY: the place is free, so no seat holds it and nobody reads the arena; the lock keeps other writers out.
    unsafe { (*instance.arena.get()).write(arena) };
    BOUND.store(BOUND.load().max(free as u32 + 1));
    instance.state.store(u64::from(tag));
    Ok(tag)
}

/// Unmaps instances that no thread uses and that are not needed, if there are many. `is_needed` says whether a known descriptor names the
/// instance of a tag. The caller is inside.
pub(crate) fn collect(record: &Record, is_needed: fn(u32) -> bool) {
    if (used().count() as u32) < THRESHOLD.load() {
        return;
    }
    record.seats.give_back_if(|tag| !is_needed(tag));
    TABLE_LOCK.with(|| {
        used().filter(|instance| !is_needed(instance.state.load() as u32)).for_each(remove_if_unused);
        // A full table is collected at each attempt to add to it.
        THRESHOLD.store((2 * used().count() as u32).clamp(UNCOLLECTED, INSTANCES as u32));
    });
}

fn remove_if_unused(instance: &'static Instance) {
    let tag = instance.state.load() as u32;
    // C1
    if instance.state.compare_exchange(u64::from(tag), u64::from(tag) | LEAVING).is_err() {
        return;
    }
    if thread::records().any(|record| record.seats.hold(tag)) {
        instance.state.store(u64::from(tag));
        return;
    }
    // SAFETY: in use until C1, so initialized; no seat holds the instance and none can any more; the lock keeps other
    // collectors out.
    let arena = unsafe { (*instance.arena.get()).assume_init_mut() };
    if arena.answers_for_objects() {
        instance.state.store(u64::from(tag));
        return;
    }
    // SAFETY: as above, and `arena` is not used any more.
    unsafe { core::ptr::drop_in_place(arena) };
    instance.state.store(0);
}
