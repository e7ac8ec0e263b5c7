/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a test leaves out, and why: said, and counted by `.ci/skips`. As skips.rs does. */
#ifndef SKIPS_H
#define SKIPS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4), unused)) static void skip(const char *name, const char *test, const char *reason, ...)
{
    char line[512];
    va_list values;
    int length = snprintf(line, sizeof line, "%s, in %s: ", name, test);
    va_start(values, reason);
    vsnprintf(line + length, sizeof line - length - 1, reason, values);
    va_end(values);
    strcat(line, "\n");
    dprintf(2, "skipped %s", line);
    const char *path = getenv("NTUX_TEST_SKIPS");
    if (!path)
        return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line)) {
        dprintf(2, "%s cannot be written\n", path);
        _exit(1);
    }
    close(fd);
}

#endif
