#include "sim/runtime/world.h"

#include "engine/base/mix.h"
#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"
#include "sim/runtime/draws.h"
#include "sim/runtime/player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failure ---- */

void sim_world_fail(struct sim_world *w, enum strobe_status status, const struct sim_op *op, const char *what)
{
    struct sim_run *run = w->run;
    if (w->failed)
        return;
    w->failed = status;
    if (op)
        snprintf(run->end_why, sizeof run->end_why, "%s:%u:%u: expected %s", w->scenario->path, op->line, op->column,
                 what);
    else
        snprintf(run->end_why, sizeof run->end_why, "%s: %s", w->scenario->path, what);
    if (run->kernel)
        sim_kernel_end(run->kernel);
}

/* ---- code ---- */

static void fill_code(struct sim_world *w)
{
    const struct sim_scenario *s = w->scenario;
    for (uint32_t i = 0; i < s->method_count; i++) {
        const struct sim_method *m = &s->methods[i];
        const struct sim_block *b = &s->blocks[m->block];
        w->code[i] = (struct sim_code){.address = m->address,
                                       .bytes = (uint32_t)m->bytes,
                                       .frame_bytes = m->frame_bytes,
                                       .site_mask = sim_site_mask(m->bytes),
                                       .name = sim_tracks_name(&w->run->truth, m->name),
                                       .first = b->first,
                                       .end = b->first + b->count,
                                       .managed = m->managed,
                                       .frameless = m->frameless};
        if (b->count)
            w->last_of_body[b->first + b->count - 1] = true;
        w->by_address[i] = i;
    }
}

/* Insertion sort: methods are mostly in order already. */
static void sort_by_address(struct sim_world *w)
{
    for (uint32_t i = 1; i < w->scenario->method_count; i++) {
        uint32_t method = w->by_address[i], at = i;
        for (; at && w->code[w->by_address[at - 1]].address > w->code[method].address; at--)
            w->by_address[at] = w->by_address[at - 1];
        w->by_address[at] = method;
    }
}

/* ---- open, close ---- */

static void *world_allocate_array(struct sim_world *w, uint32_t count, size_t bytes)
{
    void *a = calloc(count ? count : 1, bytes);
    if (!a)
        w->failed = STROBE_IO;
    return a;
}

static void fill_objects(struct sim_world *w)
{
    const struct sim_scenario *s = w->scenario;
    for (uint32_t i = 0; i < s->lock_count; i++) {
        w->mutexes[i].name = w->rwlocks[i].name = s->locks[i].name;
        w->mutexes[i].recursive = s->locks[i].kind == SIM_LOCK_MONITOR;
    }
    for (uint32_t i = 0; i < s->cond_count; i++)
        w->conds[i].name = s->conds[i].name;
    for (uint32_t i = 0; i < s->sem_count; i++)
        w->sems[i] = (struct sim_sem){.name = s->sems[i].name, .count = s->sems[i].count};
    for (uint32_t i = 0; i < s->queue_count; i++)
        w->queues[i] = (struct sim_message_queue){
            .world = w, .about = &s->queues[i], .number = i, .wake = {.name = s->queues[i].name}};
    w->last_stopped = &w->stopped;
    for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++)
        w->wait_name[kind] = sim_tracks_name(&w->run->truth, strobe_wait_name(kind));
}

/* Draws the starts and sorts them by time. Equal ones keep the scenario's order. */
static void world_draw_starts(struct sim_world *w)
{
    const struct sim_scenario *s = w->scenario;
    for (uint32_t spec = 0; spec < s->thread_count; spec++) {
        for (uint32_t k = 0; k < s->threads[spec].count; k++) {
            struct sim_start start = {.spec = spec, .index = k};
            start.random = sim_draws_of_thread(w->run->options.seed, spec, k);
            start.time_ns = sim_dist_draw(&s->threads[spec].start, &start.random);
            uint32_t at = w->start_count++;
            for (; at && w->starts[at - 1].time_ns > start.time_ns; at--)
                w->starts[at] = w->starts[at - 1];
            w->starts[at] = start;
        }
        w->started[spec] = s->threads[spec].count;
    }
}

bool sim_world_open(struct sim_world *w, struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;
    uint32_t starts = 0;
    *w = (struct sim_world){.run = run, .scenario = s, .next_tid = 1};
    for (uint32_t i = 0; i < s->thread_count; i++)
        starts += s->threads[i].count;
    w->code = world_allocate_array(w, s->method_count, sizeof *w->code);
    w->by_address = world_allocate_array(w, s->method_count, sizeof *w->by_address);
    w->last_of_body = world_allocate_array(w, s->op_count, sizeof *w->last_of_body);
    w->mutexes = world_allocate_array(w, s->lock_count, sizeof *w->mutexes);
    w->rwlocks = world_allocate_array(w, s->lock_count, sizeof *w->rwlocks);
    w->conds = world_allocate_array(w, s->cond_count, sizeof *w->conds);
    w->sems = world_allocate_array(w, s->sem_count, sizeof *w->sems);
    w->queues = world_allocate_array(w, s->queue_count, sizeof *w->queues);
    w->starts = world_allocate_array(w, starts, sizeof *w->starts);
    w->started = world_allocate_array(w, s->thread_count, sizeof *w->started);
    if (w->failed)
        return false;
    fill_code(w);
    sort_by_address(w);
    fill_objects(w);
    world_draw_starts(w);
    return !run->truth.failed;
}

void sim_world_close(struct sim_world *w)
{
    for (uint32_t i = 0; w->queues && i < w->scenario->queue_count; i++) {
        free(w->queues[i].messages.due.at);
        free(w->queues[i].messages.later.at);
    }
    sim_stacks_close(&w->stacks);
    free(w->code);
    free(w->by_address);
    free(w->last_of_body);
    free(w->mutexes);
    free(w->rwlocks);
    free(w->conds);
    free(w->sems);
    free(w->queues);
    free(w->starts);
    free(w->started);
    free(w->by_tid);
}

/* ---- thread ids ---- */

static uint32_t *slot_of_tid(struct sim_world *w, uint32_t tid)
{
    uint32_t i = (uint32_t)strobe_mix64(tid) & w->tid_mask;
    while (w->by_tid[i] && w->run->threads[w->by_tid[i] - 1]->tid != tid)
        i = (i + 1) & w->tid_mask;
    return &w->by_tid[i];
}

/* Adds a tid to the table, which is at most half full. */
static bool record_tid(struct sim_world *w, uint32_t index)
{
    struct sim_run *run = w->run;
    if (!w->by_tid || run->thread_count * 2 > w->tid_mask) {
        uint32_t slots = w->by_tid ? (w->tid_mask + 1) * 2 : 64;
        uint32_t *table = calloc(slots, sizeof *table);
        if (!table)
            return false;
        free(w->by_tid);
        w->by_tid = table;
        w->tid_mask = slots - 1;
        for (uint32_t i = 0; i < index; i++)
            *slot_of_tid(w, run->threads[i]->tid) = i + 1;
    }
    *slot_of_tid(w, run->threads[index]->tid) = index + 1;
    return true;
}

static struct sim_vthread *last_of_tid(struct sim_world *w, uint32_t tid)
{
    uint32_t index = w->by_tid ? *slot_of_tid(w, tid) : 0;
    return index ? w->run->threads[index - 1] : NULL;
}

struct sim_vthread *sim_run_thread(struct sim_run *run, uint32_t tid)
{
    struct sim_vthread *v = last_of_tid(run->world, tid);
    return v && !v->ended ? v : NULL;
}

static bool is_asked_for(const struct sim_scenario *s, uint32_t tid)
{
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].tid == tid)
            return true;
    return false;
}

/* Returns a tid of an ended thread of the spec, or the requested one if it is free, or one never used. */
static uint32_t choose_tid(struct sim_world *w, uint32_t number)
{
    const struct sim_thread_spec *spec = &w->scenario->threads[number];
    for (uint32_t i = 0; spec->reuse_tid && i < w->run->thread_count; i++) {
        const struct sim_vthread *v = w->run->threads[i];
        if (v->spec == number && !sim_run_thread(w->run, v->tid))
            return v->tid;
    }
    uint32_t tid = (uint32_t)spec->tid;
    if (tid && (!w->by_tid || !last_of_tid(w, tid) || (spec->reuse_tid && !sim_run_thread(w->run, tid))))
        return tid;
    while (is_asked_for(w->scenario, w->next_tid))
        w->next_tid++;
    return w->next_tid++;
}

/* ---- threads ---- */

static bool add_thread(struct sim_run *run, struct sim_vthread *v)
{
    if (!strobe_array_reserve(&run->threads, &run->thread_room, run->thread_count + 1))
        return false;
    run->threads[run->thread_count] = v;
    return record_tid(run->world, run->thread_count++);
}

static void world_name_thread(struct sim_player *p, const struct sim_thread_spec *spec, uint32_t index)
{
    if (spec->count == 1 && index == 0)
        snprintf(p->name, sizeof p->name, "%s", spec->name);
    else
        snprintf(p->name, sizeof p->name, "%.20s-%u", spec->name, index + 1);
}

static bool start_fiber(struct sim_player *p, const struct sim_thread_spec *spec)
{
    struct sim_vthread *v = &p->v;
    struct sim_thread_options options = {
        .name = p->name, .tid = v->tid, .nice = spec->nice, .entry = sim_player_main, .arg = p, .user = v};
    v->track = sim_track_add(&p->run->truth, v->tid, v->generation, p->name, v->is_main, sim_now());
    if (!p->run->truth.failed)
        p->run->truth.tracks[v->track].spec = v->spec;
    v->thread = sim_thread_start(p->run->kernel, &options);
    return v->thread != NULL;
}

struct sim_vthread *sim_world_start(struct sim_world *w, const struct sim_start *start)
{
    const struct sim_thread_spec *spec = &w->scenario->threads[start->spec];
    struct sim_player *p = calloc(1, sizeof *p);
    if (p) {
        p->world = w;
        p->run = w->run;
        p->collected.name = "collector";
        p->random = start->random;
        p->v.player = p;
        p->v.core = -1;
        p->v.spec = start->spec;
        p->v.is_main = spec->is_main;
        p->v.tid = choose_tid(w, start->spec);
        const struct sim_vthread *before = w->by_tid ? last_of_tid(w, p->v.tid) : NULL;
        p->v.generation = before ? before->generation + 1 : 1;
        world_name_thread(p, spec, start->index);
        if (add_thread(w->run, &p->v) && sim_stack_take(&w->stacks, &p->v) && start_fiber(p, spec))
            return &p->v;
    }
    sim_world_fail(w, STROBE_IO, NULL, "out of memory");
    return NULL;
}

struct sim_vthread *sim_world_spawn(struct sim_world *w, uint32_t spec, struct sim_vthread *parent)
{
    struct sim_start start = {.spec = spec, .index = w->started[spec]++};
    start.random = sim_draws_of_thread(w->run->options.seed, spec, start.index);
    struct sim_vthread *v = sim_world_start(w, &start);
    if (v)
        v->player->parent = parent;
    return v;
}
