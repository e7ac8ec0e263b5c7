// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user's settings: `NTUX_DEVICE`, `NTUX_SPIN`, `NTUX_LOG`, `NTUX_TRACE`. They are read once, by the constructor or on first use.
//! An invalid value is reported on standard error, and the default holds.

use core::ffi::CStr;
use ntux_platform::atomic::Word32;
use ntux_platform::environment::{DEVICE, LOG, SPIN, TRACE, value};

/// The server of `/dev/ntsync`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Device {
    /// The kernel if it has a usable driver, otherwise this library.
    Auto = 1,
    /// This library, always.
    User = 2,
    /// The kernel, always.
    Kernel = 3,
}

/// `NTUX_DEVICE`.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn device() -> Device {
    static CHOICE: Word32 = Word32::new(0);
    match CHOICE.load() {
        1 => Device::Auto,
        2 => Device::User,
        3 => Device::Kernel,
        _ => {
            let choice = value(DEVICE).map_or(Device::Auto, parse_device);
            CHOICE.store(choice as u32);
            choice
        }
    }
}

fn parse_device(value: &CStr) -> Device {
    match value.to_bytes() {
        b"" | b"auto" => Device::Auto,
        b"user" => Device::User,
        b"kernel" => Device::Kernel,
        _ => {
            complain(c"ntux: NTUX_DEVICE must be auto, user or kernel; taking auto\n");
            Device::Auto
        }
    }
}

/// `NTUX_SPIN`: the most times that a wait checks again before it sleeps; none if the user leaves it to the library.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn spin() -> Option<u32> {
    let value = value(SPIN)?;
    let spins = value.to_str().ok().and_then(|text| text.parse().ok());
    if spins.is_none() && !value.is_empty() {
        complain(c"ntux: NTUX_SPIN must be a whole number below 4294967296; ignored\n");
    }
    spins
}

/// How much the log says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub(crate) enum Detail {
    /// A line when a process ends.
    Process = 1,
    /// Also a line for each wait that slept, and for each operation that failed.
    Waits = 2,
    /// Also a line for every other operation.
    All = 3,
}

/// `NTUX_LOG`: how much is said, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Log {
    pub(crate) detail: Detail,
    /// `stderr`, or the path of a file to append to, in which `%p` is the process.
    pub(crate) path: &'static CStr,
}

/// `NTUX_LOG`.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn log() -> Option<Log> {
    value(LOG).map(parse_log).filter(|log| !log.path.is_empty())
}

fn parse_log(value: &'static CStr) -> Log {
    let bytes = value.to_bytes_with_nul();
    let (detail, path) = match (bytes.strip_prefix(b"waits:"), bytes.strip_prefix(b"all:")) {
        (Some(path), _) => (Detail::Waits, path),
        (_, Some(path)) => (Detail::All, path),
        _ => (Detail::Process, bytes),
    };
    Log { detail, path: CStr::from_bytes_with_nul(path).unwrap_or_default() }
}

/// The process that will read what threads report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tracer {
    /// Somebody who finds the arena.
    Searches,
    /// Somebody who has a socket at this path, to be given the arena.
    Receives(&'static CStr),
}

/// `NTUX_TRACE`.
pub(crate) fn tracer() -> Option<Tracer> {
    value(TRACE).and_then(parse_tracer)
}

fn parse_tracer(value: &'static CStr) -> Option<Tracer> {
    match value.to_bytes() {
        b"1" => Some(Tracer::Searches),
        [b'/', ..] => Some(Tracer::Receives(value)),
        _ => None,
    }
}

fn complain(message: &CStr) {
    // SAFETY: reads the message's bytes only.
    unsafe { libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.to_bytes().len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_a_level_and_a_path() {
        let log = |detail, path| Log { detail, path };
        assert_eq!(parse_log(c"/tmp/log"), log(Detail::Process, c"/tmp/log"));
        assert_eq!(parse_log(c"waits:stderr"), log(Detail::Waits, c"stderr"));
        assert_eq!(parse_log(c"all:/tmp/%p"), log(Detail::All, c"/tmp/%p"));
        assert_eq!(parse_log(c"every:thing"), log(Detail::Process, c"every:thing"));
    }

    #[test]
    fn a_tracer_searches_or_receives() {
        assert_eq!(parse_tracer(c"1"), Some(Tracer::Searches));
        assert_eq!(parse_tracer(c"/tmp/here"), Some(Tracer::Receives(c"/tmp/here")));
        assert_eq!((parse_tracer(c""), parse_tracer(c"0"), parse_tracer(c"here")), (None, None, None));
    }

    #[test]
    fn device_values() {
        assert_eq!(parse_device(c"user"), Device::User);
        assert_eq!(parse_device(c"kernel"), Device::Kernel);
        assert_eq!(parse_device(c"auto"), Device::Auto);
        assert_eq!(parse_device(c""), Device::Auto);
        assert_eq!(parse_device(c"User"), Device::Auto);
    }
}
