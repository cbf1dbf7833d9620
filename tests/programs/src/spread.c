/* A CPU-bound program whose time is spread over a dozen functions in known, uneven shares. It runs for about SECONDS
 * of CPU time. Some of the work is between allocations, some is far from any hook. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOT __attribute__((noinline))

static volatile uint64_t sink;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define WORKER(name, multiplier)                                                                                       \
    static HOT uint64_t name(uint64_t rounds)                                                                          \
    {                                                                                                                  \
        uint64_t h = rounds;                                                                                           \
        for (uint64_t i = 0; i < rounds; i++)                                                                          \
            h = (h ^ (h >> 29)) * (multiplier) + i;                                                                    \
        sink += h;                                                                                                     \
        return h;                                                                                                      \
    }

WORKER(mix_colours, 0xbf58476d1ce4e5b9u)
WORKER(trace_rays, 0x94d049bb133111ebu)
WORKER(fold_protein, 0x9e3779b97f4a7c15u)
WORKER(parse_words, 0xd6e8feb86659fd93u)
WORKER(sort_keys, 0xff51afd7ed558ccdu)
WORKER(hash_blocks, 0xc4ceb9fe1a85ec53u)
WORKER(blur_image, 0x2127599bf4325c37u)
WORKER(count_votes, 0x880355f21e6d1965u)
WORKER(plan_route, 0x165667b19e3779f9u)
WORKER(pack_bits, 0x85ebca77c2b2ae63u)

/* Work between allocations: a sampler that samples at allocations only would see their call sites only. */
static HOT uint64_t build_lists(uint64_t rounds)
{
    uint64_t h = 0;
    void *blocks[16];
    for (int i = 0; i < 16; i++) {
        blocks[i] = malloc((size_t)(16 + i * 8));
        h += count_votes(rounds / 16);
    }
    for (int i = 0; i < 16; i++)
        free(blocks[i]);
    return h;
}

static HOT void step(void)
{
    enum { UNIT = 2000 };
    mix_colours(30 * UNIT);
    trace_rays(20 * UNIT);
    fold_protein(14 * UNIT);
    build_lists(10 * UNIT);
    parse_words(8 * UNIT);
    sort_keys(6 * UNIT);
    hash_blocks(5 * UNIT);
    blur_image(3 * UNIT);
    plan_route(2 * UNIT);
    pack_bits(2 * UNIT);
}

int main(int argc, char **argv)
{
    double until = cpu_seconds() + (argc > 1 ? atof(argv[1]) : 2);
    while (cpu_seconds() < until)
        step();
    return 0;
}
