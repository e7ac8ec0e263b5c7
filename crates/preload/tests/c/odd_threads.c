/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that /proc/self does not show: one with a table of descriptors of its own, and those that go on after the first one has
 * ended. */
#include "device.h"
#include <sched.h>
#include <sys/un.h>

static int device;
static const char TEXT[] = "what the program keeps here\n";

/* A file of the program's, open for reading, its offset in the middle. */
static int text(char *name)
{
    strcpy(name, "/tmp/ntux-odd-threads-XXXXXX");
    int writer = mkstemp(name), reader = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(writer >= 0 && reader >= 0 && write(writer, TEXT, sizeof TEXT - 1) == sizeof TEXT - 1);
    CHECK(close(writer) == 0 && lseek(reader, 5, SEEK_SET) == 5);
    return reader;
}

static void still_as_it_was(int reader, const char *name)
{
    char found[sizeof TEXT + 1];
    CHECK(lseek(reader, 0, SEEK_CUR) == 5 && pread(reader, found, sizeof found, 0) == sizeof TEXT - 1);
    CHECK(memcmp(found, TEXT, sizeof TEXT - 1) == 0);
    CHECK(unlink(name) == 0);
}

/* The file behind a descriptor, past what the library shows. */
static ino_t inode(int fd)
{
    struct stat status;
    CHECK(syscall(SYS_fstat, fd, &status) == 0);
    return status.st_ino;
}

/* Everything that opens by a path, with the number that this thread's descriptor has. */
static void everything(int own)
{
    int first = event(own, 1, 0), second = event(own, 0, 1);
    CHECK(inode(first) == inode(own) && inode(second) == inode(own));
    CHECK(signaled(first) == 0 && signaled(second) == 1 && set(first) == 0 && signaled(first) == 1);
    CHECK(wait_one(own, second, 0) == 0 && signaled(second) == 0);
    int sem = semaphore(own, 1, 2), locked = mutex(own, 7, 1);
    CHECK(wait_one(own, sem, 0) == 0 && inode(locked) == inode(own));
    CHECK((fcntl(first, F_GETFL) & O_ACCMODE) == O_RDWR && lseek(own, 0, SEEK_CUR) == 0);

    int another = open("/dev/ntsync", O_RDONLY | O_CLOEXEC);
    CHECK(another >= 0 && inode(another) != inode(own));
    int other = event(another, 0, 1);
    CHECK(inode(other) == inode(another) && signaled(other) == 1);
    FILE *stream = fopen("/dev/ntsync", "r");
    CHECK(stream && signaled(event(fileno(stream), 0, 1)) == 1);
    stream = freopen("/dev/ntsync", "r", stream);
    CHECK(stream && signaled(event(fileno(stream), 0, 1)) == 1 && inode(fileno(stream)) != inode(own));
    CHECK(fclose(stream) == 0);

    pid_t child = fork();
    if (child == 0) {
        CHECK(signaled(first) == 1 && signaled(event(own, 0, 1)) == 1);
        _exit(0);
    }
    exited_well(child);
    CHECK(close(first) == 0 && close(second) == 0 && close(sem) == 0 && close(locked) == 0 && close(other) == 0);
    CHECK(close(another) == 0);
}

static struct { int number; pthread_barrier_t turn; } apart;

static void *on_its_own(void *argument)
{
    (void)argument;
    CHECK(unshare(CLONE_FILES) == 0);
    pthread_barrier_wait(&apart.turn);
    /* Now the number means something else, or nothing, in the table that /proc/self/fd shows. */
    pthread_barrier_wait(&apart.turn);
    everything(apart.number);
    pthread_barrier_wait(&apart.turn);
    return NULL;
}

/* What the number means to the first thread. */
static void descriptors_of_its_own(const char *found)
{
    char name[64];
    int file = text(name), ends[2], replacement = -1;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    apart.number = device;
    if (strcmp(found, "text") == 0)
        replacement = file;
    else if (strcmp(found, "null") == 0)
        replacement = open("/dev/null", O_RDONLY | O_CLOEXEC);
    else if (strcmp(found, "pipe") == 0)
        replacement = ends[0];
    else if (strcmp(found, "another") == 0)
        replacement = open_device();
    else
        CHECK(strcmp(found, "nothing") == 0);
    pthread_t thread;
    CHECK(pthread_barrier_init(&apart.turn, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, on_its_own, NULL) == 0);
    pthread_barrier_wait(&apart.turn);
    CHECK(replacement < 0 ? close(device) == 0 : dup2(replacement, device) == device);
    pthread_barrier_wait(&apart.turn);
    pthread_barrier_wait(&apart.turn);
    CHECK(pthread_join(thread, NULL) == 0);
    if (strcmp(found, "another") == 0)
        CHECK(signaled(event(replacement, 0, 1)) == 1);
    still_as_it_was(file, name);
}

static struct { int number, device, file; volatile int done; } raced;

static void *replace(void *argument)
{
    (void)argument;
    while (!raced.done) {
        CHECK(dup2(raced.file, raced.number) == raced.number);
        CHECK(dup2(raced.device, raced.number) == raced.number);
    }
    return NULL;
}

/* A program's own race: a number is used again while another thread makes an object through it. It gets an object or an error,
 * and no file of its own that was opened to be written. */
static void a_number_that_changes(void)
{
    char name[64];
    raced.file = text(name);
    raced.device = device;
    raced.number = fcntl(device, F_DUPFD_CLOEXEC, 100);
    ino_t arena = inode(device);
    pthread_t thread;
    CHECK(raced.number >= 100 && pthread_create(&thread, NULL, replace, NULL) == 0);
    unsigned made = 0, refused = 0;
    for (uint64_t end = in_ms(1500); now() < end;) {
        struct event_args args = {0, 1};
        int fd = ioctl(raced.number, CREATE_EVENT, &args);
        if (fd < 0) {
            CHECK(errno == ENOTTY || errno == EBADF);
            refused++;
            continue;
        }
        CHECK(inode(fd) == arena && signaled(fd) == 1 && close(fd) == 0);
        made++;
    }
    raced.done = 1;
    CHECK(pthread_join(thread, NULL) == 0 && made > 0 && refused > 0);
    still_as_it_was(raced.file, name);
}

static void until_first_thread_ended(void)
{
    char stat[256];
    for (;; sleep_ms(1)) {
        int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, stat, sizeof stat - 1);
        CHECK(fd >= 0 && length > 0 && close(fd) == 0);
        stat[length] = 0;
        if (strrchr(stat, ')')[2] == 'Z')
            return;
    }
}

static void *set_later(void *fd)
{
    sleep_ms(20);
    set(*(int *)fd);
    return NULL;
}

static void all_of_the_device(void)
{
    everything(device);
    int given = event(device, 0, 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, set_later, &given) == 0);
    CHECK(wait_one(device, given, FOREVER) == 0 && pthread_join(thread, NULL) == 0);
}

static char *self;

/* With an environment that lacks the library. */
static void exec_without_environment(void)
{
    char number[16];
    char *arguments[] = {self, "after_exec", number, NULL}, *environment[] = {NULL};
    snprintf(number, sizeof number, "%d", device);
    CHECK(fcntl(device, F_SETFD, 0) == 0);
    execve(self, arguments, environment);
    CHECK(!"started");
}

static void fexec_without_environment(void)
{
    char number[16];
    char *arguments[] = {self, "after_exec", number, NULL}, *environment[] = {NULL};
    snprintf(number, sizeof number, "%d", device);
    CHECK(fcntl(device, F_SETFD, 0) == 0);
    fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environment);
    CHECK(!"started");
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};

/* It has the library, although its first thread shows no mapping of it. */
static void receive(void)
{
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(socket_, (struct sockaddr *)&address, sizeof address) == 0);
    int fd = receive_fd(socket_);
    CHECK(signaled(fd) == 1);
}

static void *run(void *scenario)
{
    until_first_thread_ended();
    ((void (*)(void))scenario)();
    exit(0);
}

/* Goes on in another thread, when this one, the first, has ended. */
static void without_first_thread(void (*scenario)(void))
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, (void *)scenario) == 0);
    pthread_exit(NULL);
}

static void a_receiver_without_first_thread(void)
{
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "ntux-odd-threads-%d", (int)getpid());
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, 1) == 0);
    pid_t child = fork();
    if (child == 0)
        without_first_thread(receive);
    int connected = accept(listening, NULL, NULL);
    CHECK(connected >= 0);
    send_fd(connected, event(device, 0, 1));
    exited_well(child);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    const char *name = argv[1];
    self = argv[0];
    watchdog(60);
    if (strcmp(name, "after_exec") == 0) {
        CHECK(argc == 3 && signaled(event(atoi(argv[2]), 0, 1)) == 1);
        return 0;
    }
    device = open_device();
    if (strcmp(name, "descriptors_of_its_own") == 0)
        descriptors_of_its_own(argv[2]);
    else if (strcmp(name, "a_number_that_changes") == 0)
        a_number_that_changes();
    else if (strcmp(name, "all_of_the_device") == 0)
        without_first_thread(all_of_the_device);
    else if (strcmp(name, "exec_without_environment") == 0)
        without_first_thread(exec_without_environment);
    else if (strcmp(name, "fexec_without_environment") == 0)
        without_first_thread(fexec_without_environment);
    else if (strcmp(name, "a_receiver_without_first_thread") == 0)
        a_receiver_without_first_thread();
    else
        CHECK(!"a scenario of this name");
    return 0;
}
