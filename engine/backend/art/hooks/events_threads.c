/* Threads. The runtime's callback, or a hook of what it calls, registers a thread when it begins; the first hook that
 * it meets, or a checkpoint, registers a thread that was there before. When a thread leaves the runtime, it can no
 * longer be suspended. When it ends, it is detached. Between these two events the runtime wakes the threads that wait
 * for its end (Thread.join), which is an ordinary event. */
#include "engine/backend/art/hooks/events.h"
#include "engine/backend/linux/main_stack.h"
#include "engine/base/error.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, GUARD_PAGES_MAX = 64 };

/* Registration reads the stack's bounds from the C library. For the main thread this reads a file. */
enum { REGISTER_STACK_LEAST = 32 * 1024 };

static uint32_t threads_self_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static bool is_readable_byte(uint64_t address)
{
    const struct strobe_host *h = &strobe_art.host.linux.host;
    unsigned char byte;
    size_t copied;
    return h->read(h->ctx, address, &byte, 1, &copied) == STROBE_OK;
}

/* Returns the lowest usable page of a stack. Below it are the C library's guard and the runtime's guard, by which the
 * runtime detects stack overflows. */
static uint64_t above_guards(uint64_t low)
{
    uint64_t page = (low + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    for (int i = 0; i < GUARD_PAGES_MAX && !is_readable_byte(page); i++)
        page += PAGE;
    return page;
}

/* Any hook may register its thread, also that of a lock which an allocator holds. So Android's C library must not
 * allocate here: it does for the main thread only. */
static bool read_own_stack(struct strobe_stack_bounds *out)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    *out = (struct strobe_stack_bounds){0};
    if (threads_self_tid() == strobe_art.host.linux.pid && strobe_linux_main_stack(frame, &out->low, &out->high)) {
        out->low = above_guards(out->low);
        return out->low < out->high;
    }
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

/* The thread may have got its name after it was registered. */
static void threads_renew_name(struct strobe_thread *t)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    strobe_thread_rename(t, name);
}

static void on_thread_exit(void *p)
{
    struct strobe_thread *t = p;
    if (strobe_switched() == STROBE_OFF || strobe_local.thread != t ||
        strobe_local.capture != strobe_load_relaxed(&strobe_capture_number))
        return;
    strobe_art_thread_leaves();
    threads_renew_name(t);
    strobe_hand_over(t, (uint64_t)(uintptr_t)pthread_self(), STROBE_RELEASE_ALL, STROBE_HERE);
    strobe_thread_detach(t);
}

/* ---- registering ---- */

static void threads_count_untracked(void)
{
    strobe_add_relaxed(&strobe_art.engine.session.header->events_untracked, 1);
}

static void threads_update_table(void *thread, uint32_t tid)
{
    uint32_t thin_lock_id, tid_there;
    if (strobe_art_thread_ids(&strobe_art.runtime, &strobe_art.host.linux.host, thread, &thin_lock_id, &tid_there) &&
        tid_there == tid)
        strobe_art_threads_put(strobe_art.threads, tid, thread, thin_lock_id);
}

static void threads_attach_self(uint32_t tid)
{
    struct strobe_stack_bounds stack;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    bool is_main = tid == strobe_art.host.linux.pid;
    struct strobe_thread *t =
        read_own_stack(&stack) ? strobe_thread_attach(&strobe_art.engine, tid, is_main, name, &stack) : NULL;
    strobe_local.thread = t; /* NULL for the rest of this capture: the thread's events are counted as untracked */
    strobe_local.capture = strobe_load_relaxed(&strobe_capture_number);
    if (t)
        pthread_setspecific(end_key, t);
}

/* Returns false when the thread cannot be registered now; a later event tries again. */
static bool threads_register_self(void *thread)
{
    uint32_t tid = threads_self_tid();
    if (!is_readable_byte((uint64_t)(uintptr_t)__builtin_frame_address(0) - REGISTER_STACK_LEAST))
        return false;
    strobe_local.busy = 1; /* the following calls, and the thread's first access to its locals, may allocate */
    strobe_fence_signal();
    strobe_a32 *counted __attribute__((cleanup(strobe_registration_end))) = strobe_registration_begin();
    if (counted) {
        threads_attach_self(tid);
        threads_update_table(thread, tid);
    }
    strobe_fence_signal();
    strobe_local.busy = 0;
    return counted != NULL;
}

static struct strobe_thread *threads_registered_self(const struct strobe_local *l)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_thread *t = l->thread;
    if (strobe_unlikely(!t || frame - t->stack_low < STROBE_ART_STACK_LEAST)) {
        threads_count_untracked();
        return NULL;
    }
    return t;
}

struct strobe_thread *strobe_art_thread(uint32_t on)
{
    struct strobe_local *l = &strobe_local;
    if (on == STROBE_OFF || l->busy)
        return NULL;
    if (strobe_unlikely(l->capture != strobe_load_relaxed(&strobe_capture_number))) {
        void *thread = strobe_art_current(&strobe_art.libart);
        if (!thread)
            return NULL;
        if (!threads_register_self(thread)) {
            threads_count_untracked();
            return NULL;
        }
    }
    return threads_registered_self(l);
}

void strobe_art_thread_begins(void *thread)
{
    if (strobe_local.busy)
        return;
    if (strobe_local.capture != strobe_load_relaxed(&strobe_capture_number))
        threads_register_self(thread);
    else
        threads_update_table(thread, threads_self_tid());
}

void strobe_art_thread_leaves(void)
{
    strobe_art_threads_end(strobe_art.threads, threads_self_tid());
}

/* ---- callbacks and checkpoints ---- */

static void threads_keep_callback(void *object)
{
    (void)object;
}

static void report_thread_start(void *thread)
{
    uint32_t on = strobe_switched();
    if (on == STROBE_OFF)
        return;
    strobe_art_thread_begins(thread);
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point_forced(t, STROBE_KIND_THREAD, 1, STROBE_HERE);
}

static void on_thread_started(void *callback, void *thread)
{
    (void)callback;
    report_thread_start(thread);
}

static void report_thread_end(void)
{
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    if (!t)
        return;
    strobe_point_forced(t, STROBE_KIND_THREAD, 0, STROBE_HERE);
    strobe_art_thread_leaves();
}

static void on_thread_died(void *callback, void *thread)
{
    (void)callback, (void)thread;
    report_thread_end();
}

/* art::ThreadLifecycleCallback: two destructors, ThreadStart(Thread *), ThreadDeath(Thread *). */
static void *const callback_vtable[] = {(void *)threads_keep_callback, (void *)threads_keep_callback,
                                        (void *)on_thread_started, (void *)on_thread_died};
static struct {
    void *const *vtable;
} callback = {callback_vtable};
static bool called_back;

/* Before Android 8 the runtime has no such callback. Threads then call Dbg::PostThreadStart and PostThreadDeath,
 * whether a debugger is attached or not (thread.cc: CreateCallback, Attach, Destroy). */
static struct strobe_hook began_hook, dies_hook;

static void on_thread_began(void *thread)
{
    ((void (*)(void *))began_hook.original)(thread);
    report_thread_start(thread);
}

static void on_thread_dies(void *thread)
{
    report_thread_end();
    ((void (*)(void *))dies_hook.original)(thread);
}

static bool threads_have_callbacks(void)
{
    return strobe_art.runtime.callbacks && strobe_art.libart.address[STROBE_ART_ADD_THREAD_CALLBACK] &&
           strobe_art.libart.address[STROBE_ART_REMOVE_THREAD_CALLBACK];
}

/* Without these hooks a checkpoint finds new threads, and the C library tells their end. */
static void threads_ask(void)
{
    if (threads_have_callbacks())
        return;
    strobe_art_ask_hook(&began_hook, STROBE_ART_THREAD_BEGAN, (void *)on_thread_began);
    strobe_art_ask_hook(&dies_hook, STROBE_ART_THREAD_DIES, (void *)on_thread_dies);
}

/* Registers the thread that runs the closure. For a suspended thread the caller of the checkpoint runs it; that thread
 * registers itself when it runs. */
static void threads_meet(void *closure, void *thread)
{
    (void)closure;
    if (strobe_switched() != STROBE_OFF && strobe_art_current(&strobe_art.libart) == thread)
        strobe_art_thread_begins(thread);
}

/* art::Closure: two destructors, Run(Thread *). The closure is never destroyed: threads may run it at any later time.
 */
static void *const closure_vtable[] = {(void *)threads_keep_callback, (void *)threads_keep_callback,
                                       (void *)threads_meet};
static struct strobe_art_closure closure = {closure_vtable};

void strobe_art_find_threads(void)
{
    if (strobe_art.libart.address[STROBE_ART_RUN_CHECKPOINT])
        strobe_art_run_checkpoint(&strobe_art.libart, strobe_art.runtime.thread_list, &closure);
}

static void threads_call_callbacks(enum strobe_art_symbol symbol)
{
    ((void (*)(void *, void *))(uintptr_t)strobe_art.libart.address[symbol])(strobe_art.runtime.callbacks, &callback);
}

static bool threads_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env, (void)error;
    if (!end_key_made && pthread_key_create(&end_key, on_thread_exit) == 0)
        end_key_made = true;
    called_back = threads_have_callbacks();
    if (called_back)
        threads_call_callbacks(STROBE_ART_ADD_THREAD_CALLBACK);
    return true;
}

static void threads_end(void)
{
    if (called_back)
        threads_call_callbacks(STROBE_ART_REMOVE_THREAD_CALLBACK);
    called_back = false;
    strobe_art_drop_hook(&began_hook);
    strobe_art_drop_hook(&dies_hook);
}

const struct strobe_art_feature strobe_art_feature_threads = {STROBE_ART_THREADS, threads_ask, threads_start,
                                                              threads_end};
