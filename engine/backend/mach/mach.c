#include "engine/backend/mach/mach.h"
#include "engine/base/error.h"

#include "engine/backend/common/capture_life.h"
#include "engine/backend/common/capture_memory.h"
#include "engine/backend/common/embed/capture_api.h"
#include "engine/backend/mach/control_thread.h"
#include "engine/backend/mach/events.h"
#include "engine/backend/mach/flight_thread.h"
#include "engine/backend/mach/images.h"
#include "engine/backend/mach/own_threads.h"
#include "engine/store/session.h"

#include <mach-o/dyld.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct strobe_mach strobe_mach;

static strobe_a32 life; /* capture_life.h */

/* The features in order of start. Allocations come last, so that those of the start itself are not recorded. The end
 * removes the features in reverse order. */
static const struct strobe_mach_feature *const features[] = {
    &strobe_mach_feature_locks, &strobe_mach_feature_dispatch, &strobe_mach_feature_io,
    &strobe_mach_feature_time,  &strobe_mach_feature_loop,     &strobe_mach_feature_malloc,
};
enum { FEATURES = sizeof features / sizeof features[0], REBINDINGS_MAX = 128 };
static bool in_place[FEATURES];
static struct strobe_rebinding rebindings[REBINDINGS_MAX];

/* ---- memory ---- */

static size_t whole_pages(size_t bytes)
{
    return (bytes + 16383) & ~(size_t)16383;
}

/* The parts of a capture's memory, except for its session, in this order. Only pages that are used are touched. */
struct parts {
    size_t engine, threads, local, claims, rebound;
};

static struct parts parts_of(const struct strobe_config *c)
{
    uint32_t mask;
    return (struct parts){
        .engine = whole_pages(strobe_engine_memory_bytes(c)),
        .threads = whole_pages(sizeof(struct strobe_mach_threads)),
        .local = whole_pages(c->threads_max * sizeof(struct strobe_mach_local)),
        .claims = whole_pages(strobe_mach_claims_bytes(c->threads_max, &mask)),
        .rebound = whole_pages(STROBE_MACH_REBOUND_MAX * sizeof(struct strobe_rebound)),
    };
}

static bool reserve(const struct strobe_config *c, struct strobe_capture_memory *m)
{
    struct parts p = parts_of(c);
    size_t bytes = p.engine + p.threads + p.local + p.claims + p.rebound;
    vm_address_t at = 0;
    if (vm_allocate(mach_task_self(), &at, bytes, VM_FLAGS_ANYWHERE) != KERN_SUCCESS)
        return false;
    m->all = (void *)(uintptr_t)at;
    m->bytes = bytes;
    return true;
}

static void release(struct strobe_capture_memory *m)
{
    strobe_capture_await_unpinned();
    vm_deallocate(mach_task_self(), (vm_address_t)(uintptr_t)m->all, m->bytes);
}

static struct strobe_capture_memories memories = {.reserve = reserve, .release = release};

/* ---- the switch: a forked child finds it off ---- */

static strobe_a32 switch_word;

static void in_child(void)
{
    strobe_control_child();
    strobe_flight_child();
    strobe_store_relaxed(&switch_word, STROBE_OFF);
    strobe_store_relaxed(&life, STROBE_LIFE_STUCK);
}

static void place_switch(void)
{
    static bool forks_watched;
    if (!forks_watched)
        forks_watched = pthread_atfork(NULL, NULL, in_child) == 0;
    strobe_store_relaxed(&switch_word, STROBE_OFF);
    if (strobe_switch != &switch_word) /* threads of an earlier capture read it */
        strobe_switch = &switch_word;
}

static void switch_on(bool samples, bool paused)
{
    bool delayed = strobe_mach.engine.config.delay_ns && samples; /* the sampler ends it */
    strobe_store_seq_cst(strobe_switch, paused || delayed ? STROBE_PAUSED : STROBE_ON);
}

/* ---- start ---- */

static enum strobe_status refuse(enum strobe_status status, struct strobe_error *error, const char *reason)
{
    strobe_error_join(error, "", reason);
    return status;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks do not advance while the device sleeps; Darwin's monotonic clock does. */
static struct strobe_clock_pair clock_pair(void)
{
    const struct strobe_host *h = &strobe_mach.host.host;
    struct strobe_clock_pair p = {.ticks = strobe_mach_now()};
    p.boottime_ns = clock_ns(CLOCK_MONOTONIC);
    p.realtime_ns = clock_ns(CLOCK_REALTIME);
    p.monotonic_ns =
        p.ticks / h->ticks_per_second * 1000000000u + p.ticks % h->ticks_per_second * 1000000000u / h->ticks_per_second;
    return p;
}

static void fill_header(struct strobe_session_header *h)
{
    const char *exe = _dyld_get_image_name(0);
    size_t n = exe ? strlen(exe) : 0;
    n = n < sizeof h->exe ? n : sizeof h->exe - 1;
    h->begin = clock_pair();
    h->ticks_per_second = strobe_mach.host.host.ticks_per_second;
    memcpy(h->exe, exe ? exe : "", n);
    h->exe[n] = '\0';
}

static struct strobe_rebound *lay_out(void)
{
    struct strobe_mach *a = &strobe_mach;
    const struct strobe_config *c = &memories.present.session.header->config;
    struct parts p = parts_of(c);
    char *at = memories.present.all;
    void *engine = at;
    a->threads = (void *)(at += p.engine);
    a->local = (void *)(at += p.threads);
    a->claims = (void *)(at += p.local);
    strobe_mach_claims_bytes(c->threads_max, &a->claims_mask);
    strobe_mach_host_init(&a->host, a->threads);
    strobe_engine_init(&a->engine, &memories.present.session, &a->host.host, &strobe_unwinder_mach, engine);
    memset(&a->status, 0, sizeof a->status);
    return (void *)(at + p.claims);
}

static bool wanted(int feature, uint32_t without)
{
    return !(without >> features[feature]->use & 1);
}

/* Copies the rebindings of threads and of all wanted groups to `rebindings`. Returns their number. */
static size_t gather(uint32_t without)
{
    size_t count = 0;
    for (const struct strobe_rebinding *r = strobe_mach_thread_rebindings; r->symbol; r++)
        rebindings[count++] = *r;
    for (int i = 0; i < FEATURES; i++)
        for (const struct strobe_rebinding *r = features[i]->rebindings; wanted(i, without) && r && r->symbol; r++)
            if (count < REBINDINGS_MAX)
                rebindings[count++] = *r;
    return count;
}

static void start_features(uint32_t without, bool samples)
{
    struct strobe_mach_status *s = &strobe_mach.status;
    for (int i = 0; i < FEATURES; i++) {
        const struct strobe_mach_feature *f = features[i];
        struct strobe_error off = {""};
        in_place[i] = false;
        if (!wanted(i, without))
            strobe_error_join(&off, "", "not wanted");
        else if (f->use == STROBE_MACH_SERIES && !samples)
            strobe_error_join(&off, "", "needs the sampler, which is not wanted");
        else
            in_place[i] = !f->start || f->start(&off);
        if (strobe_error_is_set(&off))
            strobe_error_copy(&off, s->off[f->use], sizeof s->off[0]);
        s->on |= (uint32_t)in_place[i] << f->use;
    }
}

static void end_features(void)
{
    for (int i = FEATURES - 1; i >= 0; i--) {
        if (in_place[i] && features[i]->end)
            features[i]->end();
        in_place[i] = false;
    }
}

/* Removes metrics without a source from the session's config: their values of 0 would look like measurements. */
static void keep_metrics_that_are_counted(void)
{
    struct strobe_mach *a = &strobe_mach;
    uint32_t counted = STROBE_METRIC_CPU;
    if (a->status.on >> STROBE_MACH_MALLOC & 1)
        counted |= STROBE_METRIC_ALLOC;
    a->engine.config.metrics &= counted;
    a->engine.session.header->config.metrics = a->engine.config.metrics;
}

/* Attaches to the session, or to the new one that the options describe. */
static enum strobe_status begin_session(const struct strobe_mach_options *o, struct strobe_error *error)
{
    struct strobe_config config;
    struct strobe_session in_memory;
    if (!o->create)
        return strobe_capture_memories_begin(&memories, o->session_path, (uint32_t)getpid(), error);
    enum strobe_status status = strobe_capture_config(o->create, &config, error);
    if (status == STROBE_OK)
        status = strobe_capture_create(o->create, &config, _dyld_get_image_name(0), &in_memory, error);
    if (status != STROBE_OK)
        return status;
    status = in_memory.header
                 ? strobe_capture_memories_take(&memories, &in_memory, error)
                 : strobe_capture_memories_begin(&memories, o->create->session_path, (uint32_t)getpid(), error);
    if (status != STROBE_OK)
        strobe_capture_discard(o->create);
    return status;
}

static const char *session_path_of(const struct strobe_mach_options *o)
{
    const char *path = o->create ? o->create->session_path : o->session_path;
    return path ? path : "";
}

static enum strobe_status start(const struct strobe_mach_options *o, struct strobe_error *error)
{
    struct strobe_mach *a = &strobe_mach;
    enum strobe_status status = begin_session(o, error);
    if (status != STROBE_OK)
        return status;
    place_switch();
    strobe_add_relaxed(&strobe_capture_number, 1);
    struct strobe_rebound *rebound = lay_out();
    fill_header(a->engine.session.header);
    strobe_mach_control_stay_out(); /* before `enter`: the server's thread may be the calling one */
    strobe_mach_threads_enter();
    bool samples = a->engine.config.async_interval_ns;
    if (samples && !strobe_mach_own_threads_start()) {
        struct strobe_clock_pair now = clock_pair();
        strobe_mach_threads_leave();
        strobe_session_finish(&a->engine.session, &now);
        if (o->create)
            strobe_capture_discard(o->create);
        return refuse(STROBE_IO, error, "the sampler's threads can't be made");
    }
    /* No later step can fail. */
    strobe_capture_publish(&a->engine.session, session_path_of(o));
    strobe_mach_images_begin(rebindings, gather(o->without), rebound);
    start_features(o->without, samples);
    keep_metrics_that_are_counted();
    strobe_mach_threads_watch();
    switch_on(samples, o->create && o->create->paused);
    return STROBE_OK;
}

enum strobe_status strobe_mach_start(const struct strobe_mach_options *options, struct strobe_mach_status *status,
                                     struct strobe_error *error)
{
    enum strobe_status started = strobe_life_claim_start(&life, error);
    if (started != STROBE_OK)
        return started;
    if (!strobe_mach_threads_begin()) {
        strobe_life_conclude_start(&life, STROBE_UNSUPPORTED, true);
        return refuse(STROBE_UNSUPPORTED, error, "the app has used up its thread-specific keys");
    }
    void *was = strobe_mach_become_own();
    if (options->create)
        started = strobe_flight_prepare(options->create, &strobe_mach_flight, error);
    if (started == STROBE_OK && options->create)
        started = strobe_control_prepare(options->create, &strobe_mach_control, error);
    if (started == STROBE_OK)
        started = start(options, error);
    if (started == STROBE_OK) {
        strobe_flight_begin();
        strobe_control_launch(session_path_of(options));
    } else {
        strobe_control_abandon();
        strobe_flight_abandon();
    }
    strobe_mach_become(was);
    if (started == STROBE_OK && status)
        *status = strobe_mach.status;
    bool ended = started != STROBE_OK && strobe_mach_own_threads_stop();
    strobe_life_conclude_start(&life, started, ended);
    return started;
}

/* ---- end ---- */

static bool wait_until_quiet(void)
{
    struct timespec pause = {0, STROBE_QUIET_STEP_NS};
    for (int i = 0; i < STROBE_QUIET_STEPS; i++) {
        if (!strobe_load_seq_cst(&strobe_mach.registering) && strobe_engine_quiet(&strobe_mach.engine))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void strobe_mach_stop(void)
{
    if (!strobe_life_claim_stop(&life))
        return;
    strobe_flight_end();
    void *was = strobe_mach_become_own();
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    end_features();
    bool undone = strobe_mach_images_end();
    strobe_mach_threads_end();
    bool ended = strobe_mach_own_threads_stop();
    bool quiet = wait_until_quiet();
    if (quiet && ended) {
        strobe_mach_own_threads_finish();
        strobe_mach_threads_leave();
        struct strobe_clock_pair end = clock_pair();
        strobe_session_finish(&strobe_mach.engine.session, &end);
    }
    strobe_mach_become(was);
    strobe_life_conclude_stop(&life, ended && quiet && undone);
}
