// SPDX-License-Identifier: MIT OR Apache-2.0
//! One record for each thread that uses the device: whether the thread is inside this library, and its state.
//!
//! # The record
//! A record is a page that is never unmapped; when its thread ends, it serves another thread. It is found in two ways:
//!
//! * A *call* of the program finds its thread's record through one word of thread-local storage at a fixed offset (the
//!   initial-exec model): [`current`].
//! * A *signal* finds it in the [`BUCKETS`] by the thread pointer, the number by which the processor finds thread-local
//!   storage (`thread/arrival`). It only compares that number, because the program may have replaced it (32-bit
//!   Windows code), and threads that the C library did not create can have any number.
//!
//! The mark of the record's [`Door`] is the stack pointer from [`enter`] to [`leave`], while a handler of the program must not
//! run on this stack, and 0 otherwise. The stack pointer distinguishes the thread from others that share its thread pointer.
//!
//! # The buckets
//! A bucket is a list of records with the same hash of the thread pointer. A new record goes to the head of the list of
//! its first thread's bucket and never leaves it, so a list may be walked at any instruction. A thread takes an unused
//! record of its own bucket, or creates a new one.
//!
//! # Processes
//! `holder` names the lineage ([`super::lineage`]). A child starts without seats, because those of the parent's threads belong to the parent.
//!
//! # Thread exit
//! The destructor of a pthread key returns the thread's seats and record. The constructor creates the key, so it is one
//! of the first 32, for which the C library needs no memory later.

use super::counts::Counts;
use super::families::{ForkMarks, KnownGone};
use super::lineage::{self, lineage};
use super::mask;
use super::registers::{stack_pointer, thread_pointer};
use super::seats::Seats;
use super::stack;
use core::cell::UnsafeCell;
use core::mem::transmute;
use core::ptr::NonNull;
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::protection::{self, Protection};
use ntux_sync::door::{Door, Restart};

/// The state of one thread. Only that thread and its handlers touch it, except `holder`, `next`, the tags of the seats
/// and the counts, which others read.
#[repr(C, align(64))]
pub(crate) struct Record {
    /// The thread pointer of the thread that has it; 0 if that thread ended.
    pub(crate) thread_pointer: Word64,
    /// The next record of the bucket, written before the record is in its list.
    pub(crate) next: UnsafeCell<Option<&'static Record>>,
    /// Lineage of the process whose thread has it; with [`UNHELD`] if that thread ended.
    pub(crate) holder: Word64,
    /// What it knows about its memory.
    pub(crate) memory: stack::Known,
    /// Its mark is the stack pointer at [`enter`].
    pub(crate) door: Door,
    pub(crate) seats: Seats,
    pub(crate) fork_marks: ForkMarks,
    pub(crate) gone: KnownGone,
    pub(crate) counts: Counts,
}

// SAFETY: only the thread that has the record touches what is not atomic; `next` is written before the record is
// shared.
unsafe impl Sync for Record {}

/// In `holder`: no thread has the record.
const UNHELD: u64 = 1 << 63;

/// How many lists of records there are.
pub(crate) const BUCKET_COUNT: usize = 1 << BUCKET_BITS;

pub(crate) const BUCKET_BITS: u32 = 8;

/// What a thread pointer is multiplied by; the upper bits of the product are its bucket.
pub(crate) const BUCKET_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// All records: for each bucket the address of its newest, or 0.
pub(crate) static BUCKETS: [Word64; BUCKET_COUNT] = [const { Word64::new(0) }; BUCKET_COUNT];

/// The pthread key whose destructor ends a thread's record, plus one.
static KEY: Word32 = Word32::new(0);

/// How far below the stack pointer of [`enter`] the thread may be and still count as inside: far more than
/// this library needs, far less than the distance between two stacks.
pub(crate) const INSIDE_BELOW: u64 = 256 << 10;

/// How far above: the compiler may move the stack pointer within the function that entered.
pub(crate) const INSIDE_ABOVE: u64 = 512;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .tbss.ntux_record,\"awT\",@nobits",
    ".globl ntux_record",
    ".hidden ntux_record",
    ".type ntux_record,@object",
    ".size ntux_record,8",
    ".p2align 3",
    "ntux_record:",
    ".zero 8",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .tbss.ntux_record,\"awT\",%nobits",
    ".globl ntux_record",
    ".hidden ntux_record",
    ".type ntux_record,%object",
    ".size ntux_record,8",
    ".p2align 3",
    "ntux_record:",
    ".zero 8",
    ".popsection",
);

/// Where this thread keeps the address of its record.
#[inline(always)]
fn place() -> *mut Option<NonNull<Record>> {
    let place: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads this thread's base address and the word's offset from it, and changes nothing.
    unsafe {
        core::arch::asm!(
            "mov {place}, qword ptr fs:[0]",
            "add {place}, qword ptr [rip + ntux_record@GOTTPOFF]",
            place = out(reg) place,
            options(nostack, readonly),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads this thread's base address and the word's offset from it, and changes nothing.
    unsafe {
        core::arch::asm!(
            "adrp {offset}, :gottprel:ntux_record",
            "ldr {offset}, [{offset}, :gottprel_lo12:ntux_record]",
            "mrs {place}, tpidr_el0",
            "add {place}, {place}, {offset}",
            offset = out(reg) _,
            place = out(reg) place,
            options(nostack, readonly, preserves_flags),
        );
    }
    place as *mut Option<NonNull<Record>>
}

/// The bucket of a thread pointer.
fn bucket(thread_pointer: u64) -> &'static Word64 {
    &BUCKETS[(thread_pointer.wrapping_mul(BUCKET_FACTOR) >> (u64::BITS - BUCKET_BITS)) as usize]
}

/// This thread's record, if it has one of this process. Async-signal-safe.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Record> {
    // SAFETY: only this thread reads and writes the word. It is zero, so `None`, at first; records are never unmapped.
    let record = unsafe { (*place()).map(|record| record.as_ref()) }?;
    // SAFETY: the thread that claimed the record has asked for the lineage. In a new child the word is 0, which holds nothing.
    let lineage = unsafe { lineage::word() };
    (record.holder.load() == lineage.load()).then_some(record)
}

/// Marks this thread as inside and returns its record, or none if there is no memory for one.
#[inline(always)]
pub(crate) fn enter() -> Option<&'static Record> {
    let record = match current() {
        Some(record) => record,
        None => claim()?,
    };
    enter_with(record);
    Some(record)
}

/// Marks this thread as inside. It has its record at hand.
#[inline(always)]
pub(crate) fn enter_with(record: &Record) {
    record.door.enter(stack_pointer());
}

/// Ends what [`enter`] began. A deferred handler runs here, and may never return; see [`Door::open`]. Returns
/// whether one ran, and whether its signal asks to restart an interrupted call.
///
/// The caller's frame is on the stack when a handler ends the thread: it must have no destructors.
#[inline(always)]
pub(crate) fn leave(record: &'static Record) -> Option<Restart> {
    if record.door.leave(0) { Some(record.door.open()) } else { None }
}

impl Record {
    /// True if its thread is between [`enter`] and [`leave`], given the current stack pointer. If several threads
    /// share a thread pointer, the one inside has a stack pointer a little below that of [`enter`].
    pub(crate) fn is_inside_at(&self, stack_pointer: u64) -> bool {
        let inside = self.door.found();
        let below = inside.wrapping_add(INSIDE_ABOVE).wrapping_sub(stack_pointer);
        inside != 0 && below < INSIDE_ABOVE + INSIDE_BELOW
    }

    fn forget_everything(&self) {
        self.door.forget();
        self.seats.forget();
        self.fork_marks.forget();
        self.counts.clear();
    }
}

/// The records of this process, including those whose thread ended, because their counts still matter.
pub(crate) fn records() -> impl Iterator<Item = &'static Record> {
    let lineage = lineage();
    all_records().filter(move |record| record.holder.load() & !UNHELD == lineage)
}

fn all_records() -> impl Iterator<Item = &'static Record> {
    BUCKETS.iter().flat_map(records_of)
}

fn records_of(bucket: &Word64) -> impl Iterator<Item = &'static Record> {
    // SAFETY: a list only ever grows at its head, and records stay mapped.
    let first = unsafe { (bucket.load() as *const Record).as_ref() };
    // SAFETY: `next` was written before the record was put into the list, and never again.
    core::iter::successors(first, |record| unsafe { *record.next.get() })
}

/// Enough for a record, in whole pages where pages are 4 KiB.
const PAGES: usize = 8192;

const _: () = assert!(size_of::<Record>() <= PAGES);

/// Finds a record for this thread. Signals are blocked meanwhile, because a handler in between could claim a second
/// one.
#[cold]
fn claim() -> Option<&'static Record> {
    let mask = mask::block();
    let record = current().or_else(claim_blocked);
    mask::restore(mask);
    record
}

/// What is done in a forked child before a thread claims a record, with the one that it had in the parent.
pub(crate) type Adopt = fn(&Record);
/// The [`Adopt`] that [`prepare`] was given.
// Beside what each start of a program writes.
static ADOPT: Word64 = Word64::new(0);

/// In a forked child: adopts what the parent has founded for it.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn adopt() {
    // SAFETY: only this thread reads and writes the word; records are never unmapped. The thread has had this one in the parent.
    let Some(record) = (unsafe { (*place()).map(|record| record.as_ref()) }) else { return };
    // SAFETY: 0, or what `prepare` stored.
    let adopt = unsafe { transmute::<usize, Option<Adopt>>(ADOPT.load() as usize) };
    if record.fork_marks.any()
        && let Some(adopt) = adopt
    {
        adopt(record);
    }
}

fn claim_blocked() -> Option<&'static Record> {
    adopt();
    let (lineage, thread_pointer) = (lineage(), thread_pointer());
    let bucket = bucket(thread_pointer);
    let record = match records_of(bucket).find(|record| take_over(record, lineage, thread_pointer)) {
        Some(record) => record,
        None => add_record(bucket, lineage)?,
    };
    record.memory.forget();
    record.thread_pointer.store(thread_pointer);
    // SAFETY: this thread's own word.
    unsafe { *place() = Some(NonNull::from(record)) };
    at_thread_end(record);
    Some(record)
}

/// Takes a record that no thread of this process has. A record with this thread's own thread pointer belonged to a
/// thread that ended without the C library, and whose memory this thread has now.
fn take_over(record: &'static Record, lineage: u64, thread_pointer: u64) -> bool {
    let holder = record.holder.load();
    let left_over = holder == lineage && record.thread_pointer.load() == thread_pointer;
    if !left_over && (holder == lineage || record.holder.compare_exchange(holder, lineage).is_err()) {
        return false;
    }
    if left_over || holder & !UNHELD != lineage {
        record.forget_everything();
    }
    true
}

fn add_record(bucket: &Word64, lineage: u64) -> Option<&'static Record> {
    let page = NonNull::new(protection::allocate(PAGES, Protection::READ_WRITE).ok()? as *mut Record)?;
    // SAFETY: a new page of zeros, which is a record's initial state: all words 0, no next, no waiter in any seat.
    let record: &'static Record = unsafe { page.as_ref() };
    record.holder.store(lineage);
    loop {
        let first = bucket.load();
        // SAFETY: nobody else knows the record yet; 0 or the address of a record that stays mapped.
        unsafe { *record.next.get() = (first as *const Record).as_ref() };
        if bucket.compare_exchange(first, page.as_ptr() as u64).is_ok() {
            return Some(record);
        }
    }
}

/// Creates the key whose destructor ends a thread's record. In a forked child, `adopt` is given the record that the thread had in the parent
/// before it claims one. Called by the constructor.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn prepare(adopt: Adopt) {
    ADOPT.store(adopt as *const () as u64);
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is a place for the answer; the destructor takes what `at_thread_end` stores.
    if unsafe { libc::pthread_key_create(&mut key, Some(end)) } == 0 {
        KEY.store(key + 1);
    }
}

fn at_thread_end(record: &'static Record) {
    if let Some(key) = KEY.load().checked_sub(1) {
        // SAFETY: a key that was made and is never deleted.
        unsafe { libc::pthread_setspecific(key, core::ptr::from_ref(record).cast()) };
    }
}

/// Called when the thread ends: returns its seats, then its record. A handler that runs later and uses the device
/// claims a record again, and the C library then calls this once more.
unsafe extern "C" fn end(record: *mut libc::c_void) {
    // SAFETY: what `at_thread_end` stored.
    let record: &'static Record = unsafe { &*record.cast::<Record>() };
    if record.holder.load() != lineage() {
        return;
    }
    if let Some(record) = enter() {
        record.seats.give_back();
        let _ = leave(record);
    }
    // SAFETY: this thread's own word.
    unsafe { *place() = None };
    record.thread_pointer.store(0);
    record.holder.store(lineage() | UNHELD);
}

#[cfg(test)]
#[path = "../../tests/unit/thread/record.rs"]
mod tests;
