#include "tests/sim/support/litmus_axioms.h"

#include "sim/explore/access.h"
#include "sim/explore/litmus/litmus_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- programs */

struct translation {
    const struct explore_litmus *test;
    struct axioms_program *out;
    uint32_t thread;
    bool fits;
};

static bool statements(struct translation *t, uint32_t first);

static const struct litmus_node *node_at(const struct translation *t, uint32_t n)
{
    return &t->test->node[n];
}

static struct axioms_op *add(struct translation *t, const struct axioms_op *op)
{
    uint32_t *count = &t->out->op_count[t->thread];
    if (*count == AXIOMS_OPS_MAX) {
        t->fits = false;
        return &t->out->op[t->thread][0];
    }
    t->out->op[t->thread][*count] = *op;
    return &t->out->op[t->thread][(*count)++];
}

static uint8_t location(struct translation *t, uint32_t n)
{
    const struct litmus_node *a = node_at(t, n);
    int64_t l = (a->value - LITMUS_ADDRESS(0)) / 16;
    t->fits &= a->kind == LITMUS_NUMBER && l >= 0 && l < AXIOMS_LOCATIONS_MAX;
    return t->fits ? (uint8_t)l : 0;
}

/* A number, a local, or a local and a number. */
static void operand(struct translation *t, uint32_t n, struct axioms_op *op)
{
    const struct litmus_node *v = node_at(t, n);
    if (v->kind == LITMUS_BINARY && v->mark == '+' && node_at(t, v->b)->kind == LITMUS_NUMBER) {
        op->constant = node_at(t, v->b)->value;
        v = node_at(t, v->a);
        t->fits &= v->kind == LITMUS_REGISTER;
    }
    if (v->kind == LITMUS_NUMBER)
        op->constant = v->value;
    else if (v->kind == LITMUS_REGISTER)
        op->from = (uint8_t)v->value;
    else
        t->fits = false;
}

static void assigned(struct translation *t, uint32_t index, uint8_t to)
{
    const struct litmus_node *n = node_at(t, index);
    struct axioms_op op = {
        .to = to, .from = AXIOMS_NONE, .expected = AXIOMS_NONE, .order = n->order, .failure_order = n->failure_order};
    switch (n->kind) {
    case LITMUS_LOAD:
    case LITMUS_PLAIN_LOAD:
        op.kind = AXIOMS_LOAD;
        op.plain = n->kind == LITMUS_PLAIN_LOAD;
        op.location = location(t, n->a);
        break;
    case LITMUS_FETCH:
        op.kind = n->value == EXPLORE_ADD ? AXIOMS_ADD : AXIOMS_EXCHANGE;
        t->fits &= !n->full && (n->value == EXPLORE_ADD || n->value == EXPLORE_EXCHANGE);
        op.location = location(t, n->a);
        operand(t, n->b, &op);
        break;
    case LITMUS_COMPARE_EXCHANGE:
        op.kind = AXIOMS_COMPARE;
        t->fits &= n->in_register;
        op.location = location(t, n->a);
        op.expected = (uint8_t)node_at(t, n->b)->value;
        operand(t, n->c, &op);
        break;
    default:
        op.kind = AXIOMS_SET;
        operand(t, index, &op);
        break;
    }
    add(t, &op);
}

/* if (r), if (r == 1), if (r != 1) */
static void branch(struct translation *t, const struct litmus_node *n)
{
    const struct litmus_node *a = node_at(t, n->a);
    struct axioms_op skip = {.kind = AXIOMS_SKIP, .from = AXIOMS_NONE, .to = AXIOMS_NONE}, *first, *second;
    if (a->kind == LITMUS_BINARY) {
        t->fits &= (a->mark == LITMUS_EQUAL || a->mark == LITMUS_UNEQUAL) && node_at(t, a->b)->kind == LITMUS_NUMBER;
        skip.constant = node_at(t, a->b)->value;
        skip.unless = a->mark == LITMUS_EQUAL;
        a = node_at(t, a->a);
    }
    t->fits &= a->kind == LITMUS_REGISTER;
    skip.expected = t->fits ? (uint8_t)a->value : 0;
    first = add(t, &skip);
    uint32_t at = t->out->op_count[t->thread];
    statements(t, n->b);
    if (n->c) {
        skip.unless = !skip.unless;
        second = add(t, &skip); /* correct only when the first branch does not assign the locals of the condition */
        first->skip = (uint8_t)(t->out->op_count[t->thread] - at);
        at = t->out->op_count[t->thread];
        statements(t, n->c);
        second->skip = (uint8_t)(t->out->op_count[t->thread] - at);
    } else {
        first->skip = (uint8_t)(t->out->op_count[t->thread] - at);
    }
}

static bool statements(struct translation *t, uint32_t first)
{
    for (uint32_t i = first; i && t->fits; i = node_at(t, i)->next) {
        const struct litmus_node *n = node_at(t, i);
        struct axioms_op op = {.from = AXIOMS_NONE, .to = AXIOMS_NONE, .expected = AXIOMS_NONE, .order = n->order};
        switch (n->kind) {
        case LITMUS_STORE:
        case LITMUS_PLAIN_STORE:
            op.kind = AXIOMS_STORE;
            op.plain = n->kind == LITMUS_PLAIN_STORE;
            op.location = location(t, n->a);
            operand(t, n->b, &op);
            add(t, &op);
            break;
        case LITMUS_FENCE:
            op.kind = AXIOMS_FENCE;
            add(t, &op);
            break;
        case LITMUS_ASSIGN: assigned(t, n->a, (uint8_t)n->value); break;
        case LITMUS_IF: branch(t, n); break;
        case LITMUS_WHILE:
        case LITMUS_DO: t->fits = false; break;
        default: assigned(t, i, AXIOMS_NONE); break;
        }
    }
    return t->fits;
}

bool axioms_of_litmus(const struct explore_litmus *test, struct axioms_program *out)
{
    struct translation t = {.test = test, .out = out, .fits = test->location_count <= AXIOMS_LOCATIONS_MAX};
    memset(out, 0, sizeof *out);
    out->thread_count = test->program.thread_count;
    out->location_count = test->location_count;
    for (uint32_t i = 0; t.fits && i < test->location_count; i++)
        out->initial[i] = test->location[i].initial;
    for (t.thread = 0; t.fits && t.thread < out->thread_count; t.thread++) {
        const struct litmus_thread *thread = &test->thread[t.thread];
        t.fits = thread->register_count <= AXIOMS_REGISTERS_MAX;
        for (uint32_t i = 0; i < thread->register_count; i++)
            t.fits &= thread->reg[i].initial == 0;
        statements(&t, thread->body);
    }
    return t.fits;
}

/* ---- outcomes */

struct gathering {
    const struct explore_litmus *test;
    struct axioms_outcomes *out;
};

static void gather(void *ctx, const struct axioms_end *end)
{
    struct gathering *g = ctx;
    char text[sizeof g->out->outcome[0].text] = "";
    size_t n = 0;
    g->out->race |= end->race;
    for (uint32_t i = 0; i < g->test->item_count; i++) {
        const struct litmus_item *item = &g->test->item[i];
        if (item->thread == LITMUS_NO_THREAD)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s[%s]=%lld;", i ? " " : "",
                                  g->test->location[item->index].text, (long long)end->memory[item->index]);
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%u:%s=%lld;", i ? " " : "", item->thread,
                                  g->test->thread[item->thread].reg[item->index].text,
                                  (long long)end->reg[item->thread][item->index]);
        assert_true(n < sizeof text);
    }
    uint32_t at = 0;
    while (at < g->out->count && strcmp(g->out->outcome[at].text, text) < 0)
        at++;
    if (at == g->out->count || strcmp(g->out->outcome[at].text, text)) {
        assert_true(g->out->count < sizeof g->out->outcome / sizeof g->out->outcome[0]);
        memmove(&g->out->outcome[at + 1], &g->out->outcome[at], (g->out->count - at) * sizeof g->out->outcome[0]);
        strcpy(g->out->outcome[at].text, text);
        g->out->outcome[at].executions = 0;
        g->out->count++;
    }
    g->out->outcome[at].executions++;
}

void axioms_outcomes(const struct explore_litmus *test, const struct axioms_program *program,
                     enum explore_memory memory, struct axioms_outcomes *out)
{
    struct gathering g = {test, out};
    memset(out, 0, sizeof *out);
    out->executions = axioms_executions(program, memory, gather, &g);
}
