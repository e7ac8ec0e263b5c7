// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keyed events: a thread that waits and a thread that releases meet by a key, and each waits for the other.
//!
//! # Role
//! A thread that finds a partner with the same event and key lets it go, and goes on itself; one that finds none sleeps. Partners meet in the
//! order in which they came. An event has no state but those who sleep, so all of the process lie in one list. The event without handle is the process's own.
//!
//! # Picture
//! ```text
//! sleepers  for each: its event, its key, whether it waits or releases, its alert
//! met       the alerts of those that were taken out of `sleepers` by a partner
//! ```
//! # Transitions, each with the lock
//! | what | by |
//! | --- | --- |
//! | the first partner of `sleepers` into `met`; or a sleeper more | [`State::meet`]; then the partner's alert is set |
//! | one fewer in `met`, or a sleeper fewer | [`State::wake`] of the sleeper |
//!
//! # Invariants
//! * I-keyed: an alert is in `sleepers`, or in `met`, or in neither. A thread whose sleep has ended, for whatever reason, looks into both before
//!   it goes. So two that have met both know it.
//!
//! # Death
//! The threads of a process die together. A forked child begins with nobody asleep, in a list of its own.

use core::ffi::c_void;

use ntux::Deadline;
use ntux_sync::{New, Object};

use crate::attributes::{self, ObjectAttributes};
use crate::boundary::call;
use crate::handle::{self, Handle};
use crate::last_error::NOT_ENOUGH_MEMORY;
use crate::locked::PerProcess;
use crate::planted::{Bug, planted};
use crate::record::{Kind, Target};
use crate::status::{
    ACCESS_DENIED, INTERNAL_ERROR, INVALID_HANDLE, INVALID_PARAMETER_1, INVALID_PARAMETER_4, OBJECT_TYPE_MISMATCH,
    Result, SUCCESS, Status, TIMEOUT, USER_APC,
};
use crate::wait::{self, Woken};
use crate::{apc, arena, thread};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Waits,
    Releases,
}

/// Where two meet: the event, none for the process's own, and the key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    event: Option<Target>,
    key: usize,
}

struct Sleeper {
    place: Place,
    side: Side,
    alert: Object,
}

#[derive(Default)]
struct State {
    sleepers: Vec<Sleeper>,
    met: Vec<Object>,
}

/// Where a thread stands after a look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Met,
    Sleeps,
    Alone,
}

static STATE: PerProcess<State> = PerProcess::new();

impl State {
    /// Returns the alert of the partner. If there is none, the thread sleeps from now on.
    fn meet(&mut self, place: Place, side: Side, alert: Object) -> Option<Object> {
        match self.sleepers.iter().position(|other| other.place == place && other.side != side) {
            Some(index) => {
                let partner = self.sleepers.remove(index).alert;
                self.met.push(partner);
                Some(partner)
            }
            None => {
                self.sleepers.push(Sleeper { place, side, alert });
                None
            }
        }
    }

    /// The sleep of a thread has ended, and it goes, or sleeps on if it must and can.
    fn wake(&mut self, alert: Object, goes: bool) -> Stands {
        let met = self.met.iter().position(|&other| other == alert);
        if let Some(index) = met.filter(|_| !(planted(Bug::ForgetsPartner) && goes)) {
            self.met.swap_remove(index);
            return Stands::Met;
        }
        if !goes {
            return Stands::Sleeps;
        }
        self.sleepers.retain(|sleeper| sleeper.alert != alert);
        Stands::Alone
    }
}

/// The event that a call uses, which is held until this is dropped.
struct Used(Option<Target>);

impl Used {
    fn of(handle: Handle, side: Side) -> Result<Used> {
        if handle.is_null() {
            return Ok(Used(None));
        }
        let found = handle::look_up(handle)?;
        if found.kind != Kind::KeyedEvent {
            return Err(OBJECT_TYPE_MISMATCH);
        }
        let rights = found.entry.rights();
        if !(if side == Side::Waits { rights.wait } else { rights.modify }) {
            return Err(ACCESS_DENIED);
        }
        let target = found.entry.target();
        if target.hold() { Ok(Used(Some(target))) } else { Err(INVALID_HANDLE) }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        if let Some(target) = self.0 {
            target.release();
        }
    }
}

/// One round of a call. None if APCs may be due.
fn round(handle: Handle, key: usize, side: Side, deadline: Deadline, alertable: bool) -> Result<Option<Status>> {
    let used = Used::of(handle, side)?;
    let alert = thread::alert_of_caller()?;
    let state = STATE.get_or_make(State::default);
    let partner = state.lock().ok_or(NOT_ENOUGH_MEMORY)?.meet(Place { event: used.0, key }, side, alert);
    if let Some(partner) = partner {
        arena::set(partner);
        return Ok(Some(SUCCESS));
    }
    loop {
        let woken = wait::of_wait_thread(&[], deadline, alertable);
        let is_alerted = alertable && thread::has_apc();
        let goes = is_alerted || !matches!(woken, Ok(Woken::Alerted));
        match state.lock().ok_or(NOT_ENOUGH_MEMORY)?.wake(alert, goes) {
            Stands::Met => return Ok(Some(SUCCESS)),
            Stands::Sleeps => {}
            Stands::Alone if is_alerted => return Ok(None),
            Stands::Alone => return Ok(woken.map(|_| Some(TIMEOUT))?),
        }
    }
}

/// Rounds until the two have met. APCs that run here may end the thread: nothing is to be cleaned up.
///
/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
unsafe fn meet(handle: Handle, key: usize, side: Side, alertable: u8, timeout: *const i64) -> u32 {
    if key & 1 != 0 {
        return INVALID_PARAMETER_1.0;
    }
    // SAFETY: the same contract.
    let deadline = unsafe { wait::deadline_at(timeout) };
    loop {
        let next = || round(handle, key, side, deadline, alertable != 0);
        match call(Some(INTERNAL_ERROR), || Ok(next().unwrap_or_else(Some))) {
            Some(ended) => return ended.0,
            None if apc::run() => return USER_APC.0,
            None => {}
        }
    }
}

/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtWaitForKeyedEvent(
    event: Handle,
    key: *const c_void,
    alertable: u8,
    timeout: *const i64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { meet(event, key.addr(), Side::Waits, alertable, timeout) }
}

/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_NtReleaseKeyedEvent(
    event: Handle,
    key: *const c_void,
    alertable: u8,
    timeout: *const i64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { meet(event, key.addr(), Side::Releases, alertable, timeout) }
}

/// # Safety
/// `event` is NULL or may be written; `attributes` is NULL or points to some, and what they point to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateKeyedEvent(
    event: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    reserved: u32,
) -> u32 {
    // A wait for the handle ends at once, as on Windows.
    let always = New::Event { manual: true, signaled: true };
    let new = if reserved == 0 { Ok(always) } else { Err(INVALID_PARAMETER_4) };
    // SAFETY: the same contract.
    unsafe { attributes::create(Kind::KeyedEvent, event, access, attributes, new) }
}

/// # Safety
/// The contract is that of [`ntw_NtCreateKeyedEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenKeyedEvent(
    event: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { attributes::open(Kind::KeyedEvent, event, access, attributes) }
}
