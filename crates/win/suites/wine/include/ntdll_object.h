/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Wine's tests of objects call of ntdll beside the library's functions of <ntux/win/nt.h>: made of those that kernel32 has. */
#ifndef SUITE_NTDLL_OBJECT_H
#define SUITE_NTDLL_OBJECT_H

typedef struct { HANDLE UniqueProcess, UniqueThread; } CLIENT_ID;

#define STATUS_NO_YIELD_PERFORMED ((NTSTATUS)0x40000024)
#define STATUS_INVALID_PARAMETER_MIX ((NTSTATUS)0xC0000030)

#define InitializeObjectAttributes(attributes, name, flags, directory, descriptor) \
    do { \
        memset((attributes), 0, sizeof *(attributes)); \
        (attributes)->Length = sizeof *(attributes); \
        (attributes)->RootDirectory = (directory); \
        (attributes)->ObjectName = (name); \
        (attributes)->Attributes = (flags); \
    } while (0)

#define RTL_CONSTANT_STRING(text) {sizeof(text) - sizeof *(text), sizeof(text), (WCHAR *)(text)}

static void RtlInitUnicodeString(UNICODE_STRING *string, const WCHAR *text)
{
    WORD length = 0;

    while (text[length])
        length++;
    string->Length = string->MaximumLength = 2 * length;
    string->Buffer = (WCHAR *)text;
}

/* This pointer is bad in every test that has it. The library looks only for NULL. */
#define SUITE_PLACE(pointer) ((ULONG_PTR)(pointer) == 0xdeadbee0 ? NULL : (pointer))

static NTSTATUS suite_NtSetEventBoostPriority(HANDLE event) { return NtSetEvent(event, NULL); }

static NTSTATUS suite_handle_status(BOOL done)
{
    switch (done ? ERROR_SUCCESS : GetLastError()) {
    case ERROR_SUCCESS: return STATUS_SUCCESS;
    case ERROR_ACCESS_DENIED: return STATUS_ACCESS_DENIED;
    case ERROR_INVALID_HANDLE: return STATUS_INVALID_HANDLE;
    default: return STATUS_INVALID_PARAMETER;
    }
}

static NTSTATUS suite_NtDuplicateObject(HANDLE from, HANDLE source, HANDLE to, HANDLE *made, DWORD access, ULONG attributes, ULONG options)
{
    if (made && !SUITE_PLACE(made))
        return STATUS_ACCESS_VIOLATION;
    return NtDuplicateObject(from, source, to, made, access, attributes, options);
}

static NTSTATUS suite_NtOpenProcess(HANDLE *made, DWORD access, const OBJECT_ATTRIBUTES *attributes, const CLIENT_ID *id)
{
    if (!SUITE_PLACE(made) || !attributes)
        return STATUS_ACCESS_VIOLATION;
    if (!id)
        return STATUS_INVALID_PARAMETER_MIX;
    *made = OpenProcess(access, FALSE, (DWORD)(ULONG_PTR)id->UniqueProcess);
    return !*made && GetLastError() == ERROR_INVALID_PARAMETER ? STATUS_INVALID_CID : suite_handle_status(*made != NULL);
}

static NTSTATUS suite_NtQuerySystemTime(LARGE_INTEGER *time)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    time->QuadPart = now.tv_sec * 10000000LL + now.tv_nsec / 100 + 116444736000000000LL;
    return STATUS_SUCCESS;
}

static const struct suite_function suite_object_functions[] = {
    {"NtDuplicateObject", suite_NtDuplicateObject},
    {"NtOpenProcess", suite_NtOpenProcess},
    {"NtQuerySystemTime", suite_NtQuerySystemTime},
    {"NtSetEventBoostPriority", suite_NtSetEventBoostPriority},
    {"RtlInitUnicodeString", RtlInitUnicodeString},
};

#endif
