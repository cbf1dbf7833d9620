/* Small programs by which stateless model checkers are compared, with their numbers of executions. The numbers come
 * from the expected results in GenMC's repository (github.com/MPI-SWS/genmc, tests/correct/synthetic), or from the
 * argument beside the program. The size is N; other threads do nothing. */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

enum { MANY = EXPLORE_THREADS_MAX + 1 };

struct words {
    _Atomic uint32_t x, y, z, cell[MANY];
    uint32_t got[MANY];
};

#define LOAD(at, order)         atomic_load_explicit(&(at), memory_order_##order)
#define STORE(at, value, order) atomic_store_explicit(&(at), value, memory_order_##order)
#define ADD(at, value)          atomic_fetch_add_explicit(&(at), value, memory_order_relaxed)

static bool takes_part(void)
{
    return explore_self() < explore_size();
}

static void nothing(void *state)
{
    (void)state;
}

#define COUNTED .state_bytes = sizeof(struct words), .setup = nothing, .check = nothing

/* ---- updates: executions differ only in the order of the updates of a word */

static void adds(void *state)
{
    struct words *w = state;
    if (takes_part())
        ADD(w->x, 1);
}

static void adds_to_two(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    ADD(w->x, 1);
    ADD(w->y, 1);
}

static void adds_to_three(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    ADD(w->x, 1);
    ADD(w->y, 1);
    ADD(w->z, 1);
}

static void all_added(void *state)
{
    explore_require(((struct words *)state)->x == explore_size());
}

static const struct explore_program ainc = {
    .name = "counts/ainc",
    .what = "N threads add to one word: N! executions",
    .source = "GenMC tests, ainc: 2 6 24 120 for N = 2 .. 5",
    .state_bytes = sizeof(struct words),
    .setup = nothing,
    .check = all_added,
    .thread_count = 5,
    .thread = EACH_5(adds),
    .quick = 5,
    .nightly = 5,
    .executions = 120,
};

static const struct explore_program binc = {
    .name = "counts/binc",
    .what = "N threads add to two words: (N!)^2 executions",
    .source = "derived: each word orders its updates, and no pair of orders makes a cycle",
    .state_bytes = sizeof(struct words),
    .setup = nothing,
    .check = all_added,
    .thread_count = 4,
    .thread = {adds_to_two, adds_to_two, adds_to_two, adds_to_two},
    .quick = 3,
    .nightly = 4,
    .executions = 36,
};

static const struct explore_program cinc = {
    .name = "counts/cinc",
    .what = "N threads add to three words: (N!)^3 executions",
    .source = "derived: as for two words",
    .state_bytes = sizeof(struct words),
    .setup = nothing,
    .check = all_added,
    .thread_count = 4,
    .thread = {adds_to_three, adds_to_three, adds_to_three, adds_to_three},
    .quick = 3,
    .nightly = 4,
    .executions = 216,
};

/* Reads and writes one word. When its write is the p-th one, it may have read any of the p values before. */
static void reads_writes(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    uint32_t found = LOAD(w->x, relaxed);
    STORE(w->x, found + (1u << explore_self()), release);
}

static const struct explore_program inc = {
    .name = "counts/inc",
    .what = "N threads load and store one word: (N!)^2 executions",
    .source = "GenMC tests, rw and inc: 4 36 576 for N = 2 .. 4",
    COUNTED,
    .thread_count = 4,
    .thread = {reads_writes, reads_writes, reads_writes, reads_writes},
    .quick = 4,
    .nightly = 4,
    .executions = 576,
};

/* ---- writers and readers of one word */

static void writes_or_reads(void *state)
{
    struct words *w = state;
    if (explore_self() > explore_size())
        return;
    if (explore_self() == 0)
        STORE(w->x, 42, release);
    else
        w->got[explore_self()] = LOAD(w->x, acquire);
}

static const struct explore_program readers = {
    .name = "counts/readers",
    .what = "one writes, N read: 2^N executions",
    .source = "GenMC tests, readers: 4 256 for N = 2, 8",
    COUNTED,
    .thread_count = 5,
    .thread = EACH_5(writes_or_reads),
    .quick = 4,
    .nightly = 4,
    .executions = 16,
};

static void writes_or_read(void *state)
{
    struct words *w = state;
    if (explore_self() > explore_size())
        return;
    if (explore_self())
        STORE(w->x, explore_self(), release);
    else
        w->got[0] = LOAD(w->x, acquire);
}

static const struct explore_program writers = {
    .name = "counts/writers",
    .what = "N write, one reads: (N + 1)! executions",
    .source = "GenMC tests, N-writers: 720 for N = 5",
    COUNTED,
    .thread_count = 5,
    .thread = EACH_5(writes_or_read),
    .quick = 4,
    .nightly = 4,
    .executions = 120,
};

/* ---- compare and exchange */

static void rotates(void *state)
{
    struct words *w = state;
    uint32_t expected = explore_self();
    if (takes_part())
        atomic_compare_exchange_strong_explicit(&w->x, &expected, expected + 1, memory_order_relaxed,
                                                memory_order_relaxed);
}

static const struct explore_program casrot = {
    .name = "counts/casrot",
    .what = "N threads: each exchanges its number for the next",
    .source = "GenMC tests, casrot: 2 5 14 43 for N = 2 .. 5",
    COUNTED,
    .thread_count = 5,
    .thread = EACH_5(rotates),
    .quick = 5,
    .nightly = 5,
    .executions = 43,
};

static void exchanges_writes(void *state)
{
    struct words *w = state;
    uint32_t expected = 0;
    if (!takes_part())
        return;
    atomic_compare_exchange_strong_explicit(&w->x, &expected, 1, memory_order_relaxed, memory_order_relaxed);
    STORE(w->x, explore_self() + 3, relaxed);
}

static const struct explore_program casw = {
    .name = "counts/casw",
    .what = "N threads: each exchanges, then writes one word",
    .source = "GenMC tests, casw: 6 66 1200 for N = 2 .. 4",
    COUNTED,
    .thread_count = 4,
    .thread = {exchanges_writes, exchanges_writes, exchanges_writes, exchanges_writes},
    .quick = 4,
    .nightly = 4,
    .executions = 1200,
};

/* ---- chains */

/* The reader searches for the last zero. Writer i writes the value to its left plus one. */
static void last_zero(void *state)
{
    struct words *w = state;
    uint32_t self = explore_self(), at = explore_size();
    if (self > at)
        return;
    if (self) {
        uint32_t left = LOAD(w->cell[self - 1], acquire);
        STORE(w->cell[self], left + 1, release);
        return;
    }
    while (LOAD(w->cell[at], acquire))
        at--;
    w->got[0] = at;
}

/* The reader stops at N in 2^(N-1) executions, and at 0 in as many. When it stops at one of the N - 1 places between,
 * the writer there had read a zero: 2^(N-2) executions for each place. */
static const struct explore_program lastzero = {
    .name = "counts/lastzero",
    .what = "N writers, and who looks for the last zero: (N + 3) 2^(N-2) executions",
    .source = "Abdulla et al., Optimal DPOR (POPL 2014), and GenMC tests: 64 3328 147456 for N = 5, 10, 15",
    COUNTED,
    .thread_count = 5,
    .thread = EACH_5(last_zero),
    .quick = 4,
    .nightly = 4,
    .executions = 28,
};

static void fib_setup(void *state)
{
    struct words *w = state;
    w->x = w->y = 1;
}

static void fib(struct words *w, _Atomic uint32_t *mine)
{
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint32_t x = LOAD(w->x, acquire), y = LOAD(w->y, acquire);
        STORE(*mine, x + y, release);
    }
}

static void fib_x(void *state)
{
    fib(state, &((struct words *)state)->x);
}
static void fib_y(void *state)
{
    fib(state, &((struct words *)state)->y);
}

static void fib_reads(void *state)
{
    struct words *w = state;
    static const uint32_t most[] = {1, 3, 8, 21, 55, 144, 377};
    uint32_t limit = most[explore_size() < 6 ? explore_size() : 6];
    explore_require(LOAD(w->x, acquire) <= limit);
    explore_require(LOAD(w->y, acquire) <= limit);
}

static const struct explore_program fib_bench = {
    .name = "counts/fib_bench",
    .what = "two threads add up what they see, N times: no more than Fibonacci's",
    .source = "GenMC tests, fib_bench: 218243 for N = 5 under SC; N = 3 by enumeration: 1698 under SC, 2258 with views",
    .state_bytes = sizeof(struct words),
    .setup = fib_setup,
    .check = nothing,
    .thread_count = 3,
    .thread = {fib_x, fib_y, fib_reads},
    .quick = 3,
    .nightly = 5,
    .executions = 2258,
};

/* ---- rings of litmus tests: N threads, thread i and its right neighbour */

static uint32_t right(void)
{
    return (explore_self() + 1) % explore_size();
}

static void stores_loads(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    STORE(w->cell[explore_self()], 1, relaxed);
    w->got[explore_self()] = LOAD(w->cell[right()], relaxed);
}

static void stores_loads_seq_cst(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    STORE(w->cell[explore_self()], 1, seq_cst);
    w->got[explore_self()] = LOAD(w->cell[right()], seq_cst);
}

static void loads_stores(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    w->got[explore_self()] = LOAD(w->cell[explore_self()], relaxed);
    STORE(w->cell[right()], 1, relaxed);
}

static void stores_stores(void *state)
{
    struct words *w = state;
    if (!takes_part())
        return;
    STORE(w->cell[explore_self()], 1, relaxed);
    STORE(w->cell[right()], 2, relaxed);
}

#define RING(run) COUNTED, .thread_count = 5, .thread = EACH_5(run), .quick = 4, .nightly = 5

static const struct explore_program sb = {
    .name = "counts/sb",
    .what = "N threads store, then load their neighbour's: 2^N executions, one less under SC",
    .source = "Alglave, Maranget, Tautschnig, Herding cats (2014): SB; each load has two stores, all old is not SC",
    RING(stores_loads),
    .executions = 16,
};

static const struct explore_program sb_seq_cst = {
    .name = "counts/sb-seq_cst",
    .what = "the same with seq_cst: 2^N - 1 executions",
    .source = "Herding cats (2014): SB; all old is a cycle",
    RING(stores_loads_seq_cst),
    .executions = 15,
};

static const struct explore_program lb = {
    .name = "counts/lb",
    .what = "N threads load, then store to their neighbour's: 2^N - 1 executions",
    .source = "Lahav et al., RC11 (PLDI 2017): LB; all new would come out of thin air",
    RING(loads_stores),
    .executions = 15,
};

static const struct explore_program w22 = {
    .name = "counts/2+2w",
    .what = "N threads store to theirs and their neighbour's: 2^N executions, one less under SC",
    .source = "Herding cats (2014): 2+2W; each word orders two stores, all the wrong way round is not SC",
    RING(stores_stores),
    .executions = 16,
};

/* Two write x and look at y or z and at x again; N - 1 write y and z. The ends of x: 4; an order and a place in it for
 * each of y and z: N! each. */
static void coherence(void *state)
{
    struct words *w = state;
    uint32_t self = explore_self();
    if (self > explore_size())
        return;
    if (self > 1) {
        STORE(w->y, self, release);
        STORE(w->z, self, release);
        return;
    }
    STORE(w->x, self + 1, release);
    w->got[self] = self ? LOAD(w->z, acquire) : LOAD(w->y, acquire);
    w->got[self + 2] = LOAD(w->x, acquire);
}

static const struct explore_program coa = {
    .name = "counts/coa",
    .what = "two look at their word again, N - 1 write to others: 4 (N!)^2 executions",
    .source = "GenMC tests, CoA under RC11 with coherence orders: 4 16 144 2304 for N = 1 .. 4",
    COUNTED,
    .thread_count = 5,
    .thread = EACH_5(coherence),
    .quick = 3,
    .nightly = 4,
    .executions = 144,
};

const struct explore_program *const literature_counts[] = {
    &ainc,     &binc,      &cinc, &inc,        &readers, &writers, &casrot, &casw,
    &lastzero, &fib_bench, &sb,   &sb_seq_cst, &lb,      &w22,     &coa,    NULL,
};
