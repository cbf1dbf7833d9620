#include "engine/trace/diff/side.h"

#include "engine/util/array.h"

#include <stdlib.h>

void strobe_diff_side_open(struct strobe_diff_side *s, uint32_t captures, int divides)
{
    *s = (struct strobe_diff_side){.expected = captures, .divides = divides};
    s->wall.columns = s->cpu.columns = s->alloc.columns = s->sections.columns = captures;
}

/* Divides a capture into blocks, if it is long enough. */
static void divide_into_blocks(struct strobe_diff_side *s, uint64_t span_ns)
{
    uint64_t blocks = span_ns / ((uint64_t)STROBE_DIFF_BLOCK_MS_LEAST * 1000000);
    if (!s->divides || blocks < STROBE_DIFF_BLOCKS_LEAST)
        return;
    s->block_count = blocks < STROBE_DIFF_BLOCKS ? (uint32_t)blocks : STROBE_DIFF_BLOCKS;
    s->block_ns = (double)span_ns / s->block_count;
    s->wall.columns = s->cpu.columns = s->sections.columns = s->block_count;
    s->alloc.columns = STROBE_DIFF_ALLOC_BLOCKS;
}

int strobe_diff_side_begin(struct strobe_diff_side *s, const char *path, int is_trace, uint64_t begin_ns,
                           uint64_t end_ns)
{
    uint64_t span_ns = end_ns > begin_ns ? end_ns - begin_ns : 1;
    if (!strobe_array_reserve(&s->captures, &s->capture_room, s->capture_count + 1)) {
        s->failed = 1;
        return 0;
    }
    s->begin_ns = begin_ns;
    s->captures[s->capture_count++] = (struct strobe_diff_capture){path, (double)span_ns / 1e9, is_trace};
    s->seconds += (double)span_ns / 1e9;
    divide_into_blocks(s, span_ns);
    return 1;
}

void strobe_diff_grid_add(struct strobe_diff_side *s, struct strobe_diff_grid *grid, uint32_t row, uint32_t column,
                          double amount)
{
    size_t cells = ((size_t)row + 1) * grid->columns;
    if (!strobe_array_reserve_zeroed(&grid->at, &grid->room, cells)) {
        s->failed = 1;
        return;
    }
    if (row >= grid->rows)
        grid->rows = (size_t)row + 1;
    grid->at[(size_t)row * grid->columns + column] += amount;
}

static uint32_t block_at(const struct strobe_diff_side *s, uint64_t time_ns)
{
    double block = time_ns > s->begin_ns ? (double)(time_ns - s->begin_ns) / s->block_ns : 0;
    return block < s->block_count ? (uint32_t)block : s->block_count - 1;
}

void strobe_diff_side_add(struct strobe_diff_side *s, struct strobe_diff_grid *grid, uint32_t row, uint64_t from_ns,
                          uint64_t to_ns, double amount)
{
    if (s->failed)
        return;
    if (!s->block_count) {
        strobe_diff_grid_add(s, grid, row, (uint32_t)s->capture_count - 1, amount);
        return;
    }
    uint32_t first = block_at(s, from_ns), last = to_ns > from_ns ? block_at(s, to_ns) : first;
    double rest = amount;
    for (uint32_t b = first; b < last; b++) {
        double edge_ns = s->block_ns * (b + 1), begin_ns = (double)(from_ns > s->begin_ns ? from_ns - s->begin_ns : 0);
        double within_ns = edge_ns - (b == first ? begin_ns : s->block_ns * b);
        double part = amount * within_ns / (double)(to_ns - from_ns);
        strobe_diff_grid_add(s, grid, row, b, part);
        rest -= part;
    }
    strobe_diff_grid_add(s, grid, row, last, rest);
}

void strobe_diff_side_call(struct strobe_diff_side *s, uint32_t path)
{
    if (!strobe_array_reserve_zeroed(&s->calls, &s->calls_room, (size_t)path + 1))
        s->failed = 1;
    else
        s->calls[path]++;
}

double strobe_diff_grid_sum(const struct strobe_diff_grid *grid, uint32_t row)
{
    double sum = 0;
    for (uint32_t i = 0; row < grid->rows && i < grid->columns; i++)
        sum += grid->at[(size_t)row * grid->columns + i];
    return sum;
}

double strobe_diff_side_scale(const struct strobe_diff_side *s, const struct strobe_diff_grid *grid, uint32_t column,
                              int whole)
{
    if (s->block_count)
        return whole ? grid->columns : grid->columns / s->seconds;
    return whole ? 1 : 1 / s->captures[column].seconds;
}

void strobe_diff_side_free(struct strobe_diff_side *s)
{
    free(s->wall.at);
    free(s->cpu.at);
    free(s->alloc.at);
    free(s->sections.at);
    free(s->calls);
    free(s->captures);
    *s = (struct strobe_diff_side){0};
}
