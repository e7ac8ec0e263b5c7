// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a domain costs a program that limits its memory.
#![cfg(all(target_os = "linux", not(ntux_simulated_macos)))]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "../../platform/tests/limits/limits.rs"]
mod limits;

use limits::{Exhausted, in_child, leave_out, limit, range_of_mapping, smaps_of, was_left_out};
use ntux_futex::{Capacity, Deadline, Domain, Error, Expected, Futex, MATCH_ANY, Scope, Size};

const CAPACITY: Capacity = Capacity { buckets: 16, chunks: 1024, waiters: 1024 };
static WORD: u32 = 0;

fn wait(domain: &Domain, until: Deadline) -> Error {
    // SAFETY: the word stays for ever.
    let futex = unsafe { Futex::at((&raw const WORD).expose_provenance(), Size::Bits32, Scope::Shared) }.unwrap();
    let expected = Expected::new(futex.served_by(domain, 8).unwrap(), 0).unwrap();
    ntux_futex::wait_multiple(&[(expected, MATCH_ANY)], until).unwrap_err()
}

#[test]
fn a_limit_on_files_is_an_error() {
    let status = in_child(|| {
        limit(libc::RLIMIT_FSIZE, 64 << 10);
        Domain::create(CAPACITY).err().and_then(|error| error.raw_os_error()) == Some(libc::EFBIG)
    });
    assert_eq!(status, 0);
}

#[test]
fn a_domain_is_in_no_core_dump() {
    let domain = Domain::create(CAPACITY).unwrap();
    let flags = smaps_of("memfd:ntux-futex", "VmFlags:");
    assert!(flags.split(' ').any(|flag| flag == "dd"), "{flags}");
    drop(domain);
}

#[test]
fn where_memory_ends_waiting_is_refused() {
    let status = in_child(|| {
        let domain = Domain::create(CAPACITY).unwrap();
        let soon = || Deadline::after_ns(1_000_000);
        let range = range_of_mapping("memfd:ntux-futex");
        let exhausted = Exhausted::everywhere(range).unwrap_or_else(|error| leave_out(error));
        assert_eq!(wait(&domain, soon()), Error::Exhausted);
        drop(exhausted);
        assert_eq!(wait(&domain, soon()), Error::TimedOut);
        // The same seat serves again.
        let _exhausted = Exhausted::everywhere(range).unwrap();
        wait(&domain, soon()) == Error::TimedOut
    });
    assert!(status == 0 || was_left_out(status), "{status:#x}");
}
