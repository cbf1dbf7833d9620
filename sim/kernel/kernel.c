#include "engine/base/error_format.h"
#include "sim/kernel/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIVE_MAX = 1 << 20, COUNTED_TIDS = 1 << 30 };

static const uint64_t CHANCE_STREAM = 0x6368616e6365;

struct sim_kernel *sim_kernel_current;

struct sim_kernel *sim_kernel_open(const struct sim_kernel_options *options, const struct sim_observer *observer)
{
    assert(options->cores >= 1 && options->cores <= 64);
    struct sim_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    if (!sim_heap_reserve(&k->events, options->cores + 64) || !sim_heap_reserve(&k->ready, 64)) {
        sim_heap_free(&k->events);
        sim_heap_free(&k->ready);
        free(k);
        return NULL;
    }
    k->options = *options;
    if (!k->options.slice_ns)
        k->options.slice_ns = 3000000;
    if (observer)
        k->observer = *observer;
    k->all_end = &k->all;
    k->next_tid = 1;
    k->has_lines = options->machine.turn_ns && options->schedule == SIM_FAIR;
    k->idle_cores = options->cores;
    for (uint32_t i = 0; i < options->cores; i++) {
        k->cores[i] = (struct sim_core){.event.kind = SIM_EVENT_CORE, .index = i};
        sim_line_open(&k->cores[i]);
    }
    sim_fiber_adopt(&k->outside);
    k->host = &k->outside;
    k->limit.kind = SIM_EVENT_LIMIT;
    sim_heap_put(&k->events, &k->limit, k->options.limit_ns);
    k->chance = sim_random_seed(options->seed, CHANCE_STREAM);
    if (options->schedule == SIM_ADVERSARIAL)
        sim_adversary_open(k);
    sim_kernel_current = k;
    return k;
}

void sim_kernel_close(struct sim_kernel *k)
{
    if (!k)
        return;
    sim_calls_free(k);
    for (struct sim_thread_inside *t = k->all, *next; t; t = next) {
        next = t->next_all;
        if (t->fiber.stack)
            sim_fiber_close(&t->fiber);
        free(t);
    }
    sim_heap_free(&k->events);
    sim_heap_free(&k->ready);
    if (sim_kernel_current == k)
        sim_kernel_current = NULL;
    free(k);
}

/* Entry of a thread's fiber. */
static void thread_fiber_main(void *thread)
{
    struct sim_thread_inside *t = thread;
    struct sim_kernel *k = t->kernel;
    const struct sim_machine *m = &k->options.machine;
    bool costs = k->options.schedule == SIM_FAIR && t->was_started;
    sim_after_switch(k);
    if (costs && m->start_own_ns)
        sim_compute_in_kernel(m->start_own_ns);
    t->entry(t->arg);
    if (costs && m->end_own_ns)
        sim_compute_in_kernel(m->end_own_ns);
    sim_enter();
    k->running = NULL;
    sim_off_core(k, t, false);
    sim_retire(t, t);
    sim_refill(k);
    sim_leave(k, t);
}

static bool kernel_grow_threads(struct sim_kernel *k)
{
    return k->alive < ALIVE_MAX && sim_heap_reserve(&k->ready, k->alive + 1) &&
           sim_heap_reserve(&k->events, sim_events_most(k) + 2);
}

struct sim_thread *sim_thread_start(struct sim_kernel *k, const struct sim_thread_options *options)
{
    sim_enter_any(k);
    struct sim_thread_inside *t = calloc(1, sizeof *t);
    if (!t || !kernel_grow_threads(k) || !sim_fiber_open(&t->fiber, thread_fiber_main, t)) {
        free(t);
        return NULL;
    }
    t->shown = (struct sim_thread){.tid = options->tid ? options->tid : k->next_tid,
                                   .serial = k->count++,
                                   .name = options->name,
                                   .user = options->user,
                                   .inside = t};
    if (t->shown.tid >= k->next_tid && t->shown.tid <= COUNTED_TIDS)
        k->next_tid = t->shown.tid + 1;
    t->kernel = k;
    t->entry = options->entry;
    t->arg = options->arg;
    t->realtime = options->realtime;
    t->daemon = options->daemon;
    t->weight = sim_weight(options->nice);
    t->timer.kind = SIM_EVENT_TIMER;
    t->signal.kind = SIM_EVENT_SIGNAL;
    *k->all_end = t;
    k->all_end = &t->next_all;
    k->alive++;
    k->awaited += !t->daemon;
    if (k->options.schedule == SIM_ADVERSARIAL)
        sim_adversary_meet(k, t);
    t->shown.state = SIM_READY;
    t->was_started = t->woken_late = k->running != NULL;
    sim_make_ready(k, t);
    t->leaves_wait_ns = 0; /* it was not waiting */
    return &t->shown;
}

static void say_why(const struct sim_kernel *k, struct strobe_error *error)
{
    unsigned long long us = k->now_ns / 1000;
    switch (k->end) {
    case SIM_END_DONE: strobe_error_set(error, "all threads have ended"); break;
    case SIM_END_LIMIT: strobe_error_set(error, "limit reached at %llu.%06llu s", us / 1000000, us % 1000000); break;
    case SIM_END_ASKED: strobe_error_set(error, "ended as asked"); break;
    case SIM_END_DEADLOCK:
    case SIM_END_FORBIDDEN: strobe_error_set(error, "%s", k->error.text); break;
    case SIM_END_MEMORY: strobe_error_set(error, "out of memory"); break;
    }
}

enum sim_end sim_kernel_run(struct sim_kernel *k, struct strobe_error *error)
{
    assert(!k->running && k->host == &k->outside);
    sim_kernel_current = k;
    if (k->options.schedule == SIM_ADVERSARIAL)
        sim_adversary_arm(k);
    if (!k->awaited && !k->ended)
        sim_finish_run(k, SIM_END_DONE);
    sim_leave(k, NULL);
    sim_adversary_rest();
    say_why(k, error);
    return k->end;
}

void sim_kernel_go_on(struct sim_kernel *k, uint64_t limit_ns)
{
    assert(k->ended && k->end == SIM_END_LIMIT && !k->running && k->host == &k->outside);
    k->ended = false;
    sim_heap_remove(&k->events, &k->limit);
    sim_heap_put(&k->events, &k->limit, limit_ns);
    sim_leave(k, NULL);
}

void sim_kernel_end(struct sim_kernel *k)
{
    if (!k->ended)
        sim_finish_run(k, SIM_END_ASKED);
}

_Noreturn void sim_forbidden(const char *why)
{
    struct sim_kernel *k = sim_kernel_current;
    if (!k->ended) {
        strobe_error_set(&k->error, "%s", why);
        sim_finish_run(k, SIM_END_FORBIDDEN);
    }
    for (;;)
        sim_sleep_until(UINT64_MAX);
}

struct sim_thread *sim_self(void)
{
    struct sim_kernel *k = sim_kernel_current;
    return k && k->running ? &k->running->shown : NULL;
}

void *sim_stack(size_t *bytes)
{
    const struct sim_fiber *f = &sim_kernel_current->running->fiber;
    *bytes = f->bytes;
    return (void *)(uintptr_t)f->low;
}

void sim_renice(struct sim_thread *t, int nice)
{
    sim_enter_any(t->inside->kernel);
    t->inside->weight = sim_weight(nice);
}

void sim_become_realtime(void)
{
    sim_enter()->realtime = true;
}

bool sim_place(const struct sim_thread *t, struct sim_fiber_place *out)
{
    const struct sim_thread_inside *in = t->inside;
    bool left = t->state != SIM_ENDED && in->kernel->running != in && in->kernel->host != &in->fiber;
    return left && sim_fiber_place(&in->fiber, out);
}

uint64_t sim_now(void)
{
    const struct sim_kernel *k = sim_kernel_current;
    if (!k)
        return 0;
    return k->now_ns + (k->running ? k->running->shown.debt_ns : 0);
}

void sim_charge(uint64_t ns)
{
    struct sim_kernel *k = sim_kernel_current;
    if (k && k->running)
        k->running->shown.debt_ns += ns;
}

uint64_t sim_cpu_ns(const struct sim_thread *t)
{
    const struct sim_thread_inside *i = t->inside;
    const struct sim_kernel *k = i->kernel;
    uint64_t ns = i->cpu_ns;
    if (t->state == SIM_RUNNING)
        ns += k->now_ns - i->since_ns;
    if (k->running == i)
        ns += t->debt_ns;
    return ns;
}

uint64_t sim_read_cpu_ns(const struct sim_thread *t)
{
    uint64_t ns = sim_cpu_ns(t);
    sim_check_turn(t->inside);
    return ns;
}

struct sim_kernel_stats sim_kernel_stats(const struct sim_kernel *k)
{
    return k->stats;
}
