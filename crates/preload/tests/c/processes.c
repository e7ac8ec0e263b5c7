/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Descriptors as descriptors: dup, fork, exec, passing, closing, running out. The first argument is the scenario. */
#include "device.h"

#include <link.h>

static int device;

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    int lines = 0, byte;
    while ((byte = fgetc(maps)) != EOF)
        lines += byte == '\n';
    fclose(maps);
    return lines;
}

/* What a conservative collector takes for roots: memory of the library that can be written. */
static int add_roots(struct dl_phdr_info *object, size_t size, void *sum)
{
    (void)size;
    if (!strstr(object->dlpi_name, "libntux_preload"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_W)
            *(size_t *)sum += object->dlpi_phdr[i].p_memsz;
    return 0;
}

static void tables_are_small(void)
{
    size_t roots = 0;
    dl_iterate_phdr(add_roots, &roots);
    if (roots == 0 || roots > 1 << 20) {
        dprintf(2, "%zu bytes\n", roots);
        _exit(1);
    }
}

/* What is known of descriptors lies in 16 MiB of memory of its own, if there is any. */
static void cache_is_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    unsigned long start, end, inode, found = 0;
    char access[5], rest[4096];
    while (fscanf(maps, "%lx-%lx %4s %*s %*s %lu%4095[^\n]", &start, &end, access, &inode, rest) >= 4)
        found += inode == 0 && strcmp(access, "rw-p") == 0 && end - start >= 16 << 20;
    fclose(maps);
    CHECK(found == 1);
}

/* The lowest free numbers, close-on-exec, one descriptor for each. */
static void numbers_and_flags(void)
{
    int before = descriptors();
    int plain = open("/dev/ntsync", O_RDWR), exec = openat(AT_FDCWD, "/dev/ntsync", O_RDONLY | O_CLOEXEC);
    CHECK(plain == device + 1 && exec == device + 2 && descriptors() == before + 2);
    CHECK(fcntl(plain, F_GETFD) == 0 && fcntl(exec, F_GETFD) == FD_CLOEXEC);
    close(plain);
    int fd = event(exec, 0, 0);
    CHECK(fd == plain && fcntl(fd, F_GETFD) == FD_CLOEXEC && descriptors() == before + 2);
    CHECK(open64("/dev//ntsync", O_WRONLY) >= 0);
    CHECK(chdir("/dev") == 0 && open("ntsync", O_RDONLY) >= 0 && open("./ntsync", O_RDONLY) >= 0);
    CHECK(chdir("/") == 0);
    REFUSED(open("ntsync", O_RDONLY), ENOENT);
    REFUSED(open("/dev/ntsync/", O_RDONLY), ENOENT);
    REFUSED(open("/dev/ntsync", O_RDONLY | O_DIRECTORY), ENOTDIR);
    REFUSED(open("/dev/ntsynd", O_RDONLY), ENOENT);
    const char *volatile nowhere = NULL;
    REFUSED(open(nowhere, O_RDONLY), EFAULT);
}

/* Who looks before opening sees a device node. */
static void looking_first(void)
{
    struct stat status;
    struct statx more;
    int dev = open("/dev", O_RDONLY | O_DIRECTORY);
    errno = 12345;
    CHECK(access("/dev/ntsync", R_OK | W_OK) == 0 && faccessat(dev, "ntsync", F_OK, 0) == 0 && errno == 12345);
    REFUSED(access("/dev/ntsync", X_OK), EACCES);
    REFUSED(access("/dev/ntsynd", F_OK), ENOENT);
    CHECK(stat("/dev/ntsync", &status) == 0 && S_ISCHR(status.st_mode) && (status.st_mode & 0777) == 0666);
    CHECK(lstat("/dev/ntsync", &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev != 0);
    CHECK(fstatat(dev, "ntsync", &status, 0) == 0 && S_ISCHR(status.st_mode));
    CHECK(statx(AT_FDCWD, "/dev/ntsync", 0, STATX_BASIC_STATS, &more) == 0 && S_ISCHR(more.stx_mode));
    REFUSED(stat("/dev/ntsynd", &status), ENOENT);
    CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode) && fstat(dev, &status) == 0);
    struct stat *volatile nowhere = NULL;
    REFUSED(stat("/dev/null", nowhere), EFAULT);
}

static void copies_mean_the_same(void)
{
    int fd = event(device, 1, 0), copy = dup(fd), far = fcntl(fd, F_DUPFD_CLOEXEC, 500), second = dup(device);
    CHECK(far >= 500);
    set(copy);
    CHECK(signaled(fd) == 1 && signaled(far) == 1);
    close(fd);
    CHECK(wait_one(second, far, 0) == 0);
    int both[] = {copy, far};
    REFUSED(wait_for(device, WAIT_ALL, both, 2, 1, 0, 0), EINVAL);
    /* The device may go: its objects stay, and only waits need it. */
    close(device), close(second);
    CHECK(set(far) == 1 && signaled(copy) == 1);
    REFUSED(wait_one(device, far, 0), EBADF);
}

/* A number that is closed and used again means the new thing, at once. */
static void numbers_are_used_again(void)
{
    int fd = event(device, 0, 1);
    for (int i = 0; i < 2000; i++) {
        close(fd);
        if (i % 3 == 0)
            CHECK(semaphore(device, 5, 9) == fd);
        else
            CHECK(event(device, 0, 0) == fd);
        struct sem_args count;
        if (i % 3 == 0) {
            CHECK(ioctl(fd, SEM_READ, &count) == 0 && count.count == 5);
            REFUSED(ioctl(fd, EVENT_READ, &count), EINVAL);
        } else {
            CHECK(signaled(fd) == 0);
            REFUSED(ioctl(fd, SEM_READ, &count), EINVAL);
        }
    }
    int other = event(device, 0, 1), file = open("/proc/self/exe", O_RDONLY);
    uint32_t before;
    CHECK(dup2(other, fd) == fd && signaled(fd) == 1);
    CHECK(dup2(file, fd) == fd);
    REFUSED(ioctl(fd, EVENT_SET, &before), ENOTTY);
    CHECK(dup3(other, fd, O_CLOEXEC) == fd && signaled(fd) == 1);
    CHECK(close_range(fd, fd, 0) == 0);
    REFUSED(ioctl(fd, EVENT_SET, &before), EBADF);
    CHECK(dup2(other, 700) == 700 && signaled(700) == 1);
    closefrom(700);
    REFUSED(ioctl(700, EVENT_SET, &before), EBADF);
    CHECK(fcntl(file, F_DUPFD, 700) == 700);
    REFUSED(ioctl(700, EVENT_SET, &before), ENOTTY);
    REFUSED(wait_one(device, 700, 0), EINVAL);
}

struct waiting { int fd, result; uint64_t timeout; volatile pid_t thread; };

static void *wait_in_thread(void *argument)
{
    struct waiting *waiting = argument;
    waiting->thread = thread_id();
    waiting->result = wait_one(device, waiting->fd, waiting->timeout);
    return (void *)(intptr_t)errno;
}

/* A wait does not notice that its descriptors are closed, or mean something else by now. */
static void closing_during_a_wait(void)
{
    for (int way = 0; way < 3; way++) {
        struct waiting waiting = {.fd = event(device, 0, 0), .timeout = way == 2 ? in_ms(300) : FOREVER};
        int kept = dup(waiting.fd), other = event(device, 0, 0);
        pthread_t thread;
        void *error;
        CHECK(pthread_create(&thread, NULL, wait_in_thread, &waiting) == 0);
        while (!waiting.thread)
            sleep_ms(1);
        until_asleep(waiting.thread);
        if (way == 1)
            CHECK(dup2(other, waiting.fd) == waiting.fd);
        else
            close(waiting.fd);
        if (way == 2)
            close(kept);
        /* New objects must not take the waiter over. */
        for (int i = 0; i < 300; i++) {
            int fresh = event(device, 0, 0);
            set(fresh);
            CHECK(signaled(fresh) == 1);
            close(fresh);
        }
        if (way < 2)
            CHECK(set(kept) == 0 && signaled(kept) == 0);
        CHECK(pthread_join(thread, &error) == 0);
        CHECK(waiting.result == (way < 2 ? 0 : -1) && (way < 2 || (intptr_t)error == ETIMEDOUT));
        if (way < 2)
            close(kept);
        close(other);
    }
}

/* A child uses what it inherits, and what either does the other sees. */
static void fork_and_wait(void)
{
    int there = event(device, 0, 0), back = event(device, 0, 0), last = event(device, 0, 0), mut = mutex(device, 0, 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog(60);
        for (int i = 0; i < 2000; i++) {
            CHECK(wait_one(device, there, FOREVER) == 0);
            CHECK(wait_for(device, WAIT_ANY, &mut, 1, 2, 0, FOREVER) == 0);
            struct mutex_args unlock = {2, 0};
            CHECK(ioctl(mut, MUTEX_UNLOCK, &unlock) == 0 && unlock.count == 1);
            set(back);
        }
        pid_t grandchild = fork();
        if (grandchild == 0) {
            set(last);
            _exit(0);
        }
        exited_well(grandchild);
        _exit(0);
    }
    for (int i = 0; i < 2000; i++) {
        set(there);
        CHECK(wait_one(device, back, in_ms(20000)) == 0);
    }
    CHECK(wait_one(device, last, in_ms(20000)) == 0);
    exited_well(child);
}

/* By exec an inherited descriptor comes into a process that never opened the device. */
static void exec_keeps_descriptors(const char *program)
{
    int fd = event(device, 0, 0);
    char device_text[16], fd_text[16];
    CHECK(fcntl(device, F_SETFD, 0) == 0 && fcntl(fd, F_SETFD, 0) == 0);
    snprintf(device_text, sizeof device_text, "%d", device);
    snprintf(fd_text, sizeof fd_text, "%d", fd);
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        close(0);
        execl(program, program, "executed", device_text, fd_text, (char *)NULL);
        _exit(1);
    }
    CHECK(wait_one(device, fd, in_ms(20000)) == 0);
    exited_well(child);
    CHECK(signaled(fd) == 0);
}

static void executed(int inherited, int fd)
{
    CHECK(signaled(fd) == 0);
    REFUSED(wait_one(inherited, fd, 0), ETIMEDOUT);
    CHECK(set(fd) == 0);
}

/* Over a socket to a process that was there before the objects; in flight they live on. */
static void passed_over_a_socket(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog(60);
        close(device);
        sleep_ms(100);
        int here = receive_fd(ends[1]), fd = receive_fd(ends[1]);
        int twin = receive_fd(ends[1]), foreign = receive_fd(ends[1]);
        CHECK(signaled(fd) == 1 && wait_one(here, twin, 0) == 0 && signaled(fd) == 0);
        int both[] = {fd, twin};
        REFUSED(wait_for(here, WAIT_ALL, both, 2, 1, 0, 0), EINVAL);
        REFUSED(wait_one(here, foreign, 0), EINVAL);
        CHECK(signaled(foreign) == 1);
        send_fd(ends[1], event(here, 1, 1));
        _exit(0);
    }
    int other = open_device(), fd = event(device, 0, 0), foreign = event(other, 1, 1);
    send_fd(ends[0], device), send_fd(ends[0], fd), send_fd(ends[0], fd), send_fd(ends[0], foreign);
    set(fd);
    close(fd), close(foreign), close(other);
    for (int i = 0; i < 300; i++)
        close(event(device, 0, 0));
    int made = receive_fd(ends[0]);
    exited_well(child);
    CHECK(signaled(made) == 1 && wait_one(device, made, 0) == 0);
}

/* Out of descriptors: the driver's error, and nothing is lost. */
static void out_of_descriptors(void)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int one = event(device, 0, 0), highest;
    /* The limit is on numbers: fill what is free below. */
    while ((highest = dup(one)) < 100)
        CHECK(highest >= 0);
    limit.rlim_cur = highest + 1 + 10;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int made[10];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 10; i++)
            made[i] = event(device, 0, i % 2);
        struct event_args args = {0, 0};
        struct sem_args bad = {2, 1};
        REFUSED(ioctl(device, CREATE_EVENT, &args), EMFILE);
        REFUSED(ioctl(device, CREATE_SEM, &bad), EINVAL);
        REFUSED(open("/dev/ntsync", O_RDONLY), EMFILE);
        CHECK(signaled(made[9]) == 1 && signaled(one) == 0);
        for (int i = 0; i < 10; i++)
            close(made[i]);
    }
    set(one);
    CHECK(wait_one(device, one, 0) == 0);
}

/* Devices opened and closed in a loop leave nothing behind. */
static void opened_in_a_loop(void)
{
    int lines = 0;
    for (int i = 0; i < 300; i++) {
        int mine = open_device(), fd = event(mine, 0, 1);
        CHECK(wait_one(mine, fd, FOREVER) == 0);
        close(fd), close(mine);
        if (i == 100)
            lines = mappings();
    }
    CHECK(mappings() <= lines + 20);
    int fd = event(device, 0, 1);
    CHECK(wait_one(device, fd, 0) == 0);
}

/* Many devices at the same time, each its own world. */
static void many_devices(void)
{
    enum { DEVICES = 100 };
    int devices[DEVICES], fds[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        devices[i] = open_device();
        fds[i] = event(devices[i], 0, 1);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < DEVICES; i++) {
            REFUSED(wait_one(devices[i], fds[(i + 1) % DEVICES], 0), EINVAL);
            CHECK(wait_one(devices[i], fds[i], 0) == 0);
            CHECK(set(fds[i]) == 0);
        }
}

/* An owner that dies: nobody but MUTEX_KILL frees its mutex. */
static void owner_is_killed(void)
{
    int mut = mutex(device, 0, 0), status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(wait_for(device, WAIT_ANY, &mut, 1, 77, 0, 0) == 0);
        kill(getpid(), SIGKILL);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    REFUSED(wait_for(device, WAIT_ANY, &mut, 1, 78, 0, 0), ETIMEDOUT);
    uint32_t dead = 77;
    CHECK(ioctl(mut, MUTEX_KILL, &dead) == 0);
    REFUSED(wait_for(device, WAIT_ANY, &mut, 1, 78, 0, 0), EOWNERDEAD);
    CHECK(wait_for(device, WAIT_ANY, &mut, 1, 78, 0, 0) == 0);
}

/* Objects whose last holder was killed are found again: more than an arena holds can be made one after the other. */
static void objects_of_the_killed(void)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            for (int k = 0; k < 200; k++)
                event(device, 0, 1);
            kill(getpid(), SIGKILL);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        int fd = event(device, 0, 0);
        CHECK(signaled(fd) == 0);
        close(fd);
    }
}

enum { WORKERS = 3, KILLS = 300 };

/* Locks two mutexes at a time, one after the other or both at once, until it is killed. */
static void work_until_killed(const int *mutexes, uint32_t owner, volatile uint64_t *progress)
{
    watchdog(100);
    for (unsigned i = 0;; i++) {
        struct mutex_args unlock = {owner, 0};
        if (i % 4 == 0) {
            if (wait_for(device, WAIT_ALL, mutexes, 2, owner, 0, FOREVER) < 0)
                CHECK(errno == EOWNERDEAD);
            CHECK(ioctl(mutexes[0], MUTEX_UNLOCK, &unlock) == 0 && unlock.count == 1);
            CHECK(ioctl(mutexes[1], MUTEX_UNLOCK, &unlock) == 0 && unlock.count == 1);
        } else {
            int index = 0;
            struct wait_args args = {FOREVER, (uintptr_t)mutexes, 2, UNTOUCHED, 0, owner, 0, 0};
            CHECK(ioctl(device, WAIT_ANY, &args) == 0 || errno == EOWNERDEAD);
            index = (int)args.index;
            CHECK(ioctl(mutexes[index], MUTEX_UNLOCK, &unlock) == 0 && unlock.count == 1);
        }
        ++*progress;
    }
}

/* Workers are killed at any instruction; with their mutexes abandoned for them, the others always get on. */
static void killed_in_the_middle(void)
{
    const int mutexes[] = {mutex(device, 0, 0), mutex(device, 0, 0)};
    volatile uint64_t *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t workers[WORKERS] = {0};
    unsigned seed = 1;
    for (uint32_t kills = 0; kills < KILLS; kills++) {
        for (uint32_t i = 0; i < WORKERS; i++)
            if (!workers[i]) {
                CHECK((workers[i] = fork()) >= 0);
                if (!workers[i])
                    work_until_killed(mutexes, kills * WORKERS + i + 1, &progress[i * 8]);
                progress[i * 8 + 1] = kills * WORKERS + i + 1;
            }
        uint64_t before = progress[0] + progress[8] + progress[16], deadline = in_ms(20000);
        while (progress[0] + progress[8] + progress[16] < before + 20) {
            CHECK(now() < deadline);
            sched_yield();
        }
        usleep(rand_r(&seed) % 1000);
        int victim = rand_r(&seed) % WORKERS, status;
        CHECK(kill(workers[victim], SIGKILL) == 0);
        CHECK(waitpid(workers[victim], &status, 0) == workers[victim] && WIFSIGNALED(status));
        workers[victim] = 0;
        for (int i = 0; i < 2; i++) {
            uint32_t owner = progress[victim * 8 + 1];
            CHECK(ioctl(mutexes[i], MUTEX_KILL, &owner) == 0 || errno == EPERM);
        }
    }
    for (int i = 0; i < WORKERS; i++)
        if (workers[i])
            kill(workers[i], SIGKILL);
}

static void *come_and_go(void *argument)
{
    int fd = *(int *)argument;
    CHECK(wait_one(device, fd, FOREVER) == 0 && set(fd) == 0);
    return NULL;
}

/* Threads come and go, and leave nothing behind. */
static void threads_come_and_go(void)
{
    int fd = event(device, 0, 1), lines = 0;
    for (int i = 0; i < 3000; i++) {
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            CHECK(pthread_create(&threads[k], NULL, come_and_go, &fd) == 0);
        for (int k = 0; k < 4; k++)
            CHECK(pthread_join(threads[k], NULL) == 0);
        if (i == 300)
            lines = mappings();
    }
    CHECK(signaled(fd) == 1 && mappings() <= lines + 20);
}

/* A cancelled thread ends where it may, which a wait is not. */
static void *to_be_cancelled(void *argument)
{
    struct waiting *waiting = argument;
    waiting->thread = thread_id();
    waiting->result = wait_one(device, waiting->fd, FOREVER);
    for (int i = 0; i < 100; i++)
        close(event(device, 0, 0));
    sleep_ms(60000);
    waiting->result = -2;
    return NULL;
}

static void cancelled_in_a_wait(void)
{
    struct waiting waiting = {.fd = event(device, 0, 0), .result = -3};
    pthread_t thread;
    void *value;
    CHECK(pthread_create(&thread, NULL, to_be_cancelled, &waiting) == 0);
    while (!waiting.thread)
        sleep_ms(1);
    until_asleep(waiting.thread);
    CHECK(pthread_cancel(thread) == 0);
    sleep_ms(50);
    CHECK(waiting.result == -3);
    set(waiting.fd);
    CHECK(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED && waiting.result == 0);
}

static volatile int cleaned_up;
static void clean_up(void *argument) { cleaned_up += *(int *)argument; }

static void *wait_in_a_loop(void *argument)
{
    struct waiting *waiting = argument;
    int one = 1, before;
    pthread_cleanup_push(clean_up, &one);
    waiting->thread = thread_id();
    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before) == 0);
    for (;;) {
        set(waiting->fd);
        wait_one(device, waiting->fd, FOREVER);
        waiting->result = wait_one(device, waiting->fd, waiting->timeout);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

/* Cancellation of the asynchronous type unwinds from a wait or an operation, and nothing stays behind. */
static void cancelled_at_any_instruction(void)
{
    for (int i = 1; i <= 300; i++) {
        struct waiting waiting = {.fd = event(device, 0, 0), .timeout = i % 2 ? FOREVER : 0};
        pthread_t thread;
        void *value;
        CHECK(pthread_create(&thread, NULL, wait_in_a_loop, &waiting) == 0);
        while (!waiting.thread)
            sched_yield();
        if (i % 3 == 0 && i % 2)
            until_asleep(waiting.thread);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED && cleaned_up == i);
        /* The cancelled are in no queue. */
        set(waiting.fd);
        CHECK(signaled(waiting.fd) == 1 && wait_one(device, waiting.fd, 0) == 0);
        close(waiting.fd);
    }
}

static void nothing(int signal) { (void)signal; }

/* Children that share our memory until they exec change their own handlers and descriptors, not ours. */
static void children_that_borrow_memory(void)
{
    struct sigaction seen;
    int fd = event(device, 0, 1), status;
    signal(SIGINT, SIG_DFL); /* whoever runs this in the background ignores it */
    CHECK(signal(SIGUSR1, nothing) == SIG_DFL && signal(SIGINT, nothing) == SIG_DFL && signaled(fd) == 1);
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        struct sigaction action = {.sa_handler = SIG_IGN}, before;
        if (sigaction(SIGUSR1, &action, &before) != 0 || before.sa_handler != nothing)
            _exit(1);
        if (sigaction(SIGUSR1, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            _exit(2);
        close(fd);
        execl("/bin/sh", "sh", "-c", "kill -USR1 $$; exit 7", (char *)NULL);
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(sigaction(SIGUSR1, NULL, &seen) == 0 && seen.sa_handler == nothing);
    raise(SIGUSR1);
    CHECK(signaled(fd) == 1 && wait_one(device, fd, 0) == 0);
    CHECK(WEXITSTATUS(system("exit 5")) == 5);
    CHECK(sigaction(SIGINT, NULL, &seen) == 0 && seen.sa_handler == nothing);
    raise(SIGINT);
}

static volatile int stop;

static void *wait_until_stopped(void *argument)
{
    int fd = *(int *)argument;
    while (!stop)
        wait_one(device, fd, in_ms(1));
    return NULL;
}

/* Forked while other threads are in the middle of things, with the C library's knowledge and without. */
static void forked_in_the_middle(void)
{
    int fd = event(device, 0, 0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, wait_until_stopped, &fd) == 0);
    for (int i = 0; i < 200; i++) {
        pid_t child = i % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        CHECK(child >= 0);
        if (child == 0) {
            int mine = event(device, 0, 1), other = open_device(), there = event(other, 1, 0);
            CHECK(wait_one(device, mine, FOREVER) == 0 && wait_one(device, mine, 0) == -1 && errno == ETIMEDOUT);
            set(there);
            CHECK(wait_one(other, there, FOREVER) == 0);
            REFUSED(wait_one(device, there, 0), EINVAL);
            _exit(0);
        }
        exited_well(child);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Many threads open, use and close descriptors whose numbers go around between them. */
static void *use_and_close(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 3000; i++) {
        unsigned value = rand_r(&seed) % 1000;
        int sem = semaphore(device, value, 1000 + value);
        struct sem_args count = {0, 0};
        CHECK(ioctl(sem, SEM_READ, &count) == 0 && count.count == value && count.max == 1000 + value);
        int copy = dup(sem), file = open("/proc/self/exe", O_RDONLY);
        CHECK(close(sem) == 0);
        uint32_t add = 1;
        CHECK(ioctl(copy, SEM_RELEASE, &add) == 0 && add == value);
        CHECK(wait_one(device, copy, 0) == 0);
        REFUSED(ioctl(file, SEM_READ, &count), ENOTTY);
        if (i % 16 == 0) {
            int own = open_device(), fd = event(own, 0, 1);
            CHECK(wait_one(own, fd, 0) == 0);
            REFUSED(wait_one(own, copy, 0), EINVAL);
            CHECK(close(fd) == 0 && close(own) == 0);
        }
        CHECK(dup2(file, copy) == copy);
        REFUSED(ioctl(copy, SEM_READ, &count), ENOTTY);
        CHECK(close(copy) == 0 && close(file) == 0);
    }
    return NULL;
}

static void numbers_among_threads(void)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, use_and_close, (void *)(i + 1)) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* What is not ours goes on as before. */
static void foreign_calls(void)
{
    int pipes[2], available = -1, terminal;
    CHECK(pipe(pipes) == 0);
    CHECK(write(pipes[1], "abc", 3) == 3);
    CHECK(ioctl(pipes[0], FIONREAD, &available) == 0 && available == 3);
    CHECK(ioctl(device, FIOCLEX) == 0 && fcntl(device, F_GETFD) == FD_CLOEXEC);
    CHECK(ioctl(device, FIONCLEX) == 0 && fcntl(device, F_GETFD) == 0);
    REFUSED(ioctl(pipes[0], TCGETS, &terminal), ENOTTY);
    REFUSED(ioctl(device, TCGETS, &terminal), ENOTTY);
    REFUSED(close(999), EBADF);
    REFUSED(dup2(999, 5), EBADF);
    CHECK(close(pipes[0]) == 0);
    REFUSED(close(pipes[0]), EBADF);
    char name[] = "/tmp/ntux-foreign-XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0);
    struct stat status;
    int again = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(again >= 0 && fstat(again, &status) == 0 && (status.st_mode & 0777) == 0600);
    close(again), close(file), unlink(name);
    again = open(name, O_RDWR | O_CREAT, 0640);
    CHECK(again >= 0 && fstat(again, &status) == 0 && (status.st_mode & 0777) == 0640);
    close(again), unlink(name);
}

static const struct { const char *name; void (*run)(void); } scenarios[] = {
#define SCENARIO(name) {#name, name}
    SCENARIO(tables_are_small), SCENARIO(cache_is_mapped), SCENARIO(numbers_and_flags), SCENARIO(looking_first), SCENARIO(copies_mean_the_same),
    SCENARIO(numbers_are_used_again),
    SCENARIO(closing_during_a_wait), SCENARIO(fork_and_wait), SCENARIO(passed_over_a_socket),
    SCENARIO(out_of_descriptors), SCENARIO(opened_in_a_loop), SCENARIO(many_devices), SCENARIO(owner_is_killed),
    SCENARIO(objects_of_the_killed), SCENARIO(threads_come_and_go), SCENARIO(cancelled_in_a_wait), SCENARIO(cancelled_at_any_instruction),
    SCENARIO(children_that_borrow_memory), SCENARIO(forked_in_the_middle), SCENARIO(numbers_among_threads),
    SCENARIO(killed_in_the_middle), SCENARIO(foreign_calls),
};

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    watchdog(100);
    if (strcmp(argv[1], "executed") == 0) {
        CHECK(argc == 4);
        executed(atoi(argv[2]), atoi(argv[3]));
        return 0;
    }
    device = open_device();
    if (strcmp(argv[1], "exec_keeps_descriptors") == 0) {
        exec_keeps_descriptors(argv[0]);
        return 0;
    }
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    dprintf(2, "no such scenario: %s\n", argv[1]);
    return 2;
}
