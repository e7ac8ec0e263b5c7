//! Objects as descriptors, where the kernel cannot count the references: there are none.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::meta::Meta;
use crate::Result;

/// Cannot be made.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "it stands for what other systems have")]
pub(crate) struct Family(Infallible);

/// Cannot be made.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "it stands for what other systems have")]
pub(crate) struct Keeper<'a>(Infallible, PhantomData<&'a ()>);

impl Keeper<'_> {
    pub(super) fn family(self, _index: u32) -> Result<Option<u32>> {
        match self.0 {}
    }

    pub(super) fn is_unreferenced(self, _index: u32, _meta: Meta) -> bool {
        match self.0 {}
    }
}
