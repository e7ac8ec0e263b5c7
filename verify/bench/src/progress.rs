// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress: one line that overwrites itself on a terminal, nothing elsewhere; and the watchdog, which names what is stuck.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use indicatif::{ProgressBar, ProgressStyle};

/// What is being measured; null if nothing is.
static MEASURED: AtomicPtr<c_char> = AtomicPtr::new(null_mut());

thread_local! {
    static LINE: RefCell<Option<ProgressBar>> = const { RefCell::new(None) };
}

/// Says what is done now.
pub(crate) fn show(what: &str) {
    LINE.with_borrow_mut(|line| {
        let line = line.get_or_insert_with(|| {
            let line = ProgressBar::new_spinner();
            line.set_style(ProgressStyle::with_template("{elapsed:>4} {wide_msg}").expect("it is well formed"));
            line
        });
        line.set_message(what.to_owned());
        line.tick();
    });
}

/// Clears the line.
pub(crate) fn done() {
    if let Some(line) = LINE.take() {
        line.finish_and_clear();
    }
}

/// From now on this may take so many seconds, then SIGALRM says what was stuck, and ends the process.
pub(crate) fn watch(what: &str, seconds: u32) {
    let what = CString::new(format!("ntux bench: stuck: {what}\n")).unwrap_or_default();
    forget(MEASURED.swap(what.into_raw(), SeqCst));
    let handler = stuck as extern "C" fn(c_int) as usize;
    // SAFETY: the handler calls only what a handler may call; the alarm is a timer of this process.
    unsafe {
        libc::signal(libc::SIGALRM, handler);
        libc::alarm(seconds);
    }
}

/// Stops the watchdog.
pub(crate) fn unwatch() {
    // SAFETY: disarms the timer.
    unsafe { libc::alarm(0) };
    forget(MEASURED.swap(null_mut(), SeqCst));
}

fn forget(what: *mut c_char) {
    if !what.is_null() {
        // SAFETY: it came from `into_raw`, and whoever swapped it out is the only one who has it.
        drop(unsafe { CString::from_raw(what) });
    }
}

extern "C" fn stuck(signal: c_int) {
    let what = MEASURED.swap(null_mut(), SeqCst);
    // SAFETY: a string of `watch`, which nobody else has now; write, signal and raise may be called by a handler.
    unsafe {
        if !what.is_null() {
            let text = CStr::from_ptr(what).to_bytes();
            libc::write(2, text.as_ptr().cast(), text.len());
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
