/* Compares the explorer with the axioms. Random programs are written as litmus tests, parsed and explored. They have
 * exactly the outcomes that the axioms allow, each in the same number of executions.
 *
 *     test_litmus_random [SEED [COUNT]] */
#include "engine/base/error.h"
#include "sim/kernel/random.h"
#include "tests/sim/support/litmus_axioms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CANDIDATES_MAX = 3000 };

static uint64_t first_seed = 1, count = 600;

/* ---- random programs */

struct draw {
    struct sim_random random;
    struct axioms_program p;
    uint32_t registers; /* used by the current thread */
    bool plain;         /* some accesses are plain */
    bool sc;            /* all orders are relaxed or seq_cst, and there are many fences */
    int64_t value;      /* last stored value: most stores differ */
};

static uint32_t below(struct draw *d, uint32_t n)
{
    return (uint32_t)sim_random_below(&d->random, n);
}

static uint8_t one_of(struct draw *d, const uint8_t *orders, uint32_t n)
{
    return orders[below(d, n)];
}

/* Draws the orders of half of the programs, so that seq_cst restricts many of their outcomes. */
static uint8_t sc_or_relaxed(struct draw *d)
{
    return below(d, 3) ? memory_order_relaxed : memory_order_seq_cst;
}

static uint8_t load_order(struct draw *d)
{
    if (d->sc)
        return sc_or_relaxed(d);
    static const uint8_t orders[] = {memory_order_relaxed, memory_order_relaxed, memory_order_acquire,
                                     memory_order_seq_cst};
    return one_of(d, orders, 4);
}

static uint8_t store_order(struct draw *d)
{
    if (d->sc)
        return sc_or_relaxed(d);
    static const uint8_t orders[] = {memory_order_relaxed, memory_order_relaxed, memory_order_release,
                                     memory_order_seq_cst};
    return one_of(d, orders, 4);
}

/* Draws the order of an update, or of a fence, which cannot be relaxed. */
static uint8_t order(struct draw *d, bool fence)
{
    static const uint8_t orders[] = {memory_order_relaxed, memory_order_acquire, memory_order_release,
                                     memory_order_acq_rel, memory_order_seq_cst, memory_order_seq_cst};
    return one_of(d, orders + fence, 6 - fence);
}

static struct axioms_op *add(struct draw *d, uint32_t thread, enum axioms_kind kind)
{
    struct axioms_op *op = &d->p.op[thread][d->p.op_count[thread]++];
    *op = (struct axioms_op){.kind = kind, .to = AXIOMS_NONE, .from = AXIOMS_NONE, .expected = AXIOMS_NONE};
    op->location = (uint8_t)below(d, d->p.location_count);
    return op;
}

static void operand(struct draw *d, struct axioms_op *op)
{
    op->constant = below(d, 4) ? ++d->value : 1;
    if (d->registers && below(d, 5) == 0)
        op->from = (uint8_t)below(d, d->registers);
}

static void draw_op(struct draw *d, uint32_t t)
{
    uint32_t pick = d->sc && below(d, 6) == 0 ? 99 : below(d, 100);
    bool plain = d->plain && below(d, 3) == 0;
    struct axioms_op *op;
    if (pick < 34) {
        op = add(d, t, AXIOMS_LOAD);
        op->plain = plain;
        op->order = load_order(d);
        op->to = (uint8_t)d->registers++;
    } else if (pick < 70) {
        op = add(d, t, AXIOMS_STORE);
        op->plain = plain;
        op->order = store_order(d);
        operand(d, op);
    } else if (pick < 84) {
        op = add(d, t, pick < 79 ? AXIOMS_ADD : AXIOMS_EXCHANGE);
        op->order = order(d, false);
        operand(d, op);
        op->to = (uint8_t)d->registers++;
    } else if (pick < 90) {
        op = add(d, t, AXIOMS_SET);
        op->constant = below(d, 2);
        op->to = (uint8_t)d->registers++;
        op = add(d, t, AXIOMS_COMPARE);
        op->expected = (uint8_t)(d->registers - 1);
        op->order = order(d, false);
        op->failure_order = load_order(d);
        op->constant = ++d->value;
        op->to = (uint8_t)d->registers++;
    } else {
        add(d, t, AXIOMS_FENCE)->order = d->sc ? memory_order_seq_cst : order(d, true);
    }
}

static void draw_thread(struct draw *d, uint32_t t, uint32_t ops)
{
    d->registers = 0;
    for (uint32_t i = 0; i < ops; i++) {
        struct axioms_op *skip = NULL;
        if (d->registers && below(d, 6) == 0) {
            skip = add(d, t, AXIOMS_SKIP);
            skip->expected = (uint8_t)below(d, d->registers);
            skip->unless = below(d, 2);
            skip->constant = below(d, 3);
        }
        uint32_t before = d->p.op_count[t];
        draw_op(d, t);
        if (skip)
            skip->skip = (uint8_t)(d->p.op_count[t] - before);
    }
}

static bool loads(const struct axioms_op *op)
{
    return op->kind == AXIOMS_LOAD || op->kind == AXIOMS_EXCHANGE || op->kind == AXIOMS_ADD ||
           op->kind == AXIOMS_COMPARE;
}

static bool stores(const struct axioms_op *op)
{
    return op->kind == AXIOMS_STORE || (loads(op) && op->kind != AXIOMS_LOAD);
}

/* Returns an upper bound of the number of candidates that the axioms must check. */
static double candidates(const struct axioms_program *p)
{
    uint32_t stored[AXIOMS_LOCATIONS_MAX] = {0};
    double product = 1;
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->op_count[t]; i++)
            if (stores(&p->op[t][i]))
                product *= ++stored[p->op[t][i].location];
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->op_count[t]; i++)
            if (loads(&p->op[t][i]))
                product *= 1 + stored[p->op[t][i].location] - stores(&p->op[t][i]);
    return product;
}

static void draw(struct draw *d, uint64_t seed)
{
    d->random = sim_random_seed(seed, 0);
    do {
        memset(&d->p, 0, sizeof d->p);
        d->value = 1;
        d->plain = below(d, 5) == 0;
        d->sc = below(d, 2);
        d->p.thread_count = 2 + below(d, 3);
        d->p.location_count = below(d, 6) ? 2 + below(d, 2) : 1;
        for (uint32_t t = 0; t < d->p.thread_count; t++)
            draw_thread(d, t, (d->p.thread_count < 4 ? 2 : 1) + below(d, d->p.thread_count == 2 ? 5 : 3));
    } while (candidates(&d->p) > CANDIDATES_MAX);
}

/* ---- as litmus tests */

static const char *const names[] = {"x", "y", "z"};

static const char *order_name(uint8_t o)
{
    static const char *const all[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return all[o];
}

static void write_operand(FILE *to, const struct axioms_op *op)
{
    if (op->from != AXIOMS_NONE)
        fprintf(to, "r%u + ", op->from);
    fprintf(to, "%lld", (long long)op->constant);
}

static void write_op(FILE *to, const struct axioms_op *op)
{
    const char *x = names[op->location];
    if (op->to != AXIOMS_NONE)
        fprintf(to, "int r%u = ", op->to);
    switch (op->kind) {
    case AXIOMS_LOAD:
        if (op->plain)
            fprintf(to, "*%s", x);
        else
            fprintf(to, "atomic_load_explicit(%s, memory_order_%s)", x, order_name(op->order));
        break;
    case AXIOMS_STORE:
        fprintf(to, op->plain ? "*%s = " : "atomic_store_explicit(%s, ", x);
        write_operand(to, op);
        if (!op->plain)
            fprintf(to, ", memory_order_%s)", order_name(op->order));
        break;
    case AXIOMS_EXCHANGE:
    case AXIOMS_ADD:
        fprintf(to, "atomic_%s_explicit(%s, ", op->kind == AXIOMS_ADD ? "fetch_add" : "exchange", x);
        write_operand(to, op);
        fprintf(to, ", memory_order_%s)", order_name(op->order));
        break;
    case AXIOMS_COMPARE:
        fprintf(to, "atomic_compare_exchange_strong_explicit(%s, &r%u, %lld, memory_order_%s, memory_order_%s)", x,
                op->expected, (long long)op->constant, order_name(op->order), order_name(op->failure_order));
        break;
    case AXIOMS_FENCE: fprintf(to, "atomic_thread_fence(memory_order_%s)", order_name(op->order)); break;
    case AXIOMS_SET: fprintf(to, "%lld", (long long)op->constant); break;
    case AXIOMS_SKIP:
        fprintf(to, "if (r%u %s %lld) {", op->expected, op->unless ? "==" : "!=", (long long)op->constant);
        break;
    }
    fputs(op->kind == AXIOMS_SKIP ? "\n" : ";\n", to);
}

static char *litmus(const struct axioms_program *p, uint64_t seed)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    fprintf(to, "C random-%llu\n{", (unsigned long long)seed);
    for (uint32_t l = 0; l < p->location_count; l++)
        fprintf(to, " [%s] = 0;", names[l]);
    fprintf(to, " }\n");
    for (uint32_t t = 0; t < p->thread_count; t++) {
        uint32_t closes = UINT32_MAX;
        fprintf(to, "P%u (", t);
        for (uint32_t l = 0; l < p->location_count; l++)
            fprintf(to, "%satomic_int* %s", l ? ", " : "", names[l]);
        fprintf(to, ") {\n");
        for (uint32_t i = 0; i < p->op_count[t]; i++) {
            write_op(to, &p->op[t][i]);
            if (p->op[t][i].kind == AXIOMS_SKIP)
                closes = i + p->op[t][i].skip;
            if (i == closes)
                fprintf(to, "}\n");
        }
        fprintf(to, "}\n");
    }
    fprintf(to, "locations [");
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->op_count[t]; i++)
            if (p->op[t][i].to != AXIOMS_NONE)
                fprintf(to, "%u:r%u; ", t, p->op[t][i].to);
    for (uint32_t l = 0; l < p->location_count; l++)
        fprintf(to, "%s; ", names[l]);
    fprintf(to, "]\n");
    assert_int_equal(fclose(to), 0);
    return text;
}

/* ---- comparison */

struct sums {
    uint64_t programs, races, outcomes, executions, weak, weaker;
};

/* Outcomes of the explorer are ordered by value, those of the axioms by text. */
static const struct explore_outcome *outcome(const struct explore_outcomes *o, const char *text)
{
    for (uint32_t i = 0; i < o->count; i++)
        if (!strcmp(o->outcome[i].text, text))
            return &o->outcome[i];
    return NULL;
}

static bool agree(const struct explore_outcomes *found, const struct axioms_outcomes *allowed)
{
    if (found->undefined || allowed->race)
        return found->undefined == allowed->race;
    if (found->count != allowed->count || found->result.executions != allowed->executions)
        return false;
    for (uint32_t i = 0; i < allowed->count; i++) {
        const struct explore_outcome *o = outcome(found, allowed->outcome[i].text);
        if (!o || o->executions != allowed->outcome[i].executions)
            return false;
    }
    return true;
}

/* Prints the outcomes that differ. */
static void print_difference(const struct explore_outcomes *found, const struct axioms_outcomes *allowed)
{
    print_message("explored %llu executions%s %s, allowed %llu%s\n", (unsigned long long)found->result.executions,
                  found->undefined ? ", a race:" : "", found->result.failure.message,
                  (unsigned long long)allowed->executions, allowed->race ? ", a race" : "");
    for (uint32_t i = 0; i < allowed->count; i++) {
        const struct explore_outcome *o = outcome(found, allowed->outcome[i].text);
        if (!o || o->executions != allowed->outcome[i].executions)
            print_message("%llu explored, %llu allowed: %s\n", o ? (unsigned long long)o->executions : 0,
                          (unsigned long long)allowed->outcome[i].executions, allowed->outcome[i].text);
    }
    for (uint32_t i = 0; i < found->count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < allowed->count; k++)
            known |= !strcmp(found->outcome[i].text, allowed->outcome[k].text);
        if (!known)
            print_message("%llu explored, 0 allowed: %s\n", (unsigned long long)found->outcome[i].executions,
                          found->outcome[i].text);
    }
}

static void compare(uint64_t seed, struct sums *sums)
{
    static struct axioms_outcomes allowed[EXPLORE_MEMORIES];
    struct draw d;
    struct explore_litmus *test;
    struct strobe_error error;
    draw(&d, seed);
    char *text = litmus(&d.p, seed);
    if (explore_litmus_parse(text, strlen(text), "random.litmus", &test, &error) != STROBE_OK)
        fail_msg("%s in\n%s", error.text, text);
    for (enum explore_memory m = EXPLORE_SC; m < EXPLORE_MEMORIES; m++) {
        struct explore_options options;
        struct explore_outcomes found;
        explore_options_default(&options);
        options.memory = m;
        options.all_failures = true;
        axioms_outcomes(test, &d.p, m, &allowed[m]);
        assert_int_equal(explore_litmus_run(test, &options, &found), STROBE_OK);
        if (!agree(&found, &allowed[m])) {
            print_message("%s", text);
            print_difference(&found, &allowed[m]);
            fail_msg("%s, seed %llu; repeat with: test_litmus_random %llu 1", explore_memory_name(m),
                     (unsigned long long)seed, (unsigned long long)seed);
        }
        sums->executions += found.result.executions;
        sums->outcomes += found.count;
        sums->races += found.undefined;
        explore_outcomes_free(&found);
    }
    sums->programs++;
    sums->weak += allowed[EXPLORE_TSO].count > allowed[EXPLORE_SC].count;
    sums->weaker += allowed[EXPLORE_C11].count > allowed[EXPLORE_TSO].count;
    explore_litmus_free(test);
    free(text);
}

static void random_programs_have_the_executions_that_the_axioms_allow_and_no_others(void **state)
{
    struct sums sums = {0};
    (void)state;
    if (getenv("STROBE_TEST_LIGHT"))
        count = count / 20 + 1;
    for (uint64_t seed = first_seed; seed < first_seed + count; seed++)
        compare(seed, &sums);
    print_message("seeds %llu..%llu: %llu executions, %llu outcomes, %llu races; more outcomes under tso than sc: %llu "
                  "programs, under c11 than tso: %llu\n",
                  (unsigned long long)first_seed, (unsigned long long)(first_seed + count - 1),
                  (unsigned long long)sums.executions, (unsigned long long)sums.outcomes,
                  (unsigned long long)sums.races, (unsigned long long)sums.weak, (unsigned long long)sums.weaker);
    /* The random programs must have enough different outcomes for a meaningful comparison. */
    if (sums.programs >= 500)
        assert_true(sums.races * 100 > sums.programs && sums.weak * 100 > sums.programs &&
                    sums.weaker * 20 > sums.programs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_have_the_executions_that_the_axioms_allow_and_no_others),
    };
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        count = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
