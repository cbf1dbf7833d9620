/* libdispatch. The hooks wrap submitted work, in order to see where it begins and ends. A hook of a function that takes
 * a block calls the variant that takes a function (dispatch_sync_f, ...). It passes the block's invoke function, and
 * the block as its context; libdispatch does the same. A block from dispatch_block_create carries more state, so it is
 * not wrapped. Such a block is recognized by its invoke function, which is part of libdispatch.
 *
 *   sync   a wait for the queue until the work begins; the work itself is not part of the wait
 *   async  a new message on the thread that runs the work, from the work's begin to its end
 *   once   as sync; a thread that calls it during the work waits for the work's end
 *
 * Asynchronous work is kept in a pool of fixed size. When the pool is exhausted, work is not wrapped. */
#include "engine/backend/mach/events.h"
#include "engine/backend/mach/images.h"
#include "engine/base/error.h"

#include <block_abi.h>
#include <mach/semaphore.h>

static struct strobe_thread *dispatch_caller(const char *call)
{
    return strobe_mach_thread(strobe_switched(), call);
}

static dispatch_function_t block_function(const void *block)
{
    return ((const struct block_literal *)block)->invoke;
}

/* Bounds of libdispatch's code; empty when the loader does not list its image. */
static struct {
    uint64_t start, end;
} libdispatch;

/* Returns false for a block that dispatch_block_create made. */
static bool is_plain(const void *block)
{
    return STROBE_MACH_OBJECT(block_function(block)) - libdispatch.start >= libdispatch.end - libdispatch.start;
}

static bool find_libdispatch(struct strobe_error *error)
{
    (void)error;
    strobe_mach_images_code((const void *)dispatch_async_f, &libdispatch.start, &libdispatch.end);
    return true;
}

/* ---- synchronous work */

struct awaited {
    struct strobe_hook_scope scope;
    pthread_t thread;
    uint64_t what;
    enum strobe_release ends; /* the kind of release that the end of the work is */
    bool begun;
    void *context;
    dispatch_function_t function;
};

static void end_awaited_wait(struct awaited *a)
{
    strobe_hook_woken(&a->scope, a->what, STROBE_WAKE_RELEASED, false);
    strobe_hook_close(&a->scope);
    a->begun = true;
}

/* A queue may run the work on another thread. The caller's wait then lasts until the end of the work. */
static void run_awaited(void *p)
{
    struct awaited *a = p;
    if (pthread_equal(a->thread, pthread_self()))
        end_awaited_wait(a);
    a->function(a->context);
    struct strobe_thread *t = dispatch_caller("dispatch_sync");
    (void)strobe_hook_release_begin(t, a->what, a->ends, STROBE_HERE);
}

static STROBE_ALWAYS_INLINE struct awaited begin_awaited(struct strobe_thread *t, const void *what,
                                                         enum strobe_release ends, void *context,
                                                         dispatch_function_t function, struct strobe_site site)
{
    struct awaited a = {.thread = pthread_self(),
                        .what = STROBE_MACH_OBJECT(what),
                        .ends = ends,
                        .context = context,
                        .function = function};
    a.scope = strobe_hook_open(t, STROBE_KIND_MUTEX, a.what, site);
    strobe_hook_waits(&a.scope, a.what);
    return a;
}

static void end_awaited(struct awaited *a)
{
    if (!a->begun)
        end_awaited_wait(a);
}

static void sync_f(dispatch_queue_t queue, void *context, dispatch_function_t function)
{
    struct strobe_thread *t = dispatch_caller("dispatch_sync_f");
    if (!t) {
        dispatch_sync_f(queue, context, function);
        return;
    }
    struct awaited a = begin_awaited(t, queue, STROBE_RELEASE_LOCK, context, function, STROBE_HERE);
    dispatch_sync_f(queue, &a, run_awaited);
    end_awaited(&a);
}

static void sync_block(dispatch_queue_t queue, void *block)
{
    struct strobe_thread *t = dispatch_caller("dispatch_sync");
    if (!t || !is_plain(block)) {
        dispatch_sync(queue, block);
        return;
    }
    struct awaited a = begin_awaited(t, queue, STROBE_RELEASE_LOCK, block, block_function(block), STROBE_HERE);
    dispatch_sync_f(queue, &a, run_awaited);
    end_awaited(&a);
}

static void barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t function)
{
    struct strobe_thread *t = dispatch_caller("dispatch_barrier_sync_f");
    if (!t) {
        dispatch_barrier_sync_f(queue, context, function);
        return;
    }
    struct awaited a = begin_awaited(t, queue, STROBE_RELEASE_LOCK, context, function, STROBE_HERE);
    dispatch_barrier_sync_f(queue, &a, run_awaited);
    end_awaited(&a);
}

static void barrier_sync_block(dispatch_queue_t queue, void *block)
{
    struct strobe_thread *t = dispatch_caller("dispatch_barrier_sync");
    if (!t || !is_plain(block)) {
        dispatch_barrier_sync(queue, block);
        return;
    }
    struct awaited a = begin_awaited(t, queue, STROBE_RELEASE_LOCK, block, block_function(block), STROBE_HERE);
    dispatch_barrier_sync_f(queue, &a, run_awaited);
    end_awaited(&a);
}

static bool once_is_done(dispatch_once_t *once)
{
    return strobe_load_acquire((strobe_a64 *)(void *)once) == ~UINT64_C(0);
}

static void once_f(dispatch_once_t *once, void *context, dispatch_function_t function)
{
    struct strobe_thread *t = once_is_done(once) ? NULL : dispatch_caller("dispatch_once_f");
    if (!t) {
        dispatch_once_f(once, context, function);
        return;
    }
    struct awaited a = begin_awaited(t, once, STROBE_RELEASE_ALL, context, function, STROBE_HERE);
    dispatch_once_f(once, &a, run_awaited);
    end_awaited(&a);
}

static void once_block(dispatch_once_t *once, void *block)
{
    struct strobe_thread *t = once_is_done(once) ? NULL : dispatch_caller("dispatch_once");
    if (!t || !is_plain(block)) {
        dispatch_once(once, block);
        return;
    }
    struct awaited a = begin_awaited(t, once, STROBE_RELEASE_ALL, block, block_function(block), STROBE_HERE);
    dispatch_once_f(once, &a, run_awaited);
    end_awaited(&a);
}

/* ---- asynchronous work */

enum { TASKS = 1024 };

struct task {
    strobe_a32 next; /* index + 1 of the next free task; 0 = none */
    void *block, *context;
    dispatch_function_t function;
    dispatch_queue_t queue;
};

/* A lock-free stack of free tasks. The low half of `free_tasks` is the index + 1 of its first task. The high half
 * counts exchanges, so that a reused task does not look unchanged (ABA). Tasks from index `fresh` on were never used
 * and are free, too. */
static struct task tasks[TASKS];
static strobe_a64 free_tasks;
static strobe_a32 fresh;

static struct task *take_task(void)
{
    uint64_t head = strobe_load_acquire(&free_tasks);
    while ((uint32_t)head) {
        struct task *t = &tasks[(uint32_t)head - 1];
        uint64_t next = ((head >> 32) + 1) << 32 | strobe_load_relaxed(&t->next);
        if (strobe_cas_acq_rel(&free_tasks, &head, next))
            return t;
    }
    if (strobe_load_relaxed(&fresh) >= TASKS)
        return NULL;
    uint32_t n = strobe_add_relaxed(&fresh, 1);
    return n < TASKS ? &tasks[n] : NULL;
}

static void give_task(struct task *t)
{
    uint64_t head = strobe_load_relaxed(&free_tasks), mine = (uint64_t)(t - tasks) + 1;
    do
        strobe_store_relaxed(&t->next, (uint32_t)head);
    while (!strobe_cas_acq_rel(&free_tasks, &head, ((head >> 32) + 1) << 32 | mine));
}

static void begin_task_message(struct strobe_thread *t)
{
    if (t)
        strobe_bump(&t->entry->message, 1);
}

/* The task may run after the end of the capture in which it was submitted, or during the next capture. */
static void run_task(void *p)
{
    struct task task = *(struct task *)p;
    give_task(p);
    begin_task_message(dispatch_caller("dispatch_async"));
    task.function(task.context);
    struct strobe_thread *t = dispatch_caller("dispatch_async");
    (void)strobe_hook_release_begin(t, STROBE_MACH_OBJECT(task.queue), STROBE_RELEASE_LOCK, STROBE_HERE);
    begin_task_message(t);
    if (task.block)
        _Block_release(task.block);
}

static void async_f(dispatch_queue_t queue, void *context, dispatch_function_t function)
{
    struct strobe_thread *t = dispatch_caller("dispatch_async_f");
    struct task *task = t ? take_task() : NULL;
    if (t)
        strobe_mach_point(t, STROBE_KIND_UNLOCK, STROBE_MACH_OBJECT(queue), STROBE_HERE);
    if (!task) {
        dispatch_async_f(queue, context, function);
        return;
    }
    task->block = NULL;
    task->context = context;
    task->function = function;
    task->queue = queue;
    dispatch_async_f(queue, task, run_task);
}

static void async_block(dispatch_queue_t queue, void *block)
{
    struct strobe_thread *t = dispatch_caller("dispatch_async");
    struct task *task = t && is_plain(block) ? take_task() : NULL;
    if (t)
        strobe_mach_point(t, STROBE_KIND_UNLOCK, STROBE_MACH_OBJECT(queue), STROBE_HERE);
    void *copy = task ? _Block_copy(block) : NULL;
    if (!copy) {
        if (task)
            give_task(task);
        dispatch_async(queue, block);
        return;
    }
    task->block = task->context = copy;
    task->function = block_function(copy);
    task->queue = queue;
    dispatch_async_f(queue, task, run_task);
}

/* ---- semaphores */

static intptr_t dispatch_wait(dispatch_semaphore_t d, dispatch_time_t until)
{
    struct strobe_thread *t = dispatch_caller("dispatch_semaphore_wait");
    if (!t)
        return dispatch_semaphore_wait(d, until);
    if (dispatch_semaphore_wait(d, DISPATCH_TIME_NOW) == 0) {
        strobe_mach_point(t, STROBE_KIND_SEM, STROBE_MACH_OBJECT(d), STROBE_HERE);
        return 0;
    }
    struct strobe_hook_scope s = strobe_hook_open(t, STROBE_KIND_SEM, STROBE_MACH_OBJECT(d), STROBE_HERE);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(d));
    intptr_t r = dispatch_semaphore_wait(d, until);
    strobe_hook_woken(&s, STROBE_MACH_OBJECT(d), r ? STROBE_WAKE_TIMEOUT : STROBE_WAKE_RELEASED, false);
    strobe_hook_close(&s);
    return r;
}

static intptr_t dispatch_signal(dispatch_semaphore_t d)
{
    struct strobe_thread *t = dispatch_caller("dispatch_semaphore_signal");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_OBJECT(d), STROBE_RELEASE_ONE, STROBE_HERE);
    intptr_t r = dispatch_semaphore_signal(d);
    strobe_hook_release_end(&release);
    return r;
}

static enum strobe_wake wake_of_kern_return(kern_return_t r)
{
    return r == KERN_SUCCESS               ? STROBE_WAKE_RELEASED
           : r == KERN_OPERATION_TIMED_OUT ? STROBE_WAKE_TIMEOUT
           : r == KERN_ABORTED             ? STROBE_WAKE_INTERRUPTED
                                           : STROBE_WAKE_NONE;
}

static kern_return_t mach_wait(semaphore_t name)
{
    uint64_t what = STROBE_MACH_PORT(name);
    struct strobe_hook_scope s = strobe_mach_open(STROBE_KIND_SEM, what, STROBE_HERE, "semaphore_wait");
    strobe_hook_waits(&s, what);
    kern_return_t r = semaphore_wait(name);
    strobe_hook_woken(&s, what, wake_of_kern_return(r), false);
    strobe_hook_close(&s);
    return r;
}

static kern_return_t mach_timedwait(semaphore_t name, mach_timespec_t time)
{
    uint64_t what = STROBE_MACH_PORT(name);
    struct strobe_hook_scope s = strobe_mach_open(STROBE_KIND_SEM, what, STROBE_HERE, "semaphore_timedwait");
    strobe_hook_waits(&s, what);
    kern_return_t r = semaphore_timedwait(name, time);
    strobe_hook_woken(&s, what, wake_of_kern_return(r), false);
    strobe_hook_close(&s);
    return r;
}

static kern_return_t mach_signal(semaphore_t name)
{
    struct strobe_thread *t = dispatch_caller("semaphore_signal");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_PORT(name), STROBE_RELEASE_ONE, STROBE_HERE);
    kern_return_t r = semaphore_signal(name);
    strobe_hook_release_end(&release);
    return r;
}

static kern_return_t mach_signal_all(semaphore_t name)
{
    struct strobe_thread *t = dispatch_caller("semaphore_signal_all");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_PORT(name), STROBE_RELEASE_ALL, STROBE_HERE);
    kern_return_t r = semaphore_signal_all(name);
    strobe_hook_release_end(&release);
    return r;
}

/* ---- groups: the last leave before the end of a wait is its waker */

static intptr_t group_wait(dispatch_group_t g, dispatch_time_t until)
{
    struct strobe_thread *t = dispatch_caller("dispatch_group_wait");
    if (!t)
        return dispatch_group_wait(g, until);
    if (dispatch_group_wait(g, DISPATCH_TIME_NOW) == 0) {
        strobe_mach_point(t, STROBE_KIND_COND, STROBE_MACH_OBJECT(g), STROBE_HERE);
        return 0;
    }
    struct strobe_hook_scope s = strobe_hook_open(t, STROBE_KIND_COND, STROBE_MACH_OBJECT(g), STROBE_HERE);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(g));
    intptr_t r = dispatch_group_wait(g, until);
    strobe_hook_woken(&s, STROBE_MACH_OBJECT(g), r ? STROBE_WAKE_TIMEOUT : STROBE_WAKE_RELEASED, false);
    strobe_hook_close(&s);
    return r;
}

static void group_leave(dispatch_group_t g)
{
    struct strobe_thread *t = dispatch_caller("dispatch_group_leave");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_OBJECT(g), STROBE_RELEASE_LOCK, STROBE_HERE);
    dispatch_group_leave(g);
    strobe_hook_release_end(&release);
}

static const struct strobe_rebinding rebindings[] = {
    {"dispatch_sync", (void *)sync_block, (void *)dispatch_sync},
    {"dispatch_sync_f", (void *)sync_f, (void *)dispatch_sync_f},
    {"dispatch_barrier_sync", (void *)barrier_sync_block, (void *)dispatch_barrier_sync},
    {"dispatch_barrier_sync_f", (void *)barrier_sync_f, (void *)dispatch_barrier_sync_f},
    {"dispatch_once", (void *)once_block, (void *)dispatch_once},
    {"dispatch_once_f", (void *)once_f, (void *)dispatch_once_f},
    {"dispatch_async", (void *)async_block, (void *)dispatch_async},
    {"dispatch_async_f", (void *)async_f, (void *)dispatch_async_f},
    {"dispatch_semaphore_wait", (void *)dispatch_wait, (void *)dispatch_semaphore_wait},
    {"dispatch_semaphore_signal", (void *)dispatch_signal, (void *)dispatch_semaphore_signal},
    {"semaphore_wait", (void *)mach_wait, (void *)semaphore_wait},
    {"semaphore_timedwait", (void *)mach_timedwait, (void *)semaphore_timedwait},
    {"semaphore_signal", (void *)mach_signal, (void *)semaphore_signal},
    {"semaphore_signal_all", (void *)mach_signal_all, (void *)semaphore_signal_all},
    {"dispatch_group_wait", (void *)group_wait, (void *)dispatch_group_wait},
    {"dispatch_group_leave", (void *)group_leave, (void *)dispatch_group_leave},
    {0},
};

const struct strobe_mach_feature strobe_mach_feature_dispatch = {STROBE_MACH_DISPATCH, rebindings, find_libdispatch,
                                                                 NULL};
