/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Wine's test of ntdll's objects needs besides: directories, of which the library has none. That of kernel32's names has a handle
 * here, at which names begin; it is written out before the library sees them. */
#ifndef SUITE_NTDLL_OM_H
#define SUITE_NTDLL_OM_H

#include <wine/test.h>

#define SUITE_DIRECTORY L"\\BaseNamedObjects\\"

static HANDLE suite_directory;

static HANDLE get_base_dir(void)
{
    suite_directory = CreateEventW(NULL, TRUE, FALSE, NULL);
    return suite_directory;
}

/* The attributes, with a path in place of a name that begins at the directory. One too long for a path stays, as does none. */
static const OBJECT_ATTRIBUTES *suite_path(const OBJECT_ATTRIBUTES *attributes)
{
    static OBJECT_ATTRIBUTES changed;
    static UNICODE_STRING name;
    static WCHAR path[0x8000];
    const size_t bytes = sizeof SUITE_DIRECTORY - sizeof(WCHAR);

    if (!attributes || !suite_directory || attributes->RootDirectory != suite_directory || !attributes->ObjectName ||
        !attributes->ObjectName->Length || attributes->ObjectName->Length + bytes > sizeof path)
        return attributes;
    memcpy(path, SUITE_DIRECTORY, bytes);
    memcpy((char *)path + bytes, attributes->ObjectName->Buffer, attributes->ObjectName->Length);
    name.Length = name.MaximumLength = attributes->ObjectName->Length + bytes;
    name.Buffer = path;
    changed = *attributes;
    changed.RootDirectory = NULL;
    changed.ObjectName = &name;
    return &changed;
}

#define pRtlInitUnicodeString RtlInitUnicodeString
#define pNtClose NtClose
#define pNtCreateEvent(event, access, attributes, type, signaled) \
    NtCreateEvent(SUITE_PLACE(event), access, suite_path(attributes), type, signaled)
#define pNtOpenEvent(event, access, attributes) NtOpenEvent(SUITE_PLACE(event), access, suite_path(attributes))
#define pNtCreateMutant(mutant, access, attributes, owned) NtCreateMutant(SUITE_PLACE(mutant), access, suite_path(attributes), owned)
#define pNtOpenMutant(mutant, access, attributes) NtOpenMutant(SUITE_PLACE(mutant), access, suite_path(attributes))
#define pNtCreateSemaphore(semaphore, access, attributes, initial, maximum) \
    NtCreateSemaphore(SUITE_PLACE(semaphore), access, suite_path(attributes), initial, maximum)
#define pNtOpenSemaphore(semaphore, access, attributes) NtOpenSemaphore(SUITE_PLACE(semaphore), access, suite_path(attributes))
#define pNtReleaseSemaphore NtReleaseSemaphore
#define pNtCreateKeyedEvent(event, access, attributes, flags) \
    NtCreateKeyedEvent(SUITE_PLACE(event), access, suite_path(attributes), flags)
#define pNtOpenKeyedEvent(event, access, attributes) NtOpenKeyedEvent(SUITE_PLACE(event), access, suite_path(attributes))
#define pNtCreateTimer(timer, access, attributes, type) NtCreateTimer(SUITE_PLACE(timer), access, suite_path(attributes), type)
#define pNtOpenTimer(timer, access, attributes) NtOpenTimer(SUITE_PLACE(timer), access, suite_path(attributes))
#define pNtCreateIoCompletion(port, access, attributes, threads) \
    NtCreateIoCompletion(SUITE_PLACE(port), access, suite_path(attributes), threads)
#define pNtOpenIoCompletion(port, access, attributes) NtOpenIoCompletion(SUITE_PLACE(port), access, suite_path(attributes))
#define pNtDuplicateObject suite_NtDuplicateObject
/* A pointer that is compared with NULL. */
static NTSTATUS (*pNtOpenProcess)(HANDLE *, DWORD, const OBJECT_ATTRIBUTES *, const CLIENT_ID *) = suite_NtOpenProcess;

/* There are no sessions: the name is one without. */
#define swprintf(text, units, format, session) suite_without_session(text, format)

static void suite_without_session(WCHAR *text, const WCHAR *format)
{
    while (*format++ != '%')
        ;
    while (*format++ != '\\')
        ;
    *text++ = '\\';
    while ((*text++ = *format++))
        ;
}

#endif
