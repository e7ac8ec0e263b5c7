// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of a semaphore.

use crate::{Error, Result};

/// A count of units.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Semaphore {
    /// Available units.
    pub count: u32,
    /// The count never exceeds this.
    pub max: u32,
}

impl Semaphore {
    /// Refuses a count above the maximum; a maximum of 0 is legal.
    pub fn new(count: u32, max: u32) -> Result<Self> {
        if count > max { Err(Error::Invalid) } else { Ok(Self { count, max }) }
    }

    /// Adds units, or changes nothing if that would exceed the maximum. Returns the previous count. Adding 0 is legal.
    pub fn release(&mut self, units: u32) -> Result<u32> {
        let previous = self.count;
        self.count = previous.checked_add(units).filter(|&sum| sum <= self.max).ok_or(Error::Overflow)?;
        Ok(previous)
    }

    /// Returns true if a wait could take a unit.
    pub fn available(&self) -> bool {
        self.count > 0
    }

    /// A wait takes one unit.
    pub fn acquire(&mut self) {
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_above_the_maximum_is_refused() {
        assert_eq!(Semaphore::new(3, 2), Err(Error::Invalid));
        assert!(Semaphore::new(0, 0).is_ok());
        assert!(Semaphore::new(u32::MAX, u32::MAX).is_ok());
    }

    #[test]
    fn release_reports_the_count_before_and_refuses_overflow_without_change() {
        let mut semaphore = Semaphore { count: 2, max: 3 };
        assert_eq!(semaphore.release(0), Ok(2));
        assert_eq!(semaphore.release(2), Err(Error::Overflow));
        assert_eq!(semaphore.release(u32::MAX), Err(Error::Overflow));
        assert_eq!(semaphore.release(1), Ok(2));
        assert_eq!(semaphore.count, 3);
    }

    #[test]
    fn a_sum_that_wraps_is_an_overflow() {
        let mut semaphore = Semaphore { count: 2, max: u32::MAX };
        assert_eq!(semaphore.release(u32::MAX - 1), Err(Error::Overflow));
        assert_eq!(semaphore.release(u32::MAX - 2), Ok(2));
    }
}
