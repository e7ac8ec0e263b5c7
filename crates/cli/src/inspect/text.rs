// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report for people, in 80 columns where names and lists allow it.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::report::{Arena, Half, Item, Peer, Report, Thread};
use crate::arenas::find::Target;
use crate::arenas::handles::Win32Object;
use crate::arenas::scene::{Creator, Owners, Person, long, times};
use crate::arenas::shown::WindowsObject;
use crate::arenas::state::{State, Wait};
use crate::arenas::words::Word;
use crate::page::paragraph;
use crate::printable::printable;
use ntux_sync::Object;
use ntux_sync::inspect::{Life, Mode, Phase, WaitState};

const PAGE_WIDTH: usize = 80;
/// Where the second line of an object's or a thread's begins.
const INDENT: &str = "         ";

/// What is listed: everything, or what has to do with one process.
#[derive(Clone, Copy)]
pub struct Focus(Option<u32>);

impl Focus {
    /// Under Wine, a process shares its arena with all others of its prefix.
    pub fn on(target: &Target, all: bool) -> Focus {
        let process = match *target {
            Target::Process(pid) | Target::Thread(pid, _) => Some(pid),
            Target::Descriptor(..) | Target::File(_) => None,
        };
        Focus(process.filter(|_| !all))
    }

    fn shows(self, item: &Item) -> bool {
        let Some(pid) = self.0 else { return true };
        let is_it = |other: Option<u32>| other == Some(pid);
        item.descriptors.iter().any(|descriptor| descriptor.pid == pid)
            || item.waiting.iter().any(|place| is_it(place.pid))
            || item.owners.iter().any(|owner| is_it(owner.pid))
            || item.creator.as_ref().is_some_and(|creator| creator.pid == pid)
            || item.last_by.as_ref().is_some_and(|doer| is_it(doer.pid))
            || item.last_wake.as_ref().is_some_and(|wake| is_it(wake.to.pid))
    }

    /// A thread of the process, or one that waits for what is listed, in the order of the slots.
    fn shows_thread(self, thread: &Thread, listed: &[u32]) -> bool {
        let is_listed = |&object: &u64| listed.binary_search(&Object(object).index()).is_ok();
        let waits_for_listed = |wait: &Wait| wait.objects.iter().chain(&wait.alert).any(is_listed);
        self.0.is_none_or(|pid| thread.person.pid == Some(pid)) || thread.wait.as_ref().is_some_and(waits_for_listed)
    }

    /// Says how many are not listed.
    fn omission(self, left_out: usize, what: &str) -> Option<String> {
        let pid = self.0.filter(|_| left_out > 0)?;
        let s = if left_out == 1 { "" } else { "s" };
        Some(format!("{INDENT}{left_out} {what}{s} with which process {pid} has nothing to do: --all lists them"))
    }
}

/// Writes the report, as far as it has to do with what is looked for.
pub fn write(out: &mut dyn Write, report: &Report<'_>, focus: Focus) -> io::Result<()> {
    for (number, arena) in report.arenas.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_arena(out, arena, focus)?;
    }
    Ok(())
}

fn write_arena(out: &mut dyn Write, arena: &Arena<'_>, focus: Focus) -> io::Result<()> {
    let (objects, processes) = (arena.objects.count(), arena.processes.len());
    let waiting = arena.threads.iter().filter(|thread| thread.waits).count();
    line(out, &format!("Arena {}: objects {objects}, threads in waits {waiting}, processes {processes}", arena.inode))?;
    line(out, "\nProcesses")?;
    line(out, "     PID  name              state    device descriptors")?;
    for peer in &arena.processes {
        line(out, &peer_line(peer))?;
    }
    line(out, "\nObjects")?;
    line(out, "      #   kind       state                      waiting  descriptors (PID:FD)")?;
    let mut listed = Vec::new();
    for item in arena.objects.iter().filter(|item| focus.shows(item)) {
        write_item(out, &item, arena.written)?;
        listed.push(item.slot);
    }
    omit(out, focus.omission(objects - listed.len(), "object"))?;
    line(out, "\nThreads in waits")?;
    write_threads(out, arena, focus, &listed, |thread| thread.waits)?;
    if arena.threads.iter().any(is_half_way) {
        line(out, "\nThreads that do not wait, and are half-way")?;
        write_threads(out, arena, focus, &listed, is_half_way)?;
    }
    if arena.wait_all.phase != Phase::Idle {
        line(out, &format!("\nWait-all: {}, attempt {}", arena.wait_all.phase.word(), arena.wait_all.attempts))?;
    }
    Ok(())
}

fn write_threads(
    out: &mut dyn Write,
    arena: &Arena<'_>,
    focus: Focus,
    listed: &[u32],
    is_meant: impl Fn(&Thread) -> bool,
) -> io::Result<()> {
    line(out, " PID/TID            name              wait")?;
    let meant = arena.threads.iter().filter(|thread| is_meant(thread));
    let (shown, left_out): (Vec<&Thread>, Vec<_>) = meant.partition(|thread| focus.shows_thread(thread, listed));
    for thread in shown {
        write_thread(out, thread, arena.written)?;
    }
    omit(out, focus.omission(left_out.len(), "thread"))
}

fn omit(out: &mut dyn Write, omission: Option<String>) -> io::Result<()> {
    omission.map_or(Ok(()), |omission| line(out, &omission))
}

/// Returns true if a thread that does not wait has an operation under way, sleeps although its wait has ended, or was killed in it.
fn is_half_way(thread: &Thread) -> bool {
    !thread.waits
        && (thread.wait.is_some() || thread.request.is_some() || thread.wake_owed || thread.state == WaitState::Died)
}

fn peer_line(peer: &Peer) -> String {
    let name = peer.name.as_deref().unwrap_or("-");
    format!("{:8}  {:16}  {:7}  {}", peer.pid, printable(name), peer.state, list(peer.devices.iter()))
}

fn write_item(out: &mut dyn Write, item: &Item, written: Owners) -> io::Result<()> {
    let (kind, state) = (item.state.kind(), state_text(item.state, written));
    let life = if item.life == Life::Live { String::new() } else { format!(" ({})", item.life.word()) };
    let descriptors = list(item.descriptors.iter().map(|descriptor| format!("{}:{}", descriptor.pid, descriptor.fd)));
    let start = format!("{:>7}   {kind:9}  {:26} {:>7}  ", item.slot, state + &life, item.waiting.len());
    wrapped(out, &start, &" ".repeat(start.len()), &descriptors)?;
    let remark = remarks(item);
    if remark.is_empty() { Ok(()) } else { wrapped(out, INDENT, INDENT, &remark) }
}

fn state_text(state: State, written: Owners) -> String {
    match state {
        State::Mutex { owner: 1.., count, abandoned: false } => format!("{}, {}", state.text(written), times(count)),
        _ => state.text(written),
    }
}

fn remarks(item: &Item) -> String {
    let mut remarks = Vec::new();
    let own = item.win32.as_ref().and_then(|told| told.name.as_ref());
    if let Some(name) = item.name.as_ref().or(own) {
        remarks.push(format!("named {}", printable(name)));
    }
    remarks.extend(item.windows.as_ref().map(WindowsObject::text));
    remarks.extend(item.win32.as_ref().and_then(Win32Object::text));
    match &item.claim {
        None => {}
        Some(Half::Wait { waiter, pid, thread }) => {
            remarks.push(format!("on its way to {}", who(*waiter, *pid, *thread)))
        }
        Some(Half::WaitAll { .. }) => remarks.push("held by a wait-all that is being decided".to_owned()),
        Some(Half::Signal { .. }) => remarks.push("being signaled".to_owned()),
        Some(Half::Turn { .. }) => remarks.push("being armed, cancelled or fired".to_owned()),
        Some(Half::Count) => remarks.push("its recursion count is being written".to_owned()),
        Some(Half::Rubbish) => remarks.push("claimed by nobody that can be: rubbish".to_owned()),
    }
    if !item.owners.is_empty() {
        remarks.push(format!("owner is {}", list(item.owners.iter().map(Person::text))));
    }
    match (&item.state, &item.last_by) {
        (State::Mutex { owner: 1.., .. }, Some(taker)) if item.owners.is_empty() => {
            remarks.push(format!("acquired by {taker}"))
        }
        (State::Mutex { .. }, _) => {}
        (_, Some(signaler)) if !item.waiting.is_empty() => {
            remarks.push(format!("last signaled by {signaler}{}", item.last_signal.text()))
        }
        (_, None) if !item.waiting.is_empty() && item.is_new => {
            remarks.push("nobody has signaled it since it was created".to_owned())
        }
        _ => {}
    }
    if let Some(creator) = item.creator.as_ref().filter(|creator| is_news(creator, item)) {
        remarks.push(format!("created by {creator}"));
    }
    if item.changes_per_s >= 1.0 {
        remarks.push(format!("{:.0} changes a second", item.changes_per_s));
    }
    if let Some(wake) = &item.last_wake {
        let by = wake.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        remarks.push(format!("last woke {} {} ago{by}", wake.to.text(), long(wake.ago_s)));
    }
    if !item.stable {
        remarks.push("changes too fast to be read".to_owned());
    }
    if !item.queue_is_whole {
        remarks.push("a part of its queue is rubbish".to_owned());
    }
    remarks.join("; ")
}

/// Returns false if the descriptors tell who created an object, because only this process has any, or if Wine's server did, which creates all.
fn is_news(creator: &Creator, item: &Item) -> bool {
    let tells = item.descriptors.is_empty() || item.descriptors.iter().any(|descriptor| descriptor.pid != creator.pid);
    tells && !creator.is_wineserver()
}

fn write_thread(out: &mut dyn Write, thread: &Thread, written: Owners) -> io::Result<()> {
    let name = thread.person.name.as_deref().unwrap_or("-");
    let start = format!(" {:17}  {:16}  ", thread.person.to_string(), printable(name));
    let what = match (&thread.wait, &thread.request) {
        (Some(wait), _) => wait_text(wait, thread, written),
        (None, Some(request)) => format!("has this carried out: {request}"),
        (None, None) if thread.queue.is_some() || thread.wake_owed => given_text(thread),
        (None, None) => thread.state.word().to_owned(),
    };
    let what = thread.queue.map_or_else(String::new, |queue| detached_text(thread, queue)) + &what;
    wrapped(out, &start, &" ".repeat(start.len()), &what)
}

/// What a wait without a thread is known by.
fn detached_text(thread: &Thread, queue: u32) -> String {
    let process = thread.person.pid.map_or_else(String::new, |pid| format!("process {pid}, "));
    format!("{process}queue {queue}: ")
}

fn given_text(thread: &Thread) -> String {
    let what = thread.given.map_or("all its objects".to_owned(), |slot| format!("#{slot}"));
    match thread.queue {
        Some(_) => format!("was given {what}, which nobody has taken yet"),
        None => format!("was given {what}, and has not been woken yet"),
    }
}

fn wait_text(wait: &Wait, thread: &Thread, written: Owners) -> String {
    let objects = list(wait.objects.iter().map(|&object| format!("#{}", Object(object).index())));
    let mut text = match (wait.objects.len(), wait.mode) {
        (0, _) if wait.alert.is_none() => "no object".to_owned(),
        (0, _) => "nothing but its alert".to_owned(),
        (1, _) => objects,
        (_, Mode::Unknown) => format!("one or all of {objects}"),
        (_, mode) => format!("{} of {objects}", mode.word()),
    };
    if let Some(alert) = wait.alert {
        let _ = write!(text, ", alert #{}", Object(alert).index());
    }
    let _ = write!(text, "; as {}", written.text(wait.owner));
    if let Some(seconds) = thread.asleep_s {
        let _ = write!(text, "; for {}", long(seconds));
    }
    if let Some(seconds) = thread.ends_in_s {
        let _ = write!(text, ", {} more at most", long(seconds));
    }
    if !thread.asleep {
        text.push_str(if thread.state == WaitState::Waiting { "; awake" } else { "; joins its queues" });
    }
    text
}

fn who(waiter: u32, pid: Option<u32>, thread: Option<u32>) -> String {
    Person { waiter, pid, thread, name: None }.text()
}

fn list(items: impl Iterator<Item = impl ToString>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

fn line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", text.trim_end())
}

fn wrapped(out: &mut dyn Write, start: &str, further: &str, text: &str) -> io::Result<()> {
    out.write_all(paragraph(PAGE_WIDTH, start, further, text).as_bytes())
}
