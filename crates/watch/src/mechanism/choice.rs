// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chooses a mechanism: the named one, or else the best that works and cannot lose data.

use ntux_platform::environment;
use ntux_platform::once::Once;

use super::Engine;
use super::asynchronous::Asynchronous;
use super::cow::Cow;
use super::mprotect::Mprotect;
use super::synchronous::Synchronous;
use crate::{Error, Range, Reset, Result, Watcher};

/// A way to notice writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Mechanism {
    /// Userfaultfd, asynchronous: the kernel keeps the list (Linux 6.7).
    Async,
    /// Userfaultfd, synchronous: a thread of the program keeps the list (Linux 6.4).
    Sync,
    /// Page protection and a handler for SIGSEGV.
    Mprotect,
    /// Copy-on-write: the kernel copies a page at its first write (memory files). Used only if it is named, because it
    /// is not safe for every program. Pages that a device or io_uring has pinned (`O_DIRECT`, registered buffers) must
    /// be held ([`Watcher::hold`]) while they are pinned: a reset replaces them, and stores to the old pages are lost.
    /// A child of a bare `clone` does not have the memory. Written pages take twice the memory. It watches reserved
    /// memory only; the caller's own memory, and everything that existed at a fork, is watched as by `Mprotect`.
    Cow,
}

/// Something that a mechanism sees or does not see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capability {
    /// What it is, in a few words.
    pub name: &'static str,
    /// True if the mechanism sees it.
    pub has: bool,
    /// What that means for a program.
    pub meaning: &'static str,
}

impl Mechanism {
    /// Those that can be chosen automatically, best first, then the one that is used only on request.
    pub const ALL: [Mechanism; 4] = [Mechanism::Async, Mechanism::Sync, Mechanism::Mprotect, Mechanism::Cow];

    /// Returns whether `choose` may take it without being told. `Cow` can lose stores to pinned pages.
    pub fn is_automatic(self) -> bool {
        self != Mechanism::Cow
    }

    /// Its name in `NTUX_WATCH`.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Async => "async",
            Mechanism::Sync => "sync",
            Mechanism::Mprotect => "mprotect",
            Mechanism::Cow => "cow",
        }
    }

    /// The mechanism of that name.
    pub fn named(name: &str) -> Option<Mechanism> {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }

    /// The one that `NTUX_WATCH` names (an unknown name is `Invalid`), or else the first of `Async`, `Sync` and `Mprotect`
    /// that works here.
    pub fn choose() -> Result<Mechanism> {
        match std::env::var(environment::text(environment::WATCH)) {
            Ok(name) => Mechanism::named(&name).ok_or(Error::Invalid),
            Err(_) => {
                let mut candidates = Mechanism::ALL.into_iter().filter(|mechanism| mechanism.is_automatic());
                candidates.find(|mechanism| mechanism.probe().is_ok()).ok_or(Error::Unsupported)
            }
        }
    }

    /// Returns whether it works in this process. The first call tries it: a page must be written, reported, reset, and
    /// clean.
    pub fn probe(self) -> Result<()> {
        static ANSWERS: [Once<Result<()>>; 4] = [const { Once::new() }; 4];
        *ANSWERS[self as usize].get_or_make(|| self.try_out())
    }

    fn try_out(self) -> Result<()> {
        const PAGES: usize = 4;
        let page = crate::page_size();
        let region = Watcher::open(self)?.reserve(PAGES * page)?;
        let all = region.range();
        region.commit(all, crate::Protection::READ_WRITE)?;
        let mut found = [0; PAGES];
        let mut sees = |reset, expected: &[usize]| match region.get(all, &mut found, reset) {
            Ok(count) if found[..count] == *expected => Ok(()),
            Ok(_) => Err(Error::Unsupported),
            Err(error) => Err(error),
        };
        let second = all.start + page;
        sees(Reset::No, &[])?;
        // SAFETY: the page was committed above, and nobody else knows it.
        unsafe { (second as *mut u8).write_volatile(1) };
        sees(Reset::Yes, &[second])?;
        sees(Reset::No, &[])?;
        // SAFETY: as above.
        unsafe { (second as *mut u8).write_volatile(2) };
        sees(Reset::No, &[second])?;
        region.reset(Range::new(second, 1))
    }

    /// What it sees here, and what it does not.
    pub fn capabilities(self) -> [Capability; 6] {
        let kernel = match self {
            Mechanism::Async => true,
            Mechanism::Sync => Synchronous::sees_system_calls(),
            Mechanism::Mprotect | Mechanism::Cow => false,
        };
        [
            Capability {
                name: "system calls",
                has: kernel,
                meaning: match self {
                    _ if kernel => "what read, recv and others store is noticed",
                    Mechanism::Cow => {
                        "what read, recv and others store is noticed, but they fail with EFAULT on a page that is just being \
                         reset, and what is stored to pinned pages is lost when they are; the wrapped calls are safe"
                    }
                    _ => "read, recv and others fail with EFAULT on a clean page; the wrapped calls do not",
                },
            },
            Capability {
                name: "any memory",
                has: self == Mechanism::Async,
                meaning: if self == Mechanism::Async {
                    "stacks and the allocator's memory can be watched too"
                } else {
                    "stacks and memory that malloc manages must not be watched"
                },
            },
            Capability {
                name: "files",
                has: self != Mechanism::Sync,
                meaning: if self == Mechanism::Sync {
                    "anonymous memory and memory files only"
                } else {
                    "mappings of regular files can be watched"
                },
            },
            Capability {
                name: "exact at any size",
                has: self != Mechanism::Mprotect,
                meaning: if self == Mechanism::Mprotect {
                    "pages written here and there cost mappings; when half of vm.max_map_count is used, 64 count as one"
                } else {
                    "no mapping is split"
                },
            },
            Capability {
                name: "other mappings",
                has: false,
                meaning: "stores by other processes, through another mapping of a file, and by write(2) are not seen",
            },
            Capability {
                name: "devices",
                has: false,
                meaning: "what devices and io_uring's registered buffers store in pinned pages is not seen",
            },
        ]
    }

    pub(crate) fn engine(self) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Mechanism::Async => Box::new(Asynchronous::open()?),
            Mechanism::Sync => Box::new(Synchronous::open()?),
            Mechanism::Mprotect => Box::new(Mprotect::open()?),
            Mechanism::Cow => Box::new(Cow::open()?),
        })
    }
}
