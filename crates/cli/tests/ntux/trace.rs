//! `ntux trace`: what it records of a program that uses the device, and that the program notices nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stage::{Stage, compile, complained, finish};
use crate::viewer::Seen;

/// The real library: here somebody must report.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../preload/Cargo.toml");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path", manifest, "--target-dir"])
        .arg(&directory)
        .status();
    assert!(status.expect("cargo starts").success());
    directory.join("debug/libntux_preload.so")
});

/// Two named threads hand an event to and fro: as often as the argument says, or for ever. Ends with 7.
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
    static long rounds;
    static void *play(void *side) {
        long own = (long)side;
        pthread_setname_np(pthread_self(), own ? \"pong\" : \"ping\");
        for (long i = 0; rounds == 0 || i < rounds; i++) {
            struct wait wait = {.timeout = UINT64_MAX, .objs = (uintptr_t)&events[own], .count = 1, .owner = 1};
            uint32_t before;
            if (ioctl(device, _IOWR('N', 0x82, struct wait), &wait)) abort();
            if (rounds == 0) usleep(100);
            if (ioctl(events[!own], _IOR('N', 0x88, uint32_t), &before)) abort();
        }
        return 0;
    }
    int main(int count, char **arguments) {
        pthread_t threads[2];
        rounds = count > 1 ? atol(arguments[1]) : 0;
        if ((device = open(\"/dev/ntsync\", O_RDWR)) < 0) return 1;
        for (long side = 0; side < 2; side++) {
            struct event event = {0, 0};
            if ((events[side] = ioctl(device, _IOW('N', 0x87, struct event), &event)) < 0) return 1;
        }
        for (long side = 0; side < 2; side++) pthread_create(&threads[side], 0, play, (void *)side);
        uint32_t before;
        usleep(20000);
        if (ioctl(events[0], _IOR('N', 0x88, uint32_t), &before)) return 1;
        for (long side = 0; side < 2; side++) pthread_join(threads[side], 0);
        return 7;
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

fn ping_pong(stage: &Stage) -> String {
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
    assert!(summary.contains("waits slept") && summary.contains("ping") && summary.contains("event 0"), "{summary}");

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

#[test]
fn a_killed_tracer_leaves_a_file_whose_lines_can_be_read() {
    let stage = Stage::new();
    let program = Endless::start(&stage);
    let (json, pid) = (stage.path("t.json"), program.0.id().to_string());
    let mut tracer = ntux(&stage, &["trace", &pid, "-o"]);
    let mut tracer = tracer.arg(&json).stderr(Stdio::null()).spawn().expect("it starts");
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
