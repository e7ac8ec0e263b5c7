/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interface of pevents (https://github.com/neosmart/pevents) on this library, in place of its own pevents.h and pevents.cpp. A wait for
 * all takes the events in one step. C++98 to C++20.
 *
 *     c++ program.cpp -I $(pkg-config --variable=includedir ntux-win)/ntux/win $(pkg-config --cflags --libs ntux-win)
 *
 * Differences: WAIT_TIMEOUT is Windows' number; at most 64 events in one wait (else EINVAL); WFMO and PULSE need not be defined.
 */
#ifndef NTUX_WIN_PEVENTS_H
#define NTUX_WIN_PEVENTS_H

#include <errno.h>
#include <ntux/win/synchapi.h>
#include <stdint.h>

namespace neosmart {

struct neosmart_event_t_;
typedef neosmart_event_t_ *neosmart_event_t;

const uint64_t WAIT_INFINITE = ~static_cast<uint64_t>(0);

namespace ntux_win {

/* The longest time-out that Windows has, in milliseconds: 49 days. */
const uint64_t LONGEST = INFINITE - 1u;

inline int error_of(DWORD error)
{
    switch (error) {
    case ERROR_NOT_ENOUGH_MEMORY:
        return ENOMEM;
    default:
        return EINVAL;
    }
}

inline int result_of(BOOL done)
{
    return done ? 0 : error_of(::ntw_GetLastError());
}

/* Waits for as long as it takes. Returns what Windows' wait does. */
inline DWORD wait_for(const neosmart_event_t *events, DWORD count, bool all, uint64_t milliseconds)
{
    const HANDLE *handles = reinterpret_cast<const HANDLE *>(events);
    while (milliseconds != WAIT_INFINITE && milliseconds > LONGEST) {
        DWORD ended = ::ntw_WaitForMultipleObjects(count, handles, all, static_cast<DWORD>(LONGEST));
        if (ended != WAIT_TIMEOUT)
            return ended;
        milliseconds -= LONGEST;
    }
    return ::ntw_WaitForMultipleObjects(count, handles, all,
                                      milliseconds == WAIT_INFINITE ? INFINITE : static_cast<DWORD>(milliseconds));
}

} /* namespace ntux_win */

inline neosmart_event_t CreateEvent(bool manualReset = false, bool initialState = false)
{
    return static_cast<neosmart_event_t>(::ntw_CreateEventA(NULL, manualReset, initialState, NULL));
}

inline int DestroyEvent(neosmart_event_t event)
{
    return ntux_win::result_of(::ntw_CloseHandle(event));
}

inline int SetEvent(neosmart_event_t event)
{
    return ntux_win::result_of(::ntw_SetEvent(event));
}

inline int ResetEvent(neosmart_event_t event)
{
    return ntux_win::result_of(::ntw_ResetEvent(event));
}

inline int PulseEvent(neosmart_event_t event)
{
    return ntux_win::result_of(::ntw_PulseEvent(event));
}

/* `index` is that of the event, if not all were waited for. */
inline int WaitForMultipleEvents(neosmart_event_t *events, int count, bool waitAll, uint64_t milliseconds, int &index)
{
    DWORD ended = ntux_win::wait_for(events, count < 0 ? 0 : static_cast<DWORD>(count), waitAll, milliseconds);
    if (ended == WAIT_TIMEOUT)
        return WAIT_TIMEOUT;
    if (ended == WAIT_FAILED)
        return ntux_win::error_of(::ntw_GetLastError());
    if (!waitAll)
        index = static_cast<int>(ended);
    return 0;
}

inline int WaitForMultipleEvents(neosmart_event_t *events, int count, bool waitAll, uint64_t milliseconds)
{
    int index = 0;
    return WaitForMultipleEvents(events, count, waitAll, milliseconds, index);
}

inline int WaitForEvent(neosmart_event_t event, uint64_t milliseconds = WAIT_INFINITE)
{
    return WaitForMultipleEvents(&event, 1, false, milliseconds);
}

} /* namespace neosmart */

#endif
