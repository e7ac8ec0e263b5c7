// SPDX-License-Identifier: MIT OR Apache-2.0
//! Odd programs under `ntux run`: each does as without ntux, with the device, or is told what it cannot have
//! (`docs/process-trees.md`).

use std::path::{Path, PathBuf};

use crate::skips::skip;
use crate::stage::{Stage, complained, finish, said};
use crate::trees::{assert_line, plain, run};

/// The C programs of this file begin so.
const DEVICE: &str = "
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/ioctl.h>
    #include <sys/socket.h>
    #include <sys/time.h>
    #include <time.h>
    #include <unistd.h>
    struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };
    struct event { uint32_t manual, signaled; };
    static int make_event(int device) {
        struct event event = {0, 0};
        return ioctl(device, _IOW('N', 0x87, struct event), &event);
    }
    static int wait_for(int device, int object, long ms) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct wait wait = {.objs = (uintptr_t)&object, .count = 1, .owner = 1};
        wait.timeout = now.tv_sec * 1000000000ull + now.tv_nsec + ms * 1000000ull;
        return ioctl(device, _IOWR('N', 0x82, struct wait), &wait);
    }
    static int set(int event) {
        uint32_t before;
        return ioctl(event, _IOR('N', 0x88, uint32_t), &before);
    }
";

/// Compiles `source` behind [`DEVICE`]; none, with the reason, if that is not possible here.
fn build(stage: &Stage, name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    let (text, program) = (stage.path(name).with_extension("c"), stage.path(name));
    std::fs::write(&text, format!("{DEVICE}{source}")).expect("the source can be written");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O1", "-w"]).args(options).arg("-o").arg(&program).arg(&text).arg("-lpthread");
    let output = compiler.output().expect("these tests need the C compiler cc");
    if !output.status.success() {
        skip("odd-programs", format_args!("cc {options:?} makes no program here: {}", complained(&output)));
        return None;
    }
    Some(program)
}

/// Opens the device until that fails, says why, closes one and opens it again; each device that it has works.
const MANY_DEVICES: &str = "
    #include <sys/resource.h>
    int main(void) {
        struct rlimit limit;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        int first = open(\"/dev/ntsync\", O_RDONLY), last = first, count = 0, next;
        while ((next = open(\"/dev/ntsync\", O_RDONLY)) >= 0) last = next, count++;
        printf(\"%d: %s\\n\", count + 1, errno == EMFILE ? \"no more\" : strerror(errno));
        if (open(\"/dev/ntsync\", O_RDONLY) >= 0) return 1;
        if (make_event(first) < 0 || make_event(last) < 0) return 2;
        if (close(last - 1) || (next = open(\"/dev/ntsync\", O_RDONLY)) < 0 || make_event(next) < 0) return 3;
        return 0;
    }";

#[test]
fn a_process_with_as_many_devices_as_can_be_is_told_so() {
    let stage = Stage::new();
    let hard = rlimit_hard();
    if hard < 4_200 {
        return skip("odd-programs", format_args!("the hard limit on descriptors is {hard}"));
    }
    let Some(program) = build(&stage, "devices", MANY_DEVICES, &[]) else { return };
    let output = finish(&mut run(&[&program]));
    assert_eq!((said(&output).as_str(), output.status.code()), ("4096: no more\n", Some(0)), "{}", complained(&output));
    assert_line(&complained(&output), &["4096", "/dev/ntsync", "close some"]);
}

fn rlimit_hard() -> u64 {
    ntux_platform::command::probe::descriptor_limit().hard
}

/// In another root directory, or without /proc: what it has works on, an object cannot be made.
const WITHOUT_PROC: &str = "
    #include <sched.h>
    #include <sys/mount.h>
    #include <sys/stat.h>
    int main(int count, char **arguments) {
        int device = open(\"/dev/ntsync\", O_RDONLY | O_CLOEXEC), event = make_event(device), more;
        if (event < 0 || set(event)) return 1;
        /* The mounts of a namespace of its user belong together. */
        if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS)) return 77;
        if (mount(\"none\", \"/\", 0, MS_REC | MS_PRIVATE, 0)) return 77;
        if (count > 1) {
            if (chroot(arguments[1]) || chdir(\"/\")) return 77;
        } else if (umount2(\"/proc\", MNT_DETACH)) return 77;
        if (wait_for(device, event, 0) || set(event) || wait_for(device, dup(event), 0)) return 2;
        for (int i = 0; i < 2; i++) if (make_event(device) != -1 || errno != ENOENT) return 3;
        puts(\"as told\");
        return 0;
    }";

#[test]
fn a_process_that_loses_sight_of_proc_is_told_what_it_cannot_do() {
    let stage = Stage::new();
    let Some(program) = build(&stage, "without-proc", WITHOUT_PROC, &[]) else { return };
    let empty = stage.path("empty");
    std::fs::create_dir(&empty).expect("our own directory");
    for words in [&[&program as &dyn AsRef<Path>, &empty][..], &[&program]] {
        let output = finish(&mut run(words));
        if output.status.code() == Some(77) {
            skip("namespaces", "no ordinary user changes the root directory or unmounts here");
            continue;
        }
        assert_eq!((said(&output).as_str(), output.status.code()), ("as told\n", Some(0)), "{}", complained(&output));
        assert_line(&complained(&output), &["/proc", "chroot", "no object"]);
    }
}

/// Executes itself with the environment that is wanted and no free descriptor, or many variables; the device stays open.
const CROWDED: &str = "
    #include <sys/resource.h>
    int main(int count, char **arguments) {
        static char *variables[3002], text[3000][16];
        if (count == 2) {
            int device = atoi(arguments[1]), event = make_event(device);
            puts(event >= 0 && set(event) == 0 && wait_for(device, event, 0) == 0 ? \"works\" : strerror(errno));
            return 0;
        }
        struct rlimit limit = {64, 64};
        char number[16], *words[] = {arguments[0], number, 0};
        int device = open(\"/dev/ntsync\", O_RDONLY), many = !strcmp(arguments[1], \"many\");
        sprintf(number, \"%d\", device);
        for (int i = 0; many && i < 3000; i++) sprintf(variables[i] = text[i], \"v%d=x\", i);
        if (!many) {
            setrlimit(RLIMIT_NOFILE, &limit);
            while (open(\"/dev/null\", O_RDONLY | O_CLOEXEC) >= 0);
            if (errno != EMFILE) return 1;
        }
        execve(arguments[0], words, variables);
        return 2;
    }";

#[test]
fn a_full_table_of_descriptors_or_many_variables_do_not_part_a_program_from_the_device() {
    let stage = Stage::new();
    let Some(program) = build(&stage, "crowded", CROWDED, &[]) else { return };
    for how in ["full", "many"] {
        let output = finish(&mut run(&[&program, &how, &"here"]));
        assert_eq!((said(&output).as_str(), complained(&output).as_str()), ("works\n", ""), "{how}");
    }
}

/// A wait that a signal interrupts, one that another thread ends, a bad address; and with an argument, a message that is too long
/// for its buffer, which a sanitizer of addresses must notice behind every library.
const SANITIZED: &str = "
    static void nothing(int signal) {}
    static int device, event;
    static void *waiter(void *argument) { return (void *)(long)wait_for(device, event, 60000); }
    int main(int count, char **arguments) {
        int ends[2];
        char bytes[64] = \"\";
        if (count > 1) {
            struct iovec part = {malloc(8), sizeof bytes};
            struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
            if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) || send(ends[0], bytes, sizeof bytes, 0) < 0) return 1;
            recvmsg(ends[1], &message, 0);
            puts(\"unnoticed\");
            return 0;
        }
        if ((device = open(\"/dev/ntsync\", O_RDONLY | O_CLOEXEC)) < 0) return puts(\"no device\"), 0;
        pthread_t thread;
        void *result;
        struct sigaction action = {.sa_handler = nothing};
        struct itimerval soon = {.it_value = {0, 20000}, .it_interval = {0, 20000}}, never = {{0}};
        event = make_event(device);
        if (pthread_create(&thread, 0, waiter, 0) || set(event) || pthread_join(thread, &result) || result) return 2;
        sigaction(SIGALRM, &action, 0);
        setitimer(ITIMER_REAL, &soon, 0);
        if (wait_for(device, event, 60000) != -1 || errno != EINTR) return 3;
        setitimer(ITIMER_REAL, &never, 0);
        if (ioctl(device, _IOW('N', 0x87, struct event), (void *)8) != -1 || errno != EFAULT) return 4;
        puts(\"works\");
        return 0;
    }";

/// The shared runtimes of gcc. AddressSanitizer's wants to be the first object behind the program.
#[test]
fn a_program_with_a_sanitizer_is_served_and_still_checked() {
    let stage = Stage::new();
    for sanitizer in ["address", "thread", "undefined", "leak"] {
        let Some(program) = build(&stage, sanitizer, SANITIZED, &[&format!("-fsanitize={sanitizer}")]) else {
            continue;
        };
        let text = program.to_str().expect("a plain path");
        let as_expected = |words: &[&str], expected: &str| {
            let output = finish(run(&[&words[0]]).args(&words[1..]));
            let (said, complained) = (said(&output), complained(&output));
            assert_eq!(
                (said.as_str(), complained.as_str(), output.status.code()),
                (expected, "", Some(0)),
                "{words:?}"
            );
        };
        as_expected(&[text], "works\n");
        as_expected(&["sh", "-c", &format!("ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS= '{text}'")], "works\n");
        // Without its device, and with a cleaned environment, it is as without ntux.
        assert_eq!(said(&finish(&mut plain(&[&program]))), "no device\n");
        as_expected(&["env", "-i", text], "no device\n");
        if sanitizer == "address" {
            let output = finish(run(&[&program]).arg("overflow"));
            let report = complained(&output);
            assert!(!output.status.success() && report.contains("heap-buffer-overflow"), "{report}");
        }
    }
}
