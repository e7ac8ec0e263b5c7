// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the libraries need from the C library, and what they put in front of it.
//!
//! A library that needs a symbol which the C library lacks is fatal: the loader ends the program, whichever it is.

#![cfg(target_os = "linux")]

#[path = "built/c_program.rs"]
mod c_program;
#[path = "built/library.rs"]
mod library;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::Endianness;
use object::elf;
use object::read::elf::{Dyn, FileHeader, Sym};

/// The newest symbols that shipped files may need.
const GLIBC: (u32, u32) = (2, 17);

/// What shipped files may be linked with: glibc's own libraries, and musl's.
const LIBRARIES: [&str; 7] = [
    "libc.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "libm.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libc.so",
];

/// What the device stands in front of at least, wherever it is built. There is no way to see that a name vanished but to
/// know it.
const DEVICE: &str = "\
    _Fork __clone __close __dup2 __fcntl __fxstat __fxstat64 __lxstat __lxstat64 __open __open64 __open64_2 __open_2 __openat64_2 \
    __openat_2 __sigaction __sysv_signal __xstat __xstat64 access bsd_signal clone close close_range closefrom dl_iterate_phdr dup dup2 dup3 \
    faccessat fclose fcntl fcntl64 fopen fopen64 freopen freopen64 fstat fstat64 fstatat fstatat64 glob ioctl lstat lstat64 \
    open open64 openat openat64 posix_spawn_file_actions_adddup2 pthread_cancel pidfd_getfd realpath recvmmsg recvmsg sendmmsg sendmsg \
    sigaction sigignore siginterrupt signal sigset ssignal stat stat64 statx syscall sysv_signal";

/// The same in front of glibc: what musl does not have in this way.
const DEVICE_OF_GLIBC: &str = "dlmopen dlopen";

/// What the device may import. The loader searches for each at every start of a program, some 1,000 instructions; what else it calls, it
/// finds at the first use (`late_functions`).
const IMPORTS: &str = "\
    __environ __errno_location __tls_get_addr bcmp dlsym environ memcmp memcpy memmove memset pthread_create strlen";

/// The same of what soft-dirty bits are made with.
const WATCH: &str = "\
    __open64_2 __open_2 __openat64_2 __openat_2 __pread64_chk __pread_chk __read_chk close dl_iterate_phdr dup dup2 dup3 fclose fcntl \
    fcntl64 fflush fopen fopen64 fread open open64 openat openat64 pread pread64 pwrite pwrite64 read write";

/// What the loader reads of a file.
#[derive(Default)]
struct Linked {
    /// Names that others find here.
    exports: BTreeSet<String>,
    /// Names that must be found elsewhere, with the version, if one is asked for.
    needs: Vec<(String, Option<String>)>,
    libraries: Vec<String>,
}

impl Linked {
    /// What a C library of this version cannot give.
    fn newer_than(&self, (major, minor): (u32, u32)) -> Vec<String> {
        let too_new = |version: &str| match version.strip_prefix("GLIBC_") {
            Some(number) => {
                let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(u32::MAX));
                (parts.next().unwrap_or(u32::MAX), parts.next().unwrap_or(0)) > (major, minor)
            }
            None => true,
        };
        let with_version = |(name, version): &(String, Option<String>)| {
            version.as_deref().filter(|version| too_new(version)).map(|version| format!("{name}@{version}"))
        };
        self.needs.iter().filter_map(with_version).collect()
    }

    /// Names without a version, which no glibc is known to have.
    fn of_no_version(&self) -> Vec<&str> {
        self.needs.iter().filter(|(_, version)| version.is_none()).map(|(name, _)| name.as_str()).collect()
    }

    /// What it imports besides these, and besides the unwinder, for which `make build` has a substitute.
    fn imports_besides(&self, names: &str) -> Vec<&str> {
        let needed = self.needs.iter().map(|(name, _)| name.as_str());
        needed
            .filter(|name| !name.starts_with("_Unwind_") && !names.split_whitespace().any(|one| one == *name))
            .collect()
    }

    /// What others find here that `c/stack.c` does not call, given its list.
    fn without_bound(&self, calls: &str) -> Vec<&str> {
        let bounded: BTreeSet<&str> = calls.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        self.exports.iter().map(String::as_str).filter(|name| !bounded.contains(name)).collect()
    }

    fn lacks(&self, names: &str) -> Vec<String> {
        names.split_whitespace().filter(|&name| !self.exports.contains(name)).map(str::to_owned).collect()
    }
}

/// Reads a 64-bit ELF file; none if it is something else, as a 32-bit one, which is made without any C library.
fn read(path: &Path) -> Option<Linked> {
    let data = &*fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if !matches!(object::FileKind::parse(data), Ok(object::FileKind::Elf64)) {
        return None;
    }
    let header = elf::FileHeader64::<Endianness>::parse(data).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, data).unwrap();
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).unwrap();
    let versions = sections.versions(endian, data).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut linked = Linked::default();
    for (index, symbol) in symbols.enumerate() {
        let name = text(symbol.name(endian, symbols.strings()).unwrap());
        match (symbol.is_undefined(endian), symbol.st_bind()) {
            _ if name.is_empty() => {}
            // A weak one may stay without a value.
            (true, elf::STB_WEAK) => {}
            (true, _) => {
                let version = versions.as_ref().and_then(|table| {
                    table.version(table.version_index(endian, index)).ok().flatten().map(|version| text(version.name()))
                });
                linked.needs.push((name, version));
            }
            (false, elf::STB_LOCAL) => {}
            (false, _) => drop(linked.exports.insert(name)),
        }
    }
    if let Some((entries, strings)) = sections.dynamic(endian, data).unwrap() {
        let strings = sections.strings(endian, data, strings).unwrap();
        for entry in entries.iter().filter(|entry| entry.tag32(endian) == Some(elf::DT_NEEDED)) {
            linked.libraries.push(text(entry.string(endian, strings).unwrap()));
        }
    }
    Some(linked)
}

/// All files below a directory that are no links.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

fn compile(arguments: &[&str], output: &Path, source: &str) {
    let text = output.with_extension("c");
    fs::write(&text, source).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-nostdlib", "-o"])
        .arg(output)
        .arg(&text)
        .args(arguments)
        .status();
    assert!(status.expect("this test needs the C compiler cc").success());
}

/// A fresh directory for one test.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn a_symbol_that_is_too_new_is_found() {
    let directory = scratch("too-new");
    let (libc, planted) = (directory.join("libc.so.6"), directory.join("planted.so"));
    let map = directory.join("map");
    fs::write(&map, "GLIBC_2.17 { old; };\nGLIBC_2.18 { newer; } GLIBC_2.17;\n").unwrap();
    let script = format!("-Wl,--version-script={}", map.display());
    compile(&[&script, "-Wl,-soname,libc.so.6"], &libc, "void old(void) {}\nvoid newer(void) {}\n");
    let source = "void old(void); void newer(void); void nowhere(void);\n\
                  void planted(void) { old(); newer(); nowhere(); }\n";
    compile(&[libc.to_str().unwrap()], &planted, source);
    let linked = read(&planted).unwrap();
    assert_eq!(linked.newer_than(GLIBC), ["newer@GLIBC_2.18"]);
    assert_eq!(linked.of_no_version(), ["nowhere"]);
    assert_eq!(linked.libraries, ["libc.so.6"]);
    assert_eq!(linked.lacks("planted vanished"), ["vanished"]);
    assert_eq!(linked.imports_besides("old newer"), ["nowhere"]);
    assert_eq!(linked.without_bound("old_call old 2048\n"), ["planted"]);
    assert_eq!(linked.without_bound("planted_call planted 2048\n"), [] as [&str; 0]);
}

#[test]
fn the_device_stands_in_front_of_all_that_it_should_and_nothing_else() {
    let linked = read(&library::plain()).unwrap();
    assert_eq!(linked.lacks(DEVICE), [] as [&str; 0]);
    let is_for_musl = linked.libraries.iter().any(|library| library == "libc.so");
    assert_eq!(linked.lacks(DEVICE_OF_GLIBC).is_empty(), !is_for_musl);
    assert_eq!(linked.of_no_version(), [] as [&str; 0], "the loader would end every program");
    assert_eq!(linked.imports_besides(IMPORTS), [] as [&str; 0], "each start would pay for them");
    let unwinder = linked.exports.iter().filter(|name| name.starts_with("_Unwind") || name.starts_with("rust_"));
    assert_eq!(unwinder.count(), 0, "its own unwinder must not serve others");
}

/// `stack.rs` makes each of the program's calls at the end of a stack.
#[test]
fn each_function_has_a_bound_of_stack() {
    let program = c_program::compile("c/stack.c", &["-Wl,-z,now"]);
    let list = Command::new(program).arg("list").output().expect("the program starts");
    let calls = String::from_utf8(list.stdout).expect("names");
    let linked = read(&library::plain()).unwrap();
    assert_eq!(
        linked.without_bound(&calls),
        [] as [&str; 0],
        "add a call to c/stack.c, and its bound to docs/reference/stack.md"
    );
}

/// `NTUX_SHIPPED` names a directory into which archives were unpacked.
#[test]
#[ignore = "make test-dist runs it on what make dist made"]
fn what_is_shipped_runs_with_an_old_c_library() {
    let shipped = std::env::var_os("NTUX_SHIPPED").expect("NTUX_SHIPPED names a directory with unpacked archives");
    let (mut elf_files, mut devices) = (0, 0);
    for path in files(Path::new(&shipped)) {
        let Some(linked) = read(&path) else { continue };
        let name = path.display();
        elf_files += 1;
        let for_musl = linked.libraries.iter().any(|library| library == "libc.so");
        assert_eq!(linked.newer_than(GLIBC), [] as [&str; 0], "{name}");
        if !for_musl {
            assert_eq!(linked.of_no_version(), [] as [&str; 0], "{name}: the loader would end every program");
        }
        for library in &linked.libraries {
            assert!(LIBRARIES.contains(&library.as_str()), "{name} needs {library}, which not every system has");
        }
        assert!(!linked.exports.iter().any(|name| name.starts_with("_Unwind")), "{name} would unwind for others");
        match path.file_name().unwrap().to_str() {
            Some("libntux_preload.so") => {
                assert_eq!(linked.lacks(DEVICE), [] as [&str; 0], "{name}");
                assert_eq!(linked.lacks(DEVICE_OF_GLIBC).is_empty(), !for_musl, "{name}");
            }
            Some("libntux_preload_watch.so") => assert_eq!(linked.lacks(WATCH), [] as [&str; 0], "{name}"),
            _ => continue,
        }
        devices += 1;
    }
    // The command, the C library, and two libraries for programs with each C library.
    assert!(devices >= 4 && elf_files >= devices + 2, "{elf_files} ELF files, {devices} to load into programs");
    println!("{elf_files} ELF files need glibc {}.{} at most, or musl", GLIBC.0, GLIBC.1);
}
