/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ntux: NT semaphores, mutexes, events and timers with vectored waits, shared between processes; and write watches.
 * This header is the manual.
 *
 * Contents: conventions, arenas, objects, semaphores, mutexes, events, timers, names, waits, queues, descriptors, waiters,
 * supervisors, requests, NTSTATUS, write watches, futexes, futex domains.
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
 * Result       0, or a negative error number from <errno.h>, such as -EINVAL; errno itself is not set. A call that
 *              fails changes nothing and writes nothing, except as said at -EOWNERDEAD.
 *
 * Meaning      Every operation has the semantics of the Linux ntsync driver, and thus of Windows NT: a signal hands
 *              the object to a thread that waits at that moment, before the signaling call returns. Each function
 *              names the driver's request (NTSYNC_IOC_...) and the NT call (Nt...) that it corresponds to.
 *
 * Pointers     NULL where a pointer is required gives -EFAULT, a misaligned pointer -EINVAL. Outputs marked
 *              [optional] may be NULL. With any other bad pointer the behaviour is undefined. That includes a
 *              detached arena, and a pointer that is not an arena.
 *
 * Objects      An ntux_object is a plain number that means the same in every process that has attached the arena. 0
 *              means no object. Any number is safe to pass: one that is not an object of this arena, or was closed,
 *              gives -EBADF. (A number from another arena may happen to be an object in this one, too.)
 *
 * Threads      Any thread may call any function at any time, except ntux_arena_detach, which must be the last use
 *              of its pointer. A thread that must wait takes one of the arena's waiters, keeps it for later waits,
 *              and returns it when the thread ends.
 *
 * Signals      No function may be called from a signal handler, except where it says so. A signal does not end a wait:
 *              the handler runs, the thread keeps its places in the queues, and the wait continues. (The driver
 *              takes the thread out of its queues.) A handler must not leave a call by longjmp, pthread_exit or an
 *              exception, and asynchronous cancellation must be off; no function is a cancellation point.
 *              Programs whose handlers block, wait or end their thread take explicit waiters: see WAITERS.
 *
 * Processes    A child of fork may use the arena pointers and objects that it inherited. A process stopped or
 *              killed at any instruction blocks nobody else. Mutexes that it owned stay owned: see ntux_mutex_kill.
 *
 *              A child of fork has the arenas and domains of its parent, private ones too, and is another process to
 *              them: an object belongs to the process that made it. Detaching in the child leaves the parent's
 *              attachment alone. A child of vfork may call what is async-signal-safe.
 *
 * Unloading    dlclose does not unload the library: threads end through code in it.
 *
 * Versions     A program that was linked with libntux.so.0 runs with every later libntux.so.0: functions, constants and
 *              structures stay as they are, and new ones are added. What must change otherwise gets another number
 *              (libntux.so.1). An arena is shared only by processes whose libraries have the same format of it, which
 *              may change with each version: attaching another one fails with -ENOTTY.
 *
 * Errors       The functions for arenas and objects have one meaning for each number:
 *
 *                  -EBADF       an object or a queue was closed, or is none; a wait has ended; a descriptor is not open
 *                  -ENOENT      no object has the name
 *                  -EPROTOTYPE  an object of another kind than the function is for, or of that name
 *                  -ESRCH       the owner is 0, which nobody is; no process with the number takes part in the arena
 *                  -EPERM       the owner does not own the mutex; the process does not hold the object
 *                  -EOVERFLOW   the semaphore would exceed its maximum
 *                  -E2BIG       more than NTUX_WAIT_OBJECTS_MAX objects in one wait
 *                  -EEXIST      an object occurs twice in a wait for all
 *                  -ETIMEDOUT   the deadline passed
 *                  -EOWNERDEAD  done, but a mutex was abandoned
 *                  -EINTR       a handler ran (explicit waiters only)
 *                  -EBUSY       said to be dead, but lives
 *                  -ENOTTY      not an arena of this version; no request of the driver
 *                  -EINVAL      a number out of range, an unknown flag, a misaligned pointer: wrong whatever the objects are
 *                  -EFAULT      NULL
 *                  -ENOMEM      the arena is full, or a queue of packets, or the system has no memory
 *                  -EIO         another process has overwritten the shared memory with rubbish
 *                  -ENOTRECOVERABLE  a bug in ntux
 *
 *              Every function that takes an arena may also return -EFAULT and -EINVAL for its pointers, -EIO, -ENOMEM if
 *              more than 4096 processes use the arena, and -ENOTRECOVERABLE.
 */
#ifndef NTUX_H
#define NTUX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; the library's file name contains it. */
#define NTUX_VERSION "0.1.0"

/* The most objects of one wait, not counting the alert. */
#define NTUX_WAIT_OBJECTS_MAX 64

/* Flag of a wait: the deadline is on CLOCK_REALTIME, and follows that clock when it is set. */
#define NTUX_REALTIME UINT32_C(1)

/* No deadline. */
#define NTUX_NEVER UINT64_MAX

/* Shared memory that holds objects. */
typedef struct ntux_arena ntux_arena;

/* A semaphore, a mutex, an event or a timer in an arena: below 2^63. 0 means no object. */
typedef uint64_t ntux_object;


/* ==== ARENAS ==== */

/* Creates an arena. It takes memory only as that is used, so a large arena costs no more than a small one.
 *
 * objects   how many objects it has room for: 1 to 16777216
 * waiters   how many waits it has room for at a time, of threads and of queues (ntux_queue_wait): 1 to 65536
 *
 * -EINVAL   `objects` or `waiters` is out of range
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 * -EFBIG    more bytes than the process may give a file (RLIMIT_FSIZE); no signal is sent
 *
 * Corresponds to opening /dev/ntsync. One wait cannot use objects of two arenas.
 */
int ntux_arena_create(uint32_t objects, uint32_t waiters, ntux_arena **arena);

/* Attaches the arena with this name, or creates it, in one step. All processes of the user that open one name share one
 * arena. It ends when none of them has it any more, however they ended; the name means a new one then. A forked child shares
 * the arena, but keeps its name from ending only if it opens it itself.
 *
 * name      1 to 200 bytes of UTF-8 and a 0; no `/`, and no dot at the start
 * objects, waiters  as for ntux_arena_create; they count for a new arena only
 *
 * Those of ntux_arena_create and ntux_arena_attach, and
 * -EINVAL   the name is none
 * -ENOTTY   the file of that name is something else, or the arena is one of another version
 * -ENOMEM   also if 255 processes have the arena
 * -EPERM    the directory is another user's, or open to others
 * -EACCES   the processes that have the arena hide from this one (prctl PR_SET_DUMPABLE);  -EXDEV  they are in other PID
 *           namespaces: remove the file if they have ended
 * -ENOENT   /proc does not show this process its own descriptors; or -EACCES, if it shows those of another one
 * -ENOSYS   another system than Linux
 *
 * The file is $XDG_RUNTIME_DIR/ntux/NAME, or /dev/shm/ntux-UID/NAME without that variable. It says which processes have the
 * arena; one of them has the memory, which is opened through /proc. Nobody need remove it.
 */
int ntux_arena_open(const char *name, uint32_t objects, uint32_t waiters, ntux_arena **arena);

/* As ntux_arena_create, but the arena has no descriptor: it is for the threads of this process, and for children that it
 * forks. A program that closes descriptors which it does not know (closefrom) cannot hit it. Other programs cannot get it:
 * ntux_arena_fd is -EBADF.
 */
int ntux_arena_create_private(uint32_t objects, uint32_t waiters, ntux_arena **arena);

/* Attaches the arena behind `fd`, which came from ntux_arena_fd in this process or another one. The caller keeps
 * `fd` and may close it afterwards. One process may attach the same arena several times.
 *
 * -EBADF    `fd` is not open
 * -ENOTTY   `fd` is something else, or an arena of another version
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 */
int ntux_arena_attach(int fd, ntux_arena **arena);

/* Returns the descriptor to pass to other processes, over a Unix socket (SCM_RIGHTS) or by inheritance. It belongs
 * to the arena, is close-on-exec, and stays open until ntux_arena_detach, which closes that number: do not close it; dup
 * it to keep it. Only this function needs it: after a closefrom every object works as before.
 *
 * -EBADF    the arena has none: it came from ntux_arena_create_private
 *
 * Async-signal-safe.
 */
int ntux_arena_fd(const ntux_arena *arena);

/* Detaches an arena. No other thread may be using the pointer, and it must not be used again. Other processes and
 * other attachments keep the arena and its objects. Closes the queues, and ends the descriptors of objects, that this process
 * has made with this pointer: what they have acquired and nobody has taken is lost. Queues that a child of fork has inherited
 * stay its parent's.
 */
int ntux_arena_detach(ntux_arena *arena);


/* ==== OBJECTS ==== */

/* What ntux_object_kind returns. Later versions may have more kinds. */
#define NTUX_KIND_SEMAPHORE    1
#define NTUX_KIND_MUTEX        2
#define NTUX_KIND_AUTO_EVENT   3
#define NTUX_KIND_MANUAL_EVENT 4
#define NTUX_KIND_SYNC_TIMER   5
#define NTUX_KIND_MANUAL_TIMER 6
#define NTUX_KIND_END          7

/* Returns the kind of an object, NTUX_KIND_...; it never changes.
 *
 * -EBADF    the object was closed, or never existed
 *
 * Async-signal-safe. NtQueryObject(ObjectTypeInformation).
 */
int ntux_object_kind(const ntux_arena *arena, ntux_object object);

/* Adds a hold of the calling process on an object of any kind. An object lives as long as a process holds it; the process
 * that created it holds it once. To hand an object over, let the other process hold it before this one releases it.
 *
 * Each process counts its own holds, and they end with it: an object that no living process holds ends when the arena
 * needs the room. A program that the process executes keeps its holds; a child of fork begins without any. Up to 61 holds
 * of a process are counted: more of them end only with the process, or when ntux_object_close ends the object. If more
 * than four processes hold an object at a time and one of them dies, its hold may last until others have ended, too.
 *
 * -EBADF    the object was closed, or never existed, or no process held it any more and it has ended
 *
 * One exchange, no system call; the first hold beside the creator's is three exchanges. Does not allocate.
 * NtDuplicateObject; corresponds to keeping a descriptor of the driver's object.
 */
int ntux_object_hold(const ntux_arena *arena, ntux_object object);

/* Adds a hold of another process, as if that had called ntux_object_hold: so an object can be handed to a process that runs
 * already, and outlives the process that does so. Tell the other one the object's number, by whatever way; it releases the
 * object as it does what it holds itself.
 *
 * process   its number, as the calling process sees it
 *
 * The process must take part in the arena already: it has created, held or released something there, slept, or asked
 * ntux_object_holds, be it in vain. The hold ends with it. A program that it executes keeps the hold; a child that it forks
 * does not have it.
 *
 * -ESRCH    no living process with this number takes part, or it has ended meanwhile, or the system does not say whether it
 *           lives (a sandbox without /proc)
 * -EBADF    the object was closed, or never existed, or no process held it any more and it has ended
 *
 * A caller that is killed meanwhile may leave the hold. One that gets -ESRCH because the process has ended meanwhile may
 * leave a hold of the process that has come into its place, if that one holds or releases the object at the same time.
 * Either ends with the process that has it.
 *
 * Any thread. A few system calls: it looks whether the process lives. Does not allocate. DuplicateHandle to another process.
 */
int ntux_object_hold_for(const ntux_arena *arena, ntux_object object, uint32_t process);

/* How often the calling process holds an object of any kind: 0 if it does not.
 *
 * holds     receives the number. While more than four processes hold the object, or this one does more than 61 times, a
 *           number that is not 0 may be too high. May be NULL.
 *
 * -EBADF    the object was closed, or never existed, or no process held it any more and it has ended
 *
 * Any thread. Does not allocate.
 */
int ntux_object_holds(const ntux_arena *arena, ntux_object object, uint32_t *holds);

/* Takes a hold of the calling process away. An object that no process holds any more ends: before this returns, unless a
 * wait stands in its queue, or it is a mutex that somebody owns. With a wait in its queue it lives at least until that is
 * over. An owned mutex lives at least until the process that released it last ends: so its owner can be declared dead
 * (ntux_mutex_kill), and the first waiter gets it, with -EOWNERDEAD. Both end later, when the arena needs the room.
 *
 * Hold what you use. A process that begins to use an object while the last hold on it is being released may find it there,
 * or not.
 *
 * -EBADF    the object was closed, or never existed
 * -EPERM    the calling process does not hold it. (While more than four processes hold an object, a release by a process
 *           that never held it may succeed.)
 *
 * One exchange, no system call. NtClose; corresponds to closing a descriptor of the driver's object.
 */
int ntux_object_release(const ntux_arena *arena, ntux_object object);

/* Closes an object of any kind, for every process, whoever holds it. A wait in progress continues until its own deadline. The
 * number is reused only after 2147483646 other objects have used its slot.
 *
 * -EBADF    the object was closed already, or never existed
 *
 * Corresponds to closing the last descriptor of the driver's object.
 */
int ntux_object_close(const ntux_arena *arena, ntux_object object);

/* Makes an object belong to the calling process, which takes over the hold of the process that created it, or adopted it
 * last. If other processes have held the object, too, this adds a hold, unless the calling process has one.
 *
 * -EBADF    the object was closed, or never existed
 *
 * Corresponds to keeping a descriptor of the driver's object.
 */
int ntux_object_adopt(const ntux_arena *arena, ntux_object object);


/* ==== SEMAPHORES: signaled while the count is above zero; a wait that acquires one decrements the count ==== */

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
 * previous  [optional] the previous count
 *
 * -EOVERFLOW  the count would exceed the maximum
 * -EPROTOTYPE  not a semaphore
 * -EBADF      closed, or never existed
 *
 * NTSYNC_IOC_SEM_RELEASE, NtReleaseSemaphore.
 */
int ntux_semaphore_release(const ntux_arena *arena, ntux_object semaphore, uint32_t count, uint32_t *previous);

/* Reads a consistent state.
 *
 * count, max  [optional]
 *
 * -EPROTOTYPE  not a semaphore
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_SEM_READ, NtQuerySemaphore.
 */
int ntux_semaphore_read(const ntux_arena *arena, ntux_object semaphore, uint32_t *count, uint32_t *max);


/* ==== MUTEXES: signaled while unowned, and to the owner; a wait that acquires one increments the count ==== */

/* Creates a mutex that `owner` has acquired `count` times, or an unowned one if both are 0.
 *
 * An owner is any number but 0 that the program chooses, such as a thread id, unique among the threads that share
 * the mutex. The mutex does not know threads: any caller that passes the owner's number is the owner.
 *
 * -EINVAL   one of `owner` and `count` is 0 and the other is not
 * -ENOMEM   the arena is full, or there is no memory for more of it
 *
 * NTSYNC_IOC_CREATE_MUTEX, NtCreateMutant.
 */
int ntux_mutex_create(const ntux_arena *arena, uint32_t owner, uint32_t count, ntux_object *mutex);

/* Decrements the recursion count. At 0 the mutex becomes unowned, and the first waiter gets it before this returns.
 *
 * previous  [optional] the previous recursion count
 *
 * -EPERM    `owner` does not own the mutex
 * -EPROTOTYPE  not a mutex
 * -ESRCH    `owner` is 0
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_MUTEX_UNLOCK, NtReleaseMutant.
 */
int ntux_mutex_unlock(const ntux_arena *arena, ntux_object mutex, uint32_t owner, uint32_t *previous);

/* Declares that `owner` is gone: the mutex becomes unowned and abandoned. The first waiter gets it before this
 * returns. The next acquisition reports that once, with -EOWNERDEAD. The program must call this when a thread ends;
 * nothing does it automatically.
 *
 * -EPERM    `owner` does not own the mutex
 * -EPROTOTYPE  not a mutex
 * -ESRCH    `owner` is 0
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_MUTEX_KILL; the NT kernel does this when a thread ends.
 */
int ntux_mutex_kill(const ntux_arena *arena, ntux_object mutex, uint32_t owner);

/* Reads a consistent state.
 *
 * owner     [optional] 0 if it is unowned
 * count     [optional] the recursion count
 *
 * -EOWNERDEAD  the mutex is abandoned; owner and count are still written, both 0
 * -EPROTOTYPE  not a mutex
 * -EBADF       closed, or never existed
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
 * previous  [optional] 1 if it was signaled before, 0 otherwise
 *
 * -EPROTOTYPE  not an event
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_EVENT_SET, NtSetEvent.
 */
int ntux_event_set(const ntux_arena *arena, ntux_object event, uint32_t *previous);

/* Makes the event unsignaled.
 *
 * previous  [optional] 1 if it was signaled before, 0 otherwise
 *
 * -EPROTOTYPE  not an event
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_EVENT_RESET, NtResetEvent.
 */
int ntux_event_reset(const ntux_arena *arena, ntux_object event, uint32_t *previous);

/* Sets and resets the event in one step: satisfies every wait on a manual-reset event, at most one on an
 * auto-reset event, and leaves it unsignaled.
 *
 * previous  [optional] 1 if it was signaled before, 0 otherwise
 *
 * -EPROTOTYPE  not an event
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_EVENT_PULSE, NtPulseEvent.
 */
int ntux_event_pulse(const ntux_arena *arena, ntux_object event, uint32_t *previous);

/* Reads a consistent state.
 *
 * manual    [optional] 1 for manual-reset, 0 for auto-reset
 * signaled  [optional] 1 or 0
 *
 * -EPROTOTYPE  not an event
 * -EBADF    closed, or never existed
 *
 * NTSYNC_IOC_EVENT_READ, NtQueryEvent.
 */
int ntux_event_read(const ntux_arena *arena, ntux_object event, uint32_t *manual, uint32_t *signaled);


/* ==== TIMERS: signaled when they are due; a wait that acquires a synchronization timer resets it ==== */

/* A timer needs no thread that lives, and no server: whoever waits for it fires it, also if the process that has set it is
 * dead. Every function that takes a timer fires it first if it is due.
 */

/* Flags of ntux_timer_set beside NTUX_REALTIME, without which the clock is CLOCK_MONOTONIC. */
#define NTUX_BOOTTIME UINT32_C(2) /* the clock is CLOCK_BOOTTIME, which goes on while the machine sleeps */
#define NTUX_RELATIVE UINT32_C(4) /* the due time counts from the call */

/* Creates a timer, neither signaled nor armed: manual-reset if `manual` is not 0, a synchronization timer otherwise.
 *
 * -ENOMEM   the arena is full
 *
 * NtCreateTimer.
 */
int ntux_timer_create(const ntux_arena *arena, uint32_t manual, ntux_object *timer);

/* Arms the timer: it is not signaled from now on until it is due, and fires then. It satisfies waits as an event does that
 * is set. Waits that have begun wait for the new time.
 *
 * flags     NTUX_REALTIME or NTUX_BOOTTIME, or neither; NTUX_RELATIVE
 * due       nanoseconds of that clock; with NTUX_RELATIVE from now. A time in the past is due at once
 * period    nanoseconds from one due time to the next, rounded up to microseconds; 0: it fires once. Due times that nobody
 *           has waited for are one firing together, and the next one is the next multiple of the period after it
 *
 * -EINVAL   an unknown flag; a period above 25 days
 * -EPROTOTYPE  not a timer
 * -EBADF    closed, or never existed
 *
 * NtSetTimer, without an APC.
 */
int ntux_timer_set(const ntux_arena *arena, ntux_object timer, uint32_t flags, uint64_t due, uint64_t period);

/* Ends the arming. Whether the timer is signaled stays as it is.
 *
 * -EPROTOTYPE  not a timer
 * -EBADF    closed, or never existed
 *
 * NtCancelTimer.
 */
int ntux_timer_cancel(const ntux_arena *arena, ntux_object timer);

/* Reads a consistent state.
 *
 * manual    [optional] 1 if it is manual-reset
 * signaled  [optional]
 * flags     [optional] the clock: NTUX_REALTIME, NTUX_BOOTTIME, or 0
 * due       [optional] when it fires next, by that clock; 0 if it is not armed
 * period    [optional] in nanoseconds
 *
 * -EPROTOTYPE  not a timer
 * -EBADF    closed, or never existed
 *
 * NtQueryTimer.
 */
int ntux_timer_read(const ntux_arena *arena, ntux_object timer, uint32_t *manual, uint32_t *signaled, uint32_t *flags,
                    uint64_t *due, uint64_t *period);


/* ==== NAMES: who has attached the arena finds an object by its name ==== */

/* Flag of a name: A to Z are the same as a to z. All other bytes are compared as they are, also those beyond ASCII. */
#define NTUX_IGNORE_CASE UINT32_C(1)

/* Opens the object with this name, or creates it, in one step: of several processes that do so at the same time, one
 * creates it, and all get the same object. The calling process holds it once more: see ntux_object_release.
 *
 * name      1 to 255 bytes and a 0, in any encoding; `\` means nothing. Case matters, unless `flags` says otherwise
 * flags     0 or NTUX_IGNORE_CASE. If names that differ in case exist, it means one of them
 * existed   [optional] 1 if the object existed, 0 if it was created. What exists is as it was: the other arguments count for
 *           a new object only, as those of ntux_semaphore_create, ntux_mutex_create and ntux_event_create
 *
 * The name ends with the object. An object ends when no process holds it any more, unless it is waited for, owned or
 * permanent (ntux_object_release, ntux_object_make_permanent), or by ntux_object_close. What only dead processes held is not
 * found: it ends, and a new object is created. (A process in another PID namespace counts as alive.) A creator that is
 * killed before it returns has created nothing, unless another process got the object meanwhile.
 *
 * An arena has room for as many names as objects, but for some 32000 at most.
 *
 * -EINVAL   the name is empty or longer than 255 bytes; an unknown flag; arguments that no new object may have
 * -EPROTOTYPE  an object of another kind has the name. (Events are of one kind, whatever resets them.)
 * -ENOMEM   the arena is full, has no room for the name, or there is no memory for more of it
 *
 * Does not block, and does not allocate beside the arena. A name that another process holds costs a look at that process
 * in /proc. NtCreateSemaphore, NtCreateMutant, NtCreateEvent, NtCreateTimer with a name and OBJ_OPENIF.
 */
int ntux_semaphore_create_named(const ntux_arena *arena, const char *name, uint32_t flags, uint32_t count, uint32_t max,
                                ntux_object *semaphore, uint32_t *existed);
int ntux_mutex_create_named(const ntux_arena *arena, const char *name, uint32_t flags, uint32_t owner, uint32_t count,
                            ntux_object *mutex, uint32_t *existed);
int ntux_event_create_named(const ntux_arena *arena, const char *name, uint32_t flags, uint32_t manual,
                            uint32_t signaled, ntux_object *event, uint32_t *existed);
int ntux_timer_create_named(const ntux_arena *arena, const char *name, uint32_t flags, uint32_t manual,
                            ntux_object *timer, uint32_t *existed);

/* Opens the object with this name. The calling process holds it once more.
 *
 * kind      NTUX_KIND_...; either of the two kinds of events means both, and so with timers
 *
 * -EINVAL   the name is empty or longer than 255 bytes; an unknown flag or kind
 * -ENOENT   no object has this name
 * -EPROTOTYPE  an object of another kind has it
 *
 * NtOpenSemaphore, NtOpenMutant, NtOpenEvent.
 */
int ntux_object_open_named(const ntux_arena *arena, const char *name, uint32_t flags, int kind, ntux_object *object);

/* The object lives from now on although no process holds it, with its name, if it has one: as long as the arena, or until
 * ntux_object_make_temporary or ntux_object_close. Holds are counted as before. To make it permanent twice is to do it once.
 *
 * -EBADF    the object was closed, or never existed
 *
 * NtMakePermanentObject; OBJ_PERMANENT.
 */
int ntux_object_make_permanent(const ntux_arena *arena, ntux_object object);

/* Undoes that: the object ends as ntux_object_release says when no process holds it, which may be now.
 *
 * -EBADF    the object was closed, or never existed
 *
 * NtMakeTemporaryObject.
 */
int ntux_object_make_temporary(const ntux_arena *arena, ntux_object object);


/* ==== WAITS ====
 *
 * A wait ends for one of four reasons, so no loop is needed around it as around pthread_cond_wait or a futex: what it waits
 * for was acquired, the deadline passed, an error, or (explicit waiters only) a handler ran. A port of
 * WaitForSingleObject:
 *
 *     do
 *         result = ntux_waiter_wait_any(waiter, &object, 1, alert, owner, 0, deadline_ns, &index);
 *     while (result == -EINTR);                           (never from ntux_wait_any; the deadline is absolute)
 *     if (result == 0 || result == -EOWNERDEAD)
 *         ...                                             (acquired; index tells alert from object)
 */

/* Waits until one of `objects` is signaled, and acquires it; if several are, the one with the lowest index. Waits
 * on one object are served in order of arrival, but waits for all come before waits for any.
 *
 * objects      array of `count` objects, which nobody may write meanwhile; an object may occur more than once; NULL
 *              if `count` is 0
 * count        0 to NTUX_WAIT_OBJECTS_MAX
 * alert        one more object, which also ends the wait and is acquired like any other, but is checked
 *              only if none of `objects` is signaled at the start; 0 for none
 * owner        the owner for whom mutexes are acquired: not 0, see ntux_mutex_create
 * flags        0 or NTUX_REALTIME
 * deadline_ns  absolute, in nanoseconds: of CLOCK_MONOTONIC, or of CLOCK_REALTIME with NTUX_REALTIME;
 *              NTUX_NEVER for no deadline; in the past, such as 0, for one attempt without sleep
 * index        [optional] which object was acquired; `count` for the alert
 *
 * -EOWNERDEAD  success, index is written and the mutex is acquired: its former owner was killed while it owned
 *              the mutex
 * -ETIMEDOUT   the deadline passed
 * -EBADF       an object, or the alert, was closed or never existed
 * -ESRCH       `owner` is 0
 * -E2BIG       `count` is too large
 * -EINVAL      an unknown flag
 * -ENOMEM      the arena has no room for another waiting thread, or there is no memory
 *
 * Without objects and alert this just sleeps. A mutex that was acquired 4294967295 times is not signaled, not even
 * to its owner.
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
 * -EEXIST      an object occurs twice, and none was closed
 *
 * Otherwise the errors of ntux_wait_any.
 *
 * NTSYNC_IOC_WAIT_ALL, NtWaitForMultipleObjects.
 */
int ntux_wait_all(const ntux_arena *arena, const ntux_object *objects, uint32_t count, ntux_object alert,
                  uint32_t owner, uint32_t flags, uint64_t deadline_ns, uint32_t *index);


/* Signals `signal`, then waits for `object`: adds 1 to a semaphore, unlocks a mutex for `owner`, or sets an event; then does
 * what ntux_wait_any does with the other arguments and one object. The two may be the same.
 *
 * These are two steps: other threads can see the signal, and act on it, before this one waits. (Microsoft's documentation
 * says the same of SignalObjectAndWait, and warns of combining it with PulseEvent: a pulse of `object` by the thread that
 * the signal has woken can come too early, and is missed. Set the event instead.)
 *
 * index        [optional] 0; 1 for the alert
 *
 * -EBADF       one of the objects was closed or never existed
 * -ESRCH       `owner` is 0
 * -EPERM       `owner` does not own the mutex
 * -EOVERFLOW   the semaphore is at its maximum
 * -EINVAL      an unknown flag
 * -ENOMEM      the arena has no room for another waiting thread, or there is no memory
 * -EOWNERDEAD  success, index is written: as ntux_wait_any
 * -ETIMEDOUT   signaled; the deadline passed
 *
 * After all others but -ETIMEDOUT nothing was signaled. (If another thread closes `object` or the alert during the call,
 * -EBADF can come after the signal.)
 *
 * NtSignalAndWaitForSingleObject; the driver has no such request.
 */
int ntux_signal_and_wait(const ntux_arena *arena, ntux_object signal, ntux_object object, ntux_object alert,
                         uint32_t owner, uint32_t flags, uint64_t deadline_ns, uint32_t *index);


/* ==== QUEUES: waits without a thread; their results, and packets, are taken in one place ====
 *
 * ntux_queue_wait registers a wait and returns. The wait stands in the order of those who wait as that of a thread does, and
 * acquires what that would; the result is delivered to the queue. Any thread of the process takes it there, together with
 * packets that its threads have posted. Any number of objects can be waited for, each by a wait of its own:
 *
 *     for (;;) {
 *         int i, count = ntux_queue_get(arena, queue, 0, NTUX_NEVER, delivered, 16);
 *         for (i = 0; i < count; i++)
 *             serve(delivered[i].key);                       (then ntux_queue_wait again, if it is to be waited for again)
 *     }
 *
 * docs/c/event-loop.md has the whole of it, and what to do with a wait that is satisfied at once.
 *
 * A queue, and what is registered with it, belongs to the process that created it. Other processes signal the objects; to
 * them, and to a child of fork, the queue is none. When its process ends, however it ends, the queue ends, and its waits
 * acquire nothing more. If the process has attached the arena several times, it may use the queue with each of the pointers;
 * the queue is closed when that one is detached with which it was created. A process that is to become another program (exec)
 * closes its queues before: nobody else can tell the two apart, and the waits stand until that program uses the arena, or ends.
 */

/* The most packets that a queue has room for. */
#define NTUX_QUEUE_PACKETS_MAX 1024

/* A queue of this process. A number as that of an object is: any is safe to pass, 0 means none. */
typedef uint64_t ntux_queue;

/* A wait that is registered, likewise. Its number is not used again. */
typedef uint64_t ntux_registration;

/* What ntux_queue_get takes: the result of a wait, or a packet. */
struct ntux_delivered {
    uint64_t key;                   /* that of the wait, or of the packet */
    ntux_registration registration; /* the wait, which is over; 0: a packet */
    uint32_t index;                 /* which of its objects was acquired; 0 if all were, and for a packet */
    uint32_t abandoned;             /* 1: a mutex that was acquired had been abandoned, see -EOWNERDEAD of ntux_wait_any */
};

/* Creates a queue.
 *
 * -ENOMEM   the arena has as many queues as it has room for (as waits, 512 at most), or there is no memory
 *
 * NtCreateIoCompletion.
 */
int ntux_queue_create(const ntux_arena *arena, ntux_queue *queue);

/* Cancels the waits that are registered with the queue, and closes it. What was delivered and nobody has taken is lost: an
 * auto-reset event that was acquired stays reset, a mutex stays owned. A program that cannot lose that calls
 * ntux_queue_cancel for each wait and takes what is there, before.
 *
 * Threads that are in ntux_queue_get for it return -EBADF.
 *
 * -EBADF    the queue was closed already, or is none of this process
 */
int ntux_queue_close(const ntux_arena *arena, ntux_queue queue);

/* Flag of ntux_queue_wait: waits until all of `objects` are signaled at the same moment, as ntux_wait_all. Without it, for any
 * of them, as ntux_wait_any.
 */
#define NTUX_QUEUE_ALL UINT32_C(1)

/* Registers a wait. If it can be satisfied at once, it is, and nothing is delivered: this is told by a registration of 0.
 *
 * objects, count, owner  as for ntux_wait_any and ntux_wait_all. The array is not needed after the call. Without objects, the
 *               wait is satisfied at once if it is for all, and otherwise never
 * flags         0 or NTUX_QUEUE_ALL
 * key           any number; comes back with the result
 * registration  the number of the wait, for ntux_queue_cancel; 0: satisfied at once
 * index         [optional] written only if it was satisfied at once: which object was acquired, 0 for all
 *
 * -EOWNERDEAD  satisfied at once, registration (0) and index are written: the mutex, or one of them, was abandoned
 * -EBADF       an object was closed or never existed; the queue was closed, or is none of this process
 * -EEXIST      an object occurs twice in a wait for all, and none was closed
 * -ESRCH       `owner` is 0
 * -E2BIG       `count` is too large
 * -EINVAL      an unknown flag
 * -ENOMEM      the arena has no waiter left: a wait takes one of those of ntux_arena_create until its result was taken
 *
 * After all but -EOWNERDEAD nothing was acquired and nothing waits. Does not block. NtAssociateWaitCompletionPacket.
 */
int ntux_queue_wait(const ntux_arena *arena, ntux_queue queue, const ntux_object *objects, uint32_t count, uint32_t owner,
                    uint32_t flags, uint64_t key, ntux_registration *registration, uint32_t *index);

/* Posts a packet, which ntux_queue_get takes: packets first come first served.
 *
 * -EBADF    the queue was closed, or is none of this process
 * -ENOMEM   NTUX_QUEUE_PACKETS_MAX packets are in the queue, which nobody has taken
 *
 * Does not block. NtSetIoCompletion.
 */
int ntux_queue_post(const ntux_arena *arena, ntux_queue queue, uint64_t key);

/* Takes results and packets from the queue: waits until there is one, then takes what is there, up to `room`. Returns how many
 * it has taken, at least 1. Each is taken once, however many threads do so. Results come in no particular order, but none
 * is passed over for ever, and packets and results have their turns.
 *
 * flags         0 or NTUX_REALTIME
 * deadline_ns   as for ntux_wait_any
 * delivered     `room` places, of which as many are written as were taken
 * room          at least 1
 *
 * -ETIMEDOUT   the deadline passed
 * -EBADF       the queue was closed, or is none of this process
 * -EINVAL      an unknown flag; `room` is 0
 *
 * After an error nothing was taken. A signal does not end it, not even of a thread with an explicit waiter.
 * NtRemoveIoCompletionEx.
 */
int ntux_queue_get(const ntux_arena *arena, ntux_queue queue, uint32_t flags, uint64_t deadline_ns,
                   struct ntux_delivered *delivered, uint32_t room);

/* Cancels a wait that is registered, with whichever queue of this process. Either it was not satisfied, and acquires nothing
 * any more; or it was satisfied, and the caller has the result, which ntux_queue_get does not return; or ntux_queue_get has
 * returned the result.
 *
 * index     [optional] written only if it was satisfied: which object was acquired, 0 for all
 *
 * Returns 0 if it was not satisfied, 1 if it was.
 *
 * -EOWNERDEAD  it was satisfied, index is written: a mutex was abandoned
 * -EBADF       its result was taken, it was cancelled, or it is none of this process
 *
 * Does not block. NtCancelWaitCompletionPacket.
 */
int ntux_queue_cancel(const ntux_arena *arena, ntux_registration registration, uint32_t *index);


/* ==== DESCRIPTORS: queues and objects in poll, epoll, kqueue and io_uring ====
 *
 * Nobody reads such a descriptor or closes it: it is polled for reading. It is close-on-exec. A duplicate is as good as the
 * descriptor itself. To a child of fork it is none.
 *
 * It is like a level that a call resets. It becomes readable when there may be something to take, and stays so until a call
 * has found nothing: that one, which returns -ETIMEDOUT, *arms* it again. It can be readable for nothing, and is never
 * unreadable for something, but for the second limit below. So a loop polls, then takes with a deadline of 0 until -ETIMEDOUT.
 * With edges (EPOLLET) it must not poll before that.
 *
 * On Linux 6.7 and later it is a ring of io_uring, and needs no thread. Elsewhere, and where io_uring is refused, a thread of
 * ntux's sleeps for each descriptor. `ntux doctor` says which, and why. A ring has two limits, which the thread has not
 * (NTUX_WITHOUT=io_uring in the environment chooses the thread):
 *
 * - In a thread that has armed it, a call that sleeps can be interrupted: epoll_wait can fail with EINTR, as it does for a
 *   signal. That happens when it becomes readable, when another thread arms it, and once more after it was closed. A call of
 *   ntux_wait_any_or_poll that must sleep arms one, and closes it.
 * - While the thread that armed it last cannot run, it does not become readable: while a debugger has stopped that thread and
 *   not the others, or while it waits for a child of vfork. Whatever is there is taken by who looks (ntux_queue_get).
 */

/* The descriptor of a queue: readable when ntux_queue_get with a deadline of 0 may return something. The first call makes it; it
 * is open until the queue is closed, or the arena detached.
 *
 *     for (;;) {
 *         poll(&polled, 1, -1);                          (polled.fd is the descriptor, polled.events POLLIN)
 *         while ((count = ntux_queue_get(arena, queue, 0, 0, delivered, 16)) > 0)
 *             ...                                        (serve what was taken)
 *     }                                                  (count is -ETIMEDOUT: it is armed)
 *
 * A timer for which a wait stands makes it readable when it is due. It counts as one thread that sleeps in ntux_queue_get: if
 * a queue has both, only one of them may be told of a result, and that one should look soon.
 *
 * Returns the descriptor.
 *
 * -EBADF    the queue was closed, or is none of this process
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor;  -EAGAIN  no thread
 *
 * ntux_queue_get returns -ENOMEM or -EAGAIN instead of -ETIMEDOUT if it cannot be armed. After -EPERM and -ENOSYS it cannot be
 * armed ever: a filter (seccomp) that was installed after it was made refuses io_uring. Then the program closes the queue and
 * makes another one, for which a thread sleeps.
 */
int ntux_queue_fd(const ntux_arena *arena, ntux_queue queue);

/* One object as a descriptor: it becomes readable as soon as the object was acquired for it. It waits for the object in the
 * order of those who wait, as a thread does.
 *
 * owner     acquires the object if it is a mutex, as for ntux_wait_any
 *
 * Returns the descriptor.
 *
 * -EBADF    the object was closed or never existed
 * -ESRCH    `owner` is 0
 * -ENOMEM   the arena has no waiter or no queue left: it takes one of each; or no memory
 * -EMFILE, -ENFILE  no descriptor;  -EAGAIN  no thread
 */
int ntux_object_fd(const ntux_arena *arena, ntux_object object, uint32_t owner);

/* Takes the object if it was acquired for the descriptor. The next call begins to wait for it again, or acquires it at once. So
 * between the two the object is the caller's: a mutex can be unlocked, an event reset.
 *
 * Returns 0 if it was acquired.
 *
 * -EOWNERDEAD  acquired, but the mutex was abandoned
 * -ETIMEDOUT   it was not acquired; the descriptor is armed
 * -EBADF       `fd` is none of ntux_object_fd, or the object was closed. (That makes nobody look: the descriptor does not
 *              become readable for it.)
 * -ENOMEM      it cannot be waited for again now;  -EAGAIN, -EPERM, -ENOSYS  the descriptor cannot be armed: see
 *              ntux_queue_fd
 *
 * Does not block.
 */
int ntux_object_fd_take(const ntux_arena *arena, int fd);

/* Ends the wait, and closes the descriptor. What was acquired and nobody took is the caller's then: it is not given back by
 * itself, because that cannot be exact (an event may have been reset meanwhile, a semaphore be full). If the arena is detached
 * instead, it is lost: an auto-reset event stays reset, a mutex owned.
 *
 * Returns 1 if the object was acquired, 0 if it was not, and is not any more.
 *
 * -EOWNERDEAD  acquired, but the mutex was abandoned
 * -EBADF       `fd` is none of ntux_object_fd
 */
int ntux_object_fd_close(const ntux_arena *arena, int fd);

struct pollfd;

/* Waits for any of the objects, as ntux_wait_any, and for descriptors, as poll: until an object was acquired, or something is
 * found of a descriptor. Either, not both: if this returns a number of descriptors, or an error, nothing was acquired.
 *
 * Objects come first: if one is signaled, it is acquired, whatever the descriptors are.
 *
 * descriptors  as for poll: `fd` and `events` are read, `revents` is written: 0 everywhere unless their number is returned;
 *              nothing is written if this pointer or `arena` is refused
 * descriptors_count  how many; 0 is allowed
 * alert     [optional] as for ntux_wait_any; then there are at most NTUX_WAIT_OBJECTS_MAX - 1 objects
 * the rest  as for ntux_wait_any
 *
 * Returns 0 if an object was acquired, or the number of descriptors of which something was found.
 *
 * The errors of ntux_wait_any; -ENOMEM also if the arena has no queue left; -EMFILE, -ENFILE, -EAGAIN as for ntux_queue_fd;
 * -EINVAL also for as many descriptors as the process may have open, or more. A signal does not end it.
 *
 * A call that must sleep makes a queue and a descriptor for itself, which costs several system calls. A loop that waits again
 * and again uses ntux_queue_fd or ntux_object_fd. MsgWaitForMultipleObjects is of this kind.
 */
int ntux_wait_any_or_poll(const ntux_arena *arena, const ntux_object *objects, uint32_t count, struct pollfd *descriptors,
                          uint32_t descriptors_count, ntux_object alert, uint32_t owner, uint32_t flags, uint64_t deadline_ns,
                          uint32_t *index);


/* ==== WAITERS: for programs whose signal handlers block, wait, or end their thread ==== */

/* A thread's own place in an arena. With one, no handler runs while the thread is inside this library: it is asked to
 * return, the thread leaves all queues, and the handler is run again by the thread as soon as it is outside.
 *
 *     static _Thread_local ntux_waiter *waiter;              (NULL is allowed: the thread is outside)
 *
 *     void handler(int signal, siginfo_t *info, void *context)      (installed with SA_SIGINFO)
 *     {
 *         if (ntux_waiter_defer(waiter, signal, info, context))
 *             return;
 *         ...                                                (may block, wait, longjmp, pthread_exit)
 *     }
 */
typedef struct ntux_waiter ntux_waiter;

/* Creates a waiter for the calling thread. Only that thread may use it. A child of fork must not use its parent's. */
int ntux_waiter_create(const ntux_arena *arena, ntux_waiter **waiter);

/* Gives back what ntux_waiter_give_back would, and the thread's place in the arena. The pointer must not be used again. A
 * handler that ends its thread may call this, when ntux_waiter_defer returned 0.
 */
int ntux_waiter_destroy(ntux_waiter *waiter);

/* ntux_wait_any and ntux_wait_all, which a signal ends: the thread is out of all queues while its handler runs.
 *
 * -EINTR    a handler ran that had called ntux_waiter_defer; nothing was acquired
 *
 * A wait that was satisfied when the signal came returns what it got, after the handler. Otherwise as ntux_wait_any and
 * ntux_wait_all.
 */
int ntux_waiter_wait_any(const ntux_waiter *waiter, const ntux_object *objects, uint32_t count, ntux_object alert,
                         uint32_t owner, uint32_t flags, uint64_t deadline_ns, uint32_t *index);
int ntux_waiter_wait_all(const ntux_waiter *waiter, const ntux_object *objects, uint32_t count, ntux_object alert,
                         uint32_t owner, uint32_t flags, uint64_t deadline_ns, uint32_t *index);

/* What lies between these two is inside: any other function of this library, for which a handler has to wait as well.
 * They nest. Handlers that were asked to return run in the outermost ntux_waiter_leave. Async-signal-safe.
 */
int ntux_waiter_enter(const ntux_waiter *waiter);
int ntux_waiter_leave(const ntux_waiter *waiter);

/* To be called by a handler before anything else, with its own three arguments. Async-signal-safe.
 *
 * Returns 1 if the thread is inside: the handler must return at once. It has been taken out of its queues, and asynchronous
 * signals are blocked in it; the signal comes again, with the same information, when the thread is outside.
 * Returns 0 if it is outside, if `waiter` is NULL, and for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and SIGSYS. Then `info` says what
 * the signal was sent with.
 *
 * A handler that got 0 may do anything: also use this library, and never return. It may unwind through ntux_waiter_leave,
 * ntux_waiter_wait_any and ntux_waiter_wait_all, by longjmp, pthread_exit or an exception: on their frames is nothing to
 * clean up. All other functions must not be unwound through.
 *
 * -EINVAL   `signal` is none;  -EFAULT  `context` is NULL
 */
int ntux_waiter_defer(const ntux_waiter *waiter, int signal, void *info, void *context);

/* For a handler that will not return: gives back what the wait that it runs at the end of had been granted. A semaphore's
 * unit is released, an auto-reset event set, a mutex unlocked; or killed again, if it was abandoned. Nothing if there is
 * nothing to give back. (The driver's wait keeps it, and it is lost.)
 */
int ntux_waiter_give_back(const ntux_waiter *waiter);


/* ==== OWNERS ==== */

/* An owner of a mutex is any number but 0, as long as the program sees to it that no two have the same, and says when one has
 * ended (ntux_mutex_kill). An arena does both for numbers that it gives out. It gives out each once, also among processes of
 * several namespaces. When one ends, because its thread has returned or was killed with its process, its mutexes are abandoned:
 * whoever waits for one with such a number is told, and the first in line gets it, with -EOWNERDEAD.
 *
 * A wait that has lasted for 2 ms is told at once where the kernel tells of a thread's death: on Linux from 5.16 on, with the GNU C
 * library, for 1,024 threads of an arena at a time. Otherwise, and for a process without its threads, it looks: after 1 ms, then
 * after twice as long each time, at last every 256 ms. A poll (a deadline in the past) that would fail looks at once, and so does
 * ntux_mutex_read. A wait with a number of the program's own looks at nobody.
 *
 * The numbers have the highest bit. A program must not use others with that bit in an arena of which it takes owners. There are as
 * many at a time as threads can wait in the arena, 32,768 at most.
 *
 * -ENOMEM   none is left
 *
 * Any thread; not in a signal handler. They wait for nobody.
 */

/* The number of the calling thread: the same at each call. It ends with the thread, with the arena's last pointer in this process
 * (ntux_arena_detach), or by ntux_owner_end. A child of fork has another one.
 */
int ntux_owner_of_thread(ntux_arena *arena, uint32_t *owner);

/* A new number for whatever you like, such as a fiber or a request. It ends with the process, or by ntux_owner_end. */
int ntux_owner_create(ntux_arena *arena, uint32_t *owner);

/* Ends the number of the calling thread, or one that this process has created: its mutexes are abandoned, and those who wait for them
 * are told. It takes as long as there are threads that wait for them. A number that has ended is no owner's any more; what a thread
 * locks with it is abandoned, too.
 *
 * -EINVAL   it is none of these, or has ended
 */
int ntux_owner_end(ntux_arena *arena, uint32_t owner);

/* The end of an owner is an object: it is signaled once the owner has ended, however that came about, and stays so. A wait leaves it
 * signaled, whatever the owner of the wait. It is found out as for mutexes, above. So a thread that can be waited for takes its number,
 * creates the end of that, and reports a code before it returns:
 *
 *     ntux_owner_of_thread(arena, &owner);
 *     ntux_end_create(arena, owner, &end);         (others know it by its number, and wait for it beside other objects)
 *     ...
 *     ntux_end_report(arena, end, code);
 *
 * For a process: the number of ntux_owner_create. As every object, an end lives as long as a process holds it
 * (ntux_object_hold): let those hold it who want to know after the process has ended.
 */

/* Creates the end of an owner, of any process. There may be several.
 *
 * -ESRCH    the arena has given out no such number
 *
 * NtOpenThread or NtOpenProcess, for SYNCHRONIZE.
 */
int ntux_end_create(ntux_arena *arena, uint32_t owner, ntux_object *end);

/* Says with which code the owner will end. The last one counts.
 *
 * -EALREADY    somebody has noticed that the owner has ended; nothing changes
 * -EPROTOTYPE  not an end
 * -EBADF       closed, or never existed
 *
 * The argument of NtTerminateThread.
 */
int ntux_end_report(ntux_arena *arena, ntux_object end, uint32_t code);

/* Reads an end.
 *
 * owner     [optional] whose end it is
 * ended     [optional] 1 if that has ended, so the object is signaled; otherwise 0
 * code      [optional] what was reported last; 0 if nothing was
 *
 * -EOWNERDEAD  the owner has ended, and nothing was reported: it was killed, as a rule; all three are still written
 * -EPROTOTYPE  not an end
 * -EBADF       closed, or never existed
 *
 * NtQueryInformationThread(ThreadBasicInformation).
 */
int ntux_end_read(ntux_arena *arena, ntux_object end, uint32_t *owner, uint32_t *ended, uint32_t *code);


/* ==== SUPERVISORS ==== */

/* A process that learns of the death of others, as the server of an emulator does, tells so here: a dead thread waits no
 * more, and its place is free at once. Linux ends the waits of a dead thread itself, by its robust list; where there is
 * none (macOS, some sandboxes), a dead thread can be granted objects until this is called. What it was granted before stays
 * granted; its mutexes stay owned: see ntux_mutex_kill_all.
 *
 * process, thread   the numbers by which the system knows them: getpid; gettid (Linux), pthread_threadid_np (macOS). On
 *                   Linux those of your own pid namespace: who has the same number in another one is left alone
 *
 * -EBUSY    the system says that it lives, and nobody dead had the number: call again later. Where it cannot tell, your
 *           word counts.
 *
 * Neither waits for anybody. Each looks at the waiters of the arena once.
 */
int ntux_arena_bury_thread(const ntux_arena *arena, uint32_t process, uint64_t thread);

/* As above for all threads of a process; objects that belong to it (ntux_object_adopt) are closed. */
int ntux_arena_bury_process(const ntux_arena *arena, uint32_t process);

/* ntux_mutex_kill for every mutex that `owner` owns. Looks at every object of the arena once. (A program that has a list of its
 * mutexes need not call it.)
 *
 * killed    [optional] how many there were
 *
 * -ESRCH    `owner` is 0
 */
int ntux_mutex_kill_all(const ntux_arena *arena, uint32_t owner, uint32_t *killed);


/* ==== REQUESTS: for programs that were written for the driver ==== */

/* What the driver's ioctl does. Waits and waiters have functions of their own.
 *
 * object     the object; for NTSYNC_IOC_CREATE_...: where its number is written
 * request    an NTSYNC_IOC_... of <linux/ntsync.h>; only its lowest 16 bits matter, in which all systems agree
 * arguments  what the driver has there: one word of 32 bits, or two
 *
 * -ENOTTY    none of the driver's requests, or one of the two that wait
 *
 * Otherwise as the function that names the request, with the driver's numbers: an object of another kind is -EINVAL, and so
 * is an owner of 0.
 */
int ntux_request(const ntux_arena *arena, ntux_object *object, uint32_t request, uint32_t *arguments);


/* ==== NTSTATUS: what an implementation of NT's calls returns ====
 *
 *     0                from a wait             STATUS_WAIT_0 + index, STATUS_USER_APC for the alert
 *     0                otherwise               STATUS_SUCCESS
 *     -EOWNERDEAD      from a wait             STATUS_ABANDONED_WAIT_0 + index
 *     -EOWNERDEAD      ntux_mutex_read         STATUS_SUCCESS, AbandonedState TRUE
 *     -ETIMEDOUT       from a wait             STATUS_TIMEOUT
 *     -EINTR           from a waiter's wait    wait again; the deadline is absolute
 *     -EOVERFLOW       ntux_semaphore_release  STATUS_SEMAPHORE_LIMIT_EXCEEDED
 *     -EPERM           ntux_mutex_unlock       STATUS_MUTANT_NOT_OWNED
 *     -EBADF           the number was closed   look the handle up again; then STATUS_INVALID_HANDLE
 *     -EPROTOTYPE      another kind of object  STATUS_OBJECT_TYPE_MISMATCH
 *     -EEXIST          ntux_wait_all           STATUS_INVALID_PARAMETER_MIX
 *     -E2BIG           from a wait             STATUS_INVALID_PARAMETER_1
 *     -EINVAL, -ESRCH                          a bug of the implementation
 *     -ENOMEM                                  STATUS_NO_MEMORY
 *     -EIO, -ENOTRECOVERABLE                   STATUS_INTERNAL_ERROR
 *
 * Who caches numbers by handle needs no references: a number whose object was closed is refused, also when its place has
 * another object. A wait that has begun goes on, as the driver's does; one that had only been looked up is as one that
 * came after the close, so look the handle up again.
 */


/* ==== WRITE WATCHES (Linux) ==== */

/* Write watches tell which pages of a range were written since the last query (GetWriteWatch). A watcher is a
 * mechanism and the memory of this process that it watches. Ranges are given by address; unless said otherwise they
 * are rounded outwards to whole pages and must lie inside one region, which a single call has reserved or added.
 *
 * Any thread may call any function at any time, except ntux_watch_close. No function may be called from a signal
 * handler. In a child of fork everything is watched again from the child's first call on; until it is reset, every
 * page counts as written there.
 *
 * Every function may also return: -EFAULT for NULL and -EINVAL for misaligned pointers; -EINVAL for a length of 0
 * and for a range that is not inside one region; -ENOMEM.
 *
 * A mechanism does not see stores through other mappings of the same memory, by other processes, by devices and
 * into io_uring's registered buffers. With "mprotect", and with "sync" without privilege, system calls that write
 * to clean pages fail with EFAULT: see ntux_watch_read. docs/watches/mechanisms.md has the table.
 *
 * "cow" is used only if it is named. It can be faster than "mprotect", and system calls fail only on pages that are
 * being reset. But do not reset pinned pages (O_DIRECT, registered buffers), or stores to them are lost; written
 * pages take twice the memory; and a child of a bare clone does not have the memory.
 */
typedef struct ntux_watcher ntux_watcher;

/* Protection of pages. */
#define NTUX_PAGE_READ    1u
#define NTUX_PAGE_WRITE   2u
#define NTUX_PAGE_EXECUTE 4u

/* Listed pages become clean, each in the step that lists it. */
#define NTUX_WATCH_RESET 1u

/* A run of neighbouring pages: address of the first, bytes. */
struct ntux_run {
    uintptr_t start;
    size_t length;
};

/* Creates a watcher.
 *
 * mechanism  "async", "sync", "mprotect" or "cow"; NULL for the one that NTUX_WATCH names in the environment, or else
 *            the first of "async", "sync" and "mprotect" that works
 *
 * -EINVAL      there is no such mechanism
 * -EOPNOTSUPP  none works; if the named one does not work, the system's error
 */
int ntux_watch_open(const char *mechanism, ntux_watcher **watcher);

/* Destroys a watcher. It must not be used again.
 *
 * -EBUSY  it still has regions; nothing changes
 */
int ntux_watch_close(ntux_watcher *watcher);

/* Reserves watched memory, rounded up to whole pages. None of it is committed.
 *
 * VirtualAlloc(MEM_RESERVE | MEM_WRITE_WATCH).
 */
int ntux_watch_reserve(const ntux_watcher *watcher, size_t length, void **base);

/* Watches memory that the program has mapped: private or shared, anonymous or of a file. Its pages are clean at
 * first. Until it is released, only ntux_watch_protect may change its protection.
 *
 * -EINVAL      not whole pages
 * -EBUSY       somebody watches part of it already
 * -EOPNOTSUPP  pages of hugetlbfs; for other memory that cannot be watched, the system's error
 */
int ntux_watch_add(const ntux_watcher *watcher, void *base, size_t length);

/* Ends the region that begins at `base`. Reserved memory is unmapped; other memory is no longer watched. */
int ntux_watch_release(const ntux_watcher *watcher, void *base);

/* Commits reserved pages, or sets the protection of committed ones. Newly committed pages are zero and clean.
 *
 * protection   NTUX_PAGE_READ and so on
 *
 * -EINVAL      an unknown bit
 * -EOPNOTSUPP  not reserved memory
 */
int ntux_watch_commit(const ntux_watcher *watcher, void *base, size_t length, uint32_t protection);

/* Frees the memory of reserved pages. They cannot be accessed, and are clean, except those written before the last
 * ntux_watch_protect. (As on Windows.)
 *
 * -EOPNOTSUPP  not reserved memory
 */
int ntux_watch_decommit(const ntux_watcher *watcher, void *base, size_t length);

/* Sets the protection of committed pages. Written pages stay written, even if they are decommitted later.
 *
 * -EFAULT  some pages are not committed
 */
int ntux_watch_protect(const ntux_watcher *watcher, void *base, size_t length, uint32_t protection);

/* Lists written pages in ascending order, as many as there is room for.
 *
 * flags        0 or NTUX_WATCH_RESET, which resets only the listed pages
 * addresses    room for `*count` addresses; entries beyond the listed ones are left unchanged
 * count        in: how many there is room for, not 0; out: how many were listed. If the array is full,
 *              there may be more
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

/* Makes pages clean. Writes since the last query are forgotten.
 *
 * ResetWriteWatch.
 */
int ntux_watch_reset(const ntux_watcher *watcher, const void *base, size_t length);

/* Lists written pages of many ranges as runs of neighbours, in one scan if possible.
 *
 * ranges       `range_count` ranges, ascending, each inside one region; runs of neighbouring ranges are joined
 * runs         room for `*count` runs
 * count        in: how many there is room for, not 0; out: how many were listed
 *
 * -EINVAL  also if ranges overlap or do not ascend
 */
int ntux_watch_get_runs(const ntux_watcher *watcher, uint32_t flags, const struct ntux_run *ranges,
                        size_t range_count, struct ntux_run *runs, size_t *count);

/* Lists written pages as a bitmap: the lowest bit of the first word is the range's first page.
 *
 * words    how many words `bitmap` has: at least one bit for each page
 */
int ntux_watch_get_bitmap(const ntux_watcher *watcher, uint32_t flags, const void *base, size_t length,
                          uint64_t *bitmap, size_t words);

/* read and recv into memory that may be watched. They succeed where the plain call would fail on a clean page, or
 * lose a datagram. If the mechanism cannot see system calls, the whole buffer is listed as written until they
 * return.
 *
 * done  how many bytes were read
 *
 * On failure they return the error of the call.
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

/* The four calls of the futex2 proposal (version 4), in user space: words of 8, 16, 32 and 64 bits, for threads of
 * this process or, with NTUX_FUTEX_SHARED, for all processes that map the word. All users of one word must use
 * these functions, with the same size and sharing. A private word may be misaligned (as those of Windows may), unless
 * NTUX_FUTEX_PRIVATE=native leaves them to the kernel. docs/futexes/guide.md says what is exact on which kernel; `ntux doctor`
 * says it for this machine.
 *
 * Flags are one size, optionally NTUX_FUTEX_SHARED, and for waits optionally NTUX_FUTEX_REALTIME. `timeout` is
 * absolute, of CLOCK_MONOTONIC or, with NTUX_FUTEX_REALTIME, of CLOCK_REALTIME; NULL for none.
 *
 * With NTUX_FUTEX_NUMA the word is the first of a struct ntux_futex32_numa, aligned to 8 bytes: the kernel keeps
 * its waiters on the memory node that `hint` names. If `hint` is -1, it chooses the node of the calling thread and
 * writes it there (in the proposal the hint was only read). Only for NTUX_FUTEX_32, since Linux 6.16. Waiter and
 * waker must use the same node.
 *
 * In addition to the errors that are listed:
 *
 * -EINVAL      an unknown flag; a misaligned word, unless it is private; an invalid timeout; a node that the machine does
 *              not have
 * -EFAULT      a NULL pointer; no memory there (checked when a thread first uses a page; waking a private word never
 *              checks)
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

/* Sleeps while the word holds `val`, until woken. Check the word again afterwards.
 *
 * -EAGAIN      the word holds something else, even if the timeout has passed
 * -ETIMEDOUT   the timeout passed
 * -EINTR       a signal handler ran
 * -ENOMEM      more than 16384 threads wait
 */
int ntux_futex_wait(void *uaddr, uint64_t val, uint32_t flags, const struct timespec *timeout);

/* As ntux_futex_wait, but first looks at the word for about a microsecond: 12 times with a pause, and 4 times after
 * yielding the processor, if yields pay off on this machine. Sleeping and being woken cost both threads several times
 * that, so a port that replaces a condition variable or std::atomic::wait, whose libraries spin, should use this one:
 *
 *     while (atomic_load(&word) == old)
 *         ntux_futex_wait_spin(&word, old, NTUX_FUTEX_32, NULL);
 *
 * -EAGAIN      the word holds something else, or has changed meanwhile: look at it again
 *
 * Otherwise the errors of ntux_futex_wait.
 */
int ntux_futex_wait_spin(void *uaddr, uint64_t val, uint32_t flags, const struct timespec *timeout);

/* Wakes at most `nr_wake` waiters, first come, first served. Returns how many it woke. Async-signal-safe.
 * Between processes macOS does not count: 0 if nobody slept, otherwise at least 1 and at most `nr_wake`. */
int ntux_futex_wake(void *uaddr, uint32_t nr_wake, uint32_t flags);

/* Sleeps while every word holds its `val`, until one is woken. Returns the index of that one. Sizes and sharing may
 * be mixed.
 *
 * waiters      1 to NTUX_FUTEX_WAITV_MAX entries, whose flags are size and sharing
 * flags        0 or NTUX_FUTEX_REALTIME
 *
 * The errors are those of ntux_futex_wait.
 */
int ntux_futex_waitv(const struct ntux_futex_waitv *waiters, uint32_t nr_waiters, uint32_t flags,
                     const struct timespec *timeout);

/* If `from` holds `cmpval`, wakes at most `nr_wake` of its waiters and moves at most `nr_requeue` others to `to`.
 * Returns the number of both together. Waiters that cannot be moved are woken. `flags` is 0.
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

/* FUTEX_WAIT_MULTIPLE, which was proposed for the kernel before futex_waitv, and lives on in patched kernels: words
 * of 32 bits, all private or all shared, each with a bitset. Returns the index of the one that was woken.
 *
 * blocks       1 to NTUX_FUTEX_WAITV_MAX; a bitset of UINT32_MAX matches every wake
 * flags        as proposed: NTUX_FUTEX_SHARED where the operation had no FUTEX_PRIVATE_FLAG, NTUX_FUTEX_REALTIME for
 *              FUTEX_CLOCK_REALTIME. As in the patched kernels (operation 31): NTUX_FUTEX_RELATIVE and then no
 *              NTUX_FUTEX_REALTIME; `timeout` counts from the call on, on CLOCK_MONOTONIC.
 *
 * The errors are those of ntux_futex_wait; and
 *
 * -EINVAL      a bitset is 0
 * -EOPNOTSUPP  several shared blocks, one with a bitset other than UINT32_MAX, which the kernel cannot do
 *
 * A program that makes the system call itself does not need this function: `ntux run` provides the operation.
 */
int ntux_futex_wait_multiple(const struct ntux_futex_wait_block *blocks, uint32_t count, uint32_t flags,
                             const struct timespec *timeout);


/* ==== FUTEX DOMAINS ==== */

/* Between processes the kernel has no futexes of 8, 16 and 64 bits, requeues only between equal kinds, and before
 * Linux 5.16 waits for one word only. Processes that attach a common domain have all of this, exactly, on every
 * kernel.
 *
 * A domain identifies a word by its place: any number below 2^60 on which the processes agree, such as the offset
 * in their shared memory. Words are the same if place and size are. It does not matter where each process has
 * mapped the word.
 *
 * All processes of a domain can write its memory. One that writes rubbish there can make the calls of others fail
 * or return late, early or spuriously. It cannot make them crash, run for ever, or return after their timeout.
 *
 * In addition to the errors that are listed: -EFAULT and -EINVAL for the pointer to the domain.
 */
typedef struct ntux_futex_domain ntux_futex_domain;

/* One word of a domain. */
struct ntux_futex_domain_word {
    uint64_t place;
    uint64_t val;    /* what it is expected to hold */
    void *uaddr;     /* where this process has it */
    uint32_t flags;  /* its size, NTUX_FUTEX_8 to NTUX_FUTEX_64 */
    uint32_t bitset; /* UINT32_MAX matches every wake */
};

/* Creates a domain. It takes memory only as that is used.
 *
 * waiters   how many threads can wait at a time, for 32 words each on average: 1 to 65536
 *
 * -EINVAL   `waiters` is out of range
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 * -EFBIG    more bytes than the process may give a file (RLIMIT_FSIZE); no signal is sent
 */
int ntux_futex_domain_create(uint32_t waiters, ntux_futex_domain **domain);

/* Attaches the domain behind `fd`, which came from ntux_futex_domain_fd in this process or another one. The caller
 * keeps `fd` and may close it afterwards.
 *
 * -EBADF    `fd` is not open
 * -ENOTTY   `fd` is something else, or a domain of another version
 * -ENOSYS   the processor has no compare-exchange of 128 bits
 * -ENOMEM   no memory;  -EMFILE, -ENFILE  no descriptor
 */
int ntux_futex_domain_attach(int fd, ntux_futex_domain **domain);

/* Returns the descriptor to pass to other processes, over a Unix socket (SCM_RIGHTS) or by inheritance. It belongs
 * to the domain, is close-on-exec, and stays open until ntux_futex_domain_detach: do not close it; dup it to keep
 * it.
 *
 * Returns a negative error number on failure. Async-signal-safe.
 */
int ntux_futex_domain_fd(const ntux_futex_domain *domain);

/* Detaches a domain. No other thread may be using the pointer, and it must not be used again. Other processes and
 * other attachments keep the domain.
 */
int ntux_futex_domain_detach(ntux_futex_domain *domain);

/* Sleeps while every word holds its `val`, until a wake whose bitset meets the word's wakes one. Returns its index.
 *
 * words     1 to NTUX_FUTEX_WAITV_MAX
 * flags     0 or NTUX_FUTEX_REALTIME, for `timeout` as in ntux_futex_wait
 *
 * The errors are those of ntux_futex_wait; -EINVAL also for a bitset of 0 and a place that is too large.
 */
int ntux_futex_domain_wait(const ntux_futex_domain *domain, const struct ntux_futex_domain_word *words, uint32_t count,
                           uint32_t flags, const struct timespec *timeout);

/* Wakes at most `nr_wake` threads that wait for the word of that place and size (`flags`) with a bitset that meets
 * `bitset`, first come, first served. Returns how many it woke. Async-signal-safe.
 *
 * -EINVAL   a bitset of 0, an invalid size or place
 */
int ntux_futex_domain_wake(const ntux_futex_domain *domain, uint64_t place, uint32_t nr_wake, uint32_t flags,
                           uint32_t bitset);

/* If `from` holds its `val`, wakes at most `nr_wake` of its waiters and moves at most `nr_requeue` others to the
 * word of place `to_place` and size `to_flags`. Returns the number of both together. It ignores bitsets; a moved
 * waiter keeps its own.
 *
 * -EAGAIN   `from` holds something else
 * -ENOMEM   no room for the first waiter to be moved
 */
int ntux_futex_domain_requeue(const ntux_futex_domain *domain, const struct ntux_futex_domain_word *from,
                              uint64_t to_place, uint32_t to_flags, uint32_t nr_wake, uint32_t nr_requeue);

#ifdef __cplusplus
}
#endif

#endif
