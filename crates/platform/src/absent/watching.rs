// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel does not report writes, nor how a program's memory is mapped in a file. Everything that needs this fails to
//! open, so the other functions are never called; `linux/watching` documents them.
#![allow(missing_docs, reason = "they cannot be called")]

use core::convert::Infallible;
use core::iter::Empty;
use core::mem::MaybeUninit;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::watching::mappings::Mapped;
use crate::watching::pagemap::{Found, Progress};
use crate::watching::userfault::{Faults, Features, Message, Registered};

pub struct Userfault(Infallible);

pub struct Pagemap(Infallible);

pub struct Mappings(Infallible);

type Room<'a> = &'a mut [MaybeUninit<Found>];

fn absent<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

impl Userfault {
    pub fn open(_features: Features, _faults: Faults) -> io::Result<Userfault> {
        absent()
    }

    pub fn register(&self, _start: usize, _length: usize) -> io::Result<Registered> {
        match self.0 {}
    }

    pub fn unregister(&self, _start: usize, _length: usize) -> io::Result<()> {
        match self.0 {}
    }

    pub fn wake(&self, _start: usize, _length: usize) -> io::Result<()> {
        match self.0 {}
    }

    pub fn protect(&self, _start: usize, _length: usize) -> io::Result<()> {
        match self.0 {}
    }

    pub fn lift(&self, _start: usize, _length: usize) -> io::Result<()> {
        match self.0 {}
    }

    pub fn read(&self, _messages: &mut [Message]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl Pagemap {
    pub fn open() -> io::Result<Pagemap> {
        absent()
    }

    pub fn open_to_scan() -> io::Result<Pagemap> {
        absent()
    }

    pub fn of(_process: u32) -> io::Result<Pagemap> {
        absent()
    }

    pub fn are_protected(&self, _start: usize, _page: usize, _buffer: &mut [u64]) -> io::Result<Empty<bool>> {
        match self.0 {}
    }

    pub fn are_copies(&self, _start: usize, _page: usize, _buffer: &mut [u64]) -> io::Result<Empty<bool>> {
        match self.0 {}
    }

    pub fn written(
        &self,
        _start: usize,
        _end: usize,
        _pages_max: usize,
        _protect: bool,
        _found: Room<'_>,
    ) -> io::Result<Progress> {
        match self.0 {}
    }

    pub fn registered(&self, _start: usize, _end: usize, _found: Room<'_>) -> io::Result<Progress> {
        match self.0 {}
    }

    pub fn own_written(&self, _start: usize, _end: usize, _protect: bool, _found: Room<'_>) -> io::Result<Progress> {
        match self.0 {}
    }

    pub fn protect(&self, _start: usize, _end: usize) -> io::Result<()> {
        match self.0 {}
    }

    pub fn unregistered(&self, _start: usize, _end: usize, _found: Room<'_>) -> io::Result<Progress> {
        match self.0 {}
    }
}

impl Mappings {
    pub fn open() -> io::Result<Mappings> {
        absent()
    }

    pub fn of(_process: u32) -> io::Result<Mappings> {
        absent()
    }

    pub fn each(
        &self,
        _start: usize,
        _end: usize,
        _room: &mut [u8],
        _visit: impl FnMut(&Mapped, &[u8]),
    ) -> io::Result<()> {
        match self.0 {}
    }
}
