/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cases for doors, by way of the device: its library is in front of every handler. */
#include "device.h"

#define handle handle_case
#define until until_case
#define wait_for wait_for_case
#include "../../../sync/tests/door/cases.h"

static int device;

static void begin(void) { device = open_device(); }
static void arrive(void) {}
static void depart(void) {}
static object new_event(void) { return (object)event(device, 0, 0); }
static object new_semaphore(uint32_t count) { return (object)semaphore(device, count, 1000000); }
static object new_mutex(uint32_t owner) { return (object)mutex(device, owner, 1); }

static void release(object semaphore)
{
    uint32_t add = 1;

    CHECK(ioctl((int)semaphore, SEM_RELEASE, &add) == 0);
}

static uint32_t units(object semaphore)
{
    struct sem_args now = {UNTOUCHED, UNTOUCHED};

    CHECK(ioctl((int)semaphore, SEM_READ, &now) == 0);
    return now.count;
}

static void unlock(object mutex, uint32_t owner)
{
    struct mutex_args args = {owner, 0};

    CHECK(ioctl((int)mutex, MUTEX_UNLOCK, &args) == 0);
}

static void set_event(object event) { set((int)event); }
static int is_set(object event) { return signaled((int)event) != 0; }

static int wait_for_case(int all, const object *objects, uint32_t count, uint64_t deadline, int again, uint32_t *index)
{
    struct wait_args args = {deadline, 0, count, UNTOUCHED, 0, 1, 0, 0};
    int fds[64];

    (void)again; /* the kernel's way: as the handler's flags say */
    for (uint32_t i = 0; i < count; i++)
        fds[i] = (int)objects[i];
    args.objs = (uintptr_t)fds;
    int result = ioctl(device, all ? WAIT_ALL : WAIT_ANY, &args);
    *index = args.index;
    return result < 0 ? errno : 0;
}

static int must_return(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    return 0;
}
