#include "engine/backend/linux/preload/preload.h"

#include "engine/backend/linux/images.h"
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/method.h"
#include "engine/backend/linux/preload/process.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/backend/linux/preload/signals.h"
#include "engine/backend/linux/unwind_dwarf.h"
#include "engine/capture/guard.h"
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

struct strobe_preload strobe_preload;

static struct strobe_sampler sampler;

static uint32_t self_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static uint32_t self_pid(void)
{
    return (uint32_t)syscall(SYS_getpid);
}

static uint64_t now_ticks(void)
{
    return strobe_preload.host.host.ticks(&strobe_preload.host);
}

/* ---- threads ---- */

static struct strobe_thread *attach(bool is_main, const struct strobe_stack_bounds *stack)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    return strobe_thread_attach(&strobe_preload.engine, self_tid(), is_main, name, stack);
}

/* The main thread registers from a constructor, whose frame lies about as high as main's own will: this much lower
 * still counts as outermost. Other threads register from the function that calls their start routine. */
enum { MAIN_FRAME_SLACK = 1024 };

struct strobe_thread *strobe_preload_attach_known(bool is_main)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    strobe_local.busy = 1;   /* what follows may allocate, and so come back here */
    strobe_fence_signal();
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
    }
    struct strobe_stack_bounds stack = {
        .low = (uint64_t)(uintptr_t)low,
        .high = (uint64_t)(uintptr_t)low + bytes,
        .root_frame = (uint64_t)(uintptr_t)__builtin_frame_address(0) - (is_main ? MAIN_FRAME_SLACK : 0),
    };
    struct strobe_thread *t = attach(is_main, &stack);
    strobe_fence_signal();
    strobe_local.busy = t == NULL;
    return t;
}

struct strobe_thread *strobe_preload_attach_unknown(void)
{
    if (strobe_local.busy)
        return NULL;
    strobe_local.busy = 1;
    struct strobe_thread *t = attach(false, &(struct strobe_stack_bounds){0});
    strobe_local.busy = 0;
    if (!t)
        strobe_add_relaxed(&strobe_preload.engine.session.header->events_untracked, 1);
    return t;
}

/* Libraries come and go with dlopen; looking now and then is cheap, and their code is met only after they are loaded.
 * */
enum { PASSES_BETWEEN_LOOKS = 16 };

static void look_for_images(void *ctx)
{
    static uint32_t passes;
    (void)ctx;
    if (++passes % PASSES_BETWEEN_LOOKS == 0 && strobe_linux_images_changed())
        strobe_linux_note_images(&strobe_preload.engine.session, now_ticks());
}

static void between_passes(void *ctx)
{
    struct strobe_preload *p = &strobe_preload;
    look_for_images(ctx);
    if (strobe_series_due(&sampler, &p->series_due_ticks, now_ticks()))
        strobe_process_tell(&p->host, &sampler, p->main_thread, true);
}

static void *run_sampler(void *unused)
{
    (void)unused;
    strobe_local.busy = 1;   /* this thread is ours: its hooks call through */
    prctl(PR_SET_NAME, "strobe-sampler");
    strobe_linux_sampler_begins();
    strobe_sampler_init(&sampler, &strobe_preload.engine, self_tid());
    strobe_sampler_run(&sampler);
    return NULL;
}

/* All signals stay blocked there: none of the program's is ever delivered to the sampler. */
static bool start_sampler(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    strobe_real()->pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = strobe_real()->pthread_create(&thread, NULL, run_sampler, NULL) == 0;
    strobe_real()->pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* ---- the switch: a page that a forked child finds wiped ---- */

static struct { strobe_a32 on; struct strobe_method_page method; } *page;

static bool place_switch(void)
{
    if (!page) {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return false;
        page = p;
        madvise(p, 4096, MADV_WIPEONFORK);   /* where it is missing, the fork handler does it */
    }
    strobe_store_relaxed(&page->on, STROBE_OFF);
    strobe_switch = &page->on;
    return true;
}

static void switch_on(void)
{
    const struct strobe_config *c = &strobe_preload.engine.config;
    uint32_t on = c->delay_ns ? STROBE_PAUSED : STROBE_ON;
    if (strobe_preload.samples)
        strobe_store_seq_cst(strobe_switch, on);
    strobe_method_switch(on);
}

/* ---- start ---- */

static const struct strobe_unwinder *choose_unwinder(const struct strobe_config *c)
{
    const struct strobe_unwinder *dwarf = c->unwind == STROBE_UNWIND_DWARF ? strobe_linux_unwinder_dwarf() : NULL;
    return dwarf ? dwarf : &strobe_unwinder_fp;
}

static void fill_header(struct strobe_session_header *h)
{
    const struct strobe_linux *l = &strobe_preload.host;
    struct strobe_clock_pair *b = &h->begin;
    strobe_linux_clock_pair(l, &b->ticks, &b->monotonic_ns, &b->boottime_ns, &b->realtime_ns);
    h->ticks_per_second = l->host.ticks_per_second;
    long n = syscall(SYS_readlinkat, -100, "/proc/self/exe", h->exe, sizeof h->exe - 1);
    h->exe[n > 0 ? n : 0] = '\0';
}

/* Begins a capture into an attached session. On failure the program runs on, untraced. */
static void start(const struct strobe_session *session)
{
    struct strobe_preload *p = &strobe_preload;
    const struct strobe_config *c = &session->header->config;
    size_t bytes = strobe_engine_memory_bytes(c);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || !place_switch())
        return;
    strobe_local.busy = 1;
    strobe_linux_init(&p->host, strobe_real()->clock_gettime);
    p->host.host.between_passes = between_passes;
    fill_header(session->header);
    strobe_engine_init(&p->engine, session, &p->host.host, choose_unwinder(c), memory);
    p->follow = c->follow;
    p->samples = !(c->calls & STROBE_CALLS_ONLY);
    strobe_method_start(p, &page->method);
    bool stops = p->samples && c->async_interval_ns && strobe_linux_take_signal(&p->host, (int)c->suspend_signal,
                                                                  strobe_real()->sigaction,
                                                                  strobe_signals_foreign) == STROBE_OK;
    p->started = true;
    strobe_linux_note_images(session, now_ticks());
    const struct strobe_thread *main_thread = p->samples ? strobe_preload_attach_known(true) : NULL;
    p->main_thread = main_thread ? main_thread->index : UINT32_MAX;
    if (stops)
        start_sampler();
    switch_on();
}

__attribute__((constructor)) static void enter(void)
{
    struct strobe_session session;
    strobe_real();
    strobe_environment_take();
    if (strobe_environment_open_session(self_pid(), &session))
        start(&session);
}

/* ---- fork ---- */

static void in_child(void)
{
    if (!strobe_preload.started)
        return;
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    strobe_preload.started = false;
    strobe_method_forget();
    strobe_signals_restore();
    strobe_local.thread = NULL;
    strobe_local.busy = 0;
    struct strobe_session session;
    if (strobe_preload.follow &&
        strobe_environment_child_session(self_pid(), &strobe_preload.engine.config, &session)) {
        memset(&strobe_preload, 0, sizeof strobe_preload);
        memset(&sampler, 0, sizeof sampler);
        start(&session);
    }
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* ---- end ---- */

bool strobe_preload_is_recorded_process(void)
{
    const struct strobe_preload *p = &strobe_preload;
    bool on = strobe_switched() != STROBE_OFF || strobe_load_relaxed(strobe_entry_switch) != STROBE_OFF;
    return p->started && on && p->engine.session.header->pid == self_pid();
}

/* Threads leave the engine within microseconds unless they are descheduled. */
static bool wait_until_quiet(void)
{
    struct timespec pause = {0, 200 * 1000};
    for (int i = 0; i < 500; i++) {
        if (strobe_engine_quiet(&strobe_preload.engine) && strobe_entry_quiet())
            return true;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return false;
}

void strobe_preload_close(void)
{
    struct strobe_preload *p = &strobe_preload;
    struct strobe_session *s = &p->engine.session;
    if (!strobe_preload_is_recorded_process())
        return;
    int saved = errno;
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    strobe_method_switch(STROBE_OFF);
    strobe_local.busy = 1;
    strobe_linux_note_images(s, now_ticks());
    if (strobe_entry_local.thread && !p->samples)
        prctl(PR_GET_NAME, s->threads[strobe_entry_local.thread - 1].name);
    if (strobe_local.thread) {
        char name[16] = "";
        prctl(PR_GET_NAME, name);
        strobe_thread_rename(strobe_local.thread, name);
    }
    if (wait_until_quiet()) {
        struct strobe_clock_pair end;
        if (sampler.engine) {
            strobe_sampler_finish(&sampler);
            strobe_process_tell(&p->host, &sampler, p->main_thread, false);
        }
        strobe_linux_clock_pair(&p->host, &end.ticks, &end.monotonic_ns, &end.boottime_ns, &end.realtime_ns);
        strobe_session_finish(s, &end);
    }
    strobe_local.busy = 0;
    errno = saved;
}

void strobe_preload_reopen(void)
{
    struct strobe_preload *p = &strobe_preload;
    if (!p->started || p->engine.session.header->pid != self_pid())
        return;
    strobe_store_release(&p->engine.session.header->state, STROBE_SESSION_RUNNING);
    switch_on();
}

__attribute__((destructor)) static void leave(void)
{
    strobe_preload_close();
}

void strobe_preload_offender(const char *name)
{
    static const char head[] = "strobe: invariant broken: called while a thread is suspended: ";
    strobe_guard_leave();
    /* The sampler's own descriptor table has nothing in it: the program's standard error is opened anew. */
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/fd/2", O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    (void)!syscall(SYS_write, fd, head, sizeof head - 1);
    (void)!syscall(SYS_write, fd, name, strlen(name));
    (void)!syscall(SYS_write, fd, "\n", 1ul);
    abort();
}
