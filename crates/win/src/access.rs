// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a handle may do: the access mask, as far as it matters to synchronization. Nothing here asks who the caller is: access lists are not
//! enforced, so every access that the kind of object has is granted.

use crate::last_error::{ACCESS_DENIED, PRIVILEGE_NOT_HELD, Result};
use crate::record::Kind;

/// Granted rights. Those of a keyed event are KEYEDEVENT_WAIT and KEYEDEVENT_WAKE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    /// SYNCHRONIZE: it can be waited for.
    pub wait: bool,
    /// EVENT_MODIFY_STATE, SEMAPHORE_MODIFY_STATE, TIMER_MODIFY_STATE, IO_COMPLETION_MODIFY_STATE.
    pub modify: bool,
}

pub const ALL: Rights = Rights { wait: true, modify: true };

const STANDARD: u32 = 0x001F_0000;
const SYNCHRONIZE: u32 = 0x0010_0000;
const MODIFY_STATE: u32 = 0x2;
const WAIT_FOR_KEY: u32 = 0x1;
const SYSTEM_SECURITY: u32 = 0x0100_0000;
const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
const GENERIC_ALL: u32 = 0x1000_0000;
const GENERIC_EXECUTE: u32 = 0x2000_0000;
const GENERIC_WRITE: u32 = 0x4000_0000;
const GENERIC_READ: u32 = 0x8000_0000;

/// [`granted`] of an object that exists, which none is not granted of.
pub fn granted_of_existing(kind: Kind, mask: u32) -> Result<Rights> {
    if mask == 0 { Err(ACCESS_DENIED) } else { granted(kind, mask) }
}

/// The rights that an access mask asks for, of this kind of object, which is created, or has a handle already.
///
/// Errors: `ACCESS_DENIED` for a right that the kind does not have; `PRIVILEGE_NOT_HELD`.
pub fn granted(kind: Kind, mask: u32) -> Result<Rights> {
    let specific = match kind {
        Kind::Mutex => 0x1,
        Kind::Event | Kind::Semaphore | Kind::Timer | Kind::Port | Kind::KeyedEvent => 0x3,
        Kind::Descriptor => 0x1FF,
        Kind::Thread | Kind::Process => 0xFFFF,
    };
    let generic = MAXIMUM_ALLOWED | GENERIC_ALL | GENERIC_EXECUTE | GENERIC_WRITE | GENERIC_READ;
    if mask & !(STANDARD | specific | SYSTEM_SECURITY | generic) != 0 {
        return Err(ACCESS_DENIED);
    }
    if mask & SYSTEM_SECURITY != 0 {
        return Err(PRIVILEGE_NOT_HELD);
    }
    let everything = mask & (MAXIMUM_ALLOWED | GENERIC_ALL) != 0;
    let wait = if kind == Kind::KeyedEvent { WAIT_FOR_KEY | GENERIC_READ } else { SYNCHRONIZE | GENERIC_EXECUTE };
    Ok(Rights {
        wait: everything || mask & wait != 0,
        modify: everything || mask & (MODIFY_STATE | GENERIC_WRITE) != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_rights_are_those_of_nt() {
        assert_eq!(granted(Kind::Mutex, GENERIC_READ | GENERIC_WRITE), Ok(Rights { wait: false, modify: true }));
        assert_eq!(granted(Kind::Event, GENERIC_EXECUTE), Ok(Rights { wait: true, modify: false }));
        assert_eq!(granted(Kind::Event, SYNCHRONIZE | MODIFY_STATE), Ok(ALL));
        assert_eq!(granted(Kind::Semaphore, MAXIMUM_ALLOWED), Ok(ALL));
        assert_eq!(granted(Kind::KeyedEvent, GENERIC_READ), Ok(Rights { wait: true, modify: false }));
        assert_eq!(granted(Kind::KeyedEvent, SYNCHRONIZE), Ok(Rights { wait: false, modify: false }));
        assert_eq!(granted(Kind::Mutex, MODIFY_STATE), Err(ACCESS_DENIED));
        assert_eq!(granted(Kind::Mutex, SYSTEM_SECURITY), Err(PRIVILEGE_NOT_HELD));
        assert_eq!(granted(Kind::Process, u32::MAX), Err(ACCESS_DENIED));
        assert_eq!(granted(Kind::Event, 0), Ok(Rights { wait: false, modify: false }));
        assert_eq!(granted_of_existing(Kind::Event, 0), Err(ACCESS_DENIED));
        assert_eq!(granted_of_existing(Kind::Event, SYNCHRONIZE | MODIFY_STATE), Ok(ALL));
    }

    #[test]
    fn single_bits_of_a_mutex_are_refused_as_windows_refuses_them() {
        let refused = (0..32).filter(|bit| granted(Kind::Mutex, 1 << bit).is_err()).map(|bit| 1u32 << bit);
        assert_eq!(refused.sum::<u32>(), 0x0DE0_FFFE);
    }
}
