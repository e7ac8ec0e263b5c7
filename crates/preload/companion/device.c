/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What 32-bit programs under `ntux run` load in place of the real library, which is 64-bit. It serves nothing. A program
 * that opens /dev/ntsync where there is none is told why, once; the result and the error number stay what they were.
 *
 * Compiled without a C library (`.ci/library-tree`), so that a 64-bit compiler alone can do it. It takes dlsym and
 * __errno_location from the program's C library, without a version, so every version has them. Its own system calls do not
 * touch the error number.
 */

#define EXPORTED __attribute__((visibility("default")))
#define PATH_MAX 4096
#define NAME_MAX_OF_A_PROCESS 16
#define NEXT_LIBRARY ((void *)-1L)

enum { CALL_READ = 3, CALL_WRITE = 4, CALL_OPEN = 5, CALL_CLOSE = 6, CALL_GETPID = 20 };
enum { READ_ONLY = 0, WRITE_ONLY = 1, CREATE = 0100, APPEND = 02000, CLOSE_ON_EXEC = 02000000 };
enum { NO_ENTRY = 2, NO_DEVICE_OR_ADDRESS = 6, NO_DEVICE = 19, NO_FUNCTION = 38 };
enum { STANDARD_ERROR = 2 };

extern int *__errno_location(void);
extern void *dlsym(void *library, const char *name);

static char log_path[PATH_MAX];
static int is_quiet;

static long system_call(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return result;
}

static int same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The value of a variable; none if it is not set. */
static const char *value(char **environment, const char *name)
{
    for (; *environment; environment++) {
        const char *have = *environment, *want = name;
        while (*want && *have == *want) {
            have++;
            want++;
        }
        if (!*want && *have == '=')
            return have + 1;
    }
    return 0;
}

/* The C library passes what the program's main gets. The program may write over its environment later. */
__attribute__((constructor)) static void start(int count, char **arguments, char **environment)
{
    (void)count, (void)arguments;
    const char *device = value(environment, "NTUX_DEVICE"), *log = value(environment, "NTUX_LOG");
    is_quiet = device && same(device, "kernel");
    for (int i = 0; log && log[i] && i < PATH_MAX - 1; i++)
        log_path[i] = log[i];
}

struct text {
    char bytes[384];
    unsigned length;
};

static void add(struct text *text, const char *more)
{
    while (*more && text->length < sizeof text->bytes)
        text->bytes[text->length++] = *more++;
}

static void add_number(struct text *text, unsigned number)
{
    char digits[11];
    char *digit = digits + sizeof digits - 1;
    *digit = 0;
    do
        *--digit = '0' + number % 10;
    while (number /= 10);
    add(text, digit);
}

/* The process' own name, up to the end of the line that the kernel writes. */
static void add_name(struct text *text)
{
    char name[NAME_MAX_OF_A_PROCESS + 1] = "?";
    long fd = system_call(CALL_OPEN, (long)"/proc/self/comm", READ_ONLY | CLOSE_ON_EXEC, 0);
    if (fd >= 0) {
        long length = system_call(CALL_READ, fd, (long)name, NAME_MAX_OF_A_PROCESS);
        system_call(CALL_CLOSE, fd, 0, 0);
        if (length > 0)
            name[name[length - 1] == '\n' ? length - 1 : length] = 0;
    }
    add(text, name);
}

static void append_to_log(const struct text *text)
{
    if (!log_path[0] || same(log_path, "stderr"))
        return;
    long fd = system_call(CALL_OPEN, (long)log_path, WRITE_ONLY | CREATE | APPEND | CLOSE_ON_EXEC, 0644);
    if (fd < 0)
        return;
    system_call(CALL_WRITE, fd, (long)text->bytes, text->length);
    system_call(CALL_CLOSE, fd, 0, 0);
}

__attribute__((cold, noinline)) static void explain(void)
{
    static int done;
    if (is_quiet || __atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
        return;
    struct text text;
    text.length = 0;
    add(&text, "ntux: 32-bit process ");
    add_number(&text, system_call(CALL_GETPID, 0, 0, 0));
    add(&text, " (");
    add_name(&text);
    add(&text, ") cannot use ntux's /dev/ntsync and finds none: only 64-bit processes can; "
               "use a 64-bit program, or Wine with WINEARCH=wow64\n");
    system_call(CALL_WRITE, STANDARD_ERROR, (long)text.bytes, text.length);
    append_to_log(&text);
}

/* The kernel could read the path, or the error would be another. */
static int explained(int result, const char *path)
{
    if (result < 0) {
        int error = *__errno_location();
        if ((error == NO_ENTRY || error == NO_DEVICE_OR_ADDRESS || error == NO_DEVICE) && same(path, "/dev/ntsync"))
            explain();
    }
    return result;
}

/* A mode that the caller did not pass is whatever lies there; the real function does not look at it either. */
#define BY_PATH(name)                                                                                                      \
    EXPORTED int name(const char *path, int flags, unsigned mode);                                                         \
    int name(const char *path, int flags, unsigned mode)                                                                   \
    {                                                                                                                      \
        static int (*next)(const char *, int, unsigned);                                                                   \
        if (!next && !(next = (int (*)(const char *, int, unsigned))dlsym(NEXT_LIBRARY, #name)))                           \
            return *__errno_location() = NO_FUNCTION, -1;                                                                  \
        return explained(next(path, flags, mode), path);                                                                   \
    }

#define IN_DIRECTORY(name)                                                                                                 \
    EXPORTED int name(int directory, const char *path, int flags, unsigned mode);                                          \
    int name(int directory, const char *path, int flags, unsigned mode)                                                    \
    {                                                                                                                      \
        static int (*next)(int, const char *, int, unsigned);                                                              \
        if (!next && !(next = (int (*)(int, const char *, int, unsigned))dlsym(NEXT_LIBRARY, #name)))                      \
            return *__errno_location() = NO_FUNCTION, -1;                                                                  \
        return explained(next(directory, path, flags, mode), path);                                                        \
    }

BY_PATH(open)
BY_PATH(open64)
BY_PATH(__open_2)
BY_PATH(__open64_2)
IN_DIRECTORY(openat)
IN_DIRECTORY(openat64)
IN_DIRECTORY(__openat_2)
IN_DIRECTORY(__openat64_2)
