/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * C++11: handles that close themselves, and locks that std::lock_guard, std::unique_lock and std::shared_lock take. Nothing here throws.
 *
 *     ntux::win::handle event(ntw_CreateEventW(NULL, FALSE, FALSE, NULL));
 *     if (!event) ...                       (ntw_GetLastError says why)
 *
 *     ntux::win::srw_lock lock;
 *     std::lock_guard<ntux::win::srw_lock> guard(lock);
 */
#ifndef NTUX_WIN_RAII_H
#define NTUX_WIN_RAII_H

#if !defined(__cplusplus) || __cplusplus < 201103L
#error "ntux/win/raii.h needs C++11"
#endif

#include <mutex>
#include <ntux/win/synchapi.h>

namespace ntux {
namespace win {

/* Owns a handle, or none. */
class handle {
public:
    handle() noexcept : value_(nullptr) {}
    explicit handle(HANDLE value) noexcept : value_(value) {}
    handle(handle &&other) noexcept : value_(other.release()) {}
    handle &operator=(handle &&other) noexcept
    {
        reset(other.release());
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { reset(); }

    HANDLE get() const noexcept { return value_; }
    explicit operator bool() const noexcept { return value_ != nullptr; }
    /* It is the caller's from now on. */
    HANDLE release() noexcept
    {
        HANDLE value = value_;
        value_ = nullptr;
        return value;
    }
    void reset(HANDLE value = nullptr) noexcept
    {
        HANDLE before = value_;
        value_ = value;
        if (before && before != value)
            ntw_CloseHandle(before);
    }
    /* Where a function stores one, such as DuplicateHandle. */
    LPHANDLE put() noexcept
    {
        reset();
        return &value_;
    }

private:
    HANDLE value_;
};

/* Owns a mutex as long as it lives. */
class mutex_owner {
public:
    explicit mutex_owner(HANDLE mutex, DWORD milliseconds = INFINITE) noexcept
        : mutex_(mutex), waited_(ntw_WaitForSingleObject(mutex, milliseconds))
    {
    }
    mutex_owner(const mutex_owner &) = delete;
    mutex_owner &operator=(const mutex_owner &) = delete;
    ~mutex_owner()
    {
        if (*this)
            ntw_ReleaseMutex(mutex_);
    }

    explicit operator bool() const noexcept { return waited_ == WAIT_OBJECT_0 || waited_ == WAIT_ABANDONED; }
    /* Whoever owned it before has ended. */
    bool is_abandoned() const noexcept { return waited_ == WAIT_ABANDONED; }
    /* What the wait returned. */
    DWORD result() const noexcept { return waited_; }

private:
    HANDLE mutex_;
    DWORD waited_;
};

class critical_section {
public:
    critical_section() noexcept : section_() {}
    critical_section(const critical_section &) = delete;
    critical_section &operator=(const critical_section &) = delete;
    ~critical_section() { ntw_DeleteCriticalSection(&section_); }

    void lock() noexcept { ntw_EnterCriticalSection(&section_); }
    bool try_lock() noexcept { return ntw_TryEnterCriticalSection(&section_) != 0; }
    void unlock() noexcept { ntw_LeaveCriticalSection(&section_); }
    LPCRITICAL_SECTION native_handle() noexcept { return &section_; }

private:
    CRITICAL_SECTION section_;
};

class srw_lock {
public:
    srw_lock() noexcept : lock_() {}
    srw_lock(const srw_lock &) = delete;
    srw_lock &operator=(const srw_lock &) = delete;

    void lock() noexcept { ntw_AcquireSRWLockExclusive(&lock_); }
    bool try_lock() noexcept { return ntw_TryAcquireSRWLockExclusive(&lock_) != 0; }
    void unlock() noexcept { ntw_ReleaseSRWLockExclusive(&lock_); }
    void lock_shared() noexcept { ntw_AcquireSRWLockShared(&lock_); }
    bool try_lock_shared() noexcept { return ntw_TryAcquireSRWLockShared(&lock_) != 0; }
    void unlock_shared() noexcept { ntw_ReleaseSRWLockShared(&lock_); }
    PSRWLOCK native_handle() noexcept { return &lock_; }

private:
    SRWLOCK lock_;
};

/* The lock is held by the caller, before and after. A wait may end for nothing. */
class condition_variable {
public:
    condition_variable() noexcept : variable_() {}
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    /* False: the time is over. */
    bool wait(std::unique_lock<critical_section> &lock, DWORD milliseconds = INFINITE) noexcept
    {
        return ntw_SleepConditionVariableCS(&variable_, lock.mutex()->native_handle(), milliseconds) != 0;
    }
    bool wait(std::unique_lock<srw_lock> &lock, DWORD milliseconds = INFINITE) noexcept
    {
        return ntw_SleepConditionVariableSRW(&variable_, lock.mutex()->native_handle(), milliseconds, 0) != 0;
    }
    void notify_one() noexcept { ntw_WakeConditionVariable(&variable_); }
    void notify_all() noexcept { ntw_WakeAllConditionVariable(&variable_); }
    PCONDITION_VARIABLE native_handle() noexcept { return &variable_; }

private:
    CONDITION_VARIABLE variable_;
};

} // namespace win
} // namespace ntux

#endif
