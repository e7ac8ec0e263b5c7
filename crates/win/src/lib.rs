// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Win32 face of ntux: the synchronization part of the Windows API for native programs. `include/ntux/win/` has the declarations,
//! `docs/win/reference.md` says what each function does here and what is refused.
//!
//! | question | module |
//! | --- | --- |
//! | What crosses the boundary to C, and what must not? | [`boundary`], [`last_error`], [`text`] |
//! | What does a handle name? | [`handle`] (the table of the process), [`handed_over`] (handles that another process has made), [`access`] (what a handle may do) |
//! | What lives behind handles, and until when? | [`record`], and [`pool`] for the slots of both; [`kept`] |
//! | In which arena are the objects? | [`arena`] |
//! | How is an object found by its name? | [`name`], [`create`] |
//! | What can be called? | [`event`], [`mutex`], [`semaphore`], [`timer`], [`wait`], [`close`], [`thread`] and [`start`], [`apc`] |
//! | What do threads of this library call? | [`thread_pool`] |
//! | What is in the program's own memory, without handles? | [`critical_section`], [`srw_lock`], [`condition_variable`], [`init_once`], [`barrier`], [`address`], [`slist`], all on [`word`] |
//! | Which pages of memory were written? | [`memory`] |
//! | What are packets posted to? | [`port`] |
//! | What returns a status? | [`nt`], [`rtl`], [`keyed_event`], parts of [`wait`], [`timer`] and [`port`], by [`status`] and [`attributes`] |
//! | What is not there? | [`refused`] |
//! | What has to do with descriptors of the system? | [`descriptor`], [`object_fd`] |
//!
//! A function of the program (an APC, a thread, the callback of an `INIT_ONCE`) may end its thread, which unwinds. It is called from frames
//! that have nothing to clean up, outside of [`boundary::call`].

#![cfg_attr(ntux_explore, allow(missing_docs, reason = "what a checker sees is public, and documented in the headers"))]

mod access;
mod address;
mod apc;
mod arena;
mod attributes;
mod barrier;
mod boundary;
mod close;
mod condition_variable;
mod create;
mod critical_section;
mod descriptor;
mod event;
#[cfg(ntux_explore)]
pub mod explored;
mod handed_over;
mod handle;
mod init_once;
mod kept;
mod keyed_event;
mod last_error;
mod last_round;
mod locked;
mod memory;
mod mutex;
mod name;
mod nt;
mod object_fd;
#[cfg(ntux_explore)]
pub mod planted;
#[cfg(not(ntux_explore))]
mod planted;
mod pool;
mod port;
mod process;
mod record;
mod refused;
mod rtl;
mod semaphore;
mod slist;
mod srw_lock;
mod start;
mod status;
mod text;
mod thread;
mod thread_pool;
mod timer;
mod wait;
mod word;
