// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that end with and without their words, among robust mutexes of the C library.

use std::thread;

use crate::atomic::Word32;
use crate::life::{ENDED, Life, PAGE, POINTER, SLEEPERS, WORD_AT, has_ended};
use crate::robust::Head;

/// Two pages that this process shares with its children.
fn shared() -> &'static Word32 {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: new memory at an address of the system's choice, never unmapped; the word lies in it, aligned, and zero is one of its values.
    unsafe {
        let base = libc::mmap(core::ptr::null_mut(), 2 * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        &*base.cast::<u8>().add(WORD_AT).cast()
    }
}

fn begin(word: &'static Word32) -> Life {
    Life::begin(Head::of_this_thread(), word).expect("a GNU C library, pages of 4 KiB")
}

struct Robust(Box<libc::pthread_mutex_t>);

impl Robust {
    fn locked() -> Robust {
        // SAFETY: bytes of zero are places to initialize; each is initialized before it is used.
        unsafe {
            let mut attributes = core::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
            let mut mutex = Robust(Box::new(core::mem::zeroed()));
            assert_eq!(libc::pthread_mutex_init(&mut *mutex.0, &attributes), 0);
            assert_eq!(libc::pthread_mutex_lock(&mut *mutex.0), 0);
            mutex
        }
    }

    fn unlock(&mut self) {
        // SAFETY: the thread has it.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(&mut *self.0) }, 0);
    }

    fn lock_of_dead(&mut self) {
        // SAFETY: initialized.
        assert_eq!(unsafe { libc::pthread_mutex_lock(&mut *self.0) }, libc::EOWNERDEAD);
    }
}

// SAFETY: the C library's mutexes are for any thread.
unsafe impl Send for Robust {}

/// How many words the list of this thread names.
fn links() -> usize {
    let head = Head::of_this_thread().fields().unwrap().as_ptr() as usize;
    // SAFETY: the thread's own list, as the C library and this keep it.
    let next = |at: &usize| Some(unsafe { *((*at & POINTER) as *const usize) });
    std::iter::successors(next(&head), next).take_while(|&at| at != head).count()
}

#[test]
fn a_thread_that_ends_is_marked_and_its_mutexes_too() {
    if cfg!(not(target_env = "gnu")) {
        return;
    }
    let (one, other) = (shared(), shared());
    let mut mutexes = thread::spawn(move || {
        let first = Robust::locked();
        std::mem::forget(begin(one));
        let mut second = Robust::locked();
        let third = Robust::locked();
        std::mem::forget(begin(other));
        assert_eq!(links(), 5);
        second.unlock();
        assert_eq!(links(), 4);
        assert!(![one, other].map(|word| has_ended(word.load())).contains(&true));
        [first, third]
    })
    .join()
    .unwrap();
    assert_eq!([one, other].map(|word| word.load()), [SLEEPERS | ENDED; 2]);
    mutexes.iter_mut().for_each(Robust::lock_of_dead);
}

#[test]
fn a_word_is_taken_out_wherever_it_is() {
    if cfg!(not(target_env = "gnu")) {
        return;
    }
    let words = [shared(), shared(), shared()];
    let before = links();
    for last_first in [false, true] {
        let mut mutex = Robust::locked();
        let mut lives: Vec<Life> = words.map(begin).into();
        let mut other = Robust::locked();
        assert_eq!(links(), before + 5);
        if last_first {
            lives.reverse();
        }
        lives.remove(1).end();
        other.unlock();
        lives.remove(1).end();
        mutex.unlock();
        drop(lives);
        assert_eq!(links(), before);
        let ended = words.map(|word| has_ended(word.load()));
        assert_eq!(ended, if last_first { [true, true, false] } else { [false, true, true] });
    }
}

#[test]
fn who_sleeps_on_the_word_of_a_process_that_is_killed_is_woken() {
    if cfg!(not(target_env = "gnu")) {
        return;
    }
    let word = shared();
    // SAFETY: the child uses no lock of another thread, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        std::mem::forget(begin(word));
        loop {
            thread::park();
        }
    }
    while word.load() == 0 {
        // SAFETY: a child of ours; nothing is written.
        assert_eq!(unsafe { libc::waitpid(child, core::ptr::null_mut(), libc::WNOHANG) }, 0, "it cannot begin");
        thread::yield_now();
    }
    let seen = word.load();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while word.load() == seen {
                crate::futex::wait(word.futex_address(), seen, crate::clock::Deadline::Never);
            }
        });
        // SAFETY: a child of ours.
        unsafe { libc::kill(child, libc::SIGKILL) };
        sleeper.join().unwrap();
    });
    // SAFETY: as above.
    unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
    assert_eq!(word.load(), SLEEPERS | ENDED);
}

#[test]
fn a_forked_child_has_nothing_of_it() {
    if cfg!(not(target_env = "gnu")) {
        return;
    }
    let word = shared();
    let life = begin(word);
    let before = word.load();
    // SAFETY: the child uses no lock of another thread, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_empty = links() == 0;
        life.end();
        // SAFETY: has no precondition.
        unsafe { libc::_exit(i32::from(!is_empty)) };
    }
    let mut status = 0;
    // SAFETY: a child of ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((status, word.load()), (0, before));
    drop(life);
}
