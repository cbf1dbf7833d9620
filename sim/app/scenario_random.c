/* Random scenarios. Each seed first selects the features of the language that it uses: tests that use every feature a
 * little miss bugs that need one feature a lot (Groce, Zhang, Eide, Chen, Regehr: "Swarm testing", ISSTA 2012). The
 * generator writes text and reads it back, so the usual rules check it.
 *
 * A random scenario ends: methods call only methods of higher number, the number of calls that a call causes is
 * bounded, and waits have timeouts. It cannot deadlock: locks are taken in the order of their numbers, also across
 * calls, and a thread that joins holds no lock. With `may_deadlock` these two rules do not apply to some of the locks
 * and waits. */
#include "engine/base/error.h"
#include "sim/app/parser.h"
#include "sim/app/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum feature {
    LOCKS,
    MONITORS,
    RWLOCKS,
    SPINS,
    WAITS,
    SEMAPHORES,
    PARKS,
    SLEEPS,
    FILES,
    SOCKETS,
    IPC,
    ALLOCATIONS,
    MESSAGES,
    FRAMES,
    RECURSION,
    CHOICES,
    EXCEPTIONS,
    COLLECTIONS,
    CALLS_THROUGH_JNI,
    SPAWNS,
    LATE_IMAGE,
    MANAGED,
    FRAMELESS,
    CLOCKS,
    WIDE_DISTS,
    MANY_THREADS,
    REUSED_TIDS,
    FEATURES
};

enum { LOCKS_MAX = 6, SPECS_MAX = 24, METHODS_MAX = 20000, CALLS_MAX = 3000, NO_LOCK = -1, NESTING = 4 };

enum lock_kind { MUTEX, MONITOR, RWLOCK };

struct made {
    uint32_t calls;  /* approximate upper bound of the calls that one call of it causes */
    int lowest_lock; /* lowest lock that it takes, directly or in calls; LOCKS_MAX: none */
    bool throws;     /* it may end by an exception */
    bool frameless, native;
};

struct maker {
    struct sim_random random;
    struct sim_text text;
    uint64_t features;
    bool may_deadlock;
    uint32_t method_count, spec_count, worker_count;
    enum lock_kind lock[LOCKS_MAX];
    struct made *methods;
    /* the current place */
    uint32_t method;
    int held;          /* innermost lock held; NO_LOCK: none */
    unsigned all_held; /* one bit per lock */
    bool held_can_wait;
    bool in_try, is_entry;
    unsigned depth;
};

/* At most one draw in the arguments of a call: C does not define the order of their evaluation. */
#define put(m, ...) sim_text_put(&(m)->text, __VA_ARGS__)

static bool maker_has_feature(const struct maker *m, enum feature f)
{
    return m->features >> f & 1;
}

static uint32_t maker_draw_below(struct maker *m, uint32_t n)
{
    return (uint32_t)sim_random_below(&m->random, n);
}

static bool one_in(struct maker *m, uint32_t n)
{
    return maker_draw_below(m, n) == 0;
}

static void maker_indent(struct maker *m)
{
    put(m, "%*s", (int)(4 * m->depth), "");
}

/* Writes a time of about `us`. */
static void put_time(struct maker *m, uint32_t us)
{
    uint32_t a = 1 + maker_draw_below(m, us);
    switch (maker_has_feature(m, WIDE_DISTS) ? maker_draw_below(m, 5) : maker_draw_below(m, 2)) {
    case 0: put(m, "%uus", a); break;
    case 1: put(m, "%uns..%uus", a * 500, a); break;
    case 2: put(m, "exp(%uus)", a); break;
    case 3: put(m, "lognormal(%uus, 0.%u)", a, 1 + maker_draw_below(m, 9)); break;
    default: put(m, "one_of(%uus, %uus, %uus)", a, 1 + a / 10, a * 2); break;
    }
}

static void put_timeout(struct maker *m)
{
    if (m->may_deadlock && one_in(m, 3))
        return;
    put(m, " timeout %uus", 100 + maker_draw_below(m, 8000));
}

static void maker_put_block(struct maker *m, uint32_t ops);
static void maker_put_op(struct maker *m);

static void put_compute(struct maker *m)
{
    maker_indent(m);
    put(m, "compute ");
    put_time(m, one_in(m, 8) ? 4000 : 200);
    put(m, "\n");
}

/* ---- calls ---- */

/* Returns a method that may be called here at that cost; 0: none. */
static uint32_t maker_choose_callee(struct maker *m, uint32_t times, bool must_be_native)
{
    for (int tries = 0; tries < 8 && m->method + 1 < m->method_count; tries++) {
        uint32_t to = m->method + 1 + maker_draw_below(m, m->method_count - m->method - 1);
        const struct made *made = &m->methods[to];
        bool in_order = made->lowest_lock > m->held || (m->may_deadlock && one_in(m, 2));
        if ((made->calls + 1) * times + m->methods[m->method].calls > CALLS_MAX || !in_order ||
            (made->throws && !m->in_try && m->is_entry) || (must_be_native && !made->native))
            continue;
        struct made *self = &m->methods[m->method];
        self->calls += (made->calls + 1) * times;
        self->lowest_lock = made->lowest_lock < self->lowest_lock ? made->lowest_lock : self->lowest_lock;
        self->throws |= made->throws && !m->in_try;
        return to;
    }
    return 0;
}

static void maker_put_call(struct maker *m)
{
    bool jni = maker_has_feature(m, CALLS_THROUGH_JNI) && one_in(m, 3),
         recurse = !jni && maker_has_feature(m, RECURSION) && one_in(m, 3);
    uint32_t depth = recurse ? 2 + maker_draw_below(m, one_in(m, 6) ? 300 : 20) : 1,
             times = recurse ? 1 : 1 + maker_draw_below(m, 3);
    uint32_t to = maker_choose_callee(m, depth > times ? depth : times, jni);
    if (!to) {
        put_compute(m);
        return;
    }
    maker_indent(m);
    if (recurse)
        put(m, "recurse m%u %u\n", to, depth);
    else if (times > 1)
        put(m, "repeat %u { %s m%u }\n", times, jni ? "jni" : "call", to);
    else
        put(m, "%s m%u\n", jni ? "jni" : "call", to);
}

/* ---- locks ---- */

static bool can_be(const struct maker *m, enum lock_kind kind)
{
    static const enum feature of[] = {[MUTEX] = LOCKS, [MONITOR] = MONITORS, [RWLOCK] = RWLOCKS};
    return maker_has_feature(m, of[kind]) || (kind == MUTEX && maker_has_feature(m, SPINS));
}

static int lock_to_take(struct maker *m)
{
    int lock = (int)maker_draw_below(m, LOCKS_MAX);
    bool in_order = lock > m->held || (m->may_deadlock && one_in(m, 2));
    return in_order && !(m->all_held >> lock & 1) && can_be(m, m->lock[lock]) ? lock : NO_LOCK;
}

static void put_locked(struct maker *m)
{
    int lock = lock_to_take(m), held = m->held;
    bool can_wait = m->held_can_wait;
    struct made *self = &m->methods[m->method];
    if (lock == NO_LOCK) {
        put_compute(m);
        return;
    }
    maker_indent(m);
    bool spin = m->lock[lock] == MUTEX && maker_has_feature(m, SPINS) && (!maker_has_feature(m, LOCKS) || one_in(m, 3));
    if (spin)
        put(m, "spin l%d every 20us", lock);
    else if (m->lock[lock] == RWLOCK)
        put(m, "%s l%d", one_in(m, 2) ? "read_lock" : "write_lock", lock);
    else
        put(m, "%s l%d", m->lock[lock] == MUTEX ? "lock" : "synchronized", lock);
    self->lowest_lock = lock < self->lowest_lock ? lock : self->lowest_lock;
    m->held = lock;
    m->all_held |= 1u << lock;
    m->held_can_wait = m->lock[lock] != RWLOCK;
    maker_put_block(m, 1 + maker_draw_below(m, 3));
    m->held = held;
    m->all_held &= ~(1u << lock);
    m->held_can_wait = can_wait;
    put(m, "\n");
}

static void put_wait(struct maker *m)
{
    maker_indent(m);
    if (!m->held_can_wait || one_in(m, 3)) {
        put(m, one_in(m, 3) ? "notify_all" : "notify");
        put(m, " c%u\n", maker_draw_below(m, 2));
        return;
    }
    put(m, "wait c%u holding l%d", maker_draw_below(m, 2), m->held);
    put_timeout(m);
    put(m, "\n");
}

/* ---- the rest ---- */

static void put_choice(struct maker *m)
{
    maker_indent(m);
    put(m, "choose {\n");
    m->depth++;
    for (uint32_t arms = 2 + maker_draw_below(m, 2); arms > 0; arms--) {
        maker_indent(m);
        put(m, "%u", 1 + maker_draw_below(m, 9));
        maker_put_block(m, maker_draw_below(m, 3));
        put(m, "\n");
    }
    m->depth--;
    maker_indent(m);
    put(m, "}\n");
}

static void put_try(struct maker *m)
{
    bool in_try = m->in_try;
    maker_indent(m);
    if (in_try || (!m->is_entry && one_in(m, 3))) {
        put(m, "choose { 3 { } 1 { throw } }\n");
        m->methods[m->method].throws |= !in_try;
        return;
    }
    put(m, "try");
    m->in_try = true;
    maker_put_block(m, 1 + maker_draw_below(m, 3));
    m->in_try = in_try;
    put(m, " catch");
    maker_put_block(m, maker_draw_below(m, 2));
    put(m, "\n");
}

static void put_io(struct maker *m)
{
    static const char *const calls[] = {"read", "write", "net"};
    maker_indent(m);
    if (one_in(m, 4)) {
        put(m, one_in(m, 2) ? "open" : "sync");
    } else {
        put(m, "%s", calls[maker_has_feature(m, SOCKETS) ? maker_draw_below(m, 3) : maker_draw_below(m, 2)]);
        put(m, " %uKiB", 1 + maker_draw_below(m, 64));
    }
    put(m, " takes ");
    put_time(m, 900);
    put(m, "\n");
}

static void put_memory(struct maker *m)
{
    maker_indent(m);
    if (one_in(m, 3))
        put(m, "free %u\n", 1 + maker_draw_below(m, 5));
    else
        put(m, "alloc 16..%u\n", 16 + maker_draw_below(m, 100000));
}

static void put_post(struct maker *m)
{
    uint32_t to = m->method + 1 < m->method_count ? maker_choose_callee(m, 1, false) : 0;
    if (!to || m->methods[to].throws) {
        put_compute(m);
        return;
    }
    maker_indent(m);
    put(m, "post m%u to q", to);
    if (one_in(m, 2))
        put(m, " after %uus", maker_draw_below(m, 5000));
    if (one_in(m, 3))
        put(m, " priority %d", (int)maker_draw_below(m, 5) - 2);
    put(m, "\n");
}

static void put_brief(struct maker *m, const char *text)
{
    maker_indent(m);
    put(m, "%s", text);
}

/* Writes a waking or a waiting operation. */
static void put_pair(struct maker *m, const char *wakes, const char *waits)
{
    bool does_wait = one_in(m, 2);
    put_brief(m, does_wait ? waits : wakes);
    if (does_wait)
        put_timeout(m);
    put(m, "\n");
}

static void put_featured(struct maker *m, enum feature f)
{
    char unpark[32];
    switch (f) {
    case LOCKS:
    case MONITORS:
    case RWLOCKS:
    case SPINS: put_locked(m); break;
    case WAITS: put_wait(m); break;
    case SEMAPHORES: put_pair(m, "release s", "acquire s"); break;
    case PARKS:
        snprintf(unpark, sizeof unpark, "unpark t%u", maker_draw_below(m, m->spec_count));
        put_pair(m, unpark, "park");
        break;
    case SLEEPS:
        put_brief(m, "sleep ");
        put_time(m, 3000);
        put(m, "\n");
        break;
    case FILES:
    case SOCKETS: put_io(m); break;
    case IPC:
        put_brief(m, "ipc takes ");
        put_time(m, 800);
        put(m, "\n");
        break;
    case ALLOCATIONS: put_memory(m); break;
    case MESSAGES: put_post(m); break;
    case CHOICES: put_choice(m); break;
    case EXCEPTIONS: put_try(m); break;
    case COLLECTIONS: put_brief(m, one_in(m, 8) ? "gc takes 500us..2ms\n" : "alloc 1KiB\n"); break;
    case CLOCKS: put_brief(m, "clock\n"); break;
    default: maker_put_call(m); break;
    }
}

static void maker_put_op(struct maker *m)
{
    enum feature f = (enum feature)maker_draw_below(m, FEATURES);
    bool is_deep = m->depth >= NESTING && (f <= SPINS || f == CHOICES || f == EXCEPTIONS);
    if (one_in(m, 4))
        put_compute(m);
    else if (maker_has_feature(m, f) && !is_deep)
        put_featured(m, f);
    else
        maker_put_call(m);
}

static void maker_put_block(struct maker *m, uint32_t ops)
{
    put(m, " {\n");
    m->depth++;
    while (ops--)
        maker_put_op(m);
    m->depth--;
    maker_indent(m);
    put(m, "}");
}

/* ---- the whole ---- */

static void maker_put_method(struct maker *m, uint32_t number)
{
    struct made *made = &m->methods[number];
    *made = (struct made){.lowest_lock = LOCKS_MAX, .native = !maker_has_feature(m, MANAGED) || one_in(m, 3)};
    made->frameless = maker_has_feature(m, FRAMELESS) && one_in(m, 6);
    m->method = number;
    m->held = NO_LOCK;
    m->held_can_wait = m->in_try = false;
    m->is_entry = number < m->worker_count || number == m->method_count - 1; /* the last one runs for frames */
    put(m, "method m%u%s%s", number, made->native ? "" : " managed", made->frameless ? " frameless" : "");
    if (one_in(m, 8))
        put(m, " frame %u", 16 * maker_draw_below(m, 40));
    put(m, one_in(m, 3) ? " in lib.so" : " in app");
    if (made->frameless) {
        put(m, " { compute ");
        put_time(m, 300);
        put(m, " }\n");
        return;
    }
    maker_put_block(m, 2 + maker_draw_below(m, 5));
    put(m, "\n");
}

/* The entry methods of threads have lower numbers than all others, so they may call any method. */
static void put_entries(struct maker *m)
{
    for (uint32_t i = m->worker_count; i-- > 1;)
        maker_put_method(m, i);
    m->methods[0] = (struct made){.lowest_lock = LOCKS_MAX};
    m->method = 0;
    m->is_entry = true;
    put(m, "method m0 managed {\n");
    m->depth = 1;
    if (maker_has_feature(m, LATE_IMAGE))
        put(m, "    load late.so takes 1ms..5ms\n    call late\n");
    for (uint32_t n = 3 + maker_draw_below(m, 5); n > 0; n--) {
        if (maker_has_feature(m, SPAWNS) && one_in(m, 2))
            put(m, "    spawn child\n%s", one_in(m, 2) ? "    join child\n" : "");
        maker_put_op(m);
    }
    m->depth = 0;
    put(m, maker_has_feature(m, MESSAGES) || maker_has_feature(m, FRAMES) ? "    loop q\n}\n" : "}\n");
    if (maker_has_feature(m, SPAWNS)) {
        uint32_t to = m->worker_count;
        put(m, "method child_run { %s%u%s }\n", m->methods[to].throws ? "try { call m" : "call m", to,
            m->methods[to].throws ? " } catch { }" : "");
        put(m, "thread child x0%s run child_run\n", maker_has_feature(m, REUSED_TIDS) ? " reuse_tid" : "");
    }
}

static void put_threads(struct maker *m)
{
    put(m, "thread t0 main run m0\n");
    for (uint32_t t = 1; t < m->spec_count; t++) {
        put(m, "thread t%u", t);
        if (maker_has_feature(m, MANY_THREADS) && one_in(m, 2))
            put(m, " x%u", 1 + maker_draw_below(m, 6));
        if (one_in(m, 2)) {
            put(m, " start ");
            put_time(m, 20000);
        }
        if (one_in(m, 3))
            put(m, " nice %d", (int)maker_draw_below(m, 30) - 10);
        put(m, " run m%u\n", 1 + maker_draw_below(m, m->worker_count - 1));
    }
}

static void put_declarations(struct maker *m, uint64_t seed)
{
    static const char *const words[] = {[MUTEX] = "mutex", [MONITOR] = "monitor", [RWLOCK] = "rwlock"};
    put(m, "scenario random \"Written by chance from the seed %llu\"\n", (unsigned long long)seed);
    put(m, "duration %ums\n", 50 + maker_draw_below(m, 400));
    put(m, "cores %u\n", 1 + maker_draw_below(m, 6));
    put(m, "image app\nimage lib.so\n");
    if (maker_has_feature(m, LATE_IMAGE))
        put(m, "image late.so later {\n    method late { compute 100us..900us }\n}\n");
    for (int i = 0; i < LOCKS_MAX; i++) {
        m->lock[i] = (enum lock_kind)maker_draw_below(m, 3);
        put(m, "%s l%d\n", words[m->lock[i]], i);
    }
    put(m, "cond c0\ncond c1\nsemaphore s %u\n", maker_draw_below(m, 3));
    put(m, "queue q");
    if (maker_has_feature(m, FRAMES))
        put(m, " vsync %uus frame m%u", 4000 + maker_draw_below(m, 14000), m->method_count - 1);
    put(m, "\n");
}

static bool maker_write_scenario(struct maker *m, uint64_t seed, uint32_t size)
{
    enum { OPS_OF_METHOD = 4 };
    uint32_t methods = 2 + size / OPS_OF_METHOD;
    m->features = sim_random_u64(&m->random);
    m->worker_count = 2 + maker_draw_below(m, 4);
    m->method_count = m->worker_count + (methods < METHODS_MAX ? methods : METHODS_MAX);
    m->spec_count = 1 + maker_draw_below(m, 2 + size / 40 < SPECS_MAX ? 2 + size / 40 : SPECS_MAX);
    m->methods = calloc(m->method_count, sizeof *m->methods);
    if (!m->methods)
        return false;
    put_declarations(m, seed);
    for (uint32_t i = m->method_count; i-- > m->worker_count;)
        maker_put_method(m, i);
    put_entries(m);
    put_threads(m);
    free(m->methods);
    return !m->text.failed;
}

struct sim_scenario *sim_scenario_random(uint64_t seed, uint32_t size, bool may_deadlock)
{
    struct maker m = {.random = sim_random_seed(seed, 0x5ce7a210), .may_deadlock = may_deadlock};
    struct sim_scenario *s = NULL;
    struct strobe_error error;
    if (maker_write_scenario(&m, seed, size) &&
        sim_scenario_parse(m.text.text, "random", &s, &error) == STROBE_BAD_INPUT) {
        fprintf(stderr, "seed %llu writes what is no scenario: %s\n", (unsigned long long)seed, error.text);
        abort();
    }
    free(m.text.text);
    return s;
}
