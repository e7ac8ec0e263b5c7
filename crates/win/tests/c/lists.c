/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Interlocked lists: alone, and by threads that free at once what they have popped. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20000, THREADS = 4 };

typedef struct {
    SLIST_ENTRY entry;
    LONG number;
} ITEM;

static SLIST_HEADER list;
static LONG pushed[THREADS], popped;

static LONG number_of(PSLIST_ENTRY entry)
{
    return entry ? ((ITEM *)entry)->number : -1;
}

static void alone(void)
{
    ITEM items[4];
    LONG i;

    IS(0, (ULONG_PTR)&list % 16);
    IS(16, sizeof list);
    WORKS(0, QueryDepthSList(&list)); /* zeros are an empty list */
    memset(&list, 0xff, sizeof list);
    InitializeSListHead(&list);
    IS(0, QueryDepthSList(&list));
    WORKS(1, InterlockedPopEntrySList(&list) == NULL);
    WORKS(1, InterlockedFlushSList(&list) == NULL);
    for (i = 0; i < 4; i++)
        items[i].number = i;
    WORKS(1, InterlockedPushEntrySList(&list, &items[0].entry) == NULL);
    IS(0, number_of(InterlockedPushEntrySList(&list, &items[1].entry)));
    IS(PLANT(2, 3), QueryDepthSList(&list));
    IS(1, number_of(InterlockedPopEntrySList(&list)));
    IS(1, QueryDepthSList(&list));
    items[1].entry.Next = &items[2].entry;
    items[2].entry.Next = &items[3].entry;
    IS(0, number_of(InterlockedPushListSListEx(&list, &items[1].entry, &items[3].entry, 65536 + 9)));
    IS(10, QueryDepthSList(&list)); /* as the caller says */
    IS(1, number_of(InterlockedPopEntrySList(&list)));
    IS(2, number_of(InterlockedPopEntrySList(&list)));
    IS(8, QueryDepthSList(&list));
    IS(3, number_of(InterlockedFlushSList(&list)));
    IS(0, number_of(items[3].entry.Next));
    IS(1, items[0].entry.Next == NULL);
    IS(0, QueryDepthSList(&list));
    IS(-1, number_of(InterlockedPopEntrySList(&list)));
}

/* Pushes items of its own, and takes those of anybody, each of which is freed, or written over, at once. */
static DWORD WINAPI push_and_pop(LPVOID number)
{
    LONG which = (LONG)(ULONG_PTR)number, i;
    PSLIST_ENTRY entry, next;

    for (i = 0; i < ROUNDS; i++) {
        ITEM *item = (ITEM *)malloc(sizeof *item); /* at a multiple of 16 */
        item->number = which;
        InterlockedPushEntrySList(&list, &item->entry);
        if (i % 100 == 0) {
            entry = InterlockedFlushSList(&list);
        } else if ((entry = InterlockedPopEntrySList(&list)) != NULL) {
            entry->Next = NULL;
        }
        for (; entry; entry = next) {
            next = entry->Next;
            InterlockedIncrement(&pushed[((ITEM *)entry)->number]);
            InterlockedIncrement(&popped);
            memset(entry, 0x5a, sizeof(ITEM));
            free(entry);
        }
    }
    return 0;
}

static void together(void)
{
    HANDLE threads[THREADS];
    LONG i;

    for (i = 0; i < THREADS; i++)
        threads[i] = start(push_and_pop, (LPVOID)(ULONG_PTR)i);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
    IS(THREADS * ROUNDS, popped + QueryDepthSList(&list));
    while (popped < THREADS * ROUNDS) {
        ITEM *item = (ITEM *)InterlockedPopEntrySList(&list);
        if (!item)
            break;
        pushed[item->number]++;
        popped++;
        free(item);
    }
    for (i = 0; i < THREADS; i++)
        IS(ROUNDS, pushed[i]);
    IS(1, InterlockedPopEntrySList(&list) == NULL);
    IS(0, QueryDepthSList(&list));
}

int main(void)
{
    alarm(300);
    alone();
    together();
    return report();
}
