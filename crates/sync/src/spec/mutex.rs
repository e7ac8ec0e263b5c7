// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of a mutex.

use crate::{Error, Result};

/// Ownership by a caller-chosen id, with recursion.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mutex {
    /// Owner id, 0 when unowned.
    pub owner: u32,
    /// How often the owner acquired it; 0 exactly when unowned.
    pub count: u32,
    /// Its owner was killed, and nobody has acquired it since.
    pub abandoned: bool,
}

impl Mutex {
    /// Owner and count must both be zero or both not.
    pub fn new(owner: u32, count: u32) -> Result<Self> {
        if (owner == 0) == (count == 0) { Ok(Self { owner, count, abandoned: false }) } else { Err(Error::Invalid) }
    }

    /// Decrements the recursion count. Returns the previous count.
    pub fn unlock(&mut self, owner: u32) -> Result<u32> {
        self.check_owner(owner)?;
        let previous = self.count;
        self.count -= 1;
        if self.count == 0 {
            self.owner = 0;
        }
        Ok(previous)
    }

    /// Takes the mutex from a dead owner, and marks it abandoned.
    pub fn kill(&mut self, owner: u32) -> Result<()> {
        self.check_owner(owner)?;
        *self = Self { owner: 0, count: 0, abandoned: true };
        Ok(())
    }

    fn check_owner(&self, owner: u32) -> Result<()> {
        match owner {
            0 => Err(Error::Invalid),
            _ if owner != self.owner => Err(Error::NotOwner),
            _ => Ok(()),
        }
    }

    /// Returns true if a wait by `owner` could acquire it: unowned or its own, and the count not saturated.
    pub fn available(&self, owner: u32) -> bool {
        (self.owner == 0 || self.owner == owner) && self.count < u32::MAX
    }

    /// A wait by `owner` acquires it. Returns and clears the abandoned mark.
    pub fn acquire(&mut self, owner: u32) -> bool {
        self.owner = owner;
        self.count += 1;
        std::mem::take(&mut self.abandoned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(owner: u32, count: u32) -> Mutex {
        Mutex { owner, count, abandoned: false }
    }

    #[test]
    fn owner_and_count_go_together() {
        assert_eq!(Mutex::new(1, 0), Err(Error::Invalid));
        assert_eq!(Mutex::new(0, 1), Err(Error::Invalid));
        assert_eq!(Mutex::new(0, 0), Ok(owned(0, 0)));
        assert_eq!(Mutex::new(u32::MAX, u32::MAX), Ok(owned(u32::MAX, u32::MAX)));
    }

    #[test]
    fn only_the_owner_unlocks_and_the_last_unlock_frees() {
        let mut mutex = owned(7, 2);
        assert_eq!(mutex.unlock(0), Err(Error::Invalid));
        assert_eq!(mutex.unlock(8), Err(Error::NotOwner));
        assert_eq!(mutex.unlock(7), Ok(2));
        assert_eq!(mutex.unlock(7), Ok(1));
        assert_eq!(mutex, owned(0, 0));
        assert_eq!(mutex.unlock(7), Err(Error::NotOwner));
    }

    #[test]
    fn kill_abandons_until_somebody_acquires() {
        let mut mutex = owned(7, 2);
        assert_eq!(mutex.kill(0), Err(Error::Invalid));
        assert_eq!(mutex.kill(8), Err(Error::NotOwner));
        assert_eq!(mutex.kill(7), Ok(()));
        assert_eq!(mutex.kill(7), Err(Error::NotOwner));
        assert!(mutex.acquire(8));
        assert!(!mutex.acquire(8));
        assert_eq!(mutex, owned(8, 2));
    }

    #[test]
    fn a_saturated_count_keeps_even_the_owner_out() {
        let mut mutex = owned(7, u32::MAX - 1);
        assert!(mutex.available(7) && !mutex.available(8));
        mutex.acquire(7);
        assert!(!mutex.available(7));
        assert_eq!(mutex.unlock(7), Ok(u32::MAX));
        assert!(mutex.available(7));
    }
}
