#include "engine/base/error_format.h"
#include "sim/player/real.h"
#include "sim/player/runtime.h"
#include "sim/policy/instrument.h"
#include "sim/runtime/draws.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    STACK_BYTES = 4 << 20
}; /* of a thread: 1 MiB for the scenario's frames, the rest for the functions that they call */

/* ---- shared ---- */

bool sim_real_room(struct sim_actor *a, void *array, uint32_t count, uint32_t *room, size_t item_bytes)
{
    void **at = array;
    if (count < *room)
        return true;
    uint32_t more = *room ? *room * 2 : 32;
    void *bigger = sim_work_pages(more * item_bytes);
    if (!bigger) {
        sim_real_fail(a->play, NULL, "more memory");
        return false;
    }
    if (*at) {
        memcpy(bigger, *at, count * item_bytes);
        sim_work_free_pages(*at, *room * item_bytes);
    }
    *at = bigger;
    *room = more;
    return true;
}

static void end_run(struct sim_real_play *p)
{
    atomic_store(&p->over, 1);
    sim_work_wake(&p->over);
}

void sim_real_fail(struct sim_real_play *p, const struct sim_op *op, const char *expected)
{
    if (!atomic_exchange(&p->failed, 1)) {
        if (op)
            fprintf(stderr, "%s:%u:%u: ", p->scenario->path, op->line, op->column);
        else
            fprintf(stderr, "%s: ", p->scenario->path);
        fprintf(stderr, "expected %s\n", expected);
    }
    end_run(p);
}

void sim_real_work(struct sim_actor *a, uint64_t ns)
{
    sim_real_add(&a->work_ns, ns);
    sim_work_do(ns, a->play->turns_per_ms);
}

/* ---- threads ---- */

/* Start function of an actor's thread. */
static void *run_actor(void *arg)
{
    struct sim_actor *a = arg;
    struct sim_real_play *p = a->play;
    const struct sim_thread_spec *spec = &p->scenario->threads[a->spec];
    char name[32];
    sim_notes_name(spec, a->index, name);
    if (!p->runtime || !p->runtime->long_names)
        name[15] = '\0';
    pthread_setname_np(pthread_self(), name);
    bool entered = p->executor->enter(a, name);
    if (!entered)
        sim_real_fail(p, NULL, "the runtime to take one more thread");
    if (spec->nice)
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), spec->nice);
    uint64_t cpu_ns = sim_work_thread_cpu_ns();
    struct sim_work_switches before = sim_work_switches();
    a->switches = before.voluntary;
    a->tid = (uint32_t)syscall(SYS_gettid);
    a->known_tid = p->runtime && p->runtime->tid ? p->runtime->tid() : a->tid;
    atomic_store(&a->begin_ns, sim_work_now_ns());
    if (p->probe_policy)
        a->probe_thread =
            p->probe_policy->thread_begin(&(struct sim_probe_thread){a->tid, a->track + 1, a->is_main, name});
    if (entered)
        p->executor->perform(a);
    if (a->probe_thread)
        p->probe_policy->thread_end(a->probe_thread);
    struct sim_work_switches after = sim_work_switches();
    a->totals.cpu_ns = sim_work_thread_cpu_ns() - cpu_ns;
    a->totals.voluntary_switches = after.voluntary - before.voluntary;
    a->totals.involuntary_switches = after.involuntary - before.involuntary;
    a->totals.minor_faults = after.minor_faults - before.minor_faults;
    a->totals.major_faults = after.major_faults - before.major_faults;
    atomic_store(&a->end_ns, sim_work_now_ns());
    sim_real_free_kept(a); /* after end_ns: freeing is not part of the scenario */
    if (entered)
        p->executor->leave(a);
    if (atomic_fetch_sub(&p->living, 1) == 1)
        end_run(p);
    return NULL;
}

static void open_cond(pthread_cond_t *c)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Adds an actor without a thread. Its index in the list is its track. */
static struct sim_actor *player_create_actor(struct sim_real_play *p, uint32_t spec, uint32_t index,
                                             struct sim_actor *parent, const struct sim_random *drawn)
{
    struct sim_actor *a = sim_work_pages(sizeof *a);
    if (!a) {
        sim_real_fail(p, NULL, "more memory");
        return NULL;
    }
    a->play = p;
    a->parent = parent;
    a->spec = spec;
    a->index = index;
    a->device = a->event = -1;
    a->is_main = p->scenario->threads[spec].is_main && index == 0;
    a->random = drawn ? *drawn : sim_draws_of_thread(p->seed, spec, index);
    open_cond(&a->notified);
    sem_init(&a->parking, 0, 0);
    sim_spin_lock(&p->spin);
    a->track = atomic_load(&p->actor_count);
    bool fits = a->track < SIM_ACTORS_MAX;
    if (fits) {
        p->actors[a->track] = a;
        atomic_store(&p->actor_count, a->track + 1);
    }
    sim_spin_unlock(&p->spin);
    if (fits)
        return a;
    sim_real_fail(p, NULL, "no more than 65535 threads");
    return NULL;
}

struct sim_actor *sim_real_start(struct sim_real_play *p, uint32_t spec, uint32_t index, struct sim_actor *parent,
                                 const struct sim_random *drawn)
{
    struct sim_actor *a = player_create_actor(p, spec, index, parent, drawn);
    if (!a)
        return NULL;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, p->runtime ? p->runtime->stack_bytes : STACK_BYTES);
    if (!parent)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&a->thread, &attributes, run_actor, a);
    pthread_attr_destroy(&attributes);
    if (error)
        sim_real_fail(p, NULL, "to be let start one more thread");
    return error ? NULL : a;
}

uint32_t sim_real_next_index(struct sim_real_play *p, uint32_t spec)
{
    sim_spin_lock(&p->spin);
    uint32_t index = p->started[spec]++;
    sim_spin_unlock(&p->spin);
    return index;
}

/* ---- starts of threads ---- */

struct start {
    uint64_t time_ns;
    uint32_t spec, index;
    struct sim_random random;
};

/* The planned starts of the scenario's threads. */
struct start_plan {
    struct sim_real_play *play;
    struct start *starts; /* in order of time, without the main thread */
    uint32_t count;
    struct start main;
    bool has_main;
};

static void player_draw_starts(struct start_plan *d)
{
    const struct sim_scenario *s = d->play->scenario;
    for (uint32_t spec = 0; spec < s->thread_count; spec++) {
        for (uint32_t k = 0; k < s->threads[spec].count; k++) {
            struct start start = {.spec = spec, .index = k};
            start.random = sim_draws_of_thread(d->play->seed, spec, k);
            start.time_ns = sim_dist_draw(&s->threads[spec].start, &start.random);
            if (s->threads[spec].is_main && k == 0 && !d->has_main) {
                d->main = start;
                d->has_main = true;
                continue;
            }
            uint32_t at = d->count++;
            for (; at && d->starts[at - 1].time_ns > start.time_ns; at--)
                d->starts[at] = d->starts[at - 1];
            d->starts[at] = start;
        }
        d->play->started[spec] = s->threads[spec].count;
    }
    atomic_store(&d->play->living, d->count + d->has_main);
}

/* ---- notes file ---- */

static struct sim_notes_thread describe_actor(const struct sim_actor *a, uint64_t end_ns)
{
    struct sim_notes_thread t = {.spec = a->spec,
                                 .index = a->index,
                                 .is_main = a->is_main,
                                 .begin_ns = atomic_load(&a->begin_ns),
                                 .end_ns = atomic_load(&a->end_ns)};
    if (!t.begin_ns || t.begin_ns > end_ns) {
        t.begin_ns = t.end_ns = end_ns;
        return t;
    }
    t.tid = a->known_tid;
    if (t.end_ns)
        t.totals = a->totals;
    else
        t.totals.cpu_ns = sim_work_cpu_ns_of(a->tid);
    t.totals.allocations = atomic_load(&a->allocations);
    t.totals.alloc_bytes = atomic_load(&a->alloc_bytes);
    return t;
}

static bool player_write_notes(struct sim_real_play *p, const char *path, struct sim_notes_head head)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        return false;
    head.threads = atomic_load(&p->actor_count);
    for (uint32_t i = 0; i < head.threads; i++) {
        head.failed |= atomic_load(&p->actors[i]->notes.failed);
        head.work_ns += atomic_load(&p->actors[i]->work_ns);
    }
    fwrite(&head, sizeof head, 1, out);
    for (uint32_t i = 0; i < head.threads; i++)
        sim_notes_write(&p->actors[i]->notes, describe_actor(p->actors[i], head.end_ns), out);
    bool written = !ferror(out);
    return fclose(out) == 0 && written;
}

/* ---- the run ---- */

struct director {
    struct start_plan plan;
    const char *notes_path;
    int status;
};

static int close_probe_policy(const struct sim_real_play *p)
{
    struct strobe_error error = {""};
    if (p->probe_policy->close(&error))
        return 0;
    fprintf(stderr, "%s\n", error.text);
    return SIM_REAL_FAILED;
}

/* Start function of the director's thread. It starts the other threads at their times, waits for the end of the run,
 * and writes the notes. The process's main thread cannot do this, because it plays the scenario's main thread. */
static void *run_director(void *arg)
{
    struct director *director = arg;
    struct start_plan *d = &director->plan;
    struct sim_real_play *p = d->play;
    uint64_t cpu_ns = sim_work_process_cpu_ns(), end_ns = p->begin_ns + p->scenario->duration_ns;
    for (uint32_t i = 0; i < d->count && !atomic_load(&p->over); i++) {
        uint64_t at = p->begin_ns + d->starts[i].time_ns;
        while (!atomic_load(&p->over) && at < end_ns && sim_work_now_ns() < at)
            sim_work_wait(&p->over, 0, at);
        if (at < end_ns && !atomic_load(&p->over))
            sim_real_start(p, d->starts[i].spec, d->starts[i].index, NULL, &d->starts[i].random);
    }
    while (!atomic_load(&p->over) && sim_work_now_ns() < end_ns)
        sim_work_wait(&p->over, 0, end_ns);
    struct sim_notes_head head = {
        .begin_ns = p->begin_ns, .end_ns = sim_work_now_ns(), .frames = (uint64_t)(uintptr_t)p->frames};
    head.process_cpu_ns = sim_work_process_cpu_ns() - cpu_ns;
    if (p->runtime)
        head.charged_ns = p->runtime->charged_ns();
    end_run(p);
    director->status = SIM_REAL_REFUSED;
    if (!atomic_load(&p->failed)) {
        director->status = player_write_notes(p, director->notes_path, head) ? 0 : SIM_REAL_FAILED;
        if (director->status)
            fprintf(stderr, "%s: %s\n", director->notes_path, strerror(errno));
        else if (p->probe_policy)
            director->status = close_probe_policy(p);
    }
    if (p->runtime) {
        p->runtime->end(p);
        fflush(NULL);
        _exit(director->status); /* without the runtime's exit handlers */
    }
    exit(director->status); /* without joining: threads may still wait */
}

static void play_main(struct sim_real_play *p, const struct start *start)
{
    uint64_t at = p->begin_ns + start->time_ns;
    while (!atomic_load(&p->over) && sim_work_now_ns() < at)
        sim_work_wait(&p->over, 0, at);
    struct sim_actor *a =
        atomic_load(&p->over) ? NULL : player_create_actor(p, start->spec, start->index, NULL, &start->random);
    if (a)
        run_actor(a);
}

static void *player_allocate_array(uint32_t count, size_t bytes)
{
    return calloc(count ? count : 1, bytes);
}

static void open_lock(struct sim_real_lock *l)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&l->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_rwlock_init(&l->rwlock, NULL);
}

/* The initial posts have no posting thread: their handoff is 0. */
static void open_sem(struct sim_real_sem *s, uint32_t count)
{
    sem_init(&s->sem, 0, count);
    s->lost = count > SIM_POSTS;
    s->count = count < SIM_POSTS ? count : SIM_POSTS;
}

static bool open_play(struct sim_real_play *p)
{
    const struct sim_scenario *s = p->scenario;
    p->locks = player_allocate_array(s->lock_count, sizeof *p->locks);
    p->conds = player_allocate_array(s->cond_count, sizeof *p->conds);
    p->sems = player_allocate_array(s->sem_count, sizeof *p->sems);
    p->queues = player_allocate_array(s->queue_count, sizeof *p->queues);
    p->started = player_allocate_array(s->thread_count, sizeof *p->started);
    p->actors = player_allocate_array(SIM_ACTORS_MAX, sizeof *p->actors);
    if (!p->locks || !p->conds || !p->sems || !p->queues || !p->started || !p->actors)
        return false;
    for (uint32_t i = 0; i < s->lock_count; i++)
        open_lock(&p->locks[i]);
    for (uint32_t i = 0; i < s->sem_count; i++)
        open_sem(&p->sems[i], s->sems[i].count);
    for (uint32_t i = 0; i < s->queue_count; i++)
        p->queues[i].about = &s->queues[i];
    pthread_mutex_init(&p->collector, NULL);
    return true;
}

static uint32_t count_starts(const struct sim_scenario *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->thread_count; i++)
        count += s->threads[i].count;
    return count;
}

/* Prepares memory for the threads. How many a scenario starts itself is not known. */
static void reserve_for_threads(const struct sim_scenario *s)
{
    enum { STARTED = 8192 };
    uint32_t starts = 0;
    for (uint32_t i = 0; i < s->op_count; i++)
        starts += s->ops[i].kind == SIM_OP_SPAWN;
    sim_work_reserve(count_starts(s) + (starts ? STARTED : 0));
}

/* Opens the probe policy and assigns ids to the scenario's methods. */
static enum strobe_status open_probe_policy(struct sim_real_play *p, const char *path, struct strobe_error *error)
{
    const struct sim_scenario *s = p->scenario;
    static struct sim_instrument probes;
    const char **names = player_allocate_array(s->method_count + 1, sizeof *names);
    enum strobe_status status = sim_real_probe_policy_open(p->policy, &p->probe_policy, error);
    if (status != STROBE_OK)
        return status;
    strobe_error_set(error, "%s: %s", s->path, strerror(ENOMEM));
    if (!names || !sim_instrument_open(&probes, s, &(struct sim_instrument_options){0}))
        return STROBE_IO;
    for (uint32_t id = 1; id <= probes.count; id++)
        names[id] = s->methods[probes.method[id]].name;
    p->probes = probes.id;
    return p->probe_policy->open(names, probes.count, path, error) ? STROBE_OK : STROBE_IO;
}

enum { SCENARIO = 1, SEED, TURNS, NOTES, RUNTIME, SESSION, POLICY, ARGUMENTS };

static enum strobe_status open_executor(struct sim_real_play *p, char **argument, struct strobe_error *error)
{
    const char *session = argument[SESSION];
    p->policy = argument[POLICY];
    p->runtime = argument[RUNTIME] ? &sim_real_runtime : NULL;
    p->frames = sim_real_frames;
    p->executor = p->runtime ? p->runtime->executor : &sim_executor_frames;
    if (p->runtime)
        return p->runtime->open(p, argument[RUNTIME], session, error);
    return p->policy && session ? open_probe_policy(p, session, error) : STROBE_OK;
}

int sim_real_child(int argc, char **argv)
{
    static struct sim_real_play play;
    static struct director director;
    struct sim_scenario *scenario;
    pthread_t director_thread;
    struct strobe_error error = {""};
    char *argument[ARGUMENTS] = {NULL};
    if (argc <= NOTES || argc > ARGUMENTS) {
        fprintf(stderr, "usage: " SIM_REAL_PLAYER " SCENARIO SEED TURNS NOTES [RUNTIME|- [SESSION|- "
                        "[POLICY]]]\n");
        return SIM_REAL_REFUSED;
    }
    for (int i = 0; i < argc; i++)
        argument[i] = strcmp(argv[i], "-") != 0 ? argv[i] : NULL;
    if (sim_scenario_read(argv[SCENARIO], &scenario, &error) != STROBE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return SIM_REAL_REFUSED;
    }
    play.scenario = scenario;
    play.seed = strtoull(argv[SEED], NULL, 10);
    play.turns_per_ms = strtoull(argv[TURNS], NULL, 10);
    director.notes_path = argv[NOTES];
    director.plan.play = &play;
    director.plan.starts = player_allocate_array(count_starts(scenario), sizeof *director.plan.starts);
    if (!director.plan.starts || !open_play(&play)) {
        fprintf(stderr, "%s: %s\n", argv[SCENARIO], strerror(errno));
        return SIM_REAL_FAILED;
    }
    if (!sim_work_begin()) {
        fprintf(stderr, "mq_open: %s\n", strerror(errno));
        return SIM_REAL_FAILED;
    }
    if (open_executor(&play, argument, &error) != STROBE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return SIM_REAL_REFUSED;
    }
    reserve_for_threads(scenario);
    player_draw_starts(&director.plan);
    play.begin_ns = sim_work_now_ns();
    if (pthread_create(&director_thread, NULL, run_director, &director) != 0) {
        fprintf(stderr, "%s: %s\n", argv[SCENARIO], strerror(errno));
        return SIM_REAL_FAILED;
    }
    if (director.plan.has_main)
        play_main(&play, &director.plan.main);
    for (;;) /* until the director ends the process */
        sim_work_sleep_until(UINT64_MAX / 2);
}
