// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process and its child can have the same number, in two namespaces, which Linux alone has (`namesakes.c`).
#![cfg(all(target_os = "linux", not(ntux_simulated_macos)))]

#[path = "../../../platform/tests/skips/skips.rs"]
mod skips;

use skips::skip;

use crate::calls::build_and_run;
use crate::compile::Library;

#[test]
fn a_child_with_its_parents_number_is_another_process() {
    const NOT_ALLOWED: i32 = 3;
    for library in [Library::Shared, Library::Static] {
        let (result, text) = build_and_run("namesakes.c", library, &[]);
        match result.status.code() {
            Some(NOT_ALLOWED) => skip("namespaces", "this process may not make namespaces of processes"),
            code => assert_eq!(code, Some(0), "{text}{}", result.status),
        }
    }
}
