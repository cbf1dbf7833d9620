/* Treiber's stack (IBM RJ 5118, 1986) with nodes that are never reused, reused immediately (ABA), reused with a counted
 * top, or freed while other threads read them. */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

enum { NODES = 5 };

struct stack {
    _Atomic uint32_t top;     /* index of a node, 0: none */
    _Atomic uint64_t counted; /* the same, with the number of changes in the upper half */
    struct {
        _Atomic uint32_t next;
        uint32_t value;
    } node[NODES];
    _Atomic uint32_t owned[NODES]; /* nodes outside of the stack */
    uint32_t got[EXPLORE_THREADS_MAX];
};

static void nothing(void *state)
{
    (void)state;
}

static void push(struct stack *s, uint32_t node, memory_order publish)
{
    uint32_t top = atomic_load_explicit(&s->top, memory_order_relaxed);
    for (;;) {
        atomic_store_explicit(&s->node[node].next, top, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&s->top, &top, node, publish, memory_order_relaxed))
            return;
    }
}

static uint32_t pop(struct stack *s)
{
    uint32_t top = atomic_load_explicit(&s->top, memory_order_acquire);
    while (top) {
        uint32_t next = atomic_load_explicit(&s->node[top].next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&s->top, &top, next, memory_order_acquire, memory_order_acquire))
            return top;
    }
    return 0;
}

/* ---- each node pushed once */

static void pushes_by(struct stack *s, memory_order publish)
{
    uint32_t node = explore_self() + 1;
    s->node[node].value = node * 10;
    push(s, node, publish);
}

static void pushes(void *state)
{
    pushes_by(state, memory_order_release);
}
static void pushes_relaxed(void *state)
{
    pushes_by(state, memory_order_relaxed);
}

static void pops(void *state)
{
    struct stack *s = state;
    uint32_t node = pop(s);
    explore_require(!node || s->node[node].value == node * 10);
    s->got[explore_self()] = node;
}

static void pushes_then_pops(void *state)
{
    pushes(state);
    pops(state);
}

/* Each pushed node was popped once or is still in the stack. A frozen thread may hold one. */
static void adds_up(struct stack *s, uint32_t pushed)
{
    uint32_t times[NODES] = {0}, steps = 0;
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++)
        times[s->got[i]]++;
    for (uint32_t at = s->top; at; at = s->node[at].next) {
        explore_require(++steps < NODES);
        times[at]++;
    }
    for (uint32_t i = 1; i <= pushed; i++)
        explore_require(explore_frozen() ? times[i] <= 1 : times[i] == 1);
}

static void two_add_up(void *state)
{
    adds_up(state, 2);
}

#define STACK .state_bytes = sizeof(struct stack)

static const struct explore_program treiber = {
    .name = "stacks/treiber",
    .what = "two push, one pops: each node is there once, with what was written to it",
    .source = "Treiber (IBM RJ 5118, 1986): linearizable when nodes are not used again",
    STACK,
    .setup = nothing,
    .thread_count = 3,
    .thread = {pushes, pushes, pops},
    .check = two_add_up,
};

static const struct explore_program treiber_both = {
    .name = "stacks/treiber-both",
    .what = "two push and pop: each node is popped once",
    .source = "Treiber (IBM RJ 5118, 1986): linearizable when nodes are not used again",
    STACK,
    .setup = nothing,
    .thread_count = 2,
    .thread = EACH_2(pushes_then_pops),
    .check = two_add_up,
};

static const struct explore_program treiber_frozen = {
    .name = "stacks/treiber-frozen",
    .what = "one who stops in a push or a pop holds up nobody",
    .source = "Treiber (IBM RJ 5118, 1986): lock-free",
    STACK,
    .setup = nothing,
    .thread_count = 2,
    .thread = EACH_2(pushes_then_pops),
    .check = two_add_up,
    .frozen = 3,
};

static const struct explore_program treiber_relaxed = {
    .name = "stacks/treiber-relaxed",
    .what = "a node pushed by a relaxed exchange is read unwritten",
    .source = "C11 5.1.2.4: without release no synchronization",
    STACK,
    .setup = nothing,
    .thread_count = 2,
    .thread = {pushes_relaxed, pops},
    .check = nothing,
    .faults = IN_ALL(RACE),
};

/* ---- ABA: a thread pops both nodes of the stack and pushes the first again, while another thread pops */

static void aba_setup(void *state)
{
    struct stack *s = state;
    s->node[1].next = 2;
    s->top = 1;
    s->counted = 1;
}

static void own(struct stack *s, uint32_t node)
{
    explore_require(!node || atomic_fetch_add_explicit(&s->owned[node], 1, memory_order_relaxed) == 0);
}

static void disown(struct stack *s, uint32_t node)
{
    atomic_fetch_sub_explicit(&s->owned[node], 1, memory_order_relaxed);
}

static void aba_pops(void *state)
{
    own(state, pop(state));
}

static void aba_pushes_again(void *state)
{
    struct stack *s = state;
    uint32_t first = pop(s);
    own(s, first);
    own(s, pop(s));
    if (!first)
        return;
    disown(s, first);
    push(s, first, memory_order_release);
}

/* No node in the stack is owned by a thread. */
static void none_owned(struct stack *s, uint32_t top)
{
    uint32_t steps = 0;
    for (uint32_t at = top; at; at = s->node[at].next) {
        explore_require(++steps < NODES);
        explore_require(s->owned[at] == 0);
    }
}

static void aba_check(void *state)
{
    struct stack *s = state;
    none_owned(s, s->top);
}

static const struct explore_program treiber_aba = {
    .name = "stacks/treiber-aba",
    .what = "a node that comes back to the top deceives a pop: ABA",
    .source = "Michael, Hazard pointers (TPDS 2004), section 2: the ABA problem",
    STACK,
    .setup = aba_setup,
    .thread_count = 2,
    .thread = {aba_pops, aba_pushes_again},
    .check = aba_check,
    .faults = IN_ALL(REQUIRE),
};

static void counted_push(struct stack *s, uint32_t node)
{
    uint64_t top = atomic_load_explicit(&s->counted, memory_order_relaxed), new;
    for (;;) {
        atomic_store_explicit(&s->node[node].next, (uint32_t)top, memory_order_relaxed);
        new = ((top >> 32) + 1) << 32 | node;
        if (atomic_compare_exchange_strong_explicit(&s->counted, &top, new, memory_order_release, memory_order_relaxed))
            return;
    }
}

static uint32_t counted_pop(struct stack *s)
{
    uint64_t top = atomic_load_explicit(&s->counted, memory_order_acquire);
    while ((uint32_t)top) {
        uint32_t next = atomic_load_explicit(&s->node[(uint32_t)top].next, memory_order_relaxed);
        uint64_t new = ((top >> 32) + 1) << 32 | next;
        if (atomic_compare_exchange_strong_explicit(&s->counted, &top, new, memory_order_acquire, memory_order_acquire))
            return (uint32_t)top;
    }
    return 0;
}

static void counted_pops(void *state)
{
    own(state, counted_pop(state));
}

static void counted_pushes_again(void *state)
{
    struct stack *s = state;
    uint32_t first = counted_pop(s);
    own(s, first);
    own(s, counted_pop(s));
    if (!first)
        return;
    disown(s, first);
    counted_push(s, first);
}

static void counted_check(void *state)
{
    struct stack *s = state;
    none_owned(s, (uint32_t)s->counted);
}

static const struct explore_program treiber_counted = {
    .name = "stacks/treiber-counted",
    .what = "a top that counts its changes is not deceived by a node that comes back",
    .source = "IBM System/370 Principles of Operation (1983), appendix A: counted compare double and swap",
    STACK,
    .setup = aba_setup,
    .thread_count = 2,
    .thread = {counted_pops, counted_pushes_again},
    .check = counted_check,
};

/* ---- nodes from the allocator */

struct node {
    struct node *_Atomic next;
    uint32_t value;
};

struct heap {
    struct node *_Atomic top;
};

static void heap_push(struct heap *h, uint32_t value)
{
    struct node *node = explore_alloc(sizeof *node), *top = atomic_load_explicit(&h->top, memory_order_relaxed);
    node->value = value;
    for (;;) {
        atomic_store_explicit(&node->next, top, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&h->top, &top, node, memory_order_release, memory_order_relaxed))
            return;
    }
}

static struct node *heap_pop(struct heap *h)
{
    struct node *top = atomic_load_explicit(&h->top, memory_order_acquire);
    while (top) {
        struct node *next = atomic_load_explicit(&top->next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&h->top, &top, next, memory_order_acquire, memory_order_acquire))
            return top;
    }
    return NULL;
}

static void heap_setup(void *state)
{
    heap_push(state, 2);
    heap_push(state, 1);
}

static void heap_pops(void *state)
{
    struct node *node = heap_pop(state);
    explore_require(!node || node->value == 1 || node->value == 2);
}

static void heap_frees(void *state)
{
    struct node *node = heap_pop(state);
    if (node)
        explore_free(node);
}

static void heap_frees_and_pushes(void *state)
{
    heap_frees(state);
    heap_frees(state);
    heap_push(state, 1);
}

static const struct explore_program treiber_kept = {
    .name = "stacks/treiber-kept",
    .what = "nodes of the allocator that are never freed are as good as any",
    .source = "Treiber (IBM RJ 5118, 1986)",
    .state_bytes = sizeof(struct heap),
    .setup = heap_setup,
    .thread_count = 2,
    .thread = EACH_2(heap_pops),
    .check = nothing,
};

static const struct explore_program treiber_freed = {
    .name = "stacks/treiber-freed",
    .what = "a node freed after its pop is still read by another",
    .source = "Michael, Hazard pointers (TPDS 2004), section 1: the memory reclamation problem",
    .state_bytes = sizeof(struct heap),
    .setup = heap_setup,
    .thread_count = 2,
    .thread = EACH_2(heap_frees),
    .check = nothing,
    .faults = IN_ALL(RECLAIMED | RACE),
};

static const struct explore_program treiber_reused = {
    .name = "stacks/treiber-reused",
    .what = "a node freed and allocated again comes back to the top: ABA",
    .source = "Michael, Hazard pointers (TPDS 2004), section 2: the ABA problem",
    .state_bytes = sizeof(struct heap),
    .setup = heap_setup,
    .thread_count = 2,
    .thread = {heap_pops, heap_frees_and_pushes},
    .check = nothing,
    .faults = IN_ALL(RECLAIMED | RACE | REQUIRE),
};

const struct explore_program *const literature_stacks[] = {
    &treiber,         &treiber_both, &treiber_frozen, &treiber_relaxed, &treiber_aba,
    &treiber_counted, &treiber_kept, &treiber_freed,  &treiber_reused,  NULL,
};
