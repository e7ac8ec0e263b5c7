// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries that the program loads so that they do not find this one: with `RTLD_DEEPBIND`, or with `dlmopen` into a namespace of
//! their own. Such a library gets the C library's own functions: it can open no device, and its ioctl of a descriptor that the
//! program gave it fails with `ENOTTY`. The user is told, once.
//!
//! It asked not to be given other libraries' functions, so it is not given ours. (To load it without the flag would break what
//! needs the flag. Its bindings could be changed only after its constructors had run with them, because nothing of ours returns
//! to the loader, see [`crate::entry`].) So all that can be done is to look at the file before it is loaded:
//!
//! | its dynamic symbols have `ioctl` or `syscall` | its data have the device's name | the process uses the device | said |
//! | --- | --- | --- | --- |
//! | no | | | nothing |
//! | yes | yes | | now |
//! | yes | no | yes | now |
//! | yes | no | no | when the process first uses the device |
//!
//! Nothing is said of a file that is not found here: a name without a slash is searched in the directories of which the loader
//! says that it searches them for the caller, and not in its cache. Nor is anything said of a library that such a library brings
//! along.
//!
//! Everything here runs before the loader, which allocates and takes locks itself, so this may allocate, too; if there is no
//! memory, nothing is said. The stack that it takes is used again by the loader.

use super::path::status;
use super::serving::would_serve;
use crate::c_library::cancellation::without_cancellation;
use crate::c_library::file::{File, join};
use crate::c_library::next;
use crate::descriptors::strangers::Name;
use crate::report::environment::{self, Device};
use crate::report::log::{self, Once};
use crate::thread::actions;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::size_of;
use libc::{AT_FDCWD, Elf64_Ehdr, Elf64_Shdr, dl_phdr_info};
use ntux_platform::atomic::Word64;
use ntux_platform::interposition::others;
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::keeping_errno;
use std::panic::AssertUnwindSafe;

/// The same value on every processor that this library is made for.
pub(crate) const RTLD_DEEPBIND: c_int = 8;
/// The namespace of the program.
const LM_ID_BASE: isize = 0;

/// How a library is loaded past this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// With `RTLD_DEEPBIND`.
    Deep = 0,
    /// Into another namespace.
    Apart = 1,
}

/// Runs before a `dlopen` of the program, at least if it has the flag. Returns where the real function is. The third argument means nothing.
pub(crate) unsafe extern "C" fn before_dlopen(file: *const c_char, mode: c_int, _: usize, caller: usize) -> usize {
    if mode & RTLD_DEEPBIND != 0 {
        // SAFETY: the caller's own arguments.
        unsafe { look(file, mode, caller, Way::Deep) };
    }
    next::dlopen().unwrap_or(absent as *const () as usize)
}

/// Runs before each `dlmopen` of the program. Returns where the real function is.
pub(crate) unsafe extern "C" fn before_dlmopen(
    namespace: isize,
    file: *const c_char,
    mode: c_int,
    caller: usize,
) -> usize {
    if namespace != LM_ID_BASE || mode & RTLD_DEEPBIND != 0 {
        let way = if namespace == LM_ID_BASE { Way::Deep } else { Way::Apart };
        // SAFETY: the caller's own arguments.
        unsafe { look(file, mode, caller, way) };
    }
    next::dlmopen().unwrap_or(absent as *const () as usize)
}

/// In place of a function that the C library lacks.
extern "C" fn absent() -> *mut c_void {
    core::ptr::null_mut()
}

/// The line.
static SAID: Once = Once::new();
/// The names of libraries of which it is said when the process first uses the device, by the way; 0 if there is none.
static UNSAID: [Word64; 2] = [Word64::new(0), Word64::new(0)];

/// Looks at a library that is about to be loaded.
///
/// # Safety
/// `file` is what the loader is called with: null or a string.
#[cold]
unsafe fn look(file: *const c_char, mode: c_int, caller: usize, way: Way) {
    let is_loading = !file.is_null() && mode & libc::RTLD_NOLOAD == 0;
    if !is_loading || SAID.is_over() || environment::device() == Device::Kernel {
        return;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(file) };
    let examine = || keeping_errno(|| without_cancellation(|| examine(name, caller, way)));
    let _ = std::panic::catch_unwind(AssertUnwindSafe(examine));
}

/// Returns none if there is nothing to say.
fn examine(name: &CStr, caller: usize, way: Way) -> Option<()> {
    let mut room = zeroes::<u8>(ROOM)?;
    let library = find(name, caller, &mut room)?;
    if !others::may_be_looked_at() || way == Way::Deep && is_loaded(&library) {
        return None;
    }
    let needs = Needs::of(&library, &mut room)?;
    if !needs.ioctl {
        return None;
    }
    match needs.device && would_miss_the_device() || actions::active() {
        true => say(name, way),
        false => remember(name, way),
    }
    Some(())
}

/// Returns whether an open of the device succeeds by this library only.
fn would_miss_the_device() -> bool {
    // SAFETY: a string that ends with a zero.
    let is_there = || unsafe { next::access(DEVICE.as_ptr(), libc::F_OK) } == 0;
    would_serve(AT_FDCWD, DEVICE.to_bytes()) && !is_there()
}

/// The process uses the device from now on.
#[cold]
pub(crate) fn device_is_used() {
    for way in [Way::Deep, Way::Apart] {
        let name = UNSAID[way as usize].load() as *const c_char;
        if !name.is_null() {
            // SAFETY: a string that is never freed.
            say(unsafe { CStr::from_ptr(name) }, way);
        }
    }
}

/// Without memory for the name nothing will be said.
fn remember(name: &CStr, way: Way) {
    let place = &UNSAID[way as usize];
    if place.load() == 0 {
        // SAFETY: a string that ends with a zero.
        let copy = unsafe { libc::strdup(name.as_ptr()) };
        if place.compare_exchange(0, copy as u64).is_err() {
            // SAFETY: made above.
            unsafe { libc::free(copy.cast()) };
        }
    }
}

fn say(name: &CStr, way: Way) {
    if !SAID.begin() {
        return;
    }
    let own = std::process::id() as libc::pid_t;
    let name = name.to_bytes();
    let end = &name[name.len().saturating_sub(NAME_MAX)..];
    let (how, instead) = match way {
        Way::Deep => ("with RTLD_DEEPBIND", "load it without the flag"),
        Way::Apart => ("into a namespace of its own (dlmopen)", "load it with dlopen"),
    };
    on_own_stack(|| {
        log::say(format_args!(
            "ntux: process {own} ({}) loads '{}' {how}, so ntux does not serve that library: if it opens /dev/ntsync it gets ENOENT, and \
             its ioctl of a descriptor of the device or of an object ENOTTY; {instead}, or use the device outside of it\n",
            Name::of(own),
            end.escape_ascii(),
        ));
    });
}

/// Bytes of a name that are said, its last ones.
const NAME_MAX: usize = 128;
const DEVICE: &CStr = c"/dev/ntsync";

/// Bytes that are read of a file at a time.
const ROOM: usize = 64 << 10;

/// So many zeroes, if there is memory for them.
fn zeroes<T: Clone + Default>(count: usize) -> Option<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).ok()?;
    room.resize(count, T::default());
    Some(room)
}

/// The file that will be loaded.
fn find(name: &CStr, caller: usize, room: &mut [u8]) -> Option<File> {
    let bytes = name.to_bytes();
    match bytes.contains(&b'/') {
        // The loader replaces words like $ORIGIN.
        true => (!bytes.contains(&b'$')).then(|| File::open(name)).flatten(),
        false => find_in_directories(bytes, caller, room),
    }
    .filter(File::is_regular)
}

/// `Dl_serinfo`, which as many of [`Directory`] follow as it says.
#[repr(C)]
#[derive(Clone, Copy)]
struct Directories {
    size: usize,
    count: u32,
}

/// `Dl_serpath`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Directory {
    name: *const c_char,
    flags: u32,
}

/// More than all directories take, in bytes.
const DIRECTORIES_MAX: usize = 1 << 20;

/// In the directories that the loader searches for the object with the code that called `dlopen`.
fn find_in_directories(name: &[u8], caller: usize, room: &mut [u8]) -> Option<File> {
    const LINK_MAP: c_int = 2;
    unsafe extern "C" {
        fn dladdr1(address: usize, info: *mut libc::Dl_info, object: *mut *mut c_void, flags: c_int) -> c_int;
        fn dlinfo(object: *mut c_void, request: c_int, answer: *mut c_void) -> c_int;
    }
    if name.is_empty() {
        return None;
    }
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let mut object = core::ptr::null_mut();
    // SAFETY: places for the answers.
    if unsafe { dladdr1(caller, info.as_mut_ptr(), &mut object, LINK_MAP) } == 0 || object.is_null() {
        return None;
    }
    // SAFETY: the loader's own value for an object that is loaded, code of which is about to go on; places for the answers.
    let ask = |request, answer: *mut c_void| unsafe { dlinfo(object, request, answer) == 0 };
    let mut all = Directories { size: 0, count: 0 };
    if !ask(libc::RTLD_DI_SERINFOSIZE, (&raw mut all).cast()) || all.size > DIRECTORIES_MAX {
        return None;
    }
    let mut answer = zeroes::<u64>(all.size.div_ceil(size_of::<u64>()))?;
    let place = answer.as_mut_ptr().cast::<Directories>();
    // SAFETY: as large as the loader asks for, which reads the size and the count there.
    unsafe { place.write(all) };
    if !ask(libc::RTLD_DI_SERINFO, place.cast()) {
        return None;
    }
    // SAFETY: the loader's answer: so many entries behind the head.
    let entries = unsafe { core::slice::from_raw_parts(place.add(1).cast::<Directory>(), all.count as usize) };
    entries.iter().find_map(|entry| {
        // SAFETY: the loader's string, within the answer.
        let directory = unsafe { CStr::from_ptr(entry.name) }.to_bytes();
        File::open(join(room, [directory, b"/", name, b""])?)
    })
}

/// Returns whether a file is loaded already: then the flag has no effect.
fn is_loaded(file: &File) -> bool {
    struct Sought {
        file: (libc::dev_t, libc::ino_t),
        is_found: bool,
    }
    unsafe extern "C" fn compare(info: *mut dl_phdr_info, _size: usize, sought: *mut c_void) -> c_int {
        // SAFETY: the loader describes a loaded object, and `is_loaded` hands its own value in.
        let (name, sought) = unsafe { ((*info).dlpi_name, &mut *sought.cast::<Sought>()) };
        // SAFETY: the loader's string, empty for the program itself.
        let is_named = !name.is_null() && unsafe { *name } != 0;
        let there = if is_named { status(AT_FDCWD, name) } else { None };
        sought.is_found = there.is_some_and(|there| (there.st_dev, there.st_ino) == sought.file);
        sought.is_found.into()
    }
    let Some(status) = file.status() else { return false };
    let mut sought = Sought { file: (status.st_dev, status.st_ino), is_found: false };
    // SAFETY: `compare` takes exactly this for its last argument.
    unsafe { libc::dl_iterate_phdr(Some(compare), (&raw mut sought).cast()) };
    sought.is_found
}

/// What a library needs, as far as its file tells.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Needs {
    /// A function with which requests can be made.
    ioctl: bool,
    /// The device, which it names.
    device: bool,
}

impl Needs {
    /// None if the file is no 64-bit object.
    fn of(library: &File, room: &mut [u8]) -> Option<Needs> {
        const SECTIONS_MAX: u16 = 256;
        const CODE_OR_DATA: u32 = 1;
        const STRINGS: u32 = 3;
        const IS_LOADED: u64 = 2;
        const IS_CODE: u64 = 4;
        let header: Elf64_Ehdr = library.read_at(0)?;
        if header.e_ident[..libc::SELFMAG] != *b"\x7fELF" || header.e_ident[libc::EI_CLASS] != libc::ELFCLASS64 {
            return None;
        }
        let (mut needs, mut budget) = (Needs::default(), READ_MAX);
        let sections = (0..header.e_shnum.min(SECTIONS_MAX)).map_while(|index| {
            let offset = u64::from(index) * u64::from(header.e_shentsize);
            library.read_at::<Elf64_Shdr>(header.e_shoff.saturating_add(offset))
        });
        for section in sections.filter(|section| section.sh_flags & IS_LOADED != 0) {
            let mut has = |words: &[&[u8]]| has(library, &section, words, &mut budget, room);
            match section.sh_type {
                STRINGS => needs.ioctl |= has(&[b"\0ioctl\0", b"\0syscall\0"]),
                CODE_OR_DATA if section.sh_flags & IS_CODE == 0 => needs.device |= has(&[DEVICE.to_bytes()]),
                _ => {}
            }
        }
        Some(needs)
    }
}

/// Bytes that are read of a library at most: some milliseconds.
const READ_MAX: u64 = 16 << 20;
/// Longer than all words that are searched for.
const WORD_MAX: usize = 16;

/// Returns whether a section has one of these words. Takes what is read off the budget.
fn has(library: &File, section: &Elf64_Shdr, words: &[&[u8]], budget: &mut u64, room: &mut [u8]) -> bool {
    let (mut offset, mut left, mut kept) = (section.sh_offset, section.sh_size.min(*budget), 0);
    *budget -= left;
    while left > 0 {
        let most = left.min((room.len() - kept) as u64) as usize;
        let length = library.read_part(offset, &mut room[kept..kept + most]).len();
        let end = kept + length;
        if length == 0 {
            return false;
        }
        if words.iter().any(|word| contains(&room[..end], word)) {
            return true;
        }
        // A word may lie across the border.
        kept = end.min(WORD_MAX);
        room.copy_within(end - kept..end, 0);
        (offset, left) = (offset.saturating_add(length as u64), left - length as u64);
    }
    false
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    // SAFETY: both are read only, as long as they are.
    !unsafe { libc::memmem(text.as_ptr().cast(), text.len(), word.as_ptr().cast(), word.len()) }.is_null()
}

#[cfg(test)]
#[path = "../../tests/unit/device/loading.rs"]
mod tests;
