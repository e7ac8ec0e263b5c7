/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the same work costs through libntux-win, ntux.h, pthread and, where they are, pevents (-DPEVENTS), WinPR (WINPR_LIBRARY) and the locks
 * of Rust's std and parking_lot (LOCKS_LIBRARY, from verify/bench/examples/peer_locks.rs), in one run: the rounds of all take turns. A thread sleeps beside them, since C libraries leave out what only one thread does not need. Usage: speed
 * ROUNDS NANOSECONDS-A-ROUND */
#include <ntux.h>
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <pthread.h>
#include <string>
#include <thread>
#include <time.h>
#include <vector>
#ifdef PEVENTS
#include "pevents.h"
#endif

typedef std::function<void(long)> Work; /* does it so often */

struct Row {
    std::string what, peer;
    Work work;
    long times; /* that make a round */
    std::vector<double> nanoseconds;
};

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double took(const Work &work, long times)
{
    double began = now();
    work(times);
    return now() - began;
}

/* How often it is to be done for a round of that length: also the faster of two rounds takes so long. */
static long enough(const Work &work, double at_least)
{
    long times = 64;
    while (std::min(took(work, times), took(work, times)) < at_least)
        times *= 2;
    return times;
}

/* So many threads, each with its part of the work. */
static Work by(int threads, const Work &work)
{
    return [=](long times) {
        std::vector<std::thread> all;
        for (int i = 0; i < threads; i++)
            all.push_back(std::thread(work, times / threads + 1));
        for (auto &thread : all)
            thread.join();
    };
}

alignas(128) static CRITICAL_SECTION section;
alignas(128) static SRWLOCK srw;
alignas(128) static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
alignas(128) static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
alignas(128) static volatile long guarded;

/* What a thread does with a lock and, in the rows of several threads, as long without it. With nothing to do there, one thread would keep most
 * locks to itself. */
static void counted(volatile long *counter)
{
    for (int i = 0; i < 200; i++)
        *counter = *counter + 1;
}

static Work alone(void (*enter)(), void (*leave)())
{
    return [=](long times) {
        while (times--) {
            enter();
            guarded = guarded + 1;
            leave();
        }
    };
}

static Work beside_others(void (*enter)(), void (*leave)(), volatile long *counter)
{
    return [=](long times) {
        volatile long own = 0;
        while (times--) {
            enter();
            counted(counter ? counter : &own);
            leave();
            counted(&own);
        }
    };
}

static void enter_section() { ntw_EnterCriticalSection(&section); }
static void leave_section() { ntw_LeaveCriticalSection(&section); }
static void acquire_srw() { ntw_AcquireSRWLockExclusive(&srw); }
static void release_srw() { ntw_ReleaseSRWLockExclusive(&srw); }
static void share_srw() { ntw_AcquireSRWLockShared(&srw); }
static void unshare_srw() { ntw_ReleaseSRWLockShared(&srw); }
static void lock_pthread() { pthread_mutex_lock(&lock); }
static void unlock_pthread() { pthread_mutex_unlock(&lock); }
static void share_pthread() { pthread_rwlock_rdlock(&rw); }
static void unshare_pthread() { pthread_rwlock_unlock(&rw); }

struct Lock {
    const char *what, *peer;
    void (*enter)(), (*leave)();
    volatile long *counter; /* NULL: readers change nothing */
};

static std::vector<Lock> locks = {
    {"critical section", "ntux", enter_section, leave_section, &guarded},
    {"critical section", "pthread", lock_pthread, unlock_pthread, &guarded},
    {"SRW lock, exclusive", "ntux", acquire_srw, release_srw, &guarded},
    {"SRW lock, exclusive", "pthread", lock_pthread, unlock_pthread, &guarded},
    {"SRW lock, shared", "ntux", share_srw, unshare_srw, NULL},
    {"SRW lock, shared", "pthread", share_pthread, unshare_pthread, NULL},
};

/* A function of the library whose path this variable has. */
template <typename Function> static Function of_library(const char *variable, const char *name)
{
    void *library = dlopen(getenv(variable), RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "speed: %s\n", dlerror());
        _Exit(1);
    }
    return (Function)found;
}

static void add_locks_of_rust()
{
    auto of = [](const char *name) { return of_library<void (*)()>("LOCKS_LIBRARY", name); };
    for (const char *what : {"critical section", "SRW lock, exclusive"}) {
        locks.push_back({what, "std", of("lock_std"), of("unlock_std"), &guarded});
        locks.push_back({what, "parking_lot", of("lock_parking_lot"), of("unlock_parking_lot"), &guarded});
    }
    locks.push_back({"SRW lock, shared", "parking_lot", of("share_parking_lot"), of("unshare_parking_lot"), NULL});
}

/* The same objects through ntux.h, which has no handles. */
static ntux_arena *arena;
static const uint32_t owner = 1;

static void done(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "speed: ntux.h says %d\n", result);
    _Exit(1);
}

static ntux_object core_mutex()
{
    ntux_object it;
    done(ntux_mutex_create(arena, 0, 0, &it));
    return it;
}

static ntux_object core_event()
{
    ntux_object it;
    done(ntux_event_create(arena, 0, 0, &it));
    return it;
}

static void core_wait(ntux_object it)
{
    uint32_t index;
    done(ntux_wait_any(arena, &it, 1, 0, owner, 0, NTUX_NEVER, &index));
}

static HANDLE event()
{
    return ntw_CreateEventW(NULL, FALSE, FALSE, NULL);
}

/* Two threads that set an event for each other in turn: one pair is two hand-overs. */
template <typename Event, typename Set, typename Wait> static Work in_turn(Event there, Event back, Set set, Wait wait)
{
    return [=](long times) {
        std::thread other([=] {
            for (long i = 0; i < times; i++) {
                wait(there);
                set(back);
            }
        });
        for (long i = 0; i < times; i++) {
            set(there);
            wait(back);
        }
        other.join();
    };
}

/* It is not linked: its names are those of Windows, as ours can be. */
template <typename Function> static Function of_winpr(const char *name)
{
    return of_library<Function>("WINPR_LIBRARY", name);
}

template <typename Add> static void add_winpr(Add add)
{
    static auto create_event = of_winpr<HANDLE (*)(void *, int, int, const WCHAR *)>("CreateEventW");
    static auto create_mutex = of_winpr<HANDLE (*)(void *, int, const WCHAR *)>("CreateMutexW");
    static auto wait = of_winpr<DWORD (*)(HANDLE, DWORD)>("WaitForSingleObject");
    static auto set = of_winpr<int (*)(HANDLE)>("SetEvent");
    static auto reset = of_winpr<int (*)(HANDLE)>("ResetEvent");
    static auto release = of_winpr<int (*)(HANDLE)>("ReleaseMutex");
    static auto close = of_winpr<int (*)(HANDLE)>("CloseHandle");
    static HANDLE mutex = create_mutex(NULL, 0, NULL), alone = create_event(NULL, 1, 0, NULL);

    add("mutex, alone", "WinPR", [](long times) {
        while (times--) {
            wait(mutex, INFINITE);
            release(mutex);
        }
    });
    /* It has no events that reset themselves. */
    add("set and wait, alone", "WinPR", [](long times) {
        while (times--) {
            set(alone);
            wait(alone, 0);
            reset(alone);
        }
    });
    add("create and close an event", "WinPR", [](long times) {
        while (times--)
            close(create_event(NULL, 1, 0, NULL));
    });
    add("set and wait, in turn", "WinPR",
        in_turn(create_event(NULL, 1, 0, NULL), create_event(NULL, 1, 0, NULL), set, [](HANDLE it) {
            wait(it, INFINITE);
            reset(it);
        }));
}

static std::vector<Row> rows()
{
    std::vector<Row> all;
    auto add = [&](const std::string &what, const char *peer, const Work &work) { all.push_back({what, peer, work, 0, {}}); };
    static HANDLE mutex = ntw_CreateMutexW(NULL, FALSE, NULL), alone = event();

    add("mutex, alone", "ntux", [](long times) {
        while (times--) {
            ntw_WaitForSingleObject(mutex, INFINITE);
            ntw_ReleaseMutex(mutex);
        }
    });
    static ntux_object mutex_in_arena = core_mutex(), alone_in_arena = core_event();
    add("mutex, alone", "ntux.h", [](long times) {
        while (times--) {
            core_wait(mutex_in_arena);
            done(ntux_mutex_unlock(arena, mutex_in_arena, owner, NULL));
        }
    });
    add("mutex, alone", "pthread", ::alone(lock_pthread, unlock_pthread));
    add("set and wait, alone", "ntux", [](long times) {
        while (times--) {
            ntw_SetEvent(alone);
            ntw_WaitForSingleObject(alone, 0);
        }
    });
    add("set and wait, alone", "ntux.h", [](long times) {
        while (times--) {
            done(ntux_event_set(arena, alone_in_arena, NULL));
            core_wait(alone_in_arena);
        }
    });
    add("create and close an event", "ntux", [](long times) {
        while (times--)
            ntw_CloseHandle(event());
    });
    add("create and close an event", "ntux.h", [](long times) {
        while (times--)
            done(ntux_object_close(arena, core_event()));
    });
    add("set and wait, in turn", "ntux",
        in_turn(event(), event(), ntw_SetEvent, [](HANDLE it) { ntw_WaitForSingleObject(it, INFINITE); }));
#ifdef PEVENTS
    static neosmart::neosmart_event_t single = neosmart::CreateEvent(false, false);
    add("set and wait, alone", "pevents", [](long times) {
        while (times--) {
            neosmart::SetEvent(single);
            neosmart::WaitForEvent(single, 0);
        }
    });
    add("create and close an event", "pevents", [](long times) {
        while (times--)
            neosmart::DestroyEvent(neosmart::CreateEvent(false, false));
    });
    add("set and wait, in turn", "pevents",
        in_turn(neosmart::CreateEvent(false, false), neosmart::CreateEvent(false, false), neosmart::SetEvent,
                [](neosmart::neosmart_event_t it) { neosmart::WaitForEvent(it, (uint64_t)-1); }));
#endif
    if (getenv("WINPR_LIBRARY"))
        add_winpr(add);
    if (getenv("LOCKS_LIBRARY"))
        add_locks_of_rust();
    for (const Lock &it : locks)
        add(std::string(it.what) + ", alone", it.peer, ::alone(it.enter, it.leave));
    for (int threads : {2, 4, 8, 16, 32, 64})
        for (const Lock &it : locks)
            add(std::string(it.what) + ", " + std::to_string(threads) + " threads", it.peer,
                by(threads, beside_others(it.enter, it.leave, it.counter)));
    /* As bad as it gets: whoever has left the lock wants it at once. */
    for (const Lock &it : locks)
        add(std::string(it.what) + ", 2 threads, nothing else", it.peer, by(2, ::alone(it.enter, it.leave)));
    return all;
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 9;
    double at_least = count > 2 ? atof(arguments[2]) : 2e7;
    std::thread([] { for (;;) std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
    ntw_InitializeCriticalSection(&section);
    done(ntux_arena_create_private(1 << 10, 1 << 6, &arena));
    std::vector<Row> all = rows();
    for (Row &row : all)
        row.times = enough(row.work, at_least);
    for (int round = 0; round < rounds; round++)
        for (Row &row : all)
            row.nanoseconds.push_back(took(row.work, row.times) / row.times);
    for (Row &row : all) {
        std::sort(row.nanoseconds.begin(), row.nanoseconds.end());
        printf("%s|%s|%.1f|%.1f|%.1f\n", row.what.c_str(), row.peer.c_str(), row.nanoseconds[rounds / 2],
               row.nanoseconds.front(), row.nanoseconds.back());
    }
    fflush(stdout);
    _Exit(0);
}
