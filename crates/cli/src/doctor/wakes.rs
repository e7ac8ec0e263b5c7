// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sleeps behind the descriptors of queues and objects, and why not the other mechanism.

use ntux_platform::wake_descriptor::why_no_ring;
use serde::Serialize;

#[derive(Serialize)]
pub struct WakeDescriptors {
    /// `io_uring` or `thread`.
    pub by: &'static str,
    pub why: String,
}

impl WakeDescriptors {
    pub fn gather() -> WakeDescriptors {
        match why_no_ring() {
            None => {
                let why = "a ring sleeps on the queue's word: no thread is needed".to_owned();
                WakeDescriptors { by: "io_uring", why }
            }
            Some(why_not) => WakeDescriptors { by: "thread", why: format!("one for each; {why_not}") },
        }
    }
}
