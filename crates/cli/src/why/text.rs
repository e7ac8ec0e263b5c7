// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ntux why` says to people, in 80 columns.

use ntux_sync::inspect::why::{Condition, Obstacle};

use super::chain::{Chain, Logged, Step};
use super::names::{Party, Thing, list};
use super::stack::Stack;
use super::verdict::{ArenaVerdict, Verdict};
use crate::arenas::scene::{Owners, long};
use crate::arenas::words::Word;
use crate::page::paragraph;

const PAGE_WIDTH: usize = 80;
/// Processes that are listed.
const LISTED: usize = 12;
/// Threads that wait for no object: a program may have a hundred that idle.
const ADDRESS_WAITS: usize = 20;

/// The whole page.
pub fn page(verdict: &Verdict) -> String {
    let mut page = String::new();
    for (number, one) in verdict.arenas.iter().enumerate() {
        if number > 0 {
            page.push('\n');
        }
        arena(&mut page, one);
    }
    if verdict.arenas.is_empty() {
        line(&mut page, "No process that you may inspect uses objects of ntux.");
    }
    if let Some((pid, thread)) = verdict.stranger {
        line(&mut page, &format!("\n{pid}/{thread} waits for no object of ntux."));
    }
    page
}

fn arena(page: &mut String, arena: &ArenaVerdict) {
    let processes: Vec<String> = arena.named.iter().take(LISTED).cloned().collect();
    let more = match arena.processes.len() - processes.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let of = if processes.is_empty() {
        String::new()
    } else {
        format!(" of {}{more}", processes.join(if arena.is_of_wine { ", " } else { " " }))
    };
    wrapped(page, "", "    ", &format!("Arena {}{of}: {}", arena.inode, threads_wait(arena.waiting)));
    for trouble in &arena.findings {
        page.push('\n');
        for (number, sentence) in trouble.text.iter().enumerate() {
            let start = if number == 0 { "" } else { "  " };
            wrapped(page, start, "    ", sentence);
        }
    }
    if arena.findings.is_empty() {
        line(page, "Nothing is wrong.");
    }
    for chain in &arena.chains {
        page.push('\n');
        render_chain(page, chain, 0);
    }
    for wait in arena.address_waits.iter().take(ADDRESS_WAITS) {
        page.push('\n');
        wrapped(page, "", "    ", &format!("{} waits for {}", wait.who(), wait.subject.text(wait.pid)));
    }
    if let more @ 1.. = arena.address_waits.len().saturating_sub(ADDRESS_WAITS) {
        line(page, &format!("\n... and {more} more that wait for no object; name one of them: ntux why PID/TID"));
    }
    arena_stacks(page, &arena.stacks);
    let is_unlogged = |step: &Step| step.obstacle == Obstacle::NotSignaled && step.logged.is_empty() && !step.is_new;
    if arena.chains.iter().flat_map(|chain| &chain.waits_for).any(is_unlogged) {
        page.push('\n');
        let hint = "When exactly an object was signaled for which no thread slept, and who reset it, is recorded only \
                    by a program that runs with a log of every operation: ntux run --log all:FILE.";
        wrapped(page, "", "", hint);
    }
    if arena.more > 0 {
        line(page, &format!("\n... and {} more; name one of them: ntux why PID/TID", arena.more));
    }
}

fn arena_stacks(page: &mut String, stacks: &[Stack]) {
    for stack in stacks {
        line(page, &format!("\nStack of {}:", stack.who));
        stack.frames.iter().for_each(|frame| line(page, &format!("  {}", frame.text())));
        if let Some(why) = stack.missing {
            line(page, &format!("  unknown: {why}"));
        }
    }
}

fn threads_wait(count: usize) -> String {
    match count {
        0 => "nobody waits".to_owned(),
        1 => "1 thread waits".to_owned(),
        _ => format!("{count} threads wait"),
    }
}

/// What a thread waits for, and for whom, in lines.
pub fn chain(chain: &Chain) -> String {
    let mut page = String::new();
    render_chain(&mut page, chain, 0);
    page
}

fn render_chain(page: &mut String, chain: &Chain, depth: usize) {
    let indent = "  ".repeat(depth);
    let further = format!("{indent}    ");
    let who = chain.party.text_with_owner();
    if chain.repeated {
        return wrapped(page, &indent, &further, &format!("{who}: see above"));
    }
    let waits = chain.asleep_s.map_or("waits".to_owned(), |seconds| format!("has waited {}", long(seconds)));
    let condition = match (chain.condition, chain.mode, chain.waits_for.len()) {
        (Condition::Waiting, Some(_), 0) => format!("{waits} for no object"),
        (Condition::Waiting, Some(_), 1) => format!("{waits} for"),
        (Condition::Waiting, Some(mode), count) => format!("{waits} for {} of {count}", mode.word()),
        (Condition::Stopped, Some(_), _) => format!("is stopped, and {waits} for"),
        (Condition::Ended, ..) => "has ended".to_owned(),
        (Condition::Elsewhere, ..) if chain.address_wait.is_some() => address_text(chain),
        (condition, ..) => format!("is {}", condition.word()),
    };
    let end = chain.ends_in_s.map_or(String::new(), |seconds| format!(", {} more at most", long(seconds)));
    let colon = if chain.waits_for.is_empty() { "" } else { ":" };
    wrapped(page, &indent, &further, &format!("{who} {condition}{end}{colon}"));
    for step in &chain.waits_for {
        render_step(page, step, &chain.party, depth + 1);
    }
    if let Some(alert) = &chain.alert {
        let indent = format!("{indent}  ");
        let what = match chain.party.owners {
            Owners::Numbers => "or until the alert",
            Owners::WindowsThreads => "or until an APC is queued to it, by the alert",
        };
        wrapped(page, &indent, &further, &format!("{what}: {}", alert.text()));
    }
}

/// What a thread waits for that is no object.
fn address_text(chain: &Chain) -> String {
    let subject = chain.address_wait.as_ref().zip(chain.party.pid).map(|(subject, pid)| subject.text(pid));
    format!("waits for {}", subject.unwrap_or_default())
}

fn render_step(page: &mut String, step: &Step, waiter: &Party, depth: usize) {
    let indent = "  ".repeat(depth);
    let state = match (step.owner, step.owners.is_empty(), step.cut) {
        (Some(owner), _, true) => format!("{}, and so on", waiter.owners.text(owner)),
        (Some(owner), true, _) => match (&step.last_by, waiter.owners.text(owner)) {
            (Some(taker), owner) => format!("owned by {taker} ({owner}; it has never had to wait)"),
            (None, owner) => format!("{owner}: no thread that is there has ever waited in this name"),
        },
        (Some(_), false, _) => "owned by".to_owned(),
        (None, ..) => {
            let (signal, logged) = (last_signal_text(step), logged_text(step));
            format!("{}; {signal}{logged}{}", step.obstacle.word(), creator_text(&step.thing, waiter))
        }
    };
    wrapped(page, &indent, &format!("{indent}    "), &format!("{}: {state}", step.thing.text()));
    for owner in &step.owners {
        render_chain(page, owner, depth + 1);
    }
}

/// Names the creator of an object, if the waiter belongs to another process; if Wine's server made it, as it makes all, those who use it.
fn creator_text(thing: &Thing, waiter: &Party) -> String {
    if let Some(users) = &thing.users {
        return if users.is_empty() { String::new() } else { format!("; used by {}", list(users, String::clone)) };
    }
    let other = thing.creator.as_ref().filter(|creator| Some(creator.pid) != waiter.pid);
    other.map_or(String::new(), |creator| format!("; created by {creator}"))
}

fn last_signal_text(step: &Step) -> String {
    let wake = step.last_wake.as_ref().map(|wake| {
        let by = wake.by.as_ref().map_or(String::new(), |by| format!(", by {by}"));
        format!("it last woke somebody {} ago{by}", long(wake.ago_s))
    });
    let when = step.last_signal.text();
    let since = match step.last_signal.during_wait {
        Some(false) => "; nobody has signaled it since this wait began",
        Some(true) => "; somebody has signaled it since this wait began",
        None => "",
    };
    match (&step.last_by, wake) {
        (Some(signaler), None) => format!("last signaled by {signaler}{when}"),
        (Some(signaler), Some(wake)) => format!("last signaled by {signaler}{when}; {wake}"),
        (None, Some(wake)) => format!("{wake}{since}"),
        (None, None) if step.is_new => "nobody has signaled it since it was created".to_owned(),
        // A thread that it woke may have been woken by another object since.
        (None, None) => format!("who last signaled it, if anybody, is not known{since}"),
    }
}

fn logged_text(step: &Step) -> String {
    let one = |logged: &Logged| format!("{} {} ago by {}", logged.operation, long(logged.ago_s), logged.by);
    if step.logged.is_empty() { String::new() } else { format!("; says the log: {}", list(&step.logged, one)) }
}

fn line(page: &mut String, text: &str) {
    page.push_str(text.trim_end());
    page.push('\n');
}

fn wrapped(page: &mut String, start: &str, further: &str, text: &str) {
    let width = PAGE_WIDTH.max(further.len() + PAGE_WIDTH / 2);
    page.push_str(&paragraph(width, start, further, text));
}
