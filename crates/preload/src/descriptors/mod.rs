// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this process knows about its descriptors, and the copies that other processes and programs get.
//!
//! * [`numbers`]: a cache, by the number; [`entries`]: its memory; [`identity`]: what the kernel says; [`moment`]: forks
//! * [`copies`], [`closing`], [`forking`]: what is counted while the process copies a descriptor, closes one, and forks
//! * [`sending`] and [`receiving`]: what [`messages`] carry; [`starting`]: what programs inherit. Both may reach processes without this
//!   library ([`receivers`], [`strangers`])
//!
//! A descriptor carries its own identity (see [`ntux_sync::Arena::identify`]), so an entry may be dropped at any time:
//! the next ioctl restores it. The other direction matters: **an entry must not outlive its descriptor**, or an
//! operation would reach the object of an earlier descriptor with the same number.
//!
//! # Rules
//! * R1: a thread that closes a descriptor (close, dup2 over it, close_range) first marks its entry *closing*, then
//!   closes it, then empties the entry. Nobody fills a marked entry; an ioctl on that number queries the descriptor
//!   every time.
//! * R2: a thread that fills an entry queries the descriptor once more afterwards, and empties the entry if the answer
//!   differs. So an entry filled between the mark and the close of another thread does not stay.
//! * R3: every change increments the entry's sequence, so a late fill of an old number fails.
//! * R4: an entry notes that its descriptor is *counted* ([`ntux_sync::Arena::may_release`]) if this process made it, received it, copied a
//!   counted one, or was forked with it. A copy is counted before it is made ([`copies`]), and a close after it is done; no handler
//!   runs in between. A thread that forks has the child's family claim what the child will have ([`forking`]). Where a fork is going on, or was, while a descriptor came or goes,
//!   nobody knows whether the child has it, and the kernel counts the copies from then on. So it does if the descriptor can have no entry, and
//!   if a close has taken the note while the descriptor is copied.
//!
//! An unknown descriptor is closed without a mark, at the cost of one load before and after. If its very first ioctl
//! races with its close, R2 and the second load decide. The one case not covered is a third thread that gets the same
//! number within those few instructions.
//!
//! # Interrupted, killed, forked
//! If a thread is suspended, cancelled or forked between mark and emptying, the entry stays *closing*, which is slow
//! but right. A `vfork` child that closes its copy of an object's descriptor leaves the parent's entry alone. A close
//! that bypasses the C library (a raw system call) is not seen, and not supported.

mod closing;
mod copies;
mod entries;
mod forking;
mod identity;
mod messages;
mod moment;
mod numbers;
mod receivers;
pub(crate) mod receiving;
pub(crate) mod sending;
pub(crate) mod starting;
pub(crate) mod strangers;

pub(crate) use closing::{all_closed_by, closed_by, released_by, replaced_by};
pub(crate) use copies::{Copying, begin_copy, end_copy, remember_new};
pub(crate) use forking::{after_fork, before_fork, forked, prepare};
pub(crate) use identity::{NotOurs, identify, resolve};
pub(crate) use moment::{FORKED_UNSEEN, Moment, count_forks};
pub(crate) use numbers::{
    Known, What, any, any_of, forget, is_device_of, look_up, noted_object, parted, parting, remember,
};
