/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What <ntux/win/raii.h> owns is given back, once. */
#include "check.h"
#include <ntux/win/raii.h>
#if __cplusplus >= 201402L
#include <shared_mutex>
#endif
#include <thread>
#include <utility>

using namespace ntux::win;

static bool is_open(HANDLE value)
{
    DWORD flags;
    return GetHandleInformation(value, &flags) != 0;
}

static void handles()
{
    handle none;
    handle event(CreateEvent(NULL, FALSE, TRUE, NULL));
    HANDLE first = event.get();

    IS(0, bool(none));
    IS(1, bool(event));
    handle moved(std::move(event));
    IS(0, bool(event));
    IS(1, moved.get() == first && is_open(first));
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), first, GetCurrentProcess(), none.put(), 0, FALSE, DUPLICATE_SAME_ACCESS));
    HANDLE second = none.get();
    none = std::move(moved);
    IS(0, is_open(second));
    IS(1, none.get() == first && is_open(first));
    none.reset(none.get());
    IS(1, is_open(first));
    HANDLE released = none.release();
    none.reset();
    IS(1, is_open(released));
    {
        handle last(released);
    }
    IS(PLANT(0, 1), is_open(released));
    {
        handle self;
        self.reset(CreateEvent(NULL, FALSE, FALSE, NULL));
        handle &same = self;
        self = std::move(same);
        IS(1, self && is_open(self.get()));
    }
}

static void mutexes()
{
    handle mutex(CreateMutex(NULL, FALSE, NULL));
    {
        mutex_owner owner(mutex.get());
        IS(1, owner && !owner.is_abandoned());
        std::thread([&] {
            mutex_owner other(mutex.get(), 0);
            IS(0, bool(other));
            IS(WAIT_TIMEOUT, other.result());
        }).join();
    }
    std::thread([&] { IS(WAIT_OBJECT_0, WaitForSingleObject(mutex.get(), 0)); }).join();
    mutex_owner owner(mutex.get());
    IS(1, owner && owner.is_abandoned());
    mutex_owner nothing(NULL);
    IS(0, bool(nothing));
    IS(WAIT_FAILED, nothing.result());
}

template <typename Lock> static void excludes()
{
    Lock lock;
    condition_variable changed;
    int count = 0;
    auto add = [&] {
        for (int i = 0; i < 1000; i++) {
            std::lock_guard<Lock> guard(lock);
            count++;
            changed.notify_all();
        }
    };
    std::thread one(add), two(add);
    {
        std::unique_lock<Lock> guard(lock);
        while (count < 2000)
            IS(1, changed.wait(guard));
        /* It may wake for nothing. */
        while (changed.wait(guard, 1))
            ;
        std::thread([&] { IS(0, lock.try_lock()); }).join();
    }
    one.join();
    two.join();
    IS(1, lock.try_lock());
    lock.unlock();
}

static void shares()
{
#if __cplusplus >= 201402L
    srw_lock lock;
    std::shared_lock<srw_lock> first(lock), second(lock, std::try_to_lock);
    IS(1, second.owns_lock());
    IS(0, lock.try_lock());
#endif
}

int main()
{
    alarm(300);
    handles();
    mutexes();
    excludes<critical_section>();
    excludes<srw_lock>();
    shares();
    return report();
}
