// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers: armed, moved and cancelled while threads wait, fired by whoever looks; and deaths in the middle of all that.

use super::{poll, timed};
use crate::program::{
    Program, all, any, arm, armed, auto, cancel, close, manual_armed, manual_timer, pass, pulse, read, set, timer,
};

/// When the timers of these programs are due, and how much later they are due again. (Periods are whole microseconds.)
const SOON: u64 = 10_000;
const PERIOD: u64 = 10_000;

pub(super) fn timers() -> Vec<Program> {
    let once = || armed(SOON, 0);
    let again = || armed(SOON, PERIOD);
    let (no, yes) = (auto(false), auto(true));
    let query = || read(0, &timer());
    vec![
        Program::new("due-one", &[once()], &[&[any(&[0])], &[pass(SOON)]]),
        Program::new("due-due-2w", &[once()], &[&[any(&[0])], &[timed(&[0])], &[pass(SOON)]]),
        Program::new("due-poll", &[again()], &[&[poll(&[0]), poll(&[0])], &[pass(SOON), pass(PERIOD + 1)]]),
        Program::new("due-poll-wait", &[again()], &[&[any(&[0])], &[poll(&[0])], &[pass(SOON), pass(PERIOD)]]),
        Program::new("due-period", &[again()], &[&[any(&[0]), any(&[0])], &[pass(SOON), pass(PERIOD)]]),
        Program::new("due-missed", &[again()], &[&[any(&[0]), timed(&[0])], &[pass(SOON + 3 * PERIOD)]]),
        Program::new("due-arm", &[timer()], &[&[any(&[0])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("due-arm-2w", &[timer()], &[&[any(&[0])], &[timed(&[0])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("due-arm-past", &[timer()], &[&[any(&[0])], &[pass(SOON), arm(0, 1_000, 0)]]),
        Program::new("due-arm-two", &[timer()], &[&[any(&[0])], &[arm(0, SOON, 0)], &[arm(0, 5_000, 0), pass(SOON)]]),
        Program::new("due-sooner", &[armed(2 * SOON, 0)], &[&[any(&[0])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("due-later", &[once()], &[&[timed(&[0])], &[arm(0, 2 * SOON, 0), pass(SOON), pass(SOON)]]),
        Program::new("due-arm-due", &[once()], &[&[timed(&[0])], &[arm(0, 3 * SOON, 0)], &[pass(SOON)]]),
        Program::new("due-cancel", &[once()], &[&[timed(&[0])], &[cancel(0), pass(SOON)]]),
        Program::new("due-cancel-due", &[once()], &[&[timed(&[0])], &[cancel(0)], &[pass(SOON)]]),
        Program::new("due-cancel-arm", &[once()], &[&[any(&[0])], &[cancel(0), arm(0, SOON, 0)], &[pass(SOON)]]),
        Program::new("due-read", &[again()], &[&[query(), query()], &[pass(SOON), poll(&[0])]]),
        Program::new("due-manual", &[manual_armed(SOON, 0)], &[&[any(&[0])], &[any(&[0])], &[pass(SOON)]]),
        Program::new(
            "due-manual-arm",
            &[manual_timer()],
            &[&[any(&[0])], &[any(&[0])], &[arm(0, 1_000, 0), pass(SOON)]],
        ),
        Program::new(
            "due-manual-again",
            &[manual_armed(SOON, 0)],
            &[&[any(&[0])], &[pass(SOON)], &[arm(0, 2 * SOON, 0), pass(SOON)]],
        ),
        Program::new("due-any", &[once(), no.clone()], &[&[any(&[0, 1])], &[pass(SOON)], &[set(1)]]),
        Program::new("due-any-2nd", &[no.clone(), once()], &[&[any(&[0, 1])], &[pass(SOON)], &[pulse(0)]]),
        Program::new(
            "due-two",
            &[once(), armed(2 * SOON, 0)],
            &[&[any(&[0, 1]), any(&[0, 1])], &[pass(SOON), pass(SOON)]],
        ),
        Program::new("due-order", &[once(), no.clone()], &[&[any(&[0])], &[any(&[0, 1])], &[pass(SOON)], &[set(1)]]),
        Program::new(
            "due-place",
            &[once(), no.clone()],
            &[&[any(&[0])], &[any(&[0, 1]), timed(&[1])], &[any(&[1])], &[pass(SOON), set(1)]],
        ),
        Program::new("due-all", &[once(), no.clone()], &[&[all(&[0, 1])], &[pass(SOON)], &[set(1)]]),
        Program::new("due-all-any", &[once(), yes.clone()], &[&[all(&[0, 1])], &[timed(&[0])], &[pass(SOON)]]),
        Program::new("due-all-two", &[once(), armed(SOON, 0)], &[&[all(&[0, 1])], &[timed(&[1])], &[pass(SOON)]]),
        Program::new("due-all-arm", &[timer(), yes], &[&[all(&[0, 1])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("due-alert", &[once(), no.clone()], &[&[any(&[1]).alert(0)], &[pass(SOON)], &[set(1)]]),
        Program::new("due-interrupt", &[once(), no], &[&[any(&[0, 1]).interruptible()], &[timed(&[0])], &[pass(SOON)]]),
        Program::new("due-close", &[once()], &[&[timed(&[0])], &[close(0)], &[pass(SOON)]]),
    ]
}

/// Threads die that arm, wait for or fire a timer.
pub(super) fn deaths() -> Vec<Program> {
    let once = || armed(SOON, 0);
    let no = auto(false);
    vec![
        Program::new("due-d-arm", &[timer()], &[&[arm(0, SOON, 0)], &[timed(&[0])], &[pass(SOON), read(0, &timer())]])
            .mortal(0),
        Program::new("due-d-untold", &[timer()], &[&[arm(0, SOON, 0)], &[any(&[0])], &[read(0, &timer()), pass(SOON)]])
            .mortal(0),
        Program::new("due-d-arm-2w", &[timer()], &[&[arm(0, SOON, 0), pass(SOON)], &[any(&[0])], &[timed(&[0])]])
            .mortal(0),
        Program::new("due-d-told", &[timer()], &[&[arm(0, SOON, 0)], &[any(&[0])], &[timed(&[0])], &[pass(SOON)]])
            .mortal(0)
            .mortal(1),
        Program::new("due-d-wait", &[once()], &[&[any(&[0])], &[any(&[0])], &[pass(SOON)]]).mortal(0),
        Program::new("due-d-wait-any", &[once(), no.clone()], &[&[any(&[0, 1])], &[any(&[0])], &[pass(SOON), set(1)]])
            .mortal(0),
        Program::new("due-d-poll", &[once()], &[&[poll(&[0])], &[any(&[0])], &[pass(SOON)]]).mortal(0),
        Program::new("due-d-all", &[once(), auto(true)], &[&[all(&[0, 1])], &[all(&[0, 1])], &[pass(SOON)]]).mortal(0),
        Program::new(
            "due-d-manual",
            &[manual_armed(SOON, 0)],
            &[&[any(&[0])], &[any(&[0])], &[any(&[0])], &[pass(SOON)]],
        )
        .mortal(0),
        Program::new("due-d-cancel", &[once()], &[&[cancel(0)], &[timed(&[0])], &[pass(SOON)]]).mortal(0),
        Program::new("due-d-torn", &[timer()], &[&[arm(0, SOON, 0)], &[timed(&[0])], &[pass(SOON)]]).mortal(0).torn(),
    ]
}
