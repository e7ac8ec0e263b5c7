/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interface of /dev/ntsync: structures and request numbers, as the driver of Linux 6.14 and later defines them.
 * Written out here so that the demo builds where <linux/ntsync.h> is missing, with that header's names. Nothing in it
 * knows of ntux.
 */
#ifndef NTSYNC_DEVICE_H
#define NTSYNC_DEVICE_H

#include <stdint.h>
#include <sys/ioctl.h>

struct ntsync_sem_args { uint32_t count, max; };
struct ntsync_mutex_args { uint32_t owner, count; };
struct ntsync_event_args { uint32_t manual, signaled; };

struct ntsync_wait_args {
    uint64_t timeout; /* absolute, in nanoseconds; NO_TIMEOUT for ever */
    uint64_t objs;    /* address of an array of `count` descriptors, each an int */
    uint32_t count;
    uint32_t index; /* out: which object ended the wait; `count` for the alert */
    uint32_t flags;
    uint32_t owner; /* who acquires mutexes: any number but 0 */
    uint32_t alert; /* descriptor of one more object that ends the wait, 0 for none */
    uint32_t pad;
};

_Static_assert(sizeof(struct ntsync_wait_args) == 40, "the layout is the kernel's");

#define NO_TIMEOUT UINT64_MAX

#define NTSYNC_IOC_CREATE_SEM _IOW('N', 0x80, struct ntsync_sem_args)
#define NTSYNC_IOC_SEM_RELEASE _IOWR('N', 0x81, uint32_t)
#define NTSYNC_IOC_WAIT_ANY _IOWR('N', 0x82, struct ntsync_wait_args)
#define NTSYNC_IOC_WAIT_ALL _IOWR('N', 0x83, struct ntsync_wait_args)
#define NTSYNC_IOC_CREATE_MUTEX _IOW('N', 0x84, struct ntsync_mutex_args)
#define NTSYNC_IOC_MUTEX_UNLOCK _IOWR('N', 0x85, struct ntsync_mutex_args)
#define NTSYNC_IOC_MUTEX_KILL _IOW('N', 0x86, uint32_t)
#define NTSYNC_IOC_CREATE_EVENT _IOW('N', 0x87, struct ntsync_event_args)
#define NTSYNC_IOC_EVENT_SET _IOR('N', 0x88, uint32_t)
#define NTSYNC_IOC_EVENT_RESET _IOR('N', 0x89, uint32_t)
#define NTSYNC_IOC_EVENT_PULSE _IOR('N', 0x8a, uint32_t)
#define NTSYNC_IOC_SEM_READ _IOR('N', 0x8b, struct ntsync_sem_args)
#define NTSYNC_IOC_MUTEX_READ _IOR('N', 0x8c, struct ntsync_mutex_args)
#define NTSYNC_IOC_EVENT_READ _IOR('N', 0x8d, struct ntsync_event_args)

#endif
