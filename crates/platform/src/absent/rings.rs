// SPDX-License-Identifier: MIT OR Apache-2.0
//! No ring sleeps on words.

use std::convert::Infallible;
use std::io;
use std::os::fd::BorrowedFd;

use crate::wake_descriptor::{Awaited, Ring, Rings, WhyNot};

/// Marks a system without [`Rings`].
pub trait NoRings {}

impl<S: NoRings> Rings for S {
    type Ring = Infallible;

    fn open_ring() -> Result<Infallible, WhyNot> {
        Err(WhyNot::NoSuchSystem)
    }
}

impl Ring for Infallible {
    unsafe fn arm(&self, _awaited: Awaited) -> io::Result<()> {
        match *self {}
    }

    fn raise(&self) -> io::Result<()> {
        match *self {}
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}
