/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions of ntdll about completion ports that Wine's tests call, over those of this library's that kernel32 has in their place. What
 * these have no room for, a status and more than 32 bits of information, lies in a packet of its own, whose address is posted. */
#ifndef SUITE_NTDLL_PORT_H
#define SUITE_NTDLL_PORT_H

typedef struct { NTSTATUS Status; ULONG_PTR Information; } IO_STATUS_BLOCK;
typedef struct { ULONG_PTR CompletionKey, CompletionValue; IO_STATUS_BLOCK IoStatusBlock; } FILE_IO_COMPLETION_INFORMATION;

#define STATUS_INVALID_DEVICE_REQUEST ((NTSTATUS)0xC0000010)

struct suite_packet { ULONG_PTR value, information; NTSTATUS status; };

static NTSTATUS suite_port_status(BOOL done)
{
    switch (done ? ERROR_SUCCESS : GetLastError()) {
    case ERROR_SUCCESS: return STATUS_SUCCESS;
    case WAIT_TIMEOUT: return STATUS_TIMEOUT;
    case WAIT_IO_COMPLETION: return STATUS_USER_APC;
    case ERROR_ABANDONED_WAIT_0: return STATUS_ABANDONED_WAIT_0;
    case ERROR_INVALID_HANDLE: return STATUS_INVALID_HANDLE;
    default: return STATUS_INVALID_PARAMETER;
    }
}

static NTSTATUS NtCreateIoCompletion(HANDLE *port, DWORD access, void *attributes, ULONG threads)
{
    (void)access, (void)attributes;
    *port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, threads);
    return suite_port_status(*port != NULL);
}

static NTSTATUS NtSetIoCompletion(HANDLE port, ULONG_PTR key, ULONG_PTR value, NTSTATUS status, SIZE_T information)
{
    struct suite_packet *packet = malloc(sizeof *packet);

    packet->value = value;
    packet->information = information;
    packet->status = status;
    return suite_port_status(PostQueuedCompletionStatus(port, 0, key, (OVERLAPPED *)packet));
}

static void suite_unpack(OVERLAPPED *overlapped, DWORD bytes, ULONG_PTR *value, IO_STATUS_BLOCK *block)
{
    struct suite_packet *packet = (struct suite_packet *)overlapped;

    *value = packet ? packet->value : 0;
    block->Status = packet ? packet->status : STATUS_SUCCESS;
    block->Information = packet ? packet->information : bytes;
    free(packet);
}

static NTSTATUS NtRemoveIoCompletion(HANDLE port, ULONG_PTR *key, ULONG_PTR *value, IO_STATUS_BLOCK *block,
                                     const LARGE_INTEGER *timeout)
{
    OVERLAPPED *overlapped;
    DWORD bytes;
    BOOL done = GetQueuedCompletionStatus(port, &bytes, key, &overlapped, suite_milliseconds(timeout));

    if (done)
        suite_unpack(overlapped, bytes, value, block);
    return suite_port_status(done);
}

static NTSTATUS NtRemoveIoCompletionEx(HANDLE port, FILE_IO_COMPLETION_INFORMATION *made, ULONG count, ULONG *removed,
                                       const LARGE_INTEGER *timeout, BOOLEAN alertable)
{
    OVERLAPPED_ENTRY entries[4];
    BOOL done = GetQueuedCompletionStatusEx(port, entries, count < 4 ? count : 4, removed, suite_milliseconds(timeout), alertable);
    ULONG i;

    for (i = 0; done && i < *removed; i++) {
        made[i].CompletionKey = entries[i].lpCompletionKey;
        suite_unpack(entries[i].lpOverlapped, entries[i].dwNumberOfBytesTransferred, &made[i].CompletionValue,
                     &made[i].IoStatusBlock);
    }
    return suite_port_status(done);
}

#endif
