// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wine, seen from outside: whether a program starts it, and which processes it will have.
//!
//! Old-style WoW64 has 32-bit processes beside 64-bit ones, and ntux cannot be loaded into those. A device for half of
//! the processes would be worse than none. So ntux makes such a Wine start 64-bit processes only, or gives it no
//! device, and it works as on a kernel that has none. The library makes the same decision in a wineserver that
//! something else started (`crates/preload/src/device/wine.rs`).

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ntux_platform::interposition::proc::Entry;
use ntux_platform::interposition::wine::{ONLY_WIDE, VARIABLE, narrow_libraries, server};

/// Where the 64-bit Unix libraries are, relative to the directory of `wine`.
const WIDE: [&str; 8] = [
    "../lib/wine/x86_64-unix/ntdll.so",
    "../lib64/wine/x86_64-unix/ntdll.so",
    "../lib/x86_64-linux-gnu/wine/x86_64-unix/ntdll.so",
    "x86_64-unix/ntdll.so",
    "../x86_64-linux-gnu/wine/x86_64-unix/ntdll.so",
    "ntdll.so",
    "../dlls/ntdll/ntdll.so",
    "../../dlls/ntdll/ntdll.so",
];

/// Programs of Wine whose names do not begin with "wine"; all start it.
const OTHER_NAMES: [&str; 4] = ["msiexec", "notepad", "regedit", "regsvr32"];

/// The first version that knows [`ONLY_WIDE`].
const KNOWS_ONLY_WIDE: (u32, u32) = (11, 0);

/// The variable that tells Valve's script the same.
const PROTON_VARIABLE: &str = "PROTON_USE_WOW64";

/// A Wine.
#[derive(Debug, PartialEq, Eq)]
pub struct Wine {
    /// Its library that contains its version.
    library: PathBuf,
    version: OnceCell<Option<String>>,
    /// Its libraries for 32-bit processes, if it has old-style WoW64.
    pub narrow: Option<PathBuf>,
    /// Valve's script that starts it, and whether that knows [`PROTON_VARIABLE`].
    pub proton: Option<bool>,
}

/// The kind of processes for which a prefix was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    Absent,
    Wide,
    /// 32-bit ones only, or unknown.
    Narrow,
}

/// How to make all processes of a Wine 64-bit.
#[derive(Debug, PartialEq, Eq)]
pub enum Measure {
    /// They are 64-bit already.
    None,
    /// This variable makes them so.
    Set(&'static str, &'static str),
    /// Nothing does, so no process gets the device, for this reason.
    NoDevice(String),
}

impl Wine {
    /// The Wine that this command starts: the program itself, or Valve's script among its arguments, or the Proton that
    /// `PROTONPATH` names to `umu-run`.
    pub fn started_by(program: &Path, arguments: &[OsString]) -> Option<Wine> {
        let words =
            std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str)).map(Path::new);
        let launcher = words.clone().any(|word| word.file_name() == Some(OsStr::new("umu-run")));
        let named =
            std::env::var_os("PROTONPATH").filter(|_| launcher).map(|directory| Path::new(&directory).join("proton"));
        let proton = words.map(Path::to_owned).chain(named).find_map(|script| Wine::of_proton(&script));
        proton.or_else(|| Wine::of_program(program))
    }

    fn of_program(program: &Path) -> Option<Wine> {
        let named_so = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.as_bytes().starts_with(b"wine") || OTHER_NAMES.iter().any(|other| name == *other)
        };
        let file = program.canonicalize().ok()?;
        if !named_so(program) && !named_so(&file) {
            return None;
        }
        Wine::in_directory(file.parent()?)
    }

    fn in_directory(directory: &Path) -> Option<Wine> {
        let wide = WIDE.iter().map(|place| directory.join(place)).find(|path| path.is_file())?;
        // The loader is among the libraries; everything else is found from one level above.
        let place = if directory.ends_with("x86_64-unix") { directory.parent()? } else { directory };
        let narrow = narrow_libraries(place.as_os_str().as_bytes()).map(|below| place.join(below));
        let narrow = narrow.map(|path| path.canonicalize().unwrap_or(path));
        Some(Wine { library: wide, version: OnceCell::new(), narrow, proton: None })
    }

    fn of_proton(script: &Path) -> Option<Wine> {
        if script.file_name()? != "proton" || !script.is_file() {
            return None;
        }
        let directory = script.canonicalize().ok()?.parent()?.to_owned();
        let wine = ["files/bin", "dist/bin"].iter().find_map(|bin| Wine::in_directory(&directory.join(bin)))?;
        let knows = std::fs::read(script).is_ok_and(|text| contains(&text, PROTON_VARIABLE.as_bytes()));
        Some(Wine { proton: Some(knows), ..wine })
    }

    /// Returns what to do so that ntux can serve every process of this Wine, or none gets the device. `set` reads the
    /// environment; a value that the user has set is kept.
    pub fn measure(&self, prefix: Prefix, set: impl Fn(&str) -> Option<OsString>) -> Measure {
        let variable = VARIABLE.to_str().expect("plain letters");
        let Some(narrow) = &self.narrow else { return Measure::None };
        let no_device = |why: &str| {
            let narrow = narrow.display();
            Measure::NoDevice(format!("this Wine starts 32-bit processes ({narrow}), which ntux cannot serve; {why}"))
        };
        match self.proton {
            Some(_) if set(PROTON_VARIABLE).is_some_and(|value| !matches!(value.as_bytes(), b"" | b"0")) => {
                Measure::None
            }
            Some(true) if set(PROTON_VARIABLE).is_none() => Measure::Set(PROTON_VARIABLE, "1"),
            Some(true) => no_device("PROTON_USE_WOW64 is off"),
            Some(false) => no_device("this Proton does not know PROTON_USE_WOW64"),
            None => match set(variable) {
                Some(arch) if arch == ONLY_WIDE => Measure::None,
                Some(arch) => no_device(&format!("WINEARCH is {}, and not {ONLY_WIDE}", arch.display())),
                None if self.release().is_none_or(|release| release < KNOWS_ONLY_WIDE) => {
                    no_device(&format!("it is older than Wine 11, which knows WINEARCH={ONLY_WIDE}"))
                }
                None if prefix == Prefix::Narrow => no_device("the prefix is a 32-bit one"),
                None => Measure::Set("WINEARCH", ONLY_WIDE),
            },
        }
    }

    /// Its own version string, such as `wine-11.0`. The first call reads a library of some megabytes, which takes as long as a
    /// third of a program's start.
    pub fn version(&self) -> Option<&str> {
        self.version.get_or_init(|| version(&self.library)).as_deref()
    }

    fn release(&self) -> Option<(u32, u32)> {
        let (major, rest) = self.version()?.strip_prefix("wine-")?.split_once('.')?;
        let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// The version string in a Wine's library.
fn version(library: &Path) -> Option<String> {
    let bytes = std::fs::read(library).ok()?;
    let number = behind(&bytes, b"\0wine-")?.split(|&byte| byte == 0).next()?;
    Some(format!("wine-{}", std::str::from_utf8(number).ok()?))
}

/// What follows the name before a number, in a file of Wine's.
pub fn behind<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut places = bytes.windows(name.len() + 1);
    let at = places.position(|part| part.starts_with(name) && part[name.len()].is_ascii_digit())?;
    Some(&bytes[at + name.len()..])
}

pub fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

impl Prefix {
    /// The prefix that Wine would use.
    pub fn current() -> Prefix {
        Prefix::at(&directory().unwrap_or_default())
    }

    fn at(directory: &Path) -> Prefix {
        let Ok(file) = File::open(directory.join("system.reg")) else { return Prefix::Absent };
        // Wine writes the kind into the lines before the first key. The rest can be megabytes.
        let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
        let mut head = lines.take_while(|line| !line.starts_with(b"["));
        if head.any(|line| line.trim_ascii() == b"#arch=win64") { Prefix::Wide } else { Prefix::Narrow }
    }
}

/// The directory of the prefix that Wine would use.
pub fn directory() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| value != OsStr::new(""));
    variable("WINEPREFIX").map(PathBuf::from).or_else(|| Some(PathBuf::from(variable("HOME")?).join(".wine")))
}

/// Returns the wineserver of the prefix that Wine would use, if it runs without ntux: then no program of the prefix
/// gets the device.
pub fn plain_server() -> Option<i32> {
    let server = server(&directory()?)?;
    let maps = std::fs::read(Entry::of(server as u32).path(format_args!("maps")).to_path()).ok()?;
    (!contains(&maps, b"/libntux_preload.so")).then_some(server)
}

#[cfg(test)]
#[path = "../tests/unit/wine.rs"]
mod tests;
