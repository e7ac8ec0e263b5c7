/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is watched for writes, and memory that is not. */
#include "check.h"
#include <ntux/win/memoryapi.h>
#include <string.h>

#define PAGES 16

static char *base;
static size_t page, size;
static LPVOID listed[64];
static ULONG_PTR count;
static DWORD granularity;

static void expect_pages(DWORD flags, int line, const char *pages)
{
    ULONG_PTR i;

    count = 64;
    expect("GetWriteWatch", line, (long)GetWriteWatch(flags, base, size, listed, &count, &granularity), 0);
    expect("number of pages", line, (long)count, (long)strlen(pages));
    expect("granularity", line, (long)granularity, (long)page);
    for (i = 0; i < count && pages[i]; i++)
        expect("page", line, (long)(((char *)listed[i] - base) / (long)page), pages[i] - 'a');
}

#define PAGES_ARE(pages) expect_pages(0, __LINE__, pages)
#define PAGES_WERE(pages) expect_pages(WRITE_WATCH_FLAG_RESET, __LINE__, pages)

static void lists(void)
{
    PAGES_ARE("");
    base[page + 1] = 1;
    PAGES_ARE(PLANT("b", "c"));
    PAGES_WERE("b");
    PAGES_ARE("");
    base[2 * page] = 1;
    base[4 * page + 8] = 1;
    PAGES_ARE("ce");
    count = 64;
    IS(0, GetWriteWatch(0, base + 3 * page, 2 * page, listed, &count, &granularity));
    IS(1, count);
    WORKS(0, ResetWriteWatch(base, 3 * page));
    PAGES_ARE("e");
    /* Bytes on both sides of a border. */
    memset(base + 2 * page - 2, 1, 4);
    PAGES_ARE("bce");
    count = 1;
    IS(0, GetWriteWatch(WRITE_WATCH_FLAG_RESET, base, size, listed, &count, &granularity));
    IS(1, count);
    PAGES_WERE("ce");
}

static void protects(void)
{
    DWORD before;

    base[3 * page] = 1;
    WORKS(TRUE, VirtualProtect(base, 4 * page, PAGE_READONLY, &before));
    IS(PAGE_READWRITE, before);
    PAGES_ARE("d");
    WORKS(TRUE, VirtualProtect(base + 3 * page, 1, PAGE_READWRITE, &before));
    IS(PAGE_READONLY, before);
    IS(TRUE, VirtualProtect(base, size, PAGE_READWRITE, &before));
    IS(PAGE_READONLY, before);
    PAGES_WERE("d");
    FAILS(ERROR_NOACCESS, FALSE, VirtualProtect(base, page, PAGE_READONLY, NULL));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, VirtualProtect(base, page, 3, &before));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualProtect(base, size + 1, PAGE_READONLY, &before));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualProtect(&before, 1, PAGE_READONLY, &before));
}

static void commits(void)
{
    DWORD before;
    char *reserved = (char *)VirtualAlloc(NULL, 4 * page + 1, MEM_RESERVE | MEM_WRITE_WATCH, PAGE_READWRITE);

    IS(1, reserved != NULL);
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualProtect(reserved, page, PAGE_READONLY, &before));
    IS(1, VirtualAlloc(reserved + page + 5, page, MEM_COMMIT, PAGE_READWRITE) == reserved + page);
    reserved[page] = reserved[2 * page] = 1;
    count = 64;
    IS(0, GetWriteWatch(0, reserved, 5 * page, listed, &count, &granularity));
    IS(2, count);
    IS(1, listed[0] == reserved + page);
    WORKS(TRUE, VirtualFree(reserved + page, page, MEM_DECOMMIT));
    count = 64;
    IS(0, GetWriteWatch(0, reserved, 5 * page, listed, &count, &granularity));
    IS(1, count);
    IS(1, listed[0] == reserved + 2 * page);
    IS(1, VirtualAlloc(reserved + page, page, MEM_COMMIT, PAGE_READWRITE) == reserved + page);
    IS(0, reserved[page]);
    WORKS(TRUE, VirtualFree(reserved, 0, MEM_DECOMMIT));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualProtect(reserved + page, 1, PAGE_READONLY, &before));
    FAILS(ERROR_INVALID_ADDRESS, 0, VirtualAlloc(reserved, 6 * page, MEM_COMMIT, PAGE_READWRITE) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, VirtualFree(reserved, page, MEM_RELEASE));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualFree(reserved + page, 0, MEM_RELEASE));
    WORKS(TRUE, VirtualFree(reserved, 0, MEM_RELEASE));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualFree(reserved, 0, MEM_RELEASE));
}

/* What the pages from here on are: so many of one state and protection, of one allocation. */
static void expect_alike(int line, void *at, size_t pages, DWORD state, DWORD protect, void *allocation)
{
    MEMORY_BASIC_INFORMATION information;

    expect("VirtualQuery", line, (long)VirtualQuery(at, &information, sizeof information), (long)sizeof information);
    expect("BaseAddress", line, (char *)information.BaseAddress - (char *)at, 0);
    expect("AllocationBase", line, (char *)information.AllocationBase - (char *)allocation, 0);
    expect("RegionSize", line, (long)information.RegionSize, (long)(pages * page));
    expect("State", line, (long)information.State, (long)state);
    expect("Protect", line, (long)information.Protect, (long)protect);
    expect("Type", line, (long)information.Type, MEM_PRIVATE);
}

#define ALIKE(at, pages, state, protect, allocation) expect_alike(__LINE__, at, pages, state, protect, allocation)

static void unwatched(void)
{
    MEMORY_BASIC_INFORMATION information;
    DWORD before;
    char *memory = (char *)VirtualAlloc(NULL, 4 * page, MEM_COMMIT, PAGE_READWRITE), *reserved;

    IS(1, memory != NULL);
    IS(0, (ULONG_PTR)memory & 0xffff);
    memset(memory, 1, 4 * page);
    ALIKE(memory, 4, MEM_COMMIT, PAGE_READWRITE, memory);
    WORKS(TRUE, VirtualProtect(memory + page, page, PAGE_READONLY, &before));
    IS(PAGE_READWRITE, before);
    ALIKE(memory, 1, MEM_COMMIT, PAGE_READWRITE, memory);
    ALIKE(memory + page, 1, MEM_COMMIT, PAGE_READONLY, memory);
    WORKS(TRUE, VirtualFree(memory + 2 * page, page, MEM_DECOMMIT));
    ALIKE(memory + 2 * page, 1, MEM_RESERVE, 0, memory);
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualProtect(memory, 4 * page, PAGE_READONLY, &before));
    IS(1, VirtualAlloc(memory, 4 * page, MEM_COMMIT, PAGE_READWRITE) == memory);
    IS(1, memory[page] && !memory[2 * page] && memory[3 * page]);
    count = 64;
    FAILS(ERROR_INVALID_PARAMETER, ~(UINT)0, GetWriteWatch(0, memory, page, listed, &count, &granularity));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualFree(memory + page, 0, MEM_RELEASE));
    WORKS(TRUE, VirtualFree(memory, 0, MEM_RELEASE));
    FAILS(ERROR_INVALID_ADDRESS, FALSE, VirtualFree(memory, 0, MEM_RELEASE));

    reserved = (char *)VirtualAlloc(NULL, (size_t)1 << 36, MEM_RESERVE | MEM_TOP_DOWN, PAGE_NOACCESS);
    IS(1, reserved != NULL);
    ALIKE(reserved, ((size_t)1 << 36) / page, MEM_RESERVE, 0, reserved);
    IS(1, VirtualAlloc(reserved + ((size_t)1 << 35), 1, MEM_COMMIT, PAGE_READWRITE) == reserved + ((size_t)1 << 35));
    reserved[(size_t)1 << 35] = 1;
    WORKS(TRUE, VirtualFree(reserved, 0, MEM_DECOMMIT));
    ALIKE(reserved, ((size_t)1 << 36) / page, MEM_RESERVE, 0, reserved);
    WORKS(TRUE, VirtualFree(reserved, 0, MEM_RELEASE));
    FAILS(ERROR_NOT_ENOUGH_MEMORY, 0, VirtualAlloc(NULL, (size_t)1 << 62, MEM_RESERVE, PAGE_NOACCESS) != NULL);

    ALIKE(base, PAGES, MEM_COMMIT, PAGE_READWRITE, base);
    FAILS(ERROR_INVALID_ADDRESS, 0, VirtualQuery(&before, &information, sizeof information));
    FAILS(ERROR_BAD_LENGTH, 0, VirtualQuery(base, &information, sizeof information - 1));
    FAILS(ERROR_NOACCESS, 0, VirtualQuery(base, NULL, sizeof information));
}

static void refuses(void)
{
    const UINT failed = ~(UINT)0;
    const DWORD watched = MEM_RESERVE | MEM_COMMIT | MEM_WRITE_WATCH;

    FAILS(ERROR_INVALID_PARAMETER, failed, GetWriteWatch(0, NULL, size, listed, &count, &granularity));
    FAILS(ERROR_INVALID_PARAMETER, failed, GetWriteWatch(0, &count, 1, listed, &count, &granularity));
    FAILS(ERROR_INVALID_PARAMETER, failed, GetWriteWatch(0, base, 0, listed, &count, &granularity));
    FAILS(ERROR_INVALID_PARAMETER, failed, GetWriteWatch(0, base, size + 1, listed, &count, &granularity));
    FAILS(ERROR_INVALID_PARAMETER, failed, GetWriteWatch(2, base, size, listed, &count, &granularity));
    FAILS(ERROR_NOACCESS, failed, GetWriteWatch(0, base, size, listed, NULL, &granularity));
    FAILS(ERROR_NOACCESS, failed, GetWriteWatch(0, base, size, listed, &count, NULL));
    FAILS(ERROR_NOACCESS, failed, GetWriteWatch(0, base, size, NULL, &count, &granularity));
    count = 0;
    FAILS(ERROR_INVALID_PARAMETER, failed, GetWriteWatch(0, base, size, listed, &count, &granularity));
    FAILS(ERROR_INVALID_PARAMETER, failed, ResetWriteWatch(base, 0));
    FAILS(ERROR_INVALID_PARAMETER, failed, ResetWriteWatch(base, size + 1));
    FAILS(ERROR_INVALID_PARAMETER, 0, VirtualAlloc(NULL, 0, watched, PAGE_READWRITE) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, VirtualAlloc(NULL, page, watched, 0) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, VirtualAlloc(NULL, page, MEM_COMMIT | MEM_WRITE_WATCH, PAGE_READWRITE) != NULL);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, VirtualAlloc(base, page, watched, PAGE_READWRITE) != NULL);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, VirtualAlloc(NULL, page, watched, PAGE_READWRITE | 0x100u) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, VirtualFree(base, 0, 0));
}

int main(void)
{
    alarm(300);
    page = (size_t)sysconf(_SC_PAGESIZE);
    size = PAGES * page;
    base = (char *)VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT | MEM_WRITE_WATCH, PAGE_READWRITE);
    IS(1, base != NULL);
    if (!base)
        return report();
    lists();
    protects();
    commits();
    unwatched();
    refuses();
    WORKS(TRUE, VirtualFree(base, 0, MEM_RELEASE));
    return report();
}
