#include "engine/backend/linux/preload/preload.h"

#include "engine/backend/common/capture_memory.h"
#include "engine/backend/common/embed/capture_api.h"
#include "engine/backend/common/embed/control.h"
#include "engine/backend/common/embed/flight_capture.h"
#include "engine/backend/linux/await_threads.h"
#include "engine/backend/linux/cpu_clock.h"
#include "engine/backend/linux/images.h"
#include "engine/backend/linux/main_stack.h"
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/followed.h"
#include "engine/backend/linux/preload/forked.h"
#include "engine/backend/linux/preload/late_threads.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/process.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/backend/linux/preload/restrict.h"
#include "engine/backend/linux/preload/signals.h"
#include "engine/backend/linux/preload/stack_map.h"
#include "engine/backend/linux/preload/visits.h"
#include "engine/backend/linux/unwind_images.h"
#include "engine/backend/linux/unwind_table.h"
#include "engine/capture/blocking.h"
#include "engine/capture/guard.h"
#include "engine/capture/sample.h"
#include "engine/capture/sampler.h"
#include "engine/method/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two captures, one after another, have an engine each: an event that the end of a capture has interrupted keeps using
 * the old engine, whose memory stays until the capture after the next (capture_memory.h). */
static struct strobe_engine engines[2];
struct strobe_preload strobe_preload = {.engine = engines};

static struct strobe_sampler sampler;

static struct strobe_unwind_index *unwind_index; /* NULL: stacks are walked by frame pointers */

/* One thread closes the session. Another thread that calls strobe_preload_close meanwhile waits, because it may be
 * about to end the process. */
enum { NOT_CLOSED = 0, CLOSING = 1, CLOSED = 2 };
static strobe_a32 close_state;

static uint32_t calling_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static uint32_t calling_pid(void)
{
    return (uint32_t)syscall(SYS_getpid);
}

static uint64_t current_ticks(void)
{
    return strobe_preload.host.host.ticks(&strobe_preload.host);
}

/* ---- threads ---- */

static struct strobe_thread *attach_calling_thread(bool is_main, const struct strobe_stack_bounds *stack)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    struct strobe_thread *t = strobe_thread_attach(strobe_preload.engine, calling_tid(), is_main, name, stack);
    strobe_local.thread = t; /* not the state of an earlier capture */
    strobe_local.capture = strobe_load_relaxed(&strobe_capture_number);
    return t;
}

/* Bounds of the calling thread's stack, stored before the capture started. All 0: unknown. */
static _Thread_local struct strobe_stack_bounds noted_stack;

/* The main thread measures its stack in a constructor, whose frame is about as high as the frame of main. Frames up to
 * this many bytes below the constructor's count as outermost. Other threads measure their stack in the function that
 * calls their start routine. */
enum { MAIN_FRAME_SLACK = 1024 };

static void find_thread_stack(uint64_t *low, uint64_t *high)
{
    pthread_attr_t attributes;
    void *at = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &at, &bytes);
        pthread_attr_destroy(&attributes);
    }
    *low = (uint64_t)(uintptr_t)at;
    *high = *low + bytes;
}

static STROBE_ALWAYS_INLINE struct strobe_stack_bounds measure_stack(bool is_main)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_stack_bounds stack = {.root_frame = frame - (is_main ? MAIN_FRAME_SLACK : 0)};
    if (!is_main || !strobe_linux_main_stack(frame, &stack.low, &stack.high))
        find_thread_stack(&stack.low, &stack.high);
    return stack;
}

void strobe_preload_note_stack(bool is_main)
{
    noted_stack = measure_stack(is_main);
}

struct strobe_thread *strobe_preload_attach_known(bool is_main)
{
    /* A hooked call may have registered the thread, for example a call that a sanitizer makes at the thread's start. */
    if (strobe_preload_thread())
        return strobe_preload_thread();
    /* The main thread registers before the capture is on. */
    strobe_a32 *counted __attribute__((cleanup(strobe_registration_end))) =
        is_main ? NULL : strobe_registration_begin();
    if (!is_main && !counted)
        return NULL;
    strobe_local.busy = 1; /* measure_stack may allocate, and the allocator's hook would register the thread */
    strobe_fence_signal();
    noted_stack = measure_stack(is_main); /* a later capture needs it, too */
    struct strobe_thread *t = attach_calling_thread(is_main, &noted_stack);
    strobe_fence_signal();
    strobe_local.busy = t == NULL;
    if (!t)
        strobe_add_relaxed(&strobe_preload.engine->session.header->events_untracked, 1);
    return t;
}

static void find_attached_stack(bool is_main, struct strobe_stack_bounds *out)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (!(is_main && strobe_linux_main_stack(frame, &out->low, &out->high)) &&
        !strobe_stack_map_find(&strobe_process_stacks, frame, &out->low, &out->high))
        *out = (struct strobe_stack_bounds){0};
}

static struct strobe_thread *attach_unknown_thread(void)
{
    struct strobe_preload *p = &strobe_preload;
    bool is_main = (p->forked || p->late) && calling_tid() == p->host.pid;
    struct strobe_stack_bounds stack = is_main && p->forked ? strobe_forked.stack : noted_stack;
    if (p->attached)
        find_attached_stack(is_main, &stack);
    struct strobe_thread *t = attach_calling_thread(is_main, &stack);
    if (is_main && t)
        p->main_thread = t->index;
    if (!t)
        strobe_add_relaxed(&strobe_preload.engine->session.header->events_untracked, 1);
    return t;
}

/* Before the capture is on. No other thread can end it meanwhile. */
static void attach_starting_thread(void)
{
    if (strobe_local.busy)
        return;
    strobe_local.busy = 1;
    attach_unknown_thread();
    strobe_local.busy = 0;
}

struct strobe_thread *strobe_preload_attach_unknown(void)
{
    if (strobe_local.busy || strobe_own_thread_newborn())
        return NULL;
    strobe_local.busy = 1;
    strobe_a32 *counted __attribute__((cleanup(strobe_registration_end))) = strobe_registration_begin();
    struct strobe_thread *t = counted ? attach_unknown_thread() : NULL;
    strobe_local.busy = 0;
    return t;
}

/* The program may load and unload libraries. The sampler checks for that every PASSES_BETWEEN_CHECKS passes, and in the
 * next pass after the unwinder found an address outside all known images. */
enum { PASSES_BETWEEN_CHECKS = 16 };

/* Returns true when the unwinder found such an address since the last call. */
static bool clear_missed_code(void)
{
    return unwind_index && strobe_load_relaxed(&unwind_index->missed) &&
           strobe_exchange_acq_rel(&unwind_index->missed, 0);
}

static void update_images(void *ctx)
{
    static uint32_t passes;
    (void)ctx;
    if ((++passes % PASSES_BETWEEN_CHECKS != 0 && !clear_missed_code()) || !strobe_linux_images_changed())
        return;
    if (unwind_index)
        strobe_unwind_images_update(&strobe_preload.host.host);
    strobe_linux_note_images(&strobe_preload.engine->session, current_ticks(), true);
}

/* ---- registration by signal ---- */

static char register_request; /* a signal with the address of this variable requests registration */

void strobe_preload_ask_to_register(uint32_t tid)
{
    uint32_t pid = strobe_preload.host.pid;
    int signal = strobe_preload.host.signal;
    if (!signal)
        return;
    siginfo_t info = {.si_signo = signal, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)pid;
    info.si_value.sival_ptr = &register_request;
    syscall(SYS_rt_tgsigqueueinfo, (long)pid, (long)tid, (long)signal, &info);
}

/* The main thread of a forked child registers at its first hook. A thread that computes calls no hook, so the
 * sampler sends it the signal. A sleeping thread gets no signal, because a signal could end its system call with EINTR.
 * A thread is running when its CPU clock advances between two reads. */
static void ask_forked_main_thread_to_register(const struct strobe_preload *p)
{
    uint64_t first, second;
    const struct strobe_host *h = &p->host.host;
    if (h->thread_cpu_ns(h->ctx, strobe_forked.pid, &first) == STROBE_OK &&
        h->thread_cpu_ns(h->ctx, strobe_forked.pid, &second) == STROBE_OK && first != second)
        strobe_preload_ask_to_register(strobe_forked.pid);
}

/* Handles an instance of the stop signal that is neither a stop request nor a tick. */
static void handle_other_stop_signal(int number, siginfo_t *info, void *context)
{
    HOOK_BEGINS;
    bool ours = info->si_code == SI_QUEUE && info->si_value.sival_ptr == &register_request &&
                (uint32_t)info->si_pid == strobe_preload.host.pid;
    if (!ours)
        strobe_signals_foreign(number, info, context);
    else if (!strobe_preload_thread() && !strobe_restricted && strobe_switched() != STROBE_OFF)
        strobe_preload_attach_unknown();
}

/* The hook of pthread_create does not register the threads of an attached library, so the sampler looks for new ones.
 */
static void list_attached_threads(void)
{
    static uint64_t seen;
    uint64_t threads = strobe_process_thread_count();
    if (threads == seen)
        return;
    seen = threads;
    strobe_stack_map_update(&strobe_process_stacks, strobe_linux_visit_maps);
    strobe_late_threads_list();
}

static void run_between_passes(void *ctx)
{
    struct strobe_preload *p = &strobe_preload;
    update_images(ctx);
    if (strobe_load_relaxed(&p->host.signal_taken))
        strobe_store_relaxed(&p->engine->session.header->signal_taken, (uint32_t)p->host.signal);
    if (p->forked && p->main_thread == UINT32_MAX)
        ask_forked_main_thread_to_register(p);
    if (p->attached)
        list_attached_threads();
    if (p->late)
        strobe_late_threads_ask();
    strobe_flight_pass(&p->engine->session, current_ticks());
    strobe_followed_reserve(&p->engine->session, current_ticks() - p->engine->session.header->begin.ticks);
    if (p->main_thread != UINT32_MAX && strobe_series_due(&sampler, &p->series_due_ticks, current_ticks()))
        strobe_process_record(&p->host, &sampler, p->main_thread, true);
}

static void prepare_sampler_thread(void)
{
    prctl(PR_SET_NAME, "strobe-sampler");
    strobe_linux_sampler_begins();
}

static void run_sampler_until_end(void)
{
    strobe_sampler_init(&sampler, strobe_preload.engine, calling_tid());
    strobe_sampler_run(&sampler);
    strobe_preload_close();
}

static void run_preload_sampler(void)
{
    prepare_sampler_thread();
    run_sampler_until_end();
}

/* ---- ticks of CPU clocks ---- */

/* Records a tick of the calling thread's CPU clock. A tick that arrives after the thread was detached is discarded, and
 * a tick inside the engine is only counted. Returns false when the signal is the program's. */
static bool on_tick(const siginfo_t *info, const struct strobe_regs *regs)
{
    HOOK_BEGINS;
    struct strobe_thread *t = strobe_preload_thread();
    if (!strobe_linux_clock_sent(&strobe_preload.host, info) || (t && !strobe_linux_clock_is_of(t->index, info)))
        return false;
    bool takes = !strobe_local.busy && strobe_switched() != STROBE_OFF;
    if (t)
        strobe_sample_interrupted(t, takes ? regs : NULL, strobe_linux_clock_rang(info));
    return true;
}

/* ---- the switch: on a page that the kernel zeroes in a forked child ---- */

static struct {
    strobe_a32 on;
    struct strobe_method_page method;
} * switch_page;

static bool map_switch_page(void)
{
    if (!switch_page) {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return false;
        switch_page = p;
        madvise(p, 4096, MADV_WIPEONFORK); /* on a kernel without it, the fork handler turns the switch off */
    }
    strobe_store_relaxed(&switch_page->on, STROBE_OFF);
    strobe_switch = &switch_page->on;
    return true;
}

static uint32_t switch_at_start(void)
{
    return strobe_preload.engine->config.delay_ns ? STROBE_PAUSED : STROBE_ON;
}

static void turn_capture_on(uint32_t samples_on)
{
    if (strobe_preload.samples)
        strobe_store_seq_cst(strobe_switch, samples_on);
    strobe_method_switch(switch_at_start());
}

/* ---- start ---- */

static const struct strobe_unwinder *choose_unwinder(const struct strobe_config *c)
{
    unwind_index = c->unwind == STROBE_UNWIND_DWARF ? strobe_unwind_images_update(&strobe_preload.host.host) : NULL;
    strobe_unwind_table_use(unwind_index);
    return unwind_index ? &strobe_unwinder_table : &strobe_unwinder_fp;
}

static void fill_session_header(struct strobe_session_header *h)
{
    const struct strobe_linux *l = &strobe_preload.host;
    struct strobe_clock_pair *b = &h->begin;
    strobe_linux_clock_pair(l, &b->ticks, &b->monotonic_ns, &b->boottime_ns, &b->realtime_ns);
    h->ticks_per_second = l->host.ticks_per_second;
    long n = syscall(SYS_readlinkat, -100, "/proc/self/exe", h->exe, sizeof h->exe - 1);
    h->exe[n > 0 ? n : 0] = '\0';
}

/* Maps the engine's memory, which ends with the buffers of threads. A block of buffers has five pages. The first 100
 * are in small pages, all later ones in huge pages, which saves thousands of page faults for 2,000 threads that live at
 * a time. */
static bool map_engine_memory(const struct strobe_config *c, struct strobe_capture_memory *out)
{
    enum { SMALL_PAGES_BLOCKS = 100 };
    size_t bytes = strobe_engine_memory_bytes(c);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (c->threads_max > SMALL_PAGES_BLOCKS) {
        size_t huge = (c->threads_max - SMALL_PAGES_BLOCKS) * sizeof(struct strobe_buffers);
        madvise(memory + ((bytes - huge) & ~(size_t)4095), huge, MADV_HUGEPAGE);
    }
    out->all = memory;
    out->bytes = bytes;
    return true;
}

static void unmap_engine_memory(struct strobe_capture_memory *m)
{
    munmap(m->all, m->bytes);
}

static void await_threads_of(const struct strobe_session *session)
{
    strobe_linux_await_threads(&strobe_preload.host.host, session);
}

static struct strobe_capture_memories memories = {
    .reserve = map_engine_memory, .await_unused = await_threads_of, .release = unmap_engine_memory};

/* Prepares the host for this process's first capture. A later capture uses it as it is, because a hook that the end of
 * the last capture interrupted may still read a clock with it. */
static void set_up_host(struct strobe_linux *l)
{
    if (l->pid == calling_pid())
        return;
    strobe_linux_init(l, strobe_real()->clock_gettime);
    l->host.between_passes = run_between_passes;
    strobe_own_threads_watch(&l->host);
}

/* Sets up the engine for an attached session. `path` may be "". Returns false when there is no memory; the session is
 * then unmapped. Sets *needs_sampler when the capture needs a sampler and the stop signal is available. */
static bool set_up_capture(const struct strobe_session *session, const char *path, bool *needs_sampler)
{
    struct strobe_preload *p = &strobe_preload;
    const struct strobe_config *c = &session->header->config;
    struct strobe_error error;
    if (!map_switch_page()) {
        struct strobe_session unused = *session;
        strobe_session_unmap(&unused);
        return false;
    }
    if (strobe_capture_memories_take(&memories, session, &error) != STROBE_OK)
        return false;
    void *memory = memories.present.all;
    strobe_local.busy = 1;
    set_up_host(&p->host);
    memset(&sampler, 0, sizeof sampler);
    strobe_store_relaxed(&close_state, NOT_CLOSED);
    fill_session_header(session->header);
    p->engine = &engines[p->engine == engines];
    strobe_engine_init(p->engine, session, &p->host.host, choose_unwinder(c), memory);
    strobe_capture_publish(session, path);
    p->follow = c->follow;
    p->samples = !(c->calls & STROBE_CALLS_ONLY);
    strobe_method_start(p, &switch_page->method);
    strobe_add_relaxed(&strobe_capture_number, 1);
    *needs_sampler = p->samples && c->async_interval_ns &&
                     strobe_linux_take_signal(&p->host, (int)c->suspend_signal, strobe_real()->libc_sigaction,
                                              handle_other_stop_signal) == STROBE_OK;
    p->started = true;
    p->series_due_ticks = 0; /* a forked child has its parent's */
    p->main_thread = UINT32_MAX;
    strobe_linux_note_images(session, current_ticks(), true);
    if (*needs_sampler && strobe_linux_clocks_begin(&p->host, c->threads_max))
        p->host.tick = on_tick;
    return true;
}

bool strobe_preload_start(const struct strobe_session *session)
{
    struct strobe_preload *p = &strobe_preload;
    bool needs_sampler;
    if (!set_up_capture(session, "", &needs_sampler))
        return false;
    const struct strobe_thread *main_thread = p->samples ? strobe_preload_attach_known(true) : NULL;
    p->main_thread = main_thread ? main_thread->index : UINT32_MAX;
    if (needs_sampler)
        strobe_own_thread_start(run_preload_sampler);
    turn_capture_on(switch_at_start());
    return true;
}

/* The prepared sampler: it was started by strobe_preload_prepare_sampler, and begins at 1. */
static bool is_prepared;
static strobe_a32 prepared_begins;

static void run_prepared_sampler(void)
{
    struct timespec pause = {0, 500 * 1000};
    prepare_sampler_thread();
    while (!strobe_load_acquire(&prepared_begins) && !strobe_load_relaxed(&strobe_preload.engine->sampler_stop))
        syscall(SYS_nanosleep, &pause, NULL);
    if (strobe_load_acquire(&prepared_begins))
        run_sampler_until_end();
}

bool strobe_preload_prepare_sampler(void)
{
    return is_prepared = strobe_own_thread_start(run_prepared_sampler);
}

static void start_late_sampler(void)
{
    if (is_prepared)
        strobe_store_release(&prepared_begins, 1);
    else
        strobe_own_thread_start(run_preload_sampler);
}

bool strobe_preload_start_late(const struct strobe_session *session, const char *path, bool paused)
{
    struct strobe_preload *p = &strobe_preload;
    bool needs_sampler;
    uint32_t busy = strobe_local.busy;
    bool ok = set_up_capture(session, path, &needs_sampler);
    strobe_local.busy = busy;
    if (!ok)
        return false;
    p->late = true;
    attach_starting_thread();
    strobe_late_threads_list();
    if (needs_sampler)
        start_late_sampler();
    strobe_store_seq_cst(strobe_switch, paused ? STROBE_PAUSED : STROBE_ON);
    return true;
}

/* ---- fork ---- */

void strobe_preload_count_child(void)
{
    const struct strobe_preload *p = &strobe_preload;
    if (p->started && !p->follow)
        strobe_add_relaxed(&p->engine->session.header->children_left, 1);
}

void strobe_preload_count_vforked(void)
{
    static strobe_a32 counted; /* pid of the child that was counted last: a child may try several files in turn */
    const struct strobe_preload *p = &strobe_preload;
    uint32_t pid = calling_pid();
    if (p->started && p->engine->session.header->pid != pid && strobe_exchange_acq_rel(&counted, pid) != pid)
        strobe_preload_count_child();
}

static void discard_parent_state(void)
{
    strobe_preload = (struct strobe_preload){.engine = engines};
    memories.present = memories.previous = (struct strobe_capture_memory){0};
}

/* Runs a thread of a forked child. The thread waits until the capture is due, begins it and then runs the sampler. */
static void run_forked_capture(void)
{
    struct strobe_session session;
    bool needs_sampler = false;
    prepare_sampler_thread();
    if (!strobe_forked_wait())
        return;
    if (strobe_environment_child_session(strobe_forked.pid, &strobe_forked.config, &session)) {
        discard_parent_state();
        strobe_preload.forked = set_up_capture(&session, "", &needs_sampler);
    }
    if (strobe_preload.forked) {
        session.header->begin = strobe_forked.begin;
        turn_capture_on(switch_at_start());
    }
    strobe_forked_started();
    if (needs_sampler)
        run_sampler_until_end();
}

/* Begins the child's capture right after the fork. A session that records calls includes those before an exec. */
static void begin_child_capture_at_once(void)
{
    struct strobe_session session;
    if (!strobe_environment_child_session(calling_pid(), &strobe_forked.config, &session))
        return;
    discard_parent_state();
    strobe_preload_start(&session);
}

/* Saves what the child's capture needs of the parent's state: the config, and the bounds of the only thread's stack. */
static void save_parent_state(void)
{
    const struct strobe_thread *t = strobe_preload_thread();
    strobe_forked.config = strobe_preload.engine->config;
    strobe_forked.stack =
        t ? (struct strobe_stack_bounds){t->stack_low, t->stack_high, t->root_frame} : (struct strobe_stack_bounds){0};
}

static void begin_child_capture(void)
{
    if (strobe_forked.config.calls) {
        begin_child_capture_at_once();
        return;
    }
    strobe_forked_begin();
    if (!strobe_own_thread_start(run_forked_capture))
        strobe_forked_end();
}

static void handle_fork_in_child(void)
{
    struct strobe_preload *p = &strobe_preload;
    bool inherits = strobe_forked_inherit(); /* the state is still the parent's, so this call comes first */
    if (!p->started && !inherits)
        return;
    if (!inherits) {
        strobe_preload_count_child();
        save_parent_state();
    }
    strobe_forked_read_clocks(&strobe_forked.begin);
    bool follows = inherits || p->follow;
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    strobe_store_relaxed(&strobe_registering, 0); /* the child does not have the parent's other threads */
    strobe_add_relaxed(&strobe_capture_number, 1);
    p->started = false;
    if (strobe_restricted)
        return;
    strobe_method_forget();
    strobe_own_threads_forget();
    strobe_control_child();
    strobe_flight_child();
    strobe_signals_restore();
    strobe_local.thread = NULL;
    strobe_local.busy = 0;
    if (follows)
        begin_child_capture();
}

__attribute__((constructor)) static void register_fork_and_exit_handlers(void)
{
    pthread_atfork(NULL, NULL, handle_fork_in_child);
    at_quick_exit(strobe_preload_close);
}

/* ---- end ---- */

bool strobe_preload_is_recorded_process(void)
{
    const struct strobe_preload *p = &strobe_preload;
    bool on = strobe_switched() != STROBE_OFF || strobe_load_relaxed(strobe_entry_switch) != STROBE_OFF;
    return p->started && on && !strobe_restricted && p->engine->session.header->pid == calling_pid();
}

/* Clears `inside` of threads that have ended inside the engine: by SYS_exit in a signal handler, or because a seccomp
 * filter killed them. */
static void clear_inside_of_dead_threads(void)
{
    struct strobe_engine *e = strobe_preload.engine;
    uint32_t count = strobe_session_thread_count(&e->session);
    for (uint32_t i = 0; i < count; i++)
        if (strobe_load_acquire(&e->threads[i].inside) &&
            syscall(SYS_tgkill, (long)strobe_preload.host.pid, (long)e->session.threads[i].tid, 0l) != 0 &&
            errno == ESRCH)
            strobe_store_release(&e->threads[i].inside, 0);
}

/* Steps of 200 us in which all threads must leave the engine, and steps before the first check for dead threads. A
 * thread leaves within microseconds of CPU time, but on a busy machine it may wait most of a second for a processor. */
enum { QUIET_STEPS = 5000, QUIET_STEPS_BEFORE_CHECK = 25 };

static bool wait_for_quiet_engine(void)
{
    struct timespec pause = {0, 200 * 1000};
    for (int i = 0; i < QUIET_STEPS; i++) {
        if (i == QUIET_STEPS_BEFORE_CHECK)
            clear_inside_of_dead_threads();
        if (strobe_engine_quiet(strobe_preload.engine) && strobe_entry_quiet())
            return true;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return false;
}

static void finish_session(void)
{
    struct strobe_preload *p = &strobe_preload;
    struct strobe_session *s = &p->engine->session;
    struct strobe_clock_pair end;
    if (sampler.engine) {
        strobe_sampler_finish(&sampler);
        strobe_process_record(&p->host, &sampler, p->main_thread, false);
    }
    strobe_linux_clock_pair(&p->host, &end.ticks, &end.monotonic_ns, &end.boottime_ns, &end.realtime_ns);
    strobe_session_finish(s, &end);
}

static void close_recorded_session(void)
{
    struct strobe_preload *p = &strobe_preload;
    struct strobe_session *s = &p->engine->session;
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    strobe_method_switch(STROBE_OFF);
    strobe_linux_note_images(s, current_ticks(), !strobe_restricted);
    if (strobe_entry_local.thread && !p->samples)
        prctl(PR_GET_NAME, s->threads[strobe_entry_local.thread - 1].name);
    if (strobe_preload_thread()) {
        char name[16] = "";
        prctl(PR_GET_NAME, name);
        strobe_thread_rename(strobe_preload_thread(), name);
    }
    if (wait_for_quiet_engine())
        finish_session();
}

static void wait_until_closed(void)
{
    struct timespec pause = {0, 200 * 1000};
    for (int i = 0; i < 1000 && strobe_load_acquire(&close_state) == CLOSING; i++)
        syscall(SYS_nanosleep, &pause, NULL);
}

void strobe_preload_close(void)
{
    const struct strobe_preload *p = &strobe_preload;
    uint32_t before = NOT_CLOSED, busy = strobe_local.busy;
    int saved = errno;
    if (strobe_restricted)
        strobe_restrict_close();
    else if (strobe_forked_stop())
        strobe_forked_leave_session();
    if (!p->started || strobe_restricted || p->engine->session.header->pid != calling_pid())
        return;
    strobe_local.busy = 1;
    if (strobe_cas_acq_rel(&close_state, &before, CLOSING)) {
        close_recorded_session();
        strobe_store_release(&close_state, CLOSED);
    } else if (before == CLOSING) {
        wait_until_closed();
    }
    strobe_local.busy = busy;
    errno = saved;
}

bool strobe_preload_end(void)
{
    struct strobe_preload *p = &strobe_preload;
    strobe_preload_close();
    bool closed = strobe_load_acquire(&p->engine->session.header->state) == STROBE_SESSION_CLOSED;
    bool ended = strobe_own_threads_stop();
    if (ended)
        strobe_signals_restore();
    p->stuck = !closed || !ended;
    return closed;
}

bool strobe_preload_is_closed(void)
{
    return strobe_load_acquire(&close_state) == CLOSED;
}

static uint32_t switch_before_exec; /* a failed exec restores it: a start delay that has ended, or a pause */

bool strobe_preload_close_for_exec(void)
{
    if (strobe_forked_stop())
        return true;
    if (!strobe_preload_is_recorded_process())
        return false;
    switch_before_exec = strobe_switched();
    strobe_preload_close();
    return true;
}

void strobe_preload_reopen(void)
{
    struct strobe_preload *p = &strobe_preload;
    if (strobe_forked_go_on() || !p->started || p->engine->session.header->pid != calling_pid())
        return;
    strobe_store_release(&p->engine->session.header->state, STROBE_SESSION_RUNNING);
    strobe_store_release(&close_state, NOT_CLOSED);
    turn_capture_on(switch_before_exec);
}

__attribute__((destructor)) static void close_at_unload(void)
{
    strobe_preload_close();
}

void strobe_preload_offender(const char *name)
{
    static const char head[] = "strobe: invariant broken: called while a thread is suspended: ";
    strobe_guard_leave();
    /* The sampler's descriptor table is empty, so this function opens the program's standard error again. */
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/fd/2", O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    (void)!syscall(SYS_write, fd, head, sizeof head - 1);
    (void)!syscall(SYS_write, fd, name, strlen(name));
    (void)!syscall(SYS_write, fd, "\n", 1ul);
    abort();
}
