#include "sim/app/parser.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

const char *sim_arg_text(enum sim_arg arg)
{
    switch (arg) {
    case SIM_ARG_METHOD:
    case SIM_ARG_POSTED: return "a method";
    case SIM_ARG_NATIVE: return "a native method";
    case SIM_ARG_MUTEX: return "a mutex";
    case SIM_ARG_MONITOR: return "a monitor";
    case SIM_ARG_RWLOCK: return "an rwlock";
    case SIM_ARG_COND: return "a condition";
    case SIM_ARG_SEM: return "a semaphore";
    case SIM_ARG_QUEUE: return "a queue";
    case SIM_ARG_THREAD: return "a thread";
    case SIM_ARG_IMAGE: return "an image that is loaded later";
    case SIM_ARG_ANY_IMAGE: return "an image";
    case SIM_ARG_HELD: return "a mutex or monitor";
    default: return "a value";
    }
}

static enum sim_table table_of(enum sim_arg arg)
{
    switch (arg) {
    case SIM_ARG_MUTEX:
    case SIM_ARG_MONITOR:
    case SIM_ARG_RWLOCK:
    case SIM_ARG_HELD: return SIM_TABLE_LOCK;
    case SIM_ARG_COND: return SIM_TABLE_COND;
    case SIM_ARG_SEM: return SIM_TABLE_SEM;
    case SIM_ARG_QUEUE: return SIM_TABLE_QUEUE;
    case SIM_ARG_THREAD: return SIM_TABLE_THREAD;
    case SIM_ARG_IMAGE:
    case SIM_ARG_ANY_IMAGE: return SIM_TABLE_IMAGE;
    default: return SIM_TABLE_METHOD;
    }
}

/* Returns the kind of an object, which is finer than its table. */
static enum sim_arg object_kind_of(const struct sim_scenario *s, enum sim_table table, uint32_t index)
{
    static const enum sim_arg locks[] = {
        [SIM_LOCK_MUTEX] = SIM_ARG_MUTEX,
        [SIM_LOCK_MONITOR] = SIM_ARG_MONITOR,
        [SIM_LOCK_RWLOCK] = SIM_ARG_RWLOCK,
    };
    switch (table) {
    case SIM_TABLE_IMAGE: return s->images[index].loaded_at_start ? SIM_ARG_ANY_IMAGE : SIM_ARG_IMAGE;
    case SIM_TABLE_METHOD: return s->methods[index].managed ? SIM_ARG_METHOD : SIM_ARG_NATIVE;
    case SIM_TABLE_LOCK: return locks[s->locks[index].kind];
    case SIM_TABLE_COND: return SIM_ARG_COND;
    case SIM_TABLE_SEM: return SIM_ARG_SEM;
    case SIM_TABLE_QUEUE: return SIM_ARG_QUEUE;
    default: return SIM_ARG_THREAD;
    }
}

static bool arg_accepts_kind(enum sim_arg wanted, enum sim_arg kind)
{
    switch (wanted) {
    case SIM_ARG_METHOD:
    case SIM_ARG_POSTED: return kind == SIM_ARG_METHOD || kind == SIM_ARG_NATIVE;
    case SIM_ARG_ANY_IMAGE: return kind == SIM_ARG_ANY_IMAGE || kind == SIM_ARG_IMAGE;
    case SIM_ARG_HELD: return kind == SIM_ARG_MUTEX || kind == SIM_ARG_MONITOR;
    default: return wanted == kind;
    }
}

static const char *kind_text(enum sim_arg kind)
{
    return kind == SIM_ARG_METHOD      ? "a managed method"
           : kind == SIM_ARG_ANY_IMAGE ? "an image that is there from the start"
                                       : sim_arg_text(kind);
}

/* Replaces the number of a mention by the number of the object. */
static bool resolve_mention(struct sim_parser *p, uint32_t *number)
{
    const struct sim_mention *m = &p->mentions[*number];
    enum sim_table table = table_of(m->wanted);
    const struct sim_declared *d = sim_parse_find(p, table, m->name);
    for (int t = 0; !d && t < SIM_TABLES; t++)
        d = sim_parse_find(p, (enum sim_table)t, m->name);
    if (!d)
        return sim_parse_fault(p, &m->place, "expected %s, found '%s', which is not declared", sim_arg_text(m->wanted),
                               m->name);
    enum sim_arg kind = object_kind_of(p->s, d->table, d->index);
    if (d->table != table || !arg_accepts_kind(m->wanted, kind))
        return sim_parse_fault(p, &m->place, "expected %s, found '%s', which is %s (%s:%u:%u)", sim_arg_text(m->wanted),
                               m->name, kind_text(kind), d->place.source->path, d->place.line, d->place.column);
    *number = d->index;
    return true;
}

static bool resolve_op(struct sim_parser *p, struct sim_op *op)
{
    const struct sim_syntax *row = &sim_syntax[op->kind];
    for (const struct sim_step *s = row->steps; s < row->steps + SIM_STEPS_MAX && s->arg; s++) {
        bool is_object = s->arg >= SIM_ARG_METHOD && s->arg <= SIM_ARG_IMAGE && s->arg != SIM_ARG_POSTED;
        if (is_object && !resolve_mention(p, &op->object))
            return false;
        if (s->arg == SIM_ARG_POSTED && !resolve_mention(p, &op->method))
            return false;
        if (s->arg == SIM_ARG_HELD && !resolve_mention(p, &op->other))
            return false;
    }
    return true;
}

/* Methods outside of an image block belong to the first image; there is always one. */
static bool resolve_images(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    if (s->image_count == 0) {
        s->images = sim_array_grow(NULL, 0, sizeof *s->images);
        if (!s->images)
            return sim_parse_no_memory(p);
        s->images[s->image_count++] = (struct sim_image){.name = "app", .loaded_at_start = true};
    }
    for (uint32_t i = 0; i < s->method_count; i++) {
        if (s->methods[i].image == UINT32_MAX)
            s->methods[i].image = 0;
        else if (!resolve_mention(p, &s->methods[i].image))
            return false;
    }
    return true;
}

static bool append_op_faults(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == SIM_OP_FAULT)
            s->ops[i].object += s->fault_count;
    for (uint32_t i = 0; i < p->op_fault_count; i++) {
        struct sim_fault *faults = sim_array_grow(s->faults, s->fault_count, sizeof *faults);
        if (!faults)
            return sim_parse_no_memory(p);
        s->faults = faults;
        s->faults[s->fault_count++] = p->op_faults[i];
    }
    return true;
}

static bool resolve_all(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    if (!resolve_images(p))
        return false;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (!resolve_op(p, &s->ops[i]))
            return false;
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (!resolve_mention(p, &s->threads[i].entry))
            return false;
    for (uint32_t i = 0; i < s->queue_count; i++) {
        struct sim_queue *q = &s->queues[i];
        if (!q->vsync_period_ns)
            q->frame_method = 0;
        else if (!resolve_mention(p, &q->frame_method))
            return false;
    }
    if (!append_op_faults(p))
        return false;
    for (uint32_t i = 0; i < s->fault_count; i++) {
        uint32_t thread = s->faults[i].thread - 1;
        if (s->faults[i].thread && !resolve_mention(p, &thread))
            return false;
        s->faults[i].thread = s->faults[i].thread ? thread + 1 : 0;
    }
    return true;
}

/* ---- addresses ---- */

static uint32_t ops_within(const struct sim_scenario *s, uint32_t block)
{
    const struct sim_block *b = &s->blocks[block];
    uint32_t sum = b->count;
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct sim_op *op = &s->ops[i];
        sum += ops_within(s, op->block) + ops_within(s, op->other_block);
        for (uint32_t a = op->first; a < op->first + op->count; a++)
            sum += ops_within(s, s->arms[a].block);
    }
    return sum;
}

/* Lays out methods in order of declaration, with 16 bytes of code per operation. */
static void lay_out_methods(struct sim_scenario *s)
{
    const uint64_t first = UINT64_C(0x550000000000), apart = UINT64_C(1) << 32, page = 4096;
    enum { PROLOGUE = 16, OP = 16, LEAST = 64 };
    for (uint32_t i = 0; i < s->image_count; i++) {
        s->images[i].start = first + i * apart;
        s->images[i].bytes = page;
    }
    for (uint32_t i = 0; i < s->method_count; i++) {
        struct sim_method *m = &s->methods[i];
        struct sim_image *image = &s->images[m->image];
        uint64_t bytes = PROLOGUE + OP * (1 + (uint64_t)ops_within(s, m->block));
        m->address = image->start + image->bytes;
        m->bytes = bytes < LEAST ? LEAST : bytes;
        image->bytes += m->bytes;
    }
    for (uint32_t i = 0; i < s->image_count; i++)
        s->images[i].bytes = (s->images[i].bytes + page - 1) / page * page;
}

/* ---- calls without end ----
 *
 * A call is certain when it is outside of choices and of blocks that may run 0 times. Certain calls of a method must
 * not lead back to it: it would never return. A method is removed from the graph of certain calls once all its callees
 * are removed. If methods are left, they contain a cycle. */

struct call {
    uint32_t from, to, next_to;
}; /* next_to: the next call of `to` */

struct graph {
    struct call *calls;
    uint32_t call_count;
    uint32_t *calls_of, *left, *order; /* by method: first call of it, calls that it still makes; methods, callees
                                          first */
    uint32_t order_count;
};

static uint64_t dist_least(const struct sim_dist *d)
{
    uint64_t min = d->a;
    if (d->kind == SIM_DIST_LIST) {
        min = d->values[0];
        for (uint32_t i = 1; i < d->count; i++)
            min = d->values[i] < min ? d->values[i] : min;
    }
    return min;
}

static bool op_is_call(const struct sim_op *op)
{
    return op->kind == SIM_OP_CALL || op->kind == SIM_OP_RECURSE || op->kind == SIM_OP_JNI;
}

static bool runs_for_sure(const struct sim_op *op)
{
    return op->kind != SIM_OP_REPEAT || dist_least(&op->amount) > 0;
}

static bool graph_add_calls(struct sim_parser *p, struct graph *g, uint32_t method, uint32_t block)
{
    const struct sim_block *b = &p->s->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct sim_op *op = &p->s->ops[i];
        if (op_is_call(op)) {
            struct call *calls = sim_array_grow(g->calls, g->call_count, sizeof *calls);
            if (!calls)
                return sim_parse_no_memory(p);
            g->calls = calls;
            g->calls[g->call_count] = (struct call){method, op->object, g->calls_of[op->object]};
            g->calls_of[op->object] = g->call_count++;
            g->left[method]++;
        }
        if (runs_for_sure(op) && !graph_add_calls(p, g, method, op->block))
            return false;
    }
    return true;
}

static void graph_sort_methods(struct graph *g, uint32_t method_count)
{
    for (uint32_t m = 0; m < method_count; m++)
        if (g->left[m] == 0)
            g->order[g->order_count++] = m;
    for (uint32_t i = 0; i < g->order_count; i++)
        for (uint32_t c = g->calls_of[g->order[i]]; c != UINT32_MAX; c = g->calls[c].next_to)
            if (--g->left[g->calls[c].from] == 0)
                g->order[g->order_count++] = g->calls[c].from;
}

/* Reports one method of a cycle and its callee. A walk along the remaining calls with as many steps as there are
 * methods ends on a cycle. */
static bool report_call_cycle(struct sim_parser *p, const struct graph *g)
{
    uint32_t at = 0, least_of_cycle;
    while (!g->left[at])
        at++;
    uint32_t *next = malloc(p->s->method_count * sizeof *next);
    if (!next)
        return sim_parse_no_memory(p);
    for (uint32_t c = g->call_count; c-- > 0;)
        if (g->left[g->calls[c].from] && g->left[g->calls[c].to])
            next[g->calls[c].from] = g->calls[c].to;
    for (uint32_t i = 0; i < p->s->method_count; i++)
        at = next[at];
    least_of_cycle = at;
    for (uint32_t m = next[at]; m != at; m = next[m])
        least_of_cycle = m < least_of_cycle ? m : least_of_cycle;
    const struct sim_method *methods = p->s->methods;
    uint32_t callee = next[least_of_cycle];
    free(next);
    if (callee == least_of_cycle)
        return sim_parse_fault(p, &p->method_places[callee],
                               "expected a method that returns, found '%s', which always "
                               "calls itself; recursion is `recurse`, or a call in a `choose`",
                               methods[callee].name);
    return sim_parse_fault(p, &p->method_places[least_of_cycle],
                           "expected a method that returns, found '%s', which "
                           "always calls '%s', which leads back to it",
                           methods[least_of_cycle].name, methods[callee].name);
}

/* ---- loops without passing time ----
 *
 * In a `forever`, time must pass, or the loop must be left; otherwise the run would never get past it. `caught`: a
 * handler inside the loop may catch an exception, so a throw does not count as leaving the loop. */

static bool passes(const struct sim_scenario *s, const bool *passing, uint32_t block, bool caught);

static bool op_passes(const struct sim_scenario *s, const bool *passing, const struct sim_op *op, bool caught)
{
    switch (op->kind) {
    case SIM_OP_COMPUTE:
    case SIM_OP_READ:
    case SIM_OP_WRITE:
    case SIM_OP_OPEN:
    case SIM_OP_SYNC:
    case SIM_OP_NET:
    case SIM_OP_IPC:
    case SIM_OP_SLEEP:
    case SIM_OP_LOAD: return sim_dist_mean(&op->amount) >= 1;
    case SIM_OP_WAIT:
    case SIM_OP_SEM_WAIT:
    case SIM_OP_PARK:
    case SIM_OP_LOOP:
    case SIM_OP_EXIT: return true;
    case SIM_OP_THROW: return !caught;
    case SIM_OP_CATCH: return passes(s, passing, op->block, true);
    case SIM_OP_CALL:
    case SIM_OP_RECURSE:
    case SIM_OP_JNI: return passing[op->object];
    case SIM_OP_CHOOSE:
        for (uint32_t a = op->first; a < op->first + op->count; a++)
            if (!passes(s, passing, s->arms[a].block, caught))
                return false;
        return true;
    default: return runs_for_sure(op) && passes(s, passing, op->block, caught);
    }
}

static bool passes(const struct sim_scenario *s, const bool *passing, uint32_t block, bool caught)
{
    const struct sim_block *b = &s->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        if (op_passes(s, passing, &s->ops[i], caught))
            return true;
    return false;
}

static bool loops_pass(struct sim_parser *p, const bool *passing, uint32_t method, uint32_t block)
{
    const struct sim_scenario *s = p->s;
    const struct sim_block *b = &s->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct sim_op *op = &s->ops[i];
        if (op->kind == SIM_OP_FOREVER && !passes(s, passing, op->block, false)) {
            struct sim_place place = {p->method_places[method].source, op->line, op->column};
            return sim_parse_fault(p, &place,
                                   "expected a 'forever' with something in it that always takes time, "
                                   "found none in '%s'",
                                   s->methods[method].name);
        }
        if (!loops_pass(p, passing, method, op->block) || !loops_pass(p, passing, method, op->other_block))
            return false;
        for (uint32_t a = op->first; a < op->first + op->count; a++)
            if (!loops_pass(p, passing, method, s->arms[a].block))
                return false;
    }
    return true;
}

static bool check_graph(struct sim_parser *p, struct graph *g, bool *passing)
{
    struct sim_scenario *s = p->s;
    for (uint32_t m = 0; m < s->method_count; m++)
        g->calls_of[m] = UINT32_MAX;
    for (uint32_t m = 0; m < s->method_count; m++)
        if (!graph_add_calls(p, g, m, s->methods[m].block))
            return false;
    graph_sort_methods(g, s->method_count);
    if (g->order_count < s->method_count)
        return report_call_cycle(p, g);
    for (uint32_t i = 0; i < s->method_count; i++)
        passing[g->order[i]] = passes(s, passing, s->methods[g->order[i]].block, true);
    for (uint32_t m = 0; m < s->method_count; m++)
        if (!loops_pass(p, passing, m, s->methods[m].block))
            return false;
    return true;
}

static bool check_calls(struct sim_parser *p)
{
    size_t n = p->s->method_count + 1;
    struct graph g = {.calls_of = calloc(n, sizeof *g.calls_of),
                      .left = calloc(n, sizeof *g.left),
                      .order = calloc(n, sizeof *g.order)};
    bool *passing = calloc(n, sizeof *passing);
    bool fine = g.calls_of && g.left && g.order && passing ? check_graph(p, &g, passing) : sim_parse_no_memory(p);
    free(g.calls);
    free(g.calls_of);
    free(g.left);
    free(g.order);
    free(passing);
    return fine;
}

/* Checks the mandatory declarations. A missing one is reported at the end of the file. */
static bool check_mandatory_declarations(struct sim_parser *p)
{
    if (!p->scenario_place.source)
        return sim_parse_expected(p, "a line 'scenario NAME \"ABOUT\"'");
    if (!p->duration_place.source)
        return sim_parse_expected(p, "a line 'duration TIME'");
    if (!p->main_place.source)
        return sim_parse_expected(p, "a thread that is main");
    return true;
}

bool sim_parse_resolve(struct sim_parser *p)
{
    if (!check_mandatory_declarations(p) || !resolve_all(p) || !check_calls(p))
        return false;
    lay_out_methods(p->s);
    return true;
}
