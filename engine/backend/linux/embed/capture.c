#include "engine/include/strobe/capture.h"

#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/restrict.h"
#include "engine/base/error_format.h"
#include "engine/capture/annotate.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the captures that strobe_start begins.
 *
 *   IDLE     -> STARTING   strobe_start, by compare-and-swap: one caller succeeds
 *   STARTING -> RUNNING    it has begun
 *   STARTING -> IDLE       it has failed; nothing has changed
 *   RUNNING  -> STOPPED    strobe_stop, by compare-and-swap
 *   any      -> FORKED     in a child of fork, unless IDLE */
enum { IDLE, STARTING, RUNNING, STOPPED, FORKED };
static strobe_a32 life;

static void forget_in_child(void)
{
    if (strobe_load_relaxed(&life) != IDLE)
        strobe_store_relaxed(&life, FORKED);
}

/* ---- start ---- */

enum { INTERVAL_NS_LEAST = 50000, RECORDS_LEAST = 1024, RECORDS_MOST = 1 << 28 };

static enum strobe_status refuse_capture(enum strobe_status status, struct strobe_error *error, const char *reason)
{
    strobe_error_set(error, "%s", reason);
    return status;
}

static enum strobe_status fill_config(const struct strobe_capture_options *o, struct strobe_config *config,
                                      struct strobe_error *error)
{
    strobe_config_default(config);
    config->unwind = STROBE_UNWIND_DWARF;
    config->ring_mode = o->keep_oldest ? STROBE_KEEP_OLDEST : STROBE_KEEP_NEWEST;
    if (!o->session_path || !o->session_path[0])
        return refuse_capture(STROBE_BAD_INPUT, error, "session_path: expected the path of a file");
    if (o->interval_ns && o->interval_ns < INTERVAL_NS_LEAST)
        return refuse_capture(STROBE_BAD_INPUT, error, "interval_ns: expected 0, or at least 50000");
    if (o->records_max && (o->records_max < RECORDS_LEAST || o->records_max > RECORDS_MOST))
        return refuse_capture(STROBE_BAD_INPUT, error, "records_max: expected 0, or a number from 1024 to 268435456");
    if (o->interval_ns)
        config->interval_main_ns = config->interval_other_ns = config->async_interval_ns = o->interval_ns;
    if (o->records_max)
        config->ring_slots = o->records_max;
    return STROBE_OK;
}

/* Returns true when the first definition of a hooked function in the process is this library's. */
static bool takes_the_place_of_libc(void)
{
    Dl_info first, own;
    void *hooked = dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    return hooked && dladdr(hooked, &first) && dladdr(&life, &own) && first.dli_fbase == own.dli_fbase;
}

/* Returns true when a second copy of the library captures the process: that of `strobe record`, behind a copy that is
 * linked statically. */
static bool is_captured_by_other_copy(void)
{
    void (*get)(struct strobe_capture_status *);
    struct strobe_capture_status status;
    *(void **)&get = dlsym(RTLD_NEXT, "strobe_get_status");
    if (!get)
        return false;
    get(&status);
    return status.state != STROBE_CAPTURE_IDLE;
}

static enum strobe_status check_process(struct strobe_error *error)
{
    if (strobe_preload.started || is_captured_by_other_copy())
        return refuse_capture(STROBE_EXISTS, error, "the process is captured already, by strobe record");
    if (strobe_restricted)
        return refuse_capture(STROBE_UNSUPPORTED, error, "the calling thread is restricted by seccomp");
    if (!takes_the_place_of_libc())
        return refuse_capture(
            STROBE_UNSUPPORTED, error,
            "the library's functions do not take the place of the C library's: link strobe-capture before "
            "other libraries, with the flags that pkg-config prints");
    return STROBE_OK;
}

static enum strobe_status create_session(const struct strobe_capture_options *o, const struct strobe_config *config,
                                         struct strobe_session *out, struct strobe_error *error)
{
    char command[1024];
    struct strobe_session made;
    strobe_environment_command(command, sizeof command);
    enum strobe_status status = strobe_session_create(o->session_path, config, command, o->replace, &made);
    if (status == STROBE_OK) {
        syscall(SYS_close, made.fd);
        strobe_session_unmap(&made);
        status = strobe_session_attach(o->session_path, (uint32_t)getpid(), out);
    }
    if (status == STROBE_EXISTS)
        strobe_error_set(error, "%s: exists already", o->session_path);
    else if (status != STROBE_OK)
        strobe_error_set(error, "%s: cannot make a session of %llu MiB there: %s", o->session_path,
                         (unsigned long long)(strobe_session_file_bytes(config) >> 20),
                         status == STROBE_IO ? strerror(errno) : strobe_status_text(status));
    return status;
}

static enum strobe_status start_capture(const struct strobe_capture_options *o, struct strobe_error *error)
{
    static bool watches_forks;
    struct strobe_config config;
    struct strobe_session session;
    enum strobe_status status = fill_config(o, &config, error);
    if (status == STROBE_OK)
        status = check_process(error);
    if (status == STROBE_OK)
        status = create_session(o, &config, &session, error);
    if (status != STROBE_OK)
        return status;
    if (!watches_forks)
        watches_forks = pthread_atfork(NULL, NULL, forget_in_child) == 0;
    if (strobe_preload_start_late(&session, o->paused))
        return STROBE_OK;
    strobe_session_unmap(&session);
    unlink(o->session_path);
    return refuse_capture(STROBE_NO_MEMORY, error, "there is no memory for the engine");
}

enum strobe_status strobe_start(const struct strobe_capture_options *options, struct strobe_error *error)
{
    uint32_t before = IDLE;
    if (!options)
        return refuse_capture(STROBE_BAD_INPUT, error, "options: expected a path of a session");
    if (!strobe_cas_acquire(&life, &before, STARTING))
        return before == FORKED
                   ? refuse_capture(STROBE_UNSUPPORTED, error, "a child of a captured process cannot be captured")
                   : refuse_capture(STROBE_EXISTS, error,
                                    before == STOPPED ? "the process was captured before: a process is captured once"
                                                      : "a capture is under way");
    enum strobe_status status = start_capture(options, error);
    strobe_store_release(&life, status == STROBE_OK ? RUNNING : IDLE);
    return status;
}

/* ---- stop, pause, resume ---- */

enum strobe_status strobe_stop(void)
{
    uint32_t before = RUNNING;
    if (!strobe_cas_acquire(&life, &before, STOPPED))
        return STROBE_NO_ENTRY;
    strobe_preload_close();
    strobe_own_threads_stop();
    const struct strobe_session_header *h = strobe_preload.engine.session.header;
    return strobe_load_acquire(&h->state) == STROBE_SESSION_CLOSED ? STROBE_OK : STROBE_LATE;
}

static enum strobe_status turn_switch(uint32_t from, uint32_t to)
{
    uint32_t before = from;
    if (strobe_cas_acq_rel(strobe_switch, &before, to) || before == to)
        return STROBE_OK;
    return STROBE_NO_ENTRY;
}

enum strobe_status strobe_pause(void)
{
    return turn_switch(STROBE_ON, STROBE_PAUSED);
}

enum strobe_status strobe_resume(void)
{
    return turn_switch(STROBE_PAUSED, STROBE_ON);
}

/* ---- status and names ---- */

static enum strobe_capture_state state_now(void)
{
    switch (strobe_switched()) {
    case STROBE_ON: return STROBE_CAPTURE_RUNNING;
    case STROBE_PAUSED: return STROBE_CAPTURE_PAUSED;
    default: return strobe_preload.started ? STROBE_CAPTURE_STOPPED : STROBE_CAPTURE_IDLE;
    }
}

static void add_thread_counts(const struct strobe_thread_entry *t, struct strobe_capture_status *out)
{
    for (unsigned kind = STROBE_KIND_NONE + 1; kind < STROBE_KIND_COUNT; kind++) {
        if (!strobe_kind_is_sample(kind))
            continue;
        out->samples += strobe_load_relaxed(&t->account[kind].sampled);
        out->lost += strobe_load_relaxed(&t->account[kind].dropped);
    }
    out->annotations += strobe_load_relaxed(&t->account[STROBE_KIND_ANNOTATION].sampled);
    out->lost += strobe_load_relaxed(&t->overwrote_samples);
}

void strobe_get_status(struct strobe_capture_status *out)
{
    const struct strobe_session *s = &strobe_preload.engine.session;
    *out = (struct strobe_capture_status){.state = state_now()};
    if (out->state == STROBE_CAPTURE_IDLE)
        return;
    out->threads = strobe_session_thread_count(s);
    out->session_bytes = s->header->file_bytes;
    out->lost = strobe_load_relaxed(&s->header->async_overwrote_samples);
    for (uint32_t i = 0; i < out->threads; i++)
        add_thread_counts(&s->threads[i], out);
}

void strobe_set_thread_name(const char *name)
{
    int saved = errno;
    prctl(PR_SET_NAME, name); /* the hook of prctl renames the thread in the session, too */
    errno = saved;
}

/* ---- annotations ---- */

static void annotate(enum strobe_annotation what, const char *name, int64_t value)
{
    int saved = errno;
    struct strobe_thread *t = strobe_hook_thread(strobe_switched());
    if (t)
        strobe_annotate(t, what, name, value);
    errno = saved;
}

void strobe_begin(const char *name)
{
    annotate(STROBE_ANNOTATION_BEGIN, name, 0);
}

void strobe_end(void)
{
    annotate(STROBE_ANNOTATION_END, NULL, 0);
}

void strobe_counter(const char *name, int64_t value)
{
    annotate(STROBE_ANNOTATION_COUNTER, name, value);
}
