// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promises, and their results.

use super::batch::Batched;
use super::subject::{ASYNC, BARE, COW, MPROTECT, TEXTBOOK};
use super::sweep::Swept;
use super::writers::Written;
use crate::expectation::Expectation;

pub(crate) fn all(written: &[Written], swept: &[Swept], batched: &[Batched]) -> Vec<Expectation> {
    let mut all = Vec::new();
    for ours in swept.iter().filter(|swept| swept.subject == ASYNC) {
        let is_same = |other: &&Swept| (other.subject, other.pages, other.percent) == (BARE, ours.pages, ours.percent);
        let Some(bare) = swept.iter().find(is_same) else { continue };
        let what = format!("{} % of {} pages", ours.percent, ours.pages);
        let get = ours.get_us.median / bare.get_us.median;
        all.push(at_most(format!("get with reset beside the bare ioctl, {what}"), get, 1.15));
        let write = ours.write_ns.median / bare.write_ns.median;
        all.push(at_most(format!("first write beside the kernel's own, {what}"), write, 1.10));
    }
    for ours in written.iter().filter(|written| [COW, MPROTECT].contains(&written.subject)) {
        let other = written.iter().find(|other| other.subject == TEXTBOOK && other.row == ours.row);
        if let Some(textbook) = other.filter(|_| (ours.row.threads, ours.row.pages) == (8, 8192)) {
            let promise = format!(
                "{} faster than the textbook, 8 threads, 8192 pages, {} ms, {}",
                ours.subject,
                ours.row.delay_ms,
                if ours.row.one_call { "one call" } else { "two calls" }
            );
            all.push(at_least(promise, textbook.loop_ns / ours.loop_ns, 5.0));
        }
    }
    // The others ask the kernel nothing for regions that are clean, so that a thousand calls cost little.
    for batch in batched.iter().filter(|batch| batch.subject == ASYNC) {
        let promise = format!("one call for 1000 regions faster than 1000, {}, {}", batch.subject, batch.layout);
        all.push(at_least(promise, batch.one_by_one_us.median / batch.at_once_us.median, 5.0));
    }
    all
}

fn at_most(promise: String, found: f64, limit: f64) -> Expectation {
    Expectation { promise: format!("{promise}: at most {limit:.2} x"), found, is_kept: found <= limit }
}

fn at_least(promise: String, found: f64, limit: f64) -> Expectation {
    Expectation { promise: format!("{promise}: at least {limit:.0} x"), found, is_kept: found >= limit }
}
