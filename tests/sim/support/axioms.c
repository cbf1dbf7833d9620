#include "tests/sim/support/axioms.h"

#include <stdatomic.h>
#include <string.h>

enum { EVENTS_MAX = 64, OPS_ALL = EXPLORE_THREADS_MAX * AXIOMS_OPS_MAX, UNRUN = -1, INITIAL = -1 };

/* ---- sets of events, and relations between them: bit b of row[a] is a -> b */

typedef uint64_t set;
struct relation {
    set row[EVENTS_MAX];
};

static int all_events; /* number of events of the current candidate; rows from this index on are empty */

struct event {
    bool reads, writes, fence, plain, locked;
    uint8_t order, location;
    int thread, op; /* thread: INITIAL for the initial stores */
    int64_t value;  /* stored */
};

struct candidate {
    const struct axioms_program *program;
    uint32_t count;
    struct event event[EVENTS_MAX];
    int64_t reg[EXPLORE_THREADS_MAX][AXIOMS_REGISTERS_MAX];
    int from[OPS_ALL];     /* for each load: the operation whose store it reads, or INITIAL */
    int event_of[OPS_ALL]; /* or UNRUN */
    struct relation sb, rf, mo, rb, loc;
};

static struct relation none(void)
{
    struct relation r;
    memset(&r, 0, sizeof r);
    return r;
}

static struct relation either(struct relation a, struct relation b)
{
    for (int i = 0; i < all_events; i++)
        a.row[i] |= b.row[i];
    return a;
}

static struct relation both(struct relation a, struct relation b)
{
    for (int i = 0; i < all_events; i++)
        a.row[i] &= b.row[i];
    return a;
}

static struct relation less(struct relation a, struct relation b)
{
    for (int i = 0; i < all_events; i++)
        a.row[i] &= ~b.row[i];
    return a;
}

/* a ; b */
static struct relation then(struct relation a, struct relation b)
{
    struct relation r = none();
    for (int i = 0; i < all_events; i++)
        for (set rest = a.row[i]; rest; rest &= rest - 1)
            r.row[i] |= b.row[__builtin_ctzll(rest)];
    return r;
}

static struct relation inverse(struct relation a)
{
    struct relation r = none();
    for (int i = 0; i < all_events; i++)
        for (set rest = a.row[i]; rest; rest &= rest - 1)
            r.row[__builtin_ctzll(rest)] |= (set)1 << i;
    return r;
}

/* [s] */
static struct relation only(set s)
{
    struct relation r = none();
    for (int i = 0; i < all_events; i++)
        r.row[i] = s & (set)1 << i;
    return r;
}

/* a? */
static struct relation maybe(struct relation a)
{
    return either(a, only(~(set)0));
}

/* a+, after Warshall */
static struct relation closed(struct relation a)
{
    for (int k = 0; k < all_events; k++)
        for (int i = 0; i < all_events; i++)
            if (a.row[i] >> k & 1)
                a.row[i] |= a.row[k];
    return a;
}

static bool irreflexive(struct relation a)
{
    for (int i = 0; i < all_events; i++)
        if (a.row[i] >> i & 1)
            return false;
    return true;
}

static bool acyclic(struct relation a)
{
    return irreflexive(closed(a));
}

/* ---- sets of a candidate */

static set events(const struct candidate *c, bool (*in)(const struct event *e))
{
    set s = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (in(&c->event[i]))
            s |= (set)1 << i;
    return s;
}

static bool is_store(const struct event *e)
{
    return e->writes;
}
static bool is_load(const struct event *e)
{
    return e->reads;
}
static bool is_update(const struct event *e)
{
    return e->reads && e->writes;
}
static bool is_fence(const struct event *e)
{
    return e->fence;
}
static bool is_atomic_store(const struct event *e)
{
    return e->writes && !e->plain;
}
static bool is_atomic_load(const struct event *e)
{
    return e->reads && !e->plain;
}
static bool is_sc(const struct event *e)
{
    return e->order == memory_order_seq_cst && !e->plain;
}

static bool is_release(const struct event *e)
{
    return !e->plain && (e->order == memory_order_release || e->order == memory_order_acq_rel || is_sc(e));
}

static bool is_acquire(const struct event *e)
{
    return !e->plain && (e->order == memory_order_acquire || e->order == memory_order_acq_rel || is_sc(e));
}

/* ---- RC11: Lahav et al., PLDI 2017, section 3; names as there. A read-modify-write is one event. */

static struct relation happens_before(const struct candidate *c)
{
    struct relation fence = only(events(c, is_fence));
    struct relation rs = then(only(events(c, is_store)), maybe(both(c->sb, c->loc)));
    rs = then(rs, only(events(c, is_atomic_store)));
    rs = then(rs, maybe(closed(then(c->rf, only(events(c, is_update))))));
    struct relation sw = then(only(events(c, is_release)), maybe(then(fence, c->sb)));
    sw = then(then(then(sw, rs), c->rf), only(events(c, is_atomic_load)));
    sw = then(then(sw, maybe(then(c->sb, fence))), only(events(c, is_acquire)));
    return closed(either(c->sb, sw));
}

static bool rc11(const struct candidate *c)
{
    struct relation hb = happens_before(c);
    struct relation eco = closed(either(either(c->rf, c->mo), c->rb));
    struct relation sc = only(events(c, is_sc)), fsc = only(events(c, is_sc) & events(c, is_fence));
    struct relation away = less(c->sb, c->loc);
    struct relation scb =
        either(either(c->sb, then(then(away, hb), away)), either(both(hb, c->loc), either(c->mo, c->rb)));
    struct relation base = then(then(either(sc, then(fsc, maybe(hb))), scb), either(sc, then(maybe(hb), fsc)));
    struct relation between = then(then(fsc, either(hb, then(then(hb, eco), hb))), fsc);
    return irreflexive(then(hb, maybe(eco))) && irreflexive(eco) && acyclic(either(base, between)) &&
           acyclic(either(c->sb, c->rf));
}

/* ---- SC: Lamport 1979, as a cycle: Shasha, Snir 1988 */

static bool sc(const struct candidate *c)
{
    return acyclic(either(either(c->sb, c->rf), either(c->mo, c->rb)));
}

/* ---- x86-TSO: Owens, Sarkar, Sewell, TPHOLs 2009; Sewell et al., CACM 2010; as axioms: Alglave, Maranget, Tautschnig,
 * TOPLAS 2014. Program order holds but from a store to a later load; MFENCE and LOCK keep that too. */

static bool is_drain(const struct event *e)
{
    return e->locked || (e->fence && is_sc(e));
}

/* True for a store that is compiled to a store and an MFENCE. */
static bool is_drained(const struct event *e)
{
    return is_drain(e) || (e->writes && is_sc(e));
}

static struct relation elsewhere(const struct candidate *c, struct relation r)
{
    for (uint32_t a = 0; a < c->count; a++)
        for (uint32_t b = 0; b < c->count; b++)
            if (c->event[a].thread == c->event[b].thread)
                r.row[a] &= ~((set)1 << b);
    return r;
}

static bool tso(const struct candidate *c)
{
    struct relation drain = only(events(c, is_drain)), drained = only(events(c, is_drained));
    set stores = events(c, is_store), loads = events(c, is_load);
    struct relation later_load = then(then(only(stores & ~loads), c->sb), only(loads & ~stores));
    struct relation all = only(stores | loads);
    struct relation kept = less(then(then(all, c->sb), all), later_load);
    struct relation around = then(maybe(c->sb), then(drain, maybe(c->sb)));
    struct relation after = then(maybe(c->sb), then(drained, c->sb));
    struct relation fenced = less(then(then(all, either(around, after)), all), only(~(set)0));
    struct relation eco = either(c->rf, either(c->mo, c->rb));
    return acyclic(either(both(c->sb, c->loc), eco)) &&
           acyclic(either(either(kept, fenced), either(elsewhere(c, c->rf), either(c->mo, c->rb))));
}

/* ---- races */

static bool races(const struct candidate *c)
{
    struct relation hb = happens_before(c);
    for (uint32_t a = 0; a < c->count; a++) {
        for (uint32_t b = 0; b < c->count; b++) {
            const struct event *e = &c->event[a], *f = &c->event[b];
            bool conflict = !e->fence && !f->fence && e->location == f->location && e->writes &&
                            (e->plain || f->plain) && e->thread != f->thread;
            bool ordered = (hb.row[a] >> b & 1) || (hb.row[b] >> a & 1);
            if (conflict && !ordered)
                return true;
        }
    }
    return false;
}

/* ---- candidates */

static int op_id(int thread, int op)
{
    return thread * AXIOMS_OPS_MAX + op;
}

static const struct axioms_op *op_of(const struct axioms_program *p, int id)
{
    return &p->op[id / AXIOMS_OPS_MAX][id % AXIOMS_OPS_MAX];
}

static int add_event(struct candidate *c, struct event e)
{
    c->event[c->count] = e;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->event[i].thread == e.thread ? e.thread != INITIAL : c->event[i].thread == INITIAL)
            c->sb.row[i] |= (set)1 << c->count;
    return (int)c->count++;
}

static int64_t operand(const struct candidate *c, int thread, const struct axioms_op *op)
{
    return op->constant + (op->from == AXIOMS_NONE ? 0 : c->reg[thread][op->from]);
}

static void assign(struct candidate *c, int thread, uint8_t to, int64_t value)
{
    if (to != AXIOMS_NONE)
        c->reg[thread][to] = value;
}

static bool is_loading(const struct axioms_op *op)
{
    return op->kind == AXIOMS_LOAD || op->kind == AXIOMS_EXCHANGE || op->kind == AXIOMS_ADD ||
           op->kind == AXIOMS_COMPARE;
}

/* Returns the event of the store that the load reads from, or UNRUN while the store has not run. */
static int source(const struct candidate *c, int id)
{
    int from = c->from[id];
    return from == INITIAL ? op_of(c->program, id)->location : c->event_of[from];
}

/* Runs one operation. Returns by how many operations to advance; 0: the store that it reads has not run yet. */
static int run_op(struct candidate *c, int thread, int index)
{
    int id = op_id(thread, index);
    const struct axioms_op *op = op_of(c->program, id);
    struct event e = {.plain = op->plain, .order = op->order, .location = op->location, .thread = thread, .op = index};
    int from = is_loading(op) ? source(c, id) : UNRUN;
    int64_t found = from >= 0 ? c->event[from].value : 0, value = operand(c, thread, op);
    if (is_loading(op) && from < 0)
        return 0;
    if (op->kind == AXIOMS_SKIP)
        return 1 + ((c->reg[thread][op->expected] == op->constant) != op->unless ? op->skip : 0);
    if (op->kind == AXIOMS_SET) {
        assign(c, thread, op->to, value);
        return 1;
    }
    e.fence = op->kind == AXIOMS_FENCE;
    e.reads = is_loading(op);
    e.writes = !e.fence && op->kind != AXIOMS_LOAD;
    e.locked = e.reads && e.writes;
    e.value = op->kind == AXIOMS_ADD ? found + value : value;
    if (op->kind == AXIOMS_COMPARE) {
        e.writes = found == c->reg[thread][op->expected];
        e.order = e.writes ? op->order : op->failure_order;
        if (!e.writes)
            assign(c, thread, op->expected, found);
        assign(c, thread, op->to, e.writes);
    } else if (e.reads) {
        assign(c, thread, op->to, found);
    }
    c->event_of[id] = add_event(c, e);
    if (e.reads)
        c->rf.row[from] |= (set)1 << c->event_of[id];
    return 1;
}

/* Runs the threads, where each load reads from its chosen store. Returns false when loads wait for each other in a
 * cycle, when a skipped operation has another choice than the first one, or when an operation that is read from does
 * not store. */
static bool run(struct candidate *c)
{
    const struct axioms_program *p = c->program;
    int at[EXPLORE_THREADS_MAX] = {0};
    bool moved = true;
    c->count = 0;
    c->sb = c->rf = none();
    memset(c->reg, 0, sizeof c->reg);
    for (int i = 0; i < OPS_ALL; i++)
        c->event_of[i] = UNRUN;
    for (uint32_t l = 0; l < p->location_count; l++)
        add_event(
            c, (struct event){
                   .writes = true, .plain = true, .location = (uint8_t)l, .thread = INITIAL, .value = p->initial[l]});
    while (moved) {
        moved = false;
        for (int t = 0; t < (int)p->thread_count; t++) {
            for (int go = 1; go && at[t] < (int)p->op_count[t];) {
                go = run_op(c, t, at[t]);
                at[t] += go;
                moved |= go != 0;
            }
        }
    }
    for (int t = 0; t < (int)p->thread_count; t++) {
        if (at[t] < (int)p->op_count[t])
            return false;
        for (int i = 0; i < (int)p->op_count[t]; i++) {
            int id = op_id(t, i), e = c->event_of[id];
            if (is_loading(&p->op[t][i]) && (e == UNRUN ? c->from[id] != INITIAL : !c->event[source(c, id)].writes))
                return false;
        }
    }
    return true;
}

struct search {
    struct candidate c;
    bool (*allows)(const struct candidate *c);
    void (*seen)(void *ctx, const struct axioms_end *end);
    void *ctx;
    uint64_t executions;
};

static void judge(struct search *s, const uint8_t last[])
{
    struct candidate *c = &s->c;
    struct axioms_end end;
    c->rb = less(then(inverse(c->rf), c->mo), only(~(set)0));
    if (!s->allows(c))
        return;
    s->executions++;
    memcpy(end.reg, c->reg, sizeof end.reg);
    for (uint32_t l = 0; l < c->program->location_count; l++)
        end.memory[l] = c->event[last[l]].value;
    end.race = races(c);
    s->seen(s->ctx, &end);
}

/* Enumerates all orders of the stores of each location from `location` on. last[] holds the last store of each. */
static void order_stores(struct search *s, uint32_t location, set placed, uint8_t last[])
{
    struct candidate *c = &s->c;
    if (location == c->program->location_count) {
        judge(s, last);
        return;
    }
    set rest = 0;
    if (!(placed >> location & 1)) { /* the initial store comes first */
        placed |= (set)1 << location;
        last[location] = (uint8_t)location;
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (c->event[i].writes && c->event[i].location == location && !(placed >> i & 1))
            rest |= (set)1 << i;
    if (!rest) {
        order_stores(s, location + 1, placed, last);
        return;
    }
    uint8_t before = last[location];
    for (set r = rest; r; r &= r - 1) {
        int next = __builtin_ctzll(r);
        for (uint32_t i = 0; i < c->count; i++)
            if (c->event[i].writes && c->event[i].location == location && (placed >> i & 1))
                c->mo.row[i] |= (set)1 << next;
        last[location] = (uint8_t)next;
        order_stores(s, location, placed | (set)1 << next, last);
        for (uint32_t i = 0; i < c->count; i++)
            c->mo.row[i] &= ~((set)1 << next);
    }
    last[location] = before;
}

/* Enumerates all choices of a store for each load from operation `id` on. */
static void choose(struct search *s, int id)
{
    const struct axioms_program *p = s->c.program;
    uint8_t last[AXIOMS_LOCATIONS_MAX];
    while (id < OPS_ALL && (id / AXIOMS_OPS_MAX >= (int)p->thread_count ||
                            id % AXIOMS_OPS_MAX >= (int)p->op_count[id / AXIOMS_OPS_MAX] || !is_loading(op_of(p, id))))
        id++;
    if (id == OPS_ALL) {
        if (!run(&s->c))
            return;
        all_events = (int)s->c.count;
        s->c.loc = s->c.mo = none();
        for (uint32_t a = 0; a < s->c.count; a++)
            for (uint32_t b = 0; b < s->c.count; b++)
                if (!s->c.event[a].fence && !s->c.event[b].fence && s->c.event[a].location == s->c.event[b].location)
                    s->c.loc.row[a] |= (set)1 << b;
        order_stores(s, 0, 0, last);
        return;
    }
    s->c.from[id] = INITIAL;
    choose(s, id + 1);
    for (int t = 0; t < (int)p->thread_count; t++) {
        for (int i = 0; i < (int)p->op_count[t]; i++) {
            enum axioms_kind kind = p->op[t][i].kind;
            bool stores =
                kind == AXIOMS_STORE || kind == AXIOMS_EXCHANGE || kind == AXIOMS_ADD || kind == AXIOMS_COMPARE;
            if (!stores || p->op[t][i].location != op_of(p, id)->location || op_id(t, i) == id)
                continue;
            s->c.from[id] = op_id(t, i);
            choose(s, id + 1);
        }
    }
}

uint64_t axioms_executions(const struct axioms_program *program, enum explore_memory memory,
                           void (*seen)(void *ctx, const struct axioms_end *end), void *ctx)
{
    struct search s = {.c.program = program, .seen = seen, .ctx = ctx};
    s.allows = memory == EXPLORE_SC ? sc : memory == EXPLORE_TSO ? tso : rc11;
    choose(&s, 0);
    return s.executions;
}
