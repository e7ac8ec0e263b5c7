// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects created and opened as ntdll has it: by attributes, with a status.
//!
//! Names of ntdll are paths through directories of objects. Here is one directory, `\BaseNamedObjects`, in which the names of Win32 are. There
//! are no handles of directories, so a name that begins at one is refused.

use core::ffi::c_void;

use ntux_sync::New;

use crate::boundary::put;
use crate::handle::{self, Flags, Handle};
use crate::last_error::{self, CALL_NOT_IMPLEMENTED, Error};
use crate::name::{self, Created, Name};
use crate::port::Port;
use crate::record::{self, First, Kind, Payload, Target};
use crate::status::{
    ACCESS_DENIED, ACCESS_VIOLATION, DATATYPE_MISALIGNMENT, INVALID_PARAMETER, OBJECT_NAME_COLLISION,
    OBJECT_NAME_EXISTS, OBJECT_NAME_INVALID, OBJECT_PATH_NOT_FOUND, OBJECT_PATH_SYNTAX_BAD, OBJECT_TYPE_MISMATCH,
    Result, SUCCESS, Status, call_for_status,
};
use crate::text::Text;
use crate::{access, create, thread};

const INHERIT: u32 = 0x2;
const PERMANENT: u32 = 0x10;
const CASE_INSENSITIVE: u32 = 0x40;
const OPEN_IF: u32 = 0x80;
/// Where the names are.
const DIRECTORY: &str = "\\BaseNamedObjects\\";
/// The longest name, in bytes: a length has 16 bits, and Windows wants room for a zero behind it.
const BYTES_MAX: u16 = u16::MAX - 3;

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

/// What attributes say.
struct Asked {
    text: Text,
    flags: u32,
    directory: Handle,
}

impl Asked {
    const NOTHING: Asked = Asked { text: None, flags: 0, directory: core::ptr::null_mut() };

    /// # Safety
    /// `attributes` is NULL or points to some, and what they point to is there.
    unsafe fn of(attributes: *const ObjectAttributes) -> Result<Asked> {
        // SAFETY: the same contract.
        let Some(attributes) = (unsafe { attributes.as_ref() }) else { return Ok(Asked::NOTHING) };
        if attributes.length as usize != size_of::<ObjectAttributes>() {
            return Err(INVALID_PARAMETER);
        }
        if attributes.flags & PERMANENT != 0 {
            return Err(CALL_NOT_IMPLEMENTED.into());
        }
        // SAFETY: the same contract.
        let name = unsafe { attributes.name.as_ref() };
        let text = match name {
            None if !attributes.directory.is_null() => return Err(OBJECT_NAME_INVALID),
            None => None,
            // SAFETY: the same contract.
            Some(name) => unsafe { units_of(name, attributes) }?,
        };
        Ok(Asked { text, flags: attributes.flags, directory: attributes.directory })
    }

    fn name(self) -> Result<Option<Name>> {
        let name = name::of(self.text)?;
        Ok(name.map(|name| if self.flags & CASE_INSENSITIVE != 0 { name.ignoring_case() } else { name }))
    }

    fn handle_flags(&self) -> Flags {
        Flags { inherit: self.flags & INHERIT != 0, protect: false }
    }
}

/// Why no name begins at this handle: it is none, or that of another kind of object.
fn no_directory(handle: Handle) -> Status {
    handle::look_up(handle).map_or_else(Status::from, |_| OBJECT_TYPE_MISMATCH)
}

/// The name in its directory; none if it is empty.
///
/// # Safety
/// What the name points to is there.
unsafe fn units_of(name: &UnicodeString, attributes: &ObjectAttributes) -> Result<Text> {
    match name.bytes {
        0 => return Ok(None),
        _ if !name.units.is_aligned() => return Err(DATATYPE_MISALIGNMENT),
        bytes if bytes % 2 != 0 || bytes > BYTES_MAX => return Err(OBJECT_NAME_INVALID),
        _ if !attributes.directory.is_null() => return Err(no_directory(attributes.directory)),
        _ => {}
    }
    // SAFETY: the same contract: so many bytes, aligned.
    let units = unsafe { core::slice::from_raw_parts(name.units, usize::from(name.bytes / 2)) };
    if units[0] != u16::from(b'\\') {
        return Err(OBJECT_PATH_SYNTAX_BAD);
    }
    let ignores_case = attributes.flags & CASE_INSENSITIVE != 0;
    let (directory, rest) = units.split_at_checked(DIRECTORY.len()).ok_or(OBJECT_PATH_NOT_FOUND)?;
    let is_it = |(&unit, byte): (&u16, u8)| {
        unit == byte.into() || ignores_case && name::folded(unit) == name::folded(byte.into())
    };
    match directory.iter().zip(DIRECTORY.bytes()).all(is_it) {
        true if rest.is_empty() => Err(OBJECT_NAME_INVALID),
        true => Ok(Some(rest.to_vec())),
        false => Err(OBJECT_PATH_NOT_FOUND),
    }
}

/// Stores the handle that `body` gives, and a status; NULL if it fails.
///
/// # Safety
/// `made` is NULL or may be written.
unsafe fn hand_out(made: *mut Handle, body: impl FnOnce() -> Result<(Handle, Status)>) -> u32 {
    call_for_status(|| {
        if made.is_null() {
            return Err(ACCESS_VIOLATION);
        }
        // SAFETY: the same contract.
        unsafe { put(made, core::ptr::null_mut()) };
        let (handle, status) = body()?;
        // SAFETY: the same contract.
        unsafe { put(made, handle) };
        Ok(status)
    })
}

/// Creates an object, or, by a flag, opens the one of the name. `new`: what the core creates, if it can be.
///
/// # Safety
/// `made` is NULL or may be written; `attributes` is NULL or points to some, and what they point to is there.
pub unsafe fn create(
    kind: Kind,
    made: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    new: Result<New>,
) -> u32 {
    let body = || {
        let new = new?;
        let rights = access::granted(kind, access)?;
        // SAFETY: the same contract.
        let asked = unsafe { Asked::of(attributes) }?;
        let (flags, opens) = (asked.handle_flags(), asked.flags & OPEN_IF != 0);
        let make = || {
            let object = create::object(|core, waiter| core.create_new(waiter, new))?;
            if let New::Mutex { count: 1.., .. } = new {
                thread::owns(object);
            }
            record::create(kind, object, payload_of(kind), First::Handle)
        };
        // Other processes cannot have these.
        let of_session = (!matches!(kind, Kind::KeyedEvent | Kind::Port)).then_some(new);
        let (target, status) = match asked.name()? {
            None => (make()?, SUCCESS),
            Some(name) => match name::create_or_open(name, kind, of_session, make).map_err(of_name)? {
                Created::New(target) => (target, SUCCESS),
                Created::Existed(target) => (may_be_had(target, opens, access)?, OBJECT_NAME_EXISTS),
            },
        };
        Ok((handle::insert(target, rights, flags)?, status))
    };
    // SAFETY: the same contract.
    unsafe { hand_out(made, body) }
}

/// What a new object of this kind has in this process.
fn payload_of(kind: Kind) -> Payload {
    if kind == Kind::Port { Payload::Port(Box::new(Port::new())) } else { Payload::of_shared(kind) }
}

/// What existed already; the handle that was counted is dropped if it may not be had.
fn may_be_had(target: Target, opens: bool, access: u32) -> Result<Target> {
    match (opens, access) {
        (true, 1..) => return Ok(target),
        (true, 0) => Err(ACCESS_DENIED),
        (false, _) => Err(OBJECT_NAME_COLLISION),
    }
    .inspect_err(|_| target.drop_handle())
}

/// Opens the object of a name.
///
/// # Safety
/// The contract is that of [`create()`].
pub unsafe fn open(kind: Kind, made: *mut Handle, access: u32, attributes: *const ObjectAttributes) -> u32 {
    let body = || {
        if attributes.is_null() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: the same contract.
        let asked = unsafe { Asked::of(attributes) }?;
        let (flags, directory) = (asked.handle_flags(), asked.directory);
        let without_name = || if directory.is_null() { OBJECT_PATH_SYNTAX_BAD } else { no_directory(directory) };
        let name = asked.name()?.ok_or_else(without_name)?;
        let target = name::open(name, kind).map_err(of_name)?;
        let rights = access::granted_of_existing(kind, access).inspect_err(|_| target.drop_handle())?;
        Ok((handle::insert(target, rights, flags)?, SUCCESS))
    };
    // SAFETY: the same contract.
    unsafe { hand_out(made, body) }
}

/// An object of another kind has the name: Win32 says of it that the handle is bad.
fn of_name(error: Error) -> Status {
    match error {
        last_error::INVALID_HANDLE => OBJECT_TYPE_MISMATCH,
        other => other.into(),
    }
}
