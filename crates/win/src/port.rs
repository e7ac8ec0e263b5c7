// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completion ports.
//!
//! # Role
//! Packets are posted to a port, and taken in their order, each by one thread. A thread that finds none sleeps, and is given one: the one
//! that came last comes first, so few threads do the work, whose memory is in the caches. The list has no bound but memory, as on Windows;
//! the queues of the core have one, and no order of those who sleep, so this is no queue of the core. A port belongs to one process.
//!
//! # Picture
//! ```text
//! packets   posted, and not taken: the oldest first
//! sleepers  the alerts of the threads that sleep for a packet, in the order in which they came
//! given     packets of threads that were taken out of `sleepers`, each with the thread's alert
//! event     of the record, for waits for the handle: set while there are packets, and after the last handle was closed
//! ```
//! # Transitions, each with the lock
//! | what | by |
//! | --- | --- |
//! | a packet more, and the event is set if it is the first; or, if somebody sleeps, the last sleeper is given it | [`Port::post`], which then sets the sleeper's alert |
//! | the oldest packets fewer, and the event is reset if none is left; or a sleeper more | [`Port::take_or_sleep`] |
//! | a given packet fewer, or a sleeper fewer | [`Port::wake`] of the sleeper |
//! | closed, the event is set | [`close`], which then sets the alerts of all sleepers |
//!
//! # Invariants
//! * I-port-1: there are packets, or there are sleepers, or neither.
//! * I-port-2: an alert is in `sleepers`, or in `given`, or in neither. A thread whose sleep has ended, for whatever reason, looks into both
//!   before it goes. So what it was given is lost to nobody.
//!
//! # How many threads run
//! The number that a port is created with is not obeyed. Windows counts the threads that have taken a packet and are not blocked. Whether a
//! thread is blocked in a call of the system, or in a lock of the C library, cannot be seen from here: a port that counted such a thread as
//! running would give packets to nobody.
//!
//! # Death
//! The threads of a process die together. A forked child does not look at its parent's ports, whose locks may be held for ever there.

use core::ffi::c_void;
use std::collections::VecDeque;

use ntux::{Deadline, MutexGuard};
use ntux_sync::{New, Object};

use crate::access;
use crate::arena::{arena, set};
use crate::attributes::ObjectAttributes;
use crate::boundary::{call, call_for_bool, put};
use crate::handle::{self, Flags, Handle};
use crate::last_error::{
    ABANDONED_WAIT_0, CALL_NOT_IMPLEMENTED, Error, INTERNAL_ERROR, INVALID_HANDLE, INVALID_PARAMETER, IO_COMPLETION,
    Result, WAIT_TIMEOUT,
};
use crate::locked::Locked;
use crate::planted::{Bug, planted};
use crate::record::{self, First, Kind, Payload, Target};
use crate::status::{self, SUCCESS, call_for_status, ntw_RtlNtStatusToDosError};
use crate::wait::{self, Woken};
use crate::word::deadline;
use crate::{apc, attributes, create, nt, thread, timer};

const NO_FILE: usize = usize::MAX;
/// GetQueuedCompletionStatus takes statuses from here on for failures of what the packet is about.
const FAILED_STATUS: u32 = 0xC000_0000;

/// A packet: FILE_IO_COMPLETION_INFORMATION, and so OVERLAPPED_ENTRY, which says the lower half of the information.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Packet {
    key: usize,
    overlapped: *mut c_void,
    /// STATUS_SUCCESS, but of NtSetIoCompletion.
    status: usize,
    /// The bytes.
    information: usize,
}

impl Packet {
    const NONE: Packet = Packet { key: 0, overlapped: core::ptr::null_mut(), status: 0, information: 0 };
}

// SAFETY: numbers of the program; nobody here follows the pointer.
unsafe impl Send for Packet {}

/// See the module.
pub struct Port {
    state: Locked<State>,
}

#[derive(Default)]
struct State {
    packets: VecDeque<Packet>,
    sleepers: Vec<Object>,
    given: Vec<(Object, Packet)>,
    is_closed: bool,
}

impl State {
    /// Takes the packet that the sleeper was given.
    fn take_given(&mut self, alert: Object) -> Option<Packet> {
        let index = self.given.iter().position(|(sleeper, _)| *sleeper == alert)?;
        Some(self.given.swap_remove(index).1)
    }

    /// The sleeper goes. False if it was given a packet.
    fn leave(&mut self, alert: Object) -> bool {
        let index = self.sleepers.iter().rposition(|sleeper| *sleeper == alert);
        index.map(|index| self.sleepers.remove(index)).is_some()
    }
}

/// Packets that a call may take: so many places of the program.
struct Room {
    entries: *mut Packet,
    places: u32,
    taken: u32,
}

impl Room {
    /// # Safety
    /// There are so many places, which may be written as long as this is used.
    unsafe fn new(entries: *mut Packet, places: u32) -> Room {
        Room { entries, places, taken: 0 }
    }

    fn is_full(&self) -> bool {
        self.taken == self.places
    }

    fn push(&mut self, packet: Packet) {
        if !self.is_full() {
            // SAFETY: one of the places, by the promise of `new`.
            unsafe { self.entries.add(self.taken as usize).write_unaligned(packet) };
            self.taken += 1;
        }
    }
}

/// Where a thread stands after a look at the port.
enum Stands {
    Taken,
    Sleeps,
    Nothing,
}

impl Port {
    pub fn new() -> Port {
        Port { state: Locked::new(State::default()) }
    }

    /// Errors: `CALL_NOT_IMPLEMENTED` in a forked child.
    fn lock(&self) -> Result<MutexGuard<'_, State>> {
        self.state.lock().ok_or(CALL_NOT_IMPLEMENTED)
    }

    /// Errors: `INVALID_HANDLE` if it was closed; that of [`Port::lock`].
    fn post(&self, packet: Packet, event: Object) -> Result<()> {
        let mut state = self.lock()?;
        if state.is_closed {
            return Err(INVALID_HANDLE);
        }
        if let Some(sleeper) = state.sleepers.pop() {
            state.given.push((sleeper, packet));
            drop(state);
            set(sleeper);
            return Ok(());
        }
        state.packets.push_back(packet);
        if state.packets.len() == 1 {
            set(event);
        }
        Ok(())
    }

    /// Takes what is there. If nothing is there, the thread sleeps from now on, if it has an alert.
    ///
    /// Errors: `ABANDONED_WAIT_0` if the port was closed; that of [`Port::lock`].
    fn take_or_sleep(&self, room: &mut Room, event: Object, alert: Option<Object>) -> Result<Stands> {
        let mut state = self.lock()?;
        if state.is_closed {
            return Err(ABANDONED_WAIT_0);
        }
        if let (true, Some(alert)) = (state.packets.is_empty(), alert) {
            state.sleepers.push(alert);
            return Ok(Stands::Sleeps);
        }
        take(&mut state, room, event)?;
        Ok(if room.taken > 0 { Stands::Taken } else { Stands::Nothing })
    }

    /// The sleep of a thread has ended, and it goes, or sleeps on if it must and can.
    ///
    /// Errors: those of [`Port::take_or_sleep`].
    fn wake(&self, room: &mut Room, event: Object, alert: Object, goes: bool) -> Result<Stands> {
        let mut state = self.lock()?;
        if planted(Bug::LeavesPacket) && goes && !state.leave(alert) {
            return Ok(Stands::Nothing);
        }
        if let Some(packet) = state.take_given(alert) {
            room.push(packet);
            take(&mut state, room, event)?;
            return Ok(Stands::Taken);
        }
        if state.is_closed {
            return Err(ABANDONED_WAIT_0);
        }
        if !goes {
            return Ok(Stands::Sleeps);
        }
        state.leave(alert);
        Ok(Stands::Nothing)
    }

    fn has_packets(&self) -> bool {
        self.lock().is_ok_and(|state| !state.packets.is_empty())
    }
}

/// Takes as many packets as there is room for. Resets the event if none is left.
fn take(state: &mut State, room: &mut Room, event: Object) -> Result<()> {
    let had_any = !state.packets.is_empty();
    while !room.is_full()
        && let Some(packet) = state.packets.pop_front()
    {
        room.push(packet);
    }
    if had_any && state.packets.is_empty() {
        let _ = arena()?.with_waiter(|core, waiter| core.event_reset(waiter, event));
    }
    Ok(())
}

/// The last handle was closed: who sleeps gets nothing any more. The caller holds the record.
pub fn close(target: Target) {
    let Some(record) = target.record() else { return };
    // SAFETY: the caller holds it.
    let Some(mut state) = (unsafe { record.port() }).and_then(|port| port.lock().ok()) else { return };
    state.is_closed = true;
    state.packets.clear();
    let sleepers = core::mem::take(&mut state.sleepers);
    set(record.object());
    drop(state);
    if !planted(Bug::ClosesSilently) {
        sleepers.into_iter().for_each(set);
    }
}

/// A port that a call uses, which lives until this is dropped.
struct Used {
    target: Target,
    port: &'static Port,
    event: Object,
}

impl Used {
    /// Errors: `INVALID_HANDLE`, `ACCESS_DENIED`.
    fn of(handle: Handle) -> Result<Used> {
        let found = handle::look_up_modifiable(handle, Kind::Port)?;
        Used::of_target(found.entry.target(), found.object)
    }

    /// Errors: `INVALID_HANDLE` if it has ended.
    fn of_target(target: Target, event: Object) -> Result<Used> {
        if !target.hold() {
            return Err(INVALID_HANDLE);
        }
        // SAFETY: held just now, until this is dropped; the reference goes with it.
        match target.record().and_then(|record| unsafe { record.port() }) {
            Some(port) => Ok(Used { target, port, event }),
            None => {
                target.release();
                Err(INVALID_HANDLE)
            }
        }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.target.release();
    }
}

/// How one round of a call that takes packets has ended.
#[derive(Clone, Copy)]
enum Round {
    Taken(u32),
    /// APCs may be due.
    Alerted,
    Failed(Error),
}

/// A thread that waits alertably calls its APCs first, unless there is a packet, and the port is the one from which it has taken last.
fn round(handle: Handle, mut room: Room, deadline: Deadline, alertable: bool) -> Result<Round> {
    let used = Used::of(handle)?;
    let (port, event) = (used.port, used.event);
    if alertable {
        timer::look_at_own();
        if thread::has_apc() && !(thread::port() == Some(used.target) && port.has_packets()) {
            return Ok(Round::Alerted);
        }
    }
    thread::takes_from(used.target);
    let alert = if deadline == Deadline::NOW { None } else { Some(thread::alert_of_caller()?) };
    let mut stands = port.take_or_sleep(&mut room, event, alert)?;
    while let (Stands::Sleeps, Some(alert)) = (&stands, alert) {
        let woken = wait::of_wait_thread(&[], deadline, alertable);
        let is_alerted = alertable && thread::has_apc();
        let goes = is_alerted || !matches!(woken, Ok(Woken::Alerted));
        stands = port.wake(&mut room, event, alert, goes)?;
        if let (Stands::Nothing, true) = (&stands, is_alerted) {
            return Ok(Round::Alerted);
        }
        if let (Stands::Nothing, Err(error)) = (&stands, woken) {
            return Err(error);
        }
    }
    Ok(if room.taken > 0 { Round::Taken(room.taken) } else { Round::Failed(WAIT_TIMEOUT) })
}

/// Rounds until packets were taken. APCs that run here may end the thread: nothing is to be cleaned up.
///
/// # Safety
/// The contract is that of [`Room::new`].
unsafe fn remove(port: Handle, entries: *mut Packet, places: u32, deadline: Deadline, alertable: bool) -> Result<u32> {
    loop {
        // SAFETY: the same contract.
        let next = || round(port, unsafe { Room::new(entries, places) }, deadline, alertable);
        let ended = call(None, || Ok(Some(next().unwrap_or_else(Round::Failed))));
        match ended {
            Some(Round::Taken(taken)) => return Ok(taken),
            Some(Round::Failed(error)) => return Err(error),
            Some(Round::Alerted) if apc::run() => return Err(IO_COMPLETION),
            Some(Round::Alerted) => {}
            None => return Err(INTERNAL_ERROR),
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CreateIoCompletionPort(file: Handle, port: Handle, _key: usize, _threads: u32) -> Handle {
    call(core::ptr::null_mut(), || match (file.addr(), port.is_null()) {
        (NO_FILE, true) => {
            let event = create::object(|core, waiter| core.event_create(waiter, true, false))?;
            let target = record::create(Kind::Port, event, Payload::Port(Box::new(Port::new())), First::Handle)?;
            handle::insert(target, access::ALL, Flags::default())
        }
        (NO_FILE, false) => Err(INVALID_PARAMETER),
        _ => match handle::look_up(file)?.kind {
            Kind::Descriptor => Err(CALL_NOT_IMPLEMENTED),
            _ => Err(INVALID_HANDLE),
        },
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_PostQueuedCompletionStatus(port: Handle, bytes: u32, key: usize, overlapped: *mut c_void) -> i32 {
    call_for_bool(|| {
        let used = Used::of(port)?;
        used.port.post(Packet { key, overlapped, status: 0, information: bytes as usize }, used.event)
    })
}

/// # Safety
/// Each pointer is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_GetQueuedCompletionStatus(
    port: Handle,
    bytes: *mut u32,
    key: *mut usize,
    overlapped: *mut *mut c_void,
    milliseconds: u32,
) -> i32 {
    let mut packet = Packet::NONE;
    // SAFETY: one place, which outlives the call.
    let removed = unsafe { remove(port, &raw mut packet, 1, deadline(milliseconds), false) };
    // SAFETY: the same contract. As on Windows, a failure writes nothing else.
    unsafe { put(overlapped, packet.overlapped) };
    call_for_bool(|| {
        removed?;
        // SAFETY: the same contract.
        unsafe {
            put(bytes, packet.information as u32);
            put(key, packet.key);
        }
        match packet.status as u32 {
            FAILED_STATUS.. => Err(Error(ntw_RtlNtStatusToDosError(packet.status as u32))),
            _ => Ok(()),
        }
    })
}

/// # Safety
/// `entries` points to `count` places; `removed` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_GetQueuedCompletionStatusEx(
    port: Handle,
    entries: *mut Packet,
    count: u32,
    removed: *mut u32,
    milliseconds: u32,
    alertable: i32,
) -> i32 {
    if count == 0 || entries.is_null() {
        return call_for_bool(|| Err(INVALID_PARAMETER));
    }
    // SAFETY: the same contract.
    let taken = unsafe { remove(port, entries, count, deadline(milliseconds), alertable != 0) };
    call_for_bool(|| {
        // SAFETY: the same contract.
        unsafe { put(removed, taken.unwrap_or(0)) };
        taken.map(drop)
    })
}

// ==== By the functions of ntdll ====

/// # Safety
/// `port` is NULL or may be written; `attributes` is NULL or points to some, and what they point to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateIoCompletion(
    port: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    _threads: u32,
) -> u32 {
    // SAFETY: the same contract.
    unsafe {
        attributes::create(Kind::Port, port, access, attributes, Ok(New::Event { manual: true, signaled: false }))
    }
}

/// # Safety
/// The contract is that of [`ntw_NtCreateIoCompletion`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenIoCompletion(
    port: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { attributes::open(Kind::Port, port, access, attributes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_NtSetIoCompletion(
    port: Handle,
    key: usize,
    value: *mut c_void,
    status: u32,
    information: usize,
) -> u32 {
    call_for_status(|| {
        nt::of_kind(port, Kind::Port)?;
        let used = Used::of(port)?;
        used.port.post(Packet { key, overlapped: value, status: status as usize, information }, used.event)?;
        Ok(SUCCESS)
    })
}

/// IO_STATUS_BLOCK
#[repr(C)]
pub struct Block {
    status: usize,
    information: usize,
}

/// # Safety
/// Each pointer but the last is NULL or may be written; `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtRemoveIoCompletion(
    port: Handle,
    key: *mut usize,
    value: *mut *mut c_void,
    block: *mut Block,
    timeout: *const i64,
) -> u32 {
    let mut packet = Packet::NONE;
    // SAFETY: the same contract; one place, which outlives the call.
    let removed = unsafe { remove_by_nt(port, &raw mut packet, 1, timeout, false) };
    call_for_status(|| {
        removed?;
        // SAFETY: the same contract.
        unsafe {
            put(key, packet.key);
            put(value, packet.overlapped);
            put(block, Block { status: packet.status, information: packet.information });
        }
        Ok(SUCCESS)
    })
}

/// # Safety
/// `entries` points to `count` places; `removed` is NULL or may be written; `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtRemoveIoCompletionEx(
    port: Handle,
    entries: *mut Packet,
    count: u32,
    removed: *mut u32,
    timeout: *const i64,
    alertable: u8,
) -> u32 {
    if count == 0 || entries.is_null() {
        return status::INVALID_PARAMETER.0;
    }
    // SAFETY: the same contract.
    let taken = unsafe { remove_by_nt(port, entries, count, timeout, alertable != 0) };
    call_for_status(|| {
        // SAFETY: the same contract.
        unsafe { put(removed, taken.unwrap_or(0)) };
        taken.map(|_| SUCCESS)
    })
}

/// # Safety
/// The contract is that of [`Room::new`]; `timeout` is NULL or points to a LARGE_INTEGER.
unsafe fn remove_by_nt(
    port: Handle,
    entries: *mut Packet,
    places: u32,
    timeout: *const i64,
    alertable: bool,
) -> status::Result<u32> {
    nt::of_kind(port, Kind::Port)?;
    // SAFETY: the same contract.
    Ok(unsafe { remove(port, entries, places, wait::deadline_at(timeout), alertable) }?)
}

/// The class of information that a port has.
const BASIC: u32 = 0;

/// # Safety
/// `information` is NULL or may be written, for as many bytes; `length` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtQueryIoCompletion(
    port: Handle,
    class: u32,
    information: *mut c_void,
    bytes: u32,
    length: *mut u32,
) -> u32 {
    let packets = || {
        let found = nt::of_kind(port, Kind::Port)?;
        let used = Used::of_target(found.entry.target(), found.object)?;
        let packets = used.port.lock()?.packets.len();
        Ok(u32::try_from(packets).unwrap_or(u32::MAX))
    };
    // SAFETY: the same contract.
    unsafe { nt::answered(class == BASIC, information.cast(), bytes, length, packets) }
}
