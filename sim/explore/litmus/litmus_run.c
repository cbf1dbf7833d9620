/* Walks the tree of a litmus test as the threads of a program, and collects the outcomes. Each location has 16 bytes of
 * the program's memory. A pointer's value is the LITMUS_ADDRESS of a location, so that outcomes contain no real
 * address. */
#include "sim/explore/access.h"
#include "sim/explore/litmus/litmus_tree.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRIDE = 16, TURNS_MAX = 10000 };

struct walker {
    uint32_t index;        /* of the thread */
    uint32_t loops, turns; /* nesting of loops; turns of loops so far */
    uint64_t stores;
    int64_t reg[LITMUS_REGISTERS_MAX];
    int64_t at_turn[LITMUS_DEPTH_MAX][LITMUS_REGISTERS_MAX]; /* the locals at the begin of each loop's turn */
};

/* The outcomes so far, sorted: values of the items, number of executions, whether the proposition holds. */
struct gathered {
    uint32_t count, room;
    int64_t *row;
    bool no_memory;
};

static struct {
    struct explore_litmus *test;
    char *state;
    struct walker walker[EXPLORE_THREADS_MAX];
    struct gathered gathered;
} current;

int64_t explore_litmus_fit(struct litmus_type type, uint64_t value)
{
    unsigned unused = 64 - 8 * type.bytes;
    if (type.is_bool)
        return value != 0;
    return type.is_signed ? (int64_t)(value << unused) >> unused : (int64_t)(value << unused >> unused);
}

static uint64_t in_memory(uint8_t bytes, int64_t value)
{
    return (uint64_t)value << (64 - 8 * bytes) >> (64 - 8 * bytes);
}

/* ---- values */

static const struct litmus_node *node_at(uint32_t n)
{
    return &current.test->node[n];
}

_Noreturn static void broken(const struct litmus_node *n, const char *what)
{
    explore_broken(what, current.test->path, (int)n->line);
}

static struct explore_site litmus_site(const struct litmus_node *n)
{
    return (struct explore_site){NULL, current.test->text[n->text]};
}

static int64_t walker_value(struct walker *w, uint32_t n);

/* Returns the location at address a. */
static uint32_t walker_location(struct walker *w, const struct litmus_node *n, uint32_t a)
{
    int64_t v = walker_value(w, a) - LITMUS_ADDRESS(0);
    if (v < 0 || v % STRIDE != 0 || v / STRIDE >= current.test->location_count)
        broken(n, "a pointer holds the address of a location");
    return (uint32_t)(v / STRIDE);
}

static void *litmus_place(uint32_t location)
{
    return current.state + (size_t)STRIDE * location;
}

static int64_t plain_load(struct litmus_type type, const void *at, struct explore_site where)
{
    uint64_t v = 0;
    explore_plain(at, type.bytes, false, where);
    switch (type.bytes) {
    case 1: v = *(const uint8_t *)at; break;
    case 2: v = *(const uint16_t *)at; break;
    case 4: v = *(const uint32_t *)at; break;
    default: v = *(const uint64_t *)at; break;
    }
    return explore_litmus_fit(type, v);
}

static void litmus_put_value(void *at, uint8_t bytes, uint64_t v)
{
    switch (bytes) {
    case 1: *(uint8_t *)at = (uint8_t)v; break;
    case 2: *(uint16_t *)at = (uint16_t)v; break;
    case 4: *(uint32_t *)at = (uint32_t)v; break;
    default: *(uint64_t *)at = v; break;
    }
}

static void plain_store(struct walker *w, uint32_t at, int64_t v, struct explore_site where)
{
    struct litmus_type type = current.test->location[at].type;
    v = explore_litmus_fit(type, (uint64_t)v);
    explore_plain(litmus_place(at), type.bytes, true, where);
    litmus_put_value(litmus_place(at), type.bytes, (uint64_t)v);
    w->stores++;
}

static int64_t litmus_unary(const struct litmus_node *n, int64_t a)
{
    switch (n->mark) {
    case '-': return (int64_t)(0 - (uint64_t)a);
    case '~': return ~a;
    case '!': return !a;
    default: return a;
    }
}

static int64_t litmus_divide(const struct litmus_node *n, int64_t a, int64_t b)
{
    if (b == 0)
        broken(n, "no number is divided by 0");
    if (b == -1)
        return n->mark == '/' ? (int64_t)(0 - (uint64_t)a) : 0;
    return n->mark == '/' ? a / b : a % b;
}

static int64_t litmus_shift(const struct litmus_node *n, int64_t a, int64_t b)
{
    if (b < 0 || b > 63)
        broken(n, "numbers are shifted by 0 to 63");
    return n->mark == LITMUS_LEFT ? (int64_t)((uint64_t)a << b) : a >> b;
}

static int64_t walker_binary(struct walker *w, const struct litmus_node *n)
{
    int64_t a = walker_value(w, n->a);
    if (n->mark == LITMUS_ALSO)
        return a && walker_value(w, n->b);
    if (n->mark == LITMUS_ELSE)
        return a || walker_value(w, n->b);
    int64_t b = walker_value(w, n->b);
    switch (n->mark) {
    case '+': return (int64_t)((uint64_t)a + (uint64_t)b);
    case '-': return (int64_t)((uint64_t)a - (uint64_t)b);
    case '*': return (int64_t)((uint64_t)a * (uint64_t)b);
    case '&': return a & b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '<': return a < b;
    case '>': return a > b;
    case LITMUS_EQUAL: return a == b;
    case LITMUS_UNEQUAL: return a != b;
    case LITMUS_AT_MOST: return a <= b;
    case LITMUS_AT_LEAST: return a >= b;
    case LITMUS_LEFT:
    case LITMUS_RIGHT: return litmus_shift(n, a, b);
    default: return litmus_divide(n, a, b);
    }
}

static int64_t walker_fetch(struct walker *w, const struct litmus_node *n)
{
    uint32_t at = walker_location(w, n, n->a);
    struct litmus_type type = current.test->location[at].type;
    uint64_t operand = in_memory(type.bytes, walker_value(w, n->b));
    if (n->full)
        explore_fence(memory_order_seq_cst, litmus_site(n));
    uint64_t was =
        explore_fetch(litmus_place(at), type.bytes, (enum explore_update)n->value, operand, n->order, litmus_site(n));
    if (n->full)
        explore_fence(memory_order_seq_cst, litmus_site(n));
    w->stores++;
    return explore_litmus_fit(type, was);
}

static void walker_assign(struct walker *w, uint32_t reg, int64_t v)
{
    w->reg[reg] = explore_litmus_fit(current.test->thread[w->index].reg[reg].type, (uint64_t)v);
}

static int64_t compare_exchange(struct walker *w, const struct litmus_node *n)
{
    uint32_t at = walker_location(w, n, n->a), in = 0, reg = (uint32_t)node_at(n->b)->value;
    struct litmus_type type = current.test->location[at].type;
    if (!n->in_register)
        in = walker_location(w, n, n->b);
    int64_t desired = walker_value(w, n->c);
    int64_t expected =
        n->in_register ? w->reg[reg] : plain_load(current.test->location[in].type, litmus_place(in), litmus_site(n));
    uint64_t found = in_memory(type.bytes, expected);
    if (explore_compare_exchange(litmus_place(at), type.bytes, &found, in_memory(type.bytes, desired), n->weak,
                                 n->order, n->failure_order, litmus_site(n))) {
        w->stores++;
        return 1;
    }
    if (n->in_register)
        walker_assign(w, reg, explore_litmus_fit(type, found));
    else
        plain_store(w, in, explore_litmus_fit(type, found), litmus_site(n));
    return 0;
}

static int64_t walker_value(struct walker *w, uint32_t index)
{
    const struct litmus_node *n = node_at(index);
    uint32_t at;
    switch (n->kind) {
    case LITMUS_NUMBER: return n->value;
    case LITMUS_REGISTER: return w->reg[n->value];
    case LITMUS_UNARY: return litmus_unary(n, walker_value(w, n->a));
    case LITMUS_BINARY: return walker_binary(w, n);
    case LITMUS_CHOICE: return walker_value(w, walker_value(w, n->a) ? n->b : n->c);
    case LITMUS_CAST: return explore_litmus_fit(n->type, (uint64_t)walker_value(w, n->a));
    case LITMUS_PLAIN_LOAD:
        at = walker_location(w, n, n->a);
        return plain_load(current.test->location[at].type, litmus_place(at), litmus_site(n));
    case LITMUS_LOAD:
        at = walker_location(w, n, n->a);
        return explore_litmus_fit(
            current.test->location[at].type,
            explore_load(litmus_place(at), current.test->location[at].type.bytes, n->order, litmus_site(n)));
    case LITMUS_FETCH: return walker_fetch(w, n);
    case LITMUS_COMPARE_EXCHANGE: return compare_exchange(w, n);
    default: return 0; /* a statement has no value */
    }
}

/* ---- statements */

static void walker_run(struct walker *w, uint32_t first);

static void walker_store(struct walker *w, const struct litmus_node *n)
{
    uint32_t at = walker_location(w, n, n->a);
    struct litmus_type type = current.test->location[at].type;
    int64_t v = explore_litmus_fit(type, (uint64_t)walker_value(w, n->b));
    explore_store(litmus_place(at), type.bytes, in_memory(type.bytes, v), n->order, litmus_site(n));
    w->stores++;
}

/* A turn that stores nothing and leaves the locals unchanged repeats identically until another thread stores. */
static void walker_loop(struct walker *w, const struct litmus_node *n)
{
    int64_t *before = w->at_turn[w->loops++];
    size_t bytes = current.test->thread[w->index].register_count * sizeof *before;
    for (;;) {
        uint64_t stores = w->stores;
        memcpy(before, w->reg, bytes);
        if (n->kind == LITMUS_WHILE && !walker_value(w, n->a))
            break;
        walker_run(w, n->b);
        if (n->kind == LITMUS_DO && !walker_value(w, n->a))
            break;
        if (++w->turns > TURNS_MAX)
            broken(n, "a thread's loops end within 10,000 turns");
        if (stores == w->stores && !memcmp(before, w->reg, bytes))
            explore_spin();
    }
    w->loops--;
}

static void walker_statement(struct walker *w, uint32_t index)
{
    const struct litmus_node *n = node_at(index);
    switch (n->kind) {
    case LITMUS_STORE: walker_store(w, n); break;
    case LITMUS_FENCE: explore_fence(n->order, litmus_site(n)); break;
    case LITMUS_ASSIGN: walker_assign(w, (uint32_t)n->value, walker_value(w, n->a)); break;
    case LITMUS_PLAIN_STORE: {
        uint32_t at = walker_location(w, n, n->a);
        plain_store(w, at, walker_value(w, n->b), litmus_site(n));
        break;
    }
    case LITMUS_IF: walker_run(w, walker_value(w, n->a) ? n->b : n->c); break;
    case LITMUS_WHILE:
    case LITMUS_DO: walker_loop(w, n); break;
    default: (void)walker_value(w, index); break;
    }
}

static void walker_run(struct walker *w, uint32_t first)
{
    for (uint32_t n = first; n; n = node_at(n)->next)
        walker_statement(w, n);
}

static void run_thread(uint32_t t)
{
    walker_run(&current.walker[t], current.test->thread[t].body);
}

static void thread_0(void *state)
{
    (void)state;
    run_thread(0);
}
static void thread_1(void *state)
{
    (void)state;
    run_thread(1);
}
static void thread_2(void *state)
{
    (void)state;
    run_thread(2);
}
static void thread_3(void *state)
{
    (void)state;
    run_thread(3);
}
static void thread_4(void *state)
{
    (void)state;
    run_thread(4);
}

static void litmus_setup(void *state)
{
    const struct explore_litmus *test = current.test;
    current.state = state;
    for (uint32_t i = 0; i < test->location_count; i++) {
        const struct litmus_name *l = &test->location[i];
        litmus_put_value(litmus_place(i), l->type.bytes, (uint64_t)explore_litmus_fit(l->type, (uint64_t)l->initial));
    }
    for (uint32_t t = 0; t < EXPLORE_THREADS_MAX; t++) {
        struct walker *w = &current.walker[t];
        w->index = t;
        w->loops = w->turns = 0;
        w->stores = 0;
        for (uint32_t i = 0; i < test->thread[t].register_count; i++)
            walker_assign(w, i, test->thread[t].reg[i].initial);
    }
}

/* ---- outcomes */

static int64_t litmus_item_value(const struct litmus_item *i)
{
    if (i->thread != LITMUS_NO_THREAD)
        return current.walker[i->thread].reg[i->index];
    struct litmus_type type = current.test->location[i->index].type;
    struct explore_site nowhere = {NULL, NULL};
    return explore_litmus_fit(type, explore_load(litmus_place(i->index), type.bytes, memory_order_relaxed, nowhere));
}

/* Evaluates all claims, inner claims first, in the order of the reader. */
static bool litmus_condition_holds(struct explore_litmus *test, uint32_t prop, const int64_t *v)
{
    for (uint32_t i = 1; i < test->prop_count; i++) {
        struct litmus_prop *c = &test->claim[i];
        switch (c->kind) {
        case LITMUS_CONSTANT: c->holds = v[c->a] == c->value; break;
        case LITMUS_SAME: c->holds = v[c->a] == v[c->b]; break;
        case LITMUS_NOT: c->holds = !test->claim[c->a].holds; break;
        case LITMUS_BOTH: c->holds = test->claim[c->a].holds && test->claim[c->b].holds; break;
        case LITMUS_EITHER: c->holds = test->claim[c->a].holds || test->claim[c->b].holds; break;
        case LITMUS_IMPLIES: c->holds = !test->claim[c->a].holds || test->claim[c->b].holds; break;
        case LITMUS_TRUE: c->holds = c->value != 0; break;
        }
    }
    return prop == 0 || test->claim[prop].holds;
}

static int compare_outcomes(const int64_t *a, const int64_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* A row is the values of its items, its number of executions, and whether the proposition holds. */
static int64_t *outcome_row_of(struct gathered *g, const int64_t *v, uint32_t items)
{
    uint32_t low = 0, high = g->count;
    size_t wide = items + 2;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int c = compare_outcomes(v, g->row + middle * wide, items);
        if (c == 0)
            return g->row + middle * wide;
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    if (g->count == g->room) {
        int64_t *grown = realloc(g->row, 2 * (size_t)(g->room + 8) * wide * sizeof *grown);
        if (!grown) {
            g->no_memory = true;
            return NULL;
        }
        g->row = grown;
        g->room = 2 * (g->room + 8);
    }
    memmove(g->row + (low + 1) * wide, g->row + low * wide, (g->count - low) * wide * sizeof *g->row);
    memcpy(g->row + low * wide, v, items * sizeof *v);
    g->row[low * wide + items] = 0;
    g->count++;
    return g->row + low * wide;
}

static void litmus_check(void *state)
{
    struct explore_litmus *test = current.test;
    uint32_t items = test->item_count;
    int64_t v[LITMUS_LOCATIONS_MAX + EXPLORE_THREADS_MAX * LITMUS_REGISTERS_MAX];
    (void)state;
    for (uint32_t i = 0; i < items; i++)
        v[i] = litmus_item_value(&test->item[i]);
    if (test->filter && !litmus_condition_holds(test, test->filter, v))
        return;
    int64_t *row = outcome_row_of(&current.gathered, v, items);
    if (row) {
        row[items]++;
        row[items + 1] = litmus_condition_holds(test, test->prop, v);
    }
}

const struct explore_program *explore_litmus_program(struct explore_litmus *test)
{
    struct explore_program *p = &test->program;
    p->name = test->name;
    p->what = explore_litmus_condition(test);
    p->state_bytes = (size_t)STRIDE * (test->location_count ? test->location_count : 1);
    p->setup = litmus_setup;
    p->thread[0] = thread_0;
    p->thread[1] = thread_1;
    p->thread[2] = thread_2;
    p->thread[3] = thread_3;
    p->thread[4] = thread_4;
    p->check = litmus_check;
    p->quick = p->nightly = 1;
    current.test = test;
    free(current.gathered.row);
    memset(&current.gathered, 0, sizeof current.gathered);
    return p;
}

/* ---- results */

/* "0:r0=1; [x]=2;" */
static bool litmus_outcome_text(const struct explore_litmus *test, const int64_t *v, char **out)
{
    size_t bytes = 0;
    FILE *to = open_memstream(out, &bytes);
    if (!to)
        return false;
    for (uint32_t i = 0; i < test->item_count; i++) {
        const struct litmus_item *item = &test->item[i];
        bool global = item->thread == LITMUS_NO_THREAD;
        const struct litmus_name *of =
            global ? &test->location[item->index] : &test->thread[item->thread].reg[item->index];
        int64_t at = v[i] - LITMUS_ADDRESS(0);
        fputs(i ? " " : "", to);
        if (global)
            fprintf(to, "[%s]=", of->text);
        else
            fprintf(to, "%u:%s=", item->thread, of->text);
        if (of->type.is_pointer && at >= 0 && at % STRIDE == 0 && at / STRIDE < test->location_count)
            fprintf(to, "%s;", test->location[at / STRIDE].text);
        else if (of->type.is_signed || of->type.bytes < 8)
            fprintf(to, "%lld;", (long long)v[i]);
        else
            fprintf(to, "%llu;", (unsigned long long)v[i]);
    }
    return fclose(to) == 0 && *out;
}

static bool litmus_record_outcomes(struct explore_litmus *test, struct explore_outcomes *out)
{
    const struct gathered *g = &current.gathered;
    size_t wide = test->item_count + 2;
    out->outcome = calloc(g->count ? g->count : 1, sizeof *out->outcome);
    if (!out->outcome || g->no_memory)
        return false;
    for (out->count = 0; out->count < g->count; out->count++) {
        const int64_t *row = g->row + out->count * wide;
        struct explore_outcome *o = &out->outcome[out->count];
        o->executions = (uint64_t)row[test->item_count];
        o->holds = row[test->item_count + 1] != 0;
        *(o->holds ? &out->positive : &out->negative) += o->executions;
        if (!litmus_outcome_text(test, row, &o->text))
            return false;
    }
    return true;
}

static void litmus_judge(const struct explore_litmus *test, struct explore_outcomes *out)
{
    bool held = test->quantifier == EXPLORE_FORALL   ? out->negative == 0
                : test->quantifier == EXPLORE_EXISTS ? out->positive != 0
                                                     : out->positive == 0;
    out->observed = out->positive == 0 ? EXPLORE_NEVER : out->negative == 0 ? EXPLORE_ALWAYS : EXPLORE_SOMETIMES;
    out->undefined = out->result.failure.fault == EXPLORE_RACE;
    out->ok = held && out->result.failure.fault == EXPLORE_FINE;
}

/* "state+0x10" is the second location. */
static void litmus_name_places(const struct explore_litmus *test, struct explore_failure *failure)
{
    for (uint32_t i = 0; i < failure->step_count; i++) {
        struct explore_step *s = &failure->step[i];
        unsigned at;
        if (sscanf(s->place, "state+0x%x", &at) == 1 && at % STRIDE == 0 && at / STRIDE < test->location_count)
            snprintf(s->place, sizeof s->place, "%.31s", test->location[at / STRIDE].text);
    }
}

enum strobe_status explore_litmus_run(struct explore_litmus *test, const struct explore_options *options,
                                      struct explore_outcomes *out)
{
    memset(out, 0, sizeof *out);
    enum strobe_status status = explore_run(explore_litmus_program(test), options, &out->result);
    if (status == STROBE_OK && !litmus_record_outcomes(test, out))
        status = STROBE_FULL;
    litmus_name_places(test, &out->result.failure);
    litmus_judge(test, out);
    return status;
}

void explore_outcomes_free(struct explore_outcomes *out)
{
    for (uint32_t i = 0; i < out->count; i++)
        free(out->outcome[i].text);
    free(out->outcome);
    explore_result_free(&out->result);
    memset(out, 0, sizeof *out);
}

void explore_litmus_print(FILE *to, const struct explore_litmus *test, const struct explore_outcomes *out)
{
    static const char *const asked[] = {"Allowed", "Forbidden", "Required"};
    static const char *const observed[] = {"Never", "Sometimes", "Always"};
    fprintf(to, "Test %s %s\nStates %u\n", test->name, asked[test->quantifier], out->count);
    for (uint32_t i = 0; i < out->count; i++)
        fprintf(to, "%s\n", out->outcome[i].text);
    if (out->result.failure.fault != EXPLORE_FINE)
        fprintf(to, "%s%s: %s\n", out->undefined ? "undefined behaviour: " : "",
                explore_fault_name(out->result.failure.fault), out->result.failure.message);
    fprintf(to, "%s\nWitnesses\nPositive: %llu Negative: %llu\nCondition %s\nObservation %s %s %llu %llu\n",
            out->ok ? "Ok" : "No", (unsigned long long)out->positive, (unsigned long long)out->negative,
            test->condition ? test->condition : "exists true", test->name, observed[out->observed],
            (unsigned long long)out->positive, (unsigned long long)out->negative);
}
