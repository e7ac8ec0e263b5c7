/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A program that uses soft-dirty bits as the kernel documents them, and knows nothing else.
//
// Usage: soft_dirty SCENARIO. It ends with 0, or complains and ends with 1.
//        soft_dirty kernel    runs every scenario that a kernel with such bits passes too: see kernel/test.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

enum { PAGE = 4096, PAGES = 64, SECONDS_MAX = 60 };
#define SOFT_DIRTY (1ull << 55)
#define PROTECTED (1ull << 57)
#define PRESENT (1ull << 63)

static int pagemap = -1, clear_refs = -1;
static void *volatile nowhere = (void *)8;

static void open_both(void) {
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    clear_refs = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    CHECK(pagemap >= 0 && clear_refs >= 0);
}

static void clear(void) { CHECK(write(clear_refs, "4", 1) == 1); }

static uint64_t entry(int fd, const void *address) {
    uint64_t found;
    CHECK(pread(fd, &found, sizeof found, (uintptr_t)address / PAGE * sizeof found) == sizeof found);
    return found;
}

static int is_dirty(const void *address) { return (entry(pagemap, address) & SOFT_DIRTY) != 0; }

static char *map(size_t pages, int protection, int flags) {
    char *base = mmap(NULL, pages * PAGE, protection, flags | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED);
    return base;
}

static char *map_private(size_t pages) { return map(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE); }

// Exactly these pages are dirty: a letter for each page, 'd' or '.'.
static void expect(const char *base, const char *letters) {
    for (size_t page = 0; letters[page] != 0; page++) {
        if (is_dirty(base + page * PAGE) != (letters[page] == 'd')) {
            fprintf(stderr, "failed: page %zu of '%s' is %s\n", page, letters, letters[page] == 'd' ? "clean" : "dirty");
            exit(1);
        }
    }
}

static void waits_for(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void the_basics(void) {
    char *base = map_private(6);
    base[0] = 1;
    expect(base, "dddddd"); // a new mapping, written or not
    clear();
    expect(base, "......");
    base[0] = 2;
    base[3 * PAGE] = 1;
    expect(base, "d..d..");
    expect(base, "d..d.."); // looking changes nothing
    CHECK(*(volatile char *)(base + 4 * PAGE) == 0);
    expect(base, "d..d.."); // nor does reading
    clear();
    expect(base, "......");
    memset(base, 3, 6 * PAGE);
    expect(base, "dddddd");
    CHECK(munmap(base + 2 * PAGE, PAGE) == 0);
    CHECK(entry(pagemap, base + 2 * PAGE) == 0); // nothing there
}

// Reads are the kernel's but for the bit.
static void reads_of_every_kind(void) {
    enum { COUNT = 32 };
    char *base = map_private(COUNT);
    memset(base, 1, COUNT / 2 * PAGE);
    clear();
    for (size_t page = 0; page < COUNT / 2; page += 3) base[page * PAGE] = 2;
    off_t offset = (uintptr_t)base / PAGE * 8;
    uint64_t plain[COUNT], served[COUNT + 1];
    CHECK(syscall(SYS_pread64, pagemap, plain, sizeof plain, offset) == sizeof plain);
    for (size_t first = 0; first < COUNT; first += 5) {
        size_t bytes = (COUNT - first) * 8;
        char *room = (char *)served + first % 2; // not aligned, sometimes
        CHECK(pread(pagemap, room, bytes, offset + first * 8) == (ssize_t)bytes);
        for (size_t page = first; page < COUNT; page++) {
            uint64_t value, others = ~(SOFT_DIRTY | PROTECTED);
            memcpy(&value, room + (page - first) * 8, 8);
            CHECK((value & others) == (plain[page] & others));
            CHECK(!(value & PROTECTED));
            CHECK(((value & SOFT_DIRTY) != 0) == (page < COUNT / 2 && page % 3 == 0));
        }
    }
    CHECK(lseek(pagemap, offset + 8, SEEK_SET) == offset + 8);
    CHECK(read(pagemap, served, 16) == 16 && !(served[0] & SOFT_DIRTY) && !(served[1] & SOFT_DIRTY));
    CHECK(read(pagemap, served, 8) == 8 && (served[0] & SOFT_DIRTY)); // page 3: the position has moved
    CHECK(lseek(pagemap, 0, SEEK_CUR) == offset + 32);
    CHECK(read(pagemap, served, 7) == -1 && errno == EINVAL);
    CHECK(pread(pagemap, served, 8, offset + 4) == -1 && errno == EINVAL);
    CHECK(read(pagemap, nowhere, 8) == -1 && errno == EFAULT);
    CHECK(pread(pagemap, served, 8, 1ll << 50) == 0); // behind all memory
    errno = 77;
    CHECK(pread(pagemap, served, 8, offset) == 8 && errno == 77);
    extern ssize_t __read_chk(int, void *, size_t, size_t), __pread_chk(int, void *, size_t, off_t, size_t);
    CHECK(__pread_chk(pagemap, served, 16, offset, sizeof served) == 16);
    CHECK((served[0] & SOFT_DIRTY) && !(served[1] & SOFT_DIRTY));
    CHECK(lseek(pagemap, offset, SEEK_SET) == offset && __read_chk(pagemap, served, 16, sizeof served) == 16);
    CHECK((served[0] & SOFT_DIRTY) && !(served[1] & SOFT_DIRTY));
}

static void writes_of_every_kind(void) {
    char *base = map_private(1);
    const char *const clearing[] = {"4", "4\n", " 4", "+4", "04\n"};
    for (size_t i = 0; i < sizeof clearing / sizeof *clearing; i++) {
        base[0] = 1;
        CHECK(write(clear_refs, clearing[i], strlen(clearing[i])) == (ssize_t)strlen(clearing[i]));
        expect(base, ".");
    }
    base[0] = 1;
    CHECK(pwrite(clear_refs, "4", 1, 0) == 1);
    expect(base, ".");
    base[0] = 1;
    CHECK(write(clear_refs, "1", 1) == 1); // referenced bits: the kernel's business
    CHECK(write(clear_refs, "9", 1) == -1 && errno == EINVAL);
    CHECK(write(clear_refs, "x", 1) == -1 && errno == EINVAL);
    CHECK(write(clear_refs, nowhere, 1) == -1 && errno == EFAULT);
    CHECK(write(pagemap, "4", 1) == -1 && errno == EBADF);
    expect(base, "d");
}

static void every_way_to_open(void) {
    char *base = map_private(1), path[64];
    int proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    extern int __open64_2(const char *, int), __openat64_2(int, const char *, int);
    snprintf(path, sizeof path, "/proc/%d/pagemap", getpid());
    int maps[] = {open(path, O_RDONLY), openat(proc, "pagemap", O_RDONLY), open("/proc/thread-self/pagemap", O_RDONLY),
                  dup(pagemap), dup2(pagemap, 200), dup3(pagemap, 201, O_CLOEXEC), fcntl(pagemap, F_DUPFD, 300),
                  fcntl(pagemap, F_DUPFD_CLOEXEC, 301), __open64_2("/proc/self/pagemap", O_RDONLY),
                  __openat64_2(proc, "pagemap", O_RDONLY), dup2(pagemap, 70000)};
    size_t count = sizeof maps / sizeof *maps - (maps[sizeof maps / sizeof *maps - 1] < 0); // limits differ
    snprintf(path, sizeof path, "/proc/%d/task/%d/clear_refs", getpid(), getpid());
    int clears[] = {open(path, O_WRONLY), openat(proc, "clear_refs", O_WRONLY), dup(clear_refs), dup2(clear_refs, 202)};
    for (size_t i = 0; i < sizeof clears / sizeof *clears; i++) {
        base[0] = 1;
        for (size_t j = 0; j < count; j++) CHECK(entry(maps[j], base) & SOFT_DIRTY);
        CHECK(write(clears[i], "4", 1) == 1);
        for (size_t j = 0; j < count; j++) CHECK(!(entry(maps[j], base) & SOFT_DIRTY));
    }
    // A number that meant something else before, and means something else afterwards.
    int zero = open("/dev/zero", O_RDONLY), number = maps[0];
    uint64_t word = 1;
    CHECK(read(zero, &word, 8) == 8 && word == 0);
    CHECK(dup2(pagemap, zero) == zero);
    base[0] = 1;
    CHECK(entry(zero, base) & SOFT_DIRTY);
    close(number);
    CHECK(open("/dev/zero", O_RDONLY) == number);
    CHECK(read(number, &word, 8) == 8 && word == 0);
}

static void c_streams(void) {
    char *base = map_private(8);
    uint64_t entries[8];
    FILE *maps = fopen("/proc/self/pagemap", "rb");
    CHECK(maps != NULL && fseeko(maps, (uintptr_t)base / PAGE * 8, SEEK_SET) == 0);
    CHECK(fread(entries, 8, 8, maps) == 8 && (entries[0] & SOFT_DIRTY) && (entries[7] & SOFT_DIRTY));
    FILE *clearing = fopen("/proc/self/clear_refs", "w");
    CHECK(clearing != NULL && fprintf(clearing, "%d\n", 4) == 2 && fflush(clearing) == 0);
    expect(base, "........");
    base[3 * PAGE] = 1;
    CHECK(fputs("1", clearing) >= 0 && fclose(clearing) == 0);
    expect(base, "...d....");
    maps = freopen("/proc/self/pagemap", "rb", maps);
    CHECK(maps != NULL && fseeko(maps, ((uintptr_t)base / PAGE + 2) * 8, SEEK_SET) == 0);
    extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
    CHECK(__fread_chk(entries, sizeof entries, 1, 16, maps) == 16);
    CHECK(!(entries[0] & SOFT_DIRTY) && (entries[1] & SOFT_DIRTY));
    CHECK((fread_unlocked)(entries, 8, 1, maps) == 1 && !(entries[0] & SOFT_DIRTY));
    CHECK(fclose(maps) == 0);
    clearing = fopen("/proc/self/clear_refs", "w");
    CHECK(fputs("4", clearing) >= 0 && fclose(clearing) == 0);
    expect(base, "........");
    CHECK(fflush(NULL) == 0);
}

static char data[4 * PAGE] __attribute__((aligned(4096)));

static void *on_a_stack(void *unused) {
    char pages[4 * PAGE], *first = (char *)(((uintptr_t)pages + PAGE - 1) & -(uintptr_t)PAGE);
    memset(pages, 1, sizeof pages);
    clear();
    expect(first, "..");
    ((volatile char *)first)[PAGE] = 2;
    expect(first, ".d");
    return unused;
}

static void memory_of_every_kind(void) {
    data[PAGE] = 1;
    clear();
    expect(data, "....");
    data[2 * PAGE] = 1;
    expect(data, "..d.");

    char *heap = sbrk(0);
    heap = (char *)(((uintptr_t)heap + PAGE - 1) & -(uintptr_t)PAGE);
    CHECK(brk(heap + 4 * PAGE) == 0);
    memset(heap, 1, 4 * PAGE);
    expect(heap, "dddd"); // grown since
    clear();
    heap[0] = 2;
    expect(heap, "d...");

    pthread_t thread;
    on_a_stack(NULL);
    CHECK(pthread_create(&thread, NULL, on_a_stack, NULL) == 0 && pthread_join(thread, NULL) == 0);

    char name[] = "/tmp/ntux-soft-dirty-XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, 4 * PAGE) == 0);
    char *of_file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    expect(of_file, "dddd");
    clear();
    CHECK(((volatile char *)of_file)[0] == 0);
    expect(of_file, "....");
    of_file[PAGE] = 1;
    expect(of_file, ".d..");

    char *guarded = map_private(4);
    memset(guarded, 1, 4 * PAGE);
    CHECK(mprotect(guarded, 4 * PAGE, PROT_NONE) == 0);
    clear();
    expect(guarded, "....");
    CHECK(mprotect(guarded, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
    guarded[PAGE] = 1;
    CHECK(mprotect(guarded, 2 * PAGE, PROT_READ) == 0);
    expect(guarded, ".d..");
}

static void memory_that_is_moved(void) {
    char *base = map_private(4);
    memset(base, 1, 4 * PAGE);
    clear();
    CHECK(madvise(base, PAGE, MADV_DONTNEED) == 0);
    base[0] = 1;
    expect(base, "d...");
    char *over = mmap(base + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(over == base + PAGE);
    CHECK(is_dirty(base + PAGE)); // another mapping, though nothing was written
    char *place = map_private(2);
    clear();
    CHECK(mremap(base + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    expect(place, "dd");
    clear();
    expect(place, "..");
    char *huge = map_private(1024);
    huge = (char *)(((uintptr_t)huge + (2 << 20) - 1) & -(uintptr_t)(2 << 20));
    (void)madvise(huge, 2 << 20, MADV_HUGEPAGE); // as the kernel likes
    memset(huge, 1, 2 << 20);
    clear();
    huge[7 * PAGE] = 2;
    expect(huge, ".......d..");
    CHECK(!is_dirty(huge + 511 * PAGE));
}

// What others may write never counts as clean. (To the kernel it does.)
static void shared_memory(void) {
    char *shared = map(2, PROT_READ | PROT_WRITE, MAP_SHARED);
    shared[0] = 1;
    clear();
    expect(shared, "dd");
}

// A mapping makes its neighbours no dirtier. (In the kernel, where mappings are joined, it does.)
static void a_mapping_among_others(void) {
    char *base = map_private(4);
    memset(base, 1, 4 * PAGE);
    clear();
    char *over = mmap(base + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(over == base + PAGE);
    expect(base, ".d..");
}

// However much address space: only what is there is looked at.
static void memory_that_is_not_there(void) {
    char *reserved = map(1ul << 28, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
    char *empty = map(1ul << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
    empty[1ul << 39] = 1;
    expect(reserved, "dd");
    for (int i = 0; i < 100; i++) clear();
    expect(reserved, "..");
    expect(empty + (1ul << 39), "..");
    empty[PAGE] = 1;
    expect(empty, ".d");
    CHECK(mprotect(reserved, PAGE, PROT_READ | PROT_WRITE) == 0);
    reserved[0] = 1;
    expect(reserved, "d.");
}

// What the kernel stores for a system call counts.
static void system_calls_that_write(void) {
    char *base = map_private(4);
    int pipes[2];
    memset(base, 1, 4 * PAGE);
    CHECK(pipe(pipes) == 0 && write(pipes[1], "12345678", 8) == 8);
    clear();
    CHECK(read(pipes[0], base + PAGE, 8) == 8);
    CHECK(getrandom(base + 3 * PAGE, 8, 0) == 8);
    expect(base, ".d.d");
    clear();
    // The result itself: entries of pages, among them that of the result.
    CHECK(pread(pagemap, base, 4 * 8, (uintptr_t)base / PAGE * 8) == 32);
    expect(base, "d...");
}

// A userfaultfd of the program's own, as linux/userfaultfd.h of Linux 6.7 has it.
static int watch(char *base, size_t pages, uint64_t features) {
    int fd = syscall(SYS_userfaultfd, O_CLOEXEC | 1);
    uint64_t api[3] = {0xaa, features}, range[4] = {(uintptr_t)base, pages * PAGE, 2};
    CHECK(fd >= 0 && ioctl(fd, 0xc018aa3f, api) == 0 && ioctl(fd, 0xc020aa00, range) == 0);
    return fd;
}

static void memory_that_is_watched_already(void) {
    char *stopping = map_private(2), *noting = map_private(2);
    memset(stopping, 1, 2 * PAGE);
    memset(noting, 1, 2 * PAGE);
    watch(stopping, 2, 1 << 13);
    int fd = watch(noting, 2, 1 << 15 | 1 << 13);
    uint64_t first[3] = {(uintptr_t)noting, PAGE, 1};
    clear();
    expect(stopping, "dd"); // for ever
    expect(noting, "dd");
    CHECK(ioctl(fd, 0xc018aa06, first) == 0);
    clear();
    expect(noting, ".d"); // as its own watcher has it; a clear changes nothing for that one
    noting[0] = 2;
    clear();
    expect(noting, "dd");
    char *ours = map_private(1);
    clear();
    uint64_t range[4] = {(uintptr_t)ours, PAGE, 2};
    CHECK(ioctl(fd, 0xc020aa00, range) == -1 && errno == EBUSY);
}

static volatile uint64_t *counter(char *base, size_t page) { return (volatile uint64_t *)(base + page * PAGE); }

struct writer {
    char *base;
    unsigned seed;
    _Atomic int *stop;
    uint64_t written;
};

static void *write_at_random(void *argument) {
    struct writer *writer = argument;
    while (!atomic_load(writer->stop)) {
        size_t page = rand_r(&writer->seed) % PAGES;
        if (page % 8 == 0) {
            CHECK(getrandom(writer->base + page * PAGE, 8, 0) == 8);
        } else {
            __atomic_fetch_add((uint64_t *)(writer->base + page * PAGE), 1, __ATOMIC_RELAXED);
        }
        if (++writer->written % 64 == 0) sched_yield();
    }
    return NULL;
}

// A page that differs between the end of a clear and the begin of the next look was written, so it must be dirty.
static void look_while_they_write(char *base, int rounds, uint64_t *written) {
    uint64_t before[PAGES], after[PAGES], entries[PAGES];
    for (int round = 0; round < rounds; round++) {
        clear();
        for (size_t page = 0; page < PAGES; page++) before[page] = *counter(base, page);
        if (round % 4 == 0) usleep(200);
        for (size_t page = 0; page < PAGES; page++) after[page] = *counter(base, page);
        size_t first = round % 3; // from here and there
        CHECK(pread(pagemap, entries + first, (PAGES - first) * 8, ((uintptr_t)base / PAGE + first) * 8) > 0);
        for (size_t page = first; page < PAGES; page++) {
            if (before[page] == after[page]) continue;
            ++*written;
            if (!(entries[page] & SOFT_DIRTY)) {
                fprintf(stderr, "failed: page %zu was written in round %d and is clean\n", page, round);
                exit(1);
            }
        }
    }
}

static void no_write_is_lost(void) {
    enum { WRITERS = 4 };
    _Atomic int stop = 0;
    char *base = map_private(PAGES);
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){base, i + 1, &stop, 0};
        CHECK(pthread_create(&threads[i], NULL, write_at_random, &writers[i]) == 0);
    }
    uint64_t written = 0;
    for (int turn = 0; turn < 20; turn++) {
        look_while_they_write(base, 100, &written);
        pid_t child = fork(); // copies on write in between
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        waits_for(child);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < WRITERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(written > 1000); // or nothing was tried
}

// What a collector or a checkpointer does: stop the writers, copy what is dirty, clear, go on. The copy never goes stale.
static void a_copy_never_goes_stale(void) {
    char *base = map_private(PAGES), *copy = map_private(PAGES);
    unsigned seed = 7;
    uint64_t entries[PAGES], copied = 0;
    for (int round = 0; round < 2000; round++) {
        for (int i = rand_r(&seed) % 8; i > 0; i--) {
            size_t page = rand_r(&seed) % PAGES;
            switch (rand_r(&seed) % 16) {
            case 0:
                CHECK(mmap(base + page * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
                           0) != MAP_FAILED);
                break;
            case 1:
                CHECK(mprotect(base + page * PAGE, PAGE, PROT_NONE) == 0);
                CHECK(mprotect(base + page * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
                break;
            default:
                base[page * PAGE + rand_r(&seed) % PAGE] = (char)rand_r(&seed);
            }
        }
        CHECK(pread(pagemap, entries, sizeof entries, (uintptr_t)base / PAGE * 8) == sizeof entries);
        for (size_t page = 0; page < PAGES; page++) {
            if (entries[page] & SOFT_DIRTY) {
                memcpy(copy + page * PAGE, base + page * PAGE, PAGE);
                copied++;
            }
        }
        CHECK(memcmp(base, copy, PAGES * PAGE) == 0);
        clear();
    }
    CHECK(copied < 2000 * PAGES / 4); // most pages were clean
}

static void in_a_child(void) {
    char *base = map_private(4);
    memset(base, 1, 4 * PAGE);
    clear();
    base[0] = 2;
    int parents = pagemap;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char path[64];
        base[3 * PAGE] = 3;
        expect(base, "d..."); // inherited: the parent's, also in what it says
        snprintf(path, sizeof path, "/proc/%d/pagemap", getppid());
        int by_number = open(path, O_RDONLY);
        CHECK(by_number >= 0 && (entry(by_number, base) & SOFT_DIRTY) && !(entry(by_number, base + 3 * PAGE) & SOFT_DIRTY));
        open_both();
        CHECK(is_dirty(base) && is_dirty(base + 3 * PAGE));
        clear();
        expect(base, "....");
        base[2 * PAGE] = 3;
        expect(base, "..d.");
        no_write_is_lost();
        pagemap = parents;
        expect(base, "d...");
        _exit(0);
    }
    waits_for(child);
    expect(base, "d...");
    base[PAGE] = 2;
    expect(base, "dd..");
    clear();
    expect(base, "....");
}

// All that a child has counts as written, until it clears. (To the kernel what its parent has written.) What clears the
// parent's bits does nothing when the child uses it: nothing of the parent's is lost.
static void a_child_starts_dirty(void) {
    char *base = map_private(2);
    memset(base, 1, 2 * PAGE);
    clear();
    base[0] = 1;
    int parents_clear = clear_refs;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(write(parents_clear, "4", 1) == 1);
        expect(base, "d."); // the inherited page map
        open_both();
        expect(base, "dd");
        clear();
        expect(base, "..");
        CHECK(write(parents_clear, "4", 1) == 1);
        _exit(0);
    }
    waits_for(child);
    expect(base, "d.");
}

static void after_exec(void) {
    char *const again[] = {"soft_dirty", "the_basics", NULL};
    clear();
    execv("/proc/self/exe", again);
    CHECK(!"exec");
}

// A program that closes whatever it does not know.
static void everything_is_closed(void) {
    char *base = map_private(2);
    clear();
    expect(base, "..");
    for (int fd = 3; fd < 1024; fd++)
        if (fd != pagemap && fd != clear_refs) syscall(SYS_close, fd);
    expect(base, "dd"); // nobody watches any more
    clear();
    expect(base, "..");
    base[0] = 1;
    expect(base, "d.");
    closefrom(3); // and no number that is out of the way
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}) == 0);
    open_both();
    int last = -1, fd;
    while ((fd = open("/dev/zero", O_RDONLY)) >= 0) last = fd;
    CHECK(errno == EMFILE);
    for (int left = 0; left < 3; left++) { // too few for the watcher, the page map and the mappings
        clear();
        expect(base, "dd");
        close(last--);
    }
    clear();
    expect(base, "..");
    base[0] = 2;
    expect(base, "d.");
}

static _Atomic int handled;

static void look_in_a_handler(int signal) {
    (void)signal;
    clear();
    data[PAGE] = 1;
    CHECK(is_dirty(data + PAGE) && !is_dirty(data + 3 * PAGE));
    handled++;
}

static void *send_signals(void *target) {
    for (int i = 0; i < 300; i++) {
        CHECK(pthread_kill(*(pthread_t *)target, SIGUSR1) == 0);
        while (handled <= i) sched_yield();
    }
    return NULL;
}

// At any instruction, in the allocator too, on a small stack.
static void in_a_handler(void) {
    struct sigaction action = {.sa_handler = look_in_a_handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    stack_t stack = {.ss_sp = map_private(4), .ss_size = 4 * PAGE};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    data[3 * PAGE] = 1;
    clear();
    pthread_t self = pthread_self(), sender;
    CHECK(pthread_create(&sender, NULL, send_signals, &self) == 0);
    unsigned seed = 3;
    void *blocks[64] = {0};
    while (handled < 300) {
        size_t place = rand_r(&seed) % 64;
        free(blocks[place]);
        blocks[place] = malloc(rand_r(&seed) % 100000);
        CHECK(blocks[place] != NULL);
        if (seed % 16 == 0) clear();
    }
    CHECK(pthread_join(sender, NULL) == 0);
}

static void *clear_again_and_again(void *stop) {
    while (!atomic_load((_Atomic int *)stop)) clear();
    return NULL;
}

static void threads_that_clear(void) {
    _Atomic int stop = 0;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, clear_again_and_again, &stop) == 0);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork(); // while others clear
        CHECK(child >= 0);
        if (child == 0) {
            open_both();
            char *base = map_private(4);
            clear();
            base[0] = 1;
            expect(base, "d...");
            _exit(0);
        }
        waits_for(child);
        char *base = map_private(16);
        CHECK(mprotect(base + 4 * PAGE, PAGE, PROT_READ) == 0 && munmap(base, 16 * PAGE) == 0);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    char *base = map_private(4);
    clear();
    base[0] = 1;
    expect(base, "d...");
}

// Where it cannot be done the program sees what the kernel says, and everything else works.
static void without_it(void) {
    char *base = map_private(2);
    uint64_t served, plain;
    base[0] = 1;
    clear();
    off_t offset = (uintptr_t)base / PAGE * 8;
    for (int page = 0; page < 2; page++) {
        served = entry(pagemap, base + page * PAGE);
        CHECK(syscall(SYS_pread64, pagemap, &plain, 8, offset + page * 8) == 8 && served == plain);
    }
    CHECK(entry(pagemap, base) & PRESENT);
    CHECK(read(pagemap, &served, 7) == -1 && errno == EINVAL);
    CHECK(write(clear_refs, "9", 1) == -1 && errno == EINVAL);
}

// A container's filter.
static void under_a_filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(geteuid() != 0 || setuid(65534) == 0); // root has /dev/userfaultfd
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    without_it();
}

static void *with_descriptors_of_its_own(void *nothing) {
    CHECK(unshare(CLONE_FILES) == 0);
    // Numbers that mean something else to the other threads.
    CHECK(dup3(pagemap, 400, O_CLOEXEC) == 400 && dup3(clear_refs, 401, O_CLOEXEC) == 401);
    pagemap = 400, clear_refs = 401;
    the_basics();
    return nothing;
}

static void a_thread_with_descriptors_of_its_own(void) {
    pthread_t thread;
    CHECK(open("/dev/zero", O_RDONLY) >= 0 && dup2(open("/dev/zero", O_RDONLY), 400) == 400);
    CHECK(pthread_create(&thread, NULL, with_descriptors_of_its_own, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void *after_the_first_thread(void *nothing) {
    char path[64], stat[256] = "";
    do {
        int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        CHECK(read(fd, stat, sizeof stat - 1) > 0 && close(fd) == 0);
    } while (strrchr(stat, ')')[2] != 'Z');
    // By the number of this thread, which no listing shows.
    snprintf(path, sizeof path, "/proc/%ld/clear_refs", syscall(SYS_gettid));
    pagemap = open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
    clear_refs = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(pagemap >= 0 && clear_refs >= 0);
    the_basics();
    exit(0);
    return nothing;
}

static void the_first_thread_has_ended(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, after_the_first_thread, NULL) == 0);
    pthread_exit(NULL);
}

static const struct scenario {
    const char *name;
    void (*run)(void);
    int is_promised_by_kernels;
} scenarios[] = {
#define PROMISED(name) {#name, name, 1}
#define OURS(name) {#name, name, 0}
    PROMISED(the_basics),
    PROMISED(reads_of_every_kind),
    PROMISED(writes_of_every_kind),
    PROMISED(every_way_to_open),
    PROMISED(c_streams),
    PROMISED(memory_of_every_kind),
    PROMISED(memory_that_is_moved),
    OURS(shared_memory),
    OURS(a_mapping_among_others),
    PROMISED(memory_that_is_not_there),
    PROMISED(system_calls_that_write),
    OURS(memory_that_is_watched_already),
    PROMISED(no_write_is_lost),
    PROMISED(a_copy_never_goes_stale),
    PROMISED(in_a_child),
    OURS(a_child_starts_dirty),
    PROMISED(after_exec),
    OURS(everything_is_closed),
    PROMISED(in_a_handler),
    PROMISED(threads_that_clear),
    PROMISED(a_thread_with_descriptors_of_its_own),
    PROMISED(the_first_thread_has_ended),
    OURS(without_it),
    OURS(under_a_filter),
};
static const size_t count_of_scenarios = sizeof scenarios / sizeof *scenarios;

static int every_promise(void) {
    int failures = 0;
    for (size_t i = 0; i < count_of_scenarios; i++) {
        if (!scenarios[i].is_promised_by_kernels) continue;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(SECONDS_MAX);
            open_both();
            scenarios[i].run();
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        printf("%s: %s\n", scenarios[i].name, status == 0 ? "passed" : "FAILED");
        fflush(stdout);
        failures += status != 0;
    }
    printf("%d failed\n", failures);
    return failures != 0;
}

int main(int count, char **arguments) {
    const char *wanted = count == 2 ? arguments[1] : "";
    if (strcmp(wanted, "kernel") == 0) return every_promise();
    alarm(SECONDS_MAX);
    open_both();
    for (size_t i = 0; i < count_of_scenarios; i++) {
        if (strcmp(wanted, scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: soft_dirty SCENARIO | kernel\n");
    return 2;
}
