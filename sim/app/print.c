#include "sim/app/syntax.h"
#include "sim/app/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct out {
    struct sim_text text;
    const struct sim_scenario *s;
};

#define put(o, ...) sim_text_put(&(o)->text, __VA_ARGS__)

/* ---- names and values ---- */

static bool is_word(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "0123456789.$:-";
    size_t n = strspn(name, letters);
    while (n && name[n] && (strchr(letters, name[n]) || strchr(others, name[n])))
        n++;
    return n && !name[n];
}

static void put_text(struct out *o, const char *text)
{
    put(o, " \"");
    for (; *text; text++)
        put(o, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    put(o, "\"");
}

static void print_name(struct out *o, const char *name)
{
    if (is_word(name))
        put(o, " %s", name);
    else
        put_text(o, name);
}

/* Prints a value in the largest unit in which it is a whole number. */
static void put_value(struct out *o, uint64_t value, const struct sim_unit *units)
{
    const struct sim_unit *best = units;
    for (const struct sim_unit *u = units; value && u && u->name; u++)
        best = value % u->factor == 0 ? u : best;
    put(o, "%llu%s", (unsigned long long)(value / (units ? best->factor : 1)), units ? best->name : "");
}

/* Prints the shortest decimal fraction that reads back as the same value. */
static void put_decimal(struct out *o, double x)
{
    char text[64];
    int decimals = 0;
    do
        snprintf(text, sizeof text, "%.*f", decimals, x);
    while (strtod(text, NULL) != x && ++decimals <= 18);
    put(o, "%s", text);
}

static void put_dist(struct out *o, const struct sim_dist *d, const struct sim_unit *units)
{
    put(o, d->kind == SIM_DIST_EXPONENTIAL ? " exp("
           : d->kind == SIM_DIST_LOGNORMAL ? " lognormal("
           : d->kind == SIM_DIST_LIST      ? " one_of("
                                           : " ");
    if (d->kind != SIM_DIST_LIST)
        put_value(o, d->a, units);
    if (d->kind == SIM_DIST_UNIFORM) {
        put(o, "..");
        put_value(o, d->b, units);
    } else if (d->kind == SIM_DIST_LOGNORMAL) {
        put(o, ", ");
        put_decimal(o, d->sigma);
    }
    for (uint32_t i = 0; i < d->count; i++) {
        put(o, i ? ", " : "");
        put_value(o, d->values[i], units);
    }
    if (d->kind >= SIM_DIST_EXPONENTIAL)
        put(o, ")");
}

/* ---- operations ---- */

static void print_block(struct out *o, uint32_t block, unsigned indent);

static void put_fault(struct out *o, const struct sim_fault *f)
{
    put(o, "fault %s", sim_fault_word(f->kind));
    if (f->amount)
        put(o, " of %llu%s", (unsigned long long)f->amount, f->amount > SIM_BYTES_MAX ? "ns" : "");
    if (f->at_ns) {
        put(o, " at ");
        put_value(o, f->at_ns, sim_time_units);
    }
    if (f->times)
        put(o, " times %u", f->times);
    if (f->chance < 1) {
        put(o, " chance ");
        put_decimal(o, f->chance);
    }
    if (f->thread) {
        put(o, " thread");
        print_name(o, o->s->threads[f->thread - 1].name);
    }
}

static void put_arms(struct out *o, const struct sim_op *op, unsigned indent)
{
    put(o, " {\n");
    for (uint32_t a = op->first; a < op->first + op->count; a++) {
        put(o, "%*s%u", (int)indent + 4, "", o->s->arms[a].weight);
        print_block(o, o->s->arms[a].block, indent + 4);
        put(o, "\n");
    }
    put(o, "%*s}", (int)indent, "");
}

static bool is_left_out(const struct sim_op *op, const struct sim_step *step)
{
    return step->optional &&
           (step->arg == SIM_ARG_PRIORITY ? op->priority == 0
                                          : op->amount.kind == SIM_DIST_CONSTANT && op->amount.a == 0);
}

static void put_step(struct out *o, const struct sim_op *op, enum sim_arg arg, unsigned indent)
{
    const struct sim_scenario *s = o->s;
    switch (arg) {
    case SIM_ARG_NONE: break;
    case SIM_ARG_TIME:
    case SIM_ARG_TIMEOUT: put_dist(o, &op->amount, sim_time_units); break;
    case SIM_ARG_TIMES:
    case SIM_ARG_DEPTH: put_dist(o, &op->amount, NULL); break;
    case SIM_ARG_AMOUNT: put_dist(o, &op->amount, sim_size_units); break;
    case SIM_ARG_SIZE: put_dist(o, &op->size, sim_size_units); break;
    case SIM_ARG_METHOD:
    case SIM_ARG_NATIVE: print_name(o, s->methods[op->object].key); break;
    case SIM_ARG_POSTED: print_name(o, s->methods[op->method].key); break;
    case SIM_ARG_MUTEX:
    case SIM_ARG_MONITOR:
    case SIM_ARG_RWLOCK: print_name(o, s->locks[op->object].name); break;
    case SIM_ARG_HELD: print_name(o, s->locks[op->other].name); break;
    case SIM_ARG_COND: print_name(o, s->conds[op->object].name); break;
    case SIM_ARG_SEM: print_name(o, s->sems[op->object].name); break;
    case SIM_ARG_QUEUE: print_name(o, s->queues[op->object].name); break;
    case SIM_ARG_THREAD: print_name(o, s->threads[op->object].name); break;
    case SIM_ARG_IMAGE:
    case SIM_ARG_ANY_IMAGE: print_name(o, s->images[op->object].name); break;
    case SIM_ARG_PRIORITY: put(o, " %d", op->priority); break;
    case SIM_ARG_BLOCK: print_block(o, op->block, indent); break;
    case SIM_ARG_ELSE: print_block(o, op->other_block, indent); break;
    case SIM_ARG_ARMS: put_arms(o, op, indent); break;
    case SIM_ARG_FAULT: break;
    }
}

static void print_op(struct out *o, const struct sim_op *op, unsigned indent)
{
    const struct sim_syntax *row = &sim_syntax[op->kind];
    put(o, "%*s", (int)indent, "");
    if (op->kind == SIM_OP_FAULT)
        put_fault(o, &o->s->faults[op->object]);
    else
        put(o, "%s", row->word);
    for (const struct sim_step *s = row->steps; s < row->steps + SIM_STEPS_MAX && s->arg; s++) {
        if (is_left_out(op, s))
            continue;
        if (s->word)
            put(o, " %s", s->word);
        put_step(o, op, s->arg, indent);
    }
    put(o, "\n");
}

static void print_block(struct out *o, uint32_t block, unsigned indent)
{
    const struct sim_block *b = &o->s->blocks[block];
    if (b->count == 0) {
        put(o, " { }");
        return;
    }
    put(o, " {\n");
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        print_op(o, &o->s->ops[i], indent + 4);
    put(o, "%*s}", (int)indent, "");
}

/* ---- declarations ---- */

static void put_settings(struct out *o)
{
    struct strobe_config plain;
    strobe_config_default(&plain);
    for (const struct sim_setting *setting = sim_settings; setting->name; setting++) {
        uint64_t value = sim_setting_get(setting, &o->s->config);
        if (value == sim_setting_get(setting, &plain))
            continue;
        put(o, "config %s", setting->name);
        if (setting->kind == SIM_SETTING_KEEP) {
            put(o, " %s", sim_keep_names[value]);
        } else if (setting->kind == SIM_SETTING_METRICS) {
            for (unsigned i = 0; i < SIM_METRIC_NAMES; i++)
                put(o, "%s%s", value >> i & 1 ? " " : "", value >> i & 1 ? sim_metric_names[i] : "");
            put(o, value ? "" : " none");
        } else {
            put(o, " ");
            put_value(o, value, setting->kind == SIM_SETTING_TIME ? sim_time_units : NULL);
        }
        put(o, "\n");
    }
}

static void put_objects(struct out *o)
{
    static const char *const lock_words[] = {
        [SIM_LOCK_MUTEX] = "mutex",
        [SIM_LOCK_MONITOR] = "monitor",
        [SIM_LOCK_RWLOCK] = "rwlock",
    };
    const struct sim_scenario *s = o->s;
    for (uint32_t i = 0; i < s->image_count; i++) {
        put(o, "image");
        print_name(o, s->images[i].name);
        put(o, s->images[i].loaded_at_start ? "\n" : " later\n");
    }
    for (uint32_t i = 0; i < s->lock_count; i++) {
        put(o, "%s", lock_words[s->locks[i].kind]);
        print_name(o, s->locks[i].name);
        put(o, "\n");
    }
    for (uint32_t i = 0; i < s->cond_count; i++) {
        put(o, "cond");
        print_name(o, s->conds[i].name);
        put(o, "\n");
    }
    for (uint32_t i = 0; i < s->sem_count; i++) {
        put(o, "semaphore");
        print_name(o, s->sems[i].name);
        put(o, " %u\n", s->sems[i].count);
    }
    for (uint32_t i = 0; i < s->queue_count; i++) {
        put(o, "queue");
        print_name(o, s->queues[i].name);
        if (s->queues[i].vsync_period_ns) {
            put(o, " vsync ");
            put_value(o, s->queues[i].vsync_period_ns, sim_time_units);
            put(o, " frame");
            print_name(o, s->methods[s->queues[i].frame_method].key);
        }
        put(o, "\n");
    }
}

static void print_method(struct out *o, const struct sim_method *m)
{
    put(o, "method");
    print_name(o, m->key);
    if (strcmp(m->key, m->name) != 0) {
        put(o, " as");
        print_name(o, m->name);
    }
    put(o, "%s%s", m->managed ? " managed" : "", m->frameless ? " frameless" : "");
    if (m->frame_bytes != (m->frameless ? 0 : SIM_FRAME_DEFAULT))
        put(o, " frame %u", m->frame_bytes);
    if (m->image) {
        put(o, " in");
        print_name(o, o->s->images[m->image].name);
    }
    print_block(o, m->block, 0);
    put(o, "\n");
}

static void print_thread_spec(struct out *o, const struct sim_thread_spec *t)
{
    put(o, "thread");
    print_name(o, t->name);
    put(o, "%s", t->is_main ? " main" : "");
    if (t->count != 1)
        put(o, " x%u", t->count);
    if (t->start.kind != SIM_DIST_CONSTANT || t->start.a) {
        put(o, " start");
        put_dist(o, &t->start, sim_time_units);
    }
    if (t->nice)
        put(o, " nice %d", t->nice);
    if (t->tid)
        put(o, " tid %llu", (unsigned long long)t->tid);
    put(o, "%s run", t->reuse_tid ? " reuse_tid" : "");
    print_name(o, o->s->methods[t->entry].key);
    put(o, "\n");
}

/* Prints the faults that no operation arms. */
static void put_faults(struct out *o)
{
    const struct sim_scenario *s = o->s;
    for (uint32_t i = 0; i < s->fault_count; i++) {
        bool is_in_op = false;
        for (uint32_t k = 0; k < s->op_count && !is_in_op; k++)
            is_in_op = s->ops[k].kind == SIM_OP_FAULT && s->ops[k].object == i;
        if (is_in_op)
            continue;
        put_fault(o, &s->faults[i]);
        put(o, "\n");
    }
}

static void put_expects(struct out *o)
{
    for (uint32_t i = 0; i < o->s->expect_count; i++) {
        const struct sim_expect *e = &o->s->expects[i];
        put(o, "expect");
        print_name(o, e->score);
        print_name(o, e->policy);
        if (e->runtime)
            put(o, " on %s", e->runtime);
        put(o, " ");
        put_decimal(o, e->low);
        put(o, "..");
        put_decimal(o, e->high);
        put(o, "\n");
    }
}

char *sim_scenario_print(const struct sim_scenario *s)
{
    struct out o = {.s = s};
    put(&o, "scenario %s", s->name);
    put_text(&o, s->about);
    put(&o, "\nduration ");
    put_value(&o, s->duration_ns, sim_time_units);
    put(&o, "\ncores %u\n", s->cores);
    if (s->busy)
        put(&o, "busy %u\n", s->busy);
    put_settings(&o);
    put_objects(&o);
    for (uint32_t i = 0; i < s->method_count; i++)
        print_method(&o, &s->methods[i]);
    for (uint32_t i = 0; i < s->thread_count; i++)
        print_thread_spec(&o, &s->threads[i]);
    put_faults(&o);
    put_expects(&o);
    if (o.text.failed)
        free(o.text.text);
    return o.text.failed ? NULL : o.text.text;
}
