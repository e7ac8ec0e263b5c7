// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device: which paths mean it, what opening it does, what programs see that only look, and its requests.
//!
//! * [`path`], [`serving`]: which paths mean the device, and who serves them; [`opening`]; [`node`]: what `stat` and its variants show
//! * [`using`]: what happens at the first use; [`loading`]: libraries that do not find this one; [`wine`]: a wineserver that gets no device
//! * [`ioctl`]: the fourteen requests; [`multiple`]: `FUTEX_WAIT_MULTIPLE`, which has nothing to do with the device
//! * [`refusals`], [`summary`]: what the user is told

pub(crate) mod ioctl;
#[cfg(not(target_env = "musl"))]
pub(crate) mod loading;
pub(crate) mod multiple;
pub(crate) mod node;
pub(crate) mod opening;
pub(crate) mod path;
mod refusals;
mod serving;
pub(crate) mod summary;
pub(crate) mod using;
mod wine;
