// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of an object.

use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;

use crate::{Error, Result};

/// An object of an arena, as a plain number that means the same in every process that has attached the arena. Never 0, so an
/// `Option<Object>` is a number, too.
///
/// Its text is the number in decimal: hand it to another process as an argument, for example.
///
/// ```
/// use ntux::{Arena, Capacity, Event, Object, Reset};
///
/// let arena = Arena::create(Capacity::default())?;
/// let event = Event::create(&arena, Reset::Auto, false)?;
/// let text = event.object().to_string();
/// assert_eq!(text.parse(), Ok(event.object()));
/// assert!("0".parse::<Object>().is_err() && "bell".parse::<Object>().is_err());
/// assert_eq!(size_of::<Option<Object>>(), size_of::<u64>());
/// # Ok::<(), ntux::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Object(NonZeroU64);

impl Object {
    /// The object with this number, whether there is one or not: every function checks that. None for 0.
    pub const fn new(number: u64) -> Option<Object> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Object(number)),
            None => None,
        }
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// As the core names it.
    #[inline(always)]
    pub(crate) fn in_core(self) -> ntux_sync::Object {
        ntux_sync::Object(self.get())
    }

    /// What the core has created.
    #[inline]
    pub(crate) fn created(object: ntux_sync::Object) -> Result<Object> {
        Object::new(object.0).ok_or(Error::Corrupt)
    }

    /// As the core names them.
    #[inline(always)]
    pub(crate) fn all_in_core(objects: &[Object]) -> &[ntux_sync::Object] {
        // SAFETY: both are transparent over a number of 64 bits, of which the core takes every one.
        unsafe { core::slice::from_raw_parts(objects.as_ptr().cast(), objects.len()) }
    }
}

impl From<Object> for u64 {
    fn from(object: Object) -> u64 {
        object.get()
    }
}

impl From<Object> for ntux_sync::Object {
    fn from(object: Object) -> ntux_sync::Object {
        object.in_core()
    }
}

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Object {
    type Err = core::num::ParseIntError;

    /// Errors: as for any number; also for 0.
    fn from_str(text: &str) -> core::result::Result<Object, Self::Err> {
        text.parse().map(Object)
    }
}
