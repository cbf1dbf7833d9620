/* The explorer: the cost of an operation, and the time for all programs over the table and the ring. */
#include "bench/bench.h"
#include "sim/explore/explore.h"

#include <string.h>

/* The targets: a million operations per second; the groups `table` and `ring` together within a minute. */
static const double OPERATION_NS_MOST = 1000, GROUPS_S_MOST = 60;

static const struct explore_program *program_of(const char *name)
{
    for (const struct explore_group *g = explore_groups; g->name; g++)
        for (const struct explore_program *const *p = g->program; *p; p++)
            if (!strcmp((*p)->name, name))
                return *p;
    return NULL;
}

/* Explores the program completely and counts the operations. Returns false when the exploration is incomplete or has
 * an unexpected result. */
static bool explore(const struct explore_program *program, uint64_t *operations, double *seconds)
{
    struct explore_options options;
    struct explore_result result;
    explore_options_default(&options);
    bool good = program && explore_run(program, &options, &result) == STROBE_OK;
    if (!good)
        return false;
    good = explore_as_expected(program, &options, &result);
    *operations += result.operations;
    *seconds += result.seconds;
    explore_result_free(&result);
    return good;
}

struct piece {
    const char *bench, *program, *row;
    uint64_t operations;
};
static struct piece pieces[] = {
    {"explore/ring/lap", "ring/lap", "an operation of ring/lap, explored", 0},
    {"explore/ring/write", "ring/write", "an operation of ring/write, explored", 0},
    {"explore/table/resolve", "table/resolve", "an operation of table/resolve, explored", 0},
};
enum { PIECES = sizeof pieces / sizeof *pieces };

static void run(struct gbench_state *s, const void *arg)
{
    struct piece *piece = &pieces[(const struct piece *)arg - pieces];
    while (gbench_loop(s)) {
        double seconds = 0;
        piece->operations = 0;
        if (!explore(program_of(piece->program), &piece->operations, &seconds)) {
            gbench_give_up(s, "not as expected");
            break;
        }
    }
}

void bench_explore_add(void)
{
    for (uint32_t i = 0; i < PIECES; i++)
        gbench_add(&(struct gbench_spec){
            .name = pieces[i].bench, .run = run, .arg = &pieces[i], .turns = 1, .clock = GBENCH_CPU});
}

static void group_row(void)
{
    uint64_t operations = 0;
    double seconds = 0;
    for (const struct explore_group *g = explore_groups; g->name; g++) {
        if (strcmp(g->name, "table") != 0 && strcmp(g->name, "ring") != 0)
            continue;
        for (const struct explore_program *const *p = g->program; *p; p++)
            if (!explore(*p, &operations, &seconds)) {
                bench_row_skipped("all programs of the table and the ring", "one is not as expected");
                return;
            }
    }
    bench_row_most("all programs of the table and the ring", "s", seconds, GROUPS_S_MOST);
}

void bench_explore_rows(void)
{
    for (uint32_t i = 0; i < PIECES; i++) {
        const struct piece *p = &pieces[i];
        if (p->operations)
            bench_row_most(p->row, "ns", gbench_median_ns(p->bench) / (double)p->operations, OPERATION_NS_MOST);
        else
            bench_row_skipped(p->row, "not as expected");
    }
    group_row();
}
