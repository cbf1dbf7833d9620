/* Calls of functions that compilers report with -finstrument-functions, and the clock thread.
 *
 * The C library has functions of the same names that do nothing. Programs without instrumentation call neither.
 * Programs with their own versions keep them. */

#include "engine/backend/linux/images.h"
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/restrict.h"
#include "engine/method/entry.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

HOOK(void, __cyg_profile_func_enter)(void *function, void *site);
HOOK(void, __cyg_profile_func_exit)(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    strobe_entry_record((uint64_t)(uintptr_t)function, (uintptr_t)__builtin_frame_address(0));
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    strobe_entry_record((uint64_t)(uintptr_t)function | STROBE_CALL_EXIT, (uintptr_t)__builtin_frame_address(0));
}

static uint64_t read_ticks(void)
{
    return strobe_preload.host.host.ticks(&strobe_preload.host);
}

/* Lists the library before it is unloaded, because the log needs the names of its functions. */
HOOK(int, dlclose)(void *handle)
{
    if (strobe_load_relaxed(strobe_entry_switch) != STROBE_OFF && !strobe_restricted)
        strobe_linux_note_images(&strobe_preload.engine->session, read_ticks(), false);
    return strobe_real()->dlclose(handle);
}

/* ---- threads ---- */

static pthread_key_t key;
static bool has_key;

/* Destructors run in rounds, and other destructors may call instrumented functions. This destructor therefore sets its
 * value again until the last round. Glibc and POSIX guarantee four rounds. */
enum { ROUNDS = 4 };

static void end_call_thread(void *round)
{
    uintptr_t n = (uintptr_t)round;
    if (strobe_restricted)
        return;
    if (n < ROUNDS && pthread_setspecific(key, (void *)(n + 1)) == 0)
        return;
    if (strobe_load_relaxed(strobe_entry_switch) == STROBE_OFF || !strobe_entry_local.thread)
        return;
    strobe_entry_end();
    struct strobe_session *s = &strobe_preload.engine->session;
    struct strobe_thread_entry *e = &s->threads[strobe_entry_local.thread - 1];
    if (strobe_load_relaxed(&e->state) != STROBE_THREAD_LIVE || strobe_preload.samples)
        return;
    prctl(PR_GET_NAME, e->name);
    e->end_ticks = strobe_preload.host.host.ticks(&strobe_preload.host);
    strobe_store_release(&e->state, STROBE_THREAD_ENDED);
}

/* Returns the thread's index in the session. When samples are taken, too, the sampling part adds the thread. A call
 * that comes while it does so gets STROBE_LATE. */
static enum strobe_status find_thread_index(uint32_t *thread)
{
    struct strobe_preload *p = &strobe_preload;
    if (p->samples) {
        struct strobe_thread *t = strobe_preload_thread() ? strobe_preload_thread() : strobe_preload_attach_unknown();
        if (!t)
            return STROBE_LATE;
        *thread = t->index;
        return STROBE_OK;
    }
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    enum strobe_status status =
        strobe_session_add_thread(&p->engine->session, tid, tid == p->host.pid, p->host.host.ticks(&p->host), thread);
    if (status == STROBE_OK)
        prctl(PR_GET_NAME, p->engine->session.threads[*thread].name);
    return status;
}

static enum strobe_status attach_call_thread(uint32_t *thread)
{
    if (strobe_restricted)
        return STROBE_FULL;
    enum strobe_status status = find_thread_index(thread);
    if (status == STROBE_OK && has_key)
        pthread_setspecific(key, (void *)1);
    return status;
}

/* Compares stack addresses. When both frames are on the same stack, the thread has left every hook whose frame is not
 * above the running hook's. A frame on the signal stack is left when the running hook is not on that stack. */
static bool is_left(uintptr_t frame, uintptr_t now)
{
    stack_t s;
    if (strobe_restricted || sigaltstack(NULL, &s) != 0 || s.ss_flags & SS_DISABLE)
        return frame <= now;
    uintptr_t low = (uintptr_t)s.ss_sp;
    bool was_there = frame - low < s.ss_size, is_there = now - low < s.ss_size;
    return was_there == is_there ? frame <= now : was_there;
}

/* ---- the clock thread, which looks for libraries, too ---- */

enum { CHECK_NS = 20 * 1000 * 1000 };

static strobe_a64 *clock_word; /* on the page of the switch */

static void add_new_images(void)
{
    if (strobe_load_relaxed(strobe_entry_switch) != STROBE_OFF && strobe_linux_images_changed())
        strobe_linux_note_images(&strobe_preload.engine->session, read_ticks(), false);
}

static void run_clock_thread(void)
{
    prctl(PR_SET_NAME, "strobe-calls");
    bool coarse = strobe_preload.engine->config.calls & STROBE_CALLS_COARSE;
    const struct strobe_host *host = &strobe_preload.host.host;
    uint64_t next = read_ticks(), next_check = next;
    while (!strobe_load_relaxed(&strobe_preload.engine->sampler_stop)) {
        next += coarse ? STROBE_ENTRY_CLOCK_NS : CHECK_NS;
        host->sleep_until(host->ctx, next);
        uint64_t now = read_ticks();
        if (coarse && strobe_load_relaxed(strobe_entry_switch) == STROBE_ON)
            strobe_store_seq_cst(clock_word, now);
        if (strobe_load_seq_cst(strobe_entry_switch) != STROBE_ON) /* it may have been turned off meanwhile */
            strobe_store_relaxed(clock_word, 0);
        if (now > next + CHECK_NS)
            next = now;
        if (now >= next_check && !strobe_preload.samples) { /* else the sampler adds images */
            next_check = now + CHECK_NS;
            add_new_images();
        }
    }
    strobe_preload_close();
}

/* ---- start and end ---- */

bool strobe_method_start(const struct strobe_preload *p, struct strobe_method_page *page)
{
    const struct strobe_config *c = &p->engine->config;
    if (!c->call_units)
        return false;
    size_t bytes = (size_t)c->threads_max * sizeof(strobe_a32);
    void *busy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (busy == MAP_FAILED)
        return false;
    strobe_entry_engine = (struct strobe_entry_engine){.session = &p->engine->session,
                                                       .host = &p->host.host,
                                                       .busy = busy,
                                                       .attach = attach_call_thread,
                                                       .is_left = is_left,
                                                       .resume_ticks = read_ticks() + c->delay_ns};
    strobe_entry_forget();
    has_key = has_key || pthread_key_create(&key, end_call_thread) == 0;
    strobe_store_relaxed(&page->on, STROBE_OFF);
    strobe_store_relaxed(&page->clock, 0);
    strobe_entry_switch = &page->on;
    strobe_entry_clock = clock_word = &page->clock;
    strobe_own_thread_start(run_clock_thread);
    return true;
}

void strobe_method_switch(uint32_t on)
{
    if (!strobe_entry_engine.session)
        return;
    bool coarse = on == STROBE_ON && strobe_preload.engine->config.calls & STROBE_CALLS_COARSE;
    strobe_store_relaxed(clock_word, coarse ? read_ticks() : 0);
    strobe_store_seq_cst(strobe_entry_switch, on);
}

void strobe_method_forget(void)
{
    strobe_method_switch(STROBE_OFF);
    strobe_entry_forget();
    strobe_entry_engine.session = NULL;
}
