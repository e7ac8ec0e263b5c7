// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an event loop takes, for tests of descriptors.

use ntux::{Deadline, Error, Queue};

/// Takes until nothing is left, which arms the descriptor. Returns the keys.
pub fn drain(queue: &Queue) -> Vec<u64> {
    let mut keys = Vec::new();
    loop {
        match queue.next(Deadline::NOW) {
            Ok(delivered) => keys.push(delivered.key),
            Err(error) => {
                assert_eq!(error, Error::TimedOut);
                return keys;
            }
        }
    }
}
