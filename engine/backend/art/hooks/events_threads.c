/* Threads: registered by the runtime's own callback as they begin, by the first hook they meet, or by a checkpoint for
 * those that were there before and meet none; taken off the list of those that may be suspended as they leave the
 * runtime, and signed off when they end. Between these two the runtime wakes those who wait for the end (Thread.join),
 * which is an event like others. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, GUARD_PAGES_MAX = 64 };

/* Registering asks the C library for the stack's bounds, and of the main thread's that reads a file. */
enum { REGISTER_STACK_LEAST = 32 * 1024 };

static uint32_t self_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static bool readable(uint64_t address)
{
    const struct strobe_host *h = &strobe_art.host.linux.host;
    unsigned char byte;
    size_t copied;
    return h->read(h->ctx, address, &byte, 1, &copied) == STROBE_OK;
}

/* The lowest page of a stack that may be touched: below are the C library's guard and the one by which the runtime
 * finds out that a stack overflows. */
static uint64_t above_guards(uint64_t low)
{
    uint64_t page = (low + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    for (int i = 0; i < GUARD_PAGES_MAX && !readable(page); i++)
        page += PAGE;
    return page;
}

static bool own_stack(struct strobe_stack_bounds *out)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return false;
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    *out = (struct strobe_stack_bounds){.low = above_guards((uint64_t)(uintptr_t)low),
                                        .high = (uint64_t)(uintptr_t)low + bytes};
    return out->low < out->high;
}

/* ---- the end of a thread ---- */

static pthread_key_t end_key;
static bool end_key_made;

/* Its name may have been given since it was met. */
static void renew_name(struct strobe_thread *t)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    strobe_thread_rename(t, name);
}

static void sign_off(void *p)
{
    struct strobe_thread *t = p;
    if (strobe_switched() == STROBE_OFF || strobe_local.thread != t || strobe_local.capture != strobe_art.capture)
        return;
    strobe_art_thread_leaves();
    renew_name(t);
    strobe_thread_detach(t);
}

/* ---- registering ---- */

static void count_untracked(void)
{
    strobe_add_relaxed(&strobe_art.engine.session.header->events_untracked, 1);
}

static void tell_table(void *thread, uint32_t tid)
{
    uint32_t thin_lock_id, tid_there;
    if (strobe_art_thread_ids(&strobe_art.runtime, &strobe_art.host.linux.host, thread, &thin_lock_id, &tid_there) &&
        tid_there == tid)
        strobe_art_threads_put(strobe_art.threads, tid, thread, thin_lock_id);
}

static void attach(uint32_t tid)
{
    struct strobe_stack_bounds stack;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    bool is_main = tid == strobe_art.host.linux.pid;
    struct strobe_thread *t =
        own_stack(&stack) ? strobe_thread_attach(&strobe_art.engine, tid, is_main, name, &stack) : NULL;
    strobe_local.thread = t; /* NULL for the rest of this capture: its events are counted as untracked */
    strobe_local.capture = strobe_art.capture;
    if (t)
        pthread_setspecific(end_key, t);
}

/* False: not now, but maybe at a later event. */
static bool registers(void *thread)
{
    uint32_t tid = self_tid();
    if (!readable((uint64_t)(uintptr_t)__builtin_frame_address(0) - REGISTER_STACK_LEAST))
        return false;
    strobe_local.busy = 1; /* what follows may allocate, and the thread's first touch of its locals as well */
    strobe_fence_signal();
    attach(tid);
    tell_table(thread, tid);
    strobe_fence_signal();
    strobe_local.busy = 0;
    return true;
}

struct strobe_thread *strobe_art_thread(uint32_t on)
{
    struct strobe_local *l = &strobe_local;
    if (on == STROBE_OFF || l->busy)
        return NULL;
    if (strobe_unlikely(l->capture != strobe_art.capture)) {
        void *thread = strobe_art_current(&strobe_art.libart);
        if (!thread)
            return NULL;
        if (!registers(thread)) {
            count_untracked();
            return NULL;
        }
    }
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_thread *t = l->thread;
    if (strobe_unlikely(!t || frame - t->stack_low < STROBE_ART_STACK_LEAST)) {
        count_untracked();
        return NULL;
    }
    return t;
}

void strobe_art_thread_begins(void *thread)
{
    if (strobe_local.busy)
        return;
    if (strobe_local.capture != strobe_art.capture)
        registers(thread);
    else
        tell_table(thread, self_tid());
}

void strobe_art_thread_leaves(void)
{
    strobe_art_threads_end(strobe_art.threads, self_tid());
}

/* ---- callbacks and checkpoints ---- */

static void keep(void *object)
{
    (void)object;
}

static void thread_started(void *callback, void *thread)
{
    (void)callback;
    uint32_t on = strobe_switched();
    if (on == STROBE_OFF)
        return;
    strobe_art_thread_begins(thread);
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point_forced(t, STROBE_KIND_THREAD, 1, STROBE_ART_HERE);
}

static void thread_died(void *callback, void *thread)
{
    (void)callback, (void)thread;
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    if (!t)
        return;
    strobe_point_forced(t, STROBE_KIND_THREAD, 0, STROBE_ART_HERE);
    strobe_art_thread_leaves();
}

/* art::ThreadLifecycleCallback: two destructors, ThreadStart(Thread *), ThreadDeath(Thread *). */
static void *const callback_vtable[] = {(void *)keep, (void *)keep, (void *)thread_started, (void *)thread_died};
static struct {
    void *const *vtable;
} callback = {callback_vtable};
static bool called_back;

/* Of threads that are suspended the caller is told; they register themselves when they run. */
static void met(void *closure, void *thread)
{
    (void)closure;
    if (strobe_switched() != STROBE_OFF && strobe_art_current(&strobe_art.libart) == thread)
        strobe_art_thread_begins(thread);
}

/* art::Closure: two destructors, Run(Thread *). It is never destroyed: threads may run it at any later time. */
static void *const closure_vtable[] = {(void *)keep, (void *)keep, (void *)met};
static struct strobe_art_closure closure = {closure_vtable};

void strobe_art_look_for_threads(void)
{
    if (strobe_art.libart.address[STROBE_ART_RUN_CHECKPOINT])
        strobe_art_run_checkpoint(&strobe_art.libart, strobe_art.runtime.thread_list, &closure);
}

static void call_callbacks(enum strobe_art_symbol symbol)
{
    ((void (*)(void *, void *))(uintptr_t)strobe_art.libart.address[symbol])(strobe_art.runtime.callbacks, &callback);
}

static bool start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env, (void)error;
    if (!end_key_made && pthread_key_create(&end_key, sign_off) == 0)
        end_key_made = true;
    called_back = strobe_art.runtime.callbacks && strobe_art.libart.address[STROBE_ART_ADD_THREAD_CALLBACK] &&
                  strobe_art.libart.address[STROBE_ART_REMOVE_THREAD_CALLBACK];
    if (called_back)
        call_callbacks(STROBE_ART_ADD_THREAD_CALLBACK);
    return true;
}

static void end(void)
{
    if (called_back)
        call_callbacks(STROBE_ART_REMOVE_THREAD_CALLBACK);
    called_back = false;
}

const struct strobe_art_feature strobe_art_feature_threads = {STROBE_ART_THREADS, start, end};
