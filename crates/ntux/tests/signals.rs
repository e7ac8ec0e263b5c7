// SPDX-License-Identifier: MIT OR Apache-2.0
//! A signal does not end a wait.

mod watchdog;

use std::os::unix::thread::JoinHandleExt;
use std::sync::mpsc;
use std::thread;

use ntux::{Arena, Capacity, Deadline, Event, Reset};

/// Where the handler writes a byte.
static mut HANDLED: libc::c_int = -1;

extern "C" fn handler(_: libc::c_int) {
    // SAFETY: set before the handler was installed; `write` is async-signal-safe.
    unsafe { libc::write(HANDLED, [0u8].as_ptr().cast(), 1) };
}

#[test]
fn a_wait_goes_on_after_a_handler() {
    watchdog::start();
    let arena = Arena::create(Capacity { objects: 16, waiters: 4 }).unwrap();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let mut pipe = [0; 2];
    // SAFETY: `pipe` has room for two descriptors; the handler is installed after its descriptor is known, without
    // SA_RESTART, so that a sleep in the kernel really ends.
    unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        HANDLED = pipe[1];
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }

    let (tell, told) = mpsc::channel();
    let waiting = event.clone();
    let sleeper = thread::spawn(move || {
        tell.send(()).unwrap();
        waiting.wait(Deadline::Never)
    });
    told.recv().unwrap();
    for _ in 0..20 {
        // SAFETY: the thread has not been joined; the byte comes from the handler that it runs.
        unsafe {
            assert_eq!(libc::pthread_kill(sleeper.as_pthread_t(), libc::SIGUSR1), 0);
            assert_eq!(libc::read(pipe[0], [0u8].as_mut_ptr().cast(), 1), 1);
        }
    }
    assert!(!sleeper.is_finished());
    event.set().unwrap();
    assert_eq!(sleeper.join().unwrap(), Ok(()));
}
