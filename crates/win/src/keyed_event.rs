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
use ntux_sync::Object;

use crate::boundary::{call, put};
use crate::handle::{self, Flags, Handle};
use crate::last_error::{
    ACCESS_DENIED, Error, INTERNAL_ERROR, INVALID_HANDLE, INVALID_PARAMETER, NOT_ENOUGH_MEMORY, PATH_NOT_FOUND, Result,
};
use crate::locked::PerProcess;
use crate::name::{self, Created};
use crate::planted::{Bug, planted};
use crate::record::{self, First, Kind, Payload, Target};
use crate::status::{self, call_for_status};
use crate::wait::{self, Woken};
use crate::{access, apc, arena, create, thread, timer};

const INHERIT: u32 = 0x2;
const OPEN_IF: u32 = 0x80;
/// Where names of the session are.
const SESSION: &str = "\\BaseNamedObjects\\";

/// UNICODE_STRING
#[repr(C)]
pub struct UnicodeString {
    bytes: u16,
    room: u16,
    units: *const u16,
}

/// OBJECT_ATTRIBUTES. Its descriptor is not looked at.
#[repr(C)]
pub struct ObjectAttributes {
    length: u32,
    directory: Handle,
    name: *const UnicodeString,
    flags: u32,
    descriptor: *const c_void,
    quality: *const c_void,
}

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
    /// The status, if it is refused.
    fn of(handle: Handle, side: Side) -> core::result::Result<Used, u32> {
        if handle.is_null() {
            return Ok(Used(None));
        }
        let found = handle::look_up(handle).map_err(status::of)?;
        if found.kind != Kind::KeyedEvent {
            return Err(status::OBJECT_TYPE_MISMATCH);
        }
        let rights = found.entry.rights();
        if !(if side == Side::Waits { rights.wait } else { rights.modify }) {
            return Err(status::of(ACCESS_DENIED));
        }
        let target = found.entry.target();
        if target.hold() { Ok(Used(Some(target))) } else { Err(status::of(INVALID_HANDLE)) }
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
fn round(handle: Handle, key: usize, side: Side, deadline: Deadline, alertable: bool) -> Result<Option<u32>> {
    let used = match Used::of(handle, side) {
        Ok(used) => used,
        Err(refused) => return Ok(Some(refused)),
    };
    let alert = thread::alert_of_caller()?;
    let state = STATE.get_or_make(State::default);
    let partner = state.lock().ok_or(NOT_ENOUGH_MEMORY)?.meet(Place { event: used.0, key }, side, alert);
    if let Some(partner) = partner {
        arena::set(partner);
        return Ok(Some(status::SUCCESS));
    }
    loop {
        let woken = wait::of_wait_thread(&[], deadline, alertable);
        let is_alerted = alertable && thread::has_apc();
        let goes = is_alerted || !matches!(woken, Ok(Woken::Alerted));
        match state.lock().ok_or(NOT_ENOUGH_MEMORY)?.wake(alert, goes) {
            Stands::Met => return Ok(Some(status::SUCCESS)),
            Stands::Sleeps => {}
            Stands::Alone if is_alerted => return Ok(None),
            Stands::Alone => return woken.map(|_| Some(status::TIMEOUT)),
        }
    }
}

/// Rounds until the two have met. APCs that run here may end the thread: nothing is to be cleaned up.
///
/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
unsafe fn meet(handle: Handle, key: usize, side: Side, alertable: u8, timeout: *const i64) -> u32 {
    if key & 1 != 0 {
        return status::INVALID_PARAMETER_1;
    }
    let deadline = match timeout.is_null() {
        true => Deadline::Never,
        // SAFETY: the same contract; not null.
        false => timer::deadline(unsafe { timeout.read_unaligned() }),
    };
    loop {
        let next = || round(handle, key, side, deadline, alertable != 0);
        match call(Some(status::of(INTERNAL_ERROR)), || Ok(next().unwrap_or_else(|error| Some(status::of(error))))) {
            Some(ended) => return ended,
            None if apc::run() => return status::USER_APC,
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

/// What the attributes say: the name, and the flags.
///
/// Errors: `PATH_NOT_FOUND` for a name that is not of the session.
///
/// # Safety
/// `attributes` is NULL or points to some, and what they point to is there.
unsafe fn read(attributes: *const ObjectAttributes) -> Result<(Option<Vec<u16>>, u32)> {
    // SAFETY: the same contract.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else { return Ok((None, 0)) };
    // SAFETY: the same contract.
    let Some(name) = (unsafe { attributes.name.as_ref() }).filter(|name| name.bytes != 0) else {
        return Ok((None, attributes.flags));
    };
    // SAFETY: the same contract: so many bytes.
    let units = (0..usize::from(name.bytes / 2)).map(|index| unsafe { name.units.add(index).read_unaligned() });
    let units: Vec<u16> = units.collect();
    let session: Vec<u16> = SESSION.encode_utf16().collect();
    let name = units.strip_prefix(&session[..]).ok_or(PATH_NOT_FOUND)?;
    Ok((Some(name.to_vec()), attributes.flags))
}

fn flags(flags: u32) -> Flags {
    Flags { inherit: flags & INHERIT != 0, protect: false }
}

/// # Safety
/// `event` is NULL or may be written; `attributes` is NULL or points to some.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateKeyedEvent(
    event: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    reserved: u32,
) -> u32 {
    call_for_status(|| {
        if reserved != 0 {
            return Ok(status::INVALID_PARAMETER_4);
        }
        // SAFETY: the same contract.
        let (text, attributes) = unsafe { read(attributes) }?;
        let rights = access::granted(Kind::KeyedEvent, access)?;
        let make = || {
            // A wait for the handle ends at once, as on Windows.
            let always = create::object(|core, waiter| core.event_create(waiter, true, true))?;
            record::create(Kind::KeyedEvent, always, Payload::Nothing, First::Handle)
        };
        let (target, success) = match name::of(text)? {
            None => (make()?, status::SUCCESS),
            Some(name) => match name::create_or_open(name, Kind::KeyedEvent, None, make) {
                Ok(Created::New(target)) => (target, status::SUCCESS),
                Ok(Created::Existed(target)) if attributes & OPEN_IF != 0 => (target, status::OBJECT_NAME_EXISTS),
                Ok(Created::Existed(target)) => {
                    target.drop_handle();
                    return Ok(status::OBJECT_NAME_COLLISION);
                }
                Err(error) => return Ok(of_name(error)),
            },
        };
        // SAFETY: the same contract.
        unsafe { put(event, handle::insert(target, rights, flags(attributes))?) };
        Ok(success)
    })
}

/// # Safety
/// The contract is that of [`ntw_NtCreateKeyedEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenKeyedEvent(
    event: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        let (text, attributes) = unsafe { read(attributes) }?;
        if text.is_none() {
            return Err(INVALID_PARAMETER);
        }
        let target = match name::open(text, Kind::KeyedEvent) {
            Ok(target) => target,
            Err(error) => return Ok(of_name(error)),
        };
        let rights = access::granted(Kind::KeyedEvent, access).inspect_err(|_| target.drop_handle())?;
        // SAFETY: the same contract.
        unsafe { put(event, handle::insert(target, rights, flags(attributes))?) };
        Ok(status::SUCCESS)
    })
}

/// An object of another kind has the name: Win32 says of it that the handle is bad.
fn of_name(error: Error) -> u32 {
    match error {
        INVALID_HANDLE => status::OBJECT_TYPE_MISMATCH,
        other => status::of(other),
    }
}
