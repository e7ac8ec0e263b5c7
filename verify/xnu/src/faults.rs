// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes wrong: as XNU may have it (faults), and as it never has it (deviations).

use std::ffi::CStr;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What XNU may answer at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Fault {
    /// The word is paged out: `EFAULT`.
    Efault,
    /// A signal came: `EINTR`.
    Eintr,
    /// The sleep ends for no reason.
    Spurious,
    /// No memory for a queue: `ENOMEM`.
    Enomem,
}

const FAULTS: [&CStr; 4] = [c"efault", c"eintr", c"spurious", c"enomem"];

/// Without the variable. Every test must stand these.
const USUAL: [i64; 4] = [13, 17, 11, 97];

const UNKNOWN: i64 = -1;
static RATES: [AtomicI64; FAULTS.len()] = [const { AtomicI64::new(UNKNOWN) }; FAULTS.len()];

/// A variable of the environment, read once.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a terminated name; nobody changes the variables of the simulation.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn rate(fault: Fault) -> i64 {
    let known = RATES[fault as usize].load(Relaxed);
    if known != UNKNOWN {
        return known;
    }
    let rate = match variable(c"XNU_FAULTS") {
        None => USUAL[fault as usize],
        Some(list) => list
            .to_bytes()
            .split(|&byte| byte == b',')
            .find_map(|entry| number(entry.strip_prefix(FAULTS[fault as usize].to_bytes())?.strip_prefix(b"=")?))
            .unwrap_or(0),
    };
    RATES[fault as usize].store(rate, Relaxed);
    rate
}

/// From now on: of so many calls one fails so; 0 for none.
#[unsafe(no_mangle)]
pub extern "C" fn xnu_set_fault(fault: u32, rate: i64) {
    if let Some(place) = RATES.get(fault as usize) {
        place.store(rate, Relaxed);
    }
}

/// Returns whether this call fails so.
pub(crate) fn comes(fault: Fault) -> bool {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let rate = rate(fault);
    if rate <= 0 {
        return false;
    }
    // The finalizer of SplitMix64 over a counter: every process has another sequence of threads.
    let mut mixed = COUNT.fetch_add(1, Relaxed).wrapping_add(u64::from(std::process::id())) ^ (fault as u64) << 32;
    mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31).is_multiple_of(rate as u64)
}

macro_rules! deviations {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// A promise of XNU's that is broken on purpose: the tests that run here must notice.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Deviation {
            $($(#[$doc])* $name,)+
        }

        const DEVIATIONS: &[&CStr] = &[$($text,)+];
    };
}

deviations! {
    /// A wake reaches nobody.
    Deaf = c"deaf",
    /// A wake of all reaches one.
    WakesOne = c"wakes-one",
    /// Comparing and falling asleep are two steps.
    TwoSteps = c"two-steps",
    /// A word that differs is slept on.
    ComparesNothing = c"compares-nothing",
    /// A sleep with a time does not end by itself.
    NoTimes = c"no-times",
    /// The key of a shared word is its address.
    KeysAreAddresses = c"keys-are-addresses",
    /// A sleep on a word that is paged out does not end.
    SleepsOnEfault = c"sleeps-on-efault",
    /// A wake without a sleeper succeeds.
    WakesNobody = c"wakes-nobody",
    /// Every region may be written.
    RegionsAreWritable = c"regions-are-writable",
    /// Where nothing is mapped, a region is said to be.
    RegionsWithoutHoles = c"regions-without-holes",
    /// The size of an object can be set again.
    SizesAgain = c"sizes-again",
    /// Every object has the same name.
    OneName = c"one-name",
    /// Names have at most 30 characters.
    ShortNames = c"short-names",
    /// What is mapped is a copy.
    Copies = c"copies",
    /// Locks belong to processes.
    LocksOfProcesses = c"locks-of-processes",
    /// Nobody gets a lock.
    NoLocks = c"no-locks",
    /// Numbers of threads are names of ports: the same in every process.
    PortNames = c"port-names",
    /// No corpse is found.
    NoCorpses = c"no-corpses",
    /// All processes started at the same time.
    StartedTogether = c"started-together",
    /// Threads that have ended are found.
    NobodyIsGone = c"nobody-is-gone",
    /// Threads of other processes are not found.
    OthersAreGone = c"others-are-gone",
}

const NONE: u32 = u32::MAX;
const UNREAD: u32 = u32::MAX - 1;
static DEVIATION: AtomicU32 = AtomicU32::new(UNREAD);

/// Breaks this promise from now on, by its name; null for none. Returns 0, or -1 if there is no such promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xnu_deviate(name: *const libc::c_char) -> i32 {
    // SAFETY: null or a terminated name, by the contract.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    let found = name.map(|name| DEVIATIONS.iter().position(|known| *known == name));
    match found {
        None => DEVIATION.store(NONE, Relaxed),
        Some(Some(index)) => DEVIATION.store(index as u32, Relaxed),
        Some(None) => return -1,
    }
    0
}

/// The names of all deviations, one after the other; null after the last.
#[unsafe(no_mangle)]
pub extern "C" fn xnu_deviation(index: usize) -> *const libc::c_char {
    DEVIATIONS.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Returns whether this promise is broken.
pub(crate) fn is(deviation: Deviation) -> bool {
    let mut chosen = DEVIATION.load(Relaxed);
    if chosen == UNREAD {
        chosen = variable(c"XNU_DEVIATION")
            .and_then(|name| DEVIATIONS.iter().position(|known| *known == name))
            .map_or(NONE, |index| index as u32);
        DEVIATION.store(chosen, Relaxed);
    }
    chosen == deviation as u32
}
