/*
 * The interface of /dev/ntsync: structures and request numbers, as the driver of Linux 6.14 and later defines them.
 * Written out here so that the demo builds where <linux/ntsync.h> is missing. Nothing in it knows of ntux.
 */
#ifndef NTSYNC_DEVICE_H
#define NTSYNC_DEVICE_H

#include <stdint.h>
#include <sys/ioctl.h>

struct sem_args { uint32_t count, max; };
struct mutex_args { uint32_t owner, count; };
struct event_args { uint32_t manual, signaled; };

struct wait_args {
    uint64_t timeout; /* absolute, in nanoseconds; NO_TIMEOUT for ever */
    uint64_t objs;    /* address of an array of `count` descriptors, each an int */
    uint32_t count;
    uint32_t index; /* out: which object ended the wait; `count` for the alert */
    uint32_t flags;
    uint32_t owner; /* who acquires mutexes: any number but 0 */
    uint32_t alert; /* descriptor of one more object that ends the wait, 0 for none */
    uint32_t pad;
};

_Static_assert(sizeof(struct wait_args) == 40, "the layout is the kernel's");

#define NO_TIMEOUT UINT64_MAX

#define CREATE_SEM _IOW('N', 0x80, struct sem_args)
#define SEM_RELEASE _IOWR('N', 0x81, uint32_t)
#define WAIT_ANY _IOWR('N', 0x82, struct wait_args)
#define WAIT_ALL _IOWR('N', 0x83, struct wait_args)
#define CREATE_MUTEX _IOW('N', 0x84, struct mutex_args)
#define MUTEX_UNLOCK _IOWR('N', 0x85, struct mutex_args)
#define MUTEX_KILL _IOW('N', 0x86, uint32_t)
#define CREATE_EVENT _IOW('N', 0x87, struct event_args)
#define EVENT_SET _IOR('N', 0x88, uint32_t)
#define EVENT_RESET _IOR('N', 0x89, uint32_t)
#define EVENT_PULSE _IOR('N', 0x8a, uint32_t)
#define SEM_READ _IOR('N', 0x8b, struct sem_args)
#define MUTEX_READ _IOR('N', 0x8c, struct mutex_args)
#define EVENT_READ _IOR('N', 0x8d, struct event_args)

#endif
