// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the logs of programs tell of signals for which nobody slept. The arena does not record these, because that would cost time;
//! a program that runs with `NTUX_LOG=all:PATH` writes each of them down.
//!
//! A log is found through the environment of its process, and may hold anything: nothing of it is shown but numbers, and words that
//! are known here.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use ntux_platform::command::others::open_regular;
use ntux_platform::environment::LOG_IS_ALL;
use ntux_platform::interposition::proc;
use ntux_sync::trace::Operation;

/// How much of a log is read, from its end.
const LENGTH_MAX: u64 = 8 << 20;
/// What stands before the path of a log that has every operation.
const EVERY_OPERATION: &[u8] = LOG_IS_ALL;

/// An operation that a log records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub operation: Operation,
    pub at_ns: u64,
    pub pid: u32,
    pub thread: u32,
}

/// The last signal of each slot, and the reset behind it, if there was one.
#[derive(Default)]
pub struct Logs {
    last: HashMap<u32, (Entry, Option<Entry>)>,
}

impl Logs {
    /// Those of these processes, each of which has one arena.
    pub fn of(processes: &[u32]) -> Logs {
        let (mut logs, mut seen) = (Logs::default(), BTreeSet::new());
        for path in processes.iter().filter_map(|&pid| path(pid)) {
            let Some(log) = open_regular(&path).ok().flatten().map(File::from) else { continue };
            let Ok(metadata) = log.metadata() else { continue };
            if seen.insert((metadata.dev(), metadata.ino())) {
                end_of(log, metadata.len()).unwrap_or_default().lines().for_each(|line| logs.take(line));
            }
        }
        logs
    }

    pub fn last(&self, slot: u32) -> Option<&(Entry, Option<Entry>)> {
        self.last.get(&slot)
    }

    /// Learns from a line, which may be anything.
    pub fn take(&mut self, line: &str) {
        // What cannot be understood is about something else.
        let _ = self.understand(line);
    }

    fn understand(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let (seconds, micros) = words.next()?.split_once('.')?;
        let (seconds, micros): (u32, u32) =
            (seconds.parse().ok()?, micros.parse().ok().filter(|&part| part < 1_000_000)?);
        let at_ns = u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1_000;
        let (pid, thread) = words.next()?.split_once('/')?;
        let (pid, thread) = (pid.parse().ok()?, thread.parse().ok()?);
        let entry = |operation| Entry { operation, at_ns, pid, thread };
        let operation = words.next()?;
        if operation.starts_with("create-") {
            self.last.remove(&slot(line.rsplit(' ').next()?)?);
            return Some(());
        }
        let object = slot(words.next()?)?;
        // An operation that failed has another result.
        if (words.next()?, words.next()?) != ("->", "was") {
            return None;
        }
        match operation {
            "set" => drop(self.last.insert(object, (entry(Operation::Set), None))),
            "pulse" => drop(self.last.insert(object, (entry(Operation::Pulse), None))),
            "release" => drop(self.last.insert(object, (entry(Operation::Release), None))),
            "reset" => self.last.get_mut(&object)?.1 = Some(entry(Operation::Reset)),
            _ => {}
        }
        Some(())
    }
}

/// The slot in a word such as "7=event#5".
fn slot(word: &str) -> Option<u32> {
    word.split_once('#')?.1.parse().ok()
}

/// Where a process writes every operation, as it is seen from here.
fn path(pid: u32) -> Option<PathBuf> {
    let entry = proc::Entry::of(pid);
    let environment = fs::read(entry.path(format_args!("environ")).to_path()).ok()?;
    let named = environment.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(EVERY_OPERATION))?;
    let named = std::str::from_utf8(named).ok()?.replace("%p", &pid.to_string());
    let (base, below) = named.strip_prefix('/').map_or(("cwd", &*named), |below| ("root", below));
    Some(entry.path(format_args!("{base}")).to_path().join(below))
}

fn end_of(mut file: File, length: u64) -> Option<String> {
    file.seek(SeekFrom::Start(length.saturating_sub(LENGTH_MAX))).ok()?;
    let mut bytes = Vec::new();
    file.take(LENGTH_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(text: &str) -> Logs {
        let mut logs = Logs::default();
        text.lines().for_each(|line| logs.take(line));
        logs
    }

    #[test]
    fn the_last_signal_and_the_reset_behind_it_are_told() {
        let logs = logs(
            "1.000001 10/11 set 7=event#5 -> was 0\n\
             2.000000 10/12 pulse 7=event#5 -> was 0\n\
             2.500000 10/13 reset 7=event#5 -> was 1\n\
             3.000000 10/11 release 9=semaphore#6 -> was 2\n\
             4.000000 10/11 release 9=semaphore#6 -> EOVERFLOW\n\
             5.000000 10/11 set 8=event#9 -> was 0\n\
             6.000000 10/11 create-event manual 0 signaled 0 -> 8=event#9",
        );
        let (signal, reset) = logs.last(5).unwrap();
        assert_eq!(
            (signal.operation, signal.at_ns, signal.pid, signal.thread),
            (Operation::Pulse, 2_000_000_000, 10, 12)
        );
        assert_eq!(reset.as_ref().map(|reset| (reset.operation, reset.thread)), Some((Operation::Reset, 13)));
        assert_eq!(logs.last(6).map(|(signal, reset)| (signal.at_ns, reset.is_some())), Some((3_000_000_000, false)));
        assert!(logs.last(9).is_none(), "the slot has another object since");
    }

    #[test]
    fn whatever_else_stands_in_a_log_is_passed_over() {
        let text = "\n. / #\n99999999999999999999.0 1/1 set 1=event#1 -> was 0\n1.0 1/1 set 1=event#99999999999 -> was 0\n\
                    18446744073.9999999999999 1/1 set 1=event#1 -> was 0\n1.5 x/y set 1=event#1 -> was 0\nset\n1.0 1/1 set";
        assert!(logs(text).last.is_empty());
    }
}
