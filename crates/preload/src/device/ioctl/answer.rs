// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an attempt at a request comes to.

use crate::c_library::copy::Fault;
use crate::descriptors::NotOurs;
use core::ffi::c_int;
use ntux_sync::Error;

/// Why an attempt did not succeed.
pub(super) enum Refusal {
    /// This error number.
    Error(c_int),
    /// A signal took the thread out of its wait.
    Interrupted,
    /// Something changed meanwhile: start again.
    Again,
    /// The descriptor is not ours.
    Foreign,
}

pub(super) type Answer = Result<c_int, Refusal>;

impl From<Fault> for Refusal {
    fn from(_: Fault) -> Self {
        Refusal::Error(libc::EFAULT)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Refusal::Interrupted,
            error => Refusal::Error(error.errno()),
        }
    }
}

impl From<NotOurs> for Refusal {
    fn from(why: NotOurs) -> Self {
        match why {
            NotOurs::Foreign => Refusal::Foreign,
            NotOurs::Closed => Refusal::Error(libc::EBADF),
            NotOurs::Unavailable(error) => Refusal::Error(error),
            NotOurs::Changing => Refusal::Again,
        }
    }
}
