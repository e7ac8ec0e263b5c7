// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux report`: what a bug report needs, in one archive, without personal paths.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::arenas::proc::is_there;
use crate::output::Output;
use crate::printable::{printable, printable_lines};
use crate::{NTUX_FAILED, say};

/// The most bytes of a log that are packed, from its end.
const LOG_MAX: u64 = 8 << 20;

/// Pack what a bug report needs into one archive: what this machine can do, versions, the arenas of a program, and a log.
///
/// The archive holds the output of `ntux doctor` and `ntux ps`; for each PID, the output of `ntux inspect` and `ntux
/// why`; the versions of ntux, the kernel and the C library; and the last 8 MiB of each --log. Home directories, the
/// user's name and the machine's name are replaced everywhere. Names of programs and threads stay. Read it before you
/// send it: it is a .tar.gz of text files.
#[derive(Args)]
pub struct Arguments {
    /// Programs to inspect.
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Vec<u32>,
    /// A log that NTUX_LOG wrote; may be repeated.
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// Where to write the archive.
    #[arg(long, short, value_name = "FILE", default_value = "ntux-report.tar.gz")]
    output: PathBuf,
}

/// Packs the archive.
pub fn report(arguments: &Arguments) -> ExitCode {
    match pack(arguments) {
        Ok(()) => say::page(&format!("{}\n", arguments.output.display()), ExitCode::SUCCESS),
        Err(problem) => {
            say::complain(format_args!("ntux report: {problem}"));
            ExitCode::from(NTUX_FAILED)
        }
    }
}

fn pack(arguments: &Arguments) -> Result<(), String> {
    let unwritable = |error: io::Error| format!("{error}; -o names another file");
    let mut logs = Vec::new();
    for (number, path) in arguments.log.iter().enumerate() {
        let text = end_of(path).map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
        logs.push((format!("log-{}.txt", number + 1), text));
    }
    if let Some(pid) = arguments.processes.iter().find(|pid| !is_there(&format!("/proc/{pid}"))) {
        return Err(format!("there is no process {pid}"));
    }
    let scrubber = Scrubber::of_this_machine();
    let output = Output::create(&arguments.output).map_err(unwritable)?;
    let mut archive = tar::Builder::new(GzEncoder::new(output, Compression::default()));
    let own = [("versions.txt".to_owned(), versions())].into_iter().chain(said(&arguments.processes)).chain(logs);
    for (name, text) in own {
        add(&mut archive, &name, scrubber.scrub(&text).as_bytes()).map_err(unwritable)?;
    }
    archive.into_inner().and_then(GzEncoder::finish).and_then(Output::finish).map_err(unwritable)
}

fn add(archive: &mut tar::Builder<impl io::Write>, name: &str, text: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, Path::new("ntux-report").join(name), text)
}

fn end_of(path: &Path) -> io::Result<String> {
    // Opening anything else can wait.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_MAX)))?;
    let mut bytes = Vec::new();
    file.take(LOG_MAX).read_to_end(&mut bytes)?;
    Ok(printable_lines(&String::from_utf8_lossy(&bytes)))
}

/// What the other subcommands say.
fn said(processes: &[u32]) -> Vec<(String, String)> {
    let mut calls: Vec<(String, Vec<String>)> =
        vec![("doctor.txt".to_owned(), words(&["doctor"])), ("ps.txt".to_owned(), words(&["ps"]))];
    for pid in processes {
        let pid = pid.to_string();
        calls.push((format!("inspect-{pid}.json"), words(&["inspect", "--json", &pid])));
        calls.push((format!("why-{pid}.txt"), words(&["why", &pid])));
    }
    calls.into_iter().map(|(name, arguments)| (name, answer(&arguments))).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Both outputs of `ntux` with these arguments, and how it ended if that was no success.
fn answer(arguments: &[String]) -> String {
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ntux"));
    match Command::new(own).args(arguments).output() {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                text.push_str(&format!("({})\n", output.status));
            }
            text
        }
        Err(error) => format!("ntux {}: {error}\n", arguments.join(" ")),
    }
}

fn versions() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_else(|error| format!("{path}: {error}"));
    let variables: Vec<_> = std::env::vars_os().filter(|(name, _)| is_ours(name)).collect();
    let line =
        |(name, value): &(OsString, OsString)| printable(&format!("{}={}", name.display(), value.display())) + "\n";
    let variables = variables.iter().map(line);
    format!(
        "ntux {}\n{}{}\n{}",
        env!("CARGO_PKG_VERSION"),
        read("/proc/version"),
        read("/etc/os-release"),
        variables.collect::<String>()
    )
}

fn is_ours(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("NTUX_") || name.starts_with("WINE") || name == "LD_PRELOAD"
}

/// Takes out what tells whose machine this is.
struct Scrubber {
    /// What is replaced, by what; the longest first.
    pairs: Vec<(String, &'static str)>,
}

impl Scrubber {
    fn of_this_machine() -> Scrubber {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Scrubber::new(&variable("HOME"), &variable("USER"), host.trim())
    }

    fn new(home: &str, user: &str, host: &str) -> Scrubber {
        let mut pairs = vec![(home.to_owned(), "~"), (user.to_owned(), "USER"), (host.to_owned(), "HOST")];
        // Short words stand for much else; "root" and "localhost" tell nothing.
        pairs.retain(|(word, _)| word.len() > 3 && !["root", "localhost", "/root"].contains(&word.as_str()));
        Scrubber { pairs }
    }

    fn scrub(&self, text: &str) -> String {
        let text =
            self.pairs.iter().fold(text.to_owned(), |text, (word, instead)| text.replace(word.as_str(), instead));
        without_homes(&text)
    }
}

/// Replaces the names behind "/home/" and "/Users/", whosever they are.
fn without_homes(text: &str) -> String {
    ["/home/", "/Users/"].into_iter().fold(text.to_owned(), |text, start| {
        let mut pieces = text.split(start);
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |scrubbed, piece| {
            let name = piece.find(|letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter));
            format!("{scrubbed}{start}USER{}", &piece[name.unwrap_or(piece.len())..])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_personal_is_left() {
        let scrubber = Scrubber::new("/data/home/marie", "marie", "maries-laptop");
        let text = "LD_PRELOAD=/data/home/marie/x.so by marie on maries-laptop, /home/pierre/.wine and /home/jean-luc";
        let scrubbed = scrubber.scrub(text);
        assert_eq!(scrubbed, "LD_PRELOAD=~/x.so by USER on USERs-laptop, /home/USER/.wine and /home/USER");
    }

    #[test]
    fn short_words_and_root_stay() {
        let scrubber = Scrubber::new("/root", "root", "pc");
        assert_eq!(scrubber.scrub("as root in /root on pc"), "as root in /root on pc");
    }
}
