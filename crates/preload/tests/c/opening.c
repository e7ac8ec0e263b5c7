/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every way to the device, and what those see who look at it or at a descriptor. The first argument is the scenario. */
#include "device.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stddef.h>
#include <sys/sysmacros.h>

struct open_how_ { uint64_t flags, mode, resolve; };

/* What has no declaration in every C library's headers. */
extern char *__realpath_chk(const char *path, char *room, size_t size);
extern int __open64(const char *path, int flags, ...);
extern int __fxstat(int version, int fd, struct stat *status);
extern int __xstat(int version, const char *path, struct stat *status);
extern int __fxstatat(int version, int directory, const char *path, struct stat *status, int flags);

#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

/* It is a device of its own that works. */
static void works(int fd, int flags)
{
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == flags);
    int made = event(fd, 0, 1);
    CHECK(wait_one(fd, made, 0) == 0 && close(made) == 0 && close(fd) == 0);
}

static void opened_by_number(void)
{
    int dev = open("/dev", O_RDONLY | O_DIRECTORY);
    struct open_how_ how = {O_RDONLY | O_CLOEXEC, 0, 0};
#ifdef SYS_open
    works(syscall(SYS_open, "/dev/ntsync", O_RDWR), 0);
#endif
    works(syscall(SYS_openat, AT_FDCWD, "/dev/ntsync", O_RDONLY | O_CLOEXEC), FD_CLOEXEC);
    works(syscall(SYS_openat, dev, "ntsync", O_RDONLY), 0);
    works(syscall(SYS_openat2, AT_FDCWD, "/dev/ntsync", &how, sizeof how), FD_CLOEXEC);
    how.resolve = 8; /* RESOLVE_BENEATH */
    works(syscall(SYS_openat2, dev, "ntsync", &how, sizeof how), FD_CLOEXEC);
    REFUSED(syscall(SYS_openat2, dev, "/dev/ntsync", &how, sizeof how), EXDEV);
    how.resolve = 16; /* RESOLVE_IN_ROOT: the path is another one */
    REFUSED(syscall(SYS_openat2, dev, "/dev/ntsync", &how, sizeof how), ENOENT);
    how = (struct open_how_){O_DIRECTORY, 0, 0};
    REFUSED(syscall(SYS_openat2, dev, "ntsync", &how, sizeof how), ENOTDIR);
    REFUSED(syscall(SYS_openat2, dev, "ntsync", &how, 3), EINVAL);
    REFUSED(syscall(SYS_openat2, dev, "ntsync", (void *)8, sizeof how), EFAULT);
    REFUSED(syscall(SYS_openat2, dev, (void *)8, &how, sizeof how), EFAULT);
    REFUSED(syscall(SYS_openat, AT_FDCWD, (void *)8, 0), EFAULT);
    REFUSED(syscall(SYS_openat, AT_FDCWD, "/dev/ntsynd", 0), ENOENT);
    /* Used by number alone. */
    int device = syscall(SYS_openat, AT_FDCWD, "/dev/ntsync", O_RDONLY);
    struct event_args new = {0, 1}, seen = {9, 9};
    int fd = syscall(SYS_ioctl, device, CREATE_EVENT, &new);
    CHECK(fd >= 0 && syscall(SYS_ioctl, fd, EVENT_READ, &seen) == 0 && seen.manual == 0 && seen.signaled == 1);
    REFUSED(syscall(SYS_ioctl, fd, EVENT_READ, (void *)8), EFAULT);
    REFUSED(syscall(SYS_ioctl, fd, WAIT_ANY, &seen), ENOTTY);
    REFUSED(syscall(SYS_ioctl, dev, EVENT_READ, &seen), ENOTTY);
    int pipes[2], available = -1;
    CHECK(pipe(pipes) == 0 && write(pipes[1], "abc", 3) == 3);
    CHECK(syscall(SYS_ioctl, pipes[0], FIONREAD, &available) == 0 && available == 3);
    CHECK(syscall(SYS_fcntl, fd, F_GETFD) == FD_CLOEXEC && syscall(SYS_dup, fd) > fd);
}

static void opened_under_other_names(void)
{
    /* The library has looked for functions that are not there, which is nobody's error. */
    CHECK(dlerror() == NULL);
    works(__open64("/dev/ntsync", O_RDONLY | O_CLOEXEC), FD_CLOEXEC);
    /* A C library that has the function is asked, and the kernel otherwise. */
    int (*openat2)(int, const char *, struct open_how_ *, size_t) = NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    *(void **)&openat2 = dlsym(self, "openat2");
    struct open_how_ how = {O_RDONLY, 0, 0};
    CHECK(openat2);
    works(openat2(AT_FDCWD, "/dev/ntsync", &how, sizeof how), 0);
    int null = openat2(AT_FDCWD, "/dev/null", &how, sizeof how);
    CHECK(null >= 0 && close(null) == 0);
    REFUSED(openat2(AT_FDCWD, "/dev/ntsynd", &how, sizeof how), ENOENT);
}

static void opened_as_a_stream(void)
{
    errno = 12345;
    FILE *stream = fopen("/dev/ntsync", "r");
    CHECK(stream && errno == 12345 && fcntl(fileno(stream), F_GETFD) == 0);
    int made = event(fileno(stream), 0, 1), lowest = dup(2);
    CHECK(made == fileno(stream) + 1 && lowest == made + 1);
    CHECK(wait_one(fileno(stream), made, 0) == 0 && fclose(stream) == 0 && set(made) == 0);

    stream = fopen64("/dev/../dev/ntsync", "r+e");
    CHECK(stream && fcntl(fileno(stream), F_GETFD) == FD_CLOEXEC);
    int fd = fileno(stream);
    made = event(fd, 0, 1);
    /* Another device in place of the first. */
    CHECK(freopen("/dev/ntsync", "r", stream) == stream && fileno(stream) == fd);
    REFUSED(wait_one(fd, made, 0), EINVAL);
    CHECK(close(made) == 0);
    made = event(fd, 0, 1);
    CHECK(wait_one(fd, made, 0) == 0);
    /* And another file in place of that. */
    CHECK(freopen64("/dev/null", "r", stream) == stream && fileno(stream) == fd && fgetc(stream) == EOF);
    struct event_args args = {0, 0};
    REFUSED(ioctl(fd, CREATE_EVENT, &args), ENOTTY);
    CHECK(fclose(stream) == 0);
    CHECK(fopen("/dev/ntsynd", "r") == NULL && errno == ENOENT);
    CHECK(fopen("/dev/ntsync/", "r") == NULL && errno == ENOENT);
    int before = dup(2);
    close(before);
    for (int i = 0; i < 100; i++)
        CHECK((stream = fopen("/dev/ntsync", "r")) && fclose(stream) == 0);
    CHECK(dup(2) == before);
}

static char *in(const char *directory, const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/* By paths that are not simply written out. */
static void spelled_otherwise(void)
{
    char room[] = "/tmp/ntux-opening-XXXXXX";
    CHECK(mkdtemp(room));
    CHECK(symlink("/dev", in(room, "dev")) == 0 && symlink("/dev/ntsync", in(room, "ntsync")) == 0);
    CHECK(symlink("/dev/ntsync", in(room, "other")) == 0 && symlink("nowhere", in(room, "no-ntsync")) == 0);
    works(open("/dev/../dev/ntsync", O_RDONLY), 0);
    works(open("/proc/self/root/dev/ntsync", O_RDONLY | O_CLOEXEC), FD_CLOEXEC);
    works(open(in(room, "dev/ntsync"), O_RDONLY), 0);
    works(open(in(room, "ntsync"), O_RDONLY), 0);
    works(open(in(room, "dev/ntsync"), O_RDONLY | O_NOFOLLOW), 0);
    REFUSED(open(in(room, "ntsync"), O_RDONLY | O_NOFOLLOW), ELOOP);
    /* A link under another name: the kernel finds nothing behind it. */
    REFUSED(open(in(room, "other"), O_RDONLY), ENOENT);
    REFUSED(open(in(room, "no-ntsync"), O_RDONLY), ENOENT);
    REFUSED(open(in(room, "dev/pts/ntsync"), O_RDONLY), ENOENT);
    CHECK(chdir("/dev") == 0);
    works(open("ntsync", O_RDONLY), 0);
    works(open("../dev/ntsync", O_RDONLY), 0);
    CHECK(chdir(room) == 0);
    works(open("dev/ntsync", O_RDONLY), 0);
    works(open("ntsync", O_RDONLY), 0);
    works(openat(open("dev", O_RDONLY), "ntsync", O_RDONLY), 0);
    CHECK(access("ntsync", R_OK) == 0 && access("dev/ntsync", F_OK) == 0);
    /* What really is there under that name is opened. */
    CHECK(unlink("ntsync") == 0);
    int file = open("ntsync", O_RDWR | O_CREAT, 0600), again = open("ntsync", O_RDONLY);
    struct stat status[2];
    CHECK(fstat(file, &status[0]) == 0 && fstat(again, &status[1]) == 0 && status[0].st_ino == status[1].st_ino);
    CHECK(S_ISREG(status[1].st_mode) && status[1].st_nlink == 1);
    CHECK(unlink("ntsync") == 0 && unlink("dev") == 0 && unlink("other") == 0 && unlink("no-ntsync") == 0);
    CHECK(chdir("/") == 0 && rmdir(room) == 0);
    works(open("dev/ntsync", O_RDONLY), 0);
    char *longest = malloc(1 << 16);
    memset(longest, '/', 1 << 16);
    strcpy(longest + 5000, "dev/ntsync");
    REFUSED(open(longest, O_RDONLY), ENAMETOOLONG);
}

static void is_the_node(const struct stat *status)
{
    struct stat node;
    CHECK(stat("/dev/ntsync", &node) == 0);
    CHECK(status->st_mode == (S_IFCHR | 0666) && status->st_rdev == node.st_rdev && major(status->st_rdev) == 10);
    CHECK(status->st_dev == node.st_dev && status->st_ino == node.st_ino && status->st_size == 0);
}

static void is_an_object(const struct stat *status, const struct stat *other)
{
    CHECK(status->st_mode == 0600 && status->st_size == 0 && status->st_rdev == 0 && status->st_nlink == 1);
    CHECK(status->st_dev == other->st_dev && status->st_ino == other->st_ino);
}

/* By every call that describes a descriptor. */
static void describe(int fd, struct stat seen[5], struct statx *more)
{
    struct stat64 large;
    errno = 12345;
    CHECK(fstat(fd, &seen[0]) == 0 && fstat64(fd, &large) == 0);
    CHECK(fstatat(fd, "", &seen[2], AT_EMPTY_PATH) == 0 && __fxstat(STAT_VERSION, fd, &seen[3]) == 0);
    CHECK(__fxstatat(STAT_VERSION, fd, "", &seen[4], AT_EMPTY_PATH) == 0);
    CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, more) == 0 && errno == 12345);
    memcpy(&seen[1], &large, sizeof large);
}

/* A descriptor is described as the driver's. */
static void described(void)
{
    struct stat seen[5], other;
    struct statx more;
    int device = open_device(), copy = dup(device);
    int fds[] = {device, copy};
    for (int i = 0; i < 2; i++) {
        describe(fds[i], seen, &more);
        for (int k = 0; k < 5; k++)
            is_the_node(&seen[k]);
        CHECK(more.stx_mode == (S_IFCHR | 0666) && more.stx_rdev_major == 10 && more.stx_size == 0);
        CHECK(makedev(more.stx_rdev_major, more.stx_rdev_minor) == seen[0].st_rdev);
    }
    int objects[] = {event(device, 0, 0), semaphore(device, 1, 2), mutex(device, 0, 0), -1};
    objects[3] = dup(objects[1]);
    CHECK(fstat(objects[0], &other) == 0);
    for (int i = 0; i < 4; i++) {
        describe(objects[i], seen, &more);
        for (int k = 0; k < 5; k++)
            is_an_object(&seen[k], &other);
        CHECK(more.stx_mode == 0600 && more.stx_size == 0 && more.stx_ino == other.st_ino);
    }
    /* The kernel itself says what they are. */
    CHECK(syscall(SYS_fstat, device, &seen[0]) == 0 && S_ISREG(seen[0].st_mode));
    /* Everything else is described as ever. */
    int file = open("/proc/self/exe", O_RDONLY), memory = memfd_create("ntsync", 0);
    CHECK(ftruncate(memory, 4096) == 0);
    describe(file, seen, &more);
    CHECK(S_ISREG(seen[0].st_mode) && seen[0].st_size > 4096 && (off_t)more.stx_size == seen[2].st_size);
    CHECK(stat("/proc/self/exe", &other) == 0 && other.st_ino == seen[0].st_ino && other.st_ino == seen[3].st_ino);
    describe(memory, seen, &more);
    CHECK(S_ISREG(seen[0].st_mode) && seen[0].st_size == 4096 && more.stx_size == 4096 && seen[4].st_size == 4096);
    CHECK(fstatat(AT_FDCWD, "", &other, AT_EMPTY_PATH) == 0 && S_ISDIR(other.st_mode));
    CHECK(dup2(file, objects[0]) == objects[0] && fstat(objects[0], &other) == 0 && S_ISREG(other.st_mode));
    close(device);
    REFUSED(fstat(device, &other), EBADF);
    struct stat *volatile nowhere = NULL;
    REFUSED(fstat(copy, nowhere), EFAULT);
    is_the_node((fstat(copy, &other), &other));
    CHECK(__xstat(STAT_VERSION, "/dev/ntsync", &other) == 0);
    is_the_node(&other);
}

static int called;

static int own_lstat(const char *path, struct stat *status)
{
    called++;
    return lstat(path, status);
}

/* By those who only look. */
static void looked_at(void)
{
    char room[PATH_MAX], *path;
    errno = 12345;
    CHECK(eaccess("/dev/ntsync", R_OK | W_OK) == 0 && euidaccess("/dev/ntsync", F_OK) == 0 && errno == 12345);
    REFUSED(eaccess("/dev/ntsync", X_OK), EACCES);
    REFUSED(euidaccess("/dev/ntsynd", F_OK), ENOENT);

    CHECK(realpath("/dev/./../dev/ntsync", room) == room && strcmp(room, "/dev/ntsync") == 0);
    CHECK((path = realpath("/dev/ntsync", NULL)) && strcmp(path, "/dev/ntsync") == 0);
    free(path);
    CHECK((path = canonicalize_file_name("/dev//ntsync")) && strcmp(path, "/dev/ntsync") == 0);
    free(path);
    CHECK(__realpath_chk("/dev/ntsync", room, sizeof room) == room && strcmp(room, "/dev/ntsync") == 0);
    REFUSED(realpath("/dev/ntsynd", room) ? 0 : -1, ENOENT);
    REFUSED(realpath("/nowhere/ntsync", NULL) ? 0 : -1, ENOENT);
    const char *volatile nowhere = NULL;
    REFUSED(realpath(nowhere, NULL) ? 0 : -1, EINVAL);
    CHECK((path = realpath("/dev/../dev/null", NULL)) && strcmp(path, "/dev/null") == 0);
    free(path);

    glob_t found = {0};
    CHECK(glob("/dev/ntsync", 0, NULL, &found) == 0 && found.gl_pathc == 1);
    CHECK(strcmp(found.gl_pathv[0], "/dev/ntsync") == 0);
    CHECK(glob("/dev/null", GLOB_APPEND, NULL, &found) == 0 && found.gl_pathc == 2);
    CHECK(glob("/dev/ntsync", GLOB_APPEND, NULL, &found) == 0 && found.gl_pathc == 3);
    CHECK(strcmp(found.gl_pathv[1], "/dev/null") == 0 && strcmp(found.gl_pathv[2], "/dev/ntsync") == 0);
    globfree(&found);
    CHECK(glob("/dev/ntsynd", 0, NULL, &found) == GLOB_NOMATCH);
    CHECK(glob("/dev/nul[l]", 0, NULL, &found) == 0 && found.gl_pathc == 1);
    globfree(&found);
#ifdef GLOB_ALTDIRFUNC
    /* A program from before glibc 2.27 need not set the function that newer versions call. */
    found = (glob_t){.gl_stat = own_lstat, .gl_opendir = NULL};
    CHECK(glob("/dev/null", GLOB_ALTDIRFUNC, NULL, &found) == 0 && found.gl_pathc == 1 && called > 0);
    globfree(&found);
#endif
}

static const struct { const char *name; void (*run)(void); } scenarios[] = {
#define SCENARIO(name) {#name, name}
    SCENARIO(opened_by_number), SCENARIO(opened_under_other_names), SCENARIO(opened_as_a_stream),
    SCENARIO(spelled_otherwise), SCENARIO(described), SCENARIO(looked_at),
};

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    watchdog(60);
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    dprintf(2, "no such scenario: %s\n", argv[1]);
    return 2;
}
