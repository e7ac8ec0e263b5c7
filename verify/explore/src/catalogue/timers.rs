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
        Program::new("t-due", &[once()], &[&[any(&[0])], &[pass(SOON)]]),
        Program::new("t-due-2w", &[once()], &[&[any(&[0])], &[timed(&[0])], &[pass(SOON)]]),
        Program::new("t-poll", &[again()], &[&[poll(&[0]), poll(&[0])], &[pass(SOON), pass(PERIOD + 1)]]),
        Program::new("t-poll-wait", &[again()], &[&[any(&[0])], &[poll(&[0])], &[pass(SOON), pass(PERIOD)]]),
        Program::new("t-period", &[again()], &[&[any(&[0]), any(&[0])], &[pass(SOON), pass(PERIOD)]]),
        Program::new("t-missed", &[again()], &[&[any(&[0]), timed(&[0])], &[pass(SOON + 3 * PERIOD)]]),
        Program::new("t-arm", &[timer()], &[&[any(&[0])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("t-arm-2w", &[timer()], &[&[any(&[0])], &[timed(&[0])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("t-arm-past", &[timer()], &[&[any(&[0])], &[pass(SOON), arm(0, 1_000, 0)]]),
        Program::new("t-arm-two", &[timer()], &[&[any(&[0])], &[arm(0, SOON, 0)], &[arm(0, 5_000, 0), pass(SOON)]]),
        Program::new("t-sooner", &[armed(2 * SOON, 0)], &[&[any(&[0])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("t-later", &[once()], &[&[timed(&[0])], &[arm(0, 2 * SOON, 0), pass(SOON), pass(SOON)]]),
        Program::new("t-arm-due", &[once()], &[&[timed(&[0])], &[arm(0, 3 * SOON, 0)], &[pass(SOON)]]),
        Program::new("t-cancel", &[once()], &[&[timed(&[0])], &[cancel(0), pass(SOON)]]),
        Program::new("t-cancel-due", &[once()], &[&[timed(&[0])], &[cancel(0)], &[pass(SOON)]]),
        Program::new("t-cancel-arm", &[once()], &[&[any(&[0])], &[cancel(0), arm(0, SOON, 0)], &[pass(SOON)]]),
        Program::new("t-read", &[again()], &[&[query(), query()], &[pass(SOON), poll(&[0])]]),
        Program::new("t-manual", &[manual_armed(SOON, 0)], &[&[any(&[0])], &[any(&[0])], &[pass(SOON)]]),
        Program::new("t-manual-arm", &[manual_timer()], &[&[any(&[0])], &[any(&[0])], &[arm(0, 1_000, 0), pass(SOON)]]),
        Program::new(
            "t-manual-again",
            &[manual_armed(SOON, 0)],
            &[&[any(&[0])], &[pass(SOON)], &[arm(0, 2 * SOON, 0), pass(SOON)]],
        ),
        Program::new("t-any", &[once(), no.clone()], &[&[any(&[0, 1])], &[pass(SOON)], &[set(1)]]),
        Program::new("t-any-2nd", &[no.clone(), once()], &[&[any(&[0, 1])], &[pass(SOON)], &[pulse(0)]]),
        Program::new("t-two", &[once(), armed(2 * SOON, 0)], &[&[any(&[0, 1]), any(&[0, 1])], &[pass(SOON), pass(SOON)]]),
        Program::new("t-order", &[once(), no.clone()], &[&[any(&[0])], &[any(&[0, 1])], &[pass(SOON)], &[set(1)]]),
        Program::new(
            "t-place",
            &[once(), no.clone()],
            &[&[any(&[0])], &[any(&[0, 1]), timed(&[1])], &[any(&[1])], &[pass(SOON), set(1)]],
        ),
        Program::new("t-all", &[once(), no.clone()], &[&[all(&[0, 1])], &[pass(SOON)], &[set(1)]]),
        Program::new("t-all-any", &[once(), yes.clone()], &[&[all(&[0, 1])], &[timed(&[0])], &[pass(SOON)]]),
        Program::new("t-all-two", &[once(), armed(SOON, 0)], &[&[all(&[0, 1])], &[timed(&[1])], &[pass(SOON)]]),
        Program::new("t-all-arm", &[timer(), yes], &[&[all(&[0, 1])], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("t-alert", &[once(), no.clone()], &[&[any(&[1]).alert(0)], &[pass(SOON)], &[set(1)]]),
        Program::new("t-interrupt", &[once(), no], &[&[any(&[0, 1]).interruptible()], &[timed(&[0])], &[pass(SOON)]]),
        Program::new("t-close", &[once()], &[&[timed(&[0])], &[close(0)], &[pass(SOON)]]),
    ]
}

/// Threads die that arm, wait for or fire a timer.
pub(super) fn deaths() -> Vec<Program> {
    let once = || armed(SOON, 0);
    let no = auto(false);
    vec![
        Program::new("t-d-arm", &[timer()], &[&[arm(0, SOON, 0)], &[timed(&[0])], &[pass(SOON), read(0, &timer())]])
            .mortal(0),
        Program::new("t-d-arm-2w", &[timer()], &[&[arm(0, SOON, 0), pass(SOON)], &[any(&[0])], &[timed(&[0])]]).mortal(0),
        Program::new("t-d-told", &[timer()], &[&[arm(0, SOON, 0)], &[any(&[0])], &[timed(&[0])], &[pass(SOON)]])
            .mortal(0)
            .mortal(1),
        Program::new("t-d-wait", &[once()], &[&[any(&[0])], &[any(&[0])], &[pass(SOON)]]).mortal(0),
        Program::new("t-d-wait-any", &[once(), no.clone()], &[&[any(&[0, 1])], &[any(&[0])], &[pass(SOON), set(1)]])
            .mortal(0),
        Program::new("t-d-poll", &[once()], &[&[poll(&[0])], &[any(&[0])], &[pass(SOON)]]).mortal(0),
        Program::new("t-d-all", &[once(), auto(true)], &[&[all(&[0, 1])], &[all(&[0, 1])], &[pass(SOON)]]).mortal(0),
        Program::new("t-d-manual", &[manual_armed(SOON, 0)], &[&[any(&[0])], &[any(&[0])], &[any(&[0])], &[pass(SOON)]])
            .mortal(0),
        Program::new("t-d-cancel", &[once()], &[&[cancel(0)], &[timed(&[0])], &[pass(SOON)]]).mortal(0),
        Program::new("t-d-torn", &[timer()], &[&[arm(0, SOON, 0)], &[timed(&[0])], &[pass(SOON)]]).mortal(0).torn(),
    ]
}
