// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps on words: `__ulock_wait2`, `__ulock_wake`, and the functions of macOS 14.4 over them.
//!
//! Linux's futexes keep the queues, so that a thread that is killed leaves them. The size of a word is the bit of the
//! futex's mask, and a list of this process's sleepers: so a waker sees whether somebody sleeps there with another size.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use libc::{c_int, c_void};

use crate::faults::{Deviation, Fault, comes, is, variable};
use crate::{errno, refuse};

const UL_COMPARE_AND_WAIT: u32 = 1;
const UL_COMPARE_AND_WAIT_SHARED: u32 = 3;
const UL_COMPARE_AND_WAIT64: u32 = 5;
const UL_COMPARE_AND_WAIT64_SHARED: u32 = 6;
const UL_OPCODE_MASK: u32 = 0xff;
const ULF_WAKE_ALL: u32 = 0x100;
const ULF_NO_ERRNO: u32 = 0x0100_0000;

const OS_SYNC_SHARED: u32 = 1;
const OS_CLOCK_MACH_ABSOLUTE_TIME: u32 = 32;

/// A word, and how it is known.
#[derive(Clone, Copy)]
struct Word {
    address: usize,
    bytes: usize,
    is_shared: bool,
}

impl Word {
    fn new(address: *mut c_void, bytes: usize, is_shared: bool) -> Result<Word, c_int> {
        let address = address as usize;
        if address == 0 || !address.is_multiple_of(bytes) {
            Err(libc::EINVAL)
        } else {
            Ok(Word { address, bytes, is_shared })
        }
    }

    fn of_operation(operation: u32, address: *mut c_void) -> Result<Word, c_int> {
        match operation & UL_OPCODE_MASK {
            UL_COMPARE_AND_WAIT => Word::new(address, 4, false),
            UL_COMPARE_AND_WAIT_SHARED => Word::new(address, 4, true),
            UL_COMPARE_AND_WAIT64 => Word::new(address, 8, false),
            UL_COMPARE_AND_WAIT64_SHARED => Word::new(address, 8, true),
            _ => Err(libc::EINVAL),
        }
    }

    fn load(self) -> u64 {
        // SAFETY: aligned, and mapped: the kernel said so, or the caller promises.
        unsafe {
            match self.bytes {
                8 => AtomicU64::from_ptr(self.address as *mut u64).load(SeqCst),
                _ => AtomicU32::from_ptr(self.address as *mut u32).load(SeqCst).into(),
            }
        }
    }

    fn mask(self) -> u32 {
        self.bytes as u32
    }

    fn scope(self) -> c_int {
        if self.is_shared && !is(Deviation::KeysAreAddresses) { 0 } else { libc::FUTEX_PRIVATE_FLAG }
    }

    /// How many were woken.
    fn wake(self, count: i32, mask: u32) -> i64 {
        let operation = libc::FUTEX_WAKE_BITSET | self.scope();
        // SAFETY: the kernel checks the address, and reads nothing.
        unsafe { libc::syscall(libc::SYS_futex, self.address, operation, count, 0usize, 0usize, mask) }
    }

    /// Until when somebody whom a thread of this process woke has not run yet.
    fn leaving(self) -> &'static AtomicU64 {
        static UNTIL: [AtomicU64; 1 << 16] = [const { AtomicU64::new(0) }; 1 << 16];
        &UNTIL[(self.address / 2 + usize::from(self.is_shared)) % UNTIL.len()]
    }

    /// Returns whether somebody sleeps on it, with whatever size. (A requeue to where they are; it counts them.)
    fn has_sleeper(self) -> bool {
        let operation = libc::FUTEX_REQUEUE | self.scope();
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_futex, self.address, operation, 0, 1usize, self.address, 0) > 0 }
    }

    /// Sleeps while the word holds this value. The error number, or 0.
    fn sleep(self, value: u64, until_ns: Option<u64>) -> c_int {
        let until = until_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        let time = until.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        if self.bytes == 8 {
            return self.sleep_long(value, time);
        }
        let operation = libc::FUTEX_WAIT_BITSET | self.scope();
        // SAFETY: the kernel checks the address; the time outlives the call.
        match unsafe {
            libc::syscall(libc::SYS_futex, self.address, operation, value as u32, time, 0usize, self.mask())
        } {
            0 => 0,
            _ => errno(),
        }
    }

    /// On both halves. Wakes are of the first.
    fn sleep_long(self, value: u64, time: *const libc::timespec) -> c_int {
        #[repr(C)]
        struct Waitv {
            value: u64,
            address: u64,
            flags: u32,
            reserved: u32,
        }
        const BITS32: u32 = 2;
        let flags = BITS32 | self.scope() as u32;
        let half = |number: u64| {
            let value = value >> (32 * number) & u64::from(u32::MAX);
            Waitv { value, address: self.address as u64 + 4 * number, flags, reserved: 0 }
        };
        let both = [half(0), half(1)];
        // SAFETY: the kernel checks the addresses; two entries, which outlive the call, as the time does.
        match unsafe { libc::syscall(libc::SYS_futex_waitv, both.as_ptr(), 2, 0, time, libc::CLOCK_MONOTONIC) } {
            0.. => 0,
            _ => errno(),
        }
    }
}

/// The threads of this process that sleep, each with its size. Without locks: a process forks at any time.
mod sizes {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

    use super::Word;

    const SLEEPERS: usize = 512;
    /// The process and the size of each, and the word: its address, and whether it is shared.
    static OWNERS: [AtomicU64; SLEEPERS] = [const { AtomicU64::new(0) }; SLEEPERS];
    static WORDS: [AtomicUsize; SLEEPERS] = [const { AtomicUsize::new(0) }; SLEEPERS];

    fn owner(word: Word, bytes: usize) -> (u64, usize) {
        (u64::from(std::process::id()) << 8 | bytes as u64, word.address | usize::from(word.is_shared))
    }

    pub fn has_other(word: Word) -> bool {
        let (owner, place) = owner(word, 12 - word.bytes);
        let is_other = |number: usize| OWNERS[number].load(SeqCst) == owner && WORDS[number].load(SeqCst) == place;
        (0..SLEEPERS).any(is_other)
    }

    /// A thread that sleeps; more of them than there is room for are not noticed.
    pub struct Asleep(Option<usize>);

    impl Asleep {
        pub fn new(word: Word) -> Asleep {
            let (owner, place) = owner(word, word.bytes);
            let mine = u64::from(std::process::id());
            let take = |number: &usize| {
                let seen = OWNERS[*number].load(SeqCst);
                // Those of a parent are not here.
                (seen == 0 || seen >> 8 != mine)
                    && OWNERS[*number].compare_exchange(seen, owner, SeqCst, SeqCst).is_ok()
            };
            let number = (0..SLEEPERS).find(take);
            number.into_iter().for_each(|number| WORDS[number].store(place, SeqCst));
            Asleep(number)
        }
    }

    impl Drop for Asleep {
        fn drop(&mut self) {
            self.0.into_iter().for_each(|number| {
                WORDS[number].store(0, SeqCst);
                OWNERS[number].store(0, SeqCst);
            });
        }
    }
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long a thread that was woken counts as a sleeper: XNU takes it off when it runs.
const LEAVES_NS: u64 = 5_000;

fn wait(word: Word, expected: u64, time_ns: Option<u64>) -> Result<(), c_int> {
    match () {
        () if comes(Fault::Efault) => {
            if is(Deviation::SleepsOnEfault) {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            }
            return Err(libc::EFAULT);
        }
        () if comes(Fault::Eintr) => return Err(libc::EINTR),
        () if comes(Fault::Enomem) => return Err(libc::ENOMEM),
        () if comes(Fault::Spurious) => return Ok(()),
        () => {}
    }
    let time_ns = time_ns.filter(|_| !is(Deviation::NoTimes));
    let until = time_ns.map(|time| now_ns().saturating_add(time));
    if is(Deviation::TwoSteps) {
        if word.load() != expected {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
    // Other processes' sleepers on long words are told by a wake of theirs, those on short ones not at all.
    if sizes::has_other(word) || word.bytes == 4 && word.wake(1, !word.mask()) > 0 {
        return Err(libc::EDOM);
    }
    let _asleep = sizes::Asleep::new(word);
    let value = if is(Deviation::TwoSteps) || is(Deviation::ComparesNothing) { word.load() } else { expected };
    match word.sleep(value, until) {
        0 | libc::EAGAIN => Ok(()),
        error => Err(error),
    }
}

fn wake(word: Word, all: bool) -> Result<(), c_int> {
    if is(Deviation::Deaf) {
        return Err(libc::ENOENT);
    }
    // A sleep on both halves of a long word has no mask.
    if sizes::has_other(word) {
        return Err(libc::EDOM);
    }
    let count = if all && !is(Deviation::WakesOne) { i32::MAX } else { 1 };
    // Before the wake: this thread may lose its processor to whom it wakes.
    let leaves = now_ns() + LEAVES_NS;
    match word.wake(count, word.mask()) {
        1.. => {
            word.leaving().store(leaves, Relaxed);
            Ok(())
        }
        _ if word.has_sleeper() => Err(libc::EDOM),
        _ if now_ns() < word.leaving().load(Relaxed) => Ok(()),
        _ if is(Deviation::WakesNobody) => Ok(()),
        _ => Err(libc::ENOENT),
    }
}

fn answer(result: Result<(), c_int>, flags: u32) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) if flags & ULF_NO_ERRNO != 0 => -error,
        Err(error) => refuse(error),
    }
}

/// See `sys/ulock.h`. A time of 0 is none.
#[unsafe(no_mangle)]
pub extern "C" fn __ulock_wait2(operation: u32, address: *mut c_void, value: u64, timeout_ns: u64, _: u64) -> c_int {
    let time = (timeout_ns != 0).then_some(timeout_ns);
    answer(Word::of_operation(operation, address).and_then(|word| wait(word, value, time)), operation)
}

/// See `sys/ulock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn __ulock_wake(operation: u32, address: *mut c_void, _: u64) -> c_int {
    answer(Word::of_operation(operation, address).and_then(|word| wake(word, operation & ULF_WAKE_ALL != 0)), operation)
}

fn os_sync_word(address: *mut c_void, bytes: usize, flags: u32) -> Result<Word, c_int> {
    let is_valid = matches!(bytes, 4 | 8) && flags & !OS_SYNC_SHARED == 0;
    if is_valid { Word::new(address, bytes, flags == OS_SYNC_SHARED) } else { Err(libc::EINVAL) }
}

extern "C" fn os_sync_wait(address: *mut c_void, value: u64, bytes: usize, flags: u32) -> c_int {
    answer(os_sync_word(address, bytes, flags).and_then(|word| wait(word, value, None)), 0)
}

extern "C" fn os_sync_wait_timed(
    address: *mut c_void,
    value: u64,
    bytes: usize,
    flags: u32,
    clock: u32,
    time_ns: u64,
) -> c_int {
    if clock != OS_CLOCK_MACH_ABSOLUTE_TIME || time_ns == 0 {
        return refuse(libc::EINVAL);
    }
    answer(os_sync_word(address, bytes, flags).and_then(|word| wait(word, value, Some(time_ns))), 0)
}

extern "C" fn os_sync_wake_any(address: *mut c_void, bytes: usize, flags: u32) -> c_int {
    answer(os_sync_word(address, bytes, flags).and_then(|word| wake(word, false)), 0)
}

extern "C" fn os_sync_wake_all(address: *mut c_void, bytes: usize, flags: u32) -> c_int {
    answer(os_sync_word(address, bytes, flags).and_then(|word| wake(word, true)), 0)
}

fn newer(name: &CStr) -> *mut c_void {
    if variable(c"XNU_RELEASE").is_some_and(|release| release == c"13") {
        return std::ptr::null_mut();
    }
    match name.to_bytes() {
        b"os_sync_wait_on_address" => os_sync_wait as *mut c_void,
        b"os_sync_wait_on_address_with_timeout" => os_sync_wait_timed as *mut c_void,
        b"os_sync_wake_by_address_any" => os_sync_wake_any as *mut c_void,
        b"os_sync_wake_by_address_all" => os_sync_wake_all as *mut c_void,
        _ => std::ptr::null_mut(),
    }
}

/// Finds what macOS 14.4 has and 13 has not; everything else as the C library does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const libc::c_char) -> *mut c_void {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const libc::c_char) -> *mut c_void;
    static REAL: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the caller's terminated name; the C library's function has this type.
    unsafe {
        if CStr::from_ptr(name).to_bytes().starts_with(b"os_sync_") {
            return newer(CStr::from_ptr(name));
        }
        if REAL.load(Relaxed) == 0 {
            let found = [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"]
                .iter()
                .map(|version| libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()))
                .find(|found| !found.is_null());
            REAL.store(found.unwrap_or(std::ptr::null_mut()) as usize, Relaxed);
        }
        std::mem::transmute::<usize, Dlsym>(REAL.load(Relaxed))(handle, name)
    }
}
