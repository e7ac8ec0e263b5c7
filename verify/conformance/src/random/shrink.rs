// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds a small part of a program on which two sides still differ.

use crate::random::program::Program;

/// Leaves steps out as long as `differ` says that the rest still shows a difference: first halves, then single ones.
pub fn shrink(program: &Program, mut differ: impl FnMut(&Program) -> bool) -> Program {
    let mut places = program.places();
    let mut chunk = places.len().div_ceil(2);
    loop {
        let mut at = 0;
        let mut smaller = false;
        while at < places.len() {
            let mut rest = places.clone();
            rest.drain(at..(at + chunk).min(places.len()));
            if !rest.is_empty() && differ(&program.only(&rest)) {
                places = rest;
                smaller = true;
            } else {
                at += chunk;
            }
        }
        if chunk == 1 && !smaller {
            return program.only(&places);
        }
        if !smaller {
            chunk = chunk.div_ceil(2);
        }
    }
}
