/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs beside have in common. They call WinPR, and nothing of ntux. Each says what is not as Windows documents it. */
#ifndef EXPECT_H
#define EXPECT_H

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <winpr/interlocked.h>
#include <winpr/pool.h>
#include <winpr/synch.h>
#include <winpr/thread.h>

static volatile LONG failures;

static void expect(const char *what, int line, long is, long expected)
{
    if (is == expected)
        return;
    printf("line %d: %s is %ld, not %ld\n", line, what, is, expected);
    fflush(stdout);
    InterlockedIncrement(&failures);
}

#define IS(expected, what) expect(#what, __LINE__, (long)(what), (long)(expected))

/* Long enough for what must happen, on any machine; short enough for what must not. */
#define LONG_MS  20000
#define SHORT_MS 50

static HANDLE start(LPTHREAD_START_ROUTINE routine, void *argument)
{
    HANDLE thread = CreateThread(NULL, 0, routine, argument, 0, NULL);

    if (!thread) {
        printf("no thread\n");
        _exit(1);
    }
    return thread;
}

static void join(HANDLE thread)
{
    if (WaitForSingleObject(thread, LONG_MS) != WAIT_OBJECT_0) {
        printf("a thread does not end\n");
        fflush(stdout);
        _exit(1);
    }
    (void)CloseHandle(thread);
}

#endif
