// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that arrive during a wait.

use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::SeqCst};

use crate::blocked::{Blocked, block};
use crate::case::{Case, case};
use crate::check::{self, at};
use crate::device::{Arguments as _, Device, POISON, ioctl, number::EVENT_SET};
use crate::face::{Deadline, EINTR, ETIMEDOUT, Face, all, any};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Device, a_handler_without_restart_ends_the_wait, "S-901"),
    case!(Device, an_interrupted_wait_consumed_nothing, "S-901", "S-903"),
    case!(Device, an_interrupted_wait_does_not_ask_whether_its_objects_were_closed, "S-901"),
    case!(Device, a_handler_with_restart_leaves_the_wait_going, "S-902"),
    case!(Device, a_restarted_wait_keeps_its_deadline, "S-902"),
    case!(Device, a_thread_in_a_handler_is_in_no_queue, "S-903"),
    case!(Device, a_thread_in_a_handler_misses_a_pulse, "S-903"),
    case!(Device, a_thread_in_a_handler_delays_nobody, "S-903", "S-802"),
    case!(Device, a_restarted_wait_stands_at_the_end, "S-904"),
    case!(Device, a_restarted_wait_takes_what_was_signaled_meanwhile, "S-902", "S-903"),
    case!(Device, a_restarted_wait_all_takes_what_was_signaled_meanwhile, "S-902", "S-903"),
    case!(Device, a_handler_may_use_objects, "S-905"),
    case!(Device, a_handler_may_wait, "S-905"),
    case!(Device, an_ignored_or_blocked_signal_does_not_end_a_wait, "S-907"),
    case!(Device, a_satisfied_wait_reports_success_and_the_handler_runs, "S-908"),
    case!(Device, a_wait_for_what_is_there_is_never_interrupted, "S-908"),
    case!(Device, a_stopped_and_continued_process_waits_on, "S-902"),
    case!(Device, a_stopped_process_is_in_no_queue, "S-903"),
];

/// How often the handler ran.
static HANDLED: AtomicU32 = AtomicU32::new(0);
/// True if the handler stays where it is.
static HOLD: AtomicBool = AtomicBool::new(false);
/// Descriptors that the handler uses, or -1.
static SET_BY_HANDLER: AtomicI32 = AtomicI32::new(-1);
static WAITED_BY_HANDLER: AtomicI32 = AtomicI32::new(-1);
static DEVICE_OF_HANDLER: AtomicI32 = AtomicI32::new(-1);

extern "C" fn handler(_signal: i32) {
    HANDLED.fetch_add(1, SeqCst);
    while HOLD.load(SeqCst) {
        // SAFETY: gives the processor away; safe in a handler.
        unsafe { libc::sched_yield() };
    }
    let event = SET_BY_HANDLER.load(SeqCst);
    if event >= 0 {
        let mut previous = POISON;
        ioctl(event, EVENT_SET, (&raw mut previous).cast()).expect("a handler may set an event");
    }
    let waited = WAITED_BY_HANDLER.load(SeqCst);
    if waited >= 0 {
        let fds = [waited];
        let args = crate::device::WaitArgs { count: 1, ..crate::device::WaitArgs::new(&any(&[]).forever(), &fds) };
        let satisfied = args.run(DEVICE_OF_HANDLER.load(SeqCst), crate::device::number::WAIT_ANY);
        assert_eq!(satisfied, at(0));
    }
}

/// Handles SIGUSR1 with [`handler`].
fn handle(flags: i32) {
    // SAFETY: the handler uses only atomics and system calls; the structure is complete.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, null_mut()), 0);
    }
}

fn interrupt(sleeper: &Blocked) {
    // SAFETY: the thread exists, it sleeps.
    assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), sleeper.tid(), libc::SIGUSR1) }, 0);
}

fn until_handled(times: u32) {
    while HANDLED.load(SeqCst) < times {
        std::thread::yield_now();
    }
}

/// Sends the signal and returns when the handler runs, and stays.
fn hold_in_handler(sleeper: &Blocked) {
    let before = HANDLED.load(SeqCst);
    HOLD.store(true, SeqCst);
    interrupt(sleeper);
    until_handled(before + 1);
}

fn let_go() {
    HOLD.store(false, SeqCst);
}

fn a_handler_without_restart_ends_the_wait() {
    handle(0);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    for wait in [any(&[event]), all(&[event]), any(&[]).alert(event), any(&[event]).until(Deadline::in_ms(1_000_000))] {
        let wait = if wait.deadline == Deadline::Monotonic(0) { wait.forever() } else { wait };
        std::thread::scope(|scope| {
            let sleeper = block(scope, &device, wait);
            interrupt(&sleeper);
            assert_eq!(sleeper.result(), Err(EINTR));
        });
    }
    assert_eq!(HANDLED.load(SeqCst), 4);
}

fn an_interrupted_wait_consumed_nothing() {
    handle(0);
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 2).unwrap();
    let event = device.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, all(&[semaphore, event]).forever());
        interrupt(&sleeper);
        assert_eq!(sleeper.result(), Err(EINTR));
    });
    check::semaphore(&device, semaphore, 1, 2);
    assert_eq!(device.event_set(event), Ok(0));
    check::auto(&device, event, 1);
    check::semaphore(&device, semaphore, 1, 2);
}

fn an_interrupted_wait_does_not_ask_whether_its_objects_were_closed() {
    handle(0);
    let device = Device::open();
    for count in [1, 2] {
        for kind in [any, all] {
            let events: Vec<_> = (0..count).map(|_| device.event_create(0, 0).unwrap()).collect();
            std::thread::scope(|scope| {
                let sleeper = block(scope, &device, kind(&events).forever());
                device.close(events[count - 1]).unwrap();
                interrupt(&sleeper);
                assert_eq!(sleeper.result(), Err(EINTR));
            });
        }
    }
}

fn a_handler_with_restart_leaves_the_wait_going() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let later = Deadline::in_ms(1_000_000);
    for wait in [any(&[event]).forever(), all(&[event]).forever(), any(&[event]).until(later)] {
        let before = HANDLED.load(SeqCst);
        std::thread::scope(|scope| {
            let sleeper = block(scope, &device, wait);
            for round in 1..=3 {
                interrupt(&sleeper);
                until_handled(before + round);
                sleeper.still_sleeps();
            }
            assert_eq!(device.event_set(event), Ok(0));
            check::auto(&device, event, 0);
            assert_eq!(sleeper.result(), at(0));
        });
    }
}

fn a_restarted_wait_keeps_its_deadline() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let deadline = Deadline::in_ms(500);
        let sleeper = block(scope, &device, any(&[event]).until(deadline));
        interrupt(&sleeper);
        until_handled(1);
        assert_eq!(sleeper.result(), Err(ETIMEDOUT));
        assert!(deadline.passed());
    });
    // A deadline that passes while the handler runs.
    std::thread::scope(|scope| {
        let deadline = Deadline::in_ms(500);
        let sleeper = block(scope, &device, any(&[event]).until(deadline));
        hold_in_handler(&sleeper);
        while !deadline.passed() {
            std::thread::yield_now();
        }
        let_go();
        assert_eq!(sleeper.result(), Err(ETIMEDOUT));
    });
    check::auto(&device, event, 0);
}

fn a_thread_in_a_handler_is_in_no_queue() {
    handle(0);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let semaphore = device.semaphore_create(0, 1).unwrap();
    let mutex = device.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[event, semaphore, mutex]).forever());
        hold_in_handler(&sleeper);
        assert_eq!(device.event_set(event), Ok(0));
        check::auto(&device, event, 1);
        assert_eq!(device.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(&device, semaphore, 1, 1);
        assert_eq!(device.mutex_unlock(mutex, 1), Ok(1));
        check::mutex(&device, mutex, 0, 0);
        let_go();
        assert_eq!(sleeper.result(), Err(EINTR));
        check::auto(&device, event, 1);
        check::semaphore(&device, semaphore, 1, 1);
        check::mutex(&device, mutex, 0, 0);
    });
}

fn a_thread_in_a_handler_misses_a_pulse() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    for manual in [0, 1] {
        let event = device.event_create(manual, 0).unwrap();
        std::thread::scope(|scope| {
            let sleeper = block(scope, &device, any(&[event]).forever());
            hold_in_handler(&sleeper);
            assert_eq!(device.event_pulse(event), Ok(0));
            let_go();
            sleeper.still_sleeps();
            assert_eq!(device.event_pulse(event), Ok(0));
            assert_eq!(sleeper.result(), at(0));
        });
    }
}

fn a_thread_in_a_handler_delays_nobody() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let held = block(scope, &device, any(&[event]).forever());
        let next = block(scope, &device, any(&[event]).forever());
        hold_in_handler(&held);
        assert_eq!(device.event_pulse(event), Ok(0));
        assert_eq!(next.result(), at(0));
        let_go();
        held.still_sleeps();
        assert_eq!(device.event_set(event), Ok(0));
        assert_eq!(held.result(), at(0));
    });
}

fn a_restarted_wait_stands_at_the_end() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let mutex = device.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, &device, any(&[mutex]).owner(2).forever());
        let second = block(scope, &device, any(&[mutex]).owner(3).forever());
        interrupt(&first);
        until_handled(1);
        first.still_sleeps();
        assert_eq!(device.mutex_unlock(mutex, 1), Ok(1));
        check::mutex(&device, mutex, 3, 1);
        assert_eq!(second.result(), at(0));
        assert_eq!(device.mutex_unlock(mutex, 3), Ok(1));
        check::mutex(&device, mutex, 2, 1);
        assert_eq!(first.result(), at(0));
    });
}

fn a_restarted_wait_takes_what_was_signaled_meanwhile() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let semaphore = device.semaphore_create(0, 1).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[event, semaphore]).forever());
        hold_in_handler(&sleeper);
        assert_eq!(device.semaphore_release(semaphore, 1), Ok(0));
        assert_eq!(device.event_set(event), Ok(0));
        check::auto(&device, event, 1);
        let_go();
        // It starts anew, so the lowest index counts, not the first signal.
        assert_eq!(sleeper.result(), at(0));
        check::auto(&device, event, 0);
        check::semaphore(&device, semaphore, 1, 1);
    });
}

fn a_restarted_wait_all_takes_what_was_signaled_meanwhile() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let semaphore = device.semaphore_create(0, 1).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, all(&[event, semaphore]).forever());
        hold_in_handler(&sleeper);
        assert_eq!(device.semaphore_release(semaphore, 1), Ok(0));
        assert_eq!(device.event_set(event), Ok(0));
        check::auto(&device, event, 1);
        check::semaphore(&device, semaphore, 1, 1);
        let_go();
        assert_eq!(sleeper.result(), at(0));
        check::auto(&device, event, 0);
        check::semaphore(&device, semaphore, 0, 1);
    });
}

fn a_handler_may_use_objects() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let mark = device.event_create(1, 0).unwrap();
    SET_BY_HANDLER.store(mark.0 as i32, SeqCst);
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[event]).forever());
        interrupt(&sleeper);
        assert_eq!(device.wait(&any(&[mark]).forever()), at(0));
        sleeper.still_sleeps();
        // A handler that sets what its own thread waits for: the restarted wait finds it.
        SET_BY_HANDLER.store(event.0 as i32, SeqCst);
        interrupt(&sleeper);
        assert_eq!(sleeper.result(), at(0));
        check::auto(&device, event, 0);
    });
}

fn a_handler_may_wait() {
    handle(libc::SA_RESTART);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let inner = device.event_create(0, 0).unwrap();
    WAITED_BY_HANDLER.store(inner.0 as i32, SeqCst);
    DEVICE_OF_HANDLER.store(device.fd(), SeqCst);
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[event]).forever());
        interrupt(&sleeper);
        until_handled(1);
        sleeper.still_sleeps();
        // It sleeps in the inner wait now, and is in no queue of the outer one.
        assert_eq!(device.event_pulse(event), Ok(0));
        assert_eq!(device.event_set(inner), Ok(0));
        check::auto(&device, inner, 0);
        sleeper.still_sleeps();
        assert_eq!(device.event_set(event), Ok(0));
        check::auto(&device, event, 0);
        assert_eq!(sleeper.result(), at(0));
    });
}

fn an_ignored_or_blocked_signal_does_not_end_a_wait() {
    handle(0);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    // SAFETY: changes what signals do in this process and in threads that it starts from here on.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigaddset(&mut set, libc::SIGUSR1);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &set, null_mut()), 0);
        libc::signal(libc::SIGUSR2, libc::SIG_IGN);
    }
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[event]).forever());
        interrupt(&sleeper);
        // SAFETY: the thread exists, it sleeps.
        assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), sleeper.tid(), libc::SIGUSR2) }, 0);
        sleeper.still_sleeps();
        assert_eq!(HANDLED.load(SeqCst), 0);
        assert_eq!(device.event_set(event), Ok(0));
        assert_eq!(sleeper.result(), at(0));
    });
}

/// The set and the signal race; whoever wins, the event is either reported or still signaled.
fn a_satisfied_wait_reports_success_and_the_handler_runs() {
    handle(0);
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    for round in 1..=50 {
        std::thread::scope(|scope| {
            let sleeper = block(scope, &device, any(&[event]).forever());
            assert_eq!(device.event_set(event), Ok(0));
            interrupt_if_there(&sleeper);
            assert_eq!(sleeper.result(), at(0), "round {round}: satisfied before the signal");
            check::auto(&device, event, 0);
        });
        std::thread::scope(|scope| {
            let sleeper = block(scope, &device, any(&[event]).forever());
            interrupt(&sleeper);
            assert_eq!(device.event_set(event), Ok(0));
            match sleeper.result() {
                Err(EINTR) => assert_eq!(device.event_reset(event), Ok(1), "round {round}: nothing was consumed"),
                satisfied => {
                    assert_eq!(satisfied, at(0));
                    check::auto(&device, event, 0);
                }
            }
        });
    }
}

/// Sends the signal to a thread that may have ended.
fn interrupt_if_there(sleeper: &Blocked) {
    // SAFETY: a number that is no thread of this process is refused.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), sleeper.tid(), libc::SIGUSR1) };
}

/// Signals come at any moment of waits that need not sleep: a few in each round. (Without a limit a machine whose return
/// from a handler takes longer than the next signal gets nothing else done.)
fn a_wait_for_what_is_there_is_never_interrupted() {
    const ROUNDS: u32 = 10_000;
    const SIGNALS_A_ROUND: u32 = 8;
    handle(0);
    let device = Device::open();
    let events = [0, 1].map(|manual| device.event_create(manual, 1).unwrap());
    let never = device.event_create(0, 0).unwrap();
    // SAFETY: takes no argument and cannot fail.
    let waiting = unsafe { libc::gettid() };
    let (round, done) = (AtomicU32::new(0), AtomicBool::new(false));
    let allowed = || HANDLED.load(SeqCst) < (round.load(SeqCst) + 1) * SIGNALS_A_ROUND;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(SeqCst) {
                let before = HANDLED.load(SeqCst);
                // SAFETY: the thread waits for this one to end.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), waiting, libc::SIGUSR1) };
                while (HANDLED.load(SeqCst) == before || !allowed()) && !done.load(SeqCst) {
                    std::thread::yield_now();
                }
            }
        });
        let mut number = 0;
        // On a busy machine all rounds may be over before the other thread gets a processor.
        while number < ROUNDS || HANDLED.load(SeqCst) == 0 {
            round.store(number, SeqCst);
            let [auto, manual] = events;
            let wait =
                [all(&[auto, manual]), all(&[auto]), any(&[auto]), any(&[never, auto])][number as usize % 4].clone();
            let index = u32::from(wait.objects[0] == never);
            assert_eq!(device.wait(&wait.forever()), at(index), "round {number}");
            assert_eq!(device.event_set(auto), Ok(0));
            number += 1;
        }
        done.store(true, SeqCst);
    });
}

fn a_stopped_and_continued_process_waits_on() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let child = Child::block(&device, any(&[event]).forever());
    for _ in 0..3 {
        child.stop();
        child.go_on();
        child.still_sleeps();
    }
    assert_eq!(device.event_set(event), Ok(0));
    assert_eq!(child.result(), at(0));
}

fn a_stopped_process_is_in_no_queue() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let child = Child::block(&device, any(&[event]).forever());
    child.stop();
    assert_eq!(device.event_set(event), Ok(0));
    check::auto(&device, event, 1);
    assert_eq!(device.event_reset(event), Ok(1));
    child.go_on();
    child.still_sleeps();
    assert_eq!(device.event_set(event), Ok(0));
    assert_eq!(child.result(), at(0));
}
