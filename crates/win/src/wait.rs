// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for handles.
//!
//! # Role
//! A wait that finds its object takes it with one exchange of the core, without anything that the close of a handle could disturb: the core
//! refuses the number of an object that was closed. A wait that is going to sleep holds the records, so the objects live until it ends.
//!
//! # Alertable waits
//! An object that is signaled comes first, then an APC that is due, then the wait, which the thread's alert ends. APCs run outside of
//! [`crate::boundary::call`]. An alert without an APC, of which an earlier wait has seen to the call, ends nothing.
//!
//! # Timers
//! The core signals those that are due. An alertable wait of a thread that timers call queues the calls that are due, and sleeps until the
//! next one ([`crate::timer`]). Then it looks again.
//!
//! # Descriptors
//! A wait with descriptors of the system among its objects is [`crate::descriptor`]'s.

use ntux::{Deadline, Satisfied};
use ntux_sync::{Object, WAIT_MAX};

use crate::arena::{Arena, arena};
use crate::boundary::call;
use crate::descriptor::{Ended, Mixed};
use crate::handle::{self, CURRENT_PROCESS, CURRENT_THREAD, Found, Handle};
use crate::last_error::{self, ACCESS_DENIED, INTERNAL_ERROR, INVALID_HANDLE, INVALID_PARAMETER, Result};
use crate::planted::{Bug, planted};
use crate::record::{Kind, Target};
use crate::status::{INVALID_PARAMETER_1, Status};
use crate::word::deadline;
use crate::{apc, process, thread, timer};

const WAIT_OBJECT_0: u32 = 0;
const WAIT_ABANDONED_0: u32 = 0x80;
const WAIT_IO_COMPLETION: u32 = 0xC0;
const WAIT_TIMEOUT: u32 = 0x102;
const WAIT_FAILED: u32 = u32::MAX;

/// How one round of a wait ended.
#[derive(Clone, Copy)]
enum Round {
    Ended(u32),
    /// APCs may be due.
    Alerted,
    /// A call is due, or a process has ended: another round.
    Again,
}

/// What a wait is for.
struct Wanted {
    count: usize,
    objects: [Object; WAIT_MAX],
    kinds: [Kind; WAIT_MAX],
    targets: [Target; WAIT_MAX],
}

impl Wanted {
    const NOTHING: Wanted = Wanted {
        count: 0,
        objects: [Object(0); WAIT_MAX],
        kinds: [Kind::Event; WAIT_MAX],
        targets: [Target { number: 0, generation: 0 }; WAIT_MAX],
    };

    /// Adds what a handle names.
    ///
    /// Errors: `INVALID_HANDLE`, `ACCESS_DENIED`.
    fn add(&mut self, handle: Handle) -> Result<()> {
        let found = waitable(handle)?;
        self.push(found.entry.target(), found.kind, found.object);
        Ok(())
    }

    fn push(&mut self, target: Target, kind: Kind, object: Object) {
        (self.targets[self.count], self.kinds[self.count], self.objects[self.count]) = (target, kind, object);
        self.count += 1;
    }

    /// The records of the processes among them.
    fn processes(&self) -> impl Iterator<Item = Target> {
        (0..self.count).filter(|&index| self.kinds[index] == Kind::Process).map(|index| self.targets[index])
    }

    /// Returns true if waits have to see to it that one of them is signaled.
    fn is_watched(&self) -> bool {
        self.kinds[..self.count].iter().any(|kind| matches!(kind, Kind::Process | Kind::Descriptor))
    }

    fn has_descriptors(&self) -> bool {
        self.kinds[..self.count].contains(&Kind::Descriptor)
    }

    fn objects(&self) -> &[Object] {
        &self.objects[..self.count]
    }

    /// Keeps the objects until the end of the wait.
    ///
    /// Errors: `INVALID_HANDLE` if one was closed since it was looked up.
    fn hold(&self) -> Result<Holds<'_>> {
        let mut holds = Holds(&self.targets[..0]);
        for (index, target) in self.targets[..self.count].iter().enumerate() {
            if !target.hold() {
                return Err(INVALID_HANDLE);
            }
            holds.0 = &self.targets[..=index];
        }
        Ok(holds)
    }

    /// What Windows says of a wait that was satisfied.
    fn acquired(&self, satisfied: Satisfied, all: bool) -> u32 {
        for index in 0..self.count {
            if self.kinds[index] == Kind::Mutex && (all || index == satisfied.index as usize) {
                thread::owns(self.objects[index]);
            }
        }
        let index = if all { 0 } else { satisfied.index };
        index + if satisfied.abandoned { WAIT_ABANDONED_0 } else { WAIT_OBJECT_0 }
    }

    /// Why the core refused.
    fn refusal(&self, error: ntux::Error, all: bool) -> last_error::Error {
        let objects = self.objects();
        let is_twice = |(index, object): (usize, &Object)| objects[..index].contains(object);
        match error {
            ntux::Error::Invalid if all && objects.iter().enumerate().any(is_twice) => INVALID_PARAMETER,
            other => last_error::of_object(other),
        }
    }
}

/// Records that are held.
struct Holds<'a>(&'a [Target]);

impl Drop for Holds<'_> {
    fn drop(&mut self) {
        for target in self.0 {
            target.release();
        }
    }
}

/// What a handle names that can be waited for.
///
/// Errors: those of [`handle::look_up`]; `ACCESS_DENIED`.
pub fn waitable(handle: Handle) -> Result<Found> {
    handle::look_up(handle)?.waitable()
}

/// One wait of the calling thread, until when, and whether APCs end it.
#[derive(Clone, Copy)]
struct Terms {
    all: bool,
    deadline: Deadline,
    alertable: bool,
    /// The alert ends it, whether or not an APC is due.
    by_alert: bool,
}

/// Does what is due: of the objects, which the caller keeps, and of the calling thread's timers if it waits alertably.
fn look(wanted: &Wanted, alertable: bool) {
    if alertable {
        timer::look_at_own();
    }
    process::look(wanted.processes());
}

/// One round: acquires, or sleeps until that is possible.
fn round(arena: &Arena, wanted: &Wanted, terms: Terms) -> Result<Round> {
    let is_watched = wanted.is_watched();
    let holds = if is_watched { Some(wanted.hold()?) } else { None };
    if is_watched || terms.alertable {
        look(wanted, terms.alertable);
    }
    let now = Terms { deadline: Deadline::NOW, ..terms };
    if wanted.count > 0 {
        match sleep(arena, wanted, now, None)? {
            Round::Ended(WAIT_TIMEOUT) if terms.deadline != Deadline::NOW || terms.alertable => {}
            ended => return Ok(ended),
        }
    }
    if !terms.alertable && !terms.by_alert && !is_watched {
        let _holds = wanted.hold()?;
        return sleep(arena, wanted, terms, None);
    }
    // Made before the look at the queue (pair A of [`apc`]).
    let looked = planted(Bug::LooksBeforeAlert).then(thread::has_apc);
    let alert = thread::alert_of_caller()?;
    if terms.alertable && looked.unwrap_or_else(thread::has_apc) {
        return Ok(Round::Alerted);
    }
    if terms.deadline == Deadline::NOW {
        return Ok(Round::Ended(WAIT_TIMEOUT));
    }
    let _holds = match holds {
        Some(holds) => holds,
        None => wanted.hold()?,
    };
    let _processes = process::Watches::of(wanted.processes())?;
    let due = terms.alertable.then(timer::look_at_own).flatten();
    let deadline = due.map_or(terms.deadline, |due| terms.deadline.earlier(due));
    match sleep(arena, wanted, Terms { deadline, ..terms }, Some(alert))? {
        Round::Ended(WAIT_TIMEOUT) if deadline != terms.deadline && !terms.deadline.passed() => Ok(Round::Again),
        Round::Alerted if !terms.alertable && !terms.by_alert => Ok(Round::Again),
        ended => Ok(ended),
    }
}

/// Waits in the core.
fn sleep(arena: &Arena, wanted: &Wanted, terms: Terms, alert: Option<Object>) -> Result<Round> {
    if wanted.has_descriptors() {
        return sleep_or_poll(arena, wanted, terms, alert);
    }
    let owner = thread::owner();
    let ended = arena.with_waiter(|core, waiter| match terms.all {
        false => core.wait_any(waiter, wanted.objects(), alert, owner, terms.deadline),
        true => core.wait_all(waiter, wanted.objects(), alert, owner, terms.deadline),
    });
    match ended {
        Ok(satisfied) if alert.is_some() && satisfied.index as usize == wanted.count => Ok(Round::Alerted),
        Ok(satisfied) => Ok(Round::Ended(wanted.acquired(satisfied, terms.all))),
        Err(ntux::Error::TimedOut) => Ok(Round::Ended(WAIT_TIMEOUT)),
        Err(error) => Err(wanted.refusal(error, terms.all)),
    }
}

/// Waits in the core, and for descriptors.
#[cold]
fn sleep_or_poll(arena: &Arena, wanted: &Wanted, terms: Terms, alert: Option<Object>) -> Result<Round> {
    let count = wanted.count;
    let (targets, kinds) = (&wanted.targets[..count], &wanted.kinds[..count]);
    let mixed = Mixed { targets, objects: wanted.objects(), kinds, owner: thread::owner() };
    let ended = match terms.all {
        false => mixed.any(arena, alert, terms.deadline),
        true => mixed.all(arena, alert, terms.deadline),
    };
    Ok(match ended? {
        Ended::By(satisfied) => Round::Ended(wanted.acquired(satisfied, terms.all)),
        Ended::Alerted => Round::Alerted,
        Ended::Late => Round::Ended(WAIT_TIMEOUT),
    })
}

/// How the wait of a wait thread ended.
#[derive(Clone, Copy)]
pub enum Woken {
    /// By the object with this index; what Windows says of the object alone.
    By(usize, u32),
    Late,
    /// By the thread's alert, or because APCs are due.
    Alerted,
}

/// Waits for any of these objects, whose records the caller keeps, or for the alert of the calling thread. APCs do not run here; they end it
/// if it is alertable.
///
/// Errors: those of the core.
pub fn of_wait_thread(targets: &[Target], deadline: Deadline, alertable: bool) -> Result<Woken> {
    let mut wanted = Wanted::NOTHING;
    for &target in targets.iter().take(WAIT_MAX) {
        let record = target.record().ok_or(INVALID_HANDLE)?;
        wanted.push(target, record.kind().ok_or(INVALID_HANDLE)?, record.object());
    }
    let terms = Terms { all: false, deadline, alertable, by_alert: true };
    loop {
        match round(arena()?, &wanted, terms)? {
            Round::Ended(WAIT_TIMEOUT) => return Ok(Woken::Late),
            Round::Ended(result) if result >= WAIT_ABANDONED_0 => {
                return Ok(Woken::By((result - WAIT_ABANDONED_0) as usize, WAIT_ABANDONED_0));
            }
            Round::Ended(index) => return Ok(Woken::By(index as usize, WAIT_OBJECT_0)),
            Round::Alerted => return Ok(Woken::Alerted),
            Round::Again => {}
        }
    }
}

/// Rounds until the wait has ended. APCs that run here may end the thread: nothing is to be cleaned up.
fn until_ended(round: impl Fn() -> Result<Round>) -> Result<u32> {
    loop {
        match call(Err(INTERNAL_ERROR), || Ok(round()))? {
            Round::Ended(result) => return Ok(result),
            Round::Alerted if apc::run() => return Ok(WAIT_IO_COMPLETION),
            Round::Alerted | Round::Again => {}
        }
    }
}

/// What a function of Win32 returns.
fn or_failed(ended: Result<u32>) -> u32 {
    ended.unwrap_or_else(|error| {
        last_error::set(error);
        WAIT_FAILED
    })
}

/// What one of ntdll returns: the same numbers.
fn or_status(ended: Result<u32>) -> u32 {
    ended.unwrap_or_else(|error| Status::from(error).0)
}

/// The deadline of a function of ntdll.
///
/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
pub unsafe fn deadline_at(timeout: *const i64) -> Deadline {
    if timeout.is_null() {
        return Deadline::Never;
    }
    // SAFETY: the same contract; not null.
    match unsafe { timeout.read_unaligned() } {
        0 => Deadline::NOW,
        due => timer::deadline(due),
    }
}

/// Takes the object of a handle if that takes one exchange, and nothing else. None if nothing has happened.
#[inline]
fn at_once(handle: Handle) -> Option<u32> {
    let found = handle::look_up_at_once(handle).ok()?.waitable().ok()?;
    let owner = thread::owner();
    let taken = arena().ok()?.at_once(|core, waiter| core.acquire_at_once(waiter, found.object, owner))?;
    if found.kind == Kind::Mutex {
        thread::owns(found.object);
    }
    Some(if taken.abandoned { WAIT_ABANDONED_0 } else { WAIT_OBJECT_0 })
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_WaitForSingleObject(handle: Handle, milliseconds: u32) -> u32 {
    ntw_WaitForSingleObjectEx(handle, milliseconds, 0)
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_WaitForSingleObjectEx(handle: Handle, milliseconds: u32, alertable: i32) -> u32 {
    if let Some(taken) = at_once(handle) {
        return taken;
    }
    or_failed(one(handle, deadline(milliseconds), alertable != 0))
}

/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtWaitForSingleObject(handle: Handle, alertable: u8, timeout: *const i64) -> u32 {
    if let Some(taken) = at_once(handle) {
        return taken;
    }
    // SAFETY: the same contract.
    or_status(one(handle, unsafe { deadline_at(timeout) }, alertable != 0))
}

fn one(handle: Handle, deadline: Deadline, alertable: bool) -> Result<u32> {
    let terms = Terms { all: false, deadline, alertable, by_alert: false };
    until_ended(|| {
        let mut wanted = Wanted::NOTHING;
        // A thread or a process that waits for its own end waits for nothing.
        if !matches!(handle.addr(), CURRENT_PROCESS | CURRENT_THREAD) {
            wanted.add(handle)?;
        }
        round(arena()?, &wanted, terms)
    })
}

/// # Safety
/// `handles` points to `count` handles, if that is 1 to 64.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_WaitForMultipleObjects(
    count: u32,
    handles: *const Handle,
    all: i32,
    milliseconds: u32,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_WaitForMultipleObjectsEx(count, handles, all, milliseconds, 0) }
}

/// # Safety
/// `handles` points to `count` handles, if that is 1 to 64.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_WaitForMultipleObjectsEx(
    count: u32,
    handles: *const Handle,
    all: i32,
    milliseconds: u32,
    alertable: i32,
) -> u32 {
    if !is_possible(count, handles) {
        return or_failed(Err(INVALID_PARAMETER));
    }
    // SAFETY: the same contract.
    or_failed(unsafe { several(count, handles, all != 0, deadline(milliseconds), alertable != 0) })
}

/// # Safety
/// `handles` points to `count` handles, if that is 1 to 64; `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtWaitForMultipleObjects(
    count: u32,
    handles: *const Handle,
    any: u32,
    alertable: u8,
    timeout: *const i64,
) -> u32 {
    if !is_possible(count, handles) {
        return INVALID_PARAMETER_1.0;
    }
    // SAFETY: the same contract.
    or_status(unsafe { several(count, handles, any == 0, deadline_at(timeout), alertable != 0) })
}

fn is_possible(count: u32, handles: *const Handle) -> bool {
    count != 0 && count as usize <= WAIT_MAX && !handles.is_null()
}

/// # Safety
/// `handles` points to `count` handles, which is 1 to 64.
unsafe fn several(count: u32, handles: *const Handle, all: bool, deadline: Deadline, alertable: bool) -> Result<u32> {
    let terms = Terms { all, deadline, alertable, by_alert: false };
    until_ended(|| {
        let mut wanted = Wanted::NOTHING;
        for index in 0..count as usize {
            // SAFETY: by the contract; below the count.
            wanted.add(unsafe { handles.add(index).read_unaligned() })?;
        }
        round(arena()?, &wanted, terms)
    })
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_SignalObjectAndWait(
    signal: Handle,
    object: Handle,
    milliseconds: u32,
    alertable: i32,
) -> u32 {
    or_failed(first_signaled(signal, object, deadline(milliseconds), alertable != 0))
}

/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtSignalAndWaitForSingleObject(
    signal: Handle,
    object: Handle,
    alertable: u8,
    timeout: *const i64,
) -> u32 {
    // SAFETY: the same contract.
    or_status(first_signaled(signal, object, unsafe { deadline_at(timeout) }, alertable != 0))
}

/// # Which of the two operations a round does
/// The first signals, then waits. If an alert ends that wait for nothing, the next ones only wait.
fn first_signaled(signal: Handle, object: Handle, deadline: Deadline, alertable: bool) -> Result<u32> {
    let is_signaled = std::cell::Cell::new(false);
    let terms = Terms { all: false, deadline, alertable, by_alert: false };
    until_ended(|| {
        let mut wanted = Wanted::NOTHING;
        wanted.add(object)?;
        if is_signaled.get() {
            return round(arena()?, &wanted, terms);
        }
        signal_and_wait(signal, &wanted, terms, &is_signaled)
    })
}

/// Errors: those of a signal and of a wait, with nothing signaled.
fn signal_and_wait(
    signal: Handle,
    wanted: &Wanted,
    terms: Terms,
    is_signaled: &std::cell::Cell<bool>,
) -> Result<Round> {
    let found = handle::look_up(signal)?;
    match found.kind {
        Kind::Event | Kind::Semaphore if !found.entry.rights().modify => return Err(ACCESS_DENIED),
        Kind::Event | Kind::Semaphore | Kind::Mutex => {}
        _ => return Err(INVALID_HANDLE),
    }
    let is_watched = wanted.is_watched();
    let _holds = wanted.hold()?;
    if is_watched || terms.alertable {
        look(wanted, terms.alertable);
    }
    // A process or a descriptor has to be watched, which the next rounds do: this one only looks whether it was signaled.
    let is_due = is_watched || terms.alertable && (thread::has_apc() || !thread::timers().is_empty());
    let alert = match terms.alertable && !is_due {
        true => Some(thread::alert_of_caller()?),
        false => None,
    };
    // An APC that was queued before the alert was made.
    let is_due = is_due || terms.alertable && thread::has_apc();
    let deadline = if is_due { Deadline::NOW } else { terms.deadline };
    let owner = thread::owner();
    let ended = arena()?.with_waiter(|core, waiter| {
        core.signal_and_wait(waiter, found.object, wanted.objects[0], alert.filter(|_| !is_due), owner, deadline)
    });
    if matches!(ended, Ok(_) | Err(ntux::Error::TimedOut)) {
        is_signaled.set(true);
        if found.kind == Kind::Mutex {
            thread::owns_less(found.object);
        }
    }
    match ended {
        Ok(satisfied) if satisfied.index == 1 => Ok(Round::Alerted),
        Ok(satisfied) => Ok(Round::Ended(wanted.acquired(satisfied, false))),
        // APCs run next, if there are any, then the rounds that only wait.
        Err(ntux::Error::TimedOut) if is_due && terms.alertable => Ok(Round::Alerted),
        Err(ntux::Error::TimedOut) if is_due => Ok(Round::Again),
        Err(ntux::Error::TimedOut) => Ok(Round::Ended(WAIT_TIMEOUT)),
        Err(error) => Err(wanted.refusal(error, false)),
    }
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_Sleep(milliseconds: u32) {
    ntw_SleepEx(milliseconds, 0);
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_SleepEx(milliseconds: u32, alertable: i32) -> u32 {
    asleep(deadline(milliseconds), alertable != 0)
}

/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtDelayExecution(alertable: u8, timeout: *const i64) -> u32 {
    // SAFETY: the same contract.
    asleep(unsafe { deadline_at(timeout) }, alertable != 0)
}

/// `WAIT_IO_COMPLETION` if an APC has run, else 0.
fn asleep(deadline: Deadline, alertable: bool) -> u32 {
    let terms = Terms { all: false, deadline, alertable, by_alert: false };
    if deadline == Deadline::NOW && !alertable {
        std::thread::yield_now();
        return 0;
    }
    match until_ended(|| round(arena()?, &Wanted::NOTHING, terms)) {
        Ok(WAIT_IO_COMPLETION) => WAIT_IO_COMPLETION,
        _ => 0,
    }
}
