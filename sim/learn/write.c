#include "sim/learn/write.h"
#include "sim/learn/writer.h"

#include "engine/trace/model/function_tree.h"
#include "sim/app/syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- declarations ---- */

static void put_object(struct sim_text *out, const struct learn_object *o, uint32_t number)
{
    switch (o->kind) {
    case STROBE_KIND_MUTEX: sim_text_put(out, "mutex mutex_%u\n", number); break;
    case STROBE_KIND_MONITOR: sim_text_put(out, "monitor monitor_%u\n", number); break;
    case STROBE_KIND_RWLOCK: sim_text_put(out, "rwlock rwlock_%u\n", number); break;
    case STROBE_KIND_COND: sim_text_put(out, "mutex cond_%u_lock\ncond cond_%u\n", number, number); break;
    case STROBE_KIND_SEM: sim_text_put(out, "semaphore sem_%u\n", number); break;
    default: break;
    }
}

static void put_queues(const struct learn_writer *w, struct sim_text *out)
{
    for (uint32_t g = 0; g < w->a->group_count; g++) {
        if (!w->a->groups[g].loops || sim_learn_queue_of(w->a, g) != g)
            continue;
        sim_text_put(out, "queue queue_%u", g);
        for (size_t i = 0; i < w->posted_count; i++) {
            const struct learn_posted *p = &w->posted[i];
            if (p->group != g || !p->period_ns)
                continue;
            sim_text_put(out, " vsync %lluns frame", (unsigned long long)p->period_ns);
            sim_learn_put_name(out, p->key);
        }
        sim_text_put(out, "\n");
    }
}

static void put_group_threads(struct learn_writer *w, uint32_t group, const char *key)
{
    const struct learn_group *g = &w->a->groups[group];
    struct sim_text *out = &w->threads;
    uint64_t *starts = malloc((g->thread_count + 1) * sizeof *starts);
    size_t count = 0;
    bool later = false;
    for (uint32_t i = 0; starts && i < g->thread_count; i++) {
        starts[count++] = w->a->threads[g->threads[i]].track->begin_ns;
        later |= starts[count - 1] >= 1000;
    }
    sim_text_put(out, "thread");
    sim_learn_put_name(out, g->name);
    sim_text_put(out, "%s", g->is_main ? " main" : "");
    if (g->count != 1 && !g->is_main)
        sim_text_put(out, " x%u", g->count);
    if (later && g->count && !g->is_main) {
        sim_text_put(out, " start");
        sim_learn_put_sample(w, out, starts, count, 0);
    }
    sim_text_put(out, " run");
    sim_learn_put_name(out, key);
    sim_text_put(out, "\n");
    w->failed |= !starts;
    free(starts);
}

static void put_head(const struct learn_writer *w, struct sim_text *out)
{
    const struct learn_plan *p = w->plan;
    uint64_t ms = w->a->end_ns / 1000000;
    sim_text_put(out, "scenario %s", p->name);
    sim_learn_put_name(out, p->about);
    sim_text_put(out, "\nduration %llums\ncores %u\nconfig ring_slots 524288\n\n", (unsigned long long)(ms ? ms : 1),
                 p->cores);
    for (uint32_t i = 0; i < w->a->object_count; i++)
        put_object(out, &w->a->objects[i], i);
    put_queues(w, out);
}

/* Sums up the time in which threads waited for a processor, and in which they were off theirs for an unknown cause. */
static void sum_idle(const struct learn_app *a, struct learn_losses *out)
{
    for (uint32_t i = 0; i < a->thread_count; i++) {
        const struct sim_track *t = a->threads[i].track;
        const struct strobe_text_pool *names = &a->captures[a->threads[i].capture].names;
        for (size_t k = 0; k < t->idle_count; k++) {
            bool is_runnable = !strcmp(names->texts[t->idle[k].value], STROBE_RUNNABLE_TEXT);
            *(is_runnable ? &out->runnable_ns : &out->idle_ns) += t->idle[k].end_ns - t->idle[k].begin_ns;
        }
    }
}

static void writer_close(struct learn_writer *w)
{
    strobe_idmap_free(&w->uses);
    strobe_text_pool_free(&w->bodies);
    free(w->keys);
    for (size_t i = 0; i < w->posted_count; i++)
        free(w->posted[i].spans);
    free(w->posted);
    free(w->sites);
    free(w->methods.text);
    free(w->threads.text);
}

char *sim_learn_write_scenario(const struct learn_app *a, struct learn_plan *plan)
{
    struct learn_writer w = {.a = a, .plan = plan};
    struct sim_text out = {0};
    char key[LEARN_KEY_BYTES];
    plan->losses = (struct learn_losses){0};
    for (uint32_t i = 0; i < a->call_count; i++) {
        bool is_gap = a->calls[i].class == SIM_CALL_GAP;
        plan->losses.unseen += is_gap;
        plan->losses.unseen_ns += is_gap ? a->calls[i].end_ns - a->calls[i].begin_ns : 0;
    }
    sum_idle(a, &plan->losses);
    sim_learn_find_sites(&w);
    sim_learn_find_messages(&w);
    for (uint32_t g = 0; g < a->group_count && !w.failed; g++) {
        sim_learn_put_group(&w, g, key);
        put_group_threads(&w, g, key);
    }
    sim_learn_put_messages(&w);
    put_head(&w, &out);
    sim_text_put(&out, "\n%s\n%s", w.methods.text ? w.methods.text : "", w.threads.text ? w.threads.text : "");
    bool failed = w.failed || w.methods.failed || w.threads.failed || out.failed;
    writer_close(&w);
    if (failed)
        free(out.text);
    return failed ? NULL : out.text;
}
