/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an engine does with its threads, without a picture. A line for each figure: "WHAT: MICROSECONDS us". Usage: frames [SECONDS [WORKERS]]
 *
 *   main thread    each frame: hands out jobs, waits until all are done, passes the frame on; at most two frames ahead of the other
 *   render thread  takes a frame when its event is set, computes, sets the fence of that frame
 *   workers        2 to 16 (one a processor, if nothing is said): each has a queue with a semaphore, and takes from others' if it has nothing
 *   loader         waits for any of eight requests and for the end, and answers each
 *   audio          every 10 ms by a waitable timer: fills a buffer under a mutex that the main thread takes once a frame
 *
 * The work is arithmetic, the same in each frame: some 4 ms of one processor, or half of that. A frame's time is from its first step to the same step of the
 * next one. The audio thread's lateness is from when its timer was due to when it runs. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 16, JOBS = 96, REQUESTS = 8, AHEAD = 2, PERIOD_MS = 10, SAMPLES = 1 << 17, JOB_STEPS = 30000, DRAW_STEPS = 200000 };

struct samples { double us[SAMPLES]; int count; };

struct queue { HANDLE units; CRITICAL_SECTION lock; int jobs[JOBS], first, count; };

static struct samples frame_times, lateness, fence_waits;
static struct queue queues[WORKERS_MAX];
static int workers;
static volatile LONG left, ended;
static volatile ULONG64 sink;
static HANDLE jobs_done, drawable, fences[AHEAD], requests[REQUESTS], loaded, over, mixer;
static volatile LONG drawn, answered, buffers;

static double now_us(void)
{
    static LARGE_INTEGER frequency;
    LARGE_INTEGER count;
    if (!frequency.QuadPart) QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    return (double)count.QuadPart * 1e6 / (double)frequency.QuadPart;
}

static void need(int good, const char *what)
{
    if (good) return;
    printf("WRONG: %s (error %lu)\n", what, GetLastError());
    fflush(stdout);
    exit(1);
}

static void note(struct samples *samples, double us)
{
    if (samples->count < SAMPLES) samples->us[samples->count++] = us;
}

static void compute(int steps)
{
    ULONG64 x = (ULONG64)steps | 1;
    for (int i = 0; i < steps; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink ^= x;
}

static int take(struct queue *queue)
{
    int job = -1;
    EnterCriticalSection(&queue->lock);
    if (queue->count) job = queue->jobs[queue->first++], queue->count--;
    LeaveCriticalSection(&queue->lock);
    return job;
}

/* A unit of a queue stands for a job there, or that another worker was faster. */
static DWORD WINAPI works(void *index)
{
    int own = (int)(INT_PTR)index;
    for (;;) {
        int job;
        WaitForSingleObject(queues[own].units, INFINITE);
        if (ended) return 0;
        job = take(&queues[own]);
        for (int other = 1; job < 0 && other < workers; other++) job = take(&queues[(own + other) % workers]);
        if (job < 0) continue;
        compute(JOB_STEPS);
        if (!InterlockedDecrement(&left)) SetEvent(jobs_done);
    }
}

static void hand_out(void)
{
    left = JOBS;
    for (int worker = 0; worker < workers; worker++) {
        struct queue *queue = queues + worker;
        int share = JOBS / workers + (worker < JOBS % workers);
        EnterCriticalSection(&queue->lock);
        queue->first = 0, queue->count = share;
        for (int i = 0; i < share; i++) queue->jobs[i] = i;
        LeaveCriticalSection(&queue->lock);
        ReleaseSemaphore(queue->units, share, NULL);
    }
    need(WaitForSingleObject(jobs_done, 60000) == WAIT_OBJECT_0, "the jobs of a frame are done");
}

static DWORD WINAPI draws(void *unused)
{
    (void)unused;
    for (;;) {
        WaitForSingleObject(drawable, INFINITE);
        if (ended) return 0;
        compute(DRAW_STEPS);
        SetEvent(fences[drawn % AHEAD]);
        drawn++;
    }
}

static DWORD WINAPI loads(void *unused)
{
    HANDLE any[REQUESTS + 1];
    (void)unused;
    memcpy(any, requests, sizeof requests);
    any[REQUESTS] = over;
    for (;;) {
        DWORD which = WaitForMultipleObjects(REQUESTS + 1, any, FALSE, INFINITE);
        if (which == WAIT_OBJECT_0 + REQUESTS) return 0;
        need(which < WAIT_OBJECT_0 + REQUESTS, "something is wanted");
        compute(JOB_STEPS);
        answered++;
        ReleaseSemaphore(loaded, 1, NULL);
    }
}

static DWORD WINAPI sounds(void *unused)
{
    HANDLE timer = CreateWaitableTimerA(NULL, FALSE, NULL);
    LARGE_INTEGER first = { .QuadPart = -10000 * PERIOD_MS };
    HANDLE either[2] = { timer, over };
    double due;

    (void)unused;
    need(timer && SetWaitableTimer(timer, &first, PERIOD_MS, NULL, NULL, FALSE), "a timer is set");
    due = now_us() + PERIOD_MS * 1000;
    while (WaitForMultipleObjects(2, either, FALSE, INFINITE) == WAIT_OBJECT_0) {
        double late = now_us() - due;
        note(&lateness, late > 0 ? late : 0);
        /* Periods that passed unheard are gone: the next one is the first that lies ahead. */
        for (due += PERIOD_MS * 1000; due < now_us(); due += PERIOD_MS * 1000) { }
        need(WaitForSingleObject(mixer, 60000) == WAIT_OBJECT_0, "the mixer is free");
        compute(JOB_STEPS);
        buffers++;
        ReleaseMutex(mixer);
    }
    CloseHandle(timer);
    return 0;
}

static HANDLE thread_of(LPTHREAD_START_ROUTINE routine, void *argument, int priority)
{
    HANDLE thread = CreateThread(NULL, 0, routine, argument, 0, NULL);
    need(thread != NULL, "a thread starts");
    SetThreadPriority(thread, priority);
    return thread;
}

/* Frames until the time is up. Returns how many. */
static int play(double until)
{
    int frames = 0, wanted = 0;
    double begun = now_us();

    while (begun < until) {
        double next;
        need(WaitForSingleObject(mixer, 60000) == WAIT_OBJECT_0, "the mixer is free");
        ReleaseMutex(mixer);
        if (frames % 4 == 0) SetEvent(requests[wanted++ % REQUESTS]);
        while (WaitForSingleObject(loaded, 0) == WAIT_OBJECT_0) compute(1000);
        hand_out();
        next = now_us();
        if (frames >= AHEAD) need(WaitForSingleObject(fences[frames % AHEAD], 60000) == WAIT_OBJECT_0, "an earlier frame is drawn");
        note(&fence_waits, now_us() - next);
        ReleaseSemaphore(drawable, 1, NULL);
        frames++;
        next = now_us();
        note(&frame_times, next - begun);
        begun = next;
    }
    return frames;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void say(const char *what, struct samples *samples)
{
    double sum = 0;
    int count = samples->count;

    need(count > 0, what);
    for (int i = 0; i < count; i++) sum += samples->us[i];
    qsort(samples->us, (size_t)count, sizeof *samples->us, ascending);
    printf("%s, mean: %.2f us\n", what, sum / count);
    printf("%s, 99 of 100 within: %.2f us\n", what, samples->us[(size_t)count * 99 / 100]);
    printf("%s, 999 of 1000 within: %.2f us\n", what, samples->us[(size_t)count * 999 / 1000]);
    printf("%s, longest: %.2f us\n", what, samples->us[count - 1]);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10;
    HANDLE threads[WORKERS_MAX + 3];
    SYSTEM_INFO system;
    int count = 0, frames;

    GetSystemInfo(&system);
    workers = argc > 2 ? atoi(argv[2]) : (int)system.dwNumberOfProcessors;
    workers = workers < 2 ? 2 : workers > WORKERS_MAX ? WORKERS_MAX : workers;
    jobs_done = CreateEventA(NULL, FALSE, FALSE, NULL), drawable = CreateSemaphoreA(NULL, 0, MAXLONG, NULL);
    loaded = CreateSemaphoreA(NULL, 0, MAXLONG, NULL), over = CreateEventA(NULL, TRUE, FALSE, NULL);
    mixer = CreateMutexA(NULL, FALSE, NULL);
    for (int i = 0; i < AHEAD; i++) fences[i] = CreateEventA(NULL, FALSE, FALSE, NULL);
    for (int i = 0; i < REQUESTS; i++) requests[i] = CreateEventA(NULL, FALSE, FALSE, NULL);
    for (INT_PTR i = 0; i < workers; i++) {
        InitializeCriticalSection(&queues[i].lock);
        queues[i].units = CreateSemaphoreA(NULL, 0, MAXLONG, NULL);
        threads[count++] = thread_of(works, (void *)i, THREAD_PRIORITY_NORMAL);
    }
    threads[count++] = thread_of(draws, NULL, THREAD_PRIORITY_NORMAL);
    threads[count++] = thread_of(loads, NULL, THREAD_PRIORITY_BELOW_NORMAL);
    threads[count++] = thread_of(sounds, NULL, THREAD_PRIORITY_TIME_CRITICAL);
    frames = play(now_us() + seconds * 1e6);
    while (drawn < frames) Sleep(1);
    ended = 1;
    SetEvent(over);
    ReleaseSemaphore(drawable, 1, NULL);
    for (int i = 0; i < workers; i++) ReleaseSemaphore(queues[i].units, 1, NULL);
    need(WaitForMultipleObjects((DWORD)count, threads, TRUE, 60000) == WAIT_OBJECT_0, "all threads end");
    need(drawn == frames && answered > 0 && buffers > 0, "each frame was drawn once");
    printf("ok: %d workers; each frame was drawn once, requests were answered, the sound played\n", workers);
    say("frame", &frame_times);
    say("sound, how late", &lateness);
    say("wait for an earlier frame", &fence_waits);
    return 0;
}
