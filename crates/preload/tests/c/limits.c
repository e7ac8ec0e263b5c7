/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that limit their memory and files, and what the device costs them. The first argument is the scenario. */
#include "device.h"
#include "instances.h"
#include "../../../platform/tests/skips/skips.h"

#include <dirent.h>
#include <linux/capability.h>

/* More than the instances of a process take that uses a few objects; far less than one is long. */
#define FEW (1 << 20)

static void limit_to(int resource, rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(resource, &limit) == 0);
    if (bytes < limit.rlim_max)
        limit.rlim_max = bytes;
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(resource, &limit) == 0);
}

static void works(int device)
{
    int fd = event(device, 0, 0);
    set(fd);
    CHECK(wait_one(device, fd, FOREVER) == 0);
    CHECK(close(fd) == 0);
}

/* A signal ends the program if it is sent. */
static void files_are_limited(void)
{
    limit_to(RLIMIT_FSIZE, 1 << 20);
    REFUSED(open("/dev/ntsync", O_CLOEXEC | O_RDONLY), EFBIG);
    CHECK(access("/", F_OK) == 0);
}

static void future_memory_is_locked(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    limit_to(RLIMIT_MEMLOCK, 4 << 20);
    CHECK(syscall(SYS_capset, &header, none) == 0);
    if (mlockall(MCL_FUTURE) != 0) {
        skip("lock-memory", __func__, "this process may lock no memory (errno %d)", errno);
        return;
    }
    for (int i = 0; i < 20; i++) {
        int device = open_device();
        works(device);
        CHECK(memory_of_instances() < FEW);
        CHECK(close(device) == 0);
    }
}

/* The memory of an instance that a process has is the same after its core was dumped. */
static void core_is_dumped(void)
{
    char directory[] = "/tmp/ntux-core-XXXXXX", pattern[128] = "";
    int device = open_device(), status;
    works(device);
    long before = memory_of_instances();
    CHECK(mkdtemp(directory) != NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
        CHECK(chdir(directory) == 0 && setrlimit(RLIMIT_CORE, &none) == 0);
        works(device);
        abort();
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(memory_of_instances() == before);
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY);
    CHECK(fd >= 0 && read(fd, pattern, sizeof pattern - 1) > 0);
    if (!WCOREDUMP(status))
        skip("core-dump", __func__, "no core was dumped (pattern %s)", pattern);
    DIR *entries = opendir(directory);
    CHECK(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[512];
        struct stat core;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        CHECK(stat(path, &core) == 0 && core.st_size < 64 << 20);
        CHECK(unlink(path) == 0);
    }
    CHECK(closedir(entries) == 0 && rmdir(directory) == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    watchdog(60);
#define SCENARIO(name) if (strcmp(arguments[1], #name) == 0) { name(); return 0; }
    SCENARIO(files_are_limited)
    SCENARIO(future_memory_is_locked)
    SCENARIO(core_is_dumped)
    return 2;
}
