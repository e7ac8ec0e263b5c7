/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads of different real-time priority on one processor, both in need of the library's lock, which it takes to add
   and to remove devices. The lower one is put off the processor wherever it is, also while it holds the lock; the higher
   one must let it go on then. The only argument is how often the higher one runs. Exits with 77 where this is not permitted. */
#include "device.h"
#include "../../../platform/tests/skips/skips.h"

#include <sched.h>

enum { LOW = 1, HIGH = 2, DEVICES = 24 };
static volatile int stop, rounds;

/* Opening this many at a time and closing them makes the library look for those that nobody needs, at each of some opens. */
static void use_devices(int count)
{
    int devices[DEVICES];
    for (int i = 0; i < count; i++)
        devices[i] = open_device();
    for (int i = 0; i < count; i++)
        close(devices[i]);
}

static void *low(void *argument)
{
    (void)argument;
    while (!stop) {
        use_devices(DEVICES);
        rounds++;
    }
    return NULL;
}

static void *high(void *argument)
{
    for (int left = *(int *)argument; left > 0; left--) {
        /* Long enough for the lower thread to be anywhere when it ends. */
        nanosleep(&(struct timespec){0, 20000 + left * 7919 % 100000}, NULL);
        use_devices(1);
    }
    stop = 1;
    return NULL;
}

static int start(pthread_t *thread, int priority, void *(*run)(void *), void *argument)
{
    pthread_attr_t how;
    cpu_set_t here, first;
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof here, &here) == 0);
    int processor = 0;
    while (!CPU_ISSET(processor, &here))
        processor++;
    CPU_ZERO(&first);
    CPU_SET(processor, &first);
    pthread_attr_init(&how);
    pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&how, SCHED_FIFO);
    pthread_attr_setschedparam(&how, &(struct sched_param){.sched_priority = priority});
    pthread_attr_setaffinity_np(&how, sizeof first, &first);
    return pthread_create(thread, &how, run, argument);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    int times = atoi(argv[1]);
    pthread_t threads[2];
    watchdog(40);
    int refused = start(&threads[0], LOW, low, NULL);
    if (refused == EPERM) {
        skip("priorities", "priorities", "no permission for real-time priorities (CAP_SYS_NICE, or a limit RLIMIT_RTPRIO)");
        return 77;
    }
    CHECK(refused == 0 && start(&threads[1], HIGH, high, &times) == 0);
    CHECK(pthread_join(threads[1], NULL) == 0 && pthread_join(threads[0], NULL) == 0 && rounds > 0);
    return 0;
}
