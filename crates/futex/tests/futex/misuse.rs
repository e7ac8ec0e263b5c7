// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be refused, and how.

use std::time::Duration;

use ntux_futex::{Deadline, Error, Expected, Futex, Mechanism, Scope, Size, wait, wake};

use ntux_platform::kernel_futex;

use crate::kind::{Bytes, SCOPES, kinds};
use crate::sleepers::{ANY, after, until_ended};

#[test]
fn misaligned_and_impossible_addresses() {
    for scope in SCOPES {
        let is_in_table = Mechanism::of(scope) == Mechanism::Table;
        for size in Size::ALL {
            for offset in 1..size.bytes() {
                // SAFETY: nobody waits for it.
                let futex = unsafe { Futex::at(0x10_0000 + offset, size, scope) };
                let expected = if is_in_table { None } else { Some(Error::Invalid) };
                assert_eq!(futex.err(), expected, "{size:?} {offset}");
            }
            for address in [0, 1 << 63] {
                // SAFETY: as above.
                assert_eq!(unsafe { Futex::at(address, size, scope) }, Err(Error::Fault));
            }
        }
    }
}

#[test]
fn a_value_that_does_not_fit_and_an_empty_bitset() {
    for kind in kinds() {
        let bytes = Bytes::default();
        if kind.0 != Size::Bits64 {
            assert_eq!(Expected::new(bytes.futex(kind, 0), 1 << kind.0.bits()), Err(Error::Invalid));
        }
        assert_eq!(wait(bytes.expect(kind, 0), 0, Deadline::NOW), Err(Error::Invalid));
        assert_eq!(wake(bytes.futex(kind, 0), 1, 0), Err(Error::Invalid));
    }
}

#[test]
fn waking_where_no_memory_is() {
    /// Unmapped in every process: below what the kernel maps.
    const NOWHERE: usize = 0x1000;
    for size in [Size::Bits8, Size::Bits16, Size::Bits32, Size::Bits64] {
        // SAFETY: nobody waits for it.
        let futex = |scope| unsafe { Futex::at(NOWHERE, size, scope) }.expect("aligned");
        assert_eq!(wake(futex(Scope::Private), 1, ANY), Ok(0), "a private futex is an address and nothing else");
        let shared = wake(futex(Scope::Shared), 1, ANY);
        // An inexact kernel need not look at the memory.
        assert!(shared == Err(Error::Fault) || !kernel_futex::is_exact() && shared == Ok(0), "{shared:?}");
    }
}

#[test]
fn a_signal_handler_ends_or_does_not_end_a_wait_but_never_loses_it() {
    extern "C" fn handler(_: libc::c_int) {}
    // SAFETY: a handler that does nothing, for a signal that nobody else uses here.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    for kind in kinds() {
        let bytes = Bytes::default();
        if wait(bytes.expect(kind, 0), ANY, Deadline::NOW) == Err(Error::Refused) {
            continue;
        }
        // SAFETY: asks for this thread's own name.
        let thread = unsafe { libc::pthread_self() } as usize;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(2));
                // SAFETY: the thread waits for this one to end, so it lives.
                unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGUSR1) };
            });
            let soon = after(Duration::from_millis(20));
            let ended = until_ended(|| wait(bytes.expect(kind, 0), ANY, soon));
            assert!(matches!(ended, Err(Error::Interrupted | Error::TimedOut)), "{kind:?}: {ended:?}");
        });
        assert_eq!(wake(bytes.futex(kind, 0), 9, ANY), Ok(0));
    }
}
