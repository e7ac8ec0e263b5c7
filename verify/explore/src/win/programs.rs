// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small programs over the Win32 face. What they remember lies in ghosts ([`ghost`]): bodies are functions, and each may be abandoned.

use std::cell::UnsafeCell;
use std::ptr;

use ntux_platform::atomic::{Word32, Word64};
use ntux_win::explored::*;
use ntux_win::planted::Bug;

use super::machine::{check, free, ghost, on_behalf_of, set_ghost};

mod keyed;
mod lists;
mod pools;
mod ports;

/// How many numbers a program remembers.
pub const GHOSTS: usize = 16;

/// What each thread does.
pub struct Program {
    /// Names it in reports.
    pub name: &'static str,
    /// Makes everything ready.
    pub begin: fn(),
    /// The threads.
    pub bodies: Vec<fn()>,
    /// Checks what is left.
    pub end: fn(),
}

/// The planted bugs, and the program that finds each.
pub const PLANTED: &[(Bug, &str)] = &[
    (Bug::AlertByStore, "apc-first"),
    (Bug::LooksBeforeAlert, "apc-first"),
    (Bug::LeavesQueueOpen, "apc-end"),
    (Bug::EndsEarly, "thread-ends"),
    (Bug::WriterForgetsOthers, "srw-writers"),
    (Bug::ReaderForgetsReaders, "srw-all"),
    (Bug::ListForgetsOthers, "list-three"),
    (Bug::ReadsLate, "condition-one"),
    (Bug::LooksOnce, "handle-reused"),
    (Bug::HoldsAnyGeneration, "handle-of-thread"),
    (Bug::ClosesBlindly, "handle-closed-twice"),
    (Bug::GivesEarly, "handle-slots"),
    (Bug::InsertsBlindly, "handle-duplicated-twice"),
    (Bug::CountsNoExchange, "pool"),
    (Bug::FailsSilently, "once-fails"),
    (Bug::LeavesEarly, "barrier"),
    (Bug::CallsAnyway, "timer-set-anew-by-call"),
    (Bug::LetsSleep, "pool-again"),
    (Bug::IgnoresLateCall, "pool-again"),
    (Bug::ReturnsSilently, "pool-work"),
    (Bug::ArmsSilently, "pool-waits"),
    (Bug::LeavesAtOnce, "pool-wait-unregistered"),
    (Bug::StaysArmed, "pool-group-wait"),
    (Bug::LeavesPacket, "port-soon"),
    (Bug::ClosesSilently, "port-closed"),
    (Bug::ForgetsPartner, "keyed-soon"),
];

/// Every program.
pub fn all() -> Vec<Program> {
    let groups = [
        calls(),
        locks(),
        conditions(),
        handles(),
        threads(),
        timers(),
        together(),
        pools::all(),
        ports::all(),
        keyed::all(),
        lists::all(),
    ];
    groups.into_iter().flatten().collect()
}

/// The program of this name.
pub fn find(name: &str) -> Option<Program> {
    all().into_iter().find(|program| program.name == name)
}

fn program(name: &'static str, begin: fn(), bodies: &[fn()], end: fn()) -> Program {
    Program { name, begin, bodies: bodies.to_vec(), end }
}

fn nothing() {}

const INFINITE: u32 = u32::MAX;
const TIMEOUT: u32 = 0x102;
const FAILED: u32 = u32::MAX;
const IO_COMPLETION: u32 = 0xC0;
const ABANDONED: u32 = 0x80;
/// Passes when the search says so.
const SOON: u32 = 1 << 20;

fn handle(number: usize) -> Handle {
    ptr::without_provenance_mut(ghost(number) as usize)
}

fn keep_handle(number: usize, handle: Handle) {
    check(!handle.is_null(), "a handle");
    set_ghost(number, handle.addr() as u64);
}

fn add(number: usize) {
    add_if(number, true);
}

/// Counts what came true; asked for before the count is read, as it may stop.
fn add_if(number: usize, holds: bool) {
    set_ghost(number, ghost(number) + u64::from(holds));
}

fn event(manual: bool, signaled: bool) -> Handle {
    // SAFETY: no attributes, no name.
    unsafe { ntw_CreateEventW(ptr::null(), manual.into(), signaled.into(), ptr::null()) }
}

fn duplicate(source: Handle) -> Handle {
    duplicated(source, 2)
}

/// A second handle in place of the first.
fn moved(source: Handle) -> Handle {
    duplicated(source, 3)
}

fn duplicated(source: Handle, options: u32) -> Handle {
    let (mut made, process) = (ptr::null_mut(), ntw_GetCurrentProcess());
    // SAFETY: a place for the answer.
    let done = unsafe { ntw_DuplicateHandle(process, source, process, &mut made, 0, 0, options) };
    if done == 1 { made } else { ptr::null_mut() }
}

// Calls: ghost 0 is a handle of the thread that waits, 1 counts the calls that ran, 2 is an event.

extern "C-unwind" fn count(_argument: usize) {
    add(1);
}

fn begin_calls() {
    keep_handle(0, on_behalf_of(0, || duplicate(ntw_GetCurrentThread())));
    keep_handle(2, event(false, false));
}

fn queue() {
    check(ntw_QueueUserAPC(Some(count), handle(0), 0) == 1, "the call is queued");
}

fn sleep_for(calls: u64) {
    while ghost(1) < calls {
        check(ntw_SleepEx(INFINITE, 1) == IO_COMPLETION, "only a call ends it");
    }
}

fn calls() -> Vec<Program> {
    vec![
        program("apc-first", begin_calls, &[|| sleep_for(1), queue], || check(ghost(1) == 1, "it ran once")),
        program("apc-two", begin_calls, &[|| sleep_for(2), queue, queue], || check(ghost(1) == 2, "each ran once")),
        program(
            "apc-again",
            begin_calls,
            &[
                || sleep_for(2),
                || {
                    queue();
                    queue();
                },
            ],
            || check(ghost(1) == 2, "each ran once"),
        ),
        program(
            "apc-or-event",
            begin_calls,
            &[
                || match ntw_WaitForSingleObjectEx(handle(2), INFINITE, 1) {
                    0 => sleep_for(1),
                    IO_COMPLETION => check(ntw_WaitForSingleObject(handle(2), INFINITE) == 0, "the event is there"),
                    _ => check(false, "the wait ends with one of the two"),
                },
                queue,
                || check(ntw_SetEvent(handle(2)) == 1, "it is set"),
            ],
            || check(ghost(1) == 1, "it ran once"),
        ),
        program(
            "apc-signal",
            || {
                begin_calls();
                keep_handle(3, event(false, false));
            },
            &[
                || match ntw_SignalObjectAndWait(handle(3), handle(2), INFINITE, 1) {
                    0 => sleep_for(1),
                    IO_COMPLETION => check(ntw_WaitForSingleObject(handle(2), INFINITE) == 0, "the event is there"),
                    _ => check(false, "the wait ends with one of the two"),
                },
                queue,
                || {
                    check(ntw_WaitForSingleObject(handle(3), INFINITE) == 0, "it signals first");
                    check(ntw_SetEvent(handle(2)) == 1, "it is set");
                },
            ],
            || {
                check(ghost(1) == 1, "it ran once");
                check(ntw_WaitForSingleObject(handle(3), 0) == TIMEOUT, "it has signaled once");
            },
        ),
        program(
            "apc-timed",
            begin_calls,
            &[
                || {
                    let ended = ntw_SleepEx(SOON, 1);
                    check(ended == 0 || ended == IO_COMPLETION, "the time or the call");
                    check(ghost(1) == u64::from(ended == IO_COMPLETION), "what it says");
                    sleep_for(1);
                },
                queue,
            ],
            || check(ghost(1) == 1, "it ran once"),
        ),
        program(
            "apc-end",
            begin_calls,
            &[
                || end_thread(7),
                || {
                    ntw_QueueUserAPC(Some(count), handle(0), 0);
                    check(ntw_WaitForSingleObject(handle(0), INFINITE) == 0, "the thread ends");
                    check(ntw_QueueUserAPC(Some(count), handle(0), 0) == 0, "an ended thread takes no calls");
                },
            ],
            || check(ghost(1) == 0, "nobody runs it"),
        ),
        program(
            "apc-closed",
            begin_calls,
            &[
                || end_thread(7),
                || {
                    ntw_QueueUserAPC(Some(count), handle(0), 0);
                },
                || check(ntw_CloseHandle(handle(0)) == 1, "it is closed"),
            ],
            nothing,
        ),
    ]
}

// Locks: ghost 0 counts the writers inside, 1 the readers.

/// Memory of the programs.
#[repr(align(16))]
struct Memory(UnsafeCell<[u64; 8]>);

// SAFETY: there is one machine at a time, and it runs one thread.
unsafe impl Sync for Memory {}

static LOCK: Memory = Memory(UnsafeCell::new([0; 8]));
static VARIABLE: Memory = Memory(UnsafeCell::new([0; 8]));
static ONCE: Memory = Memory(UnsafeCell::new([0; 8]));
static BARRIER: Memory = Memory(UnsafeCell::new([0; 8]));

impl Memory {
    fn place<T>(&'static self) -> *mut T {
        self.0.get().cast()
    }
}

fn lock() {
    // SAFETY: zeros are a free lock.
    unsafe { ntw_AcquireSRWLockExclusive(LOCK.place()) };
    check(ghost(0) == 0 && ghost(1) == 0, "a writer is alone");
    add(0);
}

fn unlock() {
    set_ghost(0, ghost(0) - 1);
    // SAFETY: this thread has it.
    unsafe { ntw_ReleaseSRWLockExclusive(LOCK.place()) };
}

fn write() {
    lock();
    unlock();
}

fn share() {
    // SAFETY: zeros are a free lock.
    unsafe { ntw_AcquireSRWLockShared(LOCK.place()) };
    check(ghost(0) == 0, "no writer is with readers");
    add(1);
}

fn unshare() {
    set_ghost(1, ghost(1) - 1);
    // SAFETY: this thread shares it.
    unsafe { ntw_ReleaseSRWLockShared(LOCK.place()) };
}

fn read() {
    share();
    unshare();
}

fn try_to_write() {
    // SAFETY: zeros are a free lock; it is released by who has it.
    if unsafe { ntw_TryAcquireSRWLockExclusive(LOCK.place()) } == 1 {
        check(ghost(0) == 0 && ghost(1) == 0, "a writer is alone");
        add(0);
        unlock();
    }
}

fn lock_is_free() {
    // SAFETY: as above.
    check(unsafe { ntw_TryAcquireSRWLockExclusive(LOCK.place()) } == 1, "it is free at the end");
}

fn locks() -> Vec<Program> {
    let lock = |name, bodies: &[fn()]| program(name, nothing, bodies, lock_is_free);
    vec![
        lock("srw-two", &[write, write]),
        lock("srw-writers", &[write, write, write]),
        lock("srw-one-each", &[write, read]),
        lock("srw-readers", &[read, read, write]),
        lock("srw-all", &[read, read, write, read]),
        lock("srw-writers-reader", &[write, write, read]),
        lock(
            "srw-again",
            &[
                || {
                    write();
                    read();
                },
                || {
                    read();
                    write();
                },
                write,
            ],
        ),
        lock("srw-try", &[try_to_write, write, read]),
    ]
}

// Conditions: ghost 2 counts what is there to be taken, 3 what was taken, 4 the wakes.

/// Waits under the lock until the deadline, if any. False if it has passed.
fn sleep(milliseconds: u32) -> bool {
    set_ghost(0, ghost(0) - 1);
    // SAFETY: zeros are one without waiters; this thread has the lock.
    let woken = unsafe { ntw_SleepConditionVariableSRW(VARIABLE.place(), LOCK.place(), milliseconds, 0) };
    check(ghost(0) == 0 && ghost(1) == 0, "it has the lock again, alone");
    add(0);
    woken == 1
}

fn take() {
    lock();
    while ghost(2) == 0 {
        check(sleep(INFINITE), "there is no deadline");
    }
    set_ghost(2, ghost(2) - 1);
    add(3);
    unlock();
}

fn take_soon() {
    lock();
    if ghost(2) == 0 {
        sleep(SOON);
    }
    if ghost(2) > 0 {
        set_ghost(2, ghost(2) - 1);
        add(3);
    }
    unlock();
}

fn give() {
    lock();
    add(2);
    unlock();
    // SAFETY: as above.
    unsafe { ntw_WakeConditionVariable(VARIABLE.place()) };
}

fn give_all() {
    lock();
    set_ghost(2, ghost(2) + 2);
    unlock();
    // SAFETY: as above.
    unsafe { ntw_WakeAllConditionVariable(VARIABLE.place()) };
}

fn take_in_section() {
    let section = LOCK.place();
    // SAFETY: zeros are a free section; this thread owns it when it sleeps and when it leaves.
    unsafe {
        ntw_EnterCriticalSection(section);
        while ghost(2) == 0 {
            check(ntw_SleepConditionVariableCS(VARIABLE.place(), section, INFINITE) == 1, "there is no deadline");
        }
        add(3);
        ntw_LeaveCriticalSection(section);
    }
}

fn give_in_section() {
    let section = LOCK.place();
    // SAFETY: as above.
    unsafe {
        ntw_EnterCriticalSection(section);
        add(2);
        ntw_LeaveCriticalSection(section);
        ntw_WakeConditionVariable(VARIABLE.place());
    }
}

fn conditions() -> Vec<Program> {
    vec![
        program("condition-one", nothing, &[take, give], || check(ghost(3) == 1, "it was taken")),
        program("condition-two", nothing, &[take, take, give_all], || check(ghost(3) == 2, "both were taken")),
        program(
            "condition-each",
            nothing,
            &[take, take, || {
                give();
                give();
            }],
            || check(ghost(3) == 2, "both were taken"),
        ),
        program(
            "condition-timed",
            nothing,
            &[take_soon, take, || {
                give();
                give();
            }],
            || check(ghost(2) + ghost(3) == 2 && ghost(3) > 0, "one takes one, the other perhaps"),
        ),
        program("condition-section", nothing, &[take_in_section, give_in_section], || {
            check(ghost(3) == 1, "it was taken");
        }),
    ]
}

// Handles: ghost 0 is an event, 1 and 2 what becomes of it, 3 to 5 what calls returned.

fn begin_event() {
    keep_handle(0, event(true, false));
}

fn close_event() {
    add_if(3, ntw_CloseHandle(handle(0)) == 1);
}

fn replace_event(signaled: bool) {
    check(ntw_CloseHandle(handle(0)) == 1, "it is closed");
    keep_handle(1, event(false, signaled));
}

/// A second handle, in a slot of its own; the first one, in that of the event, is closed.
fn begin_without_first() {
    begin_event();
    keep_handle(1, duplicate(handle(0)));
    check(ntw_CloseHandle(handle(0)) == 1, "it is closed");
}

fn duplicate_to(place: usize) {
    keep_handle(place, duplicate(handle(1)));
}

fn handles() -> Vec<Program> {
    vec![
        program(
            "handle-reused",
            begin_event,
            &[
                || {
                    ntw_SetEvent(handle(0));
                },
                || replace_event(false),
            ],
            || check(ntw_WaitForSingleObject(handle(1), 0) == TIMEOUT, "nobody has set the new event"),
        ),
        program(
            "handle-waited-reused",
            begin_event,
            &[
                || {
                    let ended = ntw_WaitForSingleObject(handle(0), SOON);
                    check(ended == TIMEOUT || ended == FAILED, "the old event is never set");
                },
                || replace_event(true),
            ],
            || check(ntw_WaitForSingleObject(handle(1), 0) == 0, "nobody has taken the new event"),
        ),
        program(
            "handle-closed-in-wait",
            || {
                begin_event();
                keep_handle(1, duplicate(handle(0)));
            },
            &[
                || {
                    let ended = ntw_WaitForSingleObject(handle(0), INFINITE);
                    check(ended == 0 || ended == FAILED, "the event lives while somebody waits");
                },
                || {
                    check(ntw_CloseHandle(handle(0)) == 1, "it is closed");
                    check(ntw_SetEvent(handle(1)) == 1, "the other handle is good");
                    check(ntw_CloseHandle(handle(1)) == 1, "it is closed, too");
                },
            ],
            nothing,
        ),
        program(
            "handle-closed-twice",
            begin_event,
            &[close_event, close_event, || keep_handle(1, event(true, true))],
            || {
                check(ghost(3) == 1, "one of the two closes it");
                check(ntw_WaitForSingleObject(handle(1), 0) == 0, "the other event is there");
                keep_handle(2, event(true, false));
                check(ghost(1) != ghost(2), "no two handles are the same");
            },
        ),
        program(
            "handle-protected",
            begin_event,
            &[close_event, || set_ghost(4, ntw_SetHandleInformation(handle(0), 2, 2) as u64)],
            || check(ghost(3) + ghost(4) == 1, "it is closed or protected"),
        ),
        program(
            "handle-duplicated",
            begin_event,
            &[close_event, || set_ghost(1, duplicate(handle(0)).addr() as u64)],
            || check(ghost(1) == 0 || ntw_SetEvent(handle(1)) == 1, "the second handle is good, if there is one"),
        ),
        program("handle-duplicated-twice", begin_without_first, &[|| duplicate_to(2), || duplicate_to(3)], || {
            check(ghost(2) != ghost(3), "no two handles are the same");
            for handle in [1, 2, 3].map(handle) {
                check(
                    ntw_SetEvent(handle) == 1 && ntw_CloseHandle(handle) == 1,
                    "each handle is good until it is closed",
                );
            }
        }),
        program(
            "handle-slots",
            || {
                begin_event();
                keep_handle(1, duplicate(handle(0)));
            },
            &[
                || {
                    check(ntw_CloseHandle(handle(0)) == 1, "it is closed");
                    keep_handle(2, event(true, false));
                },
                || {
                    check(ntw_SetEvent(handle(1)) == 1, "the second handle is good");
                    check(ntw_CloseHandle(handle(1)) == 1, "it is closed");
                    keep_handle(3, event(true, false));
                },
            ],
            || {
                check(ghost(2) != ghost(3), "no two handles are the same");
                for handle in [2, 3].map(handle) {
                    check(ntw_WaitForSingleObject(handle, 0) == TIMEOUT, "nobody has set the new event");
                }
            },
        ),
        program("handle-moved", begin_event, &[close_event, || set_ghost(1, moved(handle(0)).addr() as u64)], || {
            check(ghost(1) != 0 || ghost(3) == 1, "who is told that there is no handle is told so by a close");
            check(ghost(1) == 0 || ntw_SetEvent(handle(1)) == 1, "the handle that was moved is good");
        }),
        program(
            "handle-of-thread",
            || {
                keep_handle(0, on_behalf_of(2, || duplicate(ntw_GetCurrentThread())));
                set_ghost(2, ntw_GetThreadId(handle(0)).into());
                on_behalf_of(2, || end_thread(0));
                on_behalf_of(0, || {});
            },
            &[
                || {
                    let id = ntw_GetThreadId(handle(0));
                    check(id == 0 || u64::from(id) == ghost(2), "the thread of the handle, or none");
                },
                || {
                    check(ntw_CloseHandle(handle(0)) == 1, "it is closed");
                    keep_handle(1, duplicate(ntw_GetCurrentThread()));
                },
                nothing,
            ],
            nothing,
        ),
        program("pool", begin_pool, &[use_slot_and_more, use_slots], nothing),
        program("pool-three", begin_pool, &[use_slot, use_slot, use_slot], nothing),
    ]
}

/// A slot of which the ghosts from 4 on count the users.
struct Numbered {
    link: Word32,
}

// SAFETY: a word, for which zero is valid.
unsafe impl Slot for Numbered {
    fn link(&self) -> &Word32 {
        &self.link
    }
}

static POOL: Pool<Numbered, 3> = Pool::new();

fn begin_pool() {
    let taken = [POOL.take(), POOL.take(), POOL.take()].map(|taken| taken.expect("a slot").0);
    taken.into_iter().for_each(|number| POOL.give(number));
}

fn take_slot() -> Option<u32> {
    let number = POOL.take()?.0;
    check(ghost(4 + number as usize) == 0, "a slot has one user");
    add(4 + number as usize);
    Some(number)
}

fn give_slot(number: u32) {
    set_ghost(4 + number as usize, 0);
    POOL.give(number);
}

fn use_slot() {
    check(take_slot().map(give_slot).is_some(), "a slot is free");
    take_slot();
}

fn use_slot_and_more() {
    use_slot();
    take_slot();
}

fn use_slots() {
    let first = take_slot();
    take_slot();
    if let Some(first) = first {
        give_slot(first);
    }
}

// Threads: ghost 0 is a handle of one, 1 the place of its words or a mutex.

fn words() -> &'static Thread {
    // SAFETY: `begin` has kept it, for the execution.
    unsafe { &*ptr::with_exposed_provenance::<Thread>(ghost(1) as usize) }
}

fn begin_words() {
    set_ghost(1, keep(Thread::unbegun(1)).expose_provenance() as u64);
}

fn threads() -> Vec<Program> {
    vec![
        program(
            "thread-resumed",
            begin_words,
            &[|| check(words().may_begin() == Ok(()), "it begins"), resume],
            nothing,
        ),
        program("thread-ended-unbegun", begin_words, &[may_begin, resume, end_unbegun], || {
            check((ghost(2) == 1) != (ghost(3) == 1), "it has begun, or was ended");
        }),
        program(
            "thread-id",
            || {
                let (target, handle) = unbegun_thread();
                keep_handle(0, handle);
                set_ghost(2, u64::from(target.number) << 32 | u64::from(target.generation));
            },
            &[
                || {
                    let target = Target { number: (ghost(2) >> 32) as u32, generation: ghost(2) as u32 };
                    thread_starts(target);
                    set_ghost(3, ntw_GetCurrentThreadId().into());
                },
                || set_ghost(4, ntw_GetThreadId(handle(0)).into()),
                || set_ghost(5, ntw_GetThreadId(handle(0)).into()),
            ],
            || check(ghost(3) == ghost(4) && ghost(4) == ghost(5), "everybody knows its number"),
        ),
        program(
            "thread-ends",
            begin_calls,
            &[
                || end_thread(7),
                || {
                    check(ntw_WaitForSingleObject(handle(0), INFINITE) == 0, "the thread ends");
                    let mut code = 0;
                    // SAFETY: a place for the answer.
                    check(unsafe { ntw_GetExitCodeThread(handle(0), &mut code) } == 1 && code == 7, "its exit code");
                },
            ],
            nothing,
        ),
        program(
            "thread-opened",
            || {
                begin_calls();
                set_ghost(3, ntw_GetThreadId(handle(0)).into());
            },
            &[
                || end_thread(7),
                || {
                    let opened = ntw_OpenThread(0x10_0000, 0, ghost(3) as u32);
                    if !opened.is_null() {
                        check(u64::from(ntw_GetThreadId(opened)) == ghost(3), "it is the thread of this number");
                        check(ntw_WaitForSingleObject(opened, INFINITE) == 0, "the thread ends");
                        check(ntw_CloseHandle(opened) == 1, "it is closed");
                    }
                },
                || check(ntw_CloseHandle(handle(0)) == 1, "it is closed"),
            ],
            nothing,
        ),
        program(
            "thread-abandons",
            || {
                begin_calls();
                // SAFETY: no attributes, no name.
                keep_handle(1, unsafe { ntw_CreateMutexW(ptr::null(), 0, ptr::null()) });
            },
            &[
                || {
                    let had = ntw_WaitForSingleObject(handle(1), INFINITE);
                    check(had == 0, "nobody has abandoned it");
                    end_thread(0);
                },
                || {
                    check(ntw_WaitForSingleObject(handle(0), INFINITE) == 0, "the thread ends");
                    check(ntw_WaitForSingleObject(handle(1), 0) == ABANDONED, "its mutexes are abandoned by then");
                },
            ],
            nothing,
        ),
    ]
}

fn may_begin() {
    match words().may_begin() {
        Ok(()) => set_ghost(2, 1),
        Err(code) => {
            set_ghost(2, 2);
            check(code == 9, "with this exit code");
        }
    }
}

fn resume() {
    words().resume();
}

fn end_unbegun() {
    set_ghost(3, words().end_unbegun(9).into());
}

// Timers: ghost 0 is one, 1 counts the calls that ran.

extern "C-unwind" fn count_due(_argument: *mut std::ffi::c_void, _low: u32, _high: u32) {
    add(1);
}

extern "C-unwind" fn set_anew(_argument: usize) {
    set_timer(0, Some(count_due));
}

fn begin_timer(manual: bool) {
    // SAFETY: no attributes, no name.
    keep_handle(0, unsafe { ntw_CreateWaitableTimerW(ptr::null(), manual.into(), ptr::null()) });
}

/// Due when the search says so.
fn set_timer(period: i32, routine: Option<extern "C-unwind" fn(*mut std::ffi::c_void, u32, u32)>) {
    const HOUR: i64 = -36_000_000_000;
    // SAFETY: a number; the routine takes any argument.
    let set = unsafe { ntw_SetWaitableTimer(handle(0), &HOUR, period, routine, ptr::null_mut(), 0) };
    check(set == 1, "it is set");
}

fn wait_for_timer() {
    check(ntw_WaitForSingleObject(handle(0), INFINITE) == 0, "it is due at last");
}

fn timers() -> Vec<Program> {
    vec![
        program(
            "timer-set",
            || begin_timer(false),
            &[wait_for_timer, || set_timer(0, None)],
            || {
                check(ntw_WaitForSingleObject(handle(0), 0) == TIMEOUT, "it is due once");
            },
        ),
        program(
            "timer-again",
            || begin_timer(false),
            &[wait_for_timer, wait_for_timer, || set_timer(1000, None)],
            nothing,
        ),
        program(
            "timer-closed",
            || begin_timer(false),
            &[
                || {
                    let ended = ntw_WaitForSingleObject(handle(0), SOON);
                    check(matches!(ended, 0 | TIMEOUT | FAILED), "it ends");
                },
                || check(ntw_CloseHandle(handle(0)) == 1, "it is closed"),
                || {
                    const NOW: i64 = 0;
                    // SAFETY: a number.
                    unsafe { ntw_SetWaitableTimer(handle(0), &NOW, 0, None, ptr::null_mut(), 0) };
                },
            ],
            nothing,
        ),
        program(
            "timer-signal",
            || {
                begin_timer(false);
                keep_handle(2, event(false, false));
            },
            &[
                || check(ntw_SignalObjectAndWait(handle(2), handle(0), INFINITE, 0) == 0, "it is due at last"),
                || {
                    check(ntw_WaitForSingleObject(handle(2), INFINITE) == 0, "it signals first");
                    set_timer(0, None);
                },
            ],
            || check(ntw_WaitForSingleObject(handle(2), 0) == TIMEOUT, "it has signaled once"),
        ),
        program(
            "timer-and-event",
            || {
                begin_timer(false);
                keep_handle(2, event(false, false));
            },
            &[
                || {
                    let both = [handle(0), handle(2)];
                    // SAFETY: two handles.
                    let ended = unsafe { ntw_WaitForMultipleObjects(2, both.as_ptr(), 1, INFINITE) };
                    check(ended == 0, "both come at last");
                },
                || set_timer(0, None),
                || check(ntw_SetEvent(handle(2)) == 1, "it is set"),
            ],
            || check(ntw_WaitForSingleObject(handle(2), 0) == TIMEOUT, "both are taken"),
        ),
        program(
            "timer-calls",
            || begin_timer(true),
            &[
                || {
                    set_timer(0, Some(count_due));
                    check(ntw_SleepEx(INFINITE, 1) == IO_COMPLETION, "only the call ends it");
                },
                wait_for_timer,
            ],
            || check(ghost(1) == 1, "it was called once"),
        ),
        program(
            "timer-cancelled",
            || begin_timer(true),
            &[
                || {
                    set_timer(0, Some(count_due));
                    check(ntw_CancelWaitableTimer(handle(0)) == 1, "it is cancelled");
                    check(ntw_SleepEx(SOON, 1) == 0, "no call ends it");
                    check(ghost(1) == 0, "nothing is called after that");
                },
                || {
                    ntw_WaitForSingleObject(handle(0), SOON);
                },
            ],
            nothing,
        ),
        program(
            "timer-set-anew",
            || begin_timer(true),
            &[
                || {
                    set_timer(0, Some(count_due));
                    set_timer(0, Some(count_due));
                    check(ntw_SleepEx(INFINITE, 1) == IO_COMPLETION, "only the call ends it");
                    check(ntw_SleepEx(SOON, 1) == 0, "there is no other");
                },
                || {
                    ntw_WaitForSingleObject(handle(0), SOON);
                },
            ],
            || check(ghost(1) == 1, "the second setting calls, and the first does not"),
        ),
        program(
            "timer-set-anew-by-call",
            || begin_timer(true),
            &[
                || {
                    set_timer(0, Some(count_due));
                    check(ntw_QueueUserAPC(Some(set_anew), ntw_GetCurrentThread(), 0) == 1, "the call is queued");
                    check(ntw_SleepEx(INFINITE, 1) == IO_COMPLETION, "that call ends it");
                    check(ghost(1) == 0, "the first setting calls no more");
                    check(ntw_SleepEx(INFINITE, 1) == IO_COMPLETION, "the second setting calls");
                },
                || {
                    ntw_WaitForSingleObject(handle(0), SOON);
                },
            ],
            || check(ghost(1) == 1, "it was called once"),
        ),
        program(
            "timer-of-the-dead",
            || begin_timer(true),
            &[
                || {
                    set_timer(0, Some(count_due));
                    end_thread(0);
                },
                wait_for_timer,
            ],
            || check(ghost(1) == 0, "nobody is there to call it"),
        ),
    ]
}

// Together: ghost 0 counts who initializes, 1 who failed to, 2 who passed the barrier.

type Init = extern "C-unwind" fn(*mut Word64, *mut std::ffi::c_void, *mut *mut std::ffi::c_void) -> i32;

extern "C-unwind" fn initialize(
    _once: *mut Word64,
    _parameter: *mut std::ffi::c_void,
    context: *mut *mut std::ffi::c_void,
) -> i32 {
    add(0);
    // SAFETY: `once` passes a place.
    unsafe { context.write(ptr::without_provenance_mut(64)) };
    1
}

extern "C-unwind" fn fail_first(
    once: *mut Word64,
    parameter: *mut std::ffi::c_void,
    context: *mut *mut std::ffi::c_void,
) -> i32 {
    add(1);
    if ghost(1) == 1 { 0 } else { initialize(once, parameter, context) }
}

fn once(init: Init) -> bool {
    let mut context = ptr::null_mut();
    // SAFETY: zeros are one that nobody has begun; a place for the context.
    let done = unsafe { ntw_InitOnceExecuteOnce(ONCE.place(), init, ptr::null_mut(), &mut context) } == 1;
    check(!done || context.addr() == 64, "everybody gets the context");
    done
}

fn once_good() {
    check(once(initialize), "it is initialized");
}

fn once_failing() {
    add_if(3, once(fail_first));
}

fn begin_barrier() {
    // SAFETY: memory for one.
    unsafe { ntw_InitializeSynchronizationBarrier(BARRIER.place(), 2, 0) };
}

/// The last thread of the second round ends the barrier, and gives its memory back.
fn pass_twice() {
    // SAFETY: `begin` has initialized it.
    unsafe {
        add_if(2, ntw_EnterSynchronizationBarrier(BARRIER.place(), 0) == 1);
        if ntw_EnterSynchronizationBarrier(BARRIER.place(), 0) == 1 {
            ntw_DeleteSynchronizationBarrier(BARRIER.place());
            free(BARRIER.place::<u8>().expose_provenance(), 32);
            add(3);
        }
    }
}

fn together() -> Vec<Program> {
    vec![
        program("once", nothing, &[once_good, once_good, once_good], || check(ghost(0) == 1, "one initializes")),
        program("once-fails", nothing, &[once_failing, once_failing], || {
            check(ghost(0) == 1 && ghost(3) == 1, "the other one does it");
        }),
        program("barrier", begin_barrier, &[pass_twice, pass_twice], || {
            check(ghost(2) == 1 && ghost(3) == 1, "one is the last, each time");
        }),
    ]
}
