/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recipes of docs/c/recipes.md, each tried by a few threads. Prints what happened; exits with 0 if it is what should
 * happen.
 *
 *     cc recipes.c $(pkg-config --cflags --libs ntux) -lpthread
 */
#include <errno.h>
#include <ntux.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ntux_arena *arena;

static void check(const char *what, int result)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-result));
        exit(1);
    }
}

static int acquire(ntux_object object, uint32_t owner)
{
    return ntux_wait_any(arena, &object, 1, 0, owner, 0, NTUX_NEVER, NULL);
}

/* Is it there? Takes it if so: a deadline in the past is one attempt. */
static int try_acquire(ntux_object object, uint32_t owner)
{
    return ntux_wait_any(arena, &object, 1, 0, owner, 0, 0, NULL);
}

/* A queue of at most ROOM items. */
enum { ROOM = 4 };

struct queue {
    ntux_object mutex, items, room;
    int item[ROOM];
    unsigned first, count;
};

static void queue_init(struct queue *queue)
{
    check("mutex", ntux_mutex_create(arena, 0, 0, &queue->mutex));
    check("items", ntux_semaphore_create(arena, 0, ROOM, &queue->items));
    check("room", ntux_semaphore_create(arena, ROOM, ROOM, &queue->room));
    queue->first = queue->count = 0;
}

static void queue_put(struct queue *queue, uint32_t owner, int item)
{
    ntux_object both[2];

    both[0] = queue->room;
    both[1] = queue->mutex;
    check("room and mutex", ntux_wait_all(arena, both, 2, 0, owner, 0, NTUX_NEVER, NULL));
    queue->item[(queue->first + queue->count++) % ROOM] = item;
    check("unlock", ntux_mutex_unlock(arena, queue->mutex, owner, NULL));
    check("release", ntux_semaphore_release(arena, queue->items, 1, NULL));
}

static int queue_get(struct queue *queue, uint32_t owner)
{
    ntux_object both[2];
    int item;

    both[0] = queue->items;
    both[1] = queue->mutex;
    check("items and mutex", ntux_wait_all(arena, both, 2, 0, owner, 0, NTUX_NEVER, NULL));
    item = queue->item[queue->first];
    queue->first = (queue->first + 1) % ROOM;
    queue->count--;
    check("unlock", ntux_mutex_unlock(arena, queue->mutex, owner, NULL));
    check("release", ntux_semaphore_release(arena, queue->room, 1, NULL));
    return item;
}

/* A condition: wait while something does not hold, under a mutex. Each thread brings an auto-reset event of its own. */
enum { WAITERS_MAX = 16 };

struct condition {
    ntux_object mutex, waiter[WAITERS_MAX];
    unsigned waiting;
};

/* Called with the mutex held; returns with it held. The caller checks again in a loop. */
static void condition_wait(struct condition *condition, ntux_object mine, uint32_t owner)
{
    condition->waiter[condition->waiting++] = mine;
    check("unlock", ntux_mutex_unlock(arena, condition->mutex, owner, NULL));
    check("wait", acquire(mine, owner));
    check("lock", acquire(condition->mutex, owner));
}

/* Called with the mutex held. An event that is set before its thread sleeps stays set: no wake is lost. */
static void condition_broadcast(struct condition *condition)
{
    while (condition->waiting > 0)
        check("set", ntux_event_set(arena, condition->waiter[--condition->waiting], NULL));
}

/* Wait for a thing, or until told to stop: the alert ends any wait, and is acquired like an object. */
enum { STOPPED = 1, GOT = 0 };

static int get_or_stop(ntux_object thing, ntux_object stop, uint32_t owner)
{
    uint32_t index;

    check("wait", ntux_wait_any(arena, &thing, 1, stop, owner, 0, NTUX_NEVER, &index));
    return index == 1 ? STOPPED : GOT;
}

/* A mutex by its name: of all processes that call this with one arena, one makes it, and all get the same. */
static ntux_object journal(void)
{
    ntux_object mutex;

    check("name", ntux_mutex_create_named(arena, "journal", 0, 0, 0, &mutex, NULL));
    return mutex;
}

/* Does the work every millisecond, until it is told to stop. Returns how often it did. */
static unsigned each_ms(ntux_object stop, void (*work)(void))
{
    uint64_t ms = 1000000;
    ntux_object tick;
    unsigned done = 0;

    check("timer", ntux_timer_create(arena, 0, &tick));
    check("set", ntux_timer_set(arena, tick, NTUX_RELATIVE, ms, ms));
    while (get_or_stop(tick, stop, 1) == GOT) {
        work();
        done++;
    }
    check("release", ntux_object_release(arena, tick));
    return done;
}

static struct queue queue;
static struct condition condition;
static int ready, seen;
static ntux_object stop, never, enough;
static unsigned ticks;

static void tick(void)
{
    if (++ticks == 5)
        check("enough", ntux_event_set(arena, enough, NULL));
}

static void *consumer(void *argument)
{
    uint32_t owner = 2;
    long sum = 0;
    int i;

    (void)argument;
    for (i = 0; i < 1000; i++)
        sum += queue_get(&queue, owner);
    return (void *)sum;
}

static void *waiter(void *argument)
{
    uint32_t owner = *(uint32_t *)argument;
    ntux_object mine;

    check("event", ntux_event_create(arena, 0, 0, &mine));
    check("lock", acquire(condition.mutex, owner));
    while (!ready)
        condition_wait(&condition, mine, owner);
    seen++;
    check("unlock", ntux_mutex_unlock(arena, condition.mutex, owner, NULL));
    return (void *)(long)get_or_stop(never, stop, owner);
}

int main(void)
{
    pthread_t consumes, waits[3];
    uint32_t owners[3] = {3, 4, 5};
    void *sum, *result;
    int i, stopped = 0, locked, same, ticked;

    check("arena", ntux_arena_create(1024, 64, &arena));
    queue_init(&queue);
    check("mutex", ntux_mutex_create(arena, 0, 0, &condition.mutex));
    check("event", ntux_event_create(arena, 1, 0, &stop));
    check("event", ntux_event_create(arena, 0, 0, &never));

    pthread_create(&consumes, NULL, consumer, NULL);
    for (i = 0; i < 3; i++)
        pthread_create(&waits[i], NULL, waiter, &owners[i]);
    for (i = 1; i <= 1000; i++)
        queue_put(&queue, 1, i);
    pthread_join(consumes, &sum);
    printf("the queue gave %ld in all\n", (long)sum);

    check("lock", acquire(condition.mutex, 1));
    ready = 1;
    condition_broadcast(&condition);
    locked = try_acquire(condition.mutex, 6);
    check("unlock", ntux_mutex_unlock(arena, condition.mutex, 1, NULL));
    check("set", ntux_event_set(arena, stop, NULL));
    for (i = 0; i < 3; i++) {
        pthread_join(waits[i], &result);
        stopped += (long)result == STOPPED;
    }
    printf("%d saw the condition, %d were told to stop\n", seen, stopped);
    same = journal() == journal();
    printf("its name leads to one mutex: %s\n", same ? "yes" : "no");
    check("event", ntux_event_create(arena, 1, 0, &enough));
    ticked = each_ms(enough, tick) == ticks && ticks >= 5;
    printf("the tick came until it was enough: %s\n", ticked ? "yes" : "no");
    check("detach", ntux_arena_detach(arena));
    return (long)sum == 500500 && seen == 3 && stopped == 3 && locked == -ETIMEDOUT && same && ticked ? 0 : 1;
}
