/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How much stack each interposed function takes, and programs that start others from where there is hardly any.
 *
 *     stack list                  the calls: name, the interposed function, how much more it may take than without ntux, in bytes
 *     stack used NAME             runs the call on a painted stack, and prints how much of it was used
 *     stack within NAME N STATE   runs the call on a stack that ends N bytes and the bound below, at a page that is not there
 *     stack SCENARIO              one of the programs
 *
 * STATE says who makes the call: a program that has not used the device (plain), a thread that has (used), another thread of that
 * program (fresh), or a child of it (forked). In the last three, descriptors of the device are passed on. Or a program that has
 * opened its page map, and the file that clears soft-dirty bits (watched).
 */
#include "device.h"
#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>

/* What the C library lacks is asked for (dlsym) at each call. */
enum { AS_SAFE = 2048, TO_ASK = 2560, SIZE = 256 << 10, PAINT = 0xa5 };

static int device, ev, sem, mut, foreign, executable, sockets[2];
static volatile long result;

/* Calls `work` with the stack pointer at `top`. */
void on_stack(void *top, void (*work)(void));
__asm__(".text\n.globl on_stack\n.type on_stack, %function\non_stack:\n"
#ifdef __x86_64__
        "push %rbp\n mov %rsp, %rbp\n mov %rdi, %rsp\n call *%rsi\n mov %rbp, %rsp\n pop %rbp\n ret\n");
#else
        "stp x29, x30, [sp, #-16]!\n mov x29, sp\n mov sp, x0\n blr x1\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n");
#endif

/* Calls that start a program: what fails is seen by the status. */
static char *const arguments[] = {"true", NULL};
static char *const cleaned[] = {"A=b", NULL};
extern char **environ;
static pid_t process;
#define CALL(name, ...) static void name(void) { __VA_ARGS__; }
CALL(execve_all, execve("/bin/true", arguments, environ); _exit(9))
CALL(execve_cleaned, execve("/bin/true", arguments, cleaned); _exit(9))
CALL(execv_all, execv("/bin/true", arguments); _exit(9))
CALL(execvp_all, execvp("true", arguments); _exit(9))
CALL(execvpe_cleaned, execvpe("true", arguments, cleaned); _exit(9))
CALL(execl_all, execl("/bin/true", "true", "1", "2", "3", "4", "5", "6", "7", NULL); _exit(9))
CALL(execlp_all, execlp("true", "true", NULL); _exit(9))
CALL(execle_cleaned, execle("/bin/true", "true", NULL, cleaned); _exit(9))
CALL(fexecve_cleaned, fexecve(executable, arguments, cleaned); _exit(9))
CALL(execveat_cleaned, syscall(SYS_gettid); execveat(executable, "", arguments, cleaned, AT_EMPTY_PATH); _exit(9))
CALL(vfork_execve_cleaned, if (vfork() == 0) { execve("/bin/true", arguments, cleaned); _exit(9); })
CALL(spawn_all, result = posix_spawn(&process, "/bin/true", NULL, NULL, arguments, environ); CHECK(result == 0))
CALL(spawn_cleaned, result = posix_spawn(&process, "/bin/true", NULL, NULL, arguments, cleaned); CHECK(result == 0))
CALL(spawnp_cleaned, result = posix_spawnp(&process, "true", NULL, NULL, arguments, cleaned); CHECK(result == 0))

/* Calls with paths. */
static struct stat status;
static struct statx status_x;
static glob_t found;
CALL(open_file, result = open("/dev/null", O_RDONLY))
CALL(open_nothing, result = open("/nowhere", O_RDONLY))
CALL(open_the_device, result = open("/dev/ntsync", O_RDONLY))
CALL(open_the_device_otherwise, result = open("/dev/../dev/ntsync", O_RDONLY))
CALL(openat_file, result = openat(AT_FDCWD, "/dev/null", O_RDONLY))
CALL(openat_the_device, result = openat(AT_FDCWD, "/dev/ntsync", O_RDONLY))
CALL(fopen_the_device, result = (long)fopen("/dev/ntsync", "r"))
CALL(access_file, result = access("/dev/null", R_OK))
CALL(access_the_device_otherwise, result = access("/dev/../dev/ntsync", R_OK))
CALL(faccessat_the_device, result = faccessat(AT_FDCWD, "/dev/ntsync", R_OK, 0))
CALL(stat_file, result = stat("/dev/null", &status))
CALL(stat_the_device_otherwise, result = stat("/dev/../dev/ntsync", &status))
CALL(lstat_the_device, result = lstat("/dev/ntsync", &status))
CALL(fstatat_the_device, result = fstatat(AT_FDCWD, "/dev/ntsync", &status, 0))
CALL(statx_the_device, result = statx(AT_FDCWD, "/dev/ntsync", 0, STATX_BASIC_STATS, &status_x))
CALL(fstat_file, result = fstat(foreign, &status))
CALL(fstat_event, result = fstat(ev, &status))
CALL(realpath_the_device, result = (long)realpath("/dev/ntsync", NULL))
CALL(dlopen_plainly, result = dlopen("libc.so.6", RTLD_NOW) != NULL)
CALL(dlopen_deep, result = dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND) != NULL)
CALL(dlopen_deep_nothing, result = dlopen("/nowhere", RTLD_NOW | RTLD_DEEPBIND) == NULL)
CALL(dlmopen_apart, result = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW) != NULL)
CALL(glob_the_device, result = glob("/dev/ntsync", 0, NULL, &found))

/* Calls with descriptors. */
CALL(close_file, result = close(foreign))
CALL(close_event, result = close(ev))
CALL(close_device, result = close(device))
CALL(close_range_all, result = syscall(SYS_gettid); close_range(3, ~0u, 0))
CALL(dup_file, result = dup(foreign))
CALL(dup_event, result = dup(ev))
CALL(dup2_event, result = dup2(ev, mut))
CALL(dup3_event, result = dup3(ev, mut, O_CLOEXEC))
CALL(fcntl_file, result = fcntl(foreign, F_GETFD))
CALL(fcntl_copies_event, result = fcntl(ev, F_DUPFD, 0))
CALL(fcntl_keeps_event, result = fcntl(ev, F_SETFD, 0))
CALL(unshare_files, result = unshare(CLONE_FILES))

static char byte[1];
static struct iovec bytes = {byte, 1};
static union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
static struct msghdr message;
static void attach(int fd)
{
    message = (struct msghdr){.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
}
static void attach_event(void) { attach(device ? ev : foreign); }
static void arrive(void)
{
    attach_event();
    CHECK(sendmsg(sockets[0], &message, 0) == 1);
}
CALL(sendmsg_event, result = sendmsg(sockets[0], &message, 0))
CALL(recvmsg_event, result = recvmsg(sockets[1], &message, 0))
CALL(recvmsg_event_closed_on_exec, result = recvmsg(sockets[1], &message, MSG_CMSG_CLOEXEC))

/* Signals and processes. */
static void handler(int signal) { (void)signal; }
static struct sigaction action = {.sa_handler = handler};
CALL(sigaction_handler, result = sigaction(SIGUSR1, &action, NULL))
CALL(signal_handler, signal(SIGUSR1, handler))
CALL(fork_process, if (fork() == 0) _exit(0))

/* Functions by their names: some have no declaration, and some not every C library has. */
static void *function;
#define BY_NAME(type, ...) (function ? ((type)function)(__VA_ARGS__) : 0)
typedef int with_path(const char *, ...), with_number(int, ...);
typedef void *with_mode(const char *, const char *, FILE *);
typedef long with_handler(int, void (*)(int));
static struct { uint64_t flags, mode, resolve; } how;
static char path_room[4096];
static void *stream;
static struct mmsghdr messages[2];
CALL(opens, result = BY_NAME(with_path *, "/dev/../dev/ntsync", O_RDONLY, 0))
CALL(opens_at, result = BY_NAME(with_number *, AT_FDCWD, "/dev/../dev/ntsync", O_RDONLY, 0))
CALL(opens_how, result = BY_NAME(with_number *, AT_FDCWD, "/dev/../dev/ntsync", &how, sizeof how))
CALL(opens_stream, result = (long)BY_NAME(with_mode *, "/dev/../dev/ntsync", "r", stream))
CALL(finds_access, result = BY_NAME(with_path *, "/dev/../dev/ntsync", R_OK))
CALL(tells_status, result = BY_NAME(with_path *, "/dev/../dev/ntsync", &status))
CALL(tells_status_at, result = BY_NAME(with_number *, AT_FDCWD, "/dev/../dev/ntsync", &status, 0))
CALL(tells_status_of, result = BY_NAME(with_number *, device ? ev : foreign, &status))
CALL(tells_old_status, result = BY_NAME(with_number *, 1, "/dev/../dev/ntsync", &status))
CALL(tells_old_status_at, result = BY_NAME(with_number *, 1, AT_FDCWD, "/dev/../dev/ntsync", &status, 0))
CALL(tells_old_status_of, result = BY_NAME(with_number *, 1, device ? ev : foreign, &status))
CALL(names_path, result = BY_NAME(with_path *, "/dev/../dev/ntsync", path_room, sizeof path_room))
CALL(finds_paths, result = BY_NAME(with_path *, "/dev/ntsync", 0, NULL, &found))
CALL(takes_number, result = BY_NAME(with_number *, device ? ev : foreign))
CALL(takes_numbers, result = BY_NAME(with_number *, device ? ev : foreign, device ? mut : 0))
CALL(takes_command, result = BY_NAME(with_number *, device ? ev : foreign, F_DUPFD, 0))
CALL(closes_all, result = BY_NAME(with_number *, 3))
CALL(takes_stream, result = BY_NAME(int (*)(void *), stream))
CALL(runs_command, result = (long)BY_NAME(with_mode *, "exit 0", "r", NULL))
CALL(expands, result = BY_NAME(with_path *, "$(exit 0)", path_room, 0))
CALL(takes_message, result = BY_NAME(with_number *, sockets[0], messages, 1, 0, NULL))
CALL(gives_message, result = BY_NAME(with_number *, sockets[1], messages, 1, 0, NULL))
CALL(takes_from_process, result = BY_NAME(with_number *, process, device ? ev : foreign, 0))
CALL(takes_signal, result = BY_NAME(with_handler *, SIGUSR1, handler))
CALL(ignores_signal, result = BY_NAME(with_number *, SIGUSR1))
CALL(interrupts, result = BY_NAME(with_number *, SIGUSR1, 1))
CALL(takes_signal_and_action, result = BY_NAME(with_number *, SIGUSR1, &action, NULL))
CALL(takes_mask, result = BY_NAME(with_number *, SIG_BLOCK, path_room, NULL))
CALL(becomes_daemon, result = BY_NAME(with_number *, 1, 0); CHECK(result == 0))
CALL(becomes_session, setsid(); result = BY_NAME(with_number *, device ? ev : foreign))
CALL(forks, if (BY_NAME(int (*)(void)) == 0) _exit(0))
CALL(takes_actions, result = BY_NAME(int (*)(void *, int, int), path_room, device ? ev : foreign, 9))
static int visit(struct dl_phdr_info *object, size_t size, void *nothing)
{
    (void)object, (void)size, (void)nothing;
    return 0;
}
CALL(visits, result = BY_NAME(int (*)(void *, void *), visit, NULL))
static int ends(void *nothing)
{
    (void)nothing;
    _exit(0);
}
static char room_of_child[16384] __attribute__((aligned(16)));
static int clone_flags;
CALL(clones, result = BY_NAME(int (*)(void *, void *, int, void *), ends, room_of_child + sizeof room_of_child,
                              clone_flags | SIGCHLD, NULL))

/* What soft-dirty bits are made with: a page map, and the file that clears them. */
static int pagemap, clear_refs;
static char text[16] = "4";
static uint64_t entries[64];
CALL(reads, result = BY_NAME(with_number *, pagemap, entries, sizeof entries, sizeof entries))
CALL(reads_at, result = BY_NAME(int (*)(int, void *, size_t, off_t, size_t), pagemap, entries, sizeof entries, 0, sizeof entries))
CALL(writes, result = BY_NAME(with_number *, clear_refs, text, (size_t)1))
CALL(writes_at, result = BY_NAME(int (*)(int, void *, size_t, off_t), clear_refs, text, 1, 0))
CALL(reads_stream, result = BY_NAME(int (*)(void *, size_t, size_t, void *), entries, 8, 64, stream))
CALL(reads_stream_checked,
     result = BY_NAME(int (*)(void *, size_t, size_t, size_t, void *), entries, sizeof entries, 8, 64, stream))
static void open_pagemap(void) { CHECK((stream = fdopen(pagemap, "r")) != NULL); }
static void begin_writing(void)
{
    CHECK((stream = fdopen(clear_refs, "w")) != NULL && fwrite(text, 1, 1, stream) == 1);
}
static void watch_memory(void)
{
    pagemap = open("/proc/self/pagemap", O_RDONLY), clear_refs = open("/proc/self/clear_refs", O_WRONLY);
    CHECK(pagemap >= 0 && clear_refs >= 0);
}

static void open_stream(void) { CHECK((stream = fopen("/dev/null", "r")) != NULL); }
static void open_directory(void) { CHECK((stream = opendir("/")) != NULL); }
static void open_command(void) { CHECK((stream = popen("exit 0", "r")) != NULL); }
static void start_actions(void) { CHECK(posix_spawn_file_actions_init((void *)path_room) == 0); }
static void share_memory(void) { clone_flags = CLONE_VM; }
static void borrow_memory(void) { clone_flags = CLONE_VM | CLONE_VFORK; }
static void attach_to_many(void) { attach_event(), messages[0].msg_hdr = message; }
static void arrive_for_many(void) { arrive(), messages[0].msg_hdr = message; }
static void open_process(void) { CHECK((process = syscall(SYS_pidfd_open, getpid(), 0)) >= 0); }

/* Requests of the device, and what is no business of signal handlers. */
static int objects[64];
static struct wait_args many;
static uint32_t previous;
static void wait_for_many(void)
{
    for (int i = 0; device && i < 64; i++)
        objects[i] = event(device, 0, 0);
    many = (struct wait_args){.timeout = now() + 20000000, .objs = (uintptr_t)objects, .count = 64, .owner = 1};
}
static void wait_for_one(void)
{
    wait_for_many();
    many.count = 1;
}
static struct event_args state;
static struct sem_args count;
static struct mutex_args owner;
static void one(void) { previous = 1; }
static void own(void)
{
    owner = (struct mutex_args){1, 1};
    if (device)
        mut = mutex(device, 1, 1);
}
CALL(ioctl_sets, result = ioctl(ev, EVENT_SET, &previous))
CALL(ioctl_resets, result = ioctl(ev, EVENT_RESET, &previous))
CALL(ioctl_pulses, result = ioctl(ev, EVENT_PULSE, &previous))
CALL(ioctl_reads_event, result = ioctl(ev, EVENT_READ, &state))
CALL(ioctl_releases, result = ioctl(sem, SEM_RELEASE, &previous))
CALL(ioctl_reads_semaphore, result = ioctl(sem, SEM_READ, &count))
CALL(ioctl_unlocks, result = ioctl(mut, MUTEX_UNLOCK, &owner))
CALL(ioctl_abandons, result = ioctl(mut, MUTEX_KILL, &owner.owner))
CALL(ioctl_reads_mutex, result = ioctl(mut, MUTEX_READ, &owner))
CALL(ioctl_creates, result = ioctl(device, CREATE_EVENT, &state))
CALL(ioctl_waits_for_any, result = ioctl(device, WAIT_ANY, &many))
CALL(ioctl_waits_for_all, result = ioctl(device, WAIT_ALL, &many))

static uint32_t word;
static struct { uint64_t address; uint32_t value, bits; } block = {0, 1, UINT32_MAX};
static void name_word(void) { block.address = (uintptr_t)&word; }
CALL(syscall_waits_for_multiple, result = syscall(SYS_futex, &block, 31, 1, NULL, 0, 0))

static pthread_t idle;
static void *pauses(void *nothing)
{
    pause();
    return nothing;
}
static void start_idle(void) { CHECK(pthread_create(&idle, NULL, pauses, NULL) == 0); }
CALL(cancel_thread, result = pthread_cancel(idle))

static const struct call {
    const char *name, *function;
    void (*work)(void), (*before)(void);
    int bound;
} calls[] = {
#define SAFE(function, name) {#name, #function, name, NULL, AS_SAFE}
#define SAFE_AFTER(function, name, before) {#name, #function, name, before, AS_SAFE}
    SAFE(execve, execve_all), SAFE(execve, execve_cleaned), SAFE(execv, execv_all), SAFE(execvp, execvp_all),
    SAFE(execvpe, execvpe_cleaned), SAFE(execl, execl_all), SAFE(execlp, execlp_all), SAFE(execle, execle_cleaned),
    SAFE(fexecve, fexecve_cleaned), SAFE(execveat, execveat_cleaned), SAFE(execve, vfork_execve_cleaned),
    SAFE(posix_spawn, spawn_all), SAFE(posix_spawn, spawn_cleaned), SAFE(posix_spawnp, spawnp_cleaned),
    SAFE(open, open_file), SAFE(open, open_nothing), SAFE(open, open_the_device), SAFE(open, open_the_device_otherwise),
    SAFE(openat, openat_file), SAFE(openat, openat_the_device), SAFE(fopen, fopen_the_device), SAFE(access, access_file),
    SAFE(access, access_the_device_otherwise), SAFE(faccessat, faccessat_the_device), SAFE(stat, stat_file),
    SAFE(stat, stat_the_device_otherwise), SAFE(lstat, lstat_the_device), SAFE(fstatat, fstatat_the_device),
    SAFE(statx, statx_the_device), SAFE(fstat, fstat_file), SAFE(fstat, fstat_event), SAFE(realpath, realpath_the_device),
    SAFE(dlopen, dlopen_plainly), SAFE(dlopen, dlopen_deep), SAFE(dlopen, dlopen_deep_nothing), SAFE(dlmopen, dlmopen_apart),
    {"glob_the_device", "glob", glob_the_device, NULL, 4096},
    SAFE(close, close_file), SAFE(close, close_event), SAFE(close, close_device), SAFE(close_range, close_range_all),
    SAFE(dup, dup_file), SAFE(dup, dup_event), SAFE(dup2, dup2_event), SAFE(dup3, dup3_event), SAFE(fcntl, fcntl_file),
    SAFE(fcntl, fcntl_copies_event), SAFE(fcntl, fcntl_keeps_event), SAFE(unshare, unshare_files),
    SAFE_AFTER(sendmsg, sendmsg_event, attach_event), SAFE_AFTER(recvmsg, recvmsg_event, arrive),
    SAFE_AFTER(recvmsg, recvmsg_event_closed_on_exec, arrive),
    SAFE(sigaction, sigaction_handler), SAFE(signal, signal_handler), SAFE(fork, fork_process),
    SAFE(ioctl, ioctl_sets), SAFE(ioctl, ioctl_resets), SAFE(ioctl, ioctl_pulses), SAFE(ioctl, ioctl_reads_event),
    SAFE_AFTER(ioctl, ioctl_releases, one), SAFE(ioctl, ioctl_reads_semaphore), SAFE_AFTER(ioctl, ioctl_unlocks, own),
    SAFE_AFTER(ioctl, ioctl_abandons, own), SAFE(ioctl, ioctl_reads_mutex),
    {"ioctl_creates", "ioctl", ioctl_creates, NULL, 8192},
    {"ioctl_waits_for_one", "ioctl", ioctl_waits_for_any, wait_for_one, 4096},
    {"ioctl_waits_for_any", "ioctl", ioctl_waits_for_any, wait_for_many, 8192},
    {"ioctl_waits_for_all", "ioctl", ioctl_waits_for_all, wait_for_many, 8192},
    {"syscall_waits_for_multiple", "syscall", syscall_waits_for_multiple, name_word, 10240},
    {"cancel_thread", "pthread_cancel", cancel_thread, start_idle, 4096},
    /* By name, in the order of what they take. */
#define NAMED(function, work) {#function, #function, work, NULL, AS_SAFE}
#define NAMED_AFTER(function, work, before) {#function, #function, work, before, AS_SAFE}
    NAMED(open64, opens), NAMED(__open, opens), NAMED(__open64, opens), NAMED(__open_2, opens), NAMED(__open64_2, opens),
    NAMED(openat64, opens_at), NAMED(__openat_2, opens_at), NAMED(__openat64_2, opens_at), NAMED(openat2, opens_how),
    NAMED(fopen64, opens_stream), NAMED_AFTER(freopen, opens_stream, open_stream),
    NAMED_AFTER(freopen64, opens_stream, open_stream),
    NAMED(eaccess, finds_access), NAMED(euidaccess, finds_access),
    NAMED(stat64, tells_status), NAMED(lstat64, tells_status), NAMED(fstatat64, tells_status_at),
    NAMED(fstat64, tells_status_of), NAMED(__xstat, tells_old_status), NAMED(__xstat64, tells_old_status),
    NAMED(__lxstat, tells_old_status), NAMED(__lxstat64, tells_old_status), NAMED(__fxstatat, tells_old_status_at),
    NAMED(__fxstatat64, tells_old_status_at), NAMED(__fxstat, tells_old_status_of), NAMED(__fxstat64, tells_old_status_of),
    NAMED(__realpath_chk, names_path), NAMED(canonicalize_file_name, names_path),
    {"glob64", "glob64", finds_paths, NULL, 4096},
    NAMED(__close, takes_number), NAMED(mq_close, takes_number), NAMED(closefrom, closes_all), NAMED(__dup2, takes_numbers),
    NAMED(fcntl64, takes_command), NAMED(__fcntl, takes_command),
    NAMED_AFTER(fclose, takes_stream, open_stream), NAMED_AFTER(_IO_fclose, takes_stream, open_stream),
    NAMED_AFTER(pclose, takes_stream, open_command), NAMED_AFTER(closedir, takes_stream, open_directory),
    NAMED(system, runs_command), NAMED(popen, runs_command), NAMED(wordexp, expands),
    NAMED_AFTER(sendmmsg, takes_message, attach_to_many), NAMED_AFTER(recvmmsg, gives_message, arrive_for_many),
    NAMED_AFTER(pidfd_getfd, takes_from_process, open_process),
    NAMED(__sigaction, takes_signal_and_action), NAMED(bsd_signal, takes_signal), NAMED(ssignal, takes_signal),
    NAMED(sysv_signal, takes_signal), NAMED(__sysv_signal, takes_signal), NAMED(sigset, takes_signal),
    NAMED(sigignore, ignores_signal), NAMED(siginterrupt, interrupts),
    NAMED(sigprocmask, takes_mask), NAMED(pthread_sigmask, takes_mask),
    NAMED(daemon, becomes_daemon), NAMED(login_tty, becomes_session), NAMED(_Fork, forks),
    NAMED(clone, clones), NAMED(__clone, clones),
    {"clone_with_memory", "clone", clones, share_memory, AS_SAFE}, {"clone_borrows_memory", "clone", clones, borrow_memory, AS_SAFE},
    NAMED_AFTER(posix_spawn_file_actions_adddup2, takes_actions, start_actions),
    NAMED(dl_iterate_phdr, visits),
    /* Those that only preload-watch stands in front of. */
    NAMED(read, reads), NAMED(__read_chk, reads), NAMED(pread, reads_at), NAMED(pread64, reads_at),
    NAMED(__pread_chk, reads_at), NAMED(__pread64_chk, reads_at), NAMED(write, writes), NAMED(pwrite, writes_at),
    NAMED(pwrite64, writes_at), NAMED_AFTER(fread, reads_stream, open_pagemap),
    NAMED_AFTER(fread_unlocked, reads_stream, open_pagemap), NAMED_AFTER(__fread_chk, reads_stream_checked, open_pagemap),
    NAMED_AFTER(__fread_unlocked_chk, reads_stream_checked, open_pagemap), NAMED_AFTER(fflush, takes_stream, begin_writing),
    {"fclose_clears", "fclose", takes_stream, begin_writing, AS_SAFE},
};

/* More than it may take: the harness is able to fail. */
__attribute__((noinline)) static void take(void)
{
    volatile char room[AS_SAFE + 1024];
    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = 0;
    result = room[17];
}
CALL(takes_too_much, if (getenv("LD_PRELOAD")) take())
static const struct call greedy = {"takes_too_much", "malloc", takes_too_much, NULL, AS_SAFE};

static const struct call *call_of(const char *name)
{
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    CHECK(strcmp(greedy.name, name) == 0);
    return &greedy;
}

static void use_the_device(void)
{
    device = open("/dev/ntsync", O_RDONLY);
    CHECK(device >= 0);
    ev = event(device, 0, 0), sem = semaphore(device, 3, 5), mut = mutex(device, 0, 0);
    set(ev);
    CHECK(fcntl(ev, F_SETFD, 0) == 0);
}

/*
 * The end of a painted stack, or of one with a page missing below so many bytes. A program that replaces this one cannot say how much
 * it used, so the stack is shared with who asks. A process that forks on it would write over the frames of its own child.
 */
static char *stack_of(size_t length, int sharing)
{
    size_t page = sysconf(_SC_PAGESIZE), whole = (length + page - 1) / page * page;
    char *memory = mmap(NULL, page + whole, PROT_NONE, sharing | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + page, whole, PROT_READ | PROT_WRITE) == 0);
    memset(memory + page, PAINT, whole);
    return memory + page + (length + 15) / 16 * 16;
}

static char *top;
static const struct call *current;
/* How much of its stack a call that forks took, by the process that comes back from it. */
static long *measured;

static long taken(void)
{
    unsigned char *lowest = (unsigned char *)top - SIZE;
    while (lowest < (unsigned char *)top && *lowest == PAINT)
        lowest++;
    return (unsigned char *)top - lowest;
}

static void *run(void *nothing)
{
    on_stack(top, current->work);
    if (measured)
        *measured = taken();
    return nothing;
}

static void *run_as_thread(void *nothing)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, NULL) == 0);
    return nothing;
}

/* In a child, because the call may execute a program. Waits for what the child leaves behind, too, as a daemon. */
static void run_in_child(void *(*how)(void *), void (*first)(void))
{
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (first)
            first();
        if (current->before)
            current->before();
        how(NULL);
        for (int ended; wait(&ended) > 0;)
            CHECK(ended == 0);
        _exit(0);
    }
    for (int ended; wait(&ended) > 0;)
        if (ended != 0) {
            dprintf(2, "%s: ended with status %#x\n", current->name, ended);
            _exit(1);
        }
}

static void choose(const char *name)
{
    current = call_of(name);
    function = dlsym(RTLD_DEFAULT, current->function);
}

static int used(const char *name)
{
    choose(name);
    void (*work)(void) = current->work;
    int is_forking = work == fork_process || work == forks || work == becomes_daemon || work == clones;
    if (is_forking)
        measured = mmap(NULL, sizeof *measured, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(measured != MAP_FAILED);
    top = stack_of(SIZE, is_forking ? MAP_PRIVATE : MAP_SHARED);
    run_in_child(run, NULL);
    printf("%ld\n", (is_forking ? *measured : taken()) + (function ? 0 : TO_ASK));
    return 0;
}

static int within(const char *name, int native, const char *state)
{
    choose(name);
    top = stack_of(native + current->bound, MAP_PRIVATE);
    if (strcmp(state, "plain") == 0)
        run_in_child(run, NULL);
    else if (strcmp(state, "used") == 0)
        run_in_child(run, use_the_device);
    else if (strcmp(state, "watched") == 0)
        run_in_child(run, watch_memory);
    else if (strcmp(state, "fresh") == 0)
        run_in_child(run_as_thread, use_the_device);
    else {
        CHECK(strcmp(state, "forked") == 0);
        use_the_device();
        run_in_child(run, NULL);
    }
    return 0;
}

/* What a crash reporter does, on an alternate stack as small as many have. */
static volatile pid_t reporter;
static void report(int signal)
{
    (void)signal;
    reporter = fork();
    if (reporter == 0) {
        execl("/bin/true", "true", "reports", "the", "crash", NULL);
        _exit(9);
    }
    int ended;
    CHECK(waitpid(reporter, &ended, 0) == reporter && ended == 0);
    reporter = fork();
    if (reporter == 0) {
        execle("/bin/true", "true", "with", "a", "cleaned", "environment", NULL, cleaned);
        _exit(9);
    }
    CHECK(waitpid(reporter, &ended, 0) == reporter && ended == 0);
    _exit(0);
}

static void crash_is_reported(void)
{
    size_t page = sysconf(_SC_PAGESIZE), size = 8192;
    char *memory = mmap(NULL, page + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    CHECK(sigaltstack(&stack, NULL) == 0);
    struct sigaction act = {.sa_handler = report, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGSEGV, &act, NULL) == 0);
    *(volatile char *)memory = 0;
    CHECK(!"it crashes");
}

static void crash_of_a_user_is_reported(void)
{
    use_the_device();
    crash_is_reported();
}

static void *spawn_some(void *nothing)
{
    spawn_all(), spawn_cleaned(), spawnp_cleaned();
    return nothing;
}

static void spawned_by_a_small_thread(void)
{
    /* The least that the C library takes. */
#ifdef __aarch64__
    enum { SMALL = 128 << 10 };
#else
    enum { SMALL = 16 << 10 };
#endif
    for (int uses = 0; uses < 2; uses++) {
        pthread_t thread;
        pthread_attr_t small;
        CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, SMALL) == 0);
        CHECK(pthread_create(&thread, &small, spawn_some, NULL) == 0 && pthread_join(thread, NULL) == 0);
        for (int ended, i = 0; i < 3; i++)
            CHECK(wait(&ended) > 0 && ended == 0);
        use_the_device();
    }
}

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c; (c = fgetc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

static void start_borrowed(int there)
{
    pid_t child = vfork();
    if (child == 0) {
        execve(there ? "/bin/true" : "/nowhere", arguments, cleaned);
        _exit(0);
    }
    int ended;
    CHECK(child > 0 && waitpid(child, &ended, 0) == child && ended == 0);
}

/* What a child of vfork needed until it executed a program is used again. */
static void nothing_stays_in_borrowed_memory(void)
{
    int before = 0;
    use_the_device();
    for (int i = 0; i < 300; i++) {
        start_borrowed(i % 2);
        if (i == 10)
            before = mappings();
    }
    CHECK(mappings() <= before);
}

/* A cleaned environment of any length is completed. */
static const char *self;
static void many_variables(void)
{
    enum { MANY = 5000 };
    static char text[MANY][16], number[16], *variables[MANY + 1];
    for (int i = 0; i < MANY; i++)
        sprintf(text[i], "V%d=%d", i, i), variables[i] = text[i];
    use_the_device();
    sprintf(number, "%d", ev);
    char *const list[] = {"stack", "sees_variables", number, NULL};
    execve(self, list, variables);
    CHECK(!"it is started");
}

static void sees_variables(int fd)
{
    char name[16];
    for (int i = 0; i < 5000; i++) {
        sprintf(name, "V%d", i);
        CHECK(getenv(name) && atoi(getenv(name)) == i);
    }
    CHECK(getenv("LD_PRELOAD") && set(fd) == 1);
}

/* What the kernel cannot read is its business: no call crashes, nothing is started. */
static void bad_pointers_are_told(void)
{
    size_t page = sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = memory + page;
    CHECK(memory != MAP_FAILED && mprotect(memory, page, PROT_READ | PROT_WRITE) == 0);
    char **volatile nowhere = (char **)8, **saved = environ;
    char *nothing = (char *)nowhere, *list = end - 13, *mark = end - 6;
    for (int uses = 0; uses < 2; uses++) {
        char **endless = (char **)(end - 8), **crooked = (char **)(memory + 1);
        char *wrong[] = {"A=b", nothing, NULL}, *cut[] = {"A=b", list, NULL}, *shorter[] = {mark, NULL};
        char **environments[] = {nowhere, (char **)end, wrong, cut, shorter, endless, crooked};
        for (unsigned i = 0; i < sizeof environments / sizeof *environments; i++) {
            char **bad = environments[i];
            memset(memory, 'x', page);
            if (bad == cut)
                memcpy(list, "LD_PRELOAD=/a", 13);
            else if (bad == shorter)
                memcpy(mark, "NTUX_H", 6);
            else if (bad == endless)
                *endless = "A=b";
            else if (bad == crooked)
                memcpy(crooked, wrong, sizeof wrong);
            REFUSED(execve("/bin/true", arguments, bad), EFAULT);
            REFUSED(execvpe("true", arguments, bad), EFAULT);
            REFUSED(execle("/bin/true", "true", NULL, bad), EFAULT);
            REFUSED(fexecve(executable, arguments, bad), EFAULT);
            REFUSED(execveat(executable, "", arguments, bad, AT_EMPTY_PATH), EFAULT);
            CHECK(posix_spawn(&process, "/bin/true", NULL, NULL, arguments, bad) == EFAULT);
            CHECK(posix_spawnp(&process, "true", NULL, NULL, arguments, bad) == EFAULT);
            environ = bad;
            REFUSED(execv("/bin/true", arguments), EFAULT);
            environ = saved;
        }
        char **environments_that_are_well[] = {saved, (char **)cleaned, NULL};
        for (int i = 0; i < 3; i++) {
            char **well = environments_that_are_well[i], *arguments_with_hole[] = {"true", nothing, NULL};
            REFUSED(execve("/bin/true", nowhere, well), EFAULT);
            REFUSED(execve("/bin/true", arguments_with_hole, well), EFAULT);
            REFUSED(execve(nothing, arguments, well), EFAULT);
            REFUSED(execve(list, arguments, well), EFAULT);
            REFUSED(execveat(AT_FDCWD, list, arguments, well, 0), EFAULT);
            CHECK(posix_spawn(&process, list, NULL, NULL, arguments, well) == EFAULT);
        }
        use_the_device();
    }
}

int main(int count, char **given)
{
    watchdog(60);
    self = given[0];
    CHECK(count > 1);
    const char *what = given[1];
    foreign = open("/dev/null", O_RDONLY), executable = open("/bin/true", O_RDONLY | O_CLOEXEC);
    CHECK(foreign >= 0 && executable >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pagemap = open("/bin/true", O_RDONLY), clear_refs = open("/dev/null", O_WRONLY);
    CHECK(pagemap >= 0 && clear_refs >= 0);
#define SCENARIO(name) if (strcmp(what, #name) == 0) return name(), 0
    SCENARIO(crash_is_reported);
    SCENARIO(crash_of_a_user_is_reported);
    SCENARIO(spawned_by_a_small_thread);
    SCENARIO(nothing_stays_in_borrowed_memory);
    SCENARIO(many_variables);
    SCENARIO(bad_pointers_are_told);
    if (strcmp(what, "sees_variables") == 0)
        return sees_variables(atoi(given[2])), 0;
    if (strcmp(what, "used") == 0)
        return used(given[2]);
    if (strcmp(what, "within") == 0)
        return within(given[2], atoi(given[3]), given[4]);
    CHECK(strcmp(what, "list") == 0);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        printf("%s %s %d\n", calls[i].name, calls[i].function, calls[i].bound);
    return 0;
}
