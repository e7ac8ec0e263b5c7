// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens while the handler runs: a writer is paused in it, and another thread acts meanwhile.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread::{scope, yield_now};

use ntux_platform::atomic::Word32;

use super::*;
use crate::planted;
use crate::{Range, Watcher};

const NAME: &str =
    "mechanism::mprotect::tests::a_store_is_no_mistake_if_its_page_is_watched_anew_while_the_handler_runs";
/// Set in the child process in which the bug is planted, and which must die.
const PLANTED: &str = "NTUX_WATCH_TEST_PLANTED";

/// How many places the writer has reached, and how many it may leave.
static COME: Word32 = Word32::new(0);
static LEAVE: Word32 = Word32::new(0);

/// Pauses the writer until it may leave this place.
fn pause_at(place: Place) {
    let number = COME.fetch_add(1) + 1;
    assert!((number % 2 == 1) == (place == Place::FindLedger), "the places alternate");
    while LEAVE.load() < number {
        yield_now();
    }
}

/// Waits until the writer is at a place, runs `step`, and lets the writer continue.
fn while_paused(number: u32, step: impl FnOnce()) {
    while COME.load() < number {
        yield_now();
    }
    step();
    LEAVE.store(number);
}

#[test]
fn a_store_is_no_mistake_if_its_page_is_watched_anew_while_the_handler_runs() {
    let bug = std::env::var_os(PLANTED).map(|_| planted::Bug::LookOnce);
    // SAFETY: sets a timer, which ends the program if the writer does not come where it is waited for.
    unsafe { libc::alarm(60) };
    let watcher = Watcher::with(Mechanism::Mprotect).expect("page protection");
    let base = protection::allocate(page_size(), Protection::READ_WRITE).expect("a page");
    let range = Range::new(base, page_size());
    let watch = || {
        // SAFETY: the page is the test's own, and nobody else changes its protection.
        let region = unsafe { watcher.watch(range) }.expect("watched");
        region.reset(range).expect("clean");
        region
    };
    let mut region = Some(watch());
    scope(|scope| {
        scope.spawn(|| {
            planted::set(bug);
            pause::set(pause_at);
            // SAFETY: a page that the program may write.
            unsafe { (base as *mut u8).write_volatile(1) };
        });
        while_paused(1, || region = None);
        while_paused(2, || region = Some(watch()));
        // Where it goes on, and finds the ledger.
        while_paused(3, || ());
    });
    let mut written = [0; 2];
    let region = region.expect("watched again");
    assert_eq!(region.get(range, &mut written, Reset::No), Ok(1));
    assert_eq!((written[0], COME.load()), (base, 3));
}

#[test]
fn the_planted_bug_ends_the_program() {
    let mut command = Command::new(std::env::current_exe().expect("path of the test"));
    let output =
        command.args([NAME, "--exact", "--test-threads=1"]).env(PLANTED, "1").output().expect("the test again");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
}

/// Otherwise a store would open 64 pages, and all of them would count as written.
#[test]
fn a_number_of_runs_below_zero_leaves_room() {
    let _sets_the_limit = Watcher::with(Mechanism::Mprotect).expect("page protection");
    Pages.account(1_000_000, 0);
    let has_room = Pages.has_room();
    Pages.account(0, 1_000_000);
    assert!(has_room);
}
