// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that C names by numbers which look like pointers. One that was removed is refused, also when its place has another value.
//!
//! # Picture
//! ```text
//! 63       60 59        48 47          24 23           0
//! +----------+------------+--------------+--------------+    process: the generation of the process that has inserted the value,
//! |   kind   |  process   |  generation  |  place + 1   |             as far as it fits
//! +----------+------------+--------------+--------------+    kind:    1 to 7: neither NULL nor a handle has such a number
//! ```

use core::cmp::Ordering;
use core::ffi::c_void;
use core::marker::PhantomData;

use ntux_platform::liveness;

const FIELD: u64 = (1 << 24) - 1;
const PROCESS: u64 = (1 << 12) - 1;
/// Places of a slab.
const PLACES: usize = FIELD as usize;

/// What has numbers.
pub trait Numbered {
    /// 1 to 7.
    const KIND: u64;
}

/// The number of a value.
pub struct Id<T>(u64, PhantomData<fn() -> T>);

impl<T> Clone for Id<T> {
    fn clone(&self) -> Id<T> {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Id<T>) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Id<T> {}

impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Id<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Id<T>) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T: Numbered> Id<T> {
    fn new(place: usize, generation: u64) -> Id<T> {
        let process = u64::from(liveness::generation()) & PROCESS;
        Id(T::KIND << 60 | process << 48 | generation << 24 | (place as u64 + 1), PhantomData)
    }

    /// What C passes. None if this is the number of nothing of this kind and this process.
    pub fn of(pointer: *const c_void) -> Option<Id<T>> {
        let number = pointer.addr() as u64;
        let process = u64::from(liveness::generation()) & PROCESS;
        (number >> 60 == T::KIND && number >> 48 & PROCESS == process && number & FIELD != 0)
            .then_some(Id(number, PhantomData))
    }

    /// What C gets.
    pub fn pointer(self) -> *mut c_void {
        core::ptr::without_provenance_mut(self.0 as usize)
    }

    fn place(self) -> usize {
        (self.0 & FIELD) as usize - 1
    }

    fn generation(self) -> u64 {
        self.0 >> 24 & FIELD
    }
}

struct Place<T> {
    generation: u64,
    value: Option<T>,
}

/// See the module.
pub struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<usize>,
}

impl<T: Numbered> Slab<T> {
    pub const fn new() -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new() }
    }

    /// None if there are too many.
    pub fn insert(&mut self, value: T) -> Option<Id<T>> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() == PLACES => return None,
            None => {
                self.places.push(Place { generation: 0, value: None });
                self.places.len() - 1
            }
        };
        self.places[place].value = Some(value);
        Some(Id::new(place, self.places[place].generation))
    }

    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.places.get(id.place()).filter(|place| place.generation == id.generation())?.value.as_ref()
    }

    pub fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        self.places.get_mut(id.place()).filter(|place| place.generation == id.generation())?.value.as_mut()
    }

    pub fn remove(&mut self, id: Id<T>) -> Option<T> {
        let place = self.places.get_mut(id.place()).filter(|place| place.generation == id.generation())?;
        let value = place.value.take()?;
        place.generation = (place.generation + 1) & FIELD;
        self.free.push(id.place());
        Some(value)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(place, entry)| Some((Id::new(place, entry.generation), entry.value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Numbered for u8 {
        const KIND: u64 = 7;
    }

    impl Numbered for u16 {
        const KIND: u64 = 6;
    }

    #[test]
    fn what_was_removed_is_refused() {
        let mut slab = Slab::<u8>::new();
        let [one, two] = [1, 2].map(|value| slab.insert(value).unwrap());
        assert_eq!((slab.get(one), slab.get(two)), (Some(&1), Some(&2)));
        assert_eq!((slab.remove(one), slab.remove(one), slab.get(one)), (Some(1), None, None));
        let three = slab.insert(3).unwrap();
        assert!(three != one && three.place() == one.place() && slab.get(one).is_none());
        assert_eq!(slab.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [3, 2]);
        assert!(Id::<u8>::of(three.pointer()) == Some(three) && Id::<u16>::of(three.pointer()).is_none());
        for nothing in [0, 4, u64::MAX, u64::MAX - 1, 7 << 60] {
            assert!(Id::<u8>::of(core::ptr::without_provenance(nothing as usize)).is_none(), "{nothing:x}");
        }
    }
}
