// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences around an arena, to detect accesses out of bounds: inaccessible pages, and data that must not change.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io;
use std::ops::Range;

use ntux::{Arena, Capacity, Event, MutexObject, Reset, Semaphore};
use ntux_sync::Object;

use super::file::ArenaFile;

/// Untouchable bytes on either side.
const GUARD: usize = 1 << 20;
/// Sizes of what fills other gaps: the arena's, twice that, and so on.
const DOUBLINGS: u32 = 16;
/// Gaps of one size that are filled at most.
const ATTEMPTS: u32 = 64;

/// An arena between two ranges of addresses that cannot be read or written.
pub struct Fenced {
    pub arena: Arena,
    /// Where its bytes are.
    pub range: Range<usize>,
    _guards: Guards,
}

impl Fenced {
    /// Creates an arena and has it mapped into a gap that was left for it.
    pub fn create(capacity: Capacity) -> io::Result<Fenced> {
        let arena = Arena::create(capacity).map_err(refused)?;
        let guards = Guards::around(range(&arena, 0)?.len())?;
        let gap = guards.gap();
        let fillers = guards.fill_other_gaps()?;
        let attached = Arena::attach(arena.fd()).map_err(refused)?;
        drop(fillers);
        if range(&attached, gap.start)? != gap {
            return Err(io::Error::other("the system maps the arena elsewhere than into the gap that was left for it"));
        }
        Ok(Fenced { arena: attached, range: gap, _guards: guards })
    }

    /// The file, to be scribbled over.
    pub fn file(&self, capacity: Capacity) -> io::Result<ArenaFile> {
        ArenaFile::open(self.arena.fd(), capacity)
    }
}

/// Reserved addresses on either side of a gap.
struct Guards {
    before: Reserved,
    after: Reserved,
}

impl Guards {
    fn around(gap: usize) -> io::Result<Guards> {
        let whole = Reserved::new(gap + 2 * GUARD)?;
        let base = whole.base;
        // SAFETY: the middle of what was reserved just now, and is used by nobody.
        if unsafe { libc::munmap((base + GUARD) as *mut libc::c_void, gap) } != 0 {
            return Err(io::Error::last_os_error());
        }
        std::mem::forget(whole);
        let guard = |base| Reserved { base, length: GUARD };
        Ok(Guards { before: guard(base), after: guard(base + GUARD + gap) })
    }

    fn gap(&self) -> Range<usize> {
        self.before.base + GUARD..self.after.base
    }

    /// Takes all addresses that the system would rather give out than those of the gap: it begins at the top, so large
    /// pieces first, until one of the gap's own length lands there.
    fn fill_other_gaps(&self) -> io::Result<Vec<Reserved>> {
        let gap = self.gap();
        let mut fillers = vec![];
        for doublings in (0..DOUBLINGS).rev() {
            for _ in 0..ATTEMPTS {
                let filler = Reserved::new(gap.len() << doublings)?;
                if filler.base < gap.end {
                    break;
                }
                fillers.push(filler);
            }
        }
        Ok(fillers)
    }
}

/// Addresses that cannot be read or written.
struct Reserved {
    base: usize,
    length: usize,
}

impl Reserved {
    fn new(length: usize) -> io::Result<Reserved> {
        let (access, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a fresh mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Reserved { base: base as usize, length })
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: reserved by `new`, used by nobody.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.length) };
    }
}

fn refused(error: ntux::Error) -> io::Error {
    io::Error::from_raw_os_error(error.errno())
}

/// A mapping of the arena's file: the one at `wanted`, or else any.
fn range(arena: &Arena, wanted: usize) -> io::Result<Range<usize>> {
    let inode = arena.with_waiter(|core, _| core.file().inode).to_string();
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let ours = maps.lines().filter(|line| line.split_whitespace().nth(4) == Some(&inode));
    let ranges = ours.filter_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    });
    ranges.max_by_key(|range| range.start == wanted).ok_or(io::ErrorKind::NotFound.into())
}

/// Another arena that is in use, and private memory: nobody scribbles there, so nothing may change there.
pub struct Canary {
    fenced: Fenced,
    file: ArenaFile,
    objects: [Object; 3],
    private: Vec<u64>,
    hash: u64,
}

const CANARY: Capacity = Capacity { objects: 8, waiters: 4 };

impl Canary {
    pub fn new() -> io::Result<Canary> {
        let fenced = Fenced::create(CANARY)?;
        let arena = &fenced.arena;
        let objects = [
            Semaphore::create(arena, 1, 3).map_err(refused)?.keep().into(),
            MutexObject::create_with(arena, 7, 2).map_err(refused)?.keep().into(),
            Event::create(arena, Reset::Auto, true).map_err(refused)?.keep().into(),
        ];
        let file = fenced.file(CANARY)?;
        let private = (0..512).map(|place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut canary = Canary { fenced, file, objects, private, hash: 0 };
        canary.hash = canary.hash();
        Ok(canary)
    }

    /// Where the other arena's bytes are.
    pub fn range(&self) -> Range<usize> {
        self.fenced.range.clone()
    }

    /// What nobody must do.
    pub fn spoil(&self) {
        self.file.store(self.file.word("objects", 0, "extra", 0), 0);
    }

    fn hash(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        hash.write(&self.file.bytes());
        self.private.iter().for_each(|word| hash.write_u64(*word));
        hash.finish()
    }

    /// Panics if anything has changed; uses the arena otherwise, and remembers how it is then.
    pub fn check(&mut self) {
        assert_eq!(self.hash(), self.hash, "another arena or private memory has changed");
        let [semaphore, mutex, event] = self.objects;
        let used = self.fenced.arena.with_waiter(|core, waiter| {
            core.semaphore_release(waiter, semaphore, 1)?;
            core.mutex_unlock(waiter, mutex, 7)?;
            let all = core.wait_all(waiter, &self.objects, None, 7, ntux::Deadline::NOW)?;
            core.event_set(waiter, event)?;
            Ok::<_, ntux::Error>(all.index)
        });
        assert_eq!(used, Ok(0), "another arena does not work any more");
        self.hash = self.hash();
    }
}
