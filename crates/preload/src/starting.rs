//! Programs that are started with descriptors of ours still open.
//!
//! A program whose environment was cleaned gets this library's entry in `LD_PRELOAD` back, because with the kernel's
//! driver a descriptor would work there, too. A program into which nothing can be loaded cannot use the descriptors,
//! and the user is told.
//!
//! A process that never used the device, and starts a program with this library, pays for one scan of the environment.
//! [`MARK`] is passed on with descriptors from program to program, so that a program that never uses them itself (a
//! shell, for example) takes the same care. Everything here also runs in children of `vfork`, so it writes only to the
//! stack.

use crate::environment::{self, Device};
use crate::strangers::{self, File, LIBRARY, Name, Obstacle, Path};
use crate::{device, instances, leaving, log};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::mem::size_of;
use ntux_platform::atomic::Word32;
use ntux_platform::interposition::others;
use ntux_platform::keeping_errno;
use ntux_sync::Arena;
use std::os::fd::BorrowedFd;

/// Set in the environment of a program that got descriptors of ours.
const MARK: &CStr = c"NTUX_HANDED_ON=1";
const LIST: &[u8] = b"LD_PRELOAD=";
/// The most variables of an environment that can be completed, and the longest list of libraries.
const VARIABLES: usize = 1024;
const LIST_MAX: usize = 4096;
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
    text: UnsafeCell<[u8; LIST_MAX]>,
}

// SAFETY: `text` is written by the constructor, which runs before there is a second thread, and before `length` is set.
unsafe impl Sync for PreloadEntry {}

static ENTRY: PreloadEntry = PreloadEntry { length: Word32::new(0), text: UnsafeCell::new([0; LIST_MAX]) };

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
    if entry.len() <= LIST_MAX {
        // SAFETY: the constructor, before there is a second thread.
        unsafe { (&mut *ENTRY.text.get())[..entry.len()].copy_from_slice(entry) };
        ENTRY.length.store(entry.len() as u32);
    }
}

/// Set when `posix_spawn_file_actions_adddup2` passes a descriptor of ours to a program.
static IN_ACTIONS: Word32 = Word32::new(0);

/// A program to be started gets this descriptor under another number.
pub(crate) fn by_actions() {
    IN_ACTIONS.store(1);
}

/// Starts a program with `start`, which gets the environment to use.
///
/// # Safety
/// `program` and `environment` are what the real function is called with.
#[inline(always)]
pub(crate) unsafe fn start<R>(program: Program, environment: Environment, start: impl FnOnce(Environment) -> R) -> R {
    // SAFETY: the caller's promise.
    let found = unsafe { look_through(environment) };
    if ENTRY.length.load() == 0 || (found.names_us && !found.is_marked && !instances::any()) {
        return start(environment);
    }
    // SAFETY: the caller's promise.
    unsafe { start_with_care(program, environment, found, start) }
}

#[cold]
#[inline(never)]
unsafe fn start_with_care<R>(
    program: Program,
    environment: Environment,
    found: Found,
    start: impl FnOnce(Environment) -> R,
) -> R {
    let mut room = Room::new();
    let completed = keeping_errno(|| {
        device::without_cancellation(|| {
            if environment::device() == Device::Kernel || !(keeps_ours() || IN_ACTIONS.load() != 0) {
                return None;
            }
            if !others::may_be_looked_at() {
                return None;
            }
            // SAFETY: the caller's promise.
            match unsafe { obstacle(program) } {
                Some(obstacle) => say(program, obstacle),
                // SAFETY: as above.
                None if room.complete(unsafe { variables(environment) }, found).is_some() => {
                    return Some(room.list.as_ptr());
                }
                None => say(program, Obstacle::Hidden),
            }
            None
        })
    });
    start(completed.unwrap_or(environment))
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
            if at.is_null() || (*at).is_null() {
                return None;
            }
            let variable = CStr::from_ptr(*at);
            at = at.add(1);
            Some(variable)
        }
    })
}

#[unsafe(link_section = ".text.ntux_start")]
unsafe fn look_through(environment: Environment) -> Found {
    let mut found = Found { names_us: false, is_marked: false };
    let mut at = environment;
    // SAFETY: the caller's promise: null, or an array that ends with a null pointer, of strings that end with a zero.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let variable = *at;
            match *variable as u8 {
                b'L' if CStr::from_ptr(variable).to_bytes().starts_with(LIST) => {
                    let list = CStr::from_ptr(variable).to_bytes();
                    found.names_us = list.windows(LIBRARY.len()).any(|part| part == LIBRARY);
                }
                b'N' => found.is_marked |= CStr::from_ptr(variable) == MARK,
                _ => {}
            }
            at = at.add(1);
        }
    }
    found
}

/// Whether a descriptor of ours stays open when this process executes a program. The kernel counts what does. To ask about each
/// number takes a fraction of the time in which /proc lists what is open. Most processes keep nothing that could be ours, so
/// whether a filter forbids to look further is found out last: that may take a child.
fn keeps_ours() -> bool {
    let mut found = false;
    for fd in 0..numbers().unwrap_or(0) {
        found |= is_kept(fd) && can_be_ours(fd) && others::may_be_looked_at() && leaving::leaves(fd);
    }
    found
}

fn can_be_ours(fd: c_int) -> bool {
    // SAFETY: the descriptor is only asked; one that is not open is refused by the kernel.
    Arena::can_be_behind(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// One more than the highest number that a descriptor has; none if the kernel does not tell.
fn numbers() -> Option<c_int> {
    const NAME: &[u8] = b"\nFDSize:\t";
    let mut room = [0u8; 4096];
    let status = File::open(c"/proc/self/status")?;
    let text = status.read(&mut room)?;
    let at = text.windows(NAME.len()).position(|part| part == NAME)? + NAME.len();
    let number = text[at..].split(|byte| *byte == b'\n').next()?;
    core::str::from_utf8(number).ok()?.parse().ok()
}

fn is_kept(fd: c_int) -> bool {
    // SAFETY: the descriptor is only asked.
    let flags = unsafe { crate::next::fcntl(fd, libc::F_GETFD, 0) };
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
                File::open(Path::new(format_args!("/proc/self/fd/{directory}")).text())
            }
            Program::At(directory, path) => File::open_at(directory, CStr::from_ptr(path)),
            Program::Named(name) => {
                let name = CStr::from_ptr(name);
                if name.to_bytes().contains(&b'/') {
                    return File::open(name);
                }
                let list = ntux_platform::environment::value(c"PATH").unwrap_or(c"/bin:/usr/bin");
                list.to_bytes().split(|byte| *byte == b':').find_map(|directory| {
                    let mut room = [0u8; LIST_MAX];
                    let parts = [directory, if directory.is_empty() { b"." } else { b"" }, b"/", name.to_bytes()];
                    File::open(join(&mut room, parts)?).filter(File::may_be_executed)
                })
            }
        }
    }
}

/// Concatenates these bytes to a string; none if they do not fit.
fn join<'a>(room: &'a mut [u8], parts: [&[u8]; 4]) -> Option<&'a CStr> {
    let mut length = 0;
    for part in parts {
        room.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    *room.get_mut(length)? = 0;
    CStr::from_bytes_until_nul(room).ok()
}

/// Whether there is a file for musl's loader, which takes the entry as it is.
fn serves_musl() -> bool {
    is_there(LOADERS_CHOICE)
}

/// Whether the entry names a file, with this name for the platform.
fn is_there(platform: &[u8]) -> bool {
    let entry = ENTRY.text();
    let mut room = [0u8; LIST_MAX];
    let path = match entry.windows(LOADERS_CHOICE.len()).position(|part| part == LOADERS_CHOICE) {
        Some(at) => join(&mut room, [&entry[..at], platform, &entry[at + LOADERS_CHOICE.len()..], b""]),
        None if platform == LOADERS_CHOICE && PLATFORM != LOADERS_CHOICE => None,
        None => join(&mut room, [entry, b"", b"", b""]),
    };
    // SAFETY: a string that ends with a zero.
    path.is_some_and(|path| unsafe { libc::access(path.as_ptr(), libc::R_OK) } == 0)
}

/// A completed environment: the array, and the list of libraries in it.
struct Room {
    list: [*const c_char; VARIABLES],
    preload: [u8; LIST_MAX],
}

impl Room {
    fn new() -> Room {
        Room { list: [core::ptr::null(); VARIABLES], preload: [0; LIST_MAX] }
    }

    /// Fills in these variables and ours that are missing. None if they do not fit, or the library does not exist (in
    /// another root directory, for example).
    fn complete<'a>(&mut self, variables: impl Iterator<Item = &'a CStr> + Clone, found: Found) -> Option<()> {
        if !found.names_us && !is_there(PLATFORM) {
            return None;
        }
        let is_list = |variable: &&CStr| variable.to_bytes().starts_with(LIST);
        let mut count = 0;
        // One place stays null: it ends the array.
        let mut put = |variable: &CStr| -> Option<()> {
            *self.list[..VARIABLES - 1].get_mut(count)? = variable.as_ptr();
            count += 1;
            Some(())
        };
        for variable in variables.clone().filter(|variable| found.names_us || !is_list(variable)) {
            put(variable)?;
        }
        if !found.names_us {
            let others = variables.clone().find(is_list).map_or(&[][..], |list| &list.to_bytes()[LIST.len()..]);
            let between: &[u8] = if others.is_empty() { b"" } else { b":" };
            put(join(&mut self.preload, [LIST, ENTRY.text(), between, others])?)?;
            let says_device = |variable: &CStr| variable.to_bytes().starts_with(b"NTUX_DEVICE=");
            if environment::device() == Device::User && !variables.clone().any(says_device) {
                put(c"NTUX_DEVICE=user")?;
            }
        }
        if !found.is_marked {
            put(MARK)?;
        }
        Some(())
    }
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

const _: () = assert!(size_of::<Room>() <= 16 << 10);
