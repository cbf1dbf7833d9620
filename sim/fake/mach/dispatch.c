/* Dispatch: serial queues and one concurrent queue, served by threads that are created on demand; once, semaphores,
 * groups.
 *
 * A serial queue has one turn. A request for a turn that is taken is put on the queue's list. Whoever releases the turn
 * hands it to the first request. A waiting thread (sync) gets the turn and runs its own work. All other work (async) is
 * run by a worker. */
#include "sim/fake/mach/app.h"
#include "sim/fake/mach/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 64 };

struct item {
    struct item *next;
    dispatch_function_t work; /* NULL: a thread that waits for its turn */
    void *context;
    struct fake_counter turn;
};

struct list {
    struct item *first, **last;
};

/* All objects begin with the same fields, for dispatch_release. */
enum kind { QUEUE, SEMAPHORE, GROUP };
struct dispatch_queue_s {
    enum kind kind;
    os_unfair_lock lock;
    bool concurrent, taken;
    struct list waiting;
};
struct dispatch_semaphore_s {
    enum kind kind;
    struct fake_counter counter;
};
struct dispatch_group_s {
    enum kind kind;
    _Atomic uint32_t members;
};

/* Work of a worker: an item of the concurrent queue, or the turn of a serial queue. */
struct job {
    struct job *next;
    struct item *item;
    dispatch_queue_t queue;
};

static struct {
    os_unfair_lock lock;
    struct job *first, **last;
    uint32_t workers, idle;
    struct fake_counter jobs;
} pool;

static struct dispatch_queue_s everywhere = {.kind = QUEUE, .concurrent = true};

static void *dispatch_must_allocate(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p)
        abort(); /* dispatch has no way to report a failure */
    return p;
}

static void dispatch_push(struct list *l, struct item *item)
{
    if (!l->first)
        l->last = &l->first;
    *l->last = item;
    l->last = &item->next;
}

static struct item *dispatch_pop(struct list *l)
{
    struct item *item = l->first;
    if (item)
        l->first = item->next;
    return item;
}

/* ---- turns */

static void dispatch_post(struct item *item, dispatch_queue_t queue);

/* Hands on the turn of the queue. Called with the queue's lock held, returns without. */
static void pass_on(dispatch_queue_t q)
{
    struct item *next = q->waiting.first;
    bool waits = next && !next->work;
    if (waits)
        dispatch_pop(&q->waiting);
    q->taken = next != NULL;
    os_unfair_lock_unlock(&q->lock);
    if (waits)
        fake_counter_give(&next->turn, false);
    else if (next)
        dispatch_post(NULL, q);
}

static void take_turn(dispatch_queue_t q)
{
    struct item me = {.next = NULL};
    os_unfair_lock_lock(&q->lock);
    bool waits = q->taken;
    if (waits)
        dispatch_push(&q->waiting, &me);
    q->taken = true;
    os_unfair_lock_unlock(&q->lock);
    if (waits)
        fake_counter_take(&me.turn, UINT64_MAX);
}

/* Serves a queue whose turn the worker has. The first item is the worker's. */
static void dispatch_serve_queue(dispatch_queue_t q)
{
    os_unfair_lock_lock(&q->lock);
    struct item *item = dispatch_pop(&q->waiting);
    os_unfair_lock_unlock(&q->lock);
    item->work(item->context);
    free(item);
    os_unfair_lock_lock(&q->lock);
    pass_on(q);
}

/* ---- workers */

static void *dispatch_worker(void *nothing)
{
    for (;;) {
        fake_counter_take(&pool.jobs, UINT64_MAX);
        os_unfair_lock_lock(&pool.lock);
        struct job *job = pool.first;
        pool.first = job->next;
        pool.idle--;
        os_unfair_lock_unlock(&pool.lock);
        if (job->item) {
            job->item->work(job->item->context);
            free(job->item);
        } else {
            dispatch_serve_queue(job->queue);
        }
        free(job);
        os_unfair_lock_lock(&pool.lock);
        pool.idle++;
        os_unfair_lock_unlock(&pool.lock);
    }
    return nothing;
}

static void dispatch_post(struct item *item, dispatch_queue_t queue)
{
    struct job *job = dispatch_must_allocate(sizeof *job);
    *job = (struct job){.item = item, .queue = queue};
    os_unfair_lock_lock(&pool.lock);
    if (!pool.first)
        pool.last = &pool.first;
    *pool.last = job;
    pool.last = &job->next;
    uint32_t jobs = 0;
    for (const struct job *j = pool.first; j && jobs <= pool.idle; j = j->next)
        jobs++;
    bool more = jobs > pool.idle && pool.workers < WORKERS_MAX;
    pool.workers += more;
    pool.idle += more;
    os_unfair_lock_unlock(&pool.lock);
    fake_counter_give(&pool.jobs, false);
    pthread_t thread;
    if (more && fake_pthread_create(&thread, NULL, dispatch_worker, NULL) == 0)
        pthread_detach(thread);
}

/* ---- queues */

dispatch_queue_t dispatch_queue_create(const char *label, void *attributes)
{
    (void)label;
    (void)attributes;
    dispatch_queue_t q = calloc(1, sizeof *q);
    return q;
}

dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags)
{
    (void)priority;
    (void)flags;
    return &everywhere;
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t run)
{
    if (!queue->concurrent)
        take_turn(queue);
    run(context);
    if (queue->concurrent)
        return;
    os_unfair_lock_lock(&queue->lock);
    pass_on(queue);
}

/* Runs like other work, on a serial queue and on the concurrent queue. */
void dispatch_barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t run)
{
    dispatch_sync_f(queue, context, run);
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t run)
{
    struct item *item = dispatch_must_allocate(sizeof *item);
    *item = (struct item){.work = run, .context = context};
    if (queue->concurrent) {
        dispatch_post(item, NULL);
        return;
    }
    os_unfair_lock_lock(&queue->lock);
    bool first = !queue->taken;
    dispatch_push(&queue->waiting, item);
    queue->taken = true;
    os_unfair_lock_unlock(&queue->lock);
    if (first)
        dispatch_post(NULL, queue);
}

void dispatch_release(void *object)
{
    if (object != &everywhere)
        free(object);
}

/* ---- once */

/* 0; 1 while it runs; ~0 when done. The lower half alone is sufficient. */
void dispatch_once_f(dispatch_once_t *once, void *context, dispatch_function_t run)
{
    _Atomic intptr_t *word = (_Atomic intptr_t *)(void *)once;
    intptr_t seen = 0;
    if (atomic_compare_exchange_strong(word, &seen, 1)) {
        run(context);
        atomic_store(word, ~(intptr_t)0);
        fake_on->wake((_Atomic uint32_t *)(void *)once);
    }
    while (atomic_load(word) == 1)
        fake_wait_on((_Atomic uint32_t *)(void *)once, 1, UINT64_MAX);
}

/* ---- semaphores, groups */

dispatch_time_t dispatch_time(dispatch_time_t from, int64_t delta_ns)
{
    if (from == DISPATCH_TIME_FOREVER)
        return from;
    return fake_ticks(fake_on->now_ns() + (uint64_t)(delta_ns > 0 ? delta_ns : 0)) + 1;
}

static uint64_t until_ns(dispatch_time_t t)
{
    return t == DISPATCH_TIME_NOW ? 0 : t == DISPATCH_TIME_FOREVER ? UINT64_MAX : fake_ns(t);
}

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value)
{
    dispatch_semaphore_t s = value < 0 ? NULL : calloc(1, sizeof *s);
    if (s) {
        s->kind = SEMAPHORE;
        s->counter.value = (uint32_t)value;
    }
    return s;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until)
{
    return fake_counter_take(&semaphore->counter, until_ns(until)) ? 0 : 1;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore)
{
    return fake_counter_give(&semaphore->counter, false);
}

dispatch_group_t dispatch_group_create(void)
{
    dispatch_group_t g = calloc(1, sizeof *g);
    if (g)
        g->kind = GROUP;
    return g;
}

void dispatch_group_enter(dispatch_group_t group)
{
    atomic_fetch_add(&group->members, 1);
}

void dispatch_group_leave(dispatch_group_t group)
{
    if (atomic_fetch_sub(&group->members, 1) == 1)
        fake_on->wake(&group->members);
}

intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t until)
{
    uint32_t members;
    uint64_t at = until_ns(until);
    while ((members = atomic_load(&group->members)) != 0)
        if (at == 0 || !fake_wait_on(&group->members, members, at))
            return 1;
    return 0;
}

/* ---- blocks: "Block Implementation Specification" of clang's documentation */

enum {
    BLOCK_NEEDS_FREE = 1 << 24,
    BLOCK_HAS_COPY_DISPOSE = 1 << 25,
    BLOCK_IS_GLOBAL = 1 << 28,
    BLOCK_REFS = 0xfffe,
    BLOCK_ONE_REF = 2,
};

struct descriptor {
    unsigned long reserved, bytes;
    void (*copy)(void *to, const void *from);
    void (*dispose)(const void *block);
};

static _Atomic int32_t *flags_of(struct block_literal *b)
{
    return (_Atomic int32_t *)(void *)&b->flags;
}

void *_Block_copy(const void *block)
{
    struct block_literal *from = (struct block_literal *)(uintptr_t)block;
    int32_t flags = atomic_load(flags_of(from));
    if (flags & BLOCK_IS_GLOBAL)
        return from;
    if (flags & BLOCK_NEEDS_FREE) {
        atomic_fetch_add(flags_of(from), BLOCK_ONE_REF);
        return from;
    }
    const struct descriptor *d = from->descriptor;
    struct block_literal *to = malloc(d->bytes);
    if (!to)
        return NULL;
    memcpy(to, from, d->bytes);
    to->flags = (flags & ~BLOCK_REFS) | BLOCK_NEEDS_FREE | BLOCK_ONE_REF;
    if (flags & BLOCK_HAS_COPY_DISPOSE)
        d->copy(to, from);
    return to;
}

void _Block_release(const void *block)
{
    struct block_literal *b = (struct block_literal *)(uintptr_t)block;
    int32_t flags = atomic_load(flags_of(b));
    if (flags & BLOCK_IS_GLOBAL || !(flags & BLOCK_NEEDS_FREE))
        return;
    if ((atomic_fetch_sub(flags_of(b), BLOCK_ONE_REF) & BLOCK_REFS) != BLOCK_ONE_REF)
        return;
    if (flags & BLOCK_HAS_COPY_DISPOSE)
        ((const struct descriptor *)b->descriptor)->dispose(b);
    free(b);
}

static void call_block(void *block)
{
    ((struct block_literal *)block)->invoke(block);
}

static void call_and_release(void *block)
{
    call_block(block);
    _Block_release(block);
}

void dispatch_sync(dispatch_queue_t queue, void *block)
{
    dispatch_sync_f(queue, block, call_block);
}
void dispatch_barrier_sync(dispatch_queue_t queue, void *block)
{
    dispatch_barrier_sync_f(queue, block, call_block);
}
void dispatch_once(dispatch_once_t *once, void *block)
{
    dispatch_once_f(once, block, call_block);
}

void dispatch_async(dispatch_queue_t queue, void *block)
{
    void *copy = _Block_copy(block);
    if (!copy)
        abort();
    dispatch_async_f(queue, copy, call_and_release);
}
