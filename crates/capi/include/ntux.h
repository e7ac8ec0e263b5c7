/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ntux: NT semaphores, mutexes and events with vectored waits, shared between processes; and write watches.
 * This header is the manual.
 *
 * Contents: conventions, arenas, objects, semaphores, mutexes, events, waits, write watches, futexes, futex domains.
 *
 *     #include <ntux.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         ntux_arena *arena;
 *         ntux_object door, bell, both[2];
 *         uint32_t index;
 *
 *         if (ntux_arena_create(1024, 64, &arena) < 0)
 *             return 1;
 *         ntux_event_create(arena, 1, 0, &door);
 *         ntux_semaphore_create(arena, 2, 10, &bell);
 *         both[0] = door;
 *         both[1] = bell;
 *         if (ntux_wait_any(arena, both, 2, 0, 1, 0, NTUX_NEVER, &index) == 0)
 *             printf("object %u\n", (unsigned)index);
 *         return 0;
 *     }
 *
 *     cc bell.c $(pkg-config --cflags --libs ntux)
 *
 *
 * CONVENTIONS
 *
 * Result       0, or a negative error number from <errno.h>, such as -EINVAL; errno itself says nothing.
 *              When a call fails it has changed nothing and written nothing, except as said at -EOWNERDEAD.
 *
 * Meaning      Every operation means what the Linux ntsync driver means by it, and thus Windows NT: a signal
 *              hands the object to a thread that waits at that moment, before the signaling call returns.
 *              Each function names the request of the driver (NTSYNC_IOC_...) and the NT call (Nt...) that it
 *              corresponds to.
 *
 * Pointers     NULL where a pointer is required is -EFAULT, a misaligned pointer is -EINVAL. Outputs marked
 *              [optional] may be NULL when the value is not wanted. Any other bad pointer cannot be told from
 *              a good one: the behaviour is undefined. That includes an arena that was detached and a pointer
 *              that is not an arena.
 *
 * Objects      An ntux_object is a plain number that means the same in every process that attached the arena.
 *              0 is none. Any number is safe to pass: one that is not an object of this arena, or was closed,
 *              is -EBADF or -EINVAL as said with each function. (A number of another arena can by accident be
 *              an object in this one as well.)
 *
 * Threads      Any thread may call any function at any time, except ntux_arena_detach, which must be the last
 *              use of its pointer. A thread that has to wait takes one of the arena's waiters, keeps it for
 *              its next waits, and returns it when it ends.
 *
 * Signals      No function may be called from a signal handler, except ntux_arena_fd. A signal does not end a
 *              wait: the handler runs, the thread keeps its places in the queues meanwhile, and the wait goes
 *              on. (The driver takes it out.) A handler must not leave a call by longjmp, pthread_exit or an
 *              exception, and asynchronous cancellation must be off; no function is a cancellation point.
 *
 * Processes    A child of fork goes on using the arena pointers and objects that it inherited. A process that
 *              is stopped or killed at any instruction blocks nobody else. Mutexes that it owned stay owned:
 *              see ntux_mutex_kill.
 *
 * Errors       Not repeated below, for every function that takes an arena: -EFAULT and -EINVAL for its
 *              pointers; -EIO when another process has written rubbish over the shared memory of the object;
 *              -ENOMEM when more than 4096 processes use the arena; -ENOTRECOVERABLE for a defect of ntux.
 */
#ifndef NTUX_H
#define NTUX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; the library's file name carries the same. */
#define NTUX_VERSION "0.1.0"

/* The most objects that one wait takes, the alert not counted. */
#define NTUX_WAIT_OBJECTS_MAX 64

/* Flag of a wait: the deadline is on CLOCK_REALTIME and follows when that clock is set. */
#define NTUX_REALTIME UINT32_C(1)

/* No deadline. */
#define NTUX_NEVER UINT64_MAX

/* Shared memory that holds objects. */
typedef struct ntux_arena ntux_arena;

/* A semaphore, a mutex or an event in an arena. 0 is none. */
typedef uint64_t ntux_object;


/* ==== ARENAS ==== */

/* Creates an arena. Memory is taken only as it is used, so a large one costs no more than a small one.
 *
 * objects   room for so many objects: 1 to 16777216
 * waiters   room for so many threads that wait: 1 to 65536
 *
 * -EINVAL   `objects` or `waiters` is out of range
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 * -EFBIG    more bytes than the process may give a file (RLIMIT_FSIZE); no signal is sent
 *
 * Corresponds to opening /dev/ntsync: objects of two arenas do not mix.
 */
int ntux_arena_create(uint32_t objects, uint32_t waiters, ntux_arena **arena);

/* Attaches the arena behind `fd`, which came from ntux_arena_fd in this process or another one. `fd` stays
 * the caller's and may be closed afterwards. One process may attach the same arena several times.
 *
 * -EBADF    `fd` is not open
 * -ENOTTY   `fd` is something else, or an arena of another version
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 */
int ntux_arena_attach(int fd, ntux_arena **arena);

/* The descriptor to hand to other processes, over a Unix socket (SCM_RIGHTS) or by inheritance. It belongs to
 * the arena, is close-on-exec, and is open until ntux_arena_detach: dup it to keep it, do not close it.
 *
 * Returns the descriptor, or a negative error number. Async-signal-safe.
 */
int ntux_arena_fd(const ntux_arena *arena);

/* Ends the use of an arena through this pointer, which must not be in use by another thread and must not be
 * used again. Other processes and other attachments keep the arena and its objects.
 */
int ntux_arena_detach(ntux_arena *arena);


/* ==== OBJECTS ==== */

/* Closes an object of any kind, for every process. A wait in progress goes on to its own deadline. The number
 * is not used again before 2147483646 other objects have had its place.
 *
 * -EBADF    the object was closed already, or never was
 *
 * Corresponds to closing the last descriptor of the driver's object.
 */
int ntux_object_close(const ntux_arena *arena, ntux_object object);

/* Makes an object belong to the calling process. An object belongs to the process that created it until
 * another one adopts it; when that process has ended, and the arena needs the room, the object is closed.
 *
 * -EBADF    the object was closed, or never was
 *
 * Corresponds to keeping a descriptor of the driver's object.
 */
int ntux_object_adopt(const ntux_arena *arena, ntux_object object);


/* ==== SEMAPHORES: signaled while the count is above zero; a wait that acquires it takes one off ==== */

/* Creates a semaphore with `count`, which may grow to `max`. Both may be 0.
 *
 * -EINVAL   `count` is above `max`
 * -ENOMEM   the arena is full, or there is no memory for more of it
 *
 * NTSYNC_IOC_CREATE_SEM, NtCreateSemaphore.
 */
int ntux_semaphore_create(const ntux_arena *arena, uint32_t count, uint32_t max, ntux_object *semaphore);

/* Adds `count`, which may be 0. Up to `count` waits are satisfied before this returns.
 *
 * previous  [optional] the count before
 *
 * -EOVERFLOW  the count would exceed the maximum
 * -EINVAL     not a semaphore
 * -EBADF      closed, or never was
 *
 * NTSYNC_IOC_SEM_RELEASE, NtReleaseSemaphore.
 */
int ntux_semaphore_release(const ntux_arena *arena, ntux_object semaphore, uint32_t count, uint32_t *previous);

/* Reads the state at one moment.
 *
 * count, max  [optional]
 *
 * -EINVAL   not a semaphore
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_SEM_READ, NtQuerySemaphore.
 */
int ntux_semaphore_read(const ntux_arena *arena, ntux_object semaphore, uint32_t *count, uint32_t *max);


/* ==== MUTEXES: signaled while unowned, and to the owner; a wait that acquires it adds one to the count ==== */

/* Creates a mutex that `owner` has acquired `count` times; 0 and 0 for one that nobody owns.
 *
 * An owner is any number but 0 that the program chooses, such as a thread id, unique among the threads that
 * share the mutex. The mutex knows no threads: whoever passes the owner's number is the owner.
 *
 * -EINVAL   one of `owner` and `count` is 0 and the other is not
 * -ENOMEM   the arena is full, or there is no memory for more of it
 *
 * NTSYNC_IOC_CREATE_MUTEX, NtCreateMutant.
 */
int ntux_mutex_create(const ntux_arena *arena, uint32_t owner, uint32_t count, ntux_object *mutex);

/* Takes one off the recursion count. At 0 nobody owns the mutex, and the first waiter gets it before this
 * returns.
 *
 * previous  [optional] the recursion count before
 *
 * -EPERM    `owner` does not own the mutex
 * -EINVAL   `owner` is 0, or not a mutex
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_MUTEX_UNLOCK, NtReleaseMutant.
 */
int ntux_mutex_unlock(const ntux_arena *arena, ntux_object mutex, uint32_t owner, uint32_t *previous);

/* Tells that `owner` is gone: nobody owns the mutex any more, and it is abandoned. The first waiter gets it
 * before this returns. Whoever acquires it next is told so once, by -EOWNERDEAD. Nothing does this for a
 * thread that ends: the program must.
 *
 * -EPERM    `owner` does not own the mutex
 * -EINVAL   `owner` is 0, or not a mutex
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_MUTEX_KILL; the kernel of NT does this when a thread ends.
 */
int ntux_mutex_kill(const ntux_arena *arena, ntux_object mutex, uint32_t owner);

/* Reads the state at one moment.
 *
 * owner     [optional] 0 if nobody owns it
 * count     [optional] the recursion count
 *
 * -EOWNERDEAD  the mutex is abandoned; owner and count are written nevertheless, both 0
 * -EINVAL      not a mutex
 * -EBADF       closed, or never was
 *
 * NTSYNC_IOC_MUTEX_READ, NtQueryMutant.
 */
int ntux_mutex_read(const ntux_arena *arena, ntux_object mutex, uint32_t *owner, uint32_t *count);


/* ==== EVENTS: signaled from set to reset; a wait that acquires an auto-reset event resets it ==== */

/* Creates an event: manual-reset if `manual` is not 0, auto-reset otherwise; set if `signaled` is not 0.
 *
 * -ENOMEM   the arena is full, or there is no memory for more of it
 *
 * NTSYNC_IOC_CREATE_EVENT, NtCreateEvent.
 */
int ntux_event_create(const ntux_arena *arena, uint32_t manual, uint32_t signaled, ntux_object *event);

/* Signals the event. Before this returns, a manual-reset event satisfies every wait on it; an auto-reset
 * event satisfies one and is reset by it, or stays set if nobody waits.
 *
 * previous  [optional] 1 if it was signaled before, else 0
 *
 * -EINVAL   not an event
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_EVENT_SET, NtSetEvent.
 */
int ntux_event_set(const ntux_arena *arena, ntux_object event, uint32_t *previous);

/* Makes the event unsignaled.
 *
 * previous  [optional] 1 if it was signaled before, else 0
 *
 * -EINVAL   not an event
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_EVENT_RESET, NtResetEvent.
 */
int ntux_event_reset(const ntux_arena *arena, ntux_object event, uint32_t *previous);

/* Sets and resets the event in one step: satisfies every wait on a manual-reset event, at most one on an
 * auto-reset event, and leaves it unsignaled.
 *
 * previous  [optional] 1 if it was signaled before, else 0
 *
 * -EINVAL   not an event
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_EVENT_PULSE, NtPulseEvent.
 */
int ntux_event_pulse(const ntux_arena *arena, ntux_object event, uint32_t *previous);

/* Reads the state at one moment.
 *
 * manual    [optional] 1 for manual-reset, 0 for auto-reset
 * signaled  [optional] 1 or 0
 *
 * -EINVAL   not an event
 * -EBADF    closed, or never was
 *
 * NTSYNC_IOC_EVENT_READ, NtQueryEvent.
 */
int ntux_event_read(const ntux_arena *arena, ntux_object event, uint32_t *manual, uint32_t *signaled);


/* ==== WAITS ==== */

/* Waits until one of `objects` is signaled, and acquires that one. If several are, the lowest index is taken.
 * Among waits on one object the first comes first, but those that wait for all come before those that wait
 * for any.
 *
 * objects      `count` objects, which nobody may write meanwhile; one may occur more than once; NULL if
 *              `count` is 0
 * count        0 to NTUX_WAIT_OBJECTS_MAX
 * alert        one more object, which ends the wait as well and is acquired as any other, but is looked at
 *              only when none of `objects` is signaled at the start; 0 for none
 * owner        in whose name mutexes are acquired: not 0, see ntux_mutex_create
 * flags        0 or NTUX_REALTIME
 * deadline_ns  absolute, in nanoseconds: of CLOCK_MONOTONIC, or of CLOCK_REALTIME with NTUX_REALTIME;
 *              NTUX_NEVER for no deadline; in the past, such as 0, for one attempt without sleep
 * index        [optional] which object was acquired; `count` for the alert
 *
 * -EOWNERDEAD  success, index is written and the mutex is acquired: its former owner was killed while it
 *              owned it
 * -ETIMEDOUT   the deadline passed
 * -EINVAL      `owner` is 0; an unknown flag; `count` is too large; an object is closed or never was
 * -ENOMEM      more threads wait than the arena has room for, or there is memory for
 *
 * Without objects and without alert this is a sleep. A mutex that was acquired 4294967295 times is not
 * signaled, not even to its owner.
 *
 * NTSYNC_IOC_WAIT_ANY, NtWaitForMultipleObjects, NtWaitForSingleObject.
 */
int ntux_wait_any(const ntux_arena *arena, const ntux_object *objects, uint32_t count, ntux_object alert,
                  uint32_t owner, uint32_t flags, uint64_t deadline_ns, uint32_t *index);

/* Waits until all of `objects` are signaled at the same moment, and acquires them in one step that nobody can
 * see inside. Nothing is held while it waits. Without objects it succeeds at once.
 *
 * The arguments are those of ntux_wait_any, except that no object may occur twice, also not as alert.
 *
 * index        [optional] 0; `count` for the alert
 *
 * -EOWNERDEAD  success, index is written and all are acquired: at least one of the mutexes was abandoned
 * -ETIMEDOUT   the deadline passed
 * -EINVAL      as ntux_wait_any; an object occurs twice
 * -ENOMEM      more threads wait than the arena has room for, or there is memory for
 *
 * NTSYNC_IOC_WAIT_ALL, NtWaitForMultipleObjects.
 */
int ntux_wait_all(const ntux_arena *arena, const ntux_object *objects, uint32_t count, ntux_object alert,
                  uint32_t owner, uint32_t flags, uint64_t deadline_ns, uint32_t *index);


/* ==== WRITE WATCHES (Linux) ==== */

/* Which pages of a range were written since they were last asked for: GetWriteWatch. A watcher is a mechanism and the
 * memory that it watches, of this process. Ranges are given by address; where not said otherwise they are rounded
 * outwards to whole pages and must lie inside one region, which a single call has reserved or added.
 *
 * Any thread may call any function at any time, except ntux_watch_close. No function may be called from a signal
 * handler. In a child of fork everything is watched as before, from the child's first call on; until it is reset
 * every page counts as written there.
 *
 * Not repeated below: -EFAULT for NULL and -EINVAL for misaligned pointers; -EINVAL for a length of 0 and for a range
 * that is not inside one region; -ENOMEM.
 *
 * What a mechanism does not see: stores through other mappings of the same memory, by other processes, by devices
 * and into io_uring's registered buffers. With "mprotect", and with "sync" without privilege, system calls that
 * write to clean pages fail with EFAULT: see ntux_watch_read. docs/watch.md has the table.
 *
 * "cow" is used only where it is named. It can be faster than "mprotect", and system calls fail only on pages that are
 * just being reset. But do not reset what is pinned (O_DIRECT, registered buffers), or what is stored there is lost;
 * written pages take twice the memory; and a child of a bare clone does not have the memory.
 */
typedef struct ntux_watcher ntux_watcher;

/* Protection of pages. */
#define NTUX_PAGE_READ    1u
#define NTUX_PAGE_WRITE   2u
#define NTUX_PAGE_EXECUTE 4u

/* What is listed becomes clean, each page in the step that lists it. */
#define NTUX_WATCH_RESET 1u

/* Neighbouring pages: address of the first, bytes. */
struct ntux_run {
    uintptr_t start;
    size_t length;
};

/* Makes a watcher.
 *
 * mechanism  "async", "sync", "mprotect" or "cow"; NULL for the one that the environment's NTUX_WATCH names, or else the
 *            first of "async", "sync" and "mprotect" that works
 *
 * -EINVAL      there is no such mechanism
 * -EOPNOTSUPP  none works; or what the system says when the one that was named does not
 */
int ntux_watch_open(const char *mechanism, ntux_watcher **watcher);

/* Ends a watcher. Its last use.
 *
 * -EBUSY  it still has regions; nothing happened
 */
int ntux_watch_close(ntux_watcher *watcher);

/* Reserves watched memory, rounded up to whole pages. None of it is committed.
 *
 * VirtualAlloc(MEM_RESERVE | MEM_WRITE_WATCH).
 */
int ntux_watch_reserve(const ntux_watcher *watcher, size_t length, void **base);

/* Watches memory that the program has mapped: private or shared, anonymous or of a file. Its pages are clean at
 * first. Until it is released its protection is changed by ntux_watch_protect only.
 *
 * -EINVAL      not whole pages
 * -EBUSY       somebody watches part of it already
 * -EOPNOTSUPP  pages of hugetlbfs; otherwise what the system says of memory that cannot be watched
 */
int ntux_watch_add(const ntux_watcher *watcher, void *base, size_t length);

/* Ends the region that begins at `base`. Reserved memory is gone; other memory is watched no longer. */
int ntux_watch_release(const ntux_watcher *watcher, void *base);

/* Makes reserved pages usable, or sets the protection of those that are. Pages that were not committed are zero and
 * clean.
 *
 * protection   NTUX_PAGE_READ and so on
 *
 * -EINVAL      an unknown bit
 * -EOPNOTSUPP  not reserved memory
 */
int ntux_watch_commit(const ntux_watcher *watcher, void *base, size_t length, uint32_t protection);

/* Gives the memory of reserved pages back. They cannot be accessed, and are clean, except for those that were written
 * before the last ntux_watch_protect. (That is what Windows does.)
 *
 * -EOPNOTSUPP  not reserved memory
 */
int ntux_watch_decommit(const ntux_watcher *watcher, void *base, size_t length);

/* Sets what may be done with committed pages. Written pages stay written, also when they are decommitted later.
 *
 * -EFAULT  some are not committed
 */
int ntux_watch_protect(const ntux_watcher *watcher, void *base, size_t length, uint32_t protection);

/* Lists written pages, ascending: as many as there is room for.
 *
 * flags        0 or NTUX_WATCH_RESET, which concerns the listed pages and no others
 * addresses    room for `*count` addresses; what is behind the listed ones stays as it is
 * count        in: how many there is room for, not 0; out: how many were listed. If that is all, there may be more
 * granularity  bytes in a page
 *
 * Checked in this order: -EFAULT  count or granularity is NULL
 *                        -EINVAL  `*count` or `length` is 0; an unknown flag
 *                        -EFAULT  addresses is NULL or cannot be written
 *                        -EINVAL  the range is not inside one region
 *
 * GetWriteWatch.
 */
int ntux_watch_get(const ntux_watcher *watcher, uint32_t flags, const void *base, size_t length, void **addresses,
                   size_t *count, uint32_t *granularity);

/* Makes pages clean. What was written since the last list is forgotten.
 *
 * ResetWriteWatch.
 */
int ntux_watch_reset(const ntux_watcher *watcher, const void *base, size_t length);

/* Lists written pages of many ranges, in one scan where that is possible, as runs of neighbours.
 *
 * ranges       `range_count` ranges, ascending, each inside one region; runs of neighbouring ranges are joined
 * runs         room for `*count` runs
 * count        in: how many there is room for, not 0; out: how many were listed
 *
 * -EINVAL  also if ranges do not ascend, or overlap
 */
int ntux_watch_get_runs(const ntux_watcher *watcher, uint32_t flags, const struct ntux_run *ranges,
                        size_t range_count, struct ntux_run *runs, size_t *count);

/* Lists written pages as bits: the lowest bit of the first word is the range's first page.
 *
 * words    how many words `bitmap` has: a bit for each page at least
 */
int ntux_watch_get_bitmap(const ntux_watcher *watcher, uint32_t flags, const void *base, size_t length,
                          uint64_t *bitmap, size_t words);

/* read and recv into memory that may be watched: they succeed where the plain call would fail on a clean page, or
 * lose a datagram. Until they return, the whole buffer is listed as written if the mechanism cannot see system calls.
 *
 * done  how many bytes were read
 *
 * Otherwise the error of the call.
 */
int ntux_watch_read(const ntux_watcher *watcher, int fd, void *buffer, size_t length, size_t *done);
int ntux_watch_recv(const ntux_watcher *watcher, int fd, void *buffer, size_t length, int flags, size_t *done);

struct iovec;
struct msghdr;

/* readv and recvmsg, as above. */
int ntux_watch_readv(const ntux_watcher *watcher, int fd, const struct iovec *buffers, int buffer_count,
                     size_t *done);
int ntux_watch_recvmsg(const ntux_watcher *watcher, int fd, struct msghdr *message, int flags, size_t *done);


/* ==== FUTEXES ==== */

/* The four calls of the futex2 proposal (version 4), in user space: words of 8, 16, 32 and 64 bits, for threads of this
 * process or, with NTUX_FUTEX_SHARED, for all processes that map the word. All who use one word must use these
 * functions, with the same size and sharing. docs/futex.md says what is exact on which kernel; `ntux doctor`
 * tells for this machine.
 *
 * A flag word is one size, and NTUX_FUTEX_SHARED or not; for waits also NTUX_FUTEX_REALTIME. `timeout` is absolute, of
 * CLOCK_MONOTONIC or, with NTUX_FUTEX_REALTIME, of CLOCK_REALTIME; NULL for none.
 *
 * With NTUX_FUTEX_NUMA the word is the first of a struct ntux_futex32_numa, aligned to 8 bytes: the kernel keeps who
 * waits for it on the memory node that `hint` names, and for -1 chooses that of the calling thread and writes it there
 * (unlike in the proposal, where the hint was only read). Only for NTUX_FUTEX_32, and since Linux 6.16. Whoever waits
 * and whoever wakes must find the same node.
 *
 * Beside the errors that are listed:
 *
 * -EINVAL      an unknown flag; a misaligned word; a timeout that is no time; a node that the machine has not
 * -EFAULT      a NULL pointer; no memory there (looked at when a thread first uses a page; waking a private word
 *              never looks)
 * -EOPNOTSUPP  not on this kernel
 */
#define NTUX_FUTEX_8        0u
#define NTUX_FUTEX_16       1u
#define NTUX_FUTEX_32       2u
#define NTUX_FUTEX_64       3u
#define NTUX_FUTEX_SHARED   8u
#define NTUX_FUTEX_NUMA     16u
#define NTUX_FUTEX_REALTIME 256u
#define NTUX_FUTEX_RELATIVE 512u /* only in ntux_futex_wait_multiple */

/* Most entries of one ntux_futex_waitv. */
#define NTUX_FUTEX_WAITV_MAX 128u

struct timespec;

/* A futex of 32 bits and its memory node. */
struct ntux_futex32_numa {
    uint32_t value;
    int32_t hint;
};

/* One word of a vector. */
struct ntux_futex_waitv {
    uint64_t val;
    void *uaddr;
    uint32_t flags;
};

/* One word of a requeue. */
struct ntux_futex_requeue {
    void *uaddr;
    uint32_t flags;
};

/* Sleeps while the word holds `val`, until it is woken. Look at the word again after it.
 *
 * -EAGAIN      the word holds something else, also when the timeout has passed
 * -ETIMEDOUT   the timeout passed
 * -EINTR       a signal handler ran
 * -ENOMEM      more than 16384 threads wait
 */
int ntux_futex_wait(void *uaddr, uint64_t val, uint32_t flags, const struct timespec *timeout);

/* Wakes at most `nr_wake` waiters, first come, first served. Returns how many. Async-signal-safe. */
int ntux_futex_wake(void *uaddr, uint32_t nr_wake, uint32_t flags);

/* Sleeps while every word holds its `val`, until one is woken. Sizes and sharing may be mixed. Returns which one.
 *
 * waiters      1 to NTUX_FUTEX_WAITV_MAX entries, whose flags are size and sharing
 * flags        0 or NTUX_FUTEX_REALTIME
 *
 * The errors are those of ntux_futex_wait.
 */
int ntux_futex_waitv(const struct ntux_futex_waitv *waiters, uint32_t nr_waiters, uint32_t flags,
                     const struct timespec *timeout);

/* If `from` holds `cmpval`, wakes at most `nr_wake` of its waiters and lets at most `nr_requeue` others wait for `to`
 * instead. Returns how many both are together. Where waiters cannot be moved they are woken. `flags` is 0.
 *
 * -EAGAIN      `from` holds something else
 */
int ntux_futex_requeue(const struct ntux_futex_requeue *from, const struct ntux_futex_requeue *to,
                       uint32_t nr_wake, uint32_t nr_requeue, uint64_t cmpval, uint32_t flags);

/* One word of ntux_futex_wait_multiple. */
struct ntux_futex_wait_block {
    uint32_t *uaddr;
    uint32_t val;
    uint32_t bitset;
};

/* FUTEX_WAIT_MULTIPLE, which was proposed for the kernel before ntux_futex_waitv was, and has been in patched kernels:
 * words of 32 bits, all private or all shared, each with a bitset. Returns which one was woken.
 *
 * blocks       1 to NTUX_FUTEX_WAITV_MAX; a bitset of UINT32_MAX is for every wake
 * flags        as proposed: NTUX_FUTEX_SHARED where the operation had no FUTEX_PRIVATE_FLAG, NTUX_FUTEX_REALTIME for
 *              FUTEX_CLOCK_REALTIME. As in the patched kernels (operation 31): NTUX_FUTEX_RELATIVE and then no
 *              NTUX_FUTEX_REALTIME; `timeout` counts from the call on, on CLOCK_MONOTONIC.
 *
 * The errors are those of ntux_futex_wait; and
 *
 * -EINVAL      a bitset is 0
 * -EOPNOTSUPP  several shared blocks, one with another bitset than UINT32_MAX, which the kernel has not
 *
 * A program that makes the system call itself needs nothing of this: under `ntux run` it gets the operation.
 */
int ntux_futex_wait_multiple(const struct ntux_futex_wait_block *blocks, uint32_t count, uint32_t flags,
                             const struct timespec *timeout);


/* ==== FUTEX DOMAINS ==== */

/* Between processes the kernel has no futexes of 8, 16 and 64 bits, moves waiters between equal ones only, and before
 * Linux 5.16 waits for one word only. Processes that attach one domain have all of it, exactly, on every kernel.
 *
 * A domain knows a word by its place: any number below 2^60 on which the processes agree, such as the offset in the
 * memory that they share. Words are the same if place and size are. Where each process has the word does not matter.
 *
 * All processes of a domain can write its memory. One that writes rubbish there can make the calls of others fail or
 * return late, early or without reason; not crash, run for ever, or return after their timeout.
 *
 * Beside the errors that are listed: -EFAULT and -EINVAL for the pointer to the domain.
 */
typedef struct ntux_futex_domain ntux_futex_domain;

/* One word of a domain. */
struct ntux_futex_domain_word {
    uint64_t place;
    uint64_t val;    /* what it is expected to hold */
    void *uaddr;     /* where this process has it */
    uint32_t flags;  /* its size, NTUX_FUTEX_8 to NTUX_FUTEX_64 */
    uint32_t bitset; /* UINT32_MAX is for every wake */
};

/* Creates a domain. Memory is taken only as it is used.
 *
 * waiters   room for so many threads that wait at a time, for 32 words each on average: 1 to 65536
 *
 * -EINVAL   `waiters` is out of range
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 * -EFBIG    more bytes than the process may give a file (RLIMIT_FSIZE); no signal is sent
 */
int ntux_futex_domain_create(uint32_t waiters, ntux_futex_domain **domain);

/* Attaches the domain behind `fd`, which came from ntux_futex_domain_fd in this process or another one. `fd` stays the
 * caller's and may be closed afterwards.
 *
 * -EBADF    `fd` is not open
 * -ENOTTY   `fd` is something else, or a domain of another version
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 */
int ntux_futex_domain_attach(int fd, ntux_futex_domain **domain);

/* The descriptor to hand to other processes, over a Unix socket (SCM_RIGHTS) or by inheritance. It belongs to the
 * domain, is close-on-exec, and is open until ntux_futex_domain_detach: dup it to keep it, do not close it.
 *
 * Returns the descriptor, or a negative error number. Async-signal-safe.
 */
int ntux_futex_domain_fd(const ntux_futex_domain *domain);

/* Ends the use of a domain through this pointer, which must not be in use by another thread and must not be used again.
 * Other processes and other attachments keep the domain.
 */
int ntux_futex_domain_detach(ntux_futex_domain *domain);

/* Sleeps while every word holds its `val`, until one is woken by a wake whose bitset meets the word's. Returns which.
 *
 * words     1 to NTUX_FUTEX_WAITV_MAX
 * flags     0 or NTUX_FUTEX_REALTIME, for `timeout` as in ntux_futex_wait
 *
 * The errors are those of ntux_futex_wait; -EINVAL also for a bitset of 0 and a place that is too large.
 */
int ntux_futex_domain_wait(const ntux_futex_domain *domain, const struct ntux_futex_domain_word *words, uint32_t count,
                           uint32_t flags, const struct timespec *timeout);

/* Wakes at most `nr_wake` who wait for the word of that place and size (`flags`) with a bitset that meets `bitset`,
 * first come, first served. Returns how many. Async-signal-safe.
 *
 * -EINVAL   a bitset of 0, a size or a place that there is not
 */
int ntux_futex_domain_wake(const ntux_futex_domain *domain, uint64_t place, uint32_t nr_wake, uint32_t flags,
                           uint32_t bitset);

/* If `from` holds its `val`, wakes at most `nr_wake` of its waiters and lets at most `nr_requeue` others wait for the
 * word of place `to_place` and size `to_flags` instead. Returns how many both are together. Bitsets do not matter, and
 * go with the waiters.
 *
 * -EAGAIN   `from` holds something else
 * -ENOMEM   no room for the first to be moved
 */
int ntux_futex_domain_requeue(const ntux_futex_domain *domain, const struct ntux_futex_domain_word *from,
                              uint64_t to_place, uint32_t to_flags, uint32_t nr_wake, uint32_t nr_requeue);

#ifdef __cplusplus
}
#endif

#endif
