// SPDX-License-Identifier: MIT OR Apache-2.0
//! The designs, which are made of Linux's calls.

mod adaptive;
mod eventfd;
mod futex;
mod server;
mod waitv;
mod words;

pub use adaptive::AdaptiveFutex;
pub use eventfd::EventFd;
pub use futex::Futex;
pub use server::Server;
pub use waitv::WaitV;

use super::{Peer, Poll, Reset, descriptors_max, unsupported};
