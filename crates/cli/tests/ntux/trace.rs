// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux trace`: what it records of a program that uses the device, and that the program notices nothing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ntux_platform::clock::monotonic_ns;
use ntux_sync::Arena;
use ntux_sync::inspect::View;
use serde_json::Value;

use crate::products::built;
use crate::stage::{Stage, compile, complained, finish, finish_child};
use crate::viewer::Seen;
use crate::why::{CAPACITY, end, start, until};

/// The real library: here somebody must report.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| built(&["ntux-preload"]).join("libntux_preload.so"));

/// Two named threads hand an event to and fro, as often as the argument says: 0, until the standard input ends; without any, for ever
/// and with pauses. Ends with 7.
const PING_PONG: &str = "
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <sys/ioctl.h>
    #include <unistd.h>
    struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };
    struct event { uint32_t manual, signaled; };
    static int device, events[2];
    static long rounds = -1;
    /* Main has read the end of the input; the round in hand is the last one, which \"ping\" begins. */
    static volatile int ended, last;
    static void *play(void *side) {
        long own = (long)side;
        pthread_setname_np(pthread_self(), own ? \"pong\" : \"ping\");
        for (long i = 0; rounds <= 0 || i < rounds; i++) {
            struct wait wait = {.timeout = UINT64_MAX, .objs = (uintptr_t)&events[own], .count = 1, .owner = 1};
            uint32_t before;
            if (ioctl(device, _IOWR('N', 0x82, struct wait), &wait)) abort();
            if (rounds < 0) usleep(100);
            if (own && last) break;
            if (!own && ended) last = 1;
            if (ioctl(events[!own], _IOR('N', 0x88, uint32_t), &before)) abort();
            if (!own && last) break;
        }
        return 0;
    }
    int main(int count, char **arguments) {
        pthread_t threads[2];
        if (count > 1) rounds = atol(arguments[1]);
        if ((device = open(\"/dev/ntsync\", O_RDWR)) < 0) return 1;
        for (long side = 0; side < 2; side++) {
            struct event event = {0, 0};
            if ((events[side] = ioctl(device, _IOW('N', 0x87, struct event), &event)) < 0) return 1;
        }
        for (long side = 0; side < 2; side++) pthread_create(&threads[side], 0, play, (void *)side);
        uint32_t before;
        usleep(20000);
        if (ioctl(events[0], _IOR('N', 0x88, uint32_t), &before)) return 1;
        for (char byte; rounds == 0 && read(0, &byte, 1) > 0;);
        ended = rounds == 0;
        for (long side = 0; side < 2; side++) pthread_join(threads[side], 0);
        return 7;
    }";

/// Says who it is, reads what there is to read, opens the device or what is named, sleeps in ten waits and ends with 7 at once.
const SHORT: &str = "
    #include <errno.h>
    #include <fcntl.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <sys/ioctl.h>
    #include <sys/resource.h>
    #include <time.h>
    #include <unistd.h>
    struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };
    struct event { uint32_t manual, signaled; };
    static long sleeps(void) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_nvcsw;
    }
    int main(int count, char **arguments) {
        struct event event = {0, 0};
        struct timespec now;
        char byte;
        int device, never;
        printf(\"%d\\n\", getpid());
        fflush(stdout);
        if (read(0, &byte, 1) < 0) return 1;
        if ((device = open(count > 1 ? arguments[1] : \"/dev/ntsync\", O_RDWR)) < 0) return 2;
        if ((never = ioctl(device, _IOW('N', 0x87, struct event), &event)) < 0) return 3;
        for (int slept = -1; slept < 10;) { /* The first wait may have slept for what is asked once. */
            clock_gettime(CLOCK_MONOTONIC, &now);
            uint64_t end = now.tv_sec * 1000000000ull + now.tv_nsec + 100000;
            struct wait wait = {.timeout = end, .objs = (uintptr_t)&never, .count = 1, .owner = 1};
            long before = sleeps();
            if (ioctl(device, _IOWR('N', 0x82, struct wait), &wait) != -1 || errno != ETIMEDOUT) return 4;
            slept += sleeps() > before;
        }
        _exit(7);
    }";

/// Opens the device, says so, and does nothing with it.
const HOLDER: &str = "
    #include <fcntl.h>
    #include <stdint.h>
    #include <sys/ioctl.h>
    #include <unistd.h>
    struct event { uint32_t manual, signaled; };
    int main(void) {
        struct event event = {0, 0};
        int device = open(\"/dev/ntsync\", O_RDWR);
        if (device < 0 || ioctl(device, _IOW('N', 0x87, struct event), &event) < 0) return 1;
        if (write(1, \"ready\\n\", 6) != 6) return 1;
        for (;;) pause();
    }";

/// Executes a program with a filter that kills it for one call, which the first argument names.
const FILTERED: &str = "
    #include <linux/filter.h>
    #include <linux/seccomp.h>
    #include <stddef.h>
    #include <string.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int main(int count, char **arguments) {
        unsigned call = !strcmp(arguments[1], \"socket\") ? SYS_socket : !strcmp(arguments[1], \"connect\") ? SYS_connect : SYS_sendmsg;
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
        execv(arguments[2], arguments + 2);
        return 2;
    }";

const CROWD: &str = "
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <sys/ioctl.h>
    #include <unistd.h>
    struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };
    struct pair { uint32_t first, second; };
    static int device, lock, units;
    static void *work(void *owner) {
        int objects[] = {lock, units};
        for (int i = 0; i < 60; i++) {
            struct wait wait = {.timeout = UINT64_MAX, .objs = (uintptr_t)objects, .count = 2, .owner = (long)owner};
            struct wait one = {.timeout = UINT64_MAX, .objs = (uintptr_t)objects, .count = 1, .owner = (long)owner};
            struct pair mutex = {(long)owner, 0};
            uint32_t back = 1;
            int all = i % 3 == 0;
            if (ioctl(device, all ? _IOWR('N', 0x83, struct wait) : _IOWR('N', 0x82, struct wait), all ? &wait : &one)) abort();
            usleep(50);
            if (ioctl(lock, _IOWR('N', 0x85, struct pair), &mutex)) abort();
            if (all && ioctl(units, _IOWR('N', 0x81, uint32_t), &back)) abort();
        }
        return 0;
    }
    int main(void) {
        pthread_t threads[8];
        struct pair mutex = {0, 0}, semaphore = {2, 2};
        if ((device = open(\"/dev/ntsync\", O_RDWR)) < 0) return 1;
        if ((lock = ioctl(device, _IOW('N', 0x84, struct pair), &mutex)) < 0) return 1;
        if ((units = ioctl(device, _IOW('N', 0x80, struct pair), &semaphore)) < 0) return 1;
        for (long thread = 0; thread < 8; thread++) pthread_create(&threads[thread], 0, work, (void *)(thread + 1));
        for (long thread = 0; thread < 8; thread++) pthread_join(threads[thread], 0);
        return 0;
    }";

pub fn ping_pong(stage: &Stage) -> String {
    compile(&stage.path(""), "ping_pong", PING_PONG, &["-pthread"]).to_str().expect("a plain path").to_owned()
}

/// With the real library.
pub fn ntux(stage: &Stage, arguments: &[&str]) -> Command {
    let mut command = stage.ntux(arguments);
    command.env("NTUX_PRELOAD", &*LIBRARY).env("NTUX_DEVICE", "user");
    command
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("it was written")
}

fn is(event: &Value, key: &str, value: &str) -> bool {
    event[key] == value
}

#[test]
fn every_wait_of_a_program_is_recorded_with_who_ended_it() {
    let stage = Stage::new();
    let (json, svg, html) = (stage.path("t.json"), stage.path("t.svg"), stage.path("t.html"));
    let mut command = ntux(&stage, &["trace"]);
    for path in [&json, &svg, &html] {
        command.arg("-o").arg(path);
    }
    let output = finish(command.arg("--").arg(ping_pong(&stage)).arg("40"));
    assert_eq!(output.status.code(), Some(7), "{}", complained(&output));
    let summary = complained(&output);
    assert!(waits_slept(&summary).is_some() && summary.contains("event 0"), "{summary}");

    let events: Vec<Value> = serde_json::from_str(&text(&json)).expect("a whole array");
    let of = |category: &str, phase: &str| -> Vec<&Value> {
        events.iter().filter(|event| is(event, "cat", category) && is(event, "ph", phase)).collect()
    };
    let (waits, leaving, arriving) = (of("wait", "X"), of("grant", "s"), of("grant", "f"));
    // Each thread slept at least once: for the first signal, which comes late.
    assert!(waits.len() >= 2, "{waits:?}");
    assert!(waits.iter().all(|wait| is(&wait["args"], "end", "satisfied")), "{waits:?}");
    assert_eq!((leaving.len(), arriving.len()), (waits.len(), waits.len()), "each wait has an arrow");
    for (from, to) in leaving.iter().zip(&arriving) {
        assert_eq!(from["id"], to["id"]);
        assert!(from["tid"] != to["tid"], "another thread ends a wait: {from} {to}");
    }
    assert_viewers_show_all(&events, waits.len());
    assert!(is(&events[events.len() - 1], "name", "ntux"));
    assert_eq!(events[events.len() - 1]["args"]["lost events"], 0);
    assert!(text(&svg).starts_with("<svg") && text(&svg).contains("waits for event"), "{}", text(&svg));
    assert!(text(&html).contains("<svg") && text(&html).contains("waits slept"));
}

/// Nothing is left out, and each of so many arrows leads from a grant to the moment when the waiter has what it waited for.
fn assert_viewers_show_all(events: &[Value], arrows: usize) {
    let seen = Seen::of(events);
    assert_eq!((seen.left_out.len(), seen.arrows.len()), (0, arrows), "{:?}", seen.left_out);
    for &(from, to) in &seen.arrows {
        let (from, to) = (&seen.slices[from], &seen.slices[to]);
        assert_eq!((from.name.as_str(), to.name.as_str()), ("grants", "until it runs"), "{from:?} {to:?}");
        assert!(from.thread != to.thread && from.from_ns <= to.from_ns, "{from:?} {to:?}");
    }
}

/// Eight threads pass on one lock and take from one semaphore; whoever comes late is helped by others.
#[test]
fn nothing_of_a_crowd_is_left_out_by_viewers() {
    let stage = Stage::new();
    let (json, program) = (stage.path("t.json"), compile(&stage.path(""), "crowd", CROWD, &["-pthread"]));
    let output = finish(ntux(&stage, &["trace", "-o"]).arg(&json).arg("--").arg(program));
    assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
    let events: Vec<Value> = serde_json::from_str(&text(&json)).expect("a whole array");
    let arrows = events.iter().filter(|event| is(event, "ph", "f")).count();
    assert!(arrows > 20, "{}", complained(&output));
    assert_viewers_show_all(&events, arrows);
}

/// A program that plays for ever, until it is dropped.
struct Endless(Child);

impl Endless {
    fn start(stage: &Stage) -> Endless {
        let mut command = ntux(stage, &["run", "--"]);
        Endless(command.arg(ping_pong(stage)).spawn().expect("it starts"))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_program_is_traced_and_goes_on() {
    let stage = Stage::new();
    let mut program = Endless::start(&stage);
    let pid = program.0.id().to_string();
    let start = Instant::now();
    // The device may not be open yet.
    loop {
        let output = finish(&mut ntux(&stage, &["trace", &pid, "--seconds", "1"]));
        let summary = complained(&output);
        if output.status.code() == Some(0) && summary.contains("ping") && summary.contains("pong") {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{summary}");
    }
    assert!(program.0.try_wait().unwrap().is_none(), "the program goes on");
}

fn short(stage: &Stage) -> String {
    compile(&stage.path(""), "short", SHORT, &[]).to_str().expect("a plain path").to_owned()
}

/// The number in "12 waits slept".
fn waits_slept(summary: &str) -> Option<u32> {
    let words: Vec<&str> = summary.split_whitespace().collect();
    let at = words.windows(2).position(|pair| pair == ["waits", "slept"] || pair == ["wait", "slept"])?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

/// Keeps the processors busy until it is dropped.
struct Load(Vec<Child>);

impl Load {
    fn new() -> Load {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell starts");
        Load((0..4).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_program_that_ends_at_once_is_traced_whole_each_time() {
    let stage = Stage::new();
    let short = short(&stage);
    let mut load = None;
    for run in 0..40 {
        if run == 20 {
            load = Some(Load::new());
        }
        let output = finish(&mut ntux(&stage, &["trace", "--", &short]));
        let summary = complained(&output);
        assert_eq!(output.status.code(), Some(7), "{summary}");
        assert!(waits_slept(&summary) >= Some(10), "run {run}: {summary}");
    }
    drop(load);
}

#[test]
fn children_that_end_at_once_are_traced_each_with_its_arena() {
    let stage = Stage::new();
    let script = format!("{0}; {0}; {0}", short(&stage));
    let output = finish(&mut ntux(&stage, &["trace", "--", "sh", "-c", &script]));
    let summary = complained(&output);
    assert!(waits_slept(&summary) >= Some(30) && summary.contains("3/event"), "{summary}");
}

/// Traces a program that runs and ends while the tracer is stopped, and returns what the tracer says afterwards. If the program had no
/// processor for so long that its threads no longer reported, and the tracer says so, another one is traced.
fn traced_while_stopped(stage: &Stage, program: &[&str]) -> String {
    let is_whole = |summary: &String| !summary.contains("got no processor");
    (0..5).map(|_| traced_while_stopped_once(stage, program)).find(is_whole).expect("some processor time")
}

fn traced_while_stopped_once(stage: &Stage, program: &[&str]) -> String {
    let mut command = ntux(stage, &["trace", "--"]);
    command.args(program).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tracer = command.spawn().expect("it starts");
    let id = tracer.id();
    let mut said = BufReader::new(tracer.stdout.take().expect("a pipe"));
    let mut number = String::new();
    said.read_line(&mut number).expect("it says who it is");
    // SAFETY: signals to our own child, for which nobody has waited.
    let signal = |signal| assert_eq!(unsafe { libc::kill(id as i32, signal) }, 0);
    signal(libc::SIGSTOP);
    await_state(&id.to_string(), 'T');
    tracer.stdin.take().expect("a pipe").write_all(b"x").expect("it reads");
    await_state(number.trim(), 'Z');
    signal(libc::SIGCONT);
    let output = finish_child(tracer);
    assert_eq!(output.status.code(), Some(7), "{}", complained(&output));
    complained(&output)
}

/// Waits until a process is in the state that /proc has by this letter.
fn await_state(process: &str, state: char) {
    let start = Instant::now();
    let now = || fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there");
    while !now().rsplit(')').next().expect("the state follows the name").trim().starts_with(state) {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", now());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_has_ended_before_the_tracer_looks_is_traced_because_it_is_handed_over() {
    let stage = Stage::new();
    let short = short(&stage);
    let summary = traced_while_stopped(&stage, &[&short]);
    assert!(waits_slept(&summary) >= Some(10), "{summary}");
    // Where nothing is handed over, nothing is found.
    let summary = traced_while_stopped(&stage, &["env", "NTUX_TRACE=1", &short]);
    assert!(summary.contains("no arena was found"), "{summary}");
}

/// How often the threads of a process have slept.
fn sleeps(process: &str) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it is there").flatten();
    let texts = tasks.map(|task| fs::read_to_string(task.path().join("status")).unwrap_or_default());
    let count = |text: String| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
    };
    texts.filter_map(count).sum()
}

#[test]
fn a_wait_whose_end_was_lost_is_not_said_to_go_on() {
    let stage = Stage::new();
    // Each turn sleeps, and the events of a few thousand fill the ring.
    let mut command = ntux(&stage, &["run", "--spin", "0", "--"]);
    let command = command.arg(ping_pong(&stage)).arg("0").stdin(Stdio::piped());
    let mut program = Endless(command.spawn().expect("it starts"));
    let pid = program.0.id().to_string();
    until(|| sleeps(&pid) > 10);
    let mut command = ntux(&stage, &["trace", &pid, "-o"]);
    let command = command.arg(stage.path("t.json")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let tracer = command.spawn().expect("it starts");
    until(|| text_if_there(&stage.path("t.json.part")).lines().count() > 100);
    // SAFETY: signals to our own child, for which nobody has waited.
    let signal = |signal| assert_eq!(unsafe { libc::kill(tracer.id() as i32, signal) }, 0);
    signal(libc::SIGSTOP);
    let stopped = sleeps(&pid);
    until(|| sleeps(&pid) > stopped + 20_000);
    drop(program.0.stdin.take());
    await_state(&pid, 'Z');
    signal(libc::SIGCONT);
    let output = finish_child(tracer);
    let summary = complained(&output);
    assert!(output.status.success() && summary.contains("; lost: "), "{summary}");
    assert!(!summary.contains("still wait"), "all have ended: {summary}");
}

/// As a tracer that gets no processor for longer than the 10 seconds for which threads report without it.
#[test]
fn a_tracer_that_was_late_says_so() {
    let stage = Stage::new();
    let program = Endless::start(&stage);
    let mut command = ntux(&stage, &["trace", &program.0.id().to_string(), "-o"]);
    let command = command.arg(stage.path("t.json")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let tracer = command.spawn().expect("it starts");
    until(|| text_if_there(&stage.path("t.json.part")).lines().count() > 100);
    // SAFETY: signals to our own child, for which nobody has waited.
    let signal = |signal| assert_eq!(unsafe { libc::kill(tracer.id() as i32, signal) }, 0);
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(11));
    signal(libc::SIGINT);
    signal(libc::SIGCONT);
    let summary = complained(&finish_child(tracer));
    assert!(summary.contains("got no processor for 10 seconds or more"), "{summary}");
}

#[test]
fn a_program_goes_on_whatever_its_variable_names() {
    let stage = Stage::new();
    let (short, file) = (short(&stage), stage.path("file"));
    fs::write(&file, "no socket").expect("it can be written");
    let long = format!("/{}", "x".repeat(300));
    for place in ["/nowhere/at/all", file.to_str().expect("a plain path"), &long, "/dev/null", "rubbish", ""] {
        let output = finish(ntux(&stage, &["run", "--", &short]).env("NTUX_TRACE", place));
        assert_eq!((output.status.code(), complained(&output).as_str()), (Some(7), ""), "{place}");
    }
}

#[test]
fn no_filter_kills_a_program_because_it_is_traced() {
    let stage = Stage::new();
    let (short, filtered) = (short(&stage), compile(&stage.path(""), "filtered", FILTERED, &[]));
    for call in ["socket", "connect", "sendmsg"] {
        let output = finish(ntux(&stage, &["trace", "--"]).arg(&filtered).args([call, &short]));
        assert_eq!(output.status.code(), Some(7), "{call}: {}", complained(&output));
    }
}

#[test]
fn a_tracer_leaves_nothing_among_the_temporary_files() {
    let stage = Stage::new();
    let place = stage.path("temporary");
    fs::create_dir(&place).expect("it can be made");
    let (short, variable) = (short(&stage), stage.path("variable"));
    let script = format!("echo $NTUX_TRACE > {}; {short}; kill -TERM $$", variable.display());
    let output = finish(ntux(&stage, &["trace", "--", "sh", "-c", &script]).env("TMPDIR", &place));
    assert!(waits_slept(&complained(&output)) >= Some(10), "{}", complained(&output));
    assert_eq!(output.status.signal(), Some(libc::SIGTERM));
    assert!(text(&variable).starts_with(place.to_str().expect("a plain path")), "{}", text(&variable));
    assert_eq!(fs::read_dir(&place).expect("it is there").count(), 0);
}

/// A place for the socket is no condition.
#[test]
fn without_a_place_for_the_socket_a_program_runs_and_may_be_found() {
    let stage = Stage::new();
    let short = short(&stage);
    let output = finish(ntux(&stage, &["trace", "--", &short]).env("TMPDIR", "/nowhere"));
    assert_eq!(output.status.code(), Some(7));
    assert!(complained(&output).contains("no socket can be made in '/nowhere'"), "{}", complained(&output));
}

/// A descriptor of the device that the process has, as a path.
fn arena_of(process: u32) -> Option<PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let mut paths = descriptors.flatten().map(|descriptor| descriptor.path());
    let is_arena = |link: &Path| link.to_string_lossy().starts_with("/memfd:ntsync");
    paths.find(|path| fs::read_link(path).is_ok_and(|link| is_arena(&link)))
}

#[test]
fn an_arena_of_an_untraced_process_is_handed_over_by_those_who_meet_it() {
    let stage = Stage::new();
    let (short, holder) = (short(&stage), compile(&stage.path(""), "holder", HOLDER, &[]));
    // What another process reports meanwhile could push this one's events out of the ring: it reports nothing.
    let mut command = ntux(&stage, &["run", "--"]);
    let mut other = Endless(command.arg(holder).stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut said = String::new();
    BufReader::new(other.0.stdout.take().expect("a pipe")).read_line(&mut said).expect("it says that it is ready");
    let arena = arena_of(other.0.id()).expect("it has the device open");
    let summary = traced_while_stopped(&stage, &[&short, arena.to_str().expect("a plain path")]);
    assert!(summary.contains("in vain"), "{summary}");
}

/// As under Wine, where all programs of a prefix share an arena.
#[test]
fn what_an_earlier_trace_has_left_in_the_arena_is_not_taken_for_the_programs() {
    let stage = Stage::new();
    let before = Endless::start(&stage);
    let pid = before.0.id();
    let start = Instant::now();
    let seen = |summary: &str| summary.contains("ping") && summary.contains("pong");
    while !seen(&complained(&finish(&mut ntux(&stage, &["trace", &pid.to_string(), "--seconds", "1"])))) {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not play");
    }
    let arena = arena_of(pid).expect("it plays with objects");
    let arena = fs::OpenOptions::new().read(true).write(true).open(arena).expect("our own child's");
    drop(before);
    let gate = stage.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().expect("mkfifo starts").success());
    let mut command = ntux(&stage, &["trace", "--", "sh", "-c", "read line < \"$0\""]);
    let command = command.arg(&gate).stdin(arena).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command starts");
    // The program ends when the tracer has the arena.
    let maps = format!("/proc/{}/maps", child.id());
    while !fs::read_to_string(&maps).expect("it is there").contains("/memfd:ntsync") {
        assert!(start.elapsed() < Duration::from_secs(120), "the arena is not found");
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::write(&gate, "go\n").expect("the program reads it");
    let output = finish_child(child);
    let summary = complained(&output);
    assert!(output.status.success() && summary.contains("0 waits slept"), "{summary}");
}

#[test]
fn a_killed_tracer_leaves_a_file_whose_lines_can_be_read() {
    let stage = Stage::new();
    let program = Endless::start(&stage);
    let (json, pid) = (stage.path("t.json"), program.0.id().to_string());
    let mut tracer = ntux(&stage, &["trace", &pid, "-o"]);
    let mut tracer = tracer.arg(&json).stderr(Stdio::null()).spawn().expect("it starts");
    let json = stage.path("t.json.part");
    let start = Instant::now();
    while text_if_there(&json).lines().count() < 100 {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", text_if_there(&json));
        std::thread::sleep(Duration::from_millis(5));
    }
    tracer.kill().expect("our own child");
    tracer.wait().expect("our own child");
    let text = text(&json);
    // What was written last may have been cut.
    let lines: Vec<_> = text.lines().collect();
    let whole = lines[1..lines.len() - 1].iter().filter_map(|line| line.strip_suffix(','));
    let events = whole.map(|line| serde_json::from_str(line).expect("a whole event")).collect::<Vec<Value>>();
    assert!(events.iter().any(|event| is(event, "cat", "wait")));
}

fn text_if_there(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn what_cannot_be_traced_is_said() {
    let stage = Stage::new();
    let output = finish(&mut ntux(&stage, &["trace", "-o", "trace.txt", "--", "true"]));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("must end in .json, .svg or .html"), "{}", complained(&output));

    let output = finish(&mut ntux(&stage, &["trace", "4194305"]));
    assert_eq!(output.status.code(), Some(125), "{}", complained(&output));

    let output = finish(&mut ntux(&stage, &["trace", "--", "sh", "-c", "exit 3"]));
    assert_eq!(output.status.code(), Some(3));
    assert!(complained(&output).contains("no arena was found"), "{}", complained(&output));
}

/// They report nothing while they sleep.
#[test]
fn threads_that_wait_all_the_time_are_counted() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let sleeper = start(&arena, 5, &[]);
    let view = View::open(arena.fd().unwrap()).unwrap();
    // More than a tick ago, of which the note may be too early.
    let is_long_ago = |since: u64| since + 20_000_000 < monotonic_ns();
    until(|| view.snapshot().unwrap().waiting().any(|waiter| waiter.asleep_since.is_some_and(is_long_ago)));
    let traced = finish(stage.ntux(&["trace", "--seconds", "1"]).arg(sleeper.id().to_string()));
    assert_eq!(traced.status.code(), Some(0), "{}", complained(&traced));
    let words = "1 thread has waited since before the trace began: `ntux why` says";
    assert!(complained(&traced).contains(words), "{}", complained(&traced));
    end(sleeper);
}
