// SPDX-License-Identifier: MIT OR Apache-2.0
//! The request of a wait: its objects, its alert, and the owner id for mutexes.

use crate::{Error, Object, Result, WAIT_MAX};

/// A wait's objects, then its alert.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    objects: &'a [Object],
    alert: Option<Object>,
    pub owner: u32,
}

impl<'a> Request<'a> {
    /// Errors: `Invalid` for more than 64 objects or owner 0.
    #[inline(always)]
    pub fn new(objects: &'a [Object], alert: Option<Object>, owner: u32) -> Result<Request<'a>> {
        if objects.len() > WAIT_MAX || owner == 0 {
            return Err(Error::Invalid);
        }
        Ok(Request { objects, alert, owner })
    }

    /// Only the owner id.
    pub fn without_objects(&self) -> Request<'static> {
        Request { objects: &[], alert: None, owner: self.owner }
    }

    /// The objects without the alert.
    pub fn objects(&self) -> &'a [Object] {
        self.objects
    }

    pub fn alert(&self) -> Option<Object> {
        self.alert
    }

    pub fn has_alert(&self) -> bool {
        self.alert.is_some()
    }

    /// Number of objects and alert.
    pub fn length(&self) -> usize {
        self.objects.len() + usize::from(self.alert.is_some())
    }

    /// All objects in order, the alert last.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = Object> {
        self.objects.iter().copied().chain(self.alert)
    }

    /// The first object, or the alert.
    pub fn first(&self) -> Object {
        self.get(0).unwrap_or(Object(0))
    }

    pub fn get(&self, position: usize) -> Option<Object> {
        self.iter().nth(position)
    }

    /// The first position of the object in slot `index`.
    pub fn position(&self, index: u32) -> Result<u32> {
        let position = self.iter().position(|object| object.index() == index).ok_or(Error::Corrupt)?;
        Ok(position as u32)
    }

    /// Returns true if the object at this position also occurs before it.
    pub fn is_repeated(&self, position: usize) -> bool {
        let object = self.get(position);
        self.iter().take(position).any(|earlier| Some(earlier) == object)
    }

    /// Returns true if any object occurs twice, or is the alert.
    #[inline(always)]
    pub fn has_repeats(&self) -> bool {
        // One bit for each object: only objects that share theirs are compared.
        let mut bits = 0u64;
        let mut is_repeated = |position, object: Object| {
            let bit = 1 << (object.index() % u64::BITS);
            let is_shared = bits & bit != 0;
            bits |= bit;
            is_shared && self.is_repeated(position)
        };
        self.objects.iter().enumerate().any(|(position, &object)| is_repeated(position, object))
            || self.alert.is_some_and(|alert| is_repeated(self.objects.len(), alert))
    }
}
