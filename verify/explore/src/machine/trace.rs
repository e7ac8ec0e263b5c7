// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened in one execution, for people.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display, Formatter};

use ntux_platform::explore::{Access, Touch};

use super::ThreadId;
use super::chunk::{around, content};

/// Lines, one for each event and access.
#[derive(Default)]
pub struct Trace {
    lines: Vec<String>,
    /// Names for chunks of memory, in the order in which they were met.
    names: BTreeMap<usize, usize>,
}

impl Trace {
    /// Adds a line.
    pub fn line(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    /// An event that the monitor sees.
    pub fn event(&mut self, event: impl Debug) {
        self.line(&format!("-- {event:?}"));
    }

    /// An access that happens now.
    pub fn access(&mut self, thread: Option<ThreadId>, access: Access) {
        let Some(thread) = thread else { return };
        let (kind, address) = match access {
            Access::Load(address) => ("load  ", address),
            Access::Half(address) => ("half  ", address),
            Access::Will | Access::Clock => return,
            Access::Update(address) => ("update", address),
            Access::Wake(address) => ("futex ", address),
        };
        let next = self.names.len();
        let name = *self.names.entry(around(address)).or_insert(next);
        let [low, high] = content(around(address));
        let place = place();
        self.line(&format!("T{thread} {kind} w{name}+{:<2} {low:016x} {high:016x}  {place}", address & 15));
    }

    /// The last access read an old value.
    pub fn read_old(&mut self, touch: Touch, value: u64) {
        let Some(line) = self.lines.last_mut() else { return };
        line.push_str(&format!("  (+{} reads the older {value:016x})", touch.address & 15));
    }

    /// The last access changed the chunk.
    pub fn changed(&mut self, old: [u64; 2], new: [u64; 2]) {
        let Some(line) = self.lines.last_mut() else { return };
        if old == new {
            line.push_str("  (unchanged)");
        } else {
            line.push_str(&format!("  -> {:016x} {:016x}", new[0], new[1]));
        }
    }
}

impl Display for Trace {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.lines.iter().enumerate().try_for_each(|(number, line)| writeln!(f, "{number:4} {line}"))
    }
}

/// The innermost functions of the subject, and the source line of the first.
fn place() -> String {
    let backtrace = Backtrace::force_capture().to_string();
    let mut functions = Vec::new();
    let mut source = None;
    let mut lines = backtrace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let function = line.split_once(": ").map_or(line, |(_, function)| function);
        let ours =
            ["ntux_sync::", "ntux_futex::", "ntux_win::", "subject::toy"].iter().any(|ours| function.contains(ours));
        if !ours || function.contains("dyn ") || function.contains("closure") {
            continue;
        }
        functions.push(short(function));
        let at = lines.peek().and_then(|next| next.strip_prefix("at "));
        source = source.or(at.and_then(|at| at.rsplit('/').next()).map(str::to_owned));
        if functions.len() == 4 {
            break;
        }
    }
    format!("{} ({})", functions.join(" < "), source.unwrap_or_default())
}

fn short(function: &str) -> &str {
    let function = function.trim_end_matches(['>', ')']);
    let end = function.find("::h").filter(|at| function.len() - at == 19).unwrap_or(function.len());
    function[..end].rsplit("::").next().unwrap_or(function)
}
