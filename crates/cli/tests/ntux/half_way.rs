// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux why` beside a thread that stands still in the middle of an operation, or was killed there. The thread is traced, and runs
//! one instruction after the other until an onlooker sees what the test is about.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use ntux_sync::inspect::{Claim, Snapshot, View, WaitState};
use ntux_sync::{Arena, Clock, Deadline, Due, Kind, Object};
use serde_json::Value;

use crate::processors::stay_on_one_processor;
use crate::skips::skip;
use crate::stage::{Stage, finish, said};
use crate::why::{CAPACITY, FailsFast, end, kinds, look, path_of, sleepers, slot, start, this_process, until, why};

/// Tells this program, started again, which event of which arena to set, or which timer to arm.
const PART: &str = "NTUX_TEST_HALF_WAY";
/// A thread that gets so far without what is looked for has passed it.
const STEPS: u32 = 1_000_000;
/// Instructions between two looks: what is looked for lasts longer, in optimized code, too.
const STRIDE: u32 = 4;
/// When a timer is due that nobody waits out.
const NEVER: Due = Due { clock: Clock::Monotonic, at_ns: 1 << 60 };

/// Sets an event or arms a timer if it is told to, traced by its parent.
#[test]
fn signaler() {
    let Ok(part) = std::env::var(PART) else { return };
    let (path, object) = part.split_once(' ').unwrap();
    let arena = Arena::attach(File::options().read(true).write(true).open(path).unwrap().as_fd()).unwrap();
    let (waiter, object) = (arena.waiter(), Object(object.parse().unwrap()));
    // What the first operation of a thread does besides is done here.
    let own = arena.event_create(&waiter, false, true).unwrap();
    arena.wait_any(&waiter, &[own], None, 9, Deadline::Never).unwrap();
    // SAFETY: no pointers; a signal to this thread alone.
    let refused = unsafe {
        println!("\n{}", libc::gettid());
        std::io::stdout().flush().unwrap();
        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 || libc::raise(libc::SIGSTOP) != 0
    };
    if refused {
        return;
    }
    match arena.kind(object).unwrap() {
        Kind::SyncTimer => arena.timer_set(&waiter, object, NEVER, 0).unwrap(),
        _ => _ = arena.event_set(&waiter, object).unwrap(),
    }
}

/// Another process that is about to set an event, or to arm a timer.
struct Signaler {
    child: Child,
    thread: libc::pid_t,
}

impl Signaler {
    /// None: this system lets nobody trace its children.
    fn start(stage: &Stage, arena: &Arena, object: Object) -> Option<Signaler> {
        let said = stage.path("signaler");
        stay_on_one_processor().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "half_way::signaler", "--nocapture"]);
        command.env(PART, format!("{} {}", path_of(arena), object.0));
        let child = command.stdout(File::create(&said).unwrap()).stdin(Stdio::null()).spawn().unwrap();
        let number = || std::fs::read_to_string(&said).unwrap().lines().find_map(|line| line.parse().ok());
        until(|| number().is_some());
        let mut signaler = Signaler { child, thread: number().unwrap() };
        if signaler.stops() {
            return Some(signaler);
        }
        skip("ptrace", "a child cannot be traced here");
        signaler.child.wait().unwrap();
        None
    }

    /// Waits until it stops. False: it has ended.
    fn stops(&mut self) -> bool {
        let mut status = 0;
        // SAFETY: a place for the status; the thread is traced by this one, or of a child of ours.
        unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) == self.thread && libc::WIFSTOPPED(status) }
    }

    fn request(&self, request: libc::c_uint) {
        // SAFETY: these requests take no pointers; the thread is stopped, and traced by this one.
        assert_eq!(unsafe { libc::ptrace(request, self.thread, 0, 0) }, 0, "{}", std::io::Error::last_os_error());
    }

    /// Runs it until this is seen.
    fn run_until(&mut self, arena: &Arena, is_there: impl Fn(&Snapshot) -> bool) {
        let view = View::open(arena.fd().unwrap()).unwrap();
        for step in 0..STEPS {
            if step.is_multiple_of(STRIDE) && is_there(&view.snapshot().unwrap()) {
                return;
            }
            self.request(libc::PTRACE_SINGLESTEP);
            assert!(self.stops(), "it ended before that was seen");
        }
        panic!("it was never seen");
    }

    /// Runs it until this is so: asks after each instruction.
    fn step_until(&mut self, is_so: impl Fn() -> bool) {
        for _ in 0..STEPS {
            if is_so() {
                return;
            }
            self.request(libc::PTRACE_SINGLESTEP);
            assert!(self.stops(), "it ended before that was so");
        }
        panic!("it never was so");
    }

    fn go_on(mut self) {
        self.request(libc::PTRACE_DETACH);
        self.child.wait().unwrap();
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        let _ = self.stops();
        self.child.wait().unwrap();
    }
}

/// Returns true if a wake seems to be owed to anybody.
fn is_owed(seen: &Snapshot) -> bool {
    seen.waiters.iter().any(|waiter| matches!(waiter.state, WaitState::Satisfied { owed: true, .. }))
}

fn finding<'a>(told: &'a Value, kind: &str) -> &'a Value {
    let findings = told["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {told:#}"))
}

#[test]
fn a_wake_that_is_held_back_is_found_and_who_holds_it_back() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let event = arena.event_create(&arena.waiter(), false, false).unwrap();
    let sleeper = start(&arena, 5, &[event]);
    sleepers(&arena, 1);
    let Some(mut signaler) = Signaler::start(&stage, &arena, event) else { return end(sleeper) };
    signaler.run_until(&arena, is_owed);
    let seen = look(&stage, &arena);
    let asleep = finding(&seen, "still asleep");
    assert_eq!(
        (&asleep["threads"][0]["pid"], &asleep["objects"][0]["slot"]),
        (&sleeper.id().into(), &slot(event).into())
    );
    assert_eq!(asleep["stopped"][0]["pid"], signaler.child.id());
    let output = why(&stage, &[&this_process()]);
    let (text, thread) = (said(&output), signaler.thread);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&format!("STILL ASLEEP: {}/", sleeper.id())), "{text}");
    assert!(text.contains(&format!("{}/{thread}", signaler.child.id())), "{text}");
    println!("{text}");

    signaler.go_on();
    until(|| kinds(&look(&stage, &arena)).is_empty());
    end(sleeper);
}

/// The waiter of this arena that sleeps: its ticket, and its thread.
fn the_sleeper(view: &View) -> (u64, u64) {
    let snapshot = view.snapshot().unwrap();
    let waiter = snapshot.waiting().next().unwrap();
    (waiter.ticket, waiter.thread.unwrap())
}

/// Its waker was stopped behind the wake, and notes only now which wait it has woken: a later one of the same thread is over by then,
/// whose waker was in time.
#[test]
fn who_has_left_its_wait_and_sleeps_elsewhere_is_not_accused_by_a_late_note() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [first, second] = [(); 2].map(|()| arena.event_create(&waiter, false, false).unwrap());
    let sleeper = start(&arena, 5, &[first, second]);
    sleepers(&arena, 1);
    let view = View::open(arena.fd().unwrap()).unwrap();
    let (ticket, thread) = the_sleeper(&view);
    let Some(mut signaler) = Signaler::start(&stage, &arena, first) else { return end(sleeper) };
    signaler.run_until(&arena, is_owed);
    let is_woken = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/task/{thread}/stat", sleeper.id())).unwrap();
        !stat.contains(") S ") || view.snapshot().unwrap().waiting().any(|waiter| waiter.ticket != ticket)
    };
    signaler.step_until(is_woken);
    sleepers(&arena, 1);
    assert_ne!(the_sleeper(&view).0, ticket, "it waits for the second event");
    arena.event_set(&waiter, second).unwrap();
    until(|| kinds(&look(&stage, &arena)).is_empty());

    signaler.go_on();
    // What the arena says, and what is made of it and /proc.
    assert!(!is_owed(&view.snapshot().unwrap()));
    let output = why(&stage, &[&this_process()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("Nothing is wrong."), "{}", said(&output));
    end(sleeper);
}

/// The handler runs on top of the wait, so the arena cannot know.
#[test]
fn who_sleeps_in_a_signal_handler_is_owed_a_wake_and_not_accused() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let event = arena.event_create(&arena.waiter(), false, false).unwrap();
    let sleeper = start(&arena, 5, &[event]);
    sleepers(&arena, 1);
    let view = View::open(arena.fd().unwrap()).unwrap();
    let thread = the_sleeper(&view).1;
    #[allow(
        clippy::disallowed_methods,
        reason = "the C library of some systems has no function for one thread of others"
    )]
    // SAFETY: no pointers; a thread of a child that was not waited for.
    let signal = |signal: i32| unsafe { libc::syscall(libc::SYS_tgkill, sleeper.id(), thread, signal) };
    assert_eq!(signal(libc::SIGUSR1), 0);
    let call = || std::fs::read_to_string(format!("/proc/{}/task/{thread}/syscall", sleeper.id())).unwrap();
    until(|| call().starts_with(&format!("{} ", libc::SYS_pause)));
    let Some(mut signaler) = Signaler::start(&stage, &arena, event) else { return end(sleeper) };
    signaler.run_until(&arena, is_owed);
    let seen = look(&stage, &arena);
    assert!(!kinds(&seen).contains(&"still asleep"), "{seen:#}");
    assert!(is_owed(&view.snapshot().unwrap()), "this test notices nothing");

    assert_eq!(signal(libc::SIGUSR2), 0);
    until(|| !is_owed(&view.snapshot().unwrap()));
    signaler.go_on();
    until(|| kinds(&look(&stage, &arena)).is_empty());
    end(sleeper);
}

#[test]
fn an_object_that_a_stopped_or_killed_thread_left_half_way_is_found_until_somebody_uses_it() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let sleeper = start(&arena, 5, &[event]);
    sleepers(&arena, 1);
    let Some(mut signaler) = Signaler::start(&stage, &arena, event) else { return end(sleeper) };
    // Some instructions later the sleeper is granted its wait, and still asleep besides.
    signaler.run_until(&arena, |seen| seen.objects.iter().any(|object| object.claim != Claim::None));
    let seen = look(&stage, &arena);
    assert_eq!(kinds(&seen), ["half-way"], "{seen:#}");
    let half_way = finding(&seen, "half-way");
    assert_eq!(half_way["objects"][0]["slot"], slot(event));
    assert_eq!(half_way["behind"][0]["pid"], sleeper.id());
    assert_eq!(half_way["stopped"][0]["pid"], signaler.child.id());

    signaler.kill();
    let output = why(&stage, &[&this_process()]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("HALF-WAY: an operation on event #") && !text.contains("may be the cause"), "{text}");
    println!("{text}");
    arena.event_read(&waiter, event).unwrap();
    until(|| kinds(&look(&stage, &arena)).is_empty());
    end(sleeper);
}

#[test]
fn a_timer_that_a_killed_thread_was_arming_is_found_until_somebody_looks_at_it() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    let sleeper = start(&arena, 5, &[timer]);
    sleepers(&arena, 1);
    let Some(mut signaler) = Signaler::start(&stage, &arena, timer) else { return end(sleeper) };
    signaler.run_until(&arena, |seen| seen.objects.iter().any(|object| matches!(object.claim, Claim::Turn { .. })));
    signaler.kill();
    let output = why(&stage, &[&this_process()]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let expected = format!("HALF-WAY: an operation on timer #{} makes no progress: it is being armed", slot(timer));
    assert!(text.contains(&expected), "{text}");
    let seen = look(&stage, &arena);
    assert_eq!(finding(&seen, "half-way")["behind"][0]["pid"], sleeper.id());

    arena.timer_read(&waiter, timer).unwrap();
    until(|| kinds(&look(&stage, &arena)).is_empty());
    let output = finish(stage.ntux(&["inspect"]).arg(this_process()));
    assert!(said(&output).contains("due in "), "{}", said(&output));
    end(sleeper);
}

#[test]
fn an_operation_that_a_killed_thread_announced_is_found_until_somebody_carries_it_out() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [event, other, alert] = [true, true, false].map(|manual| arena.event_create(&waiter, manual, false).unwrap());
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        let wait = move || {
            arena.wait_all(&arena.waiter(), &[event, other], Some(alert), 7, Deadline::Never).unwrap();
        };
        let first = scope.spawn(wait);
        sleepers(arena, 1);
        let Some(mut signaler) = Signaler::start(&stage, arena, event) else {
            arena.event_set(&waiter, alert).unwrap();
            return;
        };
        signaler.run_until(arena, |seen| seen.admission.requester.is_some());
        let seen = look(&stage, arena);
        assert_eq!(kinds(&seen), [""; 0], "it is only stopped: {seen:#}");
        signaler.kill();
        let output = why(&stage, &[&this_process()]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(&format!("UNFINISHED: {}/{}", signaler.child.id(), signaler.thread)), "{text}");
        assert!(text.contains("has ended before it could set event #"), "{text}");
        println!("{text}");
        let seen = look(&stage, arena);
        let unfinished = finding(&seen, "unfinished");
        assert_eq!(
            (&unfinished["threads"][0]["pid"], &unfinished["fault"]),
            (&signaler.child.id().into(), &true.into())
        );
        assert_eq!(unfinished["behind"][0]["pid"], std::process::id());

        // It has not happened, and nobody waits for it any more.
        arena.event_set(&waiter, alert).unwrap();
        first.join().unwrap();
        let output = why(&stage, &[&this_process()]);
        let words = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert!(words.contains("unfinished: ") && words.contains("and nobody waits for that"), "{words}");

        scope.spawn(wait);
        sleepers(arena, 1);
        // Carries out the other one first; else the thread above sleeps on.
        arena.event_set(&waiter, other).unwrap();
    });
    assert_eq!(kinds(&look(&stage, &arena)), [""; 0]);
}
