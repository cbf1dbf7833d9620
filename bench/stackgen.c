#include "bench/stackgen.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAF_DEPTH_MIN = 30,
    LEAF_DEPTH_SPREAD = 31,
    FRESH_FRAMES = 2,
};

struct node {
    uint32_t parent, first_kid, next_sibling, kid_count, depth;
    uint64_t address;
};

struct stackgen {
    struct stackgen_options options;
    uint64_t random;
    struct node *tree;
    uint64_t *sites;
    uint32_t warm_next; /* the tree node that the warm-up visits next */
    uint32_t sample_next;
    uint32_t leaf; /* the current node of the walk */
    uint32_t depth;
    uint64_t fresh_count;
    uint64_t frames[STACKGEN_DEPTH_MAX + FRESH_FRAMES];
};

static void *take(size_t count, size_t bytes)
{
    void *p = calloc(count, bytes);
    if (!p)
        abort();
    return p;
}

/* xorshift64 (Marsaglia, 2003). */
static uint64_t draw(struct stackgen *g)
{
    uint64_t x = g->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return g->random = x;
}

static uint32_t below(struct stackgen *g, uint32_t n)
{
    return (uint32_t)((draw(g) >> 32) * n >> 32);
}

static bool chance(struct stackgen *g, uint32_t permille)
{
    return below(g, 1000) < permille;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Returns the smallest, or largest, of several uniform draws: a skewed distribution without floating point. */
static uint32_t below_low(struct stackgen *g, uint32_t n, int draws)
{
    uint32_t r = below(g, n);
    while (--draws > 0)
        r = smaller(r, below(g, n));
    return r;
}

static uint32_t below_high(struct stackgen *g, uint32_t n)
{
    return n - 1 - below_low(g, n, 2);
}

static uint32_t add_kid(struct stackgen *g, uint32_t index, uint32_t parent)
{
    struct node *p = &g->tree[parent];
    g->tree[index] = (struct node){
        .parent = parent,
        .next_sibling = p->first_kid,
        .depth = p->depth + 1,
        .address = g->sites[below_low(g, g->options.sites, 2)],
    };
    p->first_kid = index;
    p->kid_count++;
    return index;
}

static void grow_tree(struct stackgen *g)
{
    uint32_t used = 1;
    g->tree[0] = (struct node){.depth = 1, .address = 0x401136};
    while (used < g->options.tree_nodes) {
        uint32_t at = below_high(g, used);
        uint32_t target = LEAF_DEPTH_MIN + below(g, LEAF_DEPTH_SPREAD);
        while (used < g->options.tree_nodes && g->tree[at].depth < target) {
            at = add_kid(g, used++, at);
            if (chance(g, 60))
                break;
        }
    }
}

struct stackgen *stackgen_new(const struct stackgen_options *options)
{
    struct stackgen *g = take(1, sizeof *g);
    g->options = *options;
    if (!g->options.samples)
        g->options.samples = 200000;
    if (!g->options.tree_nodes)
        g->options.tree_nodes = 50000;
    if (!g->options.sites)
        g->options.sites = 8000;
    g->random = 0x9e3779b97f4a7c15u ^ g->options.seed * 0x100000001b3u;
    g->tree = take(g->options.tree_nodes, sizeof *g->tree);
    g->sites = take(g->options.sites, sizeof *g->sites);
    for (uint32_t i = 0; i < g->options.sites; i++)
        g->sites[i] = 0x7f5500000000u + (uint64_t)(i % 12) * 0x4000000u + below(g, 0x3000000u);
    grow_tree(g);
    return g;
}

void stackgen_free(struct stackgen *g)
{
    free(g->tree);
    free(g->sites);
    free(g);
}

static void lay_frames(struct stackgen *g, uint32_t leaf)
{
    g->depth = g->tree[leaf].depth;
    for (uint32_t i = g->depth, at = leaf; i-- > 0; at = g->tree[at].parent)
        g->frames[i] = g->tree[at].address;
}

/* True when the walk may end at the node. */
static bool can_end(const struct node *n)
{
    return n->depth >= LEAF_DEPTH_MIN || !n->first_kid;
}

static bool warm_up(struct stackgen *g)
{
    while (g->warm_next < g->options.tree_nodes) {
        uint32_t at = g->warm_next++;
        if (can_end(&g->tree[at])) {
            lay_frames(g, at);
            return true;
        }
    }
    return false;
}

static uint32_t hot_kid(struct stackgen *g, uint32_t at)
{
    uint32_t skip = below_low(g, g->tree[at].kid_count, 3);
    uint32_t kid = g->tree[at].first_kid;
    while (skip-- > 0)
        kid = g->tree[kid].next_sibling;
    return kid;
}

static uint32_t climb(struct stackgen *g, uint32_t at)
{
    do
        at = g->tree[at].parent;
    while (!chance(g, 120));
    return chance(g, 10) ? 0 : at;
}

/* Descends to a node of sampling depth. From a dead end it climbs and tries again. */
static uint32_t descend(struct stackgen *g, uint32_t at)
{
    for (;;) {
        if (!g->tree[at].first_kid) {
            if (g->tree[at].depth >= LEAF_DEPTH_MIN || chance(g, 20))
                return at;
            for (int i = 0; i < 8; i++)
                at = g->tree[at].parent;
        }
        at = hot_kid(g, at);
        if (g->tree[at].depth >= LEAF_DEPTH_MIN && chance(g, 50))
            return at;
    }
}

static void walk(struct stackgen *g)
{
    g->leaf = descend(g, climb(g, g->leaf));
    lay_frames(g, g->leaf);
    if (!chance(g, g->options.fresh_permille))
        return;
    g->frames[g->depth++] = g->sites[below(g, g->options.sites)] + 1;
    g->frames[g->depth++] = 0x600000000000u + ++g->fresh_count * 16;
}

bool stackgen_next(struct stackgen *g, struct stackgen_stack *out)
{
    bool warm = warm_up(g);
    if (!warm) {
        if (g->sample_next == g->options.samples)
            return false;
        if (g->sample_next++ == 0 || !chance(g, g->options.repeat_permille))
            walk(g);
    }
    *out = (struct stackgen_stack){.frames = g->frames, .depth = g->depth, .warm_up = warm};
    return true;
}

static uint32_t shared_frames(const uint64_t *a, uint32_t a_depth, const uint64_t *b, uint32_t b_depth)
{
    uint32_t n = smaller(a_depth, b_depth), i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

static void describe(struct stackgen_stream *s, uint64_t fresh_count)
{
    uint64_t frames = 0, shared = 0, repeats = 0;
    for (uint32_t i = s->warm_count; i < s->count; i++) {
        uint32_t depth = (uint32_t)(s->start[i + 1] - s->start[i]);
        uint32_t before = i ? (uint32_t)(s->start[i] - s->start[i - 1]) : 0;
        uint32_t same = i ? shared_frames(s->frames + s->start[i], depth, s->frames + s->start[i - 1], before) : 0;
        frames += depth;
        shared += same;
        repeats += same == depth && same == before;
    }
    double samples = s->count - s->warm_count;
    s->mean_depth = (double)frames / samples;
    s->mean_shared = (double)shared / samples;
    s->repeats = (double)repeats / samples;
    s->fresh = (double)fresh_count / samples;
}

void stackgen_collect(const struct stackgen_options *options, struct stackgen_stream *out)
{
    struct stackgen *g = stackgen_new(options);
    struct stackgen_stack stack;
    size_t most = (size_t)g->options.samples + g->options.tree_nodes;
    *out = (struct stackgen_stream){
        .frames = take(most * STACKGEN_DEPTH_MAX, sizeof *out->frames),
        .start = take(most + 1, sizeof *out->start),
    };
    size_t end = 0;
    while (stackgen_next(g, &stack)) {
        memcpy(out->frames + end, stack.frames, stack.depth * sizeof *stack.frames);
        end += stack.depth;
        out->start[++out->count] = end;
        out->warm_count += stack.warm_up;
    }
    describe(out, g->fresh_count);
    stackgen_free(g);
}

void stackgen_release(struct stackgen_stream *stream)
{
    free(stream->frames);
    free(stream->start);
}
