#include "sim/policy/btrace_ios.h"
#include "engine/base/error_format.h"

#include "engine/base/mix.h"
#include "engine/host/host.h"
#include "engine/trace/import/btraceios/btrace_ios.h"
#include "engine/util/array.h"
#include "sim/policy/btrace.h"
#include "sim/policy/btrace_ios_store.h"
#include "sim/policy/btraceios/btrace_ios_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_NS      UINT64_C(1000000)
#define TICK_NS        UINT64_C(30000000)
#define STOP_WITHIN_NS UINT64_C(1000000000)

enum {
    US = 1000,
    ACTIVE_US = 10, /* CPU time per ms of the period */
    DRAIN_TICKS = 6,
    REFRESH_TICKS = 10,
    PAGE_BYTES = 16384, /* all code addresses are above */
};

/* State of a thread ("OSThread"). */
struct local {
    struct sim_vthread *v;
    uint32_t tid, number;
    bool is_main;
    bool accessed; /* access_ns is valid */
    uint64_t access_ns;
    bool has_sampled; /* the sampler sampled it since the last refresh */
    bool used_cpu;    /* it used CPU between the last two refreshes; initially true */
    uint64_t refresh_cpu_ns;
    uint64_t info_cpu_us;  /* at the sampler's last sample */
    uint64_t contended_ns; /* begin of the current lock call */
    uint64_t samples;
    char name[32];
};

struct ios {
    struct sim_tracer tracer;
    struct sim_btrace_ios_options options;
    struct sim_run *run;
    struct sim_costs costs;
    struct local **locals; /* all threads ever */
    size_t local_count, local_room;
    struct local **alive; /* protected by `registry` */
    size_t alive_count, alive_room;
    struct sim_mutex registry;
    uint64_t main_lock; /* the lock that main waits for; any thread's lock call clears it */
    uint64_t addresses; /* number of addresses drawn */
    struct sim_btrace_ios_store store;
    bool failed;
};

static struct ios *ios_of(struct sim_tracer *t)
{
    return (struct ios *)t;
}

/* ---- the walk ---- */

static bool ios_can_read(const struct sim_vthread *v, uint64_t low, uint64_t fp)
{
    return fp >= low && fp <= (uint64_t)(uintptr_t)v->stack_high - 16 && !(fp & 1);
}

/* Writes return addresses from the frame record at fp on, innermost first. */
static uint32_t ios_walk(const struct sim_vthread *v, uint64_t sp, uint64_t fp, uint64_t *out, uint32_t room)
{
    uint32_t count = 0;
    for (uint64_t low = sp; count < room && ios_can_read(v, low, fp);) {
        uint64_t record[2];
        memcpy(record, (const void *)(uintptr_t)fp, sizeof record);
        if (record[1] < PAGE_BYTES)
            break;
        out[count++] = record[1];
        if (record[0] <= fp)
            break;
        low = fp + sizeof record;
        fp = record[0];
    }
    return count;
}

/* Returns what a row says of a lock. */
static uint64_t ios_lock_word(uint64_t what, enum strobe_btrace_ios_action action)
{
    return (what & ((UINT64_C(1) << STROBE_BTRACE_IOS_LOCK_BITS) - 1)) | (uint64_t)action
                                                                             << STROBE_BTRACE_IOS_LOCK_BITS;
}

static bool ios_put_record(struct ios *a, struct local *l, enum sim_btrace_table table, uint64_t lock, uint64_t time_ns,
                           uint64_t cpu_ns, const uint64_t *frames, uint32_t count)
{
    struct sim_btrace_item item = {
        .time_ns = time_ns, .cpu_ns = cpu_ns, .tid = l->tid, .thread = l->number, .table = table, .lock = lock};
    bool stored = sim_btrace_ios_put(&a->store, item, frames, count);
    l->samples += stored;
    return stored;
}

/* ---- samples at hooks ---- */

/* Decides on a sample and takes the stack. Returns the number of frames, or 0. */
static uint32_t ios_take_stack(struct ios *a, struct local *l, uint64_t period_ns, bool forced, uint64_t *frames)
{
    struct sim_vthread *v = l->v;
    sim_btrace_charge(v, a->costs.clock);
    uint64_t now_ns = sim_now();
    if (!forced && l->accessed && now_ns < l->access_ns + period_ns)
        return 0;
    l->accessed = true;
    l->access_ns = now_ns;
    uint32_t count = ios_walk(v, v->sp, v->fp, frames, SIM_BTRACE_IOS_DEPTH);
    sim_btrace_charge(v, a->costs.sample + a->costs.thread_clock + count * a->costs.frame_known);
    return count;
}

static void ios_sample_self(struct ios *a, struct local *l, enum sim_btrace_table table, uint64_t lock,
                            uint64_t period_ns, bool forced)
{
    uint64_t frames[SIM_BTRACE_IOS_DEPTH];
    uint32_t count = ios_take_stack(a, l, period_ns, forced, frames);
    if (count)
        ios_put_record(a, l, table, lock, l->access_ns, sim_cpu_ns(l->v->thread), frames, count);
}

/* Samples main after it had to wait for a lock. */
static void sample_contention(struct ios *a, struct local *l, uint64_t lock)
{
    uint64_t frames[SIM_BTRACE_IOS_DEPTH];
    uint32_t count = ios_take_stack(a, l, PERIOD_NS, true, frames);
    uint64_t cpu_ns = sim_cpu_ns(l->v->thread);
    if (count) {
        ios_put_record(a, l, SIM_BTRACE_LOCK, lock, l->access_ns, cpu_ns, frames, count);
        ios_put_record(a, l, SIM_BTRACE_LOCK, lock, l->contended_ns, cpu_ns, frames, count);
    }
}

static bool address_counts(struct ios *a, uint64_t bytes)
{
    uint64_t sixteenths = strobe_mix_pair(a->run->options.seed, ++a->addresses) >> 32;
    if (bytes >= PAGE_BYTES)
        sixteenths &= ~(uint64_t)(PAGE_BYTES / 16 - 1);
    return sixteenths % a->options.memory_interval == 0;
}

static void ios_point(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t arg)
{
    struct ios *a = ios_of(t);
    struct local *l = v->tracer;
    bool memory = kind == STROBE_KIND_ALLOC || kind == STROBE_KIND_FREE;
    if (!l || (!memory && kind != STROBE_KIND_CLOCK))
        return;
    sim_btrace_charge(v, a->costs.hook);
    if (!memory)
        ios_sample_self(a, l, SIM_BTRACE_DATE, 0, PERIOD_NS, false);
    else if (address_counts(a, arg))
        ios_sample_self(a, l, SIM_BTRACE_MEM, 0, a->options.memory_period_ns, false);
}

static bool ios_is_lock(enum strobe_kind kind)
{
    return kind == STROBE_KIND_MUTEX || kind == STROBE_KIND_RWLOCK || kind == STROBE_KIND_MONITOR;
}

static uint32_t ios_scope_begin(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t what)
{
    struct ios *a = ios_of(t);
    struct local *l = v->tracer;
    if (!l || (!ios_is_lock(kind) && kind != STROBE_KIND_COND))
        return 0;
    sim_btrace_charge(v, a->costs.hook);
    if (l->is_main && ios_is_lock(kind)) {
        a->main_lock = what;
        l->contended_ns = sim_now();
    }
    return 0;
}

static void ios_scope_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t token, enum strobe_kind kind,
                          uint64_t what, enum strobe_wake how)
{
    (void)token;
    struct ios *a = ios_of(t);
    struct local *l = v->tracer;
    if (!l || (!ios_is_lock(kind) && kind != STROBE_KIND_COND))
        return;
    if (ios_is_lock(kind))
        a->main_lock = 0;
    if (l->is_main && ios_is_lock(kind) && how != STROBE_WAKE_NONE)
        sample_contention(a, l,
                          ios_lock_word(what, kind == STROBE_KIND_RWLOCK ? STROBE_BTRACE_IOS_WRITE_CONTENTION
                                                                         : STROBE_BTRACE_IOS_MUTEX_CONTENTION));
    else
        ios_sample_self(
            a, l, SIM_BTRACE_LOCK,
            ios_lock_word(what, kind == STROBE_KIND_COND ? STROBE_BTRACE_IOS_COND_WAIT : STROBE_BTRACE_IOS_MUTEX_LOCK),
            PERIOD_NS, false);
}

static void ios_release(struct sim_tracer *t, struct sim_vthread *v, uint64_t what, enum strobe_release how)
{
    (void)how;
    struct ios *a = ios_of(t);
    struct local *l = v->tracer;
    enum sim_what class = sim_what_class(what);
    bool lock = class == SIM_WHAT_LOCK || class == SIM_WHAT_COND;
    /* A condition releases its lock inside the library, where there is no hook. */
    bool within = class == SIM_WHAT_LOCK && a->run->scenario->ops[v->op].kind == SIM_OP_WAIT;
    if (!l || within || (!lock && class != SIM_WHAT_QUEUE))
        return;
    bool contended = lock && a->main_lock == what;
    enum strobe_btrace_ios_action action = class == SIM_WHAT_COND ? STROBE_BTRACE_IOS_COND_SIGNAL
                                           : contended            ? STROBE_BTRACE_IOS_MUTEX_RELEASE
                                                                  : STROBE_BTRACE_IOS_MUTEX_UNLOCK;
    sim_btrace_charge(v, a->costs.hook);
    ios_sample_self(a, l, lock ? SIM_BTRACE_LOCK : SIM_BTRACE_DISPATCH, lock ? ios_lock_word(what, action) : 0,
                    PERIOD_NS, contended);
}

/* ---- the registry ---- */

static void ios_thread_begin(struct sim_tracer *t, struct sim_vthread *v)
{
    struct ios *a = ios_of(t);
    struct local *l = calloc(1, sizeof *l);
    v->tracer = NULL;
    sim_mutex_lock(&a->registry);
    if (!l || !strobe_array_reserve(&a->locals, &a->local_room, a->local_count + 1) ||
        !strobe_array_reserve(&a->alive, &a->alive_room, a->alive_count + 1)) {
        free(l);
        a->failed = true;
    } else {
        *l = (struct local){
            .v = v, .tid = v->tid, .number = (uint32_t)a->local_count, .is_main = v->is_main, .used_cpu = true};
        snprintf(l->name, sizeof l->name, "%s", v->thread->name);
        a->locals[a->local_count++] = l;
        a->alive[a->alive_count++] = l;
        v->tracer = l;
    }
    sim_mutex_unlock(&a->registry);
}

static void ios_thread_end(struct sim_tracer *t, struct sim_vthread *v)
{
    struct ios *a = ios_of(t);
    sim_mutex_lock(&a->registry);
    size_t kept = 0;
    for (size_t i = 0; i < a->alive_count; i++)
        if (a->alive[i] != v->tracer)
            a->alive[kept++] = a->alive[i];
    a->alive_count = kept;
    v->tracer = NULL;
    sim_mutex_unlock(&a->registry);
}

/* ---- the sampler ---- */

/* Charges the sampler or the event loop. */
static void ios_charge_daemon(double ns)
{
    sim_charge((uint64_t)(ns + 0.5));
}

/* Stores the stack of a stopped thread, before it is resumed. */
static bool sample_stopped(struct ios *a, struct local *l)
{
    struct strobe_regs regs;
    uint64_t frames[SIM_BTRACE_IOS_DEPTH];
    sim_run_registers(l->v, &regs);
    if (regs.fp == 0)
        return false;
    frames[0] = regs.pc;
    uint32_t count = 1 + ios_walk(l->v, regs.sp, regs.fp, &frames[1], SIM_BTRACE_IOS_DEPTH - 1);
    uint64_t now_ns = sim_now();
    sim_compute((uint64_t)(a->costs.sample + count * a->costs.frame_known + 0.5));
    return ios_put_record(a, l, SIM_BTRACE_CPU, 0, now_ns, l->info_cpu_us * US, frames, count);
}

static void ios_visit_thread(struct ios *a, struct local *l, uint64_t pass_ns)
{
    struct sim_thread *thread = l->v->thread;
    if (l->v->ended)
        return;
    ios_charge_daemon(a->costs.look);
    if (l->accessed && pass_ns < l->access_ns + PERIOD_NS)
        return;
    if (l->has_sampled && !l->used_cpu)
        return;
    ios_charge_daemon(a->costs.thread_clock);
    uint64_t cpu_us = sim_cpu_ns(thread) / US;
    bool active = thread->state == SIM_RUNNING || thread->state == SIM_READY;
    if (l->has_sampled && !active && cpu_us - l->info_cpu_us < ACTIVE_US)
        return;
    l->info_cpu_us = cpu_us;
    ios_charge_daemon(a->costs.suspend);
    if (sim_stop(thread, SIM_STOP_AT_ONCE, STOP_WITHIN_NS) != STROBE_OK)
        return;
    l->accessed = true;
    l->access_ns = pass_ns;
    l->has_sampled = sample_stopped(a, l);
    sim_continue(thread);
    ios_charge_daemon(a->costs.resume);
}

static void ios_run_sampler(void *arg)
{
    struct ios *a = arg;
    for (;;) {
        sim_mutex_lock(&a->registry);
        ios_charge_daemon(a->costs.clock);
        uint64_t pass_ns = sim_now();
        for (size_t i = 0; i < a->alive_count; i++)
            ios_visit_thread(a, a->alive[i], pass_ns);
        sim_mutex_unlock(&a->registry);
        sim_sleep_until(sim_now() + PERIOD_NS);
    }
}

/* ---- the event loop ---- */

static void refresh(struct ios *a, bool others)
{
    sim_mutex_lock(&a->registry);
    for (size_t i = 0; i < a->alive_count; i++) {
        struct local *l = a->alive[i];
        if (!l->is_main && !others)
            continue;
        ios_charge_daemon(a->costs.thread_clock);
        uint64_t cpu_ns = sim_cpu_ns(l->v->thread);
        l->used_cpu = cpu_ns > l->refresh_cpu_ns;
        l->refresh_cpu_ns = cpu_ns;
        l->has_sampled = false;
    }
    sim_mutex_unlock(&a->registry);
}

static void event_loop(void *arg)
{
    struct ios *a = arg;
    for (uint64_t tick = 1;; tick++) {
        sim_sleep_until(sim_now() + TICK_NS);
        refresh(a, tick % REFRESH_TICKS == 0);
        if (tick % DRAIN_TICKS)
            continue;
        double items = (double)a->store.item_count;
        double frames = (double)sim_btrace_ios_drain(&a->store);
        sim_compute((uint64_t)(items * a->costs.sample + frames * a->costs.frame + 0.5));
    }
}

static enum strobe_status ios_start(struct sim_tracer *t, struct sim_run *run)
{
    struct ios *a = ios_of(t);
    a->run = run;
    a->costs = run->options.costs;
    struct sim_thread_options interrupter = {.name = "BTrace ThreadInterrupter",
                                             .tid = SIM_SAMPLER_TID,
                                             .realtime = true,
                                             .daemon = true,
                                             .entry = ios_run_sampler,
                                             .arg = a};
    struct sim_thread_options loop = {
        .name = "BTrace Event Loop", .tid = SIM_SAMPLER_TID - 1, .daemon = true, .entry = event_loop, .arg = a};
    a->tracer.sampler = sim_thread_start(run->kernel, &interrupter);
    return a->tracer.sampler && sim_thread_start(run->kernel, &loop) ? STROBE_OK : STROBE_IO;
}

/* ---- the trace ---- */

static uint32_t method_at(const void *ctx, uint64_t address)
{
    const struct ios *a = ctx;
    return sim_run_method_at(a->run, address);
}

/* Returns the name of the first thread that had the id. */
static const char *ios_thread_name(const void *ctx, uint32_t tid)
{
    const struct ios *a = ctx;
    size_t i = 0;
    while (a->locals[i]->tid != tid)
        i++;
    return a->locals[i]->name;
}

/* Counts the samples of each track. Tracks are in order of tid. */
static void count_samples(const struct ios *a, struct sim_tracks *out)
{
    for (size_t i = 0; i < a->local_count; i++) {
        size_t low = 0, high = out->track_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (out->tracks[middle].tid < a->locals[i]->tid)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < out->track_count && out->tracks[low].tid == a->locals[i]->tid)
            out->tracks[low].samples += a->locals[i]->samples;
    }
}

static struct sim_btrace_ios_dump ios_dump(const struct ios *a, const struct sim_run *run)
{
    return (struct sim_btrace_ios_dump){.rows = a->store.rows,
                                        .count = a->store.row_count,
                                        .stacks = &a->store.stacks,
                                        .scenario = run->scenario,
                                        .method_at = method_at,
                                        .thread_name = ios_thread_name,
                                        .ctx = a};
}

static enum strobe_status ios_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                          struct strobe_error *error)
{
    struct ios *a = ios_of(t);
    sim_btrace_ios_drain(&a->store);
    struct sim_btrace_ios_dump dump = ios_dump(a, run);
    if (a->failed || a->store.failed || sim_btrace_ios_build(&dump, out) != STROBE_OK) {
        strobe_error_set(error, "out of memory");
        return STROBE_IO;
    }
    out->samples = a->store.stored;
    out->lost = a->store.dropped;
    out->bytes = sim_btrace_ios_bytes(&a->store);
    count_samples(a, out);
    return STROBE_OK;
}

/* Writes the trace of the reconstructed timeline, and the database that the collector leaves. */
static enum strobe_status ios_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                   struct strobe_error *error)
{
    const struct ios *a = ios_of(t);
    struct sim_btrace_ios_dump dump = ios_dump(a, run);
    uint32_t main_tid = 0;
    for (size_t i = 0; i < a->local_count && !main_tid; i++)
        main_tid = a->locals[i]->is_main ? a->locals[i]->tid : 0;
    enum strobe_status status = sim_btrace_save(t, run, folder, error);
    return status == STROBE_OK ? sim_btrace_ios_write(&dump, main_tid, folder, run->options.replace, error) : status;
}

static void close_ios(struct sim_tracer *t)
{
    struct ios *a = ios_of(t);
    for (size_t i = 0; i < a->local_count; i++)
        free(a->locals[i]);
    free(a->locals);
    free(a->alive);
    sim_btrace_ios_store_close(&a->store);
    free(a);
}

struct sim_tracer *sim_btrace_ios_open(const struct sim_btrace_ios_options *options)
{
    struct ios *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->options = *options;
    a->registry.name = "btrace registry";
    sim_btrace_ios_store_open(&a->store, PERIOD_NS, options->memory_period_ns);
    a->tracer = (struct sim_tracer){
        .start = ios_start,
        .thread_begin = ios_thread_begin,
        .thread_end = ios_thread_end,
        .point = ios_point,
        .scope_begin = ios_scope_begin,
        .scope_end = ios_scope_end,
        .release = ios_release,
        .reconstruct = ios_reconstruct,
        .save = ios_save,
        .close = close_ios,
        .policy = "btrace-ios",
        .interval_main_ns = PERIOD_NS,
        .interval_other_ns = PERIOD_NS,
    };
    return &a->tracer;
}

struct sim_tracer *sim_policy_btrace_ios(void)
{
    struct sim_btrace_ios_options defaults = {.memory_interval = 4096, .memory_period_ns = PERIOD_NS};
    return sim_btrace_ios_open(&defaults);
}
