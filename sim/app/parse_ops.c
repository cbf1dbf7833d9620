#include "sim/app/parser.h"

#include <string.h>

static bool parse_op_block(struct sim_parser *p, uint32_t *out);

/* ---- locks that are held where we are ---- */

static const struct sim_held *held_by_name(const struct sim_parser *p, const char *name)
{
    for (uint32_t i = p->held_count; i-- > 0;)
        if (!strcmp(p->held[i].name, name))
            return &p->held[i];
    return NULL;
}

static bool op_holds_lock(const struct sim_op *op)
{
    return op->kind == SIM_OP_LOCK || op->kind == SIM_OP_MONITOR || op->kind == SIM_OP_READ_LOCK ||
           op->kind == SIM_OP_WRITE_LOCK || op->kind == SIM_OP_SPIN;
}

/* Rejects a lock that the thread already holds; only monitors are recursive. */
static bool check_lock_not_held(struct sim_parser *p, const struct sim_op *op)
{
    const struct sim_mention *m = &p->mentions[op->object];
    if (op->kind == SIM_OP_MONITOR || !held_by_name(p, m->name))
        return true;
    return sim_parse_fault(p, &m->place, "expected %s that is not held here already, found '%s'",
                           sim_arg_text(m->wanted), m->name);
}

static bool held_block(struct sim_parser *p, const struct sim_op *op, uint32_t *out)
{
    if (!op_holds_lock(op))
        return parse_op_block(p, out);
    p->held[p->held_count++] = (struct sim_held){p->mentions[op->object].name, op->kind};
    bool fine = parse_op_block(p, out);
    p->held_count--;
    return fine;
}

static bool held_lock(struct sim_parser *p, uint32_t *out)
{
    if (!sim_parse_mention(p, SIM_ARG_HELD, out))
        return false;
    const struct sim_mention *m = &p->mentions[*out];
    const struct sim_held *held = held_by_name(p, m->name);
    if (held && held->by != SIM_OP_READ_LOCK && held->by != SIM_OP_WRITE_LOCK)
        return true;
    return sim_parse_fault(p, &m->place, "expected a mutex or monitor in whose block we are, found '%s'", m->name);
}

/* ---- one operation ---- */

static bool arm(struct sim_parser *p)
{
    struct sim_arm a;
    uint64_t weight;
    if (!sim_parse_count(p, "the weight of a choice", 1, SIM_TIMES_MAX, &weight) || !parse_op_block(p, &a.block))
        return false;
    a.weight = (uint32_t)weight;
    struct sim_arm *arms = sim_array_grow(p->open_arms, p->open_arm_count, sizeof *arms);
    if (!arms)
        return sim_parse_no_memory(p);
    p->open_arms = arms;
    p->open_arms[p->open_arm_count++] = a;
    return true;
}

/* Moves the arms from `begin` on to their final place. */
static bool close_arms(struct sim_parser *p, uint32_t begin, struct sim_op *op)
{
    struct sim_scenario *s = p->s;
    op->first = s->arm_count;
    op->count = p->open_arm_count - begin;
    for (uint32_t i = begin; i < p->open_arm_count; i++) {
        struct sim_arm *arms = sim_array_grow(s->arms, s->arm_count, sizeof *arms);
        if (!arms)
            return sim_parse_no_memory(p);
        s->arms = arms;
        s->arms[s->arm_count++] = p->open_arms[i];
    }
    p->open_arm_count = begin;
    return true;
}

static bool arms(struct sim_parser *p, struct sim_op *op)
{
    uint32_t begin = p->open_arm_count;
    if (!sim_parse_expect(p, "{"))
        return false;
    sim_parse_skip_lines(p);
    do {
        if (p->open_arm_count - begin == SIM_ARMS_MAX)
            return sim_parse_expected(p, "at most %d choices", SIM_ARMS_MAX);
        if (!arm(p))
            return false;
        sim_parse_skip_lines(p);
    } while (!sim_parse_accept(p, "}"));
    return close_arms(p, begin, op);
}

static bool parse_fault_op(struct sim_parser *p, struct sim_op *op)
{
    struct sim_place place = {p->source, op->line, op->column};
    struct sim_fault fault;
    if (!sim_parse_injected(p, &place, &fault))
        return false;
    struct sim_fault *faults = sim_array_grow(p->op_faults, p->op_fault_count, sizeof *faults);
    if (!faults)
        return sim_parse_no_memory(p);
    p->op_faults = faults;
    p->op_faults[p->op_fault_count] = fault;
    op->object = p->op_fault_count++;
    return true;
}

static bool parse_op_step(struct sim_parser *p, enum sim_arg arg, struct sim_op *op)
{
    switch (arg) {
    case SIM_ARG_NONE: return true;
    case SIM_ARG_TIME:
    case SIM_ARG_TIMEOUT:
    case SIM_ARG_TIMES:
    case SIM_ARG_DEPTH:
    case SIM_ARG_AMOUNT: return sim_parse_dist(p, arg, &op->amount);
    case SIM_ARG_SIZE: return sim_parse_dist(p, arg, &op->size);
    case SIM_ARG_METHOD:
    case SIM_ARG_NATIVE:
    case SIM_ARG_COND:
    case SIM_ARG_SEM:
    case SIM_ARG_QUEUE:
    case SIM_ARG_THREAD:
    case SIM_ARG_IMAGE:
    case SIM_ARG_ANY_IMAGE: return sim_parse_mention(p, arg, &op->object);
    case SIM_ARG_MUTEX:
    case SIM_ARG_MONITOR:
    case SIM_ARG_RWLOCK: return sim_parse_mention(p, arg, &op->object) && check_lock_not_held(p, op);
    case SIM_ARG_POSTED: return sim_parse_mention(p, arg, &op->method);
    case SIM_ARG_HELD: return held_lock(p, &op->other);
    case SIM_ARG_PRIORITY: return sim_parse_int(p, "a priority", -SIM_PRIORITY_MAX, SIM_PRIORITY_MAX, &op->priority);
    case SIM_ARG_BLOCK: return held_block(p, op, &op->block);
    case SIM_ARG_ELSE: return parse_op_block(p, &op->other_block);
    case SIM_ARG_ARMS: return arms(p, op);
    case SIM_ARG_FAULT: return parse_fault_op(p, op);
    }
    return false;
}

static bool steps(struct sim_parser *p, struct sim_op *op)
{
    const struct sim_syntax *row = &sim_syntax[op->kind];
    for (const struct sim_step *s = row->steps; s < row->steps + SIM_STEPS_MAX && s->arg; s++) {
        if (s->word && !sim_parse_accept(p, s->word)) {
            if (s->optional)
                continue;
            return sim_parse_expected(p, "'%s'", s->word);
        }
        if (!parse_op_step(p, s->arg, op))
            return false;
    }
    return sim_parse_statement_end(p);
}

static bool is_only_computing(enum sim_op_kind kind)
{
    return kind == SIM_OP_COMPUTE || kind == SIM_OP_REPEAT || kind == SIM_OP_FOREVER || kind == SIM_OP_CHOOSE;
}

static bool kind_of_op(struct sim_parser *p, enum sim_op_kind *kind)
{
    for (int k = 0; k < SIM_OP_KINDS; k++) {
        if (!sim_token_is(&p->token, sim_syntax[k].word))
            continue;
        *kind = (enum sim_op_kind)k;
        if (p->in_frameless && !is_only_computing(*kind))
            return sim_parse_expected(p, "nothing but compute, repeat, forever and choose in a frameless method");
        return true;
    }
    return sim_parse_expected(p, "an operation or '}'");
}

static bool operation(struct sim_parser *p, enum sim_op_kind *kind)
{
    struct sim_op op = {
        .line = p->token.line, .column = p->token.column, .amount = sim_dist_constant(0), .size = sim_dist_constant(0)};
    if (p->s->op_count + p->open_op_count >= SIM_OPS_MAX)
        return sim_parse_expected(p, "at most %d operations", SIM_OPS_MAX);
    if (!kind_of_op(p, &op.kind))
        return false;
    *kind = op.kind;
    sim_parse_next(p);
    if (!steps(p, &op))
        return false;
    struct sim_op *ops = sim_array_grow(p->open_ops, p->open_op_count, sizeof *ops);
    if (!ops)
        return sim_parse_no_memory(p);
    p->open_ops = ops;
    p->open_ops[p->open_op_count++] = op;
    return true;
}

/* ---- blocks ---- */

/* Makes a block of the open operations from `begin` on. An empty block is block 0. */
static bool close_block(struct sim_parser *p, uint32_t begin, uint32_t *out)
{
    struct sim_scenario *s = p->s;
    uint32_t count = p->open_op_count - begin;
    *out = 0;
    if (count == 0)
        return true;
    struct sim_block *blocks = sim_array_grow(s->blocks, s->block_count, sizeof *blocks);
    if (!blocks)
        return sim_parse_no_memory(p);
    s->blocks = blocks;
    s->blocks[s->block_count] = (struct sim_block){s->op_count, count};
    *out = s->block_count++;
    for (uint32_t i = begin; i < p->open_op_count; i++) {
        struct sim_op *ops = sim_array_grow(s->ops, s->op_count, sizeof *ops);
        if (!ops)
            return sim_parse_no_memory(p);
        s->ops = ops;
        s->ops[s->op_count++] = p->open_ops[i];
    }
    p->open_op_count = begin;
    return true;
}

static bool parse_op_block(struct sim_parser *p, uint32_t *out)
{
    uint32_t begin = p->open_op_count;
    if (p->depth == SIM_NESTING_MAX)
        return sim_parse_expected(p, "blocks nested at most %d deep", SIM_NESTING_MAX);
    if (!sim_parse_expect(p, "{"))
        return false;
    p->depth++;
    sim_parse_skip_lines(p);
    while (!sim_parse_accept(p, "}")) {
        enum sim_op_kind kind = SIM_OP_KINDS;
        if (!operation(p, &kind))
            return false;
        sim_parse_skip_lines(p);
        if (sim_syntax[kind].is_last && !sim_token_is(&p->token, "}"))
            return sim_parse_expected(p, "'}', since nothing runs after '%s'", sim_syntax[kind].word);
    }
    p->depth--;
    return close_block(p, begin, out);
}

bool sim_parse_body(struct sim_parser *p, bool frameless, uint32_t *out)
{
    p->in_frameless = frameless;
    return parse_op_block(p, out);
}
