/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs feel: how long one piece of work takes, a line for each: "WHAT: MICROSECONDS us". With arguments, only those whose
 * names begin with one of them. */
#define _WIN32_WINNT 0x0600
#include <winsock2.h>
#include <windows.h>
#include <stdio.h>
#include <string.h>

static double now(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart / frequency.QuadPart;
}

static void need(int good, const char *what)
{
    if (good) return;
    printf("WRONG: %s (error %lu)\n", what, GetLastError());
    exit(1);
}

static HANDLE thread_of(LPTHREAD_START_ROUTINE routine, void *argument)
{
    HANDLE thread = CreateThread(NULL, 0, routine, argument, 0, NULL);
    need(thread != NULL, "a thread starts");
    return thread;
}

static void finish(HANDLE thread)
{
    need(WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0, "a thread ends");
    CloseHandle(thread);
}

/* Each of these does one piece of work, `rounds` times. First lifetimes. */

static DWORD WINAPI does_nothing(void *argument) { return (DWORD)(UINT_PTR)argument; }

static void create_and_join_a_thread(int rounds)
{
    while (rounds--) finish(thread_of(does_nothing, NULL));
}

static void create_and_close_an_event(int rounds)
{
    while (rounds--) CloseHandle(CreateEventA(NULL, FALSE, FALSE, NULL));
}

static void create_wait_and_close(int rounds)
{
    while (rounds--) {
        HANDLE event = CreateEventA(NULL, FALSE, TRUE, NULL);
        need(WaitForSingleObject(event, 1000) == WAIT_OBJECT_0, "a new event is signaled");
        CloseHandle(event);
    }
}

static void open_wait_and_close(int rounds)
{
    HANDLE named = CreateEventA(NULL, TRUE, TRUE, "ntux-figures");
    while (rounds--) {
        HANDLE event = OpenEventA(SYNCHRONIZE, FALSE, "ntux-figures");
        need(WaitForSingleObject(event, 1000) == WAIT_OBJECT_0, "a named event is signaled");
        CloseHandle(event);
    }
    CloseHandle(named);
}

static void wait_on_the_pseudo_handle(int rounds)
{
    while (rounds--) need(WaitForSingleObject(GetCurrentProcess(), 0) == WAIT_TIMEOUT, "the process runs");
}

static HANDLE ready, wanted;

static DWORD WINAPI waits_in_vain(void *event)
{
    SignalObjectAndWait(ready, event, INFINITE, FALSE);
    return 0;
}

static void terminate_a_waiting_thread(int rounds)
{
    HANDLE never = CreateEventA(NULL, FALSE, FALSE, NULL);
    ready = CreateEventA(NULL, FALSE, FALSE, NULL);
    while (rounds--) {
        HANDLE thread = thread_of(waits_in_vain, never);
        WaitForSingleObject(ready, 20000);
        need(TerminateThread(thread, 1), "a thread is terminated");
        finish(thread);
    }
    CloseHandle(ready), CloseHandle(never);
}

static volatile LONG called;
static void CALLBACK counts(ULONG_PTR argument) { called += (LONG)argument; }

static DWORD WINAPI alertable(void *rounds)
{
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++) {
        SetEvent(ready);
        need(WaitForSingleObjectEx(wanted, 20000, TRUE) == WAIT_IO_COMPLETION, "an APC ends the wait");
    }
    return 0;
}

static void queue_an_apc(int rounds)
{
    HANDLE thread;
    ready = CreateEventA(NULL, FALSE, FALSE, NULL), wanted = CreateEventA(NULL, FALSE, FALSE, NULL), called = 0;
    thread = thread_of(alertable, (void *)(INT_PTR)rounds);
    for (int i = 0; i < rounds; i++) {
        WaitForSingleObject(ready, 20000);
        QueueUserAPC(counts, thread, 1);
    }
    finish(thread);
    need(called == rounds, "each APC ran once");
    CloseHandle(ready), CloseHandle(wanted);
}

static HANDLE pipe_out, pipe_in;
static DWORD WINAPI echoes(void *rounds)
{
    char byte;
    DWORD count;
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++)
        need(ReadFile(pipe_out, &byte, 1, &count, NULL) && WriteFile(pipe_out, &byte, 1, &count, NULL), "a pipe echoes");
    return 0;
}

static void named_pipe(int rounds)
{
    HANDLE thread;
    char byte = 0;
    DWORD count;
    int round = rounds;
    pipe_out = CreateNamedPipeA("\\\\.\\pipe\\ntux-figures", PIPE_ACCESS_DUPLEX, PIPE_WAIT, 1, 4096, 4096, 0, NULL);
    pipe_in = CreateFileA("\\\\.\\pipe\\ntux-figures", GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    need(pipe_in != INVALID_HANDLE_VALUE, "a pipe opens");
    thread = thread_of(echoes, (void *)(INT_PTR)rounds);
    while (round--)
        need(WriteFile(pipe_in, &byte, 1, &count, NULL) && ReadFile(pipe_in, &byte, 1, &count, NULL), "a pipe answers");
    finish(thread);
    CloseHandle(pipe_in), CloseHandle(pipe_out);
}

static void anonymous_pipe(int rounds)
{
    HANDLE from, to;
    char byte = 0;
    DWORD count;
    need(CreatePipe(&from, &to, NULL, 0), "a pipe is made");
    while (rounds--) need(WriteFile(to, &byte, 1, &count, NULL) && ReadFile(from, &byte, 1, &count, NULL), "a pipe carries");
    CloseHandle(from), CloseHandle(to);
}

/* Sockets: a byte there and back between two threads, over TCP on this machine. */

static SOCKET near_end, far_end;

static SOCKET tcp(void)
{
    SOCKET made = socket(AF_INET, SOCK_STREAM, 0);
    need(made != INVALID_SOCKET, "a socket is made");
    return made;
}

static void connect_both_ends(void)
{
    struct sockaddr_in place = { .sin_family = AF_INET };
    int length = sizeof place, at_once = 1;
    SOCKET listener;
    WSADATA data;

    need(!WSAStartup(MAKEWORD(2, 2), &data), "Winsock starts");
    listener = tcp();
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    need(!bind(listener, (struct sockaddr *)&place, sizeof place) && !listen(listener, 1), "a socket listens");
    need(!getsockname(listener, (struct sockaddr *)&place, &length), "it says where");
    near_end = tcp();
    need(!connect(near_end, (struct sockaddr *)&place, sizeof place), "a socket connects");
    far_end = accept(listener, NULL, NULL);
    need(far_end != INVALID_SOCKET, "the connection is accepted");
    setsockopt(near_end, IPPROTO_TCP, TCP_NODELAY, (char *)&at_once, sizeof at_once);
    setsockopt(far_end, IPPROTO_TCP, TCP_NODELAY, (char *)&at_once, sizeof at_once);
    closesocket(listener);
}

static DWORD WINAPI sends_back(void *rounds)
{
    char byte;
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++)
        need(recv(far_end, &byte, 1, 0) == 1 && send(far_end, &byte, 1, 0) == 1, "a socket echoes");
    return 0;
}

static void over_tcp(int rounds, int (*receive)(char *byte))
{
    HANDLE thread;
    char byte = 0;
    int round = rounds;

    connect_both_ends();
    thread = thread_of(sends_back, (void *)(INT_PTR)rounds);
    while (round--) need(send(near_end, &byte, 1, 0) == 1 && receive(&byte), "a socket answers");
    finish(thread);
    closesocket(near_end), closesocket(far_end);
    WSACleanup();
}

static int receives(char *byte) { return recv(near_end, byte, 1, 0) == 1; }

static int selects(char *byte)
{
    fd_set wanted;
    FD_ZERO(&wanted);
    FD_SET(near_end, &wanted);
    return select(0, &wanted, NULL, NULL, NULL) == 1 && receives(byte);
}

static int polls(char *byte)
{
    WSAPOLLFD wanted = { near_end, POLLRDNORM, 0 };
    return WSAPoll(&wanted, 1, -1) == 1 && receives(byte);
}

static int overlaps(char *byte, HANDLE event)
{
    OVERLAPPED request = { .hEvent = event };
    WSABUF buffer = { 1, byte };
    DWORD count = 0, flags = 0;
    if (WSARecv(near_end, &buffer, 1, NULL, &flags, &request, NULL) && WSAGetLastError() != WSA_IO_PENDING) return 0;
    return WSAGetOverlappedResult(near_end, &request, &count, TRUE, &flags) && count == 1;
}

static int overlaps_with_a_new_event(char *byte)
{
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL);
    int good = overlaps(byte, event);
    CloseHandle(event);
    return good;
}

static HANDLE kept;
static int overlaps_with_one_event(char *byte) { return overlaps(byte, kept); }

static void tcp_blocking(int rounds) { over_tcp(rounds, receives); }
static void tcp_select(int rounds) { over_tcp(rounds, selects); }
static void tcp_poll(int rounds) { over_tcp(rounds, polls); }
static void tcp_overlapped_new(int rounds) { over_tcp(rounds, overlaps_with_a_new_event); }

static void tcp_overlapped_one(int rounds)
{
    kept = CreateEventA(NULL, TRUE, FALSE, NULL);
    over_tcp(rounds, overlaps_with_one_event);
    CloseHandle(kept);
}

/* One thread, uncontended. */

static void lock_and_unlock(int rounds)
{
    HANDLE mutex = CreateMutexA(NULL, FALSE, NULL);
    while (rounds--) { WaitForSingleObject(mutex, INFINITE); ReleaseMutex(mutex); }
    CloseHandle(mutex);
}

static void any_of_64(int rounds)
{
    HANDLE many[64];
    for (int i = 0; i < 64; i++) many[i] = CreateEventA(NULL, TRUE, i == 63, NULL);
    while (rounds--) need(WaitForMultipleObjects(64, many, FALSE, INFINITE) == 63, "the last is signaled");
    for (int i = 0; i < 64; i++) CloseHandle(many[i]);
}

/* Threads that meet. */

static HANDLE shared;
static LONG inside, met;

static DWORD WINAPI contends(void *rounds)
{
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++) {
        WaitForSingleObject(shared, INFINITE);
        if (inside++) met = 1;
        inside--;
        ReleaseMutex(shared);
    }
    return 0;
}

static void crowd_on_a_mutex(int threads, int rounds)
{
    HANDLE crowd[8];
    shared = CreateMutexA(NULL, FALSE, NULL);
    for (int i = 0; i < threads; i++) crowd[i] = thread_of(contends, (void *)(INT_PTR)(rounds / threads));
    for (int i = 0; i < threads; i++) finish(crowd[i]);
    need(!met, "one at a time");
    CloseHandle(shared);
}

static void contended_wait(int rounds) { crowd_on_a_mutex(2, rounds); }
static void eight_on_a_mutex(int rounds) { crowd_on_a_mutex(8, rounds); }

static HANDLE there, back;

static DWORD WINAPI answers(void *rounds)
{
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++) { WaitForSingleObject(there, INFINITE); SetEvent(back); }
    return 0;
}

static void ping_pong(int rounds)
{
    HANDLE thread;
    there = CreateEventA(NULL, FALSE, FALSE, NULL), back = CreateEventA(NULL, FALSE, FALSE, NULL);
    thread = thread_of(answers, (void *)(INT_PTR)rounds);
    for (int i = 0; i < rounds; i++) { SetEvent(there); WaitForSingleObject(back, INFINITE); }
    finish(thread);
    CloseHandle(there), CloseHandle(back);
}

static DWORD WINAPI zags(void *rounds)
{
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++) SignalObjectAndWait(back, there, INFINITE, FALSE);
    SetEvent(back);
    return 0;
}

/* As ping-pong, with one call for both. */
static void zigzag(int rounds)
{
    HANDLE thread;
    there = CreateEventA(NULL, FALSE, FALSE, NULL), back = CreateEventA(NULL, FALSE, FALSE, NULL);
    thread = thread_of(zags, (void *)(INT_PTR)rounds);
    WaitForSingleObject(back, INFINITE);
    for (int i = 0; i < rounds; i++) SignalObjectAndWait(there, back, INFINITE, FALSE);
    finish(thread);
    CloseHandle(there), CloseHandle(back);
}

enum { WORKERS = 8 };
static HANDLE jobs, all_done, frame[WORKERS], arrived[WORKERS];
static LONG left, done, frames;

static DWORD WINAPI takes_jobs(void *argument)
{
    (void)argument;
    for (;;) {
        WaitForSingleObject(jobs, INFINITE);
        LONG job = InterlockedDecrement(&left);
        if (job < 0) return 0;
        for (volatile int work = 0; work < 200; work++) { }
        InterlockedIncrement(&done);
        if (!job) SetEvent(all_done);
    }
}

/* One thread hands out jobs, one at a time, to eight that wait at a semaphore. */
static void job_system(int rounds)
{
    HANDLE workers[WORKERS];
    jobs = CreateSemaphoreA(NULL, 0, MAXLONG, NULL), all_done = CreateEventA(NULL, FALSE, FALSE, NULL), left = rounds, done = 0;
    for (int i = 0; i < WORKERS; i++) workers[i] = thread_of(takes_jobs, NULL);
    for (int i = 0; i < rounds; i++) ReleaseSemaphore(jobs, 1, NULL);
    need(WaitForSingleObject(all_done, 60000) == WAIT_OBJECT_0, "all jobs are taken");
    ReleaseSemaphore(jobs, WORKERS, NULL);
    for (int i = 0; i < WORKERS; i++) finish(workers[i]);
    need(done == rounds, "each job was done once");
    CloseHandle(jobs), CloseHandle(all_done);
}

static DWORD WINAPI draws(void *index)
{
    INT_PTR i = (INT_PTR)index;
    for (LONG turn = frames; turn > 0; turn--) {
        WaitForSingleObject(frame[i], INFINITE);
        SetEvent(arrived[i]);
    }
    return 0;
}

/* Each frame starts eight threads and waits for all of them. */
static void frame_barriers(int rounds)
{
    HANDLE workers[WORKERS];
    frames = rounds;
    for (INT_PTR i = 0; i < WORKERS; i++) {
        frame[i] = CreateEventA(NULL, FALSE, FALSE, NULL), arrived[i] = CreateEventA(NULL, FALSE, FALSE, NULL);
        workers[i] = thread_of(draws, (void *)i);
    }
    while (rounds--) {
        for (int i = 0; i < WORKERS; i++) SetEvent(frame[i]);
        need(WaitForMultipleObjects(WORKERS, arrived, TRUE, 60000) == WAIT_OBJECT_0, "all arrive");
    }
    for (int i = 0; i < WORKERS; i++) { finish(workers[i]); CloseHandle(frame[i]); CloseHandle(arrived[i]); }
}

static HANDLE resources[64];

static DWORD WINAPI loads(void *rounds)
{
    unsigned random = 1;
    for (INT_PTR i = 0; i < (INT_PTR)rounds; i++) {
        random = random * 1664525 + 1013904223;
        SetEvent(resources[random >> 26]);
        WaitForSingleObject(ready, INFINITE);
    }
    return 0;
}

/* A loader finishes any one of 64 things that the program waits for, and begins the next when it is told to. */
static void loader(int rounds)
{
    HANDLE thread;
    ready = CreateEventA(NULL, FALSE, FALSE, NULL);
    for (int i = 0; i < 64; i++) resources[i] = CreateEventA(NULL, FALSE, FALSE, NULL);
    thread = thread_of(loads, (void *)(INT_PTR)rounds);
    while (rounds--) {
        need(WaitForMultipleObjects(64, resources, FALSE, 60000) < 64, "something is loaded");
        SetEvent(ready);
    }
    finish(thread);
    for (int i = 0; i < 64; i++) CloseHandle(resources[i]);
    CloseHandle(ready);
}

static const struct row { const char *name; void (*work)(int rounds); } rows[] = {
    { "mutex, lock and unlock", lock_and_unlock },
    { "wait for any of 64, the last is signaled", any_of_64 },
    { "contended wait, two threads on a mutex", contended_wait },
    { "eight threads on a mutex", eight_on_a_mutex },
    { "ping-pong, two threads, there and back", ping_pong },
    { "zigzag, two threads, there and back", zigzag },
    { "job system, a semaphore and 8 workers", job_system },
    { "frame barriers, 8 workers", frame_barriers },
    { "loader, wait for any of 64", loader },
    { "create and join a thread", create_and_join_a_thread },
    { "create and close an event", create_and_close_an_event },
    { "create an event, first wait, close", create_wait_and_close },
    { "open a named event, wait, close", open_wait_and_close },
    { "wait on the pseudo handle of the process", wait_on_the_pseudo_handle },
    { "QueueUserAPC to an alertable wait", queue_an_apc },
    { "named pipe, two threads, there and back", named_pipe },
    { "anonymous pipe, write and read", anonymous_pipe },
    { "TCP, a byte there and back, blocking", tcp_blocking },
    { "TCP, a byte there and back, select", tcp_select },
    { "TCP, a byte there and back, WSAPoll", tcp_poll },
    { "TCP, overlapped, one event for all", tcp_overlapped_one },
    { "TCP, overlapped, a new event each", tcp_overlapped_new },
    { "terminate a waiting thread and join", terminate_a_waiting_thread },
};

/* How long a row takes, in seconds, and the most rounds of it: those of the contended wait that others report. */
static const double ROW = 0.4;
enum { ROUNDS_MAX = 10000000 };

static double each(const struct row *row, int rounds)
{
    double start = now();
    row->work(rounds);
    return (now() - start) / rounds;
}

static int chosen(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strncmp(name, argv[i], strlen(argv[i]))) return 1;
    return argc < 2;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = rows + i;
        double rounds;
        if (!chosen(row->name, argc, argv)) continue;
        each(row, 100);
        rounds = ROW / each(row, 500);
        rounds = rounds < 500 ? 500 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
        printf("%s: %.2f us\n", row->name, each(row, (int)rounds) * 1e6);
        fflush(stdout);
    }
    return 0;
}
