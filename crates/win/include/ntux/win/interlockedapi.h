/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Atomic operations, and lists that threads push to and pop from, as <interlockedapi.h> and <winnt.h> of Windows have them. <ntux/win/synchapi.h>
 * includes this. docs/win/reference.md says where this library differs.
 */
#ifndef NTUX_WIN_INTERLOCKEDAPI_H
#define NTUX_WIN_INTERLOCKEDAPI_H

#include <ntux/win/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==== Lists: what was pushed last is popped first ====
 *
 * A header of zeros is an empty list. The memory of an entry may be freed as soon as it was popped.
 */

/* Each returns what was the first entry before, or NULL if there was none. */
struct _SLIST_ENTRY *ntw_InterlockedPushEntrySList(union _SLIST_HEADER *header, struct _SLIST_ENTRY *entry);
struct _SLIST_ENTRY *ntw_InterlockedPopEntrySList(union _SLIST_HEADER *header);
struct _SLIST_ENTRY *ntw_InterlockedFlushSList(union _SLIST_HEADER *header);
/* `count` is added to the depth; nobody counts the entries, of which the successors lead from the first to the last. */
struct _SLIST_ENTRY *ntw_InterlockedPushListSListEx(union _SLIST_HEADER *header, struct _SLIST_ENTRY *first, struct _SLIST_ENTRY *last,
                                                    ULONG count);
void ntw_InitializeSListHead(union _SLIST_HEADER *header);
/* Modulo 65536. */
WORD ntw_QueryDepthSList(union _SLIST_HEADER *header);

/* ==== Operations: the compiler's own; each returns what Windows' returns ====
 *
 * Those without a suffix have full barriers; Acquire, Release and NoFence have those that they say.
 */

#define NTUX_WIN_INTERLOCKED static __inline__ __attribute__((__unused__))

#define NTUX_WIN_INTERLOCKED_OF_ONE(name, type, operation, order)                               \
    NTUX_WIN_INTERLOCKED type ntw_##name(volatile type *place)                                  \
    {                                                                                           \
        return operation(place, 1, order);                                                      \
    }
#define NTUX_WIN_INTERLOCKED_OF_VALUE(name, type, operation, order)                             \
    NTUX_WIN_INTERLOCKED type ntw_##name(type volatile *place, type value)                      \
    {                                                                                           \
        return operation(place, value, order);                                                  \
    }
#define NTUX_WIN_INTERLOCKED_COMPARED(name, type, order, failed)                                \
    NTUX_WIN_INTERLOCKED type ntw_##name(type volatile *place, type value, type expected)       \
    {                                                                                           \
        __atomic_compare_exchange_n(place, &expected, value, 0, order, failed);                 \
        return expected;                                                                        \
    }
/* The bit may be one of the words behind or before the first. */
#define NTUX_WIN_INTERLOCKED_BIT(name, type, bits, operation, argument, order)                  \
    NTUX_WIN_INTERLOCKED BOOLEAN ntw_##name(volatile type *place, type bit)                     \
    {                                                                                           \
        const type mask = (type)((ULONGLONG)1 << (bit & (bits - 1)));                           \
        const type word = (type)((bit - (bit & (bits - 1))) / bits);                            \
        return (BOOLEAN)((operation(place + word, argument, order) & mask) != 0);               \
    }
#define NTUX_WIN_INTERLOCKED_ORDERS(maker, name, type, operation)                               \
    maker(name, type, operation, __ATOMIC_SEQ_CST)                                              \
    maker(name##Acquire, type, operation, __ATOMIC_ACQUIRE)                                     \
    maker(name##Release, type, operation, __ATOMIC_RELEASE)                                     \
    maker(name##NoFence, type, operation, __ATOMIC_RELAXED)
#define NTUX_WIN_INTERLOCKED_COMPARED_ORDERS(name, type)                                        \
    NTUX_WIN_INTERLOCKED_COMPARED(name, type, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)               \
    NTUX_WIN_INTERLOCKED_COMPARED(name##Acquire, type, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)      \
    NTUX_WIN_INTERLOCKED_COMPARED(name##Release, type, __ATOMIC_RELEASE, __ATOMIC_RELAXED)      \
    NTUX_WIN_INTERLOCKED_COMPARED(name##NoFence, type, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define NTUX_WIN_INTERLOCKED_BIT_ORDERS(name, type, bits, operation, argument)                  \
    NTUX_WIN_INTERLOCKED_BIT(name, type, bits, operation, argument, __ATOMIC_SEQ_CST)           \
    NTUX_WIN_INTERLOCKED_BIT(name##Acquire, type, bits, operation, argument, __ATOMIC_ACQUIRE)  \
    NTUX_WIN_INTERLOCKED_BIT(name##Release, type, bits, operation, argument, __ATOMIC_RELEASE)  \
    NTUX_WIN_INTERLOCKED_BIT(name##NoFence, type, bits, operation, argument, __ATOMIC_RELAXED)

/* Windows has more forms with suffixes of some than of others; here all have all. */

NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchange8, CHAR, __atomic_exchange_n)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchangeAdd8, CHAR, __atomic_fetch_add)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedAnd8, CHAR, __atomic_fetch_and)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedOr8, CHAR, __atomic_fetch_or)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedXor8, CHAR, __atomic_fetch_xor)
NTUX_WIN_INTERLOCKED_COMPARED_ORDERS(InterlockedCompareExchange8, CHAR)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_ONE, InterlockedIncrement16, SHORT, __atomic_add_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_ONE, InterlockedDecrement16, SHORT, __atomic_sub_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchange16, SHORT, __atomic_exchange_n)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchangeAdd16, SHORT, __atomic_fetch_add)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedAnd16, SHORT, __atomic_fetch_and)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedOr16, SHORT, __atomic_fetch_or)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedXor16, SHORT, __atomic_fetch_xor)
NTUX_WIN_INTERLOCKED_COMPARED_ORDERS(InterlockedCompareExchange16, SHORT)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_ONE, InterlockedIncrement, LONG, __atomic_add_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_ONE, InterlockedDecrement, LONG, __atomic_sub_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchange, LONG, __atomic_exchange_n)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchangeAdd, LONG, __atomic_fetch_add)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedAdd, LONG, __atomic_add_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedAnd, LONG, __atomic_fetch_and)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedOr, LONG, __atomic_fetch_or)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedXor, LONG, __atomic_fetch_xor)
NTUX_WIN_INTERLOCKED_COMPARED_ORDERS(InterlockedCompareExchange, LONG)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_ONE, InterlockedIncrement64, LONG64, __atomic_add_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_ONE, InterlockedDecrement64, LONG64, __atomic_sub_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchange64, LONG64, __atomic_exchange_n)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchangeAdd64, LONG64, __atomic_fetch_add)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedAdd64, LONG64, __atomic_add_fetch)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedAnd64, LONG64, __atomic_fetch_and)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedOr64, LONG64, __atomic_fetch_or)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedXor64, LONG64, __atomic_fetch_xor)
NTUX_WIN_INTERLOCKED_COMPARED_ORDERS(InterlockedCompareExchange64, LONG64)
NTUX_WIN_INTERLOCKED_ORDERS(NTUX_WIN_INTERLOCKED_OF_VALUE, InterlockedExchangePointer, PVOID, __atomic_exchange_n)
NTUX_WIN_INTERLOCKED_COMPARED_ORDERS(InterlockedCompareExchangePointer, PVOID)
NTUX_WIN_INTERLOCKED_BIT_ORDERS(InterlockedBitTestAndSet, LONG, 32, __atomic_fetch_or, mask)
NTUX_WIN_INTERLOCKED_BIT_ORDERS(InterlockedBitTestAndReset, LONG, 32, __atomic_fetch_and, (LONG)~mask)
NTUX_WIN_INTERLOCKED_BIT_ORDERS(InterlockedBitTestAndComplement, LONG, 32, __atomic_fetch_xor, mask)
NTUX_WIN_INTERLOCKED_BIT_ORDERS(InterlockedBitTestAndSet64, LONG64, 64, __atomic_fetch_or, mask)
NTUX_WIN_INTERLOCKED_BIT_ORDERS(InterlockedBitTestAndReset64, LONG64, 64, __atomic_fetch_and, (LONG64)~mask)
NTUX_WIN_INTERLOCKED_BIT_ORDERS(InterlockedBitTestAndComplement64, LONG64, 64, __atomic_fetch_xor, mask)

/* 16 bytes, at a multiple of 16. `compared` has the lower half first, and then what was there. */
#if defined(__x86_64__)
#define NTUX_WIN_HAS_COMPARE_EXCHANGE_128
NTUX_WIN_INTERLOCKED BOOLEAN ntw_InterlockedCompareExchange128(volatile LONG64 *place, LONG64 high, LONG64 low, LONG64 *compared)
{
    BOOLEAN done;
    __asm__ __volatile__("lock; cmpxchg16b %1\n\tsete %0"
                         : "=q"(done), "+m"(*place), "+a"(compared[0]), "+d"(compared[1])
                         : "b"(low), "c"(high)
                         : "memory", "cc");
    return done;
}
#elif defined(__aarch64__)
#define NTUX_WIN_HAS_COMPARE_EXCHANGE_128
NTUX_WIN_INTERLOCKED BOOLEAN ntw_InterlockedCompareExchange128(volatile LONG64 *place, LONG64 high, LONG64 low, LONG64 *compared)
{
    LONG64 was_low, was_high, new_low, new_high;
    int refused;
    BOOLEAN done;
    /* What was read is one value only if the store succeeds: so what was there is stored if it is another. */
    __asm__ __volatile__("1: ldaxp %0, %1, [%6]\n\t"
                         "cmp %0, %7\n\t"
                         "ccmp %1, %8, #0, eq\n\t"
                         "csel %2, %9, %0, eq\n\t"
                         "csel %3, %10, %1, eq\n\t"
                         "stlxp %w4, %2, %3, [%6]\n\t"
                         "cbnz %w4, 1b\n\t"
                         "cset %w5, eq\n\t"
                         "dmb ish"
                         : "=&r"(was_low), "=&r"(was_high), "=&r"(new_low), "=&r"(new_high), "=&r"(refused), "=&r"(done)
                         : "r"(place), "r"(compared[0]), "r"(compared[1]), "r"(low), "r"(high)
                         : "memory", "cc");
    compared[0] = was_low;
    compared[1] = was_high;
    return done;
}
#endif

#ifdef NTUX_WIN32_NAMES
#define InitializeSListHead ntw_InitializeSListHead
#define InterlockedPushEntrySList ntw_InterlockedPushEntrySList
#define InterlockedPopEntrySList ntw_InterlockedPopEntrySList
#define InterlockedFlushSList ntw_InterlockedFlushSList
#define InterlockedPushListSListEx ntw_InterlockedPushListSListEx
#define QueryDepthSList ntw_QueryDepthSList
#define InterlockedExchange8 ntw_InterlockedExchange8
#define InterlockedExchange8Acquire ntw_InterlockedExchange8Acquire
#define InterlockedExchange8Release ntw_InterlockedExchange8Release
#define InterlockedExchange8NoFence ntw_InterlockedExchange8NoFence
#define InterlockedExchangeAdd8 ntw_InterlockedExchangeAdd8
#define InterlockedExchangeAdd8Acquire ntw_InterlockedExchangeAdd8Acquire
#define InterlockedExchangeAdd8Release ntw_InterlockedExchangeAdd8Release
#define InterlockedExchangeAdd8NoFence ntw_InterlockedExchangeAdd8NoFence
#define InterlockedAnd8 ntw_InterlockedAnd8
#define InterlockedAnd8Acquire ntw_InterlockedAnd8Acquire
#define InterlockedAnd8Release ntw_InterlockedAnd8Release
#define InterlockedAnd8NoFence ntw_InterlockedAnd8NoFence
#define InterlockedOr8 ntw_InterlockedOr8
#define InterlockedOr8Acquire ntw_InterlockedOr8Acquire
#define InterlockedOr8Release ntw_InterlockedOr8Release
#define InterlockedOr8NoFence ntw_InterlockedOr8NoFence
#define InterlockedXor8 ntw_InterlockedXor8
#define InterlockedXor8Acquire ntw_InterlockedXor8Acquire
#define InterlockedXor8Release ntw_InterlockedXor8Release
#define InterlockedXor8NoFence ntw_InterlockedXor8NoFence
#define InterlockedCompareExchange8 ntw_InterlockedCompareExchange8
#define InterlockedCompareExchange8Acquire ntw_InterlockedCompareExchange8Acquire
#define InterlockedCompareExchange8Release ntw_InterlockedCompareExchange8Release
#define InterlockedCompareExchange8NoFence ntw_InterlockedCompareExchange8NoFence
#define InterlockedIncrement16 ntw_InterlockedIncrement16
#define InterlockedIncrement16Acquire ntw_InterlockedIncrement16Acquire
#define InterlockedIncrement16Release ntw_InterlockedIncrement16Release
#define InterlockedIncrement16NoFence ntw_InterlockedIncrement16NoFence
#define InterlockedDecrement16 ntw_InterlockedDecrement16
#define InterlockedDecrement16Acquire ntw_InterlockedDecrement16Acquire
#define InterlockedDecrement16Release ntw_InterlockedDecrement16Release
#define InterlockedDecrement16NoFence ntw_InterlockedDecrement16NoFence
#define InterlockedExchange16 ntw_InterlockedExchange16
#define InterlockedExchange16Acquire ntw_InterlockedExchange16Acquire
#define InterlockedExchange16Release ntw_InterlockedExchange16Release
#define InterlockedExchange16NoFence ntw_InterlockedExchange16NoFence
#define InterlockedExchangeAdd16 ntw_InterlockedExchangeAdd16
#define InterlockedExchangeAdd16Acquire ntw_InterlockedExchangeAdd16Acquire
#define InterlockedExchangeAdd16Release ntw_InterlockedExchangeAdd16Release
#define InterlockedExchangeAdd16NoFence ntw_InterlockedExchangeAdd16NoFence
#define InterlockedAnd16 ntw_InterlockedAnd16
#define InterlockedAnd16Acquire ntw_InterlockedAnd16Acquire
#define InterlockedAnd16Release ntw_InterlockedAnd16Release
#define InterlockedAnd16NoFence ntw_InterlockedAnd16NoFence
#define InterlockedOr16 ntw_InterlockedOr16
#define InterlockedOr16Acquire ntw_InterlockedOr16Acquire
#define InterlockedOr16Release ntw_InterlockedOr16Release
#define InterlockedOr16NoFence ntw_InterlockedOr16NoFence
#define InterlockedXor16 ntw_InterlockedXor16
#define InterlockedXor16Acquire ntw_InterlockedXor16Acquire
#define InterlockedXor16Release ntw_InterlockedXor16Release
#define InterlockedXor16NoFence ntw_InterlockedXor16NoFence
#define InterlockedCompareExchange16 ntw_InterlockedCompareExchange16
#define InterlockedCompareExchange16Acquire ntw_InterlockedCompareExchange16Acquire
#define InterlockedCompareExchange16Release ntw_InterlockedCompareExchange16Release
#define InterlockedCompareExchange16NoFence ntw_InterlockedCompareExchange16NoFence
#define InterlockedIncrement ntw_InterlockedIncrement
#define InterlockedIncrementAcquire ntw_InterlockedIncrementAcquire
#define InterlockedIncrementRelease ntw_InterlockedIncrementRelease
#define InterlockedIncrementNoFence ntw_InterlockedIncrementNoFence
#define InterlockedDecrement ntw_InterlockedDecrement
#define InterlockedDecrementAcquire ntw_InterlockedDecrementAcquire
#define InterlockedDecrementRelease ntw_InterlockedDecrementRelease
#define InterlockedDecrementNoFence ntw_InterlockedDecrementNoFence
#define InterlockedExchange ntw_InterlockedExchange
#define InterlockedExchangeAcquire ntw_InterlockedExchangeAcquire
#define InterlockedExchangeRelease ntw_InterlockedExchangeRelease
#define InterlockedExchangeNoFence ntw_InterlockedExchangeNoFence
#define InterlockedExchangeAdd ntw_InterlockedExchangeAdd
#define InterlockedExchangeAddAcquire ntw_InterlockedExchangeAddAcquire
#define InterlockedExchangeAddRelease ntw_InterlockedExchangeAddRelease
#define InterlockedExchangeAddNoFence ntw_InterlockedExchangeAddNoFence
#define InterlockedAdd ntw_InterlockedAdd
#define InterlockedAddAcquire ntw_InterlockedAddAcquire
#define InterlockedAddRelease ntw_InterlockedAddRelease
#define InterlockedAddNoFence ntw_InterlockedAddNoFence
#define InterlockedAnd ntw_InterlockedAnd
#define InterlockedAndAcquire ntw_InterlockedAndAcquire
#define InterlockedAndRelease ntw_InterlockedAndRelease
#define InterlockedAndNoFence ntw_InterlockedAndNoFence
#define InterlockedOr ntw_InterlockedOr
#define InterlockedOrAcquire ntw_InterlockedOrAcquire
#define InterlockedOrRelease ntw_InterlockedOrRelease
#define InterlockedOrNoFence ntw_InterlockedOrNoFence
#define InterlockedXor ntw_InterlockedXor
#define InterlockedXorAcquire ntw_InterlockedXorAcquire
#define InterlockedXorRelease ntw_InterlockedXorRelease
#define InterlockedXorNoFence ntw_InterlockedXorNoFence
#define InterlockedCompareExchange ntw_InterlockedCompareExchange
#define InterlockedCompareExchangeAcquire ntw_InterlockedCompareExchangeAcquire
#define InterlockedCompareExchangeRelease ntw_InterlockedCompareExchangeRelease
#define InterlockedCompareExchangeNoFence ntw_InterlockedCompareExchangeNoFence
#define InterlockedIncrement64 ntw_InterlockedIncrement64
#define InterlockedIncrement64Acquire ntw_InterlockedIncrement64Acquire
#define InterlockedIncrement64Release ntw_InterlockedIncrement64Release
#define InterlockedIncrement64NoFence ntw_InterlockedIncrement64NoFence
#define InterlockedDecrement64 ntw_InterlockedDecrement64
#define InterlockedDecrement64Acquire ntw_InterlockedDecrement64Acquire
#define InterlockedDecrement64Release ntw_InterlockedDecrement64Release
#define InterlockedDecrement64NoFence ntw_InterlockedDecrement64NoFence
#define InterlockedExchange64 ntw_InterlockedExchange64
#define InterlockedExchange64Acquire ntw_InterlockedExchange64Acquire
#define InterlockedExchange64Release ntw_InterlockedExchange64Release
#define InterlockedExchange64NoFence ntw_InterlockedExchange64NoFence
#define InterlockedExchangeAdd64 ntw_InterlockedExchangeAdd64
#define InterlockedExchangeAdd64Acquire ntw_InterlockedExchangeAdd64Acquire
#define InterlockedExchangeAdd64Release ntw_InterlockedExchangeAdd64Release
#define InterlockedExchangeAdd64NoFence ntw_InterlockedExchangeAdd64NoFence
#define InterlockedAdd64 ntw_InterlockedAdd64
#define InterlockedAdd64Acquire ntw_InterlockedAdd64Acquire
#define InterlockedAdd64Release ntw_InterlockedAdd64Release
#define InterlockedAdd64NoFence ntw_InterlockedAdd64NoFence
#define InterlockedAnd64 ntw_InterlockedAnd64
#define InterlockedAnd64Acquire ntw_InterlockedAnd64Acquire
#define InterlockedAnd64Release ntw_InterlockedAnd64Release
#define InterlockedAnd64NoFence ntw_InterlockedAnd64NoFence
#define InterlockedOr64 ntw_InterlockedOr64
#define InterlockedOr64Acquire ntw_InterlockedOr64Acquire
#define InterlockedOr64Release ntw_InterlockedOr64Release
#define InterlockedOr64NoFence ntw_InterlockedOr64NoFence
#define InterlockedXor64 ntw_InterlockedXor64
#define InterlockedXor64Acquire ntw_InterlockedXor64Acquire
#define InterlockedXor64Release ntw_InterlockedXor64Release
#define InterlockedXor64NoFence ntw_InterlockedXor64NoFence
#define InterlockedCompareExchange64 ntw_InterlockedCompareExchange64
#define InterlockedCompareExchange64Acquire ntw_InterlockedCompareExchange64Acquire
#define InterlockedCompareExchange64Release ntw_InterlockedCompareExchange64Release
#define InterlockedCompareExchange64NoFence ntw_InterlockedCompareExchange64NoFence
#define InterlockedExchangePointer ntw_InterlockedExchangePointer
#define InterlockedExchangePointerAcquire ntw_InterlockedExchangePointerAcquire
#define InterlockedExchangePointerRelease ntw_InterlockedExchangePointerRelease
#define InterlockedExchangePointerNoFence ntw_InterlockedExchangePointerNoFence
#define InterlockedCompareExchangePointer ntw_InterlockedCompareExchangePointer
#define InterlockedCompareExchangePointerAcquire ntw_InterlockedCompareExchangePointerAcquire
#define InterlockedCompareExchangePointerRelease ntw_InterlockedCompareExchangePointerRelease
#define InterlockedCompareExchangePointerNoFence ntw_InterlockedCompareExchangePointerNoFence
#define InterlockedBitTestAndSet ntw_InterlockedBitTestAndSet
#define InterlockedBitTestAndSetAcquire ntw_InterlockedBitTestAndSetAcquire
#define InterlockedBitTestAndSetRelease ntw_InterlockedBitTestAndSetRelease
#define InterlockedBitTestAndSetNoFence ntw_InterlockedBitTestAndSetNoFence
#define InterlockedBitTestAndReset ntw_InterlockedBitTestAndReset
#define InterlockedBitTestAndResetAcquire ntw_InterlockedBitTestAndResetAcquire
#define InterlockedBitTestAndResetRelease ntw_InterlockedBitTestAndResetRelease
#define InterlockedBitTestAndResetNoFence ntw_InterlockedBitTestAndResetNoFence
#define InterlockedBitTestAndComplement ntw_InterlockedBitTestAndComplement
#define InterlockedBitTestAndComplementAcquire ntw_InterlockedBitTestAndComplementAcquire
#define InterlockedBitTestAndComplementRelease ntw_InterlockedBitTestAndComplementRelease
#define InterlockedBitTestAndComplementNoFence ntw_InterlockedBitTestAndComplementNoFence
#define InterlockedBitTestAndSet64 ntw_InterlockedBitTestAndSet64
#define InterlockedBitTestAndSet64Acquire ntw_InterlockedBitTestAndSet64Acquire
#define InterlockedBitTestAndSet64Release ntw_InterlockedBitTestAndSet64Release
#define InterlockedBitTestAndSet64NoFence ntw_InterlockedBitTestAndSet64NoFence
#define InterlockedBitTestAndReset64 ntw_InterlockedBitTestAndReset64
#define InterlockedBitTestAndReset64Acquire ntw_InterlockedBitTestAndReset64Acquire
#define InterlockedBitTestAndReset64Release ntw_InterlockedBitTestAndReset64Release
#define InterlockedBitTestAndReset64NoFence ntw_InterlockedBitTestAndReset64NoFence
#define InterlockedBitTestAndComplement64 ntw_InterlockedBitTestAndComplement64
#define InterlockedBitTestAndComplement64Acquire ntw_InterlockedBitTestAndComplement64Acquire
#define InterlockedBitTestAndComplement64Release ntw_InterlockedBitTestAndComplement64Release
#define InterlockedBitTestAndComplement64NoFence ntw_InterlockedBitTestAndComplement64NoFence
#ifdef NTUX_WIN_HAS_COMPARE_EXCHANGE_128
#define InterlockedCompareExchange128 ntw_InterlockedCompareExchange128
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
