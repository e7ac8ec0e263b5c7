//! Objects as descriptors, where the kernel cannot count the references: there are none.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::Result;

/// Cannot be made.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "it stands for what other systems have")]
pub(crate) struct Keeper<'a>(Infallible, PhantomData<&'a ()>);

impl Keeper<'_> {
    pub(super) fn hold(self, _index: u32) -> Result<()> {
        match self.0 {}
    }

    pub(super) fn is_unreferenced(self, _index: u32) -> bool {
        match self.0 {}
    }
}
