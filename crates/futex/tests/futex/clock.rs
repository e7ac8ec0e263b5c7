// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines on the wall clock, when somebody sets it: on a machine that exists for that (`make test-kernel`).

use std::thread;
use std::time::{Duration, SystemTime};

use ntux_futex::{Deadline, Error, wait, wake};

use crate::kind::{Bytes, possible, value};
use crate::skips::skip;
use crate::sleepers::{ANY, Sleepers, after};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

fn wall_clock() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock behind 1970")
}

fn at_wall_clock(time: Duration) -> Deadline {
    Deadline::Realtime(time.as_nanos() as u64)
}

fn set_clock(then: Duration) {
    let time = libc::timespec { tv_sec: then.as_secs() as libc::time_t, tv_nsec: then.subsec_nanos().into() };
    // SAFETY: reads a valid time.
    let set = unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &time) };
    assert_eq!(set, 0, "clock_settime: {}", std::io::Error::last_os_error());
}

#[test]
fn a_deadline_on_the_wall_clock_follows_it_when_it_is_set() {
    if std::env::var_os("NTUX_TEST_SET_CLOCK").is_none() {
        skip("set-clock", "sets the clock of the whole machine, if NTUX_TEST_SET_CLOCK is set");
        return;
    }
    for kind in possible() {
        let bytes = Bytes::default();
        bytes.store(kind.0, 0, value(kind.0));
        let expected = bytes.expect(kind, value(kind.0));
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            let mut sleep = |deadline| sleepers.start(move || wait(expected, ANY, deadline).map(|()| 0));
            sleep(at_wall_clock(wall_clock() + HOUR));
            sleep(at_wall_clock(wall_clock() + 2 * DAY));
            sleep(after(HOUR));
            set_clock(wall_clock() + DAY);
            assert_eq!(sleepers.next(), (0, Err(Error::TimedOut)), "{kind:?}");
            let near = at_wall_clock(wall_clock() + Duration::from_secs(1));
            sleepers.start(move || wait(expected, ANY, near).map(|()| 0));
            set_clock(wall_clock() - DAY);
            thread::sleep(Duration::from_secs(2));
            sleepers.nobody();
            assert_eq!(wake(bytes.futex(kind, 0), 9, ANY), Ok(3), "{kind:?}");
            assert_eq!(sleepers.woken(3), [1, 2, 3]);
        });
    }
}
