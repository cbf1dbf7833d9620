/* The life cycle of a capture. A process has one capture at a time, in memory that is reserved once and stays. */
#include "engine/backend/art/own_thread.h"
#include "engine/backend/common/capture_life.h"
#include "engine/base/error_format.h"
#include "engine/method/netease/art/netease.h"

#include "engine/capture/thread.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_NS = 50 * 1000 * 1000 };
enum { CHOICES = 10 }; /* choices of threads for each checkpoint: running threads add themselves to the table later */

/* All state. It stays after the end, because a requested checkpoint may run later. */
static struct {
    strobe_a32 life; /* capture_life.h */
    strobe_a32 stop;
    struct strobe_libart libart;
    struct strobe_art_runtime runtime;
    struct strobe_art_threads threads;
    struct strobe_netease_sampler sampler;
    struct strobe_netease_ring ring;
    size_t ring_bytes; /* bytes mapped for the ring */
    struct strobe_session session;
    uint64_t period_ticks;
    uint32_t only[STROBE_NETEASE_THREADS], only_count;
    uint32_t tids[STROBE_NETEASE_THREADS], tid_count; /* the threads to capture; only the sampler uses them */
    strobe_a32 own[2];                                /* ids of the capture's own threads */
} run;

static const struct strobe_host *netease_host(void)
{
    return &run.sampler.host.linux.host;
}

/* ---- its threads ---- */

static bool netease_is_own_thread(uint32_t tid)
{
    return tid == strobe_load_relaxed(&run.own[0]) || tid == strobe_load_relaxed(&run.own[1]);
}

/* Selects all live threads of the table, or those that the options name. */
static void netease_choose_threads(void)
{
    run.tid_count = 0;
    if (run.only_count) {
        memcpy(run.tids, run.only, run.only_count * sizeof run.only[0]);
        run.tid_count = run.only_count;
        return;
    }
    for (uint32_t i = 0; i < STROBE_ART_TABLE_THREADS && run.tid_count < STROBE_NETEASE_THREADS; i++) {
        uint32_t tid = strobe_load_relaxed(&run.threads.at[i].tid), id;
        void *thread;
        if (tid && !netease_is_own_thread(tid) && strobe_art_threads_get(&run.threads, tid, &thread, &id) == STROBE_OK)
            run.tids[run.tid_count++] = tid;
    }
}

static void netease_pass(void)
{
    for (uint32_t i = 0; i < run.tid_count && !strobe_load_relaxed(&run.stop); i++) {
        uint64_t number;
        if (strobe_netease_capture(&run.sampler, run.tids[i], &number) == STROBE_GONE)
            strobe_art_threads_end(&run.threads, run.tids[i]);
    }
}

static void netease_sampler_work(void)
{
    const struct strobe_host *host = netease_host();
    struct strobe_session_header *h = run.session.header;
    uint64_t due = host->ticks(host->ctx), met_ticks = 0, chosen_ticks = 0;
    uint64_t meet_ticks = strobe_ticks_of_ns(host, STROBE_NETEASE_MEET_NS);
    strobe_store_relaxed(&run.own[0], (uint32_t)syscall(SYS_gettid));
    while (!strobe_load_relaxed(&run.stop)) {
        uint64_t now = host->ticks(host->ctx);
        if (!met_ticks || now - met_ticks >= meet_ticks) {
            strobe_netease_meet_threads(&run.libart, &run.runtime, host, &run.threads);
            met_ticks = now;
        }
        if (!chosen_ticks || now - chosen_ticks >= meet_ticks / CHOICES) {
            netease_choose_threads();
            chosen_ticks = now;
        }
        netease_pass();
        strobe_bump(&h->async_passes, 1);
        now = host->ticks(host->ctx);
        due += run.period_ticks;
        if (due < now) {
            strobe_bump(&h->async_late_passes, 1);
            due += (now - due) / run.period_ticks * run.period_ticks;
        }
        host->sleep_until(host->ctx, due);
    }
}

static void netease_watchdog_work(void)
{
    struct timespec pause = {0, WATCH_NS};
    strobe_store_relaxed(&run.own[1], (uint32_t)syscall(SYS_gettid));
    while (!strobe_load_relaxed(&run.stop)) {
        syscall(SYS_nanosleep, &pause, NULL);
        strobe_art_host_watch(&run.sampler.host);
    }
}

static struct strobe_art_own watchdog = {.name = "strobe-watchdog", .work = netease_watchdog_work},
                             sampler = {.name = "strobe-sampler", .work = netease_sampler_work};

/* Ends both threads. The watchdog ends last, because it resumes threads that the sampler holds. */
static bool netease_end_threads(void)
{
    strobe_store_relaxed(&run.stop, 1);
    bool ended = strobe_art_own_end(&sampler);
    return strobe_art_own_end(&watchdog) && ended;
}

/* ---- start ---- */

static enum strobe_status netease_refuse(enum strobe_status status, struct strobe_error *error, const char *reason)
{
    strobe_error_set(error, "%s", reason);
    return status;
}

/* Checks for functions of the runtime that the scheme needs. */
static bool netease_require_use(enum strobe_art_use use, struct strobe_error *error)
{
    if (strobe_libart_has(&run.libart, use))
        return true;
    strobe_error_set(error, "the runtime has no %s",
                     strobe_art_symbol_name((enum strobe_art_symbol)(run.libart.missing[use] - 1)));
    return false;
}

static enum strobe_status netease_find_runtime(void *vm, const struct strobe_netease_options *o,
                                               struct strobe_error *error)
{
    struct strobe_art_runtime runtime;
    struct strobe_libart libart;
    struct strobe_linux host;
    enum strobe_status status = strobe_libart_open(o->library, o->api, &libart, error);
    if (status != STROBE_OK)
        return status;
    void *self = strobe_art_current(&libart);
    if (!self)
        return netease_refuse(STROBE_UNSUPPORTED, error, "the calling thread is not attached to the runtime");
    strobe_linux_init(&host, clock_gettime);
    status = strobe_art_discover(&libart, &host.host, vm, self, (uint32_t)syscall(SYS_gettid), &runtime, error);
    if (status != STROBE_OK)
        return status;
    run.libart = libart;
    run.runtime = runtime;
    if (!run.libart.address[STROBE_ART_RUN_CHECKPOINT])
        return netease_refuse(STROBE_UNSUPPORTED, error, "the runtime has no ThreadList::RunCheckpoint");
    return netease_require_use(STROBE_ART_SUSPEND, error) ? STROBE_OK : STROBE_UNSUPPORTED;
}

/* Reserves an empty ring, and unmaps the previous one. */
static bool netease_reserve_ring(uint32_t capacity)
{
    size_t bytes = strobe_netease_ring_bytes(capacity, STROBE_NETEASE_FRAMES);
    if (run.ring_bytes)
        munmap(run.ring.head, run.ring_bytes);
    run.ring_bytes = 0;
    void *p = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                    : MAP_FAILED;
    if (p == MAP_FAILED)
        return false;
    run.ring_bytes = bytes;
    strobe_netease_ring_create(p, capacity, STROBE_NETEASE_FRAMES);
    return strobe_netease_ring_open(p, bytes, &run.ring) == STROBE_OK;
}

/* Reads the options. When the options name threads, all of them must fit. */
static enum strobe_status netease_take_options(const struct strobe_netease_options *o, struct strobe_error *error)
{
    uint32_t capacity = o->capacity ? o->capacity : STROBE_NETEASE_CAPACITY;
    if (o->tids && o->tid_count > STROBE_NETEASE_THREADS)
        return netease_refuse(STROBE_BAD_INPUT, error, "more threads than can be captured");
    if (!netease_reserve_ring(capacity))
        return netease_refuse(STROBE_IO, error, "there is no memory for the ring");
    run.only_count = o->tids ? o->tid_count : 0;
    if (run.only_count)
        memcpy(run.only, o->tids, run.only_count * sizeof run.only[0]);
    return STROBE_OK;
}

static enum strobe_status netease_attach_session(const char *path, struct strobe_error *error)
{
    struct strobe_netease_sampler *s = &run.sampler;
    enum strobe_status status = strobe_session_attach(path, s->host.linux.pid, &run.session);
    if (status != STROBE_OK) {
        strobe_error_set(error, "%s: %s", path, strobe_status_text(status));
        return status;
    }
    run.period_ticks = strobe_ticks_of_ns(&s->host.linux.host, run.session.header->config.async_interval_ns);
    if (!run.period_ticks) {
        strobe_session_unmap(&run.session);
        return netease_refuse(STROBE_BAD_INPUT, error, "the session's config has no period");
    }
    strobe_linux_begin_header(&s->host.linux, run.session.header);
    return STROBE_OK;
}

static enum strobe_status netease_start_capture(void *vm, const struct strobe_netease_options *o,
                                                struct strobe_error *error)
{
    if (!strobe_jvm_env(vm))
        return netease_refuse(STROBE_UNSUPPORTED, error, "the calling thread is not attached to the runtime");
    enum strobe_status status = netease_find_runtime(vm, o, error);
    if (status == STROBE_OK)
        status = netease_take_options(o, error);
    if (status != STROBE_OK)
        return status;
    strobe_netease_sampler_init(&run.sampler, &run.libart, &run.runtime, &run.threads, &run.ring);
    status = netease_attach_session(o->session_path, error);
    if (status != STROBE_OK)
        return status;
    strobe_store_relaxed(&run.stop, 0);
    if (strobe_art_own_begin(&watchdog, vm, error) && strobe_art_own_begin(&sampler, vm, error))
        return STROBE_OK;
    bool ended = netease_end_threads();
    if (ended)
        strobe_session_unmap(&run.session);
    return STROBE_IO;
}

enum strobe_status strobe_netease_start(void *vm, const struct strobe_netease_options *options,
                                        struct strobe_error *error)
{
    enum strobe_status status = strobe_life_claim_start(&run.life, error);
    if (status != STROBE_OK)
        return status;
    uint32_t busy = strobe_local.busy;
    strobe_local.busy = 1;
    status = netease_start_capture(vm, options, error);
    strobe_local.busy = busy;
    strobe_life_conclude_start(&run.life, status, !watchdog.there && !sampler.there);
    return status;
}

struct strobe_netease_sampler *strobe_netease_running(void)
{
    return strobe_load_acquire(&run.life) == STROBE_LIFE_RUNNING ? &run.sampler : NULL;
}

/* ---- end ---- */

static void netease_close_session(struct strobe_netease_result *out)
{
    struct strobe_clock_pair end;
    strobe_linux_clock_pair(&run.sampler.host.linux, &end.ticks, &end.monotonic_ns, &end.boottime_ns, &end.realtime_ns);
    strobe_netease_fill_session(&run.session, &run.sampler, out);
    strobe_session_finish(&run.session, &end);
    strobe_session_unmap(&run.session);
}

enum strobe_status strobe_netease_stop(struct strobe_netease_result *out)
{
    struct strobe_netease_result result;
    if (!strobe_life_claim_stop(&run.life))
        return STROBE_NO_ENTRY;
    uint32_t busy = strobe_local.busy;
    strobe_local.busy = 1;
    bool ended = netease_end_threads();
    if (ended)
        netease_close_session(out ? out : &result);
    strobe_local.busy = busy;
    strobe_life_conclude_stop(&run.life, ended);
    return ended ? STROBE_OK : STROBE_LATE;
}
