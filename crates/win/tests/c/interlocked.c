/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Interlocked operations: what each returns and leaves, of every size and with every suffix; and that they are atomic. */
#include "check.h"

enum { ROUNDS = 20000, THREADS = 4 };

/* What an operation returns, and what it leaves. */
#define DOES(returned, left, place, operation) \
    do {                                       \
        IS(returned, operation);               \
        IS(left, place);                       \
    } while (0)

#define COUNTS(place, increment, decrement) \
    DOES(6, 6, place, increment(&place));     \
    DOES(5, 5, place, decrement(&place))
#define ADDS(place, add)           \
    DOES(8, 8, place, add(&place, 3)); \
    place = 5
#define OPERATES(place, exchange, exchange_add, and_bits, or_bits, xor_bits, compare_exchange) \
    DOES(5, 12, place, exchange(&place, 12));     \
    DOES(12, 10, place, exchange_add(&place, -2)); \
    DOES(10, 2, place, and_bits(&place, 6));      \
    DOES(2, 7, place, or_bits(&place, 5));        \
    DOES(7, 4, place, xor_bits(&place, 3));       \
    DOES(4, 4, place, compare_exchange(&place, 5, 3)); \
    DOES(4, 5, place, compare_exchange(&place, 5, 4))
#define BITS(place, set, reset, complement) \
    DOES(1, 4, place, reset(&place, 0));      \
    DOES(0, 4, place, reset(&place, 0));      \
    DOES(0, 5, place, set(&place, 0));        \
    DOES(1, 5, place, set(&place, 2));        \
    DOES(0, 7, place, complement(&place, 1)); \
    DOES(1, 5, place, complement(&place, 1))
#define POINTERS(exchange, compare_exchange)                       \
    DOES(1, 1, (ofp == &here), exchange(&ofp, &here) == NULL);     \
    DOES(1, 1, (ofp == &here), compare_exchange(&ofp, NULL, NULL) == &here); \
    DOES(1, 1, (ofp == NULL), compare_exchange(&ofp, NULL, &here) == &here)

/* Of names with this at their end. */
#define OPERATES_AS(place, end)                                                                                     \
    OPERATES(place, InterlockedExchange##end, InterlockedExchangeAdd##end, InterlockedAnd##end, InterlockedOr##end, \
             InterlockedXor##end, InterlockedCompareExchange##end)
#define COUNTS_AS(place, end) COUNTS(place, InterlockedIncrement##end, InterlockedDecrement##end)
#define BITS_AS(place, end) \
    BITS(place, InterlockedBitTestAndSet##end, InterlockedBitTestAndReset##end, InterlockedBitTestAndComplement##end)
#define LARGE_AS(place, end)     \
    COUNTS_AS(place, end);       \
    ADDS(place, InterlockedAdd##end); \
    OPERATES_AS(place, end);     \
    BITS_AS(place, end)
#define ORDERED(order)            \
    OPERATES_AS(of8, 8##order);   \
    COUNTS_AS(of16, 16##order);   \
    OPERATES_AS(of16, 16##order); \
    LARGE_AS(of, order);          \
    LARGE_AS(of64, 64##order);    \
    POINTERS(InterlockedExchangePointer##order, InterlockedCompareExchangePointer##order)

static CHAR of8 = 5;
static SHORT of16 = 5;
static LONG of = 5;
static LONG64 of64 = 5;
static PVOID ofp;

static void each(void)
{
    static LONG words[2];
    static LONG64 longs[2];
    int here = 0;

    ORDERED(Acquire);
    ORDERED(Release);
    ORDERED(NoFence);
    OPERATES_AS(of8, 8);
    COUNTS_AS(of16, 16);
    OPERATES_AS(of16, 16);
    LARGE_AS(of64, 64);
    COUNTS(of, InterlockedIncrement, InterlockedDecrement);
    ADDS(of, InterlockedAdd);
    OPERATES(of, InterlockedExchange, InterlockedExchangeAdd, InterlockedAnd, InterlockedOr, InterlockedXor,
             InterlockedCompareExchange);
    BITS(of, InterlockedBitTestAndSet, InterlockedBitTestAndReset, InterlockedBitTestAndComplement);
    POINTERS(InterlockedExchangePointer, InterlockedCompareExchangePointer);
    IS(PLANT(0, 1), here);
    /* The highest bit, and bits of the words behind and before. */
    IS(0, InterlockedBitTestAndSet(words, 31));
    IS(-0x7fffffff - 1, words[0]);
    IS(0, InterlockedBitTestAndSet(words, 32));
    IS(1, words[1]);
    IS(1, InterlockedBitTestAndReset(&words[1], -1));
    IS(0, words[0]);
    IS(0, InterlockedBitTestAndSet64(longs, 63));
    IS(1, longs[0] < 0);
    IS(0, InterlockedBitTestAndComplement64(longs, 65));
    IS(2, longs[1]);
    IS(1, InterlockedBitTestAndReset64(&longs[1], -1));
    IS(0, longs[0]);
    of64 = 1;
    of64 <<= 40;
    IS(1, InterlockedOr64(&of64, 3) == of64 - 3);
}

/* 16 bytes, of which one half is twice the other. */
static struct { LONG64 halves[2]; } __attribute__((__aligned__(16))) both;
static LONG bit, owners, sum;
static SHORT small[2];

static DWORD WINAPI change(LPVOID unused)
{
    LONG i;

    (void)unused;
    for (i = 0; i < ROUNDS; i++) {
        InterlockedExchangeAdd16(&small[0], 1);
        while (InterlockedBitTestAndSet(&bit, 7))
            Sleep(0);
        owners++;
        InterlockedBitTestAndReset(&bit, 7);
        InterlockedAdd(&sum, 3);
#ifdef NTUX_WIN_HAS_COMPARE_EXCHANGE_128
        {
            LONG64 seen[2] = {0, 0};
            while (!InterlockedCompareExchange128(both.halves, seen[1] + 2, seen[0] + 1, seen))
                if (seen[1] != 2 * seen[0])
                    IS(2 * seen[0], seen[1]);
        }
#endif
    }
    return 0;
}

static void together(void)
{
    HANDLE threads[THREADS];
    int i;

    for (i = 0; i < THREADS; i++)
        threads[i] = start(change, NULL);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
    IS((SHORT)(THREADS * ROUNDS), small[0]);
    IS(0, small[1]);
    IS(THREADS * ROUNDS, owners);
    IS(3 * THREADS * ROUNDS, sum);
#ifdef NTUX_WIN_HAS_COMPARE_EXCHANGE_128
    IS(THREADS * ROUNDS, both.halves[0]);
    IS(2 * THREADS * ROUNDS, both.halves[1]);
#endif
}

int main(void)
{
    alarm(300);
    each();
    together();
    return report();
}
