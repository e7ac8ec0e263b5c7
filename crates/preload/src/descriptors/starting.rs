// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that are started with descriptors of ours still open.
//!
//! A program whose environment was cleaned gets this library's entry in `LD_PRELOAD` back, because with the kernel's
//! driver a descriptor would work there, too. A program into which nothing can be loaded cannot use the descriptors,
//! and the user is told.
//!
//! A process that never used the device, and starts a program with this library, pays for one scan of the environment.
//! [`MARK`] is passed on with descriptors from program to program, so that a program that never uses them itself (a
//! shell, for example) takes the same care.
//!
//! # Stack, and children of `vfork`
//! Programs start others from where there is hardly any stack: a handler on an alternate stack of 8 KiB, for example, which forks and
//! executes something that reports the crash. So only the question whether a descriptor is passed on takes the program's stack; everything else runs
//! on a stack of its own ([`on_own_stack`]). A completed environment stands in a [`Piece`], because it must last until the kernel has
//! read it, and because a child of `vfork` has its parent's memory, to which nothing may be added at each start.

use super::copies::leaves;
use super::strangers::{self, LIBRARY, Name, Obstacle};
use crate::c_library::cancellation::without_cancellation;
use crate::c_library::file::{File, join};
use crate::c_library::next;
use crate::instances;
use crate::report::environment::{self, Device};
use crate::report::log;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::mem::size_of;
use ntux_platform::atomic::Word32;
use ntux_platform::environment::{DEVICE_IS, DEVICE_IS_USER, HANDED_ON_IS_1};
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::interposition::peek::Readable;
use ntux_platform::interposition::until_exec::Piece;
use ntux_platform::interposition::{others, proc};
use ntux_platform::keeping_errno;
use ntux_sync::Arena;
use std::os::fd::BorrowedFd;

/// Set in the environment of a program that got descriptors of ours.
const MARK: &CStr = HANDED_ON_IS_1;
const LIST: &[u8] = b"LD_PRELOAD=";
/// The longest path of this library, and of a program that is looked up.
const PATH_MAX: usize = 4096;
/// The word in an entry that each loader replaces, and this loader's value. musl's replaces nothing.
const LOADERS_CHOICE: &[u8] = b"$PLATFORM";
const PLATFORM: &[u8] = if cfg!(target_env = "musl") { LOADERS_CHOICE } else { std::env::consts::ARCH.as_bytes() };

/// An environment as programs pass it: an array of strings that ends with a null pointer, or nothing.
pub(crate) type Environment = *const *const c_char;

/// A file to execute, in the forms of the exec family.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    /// Below a directory; `AT_EMPTY_PATH` makes the directory itself the file.
    At(c_int, *const c_char),
    /// To be looked up in `PATH`.
    Named(*const c_char),
}

/// This library's entry in the list with which the program was started; empty if it was loaded otherwise.
/// Its first bytes stand beside the other words that a start writes: on the same page, where there is room.
#[repr(C)]
struct PreloadEntry {
    length: Word32,
    text: UnsafeCell<[u8; PATH_MAX]>,
}

// SAFETY: `text` is written by the constructor, which runs before there is a second thread, and before `length` is set.
unsafe impl Sync for PreloadEntry {}

static ENTRY: PreloadEntry = PreloadEntry { length: Word32::new(0), text: UnsafeCell::new([0; PATH_MAX]) };

impl PreloadEntry {
    fn text(&self) -> &[u8] {
        // SAFETY: written once, before the length.
        unsafe { &(&*self.text.get())[..self.length.load() as usize] }
    }
}

/// Stores the entry, because the program may change its environment.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn remember_entry() {
    let Some(list) = ntux_platform::environment::value(c"LD_PRELOAD") else { return };
    let names_us = |entry: &&[u8]| entry.ends_with(LIBRARY);
    let Some(entry) = list.to_bytes().split(|byte| matches!(byte, b':' | b' ')).find(names_us) else { return };
    if entry.len() <= PATH_MAX {
        // SAFETY: the constructor, before there is a second thread.
        unsafe { (&mut *ENTRY.text.get())[..entry.len()].copy_from_slice(entry) };
        ENTRY.length.store(entry.len() as u32);
    }
}

/// Set when `posix_spawn_file_actions_adddup2` passes a descriptor of ours to a program.
static IN_ACTIONS: Word32 = Word32::new(0);

/// A copy of this descriptor will be passed to a program that is started by file actions.
#[inline(always)]
pub(crate) fn by_actions(fd: c_int) {
    if instances::any() && fd >= 0 && leaves(fd) {
        IN_ACTIONS.store(1);
    }
}

/// Starts a program with `start`, which gets the environment to use.
///
/// Where a pointer leads to nothing, the call is passed on as it is, and the kernel says `EFAULT`.
///
/// # Safety
/// `program` and `environment` are what the real function is called with.
#[inline(always)]
pub(crate) unsafe fn start<R>(program: Program, environment: Environment, start: impl FnOnce(Environment) -> R) -> R {
    // SAFETY: the caller's promise.
    let Some(found) = (unsafe { look_through(environment) }) else { return start(environment) };
    if !instances::any() && (ENTRY.length.load() == 0 || (found.names_us && !found.is_marked)) {
        return start(environment);
    }
    // SAFETY: the caller's promise.
    unsafe { start_with_care(program, environment, found, start) }
}

/// Starts a program in which this library may be missing. Its frame may be left for good: nothing here has a destructor.
#[cold]
#[inline(never)]
unsafe fn start_with_care<R>(
    program: Program,
    environment: Environment,
    found: Found,
    start: impl FnOnce(Environment) -> R,
) -> R {
    // SAFETY: the caller's promise.
    let Some(completed) = (unsafe { completed(program, environment, found) }) else { return start(environment) };
    let result = start(completed.bytes().cast());
    // It failed, or another process executes the program.
    completed.give_back();
    result
}

/// The environment with what is missing in it, if the program needs that and can use it. If it needs it and cannot use it, the user is told.
/// Preserves the error number.
#[inline(never)]
unsafe fn completed(program: Program, environment: Environment, found: Found) -> Option<Piece> {
    if environment::device() == Device::Kernel || !keeping_errno(|| without_cancellation(hands_ours_on)) {
        return None;
    }
    // SAFETY: the caller's promise.
    if !unsafe { are_there(program, environment) } {
        return None;
    }
    let complete = || {
        keeping_errno(|| {
            without_cancellation(|| {
                // Each is asked about, so that each copy is counted.
                let hands_on = count_what_is_kept() || IN_ACTIONS.load() != 0;
                if !hands_on || ENTRY.length.load() == 0 || !others::may_be_looked_at() {
                    return None;
                }
                // SAFETY: the caller's promise.
                let obstacle = unsafe { obstacle(program) };
                // SAFETY: as above.
                let completed = || unsafe { complete(environment, found) }.ok_or(Obstacle::Hidden);
                obstacle.map_or_else(completed, Err).map_err(|obstacle| say(program, obstacle)).ok()
            })
        })
    };
    on_own_stack(complete)?
}

/// This library's state in an environment.
#[derive(Clone, Copy)]
struct Found {
    names_us: bool,
    is_marked: bool,
}

/// The strings of an environment.
unsafe fn variables<'a>(environment: Environment) -> impl Iterator<Item = &'a CStr> + Clone {
    let mut at = environment;
    core::iter::from_fn(move || {
        // SAFETY: the caller's promise: null, or an array that ends with a null pointer.
        unsafe {
            if at.is_null() || at.read_unaligned().is_null() {
                return None;
            }
            let variable = CStr::from_ptr(at.read_unaligned());
            at = at.add(1);
            Some(variable)
        }
    })
}

/// Returns whether the string begins with these bytes; none if what decides that cannot be read.
#[inline(always)]
fn begins(memory: &mut Readable, string: usize, bytes: &[u8]) -> Option<bool> {
    for (index, byte) in bytes.iter().enumerate() {
        if memory.byte(string.checked_add(index)?)? != *byte {
            return Some(false);
        }
    }
    Some(true)
}

/// None if something that is read here cannot be read: the kernel will say `EFAULT`. That costs a system call for each page.
#[unsafe(link_section = ".text.ntux_start")]
unsafe fn look_through(environment: Environment) -> Option<Found> {
    let mut found = Found { names_us: false, is_marked: false };
    let mut memory = Readable::default();
    let mut at = environment as usize;
    while at != 0 {
        let variable = memory.word(at)?;
        if variable == 0 {
            break;
        }
        if begins(&mut memory, variable, LIST)? {
            // SAFETY: the caller's promise: nobody changes it.
            let list = unsafe { memory.string(variable) }?;
            found.names_us = list.windows(LIBRARY.len()).any(|part| part == LIBRARY);
        }
        found.is_marked |= begins(&mut memory, variable, MARK.to_bytes_with_nul())?;
        at = at.wrapping_add(size_of::<usize>());
    }
    Some(found)
}

/// Returns true if all that is read to start it with care is there.
unsafe fn are_there(program: Program, environment: Environment) -> bool {
    let mut memory = Readable::default();
    // SAFETY: the caller's promise: nobody changes these.
    let mut is_string = |address: usize| unsafe { memory.string(address) }.is_some();
    let (Program::At(_, path) | Program::Named(path)) = program;
    let may_lack_path = matches!(program, Program::At(..)) && path.is_null();
    let mut at = environment;
    // SAFETY: the pointers have been looked through.
    unsafe {
        while !at.is_null() && !at.read_unaligned().is_null() {
            if !is_string(at.read_unaligned() as usize) {
                return false;
            }
            at = at.wrapping_add(1);
        }
    }
    may_lack_path || is_string(path as usize)
}

/// Returns true if a descriptor that may be ours stays open when this process executes a program, and may be looked at.
/// Most processes keep nothing that could be ours, so a filter that forbids to look further is asked last: that may
/// take a child.
fn hands_ours_on() -> bool {
    (kept().next().is_some() || IN_ACTIONS.load() != 0) && (instances::any() || others::may_be_looked_at())
}

/// Returns true if a descriptor of ours stays open when a program is executed. The kernel counts what does.
fn count_what_is_kept() -> bool {
    kept().filter(|fd| leaves(*fd)).count() != 0
}

/// The descriptors that may be ours and that an exec keeps. To ask the kernel about each number takes a fraction of the
/// time in which /proc lists what is open.
fn kept() -> impl Iterator<Item = c_int> {
    (0..numbers().unwrap_or_else(numbers_by_limit)).filter(|fd| is_kept(*fd) && can_be_ours(*fd))
}

/// The C library is about to start a program by itself, which gets what stays open.
#[cold]
pub(crate) fn started_by_library() {
    if instances::any() {
        keeping_errno(|| without_cancellation(count_what_is_kept));
    }
}

fn can_be_ours(fd: c_int) -> bool {
    // SAFETY: the descriptor is only asked; one that is not open is refused by the kernel.
    Arena::can_be_behind(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// One more than the highest number that a descriptor has; none if the kernel does not tell.
fn numbers() -> Option<c_int> {
    const NAME: &[u8] = b"\nFDSize:\t";
    let status = File::open_own(proc::own_paths("status"))?;
    let (mut matched, mut number) = (0, 0);
    let mut room = [0u8; 256];
    while let Some(part) = status.read(&mut room) {
        for &byte in part {
            match (NAME.get(matched), byte) {
                (Some(expected), _) if byte == *expected => matched += 1,
                (Some(_), _) => matched = usize::from(byte == NAME[0]),
                (None, b'0'..=b'9') => {
                    number = c_int::checked_add(c_int::checked_mul(number, 10)?, (byte - b'0').into())?
                }
                (None, _) => return Some(number),
            }
        }
    }
    None
}

/// What stands for [`numbers`] if the kernel does not tell, because no descriptor is left to ask with, or /proc cannot be seen: all numbers
/// below the limit may be in use.
#[cold]
fn numbers_by_limit() -> c_int {
    /// More descriptors than that are remembered of no process.
    const MOST: libc::rlim_t = 1 << 20;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if known { limit.rlim_cur.min(MOST) as c_int } else { 0 }
}

fn is_kept(fd: c_int) -> bool {
    // SAFETY: the descriptor is only asked.
    let flags = unsafe { next::fcntl(fd, libc::F_GETFD, 0) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

/// The obstacle to loading this library into a program.
unsafe fn obstacle(program: Program) -> Option<Obstacle> {
    // SAFETY: the caller's promise.
    let file = unsafe { open(program) }?;
    let obstacle = strangers::obstacle_behind_scripts(file);
    obstacle.filter(|why| *why != Obstacle::Musl || !serves_musl())
}

/// The file that will be executed, if it can be read.
unsafe fn open(program: Program) -> Option<File> {
    // SAFETY: the caller's promise: strings that end with a zero.
    unsafe {
        match program {
            Program::At(directory, path) if path.is_null() || *path == 0 => {
                File::open_own(proc::own_descriptor_paths(directory))
            }
            Program::At(directory, path) => File::open_at(directory, CStr::from_ptr(path)),
            Program::Named(name) => {
                let name = CStr::from_ptr(name);
                if name.to_bytes().contains(&b'/') {
                    return File::open(name);
                }
                let list = ntux_platform::environment::value(c"PATH").unwrap_or(c"/bin:/usr/bin");
                list.to_bytes().split(|byte| *byte == b':').find_map(|directory| {
                    let mut room = [0u8; PATH_MAX];
                    let parts = [directory, if directory.is_empty() { b"." } else { b"" }, b"/", name.to_bytes()];
                    File::open(join(&mut room, parts)?).filter(File::may_be_executed)
                })
            }
        }
    }
}

/// Returns true if there is a file for musl's loader, which takes the entry as it is.
fn serves_musl() -> bool {
    is_there(LOADERS_CHOICE)
}

/// Returns true if the entry names a file, with this name for the platform.
fn is_there(platform: &[u8]) -> bool {
    let entry = ENTRY.text();
    let mut room = [0u8; PATH_MAX];
    let path = match entry.windows(LOADERS_CHOICE.len()).position(|part| part == LOADERS_CHOICE) {
        Some(at) => join(&mut room, [&entry[..at], platform, &entry[at + LOADERS_CHOICE.len()..], b""]),
        None if platform == LOADERS_CHOICE && PLATFORM != LOADERS_CHOICE => None,
        None => join(&mut room, [entry, b"", b"", b""]),
    };
    // SAFETY: a string that ends with a zero.
    path.is_some_and(|path| unsafe { libc::access(path.as_ptr(), libc::R_OK) } == 0)
}

/// These variables and ours that are missing, in a piece of memory that begins with their array. None if the library does not exist (in another
/// root directory, for example), or there is no memory.
unsafe fn complete(environment: Environment, found: Found) -> Option<Piece> {
    if !found.names_us && !is_there(PLATFORM) {
        return None;
    }
    // SAFETY: the caller's promise.
    let variables = unsafe { variables(environment) };
    let is_list = |variable: &&CStr| variable.to_bytes().starts_with(LIST);
    let says_device = |variable: &CStr| variable.to_bytes().starts_with(DEVICE_IS);
    let others = variables.clone().find(is_list).map_or(&[][..], |list| &list.to_bytes()[LIST.len()..]);
    let between: &[u8] = if others.is_empty() { b"" } else { b":" };
    let list = [LIST, ENTRY.text(), between, others];
    let list_length = list.iter().map(|part| part.len()).sum::<usize>() + 1;
    // Three of ours, and the null pointer.
    let places = variables.clone().count() + 4;

    let piece = Piece::take(places * size_of::<*const c_char>() + list_length)?;
    // SAFETY: the piece has room for the array and the list, is aligned for pointers, and nobody else's; any bytes are values of
    // both kinds.
    let (array, text) = unsafe {
        let array = piece.bytes().cast::<*const c_char>();
        (
            core::slice::from_raw_parts_mut(array, places),
            core::slice::from_raw_parts_mut(array.add(places).cast(), list_length),
        )
    };
    let kept = variables.clone().filter(|variable| found.names_us || !is_list(variable));
    let list = if found.names_us { None } else { join(text, list) };
    let is_to_say = !found.names_us && environment::device() == Device::User && !variables.clone().any(says_device);
    let ours = list.into_iter().chain(is_to_say.then_some(DEVICE_IS_USER)).chain((!found.is_marked).then_some(MARK));
    let ends = core::iter::repeat(core::ptr::null());
    for (place, variable) in array.iter_mut().zip(kept.chain(ours).map(CStr::as_ptr).chain(ends)) {
        *place = variable;
    }
    Some(piece)
}

fn say(program: Program, obstacle: Obstacle) {
    let own = std::process::id() as libc::pid_t;
    let name = match program {
        Program::At(_, name) | Program::Named(name) if !name.is_null() => {
            // SAFETY: the caller's promise: a string that ends with a zero.
            unsafe { CStr::from_ptr(name) }
        }
        _ => c"?",
    };
    log::say(format_args!(
        "ntux: process {own} ({}) starts '{}' with /dev/ntsync open, and ntux is not loaded there: its waits will fail; {obstacle}\n",
        Name::of(own),
        name.to_bytes().escape_ascii(),
    ));
}
