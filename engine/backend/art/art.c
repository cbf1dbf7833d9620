#include "engine/backend/art/art.h"
#include "engine/base/error_format.h"

#include "engine/backend/art/app.h"
#include "engine/backend/art/flight/app_flight.h"
#include "engine/backend/art/hooks/events.h"
#include "engine/backend/art/hooks/libc.h"
#include "engine/backend/art/names.h"
#include "engine/backend/art/own_threads.h"
#include "engine/backend/common/capture_life.h"
#include "engine/backend/common/capture_memory.h"
#include "engine/backend/common/embed/capture_api.h"
#include "engine/backend/linux/await_threads.h"
#include "engine/backend/linux/images.h"
#include "engine/backend/linux/suspend.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct strobe_art strobe_art;

enum { PROPERTY_BYTES = 92 }; /* most bytes of a system property, NUL included */

static strobe_a32 life; /* capture_life.h */

/* The features in order of start. Threads come first, so that new threads are registered. Allocations come last, so
 * that those of the start itself are not recorded. The end removes the features in reverse order. */
static const struct strobe_art_feature *const features[] = {
    &strobe_art_feature_threads, &strobe_art_feature_monitor, &strobe_art_feature_wait, &strobe_art_feature_park,
    &strobe_art_feature_gc,      &strobe_art_feature_calls,   &strobe_art_feature_loop, &strobe_art_feature_jni,
    &strobe_art_feature_libc,    &strobe_art_feature_alloc,
};
enum { FEATURES = sizeof features / sizeof features[0] };
static bool in_place[FEATURES];

/* ---- memory ---- */

static size_t art_whole_pages(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

/* Only pages that are used are touched. */
static bool art_reserve_memory(const struct strobe_config *c, struct strobe_capture_memory *m)
{
    size_t engine = art_whole_pages(strobe_engine_memory_bytes(c));
    size_t walks = art_whole_pages(c->threads_max * sizeof(struct strobe_art_walk));
    size_t local = art_whole_pages(c->threads_max * sizeof(struct strobe_art_local));
    size_t bytes = engine + walks + local + sizeof(struct strobe_art_threads);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    m->all = p;
    m->bytes = bytes;
    return true;
}

static void art_release_memory(struct strobe_capture_memory *m)
{
    strobe_capture_await_unpinned();
    munmap(m->all, m->bytes);
}

static void art_await_threads(const struct strobe_session *session)
{
    strobe_linux_await_threads(&strobe_art.host.linux.host, session);
}

static struct strobe_capture_memories memories = {
    .reserve = art_reserve_memory, .await_unused = art_await_threads, .release = art_release_memory};

/* ---- the switch: a page that a forked child finds wiped ---- */

static bool art_place_switch(void)
{
    static strobe_a32 *page;
    if (!page) {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return false;
        page = p;
        madvise(p, 4096, MADV_WIPEONFORK);
    }
    strobe_store_relaxed(page, STROBE_OFF);
    strobe_switch = page;
    return true;
}

static void art_switch_on(bool paused)
{
    const struct strobe_config *c = &strobe_art.engine.config;
    bool delayed = c->delay_ns && strobe_art.status.on >> STROBE_ART_SUSPEND & 1; /* the sampler ends the delay */
    strobe_store_seq_cst(strobe_switch, paused || delayed ? STROBE_PAUSED : STROBE_ON);
}

/* ---- start ---- */

static enum strobe_status art_refuse(enum strobe_status status, struct strobe_error *error, const char *reason)
{
    strobe_error_set(error, "%s", reason);
    return status;
}

/* Returns the app's level if the options have none. 0: not known. */
static int art_level_of(const struct strobe_art_options *o)
{
    int (*get)(const char *, char *);
    char text[PROPERTY_BYTES] = "";
    if (o->api)
        return o->api;
    *(void **)&get = dlsym(RTLD_DEFAULT, "__system_property_get");
    if (get && get("ro.build.version.sdk", text) > 0)
        return (int)strtol(text, NULL, 10);
    const char *level = getenv("STROBE_ART_API");
    return level ? (int)strtol(level, NULL, 10) : 0;
}

/* Finds the runtime. Until all of it is found, the last capture's data stays: a thread may still reach a suspension
 * point with work of the last capture to do. */
static enum strobe_status art_find_runtime(void *vm, const struct strobe_art_options *o, struct strobe_error *error)
{
    struct strobe_art *a = &strobe_art;
    struct strobe_libart libart;
    struct strobe_art_runtime runtime;
    enum strobe_status status = strobe_libart_open(o->library, art_level_of(o), &libart, error);
    if (status != STROBE_OK)
        return status;
    void *self = strobe_art_current(&libart);
    if (!self)
        return art_refuse(STROBE_UNSUPPORTED, error, "the calling thread is not attached to the runtime");
    strobe_linux_init(&a->host.linux, clock_gettime);
    status =
        strobe_art_discover(&libart, &a->host.linux.host, vm, self, (uint32_t)syscall(SYS_gettid), &runtime, error);
    if (status != STROBE_OK)
        return status;
    a->vm = vm;
    a->libart = libart;
    a->runtime = runtime;
    return STROBE_OK;
}

enum { LIBRARIES_PER_SECOND = 10 }; /* how often new libraries are looked for */

/* ---- images ---- */

static void art_note_images(void)
{
    struct strobe_art *a = &strobe_art;
    strobe_linux_note_images(&a->engine.session, strobe_art_now(), true);
    if (a->host.frames.on)
        strobe_art_frames_update(&a->host.frames, &a->host.linux.host, a->libart.address[STROBE_ART_VISITOR_WALK]);
}

/* Prepares walks of native frames, before any thread walks its stack. */
static void art_start_native_frames(const struct strobe_art_options *o)
{
    struct strobe_art *a = &strobe_art;
    struct strobe_art_status *s = &a->status;
    struct strobe_art_frames *f = &a->host.frames;
    f->gaps = &a->engine.session.header->native_gaps;
    strobe_linux_note_images(&a->engine.session, strobe_art_now(), true);
    if (o->managed_only)
        snprintf(s->off[STROBE_ART_NATIVE], sizeof s->off[0], "not asked for");
    else if (!STROBE_ART_NATIVE_FRAMES)
        snprintf(s->off[STROBE_ART_NATIVE], sizeof s->off[0], "not on this processor");
    else if (!strobe_art_frames_update(f, &a->host.linux.host, a->libart.address[STROBE_ART_VISITOR_WALK]))
        snprintf(s->off[STROBE_ART_NATIVE], sizeof s->off[0], "there is no memory for them");
    else
        f->on = true;
    if (f->on && !strobe_art_host_take_signal(&a->host, (int)a->engine.config.suspend_signal))
        snprintf(s->off[STROBE_ART_NATIVE], sizeof s->off[0], "stopped threads have none: no signal is free");
    s->on |= f->on ? 1u << STROBE_ART_NATIVE : 0;
}

static void art_between_passes(void *ctx)
{
    static uint64_t last_ticks;
    static uint64_t renewed_ticks;
    uint64_t now = strobe_art_now(), second = strobe_art.host.linux.host.ticks_per_second;
    (void)ctx;
    strobe_flight_pass(&strobe_art.engine.session, now);
    if (now - renewed_ticks >= second / LIBRARIES_PER_SECOND) {
        renewed_ticks = now;
        strobe_art_libc_renew();
    }
    if (now - last_ticks < second)
        return;
    last_ticks = now;
    if (strobe_linux_images_changed())
        art_note_images();
    strobe_art_find_threads();
}

static void art_lay_out(void)
{
    struct strobe_art *a = &strobe_art;
    const struct strobe_config *c = &memories.present.session.header->config;
    char *at = memories.present.all;
    void *engine = at;
    at += art_whole_pages(strobe_engine_memory_bytes(c));
    struct strobe_art_walk *walks = (void *)at;
    at += art_whole_pages(c->threads_max * sizeof *walks);
    a->local = (void *)at;
    at += art_whole_pages(c->threads_max * sizeof *a->local);
    a->threads = (void *)at;
    strobe_art_host_init(&a->host, &a->libart, &a->runtime, a->threads, walks);
    a->host.linux.host.between_passes = art_between_passes;
    strobe_engine_init(&a->engine, &memories.present.session, &a->host.linux.host, &strobe_unwinder_art, engine);
}

static void art_choose_hooker(const struct strobe_art_options *o)
{
    struct strobe_art *a = &strobe_art;
    strobe_error_clear(&a->no_hooker);
    a->hooker = o->hooker ? o->hooker : strobe_hooker_choose(o->hooking, &a->no_hooker);
    if (a->hooker)
        snprintf(a->status.hooker, sizeof a->status.hooker, "%s", a->hooker->name);
    else
        snprintf(a->status.hooker, sizeof a->status.hooker, "none: %.80s", a->no_hooker.text);
}

static void art_start_feature(int i, struct strobe_jni *env)
{
    const struct strobe_art_feature *f = features[i];
    struct strobe_art_status *s = &strobe_art.status;
    struct strobe_error off = {""};
    const struct strobe_libart *l = &strobe_art.libart;
    if (f->use != STROBE_ART_NEEDED && f->use != STROBE_ART_THREADS && !strobe_libart_has(l, f->use))
        strobe_error_set(&off, "the runtime has no %s",
                         strobe_art_symbol_name((enum strobe_art_symbol)(l->missing[f->use] - 1)));
    in_place[i] = f->start(env, &off);
    if (in_place[i]) {
        strobe_error_clear(&off);
        s->on |= 1u << f->use;
    }
    if (in_place[i] || strobe_error_is_set(&off))
        strobe_error_copy(&off, s->off[f->use], sizeof s->off[0]);
}

/* Inline hooks go in before the first start, and those that a start drops go out after the last. */
static void art_start_features(struct strobe_jni *env)
{
    for (int i = 0; i < FEATURES; i++)
        if (features[i]->ask)
            features[i]->ask();
    strobe_art_install_hooks();
    for (int i = 0; i < FEATURES; i++)
        art_start_feature(i, env);
    strobe_art_remove_hooks();
}

/* Reports the uses that are not features. */
static void art_report_other_uses(void)
{
    struct strobe_art_status *s = &strobe_art.status;
    const struct strobe_libart *l = &strobe_art.libart;
    if (!strobe_libart_has(l, STROBE_ART_NAMES))
        snprintf(s->off[STROBE_ART_NAMES], sizeof s->off[0], "the runtime has no %s",
                 strobe_art_symbol_name((enum strobe_art_symbol)(l->missing[STROBE_ART_NAMES] - 1)));
    else if (!strobe_art.engine.session.names.head)
        snprintf(s->off[STROBE_ART_NAMES], sizeof s->off[0], "the session has no room for them");
    else
        s->on |= 1u << STROBE_ART_NAMES;
    snprintf(s->off[STROBE_ART_DEX_PC], sizeof s->off[0], "not asked for");
    if (strobe_art.runtime.callbacks)
        s->on |= 1u << STROBE_ART_CALLBACKS;
    else
        snprintf(s->off[STROBE_ART_CALLBACKS], sizeof s->off[0], "the runtime has none");
}

/* Notes in the session which features are in place, and why others are not. */
static void art_note_features(void)
{
    const struct strobe_art_status *s = &strobe_art.status;
    const struct strobe_names *names = &strobe_art.engine.session.names;
    char line[160];
    int bytes = snprintf(line, sizeof line, "inline hooks: %s", s->hooker);
    strobe_names_add(names, 1, line, (size_t)bytes, STROBE_NAME_NOTE);
    for (uint32_t use = STROBE_ART_SUSPEND; use < STROBE_ART_USES; use++) {
        const char *name = strobe_art_use_name((enum strobe_art_use)use);
        bytes = snprintf(line, sizeof line, "%s: %s%s%s", name, s->on >> use & 1 ? "in place" : "off",
                         s->off[use][0] ? ", " : "", s->off[use]);
        strobe_names_add(names, use + 1, line, (size_t)bytes, STROBE_NAME_NOTE);
    }
}

static void art_start_sampler(void)
{
    struct strobe_art_status *s = &strobe_art.status;
    char *off = s->off[STROBE_ART_SUSPEND];
    struct strobe_error error = {""};
    const struct strobe_libart *l = &strobe_art.libart;
    if (!strobe_art.engine.config.async_interval_ns)
        snprintf(off, sizeof s->off[0], "not asked for");
    else if (!strobe_libart_has(l, STROBE_ART_SUSPEND))
        snprintf(off, sizeof s->off[0], "the runtime has no %s",
                 strobe_art_symbol_name((enum strobe_art_symbol)(l->missing[STROBE_ART_SUSPEND] - 1)));
    else if (strobe_art_own_threads_start(&error))
        s->on |= 1u << STROBE_ART_SUSPEND;
    else
        strobe_error_copy(&error, off, sizeof s->off[0]);
}

/* Attaches to the session, or to the new one that the options describe. */
static enum strobe_status art_begin_session(const struct strobe_art_options *o, struct strobe_error *error)
{
    enum { NAMES_BYTES = 4 << 20 }; /* names of 30,000 to 60,000 methods; only the pages in use are touched */
    uint32_t pid = strobe_art.host.linux.pid;
    struct strobe_config config;
    struct strobe_session in_memory;
    char command[1024];
    if (!o->create)
        return strobe_capture_memories_begin(&memories, o->session_path, pid, error);
    enum strobe_status status = strobe_capture_config(o->create, &config, error);
    config.names_bytes = NAMES_BYTES;
    strobe_linux_command(command, sizeof command);
    if (status == STROBE_OK)
        status = strobe_capture_create(o->create, &config, command, &in_memory, error);
    if (status != STROBE_OK)
        return status;
    status = in_memory.header ? strobe_capture_memories_take(&memories, &in_memory, error)
                              : strobe_capture_memories_begin(&memories, o->create->session_path, pid, error);
    if (status != STROBE_OK)
        strobe_capture_discard(o->create);
    return status;
}

static const char *art_session_path(const struct strobe_art_options *o)
{
    const char *path = o->create ? o->create->session_path : o->session_path;
    return path ? path : "";
}

static enum strobe_status art_start_capture(void *vm, const struct strobe_art_options *o, struct strobe_error *error)
{
    struct strobe_art *a = &strobe_art;
    struct strobe_jni *env = strobe_jvm_env(vm);
    if (!env)
        return art_refuse(STROBE_UNSUPPORTED, error, "the calling thread is not attached to the runtime");
    enum strobe_status status = art_find_runtime(vm, o, error);
    if (status == STROBE_OK && !art_place_switch())
        status = art_refuse(STROBE_IO, error, "there is no memory for the engine");
    if (status == STROBE_OK && o->create)
        status = strobe_flight_prepare(o->create, &strobe_art_flight, error);
    if (status == STROBE_OK && o->create)
        status = strobe_control_prepare(o->create, &strobe_art_control, error);
    if (status == STROBE_OK) /* the last step that can fail */
        status = art_begin_session(o, error);
    if (status != STROBE_OK) {
        strobe_control_abandon();
        strobe_flight_abandon();
        return status;
    }
    art_lay_out();
    strobe_capture_publish(&a->engine.session, art_session_path(o));
    strobe_linux_begin_header(&a->host.linux, a->engine.session.header);
    strobe_add_relaxed(&strobe_capture_number, 1);
    a->native_offset = strobe_art_native_offset(env);
    memset(&a->status, 0, sizeof a->status);
    art_choose_hooker(o);
    art_start_native_frames(o);
    art_start_features(env);
    /* Without the listener, 0 allocations would look like a measurement. */
    if (!(a->status.on & 1u << STROBE_ART_ALLOC))
        a->engine.session.header->config.metrics &= ~(uint32_t)STROBE_METRIC_ALLOC;
    a->engine.config.metrics = a->engine.session.header->config.metrics;
    art_report_other_uses();
    art_start_sampler();
    art_note_features();
    art_switch_on(o->create && o->create->paused);
    strobe_art_find_threads();
    return STROBE_OK;
}

enum strobe_status strobe_art_start(void *vm, const struct strobe_art_options *options,
                                    struct strobe_art_status *status, struct strobe_error *error)
{
    enum strobe_status started = strobe_life_claim_start(&life, error);
    if (started != STROBE_OK)
        return started;
    uint32_t busy = strobe_local.busy;
    strobe_local.busy = 1;
    started = art_start_capture(vm, options, error);
    strobe_local.busy = busy;
    strobe_art.status.native_slots = strobe_art_libc_slots();
    if (started == STROBE_OK) /* the calling thread may compute from now on, and meet no hook */
        strobe_art_thread_begins(strobe_art_current(&strobe_art.libart));
    if (started == STROBE_OK) {
        strobe_flight_begin();
        strobe_control_launch(art_session_path(options));
    }
    if (started == STROBE_OK && status)
        *status = strobe_art.status;
    strobe_life_conclude_start(&life, started, true);
    return started;
}

enum strobe_status strobe_art_status(struct strobe_art_status *out)
{
    if (!strobe_art.status.hooker[0])
        return STROBE_NO_ENTRY;
    *out = strobe_art.status;
    return STROBE_OK;
}

/* ---- end ---- */

static bool art_wait_until_quiet(void)
{
    struct timespec pause = {0, STROBE_QUIET_STEP_NS};
    for (int i = 0; i < STROBE_QUIET_STEPS; i++) {
        if (strobe_engine_quiet(&strobe_art.engine))
            return true;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return false;
}

void strobe_art_renew_thread_names(void)
{
    for (uint32_t i = 0; i < strobe_session_thread_count(&strobe_art.engine.session); i++) {
        struct strobe_thread *t = &strobe_art.engine.threads[i];
        char path[64], name[17];
        if (!strobe_load_acquire(&t->ready) || strobe_load_relaxed(&t->entry->state) != STROBE_THREAD_LIVE)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%u/comm", t->entry->tid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        long n = fd < 0 ? 0 : read(fd, name, sizeof name);
        if (fd >= 0)
            close(fd);
        if (n <= 0)
            continue;
        name[n - 1] = '\0'; /* replaces the line end */
        strobe_thread_rename(t, name);
    }
}

/* A stop and a thread that names methods of the running capture exclude each other. Both wait at most for the other's
 * end, outside of the runtime's locks. */
static strobe_a32 ending_or_naming;

static void art_begin_exclusive(void)
{
    struct timespec pause = {0, STROBE_QUIET_STEP_NS};
    for (uint32_t free = 0; !strobe_cas_acquire(&ending_or_naming, &free, 1); free = 0)
        syscall(SYS_nanosleep, &pause, NULL);
}

static void art_end_exclusive(void)
{
    strobe_store_release(&ending_or_naming, 0);
}

/* Returns true when the session has got a name. */
static bool art_name_methods(bool at_end)
{
    struct strobe_art *a = &strobe_art;
    struct strobe_art_names names;
    return strobe_art_name_methods(&a->libart, &a->runtime, &a->host.linux.host, &a->engine.session, at_end, &names) ==
               STROBE_OK &&
           names.named;
}

/* Meanwhile the capture does not end, because a stop waits, and so no other capture starts. */
bool strobe_art_name_running(void)
{
    art_begin_exclusive();
    bool named = strobe_load_acquire(&life) == STROBE_LIFE_RUNNING && art_name_methods(false);
    art_end_exclusive();
    return named;
}

static void art_close_session(void)
{
    struct strobe_art *a = &strobe_art;
    struct strobe_clock_pair end;
    strobe_art_own_threads_finish();
    strobe_art_renew_thread_names();
    strobe_linux_note_images(&a->engine.session, strobe_art_now(), true);
    strobe_linux_clock_pair(&a->host.linux, &end.ticks, &end.monotonic_ns, &end.boottime_ns, &end.realtime_ns);
    art_name_methods(true);
    strobe_session_finish(&a->engine.session, &end);
}

void strobe_art_stop(void)
{
    if (!strobe_life_claim_stop(&life))
        return;
    strobe_flight_end();
    art_begin_exclusive();
    uint32_t busy = strobe_local.busy;
    strobe_local.busy = 1;
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    bool ended = strobe_art_own_threads_stop(); /* before the hooks: these threads block all signals (detour_hold.h) */
    for (int i = FEATURES - 1; i >= 0; i--) {
        if (in_place[i])
            features[i]->end();
        in_place[i] = false;
    }
    strobe_art_remove_hooks();
    bool quiet = art_wait_until_quiet();
    if (quiet && ended)
        art_close_session();
    strobe_local.busy = busy;
    art_end_exclusive();
    strobe_life_conclude_stop(&life, quiet && ended);
}
