// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine of the measurements.

use std::fs;
use std::io::{self, Write};

use ntux_platform::clock::realtime_ns;
use serde::{Deserialize, Serialize};

/// What a reader needs to compare two reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) kernel: String,
    /// The commit of the sources that the benchmark was built from.
    pub(crate) commit: String,
    pub(crate) seconds_since_1970: u64,
    /// Runnable threads when the run began, this one included; more than 1 means that others disturb.
    pub(crate) runnable_at_start: Option<u32>,
    pub(crate) command: String,
}

impl Machine {
    pub(crate) fn describe() -> Self {
        Self {
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: kernel(),
            commit: env!("NTUX_BENCH_COMMIT").to_owned(),
            seconds_since_1970: realtime_ns() / 1_000_000_000,
            runnable_at_start: runnable(),
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        }
    }

    /// What a report of `ntux bench` begins with.
    pub(crate) fn print(&self, bench: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "ntux bench {bench}, commit {}", self.commit)?;
        writeln!(out, "{}, {} processors, {}", self.processor, self.processors, self.kernel)?;
        if let Some(runnable @ 2..) = self.runnable_at_start {
            writeln!(out, "{runnable} threads were runnable at the start: others disturb these numbers")?;
        }
        Ok(())
    }
}

/// Its name and release.
fn kernel() -> String {
    // SAFETY: arrays of characters, for which zeros are values.
    let mut names: libc::utsname = unsafe { core::mem::zeroed() };
    // SAFETY: a place for the answer.
    unsafe { libc::uname(&mut names) };
    let text = |name: &[libc::c_char]| {
        name.iter().take_while(|&&byte| byte != 0).map(|&byte| char::from(byte as u8)).collect::<String>()
    };
    let simulated = if cfg!(ntux_simulated_macos) { " playing XNU: these times mean nothing" } else { "" };
    format!("{} {}{simulated}", text(&names.sysname), text(&names.release))
}

#[cfg(target_os = "macos")]
fn processor() -> Option<String> {
    let (mut text, mut length) = ([0u8; 128], 128);
    let place = text.as_mut_ptr().cast();
    // SAFETY: a terminated name; a place of the given length, which is written back.
    let told = unsafe {
        libc::sysctlbyname(c"machdep.cpu.brand_string".as_ptr(), place, &mut length, core::ptr::null_mut(), 0)
    };
    (told == 0).then(|| String::from_utf8_lossy(&text[..length]).trim_end_matches('\0').to_owned())
}

#[cfg(target_os = "linux")]
fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The fourth field of loadavg is runnable/all.
fn runnable() -> Option<u32> {
    line_of("/proc/loadavg")?.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

fn line_of(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
