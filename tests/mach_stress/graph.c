#include "tests/mach_stress/graph.h"

#include <stdio.h>
#include <stdlib.h>

enum function { BEGIN, TRUNK, BRANCH, TWIG, BOTTOM, COMPUTE, ALLOCATE, LOCK, UNFAIR, ASK, WAIT, FUNCTIONS };
enum { CALLERS = 8, LEARN_RUNS = 4000, ROOT_FRAMES_MAX = 4 };

static uint64_t start_of[FUNCTIONS], returns_to[FUNCTIONS][CALLERS];
static bool learning;

#define GRAPH __attribute__((section("graph"), noinline))
extern const char __start_graph[], __stop_graph[];

static inline __attribute__((always_inline)) uint64_t draw(struct graph_walker *w, uint64_t limit)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random % limit;
}

static void learn(enum function f, const void *returns)
{
    uint64_t address = (uint64_t)(uintptr_t)returns, *at = returns_to[f];
    for (int i = 0; i < CALLERS; i++) {
        if (at[i] == address)
            return;
        if (at[i])
            continue;
        at[i] = address;
        return;
    }
    abort();
}

static inline __attribute__((always_inline)) void entered(enum function f)
{
    if (learning)
        learn(f, __builtin_return_address(0));
}

/* ---- the graph */

GRAPH static uint64_t compute(struct graph_walker *w)
{
    entered(COMPUTE);
    for (uint64_t left = draw(w, 2000); left; left--)
        w->sum = w->sum * 31 + left;
    return w->sum;
}

GRAPH static uint64_t allocate(struct graph_walker *w)
{
    entered(ALLOCATE);
    uint64_t *p = w->place->app->malloc(sizeof *p + draw(w, 4000));
    *p = w->sum;
    w->sum += *p / 2;
    w->place->app->free(p);
    return w->sum;
}

GRAPH static uint64_t lock(struct graph_walker *w)
{
    entered(LOCK);
    w->place->app->pthread_mutex_lock(&w->place->mutex);
    for (uint64_t left = draw(w, 50); left; left--)
        w->sum += left;
    w->place->app->pthread_mutex_unlock(&w->place->mutex);
    return w->sum;
}

GRAPH static uint64_t unfair(struct graph_walker *w)
{
    entered(UNFAIR);
    w->place->app->os_unfair_lock_lock(&w->place->unfair);
    for (uint64_t left = draw(w, 50); left; left--)
        w->sum += left;
    w->place->app->os_unfair_lock_unlock(&w->place->unfair);
    return w->sum;
}

GRAPH static uint64_t ask(struct graph_walker *w)
{
    struct timespec t;
    entered(ASK);
    w->place->app->clock_gettime(CLOCK_MONOTONIC, &t);
    return w->sum ^ (uint64_t)t.tv_nsec ^ w->place->app->mach_absolute_time();
}

GRAPH static uint64_t rest(struct graph_walker *w)
{
    entered(WAIT);
    if (w->rest_us) {
        atomic_store_explicit(w->rests, true, memory_order_relaxed);
        w->place->app->usleep((useconds_t)draw(w, 2 * w->rest_us));
        atomic_store_explicit(w->rests, false, memory_order_relaxed);
    }
    return w->sum;
}

GRAPH static uint64_t bottom(struct graph_walker *w)
{
    entered(BOTTOM);
    switch (draw(w, 8)) {
    case 0: return allocate(w) + 1;
    case 1: return lock(w) + 1;
    case 2: return unfair(w) + 1;
    case 3: return ask(w) + 1;
    case 4: return rest(w) + 1;
    default: return compute(w) + 1;
    }
}

static uint64_t trunk(struct graph_walker *w, uint64_t left);

GRAPH static uint64_t twig(struct graph_walker *w, uint64_t left)
{
    volatile char pad[208] = {1};
    entered(TWIG);
    return (left ? trunk(w, left - 1) : bottom(w)) + (uint64_t)pad[0];
}

GRAPH static uint64_t branch(struct graph_walker *w, uint64_t left)
{
    entered(BRANCH);
    if (!left)
        return bottom(w) + 3;
    return (draw(w, 2) ? twig(w, left - 1) : trunk(w, left - 1)) + compute(w);
}

GRAPH static uint64_t trunk(struct graph_walker *w, uint64_t left)
{
    volatile char pad[24] = {1};
    entered(TRUNK);
    if (!left)
        return bottom(w) + 7;
    return (draw(w, 2) ? branch(w, left - 1) : twig(w, left - 1)) + (uint64_t)pad[0];
}

GRAPH void *graph_begin(void *walker)
{
    struct graph_walker *w = walker;
    w->begins(w, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    for (; w->runs; w->runs--) {
        w->sum += trunk(w, draw(w, GRAPH_DEPTH_MAX));
        rest(w);
    }
    w->ends(w);
    return NULL;
}

/* ---- return addresses and verdicts */

static const struct {
    const char *name;
    void (*at)(void);
} functions[FUNCTIONS] = {
    [BEGIN] = {"begin", (void (*)(void))graph_begin},
    [TRUNK] = {"trunk", (void (*)(void))trunk},
    [BRANCH] = {"branch", (void (*)(void))branch},
    [TWIG] = {"twig", (void (*)(void))twig},
    [BOTTOM] = {"bottom", (void (*)(void))bottom},
    [COMPUTE] = {"compute", (void (*)(void))compute},
    [ALLOCATE] = {"allocate", (void (*)(void))allocate},
    [LOCK] = {"lock", (void (*)(void))lock},
    [UNFAIR] = {"unfair", (void (*)(void))unfair},
    [ASK] = {"ask", (void (*)(void))ask},
    [WAIT] = {"rest", (void (*)(void))rest},
};

static void nothing(struct graph_walker *w)
{
    (void)w;
}

static void nothing_yet(struct graph_walker *w, uint64_t frame)
{
    (void)w, (void)frame;
}

void graph_learn(struct graph_place *place)
{
    struct graph_walker w = {.place = place, .random = 1, .runs = LEARN_RUNS, .begins = nothing_yet, .ends = nothing};
    for (int f = 0; f < FUNCTIONS; f++)
        start_of[f] = (uint64_t)(uintptr_t)functions[f].at;
    learning = true;
    graph_begin(&w);
    learning = false;
}

/* Returns the function that contains an address; FUNCTIONS: none of the graph's. */
static enum function function_at(uint64_t address)
{
    enum function found = FUNCTIONS;
    if (address < (uint64_t)(uintptr_t)__start_graph || address >= (uint64_t)(uintptr_t)__stop_graph)
        return FUNCTIONS;
    for (int f = 0; f < FUNCTIONS; f++)
        if (start_of[f] <= address && (found == FUNCTIONS || start_of[f] > start_of[found]))
            found = (enum function)f;
    return found;
}

static bool returns(enum function callee, uint64_t address)
{
    for (int i = 0; i < CALLERS; i++)
        if (address && returns_to[callee][i] == address)
            return true;
    return false;
}

enum graph_verdict graph_judge(const uint64_t *frames, uint32_t count, uint64_t innermost, uint32_t *depth)
{
    uint32_t at = count;
    enum function f = FUNCTIONS;
    *depth = 0;
    while (at > 0 && f == FUNCTIONS) {
        at--;
        f = function_at(frames[at] - (at == count - 1 ? innermost : 1));
    }
    if (f == FUNCTIONS)
        return count ? GRAPH_ELSEWHERE : GRAPH_IMPOSSIBLE;
    bool elsewhere = at < count - 1;
    for (*depth = 1; at > 0 && f != BEGIN; ++*depth) {
        if (!returns(f, frames[--at]))
            return GRAPH_IMPOSSIBLE;
        f = function_at(frames[at] - 1);
    }
    if (at > ROOT_FRAMES_MAX)
        return GRAPH_IMPOSSIBLE;
    return elsewhere ? GRAPH_ELSEWHERE : f == BEGIN ? GRAPH_WHOLE : GRAPH_PART;
}

void graph_print(const uint64_t *frames, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        enum function f = function_at(frames[i] - 1);
        if (f == FUNCTIONS)
            fprintf(stderr, "    %#llx\n", (unsigned long long)frames[i]);
        else
            fprintf(stderr, "    %s+%#llx\n", functions[f].name, (unsigned long long)(frames[i] - start_of[f]));
    }
}
