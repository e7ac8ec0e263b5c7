// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::stage::{Child, Page, View, is_close_on_exec};
use super::{Outcome, ensure, failed};
use ntux_platform::contract::System;
use ntux_platform::life::PAGE;
use ntux_platform::protection::page_size;

/// A size that is no number of pages.
const ODD: u64 = 100_003;

pub(super) fn new_memory<S: System>(_limit: Duration) -> Outcome {
    let fd = S::create(c"contract", ODD).map_err(failed("create"))?;
    let size = S::size(fd.as_fd()).map_err(failed("size"))?;
    ensure!(size >= ODD, "{size} bytes, not {ODD}");
    ensure!(is_close_on_exec(&fd), "it is not close-on-exec");
    let page = Page::<S>::new()?;
    let mut bytes = [1u8; 64];
    let read = S::read_start(page.fd.as_fd(), &mut bytes).map_err(failed("read_start"))?;
    ensure!(read == 64 && bytes == [0; 64], "{read} bytes were read at its start: {bytes:?}");
    page.view.word(1).store(u32::from_ne_bytes(*b"ntux"));
    let read = S::read_start(page.fd.as_fd(), &mut bytes).map_err(failed("read_start"))?;
    ensure!(read == 64 && &bytes[4..8] == b"ntux", "what was written at its start was not read: {bytes:?}");
    // SAFETY: a page that is mapped, and reached as words.
    unsafe { S::provide(page.view.base(), page_size()) }.map_err(failed("provide"))
}

pub(super) fn identity<S: System>(_limit: Duration) -> Outcome {
    let [one, other] = [Page::<S>::new()?, Page::<S>::new()?];
    let of = |fd: &OwnedFd| S::regular_file(fd.as_fd()).map_err(failed("regular_file"));
    let copy = one.fd.try_clone().map_err(failed("dup"))?;
    ensure!(of(&one.fd)?.is_some(), "new memory has no identity");
    ensure!(of(&one.fd)? == of(&copy)?, "a copy of a descriptor has another identity");
    ensure!(of(&one.fd)? != of(&other.fd)?, "two objects have the same identity");
    Ok(())
}

pub(super) fn fixed_size<S: System>(_limit: Duration) -> Outcome {
    let page = Page::<S>::new()?;
    ensure!(S::cannot_shrink(page.fd.as_fd()), "new memory can shrink");
    ensure!(S::cannot_fault(page.fd.as_fd()), "new memory can fault");
    let file = File::from(page.fd.try_clone().map_err(failed("dup"))?);
    let before = S::size(page.fd.as_fd()).map_err(failed("size"))?;
    for length in [0, 1, 1 << 20] {
        ensure!(file.set_len(length).is_err(), "its size could be set to {length}");
    }
    let after = S::size(page.fd.as_fd()).map_err(failed("size"))?;
    ensure!(before == after, "its size has changed from {before} to {after}");
    Ok(())
}

pub(super) fn others<S: System>(_limit: Duration) -> Outcome {
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors.
    ensure!(unsafe { libc::pipe(ends.as_mut_ptr()) } == 0, "no pipe");
    // SAFETY: the kernel has just given these descriptors to us, and to nobody else.
    for end in ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }) {
        ensure!(matches!(S::regular_file(end.as_fd()), Ok(None) | Err(_)), "a pipe is taken for shared memory");
        ensure!(!S::cannot_shrink(end.as_fd()), "a pipe is said to keep its size");
    }
    let file = temporary_file()?;
    file.set_len(ODD).map_err(failed("set_len"))?;
    ensure!(!S::cannot_shrink(file.as_fd()), "a file that can be cut is said to keep its size");
    ensure!(!S::cannot_fault(file.as_fd()), "a file that can be cut is said not to fault");
    Ok(())
}

pub(super) fn shared<S: System>(limit: Duration) -> Outcome {
    let page = Page::<S>::new()?;
    let elsewhere = View::<S>::new(&page.fd)?;
    page.view.word(0).store(1);
    ensure!(elsewhere.word(0).load() == 1, "another mapping does not see what was written");
    let reader = S::to_read(page.fd.as_fd()).map_err(failed("to_read"))?;
    let base = S::map(page_size(), libc::PROT_READ, libc::MAP_SHARED, reader.as_raw_fd()).map_err(failed("map"))?;
    // SAFETY: mapped just now; only the word is read.
    let seen = unsafe { ntux_platform::atomic::load_foreign(base.as_ptr() as usize, 4) };
    // SAFETY: as above, and nobody knows of it.
    unsafe { libc::munmap(base.as_ptr().cast(), page_size()) };
    ensure!(seen == 1, "a mapping that is only read does not see what was written");
    let child = Child::start(|| {
        page.view.word(1).store(2);
        i32::from(elsewhere.word(0).load() != 1)
    })?;
    let code = child.end(limit)?;
    ensure!(code == 0, "a child does not see what was written ({code})");
    ensure!(elsewhere.word(1).load() == 2, "what a child wrote is not seen");
    let parts = S::parts(reader.as_fd(), page_size() as u64).map_err(failed("parts"))?;
    ensure!(parts.first().is_some_and(|part| part.contains(&0)), "what was written is in no part: {parts:?}");
    Ok(())
}

pub(super) fn mapped_again<S: System>(_limit: Duration) -> Outcome {
    let page = Page::<S>::new()?;
    page.view.word(0).store(7);
    // A system may lack this.
    let Some(again) = S::map_again(page.view.base().as_ptr()) else { return Ok(()) };
    // SAFETY: two pages that are mapped until the end of this function.
    let load = |offset| unsafe { ntux_platform::atomic::load_foreign(again.as_ptr() as usize + offset, 4) };
    let first = load(0);
    page.view.word(0).store(8);
    let (second, behind) = (load(0), load(PAGE));
    // SAFETY: mapped above, and nobody uses them any more.
    unsafe { S::unmap_again(again) };
    ensure!((first, second) == (7, 8), "where it is mapped again is {first} and {second}, not 7 and 8");
    ensure!(behind == 0, "the page behind it is not empty");
    ensure!(page.view.word(0).load() == 8, "the page went with its second mapping");
    Ok(())
}

pub(super) fn given_back<S: System>(_limit: Duration) -> Outcome {
    let page = Page::<S>::new()?;
    let elsewhere = View::<S>::new(&page.fd)?;
    page.view.word(3).store(1);
    // SAFETY: a whole mapping, which is reached as words.
    unsafe { S::discard(page.view.base(), page_size()) }.map_err(failed("discard"))?;
    ensure!(elsewhere.word(3).load() == 0, "what was given back is still there");
    elsewhere.word(3).store(2);
    ensure!(page.view.word(3).load() == 2, "what was given back is not shared any more");
    Ok(())
}

/// An empty file without a name.
pub(super) fn temporary_file() -> Result<File, String> {
    static COUNT: ntux_platform::atomic::Word32 = ntux_platform::atomic::Word32::new(0);
    let name = format!("ntux-contract-{}-{}", std::process::id(), COUNT.fetch_add(1));
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path).map_err(failed("a file"))?;
    std::fs::remove_file(&path).map_err(failed("a file"))?;
    Ok(file)
}
